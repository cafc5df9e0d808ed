"""A drawing of the whole model at work on one sentence, each of its parts a link to its chapter.

In: the words read and written, and the weights. Out: the drawing, as wide as a phone.
"""

from itertools import pairwise

from matplotlib.patches import Rectangle

from figures.drawings import WIDTH, WORD_COLOURS, draw_arrow, draw_box, start_drawing
from figures.pictures import LINE, MUTED

ROWS = (-0.35, -1.15, -1.95)  # of the three words read
START = 1.7  # of what comes before them
COLUMNS = (2.54, 3.29, 4.04, 4.79, 5.54)  # of the five words written
WORDS_END, ANNOTATIONS, TABLE_BOTTOM, CONTEXTS, STATES, WORDS_WRITTEN = 0.86, 1.58, -2.28, -3.68, -4.63, -5.6


def draw_whole_model(source, target, weights):
    """Draw how a sentence is translated: a row for each word read, and a column for each word written.

    Parameters
    ----------
    source : list of str
        Three words.
    target : list of str
        Five words.
    weights : (5, 3)
        From 0 to 1.
    """
    axes = start_drawing(-5.98, 0.9)
    for j, (y, word, color) in enumerate(zip(ROWS, source, WORD_COLOURS, strict=True), start=1):
        axes.text(WORDS_END, y, word, ha="right", va="center", fontsize=13, style="italic", color=color)
        draw_arrow(axes, (WORDS_END + 0.05, y), (ANNOTATIONS - 0.33, y), head=8)
        draw_box(axes, ANNOTATIONS, y, f"$h_{j}$", width=0.6, edge=color)
        draw_arrow(axes, (ANNOTATIONS + 0.33, y), (COLUMNS[0] - 0.35, y), color, head=8)
        for x, row in zip(COLUMNS, weights, strict=True):
            _draw_cell(axes, x, y, color, row[j - 1])
    for above, below in pairwise(ROWS):  # the encoder reads from both ends
        draw_arrow(axes, (ANNOTATIONS - 0.12, above - 0.28), (ANNOTATIONS - 0.12, below + 0.28), head=8)
        draw_arrow(axes, (ANNOTATIONS + 0.12, below + 0.28), (ANNOTATIONS + 0.12, above - 0.28), head=8)
    draw_box(axes, START, STATES, "$s_0$", width=0.42)
    axes.text(START, WORDS_WRITTEN, "START", ha="center", va="center", fontsize=12)
    for i, (before, x, word) in enumerate(zip((START, *COLUMNS[:-1]), COLUMNS, target, strict=True), start=1):
        _draw_step(axes, i, before, x, word)
    _label_parts(axes)


def _draw_cell(axes, x, y, color, weight):
    corner = (x - 0.33, y - 0.31)
    axes.add_patch(Rectangle(corner, 0.66, 0.62, facecolor=color, alpha=round(float(weight), 2)))
    axes.add_patch(Rectangle(corner, 0.66, 0.62, facecolor="none", edgecolor=LINE))


def _draw_step(axes, i, before, x, word):
    """Draw step i in the column at x, where the step before it is at ``before``."""
    draw_arrow(axes, (before + 0.22, STATES + 0.28), (x - 0.2, TABLE_BOTTOM - 0.04), MUTED, head=8)
    draw_arrow(axes, (x, TABLE_BOTTOM - 0.04), (x, CONTEXTS + 0.28), head=8)
    draw_box(axes, x, CONTEXTS, f"$c_{i}$", width=0.42)
    draw_arrow(axes, (x, CONTEXTS - 0.28), (x, STATES + 0.28), head=8)
    draw_box(axes, x, STATES, f"$s_{i}$", width=0.42)
    draw_arrow(axes, (before + 0.25, STATES), (x - 0.25, STATES), head=8)
    draw_arrow(axes, (before + 0.2, WORDS_WRITTEN + 0.2), (x - 0.2, STATES - 0.28), MUTED, head=8)
    draw_arrow(axes, (x, STATES - 0.28), (x, WORDS_WRITTEN + 0.22), head=8)
    axes.text(x, WORDS_WRITTEN, word, ha="center", va="center", fontsize=12 if word.isascii() else 15)


def _label_parts(axes):
    """Name each part, and make it a link to its chapter: columns above, rows below."""
    for left, end, at, name, sizes, page in (
        (0.02, 2.12, 1.2, "annotations", "$h_j$: $m$ entries", "encoder.html"),
        (2.16, WIDTH - 0.02, COLUMNS[2], "weights", r"$\alpha_{ij}$, each column sums to 1", "softmax.html"),
    ):
        axes.text(at, 0.62, name, ha="center", va="center", fontsize=14, url=page)
        axes.text(at, 0.27, sizes, ha="center", va="center", fontsize=12, color=MUTED)
        axes.add_patch(Rectangle((left, TABLE_BOTTOM), end - left, 3.1, facecolor="none", url=page))
    for y, name, sizes, page in (
        (-2.7, "scores", "$e_{ij}$: from $s_{i-1}$, $h_j$", "scoring.html"),
        (CONTEXTS, "context", "$c_i$: $m$ entries", "context.html"),
        (STATES, "state", "$s_i$: $n$ entries", "decoder_fusion.html"),
        (WORDS_WRITTEN, "word", "$y_i$", "output_layer.html"),
    ):
        axes.text(0.08, y + 0.16, name, ha="left", va="center", fontsize=14, url=page)
        axes.text(0.08, y - 0.17, sizes, ha="left", va="center", fontsize=12, color=MUTED)
        axes.add_patch(Rectangle((0.02, y - 0.35), WIDTH - 0.04, 0.7, facecolor="none", url=page))
