"""`forget` erases every byte that a course has of a student, leaves the others as they were, and can be repeated."""

import contextlib
import csv
import functools
import itertools
import json
import os
import shutil
import sqlite3
import unicodedata
import zipfile
from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest
import sqlalchemy
from nbgrader.api import Gradebook
from nbgrader.utils import notebook_hash

from autograder import forget
from autograder.courses.course import SECRET, Course, init
from autograder.courses.locking import exclusive_lock, watch_lock
from autograder.courses.record import NEVER_DELETED, Record
from autograder.courses.submissions import list_submitters, set_aside_folder
from autograder.errors import CourseError
from autograder.gradebook.backup import back_up, list_backups
from autograder.gradebook.requests import answer_request, load_requests
from autograder.gradebook.students import list_students
from autograder.marking.override import override
from autograder.marking.session import ClientState, Conflict, MarkRequest, Session
from autograder.platforms.collect import collect
from autograder.reports.analysis import analyse
from tests.autograder.essays import ESSAY, all_right, grade_quickly, hand_in
from tests.autograder.killing import WRITES, choose_writes, is_killed_at
from tests.autograder.test_main import assert_refused, autograder, succeed
from tests.autograder.watch.hub import ACCOUNTS, Hub

pytestmark = pytest.mark.suite("assignments")

GONE = "quillon"
WORDS = GONE, "Quirina", "quirlog", "zephyrquartz"  # id, name, account, and what only this student writes
ROSTER = """id,name,email,login
ben,Ben Ito,ben@university.edu,ben
quillon,Quirina Illonova,quirlog@university.edu,quirlog
cem,"Öz, Cem",cem@university.edu,cem
"""
PLAN = """roster = "students.csv"
markers = ["dora"]

[late]
percent_a_day = 10

[assignment.scoring]
due = 2026-03-10T12:00:00Z
attempts = 2

[assignment.scoring.extensions]
quillon = 2026-03-12T12:00:00Z
"""
OWN_FILES = {"course/students.csv", "course/course.toml", "course/scoring-grades-csv.csv", "course/pages.zip"}


def echo(notebook, exercises, *rest):
    """Stand in for a sandbox in which each submission prints its written answer."""
    cell = next(c for c in notebook.cells if c.metadata.get("nbgrader", {}).get("grade_id") == ESSAY)
    printed = {"output_type": "stream", "name": "stdout", "text": cell.source}
    return replace(all_right(notebook, exercises), outputs={0: (1, [printed])})


def bundle(path, hub, **essays):
    """Write an archive of the class, in which each student has written an essay now; return its path."""
    with zipfile.ZipFile(path, "w") as archive:
        for student, essay in essays.items():
            archive.writestr(f"{student}/scoring.ipynb", hub.notebook(essay, "Please look again at additive_score."))
            archive.writestr(f"{student}/timestamp.txt", f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S.%f} UTC")
    return path


def mark_by_name(course):
    """Mark everybody's answer as dora, who leaves some open, with comments that she then changes."""
    with contextlib.closing(Session(course, "scoring", "what_to_recompute", marker="dora")) as session:
        session.page()
        for answer, words in itertools.product(session.answers(), ("zephyrquartz: first words", "last words")):
            own = words if answer.student == GONE else "Good."
            now = next(each for each in session.answers() if each.student == answer.student)
            session.shown.add(now)
            session.mark(MarkRequest((ClientState(session.shown.id_of(now), now.seen),), 1.0, own))
    with contextlib.closing(Session(course, "scoring", "what_to_recompute", marker="dora")) as session:
        session.page()


