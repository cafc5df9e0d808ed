"""Compare what a function returned with what it should return, and say in words how they differ.

In: values, expected values. Out: reasons, points. Uses only the standard library and numpy: every notebook contains this source
in a locked cell, so the check cells there and the grader here use the same code.
"""

import base64
import contextlib
import copy
import json
import textwrap
import zlib
from collections.abc import Mapping, Sequence
from decimal import Decimal
from numbers import Integral, Real

import numpy as np

PRINTED = "it printed something and returned nothing: use return instead of print"
CHANGED = "it changed its input {}. Work on a copy"
ALSO_CHANGED = "right, and no points are lost, but it changed its input {}, which the caller may still need"
UNSTEADY = "it gives a different result when called again with the same input"
SINGLE_PRECISION = "the result is in single precision (float32): compute in double precision (float64) throughout"
SINGLE_DIGITS = 1e-7  # relative to the largest number: finer than single precision can hold
FEW_DIGITS_OFF = 1e-6  # relative to the largest number: by less, digits may have been lost
PRECISION = "precision"  # the part for the digits beyond those that other parts need
ROUGHLY = 1e-5  # the tolerance of those, relative to the largest number or to 1
COARSE_DIGITS = 1e-4  # relative to the largest number: how far off single precision may be
ORDINALS = ("first", "second", "third", "fourth")
MAX_RATIO = 10  # a wrong step of a chain may be this many times as large or small as the right one
LINE_WIDTH = 80  # characters per line of a check's output
MAX_NESTING = 8  # levels of nested containers that are read
INT64_BOUND = 2**63  # only integers that fit into 64 bits are compared


class NotYet(AssertionError):
    """Raised by a check cell: the sentence says what is still wrong."""

    def _render_traceback_(self):
        """Return only the sentence, which is all that a student needs, in lines that ``nbgrader validate`` does not truncate."""
        return [textwrap.fill(line, LINE_WIDTH, break_long_words=False) for line in f"NotYet: {self}".split("\n")]


def plain_value(value, around=()):
    """Return ``value`` as dicts, lists, tuples, numbers and numpy arrays, whatever classes it is made of.

    Any mapping becomes a dict, any sequence other than lists and text a tuple, any real number an int or a float, and anything
    else that numpy can read as numbers, tensors included, an array of at most double precision. Other values, and arrays with
    masked entries, are returned unchanged. A value that cannot be compared (an integer beyond 64 bits, a container that
    contains itself or is nested too deeply) becomes an object whose type is named after the reason. The check in a notebook
    and the grader both use this value, so they accept and say the same. ``around`` are the containers that ``value`` is in.
    """
    if type(value) is int and not -INT64_BOUND <= value < INT64_BOUND:
        return _incomparable("int beyond 64 bits")
    if len(around) > MAX_NESTING:
        return _incomparable("deeply nested data")
    if isinstance(value, (str, bytes, bytearray, type)) or _is_plain(value):
        return value
    if isinstance(value, (Mapping, Sequence)):
        return _plain_container(value, around)
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        return value
    if hasattr(value, "detach") or hasattr(value, "__array__"):
        return _plain_array(value, around)
    with contextlib.suppress(TypeError, ValueError, OverflowError):
        if isinstance(value, Integral) and not isinstance(value, bool):
            return plain_value(int(value), around)
        if isinstance(value, (Real, Decimal)) and not isinstance(value, bool):
            return float(value)
    return value


def _plain_container(value, around):
    if any(outer is value for outer in around):
        return _incomparable(f"{type(value).__name__} that contains itself")
    around = (*around, value)
    if isinstance(value, Mapping):
        return {_key(key): plain_value(item, around) for key, item in value.items()}
    items = [plain_value(item, around) for item in value]
    return items if isinstance(value, list) else tuple(items)


def _incomparable(reason):
    return type(reason, (), {})()


def _is_plain(value):
    """Return whether ``value`` is already a plain number or array, as almost all values are."""
    kind = type(value)
    return kind in (int, float) or (kind is np.ndarray and value.dtype.kind in "biuf" and value.dtype.itemsize <= 8)


def _key(key):
    return str.__str__(key) if isinstance(key, str) else str(key)


