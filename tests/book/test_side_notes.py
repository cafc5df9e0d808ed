"""Asides and cited sources beside the text: once a source, after its punctuation, and without scripts no worse than before."""

import re

import pytest
from selenium.webdriver.common.by import By

from benchmarks.site import chromium
from tests.book.small_site import build_site, import_extension, write_site
from tests.book.test_browser import address, browser, draw_anew, lay_out_all, open_page, seen, server, size, until  # noqa: F401
from tests.book.test_build import all_pages

section_search = import_extension("section_search")
CONF = """
extensions = ["myst_nb", "sphinxcontrib.bibtex", "side_notes"]
bibtex_bibfiles = ["references.bib"]
myst_footnote_transition = False
suppress_warnings = ["myst.footnote"]
"""
SOURCES = r"""
@misc{few, author = {van Merri{\"e}nboer, Bart and Bengio, Y.}, title = {On {BLEU} Scores}, year = 2014,
      url = {https://example.org/few}}
@misc{many, author = {A, A. and B, B. and C, C. and D, D.}, title = {Many}}
"""
PAGE = """# Page

## Text

One source {footcite:p}`few`. Another {footcite:p}`many` and the first {footcite:p}`few`.

```{side-note} Note C's <letter>
**Note C** cites {footcite:p}`few`.
```

| a table |
|---|
| {footcite:p}`unread` |

## Sources

Listed below {footcite:p}`few,many,unread`.

```{footbibliography}
```
"""
ASIDES, CITED = "details.side-note", ".bd-article .cited"
# Sections as they are once a reader has come near them, without transitions between two sizes of the window.
LAID_OUT = """<style>.bd-article section section { content-visibility: visible !important; contain: layout paint }
* { transition: none !important }</style>"""
# Whether notes lie on each other or on the text, and which gaps of more than 150 pixels they leave before a section.
LAYOUT = """
const box = (element) => element.getBoundingClientRect(), notes = [...document.querySelectorAll(".side-note")];
const meet = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1;
const text = [...document.querySelectorAll(".bd-article :is(p, li, h2, h3, figure, table, pre, .math)")]
  .filter((part) => !part.closest(".side-note, .katex"));
const found = notes.flatMap((note, k) => [...notes.slice(k + 1), ...text].filter((other) => meet(box(note), box(other)))
  .map((other) => `${note.textContent.slice(0, 40)} | ${other.textContent.slice(0, 40)}`));
for (const section of document.querySelectorAll("section section + section")) {
  const gap = box(section).top - box(section.previousElementSibling).bottom;
  if (gap > 150) found.push(`${Math.round(gap)} pixels before ${section.id}`);
}
return found;
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("notes")
    sources = SOURCES + "@misc{unread, author = {E, E.}, title = {Unread}}"
    write_site(folder, CONF, {"index.md": PAGE, "references.bib": sources})
    return (build_site(folder)[0] / "index.html").read_text()


def test_a_source_is_beside_its_first_citation_in_the_text_and_after_the_punctuation(page):
    notes = re.findall(r'</a>(.?)<span class="side-note cited">(.*?), 2014</span>|cited">(.*?)</span>', page)
    texts = [re.sub(r"<[^>]*>", "", first or only) for _, first, only in notes]
    assert texts == ["[1] van Merriënboer and Bengio: On BLEU scores", "[2] A and others: Many"]
    assert notes[0][0] == "."
    assert '<a class="reference external" href="https://example.org/few">On BLEU scores</a>, 2014' in page


def test_an_aside_folds_without_a_script_and_cites_by_number_alone(page):
    aside = re.search(r'<details class="side-note"><summary>(.*?)</summary>(.*?)</details>', page, re.S)
    assert aside
    assert aside[1] == "Note C’s &lt;letter&gt;"
    assert "<strong>Note C</strong> cites" in aside[2]
    assert "cited" not in aside[2]


def test_a_search_finds_asides_but_no_copies_of_sources():
    nodes = import_extension("side_notes").nodes
    copy, aside = nodes.inline(classes=["side-note", "cited"]), import_extension("side_notes").AsideNode(title="A")
    copy += nodes.Text("Neural machine translation")
    aside += nodes.paragraph("", "Note C")
    assert section_search.visible_text(nodes.paragraph("", "", nodes.Text("text"), copy)) == "text"
    assert section_search.visible_text(aside) == "Note C"


WIDE = [1200, 1280, 1920]


@pytest.fixture(scope="module")
def margins(browser, address, site):  # noqa: F811
    """``{(page, width): (how many notes it has, what is wrong with them)}``, each page opened once."""
    margins = {}
    for path in all_pages(site):
        page = path.relative_to(site)
        if "side-note" not in path.read_text(encoding="utf-8"):
            continue
        resize(browser, WIDE[0])
        open_page(browser, f"{address}/{page}")
        browser.execute_script("document.head.insertAdjacentHTML('beforeend', arguments[0])", LAID_OUT)
        for width in WIDE:
            resize(browser, width)
            draw_anew(browser)
            notes = len(browser.find_elements(By.CSS_SELECTOR, f"{ASIDES}, {CITED}"))
            hidden = notes - len(seen(browser, f"{ASIDES}, {CITED}"))
            margins[str(page), width] = notes, browser.execute_script(LAYOUT) + [f"{hidden} hidden"] * bool(hidden)
    return margins


@pytest.mark.e2e
@pytest.mark.parametrize("width", WIDE)
def test_in_the_margin_every_note_is_seen_on_nothing_else_and_without_holes_in_the_text(margins, width):
    there = {page: margin for (page, wide), margin in margins.items() if wide == width}
    assert sum(notes for notes, _ in there.values()) > 60
    assert {page: found for page, (_, found) in there.items() if found} == {}


def resize(browser, width):  # noqa: F811
    shape = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", shape)


@pytest.mark.e2e
@pytest.mark.parametrize("width", WIDE)
def test_beside_notes_the_contents_stay_in_a_column_that_no_note_needs(browser, address, width):  # noqa: F811
    resize(browser, width)
    open_page(browser, f"{address}/book/context.html")
    browser.execute_script("document.querySelector('.cited').scrollIntoView({block: 'center'})")
    until(browser, lambda: seen(browser, ".cited"))
    (entry, *_), (note, *_) = seen(browser, "nav.page-toc a"), seen(browser, ".cited")
    assert len(browser.find_elements(By.CSS_SELECTOR, "nav.page-toc")) == 1
    if width < 1600:
        assert entry.rect["x"] + entry.rect["width"] < browser.find_element(By.TAG_NAME, "article").rect["x"]
        (chapter,) = seen(browser, ".bd-sidenav li.active > a.current")
        assert chapter.rect["y"] < entry.rect["y"] < chapter.rect["y"] + 60
        assert chapter.rect["x"] < entry.rect["x"]
    else:
        assert entry.rect["x"] > note.rect["x"] + note.rect["width"]
    resize(browser, 1280)
    until(browser, lambda: seen(browser, ".bd-sidebar-primary nav.page-toc a"))
    open_page(browser, f"{address}/book/for_contributors.html")  # far down in the menu
    box = "document.querySelector('nav.page-toc a').getBoundingClientRect()"
    until(browser, lambda: browser.execute_script(f"return {box}.bottom < innerHeight"))


@pytest.mark.e2e
@pytest.mark.parametrize("width", [1280, 1920])
def test_nothing_shifts_when_the_script_that_places_the_contents_comes_late(browser, address, site, width):  # noqa: F811
    resize(browser, width)
    browser.execute_cdp_cmd("Network.setBlockedURLs", {"urls": ["*contents.js*"]})
    try:
        open_page(browser, f"{address}/book/context.html")
    finally:
        browser.execute_cdp_cmd("Network.setBlockedURLs", {"urls": []})
    shift = """const [script, done] = arguments;
      new PerformanceObserver((list) => done(list.getEntries().reduce((sum, one) => sum + one.value, 0)))
        .observe({type: "layout-shift"});
      eval(script);
      setTimeout(done, 1000, 0);"""
    script = (site / "_static" / "contents.js").read_text(encoding="utf-8")
    assert browser.execute_async_script(shift, script) <= 0.01
    assert seen(browser, "nav.page-toc a")


@pytest.mark.e2e
@pytest.mark.parametrize("width", [375, 768])
def test_without_a_margin_a_citation_opens_in_place_and_an_aside_unfolds(browser, address, width):  # noqa: F811
    size(browser, width)
    open_page(browser, f"{address}/book/scoring.html")
    lay_out_all(browser)
    assert not seen(browser, CITED)
    for opened in (True, False):
        browser.execute_script("document.querySelector('.footnote-reference').focus()")
        browser.switch_to.active_element.send_keys("\n")
        assert len(seen(browser, CITED)) == opened
        assert browser.switch_to.active_element.get_attribute("aria-expanded") == str(opened).lower()
        assert "#" not in browser.current_url
    assert not seen(browser, f"{ASIDES} p")
    browser.find_element(By.CSS_SELECTOR, f"{ASIDES} summary").send_keys("\n")
    assert len(seen(browser, f"{ASIDES} p")) == 1


@pytest.mark.e2e
def test_without_scripts_a_citation_leads_to_the_list_and_an_aside_still_unfolds(address, tmp_path):  # noqa: F811
    with chromium(tmp_path, preferences={"profile.managed_default_content_settings.javascript": 2}) as plain:
        for width in (375, 1280):
            size(plain, width)
            plain.get(f"{address}/book/encoder.html")
            number, aside = (plain.find_element(By.CSS_SELECTOR, what) for what in (".footnote-reference", ASIDES))
            assert plain.find_element(By.CSS_SELECTOR, CITED).is_displayed() == (width == 1280)
            if width == 375:
                aside.find_element(By.CSS_SELECTOR, "summary").send_keys("\n")
            assert aside.find_element(By.CSS_SELECTOR, "p").rect["height"] > 0, width
            number.send_keys("\n")
            assert plain.current_url.partition("#")[2].startswith("footcite-"), width


@pytest.mark.e2e
def test_on_paper_asides_are_in_the_text_and_sources_in_the_list_alone(browser, address):  # noqa: F811
    size(browser, 768)
    open_page(browser, f"{address}/book/encoder.html")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        assert seen(browser, f"{ASIDES} p")
        assert not seen(browser, f"{CITED}, {ASIDES} summary")
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
