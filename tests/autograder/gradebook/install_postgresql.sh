#!/bin/sh
# Install PostgreSQL, in which a test keeps a gradebook, where that is permitted; else say what to install.
set -u
. "$(dirname "$0")/../../../autograder/apt_install.sh"
found() {
    command -v initdb >/dev/null 2>&1 || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1
}
if found; then
    exit 0
fi
apt_install "PostgreSQL is missing: installing it (a minute or two); no server of it is started" postgresql-common &&
    $sudo sed -i 's/^#\?create_main_cluster.*/create_main_cluster = false/' /etc/postgresql-common/createcluster.conf &&
    apt_install "PostgreSQL itself" postgresql
if ! found; then
    echo "notice: PostgreSQL is missing and could not be installed; the test of a gradebook in it will fail." >&2
    echo "        Remedy: sudo apt-get install postgresql (Debian), sudo dnf install postgresql-server (Fedora)." >&2
fi
exit 0
