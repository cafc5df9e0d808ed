"""The printed and saved reports contain the audit's findings."""

import io
import json
import math
import re

import pytest
from rich.console import Console

from autograder.audit import show
from autograder.audit.held_out import Rates
from autograder.audit.report import Report
from tests.autograder.audit.toys import STRONG, WEAK, audited

pytestmark = pytest.mark.suite("audit")


@pytest.mark.parametrize("first", [(), (Rates("scoring", 20, 10, 2, 1, named=9, misled=1, general=6),)])
def test_what_is_saved_can_be_read_and_the_picture_has_a_panel_for_each_rate(tmp_path, first):
    now = (Rates("scoring", 20, 10, 0, 0, named=12, general=8),)
    path = show.save(Report(now=now, first=first, notes=("a note",)), tmp_path)
    data = json.loads(path.read_text(encoding="utf-8"))
    assert data["now"][0]["named"] == 12
    assert data["passed"]
    assert {row["rate"] for row in data["intervals"]} == {title for title, _, _ in show.RATES}
    assert (tmp_path / "heldout.svg").stat().st_size > 1000
    recorded = show.read_rates(show.record_rates(Report(now=now, first=first), tmp_path / "rates.json"))
    assert recorded == Report(now=now, first=first)
    written = show.held_out_markdown(recorded)
    intervals = re.findall(r"\[.*?\]", written)
    tables = [table.splitlines() for table in written.split("\n\n")]
    assert len(tables) == 1 + bool(first)
    assert all(len(table) == 2 + 2 for table in tables)
    assert all(row.count("|") == len(show.RATES) + 2 for table in tables for row in table)
    assert intervals
    assert all("\N{WORD JOINER}\N{EN DASH}\N{WORD JOINER}" in interval for interval in intervals)  # none breaks
    figure = show.picture(Report(now=now, first=first))
    assert len(figure.axes) == len(show.RATES)


def test_the_tables_have_a_row_for_each_exercise_and_topic(tmp_path):
    exercise_audit = audited(tmp_path, STRONG)
    now = (Rates("scoring", 20, 10, 0, 0, named=12, general=8),)
    report = Report((exercise_audit,), now=now, first=now)
    assert show.exercises_table(report).row_count == 1
    assert show.held_out_table(report).row_count == 4
    assert math.isclose(sum(exercise_audit.reference_earned), exercise_audit.points)


def shown(report, monkeypatch, **options):
    monkeypatch.setattr(show, "audit", lambda *_, **__: report)
    out = Console(file=io.StringIO(), width=400)
    assert show.show(out, ["toy"], **options) == report.passed
    return out.file.getvalue()


def test_what_is_wrong_and_a_summary_are_shown_and_the_rest_with_verbose(tmp_path, monkeypatch):
    report = Report((audited(tmp_path, WEAK),))
    output = shown(report, monkeypatch)
    lines = output.splitlines()
    assert len(lines) == len(report.exercises[0].faults) + 1
    assert all(line.startswith("toy-mix: ") and " Remedy: " in line for line in lines[:-1])
    assert lines[-1].startswith("Exercises audited: 1, failing: 1. ")
    more = shown(report, monkeypatch, verbose=True)
    assert more.endswith(output)
    assert "survivors" in more
    assert more.count("set aside, line") == len(report.exercises[0].aside) > 0


def test_where_nothing_is_wrong_a_summary_is_all(tmp_path, monkeypatch):
    output = shown(Report((audited(tmp_path, STRONG),)), monkeypatch)
    assert len(output.splitlines()) == 1
    assert "Exercises audited: 1, failing: 0." in output


def test_what_is_shown_ends_with_what_was_tried_and_where_it_was_saved(tmp_path, monkeypatch):
    written = []
    monkeypatch.setattr(show, "record_rates", written.append)
    out = Console(file=io.StringIO(), width=200)
    assert show.show(out, ["scoring"], held_out_only=True, save_to=tmp_path / "saved", record=True)
    assert "held-out answers were graded." in out.file.getvalue()
    assert (tmp_path / "saved" / "audit.json").is_file()
    assert [row.topic for row in written[0].now] == ["scoring"]
