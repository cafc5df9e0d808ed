#!/bin/sh
# Install Chromium and its driver, with which the tests open the website, where that is permitted; else say what to install.
set -u
. "$(dirname "$0")/../../autograder/apt_install.sh"
found() {
    command -v chromedriver >/dev/null 2>&1 &&
        { command -v chromium || command -v chromium-browser || command -v google-chrome; } >/dev/null 2>&1
}
if found; then
    exit 0
fi
apt_install "Chromium is missing: installing it with its driver (a minute or two)" chromium chromium-driver
if ! found; then
    echo "notice: Chromium or its driver is missing and could not be installed; the tests of the website in it will fail." >&2
    echo "        Remedy: sudo apt-get install chromium chromium-driver (Debian), sudo dnf install chromium chromedriver" >&2
    echo "        (Fedora), or install Chrome and the chromedriver of the same version, and put both on PATH." >&2
fi
exit 0
