"""Find the owner of a file from the names that learning platforms give to the files in their archives.

In: the names of an archive's entries and, if the platform adds one, the file that describes them. Out: the platform, and
the ``Submitter`` of each entry. Changes nothing.

Where the names come from:

- Canvas: ``lib/content_zipper.rb`` of instructure/canvas-lms. NAME[_LATE]_USER_ATTACHMENT_FILE, with the name in lower case
  and only its letters, digits and _; the digits may look like a user's number. For a group, NAME is the group's, and USER
  the member who handed in. With anonymous grading, [LATE_]anon_ID_ATTACHMENT_FILE. If a student hands in a file of the same
  name again, it gets -1, -2 at the end of its name.
- Moodle: ``mod/assign/classes/downloader.php`` and ``mod/assign/feedback/file/importziplib.php`` of moodle/moodle.
  FULL NAME_PARTICIPANT_assignsubmission_file as a folder (with a trailing _ before Moodle 4.1), or in front of the file's
  name; in blind marking, everybody is called Participant, in the site's language. Names lose some characters
  (``clean_filename``). For a group: GROUP-FULL NAME_PARTICIPANT before Moodle 4.1, since then GROUP_NUMBER (the group's).
- Gradescope: one folder per submission, and submission_metadata.yml beside them, with :submitters (:name, :sid, :email) and
  :created_at. Gradescope does not document this file; its structure is known from programs that read it.
- nbgrader's exchange: ``exchange/default/submit.py``: a folder STUDENT+ASSIGNMENT+TIME[+RANDOM]. It contains a
  submission_secret.txt, from which ``release_feedback.py`` makes the name of the feedback page.
- anything else: STUDENT/FILE, STUDENT_FILE or STUDENT.zip.
- Blackboard: ASSIGNMENT_LOGIN_attempt_TIME_FILE, with the time in the server's time zone, which is not stated, and beside
  it ASSIGNMENT_LOGIN_attempt_TIME.txt (jupyter/nbgrader issue 511).
- ILIAS: ``Exercise/Submission/class.SubmissionManager.php`` of ILIAS-eLearning/ILIAS. A folder LAST NAME_FIRST
  NAME_LOGIN_NUMBER, for a team inside a folder with its number; late files have a prefix that says so in the site's language.
"""

import pwd
import re
from collections.abc import Collection, Container, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import PurePosixPath

import yaml

from autograder.courses.plan import (
    PERSONAL_COLUMNS,
    Student,
    fold_name,
    is_student_id,
    is_student_name,
    students_by_id,
)
from autograder.platforms.roster import RosterIndex, normalise_moodle_name
from autograder.platforms.times import CLOCK_SKEW, parse_time

CANVAS_FILE = re.compile(r"(?:(?P<name>.+?)_)??(?:(?P<late>LATE)_)?(?P<user>\d+)_(?P<attachment>\d+)_.+", re.IGNORECASE)
ANONYMOUS_CANVAS_FILE = re.compile(r"(?:(?P<late>LATE)_)?anon_(?P<user>[A-Za-z0-9]{5})_(?P<attachment>\d+)_.+")
SINGLE_NUMBER_FILE = re.compile(r"(?P<name>[^_]+)(?P<late>_late)?_(?P<user>\d+)_.*", re.IGNORECASE)  # as in Canvas
MOODLE_NAME = re.compile(r"(?P<name>[^_]+)_(?P<user>\d+)_(?P<kind>assignsubmission_[a-z]+)(?:_.*)?", re.IGNORECASE)
BLACKBOARD_FILE = re.compile(r"(?P<name>.+?)_attempt_(?P<time>\d{4}(?:-\d\d){5})(?:_(?P<file>.+)|\.txt)", re.IGNORECASE)
ILIAS_FOLDER = re.compile(r"(?P<name>[^/]+_[^/]+_[^/]+)_(?P<user>\d+)")
ILIAS_TEAM_FOLDER = re.compile(r"[^/_]+ \d+")  # "Team 5", in the site's language
ILIAS_LATE_PREFIX = re.compile(r"(late submission|verspaetete abgabe|verspätete abgabe) - ", re.IGNORECASE)
EXCHANGE_FOLDER = re.compile(r"(?P<name>[^+/]+)\+(?P<topic>[^+/]+)\+(?P<time>[^+/]+?(?: UTC)?)(?:\+[^+/]+)?")
NBGRADER_EXCHANGE = "nbgrader's exchange"
PLAIN_FILES = "files and folders"
PLATFORMS = {  # by the name that a command takes
    "canvas": "Canvas",
    "moodle": "Moodle",
    "gradescope": "Gradescope",
    "blackboard": "Blackboard",
    "ilias": "ILIAS",
    "exchange": NBGRADER_EXCHANGE,
    "folder": PLAIN_FILES,
}
METADATA = "submission_metadata.yml"
NUMBER_PAIR = re.compile(r"(?<![^_])(?P<user>\d+)(?=_(?P<attachment>\d+)_)")  # pairs may overlap: 17_50_3001_ has two
NUMBERED_PLATFORMS = (
    "Moodle",
    "Blackboard",
    "ILIAS",
)  # Moodle's grades are matched by number; elsewhere, numbers tell people apart
MAX_NESTING = 100  # levels of tables and lists in the metadata


