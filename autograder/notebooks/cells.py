"""Make the cells of an assignment: its heading, the locked cells that the checks use, and those of each exercise. Pure."""

import ast
import inspect
import json
import math
import re
import textwrap
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell

from autograder.exercises import (
    TOLERANCE,
    Exercise,
    checking,
    compare,
    compose,
    compute_given_shapes,
    extract_hidden_code,
    extract_provided_code,
    own_parts,
    setup_code,
)
from autograder.exercises.case_labels import families_of_hidden, kinds_of_hidden
from autograder.exercises.compare import ROUGHLY
from autograder.exercises.packing import DRAWN, compress
from autograder.notebooks import ready, receipt
from autograder.notebooks.added_cells import UNTOUCHED_REQUEST
from autograder.notebooks.cell_ids import (
    COMPARE,
    IMPORTS,
    RECEIPT,
    REQUEST,
    check_id,
    run_id,
    test_id,
    text_id,
    warm_up_id,
)
from autograder.notebooks.chapter import ExerciseText
from solutions import answer_key

STARTER = "# YOUR CODE HERE\n    raise NotImplementedError()"  # as nbgrader writes it
WARM_UP_CASES = 2  # sets of sizes with which the check of a warm-up about shapes calls the answer
COLLAPSED = {"jupyter": {"source_hidden": True}, "cellView": "form"}  # collapsed in JupyterLab, a form in Colab
GOES_ON = {"tags": ["raises-exception"]}  # Run All goes on after an error, as far as the receipt
GRADER_MODULES = ("numpy", "torch", "matplotlib")  # see ``checking.MODULES``
MIN_VERSIONS = {"python": (3, 9), "packages": {"numpy": (1, 22), "torch": (2, 0)}}  # what a student's notebook runs on


def _metadata(grade_id, *, grade=False, solution=False, locked=True, **points):
    meta = {"schema_version": 3, "grade_id": grade_id, "grade": grade, "solution": solution, "locked": locked}
    return {"nbgrader": {**meta, "task": False, **points}}


def heading_cell(
    topic: str,
    title: str,
    exercises: Sequence[Exercise],
    website: str,
    notice: str = "",
    modules: Sequence[str] = (),
    notes: str = "",
) -> NotebookNode:
    """Return the first cell; ``notes`` is a sentence on the notes that the exercises mention, "" if they mention none."""
    chapter = f"[{title}]({website}book/{topic}.html)" if website else f"*{title}*"
    total = sum(exercise.points for exercise in exercises)
    # a course may change the points of exercises, but not the time that they take
    key = answer_key.load(topic) if topic in answer_key.topics() else {}
    least, most = answer_key.minutes(key.get(exercise.name, exercise.entry) for exercise in exercises)
    notice = f"**{notice}**\n\n" if notice else ""
    text = f"""# {title}

{notice}This assignment belongs to the chapter {chapter}. It has {len(exercises)} exercises and {total:g} points, and takes
an estimated {least} to {most} minutes.{f"{2 * chr(10)}{notes}" if notes else ""}

- Write each answer where it says `YOUR CODE HERE`. Keep all cells and the names of the functions.
- Run the check cell below an answer: it tries a few cases and says what is wrong. The points come from hidden cases; it
  lists their kinds at the end.
- When you are done, run all cells from the top, save, and hand in this file as `{topic}.ipynb`.

<details>
<summary>The rules in detail</summary>

- Checks give no points. For code, a check tries the worked example from the question and one with other sizes. For numbers it only
  finds values that cannot be right, and for shapes those that do not fit together.
- The grader has Python's standard library, {_list_words([*GRADER_MODULES, *modules])}. An answer that imports anything
  else earns nothing there; the check warns of it.
- The last code cell prints a receipt. Your feedback repeats its code.{_rules(exercises)}

</details>"""
    return new_markdown_cell(text, metadata=_metadata("heading"))