def _plain_array(value, around):
    """Return the tensor or array ``value`` as a plain numpy array, or unchanged if it does not hold numbers."""
    array = value
    with contextlib.suppress(TypeError, ValueError, RuntimeError, AttributeError):
        if hasattr(array, "detach"):
            array = array.detach().cpu().resolve_conj().resolve_neg()
            if array.is_floating_point() and array.element_size() < 4:
                array = array.double()  # numpy has no bfloat16
            array = array.numpy()
        array = np.asarray(array)
        if array.dtype.kind == "O":
            items = plain_value(array.tolist(), (*around, array))
            if not isinstance(items, list):  # no axis
                return items
            array = np.array(items)
        if array.dtype.kind == "f" and array.dtype.itemsize > 8:
            array = array.astype(float)
        if array.dtype.kind in "biuf":
            return array
    return _incomparable("array of object") if str(getattr(array, "dtype", "")) == "object" else value


def read_value(value):
    """Return ``value`` as a numpy array, or a dict of arrays; it may be made of lists, tuples, numbers, arrays and tensors.

    If it holds no numbers or is not rectangular, raise a ``ValueError`` with a sentence for the student.
    """
    return _read(plain_value(value))


def _read(value):
    if isinstance(value, dict):
        return {key: _read(item) for key, item in value.items()}
    if value is None:
        raise ValueError("it returned nothing: is the return statement missing, or did you print instead?")
    if hasattr(value, "detach"):
        raise ValueError("it returned a tensor of a kind that cannot be read as an array")
    if isinstance(value, np.ma.MaskedArray):
        raise ValueError("it returned a masked array with masked entries: which numbers belong there?")
    given = value
    if isinstance(value, (list, tuple)):
        parts = [_read(item) for item in value]
        if any(isinstance(part, dict) or part.shape != parts[0].shape for part in parts):
            raise ValueError("its rows have different lengths")
        value = np.array(parts)
    if not isinstance(value, (bool, int, float, np.generic, np.ndarray)) or np.asarray(value).dtype.kind not in "biuf":
        raise ValueError(f"it returned {_kind(given)}, not numbers")
    return np.asarray(value)


def explain_mismatch(value, expected, atol):
    """Return "" if ``value`` equals ``expected`` within ``atol``, else a sentence that does not give the answer away."""
    value = plain_value(value)
    if sentence := _explain_several(value, expected):
        return sentence
    try:
        value = _read(value)
    except ValueError as error:
        return str(error)
    expected = np.asarray(expected)
    if isinstance(value, dict):
        return "it returned a dict, not one array"
    if value.ndim != expected.ndim:
        counts = f"{_count_axes(value.ndim)} instead of {expected.ndim}"
        return f"the result has shape {value.shape}: {counts}{_name_extra_axis(value.shape, expected.shape)}"
    for axis, size in enumerate(value.shape):
        if size != expected.shape[axis]:
            turned = " (it looks transposed)" if sorted(value.shape) == sorted(expected.shape) else ""
            return f"the result has shape {value.shape}: axis {axis} has the wrong length{turned}"
    if (value.dtype.kind == "b") != (expected.dtype.kind == "b"):
        return "booleans and numbers are mixed up"
    if is_too_coarse(value, expected, atol):
        return SINGLE_PRECISION
    value, expected = value.astype(float), expected.astype(float)
    mine, right = bool(np.isfinite(value).all()), bool(np.isfinite(expected).all())
    if right and not mine:
        return "the result has entries that are not finite (nan or infinity)"
    # np.isclose takes five times as long, and differs only for numbers that are not finite
    same = abs(value - expected) <= atol if mine and right else np.isclose(value, expected, 0, atol, equal_nan=True)
    wrong = ~np.asarray(same)
    if wrong.any():
        index = tuple(int(i) for i in np.argwhere(wrong)[0])
        count = int(wrong.sum())
        which = f"{count} of {wrong.size} values {'is' if count == 1 else 'are'} wrong, first at index {list(index)}"
        which = which if wrong.size > 1 else "the value is wrong"
        if digit := _first_wrong_digit(value, expected, atol) if mine and right else 0:
            number = f"{value[index]:.{digit + 2}g}"
            return f"{which}: yours is {number}, which differs only from about the {digit}th digit on"
        return f"{which}: yours is {value[index]:.6g}"
    return ""


def _first_wrong_digit(value, expected, atol):
    """Return the digit from which finite numbers differ, counted in the largest one, if digits may be lost; else 0."""
    size = np.abs(expected).max(initial=1.0)
    error = abs(value - expected).max()
    return int(-np.log10(error / size)) + 1 if 0 < error < FEW_DIGITS_OFF * size and atol < SINGLE_DIGITS * size else 0


def explain_several(value, expected):
    """Return a sentence if ``value`` is a tuple of several results, one of which may be the ``expected`` array; else ""."""
    return _explain_several(plain_value(value), expected)


