"""Pictures: how matplotlib's figures become SVG, and how the extension puts them into a page."""

import importlib
import re

import matplotlib.pyplot as plt
import nbformat
import numpy as np
import pytest

from autograder.paths import ROOT
from tests.book.small_site import build_site, write_site

CONF = """
extensions = ["myst_nb", "sphinx_exercise", "chapters", "inline_svg"]
nb_execution_mode = "off"
"""
NAMES = ("notes", "encoder", "scoring")
WORDS = "A line that rises from left to right."
STYLES = (ROOT / "book" / "_static" / "figures.css").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def pictures():
    """The module as a page imports it, and its style for the duration of the file."""
    with pytest.MonkeyPatch.context() as patch, plt.rc_context():
        patch.syspath_prepend(ROOT / "book")
        module = importlib.import_module("figures.pictures")
        module.use_style()
        yield module


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def parts_of(svg):
    return dict(re.findall(r'<svg class="(\w+)"(.*?)</svg>', svg, flags=re.DOTALL))


def texts_of(part):
    return [re.sub(r"<[^>]+>|\u200b", "", text) for text in re.findall(r"<text.*?</text>", part)]


def test_panels_stand_beside_each_other_in_a_column_and_below_each_other_on_a_phone(pictures):
    figure, panels = plt.subplots(1, 2, figsize=(9.4, 3), sharey=True)
    for panel, name in zip(panels, ("first", "second"), strict=True):
        panel.plot([0, 1], [0, 1])
        panel.set(title=name, yticks=[0, 1], yticklabels=["low", "high"])
    parts = parts_of(pictures.as_svg(figure))
    assert list(parts) == ["wide", "narrow"]
    places = {}
    for name, part in parts.items():
        titles = re.findall(r'x="([\d.]+)" y="([\d.]+)"[^>]*>(first|second)<', part)
        places[name] = {title: (float(x), float(y)) for x, y, title in titles}
        assert texts_of(part).count("high") == (1 if name == "wide" else 2)  # stacked panels each need their own
    assert places["wide"]["first"][1] == places["wide"]["second"][1]
    assert places["narrow"]["first"][0] == places["narrow"]["second"][0]
    assert places["narrow"]["first"][1] + 100 < places["narrow"]["second"][1]
    widths = {name: float(re.search(r'viewBox="0 -?\d+ (\d+) \d+"', part)[1]) for name, part in parts.items()}
    assert widths["narrow"] == pictures.PHONE
    assert widths["wide"] <= pictures.COLUMN


def test_a_figure_as_narrow_as_a_phone_is_drawn_once(pictures):
    figure, axes = plt.subplots(figsize=(4.7, 3))
    axes.plot([0, 1], [0, 1])
    assert list(parts_of(pictures.as_svg(figure))) == ["only"]


@pytest.mark.parametrize(("beyond", "names"), [(19, ["only"]), (20.5, ["wide", "narrow"])])
def test_a_picture_has_the_size_of_its_figure_and_two_drawings_if_it_is_much_wider_than_a_phone(
    pictures, beyond, names
):
    figure, axes = plt.subplots(figsize=((pictures.PHONE + beyond) / 72, 3))
    axes.plot([0, 1], [0, 1])
    drawn = pictures.as_svg(figure)
    assert list(parts_of(drawn)) == names
    width = round(pictures.PHONE + beyond)
    assert f'class="picture" width="{width}"' in drawn
    assert re.search(rf'viewBox="0 -?\d+ {width} \d+"', parts_of(drawn)[names[0]])


def test_every_colour_is_a_variable_of_the_page(pictures):
    figure, axes = plt.subplots()
    for name in ("INK", "MUTED", "LINE", "BLUE", "ORANGE", "GREEN", "PURPLE", "PAPER", "SURFACE"):
        axes.plot([0, 1], [0, 1], "o-", color=getattr(pictures, name), label=name)
    axes.legend()
    drawn = "".join(parts_of(pictures.as_svg(figure)).values())
    assert set(re.findall(r"(?:fill|stroke):([^;\"]*)", drawn)) == {
        "none",
        "currentcolor",
        *(f"var({name})" for name in pictures.VARIABLES.values()),
    }


