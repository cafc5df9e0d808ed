"""Limit the memory and the processes of a whole sandbox with a control group, where this machine grants one."""

import contextlib
import os
import shlex
import time
from collections.abc import Iterator
from pathlib import Path

from autograder.sandbox.script import Limits

ROOT = Path("/sys/fs/cgroup")
HEADROOM_MB = 1024  # for the interpreter itself and for files in memory, beyond what one process may use


class ControlGroup:
    """The folders of a control group; no folders if this machine grants none."""

    def __init__(self, folders: list[Path]):
        self.folders = folders

    def join(self, command: list[str]) -> list[str]:
        """Return ``command``, wrapped so that it and everything it starts belong to the group from the start."""
        if not self.folders:
            return command
        enter = "; ".join(f"echo $$ > {shlex.quote(str(folder / 'cgroup.procs'))}" for folder in self.folders)
        return ["/bin/sh", "-c", f'{enter}; exec "$@"', "sh", *command]


@contextlib.contextmanager
def limit_memory(limits: Limits) -> Iterator[ControlGroup]:
    """Yield a ``ControlGroup`` with room for ``limits``, and remove it when its last process has ended."""
    folders = []
    name = f"autograder-{os.getpid()}-{time.monotonic_ns()}"
    try:
        for folder, settings in _candidate_folders(limits):
            try:
                (folder / name).mkdir()
            except OSError:
                continue
            folders.append(folder / name)
            try:
                for file, value in settings.items():
                    (folder / name / file).write_text(str(value))
            except OSError:
                folders.pop().rmdir()
        yield ControlGroup(folders)
    finally:
        for folder in folders:
            _remove(folder)


def is_available(limits: Limits) -> bool:
    """Return whether this machine grants a control group that limits the memory and processes of a whole sandbox."""
    with limit_memory(limits) as group:
        return len(group.folders) == len(_candidate_folders(limits)) > 0


def _candidate_folders(limits):
    """Return ``[(folder in which to create a group, {file: value})]``, for version 2 or 1 of control groups."""
    memory = (limits.memory_mb + HEADROOM_MB) * 2**20
    groups = _read_own_groups()
    unified = ROOT / groups.get("", "")
    with contextlib.suppress(OSError):
        if {"memory", "pids"} <= set((unified / "cgroup.subtree_control").read_text().split()):
            settings = {"memory.max": memory, "memory.swap.max": 0, "pids.max": limits.processes + 16}
            return [(unified, settings)]
    settings = {"memory": {"memory.limit_in_bytes": memory}, "pids": {"pids.max": limits.processes + 16}}
    return [(ROOT / name / groups[name], settings[name]) for name in settings if name in groups]


def _read_own_groups():
    """Return ``{controller: group of this process}``; the key "" is the hierarchy of version 2."""
    groups = {}
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            groups.update(dict.fromkeys(controllers.split(","), path.lstrip("/")))
    return groups


def _remove(folder):
    for _ in range(100):
        with contextlib.suppress(OSError):
            folder.rmdir()
        if not folder.exists():
            return
        time.sleep(0.01)  # its last process has not been reaped yet


def remove_left_behind(limits: Limits) -> None:
    """Remove the groups of graders that were killed."""
    for folder, _ in _candidate_folders(limits):
        for left in folder.glob("autograder-*-*"):
            process = left.name.split("-")[1]
            if process.isdigit() and not Path("/proc", process).exists():
                with contextlib.suppress(OSError):
                    left.rmdir()
