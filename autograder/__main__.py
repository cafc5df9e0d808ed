"""The command line: ``python -m autograder``. Exit status 0 only when all was done."""

import contextlib
import os
import shlex
import shutil
import sys
import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text
from typer import Argument, Option

from autograder.errors import CourseError, describe_os_error
from autograder.options import (
    CoursePath,
    Force,
    Isolation,
    Scheduler,
    Sections,
    Students,
    TlsCa,
    TlsCert,
    TlsKey,
    Topic,
    Workers,
)
from autograder.paths import format_command, require_checkout
from autograder.sandbox import Limits
from solutions.errors import AnswerKeyError

SET_ASIDE, REFUSED, FAILED, STOPPED = 3, 2, 1, 130
CONTRIBUTORS = "For contributors to the course"  # the heading of their commands in --help
TRUSTED_ONLY = "[bold yellow]No sandbox: --isolation none. Grade only submissions that you trust.[/]"

app = typer.Typer(no_args_is_help=True, add_completion=False, help=__doc__, pretty_exceptions_enable=False)
out = Console(width=None if sys.stdout.isatty() else 160, emoji=False)  # a remedy may say ":label:"


@app.command("init")
def init_course(
    root: Annotated[Path, Argument(help="Where to create the course.")] = Path("course"),
    from_example: Annotated[
        bool, Option("--from-example", help="A small course to play with: two sections, and ten hand-ins to grade.")
    ] = False,
    last_year: Annotated[
        Path | None, Option("--from", help="Last year's course: copy its course.toml, without students or seeds.")
    ] = None,
    course: Annotated[Path | None, Option("--course", hidden=True)] = None,  # as for all other commands
) -> None:
    """Create a course directory that nbgrader can work in. Existing files are kept."""
    from autograder.courses.course import init
    from autograder.courses.rollover import CourseRollover, take_over
    from autograder.files import write_text

    if course:
        raise CourseError("init takes the folder as it is", "--course", f"run `python -m autograder init {course}`.")
    plan = root / "course.toml"
    if (from_example or last_year) and plan.exists():
        raise CourseError("there is a course already", str(plan), "name a new folder.")
    if from_example and last_year:
        raise CourseError("a course cannot begin with both", "--from-example, --from", "give one of them.")
    if from_example:
        _init_example(root)
        return
    new = take_over(last_year) if last_year else CourseRollover("", {}, ())
    made = init(root, new.text) if last_year else init(root)
    for name, header in new.roster.items():
        if not (made.root / name).exists():
            write_text(header, made.root / name)
    out.print(f"Course directory: {made.root}")
    out.print(f"This year's course: {made.root / 'course.toml'} (title, due dates, points, students; all optional)")
    for what in new.to_change:
        _print_line(f"Still to be changed: {what}")
    if last_year:
        _print_line("New hidden cases will be drawn. Limits in last year's nbgrader_config.py were not copied.")
    _print_next(_release_command(made), root)


def _init_example(root):
    from autograder.courses.demo import TOPIC, hand_in_example, init_example
    from autograder.notebooks.website import site_address
    from autograder.releases.release import release as make

    require_checkout("init --from-example")
    course = init_example(root)
    with out.status(f"Releasing {TOPIC}: grading the reference and the untouched release …"):
        make(course, TOPIC, seed=0, website=site_address())
    out.print(f"Course directory: {course.root}")
    _print_line(f"Due dates, late rule, roster: {course.root / 'course.toml'}, {course.root / 'students.csv'}")
    _print_line(f"Released {TOPIC}; {hand_in_example(course)} students in two sections have handed in.")
    _print_next(f"grade {TOPIC}", root)


def _release_command(course):
    """Return the command that releases the first assignment of ``course``, with --no-links if no website is known."""
    from autograder.notebooks.website import site_address

    return "release scoring" if course.plan().website or site_address() else "release scoring --no-links"


def _print_next(command, course, also=""):
    """Print the next command to run, for the same ``course``, as the last line."""
    _print_line(f"Next: {format_command(command, course)}{also}")


@app.command()
def release(
    topic: Topic,
    course: CoursePath = Path("course"),
    seed: Annotated[int | None, Option(help="Seed for the hidden cases; by default drawn once, then kept.")] = None,
    base_url: Annotated[
        str | None,
        Option(
            help="Website that the notebook links to; by default that of course.toml, or html.baseurl in _config.yml."
        ),
    ] = None,
    no_links: Annotated[bool, Option("--no-links", help="Do not link the notebook to a website.")] = False,
    verbose: Annotated[bool, Option("--verbose", help="Show which hidden case catches which mistake.")] = False,
) -> None:
    """Assemble an assignment, verify that it grades correctly, and write the students' notebook.

    Hidden cases are drawn until they catch every listed mistake and the mutants of each reference. If a seed is given or was
    kept, only its cases are tried, and the release is refused if they miss any. If course.toml limits the attempts, the hidden
    cases of each are drawn and verified.
    """
    from autograder.audit.search import DRAWS, find_seed
    from autograder.releases.release import draw_seed, refuse_changed_selection
    from autograder.releases.release import release as make
    from autograder.with_nbgrader.exchange import exchange_root

    require_checkout("release")
    (topic,) = _select_topics([topic])
    root = _open_course(course)
    website = _website_address(base_url, no_links, root.plan().website)
    refuse_changed_selection(root, topic)
    state, kept = root.releases(topic).hash(), root.releases(topic).choose_seed(seed)
    with out.status(f"Drawing hidden cases for {topic} that catch every known wrong answer …"):
        search = find_seed(topic, draw_seed() if kept is None else kept, DRAWS if kept is None else 1, verbose)
    for line in search.lines(verbose):
        out.print(line, highlight=False, markup=False)
    attempt_seeds = _find_attempt_seeds(root, topic, search.seed)
    with out.status(f"Releasing {topic}: grading the reference and the untouched release both ways …") as status:
        step = status.update if out.is_terminal else _print_line
        made = make(root, topic, search.seed, website=website, progress=step, attempt_seeds=attempt_seeds, state=state)
    out.print(
        f"Released {topic}, version {made.version}: the reference earns all automatic points, the untouched release none."
    )
    for line in made.changes or ("Nothing has changed since the last release.",):
        out.print(f"  {line}", markup=False, highlight=False)
    out.print(f"For students: {made.path}")
    out.print(f"For markers:  {root.marking_scheme(topic)}")
    if exchange_root(root):
        _print_line(f"Next: nbgrader release_assignment {topic}, in the folder {root.root}")
    elif root.plan().assignment(topic).attempts:
        _print_next(f"watch {topic}", course, ", which grades what students hand in, attempt by attempt")
    else:
        _print_next(f"collect {topic} ARCHIVE", course, ", once the students have the notebook and have handed it in")


