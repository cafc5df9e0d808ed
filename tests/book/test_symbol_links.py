"""Symbols are explained where they occur, by pointer, finger or keyboard, in the words of the page on notation."""

import pytest
from bs4 import BeautifulSoup
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from autograder.paths import ROOT
from tests.book.small_site import build_site, write_site
from tests.book.test_axe import AXE, findings
from tests.book.test_browser import browser, open_page, seen, serving, size, until  # noqa: F401

pytestmark = pytest.mark.e2e

CONF = f"""
extensions = ["myst_nb", "katex_prerender", "symbol_links", "lean_theme"]
html_theme = "sphinx_book_theme"
html_context = {{"default_mode": "auto"}}
html_theme_options = {{"navbar_persistent": []}}
html_math_renderer = "katex"
html_static_path = [{str(ROOT / "book" / "_static")!r}]
html_css_files = ["course.css"]
myst_enable_extensions = ["dollarmath"]
nb_execution_mode = "off"
"""
INDEX = "# Book\n\nA page with $s$.\n\n```{toctree}\nbook/notation\nbook/scoring\n```\n"
NOTATION = r"""# Notation

## Sizes

| letter | what it counts |
|---|---|
| $n$ | numbers in a state $s_i$ |
| $T_x, T_y$ | words of a sentence |

## Symbols and code

| symbol | code | meaning | shape in code |
|---|---|---|---|
| $s_{i-1}$ | `query` | state before | (batch, query_size) |
| $U_a h_j$ | `projected_keys` | a product | (batch, source_len) |

## Every letter

| letter | what it stands for | shape | where |
|---|---|---|---|
| $i$, $j$ | target step, source position | | everywhere |
| $n$, $T_x$ | the sizes above | | everywhere |
| $s$, $h$ | decoder state, annotation | $n$, $m$ | everywhere |
| $W_a$, $U_a$ | matrices | $a \times n$, $a \times m$ | [scoring](scoring.md), [softmax](https://example.org/softmax.html) |
| $e$ | score | one number | everywhere but [scoring](scoring.md) |
| $k$ | not here | | [softmax](https://example.org/softmax.html) |

| page | letter | what it stands for there |
|---|---|---|
| [scoring](scoring.md) | $e$, $p$ | something special |
| [softmax](https://example.org/softmax.html) | $q$ | not here |

| note | letters that only this note uses, or uses differently |
|---|---|
| D | $W_a$, $z$ |
"""
SCORING = r"""# Scoring

A page about $e_{ij}$.

## First

$$\hat s_{i-1} + W_a h_{T_x} = e^{p} q$$

```{note}
Also $U_a$ here.
```

### Within

In note D, $W_a z_1$.

#### Deeper

As before, $z_1 = W_a$.

## Plain

No formula.
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("symbols")
    write_site(folder, CONF, {"index.md": INDEX, "book/notation.md": NOTATION, "book/scoring.md": SCORING})
    return build_site(folder)[0]


@pytest.fixture(scope="module")
def chapter(built):
    with serving(built) as server:
        yield f"http://127.0.0.1:{server.server_port}/book/scoring.html"


@pytest.fixture
def page(browser, chapter):  # noqa: F811
    size(browser, 1280)
    open_page(browser, chapter)
    return browser


def note(browser):  # noqa: F811
    """Return ``{symbol as read aloud: its explanation}`` of the note that is shown."""
    return browser.execute_script(
        """
        const signs = [...document.querySelectorAll(".symbols-note:popover-open dt")];
        const plain = (cell) => {
          const copy = cell.cloneNode(true);
          copy.querySelectorAll(".math").forEach((formula) => formula.replaceWith(formula.querySelector("math").textContent));
          return copy.textContent;
        };
        return Object.fromEntries(signs.map((sign) => [plain(sign), plain(sign.nextElementSibling)]));
        """
    )


def letter(browser, read, name):  # noqa: F811
    """Return the element of a letter in the first formula that reads aloud as ``read`` and more."""
    return browser.execute_script(
        """
        const [read, name] = arguments;
        const formulas = [...document.querySelectorAll("article .math")];
        const formula = formulas.find((each) => each.querySelector("math").textContent.startsWith(read));
        return [...formula.querySelectorAll(".katex-html .mathnormal")].find((each) => each.textContent === name);
        """,
        read,
        name,
    )


def test_each_section_with_formulas_has_one_link_for_itself_and_its_subsections_to_the_page_on_notation(built):
    def links(name):
        page = BeautifulSoup((built / f"{name}.html").read_text(encoding="utf-8"), "html.parser")
        return {link.find_parent("section")["id"]: (link.text, link["href"]) for link in page.select(".symbols-of a")}

    assert links("book/scoring") == {"first": ("Symbols of First", "notation.html#every-letter")}
    assert links("book/notation") == links("index") == {}
    assert "symbols.js" in (built / "book" / "scoring.html").read_text(encoding="utf-8")
    assert "symbols.js" not in (built / "index.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("key", [Keys.ENTER, Keys.SPACE])
def test_the_keyboard_reads_all_symbols_of_a_section_and_comes_back(page, key):
    width = "return document.querySelector('#first .symbols-of').getBoundingClientRect().width"
    assert page.execute_script(width) <= 1  # seen only where the keyboard is
    page.execute_script("document.querySelector('#first .symbols-of a').focus()")
    assert page.execute_script(width) > 40
    ActionChains(page).send_keys(key).perform()
    until(page, lambda: note(page))
    assert note(page) == {
        "s": "decoder state, annotation; shape n; in code query, (batch, query_size)",
        "Wa": "matrices; shape a×n",
        "h": "decoder state, annotation; shape m",
        "Tx,Ty": "words of a sentence",
        "e": "something special",
        "p": "something special",
        "Ua": "matrices; shape a×m",
        "z": "in note D a letter of its own",
    }
    assert page.execute_script("return document.activeElement.className") == "symbols-note"
    link = "document.querySelector('#first .symbols-of a')"
    assert page.execute_script(f"return {link}.getAttribute('aria-expanded')") == "true"
    ActionChains(page).send_keys(Keys.ESCAPE).perform()
    until(page, lambda: page.execute_script(f"return document.activeElement === {link}"))
    assert note(page) == {}
    until(page, lambda: page.execute_script(f"return {link}.getAttribute('aria-expanded')") == "false")


def test_a_pointer_that_rests_on_a_symbol_reads_what_it_is_and_may_go_on_to_it(page):
    ActionChains(page).move_to_element(letter(page, "s^", "W")).perform()
    until(page, lambda: note(page))
    assert note(page) == {"Wa": "matrices; shape a×n"}
    ActionChains(page).move_to_element(page.find_element("css selector", ".symbols-note dd")).pause(0.6).perform()
    assert note(page)
    ActionChains(page).move_to_element(page.find_element("css selector", "article h1")).perform()
    until(page, lambda: not note(page))


@pytest.mark.parametrize(
    ("read", "name", "expected"),
    [
        ("s^", "i", "s"),  # an index belongs to its base
        ("s^", "T", "Tx,Ty"),
        ("s^", "p", "p"),  # a power does not
        ("Ua", "a", "Ua"),
    ],
)
def test_a_tap_reads_the_symbol_that_it_meets(page, read, name, expected):
    letter(page, read, name).click()
    until(page, lambda: note(page))
    assert [*note(page)] == [expected]


@pytest.mark.parametrize("name", ["i", "T"])
def test_an_index_can_be_tapped_from_its_top_to_its_foot(page, name):
    met = page.execute_script(
        """const letter = arguments[0], {left, top, width, height} = letter.getBoundingClientRect();
        const at = (part) => document.elementFromPoint(left + width / 2, top + part * height);
        return [0.1, 0.3, 0.5, 0.7, 0.9].map((part) => at(part) === letter)""",
        letter(page, "s^", name),
    )
    assert all(met), met


def test_a_letter_of_another_page_is_not_explained(page):
    letter(page, "s^", "q").click()
    letter(page, "s^", "h").click()
    until(page, lambda: note(page))
    assert [*note(page)] == ["h"]


def test_where_a_page_speaks_of_a_note_its_own_letters_are_named(page):
    letter(page, "Wa", "W").click()
    until(page, lambda: note(page))
    assert note(page) == {"Wa": "matrices; shape a×n; in note D a letter of its own"}
    letter(page, "Wa", "z").click()
    until(page, lambda: "z" in note(page))
    assert note(page) == {"z": "in note D a letter of its own"}


def test_the_link_leads_to_notation_where_that_cannot_be_fetched(page):
    page.execute_script("window.fetch = () => Promise.reject(new TypeError('no network'))")
    page.execute_script("document.querySelector('#first .symbols-of a').click()")
    until(page, lambda: page.current_url.endswith("/book/notation.html#every-letter"))


def test_a_letter_that_a_page_explains_has_the_notes_of_its_own_section_alone_and_another_those_around_it(page):
    letter(page, "z1=", "W").click()
    until(page, lambda: note(page))
    assert note(page) == {"Wa": "matrices; shape a×n"}
    letter(page, "z1=", "z").click()
    until(page, lambda: "z" in note(page))
    assert note(page) == {"z": "in note D a letter of its own"}


def test_a_list_that_was_opened_by_its_link_stays_while_the_pointer_moves_over_the_page(page):
    page.execute_script("document.querySelector('#first .symbols-of a').click()")
    until(page, lambda: note(page))
    shown = note(page)
    assert len(shown) == 8
    for place in (page.find_element("css selector", "article h1"), letter(page, "s^", "h")):
        ActionChains(page).move_to_element(place).pause(0.6).perform()
        assert note(page) == shown


def test_where_a_note_has_no_room_above_its_letter_it_begins_below_it(page):
    page.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": 1280, "height": 100, "deviceScaleFactor": 1, "mobile": False}
    )
    of_letter = letter(page, "s^", "h")
    page.execute_script("scrollBy(0, arguments[0].getBoundingClientRect().top - 40)", of_letter)
    of_letter.click()
    until(page, lambda: note(page))
    box = "return (arguments[0] ?? document.querySelector('.symbols-note')).getBoundingClientRect().toJSON()"
    above, shown = page.execute_script(box, of_letter), page.execute_script(box, None)
    assert above["top"] < shown["height"] + 6  # no room above it
    assert above["bottom"] + 6 + shown["height"] > 100  # nor below
    assert shown["top"] == pytest.approx(above["bottom"] + 6, abs=1)


@pytest.mark.parametrize("width", [375, 1280])
def test_the_note_lies_within_the_window_and_axe_finds_nothing_amiss_in_it(page, width):
    size(page, width)
    page.execute_script("document.querySelector('#first .symbols-of a').click()")
    until(page, lambda: note(page))
    assert seen(page, ".symbols-note")
    page.execute_script(AXE.read_text(encoding="utf-8"))
    page.execute_script("document.querySelectorAll('.math').forEach((formula) => formula.replaceWith('x'))")
    assert [each for each in findings(page) if "theme-switch" not in each[2]] == []  # a button that has no icons here
