"""Make nbgrader's own exchange commands as strict as `collect`: in the exchange, students choose names, times and contents.

In: the folder that ``Exchange.root`` names. Out: collected submissions; published feedback pages; problems with the folder's
permissions. Writes what ``collect`` and nbgrader write.
"""

import glob
import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Self, cast

from nbgrader.auth import Authenticator
from nbgrader.coursedir import CourseDirectory
from nbgrader.exchange import ExchangeError
from nbgrader.exchange.default import ExchangeCollect, ExchangeReleaseAssignment, ExchangeReleaseFeedback
from nbgrader.utils import notebook_hash
from traitlets.config.loader import PyFileConfigLoader

from autograder.courses.course import EXCHANGE_FILES, SECRET, Course
from autograder.courses.submissions import remove_leftovers
from autograder.errors import CourseError
from autograder.files import write_bytes
from autograder.platforms.collect import INBOUND, collect, escape_unprintable
from autograder.platforms.formats import login_of
from autograder.with_nbgrader.limits import DEFAULT_EXCHANGE

PAGE_MODE = 0o644  # of a published page: nobody can list the folder, and its name follows from the student's secret


class Collect(ExchangeCollect):
    """Let `nbgrader collect`, and the formgrader's button, do what `python -m autograder collect` does.

    nbgrader's own command follows links, trusts the name of a folder whoever owns it, and stops at the first name that it
    cannot parse.
    """

    def init_src(self) -> None:
        self.inbound_path = os.path.join(self.root, cast(CourseDirectory, self.coursedir).course_id, INBOUND)
        if not os.path.isdir(self.inbound_path):
            self.fail(f"Course not found: {self.inbound_path}")

    def copy_files(self) -> None:
        directory = cast(CourseDirectory, self.coursedir)
        course = Course.at(directory.root)
        done, left = collect(course, directory.assignment_id, self.inbound_path, platform="exchange")
        for hand_in in done:
            if hand_in.problem:
                self.log.warning(
                    "Set aside: %s (%s): %s", escape_unprintable(hand_in.student), hand_in.file, hand_in.problem
                )
            else:
                self.log.info(
                    "Collected: %s%s", escape_unprintable(hand_in.student), f" ({hand_in.note})" if hand_in.note else ""
                )
        for name in left:
            self.log.warning("Not taken: %s", escape_unprintable(name))


class ReleaseAssignment(ExchangeReleaseAssignment):
    """Let students put submissions into the inbound folder, but neither move nor replace those of others."""

    def init_dest(self) -> None:
        super().init_dest()
        os.chmod(self.inbound_path, os.stat(self.inbound_path).st_mode | stat.S_ISVTX)

    def copy_files(self) -> None:
        super().copy_files()
        self.log.info("Next: python -m autograder watch %s", cast(CourseDirectory, self.coursedir).assignment_id)


class ReleaseFeedback(ExchangeReleaseFeedback):
    """Publish the grader's feedback pages, and no other files."""

    def copy_files(self) -> None:
        directory = cast(CourseDirectory, self.coursedir)
        course, topic, pattern = Course.at(directory.root), directory.assignment_id, self.src_path
        for folder in map(Path, sorted(glob.glob(pattern))):
            remove_leftovers(course, folder.parent.name, topic)
            missing = [name for name in EXCHANGE_FILES if not (folder / name).is_file()]
            if missing:
                self.log.warning(
                    "No feedback for %s: %s is missing, so this did not come through an exchange", folder, missing[0]
                )
                continue
            self.src_path = glob.escape(str(folder))
            super().copy_files()
        self.src_path = pattern
        for page in Path(self.dest_path).glob("*.html"):
            if page.stat().st_uid == os.geteuid():
                page.chmod(PAGE_MODE)  # whatever the umask: a student reads the page under another account


