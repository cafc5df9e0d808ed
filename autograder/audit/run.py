"""Measure the grader on answers whose correct grade is known: the course's own, and mutants and equivalents of references.

In: topics, how much to try. Out: frozen ``ExerciseAudit`` objects. Runs only functions of this project, so it needs no sandbox.
Reads ``tests/submissions``; ``audit_topic`` caches its results: see ``outcomes``.
"""

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import FunctionType

from autograder import exercises
from autograder.audit.equivalents import equivalents
from autograder.audit.mutants import mutants
from autograder.audit.outcomes import FOLDER, Outcomes, Version, version_of
from autograder.audit.survivors import UnrejectedMutant, classify_survivors, wrong_numbers
from autograder.exercises import key_linter
from autograder.notebooks import assemble
from autograder.paths import ROOT

MAX_SAMPLED_MUTANTS = 120  # mutants per exercise
STEADY_MUTANTS = 20  # mutants per exercise whose points are compared between draws
TRIED = {False: 200, True: 1000}  # by ``full``: inputs on which a mutant must agree to be called equal
SEEDS = {False: 1, True: 10}  # by ``full``: draws of the hidden cases


@dataclass(frozen=True)
class ExerciseAudit:
    """What the audit found about one exercise. All tuples of names list faults."""

    exercise: str
    kind: str
    points: float
    reference_earned: tuple[float, ...]  # one number per seed
    starter_earned: float
    right: int
    right_rejected: tuple[str, ...]
    mistakes: int
    mistakes_accepted: tuple[str, ...]
    unsteady: tuple[str, ...]
    hints_missed: tuple[str, ...]
    mutants: int
    tried: int
    aside: tuple[UnrejectedMutant, ...]
    survivors: tuple[UnrejectedMutant, ...]
    equivalents: int
    equivalents_rejected: tuple[str, ...]
    problems: tuple[str, ...]

    @property
    def faults(self) -> tuple[tuple[str, str], ...]:
        """The faults that were found, each as ``(what, remedy)``."""
        return tuple(self._faults())

    @property
    def passed(self) -> bool:
        return not self.faults

    def _faults(self):
        for earned in self.reference_earned:
            if earned != self.points:
                yield f"the reference earns {earned:g} of {self.points:g} points", "fix the reference or the cases"
        if self.starter_earned:
            what = f"the untouched starter earns {self.starter_earned:g} points"
            yield what, "put the answer between the solution markers, and make the starter return nothing"
        for name in self.right_rejected:
            yield f"a right answer is rejected: {name}", "widen the tolerance, or fix the answer in tests/submissions"
        for name in self.mistakes_accepted:
            yield f"a mistake is accepted: {name}", "add a hidden case that tells it from the reference"
        for name in self.unsteady:
            yield f"its points depend on the seed: {name}", "add a hidden case that decides it in every release"
        for name in self.hints_missed:
            remedy = "add a hidden case on which it gives a different value from the other mistakes"
            yield f"a mistake does not get its own hint: {name}", remedy
        for name in self.equivalents_rejected:
            yield f"an equivalent is rejected: {name}", "widen the tolerance: it is the reference in another style"
        for problem in self.problems:
            what, _, remedy = problem.partition(". Remedy: ")
            yield f"the key is weak: {what}", remedy
        for survivor in self.survivors:
            what = f"line {survivor.line}, `{survivor.source}`, SURVIVES with {survivor.what}"
            yield f"{what}: {survivor.reason}".rstrip(": "), "add a hidden case that the changed line fails"


