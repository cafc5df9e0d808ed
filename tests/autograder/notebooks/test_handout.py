"""A release is read back: its questions, its version, and the address of its chapter."""

import copy
import re

import nbformat
import pytest

from autograder.notebooks.assemble import source_notebook
from autograder.notebooks.cell_ids import id_of
from autograder.notebooks.handout import handout, topic_of, version_of
from tests.autograder.samples import TOPICS, notebook_of, topic_exercises


@pytest.fixture(scope="module")
def notebook():
    return notebook_of("scoring")


@pytest.mark.slow
@pytest.mark.parametrize("topic", TOPICS)
def test_it_has_all_exercises_with_title_and_text(topic):
    exercises = topic_exercises(topic)
    sheet = handout(notebook_of(topic))
    assert [question.name for question in sheet.questions] == [exercise.name for exercise in exercises]
    assert [question.is_written for question in sheet.questions] == [
        not exercise.is_automatic for exercise in exercises
    ]
    assert sheet.functions == tuple(exercise.function for exercise in exercises if exercise.is_automatic)
    assert topic_of(sheet) == topic
    assert sheet.title
    for question in sheet.questions:
        assert question.title
        assert question.text
        assert not re.match(r"#|\*[\d.]+ point", question.text)


def test_it_knows_the_address_of_its_chapter(notebook):
    assert handout(notebook).chapter == ""
    sheet = handout(source_notebook("scoring", topic_exercises("scoring"), website="https://course.example.edu/"))
    assert sheet.chapter == "https://course.example.edu/book/scoring.html"


def test_the_version_that_the_receipt_states_is_the_one_that_follows_from_what_is_handed_out(notebook):
    stated = version_of(notebook.cells)
    assert f'version="{stated}"' in next(cell.source for cell in notebook.cells if id_of(cell) == "receipt")
    without = [cell for cell in notebook.cells if id_of(cell) != "receipt"]
    assert version_of(without) == stated


@pytest.mark.suite("assignments")
def test_a_release_has_the_version_of_its_source(released):
    source, release = (
        nbformat.read(path, as_version=4) for path in (released.source("scoring"), released.releases("scoring").file)
    )
    without = [[cell for cell in notebook.cells if id_of(cell) != "receipt"] for notebook in (source, release)]
    assert version_of(without[0]) == version_of(without[1]) == handout(release).version


@pytest.mark.parametrize(
    ("cell_id", "changes"),
    [("scoring-race-text", True), ("compare", True), ("scoring-race", False), ("heading", False)],
)
def test_another_text_or_check_is_another_version(notebook, cell_id, changes):
    other = copy.deepcopy(notebook)
    other.cells = [cell for cell in other.cells if id_of(cell) != "receipt"]
    for cell in other.cells:
        if id_of(cell) == cell_id:
            cell["source"] += " "
    assert (version_of(other.cells) != handout(notebook).version) == changes
