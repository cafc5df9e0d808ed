"""A drawing of a padded batch: its words, its mask, and the weights without the mask and with it.

In: sentences and weights. Out: the drawing, as wide as a phone.
"""

from matplotlib.patches import Rectangle

from figures.drawings import WIDTH, start_drawing
from figures.pictures import INK, MUTED, SOURCE_COLOURS

HEIGHT, BAR, GAP = 0.9, 0.44, 0.08  # of a bar that stands for 1; width of a bar; between two bars
BELOW, BETWEEN = 0.6, 0.45  # what words and dots take below the bars; space above the highest bar, for its number


def draw_padded_batch(sentences, unmasked, masked):
    """Draw a row for each sentence: two bars above each position, and a dot below it that is filled if the position is real.

    Parameters
    ----------
    sentences : list of list of str
        The real words.
    unmasked, masked : (batch, source_len)
        Weights from 0 to 1.
    """
    heights = [HEIGHT * max(*row, *other) + BETWEEN for row, other in zip(unmasked, masked, strict=True)]
    axes = start_drawing(-sum(heights) - BELOW * len(sentences), 0.3)
    source_len = len(masked[0])
    _draw_legend(axes, 0.15)
    bottom = BELOW
    for b, words in enumerate(sentences):
        bottom -= BELOW + heights[b]
        for j in range(source_len):
            x = WIDTH * (j + 0.5) / source_len
            word = words[j] if j < len(words) else None
            color = SOURCE_COLOURS.get(word, MUTED)
            _draw_bar(axes, x - BAR - GAP / 2, bottom, unmasked[b][j], color, "none")
            _draw_bar(axes, x + GAP / 2, bottom, masked[b][j], color, color)
            look = {"color": SOURCE_COLOURS.get(word, INK), "style": "italic"} if word else {"color": MUTED}
            axes.text(x, bottom - 0.2, word or "(pad)", ha="center", va="center", fontsize=13, **look)
            _draw_dot(axes, x, bottom - 0.45, bool(word))


def _draw_bar(axes, left, bottom, weight, edge, face):
    axes.add_patch(Rectangle((left, bottom), BAR, HEIGHT * weight, facecolor=face, edgecolor=edge))
    number = f"{weight:.2f}" if weight else "0"
    axes.text(left + BAR / 2, bottom + HEIGHT * weight + 0.12, number, ha="center", va="center", fontsize=12)


def _draw_dot(axes, x, y, real):
    axes.plot(x, y, "o", color=INK, markerfacecolor=INK if real else "none", markersize=6, markeredgewidth=1)


def _draw_legend(axes, y):
    for left, face, name in ((0.1, "none", "unmasked"), (1.7, MUTED, "masked")):
        axes.add_patch(Rectangle((left, y - 0.09), 0.18, 0.18, facecolor=face, edgecolor=MUTED))
        axes.text(left + 0.28, y, name, va="center", fontsize=13)
    for x, real, name in ((3.08, True, "real word"), (4.72, False, "padding")):
        _draw_dot(axes, x, y, real)
        axes.text(x + 0.15, y, name, va="center", fontsize=13)
