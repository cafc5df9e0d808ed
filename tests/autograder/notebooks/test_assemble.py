"""A chapter becomes a notebook with every exercise in it once, or is refused with file and line."""

import ast
import base64
import builtins
import dataclasses
import dis
import inspect
import json
import math
import re
import zlib

import nbformat
import numpy as np
import pytest
import torch
from nbclient import NotebookClient

from autograder.errors import CourseError
from autograder.exercises import Outcome, checking, compare, compile_steps, compose, reference_of
from autograder.exercises.packing import list_packed_texts
from autograder.grading import judge
from autograder.notebooks import assemble, ready, receipt
from autograder.notebooks import cells as the_cells
from autograder.notebooks.assemble import source_notebook
from autograder.notebooks.cell_ids import text_id, warm_up_id
from autograder.notebooks.chapter import chapter_texts
from autograder.paths import BOOK
from autograder.sandbox import Reply
from solutions import answer_key
from tests.autograder.samples import ENTRIES, NAMES, TOPICS, draw_exercise, exercise_named, notebook_of, topic_exercises

pytestmark = pytest.mark.slow

each_topic = pytest.mark.parametrize("topic", TOPICS)

PAGE = """---
jupytext:
  text_representation:
    format_name: myst
---

(toy)=
# Toys: a chapter

Text with {cite}`a-role` outside.

```{exercise} Double it
:label: toy-double

Return *twice* `x`, that is $2x$:

$$y = 2x$$

- one
- two
```

:::{exercise} Why?
:label: toy-why
:nonumber:

Say `why`.

```python
print("plain code is allowed")
```
:::
"""


def page(folder, text=PAGE, name="toy"):
    path = folder / f"{name}.md"
    path.write_text(text, encoding="utf-8")
    return path


def with_line(line):
    return PAGE.replace("- one\n", f"{line}\n")


def asked(*names):
    exercise = exercise_named("scoring-dot_product_score")
    return [dataclasses.replace(exercise, entry=dataclasses.replace(exercise.entry, name=name)) for name in names]


@pytest.mark.parametrize(
    ("names", "what"),
    [
        (("toy-double", "toy-why", "toy-triple"), r"toy\.md: the key names toy-triple, but the page has no exercise"),
        (("toy-double",), r"toy\.md, line 23: the page asks for toy-why, but the key does not have it"),
    ],
)
def test_page_and_key_must_name_the_same_exercises(tmp_path, names, what):
    page(tmp_path)
    with pytest.raises(CourseError, match=f"{what}.*\n  Remedy: "):
        source_notebook("toy", asked(*names), tmp_path)


def test_a_missing_page_is_refused_with_its_name(tmp_path):
    with pytest.raises(CourseError, match=r"toy\.md: there is no chapter toy\n  Remedy: "):
        source_notebook("toy", asked("toy-double"), tmp_path)


def test_a_small_page_becomes_a_notebook_in_the_order_of_the_page(tmp_path):
    page(tmp_path)
    notebook = source_notebook("toy", asked("toy-why", "toy-double"), tmp_path)
    nbformat.validate(notebook)
    ids = [cell.metadata.nbgrader.grade_id for cell in notebook.cells]
    assert ids[:3] == ["heading", "compare", "imports"]
    assert ids[3:7] == ["toy-double-text", "toy-double", "toy-double-check", "toy-double-test"]
    assert ids[7:11] == ["toy-why-text", "toy-why", "toy-why-check", "toy-why-test"]
    assert notebook.cells[7].source.startswith("## Why?\n\n*3 points*\n\nSay `why`.")


@pytest.fixture(scope="module", params=TOPICS)
def assembled(request):
    return topic_exercises(request.param), notebook_of(request.param)


def cells_by_id(notebook):
    return {cell.metadata.nbgrader.grade_id: cell for cell in notebook.cells}


def test_the_notebook_of_every_topic_is_valid_and_its_ids_are_unique(assembled):
    _, notebook = assembled
    nbformat.validate(notebook)
    assert len(cells_by_id(notebook)) == len(notebook.cells) == len({cell["id"] for cell in notebook.cells})


