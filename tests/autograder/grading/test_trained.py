"""The three models of the capstone, and that of the chapter on transformers, are graded by their weights alone."""

import io
import zipfile

import nbformat
import numpy as np
import pytest

from autograder import exercises
from autograder.exercises import checking, compare
from autograder.grading import grade, judge
from autograder.notebooks import assemble, cells
from autograder.notebooks.chapter import ExerciseText
from autograder.releases.proof import reference_files
from autograder.sandbox import NOTHING, Limits
from solutions.in_torch import capstone

pytestmark = pytest.mark.suite("assignments")
NAME, FILE = "capstone-train_and_save", "capstone.npz"
OWN, OWN_FILE = "capstone-train_own", "own.npz"
VERSES, VERSES_FILE = "capstone-train_translator", "wycliffe.npz"
EITHER = pytest.mark.parametrize(("name", "file"), [(NAME, FILE), (OWN, OWN_FILE), (VERSES, VERSES_FILE)])
BLOCKS, BLOCKS_FILE = "from_bahdanau_to_transformers-train_blocks", "blocks.npz"
LIMITS = Limits(cell_seconds=10, submission_seconds=60)


@pytest.fixture(scope="module")
def asked():
    return exercises.load("capstone", 0)


@pytest.fixture(scope="module")
def recorded(asked):
    """The recorded weights of all models: name of the file -> its bytes, as a student hands them in."""
    return reference_files(asked)


@pytest.fixture(scope="module")
def capstone_weights(recorded):
    return recorded[FILE]


@pytest.fixture(scope="module")
def trained(asked):
    """How each file of weights is judged, by the name of the exercise."""
    return {exercise.name: exercise.trained for exercise in asked if exercise.trained}


@pytest.fixture(scope="module")
def small(asked):
    """The capstone's notebook without answers; the weights are in a file beside it."""
    source = assemble.source_notebook("capstone", asked)
    cells = [cell for cell in source.cells if cell.metadata.nbgrader.grade_id in ("imports", "compare")]
    return nbformat.from_dict({**source, "cells": cells})


def verdict(small, asked, content, name=NAME, file=FILE):
    return grade.grade(small, asked, LIMITS, "zygote", {file: content}).by_exercise[name]