@pytest.mark.parametrize("color", ["tab:blue", "black", "0.5"])
def test_a_colour_that_dark_mode_would_not_change_is_refused(pictures, color):
    figure, axes = plt.subplots()
    axes.plot([0, 1], [0, 1], color=color)
    with pytest.raises(ValueError, match="in dark mode"):
        pictures.as_svg(figure)


def test_a_hatch_is_refused(pictures):
    figure, axes = plt.subplots()
    axes.bar([0], [1], hatch="//")
    with pytest.raises(ValueError, match="hatch"):
        pictures.as_svg(figure)


@pytest.mark.parametrize("name", [f"--figure-{n}" for n in range(5)])
def test_a_word_can_be_read_in_each_colour_on_the_page_in_both_modes(name):
    for colour, ground in zip(re.findall(rf"{name}: (#\w+);", STYLES), ("#ffffff", "#121212"), strict=True):
        assert contrast(*colours(colour, ground)) >= 4.5


def test_the_colours_are_those_of_the_page_in_light_mode(pictures):
    light = dict(re.findall(r"(--[\w-]+): ([^;]+);", STYLES.partition("}")[0]))
    for colour, name in pictures.VARIABLES.items():
        if name.startswith("--figure"):
            assert light[name] == colour
    assert light["--turn"] == f"{pictures.WHITE_FROM:.0%}"


def luminance(colour):
    channels = np.array(colour) / 255
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return linear @ [0.2126, 0.7152, 0.0722]


def colours(*names):
    return [np.array([int(name[i : i + 2], 16) for i in (1, 3, 5)]) for name in names]


def contrast(*places):
    dark, bright = sorted(luminance(place) for place in places)
    return (bright + 0.05) / (dark + 0.05)


# the theme's background and text colour in each mode
@pytest.mark.parametrize(("number", "ground", "ink"), [(0, "#ffffff", "#222832"), (1, "#121212", "#ced6dd")])
def test_a_word_can_be_read_on_its_darkest_shade_and_a_number_on_every_cell_of_a_heat_map(number, ground, ink):
    blue, shade, turn, flip = (
        re.findall(rf"{name}: ([^;]+);", STYLES)[number] for name in ("--figure-1", "--shade", "--turn", "--flip")
    )
    ground, ink, blue = colours(ground, ink, blue)
    assert contrast(float(shade) * blue + (1 - float(shade)) * ground, ink) >= 4.5
    for weight in range(101):  # per cent
        lightness = min(max((weight - float(turn.rstrip("%"))) * float(flip), 0), 100)  # as .weight has it
        number = np.full(3, 2.55 * lightness)
        assert contrast(weight / 100 * blue + (1 - weight / 100) * ground, number) >= 4.5, weight


def test_a_heat_map_is_as_dark_as_its_weights_and_says_them(pictures):
    figure, axes = plt.subplots(figsize=(4.7, 3))
    pictures.heat_map(axes, [[0.25, 0.75], [1.0, 0.0]], ["तर्क", "के"], ["reason", "with"])
    (part,) = parts_of(pictures.as_svg(figure)).values()
    assert re.findall(r'<path [^>]*"fill:var\(--figure-1\)(?:;opacity:([\d.]+))?"', part) == ["0.25", "0.75", ""]
    numbers = dict(re.findall(r'<g class="weight" style="--w:(\d+)%"><text [^>]*>([^<]*)</text></g>', part))
    assert numbers == {"25": "0.25", "75": "0.75", "100": "1.00"}  # in the colour that the style sheet gives
    assert {"reason", "with", "तर्क", "के"} <= set(texts_of(part))
    assert "0.00" not in part
    assert part.count('<tspan lang="hi">') == 2
    assert "<title>" not in part


def test_the_words_of_the_running_example_keep_their_colours_above_a_heat_map(pictures):
    figure, axes = plt.subplots(figsize=(4.7, 3))
    pictures.heat_map(axes, [[0.25, 0.25, 0.25, 0.25]], ["reason"], ["reason", "tea", "with", "logic"])
    (part,) = parts_of(pictures.as_svg(figure)).values()
    above, beside = re.findall("<text .*?</text>", part)[:4], re.findall("<text .*?</text>", part)[4]
    coloured = [re.findall(r"fill:var\(--figure-(\d)\).*>(\w+)<", text) for text in above]
    assert coloured == [[("1", "reason")], [], [("2", "with")], [("3", "logic")]]
    assert "reason" in beside
    assert "fill" not in beside


