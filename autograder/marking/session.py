"""One marking session: the page with all answers to a question, and the marks that come back from it.

The page shows everything that a student wrote and runs none of it. It knows answers by ids that do not reveal the student.
"""

import contextlib
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from html import escape
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from markupsafe import Markup
from msgspec import Meta

from autograder.courses.course import Course
from autograder.courses.plan import Selection
from autograder.errors import CourseError
from autograder.feedback.notices import plain
from autograder.gradebook.provenance import load_marking_record
from autograder.marking.answers import (
    Answer,
    AnswersChanged,
    CurrentMark,
    NewMark,
    Scheme,
    count_marked,
    count_progress,
    load_answers,
    load_scheme,
    read_picture,
    save_marks,
)
from autograder.marking.criteria import (
    MovesChanged,
    find_moves,
    hash_moves,
    normalise_criteria,
    select_undecided,
    settle_moves,
)
from autograder.marking.desk import AnswersTaken, Desk
from autograder.marking.shown_answers import ShownAnswers

if TYPE_CHECKING:  # imported only once there is a page to show, so that its address appears sooner
    from autograder.marking.grouping import Group

MAX_COMMENT_CHARACTERS = 10_000  # characters of a comment
MAX_OFFERED, MAX_OFFERED_CHARACTERS = 12, 500  # comments offered for reuse; characters in one
MAX_LISTED = 20  # marks that changed criteria move, listed in the terminal
RENDERED_ANSWERS_KEPT = 2000  # rendered answers in the cache
MAX_PAGE_CHARACTERS = 10 * 2**20  # of the answers' HTML on one page
Id = Annotated[str, Meta(max_length=64)]