def test_all_exercises_are_there_in_the_order_of_the_page(assembled):
    exercises, notebook = assembled
    topic = exercises[0].entry.topic
    ids = [cell.metadata.nbgrader.grade_id for cell in notebook.cells][3:]
    suffixes = {"text": ("-text", ""), "trained": ("-text", "", "-run", "-check", "-test")}
    cells = {e.name: suffixes.get(e.kind, ("-text", "", "-check", "-test")) for e in exercises}
    cells |= dict.fromkeys(answer_key.load_warm_ups(topic), ("-warm_up", "", "-check"))
    texts = chapter_texts(BOOK / f"{topic}.md")[1]
    assert set(texts) == set(cells)
    wanted = [name + suffix for name in texts for suffix in cells[name]]
    assert [grade_id for grade_id in ids if grade_id not in ("setup", "provided", "own")] == [
        *wanted,
        "receipt",
        "request",
    ]


def test_the_heading_says_what_holds_for_all_inputs_and_numbers(assembled):
    exercises, notebook = assembled
    kinds, heading = {exercise.kind for exercise in exercises}, notebook.cells[0].source
    for rule in ("costs no points", "finite, including those in the padding", "there is no empty batch"):
        assert (rule in heading) == ("code" in kinds)
    assert ("rounded or truncated" in heading) == ("number" in kinds)


TITLES = [
    "note A, *So You Want To Understand Attention?* (unsigned project write-up)",
    "note B, *Deep Learning and Applications* (lecture slides by Theja Tulabandhula)",
    "note C, *A Short Tutorial of the Attention Mechanism in Natural Language Processing* (tutorial with three questions "
    "by Spencer Whitehead)",
    "note D, *Attention mechanism: translating “reason with logic” into Hindi* (unsigned handwritten example)",
    "note E, *Bahdanau et al. (2016)* (unsigned PyTorch notebook)",
]


def test_a_notebook_that_mentions_a_note_says_at_the_top_what_the_notes_are(assembled):
    _, notebook = assembled
    heading, *others = (cell.source for cell in notebook.cells)
    packed = " ".join(text for source in others for text in list_packed_texts(source))
    mentions = re.search(r"\b[Nn]otes? [A-E]\b", " ".join([*others, packed]))
    assert [title in heading for title in TITLES] == [bool(mentions)] * 5


@each_topic
def test_no_input_is_empty_or_holds_what_is_not_finite(topic):
    for exercise in topic_exercises(topic):
        arrays = [np.asarray(item) for case in exercise.cases for item in case.inputs.values()]
        assert all(item.size and np.isfinite(item).all() for item in arrays), exercise.name


@each_topic
def test_numbers_count_whether_their_fourth_decimal_is_rounded_or_cut_off(topic):
    for exercise, entry, value in numbers_asked_for(topic):
        for short in (np.round(value, 4), np.trunc(value * 1e4 + np.sign(value) * 1e-9) / 1e4):
            assert not compare.explain_mismatch(short, value, exercise.hidden[0].atol), (exercise.name, entry)


@each_topic
def test_numbers_count_also_where_each_tanh_on_the_way_was_rounded_to_four_decimals(topic, monkeypatch):
    exact = np.tanh
    monkeypatch.setattr(np, "tanh", lambda x: np.round(exact(x), 4))
    monkeypatch.setattr(math, "tanh", lambda x: round(float(exact(x)), 4))
    for exercise in topic_exercises(topic):
        if exercise.kind == "number" and exercise.function != "which_gradient":  # rounding spoils finite differences
            (case,) = exercise.hidden
            reasons = compare.mismatches(reference_of(exercise)(), case.expected, "number", case.atol)
            assert not any(reasons.values()), exercise.name


@each_topic
def test_no_number_lies_where_rounding_to_four_decimals_could_go_either_way(topic):
    for exercise, entry, value in numbers_asked_for(topic):
        beyond = np.abs(value) * 1e4 % 1
        assert (np.abs(beyond - 0.5) > 1e-3).all(), (exercise.name, entry)


@each_topic
def test_weights_that_add_to_1_still_do_so_when_they_are_rounded(topic):
    for exercise, entry, value in numbers_asked_for(topic):
        if np.ndim(value) and abs(value.sum() - 1) < 1e-9:
            assert abs(value.round(4).sum() - 1) < 1e-9, (exercise.name, entry)


