"""Refuse an exercise that nobody can be graded with: weak cases, shapes or steps that do not fit together.

In: an ``Exercise`` with its cases worked out. Out: ``AnswerKeyError`` for the first fault.
"""

from autograder.exercises import checking, compare, compose
from autograder.exercises.chains import compile_steps
from autograder.exercises.model import Exercise, given_shapes
from solutions import answer_key
from solutions.answer_key import AnswerKeyError


def refuse_ungradable(exercise: Exercise) -> None:
    """Raise an ``AnswerKeyError``, with reason and remedy, if ``exercise`` cannot be graded with."""
    for what, remedy in _faults(exercise):
        raise AnswerKeyError(what, exercise.entry.where, remedy)


def _faults(exercise):
    yield from _weak_cases(exercise)
    yield from _misfit_equations(exercise)
    yield from _misfit_steps(exercise)
    yield from _unmet_conditions(exercise)


def _weak_cases(exercise):
    for name in exercise.hints:
        given = ((case, case.mistaken[name]) for case in exercise.hidden)
        if all(
            not o.raised and compare.is_right(o.value, case.expected, exercise.kind, case.atol) for case, o in given
        ):
            remedy = "add a hidden case that tells it from the reference, or tighten the tolerance."
            yield f"every hidden case accepts the mistake {name}", remedy
    for part in exercise.parts if exercise.kind == "code" else ():
        if not any(case.part == part and not case.also for case in exercise.hidden):
            remedy = "add a case for it, or give an argument families that belong to it."
            yield f"no hidden case is about part {part!r} alone", remedy
    for case in exercise.hidden:
        entries = set(case.expected) if isinstance(case.expected, dict) else {""}
        if not case.part and entries != set(exercise.parts):
            what = f"the parts are {sorted(exercise.parts)}, the reference returns {sorted(entries)}"
            yield what, "make each part name one entry of the dict that the function returns."


def _misfit_equations(exercise):
    """Yield the equations in which the right shapes do not fit together, or that state one of the answers."""
    entry = exercise.entry
    for case in exercise.hidden if entry.kind == "shape" else ():
        unknown = set(case.inputs) - set(answer_key.LETTERS) - set(entry.letters)
        if unknown:
            yield f"it is not stated what {min(unknown)} counts", "add it to `letters`."
        if entry.equations and (not isinstance(case.expected, dict) or set(entry.given) & set(case.expected)):
            yield "`given` states an answer", "list only what the text states."
        for equation in entry.equations:
            try:
                compose.shape_of(equation, {**given_shapes(exercise, case.inputs), **case.expected})
            except (compose.Misfit, SyntaxError, KeyError, ValueError, AttributeError, TypeError) as error:
                yield f"the right shapes do not fit in {equation!r}: {error}", "fix `equations` or `given`."


def _misfit_steps(exercise):
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
