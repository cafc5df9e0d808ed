"""Grade a whole class: send submissions to workers, record what comes back, write autograded notebooks and feedback.

In: a course, a topic. Out: one ``Row`` a student. Writes verdicts to the course's store, and what nbgrader keeps. This
process reads bytes, sends them away and writes what it gets: it parses, runs and renders nothing that a student chose.
Nobody's submission stops another's. Killed at any moment and started again, it goes on where it was.
"""

import concurrent.futures
import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import sqlalchemy.exc
from pebble import ProcessExpired
from traitlets.config.loader import PyFileConfigLoader

from autograder import sandbox
from autograder.courses.course import BESIDE, SECRET, TIMESTAMP, Course, Released
from autograder.courses.locking import the_only_one
from autograder.errors import CourseError, of_the_disk, of_the_gradebook
from autograder.feedback import notices, pages
from autograder.feedback.marks import CellResult, Marks, Standing
from autograder.files import write_bytes, write_text
from autograder.gradebook.backup import back_up
from autograder.gradebook.lateness import Received, received
from autograder.gradebook.recorder import Recorder
from autograder.grading.grade import Graded, fingerprint, handed_in_files, kept_files, prepared_for
from autograder.grading.stopwatch import Stopwatch
from autograder.grading.submission import Paper, Task, grade_task
from autograder.grading.workers import Workers
from autograder.notebooks import repair
from autograder.notebooks.cell_ids import points_id
from autograder.notebooks.handout import handout
from autograder.platforms import collect
from autograder.sandbox import Limits, cgroup, doctor
from solutions.answer_key import AnswerKeyError

SLACK = 240.0  # seconds that starting, reading and writing may take on top of what a submission may run
PAGE_SECONDS = 60.0
TAKEN_BACK = "The gradebook has the points of an attempt that was taken back: change them in the formgrader."
MOST_BESIDE = 1000  # bytes


class Executor(Protocol):
    """What runs submissions. Where it says how many ``workers`` it has, as many are kept busy."""

    def submit(self, task: Callable[..., Any], /, *args: Any) -> Future: ...


@dataclass(frozen=True)
class Move:
    """What would become of one mark: of an exercise, of "late penalty", or of "all" for who has none yet.

    ``why`` says of a written answer that it is no longer the one which a person has marked.
    """

    what: str
    before: float | None  # None: nothing yet, or a person must mark it
    after: float | None
    why: str = ""


@dataclass
class Row:
    """What became of one submission. ``points`` maps an exercise to points, None where a person must mark it.

    ``waiting`` names those that a person must look at, marked before or not.
    """

    student: str
    points: dict[str, float | None] = field(default_factory=dict)
    waiting: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()  # why points are missing where no mistake was recognised
    notes: tuple[str, ...] = ()
    set_aside: str = ""
    failed: str = ""
    moves: tuple[Move, ...] = ()  # where nothing was recorded: what would have changed
    reused: bool = field(default=False, compare=False)  # nothing was run, nothing recorded again
    spent: dict[str, float] = field(default_factory=dict, compare=False)  # stage -> seconds
    used: dict[str, float] = field(default_factory=dict, compare=False)  # stage -> seconds of CPU

    @property
    def total(self) -> float:
        return sum(points or 0.0 for points in self.points.values())


