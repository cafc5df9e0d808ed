"""Choose inputs for a function so that any two families of two of its arguments occur together in some case.

In: the arguments as the key declares them, a random generator. Out: ``DrawnCall`` objects.
"""

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from autograder.exercises import families
from autograder.exercises.families import DrawContext, Family
from autograder.exercises.steady import SteadyGenerator
from solutions.answer_key import AnswerKeyError, Argument, Code, letters_of
from solutions.answer_key.domains import LONGEST, SCORES, limits

LONG_AXIS_LENGTH = 20  # entries of an axis: two that must be alike are never longer than this
MAX_LETTERS_FOR_ALL_PAIRS = 6  # with more, two letters are made alike only if an argument has both
LEAST_ROWS = 20  # cases per exercise, at least
SCORE_VECTOR = ("attention_size",)  # the axes of the vector whose product with a tanh is an additive score
MAX_SIZE_DRAWS = 1000  # draws of the sizes to try until they fit
SIZES = "the sizes"  # the one factor that is not an argument
SIZE_ONE = ("size_one",)
ONE_OF = {"batch": "a batch of one sentence", "source_len": "sentences of one position", "target_len": "a single step"}
PLAIN = "ordinary numbers"
TAKEN_FOR_ONE = "which two axes are confused?"
WHERE_LONG = "does your code depend on the length, or on something that only many entries bring about?"


@dataclass(frozen=True)
class SizeConstraint:
    """A family of sizes: letters as short or long as they may be, equal letters, one equal to a joined axis. All others differ."""

    ones: frozenset[str] = frozenset()
    alike: tuple[str, ...] = ()
    made: tuple[str, str] | None = None  # a letter, and the axis of several letters that it equals: "a + b"
    fixed: tuple[tuple[str, int], ...] = ()  # letters, and their lengths
    words: str = ""
    parts: tuple[str, ...] = ()
    advice: str = families.WHERE_SIZE


@dataclass(frozen=True, kw_only=True)
class DrawnCall:
    """One call: its inputs, the part it counts for, the parts it ``also`` involves, and what is special about it."""

    name: str
    inputs: Mapping[str, np.ndarray | float]
    shown: bool = False
    part: str = ""
    also: tuple[str, ...] = ()
    families: Mapping[str, str] = field(default_factory=dict)  # words -> where to look, if only such calls are wrong
    gradients: tuple[str, ...] = ()
    atol: float | None = None
    expected: object = None


def pairwise_cases(entry: Code, optional: frozenset[str], rng: SteadyGenerator) -> Iterator[DrawnCall]:
    """Yield the drawn calls of ``entry``, those with ``gradients`` last. An ``optional`` argument may be absent."""
    factors = _factors(entry, optional)
    plans = _plans(factors)
    ordinary = {name: levels[0] for name, levels in factors}
    extra = [{**ordinary, **mode, SIZES: sizes} for mode in _modes(factors) for sizes in _long_sizes(entry)]
    bounded = {name: argument for name, argument in entry.arguments.items() if limits(argument)}
    vectors = {name: argument for name, argument in bounded.items() if argument.kind in ("annotations", "states")}
    scores = {name: argument for name, argument in bounded.items() if argument.kind in ("scores", "logits")}
    for family, those in ((families.WHOLE, vectors), (families.IN_STEPS, scores)):
        if those:
            extra.append({**ordinary, **_draw_all_from(family, those)})
    at_limits = _plans_at_limits(entry, factors, bounded)
    calls = [(plan, ()) for plan in (*plans, *extra, *at_limits)]
    if entry.gradients:
        calls += [(plan, entry.gradients) for plan in plans if _may_ask_for_gradients(plan)]
        if entry.reaches:
            # gradients behind scores at their limits are small differences of large numbers; the vector of an additive score
            # keeps them small, and then only what it multiplies is at its limits
            small = {name: ordinary[name] for name, argument in bounded.items() if argument.axes == SCORE_VECTOR}
            at_limits = [{**at_limits[0], **small}] if small else []
        others = (*extra, *at_limits)
        calls += [(plan, entry.gradients) for plan in others if not _asks_for_words(plan)]
    for plan, gradients in calls:
        yield _draw_call(entry, plan, gradients, rng)


