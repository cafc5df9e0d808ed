"""Release an assignment: assemble it, prove that it grades correctly, and let nbgrader make the students' notebook.

In: a course, a topic, a seed. Out: source, release and marking scheme in the course directory. If a check fails, nothing
changes.
"""

import secrets
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from autograder import exercises
from autograder.courses.course import Course, init
from autograder.courses.locking import patient_lock
from autograder.courses.packages import find_modules
from autograder.errors import CourseError
from autograder.files import write_bytes, write_text
from autograder.gradebook.assignments import refuse_changed_exercises, refuse_other_exercises, store_due_dates
from autograder.gradebook.backup import back_up
from autograder.gradebook.generate import begin_gradebook, generate
from autograder.notebooks import assemble
from autograder.notebooks.cell_ids import COMPARE, IMPORTS, check_id, exercise_of_text, id_of, test_id, text_id
from autograder.paths import BOOK
from autograder.releases.proof import prove, prove_fairness
from solutions import answer_key


@dataclass(frozen=True)
class Release:
    """A release: its file, its number, and sentences on what it changed."""

    path: Path
    version: int
    changes: tuple[str, ...]


def release(
    course: Course,
    topic: str,
    seed: int | None = None,
    book: str | Path = BOOK,
    website: str = "",
    progress: Callable[[str], object] = lambda _: None,
    attempt_seeds: Sequence[int] = (),
    state: str = "",
) -> Release:
    """Make the source and the release of ``topic`` in ``course``.

    It links to its chapter on ``website`` if given. The course's plan determines its exercises, their points and the due date.
    Changes since the last release are added to the course's log. ``attempt_seeds`` are the seeds of the attempts after the
    first; each is proved like the first and recorded. Seeds recorded earlier remain for the attempts after these.

    Others can grade and mark during the proof. It waits for them before it writes, and writes only if the course's
    ``Releases.hash`` is still ``state``, by default its value at the beginning.

    Raises ``AnswerKeyError`` or ``CourseError`` if key, page and solutions do not match, the assignment does not grade
    correctly, or the course's plan or last release has changed meanwhile.
    """
    state = state or course.releases(topic).hash()
    plan = course.plan()
    wanted = plan.assignment(topic)
    chosen = course.releases(topic).choose_seed(seed)
    seed = draw_seed() if chosen is None else chosen
    everything, *later = (exercises.load(topic, attempt_seed, wanted.extra) for attempt_seed in (seed, *attempt_seeds))
    for drawn in (everything, *later):
        prove_fairness(drawn, exercises.load(topic, 0, wanted.extra))
    questions = wanted.select_questions(everything)
    left_out = [exercise.name for exercise in everything if exercise.name not in {asked.name for asked in questions}]
    added = find_modules(plan.packages)
    source = assemble.source_notebook(topic, questions, book, website, plan.notice(topic), left_out, added)
    attempts = {
        attempt_seed: wanted.select_questions(drawn) for attempt_seed, drawn in zip(attempt_seeds, later, strict=True)
    }
    with tempfile.TemporaryDirectory(prefix="release-") as folder:  # first in a trial course
        trial = init(folder)
        assemble.write_notebook(source, trial.source(topic))
        begin_gradebook(trial)
        generate(trial, topic, trial.gradebook.url)
        released = nbformat.read(trial.releases(topic).file, as_version=4)
        prove(source, released, questions, tuple(attempts.values()), progress)
        with patient_lock(course, progress):
            if course.releases(topic).hash() != state:
                what = f"course.toml or the release of {topic} has changed while this one was proved"
                raise CourseError(what, str(course.root), "nothing was written: run `release` again.")
            return _write(course, trial, topic, seed, everything, questions, source, attempts)


def _write(course, trial, topic, seed, everything, questions, source, attempts):
    """Write the release made in ``trial``; ``attempts`` has the questions with later attempts' hidden cases, by seed."""
    before, released = course.releases(topic).last(), nbformat.read(trial.releases(topic).file, as_version=4)
    refuse_changed_exercises(course, topic, released)
    back_up(course, "release")
    begin_gradebook(course)
    generate(trial, topic, course.gradebook.url, course.gradebook.course_id)
    assemble.write_notebook(source, course.source(topic))
    write_text(assemble.marking_scheme(topic, questions), course.marking_scheme(topic))
    write_bytes(trial.releases(topic).file.read_bytes(), course.releases(topic).file)
    digest = exercises.digest(everything)
    changes = describe_changes_since(before, released, (seed, digest))
    attempt_seeds = [*attempts, *course.releases(topic).attempt_seeds(seed)[len(attempts) :]]
    number = course.releases(topic).record(seed, digest, changes, attempt_seeds)
    course.releases(topic).load()  # caches the facts of its exercises
    store_due_dates(course, topic)
    return Release(course.releases(topic).file, number, changes)


