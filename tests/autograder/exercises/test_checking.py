"""A check explains what is wrong with an answer and never reveals the right one."""

import json
import re
from itertools import combinations

import numpy as np
import pytest
import torch

from autograder.exercises import checking, compare, compile_steps
from autograder.exercises.case_labels import kinds_of_hidden
from autograder.exercises.compare import NotYet
from autograder.exercises.packing import compress
from autograder.notebooks import cells as the_cells
from autograder.notebooks.chapter import chapter_texts
from autograder.paths import BOOK
from tests.autograder.samples import ENTRIES, NAMES, exercise_named


def double(x):
    return 2 * x


SHOWN = {"name": "worked example", "inputs": {"x": [1.0, 2.0]}, "expected": [2.0, 4.0], "atol": 1e-6}
WITH_HINT = {**SHOWN, "wrong": [("You squared.", [1.0, 4.0]), ("You halved.", [0.5, 1.0])]}


def squared(x):
    return x**2


def unanswered(x):
    raise NotImplementedError


def double_in_place(x):
    x *= 2
    return x


@pytest.fixture
def checked(monkeypatch):
    """Check an answer as in a notebook that stores ``known`` about the exercise."""

    def run(function, **known):
        stored = {"function": "f", "kind": "code", "hidden": {"count": 1, "kinds": []}, **known}
        monkeypatch.setattr(checking, "EXERCISES", {"toy-f": compress(json.dumps(stored))})
        monkeypatch.setattr(checking, "ANSWERS", {"f": function})
        checking.check("toy-f")

    return run


def test_a_right_answer_to_the_shown_cases_is_told_so(checked, capsys):
    checked(double, cases=[SHOWN])
    assert capsys.readouterr().out.startswith("f: the shown case is right.\n")


def test_nothing_good_is_said_above_a_sentence_on_what_is_wrong(checked, capsys):
    numbers = {"holds": {"answer < 1": "it is below 1"}, "follows": {}, "atol": 0.01, "decimals": {}}
    shape = {"cases": [{"inputs": {"m": 3}, "form": {"W": None}}], "equations": ["W @ x"], "given": {"x": [3]}}
    with pytest.raises(NotYet, match="cannot be right"):
        checked(lambda: 2.0, kind="number", cases=[{"form": []}], numbers=numbers)
    with pytest.raises(NotYet, match="do not fit together"):
        checked(lambda m: {"W": (m + 1, m + 1)}, kind="shape", **shape)
    with pytest.raises(NotYet, match='in "worked example": 1 of 2 values is wrong'):
        checked(double_in_place, cases=[SHOWN, {**SHOWN, "expected": [2.0, 5.0]}])
    output = capsys.readouterr().out
    assert output == "With m=3: W (4, 4)\n"  # only the student's own sizes, no verdict
    checked(lambda: 0.5, kind="number", cases=[{"form": []}], numbers=numbers)
    checked(lambda m: {"W": (m + 1, m)}, kind="shape", **shape)
    output = capsys.readouterr().out
    assert "f: the form is right. Whether the answer is right is not checked here.\n" in output
    assert (
        "f: the form is right, and your shapes fit together in W @ x. Whether the answer is right is not checked"
        in output
    )


@pytest.mark.parametrize(
    ("function", "sentence"),
    [
        (squared, r'squared, in "worked example": 1 of 2 values is wrong(.*\n)+Hint: You squared\.$'),
        (unanswered, "unanswered: not answered yet"),
        (print, 'print, in "worked example": it returned nothing'),
    ],
)
def test_a_wrong_answer_to_a_shown_case_is_told_what_is_wrong(function, sentence):
    with pytest.raises(NotYet, match=sentence):
        checking.check_cases(function, "code", [WITH_HINT])


OTHER = {"name": "other sizes", "inputs": {"x": np.ones((5, 6)).tolist()}, "expected": np.ones((5, 6)), "atol": 1e-6}


