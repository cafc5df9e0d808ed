"""Run until stopped: look for new hand-ins, serve them in rounds, and wait out whatever prevents progress.

In: a course, topics, options. Out: lines for the instructor. Writes what ``service`` writes; holds the course's `watch` lock.
"""

import concurrent.futures
import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import sqlalchemy.exc

from autograder.batch.context import GradingOptions, load_run
from autograder.batch.grade_class import start_workers
from autograder.courses.course import Course, find_access_problem, list_hidden_paths
from autograder.courses.locking import patient_lock, watch_lock
from autograder.errors import CourseError, describe_os_error
from autograder.feedback import notices
from autograder.gradebook.backup import back_up
from autograder.gradebook.database import describe_db_error
from autograder.grading import cluster, submission
from autograder.marking.cli import on_signals
from autograder.platforms.collect import escape_unprintable
from autograder.watch.arrivals import FAILED, WAITING, Arrivals
from autograder.watch.page import load_token, status_page
from autograder.watch.polling import Inbox
from autograder.watch.service import Service
from autograder.watch.settings import Settings
from autograder.watch.sources import Source, find_sources
from autograder.watch.status import Status
from autograder.with_nbgrader.exchange import exchange_problems

FIRST_DELAY_SECONDS, LAST_DELAY_SECONDS = 1.0, 30.0  # between two tries while something prevents progress
HAND_INS_PER_WORKER = 4  # in a round: fewer leave workers idle between rounds, more make newcomers wait
BACKUP_SECONDS = 24 * 60 * 60.0


@dataclass(frozen=True)
class WatchOptions:
    """How to watch. ``folder`` replaces nbgrader's exchange; ``port`` is None for no page, 0 for any free port.

    ``machines`` is the address of a dask scheduler and its certificates, "" for none.
    """

    folder: Path | None = None
    interval: float = 1.0
    port: int | None = 0
    any_owner: bool = False
    workers: int = 1
    machines: Sequence[str] = ("",)


class Stop:
    """Handles SIGINT and SIGTERM: sets an event and, while something is served, also raises KeyboardInterrupt."""

    def __init__(self) -> None:
        self.event, self.is_serving = threading.Event(), False

    def __call__(self, *_: object) -> None:
        self.event.set()
        if self.is_serving:
            self.is_serving = False  # a second signal does not interrupt the shutdown
            raise KeyboardInterrupt

    @contextlib.contextmanager
    def interrupting(self) -> Iterator[None]:
        """Let a signal interrupt the body of the ``with`` statement, which can safely be repeated."""
        self.is_serving = True
        try:
            if self.event.is_set():
                raise KeyboardInterrupt
            yield
        finally:
            self.is_serving = False


def watch(
    course: Course,
    topics: Sequence[str],
    grading: GradingOptions,
    options: WatchOptions,
    write: Callable[[str], object],
    stop: Stop | None = None,
) -> None:
    """Serve what arrives for ``topics`` until ``stop`` or a signal; ``write`` is called with a line for each event.

    Raises ``CourseError`` if it cannot begin: a topic was not released, the exchange or the sandbox cannot be used, or
    another `watch` is already running in this course.
    """
    stop, status = stop or Stop(), Status(write)
    with contextlib.ExitStack() as stack:
        if threading.current_thread() is threading.main_thread():
            stack.enter_context(on_signals(stop))
        try:
            with stop.interrupting():
                loop = _prepare(stack, course, topics, grading, options, status)
            loop.run(stop)
        except KeyboardInterrupt:
            pass
        status.say("Stopped. Anything still waiting will be handled when `watch` is started again.")


def _prepare(stack, course, topics, grading, options, status):
    stack.enter_context(watch_lock(course))
    grading = replace(grading, accepts_provisional=True)  # `grade` runs again what reached a limit
    runs = [load_run(course, topic, grading) for topic in topics]
    sources, exchange = find_sources(course, topics, options.folder)
    if problem := find_access_problem(course):
        what, folder, remedy = problem
        status.report_error(f"The course is not safe: {folder}: {what}. Remedy: {remedy}")
    for what, folder, remedy in exchange_problems(course) if exchange else ():
        status.report_error(f"The exchange is not safe: {folder}: {what}. Remedy: {remedy}")
    address, *certificates = options.machines
    if address:
        shown = cluster.Certificates(*certificates)
        executor = stack.enter_context(cluster.executor(address, grading.isolation, list_hidden_paths(course), shown))
        count = executor.workers
    else:
        count = options.workers
        executor = stack.enter_context(start_workers(runs, count))
        for run in runs:  # one task per process, so that no hand-in waits for it
            asked = run.topic, run.released.seed, run.released.extra
            for future in [executor.submit(submission.prepare, *asked) for _ in range(count)]:
                future.result()
    arrivals = Arrivals(course, topics)
    if options.port is not None:
        page = stack.enter_context(status_page(status, options.port, load_token(course)))
        status.say(f"Status: {page}")
    settings = Settings(course, grading, executor, exchange, status, options.any_owner, HAND_INS_PER_WORKER * count)
    loop = _Loop(settings, arrivals, topics, sources, options.interval)
    where = ", ".join(str(source.path) for source in sources)
    stack.callback(loop.close)
    status.say(f"Watching {where} for {', '.join(topics)}, with {count} workers. Ctrl-C stops it.")
    return loop


