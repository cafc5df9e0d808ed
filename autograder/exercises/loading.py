"""Combine key, reference and mistakes: draw the cases, and compute their expected and mistaken values.

In: a topic, a seed. Out: frozen ``Exercise`` objects. Reads ``solutions``, touches nothing else. A key that cannot be used
for grading is refused here, before any student sees it.
"""

import inspect
import json
import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from types import FunctionType, ModuleType

import numpy as np

from autograder.exercises import checking, compare, compose
from autograder.exercises.case_labels import HUGE
from autograder.exercises.chains import compile_steps, steps_of
from autograder.exercises.covering import PLAIN, DrawnCall
from autograder.exercises.drawing import draw_cases
from autograder.exercises.families import MASKING, WHERE_KEPT
from autograder.exercises.model import (
    Case,
    Exercise,
    LazyMapping,
    Outcome,
    TrainedWeights,
    compute_given_shapes,
    convert,
)
from autograder.exercises.modules import extract_hidden_code, extract_provided_code, module
from autograder.exercises.numbers import largest
from solutions import answer_key
from solutions.answer_key import AnswerKeyError
from solutions.answer_key.domains import limits
from solutions.answer_key.places import Place
from solutions.answer_key.reading import read_case

TOLERANCE = 1e-8  # relative to the largest number of a result, or to 1; see the rules at the top of a notebook
MAX_CASE_ENTRIES = 1_000_000  # in all arrays of a case: they are sent as text, and a call has only seconds
MOST_FOR_PRECISION = 0.1  # of the points
UNREADABLE = "unreadable"  # in place of an exception's name: the value is not made of numbers, or of shapes


@lru_cache(maxsize=32)
def load(topic: str, seed: int, extra: str = "") -> tuple[Exercise, ...]:
    """Return the exercises of ``topic``, with hidden cases drawn from ``seed``; the result is cached.

    ``extra`` is the JSON text of the hidden cases that a course adds; see ``read_course_cases``.

    Raises
    ------
    AnswerKeyError
        If the key, the reference or the mistakes do not fit together.
    """
    entries = {entry.function: entry for entry in answer_key.load(topic).values()}
    for function, cases in (read_course_cases(extra, topic) if extra else {}).items():
        entries[function] = replace(entries[function], cases=entries[function].cases + cases)
    return tuple(make_exercise(entry, seed) for entry in entries.values())


@lru_cache(maxsize=32)
def load_warm_ups(topic: str) -> tuple[Exercise, ...]:
    """Return the exercises of ``topic`` that have no points, like ``load``; () if it has no key."""
    entries = answer_key.load_warm_ups(topic).values() if topic in answer_key.topics() else ()
    return tuple(make_exercise(entry) for entry in entries)


def load_each(
    topic: str, seed: int, folder: Path = answer_key.FOLDER
) -> Iterator[tuple[answer_key.Entry, Exercise | AnswerKeyError]]:
    """Yield ``(entry, Exercise)`` for each entry of ``topic``; ``(entry, AnswerKeyError)`` if it cannot be used for grading.

    Warm-ups come last.

    Raises
    ------
    AnswerKeyError
        If the key itself cannot be read, or a module of answers cannot be imported.
    """
    entries = [*answer_key.load(topic, folder).values(), *answer_key.load_warm_ups(topic, folder).values()]
    for name in dict.fromkeys(entry.reference_module for entry in entries if entry.kind != "text"):
        module(name)
    module(f"solutions.mistakes.{topic}")
    for entry in entries:
        try:
            yield entry, make_exercise(entry, seed)
        except AnswerKeyError as error:
            yield entry, error


