"""Whose a file is, by the names that learning platforms give to what they hand out.

In: the names of an archive's entries, and the file that describes them where a platform adds one. Out: which platform it
is, and an ``Submitter`` for each entry. Touches nothing.

Where the names come from:

- Canvas: ``lib/content_zipper.rb`` of instructure/canvas-lms. NAME[_LATE]_USER_ATTACHMENT_FILE, the name in lower case
  and without signs, but for _ and digits, which may look like a number of a user; for a group, the name is the group's and
  the user who handed in. Where grading is anonymous, [LATE_]anon_ID_ATTACHMENT_FILE. A file that a student hands in again
  under the same name gets -1, -2 at the end of its name.
- Moodle: ``mod/assign/classes/downloader.php`` and ``mod/assign/feedback/file/importziplib.php`` of moodle/moodle.
  FULL NAME_PARTICIPANT_assignsubmission_file as a folder (with _ at its end before Moodle 4.1), or in front of the file's
  name; everybody is called Participant, in the site's language, where marking is blind. Names lose some signs
  (``clean_filename``). Of a group: GROUP-FULL NAME_PARTICIPANT before Moodle 4.1, and GROUP_NUMBER OF THE GROUP since.
- Gradescope: submission_metadata.yml beside one folder a submission, with :submitters (:name, :sid, :email) and
  :created_at; Gradescope does not document it, and it was learned from programs that read it.
- nbgrader's exchange: ``exchange/default/submit.py``: STUDENT+ASSIGNMENT+TIME, with +RANDOM behind it, as a folder;
  in it a submission_secret.txt, from which ``release_feedback.py`` has the name of the page that goes back.
- anything else: STUDENT/FILE, STUDENT_FILE or STUDENT.zip.
- Blackboard: ASSIGNMENT_LOGIN_attempt_TIME_FILE, of the server's time zone, which nobody states, and beside it
  ASSIGNMENT_LOGIN_attempt_TIME.txt (jupyter/nbgrader issue 511).
- ILIAS: ``Exercise/Submission/class.SubmissionManager.php`` of ILIAS-eLearning/ILIAS. LAST NAME_FIRST NAME_LOGIN_NUMBER as a
  folder, of a team below one with its number; what is late has that in front of the file's name, in the site's language.
"""

import pwd
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import PurePosixPath

import yaml

from autograder.courses.plan import Student, alike, by_id, is_student
from autograder.platforms.timestamps import CLOCK_SKEW, parse_time

CANVAS = re.compile(r"(?:(?P<name>.+?)_)??(?:(?P<late>LATE)_)?(?P<user>\d+)_(?P<attachment>\d+)_.+", re.IGNORECASE)
ANONYMOUS = re.compile(r"(?:(?P<late>LATE)_)?anon_(?P<user>[A-Za-z0-9]{5})_(?P<attachment>\d+)_.+")
ONE_NUMBER = re.compile(r"(?P<name>[^_]+)(?P<late>_late)?_(?P<user>\d+)_.*", re.IGNORECASE)  # Canvas's, and like it
MOODLE = re.compile(r"(?P<name>[^_]+)_(?P<user>\d+)_(?P<kind>assignsubmission_[a-z]+)(?:_.*)?", re.IGNORECASE)
BLACKBOARD = re.compile(r"(?P<name>.+?)_attempt_(?P<time>\d{4}(?:-\d\d){5})(?:_(?P<file>.+)|\.txt)", re.IGNORECASE)
ILIAS = re.compile(r"(?P<name>[^/]+_[^/]+_[^/]+)_(?P<user>\d+)")
ILIAS_TEAM = re.compile(r"[^/_]+ \d+")  # "Team 5", in the site's language
ILIAS_LATE = re.compile(r"(late submission|verspaetete abgabe|verspätete abgabe) - ", re.IGNORECASE)
EXCHANGE = re.compile(r"(?P<name>[^+/]+)\+(?P<topic>[^+/]+)\+(?P<time>[^+/]+?(?: UTC)?)(?:\+[^+/]+)?")
NBGRADERS = "nbgrader's exchange"
FILES = "files and folders"
PLATFORMS = {  # by the name that a command takes
    "canvas": "Canvas",
    "moodle": "Moodle",
    "gradescope": "Gradescope",
    "blackboard": "Blackboard",
    "ilias": "ILIAS",
    "exchange": NBGRADERS,
    "folder": FILES,
}
METADATA = "submission_metadata.yml"
NUMBER_PAIR = re.compile(r"(?<![^_])(?P<user>\d+)(?=_(?P<attachment>\d+)_)")  # they overlap: 17_50_3001_ has two
DEFAULT_TEAM = "default group"  # of those in no group, in Moodle
NUMBERED = ("Moodle", "Blackboard", "ILIAS")  # Moodle's files of grades go by it; of the others, two people stay two
PERSONAL = ("id", "login", "email", "sis")  # of the roster, by which a folder may be called
COLUMNS = ("id", "login", "email", "sis", "canvas", "gradescope")  # of the roster, by which a file may be known
MAX_NESTING = 100  # of the metadata's tables and lists in one another


