"""The scripts that install programs wait for another apt-get, and pass on why one could not be installed."""

import os
import shutil
import subprocess

import pytest

from autograder.paths import ROOT

pytestmark = pytest.mark.suite("project")

SCRIPTS = {
    "autograder/sandbox/install.sh": "bubblewrap",
    "tests/book/install_browser.sh": "Chromium",
    "tests/autograder/gradebook/install_postgresql.sh": "PostgreSQL",
}
LOCKED = "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 42 (apt-get)"
APT = """#!/bin/sh
echo "$*" >> {folder}/calls
[ "$(wc -l < {folder}/calls)" -gt {failures} ] || {{ echo "{message}" >&2; exit 100; }}
"""


@pytest.fixture
def run(tmp_path):
    """Return a function that runs a script where no program is installed and apt-get fails so many times."""

    def run(script, failures, message):
        programs = tmp_path / "programs"
        shutil.rmtree(programs, ignore_errors=True)
        programs.mkdir()
        for name in ("sh", "id", "uname", "dirname", "wc", "env"):
            (programs / name).symlink_to(shutil.which(name))
        own = {
            "apt-get": APT.format(folder=tmp_path, failures=failures, message=message),
            "sleep": f"#!/bin/sh\necho pause >> {tmp_path}/pauses\n",
            "sudo": '#!/bin/sh\nshift\nexec "$@"\n',
            "sed": "#!/bin/sh\n",
            "ls": "#!/bin/sh\nexit 1\n",
        }
        for name, text in own.items():
            (programs / name).write_text(text)
            (programs / name).chmod(0o755)
        for name in ("calls", "pauses"):
            (tmp_path / name).write_text("")
        done = subprocess.run(
            ["sh", ROOT / script], env={**os.environ, "PATH": str(programs)}, capture_output=True, text=True
        )
        return done, *((tmp_path / name).read_text().splitlines() for name in ("calls", "pauses"))

    return run


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_waits_while_another_apt_get_runs(run, script):
    done, calls, pauses = run(script, 2, LOCKED)
    assert done.returncode == 0
    assert len(pauses) == 2
    assert done.stdout.count("another apt-get is running: waiting for it, five minutes at most") == 1
    assert LOCKED not in done.stderr
    assert any(call.startswith("install -y -qq") for call in calls[2:])


def test_the_wait_for_another_apt_get_ends(run):
    done, calls, pauses = run("autograder/sandbox/install.sh", 1000, LOCKED)
    assert len(pauses) == 60
    assert len(calls) == 61
    assert done.stderr.startswith(LOCKED)
    assert "bubblewrap is missing and could not be installed. Remedy: " in done.stderr


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_passes_on_why_nothing_was_installed(run, script):
    done, calls, pauses = run(script, 1000, "E: Unable to locate package of this name")
    assert done.returncode == 0
    assert (len(calls), pauses) == (1, [])
    assert done.stderr.startswith("E: Unable to locate package of this name\nnotice: ")
    assert f"{SCRIPTS[script]}" in done.stderr
