"""Run the cells of an assembled notebook in order, in this process, as stock nbgrader does when it grades.

In: a source notebook whose code is all the project's own. Out: the points of each hidden test, and what the check cells
say. Anybody else's answers must run in the sandbox instead.
"""

import ast
import contextlib
import re
import warnings
from collections.abc import Iterable
from dataclasses import dataclass

from nbformat import NotebookNode

from autograder.errors import CourseError
from autograder.exercises import Exercise, load_warm_ups
from autograder.notebooks.cell_ids import check_id, code_cells, id_of, run_id, test_id

ANSWER = re.compile(r"### BEGIN SOLUTION.*?### END SOLUTION", flags=re.DOTALL)


@dataclass(frozen=True)
class NotebookRun:
    """The result of running a notebook: exercise -> points, and exercise -> the complaint of its check cell."""

    points: dict[str, float]
    complaints: dict[str, str]


def run_notebook(notebook: NotebookNode, questions: Iterable[Exercise], answered: bool = True) -> NotebookRun:
    """Run ``notebook``, as released if not ``answered``, and return its ``NotebookRun`` for the ``questions`` that are called.

    The cells of a trained model are left out, because training takes minutes.

    Raises
    ------
    CourseError
        If any cell fails other than a check, a test or, if not ``answered``, a solution.
    """
    questions = tuple(questions)
    trained = [exercise.name for exercise in questions if exercise.trained]
    left_out = {make(name) for name in trained for make in (check_id, run_id, test_id)}
    tests = {test_id(exercise.name): exercise.name for exercise in questions if exercise.is_called}
    checks = {check_id(exercise.name): exercise.name for exercise in questions if exercise.is_called}
    # warm-ups are not answered
    warm_ups = {check_id(exercise.name) for exercise in load_warm_ups(questions[0].entry.topic)} if questions else set()
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
                elif name in warm_ups or (not answered and cell.metadata.nbgrader.solution):
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
