"""Code that a reader can run: each chapter as a notebook that brings along what stands nowhere but in this project.

In: the chapters, ``solutions``, the answer key. Out: in ``chapters`` of the website a notebook for each chapter, linked from
its card; and no copy button at code which, copied alone, would run nowhere else. A notebook needs numpy, torch and matplotlib.
Functions that the exercises ask for are not in it: where a reader's answers lie beside it, it takes those, and where not, the
cells that need them say which ones. What needs the repository itself is left out, and said to be.
"""

import ast
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import jupytext
import nbformat
from docutils import nodes
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from autograder.notebooks.chapter import chapter_number
from solutions import answer_key

ROOT = Path(__file__).resolve().parents[2]
SOLUTIONS = ROOT / "solutions"
GRADED = "### BEGIN SOLUTION"
OURS = ("solutions", "figures", "autograder", "benchmarks")  # packages that only this project has
HERE = "needs the repository"  # of code that no notebook can bring along
END = re.compile(r"^## (Check yourself|Exercises|Sources)$", flags=re.MULTILINE)
NO_COPY = "runs-here-only"
COPIED = f":not(.{NO_COPY}, .cell_output) > div > div.highlight pre"  # nobody needs to copy what a cell says
FIGURES = {  # what draws on a page, for a notebook: a moving figure is its table there
    "figures.moving": ("table", "alignment", "_shown", "_language"),
    "figures.pictures": ("INK", "BLUE", "WEIGHT", "heat_map"),
}
FIGURE_PARTS = {
    "figures.moving": """
from IPython.display import HTML


def moving(name, title, numbers, still):
    return HTML(f"<p>{title}: it moves on the page. Here are its numbers.</p>{still}")


def publish(path):
    return str(path)
""",
    "figures.pictures": '''
import warnings

from matplotlib.patches import Rectangle

warnings.filterwarnings("ignore", message="Glyph .* missing from font")


def use_style():
    """Leave matplotlib as it is: without a Devanagari font it draws Hindi as boxes."""
''',
}
HEAD = """# {title}: the code

This is the code of the chapter, to run and to change. It needs numpy, torch and matplotlib, and no other file.

Some cells call functions that you write in the assignment. They begin with `%%with_answers` and their names. Put your
`{topic}.ipynb` into the folder of this notebook, before you run it, and its answers are used; for functions of other chapters,
put their notebooks there too. Without them these cells say what they need, and the others run."""
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


def _answers(topic):
    """Return what the answer cells of the assignment define that lies beside this notebook, if it does."""
    found = {"__name__": topic}
    path = Path(f"{topic}.ipynb")
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if path.is_file() else ():
        marks, source = cell["metadata"].get("nbgrader", {}), "".join(cell["source"])
        wanted = marks.get("solution") or marks.get("grade_id") in ("imports", "provided")
        if cell["cell_type"] == "code" and wanted and "NotImplementedError" not in source:
            try:
                exec(compile(source, str(path), "exec"), found)
            except Exception as error:
                print(f"A cell of {path} was passed over: {error!r}")
    return found


def _not_written(topic, name):
    def function(*args, **named):
        raise NotImplementedError(f"{name} is yours to write: see {topic}.ipynb")

    function.asked = f"{name} of {topic}.ipynb"
    return function


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
    for function in asked:
        setattr(made, function, own.get(function) or _not_written(parts[-1], function))


def _names(statement, context):
    found = {n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, context)}
    return found | ({statement.name} if context is ast.Store and hasattr(statement, "name") else set())


def _lacks(name):
    """Return the functions that a name of the chapter needs, and that nobody has written yet."""
    functions = [getattr(sys.modules[m], f) for m, _, f in (each.rpartition(".") for each in NEEDS.get(name, ()))]
    return [function.asked for function in functions if hasattr(function, "asked")]


_lost = {}  # what has no value yet -> what it needs


@register_cell_magic
def with_answers(line, cell):
    """Run a cell up to where it needs a function that nobody has written yet, and what it defines after that."""
    lacking, ready = {}, []

    def run(last):
        if ready:
            get_ipython().run_cell("\\n".join(ready) + ("" if last else "\\nNone")).raise_error()
            ready.clear()

    for statement in ast.parse(cell).body:
        used = _names(statement, ast.Load)
        needed = [each for name in sorted(used) for each in (_lost.get(name) or _lacks(name))]
        if needed:
            run(last=False)
            lacking.update(dict.fromkeys(needed))
            _lost.update(dict.fromkeys(_names(statement, ast.Store), needed))
        elif not lacking or isinstance(statement, (ast.Assign, ast.FunctionDef, ast.Import, ast.ImportFrom)):
            for name in _names(statement, ast.Store):
                _lost.pop(name, None)
            ready.append(ast.get_source_segment(cell, statement))
    run(last=not lacking)
    if lacking:
        matplotlib.pyplot.close("all")  # a picture would lack what it is about
        print("To go on, this cell needs " + ", ".join(lacking) + ".")
'''


@dataclass(frozen=True)
class Cell:
    """A code cell of a page: what it needs beside itself.

    ``needs`` holds the dotted names of functions that are asked for, or ``HERE``; ``copied`` says whether it runs anywhere when
    what stands above it on the page was run. ``elsewhere`` are those of its statements that run without the repository.
    """

    source: str
    elsewhere: str
    needs: frozenset[str]
    copied: bool


class Course:
    """What the cells of a page take from this project: the modules that a notebook has to bring along."""

    def __init__(self):
        self.parts = {}  # module -> the definitions that are needed of it, as syntax trees
        self.asked = {}  # module -> functions that are asked for
        self.needs = {}  # (module, name) -> what it needs itself
        self.aliases = {}  # a name of the page -> what it needs
        self.examples = set()

    def take(self, module, name):
        """Note that ``name`` of ``module`` is needed; return what that needs in turn."""
        if (module, name) in self.needs:
            return self.needs[module, name]
        self.needs[module, name] = frozenset()  # until it is known, for what calls itself
        self.needs[module, name] = self._take(module, name)
        return self.needs[module, name]

    def _take(self, module, name):
        if module == "solutions.answer_key" or module in FIGURES:
            self.parts.setdefault(module, [])
            return frozenset()
        if module not in _modules():
            return frozenset([HERE])
        source, tree = _modules()[module]
        definition = next((node for node in tree.body if name in _bound(node)), None)
        if definition is None:
            return frozenset([HERE])
        self.parts.setdefault(module, [])
        if isinstance(definition, ast.ImportFrom) and definition.module.startswith("solutions."):
            needs = self.take(definition.module, _imported(definition)[name])
        elif GRADED in (ast.get_source_segment(source, definition) or ""):
            self.asked.setdefault(module, set()).add(name)
            return frozenset([f"{module}.{name}"])
        else:
            known = {bound for node in tree.body for bound in _bound(node)}
            needs = frozenset().union(*(self.take(module, used) for used in sorted(_used(definition) & known - {name})))
        if definition not in self.parts[module]:
            self.parts[module].append(definition)
        return needs

    def modules(self):
        """Return the texts of cells that make the modules, each after those that it imports."""
        done, texts = set(), []

        def add(module):
            if module in done:
                return
            done.add(module)
            for node in self.parts[module]:
                if isinstance(node, ast.ImportFrom) and node.module in self.parts:
                    add(node.module)
            asked = " ".join(sorted(self.asked.get(module, ())))
            texts.append(f"%%course {module} {asked}".rstrip() + f"\n{self._text(module).strip()}\n")

        for module in sorted(self.parts):
            add(module)
        return texts

    def _text(self, module):
        if module == "solutions.answer_key":
            return _examples(self.examples)
        if module in FIGURES:
            source = (ROOT / "book" / f"{module.replace('.', '/')}.py").read_text(encoding="utf-8")
            wanted = [node for node in ast.parse(source).body if _bound(node) & set(FIGURES[module])]
            return "\n\n\n".join(
                [FIGURE_PARTS[module].strip(), *(ast.get_source_segment(source, node) for node in wanted)]
            )
        source, tree = _modules()[module]
        imports, texts = [], []
        for node in tree.body:
            if node not in self.parts[module]:
                continue
            if isinstance(node, ast.Import | ast.ImportFrom):
                kept = node
                if isinstance(node, ast.ImportFrom) and node.module.startswith("solutions."):
                    names = [alias for alias in node.names if (module, alias.asname or alias.name) in self.needs]
                    kept = ast.ImportFrom(node.module, names, 0)
                imports.append(ast.unparse(kept))
            else:
                begin = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))])
                texts.append("\n".join(source.splitlines()[begin - 1 : node.end_lineno]))
        return "\n\n\n".join(filter(None, ["\n".join(imports), *texts]))


def read(sources, course):
    """Return a ``Cell`` for each of the code cells of a page, and let ``course`` note what they take from this project."""
    origins, ours, found = {}, set(), []
    for source in sources:
        needs, copied, dropped, elsewhere = set(), True, False, []
        for statement in ast.parse(source).body:
            bound, used = _bound(statement, deep=True), _used(statement)
            if isinstance(statement, ast.ImportFrom) and statement.module.split(".")[0] in OURS:
                copied = False
                for name, original in _imported(statement).items():
                    ours.add(name)
                    origins[name] = course.aliases[name] = course.take(statement.module, original)
                names = [alias for alias in statement.names if HERE not in course.needs[statement.module, alias.name]]
                dropped = dropped or len(names) < len(statement.names)
                elsewhere += [ast.unparse(ast.ImportFrom(statement.module, names, 0))] if names else []
                continue
            if isinstance(statement, ast.Import) and any(alias.name.split(".")[0] in OURS for alias in statement.names):
                raise ValueError(f"{ast.unparse(statement)}: write `from … import …`, which a notebook can bring along")
            course.examples |= _examples_of(statement)
            taken = frozenset().union(*(origins.get(name, frozenset()) for name in used))
            if any(
                isinstance(node, ast.Constant) and str(node.value).startswith("../") for node in ast.walk(statement)
            ):
                taken |= {HERE}
            dropped = dropped or HERE in taken
            elsewhere += [] if HERE in taken else [ast.get_source_segment(source, statement)]
            is_ours = HERE in taken or bool(used & ours)
            needs |= taken
            copied = copied and not is_ours
            for name in bound:
                origins[name] = taken | (origins.get(name, frozenset()) if name in used else frozenset())
                ours.discard(name)
            if is_ours:
                ours |= bound
        found.append(Cell(source, "\n".join(elsewhere) if dropped else source, frozenset(needs), copied))
    return found


def notebook(page):
    """Return the notebook of the chapter in the file ``page``."""
    text = Path(page).read_text(encoding="utf-8")
    title = re.search(r"^# ([^:\n]*)", text, flags=re.MULTILINE)[1]
    cells = jupytext.reads(END.split(text)[0], fmt="md:myst").cells
    course = Course()
    code = iter(read([cell.source for cell in cells if cell.cell_type == "code"], course))
    shown = []
    for cell in cells:
        if cell.cell_type == "markdown":
            words = _plain(cell.source)
            shown += [new_markdown_cell(words)] if words else []
            continue
        read_cell = next(code)
        source = read_cell.elsewhere
        asked = sorted({need.rpartition(".")[2] for need in read_cell.needs - {HERE}})
        if HERE in read_cell.needs:
            shown.append(
                new_markdown_cell("*Here the page goes on with what only the repository of the course can run.*")
            )
        if source and asked:
            shown.append(new_code_cell(f"%%with_answers {' '.join(asked)}\n{source}"))
        elif source:
            shown.append(new_code_cell(source))
    head = new_markdown_cell(HEAD.format(title=title, topic=Path(page).stem))
    needs = {name: sorted(need - {HERE}) for name, need in sorted(course.aliases.items()) if need - {HERE}}
    told = "# Which functions of the assignments the names of this chapter need.\nNEEDS = {"
    told += "".join(f"\n    {name!r}: {need!r}," for name, need in needs.items()) + "\n}"
    set_up = [SET_UP.rstrip(), *course.modules(), told]
    cells = [new_code_cell(text, metadata={"jupyter": {"source_hidden": True}}) for text in set_up]
    cells = [head, *cells, *shown]
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number:03d}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return new_notebook(cells=cells, metadata={"kernelspec": kernel, "language_info": {"name": "python"}})


def _plain(text):
    """Return MyST text as a notebook shows it: without directives, labels, and roles."""
    text = re.sub(r"^(`{3,})\{[^\n]*\n.*?^\1`*[ ]*$", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"^\([\w-]+\)=\n?", "", text, flags=re.MULTILINE)
    text = re.sub(r"\s?\{footcite:\w+\}`[^`]*`", "", text)
    text = re.sub(
        r"^\$\$ \(([\w-]+)\)$", lambda found: f"\\tag{{{_equations()[found[1]]}}}\n$$", text, flags=re.MULTILINE
    )
    text = re.sub(r"\{eq\}`([\w-]+)`", lambda found: f"({_equations()[found[1]]})", text)
    text = re.sub(r"^\{numref\}`[^`]*`", "The picture below", text, flags=re.MULTILINE)
    text = re.sub(r"\{numref\}`[^`]*`", "the picture below", text)
    text = re.sub(r"\{[\w:-]+\}`([^`<]*?)\s*(?:<[^`]*>)?`", r"\1", text)
    text = re.sub(r"\[\]\((\w+)\.md[^)]*\)", r"\1", text)
    text = re.sub(r"\[([^\]]+)\]\(\w+\.md[^)]*\)", r"\1", text)
    return re.sub(r"\n{3,}", "\n\n", text).strip()


@cache
def _equations():
    """Return the number of each labelled equation of the chapters, as the pages have it."""
    found = {}
    for topic in answer_key.topics():
        path = ROOT / "book" / f"{topic}.md"
        labels = re.findall(r"^\$\$ \(([\w-]+)\)$", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
        chapter = chapter_number(path)
        found |= {label: f"{chapter}.{place}" for place, label in enumerate(labels, start=1)}
    return found


def _examples(names):
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


def _examples_of(tree):
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    named = [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == "worked_example"]
    return {call.args[0].value for call in named}


@cache
def _modules():
    """Return ``{module of solutions that a notebook may bring along: (its source, its syntax tree)}``."""
    found = {}
    for folder in ("in_numpy", "in_torch"):
        for path in (SOLUTIONS / folder).glob("*.py"):
            source = path.read_text(encoding="utf-8")
            if path.stem != "__init__":
                found[f"solutions.{folder}.{path.stem}"] = source, ast.parse(source)
    return found


def _imported(statement):
    return {alias.asname or alias.name: alias.name for alias in statement.names}


def _bound(statement, deep=False):
    """Return the names that a statement binds: those of its inner statements too, if ``deep``."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return {statement.name}
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return {(alias.asname or alias.name).split(".")[0] for alias in statement.names}
    targets = [node for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    inner = [node for node in ast.walk(statement) if deep and isinstance(node, ast.FunctionDef | ast.ClassDef)]
    return {node.id for node in targets} | {node.name for node in inner}


def _used(statement):
    return {node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}


def mark(app, doctree):
    """Take the copy button away from cells that would run nowhere else."""
    blocks = [block for block in doctree.findall(nodes.container) if "cell_input" in block["classes"]]
    sources = [block.next_node(nodes.literal_block).astext() for block in blocks]
    for block, cell in zip(blocks, read(sources, Course()), strict=True):
        if not cell.copied:
            block["classes"].append(NO_COPY)


def write(app, exception):
    if exception or app.builder.format != "html":
        return
    folder = Path(app.outdir, "chapters")
    folder.mkdir(exist_ok=True)
    for topic in chapters(app):
        nbformat.write(notebook(app.env.doc2path(f"book/{topic}")), folder / f"{topic}-code.ipynb")


def chapters(app):
    """Return the topics whose chapters are in this website."""
    return [topic for topic in answer_key.topics() if f"book/{topic}" in app.env.found_docs]


def choose_buttons(app, config):
    if "copybutton_selector" in config:
        config.copybutton_selector = COPIED


def setup(app):
    app.connect("config-inited", choose_buttons, priority=100)  # before copying reads it
    app.connect("doctree-read", mark)
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
