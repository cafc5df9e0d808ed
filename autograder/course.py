"""A course directory: where its files are, and what was released from it.

In: a folder. Out: paths, records. Writes only what ``init`` and ``record`` are asked to write.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import nbformat

from autograder import exercises
from autograder.assemble import as_json, write_text
from autograder.errors import CourseError
from autograder.verdict_store import VerdictStore

DEFAULT = Path("course")
REPAIRED = ".autograder/repaired"
CONFIG = '''"""nbgrader's settings for this course. The autograder takes the place of nbgrader's own execution of notebooks."""

from autograder.nbgrader_plugin import configure

c = get_config()  # noqa: F821
c.CourseDirectory.course_id = "attention"
configure(c)

# What one submission may use. `python -m autograder grade --help` has the same settings.
# c.Judge.cell_seconds = 20
# c.Judge.call_seconds = 5
# c.Judge.submission_seconds = 120
# c.Judge.memory_mb = 4096
# c.Judge.disk_mb = 64
# c.Judge.processes = 64
# c.Judge.output_kb = 256
# c.Judge.outputs_mb = 4
# c.Judge.reply_mb = 16
# c.Judge.submission_mb = 20
# c.Judge.isolation = "zygote"
'''


@dataclass(frozen=True)
class Course:
    """The nbgrader course in ``root``."""

    root: Path

    @classmethod
    def at(cls, root):
        """Return the course in ``root``.

        Raises
        ------
        CourseError
            If there is none.
        """
        course = cls(Path(root).resolve())
        if root == DEFAULT and not course.config.is_file() and cls(Path.cwd()).config.is_file():
            course = cls(Path.cwd())  # called inside the course directory
        if not course.config.is_file():
            raise CourseError(
                "this is no course directory", str(course.root), f"run `python -m autograder init {root}` first."
            )
        return course

    @property
    def hidden(self):
        """Return the paths that no submission may see: this folder, and where its parts lie if they are links."""
        parts = [path for path in self.root.iterdir() if path.is_symlink()]
        return (str(self.root), *sorted(str(path.resolve()) for path in parts))

    @property
    def config(self):
        return self.root / "nbgrader_config.py"

    @property
    def gradebook(self):
        return f"sqlite:///{self.root / 'gradebook.db'}"

    @property
    def store(self):
        return VerdictStore(self.root / ".autograder" / "verdicts")

    def source(self, topic):
        return self.root / "source" / topic / f"{topic}.ipynb"

    def release(self, topic):
        return self.root / "release" / topic / f"{topic}.ipynb"

    def submission(self, student, topic):
        return self.root / "submitted" / student / topic / f"{topic}.ipynb"

    def repaired(self, student, topic):
        """Where the notebook stands that nbgrader is given: what was handed in, mended."""
        return self.root / REPAIRED / student / topic / f"{topic}.ipynb"

    def feedback(self, student, topic):
        return self.root / "feedback" / student / topic / f"{topic}.html"

    def autograded(self, student, topic):
        return self.root / "autograded" / student / topic / f"{topic}.ipynb"

    def recorded(self, student, topic):
        """Where it stands what exactly was recorded last: written when all else was."""
        return self.root / ".autograder" / "recorded" / topic / f"{student}.json"

    def marking_scheme(self, topic):
        return self.root / "marking" / f"{topic}.md"

    def students(self, topic):
        """Return the names of those who handed in something for ``topic``."""
        return sorted(path.parent.name for path in self.root.glob(f"submitted/*/{topic}") if path.is_dir())

    def overlooked(self):
        """Return notebooks in ``submitted`` that stand where nbgrader does not look."""
        files = [*self.root.glob("submitted/*.ipynb"), *self.root.glob("submitted/*/*.ipynb")]
        return sorted(str(path.relative_to(self.root)) for path in files)

    def record(self, topic, seed, digest):
        """Remember with which seed, and from which key, ``topic`` was released."""
        write_text(as_json({"seed": seed, "digest": digest}), self._record(topic))

    def released(self, topic):
        """Return ``(exercises, release notebook, whether the key has changed since)``.

        Raises
        ------
        CourseError
            If ``topic`` was not released in this course.
        """
        if not self._record(topic).is_file() or not self.release(topic).is_file():
            known = ", ".join(sorted(path.stem for path in self._record("x").parent.glob("*.json"))) or "none yet"
            raise CourseError(
                f"there is no assignment {topic!r}",
                str(self.root),
                f"name one that was released ({known}), or run `python -m autograder release {topic}`.",
            )
        record = json.loads(self._record(topic).read_text(encoding="utf-8"))
        asked = exercises.load(topic, record["seed"])
        return asked, nbformat.read(self.release(topic), as_version=4), exercises.digest(asked) != record["digest"]

    def seed(self, topic):
        """Return the seed with which ``topic`` was released before, or None."""
        if not self._record(topic).is_file():
            return None
        return json.loads(self._record(topic).read_text(encoding="utf-8"))["seed"]

    def _record(self, topic):
        return self.root / ".autograder" / "released" / f"{topic}.json"


def init(root):
    """Make a course directory in ``root``; what is there already stays as it is."""
    root = Path(root).resolve()
    config = root / "nbgrader_config.py"
    if root.exists() and not config.is_file() and (not root.is_dir() or any(root.iterdir())):
        raise CourseError("there is something else here already", str(root), "name a folder that is empty or new.")
    if not config.is_file():
        write_text(CONFIG, config)
    for name in ("source", "submitted"):
        (root / name).mkdir(parents=True, exist_ok=True)
    return Course.at(root)
