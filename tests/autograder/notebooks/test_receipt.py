"""The receipt at the end of a notebook: its count of answers, and a code that changes only with them."""

import copy
import json

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook

from autograder.notebooks import receipt, repair
from autograder.notebooks.cell_ids import id_of
from autograder.notebooks.handout import handout, receipt_of, receipt_of_file
from tests.autograder.samples import TOPICS, notebook_of

STARTER = "def one(x):\n    # YOUR CODE HERE\n    raise NotImplementedError()"
ANSWER = "def one(x):\n    return x + 1"


def code_of(*sources, functions=("one", "two")):
    return receipt.code_of("toy", receipt.answers_in(sources, functions))


@pytest.mark.parametrize(
    "saved",
    [
        "def one(x):\r\n    return x + 1\r\n",
        "def one(x):  \n    return x + 1",
        "\n\ndef one(x):\n    return x + 1\n\n",
        "def one(x):\r    return x + 1",
    ],
)
def test_what_an_editor_changes_when_it_saves_changes_no_code(saved):
    assert code_of(saved) == code_of(ANSWER)


@pytest.mark.parametrize(
    "other",
    [
        "def one(x):\n    return x + 2",
        "def one(x):\n    return x  + 1",
        "def one(x):\n     return x + 1",
        "# mine\ndef one(x):\n    return x + 1",
        STARTER,
        "",
    ],
)
def test_any_other_answer_has_another_code(other):
    assert code_of(other) != code_of(ANSWER)


def test_cells_that_answer_nothing_change_no_code():
    assert code_of("import numpy", ANSWER, "one(3)", "one == 3", "def one_more(): ...") == code_of(ANSWER)


def test_of_several_answers_the_last_one_counts():
    for last in ("one = lambda x: x", "class one: ...", "async def one(x): ...", "def one (x): ..."):
        assert code_of(ANSWER, last) == code_of(last) != code_of(ANSWER)


def test_the_order_of_answers_to_different_exercises_changes_no_code():
    second_answer = "def two(x): return x"
    assert code_of(ANSWER, second_answer) == code_of(second_answer, ANSWER)


def test_an_answer_counts_as_such_once_its_starter_is_gone():
    answers = receipt.answers_in([STARTER, "def two(x): return 2"], ["one", "two", "three"])
    assert receipt.count_of(answers) == 1


def test_the_mark_of_a_starter_is_looked_for_line_by_line():
    """A pattern that could span lines would rescan all blank lines from each of them, in quadratic time."""
    text = "\n" * 200_000 + "  raise NotImplementedError()  " + "\n" * 200_000
    match = receipt.UNANSWERED.search(text)
    assert match.group() == "  raise NotImplementedError()  "
    assert receipt.UNANSWERED.search("raise \nNotImplementedError()") is None


def test_text_that_no_file_can_hold_has_the_code_of_what_a_file_holds_instead():
    assert code_of("def one(): return '\ud800'") == code_of("def one(): return '?'")


def test_where_there_is_no_notebook_it_says_so(capsys, monkeypatch):
    monkeypatch.setattr(receipt, "ran", lambda: None)
    receipt.receipt("toy", "1", ["one"])
    assert capsys.readouterr().out == "The receipt needs a notebook: JupyterLab, VS Code or a hosted one.\n"


def test_it_says_what_it_does_not_see(capsys, monkeypatch):
    monkeypatch.setattr(receipt, "ran", lambda: [ANSWER])
    receipt.receipt("toy", "0a1b2c", ["one", "two"], written=2)
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["Receipt: toy, version 0a1b2c", "Answered: 1 of 2 exercises in code"]
    assert "2 written answers" in lines[3]
    assert lines[5] == f"Code: {code_of(ANSWER)}"


def lines_of(capsys, monkeypatch, *sources, functions=("one", "two", "three")):
    """Return the lines of the receipt between the count of answers and the time."""
    monkeypatch.setattr(receipt, "ran", lambda: list(sources))
    receipt.receipt("toy", "0a1b2c", functions)
    return capsys.readouterr().out.splitlines()[2:-3]


def test_it_names_what_is_not_answered_and_what_has_a_syntax_error(capsys, monkeypatch):
    broken = "def two(x):\n    return x +"
    monkeypatch.setattr(receipt, "ran", lambda: [ANSWER, broken])
    receipt.receipt("toy", "0a1b2c", ["one", "two", "three"])
    assert "Answered: 1 of 3 exercises in code, and 1 with a syntax error\n" in capsys.readouterr().out
    lines = lines_of(capsys, monkeypatch, STARTER, broken)
    assert lines == ["Not answered, or not run: one, three", "With a syntax error: two"]
    assert lines_of(capsys, monkeypatch, ANSWER, functions=["one"]) == []
    assert lines_of(capsys, monkeypatch, broken, functions=["two"]) == ["With a syntax error: two"]


@pytest.mark.parametrize("before", ["%matplotlib inline\n", "!ls\n", "x?\n", "await x\n"])
def test_what_only_a_notebook_can_run_is_no_syntax_error(before, capsys, monkeypatch):
    assert lines_of(capsys, monkeypatch, before + ANSWER, functions=["one"]) == []