def _find_attempt_seeds(course, topic, seed):
    """Return a seed for each attempt after the first that course.toml permits; finding each takes some seconds."""
    from autograder.audit.search import find_attempt_seed

    plan, recorded, seeds = course.plan().assignment(topic), course.releases(topic).attempt_seeds(seed), []
    for attempt in range(1, plan.attempts):
        with out.status(f"Drawing hidden cases for attempt {attempt + 1} of {plan.attempts} …"):
            seeds.append(find_attempt_seed(topic, seed, attempt, recorded, plan.extra))
    if seeds:
        out.print(f"Attempts: each of the {plan.attempts} has hidden cases of its own that catch all of these.")
    return seeds


@app.command(rich_help_panel=CONTRIBUTORS)
def handouts(folder: Annotated[Path, Argument(help="Where to write the notebooks.")]) -> None:
    """Write the students' notebooks, one per chapter, for the website: as `release` does, but unverified."""
    from autograder.notebooks.website import site_address
    from autograder.releases.release import write_handouts as write
    from solutions.answer_key import topics

    require_checkout("handouts")
    website = site_address()
    with out.status("Assembling the notebooks …"):
        paths = write(folder, topics(), website)
    links = f"they link to {website}" if website else "they have no links: html.baseurl in _config.yml is not set"
    out.print(f"{len(paths)} notebooks for students in {folder}; {links}")


@app.command()
def collect(
    topic: Topic,
    archives: Annotated[
        list[Path] | None,
        Argument(metavar="ARCHIVE...", help="Downloads from the learning platform: zip files or folders."),
    ] = None,
    platform: Annotated[
        str,
        Option(
            help="Where it comes from: canvas, moodle, gradescope, blackboard, ilias, exchange or folder; by default "
            "guessed from the file names, with a folder called inbound taken as nbgrader's exchange."
        ),
    ] = "",
    any_owner: Annotated[
        bool,
        Option(
            "--any-owner",
            help="Accept work from nbgrader's exchange whichever account owns it. Use this only where no student can "
            "write to another's folder, as on a hub with one container per student.",
        ),
    ] = False,
    undo: Annotated[
        bool,
        Option(
            "--undo", help="Undo the last collection, or round of watch, so that the previous submissions count again."
        ),
    ] = False,
    times: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            help="CSV with the columns id and time: hand-in times that the platform does not record.",
        ),
    ] = None,
    course: CoursePath = Path("course"),
) -> None:
    """Collect notebooks into the course: from a learning platform, nbgrader's exchange, or STUDENT/x.ipynb.

    All attempts are kept, and the latest one counts; collecting an archive twice changes nothing. Exit status 3:
    everything else was done, but some submissions were set aside, or notebooks left over.
    """
    from autograder.platforms.attempts import Collection
    from autograder.platforms.collect import collect as put
    from autograder.platforms.collect import set_times
    from autograder.platforms.collect import undo as take_back
    from autograder.platforms.formats import is_notebook
    from autograder.platforms.times import read_times
    from autograder.reports.tables import tabulate_collected
    from autograder.with_nbgrader.limits import settings

    root, collected, left = _open_course(course), [], []
    if undo and (archives or times):
        raise CourseError("--undo was given together with an archive or --times", "collect", "give --undo alone.")
    if not (undo or archives or times):
        remedy = f"name what you downloaded, as in `collect {topic} ARCHIVE`, or give --times FILE or --undo."
        raise CourseError("it is not clear what to collect", "collect", remedy)
    if undo:
        collected = take_back(root, topic)
        out.print(tabulate_collected(collected, root.plan().names_by_id()))
        _print_line(f"{len(collected)} undone. Run `{format_command(f'grade {topic}', course)}` to update the grades.")
        raise typer.Exit(SET_ASIDE if any(hand_in.problem for hand_in in collected) else 0)
    (limits, _), collection = settings(root), Collection(root, topic)
    stated = read_times(times, root.plan().students) if times else {}
    for archive in archives or ():

        def notice(text, archive=archive):
            _print_line(f"{archive}: {text}")

        done, unused = put(root, topic, archive, limits.submission_mb, notice, platform, any_owner, collection)
        collected += done
        left += unused
    collected += set_times(root, topic, stated, collection)
    collection.begin()  # even if it took nothing, none before it can be undone any more
    if collected:
        out.print(tabulate_collected(collected, root.plan().names_by_id()))
    status = _report_collection(root, topic, collected, left)
    if archives and not collected and not any(map(is_notebook, left)):
        _print_line(f"There is no notebook in {_join_names([*map(str, archives)])}: is this what you downloaded?")
        raise typer.Exit(SET_ASIDE)
    _print_next(f"grade {topic}", course)
    raise typer.Exit(status)