def archive(**arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def test_trained_weights_earn_all_points_without_any_code(small, asked, recorded):
    verdicts = grade.grade(small, asked, LIMITS, "zygote", recorded).by_exercise
    assert {name: verdicts[name].earned for name in (NAME, OWN, VERSES)} == {NAME: 7.5, OWN: 5, VERSES: 8}


def test_a_file_of_weights_that_is_too_large_is_said_to_be_and_need_not_be_graded_again(small, asked):
    graded = grade.grade(small, asked, LIMITS, "zygote", {FILE: None})
    assert graded.by_exercise[NAME].parts[0].reason == judge.NO_WEIGHTS["too large"]
    assert not graded.killed


def test_an_untrained_translator_of_ones_own_earns_nothing_and_is_told_how_far_it_came(small, asked):
    zeros = archive(**{name: np.zeros(shape) for name, shape in capstone.OWN_SHAPES.items()})
    parts = verdict(small, asked, zeros, OWN, OWN_FILE).parts
    assert [(part.name, part.earned, part.reason) for part in parts] == [
        ("exact_match", 0, "Exact match 0.0000 on examples not seen in training; at least 0.95 earns these points."),
        ("bleu", 0, "BLEU 0.0000 on examples not seen in training; at least 90 earns these points."),
    ]


def test_weights_of_which_the_square_matrices_are_transposed_earn_nothing(small, asked, recorded):
    with np.load(io.BytesIO(recorded[OWN_FILE])) as file:
        turned = {name: file[name].T if file[name].shape == (48, 48) else file[name] for name in file.files}
    assert len(turned) == 14
    assert verdict(small, asked, archive(**turned), OWN, OWN_FILE).earned == 0


def test_untrained_weights_earn_nothing_and_are_told_how_far_they_came(small, asked, tmp_path):
    capstone.save_weights(capstone.build_model(), tmp_path / FILE)
    capstone_verdict = verdict(small, asked, (tmp_path / FILE).read_bytes())
    assert capstone_verdict.earned == 0
    far = "Exact match 0.0000 on examples not seen in training; at least 0.95 earns these points."
    assert capstone_verdict.parts[0].reason == far


def test_a_threshold_of_an_error_rate_is_told_as_one():
    said = judge._describe_measure("per_at_most_13", 0.853, 0.87)
    assert said == "PER 14.70% on examples not seen in training; at most 13% earns these points."


def test_a_threshold_in_the_name_of_a_part_is_told_once():
    said = judge._describe_measure("bleu_at_least_11", 10.25, 11)
    assert said == "BLEU 10.2500 on examples not seen in training; at least 11 earns these points."


def test_a_translator_of_verses_that_is_untrained_or_without_attention_earns_nothing(small, asked, recorded, tmp_path):
    for attention in (True, False):
        capstone.save_weights(capstone.build_wycliffe(attention=attention), tmp_path / VERSES_FILE)
        parts = verdict(small, asked, (tmp_path / VERSES_FILE).read_bytes(), VERSES, VERSES_FILE).parts
        assert [part.earned for part in parts] == [0, 0]
        said = "BLEU 0.0000 on" if attention else "could not be loaded"
        assert all(said in part.reason for part in parts)
    with np.load(io.BytesIO(recorded[VERSES_FILE])) as file:
        arrays = dict(file)
    arrays["decoder.attention.score.v.weight"] *= 0  # uniform weights: the mean annotation at every step
    assert verdict(small, asked, archive(**arrays), VERSES, VERSES_FILE).earned == 0


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
@EITHER
def test_what_is_no_set_of_weights_earns_nothing(small, asked, content, name, file):
    capstone_verdict = verdict(small, asked, content, name, file)
    assert capstone_verdict.earned == 0
    assert "could not be loaded" in capstone_verdict.parts[0].reason


def test_the_file_of_the_other_model_earns_nothing_and_the_check_asks_whether_it_is_that(
    small, asked, trained, recorded, tmp_path
):
    exchanged = {FILE: recorded[OWN_FILE], OWN_FILE: recorded[FILE]}
    verdicts = grade.grade(small, asked, LIMITS, "zygote", exchanged).by_exercise
    for name, file in ((NAME, FILE), (OWN, OWN_FILE)):
        assert verdicts[name].earned == 0
        (tmp_path / file).write_bytes(exchanged[file])
        with pytest.raises(compare.NotYet, match=r"holds another model.* Is it the file of another exercise"):
            checking.check_weights(str(tmp_path / file), trained[name].arrays)


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
    small, asked, trained, capstone_weights, tmp_path, method
):
    content = packed_unusually(capstone_weights, method)
    graded = verdict(small, asked, content)
    assert (graded.earned, graded.parts[0].reason) == (0, judge.NO_WEIGHTS["compressed"])
    with pytest.raises(ValueError, match="neither of numpy's methods"):
        capstone.load_model(io.BytesIO(content))
    (tmp_path / FILE).write_bytes(content)
    with pytest.raises(compare.NotYet, match=r"bzip2 or lzma.* Write it with save_weights"):
        checking.check_weights(str(tmp_path / FILE), trained[NAME].arrays)
    deflated = packed_unusually(capstone_weights, zipfile.ZIP_DEFLATED)
    assert capstone.load_model(io.BytesIO(deflated))


def test_a_rule_in_the_notebook_earns_nothing(small, asked):
    notebook = nbformat.from_dict({**small, "cells": list(small.cells)})
    rule = "translate_with_weights = lambda *args: 1.0\nmeasure_translations = lambda *args: {'exact_match': 1.0}"
    notebook.cells.append(nbformat.v4.new_code_cell(rule))
    assert grade.grade(notebook, asked, LIMITS).by_exercise[NAME].earned == 0


