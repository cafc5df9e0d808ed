"""One style sheet for all pages: without the rules for what is on no page, and minified by Lightning CSS.

In: the style sheets that pages ask for, in the order in which each page asks for them. Out: one sheet that keeps all these orders.
"""

import re
from collections.abc import Iterable
from graphlib import TopologicalSorter
from itertools import pairwise
from pathlib import Path
from posixpath import dirname, join, normpath

import lightningcss

# Of our own sheets nothing is left out: their scripts put names of classes together.
PURGED = re.compile(r"styles/|basic\.css|katex/katex\.css|mystnb\.")
CLASS = re.compile(r"\.(-?[A-Za-z_][\w-]*)")
ADDRESS = re.compile(r"""url\((["']?)(?!["']|[a-z]+:|[/#])([^"')]+)\1\)""")


def sort_names(lists: Iterable[list[str]]) -> list[str]:
    """Return everything that the ``lists`` name, once, each name after those that stand before it in some list.

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
    """Return a minified style sheet without the rules whose every selector asks for a class that is not among ``words``."""
    return lightningcss.process_stylesheet(sheet, unused_symbols=set(CLASS.findall(sheet)) - words)


def bundle(static: Path, names: list[str], words: set[str]) -> str:
    """Return the sheets of these ``names`` in the folder ``static`` as one sheet that lies in it."""

    def moved(name):
        sheet = static.joinpath(name).read_text(encoding="utf-8")
        sheet = purge(sheet, words) if PURGED.match(name) else lightningcss.process_stylesheet(sheet)
        return ADDRESS.sub(lambda match: f'url("{normpath(join(dirname(name), match[2]))}")', sheet)

    return "\n".join(map(moved, names))