def _plans_at_limits(entry, factors, bounded):
    """Return the plan in which all ``bounded`` arguments are near a limit, and one in which all sizes are at theirs as well.

    Both are repeated for each family that meets all sizes; where nothing is bounded, only the second, for such families alone.
    Parameters do not change sign, so that the scores computed with them are as far from 0 as they can be. For these to be below
    0 as well, each other argument changes its sign in some sentences alone; where there is only one, whose vectors are scored
    against each other, a further plan has a parameter below 0. (Elsewhere, large numbers would only nearly cancel.)
    """
    plan = {name: next(filter(_has_pads, levels), levels[0]) for name, levels in factors}
    longest, (ordinary, *modes) = _longest(entry), _modes(factors)
    if not bounded:
        return [{**plan, **mode, SIZES: longest} for mode in modes]
    parameters = [name for name, argument in bounded.items() if argument.kind in ("parameter", "vector")]
    plan |= _draw_all_from(families.AT_UPPER_LIMIT, {name: bounded[name] for name in parameters})
    others = [name for name in bounded if name not in parameters]
    for number, name in enumerate(others, 1):
        family = families.at_one_limit(turned=number) if entry.reaches else families.AT_ONE_LIMIT
        plan |= _draw_all_from(family, {name: bounded[name]})
    plans = [{**plan, **mode, SIZES: sizes} for mode in (ordinary, *modes) for sizes in (plan[SIZES], longest)]
    if full := {name: levels[0] for name, levels in factors if any(map(_has_pads, levels))}:
        plans.append({**plan, **full, SIZES: longest})  # as many words as there may be
    if entry.reaches and len(others) == 1:
        below = _draw_all_from(families.AT_LOWER_LIMIT, {parameters[0]: bounded[parameters[0]]})
        plans.append({**plan, **below, SIZES: longest})
    return plans


def _modes(factors):
    """Return what the function may be asked for, as parts of a plan: the ordinary, and each family that meets all sizes."""
    levels = [(name, level) for name, levels in factors if name != SIZES for level in levels]
    return [{}, *({name: level} for name, level in levels if level.family.meets_sizes)]


def _draw_all_from(family, arguments):
    return {name: _ArgumentFamily(family, argument) for name, argument in arguments.items()}


def random_cases(entry: Code, optional: frozenset[str], rng: np.random.Generator) -> Iterator[DrawnCall]:
    """Yield calls of ``entry`` forever, with random combinations of families; over half of the arguments are ordinary."""
    factors = _factors(entry, optional)
    for number in itertools.count():
        plan = {name: levels[0] if rng.integers(2) else levels[rng.integers(len(levels))] for name, levels in factors}
        if entry.gradients and number % 4 == 3:  # of many arguments, too many are special for gradients to be asked
            special = rng.integers(len(factors))
            plan = {name: plan[name] if place == special else levels[0] for place, (name, levels) in enumerate(factors)}
        if _is_consistent(plan, whole=True):
            asked = _may_ask_for_gradients(plan) and rng.integers(2)
            yield _draw_call(entry, plan, entry.gradients if asked else (), rng)


def _may_ask_for_gradients(plan):
    return _count_special(plan) <= 1 and not _asks_for_words(plan)


def _asks_for_words(plan):
    return any(getattr(family, "asks_for_words", False) for family in _families_of(plan).values())


def _draw_call(entry, plan, gradients, rng):
    special = [(name, family) for name, family in _families_of(plan).items() if family.words]
    touched = {next((part for part in family.parts if part in entry.parts), "") for _, family in special}
    touched |= {"gradient"} if gradients else set()
    parts = [part for part in entry.parts if part in touched] or list(entry.parts)[:1] or [""]
    names: dict[str, list[str]] = {}  # one entry for all arguments of the same family: "large query, W_y"
    for name, family in special:
        names.setdefault(family.words, []).append(name)
    advice = {family.words: family.advice for _, family in special}
    words = {text.format(", ".join(names[text])): advice[text] for text in names}
    return DrawnCall(
        name="; ".join([*words, *(["gradients"] if gradients else [])]) or PLAIN,
        inputs=_draw_inputs(entry, plan, rng),
        part=parts[-1],
        also=tuple(parts[:-1]),
        families=words,
        gradients=gradients,
    )


# --- factors to combine -----------------------------------------------------------------------------------------------


