"""Everything in a platform's archive reaches its place, and one bad part affects nobody else's work."""

import errno
import io
import json
import os
import shutil
import stat
import subprocess
import sys
import zipfile
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from time import tzset
from types import SimpleNamespace

import pytest

from autograder.courses import standing
from autograder.courses.record import Record
from autograder.courses.submissions import list_submitters
from autograder.errors import CourseError
from autograder.files import write_bytes
from autograder.notebooks.handout import handout, receipt_of_file
from autograder.platforms import attempts
from autograder.platforms import collect as collecting
from autograder.platforms import formats as platforms
from autograder.platforms.archives import ArchiveEntry, RefusedEntry, open_archive
from autograder.platforms.attempts import Attempt, load_attempts
from autograder.platforms.collect import escape_unprintable
from autograder.platforms.times import format_time
from autograder.reports import tables
from autograder.sandbox import Limits
from tests.autograder.essays import enrol, grade_quickly
from tests.autograder.samples import read_files
from tests.autograder.test_main import assert_refused, autograder, succeed

pytestmark = pytest.mark.suite("assignments")


def collect(*args, **more):
    """Collect without checking which account owns the files; `test_exchange` covers that."""
    return collecting.collect(*args, **more, any_owner=True)


def entry(name, mode=stat.S_IFREG | 0o644, year=2025):
    info = zipfile.ZipInfo(name, date_time=(year, 1, 1, 0, 0, 0))
    info.external_attr = mode << 16
    info.compress_type = zipfile.ZIP_DEFLATED
    return info


