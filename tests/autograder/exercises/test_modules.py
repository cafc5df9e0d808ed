"""The error for a file of answers that cannot be imported names the line."""

from pathlib import Path

import pytest

from autograder.exercises.modules import module, module_at
from solutions.errors import AnswerKeyError

BROKEN = {
    "what is no Python": ("x = 1\ndef f(:\n", 2, "SyntaxError"),
    "a name that is not there": ("x = 1\n\ny = np.array([x])\n", 3, "NameError: name 'np' is not defined"),
    "a package that is not there": ("import no_such_package\n", 1, "ModuleNotFoundError: No module named"),
    "a call that fails": ("import math\nmath.sqrt(-1)\n", 2, "ValueError"),
}


@pytest.mark.parametrize(("text", "line", "what"), BROKEN.values(), ids=BROKEN)
def test_what_cannot_be_imported_is_refused_with_its_line(tmp_path, text, line, what):
    path = tmp_path / "toy.py"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(AnswerKeyError, match=rf"toy\.py, line {line}: cannot be imported: {what}.*\n  Remedy: "):
        module_at(path)


def test_a_topic_without_a_file_of_answers_is_refused_with_the_file_to_write():
    with pytest.raises(
        AnswerKeyError, match=r"^solutions/mistakes/cooking\.py: there is no such file\n  Remedy: write"
    ):
        module("solutions.mistakes.cooking")


def test_a_module_of_the_course_is_found_by_its_name_and_at_its_place():
    by_name = module("solutions.in_numpy.scoring")
    assert module_at(Path(by_name.__file__)).additive_score.__doc__ == by_name.additive_score.__doc__
