"""A drawing of EM: what it believes after some iterations, as one small table for each.

In: tables of probabilities. Out: the drawing.
"""

from figures.pictures import heat_map


def draw_em(panels, tables, letters, phonemes):
    """Draw one table in each panel.

    Parameters
    ----------
    panels : list of matplotlib.axes.Axes
    tables : dict of (letters, phonemes)
        Number of iterations: the probability of each phoneme, given a letter.
    letters, phonemes : list of str
    """
    for axes, (iterations, table) in zip(panels, tables.items(), strict=True):
        heat_map(axes, table, letters, phonemes)
        axes.set(xlabel=f"after {iterations}" if iterations else "at first", aspect="equal")
        axes.label_outer()
