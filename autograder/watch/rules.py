"""Decide what to do with an attempt by the rules of course.toml. Pure: the clock and the record are arguments.

In: an assignment's rules, the attempts graded so far, a new one. Out: a ``Decision``.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from autograder.courses.plan import Assignment
from autograder.watch.arrivals import Arrival, Clock

GRADE, WAIT, USED_UP = "grade", "wait", "used up"


@dataclass(frozen=True)
class Decision:
    """What to do with an attempt: ``what`` is ``GRADE``, ``WAIT`` or ``USED_UP``; ``seconds`` is how long it still waits.

    ``attempt`` is its number, from 1, or that of an earlier attempt with the same content.
    """

    what: str
    attempt: int
    seconds: float = 0.0


def decide(
    rules: Assignment,
    graded: Sequence[Arrival],
    recorded: Collection[str],
    digest: str,
    notebook: str,
    now: Clock,
) -> Decision:
    """Return the ``Decision`` about the attempt with these hashes of all its files and of its ``notebook``.

    ``graded`` lists the student's attempts so far, in the order of arrival; ``recorded`` has the notebook hashes in the
    course's own record of graded attempts, some of which `grade` may have graded without `watch`.
    """
    digests = list(dict.fromkeys(attempt.digest for attempt in graded))
    if digest in digests:
        return Decision(GRADE, digests.index(digest) + 1)
    elsewhere = [notebook for notebook in recorded if notebook not in {arrival.notebook for arrival in graded}]
    if notebook in elsewhere:
        return Decision(GRADE, len(digests) + elsewhere.index(notebook) + 1)
    used = len(digests) + len(elsewhere)
    if rules.attempts and used >= rules.attempts:
        return Decision(USED_UP, used + 1)
    ended = [attempt for attempt in graded if attempt.ended]
    if rules.minutes_between and ended:
        left = 60 * rules.minutes_between - min(now.seconds_since(attempt) for attempt in ended)
        if left > 0:
            return Decision(WAIT, used + 1, left)
    return Decision(GRADE, used + 1)
