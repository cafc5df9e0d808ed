"""The words of the running example, *reason with logic*, keep their colours in formulas and above heat maps."""

import re

import pytest
from selenium.webdriver.common.by import By

from autograder.paths import ROOT
from tests.book.test_browser import COLOURED, address, browser, open_page, server, size, until  # noqa: F401

COLOURS = {"blue": "reason", "orange": "with", "green": "logic"}
FORMULAS = re.compile(r"\\textcolor\{(\w+)\}\{(?:\\textit\{(\w+)\}|[eh]_\{?1?([123])\}?|[\d.]+(?: \\cdot [\d.]+)?)\}")


def test_a_coloured_part_of_a_formula_belongs_to_the_word_of_that_colour():
    coloured, words = {}, list(COLOURS.values())
    for path in (ROOT / "book").glob("*.md"):
        text = path.read_text(encoding="utf-8")
        found = FORMULAS.findall(text)
        assert len(found) == text.count("color{"), path
        if found:
            coloured[path.stem] = {colour for colour, *_ in found}
        for colour, word, place in found:
            assert (word or (words[int(place) - 1] if place else COLOURS[colour])) == COLOURS[colour], path
    assert coloured == {page: set(COLOURS) for page in COLOURED}


@pytest.mark.e2e
def test_forced_colours_prevail_in_formulas(browser, address):  # noqa: F811
    open_page(browser, f"{address}/book/context.html")
    features = [{"name": "forced-colors", "value": "active"}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    try:
        read = """return [document.body, ...document.querySelectorAll(".katex-html [style*='color:']")]
            .map((part) => getComputedStyle(part).color)"""
        plain, *coloured = browser.execute_script(read)
        assert set(coloured) == {plain}
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


@pytest.mark.e2e
def test_the_capstones_heat_map_has_the_colours_above_its_columns(browser, address):  # noqa: F811
    size(browser, 1280)
    open_page(browser, f"{address}/book/capstone.html")
    element = browser.find_element(By.TAG_NAME, "capstone-figure")
    browser.execute_script("arguments[0].scrollIntoView()", element)
    read = """return [...arguments[0].querySelectorAll(".view thead th")]
        .map((one) => [one.textContent, getComputedStyle(one).color])"""
    heads = until(browser, lambda: browser.execute_script(read, element))
    assert [word for word, _ in heads] == ["written", "reason", "with", "logic", "prob."]
    assert len({colour for _, colour in heads[1:4]} - {heads[0][1]}) == 3