def test_a_heat_map_without_numbers_still_says_a_weight_that_is_pointed_at(pictures):
    figure, axes = plt.subplots(figsize=(4.7, 3))
    pictures.heat_map(axes, [[0.125, 0.875]], ["N"], ["k", "n"], numbers=False)
    (part,) = parts_of(pictures.as_svg(figure)).values()
    assert re.findall("<title>(.*?)</title>", part) == ["0.12", "0.88"]
    assert set(texts_of(part)) == {"N", "k", "n"}


def test_formulas_in_a_picture_are_text_with_letters_and_indices(pictures):
    figure, axes = plt.subplots(figsize=(4.7, 3))
    axes.set(title=r"the sum $\sum_j \alpha_{ij}\,h_j$ < 1", xlabel="$r^2$")
    (part,) = parts_of(pictures.as_svg(figure)).values()
    assert "the sum ∑j αij\u2009hj &lt; 1" in texts_of(part)
    assert "r2" in texts_of(part)
    low = [float(size) for size in re.findall(r"<tspan dy=[^>]*font-size:([\d.]+)px", part)]
    assert len(low) == 4
    assert min(low) >= 11


def test_a_text_may_hold_several_formulas_and_an_exponent_is_raised_and_an_index_lowered(pictures):
    figure, axes = plt.subplots(figsize=(4, 3))
    axes.text(0.1, 0.5, "from $s_1$ to $x^2$", fontsize=12)
    (part,) = parts_of(pictures.as_svg(figure)).values()
    assert "from s1 to x2" in texts_of(part)
    (text,) = [text for text in re.findall(r"<text.*?</text>", part) if "from" in text]
    letters = [(letter, float(dy)) for dy, letter in re.findall(r'<tspan dy="([-\d.]+)"[^>]*>(\w)<', text)]
    assert letters == [("1", 3.0), ("2", -4.8)]


def test_no_element_is_found_by_an_id_of_another_picture(pictures):
    drawn = ""
    for end in (1, 2):
        figure, axes = plt.subplots()
        axes.plot([0, end], [0, 1], "o")
        drawn += pictures.as_svg(figure)
    ids, used = re.findall(r' id="([^"]+)"', drawn), re.findall(r' href="#([^"]+)"', drawn)
    assert len(ids) == len(set(ids))
    assert set(used) <= set(ids)


def test_a_line_goes_where_matplotlib_lets_it_go(pictures):
    rng = np.random.default_rng(0)
    walk = rng.normal(size=(200, 2)).cumsum(axis=0)
    figure, axes = plt.subplots(figsize=(4.7, 3))
    (line,) = axes.plot(*walk.T, color=pictures.PURPLE)
    line.get_path().should_simplify = False
    (part,) = parts_of(pictures.as_svg(figure)).values()
    (drawn,) = (path for path in re.findall(r'<path d="([^"]+)" style="([^"]+)"', part) if "--figure-4" in path[1])
    start, steps = (np.array(re.findall(r"-?[\d.]+", each), dtype=float) for each in drawn[0].split("l"))
    points = np.vstack([start, start + steps.reshape(-1, 2).cumsum(axis=0)])
    wanted = line.get_transform().transform(walk)
    wanted[:, 1] = 3 * 72 - wanted[:, 1]
    np.testing.assert_allclose(points, wanted, rtol=0, atol=0.051)


@pytest.mark.parametrize(
    ("written", "short"),
    [
        ("M 1.04 2 L 3 2 L 3 -4.25 z ", "M1 2l2 0 0-6.2z"),
        ("M 1 1 Q 2 1 2 2 Q 2 3 3 3 ", "M1 1q1 0 1 1 0 1 1 1"),
        ("M 10 0 C 11 0 12 1 12 2 L 12 5 z M 5 5 L 6 6 ", "M10 0c1 0 2 1 2 2l0 3zM5 5l1 1"),
        ("M 1 1 L 5 1 z L 2 2 ", "M1 1l4 0zl1 1"),  # it restarts where the path was closed
    ],
)
def test_an_outline_is_written_in_steps(pictures, written, short):
    assert pictures._compact_path(written, pictures.TENTH_PIXELS) == short


