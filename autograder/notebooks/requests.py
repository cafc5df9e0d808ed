"""Find where students ask for another look: in the notebook's last cell, or in similar Markdown cells that they add.

These begin with "Please look again at". In: the cells of a submitted notebook, the questions of its release. Out:
``RegradeRequest``s, limited in number and length; a hash of the rest. Pure.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from autograder.notebooks.added_cells import REQUEST as REQUEST_WORDS
from autograder.notebooks.added_cells import is_request, request_words, source_of
from autograder.notebooks.cell_ids import RECEIPT, REQUEST, exercise_of_test, exercise_of_text, id_of, is_warm_up
from autograder.notebooks.handout import Question

MAX_REQUESTS, MAX_WORDS = 20, 2000  # requests in one notebook; characters in one
HEADING = re.compile(r"(\d+\.\d+) ")  # of an exercise begins with its number in the book, if it has one
NUMBER_OF_EXERCISE = (
    r"(?:^|\b(?:exercise|question|task|problem|number|no\.))[\W_]*({})(?!\.?\d|\s*/|\s+of\b|\s+points?\b)"
)


@dataclass(frozen=True)
class RegradeRequest:
    """A request for another look: the exercise, "" if it is not clear which, and the student's words."""

    exercise: str
    words: str


def find_requests(cells: Iterable[Mapping[str, Any]], questions: Sequence[Question]) -> tuple[RegradeRequest, ...]:
    """Return the requests among ``cells``, each once: the exercise is the one that is named, or else the one above.

    A request below the receipt, such as the notebook's own cell for requests, concerns an exercise only if it names it.
    """
    requests, above = [], ""
    for cell in cells:
        grade_id = id_of(cell)
        if grade_id and not _may_ask(cell):
            name = exercise_of_text(grade_id) or exercise_of_test(grade_id)
            ends = grade_id == RECEIPT or is_warm_up(grade_id)
            above = name if name in {question.name for question in questions} else "" if ends else above
        elif _may_ask(cell) and (words := request_words(cell)[:MAX_WORDS].strip()):
            requests.append(RegradeRequest(_find_named(words, questions) or above, words))
    return tuple(dict.fromkeys(requests))[:MAX_REQUESTS]


def hash_without_requests(cells: Iterable[Mapping[str, Any]], files: Mapping[str, bytes | None]) -> str:
    """Return a hash of a repaired notebook, and of the ``files`` beside it: only a request does not change it.

    Every other cell counts, with its pictures, because it may run, or be part of an answer.
    """
    work = []
    for cell in cells:
        grade_id, source, pictures = id_of(cell) or "", source_of(cell), cell.get("attachments")
        if (grade_id or source.strip()) and not _may_ask(cell):
            work.append([cell["cell_type"], grade_id, source, *([pictures] if pictures else [])])
    beside = {name: hashlib.sha256(content).hexdigest() for name, content in files.items() if content is not None}
    return hashlib.sha256(json.dumps([work, beside], sort_keys=True).encode()).hexdigest()


def _may_ask(cell):
    """Return whether ``cell`` is the notebook's own one for requests, or a student's cell that begins like it."""
    grade_id = id_of(cell)
    return cell["cell_type"] == "markdown" and (grade_id == REQUEST or (not grade_id and is_request(cell)))


def _find_named(words, questions):
    """Return the exercise that ``words`` name first, by function, title or number; if two begin there, the longer.

    A number names an exercise only at the beginning, or after a word such as "exercise": it may be points elsewhere.
    """
    text, mentions = REQUEST_WORDS.sub("", words, count=1), []
    for question in questions:
        numbered = HEADING.match(question.title)
        number, title = (numbered[1], question.title[numbered.end() :]) if numbered else ("", question.title)
        names = filter(None, (question.name.partition("-")[2], title))
        patterns = [rf"(?<!\w)({re.escape(name)})(?!\w)" for name in names]
        patterns += [NUMBER_OF_EXERCISE.format(re.escape(number))] if number else []
        for mention in filter(None, (re.search(pattern, text, re.IGNORECASE) for pattern in patterns)):
            mentions.append((mention.start(1), -len(mention[1]), question.name))
    return min(mentions)[2] if mentions else ""
