"""The answer key of every topic is complete, and a faulty key is refused with place and remedy."""

import ast
import dataclasses
import importlib
import inspect
from pathlib import Path

import pytest

from solutions import answer_key
from solutions.answer_key import AnswerKeyError

ROOT = Path(__file__).resolve().parents[2]
ENTRIES = [entry for topic in answer_key.topics() for entry in answer_key.load(topic).values()]
each_topic = pytest.mark.parametrize("topic", answer_key.topics())
each_graded = pytest.mark.parametrize(
    "entry", [e for e in ENTRIES if e.kind not in ("text", "trained")], ids=lambda e: e.name
)


@each_topic
def test_the_time_of_an_assignment_is_a_range_that_grows_with_its_exercises(topic):
    entries = list(answer_key.load(topic).values())
    least, most = answer_key.minutes(entries)
    assert 10 <= least < most
    assert least % 10 == most % 10 == 0
    half = answer_key.minutes(entries[: len(entries) // 2])
    assert half[0] < least
    assert half[1] < most


@pytest.mark.parametrize(("points", "expected"), [(1, (10, 20)), (10, (30, 50)), (25, (80, 120))])
def test_the_time_of_an_assignment_is_a_quarter_more_and_less_than_that_of_its_points(points, expected):
    code = next(entry for entry in ENTRIES if entry.kind == "code")
    assert answer_key.minutes([dataclasses.replace(code, points=points)]) == expected


def test_an_exercise_may_state_how_long_it_takes():
    race = answer_key.load("scoring")["scoring-race"]
    assert answer_key.minutes([race]) == (40, 80)  # an hour, as its text says
    assert answer_key.minutes([dataclasses.replace(race, minutes=0)]) == (10, 20)


def test_the_core_path_is_short_and_reaches_every_chapter_and_every_kind_of_work():
    core = [entry for entry in ENTRIES if entry.core]
    assert 26 <= len(core) <= 32
    assert {entry.topic for entry in core} == set(answer_key.topics())
    assert {entry.kind for entry in core} == set(answer_key.MINUTES_A_POINT)
    most = answer_key.minutes(core)[1]
    assert most <= 660  # eleven hours
    mend, diagnose = "context-mended_attention", "softmax-broken_maps"
    train = {
        "capstone-train_and_save",
        "capstone-train_translator",
        "capstone-corpus_bleu",
        "capstone-read_verses",
    }  # the third measures the second, and the fourth reads what it writes
    assert {mend, diagnose, "scoring-score_gradients", *train} <= {entry.name for entry in core}


def test_no_written_answer_has_more_criteria_than_the_marking_page_has_keys():
    assert max(len(entry.criteria) for entry in ENTRIES if entry.kind == "text") <= 9


TOY = """
[toy-double]
kind = "code"
points = 2
parts = { values = 1.5, one = 0.5 }

[[toy-double.case]]
name = "worked example"
shown = true
inputs.x = [1.0, 2.0]
expected = [2.0, 4.0]

[[toy-double.case]]
name = "drawn"
part = "values"
shapes = { x = [3, 4] }

[[toy-double.case]]
name = "size one"
part = "one"
shapes = { x = [1] }

[toy-by_hand]
kind = "number"
points = 1
atol = 1e-3

[toy-why]
kind = "text"
points = 2
answer = "Because."

[[toy-why.criterion]]
points = 2
text = "Says because."
comment = "Why?"
"""


def functions_of(module, entry):
    return {n: f for n, f in vars(module).items() if n.startswith(f"{entry.function}__") and callable(f)}


def load_toy(folder, old="", new=""):
    assert old in TOY
    (folder / "toy.toml").write_text(TOY.replace(old, new, 1) if old else TOY, encoding="utf-8")
    return answer_key.load("toy", folder)


def test_there_is_a_key_for_the_scoring_topic():
    assert "scoring" in answer_key.topics()


@each_topic
def test_names_of_exercises_begin_with_their_topic(topic):
    assert all(name == f"{topic}-{entry.function}" for name, entry in answer_key.load(topic).items())


@each_topic
def test_functions_are_unique_within_their_topic(topic):
    functions = [entry.function for entry in answer_key.load(topic).values()]
    assert len(functions) == len(set(functions))


@each_topic
def test_every_topic_has_numbers_code_and_text(topic):
    kinds = {entry.kind for entry in answer_key.load(topic).values()}
    assert kinds >= {"number", "code", "text"}


@each_topic
def test_a_chapter_has_at_most_two_warm_ups_and_they_are_no_exercises_with_points(topic):
    warm_ups = answer_key.load_warm_ups(topic)
    assert len(warm_ups) <= 2
    assert not warm_ups.keys() & answer_key.load(topic).keys()
    assert all(entry.points > 0 for entry in answer_key.load(topic).values())


@each_graded
def test_the_reference_is_a_function_with_solution_markers_and_a_docstring(entry):
    reference = getattr(importlib.import_module(entry.reference_module), entry.function)
    source = inspect.getsource(reference)
    assert source.count("### BEGIN SOLUTION\n") == source.count("### END SOLUTION\n") == 1
    assert reference.__doc__


@each_graded
def test_every_exercise_has_a_mistake_and_every_mistake_a_hint(entry):
    mistakes = functions_of(importlib.import_module(f"solutions.mistakes.{entry.topic}"), entry)
    assert mistakes
    assert all(mistake.__doc__ for mistake in mistakes.values())


@each_graded
def test_every_exercise_has_two_right_answers_in_another_style(entry):
    assert len(functions_of(importlib.import_module(f"tests.submissions.{entry.topic}"), entry)) >= 2


@pytest.mark.parametrize("folder", ["mistakes", "../tests/submissions"])
@each_topic
def test_every_wrong_or_right_version_belongs_to_an_exercise(topic, folder):
    tree = ast.parse((ROOT / "solutions" / folder / f"{topic}.py").read_text(encoding="utf-8"))
    names = {node.name.split("__")[0] for node in tree.body if isinstance(node, ast.FunctionDef) and "__" in node.name}
    entries = answer_key.load(topic) | (answer_key.load_warm_ups(topic) if folder == "mistakes" else {})
    assert names <= {entry.function for entry in entries.values()}


@each_topic
def test_every_written_answer_has_a_model_answer_and_comments(topic):
    written = [entry for entry in answer_key.load(topic).values() if entry.kind == "text"]
    assert written
    for entry in written:
        assert entry.answer.strip()
        assert entry.criteria
        assert all(criterion.text and criterion.comment for criterion in entry.criteria)
        assert len({criterion.comment for criterion in entry.criteria}) == len(entry.criteria), entry.name


def test_a_worked_example_is_a_shown_case_with_arrays():
    case = answer_key.worked_example("scoring-additive_score")
    assert case.shown
    assert case.inputs["keys"].shape == (1, 3, 2)
    assert case.expected.shape == (1, 3)


@pytest.mark.parametrize("name", ["scoring-scores_by_hand", "scoring-no_such_function"])
def test_asking_for_a_worked_example_that_is_not_there_says_so(name):
    with pytest.raises(AnswerKeyError, match=r"^scoring\.toml: no shown case .*\n  Remedy: "):
        answer_key.worked_example(name)


def test_a_key_without_fault_is_read_in_the_order_of_the_file(tmp_path):
    entries = load_toy(tmp_path)
    assert list(entries) == ["toy-double", "toy-by_hand", "toy-why"]
    assert [case.name for case in entries["toy-double"].cases] == ["worked example", "drawn", "size one"]
    assert entries["toy-double"].where == "toy.toml, line 2, [toy-double]"


def test_an_unknown_topic_is_refused_with_the_known_ones(tmp_path):
    load_toy(tmp_path)
    with pytest.raises(AnswerKeyError, match=r"^the answer key: no topic 'nothing'\n  Remedy: .*toy"):
        answer_key.load("nothing", tmp_path)


def test_invalid_toml_is_refused_with_its_line(tmp_path):
    with pytest.raises(AnswerKeyError, match=r"^toy\.toml: not valid TOML: .*line 3.*\n  Remedy: "):
        load_toy(tmp_path, 'kind = "code"', "kind = code")


FAULTS = {
    "unknown field": ("points = 2", "points = 2\npionts = 3", "double", "unknown field 'pionts'"),
    "unknown field of a case": ("shapes = { x = [1] }", "sizes = [1]", "double.*'size one'", "unknown field 'sizes'"),
    "unknown field of a criterion": ("comment =", "remark =", "why.*criterion", "unknown field 'remark'"),
    "missing field": ('kind = "code"\n', "", "double", "missing field kind"),
    "missing points of a criterion": ('points = 2\ntext = "Says', 'text = "Says', "why", "missing field points"),
    "one bracket for a criterion": ("[[toy-why.criterion]]", "[toy-why.criterion]", "why", "criterion is not a list"),
    "unknown kind": ('"code"', '"codes"', "double", "kind 'codes' is not known"),
    "unknown module": ("points = 2", 'points = 2\nmodule = "in_jax"', "double", "module 'in_jax' is not known"),
    "points below 0": ("points = 2", "points = -2", "double", "points must be above 0"),
    "parts that do not add up": ("one = 0.5", "one = 1", "double", "the parts add to 2.5, not 2"),
    "parts that add up to less": ("one = 0.5", "one = 0.25", "double", "the parts add to 1.75, not 2"),
    "no expected value": ("expected = [2.0, 4.0]\n", "", "double", "states no expected value"),
    "no inputs": ("inputs.x = [1.0, 2.0]\n", "", "double", "states no inputs"),
    "neither shapes nor inputs": ("shapes = { x = [1] }", "", "double", "either shapes or inputs"),
    "hidden expected value": ("shapes = { x = [1] }", "shapes = { x = [1] }\nexpected = [1]", "double", "leave it out"),
    "unknown part": ('part = "one"', 'part = "two"', "double", "part 'two' is not one of"),
    "no shown case": ("shown = true\n", "", "double", "states an expected value"),
    "no hidden case for a part": ('part = "one"', 'part = "values"', "double", "no hidden case for part 'one'"),
    "no tolerance": ("atol = 1e-3", "", "by_hand", "needs atol"),
    "criteria that do not add up": ("points = 2\ntext", "points = 1\ntext", "why", "the criteria do not add"),
}


@pytest.mark.parametrize(("old", "new", "where", "what"), FAULTS.values(), ids=FAULTS)
def test_a_fault_in_the_key_is_refused_with_place_and_remedy(tmp_path, old, new, where, what):
    with pytest.raises(AnswerKeyError, match=rf"(?s)^toy\.toml, line \d+, \[toy-{where}.*: .*{what}.*") as caught:
        load_toy(tmp_path, old, new)
    assert "\n  Remedy: " in str(caught.value)


def test_a_code_exercise_without_any_hidden_case_is_refused(tmp_path):
    hidden = TOY[TOY.index('[[toy-double.case]]\nname = "drawn"') : TOY.index("[toy-by_hand]")]
    with pytest.raises(AnswerKeyError, match=r"^toy\.toml, line 2, \[toy-double\]: no hidden case.*\n  Remedy: "):
        load_toy(tmp_path, hidden, "")


@pytest.mark.parametrize("name", ["toy-by-hand", "toy", "other-by_hand", "toy-2nd", '"toy-by hand"'])
def test_a_name_that_is_no_topic_and_function_is_refused(tmp_path, name):
    with pytest.raises(AnswerKeyError, match=r"^toy\.toml, line \d+, \[.*\]: .* is no exercise name\n  Remedy: "):
        load_toy(tmp_path, "toy-by_hand", name)


MISTYPED = {
    "a case that is no table": ("atol = 1e-3", 'atol = 1e-3\ncase = ["worked example"]'),
    "points in quotes": ("points = 2", 'points = "2"'),
    "parts as a list": ("{ values = 1.5, one = 0.5 }", "[1.5, 0.5]"),
    "a part in quotes": ("one = 0.5", 'one = "0.5"'),
    "points of a criterion in quotes": ('points = 2\ntext = "Says', 'points = "2"\ntext = "Says'),
}


@pytest.mark.parametrize(("old", "new"), MISTYPED.values(), ids=MISTYPED)
def test_a_value_of_the_wrong_type_is_refused_with_place_and_remedy(tmp_path, old, new):
    with pytest.raises(AnswerKeyError, match=r"(?s)^toy\.toml, line \d+, .*\n  Remedy: "):
        load_toy(tmp_path, old, new)


TOLD = {
    "a list that is a text": (
        "shapes = { x = [1] }",
        'shapes = { x = [1] }\ngradients = "x"',
        "toy.toml, line 22, [toy-double], case 'size one': gradients is 'x'\n  Remedy: write a list there.",
    ),
    "a number in quotes": (
        "points = 2\nparts",
        'points = "2"\nparts',
        "toy.toml, line 4, [toy-double]: points is '2'\n  Remedy: write a number there.",
    ),
    "a part in quotes": (
        "one = 0.5",
        'one = "half"',
        "toy.toml, line 5, [toy-double]: parts.one is 'half'\n  Remedy: write a number there.",
    ),
    "true for a number": (
        "atol = 1e-3",
        "atol = true",
        "toy.toml, line 26, [toy-by_hand]: atol is True\n  Remedy: write a number there.",
    ),
    "steps in a warm-up": (
        "points = 1\natol = 1e-3",
        "points = 0\natol = 1e-3\nfollows = { b = ['a'] }",
        "toy.toml, line 27, [toy-by_hand]: follows in an exercise without points\n  Remedy: leave it out: the check of a warm-up "
        "knows the right answer, and nobody grades it.",
    ),
    "a condition in a warm-up": (
        "points = 1\natol = 1e-3",
        "points = 0\natol = 1e-3\nholds = { 'answer > 0' = 'it is positive' }",
        "toy.toml, line 27, [toy-by_hand]: holds in an exercise without points\n  Remedy: leave it out: the check of a warm-up "
        "knows the right answer, and nobody grades it.",
    ),
    "parts of a warm-up": (
        "points = 1\natol = 1e-3",
        "points = 0\natol = 1e-3\nparts = { a = 0 }",
        "toy.toml, line 27, [toy-by_hand]: parts in an exercise without points\n  Remedy: leave it out: the check of a warm-up "
        "knows the right answer, and nobody grades it.",
    ),
    "code without points": (
        "points = 2\nparts = { values = 1.5, one = 0.5 }",
        "points = 0",
        "toy.toml, line 4, [toy-double]: 0 points in an exercise of kind code\n  Remedy: state its points: only an exercise of "
        "kind shape or number can be a warm-up, without points.",
    ),
    "a number for a text": (
        'answer = "Because."',
        "answer = 42",
        "toy.toml, line 31, [toy-why]: answer is 42\n  Remedy: write text in quotes there.",
    ),
    "a list for a table": (
        "inputs.x = [1.0, 2.0]",
        "inputs = [1.0, 2.0]",
        "toy.toml, line 10, [toy-double], case 'worked example': inputs is [1.0, 2.0]\n  Remedy: write a table there.",
    ),
    "a size that is none": (
        "shapes = { x = [3, 4] }",
        'shapes = { x = { shape = [3, "n"], draw = "mask" } }',
        "toy.toml, line 16, [toy-double], case 'drawn': shape, entry 2 is 'n'\n  Remedy: write a whole number there.",
    ),
    "a size below zero": (
        "shapes = { x = [3, 4] }",
        "shapes = { x = [3, -4] }",
        "toy.toml, line 16, [toy-double], case 'drawn': shape, entry 2 is -4\n  Remedy: write a whole number, 0 or more there.",
    ),
    "a bound of nothing": (
        "shapes = { x = [3, 4] }",
        'shapes = { x = { shape = [3, 4], draw = "integers", below = 0 } }',
        "toy.toml, line 16, [toy-double], case 'drawn': below is 0\n  Remedy: write a whole number, 1 or more there.",
    ),
    "a mask without a shape": (
        "shapes = { x = [3, 4] }",
        'shapes = { x = { draw = "mask" } }',
        "toy.toml, line 16, [toy-double], case 'drawn': x: mask without a shape\n  Remedy: write `shape`, a list of sizes.",
    ),
    "a field that a case has not": (
        'part = "one"',
        'part = "one"\npoints = 1',
        "toy.toml, line 21, [toy-double], case 'size one': unknown field 'points'\n  Remedy: the fields of a case are atol, "
        "expected, gradients, inputs, name, part, scale, shapes, shown.",
    ),
    "a field that what is drawn has not": (
        "shapes = { x = [3, 4] }",
        "shapes = { x = { shape = [3, 4], least = 1 } }",
        "toy.toml, line 16, [toy-double], case 'drawn': unknown field 'least'\n  Remedy: the fields of what is drawn for x are "
        "below, draw, empty_row, shape.",
    ),
    "a field that an exercise has not": (
        "atol = 1e-3",
        "atol = 1e-3\ntolerance = 1e-3",
        "toy.toml, line 27, [toy-by_hand]: unknown field 'tolerance'\n  Remedy: the fields of a number exercise are atol, "
        "core, follows, holds, kind, parts, points.",
    ),
    "a field of another kind": (
        "atol = 1e-3",
        'atol = 1e-3\nequations = ["a"]',
        "toy.toml, line 27, [toy-by_hand]: equations in an exercise of kind number\n  Remedy: only kind shape can have it.",
    ),
    "a case of another kind": (
        "atol = 1e-3",
        'atol = 1e-3\n[[toy-by_hand.case]]\nname = "drawn"',
        "toy.toml, line 27, [toy-by_hand]: case in an exercise of kind number\n  Remedy: only kind code can have it.",
    ),
    "a draw that nobody knows": (
        "shapes = { x = [3, 4] }",
        'shapes = { x = { shape = [3, 4], draw = "bits" } }',
        "toy.toml, line 16, [toy-double], case 'drawn': draw 'bits' is not known\n  Remedy: write one of normal, mask, "
        "weights, integers, log_probabilities.",
    ),
    "whole numbers without a bound": (
        "shapes = { x = [3, 4] }",
        'shapes = { x = { shape = [3, 4], draw = "integers" } }',
        "toy.toml, line 16, [toy-double], case 'drawn': x: `below` belongs to draw = \"integers\"\n  Remedy: write both, or "
        "neither.",
    ),
}


@pytest.mark.parametrize(("old", "new", "message"), TOLD.values(), ids=TOLD)
def test_a_refusal_says_the_line_of_the_field_and_what_to_write_in_the_words_of_toml(tmp_path, old, new, message):
    with pytest.raises(AnswerKeyError) as caught:
        load_toy(tmp_path, old, new)
    assert str(caught.value) == message


def test_a_line_is_found_where_a_table_is_written_in_another_way(tmp_path):
    new = "[toy-double.parts]\nvalues = 1.5\none = true"
    with pytest.raises(AnswerKeyError, match=r"^toy\.toml, line 5, \[toy-double\]: parts\.one is True\n"):
        load_toy(tmp_path, "parts = { values = 1.5, one = 0.5 }", new)
    entries = load_toy(tmp_path, "[toy-by_hand]", '["toy-by_hand"]')
    assert entries["toy-by_hand"].where == "toy.toml, line 23, [toy-by_hand]"


def test_what_is_written_without_a_table_of_its_own_is_found_in_its_exercise(tmp_path):
    new = '[toy-inline]\nkind = "code"\npoints = 1\ncase = [{ name = "a" }]\n\n[toy-by_hand]'
    with pytest.raises(AnswerKeyError, match=r"^toy\.toml, line 23, \[toy-inline\], case 'a': a hidden case"):
        load_toy(tmp_path, "[toy-by_hand]", new)


def test_an_axis_may_be_a_single_letter(tmp_path):
    new = 'expected = [2.0, 4.0]\n\n[toy-double.arguments]\nx = { kind = "scores", axes = ["b", "n"] }'
    entry = load_toy(tmp_path, "expected = [2.0, 4.0]", new)["toy-double"]
    assert entry.arguments["x"].axes == ("b", "n")


def test_each_kind_of_exercise_has_just_its_own_fields():
    own = {kind: {f.name for f in dataclasses.fields(record)} for kind, record in answer_key.KINDS.items()}
    shared = set.intersection(*own.values())
    assert shared == {"kind", "name", "where", "points", "core"}
    assert own["text"] - shared == {"answer", "criteria", "minutes"}
    assert own["shape"] - shared == {"parts", "equations", "given", "letters"}
    assert own["code"] - shared == {"module", "parts", "arguments", "gradients", "least", "most", "reaches", "cases"}


def test_every_entry_and_case_is_frozen(tmp_path):
    entry = load_toy(tmp_path)["toy-double"]
    for record, name in ((entry, "points"), (entry.cases[1], "shapes"), (entry.cases[1].shapes["x"], "shape")):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(record, name, 3)


def test_a_key_that_is_not_utf_8_is_refused_with_place_and_remedy(tmp_path):
    (tmp_path / "toy.toml").write_bytes(TOY.replace("Because", "Für").encode("latin-1"))
    with pytest.raises(AnswerKeyError, match=r"^toy\.toml"):
        answer_key.load("toy", tmp_path)


TRAINED = """
[toy-fit]
kind = "trained"
points = 2
parts = { loss = 2 }
file = "weights.npz"
run = "translate"
measure = "measure"
draw = "sentences"
thresholds = { loss = 0.5 }
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('file = "weights.npz"\n', "", "line 2, .*missing field file: a trained exercise needs file"),
        ('file = "weights.npz"', 'file = ""', "line 6, .*file is ''\n  Remedy: write text in quotes, not empty"),
        ("{ loss = 2 }", "{}", "line 5, .*parts is {}\n  Remedy: write a table, not empty"),
        ("{ loss = 0.5 }", "{ gain = 0.5 }", "line 10, .*thresholds and parts name different things"),
    ],
)
def test_a_trained_exercise_that_lacks_something_is_refused(tmp_path, old, new, message):
    (tmp_path / "toy.toml").write_text(TRAINED.replace(old, new), encoding="utf-8")
    with pytest.raises(AnswerKeyError, match=rf"^toy\.toml, {message}"):
        answer_key.load("toy", tmp_path)
