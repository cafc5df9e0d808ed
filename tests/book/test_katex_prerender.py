"""The extension typesets formulas when the site is built: in text, tables and outputs, with numbers and links."""

import re

import nbformat
import pytest
from bs4 import BeautifulSoup
from sphinx.errors import ExtensionError

from autograder import formulas
from tests.book.small_site import build_site, write_site

CONF = """
extensions = ["myst_nb", "katex_prerender"]
html_math_renderer = "katex"
myst_enable_extensions = ["dollarmath", "amsmath"]
nb_execution_mode = "off"
nb_render_markdown_format = "myst"
"""
PAGE = r"""# Scores of $h_j$

In a line $a < b$, and displayed:

$$
e_{ij} = v_a^\top \tanh(W_a s_{i-1} + U_a h_j)
$$ (score)

As {eq}`score` says, $\alpha_{ij} \geq 0$.

```{math}
:label: sum

\sum_j \alpha_{ij} = 1 \\
0 \leq \alpha_{ij}
```

\begin{align}
a &= b \\
c &= d
\end{align}

| letter | shape |
|---|---|
| $W_a$ | $a \times n$ |
"""


@pytest.fixture
def build(tmp_path):
    """Return a function that builds a book from the given pages and returns the website's folder and the warnings."""

    def build(**pages):
        write_site(tmp_path, CONF, {name.replace("_", "."): text for name, text in pages.items()})
        return build_site(tmp_path, strict=False)

    return build


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("formulas")
    write_site(folder, CONF, {"index.md": PAGE})
    site, warnings = build_site(folder)
    assert warnings == ""
    return BeautifulSoup((site / "index.html").read_text(encoding="utf-8"), "html.parser")


def spoken(element):
    """Return the formulas within ``element`` as a screen reader reads them."""
    return [each.text for each in element.select("math")]


def test_formulas_of_text_and_tables_are_typeset_and_no_script_is_asked_for(page):
    article = page.select_one("div.body")
    assert spoken(article)[:2] == ["hj", "a<b"]
    assert spoken(article.select_one("table")) == ["Wa", "a×n"]
    assert len(article.select(".math > .katex, .math > .katex-display")) == len(article.select(".math")) == 8
    assert not [each for each in page.select("script") if "MathJax" in str(each) or "katex" in str(each)]
    assert [each["href"].partition("?")[0] for each in page.select("link[href*=katex]")] == ["_static/katex/katex.css"]


def test_displayed_formulas_keep_their_lines(page):
    lines, aligned = page.select("div.math")[1:]
    assert len(lines.select(".katex-newline")) == 1
    assert len(aligned.select("mtr")) == 2


def test_an_equation_has_its_number_and_what_refers_to_it_leads_there(page):
    link = page.select_one("a.reference[href^='#equation']")
    assert link.text == "(1)"
    equation = page.select_one(f"div.math[id='{link['href'][1:]}']")
    assert equation.select_one(".eqno").text.startswith("(1)")
    assert spoken(equation)[0].startswith("eij=")
    assert page.select("div.math .eqno")[1].text.startswith("(2)")


def test_what_a_cell_puts_out_as_markdown_or_latex_is_typeset(build):
    python = {"language_info": {"name": "python", "pygments_lexer": "python"}}
    cell = nbformat.v4.new_code_cell("shown()", execution_count=1)
    data = [{"text/markdown": "so $c_i$"}, {"text/latex": r"$\displaystyle \alpha_{i1}$"}]
    cell.outputs = [nbformat.v4.new_output("display_data", data=each) for each in data]
    site, warnings = build(index_ipynb=nbformat.writes(nbformat.v4.new_notebook(cells=[cell], metadata=python)))
    assert warnings == ""
    page = BeautifulSoup((site / "index.html").read_text(encoding="utf-8"), "html.parser")
    assert spoken(page) == ["ci", "αi1"]


def test_a_formula_that_cannot_be_set_is_a_warning_with_file_and_line(build):
    _, warnings = build(index_md="# Wrong\n\nRight: $a$.\n\nWrong: $\\scoer$.\n\n$$\n{a\n$$\n")
    first, second = re.findall(r"index\.md:(\d+): WARNING: (.*)", warnings)
    assert (first[0], second[0]) == ("5", "7")
    assert r"\scoer" in first[1]
    assert "Expected '}'" in second[1]


def test_the_site_has_the_fonts_that_its_style_asks_for_and_no_other(build):
    site, _ = build(index_md="# Empty\n")
    folder = site / "_static" / "katex"
    addresses = re.findall(r"url\(([^)]*)\)", (folder / "katex.css").read_text(encoding="utf-8"))
    assert {folder / each for each in addresses} == set(folder.glob("fonts/*"))


def test_without_katex_the_build_refuses_and_names_the_remedy(build, tmp_path, monkeypatch):
    monkeypatch.setattr(formulas, "KATEX", tmp_path / "none")
    with pytest.raises(ExtensionError, match="npm ci"):
        build(index_md="# Empty\n")


def test_equations_side_by_side_are_set_each_by_itself(build):
    vector = r"\begin{pmatrix} 1 \\ 0 \end{pmatrix}"
    together = r"a = (1, \quad 2), \quad f = \begin{cases} 1, \quad x > 0 \\ 0, \quad x < 0 \end{cases}"
    boxed = r"\boxed{a = 1, \quad b = 2}"
    formulas = [f"h_1 = {vector}, \\quad\nh_2 = {vector}\n$$", *(f"{tex}\n$$" for tex in (together, boxed))]
    formulas.append("a, \\quad b\n$$ (both)")
    site, warnings = build(index_md="\n\n".join(["# Page", *(f"$$\n{tex}" for tex in formulas)]))
    assert not warnings
    blocks = BeautifulSoup((site / "index.html").read_text(encoding="utf-8"), "html.parser").select("div.math")
    assert [len(block.select(".katex-display")) for block in blocks] == [2, 1, 1, 1]
    assert ["side-by-side" in block["class"] for block in blocks] == [True, False, False, False]
    signs = ["".join(part.select_one(".katex-html").text.split())[:4] for part in blocks[0].select(".katex-display")]
    assert [sign[:2] for sign in signs] == ["h1", "h2"], signs
