"""Render students' Markdown for a self-contained page, which loads no scripts, fonts or pictures from other hosts.

Formulas become MathML with known elements and attributes only, which browsers typeset themselves, or stay TeX as text.
"""

import html
import re
from xml.etree import ElementTree

from latex2mathml.converter import convert_to_element
from nbconvert.filters.markdown_mistune import IPythonRenderer

MAX_FORMULA_CHARACTERS = 2000  # characters of one formula
MAX_FORMULAS_CHARACTERS = 20_000  # characters of all formulas in one text; further ones are shown as text
ELEMENTS = {"math", "mi", "mn", "mo", "mtext", "mspace", "mrow", "mstyle", "mphantom", "mpadded", "mfrac", "msqrt"}
ELEMENTS |= {"mroot", "msub", "msup", "msubsup", "munder", "mover", "munderover", "mtable", "mtr", "mtd"}
ATTRIBUTES = {"display", "displaystyle", "scriptlevel", "mathvariant", "stretchy", "fence", "form", "separator"}
ATTRIBUTES |= {"accent", "movablelimits", "columnalign", "columnspacing", "rowspacing", "linethickness"}
ATTRIBUTES |= {"lspace", "rspace", "width", "minsize", "maxsize"}
# words, or up to nine lengths
VALUE = re.compile(r"[a-z -]{0,40}|(-?\d{1,2}(\.\d{1,6})?(em|ex|pt|px|mu|%)?( |$)){1,9}")
UNKNOWN_COMMAND = re.compile(r"\\[A-Za-z]+|&")  # what the converter leaves unconverted: commands, and & outside tables
ENVIRONMENT = re.compile(r"\\(begin|end)\{(align|aligned|gather\*?|gathered)\}")
# for environments that the converter numbers from 1 in each formula, or does not know; all others become "matrix"
EQUIVALENTS = {"align": "align*", "aligned": "split"}


def to_mathml(tex: str, block: bool = False) -> str:
    """Return ``tex`` as MathML, or as text if it cannot be converted."""
    if len(tex) <= MAX_FORMULA_CHARACTERS:
        try:
            known = ENVIRONMENT.sub(lambda match: f"\\{match[1]}{{{EQUIVALENTS.get(match[2], 'matrix')}}}", tex)
            element = _copy_known(convert_to_element(known, display="block" if block else "inline"))
            text = ElementTree.tostring(element, encoding="unicode")
            text.encode("utf-8")
            return f'<span class="formula" tabindex="0">{text}</span>' if block else text
        except Exception:  # a text may break the converter in any way, RecursionError included
            pass
    return _as_text(tex, block)


class Renderer(IPythonRenderer):
    """Renders one Markdown text, with its formulas through ``to_mathml`` up to ``MAX_FORMULAS_CHARACTERS``."""

    spent = 0  # characters of formulas so far

    def image(self, text: str, url: str, title: str | None = None) -> str:
        """Turn a picture on another host into a link: loading it would tell that host who opens the page, and when."""
        if url.lower().startswith(("attachment:", "data:")):
            return super().image(text, url, title)
        return self.link(text, url, title)

    def block_math(self, body: str) -> str:
        return self._formula(body, block=True)

    def inline_math(self, body: str) -> str:
        return self._formula(body)

    def latex_environment(self, name: str, body: str) -> str:
        return self._formula(f"\\begin{{{name}}}{body}\\end{{{name}}}", block=True)

    def _formula(self, tex, block=False):
        self.spent += len(tex)
        return to_mathml(tex, block) if self.spent <= MAX_FORMULAS_CHARACTERS else _as_text(tex, block)


def _as_text(tex, block):
    mark = "$$" if block else "$"
    shown = (mark + tex + mark).encode("utf-8", "replace").decode("utf-8")
    return f'<code class="tex">{html.escape(shown)}</code>'


def _copy_known(element):
    """Return a copy of ``element`` with known attributes only; raise ValueError for an unknown element or command."""
    text = html.unescape(element.text or "")  # the converter writes its characters as entities
    if element.tag not in ELEMENTS or UNKNOWN_COMMAND.match(text):
        raise ValueError(element.tag)
    known = {name: value for name, value in element.attrib.items() if name in ATTRIBUTES and VALUE.fullmatch(value)}
    copy = ElementTree.Element(element.tag, known)
    copy.text = text
    copy.extend(_copy_known(child) for child in element)
    return copy