def numbers_asked_for(topic):
    """Yield the numbers that students work out by hand, as (exercise, entry, value)."""
    for exercise in topic_exercises(topic):
        if exercise.kind == "number":
            (case,) = exercise.hidden
            expected = case.expected if isinstance(case.expected, dict) else {"": case.expected}
            yield from ((exercise, entry, np.asarray(value, dtype=float)) for entry, value in expected.items())


ONE_READING = {
    "context-batch_shapes": "one array of three axes",
    "output_layer-every_step_shapes": "as a matrix, as loss functions expect them",
    "output_layer-beam_step": "no two are equally good",
    "output_layer-decode": "or `limits[b]` words, STOP included",
    "encoder-annotate": "Padding occurs only at the end of a row of `source_mask` and never fills it",
    "softmax-masked_softmax": "there, `scores` may hold numbers up to ±10³⁰⁰",
    "context-attend": "there, `scores` may hold numbers up to ±10³⁰⁰, and `keys`",
    "decoder_fusion-decoder_step": "there, `keys` may hold numbers up to ±10¹⁴⁰",
    "capstone-noun_alignment": "all its rows of weights after that are 0",
}


@pytest.mark.parametrize(("name", "sentence"), ONE_READING.items(), ids=ONE_READING)
def test_a_text_that_could_be_read_in_two_ways_says_which_is_meant(name, sentence):
    topic = name.split("-")[0]
    assert sentence in cells_by_id(notebook_of(topic))[f"{name}-text"].source


def test_the_cases_are_what_the_texts_say_of_them():
    for seed in range(1, 6):
        for case in draw_exercise("encoder-annotate", seed).cases:
            assert case.inputs["source_mask"].any(axis=1).all()
            assert case.inputs["W_h"].shape == case.inputs["W_h_back"].shape
        sizes = []
        for case in draw_exercise("output_layer-beam_step", seed).cases:
            scores, gained = case.inputs["scores"], case.inputs["log_probabilities"]
            for row in (scores[..., None] + gained).reshape(len(scores), -1):
                best = -np.sort(-row)[: scores.shape[1] + 1]
                assert (np.diff(best) < 0).all()
            sizes.append(gained.shape[1:])
        assert any(words < width for width, words in sizes)
        for case in draw_exercise("capstone-noun_alignment", seed).cases:
            for row in case.inputs["weights"].reshape(-1, case.inputs["weights"].shape[-1]):
                assert not row.any() or (row == row.max()).sum() == 1


@pytest.mark.parametrize("seed", range(1, 6))
def test_no_word_that_is_decoded_depends_on_rounding(seed):
    for case in draw_exercise("output_layer-decode", seed).cases:
        inputs = case.inputs
        state, word = inputs["state"], np.ones(len(inputs["state"]), dtype=int)
        for step, written in enumerate(np.asarray(case.expected).T):
            state = np.tanh(inputs["embeddings"][word] + state @ inputs["W_s"].T)
            logits = state @ inputs["W_o"][2:].T
            if "uniforms" in inputs:
                shares = np.exp(logits - logits.max(axis=1, keepdims=True))
                cumulative = np.cumsum(shares, axis=1) / shares.sum(axis=1, keepdims=True)
                margin = np.abs(cumulative[:, :-1] - inputs["uniforms"][:, step, None])
                # the text says that no word of probability 0 is drawn, and every other is greater than a number of 0
                decides = (cumulative[:, :-1] > 0) & (inputs["uniforms"][:, step, None] > 0)
                margin = np.where(decides, margin, np.inf).min(axis=1)
            else:
                margin = np.diff(np.sort(logits, axis=1)[:, -2:])[:, 0]
            assert (margin[written > 0] > 1e-9).all()
            word = np.where(written > 0, written, 2)


def test_whole_numbers_may_be_floats():
    beam = exercise_named("output_layer-beam_step")
    for case in beam.hidden:
        assert not compare.explain_mismatch(np.asarray(case.expected, dtype=float), case.expected, case.atol)


