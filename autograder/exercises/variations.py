"""The variations of a reference: the same formula with one thing done otherwise, each with the clause that says what.

In: an exercise. Out: ``Variation`` objects, and what each gives on a hidden case. Runs references, never what a student wrote;
touches nothing else. What has once been worked out is kept with the exercise.
"""

import itertools
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary, proxy

import numpy as np

from autograder.exercises import operations, turns
from autograder.exercises.loading import outcome_of
from autograder.exercises.model import Exercise, Outcome
from autograder.exercises.modules import module
from autograder.exercises.softmax_steps import of_softmax, values_met
from autograder.exercises.tracing import Traced
from autograder.exercises.turns import Known, Way
from autograder.exercises.variation import (
    ALONG,
    SAID,
    SCALED,
    SENTENCES,
    Variation,
    at,
    at_all,
    said_of,
    worded,
)
from solutions.answer_key import AnswerKeyError
from solutions.answer_key.records import letters_of

TORCH = 2  # times as much work is a site in torch
GRADIENTS = 3  # and a call whose gradients are taken


class Variations:
    """All variations of one exercise. ``outcome(number, n)`` is what the variation gives on the hidden case n."""

    def __init__(self, exercise: Exercise):
        self._exercise, self._cases = proxy(exercise), exercise.hidden  # weak, so that both can go
        self._known: dict[tuple[int, int], Outcome | None] = {}
        self._sizes_known: dict[int, dict[str, int]] = {}

    @cached_property
    def _traced(self):
        entry = self._exercise.entry
        return Traced(self._exercise.source, vars(module(f"solutions.{entry.module}.{entry.topic}")))

    @cached_property
    def all(self) -> tuple[Variation, ...]:
        """Every variation, the plainest first; none of a reference that stands elsewhere than in ``solutions``."""
        try:
            traced = self._traced
        except AnswerKeyError:
            return ()
        with np.errstate(all="ignore"):
            return tuple(sorted(_variations(self._exercise, traced), key=lambda one: one.rank))

    def outcome(self, number: int, place: int) -> Outcome | None:
        """Return what the variation ``number`` of ``all`` gives on the hidden case ``place``; None where it is as right."""
        if (number, place) not in self._known:
            self._known[number, place] = self._worked_out(self.all[number], place)
        return self._known[number, place]

    def work(self, place: int) -> int:
        """Return how much work one variation is on the hidden case ``place``: the same on every machine, known or not.

        A unit is a site of the reference, in numpy about 3 microseconds of CPU.
        """
        price = (TORCH if self._exercise.in_torch else 1) * (GRADIENTS if self._cases[place].gradients else 1)
        return price * len(self._traced.sites)

    def _sizes(self, place):
        if place not in self._sizes_known:
            self._sizes_known[place] = sizes_of(self._exercise, self._cases[place].inputs)
        return self._sizes_known[place]

    def _worked_out(self, variation, place):
        case = self._cases[place]
        inputs = case.inputs
        if variation.earlier:
            inputs = _with_earlier(self._exercise, self._cases, place, variation)
            if inputs is None:
                return None
        sizes, met = self._sizes(place), []

        def function(*given):
            named = dict(zip(inputs, given, strict=True))
            masks = [item for item in given if turns.is_mask(item)]
            changes = variation.changes(Known(named, sizes, masks[0] if masks else None))
            met.append(bool(changes) or bool(variation.earlier))
            return self._traced.run(named, changes) if met[-1] else None

        outcome = outcome_of(self._exercise, function, inputs, case.gradients)
        return outcome if met == [True] else None


_KEPT: "WeakKeyDictionary[Exercise, Variations]" = WeakKeyDictionary()


def variations_of(exercise: Exercise) -> Variations:
    """Return the ``Variations`` of ``exercise``, one and the same each time it is asked for."""
    if exercise not in _KEPT:
        _KEPT[exercise] = Variations(exercise)
    return _KEPT[exercise]


def sizes_of(exercise: Exercise, inputs: Mapping[str, Any]) -> dict[str, int]:
    """Return the size of each letter that stands alone on an axis of an argument, as it is in ``inputs``."""
    sizes = {}
    for name, argument in exercise.entry.arguments.items():
        if name in inputs:
            for axis, size in zip(argument.axes, np.shape(inputs[name]), strict=False):
                if isinstance(axis, str) and letters_of(axis) == [axis]:
                    sizes.setdefault(axis, size)
    return sizes


def _with_earlier(exercise, cases, place, variation):
    """Return the inputs of a case with what comes ``earlier`` from the first case of the same shapes, None if it is that one."""
    inputs, names = cases[place].inputs, variation.earlier
    if not all(name in inputs for name in names) or len(exercise.entry.arguments) < 2:
        return None
    shapes = {name: np.shape(inputs[name]) for name in names}
    for case in cases[:place]:
        if all(name in case.inputs and np.shape(case.inputs[name]) == shape for name, shape in shapes.items()):
            return {**inputs, **{name: case.inputs[name] for name in (names if variation.both else names[:1])}}
    return None