@dataclass(frozen=True)
class Submitter:
    """Whose an entry is: the ``student`` here, the platform's ``number`` of the person, or "" where the roster knows them.

    ``late`` is what the platform says, ``time`` when it came, in UTC, if that is known, ``order`` a number that is larger
    for what came later, 0 without one, ``attempt`` the folder of one try, and ``prefix`` what the platform wrote in front
    of the name of the file. Where work is taken ``by_arrival``, what a collection meets first came after what earlier ones
    have met, whatever time it states.
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
    """Which of ``PLATFORMS`` gave out an archive, as ``platform``.

    ``top`` is the folder that lies around all its entries, "" where the platform's names begin at once.
    """

    platform: str
    top: str = ""

    def below_top(self, name: str) -> tuple[str, ...]:
        """Return the folders, and last the file, of the entry ``name``, without the folder around them all."""
        parts = _parts(name)
        return parts[1:] if self.top else parts

    @property
    def metadata(self) -> str:
        """What Gradescope's own file is called in this archive. A student may hand in one of the same name, elsewhere."""
        return "/".join(filter(None, [self.top, METADATA]))

    def strip_late_prefix(self, name: str) -> str:
        """Return the entry ``name`` without what ILIAS writes in front of a file that is late."""
        path = PurePosixPath(name)
        return str(path.with_name(ILIAS_LATE.sub("", path.name, count=1))) if self.platform == "ILIAS" else name

    def is_own_file(self, name: str) -> bool:
        """Return whether the platform itself has added the entry ``name``, which nobody handed in."""
        if self.platform == "Blackboard":
            found = BLACKBOARD.fullmatch(self.below_top(name)[0])
            return found is not None and not found["file"]
        return name == self.metadata


def detect_format(
    names: Sequence[str], topics: Collection[str], students: Sequence[Student] = (), platform: str = ""
) -> ArchiveFormat:
    """Return who gave out an archive with these ``names``, for a course of these ``topics``.

    The names of one depth decide, which are the platform's and not the students': the first part of each or, below one
    folder around all, which is none of the roster's ``students``, the second. Two thirds of them must have a platform's
    form; those that do not have it are nobody's. Where ``platform`` is stated, each name is read on its own, and the names
    decide only whether one folder lies around all of them.
    """
    paths = [_parts(name) for name in names]
    tops, inner = {parts[0] for parts in paths}, [parts[1:] for parts in paths]
    top = tops.pop() if len(tops) == 1 and all(inner) else ""
    if platform:
        return ArchiveFormat(
            platform, top if top and _lies_around(platform, top, paths, inner, topics, students) else ""
        )
    people = {key for column in PERSONAL for key in by_id(tuple(students), column)}
    if platform := _platform_of(paths, topics, people):
        return ArchiveFormat(platform, top if platform == "ILIAS" and _is_no_team(top, inner, students) else "")
    platform = _platform_of(inner, topics, people) if top and alike(top) not in people else ""
    return ArchiveFormat(platform, top) if platform else ArchiveFormat(FILES)


