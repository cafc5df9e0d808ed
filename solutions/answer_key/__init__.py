"""The answer key: one TOML file per topic, read into frozen ``Entry`` and ``Case`` objects.

In: ``<topic>.toml``. Out: entries in the order of the file. Touches nothing else. Every error names file, place and
remedy.
"""

import tomllib
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import MappingProxyType

import numpy as np

from solutions.errors import AnswerKeyError

FOLDER = Path(__file__).parent
KINDS = ("shape", "number", "code", "trained", "text")
MODULES = ("in_numpy", "in_torch")
TYPES = {
    **dict.fromkeys(("points", "atol", "scale"), (int, float)),
    **dict.fromkeys(("name", "kind", "module", "answer", "part", "text", "comment"), (str,)),
    **dict.fromkeys(("file", "run", "measure", "draw"), (str,)),
    **dict.fromkeys(("warm_up", "shown"), (bool,)),
    **dict.fromkeys(("parts", "inputs", "shapes", "thresholds"), (dict,)),
    **dict.fromkeys(("given", "letters", "follows"), (dict,)),
    **dict.fromkeys(("gradients", "equations"), (tuple,)),
}

# What the letters of the shape exercises count. An exercise whose text means another thing says so in its `letters`.
LETTERS = {
    "batch": "the number of sentences",
    "T_x": "the number of source positions",
    "T_y": "the number of decoder steps",
    "m": "the size of an annotation",
    "n": "the size of the decoder state",
    "a": "the size of the attention layer",
    "d": "the size of a word vector",
    "r": "the size of what the recurrent layer reads",
    "k": "the number of maxima",
    **dict.fromkeys(("V", "V_y", "V_out"), "the number of target words"),
    "V_x": "the number of source words",
}


@dataclass(frozen=True)
class Case:
    """One call of the function. A shown case states inputs and expected value; a drawn one states shapes only."""

    name: str
    shown: bool = False
    part: str = ""
    inputs: dict | None = None
    shapes: dict | None = None
    expected: object = None
    scale: float = 1.0
    atol: float | None = None
    gradients: tuple[str, ...] = ()


@dataclass(frozen=True)
class Criterion:
    """One line of a marking scheme: what earns the points, and a comment for answers that miss it."""

    points: float
    text: str
    comment: str


@dataclass(frozen=True)
class Entry:
    """One exercise as the key states it. ``name`` is ``topic-function``; ``parts`` maps a part to its points.

    A shape exercise may name ``equations`` in which its shapes must fit together; ``given`` has what stands in them
    besides, as the exercise's text states it: sizes are letters, numbers, or "?" for any. ``letters`` says what a letter
    counts where that is not as in ``LETTERS``. In a chain, ``follows`` names the steps that each step is computed from.

    A ``trained`` exercise hands in a ``file`` of weights: ``run`` names the function that uses it on what ``draw`` draws,
    ``measure`` the one that turns the result into numbers, and ``thresholds`` what each part must reach.
    """

    name: str
    kind: str
    points: float
    module: str = "in_numpy"
    warm_up: bool = False
    parts: dict = field(default_factory=dict)
    atol: float | None = None
    file: str = ""
    thresholds: dict = field(default_factory=dict)
    run: str = ""
    measure: str = ""
    draw: str = ""
    equations: tuple[str, ...] = ()
    given: dict = field(default_factory=dict)
    letters: dict = field(default_factory=dict)
    follows: dict = field(default_factory=dict)
    answer: str = ""
    criteria: tuple[Criterion, ...] = ()
    cases: tuple[Case, ...] = ()
    where: str = ""

    @property
    def topic(self):
        return self.name.split("-")[0]

    @property
    def function(self):
        return self.name.split("-")[1]


def topics(folder=FOLDER):
    """Return the names of the topics that have a key, in alphabetical order."""
    return sorted(path.stem for path in Path(folder).glob("*.toml"))


def load(topic, folder=FOLDER):
    """Return the entries of ``topic`` by name, in the order of the file.

    Raises
    ------
    AnswerKeyError
        If there is no such key, or something in it cannot be understood.
    """
    path = Path(folder) / f"{topic}.toml"
    if not path.is_file():
        known = ", ".join(topics(folder)) or "none"
        raise AnswerKeyError(
            f"no topic {topic!r}", "the answer key", f"name one of the topics that have a key: {known}."
        )
    try:
        text = path.read_text(encoding="utf-8")
        tables = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise AnswerKeyError(f"not valid TOML: {error}", path.name, "mend the line that the message names.") from None
    return MappingProxyType({name: _entry(name, table, path, text) for name, table in tables.items()})


def worked_example(name, case=None):
    """Return a shown case of exercise ``name``, its inputs as arrays, for the pages of the book.

    Raises
    ------
    AnswerKeyError
        If the exercise or the case does not exist.
    """
    entry = load(name.split("-")[0]).get(name)
    for candidate in entry.cases if entry else ():
        if candidate.shown and case in (None, candidate.name):
            arrays = {key: np.array(value) for key, value in candidate.inputs.items()}
            return Case(**{**vars(candidate), "inputs": arrays, "expected": np.array(candidate.expected)})
    raise AnswerKeyError(f"no shown case {case or ''} of {name}", f"{name.split('-')[0]}.toml", "name a case it has.")