def _factors(entry, optional):
    """Return ``(name, families)`` for each argument and for the sizes, with the ordinary family first."""
    factors = {}
    for name, argument in entry.arguments.items():
        if argument.kind not in families.KINDS:
            what = f"argument {name}: kind {argument.kind!r} is not known"
            raise AnswerKeyError(what, entry.where, f"write one of {', '.join(families.KINDS)}.")
        known = families.KINDS[argument.kind]
        if name not in optional:
            known = tuple(family for family in known if family is not families.LEFT_OUT)
        elif families.LEFT_OUT not in known:
            known += (families.ABSENT,)
        unknown = set(argument.without) - {family.name for family in known[1:]}
        if unknown:
            what = f"argument {name}: {argument.kind} has no family {min(unknown)!r}"
            remedy = f"write some of {', '.join(family.name for family in known[1:])}."
            raise AnswerKeyError(what, entry.where, remedy)
        factors[name] = tuple(_ArgumentFamily(f, argument) for f in known if f.name not in argument.without)
    factors[SIZES] = tuple(_sizes(entry.arguments, entry.least))
    return tuple(factors.items())


@dataclass(frozen=True)
class _ArgumentFamily:
    """A family of inputs for one ``argument``; ``least`` is how many entries its letters must have at least."""

    family: Family
    argument: Argument

    @property
    def least(self) -> dict[str, int]:
        least = {str(self.argument.axes[axis]): count for axis, count in self.family.least.items()}
        if isinstance(self.argument.below, str) and self.family.words_known > 1:
            least[self.argument.below] = self.family.words_known
        return least


def _letters(arguments: Mapping[str, Argument]) -> dict[str, None]:
    return dict.fromkeys(letter for argument in arguments.values() for letter in argument.letters)


def _sizes(arguments, least):
    letters = list(_letters(arguments))
    yield SizeConstraint()
    short = [letter for letter in letters if least.get(letter, 1) == 1]
    for letter in least:
        yield SizeConstraint(fixed=((letter, least[letter]),), words=f"{letter} = {least[letter]}")
    for letter in short:
        yield SizeConstraint(frozenset([letter]), words=ONE_OF.get(letter, f"{letter} = 1"), parts=SIZE_ONE)
    if short == letters:
        yield SizeConstraint(frozenset(letters), words="all sizes 1", parts=SIZE_ONE)
    if len(letters) > 2:
        yield SizeConstraint(alike=tuple(letters), words="all sizes equal", advice=TAKEN_FOR_ONE)
    for pair in itertools.combinations(letters, 2):
        if len(letters) <= MAX_LETTERS_FOR_ALL_PAIRS or any(
            {*pair} <= {*argument.letters} for argument in arguments.values()
        ):
            yield SizeConstraint(alike=pair, words=" equal to ".join(pair), advice=TAKEN_FOR_ONE)
    pairs = (pair for argument in arguments.values() for pair in itertools.permutations(argument.axes, 2))
    for letter, axis in dict.fromkeys(pairs):  # they make a matrix square where they are equal
        are_letters = isinstance(letter, str) and isinstance(axis, str)
        if are_letters and len(letters_of(letter)) == 1 < len(letters_of(axis)) and letter not in letters_of(axis):
            yield SizeConstraint(made=(letter, axis), words=f"{letter} equal to {axis}", advice=TAKEN_FOR_ONE)


def _long_sizes(entry):
    """Yield, for each letter, the sizes in which its axis is as long as it may be."""
    for letter, length in _longest(entry).fixed:
        yield SizeConstraint(fixed=((letter, length),), words=f"{letter} = {length}", advice=WHERE_LONG)


def _longest(entry):
    """Return the sizes in which every axis is as long as it may be."""
    lengths = tuple((letter, entry.most.get(letter, LONGEST)) for letter in _letters(entry.arguments))
    return SizeConstraint(fixed=lengths, words="all sizes as large as they may be", advice=WHERE_LONG)


# --- which to combine ------------------------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def _plans(factors):
    """Return plans, argument -> family, that cover every possible pair; those with one special family come first."""
    rng, factors = np.random.default_rng(0), dict(factors)
    plans = _plans_with_one_special(factors)
    met = set().union(*map(_pairs, plans))

    def add(plan):
        if plan:
            plans.append(plan)
            met.update(_pairs(plan))

    for wanted in _list_pairs_to_cover(factors):
        if frozenset(wanted.items()) not in met:
            add(_complete(factors, wanted, met, rng))
    arguments = [(name, level) for name in factors if name != SIZES for level in factors[name]]
    for name, level in arguments:
        for sizes in factors[SIZES] if level.family.name == families.ONE_WORD else ():
            if sizes.ones == {level.argument.axes[0]}:  # then dividing by the number of words is dividing by 1
                add(_complete(factors, {name: level, SIZES: sizes}, met, rng))
    while len(plans) < LEAST_ROWS:
        add(_complete(factors, {}, met, rng) or plans[0])
    return tuple(plans)