def read_course_cases(
    extra: str, topic: str, place: Place | None = None
) -> dict[str, tuple[answer_key.CaseRecord, ...]]:
    """Return the hidden cases that the JSON text ``extra`` adds to ``topic``, by function.

    Raises
    ------
    AnswerKeyError
        If a case does not fit its exercise.
    """
    place = place or Place("course.toml", "", f"assignment.{topic}", f"assignment.{topic}")
    entries = {entry.function: entry for entry in answer_key.load(topic).values() if entry.kind == "code"}
    cases: dict[str, tuple[answer_key.CaseRecord, ...]] = {}
    for number, row in enumerate(json.loads(extra)):
        function = row.pop("exercise", None)
        inside = place.inside("case", number, f"case {row.get('name', number + 1)!r}")
        if function not in entries:
            remedy = f"name an exercise of kind code: {', '.join(entries)}."
            inside.refuse(f"exercise is {function!r}", remedy, "exercise")
        if row.get("shown"):
            remedy = "leave `shown` out: it is always hidden."
            inside.refuse("a case that a course adds cannot be shown", remedy, "shown")
        case, entry = read_case(row, place, number), entries[function]
        entries_drawn = sum(math.prod(drawn.shape) for drawn in (case.shapes or {}).values())
        if entries_drawn > MAX_CASE_ENTRIES:
            what = f"its arrays have {entries_drawn} entries; at most {MAX_CASE_ENTRIES} can be graded"
            inside.refuse(what, "take smaller shapes.", "shapes")
        if entry.parts and case.part not in entry.parts:
            inside.refuse(f"part {case.part!r} is not one of {list(entry.parts)}", "name one of the parts.", "part")
        cases[function] = (*cases.get(function, ()), case)
    return cases


def versions(functions: Mapping[str, object], function: str) -> dict[str, Callable[..., object]]:
    """Return those of ``functions``, name -> function, that answer as ``function``: named ``function__what_was_done``."""
    return {name: each for name, each in functions.items() if name.startswith(f"{function}__") and callable(each)}


def reference_of(exercise: Exercise) -> FunctionType:
    """Return the function of ``solutions`` that answers ``exercise``."""
    return getattr(module(exercise.entry.reference_module), exercise.function)


def make_exercise(
    entry: answer_key.Entry, seed: int = 0, references: ModuleType | None = None, mistakes: ModuleType | None = None
) -> Exercise:
    """Return the exercise of ``entry``; its reference and mistakes come from ``solutions``, or from the modules given.

    Raises ``AnswerKeyError`` if it cannot be used for grading.
    """
    if entry.kind == "text":
        return Exercise(entry, "", {}, {"": entry.points}, ())
    references = references or module(entry.reference_module)
    mistakes = mistakes or module(f"solutions.mistakes.{entry.topic}")
    reference = getattr(references, entry.function, None)
    if reference is None:
        raise AnswerKeyError(
            f"no function {entry.function} in {references.__name__}", entry.where, "write the reference answer there."
        )
    wrong = versions(vars(mistakes), entry.function)
    for name, function in wrong.items():
        if not function.__doc__:
            raise AnswerKeyError(f"mistake {name} has no docstring", entry.where, "write the hint as its docstring.")
    hints = {name: " ".join((function.__doc__ or "").split()) for name, function in wrong.items()}
    parts = dict(entry.parts) or {"": entry.points}
    if isinstance(entry, answer_key.Trained):
        return Exercise(entry, inspect.getsource(reference), hints, parts, (), _load_trained(entry, references, seed))
    shell = Exercise(entry, inspect.getsource(reference), hints, parts, ())
    cases = tuple(_case(shell, row, reference, wrong) for row in draw_cases(entry, reference, seed))
    if entry.kind == "code":
        # the first, and the first with gradients, come again at the end: nothing can be kept between calls
        hidden = [case for case in cases if not case.shown]
        cases += tuple(_case(shell, row, reference, wrong) for row in _other_numbers(entry, cases))
        again = (*[case for case in hidden if case.gradients][:1], hidden[0])
        cases += tuple(replace(case, name=f"{case.name}, once more after all others") for case in again)
    texts = {name: inspect.getsource(function) for name, function in wrong.items()}
    exercise = Exercise(entry, shell.source, hints, parts, cases, follows=steps_of(entry, reference), mistakes=texts)
    for what, remedy in _faults(exercise):
        raise AnswerKeyError(what, entry.where, remedy)
    return exercise


def _load_trained(entry, references, seed):
    """Return how the file of weights that ``entry`` asks for is judged."""
    draw, measure, model = (getattr(references, name) for name in (entry.draw, entry.measure, entry.model))
    shapes = {name: tuple(parameter.shape) for name, parameter in model().named_parameters()}
    code = extract_provided_code(entry.topic), extract_hidden_code(entry.topic, getattr(references, entry.run))
    return TrainedWeights(entry.file, shapes, *code, seed, entry.run, draw, measure, dict(entry.thresholds))


