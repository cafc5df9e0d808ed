"""Run an assembled notebook as stock nbgrader grades it, in this process: its cells one after the other.

In: a source notebook, in which all the code is the project's own. Out: the points of each hidden test, and what the check
cells say. For answers of anybody else there is the sandbox.
"""

import ast
import contextlib
import re
import warnings
from collections.abc import Iterable
from dataclasses import dataclass

from nbformat import NotebookNode

from autograder.errors import CourseError
from autograder.exercises import Exercise
from autograder.notebooks.cell_ids import check_id, code_cells, id_of, run_id, test_id

ANSWER = re.compile(r"### BEGIN SOLUTION.*?### END SOLUTION", flags=re.DOTALL)


@dataclass(frozen=True)
class NotebookRun:
    """The result of running a notebook: exercise -> points, and exercise -> the complaint of its check cell."""

    points: dict[str, float]
    complaints: dict[str, str]


def run_notebook(notebook: NotebookNode, questions: Iterable[Exercise], answered: bool = True) -> NotebookRun:
    """Return the ``NotebookRun`` of ``notebook`` for those of ``questions`` that are called; else as released, if not ``answered``.

    A trained model takes minutes, so its cells are left out.

    Raises
    ------
    CourseError
        If a cell fails that is no check and no test.
    """
    questions = tuple(questions)
    trained = [exercise.name for exercise in questions if exercise.trained]
    left_out = {make(name) for name in trained for make in (check_id, run_id, test_id)}
    tests = {test_id(exercise.name): exercise.name for exercise in questions if exercise.is_called}
    checks = {check_id(exercise.name): exercise.name for exercise in questions if exercise.is_called}
    scope, points, complaints = {"__name__": "notebook"}, {}, {}
    with warnings.catch_warnings(), contextlib.redirect_stdout(None):
        warnings.simplefilter("ignore")
        for cell in code_cells(notebook):
            source, name = cell.source, id_of(cell)
            if name in left_out:
                continue
            if not answered:
                source = ANSWER.sub("raise NotImplementedError()", source)
            try:
                value = _run(source, scope)
            except Exception as error:
                if name in tests:
                    points[tests[name]] = 0.0
                elif name in checks:
                    complaints[checks[name]] = str(error)
                elif not answered and cell.metadata.nbgrader.solution:
                    continue
                else:
                    what = f"it fails: {type(error).__name__}: {error}"
                    raise CourseError(
                        what, f"the assembled notebook, cell {name}", "fix the parts it is assembled from."
                    ) from error
            else:
                if name in tests:
                    points[tests[name]] = value
    return NotebookRun(points, complaints)


def _run(source, scope):
    """Run ``source`` in ``scope``; return the value of its last line if that is an expression."""
    body = ast.parse(source).body
    last = ast.Expression(body.pop().value) if body and isinstance(body[-1], ast.Expr) else None
    exec(compile(ast.Module(body, []), "<cell>", "exec"), scope)
    return eval(compile(last, "<cell>", "eval"), scope) if last else None
