"""Refuse an exercise that nobody can be graded with: weak cases, shapes or steps that do not fit together.

In: an ``Exercise`` with its cases worked out. Out: ``AnswerKeyError`` for the first fault. Touches nothing.
"""

from autograder.exercises import checking, compare, compose
from autograder.exercises.chains import compile_steps
from autograder.exercises.model import Exercise, given_shapes
from solutions import answer_key
from solutions.answer_key import AnswerKeyError


def refuse_ungradable(exercise: Exercise) -> None:
    """Raise an ``AnswerKeyError``, with reason and remedy, if ``exercise`` cannot be graded with."""
    _refuse_weak_cases(exercise)
    _refuse_equations(exercise)
    _refuse_follows(exercise)
    _refuse_holds(exercise)


def _refuse_weak_cases(exercise):
    for name in exercise.hints:
        caught = any(
            outcome.raised or any(compare.mismatches(outcome.value, case.expected, exercise.kind, case.atol).values())
            for case in exercise.hidden
            for outcome in [case.mistaken[name]]
        )
        if not caught:
            raise AnswerKeyError(
                f"every hidden case accepts the mistake {name}",
                exercise.entry.where,
                "add a hidden case that tells it from the reference, or tighten the tolerance.",
            )
    for part in exercise.parts if exercise.kind == "code" else ():
        if not any(case.part == part and not case.also for case in exercise.hidden):
            raise AnswerKeyError(
                f"no hidden case is about part {part!r} alone",
                exercise.entry.where,
                "add a case for it, or let an argument have families that belong to it.",
            )
    for case in exercise.hidden:
        entries = set(case.expected) if isinstance(case.expected, dict) else {""}
        if not case.part and entries != set(exercise.parts):
            raise AnswerKeyError(
                f"the parts are {sorted(exercise.parts)}, the reference returns {sorted(entries)}",
                exercise.entry.where,
                "let each part name one entry of the dict that the function returns.",
            )


def _refuse_equations(exercise):
    """Refuse equations in which the right shapes do not fit together, or that state one of the answers."""
    entry = exercise.entry
    for case in exercise.hidden if entry.kind == "shape" else ():
        unknown = set(case.inputs) - set(answer_key.LETTERS) - set(entry.letters)
        if unknown:
            raise AnswerKeyError(f"nobody says what {min(unknown)} counts", entry.where, "add it to `letters`.")
        if entry.equations and (not isinstance(case.expected, dict) or set(entry.given) & set(case.expected)):
            raise AnswerKeyError("`given` states an answer", entry.where, "name there only what the text states.")
        for equation in entry.equations:
            try:
                compose.shape_of(equation, {**given_shapes(exercise, case.inputs), **case.expected})
            except (compose.Misfit, SyntaxError, KeyError, ValueError, AttributeError, TypeError) as error:
                raise AnswerKeyError(
                    f"the right shapes do not fit in {equation!r}: {error}", entry.where, "mend `equations` or `given`."
                ) from None


def _refuse_holds(exercise):
    """Refuse what is said to hold of a right answer, and does not."""
    for comparison, sentence in exercise.entry.holds.items():
        try:
            told = checking.unmet_conditions(exercise.hidden[0].expected, {comparison: sentence}, exercise.entry.atol)
        except Exception as error:
            told = [str(error)]
        if told:
            raise AnswerKeyError(
                f"{comparison!r} does not hold of the right answer", exercise.entry.where, "mend it, or take it out."
            )


def _refuse_follows(exercise):
    """Refuse a chain in which the right steps do not follow from the right steps before them."""
    expected = exercise.hidden[0].expected if exercise.follows else {}
    for name, (given, function) in compile_steps(exercise.follows).items():
        if compare.explain_mismatch(function(*(expected[step] for step in given)), expected[name], exercise.entry.atol):
            raise AnswerKeyError(
                f"the right {name} does not follow from the right {', '.join(given)}",
                exercise.entry.where,
                "mend the reference: each step may use the given numbers and the steps named in `follows` only.",
            )
