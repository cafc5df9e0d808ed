"""A case that a course adds is refused with its name, or else its number, if it cannot be graded."""

import json

import pytest

from autograder.exercises.course_cases import read_course_cases
from solutions.answer_key import AnswerKeyError

ROW = {"exercise": "dot_product_score", "part": "values", "shapes": {"query": [2, 3], "keys": [2, 4, 3]}}
REFUSED = {
    "no exercise of code": ({"exercise": "dot_shapes"}, "case 2: exercise is 'dot_shapes'"),
    "an unknown part": ({"name": "own", "part": "others"}, "case 'own': part 'others' is not one of"),
    "many entries": ({"name": "own", "shapes": {"keys": [1000, 1000, 1], "query": [1]}}, "have 1000001 entries"),
}


@pytest.mark.parametrize(("changed", "words"), REFUSED.values(), ids=REFUSED)
def test_a_case_that_cannot_be_added_is_refused(changed, words):
    with pytest.raises(AnswerKeyError) as error:
        read_course_cases(json.dumps([{**ROW, "name": "right"}, {**ROW, **changed}]), "scoring")
    assert words in str(error.value)
