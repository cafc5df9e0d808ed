"""Measure how often the grader is wrong: on the course's own answers, on mutants and equivalents, on held-out answers.

In: topics, how much to try. Out: frozen reports, a JSON file, tables, a picture. Runs functions of this project only, so
it needs no sandbox. Reads ``tests/submissions``; writes only where the caller says.
"""

import contextlib
import importlib
import io
import json
import math
import random
import signal
import threading
import tomllib
import warnings
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path

import numpy as np
from rich.table import Table

from autograder import exercises
from autograder.audit import inputs, mutants
from autograder.errors import CourseError
from autograder.exercises import compare, key_linter
from autograder.exercises.numbers import is_finite, largest
from autograder.files import as_json, write_text
from autograder.grading import judge
from autograder.notebooks import assemble
from autograder.sandbox import Reply, wire
from solutions import answer_key

HELD_OUT = Path(__file__).resolve().parents[2] / "tests" / "submissions" / "heldout"
SECONDS = 2.0  # that one call of a mutant may run
SAMPLE = 120  # mutants of an exercise
TRIED = {False: 200, True: 1000}  # inputs that a mutant must agree on to be called equal; by whether all is audited
ASKED = 1e-4  # one unit of the last decimal that is asked for in numbers worked by hand
TOO_CLOSE = "differs by no more than a unit of the last decimal that is asked for"
SEEDS = {False: 1, True: 10}  # draws of the hidden cases
HINTS = ("named", "misled", "general")
EQUAL = "equals the reference on {} inputs of every kind"
IN_PLACE = (
    "the value is right: no text asks that inputs stay unchanged; the check cell says so, and no points hang on it"
)


@dataclass(frozen=True)
class Found:
    """A mutant that was not rejected: the line of the reference that was changed, what was done, and why it stays."""

    line: int
    source: str
    what: str
    reason: str = ""
    draw: int = 0  # the first draw of the hidden cases that it passed


@dataclass(frozen=True)
class Audited:
    """What the audit found about one exercise. All tuples of names list what is *not* as it should be."""

    exercise: str
    kind: str
    points: float
    reference_earned: tuple[float, ...]  # one number a seed
    starter_earned: float
    right: int
    right_rejected: tuple[str, ...]
    mistakes: int
    mistakes_accepted: tuple[str, ...]
    hints_missed: tuple[str, ...]
    mutants: int
    tried: int
    aside: tuple[Found, ...]
    survivors: tuple[Found, ...]
    equivalents: int
    equivalents_rejected: tuple[str, ...]
    problems: tuple[str, ...]

    @property
    def passed(self):
        return not (
            any(earned != self.points for earned in self.reference_earned)
            or self.starter_earned
            or self.right_rejected
            or self.mistakes_accepted
            or self.hints_missed
            or self.survivors
            or self.equivalents_rejected
            or self.problems
        )


@dataclass(frozen=True)
class Answer:
    """One held-out answer, graded. ``judged`` says what a person found the hint to be; "" where nobody has said yet."""

    name: str
    topic: str
    exercise: str
    right: bool
    truth: str  # the true mistake, or the style of a right answer
    earned: float
    points: float
    hint: str = ""
    judged: str = ""

    @property
    def accepted(self):
        return self.earned == self.points


@dataclass(frozen=True)
class Rates:
    """Held-out figures of one topic, or of all: counts. ``unjudged`` hints were never judged, or have changed since."""

    topic: str
    wrong: int = 0
    right: int = 0
    false_accepts: int = 0
    false_rejects: int = 0
    named: int = 0
    misled: int = 0
    general: int = 0
    unjudged: int = 0
    moved: int = 0  # answers that found something, and are ordinary ones since it was mended

    def __add__(self, other):
        counts = {f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(self) if f.name != "topic"}
        return Rates(self.topic, **counts)

    @property
    def judged(self):
        """How many wrong answers were caught with a hint that a person has judged."""
        return self.named + self.misled + self.general


@dataclass(frozen=True)
class Report:
    """The whole audit. ``first`` holds the held-out figures as they were first measured."""

    exercises: tuple[Audited, ...] = ()
    answers: tuple[Answer, ...] = ()
    now: tuple[Rates, ...] = ()
    first: tuple[Rates, ...] = ()
    full: bool = False
    seed: int = 0
    notes: tuple[str, ...] = field(default=())

    @property
    def passed(self):
        return all(one.passed for one in self.exercises)


