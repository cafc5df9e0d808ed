r"""A search that finds sections, entries and exercises by their words and letters; it ignores code, outputs and toolbars.

In: the pages, the page on notation for two names of the same thing, and which pages are guides, which have a search of their
own: those under ``GUIDES_CAPTION`` in the table of contents. Out: ``search-sections.js`` beside the pages, which
``_static/search.js`` fetches when a reader begins to search; it replaces Sphinx's own search. It consists of MiniSearch,
Sphinx's stemmer, this index and ``_static/search-ranking.js``, in this order. ::

    [[page, [[anchor, heading, text, weight, index terms], ...]], ...]

Texts are what a reader sees: a formula is a line without TeX, its subscripts and superscripts between ``SUB`` or ``SUP`` and
``END``; a table or a displayed formula stands between two ``NOT_PROSE``. Names that the page on notation equates count as one:
a Greek letter and its name, a symbol and its word in code.
"""

import json
import re
import unicodedata
import xml.etree.ElementTree as ET
from functools import lru_cache
from pathlib import Path

import katex_prerender
from docutils import nodes
from docutils.utils import new_document
from lean_theme import prepend_templates
from sphinx import addnodes
from sphinx.search.en import english_stopwords, js_porter_stemmer

from autograder.formulas import FormulaError
from autograder.paths import ROOT

INDEX = "search-sections.js"
MINISEARCH = ROOT / "node_modules" / "minisearch"
RANKING = ROOT / "book" / "_static" / "search-ranking.js"
GUIDES_CAPTION = "For instructors and contributors"
QUESTION_WORDS = """am an any can could did do does from get has have how i me must my our out should so some us we what when where
which who why would you your"""
STOP_WORDS = english_stopwords | set(QUESTION_WORDS.split())
# Readers look for what a section teaches before its exercises, and for either before errata and references.
EXERCISE_WEIGHT = 0.6
PAGE_WEIGHTS = {"errata": 0.4, "sources": 0.4, "for_contributors": 0.6}
HEADING_WEIGHTS = {"Sources": 0.3, "Check yourself": 0.6, "Exercises": 0.6}
# Phrases that readers use for the same thing.
SYNONYMS = [
    ["energy", "score"],
    ["soft alignment", "alignment", "weights"],
    ["expected annotation", "context vector"],
    ["encoder-decoder", "seq2seq", "sequence to sequence"],
    ["hidden state", "annotation"],
    ["padding", "mask"],
    ["submit", "hand in", "turn in", "upload"],
    ["deadline", "due date", "late"],
    ["grade", "mark"],
    ["numerical stability", "overflow", "nan", "inf"],
    ["eos", "end of sentence", "stop"],
    ["bos", "start of sentence", "start"],
    ["loss", "cross-entropy", "likelihood"],
    ["phoneme error rate", "per"],
    ["word error rate", "wer"],
    ["backpropagation", "gradient", "derivative"],
    ["heat map", "heatmap", "attention map", "visualization"],
    ["vocabulary", "unknown word"],
    ["embedding", "word vector"],
    ["gru", "gate"],
    ["learning rate", "hyperparameter"],
    ["out of memory", "killed", "limit"],
    ["error", "exception", "traceback"],
    ["broadcasting", "shape mismatch"],
]
SUB, SUP, END = "\ue000", "\ue001", "\ue002"
NOT_PROSE = "\ue003"  # before and after a table or a displayed formula, which no excerpt shows
SKIPPED_NODES = (
    nodes.raw,
    nodes.literal_block,
    nodes.comment,
    nodes.image,
    nodes.label,
    nodes.footnote_reference,
    nodes.target,
)
SKIPPED_NODES += (addnodes.toctree, addnodes.index)
SEPARATORS = {nodes.row: " · ", nodes.tbody: "; ", nodes.tgroup: "; "}
SKIPPED_CLASSES = {"cell", "toctree-wrapper", "reason", "cited"}  # a reason is for readers who have chosen
ACCENTS = {"^": "\u0302", "~": "\u0303", "ˉ": "\u0304", "¯": "\u0304", "→": "\u20d7"}
SPACED_OPERATORS = "[=<>≤≥≈≠∈≪≫→←↦∼∝+−×⋅·⊙∣⟺⟹]"  # these have a space on both sides, unless they begin an expression
GREEK = {unicodedata.name(chr(code)).rpartition(" ")[2].lower(): chr(code) for code in range(ord("α"), ord("ω") + 1)}
RESULTS_TEMPLATE = (
    '{% extends "!search.html" %}{% block scripts %}{{ super.super() }}{% endblock %}'  # without Sphinx's scripts
)


