"""What feedback pages depend on besides the submission: this package's code and the course's own settings."""

import importlib.metadata
import json
from functools import cache
from pathlib import Path
from typing import Any, Literal

from traitlets.config import Config

from autograder.files import digest

Shown = Literal["nothing", "hints", "all"]  # how much of the feedback a page shows
SETTING_NAMES = ("IgnorePattern", "LimitOutput", "Outputs")


@cache
def version_key() -> list[str]:
    """Return what pages depend on besides the course's own settings: a hash of this package, and nbgrader's version."""
    return [digest([Path(__file__).parent]), importlib.metadata.version("nbgrader")]


def from_config(config: Config) -> dict[str, Any]:
    """Return the part of a course's nbgrader ``config`` that pages depend on, as plain JSON data."""
    return json.loads(json.dumps({name: config[name] for name in SETTING_NAMES if name in config}))