@each_topic
def test_no_check_holds_the_numbers_that_another_exercise_asks_for(topic):
    asked = [
        (exercise.name, value.ravel(), max(1e-3, exercise.hidden[0].atol))
        for exercise, _, value in numbers_asked_for(topic)
        if value.size > 1 and not np.allclose(4 * value, np.round(4 * value))  # one number or quarters may be chance
    ]
    for exercise in topic_exercises(topic):
        for shown in exercise.shown:
            wrong = [outcome.value for outcome in shown.mistaken.values() if not outcome.raised]
            for name, value, atol in asked:
                held = [holds(row, value, atol) for row in (shown.expected, *shown.inputs.values(), *wrong)]
                assert not any(held), (exercise.name, name)


def holds(row, value, atol):
    """Return whether the numbers of ``value`` occur side by side in ``row``."""
    if isinstance(row, dict):
        return any(holds(item, value, atol) for item in row.values())
    row = np.ravel(row)
    if row.dtype.kind not in "iuf" or row.size < value.size:
        return False
    windows = np.lib.stride_tricks.sliding_window_view(row, value.size)
    return bool((np.abs(windows - value) <= atol).all(axis=1).any())


ANSWERS = {
    "context": ("add to 1", "adds to 1", "together 1", "between the smallest", "h_{bj} - c_b", "- context[b]"),
}


@pytest.mark.parametrize(("topic", "answer"), [(topic, answer) for topic in ANSWERS for answer in ANSWERS[topic]])
def test_no_question_and_no_starter_says_what_another_exercise_asks(topic, answer):
    for cell in notebook_of(topic).cells:
        # the model answer, which is not released
        written = cell.metadata.nbgrader.solution and cell.cell_type == "markdown"
        if cell.metadata.nbgrader.solution or cell.cell_type == "markdown":
            shown = re.sub(r"### BEGIN SOLUTION.*?### END SOLUTION", "", cell.source, flags=re.DOTALL)
            assert written or answer not in shown, cell.metadata.nbgrader.grade_id


def test_what_a_notebook_holds_ready_calls_nothing_that_the_notebook_does_not_have(assembled):
    exercises, notebook = assembled
    had = {name: cell.source for name, cell in cells_by_id(notebook).items() if name in ("imports", "provided")}
    if "provided" in had:
        scope = {}
        for source in had.values():
            exec(source, scope)
        asked = {exercise.function for exercise in exercises}  # functions that the student writes
        assert not names_in(compile(had["provided"], "provided", "exec")) - set(scope) - set(dir(builtins)) - asked


def names_in(code):
    """Return the global names that ``code``, or a function in it, looks up."""
    inner = [item for item in code.co_consts if inspect.iscode(item)]
    outside = {line.argval for line in dis.get_instructions(code) if line.opname == "LOAD_GLOBAL"}
    return outside.union(*map(names_in, inner))


def test_the_points_of_every_graded_cell_are_those_of_the_key(assembled):
    exercises, notebook = assembled
    points = {i: c.metadata.nbgrader.points for i, c in cells_by_id(notebook).items() if c.metadata.nbgrader.grade}
    wanted = {e.name if e.kind == "text" else f"{e.name}-test": e.points for e in exercises}
    assert {name: worth for name, worth in points.items() if worth} == wanted


def test_the_exercises_of_the_core_path_are_marked_as_such(assembled):
    exercises, notebook = assembled
    cells = cells_by_id(notebook)
    marked = [e.name for e in exercises if ", core path*" in cells[f"{e.name}-text"].source.split("\n")[2]]
    assert marked == [e.name for e in exercises if e.entry.core]


def test_every_test_is_locked_and_wholly_between_the_markers(assembled):
    exercises, notebook = assembled
    for exercise in exercises:
        if exercise.kind != "text":
            cell = cells_by_id(notebook)[f"{exercise.name}-test"]
            comment, begin, *_, end = cell.source.splitlines()
            assert (begin, end) == ("### BEGIN HIDDEN TESTS", "### END HIDDEN TESTS")
            assert comment.startswith("# ")
            assert cell.metadata.nbgrader.locked