def archive(*entries):
    """Return the bytes of a zip archive with ``entries``: (ZipInfo or name, content)."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as bundle:
        for name, content in entries:
            bundle.writestr(name if isinstance(name, zipfile.ZipInfo) else entry(name), content)
    return file.getvalue()


def handed_out(tmp_path, *entries):
    path = tmp_path / "class.zip"
    path.write_bytes(archive(*entries))
    return path


BAD = {
    "absolute": archive((entry("/etc/scoring.ipynb"), "{}")),
    "upwards": archive((entry("../../scoring.ipynb"), "{}")),
    "backslash": archive((entry("..\\..\\scoring.ipynb"), "{}")),
    "link": archive((entry("scoring.ipynb", stat.S_IFLNK | 0o777), "/etc/passwd")),
    "device": archive((entry("scoring.ipynb", stat.S_IFCHR | 0o666), "")),
    "bomb": archive((entry("scoring.ipynb"), b"0" * (40 * 2**20))),
    "nested": archive((entry("inner.zip"), archive((entry("scoring.ipynb"), "{}")))),
    "damaged": archive((entry("scoring.ipynb"), "x" * 5000))[:-200],
    "nothing": archive((entry("readme.txt"), "my notebook is on my laptop")),
    "text": b"this is no archive at all",
}


def test_a_folder_with_an_underscore_is_a_student_s(course, tmp_path):
    collected, left = collect(course, "scoring", handed_out(tmp_path, ("ada_king/scoring.ipynb", "of ada")))
    assert [(hand_in.student, hand_in.problem) for hand_in in collected] == [("ada_king", "")]
    assert course.submission("ada_king", "scoring").read_text() == "of ada"
    assert left == []


ENCLOSED = {
    "folders": ([], ["ada/scoring.ipynb", "ben_ito/my work.ipynb", "readme.txt"], ["ada", "ben_ito"]),
    "files of the roster": (["ada", "ben"], ["ada_scoring.ipynb", "ben_scoring.ipynb"], ["ada", "ben"]),
    "archives": ([], ["ada.zip", "ben.zip"], ["ada", "ben"]),
    "one of the roster": (["ada", "ben"], ["ada/scoring.ipynb"], ["ada"]),
    "a file of the roster": (["ada_k", "ben"], ["ada_k_my_work.ipynb"], ["ada_k"]),
    "files of ids of which one begins another": (
        ["ada", "ada_b"],
        ["ada_b_scoring.ipynb", "ada_scoring.ipynb"],
        ["ada", "ada_b"],
    ),
}


@pytest.mark.parametrize(("roster", "names", "students"), ENCLOSED.values(), ids=ENCLOSED)
@pytest.mark.parametrize("platform", ["", "folder"])
def test_an_archive_of_the_enclosing_folder_is_the_class_s(course, tmp_path, roster, names, students, platform):
    if roster:
        enrol(course, "id\n" + "\n".join(roster) + "\n")
    inner = archive(("scoring.ipynb", "a notebook"))
    entries = [(f"Submissions/{name}", inner if name.endswith(".zip") else name) for name in names]
    notices = []
    path = handed_out(tmp_path, ("__MACOSX/Submissions/._x", "a Mac's"), *entries)
    collected, _ = collect(course, "scoring", path, platform=platform, notice=notices.append)
    assert [(hand_in.student, hand_in.problem) for hand_in in collected] == [(name, "") for name in students]
    assert notices[0] == "recognised as files and folders, all of them in Submissions"


OWN_FOLDERS = {
    "of the roster": (["ada", "old"], ["ada/old/scoring.ipynb", "ada/new/scoring.ipynb"]),
    "with one notebook": ([], ["ada/unit one/scoring.ipynb"]),
    "with two drafts": ([], ["ada/my_scoring.ipynb", "ada/old_scoring.ipynb"]),
    "with checkpoints": ([], ["ada/.ipynb_checkpoints/scoring.ipynb", "ada/scoring/scoring.ipynb"]),
    "with its own file": ([], ["ada/scoring.ipynb"]),
}


@pytest.mark.parametrize(("roster", "names"), OWN_FOLDERS.values(), ids=OWN_FOLDERS)
def test_a_single_student_s_folder_is_not_taken_for_the_class_s(course, tmp_path, roster, names):
    if roster:
        enrol(course, "id\n" + "\n".join(roster) + "\n")
    collected, _ = collect(course, "scoring", handed_out(tmp_path, *((name, "same") for name in names)))
    assert {hand_in.student for hand_in in collected} == {"ada"}


def test_a_folder_is_not_the_class_s_because_a_file_begins_with_the_letters_of_an_id(course, tmp_path):
    enrol(course, "id\nada\nben\n")
    (hand_in,), _ = collect(course, "scoring", handed_out(tmp_path, ("homework/adaptive.ipynb", "whose?")))
    assert "homework is not in the roster" in hand_in.problem


def test_in_a_drop_folder_a_student_s_folders_are_the_student_s(course, tmp_path):
    for name in ("ben", "cem"):
        write_bytes(b"forged", tmp_path / "drop" / "ada" / name / "scoring.ipynb")
    collected, _ = collect(course, "scoring", tmp_path / "drop", only=["ada"])
    assert {hand_in.student for hand_in in collected} == {"ada"}


def test_notebooks_come_to_their_places_under_the_name_that_nbgrader_wants(course, tmp_path):
    path = handed_out(
        tmp_path,
        ("ada/my notebook (2).ipynb", "of ada"),
        ("ben_123_late_scoring.ipynb", "of ben"),
        ("cem.zip", archive(("scoring.ipynb", "of cem"))),
        ("readme.txt", "by the platform"),
    )
    collected, leftover = collect(course, "scoring", path)
    assert [(hand_in.student, hand_in.problem) for hand_in in collected] == [
        (name, "") for name in ("ada", "ben", "cem")
    ]
    assert leftover == ["readme.txt"]
    texts = [course.submission(name, "scoring").read_text() for name in ("ada", "ben", "cem")]
    assert texts == ["of ada", "of ben", "of cem"]


def notebook(*grade_ids, text=""):
    cells = [
        {"cell_type": "code", "source": text, "outputs": [], "metadata": {"nbgrader": {"grade_id": grade_id}}}
        for grade_id in grade_ids
    ]
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells})


OURS, OTHER = notebook("scoring-additive_score", text="ours"), notebook("softmax-masked_softmax")
BESIDE_IT = {
    "what a Mac adds": (["__MACOSX/ada/._scoring.ipynb", "ada/._scoring.ipynb", "ada/.DS_Store"], []),
    "checkpoints": (["ada/.ipynb_checkpoints/scoring-checkpoint.ipynb", "ada/scoring-checkpoint.ipynb"], []),
    "another assignment": (["ada/softmax.ipynb"], ["ada/softmax.ipynb"]),
    "a draft": (["ada/draft of scoring.ipynb"], ["ada/draft of scoring.ipynb"]),
}


CALLED = ["scoring.ipynb", "Scoring.ipynb", "scoring-1.ipynb", "scoring (1).ipynb", "my_scoring.ipynb"]


@pytest.mark.parametrize(("names", "named"), BESIDE_IT.values(), ids=BESIDE_IT)
@pytest.mark.parametrize(("called", "zipped"), [*((called, False) for called in CALLED), (CALLED[0], True)])
def test_what_lies_beside_the_notebook_does_not_replace_it_whatever_its_date(
    course, tmp_path, names, named, called, zipped
):
    parts = [(f"ada/{called}", OURS), *((entry(name, year=2027), OTHER) for name in names)]
    if zipped:
        parts = [("ada.zip", archive(*parts))]
    collected, leftover = collect(course, "scoring", handed_out(tmp_path, *parts))
    assert [(hand_in.student, hand_in.problem) for hand_in in collected] == [("ada", "")]
    assert course.submission("ada", "scoring").read_text() == OURS
    assert leftover == [f"ada.zip/{name}" if zipped else name for name in named]


def test_of_several_notebooks_the_one_that_holds_the_assignment_counts(course, tmp_path):
    parts = ("ada/one.ipynb", OTHER), ("ada/two.ipynb", OURS), (entry("ada/three.ipynb", year=2027), "broken")
    collected, leftover = collect(course, "scoring", handed_out(tmp_path, *parts))
    assert not collected[0].problem
    assert course.submission("ada", "scoring").read_text() == OURS
    assert leftover == ["ada/one.ipynb", "ada/three.ipynb"]


def test_a_notebook_counts_before_one_that_a_browser_saved_as_text(course, tmp_path):
    parts = ("ada/scoring.ipynb", OURS), ("ada/my_scoring.ipynb.txt", OURS.replace("ours", "saved"))
    collected, _ = collect(course, "scoring", handed_out(tmp_path, *parts))
    assert collected[0].problem == ""
    assert course.submission("ada", "scoring").read_text() == OURS


def test_the_same_notebook_twice_is_one(course, tmp_path):
    parts = ("ada/scoring.ipynb", OURS), ("ada/scoring (1).ipynb", OURS)
    collected, leftover = collect(course, "scoring", handed_out(tmp_path, *parts))
    assert not collected[0].problem
    assert leftover == []


@pytest.mark.parametrize("years", [(2025, 2026), (2026, 2025)])
def test_of_two_entries_of_one_name_the_one_with_the_later_date_counts(course, tmp_path, years):
    parts = [(entry("ada/scoring.ipynb", year=year), OURS.replace("ours", f"of {year}")) for year in years]
    with pytest.warns(UserWarning, match="Duplicate name"):
        path = handed_out(tmp_path, *parts)
    collected, _ = collect(course, "scoring", path)
    assert [hand_in.problem for hand_in in collected] == [""]
    assert "of 2026" in course.submission("ada", "scoring").read_text()


UNCLEAR = {
    "two versions": (("scoring.ipynb", OURS), (entry("scoring (1).ipynb", year=2027), OURS.replace("ours", "later"))),
    "two without a name": (("old.ipynb", OURS), (entry("new.ipynb", year=2027), OURS.replace("ours", "later"))),
    "none of them": (("one.ipynb", OTHER), ("two.ipynb", "broken")),
    "a checkpoint alone": (("scoring-checkpoint.ipynb", OURS),),
    "too many": [(f"{number}.ipynb", OURS) for number in range(30)],
}


@pytest.mark.parametrize("parts", UNCLEAR.values(), ids=UNCLEAR)
def test_where_it_is_not_clear_which_notebook_counts_it_is_set_aside_and_not_guessed(course, tmp_path, parts):
    collected, _ = collect(course, "scoring", handed_out(tmp_path, ("ada.zip", archive(*parts))))
    assert [hand_in.student for hand_in in collected] == ["ada"]
    assert "it is unclear which" in collected[0].problem or "no notebook" in collected[0].problem
    assert not course.submission("ada", "scoring").exists()
    assert "Remedy" in course.feedback("ada", "scoring").read_text(encoding="utf-8")


def test_a_name_that_all_may_have_is_nobodys(course, tmp_path):
    names = ["scoring.ipynb", "scoring (2).ipynb", "decoder_fusion.ipynb"]
    collected, leftover = collect(course, "scoring", handed_out(tmp_path, *((name, OURS) for name in names)))
    assert collected == []
    assert leftover == names


TWO_OWNERS = [
    ("lovelaceada_123_456_scoring.ipynb", "lovelaceada_789_457_scoring.ipynb"),
    ("lovelaceada_LATE_123_456_scoring.ipynb", "lovelaceada_789_457_scoring.zip"),
    ("Ada Lovelace_123_assignsubmission_file_/scoring.ipynb", "Ada Lovelace_789_assignsubmission_file_/scoring.ipynb"),
    ("Ada/scoring.ipynb", "ada/scoring.ipynb"),
    ("José/scoring.ipynb", "Jose\u0301/scoring.ipynb"),
    ("Strauß_scoring.ipynb", "STRAUSS_scoring.ipynb"),
]


@pytest.mark.parametrize(("first", "second"), TWO_OWNERS)
def test_two_people_of_one_name_are_both_set_aside_and_nothing_is_written_for_them(course, tmp_path, first, second):
    before = everything(course)
    collected, _ = collect(course, "scoring", handed_out(tmp_path, (first, OURS), (second, OURS)))
    assert len(collected) == 2
    assert all(first in hand_in.problem and second in hand_in.problem for hand_in in collected)
    assert everything(course) == before
    assert [event.kind for event in course.record.events("scoring", None, (*attempts.KINDS, standing.TOLD))] == []


def test_a_name_that_is_too_much_like_one_in_the_course_is_set_aside(course, tmp_path):
    collect(course, "scoring", handed_out(tmp_path, ("Ada/scoring.ipynb", OURS)))
    before = everything(course)
    collected, _ = collect(course, "scoring", handed_out(tmp_path, ("ada/scoring.ipynb", OURS)))
    assert "submitted/Ada" in collected[0].problem
    assert everything(course) == before


def test_several_files_of_one_person_have_one_owner(course, tmp_path):
    parts = ("lovelaceada_123_456_scoring-1.ipynb", OURS), ("lovelaceada_123_457_softmax.ipynb", OTHER)
    collected, leftover = collect(course, "scoring", handed_out(tmp_path, *parts))
    assert [(hand_in.student, hand_in.problem) for hand_in in collected] == [("lovelaceada", "")]
    assert leftover == ["lovelaceada_123_457_softmax.ipynb"]


NAMES = {
    "files and folders": {
        "é/scoring.ipynb": "é",
        "Jose\u0301_scoring.ipynb": "José",
        "तर्क/scoring.ipynb": "तर्क",
        "محمد/scoring.ipynb": "محمد",
        "O'Brien_scoring.ipynb": "O'Brien",
    },
    "Canvas": {"李小龍_1_2_scoring.ipynb": "李小龍", "öz_3_4_scoring.ipynb": "öz"},
    "Moodle": {
        "Ada King_4_assignsubmission_file_/scoring.ipynb": "Ada King",
        "Bea King_5_assignsubmission_file_scoring.ipynb": "Bea King",
    },
}


@pytest.mark.parametrize("names", NAMES.values(), ids=NAMES)
def test_names_of_any_script_are_taken(course, tmp_path, names):
    collected, leftover = collect(course, "scoring", handed_out(tmp_path, *((name, OURS) for name in names)))
    assert {hand_in.student: hand_in.problem for hand_in in collected} == dict.fromkeys(names.values(), "")
    assert leftover == []
    assert list_submitters(course, "scoring") == sorted(names.values())


def test_a_name_in_an_archive_of_a_mac_is_read_as_it_was_written(course, tmp_path):
    plain = archive(("Pe_ter/scoring.ipynb", OURS)).replace(b"Pe_ter", "Käte".encode() + b"r")
    (tmp_path / "class.zip").write_bytes(plain)  # UTF-8, but without the flag for it
    collected, _ = collect(course, "scoring", tmp_path / "class.zip")
    assert [hand_in.student for hand_in in collected] == ["Käter"]


@pytest.mark.parametrize("name", BAD)
def test_a_bad_part_is_set_aside_with_a_page_and_stops_nobody(course, tmp_path, name):
    before = sorted(tmp_path.rglob("*"))
    path = handed_out(tmp_path, ("eve.zip", BAD[name]), ("ada.ipynb", "of ada"))
    collected, _ = collect(course, "scoring", path)
    assert [(hand_in.student, bool(hand_in.problem)) for hand_in in collected] == [("ada", False), ("eve", True)]
    assert "Remedy" in course.feedback("eve", "scoring").read_text(encoding="utf-8")
    assert not course.submission("eve", "scoring").exists()
    new = {path.name for path in tmp_path.rglob("*") if path not in before}
    assert new == {
        "class.zip",
        "ada",
        "eve",
        "scoring",
        "scoring.ipynb",
        "scoring.html",
        "feedback",
        "record.db",
    }


@pytest.mark.parametrize("name", ["../eve/scoring.ipynb", "/eve/scoring.ipynb", "..\\eve\\scoring.ipynb"])
def test_an_entry_that_leads_out_is_not_written(course, tmp_path, name):
    collected, _ = collect(course, "scoring", handed_out(tmp_path, (entry(name), "{}"), ("ada.ipynb", "of ada")))
    assert {hand_in.student: bool(hand_in.problem) for hand_in in collected} == {"eve": True, "ada": False}


NO_NAMES = [".git", "x" * 200, "\u092e" * 60, " ada", "ada ", "a\tb", "a\x1b[2Jb", "a\u202eb", "a\u200bb"]
NO_NAMES += ["a*", "a?b", "a:b", "~", "_ada", "-rf", "--course=x"]


@pytest.mark.parametrize("student", NO_NAMES)
def test_a_name_that_is_no_name_of_a_student_is_listed(course, tmp_path, student):
    collected, leftover = collect(course, "scoring", handed_out(tmp_path, (f"{student}/scoring.ipynb", "{}")))
    assert collected == []
    assert leftover == [f"{student}/scoring.ipynb"]
    assert escape_unprintable(leftover[0]).isprintable()


def test_what_was_handed_in_before_is_kept(course, tmp_path):
    collect(course, "scoring", handed_out(tmp_path, ("ada.ipynb", "first")))
    collected, _ = collect(course, "scoring", handed_out(tmp_path, ("ada.ipynb", "second")))
    assert collected[0].replaced
    (earlier_file,) = (course.root / ".autograder" / "earlier" / "ada" / "scoring").iterdir()
    assert earlier_file.read_text() == "first"
    assert course.submission("ada", "scoring").read_text() == "second"


def test_an_archive_that_cannot_be_read_is_named(course, tmp_path):
    path = tmp_path / "class.zip"
    with pytest.raises(CourseError, match="no such archive"):
        collect(course, "scoring", path)
    path.write_text("no archive")
    with pytest.raises(CourseError, match="not a readable zip archive"):
        collect(course, "scoring", path)


def test_the_exit_status_says_that_something_was_set_aside(course, tmp_path):
    path = handed_out(tmp_path, ("eve.zip", BAD["bomb"]), ("ada.ipynb", "{}"))
    output = succeed("collect", "scoring", path, "--course", course.root, status=3)
    assert "1 collected (0 replaced), 1 set aside, 0 not collected" in output


def test_an_archive_without_a_notebook_is_named_and_nothing_comes_next(course, tmp_path):
    path = handed_out(tmp_path, ("readme.txt", "by the platform"))
    output = succeed("collect", "scoring", path, "--course", course.root, status=3)
    assert f"There is no notebook in {path}: is this what you downloaded?" in output
    assert "Next:" not in output


def test_a_notebook_alone_is_refused_with_the_folder_that_can_be_collected(course, tmp_path):
    path = tmp_path / "ben.ipynb"
    path.write_bytes(course.releases("scoring").file.read_bytes())
    assert_refused(autograder("collect", "scoring", path, "--course", course.root), "ben/scoring.ipynb")
    (tmp_path / "class" / "ben").mkdir(parents=True)
    path.rename(tmp_path / "class" / "ben" / "scoring.ipynb")
    succeed("collect", "scoring", tmp_path / "class", "--course", course.root)
    assert list_submitters(course, "scoring") == ["ben"]


@pytest.mark.parametrize(("args", "words"), [([], "collect scoring ARCHIVE"), (["x.zip", "--undo"], "--undo alone")])
def test_what_to_collect_must_be_clear(course, args, words):
    assert_refused(autograder("collect", "scoring", *args, "--course", course.root), words)


def test_the_exit_status_says_that_a_notebook_was_left_over_and_names_each(course, tmp_path):
    strange = [f"_a{number}/scoring.ipynb" for number in range(25)]
    path = handed_out(tmp_path, ("ada.ipynb", "{}"), *((name, "{}") for name in strange), ("x\x1b[2J/y.ipynb", "{}"))
    output = succeed("collect", "scoring", path, "--course", course.root, status=3)
    assert all(f"not collected: {name}" in output for name in strange)
    assert "\x1b" not in output
    other = handed_out(tmp_path, ("ada.ipynb", "{}"), ("readme.txt", "by the platform"))
    succeed("collect", "scoring", other, "--course", course.root)


IN_ADAS = ["", "/scoring", "/scoring/scoring.ipynb", "/scoring/scoring.ipynb.draft"]
LINKS = [f"submitted/ada{below}" for below in IN_ADAS]


@pytest.mark.parametrize("link", LINKS)
def test_nothing_is_written_through_a_link_below_submitted(course, tmp_path, link):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "scoring").mkdir()
    (elsewhere / "scoring" / "scoring.ipynb").write_text("of somebody else")
    (course.root / link).parent.mkdir(parents=True, exist_ok=True)
    (course.root / link).symlink_to(elsewhere if link.count("/") < 3 else elsewhere / "scoring" / "scoring.ipynb")
    path = handed_out(tmp_path, ("ada.ipynb", OURS), ("ben.ipynb", OURS))
    collected, _ = collect(course, "scoring", path)
    assert {hand_in.student: f"{link} is a link" in hand_in.problem for hand_in in collected} == {
        "ada": True,
        "ben": False,
    }
    assert [file.read_text() for file in elsewhere.rglob("*.*")] == ["of somebody else"]


def test_a_link_in_place_of_submitted_or_of_a_feedback_folder_is_not_followed(course, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (course.root / "feedback").symlink_to(elsewhere)
    collected, _ = collect(course, "scoring", handed_out(tmp_path, ("eve.zip", BAD["bomb"])))
    assert collected[0].problem
    shutil.rmtree(course.root / "submitted")
    (course.root / "submitted").symlink_to(elsewhere)
    with pytest.raises(CourseError, match="submitted is a link"):
        collect(course, "scoring", handed_out(tmp_path, ("ada.ipynb", OURS)))
    assert list(elsewhere.iterdir()) == []


def test_what_stands_in_the_way_stops_nobody_else(course, tmp_path):
    (course.root / "submitted" / "ada").mkdir(parents=True)
    (course.root / "submitted" / "ada" / "scoring").write_text("a file where a folder should be")
    course.submission("ben", "scoring").mkdir(parents=True)
    path = handed_out(tmp_path, *((f"{name}.ipynb", OURS) for name in ("ada", "ben", "cem")))
    collected, _ = collect(course, "scoring", path)
    assert {hand_in.student: "in the way" in hand_in.problem for hand_in in collected} == {
        "ada": True,
        "ben": True,
        "cem": False,
    }


def test_a_full_disk_ends_with_a_sentence_and_a_second_run_completes(course, tmp_path, monkeypatch):
    path = handed_out(tmp_path, *((f"{name}.ipynb", OURS) for name in ("ada", "ben", "cem")))
    written = []

    def full(content, place):
        if len(written) == 1:
            raise OSError(errno.ENOSPC, "No space left on device", str(place))
        written.append(place)
        write_bytes(content, place)

    with monkeypatch.context() as patched:
        patched.setattr("autograder.platforms.attempts.write_bytes", full)
        with pytest.raises(CourseError, match="No space left on device"):
            collect(course, "scoring", path)
    assert list_submitters(course, "scoring") == ["ada"]
    collected, _ = collect(course, "scoring", path)
    assert [(hand_in.problem, hand_in.replaced) for hand_in in collected] == [("", False)] * 3
    assert list_submitters(course, "scoring") == ["ada", "ben", "cem"]
    assert not list(course.root.rglob("*.draft"))


def test_a_page_on_what_was_graded_stays_when_what_comes_after_it_is_set_aside(course, tmp_path):
    page = course.feedback("eve", "scoring")
    page.parent.mkdir(parents=True)
    page.write_text("<body>graded</body>")
    course.record.add("scoring", "eve", (standing.GRADED, {"mark": "x"}))
    collected, _ = collect(course, "scoring", handed_out(tmp_path, ("eve.zip", BAD["bomb"])))
    assert collected[0].problem
    assert page.read_text().endswith("graded</body>")
    assert "was not graded" in page.read_text()


ROSTER = "id,name,email,canvas,login,gradescope,group\n"
ROSTER += "ada,Ada King,ada@university.edu,17,aking,900100,\nben_i,Ben Ito,ben@university.edu,18,bito,900101,Group 1\n"
ROSTER += "cem,Cem Öz,cem@university.edu,19,coez,900102,\n"
DUE = (
    "[assignment.scoring]\ndue = 2025-11-30T23:00:00Z\n[assignment.scoring.extensions]\nben_i = 2025-12-02T23:00:00Z\n"
)
METADATA = """---
submission_501:
  :submitters:
  - :name: Ada King
    :sid: '900100'
    :email: elsewhere@home.org
  - :name: Cem Öz
    :sid: '900102'
    :email: cem@university.edu
  :created_at: !ruby/object:ActiveSupport::TimeWithZone
    utc: &1 2025-11-30 22:59:00.123456789 Z
    zone: !ruby/object:ActiveSupport::TimeZone
      name: America/New_York
    time: *1
  :score: 3.0