def _explain_several(value, expected):
    if not _is_several(value):
        return ""
    shapes = [item.shape for item in value]
    if np.shape(expected) in shapes:
        which = ORDINALS[shapes.index(np.shape(expected))] if len(value) <= len(ORDINALS) else "right"
        return f"it returned {len(value)} things: return the {which} one alone"
    return f"it returned {len(value)} things: return the result alone" if len({*shapes}) > 1 else ""


def _name_extra_axis(shape, expected):
    """Say which axis of ``shape`` is the only one that ``expected`` lacks; "" if it is not clear."""
    without = [axis for axis in range(len(shape)) if shape[:axis] + shape[axis + 1 :] == tuple(expected)]
    short = [axis for axis in without if shape[axis] == 1] or without
    if not short:
        return ""
    return f". Axis {short[-1]}, of length {shape[short[-1]]}, is one too many"


def _count_axes(count):
    return "1 axis" if count == 1 else f"{count} axes"


def is_too_coarse(value, expected, atol):
    """Return whether ``value`` is in single or half precision, and slightly off, although more digits are asked for."""
    size = np.abs(expected).max(initial=1.0)
    is_coarse = value.dtype.kind == "f" and value.dtype.itemsize < 8 and atol < SINGLE_DIGITS * size
    return is_coarse and bool((value != expected).any()) and bool((abs(value - expected) <= COARSE_DIGITS * size).all())


def explain_shape_mismatch(value, expected):
    """Return "" if ``value`` is the shape ``expected``, else a sentence that does not give the answer away."""
    kind = _kind(value)
    value = _to_list(plain_value(value))
    if isinstance(value, int) and not isinstance(value, bool):
        return "a shape is a tuple, even with one axis: write (k,) rather than k"
    if not isinstance(value, (tuple, list)):
        return f"a shape is a tuple of integers; this is {kind}"
    value = [_to_list(size) for size in value]
    if any(not isinstance(size, int) or isinstance(size, bool) or size < 1 for size in value):
        return "a shape contains only positive integers"
    if expected is not None and len(value) != len(expected):
        return f"it has {_count_axes(len(value))}, which is {'too many' if len(value) > len(expected) else 'too few'}"
    wrong = [axis for axis, size in enumerate(value) if expected is not None and size != expected[axis]]
    if wrong and sorted(value) == sorted(expected):
        return "the right sizes in the wrong order: it looks transposed"
    if wrong:
        return f"axis {' and axis '.join(map(str, wrong))} {'have' if len(wrong) > 1 else 'has'} the wrong size"
    return ""


def _to_list(value):
    """Return an array as Python numbers and lists, because a size may be an integer of any type."""
    return value.tolist() if hasattr(value, "tolist") else value


def mismatches(value, expected, kind, atol):
    """Return ``{entry: reason}``, with "" for a right entry; if ``expected`` is not a dict, the only entry is ""."""
    if not isinstance(expected, dict):
        is_shape = kind == "shape"
        return {"": explain_shape_mismatch(value, expected) if is_shape else explain_mismatch(value, expected, atol)}
    if not isinstance(value, Mapping):
        if kind == "code" and _is_several(value):
            return dict.fromkeys(expected, f"it returned {len(value)} things: return the result alone")
        nothing = "it returned nothing" if value is None else f"it returned {_kind(value)}"
        return dict.fromkeys(expected, f"{nothing}, not a dict with the keys {', '.join(expected)}")
    value = plain_value(value)
    return {
        entry: mismatches(value[entry], wanted, kind, atol)[""] if entry in value else missing_entry(value)
        for entry, wanted in expected.items()
    }


def is_right(value, expected, kind, atol):
    if type(value) is type(expected) is np.ndarray and value.dtype == expected.dtype == float:
        if value.shape != expected.shape:
            return False
        if np.isfinite(value).all() and np.isfinite(expected).all():  # as almost always: no reason need be composed
            return bool((abs(value - expected) <= atol).all())
    return not any(mismatches(value, expected, kind, atol).values())