def _report_collection(root, topic, collected, left):
    """Print what was collected, and what is late, ``left`` over or missing; return the exit status."""
    from autograder.courses.submissions import list_submitters
    from autograder.platforms.attempts import find_late_without_time, find_without_time
    from autograder.platforms.collect import escape_unprintable
    from autograder.platforms.formats import is_notebook

    called, give_times = root.plan().names_by_id(), format_command(f"collect {topic} --times FILE", root.root)
    if unknown := [called.get(student, student) for student in find_late_without_time(root, topic)]:
        remedy = f"{root.plan().late.cost_without_time()} Give the times with `{give_times}`."
        _print_line(f"Late, by an unknown amount: {_join_names(unknown)}. {remedy}")
    if count := len(find_without_time(root, topic)):
        what = "1 hand-in has no time, so it does" if count == 1 else f"{count} hand-ins have no time, so they do"
        _print_line(f"{what} not count as late. Give the times with `{give_times}`.")
    notebooks = [name for name in left if is_notebook(name)]
    for name in sorted(left, key=is_notebook, reverse=True)[: max(20, len(notebooks))]:
        _print_line(f"not collected: {escape_unprintable(name)}")
    aside, again = sum(bool(hand_in.problem) for hand_in in collected), sum(hand_in.replaced for hand_in in collected)
    same = sum(hand_in.unchanged for hand_in in collected)
    taken = f"{len(collected) - aside - same} collected ({again} replaced)" + f", {same} unchanged" * bool(same)
    not_taken = f"{len(left)} not collected, {len(notebooks)} of them notebooks or archives"
    _print_line(f"{taken}, {aside} set aside, {not_taken}")
    here = set(list_submitters(root, topic))
    if missing := [called.get(student.id, student.id) for student in root.plan().students if student.id not in here]:
        _print_line(f"{len(missing)} in the roster without a submission: {_join_names(missing)}")
    return SET_ASIDE if aside or notebooks else 0


def _join_names(names, most=20):
    return ", ".join(names[:most]) + " …" * (len(names) > most)


def _print_line(text):
    out.print(text, markup=False, highlight=False, soft_wrap=True)


@app.command()
def grade(
    topic: Topic,
    students: Students = None,
    section: Sections = None,
    course: CoursePath = Path("course"),
    isolation: Isolation = None,
    workers: Workers = None,
    scheduler: Scheduler = "",
    tls_ca: TlsCa = "",
    tls_cert: TlsCert = "",
    tls_key: TlsKey = "",
    feedback: Annotated[bool, Option(help="Also write the feedback pages.")] = True,
    again: Annotated[
        bool, Option(help="Grade and record submissions again even if they have already been graded.")
    ] = False,
    dry_run: Annotated[
        bool, Option("--dry-run", help="Record nothing: show whose marks would change, and how.")
    ] = False,
) -> None:
    """Grade the submissions, record them in nbgrader's gradebook, write the feedback, print the table.

    After a change to the key or course.toml, it grades again what depends on it; --dry-run previews that. Marks given by a
    person are kept.

    Limits are in nbgrader_config.py, with the usual isolation. If it is killed and run again, it picks up where it
    stopped. Exit status 3: everything else was done, but some submissions were set aside.
    """
    from autograder.courses.standing import load_graded
    from autograder.courses.submissions import list_submitters, select_submissions

    root = _open_course(course)
    students = select_submissions(root, topic, students, section)
    waiting = again or any(
        not load_graded(root, student, topic) for student in students or list_submitters(root, topic)
    )
    if waiting and not scheduler:
        from autograder.grading import workers as processes

        processes.start_preloading()  # overlaps with the imports that follow
    options = _options(root, isolation, feedback=feedback, again=again, dry=dry_run, workers=workers)
    rows = _grade_and_report(root, topic, options, students, (scheduler, tls_ca, tls_cert, tls_key))
    raise typer.Exit(_exit_status(rows))


@app.command()
def watch(
    topics: Annotated[list[str], Argument(metavar="TOPIC...", help="The assignments, named after their chapters.")],
    source: Annotated[
        Path | None,
        Option(
            "--from",
            metavar="FOLDER",
            help="Folder in which hand-ins arrive, as for collect; with several topics, it must contain one "
            "folder for each. By default, the inbound folder of nbgrader's exchange.",
        ),
    ] = None,
    interval: Annotated[float, Option(min=0.1, help="Seconds between checks of the folder.")] = 1.0,
    port: Annotated[int, Option(min=0, max=65535, help="Port of the status page; by default any free one.")] = 0,
    page: Annotated[bool, Option("--page/--no-page", help="Serve a status page on this machine.")] = True,
    any_owner: Annotated[
        bool,
        Option("--any-owner", help="Accept work whichever account owns it: see collect."),
    ] = False,
    course: CoursePath = Path("course"),
    isolation: Isolation = None,
    workers: Workers = None,
    scheduler: Scheduler = "",
    tls_ca: TlsCa = "",
    tls_cert: TlsCert = "",
    tls_key: TlsKey = "",
) -> None:
    """Grade what students hand in as soon as it arrives, and release the feedback through nbgrader's exchange.

    It runs until Ctrl-C or SIGTERM. The number of attempts, the minutes between them and what a page shows before the due
    date are in course.toml. If it is killed and started again, it continues where it stopped.
    """
    root = _open_course(course)
    if not scheduler:
        from autograder.grading import workers as processes

        processes.start_preloading()
    from autograder import sandbox
    from autograder.watch.run import WatchOptions
    from autograder.watch.run import watch as serve

    chosen = list(dict.fromkeys(_select_topics(topics)))
    grading = _options(root, isolation, workers=workers)
    sandbox.require_known(grading.isolation)
    if grading.isolation == "none":
        out.print(TRUSTED_ONLY)
    count, machines = workers or os.cpu_count() or 1, (scheduler, tls_ca, tls_cert, tls_key)
    options = WatchOptions(source, interval, port if page else None, any_owner, count, machines)
    serve(root, chosen, grading, options, _print_line)


