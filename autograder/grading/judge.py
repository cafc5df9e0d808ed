"""Judge what a submission returned: points by part, reasons in words, and the hint that names the mistake. Pure."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import combinations
from math import inf

import numpy as np

from autograder.exercises import SHAPE_DRAWS, UNREADABLE, Case, Exercise, compare, compile_steps
from autograder.exercises.case_labels import is_large
from autograder.exercises.covering import PLAIN, TAKEN_FOR_ONE, WHERE_LONG
from autograder.exercises.families import WHERE_LARGE, WHERE_TINY
from autograder.exercises.mutations import sizes_of
from autograder.exercises.numbers import is_finite
from autograder.grading import shapes
from autograder.grading.recognise import ALL_ZERO, find_equal_sizes, infer_mistake
from autograder.grading.values import (
    JudgedCase,
    arrays_of,
    entries_of,
    entry_of,
    has_form,
    is_called_twice,
    numbers_of,
    read_array,
)
from autograder.sandbox import Reply, wire
from autograder.verdicts import Part, Verdict

# These concern the whole exercise, whatever the case.
REASONS_WITHOUT_ANSWER = {
    "NotImplementedError": "it has not been answered yet",
    "missing": "no function of this name was defined when its test ran: was the cell deleted, or did an error stop it?",
}
REASONS_BY_EXCEPTION = {
    **REASONS_WITHOUT_ANSWER,
    "CellTimeout": "the call used more CPU time than it may: is there an infinite loop?",
    "CellIdle": "the call waited without computing until it was stopped: does it sleep, or wait for input or for a network?",
    "TooLarge": "it returned too much data to read back: is there an extra axis, or one that is much too long?",
    "no reply": "it gave no result: the process ended, or the result was too large to read",
}

LACKS_MODULE = (
    "it needs {}, which the grader does not have: the rules at the top of the notebook say which packages it has"
)
ONLY_PADDING = "Of our cases, only those with padding are wrong: where does the mask come in?"
ONLY_LARGE = (
    "Of our cases, only those with numbers that are large, or far apart, are wrong: trace the largest and the smallest of "
    "them through your formula."
)
BROADCASTS = ("ValueError", "RuntimeError")  # raised when the shapes of two arrays do not match
NUMERICAL = ("", "OverflowError", "FloatingPointError", "ZeroDivisionError")  # raised because a number is large
ONLY_WITH = "Of our cases, only those with {} are wrong"
ONLY_LIKE = "Of our cases, only those like the ones with {} are wrong: {}"
NAN_GRADIENT = (
    "The values are right, but a gradient is not finite: on the way to the result, something is divided by 0, or nan or infinity "
    "arises. Replacing it afterwards does not repair the gradient: keep it from arising."
)
ONLY_SIZE_ONE = (
    "Of our cases, only those with an axis of length 1 are wrong: which line treats such an axis differently?"
)
GRADIENT_OF = "The values are right, but not the gradient with respect to {}"
WRONG_GRADIENT = (
    f"{GRADIENT_OF}: where is it cut off on the way to the result (by detach, no_grad, numpy, a plain number), or changed "
    "(by clamp, max or abs where two numbers are equal)? Or is something kept from an earlier call?"
)
NO_GRADIENT = (
    "The values are right, but no gradient can be computed from them: does everything up to the return value stay a tensor in "
    "the graph?"
)
GRAPH_BROKEN = (
    "The values are right, but the backward pass fails: has a tensor been modified in place after something was computed from "
    "it, or is something kept from an earlier call?"
)
BROADCAST = (
    "It raises an error exactly where {0} and {1} differ: two arrays are broadcast together there, and an axis of size {0} in "
    "one meets an axis of size {1} in the other. One of them lacks an axis of length 1, or has the wrong length."
)
ONLY_EQUAL_SIZES = (
    "Of our cases, only those in which {} and {} are equal are wrong: which line tells axes apart by their sizes?"
)
CUT_TO_INTEGERS = (
    "The right numbers, but truncated to integers: does the array that you write them into have an integer dtype, like "
    "np.zeros_like of an integer array?"
)
SINGLE = compare.full_sentence(compare.SINGLE_PRECISION)
FEW_DIGITS = (
    "Right to a few digits, but not to all of them. Is something computed in single precision (float32), the default for new "
    "torch tensors? Is something rounded, clipped, or treated as 0 because it is small? Is a small number such as 1e-6 added, "
    "or are some terms of a long sum left out?"
)
LARGE_ARE_WRONG = "Where numbers are large, more than the last digits is wrong, perhaps by another mistake."
NOT_FINITE = (
    "Not finite where numbers are large, and right elsewhere: which exponential gets too large a number there, or which divisor "
    "or argument of a logarithm has become 0?"
)
HALF = 1 / 2  # of the cases of a family: at least so many are wrong if it is to blame
MAX_ADVICE = 2  # pieces of advice that a hint may offer: more would say nothing
MAX_SLIGHT_ERROR = 1e-5  # relative to the largest number of a result
LARGE_ERROR = 0.01  # relative to the same: more than lost digits
WORDLESS, PADDING, LARGE = "a sentence without a word", "padding", "large numbers"
SIZE_ONE, GRADIENTS = "an axis of length 1", "gradients"
IN_WAYS = {  # what is special about a case -> where to look if such cases are wrong
    PADDING: "where does the mask come in?",
    WORDLESS: "what becomes of a row that is all padding?",
    LARGE: "trace the largest and the smallest of them through your formula.",
    SIZE_ONE: "which line treats such an axis differently?",
    GRADIENTS: "where is a gradient cut off or changed on the way to the result?",
}
SECOND_MISTAKE = "If cases with {} are still wrong after that: {}"
SEVERAL_WAYS = "Cases with {} are wrong: {}"
LOST_AXIS = "An axis of length 1 went missing: where an axis of the result has length 1, it must stay."
EXTRA_AXIS = "Your result has an axis of length 1 too many: index it with 0, or squeeze that axis alone."
EXCHANGED = "Your values for {} and {} are exchanged."
CHOICES = 20  # a smaller whole number may be a choice, and that two are exchanged would answer both
SMALLEST = "The smallest of our inputs that shows it: {}. If you are right there, something is kept between calls."
MAX_READABLE = 12  # numbers of an input that is shown
ROUNDED = "Right, but rounded to fewer decimals than asked for, in the end or on the way."

NO_WEIGHTS = {
    "no file": "The weights file was not handed in with the notebook.",
    "too large": "The weights file is larger than these weights can be.",
    "compressed": "The weights file is compressed with bzip2 or lzma, which is not accepted. Write it with save_weights.",
    "CellTimeout": "The model used more CPU time than it may.",
}


def judge(exercises: Iterable[Exercise], replies: Mapping[tuple[str, int], Reply]) -> tuple[Verdict, ...]:
    """Return one ``Verdict`` per exercise; ``replies`` maps (exercise, number of the hidden case) to ``Reply``."""
    return tuple(_judge(exercise, replies) for exercise in exercises)


def _judge(exercise, all_replies):
    if not exercise.is_automatic:
        return Verdict(exercise.name, None, exercise.points)
    if exercise.trained:
        return _judge_weights(exercise, all_replies.get((exercise.name, 0), Reply(raised="no file")))
    replies = [all_replies.get((exercise.name, n), Reply(raised="no reply")) for n in range(len(exercise.hidden))]
    all_reasons, carried = _find_reasons(exercise, replies)
    if exercise.kind == "shape":
        all_reasons = _explain_shapes(exercise, replies, all_reasons)
    rows = [JudgedCase(n, *row) for n, row in enumerate(zip(exercise.hidden, replies, all_reasons, strict=True))]
    coarse = _judge_coarsely(exercise, rows)
    results = _results_of(exercise, coarse, rows)
    no_points = dict.fromkeys(exercise.parts, 0.0)
    parts = []
    for part, points in exercise.parts.items():
        earned = compare.total_points(results, {**no_points, part: points})
        reason = "" if earned else _first_reason(part, rows if part == compare.PRECISION else coarse)
        steps = " and ".join(carried.get(part, ()))
        parts.append(Part(part, earned, points, reason, f"right, given your own {steps}" if steps else ""))
    earned = compare.total_points(results, exercise.parts)
    hints = _hints(exercise, rows, is_right=earned == exercise.points)
    return Verdict(exercise.name, earned, exercise.points, tuple(parts), hints)


def points_of(exercise: Exercise, reply_to: Callable[[int], Reply]) -> float:
    """Return the points that the replies to the hidden cases earn, as in ``judge`` but without explaining them.

    ``reply_to`` gives the reply to the hidden case of a number. It is not asked about cases that could only cost points
    which an earlier case has cost already.
    """
    results, lost = [], set()
    for number, case in enumerate(exercise.hidden):
        concerned = {case.part} if case.part else {*entries_of(case)}
        if concerned <= lost:  # then "precision" is lost too, or excused
            continue
        reply = reply_to(number)
        row = JudgedCase(number, case, reply, _find_reasons_of_case(exercise, case, reply)[0])
        of_case = _results_of(exercise, _judge_coarsely(exercise, [row]), [row])
        results += of_case
        for part, also, reasons in of_case:
            if not also:  # where no other part is involved, nothing excuses a failure
                lost |= {part or entry for entry, reason in reasons.items() if reason}
    return compare.total_points(results, exercise.parts)


def _results_of(exercise, coarse, rows):
    """Return what each case says about its part, and about the part "precision" if the exercise has it."""
    pairs = zip(coarse, rows, strict=True)
    results = (
        compare.results_of(row.case.part, row.case.also, rough.reasons, row.reasons, exercise.parts)
        for rough, row in pairs
    )
    return [result for both in results for result in both]


def _judge_coarsely(exercise, rows):
    """Return ``rows`` with the reasons that hold with the tolerance of all parts but "precision"."""
    if compare.PRECISION not in exercise.parts:
        return rows
    return [_judge_row_coarsely(exercise, row) if row.wrong_entries else row for row in rows]


def _judge_row_coarsely(exercise, row):
    atol = compare.coarse_tolerance(row.case.expected, row.case.atol)
    return replace(row, reasons=reasons_of(exercise, replace(row.case, atol=atol), row.reply))


def _find_reasons(exercise, replies):
    """Return ``reasons_of`` each reply, and the entries of a chain that are right given the student's own steps."""
    pairs = zip(exercise.hidden, replies, strict=True)
    all_reasons, carried = zip(*(_find_reasons_of_case(exercise, case, reply) for case, reply in pairs), strict=True)
    return list(all_reasons), carried[0]  # a chain has one case