@EITHER
def test_the_check_says_before_handing_in_what_is_wrong_with_the_file(trained, recorded, tmp_path, capsys, name, file):
    wanted, path = trained[name].arrays, tmp_path / file
    *_, last = wanted
    with pytest.raises(compare.NotYet, match="does not exist yet"):
        checking.check_weights(str(path), wanted)
    path.write_bytes(b"rubbish")
    with pytest.raises(compare.NotYet, match="not a file of plain arrays"):
        checking.check_weights(str(path), wanted)
    path.write_bytes(archive(nothing=np.zeros(3)))
    with pytest.raises(compare.NotYet, match="missing"):
        checking.check_weights(str(path), wanted)
    with np.load(io.BytesIO(recorded[file])) as weights:
        arrays = dict(weights)
    path.write_bytes(archive(**{name: array for name, array in arrays.items() if name != last}))
    with pytest.raises(compare.NotYet, match=f"{last} is missing"):
        checking.check_weights(str(path), wanted)
    path.write_bytes(archive(**arrays | {last: arrays[last][..., :-1]}))
    with pytest.raises(compare.NotYet, match=f"{last} has shape .* it should have shape"):
        checking.check_weights(str(path), wanted)
    for other in (np.int8, np.complex64):
        path.write_bytes(archive(**arrays | {last: arrays[last].astype(other)}))
        with pytest.raises(compare.NotYet, match=f"is of type {np.dtype(other)}; floating point is right"):
            checking.check_weights(str(path), wanted)
    path.write_bytes(archive(**arrays | {last: arrays[last] * np.nan}))
    with pytest.raises(compare.NotYet, match="not finite"):
        checking.check_weights(str(path), wanted)
    path.write_bytes(recorded[file])
    checking.check_weights(str(path), wanted)
    assert "Hand it in together with this notebook" in capsys.readouterr().out


def test_grading_does_not_train(asked, recorded):
    source = assemble.source_notebook("capstone", asked)
    script = grade._script(source, asked, recorded, NOTHING)
    for call in ("train_and_save('capstone.npz')", "train_own('own.npz')", "train_translator('wycliffe.npz')"):
        assert [cell for cell in source.cells if call in cell.source]
        assert not [cell for cell in script.cells if call in cell.source]


def test_what_runs_a_translator_of_ones_own_is_ours_and_only_the_grader_has_it(small, asked, trained):
    def of_translator(text):
        return {line for line in lines if line in text}

    (assembled,) = (e.source for e in asked if e.function == "assemble")
    answer = assembled.partition("### BEGIN SOLUTION")[2].partition("### END SOLUTION")[0]
    long = {line.strip() for line in answer.splitlines() if len(line.strip()) > 30}
    lines = {line for line in long if line not in trained[OWN].provided}
    assert len(lines) > 30
    assert of_translator(trained[OWN].hidden) == lines
    assert trained[NAME].hidden == ""
    source = assemble.source_notebook("capstone", asked)
    script = grade._script(source, asked, {}, NOTHING)  # what runs together with a student's code
    tests = [cell for cell in source.cells if cell.metadata.nbgrader.grade_id == f"{OWN}-test"]
    assert of_translator("\n".join(cell.source for cell in tests)) == lines
    others = {cell.source for cell in script.cells if "### BEGIN SOLUTION" not in cell.source}
    assert not of_translator("\n".join(others))


