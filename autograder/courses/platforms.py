"""Whose a file is, by the names that learning platforms give to what they hand out.

In: the names of an archive's entries, and the file that describes them where a platform adds one. Out: which platform it
is, and an ``Owner`` for each entry. Touches nothing.

Where the names come from:

- Canvas: ``lib/content_zipper.rb`` of instructure/canvas-lms. NAME[_LATE]_USER_ATTACHMENT_FILE, the name in lower case
  and without signs; where grading is anonymous, [LATE_]anon_ID_ATTACHMENT_FILE. A file that a student hands in again under
  the same name gets -1, -2 at the end of its name.
- Moodle: ``mod/assign/locallib.php`` and ``mod/assign/feedback/file/importziplib.php`` of moodle/moodle.
  FULL NAME_PARTICIPANT_assignsubmission_file as a folder (with _ at its end before Moodle 4.1), or in front of the file's
  name; everybody is called Participant, in the site's language, where marking is blind.
- Gradescope: submission_metadata.yml beside one folder a submission, with :submitters (:name, :sid, :email) and
  :created_at; Gradescope does not document it, and it was learned from programs that read it.
- nbgrader's exchange: ``exchange/default/submit.py``: STUDENT+ASSIGNMENT+TIME, with +RANDOM behind it, as a folder.
- anything else: STUDENT/FILE, STUDENT_FILE or STUDENT.zip.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Any

import yaml

from autograder.courses.plan import Student, alike, by_id, is_student

CANVAS = re.compile(r"(?:(?P<name>.+?)_)??(?:(?P<late>LATE)_)?(?P<user>\d+)_(?P<attachment>\d+)_.+", re.IGNORECASE)
ANONYMOUS = re.compile(r"(?:(?P<late>LATE)_)?anon_(?P<user>[A-Za-z0-9]+)_(?P<attachment>\d+)_.+")
ONE_NUMBER = re.compile(r"(?P<name>[^_]+)(?P<late>_late)?_(?P<user>\d+)_.*", re.IGNORECASE)  # Canvas's, and like it
MOODLE = re.compile(r"(?P<name>[^_]+)_(?P<user>\d+)_(?P<kind>assignsubmission_[a-z]+)(?:_.*)?", re.IGNORECASE)
EXCHANGE = re.compile(r"(?P<name>[^+/]+)\+(?P<topic>[^+/]+)\+(?P<time>[^+/]+?(?: UTC)?)(?:\+[^+/]+)?")
METADATA = "submission_metadata.yml"
COLUMNS = ("id", "login", "email", "sis", "canvas", "gradescope")  # of the roster, by which a file may be known
FIRST_YEAR = 1980  # of a zip archive's dates: what states an earlier one states nothing


@dataclass(frozen=True)
class Owner:
    """Whose an entry is: the ``student`` here, the platform's ``number`` of the person, or "" where the roster knows them.

    ``late`` is what the platform says, ``time`` when it came, in UTC, if that is known, ``order`` a number that is larger
    for what came later, 0 without one, ``attempt`` the folder of one try, and ``prefix`` what the platform wrote in front
    of the name of the file.
    """

    student: str
    number: str = ""
    late: bool = False
    time: datetime | None = None
    order: int = 0
    attempt: str = ""
    prefix: str = ""
    problem: str = ""


def recognised(names: Sequence[str], beside: Iterable[str] = ()) -> str:
    """Return which platform gave these ``names``: Canvas, Moodle, Gradescope, nbgrader's exchange, or "files and folders".

    What is handed in ``beside`` the notebook is called alike by everybody.
    """
    if any(PurePosixPath(name).name == METADATA for name in names):
        return "Gradescope"
    firsts = [first for name in names if (first := name.split("/")[0]) not in beside]
    for platform, pattern in (("Moodle", MOODLE), ("nbgrader's exchange", EXCHANGE)):
        if any(pattern.fullmatch(part) for name in names for part in name.split("/")[:2]):
            return platform
    if any("/" not in name and (ANONYMOUS.fullmatch(name) or CANVAS.fullmatch(name)) for name in firsts):
        return "Canvas"
    return "files and folders"


class Owners:
    """Tells whose the entries of one archive are, by ``platform`` and by the roster's ``students``."""

    def __init__(self, platform: str, names: Sequence[str], students: Sequence[Student], metadata: bytes = b""):
        self.platform = platform
        self.roster = tuple(students)
        self.known = {column: by_id(self.roster, column) for column in COLUMNS}
        self.named = [(alike(one.name), one) for one in self.roster if one.name]
        self.submissions = _submissions(metadata)
        people = {(found["name"], found["user"]) for name in names for found in [_moodle(name)] if found}
        called = {name for name, _ in people}
        self.is_blind = called == {"Participant"} or (len(called) == 1 and len(people) > 2)

    def of(self, name: str, topic: str) -> list[Owner]:
        """Return those that the entry ``name`` belongs to: none, one, or the members of a group."""
        return [self._known(one, column) for one, column in self._named(name, topic)]

    def _named(self, name, topic):
        parts = [part for part in name.split("/") if part not in ("", ".", "..")] or [""]
        first, below = parts[0], parts[1:]
        if self.platform == "Gradescope":
            return self._of_gradescope(parts)
        if self.platform == "Moodle" and (found := _moodle(name)):
            student = f"{found['name']}-{found['user']}" if self.is_blind else found["name"]
            prefix = f"{found['name']}_{found['user']}_{found['kind']}_"
            return [(Owner(student, found["user"], prefix=prefix), "" if self.is_blind else "name")]
        if self.platform == "nbgrader's exchange":
            for part in parts[:2]:
                if (found := EXCHANGE.fullmatch(part)) and found["topic"] == topic:
                    return [(Owner(found["name"], time=_time(found["time"]), attempt=part), "id")]
            return []
        if not below and (found := ANONYMOUS.fullmatch(first)):
            prefix = f"anon_{found['user']}_{found['attachment']}_"
            late = bool(found["late"])
            return [
                (Owner(f"anon-{found['user']}", found["user"], late, None, int(found["attachment"]), "", prefix), "")
            ]
        if not below and (found := CANVAS.fullmatch(first)):
            prefix = first[: found.end("attachment") + 1]
            student, late = (found["name"] or found["user"]).replace("_", "-"), bool(found["late"])
            return [(Owner(student, found["user"], late, None, int(found["attachment"]), "", prefix), "canvas")]
        if not below and (found := ONE_NUMBER.fullmatch(first)):
            return [(Owner(found["name"], found["user"], bool(found["late"])), "id")]
        student = first if below else PurePosixPath(first).stem.partition("_")[0]
        if not below and self.roster:  # a name that the roster knows may hold a _
            whole = alike(PurePosixPath(first).stem)
            known = [one for key, one in self.known["id"].items() if whole == key or whole.startswith(f"{key}_")]
            student = max((one.id for one in known), key=len, default=student)
        return [(Owner(student), "id")] if self.roster or is_student(student) else []

    def _of_gradescope(self, parts):
        for part in parts[:2]:
            if part in self.submissions:
                when, people = self.submissions[part]
                return [(Owner(student, sid, time=when, attempt=part), "gradescope") for student, sid in people]
        return []

    def _known(self, owner, column):
        """Return ``owner`` as the roster calls them; without a roster, or where it is blind, as the platform does."""
        if column and self.roster:
            found = self._in_roster(owner, column)
            if len(found) == 1:
                return replace(owner, student=found[0].id, number="")
            who = f"{owner.student} ({owner.number})" if owner.number else owner.student
            problem = (
                f"{who} is not in the roster" if not found else f"{who} may be {len(found)} students of the roster"
            )
            return replace(owner, problem=problem)
        if not is_student(owner.student):
            return replace(owner, problem=f"{owner.student!r} cannot be the name of a folder")
        return owner

    def _in_roster(self, owner, column):
        name = alike(owner.student)
        if column == "name":  # of a group, Moodle writes GROUP-FULL NAME
            exact = [one for known, one in self.named if known == name]
            return exact or [one for known, one in self.named if name.endswith(f"-{known}")]
        if column in ("canvas", "gradescope"):
            found = self.known[column].get(alike(owner.number)) or self.known["email"].get(name)
            return [found] if found else []
        found = next((one for known in ("id", "login", "email", "sis") if (one := self.known[known].get(name))), None)
        return [found] if found else []


