"""The plugin under the name that the settings of older course directories import it by."""

from autograder.with_nbgrader.plugin import Gather, Judge, Page, Repair, configure, settings

__all__ = ["Gather", "Judge", "Page", "Repair", "configure", "settings"]