def _find_reasons_of_case(exercise, case, reply):
    reasons = reasons_of(exercise, case, reply)
    if not exercise.follows:
        return reasons, {}
    follows = compile_steps(exercise.follows)
    return compare.follow_through(reasons, reply.value, case.expected, case.atol, follows)


def _hints(exercise, rows, is_right):
    if is_right:  # the submission itself reports which inputs it changed, so no points may depend on it
        changed = dict.fromkeys(str(name) for row in rows for name in row.reply.changed)
        return (compare.full_sentence(compare.ALSO_CHANGED.format(", ".join(changed))),) if changed else ()
    if lacking := dict.fromkeys(row.reply.module for row in rows if row.reply.module):
        return tuple(compare.full_sentence(LACKS_MODULE.format(module)) for module in lacking)
    if all(row.reply.raised in REASONS_BY_EXCEPTION for row in rows):  # which no listed mistake raises
        return ()
    several = (compare.explain_several(row.reply.value, row.case.expected) for row in rows)
    if sentence := next(filter(None, several if exercise.kind == "code" else ()), ""):
        return (compare.full_sentence(sentence),)
    if hints := _hints_of_one_mistake(exercise, rows):
        return hints
    if exercise.kind != "code":
        return ()
    if hint := _hint_from_failing_cases(exercise, rows):
        return (hint,)
    if hints := _hints_of_several_mistakes(exercise, rows):
        return hints
    hint = _hint_several_families(rows)
    return (hint,) if hint else ()


