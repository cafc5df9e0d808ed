"""The book on paper: a print style sheet for single pages, and the whole book as one PDF with bookmarks.

    python book/_ext/pdf.py _build/html

In: a built website. Out: in it, a PDF of all its pages in order, printed by Chromium, and a link to it on the landing page, at
the directive ``on-paper``. Without that command a website has neither. Links between pages work within the PDF; what only the
website has, such as a notebook, is named without a link. The book is printed twice, because only the first print shows which
page numbers the contents need.
"""

import argparse
import html
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from posixpath import dirname, join, normpath
from urllib.parse import urlsplit

from docutils import nodes
from pypdf import PdfReader, PdfWriter
from pypdf.generic import NameObject, TextStringObject
from selectolax.lexbor import LexborHTMLParser
from sphinx.util.docutils import SphinxDirective

NAME = "bahdanau-attention.pdf"
PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
# A browser loads fonts from files only if it is allowed to; no other host can be reached.
OPTIONS = """--headless=new --disable-gpu --disable-dev-shm-usage --no-first-run --disable-sync --disable-background-networking
--disable-component-update --allow-file-access-from-files --host-resolver-rules=MAP\\ *\\ ~NOTFOUND
--no-pdf-header-footer --generate-pdf-document-outline"""
LINK_PLACE = "<!-- the whole book on paper -->"
LINK = """<p class="on-paper"><a href="{href}" download>The whole book as one PDF</a>, with bookmarks, to print or to read
without a network ({size:.1f} MB).</p>"""
PAGE = """<!DOCTYPE html>
<html lang="en" data-theme="light" data-content_root="./">
<head>
<meta charset="utf-8">
<title>{title}</title>
{styles}
<style media="print">
{heads}
</style>
</head>
<body class="whole-book">
<div class="cover">
<h1>{title}</h1>
<p>{authors}</p>
<nav aria-label="Contents">{contents}</nav>
</div>
<div class="bd-main"><div class="bd-content"><div class="bd-article-container">
{articles}
</div></div></div>
</body>
</html>
"""
HEADING_RULE = '@page {name} {{ @top-right {{ content: "{words}"; color: #48566b; font: 9pt sans-serif; }} }}'
NUMBER = '<span class="number" data-of="{name}">{number}</span>'
MISSING_NUMBER = re.compile(NUMBER.format(name='([^"]*)', number=""))
MAX_UNBROKEN_LINES = 25  # of code that is kept on one sheet
SCREEN_ONLY = "script, noscript, template, .headerlink, .copybtn, .on-paper, details.hide"
WITH_REFERENCES = "[id], [for], [name], [aria-labelledby], [aria-describedby], [src], [href], [data], [poster]"
IDENTIFIERS = ("id", "aria-labelledby", "aria-describedby", "for", "name")
TIMEOUT_SECONDS = 600  # machines may be busy


class PrintError(Exception):
    pass


class PdfLink(SphinxDirective):
    """Marks where the landing page links to the PDF once there is one."""

    def run(self):
        return [nodes.raw("", LINK_PLACE, format="html")]


def print_book(site):
    """Print the website in the folder ``site`` into a PDF there, and link it from the landing page; return its path.

    Raises
    ------
    PrintError
        If there is no website, or Chromium is missing or fails.
    """
    site = Path(site)
    if not (site / "index.html").is_file():
        raise PrintError(f"there is no website in {site}. Remedy: run `make site`.")
    path, pages = site / NAME, _page_order(site)
    text = whole_book(site, pages)
    with tempfile.NamedTemporaryFile("w", dir=site, suffix=".html", encoding="utf-8") as file:
        for complete in (lambda: text, lambda: _fill_page_numbers(text, PdfReader(path))):
            file.seek(0)
            file.write(complete())
            file.flush()
            print_page(Path(file.name), path)
    writer = PdfWriter(clone_from=path)
    _restore_bookmark_titles(writer, _headings(text))
    writer.write(path)
    landing = pages[0]
    up = "../" * landing.count("/")
    link = LINK.format(href=f"{up}{NAME}", size=path.stat().st_size / 1e6)
    text = (site / landing).read_text(encoding="utf-8")
    marked = re.compile(rf"{LINK_PLACE}(\s*<p class=\"on-paper\">.*?</p>)?", flags=re.DOTALL)
    (site / landing).write_text(marked.sub(lambda _: f"{LINK_PLACE}\n{link}", text, count=1), encoding="utf-8")
    return path