def _options(course, isolation, **more):
    """Return the grading options, with the limits and, unless ``isolation`` is given, the isolation of nbgrader_config.py."""
    from autograder.batch.context import GradingOptions
    from autograder.with_nbgrader.limits import settings

    limits, configured = settings(course)
    return GradingOptions(limits, isolation or configured, **more)


def _exit_status(rows):
    if any(row.failed for row in rows):
        return FAILED
    return SET_ASIDE if any(row.set_aside for row in rows) else 0


@app.command()
def mark(
    topic: Topic,
    exercise: Annotated[
        str,
        Argument(help="The written exercise: what_to_recompute; with --points, any other.", show_default=False),
    ] = "",
    names: Annotated[
        bool, Option("--names", help="Show whose answers they are; by default the page does not.")
    ] = False,
    port: Annotated[int, Option(min=0, max=65535, help="Port to use; by default any free one.")] = 0,
    no_browser: Annotated[
        bool, Option("--no-browser", help="Print the page's address without opening a browser.")
    ] = False,
    student: Annotated[
        str, Option("--student", help="Mark this student alone; with --points, override the grader's points.")
    ] = "",
    points: Annotated[float | None, Option("--points", help="Points to use instead of the grader's.")] = None,
    reason: Annotated[str, Option("--reason", help="Reason, shown on the student's feedback page.")] = "",
    automatic: Annotated[bool, Option("--automatic", help="Go back to the grader's own points.")] = False,
    section: Sections = None,
    marker: Annotated[str, Option(help="Your name as a marker, as in course.toml.")] = "",
    course: CoursePath = Path("course"),
) -> None:
    """Mark the answers to one written question: one page in the browser, keyboard-driven, saved to the gradebook at once.

    Similar answers are grouped, unmarked ones first. Ctrl-C stops it. With --student, the page has this student's answer alone,
    marked or not.

    With --student, --points and --reason: override the points that the grader gave for an exercise in code or numbers. The
    override survives regrading the class.
    """

    from autograder.marking.answers import is_written, list_written

    root = _open_course(course)
    if not exercise:
        written = ", ".join(list_written(root, topic))
        remedy = f"name one that a person marks: {written}." if written else "none of it is marked by a person."
        raise CourseError("no exercise was named", f"mark {topic}", remedy)
    plan = root.plan()
    selected = plan.select_sections(section)
    if student and selected is not None and student not in selected:
        remedy = "leave out --section, or name a student in it."
        raise CourseError(f"{student} is not in section {' or '.join(section or ())}", "--section", remedy)
    overrides = points is not None or bool(reason) or automatic
    if student and (overrides or not is_written(root, topic, exercise)):
        from autograder.marking.desk import require_marker
        from autograder.marking.override import override

        if (points is None) != automatic:
            remedy = "give either --points 2.5 --reason '…' or --automatic."
            raise CourseError("it is not clear which points should count", "--points, --automatic", remedy)
        if marker:
            require_marker(plan.markers, marker)
        before, now = override(root, topic, exercise, student, points, reason)
        name = plan.names_by_id().get(student, student) if names else student
        _print_line(f"{name}, {exercise}: {before:g} points before, {now:g} now.")
        _print_line(f"Next: `{format_command(f'grade {topic}', course)}` updates the feedback page.")
        return
    if overrides:
        raise CourseError("it is not clear whose points these are", "--student", "name the student.")
    from autograder.marking.cli import run_server
    from autograder.marking.session import Session

    if plan.markers and not marker:
        remedy = f"add --marker NAME, one of {', '.join(plan.markers)}: then two people never mark the same answer."
        raise CourseError("course.toml has markers, but none of them was named", "--marker", remedy)
    with contextlib.closing(Session(root, topic, exercise, names, selected, marker, student)) as session:
        for line in run_server(session, port, not no_browser, _print_line):
            _print_line(line)


@app.command("requests")
def list_requests(
    topic: Topic,
    student: Annotated[str, Option("--student", help="Answer this student, with --answer.")] = "",
    exercise: Annotated[str, Option("--exercise", help="The exercise, if the student asks about several.")] = "",
    answer: Annotated[str, Option("--answer", help="The answer, shown on the student's feedback page.")] = "",
    everything: Annotated[bool, Option("--all", help="Also list requests that were answered.")] = False,
    section: Sections = None,
    course: CoursePath = Path("course"),
) -> None:
    """List students' requests for another look, with verdicts and points, or answer one of them.

    A student asks in the notebook's last cell, or in a Markdown cell that begins with "Please look again at", and hands in
    the notebook again. `mark` changes the points; an answer given here appears on the feedback page after the next `grade`.
    """
    from autograder.courses.submissions import select_submissions
    from autograder.gradebook.requests import answer_request
    from autograder.reports.requests import find_ungraded, request_rows
    from autograder.reports.tables import requests_table

    root = _open_course(course)
    if bool(student) != bool(answer) or (exercise and not student):
        raise CourseError(
            "it is not clear which student gets what answer", "--student, --answer", "give both, or neither."
        )
    if student:
        answered = answer_request(root, topic, student, exercise, answer)
        about = ", ".join(sorted({request.exercise or "no exercise named" for request in answered}))
        _print_line(f"Answered: {root.plan().names_by_id().get(student, student)}, {about}.")
        _print_line(f"Next: `{format_command(f'grade {topic}', course)}` puts the answer on the feedback page.")
        return
    selected = select_submissions(root, topic, None, section)
    rows, waiting = request_rows(root, topic, selected, everything)
    if rows:
        out.print(requests_table(rows))
    _print_line(f"{waiting} {'request is' if waiting == 1 else 'requests are'} waiting for an answer.")
    if count := len(find_ungraded(root, topic, selected)):
        what = (
            "1 hand-in is not graded yet: a request in it"
            if count == 1
            else f"{count} hand-ins are not graded yet: requests in them"
        )
        _print_line(f"{what} will be listed after `{format_command(f'grade {topic}', course)}`.")
    if waiting:
        command = format_command(f"requests {topic} --student ID --answer '…'", course)
        _print_line(f"Next: `{command}`; `mark` changes points.")


