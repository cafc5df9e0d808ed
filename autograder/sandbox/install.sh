#!/bin/sh
# Install bubblewrap, which keeps submissions apart from this machine, where that is permitted; else say what to install.
set -u
if command -v bwrap >/dev/null 2>&1; then
    exit 0
fi
if [ "$(uname -s)" != Linux ]; then
    echo "notice: bubblewrap runs on Linux only; here only the project's own demonstration class can be graded." >&2
    exit 0
fi
sudo=
if [ "$(id -u)" != 0 ]; then
    sudo="sudo -n"
fi
if command -v apt-get >/dev/null 2>&1 && { [ -z "$sudo" ] || $sudo true 2>/dev/null; }; then
    echo "== bubblewrap is missing: installing it"
    { $sudo apt-get update -qq && $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq bubblewrap; } >/dev/null 2>&1 || true
fi
if ! command -v bwrap >/dev/null 2>&1; then
    echo "notice: bubblewrap is missing and could not be installed. Remedy: sudo apt-get install bubblewrap (Debian, Ubuntu)," >&2
    echo "        sudo dnf install bubblewrap (Fedora), sudo pacman -S bubblewrap (Arch)." >&2
fi
exit 0
