"""Read the tables of a key into records, and refuse what cannot be understood.

In: the path of a TOML file. Out: ``Entry`` objects by name, in the order of the file. Reads that file, touches nothing
else. Every refusal names file, line, exercise and remedy.
"""

import math
import re
import tomllib
from dataclasses import MISSING, fields
from functools import lru_cache
from types import MappingProxyType
from typing import Literal, get_args, get_origin, get_type_hints

import msgspec

from solutions.answer_key.places import Place
from solutions.answer_key.records import (
    KINDS,
    Argument,
    Criterion,
    Drawn,
    DrawnCase,
    ShownCase,
    ShownDrawnCase,
    StatedCase,
)
from solutions.errors import AnswerKeyError

WORDS = {
    "number": "a number",
    "int": "a whole number",
    "float": "a number",
    "str": "text in quotes",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
    "datetime": "a date with time and zone, 2026-11-30T23:59:00+01:00",
}
REMEDIES = {
    "atol": "state the tolerance that goes with the digits asked for.",
    "points": "state the points, without quotes.",
    "kind": f"write one of {', '.join(KINDS)}.",
    "expected": "work it by hand and write `expected`.",
    "inputs": "write `inputs.<argument>` for each argument.",
}
LACKING = {"expected": "{} states no expected value", "inputs": "{} states no inputs"}
ROWS = {"case": "cases", "criterion": "criteria"}  # header of a table -> field of the record


