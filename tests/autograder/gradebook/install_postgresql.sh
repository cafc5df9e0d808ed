#!/bin/sh
# Install PostgreSQL, in which a test keeps a gradebook, where that is permitted; else say what to install.
set -u
found() {
    command -v initdb >/dev/null 2>&1 || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1
}
if found; then
    exit 0
fi
sudo=
if [ "$(id -u)" != 0 ]; then
    sudo="sudo -n"
fi
if command -v apt-get >/dev/null 2>&1 && { [ -z "$sudo" ] || $sudo true 2>/dev/null; }; then
    echo "== PostgreSQL is missing: installing it (a minute or two); no server of it is started"
    {
        $sudo apt-get update -qq && $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq postgresql-common &&
            $sudo sed -i 's/^#\?create_main_cluster.*/create_main_cluster = false/' /etc/postgresql-common/createcluster.conf &&
            $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq postgresql
    } >/dev/null 2>&1 || true
fi
if ! found; then
    echo "notice: PostgreSQL is missing and could not be installed; the test of a gradebook in it will fail." >&2
    echo "        Remedy: sudo apt-get install postgresql (Debian), sudo dnf install postgresql-server (Fedora)." >&2
fi
exit 0