def test_every_answer_is_the_reference_with_its_markers_and_not_locked(assembled):
    exercises, notebook = assembled
    for exercise in exercises:
        cell = cells_by_id(notebook)[exercise.name]
        assert cell.metadata.nbgrader.solution
        assert not cell.metadata.nbgrader.locked
        if exercise.kind != "text":
            assert cell.source == exercise.source.rstrip()


def test_the_numbers_of_the_cells_are_data_that_read_back_as_the_cases(assembled):
    exercises, notebook = assembled
    for exercise in exercises:
        if exercise.is_called:
            call = ast.parse(cells_by_id(notebook)[f"{exercise.name}-test"].source).body[-1].value
            cases = ast.literal_eval(call.args[2])
            if exercise.kind == "code":
                cases = json.loads(zlib.decompress(base64.b64decode(cases)))
            assert ast.literal_eval(call.args[3]) == exercise.parts
            for stated, case in zip(cases, exercise.hidden, strict=True):
                for name, item in case.inputs.items():
                    np.testing.assert_array_equal(stated["inputs"][name], item)


def test_no_check_knows_a_hidden_case(assembled):
    exercises, notebook = assembled
    checks = run_cells(notebook)["checks"]
    known, drawn = checks.EXERCISES, checks.DRAWN_CASES
    warm_ups = answer_key.load_warm_ups(exercises[0].entry.topic)
    assert set(known) == {exercise.name for exercise in exercises if exercise.kind != "text"} | set(warm_ups)
    for exercise in exercises:
        check = "".join(
            list_packed_texts(f'"{texts.get(exercise.name, "")}"')[0]
            for texts in (known, drawn)
            if exercise.name in texts
        )
        for case in exercise.hidden:
            for item in case.inputs.values():  # limits that are all equal occur by chance
                telling = isinstance(item, np.ndarray) and item.size > 3 and np.unique(item).size > 1
                assert not telling or repr(item.tolist()) not in check
            assert exercise.kind == "code" or "expected" not in check


def test_what_a_student_meets_first_is_the_first_question(assembled):
    exercises, notebook = assembled
    ids = [cell.metadata.nbgrader.grade_id for cell in notebook.cells]
    warm_ups = [warm_up_id(name) for name in answer_key.load_warm_ups(exercises[0].entry.topic)]
    questions = [text_id(exercise.name) for exercise in exercises] + warm_ups
    heading, checks, imports = notebook.cells[: min(ids.index(question) for question in questions)]
    assert heading.cell_type == "markdown"
    assert checks.metadata.jupyter.source_hidden  # JupyterLab then shows the first line, Colab the title
    assert checks.source.startswith("# @title ")
    assert len(imports.source.splitlines()) <= 6
    long = [cell for cell in notebook.cells if cell.metadata.nbgrader.grade_id in ("compare", "provided")]
    assert all(cell.metadata.jupyter.source_hidden and cell.metadata.cellView == "form" for cell in long)


@pytest.mark.parametrize(
    ("topic", "first"),
    [("capstone", "own"), ("from_bahdanau_to_transformers", "train_blocks"), ("spelling", "train_and_save")],
)
def test_what_exercises_build_on_stands_above_the_first_that_uses_it(topic, first):
    ids = [cell.metadata.nbgrader.grade_id for cell in notebook_of(topic).cells]
    assert ids[ids.index("provided") + 1] == ("own" if first == "own" else f"{topic}-{first}-text")


def test_a_notebook_of_written_answers_alone_begins_with_what_they_build_on():
    asked = [exercise for exercise in topic_exercises("capstone") if exercise.kind == "text"]
    left_out = [exercise.name for exercise in topic_exercises("capstone") if exercise.kind != "text"]
    cells = assemble.source_notebook("capstone", asked, left_out=left_out).cells
    ids = [cell.metadata.nbgrader.grade_id for cell in cells]
    assert ids[ids.index("provided") + 1] == f"{asked[0].name}-text"


