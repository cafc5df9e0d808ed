"""Judge whether the cases of a key can tell right answers from wrong ones, before anybody is graded with them.

In: exercises with their cases drawn, their references, the text that students get. Out: ``Problem`` objects.
"""

import ast
import itertools
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from nbformat import NotebookNode

from autograder import exercises
from autograder.exercises import Exercise, compare
from autograder.exercises.ast_utils import compile_function
from autograder.exercises.case_labels import find_unmet_promises
from autograder.exercises.families import KINDS, WHERE_LARGE
from autograder.exercises.loading import outcome_of
from autograder.exercises.numbers import largest
from autograder.exercises.packing import visible_source
from solutions.answer_key import AnswerKeyError, describe_inputs

SOFTMAX_ARGUMENTS = ("scores", "logits", "log_probabilities")
OVERFLOWS = 700.0  # a little above this, exp overflows in double precision
OFTEN = 1 / 3  # of the ordinary cases: a slip that fails more of them is one that a shown case must reveal
NUDGE, NUDGES = 1e-15, 8
HUGE = 1e9  # only numbers at pads are larger
LIMIT_WORDS = (
    r"in the thousands|thousands apart|\w+ finite numbers?|anywhere in (its|a) row|from \$?[\d.]+\$? to \$?[\d.]+"
)
SEEDLESS = ("rand", "randn", "randint", "random", "normal", "uniform", "choice", "permutation", "shuffle", "randperm")


@dataclass(frozen=True)
class Problem:
    """One weakness of a key. ``case`` is "" if it concerns all cases together."""

    exercise: str
    where: str
    case: str
    reason: str
    remedy: str

    def __str__(self):
        return f"{self.where}{f', case {self.case!r}' if self.case else ''}: {self.reason}. Remedy: {self.remedy}"


def lint(
    questions: Iterable[Exercise], references: Mapping[str, Callable[..., object]] | None = None, text: str = ""
) -> tuple[Problem, ...]:
    """Return the problems of the exercises ``questions``.

    ``references`` maps the function of an exercise to its reference, by default that of ``solutions``; ``text`` is the whole
    text of the released notebook without the answers, by default only the sources of the exercises without theirs.
    """
    questions = tuple(questions)
    text_of_all = text or "\n".join(_without_answer(exercise.source) for exercise in questions)
    problems = []
    for exercise in questions:
        weak = _weaknesses(exercise, references) if exercise.is_called else ()
        misstated = _misstatements(exercise, _question(exercise, text)) if text else ()
        for problem in itertools.chain(weak, misstated, _leaks(exercise, text_of_all)):
            problems.append(Problem(exercise.name, exercise.entry.where, *problem))
    return tuple(problems)


def refuse(
    questions: Iterable[Exercise], references: Mapping[str, Callable[..., object]] | None = None, text: str = ""
) -> None:
    """Raise an ``AnswerKeyError`` for the first problem of the exercises ``questions``; see ``lint``."""
    for problem in lint(questions, references, text):
        case = f", case {problem.case!r}" if problem.case else ""
        raise AnswerKeyError(problem.reason, problem.where + case, problem.remedy)


def extract_released_text(notebook: NotebookNode) -> str:
    """Return the text that students get in the release of ``notebook``, a source notebook: no answers, no hidden tests.

    Packed text is included, except for drawn numbers: among so many, some are close to any answer.
    """
    answer = re.compile(r"### BEGIN (SOLUTION|HIDDEN TESTS).*?### END \1", flags=re.DOTALL)
    texts = []
    for cell in notebook.cells:
        if not (cell.cell_type == "markdown" and cell.metadata.get("nbgrader", {}).get("solution")):
            texts.append(visible_source(answer.sub("", cell.source)))
    return "\n".join(texts)


def starter(exercise: Exercise) -> Callable[..., object]:
    """Return the function that students get: the reference with nbgrader's ``raise`` in place of the answer."""
    answer = r"### BEGIN SOLUTION.*?### END SOLUTION"
    source = re.sub(answer, "raise NotImplementedError()", exercise.source, flags=re.DOTALL)
    return compile_function(textwrap.dedent(source), {"np": np})


def _question(exercise, text):
    """Return the section of ``text`` that asks ``exercise``, the one that names its function; "" if it is not code."""
    asks = [section for section in re.split(r"^## ", text, flags=re.MULTILINE) if f"`{exercise.function}(" in section]
    return asks[0].partition(f"\ndef {exercise.function}(")[0] if exercise.kind == "code" and asks else ""