def grade_class(
    course: Course,
    topic: str,
    limits: Limits,
    isolation: str = sandbox.DEFAULT,
    students: Sequence[str] = (),
    workers: int | None = None,
    progress: Callable[[int, int, Row], object] | None = None,
    executor: Executor | None = None,
    feedback: bool = True,
    again: bool = False,
    notice: Callable[[str], object] | None = None,
    released: Released | None = None,
    dry: bool = False,
) -> list[Row]:
    """Grade ``students`` (by default everybody who handed in) and return their rows, in order.

    A ``dry`` run records nothing and writes no page and no notebook: the rows say whose marks would move. It keeps the
    verdicts, so that the run after it has nothing to run.

    ``progress`` is called as ``progress(done, total, row)``. ``executor`` runs the submissions; by default, processes of
    this machine do, ``workers`` of them. With ``again``, what was recorded before is run and recorded anew. ``notice`` is
    called with what else an instructor should know. ``released`` is what the course says of ``topic``, if that was asked.

    Raises
    ------
    CourseError
        If there is nothing to grade, the sandbox cannot be used, another process is grading here, or the machine does
        not let it go on. What was recorded until then stays.
    """
    released = released or course.released(topic)
    found = course.students(topic)
    missing = sorted(set(students) - set(found))
    if missing or not found:
        raise CourseError(
            f"no submission for {topic} of {', '.join(missing)}"
            if missing
            else f"nobody has handed in anything for {topic}",
            str(course.submitted),
            f"put notebooks at submitted/STUDENT/{topic}/{topic}.ipynb.",
        )
    names = sorted(students) or found
    count: int = workers or getattr(executor, "workers", None) or os.cpu_count() or 1
    count = min(count, len(names))  # one that would have nothing to do need not be started
    with contextlib.ExitStack() as stack:
        stack.enter_context(the_only_one(course))
        if not dry:
            back_up(course, "grade")
        cgroup.remove_left_behind(limits)
        recorder = stack.enter_context(Recorder(course, topic, dry))
        if recorder.put_back and notice:
            notice(
                f"The gradebook lacked the assignment {topic} as released: it was put back. If marks or due dates are "
                "missing now, a backup may have them: `python -m autograder restore` lists them."
            )

        def start():  # not before there is something to run
            return executor or stack.enter_context(
                _examined_workers(course, count, limits, isolation, prepared_for(released.notebooks[0]))
            )

        batch = _Batch(course, topic, released, limits, isolation, recorder, start, feedback and not dry, again)
        return batch.grade(names, 2 * count + 2, progress or (lambda *args: None))


@contextlib.contextmanager
def _examined_workers(course, count, limits, isolation, prepared):
    """Give ``Workers``, warm, after the canary was stopped in the sandbox of one of them.

    On a cluster, every machine was asked when the connection was made.
    """
    seconds = {grade_task: limits.submission_seconds + SLACK, pages.feedback: PAGE_SECONDS}
    with Workers(count, seconds) as workers:
        examined = [workers.submit(doctor.require, isolation, limits, course.hidden, prepared)]
        for _ in range(count - 1):
            examined.append(workers.submit(sandbox.warm_up, limits, isolation, course.hidden, prepared))
        for future in examined:
            future.result()
        yield workers