def test_the_cell_for_functions_of_ones_own_stands_before_the_training_and_is_free_to_change():
    notebook = notebook_of("capstone")
    ids = [cell.metadata.nbgrader.grade_id for cell in notebook.cells]
    assert ids[ids.index("own") + 1] == "capstone-train_and_save-text"
    assert ids.count("own") == 1  # a translator written by hand has no such parts
    own = notebook.cells[ids.index("own")]
    assert not own.metadata.nbgrader.locked
    assert compile(own.source, "own", "exec").co_names == ()  # as released, it does nothing
    lines = own.source.splitlines()
    used = "\n".join(line.removeprefix("# ") for line in lines[lines.index("#") + 1 :])
    scope = {"score_every_step": max, "attend": min, "build_model": lambda own: own}
    exec(used, scope)
    assert scope["build_model"]() == (max, min)


def test_a_check_cell_is_one_short_line_and_what_it_knows_does_not_stand_in_plain_sight(assembled):
    exercises, notebook = assembled
    cells = cells_by_id(notebook)
    plain = "\n".join(cell.source for grade_id, cell in cells.items() if not grade_id.endswith("-test"))
    for exercise in exercises:
        if exercise.kind != "text":
            assert cells[f"{exercise.name}-check"].source == f'check("{exercise.name}")'
        assert not [hint for hint in exercise.hints.values() if hint in plain]
        assert not [equation for equation in exercise.entry.equations if equation in plain]


def test_a_question_in_code_shows_its_worked_examples_which_can_be_copied(assembled):
    exercises, notebook = assembled
    in_code = [exercise for exercise in exercises if exercise.kind == "code" and not exercise.trained]
    assert in_code
    for exercise in in_code:
        text = cells_by_id(notebook)[f"{exercise.name}-text"].source
        by_hand = [case for case in exercise.shown if not re.search("other sizes|gradients", case.name)]
        shown = re.findall(
            r"\n\*\*([^*\n]*)\.\*\* The call\n\n```python\n(.*?)\n```\n\nreturns\n\n```text\n(.*?)\n```", text, re.S
        )
        assert {case.name for case in by_hand} <= {name[:1].lower() + name[1:] for name, *_ in shown}
        for name, call, result in shown:
            (case,) = (case for case in exercise.shown if case.name.lower() == name.lower())
            scope = {"np": np, "torch": torch, exercise.function: reference_of(exercise)}
            *lines, last = ast.parse(call).body
            exec(compile(ast.Module(lines, []), "example", "exec"), scope)
            value = eval(compile(ast.Expression(last.value), "example", "eval"), scope)
            assert compare.is_right(value, case.expected, exercise.kind, 1e-4)
            entries = re.findall(r"^(\w+): (.*?)(?=\n\w+: |\Z)", result, re.S | re.M)  # if it is a dict
            read = {entry: eval(text) for entry, text in entries} if entries else eval(result)
            assert compare.is_right(read, case.expected, exercise.kind, 1e-4)


def test_the_checks_are_readable_python_and_leave_no_other_names_behind(assembled):
    exercises, notebook = assembled
    source = cells_by_id(notebook)["compare"].source
    assert not re.search(r"exec\((?!source, space\))", source)  # exec only for steps of chains, which are data
    data = [line for line in source.splitlines() if list_packed_texts(line)]
    assert all(re.fullmatch(r'    "[\w-]+": "[^"]+",', line) for line in data)
    assert len(data) >= sum(exercise.is_automatic for exercise in exercises)
    assert max(len(line) for line in source.splitlines() if line not in data) <= 140
    namespace = {}
    exec(source, namespace)
    assert set(namespace) - {"__builtins__"} == {"make_checks", "checks", "check", "score"}


def test_no_two_texts_of_the_checks_define_one_name():
    modules = (ready, compare, compose, checking, receipt)
    defined = [
        getattr(node, "name", None) or node.targets[0].id
        for module in modules
        for node in ast.parse(inspect.getsource(module)).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Assign)
    ]
    assert sorted(defined) == sorted(set(defined))


def test_the_names_of_a_student_do_not_take_the_place_of_those_that_the_checks_need():
    exercise = exercise_named("scoring-dot_product_score")
    notebook = notebook_of("scoring")
    namespace = run_cells(notebook, exercise.name)
    for name in ("np", "json", "reasons", "difference", "read_value", "call_case", "compose"):
        namespace[name] = None
    with pytest.raises(AssertionError, match="run the cell with your function first"):
        namespace["check"]("scoring-additive_score")
    namespace["np"] = np  # the answer needs it itself
    namespace["check"](exercise.name)


