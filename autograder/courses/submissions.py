"""The submissions in a course directory: who handed in, and what must not stay beside their files.

In: a course, a topic. Out: names of students, paths. Deletes leftovers when asked to.
"""

from collections.abc import Collection, Sequence
from pathlib import Path

from autograder.courses.course import EXCHANGE_FILES, Course
from autograder.errors import CourseError
from autograder.files import remove_unexpected
from autograder.paths import format_command


def list_submitters(course: Course, topic: str) -> list[str]:
    """Return the names of the students who handed in something for ``topic``."""
    folders = course.root.glob(f"submitted/*/{topic}")
    return sorted(path.parent.name for path in folders if _is_not_empty(path))


def select_submissions(
    course: Course, topic: str, students: Collection[str] | None, sections: Sequence[str] | None
) -> list[str]:
    """Return the ``students`` (by default, all who handed in) who are in ``sections``; [] means everybody.

    Raises ``CourseError`` if nobody in ``sections`` has handed in, or one of ``students`` is in another section.
    """
    selected, named = course.plan().select_sections(sections), list(students or ())
    if selected is None:
        return named
    where = " or ".join(sections or ())
    if outside := sorted(set(named) - selected):
        remedy = "leave out the student or --section."
        raise CourseError(f"not in section {where}: {', '.join(outside)}", "--section", remedy)
    chosen = named or [student for student in list_submitters(course, topic) if student in selected]
    if not chosen:
        what = f"nobody in section {where} has handed in {topic}"
        command = format_command(f"collect {topic} ARCHIVE", course.root)
        raise CourseError(what, str(course.root / "submitted"), f"run `{command}` first.")
    return chosen


def find_misplaced_notebooks(course: Course) -> list[str]:
    """Return notebooks in ``submitted`` that are where nbgrader does not look."""
    files = [*course.root.glob("submitted/*.ipynb"), *course.root.glob("submitted/*/*.ipynb")]
    return sorted(str(path.relative_to(course.root)) for path in files)


def set_aside_folder(course: Course, student: str, topic: str) -> Path:
    """Return the folder for unexpected files of a submission, which must not be copied to where pages are published."""
    return course.root / ".autograder" / "set_aside" / topic / student


def remove_leftovers(course: Course, student: str, topic: str) -> None:
    """Delete files beside a student's autograded notebook and feedback page that the grader did not write.

    nbgrader copies all files of a submission to both folders, and publishes every HTML file in the second.
    """
    for path in (course.autograded(student, topic), course.feedback(student, topic)):
        remove_unexpected(path.parent, {path.name, *EXCHANGE_FILES})


def _is_not_empty(folder):
    """Return whether ``folder`` contains more than drafts, which an interrupted collection leaves."""
    if folder.is_symlink():
        return True
    try:
        return any(not path.name.endswith(".draft") for path in folder.iterdir())
    except NotADirectoryError:
        return False
    except OSError:  # reported when it is read
        return True
