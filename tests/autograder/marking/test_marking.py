"""A person's marks reach the gradebook completely or not at all, and never overwrite another person's."""

import base64
import contextlib
import html
import http.client
import json
import re
import signal
import subprocess
import sys
import threading
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import nbformat
import pytest
from nbgrader.api import Gradebook

from autograder.courses.locking import exclusive_lock
from autograder.errors import CourseError
from autograder.feedback import cell_html
from autograder.gradebook.scores import load_results
from autograder.marking import cli, server
from autograder.marking import session as session_module
from autograder.marking.answers import load_scheme
from autograder.marking.server import serve
from autograder.marking.session import ClientState, Conflict, MarkRequest, Session, _render_cached
from autograder.notebooks.cell_ids import id_of
from tests.autograder.essays import ANSWERS, ESSAY, KEYS, SIGN, essays, grade, hand_in
from tests.autograder.test_main import assert_refused, autograder

pytestmark = pytest.mark.suite("assignments")


@pytest.fixture(scope="module")
def graded(released, tmp_path_factory):
    return essays(released, tmp_path_factory.mktemp("essays"))


@pytest.fixture
def course(released, tmp_path, graded):
    return essays(released, tmp_path)


def in_gradebook(course):
    """Return ``{student: (points, waiting, comment)}`` as nbgrader reads them."""
    with Gradebook(course.gradebook.url, "") as gradebook:
        marks = {}
        for notebook in gradebook.notebook_submissions("scoring", "scoring"):
            (mark,) = (row for row in notebook.grades if row.name == ESSAY)
            (essay_comment,) = (row for row in notebook.comments if row.name == ESSAY)
            marks[notebook.student.id] = mark.manual_score, mark.needs_manual_grade, essay_comment.manual_comment
        return marks


def by_hand(course, student, points, comment=None, waiting=None):
    """Mark as the formgrader would; without ``waiting``, an answer without points waits."""
    with Gradebook(course.gradebook.url, "") as gradebook:
        notebook = gradebook.find_submission_notebook("scoring", "scoring", student)
        (mark,) = (row for row in notebook.grades if row.name == ESSAY)
        (essay_comment,) = (row for row in notebook.comments if row.name == ESSAY)
        mark.manual_score, essay_comment.manual_comment = points, comment
        mark.needs_manual_grade = points is None if waiting is None else waiting
        gradebook.db.commit()


def page_data(page):
    return json.loads(page.partition('<script type="application/json" id="data">')[2].partition("</script>")[0])


def group_of(session, text):
    """Return what the page of ``session`` holds on the group of answers that includes ``text``."""
    groups = page_data(session.page())["groups"]
    ids = {session.shown.id_of(answer) for answer in session.answers() if answer.text == text}
    (matching_group,) = (group for group in groups if ids & {entry["id"] for entry in group["answers"]})
    return tuple(ClientState(**entry) for entry in matching_group["answers"])


@pytest.fixture
def session(course):
    return Session(course, "scoring", "what_to_recompute")


def test_the_scheme_is_that_of_the_release(graded):
    for name in ("what_to_recompute", ESSAY):
        scheme = load_scheme(graded, "scoring", name)
        assert scheme.question.title
        assert scheme.points == sum(criterion.points for criterion in scheme.criteria) == 2


def test_marks_of_like_answers_are_saved_for_all_of_them_and_nobody_else(session, course):
    before = in_gradebook(course)
    reply = session.mark(MarkRequest(group_of(session, KEYS), 1.5, "Which one? \x1b[31m"))
    now = in_gradebook(course)
    assert now["ada_king"] == now["ben_ito"] == (1.5, False, "Which one?")
    assert {name: now[name] for name in ("cem_kaya", "dora_lee", "emil_roth")} == {
        name: before[name] for name in ("cem_kaya", "dora_lee", "emil_roth")
    }
    assert (reply["marked"], reply["of"]) == (2, 4)


def test_what_was_left_as_handed_out_waits_for_nobody(session):
    assert session.progress()["untouched"] == 1
    assert "emil_roth" not in {answer.student for answer in session.answers()}


def test_an_answer_left_as_handed_out_to_which_a_person_gives_points_is_a_marked_one(session, course):
    by_hand(course, "emil_roth", 1.0)
    assert session.progress() == {"marked": 1, "of": 5, "untouched": 0}
    (answer,) = (answer for answer in session.answers() if answer.student == "emil_roth")
    assert answer.held.points == 1.0


