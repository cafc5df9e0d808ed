"""The book builds with warnings as errors, and publishes its pages and nothing else."""

import ast
import json
import re
from collections import Counter
from urllib.parse import urlsplit

import nbformat
import pytest
from jupyter_client import AsyncKernelManager
from nbclient import NotebookClient
from selectolax.lexbor import LexborHTMLParser

from autograder.paths import ROOT
from solutions import answer_key
from tests.autograder.samples import topic_exercises
from tests.book.small_site import import_extension
from tests.book.website import LOG

course_site = import_extension("course_site")


def pages(site):
    return {path.stem: path.read_text(encoding="utf-8") for path in (site / "book").glob("*.html")}


def all_pages(site):
    """Return the paths of all pages, including the entrance and the search."""
    return [path for path in site.rglob("*.html") if "_static" not in path.parts]  # it has templates of the theme


class Addresses:
    """The addresses on a page: those that a browser fetches to show it, and those that a reader may follow."""

    def __init__(self, text):
        self.fetched, self.links = [], []
        for node in LexborHTMLParser(text).css("*"):
            attributes = node.attributes
            if node.tag == "a":
                self.links += [attributes["href"]] if "href" in attributes else []
            elif node.tag == "link":
                apart = {"next", "prev", "index", "search", "canonical"} & set((attributes.get("rel") or "").split())
                (self.links if apart else self.fetched).append(attributes["href"])
            else:
                self.fetched += [attributes[name] for name in ("src", "data", "poster") if name in attributes]


@pytest.fixture(scope="module")
def addresses(site):
    """``{path: Addresses}`` of all pages."""
    return {path: Addresses(path.read_text(encoding="utf-8")) for path in all_pages(site)}


def test_the_build_prints_nothing_about_fonts(site):
    log = site.with_name(LOG).read_text(encoding="utf-8")
    assert "Finished generating HTML" in log
    assert [line for line in log.splitlines() if re.search("fontTools|findfont", line)] == []


def test_no_id_stands_twice_on_a_page_and_no_block_in_a_summary(site):
    blocks = ", ".join(f"summary {tag}" for tag in ("p", "div", "section", "ul", "ol", "table", "pre", "figure"))
    for path in all_pages(site):
        page = LexborHTMLParser(path.read_text(encoding="utf-8"))
        ids = Counter(node.attributes["id"] for node in page.css("[id]"))
        assert [name for name, count in ids.items() if count > 1] == [], path
        assert not page.css(blocks), path


def test_only_the_pages_of_the_table_of_contents_are_published(site):
    toc = (ROOT / "_toc.yml").read_text()
    listed = set(re.findall(r"book/(\w+)", toc))
    assert set(pages(site)) == listed
    published = {path.relative_to(site).parts[0] for path in site.rglob("*") if path.is_file()}
    assert not published & {"solutions", "autograder", "tests", "benchmarks"}


def test_no_page_and_no_style_of_the_site_fetches_from_another_host(site, addresses):
    for path, references in addresses.items():
        assert [address for address in references.fetched if urlsplit(address).netloc] == [], path
    for path in site.rglob("*.css"):
        text = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        assert re.findall(r"(?:@import|url\()\s*['\"]?\s*(?:https?:)?//[^)]*", text) == [], path


def test_no_link_within_the_site_is_dead(site, addresses):
    for path, references in addresses.items():
        for address in references.fetched + references.links:
            parts = urlsplit(address)
            if not parts.scheme and not parts.netloc and parts.path:
                start = site if parts.path.startswith("/") else path.parent  # the page for dead links is shown anywhere
                assert (start / parts.path.lstrip("/")).is_file(), (path, address)


