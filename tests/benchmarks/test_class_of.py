"""A small class passes through everything that the benchmark times, from Canvas's archive to Canvas's files."""

import csv
import shutil
import zipfile

import pytest

from autograder.courses.course import Course
from autograder.gradebook.scores import load_results
from benchmarks import class_of

pytestmark = pytest.mark.suite("assignments")
COUNT = 12


def test_a_class_goes_through_all_commands_and_nobody_is_lost(released, tmp_path):
    shutil.copytree(released.root, tmp_path / "course")
    course = Course.at(tmp_path / "course")
    steps = class_of.run_pipeline(course, COUNT, tmp_path, workers=2)
    class_of.check_complete(course, COUNT, tmp_path)
    assert [step.name for step in steps] == ["collect", "grade", "feedback", "export", "report"]
    assert all(step.megabytes > 1 for step in steps)
    assert f"{COUNT} collected (0 replaced), 0 set aside, 0 not collected" in steps[0].said
    assert f"{COUNT} graded, 0 reused, 0 set aside, 0 failed" in steps[1].said
    results = load_results(course, "scoring")
    with (tmp_path / "grades.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))[2:]
    assert {row[1]: float(row[-1]) for row in rows} == {
        f"{1000 + number}": pytest.approx(result.score) for number, result in enumerate(results.values())
    }
    assert len({result.earned for result in results.values()}) > 3  # the students' answers differ
    late = [number for number, result in enumerate(results.values()) if result.penalty]
    assert late == [0, 7]
    with zipfile.ZipFile(tmp_path / "pages.zip") as bundle:
        assert "student00007_LATE_1007_50007_scoring.html" in bundle.namelist()
        page = bundle.read("student00007_LATE_1007_50007_scoring.html").decode()
    assert "Late submission penalty" in page


def test_a_class_that_has_lost_somebody_is_refused(released, tmp_path):
    shutil.copytree(released.root, tmp_path / "course")
    course = Course.at(tmp_path / "course")
    class_of.write_submissions(course, 2, tmp_path / "submissions.zip")
    with zipfile.ZipFile(tmp_path / "pages.zip", "w") as bundle:
        bundle.writestr("one.html", "")
    (tmp_path / "grades.csv").write_text("header\npoints\n1\n2\n")
    with pytest.raises(SystemExit, match="of 2 students, 2 have a grade and 1 a page"):
        class_of.check_complete(course, 2, tmp_path)
