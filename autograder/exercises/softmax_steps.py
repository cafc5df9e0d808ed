"""Find the step of a reference that is a softmax, by its values, and yield the wrong ways of taking it.

In: an exercise, its reference taken apart. Out: ``Variation`` objects. Runs the reference; touches nothing else.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from autograder.exercises import stages, turns
from autograder.exercises.model import Case, Exercise, convert
from autograder.exercises.tracing import Traced
from autograder.exercises.variation import SAID, STAGE, Variation, at


def values_met(exercise: Exercise, traced: Traced, case: Case) -> dict[int, Any]:
    """Return what stands at each site on one call, for those whose turns depend on it."""
    turn = convert(exercise)
    try:
        with np.errstate(all="ignore"):
            traced.run({name: turn(item) for name, item in case.inputs.items()}, {})
    except Exception:
        return {}
    return dict(traced.seen)


def of_softmax(exercise: Exercise, traced: Traced) -> Iterator[Variation]:
    """Yield the wrong ways of taking a softmax, where the exercise has a step that is one."""
    found = _stage_of(exercise, traced)
    if found is None:
        return
    scores, mask, weights, logarithms = found
    taken = traced.sites[scores]
    said = "the numbers that the softmax is taken of" if taken.kind == "operation" else SAID.get(taken.name, taken.name)
    for slip in stages.log_slips() if logarithms else stages.slips():
        if slip.masks and mask is None:
            continue
        weigh = stages.in_torch(slip.weigh)

        def changes(known, weigh=weigh):
            def at(*given, **named):
                real = traced.seen.get(mask) if mask is not None else None
                return weigh(traced.seen[scores], real)

            return {weights: at}

        yield Variation(slip.clause.format(it=said), STAGE, changes, slip.rare)
    if mask is not None and traced.sites[mask].kind != "argument":
        for way in turns.MASKS:
            yield at(traced.sites[mask], way, "the mask", 3)


def _stage_of(exercise, traced):
    """Return the numbers of the sites of scores, mask (or None) and weights, and whether these are logarithms; or None."""
    fitting: set | None = None
    for case in _telling(exercise):
        seen = values_met(exercise, traced, case)
        here = set(_steps(traced.sites, seen))
        fitting = here if fitting is None else fitting & here or fitting
    if not fitting:
        return None
    logarithms = any(found[3] for found in fitting)
    alike = [found for found in fitting if found[3] == logarithms]
    with_mask = [found for found in alike if found[1] is not None] or alike
    first = min((found[0] for found in with_mask), key=lambda n: (traced.sites[n].kind == "operation", n))
    mask, weights = max(
        (found[1] if found[1] is not None else -1, found[2]) for found in with_mask if found[0] == first
    )
    return first, None if mask < 0 else mask, weights, logarithms


def _telling(exercise):
    """Return calls on which a softmax can be told from all else: several positions, pads where there may be some."""
    quiet = [case for case in exercise.hidden if not case.gradients]
    masks = [name for name, argument in exercise.entry.arguments.items() if argument.kind == "mask"]
    padded = [c for c in quiet if any(n in c.inputs and not c.inputs[n].all() for n in masks)]
    wide = [case for case in (padded or quiet) if all(min(np.shape(x), default=2) > 1 for x in case.inputs.values())]
    return [case for case in wide if any(np.ndim(item) > 1 for item in case.inputs.values())][:3]


def _steps(sites, seen):
    """Yield ``(scores, mask, weights, logarithms)`` of all that is a softmax among the values ``seen``."""
    values = {s.number: _plain(seen[s.number]) for s in sites if s.number in seen}
    values = {number: value for number, value in values.items() if value is not None}
    scores = [s.number for s in sites if s.kind in ("argument", "value", "operation") and s.number in values]
    masks = [None, *(n for n in scores if values[n].dtype.kind == "b" and sites[n].kind != "operation")]
    wanted = [s.number for s in sites if s.kind in ("operation", "call", "value", "result") and s.number in values]
    soft = stages.in_torch(stages.right)
    for one in scores:
        if values[one].dtype.kind != "f" or values[one].ndim < 2 or not np.isfinite(values[one]).all():
            continue
        for mask in masks:
            try:
                weights = soft(values[one], None if mask is None else values[mask])
            except (RuntimeError, ValueError):
                continue
            if weights.shape != values[one].shape:
                continue
            for other in wanted:
                if other != one and values[other].shape == weights.shape and values[other].dtype.kind == "f":
                    if np.allclose(values[other], weights, rtol=0, atol=1e-9):
                        yield one, mask, other, False
                    elif np.allclose(values[other], values[one]):
                        continue  # logarithms of weights are their own
                    elif mask is None and np.allclose(np.exp(values[other]), weights, rtol=0, atol=1e-9):
                        yield one, mask, other, True


def _plain(value):
    if turns.is_tensor(value):
        value = value.detach().numpy()
    return value if isinstance(value, np.ndarray) and value.ndim else None
