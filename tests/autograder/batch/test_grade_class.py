"""The demonstration class: everybody gets the right grade, and no submission affects another."""

import html
import itertools
import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from unittest import mock

import nbformat
import pytest

from autograder import exercises
from autograder.batch.context import GradingOptions
from autograder.batch.grade_class import grade_class
from autograder.courses import demo
from autograder.courses.course import Course
from autograder.grading import grade
from autograder.notebooks.cell_ids import id_of
from autograder.sandbox import Limits
from tests.autograder.essays import hand_in_as
from tests.autograder.samples import read_files

pytestmark = pytest.mark.suite("sandbox")
CLASS = demo.load_students()


def feedback(course, name):
    """Return the text of a feedback page, without styles, scripts and pictures."""
    page = course.feedback(name, "scoring").read_text()
    page = re.sub(r"<style.*?</style>|<script.*?</script>|\"data:[^\"]*\"", "", page, flags=re.DOTALL)
    return html.unescape(re.sub(r"<[^>]+>", "", page))


def autograded(course, name):
    return nbformat.read(course.root / "autograded" / name / "scoring" / "scoring.ipynb", as_version=4)


@pytest.mark.parametrize("name", [student.name for student in CLASS])
def test_everybody_gets_the_points_that_the_answers_deserve(demonstration, name):
    _, rows, students = demonstration
    assert not rows[name].failed
    assert ("set aside" if rows[name].set_aside else rows[name].total) == students[name].points


@pytest.mark.parametrize("name", [student.name for student in CLASS if student.hints])
def test_every_listed_mistake_is_answered_with_its_own_hint(demonstration, name):
    _, rows, students = demonstration
    hints = {mistake: hint for e in exercises.load("scoring", 0) for mistake, hint in e.hints.items()}
    for mistake in students[name].hints:
        assert any(hints[mistake] in hint_texts for hint_texts in rows[name].hints), mistake


def test_the_class_is_as_varied_as_a_real_one():
    assert len(CLASS) >= 16
    assert {student.kind for student in CLASS} == set(demo.KINDS)


def test_what_was_set_aside_has_a_page_that_says_why_and_what_to_do(demonstration):
    course, rows, _ = demonstration
    aside = [name for name, row in rows.items() if row.set_aside]
    assert aside
    for name in aside:
        assert "not graded yet" in feedback(course, name)
        assert "Remedy" in feedback(course, name)


def test_everybody_else_has_a_feedback_page_with_their_hints(demonstration):
    course, rows, _ = demonstration
    for name, row in rows.items():
        if not row.set_aside:
            page = feedback(course, name)
            assert "Additive scores" in page
            assert all(hint in page for hint in row.hints), name


def test_no_page_of_feedback_shows_what_is_packed(demonstration):
    course, rows, _ = demonstration
    for name, row in rows.items():
        if not row.set_aside:
            page = feedback(course, name)
            assert "b64decode" not in page
            assert "What the check said" in page


def test_no_page_of_feedback_asks_another_host_for_anything(demonstration):
    course, rows, _ = demonstration
    for name in rows:
        page = course.feedback(name, "scoring").read_text(encoding="utf-8")
        assert not re.findall(
            r"<(?:script|img|link|iframe)\b[^>]*[\s\"'](?:src|href)=[\"']?(?:https?:)?//|@import", page
        ), name
    typeset = course.feedback("ada_loops", "scoring").read_text(encoding="utf-8")
    assert "<math" in typeset
    assert "<script" not in typeset


def test_feedback_shows_no_hidden_input_and_no_expected_value(demonstration):
    course, rows, _ = demonstration
    hidden = set()
    for exercise in exercises.load("scoring", 0):
        for case in exercise.hidden if exercise.kind == "code" else ():
            values = case.expected.values() if isinstance(case.expected, dict) else [case.expected]
            hidden |= {f"{x:.6g}" for value in values for x in value.flat if len(f"{x:.6g}") > 6}
            # some numbers of three decimals occur by chance, so look for pairs of them
            for array in case.inputs.values():
                numbers = [repr(x) for x in array.ravel().tolist()]
                hidden |= {f"{a}, {b}" for a, b in itertools.pairwise(numbers) if min(len(a), len(b)) > 4}
    assert len(hidden) > 100
    for name, row in rows.items():
        if not row.set_aside:
            page = feedback(course, name)
            assert "HIDDEN" not in page
            # a page may quote the student's first wrong value, which may begin like a hidden number
            assert len(substrings(hidden, page)) < 3, name


