"""nbgrader's ``Execute`` replaced: notebooks run in the sandbox, verdicts are made here, nbgrader records them.

In: a notebook on its way through ``nbgrader autograde``. Out: the same notebook with its outputs, each test cell with one
trusted output, hidden tests taken out. Reads the course directory; writes verdicts to its store.
"""

from dataclasses import fields
from pathlib import Path

from nbgrader.api import Gradebook
from nbgrader.preprocessors import NbGraderPreprocessor
from traitlets import Float, Integer, Unicode
from traitlets.config.loader import PyFileConfigLoader

from autograder import sandbox
from autograder.courses.course import Course
from autograder.feedback import harmless, pages
from autograder.grading import grade, submission
from autograder.notebooks import repair
from autograder.sandbox import Limits, doctor


def configure(config):
    """Set up nbgrader's ``config`` so that it grades through this plugin."""
    plugin = "autograder.with_nbgrader.plugin"
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
        "autograder.feedback.harmless.Outputs",
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
        "autograder.feedback.harmless.Outputs",
        "nbconvert.preprocessors.CSSHTMLHeaderPreprocessor",
    ]
    config.ExportApp.plugin_class = "autograder.with_nbgrader.export.CsvExport"
    harmless.configure(config)


class Repair(NbGraderPreprocessor):
    """Put back what a damaged submission lacks, before nbgrader looks at it."""

    def preprocess(self, nb, resources):
        course, names = Course.at(Path.cwd()), resources["nbgrader"]
        topic = names["assignment"]
        content = repair.read_file(course.submission(names["student"], topic), course.submitted)
        nb, template = repair.read_notebook(content, course.released(topic).notebooks, topic)
        notes = repair.repair(nb, template)
        repair.tell(nb, notes)
        for note in notes:
            self.log.warning(note)
        return nb, resources


class Tidy(NbGraderPreprocessor):
    """Make the feedback say what a student needs: see ``pages.tidy``."""

    def preprocess(self, nb, resources):
        names = resources["nbgrader"]
        with Gradebook(names["db_url"]) as gradebook:
            found = gradebook.find_submission_notebook(names["notebook"], names["assignment"], names["student"])
            pages.tidy(nb, {grade.name for grade in found.grades if grade.needs_manual_grade})
        return nb, resources


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
        course, names = Course.at(Path.cwd()), resources["nbgrader"]
        topic, student = names["assignment"], names["student"]
        released = course.released(topic)
        doctor.require_once(self.isolation, course.hidden)
        content = repair.read_file(course.submission(student, topic), course.submitted, self.submission_mb)
        _, attempt = course.tries(student, topic, content)
        asked = submission.asked(topic, released.seed, attempt, released.points)
        files = grade.handed_in_files(asked, course.submission(student, topic).parent)
        key = grade.fingerprint(content, released.version, attempt, self.limits(), self.isolation, files)
        graded = course.store.get(key)
        if graded is None:
            graded = grade.grade(nb, asked, self.limits(), self.isolation, files, course.hidden)
            if graded.timed_out or graded.killed:  # the machine may have been busy: once more, before it counts
                graded = grade.grade(nb, asked, self.limits(), self.isolation, files, course.hidden)
            if not graded.killed:
                course.store.put(key, graded)
        pages.write_verdicts(nb, graded)
        return nb, resources


def settings(course):
    """Return ``(limits, isolation)`` as the course's nbgrader_config.py has them."""
    judge = Judge(config=PyFileConfigLoader(str(course.config)).load_config())
    return judge.limits(), judge.isolation