@dataclass(frozen=True)
class Submitter:
    """The owner of an entry: the ``student`` in this course, and the platform's ``number`` for them, "" if it is not needed.

    ``late`` is what the platform says; ``time`` is when it arrived, in UTC, if known; ``order`` is larger for later
    attempts, 0 if not numbered; ``attempt`` identifies one attempt; ``prefix`` is what the platform wrote in front of the
    file's name. With ``by_arrival``, a collection's new entries count as later than those of earlier collections, whatever
    time they state.
    """

    student: str
    number: str = ""
    late: bool = False
    time: datetime | None = None
    order: int = 0
    attempt: str = ""
    prefix: str = ""
    problem: str = ""
    by_arrival: bool = False


@dataclass(frozen=True)
class ArchiveFormat:
    """Which of ``PLATFORMS`` an archive comes from, and the folder ``top`` around all its entries, "" if there is none."""

    platform: str
    top: str = ""

    def below_top(self, name: str) -> tuple[str, ...]:
        """Return the folders and the file name of the entry ``name``, without ``top``."""
        parts = _split_path(name)
        return parts[1:] if self.top else parts

    @property
    def metadata(self) -> str:
        """The path of Gradescope's metadata file. Students may hand in a file of the same name elsewhere."""
        return "/".join(filter(None, [self.top, METADATA]))

    def strip_late_prefix(self, name: str) -> str:
        """Return ``name`` without the prefix that ILIAS gives to late files."""
        path = PurePosixPath(name)
        return str(path.with_name(ILIAS_LATE_PREFIX.sub("", path.name, count=1))) if self.platform == "ILIAS" else name

    def is_own_file(self, name: str) -> bool:
        """Return whether the platform itself added the entry ``name``."""
        if self.platform == "Blackboard":
            match = BLACKBOARD_FILE.fullmatch(self.below_top(name)[0])
            return match is not None and not match["file"]
        return name == self.metadata


def detect_format(
    names: Sequence[str],
    topics: Collection[str],
    students: Sequence[Student] = (),
    platform: str = "",
    whole: bool = True,
) -> ArchiveFormat:
    """Return the format of an archive whose entries have these ``names``, for a course with these ``topics``.

    Only names that the platform chose are considered, not the students': the first part of each path or, if a single folder
    that is not a student's contains all entries, the second part. At least two thirds must match a platform's pattern; the
    rest belong to nobody. If ``platform`` is given, the names decide only whether a single folder contains all entries.
    A folder of plain files and folders is taken for that of the class, as in a zip archive of the enclosing folder, only
    if the archive is ``whole``: a single entry of a drop folder belongs to one student.
    """
    paths = [_split_path(name) for name in names]
    tops, inner = {parts[0] for parts in paths}, [parts[1:] for parts in paths]
    top = tops.pop() if len(tops) == 1 and all(inner) else ""
    people = {key for column in PERSONAL_COLUMNS for key in students_by_id(tuple(students), column)}
    is_class = bool(top) and whole and _is_class_folder(top, inner, people)
    if platform:
        is_wrapped = (
            is_class if platform == PLAIN_FILES else top and _is_wrapper(platform, top, paths, inner, topics, students)
        )
        return ArchiveFormat(platform, top if is_wrapped else "")
    if platform := _guess_platform(paths, topics, people):
        return ArchiveFormat(platform, top if platform == "ILIAS" and _is_exercise_folder(top, inner, students) else "")
    platform = _guess_platform(inner, topics, people) if top and fold_name(top) not in people else ""
    return ArchiveFormat(platform or PLAIN_FILES, top if platform or is_class else "")