def _hints_of_one_mistake(exercise, rows):
    """Return the hints that explain all that is wrong in ``rows``, () if nothing does."""
    if hints := _hints_of_mistakes(exercise, rows):
        return hints
    hint = ROUNDED if exercise.kind == "number" and _is_rounded(rows) else _find_exchanged(exercise, rows)
    if exercise.kind == "code" and not hint:
        hint = _hint_precision(exercise, rows)
    if exercise.kind in ("code", "number"):
        hint = hint or infer_mistake(exercise, rows)
    return (hint,) if hint else ()


def _find_exchanged(exercise, rows):
    """Return the sentence on two entries of a dict, each of which holds what belongs into the other; "" without such."""
    wrong = dict.fromkeys(entry for row in rows for entry in row.wrong_entries)
    for pair in combinations(wrong, 2):
        both = [row for row in rows if not row.case.gradients and {*pair} <= {*entries_of(row.case)}]
        if not both or any(_may_be_choice(row.case.expected[entry]) for row in both for entry in pair):
            continue
        exchanged = (_with_reply(exercise, row, _exchange(row.reply, *pair)) for row in both)
        if all({*pair}.isdisjoint(row.wrong_entries) for row in exchanged):
            return EXCHANGED.format(*pair)
    return ""


def _exchange(reply, one, other):
    value = reply.value
    if not isinstance(value, dict) or not {one, other} <= set(value):
        return reply
    return replace(reply, value={**value, one: value[other], other: value[one]})


def _may_be_choice(right):
    numbers = numbers_of(right)
    return numbers.size == 1 and 0 <= numbers.item() < CHOICES and numbers.item() == int(numbers.item())


def _hints_of_several_mistakes(exercise, rows):
    """Return the hints on two or more mistakes at once: what one of them explains is set aside before the next is sought.

    These are a lost axis, lost digits, then one that shows in ordinary cases, then those of cases that are special in one
    way.
    """
    lost, whole = _restore_axes(exercise, rows)
    if lost and not _is_any_wrong(whole):
        return lost
    skipped = (SIZE_ONE,) if lost else ()
    if hints := (lost and _hints_of_one_mistake(exercise, whole)) or _hints_by_kind(exercise, whole, skipped):
        return (*lost, *hints)
    digits, tolerant = _tolerate_lost_digits(exercise, whole)
    # large numbers and gradients magnify the digits that were lost
    skipped = *skipped, LARGE, GRADIENTS
    further = _hints_of_one_mistake(exercise, tolerant) or _hints_by_kind(exercise, tolerant, skipped)
    is_mended = any(row.wrong_entries and not seen.wrong_entries for row, seen in zip(whole, tolerant, strict=True))
    is_right = not _is_any_wrong([row for row in tolerant if not _kinds_of(row.case)])
    return (*lost, *digits, *further) if (is_mended if is_right else further) else ()


def _restore_axes(exercise, rows):
    """Return ``(hints, rows)``: the hint on axes of length 1 that are missing or too many, and ``rows`` with the right axes."""
    restored, hints = [], {}
    for row in rows:
        mine, right = read_array(row.reply.value), row.case.expected
        if isinstance(right, np.ndarray) and mine is not None and _differ_by_ones(mine.shape, right.shape):
            hints[LOST_AXIS if mine.ndim < right.ndim else EXTRA_AXIS] = None
            row = _with_reply(exercise, row, replace(row.reply, value=mine.reshape(right.shape)))
        restored.append(row)
    return tuple(hints), restored