class ClientState(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The id of an answer on the page, and a hash of what the marker has seen of it."""

    id: Id
    seen: Id


class MarkRequest(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A request to mark some answers: their points, None to leave them unmarked, and the comment."""

    answers: Annotated[tuple[ClientState, ...], Meta(min_length=1, max_length=10_000)]
    points: Annotated[float, Meta(ge=0)] | None
    comment: Annotated[str, Meta(max_length=MAX_COMMENT_CHARACTERS)] = ""


class CriteriaRequest(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A decision on the marks that changed criteria would move: whether to move them."""

    seen: Id
    move: bool


class Conflict(Exception):
    """A request from the page was refused; ``response`` says why, as JSON."""

    def __init__(self, problem: str, **more: Any) -> None:
        super().__init__(problem)
        self.response = {"problem": problem, **more}


class Session:
    """The marking of all answers to ``exercise`` of ``topic`` in ``course``. With ``names``, students are named.

    With ``only``, it has these students' answers, with ``student``, that of one student; with ``marker``, those that this
    marker in course.toml is offered at a ``Desk``, which has to be closed.

    Raises CourseError if no person marks this exercise, or the gradebook cannot be read.
    """

    def __init__(
        self,
        course: Course,
        topic: str,
        exercise: str,
        names: bool = False,
        only: Selection = None,
        marker: str = "",
        student: str = "",
    ) -> None:
        self.course, self.topic, self.names, self.student = course, topic, names, student
        self.only = frozenset({student}) if student else only
        self.scheme: Scheme = load_scheme(course, topic, exercise)
        self.exercise = self.scheme.question.name
        self._called = course.plan().names_by_id() if names else None
        self.marked: set[str] = set()  # students, in this session
        self.unsaved: set[str] = set()  # ids of answers whose marks could not be saved yet
        self.shown = ShownAnswers()
        self.progress()  # raises CourseError now if the gradebook cannot be read
        self.find_moves()
        self.desk = Desk(course, topic, self.exercise, marker) if marker else None
        self._waiting: dict[str, bool] = {}  # id -> whether it waits, for the answers offered last

    def close(self) -> None:
        if self.desk:
            self.desk.close()

    def answers(self) -> list[Answer]:
        """Return the answers that a person marks, as they are now, without those that were left as handed out.

        Raises CourseError if another marker has the answer of the session's one student open.
        """
        return self._select_offered(load_answers(self.course, self.topic, self.exercise, self.only))

    def _select_offered(self, answers):
        answers = [answer for answer in answers if not answer.is_untouched]
        try:
            return self.desk.offer(answers, self.student) if self.desk else answers
        except AnswersTaken as taken:
            what = f"{taken.by} has the answer of {self.student!r} open"
            raise CourseError(what, "--student", f"run the command again when {taken.by} has closed it.") from None

    def progress(self) -> dict[str, int]:
        """Return how many answers are marked, of how many, and how many more were left as handed out."""
        return count_progress(self.course, self.topic, self.exercise, self.only)

    def page(self, token: str = "") -> str:
        """Return the page in its current state. It requests pictures with ``token``.

        If there are more answers than a browser can hold, it has the first ones, beginning with those that wait.
        """
        from autograder.feedback import cell_html
        from autograder.feedback.rendering import load_template
        from autograder.marking.grouping import group_similar

        self.unsaved.clear()  # the page before this one is closed
        # loaded once: a mark that is saved meanwhile is in the groups and the counts, or in neither
        moves = self.find_moves()
        answers = [] if moves else load_answers(self.course, self.topic, self.exercise, self.only)
        offered, untouched = self._select_offered(answers), sum(answer.is_untouched for answer in answers)
        counts = count_marked([(False, answer.held.waiting) for answer in offered]) | {"untouched": untouched}
        self._waiting = {self.shown.id_of(answer): answer.held.waiting for answer in offered}
        groups = group_similar(offered, key=self.shown.id_of)
        shown, size = [], 0
        for group in groups:
            spellings = _list_spellings(group, self.shown, token, self._called)
            size += sum(len(html) for html, _ in spellings)
            if shown and size > MAX_PAGE_CHARACTERS:
                break
            shown.append((group, spellings))
        criteria = [(criterion, criterion.comment) for criterion in self._criteria]
        comments = _frequent_comments(answers, {comment for _, comment in criteria})
        data = {
            "points": self.scheme.points,
            "criteria": [{"points": criterion.points, "comment": comment} for criterion, comment in criteria],
            "groups": [_group_state(group, self.shown, self.desk) for group, _ in shown],
            "progress": counts,
            "shared": self.desk is not None,
            "moves": hash_moves(moves),
        }
        return load_template(Path(__file__).with_name("page.html.j2")).render(
            scheme=self.scheme,
            marker=self.desk.marker if self.desk else "",
            criteria=criteria,
            said=comments,
            question=Markup(cell_html.prose(self.scheme.question.text)),
            answer=Markup(cell_html.prose(self.scheme.answer)),
            groups=shown,
            left=sum(len(group.answers) for group in groups[len(shown) :]),
            untouched=counts["untouched"],
            names=self.names,
            moves=_describe_moves(moves, self._called),
            data=data,
        )

    def picture(self, picture_id: str) -> tuple[str, bytes] | None:
        """Return ``(MIME type, content)`` of a picture that the page shows; None for any other ``picture_id``."""
        picture = self.shown.find_picture(picture_id)
        return picture and read_picture(self.course, self.topic, self.exercise, *picture)

    def mark(self, request: MarkRequest) -> dict[str, Any]:
        """Save the marks that the page sends in ``request``; return the update for the page.

        Raises Conflict if an answer differs from what the marker has seen, or the points are out of range, and
        CourseError if the gradebook cannot be written now: ``unsaved`` has the answers until the page has sent them again.
        """
        ids = {answer.id for answer in request.answers}
        self.unsaved -= ids
        try:
            return self._mark(request)
        except CourseError:
            self.unsaved |= ids
            raise

    def _mark(self, request):
        from autograder.feedback import sanitize

        record = load_marking_record(self.course, self.topic, self.exercise)
        if record.criteria != self._criteria or select_undecided(record, self.only):
            raise Conflict("The criteria have changed: reload the page.")
        if request.points is not None and request.points > self.scheme.points:
            raise Conflict(f"The maximum is {self.scheme.points:g} points.")
        seen_answers = [self.shown.find(answer.id, answer.seen) for answer in request.answers]
        if len({answer.id for answer in request.answers}) < len(seen_answers) or None in seen_answers:
            raise Conflict("This page is from an earlier session: reload it.")
        held = CurrentMark(request.points, request.points is None, sanitize.plain(request.comment).strip() or None)
        answers = [answer for answer in seen_answers if answer is not None]
        marks = [(answer, held) for answer in answers]
        markers = {answer.student: self.desk.marker for answer in answers} if self.desk else None
        try:
            with self.desk.keep_others_out(marks) if self.desk else contextlib.nullcontext():
                saved = save_marks(self.course, self.topic, self.exercise, marks, markers)
        except AnswersChanged as changed:
            raise _describe_conflict(changed.now, answers, self.scheme, self.shown) from None
        except AnswersTaken as taken:
            raise Conflict(f"{taken.by} has this answer now: reload the page.") from None
        self.marked = (self.marked | {answer.student for answer in saved}) - {
            answer.student for answer in saved if held.waiting
        }
        if self.desk:  # the page shows the progress of the answers offered here
            self._waiting |= {self.shown.id_of(answer): answer.held.waiting for answer in saved}
            progress = count_marked([(False, waiting) for waiting in self._waiting.values()])
        else:
            progress = self.progress()
        return {"answers": [self.shown.add(answer) for answer in saved], **progress}

    def find_moves(self) -> list[NewMark]:
        """Read the criteria; return the marks that they would move because they have changed since the marks were given.

        Until a person has decided on these marks, nothing can be marked.
        """
        self.scheme = load_scheme(self.course, self.topic, self.exercise)
        self._criteria = normalise_criteria(self.scheme.criteria)
        return find_moves(self.course, self.topic, self.exercise, self._criteria, self.only)

    def describe_moves(self) -> list[str]:
        """Return lines that say which marks the criteria would move; [] if they move none."""
        moves = _describe_moves(self.find_moves(), self._called)
        lines = [f"  {name}: {before} → {after}{f', {why}' if why else ''}" for name, before, after, why in moves]
        more = [f"  … and {len(lines) - MAX_LISTED} more"] if len(lines) > MAX_LISTED else []
        title = f"The criteria of {self.exercise} have changed since these marks were given:"
        return [title, *lines[:MAX_LISTED], *more, "Nothing changes until you decide on the page."] if lines else []

    def settle_moves(self, request: CriteriaRequest) -> dict[str, Any]:
        """Move the marks that changed criteria would move, or leave them, as the page asks; return how many were moved.

        Raises Conflict if they differ from those on the page, and CourseError if the gradebook cannot be written now.
        """
        where = self.course, self.topic, self.exercise
        try:
            moved = settle_moves(*where, request.seen, request.move, self.only)
        except (MovesChanged, AnswersChanged):
            raise Conflict("The marks or the criteria have changed in the meantime: reload the page.") from None
        self.marked |= {answer.student for answer, after in moved if not after.waiting}
        return {"moved": len(moved)}


def _list_spellings(
    group: "Group", shown: ShownAnswers, token: str, called: Mapping[str, str] | None
) -> list[tuple[Markup, list[tuple[str, str]]]]:
    """Return ``(HTML, [(id, student)])`` for each spelling among the answers of ``group``.

    ``called`` has the students' names; None if the page does not name them.
    """
    spelt: dict[str, tuple[Markup, list[tuple[str, str]]]] = {}
    for answer in group.answers:
        text = answer.text.strip()
        pictures = shown.add_pictures(answer, token)
        html = Markup(_render_answer(text, pictures) if pictures else _render_cached(text))
        _, whose = spelt.setdefault(" ".join(html.split()), (html, []))
        whose.append((shown.id_of(answer), "" if called is None else called.get(answer.student, answer.student)))
    return list(spelt.values())


def _group_state(group: "Group", shown: ShownAnswers, desk: Desk | None) -> dict[str, Any]:
    held = group.answers[0].held
    client_states = [shown.add(answer) for answer in group.answers]
    state = {
        "answers": client_states,
        "points": held.points,
        "waiting": held.waiting,
        "comment": held.comment or "",
    }
    return state | {"by": desk.other_markers(group.answers) if desk else []}


def _describe_moves(moves: Sequence[NewMark], called: Mapping[str, str] | None) -> list[tuple[str, str, str, str]]:
    """Return ``(student, points before, after, what else changes)`` of each move.

    ``called`` has the students' names; without them, it is the number of students for each different move.
    """
    rows = []
    for answer, after in moves:
        held = answer.held
        why = "waits for another look" if after.waiting and not held.waiting else ""
        why = why or ("the comment changes" if after.points == held.points else "")
        name = "" if called is None else plain(called.get(answer.student, answer.student))
        rows.append((name, f"{held.points:g}", f"{after.points:g}", why))
    if called is not None:
        return rows
    counts = Counter(row[1:] for row in rows)
    return [(f"{count} answer{'s' if count > 1 else ''}", *row) for row, count in counts.items()]


def _describe_conflict(now, answers, scheme, shown):
    """Return the ``Conflict`` over answers that have changed. If only marks have, the marker may overwrite them."""
    before = {answer.student: answer for answer in answers}
    if any(
        (answer.text, answer.drawn) != (before[student].text, before[student].drawn) for student, answer in now.items()
    ):
        return Conflict("The student has since handed in something else: reload the page.")
    sentences = []
    for held in (answer.held for answer in now.values()):
        did = "taken the points away"
        if held.points is not None:
            did = f"given {held.points:g} of {scheme.points:g} points"
        sentences.append(f"Somebody has {did} meanwhile{f', and says: {held.comment}' if held.comment else '.'}")
    return Conflict(" ".join(dict.fromkeys(sentences)), now=[shown.add(answer) for answer in now.values()])


def _frequent_comments(answers, of_criteria):
    """Return the comments on ``answers`` that markers wrote themselves, the most frequent first."""
    comments: Counter[str] = Counter()
    for answer in answers:
        lines = [line for line in (answer.held.comment or "").split("\n") if line.strip() and line not in of_criteria]
        comments.update(["\n".join(lines)] if 0 < sum(map(len, lines)) <= MAX_OFFERED_CHARACTERS else [])
    return [words for words, _ in comments.most_common(MAX_OFFERED)]


def _render_answer(text: str, addresses: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return an answer as HTML; as it was written if it cannot be converted."""
    from autograder.feedback import cell_html

    try:
        return cell_html.prose(text, addresses=addresses)
    except Exception:  # whatever a text may do to the converter: the other answers must still be marked
        return f"<pre>{escape(text)}</pre>"


@lru_cache(RENDERED_ANSWERS_KEPT)
def _render_cached(text):
    return _render_answer(text)
