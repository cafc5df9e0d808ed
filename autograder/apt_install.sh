# Sourced by the scripts that install a program: defines `apt_install`.
#
#     apt_install NOTICE PACKAGE...
#
# Says NOTICE and installs the packages where apt-get exists and that is permitted. While another apt-get runs, it waits, for
# five minutes at most. If apt-get fails, it passes on what apt-get said. Returns 0 only if the packages were installed.
apt_install() {
    sudo=
    if [ "$(id -u)" != 0 ]; then
        sudo="sudo -n"
    fi
    if ! command -v apt-get >/dev/null 2>&1 || { [ -n "$sudo" ] && ! $sudo true 2>/dev/null; }; then
        return 1
    fi
    echo "== $1"
    shift
    waits=0
    until output=$({
        $sudo apt-get update -qq && $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$@"
    } 2>&1); do
        case $output in
        *"ould not get lock"* | *"nable to acquire the dpkg frontend lock"* | *"nable to lock"*)
            if [ $waits -lt 60 ]; then
                [ $waits -gt 0 ] || echo "   another apt-get is running: waiting for it, five minutes at most"
                waits=$((waits + 1))
                sleep 5
                continue
            fi
            ;;
        esac
        printf '%s\n' "$output" >&2
        return 1
    done
}