def test_marks_can_be_changed_and_taken_back(session, course):
    seen = group_of(session, SIGN)
    for points, comment, expected in [
        (1, "", (1.0, False, None)),
        (0, "No.", (0.0, False, "No.")),
        (None, "", (None, True, None)),
    ]:
        reply = session.mark(MarkRequest(seen, points, comment))
        assert in_gradebook(course)["cem_kaya"] == expected
        seen = tuple(ClientState(**answer) for answer in reply["answers"])
    assert session.marked == set()


def test_the_next_page_has_what_was_marked_last(session):
    session.mark(MarkRequest(group_of(session, KEYS), 2))
    groups = page_data(session.page())["groups"]
    assert [group["waiting"] for group in groups] == [True, True, False]
    assert groups[-1]["points"] == 2


def test_what_somebody_else_has_given_meanwhile_is_not_overwritten_unless_that_is_wanted(session, course):
    seen = group_of(session, KEYS)
    by_hand(course, "ben_ito", 0.5, "Nearly.")
    with pytest.raises(Conflict) as conflict:
        session.mark(MarkRequest(seen, 2))
    assert "0.5 of 2" in conflict.value.response["problem"]
    assert "Nearly." in conflict.value.response["problem"]
    assert in_gradebook(course)["ada_king"] == (None, True, None)  # all or nothing
    assert in_gradebook(course)["ben_ito"] == (0.5, False, "Nearly.")
    theirs = {answer["id"]: ClientState(**answer) for answer in conflict.value.response["now"]}
    assert len(theirs) == 1
    session.mark(MarkRequest(tuple(theirs.get(answer.id, answer) for answer in seen), 2))
    assert in_gradebook(course)["ada_king"] == in_gradebook(course)["ben_ito"] == (2.0, False, None)


def test_a_comment_that_somebody_else_has_written_is_not_overwritten(session, course):
    seen = group_of(session, SIGN)
    by_hand(course, "cem_kaya", None, "I am still thinking.")
    with pytest.raises(Conflict):
        session.mark(MarkRequest(seen, 2))
    assert in_gradebook(course)["cem_kaya"] == (None, True, "I am still thinking.")


def test_points_that_somebody_else_has_changed_alone_are_not_overwritten(session, course):
    by_hand(course, "cem_kaya", 2.0)
    session.page()
    seen = group_of(session, SIGN)
    by_hand(course, "cem_kaya", 0.5)
    with pytest.raises(Conflict, match=r"Somebody has given 0\.5"):
        session.mark(MarkRequest(seen, 1))
    assert in_gradebook(course)["cem_kaya"] == (0.5, False, None)


def test_points_that_somebody_else_has_confirmed_are_not_overwritten(session, course):
    by_hand(course, "cem_kaya", 2.0, waiting=True)  # such as for an answer that has changed
    seen = group_of(session, SIGN)
    by_hand(course, "cem_kaya", 2.0)
    with pytest.raises(Conflict, match="Somebody has given 2 of 2"):
        session.mark(MarkRequest(seen, 1))
    assert in_gradebook(course)["cem_kaya"] == (2.0, False, None)


@pytest.mark.parametrize(
    ("points", "words"), [(0.0, "given 0 of 2 points meanwhile"), (None, "taken the points away meanwhile")]
)
def test_a_marker_is_told_whether_somebody_gave_no_points_or_took_them_away(session, course, points, words):
    by_hand(course, "cem_kaya", 2.0)
    seen = group_of(session, SIGN)
    by_hand(course, "cem_kaya", points)
    with pytest.raises(Conflict, match=f"Somebody has {words}"):
        session.mark(MarkRequest(seen, 1))


def test_a_tab_from_before_the_page_was_opened_again_says_what_was_given_and_may_overwrite_it(session, course):
    seen = group_of(session, SIGN)
    session.mark(MarkRequest(seen, 1))
    session.page()  # in another tab
    with pytest.raises(Conflict, match="Somebody has given 1 of 2 points") as conflict:
        session.mark(MarkRequest(seen, 2))
    session.mark(MarkRequest(tuple(ClientState(**answer) for answer in conflict.value.response["now"]), 2))
    assert in_gradebook(course)["cem_kaya"] == (2.0, False, None)