def _is_class_folder(top, inner, people):
    """Return whether the folder ``top`` contains the folders or files of several students, or of one in the roster.

    ``people`` has what may name a student of the roster.
    """
    if fold_name(top) in people:
        return False
    folders = {parts[0] for parts in inner if len(parts) > 1 and is_notebook(parts[-1])}
    folders = {fold_name(name) for name in folders if _may_name_student(name)}
    files = {fold_name(parts[0]) for parts in inner if len(parts) == 1 and is_notebook(parts[0])}
    if people:
        return bool(folders & people) or any(
            file.startswith((f"{key}_", f"{key}.")) for file in files for key in people
        )
    return len(folders) + sum(file.endswith(".zip") for file in files) > 1


def _is_wrapper(platform, top, paths, inner, topics, students):
    """Return whether the folder ``top`` was wrapped around an archive of ``platform``, and is not one of its own."""
    if platform == "Gradescope":
        return (METADATA,) in inner
    if platform == "ILIAS" and _is_exercise_folder(top, inner, students):
        return True
    outside, inside = (sum(_matching_names(parts, topics)[platform]) for parts in (paths, inner))
    return inside > outside


def _matching_names(paths, topics, people=None):
    """Return, for each platform, whether each first part of ``paths`` matches its pattern.

    Many folders look like ILIAS's; if ``people`` are given, a folder must name one of them.
    """
    folders = {first for first, *below in paths if below}
    files = {first for first, *below in paths if not below and is_notebook(first)}
    below_teams = {_ilias_folder(parts) or parts[0] for parts in paths if len(parts) > 1}
    return {
        "Moodle": [bool(MOODLE_NAME.fullmatch(part)) for part in (*folders, *files)],
        NBGRADER_EXCHANGE: [_match_exchange_folder(part, topics) is not None for part in folders]
        + [False] * len(files),
        "Blackboard": [bool(BLACKBOARD_FILE.fullmatch(part)) for part in files] + [False] * len(folders),
        "ILIAS": [_is_ilias_folder(folder, people) for folder in below_teams] + [False] * len(files),
        "Canvas": [bool(_match_canvas_file(part)) for part in files] + [False] * len(folders),
    }


def _ilias_folder(parts):
    """Return the student's folder in an ILIAS path: the first or, below a team's folder, the second; "" without one."""
    folders = parts[:-1][1:] if ILIAS_TEAM_FOLDER.fullmatch(parts[0]) else parts[:-1]
    return next((folder for folder in folders[:1] if ILIAS_FOLDER.fullmatch(folder)), "")


def _is_exercise_folder(top, inner, students):
    """Return whether ``top`` is the folder of an ILIAS exercise, although its name looks like a team's."""
    folders = {parts[0] for parts in inner}
    if not ILIAS_TEAM_FOLDER.fullmatch(top) or len(folders) < 2:
        return False
    known = {
        key: student for column in PERSONAL_COLUMNS for key, student in students_by_id(tuple(students), column).items()
    }
    teams = set()
    for person in filter(None, map(ILIAS_FOLDER.fullmatch, folders)):
        logins = map(fold_name, _possible_logins(person["name"]))
        teams.add(next((known[login].group for login in logins if login in known), ""))
    return len(teams) != 1 or teams == {""}


def _is_ilias_folder(folder, people):
    match = ILIAS_FOLDER.fullmatch(folder)
    if not match or people is None:
        return bool(match)
    logins = map(fold_name, _possible_logins(match["name"]))
    return fold_name(folder) not in people and any(login in people for login in logins)


def _possible_logins(name):
    """Return the possible logins at the end of ``name``, the shortest first: a login may contain underscores itself."""
    parts = name.split("_")
    return ["_".join(parts[start:]) for start in range(len(parts) - 1, 0, -1)]