def _fill_page_numbers(text, printed):
    """Return ``text`` with the page numbers of ``printed`` filled into its contents, which makes no line longer."""
    places = printed.named_destinations

    def insert_number(match):
        number = printed.get_destination_page_number(places[f"/{match[1]}"]) + 1
        return NUMBER.format(name=match[1], number=number)

    return MISSING_NUMBER.sub(insert_number, text)


def whole_book(site, pages):
    """Return the ``pages`` of the website in the folder ``site`` as one HTML document for its top folder."""
    trees = {page: LexborHTMLParser((site / page).read_text(encoding="utf-8")) for page in pages}
    first = trees[pages[0]]
    sheets = [sheet.attributes for tree in trees.values() for sheet in tree.css('link[rel="stylesheet"]')]
    styles = {_address(pages[0], sheet["href"].partition("?")[0]): sheet.get("media", "all") for sheet in sheets}
    title = first.css_first("title").text().rpartition(" \N{EM DASH} ")[2]
    return PAGE.format(
        title=html.escape(title),
        authors=_authors(first),
        styles="\n".join(f'<link rel="stylesheet" href="{href}" media="{media}">' for href, media in styles.items()),
        heads="\n".join(_page_heading_rule(tree, page) for page, tree in trees.items()),
        contents=_table_of_contents(first, pages),
        articles="\n".join(_extract_article(tree, page, pages) for page, tree in trees.items()),
    )


def print_page(page, path):
    """Print the HTML file ``page`` with Chromium into the file ``path``, with its headings as bookmarks.

    Raises
    ------
    PrintError
        If Chromium is missing or fails.
    """
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if not program:
        raise PrintError("Chromium is not on this machine. Remedy: run `make browser`, or install it.")
    command = [program, *shlex.split(OPTIONS), f"--print-to-pdf={path}"]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command.append("--no-sandbox")  # Chromium's own sandbox refuses root; these pages are ours
    before = path.stat().st_mtime_ns if path.is_file() else 0
    with tempfile.TemporaryDirectory(prefix="profile-", ignore_cleanup_errors=True) as profile:
        command += [f"--user-data-dir={profile}", page.resolve().as_uri()]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            raise PrintError(
                f"Chromium has not printed {page} within {TIMEOUT_SECONDS} s. Remedy: try again."
            ) from None
    if not path.is_file() or path.stat().st_mtime_ns == before:
        raise PrintError(f"Chromium printed nothing: {done.stderr[-1000:]}")


def _headings(text):
    headings = LexborHTMLParser(text).css("h1, h2, h3, h4, h5, h6")
    return [" ".join(heading.text().split()) for heading in headings]


def _restore_bookmark_titles(writer, headings):
    """Give the bookmarks the text of their ``headings``: Chromium drops the space at a line end, and repeats some titles."""
    squeezed = ["".join(heading.split()) for heading in headings]
    begin = 0
    for bookmark in _iterate_bookmarks(writer.root_object["/Outlines"]):
        title = "".join(bookmark["/Title"].split())
        n = next((n for n in range(begin, len(headings)) if title in (squeezed[n], 2 * squeezed[n])), None)
        if n is not None:
            bookmark[NameObject("/Title")] = TextStringObject(headings[n])
            begin = n + 1


def _iterate_bookmarks(node):
    child = node.get("/First")
    while child is not None:
        child = child.get_object()
        yield child
        yield from _iterate_bookmarks(child)
        child = child.get("/Next")


def _page_order(site):
    """Return the pages in order, as paths within the website: each page links to the next."""
    entrance = LexborHTMLParser((site / "index.html").read_text(encoding="utf-8"))
    leads_on = entrance.css_first('meta[http-equiv="refresh"]')
    pages = [entrance.css_first("a").attributes["href"] if leads_on else "index.html"]
    while following := LexborHTMLParser((site / pages[-1]).read_text(encoding="utf-8")).css_first('link[rel="next"]'):
        pages.append(_address(pages[-1], following.attributes["href"]))
    return pages


def _address(page, href):
    """Return the target of an ``href`` on ``page``, as a path within the website."""
    return normpath(join(dirname(page), href))


