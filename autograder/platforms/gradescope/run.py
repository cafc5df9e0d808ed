"""Grade one submission on Gradescope's machine: ``python -m autograder.platforms.gradescope.run /autograder``.

In: the folder that Gradescope prepares, as https://gradescope-autograders.readthedocs.io/en/latest/specs/ describes it.
Out: results/results.json in it, whatever happens. One process grades, and another one watches it; student code runs in neither,
but in a sandbox or, if that is impossible, as another user.

The output is for instructors, and hidden from students. It contains only the grader's own messages: those of other exceptions
could quote an answer.
"""

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Any

import nbformat

from autograder.errors import CourseError
from autograder.files import as_json, write_text
from autograder.grading import grade, submission
from autograder.grading.fingerprint import read_handed_in_files
from autograder.notebooks.handout import handout
from autograder.platforms.archives import RefusedEntry
from autograder.platforms.collect import AssignmentSpec, describe_refusal, select_files
from autograder.platforms.gradescope import results
from autograder.platforms.gradescope.packed import ASSIGNMENT_FILE, PackedAssignment
from autograder.sandbox import close, doctor

MAX_RUNS = 4  # a notebook, once more without the cell that ended it, and weights
SLACK_SECONDS = 1200.0  # of the clock, for starting, reading and judging
MAX_MEMORY_BYTES = 8 * 2**30  # limits the address space of the grading process
METADATA = "submission_metadata.json"
MAX_METADATA_BYTES = 50 * 2**20  # it contains all earlier results
ISOLATIONS = ("zygote", "user")  # the first that works is used
NO_SANDBOX = "No code was run: this machine cannot isolate submissions from the answers."
GRADER_FAILED = "This could not be graded: the grader itself failed."
TIMED_OUT = "This could not be graded: the grader was stopped because it did not end."


def main() -> None:
    """Start and watch the grading process, and write its results."""
    root = Path(sys.argv[1]).resolve()
    if sys.argv[2:]:
        _run_grader(root)
        return
    packed = PackedAssignment.from_json((root / "source" / ASSIGNMENT_FILE).read_text(encoding="utf-8"))
    seconds = MAX_RUNS * packed.limits.brake_seconds + SLACK_SECONDS  # Gradescope itself gives up much earlier
    report = _run_watched([sys.executable, "-B", "-m", __spec__.name, str(root), "grade"], seconds)
    write_text(as_json(report), root / "results" / "results.json")


def _run_watched(command, seconds):
    """Return the results that ``command`` writes to its standard output within ``seconds``."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=1, start_new_session=True)  # messages to stdout
    try:
        output, _ = process.communicate(timeout=seconds)
        return json.loads(output)
    except subprocess.TimeoutExpired:
        return results.build_failed_results(TIMED_OUT)
    except ValueError:
        print(f"the grading process exited with status {process.returncode}")
        return results.build_failed_results(GRADER_FAILED)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def _run_grader(root):
    """Grade, and write the results to the original standard output; other output goes to standard error."""
    answer = os.dup(1)
    os.dup2(2, 1)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY_BYTES, resource.getrlimit(resource.RLIMIT_AS)[1]))
    try:
        report = grade_one(root)
    except BaseException as error:
        print(f"{type(error).__name__}, raised in")
        for frame in traceback.extract_tb(error.__traceback__):
            print(f"  {frame.filename}:{frame.lineno}, {frame.name}")
        report = results.build_failed_results(GRADER_FAILED)
    finally:
        close()
    with os.fdopen(answer, "w") as file:
        json.dump(report, file)


def grade_one(root: Path) -> dict[str, Any]:
    """Return the results of the submission in ``root``. Runs it only if the canary cannot escape."""
    began = time.monotonic()
    packed = PackedAssignment.from_json((root / "source" / ASSIGNMENT_FILE).read_text(encoding="utf-8"))
    limits = packed.limits
    asked = AssignmentSpec(packed.topic, frozenset(packed.points), frozenset(packed.beside), limits.submission_mb)
    try:
        files = select_files(root / "submission", asked)
    except RefusedEntry as refusal:
        return results.build_refused_results(describe_refusal(str(refusal), packed.topic))
    templates = tuple(nbformat.reads(text, as_version=4) for text in packed.templates)
    hidden = tuple(str(root / name) for name in (f"source/{ASSIGNMENT_FILE}", "submission", "results", METADATA, "."))
    try:
        isolation = _choose_isolation(limits, hidden, grade.sources_to_prepare(templates[0]))
    except CourseError as error:
        print(error)
        return results.build_failed_results(NO_SANDBOX)
    content = files[f"{packed.topic}.ipynb"]
    facts = (
        packed.topic,
        packed.templates,
        packed.points,
        packed.seed,
        packed.digest,
        packed.extra,
        packed.attempt_seeds,
    )
    task = submission.Task(
        content,
        _read_beside(packed, files),
        results.attempt_number(_read_metadata(root), content),
        submission.ReleaseFacts(*facts),
        submission.Confinement(limits, isolation, hidden),
        packed.settings,
    )
    try:
        outcome = submission.grade_task(task)
    except CourseError as error:
        print(error)
        return results.build_failed_results(GRADER_FAILED)
    if outcome.set_aside:
        return results.build_refused_results(outcome.set_aside)
    return results.build_graded_results(outcome, content, tuple(map(handout, templates)), time.monotonic() - began)


def _choose_isolation(limits, hidden, prepared):
    """Return the first isolation that works on this machine.

    Raises ``CourseError`` if the canary escapes from all of them, or none starts.
    """
    refusals = []
    for isolation in ISOLATIONS:
        try:
            doctor.require(isolation, limits, hidden, prepared)
            print(f"isolation: {isolation}")
            return isolation
        except CourseError as error:
            refusals.append(f"{isolation}: {error}")
    raise CourseError("\n".join(refusals), "this machine", "see the section on Gradescope in the course's guide.")


def _read_beside(packed, files):
    """Return the files that belong to the notebook, by name; None for one that is too large."""
    names = [name for name in packed.beside if name in files]
    if not names:
        return {}
    with tempfile.TemporaryDirectory(prefix="handed-in-") as folder:
        for name in names:
            Path(folder, name).write_bytes(files[name])
        questions = submission.exercises_for(packed.topic, packed.seed, 0, packed.points, packed.extra)
        return read_handed_in_files(questions, folder)


def _read_metadata(root):
    with suppress(OSError), (root / METADATA).open("rb") as file:
        return file.read(MAX_METADATA_BYTES)
    return b""


if __name__ == "__main__":
    main()