def test_every_chapter_offers_its_notebook(site, addresses):
    assert {path.stem for path in (site / "assignments").iterdir()} == set(answer_key.topics())
    for topic in answer_key.topics():
        links = addresses[site / "book" / f"{topic}.html"].links
        assert links.count(f"../assignments/{topic}.ipynb") == 2  # at the top, and where the exercises begin
        assert "#exercises" in links
        notebook = json.loads((site / "assignments" / f"{topic}.ipynb").read_text(encoding="utf-8"))
        assert not [marker for marker in ("HIDDEN TESTS", "SOLUTION") if marker in json.dumps(notebook)]


def test_every_chapter_ends_with_its_mistakes_questions_exercises_and_sources(site):
    for topic in answer_key.topics():
        article = LexborHTMLParser(pages(site)[topic]).css_first("article")
        mistakes = f"{topic.replace('_', '-')}-mistakes"  # the feedback leads there
        wanted = [mistakes, "check-yourself", "exercises", "sources"]
        ids = [node.attributes["id"] for node in article.css("[id]")]
        assert [name for name in ids if name in wanted] == wanted, topic


def test_the_title_of_the_first_page_names_the_book_once_and_those_of_others_too(site):
    titles = {name: re.search("<title>(.*?)</title>", text, flags=re.DOTALL) for name, text in pages(site).items()}
    assert all(title and title[1].count("Attention, worked by hand") == 1 for title in titles.values())


def test_the_menu_numbers_the_chapters_as_their_figures_and_exercises_do(site):
    menu = LexborHTMLParser(pages(site)["intro"]).css(".bd-sidenav a")
    numbers = {link.attributes["href"]: match[1] for link in menu if (match := re.match(r"\s*(\d+) ", link.text()))}
    assert list(numbers) == [f"{topic}.html" for topic in numbers_of_figures(site)]
    assert list(numbers.values()) == list(numbers_of_figures(site).values())


def numbers_of_figures(site):
    """Return the number of each chapter, as its first figure has it, in their order."""
    found = {
        name: re.search(r'caption-number">Figure (\d+)\.1 ', text)
        for name, text in pages(site).items()
        if name in answer_key.topics()
    }
    return dict(sorted(((name, match[1]) for name, match in found.items()), key=lambda chapter: int(chapter[1])))


def test_the_right_column_shows_the_sections_and_subsections_of_every_chapter(site):
    for topic in answer_key.topics():
        page = LexborHTMLParser(pages(site)[topic])
        listed = [link.attributes["href"] for link in page.css(".page-toc ul.pst-show_toc_level > li > a")]
        sections = page.css("article section:has(> h2), article section:has(> h3)")
        assert len(sections) > 4
        assert listed == [f"#{section.attributes['id']}" for section in sections], topic


def test_no_other_heading_occurs_twice(site):
    shared = {"Check yourself", "Exercises", "Sources"}
    headings = Counter(
        heading.text().removesuffix("#")
        for html in pages(site).values()
        for heading in LexborHTMLParser(html).css("article h1, article h2, article h3")
    )
    assert {heading for heading, count in headings.items() if count > 1} <= shared


def test_every_picture_stands_in_its_page_with_words_a_caption_and_its_number(site):
    numbered = {}
    for name, html in pages(site).items():
        article = html[html.index("<article") : html.index("</article>")]
        assert "<img" not in article, name  # all pictures are inline
        figures = re.findall(r"<figure.*?</figure>", article, flags=re.DOTALL)
        whole = "".join(figures)
        for kind in ('<div class="picture"', 'class="moving"'):
            assert article.count(kind) == whole.count(kind), name
        assert len(figures) == whole.count('<div class="picture"') + whole.count('class="moving"'), name
        described = set(re.findall(r'<(?:div class="picture"|g) role="img" aria-label="([^"]*)">', article))
        assert len(described) == article.count('<div class="picture"'), name
        for words in described:
            assert len(words) > 60, (name, words)
        for figure in figures:
            caption = re.search(
                r'<span class="caption-number">Figure ([\d.]+) </span><span class="caption-text">(.*?)</span', figure
            )
            assert caption, (name, figure[:200])
            assert len(caption[2]) > 20, (name, caption[2])
            numbered.setdefault(name, []).append(caption[1])
    order = [path for path in re.findall(r"book/(\w+)", (ROOT / "_toc.yml").read_text()) if path in answer_key.topics()]
    for name, numbers in numbered.items():
        chapter = f"{order.index(name) + 1}." if name in order else ""
        assert numbers == [f"{chapter}{place}" for place in range(1, len(numbers) + 1)], name
    assert set(order) < set(numbered)


