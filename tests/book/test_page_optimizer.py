"""Finished pages are repaired and made light: they look the same, take fewer bytes, and load little at first."""

import json
import re
import subprocess

import nbformat
import pytest
from bs4 import BeautifulSoup
from fontTools.ttLib import TTFont
from selectolax.lexbor import LexborHTMLParser

from autograder.formulas import NODE
from tests.book.small_site import build_site, import_extension, write_site

page_optimizer = import_extension("page_optimizer")
lean_theme = import_extension("lean_theme")

CONF = """
extensions = ["myst_nb", "sphinx_design", "sphinx_exercise", "sphinx_copybutton", "sphinx_togglebutton", "katex_prerender"]
extensions += ["lean_theme"]
myst_enable_extensions = ["dollarmath"]
html_theme = "sphinx_book_theme"
html_context = {"default_mode": "auto"}
html_math_renderer = "katex"
nb_execution_mode = "off"
"""
PYTHON = {"language_info": {"name": "python", "pygments_lexer": "python"}}
EXERCISES = nbformat.v4.new_markdown_cell("# Notebook\n\n" + "\n\n".join(f"```{{exercise}}\n{n}\n```" for n in "ab"))
FOLDED = nbformat.v4.new_code_cell("x = 1", metadata={"tags": ["hide-input"]})
PAGES = {
    "index.md": "# Plain\n\nText, nothing else.\n\n```{toctree}\ncard\nchapter\ntoggle\nnotebook\ndeep/formulas\n```\n",
    "chapter.md": "# Chapter\n\n## Exercises\n\nThe first one.\n",
    "toggle.md": "# Toggle\n\n```{admonition} Title\n:class: dropdown\nIts text\n```\n",
    "card.md": "# Card\n\n```{card} A title\nIts text\n```\n\n```python\nx = 1\n```\n",
    "notebook.ipynb": nbformat.writes(nbformat.v4.new_notebook(cells=[EXERCISES, FOLDED], metadata=PYTHON)),
    "deep/formulas.md": r"""# Formulas

It is $\frac{e_j}{\sqrt{d}}$.

```python
def scores(x):
    # two
    #   lines

    return x + "a" * 2
```
""",
}
LIGHT = 'html[data-theme="light"] .highlight { background: #fff; color: #000 }\n'
DARK = 'html[data-theme="dark"] .highlight { background: #000; color: #fff }\n'
MODES = ("light", "dark")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("optimized")
    write_site(folder, CONF, PAGES)
    build_site(folder)
    return folder


@pytest.fixture(scope="module")
def site(folder):
    return folder / "_build" / "html"


@pytest.fixture(scope="module")
def unfixed(tmp_path_factory):
    """A notebook's page as Sphinx and the theme write it."""
    folder = tmp_path_factory.mktemp("unfixed")
    write_site(folder, CONF.replace('"lean_theme"', ""), {"index.ipynb": PAGES["notebook.ipynb"]})
    return (build_site(folder)[0] / "index.html").read_text(encoding="utf-8")


def read(site, page):
    return (site / page).read_text(encoding="utf-8")


def head(site, page):
    return BeautifulSoup(read(site, page), "html.parser").head


@pytest.fixture(scope="module")
def formulas(site):
    return BeautifulSoup(read(site, "deep/formulas.html"), "html.parser")


def test_each_fix_still_finds_what_it_fixes(unfixed, site):
    assert len(page_optimizer.A11Y_FIXES) == 2
    for selector in page_optimizer.A11Y_FIXES:
        assert LexborHTMLParser(unfixed).css(selector), selector
        assert not LexborHTMLParser(read(site, "notebook.html")).css(selector), selector


def test_each_change_of_the_themes_script_still_finds_what_it_changes(site):
    name = f"scripts/{lean_theme.THEME_SCRIPT}"
    text, changed = read(page_optimizer.THEME_STATIC, name), read(site, f"_static/{name}")
    for old, new in lean_theme.TAB_STOPS.items():
        assert (text.count(old), changed.count(new)) == (1, 1), old


