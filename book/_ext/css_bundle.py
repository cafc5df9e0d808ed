"""Bundle one style sheet for all pages, without rules that no page uses, minified by Lightning CSS.

In: the style sheets that pages load, in the order in which each page loads them. Out: one sheet that keeps all these orders.
"""

import re
from collections.abc import Iterable
from graphlib import TopologicalSorter
from itertools import pairwise
from pathlib import Path
from posixpath import dirname, join, normpath

import lightningcss

# Our own sheets keep all their rules, because their scripts compose class names.
PURGED = re.compile(r"styles/|basic\.css|katex/katex\.css|mystnb\.")
CLASS = re.compile(r"\.(-?[A-Za-z_][\w-]*)")
ADDRESS = re.compile(r"""url\((["']?)(?!["']|[a-z]+:|[/#])([^"')]+)\1\)""")


def sort_names(lists: Iterable[list[str]]) -> list[str]:
    """Return each name in the ``lists`` once, after all names that precede it in some list.

    Raises
    ------
    graphlib.CycleError
        If two lists disagree.
    """
    sorter = TopologicalSorter()
    for names in lists:
        for name in names:
            sorter.add(name)
        for before, after in pairwise(names):
            sorter.add(after, before)
    return list(sorter.static_order())


def purge(sheet: str, words: set[str]) -> str:
    """Return a minified style sheet without the rules whose every selector needs a class that is not in ``words``."""
    return lightningcss.process_stylesheet(sheet, unused_symbols=set(CLASS.findall(sheet)) - words)


def bundle(static: Path, names: list[str], words: set[str]) -> str:
    """Return the sheets ``names`` in the folder ``static`` as one sheet for that folder."""

    def moved(name):
        sheet = static.joinpath(name).read_text(encoding="utf-8")
        sheet = purge(sheet, words) if PURGED.match(name) else lightningcss.process_stylesheet(sheet)
        return ADDRESS.sub(lambda match: f'url("{normpath(join(dirname(name), match[2]))}")', sheet)

    return "\n".join(map(moved, names))
