"""Hidden cases that a course adds to those of the key: what a public repository does not have.

In: their tables as JSON text, a topic. Out: the key's records of cases, by function. Touches nothing.
"""

import json
import math

from solutions import answer_key
from solutions.answer_key.places import Place
from solutions.answer_key.reading import read_case

MAX_CASE_ENTRIES = 1_000_000  # of all arrays of a case: they travel as text, and a call has seconds


def read_course_cases(extra: str, topic: str, place: Place | None = None) -> dict[str, tuple[answer_key.Case, ...]]:
    """Return the hidden cases that the JSON text ``extra`` adds to ``topic``, by function.

    Raises
    ------
    AnswerKeyError
        If one of them is none that the exercise can have.
    """
    place = place or Place("course.toml", "", f"assignment.{topic}", f"assignment.{topic}")
    entries = {entry.function: entry for entry in answer_key.load(topic).values() if entry.kind == "code"}
    found: dict[str, tuple[answer_key.Case, ...]] = {}
    for number, row in enumerate(json.loads(extra) if extra else ()):
        function = row.pop("exercise", None)
        inside = place.inside("case", number, f"case {row.get('name', number + 1)!r}")
        if function not in entries:
            inside.refuse(
                f"exercise is {function!r}", f"name an exercise of kind code: {', '.join(entries)}.", "exercise"
            )
        if row.get("shown"):
            inside.refuse(
                "a case that a course adds cannot be shown", "leave `shown` out: it is always hidden.", "shown"
            )
        case, entry = read_case(row, place, number), entries[function]
        entries_drawn = sum(math.prod(drawn.shape) for drawn in (case.shapes or {}).values())
        if entries_drawn > MAX_CASE_ENTRIES:
            what = f"its arrays have {entries_drawn} entries; at most {MAX_CASE_ENTRIES} can be graded"
            inside.refuse(what, "take smaller shapes.", "shapes")
        if entry.parts and case.part not in entry.parts:
            inside.refuse(f"part {case.part!r} is not one of {list(entry.parts)}", "name one of the parts.", "part")
        found[function] = (*found.get(function, ()), case)
    return found
