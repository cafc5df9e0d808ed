"""Offer each chapter's code as a notebook that readers can run, with the modules of this project that it imports.

In: the chapters, ``solutions``, the answer key. Out: a notebook for each chapter in the website's ``chapters``, linked from
its card; no copy button on code that runs only in this project. A notebook needs numpy, torch and matplotlib. It omits the
bodies of functions that exercises ask for, and uses the reader's answers from assignment notebooks beside it. Without them,
statements that call such a function, or need the repository itself, are skipped with a message, and the others run.
"""

import ast
import re
from functools import cache
from pathlib import Path

import jupytext
import nbformat
from docutils import nodes
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from autograder.exercises import setup_code
from autograder.notebooks.chapter import chapter_number
from solutions import answer_key

ROOT = Path(__file__).resolve().parents[2]
PROJECT_PACKAGES = ("solutions", "figures", "autograder", "benchmarks")  # packages that only this project has
AVAILABLE_PACKAGES = (
    "solutions.in_numpy",
    "solutions.in_torch",
    "figures",
)  # packages whose modules a notebook includes, without their answers
SOLUTION_REGION = re.compile(r"^( *)### BEGIN SOLUTION\n.*?### END SOLUTION$", flags=re.MULTILINE | re.DOTALL)
CODE_ENDS = re.compile(r"^## (Check yourself|Exercises|Sources)$", flags=re.MULTILINE)
NO_COPY_CLASS = "runs-here-only"
COPY_SELECTOR = (
    f":not(.{NO_COPY_CLASS}, .cell_output) > div > div.highlight pre"  # nobody needs to copy what a cell prints
)
PICTURE_NAMES = ("INK", "BLUE", "SOURCE_COLOURS", "WHITE_FROM", "heat_map")  # of figures.pictures
MOVING_STUB = """

def moving(name, title, numbers, still, model=None):
    return HTML(f"<p>{title}: it moves on the page. Here are its numbers.</p>{still}")
"""
PICTURES_STUB = '''
import warnings

from matplotlib.patches import Rectangle

warnings.filterwarnings("ignore", message="Glyph .* missing from font")


def use_style():
    """Leave matplotlib as it is: without a Devanagari font it draws Hindi as boxes."""
'''
INTRODUCTION = """# {title}: the code

This is the code of the chapter, to run and to change. It needs numpy, torch and matplotlib, and no other file.

Some cells call functions that you write in the assignment. Put your `{topic}.ipynb` into the folder of this notebook, before
you run it, and its answers are used; for functions of other chapters, put their notebooks there too. Without them these cells
say what they need, and the others run."""
SET_UP = '''# numpy, torch and matplotlib are all that this notebook needs. Run this cell first.
import ast
import json
import sys
import types
from pathlib import Path

import matplotlib.pyplot
import numpy  # both are needed further down: what is missing, is missed here
import torch
from IPython import get_ipython
from IPython.core.magic import register_cell_magic
from IPython.display import display

_REPOSITORY = "the repository of the course"
_lost = {}  # a name without a value -> what that value needs
_lacking = {}  # what the cell that runs needs, and nobody has
_DEFINITIONS = (ast.Assign, ast.FunctionDef, ast.Import, ast.ImportFrom)  # of a cell that lacks something, these still run


def _answers(topic):
    """Return what the answer cells of the assignment define that lies beside this notebook, if it does."""
    names = {"__name__": topic}
    path = Path(f"{topic}.ipynb")
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if path.is_file() else ():
        marks, source = cell["metadata"].get("nbgrader", {}), "".join(cell["source"])
        wanted = marks.get("solution") or marks.get("grade_id") in ("imports", "provided")
        if cell["cell_type"] == "code" and wanted and "NotImplementedError" not in source:
            try:
                exec(compile(source, str(path), "exec"), names)
            except Exception as error:
                print(f"A cell of {path} was passed over: {error!r}")
    return names


@register_cell_magic
def course(line, cell):
    """Make the module of that name. What follows the name are functions that the assignments ask for."""
    name, *asked = line.split()
    parts = name.split(".")
    for n in range(1, len(parts)):
        sys.modules.setdefault(".".join(parts[:n]), types.ModuleType(".".join(parts[:n])))
    made = sys.modules[name] = types.ModuleType(name)
    exec(compile(cell, name, "exec"), made.__dict__)
    own = _answers(parts[-1]) if asked else {}
    made.__dict__.update({function: own[function] for function in asked if function in own})


def _lose(needs, names):
    """Note that the cell needs what nobody has, and that ``names`` have no value without it."""
    _lacking.update(dict.fromkeys(needs))
    for name in names:
        _lost[name] = needs
        get_ipython().user_ns.pop(name, None)


def _check(error, names):
    """Lose ``names`` where that is why a statement failed that defines them; raise any other error again."""
    if isinstance(error, NotImplementedError) and str(error).endswith(".ipynb"):
        _lose([str(error)], names)
    elif isinstance(error, NameError) and error.name in _lost:
        _lose(_lost[error.name], names)
    else:
        raise


def _show(value):
    if value is not None:
        display(value)


def _end():
    """Say what the cell lacked, and forget its pictures: they would lack what they are about."""
    if _lacking:
        matplotlib.pyplot.close("all")
    if _REPOSITORY in _lacking:
        print(f"Here the page goes on with what only {_REPOSITORY} can run.")
    elif _lacking:
        print("To go on, this cell needs " + ", ".join(_lacking) + ".")


class _Guard(ast.NodeTransformer):
    """Run the statements of a cell one by one, so that those that lack something keep no other from running."""

    def visit_Module(self, cell):
        _lacking.clear()
        if cell.body and isinstance(last := cell.body[-1], ast.Expr):
            last.value = ast.Call(ast.Name("_show", ast.Load()), [last.value], [])
        cell.body = [*map(self._guarded, cell.body), *ast.parse("_end()").body]
        return ast.fix_missing_locations(cell)

    def _guarded(self, statement):
        parts = list(ast.walk(statement))
        names = [part.id for part in parts if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)]
        if any(isinstance(part, ast.Constant) and str(part.value).startswith("../") for part in parts):
            return ast.parse(f"_lose([_REPOSITORY], {names})").body[0]
        (guard,) = ast.parse(
            f"if {isinstance(statement, _DEFINITIONS)} or not _lacking:\\n"
            f"    try: pass\\n    except Exception as error: _check(error, {names})\\n"
            f"else: _lose(list(_lacking), {names})"
        ).body
        guard.body[0].body = [statement]
        return guard


get_ipython().ast_transformers.append(_Guard())
'''