@pytest.mark.parametrize(
    ("case", "lines"),
    [
        (SHOWN, ["Called with x = [1, 2].", "Right: [2, 4]", "Yours: [1, 4]"]),
        (OTHER | {"expected": 2 * OTHER["expected"]}, ["Called with x (5, 6)."]),
        ({**SHOWN, "expected": np.ones((5, 6))}, ["Called with x = [1, 2]."]),
    ],
)
def test_a_wrong_answer_is_told_the_call_and_of_a_small_one_the_values(case, lines):
    with pytest.raises(NotYet) as caught:
        checking.check_cases(squared, "code", [case])
    first, *others = str(caught.value).split("\n")
    assert first.startswith(f'squared, in "{case["name"]}": ')
    assert others == lines


def test_a_gradient_that_cannot_pass_is_told_with_the_call():
    case = {**OTHER, "gradients": ["x"], "inputs": {"x": [[1.0, 2.0]]}}
    with pytest.raises(NotYet, match=r"no gradient gets through(.|\n)*Called with x = \[\[1, 2\]\]\.$"):
        checking.check_cases(lambda x: x.detach(), "code", [case], torch.from_numpy)


def test_of_several_gradients_the_check_names_the_one_that_is_cut_off():
    inputs = {"x": [[1.0, 2.0]], "y": [[3.0, 4.0]]}
    case = {**OTHER, "gradients": ["x", "y"], "inputs": inputs, "expected": {"x": [[3.0, 4.0]], "y": [[1.0, 2.0]]}}
    with pytest.raises(NotYet) as caught:
        checking.check_cases(lambda x, y: x * y.detach(), "code", [case], torch.from_numpy)
    assert "y: no gradient gets through to it: is something cut off by detach(), item(), numpy" in str(caught.value)
    assert "x:" not in str(caught.value).splitlines()[0]
    assert "yours is" not in str(caught.value)


def test_a_gradient_that_is_rightly_zero_is_not_called_cut_off():
    inputs = {"x": [[1.0, 2.0]], "y": [[3.0, 4.0]]}
    case = {**OTHER, "gradients": ["x", "y"], "inputs": inputs, "expected": {"x": [[2.0, 2.0]], "y": [[0.0, 0.0]]}}
    with pytest.raises(NotYet) as caught:
        checking.check_cases(lambda x, y: x + 0 * y, "code", [case], torch.from_numpy)
    assert "x: " in str(caught.value)
    assert "gets through" not in str(caught.value)


@pytest.mark.parametrize("value", [None, "text", [[1.0], [2.0, 3.0]], {"a": 1.0}])
def test_of_a_value_that_is_no_array_of_numbers_only_the_reason_is_told(value):
    with pytest.raises(NotYet) as caught:
        checking.check_cases(lambda x: value, "code", [SHOWN])
    assert str(caught.value).split("\n")[1].startswith("Called with x = [1, 2].")


def test_an_exception_of_the_student_is_shown_below_the_call_that_raised_it():
    for function, error in ((lambda x: 1 / 0, ZeroDivisionError), (lambda x: x.sum().no_such, AttributeError)):
        with pytest.raises(error) as caught:
            checking.check_cases(function, "code", [SHOWN])
        lines = caught.value._render_traceback_()
        assert lines[0].endswith(', in "worked example": called with x = [1, 2].')
        assert lines[-1].startswith(error.__name__)


def test_a_right_answer_that_changed_its_input_is_told_so_and_passes(capsys):
    checking.check_cases(double_in_place, "code", [SHOWN])
    output = capsys.readouterr().out
    assert "right, and no points are lost, but it changed its input x" in output
    hidden = [{**SHOWN, "part": "values"}]
    assert compare.score(double_in_place, "code", hidden, {"values": 1}) == 1