def _plans_with_one_special(factors):
    """Return the plan in which everything is ordinary, and one for each special family, with pads if it needs some."""
    ordinary = {name: levels[0] for name, levels in factors.items()}
    plans = [ordinary]
    for name, levels in factors.items():
        for level in levels[1:]:
            plan = {**ordinary, name: level}
            if _needs_pads(level):
                masks = [(other, mask) for other in factors for mask in factors[other] if _has_pads(mask)]
                plan |= dict(masks[:1])
            if _is_consistent(plan, whole=True):
                plans.append(plan)
    return plans


def _list_pairs_to_cover(factors):
    """Yield each pair of special families of two arguments, and some of an argument with the sizes.

    These are all with sizes that are as small as the key allows, and those of empty sentences with each size of 1.
    """
    special = {name: [level for level in levels[1:] if not _is_alone(level)] for name, levels in factors.items()}
    for (first, firsts), (second, seconds) in itertools.combinations(special.items(), 2):
        for level, beside in itertools.product(firsts, seconds):
            # a shortcut for a single position mistakes even an empty sentence for one
            of_sizes = SIZES in (first, second)
            if not of_sizes or beside.fixed or _meets(level, beside):
                yield {first: level, second: beside}


def _meets(level, sizes):
    """Return whether a case must combine the family ``level`` with ``sizes``, which are not as the key fixes them."""
    of_empty = level.family.parts == families.EMPTY and bool(sizes.ones)
    return of_empty or (level.family.meets_sizes and not any(letter in sizes.ones for letter in level.least))


def _complete(factors, plan, met, rng):
    """Complete ``plan`` with the families that cover the most new pairs, and return it; None if no family fits."""
    if not _is_consistent(plan):
        return None
    large, masked = _is_large(plan), any(_has_pads(level) for levels in factors.values() for level in levels)
    for name in rng.permutation([name for name in factors if name not in plan]):
        order = [factors[name][n] for n in rng.permutation(len(factors[name])) if not _is_alone(factors[name][n])]
        if not large:  # a tanh of large numbers would hide what is tested
            order = [level for level in order if not _is_large({name: level})]
        if name == SIZES:  # with an axis of length 1, many wrong answers would be right by chance
            order = [level for level in order if not level.ones]
        fitting = [level for level in order if _is_consistent({**plan, name: level}, whole=not masked)]
        if not fitting:
            return None
        new = [sum(frozenset([(name, level), item]) not in met for item in plan.items()) for level in fitting]
        plan = {**plan, str(name): fitting[new.index(max(new))]}
    return {name: plan[name] for name in factors} if _is_consistent(plan, whole=True) else None


def _pairs(plan):
    return {frozenset(pair) for pair in itertools.combinations(plan.items(), 2)}


def _is_alone(level):
    return isinstance(level, _ArgumentFamily) and level.family.alone


def _needs_pads(level):
    return isinstance(level, _ArgumentFamily) and level.family.needs_pads


def _has_pads(level):
    return isinstance(level, _ArgumentFamily) and level.family.pads


def _is_consistent(plan, whole=False):
    """Return whether the families of ``plan`` can occur together in one call."""
    fitted = [level for level in plan.values() if isinstance(level, _ArgumentFamily)]
    sizes = plan.get(SIZES, SizeConstraint())
    if any(letter in sizes.ones for level in fitted for letter in level.least):
        return False
    if any(level.least.get(letter, 0) > LONG_AXIS_LENGTH for level in fitted for letter in sizes.alike):
        return False  # two axes with hundreds of entries are too much data to pass
    masks = [level for level in fitted if level.family in (*families.MASK, families.ABSENT)]
    pads = any(level.family.pads for level in masks)
    return pads or not any(map(_needs_pads, fitted)) or (not masks and not whole)


def _is_large(plan):
    """Return whether a family of ``plan`` has extreme numbers: those whose advice is ``WHERE_LARGE``."""
    return any(level.advice == families.WHERE_LARGE for level in _families_of(plan).values())


