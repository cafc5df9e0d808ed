"""A container like those in which platforms run graders: root has Docker's default rights, so no namespace is available."""

import os
import subprocess
import sys

import pytest

from autograder.sandbox import bubblewrap

# what Docker leaves to root by default: https://docs.docker.com/engine/containers/run/#runtime-privilege-and-linux-capabilities
RIGHTS = "AUDIT_WRITE CHOWN DAC_OVERRIDE FOWNER FSETID KILL MKNOD NET_BIND_SERVICE NET_RAW SETFCAP SETGID SETPCAP SETUID SYS_CHROOT"
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a container that has another user in it")


def in_a_container(tree, *command, rights=RIGHTS):
    """Run ``command`` as root in a container with Python, the folder ``tree`` as /autograder, and ``rights``."""
    args = ["bwrap", "--unshare-pid", "--unshare-ipc", "--die-with-parent"]
    for folder in ("/tmp", "/var/tmp"):  # first, because paths that are needed may lie in them
        args += ["--perms", "1777", "--tmpfs", folder]
    args += bubblewrap.View(bubblewrap.python_paths(), ()).arguments()
    args += ["--bind", str(tree), "/autograder", "--proc", "/proc", "--dev", "/dev"]
    for file in ("/etc/passwd", "/etc/shadow"):
        args += ["--ro-bind", file, file]
    args += ["--perms", "0700", "--dir", "/home/grader", "--setenv", "HOME", "/home/grader"]
    args += ["--setenv", "AUTOGRADER_PYTHON", sys.executable, "--chdir", "/autograder", "--cap-drop", "ALL"]
    for right in rights.split():
        args += ["--cap-add", f"CAP_{right}"]
    return subprocess.run([*args, *command], capture_output=True, text=True, timeout=500, check=False)