def test_two_markers_at_once_do_not_overwrite_each_other(session, course):
    other = Session(course, "scoring", "what_to_recompute")
    mine, theirs = group_of(session, SIGN), group_of(other, SIGN)
    assert not {answer.id for answer in mine} & {answer.id for answer in theirs}
    other.mark(MarkRequest(theirs, 1))
    with pytest.raises(Conflict):
        session.mark(MarkRequest(mine, 2))
    assert in_gradebook(course)["cem_kaya"][0] == 1
    assert session.progress()["marked"] == 1


def test_marks_survive_a_regrade_until_the_answer_is_another(session, course):
    session.mark(MarkRequest(group_of(session, KEYS), 1.5, "Which one?"))
    session.mark(MarkRequest(group_of(session, SIGN), 2))
    seen = group_of(session, SIGN)
    hand_in(course, "cem_kaya", "I have thought again: the keys.")
    rows = {row.student: row for row in grade(course)}
    now = in_gradebook(course)
    assert now["ada_king"] == now["ben_ito"] == (1.5, False, "Which one?")
    assert ESSAY not in rows["ada_king"].waiting
    assert "Which one?" in course.feedback("ada_king", "scoring").read_text(encoding="utf-8")
    assert now["cem_kaya"] == (2.0, True, None)  # waits for another look
    results = load_results(course, "scoring")
    assert (results["ada_king"].waiting, results["cem_kaya"].waiting) == ((), (ESSAY,))
    with pytest.raises(Conflict, match="something else") as conflict:
        session.mark(MarkRequest(seen, 2))
    assert "now" not in conflict.value.response  # the page must be reloaded
    first = page_data(session.page())["groups"][:2]
    assert (2.0, True) in [(group["points"], group["waiting"]) for group in first]


def test_nothing_is_marked_while_a_class_is_graded(session, course):
    seen = group_of(session, SIGN)
    with exclusive_lock(course), pytest.raises(CourseError, match="another command, such as `grade`"):
        session.mark(MarkRequest(seen, 2))
    assert in_gradebook(course)["cem_kaya"] == (None, True, None)
    session.mark(MarkRequest(seen, 2))


@pytest.mark.parametrize("points", [2.5, 1e308])
def test_there_are_no_more_points_than_there_are(session, course, points):
    with pytest.raises(Conflict, match="2 points"):
        session.mark(MarkRequest(group_of(session, SIGN), points))
    assert in_gradebook(course)["cem_kaya"][0] is None


def test_the_page_says_nobodys_name_unless_asked(course):
    page, named = (Session(course, "scoring", "what_to_recompute", names).page() for names in (False, True))
    assert [name for name in ANSWERS if name in page] == []
    assert [name for name in ANSWERS if name in named] == ["ada_king", "ben_ito", "cem_kaya", "dora_lee"]


def test_what_a_student_wrote_is_shown_and_does_nothing(session):
    page = session.page()
    assert "<script>window" not in page
    assert "&lt;script&gt;window" in page
    assert "<img" not in page
    assert "href" not in page.partition("<main>")[2].partition("</main>")[0]
    assert KEYS in page


def test_words_of_a_markers_own_are_offered_again_to_every_marker(session, course):
    criterion = load_scheme(course, "scoring", ESSAY).criteria[0].comment
    session.mark(MarkRequest(group_of(session, KEYS), 1.5, f"{criterion}\nWhich one?"))
    session.mark(MarkRequest(group_of(session, SIGN), 1, "</script>See W = w."))
    page = Session(course, "scoring", "what_to_recompute").page()
    offered = page.partition('<div id="before-said">')[2].partition("</div>")[0]
    assert re.findall(r"<button type=\"button\">(.*?)</button>", offered) == ["Which one?", "&lt;/script&gt;See W = w."]


def test_a_comment_cannot_end_the_data_of_the_page(session):
    session.mark(MarkRequest(group_of(session, SIGN), 1, "</script><script>harm()</script>"))
    page = session.page()
    assert page.count("</script>") == 2
    assert "</script><script>harm()</script>" in [group["comment"] for group in page_data(page)["groups"]]


# --- the server ------------------------------------------------------------------------------------------------------


def served(session):
    """Serve ``session``; give the address of its page."""
    return serve(session, "open sesame", 0)


def ask(address, path="/", method="GET", body=None, **headers):
    """Send a request; return ``(status, headers, text)`` of the response."""
    connection = http.client.HTTPConnection("127.0.0.1", urlsplit(address).port, timeout=60)
    try:
        connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
        reply = connection.getresponse()
        return reply.status, dict(reply.getheaders()), reply.read().decode()
    finally:
        connection.close()