@app.command()
def export(
    topic: Topic,
    to: Annotated[str, Option("--to", help="csv, canvas, moodle or gradescope.")] = "csv",
    output: Annotated[
        Path | None, Option(help="The file to write; by default TOPIC-grades-PLATFORM.csv in the course.")
    ] = None,
    given: Annotated[
        Path | None,
        Option("--from", help="File from the platform: Moodle's grading worksheet or Canvas's exported gradebook."),
    ] = None,
    column: Annotated[str, Option(help='What Canvas calls the assignment: "Title (number)".')] = "",
    unmarked: Annotated[bool, Option("--unmarked", help="Include what a person still has to mark.")] = False,
    section: Sections = None,
    force: Force = False,
    course: CoursePath = Path("course"),
) -> None:
    """Write the grades to a file that a learning platform can import, with its own ids. Exit status 3: someone is not in it."""
    from autograder.platforms.export import export as write

    root = _open_course(course)
    target = output or root.root / f"{topic}-grades-{to}.csv"
    only = root.plan().select_sections(section)
    exported = write(root, topic, to, target, given, column, unmarked, force, only)
    _report_export(exported, target, "grades", f"feedback {topic}", course)


@app.command("feedback")
def feedback_archive(
    topic: Topic,
    to: Annotated[str, Option("--to", help="folder, canvas or moodle.")] = "folder",
    output: Annotated[
        Path | None, Option(help="The file to write; by default TOPIC-feedback-PLATFORM.zip in the course.")
    ] = None,
    section: Sections = None,
    force: Force = False,
    course: CoursePath = Path("course"),
) -> None:
    """Pack the feedback pages written by `grade` into an archive that a learning platform can distribute.

    Exit status 3: someone's page is missing, or says that something is still to be marked.
    """
    from autograder.platforms.export import write_feedback_archive

    root = _open_course(course)
    target = output or root.root / f"{topic}-feedback-{to}.zip"
    only = root.plan().select_sections(section)
    _report_export(write_feedback_archive(root, topic, to, target, force, only), target, "pages", "report", course)


@app.command()
def report(
    topic: Annotated[str, Argument(metavar="[ASSIGNMENT]", help="Only this one; by default all released ones.")] = "",
    names: Annotated[bool, Option("--names", help="Include the students' names.")] = False,
    output: Annotated[Path | None, Option(help="The file to write; by default report.html in the course.")] = None,
    section: Sections = None,
    course: CoursePath = Path("course"),
) -> None:
    """Write a page on how the class did: scores, difficulty and discrimination of the exercises, mistakes."""
    from autograder.files import write_text
    from autograder.reports.analysis import analyse
    from autograder.reports.class_page import class_page
    from solutions.answer_key import topics

    root = _open_course(course)
    chosen = [topic] if topic else [assignment for assignment in topics() if root.releases(assignment).file.is_file()]
    plan = root.plan()
    only = plan.select_sections(section)
    target = output or root.root / ("-".join(["report", *map(_as_file_name, section or ())]) + ".html")
    title = " ".join(filter(None, [plan.title, *(f"(section {name})" for name in section or ())]))
    write_text(
        class_page(title, [analyse(root, assignment, only) for assignment in chosen], names, plan.names_by_id()), target
    )
    _print_line(f"Report on {', '.join(chosen) or 'nothing: no assignment was released'}: {target}")


def _as_file_name(text):
    return "".join(letter if letter.isalnum() else "_" for letter in text)


def _report_export(exported, target, what, following, course):
    called = _open_course(course).plan().names_by_id()
    for why, names in exported.left_out.items():
        reason = _use_singular(why) if len(names) == 1 else why
        _print_line(f"{len(names)} {reason}: {_join_names([called.get(name, name) for name in names])}")
    if not exported.count:
        _print_line("Nothing was written.")
        raise typer.Exit(SET_ASIDE)
    _print_line(f"{exported.count} {what if exported.count > 1 else what.removesuffix('s')} in {target}")
    _print_next(following, course, ", after you have uploaded this file")
    raise typer.Exit(SET_ASIDE if exported.left_out else 0)


def _use_singular(reason):
    """Return ``reason``, which says of several students why they are left out, so that it says it of one."""
    verb, _, rest = reason.partition(" ")
    return f"{({'are': 'is', 'have': 'has', 'were': 'was', 'share': 'shares'}).get(verb, verb)} {rest}"


@app.command()
def pack(
    topic: Topic,
    platform: Annotated[str, Option("--for", help="gradescope.")] = "gradescope",
    output: Annotated[
        Path | None, Option(help="The file to write; by default TOPIC-autograder-PLATFORM.zip in the course.")
    ] = None,
    torch_index: Annotated[str, Option(help="Address of a package index with a CPU-only torch.")] = "",
    force: Force = False,
    course: CoursePath = Path("course"),
) -> None:
    """Pack an assignment as an autograder that a platform runs by itself: students get points and hints at once.

    The archive contains the answers: give it to no one but the platform.
    """
    from autograder.files import write_bytes
    from autograder.notebooks.website import web_address
    from autograder.platforms.export import refuse_overwriting
    from autograder.platforms.gradescope.pack import pack as make
    from autograder.with_nbgrader.limits import settings

    require_checkout("pack")
    if platform != "gradescope":
        raise CourseError(f"no platform called {platform!r}", "--for", "name gradescope.")
    root = _open_course(course)
    target = output or root.root / f"{topic}-autograder-{platform}.zip"
    refuse_overwriting(target, force)
    released, (limits, _) = root.releases(topic).load(), settings(root)
    _say_key_changes(topic, released, root.root)
    archive = make(root, topic, released, limits, web_address(torch_index, "--torch-index") if torch_index else "")
    write_bytes(archive.content, target)
    _print_line(f"Autograder for {topic}: {target} ({len(archive.content) / 2**20:.1f} MB); it contains the answers.")
    _print_line(f"Autograder points on Gradescope: {archive.points:g}")
    for name, points in archive.by_person.items():
        _print_line(f"A manual question of {points:g} points: {name}; marking scheme: {root.marking_scheme(topic)}")