def test_what_unfolds_code_goes_by_the_words_that_are_seen(site):
    (summary,) = re.findall(r"<summary.*?</summary>", read(site, "notebook.html"), flags=re.DOTALL)
    assert re.findall("<([^ >]*)", summary) == ["summary", "span", "/span", "span", "/span", "/summary"]
    assert "aria-label" not in summary
    assert re.findall(">([^<]+)<", summary) == ["Show code cell source", "Hide code cell source"]


def test_the_field_that_searches_goes_by_the_words_that_are_seen(site):
    fields = BeautifulSoup(read(site, "notebook.html"), "html.parser").select("button.search-button-field")
    assert fields
    for field in fields:
        assert not field.has_attr("aria-label")
        assert field.text.split() == ["Search"]
        assert "theme-switch-button" in field.find_next_sibling("button")["class"]


def test_the_name_of_the_book_stands_in_a_landmark(site):
    (bar,) = BeautifulSoup(read(site, "notebook.html"), "html.parser").select("#pst-primary-sidebar")
    assert (bar["role"], bool(bar["aria-label"])) == ("complementary", True)


def test_each_length_of_a_formula_is_a_class_that_has_a_rule(site, formulas):
    sheet = read(site, "_static/katex/katex.css")
    drawn = formulas.select(".katex-html *")
    lengths = {name for each in drawn for name in each.get("class", []) if re.fullmatch(r"[A-Z]-?\d+", name)}
    assert len(lengths) > 8
    for name in lengths:
        declared = re.findall(rf"\.katex \.{name}\{{([^}}]*)\}}", sheet)
        assert len(declared) == 1
        assert float(re.search(r":(-?[\d.]+)em", declared[0])[1]) == int(name[1:]) / 100
        assert f".{name}{{" in read(site, "_static/book.css")
    assert not [each["style"] for each in drawn if re.search(r"\dem", each.get("style", ""))]


@pytest.mark.parametrize(("length", "name"), [("0.2778", "28"), ("0.2749", "27"), ("-0.2778", "-28"), ("1", "100")])
def test_the_length_of_a_formula_is_rounded_to_the_nearest_hundredth(length, name):
    tree = LexborHTMLParser(f'<span class="katex-html"><span style="height:{length}em;color:red"></span></span>')
    letter = page_optimizer.LENGTH_CLASSES["height"]
    assert page_optimizer.lighten(tree, set()) == {(letter, int(name))}
    assert tree.css_first(".katex-html span").attributes == {"class": f"{letter}{name}", "style": "color:red"}


def test_the_end_of_a_stack_of_indices_is_of_the_style(site, formulas):
    assert formulas.select(".katex-html .vlist-t2")
    assert not formulas.select(".vlist-s")
    sheet = read(site, "_static/katex/katex.css")
    assert '.vlist-t2>.vlist-r:first-child::after{content:"\\200b";display:table-cell' in sheet


def test_code_keeps_its_letters_and_its_lines_and_the_marks_that_have_a_colour(formulas):
    code = formulas.select_one(".highlight pre")
    assert code.text == 'def scores(x):\n    # two\n    #   lines\n\n    return x + "a" * 2\n'
    assert {mark["class"][0] for mark in code.select("span[class]")} == {"k", "nf", "c1", "s2", "mi"}


def test_what_has_the_colour_of_the_rest_in_one_mode_only_stays_marked():
    marks = [
        f'html[data-theme="{mode}"] .highlight .{mark} {{ color: {colour} }} /* A name */\n'
        for mark, colours in {"p": ("#000", "#fff"), "k": ("#000", "#abc"), "n": ("#000", "#fff")}.items()
        for mode, colour in zip(MODES, colours, strict=True)
    ]
    bold = 'html[data-theme="light"] .highlight .gs { color: #000; font-weight: bold }\n'
    unmarked = page_optimizer.find_unmarked_tokens("".join([LIGHT, DARK, *marks, bold]))
    assert unmarked == {"p", "n", page_optimizer.OPERATOR}


