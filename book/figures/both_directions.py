"""A drawing of the encoder, unrolled over three words: two directions, and the annotations that join them.

In: the words. Out: the drawing, as wide as a phone.
"""

from itertools import pairwise

from figures.drawings import WORD_COLOURS, draw_arrow, draw_box, start_drawing
from figures.pictures import MUTED

COLUMNS = (2.05, 3.65, 5.25)
FORWARD, BACKWARD = 1.35, -1.35  # the annotations are between them, at 0
WORDS = 2.25


def draw_both_directions(words):
    """Draw the forward states, the annotations and the backward states of three words.

    Below each state, a dot for each word of the sentence is filled if the state depends on that word.
    """
    axes = start_drawing(-WORDS - 0.2, WORDS + 0.2)
    for y, name in ((FORWARD, "forward"), (0, "annotations"), (BACKWARD, "backward")):
        axes.text(0, y, name, ha="left", va="center", fontsize=13)
    for j, (x, word, color) in enumerate(zip(COLUMNS, words, WORD_COLOURS, strict=True)):
        draw_box(axes, x, 0, width=1, height=1.24, edge=color)
        for step in (1, -1):  # what is above the annotations, and what is below
            axes.text(x, step * WORDS, word, ha="center", va="center", fontsize=14, style="italic", color=color)
            draw_arrow(axes, (x, step * (WORDS - 0.2)), (x, step * (FORWARD + 0.35)), MUTED)
            draw_box(axes, x, step * FORWARD, width=1, height=0.64)
            draw_arrow(axes, (x, step * (FORWARD - 0.35)), (x, step * 0.65), MUTED)
            for y in (step * FORWARD, step * 0.31):
                _draw_state(axes, x, y, j, step)
    for left, right in pairwise(COLUMNS):
        draw_arrow(axes, (left + 0.53, FORWARD), (right - 0.53, FORWARD))
        draw_arrow(axes, (right - 0.53, BACKWARD), (left + 0.53, BACKWARD))


def _draw_state(axes, x, y, j, step):
    """Draw the symbol of the state at word j, an arrow above it, and a dot for each word."""
    axes.text(x, y + 0.05, f"$h_{j + 1}$", ha="center", va="center", fontsize=14)
    draw_arrow(axes, (x - 0.12 * step, y + 0.24), (x + 0.12 * step, y + 0.24), head=6)
    for k, color in enumerate(WORD_COLOURS):
        face = color if (j - k) * step >= 0 else "none"
        axes.plot(x + 0.22 * (k - 1), y - 0.2, "o", color=color, markerfacecolor=face, markersize=6, markeredgewidth=1)
