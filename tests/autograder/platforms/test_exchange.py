"""In nbgrader's exchange students choose names and times, so only a folder's owner says whose work it is."""

import json
import os
import shutil
import zipfile
from datetime import UTC, datetime, timedelta

import pytest

from autograder.courses.submissions import list_submitters
from autograder.errors import CourseError
from autograder.platforms import archives
from autograder.platforms import formats as platforms
from autograder.platforms.attempts import Collection
from autograder.platforms.collect import collect, set_times
from tests.autograder.essays import enrol
from tests.autograder.platforms.test_collect import notebook
from tests.autograder.test_main import assert_refused, autograder

pytestmark = pytest.mark.suite("assignments")
ACCOUNTS = {"teacher": 30_000, "ada": 30_001, "mal": 30_002, "ben": 30_003}
NOON = "2025-11-29 12:00:00.000000 UTC"


@pytest.fixture
def submit(tmp_path, monkeypatch):
    """Return a function that hands in as nbgrader does, from an account; only root really changes the files' owner."""
    owners = {}
    monkeypatch.setattr(platforms, "login_of", {uid: name for name, uid in ACCOUNTS.items()}.__getitem__)
    if os.geteuid() != 0:
        monkeypatch.setattr(archives, "_owner_of", lambda entry: owners.get(entry.path, ACCOUNTS["teacher"]))

    def put(claims, account, text="by ada", when=NOON, files_of=""):
        folder = tmp_path / "exchange" / "attention" / "inbound" / f"{claims}+scoring+{when}+{account}"
        folder.mkdir(parents=True)
        (folder / "scoring.ipynb").write_text(notebook("scoring-additive_score", text=text))
        (folder / "timestamp.txt").write_text(when)
        for path in (folder, *folder.iterdir()):
            owners[str(path)] = ACCOUNTS[account if path == folder else files_of or account]
            if os.geteuid() == 0:
                os.chown(path, owners[str(path)], -1)
        return folder

    return put


def inbound(tmp_path):
    return tmp_path / "exchange" / "attention" / "inbound"


def text_of(course, student):
    return json.loads(course.submission(student, "scoring").read_text())["cells"][0]["source"]


def test_work_that_another_account_hands_in_is_set_aside_and_the_rightful_attempt_counts(course, submit, tmp_path):
    submit("ada", "ada")
    submit("ada", "mal", text="forged", when="2025-11-30 10:00:00.000000 UTC")
    collected, leftover = collect(course, "scoring", inbound(tmp_path))
    assert [(hand_in.student, bool(hand_in.problem)) for hand_in in collected] == [("ada", False), ("ada", True)]
    assert "claims to be ada's, but belongs to the account mal" in collected[1].problem
    assert (text_of(course, "ada"), leftover) == ("by ada", [])
    assert not course.feedback("ada", "scoring").exists()  # ada is not asked to hand in again


def test_a_file_that_another_account_puts_into_a_students_folder_is_none_of_theirs(course, submit, tmp_path):
    submit("ada", "ada", files_of="mal", text="forged", when="2025-11-30 10:00:00.000000 UTC")
    submit("ben", "mal", files_of="ben", text="a link to ben's own file")
    collected, _ = collect(course, "scoring", inbound(tmp_path))
    assert [hand_in.student for hand_in in collected if hand_in.problem] == ["ada", "ben"]
    assert list_submitters(course, "scoring") == []


def test_an_account_may_have_another_name_than_the_roster_gives_the_student(course, submit, tmp_path):
    enrol(course, "id,login\n123456,ada\n222222,ben\n")
    submit("123456", "ada")
    submit("222222", "ada", text="forged")
    collected, _ = collect(course, "scoring", inbound(tmp_path))
    assert [(hand_in.student, bool(hand_in.problem)) for hand_in in collected] == [("123456", False), ("222222", True)]


def test_a_time_in_the_future_is_set_aside_but_for_a_clock_that_is_a_little_fast(course, submit, tmp_path):
    def in_minutes(minutes):
        return f"{datetime.now(UTC) + timedelta(minutes=minutes):%Y-%m-%d %H:%M:%S.%f} UTC"

    submit("ada", "ada", text="in time", when=in_minutes(5))
    submit("ada", "ada", text="for ever", when=in_minutes(60))
    collected, _ = collect(course, "scoring", inbound(tmp_path))
    assert ["in the future" in hand_in.problem for hand_in in collected] == [False, True]
    assert text_of(course, "ada") == "in time"


def test_junk_in_the_exchange_is_listed_and_honest_work_collected(course, submit, tmp_path):
    submit("ada", "ada")
    submit("ben", "ben", text="by ben")
    for number in range(11):
        junk = inbound(tmp_path) / f"Ben Ito_{number}_assignsubmission_file"
        junk.mkdir()
        (junk / "scoring.ipynb").write_text("junk")
    for place, options in ((inbound(tmp_path), {}), (inbound(tmp_path).parent, {"platform": "exchange"})):
        collected, leftover = collect(course, "scoring", place, **options)
        assert [(hand_in.student, hand_in.problem) for hand_in in collected] == [("ada", ""), ("ben", "")]
        assert len(leftover) == 11
    assert (text_of(course, "ada"), text_of(course, "ben")) == ("by ada", "by ben")


