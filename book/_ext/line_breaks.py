"""Control where a line of text may break: not before a comma, not within a number or a short name in code.

In: the text of a page. Out: the same, with elements that ``course.css`` keeps on one line.

| what | how it is marked |
|---|---|
| a formula with the punctuation right after it and the opening sign right before it | one element of the class ``together`` |
| a short formula | the class ``whole`` |
| a name in code that may not fit on a line of a phone | the class ``long``: it breaks where it must, no other name does |
| where such a name should break: after an opening bracket, a dot or a slash | an element ``wbr`` |
| where a name in a table's text may break: after an underscore | an element ``wbr`` |
| 20 000; note C, line 9; step *i*; 30 million; a citation and the word before it | a no-break space |
| an interval, such as [3-21 %] | one element of the class ``together`` |
"""

import re
from itertools import pairwise

from docutils import nodes

PUNCTUATION = re.compile(r"[.,;:!?)\u2019\u201d]+")
OPENING = re.compile(r"[(\u2018\u201c]+$")
BEFORE_LABEL = r"(?<=\b(?:[Nn]ote|[Ll]ine|[Ss]tep)) (?=[A-E]\b|\d)"
WITHIN_NUMBER = r"(?<=\d) (?=(?:\d{3}|million)\b)"
UNBREAKABLE_SPACE = re.compile(f"{BEFORE_LABEL}|{WITHIN_NUMBER}")
TEX_TEXT = re.compile(r"\\(?:operatorname|text|mathrm)\s*\{([^{}]*)\}")
BEFORE_LETTER = re.compile(r"(\b(?:note|line|step|word|position)) $")
LETTER = re.compile(r"[A-Za-z][.,;:!?)]*")
INTERVALS = re.compile(r"(\[[\d.]+(?:-|\u2013|, )[\d.]+(?: %)?\])")
SNAKE = re.compile(r"(?<=[a-z]_)(?=[a-z])")
BREAK_POINTS = re.compile(r"(?<=\w[(./])(?=[^\W\d])")
MAX_UNBROKEN_NAME = 24  # characters of a name that is kept whole
MAX_UNBROKEN_FORMULA = 14  # visible symbols of a formula that is kept whole


def control_breaks(app, doctree, docname):
    if app.builder.format != "html":
        return
    for formula in list(doctree.findall(nodes.math)):
        _keep_with_punctuation(formula)
    for literal in doctree.findall(nodes.literal):
        if any(len(word) > MAX_UNBROKEN_NAME for word in literal.astext().split()):
            literal["classes"].append("long")
            parts = _breakable(BREAK_POINTS.split(literal.astext()))
            literal.clear()
            literal += parts
    for text in list(doctree.findall(nodes.Text)):
        if not isinstance(text.parent, nodes.literal | nodes.literal_block | nodes.math | nodes.math_block | nodes.raw):
            held = UNBREAKABLE_SPACE.sub("\u00a0", text.astext())
            behind = _next_sibling(text)
            if isinstance(behind, nodes.footnote_reference):
                held = re.sub(r" $", "\u00a0", held)
            elif isinstance(behind, nodes.math | nodes.inline) and LETTER.fullmatch(behind.astext()):
                held = BEFORE_LETTER.sub("\\1\u00a0", held)
            parts = INTERVALS.split(held)
            if held != text.astext() or len(parts) > 1:
                _replace_text(
                    [_keep_together(part) if place % 2 else nodes.Text(part) for place, part in enumerate(parts)], text
                )
            elif SNAKE.search(held) and _is_in_table(text):
                _replace_text(_breakable(SNAKE.split(held)), text)


def _is_in_table(text):
    return text.parent is not None and isinstance(text.parent.parent, nodes.entry)


def _breakable(parts):
    """Return the ``parts`` of a name as nodes, with an element between them where a line may end."""
    first, *others = map(nodes.Text, parts)
    return [first, *(node for part in others for node in (nodes.raw("", "<wbr>", format="html"), part))]


def _keep_together(interval):
    return nodes.inline("", interval, classes=["together"])


def _keep_with_punctuation(formula):
    """Put ``formula`` and the signs around it into one element; give a short formula the class ``whole``."""
    before, behind = _previous_sibling(formula), _next_sibling(formula)
    opening = OPENING.search(before.astext()) if isinstance(before, nodes.Text) else None
    signs = PUNCTUATION.match(behind.astext()) if isinstance(behind, nodes.Text) else None
    if _visible_length(formula.astext()) <= MAX_UNBROKEN_FORMULA:
        formula["classes"].append("whole")
    if not opening and not signs:
        return
    all_of_them = nodes.inline(classes=["together"])
    formula.replace_self(all_of_them)
    if opening:
        _replace_text([nodes.Text(before.astext()[: opening.start()])], before)
        all_of_them += nodes.Text(opening[0])
    all_of_them += formula
    if signs:
        _replace_text([nodes.Text(behind.astext()[signs.end() :])], behind)
        all_of_them += nodes.Text(signs[0])


def _visible_length(tex):
    """Return the approximate number of visible symbols in a formula."""
    tex = re.sub(r"\\[A-Za-z]+", "x", TEX_TEXT.sub(r"\1", tex))
    return len(re.sub(r"\\.|[\s{}_^,]", "", tex))


def _next_sibling(node):
    """Return the next sibling of ``node``; None at the end, or if other extensions have unset its parent."""
    siblings = node.parent.children if node.parent else []
    return next((after for child, after in pairwise(siblings) if child is node), None)


def _previous_sibling(node):
    siblings = node.parent.children if node.parent else []
    return next((before for before, child in pairwise(siblings) if child is node), None)


def _replace_text(pieces, text):
    """Replace the node ``text`` by ``pieces``. It is found by identity, because ``list.index`` might find an equal one."""
    place = next(place for place, child in enumerate(text.parent.children) if child is text)
    text.parent[place : place + 1] = pieces


def setup(app):
    app.connect("doctree-resolved", control_breaks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
