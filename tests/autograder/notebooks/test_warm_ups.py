"""A warm-up gives no points: its check gives the whole answer, and no grade, table or feedback page knows it."""

import csv
import types

import nbformat
import numpy as np
import pytest
from bs4 import BeautifulSoup
from nbgrader.api import Gradebook

from autograder import exercises
from autograder.courses import demo
from autograder.exercises import checking, reference_of
from autograder.exercises.compare import NotYet
from autograder.grading import grade
from autograder.notebooks.cell_ids import check_id, id_of, text_id, warm_up_id
from autograder.notebooks.cells import warm_up_data
from autograder.notebooks.handout import handout
from autograder.releases import proof
from autograder.sandbox import Limits
from solutions import answer_key
from tests.autograder.samples import TOPICS, module_of, topic_exercises, versions_of
from tests.autograder.test_main import succeed

WARM_UPS = [exercise for topic in TOPICS for exercise in exercises.load_warm_ups(topic)]
each_warm_up = pytest.mark.parametrize("exercise", WARM_UPS, ids=lambda exercise: exercise.name)
NAME = "scoring-scores_by_hand"
TITLE = "The scores of note C"


def complaint(exercise, answer):
    """Return what the check of a warm-up says about the function ``answer``; "" if it is right."""
    known = warm_up_data(exercise)
    try:
        checking.check_cases(answer, known["kind"], known["cases"], worked=known["worked"])
    except NotYet as error:
        return str(error)
    return ""


@each_warm_up
def test_the_check_accepts_the_reference_and_rounded_numbers(exercise):
    assert complaint(exercise, reference_of(exercise)) == ""
    if exercise.kind == "number":
        value = exercise.hidden[0].expected
        rounded = {key: np.round(item, 5) for key, item in value.items()} if isinstance(value, dict) else value.round(5)
        assert complaint(exercise, lambda: rounded) == ""


@each_warm_up
def test_the_check_answers_each_mistake_with_its_hint_the_right_numbers_and_a_worked_answer(exercise):
    mistakes = versions_of(module_of("solutions.mistakes", exercise.name), exercise)
    assert mistakes
    body = [line.strip() for line in exercise.source.partition("### BEGIN SOLUTION\n")[2].splitlines()[:-1]]
    for name, mistake in mistakes.items():
        words = complaint(exercise, mistake)
        assert exercise.hints[name] in words
        assert "\nRight: " in words
        _, _, worked = words.partition("\nA worked answer:\n")
        assert [line.strip() for line in worked.splitlines()] == body
        assert "###" not in worked


@each_warm_up
def test_an_answer_that_is_missing_or_fails_is_not_given_away(exercise):
    def untouched(*sizes):
        raise NotImplementedError

    def failing(*sizes):
        return 1 / 0

    assert complaint(exercise, untouched).endswith("Replace `raise NotImplementedError()` with your answer.")
    with pytest.raises(ZeroDivisionError):
        complaint(exercise, failing)


SHAPES = """
[toy-grid]
kind = "shape"
points = 0
"""


def grid(m, n):
    """Return a shape."""
    ### BEGIN SOLUTION
    return {"grid": (m, n)}
    ### END SOLUTION


def grid__transposed(m, n):
    """The rows come first."""
    return {"grid": (n, m)}


def test_the_check_of_shapes_tries_two_sets_of_sizes(tmp_path):
    (tmp_path / "toy.toml").write_text(SHAPES, encoding="utf-8")
    assert answer_key.load("toy", tmp_path) == {}
    (entry,) = answer_key.load_warm_ups("toy", tmp_path).values()
    references = types.SimpleNamespace(__name__="toy", grid=grid)
    mistakes = types.SimpleNamespace(__name__="mistakes", grid__transposed=grid__transposed)
    exercise = exercises.make_exercise(entry, 0, references, mistakes)
    sizes = [case["inputs"] for case in warm_up_data(exercise)["cases"]]
    assert len(sizes) == 2
    assert complaint(exercise, grid) == ""
    (m, n), (rows, columns) = (case.values() for case in sizes)
    words = complaint(exercise, grid__transposed)
    assert f"Called with m = {m}, n = {n}.\nRight: grid [{m}, {n}]\nYours: grid [{n}, {m}]\n" in words
    assert "\nHint: The rows come first.\nA worked answer:\nreturn " in words
    assert f"m = {rows}, n = {columns}" in complaint(exercise, lambda m, n: {"grid": (sizes[0]["m"], sizes[0]["n"])})