def test_an_attempt_that_arrives_after_a_clock_went_back_counts_and_that_is_said(course, submit, tmp_path):
    submit("ada", "ada", text="before the clock went back")
    collect(course, "scoring", inbound(tmp_path))
    submit("ada", "ada", text="after it", when="2025-11-29 11:00:00.000000 UTC")
    later, before = [hand_in.note for hand_in in collect(course, "scoring", inbound(tmp_path))[0]]
    assert "claims an earlier time (2025-11-29 11:00" in later
    assert (before, text_of(course, "ada")) == ("an earlier attempt: kept, but not counted", "after it")
    notes = [hand_in.note for hand_in in collect(course, "scoring", inbound(tmp_path))[0]]
    assert (notes[0], text_of(course, "ada")) == ("unchanged", "after it")
    submit("ada", "ada", text="later still", when="2025-11-29 11:30:00.000000 UTC")
    collect(course, "scoring", inbound(tmp_path))
    assert text_of(course, "ada") == "later still"


def test_files_that_first_came_at_an_unknown_time_count_if_they_come_again_after_the_last_attempt(
    course, submit, tmp_path
):
    with zipfile.ZipFile(tmp_path / "canvas.zip", "w") as archive:
        archive.writestr("ada_7_3001_scoring.ipynb", notebook("scoring-additive_score", text="the first"))
    collect(course, "scoring", tmp_path / "canvas.zip")
    submit("ada", "ada", text="the second")
    collect(course, "scoring", inbound(tmp_path))
    (again,) = collect(course, "scoring", tmp_path / "canvas.zip")[0]
    assert (again.note, text_of(course, "ada")) == ("an earlier attempt: kept, but not counted", "the second")
    folder = submit("ada", "ada", text="the first", when="2025-11-29 13:00:00.000000 UTC")
    os.utime(folder / "scoring.ipynb", (0, 0))  # the students' machine had another clock
    collect(course, "scoring", inbound(tmp_path))
    assert text_of(course, "ada") == "the first"
    notes = [hand_in.note for hand_in in collect(course, "scoring", inbound(tmp_path))[0]]
    assert (notes[-1], text_of(course, "ada")) == ("unchanged", "the first")


def test_what_was_passed_over_because_its_files_had_come_before_is_so_again_whatever_time_is_stated(
    course, submit, tmp_path
):
    with zipfile.ZipFile(tmp_path / "canvas.zip", "w") as archive:
        archive.writestr("ada_7_3001_scoring.ipynb", notebook("scoring-additive_score", text="the first"))
    collect(course, "scoring", tmp_path / "canvas.zip")
    last = submit("ada", "ada", text="the second")
    collect(course, "scoring", inbound(tmp_path))
    folder = submit("ada", "ada", text="the first", when="2025-11-29 11:45:00.000000 UTC")
    os.utime(folder / "scoring.ipynb", (0, 0))
    collect(course, "scoring", inbound(tmp_path))
    assert text_of(course, "ada") == "the second"
    shutil.rmtree(last)
    set_times(course, "scoring", {"ada": datetime(2025, 11, 29, 11, 30, tzinfo=UTC)}, Collection(course, "scoring"))
    collect(course, "scoring", inbound(tmp_path))
    assert text_of(course, "ada") == "the second"


def test_an_archive_of_the_exchange_says_nothing_of_accounts_and_is_taken_only_if_that_is_wanted(
    course, submit, tmp_path
):
    submit("ada", "mal")
    path = shutil.make_archive(str(tmp_path / "inbound"), "zip", inbound(tmp_path))
    collected, _ = collect(course, "scoring", path)
    assert "does not say which account" in collected[0].problem
    assert list_submitters(course, "scoring") == []
    collected, _ = collect(course, "scoring", path, any_owner=True)
    assert [(hand_in.student, hand_in.problem) for hand_in in collected] == [("ada", "")]


def test_a_file_that_is_exchanged_while_it_is_collected_is_refused(submit, tmp_path):
    path = submit("ada", "ada") / "scoring.ipynb"
    with archives.open_archive(inbound(tmp_path), 100, 1) as entries:
        (entry,) = (entry for entry in entries if entry.name.endswith(".ipynb"))
        path.rename(path.with_name("away"))
        path.write_text("another")
        with pytest.raises(archives.RefusedEntry, match="was replaced"):
            entry.read()


@pytest.mark.parametrize(
    ("platform", "entry", "student"),
    [
        ("canvas", "kingada_17_3001_scoring.ipynb", "kingada"),
        ("moodle", "Ada King_101_assignsubmission_file/scoring.ipynb", "Ada King"),
        ("folder", "ada/scoring.ipynb", "ada"),
    ],
)
def test_a_platform_that_is_named_is_not_guessed(course, tmp_path, platform, entry, student):
    path = tmp_path / "class.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(entry, notebook("scoring-additive_score"))
        for number in range(5):
            archive.writestr(f"eve+scoring+2025-11-29 1{number}:00:00 UTC/scoring.ipynb", "junk")
    collected, _ = collect(course, "scoring", path, platform=platform)
    assert student in [hand_in.student for hand_in in collected if not hand_in.problem]


def test_a_platform_that_there_is_not_is_refused_in_words(course, tmp_path):
    done = autograder("collect", "scoring", tmp_path, "--platform", "canvass", "--course", course.root)
    assert_refused(done, "canvass", "canvas, moodle, gradescope")


def test_what_is_neither_a_file_nor_a_folder_is_refused(course):
    with pytest.raises(CourseError, match="neither a file nor a folder"):
        collect(course, "scoring", "/dev/zero")