def _guess_platform(paths, topics, people=()):
    """Return the platform whose pattern two thirds of the ``paths`` match; "" if there is none."""
    matching = _matching_names(paths, topics, people)
    best = max(matching, key=lambda platform: sum(matching[platform]))  # in a tie, the first, which is more specific
    if any(matching[best]) and 3 * sum(matching[best]) >= 2 * len(matching[best]):
        return best
    return "Gradescope" if (METADATA,) in paths else ""


def _split_path(name):
    """Return the folders and the file of the path ``name``, without empty parts, "." and ".."."""
    return tuple(part for part in name.split("/") if part not in ("", ".", "..")) or ("",)


def _match_canvas_file(file):
    return ANONYMOUS_CANVAS_FILE.fullmatch(file) or CANVAS_FILE.fullmatch(file)


def _match_exchange_folder(folder, topics):
    """Return the match of a folder of nbgrader's exchange; None if its topic is unknown or its time cannot be read."""
    match = EXCHANGE_FOLDER.fullmatch(folder)
    return match if match and match["topic"] in topics and parse_time(match["time"]) else None


def exchange_topic(folder: str, topics: Collection[str]) -> str:
    """Return the topic of a folder of nbgrader's exchange; "" if it is not named as a submission to one of ``topics``."""
    match = _match_exchange_folder(folder, topics)
    return match["topic"] if match else ""


def is_notebook(name: str) -> bool:
    """Return whether ``name`` belongs to a notebook, or to an archive that may contain one."""
    return name.casefold().endswith((".ipynb", ".zip"))


def strip_browser_suffix(name: str) -> str:
    """Return ``name`` without the suffix that a browser adds when it saves a notebook as text or as JSON."""
    return re.sub(r"(?<=\.ipynb)\.(txt|json)$", "", name, flags=re.IGNORECASE)