def refuse_changed_selection(course: Course, topic: str) -> None:
    """Refuse a release of other exercises than students have been graded for, before anything is drawn or proved.

    Raises ``CourseError``.
    """
    plan = course.plan().assignment(topic)
    entries = map(answer_key.FromEntry, answer_key.load(topic).values())
    refuse_other_exercises(course, topic, {entry.name for entry in entries if plan.asks(entry)})


def draw_seed() -> int:
    """Draw the seed of an assignment that has none."""
    return secrets.randbelow(2**32)


def write_handouts(folder: str | Path, topics: Sequence[str], website: str = "") -> list[Path]:
    """Write the student notebooks of ``topics`` into ``folder``, as released but not proved, for a website; return their paths."""
    with tempfile.TemporaryDirectory(prefix="handouts-") as root:
        trial = init(root)
        begin_gradebook(trial)
        for topic in topics:
            source = assemble.source_notebook(topic, exercises.load(topic, 0), website=website)
            assemble.write_notebook(source, trial.source(topic))
            generate(trial, topic, trial.gradebook.url)
        notebooks = [trial.releases(topic).file.read_bytes() for topic in topics]
    paths = [Path(folder) / f"{topic}.ipynb" for topic in topics]
    for path, content in zip(paths, notebooks, strict=True):
        write_bytes(content, path)
    return paths


def describe_changes_since(
    before: tuple[NotebookNode, int, str] | None, new: NotebookNode, state: tuple[int, str]
) -> tuple[str, ...]:
    """Return sentences on what the release ``new`` changes since ``before``, which is None for the first release.

    ``state`` is the seed of the new release and the hash of its exercises, the second and third items of ``before``.
    """
    if before is None:
        return ("The first release.",)
    old, *earlier = before
    sentences = describe_changes(old, new)
    if state[0] != earlier[0]:
        sentences.append("Hidden cases: drawn from another seed.")
    elif state[1] != earlier[1]:
        sentences.append("Hidden cases, references or mistakes: different from before.")
    return tuple(sentences)


def describe_changes(old: NotebookNode, new: NotebookNode) -> list[str]:
    """Return what differs between two releases, a sentence for each exercise."""
    before, after = ({id_of(cell): cell for cell in notebook.cells} for notebook in (old, new))
    asked_before, asked = (
        [name for cell_id in cells if cell_id and (name := exercise_of_text(cell_id))] for cells in (before, after)
    )
    sentences = [f"{name} is new." for name in sorted(set(asked) - set(asked_before))]
    sentences += [f"{name} is gone." for name in sorted(set(asked_before) - set(asked))]
    for name in asked:
        if name in asked_before and (parts := _describe_parts(name, before, after)):
            sentences.append(f"{name}: {', '.join(parts)}.")
    if _source(before, "heading") != _source(after, "heading"):
        sentences.append("The heading.")
    if any(_source(before, name) != _source(after, name) for name in (COMPARE, IMPORTS)):
        sentences.append("What the checks use.")
    return sentences or (["The order of its cells, or cells without a name."] if old.cells != new.cells else [])


def _describe_parts(name, before, after):
    """Describe the parts of the exercise ``name`` that differ between two releases, given as cells by name."""
    parts = {text_id(name): "its text", name: "its starter", check_id(name): "its check"}
    changed = [what for cell_id, what in parts.items() if _source(before, cell_id) != _source(after, cell_id)]
    points = [sum(_cell_points(cells, cell_id) for cell_id in (name, test_id(name))) for cells in (before, after)]
    return [*changed, f"its points, from {points[0]:g} to {points[1]:g}"] if points[0] != points[1] else changed


def _source(cells, name):
    return cells[name].source if name in cells else None


def _cell_points(cells, name):
    meta = cells[name].metadata.nbgrader if name in cells else None
    return float(meta.points) if meta is not None and meta.grade else 0.0