def _differ_by_ones(one, other):
    """Return whether one of two shapes has axes of length 1 more than the other, and they differ in nothing else."""
    return len(one) != len(other) and [size for size in one if size != 1] == [size for size in other if size != 1]


def _tolerate_lost_digits(exercise, rows):
    """Return ``(hints, rows)``: the hint on digits that were lost, and ``rows`` judged as if these did not matter."""
    tolerant = []
    for row in rows:
        size = max((np.abs(array).max(initial=1.0) for array in map(numbers_of, _values_of(row.case))), default=1.0)
        case = replace(row.case, atol=max(row.case.atol, MAX_SLIGHT_ERROR * size))
        tolerant.append(_with_reply(exercise, replace(row, case=case), row.reply))
    arrays = [read_array(entry_of(row.reply.value, entry)) for row in rows for entry in entries_of(row.case)]
    is_single = any(array is not None and array.dtype.kind == "f" and array.dtype.itemsize < 8 for array in arrays)
    return (SINGLE if is_single else FEW_DIGITS,), tolerant


def _values_of(case):
    return case.expected.values() if isinstance(case.expected, dict) else [case.expected]


def _with_reply(exercise, row, reply):
    return replace(row, reply=reply, reasons=reasons_of(exercise, row.case, reply))


def _hints_by_kind(exercise, rows, skipped=()):
    """Return the hint on a mistake that shows in ordinary cases, and one for each kind of case with a further mistake.

    ``skipped`` are the kinds in which a further mistake would not be one. No hint contradicts an ordinary case.
    """
    kinds = {row.place: _kinds_of(row.case) for row in rows}
    ordinary = [row for row in rows if not kinds[row.place]]
    first = _hints_of_one_mistake(exercise, ordinary) if _is_any_wrong(ordinary) else ()
    if _is_any_wrong(ordinary) and (not first or {SINGLE, FEW_DIGITS} & {*first}):
        return ()
    sentence = SECOND_MISTAKE if first else SEVERAL_WAYS
    if first == (ALL_ZERO,):  # which has no gradient
        skipped = *skipped, GRADIENTS
    words = {kind: sentence.format(kind, where) for kind, where in IN_WAYS.items() if kind not in skipped}
    hints = [*first]
    for kind in words:
        alike = [row for row in rows if kinds[row.place] == {kind}]
        if not _is_any_wrong(alike):
            continue
        here = _hints_of_one_mistake(exercise, [*ordinary, *alike])
        here = here if not first or here == first else ()
        is_told = kind == WORDLESS and words[PADDING] in hints  # such a case has padding, too
        if here or (_are_half_wrong(alike) and not is_told):
            hints += here or [words[kind]]
    return tuple(dict.fromkeys(hints))


def _is_any_wrong(rows):
    return any(row.wrong_entries for row in rows)


def _kinds_of(case):
    """Return in which of ``IN_WAYS`` a case is special."""
    masks = [item for item in arrays_of(case) if item.dtype.kind == "b"]
    without_word = any(not item.any(axis=-1).all() for item in masks)
    special = {
        PADDING: _is_masked(case) and not without_word,
        WORDLESS: without_word,
        LARGE: is_large(case),
        SIZE_ONE: _has_size_one(case),
        GRADIENTS: case.gradients,
    }
    return {kind for kind, there in special.items() if there}


def _judge_weights(exercise, reply):
    """Judge the performance of the reference model with the weights that were handed in."""
    trained = exercise.trained
    try:
        measured = {} if reply.raised else trained.measure(reply.value, trained.inputs)
        reason = ""
    except (TypeError, ValueError, KeyError, IndexError, AttributeError):
        measured, reason = {}, "The model's output could not be read."
    if reply.raised:
        reason = NO_WEIGHTS.get(reply.raised, "The weights could not be loaded: run the check cell to see why.")
    parts = []
    for part, points in exercise.parts.items():
        reached, wanted = measured.get(part), trained.thresholds[part]
        passed = reached is not None and reached >= wanted
        sentence = reason or _describe_measure(part, reached, wanted)
        parts.append(Part(part, points if passed else 0.0, points, "" if passed else sentence))
    return Verdict(exercise.name, float(sum(part.earned for part in parts)), exercise.points, tuple(parts))


def _describe_measure(part, reached, wanted):
    """Say how far a model is from a threshold, of which the name of a part may speak, as ``bleu_at_least_11`` does.

    A part ``per_at_most_13`` is measured as 1 minus the PER, and read as the PER.
    """
    name, is_error, _ = part.partition("_at_most_")
    if is_error:
        return f"{name.upper()} {1 - reached:.2%} on examples not seen in training; at most {1 - wanted:.0%} earns these points."
    name = part.partition("_at_least_")[0]
    name = "BLEU" if name == "bleu" else name.replace("_", " ").capitalize()
    return f"{name} {reached:.4f} on examples not seen in training; at least {wanted:g} earns these points."


