"""Find a draw of the hidden cases that catches every known wrong answer, and say which case catches what.

In: a topic, a seed. Out: frozen ``SeedSearch``. Runs only functions of this project: the listed mistakes, and mutants of the
references. Caches its results below ``_build``: see ``outcomes``.
"""

import itertools
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from autograder import exercises
from autograder.audit.mutants import mutants
from autograder.audit.outcomes import FOLDER, Outcomes, version_of
from autograder.audit.survivors import classify_survivors
from autograder.errors import CourseError
from autograder.exercises import Exercise, reference_of
from autograder.exercises.drawing import candidate_seeds
from autograder.releases.proof import prove_fairness

DRAWS = 5  # seeds to try before blaming the key
MUTANTS = 60  # mutants per exercise
MIN_AGREEING_INPUTS = 200  # inputs on which a mutant must agree with the reference to be called equal


@dataclass(frozen=True)
class CaughtMistakes:
    """What the hidden ``cases`` of one exercise catch: case -> the wrong answers that fail it. ``slips`` pass every case.

    ``caught`` is empty unless it was asked for.
    """

    exercise: str
    wrong: int
    cases: int
    slips: tuple[str, ...]
    caught: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def alone(self) -> dict[str, tuple[str, ...]]:
        """Case -> the wrong answers that no other case catches. Cases without any are for mistakes that nobody has listed."""
        times = Counter(name for names in self.caught.values() for name in names)
        return {case: tuple(name for name in names if times[name] == 1) for case, names in self.caught.items()}


@dataclass(frozen=True)
class SeedSearch:
    """The seed whose cases catch everything, the number of draws tried, and what its cases catch."""

    seed: int
    draws: int
    tried: tuple[CaughtMistakes, ...]

    def lines(self, verbose: bool = False) -> Iterator[str]:
        """Yield a summary; if ``verbose``, first how many wrong answers each case catches, and which no other case does."""
        code = [catch for catch in self.tried if len(catch.caught) > 1]
        for catch in code if verbose else ():
            yield f"{catch.exercise}: {catch.wrong} wrong answers, {catch.cases} hidden cases"
            for case, alone in catch.alone.items():
                only = f", alone: {', '.join(alone)}" if alone else ""
                yield f"    {case}: catches {len(catch.caught[case])}{only}"
        cases, wrong = sum(catch.cases for catch in self.tried), sum(catch.wrong for catch in self.tried)
        draw = "the first draw" if self.draws == 1 else f"draw {self.draws}"
        yield f"Hidden cases: {draw}, of {cases} cases, catches all {wrong} wrong answers that were tried."


def find_seed(topic: str, seed: int, draws: int = DRAWS, verbose: bool = False) -> SeedSearch:
    """Return a ``SeedSearch`` for the first of ``seed``, ``seed + 1``, ... whose hidden cases catch every known wrong answer.

    If ``verbose``, it says which case catches which of them, for which every case is tried on every one.

    Raises
    ------
    CourseError
        If none of ``draws`` seeds does; the message names wrong answers that the last one accepts.
    """
    for draw in range(draws):
        tried = tuple(
            count_caught(exercise, verbose) for exercise in exercises.load(topic, seed + draw) if exercise.is_called
        )
        slips = [(catch.exercise, slip) for catch in tried for slip in catch.slips]
        if not slips:
            return SeedSearch(seed + draw, draw + 1, tried)
    raise CourseError(
        f"none of the draws tried ({draws}) catches {', '.join(slip for _, slip in slips[:3])}",
        f"the hidden cases of {slips[0][0]}",
        "declare a family that such an answer fails, or write a hidden case for it.",
    )


def find_attempt_seed(topic: str, seed: int, attempt: int, recorded: Sequence[int] = (), extra: str = "") -> int:
    """Return the first seed for ``attempt``, counted from 0, whose hidden cases catch every known wrong answer.

    Each listed mistake must also earn the same points as in any other attempt. ``seed`` is the seed of the release,
    ``recorded`` are the seeds that it has recorded for later attempts, and ``extra`` has the course's own hidden cases.
    Raises ``CourseError`` if none of the first ``DRAWS`` candidates will do.
    """
    refusals = []
    for candidate in itertools.islice(candidate_seeds(seed, attempt, recorded), DRAWS):
        try:
            prove_fairness(exercises.load(topic, candidate, extra), exercises.load(topic, 0, extra))
            return find_seed(topic, candidate, draws=1).seed
        except CourseError as refusal:
            refusals.append(refusal)
    what, where, remedy = refusals[-1].args
    raise CourseError(f"none of the draws tried ({DRAWS}) suits attempt {attempt + 1}: {what}", where, remedy)


def count_caught(exercise: Exercise, verbose: bool = False) -> CaughtMistakes:
    """Return which mistakes, and which of a sample of its reference's mutants, the hidden cases of ``exercise`` catch.

    Unless ``verbose``, the first case that catches one is the last that is tried on it.
    """
    reference, outcomes = reference_of(exercise), Outcomes(exercise, FOLDER)
    module = exercises.module(f"solutions.mistakes.{exercise.entry.topic}")
    made = mutants(reference, exercise.kind)
    taken = made if len(made) <= MUTANTS else random.Random(exercise.name).sample(made, MUTANTS)
    mistakes = [version_of(each, name) for name, each in exercises.versions(vars(module), exercise.function).items()]
    wrong = [*mistakes, *(mutant.version for mutant in taken)]
    names, caught = {case.name for case in exercise.hidden}, {}
    if verbose:
        failed = [(version.name, outcomes.failed_cases(version)) for version in wrong]  # two mutants may share a name
        caught = {case.name: tuple(name for name, cases in failed if case.name in cases) for case in exercise.hidden}
    left = [mutant for mutant in taken if not _is_caught(outcomes, mutant.version)]
    aside, survivors = classify_survivors(left, [outcomes], reference, MIN_AGREEING_INPUTS)
    outcomes.save()
    slips = [mistake.name for mistake in mistakes if not _is_caught(outcomes, mistake)]
    slips += [f"line {survivor.line} with {survivor.what}" for survivor in survivors]
    return CaughtMistakes(exercise.name, len(wrong) - len(aside), len(names), tuple(slips), caught)


def _is_caught(outcomes, version):
    """Return whether ``version`` is wrong on a hidden case; the first such case is the last that is tried."""
    return any(outcomes.is_wrong(version, number) for number in range(len(outcomes.exercise.hidden)))
