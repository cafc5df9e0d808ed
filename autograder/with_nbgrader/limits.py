"""Read the limits in a course's nbgrader_config.py, ``c.Judge.NAME``. Does not import nbgrader.

In: a course. Out: ``Limits`` and the isolation. Reads nbgrader_config.py.
"""

from dataclasses import fields
from types import new_class
from typing import Any

from traitlets import Float, Integer, Unicode
from traitlets.config import Configurable
from traitlets.config.loader import PyFileConfigLoader

from autograder import sandbox
from autograder.courses.course import Course
from autograder.sandbox import Limits


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
