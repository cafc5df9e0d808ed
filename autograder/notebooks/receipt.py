"""Print at the end of a notebook what it holds: what is answered, what is not, and a short code of the answers.

In: the cells that were run, in order. Out: a few lines. Changes nothing. Standard library only: this text is part
of every notebook, below that of the checks, and the grader computes the same code from the submitted file.

A kernel does not know the file of its notebook, only what it has run. So the code is that of the answers as they were last
run. It matches the code of the file if the notebook was run from the top and saved afterwards.
"""

import ast
import hashlib
import json
import re
from datetime import datetime

UNANSWERED = re.compile(r"^[ \t]*raise NotImplementedError\(\)[ \t\r]*$", flags=re.MULTILINE)


def receipt(topic, version, functions, written=0):
    """Print the receipt of an assignment that asks for ``functions`` and ``written`` answers in words."""
    cells = ran()
    if cells is None:
        print("The receipt needs a notebook: JupyterLab, VS Code or a hosted one.")
        return
    answers = answers_in(cells, functions)
    print(f"Receipt: {topic}, version {version}")
    missing = [name for name, source in answers.items() if not is_answered(source)]
    broken = [name for name in answers if name not in missing and not is_python(answers[name])]
    also = f", and {len(broken)} with a syntax error" if broken else ""
    print(f"Answered: {count_of(answers) - len(broken)} of {len(functions)} exercises in code{also}")
    if missing:
        print(f"Not answered, or not run: {', '.join(missing)}")
    if broken:
        print(f"With a syntax error: {', '.join(broken)}")
    if written:
        them = "a written answer" if written == 1 else f"{written} written answers"
        print(f"Not checked here: {them}. Make sure {'it is' if written == 1 else 'they are'} there.")
    print(f"Time: {datetime.now().astimezone():%Y-%m-%d %H:%M %z}, by this computer's clock")
    print(f"Code: {code_of(topic, answers)}")
    print("Save the notebook now, and hand it in. Your feedback shows the code of the file that arrived.")


def ran():
    """Return the sources of the cells that were run in this notebook, in order; None where this is no notebook."""
    try:
        from IPython import get_ipython

        return list(get_ipython().history_manager.input_hist_raw)
    except (ImportError, AttributeError):
        return None


def answers_in(sources, functions):
    """Return ``{function: source of its answer}``: of the cells ``sources``, in order, the last one that defines it, or None."""
    answers = dict.fromkeys(functions)
    for source in map(plain_lines, sources):
        for name in functions:
            defines = rf"^(?:(?:async\s+)?def|class)\s+{name}\b|^{name}\s*=(?!=)"
            if re.search(defines, source, flags=re.MULTILINE):
                answers[name] = source
    return answers


def count_of(answers):
    """Return how many of ``answers`` are no longer as they were handed out."""
    return sum(map(is_answered, answers.values()))


def is_answered(source):
    """Return whether ``source`` is an answer, and no longer as it was handed out; None is that of a cell that was not run."""
    return source is not None and not UNANSWERED.search(source)


def is_python(source):
    """Return whether the cell ``source`` can be run, as far as its syntax tells."""
    from IPython.core.inputtransformer2 import TransformerManager

    try:
        ast.parse(TransformerManager().transform_cell(source))
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # the last two of expressions nested too deeply
        return False
    return True


def code_of(topic, answers):
    """Return a code of eight letters and digits that changes with any answer, and with nothing else."""
    text = json.dumps([topic, list(answers.items())])
    code = hashlib.sha256(text.encode()).hexdigest()[:8]
    return f"{code[:4]}-{code[4:]}"


def plain_lines(source):
    """Return ``source`` without what an editor changes when it saves: line ends, spaces at ends of lines, empty lines around."""
    text = source.encode("utf-8", "replace").decode().replace("\r\n", "\n").replace("\r", "\n")
    return "\n".join(line.rstrip() for line in text.split("\n")).strip("\n")
