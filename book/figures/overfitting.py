"""A drawing of overfitting: two curves that part.

In: losses of a training that was recorded. Out: the drawing.
"""

import numpy as np

from figures.pictures import INK, MUTED, SURFACE


def draw_overfitting(axes, steps, training, validation):
    """Draw both losses, the gap between them, and where early stopping would stop.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
    steps : list of int
    training, validation : list of float
        Losses after each number of steps.
    """
    best = int(np.argmin(validation))
    axes.fill_between(steps, training, validation, color=SURFACE)
    axes.axvline(steps[best], color=MUTED, linestyle="--", linewidth=1)
    for losses, color, name in ((training, MUTED, "training"), (validation, INK, "validation")):
        axes.plot(steps, losses, color=color)
        axes.text(steps[-1], losses[-1] + 0.07, name, ha="right", va="bottom", color=color)
    axes.plot(steps[best], validation[best], "o", color=INK)
    axes.text(steps[best] + 15, 1.12, "early stopping", va="center", color=MUTED)
    axes.set(xlabel="training step", ylabel="loss (nats per word)", ylim=(0, 1.2))