def test_no_picture_has_a_colour_of_its_own(site):
    for name, html in pages(site).items():
        drawn = "".join(re.findall(r'<div class="picture".*?</div>', html, flags=re.DOTALL))
        colours = set(re.findall(r"(?:fill|stroke):([^;\"]*)", drawn))
        allowed = {"none", "currentcolor", *(f"var(--figure-{tone})" for tone in range(5))}
        allowed |= {f"var(--pst-color-{ground})" for ground in ("border", "surface", "background")}
        assert colours <= allowed, name
        assert not re.search(r"(?<!href=\")#[0-9a-f]{3,8}\b|rgb\(| fill=| stroke=", drawn), name


def test_no_page_shows_the_body_of_a_graded_function(site):
    texts = {name: LexborHTMLParser(text).text() for name, text in pages(site).items()}
    for topic in answer_key.topics():
        for exercise in topic_exercises(topic):
            body = exercise.source.partition("### BEGIN SOLUTION")[2].partition("### END SOLUTION")[0]
            lines = [line.strip() for line in body.splitlines() if len(line.strip()) > 25]
            for name, text in texts.items():
                assert not lines or not all(line in text for line in lines), (exercise.name, name)


def is_common(number):
    """Return whether a number may occur on any page: it has one decimal, or a denominator of at most 6."""
    return any(abs(parts * float(number) - round(parts * float(number))) < 1e-3 for parts in (4, 6, 10))


def test_no_page_states_the_numbers_of_a_twin(site):
    texts = pages(site)
    for topic in answer_key.topics():
        for exercise in topic_exercises(topic):
            if exercise.kind != "number":
                continue
            expected = exercise.cases[0].expected
            arrays = expected.values() if isinstance(expected, dict) else [expected]
            numbers = [f"{abs(float(x)):.4f}" for array in arrays for x in array.ravel() if not is_common(x)]
            for name, text in texts.items():
                # tanh 0.5 and the like occur on several pages; half of an answer does not
                assert sum(number in text for number in numbers) <= len(numbers) // 2, (exercise.name, name)


def test_hindi_stands_in_an_element_that_says_so(site):
    for name, html in pages(site).items():
        text = re.sub(r"<(script|style|head|pre)\b.*?</\1>", "", html, flags=re.DOTALL)  # code cannot have a language
        outside = re.sub(r'<(\w+)[^>]*lang="hi"[^>]*>.*?</\1>', "", text, flags=re.DOTALL)
        assert not re.search("[\u0900-\u097f]", outside), name


LISTENING = """
import os
sockets = [os.readlink(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd") if os.path.islink(f"/proc/self/fd/{name}")]
entries = [line.split() for line in open("/proc/net/tcp").read().splitlines()[1:]]
print([entry[1] for entry in entries if entry[3] == "0A" and f"socket:[{entry[9]}]" in sockets])
"""


@pytest.mark.parametrize(("manager", "ports"), [(AsyncKernelManager, True), (course_site.SocketKernelManager, False)])
def test_no_stray_connection_reaches_a_kernel_of_the_build(manager, ports):
    """A request from another program, printed as a warning, once failed the build."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(LISTENING)])
    NotebookClient(notebook, kernel_name="python3", kernel_manager_class=manager).execute()
    (output,) = notebook.cells[0].outputs
    assert bool(ast.literal_eval(output["text"])) == ports