submission_502:
  :submitters:
  - :name: Ben Ito
    :sid:
    :email: ben@university.edu
  :created_at: 2025-12-01 00:59:00.5 -05:00
submission_503:
  :submitters:
  - :name: Nobody Known
    :sid: '1'
    :email: nobody@home.org
  :created_at: 2025-11-30 00:00:00 Z
"""
GRADESCOPE = "assignment_7_export/"
HANDED_OUT = {  # archive -> (names of its files, student -> time in timestamp.txt)
    "Canvas": (
        ("kingada_17_3001_scoring-1.ipynb", "itobenjamin_LATE_18_3002_scoring.ipynb", "özcem_19_3003_scoring.ipynb"),
        {"ada": "", "ben_i": "2025-12-02 23:00:01.000000 UTC", "cem": ""},
    ),
    "Canvas, in a folder": (
        ("submissions/kingada_LATE_17_3001_scoring.ipynb", "submissions/18_3002_scoring.ipynb"),
        {"ada": "2025-11-30 23:00:01.000000 UTC", "ben_i": ""},
    ),
    "Canvas, anonymous": (
        ("anon_aB3xY_3001_scoring.ipynb", "LATE_anon_Zz9bC_3002_scoring.ipynb"),
        {"anon-aB3xY": "", "anon-Zz9bC": "2025-11-30 23:00:01.000000 UTC"},
    ),
    "Moodle": (
        ("Ada King_101_assignsubmission_file/scoring.ipynb", "Group 1-Ben Ito_102_assignsubmission_file_/x.ipynb"),
        {"ada": "", "ben_i": ""},
    ),
    "Moodle, flat": (("Ada King_101_assignsubmission_file_scoring.ipynb",), {"ada": ""}),
    "Moodle, blind": (
        ("Participant_101_assignsubmission_file_scoring.ipynb", "Participant_102_assignsubmission_file_x.ipynb"),
        {"Participant-101": "", "Participant-102": ""},
    ),
    "Gradescope": (
        (f"{GRADESCOPE}submission_501/scoring.ipynb", f"{GRADESCOPE}submission_502/scoring.ipynb"),
        {
            "ada": "2025-11-30 22:59:00.123456 UTC",
            "cem": "2025-11-30 22:59:00.123456 UTC",
            "ben_i": "2025-12-01 05:59:00.500000 UTC",
        },
    ),
    "nbgrader's exchange": (
        (
            "ada+scoring+2025-11-30 22:00:00 UTC+x-_1/scoring.ipynb",
            "ben_i+scoring+2025-12-01 22:00:00 UTC/scoring.ipynb",
        ),
        {"ada": "2025-11-30 22:00:00.000000 UTC", "ben_i": "2025-12-01 22:00:00.000000 UTC"},
    ),
    "files and folders": (
        ("ADA/scoring.ipynb", "ben_i_scoring.ipynb", "coez.ipynb"),
        {"ada": "", "ben_i": "", "cem": ""},
    ),
}


def with_a_roster(course):
    enrol(course, ROSTER, f'roster = "students.csv"\n{DUE}')
    return course


def times(course):
    """Return when each student handed in, as ``timestamp.txt`` says; "" without one."""
    stamps = {}
    for student in list_submitters(course, "scoring"):
        stamp = course.submission(student, "scoring").with_name("timestamp.txt")
        stamps[student] = stamp.read_text() if stamp.exists() else ""
    return stamps


def entries_of(name):
    names, expected = HANDED_OUT[name]
    beside = [(f"{GRADESCOPE}submission_metadata.yml", METADATA)] if name == "Gradescope" else []
    return [(entry_name, f"of {entry_name}") for entry_name in names] + beside, expected


@pytest.mark.parametrize("name", HANDED_OUT)
@pytest.mark.parametrize("as_folder", [False, True])
def test_each_platform_is_known_by_its_names_and_the_roster_says_who_it_is_here(course, tmp_path, name, as_folder):
    parts, expected = entries_of(name)
    path = handed_out(tmp_path, *parts)
    if as_folder:
        with zipfile.ZipFile(path) as bundle:
            bundle.extractall(tmp_path / "folder")
        path = tmp_path / "folder"
    notices = []
    collected, leftover = collect(with_a_roster(course), "scoring", path, notice=notices.append)
    assert notices == [f"recognised as {name.partition(',')[0]}"]
    assert {hand_in.student: hand_in.problem for hand_in in collected} == dict.fromkeys(expected, "")
    assert leftover == []
    assert times(course) == expected


def test_a_late_try_says_so_in_the_table(course, tmp_path):
    path = handed_out(tmp_path, ("kingada_LATE_17_3009_scoring.ipynb", "first"))
    (hand_in,), _ = collect(with_a_roster(course), "scoring", path)
    assert hand_in.note == "late, by an unknown amount"
    parts, _ = entries_of("Gradescope")
    collected, _ = collect(course, "scoring", handed_out(tmp_path, *parts))
    notes = {hand_in.student: hand_in.note for hand_in in collected}
    assert notes == {"ada": "replaces an earlier attempt", "cem": "", "ben_i": ""}  # Ben has an extension
    path = handed_out(tmp_path, ("ada+scoring+2025-12-02 01:00:00 UTC/scoring.ipynb", "last"))
    (hand_in,), _ = collect(course, "scoring", path)
    assert hand_in.note == "late by 1 d 2 h, replaces 2 earlier attempts"


MOODLE = "Ada King_101_assignsubmission_file/scoring.ipynb", "Cem Öz_102_assignsubmission_file/scoring.ipynb"
UNKNOWN = "no time, so they do not count as late. Give the times with `python -m autograder collect scoring --times FILE --course "


@pytest.mark.parametrize(
    ("names", "rule", "line"),
    [
        (MOODLE, "percent_a_day = 10", f"2 hand-ins have {UNKNOWN}"),
        (MOODLE[:1], "percent_a_day = 10", "1 hand-in has no time, so it does not count as late."),
        (MOODLE, "grace_minutes = 10", ""),  # being late costs nothing
        (HANDED_OUT["Canvas"][0], "percent_a_day = 10", ""),  # Canvas says who is late
    ],
)
def test_hand_ins_without_a_time_are_counted_where_being_late_costs_points(course, tmp_path, names, rule, line):
    enrol(course, ROSTER, f'roster = "students.csv"\n[late]\n{rule}\n{DUE}')
    path = handed_out(tmp_path, *((name, name) for name in names))
    output = succeed("collect", "scoring", path, "--course", course.root)
    assert line in output
    assert ("no time" in output) == bool(line)


def test_who_is_not_in_the_roster_is_listed_and_never_takes_the_place_of_one_who_is(course, tmp_path):
    names = ["ada_999_3001_scoring.ipynb", "kingada_17_3002_scoring.ipynb", "-rf_5_3003_scoring.ipynb"]
    collected, _ = collect(with_a_roster(course), "scoring", handed_out(tmp_path, *((name, name) for name in names)))
    assert {hand_in.file: bool(hand_in.problem) for hand_in in collected} == dict(
        zip(names, [True, False, True], strict=True)
    )
    assert "ada (999) is not in the roster" in next(
        hand_in.problem for hand_in in collected if hand_in.file == names[0]
    )
    assert course.submission("ada", "scoring").read_text() == names[1]
    assert list_submitters(course, "scoring") == ["ada"]
    metadata = (f"{GRADESCOPE}submission_metadata.yml", METADATA)
    path = handed_out(tmp_path, metadata, (f"{GRADESCOPE}submission_503/scoring.ipynb", "of nobody"))
    (hand_in,), _ = collect(course, "scoring", path)
    assert "nobody@home.org (1) is not in the roster" in hand_in.problem


def test_two_of_one_full_name_are_not_guessed_apart(course, tmp_path):
    with_a_roster(course)
    (course.root / "students.csv").write_text("id,name\nada,Ada King\nada2,ada king\n")
    (hand_in,), _ = collect(
        course, "scoring", handed_out(tmp_path, ("Ada King_1_assignsubmission_file_/scoring.ipynb", "?"))
    )
    assert "matches 2 students in the roster" in hand_in.problem
    assert list_submitters(course, "scoring") == []


def everything(course):
    """Return all files of ``course`` with their bytes and, in place of its record, the attempts that count by student."""
    files = read_files(course.root)
    files.pop(course.record.path, None)
    students = {event.student for event in course.record.events("scoring", None, attempts.KINDS)}
    known = {student: load_attempts(course, student, "scoring") for student in sorted(students)}
    return files | {student: tries for student, tries in known.items() if tries}


@pytest.mark.parametrize("name", HANDED_OUT)
def test_the_same_archive_twice_comes_to_the_same_files(course, tmp_path, name):
    parts, _ = entries_of(name)
    path = handed_out(tmp_path, *parts)
    collect(with_a_roster(course), "scoring", path)
    before = everything(course)
    collected, _ = collect(course, "scoring", path)
    assert all("unchanged" in hand_in.note for hand_in in collected)
    assert everything(course) == before


def kept(course, student):
    return sorted(path.read_text() for path in course.root.glob(f".autograder/earlier/{student}/scoring/*"))


TRIES = {
    "of the exchange": [
        ("ada+scoring+2025-11-28 10:00:00 UTC/scoring.ipynb", "first"),
        ("ada+scoring+2025-11-29 10:00:00 UTC/scoring.ipynb", "second"),
        ("ada+scoring+2025-11-30 10:00:00 UTC/scoring.ipynb", "third"),
    ],
    "of Canvas": [
        ("kingada_17_90_scoring.ipynb", "first"),
        ("kingada_LATE_17_200_scoring-1.ipynb", "second"),
        ("kingada_17_1000_scoring-2.ipynb", "third"),
    ],
    "by the dates of the archives": [
        (entry("ada/scoring.ipynb", year=2026), "first"),
        (entry("ada/scoring.ipynb", year=2027), "second"),
        (entry("ada/scoring.ipynb", year=2028), "third"),
    ],
}


@pytest.mark.parametrize("name", TRIES)
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0), (0, 1, 2, 0, 1)])
def test_every_try_is_kept_and_the_last_in_time_counts_in_whatever_order_they_come(course, tmp_path, name, order):
    with_a_roster(course)
    for number in order:
        collect(course, "scoring", handed_out(tmp_path, TRIES[name][number]))
    assert course.submission("ada", "scoring").read_text() == "third"
    assert kept(course, "ada") == ["first", "second"]
    last = "2025-11-30 10:00:00.000000 UTC" if name == "of the exchange" else ""
    assert times(course) == {"ada": last}


def test_tries_of_one_archive_are_told_apart(course, tmp_path):
    with_a_roster(course)
    collected, leftover = collect(course, "scoring", handed_out(tmp_path, *TRIES["of the exchange"][::-1]))
    assert [hand_in.note for hand_in in collected] == ["", "replaces an earlier attempt", "replaces 2 earlier attempts"]
    assert (course.submission("ada", "scoring").read_text(), kept(course, "ada"), leftover) == (
        "third",
        ["first", "second"],
        [],
    )


def of_the_exchange(time, notebook="scoring.ipynb", text="the same"):
    """Return the entries of one attempt in nbgrader's exchange, with the secret by which its feedback goes back."""
    folder = f"ada+scoring+{time}+x"
    return [
        (f"{folder}/{notebook}", text),
        (f"{folder}/timestamp.txt", time),
        (f"{folder}/submission_secret.txt", f"of {time}"),
    ]


