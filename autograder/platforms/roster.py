"""Find students of a course's roster by what learning platforms call them.

In: the roster's students; a name or a number from a platform. Out: students. Touches nothing.
"""

import re
from collections.abc import Callable, Sequence

from autograder.courses.plan import ID_COLUMNS, PERSONAL_COLUMNS, Student, fold_name, students_by_id

DEFAULT_TEAM = "default group"  # Moodle's name for students without a group


class RosterIndex:
    """The ``students`` of a roster, ``by_column``: a column's name -> what identifies a student there -> the student."""

    def __init__(self, students: Sequence[Student]) -> None:
        self.students = tuple(students)
        self.by_column = {column: students_by_id(self.students, column) for column in ID_COLUMNS}
        self._moodle_names = [(normalise_moodle_name(each.name), each) for each in self.students if each.name]
        groups = {normalise_moodle_name(member.group) for member in self.students if member.group}
        self._moodle_groups = groups | {DEFAULT_TEAM}

    def find(self, name: str, column: str, number: str = "") -> list[Student]:
        """Return the students whom a platform calls ``name`` or ``number``; ``column`` says in which column to look."""
        if column == "name":
            return self._find_by_moodle_name(normalise_moodle_name(name))
        if column in ("canvas", "gradescope"):
            student = self.by_column[column].get(fold_name(number)) or self.by_column["email"].get(fold_name(name))
            return [student] if student else []
        return [listed for known in PERSONAL_COLUMNS if (listed := self.by_column[known].get(fold_name(name)))][:1]

    def _find_by_moodle_name(self, name):
        """Return the students called ``name``; else those for whom it is GROUP-FULL NAME, with a group of the roster."""
        exact = [student for known, student in self._moodle_names if known == name]
        return exact or [
            student
            for known, student in self._moodle_names
            if name.endswith(f"-{known}") and name.removesuffix(f"-{known}") in self._moodle_groups
        ]

    def has_moodle_name(self, name: str) -> bool:
        """Return whether a student is called ``name``, normalised as for Moodle."""
        return any(known == name for known, _ in self._moodle_names)

    def find_group(self, group: str, normalise: Callable[[str], str]) -> list[Student]:
        """Return the members of ``group``, which is compared as ``normalise`` returns it."""
        return [each for each in self.students if each.group and normalise(each.group) == normalise(group)]


def normalise_moodle_name(name: str) -> str:
    """Return ``name`` normalised for comparison with Moodle's file names."""
    kept = re.sub(r"""[\x00-\x1f\x7f&<>"'`|:\\/]|\.\.+""", "", name.replace("_", " "))
    return fold_name(" ".join(kept.split()))