class SubmitterReader:
    """Finds the submitters of the entries of one archive, from its format and the roster's ``students``.

    Raises ``ValueError`` if ``metadata``, Gradescope's own file, cannot be read.
    """

    def __init__(
        self,
        archive_format: ArchiveFormat,
        names: Sequence[str],
        topics: Collection[str],
        students: Sequence[Student],
        metadata: bytes = b"",
        any_owner: bool = False,
        accounts: Container[int] | None = None,
    ):
        self.format, self.platform = archive_format, archive_format.platform
        self.topics, self.any_owner, self.accounts = topics, any_owner, accounts
        self.now = datetime.now(UTC)
        self.roster = RosterIndex(students)
        self.submissions = _read_gradescope_metadata(metadata)
        firsts = {archive_format.below_top(name)[0] for name in names}
        people = {(match["name"], match["user"]) for first in firsts if (match := MOODLE_NAME.fullmatch(first))}
        called = {name for name, _ in people}
        canvas = [match for first in firsts if (match := _match_canvas_file(first))]
        anonymous = sum(match.re is ANONYMOUS_CANVAS_FILE and not NUMBER_PAIR.search(match[0]) for match in canvas)
        self.is_canvas_anonymous = 2 * anonymous >= len(canvas)  # a student can name a file so that it looks identified
        blackboards = {form["name"] for first in firsts if (form := BLACKBOARD_FILE.fullmatch(first))}
        self.assignment = _find_blackboard_assignment(blackboards, self.roster) if self.platform == "Blackboard" else ""
        self.is_moodle_anonymous = called == {"Participant"} or (len(called) == 1 and len(people) > 2)

    def submitters(self, name: str, topic: str, uids: Sequence[int] = ()) -> list[Submitter]:
        """Return the submitters of the entry ``name``: nobody, one student, or the members of a group.

        ``uids`` are the owners of the folders above it and, last, its own. Where students choose the names (in nbgrader's
        exchange, and if ``accounts`` are given), an entry counts only if it belongs to the account that it names.
        """
        known = [self._resolve(submitter, column) for submitter, column in self._parse_name(name, topic)]
        own = uids[1:] if self.format.top else uids
        if self.platform == PLAIN_FILES and self.accounts is not None and not self.any_owner:
            own = [uid for uid in own if uid not in self.accounts]
            return [
                replace(submitter, problem=submitter.problem or self._describe_owners(submitter.student, own))
                for submitter in known
            ]
        if self.platform != NBGRADER_EXCHANGE:
            return known
        return [
            replace(
                submitter,
                problem=submitter.problem or self._describe_forgery(name, submitter, own),
                by_arrival=bool(uids),
            )
            for submitter in known
        ]

    def _describe_forgery(self, name, owner, uids):
        """Return why the entry ``name`` of an exchange cannot be the work of its ``owner``; "" if it can."""
        claimed = self.format.below_top(name)[0].partition("+")[0]
        if owner.time and owner.time > self.now + CLOCK_SKEW:
            return f"{claimed}'s folder says that it was handed in at {owner.time:%Y-%m-%d %H:%M} UTC, which is in the future"
        if self.any_owner:
            return ""
        if not uids:
            return (
                "an archive does not say which account a submission belongs to; collect from the exchange's folder "
                "itself, or give --any-owner if you know that nobody else could write there"
            )
        return self._describe_owners(claimed, uids)

    def _describe_owners(self, claimed, uids):
        """Return a message naming the accounts in ``uids`` that do not belong to the student ``claimed``; "" if all do."""
        others = sorted({login for uid in uids if not _is_account_of(login := login_of(uid), claimed, self.roster)})
        if others:
            return f"it claims to be {claimed}'s, but belongs to the account {' and '.join(others)}"
        return ""

    def _parse_name(self, name, topic):
        first, *below = self.format.below_top(name)
        if self.platform == "Gradescope":
            when, people = self.submissions.get(first, (None, ())) if below else (None, ())
            return [(Submitter(student, sid, time=when, attempt=first), "gradescope") for student, sid in people]
        if self.platform == "Moodle":
            return self._parse_moodle(MOODLE_NAME.fullmatch(first))
        if self.platform == NBGRADER_EXCHANGE:
            match = _match_exchange_folder(first, self.topics) if below else None
            if not match or match["topic"] != topic:
                return []
            return [(Submitter(match["name"], time=parse_time(match["time"]), attempt=first), "id")]
        if self.platform == "Canvas":
            return [] if below else self._parse_canvas(first)
        if self.platform == "Blackboard":
            return [] if below else self._parse_blackboard(BLACKBOARD_FILE.fullmatch(first))
        if self.platform == "ILIAS":
            return self._parse_ilias((first, *below))
        return _parse_plain(first, bool(below), self.roster)

    def _parse_moodle(self, match):
        if not match:
            return []
        student = f"{match['name']}-{match['user']}" if self.is_moodle_anonymous else match["name"]
        prefix = f"{match['name']}_{match['user']}_{match['kind']}_"
        name = normalise_moodle_name(match["name"])
        if members := self.roster.find_group(match["name"], normalise_moodle_name):
            if self.roster.has_moodle_name(name):
                what = f"{match['name']} is the name of both a student and a group in the roster; rename the group"
                return [(Submitter(student, problem=what), "")]
            return [(Submitter(member.id), "id") for member in members]  # the number is the group's, not a student's
        return [(Submitter(student, match["user"], prefix=prefix), "" if self.is_moodle_anonymous else "name")]

    def _parse_blackboard(self, match):
        if not match:
            return []
        order, whole = int(re.sub(r"\D", "", match["time"])), match["name"]
        prefix = f"{self.assignment}_"
        login = whole.removeprefix(prefix) if whole.startswith(prefix) else _possible_logins(whole)[0]
        if members := self.roster.find_group(login, fold_name):
            return [(Submitter(member.id, order=order, attempt=match["time"]), "id") for member in members]
        return [(Submitter(login, whole, order=order, attempt=match["time"]), "id")]

    def _parse_ilias(self, parts):
        folder = _ilias_folder(parts)
        match = ILIAS_FOLDER.fullmatch(folder)
        if not match:
            return []
        late = bool(ILIAS_LATE_PREFIX.match(parts[-1]))
        attempt, order = ("late", 2) if late else ("in time", 1)  # late files came later
        owner = replace(_read_ilias_folder(match, self.roster), late=late, attempt=attempt, order=order)
        if folder == parts[0]:
            return [(replace(owner, number=match["user"]), "id")]
        submitter = self.roster.find(owner.student, "id")
        if not submitter or not submitter[0].group:
            problem = "a team handed it in; add its members to the roster, with a group column"
            return [(replace(owner, problem=problem), "")]
        return [
            (replace(owner, student=member.id), "id")
            for member in self.roster.students
            if member.group == submitter[0].group
        ]

    def _parse_canvas(self, file):
        match = _match_canvas_file(file)
        if not match:
            return []
        if match.re is ANONYMOUS_CANVAS_FILE and self.is_canvas_anonymous:
            late, order = bool(match["late"]), int(match["attachment"])
            prefix = f"anon_{match['user']}_{match['attachment']}_"
            return [(Submitter(f"anon-{match['user']}", match["user"], late, None, order, "", prefix), "")]
        read = [_read_canvas_name(file, number) for number in NUMBER_PAIR.finditer(file)]
        if not read:  # an anonymous name in an archive that is not anonymous
            return []
        listed = [reading for reading in read if fold_name(reading.number) in self.roster.by_column["canvas"]]
        if len({reading.number for reading in listed}) > 1:
            who = " or ".join(
                dict.fromkeys(self.roster.by_column["canvas"][fold_name(reading.number)].id for reading in listed)
            )
            problem = f"its name may stand for {who}; hand it in as a folder called STUDENT"
            return [(replace(listed[0], problem=problem), "")]
        owner = (listed or read)[0]
        submitter = self.roster.by_column["canvas"].get(fold_name(owner.number))
        if submitter and submitter.group and normalise_canvas_name(submitter.group) == fold_name(owner.student):
            others = [
                student for student in self.roster.students if student.group == submitter.group and student != submitter
            ]
            return [(owner, "canvas"), *((replace(owner, student=student.id, prefix=""), "id") for student in others)]
        return [(replace(owner, student=owner.student.replace("_", "-")), "canvas")]

    def _resolve(self, owner, column):
        """Return ``owner`` with the roster's id; without a roster, or in anonymous marking, with the platform's name."""
        if column and self.roster.students:
            students = self.roster.find(owner.student, column, owner.number)
            if len(students) == 1:
                number = owner.number if self.platform in NUMBERED_PLATFORMS else ""
                return replace(owner, student=students[0].id, number=number)
            who = f"{owner.student} ({owner.number})" if owner.number else owner.student
            what = f"matches {len(students)} students in the roster" if students else "is not in the roster"
            remedy = "add them to the roster, or rename the file; a group needs a group column there"
            return replace(owner, problem=f"{who} {what}; {remedy}")
        if not _may_name_student(owner.student):
            problem = f"{owner.student!r} cannot be used as a folder name"
            return replace(owner, problem=f"{problem}; add them to the roster, or rename the file")
        return owner


