"""Build the command that runs a zygote under bubblewrap: no network, no course, no home; writable files in memory only."""

import os
import secrets
import shlex
import shutil
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path

from autograder.errors import CourseError
from autograder.sandbox.hidden import hidden_paths
from autograder.sandbox.script import Limits

WORKER_FILES = (
    Path(__file__).with_name("worker.py"),
    Path(__file__).with_name("zygote.py"),
    Path(__file__).with_name("wire.py"),
    Path(__file__).parents[1] / "exercises" / "compare.py",
)
NOBODY = "65534"
UNUSED_UIDS = range(2_010_000_000, 2_110_000_000)  # below 2**31; outside the ranges of systemd, containers and sssd
REMEDY = (
    "install bubblewrap (Debian and Ubuntu: `sudo apt-get install bubblewrap`; Fedora: `sudo dnf install bubblewrap`) "
    "on a Linux machine where user namespaces are allowed, and see what `python -m autograder doctor` says. "
    "`--isolation none` grades without a sandbox: for submissions that you trust, and no others."
)
USERNS_RESTRICTION = Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")  # "1" on Ubuntu 24.04
APPARMOR_REMEDY = (
    "AppArmor does not let bwrap make user namespaces here (kernel.apparmor_restrict_unprivileged_userns is 1). Allow it to "
    r"bwrap alone: `printf 'abi <abi/4.0>,\ninclude <tunables/global>\nprofile bwrap {bwrap} flags=(unconfined) {{\n"
    r"  userns,\n}}\n' | sudo tee /etc/apparmor.d/bwrap`, then `sudo systemctl reload apparmor`, and see what "
    "`python -m autograder doctor` says."
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
    "PIP_NO_INDEX": "1",  # without a network, pip would try again and again to reach the index
    "PIP_RETRIES": "0",  # or an address that it is given
}


def is_installed() -> bool:
    """Return whether bubblewrap is installed. Only the canary can tell whether it works."""
    return sys.platform == "linux" and shutil.which("bwrap") is not None


def remedy() -> str:
    """Return advice for a machine on which bubblewrap is missing or makes no sandbox."""
    bwrap = shutil.which("bwrap")
    try:
        is_restricted = USERNS_RESTRICTION.read_text().strip() == "1"
    except OSError:
        is_restricted = False
    return APPARMOR_REMEDY.format(bwrap=os.path.realpath(bwrap)) if bwrap and is_restricted else REMEDY


def explain_refusal(reason: str) -> tuple[str, str, str]:
    """Return what is wrong, where, and what to do if a sandbox gave ``reason`` and did not start.

    As root, the sandbox becomes another user, who cannot read files that were written under a umask such as 077.
    """
    if os.geteuid() == 0 and not reason.startswith("bwrap: "):
        for path in (
            sys.prefix,
            sysconfig.get_path("stdlib"),
            os.path.realpath(sys.executable),
            *map(str, WORKER_FILES),
        ):
            if closed := _find_closed_path(path):
                what = f"the sandbox did not start: its user cannot read {closed} ({reason})"
                opens = f"`chmod -R go+rX {shlex.quote(path)}` opens it: a umask such as 077 closed it to all but its owner."
                return what, "this machine", opens
    return f"the sandbox did not start: {reason}", "this machine", remedy()


def _find_closed_path(top):
    """Return a path at or below ``top`` that other users cannot read, or None."""
    for folder, names, files in os.walk(top):
        for path in (folder, *(os.path.join(folder, name) for name in (*names, *files))):
            needed = 0o005 if os.path.isdir(path) else 0o004
            if os.lstat(path).st_mode & needed != needed:
                return path
    return top if os.path.isfile(top) and not os.stat(top).st_mode & 0o004 else None


def command(limits: Limits, hidden: Iterable[str] = ()) -> tuple[list[str], list[str]]:
    """Return ``(bubblewrap's arguments, command to start)`` for a zygote in its own sandbox.

    Pass the arguments by ``--args``: they name folders of this machine, and a submission can read the command line.
    ``hidden`` lists paths that the sandbox must not show, besides the project and the home directory.

    Started as root, bubblewrap creates the namespaces with root's privileges, and the zygote becomes an unprivileged
    user inside them; started as any other user, it uses a user namespace. Raises CourseError if a path that Python
    needs would have to be hidden.
    """
    as_root, size = os.geteuid() == 0, str(limits.disk_mb * 2**20)
    args = ["--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"]
    args += ["--unshare-cgroup-try", "--die-with-parent", "--new-session", "--clearenv", "--hostname", "sandbox"]
    args += [] if as_root else ["--unshare-user", "--cap-drop", "ALL"]
    for name, value in ENVIRONMENT.items():
        args += ["--setenv", name, value]
    view = View(python_paths(), hidden_paths(hidden))
    args += [*view.arguments(), "--perms", "0755", "--dir", "/worker"]
    for path in WORKER_FILES:
        args += ["--ro-bind", str(path), f"/worker/{path.name}"]
    args += ["--proc", "/proc", "--dev", "/dev", "--perms", "1777", "--size", size, "--tmpfs", "/dev/shm"]
    args += ["--perms", "1777", "--size", size, "--tmpfs", "/scratch", "--perms", "1777", "--dir", "/scratch/tmp"]
    if Path("/tmp") not in view.made:  # created already if the Python environment is under /tmp
        args += ["--symlink", "/scratch/tmp", "/tmp"]
    args += ["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/scratch"]
    start = [sys.executable, "-I", "-B", "/worker/zygote.py"]
    return args, [*become_user(unused_uid()), *start] if as_root else start