class _Batch:
    """One run over a class. Holds as many submissions at a time as the workers need, and no more."""

    def __init__(self, course, topic, released, limits, isolation, recorder, start, feedback, again):
        self.course, self.topic, self.released = course, topic, released
        self.limits, self.isolation, self.recorder = limits, isolation, recorder
        self.start, self.executor, self.feedback, self.again = start, None, feedback, again
        self.version, self.store = released.version, course.store
        config = PyFileConfigLoader(str(course.config)).load_config()
        self.settings = pages.settings_of(config)
        self.handouts = tuple(map(handout, released.notebooks))
        plan = course.plan()
        self.assignment = plan.assignment(topic)
        self.cost_without_time = f"{plan.late.cost_without_time()} See `collect {topic} --times`."
        rules = course.config.read_bytes() + plan.lateness(topic).encode()
        self.look = hashlib.sha256(rules).hexdigest()  # what pages and penalties depend on

    def grade(self, students, window, progress):
        rows = {student: Row(student) for student in students}
        self.done, self.total, self.progress = 0, len(rows), progress
        waiting, self.running, late = iter(students), {}, []
        while True:
            while len(self.running) < window and (student := next(waiting, None)) is not None:
                self._contained(rows[student], self._begin, rows[student])
            if not self.running:
                break
            finished, _ = concurrent.futures.wait(self.running, return_when=FIRST_COMPLETED)
            for future in finished:
                ready, stage = self.running.pop(future)
                self._contained(ready.row, stage, ready, future, late)
        for ready in late:  # the machine may have been busy: once more, alone, before it counts
            self._contained(ready.row, self._submit, ready, False)
            while self.running:
                finished, _ = concurrent.futures.wait(self.running, return_when=FIRST_COMPLETED)
                for future in finished:
                    ready, stage = self.running.pop(future)
                    self._contained(ready.row, stage, ready, future, None)
        return list(rows.values())

    def _contained(self, row, stage, *args):
        """Take one step with one submission. What goes wrong in it ends this submission with words, and no other.

        Raises
        ------
        CourseError
            If it is the machine, or the course, that nothing can go on with.
        """
        try:
            with Stopwatch(row.spent, row.used).stage("coordinator"):
                stage(*args)
        except (CourseError, AnswerKeyError):
            self._give_up()
            raise
        except sqlalchemy.exc.OperationalError as error:
            self._give_up()
            raise CourseError(*of_the_gradebook(error, self.course)) from None
        except OSError as error:
            if what := of_the_disk(error):
                self._give_up()
                raise CourseError(*what) from None
            self._failed(row, error)
        except Exception as error:
            self._failed(row, error)

    def _give_up(self):
        for future in self.running:
            future.cancel()

    def _failed(self, row, error):
        row.failed = notices.plain(f"{type(error).__name__}: {error}")
        self._advance(row)

    def _begin(self, row):
        """Read what was handed in; send it to be graded unless it is known already."""
        path = self.course.submission(row.student, self.topic)
        earlier = self.course.known(row.student, self.topic)
        if not self.recorder.dry:
            self.course.remove_leftovers(row.student, self.topic)
        try:
            content = repair.read_file(path, self.course.submitted, self.limits.submission_mb)
            files = handed_in_files(self.released.exercises, path.parent)
            beside = _beside(path)
        except CourseError as error:
            self._set_aside(row, str(error), earlier)
            return
        except OSError as error:  # of this student's files, so of nobody else's
            why = CourseError(f"it cannot be read ({error.strerror})", path.name, "make it readable for the grader.")
            self._set_aside(row, str(why), earlier)
            return
        ready = self._ready(row, content, files, beside, earlier)
        self._take_time_from_collection(ready)
        ready.notice = self.course.refusal(row.student, self.topic, content)
        if not self.again and earlier.get("aside", [""])[0] == ready.key:
            self._set_aside(row, earlier["aside"][1], earlier)
            return
        self._grade_or_reuse(ready)

    def _grade_or_reuse(self, ready):
        row = ready.row
        ready.graded = None if self.again else self.store.get(ready.key)
        ready.standing = self.recorder.standing(row.student, ready.received)
        if ready.graded is None or not self._is_recorded(ready):
            self._submit(ready)
            return
        row.reused = True
        _tell(row, ready.graded, tuple(ready.earlier["notes"]))
        marks = self._renew_penalty(row, ready.standing)
        if not self.feedback or self._page_is_new(ready, marks):
            self._advance(row)
            return
        ready.notebook = self.course.autograded(row.student, self.topic).read_bytes()
        self._ask_for_page(ready, marks)

    def _ready(self, row, content, files, beside, earlier):
        tries, attempt = self.course.tries(row.student, self.topic, content, earlier)
        key = fingerprint(content, self.version, attempt, self.limits, self.isolation, files)
        return _Ready(row, content, files, beside, key, attempt, tries, earlier)

    def _take_time_from_collection(self, ready):
        """Where it was collected, go by what is known of that: no earlier time stays, and late without a time is due + 1 s."""
        student = ready.row.student
        one = collect.collected_attempt(self.course, student, self.topic, ready.content)
        if one is None:
            return
        ready.is_collected, ready.is_earliest = True, one.is_late_without_time
        if ready.is_earliest:  # as course.toml says now
            texts = {**ready.beside, TIMESTAMP: collect.format_timestamp(self.assignment, student, one)}
            ready.beside = {name: text for name, text in texts.items() if text}

    def _renew_penalty(self, row, standing):
        """Return the marks of what was graded before, of which only the late penalty may have become another."""
        marks = self.recorder.renew_penalty(row.student, standing)
        if self.recorder.dry:
            row.moves = self._moves(standing, marks)
        self._enter_points(row, marks)
        return marks

    def _submit(self, ready, with_page=True):
        released, paper = self.released, None
        if self.feedback and with_page:
            texts = ready.earlier.get("told", {})
            paper = Paper(ready.row.student, ready.standing, texts, PAGE_SECONDS)
        task = Task(
            ready.content,
            ready.files,
            self.topic,
            released.templates,
            released.points,
            released.seed,
            ready.attempt,
            released.digest,
            self.limits,
            self.isolation,
            self.course.hidden,
            self.settings,
            ready.graded,
            paper,
            released.extra,
        )
        self._send(ready, self._graded, grade_task, task)

    def _graded(self, ready, future, late):
        """Record what came back from a worker, and ask for the feedback page."""
        row = ready.row
        try:
            outcome = future.result()
        except (TimeoutError, ProcessExpired, concurrent.futures.process.BrokenProcessPool) as error:
            if late is None:
                how = "took too long" if isinstance(error, TimeoutError) else "ended the process that graded it"
                raise RuntimeError(f"it {how}, twice: look at the notebook, or grade it with smaller limits") from None
            late.append(ready)
            return
        if outcome.set_aside:
            earlier = ready.earlier
            if not self.recorder.dry:
                unreadable = [*earlier.get("unreadable", ()), ready.key]
                told = {"unreadable": unreadable} if ready.attempts else {"aside": [ready.key, outcome.set_aside]}
                earlier = {**earlier, **told}
                write_text(json.dumps(earlier), self.course.recorded(row.student, self.topic))
            self._set_aside(row, row.set_aside or outcome.set_aside, earlier, ready.attempts)
            return
        graded = outcome.graded
        if ready.graded is None and late is not None and (graded.timed_out or graded.killed):
            late.append(ready)
            return
        if ready.graded is None and not graded.killed:
            self.store.put(ready.key, graded)
        ready.graded = graded
        row.spent |= outcome.spent
        row.used |= outcome.used
        _tell(row, graded, outcome.notes)
        when = ready.received
        row.notes += (when.problem,) if when.problem else ()
        if when.is_earliest:
            row.notes += (f"It was late, and nobody knows by how much. {self.cost_without_time}",)
        texts = ready.earlier.get("told", {})
        if self.recorder.dry:
            marks = self.recorder.foreseen(row.student, outcome.results, when, texts)
            row.moves = self._moves(ready.standing, marks)
            self._enter_points(row, marks)
            self._advance(row)
            return
        marks = self.recorder.record(row.student, outcome.results, when, texts)
        self._enter_points(row, marks)
        ready.notebook, path = outcome.notebook, self.course.autograded(row.student, self.topic)
        write_bytes(outcome.notebook, path)
        _keep_beside(ready.beside, path.parent)
        ready.record = {
            **{name: ready.earlier[name] for name in ("aside", "unreadable") if name in ready.earlier},
            "mark": self._mark(ready),
            "tries": ready.tries,
            "graded": {**ready.earlier.get("graded", {}), ready.tries[ready.attempt]: ready.key},
            "latest": ready.tries[ready.attempt],
            "is_earliest": ready.is_earliest,
            "notebook": hashlib.sha256(outcome.notebook).hexdigest(),
            "comments": {result.name: result.comment for result in outcome.results if result.is_answer},
            "told": {result.name: result.text for result in outcome.results if result.text},
            "scores": {result.name: result.auto_score for result in outcome.results if result.is_graded},
            "notes": list(row.notes),
        }
        ready.marks = marks
        if not self.feedback:
            self._keep_record(ready, None)
            self._advance(row)
        elif outcome.page and outcome.marks == marks:
            self._keep_page(ready, outcome.page)
        else:  # the gradebook has become another since it was sent, or the penalty for being late is known only now
            self._ask_for_page(ready, marks)

    def _ask_for_page(self, ready, marks):
        ready.marks = marks
        student, args = ready.row.student, (self.topic, self.settings, self.handouts)
        self._send(ready, self._paged, pages.feedback, ready.notebook, marks, student, *args)

    def _send(self, ready, stage, function, *args):
        """Let a worker call ``function``; ``stage`` goes on with what comes back."""
        if self.executor is None:
            self.executor = self.start()
        self.running[self.executor.submit(function, *args)] = ready, stage

    def _paged(self, ready, future, late):
        """Write the feedback page; where none could be made, one that has the words without the answers."""
        row = ready.row
        try:
            page = future.result()
        except Exception as error:
            row.notes += (f"Its feedback page could not be made ({type(error).__name__}): it has a plain one.",)
            verdicts = ready.graded.verdicts if ready.graded else ()
            lines = [line for verdict in verdicts for line in pages.words(verdict)]
            page = notices.plain_page(self.topic, lines).encode()
        self._keep_page(ready, page)

    def _keep_page(self, ready, page):
        path = self.course.feedback(ready.row.student, self.topic)
        if ready.notice:
            page = notices.set_aside_page(self.topic, ready.notice, page.decode("utf-8", "replace")).encode()
        write_bytes(page, path)
        _keep_beside(ready.beside, path.parent)
        self._keep_record(ready, ready.marks)
        self._advance(ready.row)

    def _set_aside(self, row, reason, earlier, attempts=None):
        """Let the last attempt that can be read count, and say in the feedback page why what came last does not.

        That is one of those that were collected before, ``attempts``, which are the ones not tried yet; or else what the
        gradebook has; or else, where that was lost, what is ``earlier`` known of it.
        """
        row.set_aside = notices.plain(reason)
        attempts = collect.earlier_attempts(self.course, row.student, self.topic) if attempts is None else attempts
        for one, kept in attempts:
            if self._grade_earlier(row, one, kept, attempts, earlier):
                return
        standing = self.recorder.standing(row.student, Received(is_earliest=bool(earlier.get("is_earliest"))))
        taken_back = self._was_taken_back(row.student, earlier)
        if not standing.is_new:
            marks = self._renew_penalty(row, standing)
            row.notes += (TAKEN_BACK,) if taken_back else ()
        else:
            marks = self._record_again(row, standing, earlier) if earlier.get("scores") and not taken_back else None
        if self.recorder.dry:
            self._advance(row)
            return
        beside = {}
        with contextlib.suppress(OSError):  # what cannot be read is what it was set aside for
            beside = _beside(self.course.submission(row.student, self.topic))
        autograded = self.course.autograded(row.student, self.topic)
        if marks and self.feedback and earlier.get("marks") != _digest(marks) and autograded.is_file():
            ready = _Ready(row, b"", {}, beside, "", 0, [], earlier, notice=row.set_aside)
            ready.notebook = autograded.read_bytes()
            self._ask_for_page(ready, marks)
            return
        self.course.say_set_aside(row.student, self.topic, row.set_aside)
        _keep_beside(beside, self.course.feedback(row.student, self.topic).parent)
        self._advance(row)

    def _was_taken_back(self, student, earlier):
        """Return whether the attempt that was graded last is no longer among those collected."""
        known = {digest for one in collect.tries(self.course, student, self.topic) for digest in one.files.values()}
        return bool(known) and "latest" in earlier and earlier["latest"] not in known

    def _record_again(self, row, standing, earlier):
        """Put into a gradebook that has lost them the results that were recorded before; return the marks then."""
        texts, comments = earlier.get("told", {}), earlier.get("comments", {})
        graded = [
            CellResult(name, score, True, name in standing.remarks, comments.get(name), texts.get(name, ""))
            for name, score in earlier["scores"].items()
            if name in standing.entries
        ]
        answers = [
            CellResult(name, None, False, True, comment)
            for name, comment in comments.items()
            if name in standing.remarks and name not in earlier["scores"]
        ]
        beside = json.loads(earlier["mark"])[3]
        put = self.recorder.foreseen if self.recorder.dry else self.recorder.record
        when = replace(received(beside.get(TIMESTAMP, "")), is_earliest=bool(earlier.get("is_earliest")))
        marks = put(row.student, [*graded, *answers], when, {})
        if self.recorder.dry:
            row.moves = self._moves(standing, marks)
        self._enter_points(row, marks)
        return marks

    def _grade_earlier(self, row, one, kept, attempts, earlier):
        """Grade an attempt that was collected before the one which cannot be read; return whether it counts, or is on its way."""
        when = collect.format_timestamp(self.assignment, row.student, one)
        beside = {name: text for name, text in ((TIMESTAMP, when), (SECRET, one.secret)) if text}
        files = kept_files(self.released.exercises, kept)
        ready = self._ready(row, kept[f"{self.topic}.ipynb"], files, beside, earlier)
        if ready.key in earlier.get("unreadable", ()):
            return False
        if not one.platform and ready.tries[ready.attempt] == earlier.get("latest"):  # put there by hand
            ready.beside = json.loads(earlier["mark"])[3]
        ready.attempts, ready.notice = attempts, row.set_aside
        ready.is_collected, ready.is_earliest = bool(one.platform), one.is_late_without_time
        self._grade_or_reuse(ready)
        return True

    def _advance(self, row):
        self.done += 1
        self.progress(self.done, self.total, row)

    def _moves(self, standing, after):
        """Return what differs between what the gradebook has and the marks ``after``."""
        if standing.is_new:
            return (Move("all", None, after.score),)
        before, moves = standing.marks, []
        for exercise in self.released.exercises:
            old, new = (marks.cells[points_id(exercise)] for marks in (before, after))
            moves.append(Move(exercise.name, _points(old), _points(new), _why_looked_at_again(exercise, old, new)))
        moves.append(Move("late penalty", before.late_penalty, after.late_penalty))
        return tuple(move for move in moves if move.before != move.after or move.why)

    def _enter_points(self, row, marks):
        row.points, row.waiting = {}, ()
        for exercise in self.released.exercises:
            mark = marks.cells[points_id(exercise)]
            row.points[exercise.name] = _points(mark)
            row.waiting += (exercise.name,) if mark.waiting else ()

    def _mark(self, ready):
        """Return a text that changes with all that a recorded submission depends on."""
        return json.dumps([ready.key, self.look, pages.version(), ready.beside])

    def _keep_record(self, ready, marks):
        record = {**(ready.record or ready.earlier), "marks": _digest(marks), "notice": ready.notice}
        write_text(json.dumps(record), self.course.recorded(ready.row.student, self.topic))

    def _is_recorded(self, ready):
        """Return whether this very submission was recorded to its end, and gradebook and notebook are as then."""
        student, record = ready.row.student, ready.earlier
        if record.get("mark") != self._mark(ready):
            return False
        path = self.course.autograded(student, self.topic)
        if not path.is_file() or hashlib.sha256(path.read_bytes()).hexdigest() != record.get("notebook"):
            return False
        automatic = {name: entry.automatic for name, entry in ready.standing.entries.items()}
        return not ready.standing.is_new and automatic == record.get("scores")

    def _page_is_new(self, ready, marks):
        page = self.course.feedback(ready.row.student, self.topic)
        earlier = ready.earlier
        return page.is_file() and (earlier.get("marks"), earlier.get("notice", "")) == (_digest(marks), ready.notice)


