"""Where hand-ins come from: nbgrader's exchange, or a folder of files.

In: a course, a folder. Out: ``Source`` objects. Reads nbgrader_config.py; creates the exchange's feedback folder.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from autograder.courses.course import Course
from autograder.courses.plan import fold_name
from autograder.errors import CourseError
from autograder.platforms.collect import INBOUND
from autograder.platforms.formats import exchange_topic
from autograder.with_nbgrader.exchange import ExchangeFolders
from solutions.answer_key import topics


@dataclass(frozen=True)
class Source:
    """A folder in which hand-ins arrive, and what `collect` has to know about it.

    ``topic_of`` returns the topic of an entry by its name, "" if it is not a hand-in; files of the ``accounts`` count
    whichever student they name, and None requires every entry to belong to the account that it names.
    """

    path: Path
    platform: str
    topic_of: Callable[[str], str]
    accounts: frozenset[int] | None = None

    @property
    def is_exchange(self) -> bool:
        return self.platform == "exchange"

    def find_account(self, entry: str) -> int | None:
        """Return the account that owns ``entry`` if work counts only under the owner's name; otherwise None."""
        try:
            owner = os.lstat(self.path / entry).st_uid
        except OSError:  # it has disappeared
            return None
        return owner if self.accounts is None or owner not in self.accounts else None

    def read_claim(self, entry: str) -> str:
        """Return the student that the name of ``entry`` claims, folded so that names can be compared."""
        if self.is_exchange:
            return fold_name(entry.partition("+")[0])
        path = PurePosixPath(entry)
        return fold_name(path.stem.partition("_")[0] if path.suffix else entry)


def find_sources(
    course: Course, chosen: Sequence[str], folder: Path | None
) -> tuple[list[Source], ExchangeFolders | None]:
    """Return the sources of the ``chosen`` topics, and the exchange in which feedback is released, None if there is none.

    Raises ``CourseError`` if a folder does not exist, or the exchange cannot be used.
    """
    if folder is None:
        exchange = ExchangeFolders.of(course)
        return [_exchange_source(exchange.inbound)], exchange
    if folder.is_symlink() or not folder.is_dir():
        raise CourseError("there is no such folder", str(folder), "specify the folder in which hand-ins arrive.")
    if folder.name == INBOUND:
        return [_exchange_source(folder)], ExchangeFolders.of(course)
    accounts = frozenset({0, os.geteuid()})  # accounts that no student has
    if len(chosen) == 1:
        return [Source(folder, "folder", lambda name: chosen[0], accounts)], None
    sources = []
    for topic in chosen:
        if not (folder / topic).is_dir() or (folder / topic).is_symlink():
            raise CourseError("there is no such folder", str(folder / topic), "make one folder for each topic there.")
        sources.append(Source(folder / topic, "folder", lambda name, topic=topic: topic, accounts))
    return sources, None


def _exchange_source(inbound):
    return Source(inbound, "exchange", lambda name: exchange_topic(name, topics()))
