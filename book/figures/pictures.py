"""The style of the book's pictures: matplotlib's figures as SVG that takes its colours and its font from the page.

In: figures that a page's cells draw in the colours named here. Out: SVG that contains each figure twice, for the width of a
column and for that of a phone, where panels are below each other. The extension ``inline_svg`` puts it into the page.
"""

import hashlib
import html
import io
import re
import tempfile
import warnings
import xml.etree.ElementTree as ET
from itertools import pairwise
from pathlib import Path

import matplotlib.pyplot as plt
from fontTools.ttLib import TTFont
from IPython import get_ipython
from matplotlib import font_manager
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec
from matplotlib.patches import Rectangle

INK, MUTED, LINE, SURFACE, PAPER = "#222832", "#48566b", "#d1d5da", "#f3f4f5", "#ffffff"
BLUE, ORANGE, GREEN, PURPLE = "#0067a8", "#b4530a", "#007a5a", "#8a4f9e"
SOURCE_COLOURS = {"reason": BLUE, "with": ORANGE, "logic": GREEN}  # the words of the running example, on every page
VARIABLES = {
    MUTED: "--figure-0",
    LINE: "--pst-color-border",
    SURFACE: "--pst-color-surface",
    PAPER: "--pst-color-background",
    BLUE: "--figure-1",
    ORANGE: "--figure-2",
    GREEN: "--figure-3",
    PURPLE: "--figure-4",
}
WHITE_FROM = 0.86  # weight: in light mode, white is readable on cells of a heat map from here on, and black before
HINDI = Path(__file__).parents[1] / "_static" / "fonts" / "noto-sans-devanagari-devanagari-400-normal.woff"
_FONT_FOLDER = tempfile.TemporaryDirectory()  # matplotlib reads the font from a file; removed when Python ends
COLUMN, PHONE = 680, 340  # pixels
MAX_PANEL_HEIGHT = 340  # pixels: the greatest height of a panel on a phone
WHOLE_PIXELS, HALF_PIXELS, TENTH_PIXELS = (
    10,
    5,
    1,
)  # tenths of a pixel: steps to which texts, marks and bars, and all else are rounded

STYLE = {
    "figure.dpi": 72,  # so that a point is a pixel
    "savefig.dpi": 72,
    "figure.figsize": (COLUMN / 72, 320 / 72),
    "figure.facecolor": "none",
    "figure.constrained_layout.use": True,
    "figure.constrained_layout.h_pad": 0.1,  # inches
    "figure.constrained_layout.hspace": 0.04,
    "figure.constrained_layout.wspace": 0.04,
    "axes.facecolor": "none",
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.titlelocation": "left",
    "axes.titlesize": 14,
    "axes.labelsize": 14,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.prop_cycle": plt.cycler(color=[BLUE, ORANGE, GREEN, PURPLE]),
    "font.size": 14,
    "text.color": INK,
    "text.parse_math": False,  # `_math_to_tspans` writes it in the page's font
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.labelsize": 13,
    "ytick.labelsize": 13,
    "grid.color": LINE,
    "legend.frameon": False,
    "legend.fontsize": 13,
    "lines.linewidth": 2.5,
    "patch.edgecolor": "none",
    "path.simplify_threshold": 0.3,  # pixels: bends that nobody would see
    "svg.fonttype": "none",
    "svg.hashsalt": "book",  # the same picture from every build
}


def use_style():
    """Draw every figure of the page in the book's style, Hindi included, and show it as SVG."""
    plt.rcParams.update(STYLE)
    plt.rcParams["font.family"] = ["DejaVu Sans", _devanagari()]
    warnings.filterwarnings("error", message="Glyph .* missing from font")
    shell = get_ipython()
    if shell is not None:
        plt.close(plt.figure())  # loads the notebook backend, which would set its own formats later
        for formatter in shell.display_formatter.formatters.values():
            formatter.pop(Figure, None)
        shell.display_formatter.formatters["image/svg+xml"].for_type(Figure, as_svg)


def _devanagari():
    """Return the name of the site's Hindi font, with which matplotlib measures the words that a browser will set."""
    font = TTFont(HINDI)
    font.flavor = None  # matplotlib reads TrueType, not WOFF
    path = Path(_FONT_FOLDER.name) / "devanagari.ttf"
    font.save(path)
    font_manager.fontManager.addfont(path)
    return font_manager.FontProperties(fname=path).get_name()