GOOD = {"X_Marking_Token": "open sesame", "Content_Type": "application/json"}


@pytest.fixture
def address(session):
    with served(session) as address:
        yield address


def wanted(session, **other):
    seen = [{"id": answer.id, "seen": answer.seen} for answer in group_of(session, SIGN)]
    return json.dumps({"answers": seen, "points": 1.5, "comment": "Good.", **other})


def test_the_page_opens_with_the_token_and_asks_nobody_else(address):
    status, headers, text = ask(address, "/?token=open%20sesame")
    assert status == 200
    assert KEYS in text
    policy = headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';")
    assert "unsafe" not in policy
    assert headers["Referrer-Policy"] == "no-referrer"
    assert "Set-Cookie" not in headers
    for name in ("page.css", "page.js"):
        status, headers, beside = ask(address, f"/{name}")
        assert status == 200
        assert "http:" not in beside + text
        assert "https:" not in beside + text


@pytest.mark.parametrize(
    "path", ["/", "/?token=", "/?token=open+sesame+", "/?token=%ff", "/?token=Open%20sesame", "/?token=x&token=y"]
)
def test_nothing_opens_without_the_token(address, path):
    status, _, text = ask(address, path)
    assert status in (400, 403)
    assert KEYS not in text


@pytest.mark.parametrize("path", ["/marks", "/answers.py", "/page.html.j2", "/../answers.py", "/x"])
def test_nothing_else_is_there(address, path):
    assert ask(address, path)[0] in (404, 405)


@pytest.mark.parametrize("host", ["evil.example", "evil.example:{port}", "127.0.0.1:1", "127.0.0.1", "localhost", ""])
def test_a_page_of_another_host_is_refused(address, session, course, host):
    host = host.format(port=urlsplit(address).port)
    assert ask(address, "/?token=open%20sesame", Host=host)[0] in (400, 403)
    assert ask(address, "/page.js", Host=host)[0] in (400, 403)
    assert ask(address, "/marks", "POST", wanted(session), Host=host, **GOOD)[0] in (400, 403)
    assert in_gradebook(course)["cem_kaya"] == (None, True, None)


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
def test_the_page_opens_and_saves_marks_by_either_name_of_this_machine(address, session, course, name):
    host = f"{name}:{urlsplit(address).port}"
    assert ask(address, "/?token=open%20sesame", Host=host)[0] == 200
    assert ask(address, "/page.js", Host=host)[0] == 200
    assert ask(address, "/marks", "POST", wanted(session), Host=host, Origin=f"http://{host}", **GOOD)[0] == 200
    assert in_gradebook(course)["cem_kaya"] == (1.5, False, "Good.")


def test_marks_that_are_sent_are_saved(address, session, course):
    status, _, text = ask(address, "/marks", "POST", wanted(session), Origin=address.partition("/?")[0], **GOOD)
    assert status == 200
    assert in_gradebook(course)["cem_kaya"] == (1.5, False, "Good.")
    assert json.loads(text)["marked"] == 1
    status, _, text = ask(address, "/marks", "POST", wanted(session, points=2.5), **GOOD)
    assert (status, json.loads(text)) == (409, {"problem": "The maximum is 2 points."})  # not to be tried again


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({"X_Marking_Token": ""}, 403),
        ({"X_Marking_Token": "open sesam\xe9"}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Content_Type": "text/plain"}, 415),
        ({"Content_Type": "application/x-www-form-urlencoded"}, 415),
    ],
)
def test_marks_that_another_page_sends_are_refused(address, session, course, changed, status):
    assert ask(address, "/marks?token=open%20sesame", "POST", wanted(session), **GOOD | changed)[0] == status
    assert in_gradebook(course)["cem_kaya"] == (None, True, None)


@pytest.mark.parametrize(
    "other",
    [
        {"points": -1},
        {"points": "2"},
        {"points": [1]},
        {"comment": "x" * 10_001},
        {"comment": None},
        {"answers": []},
        {"answers": [{"id": "x", "seen": 1}]},
        {"student": "cem_kaya"},
    ],
)
def test_what_are_no_marks_is_refused_in_words(address, session, course, other):
    status, _, text = ask(address, "/marks", "POST", wanted(session, **other), **GOOD)
    assert status == 400
    assert "not valid marks" in json.loads(text)["problem"]
    assert in_gradebook(course)["cem_kaya"] == (None, True, None)


