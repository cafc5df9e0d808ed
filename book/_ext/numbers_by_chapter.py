"""Exercises, equations and figures are numbered by chapter: 2.1 is the first of the second chapter that has exercises.

In: the numbers that Sphinx gives, which run on through the whole book. Out: those that notebooks and feedback have too, because
``autograder.notebooks.chapter`` counts the chapters for all of them. On a page that is no chapter they count from 1.
"""

import copy
from pathlib import Path

from autograder.notebooks.chapter import chapter_number

COUNTED = ("exercise", "displaymath", "figure")


def give_back(app, env, docnames):
    """Put Sphinx's own numbers back: by them it sees which pages have others than in the build before."""
    env.toc_fignumbers = getattr(env, "sphinx_fignumbers", env.toc_fignumbers)


def number(app, env):
    env.sphinx_fignumbers = copy.deepcopy(env.toc_fignumbers)
    for page, kinds in env.toc_fignumbers.items():
        kinds.pop("code-block", None)  # the captions of listings have none
        chapter = chapter_number(Path(app.srcdir, f"{page}.md"))
        for kind in COUNTED:
            for place, label in enumerate(kinds.get(kind, ()), start=1):
                kinds[kind][label] = (chapter, place) if chapter else (place,)
    return []


def setup(app):
    app.connect("env-before-read-docs", give_back)
    app.connect("env-get-updated", number, priority=900)  # after Sphinx has numbered them
    return {"parallel_read_safe": True, "parallel_write_safe": True}
