"""Measure the grader on answers whose worth is known: the course's own, mutants and equivalents of the references.

In: topics, how much to try. Out: frozen ``Audited`` objects. Runs functions of this project only, so it needs no sandbox.
Reads ``tests/submissions``; writes nothing.
"""

import importlib
import random
from dataclasses import dataclass

from autograder import exercises
from autograder.audit.calls import accepts, verdict_on
from autograder.audit.equivalents import equivalents
from autograder.audit.mutants import mutants
from autograder.audit.survivors import Found, sorted_out, wrong_numbers
from autograder.exercises import key_linter
from autograder.notebooks import assemble

SAMPLE = 120  # mutants of an exercise
TRIED = {False: 200, True: 1000}  # inputs that a mutant must agree on to be called equal; by whether all is audited
SEEDS = {False: 1, True: 10}  # draws of the hidden cases


@dataclass(frozen=True)
class Audited:
    """What the audit found about one exercise. All tuples of names list what is *not* as it should be."""

    exercise: str
    kind: str
    points: float
    reference_earned: tuple[float, ...]  # one number a seed
    starter_earned: float
    right: int
    right_rejected: tuple[str, ...]
    mistakes: int
    mistakes_accepted: tuple[str, ...]
    hints_missed: tuple[str, ...]
    mutants: int
    tried: int
    aside: tuple[Found, ...]
    survivors: tuple[Found, ...]
    equivalents: int
    equivalents_rejected: tuple[str, ...]
    problems: tuple[str, ...]

    @property
    def passed(self):
        return not (
            any(earned != self.points for earned in self.reference_earned)
            or self.starter_earned
            or self.right_rejected
            or self.mistakes_accepted
            or self.hints_missed
            or self.survivors
            or self.equivalents_rejected
            or self.problems
        )


def audit_topic(topic, full=False, seed=0):
    """Yield an ``Audited`` for each exercise of ``topic`` whose function is called to judge it."""
    draws = [exercises.load(topic, seed + n) for n in range(SEEDS[full])]
    references = importlib.import_module(f"solutions.in_numpy.{topic}"), _module(f"solutions.in_torch.{topic}")
    mistakes, right = importlib.import_module(f"solutions.mistakes.{topic}"), _module(f"tests.submissions.{topic}")
    problems = {}
    for asked in draws:
        text = key_linter.released_text(assemble.source_notebook(topic, asked))
        for problem in key_linter.lint(asked, text=text):
            problems.setdefault(problem.exercise, []).append(str(problem))
    for versions in zip(*draws, strict=True):
        exercise = versions[0]
        if exercise.is_called:
            reference = getattr(references[exercise.in_torch], exercise.function)
            found = tuple(dict.fromkeys(problems.get(exercise.name, ())))
            yield audit_exercise(versions, reference, vars(mistakes), vars(right), full, seed, found)


def audit_exercise(versions, reference, mistakes=None, right=None, full=False, seed=0, problems=()):
    """Return the ``Audited`` of one exercise.

    Parameters
    ----------
    versions : sequence of Exercise
        The same exercise with its hidden cases drawn from one seed or several.
    reference : function
    mistakes, right : dict
        Name -> function; those that begin with the name of the exercise's function are taken.
    full : bool
        Whether to try all mutants, or a sample of ``SAMPLE``.
    """
    exercise = versions[0]
    wrong, right = (exercises.versions(each or {}, exercise.function) for each in (mistakes, right))
    judged_wrong = {name: [verdict_on(function, one) for one in versions] for name, function in wrong.items()}
    made = mutants(reference, exercise.kind)
    taken = made if full else random.Random(seed).sample(made, min(SAMPLE, len(made)))
    aside, survivors = sorted_out(taken, versions, reference, TRIED[full])
    shifted = wrong_numbers(versions[0]) if exercise.kind == "number" else ()
    equal = equivalents(reference, exercise)
    return Audited(
        exercise.name,
        exercise.kind,
        exercise.points,
        tuple(verdict_on(reference, one).earned for one in versions),
        verdict_on(key_linter.starter(exercise), exercise).earned,
        len(right),
        tuple(n for n, f in right.items() if any(not accepts(one, verdict_on(f, one)) for one in versions)),
        len(wrong),
        tuple(n for n, judged in judged_wrong.items() if any(map(accepts, versions, judged))),
        tuple(n for n, judged in judged_wrong.items() if not all(_says(v, exercise.hints.get(n)) for v in judged)),
        len(made) + len(shifted),
        len(taken) + len(shifted),
        aside,
        (*survivors, *(found for found in shifted if found.reason)),
        len(equal),
        tuple(e.what for e in equal if any(not accepts(one, verdict_on(e.function, one)) for one in versions)),
        tuple(problems),
    )


def _says(verdict, hint):
    return hint is not None and any(hint in said for said in verdict.hints)


def _module(name):
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and name.startswith(error.name):
            return None
        raise
