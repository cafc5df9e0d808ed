"""A drawing of the whole model at work on one sentence: a row for each step of attention, which is a link to its chapter.

In: the words read and written, and their scores and weights. Out: SVG, once as wide as the text with its margin and once for a
phone.
"""

import re
from dataclasses import dataclass
from itertools import pairwise

from figures.pictures import MUTED, PAPER, PURPLE, SOURCE_COLOURS, SURFACE, VARIABLES, join_parts, typeset

# Of the first, second and third word read.
TONES = tuple(f"var({VARIABLES[colour]})" for colour in SOURCE_COLOURS.values())
TARGETS = 5  # words written
LEAST = 0.03  # a smaller weight is not drawn
HEADS = {"down": "m-3-7h6l-3 7z", "up": "m-3 7h6l-3-7z", "right": "m-7-3v6l7-3z", "left": "m7-3v6l-7-3z"}  # of arrows


@dataclass(frozen=True)
class Layout:
    """Places and sizes in pixels; rows are given by their middle."""

    name: str  # of the part of the picture
    width: int
    first: float  # the middle of the column of START
    pitch: float  # from one column to the next
    bar: float  # the width of a weight of 1
    box: float  # of a context or a state
    chip: float  # of a word written
    source: float  # of a word read, and of its annotation
    lane: float  # from the middle of a column to the middle of its scores
    score: float  # the width of the bar of a score
    letters: int  # the size of text
    says_more: bool  # whether there is room for what a row is computed from
    turn: float  # the radius where a line turns
    words: float = 18
    annotations: float = 70
    scores: float = 196
    weights: float = 238
    context: float = 328
    state: float = 388
    word: float = 464

    @property
    def zero(self):
        """The line at 0 on which the bars of the scores stand: they end where the bar of weights begins."""
        return self.weights + 7

    @property
    def columns(self):
        return [self.first + self.pitch * i for i in range(1, TARGETS + 1)]

    @property
    def sources(self):
        left, right = self.columns[0], self.columns[-1]
        return [left + (right - left) * share for share in (0.12, 0.5, 0.88)]


WIDE = Layout("wide", 800, 196, 111, 50, 44, 82, 110, 57, 11, 14, says_more=True, turn=8)
NARROW = Layout("narrow", 340, 73, 49, 20, 27, 42, 60, 23.5, 4.2, 12, says_more=False, turn=3.5)
TALLEST = 48  # the bar of the largest score
ROWS = {  # its chapter, its symbol, and what it is computed from
    "words": ("intro", "$x_j$", "read"),
    "annotations": ("encoder", "$h_j$", "$m$ entries, from both ends"),
    "scores": ("scoring", "$e_{ij}$", "$s_{i-1}$ with each $h_j$"),
    "weights": ("softmax", r"$\alpha_{ij}$", "softmax of the scores"),
    "context": ("context", "$c_i$", "$m$ entries"),
    "state": ("decoder_fusion", "$s_i$", "$n$ entries"),
    "word": ("output_layer", "$y_i$", "written"),
}


def draw_whole_model(source, target, scores, weights):
    """Return how a sentence is translated, as SVG: a column for each word written, and a ribbon for each weight.

    Parameters
    ----------
    source : list of str
        Three words.
    target : list of str
        Five words.
    scores : (5, 3)
    weights : (5, 3)
        From 0 to 1.
    """
    parts = [_draw_part(layout, source, target, scores, weights) for layout in (WIDE, NARROW)]
    return join_parts(parts, WIDE.width, WIDE.word + 24)


def _draw_part(at, source, target, scores, weights):
    drawn = [
        *_draw_ribbons(at, weights),
        *_draw_arrows(at, [_height(min(row), scores) for row in scores]),
        *_draw_words_read(at, source),
        *_draw_scores(at, scores),
        *_draw_steps(at, target),
    ]
    areas = _row_areas(at)
    links = "".join(_draw_link(at, name, *row, areas[name]) for name, row in ROWS.items())
    view = f"0 0 {at.width} {at.word + 24:g}"
    return f'<svg class="{at.name}" viewBox="{view}"><g class="drawn">{"".join(drawn)}</g>{links}</svg>'


