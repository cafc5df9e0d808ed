"""Read a course's nbgrader_config.py: the limits, ``c.Judge.NAME``, and the exchange. Does not import nbgrader.

In: a course. Out: ``Limits`` and the isolation; whether feedback was published. Reads nbgrader_config.py.
"""

from dataclasses import fields
from pathlib import Path
from types import new_class
from typing import Any

from traitlets import Float, Integer, Unicode
from traitlets.config import Configurable
from traitlets.config.loader import PyFileConfigLoader

from autograder import sandbox
from autograder.courses.course import Course
from autograder.sandbox import Limits

DEFAULT_EXCHANGE = "/usr/local/share/nbgrader/exchange"  # nbgrader's own


def limit_traits() -> dict[str, Any]:
    """Return nbgrader's settings for the ``Limits`` and for the isolation: name -> trait."""
    kinds = {float: Float, int: Integer}
    traits = {"isolation": Unicode(sandbox.DEFAULT, help="How submissions are isolated from this machine.")}
    for limit in fields(Limits):
        kind = kinds[limit.type]
        traits[limit.name] = kind(limit.default, min=limit.metadata["least"], help=limit.metadata["help"])
    return {name: trait.tag(config=True) for name, trait in traits.items()}


_Traits: Any = new_class("_Traits", (Configurable,), exec_body=lambda names: names.update(limit_traits()))


class Judge(_Traits):
    """The settings that nbgrader_config.py makes as ``c.Judge.NAME``."""

    def limits(self) -> Limits:
        return Limits(**{limit.name: getattr(self, limit.name) for limit in fields(Limits)})


def settings(course: Course) -> tuple[Limits, str]:
    """Return ``(limits, isolation)`` as the course's nbgrader_config.py has them."""
    judge = Judge(config=PyFileConfigLoader(str(course.config)).load_config())
    return judge.limits(), judge.isolation


def has_published(course: Course) -> bool:
    """Return whether the exchange of nbgrader_config.py, by default nbgrader's own, has a folder of feedback pages."""
    config = PyFileConfigLoader(str(course.config)).load_config()
    root, name = config.Exchange.get("root", DEFAULT_EXCHANGE), config.CourseDirectory.get("course_id", "")
    return isinstance(root, str) and isinstance(name, str) and bool(name) and (Path(root) / name / "feedback").is_dir()