EARLIER, LATER = "2025-11-28 10:00:00.000000 UTC", "2025-11-29 10:00:00.000000 UTC"


@pytest.mark.parametrize("order", [(EARLIER, LATER), (LATER, EARLIER)])
def test_beside_a_notebook_of_the_exchange_stand_time_and_secret_of_the_last_try(course, tmp_path, order):
    for time in order:
        _, leftover = collect(course, "scoring", handed_out(tmp_path, *of_the_exchange(time)))
        assert leftover == []
    beside = course.submission("ada", "scoring").with_name("submission_secret.txt")
    assert (times(course), beside.read_text()) == ({"ada": LATER}, f"of {LATER}")
    collect(course, "scoring", handed_out(tmp_path, (entry("ada/scoring.ipynb", year=2027), "another")))
    assert not beside.exists()  # a page for work sent another way does not go back through the exchange


def test_a_page_for_who_has_to_hand_in_again_can_go_back_through_the_exchange(course, tmp_path):
    collected, _ = collect(course, "scoring", handed_out(tmp_path, *of_the_exchange(LATER, "scoring.zip")))
    assert [hand_in.problem for hand_in in collected] == ["the archive is damaged"]
    page = course.feedback("ada", "scoring")
    assert "the archive is damaged" in page.read_text()
    beside = [page.with_name(name).read_text() for name in ("timestamp.txt", "submission_secret.txt")]
    assert beside == [LATER, f"of {LATER}"]