def _count_special(plan):
    """Return the number of special families in ``plan``. Equal sizes, which do not affect gradients, count twice."""
    levels = [level for level in _families_of(plan).values() if level.words]
    for_pads = any(getattr(level, "needs_pads", False) for level in levels)  # then its mask does not count
    return sum(1 + bool(getattr(level, "alike", ()) or getattr(level, "made", None)) for level in levels) - for_pads


# --- one call --------------------------------------------------------------------------------------------------------


def _families_of(plan):
    """Return argument -> ``Family``, and ``SIZES`` -> ``SizeConstraint``."""
    return {name: getattr(level, "family", level) for name, level in plan.items()}


def _draw_inputs(entry, plan, rng):
    arguments, sizes = entry.arguments, _draw_sizes(entry, plan, rng)
    masks = {name: a for name, a in arguments.items() if a.kind == "mask"}
    drawn: dict[str, np.ndarray] = {}
    for name in sorted(arguments, key=lambda name: arguments[name].kind not in families.DRAWN_FIRST):
        argument, family = arguments[name], plan[name].family
        if family in (families.ABSENT, families.LEFT_OUT):
            continue
        mask = next((drawn[m] for m, a in masks.items() if m in drawn and argument.axes[: len(a.axes)] == a.axes), None)
        shape = tuple(_axis_length(axis, sizes) for axis in argument.axes)
        below = _axis_length(argument.below, sizes) if argument.below is not None else 0
        at_end = "before" in argument.without
        context = DrawContext(shape, drawn, mask, below, limits(argument) or SCORES, pads_at_end=at_end)
        drawn[name] = family.draw(rng, context)
    return {name: drawn[name] for name in arguments if name in drawn}


def _axis_length(axis, sizes):
    terms = [sizes[letter] for letter in letters_of(axis)]
    return axis if isinstance(axis, int) else math.prod(terms) if " * " in axis else sum(terms)


def _draw_sizes(entry, plan, rng):
    """Return a size for each letter: all different and at least 2, unless the ``SizeConstraint`` says otherwise."""
    letters, wanted = list(_letters(entry.arguments)), plan[SIZES]
    least = _least_sizes(entry, plan, letters)
    for _ in range(MAX_SIZE_DRAWS):
        places = rng.permutation(len(letters))
        sizes = {letter: int(place) + least[letter] for letter, place in zip(letters, places, strict=True)}
        if wanted.made:  # the letters of a joined axis are small, so that it is not too long
            for letter, size in zip(letters_of(wanted.made[1]), rng.permutation([2, 3, 4, 5]), strict=False):
                sizes[letter] = max(int(size), least[letter])
            sizes[wanted.made[0]] = _axis_length(wanted.made[1], sizes)
        sizes |= dict.fromkeys(wanted.ones, 1) | dict(wanted.fixed)
        if wanted.alike:
            sizes |= dict.fromkeys(wanted.alike, max(sizes[letter] for letter in wanted.alike))
        if _are_told_apart(entry, sizes, wanted) and all(
            sizes[name] <= entry.most.get(name, LONGEST) for name in letters
        ):
            return sizes
    raise AnswerKeyError(
        f"no sizes fit {wanted.words or PLAIN!r}", entry.where, "allow larger sizes by `most`, or leave out a family."
    )


def _are_told_apart(entry, sizes, wanted):
    """Return whether all letters differ in size that ``wanted`` does not make alike, from joined axes too.

    A letter as long as a joined axis would make a matrix square.
    """
    bound = {*wanted.ones, *wanted.alike, *dict(wanted.fixed)}
    free = [size for letter, size in sizes.items() if letter not in bound]
    others = {size for letter, size in sizes.items() if letter in bound}
    if len({*free}) < len(free) or {*free} & others:
        return False
    joined = {axis for argument in entry.arguments.values() for axis in argument.axes if len(letters_of(axis)) > 1}
    return bool(wanted.alike or len(wanted.fixed) > 1) or all(
        sizes[letter] != _axis_length(axis, sizes)
        for axis in joined
        for letter in sizes.keys() - {*wanted.ones, *letters_of(axis)}
        if wanted.made != (letter, axis)
    )


def _least_sizes(entry, plan, letters):
    """Return the least size of each letter: at least 2, and what the key and the families of the plan require."""
    least = {letter: max(2, entry.least.get(letter, 1)) for letter in letters}
    for level in plan.values():
        for letter, count in level.least.items() if isinstance(level, _ArgumentFamily) else ():
            least[letter] = max(least.get(letter, 2), count)
    return least
