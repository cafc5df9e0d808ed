"""What does the grader say about every answer in the repository? Record it before a change to the grader, compare after it.

    python -m benchmarks.verdicts write before.jsonl
    python -m benchmarks.verdicts write after.jsonl
    python -m benchmarks.verdicts compare before.jsonl after.jsonl

A record has one JSON object per line: points, parts with their reasons, and hints of every reference, listed mistake, right
answer and blind answer, on the same hidden cases each time; then, for each student of the demonstration class, the row of
the class page and the text of the feedback page. ``compare`` prints what differs and exits with status 1 if anything does.
"""

import argparse
import itertools
import json
import re
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path

import torch

from autograder import exercises
from autograder.audit.calls import verdict_on
from autograder.audit.held_out import HELD_OUT, held_out_answers
from autograder.audit.run import right_answers
from autograder.batch.context import GradingOptions
from autograder.batch.grade_class import grade_class
from autograder.courses import demo
from autograder.courses.course import init
from autograder.exercises import Exercise
from autograder.paths import ROOT
from autograder.releases.release import release
from autograder.sandbox import Limits
from solutions import answer_key

SEED = 3
CALL_SECONDS = 60.0
SUBMISSIONS = ROOT / "tests" / "submissions"
LIMITS = Limits(cell_seconds=20, call_seconds=10, submission_seconds=120)
MARKUP = re.compile(r"<(script|style|svg|math)\b.*?</\1>|<[^>]*>", flags=re.DOTALL)
VARYING = re.compile(r"(?<=version )[0-9a-f]{6}|(?<=0x)[0-9a-f]+")  # on a page: the release, and memory addresses
CONTEXT = 60  # characters shown before the first difference of two texts


def topic_verdicts(topic: str) -> list[dict]:
    """Return the verdict on every answer to the exercises of ``topic``."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)  # several topics are judged in parallel
    return [_row(topic, *answer) for answer in every_answer(topic, SEED)]


def every_answer(topic: str, seed: int) -> Iterator[tuple[Exercise, str, Callable[..., object]]]:
    """Yield ``(exercise, name, function)`` of every answer to ``topic`` in the repository, with cases drawn from ``seed``."""
    unlisted = vars(exercises.module_at(SUBMISSIONS / "told.py"))
    mistakes = vars(exercises.module(f"solutions.mistakes.{topic}"))
    for exercise in exercises.load(topic, seed):
        if not exercise.is_called:
            continue
        yield exercise, "reference", exercises.reference_of(exercise)
        for origin, functions in (("mistake", mistakes), ("right", right_answers(topic)), ("told", unlisted)):
            for name, function in exercises.versions(functions, exercise.function).items():
                yield exercise, f"{origin} {name}", function
    for path in (HELD_OUT, *sorted((SUBMISSIONS / "blind").glob("*.jsonl"))):
        for exercise, answer in held_out_answers(topic, seed, path):
            yield exercise, f"{path.stem} {answer.name}", answer.function()


def _row(topic, exercise, name, function):
    verdict = asdict(verdict_on(function, exercise, CALL_SECONDS))
    return {"answer": f"{topic}: {name}", **verdict}


def class_verdicts(topic: str = "scoring") -> list[dict]:
    """Return the row and the feedback text of every student of the demonstration class, graded in the sandbox."""
    with tempfile.TemporaryDirectory() as folder:
        course = init(Path(folder) / "course")
        release(course, topic, seed=SEED)
        demo.hand_in(course, topic)
        rows = []
        for row in grade_class(course, topic, GradingOptions(limits=LIMITS)):
            page = course.feedback(row.student, topic)
            text = MARKUP.sub(" ", page.read_text(encoding="utf-8")) if page.is_file() else ""
            text = VARYING.sub("", " ".join(text.split()))
            untimed = str(replace(row, spent={}, used={}))
            rows.append({"answer": f"class: {row.student}", "row": untimed, "feedback": text})
        return sorted(rows, key=lambda row: row["answer"])


def write(path: Path, jobs: int) -> None:
    """Write the record to ``path``; report finished topics on stderr."""
    with ProcessPoolExecutor(jobs) as pool, path.open("w", encoding="utf-8") as file:
        for topic, rows in zip(answer_key.topics(), pool.map(topic_verdicts, answer_key.topics()), strict=True):
            file.writelines(json.dumps(row, sort_keys=True) + "\n" for row in rows)
            print(f"{topic}: {len(rows)} answers", file=sys.stderr)
        rows = class_verdicts()
        file.writelines(json.dumps(row, sort_keys=True) + "\n" for row in rows)
        print(f"demonstration class: {len(rows)} students", file=sys.stderr)


def compare(before: Path, after: Path) -> int:
    """Print what differs between two records; return how many answers differ."""
    old, new = (
        {(row["answer"], row.get("exercise")): row for row in map(json.loads, path.open(encoding="utf-8"))}
        for path in (before, after)
    )
    different = [key for key in old.keys() | new.keys() if old.get(key) != new.get(key)]
    for key in sorted(different, key=str):
        one, other = old.get(key, {}), new.get(key, {})
        for field in sorted(one.keys() | other.keys()):
            texts = str(one.get(field)), str(other.get(field))
            if texts[0] != texts[1]:
                same = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(*texts, strict=False))
                start = max(0, sum(1 for _ in same) - CONTEXT)
                print(f"{key[0]}: {field}")
                for sign, text in zip("-+", texts, strict=True):
                    print(f"  {sign} {text[start:][: 4 * CONTEXT]}")
    print(f"{len(old)} answers before, {len(new)} after: {len(different)} differ.")
    return len(different)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    writing = commands.add_parser("write", help="grade everything and write a record")
    writing.add_argument("record", type=Path)
    writing.add_argument("--jobs", type=int, default=2)
    comparing = commands.add_parser("compare", help="print what differs between two records")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    arguments = parser.parse_args()
    if arguments.command == "write":
        write(arguments.record, arguments.jobs)
    elif compare(arguments.before, arguments.after):
        sys.exit(1)


if __name__ == "__main__":
    main()