def reasons_of(exercise: Exercise, case: Case, reply: Reply) -> dict[str, str]:
    """Return ``{entry: reason}`` for one call."""
    entries = entries_of(case)
    if reply.raised:
        at = f" on line {reply.line} of its cell" if reply.line else ""
        at += f": {reply.text}" if at and reply.text else ""
        reason = REASONS_BY_EXCEPTION.get(reply.raised, f"it raised {reply.raised}{at}")
        reason = LACKS_MODULE.format(reply.module) if reply.module else reason
        return dict.fromkeys(entries, reason)
    if reply.value is None and reply.printed:
        return dict.fromkeys(entries, compare.PRINTED)
    if _is_exactly_right(reply.value, case.expected, case.atol):
        return dict.fromkeys(entries, "")
    try:
        return compare.mismatches(reply.value, case.expected, exercise.kind, case.atol)
    except (TypeError, ValueError, OverflowError):
        return dict.fromkeys(entries, "its return value could not be read as numbers")


def _is_exactly_right(value, expected, atol):
    """Return whether ``value`` has the types of ``expected`` and equals it within ``atol``: a fast path for most values."""
    if type(expected) is dict:
        return type(value) is dict and all(
            entry in value and _is_exactly_right(value[entry], wanted, atol) for entry, wanted in expected.items()
        )
    if type(value) is not type(expected):
        return False
    if type(expected) is tuple:
        # in this order: an array within a tuple has no truth value
        return all(type(size) is int for size in value) and value == expected
    return (
        type(expected) is np.ndarray
        and value.dtype == expected.dtype == float
        and value.shape == expected.shape
        and bool((abs(value - expected) <= atol).all())
    )


def _explain_shapes(exercise, replies, all_reasons):
    """Return ``all_reasons`` with wrong shapes explained in the letters of the exercise, if every call returned a shape."""
    all_reasons = [dict(reasons) for reasons in all_reasons]
    several = range(SHAPE_DRAWS)  # the later cases have a size of 1, which fits many explanations
    values = [replies[n].value for n in several]
    sizes = [exercise.hidden[n].inputs for n in several]
    for entry in all_reasons[0]:
        mine: list = [entry_of(value, entry) for value in values]
        if any(compare.explain_shape_mismatch(value, None) for value in mine):
            continue
        right = [entry_of(case.expected, entry) for case in exercise.hidden[:SHAPE_DRAWS]]
        name = entry or exercise.function
        if any(all_reasons[n][entry] for n in several):
            explanation = shapes.explain(name, mine, right, sizes, exercise.letters, exercise.entry.equations)
        else:
            explanation = _explain_size_one(exercise, replies, entry)
        for reasons in all_reasons:
            reasons[entry] = reasons[entry] and (explanation or reasons[entry])
    return all_reasons


def _explain_size_one(exercise, replies, entry):
    values = [entry_of(reply.value, entry) for reply in replies]
    if any(compare.explain_shape_mismatch(value, None) for value in values):
        return ""
    expected = [entry_of(case.expected, entry) for case in exercise.hidden]
    return shapes.explain_size_one(values, expected, [case.inputs for case in exercise.hidden])


def _first_reason(part, rows):
    """Return why the ordinary case fails, or else the first; of cases with few whole numbers, the smallest, and its input."""
    wrong = [
        (row, entry)
        for row in rows
        for entry in row.wrong_entries
        if part in (row.case.part, entry, compare.PRECISION)  # every case counts for precision
    ]
    if not wrong:
        return ""
    row, entry = min(wrong, key=lambda each: (_count_readable(each[0].case), each[0].case.name != PLAIN))
    reason = row.reasons[entry]
    is_named = row.case.part and reason not in REASONS_WITHOUT_ANSWER.values() and not row.reply.module
    sentence = compare.full_sentence(f'in the case "{row.case.name}", {reason}' if is_named else reason)
    if _count_readable(row.case) == inf or reason in REASONS_BY_EXCEPTION.values() or row.reply.module:
        return sentence
    inputs = (f"{name} = {value.tolist()}" for name, value in row.case.inputs.items())
    return f"{sentence} {SMALLEST.format(' and '.join(inputs))}"


def _count_readable(case):
    """Return how many numbers a case takes, if they are few whole numbers in arrays; else infinity."""
    inputs = [np.asarray(value) for value in case.inputs.values()]
    count = sum(value.size for value in inputs)
    is_readable = count <= MAX_READABLE and all(value.ndim and value.dtype.kind in "iub" for value in inputs)
    return count if inputs and is_readable else inf


def _hint_from_failing_cases(exercise, rows):
    """Return a hint on the first property that fails, if no mistake is recognised; "" if the reasons already say it.

    The order: two axes that should not meet; no value, or another kind or shape (the reasons); a changed input; different
    results of the same call; not finite (the reasons, or only with large numbers); wrong gradients of right values; wrong
    only in one family, with equal sizes, padding, large numbers or an axis of length 1; else the values (the reasons).
    """
    wrong = [row for row in rows if row.wrong_entries]
    returned = [(row.reply.value, row.case.expected) for row in wrong if not row.reply.raised]
    if hint := _hint_broadcast(exercise, rows):
        return hint
    if not all(has_form(value, expected) for value, expected in returned):
        return ""
    if changed := _find_changed_inputs(rows, wrong):
        return compare.full_sentence(compare.CHANGED.format(", ".join(map(str, changed))))
    if is_called_twice(rows) and _replies_differ(rows[0].reply, rows[-1].reply):
        return compare.full_sentence(compare.UNSTEADY)
    if any(not is_finite(value) and is_finite(expected) for value, expected in returned):
        hint = NAN_GRADIENT if all(row.case.gradients for row in wrong) else ""
        return NOT_FINITE if all(is_large(row.case) for row in wrong) else hint
    if all(row.case.gradients for row in wrong):
        return _hint_gradients(exercise, rows, wrong)
    return _hint_common_family(exercise, rows, wrong) or _hint_mask_or_size(exercise.hidden, wrong)


