"""Does the seed of the hidden cases affect what an answer earns? Judge every answer in the repository with several seeds.

    python -m benchmarks.seeds
    python -m benchmarks.seeds --seeds 5 --topics softmax

Prints each answer whose points differ between seeds, and the share of such answers. Exits with status 1 if there are any.
"""

import argparse
import itertools
import json
import sys
import warnings
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import torch

from autograder.audit.calls import reply_to
from autograder.grading import judge
from benchmarks.verdicts import CALL_SECONDS, every_answer
from solutions import answer_key


def points_by_seed(topic: str, seeds: int, step: int = 1) -> dict[str, list[float]]:
    """Return what every ``step``-th answer to ``topic`` earns with each seed from 0 on: "answer (of points)" -> points."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    earned: dict[str, list[float]] = {}
    for seed in range(seeds):
        answers = every_answer(topic, seed)  # new functions each time: some keep state between calls
        for exercise, name, function in itertools.islice(answers, 0, None, step):
            replies = [reply_to(function, exercise, case, CALL_SECONDS) for case in exercise.hidden]
            points = judge.points_of(exercise, replies.__getitem__)
            earned.setdefault(f"{topic}: {name} (of {exercise.points:g})", []).append(points)
    return earned


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--topics", nargs="*", default=answer_key.topics())
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--save", type=Path, help="write the points of every answer to this file, as JSON")
    arguments = parser.parse_args()
    earned: dict[str, list[float]] = {}
    with ProcessPoolExecutor(arguments.jobs) as pool:
        for topic, points in zip(
            arguments.topics, pool.map(partial(points_by_seed, seeds=arguments.seeds), arguments.topics), strict=True
        ):
            print(f"{topic}: {len(points)} answers", file=sys.stderr)
            earned |= points
    if arguments.save:
        arguments.save.write_text(json.dumps(earned, indent=0), encoding="utf-8")
    moving = {answer: points for answer, points in earned.items() if len(set(points)) > 1}
    for answer, points in moving.items():
        print(answer, ", ".join(f"{count} times {each:g}" for each, count in Counter(points).most_common()))
    share = len(moving) / max(1, len(earned))
    print(f"{len(moving)} of {len(earned)} answers ({share:.1%}) earn different points with {arguments.seeds} seeds.")
    sys.exit(bool(moving))


if __name__ == "__main__":
    main()
