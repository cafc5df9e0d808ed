"""Stock nbgrader gives points in an assembled notebook to the reference, not to the starter or a wrong answer."""

import copy

import pytest

from autograder.audit.notebook_run import run_notebook
from autograder.errors import CourseError
from autograder.notebooks.cell_ids import check_id, id_of
from tests.autograder.samples import notebook_of, topic_exercises

pytestmark = pytest.mark.suite("audit")

TOPIC = "softmax"


@pytest.fixture(scope="module")
def notebook():
    return notebook_of(TOPIC)


def changed(notebook, name, old, new):
    other = copy.deepcopy(notebook)
    (cell,) = [cell for cell in other.cells if id_of(cell) == name]
    assert old in cell.source
    cell.source = cell.source.replace(old, new)
    return other


def test_the_reference_earns_all_points_and_the_untouched_release_none(notebook):
    exercises = topic_exercises(TOPIC)
    played = run_notebook(notebook, exercises)
    assert played.points == {exercise.name: exercise.points for exercise in exercises if exercise.is_called}
    assert played.complaints == {}
    untouched = run_notebook(notebook, exercises, answered=False)
    assert set(untouched.points) == set(played.points)
    assert set(untouched.points.values()) == {0.0}


def test_a_wrong_answer_loses_its_points_and_its_check_says_why(notebook):
    name = "softmax-entropy"
    wrong = changed(notebook, name, "### BEGIN SOLUTION", "return 2 * scores.sum()")
    played = run_notebook(wrong, topic_exercises(TOPIC))
    assert played.points[name] < 3.5
    assert played.complaints[name]
    assert set(played.complaints) == {name}


def test_a_cell_that_fails_and_is_no_check_is_refused_with_its_name(notebook):
    broken = changed(notebook, "imports", "import math", "import no_such_module")
    with pytest.raises(CourseError, match=r"^the assembled notebook, cell imports: it fails: ModuleNotFoundError"):
        run_notebook(broken, topic_exercises(TOPIC))


def test_a_check_cell_is_no_reason_to_stop(notebook):
    spoilt = changed(notebook, check_id("softmax-masked_softmax"), "check(", "raise ValueError('spoilt')\ncheck(")
    assert run_notebook(spoilt, topic_exercises(TOPIC)).complaints == {"softmax-masked_softmax": "spoilt"}
