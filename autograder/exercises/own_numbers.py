"""Give each student their own numbers in an exercise worked by hand, with the same steps, signs and number of digits.

In: an entry of the key, whose ``own`` names the vectors and matrices of its reference that may change. Out: numbers drawn for
these, in one tuple, row by row; an ``Exercise`` whose reference, mistakes and hints use them instead of the book's. Executes
copies of functions of ``solutions``, touches nothing else.
"""

import ast
import inspect
import linecache
import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from itertools import chain
from types import ModuleType
from typing import Any

from autograder.exercises.loading import make_exercise, versions
from autograder.exercises.model import Exercise
from autograder.exercises.modules import module
from autograder.exercises.steady import SteadyGenerator
from solutions import answer_key
from solutions.answer_key import AnswerKeyError, Entry

Numbers = Any  # a list of numbers, or of such lists
Flat = tuple[float, ...]  # all numbers of one draw
OTHER_HINT = (
    "This is right for another student's numbers. Yours depend on the id at the top of your notebook: is it your own?"
)
BOOK_HINT = "This is right for the numbers in the book. Yours are different: the cell above your answer shows them."
MAX_TRIES = 1000  # draws for one vector
MIN_COMBINATIONS = 400  # combinations of numbers that leave enough to choose from


@lru_cache(maxsize=4096)
def exercise_with(topic: str, function: str, numbers: Flat, others: tuple[Flat, ...] = ()) -> Exercise:
    """Return the exercise ``function`` of ``topic`` with these ``numbers``; the result is cached.

    Given the numbers of ``others``, an answer that is right for one of these, or for the book's numbers, gets a hint.

    Raises ``AnswerKeyError`` if it cannot be used for grading.
    """
    return exercise_of(_load_key(topic)[f"{topic}-{function}"], numbers, others)


_load_key = lru_cache(maxsize=32)(answer_key.load)


def exercise_of(entry: Entry, numbers: Flat, others: tuple[Flat, ...] = ()) -> Exercise:
    """Return the exercise of ``entry`` as ``exercise_with`` does, but without caching it."""
    topic, function = entry.topic, entry.function
    book = book_numbers(entry)
    count = len(flatten(list(book.values())))
    if len(numbers) != count:  # the key has changed since the release
        raise AnswerKeyError(
            f"the release has {len(numbers)} own numbers for {entry.name}, but `own` names {count} in the reference",
            entry.where,
            "restore `own` and the reference as they were, or release the assignment in a new course directory.",
        )
    flat = iter(numbers)
    pairs = [(stated, _restore_shape(stated, flat)) for stated in book.values()]
    references = _copy_with_numbers(entry.reference_module, [function], pairs)
    mistakes = module(f"solutions.mistakes.{topic}")
    wrong = _copy_with_numbers(mistakes.__name__, list(versions(vars(mistakes), function)), pairs)
    if function in vars(wrong):  # mistakes may call the right answer
        setattr(wrong, function, getattr(references, function))
    for name, answer in _answers_of_others(entry, numbers, others).items():
        setattr(wrong, f"{function}__{name}", answer)
    return make_exercise(entry, 0, references, wrong)


def draw_numbers(entry: Entry, number: int) -> Flat:
    """Return the draw ``number`` for ``entry``."""
    rng = SteadyGenerator(number, f"{entry.name}, own numbers").free
    book = [flatten(numbers) for numbers in book_numbers(entry).values()]
    combinations = math.prod(len(_find_choices(value)) for value in chain(*book))
    find = _find_choices if combinations >= MIN_COMBINATIONS else _find_more_choices
    return tuple(value for numbers in book for value in _draw_like(numbers, find, rng))