@pytest.mark.parametrize(
    "text",
    [
        "def one(x):\n  return x\n return 1",
        "def one(x):\n    return '\0'",
        "def one(x: (\n",
        f"def one(x):\n    return {'-' * 100_000}x",
    ],
    ids=["indented wrongly", "a null character", "a bracket", "nested too deeply"],
)
def test_every_text_that_python_cannot_read_is_a_syntax_error(text, capsys, monkeypatch):
    assert lines_of(capsys, monkeypatch, text, functions=["one"]) == ["With a syntax error: one"]


@pytest.fixture(scope="module")
def notebook():
    """Part of a topic's notebook, with two answers and the cells that they need, run in a kernel."""
    whole = notebook_of("scoring")
    kept_ids = ("heading", "imports", "compare", "scoring-dot_product_score", "scoring-additive_score", "receipt")
    whole.cells = [cell for cell in whole.cells if id_of(cell) in kept_ids or id_of(cell).endswith("-text")]
    whole.cells.insert(-1, nbformat.v4.new_code_cell("%time mine = 1"))
    NotebookClient(whole, timeout=120).execute()
    return whole


@pytest.fixture(scope="module")
def asked():
    return handout(notebook_of("scoring"))


def as_file(notebook):
    return nbformat.writes(notebook).encode()


@pytest.mark.suite("assignments")
def test_a_kernel_prints_the_code_that_the_file_has(notebook, asked):
    file_receipt = receipt_of_file(as_file(notebook), asked)
    assert file_receipt.printed == file_receipt.code
    assert (file_receipt.answered, file_receipt.asked) == (2, len(asked.functions))
    (output,) = notebook.cells[-1].outputs
    assert f"version {asked.version}" in output.text
    assert f"2 of {len(asked.functions)} exercises in code" in output.text
    assert "3 written answers" in output.text


@pytest.mark.suite("assignments")
def test_run_all_reaches_the_receipt_whatever_error_an_answer_has(asked):
    """Software that runs all cells, such as JupyterLab and nbclient, goes on after a cell with the tag raises-exception."""
    whole, broken = notebook_of("scoring"), "scoring-dot_product_score"
    for cell in whole.cells:
        if id_of(cell) == broken:
            cell["source"] = "def dot_product_score(query, keys, W=None):\n    return keys @"
    kept_ids = ("imports", "compare", broken, f"{broken}-check", "scoring-additive_score", "receipt")
    whole.cells = [cell for cell in whole.cells if id_of(cell) in kept_ids]
    NotebookClient(whole, timeout=120).execute()
    text = whole.cells[-1].outputs[0].text
    assert "With a syntax error: dot_product_score\n" in text
    assert "additive_score" not in text.partition("With a syntax error")[0].replace("batched_additive_score", "")
    file_receipt = receipt_of_file(as_file(whole), asked)
    assert file_receipt.printed == file_receipt.code


@pytest.mark.parametrize("topic", TOPICS)
def test_every_cell_that_students_change_or_whose_code_is_theirs_is_tagged_so(topic):
    others = {"imports", "compare", "receipt", "setup", "provided"}
    for cell in notebook_of(topic).cells:
        if cell.cell_type == "code" and id_of(cell) not in others and not id_of(cell).endswith("-test"):
            assert cell.metadata.tags == ["raises-exception"], id_of(cell)


@pytest.mark.suite("assignments")
def test_saving_it_with_other_software_changes_no_code(notebook, asked):
    code = receipt_of_file(as_file(notebook), asked).code
    data = json.loads(as_file(notebook))
    for number, cell in enumerate(data["cells"]):
        cell["id"], cell["metadata"] = f"other-{number}", {"vscode": {"languageId": "python"}}
        cell["source"] = "".join(cell["source"]).replace("\n", "\r\n").splitlines(keepends=True)
        if cell["cell_type"] == "code":
            cell["outputs"], cell["execution_count"] = [], None
    assert receipt_of_file(json.dumps(data, indent=4).encode(), asked).code == code


@pytest.mark.suite("assignments")
def test_a_file_that_was_changed_after_it_was_run_says_two_codes(notebook, asked):
    changed = copy.deepcopy(notebook)
    (answer,) = [cell for cell in changed.cells if id_of(cell) == "scoring-dot_product_score"]
    answer["source"] += "\n# once more"
    file_receipt = receipt_of_file(as_file(changed), asked)
    assert file_receipt.printed
    assert file_receipt.code != file_receipt.printed


def test_a_notebook_that_was_never_run_prints_no_code(asked):
    file_receipt = receipt_of_file(as_file(notebook_of("scoring")), asked)
    assert (file_receipt.printed, file_receipt.asked) == ("", len(asked.functions))


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"{}", b'{"cells": 3}', b'{"cells": [{"cell_type": "code"}]}', b"[" * 9999]
)
def test_what_is_no_notebook_has_no_receipt(content, asked):
    assert receipt_of_file(content, asked) is None


def test_the_receipt_of_cells_is_that_of_their_file(asked):
    source = notebook_of("scoring")
    sources = [cell.source for cell in source.cells if cell.cell_type == "code"]
    assert receipt_of(sources, asked) == receipt_of_file(as_file(source), asked)


@pytest.mark.parametrize(
    "cells", [["x"] * (repair.MAX_CELLS + 1), ["x" * (repair.MAX_CHARACTERS + 1)]], ids=["cells", "characters"]
)
def test_what_is_too_much_to_be_graded_has_no_receipt(cells, asked):
    notebook = new_notebook(cells=[new_code_cell(source) for source in cells])
    assert receipt_of_file(nbformat.writes(notebook).encode(), asked) is None