def audit_topic(topic: str, full: bool = False, seed: int = 0, seeds: int | None = None) -> Iterator[ExerciseAudit]:
    """Yield an ``ExerciseAudit`` for each exercise of ``topic`` whose function is called to judge it; see ``audit_exercise``.

    The hidden cases are drawn from ``seeds`` consecutive seeds, by default ``SEEDS[full]``, starting with ``seed``.
    """
    draws = [exercises.load(topic, seed + n) for n in range(seeds or SEEDS[full])]
    mistakes, right = exercises.module(f"solutions.mistakes.{topic}"), right_answers(topic)
    text = key_linter.extract_released_text(
        assemble.source_notebook(topic, draws[0])
    )  # it does not depend on what is drawn
    problems = {}
    for questions in draws:
        for problem in key_linter.lint(questions, text=text):
            problems.setdefault(problem.exercise, []).append(str(problem))
    for versions in zip(*draws, strict=True):
        exercise = versions[0]
        if exercise.is_called:
            key_problems = tuple(dict.fromkeys(problems.get(exercise.name, ())))
            outcomes = [Outcomes(version, FOLDER) for version in versions]
            yield audit_exercise(
                outcomes, exercises.reference_of(exercise), vars(mistakes), right, full, seed, key_problems
            )
            for each in outcomes:
                each.save()


def right_answers(topic: str) -> dict[str, object]:
    """Return the names defined in ``tests/submissions/<topic>.py``, among them right answers in other styles."""
    path = ROOT / "tests" / "submissions" / f"{topic}.py"
    return vars(exercises.module_at(path)) if path.is_file() else {}


def audit_exercise(
    draws: Sequence[Outcomes],
    reference: FunctionType,
    mistakes: Mapping[str, object] | None = None,
    right: Mapping[str, object] | None = None,
    full: bool = False,
    seed: int = 0,
    problems: Iterable[str] = (),
    effort: tuple[int, int] | None = None,
) -> ExerciseAudit:
    """Return the ``ExerciseAudit`` of one exercise.

    Parameters
    ----------
    draws : sequence of Outcomes
        The outcomes of one exercise, one object for each seed that its hidden cases are drawn from.
    reference : function
    mistakes, right : dict
        Name -> function; only those whose name begins with the exercise's function are used.
    full : bool
        Whether to try all mutants, instead of a sample of ``MAX_SAMPLED_MUTANTS``.
    effort : (int, int), optional
        Override how many mutants to try, and on how many inputs one must agree with the reference to be called equal.
    """
    exercise = draws[0].exercise
    wrong, right_versions = (
        [version_of(function, name) for name, function in exercises.versions(each or {}, exercise.function).items()]
        for each in (mistakes, right)
    )
    made = mutants(reference, exercise.kind)
    count, tried = effort or (len(made) if full else MAX_SAMPLED_MUTANTS, TRIED[full])
    taken = made if count >= len(made) else random.Random(seed).sample(made, count)
    aside, survivors = classify_survivors(taken, draws, reference, tried)
    shifted = wrong_numbers(exercise) if exercise.kind == "number" else ()
    equal = [Version(each.what, each.function) for each in equivalents(reference, exercise)]

    def names_where(versions, is_amiss):
        return tuple(version.name for version in versions if any(is_amiss(outcomes, version) for outcomes in draws))

    return ExerciseAudit(
        exercise.name,
        exercise.kind,
        exercise.points,
        tuple(outcomes.earned(version_of(reference)) for outcomes in draws),
        draws[0].earned(Version("starter", key_linter.starter(exercise))),
        len(right_versions),
        names_where(right_versions, lambda outcomes, version: not outcomes.passes(version)),
        len(wrong),
        names_where(wrong, lambda outcomes, version: outcomes.verdict(version).earned == exercise.points),
        _earning_by_seed(draws, (*wrong, *(mutant.version for mutant in taken[:STEADY_MUTANTS]))),
        names_where(wrong, lambda outcomes, version: not outcomes.gets_own_hint(version)),
        len(made) + len(shifted),
        len(taken) + len(shifted),
        aside,
        (*survivors, *(mutant for mutant in shifted if mutant.reason)),
        len(equal),
        names_where(equal, lambda outcomes, version: not outcomes.passes(version)),
        tuple(problems),
    )


def _earning_by_seed(draws, versions):
    """Return the names of the ``versions`` whose points differ between the ``draws``."""
    if len(draws) == 1:
        return ()
    return tuple(each.name for each in versions if len({outcomes.earned(each) for outcomes in draws}) > 1)
