"""Exercises: the key, the reference and the mistakes put together, with cases drawn and expected values computed.

In: a topic, a seed. Out: frozen ``Exercise`` objects. Reads ``solutions``, touches nothing else. A key that cannot be
graded with is refused here, before any student sees it.
"""

import ast
import hashlib
import importlib
import inspect
import json
import textwrap
import warnings
from dataclasses import asdict, dataclass, field, replace
from functools import cache

import numpy as np

from autograder.exercises import compare, compose
from solutions import answer_key
from solutions.answer_key import AnswerKeyError

PRIMES = (11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97)
SHAPE_DRAWS = 3
UNREADABLE = "unreadable"  # in place of an exception's name: what was returned holds no numbers


@dataclass(frozen=True)
class Outcome:
    """What a call gave: a value (arrays, shapes, a dict of them), or the name of the exception in ``raised``."""

    value: object = None
    raised: str = ""


@dataclass(frozen=True)
class Case:
    """One call with everything worked out: inputs by argument in the order of the signature."""

    name: str
    shown: bool
    part: str
    inputs: dict
    expected: object
    atol: float
    gradients: tuple[str, ...]
    mistaken: dict  # name of a mistake -> Outcome


@dataclass(frozen=True)
class Trained:
    """How a file of trained weights is judged. ``provided`` is the code that the assignment's notebook holds ready."""

    file: str
    arrays: dict  # name -> shape
    provided: str
    inputs: dict  # what the weights are run on
    seed: int
    run: str
    draw: object
    measure: object
    thresholds: dict


@dataclass(frozen=True)
class Step:
    """How one entry of a chain follows from ``given`` entries before it: the text of a function of them, ``name``."""

    given: tuple[str, ...]
    name: str
    source: str


@dataclass(frozen=True)
class Exercise:
    """One exercise ready to be asked and judged. ``parts`` maps each part to its points; "" is the whole."""

    entry: answer_key.Entry
    source: str
    hints: dict  # name of a mistake -> sentence for the student
    parts: dict
    cases: tuple[Case, ...]
    trained: Trained | None = None
    follows: dict = field(default_factory=dict)  # entry of a chain -> Step

    @property
    def name(self):
        return self.entry.name

    @property
    def function(self):
        return self.entry.function

    @property
    def kind(self):
        return self.entry.kind

    @property
    def points(self):
        return self.entry.points

    @property
    def hidden(self):
        return tuple(case for case in self.cases if not case.shown)

    @property
    def shown(self):
        return tuple(case for case in self.cases if case.shown)

    @property
    def in_torch(self):
        return self.entry.module == "in_torch"

    @property
    def letters(self):
        """What each argument of a shape exercise counts."""
        return {letter: {**answer_key.LETTERS, **self.entry.letters}[letter] for letter in self.cases[0].inputs}

    @property
    def is_called(self):
        """Whether its function is called to judge it: a text is read, and of a trained model the file is used."""
        return self.kind in ("shape", "number", "code")

    @property
    def is_automatic(self):
        return self.kind != "text"


def load(topic, seed):
    """Return the exercises of ``topic``, with hidden cases drawn from ``seed``.

    Raises
    ------
    AnswerKeyError
        If the key, the reference or the mistakes do not fit together.
    """
    return tuple(_exercise(entry, seed) for entry in answer_key.load(topic).values())


def load_from(folder, topic, seed, references=None, mistakes=None):
    """Like ``load``, with the key in another folder: for courses' own keys, and for tests of bad ones."""
    entries = answer_key.load(topic, folder).values()
    return tuple(_exercise(entry, seed, references, mistakes) for entry in entries)


def versions(functions, function):
    """Return those of ``functions``, name -> function, that answer as ``function`` should: ``function__what_was_done``."""
    return {name: each for name, each in functions.items() if name.startswith(f"{function}__") and callable(each)}


def with_points(exercise, points):
    """Return ``exercise`` worth ``points``, with its parts in proportion."""
    if points == exercise.points:
        return exercise
    parts = {name: round(part * points / exercise.points, 6) for name, part in exercise.parts.items()}
    return replace(exercise, entry=replace(exercise.entry, points=points), parts=parts)


