"""Exercises of a page are read with their line numbers, and markup that notebooks cannot show is refused."""

import pytest

from autograder.errors import CourseError
from autograder.notebooks.chapter import chapter_texts
from tests.autograder.notebooks.test_assemble import PAGE, page, with_line


def test_exercises_are_read_with_label_title_body_and_line(tmp_path):
    title, texts = chapter_texts(page(tmp_path))
    assert title == "Toys: a chapter"
    assert list(texts) == ["toy-double", "toy-why"]
    double, why = texts.values()
    assert (double.title, why.title) == ("Double it", "Why?")
    assert double.body.startswith("Return *twice* `x`")
    assert double.body.endswith("- one\n- two")
    assert why.body.startswith("Say `why`.")
    lines = PAGE.splitlines()
    assert lines[double.line - 1] == "```{exercise} Double it"
    assert lines[why.line - 1] == ":::{exercise} Why?"


FORBIDDEN = {
    "role": ("{math}`x`", "a role inside an exercise"),
    "role in a line of text": ("see {cite:p}`bahdanau2015`", "a role inside an exercise"),
    "colon directive": ("::: {note}\nlook\n:::", "a directive inside an exercise"),
    "tilde directive": ("~~~{note}\nlook\n~~~", "a directive inside an exercise"),
    "html block": ("<div>look</div>", "a HTML inside an exercise"),
    "html in a line": ("look <b>here</b>", "a HTML inside an exercise"),
    "label": ("(here)=", "a label inside an exercise"),
    "role in a list": ("- one {math}`x`", "a role inside an exercise"),
}


@pytest.mark.parametrize(("markup", "what"), FORBIDDEN.values(), ids=FORBIDDEN)
def test_markup_that_a_notebook_cannot_show_is_refused_with_file_and_line(tmp_path, markup, what):
    text = with_line(f"\n{markup}\n")
    line = text.splitlines().index(markup.splitlines()[0]) + 1
    path = page(tmp_path, text)
    with pytest.raises(CourseError, match=what) as caught:
        chapter_texts(path)
    assert str(caught.value).startswith(f"{path}, line {line}: ")
    assert "\n  Remedy: " in str(caught.value)


@pytest.mark.parametrize("markup", ["$$y = 3x$$ (an-equation)", "% a comment of MyST"])
def test_markup_that_a_notebook_shows_as_it_stands_is_refused(tmp_path, markup):
    with pytest.raises(CourseError, match="inside an exercise"):
        chapter_texts(page(tmp_path, with_line(f"\n{markup}\n")))


def test_the_same_markup_outside_an_exercise_is_let_through(tmp_path):
    text = PAGE + "\n(here)=\n\n<div>look</div>\n\n```{note}\nlook {math}`x`\n```\n"
    assert len(chapter_texts(page(tmp_path, text))[1]) == 2


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (PAGE.replace(":label: toy-double", ":label: toy-why"), "the exercise toy-why appears twice here"),
        (PAGE.replace(":label: toy-double\n", ""), "an exercise without label or text"),
        (
            PAGE.replace("Say `why`.\n", "").replace('```python\nprint("plain code is allowed")\n```\n', ""),
            "without label",
        ),
    ],
    ids=["twice", "no label", "no text"],
)
def test_an_exercise_that_cannot_be_told_apart_is_refused_with_file_and_line(tmp_path, text, what):
    with pytest.raises(CourseError, match=rf"(?s)toy\.md, line \d+: .*{what}.*\n  Remedy: "):
        chapter_texts(page(tmp_path, text))
