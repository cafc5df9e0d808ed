"""Find the step of a reference that is a softmax by the values that it takes.

In: an exercise, its instrumented reference. Out: a ``SoftmaxStep``, or None. Runs the reference; touches nothing else.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from autograder.exercises import perturbations
from autograder.exercises.instrumentation import InstrumentedFunction
from autograder.exercises.model import Case, Exercise, convert
from autograder.exercises.softmax_bugs import for_arrays, reference_softmax

MAX_CASES = 3  # that are looked at
TOLERANCE = 1e-9


@dataclass(frozen=True)
class SoftmaxStep:
    """The numbers of the nodes of the scores, of the mask, if there is one, and of the weights, or their ``logarithms``."""

    scores: int
    mask: int | None
    weights: int
    logarithms: bool = False


def values_seen(exercise: Exercise, function: InstrumentedFunction, case: Case) -> dict[int, Any]:
    """Return the values that the nodes of ``function`` take on one call, or nothing if it raises."""
    turn, seen = convert(exercise), {}
    try:
        with np.errstate(all="ignore"):
            function.run({name: turn(item) for name, item in case.inputs.items()}, {}, seen)
    except Exception:
        return {}
    return seen


def find_softmax(exercise: Exercise, function: InstrumentedFunction) -> SoftmaxStep | None:
    """Return the step that is a softmax in each of a few cases that can tell: the first one, with a mask if there is one."""
    fitting: set[SoftmaxStep] = set()
    for case in _telling_cases(exercise):
        here = set(_softmax_steps(function.nodes, values_seen(exercise, function, case)))
        fitting = fitting & here or fitting or here
    if not fitting:
        return None
    logarithms = any(step.logarithms for step in fitting)
    steps = [step for step in fitting if step.logarithms == logarithms]
    steps = [step for step in steps if step.mask is not None] or steps
    first = min((step.scores for step in steps), key=lambda n: (function.nodes[n].kind == "operation", n))

    def is_last(step):
        is_whole = function.nodes[step.weights].kind in ("value", "result")
        return -1 if step.mask is None else step.mask, is_whole, step.weights

    return max((step for step in steps if step.scores == first), key=is_last)


def _telling_cases(exercise):
    """Return calls on which a softmax can be told from all else: several positions, pads where there may be some."""
    without_gradients = [case for case in exercise.hidden if not case.gradients]
    masks = [name for name, argument in exercise.entry.arguments.items() if argument.kind == "mask"]
    padded = [case for case in without_gradients if any(n in case.inputs and not case.inputs[n].all() for n in masks)]
    wide = [
        case
        for case in padded or without_gradients
        if all(min(np.shape(item), default=2) > 1 for item in case.inputs.values())
    ]
    return [case for case in wide if any(np.ndim(item) > 1 for item in case.inputs.values())][:MAX_CASES]


def _softmax_steps(nodes, seen) -> Iterator[SoftmaxStep]:
    """Yield all that is a softmax among the values ``seen``."""
    arrays: dict[int, Any] = {node.number: _array(seen.get(node.number)) for node in nodes}
    nodes = [node for node in nodes if arrays[node.number] is not None]
    inputs = [node for node in nodes if node.kind in ("argument", "value", "operation")]
    masks = [node.number for node in inputs if node.kind != "operation" and arrays[node.number].dtype.kind == "b"]
    outputs = [node.number for node in nodes if node.kind not in ("argument", "use")]
    outputs = {number: arrays[number] for number in outputs if arrays[number].dtype.kind == "f"}
    for scores in [node.number for node in inputs if _may_be_scores(arrays[node.number])]:
        for mask in (None, *masks):
            found = _outputs_like(arrays[scores], None if mask is None else arrays[mask], outputs)
            yield from (SoftmaxStep(scores, mask, output, logs) for output, logs in found if output != scores)


def _may_be_scores(array):
    return array.dtype.kind == "f" and array.ndim > 1 and np.isfinite(array).all()


def _outputs_like(scores, mask, outputs):
    """Yield ``(number, whether it is the logarithm)`` of each output that is the softmax of ``scores``."""
    try:
        weights = for_arrays(reference_softmax)(scores, mask)
    except (RuntimeError, ValueError):
        return  # the mask does not fit
    for number, output in outputs.items():
        if _is_close(output, weights):
            yield number, False
        elif mask is None and not _is_close(output, scores) and _is_close(np.exp(output), weights):
            yield number, True  # logarithms of weights are their own


def _is_close(one, other):
    return one.shape == other.shape and np.allclose(one, other, rtol=0, atol=TOLERANCE)


def _array(value):
    if perturbations.is_tensor(value):
        value = value.detach().numpy()
    return value if isinstance(value, np.ndarray) and value.ndim else None