@pytest.mark.parametrize("body", [b"", b"{", b"NaN", b"\xff", b'{"points": NaN}', b"[" * 100_000])
def test_what_is_no_json_is_refused(address, body):
    assert ask(address, "/marks", "POST", body, **GOOD)[0] == 400


def test_what_is_too_long_is_not_read(address):
    with contextlib.suppress(ConnectionError):  # the server may hang up before everything is sent
        assert ask(address, "/marks", "POST", b" " * (2**20 + 1), **GOOD)[0] == 400
    assert ask(address, "/?token=open%20sesame")[0] == 200


def test_answers_of_another_sitting_are_refused(address, session, course):
    for answers in ([{"id": "x", "seen": "y"}], json.loads(wanted(session))["answers"] * 2):
        assert ask(address, "/marks", "POST", wanted(session, answers=answers), **GOOD)[0] == 409
    assert in_gradebook(course)["cem_kaya"] == (None, True, None)


def test_the_page_learns_that_the_course_is_locked_and_that_it_may_try_again(address, session, course, monkeypatch):
    monkeypatch.setattr(server, "LOCK_TRIES", 2)
    body = wanted(session)
    with exclusive_lock(course):
        status, _, text = ask(address, "/marks", "POST", body, **GOOD)
        assert session.unsaved
    assert status == 503
    assert json.loads(text) == {
        "problem": "another command, such as `grade`, is writing to this course.",
        "again": True,
    }
    assert ask(address, "/marks", "POST", body, **GOOD)[0] == 200
    assert not session.unsaved


def test_a_mark_is_saved_as_soon_as_another_command_unlocks_the_course(address, session, course, monkeypatch):
    monkeypatch.setattr(server, "LOCK_TRIES", 10**6)
    body = wanted(session)
    with ThreadPoolExecutor(1) as pool:
        with exclusive_lock(course):
            reply = pool.submit(ask, address, "/marks", "POST", body, **GOOD)
            while not session.unsaved:
                assert not reply.done()
        assert reply.result()[0] == 200
    assert not session.unsaved


def test_marks_that_could_not_be_saved_are_unsaved_until_each_is_sent_again(session, course):
    session.page()
    first, second = (
        MarkRequest(tuple(ClientState(**session.shown.add(a)) for a in session.answers() if a.student == student), 1.0)
        for student in ("cem_kaya", "dora_lee")
    )
    with exclusive_lock(course):
        for request in (first, second):
            with pytest.raises(CourseError, match="another command"):
                session.mark(request)
    for request, others in ((second, {first.answers[0].id}), (first, set())):
        session.mark(request)
        assert session.unsaved == others


class SavedLater(set):
    """Ids of answers that the page has saved by the fourth time that somebody looks."""

    looks = 0

    def __bool__(self):
        self.looks += 1
        return self.looks < 4


@pytest.mark.parametrize(("gives_up", "looks"), [(False, 4), (True, 2)])
def test_the_command_ends_once_the_page_has_saved_all_marks_or_at_a_second_interrupt(
    session, monkeypatch, gives_up, looks
):
    lines, unsaved = [], SavedLater({"an answer"})

    @contextlib.contextmanager
    def serve(session, token, port):
        session.unsaved = unsaved
        signal.raise_signal(signal.SIGINT)
        yield "http://127.0.0.1:1/"

    def say(line):
        lines.append(line)
        if "not saved yet" in line and gives_up:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(cli, "serve", serve)
    cli.run_server(session, 0, False, say)
    assert [line for line in lines if "not saved yet" in line]
    assert unsaved.looks == looks


# --- large classes ---------------------------------------------------------------------------------------------------


PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(2 * 2**20)


def attach(course, student, text, pictures, added=()):
    """Replace ``student``'s answer in the graded copy by ``text`` with pictures, and by ``added`` cells of the same form."""
    path = course.autograded(student, "scoring")
    notebook = nbformat.read(path, as_version=4)
    (place,) = (number for number, cell in enumerate(notebook.cells) if id_of(cell) == ESSAY)
    more = [nbformat.v4.new_markdown_cell() for _ in added]
    notebook.cells[place + 1 : place + 1] = more
    for cell, (source, attached) in zip(notebook.cells[place:], [(text, pictures), *added], strict=False):
        cell["source"] = source
        cell["attachments"] = {name: {"image/png": base64.b64encode(data).decode()} for name, data in attached.items()}
    path.unlink()  # nbgrader writes read-only files
    path.write_text(nbformat.writes(notebook), encoding="utf-8")