def read(path):
    """Return the entries of the key at ``path`` by name.

    Raises
    ------
    AnswerKeyError
        For the first thing in it that cannot be understood.
    """
    try:
        return _parse(path, path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise AnswerKeyError(f"not valid TOML: {error}", path.name, "mend the line that the message names.") from None


@lru_cache(maxsize=32)
def _parse(path, text):
    """Return the entries of the key at ``path``, whose content is ``text``. Cached: the grader asks many times for the same."""
    return MappingProxyType({name: _entry(name, table, path, text) for name, table in tomllib.loads(text).items()})


def _entry(name, table, path, text):
    place = Place(path.name, text, name, name)
    _refuse_malformed(name, table, path.stem, place)
    record = KINDS[table["kind"]]
    ready = {"name": name, "where": place.describe()}
    for header, make in (("case", read_case), ("criterion", _criterion)):
        if ROWS[header] in _names(record):
            ready[ROWS[header]] = tuple(make(row, place, n) for n, row in enumerate(table.get(header, [])))
    if "arguments" in table and "arguments" in _names(record):
        ready["arguments"] = _arguments(table["arguments"], place)
    rest = {key: value for key, value in table.items() if ROWS.get(key, key) not in ready}
    _refuse_fields_of_other_kinds(rest, record, place)
    entry = read_record(record, rest, place, f"a {record.kind} exercise", ready)
    _refuse_sums(entry, place)
    if entry.kind == "code":
        _refuse_cases(entry, place)
    if entry.kind == "trained" and set(entry.thresholds) != set(entry.parts):
        place.refuse("thresholds and parts name different things", "give each part its threshold.", "thresholds")
    return entry


def _refuse_malformed(name, table, topic, place):
    """Refuse a name, a kind or a list of tables that cannot be read further."""
    if name.count("-") != 1 or name.split("-")[0] != topic or not name.split("-")[1].isidentifier():
        place.refuse(f"{name!r} is no exercise name", f"write {topic}-function_name, with exactly one hyphen.")
    if not isinstance(table, dict):
        place.refuse("not a table", f"begin the exercise with a line [{name}].")
    if "kind" not in table:
        place.refuse("missing field kind", REMEDIES["kind"])
    if table["kind"] not in list(KINDS):
        place.refuse(f"kind {table['kind']!r} is not known", REMEDIES["kind"], "kind")
    for header in ROWS:
        tables = table.get(header, [])
        if not isinstance(tables, list) or not all(isinstance(row, dict) for row in tables):
            remedy = f"begin each one with [[{name}.{header}]], in double brackets."
            place.refuse(f"{header} is not a list of tables", remedy, header)


def _refuse_fields_of_other_kinds(row, record, place):
    for name in row:
        field = ROWS.get(name, name)
        kinds = [kind for kind, other in KINDS.items() if field in _names(other)]
        if field not in _names(record) and kinds:
            only = f"only kind {' and '.join(kinds)} can have it."
            place.refuse(f"{name} in an exercise of kind {record.kind}", only, name)


def _refuse_sums(entry, place):
    if not entry.points:
        _refuse_useless_fields(entry, place)
    elif entry.points < 0:
        place.refuse("points must be above 0", "state the points of the exercise.", "points")
    total = sum(entry.parts.values())
    if entry.parts and abs(total - entry.points) > 1e-9:
        place.refuse(f"the parts add to {total:g}, not {entry.points:g}", "change the parts or points.", "parts")
    if entry.kind == "text" and abs(sum(c.points for c in entry.criteria) - entry.points) > 1e-9:
        place.refuse("the criteria do not add to the points", "give each criterion its points.")


def _refuse_useless_fields(entry, place):
    """Refuse a warm-up, an exercise without points, of another kind than shape or number, or with fields that only grading uses."""
    if entry.kind not in ("shape", "number"):
        remedy = "state its points: only an exercise of kind shape or number can be a warm-up, without points."
        place.refuse(f"0 points in an exercise of kind {entry.kind}", remedy, "points")
    for name in ("parts", "follows", "holds", "equations"):
        if getattr(entry, name):
            remedy = "leave it out: the check of a warm-up knows the right answer, and nobody grades it."
            place.refuse(f"{name} in an exercise without points", remedy, name)


def _refuse_cases(entry, place):
    if not any(case.shown for case in entry.cases):
        place.refuse("no shown case", "add one that can be worked by hand: the check cell uses it.")
    _refuse_unknown_arguments(entry, place)
    hidden = [(n, case) for n, case in enumerate(entry.cases) if not case.shown]
    for n, case in hidden:
        if entry.parts and case.part not in entry.parts:
            place.inside("case", n, f"case {case.name!r}").refuse(
                f"part {case.part!r} is not one of {list(entry.parts)}", "name one of the parts.", "part"
            )
    for part in entry.parts or {""}:
        if not entry.arguments and not any(case.part == part for _, case in hidden):
            place.refuse(f"no hidden case for part {part!r}", "add a case for it.")


def _refuse_unknown_arguments(entry, place):
    """Refuse ``gradients``, ``least`` and ``most`` that name no declared argument or axis."""
    if not entry.arguments and entry.gradients:
        place.refuse("gradients without arguments", "declare the arguments, or name them in a case.", "gradients")
    for name in entry.gradients:
        if name not in entry.arguments:
            place.refuse(f"no argument {name!r}", "name arguments that are declared.", "gradients")
    letters = {letter for argument in entry.arguments.values() for letter in argument.letters}
    for field in ("least", "most"):
        for letter in getattr(entry, field):
            if letter not in letters:
                place.refuse(f"no axis {letter!r}", "name an axis of the arguments.", field)


def _arguments(table, place):
    if not isinstance(table, dict) or not all(isinstance(row, dict) for row in table.values()):
        place.refuse("arguments is no table of tables", "write: name = { kind = ..., axes = [...] }.", "arguments")
    arguments = {
        name: read_record(Argument, row, place, f"argument {name}", under="arguments") for name, row in table.items()
    }
    letters = {letter for argument in arguments.values() for letter in argument.letters}
    for name, argument in arguments.items():
        if argument.below is not None and str(argument.below) not in letters and not isinstance(argument.below, int):
            place.refuse(
                f"argument {name}: below is {argument.below!r}, which is no axis",
                "name an axis, or a number.",
                "arguments",
            )
        if argument.range and not argument.range[0] < argument.range[1]:
            place.refuse(f"argument {name}: range is {list(argument.range)}", "write [lowest, highest].", "arguments")
    return arguments


def read_case(row, place, number):
    """Return the record of the case that the table ``row`` states, the one of that ``number`` at ``place``.

    Raises
    ------
    AnswerKeyError
        If it states what no case has, or lacks what each has.
    """
    place = place.inside("case", number, f"case {row.get('name', number + 1)!r}")
    if row.get("shown"):
        if "shapes" not in row:
            return read_record(ShownCase, row, place, "a shown case")
        return read_record(
            ShownDrawnCase, row, place, "a shown case with drawn inputs", {"shapes": _shapes(row, place)}
        )
    row = {key: value for key, value in row.items() if key != "shown" or value is not False}
    if "expected" in row:
        place.refuse(
            "a hidden case states an expected value",
            "leave it out: the reference gives it. A shown case says `shown = true`.",
            "expected",
        )
    known = {name for record in (ShownCase, StatedCase, DrawnCase) for name in _names(record)}
    for name in row:
        if name not in known:
            place.refuse(f"unknown field {name!r}", f"the fields of a case are {', '.join(sorted(known))}.", name)
    if ("shapes" in row) == ("inputs" in row):
        place.refuse("a hidden case must state either shapes or inputs", "write one of the two.")
    if "inputs" in row:
        return read_record(StatedCase, row, place, "a hidden case with stated inputs")
    return read_record(DrawnCase, row, place, "a hidden case with drawn inputs", {"shapes": _shapes(row, place)})


def _shapes(row, place):
    """Return what is to be drawn for each argument, and take it out of ``row``."""
    if not isinstance(row["shapes"], dict):
        place.refuse(f"shapes is {row['shapes']!r}", "write it as a table: argument = its shape.", "shapes")
    return {argument: _read_drawn(argument, wanted, place) for argument, wanted in row.pop("shapes").items()}


def _read_drawn(argument, wanted, place):
    table = wanted if isinstance(wanted, dict) else {"shape": wanted}
    drawn = read_record(Drawn, table, place, f"what is drawn for {argument}", under="shapes")
    if (drawn.draw == "integers") != (drawn.below is not None):
        place.refuse(f'{argument}: `below` belongs to draw = "integers"', "write both, or neither.", "shapes")
    if drawn.draw in ("mask", "weights", "log_probabilities") and not drawn.shape:
        place.refuse(f"{argument}: {drawn.draw} without a shape", "write `shape`, a list of sizes.", "shapes")
    return drawn


def _criterion(row, place, number):
    return read_record(Criterion, row, place.inside("criterion", number, "criterion"), "a criterion")


def _names(record):
    return [field.name for field in fields(record)]


def read_record(record, row, place, what, ready=None, under=""):
    """Return the ``record`` with the fields of the table ``row``, converted, and those that are ``ready``.

    ``what`` says what the table is about; ``under`` names the field that it is the value of, if it has no line of its own.

    Raises
    ------
    AnswerKeyError
        If a field is unknown, missing, or of another type than the record's.
    """
    ready, types = ready or {}, get_type_hints(record, include_extras=True)
    known = [name for name in _names(record) if name not in ready]
    for name in row:
        if name not in known:
            also = [header for header, field in ROWS.items() if field in ready]
            place.refuse(
                f"unknown field {name!r}",
                f"the fields of {what} are {', '.join(sorted([*known, *also]))}.",
                under or name,
            )
    for field in fields(record):
        if field.name in (*row, *ready) or field.default is not MISSING or field.default_factory is not MISSING:
            continue
        remedy = REMEDIES.get(field.name, "add it.")
        place.refuse(
            LACKING.get(field.name, "missing field {1}: {0} needs {1}").format(what, field.name), remedy, under
        )
    values = {name: _value(name, value, types[name], place, under) for name, value in row.items()}
    return record(**ready, **values)


def _value(name, value, wanted, place, under=""):
    """Return ``value`` as the type that is ``wanted``: a list as a tuple; a number is no text and True no number."""
    scalars = value.values() if isinstance(value, dict) else [value]
    if any(isinstance(scalar, float) and not math.isfinite(scalar) for scalar in scalars):
        place.refuse(f"{name} is {value!r}", "write a finite number there.", under or name)
    try:
        return msgspec.convert(value, wanted)
    except msgspec.ValidationError as error:
        if isinstance(value, dict) and len(value) > 1:
            for key, item in value.items():  # the message does not say which
                _value(name, {key: item}, wanted, place, under)
        expected, _, path = str(error).partition(" - at `$")
        label = name
        for step in re.findall(r"\[(\d+|\.\.\.)\]", path):
            key = int(step) if step != "..." else next(iter(value))
            value, label = value[key], f"{label}, entry {key + 1}" if step != "..." else f"{label}.{key}"
        allowed = get_args(wanted) if get_origin(wanted) is Literal else ()
        if allowed:
            place.refuse(
                f"{label} {value!r} is not known", f"write one of {', '.join(map(str, allowed))}.", under or name
            )
        place.refuse(f"{label} is {value!r}", f"write {_toml_words(expected)} there.", under or name)


def _toml_words(expected):
    """Return what msgspec ``expected``, in the words of TOML: "Expected `int` >= 1" is a whole number, 1 or more."""
    match = re.match(r"Expected `([^`]+)`(?: (of length )?>= (\d+))?", expected)
    types = set(match[1].split(" | ")) - {"null"} if match else set()
    if {"int", "float"} <= types:
        types = types - {"int", "float"} | {"number"}
    words = " or ".join(words for name, words in WORDS.items() if name in types)
    bound = match and match[3] and (", not empty" if match[2] else f", {match[3]} or more")
    return f"{words or 'something else'}{bound or ''}"
