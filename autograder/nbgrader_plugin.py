"""nbgrader's ``Execute`` replaced: notebooks run in the sandbox, verdicts are made here, nbgrader records them.

In: a notebook on its way through ``nbgrader autograde``. Out: the same notebook with its outputs, each test cell with one
trusted output, hidden tests taken out. Reads the course directory; writes verdicts to its store.
"""

import html
from dataclasses import fields
from pathlib import Path

from nbformat.v4 import new_output
from nbgrader.api import Gradebook
from nbgrader.preprocessors import ClearHiddenTests, NbGraderPreprocessor
from traitlets import Float, Integer, Unicode
from traitlets.config.loader import PyFileConfigLoader

from autograder import doctor, exercises, grade, harmless, repair, sandbox
from autograder.assemble import COMPARE_ID, test_id
from autograder.course import Course
from autograder.sandbox import Limits


def configure(config):
    """Set up nbgrader's ``config`` so that it grades through this plugin."""
    plugin = "autograder.nbgrader_plugin"
    config.Autograde.sanitize_preprocessors = [
        f"{plugin}.Repair",
        "nbgrader.preprocessors.ClearOutput",
        "nbgrader.preprocessors.DeduplicateIds",
        "nbgrader.preprocessors.OverwriteKernelspec",
        "nbgrader.preprocessors.OverwriteCells",
        "nbgrader.preprocessors.CheckCellMetadata",
    ]
    config.Autograde.autograde_preprocessors = [
        f"{plugin}.Judge",
        "autograder.harmless.Outputs",
        "nbgrader.preprocessors.IgnorePattern",
        "nbconvert.preprocessors.ClearMetadataPreprocessor",
        "nbgrader.preprocessors.LimitOutput",
        "nbgrader.preprocessors.SaveAutoGrades",
        "nbgrader.preprocessors.AssignLatePenalties",
        "nbgrader.preprocessors.CheckCellMetadata",
    ]
    config.GenerateFeedback.preprocessors = [
        "nbgrader.preprocessors.GetGrades",
        f"{plugin}.Tidy",
        "autograder.harmless.Outputs",
        "nbconvert.preprocessors.CSSHTMLHeaderPreprocessor",
    ]
    harmless.configure(config)


class Repair(NbGraderPreprocessor):
    """Put back what a damaged submission lacks, before nbgrader looks at it."""

    def preprocess(self, nb, resources):
        _, template, _ = _released(resources)
        nb = repair.rebuild(nb, template)
        notes = repair.repair(nb, template)
        repair.tell(nb, notes)
        for note in notes:
            self.log.warning(note)
        return nb, resources


class Tidy(NbGraderPreprocessor):
    """Make the feedback say what a student needs: no code of the checks, no 0 of 0 points, and what is not marked yet."""

    def preprocess(self, nb, resources):
        names = resources["nbgrader"]
        with Gradebook(names["db_url"]) as gradebook:
            found = gradebook.find_submission_notebook(names["notebook"], names["assignment"], names["student"])
            self.waiting = {grade.name for grade in found.grades if grade.needs_manual_grade}
        return super().preprocess(nb, resources)

    def preprocess_cell(self, cell, resources, cell_index):
        meta = cell.metadata.get("nbgrader", {})
        if meta.get("grade") and not meta.get("points"):
            meta["grade"] = False
        if meta.get("grade_id") in self.waiting and not meta.get("comment"):
            meta["comment"] = "To be marked by a person. The 0 above does not count yet."
        if meta.get("grade_id") == COMPARE_ID:
            cell["source"] = "# What the check cells use."
        return cell, resources


