"""The people of a course on one machine: an instructor and students, each a system user with a home of their own.

Root can play anybody: each person works behind bubblewrap in a view of this machine whose list of users includes them,
and in which only the folder that they share can be written. So no account is created on the machine, nothing is left
behind, and everything that a person has started ends with its first process. Without root, one user plays everybody,
and nbgrader is told who is who.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from autograder.paths import ROOT
from autograder.sandbox import bubblewrap

FREE = 60_601  # systemd assigns the numbers from here to 61183 to nobody
PATIENCE = 300  # seconds: machines may be busy
OF_THEIR_OWN = os.geteuid() == 0
AS = "as users of their own" if OF_THEIR_OWN else "as one user of the system"
NO_NEWS = '{"fetchNews": "false", "checkForUpdates": false}'
NEWS = "lab/user-settings/@jupyterlab/apputils-extension/notification.jupyterlab-settings"


@dataclass(frozen=True)
class Person:
    """Somebody called ``name`` with files in ``home``; ``prefix`` is put before each of their commands."""

    name: str
    home: Path
    number: int
    prefix: tuple[str, ...]

    @property
    def environment(self) -> dict[str, str]:
        programs = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
        variables = {"PATH": programs, "HOME": str(self.home), "TMPDIR": str(self.home / "tmp"), "USER": self.name}
        return {
            **variables,
            "PYTHONPATH": str(ROOT),
            "PYTHONDONTWRITEBYTECODE": "1",
            "LANG": "C.UTF-8",
            "OMP_NUM_THREADS": "1",
        }

    def owns(self, path: Path) -> Path:
        """Make this person the owner of ``path`` and everything in it, and return it."""
        if OF_THEIR_OWN:
            for entry in (path, *path.rglob("*")):
                os.chown(entry, self.number, self.number, follow_symlinks=False)
        return path

    def run(self, *command: str | Path, cwd: Path | None = None) -> str:
        """Run ``command``, which must succeed, and return its output."""
        done = subprocess.run(
            [*self.prefix, *command],
            cwd=cwd or self.home,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        assert done.returncode == 0, f"{self.name}: {command}: {done.stdout}{done.stderr}"
        return done.stdout + done.stderr

    @contextlib.contextmanager
    def running(self, *command: str) -> Iterator[tuple[subprocess.Popen, Path]]:
        """Run ``command`` in the person's home; yield the process, and the file with its output."""
        log = self.home / "log.txt"
        with log.open("w") as file:
            process = subprocess.Popen(
                [*self.prefix, *command], cwd=self.home, env=self.environment, stdout=file, stderr=file
            )
            try:
                yield process, log
            finally:
                _end(process)
                process.wait(PATIENCE)


def _end(process):
    """End ``process``. In a view, kill the view's first process, with which all others end."""
    if process.poll() is None and OF_THEIR_OWN:
        (first,) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        os.kill(int(first), signal.SIGKILL)
    elif process.poll() is None:
        process.terminate()


@contextlib.contextmanager
def people(*names: str) -> Iterator[tuple[Path, list[Person]]]:
    """Yield a folder that everybody may enter, and a ``Person`` for each of ``names`` with a home in it."""
    place = Path(tempfile.mkdtemp(prefix="people-"))
    try:
        place.chmod(0o755)
        yield place, [_person(place, name, FREE + number, names) for number, name in enumerate(names)]
    finally:
        shutil.rmtree(place)


def _person(place, name, number, names):
    home = place / name
    (home / "tmp").mkdir(parents=True)
    news = home / ".jupyter" / NEWS
    news.parent.mkdir(parents=True)
    news.write_text(NO_NEWS, encoding="utf-8")
    home.chmod(0o700)
    if not OF_THEIR_OWN:
        return Person(name, home, os.geteuid(), ())
    person = Person(name, home, number, (*view(place, names), *as_user(number)))
    person.owns(home)
    tried = subprocess.run([*person.prefix, sys.executable, "-c", "pass"], capture_output=True, text=True)
    if tried.returncode:
        pytest.fail(f"another user of this machine cannot be played, or cannot run Python: {tried.stderr}")
    return person


def as_user(number: int) -> list[str]:
    """Return the prefix that runs a command as the user ``number``."""
    return ["setpriv", "--reuid", str(number), "--regid", str(number), "--clear-groups"]


def view(place: Path, names: tuple[str, ...]) -> list[str]:
    """Return the prefix that runs a command in the view described above, and ends everything that the command has started."""
    for file in ("passwd", "group"):
        lines = [Path("/etc", file).read_text(encoding="utf-8").rstrip("\n")]
        for number, name in enumerate(names, FREE):
            lines.append(f"{name}:x:{number}:" + (f"{number}::{place / name}:/bin/sh" if file == "passwd" else ""))
        (place / file).write_text("\n".join(lines) + "\n", encoding="utf-8")
    needed = [Path(sys.prefix), Path(sys.base_prefix), Path(sys.executable), ROOT, place]
    closed = {parent for path in needed for parent in path.resolve().parents if not parent.stat().st_mode & 0o001}
    # bubblewrap masks parts of a /proc of its own, and a sandbox started in this view could then not have one
    command = [
        "setpriv",
        "--pdeathsig",
        "KILL",
        "unshare",
        "--mount",
        "--pid",
        "--fork",
        "--kill-child",
        "--mount-proc",
    ]
    command += ["bwrap", "--die-with-parent"]
    command += [*bubblewrap.View(["/", *needed], closed).arguments(), "--dev-bind", "/proc", "/proc"]
    command += ["--dev", "/dev", "--perms", "1777", "--tmpfs", "/dev/shm", "--bind", str(place), str(place)]
    for file in ("passwd", "group"):
        command += ["--ro-bind", str(place / file), f"/etc/{file}"]
    return command


def wait_for(words, process, log):
    """Wait until ``process``, whose output goes to ``log``, has printed ``words``."""
    ends = time.monotonic() + PATIENCE
    while words not in (output := log.read_text()):
        assert process.poll() is None, output
        assert time.monotonic() < ends, output
        time.sleep(0.1)