def heat_map(axes, weights, rows, columns, numbers=True):
    """Draw weights on ``axes`` as a heat map that is readable in both colour modes.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
    weights : (target_len, source_len)
        From 0 to 1.
    rows, columns : list of str
        The labels beside each row and above each column.
    numbers : bool
        Whether each cell shows its weight, unless it rounds to 0, or only where a reader points.
    """
    height, width = len(rows), len(columns)
    for i, row in enumerate(weights):
        for j, weight in enumerate(row):
            if (shown := f"{weight:.2f}") == "0.00":
                continue
            look = {"facecolor": BLUE, "alpha": float(shown), "gid": None if numbers else f"cell {shown}"}
            axes.add_patch(Rectangle((j - 0.5, i - 0.5), 1, 1, **look))
            if numbers:
                look = {"color": "white" if weight > WHITE_FROM else "black", "gid": f"weight {shown}"}
                axes.text(j, i, shown, ha="center", va="center", fontsize=13, **look)
    axes.hlines([i + 0.5 for i in range(height - 1)], -0.5, width - 0.5, color=LINE, linewidth=1)
    axes.vlines([j + 0.5 for j in range(width - 1)], -0.5, height - 0.5, color=LINE, linewidth=1)
    axes.set(xlim=(-0.5, width - 0.5), ylim=(height - 0.5, -0.5))
    axes.set_xticks(range(width), columns)
    axes.set_yticks(range(height), rows)
    axes.xaxis.tick_top()
    axes.xaxis.set_label_position("top")
    axes.tick_params(length=0)
    for label in axes.get_xticklabels():
        label.set_color(SOURCE_COLOURS.get(label.get_text(), INK))
    axes.spines[:].set(visible=True, color=LINE)


def as_svg(figure):
    """Return a figure as one SVG with a part for each width; one drawn for a phone has only one part.

    Raises
    ------
    ValueError
        If the figure has a colour that the page cannot change with its mode, or a hatch.
    """
    width, height = figure.get_size_inches() * 72
    parts = [_render_part(figure, "wide" if width > PHONE + 20 else "only")]
    if width > PHONE + 20:
        _stack_panels(figure)
        parts.append(_render_part(figure, "narrow"))
    return join_parts(parts, width, height)


def join_parts(parts, width, height):
    """Return the parts of a picture as one SVG that has its colours and letters outside a page, too; the page has its own."""
    own = "".join(f"{name}:{colour};" for colour, name in VARIABLES.items())
    rules = f"svg{{color:{INK};{own}font-family:sans-serif}}.narrow{{display:none}}"
    rules += "text{fill:currentcolor;font-size:13px;text-anchor:middle}a path{fill:none}"
    size = f'width="{width:.0f}" height="{height:.0f}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="picture" {size}><style>{rules}</style>{"".join(parts)}</svg>'
    )


def _stack_panels(figure):
    """Make a figure as narrow as a phone, with its panels below each other."""
    panels = [axes for axes in figure.axes if axes.get_subplotspec() is not None]
    rows, columns = panels[0].get_gridspec().get_geometry()
    height = figure.get_size_inches()[1] * 72 / rows
    if columns > 1:
        grid = GridSpec(len(panels), 1, figure=figure)
        for place, axes in enumerate(panels):
            axes.set_subplotspec(grid[place])
            axes.tick_params(labelleft=True)
            if not axes.xaxis.get_label_text() and place % columns:
                axes.set_xlabel(panels[place - 1].get_xlabel())
            if not axes.yaxis.get_label_text() and place % columns:
                axes.set_ylabel(panels[place - 1].get_ylabel())
            at_top = axes.xaxis.get_label_position() == "top"
            axes.tick_params(labeltop=at_top, labelbottom=not at_top)
    if columns * rows == 1 and panels[0].get_aspect() == "auto":
        height = min(height, MAX_PANEL_HEIGHT)
    figure.set_size_inches(PHONE / 72, len(panels) * height / 72)


def _render_part(figure, name):
    written = io.StringIO()
    figure.savefig(written, format="svg", metadata={"Date": None})
    root = ET.fromstring(written.getvalue())
    box = figure.get_tightbbox()
    width, height = figure.get_size_inches() * 72
    top, bottom = height - 72 * box.y1, height - 72 * box.y0  # empty space there is cut off
    prefix = f"p{hashlib.sha256(written.getvalue().encode()).hexdigest()[:8]}"
    known = {node.get("id"): f"{prefix}-{n}" for n, node in enumerate(root.iter()) if _tag(node) in ("path", "use")}
    body = "".join(_serialize(node, known) for node in root)
    if links := _serialize_links(root, known):
        body = f'<g class="drawn">{body}</g>{links}'
    view = f"0 {top - 2:.0f} {width:.0f} {bottom - top + 4:.0f}"
    return f'<svg class="{name}" viewBox="{view}">{body}</svg>'