def _draw_ribbons(at, weights):
    """Yield a ribbon for each weight, from its annotation to its place in the column's bar, and on to the context."""
    starts = [x - at.bar * sum(row[j] for row in weights) / 2 for j, x in enumerate(at.sources)]
    top, bar, bottom = at.annotations + 15, at.weights - 7, at.context - 13
    ribbons, below = [], []
    for x, row in zip(at.columns, weights, strict=True):
        end, narrow = x - at.bar / 2, x - at.box / 4
        for j, weight in enumerate(row):
            wide, thin = at.bar * weight, at.box / 2 * weight
            if weight >= LEAST:
                solid, pale = f"fill:{TONES[j]}", f"fill:{TONES[j]};fill-opacity:.6"
                ribbons.append((weight, _band((starts[j], top), (end, bar), wide, wide), pale))
                below.append((weight, _band((end, bar + 14), (narrow, bottom), wide, thin), pale))
                below.append((weight, _rectangle(end, bar, wide, 14), solid))
            starts[j], end, narrow = starts[j] + wide, end + wide, narrow + thin
    ribbons.sort(key=lambda ribbon: -ribbon[0])  # thin ones on top of thick ones
    for _, outline, look in ribbons + below:
        yield _path(outline, f"{look};stroke:var({VARIABLES[PAPER]});stroke-width:.7")


def _band(start, end, width_above, width_below):
    (x, y), (u, v) = start, end
    middle, right, end_right = (y + v) / 2, x + width_above, u + width_below
    down = ("M", x, y, "C", x, middle, u, middle, u, v, "H", end_right)
    return _outline(*down, "C", end_right, middle, right, middle, right, y, "z")


def _draw_arrows(at, lowest):
    """Yield what leads to what, but for the ribbons: one path for all lines of a colour, and one for their heads.

    The old state leads to the scores of its column, of which the lowest has the height ``lowest``, and they to the weights.
    """
    half, chip, r = at.box / 2, at.chip / 2, at.turn
    over, under = 13, 16  # from the middle of a box, and of a word, to its edge
    grey, purple = _Arrows(), _Arrows()
    first = (at.sources[0] - at.source / 2, at.annotations)
    turn = ("H", at.first + 40, "Q", at.first, at.annotations, at.first, at.annotations + 40)
    grey.add("down", "M", *first, *turn, to=(at.first, at.state - over))
    for (before, x), low in zip(pairwise([at.first, *at.columns]), lowest, strict=True):
        lane, out, enter = x - at.lane, before + chip, x - half / 2
        grey.add("right", "M", before + half, at.state, to=(x - half, at.state))
        grey.add("down", "M", x, at.context + over, to=(x, at.state - over))
        grey.add("down", "M", x, at.state + over, to=(x, at.word - under))
        grey.add("down", "M", x + half, at.context, "q", 2 * r, 0, 2 * r, 2 * r, to=(x + half + 2 * r, at.word - under))
        grey.add("right", "M", out, at.word, to=(x - chip, at.word))
        up, across = ("V", at.state + 24 + 2 * r), ("H", enter - r)
        turns = ("q", r, 0, r, -r, *up, "q", 0, -r, r, -r, *across, "q", r, 0, r, -r)
        grey.add("up", "M", out + r / 2, at.word, *turns, to=(enter, at.state + over))
        rise = ("H", lane - r, "q", r, 0, r, -r)
        purple.add("up", "M", before + half, at.state - 7, *rise, to=(lane, at.zero + 4 - min(low, 0)))
        purple.add("right", "M", lane + 1.5 * at.score, at.weights, to=(x - at.bar / 2, at.weights))
    yield from grey.paths(MUTED)
    yield from purple.paths(PURPLE)


class _Arrows:
    """Arrows of one colour."""

    def __init__(self):
        self.lines, self.heads = [], []

    def add(self, way, *steps, to):
        """Add an arrow that takes ``steps`` and then leads straight in the direction ``way``."""
        last = ("V", to[1]) if way in ("up", "down") else ("H", to[0])
        self.lines.append(_outline(*steps, *last))
        self.heads.append(_outline("M", *to) + HEADS[way])

    def paths(self, colour):
        yield _path("".join(self.lines), f"fill:none;stroke:var({VARIABLES[colour]});stroke-width:1.2")
        yield _path("".join(self.heads), f"fill:var({VARIABLES[colour]})")


def _draw_words_read(at, source):
    """Yield the words read, and below them their annotations, which are computed from both ends."""
    half, arrows = at.source / 2, _Arrows()
    for j, (x, word) in enumerate(zip(at.sources, source, strict=True), start=1):
        tone = TONES[j - 1]
        yield _box(x, at.words, at.source, 30, tone)
        yield _text(x, at.words, word, at.letters + 1, f"fill:{tone};font-weight:600")
        arrows.add("down", "M", x, at.words + 15, to=(x, at.annotations - 15))
        yield _box(x, at.annotations, at.source, 30, tone)
        yield _text(x, at.annotations, f"$h_{j}$", at.letters + 2)
    for before, x in pairwise(at.sources):
        forward, backward = at.annotations - 5, at.annotations + 5
        arrows.add("right", "M", before + half, forward, to=(x - half, forward))
        arrows.add("left", "M", x - half, backward, to=(before + half, backward))
    yield from arrows.paths(MUTED)