def test_pictures_are_no_part_of_the_page_and_come_when_they_are_seen(session, course):
    names = {f"picture{number}.png": PICTURE for number in range(5)}
    attach(course, "cem_kaya", " ".join(f"![drawn](attachment:{name})" for name in names), names)
    attach(course, "ada_king", "![mine](attachment:plot.png) ![gone](attachment:gone.png)", {"plot.png": PICTURE})
    with served(session) as address:
        status, headers, page = ask(address, "/?token=open%20sesame")
        assert status == 200
        assert len(page) < 100_000
        assert "img-src 'self'" in headers["Content-Security-Policy"]
        (source,) = re.findall(r'<img src="([^"]+)" alt="mine" loading="lazy">', page)
        assert page.count('loading="lazy"') == 6
        assert "gone.png: this picture was not handed in" in page
        status, headers, _ = ask(address, f"/{source.partition('?')[0]}?token=other")
        assert status == 403
        assert ask(address, "/pictures/0123456789abcdef?token=open%20sesame")[0] == 404
        with urllib.request.urlopen(address.partition("?")[0] + source, timeout=60) as reply:
            assert reply.headers["Content-Type"] == "image/png"
            assert reply.read() == PICTURE


def test_pictures_of_one_name_in_cells_added_to_an_answer_are_each_seen_in_their_place(session, course):
    cells = [
        (f"![{words}](attachment:image.png)", {"image.png": words.encode()}) for words in ("one", "two", "three")
    ]  # Jupyter names every pasted picture so
    attach(course, "cem_kaya", *cells[0], cells[1:])
    sources = re.findall(r'<img src="pictures/(\w+)[^"]*" alt="(\w+)"', session.page())
    assert [words for _, words in sources] == ["one", "two", "three"]
    assert [session.picture(picture_id) for picture_id, _ in sources] == [
        ("image/png", words.encode()) for _, words in sources
    ]


def test_the_same_words_under_other_pictures_are_marked_apart_and_an_exchanged_picture_is_seen(session, course):
    text = "![mine](attachment:mine.png)"
    attach(course, "cem_kaya", text, {"mine.png": b"one"})
    attach(course, "ada_king", text, {"mine.png": b"two"})
    data = page_data(session.page())
    ids = {session.shown.id_of(answer) for answer in session.answers() if answer.text == text}
    groups = [{entry["id"] for entry in group["answers"]} & ids for group in data["groups"]]
    assert sorted(map(len, filter(None, groups))) == [1, 1]
    (cem,) = (answer for answer in session.answers() if answer.student == "cem_kaya")
    attach(course, "cem_kaya", text, {"mine.png": b"three"})
    with pytest.raises(Conflict, match="something else"):
        session.mark(MarkRequest((ClientState(session.shown.id_of(cem), cem.seen),), 1))
    assert in_gradebook(course)["cem_kaya"][0] is None


def test_an_answer_whose_picture_was_exchanged_waits_for_another_look(course):
    def draw(picture):
        def change(data):
            (cell,) = (cell for cell in data["cells"] if id_of(cell) == ESSAY)
            cell["attachments"] = {"mine.png": {"image/png": base64.b64encode(picture).decode()}}

        hand_in(course, "cem_kaya", "![mine](attachment:mine.png)", change)
        grade(course)
        return in_gradebook(course)["cem_kaya"][1]

    assert draw(b"one")
    by_hand(course, "cem_kaya", 1.0)
    assert not draw(b"one")
    assert draw(b"two")


def test_a_page_has_as_many_answers_as_a_browser_can_hold_and_says_how_many_are_left(session, course, monkeypatch):
    long = "A long answer, said at length. " * 10_000
    for student in ("ada_king", "ben_ito", "cem_kaya"):
        attach(course, student, f"{long} {student}", {})
    monkeypatch.setattr(session_module, "MAX_PAGE_CHARACTERS", int(1.5 * len(long)))
    first = session.page()
    assert 0 < len(page_data(first)["groups"]) < 4
    assert "not fit on this page" in first
    seen = set()
    for _ in range(4):  # unmarked answers come first, so each gets its turn
        groups = page_data(session.page())["groups"]
        for group in groups:
            if group["waiting"]:
                session.mark(MarkRequest(tuple(ClientState(**answer) for answer in group["answers"]), 1))
                seen |= {answer["id"] for answer in group["answers"]}
    assert len(seen) == 4
    assert session.progress()["marked"] == 4


