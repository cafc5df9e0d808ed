#!/bin/bash
# What Gradescope runs once, as root, when it builds the image: Python, the packages that grade, bubblewrap.
set -euo pipefail
source=/autograder/source
python=/opt/attention-grader  # not below /autograder, which no submission may enter
torch_index=@TORCH_INDEX@
export DEBIAN_FRONTEND=noninteractive

apt-get update -qq
apt-get install -y -qq --no-install-recommends bubblewrap util-linux
# The versions in constraints.txt were tested with 3.11, which Ubuntu 22.04 has beside its own; 24.04 has 3.12.
for version in 3.11 3.12 3.13; do
    if apt-get install -y -qq --no-install-recommends "python$version" "python$version-venv"; then
        break
    fi
done
"python$version" -m venv "$python"
"$python/bin/python" -m pip install --disable-pip-version-check --no-cache-dir --quiet --progress-bar off \
    ${torch_index:+--extra-index-url "$torch_index"} -c "$source/constraints.txt" -r "$source/requirements.txt"
chmod -R a+rX "$python"
chmod -R go= "$source"  # the answers
rm -rf /var/lib/apt/lists/*
