"""A drawing of how the gradient of a loss reaches the scores: by where each score would pull the context.

In: a worked example. Out: the drawing, as wide as a phone.
"""

import numpy as np

from figures.drawings import WIDTH, WORD_COLOURS, draw_arrow, start_drawing
from figures.pictures import INK, MUTED, SURFACE

LEFT, RIGHT, BOTTOM, TOP = -5.3, 5.3, -2, 9.4  # of the plane of the annotations


def draw_pulls(keys, weights, g, gradient):
    """Draw the context among three annotations, the pull of each score, and the side on which the loss is lower.

    Parameters
    ----------
    keys : (3, 2)
        Annotations.
    weights : (3,)
    g : (2,)
        The gradient of the loss with respect to the context.
    gradient : (3,)
        That with respect to the scores.
    """
    axes = start_drawing(0, WIDTH * (TOP - BOTTOM) / (RIGHT - LEFT))
    axes.set(xlim=(LEFT, RIGHT), ylim=(BOTTOM, TOP))
    context = weights @ keys
    _shade_lower_loss(axes, context, g)
    for j, (key, weight, slope, color) in enumerate(zip(keys, weights, gradient, WORD_COLOURS, strict=True), start=1):
        axes.plot(*np.transpose([context, key]), color=color, linewidth=1, linestyle="--")
        draw_arrow(axes, context, context + weight * (key - context), color, head=16, linewidth=3)
        axes.plot(*key, "o", color=color, markersize=8)
        _label_annotation(axes, j, key, slope, color)
    draw_arrow(axes, context, context - 0.9 * g, INK, head=16, linewidth=3)
    axes.text(*(context - 1.1 * g), "$-g$", ha="center", va="center", fontsize=15)
    axes.plot(*context, "o", color=INK, markersize=8)
    axes.text(context[0] + 0.3, context[1] + 0.25, "$c_i$", fontsize=15)


def _label_annotation(axes, j, key, slope, color):
    """Say at an annotation what a step of gradient descent does with its score: below it, but beside one in the middle."""
    x, align = (LEFT + 0.2, "left") if key[0] < -2 else (RIGHT - 0.2, "right") if key[0] > 2 else (key[0] + 0.5, "left")
    top = key[1] if abs(key[0]) <= 2 else key[1] - 0.65
    number = f"{slope:.2f}".replace("-", "\N{MINUS SIGN}")
    axes.text(
        x, top, f"$h_{j}$: {'raise' if slope < 0 else 'lower'} $e_{j}$", ha=align, va="center", color=color, fontsize=15
    )
    axes.text(x, top - 0.65, f"$∂L/∂e_{j}$ = {number}", ha=align, va="center", fontsize=12, color=MUTED)


def _shade_lower_loss(axes, context, g):
    """Shade the half of the plane into which the context would have to move for a lower loss."""
    x = np.array([LEFT, RIGHT])
    border = context[1] - (x - context[0]) * g[0] / g[1]
    axes.fill_between(x, border, BOTTOM, color=SURFACE)
    axes.plot(x, border, color=MUTED, linewidth=1)
    axes.text(LEFT + 0.2, BOTTOM + 0.4, "lower loss", va="center")
    axes.text(RIGHT - 0.2, TOP - 0.4, "higher loss", ha="right", va="center")