def digest(exercises):
    """Return a hash over everything in ``exercises`` that a verdict depends on."""
    state = []
    for e in exercises:
        cases, trained = [asdict(case) for case in e.cases], e.trained and asdict(e.trained)
        follows = {entry: asdict(step) for entry, step in e.follows.items()}
        state.append([asdict(e.entry), e.source, e.hints, cases, trained, follows])
    return hashlib.sha256(json.dumps(state, sort_keys=True, default=_exactly).encode()).hexdigest()


def _exactly(value):
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":  # the last digits depend on the processor
        return [value.dtype.str, value.shape, [f"{item:.8g}" for item in value.flat]]
    if isinstance(value, np.ndarray):
        return [value.dtype.str, value.shape, hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()]
    if isinstance(value, float | np.floating):
        return f"{value:.8g}"
    return inspect.getsource(value) if inspect.isfunction(value) else repr(value)


def given_shapes(exercise, inputs):
    """Return the shapes of what stands in the equations of ``exercise`` beside its answer. A size of None may be any."""

    def size(term):
        return term if isinstance(term, int) else None if term == "?" else inputs[term]

    return {name: tuple(map(size, terms)) for name, terms in exercise.entry.given.items()}


def compiled(follows):
    """Return ``{entry: (steps, function)}`` for the ``follows`` of a chain, as ``compare.follow_through`` takes it."""
    return {entry: (step.given, _function(step.name, step.source)) for entry, step in follows.items()}


@cache
def _function(name, source):
    namespace = {"np": np}
    exec(source, namespace)
    return namespace[name]


def convert(exercise):
    """Return what turns a numpy array into the argument type of ``exercise``: a tensor, or the array itself."""
    if not exercise.in_torch:
        return lambda item: item
    import torch

    return lambda item: torch.from_numpy(item.copy()) if isinstance(item, np.ndarray) else item


def _exercise(entry, seed, references=None, mistakes=None):
    if entry.kind == "text":
        return Exercise(entry, "", {}, {"": entry.points}, ())
    references = references or importlib.import_module(f"solutions.{entry.module}.{entry.topic}")
    mistakes = mistakes or importlib.import_module(f"solutions.mistakes.{entry.topic}")
    reference = getattr(references, entry.function, None)
    if reference is None:
        raise AnswerKeyError(
            f"no function {entry.function} in {references.__name__}", entry.where, "write the reference answer there."
        )
    wrong = versions(vars(mistakes), entry.function)
    for name, function in wrong.items():
        if not function.__doc__:
            raise AnswerKeyError(f"mistake {name} has no docstring", entry.where, "write the hint as its docstring.")
    hints = {name: " ".join(function.__doc__.split()) for name, function in wrong.items()}
    parts = dict(entry.parts) or {"": entry.points}
    if entry.kind == "trained":
        return Exercise(entry, inspect.getsource(reference), hints, parts, (), _trained(entry, references, seed))
    shell = Exercise(entry, inspect.getsource(reference), hints, parts, ())
    cases = tuple(_case(shell, row, reference, wrong) for row in _rows(entry, reference, seed))
    exercise = Exercise(entry, shell.source, hints, parts, cases, follows=_follows(entry, reference))
    _refuse_weak_cases(exercise)
    _refuse_equations(exercise)
    _refuse_follows(exercise)
    return exercise


def _follows(entry, reference):
    """Return ``{entry: Step}``: the reference without its lines for the steps before, which become arguments.

    So the numbers of a chain stand in the reference alone. It must assign each step to a variable of the step's name.
    """
    steps = {}
    for name, given in entry.follows.items():
        (function,) = ast.parse(textwrap.dedent(inspect.getsource(reference))).body
        lines = [node for node in function.body if not (_assigned(node) and _assigned(node) <= set(given))]
        if len(function.body) - len(lines) != len(given) or not isinstance(lines[-1], ast.Return):
            raise AnswerKeyError(
                f"{name} follows from {', '.join(given)}, and the reference has no line for each of them",
                entry.where,
                "let it assign each step once, to a variable of the step's name, and return the dict of them.",
            )
        lines = lines[1:] if ast.get_docstring(function) else lines
        lines[-1] = ast.Return(ast.Subscript(lines[-1].value, ast.Constant(name), ast.Load()))
        function.name, function.body = f"_{name}_of_{'_'.join(given)}", lines
        function.args.args = [ast.arg(step) for step in given]
        steps[name] = Step(tuple(given), function.name, ast.unparse(ast.fix_missing_locations(function)))
    return steps