def test_the_page_says_how_many_answers_do_not_fit_when_several_students_say_the_same(session, course, monkeypatch):
    attach(course, "dora_lee", SIGN, {})
    monkeypatch.setattr(session_module, "MAX_PAGE_CHARACTERS", 1)
    page = session.page()
    assert len(page_data(page)["groups"]) == 1  # of two, each of two answers
    assert "2 more answers do not fit on this page" in page


# --- the command -----------------------------------------------------------------------------------------------------


def test_what_cannot_be_marked_is_refused_in_words(graded, released, tmp_path):
    where = ("--course", graded.root)
    assert_refused(autograder("mark", "scoring", "cooking", *where), "cooking", "what_to_recompute")
    assert_refused(
        autograder("mark", "scoring", "additive_score", *where), "it is graded automatically", "what_to_recompute"
    )
    assert_refused(autograder("mark", "softmax", "x", *where), "softmax", "release")
    assert_refused(autograder("mark", "scoring", "what_to_recompute", "--course", tmp_path), "init")
    assert_refused(
        autograder("mark", "scoring", "what_to_recompute", "--course", released.root), "graded yet", "collect"
    )


def test_the_command_opens_the_page_with_one_students_answer_alone(graded):
    command = [sys.executable, "-u", "-m", "autograder", "mark", "scoring", "what_to_recompute", "--no-browser"]
    command += ["--student", "cem_kaya", "--names", "--course", graded.root]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            address = process.stdout.readline().removeprefix("Mark here: ").strip()
            with urllib.request.urlopen(address) as response:
                page = response.read().decode()
        finally:
            process.send_signal(signal.SIGINT)
        assert "0 of 1 answers" in process.stdout.read()
    (group,) = page_data(page)["groups"]
    assert len(group["answers"]) == 1
    assert "Cem" in page or "cem_kaya" in page


@pytest.mark.parametrize(
    ("student", "more", "words"),
    [
        ("noa", [], ["nothing from 'noa' has been graded"]),
        ("emil_roth", [], ["'emil_roth' left it as handed out"]),
        (
            "cem_kaya",
            ["--points", 1, "--reason", "x"],
            ["mark scoring what_to_recompute --student cem_kaya --course ", "` alone"],
        ),
    ],
)
def test_a_student_without_an_answer_to_mark_is_refused(graded, student, more, words):
    command = ["mark", "scoring", "what_to_recompute", "--no-browser", "--student", student, *more]
    assert_refused(autograder(*command, "--course", graded.root), *words)


def test_the_help_says_what_the_command_takes():
    done = autograder("mark", "--help")
    assert done.returncode == 0
    assert all(option in done.stdout for option in ("--names", "--port", "--no-browser", "--course"))


def test_a_port_that_is_taken_is_refused_in_words(graded, session):
    with served(session) as address:
        port = str(urlsplit(address).port)
        where = ("--course", graded.root, "--no-browser")
        assert_refused(autograder("mark", "scoring", "what_to_recompute", "--port", port, *where), "--port", port)


def test_an_answer_of_which_no_page_can_be_made_is_shown_as_it_was_written(course, monkeypatch):
    ready = Session(course, "scoring", "what_to_recompute")
    (spoilt,) = {answer.text for answer in ready.answers()} & {SIGN}
    prose = cell_html.prose

    def fails(text, **more):
        if text == spoilt:
            raise RecursionError
        return prose(text, **more)

    monkeypatch.setattr(cell_html, "prose", fails)
    _render_cached.cache_clear()
    assert f"<pre>{html.escape(spoilt)}</pre>" in ready.page()
    _render_cached.cache_clear()


def test_a_browser_that_does_not_come_back_holds_nobody_up(monkeypatch):
    opened, closed = threading.Event(), threading.Event()
    monkeypatch.setattr(cli.webbrowser, "open", lambda address: (opened.set(), closed.wait()))
    with contextlib.ExitStack() as stack:
        cli._open_browser("http://127.0.0.1:1/", stack)
        assert opened.wait(60)
        closed.set()