@lru_cache(4096)
def formula_to_text(tex):
    r"""Return a formula as one line of text without TeX, such as ``α⟨ij⟩ = softmax(e⟨ij⟩)`` with SUB and END for ⟨ and ⟩."""
    try:
        match = re.search(r"<math.*?</math>", katex_prerender.typesetter.html(tex), flags=re.DOTALL)
    except FormulaError:  # the page itself already warns of it
        return ""
    if not match:
        return ""
    text = re.sub("\u2061 *", " ", _mathml_to_text(ET.fromstring(match[0])))
    text = re.sub(rf"(?<=[^\s(\[{{,{SUB}{SUP}]) *({SPACED_OPERATORS}) *", r" \1 ", text)
    text = re.sub(rf"({SUB}|{SUP})([^{SUB}{SUP}{END}]*)", lambda part: part[1] + part[2].replace(" ", ""), text)
    return re.sub(r"\s+", " ", re.sub(r"(?<=\w) (?=\()| (?=[),;])", "", text.replace(",", ", "))).strip()


def _mathml_to_text(element):
    tag = element.tag.rpartition("}")[2]
    parts = [_mathml_to_text(child) for child in element if not child.tag.endswith("annotation")]
    if tag in ("mi", "mn", "mo", "mtext", "mspace"):
        return element.text or " "
    if tag in ("msub", "munder"):
        return _mark_script(parts[0], SUB, parts[1])
    if tag == "mover" and parts[1] in ACCENTS:
        return unicodedata.normalize("NFC", parts[0] + ACCENTS[parts[1]])
    if tag in ("msup", "mover"):
        return _mark_script(parts[0], SUP, parts[1])
    if tag in ("msubsup", "munderover"):
        return _mark_script(_mark_script(parts[0], SUB, parts[1]), SUP, parts[2])
    if tag == "mfrac":
        return "/".join(part if len(part) < 3 else f"({part})" for part in parts)
    if tag in ("msqrt", "mroot"):
        return f"√({parts[0]})"
    if tag == "mphantom":
        return ""
    if tag == "mtable":
        return "; ".join(parts)
    return _join_factors(parts) if tag in ("mrow", "mstyle", "mtd", "math", "semantics") else " ".join(parts)


def _mark_script(base, mark, script):
    return f"{base}{mark}{script}{END}" if script.strip() not in ("", "⊤") else f"{base}{script}"


def _join_factors(parts):
    """Return the parts of a product with spaces between them: ``U⟨a⟩ h⟨j⟩``."""
    text = ""
    for part in parts:
        apart = text and (text[-1].isalnum() or text[-1] in END) and part[:1].isalpha()
        text += f" {part}" if apart else part
    return text


def visible_text(node):
    """Return the text that a reader sees in ``node``, without its sections and exercises."""
    if isinstance(node, nodes.Text):
        return node.astext()
    if isinstance(node, nodes.raw) and "<br" in node.astext():
        return " "
    if isinstance(node, nodes.math):
        return formula_to_text(node.astext())
    if isinstance(node, nodes.math_block):
        return f"{NOT_PROSE}{formula_to_text(node.astext())}{NOT_PROSE}"
    if isinstance(node, SKIPPED_NODES) or SKIPPED_CLASSES.intersection(node.get("classes", ())) or _is_exercise(node):
        return ""
    parts = [visible_text(child) for child in node.children if not isinstance(child, nodes.section)]
    if isinstance(node, nodes.TextElement):
        return "".join(parts)
    between = next((mark for kind, mark in SEPARATORS.items() if isinstance(node, kind)), " ")
    text = between.join(part.strip() for part in parts if part.strip())
    return f"{NOT_PROSE}{text.replace(NOT_PROSE, '')}{NOT_PROSE}" if isinstance(node, nodes.table) else text


def _is_exercise(node):
    return type(node).__name__ in ("exercise_node", "exercise_enumerable_node")


def index_sections(doctree, numbers, page_weight=1.0):
    """Return ``[anchor, heading, text, weight, index terms]`` for each section, entry and exercise of a page; its anchor is "".

    ``numbers`` maps the labels of its exercises to their numbers, as tuples.
    """
    sections = []
    for part in doctree.findall(lambda node: isinstance(node, nodes.section) or _is_exercise(node)):
        title, *children = part.children
        if not isinstance(title, nodes.title):  # the content of an exercise
            continue
        heading = visible_text(title)
        if _is_exercise(part):
            heading = f"Exercise {'.'.join(map(str, numbers.get(part['label'], ())))} {heading.strip()}"
            children = children[0].children
        weight = EXERCISE_WEIGHT if _is_exercise(part) else HEADING_WEIGHTS.get(heading.strip(), 1.0)
        here = [part["ids"][0] if sections else "", heading, [], weight, _index_terms(part)]
        sections.append(here)
        for child in children:
            if isinstance(child, nodes.section):
                continue
            entry = _entry_heading(child)
            if entry:
                here = [_select_own_ids(child)[0], entry, [], 1.0, ""]
                sections.append(here)
            here[2].append(visible_text(child).removeprefix(entry))
    return [
        [anchor, _collapse_space(heading), _collapse_space(" ".join(texts)), round(weight * page_weight, 2), terms]
        for anchor, heading, texts, weight, terms in sections
    ]


