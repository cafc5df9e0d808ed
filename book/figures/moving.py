"""Moving figures: a custom element draws what a page has computed; readers without scripts see its first view."""

import html
import json
import os
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from IPython.display import HTML

FOLDER = "../_static/figures"
PHONE_WIDTH = 320  # pixels: of a first view that is a drawing, so that its text can be read on a phone


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


def moving(name, title, numbers, still, model=None):
    """Return a moving figure.

    Without scripts and on paper, it is its first view, drawn now by its own module, and a table unless the view is one. The
    data is part of the page, or a file beside it if the module is loaded at the first touch.

    Parameters
    ----------
    name : str
        The name in its element ``<name-figure>``, and that of its module in ``_static/figures`` unless in ``MODULES``.
    title : str
        What a screen reader calls it.
    numbers : dict
        The element's data: plain values and lists.
    still : str
        HTML of a table, or of several, with the numbers of the first view.
    model : Path, optional
        The file of the trained model that it runs.
    """
    element, data = f"{name.replace('_', '-')}-figure", json.dumps(numbers, ensure_ascii=False).replace("<", "\\u003c")
    first, module = _draw_first_view(name, element, data, model), f"{FOLDER}/{MODULES.get(name, name)}.js"
    is_drawn = "<svg" in first or "<table" not in first
    where, inside = "", f'<script type="application/json">{data}</script>'
    script = f'<script type="module" src="{module}"></script>'
    if name in LOADED_AT_TOUCH:
        where, inside = f' data-numbers="{_publish_text(f"{name}.json", data)}"', ""
        script = AT_TOUCH.format(element, module)
    return HTML(
        f'<{element} class="moving" id="figure-{name}" role="group" aria-label="{html.escape(title)}"{where}>'
        f"{first}{still if is_drawn else ''}{inside}</{element}>{script}"
    )


MODULES = {
    "scoring": "plane",
    "context": "plane",
    "beam": "output_layer",
    "spelling": "capstone",
    "heads": "links",
    "reach": "links",
}  # where the element's module has another name

# Modules that write the whole figure, with its controls: neither they nor their data are needed before somebody uses one.
LOADED_AT_TOUCH = ("exchange", "sentence")
AT_TOUCH = """<script type="module">
const figure = document.querySelector("{0}");
figure.addEventListener("change", () => import("{1}").catch(() => {{
  figure.querySelector(".says").textContent = "The program could not be loaded.";
}}));
</script>"""


def _draw_first_view(name, element, data, model):
    from autograder.formulas import NODE  # only here, because a chapter's notebook has no autograder

    script = Path(__file__).with_name("first_view.mjs")
    module = script.parents[1] / "_static" / "figures" / f"{MODULES.get(name, name)}.js"
    command = [NODE, "--no-warnings", script, module, element, str(PHONE_WIDTH), *([model] if model else [])]
    done = subprocess.run(command, input=data, capture_output=True, text=True, encoding="utf-8")
    if done.returncode:
        raise RuntimeError(f"the first view of <{element}> cannot be drawn: {done.stderr}")
    return done.stdout


def publish(path):
    """Let the website offer a file that the page has made. Return its address relative to a page.

    If no website is being built, nothing is copied.
    """
    folder = os.environ.get("COURSE_MADE_FILES")
    if folder:
        Path(folder).mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, Path(folder, Path(path).name))
    return f"../made/{Path(path).name}"


def _publish_text(name, text):
    with TemporaryDirectory() as folder:
        path = Path(folder, name)
        path.write_text(text, encoding="utf-8")
        return publish(path)


def _cell_html(entry):
    if not isinstance(entry, str):
        return f"{entry:.4f}".replace("-", "\N{MINUS SIGN}")
    return f'<span lang="hi">{entry}</span>' if _lang_attribute(entry) else entry


def _lang_attribute(word):
    return ' lang="hi"' if any("\u0900" <= letter <= "\u097f" for letter in word) else ""