@app.command()
def restore(
    name: Annotated[str, Argument(help="The backup to restore; without one, all are listed.")] = "",
    course: CoursePath = Path("course"),
) -> None:
    """List the gradebook's backups, or restore one. They are made before each `release`, `grade`, `mark` and `restore`."""
    from autograder.courses.locking import exclusive_lock
    from autograder.gradebook import backup

    root = _open_course(course)
    if name:
        with exclusive_lock(root):
            backup.restore(root, name)
        out.print(f"Restored {name}. The previous gradebook was backed up too.", highlight=False)
        return
    for path in backup.list_backups(root):
        out.print(f"{path.name}  {path.stat().st_size / 2**20:.1f} MB", highlight=False)
    if not backup.list_backups(root):
        out.print("There are no backups yet: one is made before each release, grade, mark and restore.")


@app.command("forget")
def forget_student(
    student: Annotated[str, Argument(help="The student's id, as in the roster.", show_default=False)],
    yes: Annotated[bool, Option("--yes", help="Erase it; without this, nothing is changed.")] = False,
    course: CoursePath = Path("course"),
) -> None:
    """List what the course has of a student, or erase it: hand-ins, pages, points, and what the record says.

    It also names the places that it leaves to you, such as the line in the roster, backups, and files that you have exported.
    If it is killed and run again, it picks up where it stopped. Exit status 3: all was erased except what it names.
    """
    from autograder.forget import erase, find_mentions, find_traces

    root = _open_course(course)
    traces = erase(root, student) if yes else find_traces(root, student)
    lines, left = traces.lines, find_mentions(root, traces, erased=yes)
    _print_line(f"{'Erased' if yes else 'To be erased'}{':' if lines else ': nothing, because nothing is there.'}")
    for line in lines:
        _print_line(f"  {line}")
    if left:
        _print_line("Left to you, because it is your own or mentions others too:")
    for line in left:
        _print_line(f"  {line}")
    if yes:
        raise typer.Exit(SET_ASIDE if left else 0)
    if lines:
        command = format_command(f"forget {shlex.quote(student)} --yes", course)
        _print_line(f"Nothing was erased. `{command}` erases it.")


@app.command()
def doctor(
    course: Annotated[
        Path | None,
        Option("--course", help="The course to protect; by default the one in course, if it exists."),
    ] = None,
    isolation: Isolation = None,
) -> None:
    """Inside the sandbox, run a canary that tries to escape and to find the course, and report what it could do.

    If the course uses nbgrader's exchange, also report whether others could replace it. Limits and isolation come from
    the course's nbgrader_config.py, if there is a course.
    """
    from autograder.courses.course import list_hidden_paths
    from autograder.paths import DEFAULT_COURSE
    from autograder.sandbox import DEFAULT as USUAL
    from autograder.sandbox.doctor import examine, remedy, warnings
    from autograder.with_nbgrader.limits import settings

    folders = [folder for folder in (DEFAULT_COURSE, Path()) if (folder / "nbgrader_config.py").is_file()]
    root = _open_course(course or folders[0]) if course or folders else None
    limits, configured = settings(root) if root else (Limits(), USUAL)
    isolation = isolation or configured
    findings = examine(isolation, limits, list_hidden_paths(root) if root else ())
    for what, stopped in findings:
        out.print(f"[green]stopped[/]  a submission that {what}" if stopped else f"[red]NOT stopped[/]  it {what}")
    if not all(stopped for _, stopped in findings):
        raise CourseError("a submission can escape from the sandbox", "this machine", remedy(isolation))
    out.print("The sandbox holds" + (f", and hides {root.root}." if root else "."), markup=False)
    for warning in warnings(isolation, limits):
        out.print(f"[yellow]Warning:[/] {warning}")
    if root:
        _check_exchange(root)
    if root is None or not any(root.root.glob("release/*/*.ipynb")):
        _print_next(_release_command(root) if root else "init course", root.root if root else DEFAULT_COURSE)


def _check_exchange(course):
    """Print what is unsafe about the folders of ``course`` and its exchange, and exit if anything is."""
    from autograder.courses.course import find_access_problem
    from autograder.with_nbgrader.exchange import exchange_problems

    problem = find_access_problem(course)
    problems = [("course", *problem)] if problem else []
    problems += [("exchange", *problem) for problem in exchange_problems(course)]
    for which, what, folder, command in problems:
        out.print(f"[red]The {which} is not safe[/]  {folder}: {what}. Remedy: {command}")
    if problems:
        raise typer.Exit(FAILED)