def substrings(texts, page):
    """Return those of ``texts``, each at least 7 characters long, that occur in ``page``, in a single pass."""
    by_start = {}
    for text in texts:
        by_start.setdefault(text[:7], []).append(text)
    starts = (n for n in range(len(page)) if page[n : n + 7] in by_start)
    return {text for n in starts for text in by_start[page[n : n + 7]] if page.startswith(text, n)}


def test_an_autograded_notebook_has_lost_its_hidden_tests_and_each_test_has_one_trusted_output(demonstration):
    course, rows, _ = demonstration
    for name, row in rows.items():
        for cell in autograded(course, name).cells if not row.set_aside else ():
            assert "HIDDEN" not in cell.source
            if cell.metadata.get("nbgrader", {}).get("grade_id", "").endswith("-test"):
                (output,) = cell.outputs
                assert 0 <= float(output.data["text/plain"]) <= cell.metadata.nbgrader.points


def test_what_a_function_prints_when_it_is_called_carries_no_hidden_input_out(demonstration):
    text = nbformat.writes(autograded(demonstration[0], "kofi_noisy"))
    (exercise,) = (e for e in exercises.load("scoring", 0) if e.function == "additive_score")
    assert "projecting (1, 2)" in text
    assert str(exercise.hidden[0].inputs["query"].shape) not in text


def test_grading_again_runs_nothing_and_changes_nothing(demonstration, monkeypatch):
    course, rows, _ = demonstration

    def refuse(*args, **kwargs):
        raise AssertionError("it ran again")

    monkeypatch.setattr("autograder.grading.submission.grade_task", refuse)
    monkeypatch.setattr("autograder.batch.grade_class.start_workers", refuse)
    limits = Limits(cell_seconds=4, call_seconds=2, submission_seconds=60)
    rows_again = grade_class(
        course, "scoring", GradingOptions(limits), students=["ada_loops", "emil_no_tanh", "omar_not_a_notebook"]
    )
    assert rows_again == [rows[row.student] for row in rows_again]


def test_notebooks_and_pages_that_are_gone_are_written_again_from_the_stored_verdicts(demonstration, tmp_path):
    shutil.copytree(demonstration[0].root, tmp_path / "course")
    course = Course.at(tmp_path / "course")
    shutil.rmtree(course.root / "submitted" / "wim_exits_in_calls")  # a run that was ended has no stored verdict
    for folder in ("autograded", "feedback"):
        shutil.rmtree(course.root / folder / "wim_exits_in_calls")
    folders = course.root / "autograded", course.root / "feedback"
    before = read_files(*folders)
    for folder in folders:
        shutil.rmtree(folder)
    with mock.patch.object(grade, "grade", side_effect=AssertionError("a notebook ran")), ThreadPoolExecutor(1) as pool:
        options = GradingOptions(demo.LIMITS, accepts_provisional=True)
        rows = grade_class(course, "scoring", options, executor=pool)
    assert [row.student for row in rows if row.failed] == []
    after = read_files(*folders)
    assert after.keys() == before.keys()
    assert [str(path) for path in before if after[path] != before[path]] == []


def test_a_fault_of_ours_is_reported_and_never_stored(course, monkeypatch):
    hand_in_as(course, "ada_loops")

    def stumble(*args, **kwargs):
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr("autograder.grading.submission.grade_task", stumble)
    with ThreadPoolExecutor(1) as executor:
        (row,) = grade_class(course, "scoring", students=["ada_loops"], executor=executor)
    assert "a fault of ours" in row.failed
    assert not list((course.root / ".autograder").glob("verdicts/**/*.json"))


def test_grading_prints_no_receipt_which_would_say_when_it_was_graded(demonstration):
    course, rows, _ = demonstration
    for name, row in rows.items():
        if not row.set_aside:
            printed = [cell.outputs for cell in autograded(course, name).cells if id_of(cell) == "receipt"]
            assert printed in ([], [[]]), name  # somebody may have deleted the cell


def test_what_was_mended_is_said_at_the_head_of_the_feedback(demonstration):
    course, rows, _ = demonstration
    page = feedback(course, "lena_deleted_cells")
    assert "This notebook was repaired" in page
    assert rows["lena_deleted_cells"].notes
    assert "This notebook was repaired" not in feedback(course, "ada_loops")
