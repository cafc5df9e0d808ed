"""Programs are installed as soon as another apt-get ends, or else it is said why not; `make serve` serves the website."""

import os
import shutil
import signal
import subprocess
import time
import urllib.error
import urllib.request
from http.server import HTTPServer, SimpleHTTPRequestHandler

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


def serve(folder, port, **options):
    command = ["make", "--no-print-directory", "-f", ROOT / "Makefile", "-C", folder, "serve"]
    return subprocess.Popen(
        [*command, f"VENV={ROOT / '.venv'}", f"PORT={port}"], text=True, stderr=subprocess.PIPE, **options
    )


@pytest.fixture
def port():
    """A port that is free, and is taken while the context of the server lasts."""
    with HTTPServer(("127.0.0.1", 0), SimpleHTTPRequestHandler) as server:
        return server.server_port


def test_make_serve_serves_the_website(tmp_path, port):
    (tmp_path / "_build" / "html").mkdir(parents=True)
    (tmp_path / "_build" / "html" / "index.html").write_text("the first page")
    with serve(tmp_path, port, stdout=subprocess.PIPE, start_new_session=True) as process:
        try:
            address = f"http://127.0.0.1:{port}/"
            assert process.stdout.readline() == f"Website:  {address} (Ctrl+C ends it)\n"
            while True:
                try:
                    with urllib.request.urlopen(address) as page:
                        assert page.read() == b"the first page"
                    break
                except urllib.error.URLError:
                    assert process.poll() is None
                    time.sleep(0.1)
        finally:
            os.killpg(process.pid, signal.SIGTERM)


def test_make_serve_says_what_is_missing_and_what_is_in_the_way(tmp_path):
    with serve(tmp_path, 8000, stdout=subprocess.PIPE) as process:
        assert "error: there is no website yet. Remedy: make site" in process.stderr.read()
    (tmp_path / "_build" / "html").mkdir(parents=True)
    (tmp_path / "_build" / "html" / "index.html").touch()
    with (
        HTTPServer(("127.0.0.1", 0), SimpleHTTPRequestHandler) as server,
        serve(tmp_path, server.server_port, stdout=subprocess.PIPE) as process,
    ):
        message = process.stderr.read()
    assert "Address already in use" in message
    assert "error: the website cannot be served. Remedy: another port, make serve PORT=8001" in message
    assert process.returncode == 2
