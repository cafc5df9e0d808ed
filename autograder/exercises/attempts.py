"""The seeds of the hidden cases that each attempt of a student meets.

In: the seed of a release, the number of an attempt. Out: seeds. Pure.
"""

from collections.abc import Iterator, Sequence

MAX_DRAWS = 50  # of hidden cases, until every known mistake is caught by one


def candidate_seeds(seed: int, attempt: int, recorded: Sequence[int] = ()) -> Iterator[int]:
    """Yield the seeds from which the hidden cases of ``attempt`` may be drawn, the one to try first before the others.

    The first attempt, number 0, has the ``seed`` of the release, and no other. ``recorded`` are the seeds of the attempts after
    it that the release proved.
    """
    if attempt == 0:
        yield seed
        return
    yield from recorded[attempt - 1 : attempt]
    for draw in range(MAX_DRAWS):
        yield (seed + 1_000_003 * attempt + 7919 * draw) % 2**32