@app.command(rich_help_panel=CONTRIBUTORS)
def audit(
    topic: Annotated[str, Argument(help="Only this topic; by default all.")] = "",
    full: Annotated[bool, Option("--full", help="All mutants, more draws, 1000 inputs.")] = False,
    seed: Annotated[int, Option(help="Seed for the hidden cases and the sample.")] = 0,
    save: Annotated[Path | None, Option(help="Write audit.json and the held-out plot there.")] = None,
    held_out: Annotated[bool, Option("--held-out", help="Only the held-out answers: a minute.")] = False,
    record: Annotated[bool, Option("--record", help="Record the held-out rates that the book shows.")] = False,
    verbose: Annotated[
        bool, Option("--verbose", help="Also print the tables, and the mutants equivalent to the reference.")
    ] = False,
) -> None:
    """Measure how often the grader is wrong: mutants, equivalents, held-out answers. Exit status 1 if it fails.

    Prints each problem with its remedy, and a summary.
    """
    from autograder.audit.show import show

    require_checkout("audit")
    if record and (topic or seed or not held_out):
        remedy = "python -m autograder audit --held-out --record"
        raise CourseError("the book shows the rates of every topic with seed 0", "--record", remedy)
    chosen = _select_topics([topic] if topic else [])
    raise typer.Exit(0 if show(out, chosen, full, seed, save, held_out, verbose, record) else FAILED)


@app.command(rich_help_panel=CONTRIBUTORS)
def check(
    chosen: Annotated[list[str] | None, Argument(metavar="[TOPIC]...", help="By default all topics.")] = None,
    seed: Annotated[int, Option(help="Seed for the hidden cases and the sample of mutants.")] = 0,
) -> None:
    """Check what a contributor has written, in seconds: key, chapter, reference, starter, mistakes, equivalents, mutants.

    Nothing is written, and only the project's own answers are run. One line per exercise says what is wrong, and the
    remedy; exit status 1 if anything is. `release` verifies more, `audit` tries more mutants.
    """
    from autograder.audit.check import check_topic

    require_checkout("check")
    faults = 0
    for topic in _select_topics(chosen):
        with out.status(f"Checking {topic} …"):
            checked = check_topic(topic, seed)
        for line in checked.lines():
            out.print(line, markup=False, highlight=False, soft_wrap=True)
        faults += len(checked.faults)
    raise typer.Exit(FAILED if faults else 0)


@app.command(rich_help_panel=CONTRIBUTORS)
def demo(
    root: Annotated[Path, Argument(help="Where to create the demonstration course; recreated each time.")],
    isolation: Annotated[str, Option(help="As for grade; auto: a sandbox if available, otherwise none.")] = "auto",
) -> None:
    """Release every assignment, hand in the demonstration class's work, grade it, and print the table."""
    from autograder.batch.context import GradingOptions
    from autograder.courses import demo as demonstration
    from autograder.courses.course import init
    from autograder.notebooks.website import site_address
    from autograder.releases.release import release as make
    from autograder.sandbox import bubblewrap
    from solutions.answer_key import topics

    require_checkout("demo")
    if isolation == "auto":
        isolation = "zygote" if bubblewrap.is_installed() else "none"
        if isolation == "none":
            out.print(f"[bold yellow]There is no sandbox on this machine.[/] To get one, {bubblewrap.REMEDY}")
            reason = "The demonstration class is the project's own"
            out.print(f"{reason}, so it is graded without one, except for its hostile part.")
    if root.exists() and not (root / ".demonstration").is_file():
        raise CourseError("this is not a demonstration course", str(root), "name a folder that does not exist yet.")
    shutil.rmtree(root, ignore_errors=True)
    course = init(root)
    (root / ".demonstration").touch()
    website = site_address()
    for topic in topics():
        with out.status(f"Releasing {topic} …"):
            make(course, topic, seed=0, website=website)
        out.print(f"Released {topic}: {course.releases(topic).file}")
    everybody = demonstration.hand_in(course, "scoring", hostile=isolation != "none")
    out.print(f"{len(everybody)} students of the demonstration class handed in scoring.")
    rows = _grade_and_report(course, "scoring", GradingOptions(demonstration.LIMITS, isolation))
    deserved = {student.name: student.points for student in everybody}
    outcome = {row.student: row.failed or ("set aside" if row.set_aside else row.total) for row in rows}
    wrong = {name: points for name, points in outcome.items() if points != deserved[name]}
    if wrong:
        what = "; ".join(f"{name} got {points} but deserves {deserved[name]}" for name, points in wrong.items())
        raise CourseError(what, "the demonstration class", "see tests/submissions/class and the table above.")
    out.print("Every student of the demonstration class got the points that their answers deserve.")
    out.print(f"To open:  {course.releases('scoring').file}")
    out.print(f"          {course.feedback('emil_no_tanh', 'scoring')}")


def _open_course(path):
    from autograder.courses.course import Course

    return Course.at(path)


def _select_topics(chosen):
    """Return the ``chosen`` topics, by default all; refuse unknown ones."""
    from solutions.answer_key import topics

    for topic in chosen or ():
        if topic not in topics():
            meant = next((known for known in topics() if known.casefold() == topic.casefold()), "")
            remedy = f"do you mean {meant}?" if meant else f"name one of {', '.join(topics())}."
            raise CourseError(f"no topic {topic!r}", "the answer key", remedy)
    return chosen or topics()


def _website_address(base_url, no_links, of_the_course=""):
    """Return the address that a released notebook links to, "" for none."""
    from autograder.notebooks.website import site_address, web_address

    if no_links:
        return ""
    if base_url is not None:
        return web_address(base_url, "--base-url")
    if of_the_course:
        return web_address(of_the_course, "website in course.toml")
    if not (address := site_address()):
        raise CourseError(
            "the notebook links to its chapter on the website, but html.baseurl is empty or a placeholder",
            "_config.yml",
            "set it to the address of your website, or write it into course.toml, or give --base-url ADDRESS or --no-links.",
        )
    return address


