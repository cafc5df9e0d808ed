"""What feedback pages depend on beside the submission: the code of this package, and the course's own settings."""

import importlib.metadata
import json
from functools import cache
from pathlib import Path
from typing import Any, Literal

from traitlets.config import Config

from autograder.files import digest

Shown = Literal["nothing", "hints", "points", "all"]  # how much of the feedback a page shows
SETTING_NAMES = ("IgnorePattern", "LimitOutput", "Outputs")


@cache
def version_key() -> list[str]:
    """Return a hash of all that pages depend on beside the course's own settings: this package, and nbgrader's version."""
    return [digest([Path(__file__).parent]), importlib.metadata.version("nbgrader")]


def from_config(config: Config) -> dict[str, Any]:
    """Return the part of a course's nbgrader ``config`` that pages depend on, as plain data that can be sent away."""
    return json.loads(json.dumps({name: config[name] for name in SETTING_NAMES if name in config}))