def test_a_check_of_no_exercise_says_so():
    namespace = run_cells(notebook_of("scoring"))
    with pytest.raises(AssertionError, match="no exercise 'scoring-nothing'"):
        namespace["check"]("scoring-nothing")


@pytest.mark.parametrize("entry", [np.nan, np.inf, -np.inf])
def test_a_check_whose_wrong_values_are_not_finite_can_be_run(tmp_path, entry):
    exercise = exercise_named("scoring-additive_score")
    exercise = dataclasses.replace(exercise, entry=dataclasses.replace(exercise.entry, name="toy-additive_score"))
    page(tmp_path, PAGE[: PAGE.index(":::")].replace("toy-double", exercise.name))
    shown = exercise.shown[0]
    mistaken = {name: Outcome(np.full_like(shown.expected, entry)) for name in exercise.hints}
    cases = (dataclasses.replace(shown, mistaken=mistaken), *exercise.hidden)
    notebook = source_notebook("toy", [dataclasses.replace(exercise, cases=cases)], tmp_path)
    run_cells(notebook, exercise.name, f"{exercise.name}-check")


@each_topic
def test_the_marking_scheme_has_every_criterion(topic):
    scheme = assemble.marking_scheme(topic, topic_exercises(topic))
    for exercise in topic_exercises(topic):
        for criterion in exercise.entry.criteria:
            assert criterion.text in scheme
            assert criterion.comment in scheme


def run_cells(notebook, *grade_ids):
    """Run these cells of a source notebook after the cells of checks and imports; return the namespace."""
    namespace, cells = {}, cells_by_id(notebook)
    for grade_id in ("compare", "imports", *grade_ids):
        exec(cells[grade_id].source, namespace)
    return namespace


WITHOUT_SHAPES = ("capstone", "softmax", "spelling")  # none with points


def test_the_checks_of_shapes_run_in_the_notebook_alone_and_tell_whether_they_fit_together(assembled, capsys):
    exercises, notebook = assembled
    shapes = [exercise for exercise in exercises if exercise.kind == "shape"]
    assert shapes or exercises[0].entry.topic in WITHOUT_SHAPES
    for exercise in shapes:
        run_cells(notebook, exercise.name, f"{exercise.name}-check")
        output = capsys.readouterr().out
        assert ("your shapes fit together" in output) == bool(exercise.entry.equations)


def test_a_wrong_shape_is_told_in_the_notebook_before_handing_in(assembled):
    exercises, notebook = assembled
    with_equations = [exercise for exercise in exercises if exercise.entry.equations]
    assert with_equations or exercises[0].entry.topic in WITHOUT_SHAPES
    for exercise in with_equations:
        entries = exercise.hidden[0].expected
        wrong = {entry: (101 + 2 * number,) * (4 + number) for number, entry in enumerate(entries)}
        namespace = run_cells(notebook)
        namespace[exercise.function] = lambda *sizes, wrong=wrong: wrong
        namespace[exercise.function].__name__ = exercise.function
        with pytest.raises(AssertionError, match=f"{exercise.function}: your shapes do not fit together in "):
            exec(cells_by_id(notebook)[f"{exercise.name}-check"].source, namespace)


def test_the_notebook_without_equations_does_not_carry_what_reads_them(tmp_path):
    page(tmp_path)
    notebook = source_notebook("toy", asked("toy-why", "toy-double"), tmp_path)
    text = cells_by_id(notebook)["compare"].source
    assert "def compose(" not in text
    assert "def check(" in text