def become_user(uid: str) -> list[str]:
    """Return a command prefix that makes root drop every privilege and run the rest as the user ``uid``."""
    return ["setpriv", "--reuid", uid, "--regid", uid, "--clear-groups", "--bounding-set", "-all", "--no-new-privs"]


def unused_uid() -> str:
    """Return a user ID that runs nothing else here, because limits count per user; ``NOBODY`` in a small container."""
    first, last = UNUSED_UIDS[0], UNUSED_UIDS[-1]
    for kind in ("uid", "gid"):
        with open(f"/proc/self/{kind}_map") as file:
            ranges = [tuple(map(int, line.split())) for line in file]
        if not any(inside <= first and last < inside + count for inside, _, count in ranges):
            return NOBODY
    return str(secrets.choice(UNUSED_UIDS))


def python_paths() -> list[str]:
    """Return the paths that Python needs, but not their parents: system libraries and the environment's own folders."""
    system = ("/usr", "/bin", "/lib", "/lib32", "/lib64", "/sbin", "/etc/ld.so.cache", "/etc/fonts")
    return [*system, sys.base_prefix, sys.prefix, sys.executable]


class View:
    """The files of this machine that a sandbox sees: the ``shown`` paths, read-only, without the ``hidden`` ones.

    Where one path contains another, the inner one decides. Symbolic links on the way to a shown path are recreated.
    """

    def __init__(self, shown: Iterable[str | Path], hidden: Iterable[str | Path]):
        names = [Path(path) for path in shown if os.path.exists(path)]
        self.shown = {path.resolve() for path in names}
        self.hidden = {Path(path).resolve() for path in hidden} - {Path("/")}
        self.links = dict(link for path in names for link in _symlinks_on_path(path))
        self.made: set[Path] = set()
        if clash := sorted(self.shown & self.hidden):
            what = "Python needs this folder, and no submission may see it: it is the home directory, or the course"
            raise CourseError(what, str(clash[0]), "put the course, or HOME, into a folder of its own.")

    def arguments(self) -> list[str]:
        """Return the arguments for bubblewrap, and add the folders that they create to ``made``."""
        args, covers = [], []
        for path in sorted(self.shown | self.hidden, key=lambda path: (len(path.parts), path)):
            visible = self._enclosing_folder(path) in self.shown
            if path in self.shown and not visible:
                args += [*self._parents(path), "--ro-bind", str(path), str(path)]
            elif path in self.hidden and visible and path.is_dir():
                args += ["--perms", "0755", "--tmpfs", str(path)]
                self.made.add(path)
                covers += ["--remount-ro", str(path)]
            elif path in self.hidden and visible:
                args += ["--ro-bind", os.devnull, str(path)]
        for path, target in self.links.items():
            if self._enclosing_folder(path) not in self.shown:
                args += [*self._parents(path), "--symlink", target, str(path)]
        return args + covers

    def _enclosing_folder(self, path):
        """Return the innermost folder around ``path`` that is shown or hidden, or None."""
        return next((parent for parent in path.parents if parent in self.shown or parent in self.hidden), None)

    def _parents(self, path):
        """Yield arguments that create the folders above ``path``, which can be entered but show nothing else."""
        for parent in list(reversed(path.parents))[1:]:
            if parent not in self.made | self.shown and self._enclosing_folder(parent) not in self.shown:
                self.made.add(parent)
                yield from ("--perms", "0755", "--dir", str(parent))


def _symlinks_on_path(path):
    """Yield ``(link, target)`` for every symbolic link on the way to ``path``; the parents of each link are resolved."""
    at, ahead = Path("/"), list(Path(path).absolute().parts[1:])
    for _ in range(100):
        if not ahead:
            return
        name = ahead.pop(0)
        if name == "..":
            at = at.parent
            continue
        at = at / name
        if at.is_symlink():
            target = os.readlink(at)
            yield at, target
            at, ahead = (Path("/") if target.startswith("/") else at.parent), [*Path(target).parts, *ahead]
            ahead = [part for part in ahead if part != "/"]