@dataclass
class _Ready:
    """A submission on its way."""

    row: Row
    content: bytes
    files: dict[str, bytes | None]
    beside: dict[str, str]
    key: str
    attempt: int
    tries: list[str]
    earlier: dict[str, Any]  # what was recorded last
    graded: Graded | None = None
    standing: Standing | None = None  # what the gradebook had when it was read
    notebook: bytes = b""
    marks: Marks | None = None
    record: dict[str, Any] | None = None
    notice: str = ""  # why a later one could not be taken
    is_earliest: bool = False  # see ``Received``
    is_collected: bool = False  # so that what `collect` knows of its time is all that anybody knows
    attempts: Iterator[tuple[collect.Try, dict[str, bytes]]] | None = None  # where this replaces a later one: others

    @property
    def received(self) -> Received:
        latest = self.earlier.get("latest")
        is_another = self.is_collected or (latest is not None and latest != self.tries[self.attempt])
        return replace(received(self.beside.get(TIMESTAMP, "")), is_earliest=self.is_earliest, is_another=is_another)


def _points(mark):
    """Return the points of ``mark``, None where a person must give them."""
    return None if mark.waiting and not mark.by_person else mark.score


def _why_looked_at_again(exercise, before, after):
    """Say what became of a written answer that a person has marked; "" if it is the same."""
    if exercise.is_automatic or before.waiting or not (after.by_person and after.waiting):
        return ""
    return "has changed since it was marked" if after.automatic is None else "is gone since it was marked"


