"""Show what a student wrote without running it: in the feedback page, and in the browser of whoever marks it.

In: Markdown, a notebook that was run. Out: HTML that holds no script, no frame and no link but to http, https and mail;
the notebook with such outputs only. Touches nothing else.
"""

from jinja2 import pass_context
from nbconvert.filters.markdown_mistune import MarkdownWithMath
from nbconvert.preprocessors.sanitize import SanitizeHTML

from autograder import standalone

# What the HTML of a student may hold; everything else is shown as text.
TAGS = ["a", "b", "blockquote", "br", "code", "div", "em", "h1", "h2", "h3", "h4", "hr", "i", "li", "ol", "p", "pre"]
TAGS += ["span", "strong", "sub", "sup", "table", "tbody", "td", "th", "thead", "tr", "ul"]


def configure(config):
    """Let nbgrader's pages, feedback and formgrader alike, render a student's Markdown through ``markdown``."""
    config.HTMLExporter.filters = {"markdown2html": f"{__name__}.markdown"}
    config.Outputs.enabled = True
    config.Outputs.tags = TAGS
    standalone.configure(config)


@pass_context
def markdown(context, source):
    """Return ``source`` as HTML; tags in it are shown as text, and links lead to pages only."""
    attachments = context.get("cell", {}).get("attachments", {})
    return MarkdownWithMath(renderer=_Renderer(attachments)).render(source)


class Outputs(SanitizeHTML):
    """Take live HTML out of outputs, and kinds of output that have no place in a notebook of this course."""

    def preprocess_cell(self, cell, resources, cell_index):
        if cell.cell_type == "code":  # what was written stays as it was written: ``markdown`` renders it
            cell, resources = super().preprocess_cell(cell, resources, cell_index)
            cell["outputs"] = [output for output in cell.outputs if output.get("data", True)]
        return cell, resources


class _Renderer(standalone.Renderer):
    def __init__(self, attachments):
        super().__init__(escape=True, allow_harmful_protocols=False, attachments=attachments)

    def block_mermaidjs(self, code):
        return self.block_code(code)