def test_bars_and_marks_stand_on_half_pixels_and_curves_where_they_are(pictures):
    figure, axes = plt.subplots(figsize=(4.7, 3))
    axes.set(xticks=[], yticks=[], xlim=(0, 1), ylim=(0, 1))
    axes.bar(0.513, 0.377, 0.123, color=pictures.ORANGE)
    axes.plot([0.137, 0.891], [0.331, 0.633], "o-", color=pictures.PURPLE)
    (part,) = parts_of(pictures.as_svg(figure)).values()
    bar, line = (re.search(rf'<path d="([^"]+)" style="[^"]*--figure-{n}', part)[1] for n in (2, 4))
    marks = re.findall(r'<use [^>]*x="([\d.]+)" y="([\d.]+)"', part)
    assert len(marks) == 2
    assert all(float(number) % 0.5 == 0 for number in [*re.findall(r"[\d.]+", bar), *sum(marks, ())])
    assert any(float(number) % 0.5 for number in re.findall(r"[\d.]+", line))


def test_marks_that_lie_upon_each_other_are_drawn_once(pictures):
    figure, axes = plt.subplots(figsize=(4.7, 3))
    axes.set(xticks=[], yticks=[])
    axes.plot([0, 1, 1, 1, 2], [0, 1, 1, 1, 0], "o")
    assert parts_of(pictures.as_svg(figure))["only"].count("<use ") == 3
    axes.plot([0, 0], [1, 1], "s", alpha=0.5)  # two overlapping marks are darker than one
    assert parts_of(pictures.as_svg(figure))["only"].count("<use ") == 5


def test_a_text_says_only_what_is_unlike_others(pictures):
    figure, axes = plt.subplots(figsize=(4.7, 3))
    axes.text(0, 0.5, "left", fontsize=13)
    axes.text(0, 0.9, "usual", fontsize=13, ha="center")
    axes.text(0.5, 0.5, "turned", rotation=90, color=pictures.BLUE)
    (part,) = parts_of(pictures.as_svg(figure)).values()
    left, turned = (re.search(rf"<text([^>]*)>{word}<", part)[1] for word in ("left", "turned"))
    assert re.fullmatch(r' x="\d+" y="\d+" style="text-anchor:start"', left)
    assert re.search(r'<text x="\d+" y="\d+">usual<', part)
    assert re.search(r'rotate\(-90[^"]*\)" style="[^"]*fill:var\(--figure-1\)', turned)


def draw_with_links():
    _, axes = plt.subplots(figsize=(4.7, 3))
    axes.plot([0, 1], [0, 1])
    axes.text(0.5, 0.5, "scores $e_{ij}$", url="scoring.html")
    axes.add_patch(plt.Rectangle((0.2, 0.2), 0.6, 0.6, facecolor="none", url="scoring.html"))
    axes.text(0.5, 0.1, "context", url="context.html#by-hand")
    return plt.gcf()


def test_what_has_one_address_is_one_link_named_by_its_text(pictures):
    (part,) = parts_of(pictures.as_svg(draw_with_links())).values()
    body, links = part.split("</g><a ", 1)
    assert '<g class="drawn">' in body
    assert "scores" not in body
    found = re.findall(r'<a href="([^"]+)">(.*?)</a>', "<a " + links)
    assert [(address, texts_of(inner), inner.count("<path ")) for address, inner in found] == [
        ("scoring.html", ["scores eij"], 1),
        ("context.html#by-hand", ["context"], 0),
    ]


def cell(svg, **metadata):
    code_cell = nbformat.v4.new_code_cell("draw()", execution_count=1, metadata={"mystnb": metadata})
    code_cell.outputs = [nbformat.v4.new_output("display_data", data={"image/svg+xml": svg})]
    return code_cell


def notebook(*cells):
    python = {"language_info": {"name": "python", "pygments_lexer": "python"}}
    return nbformat.writes(nbformat.v4.new_notebook(cells=list(cells), metadata=python))


@pytest.fixture(scope="module")
def drawn(pictures):
    figure, axes = plt.subplots()
    axes.plot([0, 1], [0, 1])
    return pictures.as_svg(figure)


