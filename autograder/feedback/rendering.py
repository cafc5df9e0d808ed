"""Render a feedback page out of its cells: those that every student was given are rendered once in the life of a process.

In: a notebook whose outputs are harmless, with the marks in its cells. Out: HTML. Pure but for a memory of bounded size, in
which stands text of a release and nothing else. Reads the templates of nbgrader and nbconvert.
"""

import json
import secrets
from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import cast

import nbformat
from jinja2 import pass_context
from nbconvert.exporters import HTMLExporter
from nbconvert.exporters.exporter import ResourcesDict
from nbconvert.preprocessors import CSSHTMLHeaderPreprocessor, HighlightMagicsPreprocessor
from nbgrader.converters import GenerateFeedback
from traitlets.config import Config

from autograder.feedback import harmless

REMEMBERED = 1000  # cells, and as many sources in colours
PICTURES = ("image/png", "image/jpeg")
NO_DESCRIPTION = "No description has been provided for this image"


def page(
    notebook: nbformat.NotebookNode, about: Mapping[str, str | float], released: Collection[str], settings: str
) -> str:
    """Return the page of ``notebook``.

    ``about`` is what nbgrader's template says at its head; ``released`` holds the sources of cells as handed out;
    ``settings`` is the part of a course's configuration that pages depend on, as JSON.
    """
    template = _templates(settings)
    if template.exporter.preprocessors:  # the course's own: they may look at all cells together
        html, _ = template.exporter.from_notebook_node(notebook, resources={**template.resources, "nbgrader": about})
        return html
    everybodys = [_is_everybodys(cell, released) for cell in notebook.cells]
    students = iter(
        template.cells([cell for cell, is_so in zip(notebook.cells, everybodys, strict=True) if not is_so], released)
    )
    cells = [
        _locked(json.dumps(cell, sort_keys=True), template) if is_so else next(students)
        for cell, is_so in zip(notebook.cells, everybodys, strict=True)
    ]
    return template.around.render(
        nb=notebook, resources={**template.resources, "nbgrader": about, "cells": "".join(cells)}
    )


def _is_everybodys(cell, released):
    """Return whether ``cell`` shows nothing that a student has written, and nothing that came out of it."""
    locked = cell.metadata.get("nbgrader", {}).get("locked") is True
    return locked and cell.source in released and not cell.get("outputs") and not cell.get("attachments")


@lru_cache(REMEMBERED)
def _locked(text, template):
    cell = json.loads(text, object_hook=nbformat.NotebookNode)
    return template.cells([cell], {cell.source})[0]


def _remembering(highlight):
    """Return the filter ``highlight`` so that it sets code that was handed out in colours once."""

    @lru_cache(REMEMBERED)
    def once(source, magic):
        return highlight(source, metadata={"magics_language": magic} if magic else {})

    @pass_context
    def in_colours(context, source, language=None, metadata=None):
        if language is None and source in context["resources"].get("released", ()):
            return once(source, (metadata or {}).get("magics_language", ""))
        return highlight(source, language, metadata)

    return in_colours


class _Templates:
    """nbgrader's feedback template: one for a cell, one for what is around all of them, compiled."""

    def __init__(self, settings):
        config = Config(json.loads(settings))
        harmless.configure(config)  # with the folders of this machine
        config.HTMLExporter.filters["highlight_code"] = _remembering(harmless.Highlighted(config=config))
        app = GenerateFeedback(config=config)
        self.exporter = cast(HTMLExporter, app.exporter_class(parent=app, config=app.config))
        self.magics = HighlightMagicsPreprocessor(parent=self.exporter)
        empty, styles = nbformat.v4.new_notebook(), CSSHTMLHeaderPreprocessor(config=app.config)
        _, shared = styles.preprocess(empty, ResourcesDict())
        about = {"notebook": "", "score": 0.0, "max_score": 0.0, "late_penalty": 0.0}
        _, self.resources = self.exporter.from_notebook_node(
            empty, resources={"nbgrader": about, "inlining": shared["inlining"]}
        )
        self.exporter.environment.auto_reload = False
        self.inside = self.exporter.environment.get_template("cells.html.j2")
        self.around = self.exporter.environment.get_template("page.html.j2")

    def cells(self, cells, released):
        """Return each of ``cells`` as HTML."""
        for cell in cells:
            self.magics.preprocess_cell(cell, {}, 0)
            for output in cell.get("outputs", ()):
                for mime in PICTURES:
                    if mime in output.get("data", {}):
                        output.metadata[mime] = {"alt": NO_DESCRIPTION, **output.metadata.get(mime, {})}
        mark = secrets.token_hex()  # that no student can have written
        alone = nbformat.NotebookNode(cells=cells, metadata=nbformat.NotebookNode())
        html = self.inside.render(nb=alone, resources={**self.resources, "released": released, "after_each": mark})
        parts = html.split(mark)[:-1]
        if len(parts) != len(cells):
            raise ValueError(f"{len(cells)} cells became {len(parts)}")
        return parts


@lru_cache(maxsize=2)
def _templates(settings):
    return _Templates(settings)
