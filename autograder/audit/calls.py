"""Call a function of this project as the sandbox would call a student's, and judge what it returns.

In: a function, an exercise. Out: a ``Reply``, a ``Verdict``. Interrupts calls that run too long; touches nothing else.
"""

import contextlib
import io
import warnings
from collections.abc import Callable, Iterator

import numpy as np

from autograder import exercises
from autograder.exercises import Case, Exercise, compare
from autograder.exercises.drawing import DrawnCall
from autograder.grading import judge
from autograder.grading.judge import Verdict
from autograder.grading.stopwatch import time_limit
from autograder.sandbox import Reply, wire

CALL_SECONDS = 2.0  # of CPU time that one call of a mutant may use
UNHURRIED_SECONDS = 60.0  # the same where the machine's speed must not decide the outcome


def verdict_on(function: Callable[..., object], exercise: Exercise, seconds: float | None = None) -> Verdict:
    """Return the ``Verdict`` that ``function`` earns on the hidden cases of ``exercise``, without a sandbox."""
    last: dict[str, object] = {}
    replies = {
        (exercise.name, n): reply_to(function, exercise, case, seconds, last) for n, case in enumerate(exercise.hidden)
    }
    return judge.judge([exercise], replies)[0]


def reply_to(
    function: Callable[..., object],
    exercise: Exercise,
    case: Case,
    seconds: float | None = None,
    last: dict[str, object] | None = None,
) -> Reply:
    """Return the reply that a sandbox would give for one call, after the one that left its arguments in ``last``."""
    turn, printed = exercises.convert(exercise), io.StringIO()
    given = {name: turn(item) for name, item in case.inputs.items()}
    try:
        with call_limit(seconds), contextlib.redirect_stdout(printed):
            value, changed = compare.call_case(function, given, case.gradients, last)
    except Exception as error:
        return Reply(raised=type(error).__name__)
    value = wire.decode(wire.encode(value))
    return Reply(value, changed=tuple(changed), printed=bool(printed.getvalue()))


def call_drawn(function: Callable[..., object], exercise: Exercise, given: DrawnCall) -> object:
    """Return what ``function`` returns for the drawn call ``given``; tensors keep the memory order of their arrays."""
    values = {name: _tensor(item) for name, item in given.inputs.items()} if exercise.in_torch else given.inputs
    with contextlib.redirect_stdout(None), silence_warnings():
        return compare.call_case(function, values, given.gradients)[0]


def _tensor(item):
    import torch

    return torch.from_numpy(item.copy(order="K")) if isinstance(item, np.ndarray) and item.ndim else item


class TookTooLong(Exception):
    """Raised when a call uses too much CPU time; it counts like any other exception."""


@contextlib.contextmanager
def call_limit(seconds: float | None = None) -> Iterator[None]:
    """Interrupt the block after ``seconds`` of CPU time, by default ``CALL_SECONDS``; in the main thread only."""
    with silence_warnings(), time_limit(seconds or CALL_SECONDS, TookTooLong):
        yield


@contextlib.contextmanager
def silence_warnings() -> Iterator[None]:
    """Suppress warnings, because mutants and the inputs that expose them divide by 0."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield
