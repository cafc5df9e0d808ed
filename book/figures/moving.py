"""Moving figures: a custom element draws what a page has computed; readers without scripts see a table."""

import html
import json
import os
import shutil
from pathlib import Path

from IPython.display import HTML

FOLDER = "../_static/figures"


def table(caption, head, rows):
    """Return an HTML table, each row headed by its first entry; Hindi is marked as such.

    Parameters
    ----------
    caption : str
    head : list of str
        One title per column.
    rows : list of list
        Strings, or numbers, which are shown with four decimals.
    """
    titles = "".join(f'<th scope="col">{_cell_html(title)}</th>' for title in head)
    body = "".join(
        f'<tr><th scope="row">{_cell_html(first)}</th>'
        + "".join(f"<td>{_cell_html(entry)}</td>" for entry in rest)
        + "</tr>"
        for first, *rest in rows
    )
    return f"<table><caption>{caption}</caption><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table>"


def moving(name, title, numbers, still):
    """Return a moving figure.

    Parameters
    ----------
    name : str
        The name in its element ``<name-figure>``, and that of its module in ``_static/figures`` unless in ``MODULES``.
    title : str
        What a screen reader calls it.
    numbers : dict
        The element's data: plain values and lists.
    still : str
        HTML that is shown without scripts and on paper.
    """
    element, data = f"{name.replace('_', '-')}-figure", json.dumps(numbers, ensure_ascii=False).replace("<", "\\u003c")
    return HTML(
        f'<{element} class="moving" id="figure-{name}" role="group" aria-label="{html.escape(title)}">{still}'
        f'<script type="application/json">{data}</script></{element}>'
        f'<script type="module" src="{FOLDER}/{MODULES.get(name, name)}.js"></script>'
    )


MODULES = {
    "beam": "output_layer",
    "spelling": "capstone",
    "heads": "links",
    "reach": "links",
}  # where the element's module has another name


def publish(path):
    """Let the website offer a file that the page has made. Return its address relative to a page.

    If no website is being built, nothing is copied.
    """
    folder = os.environ.get("COURSE_MADE_FILES")
    if folder:
        Path(folder).mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, Path(folder, Path(path).name))
    return f"../made/{Path(path).name}"


def alignment(source, target, weights):
    """Return an SVG that shows how strongly each target word attends to each source word: lines as thick as their weights."""
    width, parts = 640, []
    for i, row in enumerate(weights):
        for j, weight in enumerate(row):
            x, y = width * (i + 0.5) / len(target), width * (j + 0.5) / len(source)
            parts.append(
                f'<path class="line l{j + 1}" d="M{x:.0f} 40L{y:.0f} 140" '
                f'style="stroke-width:{1 + 13 * weight:.1f};opacity:{0.1 + 0.9 * weight:.2f}"/>'
            )
    for words, y in ((target, 28), (source, 165)):
        for k, word in enumerate(words):
            text = f'<text x="{width * (k + 0.5) / len(words):.0f}" y="{y}" text-anchor="middle" style="font-size:20px"'
            parts.append(f"{text}{_lang_attribute(word)}>{word}</text>")
    return f'<svg aria-hidden="true" viewBox="0 0 {width} 180" width="{width}">{"".join(parts)}</svg>'


def _cell_html(entry):
    if not isinstance(entry, str):
        return f"{entry:.4f}".replace("-", "\N{MINUS SIGN}")
    return f'<span lang="hi">{entry}</span>' if _lang_attribute(entry) else entry


def _lang_attribute(word):
    return ' lang="hi"' if any("\u0900" <= letter <= "\u097f" for letter in word) else ""
