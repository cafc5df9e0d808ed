"""The search finds sections by words and symbols, ignores code, and shows results without TeX."""

import json
import re
import tomllib

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from autograder.paths import ROOT
from tests.book.small_site import build_site, write_site
from tests.book.test_axe import AXE, findings, hold_still
from tests.book.test_browser import browser, open_page, requests, seen, serving, size, tap, until  # noqa: F401

pytestmark = pytest.mark.e2e

CONF = f"""
extensions = ["myst_nb", "sphinx_exercise", "sphinx_copybutton", "quiz", "section_search", "lean_theme"]
html_theme = "sphinx_book_theme"
html_context = {{"default_mode": "auto"}}
html_theme_options = {{"navbar_persistent": []}}
html_math_renderer = "katex"
html_static_path = [{str(ROOT / "book" / "_static")!r}]
myst_enable_extensions = ["dollarmath", "tasklist"]
nb_execution_mode = "off"
"""
INDEX = """# Book

A beginning.

```{toctree}
book/notation
book/softmax
```

```{toctree}
:caption: For instructors and contributors
book/guide
```
"""
GUIDE = "# A guide\n\n## Feeding\n\nZebras and quokkas eat grass.\n"
NOTATION = r"""# Notation

| symbol | code | meaning |
|---|---|---|
| $s_{i-1}$ | `query` | decoder state |
| $h_1, \dots, h_{T_x}$ | `keys` | annotations |
| $U_a h_j$ | `projected_keys` | after their matrix |
| $\alpha_{ij}$ | `weights` | they add to 1 |
"""
SOFTMAX = r"""# From scores to a mixture

Opening words with `literal_name`.

## Its formula

The mixture has $\alpha_{ij} = \frac{e^{e_{ij}}}{\sum_k e^{e_{ik}}}$ in it, and

$$
\hat y = W_{query} s_{i-1} \in \mathbb{R}^n
$$

## In Python

```{index} striped horse, wisdom
```

```python
hidden_in_code = 1
```

A sentence about zebras & <b>bold</b> animals.\
Owls.

(a-1)=
**A-1 · An entry** (line 3)

A wrong statement about giraffes.

```{self-check}
Which animal?

- right: an okapi

  Because secretly.

- wrong: a mole

  No.
```

## Exercises

```{exercise} Ten numbers
:label: softmax-ten

Divide by elephants, then by the WER.
```
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("search")
    write_site(
        folder,
        CONF,
        {"index.md": INDEX, "book/notation.md": NOTATION, "book/softmax.md": SOFTMAX, "book/guide.md": GUIDE},
    )
    return build_site(folder)[0]


@pytest.fixture(scope="module")
def index(built):
    text = (built / "search-sections.js").read_text(encoding="utf-8")
    return json.loads(re.search("^searchSections=(.*);$", text, flags=re.MULTILINE)[1])


@pytest.fixture(scope="module")
def place(built):
    with serving(built) as server:
        yield f"http://127.0.0.1:{server.server_port}"


@pytest.fixture
def asked(browser, place):  # noqa: F811
    """Return a function that types a query into the search dialog of a page and returns the results."""
    size(browser, 1280)
    open_page(browser, f"{place}/index.html")
    requests(browser)
    tap(browser, "button.search-button__button")
    (field,) = until(browser, lambda: seen(browser, "dialog input[type=search]"))

    def asked(query):
        field.clear()
        field.send_keys(query)
        until(browser, lambda: browser.execute_script(f"{FOUND} return status.textContent") != "")
        return browser.execute_script(
            f"{FOUND} return links.map((link) => new URL(link.href).hash || link.textContent)"
        )

    return asked


FOUND = """
const status = document.querySelector("dialog [role=status]"), links = [...document.querySelectorAll("dialog li a")];
"""


def test_the_index_has_sections_entries_and_exercises_with_their_anchors(index):
    (sections,) = [parts for name, parts in index["pages"] if name == "book/softmax"]
    assert [(anchor, heading) for anchor, heading, *_ in sections] == [
        ("", "From scores to a mixture"),
        ("its-formula", "Its formula"),
        ("in-python", "In Python"),
        ("a-1", "A-1 · An entry"),
        ("exercises", "Exercises"),
        ("softmax-ten", "Exercise 1 (Ten numbers)"),
    ]


def test_code_lists_of_pages_and_reasons_are_left_out_and_names_in_a_text_stay(index):
    text = json.dumps(index)
    assert "hidden_in_code" not in text
    assert "secretly" not in text
    assert dict(index["pages"])["index"] == [["", "Book", "A beginning.", 1.0, ""]]
    assert "okapi" in text
    assert "literal_name" in text


def test_formulas_are_lines_without_tex(index):
    marks = str.maketrans("\ue000\ue001\ue002\ue003", "_^.|")
    text = dict(index["pages"])["book/softmax"][1][2].translate(marks)
    assert text == "The mixture has α_ij. = (e^e_ij..)/(∑_k. e^e_ik..) in it, and |ŷ = W_query. s_i−1. ∈ R^n.|"


def test_notation_says_what_is_one_under_two_names(index):
    assert index["names"] == {"alpha": "α"}
    assert index["synonyms"][-3:] == [["query", "s"], ["keys", "h"], ["weights", "α"]]


def test_index_entries_belong_to_their_own_section(index):
    terms = {heading: terms for _, parts in index["pages"] for _, heading, _, _, terms in parts if terms}
    assert terms == {"In Python": "striped horse; wisdom", "Exercise 1 (Ten numbers)": "ten"}


def test_the_published_library_carries_its_licence(built):
    text = (built / "search-sections.js").read_text(encoding="utf-8")
    assert (ROOT / "node_modules" / "minisearch" / "LICENSE.txt").read_text(encoding="utf-8").strip() in text


def test_a_letter_is_found_by_its_sign_its_name_and_its_word(asked):
    for query in ("alpha", "α", r"\alpha_{ij}", "alpha_ij", "Weights"):
        assert "#its-formula" in asked(query), query


def test_a_result_leads_to_its_section_and_shows_the_words_around(asked, browser):  # noqa: F811
    assert asked("zebra") == ["#in-python"]
    page, entry = seen(browser, "dialog li")
    assert page.text == "From scores to a mixture"
    assert entry.text.splitlines() == ["In Python", "A sentence about zebras & bold animals. Owls."]
    assert [mark.text for mark in seen(browser, "dialog mark")] == ["zebras"]
    tap(browser, "dialog li a")
    until(browser, lambda: browser.current_url.endswith("/book/softmax.html#in-python"))


def test_all_words_of_a_query_count_and_a_better_place_comes_first(asked):
    assert asked("giraffes") == ["#a-1"]
    assert asked("okapi giraffes") == ["#a-1"]
    assert asked("elephants") == ["#softmax-ten"]
    assert asked("formula mixture")[0] == "#its-formula"
    assert asked("hippopotamus") == []


def test_a_section_is_found_by_its_index_entries_with_a_typo_and_by_the_stems_of_words(asked):
    for query in ("striped horses", "wisdmo", "a hore with stripes", "animals in python"):
        assert asked(query)[:1] == ["#in-python"], query


def test_a_synonym_of_three_words_is_one_phrase(asked):
    assert "#softmax-ten" in asked("the word error rate")
    assert "#softmax-ten" not in asked("word rate")


def test_a_search_whose_index_could_not_be_fetched_fetches_it_when_the_query_changes(asked, browser):  # noqa: F811
    browser.execute_cdp_cmd("Network.enable", {})
    browser.execute_cdp_cmd("Network.setBlockedURLs", {"urls": ["*search-sections.js*"]})
    try:
        open_page(browser, browser.current_url)
        tap(browser, "button.search-button__button")
        (field,) = until(browser, lambda: seen(browser, "dialog input[type=search]"))
        field.send_keys("zeb")
        told = f"{FOUND} return status.textContent"
        until(browser, lambda: browser.execute_script(told) == "The index of the search could not be fetched.")
    finally:
        browser.execute_cdp_cmd("Network.setBlockedURLs", {"urls": []})
    field.send_keys("ra")
    until(browser, lambda: browser.execute_script(told) == "1 place found")


def test_an_excerpt_has_subscripts_and_no_tex(asked, browser):  # noqa: F811
    asked("mixture alpha")
    text = browser.execute_script("return document.querySelector('dialog li:has([href$=formula]) p').innerHTML")
    assert text.startswith("The <mark>mixture</mark> has <mark>α<sub>ij</sub></mark> = (e<sup>e<sub>ij</sub></sup>)/")


def test_an_excerpt_is_of_sentences_and_a_page_that_matches_heads_its_sections(asked, browser):  # noqa: F811
    asked("query mixture")
    items = [item.text.splitlines() for item in seen(browser, "dialog li")]
    page = next(place for place, item in enumerate(items) if item[0] == "From scores to a mixture")
    assert items[page : page + 2] == [
        ["From scores to a mixture"],
        ["Its formula", items[page + 1][1]],
    ]
    assert items[page + 1][1].startswith("The mixture has")
    assert "ŷ" not in items[page + 1][1]


def test_the_index_is_fetched_when_a_search_begins(place, browser):  # noqa: F811
    size(browser, 1280)
    requests(browser)
    open_page(browser, f"{place}/index.html")
    assert not [url for url in requests(browser) if "sections" in url]
    tap(browser, "button.search-button__button")
    until(browser, lambda: [url for url in requests(browser) if url == f"{place}/search-sections.js"])


def test_arrows_lead_to_the_results_and_a_place_on_the_same_page_is_seen(asked, browser):  # noqa: F811
    asked("beginning")

    def press(key):
        ActionChains(browser).send_keys(key).perform()
        return browser.execute_script("return document.activeElement.tagName")

    assert [press(key) for key in (Keys.ARROW_DOWN, Keys.ARROW_UP, Keys.ARROW_UP, Keys.ARROW_DOWN)] == [
        *("A", "INPUT", "INPUT", "A")
    ]
    press(Keys.ENTER)
    until(browser, lambda: not seen(browser, "dialog"))


def test_axe_finds_nothing_amiss_in_what_is_found(asked, browser, place):  # noqa: F811
    program = AXE.read_text(encoding="utf-8")
    assert asked("alpha")
    for page in (None, f"{place}/search.html?q=alpha"):
        if page:
            open_page(browser, page)
            until(browser, lambda: seen(browser, "#search-results a"))
        browser.execute_script(program)
        hold_still(browser)
        for mode in ("light", "dark"):
            browser.execute_script("document.documentElement.dataset.theme = arguments[0]", mode)
            amiss = findings(browser)
            assert [each for each in amiss if "theme-switch" not in each[2]] == []  # a button that has no icons here


def test_the_number_of_results_is_told(asked, browser):  # noqa: F811
    for query, message in (("zebra", "1 place found"), ("hippopotamus", "No places found")):
        asked(query)
        until(browser, lambda message=message: browser.execute_script(f"{FOUND} return status.textContent") == message)


def test_the_guides_have_a_search_of_their_own_and_each_search_leads_to_the_other(asked, browser, place):  # noqa: F811
    def result_of(selector):
        links = until(browser, lambda: seen(browser, f"{selector} a"))
        return [link.get_attribute("href").removeprefix(f"{place}/") for link in links], links

    asked("zebra")
    hrefs, links = result_of("dialog .found-sections")
    assert hrefs == ["book/softmax.html#in-python", "search.html?q=zebra&in=guides"]
    assert links[1].text == "1 place in the guides for instructors and contributors"
    assert asked("quokka") == []
    until(browser, lambda: seen(browser, "dialog .other-search a"))
    assert asked("giraffes") == ["#a-1"]
    assert not seen(browser, "dialog .other-search")

    open_page(browser, f"{place}/book/guide.html")
    tap(browser, "button.search-button__button")
    (field,) = until(browser, lambda: seen(browser, "dialog input[type=search]"))
    field.send_keys("zebra")
    assert result_of("dialog .found-sections")[0] == ["book/guide.html#feeding", "search.html?q=zebra"]
    field.send_keys(Keys.ENTER)
    until(browser, lambda: browser.current_url == f"{place}/search.html?q=zebra&in=guides")
    hrefs, links = result_of("#search-results")
    assert hrefs == ["book/guide.html#feeding", "search.html?q=zebra"]
    assert links[1].text == "1 place in the book"
    links[1].click()
    until(browser, lambda: browser.current_url == f"{place}/search.html?q=zebra")
    assert result_of("#search-results")[0][0] == "book/softmax.html#in-python"


def test_the_page_of_results_answers_the_address_and_what_is_typed_there(place, browser):  # noqa: F811
    open_page(browser, f"{place}/search.html?q=zebra")
    (link,) = until(browser, lambda: seen(browser, "#search-results li a"))
    assert link.get_attribute("href") == f"{place}/book/softmax.html#in-python"
    (field,) = seen(browser, "main input[type=search]")
    field.clear()
    field.send_keys("elephants")
    hashes = "return [...document.querySelectorAll('#search-results a')].map((link) => link.hash).join()"
    until(browser, lambda: browser.execute_script(hashes) == "#softmax-ten")
    text = browser.execute_script("return [...document.scripts].map((script) => script.src).join()")
    assert "searchtools" not in text
    assert "searchindex" not in text


def test_a_page_that_is_not_read_anew_stays_in_the_index(built):
    folder = built.parents[1]
    page = folder / "source" / "book" / "softmax.md"
    page.write_text(SOFTMAX.replace("zebras", "quaggas"), encoding="utf-8")
    text = (build_site(folder)[0] / "search-sections.js").read_text(encoding="utf-8")
    assert "quaggas" in text
    assert "zebras" not in text
    assert "they add to 1" in text


def test_a_formula_that_cannot_be_set_is_a_warning_and_the_other_pages_are_built(tmp_path):
    write_site(tmp_path, CONF, {"index.md": "# A page\n\nA slip: $\\frac{$.\n", "book/notation.md": NOTATION})
    site, warnings = build_site(tmp_path, strict=False)
    assert warnings.count("index.md:3: WARNING") == 1
    assert (site / "search-sections.js").is_file()


def rank_of(results, wanted):
    """Return the rank of the first wanted section in ``results``, counted from 1; 0 if the results contain no such section."""
    for place, (page, heading) in enumerate(results, 1):
        page, heading = page.rpartition("/")[2], _plain(heading)
        names = {f"{page}#{heading}"}
        if re.match(r"Exercise \d", heading):
            names.add(f"{page}#Exercises")
        if page == "errata" and re.match(r"[A-E]-\d", heading):
            names.add(f"errata#Errors in note {heading[0]}")
        if names & set(wanted):
            return place
    return 0


def _plain(heading):
    return " ".join(re.sub(r"[`*$\\]", "", heading.replace("’", "'")).split())


def test_readers_find_the_section_that_they_want(browser, site):  # noqa: F811
    queries = tomllib.loads((ROOT / "tests/book/search_queries.toml").read_text(encoding="utf-8"))["query"]
    with serving(site) as server:
        open_page(browser, f"http://127.0.0.1:{server.server_port}/search.html?q=score")
        until(browser, lambda: browser.execute_script("return globalThis.courseSearch !== undefined"))
        pages_and_results = browser.execute_script(
            """const pages = searchSections.pages.flatMap(([page, parts]) => parts.map(([, heading]) => [page, heading]));
            const search = ([query, page]) => courseSearch.search(query, courseSearch.guides.includes(`book/${page}`))
                .results.slice(0, 10).map(({ page, heading }) => [page, heading]);
            return [pages, arguments[0].map(search)]""",
            [(query["text"], query["wanted"][0].partition("#")[0]) for query in queries],
        )
    pages, results = pages_and_results
    for query in queries:  # fails if a heading changes and its labels do not
        assert rank_of(pages, [_plain(name) for name in query["wanted"]]), query
    ranks = [
        rank_of(rows, [_plain(name) for name in query["wanted"]]) for query, rows in zip(queries, results, strict=True)
    ]
    first = ranks.count(1) / len(ranks)
    print(f"{len(ranks)} queries: right section first {first:.0%}")
    assert first >= 0.85
    assert [query["text"] for query, rank in zip(queries, ranks, strict=True) if not 0 < rank <= 3] == []