def find_imported_names(source):
    """Return ``{module: names}`` that Python source imports from this project.

    Raises
    ------
    ValueError
        If it imports a whole module, which a notebook cannot include.
    """
    imports = {}
    for statement in ast.walk(ast.parse(source)):
        if isinstance(statement, ast.ImportFrom) and _is_of_project(statement.module):
            imports.setdefault(statement.module, []).extend(alias.asname or alias.name for alias in statement.names)
        elif isinstance(statement, ast.Import) and any(_is_of_project(alias.name) for alias in statement.names):
            raise ValueError(f"{ast.unparse(statement)}: write `from … import …`, which a notebook can bring along")
    return imports


def _is_of_project(module):
    return module.split(".")[0] in PROJECT_PACKAGES


def copyable(sources):
    """Return for each code cell of a page whether it runs outside this project once the cells above it have run."""
    ours, flags = set(), []
    for source in sources:
        alone = True
        for statement in ast.parse(source).body:
            parts = list(ast.walk(statement))
            names = [part for part in parts if isinstance(part, ast.Name)]
            bound = {part.id for part in names if isinstance(part.ctx, ast.Store)}
            bound |= {part.name for part in parts if isinstance(part, ast.FunctionDef | ast.ClassDef)}
            texts = (str(part.value) for part in parts if isinstance(part, ast.Constant))
            own = set().union(*find_imported_names(ast.unparse(statement)).values())
            is_ours = bool(own or ours & {part.id for part in names if isinstance(part.ctx, ast.Load)})
            is_ours = is_ours or any(text.startswith("../") for text in texts)
            ours = (ours | own | bound) if is_ours else ours - bound
            alone = alone and not is_ours
        flags.append(alone)
    return flags