def _list_words(words):
    return f"{', '.join(words[:-1])} and {words[-1]}"


def _rules(exercises):
    """Return the rules for all inputs and all numbers of the assignment, as items of the heading's list."""
    rules = []
    cases = [case for exercise in exercises if exercise.kind == "code" for case in exercise.cases]
    if cases:
        costs = "Changing an input in place costs no points"
        if any(case.gradients for case in cases):
            rules += ["Gradients, where asked for, are those of the sum of the result. A missing gradient counts as 0."]
        rules += [
            "Numbers are floats in double precision, words and positions are integers, and masks are booleans. All are "
            "finite, including those in the padding. So are sums and differences of them, and sums of products of any two of them "
            "unless both come from the padding. "
            "No axis has length 0, so there is no empty batch. Further limits are given below each exercise, under *Inputs*.",
            "Compute in double precision. What code returns is right if every entry is correct to "
            f"{_digits(ROUGHLY)} digits relative to the largest entry, or to 1 if that is larger. The part *precision*, at most a "
            f"tenth of the points, asks for {_digits(TOLERANCE)}; for a gradient, the largest entry of any input counts as well, "
            "padding aside. No case magnifies rounding errors: changing the last digit of an input changes a result by less than a "
            "hundredth of that. "
            "Single precision (`float32`) holds seven digits. Torch uses it for new tensors, and for quotients of integers, unless "
            "you pass `dtype=torch.float64`.",
            f"{costs}. The check and the feedback mention it, because the caller may still need the original values.",
        ]
    if any(exercise.kind == "number" for exercise in exercises):
        rules += [
            "Where decimals are asked for, carry more of them through intermediate steps. The last one may be rounded or truncated."
        ]
    return "".join(f"\n- {rule}" for rule in rules)


def _digits(tolerance):
    return round(-math.log10(tolerance))


def imports_cell(exercises: Sequence[Exercise]) -> NotebookNode:
    lines = ["import math", "", "import numpy as np"]
    if _in_torch(exercises):
        lines += ["import torch", "", "torch.set_num_threads(1)"]
    return new_code_cell("\n".join(lines), metadata=_metadata(IMPORTS))


def _in_torch(exercises):
    return any(exercise.in_torch for exercise in exercises if exercise.is_automatic)


def compare_cell(
    exercises: Sequence[Exercise], warm_ups: Sequence[Exercise] = (), modules: Sequence[str] = ()
) -> NotebookNode:
    """Return the first code cell, collapsed: the code that checks and hidden tests use, and the notebook's requirements.

    ``modules`` are those that the grader has besides the usual ones.
    The code is readable. The data that each check tries and recognises are packed: nobody reads a hint by accident.
    """
    packages = MIN_VERSIONS["packages"].items()
    needed = {name: oldest for name, oldest in packages if name != "torch" or _in_torch(exercises)}
    first_imports, require = _embeddable_source(ready)
    readable = [_embeddable_source(module) for module in checks_modules(exercises)]
    other_imports = set().union(*(outside for outside, _ in readable)) - first_imports
    in_order = sorted(other_imports, key=lambda line: ("numpy" in line, line.startswith("from"), line))
    parts = [
        *("\n".join(sorted(first_imports)), require, f"require({MIN_VERSIONS['python']}, {needed})"),
        *("\n".join(in_order), *(text for _, text in readable)),
        "return types.SimpleNamespace(**locals())",
    ]
    body = re.sub(r"\n{3,}", "\n\n", textwrap.indent("\n\n".join(parts), "    "))
    known = {exercise.name: check_data(exercise) for exercise in exercises if exercise.is_automatic}
    known |= {exercise.name: warm_up_data(exercise) for exercise in warm_ups}
    drawn = {exercise.name: cases for exercise in exercises if (cases := _describe_shown_cases(exercise, drawn=True))}
    text = f"""# @title What the checks use. Run this cell first, and do not change it.
# It reports anything this computer lacks, and defines the checks. They live in a function, so that none of your
# names can replace one of theirs. Packed JSON at the end holds what each check tries and which mistakes it recognises.


def make_checks():
{body}


checks = make_checks()
check, score = checks.check, checks.score
{f"checks.MODULES += {list(modules)}{chr(10)}" if modules else ""}checks.EXERCISES |= {_pack_lines(known)}
{DRAWN}{_pack_lines(drawn)}"""
    return new_code_cell(text, metadata={**_metadata(COMPARE), **COLLAPSED})