def _tag(node):
    return node.tag.rpartition("}")[2]


def _serialize_links(root, known):
    """Return the links of a picture as text: a link for each address, with the texts and the outlines that lead there."""
    links = {}
    for node in root.iter():
        if _tag(node) == "a":
            address = node.get("{http://www.w3.org/1999/xlink}href")
            for part in node:
                outline = f'<path d="{_compact_path(part.get("d", ""), HALF_PIXELS)}"/>'
                links[address] = links.get(address, "") + (outline if _tag(part) == "path" else _serialize(part, known))
    return "".join(f'<a href="{html.escape(address)}">{parts}</a>' for address, parts in links.items())


def _serialize(node, known):
    """Return a node of matplotlib's SVG as text, without links and parts that have no effect."""
    tag = _tag(node)
    if tag in ("metadata", "style", "clipPath", "pattern", "a"):
        return ""
    mark, _, says = node.get("id", "").partition(" ")  # of a heat map's cell, or of a number in it
    if mark == "weight":
        return _serialize_weight(node, known, float(says))
    inner = _serialize_text(node) if tag == "text" else _serialize_children(node, known)
    if mark == "cell":
        return f"<g><title>{says}</title>{inner}</g>"
    style = dict(part.split(": ", 1) for part in node.get("style", "").split("; ") if part)
    if tag in ("path", "use") and _is_unseen(style):
        return ""
    kept = _keep_attributes(node, known)
    if tag in ("g", "defs") and (not inner or not kept):
        return f"<defs>{inner}</defs>" if tag == "defs" and inner else inner
    if tag == "text":  # centred by the style sheet, while SVG's default is its start
        style = {"text-anchor": "start"} | style
        style = {name: value for name, value in style.items() if (name, value) not in USUAL}
    if declared := _css_declarations(style):
        kept.append(("style", declared))
    attributes = "".join(f' {name}="{html.escape(value)}"' for name, value in kept)
    return f"<{tag}{attributes}>{inner}</{tag}>" if inner else f"<{tag}{attributes}/>"


def _serialize_weight(node, known, weight):
    """Return a number on a cell, in black or white: the style sheet knows from which weight on in each mode."""
    for text in node.iter():
        text.set("style", re.sub("fill: [^;]*", "", text.get("style", "")))
    return f'<g class="weight" style="--w:{weight:.0%}">{_serialize_children(node, known)}</g>'


def _is_unseen(style):
    return (style.get("fill") == "none" and "stroke" not in style) or style.get("opacity") == "0"


def _keep_attributes(node, known):
    kept = ((name.rpartition("}")[2], _attribute(node, name, value, known)) for name, value in node.attrib.items())
    return [(name, value) for name, value in kept if value is not None]


def _attribute(node, name, value, known):
    """Return an attribute of a node in short form; None if it has no effect."""
    tag, name, is_mark = _tag(node), name.rpartition("}")[2], node.get("id", "").startswith("m")
    if name == "d":
        return _compact_path(value, HALF_PIXELS if not is_mark and _is_upright(value) else TENTH_PIXELS)
    if name in ("x", "y", "transform"):
        value = _round_coordinates(
            value, WHOLE_PIXELS if tag == "text" else HALF_PIXELS if tag == "use" else TENTH_PIXELS
        )
        return None if tag == "text" and re.match(r"rotate\(-?0 ", value) else value
    if name == "href":
        return "#" + known[value[1:]]
    if name == "id" and tag == "path" and is_mark:  # used by its id
        return known[value]
    return value if name in ("width", "height") else None


def _serialize_children(node, known):
    """Return the children of a node as text; identical marks on top of each other appear once."""
    parts = [_serialize(child, known) for child in node]
    is_series = all(part.startswith("<use ") and "opacity" not in part for part in parts)
    return "".join(dict.fromkeys(parts) if is_series else parts)


def _round_coordinates(numbers, step):
    """Return coordinates rounded to multiples of ``step`` tenths of a pixel."""
    return re.sub(r"-?\d+\.\d+", lambda number: _format_tenths(_round_to_step(number[0], step)), numbers)