def _other_numbers(entry, cases):
    """Yield calls like the ordinary one, with the same shapes and some of its numbers: these must not serve as a cache key.

    First all arguments keep only their first number, then all but one keep all; then each in turn keeps all but its last two.
    At the end all but the mask keep theirs: first it has other numbers of words, then as many in other places.
    """
    for case in [case for case in cases if case.name == PLAIN][:1]:
        bounded = [name for name, argument in entry.arguments.items() if limits(argument)]
        for names, first, order in (
            (bounded, 1, " in another order"),
            *(([name], 1, f", {name} in another order") for name in bounded[1:]),
            *(([name], -2, f", the last two numbers of {name} exchanged") for name in bounded),
        ):
            inputs = dict(case.inputs)
            for name in names:
                inputs[name] = np.array(inputs[name])
                inputs[name].flat[first:] = np.roll(inputs[name].flat[first:], 1)
            yield _like_an_earlier_call(entry, case, inputs, order)
        for name, argument in [item for item in entry.arguments.items() if item[1].kind == "mask"]:
            real = np.array(case.inputs[name], dtype=bool)
            lengths = 1 + np.arange(real[..., 0].size).reshape(*real.shape[:-1], 1) % 2
            some = np.arange(real.shape[-1]) < lengths if real.all() else real
            moved = np.roll(some, 1, axis=0 if "before" in argument.without else -1)
            masks = {"another": some if real.all() else np.ones_like(real), "the words elsewhere in": moved}
            for how, mask in masks.items():
                yield _like_an_earlier_call(entry, case, {**case.inputs, name: mask}, f" with {how} {name}", MASKING)


def _like_an_earlier_call(entry, case, inputs, how, about=()):
    """Return the call with other ``inputs`` than ``case``, which also counts for the part ``about`` them, if ``entry`` has it."""
    words = {f"the numbers of an earlier call{how}": WHERE_KEPT}
    parts = [*[part for part in entry.parts if part in about][:1], case.part]
    also = (*case.also, *parts[1:]) if parts[0] != case.part else case.also
    return DrawnCall(name=f"{PLAIN}{how}", inputs=inputs, part=parts[0], also=also, families=words)


def _case(exercise, row, reference, wrong):
    entry, inputs = exercise.entry, row.inputs
    outcome = outcome_of(exercise, reference, inputs, row.gradients)
    if outcome.raised:
        what = "returns no numbers" if outcome.raised == UNREADABLE else f"raises {outcome.raised}"
        raise AnswerKeyError(f"the reference {what} on case {row.name!r}", entry.where, "fix one of the two.")
    atol = row.atol if row.atol is not None else _tolerance(outcome.value, row)
    expected = outcome.value
    if row.expected is not None:
        stated = row.expected
        expected = {k: np.array(v) for k, v in stated.items()} if isinstance(stated, dict) else np.array(stated)
        problems = compare.mismatches(outcome.value, expected, entry.kind, atol)
        if any(problems.values()):
            raise AnswerKeyError(
                f"the reference fails the shown case {row.name!r}: {'; '.join(filter(None, problems.values()))}",
                entry.where,
                "work the example again by hand: the reference or `expected` is wrong.",
            )
    mistaken = LazyMapping(wrong, partial(_outcome_of_mistake, exercise, wrong, inputs, row.gradients))
    return Case(
        *(row.name, row.shown, row.part, inputs, expected, atol, row.gradients, mistaken, row.also, row.families)
    )


def _tolerance(expected, row):
    """Return the absolute tolerance of each number: coarse for double precision, too fine for single precision.

    The rounding of large inputs affects even a small gradient, so with gradients they count as well, except at pads.
    """
    size = largest(expected)
    for item in row.inputs.values() if row.gradients else ():
        numbers = np.abs(np.asarray(item, dtype=float))
        size = max(size, numbers[numbers < HUGE].max(initial=0.0))
    return TOLERANCE * max(1.0, size)


def _outcome_of_mistake(exercise, wrong, inputs, gradients, name):
    return outcome_of(exercise, wrong[name], inputs, gradients)


def outcome_of(
    exercise: Exercise, function: Callable[..., object], inputs: Mapping[str, object], gradients: tuple[str, ...]
) -> Outcome:
    """Return the outcome of calling ``function``, which must be of this project, on ``inputs``."""
    turn = convert(exercise)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value, _ = compare.call_case(function, {name: turn(item) for name, item in inputs.items()}, gradients)
    except Exception as error:
        return Outcome(raised=type(error).__name__)
    if exercise.kind == "shape":
        return Outcome(value) if _is_made_of_shapes(value) else Outcome(raised=UNREADABLE)
    try:
        return Outcome(compare.read_value(value))
    except ValueError:
        return Outcome(raised=UNREADABLE)