def _assigned(node):
    return (
        {target.id for target in node.targets if isinstance(target, ast.Name)}
        if isinstance(node, ast.Assign)
        else set()
    )


def provided(topic):
    """Return the code that the notebook of ``topic`` holds ready for its exercises, or ""."""
    try:
        module = importlib.import_module(f"solutions.in_torch.{topic}")
    except ModuleNotFoundError:
        return ""
    names = getattr(module, "PROVIDED", ())
    imports, blocks = set(), []
    for name in names:
        item = getattr(module, name)
        if inspect.isfunction(item) or inspect.isclass(item):
            imports |= set(_imports_of(inspect.getmodule(item)))
            blocks.append("\n\n" + inspect.getsource(item).rstrip())
        else:
            blocks.append(f"{name} = {item!r}")
    return "\n".join([*sorted(imports), "", *blocks])


def _imports_of(module):
    """Yield the import lines of ``module`` that lead outside the course."""
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, ast.Import) or (
            isinstance(node, ast.ImportFrom) and node.module.split(".")[0] != "solutions"
        ):
            yield ast.unparse(node)


def _trained(entry, references, seed):
    draw, measure = getattr(references, entry.draw), getattr(references, entry.measure)
    shapes = {name: tuple(parameter.shape) for name, parameter in references.build_model().named_parameters()}
    code = provided(entry.topic)
    return Trained(entry.file, shapes, code, draw(seed), seed, entry.run, draw, measure, dict(entry.thresholds))


def _rows(entry, reference, seed):
    """Yield ``(key case, inputs)``: stated inputs as they are, others drawn."""
    names = list(inspect.signature(reference).parameters)
    rng = np.random.default_rng([seed, int(hashlib.sha256(entry.name.encode()).hexdigest()[:8], 16)])
    if entry.kind == "number":
        yield answer_key.Case("your numbers", atol=entry.atol), {}
    elif entry.kind == "shape":
        for draw in range(SHAPE_DRAWS):
            sizes = rng.choice(PRIMES, size=len(names), replace=False)
            yield answer_key.Case(f"sizes {draw + 1}"), {n: int(s) for n, s in zip(names, sizes, strict=True)}
    else:
        for case in entry.cases:
            given = case.inputs if case.inputs is not None else case.shapes
            used = names[: len(given)]  # arguments with a default may be left out at the end
            needed = [n for n, p in inspect.signature(reference).parameters.items() if p.default is p.empty]
            if set(given) != set(used) or not set(needed) <= set(given):
                raise AnswerKeyError(
                    f"case {case.name!r} gives {', '.join(given)}", entry.where, f"give {', '.join(names)}."
                )
            if case.inputs is not None:
                yield case, {n: np.array(given[n]) if isinstance(given[n], list) else given[n] for n in used}
            else:
                yield case, {n: _drawn(given[n], rng, case, entry.where) for n in used}


def _drawn(wanted, rng, case, where):
    """Return one drawn argument: a list is the shape of an array of normal numbers; a table says ``shape``, ``draw``."""
    table = wanted if isinstance(wanted, dict) else {"shape": wanted}
    shape, draw = table.get("shape", []), table.get("draw", "normal")
    if set(table) - {"shape", "draw", "below", "empty_row"} or draw not in DRAWS:
        raise AnswerKeyError(
            f"case {case.name!r}: {wanted!r} cannot be drawn",
            where,
            f"write shape and draw, one of {', '.join(DRAWS)}.",
        )
    return DRAWS[draw](rng, shape, case.scale, table)


def _mask(rng, shape, scale, table):
    lengths = rng.integers(1, max(2, shape[-1]), size=(*shape[:-1], 1))  # at least one real token, at least one pad
    if table.get("empty_row"):
        lengths[0] = 0
    return np.arange(shape[-1]) < lengths


def _weights(rng, shape, scale, table):
    positive = rng.uniform(0.05, 1.0, size=shape)
    return (positive / positive.sum(axis=-1, keepdims=True)).round(6)


DRAWS = {
    "normal": lambda rng, shape, scale, table: (scale * rng.normal(size=shape)).round(3),
    "mask": _mask,
    "weights": _weights,
    "integers": lambda rng, shape, scale, table: rng.integers(0, table["below"], size=shape),
}