def test_a_hidden_test_changes_no_function_that_later_cells_call(trained, asked, recorded, tmp_path, monkeypatch):
    (exercise,) = (e for e in asked if e.name == OWN)
    names = {}
    exec(f"import math\nimport numpy as np\nimport torch\n{trained[OWN].provided}", names)
    names |= dict.fromkeys(("assemble", "exact_match", "corpus_bleu", "unseen_sentences", "measure_own"), "a student's")
    before = dict(names)
    monkeypatch.chdir(tmp_path)
    (tmp_path / OWN_FILE).write_bytes(recorded[OWN_FILE])
    *_, test = cells.exercise_cells(exercise, ExerciseText("", "", 1))
    *_, call = test.source.removesuffix("\n### END HIDDEN TESTS").splitlines()
    exec(test.source, names)
    assert eval(call, names) == 5
    assert {name: names[name] for name in before} == before
    assert names.keys() - before.keys() <= {"_judge_weights"}


@pytest.fixture(scope="module")
def with_blocks():
    """The exercises on transformers, the notebook without answers, and the recorded weights."""
    asked = exercises.load("from_bahdanau_to_transformers", 0)
    source = assemble.source_notebook("from_bahdanau_to_transformers", asked)
    cells = [cell for cell in source.cells if cell.metadata.nbgrader.grade_id in ("imports", "compare")]
    (trained,) = (e.trained for e in asked if e.trained)
    return asked, nbformat.from_dict({**source, "cells": cells}), source, trained, reference_files(asked)[BLOCKS_FILE]


def test_a_translator_with_blocks_earns_its_points_by_its_weights_in_our_block(with_blocks):
    asked, notebook, _, _, recorded = with_blocks
    with np.load(io.BytesIO(recorded)) as file:
        arrays = dict(file)
    spoilt = {
        "recorded": arrays,
        "untrained": {name: np.zeros_like(array) for name, array in arrays.items()},
        "keys and queries turned": {
            name: array.swapaxes(1, 2).reshape(array.shape) if array.ndim == 3 else array
            for name, array in arrays.items()
        },
        "parts exchanged": {
            **arrays,
            "encoder.blocks.0.W_out": arrays["encoder.blocks.1.W_out"],
            "encoder.blocks.1.W_out": arrays["encoder.blocks.0.W_out"],
        },
    }
    earned = {
        name: verdict(notebook, asked, archive(**content), BLOCKS, BLOCKS_FILE).earned
        for name, content in spoilt.items()
    }
    assert earned == {"recorded": 4, "untrained": 0, "keys and queries turned": 0, "parts exchanged": 0}


def test_the_recurrent_translator_does_not_pass_for_one_with_blocks(with_blocks, recorded, tmp_path):
    asked, notebook, _, trained, _ = with_blocks
    handed_in = verdict(notebook, asked, recorded[FILE], BLOCKS, BLOCKS_FILE)
    assert handed_in.earned == 0
    assert "could not be loaded" in handed_in.parts[0].reason
    (tmp_path / BLOCKS_FILE).write_bytes(recorded[FILE])
    with pytest.raises(
        compare.NotYet, match=r"encoder\.blocks\.0\.W_key is missing; it should have shape \(4, 8, 32\)"
    ):
        checking.check_weights(str(tmp_path / BLOCKS_FILE), trained.arrays)


def test_our_block_is_hidden_and_the_notebook_calls_that_of_the_student(with_blocks):
    asked, _, source, trained, recorded = with_blocks
    (block,) = (e.source for e in asked if e.function == "transformer_block")
    answer = block.partition("### BEGIN SOLUTION")[2].partition("### END SOLUTION")[0]
    lines = {line.strip() for line in answer.splitlines() if len(line.strip()) > 30}
    assert len(lines) > 8
    assert all(line in trained.hidden and line not in trained.provided for line in lines)
    script = grade._script(source, asked, {BLOCKS_FILE: recorded}, NOTHING)
    given = "\n".join(cell.source for cell in script.cells if "### BEGIN SOLUTION" not in cell.source)
    assert "self.block(states, real, **parameters)" in given
    assert not [line for line in lines if line in given]
    call = f"train_blocks('{BLOCKS_FILE}')"
    assert [cell for cell in source.cells if call in cell.source]
    assert not [cell for cell in script.cells if call in cell.source]