def _lies_around(platform, top, paths, inner, topics, students):
    """Return whether the folder ``top`` lies around what ``platform`` gave out, and is not one of its own."""
    if platform == "Gradescope":
        return (METADATA,) in inner
    if platform == FILES:
        return False
    if platform == "ILIAS" and _is_no_team(top, inner, students):
        return True
    outside, inside = (sum(_forms(parts, topics)[platform]) for parts in (paths, inner))
    return inside > outside


def _forms(split, topics, people=None):
    """Return for each platform which of the first parts of the names have its form.

    Many a folder looks like one of ILIAS: with ``people``, it has to name one of them.
    """
    folders = {first for first, *below in split if below}
    files = {first for first, *below in split if not below and is_notebook(first)}
    below_teams = {_ilias_folder(parts) or parts[0] for parts in split if len(parts) > 1}
    return {
        "Moodle": [bool(MOODLE.fullmatch(part)) for part in (*folders, *files)],
        NBGRADERS: [_of_exchange(part, topics) is not None for part in folders] + [False] * len(files),
        "Blackboard": [bool(BLACKBOARD.fullmatch(part)) for part in files] + [False] * len(folders),
        "ILIAS": [_is_of_ilias(folder, people) for folder in below_teams] + [False] * len(files),
        "Canvas": [bool(_of_canvas(part)) for part in files] + [False] * len(folders),
    }


def _ilias_folder(parts):
    """Return the folder of a person of ILIAS in the path ``parts``: the first, or below one of a team the second; "" if none."""
    folders = parts[:-1][1:] if ILIAS_TEAM.fullmatch(parts[0]) else parts[:-1]
    return next((folder for folder in folders[:1] if ILIAS.fullmatch(folder)), "")


def _is_no_team(top, inner, students):
    """Return whether the folder ``top`` around all people of ILIAS is that of an exercise, although it is called like a team's."""
    folders = {parts[0] for parts in inner}
    if not ILIAS_TEAM.fullmatch(top) or len(folders) < 2:
        return False
    groups = {alike(key): one.group for one in students for key in (one.id, one.login, one.email, one.sis) if key}
    teams = set()
    for person in filter(None, map(ILIAS.fullmatch, folders)):
        logins = map(alike, _endings(person["name"]))
        teams.add(next((groups[login] for login in logins if login in groups), ""))
    return len(teams) != 1 or teams == {""}


def _is_of_ilias(folder, people):
    found = ILIAS.fullmatch(folder)
    if not found or people is None:
        return bool(found)
    return alike(folder) not in people and any(alike(name) in people for name in _endings(found["name"]))


def _endings(name):
    """Return what may be the login at the end of ``name``, behind an underscore: the shortest first, for it may have some."""
    parts = name.split("_")
    return ["_".join(parts[start:]) for start in range(len(parts) - 1, 0, -1)]


def _platform_of(split, topics, people=()):
    """Return the platform whose form the first of the parts of each name have; "" if none."""
    forms = _forms(split, topics, people)
    best = max(forms, key=lambda platform: sum(forms[platform]))  # the more particular of equals: it is named first
    if any(forms[best]) and 3 * sum(forms[best]) >= 2 * len(forms[best]):
        return best
    return "Gradescope" if (METADATA,) in split else ""


def _parts(name):
    """Return the folders, and last the file, that ``name`` names; what leads upwards, or nowhere, is left out."""
    return tuple(part for part in name.split("/") if part not in ("", ".", "..")) or ("",)


def _of_canvas(file):
    return ANONYMOUS.fullmatch(file) or CANVAS.fullmatch(file)