def inbound(folder, name):
    """Make the folder of an attempt in nbgrader's exchange, without the file that holds the answer; return it."""
    place = folder / f"{name}+scoring+{LATER}+x"
    place.mkdir(parents=True)
    (place / "timestamp.txt").write_text(LATER)
    return place


@pytest.mark.parametrize("spoilt", ["a link", "too large"])
def test_a_secret_that_cannot_be_read_is_one_students_matter(course, tmp_path, spoilt):
    place, other = (inbound(tmp_path / "inbound", name) for name in ("ada", "ben"))
    (place / "scoring.ipynb").write_text("{}")
    (other / "scoring.ipynb").write_text("{}")
    if spoilt == "a link":
        (place / "submission_secret.txt").symlink_to("/etc/hostname")
    else:
        (place / "submission_secret.txt").write_bytes(b"0" * (21 * 2**20))
    problems = {hand_in.student: hand_in.problem for hand_in in collect(course, "scoring", tmp_path / "inbound")[0]}
    assert (bool(problems["ada"]), problems["ben"]) == (True, "")
    assert problems["ada"] in course.feedback("ada", "scoring").read_text()
    assert course.submission("ben", "scoring").exists()


def test_a_secret_is_no_longer_than_a_thousand_characters(course, tmp_path):
    place = inbound(tmp_path / "inbound", "ada")
    (place / "scoring.ipynb").write_text("{}")
    (place / "submission_secret.txt").write_text("é" * 5000, encoding="utf-8")
    collect(course, "scoring", tmp_path / "inbound")
    assert course.submission("ada", "scoring").with_name("submission_secret.txt").read_text() == "é" * 1000


def test_a_link_to_a_folder_is_passed_over_and_one_in_a_circle_is_no_file(course, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "scoring.ipynb").write_text("{}")
    (tmp_path / "class" / "ada").mkdir(parents=True)
    (tmp_path / "class" / "ada" / "scoring.ipynb").write_text("{}")
    (tmp_path / "class" / "ben").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "class" / "cem").symlink_to(tmp_path / "class")
    (tmp_path / "class" / "ada" / "round").symlink_to("round")
    collected, leftover = collect(course, "scoring", tmp_path / "class")
    assert {hand_in.student: hand_in.problem for hand_in in collected} == {"ada": ""}
    assert leftover == ["ada/round"]


def test_folders_a_thousand_deep_are_one_students_matter(course, tmp_path):
    for name in ("ada", "ben"):
        (tmp_path / "class" / name).mkdir(parents=True)
        (tmp_path / "class" / name / "scoring.ipynb").write_text("{}")
    at = os.open(tmp_path / "class" / "ada", os.O_RDONLY)
    for _ in range(2 * sys.getrecursionlimit()):  # such a path is longer than the system allows
        os.mkdir("abc", dir_fd=at)
        at, before = os.open("abc", os.O_RDONLY, dir_fd=at), at
        os.close(before)
    os.close(at)
    try:
        collected, _ = collect(course, "scoring", tmp_path / "class")
    finally:  # Python's own functions cannot remove folders this deep
        subprocess.run(["rm", "-rf", str(tmp_path / "class")], check=True)
    assert {hand_in.student: hand_in.problem for hand_in in collected} == {"ada": "", "ben": ""}


def test_no_other_platform_has_secrets(course, tmp_path):
    _, leftover = collect(
        course, "scoring", handed_out(tmp_path, ("ada/scoring.ipynb", ""), ("ada/submission_secret.txt", ""))
    )
    assert leftover == ["ada/submission_secret.txt"]
    assert not course.submission("ada", "scoring").with_name("submission_secret.txt").exists()


def test_the_time_beside_a_notebook_is_its_own_and_not_that_of_another_assignment(course, tmp_path):
    stamps = {"encoder": "2025-11-01 08:00:00 UTC", "scoring": "2025-11-02 08:00:00.5 UTC", "softmax": "no time"}
    parts = [(f"ada/{topic}/{topic}.ipynb", topic) for topic in stamps]
    parts += [(f"ada/{topic}/timestamp.txt", when) for topic, when in stamps.items()]
    collected, leftover = collect(with_a_roster(course), "scoring", handed_out(tmp_path, *parts))
    assert times(course) == {"ada": "2025-11-02 08:00:00.500000 UTC"}
    assert leftover == ["ada/encoder/encoder.ipynb", "ada/softmax/softmax.ipynb"]
    assert [hand_in.problem for hand_in in collected] == [""]


def test_what_somebody_put_there_by_hand_is_kept_as_an_earlier_try(course, tmp_path):
    course.submission("ada", "scoring").parent.mkdir(parents=True)
    course.submission("ada", "scoring").write_text("by hand")
    collect(course, "scoring", handed_out(tmp_path, ("ada/scoring.ipynb", "collected")))
    assert kept(course, "ada") == ["by hand"]


@pytest.mark.parametrize("stop", range(1, 10))
def test_a_command_that_was_stopped_at_any_write_comes_to_the_same_when_it_runs_again(
    course, tmp_path, monkeypatch, stop
):
    paths = []
    for number, text in enumerate(("first", "second")):
        paths.append(tmp_path / f"{number}.zip")
        time = f"2025-11-2{number} 10:00:00 UTC"
        paths[-1].write_bytes(archive(*((f"{name}+scoring+{time}/scoring.ipynb", text) for name in ("ada", "cem"))))
    with_a_roster(course)
    collect(course, "scoring", paths[0])
    written = []

    def killed(write):
        def writing(*what):
            written.append(what)
            if len(written) == stop:
                raise KeyboardInterrupt
            return write(*what)

        return writing

    with monkeypatch.context() as patched:
        for name in ("write_bytes", "write_text"):
            real = getattr(attempts, name)
            patched.setattr(f"autograder.platforms.attempts.{name}", killed(real))
        patched.setattr(Record, "add", killed(Record.add))
        with pytest.raises(KeyboardInterrupt):
            collect(course, "scoring", paths[1])
    collect(course, "scoring", paths[1])
    for name in ("ada", "cem"):
        assert course.submission(name, "scoring").read_text() == "second"
        assert kept(course, name) == ["first"]
        assert times(course)[name].startswith("2025-11-21")
        assert len(load_attempts(course, name, "scoring")) == 2