def _is_account_of(login, claimed, roster):
    """Return whether the account ``login`` belongs to ``claimed``, the student named by a folder."""
    if fold_name(login) == fold_name(claimed):
        return True
    mine, theirs = (roster.find(name, "id") for name in (login, claimed))
    return bool(mine) and mine == theirs


def _find_blackboard_assignment(wholes, roster):
    """Return the assignment's name in ``wholes``, Blackboard's names of the form ASSIGNMENT_LOGIN.

    Both parts may contain underscores. Of the prefixes that all names share, this chooses the one that leaves the most
    logins that are in the roster.
    """
    starts = [{whole[: -len(login) - 1] for login in _possible_logins(whole)} for whole in wholes]
    common = set.intersection(*starts) if starts else set()
    people = {key for column in PERSONAL_COLUMNS for key in roster.by_column[column]}
    people |= {fold_name(student.group) for student in roster.students if student.group}
    known = {start: sum(fold_name(whole[len(start) + 1 :]) in people for whole in wholes) for start in common}
    return max(sorted(common), key=lambda start: (known[start], len(start)), default="")


def _read_ilias_folder(match, roster):
    """Return the submitter named by an ILIAS folder, LAST NAME_FIRST NAME_LOGIN; each part may contain a "_"."""
    logins = _possible_logins(match["name"])[:-1]
    listed = {}
    for login in logins:
        for student in roster.find(login, "id"):
            before = re.split(r"[_ ]", fold_name(match["name"][: -len(login) - 1]))
            if len(logins) == 1 or not student.name or {*before} <= {*re.split(r"[_ \-]+", fold_name(student.name))}:
                listed[student.id] = login
    if len(listed) > 1:
        problem = f"its name may stand for {' or '.join(listed)}; hand it in as a folder called STUDENT"
        return Submitter(logins[0], problem=problem)
    unlisted = logins[0] if not roster.students or len(logins) == 1 else match["name"]
    return Submitter(next(iter(listed.values()), unlisted))