def _misstatements(exercise, question):
    """Yield promises of ``question`` that no hidden case tests, and where it and the key differ on the inputs."""
    for promise, kind in find_unmet_promises(exercise, question):
        remedy = "give an argument such a family, or remove the statement from the text"
        yield "", f"the text says {promise!r}, and no hidden case is about {kind}", remedy
    paragraph = describe_inputs(exercise.entry)
    if question and paragraph not in question:
        yield "", "the text does not say what the inputs may be", f"add the paragraph of the key: {paragraph}"
    if stated := re.search(LIMIT_WORDS, question.replace(paragraph, "")):
        what = f"the text states a limit on the inputs that is not in the key: {stated[0]!r}"
        yield "", what, "declare it in `arguments`: the paragraph on inputs will then state it"


def _without_answer(source):
    before, _, rest = source.partition("### BEGIN SOLUTION")
    return before + rest.partition("### END SOLUTION")[2]


# --- rules: each yields (case, reason, remedy) -----------------------------------------------------------------------


def _weaknesses(exercise, references):
    """Yield the problems that the rules find in the cases of ``exercise``."""
    scope = references or vars(exercises.module(exercise.entry.reference_module))
    reference = scope[exercise.function]
    for rule in (*RULES, *(OF_CODE if exercise.kind == "code" else ())):
        yield from rule(exercise, reference)


def _tolerance_is_narrow(exercise, reference):
    for name in exercise.hints if exercise.kind != "shape" else ():
        narrow = None
        for case in exercise.hidden:
            if not exercise.accepts(case, case.mistaken[name]):
                if not exercise.accepts(case, case.mistaken[name], 2 * case.atol):
                    break  # one case where the mistake is far off is enough: the rest need not be computed
                narrow = narrow or case
        else:
            if narrow:  # otherwise it passes every case, and ``load`` refuses the key
                reason = f"the tolerance {narrow.atol:g} is more than half of the distance to the mistake {name}"
                remedy = "ask for more digits, or choose numbers for which the mistake is further from the right answer"
                yield narrow.name, reason, remedy


def _test_has_effect(exercise, reference):
    answers = {"the untouched starter": starter(exercise)}
    if exercise.kind != "number":  # there the right answer is a constant
        answers["a constant"] = lambda *_: exercise.hidden[0].expected
    for what, function in answers.items():
        if all(exercise.accepts(case, _outcome(exercise, function, case)) for case in exercise.hidden):
            yield "", f"the test has no effect: {what} passes it", "add a hidden case with another expected value"


def _reference_is_steady(exercise, reference):
    for call in _seedless_calls(exercise.source):
        yield "", f"the reference draws from {call} without a seed", "make it create its own generator, with a seed"
    for case in exercise.cases:
        first, second = (_outcome(exercise, reference, case) for _ in range(2))
        if not compare.is_right(first.value, second.value, exercise.kind, 0):
            remedy = "take randomness out of it, or seed it within the function"
            yield case.name, "two runs of the reference differ", remedy
            return


def _sizes_differ(exercise, reference):
    """Sizes may be equal only if they are equal in every case with the same arguments."""
    for like in {frozenset(case.inputs): case for case in exercise.hidden}.values():
        always = _common_to_all(exercise.hidden, _equal_axes, like)
        sizes = [_sizes(case.inputs) for case in _with_the_arguments_of(like, exercise.hidden)]
        if any(sizes) and not any(1 not in row.values() and _equal(row) == always for row in sizes):
            remedy = "add one: a transposed or swapped argument passes by luck when two sizes are equal"
            yield "", "no hidden case has all sizes different", remedy
            return


def _masks_have_pads(exercise, reference):
    masks = {name for case in exercise.cases for name, item in case.inputs.items() if _kind(item) == "b"}
    for name in sorted(masks):
        given = [np.asarray(case.inputs[name]) for case in exercise.hidden if name in case.inputs]
        if not any(mask.any() and not mask.all() for mask in given):
            yield "", f"no hidden case masks anything with {name}", "add a case in which some entries are False"


