"""Keep verdicts under the hash of everything they depend on, so that nothing is run twice.

In: a folder, a hash, ``Graded``. Out: what was kept. Writes files in its folder, each in one step; a file that cannot
be read counts as absent.
"""

import json
from pathlib import Path

from autograder.files import write_text
from autograder.verdicts import Graded, Part, Verdict


class VerdictStore:
    """Verdicts in ``folder``, one JSON file each."""

    def __init__(self, folder: str | Path):
        self.folder = Path(folder)

    def get(self, fingerprint: str) -> Graded | None:
        """Return the ``Graded`` kept under ``fingerprint``, or None."""
        try:
            data = json.loads(self._path(fingerprint).read_text(encoding="utf-8"))
            verdicts = tuple(
                Verdict(**{**row, "parts": tuple(Part(**p) for p in row["parts"]), "hints": tuple(row["hints"])})
                for row in data["verdicts"]
            )
            outputs = {int(place): tuple(output) for place, output in data["outputs"].items()}
            return Graded(verdicts, outputs, data["failure"], data["timed_out"], data["killed"], data["spent"])
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None

    def put(self, fingerprint: str, graded: Graded) -> None:
        write_text(json.dumps(graded, default=vars), self._path(fingerprint))

    def _path(self, fingerprint):
        return self.folder / fingerprint[:2] / f"{fingerprint}.json"
