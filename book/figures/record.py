"""A drawing of a course's record: what adds events to it, and what is made from it.

In: names. Out: the drawing, as wide as a phone.
"""

from figures.drawings import WIDTH, draw_arrow, draw_box, start_drawing
from figures.pictures import BLUE, GREEN, MUTED

ROW = 0.62


def draw_record(writers, kinds, projections):
    """Draw three columns: the ``writers``, the record with some ``kinds`` of its events, and its ``projections``.

    Parameters
    ----------
    writers, projections : list of str
        As many of one as of the other.
    kinds : list of str
        From the first event to the last.
    """
    bottom = -ROW * (max(len(writers), len(kinds)) - 1) - 0.45
    axes = start_drawing(bottom, 0.95)
    middle = WIDTH / 2
    for x, title, colour in (
        (0.9, "commands", MUTED),
        (middle, "events", BLUE),
        (WIDTH - 0.9, "what follows", GREEN),
    ):
        axes.text(x, 0.6, title, ha="center", va="center", fontsize=13, color=colour)
    for row, kind in enumerate(kinds):
        draw_box(axes, middle, -ROW * row, kind, width=1.3, height=0.42, edge=BLUE)
    for left, names, colour in ((True, writers, MUTED), (False, projections, GREEN)):
        for row, name in enumerate(names):
            y = -ROW * row * (len(kinds) - 1) / max(len(names) - 1, 1)
            draw_box(axes, 0.9 if left else WIDTH - 0.9, y, name, width=1.75, height=0.42, edge=colour)
            start, end = (1.8, middle - 0.72) if left else (middle + 0.72, WIDTH - 1.8)
            draw_arrow(axes, (start, y), (end, y), colour)
