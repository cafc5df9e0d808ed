#!/bin/sh
# Install bubblewrap, which keeps submissions apart from this machine, where that is permitted; else say what to install.
set -u
. "$(dirname "$0")/../apt_install.sh"
if command -v bwrap >/dev/null 2>&1; then
    exit 0
fi
if [ "$(uname -s)" != Linux ]; then
    echo "notice: bubblewrap runs on Linux only; here only the project's own demonstration class can be graded." >&2
    exit 0
fi
apt_install "bubblewrap is missing: installing it" bubblewrap
if ! command -v bwrap >/dev/null 2>&1; then
    echo "notice: bubblewrap is missing and could not be installed. Remedy: sudo apt-get install bubblewrap (Debian, Ubuntu)," >&2
    echo "        sudo dnf install bubblewrap (Fedora), sudo pacman -S bubblewrap (Arch)." >&2
fi
exit 0