def test_the_check_of_a_shape_prints_it_for_small_sizes(capsys):
    checking.check_cases(lambda m, n: {"W": (n, m)}, "shape", [{"inputs": {"m": 2, "n": 3}, "form": {"W": None}}])
    assert "With m=2, n=3: W (3, 2)\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("kind", "value", "form", "sentence"),
    [
        ("shape", (2, 3), {"W": None}, "return a dict with the keys W"),
        ("shape", {"v": (2,)}, {"W": None}, "W: this key is missing"),
        ("shape", {"W": 2}, {"W": None}, "W: a shape is a tuple"),
        ("shape", 2, None, "a shape is a tuple"),
        ("number", [1.0], (2,), "return 2 numbers, and nothing else, instead of 1"),
        ("number", [1.0], (), "return one number, and nothing else, instead of 1"),
        ("number", 1.0, (2,), "return 2 numbers, and nothing else, instead of one"),
        ("number", [[1.0, 2.0]], (2, 2), "return 2 x 2 numbers, and nothing else, instead of 1 x 2"),
        ("number", [1.0, np.nan], (2,), "the numbers must be finite"),
        ("number", None, (2,), "it returned nothing"),
        ("number", {"a": 1.0}, (2,), "return 2 numbers, and nothing else, instead of a dict"),
        ("number", 1.0, {"a": ()}, "return a dict with the keys a"),
        ("number", {"a": "one"}, {"a": ()}, "a: it returned str, not numbers"),
    ],
)
def test_a_shape_or_number_of_the_wrong_form_is_told_so(kind, value, form, sentence):
    with pytest.raises(NotYet, match=sentence):
        checking.check_cases(lambda: value, kind, [{"form": form}])


@pytest.mark.parametrize(
    ("value", "form"), [([1.0, 2.0], (2,)), (3, ()), ({"a": 1.0, "b": [2.0]}, {"a": (), "b": (1,)})]
)
def test_of_numbers_of_the_right_form_nothing_is_said_whatever_they_are(capsys, value, form):
    checking.check_cases(lambda: value, "number", [{"form": form}])
    assert capsys.readouterr().out == ""


def double_printed(x):
    print(2 * x)


def triple_in_place(x):
    x *= 3
    return x


def wandering(x, calls=iter(range(9))):  # noqa: B008
    return x + next(calls)


def silent(x):
    return None


@pytest.mark.parametrize(
    ("function", "advice"),
    [
        (double_printed, compare.PRINTED),
        (triple_in_place, compare.CHANGED.format("x")),
        (wandering, compare.UNSTEADY),
    ],
)
def test_where_no_mistake_is_recognised_the_check_names_what_it_noticed_about_the_call(function, advice, capsys):
    with pytest.raises(NotYet) as caught:
        checking.check_cases(function, "code", [SHOWN])
    assert str(caught.value).endswith(f"\nHint: {compare.full_sentence(advice)}")
    assert capsys.readouterr().out.count("[2. 4.]") == (function is double_printed)  # captured, not printed twice


@pytest.mark.parametrize(
    ("function", "case"), [(silent, SHOWN), (lambda x: x + 5, SHOWN), (lambda x: x + 5, WITH_HINT)]
)
def test_where_no_mistake_gives_the_value_and_nothing_is_odd_the_check_says_no_more(function, case):
    with pytest.raises(NotYet) as caught:
        checking.check_cases(function, "code", [case])
    assert "Hint" not in str(caught.value)


def test_two_mistakes_that_give_the_same_value_are_both_named():
    both = {**SHOWN, "wrong": [("You squared.", [1.0, 4.0]), ("You multiplied by x.", [1.0, 4.0])]}
    with pytest.raises(NotYet, match=r"Hint: You squared\. Or: You multiplied by x\.$"):
        checking.check_cases(squared, "code", [both])


NUMBERS = [name for name in NAMES if ENTRIES[name].kind == "number"]
each_number = pytest.mark.parametrize("name", NUMBERS)


def said_of(exercise, value):
    """Return what a number exercise's check objects to in ``value``; "" if it accepts the value."""

    def answer():
        return value

    try:
        checking.check_numbers(answer, **the_cells.check_data(exercise)["numbers"])
    except NotYet as error:
        return str(error)
    return ""


@each_number
def test_of_right_numbers_the_check_has_nothing_to_say(name):
    exercise = exercise_named(name)
    assert exercise.entry.holds
    assert said_of(exercise, exercise.hidden[0].expected) == ""


def round_entries(exercise, decimals):
    """Return the right answer of ``exercise``, each entry that follows from no other rounded to ``decimals``."""
    right = exercise.hidden[0].expected
    if not isinstance(right, dict):
        return np.round(right, decimals)
    return {entry: value if entry in exercise.follows else np.round(value, decimals) for entry, value in right.items()}


FEW_DECIMALS = "at most 2 decimals, and more are asked for"