def _of_exchange(folder, topics):
    """Return the match of a folder of nbgrader's exchange, None if it is none: of another topic, or without a time."""
    found = EXCHANGE.fullmatch(folder)
    return found if found and found["topic"] in topics and parse_time(found["time"]) else None


def is_notebook(name: str) -> bool:
    """Return whether an entry called ``name`` is a notebook, or may hold one."""
    return name.casefold().endswith((".ipynb", ".zip"))


def strip_browser_suffix(name: str) -> str:
    """Return the ``name`` of a notebook that a browser has saved as text or as JSON as it was; any other as it is."""
    return re.sub(r"(?<=\.ipynb)\.(txt|json)$", "", name, flags=re.IGNORECASE)


class SubmitterReader:
    """Tells whose the entries of one archive are, by what it was ``detect_format`` as and by the roster's ``students``.

    Raises ``ValueError`` if ``metadata``, Gradescope's own file, cannot be read.
    """

    def __init__(
        self,
        found: ArchiveFormat,
        names: Sequence[str],
        topics: Collection[str],
        students: Sequence[Student],
        metadata: bytes = b"",
        any_owner: bool = False,
    ):
        self.found, self.platform, self.topics, self.any_owner = found, found.platform, topics, any_owner
        self.now = datetime.now(UTC)
        self.roster = tuple(students)
        self.known = {column: by_id(self.roster, column) for column in COLUMNS}
        self.named = [(moodle_name(one.name), one) for one in self.roster if one.name]
        self.groups = {moodle_name(one.group) for one in self.roster if one.group} | {DEFAULT_TEAM}
        self.submissions = _submissions(metadata)
        firsts = {found.below_top(name)[0] for name in names}
        people = {(one["name"], one["user"]) for first in firsts if (one := MOODLE.fullmatch(first))}
        called = {name for name, _ in people}
        forms = {first: form for first in firsts if (form := _of_canvas(first))}
        anonymous = [first for first, form in forms.items() if form.re is ANONYMOUS and not NUMBER_PAIR.search(first)]
        self.is_canvas_anonymous = 2 * len(anonymous) >= len(forms)  # a file may be called so that it looks like a name
        blackboards = {form["name"] for first in firsts if (form := BLACKBOARD.fullmatch(first))}
        self.assignment = self._blackboards_assignment(blackboards) if self.platform == "Blackboard" else ""
        self.is_moodle_anonymous = called == {"Participant"} or (len(called) == 1 and len(people) > 2)

    def of(self, name: str, topic: str, uids: Sequence[int] = ()) -> list[Submitter]:
        """Return those that the entry ``name`` belongs to: none, one, or the members of a group.

        ``uids`` are the users whose folders lie on the way to it, and its own. In nbgrader's exchange, where students
        choose the names, work of another account than it names is nobody's.
        """
        known = [self._known(one, column) for one, column in self._named(name, topic)]
        if self.platform != NBGRADERS:
            return known
        own = uids[1:] if self.found.top else uids
        return [
            replace(one, problem=one.problem or self._forgery(name, one, own), by_arrival=bool(uids)) for one in known
        ]

    def _forgery(self, name, owner, uids):
        """Return why the entry ``name`` of an exchange cannot be what its ``owner`` has handed in; "" if it can."""
        claimed = self.found.below_top(name)[0].partition("+")[0]
        if owner.time and owner.time > self.now + CLOCK_SKEW:
            return f"{claimed}'s folder says that it was handed in at {owner.time:%Y-%m-%d %H:%M} UTC, which is in the future"
        if self.any_owner:
            return ""
        if not uids:
            return (
                "an archive does not say which account a hand-in belongs to; collect from the folder of the exchange "
                "itself, or give --any-owner if you know that nobody else could write there"
            )
        others = sorted({login for uid in uids if not self._is_login_of(login := login_of(uid), claimed)})
        if others:
            return f"it claims to be {claimed}'s, and belongs to the account {' and '.join(others)}"
        return ""

    def _is_login_of(self, login, claimed):
        """Return whether the account ``login`` is that of the student whom an exchange's folder ``claimed`` to be of."""
        if alike(login) == alike(claimed):
            return True
        mine, theirs = (self._in_roster(Submitter(name), "id") for name in (login, claimed))
        return bool(mine) and mine == theirs

    def _named(self, name, topic):
        first, *below = self.found.below_top(name)
        if self.platform == "Gradescope":
            when, people = self.submissions.get(first, (None, ())) if below else (None, ())
            return [(Submitter(student, sid, time=when, attempt=first), "gradescope") for student, sid in people]
        if self.platform == "Moodle":
            return self._of_moodle(MOODLE.fullmatch(first))
        if self.platform == NBGRADERS:
            found = _of_exchange(first, self.topics) if below else None
            if not found or found["topic"] != topic:
                return []
            return [(Submitter(found["name"], time=parse_time(found["time"]), attempt=first), "id")]
        if self.platform == "Canvas":
            return [] if below else self._of_canvas(first)
        if self.platform == "Blackboard":
            return [] if below else self._parse_blackboard(BLACKBOARD.fullmatch(first))
        if self.platform == "ILIAS":
            return self._parse_ilias((first, *below))
        return self._plain(first, bool(below))

    def _of_moodle(self, found):
        if not found:
            return []
        student = f"{found['name']}-{found['user']}" if self.is_moodle_anonymous else found["name"]
        prefix = f"{found['name']}_{found['user']}_{found['kind']}_"
        name = moodle_name(found["name"])
        if members := [one for one in self.roster if one.group and moodle_name(one.group) == name]:
            if any(known == name for known, _ in self.named):
                what = f"{found['name']} is the name of a student and of a group of the roster; rename the group"
                return [(Submitter(student, problem=what), "")]
            return [(Submitter(one.id), "id") for one in members]  # the number is the group's, and nobody's here
        return [(Submitter(student, found["user"], prefix=prefix), "" if self.is_moodle_anonymous else "name")]

    def _parse_blackboard(self, found):
        if not found:
            return []
        order, whole = int(re.sub(r"\D", "", found["time"])), found["name"]
        login = whole[len(self.assignment) + 1 :] if whole.startswith(f"{self.assignment}_") else _endings(whole)[0]
        if members := [one for one in self.roster if one.group and alike(one.group) == alike(login)]:
            return [(Submitter(one.id, order=order, attempt=found["time"]), "id") for one in members]
        return [(Submitter(login, whole, order=order, attempt=found["time"]), "id")]

    def _blackboards_assignment(self, wholes):
        """Return the name of the assignment, which precedes every login in an archive.

        ``wholes`` are Blackboard's names, ASSIGNMENT_LOGIN. Both parts may contain underscores, so of the beginnings that all
        names share, the one that leaves most logins of the roster is chosen.
        """
        starts = [{whole[: -len(login) - 1] for login in _endings(whole)} for whole in wholes]
        common = set.intersection(*starts) if starts else set()
        people = {key for column in PERSONAL for key in self.known[column]}
        people |= {alike(one.group) for one in self.roster if one.group}
        known = {start: sum(alike(whole[len(start) + 1 :]) in people for whole in wholes) for start in common}
        return max(sorted(common), key=lambda start: (known[start], len(start)), default="")

    def _parse_ilias(self, parts):
        folder = _ilias_folder(parts)
        found = ILIAS.fullmatch(folder)
        if not found:
            return []
        late = bool(ILIAS_LATE.match(parts[-1]))
        attempt, order = ("late", 2) if late else ("in time", 1)  # what came later is late
        owner = replace(self._ilias_login(found), late=late, attempt=attempt, order=order)
        if folder == parts[0]:
            return [(replace(owner, number=found["user"]), "id")]
        submitter = self._in_roster(owner, "id")
        if not submitter or not submitter[0].group:
            problem = "a team has handed it in; add them to the roster, with a column group there"
            return [(replace(owner, problem=problem), "")]
        return [(replace(owner, student=one.id), "id") for one in self.roster if one.group == submitter[0].group]

    def _ilias_login(self, found):
        """Return whose login ends the name of a folder of ILIAS: LAST NAME_FIRST NAME_LOGIN, each with a _ or not."""
        logins = _endings(found["name"])[:-1]
        listed = {}
        for login in logins:
            for one in self._in_roster(Submitter(login), "id"):
                before = re.split(r"[_ ]", alike(found["name"][: -len(login) - 1]))
                if len(logins) == 1 or not one.name or {*before} <= {*re.split(r"[_ \-]+", alike(one.name))}:
                    listed[one.id] = login
        if len(listed) > 1:
            problem = f"its name may be that of {' or '.join(listed)}; hand it in as a folder called STUDENT"
            return Submitter(logins[0], problem=problem)
        return Submitter(
            next(iter(listed.values()), logins[0] if not self.roster or len(logins) == 1 else found["name"])
        )

    def _of_canvas(self, file):
        found = _of_canvas(file)
        if not found:
            return []
        if found.re is ANONYMOUS and self.is_canvas_anonymous:
            late, order = bool(found["late"]), int(found["attachment"])
            prefix = f"anon_{found['user']}_{found['attachment']}_"
            return [(Submitter(f"anon-{found['user']}", found["user"], late, None, order, "", prefix), "")]
        read = [self._canvas_reading(file, number) for number in NUMBER_PAIR.finditer(file)]
        if not read:  # of anonymous grading, in an archive that is not anonymous
            return []
        listed = [one for one in read if alike(one.number) in self.known["canvas"]]
        if len({one.number for one in listed}) > 1:
            who = " or ".join(dict.fromkeys(self.known["canvas"][alike(one.number)].id for one in listed))
            problem = f"its name may be that of {who}; hand it in as a folder called STUDENT"
            return [(replace(listed[0], problem=problem), "")]
        owner = (listed or read)[0]
        submitter = self.known["canvas"].get(alike(owner.number))
        if submitter and submitter.group and canvas_name(submitter.group) == alike(owner.student):
            others = [one for one in self.roster if one.group == submitter.group and one != submitter]
            return [(owner, "canvas"), *((replace(owner, student=one.id, prefix=""), "id") for one in others)]
        return [(replace(owner, student=owner.student.replace("_", "-")), "canvas")]

    def _canvas_reading(self, file, pair):
        """Return whose ``file`` is if the two numbers of ``pair`` are those of its user and its attachment."""
        name, late = file[: pair.start()].rstrip("_"), False
        if re.search(r"(^|_)LATE$", name, re.IGNORECASE):
            name, late = name[:-4].rstrip("_"), True
        user, attachment = pair["user"], pair["attachment"]
        return Submitter(name or user, user, late, None, int(attachment), "", file[: pair.end("attachment") + 1])

    def _plain(self, first, is_folder):
        if not is_folder and (found := ONE_NUMBER.fullmatch(first)):
            return [(Submitter(found["name"], found["user"], bool(found["late"])), "id")]
        student = first if is_folder else PurePosixPath(first).stem.partition("_")[0]
        if not is_folder and self.roster:  # a name that the roster knows may hold a _
            whole = alike(PurePosixPath(first).stem)
            known = [one for key, one in self.known["id"].items() if whole == key or whole.startswith(f"{key}_")]
            student = max((one.id for one in known), key=len, default=student)
        return [(Submitter(student), "id")] if self.roster or is_student(student) else []

    def _known(self, owner, column):
        """Return ``owner`` as the roster calls them; without a roster, or where it is blind, as the platform does."""
        if column and self.roster:
            found = self._in_roster(owner, column)
            if len(found) == 1:
                number = owner.number if self.platform in NUMBERED else ""
                return replace(owner, student=found[0].id, number=number)
            who = f"{owner.student} ({owner.number})" if owner.number else owner.student
            what = f"{who} is not in the roster" if not found else f"{who} may be {len(found)} students of the roster"
            remedy = "add them to the roster, or rename the file; a group needs a column group there"
            return replace(owner, problem=f"{what}; {remedy}")
        if not is_student(owner.student):
            problem = f"{owner.student!r} cannot be the name of a folder"
            return replace(owner, problem=f"{problem}; add them to the roster, or rename the file")
        return owner

    def _in_roster(self, owner, column):
        if column == "name":
            name = moodle_name(owner.student)
            exact = [one for known, one in self.named if known == name]
            return exact or [one for known, one in self.named if self._is_of_group(name, known)]
        name = alike(owner.student)
        if column in ("canvas", "gradescope"):
            found = self.known[column].get(alike(owner.number)) or self.known["email"].get(name)
            return [found] if found else []
        found = next((one for known in ("id", "login", "email", "sis") if (one := self.known[known].get(name))), None)
        return [found] if found else []

    def _is_of_group(self, name, known):
        """Return whether ``name`` is GROUP-FULL NAME, of a group of the roster and a student called ``known``."""
        return name.endswith(f"-{known}") and name.removesuffix(f"-{known}") in self.groups