def _round_to_step(number, step):
    return step * round(10 * float(number) / step)


def _format_tenths(tenths):
    return f"{tenths / 10:.1f}".removesuffix(".0")


def _is_upright(path):
    """Return whether a path has only vertical and horizontal lines, like an axis, a bar or a cell."""
    corners = [numbers.split() for numbers in re.findall(r"[ML]([^A-Za-z]*)", path)]
    return not re.search("[QC]", path) and all(x == a or y == b for (x, y), (a, b) in pairwise(corners))


def _compact_path(path, step):
    """Return a path in short form, rounded to multiples of ``step`` tenths of a pixel.

    Each segment is written relative to its start, so that equal outlines have equal text.
    """
    parts, start, here, last = [], [], [], ""
    for letter, numbers in re.findall(r"([A-Za-z])([^A-Za-z]*)", path):
        there = [_round_to_step(number, step) for number in numbers.split()]
        if letter == "M":
            start = there
            parts.append(letter + " ".join(map(_format_tenths, there)))
        elif letter == "z":
            there = start
            parts.append(letter)
        elif letter in "LQC":
            apart = " ".join(_format_tenths(number - here[n % 2]) for n, number in enumerate(there))
            parts.append(f"{' ' if last == letter else letter.lower()}{apart}")
        else:
            raise ValueError(f"a path takes a step {letter}, where matplotlib takes M, L, Q, C and z.")
        here, last = there[-2:], letter
    return "".join(parts).replace(" -", "-")


def _css_declarations(style):
    """Return a style as CSS declarations with the page's colours and font."""
    kept = {}
    for name, value in style.items():
        if name in ("fill", "stroke") and value != "none":
            value = "currentcolor" if value == INK else f"var({_colour_variable(value)})"
        if name not in ("font-family", "stroke-linejoin", "stroke-linecap", "opacity"):
            kept[name] = value
    if "opacity" in style:
        kept["opacity"] = style["opacity"]
    return ";".join(f"{name}:{value}" for name, value in kept.items())


def _colour_variable(colour):
    if colour.startswith("url("):
        raise ValueError("a hatch stays as it is in dark mode. Remedy: tell bars apart by their colours.")
    if colour not in VARIABLES:
        raise ValueError(f"{colour} stays as it is in dark mode. Remedy: take a colour that `figures.pictures` names.")
    return VARIABLES[colour]


USUAL = {("fill", INK), ("font-size", "13px"), ("text-anchor", "middle")}
LETTERS = {
    "alpha": "α",
    "tau": "τ",
    "ln": "ln",
    "sqrt": "√",
    "sum": "∑",
    ",": "\u2009",
    "cdot": "·",
    "-": "\N{MINUS SIGN}",
}
MATHS = re.compile(r"\$([^$]*)\$")
TOKEN = re.compile(r"\\([a-z]+|,) ?|([_^])(?:\{([^}]*)\}|(.))|(.)")


def _serialize_text(node):
    """Return the content of a text element, with formulas in their font and Hindi marked as such."""
    return typeset(node.text or "", float(re.search(r"font-size: ([\d.]+)px", node.get("style"))[1]))


def typeset(text, size):
    """Return a text of ``size`` pixels as SVG, with formulas between ``$`` in their font and Hindi marked as such."""
    return "".join(
        _math_to_tspans(part, size) if number % 2 else _mark_hindi(html.escape(part))
        for number, part in enumerate(MATHS.split(text))
    )


def _mark_hindi(text):
    return re.sub(r"[\u0900-\u097f]+(?: +[\u0900-\u097f]+)*", r'<tspan lang="hi">\g<0></tspan>', text)


def _math_to_tspans(tex, size):
    parts, low = [], max(0.75 * size, 11.5)  # smaller text would be unreadable on a phone
    for command, shift, group, single, letter in TOKEN.findall(tex):
        if shift:
            down = 0.25 * size if shift == "_" else -0.4 * size
            parts.append(
                f'<tspan dy="{down:.1f}" style="font-size:{low:.1f}px">{_math_to_tspans(group or single, low)}</tspan>'
            )
            parts.append(f'<tspan dy="{-down:.1f}">\u200b</tspan>')
        else:
            shown = LETTERS[command] if command else LETTERS.get(letter, letter)
            upright = command == "ln" or not shown.isalpha()
            parts.append(html.escape(shown) if upright else f'<tspan class="m">{shown}</tspan>')
    return "".join(parts)
