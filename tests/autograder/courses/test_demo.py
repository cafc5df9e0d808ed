"""The header of each demonstration student states what the answers deserve, whatever the assignment is worth."""

import pytest
from nbformat.v4 import new_notebook

from autograder.courses import demo
from autograder.errors import CourseError
from solutions import answer_key

HEADER = """# ---
# jupyter:
#   student:
#     about: Forgets much.
#     kind: wrong
#     base: reference
{}# ---
"""


def student(folder, *lines):
    text = HEADER.format("".join(f"#     {line}\n" for line in lines))
    (folder / "una.py").write_text(text, encoding="utf-8")
    (una,) = demo.load_students(folder, "softmax")
    return una


def test_points_that_are_lost_are_taken_off_the_automatic_ones(tmp_path):
    automatic = sum(entry.points for entry in answer_key.load("softmax").values() if entry.kind != "text")
    assert student(tmp_path, "lost: 2.5").points == automatic - 2.5
    assert student(tmp_path, "points: 1").points == 1
    assert student(tmp_path, "points: set aside").points == "set aside"


@pytest.mark.parametrize("lines", [(), ("points: 1", "lost: 2")])
def test_a_header_that_says_both_or_neither_is_refused(tmp_path, lines):
    with pytest.raises(
        CourseError, match=r"una\.py: the header states both `points` and `lost`, or neither\n  Remedy: "
    ):
        student(tmp_path, *lines)


def test_a_notebook_has_the_megabytes_that_its_header_says(tmp_path):
    content = demo.make_submission(
        student(tmp_path, "points: 1", "megabytes: 3"), "softmax", new_notebook(), new_notebook()
    )
    assert 3 * 2**20 <= len(content) < 4 * 2**20
