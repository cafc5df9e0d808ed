"""Show an audit: tables, sentences, a picture, Markdown and JSON.

In: a ``Report``. Out: what a person reads. ``save`` writes where the caller says; ``record_rates`` writes ``RECORD``, the
held-out rates that the book shows; ``show`` prints.
"""

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from rich.console import Console
from rich.table import Table

from autograder.audit.held_out import HELD_OUT, Rates, totals, wilson
from autograder.audit.report import Report, audit, measure
from autograder.audit.run import MAX_SAMPLED_MUTANTS, SEEDS
from autograder.files import as_json, write_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RECORD = HELD_OUT.with_suffix("") / "rates.json"
RATES = (  # title, field of the hits, field of the total
    ("wrong answers accepted", "false_accepts", "wrong"),
    ("right answers rejected", "false_rejects", "right"),
    ("hint named the mistake", "named", "judged"),
    ("hint misled", "misled", "judged"),
    ("hint stayed general", "general", "judged"),
)


def exercises_table(report: Report) -> Table:
    """Return the Rich table with one row for each exercise."""
    table = Table(title="What the grader does with answers whose correct grade is known", title_justify="left")
    table.add_column("exercise")
    for title in ("reference", "starter", "right, accepted", "mistakes, caught", "own hint", "mutants", "rejected"):
        table.add_column(title, justify="right")
    for title in ("set aside", "survivors", "equivalents, accepted", "key"):
        table.add_column(title, justify="right")
    for audited in report.exercises:
        rejected = audited.tried - len(audited.aside) - len(audited.survivors)
        table.add_row(
            audited.exercise if audited.passed else f"[bold red]{audited.exercise} FAILS[/]",
            f"{min(audited.reference_earned):g}/{audited.points:g}",
            f"{audited.starter_earned:g}",
            f"{audited.right - len(audited.right_rejected)}/{audited.right}",
            f"{audited.mistakes - len(audited.mistakes_accepted)}/{audited.mistakes}",
            f"{audited.mistakes - len(audited.hints_missed)}/{audited.mistakes}",
            f"{audited.tried} of {audited.mutants}",
            str(rejected),
            str(len(audited.aside)),
            str(len(audited.survivors)),
            f"{audited.equivalents - len(audited.equivalents_rejected)}/{audited.equivalents}",
            "sound" if not audited.problems else f"{len(audited.problems)} problems",
        )
    return table


def held_out_table(report: Report) -> Table:
    """Return the Rich table of the held-out rates, by topic and for all: percent, with 95% Wilson intervals."""
    table = Table(title="On answers not used for tuning (in brackets: 95% Wilson interval)", title_justify="left")
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
    return f"{hits}/{count} [{100 * low:.0f}-{100 * high:.0f}%]"


def details(report: Report) -> Iterator[str]:
    """Yield a line of text for each fault of an exercise and each held-out answer that is graded wrongly."""
    for audited in report.exercises:
        yield from (f"{audited.exercise}: {what}. Remedy: {remedy}." for what, remedy in audited.faults)
    for answer in report.answers:
        if answer.accepted != answer.right:
            what = "right answer rejected" if answer.right else "wrong answer accepted"
            yield f"{answer.exercise}: held-out {what}: {answer.name}: {answer.truth}"


def set_aside(report: Report) -> Iterator[str]:
    """Yield a line of text, with the reason, for each mutant that earns all points and is not wrong."""
    for audited in report.exercises:
        for mutant in audited.aside:
            yield (
                f"{audited.exercise}: set aside, line {mutant.line}, `{mutant.source}`: {mutant.what}: {mutant.reason}."
            )


def summary(report: Report) -> str:
    """Return what was tried and how it ended, in a few sentences."""
    if not report.exercises:
        return f"{len(report.answers)} held-out answers were graded."
    tried = sum(audited.tried for audited in report.exercises)
    made = sum(audited.mutants for audited in report.exercises)
    survivors = sum(len(audited.survivors) for audited in report.exercises)
    rejected = sum(len(audited.right_rejected) + len(audited.equivalents_rejected) for audited in report.exercises)
    how = (
        "all of them"
        if report.full
        else f"a sample: at most {MAX_SAMPLED_MUTANTS} per exercise, seed {report.seed}; --full takes all"
    )
    fail = sum(not audited.passed for audited in report.exercises)
    return (
        f"Exercises audited: {len(report.exercises)}, failing: {fail}. "
        f"{tried} of {made} mutants ({how}), {SEEDS[report.full]} draws of the hidden cases: "
        f"{survivors} survive. {rejected} right answers are rejected."
    )


def picture(report: Report) -> "Figure":
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


def held_out_markdown(report: Report) -> str:
    """Return the held-out rates as Markdown tables, one for each time of measurement, for the book."""
    titles = [title for title, _, _ in RATES]
    tables = []
    for when, rates in (("as first measured", report.first), ("now", report.now)):
        if rates:
            lines = [f"| topic, {when} | {' | '.join(titles)} |", "|---|" + "---|" * len(titles)]
            for row in (*rates, totals(rates)):
                cells = [_rate_words(getattr(row, hits), getattr(row, of)) for _, hits, of in RATES]
                cells = [cell.replace("-", "\N{WORD JOINER}\N{EN DASH}\N{WORD JOINER}") for cell in cells]
                lines.append(f"| {row.topic.replace('_', ' ')} | {' | '.join(cells)} |")
            tables.append("\n".join(lines) + "\n")
    return "\n".join(tables)


def record_rates(report: Report, path: Path = RECORD) -> Path:
    """Write the held-out rates of ``report`` as JSON, for ``read_rates``; return ``path``."""
    rates = {"first": report.first, "now": report.now}
    write_text(as_json({when: [asdict(row) for row in rows] for when, rows in rates.items()}), path)
    return path


def read_rates(path: Path = RECORD) -> Report:
    """Return a ``Report`` of the held-out rates that ``record_rates`` wrote, and of nothing else."""
    rates = msgspec.json.decode(path.read_bytes(), type=dict[str, tuple[Rates, ...]])
    return Report(first=rates["first"], now=rates["now"])


def save(report: Report, folder: str | Path) -> Path:
    """Write ``audit.json`` into ``folder``, with ``heldout.svg`` if held-out answers were graded.

    Returns
    -------
    Path
        The JSON file.
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
        picture(report).savefig(folder / "heldout.svg")
    return folder / "audit.json"


def show(
    out: Console,
    topics: Iterable[str] | None,
    full: bool = False,
    seed: int = 0,
    save_to: str | Path | None = None,
    held_out_only: bool = False,
    verbose: bool = False,
    record: bool = False,
) -> bool:
    """Run the audit, print it to the Rich console ``out``, save it if asked, and return whether the grader passes.

    The output lists what is wrong and ends with a summary. ``verbose`` adds the tables and the mutants that were set aside.
    ``record`` writes the held-out rates to ``RECORD``.
    """
    if held_out_only:
        report = measure(topics, seed)
    else:
        with out.status("Auditing …") as status:
            report = audit(topics, full, seed, progress=lambda audited: status.update(f"Audited {audited.exercise} …"))
        if verbose:
            out.print(exercises_table(report))
    if report.now and (verbose or held_out_only):
        out.print(held_out_table(report))
    rest = set_aside(report) if verbose else ()
    for line in (*rest, *details(report), *report.notes, summary(report)):
        out.print(line, markup=False, highlight=False)
    if save_to:
        out.print(f"Saved: {save(report, save_to)}", markup=False, highlight=False)
    if record:
        out.print(f"Recorded: {record_rates(report)}", markup=False, highlight=False)
    return report.passed