def _scores_are_large(exercise, reference):
    arguments = {name for case in exercise.cases for name in case.inputs}
    direct = sorted(arguments & set(SOFTMAX_ARGUMENTS))
    if not direct and not re.search(r"softmax\(|\bexp\(", exercise.source):
        return
    for case in exercise.hidden:
        floats = {name: item for name, item in case.inputs.items() if _kind(item) == "f"}
        size = largest({name: item for name, item in floats.items() if name in direct or not direct})
        if size >= OVERFLOWS or (not direct and size**2 >= OVERFLOWS):  # a product of two gives the scores
            return
    remedy = "add one with scores in the thousands: an exponential overflows there, and only there"
    yield "", f"no hidden case has large {' or '.join(direct) or 'scores'}", remedy


def _some_size_is_one(exercise, reference):
    arrays = {name for case in exercise.cases for name, item in case.inputs.items() if np.ndim(item)}
    if arrays and not any(1 in np.shape(case.inputs.get(name)) for case in exercise.hidden for name in arrays):
        yield "", "no hidden case has a size of 1", "add a case with one sentence: squeeze() drops such an axis"


def _inputs_are_various(exercise, reference):
    names = dict.fromkeys(name for case in exercise.hidden for name in case.inputs)
    for name in names:
        given = [np.asarray(case.inputs[name]) for case in exercise.hidden if name in case.inputs]
        words = {
            "constant": all(np.ptp(item.astype(float)) == 0 if item.size else True for item in given),
            "an identity matrix": all(_is_square(item) and np.array_equal(item, np.eye(len(item))) for item in given),
            "symmetric": all(_is_square(item) and np.array_equal(item, item.T) for item in given),
        }
        for word in [word for word, always in words.items() if always][:1]:
            remedy = "draw it at random in at least one: otherwise a transposed or dropped argument passes"
            yield "", f"the input {name} is {word} in every hidden case", remedy


def _results_survive_rounding(exercise, reference):
    """A tie may be broken differently in another correct answer, so no result may depend on rounding."""
    rng = np.random.default_rng(0)
    for case in exercise.cases:
        least = 1.0 if largest(case.inputs) < HUGE else 0.0  # a 0 beside huge numbers at pads must stay 0
        for _ in range(1 if case.families else NUDGES):
            nudged = dict(case.inputs)
            for name, item in nudged.items():
                if _kind(item) == "f":
                    by = NUDGE * np.maximum(least, np.abs(item)) * rng.uniform(-1, 1, np.shape(item))
                    bound = 0.0 if np.min(item) >= 0 else -np.inf  # a number that draws a word, or a weight, may be 0
                    nudged[name] = np.maximum(item + by, bound)
            if not exercise.accepts(case, outcome_of(exercise, reference, nudged, case.gradients)):
                what = f"the result depends on the rounding of the inputs: a change of {NUDGE:g} gives a different one"
                remedy = "draw with another seed or a larger scale, or specify inputs without ties"
                yield case.name, what, "; ".join([remedy, *_leave_out_families(exercise, case)])
                return


def _leave_out_families(exercise, case):
    """Yield advice on how to draw no cases with what is special about ``case``, for each argument that has something special."""
    for name, argument in exercise.entry.arguments.items():
        for family in KINDS[argument.kind]:
            if family.words.format(name) in case.families:
                out = ", ".join(f'"{other}"' for other in (*argument.without, family.name))
                yield f"or write `without = [{out}]` for {name} in the key, which leaves out {family.words.format(name)}"


def _shown_numbers_reveal_slips(exercise, reference):
    """A square, symmetric or repeated input hides slips, so that a wrong answer passes the check."""
    for case in exercise.shown:
        alike, sums = (_common_to_all(exercise.hidden, find, case) for find in (_equal_axes, _find_summed_axes))
        for name, item in case.inputs.items():
            per_sentence = ((next(iter(case.inputs)), 0), (name, 0)) in alike or name == next(iter(case.inputs))
            for reason in _forgiving_properties(name, np.asarray(item), alike, per_sentence):
                remedy = "choose other numbers or another size: a slip must change the result of a shown case"
                yield case.name, reason, remedy
        sizes = _sizes(case.inputs)
        coincidences = [t for t in sorted(_find_summed_axes(case.inputs) - sums) if 1 < sizes[t[0]] != sizes[t[1]] > 1]
        for axes in coincidences[:1]:
            first, second, total = (f"axis {axis} of {name}" for name, axis in axes)
            remedy = "choose another size: if the two were joined, they would fit where the third belongs"
            yield case.name, f"sizes add up: {first} and {second} to {total}", remedy


