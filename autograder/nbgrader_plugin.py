"""The plugin under the name that the settings of older course directories import it by."""

from autograder.with_nbgrader.plugin import __getattr__, configure, settings

__all__ = ["__getattr__", "configure", "settings"]