class Judge(NbGraderPreprocessor):
    """Run the notebook in the sandbox, judge what it returned, write one trusted output into every test cell."""

    isolation = Unicode(sandbox.DEFAULT, help="How submissions are kept apart from this machine.").tag(config=True)
    cell_seconds = Float(Limits.cell_seconds, help="Seconds that one cell may run.").tag(config=True)
    call_seconds = Float(Limits.call_seconds, help="Seconds that one call of a function may run.").tag(config=True)
    submission_seconds = Float(Limits.submission_seconds, help="Seconds that one submission may run.").tag(config=True)
    memory_mb = Integer(Limits.memory_mb, help="Megabytes of memory that one process may use.").tag(config=True)
    disk_mb = Integer(Limits.disk_mb, help="Megabytes of files that one submission may write.").tag(config=True)
    processes = Integer(Limits.processes, help="Processes that one submission may have at once.").tag(config=True)
    output_kb = Integer(Limits.output_kb, help="Kilobytes that one cell may put out.").tag(config=True)
    outputs_mb = Integer(Limits.outputs_mb, help="Megabytes that all cells together may put out.").tag(config=True)
    reply_mb = Integer(Limits.reply_mb, help="Megabytes that one call may return.").tag(config=True)
    submission_mb = Integer(Limits.submission_mb, help="Megabytes that a notebook may have.").tag(config=True)

    def limits(self):
        """Return the ``Limits`` that these settings describe."""
        return Limits(**{one.name: getattr(self, one.name) for one in fields(Limits)})

    def preprocess(self, nb, resources):
        asked, _, _ = _released(resources)
        course, names = Course.at(Path.cwd()), resources["nbgrader"]
        doctor.require_once(self.isolation, course.hidden)
        files = grade.handed_in_files(asked, course.submission(names["student"], names["assignment"]).parent)
        graded = graded_once(nb, asked, course.store, self.limits(), self.isolation, files, course.hidden)
        write_verdicts(nb, graded)
        return nb, resources


def settings(course):
    """Return ``(limits, isolation)`` as the course's nbgrader_config.py has them."""
    judge = Judge(config=PyFileConfigLoader(str(course.config)).load_config())
    return judge.limits(), judge.isolation


def write_verdicts(nb, graded):
    """Put the outputs of ``graded`` into the notebook, and into each test cell its one trusted output."""
    for place, (count, outputs) in graded.outputs.items():
        nb.cells[place]["execution_count"] = count
        nb.cells[place]["outputs"] = [_output(item) for item in outputs]
    clear = ClearHiddenTests()
    verdicts = {test_id(name): verdict for name, verdict in graded.by_exercise.items()}
    for cell in nb.cells:
        meta = cell.metadata.get("nbgrader", {})
        if meta.get("grade") and cell.cell_type == "code":  # nbgrader reads results of a grade cell as points
            cell["outputs"] = [output for output in cell.outputs if output.output_type != "execute_result"]
        verdict = verdicts.get(meta.get("grade_id"))
        if verdict is not None and cell.cell_type == "code":
            clear._remove_hidden_test_region(cell)
            cell["outputs"] = [_trusted_output(verdict, graded.failure)]


def graded_once(notebook, asked, store, limits, isolation, files=None, hidden=()):
    """Return the verdicts on ``notebook`` from ``store``, or run it and keep them there.

    A time-out is tried once more before it counts: the machine may have been busy.
    """
    key = grade.fingerprint(notebook, exercises.digest(asked), limits, files)
    graded = store.get(key)
    if graded is None:
        graded = grade.grade(notebook, asked, limits, isolation, files, hidden)
        if graded.timed_out:
            graded = grade.grade(notebook, asked, limits, isolation, files, hidden)
        store.put(key, graded)
    return graded


def words(verdict):
    """Return what a student reads about ``verdict``, as a list of plain sentences."""
    if verdict.earned is None:
        return ["To be marked by a person."]
    lines = [f"{verdict.exercise}: {verdict.earned:g} of {verdict.points:g} points."]
    if verdict.earned == verdict.points:
        return lines
    for part in verdict.parts:
        if part.reason:
            title = f"{part.name} ({part.points:g}): " if part.name else ""
            lines.append(title + part.reason)
        elif part.name:
            lines.append(f"{part.name} ({part.points:g}): {part.note or 'right'}.")
    return list(dict.fromkeys(lines)) + [f"Hint: {hint}" for hint in verdict.hints]


def _released(resources):
    return Course.at(Path.cwd()).released(resources["nbgrader"]["assignment"])


def _trusted_output(verdict, failure):
    """Return the one output that decides the points: a number between 0 and the maximum, and the words for it."""
    earned = min(max(verdict.earned, 0.0), verdict.points)
    lines = words(verdict) + ([failure] if failure and earned < verdict.points else [])
    body = "".join(f"<li>{html.escape(line)}</li>" for line in lines[1:])
    text = f"<p><strong>{html.escape(lines[0])}</strong></p>" + (f"<ul>{body}</ul>" if body else "")
    return new_output("execute_result", data={"text/plain": repr(earned), "text/html": text}, execution_count=None)


def _output(item):
    item = dict(item)
    return new_output(item.pop("output_type"), **item)
