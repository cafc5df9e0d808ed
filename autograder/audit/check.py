"""The contributor's loop: check one topic in seconds.

In: a topic. Out: a frozen ``TopicCheck``, one readable page on what is wrong and how to fix it. Runs only functions of this
project, so it needs no sandbox; caches its results: see ``outcomes``. ``release`` proves more (with stock nbgrader too), and
``audit`` tries more mutants.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from autograder import exercises
from autograder.audit.notebook_run import run_notebook
from autograder.audit.outcomes import FOLDER, Outcomes
from autograder.audit.run import audit_exercise, right_answers
from autograder.errors import CourseError
from autograder.exercises import key_linter
from autograder.notebooks import assemble
from autograder.paths import BOOK
from solutions import answer_key

# mutants per exercise, and inputs on which a mutant must agree with the reference to count as equal
CHECK_EFFORT = 30, 60
MIN_STYLES = 2  # right answers in other styles that the tests require for each exercise


@dataclass(frozen=True)
class Fault:
    """One fault of a topic. ``exercise`` is "" if the fault concerns the whole topic."""

    exercise: str
    what: str
    remedy: str

    def __str__(self):
        return f"{self.what.rstrip('.')}. Remedy: {self.remedy.rstrip('.')}."


@dataclass(frozen=True)
class TopicCheck:
    """The findings for one topic. ``tried`` says in words what was tried."""

    topic: str
    entries: tuple[answer_key.Entry, ...]
    faults: tuple[Fault, ...]
    tried: str
    seconds: float

    def lines(self) -> Iterator[str]:
        """Yield the page line by line: each exercise, as ok or with its faults, then faults of the topic, then a summary."""
        for entry in self.entries:
            own_faults = [str(fault) for fault in self.faults if fault.exercise == entry.name]
            worth = f"{entry.points:g} point{'s' * (entry.points != 1)}" if entry.points else "warm-up"
            title = f"{entry.name}  {entry.kind}, {worth}"
            yield from (f"FAULT  {title}: {fault}" for fault in own_faults)
            if not own_faults:
                yield f"ok     {title}{NOTES.get(entry.kind, '')}"
        yield from (f"FAULT  {self.topic}: {fault}" for fault in self.faults if not fault.exercise)
        wrong = {fault.exercise or self.topic for fault in self.faults}
        count = len(self.faults)
        faults = f"{count} fault{'s' * (count != 1)} in {', '.join(sorted(wrong))}"
        how = faults if count else "everything is as it should be"
        warm_ups = sum(not entry.points for entry in self.entries)
        worth = f"{sum(entry.points for entry in self.entries):g} points, {warm_ups} warm-up{'s' * (warm_ups != 1)}."
        yield f"{self.topic}: {how}. {worth} {self.tried} {self.seconds:.1f} s."


NOTES = {"text": ": a person marks it", "trained": ": not trained here, `release` does that"}


def check_topic(topic: str, seed: int = 0, folder: Path = answer_key.FOLDER, book: Path = BOOK) -> TopicCheck:
    """Return the ``TopicCheck`` of ``topic``, with the key in ``folder`` and the chapter in ``book``.

    Raises
    ------
    AnswerKeyError
        If the key cannot be read or a file of answers cannot be imported: nothing can then be said about the exercises.
    """
    began, faults = time.monotonic(), []
    loaded = list(exercises.load_each(topic, seed, folder))
    entries = tuple(entry for entry, _ in loaded)
    questions = [result for _, result in loaded if isinstance(result, exercises.Exercise) and result.points]
    faults += (
        Fault(entry.name, *_describe_error(result)) for entry, result in loaded if isinstance(result, CourseError)
    )
    faults += _labels(topic, entries, book)
    notebook = None
    if not faults:
        try:
            notebook = assemble.source_notebook(topic, questions, book)
        except CourseError as error:
            faults.append(Fault("", *_describe_error(error)))
    text = key_linter.extract_released_text(notebook) if notebook else ""
    right, called = right_answers(topic), [exercise for exercise in questions if exercise.is_called]
    audited = [_audit_exercise(exercise, text, right, seed) for exercise in called]
    for exercise, audit in zip(called, audited, strict=True):
        faults += _faults(exercise, audit)
    if notebook:
        faults += _find_notebook_faults(notebook, questions)
    return TopicCheck(topic, entries, tuple(faults), _describe_effort(audited, notebook), time.monotonic() - began)


def _describe_error(error):
    what, place, remedy = error.args
    return f"{place}: {what}", remedy


def _labels(topic, entries, book):
    """Yield the faults of the chapter: exercises in the key that the page does not ask, and the other way round."""
    try:
        _, texts = assemble.load_chapter(topic, book)
    except CourseError as error:
        yield Fault("", *_describe_error(error))
        return
    for name, error in assemble.find_mismatches(topic, [entry.name for entry in entries], texts, book):
        yield Fault(name, *_describe_error(error))


def _audit_exercise(exercise, text, right, seed):
    problems = [str(problem) for problem in key_linter.lint([exercise], text=text)]
    mistakes = vars(exercises.module(f"solutions.mistakes.{exercise.entry.topic}"))
    outcomes = Outcomes(exercise, FOLDER)
    audited = audit_exercise(
        (outcomes,), exercises.reference_of(exercise), mistakes, right, False, seed, problems, CHECK_EFFORT
    )
    outcomes.save()
    return audited


def _faults(exercise, audited):
    topic = exercise.entry.topic
    yield from (Fault(exercise.name, what, remedy) for what, remedy in audited.faults)
    if not audited.mistakes:
        remedy = f"write {exercise.function}__what_was_done in solutions/mistakes/{topic}.py"
        yield Fault(exercise.name, "no mistake is listed", remedy)
    if audited.right < MIN_STYLES:
        what = f"only {audited.right} right answers in other styles; at least {MIN_STYLES} are needed"
        yield Fault(exercise.name, what, f"write {exercise.function}__style in tests/submissions/{topic}.py")


def _find_notebook_faults(notebook, questions):
    """Yield the faults of the assembled ``notebook``, both with its answers and as students get it."""
    for answered, who in ((True, "reference"), (False, "untouched release")):
        try:
            played = run_notebook(notebook, questions, answered)
        except CourseError as error:
            yield Fault("", *_describe_error(error))
            return
        for exercise in questions:
            wanted, got = exercise.points * answered, played.points.get(exercise.name)
            if got is not None and got != wanted:
                what = f"in the assembled notebook the {who} earns {got:g} of {exercise.points:g} points"
                yield Fault(exercise.name, what, "run the reference by hand on the hidden cases")
            if answered and exercise.name in played.complaints:
                what = f"the check cell rejects the reference: {played.complaints[exercise.name]}"
                yield Fault(exercise.name, what, "fix the shown case or the equations")


def _describe_effort(audited, notebook):
    """Return a sentence that says what was tried."""
    counts = {
        "mistakes": sum(audit.mistakes for audit in audited),
        "right answers": sum(audit.right for audit in audited),
        "equivalents": sum(audit.equivalents for audit in audited),
    }
    tried, made = sum(audit.tried for audit in audited), sum(audit.mutants for audit in audited)
    words = ", ".join(f"{count} {what}" for what, count in counts.items())
    cells = f"a notebook of {len(notebook.cells)} cells" if notebook else "no notebook until that is fixed"
    return f"Tried: {len(audited)} references, {words}, {tried} of {made} mutants, {cells}."
