"""Find what has arrived in a folder, by looking at names, times and sizes only. Nothing is opened, and no link is followed.

In: a folder that students write to. Out: the names of complete entries that are new or have changed, in the order in which the
system last changed them, a time that no student can set.
"""

import hashlib
import os
import stat
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from autograder.courses.course import SECRET

SETTLE_SECONDS = 2.0  # for which an entry must stay unchanged
UNFINISHED_SECONDS = 20.0  # the same in the exchange, without the sign that `nbgrader submit` has finished
MAX_FILES = 1000  # of one hand-in
SUBMITTED_FOLDER_MODE = 0o007  # the mode that `nbgrader submit` gives a folder in its last step


@dataclass(frozen=True)
class InboxEntry:
    """An entry as it was found. ``mark`` differs once the entry changes; ``changed`` is its st_ctime_ns, or the latest in it."""

    name: str
    mark: str
    changed: int


@dataclass
class Inbox:
    """The folder ``path``. ``known`` maps entries that were taken to their marks; ``wanted`` says whether a name may be taken.

    ``is_exchange`` says whether `nbgrader submit` writes there.
    """

    path: Path
    is_exchange: bool
    wanted: Callable[[str], bool]
    known: dict[str, str]
    passed_over: set[str] = field(default_factory=set)  # names that were reported as not wanted
    growing: dict[str, tuple[str, float]] = field(default_factory=dict)  # name -> mark, since when

    def poll(self) -> tuple[list[InboxEntry], list[str]]:
        """Return ``(complete entries that are new or changed, names newly passed over)``; may raise ``OSError``.

        A listing is not atomic: it may miss an entry completed just after it was looked at, yet find one completed still
        later. So the folder is listed twice, and what is later than everything in the first listing waits for the next poll.
        """
        first, others = self._scan()
        if not first:
            return [], sorted(others)
        second, more = self._scan()
        last = max(seen.changed for seen in first)
        arrived = {seen.name: seen for seen in (*first, *(seen for seen in second if seen.changed <= last))}
        return sorted(arrived.values(), key=lambda seen: (seen.changed, seen.name)), sorted([*others, *more])

    def _scan(self):
        arrived, others, present = [], [], set()
        with os.scandir(self.path) as entries:
            for entry in entries:
                present.add(entry.name)
                if entry.name in self.passed_over or entry.name.startswith("."):
                    continue
                if entry.is_symlink() or not _is_text(entry.name) or not self.wanted(entry.name):
                    self.passed_over.add(entry.name)
                    others.append(entry.name)
                elif seen := self._check_entry(entry):
                    arrived.append(seen)
        self.growing = {name: state for name, state in self.growing.items() if name in present}
        self.passed_over &= present
        return arrived, others

    def take(self, seen: InboxEntry) -> None:
        """Remember that ``seen`` was taken."""
        self.known[seen.name] = seen.mark
        self.growing.pop(seen.name, None)

    def forget(self, name: str) -> None:
        """Forget the entry called ``name``, which has disappeared: a network drive may bring it back."""
        self.known.pop(name, None)

    def _check_entry(self, entry):
        """Return ``entry`` if it has changed since it was taken and is complete, else None."""
        try:
            status = entry.stat(follow_symlinks=False)
            if self.is_exchange:  # nobody changes what was submitted; if a file is added, the folder's time changes
                mark = str(status.st_mtime_ns)
                if self.known.get(entry.name) == mark:
                    return None
                if self._is_submitted(entry.path, status):
                    return InboxEntry(entry.name, mark, status.st_ctime_ns)
            state, changed = _state_of(entry.path, status)
        except OSError:  # it has just been moved or deleted
            return None
        mark = mark if self.is_exchange else state
        if self.known.get(entry.name) == mark:
            return None
        now = time.monotonic()
        before, since = self.growing.setdefault(entry.name, (state, now))
        if before != state:
            self.growing[entry.name] = state, now
            return None
        needed = UNFINISHED_SECONDS if self.is_exchange else SETTLE_SECONDS
        return InboxEntry(entry.name, mark, changed) if now - since >= needed else None

    def _is_submitted(self, path, status):
        """Return whether `nbgrader submit` has completed its last step on the folder ``path``."""
        if not stat.S_ISDIR(status.st_mode) or status.st_mode & SUBMITTED_FOLDER_MODE != SUBMITTED_FOLDER_MODE:
            return False
        try:
            secret = os.lstat(os.path.join(path, SECRET))
        except OSError:
            return False
        return stat.S_ISREG(secret.st_mode) and secret.st_size > 0


def _is_text(name):
    """Return whether ``name`` can be stored, because file names may be arbitrary bytes."""
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _state_of(path, status):
    """Return ``(a text that changes with names, sizes and times, the last change)`` of the file or folder ``path``."""
    parts, changed = [f"{status.st_mtime_ns}:{status.st_size}"], status.st_ctime_ns
    if stat.S_ISDIR(status.st_mode):
        for name, below in _walk(path):
            parts.append(f"{name}:{below.st_mtime_ns}:{below.st_size}")
            changed = max(changed, below.st_ctime_ns)
    state = "\n".join(sorted(parts)).encode("utf-8", "surrogateescape")
    return hashlib.sha256(state).hexdigest()[:32], changed


def _walk(root):
    """Yield the path and the status of up to ``MAX_FILES`` entries below ``root``, without following links."""
    pending, count = [root], 0
    while pending:
        with os.scandir(pending.pop()) as entries:
            for entry in entries:
                count += 1
                if count > MAX_FILES:
                    return
                status = entry.stat(follow_symlinks=False)
                yield entry.path, status
                if stat.S_ISDIR(status.st_mode):
                    pending.append(entry.path)
