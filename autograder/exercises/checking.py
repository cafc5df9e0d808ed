"""Say in words what is wrong with an answer, as far as a notebook may know it.

In: the name of an exercise, the functions of the notebook. Out: a sentence, or ``NotYet``. Uses only the standard library and
numpy, because every notebook contains this source, below that of ``compare`` and ``compose``.
"""

import ast
import base64
import contextlib
import dis
import functools
import importlib
import io
import json
import re
import sys
import textwrap
import types
import zlib

import numpy as np

from autograder.exercises.compare import (
    ALSO_CHANGED,
    CHANGED,
    LINE_WIDTH,
    PRINTED,
    UNSTEADY,
    NotYet,
    call_case,
    case_inputs,
    differs,
    explain_shape_mismatch,
    full_sentence,
    is_right,
    mismatches,
    missing_entry,
    read_value,
    with_full_stop,
)
from autograder.exercises.compose import compose

NO_GRADIENT = "no gradient gets through to it: is something cut off by detach(), item(), numpy or no_grad()?"
CUT_OFF = "no gradient gets through. Stay in torch from start to finish, without detach(), item(), numpy or no_grad()."
ENDS = 3  # frames of a long traceback that are shown at either end
FEW = 24  # numbers: inputs with more than this are printed only as shapes
# The name of an exercise -> what its check knows, and -> its shown cases that were drawn. A notebook fills both in, as
# zlib-compressed JSON in base64, which is unpacked when a check runs.
EXERCISES = {}
DRAWN_CASES = {}
MODULES = [
    "numpy",
    "torch",
    "matplotlib",
    "IPython",
]  # that the grader has, besides the standard library; a course may add some
ANSWERS = globals()  # in a notebook, its global variables: the functions that students write


def check(name):
    """Raise ``NotYet`` with a sentence if something is wrong with the answer to the exercise ``name``.

    An error that the function itself raises is re-raised, and its traceback shows only the student's own lines.
    """
    try:
        _check(name)
    except NotYet:
        raise
    except (Exception, KeyboardInterrupt) as error:
        show_own_lines(error)
        raise


def show_own_lines(error, call=""):
    """Make a notebook show only what ``own_lines`` returns for ``error`` with its present traceback."""
    if "_render_traceback_" not in error.__dict__:
        with contextlib.suppress(AttributeError):  # a class may not allow new attributes
            error._render_traceback_ = functools.partial(own_lines, error, error.__traceback__, call)


def own_lines(error, trace, call):
    """Return what a notebook shows of ``error``: the ``call``, and the student's own lines in the traceback."""
    own, here = [], own_lines.__code__.co_filename
    while trace is not None:
        if trace.tb_frame.f_globals is ANSWERS and trace.tb_frame.f_code.co_filename != here:
            own.append((trace.tb_frame, trace.tb_lasti, trace.tb_lineno))
        trace = trace.tb_next
    for frame in reversed(own if len(own) <= 2 * ENDS else own[:ENDS] + own[-ENDS:]):
        trace = types.TracebackType(trace, *frame)
    try:
        shell = importlib.import_module("IPython").get_ipython()
        shown = shell.InteractiveTB.structured_traceback(type(error), error, trace, tb_offset=0)
    except Exception:
        shown = [f"{type(error).__name__}: {error}"]
    return [textwrap.fill(call, LINE_WIDTH, break_long_words=False), *shown] if call else shown


def _check(name):
    if name not in EXERCISES:
        raise NotYet(f"there is no exercise {name!r} in this notebook.")
    known, drawn = _unpack(EXERCISES[name]), _unpack(DRAWN_CASES[name]) if name in DRAWN_CASES else []
    if "file" in known:
        return check_weights(known["file"], known["arrays"])
    called = known["function"]
    function = ANSWERS.get(called)
    if not callable(function):
        raise NotYet(f"{called}: run the cell with your function first, and keep its name.")
    if lacking := ", ".join(find_lacking_modules(called, function)):
        has = ", ".join(MODULES)
        print(
            f"{called}: your answer imports {lacking}, which the grader does not have. Besides Python's own, it has {has}."
        )
    convert = importlib.import_module("torch").from_numpy if known.get("in_torch") else None
    check_cases(function, known["kind"], [*known["cases"], *drawn], convert, known.get("worked", ""))
    if "worked" in known:
        return print(f"{called}: right. A warm-up gives no points.")
    passed = []  # reported together at the end, so that no praise comes before a complaint
    if known["kind"] == "number":
        check_numbers(function, **known["numbers"])
        if known["numbers"]["follows"]:
            passed.append("each step follows from your own steps before it")
    if "equations" in known:
        given = {vector: tuple(shape) for vector, shape in known["given"].items()}
        compose(function, known["equations"], known["cases"][0]["inputs"], given)
        passed.append(f"your shapes fit together in {' and in '.join(known['equations'])}")
    if known["kind"] == "code":
        print(f"{called}: the shown {'case is' if len(known['cases'] + drawn) == 1 else 'cases are'} right.")
    else:
        verdict = ", and ".join(["the form is right", *passed])
        print(f"{called}: {verdict}. Whether the answer is right is not checked here.")
    print(f"{called}: {describe_hidden_cases(**known['hidden'])}")