@dataclass(frozen=True)
class ExchangeFolders:
    """The folders of a course in nbgrader's exchange: ``inbound``, where students hand in, and ``feedback``."""

    inbound: Path
    feedback: Path

    @classmethod
    def of(cls, course: Course) -> Self:
        """Return the folders that nbgrader_config.py names; create the feedback folder as nbgrader does.

        Raises ``CourseError`` if the exchange cannot be used.
        """
        config = PyFileConfigLoader(str(course.config)).load_config()
        config.CourseDirectory.root = str(course.root)
        directory = CourseDirectory(config=config)
        release = ReleaseFeedback(coursedir=directory, authenticator=Authenticator(config=config), config=config)
        release.log.disabled = True  # what it would log is in the error
        remedy = (
            "name the exchange in nbgrader_config.py, c.Exchange.root, and run `nbgrader release_assignment` first."
        )
        inbound = Path(release.root) / directory.course_id / INBOUND
        if inbound.is_symlink() or not inbound.is_dir():
            raise CourseError(
                "the exchange has no folder where hand-ins for this course can arrive", str(inbound), remedy
            )
        try:
            release.ensure_root()
            release.init_dest()
        except (ExchangeError, OSError) as error:
            raise CourseError(f"the exchange cannot be used ({error})", release.root, remedy) from None
        finally:
            release.log.disabled = False
        return cls(inbound, Path(release.dest_path))

    @classmethod
    def find(cls, course: Course) -> Self | None:
        """Return the folders that ``of`` returns, created or not; None if there is no such exchange on this machine."""
        config = PyFileConfigLoader(str(course.config)).load_config()
        root, name = config.Exchange.get("root", DEFAULT_EXCHANGE), config.CourseDirectory.get("course_id", "")
        if not (isinstance(root, str) and isinstance(name, str) and name and (Path(root) / name).is_dir()):
            return None
        return cls(Path(root) / name / INBOUND, Path(root) / name / "feedback")

    def list_pages(self, topic: str, secrets: Iterable[str]) -> list[Path]:
        """Return the published pages of submissions with these ``secrets``, drafts of them included."""
        pages = [self._page(topic, secret) for secret in secrets]
        names = [name for page in pages for name in (page.name, f"{page.name}.draft", f"{page.stem}-tmp.html")]
        return [self.feedback / name for name in sorted(set(names)) if os.path.lexists(self.feedback / name)]

    def publish(self, topic: str, secret: str, page: bytes) -> None:
        """Let the student whose submission has this ``secret`` fetch ``page`` as the feedback on it."""
        write_bytes(page, self._page(topic, secret), PAGE_MODE)

    def publish_again(self, course: Course, topic: str, students: Iterable[str]) -> list[str]:
        """Replace the published pages that have changed since, of these ``students``; return whose they are.

        A page that was never published stays unpublished.
        """
        changed = []
        for student in students:
            page, secret = read_page(course, student, topic)
            published = self._page(topic, secret)
            if page and secret and published.is_file() and published.read_bytes() != page:
                self.publish(topic, secret, page)
                changed.append(student)
        return changed

    def _page(self, topic, secret):
        return self.feedback / f"{notebook_hash(secret=secret, notebook_id=topic)}.html"


def read_page(course: Course, student: str, topic: str) -> tuple[bytes, str]:
    """Return ``(feedback page, secret of its submission)``: both empty without a page, the secret alone without its file."""
    remove_leftovers(course, student, topic)
    path = course.feedback(student, topic)
    if path.is_symlink() or not path.is_file():
        return b"", ""
    secret = path.with_name(SECRET)
    return path.read_bytes(), secret.read_text(encoding="utf-8", errors="replace") if secret.is_file() else ""


def exchange_root(course: Course) -> str:
    """Return the exchange folder that nbgrader_config.py names, or "" if it names none."""
    stated = PyFileConfigLoader(str(course.config)).load_config().Exchange.get("root")
    return stated if isinstance(stated, str) else ""


def exchange_problems(course: Course) -> list[tuple[str, str, str]]:
    """Return ``(problem, folder, remedy)`` for each folder of the course's exchange that others could replace."""
    stated = exchange_root(course)
    if not stated:
        return []
    config, root = PyFileConfigLoader(str(course.config)).load_config(), Path(stated)
    name = config.CourseDirectory.get("course_id")
    folders = [root, root / name, root / name / INBOUND] if isinstance(name, str) else [root]
    problems = []
    for folder in folders:
        if folder.is_symlink() or not folder.is_dir():
            continue
        status = folder.stat()
        if status.st_uid not in (0, os.geteuid()):
            owner = login_of(status.st_uid)
            remedy = f"`sudo chown {login_of(os.geteuid())} {folder}`, and look at what is in it."
            problems.append((f"it belongs to {owner}, who can change everything in it", str(folder), remedy))
        if status.st_mode & stat.S_IWOTH and not status.st_mode & stat.S_ISVTX:
            what = "anyone can move, rename or replace what others have put there"
            problems.append((what, str(folder), f"`chmod +t {folder}`: then only the owner of a folder can."))
    return problems
