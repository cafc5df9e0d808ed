"""A drawing of what a decoder may read: one fixed vector, or an annotation for each word.

In: lengths of sentences. Out: the drawing, as wide as a phone.
"""

from matplotlib.patches import Rectangle

from figures.drawings import WORD_COLOURS, start_drawing
from figures.pictures import INK, MUTED, PAPER

PIXEL = 1 / 57.6  # units
FIXED, ANNOTATIONS = 1.27, 1.97  # left sides
PITCH, VECTOR = 4.5 * PIXEL, 3 * PIXEL  # from one vector to the next; width of a vector
HEIGHT, ROW = 0.5, 0.74


def draw_memory(lengths, entries):
    """Draw a row for each sentence: its length, a fixed vector, and as many annotations as it has words.

    Parameters
    ----------
    lengths : list of int
        Numbers of words.
    entries : int
        The size of a vector.
    """
    axes = start_drawing(-ROW * len(lengths) + 0.15, 0.65)
    axes.text(FIXED + VECTOR / 2, 0.45, "fixed", ha="center", va="center", fontsize=13)
    axes.text(FIXED + VECTOR / 2, 0.19, "vector", ha="center", va="center", fontsize=13)
    axes.text(ANNOTATIONS, 0.19, "one annotation per word", va="center", fontsize=13)
    for row, words in enumerate(lengths):
        bottom = -ROW * row - HEIGHT
        axes.text(0, bottom + HEIGHT / 2, f"{words} words", va="center", fontsize=13)
        _draw_vector(axes, FIXED, bottom, INK)
        for j in range(words):
            color = WORD_COLOURS[j] if words == len(WORD_COLOURS) else MUTED
            _draw_vector(axes, ANNOTATIONS + PITCH * j, bottom, color)
        for k in range(1, entries):
            y = bottom + HEIGHT * k / entries
            axes.plot([FIXED, ANNOTATIONS + PITCH * words], [y, y], color=PAPER, linewidth=1)


def _draw_vector(axes, left, bottom, color):
    axes.add_patch(Rectangle((left, bottom), VECTOR, HEIGHT, facecolor=color))
