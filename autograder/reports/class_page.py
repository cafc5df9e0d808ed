"""Build the page that tells an instructor how a class did: one HTML file that includes its pictures and loads nothing else.

In: the results of ``analysis``. Out: HTML. Pure. It names no student unless it is asked to.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from autograder.feedback.notices import plain
from autograder.reports.analysis import MIN_STUDENTS, AssignmentAnalysis, ExerciseAnalysis

BINS = 10
BAR_HEIGHT = 150  # pixels of the highest bar of the histogram


def class_page(
    title: str,
    studies: Sequence[AssignmentAnalysis],
    names: bool = False,
    called: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Return the page for ``studies``; with ``names``, it names the students concerned, as they are ``called``."""
    heading = f"{title}: report" if title else "Report"
    return _template().render(heading=heading, studies=studies, names=names, called=called, min_students=MIN_STUDENTS)


@cache
def _template() -> Template:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"plain": plain, "percent": _percent, "interval": _interval, "histogram": _histogram}
    return environment.get_template("class_page.html.j2")


def _histogram(study: AssignmentAnalysis) -> list[tuple[float, float, int, float]]:
    """Return ``(from score, to score, number of students, height in pixels)`` for each bar."""
    counts = [0] * BINS
    for score in study.scores:
        share = score / study.maximum if study.maximum else 0.0
        counts[min(BINS - 1, max(0, int(share * BINS)))] += 1
    edges = [study.maximum * n / BINS for n in range(BINS + 1)]
    return [(edges[n], edges[n + 1], count, BAR_HEIGHT * count / max(counts)) for n, count in enumerate(counts)]


def _interval(item: ExerciseAnalysis) -> str:
    if item.discrimination is None:
        return "too few students to say" if item.marked < MIN_STUDENTS else "all alike"
    middle, low, high = (round(value, 2) + 0.0 for value in item.discrimination)  # + 0.0: no -0.00
    return f"{middle:.2f} [{low:.2f}, {high:.2f}]"


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.0f}%"