@pytest.mark.parametrize(("name", "entry"), [(name, entry) for name in NAMES for entry in ENTRIES[name].follows])
def test_the_hidden_test_of_a_chain_follows_the_steps_of_the_student(name, entry):
    exercise, notebook = exercise_named(name), notebook_of(name.split("-")[0])
    given = exercise.follows[entry].given
    first = given[0]
    chain = {name: np.array(value, dtype=float) for name, value in exercise.hidden[0].expected.items()}
    chain[first] = chain[first] + np.linspace(0.1, 0.3, chain[first].size)
    _, function = compile_steps(exercise.follows)[entry]
    followed = {**chain, entry: function(*(chain[name] for name in given))}
    earned = []
    for value in (chain, followed):
        namespace = run_cells(notebook)
        namespace[exercise.function] = lambda value=value: value
        *body, last = ast.parse(cells_by_id(notebook)[f"{exercise.name}-test"].source).body
        exec(compile(ast.Module(body, []), "test", "exec"), namespace)
        earned.append(eval(compile(ast.Expression(last.value), "test", "eval"), namespace))
        (verdict,) = judge.judge([exercise], {(exercise.name, 0): Reply(value=value)})
        assert earned[-1] == verdict.earned
        assert 0 < earned[-1] <= exercise.points - exercise.parts[first]


def test_the_check_of_a_shown_case_and_the_verdict_give_the_same_hint(assembled):
    assert any(exercise.shown for exercise in assembled[0])
    for exercise in assembled[0]:
        for case in exercise.shown:
            stated = the_cells._describe_shown_case(exercise, case)
            assert stated["wrong"]
            for hint, wrong in stated["wrong"]:
                assert hint in exercise.hints.values()
                with pytest.raises(compare.NotYet) as caught:
                    checking.check_cases(
                        lambda *args, wrong=wrong: _returned(wrong), "code", [{**stated, "gradients": ()}]
                    )
                assert hint in str(caught.value)


def _returned(wrong):
    if isinstance(wrong, dict):
        return {name: np.array(value) for name, value in wrong.items()}
    return np.array(wrong)


FAILS = """
def helper(query, keys):
    return query @ keys


def dot_product_score(query, keys):
    size = len(query)
    return helper(query, keys)[size]
"""
FAILS_INSIDE = """
import statistics

def dot_product_score(query, keys):
    return statistics.mean([])
"""
FAILS_ITSELF = """
def dot_product_score(query, keys):
    return {"a": 1}[query.shape]
"""
ENDLESS = """
def dot_product_score(query, keys):
    return dot_product_score(query, keys)
"""


@pytest.mark.suite("assignments")
def test_an_error_in_an_answer_shows_the_lines_of_the_answer_and_none_of_the_checks():
    """In a kernel, as JupyterLab shows it."""
    name = "scoring-dot_product_score"
    notebook = notebook_of("scoring")
    cells = cells_by_id(notebook)
    notebook.cells = [cells["compare"], cells["imports"]]
    for source in (FAILS, FAILS_INSIDE, FAILS_ITSELF, ENDLESS):
        notebook.cells += [nbformat.v4.new_code_cell(source), nbformat.v4.new_code_cell(cells[f"{name}-check"].source)]
    NotebookClient(notebook, timeout=120, allow_errors=True).execute()
    shown = []
    for cell in notebook.cells[3::2]:
        (error,) = cell.outputs
        shown.append(re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(error.traceback)))
        assert "checks.py" not in shown[-1]
        assert 'check("' not in shown[-1]
        assert len(shown[-1].splitlines()) < 40
        assert 'dot_product_score, in "worked example": called with query = [[1, 2]], keys = ' in " ".join(
            shown[-1].split()
        )
    fails, inside, after, endless = shown
    assert "     return helper(query, keys)[size]" in fails
    assert "return query @ keys" in fails
    assert fails.splitlines()[-1].startswith("ValueError: ")
    assert "return statistics.mean([])" in inside
    assert "statistics.py" not in inside
    assert "StatisticsError" in inside
    assert 'return {"a": 1}[query.shape]' in after
    assert "return dot_product_score(query, keys)" in endless
    assert "RecursionError" in endless


def test_an_error_of_a_class_that_takes_no_attribute_is_raised_as_it_is():
    class Fixed(Exception):
        def __setattr__(self, name, value):
            raise AttributeError(name)

    def dot_product_score(query, keys):
        raise Fixed("mine")

    namespace = run_cells(notebook_of("scoring"))
    namespace["dot_product_score"] = dot_product_score
    with pytest.raises(Fixed, match="mine"):
        namespace["check"]("scoring-dot_product_score")