def _moodle(name):
    return next((found for part in name.split("/")[:2] if (found := MOODLE.fullmatch(part))), None)


def _time(text: str) -> datetime | None:
    """Return the time that ``text`` states, in UTC, or None."""
    text = re.sub(r"\s*(UTC|Z)$", "+00:00", text.strip())
    text = re.sub(r"(\.\d{6})\d+", r"\1", text).replace(" +", "+").replace(" -", "-")
    try:
        found = datetime.fromisoformat(text)
        found = (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return found if found.year >= FIRST_YEAR else None


def stated_time(text: bytes) -> datetime | None:
    """Return the time that a ``timestamp.txt`` states, in UTC, or None."""
    return _time(text[:100].decode("utf-8", "replace"))


class _Plain(yaml.SafeLoader):
    """YAML as Ruby writes it: its own classes are read as the plain tables and texts that they are, and nothing is made."""


def _plain(loader: Any, _: str, node: Any) -> Any:
    if isinstance(node, yaml.MappingNode):
        return loader.construct_mapping(node)
    return None if isinstance(node, yaml.SequenceNode) else loader.construct_scalar(node)


_Plain.add_multi_constructor("!", _plain)
_Plain.add_constructor("tag:yaml.org,2002:timestamp", lambda loader, node: _plain(loader, "", node))


def _submissions(metadata: bytes) -> Mapping[str, tuple[datetime | None, list[tuple[str, str]]]]:
    """Return what Gradescope says: folder -> (when it came, the people whose it is, each with their SID)."""
    try:
        data = yaml.load(metadata, _Plain) if metadata else {}
    except (yaml.YAMLError, RecursionError, ValueError, TypeError):
        return {}
    found = {}
    for folder, told in data.items() if isinstance(data, dict) else ():
        people = told.get(":submitters") if isinstance(told, dict) else None
        if not isinstance(people, list):
            continue
        when = told.get(":created_at")
        when = when.get("utc") or when.get("time") if isinstance(when, dict) else when
        known = [one for one in people if isinstance(one, dict)]
        found[str(folder)] = (_time(str(when or "")), [_person(one) for one in known])
    return found


def _person(told):
    """Return ``(what to call them, their SID)``: by e-mail, or else by what there is."""
    names = [str(told.get(field) or "") for field in (":email", ":sid", ":name")]
    return next((name for name in names if is_student(name)), names[0] or names[1]), names[1]