@pytest.mark.parametrize("name", NUMBERS)
def test_two_decimals_are_objected_to_where_three_or_four_are_asked_for(name):
    exercise = exercise_named(name)
    text = chapter_texts(BOOK / f"{exercise.entry.topic}.md")[1][name].body
    more = "three decimals" in text or "four decimals" in text
    more &= (
        name != "from_bahdanau_to_transformers-saturation"
    )  # all but its first number follow from that, which has one
    assert (FEW_DECIMALS in said_of(exercise, round_entries(exercise, 2))) == more
    assert "decimals" not in said_of(exercise, round_entries(exercise, 4))


@pytest.mark.parametrize("name", [name for name in NUMBERS if exercise_named(name).follows])
def test_decimals_are_not_asked_of_what_follows_from_the_student_s_own_numbers(name):
    exercise = exercise_named(name)
    numbers = the_cells.check_data(exercise)["numbers"]
    assert numbers["decimals"].keys() == exercise.hidden[0].expected.keys() - exercise.follows.keys()


def test_numbers_that_are_short_by_themselves_need_no_more_decimals():
    exercise = exercise_named("from_bahdanau_to_transformers-saturation")
    right = exercise.hidden[0].expected
    assert said_of(exercise, {**right, "spread": 0.25}).count("decimals") == 0
    for guess in (0.5, 0.0):  # the answer does not say whether a guess is right
        assert "decimals" not in said_of(exercise, {**right, "plain": guess})


def test_numbers_beyond_every_rounding_have_enough_decimals():
    assert [checking.count_decimals(x, 1e-12) for x in (0.5, [-0.125, 7], 2e300, np.nan)] == [1, 3, 0, 16]


def moved(exercise):
    """Yield wrong values near the right one: with two numbers of an entry, a whole entry, or two entries shifted."""
    right, step = exercise.hidden[0].expected, 8 * exercise.entry.atol
    entries = right if isinstance(right, dict) else {"": right}
    for entry, array in entries.items():
        size = np.size(array)
        for move in (*(np.eye(size)[i] - np.eye(size)[j] for i in range(size) for j in range(i)), np.ones(size)):
            for sign in (1, -1):
                other = array + sign * step * move.reshape(np.shape(array))
                yield {**entries, entry: other} if entry else other
    for first, second in combinations(entries, 2):
        yield {**entries, first: entries[first] + step, second: entries[second] + step}


@each_number
def test_what_the_check_says_does_not_settle_the_answer(name):
    exercise = exercise_named(name)
    held = exercise.entry.holds
    assert any(not checking.unmet_conditions(value, held, exercise.entry.atol) for value in moved(exercise))
    text = str(the_cells.check_data(exercise)["numbers"])
    first = exercise.hidden[0].expected
    first = next(iter(first.values())) if isinstance(first, dict) else first
    assert not all(f"{number:.3f}" in text for number in np.ravel(first)) or not np.ravel(first).any()


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("softmax-weights_by_hand_twin", [0.3, 0.2, 0.5, 0.1], r"The weights must sum to 1 \(yours: 1\.1\)\."),
        ("softmax-weights_by_hand_twin", [0.5, 0.1, 0.2, 0.2], "The largest score has the largest weight"),
        ("softmax-score_differences", [0.47, 1.1, 0.9], "The smaller a weight, the further its score is below"),
        ("encoder-annotation_by_hand", [-0.7692, -1.1], "A tanh lies between -1 and 1"),
        ("scoring-scores_by_hand_twin", [0.3, -0.1, 3.2], "no score exceeds 2 \\+ 1"),
        ("decoder_fusion-two_decimals", {"weights": [0.4, 0.5, 0.6, 0.7, 0.8, 0.9], "alike": [4, 1]},
         "Name two methods, the smaller number first"),
        ("context-weights_from_context", [0.5, 0.3, 0.3], r"The weights must sum to 1 \(yours: 1\.1\)\."),
        ("spelling-em_by_hand", {"n": [0.5, 0.25, 0.25], "o": [0.333, 0.5, 0.167], "shares": [0.6, 1.5, 0.4, 0.6],
         "again": [0.5625, 0.5814]}, "Each share is below 1"),
    ],
)  # fmt: skip
def test_numbers_that_cannot_be_right_are_told_why(name, value, sentence):
    with pytest.raises(NotYet, match=sentence):
        checking.check_numbers(lambda: value, **the_cells.check_data(exercise_named(name))["numbers"])