@pytest.mark.parametrize(
    ("written", "light"),
    [
        ('<pre><span class="n">x</span><span class="k">if</span></pre>', '<pre>x<span class="k">if</span></pre>'),
        ('<p><span class="n">x</span></p>', '<p><span class="n">x</span></p>'),
    ],
)
def test_only_code_loses_marks(written, light):
    tree = LexborHTMLParser(written)
    page_optimizer.lighten(tree, {"n"})
    assert tree.body.inner_html == light


@pytest.mark.parametrize(
    ("written", "light"),
    [
        ("<p>\n    One\n\n    two</p>", "<p>\nOne\ntwo</p>"),
        ("<p>a  b</p>", "<p>a  b</p>"),
        ("<pre>  a\n\n  b</pre>\n\n  <b>", "<pre>  a\n\n  b</pre>\n<b>"),
        ("<script>\n  a\n\n</script><textarea>\n\n</textarea>", "<script>\n  a\n\n</script><textarea>\n\n</textarea>"),
        ("<td>\n  <b>1</b>\n  <i>2</i>\n  </td>\n  <td>", "<td>\n<b>1</b>\n<i>2</i></td><td>"),
        ("<head><!-- a remark --><title></head><!-- a mark -->", "<head><title></head><!-- a mark -->"),
        ('<svg><path d="M0"></path></svg>', '<svg><path d="M0"/></svg>'),
        ("<svg><g><text>a</text></g><g></g></svg>", "<svg><g><text>a</text></g><g/></svg>"),
    ],
)
def test_of_a_page_only_space_that_nobody_sees_is_left_out(written, light):
    assert page_optimizer.collapse_space(written) == light
    assert page_optimizer.collapse_space(light) == light


def test_a_long_line_of_code_knows_its_indent_and_nothing_else_changes():
    short, long = '    <span class="k">return</span> 100', "    x = [" + "&lt;" * 31 + "]"
    assert len(short) > page_optimizer.LONG_LINE
    marked_up = f'<span class="w">  </span><span class="k">return</span> {"x" * 40}'
    page = f'<p>{"a" * 99}</p><div class="highlight"><pre><span></span>{short}\n{long}\n{marked_up}\n</pre></div><pre>{long}</pre>'
    marked = page_optimizer.hang_long_lines(page)
    expected = page
    for line, indent in ((long, 4), (marked_up, 2)):
        may_break = line.replace("[&lt;", "[<wbr>&lt;")
        expected = expected.replace(
            f"{line}\n", f'<span class="long-line" style="--indent:{indent}ch">{may_break}</span>\n'
        )
    assert marked == expected
    assert BeautifulSoup(marked, "html.parser").text == BeautifulSoup(page, "html.parser").text  # what is copied


@pytest.mark.parametrize(
    ("line", "breaks"),
    [
        ("hidden = torch.tanh(self.W_query(query).unsqueeze(1))", "torch.tanh(|self.W_query(|query).unsqueeze(|1))"),
        ('some = [1,<span class="s">"a",&quot;</span>,*all_that_is_too_long]', '[|1,|"a",|",*all_that_is_too_long]'),
        ("short_words(a) or short_words(b) or short_words(c)", "short_words(b)"),
    ],
)
def test_a_long_word_of_code_may_break_after_a_bracket_a_comma_or_an_equals_sign(line, breaks):
    page = f'<div class="highlight"><pre>{line}</pre></div>'
    marked = BeautifulSoup(page_optimizer.hang_long_lines(page).replace("<wbr>", "|"), "html.parser").text
    assert breaks in marked
    assert marked.replace("|", "") == BeautifulSoup(page, "html.parser").text


def test_a_section_that_is_laid_out_late_states_about_how_high_it_will_be():
    text, code = f"<p>{'1234 ' * 200}</p>", "<pre>" + "x\n" * 9 + "</pre>"
    folded = f"<details><summary>More</summary>{code}</details>"
    late = f"<section>{text}<section>{text}</section><section>{folded}</section><section>{code}</section></section>"
    tree = LexborHTMLParser(
        f'<div class="bd-article"><section><h1>A</h1><section>{text}</section>{late}</section></div>'
    )
    page_optimizer.estimate_heights(tree)
    stated = [section.attrs.get("style") for section in tree.css("section")]
    # 1000 letters are about 13 lines, of 30 pixels, and the space around them; 16 pixels are a rem
    assert stated == [None, None, "--rem:78", "--rem:32", "--rem:0", "--rem:14"]