def fill(hub, folder):
    """Let a class of three do all that leaves traces."""
    course = hub.course
    (course.root / "students.csv").write_text(ROSTER, encoding="utf-8")
    (course.root / "course.toml").write_text(PLAN, encoding="utf-8")
    secrets = {}
    for student, account in ((GONE, "quirlog"), ("ben", "ben"), ("cem", "cem")):
        own = "zephyrquartz" if student == GONE else student
        secrets[student] = [hub.submit(account, f"{number}, {own}", account=account) for number in range(3)]
        hub.watch(grade_one=echo)  # one is superseded by another, or comes after the last attempt
    secrets[GONE].append(hub.submit("quirlog", content="zephyrquartz is no notebook {", account="quirlog"))
    other = hub.notebook("zephyrquartz").replace('"scoring-', '"softmax-')
    secrets[GONE].append(hub.submit("quirlog", content=other, account="quirlog"))  # refused: of another assignment
    secrets["ben"].append(hub.submit("ben", content="no notebook either {", account="ben"))
    hub.watch(grade_one=echo)
    archives = [bundle(folder / f"{n}.zip", hub, quillon=f"zephyrquartz {n}", ben=f"ben {n}") for n in "ab"]
    for archive in archives:
        collect(course, "scoring", archive)
        grade_quickly(course, grade_one=echo)
        archive.unlink()
    override(course, "scoring", "additive_score", GONE, 0.5, "zephyrquartz was misread")
    override(course, "scoring", "additive_score", "ben", 0.5, "ben was misread")
    mark_by_name(course)
    for student in (GONE, "ben"):
        answer_request(course, "scoring", student, "additive_score", f"{student}: no.")
    (broken := folder / "again" / GONE / "scoring.ipynb").parent.mkdir(parents=True)
    for file in ("a.ipynb", "b.ipynb"):
        (broken.parent / file).write_text("{}")
    collect(course, "scoring", folder / "again")  # refused: which one counts?
    shutil.rmtree(folder / "again")
    grade_quickly(course, grade_one=echo)
    (aside := set_aside_folder(course, GONE, "scoring")).mkdir(parents=True)
    (aside / "notes.txt").write_text("zephyrquartz")
    (course.root / ".autograder" / "marking" / "scoring" / f"{ESSAY}.json.draft").write_text(f'{{"open": {GONE}')
    with zipfile.ZipFile(course.root / "pages.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("first.html", "<p>Quirina Illonova</p>" * 9)
    autograder("export", "scoring", "--course", course.root)
    assert all(hub.page(secret) for some in secrets.values() for secret in some)
    return secrets


@pytest.fixture(scope="module")
def place(released, tmp_path_factory):
    """A course with its exchange, in which three students have done all that leaves traces; saved, to be put back."""
    folder = tmp_path_factory.mktemp("forget")
    shutil.copytree(released.root, folder / "now" / "course")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(ACCOUNTS, "quirlog", 30_005)
        hub = Hub(Course.at(folder / "now" / "course"), folder / "now", patch)
        secrets = fill(hub, folder)
        shutil.copytree(folder / "now", folder / "saved", symlinks=True)
        yield SimpleNamespace(hub=hub, course=hub.course, now=folder / "now", saved=folder / "saved", secrets=secrets)


@pytest.fixture
def filled(place):
    """The same as ``place``, put back to where it began."""
    put_back(place)
    return place


def put_back(place):
    shutil.rmtree(place.now)
    shutil.copytree(place.saved, place.now, symlinks=True)


def search(folder):
    """Return the files below ``folder`` whose name or content, also of archives, has one of ``WORDS``."""
    found = set()
    for path in folder.rglob("*"):
        parts = [str(path.relative_to(folder)).encode()]
        if path.is_file():
            parts.append(path.read_bytes())
            if zipfile.is_zipfile(path):
                with zipfile.ZipFile(path) as archive:
                    parts += [archive.read(name) for name in archive.namelist()]
        if any(word.encode() in part for word in WORDS for part in parts):
            found.add(str(path.relative_to(folder)))
    return found


def list_left(place):
    """Return the files with the student that `forget` leaves to the instructor."""
    return {path for path in search(place.saved) if path in OWN_FILES or "/backups/" in path}


def rows_of(course):
    """Return all rows of the gradebook, with their tables."""
    with contextlib.closing(sqlite3.connect(course.gradebook.file)) as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {(table, *row) for table in tables for row in connection.execute(f"SELECT * FROM {table}")}


def events_of(course):
    """Return all events as they are stored, by number."""
    with contextlib.closing(sqlite3.connect(course.record.path)) as connection:
        return {row[0]: row for row in connection.execute("SELECT * FROM event")}


def files_of(place):
    """Return the bytes of all files except databases, by name."""
    files = (path for path in place.now.rglob("*") if path.is_file() and path.suffix != ".db")
    return {str(path.relative_to(place.now)): path.read_bytes() for path in files}


def is_protected(course):
    with contextlib.closing(sqlite3.connect(course.record.path)) as connection:
        for statement in ("DELETE FROM event", "UPDATE event SET student = 'eve'"):
            with pytest.raises(sqlite3.IntegrityError, match="events are never"):
                connection.execute(statement)
    return True


def test_the_class_has_left_traces_everywhere(filled):
    """Otherwise the next tests would prove nothing."""
    found = search(filled.now)
    for part in (
        *(
            "submitted/quillon",
            "autograded/quillon",
            "feedback/quillon",
            "earlier/quillon",
            "set_aside/scoring/quillon",
        ),
        *("verdicts/", "marking/scoring/", "backups/", "record.db", "gradebook.db", ".json.draft"),
        *("exchange/attention/inbound", "exchange/attention/feedback"),
    ):
        assert [path for path in found if part in path], part
    kinds = {event.kind for event in filled.course.record.list_all() if event.student == GONE}
    told = {
        "received",
        "kept",
        "graded",
        "page",
        "told",
        "taken",
        "marked",
        "overridden",
        "answered",
        "served",
        "set aside",
    }
    assert kinds >= told - {"taken", "set aside"}


def test_no_byte_of_the_student_is_left_but_in_the_places_that_it_names(filled):
    printed = succeed("forget", GONE, "--yes", "--course", filled.course.root, status=3)
    left = list_left(filled)
    assert search(filled.now) == left
    _, _, named = printed.partition("Left to you")
    for path in left:
        assert path.removeprefix("course/") in named, path
    assert "students.csv, line 3\n" in named
    assert "course.toml, line 12\n" in named
    assert len(named.splitlines()) == 1 + len(left)
    for word in (
        "Erased:",
        "in submitted/quillon",
        "of the gradebook",
        "of .autograder/record.db",
        "the hand-in",
        "verdict",
    ):
        assert word in printed
    assert is_protected(filled.course)


def test_what_others_have_stays_as_it_was_byte_by_byte(filled):
    rows, events, files = rows_of(filled.course), events_of(filled.course), files_of(filled)
    traces = forget.erase(filled.course, GONE)
    rows_after, events_after, files_after = rows_of(filled.course), events_of(filled.course), files_of(filled)
    assert rows_after < rows
    assert len(rows) - len(rows_after) == traces.rows
    assert {row[0] for row in rows - rows_after} >= {"student", "submitted_assignment", "submitted_notebook", "grade"}
    assert events_after.items() < events.items()
    assert {*events} - {*events_after} == {*traces.events}
    gone = [row for number, row in events.items() if number in traces.events]
    assert {row[3] for row in gone} == {GONE, ""}
    assert all("quirlog" in row[5] or json.loads(row[5]).get("state") for row in gone if row[3] == "")
    marking = f"course/.autograder/marking/scoring/{ESSAY}.json"
    assert {name for name in files_after if files_after[name] != files[name]} == {marking}
    before, after = json.loads(files[marking]), json.loads(files_after[marking])
    before["open"]["dora"].remove(GONE)
    assert after == before
    pages = {secret: filled.hub.page(secret) for some in filled.secrets.values() for secret in some}
    assert {secret for secret, page in pages.items() if not page} == {*filled.secrets[GONE]}
    for name in {*files} - {*files_after}:
        is_page = name.startswith("exchange/attention/feedback")
        assert is_page or any(word in name or word.encode() in files[name] for word in WORDS), name


def test_the_course_goes_on_as_if_the_student_had_never_been_there(filled):
    course, hub = filled.course, filled.hub
    before = analyse(course, "scoring")
    succeed("forget", GONE, "--yes", "--course", course.root, status=3)
    rows = grade_quickly(course, grade_one=None)
    assert {name: row.reused for name, row in rows.items()} == {"ben": True, "cem": True}
    (course.root / "students.csv").write_text(
        ROSTER.replace("quillon,Quirina Illonova,quirlog@university.edu,quirlog\n", "")
    )
    (course.root / "course.toml").write_text(PLAN.replace("quillon = 2026-03-12T12:00:00Z\n", ""))
    assert len(analyse(course, "scoring").scores) == len(before.scores) - 1
    assert grade_quickly(course, grade_one=echo).keys() == {"ben", "cem"}
    succeed("export", "scoring", "--force", "--unmarked", "--course", course.root)
    with (course.root / "scoring-grades-csv.csv").open(encoding="utf-8") as file:
        assert [row["student"] for row in csv.DictReader(file)] == ["ben", "cem"]
    succeed("report", "--names", "--course", course.root)
    (course.root / "pages.zip").unlink()
    succeed("feedback", "scoring", "--course", course.root)
    assert [request.student for request in load_requests(course, "scoring", list_submitters(course, "scoring"))] == [
        "ben"
    ]
    listed = succeed("requests", "scoring", "--all", "--course", course.root)
    assert "Ben Ito (ben)" in listed
    with contextlib.closing(Session(course, "scoring", "what_to_recompute", marker="dora")) as session:
        assert {answer.student for answer in session.answers()} == {"ben", "cem"}
    assert_refused(
        autograder("mark", "scoring", "additive_score", "--student", GONE, "--automatic", "--course", course.root)
    )
    hub.lines.clear()
    hub.submit("cem", "four, cem", account="cem")
    lines = hub.watch(grade_one=echo)
    assert not [line for line in lines if any(word in line for word in WORDS) or "error" in line.casefold()]
    assert {who for who, _ in hub.outcomes()} == {"ben", "cem"}
    for path in list_backups(course):
        path.unlink()
    assert search(filled.now) == set()


def test_a_collection_is_undone_for_the_others(filled):
    course = filled.course
    archive = bundle(filled.now.parent / "c.zip", filled.hub, quillon="zephyrquartz c", ben="ben c", cem="cem c")
    before = course.submission("ben", "scoring").read_bytes()
    collect(course, "scoring", archive)
    assert b"ben c" in course.submission("ben", "scoring").read_bytes()
    forget.erase(course, GONE)
    printed = succeed("collect", "scoring", "--undo", "--course", course.root)
    assert "2 undone" in printed
    assert not [word for word in WORDS if word in printed]
    assert course.submission("ben", "scoring").read_bytes() == before
    assert grade_quickly(course, grade_one=echo).keys() == {"ben", "cem"}


def test_a_collection_of_nobody_else_leaves_nothing_to_undo(filled):
    archive = bundle(filled.now.parent / "c.zip", filled.hub, quillon="zephyrquartz c")
    collect(filled.course, "scoring", archive)
    forget.erase(filled.course, GONE)
    assert_refused(autograder("collect", "scoring", "--undo", "--course", filled.course.root), "nothing to undo")


def test_the_listing_erases_nothing_and_names_what_would_go(filled):
    before = files_of(filled), rows_of(filled.course), events_of(filled.course)
    stamps = {path: path.stat().st_mtime_ns for path in filled.now.rglob("*")}
    printed = succeed("forget", GONE, "--course", filled.course.root)
    assert (files_of(filled), rows_of(filled.course), events_of(filled.course)) == before
    assert {path: path.stat().st_mtime_ns for path in filled.now.rglob("*")} == stamps
    assert f"forget {GONE} --yes" in printed
    erased = succeed("forget", GONE, "--yes", "--course", filled.course.root, status=3)
    listed = printed.replace("To be erased:", "Erased:").rpartition("Nothing was erased")[0]
    assert listed == erased


def test_a_second_time_there_is_nothing_but_what_is_left_to_the_instructor(filled):
    succeed("forget", GONE, "--yes", "--course", filled.course.root, status=3)
    before = files_of(filled), rows_of(filled.course), events_of(filled.course)
    printed = succeed("forget", GONE, "--yes", "--course", filled.course.root, status=3)
    assert "Erased: nothing" in printed
    assert "students.csv, line 3" in printed
    assert (files_of(filled), rows_of(filled.course), events_of(filled.course)) == before
    for path in list_left(filled):
        (filled.now / path).unlink()
    assert search(filled.now) == set()
    for more in ((), ("--yes",)):
        done = autograder("forget", GONE, *more, "--course", filled.course.root)
        assert_refused(done, f"nobody has the id '{GONE}'", "the roster, submitted/", "record")


def test_everybody_can_be_forgotten(filled):
    for student in (GONE, "ben", "cem"):
        forget.erase(filled.course, student)
    assert events_of(filled.course).keys() == {
        event.number for event in filled.course.record.list_all() if event.kind in ("collection", "rules")
    }
    assert not [
        row for row in rows_of(filled.course) if row[0] in ("student", "grade", "comment", "submitted_assignment")
    ]
    assert not list(filled.course.root.glob(".autograder/verdicts/*/*"))
    assert_refused(autograder("grade", "scoring", "--course", filled.course.root), "nobody has handed in anything")


@pytest.mark.parametrize("name", ["../ben", "ben/scoring", "", ".", "..", "-rf", "ben\n", "*", "___", "/", "ad\udcff"])
def test_a_name_that_no_folder_should_have_is_refused(filled, name):
    for more in ((), ("--yes",)):
        assert_refused(autograder("forget", *more, "--course", filled.course.root, "--", name), "cannot be the name")


@pytest.mark.parametrize(
    ("name", "meant"), [("zoe", "give the id in the roster"), ("Quillon", GONE), ("quirlog", GONE), ("Ben Ito", "ben")]
)
def test_an_unknown_student_is_refused_with_who_may_be_meant_and_nothing_is_erased(filled, name, meant):
    before = files_of(filled), rows_of(filled.course), events_of(filled.course)
    done = autograder("forget", name, "--yes", "--course", filled.course.root)
    assert_refused(done, f"nobody has the id {name!r}", meant, "submitted/", "the gradebook", "record")
    assert (files_of(filled), rows_of(filled.course), events_of(filled.course)) == before


def test_it_waits_for_nobody_and_changes_nothing_while_another_command_writes(filled):
    before = events_of(filled.course)
    for lock, words in ((exclusive_lock, "already grading"), (watch_lock, "`watch`")):
        with lock(filled.course):
            assert_refused(autograder("forget", GONE, "--yes", "--course", filled.course.root), words)
    assert events_of(filled.course) == before
    assert filled.course.submission(GONE, "scoring").is_file()


def test_a_page_that_is_open_for_marking_learns_that_the_answer_is_gone(filled):
    with contextlib.closing(Session(filled.course, "scoring", "what_to_recompute")) as session:
        answers = {answer.student: answer for answer in session.answers()}
        for answer in answers.values():
            session.shown.add(answer)
        forget.erase(filled.course, GONE)
        request = MarkRequest((ClientState(session.shown.id_of(answers[GONE]), answers[GONE].seen),), 0.5)
        with pytest.raises(Conflict):
            session.mark(request)
    assert search(filled.now) == list_left(filled)


def test_what_two_students_handed_in_alike_stays_for_the_other(filled):
    course = filled.course
    for student in (GONE, "ben", "cem"):
        hand_in(course, student, "the same words")
    grade_quickly(course, grade_one=echo)
    same = [path for _, path in course.store.list_files() if "the same words" in path.read_text()]
    assert same
    forget.erase(course, GONE)
    assert [path for _, path in course.store.list_files() if "the same words" in path.read_text()] == same
    assert all(row.reused for row in grade_quickly(course, grade_one=None).values())


def test_a_verdict_that_nobody_recorded_goes_too(filled):
    hand_in(filled.course, GONE, "zephyrquartz, tried out")
    grade_quickly(filled.course, grade_one=echo, dry=True)  # which stores the verdicts, and records nothing
    forget.erase(filled.course, GONE)
    assert search(filled.now) == list_left(filled)


def test_what_others_say_of_the_student_is_theirs_and_is_named(filled):
    course = filled.course
    course.record.add("scoring", "ben", ("asked", {"about": "", "requests": [["", f"I worked with {GONE}."]]}))
    hand_in(course, "ben", f"As {GONE} says.")
    printed = succeed("forget", GONE, "--yes", "--course", course.root, status=3)
    number = max(events_of(course))
    assert f"record.db, event {number}, of ben: asked" in printed
    assert "submitted/ben/scoring/scoring.ipynb" in printed.partition("Left to you")[2]


def test_a_hand_in_that_would_be_taken_again_is_named(filled, tmp_path, monkeypatch):
    monkeypatch.setattr("autograder.watch.polling.SETTLE_SECONDS", 0.0)
    filled.hub.submit("quirlog", "zephyrquartz, not seen yet", account="quirlog", name="quirlog+scoring+2026-11-30+new")
    (dropped := tmp_path / "drop" / f"{GONE}.ipynb").parent.mkdir()
    dropped.write_text(filled.hub.notebook("zephyrquartz dropped"))
    filled.hub.watch(patience=3, folder=dropped.parent)
    assert [event for event in filled.course.record.list_all() if event.data.get("entry") == dropped.name]
    printed = succeed("forget", GONE, "--yes", "--course", filled.course.root, status=3)
    left = printed.partition("Left to you")[2]
    for path in (dropped, filled.hub.inbound / "quirlog+scoring+2026-11-30+new"):
        assert f"{path}: `watch` and `collect` would take this hand-in again" in left
        assert path.exists()


def test_a_forged_hand_in_in_the_students_name_stays_in_the_exchange_and_is_named(filled):
    filled.hub.submit("quirlog", "zephyrquartz, forged", account="mal", name="quirlog+scoring+2026-11-30+forged")
    filled.hub.watch(grade_one=echo)
    assert filled.hub.outcomes()[-1] == ("quirlog", "nobody's")
    printed = succeed("forget", GONE, "--yes", "--course", filled.course.root, status=3)
    forged = filled.hub.inbound / "quirlog+scoring+2026-11-30+forged"
    assert f"{forged}: `watch`" in printed.partition("Left to you")[2]
    assert forged.is_dir()
    assert {who for who, _ in filled.hub.outcomes()} == {"ben", "cem"}


def test_a_hand_in_that_now_leads_to_somebody_elses_costs_nobody_a_page(filled):
    hand_ins = sorted(filled.hub.inbound.iterdir())
    theirs = next(path for path in hand_ins if path.name.startswith("ben+"))
    pages = {secret: filled.hub.page(secret) for secret in filled.secrets["ben"]}
    for number, path in enumerate(path for path in hand_ins if path.name.startswith("quirlog+")):
        if number == 0:
            shutil.rmtree(path)
            path.symlink_to(theirs)
        else:
            (path / SECRET).unlink()
            (path / SECRET).symlink_to(theirs / SECRET) if number == 1 else os.mkfifo(path / SECRET)
    forget.erase(filled.course, GONE)
    assert {secret: filled.hub.page(secret) for secret in pages} == pages
    assert theirs.is_dir()
    assert not [path for path in filled.hub.inbound.iterdir() if path.name.startswith("quirlog+")]


def test_what_a_student_has_made_is_searched_but_not_opened(filled):
    folders = filled.course.submission("ben", "scoring").parent, set_aside_folder(filled.course, "ben", "scoring")
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)
        with contextlib.closing(sqlite3.connect(folder / "a.db")) as connection:
            connection.execute(f"CREATE TABLE notes AS SELECT 'a' AS first, '{GONE}' AS second, 'b' AS third")
            connection.commit()
        with zipfile.ZipFile(folder / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("a.txt", f" {GONE} " * 99)
        (folder / "a.txt").write_text(f"I know {GONE}.")
    printed = succeed("forget", GONE, "--yes", "--course", filled.course.root, status=3)
    named = [line.strip() for line in printed.partition("Left to you")[2].splitlines()]
    of_ben = [line for line in named if "/ben/" in line]
    assert sorted(of_ben) == [".autograder/set_aside/scoring/ben/a.txt", "submitted/ben/scoring/a.txt"]


def test_what_was_half_published_goes_with_the_page(filled):
    names = {who: notebook_hash(secret=filled.secrets[who][0], notebook_id="scoring") for who in (GONE, "ben")}
    folder = filled.hub.exchange / "attention" / "feedback"
    halves = {who: [folder / f"{name}.html.draft", folder / f"{name}-tmp.html"] for who, name in names.items()}
    for path in itertools.chain(*halves.values()):
        path.write_text("half")
    forget.erase(filled.course, GONE)
    assert {who: [path.exists() for path in paths] for who, paths in halves.items()} == {
        GONE: [False, False],
        "ben": [True, True],
    }


def test_a_backup_that_has_no_more_than_the_students_name_is_named(filled):
    with Gradebook(filled.course.gradebook.url) as gradebook:
        gradebook.update_or_create_student("zoe", first_name="Zoe", last_name="Absent", email="zoe@university.edu")
    for path in list_backups(filled.course):
        path.unlink()
    back_up(filled.course, "trial")
    (backup,) = list_backups(filled.course)
    with contextlib.closing(sqlite3.connect(filled.course.root / "own.db")) as connection:
        connection.execute("CREATE TABLE notes AS SELECT 'a' AS first, 'zoe' AS second, 'b' AS third")
        connection.commit()
    printed = succeed("forget", "zoe", "--yes", "--course", filled.course.root, status=3)
    assert "1 row of the gradebook" in printed
    assert printed.partition("Left to you")[2].splitlines()[1:] == ["  own.db", f"  .autograder/backups/{backup.name}"]
    assert "zoe" not in list_students(filled.course)


def test_it_refuses_while_the_exchange_is_away_because_nothing_else_knows_what_is_there(filled):
    before = files_of(filled)
    filled.hub.exchange.rename(filled.now / "elsewhere")
    done = autograder("forget", GONE, "--yes", "--course", filled.course.root)
    assert_refused(done, "it has no folder of this course", str(filled.hub.exchange), "mount it")
    (filled.now / "elsewhere").rename(filled.hub.exchange)
    assert files_of(filled).keys() - {"course/.autograder/watch.lock", "course/.autograder/lock"} <= before.keys()
    filled.course.config.write_text(filled.course.config.read_text().rpartition("c.Exchange.root")[0])
    forget.erase(filled.course, GONE)


def test_what_cannot_be_deleted_is_refused_before_the_record_goes_and_then_it_goes_on(filled, monkeypatch):
    unlink = os.unlink

    def refuse(path, **more):
        if path == "submission_secret.txt":
            raise PermissionError(13, "Permission denied", path)
        unlink(path, **more)

    with monkeypatch.context() as patch:
        patch.setattr(os, "unlink", refuse)
        done = autograder("forget", GONE, "--yes", "--course", filled.course.root)
    assert_refused(done, "it cannot be deleted (Permission denied)", "as its owner or as root")
    assert [event for event in filled.course.record.list_all() if event.student == GONE]
    forget.erase(filled.course, GONE)
    assert search(filled.now) == list_left(filled)


def test_a_name_in_another_spelling_of_unicode_is_the_same_student(filled):
    composed, decomposed = "rené", unicodedata.normalize("NFD", "rené")
    for name in (composed, decomposed):
        hand_in(filled.course, name, f"by {name}")
        filled.course.record.add("scoring", name, ("told", {"sentence": "no"}))
    forget.erase(filled.course, decomposed)
    assert not [path for path in (filled.course.root / "submitted").iterdir() if path.name.startswith("ren")]
    assert not [event for event in filled.course.record.list_all() if event.student.startswith("ren")]


def test_no_link_is_followed(filled, tmp_path):
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").write_text("kept")
    shutil.rmtree(filled.course.root / "autograded" / GONE)
    (filled.course.root / "autograded" / GONE).symlink_to(tmp_path / "precious")
    (filled.course.root / "submitted" / GONE / "scoring" / "link").symlink_to(tmp_path / "precious")
    forget.erase(filled.course, GONE)
    assert (tmp_path / "precious" / "file").read_text() == "kept"
    assert search(filled.now) == list_left(filled)


def test_a_student_of_whom_there_is_only_a_line_in_the_roster_is_known(tmp_path):
    course = init(tmp_path / "course")
    (course.root / "students.csv").write_text("id,name\nada_king,Ada King\n")
    (course.root / "course.toml").write_text('roster = "students.csv"\n')
    printed = succeed("forget", "ada_king", "--course", course.root)
    assert "nothing is there" in printed
    assert "students.csv, line 2" in printed
    assert not course.gradebook.file.exists()
    assert not course.record.path.exists()


def test_no_page_of_a_database_is_left_over(filled):
    course, long = filled.course, "zephyrquartz " * 5000
    course.record.add("scoring", GONE, ("told", {"sentence": long}))
    with Gradebook(course.gradebook.url) as gradebook:
        gradebook.find_comment(ESSAY, "scoring", "scoring", GONE).manual_comment = long
        gradebook.db.commit()
    forget.erase(course, GONE)
    for path in (course.record.path, course.gradebook.file):
        with contextlib.closing(sqlite3.connect(path)) as connection:
            assert connection.execute("PRAGMA freelist_count").fetchone() == (0,), path


def test_a_second_run_clears_what_a_killed_one_left_in_the_file(filled):
    record = filled.course.record
    number = record.add("scoring", "zoe", ("told", {"sentence": "long " * 20_000}))
    with contextlib.closing(sqlite3.connect(record.path)) as connection:  # as if killed after the transaction
        connection.execute("DROP TRIGGER never_deleted")
        connection.execute("DELETE FROM event WHERE number = ?", [number])
        connection.execute(NEVER_DELETED)
        connection.commit()
        assert connection.execute("PRAGMA freelist_count").fetchone() > (0,)
    with pytest.raises(CourseError, match="nobody has the id 'zoe'"):
        forget.erase(filled.course, "zoe")
    with contextlib.closing(sqlite3.connect(record.path)) as connection:
        assert connection.execute("PRAGMA freelist_count").fetchone() == (0,)
    assert is_protected(filled.course)


def test_the_record_erases_all_or_nothing_and_is_protected_again_after_an_error(tmp_path):
    record = Record(tmp_path)
    record.add("scoring", "ada", ("told", {"sentence": "one"}), ("told", {"sentence": "two"}))
    with pytest.raises(CourseError, match="cannot be used"):
        record.erase([1, object()])
    assert [event.number for event in record.list_all()] == [1, 2]
    assert is_protected(SimpleNamespace(record=record))
    record.erase([1])
    assert [event.number for event in record.list_all()] == [2]
    assert b"one" not in record.path.read_bytes()
    assert is_protected(SimpleNamespace(record=record))
    record.erase([2])
    assert record.add("scoring", "ben", ("told", {})) == 3  # no number is given twice


class Watched(sqlite3.Connection):
    """A connection of the record, whose statements are counted as writes."""

    def execute(self, *args):
        return super().execute(*args)

    def executemany(self, *args):
        return super().executemany(*args)


KINDS = (
    *WRITES,
    (os, "unlink"),
    (os, "rmdir"),
    (Watched, "execute"),
    (Watched, "executemany"),
    (sqlalchemy.Connection, "exec_driver_sql"),
)


@pytest.mark.parametrize("is_listed", [True, False])
def test_after_a_kill_at_any_kind_of_write_it_is_run_again_and_all_is_gone(
    filled, monkeypatch, pytestconfig, is_listed
):
    monkeypatch.setattr(sqlite3, "connect", functools.partial(sqlite3.connect, factory=Watched))
    counted = filled.now.parent / "writes"

    def put_back_unlisted():
        put_back(filled)
        if not is_listed:
            (filled.course.root / "students.csv").write_text("id\nben\ncem\n")
            (filled.course.root / "course.toml").write_text('roster = "students.csv"\n')

    command = functools.partial(forget.erase, filled.course, GONE)
    put_back_unlisted()
    rows, events = rows_of(filled.course), events_of(filled.course)
    assert not is_killed_at(0, command, counted, KINDS)
    wanted = rows_of(filled.course), events_of(filled.course), files_of(filled)
    left = search(filled.now)
    assert {path for path in left if "/backups/" not in path} <= OWN_FILES
    assert (rows, events) != wanted[:2]
    for number in choose_writes(counted, pytestconfig.getoption("--full")):
        put_back_unlisted()
        assert is_killed_at(number, command, counted, KINDS), number
        assert is_protected(filled.course), number
        if is_listed:  # what is half erased hinders nobody
            assert not grade_quickly(filled.course, "ben", grade_one=echo)["ben"].failed
        done = autograder("forget", GONE, "--yes", "--course", filled.course.root)
        assert done.returncode == 3 or (not is_listed and f"nobody has the id '{GONE}'" in done.stderr), done.stderr
        assert {path for path in search(filled.now) if "/backups/" not in path} == left & OWN_FILES, number
        assert {*list_students(filled.course)} == {"ben", "cem"}
        assert not [secret for secret in filled.secrets[GONE] if filled.hub.page(secret)], number
        assert not [event for event in filled.course.record.list_all() if event.student == GONE]
