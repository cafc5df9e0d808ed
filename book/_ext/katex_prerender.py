"""Typeset formulas while the website is built, so that pages show them at once, even without scripts.

In: the formulas of the pages. Out: HTML with MathML, and in ``_static/katex`` the style sheet and fonts that it needs. A
formula that cannot be typeset causes a warning with file and line. Equation numbers and references to them are Sphinx's.
"""

import re
import shutil
from pathlib import Path

from docutils import nodes
from sphinx.errors import ExtensionError
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

from autograder import formulas
from autograder.errors import CourseError

BETWEEN_BASES = '</span><span class="katex-base">'  # where an inline formula may break
BETWEEN_EQUATIONS = re.compile(r"(?<=,)\s*\\quad\b\s*")  # side by side, or on a narrow page one below the other
logger = logging.getLogger(__name__)
typesetter = None  # of the current build


def visit_math(translator, node):
    text = _typeset(node.astext(), node)
    if "whole" not in node["classes"]:
        text = text.replace(BETWEEN_BASES, BETWEEN_BASES.replace("><", "><wbr><"))
    translator.body += [translator.starttag(node, "span", "", CLASS="math"), text, "</span>"]
    raise nodes.SkipNode


def visit_math_block(translator, node):
    equations = [node.astext()] if node.get("number") else _divide(node.astext())
    kind = "math side-by-side" if len(equations) > 1 else "math"
    translator.body.append(translator.starttag(node, "div", "", CLASS=kind))
    if node.get("number"):
        translator.body.append(f'<span class="eqno">({get_node_equation_number(translator, node)})')
        translator.add_permalink_ref(node, "Link to this equation")
        translator.body.append("</span>")
    translator.body += [*(_typeset(equation, node, block=True) for equation in equations), "</div>\n"]
    raise nodes.SkipNode


def _divide(tex):
    """Return the equations of a displayed formula that stand side by side, separated by a comma and a quad."""
    equations = BETWEEN_EQUATIONS.split(tex.strip())
    is_whole = all(
        each.count("{") == each.count("}") and each.count(r"\begin") == each.count(r"\end") for each in equations
    )
    return equations if is_whole else [tex]


def _typeset(tex, node, block=False):
    try:
        return typesetter.html(tex, block)
    except formulas.FormulaError as error:
        logger.warning("%s", error, location=node, type="formula")
        return ""


def start_typesetting(app):
    """Start the typesetter, and put the style sheet and the fonts where pages look for them."""
    global typesetter
    if app.builder.format != "html":
        return
    try:
        typesetter = formulas.Typesetter()
        style = formulas.style_sheet("fonts")
    except CourseError as error:
        raise ExtensionError(str(error)) from None
    folder = Path(app.outdir, "_static", "katex")
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "fonts").mkdir(parents=True)
    (folder / "katex.css").write_text(style, encoding="utf-8")
    for path in formulas.font_files():
        shutil.copyfile(path, folder / "fonts" / path.name)
    app.add_css_file("katex/katex.css", priority=400)  # before the course's own, which adapts it


def stop_typesetting(app, exception):
    if typesetter:
        typesetter.close()


def setup(app):
    app.add_html_math_renderer("katex", (visit_math, None), (visit_math_block, None))
    app.connect("builder-inited", start_typesetting)
    app.connect("build-finished", stop_typesetting)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