def _find_changed_inputs(rows, wrong):
    """Return the names of the inputs changed by the first wrong call that changed any.

    If wrong calls raised, right ones count too, because a call that raised does not report its changes.
    """
    telling = rows if any(row.reply.raised for row in wrong) else wrong
    return next((row.reply.changed for row in telling if row.reply.changed), ())


def _hint_gradients(exercise, rows, wrong):
    """Return the hint on gradients that are wrong, or cannot be computed, although the values are right."""
    raised = {row.reply.raised for row in wrong} - {""}
    if raised & REASONS_BY_EXCEPTION.keys():
        return ""
    if raised:
        return f"{NO_GRADIENT} Or: {GRAPH_BROKEN}" if _autograd_broken(rows) else NO_GRADIENT
    if not any(np.any(row.reply.value[name]) for row in wrong for name in row.case.gradients):
        return NO_GRADIENT
    without = {entry for row in rows for entry in row.wrong_entries}
    names = ", ".join(name for name in wrong[0].case.gradients if name in without)
    only = _hint_common_family(exercise, [row for row in rows if row.case.gradients], wrong)
    return f"{GRADIENT_OF.format(names)}. {only}" if only else WRONG_GRADIENT.format(names)


def _hint_broadcast(exercise, rows):
    """Return the hint on two axes that are broadcast together: calls raise exactly where their sizes, not 1, differ."""
    if not {row.reply.raised for row in rows} <= {"", *BROADCASTS}:
        return ""
    raised = [sizes_of(exercise, row.case.inputs) for row in rows if row.reply.raised]
    others = [sizes_of(exercise, row.case.inputs) for row in rows if not row.reply.raised]
    letters = list(dict.fromkeys(letter for sizes in raised for letter in sizes))
    for one, other in combinations(letters, 2):  # no pairs if no call raised
        pairs = [(sizes.get(one), sizes.get(other)) for sizes in others]
        if (
            all(1 != sizes.get(one) != sizes.get(other) != 1 for sizes in raised)
            and all(x == y or 1 in (x, y) for x, y in pairs)
            and any(x == y != 1 for x, y in pairs)
        ):
            return BROADCAST.format(one, other)
    return ""


def _hint_common_family(exercise, rows, wrong):
    """Return the hint on what all ``wrong`` cases, but not all cases, have in common; or "".

    That is a family of inputs, the rarest if there are several, or else two equal sizes. At least half of its cases are wrong,
    unless a wrong case is special in nothing else, or the family is one of large numbers, of which only some may be large enough.
    """
    families = wrong[0].case.families
    common = [words for words in families if all(words in row.case.families for row in wrong)]
    is_alone = any(len(row.case.families) == 1 for row in wrong)
    shared = [words for words in common if is_alone or families[words] == WHERE_LARGE or _is_telling(words, rows)]
    counts = {words: sum(words in row.case.families for row in rows) for words in shared}
    if counts and min(counts.values()) < len(rows):
        # what all of these cases share beside their large sizes says more, as such sizes alone are a family, too
        words = min(counts, key=lambda name: (families[name] == WHERE_LONG, counts[name]))
        return f"{ONLY_WITH.format(words)}: {families[words]}" if families[words] else f"{ONLY_WITH.format(words)}."
    right = [row.case for row in rows if not row.wrong_entries]
    alike = find_equal_sizes(exercise, [row.case for row in wrong], right)
    return ONLY_EQUAL_SIZES.format(*alike) if alike else ""


def _hint_several_families(rows):
    """Return the hint on families of inputs that need the same one or two pieces of advice, if these explain all; or "".

    Such a family has a case that is special in nothing else. Half of its cases at least are wrong, and each wrong case belongs
    to one of them, or to another family with the same advice.
    """
    wrong = [row for row in rows if row.wrong_entries]
    if not all(has_form(row.reply.value, row.case.expected) and is_finite(row.reply.value) for row in wrong):
        return ""  # the reasons say more
    alone = {words: where for row in wrong if len(row.case.families) == 1 for words, where in row.case.families.items()}
    # equal sizes are looked at before, all together
    telling = {words: where for words, where in alone.items() if where != TAKEN_FOR_ONE and _is_telling(words, rows)}
    explained: dict[str, int] = {}  # advice -> how many wrong cases it explains
    for row in wrong:
        here = {where for words, where in row.case.families.items() if words in telling or where in telling.values()}
        if not here:
            return ""
        explained |= {where: explained.get(where, 0) + 1 for where in here}
    advice = [where for where in dict.fromkeys(telling.values()) if where and explained[where] > 1]
    if not 0 < len(advice) <= MAX_ADVICE or not all({*advice} & {*row.case.families.values()} for row in wrong):
        return ""
    examples = [next(words for words in telling if telling[words] == where) for where in advice]
    return ONLY_LIKE.format(", or with ".join(examples), " Or: ".join(advice))


