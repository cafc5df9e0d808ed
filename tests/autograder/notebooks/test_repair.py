"""Repair leaves each graded cell exactly once, whatever happened to the notebook, or refuses the file."""

import copy
import json
from functools import cache

import nbformat
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_raw_cell

from autograder.errors import CourseError
from autograder.notebooks.repair import read_notebook, repair
from autograder.notebooks.submitted_file import MAX_MB, read_file

GRADED = {"toy-double-test", "toy-half-test", "toy-why"}


def meta(grade_id, grade=False, solution=False, locked=True):
    marks = {"schema_version": 3, "grade_id": grade_id, "grade": grade, "solution": solution, "locked": locked}
    return {"nbgrader": {**marks, "task": False, **({"points": 1} if grade else {})}}


@cache
def make_template():
    cells = [
        new_markdown_cell("# Toy", metadata=meta("heading")),
        new_code_cell("import math", metadata=meta("imports")),
    ]
    for name in ("toy-double", "toy-half"):
        cells += [
            new_code_cell("raise NotImplementedError()", metadata=meta(name, solution=True, locked=False)),
            new_code_cell("check()", metadata=meta(f"{name}-check")),
            new_code_cell("# hidden", metadata=meta(f"{name}-test", grade=True)),
        ]
    cells.append(new_markdown_cell("Why?", metadata=meta("toy-why", grade=True, solution=True, locked=False)))
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number:03d}"
    return new_notebook(cells=cells)


def template():
    return copy.deepcopy(make_template())


def as_type(kind, cell):
    new_cell = {"code": new_code_cell, "markdown": new_markdown_cell, "raw": new_raw_cell}[kind]
    return new_cell(cell.source, metadata=cell.metadata, id=cell["id"])


def grade_ids(notebook):
    return [cell.metadata.nbgrader.grade_id for cell in notebook.cells if "nbgrader" in cell.metadata]


def cell_of(notebook, grade_id):
    return next(c for c in notebook.cells if c.metadata.get("nbgrader", {}).get("grade_id") == grade_id)


def assert_whole(notebook):
    nbformat.validate(notebook, relax_add_props=True)  # nbconvert validates like this first
    ids = grade_ids(notebook)
    assert len(ids) == len(set(ids))
    assert set(ids) >= GRADED
    assert len({cell["id"] for cell in notebook.cells}) == len(notebook.cells)


def read_submission(path, template, topic, max_mb=MAX_MB):
    return read_notebook(read_file(path, max_mb=max_mb), [template], topic)[0]


def test_an_untouched_notebook_stays_as_it_is():
    notebook = template()
    assert repair(notebook, template()) == []
    assert notebook == template()


def test_a_deleted_graded_cell_is_put_back_at_the_end():
    notebook = template()
    notebook.cells.remove(cell_of(notebook, "toy-double-test"))
    assert repair(notebook, template()) == ["The cell toy-double-test was missing; it was added at the end."]
    assert grade_ids(notebook)[-1] == "toy-double-test"
    assert_whole(notebook)


def test_an_answer_cell_that_was_deleted_is_not_put_back():
    notebook = template()
    notebook.cells.remove(cell_of(notebook, "toy-double"))
    assert repair(notebook, template()) == []
    assert "toy-double" not in grade_ids(notebook)


def test_of_several_copies_the_last_one_counts():
    notebook = template()
    twin = copy.deepcopy(cell_of(notebook, "toy-double"))
    twin["source"] = "def double(x): return 2 * x"
    notebook.cells.append(twin)
    assert repair(notebook, template()) == [
        "There were several cells named toy-double; the last one counts.",
        "The answer toy-double stood below its check; the check was moved below the answer.",
    ]
    assert cell_of(notebook, "toy-double").source == twin["source"]
    assert grade_ids(notebook)[-3:] == ["toy-double", "toy-double-check", "toy-double-test"]
    assert_whole(notebook)


def test_a_check_above_its_answer_is_moved_alone():
    notebook = template()
    check = cell_of(notebook, "toy-double-check")
    notebook.cells.remove(check)
    notebook.cells.insert(0, check)
    assert repair(notebook, template()) == []
    assert grade_ids(notebook) == grade_ids(template())


def test_a_locked_cell_that_was_edited_gets_its_text_back():
    notebook = template()
    cell_of(notebook, "toy-double-test")["source"] = "1"
    cell_of(notebook, "toy-half-check")["source"] = "pass"
    assert len(repair(notebook, template())) == 2
    assert [cell.source for cell in notebook.cells] == [cell.source for cell in template().cells]


OF_THE_BOOK = (
    "# Toy\n\nThis assignment belongs to the chapter [Toy](https://book.edu/toy.html). It **has** 2 exercises."
)
OF_A_COURSE = (
    "# Toy\n\n**Attention. Due: Monday.**\n\nThis assignment belongs to the chapter *Toy*. It **has** 2 exercises."
)