class _Loop:
    def __init__(
        self, settings: Settings, arrivals: Arrivals, topics: Sequence[str], sources: Sequence[Source], interval: float
    ) -> None:
        self.settings, self.status, self.arrivals = settings, settings.status, arrivals
        self.topics, self.interval = topics, interval
        self.inboxes: list[tuple[Source, Inbox]] = []
        self.services: list[Service] = []
        for source in sources:
            mine = [topic for topic in topics if source.is_exchange or source.topic_of("") == topic]
            arrived = [arrival for topic in mine for arrival in arrivals.list_all(topic)]
            known = {arrival.entry: arrival.mark for arrival in arrived if arrival.source == str(source.path)}
            inbox = Inbox(
                source.path, source.is_exchange, lambda name, source=source: source.topic_of(name) in topics, known
            )
            self.inboxes.append((source, inbox))
            for topic in mine:
                arrivals.reopen(topic, FAILED)
                self.services.append(Service(settings, arrivals, topic, source, inbox.forget))
        self.backed_up: float | None = None
        self.next_look = 0.0  # monotonic time

    def run(self, stop: Stop) -> None:
        """Serve until ``stop``. Only a signal ends it, not an exception in a round."""
        delay = FIRST_DELAY_SECONDS
        while not stop.event.is_set():
            served, trouble = 0, ""
            with stop.interrupting():
                try:
                    served = self._run_round()
                except Exception as error:
                    trouble = self._describe_error(error)
            self.status.report_trouble(trouble)
            if trouble:
                stop.event.wait(delay)
                delay = min(2 * delay, LAST_DELAY_SECONDS)
            else:
                delay = FIRST_DELAY_SECONDS
                if not served and not self._is_busy():
                    stop.event.wait(self.interval)

    def close(self) -> None:
        """Cancel what is still running."""
        for service in self.services:
            service.close()

    def _is_busy(self) -> bool:
        return any(service.is_busy for service in self.services)

    def _run_round(self) -> int:
        """Look for new hand-ins, go on with those of each topic, and return how many were served.

        If none was and workers have tasks, waits until one has finished or it is time to look again.
        """
        if not self._is_busy() or time.monotonic() >= self.next_look:
            for source, inbox in self.inboxes:
                self._poll_source(source, inbox)
            self.next_look = time.monotonic() + self.interval
        self._update_queue_lengths()
        if self.backed_up is None or time.monotonic() - self.backed_up > BACKUP_SECONDS:
            with patient_lock(self.settings.course, self.status.say):
                back_up(self.settings.course, "watch")
            self.backed_up = time.monotonic()
        served, first = 0, None
        for service in self.services:
            try:
                served += service.serve()
            except Exception as error:  # the other topics are still served
                first = first or error
        self._update_queue_lengths()
        if first:
            raise first
        if not served:
            futures = [future for service in self.services for future in service.futures]
            concurrent.futures.wait(futures, self.interval, return_when=concurrent.futures.FIRST_COMPLETED)
        return served

    def _poll_source(self, source: Source, inbox: Inbox) -> None:
        arrived, others = inbox.poll()
        for name in others:
            if not source.topic_of(name) or not name.isprintable():
                self.status.say(f"not taken: {escape_unprintable(name)}")
        where, claim = str(source.path), source.read_claim
        rows = [(source.topic_of(entry.name), where, entry.name, entry.mark, claim(entry.name)) for entry in arrived]
        self.arrivals.add(rows, time.time())
        for seen in arrived:
            inbox.take(seen)

    def _update_queue_lengths(self) -> None:
        pending = [arrival for topic in self.topics for arrival in self.arrivals.list_pending(topic)]
        queue = [arrival.came for arrival in pending if arrival.state != WAITING]
        self.status.queued, self.status.waiting = len(queue), len(pending) - len(queue)
        self.status.oldest = max(time.time() - min(queue), 0.0) if queue else None

    def _describe_error(self, error: Exception) -> str:
        """Return one line on what keeps `watch` from continuing."""
        what: tuple[str, str, str] | None = None
        if isinstance(error, CourseError):
            what = error.args
        elif isinstance(error, OSError):
            what = describe_os_error(error)
        elif isinstance(error, sqlalchemy.exc.SQLAlchemyError):
            what = describe_db_error(error, self.settings.course)
        if what is None:
            return notices.plain(f"{type(error).__name__}: {error}").replace("\n", " ")
        return " ".join(notices.plain(f"{what[1]}: {what[0]}. Remedy: {what[2]}").split())