def _is_telling(words, rows):
    """Return whether at least half of the cases of the family ``words`` are wrong: other families may hide the mistake."""
    return _are_half_wrong([row for row in rows if words in row.case.families])


def _are_half_wrong(rows):
    return sum(bool(row.wrong_entries) for row in rows) >= HALF * len(rows)


def _hint_mask_or_size(hidden, wrong):
    """Return the hint on padding or large numbers, whichever fewer cases have, else on an axis of length 1; or "".

    Right cases with a single position say nothing about the first two, because much is right there by chance.
    """
    fitting = []
    for belongs, sentence in ((_is_masked, ONLY_PADDING), (is_large, ONLY_LARGE)):
        others = [case for case in hidden if not belongs(case) and not _is_tiny(case)]
        of_kind, by_numbers = sum(map(belongs, hidden)), all(row.reply.raised in NUMERICAL for row in wrong)
        is_to_blame = HALF * of_kind <= len(wrong) if sentence is ONLY_PADDING else by_numbers
        if others and is_to_blame and all(belongs(row.case) for row in wrong):
            fitting.append((of_kind, sentence))
    if fitting:
        return min(fitting, key=lambda hint: hint[0])[1]
    of_size_one = sum(map(_has_size_one, hidden))
    is_to_blame = all(_has_size_one(row.case) for row in wrong) and HALF * of_size_one <= len(wrong)
    return ONLY_SIZE_ONE if is_to_blame and of_size_one < len(hidden) else ""


def _is_rounded(rows):
    """Return whether every wrong number is the right one, rounded to fewer decimals."""
    is_rounded = []
    for row in rows:
        for mine, right in map(row.numbers, row.wrong_entries):
            if mine.shape != right.shape or not np.isfinite(mine).all():
                return False
            # one decimal is right by chance too often, unless there are several numbers
            digits = [n for n in (1, 2, 3) if n > 1 or mine.size > 2]
            is_rounded.append(any(np.allclose(mine, np.round(right, n), rtol=0, atol=1e-9) for n in digits))
    return bool(is_rounded) and all(is_rounded)


def _hint_precision(exercise, rows):
    """Return the hint on numbers that have lost digits: single precision, truncation to integers, or a few digits only."""
    wrong = [row for row in rows if row.wrong_entries]
    pairs = [row.numbers(entry) for row in wrong for entry in row.wrong_entries]
    if not wrong or not all(_is_finite_pair(*pair) for pair in pairs):
        return ""
    if all(row.reasons[entry] == compare.SINGLE_PRECISION for row in wrong for entry in row.wrong_entries):
        return SINGLE
    if all(np.array_equal(mine, np.trunc(right)) for mine, right in pairs) and any(mine.any() for mine, _ in pairs):
        return CUT_TO_INTEGERS
    if not _are_slightly_off(wrong):
        return ""
    of_family = _hint_common_family(exercise, rows, wrong)
    if of_family.endswith(WHERE_TINY):
        return of_family
    return FEW_DIGITS if all(_is_slightly_off(row, LARGE_ERROR) for row in wrong) else f"{FEW_DIGITS} {LARGE_ARE_WRONG}"


def _are_slightly_off(wrong):
    """Return whether all wrong numbers are nearly right, except for large inputs, which can amplify rounding errors."""
    slight = [_is_slightly_off(row, MAX_SLIGHT_ERROR) for row in wrong if not is_large(row.case)]
    return len(slight) > 1 and all(slight)


def _is_slightly_off(row, limit):
    """Return whether the error of each number is at most ``limit``, relative to the largest number of its entry or to 1."""
    pairs = [row.numbers(entry) for entry in row.wrong_entries]
    return all(np.abs(mine - right).max() <= limit * np.abs(right).max(initial=1.0) for mine, right in pairs)


def _is_finite_pair(mine, right):
    return mine.shape == right.shape and mine.size > 0 and np.isfinite(mine).all()


def _replies_differ(one, other):
    """Return whether two replies to the same call differ; a missing reply counts as equal."""
    if one.raised in REASONS_BY_EXCEPTION or other.raised in REASONS_BY_EXCEPTION:
        return False
    return one.raised != other.raised or (not one.raised and compare.differs(one.value, other.value))


def _is_masked(case):
    return any(item.dtype.kind == "b" and not item.all() for item in arrays_of(case))


def _is_tiny(case):
    return any(item.shape.count(1) > 1 for item in arrays_of(case))


def _has_size_one(case):
    return any(1 in item.shape for item in arrays_of(case))