def test_the_command_says_what_it_took_it_for_and_who_has_not_handed_in(course, tmp_path):
    path = handed_out(tmp_path, ("kingada_17_3001_scoring.ipynb", course.releases("scoring").file.read_bytes()))
    path = path.rename(tmp_path / "class {1}.zip")
    output = succeed("collect", "scoring", path, "--course", with_a_roster(course).root)
    assert "class {1}.zip: recognised as Canvas" in output
    row = next(line for line in output.splitlines() if "kingada_17_3001" in line)
    assert [cell.strip() for cell in row.strip("│").split("│")] == [
        "kingada_17_3001_scoring.ipynb",
        "Ada King (ada)",
        "1",
        receipt_of_file(course.releases("scoring").file.read_bytes(), asked_in(course)).code,
        "collected",
    ]
    assert "2 in the roster without a submission: Ben Ito (ben_i), Cem Öz (cem)" in output


def asked_in(course):
    return handout(course.releases("scoring").load().notebooks[0])


def run_and_saved(course, answer, printed):
    """Return the bytes of a release with ``answer`` to one exercise and a receipt that printed the code ``printed``."""
    data = json.loads(course.releases("scoring").file.read_bytes())
    for cell in data["cells"]:
        if cell["metadata"]["nbgrader"]["grade_id"] == "scoring-dot_product_score":
            cell["source"] = answer
        elif cell["metadata"]["nbgrader"]["grade_id"] == "receipt":
            cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": f"Code: {printed}\n"}]
    return json.dumps(data)


def test_the_code_of_the_receipt_is_told_and_whether_the_notebook_has_printed_another(course, tmp_path):
    answer = "def dot_product_score(query, keys):\n    return 1"
    code = receipt_of_file(run_and_saved(course, answer, "").encode(), asked_in(course)).code
    files = {"ada": run_and_saved(course, answer, code), "ben": run_and_saved(course, answer, "0000-0000")}
    path = handed_out(
        tmp_path, *((f"{name}.ipynb", text) for name, text in files.items()), ("cem.ipynb", "no notebook")
    )
    hand_ins = {hand_in.student: hand_in for hand_in in collect(course, "scoring", path)[0]}
    assert [hand_in.code for hand_in in hand_ins.values()] == [code, code, ""]
    assert (hand_ins["ada"].note, hand_ins["cem"].note) == ("", "")
    assert hand_ins["ben"].note == "its own receipt says 0000-0000: it was not rerun after its last change"


def test_a_link_in_a_folder_is_not_followed(course, tmp_path):
    (tmp_path / "secret").write_text("not the student's")
    (tmp_path / "handed in" / "ada").mkdir(parents=True)
    (tmp_path / "handed in" / "ada" / "scoring.ipynb").symlink_to(tmp_path / "secret")
    (hand_in,), _ = collect(course, "scoring", tmp_path / "handed in")
    assert "a link" in hand_in.problem
    assert not course.submission("ada", "scoring").exists()


def test_metadata_that_would_make_objects_makes_none(course, tmp_path):
    bad = "submission_1: !!python/object/apply:os.mkdir ['made']\n"
    entries = (f"{GRADESCOPE}submission_metadata.yml", bad), (f"{GRADESCOPE}submission_1/scoring.ipynb", "x")
    collected, leftover = collect(course, "scoring", handed_out(tmp_path, *entries))
    assert (collected, leftover) == ([], [f"{GRADESCOPE}submission_1/scoring.ipynb"])


def taken_for(course, tmp_path, *parts):
    """Collect an archive of ``parts``; return the detected platform, the problem of each student, and the leftovers."""
    notices = []
    collected, leftover = collect(course, "scoring", handed_out(tmp_path, *parts), notice=notices.append)
    return (
        notices[0].removeprefix("recognised as "),
        {hand_in.student: hand_in.problem for hand_in in collected},
        leftover,
    )


FORGED = {  # what it looks like -> a name that a student may give a file, without effect
    "like the exchange": "a+b+c.ipynb",
    "like the exchange, with a topic and a time": "ada+scoring+2025-11-29 10:00:00 UTC.ipynb",
    "like Moodle": "Ada King_2_assignsubmission_file_x.ipynb",
    "like Canvas": "kingada_17_3001_x.ipynb",
    "like Gradescope": "submission_metadata.yml",
}


@pytest.mark.parametrize("forged", FORGED.values(), ids=FORGED)
@pytest.mark.parametrize("has_roster", [False, True])
def test_what_a_student_calls_a_file_makes_it_no_other_platforms_archive_and_nobody_elses(
    course, tmp_path, forged, has_roster
):
    content = METADATA.replace("submission_501", "ben_i") if forged.endswith(".yml") else OURS.replace("ours", "forged")
    honest = [("ben_i/scoring.ipynb", OURS), ("cem/scoring.ipynb", OURS), ("anna/scoring.ipynb", OURS)]
    folders = [(name.replace("ben_i", "ben"), text) for name, text in honest] if not has_roster else honest[:2]
    course = with_a_roster(course) if has_roster else course
    ben = folders[0][0].partition("/")[0]
    platform, collected, leftover = taken_for(course, tmp_path, *folders, (f"{ben}/{forged}", content))
    assert platform == "files and folders"
    assert collected == {name.partition("/")[0]: "" for name, _ in folders}
    assert course.submission(ben, "scoring").read_text() == OURS
    assert leftover == [f"{ben}/{forged}"]
    assert times(course) == dict.fromkeys(collected, "")


def test_a_folder_of_one_student_of_the_roster_is_theirs_whatever_its_files_are_called(course, tmp_path):
    parts = [(f"ben_i/{name}", METADATA if name.endswith("yml") else OURS) for name in FORGED.values()]
    platform, collected, _ = taken_for(with_a_roster(course), tmp_path, *parts)
    assert platform == "files and folders"
    assert list(collected) == ["ben_i"]
    assert not course.submission("ada", "scoring").exists()


PREFIXES = {
    "Moodle": [f"{name}_10{n}_assignsubmission_file/" for n, name in enumerate(("Ada King", "Ben Ito", "Cem Öz"))],
    "Canvas": ["kingada_17_3001_", "itoben_18_3002_", "özcem_19_3003_"],
    "nbgrader's exchange": [f"{name}+scoring+2025-11-29 10:00:00 UTC/" for name in ("ada", "ben_i", "cem")],
    "Gradescope": [f"submission_50{n}/" for n in (1, 2)],
}
STRANGE = ["eve/scoring.ipynb", "eve+scoring+yesterday/scoring.ipynb", "Bob_2_assignsubmission_file_x.ipynb"]


@pytest.mark.parametrize("platform", PREFIXES)
@pytest.mark.parametrize("strange", STRANGE)
@pytest.mark.parametrize("top", ["", "all of them/"])
def test_what_does_not_have_the_form_of_the_rest_is_nobodys_and_is_listed(course, tmp_path, platform, strange, top):
    parts = [(f"{top}{prefix}scoring.ipynb", OURS) for prefix in PREFIXES[platform]]
    parts += [(f"{top}submission_metadata.yml", METADATA)] if platform == "Gradescope" else []
    if platform == "Moodle" and strange.startswith("Bob"):
        strange = "ada.ipynb"
    recognised, collected, leftover = taken_for(with_a_roster(course), tmp_path, *parts, (f"{top}{strange}", OURS))
    assert (recognised, leftover) == (platform, [f"{top}{strange}"])
    assert collected == dict.fromkeys(("ada", "ben_i", "cem"), "")


def test_gradescopes_own_file_is_the_one_beside_all_submissions_and_no_students(course, tmp_path):
    forged = METADATA.replace("submission_502", "submission_501").replace("Ada King", "Ben Ito")
    parts = [(f"{GRADESCOPE}submission_502/submission_metadata.yml", forged), *entries_of("Gradescope")[0]]
    platform, collected, leftover = taken_for(with_a_roster(course), tmp_path, *parts)
    assert (platform, sorted(collected)) == ("Gradescope", ["ada", "ben_i", "cem"])
    assert course.submission("ada", "scoring").read_text() == f"of {GRADESCOPE}submission_501/scoring.ipynb"
    assert leftover == [f"{GRADESCOPE}submission_502/submission_metadata.yml"]


LAUGHS = "".join(
    f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9) if n else 'ha'}]\n" for n in range(9)
)  # 9**8 entries when expanded
MERGED = "".join(f"m{n}: &m{n} {{<<: [{', '.join([f'*m{n - 1}'] * 9) if n else ''}]}}\n" for n in range(9))


