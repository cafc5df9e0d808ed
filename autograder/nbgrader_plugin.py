"""The plugin, under the name by which the settings of older course directories import it."""

from autograder.with_nbgrader.plugin import __getattr__, configure, settings

__all__ = ["__getattr__", "configure", "settings"]
