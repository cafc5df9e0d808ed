"""A course directory says what it has, whatever its students are called."""

import pytest

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