def test_a_page_asks_early_for_the_typeface_and_for_the_fonts_of_formulas_if_it_has_any_and_they_are_there(site):
    preloads = {page: head(site, page).select('link[rel="preload"]') for page in ("index.html", "deep/formulas.html")}
    names = [[link["href"].partition("?")[0].rpartition("/")[2] for link in links] for links in preloads.values()]
    formulas = ["KaTeX_Main-Regular.woff2", "KaTeX_Math-Italic.woff2"]
    text = ["STIXTwoText-normal.woff2", "STIXTwoText-italic.woff2"]
    assert names == [text, [*text, *formulas]]
    sheet = read(site, "_static/book.css")
    for link in preloads["deep/formulas.html"]:
        address = link["href"].removeprefix("../_static/")
        assert (site / "_static" / address.partition("?")[0]).is_file()
        assert (link["as"], link["type"]) == ("font", "font/woff2")
        assert link.has_attr("crossorigin")  # otherwise the browser requests it twice
        assert address in sheet


@pytest.mark.parametrize("page", ["index.html", "deep/formulas.html"])
def test_no_script_keeps_the_text_waiting_and_what_the_options_say_stands_before_they_change(site, page):
    scripts = head(site, page).select("script")
    waited_for = [each["src"] for each in scripts if each.has_attr("src") and not {"defer", "async"} & set(each.attrs)]
    assert waited_for == []
    assert sum(each.has_attr("src") for each in scripts) > 0
    texts = [each.get_text() for each in scripts]
    (stated,) = (n for n, text in enumerate(texts) if re.search(r"const DOCUMENTATION_OPTIONS\s*=", text))
    assert stated < min(n for n, text in enumerate(texts) if "DOCUMENTATION_OPTIONS." in text)


def test_a_page_has_its_colours_before_any_script_of_the_theme_runs(site):
    text = read(site, "index.html")
    assert BeautifulSoup(text, "html.parser").html["data-theme"] == "light"  # for browsers without scripts
    assert "prefers-color-scheme: dark" in text[: text.index("</head>")]
    assert '"auto";' not in text.replace('getItem("mode") || "auto";', "")  # nor does the theme decide again afterwards