def _authors(tree):
    meta, footer = tree.css_first('meta[name="author"]'), tree.css_first(".component-author")
    text = meta.attributes["content"] if meta else footer.text() if footer else ""
    return html.escape(re.sub(r"^By\s+", "", " ".join(text.split())))


def _table_of_contents(tree, pages):
    """Return the book's menu as lists, each part under its name."""
    parts = []
    for part in tree.css("nav.bd-links p.caption, nav.bd-links ul"):
        if part.tag == "p":
            parts.append(f'<p class="part">{html.escape(part.text(strip=True))}</p>')
            continue
        items = []
        for link in part.css("a[href]"):
            href = link.attributes["href"]
            page = pages[0] if href == "#" else _address(pages[0], href)
            if page in pages:
                name, text = _identifier(page), html.escape(link.text(strip=True))
                items.append(f'<li><a href="#{name}">{text}</a>{NUMBER.format(name=name, number="")}</li>')
        parts.append(f"<ol>{''.join(items)}</ol>")
    return "\n".join(parts)


def _page_heading_rule(tree, page):
    """Return the rule that puts the title of a page at the head of each of its sheets."""
    heading = tree.css_first("h1") or tree.css_first("title")
    words = " ".join(heading.text().removesuffix("#").split()).replace("\\", r"\\").replace('"', r"\"")
    return HEADING_RULE.format(name=_identifier(page, "head"), words=words)


def _identifier(page, name="top"):
    return f"{page.rpartition('.')[0].replace('/', '-')}--{name}"


def _extract_article(tree, page, pages):
    """Return the article of a page, with unique ids, addresses relative to the website's top, and no scripts."""
    article = tree.css_first("article.bd-article") or tree.css_first("article") or tree.body
    for name, value in (("id", "top"), ("class", "bd-article"), ("style", f"page: {_identifier(page, 'head')}")):
        article.attrs[name] = value
    for element in article.css(SCREEN_ONLY):
        element.decompose()
    for code in article.css(".highlight > pre"):
        if len(code.text().splitlines()) <= MAX_UNBROKEN_LINES:
            code.attrs["class"] = f"{code.attributes.get('class') or ''} short".strip()
    for details in article.css("details"):
        details.attrs["open"] = ""
        if "name" in details.attributes:
            del details.attrs["name"]  # only one of those that share a name can be open
    for element in {element.mem_id: element for element in article.css(WITH_REFERENCES)}.values():
        for name, value in element.attributes.items():
            if value and (name != "href" or element.tag != "a"):
                element.attrs[name] = _relocate_attribute(page, name, value)
        if element.tag == "a" and "href" in element.attributes:
            _redirect(element, page, pages)
    return article.html.replace("url(#", f"url(#{_identifier(page, '')}")


def _relocate_attribute(page, name, value):
    """Return the value that an attribute of an element of ``page`` has in the whole book."""
    if name in IDENTIFIERS:
        return " ".join(_identifier(page, each) for each in value.split())
    if name in ("src", "data", "poster") and not urlsplit(value).scheme:
        return _address(page, value)
    if name in ("href", "xlink:href") and value.startswith("#"):  # within a drawing
        return f"#{_identifier(page, value[1:])}"
    return value


def _redirect(link, page, pages):
    """Point a link to its target in the whole book; remove the link if only the website has the target."""
    parts = urlsplit(link.attributes["href"])
    if parts.scheme or parts.netloc:
        return
    target = _address(page, parts.path) if parts.path else page
    if target not in pages:
        link.unwrap()
        return
    link.attrs["href"] = f"#{_identifier(target, parts.fragment or 'top')}"
    for name in {"download", "title"} & set(link.attributes):
        del link.attrs[name]


def main():
    parser = argparse.ArgumentParser(description="Print a website that is built into one PDF, and link it there.")
    parser.add_argument("site", type=Path, help="the folder of the website, as in _build/html")
    try:
        path = print_book(parser.parse_args().site)
    except PrintError as error:
        sys.exit(f"error: {error}")
    print(f"The book on paper: {path}")


def setup(app):
    app.add_directive("on-paper", PdfLink)
    app.add_css_file("print.css", media="print")
    app.add_js_file("print.js", loading_method="defer")
    return {"parallel_read_safe": True, "parallel_write_safe": True}


if __name__ == "__main__":
    main()