def book_numbers(entry: Entry) -> dict[str, Numbers]:
    """Return the numbers of the variables that ``own`` of ``entry`` names, as its reference states them.

    Raises ``AnswerKeyError`` if one is not a vector or a matrix written out there.
    """
    stated = _find_stated(entry.reference_module, entry.function)
    for name in entry.own:
        if name not in stated:
            raise AnswerKeyError(
                f"`own` names {name}, but the reference has no vector or matrix of this name",
                entry.where,
                "let the reference assign it, with its numbers written out, or take it out of `own`.",
            )
    return {name: stated[name] for name in entry.own}


def vary_all(entry: answer_key.HandWorked) -> answer_key.HandWorked:
    """Return ``entry`` with all vectors and matrices of its reference in ``own``, and no conditions on the answer."""
    stated = _find_stated(entry.reference_module, entry.function)
    return replace(entry, own=tuple(stated), holds={})


@lru_cache(maxsize=256)
def _find_stated(name, function):
    """Return the vectors and matrices that ``function`` of the module ``name`` writes out, by the name of the variable.

    They may be written as a list, or in a call such as ``np.array``.
    """
    source = inspect.getsource(getattr(module(name), function))
    stated = {}
    for node in ast.walk(ast.parse(source)):
        for target, value in _assignments(node):
            called_with = value.args[0] if isinstance(value, ast.Call) and value.args else value
            if (numbers := _numbers_in(called_with)) is not None:
                stated.setdefault(target, numbers)
    return stated


def flatten(numbers: Numbers) -> list[float]:
    """Return the numbers of a vector or a matrix in one list, row by row."""
    return [number for item in numbers for number in (flatten(item) if isinstance(item, list) else [item])]