@pytest.mark.parametrize("night", [True, False])
@pytest.mark.parametrize("chosen", [None, "light", "dark", "auto"])
def test_a_page_has_the_colours_that_its_reader_chose_and_else_those_of_the_machine(site, chosen, night):
    (script,) = (each.get_text() for each in head(site, "index.html").select("script") if "matchMedia" in each.text)
    program = f"""
        const document = {{documentElement: {{dataset: {{}}}}}};
        const localStorage = {{getItem: (name) => name === "mode" ? {json.dumps(chosen)} : null}};
        const matchMedia = () => ({{matches: {json.dumps(night)}}});
        {script}
        console.log(document.documentElement.dataset.theme);
    """
    done = subprocess.run([NODE, "-e", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == (chosen if chosen in ("light", "dark") else "dark" if night else "light")


def test_the_pages_ask_for_one_file_of_styles_that_has_all_of_theirs_in_their_order(site):
    for page in ("index.html", "deep/formulas.html"):
        sheets = [link["href"] for link in head(site, page).select('link[rel="stylesheet"]')]
        assert len(sheets) == 1
        path, _, version = sheets[0].partition("?v=")
        assert (site / page).parent.joinpath(path).resolve() == (site / "_static" / "book.css").resolve()
        assert re.fullmatch(r"\w{12}", version)
    sheet = read(site, "_static/book.css")
    names = re.match(r"/\*! (.*) \*/\n", sheet)[1].split()
    assert {"basic.css", "pygments.css", "katex/katex.css", "copybutton.css"} <= set(names)
    assert names.index("basic.css") < names.index("styles/pydata-sphinx-theme.css") < names.index("katex/katex.css")
    assert "content-visibility" in sheet
    assert re.search(r"contain-intrinsic-size:\s*auto", sheet)  # or a page would jump when a reader scrolls back up
    for address in re.findall(r"url\([\"']?(?!data:)([^\"')?]+)", sheet):
        assert (site / "_static" / address).is_file(), address


def test_the_font_of_icons_has_those_that_are_drawn_and_few_others(site):
    letters = TTFont(site / "_static" / "styles" / "icons.woff2").getBestCmap()
    drawn = re.findall(r'\.fa-[\w-]+:before\{content:"(?:\\([0-9a-f]+)|(.))"', read(site, "_static/book.css"))
    assert len(drawn) > 8
    assert {int(code, 16) if code else ord(letter) for code, letter in drawn} <= set(letters)
    assert {0xF303, 0xF107} <= set(letters)  # the pencil of an exercise, the arrow of "on this page"
    assert len(letters) < 50
    assert (site / "_static" / "styles" / "icons.woff2").stat().st_size < 10_000


def asked(site, page):
    return {address.partition("?")[0] for address in re.findall(r'(?:src|href)="(_static[^"]*)"', read(site, page))}


def test_a_page_asks_for_what_it_holds_and_no_page_for_fontawesome_or_the_index_of_the_search(site):
    plain, card = asked(site, "index.html"), asked(site, "card.html")
    assert plain < card
    assert {address.rpartition("/")[2] for address in card - plain} >= {
        "design-tabs.js",
        "copybutton.js",
        "clipboard.min.js",
    }
    for page in ("index.html", "card.html"):
        assert not re.search(r"fontawesome|(searchindex|searchtools|doctools|sphinx_highlight)\.js", read(site, page))
    assert "searchindex.js" in read(site, "search.html")


def test_a_script_that_is_not_asked_for_is_not_told_anything(site):
    texts = [read(site, page) for page in ("index.html", "toggle.html")]
    assert ["togglebuttonSelector" in text for text in texts] == [False, True]


def test_a_page_says_its_title_once_as_a_heading(site):
    for page in ("card.html", "chapter.html"):
        assert len(re.findall(r"<h1\b", read(site, page))) == 1


def test_only_a_page_with_exercises_has_a_link_that_skips_to_them(site):
    skips = {page: read(site, f"{page}.html").count('<a href="#exercises">Skip') for page in ("card", "chapter")}
    assert skips == {"card": 0, "chapter": 1}


def test_what_a_page_asks_for_is_there(site):
    for page in ("index.html", "card.html", "search.html"):
        for address in asked(site, page):
            assert (site / address).is_file(), (page, address)
    assert not (site / "_static" / "vendor" / "fontawesome").exists()


def test_where_one_page_has_changed_all_are_as_in_a_website_that_is_built_anew(site, folder, tmp_path):
    (folder / "source" / "card.md").write_text("# Card\n\nIt is $y$.\n", encoding="utf-8")
    build_site(folder)
    write_site(tmp_path, CONF, PAGES | {"card.md": "# Card\n\nIt is $y$.\n"})
    anew, _ = build_site(tmp_path)
    for path in [*anew.glob("*.html"), anew / "deep" / "formulas.html", anew / "_static" / "book.css"]:
        assert read(site, path.relative_to(anew)) == path.read_text(encoding="utf-8"), path.name


def test_numbers_in_the_menu_are_elements_of_their_own():
    links = '<a href="a.html">1 Encoder &amp; more</a>', '<a href="b.html">The whole model</a>'
    tree = LexborHTMLParser(f'<ul class="bd-sidenav"><li>{"</li><li>".join(links)}</li></ul>')
    page_optimizer.hang_numbers(tree)
    numbered, other = (link.html for link in tree.css("a"))
    assert numbered == '<a href="a.html"><span class="chapter-number">1</span> Encoder &amp; more</a>'
    assert other == links[1]