def call_case(function, inputs, gradients=(), last=None):
    """Call ``function`` on copies of ``inputs``; return ``(plain value, changed inputs)``.

    With ``gradients``, the value maps each argument named there to the gradient of the summed result. It is 0 if none arrives:
    a result that consists only of new zeros does not depend on any argument. Without, and with the arguments of the ``last`` call
    in a dict, which is updated, an argument of the same form as the one there is the same object, with other numbers in it if
    they differ, as in a program: what a function keeps from call to call must not depend on which objects it gets. One that the
    function changed is not passed again.
    """
    before = {name: np.asarray(item) for name, item in inputs.items()}
    given = {name: _copy(item) for name, item in inputs.items()}
    if last is not None and not gradients:
        given |= {name: _renew(item, given[name]) for name, item in last.items() if name in given}
        last.clear()
        last.update(given)
    leaves = {name: given[name].requires_grad_(True) for name in gradients}
    # as in a program, where it is computed from parameters: torch refuses to change a leaf in place
    given |= {name: leaf.clone() for name, leaf in leaves.items()}
    value = function(*given.values())
    if gradients and not _is_several(value):
        total = value.sum()
        if not hasattr(total, "requires_grad") or total.requires_grad:
            total.backward()
        value = {name: 0 * leaf.detach() if leaf.grad is None else leaf.grad for name, leaf in leaves.items()}
    changed = [name for name, item in given.items() if _is_changed(item, before[name])]
    for name in changed if last else ():
        last.pop(name, None)
    return plain_value(value), changed


def _is_several(value):
    """Return whether ``value`` is a tuple of several arrays or tensors, such as the context and the weights."""
    return isinstance(value, tuple) and len(value) > 1 and all(getattr(item, "ndim", 0) for item in value)


def _copy(item):
    """Return a copy of the tensor or array ``item``; copy.deepcopy takes ten times as long."""
    if hasattr(item, "clone"):
        return item.clone()
    return item.copy() if isinstance(item, np.ndarray) else copy.deepcopy(item)


def _renew(last, item):
    """Return ``last``, with the numbers of ``item`` in it, if it is an array or tensor of the same form; else ``item``."""
    if type(item) is not type(last) or not hasattr(item, "dtype") or getattr(last, "requires_grad", False):
        return item
    if getattr(last, "grad", None) is not None:
        return item
    one, other = np.asarray(item), np.asarray(last)
    if one.dtype != other.dtype or one.shape != other.shape or one.strides != other.strides:
        return item
    if not (one.flags.writeable and other.flags.writeable):
        return item
    if one.tobytes() != other.tobytes():
        last[...] = item  # as an optimiser changes a parameter
    return last


def _is_changed(item, before):
    now = item.detach().numpy() if hasattr(item, "detach") else np.asarray(item)
    if now.shape == before.shape and now.dtype == before.dtype and now.tobytes() == before.tobytes():
        return False
    return not np.array_equal(before, now, equal_nan=True)


def follow_through(reasons, value, expected, atol, follows):
    """Return ``(reasons, {entry: steps})``, without the reason of an entry that follows from the student's own earlier steps.

    ``follows`` maps an entry of a chain to ``(steps, function)``: the steps that it follows from, and how. A step is not
    carried forward, and earns nothing this way, if it has another shape, is not finite, far too large or too small, constant
    where it should not be (0, for example), or saturated. A step that repeats an earlier one earns nothing this way either.
    """
    sound, carried = {}, {}
    if not isinstance(value, dict):
        return reasons, carried
    for entry, wanted in expected.items():
        with contextlib.suppress(ValueError, KeyError, AttributeError):
            step = read_value(value[entry])
            if step.dtype.kind != "b" and step.shape == np.shape(wanted) and _is_plausible_step(step, wanted, atol):
                sound[entry] = step.astype(float)
    for entry, (steps, function) in follows.items():
        if not reasons[entry] or not all(name in sound for name in (entry, *steps)):
            continue
        before = [sound[name] for name in list(expected)[: list(expected).index(entry)] if name in sound]
        if any(step.shape == sound[entry].shape and not explain_mismatch(step, sound[entry], atol) for step in before):
            continue
        with contextlib.suppress(Exception), np.errstate(all="ignore"):
            wanted = np.asarray(function(*(sound[name] for name in steps)), dtype=float)
            if np.isfinite(wanted).all() and not explain_mismatch(sound[entry], wanted, atol):
                carried[entry] = tuple(steps)
    return {entry: "" if entry in carried else reason for entry, reason in reasons.items()}, carried


def _is_plausible_step(step, wanted, atol):
    """Return whether ``step`` may be carried forward: about as large as ``wanted``, not constant, not saturated.

    An entry is saturated at -1 or 1, the ends of a tanh, or for weights at 0 or 1, if that of ``wanted`` is not there.
    """
    step, wanted = np.asarray(step, dtype=float), np.asarray(wanted, dtype=float)
    size, right = np.abs(step).max(initial=0.0), np.abs(wanted).max(initial=0.0)
    if not max(atol, right / MAX_RATIO) < size < MAX_RATIO * max(atol, right):  # nor is nan
        return False
    if np.ptp(wanted) > atol / 2 and np.ptp(step) <= max(atol / 2, np.ptp(wanted) / MAX_RATIO**2):
        return False  # rounded thirds still count as constant
    are_weights = wanted.min() > 0 and abs(wanted.sum() - 1) <= wanted.size * atol
    ends = (0, 1) if are_weights else (-1, 1) if right < 1 else ()
    return not any(((abs(step - end) <= 2 * atol) & (abs(wanted - end) > 2 * atol)).any() for end in ends)