def audit(topics=None, full=False, seed=0, held_out=True, progress=None):
    """Audit the exercises of ``topics``, by default all; return a ``Report``.

    Parameters
    ----------
    topics : iterable of str, optional
    full : bool
        All mutants instead of a seeded sample, more draws of the hidden cases, 1000 inputs instead of 200.
    seed : int
        Of the first draw of hidden cases, and of the sample.
    held_out : bool
        Whether to grade the held-out answers too.
    progress : callable, optional
        Called with each ``Audited``.
    """
    topics = tuple(topics or answer_key.topics())
    audited = []
    for topic in topics:
        for one in audit_topic(topic, full, seed):
            audited.append(one)
            if progress:
                progress(one)
    return replace(measure(topics, seed) if held_out else Report(), exercises=tuple(audited), full=full, seed=seed)


def audit_topic(topic, full=False, seed=0):
    """Yield an ``Audited`` for each exercise of ``topic`` whose function is called to judge it."""
    draws = [exercises.load(topic, seed + n) for n in range(SEEDS[full])]
    references = importlib.import_module(f"solutions.in_numpy.{topic}"), _module(f"solutions.in_torch.{topic}")
    mistakes, right = importlib.import_module(f"solutions.mistakes.{topic}"), _module(f"tests.submissions.{topic}")
    problems = {}
    for asked in draws:
        text = key_linter.released_text(assemble.source_notebook(topic, asked))
        for problem in key_linter.lint(asked, text=text):
            problems.setdefault(problem.exercise, []).append(str(problem))
    for versions in zip(*draws, strict=True):
        exercise = versions[0]
        if exercise.is_called:
            reference = getattr(references[exercise.in_torch], exercise.function)
            found = tuple(dict.fromkeys(problems.get(exercise.name, ())))
            yield audit_exercise(versions, reference, vars(mistakes), vars(right), full, seed, found)


def audit_exercise(versions, reference, mistakes=None, right=None, full=False, seed=0, problems=()):
    """Return the ``Audited`` of one exercise.

    Parameters
    ----------
    versions : sequence of Exercise
        The same exercise with its hidden cases drawn from one seed or several.
    reference : function
    mistakes, right : dict
        Name -> function; those that begin with the name of the exercise's function are taken.
    full : bool
        Whether to try all mutants, or a sample of ``SAMPLE``.
    """
    exercise = versions[0]
    wrong, right = (exercises.versions(each or {}, exercise.function) for each in (mistakes, right))
    judged_wrong = {name: [verdict_on(function, one) for one in versions] for name, function in wrong.items()}
    made = mutants.mutants(reference, exercise.kind)
    taken = made if full else random.Random(seed).sample(made, min(SAMPLE, len(made)))
    aside, survivors = _sorted_out(taken, versions, reference, TRIED[full])
    shifted = _wrong_numbers(versions[0]) if exercise.kind == "number" else ()
    equal = mutants.equivalents(reference, exercise)
    return Audited(
        exercise.name,
        exercise.kind,
        exercise.points,
        tuple(verdict_on(reference, one).earned for one in versions),
        verdict_on(key_linter.starter(exercise), exercise).earned,
        len(right),
        tuple(n for n, f in right.items() if any(not accepts(one, verdict_on(f, one)) for one in versions)),
        len(wrong),
        tuple(n for n, judged in judged_wrong.items() if any(map(accepts, versions, judged))),
        tuple(n for n, judged in judged_wrong.items() if not all(_says(v, exercise.hints.get(n)) for v in judged)),
        len(made) + len(shifted),
        len(taken) + len(shifted),
        aside,
        (*survivors, *(found for found in shifted if found.reason)),
        len(equal),
        tuple(e.what for e in equal if any(not accepts(one, verdict_on(e.function, one)) for one in versions)),
        tuple(problems),
    )


def verdict_on(function, exercise):
    """Return the ``Verdict`` that ``function`` earns on the hidden cases of ``exercise``, without a sandbox."""
    called = enumerate(judge.cases_to_call(exercise))
    replies = {(exercise.name, n): reply_to(function, exercise, case) for n, case in called}
    return judge.judge([exercise], replies)[0]


