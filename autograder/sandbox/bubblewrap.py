"""The command line that puts a worker behind bubblewrap: no network, no course, no home, nothing to write on but memory.

In: limits. Out: an argument list and an environment. Touches nothing.
"""

import os
import shutil
import sys
from pathlib import Path

WORKER_FILES = (
    Path(__file__).with_name("worker.py"),
    Path(__file__).with_name("zygote.py"),
    Path(__file__).with_name("wire.py"),
    Path(__file__).parent.with_name("compare.py"),
)
NOBODY = "65534"
REMEDY = (
    "install bubblewrap (Debian and Ubuntu: `sudo apt-get install bubblewrap`; Fedora: `sudo dnf install bubblewrap`) "
    "on a Linux machine where user namespaces are allowed, and see what `python -m autograder doctor` says. "
    "`--isolation none` grades without a sandbox: for submissions that you trust, and no others."
)
ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "LANG": "C.UTF-8",
    "HOME": "/scratch",
    "TMPDIR": "/scratch/tmp",
    "IPYTHONDIR": "/scratch/ipython",
    "MPLCONFIGDIR": "/scratch/matplotlib",
    "MPLBACKEND": "module://matplotlib_inline.backend_inline",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}


def available():
    """Return whether the program is installed. Whether it works, only the canary can tell."""
    return sys.platform == "linux" and shutil.which("bwrap") is not None


def command(limits, script):
    """Return ``(arguments of bubblewrap, what it starts)`` for ``script``, one of ``WORKER_FILES``, in a sandbox of its own.

    The arguments are for ``--args``: they name folders of this machine, and a submission can read the command line.

    Started as root, bubblewrap makes the namespaces with root's rights and the worker becomes an unprivileged user
    inside them; started as anybody else, it uses a user namespace.
    """
    as_root = os.geteuid() == 0
    size = str(limits.disk_mb * 2**20)
    args = ["--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"]
    args += ["--unshare-cgroup-try", "--die-with-parent", "--new-session", "--clearenv", "--hostname", "sandbox"]
    if not as_root:
        args += ["--unshare-user", "--cap-drop", "ALL"]
    for name, value in ENVIRONMENT.items():
        args += ["--setenv", name, value]
    made, mounts = set(), []
    for path in _system_folders():
        if path.is_symlink():
            mounts += ["--symlink", os.readlink(path), str(path)]
        else:
            mounts += [*_parents(path, made), "--ro-bind", str(path), str(path)]
    args += mounts
    args += ["--perms", "0755", "--dir", "/worker"]
    for path in WORKER_FILES:
        args += ["--ro-bind", str(path), f"/worker/{path.name}"]
    args += ["--proc", "/proc", "--dev", "/dev", "--perms", "1777", "--size", size, "--tmpfs", "/dev/shm"]
    args += ["--perms", "1777", "--size", size, "--tmpfs", "/scratch", "--perms", "1777", "--dir", "/scratch/tmp"]
    if Path("/tmp") not in made:  # an environment that lies under /tmp has made it already
        args += ["--symlink", "/scratch/tmp", "/tmp"]
    args += ["--remount-ro", "/", "--chdir", "/scratch"]
    start = []
    if as_root:
        start += ["setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", "--bounding-set", "-all"]
        start += ["--no-new-privs"]
    return args, [*start, sys.executable, "-I", "-B", f"/worker/{script}"]


def _system_folders():
    """Return what Python needs to run, and nothing above it: system libraries and the environment's own folders."""
    system = [Path(p) for p in ("/usr", "/bin", "/lib", "/lib32", "/lib64", "/sbin", "/etc/ld.so.cache", "/etc/fonts")]
    python = [Path(sys.base_prefix).resolve(), Path(sys.prefix)]
    folders = [path for path in system if path.exists()]
    for path in python:
        if not any(path.is_relative_to(known) for known in folders):
            folders.append(path)
    return folders


def _parents(path, made):
    """Yield arguments that make the folders above ``path``, so that they may be entered but show nothing."""
    for parent in reversed(path.parents):
        if parent != Path("/") and parent not in made:
            made.add(parent)
            yield from ("--perms", "0755", "--dir", str(parent))