def _grade_and_report(course, topic, options, students=(), machines=("",)):
    from autograder import sandbox
    from autograder.batch.grade_class import grade_class
    from autograder.courses.course import list_hidden_paths
    from autograder.courses.submissions import find_misplaced_notebooks
    from autograder.feedback import notices
    from autograder.gradebook.requests import load_requests
    from autograder.grading import cluster
    from autograder.reports import tables as report

    sandbox.require_known(options.isolation)
    if options.isolation == "none":
        out.print(TRUSTED_ONLY)
    released, called = course.releases(topic).load(), course.plan().names_by_id()
    _say_key_changes(topic, released, course.root)
    with contextlib.ExitStack() as stack:
        executor, (scheduler, *certificates) = None, machines
        if scheduler:
            shown = cluster.Certificates(*certificates)
            executor = stack.enter_context(
                cluster.executor(scheduler, options.isolation, list_hidden_paths(course), shown)
            )
        bar = stack.enter_context(_progress_bar())
        task, began = bar.add_task("grading", total=None, rate=""), time.monotonic()

        def advance(done, total, row):
            rate = f"{done / max(time.monotonic() - began, 1e-3):.1f}/s"
            bar.update(task, completed=done, total=total, rate=rate)
            if not out.is_terminal:
                name = notices.plain(called.get(row.student) or row.student)
                text = f"{done}/{total} {rate} {name}: {report.describe_status(row)}"
                out.print(text, markup=False, highlight=False)

        def notice(text):
            out.print(f"[yellow]{text}[/]")

        try:
            rows = grade_class(course, topic, options, students, advance, executor, notice, released)
        except KeyboardInterrupt:
            bar.stop()
            Console(stderr=True).print("Stopped. Grades so far are kept; run the same command again to continue.")
            raise typer.Exit(STOPPED) from None
    if options.dry:
        _say_mark_changes(rows, topic, called, course)
        return rows
    out.print(report.legend_table(released.exercises))
    out.print(report.grade_table(released.exercises, rows, out.width, called))
    if out.width < report.WIDE_COLUMNS:
        out.print(report.hint_lines(rows, called), markup=False, highlight=False)
    out.print(report.summary_line(rows))
    if slowest := report.slowest_line(rows, called):
        _print_line(slowest)
    for path in find_misplaced_notebooks(course):
        place = f"submitted/STUDENT/{topic}/{topic}.ipynb"
        out.print(f"Ignored: {notices.plain(path)}. Submissions belong in {place}.", markup=False)
    out.print(f"Feedback: {course.feedback('*', topic)}", markup=False)
    if changed := _publish_again(course, topic, [row.student for row in rows]):
        _print_line(f"Feedback pages that have changed, published again in the exchange: {len(changed)}.")
    requests = load_requests(course, topic, [row.student for row in rows])
    if count := sum(not request.answer for request in requests):
        command = format_command(f"requests {topic}", course.root)
        _print_line(f"Students have asked for another look: {count}. `{command}` lists them.")
    if any(row.waiting for row in rows):
        how = f"`{format_command(f'mark {topic} EXERCISE', course.root)}`, or nbgrader's formgrader"
        out.print(f"To be marked by a person: {how}; scheme: {course.marking_scheme(topic)}", markup=False)
    waiting = {name for row in rows for name in row.waiting}
    written = [
        exercise.name.partition("-")[2]
        for exercise in released.exercises
        if not exercise.is_automatic and exercise.name in waiting
    ]
    marker = " --marker NAME" if course.plan().markers else ""
    next_step = f"mark {topic} {written[0]}{marker}" if written else f"export {topic}"
    feedback = format_command(f"feedback {topic}", course.root)
    _print_next(next_step, course.root, f", or pack the feedback pages as they are: {feedback}")
    return rows


def _publish_again(course, topic, students):
    """Replace the pages in nbgrader's exchange that have changed since they were published; return whose they are."""
    from autograder.with_nbgrader.limits import has_published

    if not has_published(course):
        return []
    from autograder.with_nbgrader.exchange import ExchangeFolders  # imports nbgrader

    return ExchangeFolders.of(course).publish_again(course, topic, students)


def _say_key_changes(topic, released, course):
    """Print what differs between the release and the current key."""
    if released.changed:
        out.print(
            "[yellow]The key or the solutions have changed since the release: grading uses the current version.[/]"
        )
    for name, points in released.other_points.items():
        out.print(
            f"[yellow]{name} is worth {released.points[name]:g} points as released, which is what counts; the key or course.toml "
            f"now says {points:g}.[/] To use that instead, run `{format_command(f'release {topic}', course)}`."
        )


def _say_mark_changes(rows, topic, called, course):
    from autograder.feedback import notices
    from autograder.reports import tables as report

    if any(row.changes for row in rows):
        out.print(report.changes_table(rows, called))
    for row in rows:
        if row.set_aside or row.failed:
            _print_line(f"{notices.plain(called.get(row.student, row.student))}: {report.describe_status(row)}")
    summary = report.changes_summary(rows)
    command = format_command(f"grade {topic}", course.root)
    _print_line(f"{summary}. Nothing was recorded: `{command}` records it.")


def _progress_bar():
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[rate]}")
    return Progress(*columns, TimeRemainingColumn(), console=out, disable=not out.is_terminal)


def main() -> None:
    os.environ.setdefault(
        "OMP_NUM_THREADS", "1"
    )  # arrays are small: more threads cost torch several times the CPU time
    try:
        app()
    except (CourseError, AnswerKeyError) as error:
        _refuse(error)
    except IsADirectoryError as error:
        _refuse(CourseError("this is a folder", str(error.filename2 or error.filename), "name a file."))
    except OSError as error:
        what = describe_os_error(error)
        if not what:
            raise
        _refuse(CourseError(*what))


def _refuse(error):
    Console(stderr=True, soft_wrap=True).print(Text.assemble(("error: ", "bold red"), str(error)))
    sys.exit(REFUSED)


if __name__ == "__main__":
    main()
