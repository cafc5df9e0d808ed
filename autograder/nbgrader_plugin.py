"""The plugin under the name that the settings of older course directories import it by."""

from autograder.with_nbgrader.plugin import Judge, Repair, Tidy, configure, settings

__all__ = ["Judge", "Repair", "Tidy", "configure", "settings"]