def checks_modules(exercises: Sequence[Exercise]) -> list[ModuleType]:
    with_equations = any(exercise.entry.equations for exercise in exercises)
    return [compare, *([compose] if with_equations else []), checking, receipt]


def _embeddable_source(module):
    """Return the lines of ``module`` that import modules from outside this project, and its text below all imports.

    Docstrings are cut to their first paragraphs; the module's docstring becomes a comment with its first line.
    """
    source = inspect.getsource(module)
    docstring, *body = ast.parse(source).body
    above = [node for node in body if isinstance(node, ast.Import | ast.ImportFrom)]
    title = ast.literal_eval(ast.unparse(docstring)).partition("\n")[0]
    text = "\n".join(source.splitlines()[above[-1].end_lineno :]).strip("\n")
    text = re.sub(r'""".*?"""', _first_paragraph, text, flags=re.DOTALL)
    lines = {ast.unparse(node) for node in above}
    return {line for line in lines if not line.startswith("from autograder.")}, f"# {title}\n\n{text}"


def _first_paragraph(docstring):
    first, _, others = docstring[0].partition("\n\n")
    return f'{first}"""' if others else first


def exercise_cells(exercise: Exercise, text: ExerciseText) -> list[NotebookNode]:
    """Return the cells of ``exercise``."""
    path = ", core path" if exercise.entry.core else ""
    question = f"## {text.heading}\n\n*{_points_text(exercise)}{path}*\n\n{text.body}{_examples(exercise)}"
    cells = [new_markdown_cell(question, metadata=_metadata(text_id(exercise.name)))]
    if isinstance(exercise.entry, answer_key.Text):
        meta = _metadata(exercise.name, grade=True, solution=True, locked=False, points=exercise.points)
        return [*cells, new_markdown_cell(exercise.entry.answer.strip(), metadata=meta)]
    meta = {**_metadata(exercise.name, solution=True, locked=False), **GOES_ON}
    cells.append(new_code_cell(exercise.source.rstrip(), metadata=meta))
    if exercise.trained:
        cells.append(_training_cell(exercise))
    # A check is worth 0 points, but must be a grade cell: `nbgrader validate` ignores others.
    meta = {**_metadata(check_id(exercise.name), grade=True, points=0), **GOES_ON}
    cells.append(new_code_cell(f'check("{exercise.name}")', metadata=meta))
    test = _weights_test_source(exercise) if exercise.trained else _test_source(exercise)
    return [*cells, new_code_cell(test, metadata=_metadata(test_id(exercise.name), grade=True, points=exercise.points))]


def warm_up_cells(exercise: Exercise, text: ExerciseText) -> list[NotebookNode]:
    """Return the cells of ``exercise``, which has no points. For nbgrader, they are neither solutions nor graded."""
    starter = re.sub(r"### BEGIN SOLUTION.*### END SOLUTION", STARTER, exercise.source.rstrip(), flags=re.DOTALL)
    check = {**_metadata(check_id(exercise.name)), **GOES_ON}
    return [
        new_markdown_cell(f"## {text.heading}\n\n{text.body}", metadata=_metadata(warm_up_id(exercise.name))),
        new_code_cell(starter, metadata={**_metadata(exercise.name, locked=False), **GOES_ON}),
        new_code_cell(f'check("{exercise.name}")', metadata=check),
    ]


def _examples(exercise):
    """Return the shown cases worked by hand, as text for the question: a call that can be copied, and what it returns."""
    examples = []
    for case in _select_shown_cases(exercise, drawn=False):
        if case.gradients:  # the call alone does not return them; the check compares them
            continue
        lines = [f"{name} = {_as_code(item, f'{name} = ', exercise.in_torch)}" for name, item in case.inputs.items()]
        call = "\n".join([*lines, f"{exercise.function}({', '.join(case.inputs)})"])
        title = case.name[:1].upper() + case.name[1:]
        result = _format_array(case.expected)
        examples.append(f"\n\n**{title}.** The call\n\n```python\n{call}\n```\n\nreturns\n\n```text\n{result}\n```")
    return "".join(examples)


def _as_code(value, before, in_torch):
    """Return a Python expression for ``value``, which continues a line that begins with ``before``."""
    if not isinstance(value, np.ndarray):
        return repr(value)
    make = "torch.tensor" if in_torch else "np.array"
    double = ", dtype=torch.float64" if in_torch and value.dtype.kind == "f" else ""
    return f"{make}({_format_array(value, f'{before}{make}(')}{double})"


def _format_array(value, before=""):
    """Format an array with six digits per number and one row per line, indented by the length of ``before``."""
    if isinstance(value, dict):
        return "\n".join(f"{name}: {_format_array(item, f'{name}: ')}" for name, item in value.items())
    text = np.array2string(
        np.asarray(value),
        separator=", ",
        prefix=before,
        formatter={"float_kind": lambda number: repr(float(f"{number:.6g}")), "bool": str},
        threshold=10**6,
    )
    return re.sub(r"\n\n+", "\n", text)


def _points_text(exercise):
    return f"{exercise.points:g} point{'s' if exercise.points != 1 else ''}"


def make_provided_cells(topic: str) -> list[NotebookNode]:
    """Return the locked cells with the code that the exercises of ``topic`` build on, its packages first; [] without any."""
    code = extract_provided_code(topic)
    if not code:
        return []
    note = "# Code from earlier chapters, ready to use. Run this cell, and do not change it.\n"
    provided = new_code_cell(note + code, metadata={**_metadata("provided"), **COLLAPSED})
    setup = setup_code(topic)
    return [*([new_code_cell(setup, metadata=_metadata("setup"))] if setup else []), provided]


def students_cells(topic: str) -> list[NotebookNode]:
    """Return the free cell in which a student's own functions may join the model of ``topic``, if it has one."""
    text = own_parts(topic)
    return [new_code_cell(text, metadata={**_metadata("own", locked=False), **GOES_ON})] if text else []


def receipt_cell(topic: str, exercises: Sequence[Exercise], version: str) -> NotebookNode:
    """Return the last code cell of a notebook, which prints its receipt; ``version`` names the release."""
    functions = [exercise.function for exercise in exercises if exercise.is_automatic]
    call = f'checks.receipt("{topic}", version="{version}", functions={functions}, written={len(exercises) - len(functions)})'
    text = f"# Your receipt: run all cells from the top, this one last, then save.\n{call}"
    return new_code_cell(text, metadata=_metadata(RECEIPT))


def request_cell() -> NotebookNode:
    """Return the cell below the receipt, in which a student can ask for another look at an exercise."""
    return new_markdown_cell(UNTOUCHED_REQUEST, metadata=_metadata(REQUEST, locked=False))


def _training_cell(exercise):
    """Return the cell that trains unless the file already exists."""
    path = repr(exercise.trained.file)
    train = f"import os\n\nif not os.path.exists({path}):\n    {exercise.function}({path})"
    return new_code_cell(train, metadata={**_metadata(run_id(exercise.name)), **GOES_ON})


def _weights_test_source(exercise):
    """Return the hidden test of a trained exercise: the course's functions that draw, run and measure, then the points.

    They are local to a function, so that none of them replaces a student's function of the same name in later cells.
    """
    trained = exercise.trained
    functions = extract_hidden_code(exercise.entry.topic, trained.draw, trained.measure)
    body = (
        f"{trained.hidden}\n\n{functions}\n\n"
        f"unseen = {exercise.entry.draw}({trained.seed})\n"
        f"file = np.fromfile({trained.file!r}, dtype=np.uint8)\n"
        f"found = {trained.measure.__name__}({trained.run}(file, unseen['source'], unseen['lengths']), unseen)\n"
        f"return float(sum(n for part, n in {exercise.parts!r}.items() if found[part] >= {trained.thresholds!r}[part]))"
    )
    hidden = f"def _judge_weights():\n{textwrap.indent(body.strip(), ' ' * 4)}\n\n\n_judge_weights()"
    note = f"# {_points_text(exercise)}: the weights in {trained.file} are run on unseen examples here."
    return f"{note}\n### BEGIN HIDDEN TESTS\n{hidden}\n### END HIDDEN TESTS"


def check_data(exercise: Exercise) -> dict[str, Any]:
    """Return the data for the check of ``exercise``, as JSON values. The notebook contains them, packed but not secret."""
    if exercise.trained:
        return {"file": exercise.trained.file, "arrays": exercise.trained.arrays}
    cases = _describe_shown_cases(exercise, drawn=False) or [_form_case(exercise)]
    known = {"function": exercise.function, "kind": exercise.kind, "cases": cases, "in_torch": exercise.in_torch}
    hidden = {"count": len(exercise.hidden), "kinds": kinds_of_hidden(exercise)}
    known["hidden"] = {**hidden, "families": len(families_of_hidden(exercise))}
    if isinstance(exercise.entry, answer_key.HandWorked):
        known["hidden"]["atol"] = exercise.entry.atol
        follows = {entry: (step.given, step.name, step.source) for entry, step in exercise.follows.items()}
        known["numbers"] = {"holds": dict(exercise.entry.holds), "follows": follows, "atol": exercise.entry.atol}
        right = exercise.hidden[0].expected
        known["numbers"]["decimals"] = {
            entry: checking.count_decimals(value, exercise.entry.atol)
            for entry, value in (right if isinstance(right, dict) else {"": right}).items()
            if entry not in follows  # these may differ from the right numbers
        }
    if exercise.entry.equations:
        known["equations"] = list(exercise.entry.equations)
        known["given"] = compute_given_shapes(exercise, cases[0]["inputs"])
    return known


def warm_up_data(exercise: Exercise) -> dict[str, Any]:
    """Return the data for the check of a warm-up, as JSON values: right answers, and a worked one."""
    cases = [{**_describe_shown_case(exercise, case), "name": ""} for case in exercise.hidden[:WARM_UP_CASES]]
    worked = textwrap.dedent(exercise.source.partition("### BEGIN SOLUTION\n")[2].partition("    ### END")[0])
    return {"function": exercise.function, "kind": exercise.kind, "cases": cases, "worked": worked.rstrip()}


def _select_shown_cases(exercise, drawn):
    """Return an exercise's shown cases: those that were ``drawn``, or those that were worked by hand."""
    if not exercise.shown:
        return []
    names = {case.name for case in exercise.entry.cases if case.shown and bool(case.shapes) == drawn}
    return [case for case in exercise.shown if case.name in names]


def _describe_shown_cases(exercise, drawn):
    return [_describe_shown_case(exercise, case) for case in _select_shown_cases(exercise, drawn)]


