"""From chapter to grade: assemble assignments, run submissions in a sandbox, judge what they returned."""

__version__ = "0.2.0"