def _shown_cases_are_enough(exercise, reference):
    plain = [case for case in exercise.shown if not case.gradients]
    several = [case for case in plain if np.shape(next(iter(case.inputs.values())))[0] > 1]
    if len(plain) < 2:
        yield "", "one case is shown", "show one that can be worked by hand, and one with different sizes"
    if not several:
        yield "", "every shown case has one sentence", "show several: otherwise, a sum over the batch passes"
    elif not any(_equal_axes(case.inputs) <= _common_to_all(exercise.hidden, _equal_axes, case) for case in several):
        reason = "no shown case of several sentences has all sizes different"
        yield "", reason, "show one whose sizes differ from those of the first"
    if (
        exercise.in_torch
        and _kind(exercise.hidden[0].expected) in "fO"
        and not any(case.gradients for case in exercise.shown)
    ):
        yield "", "no shown case is about gradients", "show one: otherwise, a detached tensor passes"


def _natural_slips_are_shown(exercise, reference):
    """A mistake that often fails on ordinary inputs must fail a shown case; one that needs special inputs need not."""
    quiet = [case for case in exercise.hidden if _is_quiet(case) and set(case.inputs) == set(exercise.shown[0].inputs)]
    for name in exercise.hints:
        if not all(exercise.accepts(case, case.mistaken[name]) for case in exercise.shown):
            continue  # so that most mistakes need not be run on the hidden cases
        fails = [case for case in quiet if not exercise.accepts(case, case.mistaken[name])]
        if len(fails) > OFTEN * len(quiet):
            reason = f"the mistake {name} passes every shown case, and fails the hidden {fails[0].name!r}"
            yield "", reason, "show a case that tells it from the reference"


def _is_quiet(case):
    """Return whether ``case`` has no axis of length 1, no large numbers, no zeros, and a word in every row of a mask."""
    rows = [np.asarray(item) for item in case.inputs.values() if _kind(item) in "bf" and np.ndim(item) > 1]
    return (
        WHERE_LARGE not in case.families.values()
        and 1 not in _sizes(case.inputs).values()
        and largest({name: item for name, item in case.inputs.items() if _kind(item) == "f"}) < OVERFLOWS / 10
        and all(item.any(axis=-1).all() if item.dtype.kind == "b" else item.all() for item in rows)
    )


def _forgiving_properties(name, item, alike, per_sentence):
    """Yield the properties of the input ``item`` that hide a slip. In a parameter, two units may have the same weights."""
    if item.dtype.kind != "f" or item.ndim < 2:
        return
    rows, columns = item.shape[-2:]
    if rows == columns > 1 and ((name, item.ndim - 2), (name, item.ndim - 1)) not in alike:
        yield f"{name} is square"
    for matrix in item.reshape(-1, rows, columns) if rows == columns > 1 else ():
        if np.array_equal(matrix, matrix.T):
            yield f"{name} is {'diagonal' if np.array_equal(matrix, np.diag(np.diag(matrix))) else 'symmetric'}"
            break
    rows = item.reshape(-1, columns)
    different = len(np.unique(rows, axis=0))
    if different < len(rows) and (per_sentence or different == 1):
        yield f"{name} has {'two rows that are equal' if per_sentence else 'equal rows'}"


def _common_to_all(cases, find, like):
    """Return the groups of axes that ``find`` returns for every one of ``cases`` with the same arguments as the case ``like``."""
    each = [find(case.inputs) for case in _with_the_arguments_of(like, cases)]
    return set.intersection(*each) if each else set()


def _with_the_arguments_of(like, cases):
    return [case for case in cases if set(case.inputs) == set(like.inputs)]


def _sizes(inputs):
    return {(name, axis): size for name, item in inputs.items() for axis, size in enumerate(np.shape(item))}


def _equal_axes(inputs):
    """Return the pairs of axes that have the same size."""
    return _equal(_sizes(inputs))


def _equal(sizes):
    return {pair for pair in itertools.combinations(sizes, 2) if sizes[pair[0]] == sizes[pair[1]]}