def _assignments(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Yield ``(name, value)`` for each variable that ``node`` assigns."""
    if not isinstance(node, ast.Assign):
        return
    for target in node.targets:
        if isinstance(target, ast.Name):
            yield target.id, node.value
        elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            pairs = zip(target.elts, node.value.elts, strict=True)
            yield from ((name.id, value) for name, value in pairs if isinstance(name, ast.Name))


def _numbers_in(node):
    """Return the numbers that ``node`` writes out as a list or tuple, or lists of these; None if it does not."""
    if not isinstance(node, ast.List | ast.Tuple) or not node.elts:
        return None
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return None
    numbers = _as_lists(value)
    flat = flatten(numbers)
    return numbers if len(flat) > 1 and all(type(number) in (int, float) for number in flat) else None


def _as_lists(value):
    return [_as_lists(item) for item in value] if isinstance(value, list | tuple) else value


# --- drawing ------------------------------------------------------------------------------------------------------------


def _draw_like(book, find, rng):
    """Return as many numbers, each one of its choices from ``find``; shares that sum to at most 1 still do."""
    shares, total = all(0 <= number <= 1 for number in book), round(sum(book), 9)
    for _ in range(MAX_TRIES):
        drawn = [_draw_number(number, find(number), rng) for number in book]
        if shares and total == 1:  # weights: the last follows from the others
            drawn[-1] = round(1 - sum(drawn[:-1]), max(_decimals(number) for number in book))
        alike = all(_is_alike(*pair) for pair in zip(drawn, book, strict=True))
        if not shares or total > 1 or (sum(drawn) <= 1 and alike):
            return drawn
    raise ValueError(f"no other numbers like {book} were found")


def _draw_number(book, choices, rng):
    drawn = math.copysign(int(rng.choice(choices)), book)
    return int(drawn) if isinstance(book, int) else drawn / 10 ** _decimals(book)


def _find_choices(book):
    """Return what may replace ``book``, in units of its last digit: from half to twice as large, with as many digits.

    0, 1 and -1 stay, because they make a step simple.
    """
    scale = 10 ** _decimals(book)
    steps = round(abs(book) * scale)
    if book in (0, 1, -1):
        return [steps]
    low, high = max(math.ceil(steps / 2), 10 ** (len(str(steps)) - 1)), min(2 * steps, 10 ** len(str(steps)) - 1)
    return [n for n in range(low, high + 1) if n != scale and (scale == 1 or n % 10 or steps % 10 == 0)]


def _find_more_choices(book):
    """Return the same as ``_find_choices``, but 2 to 9 for a whole number of one digit."""
    return list(range(2, 10)) if float(book).is_integer() and 1 < abs(book) < 10 else _find_choices(book)


def _is_alike(number, book):
    return number == book if book in (0, 1) else 0 < number < 1


def _decimals(number):
    return 0 if float(number).is_integer() else len(repr(float(number)).partition(".")[2])


def _restore_shape(numbers, flat):
    """Return the next numbers of the iterator ``flat``, in the shape of ``numbers`` and of the same types."""
    return [_restore_shape(item, flat) if isinstance(item, list) else type(item)(next(flat)) for item in numbers]


# --- functions with other numbers ---------------------------------------------------------------------------------------


Pairs = list[tuple[Numbers, Numbers]]  # the book's numbers and their replacements


def _copy_with_numbers(name: str, functions: list[str], pairs: Pairs) -> ModuleType:
    """Return a module with copies of ``functions`` of the module ``name`` and all they depend on, with the drawn numbers."""
    text, statements = _module_statements(name)
    needed, queue = set(), list(functions)
    while queue:
        called = queue.pop()
        if called in statements and called not in needed:
            needed.add(called)
            queue += _names_in(statements[called], ast.expr_context)
    kept = [node for called, node in statements.items() if called in needed or not called.isidentifier()]
    source = "\n\n".join(dict.fromkeys(_replace_numbers(text, node, pairs) for node in kept))
    replaced, file = ModuleType(name), f"<{name}: {', '.join(functions)} with {[own for _, own in pairs]}>"
    # so that inspect.getsource finds the copies
    linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file
    exec(compile(source, file, "exec"), vars(replaced))
    return replaced


@lru_cache(maxsize=32)
def _module_statements(name):
    """Return the text of a module, and its statements by the names they define, or by number for imports."""
    text = inspect.getsource(module(name))
    statements: dict[str, ast.stmt] = {}
    for number, node in enumerate(ast.parse(text).body):
        if isinstance(node, ast.Import | ast.ImportFrom):
            statements[str(number)] = node
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            statements[node.name] = node
        else:
            statements |= dict.fromkeys(_names_in(node, ast.Store), node)
    return text, statements


def _names_in(node, context):
    return [part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, context)]


def _replace_numbers(text: str, node: ast.stmt, pairs: Pairs) -> str:
    """Return the text of ``node``, with the drawn numbers in every list that has the book's."""
    lines = text.encode().splitlines(keepends=True)
    start = min([node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", []))])
    replacements = []
    for part in ast.walk(node):
        numbers = _numbers_in(part)
        own = next((own for book, own in pairs if numbers == book), None)
        if own is not None:
            replacements.append((part, repr(own)))
    for part, written in sorted(replacements, key=lambda item: (item[0].lineno, item[0].col_offset), reverse=True):
        before, after = lines[part.lineno - 1][: part.col_offset], lines[part.end_lineno - 1][part.end_col_offset :]
        lines[part.lineno - 1 : part.end_lineno] = [before + written.encode() + after] + [b""] * (
            part.end_lineno - part.lineno
        )
    return b"".join(lines[start - 1 : node.end_lineno]).decode()


def _answers_of_others(entry: Entry, numbers: Flat, others: tuple[Flat, ...]) -> Mapping[str, Any]:
    """Return functions that answer with another student's right numbers or the book's: name -> function, with its hint."""
    if not others:
        return {}

    def answer_of(other):
        def answer():
            return exercise_with(entry.topic, entry.function, other).hidden[0].expected

        answer.__doc__ = OTHER_HINT
        return answer

    def answer_of_book():
        return getattr(module(entry.reference_module), entry.function)()

    answer_of_book.__doc__ = BOOK_HINT
    elsewhere = {f"numbers_of_variant_{n}": answer_of(other) for n, other in enumerate(others) if other != numbers}
    return {"numbers_of_the_book": answer_of_book, **elsewhere}
