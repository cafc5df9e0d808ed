"""The book on paper: a sheet of styles for whoever prints a page, and the whole book as one PDF with bookmarks.

    python book/_ext/on_paper.py _build/html

In: a website that is built. Out: in it a PDF of all its pages in their order, printed by Chromium, and on the landing page a
link to it, where the page has the directive ``on-paper``. Without that command a website has neither. Links from page to page
lead on within the PDF; what only the website has, such as a notebook, is named without a link. It is printed twice: only the
first print knows the numbers of pages that the contents of the second have.
"""

import argparse
import html
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from posixpath import dirname, join, normpath
from urllib.parse import urlsplit

from bs4 import BeautifulSoup
from docutils import nodes
from pypdf import PdfReader, PdfWriter
from pypdf.generic import NameObject, TextStringObject
from sphinx.util.docutils import SphinxDirective

NAME = "bahdanau-attention.pdf"
PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
MARK = "<!-- the whole book on paper -->"
LINK = """<p class="on-paper"><a href="{href}" download>The whole book as one PDF</a>, with bookmarks, to print or to read
without a network ({size:.1f} MB).</p>"""
WHOLE = "whole-book.html"  # where Chromium finds what it prints; no file of that name is written
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
HEAD = '@page {name} {{ @top-right {{ content: "{words}"; color: #48566b; font: 9pt sans-serif; }} }}'
NUMBER = '<span class="number" data-of="{name}">{number}</span>'
NOT_YET = re.compile(NUMBER.format(name='([^"]*)', number=""))
SHORT = 25  # lines of code that stay on one sheet
OF_THE_SCREEN = "script, noscript, template, .headerlink, .copybtn, .on-paper, details.hide"
IDENTIFIERS = ("aria-labelledby", "aria-describedby", "for", "name")
PATIENCE = 600  # seconds: machines may be busy


class PrintError(Exception):
    pass


class OnPaper(SphinxDirective):
    """Where the landing page has its link to the PDF, once there is one."""

    def run(self):
        return [nodes.raw("", MARK, format="html")]


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
    path, pages = site / NAME, _pages(site)
    text = whole_book(site, pages)
    with tempfile.TemporaryDirectory(prefix="print-") as folder:
        printed = Path(folder) / NAME
        _print_text(site, text, printed)
        _print_text(site, _with_numbers(text, PdfReader(printed)), printed)
        writer = PdfWriter(clone_from=printed)
        _name_bookmarks(writer, _headings(text))
        writer.write(path)
    landing = pages[0]
    up = "../" * landing.count("/")
    link = LINK.format(href=f"{up}{NAME}", size=path.stat().st_size / 1e6)
    text = (site / landing).read_text(encoding="utf-8")
    marked = re.compile(rf"{MARK}(\s*<p class=\"on-paper\">.*?</p>)?", flags=re.DOTALL)
    (site / landing).write_text(marked.sub(lambda _: f"{MARK}\n{link}", text, count=1), encoding="utf-8")
    return path


def _print_text(site, text, path):
    with served(site, text) as address:
        print_address(f"{address}/{WHOLE}", path)


def _with_numbers(text, printed):
    """Return ``text`` with the numbers in its contents that the pages have in ``printed``; no line gets longer by it."""
    places = printed.named_destinations

    def numbered(found):
        number = printed.get_destination_page_number(places[f"/{found[1]}"]) + 1
        return NUMBER.format(name=found[1], number=number)

    return NOT_YET.sub(numbered, text)


def whole_book(site, pages):
    """Return the ``pages`` of the website in the folder ``site`` as one HTML document, which lies at its top."""
    soups = {page: BeautifulSoup((site / page).read_text(encoding="utf-8"), "html.parser") for page in pages}
    first = soups[pages[0]]
    sheets = [sheet for soup in soups.values() for sheet in soup.select('link[rel="stylesheet"]')]
    styles = {_address(pages[0], sheet["href"].partition("?")[0]): sheet.get("media") for sheet in sheets}
    title = first.title.string.rpartition(" \N{EM DASH} ")[2]
    return PAGE.format(
        title=html.escape(title),
        authors=_authors(first),
        styles="\n".join(
            f'<link rel="stylesheet" href="{href}"' + (f' media="{media}">' if media else ">")
            for href, media in styles.items()
        ),
        heads="\n".join(_head(soup, page) for page, soup in soups.items()),
        contents=_contents(first, pages),
        articles="\n".join(_article(soup, page, pages) for page, soup in soups.items()),
    )


