"""What a course's nbgrader_config.py imports. Every command reads that file, so this must not import nbgrader.

In: nbgrader's configuration. Out: the same, changed so that nbgrader grades with ``preprocessors``.
"""

import importlib

from traitlets.config import Config

from autograder.with_nbgrader.limits import settings

__all__ = ["configure", "settings"]

# The tags allowed in students' HTML; all others are shown as text.
TAGS = ["a", "b", "blockquote", "br", "code", "div", "em", "h1", "h2", "h3", "h4", "hr", "i", "li", "ol", "p", "pre"]
TAGS += ["span", "strong", "sub", "sup", "table", "tbody", "td", "th", "thead", "tr", "ul"]


def configure(config: Config) -> None:
    """Set up nbgrader's ``config`` so that it grades through this plugin."""
    plugin = "autograder.with_nbgrader.preprocessors"
    config.Autograde.sanitize_preprocessors = [
        f"{plugin}.Repair",
        "nbgrader.preprocessors.ClearOutput",
        "nbgrader.preprocessors.DeduplicateIds",
        "nbgrader.preprocessors.OverwriteKernelspec",
        "nbgrader.preprocessors.OverwriteCells",
        "nbgrader.preprocessors.CheckCellMetadata",
    ]
    config.Autograde.autograde_preprocessors = [
        f"{plugin}.Judge",
        "autograder.feedback.sanitize.Outputs",
        "nbgrader.preprocessors.IgnorePattern",
        "nbconvert.preprocessors.ClearMetadataPreprocessor",
        "nbgrader.preprocessors.LimitOutput",
        "nbgrader.preprocessors.SaveAutoGrades",
        "nbgrader.preprocessors.AssignLatePenalties",
        "nbgrader.preprocessors.CheckCellMetadata",
    ]
    config.Autograde.exporter_class = f"{plugin}.HandedIn"
    config.Autograde.pre_convert_hook = f"{plugin}.set_unexpected_files_aside"
    config.GenerateFeedback.pre_convert_hook = f"{plugin}.remove_leftovers"
    config.ExchangeFactory.collect = "autograder.with_nbgrader.exchange.Collect"
    config.ExchangeFactory.release_assignment = "autograder.with_nbgrader.exchange.ReleaseAssignment"
    config.ExchangeFactory.release_feedback = "autograder.with_nbgrader.exchange.ReleaseFeedback"
    config.GenerateFeedback.preprocessors = [f"{plugin}.Gather", "autograder.feedback.sanitize.Outputs"]
    config.GenerateFeedback.exporter_class = f"{plugin}.Page"
    config.ExportApp.plugin_class = "autograder.with_nbgrader.plugins.CsvExport"
    config.AssignLatePenalties.plugin_class = "autograder.with_nbgrader.plugins.LateRule"
    # nbgrader's feedback and formgrader render students' Markdown so that nothing in it runs
    config.HTMLExporter.filters = {
        "markdown2html": "autograder.feedback.sanitize.markdown",
        "highlight_code": "autograder.feedback.sanitize.Highlighted",
        "strip_files_prefix": "autograder.feedback.sanitize.unchanged",
    }
    config.Outputs.enabled = True
    config.Outputs.tags = TAGS


def __getattr__(name: str) -> object:
    """Return what older courses import from here; this imports nbgrader."""
    if name.startswith("_"):
        raise AttributeError(name)
    return getattr(importlib.import_module("autograder.with_nbgrader.preprocessors"), name)