def _small_text(path):
    """Return the text of the small file at ``path``, or "" if it is none."""
    with contextlib.suppress(CourseError):
        return repair.read_file(path)[:MOST_BESIDE].decode("utf-8", "replace")
    return ""


def _beside(path):
    """Return what nbgrader's exchange has put beside the notebook at ``path``: text by name of a file."""
    return {name: text for name in BESIDE if (text := _small_text(path.with_name(name)))}


def _keep_beside(texts, folder):
    for name, text in texts.items():
        write_text(text, folder / name)


def _digest(marks):
    return hashlib.sha256(json.dumps(marks, sort_keys=True, default=vars).encode()).hexdigest() if marks else ""


def _tell(row, graded, notes):
    """Write into ``row`` what its student is told."""
    hints = [hint for verdict in graded.verdicts if verdict.earned != verdict.points for hint in verdict.hints]
    row.hints = tuple(dict.fromkeys(hints))
    row.reasons = tuple(
        f"{verdict.exercise.partition('-')[2]}: {part.reason}"
        for verdict in graded.verdicts
        for part in [next((part for part in verdict.parts if part.reason), None)]
        if part and not verdict.hints
    )
    row.notes = tuple(notes)
    if graded.failure and graded.failure not in row.notes:
        row.notes += (graded.failure,)
