"""Judge what a submission returned: points by part, reasons in words, and the hint that names the mistake.

In: exercises with their expected values, replies from the sandbox. Out: ``Verdict`` objects. Pure: no files, no
processes, no student code.
"""

from dataclasses import dataclass

from autograder import compare
from autograder.sandbox import Reply, wire

RAISED = {
    "NotImplementedError": "It has not been answered yet.",
    "missing": "No function of this name was there when its test came: was the cell deleted, or not run for an error?",
    "CellTimeout": "It ran longer than a call may: is there a loop that does not end?",
    "no reply": "It gave no result: the process ended, or the result was too large to be read.",
}


NO_WEIGHTS = {
    "no file": "The file of weights was not handed in beside the notebook.",
    "too large": "The file of weights is larger than such weights can be.",
    "CellTimeout": "The model ran longer than it may.",
}


@dataclass(frozen=True)
class Part:
    """One part of an exercise: "" names the whole. ``reason`` is "" when the points are earned."""

    name: str
    earned: float
    points: float
    reason: str


@dataclass(frozen=True)
class Verdict:
    """What one exercise earned, in words for the student. ``earned`` is None where a person must mark it."""

    exercise: str
    earned: float | None
    points: float
    parts: tuple[Part, ...] = ()
    hints: tuple[str, ...] = ()


def judge(exercises, replies):
    """Return one ``Verdict`` an exercise, in the same order. ``replies`` maps (exercise, call number) to ``Reply``."""
    return tuple(
        Verdict(exercise.name, None, exercise.points)
        if not exercise.is_automatic
        else _judge_weights(exercise, replies.get((exercise.name, 0), Reply(raised="no file")))
        if exercise.trained
        else _judge(
            exercise, [replies.get((exercise.name, n), Reply(raised="no reply")) for n in range(len(exercise.hidden))]
        )
        for exercise in exercises
    )


def _judge(exercise, replies):
    found = [_reasons(exercise, case, reply) for case, reply in zip(exercise.hidden, replies, strict=True)]
    results = [(case.part, reasons) for case, reasons in zip(exercise.hidden, found, strict=True)]
    parts = tuple(
        Part(part, compare.points_earned(results, {**dict.fromkeys(exercise.parts, 0.0), part: points}), points, reason)
        for part, points in exercise.parts.items()
        for reason in [_first_reason(part, exercise.hidden, found)]
    )
    earned = compare.points_earned(results, exercise.parts)
    hints = () if earned == exercise.points else _hints(exercise, replies, found)
    return Verdict(exercise.name, earned, exercise.points, parts, hints)


def _judge_weights(exercise, reply):
    """Judge what the reference model did with the weights that were handed in."""
    trained = exercise.trained
    try:
        measured = {} if reply.raised else trained.measure(reply.value, trained.inputs)
        reason = ""
    except (TypeError, ValueError, KeyError, IndexError, AttributeError):
        measured, reason = {}, "What came out of the model could not be read."
    if reply.raised:
        reason = NO_WEIGHTS.get(reply.raised, "The weights could not be loaded: run the check cell, it says why.")
    parts = []
    for part, points in exercise.parts.items():
        reached, wanted = measured.get(part), trained.thresholds[part]
        passed = reached is not None and reached >= wanted
        told = reason or f"{reached:.3f} on sentences that the model had not seen; {wanted:g} is asked for."
        parts.append(Part(part, points if passed else 0.0, points, "" if passed else told))
    return Verdict(exercise.name, float(sum(part.earned for part in parts)), exercise.points, tuple(parts))


def _reasons(exercise, case, reply):
    """Return ``{entry: reason}`` for one call."""
    entries = case.expected if isinstance(case.expected, dict) else {"": None}
    if reply.raised:
        at = f" in line {reply.line} of its cell" if reply.line else ""
        reason = RAISED.get(reply.raised, f"It raised {reply.raised}{at} on a hidden case.")
        return dict.fromkeys(entries, reason)
    if isinstance(reply.value, wire.Other):
        return dict.fromkeys(entries, f"It returned {reply.value.kind}, which is neither a number nor an array.")
    try:
        return compare.reasons(reply.value, case.expected, exercise.kind, case.atol)
    except (TypeError, ValueError, OverflowError):
        return dict.fromkeys(entries, "What it returned could not be read as numbers.")


def _first_reason(part, cases, found):
    for case, reasons in zip(cases, found, strict=True):
        for entry, reason in reasons.items():
            if reason and part in (case.part, entry):
                return f"{case.name}: {reason}" if case.part else reason
    return ""


def _hints(exercise, replies, found):
    """Name the mistakes whose values are the student's own. Where values cannot tell two apart, both are said."""
    explained = {}  # mistake -> the wrong entries that it explains
    for name in exercise.hints:
        entries = _explained(exercise, name, replies, found)
        if entries:
            explained[name] = entries
    hints, left = [], {entry for reasons in found for entry, reason in reasons.items() if reason}
    while left and explained:
        most = max(len(entries & left) for entries in explained.values())
        alike = [name for name, entries in explained.items() if len(entries & left) == most]
        if not most:
            break
        same = [name for name in alike if explained[name] & left == explained[alike[0]] & left]
        hints.append(" Or: ".join(dict.fromkeys(exercise.hints[name] for name in same)))
        left -= explained[alike[0]]
    return tuple(dict.fromkeys(hints))


def _explained(exercise, name, replies, found):
    """Return the wrong entries on which the student's values equal those of mistake ``name`` wherever it is wrong."""
    agree, differ = set(), set()
    for case, reply, reasons in zip(exercise.hidden, replies, found, strict=True):
        outcome = case.mistaken[name]
        if outcome.raised:
            same_error = reply.raised == outcome.raised
            for entry in reasons:
                (agree if same_error else differ).add(entry)
            continue
        mistaken = compare.reasons(outcome.value, case.expected, exercise.kind, case.atol)
        if reply.raised or isinstance(reply.value, wire.Other):
            differ |= {entry for entry, reason in mistaken.items() if reason}
            continue
        likeness = compare.reasons(reply.value, outcome.value, exercise.kind, case.atol)
        for entry, reason in mistaken.items():
            if reason:
                unlike = likeness.get(entry, likeness.get("", "another kind of value"))
                (differ if unlike else agree).add(entry)
            elif reasons[entry]:
                differ.add(entry)
    return agree - differ