def _variations(exercise, traced) -> Iterator[Variation]:
    sites = traced.sites
    letters = list(dict.fromkeys(letter for a in exercise.entry.arguments.values() for letter in a.letters))
    text = f"{exercise.source.split('BEGIN SOLUTION')[0]} {' '.join(exercise.entry.arguments)}"
    of_case = next((c for c in exercise.hidden if not c.gradients), exercise.hidden[0])
    for site in sites:
        if site.kind == "argument":
            yield from _of_argument(site, exercise, sites)
    yield from _of_several(exercise, {site.name: site for site in sites if site.kind == "argument"})
    yield from _of_results(sites, letters, exercise)
    if exercise.kind == "code":
        yield from of_softmax(exercise, traced)
    if exercise.kind == "number":
        steps = [site for site in sites if site.kind == "value" and not site.name.startswith("W_")]
        for way in turns.EVERYWHERE:
            if way.clause == turns.ROUNDED:
                yield at_all(steps, way, "all steps", 6)
    traced_values = values_met(exercise, traced, of_case)
    for site in sites:
        said = said_of(site, text)
        if site.kind == "value" and said and site.number in traced_values:
            yield from _of_value(site, said, letters, traced_values[site.number], exercise, sites)
        elif site.kind == "use":
            yield from operations.of_use(site, sites, text, exercise)
        elif site.kind in ("number", "index"):
            yield from operations.of_number(site, text, exercise)
        elif site.kind == "operation":
            yield from operations.of_operation(site, text, exercise)
        elif site.kind == "call":
            yield from operations.of_call(site)
            yield from operations.of_terms(site, sites)


def _of_argument(site, exercise, sites):
    argument = exercise.entry.arguments.get(site.name)
    if argument is None:
        return
    if argument.kind == "mask":
        for way in turns.MASKS:
            yield at(site, way, site.name, 0)
        yield from _zeroed_at_pads(site, exercise, sites)
    for axis, letter in enumerate(argument.axes):
        if isinstance(letter, str):
            words = ALONG.get(letter, (f"entry along {letter}", f"entries along {letter}"))
            for way in turns.of_rows(axis, letter, *words):
                yield at(site, way, site.name, 0 if letter in ALONG else 1)
    for one, other in itertools.combinations(range(len(argument.axes)), 2):
        if argument.axes[one] == argument.axes[other]:
            continue  # as good as transposed
        for way in turns.of_axes(one, other, (str(argument.axes[one]), str(argument.axes[other]))):
            yield at(site, way, site.name, 1)
    if argument.kind != "mask":
        for way in (*turns.EVERYWHERE, *turns.CUT, *turns.FLOORED):
            yield at(site, way, site.name, 1)
        zeroed = Way("{it} {is} set to 0 at pads, which then take part", turns.without_pads)
        yield at(site, zeroed, site.name, 1)
        for way in turns.COUNTED:
            yield at(site, way, site.name, 1)
    for other, like in exercise.entry.arguments.items():
        if other != site.name and len(like.axes) == len(argument.axes) and like.kind == argument.kind:
            yield _in_place(site, other)
    yield Variation(_kept_from(site.name), 0, earlier=(site.name,))
    yield Variation(
        _kept_from(site.name), 0, earlier=(site.name, *(n for n in exercise.entry.arguments if n != site.name))
    )
    if argument.kind != "parameter":
        for other, like in exercise.entry.arguments.items():
            if like.kind == "parameter":
                clause = _kept_from(f"what is worked out from {site.name} and {other}")
                yield Variation(clause, 0, earlier=(site.name, other), both=True)


def _kept_from(name):
    return f"{name} of an earlier call with the same sizes is used again: something is kept between calls"


def _zeroed_at_pads(mask, exercise, sites):
    """Yield that an argument is set to 0 at pads, and the mask forgotten."""
    for site in sites:
        if site.kind != "argument" or site.name == mask.name:
            continue

        def changes(known, site=site):
            value = turns.without_pads(known.inputs.get(site.name), known)
            if value is None:
                return {}
            return {site.number: lambda _: value, mask.number: lambda real: real | ~real}

        clause = "{it} {is} set to 0 at pads, and these still take part in the sum"
        yield Variation(worded(clause, site.name), 0, changes)


