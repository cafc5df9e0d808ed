"""Say in one sentence what a machine lacks for a notebook, and how to get it.

In: the oldest Python, the packages with their oldest versions. Out: nothing, or ``NotReady``. Standard library only, and
readable by a Python that is too old: this text is part of the first code cell of every notebook.
"""

import importlib
import re
import sys


class NotReady(ImportError):
    """Raised by the first code cell: the sentence says what is missing, and which command brings it."""

    def _render_traceback_(self):
        return [f"NotReady: {self}"]  # the sentence is all that a student needs to see


def require(python, packages):
    """Return if this Python, and ``packages`` (name -> oldest version), are as new as the notebook needs.

    Raises
    ------
    NotReady
        With the first thing that is missing or too old.
    """
    own = tuple(sys.version_info[:2])
    if own < python:
        newer = f"this notebook needs Python {_format_version(python)} or newer"
        raise NotReady(
            f"{newer}; this is {_format_version(own)}. Open it with another kernel, or in a hosted notebook."
        )
    for name, oldest in packages.items():
        get = f"Run %pip install --upgrade {name} in a cell of its own, then restart the kernel."
        try:
            version = str(importlib.import_module(name).__version__)
        except (ImportError, OSError) as error:
            missing = "is missing" if getattr(error, "name", None) == name else "is installed but cannot be imported"
            raise NotReady(f"{name} {missing}. {get}") from None
        except AttributeError:
            raise NotReady(
                f"importing {name} finds something else. Is there a file {name}.py in this folder?"
            ) from None
        if tuple(int(number) for number in re.findall(r"\d+", version)[: len(oldest)]) < oldest:
            raise NotReady(f"this notebook needs {name} {_format_version(oldest)} or newer; this is {version}. {get}")


def _format_version(version):
    return ".".join(map(str, version))