PERSON = (
    "submission_1:\n  :submitters:\n  - :sid: '1'\n    :email: ada@home.org\n  :created_at: 2025-11-30 10:00:00 Z\n"
)
TOLD = {  # what is replaced -> (old text, new text, the SID that is read)
    "a number": ("'1'", "*l8", ""),
    "a time": ("2025-11-30 10:00:00 Z", "*l8", "1"),
    "a person": ("- :sid", "- *l8\n  - :sid", "1"),
    "nothing": ("", "", "1"),
}


@pytest.mark.parametrize(("old", "new", "number"), TOLD.values(), ids=TOLD)
def test_a_few_lines_of_metadata_do_not_become_gigabytes(old, new, number):
    when, people = platforms._read_gradescope_metadata((LAUGHS + MERGED + PERSON.replace(old, new)).encode())[
        "submission_1"
    ]
    assert people == [("ada@home.org", number)]
    assert (when is None) == (old.startswith("2025"))


BAD_METADATA = {
    "broken": (b"submission_1: [", "not readable YAML"),
    "nested": (b"a: " + b"[" * 100_000, "not readable YAML"),
    "a list": (b"- submission_1\n", "not a table of submissions"),
    "too large": (b"# " + b"x" * 2**20, "larger than 1 MB"),
}


@pytest.mark.parametrize(("content", "words"), BAD_METADATA.values(), ids=BAD_METADATA)
def test_metadata_of_the_platform_that_cannot_be_read_is_said_and_nothing_is_collected(
    course, tmp_path, content, words
):
    path = handed_out(
        tmp_path, (f"{GRADESCOPE}submission_metadata.yml", content), (f"{GRADESCOPE}submission_1/x.ipynb", "x")
    )
    with pytest.raises(
        CourseError, match=rf"class.zip, {GRADESCOPE}submission_metadata.yml: (.|\n)*Remedy: download"
    ) as error:
        collect(course, "scoring", path, max_mb=1)
    assert words in str(error.value)
    assert list_submitters(course, "scoring") == []


def test_collect_takes_the_largest_size_of_a_file_from_the_course_and_says_where_it_is(course, tmp_path):
    content, _ = BAD_METADATA["too large"]
    path = handed_out(
        tmp_path, (f"{GRADESCOPE}submission_metadata.yml", content), (f"{GRADESCOPE}submission_1/x.ipynb", "x")
    )
    with course.config.open("a") as config:
        config.write("c.Judge.submission_mb = 1\n")
    done = autograder("collect", "scoring", path, "--course", course.root)
    assert_refused(done, "larger than 1 MB", "c.Judge.submission_mb in nbgrader_config.py")


def test_the_setting_for_larger_files_is_named_to_the_instructor_and_not_to_the_student(course, tmp_path):
    path = handed_out(tmp_path, ("ada/scoring.ipynb", "x" * (2**20 + 1)))
    with course.config.open("a") as config:
        config.write("c.Judge.submission_mb = 1\n")
    done = autograder("collect", "scoring", path, "--course", course.root)
    assert "larger than 1 MB" in done.stdout
    assert "c.Judge.submission_mb" in done.stdout
    put_by_hand = course.submission("ben", "scoring")
    put_by_hand.parent.mkdir(parents=True)
    put_by_hand.write_text("x" * (2**20 + 1))
    line = tables.hint_lines(grade_quickly(course, "ben", limits=Limits(submission_mb=1)).values())
    assert line.endswith("the file is 1 MB. To accept larger files, raise c.Judge.submission_mb in nbgrader_config.py.")
    for student, words in (("ada", "larger than 1 MB"), ("ben", "at most 1 MB can be graded")):
        page = course.feedback(student, "scoring").read_text()
        assert words in page
        assert "c.Judge" not in page


@pytest.mark.parametrize("platform", PREFIXES)
def test_a_time_that_a_student_states_in_a_platforms_archive_counts_for_nothing(course, tmp_path, platform):
    with_a_roster(course)
    parts = [(f"{prefix}{name}", text) for prefix in PREFIXES[platform] for name, text in [("scoring.ipynb", OURS)]]
    parts += [(f"{prefix}timestamp.txt", "2026-01-01 00:00:00 UTC") for prefix in PREFIXES[platform]]
    parts += [("submission_metadata.yml", METADATA)] if platform == "Gradescope" else []
    _, collected, _ = taken_for(course, tmp_path, *parts)
    assert sorted(collected) == ["ada", "ben_i", "cem"]
    assert not [when for when in times(course).values() if when.startswith("2026-01-01")]


STATED = {"0001-01-01 00:00:00 +0500": "", "9999-12-31 23:59:59 UTC": "9999-12-31 23:59:59.000000 UTC"}
STATED |= {"9999-12-31 23:59:59 -0500": "", "1979-12-31 00:00:00 UTC": "", "10000-01-01 00:00:00 UTC": ""}


@pytest.mark.parametrize("stated", STATED)
def test_a_time_that_nobody_can_have_handed_in_at_stops_nobody(course, tmp_path, stated):
    parts = ("ada/scoring.ipynb", OURS), ("ada/timestamp.txt", stated), ("cem/scoring.ipynb", OURS)
    _, collected, _ = taken_for(with_a_roster(course), tmp_path, *parts)
    assert collected == {"ada": "", "cem": ""}
    assert times(course) == {"ada": STATED[stated], "cem": ""}


