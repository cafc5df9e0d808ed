"""The command line that puts a worker into a container: for machines where bubblewrap cannot run (macOS).

In: limits. Out: an argument list for Podman or Docker. Touches nothing. The image is made from ``Containerfile`` beside
this file; the worker's files are given to it when it is built, the course never is.
"""

import os
import shutil

from autograder.errors import CourseError
from autograder.sandbox.bubblewrap import ENVIRONMENT, NOBODY
from autograder.sandbox.script import Limits

ENGINES = ("podman", "docker")
IMAGE = "attention-grader"
REMEDY = (
    f"start Podman or Docker, and build the image once, in the project's folder: "
    f"`docker build -t {IMAGE} -f autograder/sandbox/Containerfile .` (or `podman build` with the same words)."
)


def engine() -> str:
    """Return the first container engine that is installed, or ""; AUTOGRADER_ENGINE names another one."""
    asked = os.environ.get("AUTOGRADER_ENGINE", "")
    return asked or next((name for name in ENGINES if shutil.which(name)), "")


def command(limits: Limits, program: str | None = None) -> list[str]:
    """Return the command that starts a worker in a container of its own.

    Raises
    ------
    CourseError
        If there is no container engine.
    """
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
