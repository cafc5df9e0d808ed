"""A page that is put together from its cells is the page that nbgrader would make, and remembers nothing of a student."""

import json

import nbformat
import pytest
from bs4 import BeautifulSoup
from traitlets.config.loader import PyFileConfigLoader

from autograder.courses.course import Course
from autograder.courses.record import Recorder
from autograder.feedback import harmless, pages, rendering

SHOWN = ["ada_loops", "kofi_noisy", "emil_no_tanh", "mara_copied_cells", "tom_patches_tests", "jun_untouched"]


@pytest.fixture(scope="module")
def graded(demonstration):
    """What makes a page of the demonstration class: arguments of ``pages.feedback``, by student."""
    course = demonstration[0]
    released = course.released("scoring").notebooks[0]
    settings = pages.settings_of(PyFileConfigLoader(str(course.config)).load_config())
    about = "scoring", settings, pages.sources(released)
    with Recorder(course, "scoring") as recorder:
        marks = {name: recorder.standing(name).marks for name in SHOWN}
    return {name: (course.autograded(name, "scoring").read_bytes(), marks[name], name, *about) for name in SHOWN}


@pytest.mark.suite("assignments")
@pytest.mark.parametrize("name", SHOWN)
def test_a_page_is_the_one_that_the_exporter_makes_of_the_whole_notebook(graded, monkeypatch, name):
    page = pages.feedback(*graded[name]).decode()
    whole = rendering._templates(json.dumps(graded[name][4], sort_keys=True))
    monkeypatch.setattr(whole.exporter, "preprocessors", ["all cells together"])
    expected = pages.feedback(*graded[name]).decode()
    assert page != expected  # the exporter writes it anew, in its own spelling
    assert str(BeautifulSoup(page, features="html.parser")) == expected


@pytest.mark.suite("assignments")
@pytest.mark.parametrize("name", SHOWN)
def test_the_page_that_was_made_where_it_was_graded_is_that_of_what_is_kept(graded, demonstration, name):
    course: Course = demonstration[0]
    assert course.feedback(name, "scoring").read_bytes() == pages.feedback(*graded[name])


@pytest.mark.suite("assignments")
def test_cells_that_all_have_are_rendered_once_and_nobodys_own_is_remembered(graded):
    pages.feedback(*graded["ada_loops"])
    before = rendering._locked.cache_info()
    pages.feedback(*graded["emil_no_tanh"])
    after = rendering._locked.cache_info()
    assert after.hits > before.hits
    assert after.currsize == before.currsize  # all that is new on the second page is the student's


@pytest.mark.parametrize(
    ("change", "everybodys"),
    [
        ({}, True),
        ({"source": "mine"}, False),
        ({"outputs": [{"output_type": "stream", "name": "stdout", "text": "mine"}]}, False),
        ({"attachments": {"mine.png": {}}}, False),
        ({"metadata": {}}, False),
        ({"metadata": {"nbgrader": {"locked": False}}}, False),
    ],
)
def test_a_cell_with_anything_of_a_student_is_not_everybodys(change, everybodys):
    cell = {"cell_type": "code", "source": "handed out", "outputs": [], "metadata": {"nbgrader": {"locked": True}}}
    assert rendering._is_everybodys(nbformat.from_dict({**cell, **change}), {"handed out"}) == everybodys


def test_code_that_was_handed_out_is_set_in_colours_once_and_other_code_each_time():
    asked = []

    def highlight(source, language=None, metadata=None):
        asked.append(source)
        return f"<b>{source}</b>"

    in_colours = rendering._remembering(highlight)
    context = {"resources": {"released": {"handed out"}}}
    shown = [in_colours(context, source) for source in ("handed out", "own", "handed out", "own")]
    assert shown == [f"<b>{source}</b>" for source in ("handed out", "own", "handed out", "own")]
    assert asked == ["handed out", "own", "own"]


def test_no_answer_can_end_a_cell_of_the_page(monkeypatch):
    """The cells are told apart by a mark that is drawn after everything on the page was written."""
    drawn = []
    honest = rendering.secrets.token_hex
    monkeypatch.setattr(rendering.secrets, "token_hex", lambda: drawn.append(honest()) or drawn[-1])
    template = rendering._templates(json.dumps({}))
    cells = [nbformat.v4.new_markdown_cell("one"), nbformat.v4.new_markdown_cell("two")]
    template.cells(cells, ())
    again = [nbformat.v4.new_markdown_cell(drawn[0]), nbformat.v4.new_code_cell(drawn[0])]
    first, second = template.cells(again, ())
    assert all(drawn[0] in BeautifulSoup(part, features="html.parser").text for part in (first, second))
    assert len(set(drawn)) == 2


def test_a_picture_has_words_in_its_place_as_nbconvert_gives_it_some():
    output = nbformat.v4.new_output("display_data", data={"image/png": "aGk="})
    (shown,) = rendering._templates(json.dumps({})).cells([nbformat.v4.new_code_cell("plot()", outputs=[output])], ())
    assert f'alt="{rendering.NO_DESCRIPTION}"' in shown
    assert "base64,aGk=" in shown


def test_the_templates_are_those_of_the_courses_own_filters():
    filters = rendering._templates(json.dumps({})).exporter.environment.filters
    assert filters["markdown2html"] is harmless.markdown
