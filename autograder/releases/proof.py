"""Prove an assignment before students see it: the reference earns every automatic point, the untouched release none.

In: the source and the release of an assignment, its exercises. Out: an exception, or nothing. Runs both in the sandbox.
"""

import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import cast

import nbformat
from nbformat import NotebookNode
from nbgrader.utils import determine_grade

from autograder import sandbox
from autograder.errors import CourseError
from autograder.exercises import Exercise, key_linter
from autograder.exercises.packing import visible_source
from autograder.grading import grade, judge
from autograder.notebooks.cell_ids import id_of, run_id, test_id


def prove(
    source: NotebookNode,
    released: NotebookNode,
    questions: Sequence[Exercise],
    later: Sequence[Sequence[Exercise]] = (),
    progress: Callable[[str], object] = lambda _: None,
) -> None:
    """Prove that the reference earns every automatic point, and the untouched release none.

    ``later`` has the same questions with the hidden cases of later attempts, which only this grader uses. ``progress`` is
    called with each step. Raises ``CourseError`` if either claim fails, with this grader or with stock nbgrader.
    """
    place = f"assignment {questions[0].name.split('-')[0]}"
    automatic = {e.name: e.points for e in questions if e.is_automatic}
    untouched, isolation = _restore_tests(released, source, questions), choose_trusted_isolation()
    step, steps = 0, 2 * (2 + len(later))

    def begin(who, grader):
        nonlocal step
        step += 1
        progress(f"Proof of the {place}, {step} of {steps}: grading the {who} with {grader} …")

    for notebook, who, wanted in ((source, "reference", automatic), (untouched, "untouched release", None)):
        files = reference_files(questions) if wanted else {}
        earned = {}
        for number, asked in enumerate((questions, *later), 1):
            begin(who, f"the cases of attempt {number}" if later else "this grader")
            judged = grade.grade(notebook, asked, isolation=isolation, files=files).by_exercise
            grader = "the grader" if number == 1 else f"the grader in attempt {number}"
            earned[grader] = {name: judged[name].earned for name in automatic}
        begin(who, "stock nbgrader")
        earned["stock nbgrader"] = _stock_points(notebook, questions, files, isolation)
        for name, points in automatic.items():
            expected = points if wanted else 0.0
            for grader, by_exercise in earned.items():
                if (got := by_exercise[name]) != expected:
                    raise CourseError(
                        f"the {who} earns {got:g} of {points:g} points for {name} from {grader}; {expected:g} is right",
                        place,
                        "run the reference by hand on the hidden cases; a starter must not already answer the exercise.",
                    )
    _refuse_leaks(released, questions, place)


def prove_fairness(questions: Sequence[Exercise], others: Sequence[Exercise]) -> None:
    """Prove that each listed mistake earns the same points with the cases of ``questions`` as with those of ``others``.

    These are the same exercises with hidden cases drawn from another seed. Raises ``CourseError`` if the points differ.
    """
    for exercise, other in zip(questions, others, strict=True):
        for name in exercise.mistakes if exercise.is_called else ():
            earned, elsewhere = (points_of_mistake(each, name) for each in (exercise, other))
            if earned != elsewhere:
                raise CourseError(
                    f"the mistake {name} earns {earned:g} points with this seed and {elsewhere:g} with seed 0",
                    exercise.entry.where,
                    "add a hidden case that decides it, so that every release grades it the same way.",
                )


def points_of_mistake(exercise: Exercise, name: str) -> float:
    """Return the points of an answer that makes the listed mistake ``name``."""

    def reply_to(number):
        outcome = exercise.hidden[number].mistaken[name]
        return sandbox.Reply(outcome.value, raised=outcome.raised)

    return judge.points_of(exercise, reply_to)


def reference_files(questions: Sequence[Exercise]) -> dict[str, bytes]:
    """Return the files of parameters that answer ``questions``, as a student hands them in: name -> bytes.

    They hold the recorded models of ``solutions.trained``; nothing is trained.
    """
    return {e.trained.file: _pack_recorded_model(Path(e.trained.file).stem) for e in questions if e.trained}


def _pack_recorded_model(name):
    from solutions.in_torch.capstone import save_weights
    from solutions.trained import load_trained

    file = io.BytesIO()
    save_weights(load_trained(name), file)
    return file.getvalue()


def choose_trusted_isolation() -> str:
    """Return the isolation for our own code: the default if this machine has a sandbox, else none."""
    try:
        sandbox.warm_up(sandbox.Limits())
    except CourseError:
        return "none"
    return sandbox.DEFAULT


def _stock_points(notebook, questions, files, isolation):
    """Return the points by exercise if the hidden test cells run unchanged, as in nbgrader without the plugin."""
    cells = [(place, cell) for place, cell in enumerate(notebook.cells) if cell.cell_type == "code"]
    left_out = {run_id(exercise.name) for exercise in questions}
    sources = ["" if cell.metadata.nbgrader.grade_id in left_out else cell.source for _, cell in cells]
    script = sandbox.Script(tuple(sandbox.Cell(source) for source in sources), {}, files=files)
    run = sandbox.run(script, sandbox.Limits(cell_seconds=120), isolation)
    if run.failure:
        raise CourseError(run.failure, "the assembled notebook", "run it by hand and see where it stops.")
    points = {}
    for number, (_, cell) in enumerate(cells):
        cell = NotebookNode({**cell, "outputs": nbformat.from_dict(run.outputs[number][1])})
        points[cell.metadata.nbgrader.grade_id] = determine_grade(cell)[0] if cell.metadata.nbgrader.grade else None
    return {e.name: points[test_id(e.name)] for e in questions if e.is_automatic}


def _restore_tests(released, source, questions):
    """Return the release with its hidden tests restored, as nbgrader grades it."""
    tests = {test_id(exercise.name) for exercise in questions}
    whole = {id_of(cell): cell for cell in source.cells if id_of(cell) in tests}
    cells = [whole.get(id_of(cell), cell) for cell in released.cells]
    return cast(NotebookNode, nbformat.from_dict({**released, "cells": cells}))


def _refuse_leaks(released, questions, place):
    """Refuse a release that shows an answer, or whose key the linter refuses."""
    text = "\n".join(visible_source(cell.source) for cell in released.cells)
    for marker in ("BEGIN SOLUTION", "END SOLUTION", "HIDDEN TESTS"):
        if marker in text:
            raise CourseError(f"{marker} is left in the release", place, "close every region that you open.")
    for exercise in questions:
        body = exercise.source.partition("### BEGIN SOLUTION")[2].partition("### END SOLUTION")[0].strip()
        if body and body in text:
            raise CourseError(
                f"the answer to {exercise.name} appears in the release", place, "take it out of the text."
            )
    key_linter.refuse(questions, text=text)