def print_address(url, path):
    """Let Chromium print what is at ``url`` into the file ``path``, with bookmarks of its headings.

    Raises
    ------
    PrintError
        If Chromium is missing or fails.
    """
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if not program:
        raise PrintError("Chromium is not on this machine. Remedy: run `make browser`, or install it.")
    command = [
        program,
        "--headless=new",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--no-first-run",
        "--disable-sync",
    ]
    command += ["--disable-background-networking", "--disable-component-update"]
    command += ["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command.append("--no-sandbox")  # Chromium's own sandbox refuses root; these pages are ours
    command += ["--no-pdf-header-footer", "--generate-pdf-document-outline", f"--print-to-pdf={path}"]
    with tempfile.TemporaryDirectory(prefix="profile-", ignore_cleanup_errors=True) as profile:
        command += [f"--user-data-dir={profile}", url]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            raise PrintError(f"Chromium has not printed {url} within {PATIENCE} s. Remedy: try again.") from None
    if not Path(path).is_file():
        raise PrintError(f"Chromium printed nothing: {done.stderr[-1000:]}")


def _headings(text):
    found = BeautifulSoup(text, "html.parser").find_all(re.compile("^h[1-6]$"))
    return [" ".join(heading.get_text().split()) for heading in found]


def _name_bookmarks(writer, headings):
    """Give the bookmarks the words of their ``headings``: Chromium leaves out the space where a line ends, and says some twice."""
    squeezed = ["".join(heading.split()) for heading in headings]
    begin = 0
    for bookmark in _bookmarks(writer.root_object["/Outlines"]):
        said = "".join(bookmark["/Title"].split())
        n = next((n for n in range(begin, len(headings)) if said in (squeezed[n], 2 * squeezed[n])), None)
        if n is not None:
            bookmark[NameObject("/Title")] = TextStringObject(headings[n])
            begin = n + 1


def _bookmarks(node):
    child = node.get("/First")
    while child is not None:
        child = child.get_object()
        yield child
        yield from _bookmarks(child)
        child = child.get("/Next")


def _pages(site):
    """Return the pages in their order, as paths within the website: each names the next one."""
    entrance = BeautifulSoup((site / "index.html").read_text(encoding="utf-8"), "html.parser")
    pages = [entrance.a["href"]] if entrance.select_one('meta[http-equiv="refresh"]') else ["index.html"]
    while True:
        soup = BeautifulSoup((site / pages[-1]).read_text(encoding="utf-8").partition("<body")[0], "html.parser")
        following = soup.select_one('link[rel="next"]')
        if following is None:
            return pages
        pages.append(_address(pages[-1], following["href"]))


def _address(page, href):
    """Return where ``href`` leads, which stands on ``page``, as a path within the website."""
    return normpath(join(dirname(page), href))


def _authors(soup):
    meta = soup.select_one('meta[name="author"]')
    found = soup.select_one(".component-author")
    text = meta["content"] if meta else found.get_text(" ", strip=True) if found else ""
    return html.escape(re.sub(r"^By\s+", "", text))


def _contents(soup, pages):
    """Return the menu of the book as lists, each part under its name."""
    parts, menu = [], soup.select_one("nav.bd-links") or soup.new_tag("nav")
    for part in menu.select("p.caption, ul"):
        if part.name == "p":
            parts.append(f'<p class="part">{html.escape(part.get_text(" ", strip=True))}</p>')
            continue
        items = []
        for link in part.select("a[href]"):
            page = pages[0] if link["href"] == "#" else _address(pages[0], link["href"])
            if page in pages:
                text = html.escape(link.get_text(" ", strip=True))
                name = _identifier(page)
                items.append(f'<li><a href="#{name}">{text}</a>{NUMBER.format(name=name, number="")}</li>')
        parts.append(f"<ol>{''.join(items)}</ol>")
    return "\n".join(parts)


def _head(soup, page):
    """Return the rule that puts the title of a page at the head of each sheet that it takes."""
    heading = soup.h1 or soup.title
    words = " ".join(heading.get_text().removesuffix("#").split()).replace("\\", r"\\").replace('"', r"\"")
    return HEAD.format(name=_identifier(page, "head"), words=words)


def _identifier(page, name="top"):
    return f"{page.rpartition('.')[0].replace('/', '-')}--{name}"


def _article(soup, page, pages):
    """Return the text of a page, with names that no other page has, addresses that count from the top, and no scripts."""
    article = soup.select_one("article.bd-article") or soup.article or soup.body
    article["id"] = "top"
    article["class"] = "bd-article"
    article["style"] = f"page: {_identifier(page, 'head')}"
    for element in article.select(OF_THE_SCREEN):
        element.decompose()
    for code in article.select(".highlight > pre"):
        if len(code.get_text().splitlines()) <= SHORT:
            code["class"] = [*code.get("class", ()), "short"]
    for element in article.find_all(True):
        for name in ("src", "data", "poster"):
            if name in element.attrs and not urlsplit(element[name]).scheme:
                element[name] = _address(page, element[name])
        for name, value in element.attrs.items():
            if isinstance(value, str) and "url(#" in value:
                element[name] = value.replace("url(#", f"url(#{_identifier(page, '')}")
        for name in IDENTIFIERS:
            if element.get(name):
                element[name] = " ".join(_identifier(page, each) for each in element[name].split())
        if element.name == "details":
            element["open"] = ""
            del element["name"]  # of those that share one, only one is open
        if element.name == "a" and "href" in element.attrs:
            _lead(element, page, pages)
        elif element.get("href", "").startswith("#") or element.get("xlink:href", "").startswith(
            "#"
        ):  # within a drawing
            name = "href" if "href" in element.attrs else "xlink:href"
            element[name] = f"#{_identifier(page, element[name][1:])}"
    for element in [article, *article.find_all(id=True)]:
        element["id"] = _identifier(page, element["id"])
    return str(article)


def _lead(link, page, pages):
    """Let a link lead to where its target stands in the whole book; take it away if only the website has that."""
    parts = urlsplit(link["href"])
    if parts.scheme or parts.netloc:
        return
    target = _address(page, parts.path) if parts.path else page
    if target in pages:
        link["href"] = f"#{_identifier(target, parts.fragment or 'top')}"
        for name in ("download", "title"):
            del link[name]
    else:
        link.name = "span"
        link.attrs = {}


class _Handler(SimpleHTTPRequestHandler):
    """Serves a website and, at the top of it, one more page that is no file."""

    def __init__(self, *args, whole, **named):
        self.whole = whole
        super().__init__(*args, **named)

    def do_GET(self):
        if self.path != f"/{WHOLE}":
            super().do_GET()
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(self.whole)))
        self.end_headers()
        self.wfile.write(self.whole)

    def log_message(self, *args):
        pass


@contextmanager
def served(site, text=""):
    """Serve the website on this machine, because a browser loads no fonts from files; yield its address."""
    handler = partial(_Handler, directory=site, whole=text.encode())
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


def main():
    parser = argparse.ArgumentParser(description="Print a website that is built into one PDF, and link it there.")
    parser.add_argument("site", type=Path, help="the folder of the website, as in _build/html")
    try:
        path = print_book(parser.parse_args().site)
    except PrintError as error:
        sys.exit(f"error: {error}")
    print(f"The book on paper: {path}")


def setup(app):
    app.add_directive("on-paper", OnPaper)
    app.add_css_file("print.css", media="print")
    app.add_js_file("print.js", loading_method="defer")
    return {"parallel_read_safe": True, "parallel_write_safe": True}


if __name__ == "__main__":
    main()