def _read_canvas_name(file, pair):
    """Return the submitter of ``file``, assuming that ``pair`` matches the numbers of its user and its attachment."""
    name, late = file[: pair.start()].rstrip("_"), False
    if re.search(r"(^|_)LATE$", name, re.IGNORECASE):
        name, late = name[:-4].rstrip("_"), True
    user, attachment = pair["user"], pair["attachment"]
    return Submitter(name or user, user, late, None, int(attachment), "", file[: pair.end("attachment") + 1])


def _parse_plain(first, is_folder, roster):
    if not is_folder and (match := SINGLE_NUMBER_FILE.fullmatch(first)):
        return [(Submitter(match["name"], match["user"], bool(match["late"])), "id")]
    student = first if is_folder else PurePosixPath(first).stem.partition("_")[0]
    if not is_folder and roster.students:  # an id in the roster may contain a _
        whole = fold_name(PurePosixPath(first).stem)
        known = [
            person for key, person in roster.by_column["id"].items() if whole == key or whole.startswith(f"{key}_")
        ]
        student = max((person.id for person in known), key=len, default=student)
    return [(Submitter(student), "id")] if roster.students or _may_name_student(student) else []


def _may_name_student(name):
    """Return whether ``name`` can be a student's id, which may contain underscores as in the roster."""
    return not name.startswith("_") and is_student_id(name)


def normalise_canvas_name(name: str) -> str:
    """Return ``name`` as Canvas writes it in front of a file's name."""
    return fold_name(re.sub(r"\W", "", re.sub(r"_(\d+)_", r"\1", name)))


def login_of(uid: int) -> str:
    """Return the name of the account ``uid``; "uid" and the number if this machine knows no name."""
    try:
        return pwd.getpwuid(uid).pw_name
    except (KeyError, OverflowError):
        return f"uid {uid}"


# This loader reads only strings, lists and mappings: tags create no objects, and mappings are never merged.
_PlainLoader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


def _read_gradescope_metadata(metadata: bytes) -> Mapping[str, tuple[datetime | None, list[tuple[str, str]]]]:
    """Return Gradescope's submissions: folder -> (when it came, [(the submitter's name, their SID)]).

    Raises ``ValueError`` if ``metadata`` is not a table in YAML.
    """
    try:
        _refuse_depth(metadata)
        data = yaml.load(metadata, _PlainLoader) if metadata else {}
    except yaml.YAMLError as error:
        raise ValueError(f"not readable YAML ({' '.join(str(error).split())})") from None
    if not isinstance(data, dict):
        raise ValueError("not a table of submissions")
    submissions = {}
    for folder, submission in data.items():
        people = submission.get(":submitters") if isinstance(submission, dict) else None
        if not isinstance(people, list):
            continue
        when = submission.get(":created_at")
        when = when.get("utc") or when.get("time") if isinstance(when, dict) else when
        persons = [person for person in people if isinstance(person, dict)]
        submissions[folder] = (parse_time(_string_or_empty(when)), [_read_submitter(person) for person in persons])
    return submissions


def _refuse_depth(text):
    """Refuse YAML that is nested deeper than any platform's: the C parser recurses without a limit."""
    depth = 0
    for event in yaml.parse(text, Loader=_PlainLoader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_NESTING:
            raise ValueError(f"not readable YAML (nested deeper than {MAX_NESTING})")


def _string_or_empty(value):
    """Return ``value`` if it is a string that does not stand for null; else ""."""
    return value if isinstance(value, str) and value not in ("~", "null") else ""


def _read_submitter(person):
    """Return ``(name, SID)`` of a submitter; the name is the first usable one of e-mail address, SID and full name."""
    names = [_string_or_empty(person.get(field)) for field in (":email", ":sid", ":name")]
    return next((name for name in names if is_student_name(name)), names[0] or names[1]), names[1]