def _index_terms(section):
    """Return the terms of the ``{index}`` directives in a section, but not in its subsections; of an exercise, its name.

    The name is the part of its label that is also the name of the function to write, if it asks for one.
    """
    if _is_exercise(section):
        return section["label"].partition("-")[2]
    indexes = [child for child in section.children if isinstance(child, addnodes.index)]
    return "; ".join(value for index in indexes for _, value, *_ in index["entries"])


def _select_own_ids(node):
    """Return the ids that links of the book lead to, without those of ``{index}`` directives."""
    return [name for name in node["ids"] if not name.startswith("index-")]


def _entry_heading(node):
    """Return the bold beginning of a paragraph that links can lead to, such as an erratum; "" for other nodes."""
    if not isinstance(node, nodes.paragraph) or not _select_own_ids(node):
        return ""
    first = next((child for child in node.children if child.astext()), None)
    return visible_text(first) if isinstance(first, nodes.strong) else ""


def _collapse_space(text):
    return re.sub(r"\s+", " ", text).strip()


def find_synonyms(notation):
    """Return ``({name: Greek letter}, [[word in code, letter], ...])``, from the page on notation."""
    if notation is None:
        return {}, []
    formulas = " ".join(node.astext() for node in notation.findall(nodes.math))
    names = {name: GREEK[name] for name in sorted(set(re.findall(r"\\([a-z]+)", formulas)) & set(GREEK))}
    pairs = []
    for row in notation.findall(nodes.row):
        symbol, code = [
            [*cell.findall(kind)] for cell, kind in zip(row.children, (nodes.math, nodes.literal), strict=False)
        ]
        letter = (
            re.match(rf"(\w)(?:{SUB}[^{END}]*{END})?(?:,|$)", formula_to_text(symbol[0].astext())) if symbol else None
        )
        if letter and len(code) == 1:
            pairs.append([code[0].astext(), letter[1]])
    return names, pairs


def find_guides(contents):
    """Return the names of the pages under ``GUIDES_CAPTION`` in the document that holds the table of contents."""
    parts = [tree for tree in contents.findall(addnodes.toctree) if tree["caption"] == GUIDES_CAPTION]
    return [name for tree in parts for _, name in tree["entries"]]


def replace_index(app):
    """Replace Sphinx's own index, which knows only pages, and includes every word of the code."""
    app.search_sections = {}
    if app.builder.format != "html":
        return
    own = app.builder.index_page

    def index_page(name, doctree, title):
        numbers = app.env.toc_fignumbers.get(name, {}).get("exercise", {})
        app.search_sections[name] = index_sections(doctree, numbers, PAGE_WEIGHTS.get(name.rpartition("/")[2], 1.0))
        own(name, new_document(""), title)

    app.builder.index_page = index_page
    prepend_templates(app, {"search.html": RESULTS_TEMPLATE})


def write_index(app, exception):
    if exception or app.builder.format != "html":
        return
    pages = [[name, app.search_sections[name]] for name in sorted(app.search_sections) if name in app.env.found_docs]
    notation = next((name for name in app.env.found_docs if name.rpartition("/")[2] == "notation"), None)
    names, words = find_synonyms(app.env.get_doctree(notation) if notation else None)
    guides = find_guides(app.env.get_doctree(app.config.root_doc))
    index = {
        "pages": pages,
        "guides": guides,
        "names": names,
        "synonyms": SYNONYMS + words,
        "stopWords": sorted(STOP_WORDS),
    }
    text = json.dumps(index, ensure_ascii=False, separators=(",", ":"))
    library = (MINISEARCH / "dist/umd/index.js").read_text(encoding="utf-8").partition("//# sourceMappingURL")[0]
    licence = f"/*! MiniSearch\n{(MINISEARCH / 'LICENSE.txt').read_text(encoding='utf-8').strip()}\n*/"
    parts = [licence, library, js_porter_stemmer, f"searchSections={text};", RANKING.read_text(encoding="utf-8")]
    Path(app.outdir, INDEX).write_text("\n".join(parts), encoding="utf-8")


def setup(app):
    app.setup_extension("katex_prerender")
    app.setup_extension("page_optimizer")  # has all pages written, and so indexed, in each build
    app.connect("builder-inited", replace_index)
    app.connect("build-finished", write_index, priority=100)  # while formulas can still be typeset
    app.add_js_file("search.js", loading_method="defer")
    app.add_css_file("search.css")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