def _entry(name, table, path, text):
    line = next((i for i, row in enumerate(text.splitlines(), 1) if row.strip() == f"[{name}]"), 1)
    place = f"{path.name}, line {line}, [{name}]"

    def refuse(what, remedy):
        raise AnswerKeyError(what, place, remedy)

    if name.count("-") != 1 or name.split("-")[0] != path.stem or not name.split("-")[1].isidentifier():
        refuse(f"{name!r} is no exercise name", f"write {path.stem}-function_name, with exactly one hyphen.")
    if not isinstance(table, dict):
        refuse("not a table", f"begin the exercise with a line [{name}].")
    table = dict(table)
    for rows in ("case", "criterion"):
        if not isinstance(table.get(rows, []), list) or not all(isinstance(row, dict) for row in table.get(rows, [])):
            refuse(f"{rows} is not a list of tables", f"begin each one with [[{name}.{rows}]], in double brackets.")
    cases = tuple(_case(row, place) for row in table.pop("case", []))
    criteria = tuple(_build(Criterion, row, f"{place}, criterion") for row in table.pop("criterion", []))
    if isinstance(table.get("equations"), list):
        table["equations"] = tuple(table["equations"])
    extra = {"name": name, "cases": cases, "criteria": criteria, "where": place}
    entry = _build(Entry, table, place, reserved=set(extra) | {"criteria"}, **extra)
    if entry.kind not in KINDS:
        refuse(f"kind {entry.kind!r} is not known", f"write one of {', '.join(KINDS)}.")
    if entry.module not in MODULES:
        refuse(f"module {entry.module!r} is not known", f"write one of {', '.join(MODULES)}.")
    if not entry.points > 0:
        refuse("points must be above 0", "state the points of the exercise.")
    if not all(_fits(points, (int, float)) for points in entry.parts.values()):
        refuse(f"the parts {entry.parts} are not all numbers", "write `part = points`, without quotes.")
    if entry.parts and abs(sum(entry.parts.values()) - entry.points) > 1e-9:
        refuse(f"the parts add to {sum(entry.parts.values()):g}, not {entry.points:g}", "change the parts or points.")
    for field_name, kind in (("equations", "shape"), ("given", "shape"), ("letters", "shape"), ("follows", "number")):
        if getattr(entry, field_name) and entry.kind != kind:
            refuse(f"{field_name} in an exercise of kind {entry.kind}", f"only kind {kind} can have it.")
    if entry.kind == "text":
        if abs(sum(c.points for c in criteria) - entry.points) > 1e-9:
            refuse("the criteria do not add to the points", "give each criterion its points.")
    elif entry.kind == "number" and entry.atol is None:
        refuse("a number exercise needs atol", "state the tolerance that goes with the digits asked for.")
    elif entry.kind == "code":
        _check_code_cases(entry, refuse)
    elif entry.kind == "trained":
        for needed in ("file", "run", "measure", "draw", "parts"):
            if not getattr(entry, needed):
                refuse(f"a trained exercise needs {needed}", "state it: see the capstone's key.")
        if set(entry.thresholds) != set(entry.parts):
            refuse("thresholds and parts name different things", "give each part its threshold.")
    return entry


def _check_code_cases(entry, refuse):
    for case in entry.cases:
        if case.shown and case.expected is None:
            refuse(f"the shown case {case.name!r} states no expected value", "work it by hand and write `expected`.")
        if case.shown and case.inputs is None:
            refuse(f"the shown case {case.name!r} states no inputs", "write `inputs.<argument>` for each argument.")
        if not case.shown and (case.shapes is None) == (case.inputs is None):
            refuse(f"the hidden case {case.name!r} must state either shapes or inputs", "write one of the two.")
        if not case.shown and case.expected is not None:
            refuse(f"the hidden case {case.name!r} states an expected value", "leave it out: the reference gives it.")
        if not case.shown and entry.parts and case.part not in entry.parts:
            refuse(f"case {case.name!r}: part {case.part!r} is none of {list(entry.parts)}", "name one of the parts.")
    if not any(case.shown for case in entry.cases):
        refuse("no shown case", "add one that can be worked by hand: the check cell uses it.")
    for part in entry.parts or {""}:
        if not any(case.part == part for case in entry.cases if not case.shown):
            refuse(f"no hidden case for part {part!r}", "add a case for it.")


def _case(row, place):
    row = dict(row)
    if isinstance(row.get("gradients"), list):
        row["gradients"] = tuple(row["gradients"])
    return _build(Case, row, f"{place}, case {row.get('name', '?')!r}")


def _fits(value, types):
    """Return whether ``value`` is of ``types``; a dict of parts must map to numbers, and True is no number."""
    return isinstance(value, types) and (bool in types or not isinstance(value, bool))


def _build(kind, row, place, reserved=frozenset(), **extra):
    known = {f.name: f for f in fields(kind) if f.name not in reserved}
    unknown = set(row) - set(known)
    if unknown:
        raise AnswerKeyError(
            f"unknown field {sorted(unknown)[0]!r}", place, f"the fields here are {', '.join(known)}, case, criterion."
        )
    for name, value in row.items():
        if name in TYPES and not _fits(value, TYPES[name]):
            wanted = " or ".join(t.__name__ for t in TYPES[name])
            raise AnswerKeyError(f"{name} is {value!r}", place, f"write it as {wanted}, without quotes if a number.")
    try:
        return kind(**row, **extra)
    except TypeError:
        needed = [name for name in ("name", "kind", "points", "text", "comment") if name in known and name not in row]
        raise AnswerKeyError(f"missing field {', '.join(needed)}", place, "add it.") from None
