"""Build the command that runs a worker in a container, for machines where bubblewrap cannot run (macOS).

The image is built from ``Containerfile`` beside this file: it contains the worker's files, but never the course.
"""

import hashlib
import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

from autograder.errors import CourseError
from autograder.sandbox.bubblewrap import ENVIRONMENT, NOBODY, WORKER_FILES
from autograder.sandbox.script import Limits

ENGINES = ("podman", "docker")
IMAGE = "attention-grader"
REMEDY = (
    f"start Podman or Docker, and build the image once, in the project's folder: "
    f"`docker build -t {IMAGE} -f autograder/sandbox/Containerfile .` (or `podman build` with the same arguments)."
)


HASHES = "import hashlib, pathlib; print([hashlib.sha256(pathlib.Path(p).read_bytes()).hexdigest() for p in {paths!r}])"
ENGINE_TIMEOUT_SECONDS = 60.0  # seconds that a container may take to hash its files


def engine() -> str:
    """Return AUTOGRADER_ENGINE if it is set, else the first container engine that is installed, or ""."""
    chosen = os.environ.get("AUTOGRADER_ENGINE", "")
    return chosen or next((name for name in ENGINES if shutil.which(name)), "")


def command(limits: Limits, program: str | None = None) -> list[str]:
    """Return the command that starts a worker in a container; raise CourseError where no engine is installed."""
    program = program or engine()
    if not program:
        raise CourseError("there is no container engine", "this machine", REMEDY)
    memory = f"{limits.memory_mb}m"
    disk = f"size={limits.disk_mb}m,mode=1777,nosuid,nodev"
    args = [program, "run", "--rm", "--interactive", "--pull", "never", "--network", "none", "--read-only"]
    args += ["--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--user", f"{NOBODY}:{NOBODY}"]
    args += ["--pids-limit", str(limits.processes + 16), "--memory", memory, "--memory-swap", memory]
    args += ["--ipc", "private", "--shm-size", f"{limits.disk_mb}m", "--hostname", "sandbox"]
    args += ["--tmpfs", f"/scratch:{disk}", "--tmpfs", f"/tmp:{disk}", "--workdir", "/scratch"]
    for name, value in {**ENVIRONMENT, "TMPDIR": "/tmp", "PATH": "/usr/local/bin:/usr/bin:/bin"}.items():
        args += ["--env", f"{name}={value}"]
    return [*args, IMAGE, "python", "-I", "-B", "/worker/worker.py"]


def files_in_image() -> tuple[Path, ...]:
    """Return the worker's files of which an image must hold identical copies."""
    return tuple(path for path in WORKER_FILES if path.name != "zygote.py")


@cache
def require_image(program: str) -> None:
    """Raise CourseError unless the image holds this installation's files, as other versions may grade differently."""
    script = HASHES.format(paths=[f"/worker/{path.name}" for path in files_in_image()])
    args = [program, "run", "--rm", "--pull", "never", "--network", "none", IMAGE, "python", "-I", "-c", script]
    try:
        done = subprocess.run(args, capture_output=True, text=True, timeout=ENGINE_TIMEOUT_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CourseError(f"the sandbox did not start: {error}", "this machine", REMEDY) from None
    if done.returncode:
        reason = done.stderr.strip()[:1000] or f"exit status {done.returncode}"
        raise CourseError(f"the sandbox did not start: {reason}", "this machine", REMEDY)
    if done.stdout.strip() != str([hashlib.sha256(path.read_bytes()).hexdigest() for path in files_in_image()]):
        what = "the image was built from another version of the grader"
        raise CourseError(what, f"the image {IMAGE}", f"build it again: {REMEDY}")