def moodle_name(name: str) -> str:
    """Return ``name`` as it can be compared with what Moodle makes of it in the name of a file."""
    kept = re.sub(r"""[\x00-\x1f\x7f&<>"'`|:\\/]|\.\.+""", "", name.replace("_", " "))
    return alike(" ".join(kept.split()))


def canvas_name(name: str) -> str:
    """Return ``name`` as Canvas writes it in front of the name of a file."""
    return alike(re.sub(r"\W", "", re.sub(r"_(\d+)_", r"\1", name)))


def login_of(uid: int) -> str:
    """Return the name of the account with the number ``uid``; the number itself where this machine knows no name."""
    try:
        return pwd.getpwuid(uid).pw_name
    except (KeyError, OverflowError):
        return f"uid {uid}"


# All that it reads are texts, lists and tables: no tag makes anything, and no table is merged into another.
_Plain = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


def _submissions(metadata: bytes) -> Mapping[str, tuple[datetime | None, list[tuple[str, str]]]]:
    """Return what Gradescope says: folder -> (when it came, the people whose it is, each with their SID).

    Raises ``ValueError`` if ``metadata`` is no table in YAML.
    """
    try:
        _refuse_depth(metadata)
        data = yaml.load(metadata, _Plain) if metadata else {}
    except yaml.YAMLError as error:
        raise ValueError(f"no YAML that can be read ({' '.join(str(error).split())})") from None
    if not isinstance(data, dict):
        raise ValueError("no table of submissions")
    found = {}
    for folder, told in data.items():
        people = told.get(":submitters") if isinstance(told, dict) else None
        if not isinstance(people, list):
            continue
        when = told.get(":created_at")
        when = when.get("utc") or when.get("time") if isinstance(when, dict) else when
        known = [one for one in people if isinstance(one, dict)]
        found[folder] = (parse_time(_text(when)), [_person(one) for one in known])
    return found


def _refuse_depth(text):
    """Refuse YAML that is nested deeper than any platform's: reading it takes a stack as deep, in C without a limit."""
    depth = 0
    for event in yaml.parse(text, Loader=_Plain):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_NESTING:
            raise ValueError(f"no YAML that can be read (it is nested deeper than {MAX_NESTING})")


def _text(value):
    """Return ``value`` if it is a text; "" for what stands for nothing, and for a table, however large it would print."""
    return value if isinstance(value, str) and value not in ("~", "null") else ""


def _person(told):
    """Return ``(what to call them, their SID)``: by e-mail, or else by what there is."""
    names = [_text(told.get(field)) for field in (":email", ":sid", ":name")]
    return next((name for name in names if is_student(name)), names[0] or names[1]), names[1]