@pytest.mark.parametrize(("text", "notes"), [(OF_THE_BOOK, 0), (OF_A_COURSE, 0), (OF_A_COURSE + " I passed.", 1)])
def test_a_heading_of_the_book_s_own_notebook_gets_the_course_s_text_without_a_note(text, notes):
    original, notebook = template(), template()
    cell_of(original, "heading")["source"], cell_of(notebook, "heading")["source"] = OF_A_COURSE, text
    assert len(repair(notebook, original)) == notes
    assert cell_of(notebook, "heading").source == OF_A_COURSE


def test_an_answer_keeps_its_text():
    notebook = template()
    cell_of(notebook, "toy-double")["source"] = "def double(x): return 2 * x"
    cell_of(notebook, "toy-why")["source"] = "Because."
    assert repair(notebook, template()) == []
    assert cell_of(notebook, "toy-double").source == "def double(x): return 2 * x"
    assert cell_of(notebook, "toy-why").source == "Because."


def test_metadata_that_was_changed_is_put_back():
    notebook = template()
    cell_of(notebook, "toy-half-test").metadata.nbgrader.update(points=100, locked=False, grade=False)
    del cell_of(notebook, "toy-why").metadata.nbgrader["grade"]
    repair(notebook, template())
    assert [cell.metadata for cell in notebook.cells] == [cell.metadata for cell in template().cells]


@pytest.mark.parametrize("broken", ["text", None, [], {}, {"grade_id": None}, {"grade_id": 3}, {"grade_id": "nobody"}])
def test_marks_that_cannot_be_read_are_taken_off_and_the_graded_cell_put_back(broken):
    notebook = template()
    cell_of(notebook, "toy-double-test").metadata["nbgrader"] = broken
    repair(notebook, template())
    assert_whole(notebook)
    assert len(notebook.cells) == len(template().cells) + 1


@pytest.mark.parametrize(("grade_id", "kind"), [("toy-double", "markdown"), ("toy-why", "code"), ("toy-why", "raw")])
def test_a_cell_of_another_type_is_turned_back(grade_id, kind):
    notebook = template()
    place = notebook.cells.index(cell_of(notebook, grade_id))
    notebook.cells[place] = as_type(kind, notebook.cells[place])
    repair(notebook, template())
    assert [cell.cell_type for cell in notebook.cells] == [cell.cell_type for cell in template().cells]
    assert_whole(notebook)


def test_cells_without_ids_and_with_doubled_ids_get_their_own():
    notebook = template()
    del notebook.cells[0]["id"]
    for cell in notebook.cells[1:4]:
        cell["id"] = "same"
    repair(notebook, template())
    assert_whole(notebook)


def test_an_id_that_an_earlier_repair_gave_is_not_given_again():
    notebook = template()
    for cell, cell_id in zip(notebook.cells, ("repaired-2", "same", "same"), strict=False):
        cell["id"] = cell_id
    repair(notebook, template())
    assert_whole(notebook)


@pytest.mark.parametrize("cell_id", ["", "with a space", "x" * 65, "नमस्ते"], ids=["empty", "space", "long", "Hindi"])
def test_ids_that_notebooks_must_not_have_are_replaced(cell_id):
    notebook = template()
    notebook.cells[2]["id"] = cell_id
    repair(notebook, template())
    assert_whole(notebook)


STEPS = st.lists(
    st.tuples(st.sampled_from(["delete", "copy", "move", "unmark", "edit", "retype"]), st.integers(0, 99)), max_size=20
)


def battered(notebook, steps):
    for what, number in steps:
        if not notebook.cells:
            break
        place = number % len(notebook.cells)
        cell = notebook.cells[place]
        if what == "delete":
            del notebook.cells[place]
        elif what == "copy":
            notebook.cells.insert(number * 7 % len(notebook.cells), copy.deepcopy(cell))
        elif what == "move":
            notebook.cells.append(notebook.cells.pop(place))
        elif what == "unmark":
            cell.metadata.pop("nbgrader", None)
        elif what == "edit":
            cell["source"] += "\n# edited"
        else:
            notebook.cells[place] = as_type("markdown" if cell.cell_type == "code" else "code", cell)
    return notebook


@given(STEPS)
def test_a_battered_notebook_has_every_graded_cell_exactly_once(steps):
    notebook = battered(template(), steps)
    repair(notebook, template())
    assert_whole(notebook)


@given(STEPS)
def test_repairing_twice_changes_nothing_more(steps):
    notebook = battered(template(), steps)
    repair(notebook, template())
    once = copy.deepcopy(notebook)
    assert repair(notebook, template()) == []
    assert notebook == once


@given(STEPS, STEPS)
def test_a_repaired_notebook_that_is_battered_again_can_be_repaired_again(before, after):
    notebook = battered(template(), before)
    repair(notebook, template())
    battered(notebook, after)
    repair(notebook, template())
    assert_whole(notebook)


def hand_in(folder, content):
    path = folder / "toy.ipynb"
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return path


def with_ids(*names):
    return new_notebook(cells=[new_code_cell("1", metadata=meta(name)) for name in names])