def total_points(results, parts):
    """Add up the points of every part that is right in all its cases.

    ``results`` is a list of ``(part, also, {entry: reason})``; if the part is "", each entry is a part of its own. A case may
    also involve the parts in ``also``: if it fails, and one of those fails without it, only that one is to blame.
    """
    wrong, right = set(), set()
    for part, also, entries in sorted(results, key=lambda result: len(result[1])):
        for name in [part] if part else entries:
            failed = any(entries.values()) if part else bool(entries[name])
            (wrong if failed and not wrong & {*also} else right).add(name)
    earned = sum(points for part, points in parts.items() if part in right - wrong)
    return float(round(earned, 6))  # 0.1 + 0.2 must not exceed 0.3


def coarse_tolerance(expected, atol):
    """Return the tolerance of all parts but "precision" for numbers that are ``expected`` within ``atol``."""
    entries = expected.values() if isinstance(expected, dict) else [expected]
    return max([atol, *(ROUGHLY * np.abs(np.asarray(entry, dtype=float)).max(initial=1.0) for entry in entries)])


def results_of(part, also, coarse, exact, parts):
    """Return the results of a case for ``total_points``: that for its own part, and that for "precision" if it is one of ``parts``.

    ``coarse`` and ``exact`` are ``{entry: reason}``, with the tolerance of each. For "precision" the first part must be right;
    other parts that are wrong do not count against it.
    """
    if PRECISION not in parts:
        return [(part, also, exact)]
    return [(part, also, coarse), (PRECISION, () if part == next(iter(parts)) else (part, *also), exact)]


def score(function, kind, cases, parts, convert=None, follows=None):
    """Return the points that ``function`` earns on ``cases``. The hidden test cells end with this number.

    Many cases come as one text, zlib-compressed JSON in base64: nbgrader would take twice as long again to read and highlight
    them as literals. ``follows`` says how each step of a chain follows from earlier ones: see ``follow_through``.
    """
    if isinstance(cases, str):
        cases = json.loads(zlib.decompress(base64.b64decode(cases)))
    results, last = [], {}
    for case in cases:
        inputs, expected = case_inputs(case, convert), case["expected"]
        try:
            value, _ = call_case(function, inputs, case.get("gradients", ()), last)
            exact = mismatches(value, expected, kind, case["atol"])
            coarse = exact
            if PRECISION in parts and any(exact.values()):
                coarse = mismatches(value, expected, kind, coarse_tolerance(expected, case["atol"]))
            if follows:
                exact, _ = follow_through(exact, value, expected, case["atol"], follows)
        except Exception as error:
            wanted = expected if isinstance(expected, dict) else {"": None}
            coarse = exact = dict.fromkeys(wanted, f"it raised {type(error).__name__}")
        results += results_of(case["part"], case.get("also", ()), coarse, exact, parts)
    return total_points(results, parts)


def full_sentence(text):
    """Return ``text`` with a capital first and a full stop last, unless it ends with ? or ! already."""
    return text[:1].upper() + with_full_stop(text[1:])


def with_full_stop(text):
    return text if text[-1:] in (".", "?", "!") else f"{text}."


def differs(first, second):
    """Return whether two results for the same input differ; False if one of them cannot be read as numbers."""
    try:
        first, second = read_value(first), read_value(second)
    except (TypeError, ValueError, OverflowError):
        return False
    if isinstance(first, dict) or isinstance(second, dict):
        if not (isinstance(first, dict) and isinstance(second, dict) and set(first) == set(second)):
            return True
        return any(differs(first[name], second[name]) for name in first)
    return first.shape != second.shape or not np.allclose(first, second, rtol=1e-6, atol=1e-12, equal_nan=True)


def _kind(value):
    """Return the name of the type of ``value``; a value from the sandbox may state the type that it had there."""
    return getattr(value, "kind", type(value).__name__)


def missing_entry(value):
    return f"this key is missing; your keys are {', '.join(str(key)[:40] for key in list(value)[:9])}"


def case_inputs(case, convert):
    convert = convert or (lambda array: array)
    inputs = case.get("inputs", {})
    return {name: convert(np.array(item)) if isinstance(item, list) else item for name, item in inputs.items()}