@pytest.mark.slow
def test_in_a_notebook_the_check_says_that_an_answer_is_right(capsys, monkeypatch):
    from autograder.notebooks.cells import compare_cell

    scope = {}
    exec(compare_cell(topic_exercises("scoring"), warm_ups=exercises.load_warm_ups("scoring")).source, scope)
    scope["scores_by_hand"] = lambda: [1.2087, 1.7234]
    scope["check"](NAME)
    assert capsys.readouterr().out == "scores_by_hand: right. A warm-up gives no points.\n"
    scope["scores_by_hand"] = lambda: [1.2, 1.7]
    with pytest.raises(scope["checks"].NotYet, match="A worked answer:\n"):
        scope["check"](NAME)


# --- in a course -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def notebooks(released):
    return tuple(
        nbformat.read(path, as_version=4) for path in (released.source("scoring"), released.releases("scoring").file)
    )


@pytest.mark.suite("assignments")
def test_for_nbgrader_its_cells_have_no_points_and_hold_no_solution(notebooks):
    _, released = notebooks
    ids = [id_of(cell) for cell in released.cells]
    place = ids.index(warm_up_id(NAME))
    assert ids[place : place + 3] == [warm_up_id(NAME), NAME, check_id(NAME)]
    assert not {text_id(NAME), f"{NAME}-test"} & set(ids)
    for notebook in notebooks:
        text, answer, check = notebook.cells[place : place + 3]
        assert TITLE in text.source
        assert "*Warm-up, no points.*" in text.source
        assert answer.source.endswith("    # YOUR CODE HERE\n    raise NotImplementedError()")
        assert not any(cell.metadata.nbgrader[mark] for cell in (text, answer, check) for mark in ("grade", "solution"))
        assert [cell.metadata.nbgrader.locked for cell in (text, answer, check)] == [True, False, True]
    total = sum(exercise.points for exercise in exercises.load("scoring", 0))
    assert f"It has {len(exercises.load('scoring', 0))} exercises and {total:g} points" in released.cells[0].source
    assert NAME not in [question.name for question in handout(released).questions]


@each_warm_up
def test_its_text_says_that_it_gives_no_points(exercise):
    from autograder.notebooks.assemble import load_chapter

    _, texts = load_chapter(exercise.entry.topic)
    for name, text in texts.items():
        is_one = name in answer_key.load_warm_ups(exercise.entry.topic)
        assert text.body.startswith("*Warm-up, no points.* ") == is_one, name


ANSWERS = {
    "right": "def scores_by_hand():\n    return [1.2087, 1.7234]",
    "wrong": "def scores_by_hand():\n    return [2, 1]",
    "not valid Python": "def scores_by_hand():\n    return [1.2087,",
    "an error": "raise RuntimeError",
    "gone": None,
}


@pytest.mark.suite("sandbox")
@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_no_answer_to_a_warm_up_changes_a_grade_here_or_with_stock_nbgrader(notebooks, answer):
    source, _ = notebooks
    notebook = nbformat.reads(nbformat.writes(source), as_version=4)
    place = next(number for number, cell in enumerate(notebook.cells) if id_of(cell) == NAME)
    if answer is None:
        del notebook.cells[place - 1 : place + 2]
    else:
        notebook.cells[place]["source"] = answer
    questions = exercises.load("scoring", 0)
    wanted = {exercise.name: exercise.points for exercise in questions if exercise.is_automatic}
    isolation = proof.choose_trusted_isolation()
    graded = grade.grade(notebook, questions, isolation=isolation).by_exercise
    assert {name: verdict.earned for name, verdict in graded.items() if name in wanted} == wanted
    assert NAME not in graded
    assert proof._stock_points(notebook, questions, {}, isolation) == wanted


