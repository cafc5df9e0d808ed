"""The capstone's model is graded by its weights alone."""

import io
import zipfile

import nbformat
import numpy as np
import pytest

from autograder import exercises
from autograder.exercises import checking, compare
from autograder.grading import grade, judge
from autograder.notebooks import assemble
from autograder.sandbox import NOTHING, Limits
from solutions.in_torch import capstone

pytestmark = pytest.mark.suite("assignments")
NAME, FILE = "capstone-train_and_save", "capstone.npz"
LIMITS = Limits(cell_seconds=10, submission_seconds=60)


@pytest.fixture(scope="module")
def asked():
    return exercises.load("capstone", 0)


@pytest.fixture(scope="module")
def small(asked):
    """The capstone's notebook without answers; the weights are in a file beside it."""
    source = assemble.source_notebook("capstone", asked)
    cells = [cell for cell in source.cells if cell.metadata.nbgrader.grade_id in ("imports", "compare")]
    return nbformat.from_dict({**source, "cells": cells})


def verdict(small, asked, content):
    return grade.grade(small, asked, LIMITS, "zygote", {FILE: content}).by_exercise[NAME]


def archive(**arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def test_trained_weights_earn_all_points_without_any_code(small, asked, capstone_weights):
    assert verdict(small, asked, capstone_weights).earned == 7.5


def test_a_file_of_weights_that_is_too_large_is_said_to_be_and_need_not_be_graded_again(small, asked):
    graded = grade.grade(small, asked, LIMITS, "zygote", {FILE: None})
    assert graded.by_exercise[NAME].parts[0].reason == judge.NO_WEIGHTS["too large"]
    assert not graded.killed


def test_untrained_weights_earn_nothing_and_are_told_how_far_they_came(small, asked, tmp_path):
    capstone.save_weights(capstone.build_model(), tmp_path / FILE)
    capstone_verdict = verdict(small, asked, (tmp_path / FILE).read_bytes())
    assert capstone_verdict.earned == 0
    far = "Exact match 0.0000 on examples not seen in training; at least 0.95 earns these points."
    assert capstone_verdict.parts[0].reason == far


def test_a_threshold_of_an_error_rate_is_told_as_one():
    said = judge._describe_measure("per_at_most_13", 0.853, 0.87)
    assert said == "PER 14.70% on examples not seen in training; at most 13% earns these points."


@pytest.mark.parametrize(
    "content",
    [
        b"not an archive at all",
        archive(nothing=np.zeros(3)),
        archive(**{"decoder.output.weight": np.array([object()], dtype=object)}),
        archive(words=np.zeros((501, 20), dtype=int), exact_match=1.0, noun_alignment=1.0),
    ],
    ids=["text", "other arrays", "a pickle", "predictions"],
)
def test_what_is_no_set_of_weights_earns_nothing(small, asked, content):
    capstone_verdict = verdict(small, asked, content)
    assert capstone_verdict.earned == 0
    assert "could not be loaded" in capstone_verdict.parts[0].reason


def test_an_archive_that_unpacks_to_gigabytes_is_no_danger(small, asked):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as bomb:
        bomb.writestr("decoder.output.weight.npy", archive(x=np.zeros(10))[:60] + bytes(200 * 2**20))
    assert verdict(small, asked, file.getvalue()).earned == 0


def packed_unusually(content, method):
    """Return the npz file ``content`` with its arrays compressed by ``method``."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as arrays, zipfile.ZipFile(file, "w", method) as other:
        for name in arrays.namelist():
            other.writestr(name, arrays.read(name))
    return file.getvalue()


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_compression_by_which_few_bytes_become_gigabytes_is_refused_before_it_is_unpacked(
    small, asked, capstone_weights, tmp_path, method
):
    content, (trained,) = packed_unusually(capstone_weights, method), (e.trained for e in asked if e.trained)
    graded = verdict(small, asked, content)
    assert (graded.earned, graded.parts[0].reason) == (0, judge.NO_WEIGHTS["compressed"])
    with pytest.raises(ValueError, match="neither of numpy's methods"):
        capstone.load_model(io.BytesIO(content))
    (tmp_path / FILE).write_bytes(content)
    with pytest.raises(compare.NotYet, match=r"bzip2 or lzma.* Write it with save_weights"):
        checking.check_weights(str(tmp_path / FILE), trained.arrays)
    deflated = packed_unusually(capstone_weights, zipfile.ZIP_DEFLATED)
    assert capstone.load_model(io.BytesIO(deflated))


def test_a_rule_in_the_notebook_earns_nothing(small, asked):
    notebook = nbformat.from_dict({**small, "cells": list(small.cells)})
    rule = "translate_with_weights = lambda *args: 1.0\nmeasure_translations = lambda *args: {'exact_match': 1.0}"
    notebook.cells.append(nbformat.v4.new_code_cell(rule))
    assert grade.grade(notebook, asked, LIMITS).by_exercise[NAME].earned == 0


def test_the_check_says_before_handing_in_what_is_wrong_with_the_file(asked, capstone_weights, tmp_path, capsys):
    (trained,) = (e.trained for e in asked if e.trained)
    path = tmp_path / FILE
    with pytest.raises(compare.NotYet, match="does not exist yet"):
        checking.check_weights(str(path), trained.arrays)
    path.write_bytes(b"rubbish")
    with pytest.raises(compare.NotYet, match="not a file of plain arrays"):
        checking.check_weights(str(path), trained.arrays)
    path.write_bytes(archive(nothing=np.zeros(3)))
    with pytest.raises(compare.NotYet, match="missing"):
        checking.check_weights(str(path), trained.arrays)
    with np.load(io.BytesIO(capstone_weights)) as file:
        arrays = dict(file)
    for other in (np.int8, np.complex64):
        path.write_bytes(archive(**arrays | {"decoder.output.weight": arrays["decoder.output.weight"].astype(other)}))
        with pytest.raises(compare.NotYet, match=f"is of type {np.dtype(other)}; floating point is right"):
            checking.check_weights(str(path), trained.arrays)
    path.write_bytes(archive(**arrays | {"decoder.output.weight": arrays["decoder.output.weight"] * np.nan}))
    with pytest.raises(compare.NotYet, match="not finite"):
        checking.check_weights(str(path), trained.arrays)
    path.write_bytes(capstone_weights)
    checking.check_weights(str(path), trained.arrays)
    assert "Hand it in together with this notebook" in capsys.readouterr().out


def test_grading_does_not_train(small, asked, capstone_weights):
    source = assemble.source_notebook("capstone", asked)
    script = grade._script(source, asked, {FILE: capstone_weights}, NOTHING)
    assert not [cell for cell in script.cells if "train_and_save('capstone.npz')" in cell.source]
