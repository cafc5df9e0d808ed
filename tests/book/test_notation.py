"""One name for each thing: the formulas of the chapters use only the letters that the page on notation lists.

A letter is a base with its subscript, unless that consists of indices only. The text of an exercise is part of its
chapter, and the notebooks take it from there. A test cannot know what a letter means, but it can check that the page on
notation gives it one meaning, and that no chapter uses an unlisted letter.
"""

import re

import pytest

from autograder.paths import ROOT

BOOK = ROOT / "book"
CHAPTERS = [
    "intro",
    "encoder",
    "scoring",
    "softmax",
    "context",
    "decoder_fusion",
    "output_layer",
    "whole_model",
    "the_paper",
    "capstone",
    "spelling",
    "from_bahdanau_to_transformers",
]

LETTER = re.compile(
    r"(?P<base>\\(?:alpha|delta|epsilon|phi|rho|sigma|tau|xi)(?![A-Za-z])|(?<![\\A-Za-z])[A-Za-z](?![A-Za-z]))"
    r"'?(?:_(?:\{(?P<group>(?:[^{}]|\{[^{}]*\})*)\}|(?P<single>[A-Za-z0-9])))?"
)
LINK = re.compile(r"\]\((\w+)\.md\)")
WORDS = re.compile(r"\\(?:text|operatorname|begin|end)\s*\{[^{}]*\}|\\mathbb\s*\{?\s*R\s*\}?|\\\\\[\w+\]")


def letters(formula):
    """Yield the letters of a formula: ``h_{ij}`` is ``h``, ``W_{a,s}`` is ``W_as``, ``h_{T_x}`` is ``h`` and ``T_x``."""
    for match in LETTER.finditer(WORDS.sub(" ", formula)):
        subscript = re.sub(r"[\s,]|\\\w+", "", match["group"] or match["single"] or "")
        if subscript in {"T_x", "T_y"}:
            yield subscript
            subscript = ""
        indices = re.fullmatch(r"[bijktuw0-9+-]*'?", subscript)
        yield match["base"].lstrip("\\") + ("" if indices else f"_{subscript}")


def formulas(text):
    return [block or inline for block, inline in re.findall(r"\$\$(.+?)\$\$|\$([^$\n]+)\$", text, flags=re.DOTALL)]


def sections(page):
    """Return the sections of a chapter as text, without cells and figures but with exercises and asides."""
    text = (BOOK / f"{page}.md").read_text(encoding="utf-8")
    text = re.sub(r"^```\{(?!exercise|side-note)[^\n]*\n.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.split(r"^(?=#{1,3} |```\{exercise\})", text, flags=re.MULTILINE)


def rows(title):
    """Return the cells of the table under "Every letter" whose first column has this title."""
    text = (BOOK / "notation.md").read_text(encoding="utf-8")
    table = re.search(
        rf"^\| {title} \|.*\n\|[-|]+\|\n((?:\|.*\n)+)", text.partition("## Every letter")[2], re.MULTILINE
    )
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table[1].splitlines()]


def listed(cell):
    return [letter for formula in formulas(cell) for letter in letters(formula)]


@pytest.fixture(scope="module")
def common():
    """The letters that mean the same on every page, and the pages on which they may occur."""
    return {letter: pages_of(where) for cell, _, _, where in rows("letter") for letter in listed(cell)}


def pages_of(where):
    linked = set(LINK.findall(where))
    return {*CHAPTERS} - linked if where.startswith("everywhere") else linked


@pytest.fixture(scope="module")
def local():
    """For each row on a page's own letters, the page and the letters."""
    return [(LINK.search(page)[1], listed(cell)) for page, cell, _ in rows("page")]


@pytest.fixture(scope="module")
def of_notes():
    return {note: set(listed(cell)) for note, cell in rows("note")}


def test_a_letter_of_several_pages_is_listed_once_and_for_pages_that_exist(common):
    common_letters = [letter for cell, *_ in rows("letter") for letter in listed(cell)]
    assert sorted(common_letters) == sorted(set(common_letters))
    assert set().union(*common.values()) <= set(CHAPTERS)


def test_a_letter_of_one_page_is_listed_once_for_it_and_means_nothing_else_there(common, local):
    for page in CHAPTERS:
        own = [letter for where, page_letters in local if where == page for letter in page_letters]
        assert sorted(own) == sorted(set(own)), page
        assert not [letter for letter in own if page in common.get(letter, ())], page


@pytest.mark.parametrize("page", CHAPTERS)
def test_a_chapter_uses_no_letter_that_is_not_listed_for_it(page, common, local, of_notes):
    known = {letter for letter, pages in common.items() if page in pages}
    known |= {letter for where, page_letters in local if where == page for letter in page_letters}
    for section in sections(page):
        named = "".join(re.findall(r"\b[Nn]otes? ([A-E](?:(?:,| and| to| against notes?) [A-E])*)\b", section))
        quoted = set().union(*(of_notes[note] for note in of_notes if note in named))
        for formula in formulas(section):
            unknown = set(letters(formula)) - known - quoted
            assert not unknown, (section.splitlines()[0], formula, unknown)


def test_every_letter_that_is_listed_for_a_page_stands_there(local):
    for page, page_letters in local:
        used = {letter for section in sections(page) for formula in formulas(section) for letter in letters(formula)}
        assert set(page_letters) <= used, (page, set(page_letters) - used)