@pytest.mark.parametrize("name", [name for name in NUMBERS if ENTRIES[name].follows])
def test_a_step_that_does_not_follow_from_the_students_own_is_told_and_one_that_does_is_not(name):
    exercise = exercise_named(name)
    chain = {entry: np.array(value, dtype=float) for entry, value in exercise.hidden[0].expected.items()}
    first = next(iter(chain))
    size = chain[first].size
    moves = np.linspace(-0.05, 0.05, size) if size > 1 else 3 * max(0.1, exercise.entry.atol)  # the sum stays the same
    chain[first] = chain[first] + moves
    assert f"does not follow from your own {first}" in said_of(exercise, chain)
    for entry, (steps, function) in compile_steps(exercise.follows).items():
        chain[entry] = np.asarray(function(*(chain[step] for step in steps)))
    assert said_of(exercise, chain) == ""


def test_maps_with_one_bug_are_told_without_saying_which_is_wrong():
    maps = {"A": 4, "B": 1, "C": 6, "D": 3, "E": 3}
    said = said_of(exercise_named("softmax-broken_maps"), maps)
    assert said.endswith("No two maps have the same bug.")
    assert said_of(exercise_named("softmax-broken_maps"), maps | {"E": 5}) == ""


def test_the_steps_that_a_notebook_carries_do_not_lead_to_the_answer():
    for name in NUMBERS:
        exercise = exercise_named(name)
        first = next(iter(exercise.hidden[0].expected)) if exercise.follows else ""
        for step in exercise.follows.values():
            assert not any(re.search(rf"\b{entry} =", step.source) for entry in {first, *step.given} - {""})


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_what_is_said_of_the_hidden_cases_is_read_off_them_and_does_not_depend_on_the_seed(name):
    exercise = exercise_named(name)
    kinds = kinds_of_hidden(exercise)
    assert kinds == kinds_of_hidden(exercise_named(name, 2)) == kinds_of_hidden(exercise_named(name, 3))
    parts = {case.part for case in exercise.hidden}
    assert ("gradients" in kinds) == ("gradient" in parts)
    assert {"size_one"} & parts <= ({"size_one"} if "an axis of length 1" in kinds else set())
    assert {"large_scores", "large_logits"} & parts == set() or "large numbers" in kinds
    assert {"masking"} & parts == set() or {"padding", "large numbers"} & set(kinds)
    assert "other sizes" in kinds or exercise.kind == "number"


def test_the_last_line_says_how_many_hidden_cases_there_are_and_of_what_kinds():
    exercise = exercise_named("context-attend")
    known, families = (
        the_cells.check_data(exercise)["hidden"],
        {w for case in exercise.hidden for w in case.families},
    )
    assert checking.describe_hidden_cases(**known) == (
        f"{len(exercise.hidden)} hidden cases from {len(families)} families give the points. They include: other sizes, padding, "
        "a sentence without a word, large numbers, an axis of length 1, gradients."
    )
    known = the_cells.check_data(exercise_named("softmax-score_differences"))["hidden"]
    assert checking.describe_hidden_cases(**known) == "points are given for the right numbers, each within 0.0001."
    single = "one hidden case gives the points. They include: other numbers."
    assert checking.describe_hidden_cases(count=1, kinds=[]) == single


def test_of_an_error_only_the_lines_of_the_notebook_are_shown_and_many_are_cut(monkeypatch):
    shown = []

    class FakeShell:
        class InteractiveTB:
            @staticmethod
            def structured_traceback(kind, error, trace, tb_offset):
                while trace is not None:
                    shown.append(trace.tb_lineno)
                    trace = trace.tb_next
                return [f"{kind.__name__}"]

    notebook = {}
    exec(compile("def answer(x):\n    if x:\n        answer(x - 1)\n    return [][0]\n", "<cell>", "exec"), notebook)
    monkeypatch.setattr(checking, "ANSWERS", notebook)
    monkeypatch.setattr("IPython.get_ipython", FakeShell)
    for depth, lines in ((0, [4]), (2, [3, 3, 4]), (5, [3] * 5 + [4]), (40, [3] * 5 + [4])):
        shown.clear()
        with pytest.raises(IndexError) as raised:
            notebook["answer"](depth)
        report = checking.own_lines(raised.value, raised.value.__traceback__, "answer: called with x = 1.")
        assert report == ["answer: called with x = 1.", "IndexError"]
        assert shown == lines


