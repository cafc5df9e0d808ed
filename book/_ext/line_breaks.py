"""Where a line of text may break: not before a comma, not within a number or a short name in code.

In: the text of a page. Out: the same, with elements that the style ``course.css`` keeps in one line.

| what | how it is told |
|---|---|
| a formula and the signs right behind it | one element of the class ``together`` |
| a formula that is short | the class ``whole`` |
| a name that is longer than a line of a phone may have to be | the class ``long``: it breaks where it must, no other does |
| where such a name breaks rather: behind a bracket, a dot or a stroke | an element ``wbr`` |
| 20 000; note C, line 9; 30 million; a citation and the word before it | a space that does not break |
| an interval, such as [3-21 %] | one element of the class ``together`` |
"""

import re
from itertools import pairwise

from docutils import nodes

SIGNS = re.compile(r"[.,;:!?)\u2019\u201d]+")
NAMED = r"(?<=\b(?:[Nn]ote|[Ll]ine|[Ss]tep)) (?=[A-E]\b|\d)"
COUNTED = r"(?<=\d) (?=(?:\d{3}|million)\b)"
KEPT = re.compile(f"{NAMED}|{COUNTED}")
IN_WORDS = re.compile(r"\\(?:operatorname|text|mathrm)\s*\{([^{}]*)\}")
INTERVALS = re.compile(r"(\[[\d.]+(?:-|\u2013|, )[\d.]+(?: %)?\])")
JOINTS = re.compile(r"(?<=\w[(./])(?=[^\W\d])")
LONGEST = 24  # characters of a name that is kept whole
SHORT = 14  # signs of a formula that is kept whole


def settle(app, doctree, docname):
    if app.builder.format != "html":
        return
    for formula in list(doctree.findall(nodes.math)):
        _hold(formula)
    for literal in doctree.findall(nodes.literal):
        if any(len(word) > LONGEST for word in literal.astext().split()):
            literal["classes"].append("long")
            parts = JOINTS.split(literal.astext())
            literal.clear()
            literal += nodes.Text(parts[0])
            for part in parts[1:]:
                literal += [nodes.raw("", "<wbr>", format="html"), nodes.Text(part)]
    for text in list(doctree.findall(nodes.Text)):
        if not isinstance(text.parent, nodes.literal | nodes.literal_block | nodes.math | nodes.math_block | nodes.raw):
            held = KEPT.sub("\u00a0", text.astext())
            if isinstance(_next(text), nodes.footnote_reference):
                held = re.sub(r" $", "\u00a0", held)
            parts = INTERVALS.split(held)
            if held != text.astext() or len(parts) > 1:
                _put([_whole(part) if place % 2 else nodes.Text(part) for place, part in enumerate(parts)], text)


def _whole(interval):
    return nodes.inline("", interval, classes=["together"])


def _hold(formula):
    """Put ``formula`` and the signs behind it into one element; call it whole if it is short."""
    behind = _next(formula)
    signs = SIGNS.match(behind.astext()) if isinstance(behind, nodes.Text) else None
    if _length(formula.astext()) <= SHORT:
        formula["classes"].append("whole")
    if signs:
        _put([nodes.Text(behind.astext()[signs.end() :])], behind)
        both = nodes.inline(classes=["together"])
        formula.replace_self(both)
        both += [formula, nodes.Text(signs[0])]


def _length(tex):
    """Return about how many signs stand in a line of a formula."""
    tex = re.sub(r"\\[A-Za-z]+", "x", IN_WORDS.sub(r"\1", tex))
    return len(re.sub(r"\\.|[\s{}_^,]", "", tex))


def _next(node):
    """Return what follows ``node`` in its parent, which other extensions may have let it forget; None at the end."""
    siblings = node.parent.children if node.parent else []
    return next((after for child, after in pairwise(siblings) if child is node), None)


def _put(pieces, text):
    """Put ``pieces`` in the place of the node ``text``. A list would look for one that is equal, and others may well be."""
    place = next(place for place, child in enumerate(text.parent.children) if child is text)
    text.parent[place : place + 1] = pieces


def setup(app):
    app.connect("doctree-resolved", settle)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