def module_cells(source):
    """Return cells that create the modules imported by Python source, each after those that it imports itself.

    Cells are ``{module: text}``; modules that a notebook cannot include are left out.
    """
    cells = {}
    for module in find_imported_names(source):
        if module in cells or not _is_available(module):
            continue
        text, asked = _module_text(module, source)
        cells |= module_cells(text) | {module: f"%%course {' '.join([module, *asked])}\n{text.strip()}\n"}
    return cells


def _is_available(module):
    return module == "solutions.answer_key" or module.rpartition(".")[0] in AVAILABLE_PACKAGES


def _module_text(module, source):
    """Return the text of a module without answers, and the functions whose answers are missing; ``source`` imports it."""
    if module == "solutions.answer_key":
        return _examples_module(set(re.findall(r'worked_example\("([\w-]+)"\)', source))), []
    folder = ROOT if module.startswith("solutions.") else ROOT / "book"
    text = folder.joinpath(*module.split(".")).with_suffix(".py").read_text(encoding="utf-8")
    if module == "figures.moving":
        return text + MOVING_STUB, []
    if module == "figures.pictures":
        wanted = [node for node in ast.parse(text).body if _defines(node, PICTURE_NAMES)]
        return "\n\n\n".join([PICTURES_STUB, *(ast.get_source_segment(text, node) for node in wanted)]), []
    asked = []

    def without_answer(solution):
        asked.append(re.findall(r"^def (\w+)", text[: solution.start()], flags=re.MULTILINE)[-1])
        return f'{solution[1]}raise NotImplementedError("{asked[-1]} of {module.rpartition(".")[2]}.ipynb")'

    return SOLUTION_REGION.sub(without_answer, text), asked


def _defines(node, names):
    targets = [part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)]
    return bool({getattr(node, "name", ""), *targets} & set(names)) and not isinstance(node, ast.For)


def build_notebook(page):
    """Return the notebook of the chapter in the file ``page``."""
    text = Path(page).read_text(encoding="utf-8")
    title = re.search(r"^# ([^:\n]*)", text, flags=re.MULTILINE)[1]
    cells = jupytext.reads(CODE_ENDS.split(text)[0], fmt="md:myst").cells
    source = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
    absent = [
        name for module, names in find_imported_names(source).items() if not _is_available(module) for name in names
    ]
    lost = f"# What only the repository has.\n_lost.update(dict.fromkeys({absent}, [_REPOSITORY]))"
    set_up = [SET_UP.rstrip(), *module_cells(source).values(), lost]
    shown = [
        new_code_cell(_drop_unavailable_imports(cell.source))
        if cell.cell_type == "code"
        else new_markdown_cell(_strip_myst(cell.source))
        for cell in cells
    ]
    hidden = [new_code_cell(text, metadata={"jupyter": {"source_hidden": True}}) for text in set_up]
    head = [new_markdown_cell(INTRODUCTION.format(title=title, topic=Path(page).stem))]
    if more := setup_code(Path(page).stem):
        head.append(new_code_cell(more))
    cells = [*head, *hidden, *(cell for cell in shown if cell.source)]
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number:03d}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return new_notebook(cells=cells, metadata={"kernelspec": kernel, "language_info": {"name": "python"}})


def _drop_unavailable_imports(source):
    """Return a cell without its imports of modules that a notebook cannot include."""
    for statement in ast.parse(source).body:
        if (
            isinstance(statement, ast.ImportFrom)
            and _is_of_project(statement.module)
            and not _is_available(statement.module)
        ):
            source = source.replace(ast.get_source_segment(source, statement), "")
    return source.strip()


