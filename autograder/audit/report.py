"""The whole audit as one frozen report on the exercises, the held-out answers, or both.

In: topics, how much to try. Out: ``Report``. Reads ``tests/submissions``; writes nothing.
"""

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from autograder.audit.held_out import (
    HELD_OUT,
    HeldOutAnswer,
    Rates,
    count_rates,
    grade_answer,
    held_out_answers,
    read_judgement,
)
from autograder.audit.run import ExerciseAudit, audit_topic
from solutions import answer_key


@dataclass(frozen=True)
class Report:
    """The whole audit. ``first`` holds the held-out figures as they were first measured."""

    exercises: tuple[ExerciseAudit, ...] = ()
    answers: tuple[HeldOutAnswer, ...] = ()
    now: tuple[Rates, ...] = ()
    first: tuple[Rates, ...] = ()
    full: bool = False
    seed: int = 0
    notes: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        return all(exercise.passed for exercise in self.exercises)


def audit(topics: Iterable[str] | None, full: bool, seed: int, progress: Callable[[ExerciseAudit], object]) -> Report:
    """Audit the exercises of ``topics``, by default all, and grade the held-out answers; return a ``Report``.

    With ``full``, it tries all mutants instead of a seeded sample, more draws of the hidden cases, and 1000 inputs instead
    of 200. ``seed`` is used for the first draw and for the sample. ``progress`` is called with each ``ExerciseAudit``.
    """
    topics = tuple(topics or answer_key.topics())
    audited = []
    for exercise in itertools.chain.from_iterable(audit_topic(topic, full, seed) for topic in topics):
        audited.append(exercise)
        progress(exercise)
    return replace(measure(topics, seed), exercises=tuple(audited), full=full, seed=seed)


def measure(topics: Iterable[str] | None = None, seed: int = 0, path: Path = HELD_OUT) -> Report:
    """Grade the held-out answers in the file at ``path``; return a ``Report`` of them alone.

    ``<topic>.toml``, in the folder called like the file, is optional and records human judgements: each ``[hint.NAME]`` has a
    ``verdict``, one of ``HINTS``, and ``on``, the text of the hint that was judged; ``[first]`` has the counts as first
    measured; and ``moved`` lists the answers that exposed a fault of the grader and are ordinary ones now.
    """
    topics = tuple(topics or answer_key.topics())
    answers, now, first, notes = [], [], [], []
    for topic in topics:
        judged = read_judgement(path.with_suffix("") / f"{topic}.toml")
        graded = [grade_answer(*answer, judged) for answer in held_out_answers(topic, seed, path)]
        if not graded:
            notes.append(f"{topic}: no held-out answers.")
            continue
        answers += graded
        now.append(count_rates(topic, graded, len(judged.get("moved", ()))))
        if "first" in judged:
            first.append(Rates(topic, **judged["first"]))
    return Report((), tuple(answers), tuple(now), tuple(first), seed=seed, notes=tuple(notes))
