"""Make nbgrader's own exchange commands as strict as `collect`: in the exchange, students choose names, times and contents.

In: the folder that ``Exchange.root`` names. Out: collected submissions; published feedback pages; problems of the folder's
permissions. Writes what ``collect`` and nbgrader write.
"""

import glob
import os
import stat
from pathlib import Path
from typing import cast

from nbgrader.coursedir import CourseDirectory
from nbgrader.exchange.default import ExchangeCollect, ExchangeReleaseFeedback
from traitlets.config.loader import PyFileConfigLoader

from autograder.courses.course import EXCHANGE_FILES, Course
from autograder.platforms.collect import INBOUND, collect, escape_unprintable
from autograder.platforms.formats import login_of


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
        for one in done:
            if one.problem:
                self.log.warning("Set aside: %s (%s): %s", escape_unprintable(one.student), one.file, one.problem)
            else:
                self.log.info("Collected: %s%s", escape_unprintable(one.student), f" ({one.note})" if one.note else "")
        for name in left:
            self.log.warning("Not taken: %s", escape_unprintable(name))


class ReleaseFeedback(ExchangeReleaseFeedback):
    """Publish the grader's feedback pages, and no other files beside them."""

    def copy_files(self) -> None:
        directory = cast(CourseDirectory, self.coursedir)
        course, topic, pattern = Course.at(directory.root), directory.assignment_id, self.src_path
        for folder in map(Path, sorted(glob.glob(pattern))):
            course.remove_leftovers(folder.parent.name, topic)
            missing = [name for name in EXCHANGE_FILES if not (folder / name).is_file()]
            if missing:
                self.log.warning(
                    "No feedback for %s: %s is missing, so this did not come through an exchange", folder, missing[0]
                )
                continue
            self.src_path = glob.escape(str(folder))
            super().copy_files()
        self.src_path = pattern


def exchange_problems(course: Course) -> list[tuple[str, str, str]]:
    """Return ``(problem, folder, remedy)`` for each folder of the course's exchange that others could replace."""
    config = PyFileConfigLoader(str(course.config)).load_config()
    stated = config.Exchange.get("root")
    if not isinstance(stated, str):
        return []
    root = Path(stated)
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