def _describe_shown_case(exercise, case):
    """Return a shown case with the *values* that known mistakes give on it: enough for a hint, but none of their code."""
    wrong = []
    for name, outcome in case.mistaken.items():
        if outcome.raised:
            continue
        if any(compare.mismatches(outcome.value, case.expected, exercise.kind, case.atol).values()):
            wrong.append((exercise.hints[name], _literal(_round_values(outcome.value))))
    inputs, expected = _literal(case.inputs), _literal(case.expected)
    stated = {"name": case.name, "inputs": inputs, "expected": expected, "atol": case.atol}
    if case.gradients:
        stated["gradients"] = case.gradients
    return {**stated, "wrong": wrong}


def _form_case(exercise):
    """Return the data for the check of a number or a shape: its form, and small sizes to try."""
    case = exercise.hidden[0]
    if exercise.kind == "shape":
        form = dict.fromkeys(case.expected) if isinstance(case.expected, dict) else None
        return {"inputs": dict(zip(case.inputs, _small_sizes(len(case.inputs)), strict=True)), "form": form}
    if isinstance(case.expected, dict):
        return {"form": {entry: value.shape for entry, value in case.expected.items()}}
    return {"form": case.expected.shape}


# Small sizes to try a shape with. They, their doubles, products of two, and sums of two or three are all different, and
# none is 1 or 2. So shapes match only if they are composed of the same sizes, never by chance.
TRIAL_SIZES = (3, 4, 10, 18, 34, 57)


def _small_sizes(count):
    if count > len(TRIAL_SIZES):
        raise ValueError(f"a shape exercise has {count} letters, but the check has only {len(TRIAL_SIZES)} sizes")
    return TRIAL_SIZES[:count]


def _test_source(exercise):
    """Return the hidden test: it is all data, and its last line gives the points. Stock nbgrader grades with it.

    The many cases of code are packed: as literals, they take nbgrader at least twice as long to read and to colour.
    """
    cases = []
    for case in exercise.hidden:
        stated = {"part": case.part, "inputs": _literal(case.inputs), "expected": _literal(case.expected)}
        only = {"also": case.also, "gradients": case.gradients}
        cases.append({**stated, "atol": case.atol, **{name: item for name, item in only.items() if item}})
    if exercise.kind == "code":
        note, stated = f"# {len(cases)} cases, drawn at random and packed.\n", f'"{compress(json.dumps(cases))}"'
    else:
        note, stated = "", "[\n{},\n]".format(",\n".join(map(repr, cases)))  # one per line
    converter = ", torch.from_numpy" if exercise.in_torch else ""
    body = f"{note}score({exercise.function}, {exercise.kind!r}, {stated}, {exercise.parts!r}{converter})"
    if exercise.follows:  # the same rule as the grader's, so that both give the same points
        functions = "".join(f"{step.source}\n\n\n" for step in exercise.follows.values())
        rules = ", ".join(f"{name!r}: ({step.given!r}, {step.name})" for name, step in exercise.follows.items())
        body = f"{functions}{body[:-1]}, follows={{{rules}}})"
    return f"# {_points_text(exercise)}: hidden cases run here.\n### BEGIN HIDDEN TESTS\n{body}\n### END HIDDEN TESTS"


def _pack_lines(by_name):
    """Return a dict as Python source: each value is packed JSON, on a line of its own."""
    lines = (f'    "{name}": "{compress(json.dumps(item, ensure_ascii=False))}",\n' for name, item in by_name.items())
    return f"{{\n{''.join(lines)}}}"


class _NotFinite(float):
    """A nan or an infinity whose ``repr`` is valid Python."""

    def __repr__(self):
        return f"float('{float(self)}')"


def _literal(value):
    """Return ``value`` with lists for arrays, so that it can be written as a literal."""
    if isinstance(value, dict):
        return {key: _literal(item) for key, item in value.items()}
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list):
        return [_literal(item) for item in value]
    return _NotFinite(value) if isinstance(value, float) and not math.isfinite(value) else value


def _round_values(value):
    if isinstance(value, dict):
        return {key: _round_values(item) for key, item in value.items()}
    return value.round(9) if hasattr(value, "round") else value