def find_lacking_modules(called, function):
    """Return the modules that the grader lacks among those that ``function`` uses, or the cell that defines it as ``called``."""
    standard = getattr(sys, "stdlib_module_names", None)  # from Python 3.10 on
    if standard is None:
        return []
    cells = [str(cell) for cell in ANSWERS.get("In", [])]
    made = re.compile(rf"\bdef {called}\b|^{called}\s*=|\bimport .*\b{called}\b", flags=re.MULTILINE)
    own = [cell for cell in cells if made.search(cell)]
    written = {name for cell in cells for name in re.findall(r"writefile\b.*?(\w+)\.py\b", cell)}
    modules = {*find_used_modules(function, written), *(find_imported_modules(own[-1]) if own else ())}
    known = {*standard, *sys.builtin_module_names, *MODULES, *written, "__main__", ANSWERS.get("__name__")}
    return sorted({module.partition(".")[0] for module in modules} - known)


def find_imported_modules(source):
    """Yield the modules that ``source`` imports; nothing if it is not plain Python."""
    with contextlib.suppress(SyntaxError, ValueError):
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                yield node.module


def find_used_modules(function, written):
    """Yield the modules that ``function`` imports or uses by name, and so do the functions of the notebook that it calls.

    Functions of the modules ``written`` by the notebook count as its own; those of other modules are not looked into.
    """
    codes, seen = [function], set()
    for item in codes:  # which grows
        space = getattr(item, "__globals__", None)
        if space is not ANSWERS and (not space or space.get("__name__") not in written):
            continue
        pieces = [item.__code__]
        for code in pieces:  # which grows, too
            if code in seen:
                continue
            seen.add(code)
            pieces += [part for part in code.co_consts if isinstance(part, types.CodeType)]
            yield from (step.argval for step in dis.get_instructions(code) if step.opname == "IMPORT_NAME")
            for value in (space[name] for name in code.co_names if name in space):
                codes += [value] if isinstance(value, types.FunctionType) else []
                module = value.__name__ if isinstance(value, types.ModuleType) else getattr(value, "__module__", None)
                yield from [module] if isinstance(module, str) and module else []


def describe_hidden_cases(count, kinds, families=0, atol=None):
    """Return a sentence on what earns the points, so that nobody mistakes a passed check for them."""
    if atol is not None:
        within = f", each within {atol:g}" if atol < 0.05 else ""  # others are choices or counts
        return f"points are given for the right numbers{within}."
    counted = "one hidden case" if count == 1 else f"{count} hidden cases"
    of = f" from {families} families" if families else ""
    give = "gives" if count == 1 else "give"
    return f"{counted}{of} {give} the points. They include: {', '.join(kinds) or 'other numbers'}."


def _unpack(text):
    return json.loads(zlib.decompress(base64.b64decode(text)))


def check_cases(function, kind, cases, convert=None, worked=""):
    """Raise ``NotYet`` if something is wrong with what ``function`` returns on the shown cases.

    Numbers and shapes are checked only for their form, because the notebook does not contain their answer; except in a
    warm-up, where ``NotYet`` ends with the ``worked`` answer.
    """
    name, notes = function.__name__, []
    for case in cases:
        title = f'{name}, in "{case["name"]}"' if case.get("name") else name
        value, changed = _call_shown(function, case, convert, title)
        _refuse_wrong(function, kind, case, convert, title, value, changed, worked)
        if changed:
            notes.append(f"{title}: {with_full_stop(ALSO_CHANGED.format(', '.join(changed)))}")
        if kind == "shape":
            entries = value.items() if isinstance(value, dict) else [(name, value)]
            sizes = ", ".join(f"{letter}={size}" for letter, size in case["inputs"].items())
            print(f"With {sizes}: " + ", ".join(f"{entry} {tuple(map(int, size))}" for entry, size in entries))
    for note in notes:
        print(note)


def _call_shown(function, case, convert, title):
    """Return ``call_case`` of ``function`` on ``case``; an error shows the call, and ``NotYet`` says if it is unanswered."""
    call = f"{title}: called with {format_inputs(case)}." if case.get("inputs") else ""
    try:
        return call_case(function, case_inputs(case, convert), case.get("gradients", ()))
    except NotImplementedError:
        untouched = f"{function.__name__}: not answered yet. Replace `raise NotImplementedError()` with your answer."
        raise NotYet(untouched) from None
    except (Exception, KeyboardInterrupt) as error:
        show_own_lines(error, call)
        raise


