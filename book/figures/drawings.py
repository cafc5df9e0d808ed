"""Drawings of what is computed from what: boxes and arrows, in the colours of ``figures.pictures``.

In: what a page has computed, and axes if it draws several panels. Out: the drawing. One unit is about 57 pixels, so 5.9 units
are a phone's width.
"""

import matplotlib.pyplot as plt
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from figures.pictures import INK, MUTED, PURPLE, SOURCE_COLOURS, SURFACE

WORD_COLOURS = tuple(SOURCE_COLOURS.values())  # of a sentence's first, second and third word
WIDTH = 5.9  # units
UNIT = 0.8  # inches


def start_drawing(bottom, top):
    """Return axes without a frame, as wide as a phone, whose lower left corner is (0, ``bottom``)."""
    figure = plt.figure(figsize=(WIDTH * UNIT, (top - bottom) * UNIT), layout="none")
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, WIDTH), ylim=(bottom, top))
    axes.axis("off")
    return axes


def draw_box(axes, x, y, text="", colour=SURFACE, width=0.9, height=0.5, edge=MUTED):
    """Draw a box with its centre at (x, y)."""
    corner = (x - width / 2, y - height / 2)
    axes.add_patch(FancyBboxPatch(corner, width, height, boxstyle="round,pad=0.02", fc=colour, ec=edge))
    axes.text(x, y, text, ha="center", va="center", fontsize=15)


def draw_arrow(axes, start, end, color=INK, bend=0.0, head=12, **look):
    """Draw an arrow that bulges sideways by the share ``bend`` of its length."""
    look = {"arrowstyle": "-|>", "mutation_scale": head, "color": color, "shrinkA": 0, "shrinkB": 0} | look
    axes.add_patch(FancyArrowPatch(start, end, connectionstyle=f"arc3,rad={bend}", **look))


def draw_order(axes, title, looks_first):
    """Draw one step of a decoder between the step before and the step after.

    The boxes have the same places in both orders. If the decoder ``looks_first``, the old state is the query and the context
    enters the new state; otherwise the new state is the query, and the context enters the word and the next state.
    """
    axes.set(xlim=(0, WIDTH), ylim=(-1.65, 2.2), title=title)
    axes.axis("off")
    old, new, after, middle, look = 0.55, 2.95, 5.35, 1.2, {"linewidth": 2.5, "head": 16}
    for x, y, name in [(old, 0, "$s_{i-1}$"), (new, 0, "$s_i$"), (after, 0, "$s_{i+1}$"), (new, 1.7, "$c_i$")]:
        draw_box(axes, x, y, name)
    for x, name in [(old + middle, "$y_{i-1}$"), (new + middle, "$y_i$")]:
        axes.text(x, -1.4, name, ha="center", va="center", fontsize=15)
        draw_arrow(axes, (x + 0.2, -1.15), (x + middle - 0.3, -0.3), MUTED)
    for x in (old, new):
        draw_arrow(axes, (x + 0.48, 0), (x + 1.92, 0), MUTED)
    draw_arrow(axes, (new + 0.3, -0.3), (new + middle - 0.2, -1.15), MUTED)
    if looks_first:
        draw_arrow(axes, (old + 0.4, 0.29), (new - 0.5, 1.6), PURPLE, **look)
        draw_arrow(axes, (new, 1.42), (new, 0.3), INK, **look)
        axes.text(1.5, 1.15, "query", ha="right", va="center", color=PURPLE)
        axes.text(new + 0.15, 0.85, "context", va="center", color=INK)
    else:
        draw_arrow(axes, (new, 0.28), (new, 1.4), PURPLE, **look)
        draw_arrow(axes, (new + 0.3, 1.42), (new + middle, -1.13), INK, **look)
        draw_arrow(axes, (new + 0.5, 1.6), (after, 0.3), INK, linestyle="--", **look)
        axes.text(new - 0.15, 0.85, "query", ha="right", va="center", color=PURPLE)
        axes.text(new + 0.82, 0.42, "context", va="center", color=INK)
        axes.text(4.6, 1.15, "if fed back", va="center", color=INK)
