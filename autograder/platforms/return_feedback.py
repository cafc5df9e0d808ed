"""Put the feedback pages of a class into one archive that a learning platform distributes to the students.

In: a course, a topic. Out: one zip file, and who is not in it. Writes only that file, in one step.

What the platforms take: Canvas reads the user's and the attachment's number in the name of a file of what it gave out
(``infer_comment_context_from_filename`` of instructure/canvas-lms), Moodle the participant's number and the plugin in the
name of a folder (``mod/assign/feedback/file/importziplib.php`` of moodle/moodle). So both need submissions collected from them.
Gradescope documents no way to upload pages.
"""

import io
import zipfile
from pathlib import Path

from autograder.courses.course import Course
from autograder.courses.sections import Selection
from autograder.errors import CourseError
from autograder.files import write_bytes
from autograder.gradebook.scores import load_results
from autograder.platforms.attempts import load_attempts
from autograder.platforms.export import ExportSummary, refuse_overwriting

FEEDBACK_PLATFORMS = ("folder", "canvas", "moodle")
README = """Feedback pages for {topic}, to be uploaded to Canvas: open the assignment and choose Upload Submissions.

Canvas shows each page as a comment, under the name of the file that the student handed in: the page of a student who
handed in {topic}.ipynb arrives as {topic}.ipynb, although it is a web page (github.com/instructure/canvas-lms/issues/2406).
Tell your students: save the file, rename it to {topic}.html, and open it in a browser.

Canvas ignores this file, README.txt.
"""


def write_feedback_archive(
    course: Course, topic: str, to: str, target: str | Path, force: bool = False, only: Selection = None
) -> ExportSummary:
    """Write the feedback pages of ``topic`` into the archive ``target``, under the names that the platform ``to`` expects.

    ``folder`` makes one folder per student, for people. Students who have to hand in again have a page too. With ``only``, it
    has no pages of others.

    Raises ``CourseError`` if the platform takes no such archive, or ``target`` is there already and not ``force``.
    """
    if to == "gradescope":
        remedy = "use --to folder, and send the pages another way."
        raise CourseError("Gradescope documents no way to upload feedback pages", "--to", remedy)
    if to not in FEEDBACK_PLATFORMS:
        raise CourseError(f"there is no platform {to!r}", "--to", f"name one of {', '.join(FEEDBACK_PLATFORMS)}.")
    refuse_overwriting(target, force)
    results, file, exported = load_results(course, topic), io.BytesIO(), ExportSummary()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as bundle:
        if to == "canvas":
            bundle.writestr(zipfile.ZipInfo("README.txt"), README.format(topic=topic), zipfile.ZIP_DEFLATED)
        for student in (one for one in course.students(topic) if only is None or one in only):
            page, name = course.feedback(student, topic), _archive_name(course, topic, student, to)
            if not page.is_file():
                exported.leave_out("have no feedback page yet: run `grade`", student)
            elif not name:
                exported.leave_out(f"were not collected from {to.capitalize()}", student)
            else:
                bundle.writestr(zipfile.ZipInfo(name), page.read_bytes(), zipfile.ZIP_DEFLATED)
                exported.count += 1
                if student in results and results[student].waiting:
                    exported.leave_out("have a page that still says: to be marked", student)
    write_bytes(file.getvalue(), target)
    return exported


def _archive_name(course, topic, student, to):
    """Return the name of a student's page in the archive; "" if the platform could not tell whose it is."""
    if to == "folder":
        return f"{student}/{topic}.html"
    counting = load_attempts(course, student, topic)[-1:]
    prefix = next((one.prefix for one in counting if one.platform.casefold() == to), "")
    if not prefix:
        return ""
    return f"{prefix}{topic}.html" if to == "canvas" else f"{prefix}/{topic}.html"