def _strip_myst(text):
    """Return MyST text as a notebook shows it: without directives, labels, and roles."""
    text = re.sub(r"^(`{3,})\{[^\n]*\n.*?^\1`*[ ]*$", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"^\([\w-]+\)=\n?", "", text, flags=re.MULTILINE)
    text = re.sub(r"\s?\{footcite:\w+\}`[^`]*`", "", text)
    text = re.sub(
        r"^\$\$ \(([\w-]+)\)$", lambda match: f"\\tag{{{_equation_numbers()[match[1]]}}}\n$$", text, flags=re.MULTILINE
    )
    text = re.sub(r"\{eq\}`([\w-]+)`", lambda match: f"({_equation_numbers()[match[1]]})", text)
    text = re.sub(r"^\{numref\}`[^`]*`", "The picture below", text, flags=re.MULTILINE)
    text = re.sub(r"\{numref\}`[^`]*`", "the picture below", text)
    text = re.sub(r"\{[\w:-]+\}`([^`<]*?)\s*(?:<[^`]*>)?`", r"\1", text)
    text = re.sub(r"\[\]\((\w+)\.md[^)]*\)", r"\1", text)
    text = re.sub(r"\[([^\]]+)\]\(\w+\.md[^)]*\)", r"\1", text)
    return re.sub(r"\n{3,}", "\n\n", text).strip()


@cache
def _equation_numbers():
    """Return the number of each labelled equation of the chapters, as shown on the pages."""
    numbers = {}
    for topic in answer_key.topics():
        path = ROOT / "book" / f"{topic}.md"
        labels = re.findall(r"^\$\$ \(([\w-]+)\)$", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
        chapter = chapter_number(path)
        numbers |= {label: f"{chapter}.{place}" for place, label in enumerate(labels, start=1)}
    return numbers


def _examples_module(names):
    """Return the source of a module with ``worked_example`` for the exercises of these ``names``."""
    cases = []
    for name in sorted(names):
        case = answer_key.worked_example(name)
        inputs = "".join(f"            {key!r}: {array.tolist()!r},\n" for key, array in case.inputs.items())
        expected = case.expected.tolist()
        cases.append(
            f"    {name!r}: {{\n        'inputs': {{\n{inputs}        }},\n        'expected': {expected!r},\n    }},\n"
        )
    return (
        "from types import SimpleNamespace\n\nimport numpy as np\n\n"
        f"EXAMPLES = {{\n{''.join(cases)}}}\n\n\n"
        "def worked_example(name):\n"
        "    case = EXAMPLES[name]\n"
        "    inputs = {key: np.array(value) for key, value in case['inputs'].items()}\n"
        "    return SimpleNamespace(inputs=inputs, expected=np.array(case['expected']))\n"
    )


def hide_copy_buttons(app, doctree):
    """Remove the copy button from cells that run only in this project."""
    blocks = [block for block in doctree.findall(nodes.container) if "cell_input" in block["classes"]]
    sources = [block.next_node(nodes.literal_block).astext() for block in blocks]
    for block, alone in zip(blocks, copyable(sources), strict=True):
        if not alone:
            block["classes"].append(NO_COPY_CLASS)


def write_notebooks(app, exception):
    if exception or app.builder.format != "html":
        return
    folder = Path(app.outdir, "chapters")
    folder.mkdir(exist_ok=True)
    for topic in chapter_topics(app):
        nbformat.write(build_notebook(app.env.doc2path(f"book/{topic}")), folder / f"{topic}-code.ipynb")


def chapter_topics(app):
    """Return the topics whose chapters are in this website."""
    return [topic for topic in answer_key.topics() if f"book/{topic}" in app.env.found_docs]


def set_copy_selector(app, config):
    if "copybutton_selector" in config:
        config.copybutton_selector = COPY_SELECTOR


def setup(app):
    app.connect("config-inited", set_copy_selector, priority=100)  # before sphinx-copybutton reads it
    app.connect("doctree-read", hide_copy_buttons)
    app.connect("build-finished", write_notebooks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
