"""The extension that prints the book: what is in the PDF, and what stays on the screen."""

import re

import pytest
from bs4 import BeautifulSoup
from pypdf import PdfReader, PdfWriter
from selectolax.lexbor import LexborHTMLParser

from autograder.paths import ROOT
from tests.book.small_site import build_site, import_extension, write_site

pytestmark = pytest.mark.e2e
pdf = import_extension("pdf")

CONF = f"""
html_static_path = [{str(ROOT / "book" / "_static")!r}]
project = "A small book"
author = "Two authors"
extensions = ["myst_nb", "sphinx_copybutton", "katex_prerender", "quiz", "pdf"]
myst_enable_extensions = ["dollarmath"]
nb_execution_mode = "off"
html_theme = "sphinx_book_theme"
html_title = "A small book"
html_context = {{"default_mode": "dark"}}
html_theme_options = {{"home_page_in_toc": True}}
html_math_renderer = "katex"
"""
LANDING = """# The beginning

```{on-paper}
```

Go on to {ref}`a formula <a-formula>` and to [a file](other.txt).

```{toctree}
:hidden:
:caption: The only part

one
```
"""
ALPHABET = "abcdefghijklmnopqrstuvwxyz" * 8
HEAD = """---
jupytext: {text_representation: {extension: .md, format_name: myst}}
kernelspec: {display_name: Python 3, language: python, name: python3}
---
"""
CHAPTER = f"""{HEAD}
# The chapter

```{{code-cell}} python
:tags: [hide-input]
print("this is folded")
```

```python
letters = "{ALPHABET}"
```

(a-formula)=

## A formula

It is $x^2$, as is known[^known].

[^known]: By everybody.

```{{self-check}}
Which one?

- right: this

  Because of its reason.

- wrong: that

  For another reason.
```
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("paper")
    write_site(folder, CONF, {"index.md": LANDING, "one.md": CHAPTER, "other.txt": "only on the website"})
    return build_site(folder)[0]


@pytest.fixture(scope="module")
def before(site):
    return (site / "index.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def printed(before, site):
    return PdfReader(pdf.print_book(site))


def letters(reader):
    return re.sub(r"\s", "", "".join(page.extract_text() for page in reader.pages))


def fills(reader):
    """Return the luminance, from 0 to 1, of each filled rectangle on the pages that is larger than a line of text."""
    luminances = []
    for page in reader.pages:
        luminance, area = 0.0, 0.0
        for operands, operator in page.get_contents().operations:
            if operator in (b"rg", b"g"):
                red, green, blue = map(float, operands * (3 if operator == b"g" else 1))
                luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue
            elif operator == b"re":
                area = abs(float(operands[2]) * float(operands[3]))
            elif operator in (b"f", b"f*") and area > 10_000:
                luminances.append(luminance)
            elif operator in (b"m", b"q"):
                area = 0.0
    return luminances


def test_the_pdf_holds_the_title_and_each_page_in_its_order(printed):
    text = letters(printed)
    places = [text.index(words) for words in ("Asmallbook", "Twoauthors", "Theonlypart", "Goonto", "Itis")]
    assert places == sorted(places)


def test_its_bookmarks_are_the_headings(printed):
    def titles(outline):
        return [titles(entry) if isinstance(entry, list) else entry.title for entry in outline]

    assert titles(printed.outline) == ["A small book", "The beginning", "The chapter", ["A formula"]]


def test_the_contents_say_on_which_page_a_chapter_begins(printed):
    (chapter,) = (entry for entry in printed.outline if not isinstance(entry, list) and entry.title == "The chapter")
    number = printed.get_destination_page_number(chapter) + 1
    assert number == 3
    assert re.search(r"The chapter\s*3$", printed.pages[0].extract_text())


def test_each_sheet_has_its_number_and_at_its_head_the_title_of_its_page(printed):
    sheets = [" ".join(page.extract_text().split()) for page in printed.pages]
    # In the contents, then in the page header and as the title.
    assert [sheet.count("The beginning") for sheet in sheets] == [1, 2, 0]
    assert [sheet.count("The chapter") for sheet in sheets] == [1, 0, 2]
    heads = ("1 ", "The beginning 2 ", "The chapter 3 ")
    assert [sheet for head, sheet in zip(heads, sheets, strict=True) if not sheet.startswith(head)] == []


@pytest.mark.parametrize(("title", "words"), [("Say <em>it</em><a>#</a>", '"Say it"'), ('"A \\ b"', r'"\"A \\ b\""')])
def test_a_title_at_the_head_of_a_sheet_is_plain_text(title, words):
    head = pdf._page_heading_rule(LexborHTMLParser(f"<h1>{title}</h1>"), "book/one.html")
    assert head.startswith("@page book-one--head { @top-right { content: " + words + "; ")


def test_a_bookmark_has_the_words_of_its_heading():
    writer = PdfWriter()
    writer.add_blank_page(100, 100)
    for title in ("Thefirst", "Something else", "A secondA second", "The last"):
        writer.add_outline_item(title, 0)
    pdf._restore_bookmark_titles(writer, ["The first", "A second", "The last"])
    assert [entry.title for entry in writer.outline] == ["The first", "Something else", "A second", "The last"]


def test_code_is_whole_and_what_is_folded_as_code_is_left_out(printed):
    text = letters(printed)
    assert ALPHABET in text
    assert not re.search("folded|Showcode|Hidecode", text)


def test_short_code_stays_on_one_sheet():
    page = "<article><div class='highlight'><pre>{}</pre></div><div class='highlight'><pre>{}</pre></div></article>"
    short, long = "x = 1\n" * pdf.MAX_UNBROKEN_LINES, "x = 1\n" * (pdf.MAX_UNBROKEN_LINES + 1)
    article = pdf._extract_article(LexborHTMLParser(page.format(short, long)), "one.html", ["one.html"])
    marked = [pre.get("class") for pre in BeautifulSoup(article, "html.parser").find_all("pre")]
    assert marked == [["short"], None]


def test_each_formula_is_there_once(printed):
    assert letters(printed).count("x2") == 1


def test_the_reasons_of_a_self_check_are_open(printed):
    text = letters(printed)
    assert "Becauseofitsreason" in text
    assert "Foranotherreason" in text


def test_links_lead_within_the_pdf_or_nowhere(printed, site):
    whole = BeautifulSoup(pdf.whole_book(site, pdf._page_order(site)), "html.parser")
    links = [link["href"] for link in whole.select("a[href]")]
    assert {"#index--top", "#one--top", "#one--a-formula", "#one--known", "#one--id2"} <= set(links)
    for link in links:
        assert link.startswith("#")
        assert len(whole.select(f'[id="{link[1:]}"]')) == 1, link
    assert "a file" in whole.get_text()
    notes = [note.get_object() for page in printed.pages for note in page.get("/Annots", ())]
    names = ("index--top", "one--a-formula", "one--id2", "one--known", "one--top")
    assert sorted({note["/Dest"] for note in notes}) == [f"/{name}" for name in names]


def test_the_pdf_has_no_dark_ground_though_the_screen_has(printed):
    assert min(fills(printed), default=1.0) > 0.85


def test_a_page_that_a_reader_prints_is_light_and_has_no_menu(site, tmp_path):
    pdf.print_page(site / "one.html", tmp_path / "light.pdf")
    page = (site / "one.html").read_text(encoding="utf-8")
    sheet = re.compile(r"<[^>]*print\.(?:css|js)[^>]*>")
    assert len(sheet.findall(page)) == 2
    (site / "dark.html").write_text(sheet.sub("", page), encoding="utf-8")
    pdf.print_page(site / "dark.html", tmp_path / "dark.pdf")
    (site / "dark.html").unlink()
    light, dark = PdfReader(tmp_path / "light.pdf"), PdfReader(tmp_path / "dark.pdf")
    assert min(fills(dark)) < 0.2  # so a dark page would be noticed
    assert min(fills(light), default=1.0) > 0.85
    assert ALPHABET in letters(light)
    assert not re.search("folded|Showcode|Search|Contents|Theonlypart", letters(light))


def test_where_chromium_prints_nothing_an_older_pdf_does_not_hide_it(monkeypatch, tmp_path):
    monkeypatch.setattr(pdf, "PROGRAMS", ("true",))
    (tmp_path / "page.html").write_text("<p>New.</p>", encoding="utf-8")
    (tmp_path / "book.pdf").write_bytes(b"%PDF of an earlier build")
    with pytest.raises(pdf.PrintError, match="Chromium printed nothing"):
        pdf.print_page(tmp_path / "page.html", tmp_path / "book.pdf")


def test_the_landing_page_links_the_pdf_once_it_is_there(before, printed, site, monkeypatch):
    assert pdf.NAME not in before
    monkeypatch.setattr(pdf, "print_page", lambda page, path: None)  # the PDF of the first time is still there
    pdf.print_book(site)
    page = BeautifulSoup((site / "index.html").read_text(encoding="utf-8"), "html.parser")
    (link,) = page.select(f'a[href="{pdf.NAME}"]')
    assert (site / link["href"]).read_bytes().startswith(b"%PDF")


def test_without_a_website_there_is_nothing_to_print(tmp_path):
    with pytest.raises(pdf.PrintError, match="make site"):
        pdf.print_book(tmp_path)