def _is_made_of_shapes(value):
    values = value.values() if isinstance(value, dict) else [value]
    return not any(compare.explain_shape_mismatch(item, None) for item in values)


# --- why an exercise cannot be used for grading ----------------------------------------------------------------------


def _faults(exercise):
    """Yield ``(what, remedy)`` for each reason why ``exercise`` cannot be used for grading."""
    yield from _find_misused_precision(exercise)
    yield from _weak_cases(exercise)
    yield from _find_mismatched_equations(exercise)
    yield from _find_mismatched_steps(exercise)
    yield from _unmet_conditions(exercise)


def _weak_cases(exercise):
    for name in exercise.hints:
        if all(exercise.accepts(case, case.mistaken[name]) for case in exercise.hidden):
            remedy = "add a hidden case that tells it from the reference, or tighten the tolerance."
            yield f"every hidden case accepts the mistake {name}", remedy
    for part in exercise.parts if exercise.kind == "code" else ():
        if part != compare.PRECISION and not any(case.part == part and not case.also for case in exercise.hidden):
            remedy = "add a case for it, or give an argument families that belong to it."
            yield f"no hidden case is about part {part!r} alone", remedy
    for case in exercise.hidden:
        entries = set(case.expected) if isinstance(case.expected, dict) else {""}
        if exercise.points and not case.part and entries != set(exercise.parts):
            what = f"the parts are {sorted(exercise.parts)}, the reference returns {sorted(entries)}"
            yield what, "make each part name one entry of the dict that the function returns."


def _find_misused_precision(exercise):
    """Yield what is wrong with the part "precision", for which all cases count."""
    points = exercise.parts.get(compare.PRECISION, 0)
    if points and (exercise.kind != "code" or next(iter(exercise.parts)) == compare.PRECISION):
        yield "precision is the first part, or one of no function", "name a part for the values before it."
    if points > MOST_FOR_PRECISION * exercise.points + 1e-9:
        yield f"precision has {points:g} of {exercise.points:g} points", "give it at most a tenth."
    if any(case.part == compare.PRECISION for case in exercise.cases):
        yield "a case is about precision", "name another part: every case counts for precision too."


def _find_mismatched_equations(exercise):
    """Yield equations in which the right shapes do not fit, ``given`` shapes that are answers, and unexplained letters."""
    entry = exercise.entry
    for case in exercise.hidden if entry.kind == "shape" else ():
        unknown = set(case.inputs) - set(answer_key.LETTERS) - set(entry.letters)
        if unknown:
            yield f"it is not stated what {min(unknown)} counts", "add it to `letters`."
        if entry.equations and (not isinstance(case.expected, dict) or set(entry.given) & set(case.expected)):
            yield "`given` states an answer", "list only what the text states."
        for equation in entry.equations:
            try:
                compose.shape_of(equation, {**compute_given_shapes(exercise, case.inputs), **case.expected})
            except (compose.Misfit, SyntaxError, KeyError, ValueError, AttributeError, TypeError) as error:
                yield f"the right shapes do not fit in {equation!r}: {error}", "fix `equations` or `given`."


def _find_mismatched_steps(exercise):
    """Yield the steps of a chain that do not follow from the right steps before them."""
    expected = exercise.hidden[0].expected if exercise.follows else {}
    for name, (given, function) in compile_steps(exercise.follows).items():
        if compare.explain_mismatch(function(*(expected[step] for step in given)), expected[name], exercise.entry.atol):
            remedy = "fix the reference: each step may use only the given numbers and the steps named in `follows`."
            yield f"the right {name} does not follow from the right {', '.join(given)}", remedy


def _unmet_conditions(exercise):
    """Yield the conditions in ``holds`` that the right answer does not meet."""
    for comparison, sentence in exercise.entry.holds.items():
        try:
            unmet = checking.unmet_conditions(exercise.hidden[0].expected, {comparison: sentence}, exercise.entry.atol)
        except Exception as error:
            unmet = [str(error)]
        if unmet:
            yield f"{comparison!r} does not hold for the right answer", "fix it, or remove it."