def reply_to(function, exercise, case):
    """Return the reply that a sandbox would give for one call; see ``sandbox.Reply``."""
    turn, said = exercises.convert(exercise), io.StringIO()
    given = {name: turn(item) for name, item in case.inputs.items()}
    try:
        with _limited(), contextlib.redirect_stdout(said):
            value, changed = compare.call_case(function, given, case.gradients)
    except Exception as error:
        return Reply(raised=type(error).__name__)
    value = wire.decode(json.loads(json.dumps(wire.encode(value))))
    return Reply(value, changed=tuple(changed), printed=bool(said.getvalue()))


def accepts(exercise, verdict):
    return verdict.earned == exercise.points


# --- mutants ---------------------------------------------------------------------------------------------------------


def _sorted_out(made, versions, reference, tried):
    """Return ``(set aside, survivors)``: the mutants that keep all points, parted by whether they are wrong at all."""
    aside, survivors = [], []
    plain = [replace(one, hints={}) for one in versions]  # the points are of interest here, not the words
    answers = _Answers(reference, versions[0], tried)
    for mutant in made:
        kept = [n for n, one in enumerate(plain) if accepts(one, verdict_on(mutant.function, one))]
        if not kept:
            continue
        found = Found(mutant.line, mutant.source, mutant.what, draw=kept[0])
        if mutant.in_place:
            aside.append(replace(found, reason=IN_PLACE))
        elif answers.are_given_by(mutant.function):
            aside.append(replace(found, reason=TOO_CLOSE if versions[0].kind == "number" else EQUAL.format(tried)))
        else:
            survivors.append(found)
    return tuple(aside), tuple(survivors)


class _Answers:
    """What the reference answers to inputs of every kind. They are drawn and worked out as far as they are asked for."""

    def __init__(self, reference, exercise, tried):
        self.exercise, self.reference = exercise, reference
        self.waiting = inputs.inputs_for(exercise, tried)
        self.known = []

    def are_given_by(self, function):
        """Return whether ``function`` agrees with the reference on all of them. The first difference decides."""
        for given, expected, atol in self._all():
            try:
                with _limited():
                    value = _called(function, self.exercise, given)
                if any(compare.reasons(value, expected, self.exercise.kind, atol).values()):
                    return False
            except Exception:
                return False
        return True

    def _all(self):
        yield from self.known
        for given in self.waiting:
            try:
                expected = _called(self.reference, self.exercise, given)
            except Exception:
                continue  # inputs that the text does not allow
            if self.exercise.kind != "shape":
                expected = compare.read_value(expected)
                if not is_finite(expected):
                    continue
            # Numbers worked by hand: that another value is within the key's tolerance is no excuse.
            by_hand = self.exercise.kind == "number"
            atol = ASKED if by_hand else 1e-5 * given.loose * max(1.0, largest(expected))
            self.known.append((given, expected, atol))
            yield self.known[-1]


def _called(function, exercise, given):
    values = inputs.tensors(given.values) if exercise.in_torch else given.values
    with contextlib.redirect_stdout(None):
        return compare.call_case(function, values, given.gradients)[0]


def _wrong_numbers(exercise):
    """Return a ``Found`` for each wrong set of numbers; with a reason where the grader takes it for right."""
    (case,), found = exercise.hidden, []
    plain = replace(exercise, hints={})
    for what, value in mutants.wrong_values(case.expected, case.atol):
        unlike = compare.reasons(value, case.expected, exercise.kind, case.atol)
        earned = judge.judge([plain], {(exercise.name, 0): Reply(value)})[0].earned
        kept = earned == exercise.points and any(unlike.values())
        found.append(Found(0, "", what, "accepted, and further off than the tolerance" if kept else ""))
    return tuple(found)


class TookTooLong(Exception):
    """A mutant ran longer than a call may: it counts as one that raised."""