STUBBORN = """
while True:
    try:
        while True:
            pass
    except BaseException:
        pass
"""


@pytest.mark.suite("sandbox")
@pytest.mark.parametrize(
    ("answer", "limit", "words"),
    [
        ("while True:\n    pass", "cell_seconds", "It reached a limit: a cell used 2 seconds"),
        (STUBBORN, "cell_seconds", "It was run again without that cell."),
        (
            "def scores_by_hand():\n    while True:\n        pass",
            "cell_seconds",
            "It reached a limit: a cell used 2 seconds",
        ),
        ("import time\ntime.sleep(10**6)", "cell_idle_seconds", "waited 2 seconds"),
    ],
    ids=["loop", "loop that goes on after each error", "loop when it is checked", "sleep"],
)
def test_a_warm_up_that_never_ends_costs_no_exercise_its_points(notebooks, answer, limit, words):
    notebook = nbformat.reads(nbformat.writes(notebooks[0]), as_version=4)
    next(cell for cell in notebook.cells if id_of(cell) == NAME)["source"] = answer
    questions, limits = exercises.load("scoring", 0), Limits(cell_seconds=2, cell_idle_seconds=2)
    graded = grade.grade(notebook, questions, limits, proof.choose_trusted_isolation())
    wanted = {exercise.name: exercise.points for exercise in questions if exercise.is_automatic}
    assert {name: verdict.earned for name, verdict in graded.by_exercise.items() if name in wanted} == wanted
    assert graded.reached == {limit: 2.0}
    assert words in graded.failure


@pytest.mark.suite("sandbox")
def test_no_gradebook_page_table_report_or_export_knows_a_warm_up(demonstration, tmp_path):
    course, rows, students = demonstration
    with Gradebook(course.gradebook.url) as gradebook:
        (notebook,) = gradebook.find_assignment("scoring").notebooks
        assert not {NAME, f"{NAME}-test", check_id(NAME)} & {cell.name for cell in notebook.grade_cells}
        assert NAME not in {cell.name for cell in notebook.solution_cells}
    for name, row in rows.items():
        assert NAME not in row.points
        if not row.set_aside:
            page = BeautifulSoup(course.feedback(name, "scoring").read_text(encoding="utf-8"), "html.parser")
            assert TITLE not in page.get_text()
            assert "def scores_by_hand()" not in page.get_text()
            assert "1.2087" not in page.get_text()
    assert students["ines_half_finished"].points == rows["ines_half_finished"].total
    succeed("report", "scoring", "--course", course.root)
    succeed("export", "scoring", "--output", tmp_path / "marks.csv", "--course", course.root, status=3)
    (sheet,) = tmp_path.glob("*.csv")
    header = next(csv.reader(sheet.read_text(encoding="utf-8").splitlines()))
    assert not [column for column in header if column.endswith("scores_by_hand")]
    texts = [path.read_text(encoding="utf-8") for path in course.root.glob("*.html")]
    assert texts
    assert not any("scores_by_hand<" in text or TITLE in text for text in texts)


@pytest.mark.suite("assignments")
def test_the_demonstration_class_answers_warm_ups_right_wrong_and_not_at_all(notebooks):
    answers = set()
    for student in demo.load_students():
        if student.name in ("bela_einsum", "zita_forges_values", "jun_untouched"):
            notebook = nbformat.reads(demo.make_submission(student, "scoring", *notebooks), as_version=4)
            answers |= {cell.source for cell in notebook.cells if id_of(cell) == NAME}
    assert len(answers) == 3
