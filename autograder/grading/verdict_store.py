"""Keep verdicts under the hash of everything they depend on, so that nothing is run twice."""

import json
from pathlib import Path

import msgspec

from autograder.files import write_text
from autograder.verdicts import Graded


class VerdictStore:
    """Verdicts in ``folder``, one JSON file each."""

    def __init__(self, folder: str | Path):
        self.folder = Path(folder)

    def get(self, fingerprint: str) -> Graded | None:
        """Return the ``Graded`` kept under ``fingerprint``, or None: also where its file cannot be read."""
        try:
            return msgspec.json.decode(self._path(fingerprint).read_bytes(), type=Graded)
        except (OSError, ValueError, RecursionError, msgspec.MsgspecError):
            return None

    def put(self, fingerprint: str, graded: Graded) -> None:
        write_text(json.dumps(graded, default=vars), self._path(fingerprint))

    def _path(self, fingerprint):
        return self.folder / fingerprint[:2] / f"{fingerprint}.json"