@contextlib.contextmanager
def _limited():
    """Interrupt what runs longer than ``SECONDS``. Outside of the main thread there is no limit."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def interrupt(*_):
            raise TookTooLong

        before = signal.signal(signal.SIGALRM, interrupt)
        signal.setitimer(signal.ITIMER_REAL, SECONDS)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)


def _says(verdict, hint):
    return hint is not None and any(hint in said for said in verdict.hints)


def _module(name):
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and name.startswith(error.name):
            return None
        raise


# --- held-out answers ------------------------------------------------------------------------------------------------


def measure(topics=None, seed=0, folder=HELD_OUT):
    """Grade the held-out answers in ``folder``; return a ``Report`` of them alone.

    ``<topic>.py`` holds functions ``<function>__wrong_<what>``, whose docstring is the true mistake, and
    ``<function>__right_<style>``. ``<topic>.toml``, which may be absent, holds what a person judged: under ``[hint.NAME]``
    the ``verdict``, one of ``HINTS``, and ``on``, the words that it was said of; under ``[first]`` the counts as first
    measured; and ``moved``, the answers that found something and are ordinary ones now.
    """
    topics = tuple(topics or answer_key.topics())
    answers, now, first, notes = [], [], [], []
    for topic in topics:
        if not (folder / f"{topic}.py").is_file():
            notes.append(f"{topic}: no held-out answers.")
            continue
        judged = _judged(folder / f"{topic}.toml")
        graded = [_graded(*found, judged) for found in held_out_answers(topic, seed, folder)]
        answers += graded
        now.append(_rates(topic, graded, len(judged.get("moved", ()))))
        if "first" in judged:
            first.append(Rates(topic, **judged["first"]))
    return Report((), tuple(answers), tuple(now), tuple(first), seed=seed, notes=tuple(notes))


def held_out_answers(topic, seed=0, folder=HELD_OUT):
    """Yield ``(exercise, name, function)`` of the held-out answers of ``topic``. They see what the notebook holds ready."""
    path = folder / f"{topic}.py"
    asked = {exercise.function: exercise for exercise in exercises.load(topic, seed) if exercise.is_called}
    scope = {"__name__": f"heldout_{topic}", "np": np, "math": math}
    exec(exercises.provided(topic), scope)
    before = set(scope)
    exec(compile(path.read_text(encoding="utf-8"), path.name, "exec"), scope)
    for name in [n for n in scope if n not in before and not n.startswith("_") and "__" in n]:
        function, _, rest = name.partition("__")
        if function not in asked or rest.split("_")[0] not in ("wrong", "right"):
            raise CourseError(
                f"{name} answers no exercise of {topic}",
                f"heldout/{path.name}",
                "name it <function>__wrong_<what> or <function>__right_<style>.",
            )
        yield asked[function], name, scope[name]


def _graded(exercise, name, function, judged):
    verdict = verdict_on(function, exercise)
    hint = " ".join(verdict.hints) or "; ".join(part.reason for part in verdict.parts if part.reason)
    right = name.partition("__")[2].startswith("right")
    said = judged.get("hint", {}).get(name, {})
    of_this = said.get("verdict", "") if said.get("on", "") == hint and not right else ""
    truth = " ".join((function.__doc__ or "").split())
    return Answer(
        name, exercise.entry.topic, exercise.name, right, truth, verdict.earned, verdict.points, hint, of_this
    )


def _judged(path):
    """Return the judgement in the file at ``path``, or {}.

    Raises
    ------
    CourseError
        If it says of a hint what is not in ``HINTS``.
    """
    judged = tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    for name, said in judged.get("hint", {}).items():
        if said.get("verdict") not in HINTS or "on" not in said:
            raise CourseError(
                f"the hint of {name} is judged {said.get('verdict')!r}",
                f"heldout/{path.name}",
                f"write verdict, one of {', '.join(HINTS)}, and on, the hint that it was said of.",
            )
    return judged


def _rates(topic, answers, moved):
    wrong = [answer for answer in answers if not answer.right]
    caught = [answer.judged for answer in wrong if not answer.accepted]
    return Rates(
        topic,
        len(wrong),
        len(answers) - len(wrong),
        len(wrong) - len(caught),
        sum(answer.right and not answer.accepted for answer in answers),
        *(caught.count(word) for word in HINTS),
        caught.count(""),
        moved,
    )


def wilson(hits, count, z=1.96):
    """Return the Wilson interval of a rate: ``(low, high)``, between 0 and 1; (0, 1) where nothing was counted."""
    if not count:
        return 0.0, 1.0
    rate, square = hits / count, z * z
    middle = rate + square / (2 * count)
    width = z * math.sqrt(rate * (1 - rate) / count + square / (4 * count * count))
    low, high = (middle - width) / (1 + square / count), (middle + width) / (1 + square / count)
    return max(0.0, low) if hits else 0.0, min(1.0, high) if hits < count else 1.0


# --- what is shown ---------------------------------------------------------------------------------------------------

RATES = (  # title, hits, of how many
    ("wrong answers accepted", "false_accepts", "wrong"),
    ("right answers rejected", "false_rejects", "right"),
    ("hint named the mistake", "named", "judged"),
    ("hint misled", "misled", "judged"),
    ("hint stayed general", "general", "judged"),
)


def totals(rates):
    """Return the sum over topics."""
    return sum(rates, Rates("all topics"))


def exercises_table(report):
    """Return the Rich table with one row for each exercise."""
    table = Table(title="What the grader does with answers whose worth is known", title_justify="left")
    table.add_column("exercise")
    for title in ("reference", "starter", "right, accepted", "mistakes, caught", "own hint", "mutants", "rejected"):
        table.add_column(title, justify="right")
    for title in ("set aside", "survivors", "equivalents, accepted", "key"):
        table.add_column(title, justify="right")
    for one in report.exercises:
        rejected = one.tried - len(one.aside) - len(one.survivors)
        table.add_row(
            one.exercise if one.passed else f"[bold red]{one.exercise} FAILS[/]",
            f"{min(one.reference_earned):g}/{one.points:g}",
            f"{one.starter_earned:g}",
            f"{one.right - len(one.right_rejected)}/{one.right}",
            f"{one.mistakes - len(one.mistakes_accepted)}/{one.mistakes}",
            f"{one.mistakes - len(one.hints_missed)}/{one.mistakes}",
            f"{one.tried} of {one.mutants}",
            str(rejected),
            str(len(one.aside)),
            str(len(one.survivors)),
            f"{one.equivalents - len(one.equivalents_rejected)}/{one.equivalents}",
            "sound" if not one.problems else f"{len(one.problems)} problems",
        )
    return table


def held_out_table(report):
    """Return the Rich table of the held-out rates, by topic and for all: percent, with 95 % Wilson intervals."""
    table = Table(title="On answers that nobody tuned to (in brackets: 95 % Wilson interval)", title_justify="left")
    table.add_column("topic")
    for title, _, _ in RATES:
        table.add_column(title, justify="right")
    table.add_column("hints not judged", justify="right")
    for label, rates in (("as first measured", report.first), ("now", report.now)):
        if rates:
            table.add_section()
            for row in (*rates, totals(rates)):
                cells = [_rate_words(getattr(row, hits), getattr(row, of)) for _, hits, of in RATES]
                table.add_row(f"{row.topic}, {label}", *cells, str(row.unjudged))
    return table


def _rate_words(hits, count):
    if not count:
        return "-"
    low, high = wilson(hits, count)
    return f"{hits}/{count} [{100 * low:.0f}-{100 * high:.0f} %]"


def details(report):
    """Yield a line of text for everything that is not as it should be, and for each mutant that was set aside."""
    for one in report.exercises:
        for earned in one.reference_earned:
            if earned != one.points:
                yield f"{one.exercise}: the reference earns {earned:g} of {one.points:g} points."
        if one.starter_earned:
            yield f"{one.exercise}: the untouched starter earns {one.starter_earned:g} points."
        lists = {
            "a right answer is rejected": one.right_rejected,
            "a mistake is accepted": one.mistakes_accepted,
            "a mistake does not get its own hint": one.hints_missed,
            "an equivalent is rejected": one.equivalents_rejected,
            "the key is weak": one.problems,
        }
        for what, names in lists.items():
            yield from (f"{one.exercise}: {what}: {name}" for name in names)
        for found in one.survivors:
            yield f"{one.exercise}: SURVIVES, line {found.line}, `{found.source}`: {found.what}. {found.reason}".rstrip()
        for found in one.aside:
            yield f"{one.exercise}: set aside, line {found.line}, `{found.source}`: {found.what}: {found.reason}."
    for answer in report.answers:
        if answer.accepted != answer.right:
            what = "right answer rejected" if answer.right else "wrong answer accepted"
            yield f"{answer.exercise}: held-out {what}: {answer.name}: {answer.truth}"


def summary(report):
    """Return one sentence that says what was tried and how it ended."""
    if not report.exercises:
        return f"{len(report.answers)} held-out answers were graded."
    tried, made = sum(one.tried for one in report.exercises), sum(one.mutants for one in report.exercises)
    survivors = sum(len(one.survivors) for one in report.exercises)
    rejected = sum(len(one.right_rejected) + len(one.equivalents_rejected) for one in report.exercises)
    how = (
        "all of them"
        if report.full
        else f"a sample: at most {SAMPLE} an exercise, seed {report.seed}; --full takes all"
    )
    return (
        f"{tried} of {made} mutants ({how}), {SEEDS[report.full]} draws of the hidden cases: "
        f"{survivors} survive. {rejected} right answers are rejected."
    )


def picture(report):
    """Return a matplotlib figure of the held-out rates: a point with its Wilson interval for each rate and topic."""
    from matplotlib.figure import Figure

    topics = [row.topic for row in (*report.now, totals(report.now))]
    figure = Figure(figsize=(11, 1.4 + 0.35 * len(topics)))
    axes = figure.subplots(1, len(RATES), sharey=True)
    measured = [(report.now, "s", "tab:blue", "now", 0.0)]
    if report.first:
        measured = [
            (report.first, "o", "white", "as first measured", -0.15),
            (report.now, "s", "tab:blue", "now", 0.15),
        ]
    for axis, (title, hits, of) in zip(axes, RATES, strict=True):
        for rates, marker, face, label, shift in measured:
            shown = [row for row in (*rates, totals(rates)) if getattr(row, of) and row.topic in topics]
            share = [100 * getattr(row, hits) / getattr(row, of) for row in shown]
            ends = [[100 * end for end in wilson(getattr(row, hits), getattr(row, of))] for row in shown]
            reach = [[x - low for x, (low, _) in zip(share, ends, strict=True)]]
            reach += [[high - x for x, (_, high) in zip(share, ends, strict=True)]]
            places = [topics.index(row.topic) + shift for row in shown]
            style = {"marker": marker, "markerfacecolor": face, "color": "tab:blue", "linestyle": "none"}
            if shown:
                axis.errorbar(share, places, xerr=np.maximum(reach, 0), label=label, **style)
        axis.set_title(title, fontsize=9)
        axis.set_xlim(-3, 103)
        axis.set_xlabel("%")
    axes[0].set_yticks(range(len(topics)), topics)
    axes[0].invert_yaxis()
    if report.first:
        figure.legend(*axes[0].get_legend_handles_labels(), loc="lower left", ncols=2, fontsize=9)
    figure.tight_layout(rect=(0, 0.09 if report.first else 0, 1, 1))
    return figure


def held_out_markdown(report):
    """Return the held-out rates as a Markdown table, for the book."""
    titles = [title for title, _, _ in RATES]
    lines = [f"| topic | {' | '.join(titles)} |", "|---|" + "---|" * len(titles)]
    for label, rates in ((", as first measured", report.first), (", now" if report.first else "", report.now)):
        for row in (*rates, totals(rates)) if rates else ():
            cells = [_rate_words(getattr(row, hits), getattr(row, of)) for _, hits, of in RATES]
            lines.append(f"| {row.topic}{label} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def save(report, folder):
    """Write ``audit.json`` into ``folder``, with ``heldout.md`` and ``heldout.svg`` if held-out answers were graded.

    Returns
    -------
    Path
        Of the JSON file.
    """
    folder = Path(folder)
    data = asdict(report) | {"passed": report.passed, "all_now": asdict(totals(report.now))}
    data["all_first"] = asdict(totals(report.first)) if report.first else None
    data["intervals"] = [
        {"topic": row.topic, "rate": title, "hits": getattr(row, hits), "of": getattr(row, of)}
        | dict(zip(("low", "high"), wilson(getattr(row, hits), getattr(row, of)), strict=True))
        for row in (*report.now, totals(report.now))
        for title, hits, of in RATES
    ]
    write_text(as_json(data), folder / "audit.json")
    if report.now:
        write_text(held_out_markdown(report), folder / "heldout.md")
        picture(report).savefig(folder / "heldout.svg")
    return folder / "audit.json"


def show(out, topics, full=False, seed=0, save_to=None, held_out_only=False):
    """Run the audit, print it to the Rich console ``out``, save it if asked; return whether the grader stands it."""
    if held_out_only:
        report = measure(topics, seed)
    else:
        with out.status("Auditing …") as status:
            report = audit(topics, full, seed, progress=lambda one: status.update(f"Audited {one.exercise} …"))
        out.print(exercises_table(report))
    if report.now:
        out.print(held_out_table(report))
    for line in (*details(report), *report.notes, summary(report)):
        out.print(line, markup=False, highlight=False)
    if save_to:
        out.print(f"Saved: {save(report, save_to)}", markup=False, highlight=False)
    return report.passed