def _draw_scores(at, scores):
    """Yield the bars of each column's scores, up from a line at 0 or down."""
    zeros, muted = "", f"var({VARIABLES[MUTED]})"
    for x, row in zip(at.columns, scores, strict=True):
        left = x - at.lane - 1.5 * at.score
        zeros += _outline("M", left - 2, at.zero, "h", 3 * at.score + 3)
        for j, score in enumerate(row):
            height = _height(score, scores)
            outline = _rectangle(left + j * at.score, at.zero - max(height, 0), at.score - 1, abs(height))
            yield _path(outline, f"fill:{TONES[j]}")
    yield _path(zeros, f"fill:none;stroke:{muted}")
    first = at.columns[0] - at.lane - 1.5 * at.score
    yield _text(first - 8, at.zero, "0", at.letters - 1, f"fill:{muted}")


def _height(score, scores):
    """Return the height of the bar of a score, on one scale for all of them."""
    return TALLEST * score / max(abs(each) for row in scores for each in row)


def _draw_steps(at, target):
    """Yield the context, the state and the word of each step, and the state and the word before the first."""
    edge = f"var({VARIABLES[MUTED]})"
    for i, (x, word) in enumerate(zip([at.first, *at.columns], ["START", *target], strict=True)):
        for y, name in ((at.context, "c"), (at.state, "s")):
            if i or name == "s":
                yield _box(x, y, at.box, 26, edge)
                yield _text(x, y, f"${name}_{i}$", at.letters + 1)
        yield _box(x, at.word, at.chip, 32, edge)
        yield _text(x, at.word, word, at.letters - 1 if word.isascii() else at.letters + 2)


def _row_areas(at):
    """Return the outline of the area of each row, for its link: a band as wide as the picture, or parts of one."""

    def band(top, bottom):
        return _rectangle(1, top, at.width - 2, bottom - top)

    def parts(name, middle, width, top, bottom):
        own = _rectangle(1, getattr(at, name) - 18, at.first - at.box - 3, 36)
        return own + "".join(_rectangle(x + middle - width / 2, top, width, bottom - top) for x in at.columns)

    scores, strip = (-at.lane, 3 * at.score + 5), (0, at.bar + 6)
    return {
        "words": band(0, 34),
        "annotations": band(36, at.annotations + 20),
        "scores": parts("scores", *scores, at.zero - TALLEST - 4, at.zero + TALLEST / 2 + 8),
        "weights": parts("weights", *strip, at.zero - TALLEST - 4, at.zero + 3),
        "context": parts("context", 0, at.box + 6, at.zero + 7, at.context + 17),
        "state": band(at.state - 20, at.state + 20),
        "word": band(at.word - 22, at.word + 22),
    }


def _draw_link(at, name, page, symbol, origin, area):
    """Return a row's name as a link with its area, and its symbol, with what it is if there is room."""
    y, size = getattr(at, name), at.letters
    named = _text(1, y - 8, name, size, "text-anchor:start")
    said = f"{symbol}: {origin}" if at.says_more else symbol
    more = _text(1, y + 10, said, size - 1, f"text-anchor:start;fill:var({VARIABLES[MUTED]})")
    return f'<a href="{page}.html">{named}{_path(area)}</a>{more}'


def _box(x, y, width, height, edge):
    left, top = _round(x - width / 2), _round(y - height / 2)
    look = f"fill:var({VARIABLES[SURFACE]});stroke:{edge};stroke-width:1.5"
    return f'<rect x="{left}" y="{top}" width="{_round(width)}" height="{height}" rx="5" style="{look}"/>'


def _rectangle(x, y, width, height):
    return _outline("M", x, y, "h", width, "v", height, "h", -width, "z")


def _outline(*steps):
    """Return letters and coordinates as the outline of a path."""
    written = [step if isinstance(step, str) else f" {_round(step)}" for step in steps]
    return re.sub("(?<=[A-Za-z]) | (?=-)", "", "".join(written))


def _path(outline, look=""):
    return f'<path d="{outline}" style="{look}"/>' if look else f'<path d="{outline}"/>'


def _text(x, y, words, size, look=""):
    style = f"font-size:{size}px" + (f";{look}" if look else "")
    return f'<text x="{_round(x)}" y="{_round(y + 0.36 * size)}" style="{style}">{typeset(words, size)}</text>'


def _round(number):
    """Return a coordinate to a tenth of a pixel."""
    return f"{number:.1f}".removesuffix(".0")