def _refuse_wrong(function, kind, case, convert, title, value, changed, worked):
    """Raise ``NotYet`` if ``value`` is wrong, saying what is wrong, with a hint if possible and the ``worked`` answer if given."""
    if "form" in case:
        reasons = _form_problems(value, kind, case["form"])
    else:
        reasons = mismatches(value, case["expected"], kind, case["atol"])
    if case.get("gradients") and isinstance(value, dict):
        lost = [name for name, gradient in value.items() if not np.any(gradient)]
        if any(reasons.values()) and len(lost) == len(value):
            raise NotYet(f"{title}: {CUT_OFF}\nCalled with {format_inputs(case)}.")
        reasons = {entry: NO_GRADIENT if reason and entry in lost else reason for entry, reason in reasons.items()}
    problems = [f"{entry}: {reason}" if entry else reason for entry, reason in reasons.items() if reason]
    if problems:
        hints = [hint for hint, wrong in case.get("wrong", ()) if is_right(value, wrong, kind, case["atol"])]
        advice = " Or: ".join(dict.fromkeys(hints)) or _describe_oddities(function, case, convert, value, changed)
        lines = [f"{title}: {with_full_stop('; '.join(problems))}"]
        lines += [format_result(case, value)] if "form" not in case else []
        lines += [f"Hint: {advice}"] if advice else []
        raise NotYet("\n".join([*lines, f"A worked answer:\n{worked}"] if worked else lines))


def format_inputs(case):
    """Return the inputs of ``case`` in words: their values if these are few, else their shapes."""
    inputs = case.get("inputs", {})
    few = sum(np.size(item) for item in inputs.values()) <= FEW
    return ", ".join(
        f"{name} = {format_numbers(item)}" if few or not np.shape(item) else f"{name} {np.shape(item)}"
        for name, item in inputs.items()
    )


def format_result(case, value):
    """Return the inputs of ``case`` in words and, if there are few numbers, the right result and the student's ``value``."""
    called = f"Called with {format_inputs(case)}." if case["inputs"] else ""
    if sum(np.size(item) for item in [*case["inputs"].values(), case["expected"]]) > FEW or case.get("gradients"):
        return called
    with contextlib.suppress(Exception):  # a value that cannot be read as numbers has been reported already
        both = [case["expected"], read_value(value)]
        for digits in (6, 12):  # more if they look alike
            right, mine = (format_numbers(item, digits) for item in both)
            if right != mine:
                break
        numbers = f"Right: {right}\nYours: {mine}"
        return f"{called}\n{numbers}" if called else numbers
    return called