def test_a_picture_stands_in_its_page_with_its_words_and_is_numbered_by_chapter(tmp_path, drawn):
    head = nbformat.v4.new_markdown_cell("# A page\n\nSee {numref}`second`.")
    first_cell, second_cell = (
        cell(drawn, image={"alt": WORDS}, figure={"name": name, "caption": f"What *{name}* shows."})
        for name in ("first", "second")
    )
    index = "# Book\n\n```{toctree}\nnotes\nencoder\nscoring\n```\n"
    contents = "format: jb-book\nroot: book/index\nchapters:\n" + "".join(f"  - file: book/{name}\n" for name in NAMES)
    pages = {"_toc.yml": contents, "book/index.md": index}
    pages |= {f"book/{name}.ipynb": notebook(head, first_cell, second_cell) for name in NAMES}
    for name, first, second in (("notes", "third", "fourth"), ("encoder", "fifth", "sixth")):
        page = f"book/{name}.ipynb"
        pages[page] = pages[page].replace("first", first).replace("second", second)
    write_site(tmp_path, CONF + 'root_doc = "book/index"\n', pages)
    for _ in range(2):  # the second time nothing has changed
        site, _ = build_site(tmp_path)
        for name, wanted in {"notes": ["1", "2"], "encoder": ["1.1", "1.2"], "scoring": ["2.1", "2.2"]}.items():
            text = (site / "book" / f"{name}.html").read_text(encoding="utf-8")
            assert re.findall(r'<span class="caption-number">Figure ([\d.]+) </span>', text) == wanted
            assert f">Figure {wanted[1]}</span></a>" in text  # in the text that refers to the figure
            assert text.count(f'<div class="picture" role="img" aria-label="{WORDS}">') == 2
            assert text.count('<svg aria-hidden="true" class="wide"') == 2
            assert "<style>svg" not in text
            parts = re.findall(r'<div class="(picture|cell_input)', text)
            assert parts == ["picture", "cell_input"] * 2
            assert "<img" not in text
        assert not list((site / "_images").glob("*.svg")) if (site / "_images").exists() else True


@pytest.fixture(scope="module")
def built(tmp_path_factory, pictures, drawn):
    """The folder of a website with a page for each kind of picture, and the warnings of its build."""
    folder, heading = tmp_path_factory.mktemp("pictures"), nbformat.v4.new_markdown_cell("# A page")
    linked, moving = cell(pictures.as_svg(draw_with_links()), image={"alt": WORDS}), cell("")
    moving.outputs = [nbformat.v4.new_output("display_data", data={"text/html": '<div class="moving">It moves.</div>'})]
    cells = {"linked": linked, "moving": moving, "silent": cell(drawn)}
    pages = {f"{name}.ipynb": notebook(heading, each) for name, each in cells.items()}
    pages["missing.md"] = "# A page\n\n![A dot](gone.svg)\n\n![Another](https://example.org/a.svg)\n"
    pages["other.md"] = "# A page\n\n![A white dot](dot.svg)\n"
    pages["dot.svg"] = '<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"></svg>'
    pages["index.md"] = "# Book\n\n```{toctree}\nlinked\nmoving\nsilent\nmissing\nother\n```\n"
    write_site(folder, CONF, pages)
    return build_site(folder, strict=False)


def page_without_warnings(built, name):
    site, warnings = built
    assert f"/{name}." not in warnings
    return (site / f"{name}.html").read_text(encoding="utf-8")


def test_links_in_a_picture_are_beside_what_has_its_words(built):
    text = page_without_warnings(built, "linked")
    picture = re.search(r'<div class="picture">.*?</div>', text, flags=re.DOTALL)[0]
    assert "aria-hidden" not in picture
    image, links = picture.split("</g><a ", 1)
    assert f'<g role="img" aria-label="{WORDS}">' in image
    assert 'href="scoring.html"' in links


def test_the_code_of_a_moving_figure_stands_below_it(built):
    text = page_without_warnings(built, "moving")
    assert re.findall(r'<div class="(moving|cell_input)', text) == ["moving", "cell_input"]


def test_a_picture_without_words_is_a_warning(built):
    assert re.search(r"silent\.ipynb.*: a picture says nothing to those who cannot see it", built[1])


def test_a_picture_that_is_missing_is_a_warning_and_one_of_another_host_is_none(built):
    assert re.search(r"missing\.md.*: image file not readable: gone.svg", built[1])
    assert "example.org" not in built[1]


def test_a_picture_of_another_kind_stays_as_it_is(built):
    assert '<img alt="A white dot" src="_images/dot.svg"' in page_without_warnings(built, "other")