def _case(exercise, row, reference, wrong):
    entry, (case, inputs) = exercise.entry, row
    outcome = _outcome(exercise, reference, inputs, case.gradients)
    if outcome.raised:
        what = "returns no numbers" if outcome.raised == UNREADABLE else f"raises {outcome.raised}"
        raise AnswerKeyError(f"the reference {what} on case {case.name!r}", entry.where, "mend one of the two.")
    atol = case.atol if case.atol is not None else 1e-5 * max(1.0, _largest(outcome.value))
    expected = outcome.value
    if case.shown:
        stated = case.expected
        expected = {k: np.array(v) for k, v in stated.items()} if isinstance(stated, dict) else np.array(stated)
        problems = compare.reasons(outcome.value, expected, entry.kind, atol)
        if any(problems.values()):
            raise AnswerKeyError(
                f"the reference fails the shown case {case.name!r}: {'; '.join(filter(None, problems.values()))}",
                entry.where,
                "work the example again by hand: the reference or `expected` is wrong.",
            )
    mistaken = {name: _outcome(exercise, function, inputs, case.gradients) for name, function in wrong.items()}
    return Case(case.name, case.shown, case.part, inputs, expected, atol, case.gradients, mistaken)


def _outcome(exercise, function, inputs, gradients):
    turn = convert(exercise)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value, _ = compare.call_case(function, {name: turn(item) for name, item in inputs.items()}, gradients)
    except Exception as error:
        return Outcome(raised=type(error).__name__)
    if exercise.kind == "shape":
        return Outcome(value) if _is_made_of_shapes(value) else Outcome(raised=UNREADABLE)
    try:
        return Outcome(compare.read_value(value))
    except ValueError:
        return Outcome(raised=UNREADABLE)


def _is_made_of_shapes(value):
    values = value.values() if isinstance(value, dict) else [value]
    return not any(compare.shape_difference(item, None) for item in values)


def _largest(value):
    if isinstance(value, dict):
        return max(map(_largest, value.values()))
    array = np.asarray(value, dtype=float)
    return float(np.abs(array).max()) if array.size else 0.0


def _refuse_weak_cases(exercise):
    for name in exercise.hints:
        caught = any(
            outcome.raised or any(compare.reasons(outcome.value, case.expected, exercise.kind, case.atol).values())
            for case in exercise.hidden
            for outcome in [case.mistaken[name]]
        )
        if not caught:
            raise AnswerKeyError(
                f"every hidden case accepts the mistake {name}",
                exercise.entry.where,
                "add a hidden case that tells it from the reference, or tighten the tolerance.",
            )
    for case in exercise.hidden:
        entries = set(case.expected) if isinstance(case.expected, dict) else {""}
        if not case.part and entries != set(exercise.parts):
            raise AnswerKeyError(
                f"the parts are {sorted(exercise.parts)}, the reference returns {sorted(entries)}",
                exercise.entry.where,
                "let each part name one entry of the dict that the function returns.",
            )


def _refuse_equations(exercise):
    """Refuse equations in which the right shapes do not fit together, or that state one of the answers."""
    entry = exercise.entry
    for case in exercise.hidden if entry.kind == "shape" else ():
        unknown = set(case.inputs) - set(answer_key.LETTERS) - set(entry.letters)
        if unknown:
            raise AnswerKeyError(f"nobody says what {min(unknown)} counts", entry.where, "add it to `letters`.")
        if entry.equations and (not isinstance(case.expected, dict) or set(entry.given) & set(case.expected)):
            raise AnswerKeyError("`given` states an answer", entry.where, "name there only what the text states.")
        for equation in entry.equations:
            try:
                compose.shape_of(equation, {**given_shapes(exercise, case.inputs), **case.expected})
            except (compose.Misfit, SyntaxError, KeyError, ValueError, AttributeError, TypeError) as error:
                raise AnswerKeyError(
                    f"the right shapes do not fit in {equation!r}: {error}", entry.where, "mend `equations` or `given`."
                ) from None


def _refuse_follows(exercise):
    """Refuse a chain in which the right steps do not follow from the right steps before them."""
    expected = exercise.hidden[0].expected if exercise.follows else {}
    for name, (given, function) in compiled(exercise.follows).items():
        if compare.difference(function(*(expected[step] for step in given)), expected[name], exercise.entry.atol):
            raise AnswerKeyError(
                f"the right {name} does not follow from the right {', '.join(given)}",
                exercise.entry.where,
                "mend the reference: each step may use the given numbers and the steps named in `follows` only.",
            )