@pytest.fixture
def far_from_utc():
    """Let the clock of this machine be five hours behind UTC."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "EST5")
        tzset()
        yield
    tzset()


def test_a_time_without_a_zone_is_in_utc_wherever_the_machine_is(course, tmp_path, far_from_utc):
    stated = {"ada": "2026-01-01 12:00:00", "ben_i": "2026-01-01 12:00:00 UTC", "cem": "2026-01-01 12:00:00 +0200"}
    parts = [(f"{student}/scoring.ipynb", OURS) for student in stated]
    parts += [(f"{student}/timestamp.txt", when) for student, when in stated.items()]
    collect(with_a_roster(course), "scoring", handed_out(tmp_path, *parts))
    assert times(course) == {
        "ada": "2026-01-01 12:00:00.000000 UTC",
        "ben_i": "2026-01-01 12:00:00.000000 UTC",
        "cem": "2026-01-01 10:00:00.000000 UTC",
    }


def test_an_entry_that_is_packed_in_an_odd_way_is_set_aside(course, tmp_path):
    info = entry("ada/scoring.ipynb")
    info.compress_type = zipfile.ZIP_LZMA  # its header says how much memory to use
    with zipfile.ZipFile(tmp_path / "class.zip", "w") as bundle:
        bundle.writestr(info, OURS, zipfile.ZIP_LZMA)
        bundle.writestr(entry("cem/scoring.ipynb"), OURS)
    collected, _ = collect(course, "scoring", tmp_path / "class.zip")
    assert {hand_in.student: hand_in.problem for hand_in in collected} == {
        "ada": "the archive uses a compression method that is not supported",
        "cem": "",
    }


@pytest.mark.parametrize(
    ("delay", "words"),
    [
        (timedelta(minutes=-1), ""),
        (timedelta(0), ""),
        (timedelta(minutes=5), "late by 0 h 5 min"),
        (timedelta(hours=23, minutes=59), "late by 23 h 59 min"),
        (timedelta(hours=24), "late by 1 d 0 h"),
        (timedelta(hours=54), "late by 2 d 6 h"),
    ],
)
def test_a_delay_is_said_in_hours_and_from_a_day_on_in_days(delay, words):
    due = datetime(2026, 11, 30, 12, tzinfo=UTC)
    assignment = SimpleNamespace(due_for=lambda student: due)
    attempt = SimpleNamespace(time=format_time(due + delay), late=False)
    assert collecting._describe_lateness(assignment, "ada", attempt) == words


def test_an_encrypted_entry_is_set_aside(course, tmp_path):
    content = archive((entry("ada/scoring.ipynb"), OURS), (entry("cem/scoring.ipynb"), OURS))
    for header, flags in ((b"PK\3\4", 6), (b"PK\1\2", 8)):  # flags of the first entry: local, and central
        place = content.index(header) + flags
        content = content[:place] + bytes([content[place] | 1]) + content[place + 1 :]
    (tmp_path / "class.zip").write_bytes(content)
    collected, _ = collect(course, "scoring", tmp_path / "class.zip")
    assert {hand_in.student: hand_in.problem for hand_in in collected} == {"ada": "the archive is encrypted", "cem": ""}


def test_a_folder_of_more_than_is_allowed_is_not_walked_to_its_end(tmp_path, monkeypatch):
    for number in range(30):
        (tmp_path / "all" / f"{number:02d}" / "deeper").mkdir(parents=True)
    seen, scan = [], os.scandir

    def scanned(path):
        seen.append(path)
        return scan(path)

    monkeypatch.setattr(os, "scandir", scanned)
    with pytest.raises(RefusedEntry, match="more than 10 files and folders"), open_archive(tmp_path / "all", 10, 1):
        pass
    assert len(seen) < 5


CANVAS_OF_OTHER = [("kingada_17_9001_softmax.ipynb", OTHER), ("itoben_18_9002_softmax-1.ipynb", OTHER)]


@pytest.mark.parametrize("is_there", [False, True])
def test_the_archive_of_another_assignment_replaces_nothing(course, tmp_path, is_there):
    right = [("kingada_17_3001_scoring.ipynb", OURS), ("itoben_18_3002_scoring.ipynb", OURS)]
    if is_there:
        collect(with_a_roster(course), "scoring", handed_out(tmp_path, *right))
    collected, _ = collect(with_a_roster(course), "scoring", handed_out(tmp_path, *CANVAS_OF_OTHER))
    assert {
        hand_in.student: "is a notebook of softmax, not of scoring" in hand_in.problem for hand_in in collected
    } == {
        "ada": True,
        "ben_i": True,
    }
    assert list_submitters(course, "scoring") == (["ada", "ben_i"] if is_there else [])
    collected, _ = collect(course, "scoring", handed_out(tmp_path, *right))
    assert [(hand_in.problem, hand_in.note) for hand_in in collected] == [("", "unchanged" if is_there else "")] * 2
    assert {course.submission(name, "scoring").read_text() for name in ("ada", "ben_i")} == {OURS}


def test_work_of_another_assignment_that_stands_there_already_is_replaced(course, tmp_path):
    collect(with_a_roster(course), "scoring", handed_out(tmp_path, ("kingada_17_3001_scoring.ipynb", OURS)))
    course.submission("ada", "scoring").write_text(OTHER)
    collected, _ = collect(course, "scoring", handed_out(tmp_path, ("kingada_17_3001_scoring.ipynb", OURS)))
    assert course.submission("ada", "scoring").read_text() == OURS
    assert collected[0].note == "replaces 2 earlier attempts"


def test_undo_takes_back_the_last_collection_and_no_more(course, tmp_path):
    with_a_roster(course)
    first = handed_out(tmp_path, ("kingada_17_3001_scoring.ipynb", "first"), ("itoben_18_3002_scoring.ipynb", "ben's"))
    succeed("collect", "scoring", first, "--course", course.root)
    before = everything(course)
    archives = [tmp_path / f"{number}.zip" for number in range(2)]
    archives[0].write_bytes(archive(("kingada_LATE_17_4001_scoring.ipynb", "second")))
    archives[1].write_bytes(
        archive(("kingada_LATE_17_5001_scoring.ipynb", "third"), ("19_5002_scoring.ipynb", "cem's"))
    )
    collected = autograder("collect", "scoring", *archives, "--course", course.root)
    assert collected.returncode == 0, collected.stderr
    assert course.submission("ada", "scoring").read_text() == "third"
    assert times(course)["ada"]
    output = succeed("collect", "scoring", "--undo", "--course", course.root)
    assert "2 undone" in output
    rows = [[cell.strip() for cell in line.strip("│").split("│")] for line in output.splitlines() if "_50" in line]
    assert rows == [
        [
            "kingada_LATE_17_5001_scoring.ipynb",
            "Ada King (ada)",
            "",
            "",
            "undone: the previous attempt (kingada_17_3001_scoring.ipynb) counts again",
        ],
        ["19_5002_scoring.ipynb", "Cem Öz (cem)", "", "", "undone: nothing was collected before"],
    ]
    assert (kept(course, "ada"), kept(course, "cem")) == (["first", "second", "third"], ["cem's"])
    shutil.rmtree(course.root / ".autograder" / "earlier")
    assert everything(course) == before
    assert list_submitters(course, "scoring") == ["ada", "ben_i"]
    second_undo = autograder("collect", "scoring", "--undo", "--course", course.root)
    assert (second_undo.returncode, "nothing to undo" in second_undo.stderr) == (2, True)


def test_after_a_collection_that_took_nothing_there_is_nothing_to_undo(course, tmp_path):
    with_a_roster(course)
    place = handed_out(tmp_path, ("kingada_17_3001_scoring.ipynb", "first"))
    collect(course, "scoring", place)
    with pytest.raises(CourseError, match="there is no such archive"):
        collect(course, "scoring", tmp_path / "misspelt.zip")
    collecting.undo(course, "scoring")  # an archive that cannot be read is no collection
    assert list_submitters(course, "scoring") == []
    for _ in range(2):  # the second takes nothing new
        output = succeed("collect", "scoring", place, "--course", course.root)
    assert "0 collected (0 replaced), 1 unchanged, 0 set aside" in output
    second = everything(course)
    undone = autograder("collect", "scoring", "--undo", "--course", course.root)
    assert (undone.returncode, "the last collection of scoring took nothing" in undone.stderr) == (2, True)
    assert everything(course) == second
    for _ in range(2):
        collect(course, "scoring", place)
    with pytest.raises(CourseError, match="nothing to undo"):
        collecting.undo(course, "scoring")


def test_undo_restores_the_second_to_last_attempt(course, tmp_path):
    with_a_roster(course)
    for number, text in ((3001, "first"), (4001, "second"), (5001, "third")):
        collect(course, "scoring", handed_out(tmp_path, (f"kingada_17_{number}_scoring.ipynb", text)))
    collecting.undo(course, "scoring")
    assert course.submission("ada", "scoring").read_text() == "second"


@pytest.mark.parametrize("others", [(3001, 4001, 2001), (4001, 2001, 3001)])
def test_earlier_attempts_are_kept_in_order_however_they_arrive(course, tmp_path, others):
    with_a_roster(course)
    for number in (5001, *others):
        collect(course, "scoring", handed_out(tmp_path, (f"kingada_17_{number}_scoring.ipynb", f"try {number}")))
    known = [attempt.order for attempt in load_attempts(course, "ada", "scoring")]
    assert known == [2001, 3001, 4001, 5001]
    assert course.submission("ada", "scoring").read_text() == "try 5001"


def test_a_file_is_recognised_in_any_folder_and_behind_a_platforms_prefix():
    names = ("a.npz", "ada/a.npz", "king_a.npz", "a.npz/b", "xa.npz", "a.npz.bak")
    assert [name for name in names if collecting._is_called("a.npz", name)] == ["a.npz", "ada/a.npz", "king_a.npz"]


def test_what_was_taken_back_can_be_collected_again(course, tmp_path):
    path = handed_out(tmp_path, ("ada/scoring.ipynb", "collected"))
    course.submission("ada", "scoring").parent.mkdir(parents=True)
    course.submission("ada", "scoring").write_text("by hand")
    for _ in range(2):
        collect(course, "scoring", path)
        assert course.submission("ada", "scoring").read_text() == "collected"
        collecting.undo(course, "scoring")
        assert course.submission("ada", "scoring").read_text() == "by hand"


def test_a_damaged_record_is_refused_before_anything_is_written(course, tmp_path):
    path = handed_out(tmp_path, ("ada/scoring.ipynb", OURS), ("ben/scoring.ipynb", OURS))
    collect(course, "scoring", path)
    course.record.path.write_bytes(b"no database" * 1000)
    before = read_files(course.root)
    refused = autograder("collect", "scoring", path, "--course", course.root)
    assert (refused.returncode, "the record of the course cannot be used" in refused.stderr) == (2, True)
    assert "restore a copy of this file" in refused.stderr
    assert read_files(course.root) == before
    course.record.path.rename(tmp_path / "damaged")  # as the message advises
    collected, _ = collect(course, "scoring", path)
    assert [(hand_in.problem, hand_in.unchanged) for hand_in in collected] == [("", True)] * 2
    assert [len(load_attempts(course, name, "scoring")) for name in ("ada", "ben")] == [1, 1]


def test_who_was_not_collected_because_the_disk_was_full_has_handed_in_nothing(course, tmp_path, monkeypatch):
    def write(content, path):
        path.parent.mkdir(parents=True, exist_ok=True)
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    path = handed_out(tmp_path, ("ada/scoring.ipynb", "first"))
    with monkeypatch.context() as patched:
        patched.setattr("autograder.platforms.attempts.write_bytes", write)
        with pytest.raises(CourseError, match="No space left on device"):
            collect(course, "scoring", path)
    assert course.submission("ada", "scoring").parent.is_dir()
    assert list_submitters(course, "scoring") == []
    collect(course, "scoring", path)
    assert list_submitters(course, "scoring") == ["ada"]


@pytest.mark.parametrize(
    ("date", "moment"),
    [
        ((1980, 1, 1, 0, 0, 0), ""),
        ((1981, 1, 1, 0, 0, 0), "1981-01-01 00:00:00"),
        ((2025, 2, 3, 4, 5, 6), "2025-02-03 04:05:06"),
    ],
)
def test_an_entry_without_a_date_states_none(date, moment):
    assert ArchiveEntry("x", date, bytes).moment == moment


def attempt(**fields):
    return Attempt({}, **fields)


@pytest.mark.parametrize("what", ["time", "moment"])
def test_of_two_attempts_of_equal_times_none_is_before_the_other(what):
    early, late = attempt(**{what: "2025-01-01 00:00:00"}), attempt(**{what: "2025-01-01 00:00:01"})
    assert early.is_before(late)
    assert not late.is_before(early)
    assert not early.is_before(replace(early))
    assert not early.is_before(attempt())
    assert not attempt().is_before(early)
    assert replace(late, order=1).is_before(replace(early, order=2))
    assert replace(early, order=1).is_before(replace(late, order=1))
