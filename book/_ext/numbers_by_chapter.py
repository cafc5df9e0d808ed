"""Exercises, equations and figures are numbered by chapter: 2.1 is the first of the second chapter that has exercises.

In: the numbers that Sphinx gives, which run on through the whole book. Out: those that notebooks and feedback have too, because
``autograder.notebooks.chapter`` counts the chapters for all of them. On a page that is no chapter they count from 1.
"""

from pathlib import Path

from autograder.notebooks.chapter import chapter_number

COUNTED = ("exercise", "displaymath", "figure")


def number(app, env):
    for page, kinds in env.toc_fignumbers.items():
        kinds.pop("code-block", None)  # the captions of listings have none
        chapter = chapter_number(Path(app.srcdir, f"{page}.md"))
        for kind in COUNTED:
            for place, label in enumerate(kinds.get(kind, ()), start=1):
                kinds[kind][label] = (chapter, place) if chapter else (place,)
    return []


def setup(app):
    app.connect("env-get-updated", number, priority=900)  # after Sphinx has numbered them
    return {"parallel_read_safe": True, "parallel_write_safe": True}
