"""What can be done otherwise within an expression: a name read, a number, an operation, a function called.

In: a site of a reference. Out: ``Variation`` objects. Touches nothing.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from autograder.exercises import turns
from autograder.exercises.model import Exercise
from autograder.exercises.tracing import Site
from autograder.exercises.variation import SAID, Variation, at, listing, named, said_of, worded


def of_use(site: Site, sites: Sequence[Site], text: str, exercise: Exercise) -> Iterator[Variation]:
    where = said_of(site, text) or "the result"
    name = named(site.name, text) or ("one of the given numbers" if exercise.kind == "number" else "")
    if not name:
        return
    tanh = next(
        (other for other in sites if other.kind == "call" and other.name == "tanh" and other.inside == site.name), None
    )
    if tanh is not None:
        yield _before_tanh(
            site,
            tanh,
            f"{name} {{is}} carried on{'' if site.name == site.inside else f' to {where}'} as it is before its tanh",
            name,
        )
    if sum(other.kind == "use" and other.name == site.name for other in sites) < 2:
        return  # as good as the variable itself
    it = f"{name}, as it is carried on," if site.name == site.inside else f"{name}, on the way to {where},"
    for way in (*turns.EVERYWHERE, *turns.HELD):
        yield at(site, way, it, 6)


def _before_tanh(use, tanh, clause, name):
    """Return that a value is carried on as it is before its tanh."""

    def changes(known):
        before = {}

        def at_tanh(function, value):
            before["value"] = value
            return function(value)

        return {tanh.number: at_tanh, use.number: lambda value: before.get("value", value)}

    return Variation(worded(clause, name), 5, changes)


def of_number(site: Site, text: str, exercise: Exercise) -> Iterator[Variation]:
    where = named(site.inside, text) if site.inside else "what is returned"
    where = where or ("a step" if exercise.kind == "number" else "")
    if not where:
        return

    def changes(turn):
        return lambda known: {site.number: turn}

    if site.kind == "index":
        clause = f"another entry is taken where {where} is worked out: an index is off by one, as if counted from 1"
        for by in (1, -1):
            yield Variation(clause, 7, changes(lambda value, by=by: value + by))
    elif exercise.kind == "number":
        yield Variation(
            f"a sign is lost or turned round among the numbers of {where}", 7, changes(lambda value: -value)
        )
        yield Variation(f"one of the numbers of {where} is left out", 8, changes(lambda value: 0 * value))
        yield Variation(f"one of the numbers of {where} counts twice", 8, changes(lambda value: 2 * value))
        clause = f"one of the zeros among the numbers of {where} counts as 1, as if what it rules out took part"
        yield Variation(clause, 8, changes(lambda value: value if value else 1))


def of_operation(site: Site, text: str, exercise: Exercise) -> Iterator[Variation]:
    left, right = (listing(names, text) for names in site.names)

    def changes(turn):
        return lambda known: {site.number: lambda function, one, other: turn(one, other)}

    if site.name in ("Add", "Sub"):
        if right:
            yield Variation(f"the term with {right} is missing", 5, changes(lambda one, other: one + 0 * other))
            sign = "subtracted, not added" if site.name == "Add" else "added, not subtracted"
            turned = (lambda one, other: one - other) if site.name == "Add" else (lambda one, other: one + other)
            yield Variation(f"the term with {right} is {sign}", 5, changes(turned))
        if left:
            term = (lambda one, other: other + 0 * one) if site.name == "Add" else (lambda one, other: 0 * one - other)
            yield Variation(f"the term with {left} is missing", 5, changes(term))
        yield Variation(
            f"the product is taken of {left or 'two terms'} and {right or 'another'}, not the sum",
            6,
            changes(lambda one, other: one * other),
        )
    elif site.name == "Mult" and right and left:
        yield Variation(f"{left} is not multiplied by {right}", 5, changes(lambda one, other: one + 0 * other))
        yield Variation(f"{right} is not multiplied by {left}", 5, changes(lambda one, other: other + 0 * one))
        yield Variation(f"{left} is added to {right}, not multiplied by it", 5, changes(lambda one, other: one + other))
    elif site.name == "Div":
        yield Variation(
            f"{left or 'the result'} is not divided by {right or 'its divisor'}",
            5,
            changes(lambda one, other: one + 0 * other),
        )
        if exercise.kind == "code":
            yield Variation(
                "a division of whole numbers leaves no fraction", 5, changes(lambda one, other: one // other)
            )
        yield Variation(
            f"{left or 'the result'} is multiplied by {right or 'its divisor'}, not divided",
            5,
            changes(lambda one, other: one * other),
        )
    elif site.name == "MatMult":
        for decimals in turns.DECIMALS if exercise.kind == "number" else ():
            for cut in (True, False):
                rounding = changes(lambda one, other, n=decimals, cut=cut: turns.rounded_products(one, other, n, cut))
                yield Variation("each product is rounded or cut before the products are added", 6, rounding)

        def turned(one, other):
            return one @ turns.swapped(other, -1, -2) if len(np.shape(other)) > 1 else one @ other

        yield Variation(
            f"{right or 'the matrix'} is transposed where the two sizes are equal, as when the sizes decide whether to transpose",
            6,
            changes(turned),
        )


def of_call(site: Site) -> Iterator[Variation]:
    def changes(turn):
        return lambda known: {site.number: turn}

    where = SAID.get(site.inside, "")
    where = f" on the way to {where}" if where and site.inside else ""
    for clause, turn in REPLACED.get(site.name, ()):
        yield Variation(clause.format(where=where), 5, changes(turn))
    for axis in (0, 1, 2) if site.name in ("sum", "mean", "softmax", "log_softmax", "max", "argmax") else ():
        clause = f"the {SAID_CALLS.get(site.name, site.name)}{where} is taken along another axis"
        yield Variation(clause, 6, changes(_along(axis)))


def of_terms(site: Site, sites: Sequence[Site]) -> Iterator[Variation]:
    """Yield that a function is taken of each term of a sum by itself."""
    term = sites[site.number + 1] if site.number + 1 < len(sites) else site
    if site.name not in ("tanh", "exp", "log") or (term.kind, term.name) != ("operation", "Add"):
        return

    def changes(known):
        at = {}
        at[site.number] = lambda function, value: value
        at[term.number] = lambda add, one, other: add(turns.function(site.name, one), turns.function(site.name, other))
        return at

    yield Variation(
        f"{SAID_CALLS.get(site.name, site.name)} is taken of two terms by themselves, and not of their sum", 6, changes
    )


SAID_CALLS = {
    "tanh": "a tanh",
    "exp": "an exponential",
    "log": "a logarithm",
    "max": "largest",
    "argmax": "place of the largest",
    "log_softmax": "softmax",
}


def _along(axis):
    def turn(function, *given, **named):
        for word in ("axis", "dim"):
            if word in named:
                named = {**named, word: axis}
        return function(*given, **named)

    return turn


def _first(function, *given, **named):
    return given[0]


def _other(name):
    """Return a call of the function or method ``name`` with the same arguments."""

    def turn(function, *given, **named):
        owner = getattr(function, "__self__", None)
        if owner is not None and turns.is_array(owner):
            return getattr(owner, name)(*given, **named)
        import torch

        return getattr(torch if given and turns.is_tensor(given[0]) else np, name)(*given, **named)

    return turn


def _of_first(change):
    return lambda function, *given, **named: change(given[0])


def _softplus(x):
    return turns.function("log1p", turns.function("exp", -abs(x))) + turns.clipped(x, 0.0, None)


def _logistic(x):
    return 1 / (1 + turns.function("exp", -x))


def _backwards(function, *given, **named):
    return function(list(given[0])[::-1], *given[1:], **named)


def _leaky(slope):
    return _of_first(lambda x: turns.where(x > 0, x, slope * x))


_RELU = (
    *(
        ("what is negative is not cut off entirely, but made small", _leaky(slope))
        for slope in (0.01, 0.05, 0.1, 0.2, 0.3)
    ),
    ("a smooth softplus stands where the ReLU belongs: it is not 0 where its input is negative", _of_first(_softplus)),
    ("the ReLU is missing", _first),
    ("the sign is dropped where the ReLU belongs, so that what is negative counts too", _of_first(abs)),
    ("a tanh stands where the ReLU belongs", _of_first(lambda x: turns.function("tanh", x))),
    ("a logistic function stands where the ReLU belongs", _of_first(_logistic)),
    ("the ReLU stops at a bound above, too", _of_first(lambda x: turns.clipped(x, 0.0, 1.0))),
    ("the ReLU stops at a bound above, too", _of_first(lambda x: turns.clipped(x, 0.0, 6.0))),
)


REPLACED: Mapping[str, tuple[tuple[str, Any], ...]] = {
    "tanh": (
        ("a tanh{where} is missing", _first),
        ("a logistic function stands in place of a tanh{where}", _of_first(_logistic)),
        ("a ReLU stands in place of a tanh{where}", _of_first(lambda x: turns.clipped(x, 0.0, None))),
        (
            "values{where} are cut off at -1 and 1 where a tanh belongs",
            _of_first(lambda x: turns.clipped(x, -1.0, 1.0)),
        ),
    ),
    "exp": (
        ("an exponential{where} is missing", _first),
        ("powers of 2 are taken{where}, not of e", _of_first(lambda x: turns.function("exp2", x))),
    ),
    "log": (
        ("a logarithm{where} is missing", _first),
        ("the logarithm{where} is the one to base 2", _of_first(lambda x: np.log2(x))),
        ("the logarithm{where} is the one to base 10", _of_first(lambda x: np.log10(x))),
    ),
    "sqrt": (
        ("a root{where} is missing", _first),
        ("a root{where} is cut off to a whole number", lambda function, *given, **named: np.floor(function(*given))),
        ("a root{where} is rounded up to a whole number", lambda function, *given, **named: np.ceil(function(*given))),
        ("a root{where} is rounded to a whole number", lambda function, *given, **named: np.round(function(*given))),
    ),
    "sum": (
        ("a mean stands in place of a sum{where}", _other("mean")),
        ("the largest is taken in place of a sum{where}", _other("max")),
    ),
    "mean": (("a sum stands in place of a mean{where}", _other("sum")),),
    "argmax": (("the place of the smallest is taken, not of the largest", _other("argmin")),),
    "maximum": _RELU,
    "concatenate": (("what is joined{where} is joined in the other order", _backwards),),
    "cat": (("what is joined{where} is joined in the other order", _backwards),),
}
