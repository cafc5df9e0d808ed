"""The answer key of every topic is complete, and a key with a fault is refused with place and remedy."""

import ast
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
def test_every_topic_has_every_kind_of_exercise(topic):
    kinds = {entry.kind for entry in answer_key.load(topic).values()}
    assert kinds - {"trained"} == {"shape", "number", "code", "text"}


@each_topic
def test_warm_ups_give_at_most_a_quarter_of_the_points(topic):
    entries = answer_key.load(topic).values()
    assert 4 * sum(e.points for e in entries if e.warm_up) <= sum(e.points for e in entries)


@each_graded
def test_the_reference_is_a_function_with_solution_markers_and_a_docstring(entry):
    reference = getattr(importlib.import_module(f"solutions.{entry.module}.{entry.topic}"), entry.function)
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
    assert names <= {entry.function for entry in answer_key.load(topic).values()}


@each_topic
def test_every_written_answer_has_a_model_answer_and_comments(topic):
    written = [entry for entry in answer_key.load(topic).values() if entry.kind == "text"]
    assert written
    for entry in written:
        assert entry.answer.strip()
        assert entry.criteria
        assert all(criterion.text and criterion.comment for criterion in entry.criteria)


def test_a_worked_example_is_a_shown_case_with_arrays():
    case = answer_key.worked_example("scoring-additive_score")
    assert case.shown
    assert case.inputs["keys"].shape == (1, 2, 2)
    assert case.expected.shape == (1, 2)


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
    "no points": ("points = 2", "points = 0", "double", "points must be above 0"),
    "parts that do not add up": ("one = 0.5", "one = 1", "double", "the parts add to 2.5, not 2"),
    "no expected value": ("expected = [2.0, 4.0]\n", "", "double", "states no expected value"),
    "no inputs": ("inputs.x = [1.0, 2.0]\n", "", "double", "states no inputs"),
    "neither shapes nor inputs": ("shapes = { x = [1] }", "", "double", "either shapes or inputs"),
    "hidden expected value": ("shapes = { x = [1] }", "shapes = { x = [1] }\nexpected = [1]", "double", "leave it out"),
    "unknown part": ('part = "one"', 'part = "two"', "double", "part 'two' is none of"),
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


def test_a_key_that_is_not_utf_8_is_refused_with_place_and_remedy(tmp_path):
    (tmp_path / "toy.toml").write_bytes(TOY.replace("Because", "Für").encode("latin-1"))
    with pytest.raises(AnswerKeyError, match=r"^toy\.toml"):
        answer_key.load("toy", tmp_path)