def modules_lacking(monkeypatch, source, **others):
    """Return what `find_lacking_modules` says of the function f in ``source``, a cell of a notebook with ``others``."""
    space = {"__name__": "__main__", "np": np, "torch": torch, **others}
    space["In"] = ["import numpy as np", *others.get("cells", ()), source]
    exec(source, space)
    monkeypatch.setattr(checking, "ANSWERS", space)
    return checking.find_lacking_modules("f", space["f"])


HELPER = "def g(x):\n    return jinja.escape(x)\n\ndef f(x):\n    return g(x)"


@pytest.mark.parametrize(
    ("source", "lacking"),
    [
        ("def f(x):\n    return np.tanh(torch.tensor(x))", []),
        ("import math, json\nfrom collections import deque\ndef f(x):\n    return deque([math.exp(x)])", []),
        ("def f(x):\n    import scipy.special\n    return x", ["scipy"]),
        ("import jinja2, rich\ndef f(x):\n    return x", ["jinja2", "rich"]),
        ("from rich.table import Table\ndef f(x):\n    return Table", ["rich"]),
        ("f = lambda x: rich.print(x)", ["rich"]),
        ("from rich import print as f", ["rich"]),
        ("def f(x):\n    return [rich.print(y) for y in x]", ["rich"]),
        (HELPER, ["jinja2"]),
        ("def f(x):\n    return table(x)", ["rich"]),
    ],
)
def test_a_check_knows_what_an_answer_imports_that_the_grader_lacks(monkeypatch, source, lacking):
    import jinja2
    import rich
    from rich.table import Table

    assert modules_lacking(monkeypatch, source, rich=rich, jinja=jinja2, table=Table) == lacking


def test_a_module_that_the_notebook_writes_itself_or_the_course_adds_is_not_lacking(monkeypatch):
    source = "import rich, jinja2\ndef f(x):\n    return x"
    written = ["get_ipython().run_cell_magic('writefile', 'rich.py', 'x = 1\\n')"]
    assert modules_lacking(monkeypatch, source, cells=written) == ["jinja2"]
    monkeypatch.setattr(checking, "MODULES", [*checking.MODULES, "jinja2"])
    assert modules_lacking(monkeypatch, source, cells=written) == []


def test_what_an_earlier_version_of_the_cell_imported_is_not_lacking(monkeypatch):
    first, last = (f"{line}\ndef f(x):\n    return x" for line in ("import jinja2", ""))
    assert modules_lacking(monkeypatch, last, cells=[first]) == []
    assert modules_lacking(monkeypatch, first, cells=[last]) == ["jinja2"]


def test_a_check_warns_of_an_import_before_it_says_that_the_cases_are_right(checked, capsys, monkeypatch):
    warned = []
    monkeypatch.setattr(checking, "find_lacking_modules", lambda *given: warned.append(given) or ["scipy", "einops"])
    checked(double, cases=[SHOWN])
    first, second, *_ = capsys.readouterr().out.splitlines()
    assert first == (
        "f: your answer imports scipy, einops, which the grader does not have. Besides Python's own, it has numpy, torch, "
        "matplotlib, IPython."
    )
    assert second.startswith("f: the shown case is right.")
    assert warned == [("f", double)]


def test_a_check_shows_as_many_digits_as_tell_two_numbers_apart(checked):
    with pytest.raises(NotYet) as refused:
        checked(lambda x: 2 * x + 1e-8, cases=[{**SHOWN, "atol": 1e-12}])
    assert "Right: [2, 4]\nYours: [2.00000001, 4.00000001]" in str(refused.value)
    assert "digit on" in str(refused.value)


def test_a_check_of_gradients_says_that_several_things_were_returned(checked):
    case = {**SHOWN, "gradients": ["x"], "expected": {"x": [1.0, 1.0]}}
    with pytest.raises(NotYet, match="it returned 2 things"):
        checked(lambda x: (x, x.sum(0, keepdim=True)), cases=[case], in_torch=True)