def _of_several(exercise, places):
    """Yield what happens to several arguments alike, or between two of them."""
    arguments = {name: argument for name, argument in exercise.entry.arguments.items() if name in places}
    for axes in dict.fromkeys(argument.axes for argument in arguments.values()):
        names = [name for name, argument in arguments.items() if argument.axes == axes]
        if len(names) < 2 or len(axes) < 2 or arguments[names[0]].kind == "parameter":
            continue
        for way in turns.of_axes(0, 1, (str(axes[0]), str(axes[1]))):
            yield at_all([places[name] for name in names], way, " and ".join(names), 1)
    matrices = [name for name, a in arguments.items() if a.kind == "parameter" and len(a.axes) == 2]
    for one, other in itertools.combinations(matrices, 2):
        if arguments[one].axes[0] == arguments[other].axes[0]:
            yield _joined_otherwise(places[one], places[other])


def _joined_otherwise(one, other):
    """Return that two matrices are joined in one order, and what they multiply in the other."""

    def changes(known):
        first, second = known.inputs[one.name], known.inputs[other.name]
        whole = turns.joined(first, second)
        width = second.shape[1]
        return {one.number: lambda _: whole[:, width:], other.number: lambda _: whole[:, :width]}

    clause = f"{one.name} and {other.name} are joined in one order, and what they multiply in the other"
    return Variation(clause, 1, changes)


def _in_place(site, other):
    def changes(known):
        value, given = known.inputs.get(site.name), known.inputs.get(other)
        if value is None or given is None or tuple(value.shape) != tuple(given.shape):
            return {}
        return {site.number: lambda _: given}

    clause = f"{{it}} {{stands}} in place of {site.name} where both have the same sizes"
    return Variation(worded(clause, other), 1, changes)


def _of_results(sites, letters, exercise):
    for site in [site for site in sites if site.kind == "result"]:
        said = SAID.get(site.name) or site.name
        for letter in letters:
            for way in turns.scaled(letter):
                yield at(site, way, said, 2)
        for way in turns.of_rows(0, SENTENCES, *ALONG[SENTENCES]):
            yield at(site, way, said, 2)
        for axis in (1, 2):
            for way in turns.of_rows(axis, "", f"entry along axis {axis}", f"entries along axis {axis}"):
                yield at(site, way, said, 3)
        for one, other in ((0, 1), (1, 2)):
            for way in turns.of_axes(one, other, (str(one), str(other))):
                yield at(site, way, said, 3)
        for way in (*turns.EVERYWHERE[1:], *turns.HELD, *turns.SORTED):
            yield at(site, way, said, 2)
        yield at(site, Way("{it} {is} set to 0 at pads", turns.without_pads), said, 2)
        for name in exercise.entry.arguments:
            clause = f"a 0 in {name} is taken for a pad, and what belongs to it becomes 0"
            yield at(site, Way(clause, turns.without_zeros(name)), said, 2)


def _of_value(site, said, letters, value, exercise, sites):
    if not turns.is_array(value) and not isinstance(value, float):
        return
    for letter in letters if site.name in SCALED else ():
        for way in turns.scaled(letter):
            yield at(site, way, said, 4)
    axes = len(getattr(value, "shape", ()))
    for axis in range(axes if exercise.kind == "code" else 0):
        letter = SENTENCES if axis == 0 else ""
        words = ALONG.get(letter, (f"entry along axis {axis}", f"entries along axis {axis}"))
        for way in turns.of_rows(axis, letter, *words):
            yield at(site, way, said, 4)
    for one, other in itertools.combinations(range(axes), 2):
        for way in turns.of_axes(one, other, (str(one), str(other))):
            yield at(site, way, said, 5)
    for way in (*turns.EVERYWHERE, *turns.HELD, *turns.CUT):
        yield at(site, way, said, 4)
    if exercise.kind == "number":
        for way in turns.SORTED:
            yield at(site, way, said, 4)
        yield from _single_signs(site, said, value)
    yield at(site, Way("{it} {is} set to 0 at pads", turns.without_pads), said, 4)
    if site.name in ("update", "reset"):
        gates = [one for one in sites if one.kind == "value" and one.name in ("update", "reset")]
        for way in STRAIGHT:
            yield at(site, way, said, 4)
            yield at_all(gates, way, "the gates", 4)


def _straight(slope, width):
    def turn(value, known):
        if not turns.is_real(value):
            return None
        logit = np.log(value / (1 - value))
        return np.clip(0.5 + slope * logit, 0.0, width)

    return turn


STRAIGHT = tuple(
    Way("{it} {comes} from a straight line, not from the logistic function", _straight(s, 1.0))
    for s in (0.2, 0.25, 1 / 6)
)


def _single_signs(site, said, value):
    """Yield the loss of one minus sign."""
    array = np.asarray(value) if turns.is_array(value) else None
    if array is None or array.dtype.kind != "f":
        return
    for index in np.ndindex(array.shape):
        if array[index] != 0:

            def turn(value, known, index=index):
                turned = np.array(value)
                turned[index] = -turned[index]
                return turned

            clause = "a minus sign is lost in {it}" if array[index] < 0 else "a sign is turned round in {it}"
            yield at(site, Way(clause, turn), said, 5)