def _hints_of_mistakes(exercise, rows):
    """Return the hints on mistakes that give the student's values. Mistakes that values cannot tell apart share one hint.

    Of mistakes that explain equally many entries, those that agree with the student everywhere come first.
    """
    explained = {}  # mistake -> (the wrong entries that it explains, whether no entry contradicts it)
    for name in exercise.hints:
        agree, differ = _match_mistake(exercise, name, rows)
        if agree - differ:
            explained[name] = agree - differ, not differ
    hints, left = [], {entry for row in rows for entry in row.wrong_entries}
    while left and explained:
        worth = {name: (len(entries & left), entirely) for name, (entries, entirely) in explained.items()}
        most = max(worth.values())
        if not most[0]:
            break
        alike = [name for name in explained if worth[name] == most]
        chosen = explained[alike[0]][0] & left
        same = [name for name in alike if explained[name][0] & left == chosen]
        hints.append(" Or: ".join(dict.fromkeys(exercise.hints[name] for name in same)))
        left -= chosen | _entries_after(exercise, chosen)
    if hints and _autograd_broken(rows):
        hints[-1] += f" Or: {GRAPH_BROKEN}"
    return tuple(dict.fromkeys(hints))


def _entries_after(exercise, chosen):
    """Return the entries of a chain that follow from those in ``chosen``: what is wrong there may come from these."""
    after = set(chosen)
    while more := {entry for entry, step in exercise.follows.items() if after & {*step.given}} - after:
        after |= more
    return after


def _autograd_broken(rows):
    """Return whether only the backward pass fails, with an exception that several mistakes share and that gives no reason."""
    wrong = [row for row in rows if row.wrong_entries]
    changed = any(row.reply.changed for row in rows)
    return not changed and all(row.case.gradients and row.reply.raised == "RuntimeError" for row in wrong)


def _match_mistake(exercise, name, rows):
    """Return ``(agree, differ)``: the entries in which the student's values match, or contradict, the mistake ``name``."""
    match = _MistakeMatch(exercise, any(row.reply.changed for row in rows))
    every = {entry for row in rows for entry in row.reasons}
    gradients = {entry: case for case in exercise.hidden if case.gradients for entry in case.gradients}
    # first a wrong case without gradients, then those with, then the other wrong ones, as they end this soonest
    wrong = next((row for row in rows if row.wrong_entries and not row.case.gradients), None)
    for row in sorted(rows, key=lambda row: (row is not wrong, not row.case.gradients, not row.wrong_entries)):
        # other cases cannot change this, and computing a mistake's values on all of them takes long
        if match.differ == every or ("wrong" in match.elsewhere and match.differ >= every - set(gradients)):
            return set(), match.differ
        outcome = row.case.mistaken[name]
        if exercise.kind == "shape" and outcome.raised == UNREADABLE and not row.reply.raised:
            continue  # half a size of 1 is 0, which makes no shape: it says nothing
        if outcome.raised:
            match.add_error(row, outcome)
        else:
            match.add_values(row, outcome, exercise.misses[row.place][name])
    # Gradients are accepted only together, because a single one may agree by chance, as may an exception. So may those
    # of a mistake whose values are wrong but not the student's, especially if they are all 0.
    by_chance = match.is_by_chance(set(gradients))
    by_chance = by_chance or (match.differ and any(c.mistaken[name].raised for c in gradients.values()))
    return (match.agree - set(gradients) if by_chance else match.agree), match.differ


class _MistakeMatch:
    """How a student's replies compare with the results of a mistake, case by case.

    ``agree`` and ``differ`` hold entries; ``elsewhere`` says whether values differ where the student's are "wrong" or
    "right"; ``telling`` holds gradients that agree and are not all 0.
    """

    def __init__(self, exercise, changes_input):
        self.exercise = exercise
        self.changes_input = changes_input  # enough to make a call raise if a gradient is wanted
        self.agree, self.differ, self.elsewhere, self.telling = set(), set(), set(), set()

    def add_error(self, row, outcome):
        """Compare with a mistake that raised."""
        same_error = row.reply.raised == outcome.raised and not (row.case.gradients and self.changes_input)
        (self.agree if same_error else self.differ).update(row.reasons)

    def add_values(self, row, outcome, mistaken):
        """Compare with the values of a mistake; ``mistaken`` has the reasons why they are wrong, by entry."""
        value, gradients = row.reply.value, row.case.gradients
        if row.reply.raised or isinstance(value, wire.UnsendableValue):
            self.differ |= {entry for entry, reason in mistaken.items() if reason}
            return
        for entry, reason in mistaken.items():
            if reason:
                unlike = not _is_like(value, outcome.value, entry, self.exercise.kind, row.case.atol)
                (self.differ if unlike else self.agree).add(entry)
                if unlike and not gradients:
                    self.elsewhere.add("wrong" if row.reasons[entry] else "right")
                elif not unlike and gradients and np.any(value[entry]):
                    self.telling.add(entry)
            elif row.reasons[entry]:
                self.differ.add(entry)

    def is_by_chance(self, gradients):
        """Return whether the gradients that agree may do so by chance."""
        return "wrong" in self.elsewhere or ("right" in self.elsewhere and not self.telling) or self.differ & gradients


def _is_like(value, theirs, entry, kind, atol):
    """Return whether the ``entry`` of a student's ``value``, or all of it, is right if ``theirs`` is."""
    if isinstance(theirs, dict):
        if not isinstance(value, dict) or entry not in value or entry not in theirs:
            return False
        value, theirs = value[entry], theirs[entry]
    return compare.is_right(value, theirs, kind, atol)
