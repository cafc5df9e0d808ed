"""A course directory says what it has, whatever its students are called."""

import json
import re

import nbformat
import pytest
from nbformat.v4 import new_notebook

from autograder.courses.course import init
from autograder.files import write_text


@pytest.mark.parametrize("name", ["n" * 255, "nul\0", "../../elsewhere"])
def test_a_name_that_no_record_can_have_is_only_not_recorded(tmp_path, name):
    assert not init(tmp_path / "course").is_recorded(name, "scoring")


def test_what_was_recorded_is_known_to_be(tmp_path):
    course = init(tmp_path / "course")
    write_text("{}", course.recorded("ada", "scoring"))
    assert course.is_recorded("ada", "scoring")
    assert not course.is_recorded("bela", "scoring")


def test_a_release_of_before_is_read_and_its_log_goes_on(tmp_path):
    """Records of earlier versions hold no log, and the first ones no releases."""
    course = init(tmp_path / "course")
    write_text(nbformat.writes(new_notebook()), course.release("scoring"))
    assert course.record("scoring", 0, "one", ["The first release."]) == 1
    path = course._record("scoring")
    record = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({"seed": record["seed"], "digest": record["digest"]}), encoding="utf-8")
    assert course.last("scoring") == (new_notebook(), 0, "one")
    assert course.record("scoring", 1, "two", ["Another seed."]) == 1
    said = re.findall("## Version 1|- .*", course.log("scoring").read_text(encoding="utf-8"))
    assert said == ["## Version 1", "- Another seed.", "## Version 1", "- The first release."]
