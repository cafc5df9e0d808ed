"""A course with an exchange, hand-ins like those of `nbgrader submit`, and a `watch` that stops when it is idle."""

import contextlib
import json
import os
import secrets
import shutil
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest
from nbgrader.utils import notebook_hash

from autograder.batch.context import GradingOptions
from autograder.batch.grade_class import grade_class
from autograder.courses.course import Course
from autograder.grading import grade
from autograder.platforms import archives, formats
from autograder.sandbox import Limits
from autograder.watch import run as running
from autograder.watch.arrivals import Arrivals
from autograder.watch.run import Stop, WatchOptions, watch
from tests.autograder.essays import ESSAY, all_right

ACCOUNTS = {"prof": os.geteuid(), "ada": 30_001, "mal": 30_002, "ben": 30_003, "cem": 30_004, "Ada": 30_006}
LIMITS = Limits(cell_seconds=4, call_seconds=2, submission_seconds=60)


class UntilIdle(Stop):
    """Stops `watch` at the ``patience``-th wait, whether it is idle or in trouble."""

    def __init__(self, patience=1):
        super().__init__()
        self.event, self.rests = self, patience

    def is_set(self):
        return self.rests <= 0

    def set(self):
        self.rests = 0

    def wait(self, seconds):
        self.rests -= 1


class Mended(UntilIdle):
    """Calls ``mend`` at the ``patience``-th wait, and stops `watch` at the next."""

    def __init__(self, mend, patience=2):
        super().__init__(patience + 1)
        self.mend = mend

    def wait(self, seconds):
        super().wait(seconds)
        if self.rests == 1:
            self.mend()


class Hub:
    """The course ``course`` and its exchange in ``folder``; ``lines`` collects what `watch` prints."""

    def __init__(self, course, folder, monkeypatch):
        self.course, self.exchange, self.monkeypatch = course, folder / "exchange", monkeypatch
        self.inbound = self.exchange / "attention" / "inbound"
        self.inbound.mkdir(parents=True)
        with course.config.open("a", encoding="utf-8") as config:
            config.write(f'\nc.Exchange.root = "{self.exchange}"\n')
        self.lines, self.graded, self.said, self.count = [], [], {}, 0
        monkeypatch.setattr(
            formats, "login_of", lambda uid: next((n for n, u in ACCOUNTS.items() if u == uid), "nobody")
        )
        if os.geteuid() != 0:
            monkeypatch.setattr(archives, "_owner_of", lambda entry: self.said.get(entry.path, ACCOUNTS["prof"]))
        self.release = json.loads(course.releases("scoring").file.read_text(encoding="utf-8"))

    def plan(self, **rules):
        """Write course.toml with these rules for the assignment."""
        lines = [f"{name} = {value}" for name, value in rules.items()]
        (self.course.root / "course.toml").write_text("\n".join(["[assignment.scoring]", *lines]), encoding="utf-8")

    def notebook(self, essay, *requests):
        """Return a notebook with this answer to the written question, and a cell for each of ``requests`` at the end."""
        data = json.loads(json.dumps(self.release))
        next(c for c in data["cells"] if c["metadata"]["nbgrader"]["grade_id"] == ESSAY)["source"] = essay
        for number, words in enumerate(requests):
            data["cells"].append({"cell_type": "markdown", "id": f"ask{number}", "metadata": {}, "source": words})
        return json.dumps(data)

    def submit(self, student="ada", essay="Because.", account="", when="", content=None, name="", requests=()):
        """Hand in as ``account`` in the name of ``student``; return the secret of the submission."""
        self.count += 1
        when = when or f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S.%f} UTC"
        secret = secrets.token_hex(64)
        folder = self.inbound / (name or f"{student}+scoring+{when}+{self.count}")
        folder.mkdir()
        files = {
            "scoring.ipynb": self.notebook(essay, *requests) if content is None else content,
            "timestamp.txt": when,
            "submission_secret.txt": secret,
        }
        for file, text in files.items():
            (folder / file).write_text(text, encoding="utf-8")
        for path in (folder, *folder.iterdir()):
            self.own(path, account or student)
        folder.chmod(0o777)
        return secret

    def own(self, path, account):
        self.said[str(path)] = ACCOUNTS[account]
        if os.geteuid() == 0:
            os.chown(path, ACCOUNTS[account], -1)

    def page(self, secret):
        """Return the feedback page that the student with this ``secret`` fetches; "" if there is none."""
        name = notebook_hash(secret=secret, notebook_id="scoring")
        path = self.exchange / "attention" / "feedback" / f"{name}.html"
        return path.read_text(encoding="utf-8") if path.is_file() else ""

    def watch(self, patience=1, grade_one=None, stop=None, workers=1, **options):
        """Serve all hand-ins without a sandbox; automatic exercises are right unless ``grade_one`` says otherwise."""

        def noted(notebook, exercises, *rest):
            cell = next(c for c in notebook.cells if c.metadata.get("nbgrader", {}).get("grade_id") == ESSAY)
            self.graded.append(cell.source)
            return (grade_one or all_right)(notebook, exercises, *rest)

        options = {"port": None, "interval": 0.1, "workers": workers} | options
        began = len(self.lines)
        with self.monkeypatch.context() as patched, ThreadPoolExecutor(workers) as pool:
            patched.setattr(grade, "grade", noted)
            patched.setattr(running, "start_workers", lambda run, count: contextlib.nullcontext(pool))
            grading = GradingOptions(LIMITS)
            stop = stop or UntilIdle(patience)
            watch(self.course, ["scoring"], grading, WatchOptions(**options), self.lines.append, stop)
        return self.lines[began:]

    def regrade(self, **options):
        """Grade the class again as `grade` does, but without a sandbox, like ``watch`` above."""
        with self.monkeypatch.context() as patched, ThreadPoolExecutor(1) as pool:
            patched.setattr(grade, "grade", all_right)
            grade_class(self.course, "scoring", GradingOptions(LIMITS, **options), executor=pool)

    def outcomes(self):
        """Return the outcome of each arrival, in order."""
        known = Arrivals(self.course, ["scoring"]).list_all("scoring")
        return [(arrival.claimed, arrival.outcome or arrival.state) for arrival in known]


@pytest.fixture
def hub(released, tmp_path, monkeypatch):
    shutil.copytree(released.root, tmp_path / "course")
    return Hub(Course.at(tmp_path / "course"), tmp_path, monkeypatch)