REFUSED = {
    "empty": (b"", "the file is empty"),
    "no JSON": (b"my answer", "not a Jupyter notebook"),
    "a conflict of git": (
        b'{\n "cells": [\n<<<<<<< HEAD\n1\n=======\n2\n>>>>>>> theirs\n]}',
        "git could not merge two versions of this file: line 3 begins with <<<<<<<",
    ),
    "a comparison, no conflict": (b'{"cells": [1 <<<<<<< 2', "not a Jupyter notebook"),
    "not UTF-8": (b'{"cells": "\xff"}', "not a Jupyter notebook"),
    "JSON, but a list": ([], "not a Jupyter notebook"),
    "JSON, but no notebook": ({"answer": 42}, "not a Jupyter notebook"),
    "version 3": ({"nbformat": 3, "nbformat_minor": 0, "metadata": {}, "worksheets": []}, "not a Jupyter notebook"),
    "version 3 with cells": ({"nbformat": 3, "cells": []}, "not a Jupyter notebook"),
    "cells that are none": ({"nbformat": 4, "cells": None}, "not a Jupyter notebook"),
    "cells that are words": ({"nbformat": 4, "cells": ["a"]}, "not a Jupyter notebook"),
    "a cell without source": ({"nbformat": 4, "cells": [{"cell_type": "code"}]}, "not a Jupyter notebook"),
    "a cell of unknown type": ({"nbformat": 4, "cells": [{"cell_type": "x", "source": ""}]}, "not a Jupyter notebook"),
    "nested deeply": (b"[" * 100_000, "not a Jupyter notebook"),
    "no cells": ({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": []}, "no cell is labelled"),
    "no metadata": (new_notebook(cells=[new_code_cell("1")]), "no cell is labelled with its exercise"),
    "other assignment": (with_ids("heading", "other-exercise"), r"belongs to another assignment \(other\)"),
    "headings only": (with_ids("heading", "imports"), "belongs to another assignment"),
    "too big": (b" " * 2**21, "the file is 2 MB"),
}


@pytest.mark.parametrize(("content", "what"), REFUSED.values(), ids=REFUSED)
def test_a_file_that_cannot_be_graded_is_refused_with_its_name_and_a_remedy(tmp_path, content, what):
    with pytest.raises(CourseError, match=rf"^toy\.ipynb: .*{what}.*\n  Remedy: "):
        read_submission(hand_in(tmp_path, content), template(), "toy", max_mb=1)


def test_a_missing_file_is_refused_with_its_name_and_a_remedy(tmp_path):
    with pytest.raises(CourseError, match=r"^toy\.ipynb: this file is missing.*\n  Remedy: "):
        read_submission(tmp_path / "toy.ipynb", template(), "toy")


def test_a_link_is_refused(tmp_path):
    link = tmp_path / "linked.ipynb"
    link.symlink_to(hand_in(tmp_path, template()))
    with pytest.raises(CourseError, match=r"^linked\.ipynb: there is a link.*\n  Remedy: "):
        read_submission(link, template(), "toy")


def test_a_notebook_that_was_handed_out_is_read_as_it_is(tmp_path):
    notebook = read_submission(hand_in(tmp_path, template()), template(), "toy")
    assert repair(notebook, template()) == []
    assert notebook == template()


def test_what_a_careless_program_left_out_is_filled_in(tmp_path):
    data = json.loads(json.dumps(template()))
    del data["metadata"], data["nbformat_minor"], data["cells"][2]["outputs"], data["cells"][3]["id"]
    data["cells"][2]["source"] = ["raise ", "NotImplementedError()"]
    data["cells"][4]["id"] = 7
    data["cells"].append({"cell_type": "markdown", "source": "\ud800", "outputs": []})
    notebook = read_submission(hand_in(tmp_path, data), template(), "toy")
    repair(notebook, template())
    assert_whole(notebook)
    assert cell_of(notebook, "toy-double").source == "raise NotImplementedError()"
    assert notebook.cells[-1].source == "?"


ODD = {
    "minor version as text": {"nbformat_minor": "5"},
    "no minor version": {"nbformat_minor": None},
    "metadata as a list": {"metadata": []},
}


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_a_notebook_with_odd_fields_is_refused_or_mended(tmp_path, odd):
    path = hand_in(tmp_path, {**template(), **odd})
    try:
        notebook = read_submission(path, template(), "toy")
    except CourseError:
        return
    repair(notebook, template())
    assert_whole(notebook)


ODD_CELL = {
    "tags that are no list": {"metadata": {"tags": "mine"}},
    "a name that is no text": {"metadata": {"name": 3}},
}


@pytest.mark.parametrize("odd", ODD_CELL.values(), ids=ODD_CELL)
def test_a_cell_with_odd_fields_is_mended(tmp_path, odd):
    data = template()
    data.cells.append({**new_code_cell("1"), **odd})
    notebook = read_submission(hand_in(tmp_path, data), template(), "toy")
    repair(notebook, template())
    assert_whole(notebook)


@pytest.mark.parametrize("field", [{"collapsed": True}, {"attachments": {}}], ids=str)
def test_fields_that_notebooks_of_other_programs_have_do_no_harm(tmp_path, field):
    data = template()
    data.cells[1].update(field)
    notebook = read_submission(hand_in(tmp_path, {**data, "worksheets": []}), template(), "toy")
    assert repair(notebook, template()) == []
    assert_whole(notebook)