def _find_summed_axes(inputs):
    """Return the triples of axes in which the sizes of the first two add up to that of the third."""
    sizes = _sizes(inputs)
    pairs = list(itertools.combinations(sizes, 2))
    return {(*pair, axis) for pair in pairs for axis in sizes if sizes[axis] == sizes[pair[0]] + sizes[pair[1]]}


RULES = (_tolerance_is_narrow, _test_has_effect, _reference_is_steady)
OF_CODE = (
    *(_sizes_differ, _masks_have_pads, _scores_are_large, _some_size_is_one, _inputs_are_various),
    *(_results_survive_rounding, _shown_numbers_reveal_slips, _shown_cases_are_enough, _natural_slips_are_shown),
)


def _leaks(exercise, text):
    """Yield a problem for each answer that can be read in ``text``, which students get.

    A docstring in the same notebook may state a shape, and the check of another exercise a number.
    """
    if exercise.kind == "shape":
        for entry in find_stated_shapes(exercise, text):
            remedy = "ask for another shape, or describe the argument there without its shape"
            yield "", f"a docstring states the shape {entry} that is asked for", remedy
    elif exercise.kind == "number":
        for entry in _find_stated_parts(exercise, text):
            remedy = "take them out of the text, or use other numbers in the question"
            yield "", f"the numbers of {entry or 'the answer'} appear in the notebook", remedy


def find_stated_shapes(exercise: Exercise, text: str) -> list[str]:
    """Return the entries of a shape exercise that a docstring in ``text`` states, as ``name : (sizes)``."""
    case = exercise.hidden[0]
    sizes = {LETTERS[word]: case.inputs.get(LETTERS[word]) for word in LETTERS} | case.inputs
    sizes |= {word: sizes[letter] for word, letter in LETTERS.items()}
    expected = case.expected if isinstance(case.expected, dict) else {exercise.function: case.expected}
    answered = []
    for name, stated in re.findall(r"^ *(\w+) : \(([^)]*)\)", text, flags=re.MULTILINE):
        if expected.get(name) == tuple(sizes.get(word.strip()) for word in stated.split(",") if word.strip()):
            answered.append(name)
    return answered


LETTERS = {"source_len": "T_x", "attention_size": "a", "key_size": "m", "query_size": "n", "embedding_size": "d"}
LETTERS |= {"hidden_size": "m", "target_len": "T_y"}


def _find_stated_parts(exercise, text):
    """Yield the parts of a number exercise whose numbers with three digits or more all appear in ``text``.

    Numbers with fewer digits, such as 0.5, appear everywhere and give nothing away.
    """
    written = {token for token in re.findall(r"(?<![\w.])\d+\.?\d*(?![\w.]*\w)", text) if _digits(token) >= 3}
    for case in exercise.hidden:
        expected = case.expected if isinstance(case.expected, dict) else {"": case.expected}
        for entry, values in expected.items():
            telling = [x for x in np.abs(np.ravel(values)).tolist() if _digits(f"{x:.9g}") >= 3]
            if telling and all(any(_is_rounded(x, token) for token in written) for x in telling):
                yield entry


def _digits(token):
    return len(token.replace(".", "").lstrip("0").rstrip("0" if "." in token else ""))


def _is_rounded(value, token):
    decimals = len(token.partition(".")[2])
    return abs(value - float(token)) <= 0.5 * 10**-decimals + 1e-12 if decimals else value == float(token)


# --- what the rules use ----------------------------------------------------------------------------------------------


def _outcome(exercise, function, case):
    return outcome_of(exercise, function, case.inputs, case.gradients)


def _seedless_calls(source):
    """Yield the calls in ``source`` that draw random numbers from a shared generator, or without a seed."""
    tree = ast.parse(textwrap.dedent(source))
    seeded = any(isinstance(n, ast.Call) and _name(n.func).endswith("manual_seed") for n in ast.walk(tree))
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = _name(node.func)
        shared = name.split(".")[0] in ("np", "numpy", "torch", "random") and name.split(".")[-1] in SEEDLESS
        if (shared and not seeded) or (name.endswith("default_rng") and not node.args and not node.keywords):
            yield name


def _name(node):
    if isinstance(node, ast.Attribute):
        return f"{_name(node.value)}.{node.attr}"
    return getattr(node, "id", "")


def _kind(item):
    return np.asarray(item).dtype.kind


def _is_square(item):
    return item.ndim == 2 and item.shape[0] == item.shape[1]
