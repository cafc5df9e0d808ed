"""What a learning platform gives out as one archive comes to its place, and one bad part stops nobody else's."""

import io
import shutil
import stat
import zipfile

import pytest

from autograder.collect import collect
from autograder.course import Course
from autograder.errors import CourseError
from tests.autograder.test_main import autograder

pytestmark = pytest.mark.suite("assignments")


@pytest.fixture
def course(released, tmp_path):
    shutil.copytree(released.root, tmp_path / "course")
    return Course.at(tmp_path / "course")


def entry(name, mode=stat.S_IFREG | 0o644, year=2026):
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


def test_notebooks_come_to_their_places_under_the_name_that_nbgrader_wants(course, tmp_path):
    path = handed_out(
        tmp_path,
        ("ada/my notebook (2).ipynb", "of ada"),
        ("ben_123_late_scoring.ipynb", "of ben"),
        ("cem.zip", archive(("scoring.ipynb", "of cem"))),
        ("dan/old.ipynb", "first"),
        (entry("dan/new.ipynb", year=2027), "second"),
        ("readme.txt", "by the platform"),
    )
    collected, ignored = collect(course, "scoring", path)
    assert [(one.student, one.problem) for one in collected] == [(name, "") for name in ("ada", "ben", "cem", "dan")]
    assert ignored == ["readme.txt"]
    texts = [course.submission(name, "scoring").read_text() for name in ("ada", "ben", "cem", "dan")]
    assert texts == ["of ada", "of ben", "of cem", "second"]


@pytest.mark.parametrize("name", BAD)
def test_a_bad_part_is_set_aside_with_a_page_and_stops_nobody(course, tmp_path, name):
    before = sorted(tmp_path.rglob("*"))
    path = handed_out(tmp_path, ("eve.zip", BAD[name]), ("ada.ipynb", "of ada"))
    collected, _ = collect(course, "scoring", path)
    assert [(one.student, bool(one.problem)) for one in collected] == [("ada", False), ("eve", True)]
    assert "Remedy" in course.feedback("eve", "scoring").read_text(encoding="utf-8")
    assert not course.submission("eve", "scoring").exists()
    new = {path.name for path in tmp_path.rglob("*") if path not in before}
    assert new == {"class.zip", "ada", "eve", "scoring", "scoring.ipynb", "scoring.html", "feedback"}


@pytest.mark.parametrize("name", ["../eve/scoring.ipynb", "/eve/scoring.ipynb", "..\\eve\\scoring.ipynb"])
def test_an_entry_that_leads_out_is_not_written(course, tmp_path, name):
    collected, _ = collect(course, "scoring", handed_out(tmp_path, (entry(name), "{}"), ("ada.ipynb", "of ada")))
    assert {one.student: bool(one.problem) for one in collected} == {"eve": True, "ada": False}


@pytest.mark.parametrize("student", [".git", "a b", "x" * 200, "é"])
def test_a_name_that_is_no_name_of_a_student_is_listed(course, tmp_path, student):
    collected, ignored = collect(course, "scoring", handed_out(tmp_path, (f"{student}/scoring.ipynb", "{}")))
    assert collected == []
    assert len(ignored) == 1


def test_what_was_handed_in_before_is_kept(course, tmp_path):
    collect(course, "scoring", handed_out(tmp_path, ("ada.ipynb", "first")))
    collected, _ = collect(course, "scoring", handed_out(tmp_path, ("ada.ipynb", "second")))
    assert collected[0].replaced
    (kept,) = (course.root / ".autograder" / "earlier" / "ada" / "scoring").iterdir()
    assert kept.read_text() == "first"
    assert course.submission("ada", "scoring").read_text() == "second"


def test_an_archive_that_cannot_be_read_is_named(course, tmp_path):
    path = tmp_path / "class.zip"
    with pytest.raises(CourseError, match="no such archive"):
        collect(course, "scoring", path)
    path.write_text("no archive")
    with pytest.raises(CourseError, match="no zip archive"):
        collect(course, "scoring", path)


def test_the_exit_status_says_that_something_was_set_aside(course, tmp_path):
    path = handed_out(tmp_path, ("eve.zip", BAD["bomb"]), ("ada.ipynb", "{}"))
    done = autograder("collect", "scoring", path, "--course", course.root)
    assert done.returncode == 3, done.stdout + done.stderr
    assert "1 collected (0 anew), 1 set aside, 0 not looked at" in done.stdout