def format_numbers(value, digits=6):
    """Return ``value`` in one line, each number with this many significant digits."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {format_numbers(item, digits)}" for name, item in value.items())
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(format_numbers(item, digits) for item in value)}]"
    if hasattr(value, "tolist"):
        return format_numbers(value.tolist(), digits)
    return f"{value:.{digits}g}" if isinstance(value, float) else str(value)


def check_numbers(function, holds, follows, atol, decimals):
    """Raise ``NotYet`` with all that can be said about the numbers of ``function`` without giving the right ones away.

    These are the sentences of ``holds`` (comparison -> sentence) whose comparison fails, the entries with fewer ``decimals``
    than their right numbers need, and the steps of a chain that do not follow from the student's own earlier steps.
    """
    value, name = read_value(function()), function.__name__
    problems = unmet_conditions(value, holds, atol)
    for entry, needed in decimals.items():
        given = count_decimals(value[entry] if isinstance(value, dict) else value, 1e-12)
        if 2 <= given < needed:  # with one decimal or none, it may be a guess, which this would confirm or refute
            problems.append(f"{entry or 'every number'} has at most {given} decimals, and more are asked for")
    for entry, (steps, step, source) in follows.items():
        with contextlib.suppress(Exception), np.errstate(all="ignore"):
            space = {"np": np}
            exec(source, space)
            wanted = np.asarray(space[step](*(value[before].astype(float) for before in steps)), dtype=float)
            if np.isfinite(wanted).all() and not np.isclose(value[entry], wanted, rtol=0, atol=atol).all():
                problems.append(f"{entry} does not follow from your own {' and '.join(steps)}")
    if problems:
        raise NotYet(f"{name}: this cannot be right. " + " ".join(map(full_sentence, dict.fromkeys(problems))))


def count_decimals(numbers, atol):
    """Return how many decimals are enough to write each of ``numbers`` to within ``atol``."""
    return next((n for n in range(16) if np.allclose(numbers, np.round(numbers, n), rtol=0, atol=atol)), 16)


def unmet_conditions(value, holds, atol):
    """Return the sentences of ``holds`` whose comparison fails for ``value``, allowing ``atol`` for each of its numbers.

    In the comparisons, a value that is not a dict is called ``answer``.
    """
    numbers = value if isinstance(value, dict) else {"answer": value}
    known = {"sum": np.sum, "abs": np.abs, "log": np.log, "argmax": np.argmax, "argmin": np.argmin, "__builtins__": {}}
    unmet = []
    for comparison, sentence in holds.items():
        left, sign, right = re.split(r" (==|<=|>=|<|>) ", comparison)
        with np.errstate(all="ignore"):
            mine, bound = (np.asarray(eval(side, known, numbers), dtype=float) for side in (left, right))
        slack = atol * max(1, max(np.size(item) for item in numbers.values()))
        close = abs(mine - bound) <= slack
        true = {"==": close, "<": mine < bound + atol, ">": mine > bound - atol}
        true.update({"<=": true["<"] | close, ">=": true[">"] | close})
        if not np.all(true[sign]):
            yours = f" (yours: {mine:.6g})" if mine.ndim == 0 and "arg" not in left else ""
            unmet.append(sentence + yours)
    return unmet


def check_weights(path, arrays):
    """Raise ``NotYet`` unless the npz file at ``path`` has all ``arrays`` (name -> shape), of floating point, all finite."""
    try:
        with np.load(path, allow_pickle=False) as weights:
            if any(info.compress_type not in (0, 8) for info in weights.zip.infolist()):  # neither stored nor deflated
                raise NotYet(
                    f"{path} is compressed with bzip2 or lzma, which is not accepted. Write it with save_weights."
                )
            shapes, types, finite = {}, {}, True
            for name in weights.files:
                array = weights[name]
                shapes[name], types[name] = array.shape, array.dtype
                finite &= bool(np.isfinite(array).all())
    except FileNotFoundError:
        raise NotYet(f"{path} does not exist yet: train the model, which writes it beside this notebook.") from None
    except (OSError, ValueError, TypeError):
        raise NotYet(f"{path} is not a file of plain arrays. Write it with save_weights.") from None
    if not arrays.keys() & shapes.keys():
        other = f"{', '.join(list(shapes)[:2])} …" if shapes else "nothing"
        raise NotYet(
            f"{path} holds another model, or none: it has {other}, but {', '.join(list(arrays)[:2])} … are missing. "
            "Is it the file of another exercise?"
        )
    for name, shape in arrays.items():
        if shapes.get(name) != tuple(shape):
            mine = f"has shape {shapes[name]}" if name in shapes else "is missing"
            raise NotYet(f"{path}: {name} {mine}; it should have shape {tuple(shape)}.")
        if types[name].kind != "f":
            raise NotYet(
                f"{path}: {name} is of type {types[name]}; floating point is right. Write it with save_weights."
            )
    if not finite:
        raise NotYet(f"{path} contains numbers that are not finite: the training diverged. Try a smaller step size.")
    print(f"{path} is complete: {len(arrays)} arrays. Hand it in together with this notebook.")


def _describe_oddities(function, case, convert, value, changed):
    """Say what else is odd about a call with a wrong result: it printed, changed an input, or is not deterministic."""
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            again, _ = call_case(function, case_inputs(case, convert), case.get("gradients", ()))
    except Exception:
        return full_sentence(UNSTEADY)
    if value is None:
        return full_sentence(PRINTED) if printed.getvalue() else ""
    if changed:
        return full_sentence(CHANGED.format(", ".join(changed)))
    return full_sentence(UNSTEADY) if differs(value, again) else ""


def _form_problems(value, kind, form):
    if isinstance(form, dict):
        if not isinstance(value, dict):
            return {"": f"return a dict with the keys {', '.join(form)}"}
        return {
            entry: _form_problems(value[entry], kind, shape)[""] if entry in value else missing_entry(value)
            for entry, shape in form.items()
        }
    if kind == "shape":
        return {"": explain_shape_mismatch(value, None)}
    try:
        array = read_value(value)
    except ValueError as error:
        return {"": str(error)}
    if isinstance(array, dict) or array.shape != tuple(form):
        count = "one number" if not form else f"{' x '.join(map(str, form))} numbers"
        came = "a dict" if isinstance(array, dict) else f"{' x '.join(map(str, array.shape)) or 'one'}"
        return {"": f"return {count}, and nothing else, instead of {came}"}
    return {"": "" if np.isfinite(array).all() else "the numbers must be finite"}
