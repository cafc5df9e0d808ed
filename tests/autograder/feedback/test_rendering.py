"""The feedback page: what it shows, in which order, and that rendering it caches nothing about a student."""

import copy
import itertools
import re
import statistics
from functools import cache

import nbformat
import pytest
from bs4 import BeautifulSoup
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output

from autograder.courses.course import Course
from autograder.feedback import cell_html, pages, rendering, sanitize
from autograder.feedback.marks import Mark, Marks
from autograder.gradebook.recorder import Recorder
from autograder.grading.judge import Part, Verdict
from autograder.notebooks import cell_ids
from autograder.notebooks.assemble import source_notebook
from autograder.notebooks.cell_ids import id_of, points_id
from autograder.notebooks.chapter import chapter_texts
from autograder.notebooks.handout import handout, receipt_of_file
from autograder.paths import BOOK
from autograder.verdicts import Graded
from tests.autograder.samples import TOPICS, topic_exercises

pytestmark = pytest.mark.slow

MOST_KILOBYTES = 160
SITE = "https://course.example.edu/"
ONE, TWO, WRITTEN = "scoring-additive_score", "scoring-dot_product_score", "scoring-race"
HEADINGS = {name: text.heading for name, text in chapter_texts(BOOK / "scoring.md")[1].items()}
SHOWN = ["ada_loops", "kofi_noisy", "emil_no_tanh", "mara_copied_cells", "tom_patches_tests", "jun_untouched"]


@cache
def handed_out(website):
    notebook = source_notebook("scoring", topic_exercises("scoring"), website=website)
    for cell in notebook.cells:
        cell["source"] = re.sub(r" *### BEGIN HIDDEN TESTS.*### END HIDDEN TESTS", "", cell.source, flags=re.DOTALL)
    return notebook


def release(website=""):
    return copy.deepcopy(handed_out(website))


def verdict(name, earned=None, reasons=("",), hints=()):
    points = next(exercise.points for exercise in topic_exercises("scoring") if exercise.name == name)
    parts = tuple(Part(f"part {n}", 0.0, 1.0, reason) for n, reason in enumerate(reasons))
    return Verdict(name, points if earned is None else earned, points, parts, tuple(hints))


def marks(*verdicts, comments=None, late_penalty=0.0, came="", due="", is_earliest=False, **others):
    """Full marks except for ``verdicts``; written answers wait for marking unless ``others`` has their ``Mark``."""
    cells = {}
    earned = {outcome.exercise: outcome.earned for outcome in verdicts}
    for exercise in topic_exercises("scoring"):
        automatic = earned.get(exercise.name, exercise.points) if exercise.is_automatic else None
        mark = Mark(automatic or 0.0, exercise.points, automatic, False, automatic is None)
        cells[points_id(exercise)] = others.get(exercise.function, mark)
    total = (sum(getattr(mark, what) for mark in cells.values()) for what in ("score", "points"))
    return Marks(cells, comments or {}, *total, late_penalty, came, due, is_earliest)


def page(*verdicts, change=None, website="", failure="", shown="all", **more):
    """Return the parsed page of a notebook with the reference answers."""
    notebook = release(website)
    if change:
        change(notebook)
    pages.write_verdicts(notebook, Graded(verdicts, {}, failure))
    released_handout = handout(release(website))
    text = pages.page(notebook, marks(*verdicts, **more), "ada", "scoring", [released_handout], shown)
    return BeautifulSoup(text, "html.parser")


def section(tree, name):
    return tree.find(id=name).find_parent("section")


def row(tree, name):
    return [cell.get_text() for cell in tree.find("a", href=f"#{name}").find_parent("tr").find_all(("th", "td"))]


def put(name, source=None, outputs=()):
    """Return a function that gives the cell ``name`` another source, or outputs."""

    def change(notebook):
        (cell,) = [cell for cell in notebook.cells if id_of(cell) == name]
        cell["source"] = cell.source if source is None else source
        if outputs:
            cell["outputs"] = list(outputs)

    return change


def below(name, *cells):
    """Return a function that adds a student's own ``cells`` below the cell ``name``."""

    def change(notebook):
        place = [id_of(cell) for cell in notebook.cells].index(name)
        notebook.cells[place + 1 : place + 1] = cells

    return change


def test_a_request_is_no_part_of_the_answer_above_it_on_the_page_and_other_cells_of_a_student_s_own_are():
    cells = new_markdown_cell("Please look again at race: I meant the sum."), new_markdown_cell("A remark.")
    tree = page(change=below(WRITTEN, *cells))
    assert "A remark." in section(tree, WRITTEN).get_text()
    assert "I meant the sum" not in section(tree, WRITTEN).get_text()
    assert tree.get_text().count("I meant the sum") == 1  # among the requests


def test_it_has_a_language_a_title_landmarks_and_headings_in_order():
    tree = page(verdict(ONE, 0, ["wrong"]))
    assert tree.html["lang"] == "en"
    assert tree.title.get_text().startswith("Feedback for ada: Scoring")
    assert [child.name for child in tree.body.find_all(recursive=False)] == ["header", "main", "footer"]
    levels = [int(heading.name[1]) for heading in tree.find_all(re.compile(r"h\d"))]
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    ids = [element["id"] for element in tree.find_all(id=True)]
    assert len(set(ids)) == len(ids)
    assert {element["aria-labelledby"] for element in tree.find_all(attrs={"aria-labelledby": True})} <= set(ids)


def test_it_needs_no_script_and_asks_no_other_host():
    tree = page(verdict(ONE, 0, ["wrong"]), website=SITE)
    assert tree.find_all(("script", "link", "iframe", "object", "embed")) == []
    assert not re.search(r"@import|url\(", tree.style.get_text())
    assert tree.find_all("math")
    assert all(link["href"].startswith(("#", SITE)) for link in tree.find_all("a"))


def test_the_table_names_each_exercise_by_its_title_with_points_verdict_and_a_link():
    partial_verdict = verdict(ONE, 1, ["", "In the case one, it is wrong."], ["The tanh is missing: look there."])
    tree = page(partial_verdict, verdict(TWO, 0, ["It raised ValueError."]))
    exercises = topic_exercises("scoring")
    links = [link["href"] for link in tree.table.find_all("a")]
    assert links == [f"#{exercise.name}" for exercise in exercises]
    assert all(tree.find(id=link[1:]) for link in links)
    assert re.match(r"\d+\.\d+ Additive scores$", HEADINGS[ONE])
    assert row(tree, ONE) == [HEADINGS[ONE], "1 of 3", "The tanh is missing: look there."]
    assert row(tree, TWO) == [HEADINGS[TWO], "0 of 3", "part 0 (1): It raised ValueError."]
    assert row(tree, "scoring-scores_by_hand_twin")[1:] == ["2 of 2", "Right."]
    assert row(tree, WRITTEN)[1:] == ["– of 3", "To be marked by a person."]
    assert "and 3 answers are still to be marked" in tree.header.get_text()


@pytest.mark.parametrize(("length", "shown"), [(100, 100), (200, 131)])
def test_a_verdict_in_the_table_is_one_short_line(length, shown):
    hint = ("word " * 50)[:length].strip()
    line = row(page(verdict(ONE, 0, ["wrong"], [hint])), ONE)[2]
    assert len(line) <= shown
    assert line.endswith("…") == (length > shown)


def test_a_verdict_in_the_table_ends_with_its_first_sentence_and_not_at_a_decimal_point():
    tree = page(verdict(ONE, 0, ["The largest difference is 0.25. It is in row 1."]))
    assert row(tree, ONE)[2] == "part 0 (1): The largest difference is 0.25."


def test_what_to_look_at_next_is_where_most_points_are_and_where_it_stands_in_the_book():
    lost = [verdict(name, 0, ["wrong"]) for name in (TWO, ONE, "scoring-score_every_step")]
    lost.append(verdict("scoring-gradients_by_hand", 1.5, ["wrong"]))
    tree = page(*lost, website=SITE)
    items = section(tree, "next").find_all("li")
    assert [item.a["href"] for item in items] == ["#scoring-score_every_step", f"#{TWO}", f"#{ONE}"]
    assert "3.5 points to gain" in items[0].get_text()
    chapter = f"{SITE}book/scoring.html"
    assert items[2].find_all("a")[1]["href"] == f"{chapter}#{ONE}"
    text = section(tree, "next").get_text()
    assert "one more exercise has points to gain" in text
    assert section(tree, "next").find("a", href=f"{chapter}#scoring-mistakes")
    assert "explains common mistakes" in section(page(*lost), "next").get_text()  # without a website


def test_with_all_points_there_is_nothing_to_look_at():
    assert "Nothing graded so far" in section(page(), "next").get_text()
    full_marks = {name: Mark(3.0, 3.0, None, True, False) for name in ("race", "what_to_recompute", "joined_or_added")}
    assert "Nothing: everything is right." in section(page(**full_marks), "next").get_text()


def test_every_page_of_the_book_has_the_place_that_the_feedback_leads_to():
    for topic in TOPICS:
        text = (BOOK / f"{topic}.md").read_text(encoding="utf-8")
        assert f"\n({topic.replace('_', '-')}-mistakes)=\n## " in text, topic


def test_an_answer_that_lost_points_is_open_and_one_that_did_not_is_folded():
    tree = page(verdict(ONE, 0, ["wrong"]))
    first, other = (section(tree, name).find("details", class_="answer") for name in (ONE, TWO))
    assert first.has_attr("open")
    assert not other.has_attr("open")
    assert "def additive_score" in first.get_text()
    starter = "def additive_score():\n    # YOUR CODE HERE\n    raise NotImplementedError()"
    untouched = page(verdict(ONE, 0, ["It has not been answered yet."]), change=put(ONE, starter))
    assert not section(untouched, ONE).find("details", class_="answer").has_attr("open")


def test_while_points_are_withheld_every_answer_is_open_whether_right_or_wrong():
    tree = page(verdict(ONE, 0, ["wrong"]), shown="hints")
    answers = [section(tree, name).find("details", class_="answer") for name in (ONE, TWO)]
    assert all(answer.has_attr("open") for answer in answers)
    assert tree.find(class_="points") is None


def test_question_and_check_are_folded_and_say_whose_they_are():
    check_output = new_output("stream", text="additive_score: the shown cases are right.\n")
    tree = page(change=put(f"{ONE}-check", outputs=[check_output]))
    folded = [details for details in section(tree, ONE).find_all("details") if "answer" not in details.get("class", ())]
    assert [details.summary.get_text() for details in folded] == [
        f"What the check said about {HEADINGS[ONE]}",
        f"The question of {HEADINGS[ONE]}",
    ]
    assert not any(details.has_attr("open") for details in folded)
    assert "the shown cases are right" in folded[0].get_text()
    assert folded[1].find("math")
    assert 'check("' not in tree.get_text()
    assert "hidden cases run here" not in tree.get_text()


def test_reasons_and_hints_stand_in_the_section_and_are_text():
    partial_verdict = verdict(ONE, 1, ["", "<b>wrong</b> \x1b[31m& odd"], ["Look at <i>v</i>."])
    text = section(page(partial_verdict), ONE)
    assert [item.get_text() for item in text.find_all("li")] == ["part 0 (1): right.", "part 1 (1): <b>wrong</b> & odd"]
    assert text.find(class_="hint").get_text() == "Hint: Look at <i>v</i>."
    assert text.find(("b", "i")) is None


def test_the_formgrader_shows_angle_brackets_in_a_reason_as_text():
    notebook = release()
    pages.write_verdicts(notebook, Graded([verdict(ONE, 0, ["It returned <class 'list'>."])], {}))
    (cell,) = [cell for cell in notebook.cells if id_of(cell) == cell_ids.test_id(ONE)]
    assert "It returned <class 'list'>." in BeautifulSoup(cell.outputs[0].data["text/html"], "html.parser").get_text()


def test_a_right_answer_with_a_remark_says_so():
    tree = page(verdict(ONE, hints=["It changed its input keys."]))
    assert row(tree, ONE)[1:] == ["3 of 3", "Right, with a remark."]
    assert "It changed its input keys." in section(tree, ONE).get_text()
    # Gradescope and the formgrader show these sentences.
    assert "It changed its input keys." in pages.describe_verdict(verdict(ONE, hints=["It changed its input keys."]))


def test_what_a_person_marked_has_the_comment_and_the_points():
    tree = page(race=Mark(1.5, 3.0, None, True, False), comments={WRITTEN: "Well said.\nWhy <so> fast?"})
    assert row(tree, WRITTEN)[1:] == ["1.5 of 3", "Marked by a person."]
    comment = section(tree, WRITTEN).find(class_="comment")
    assert [line.get_text() for line in comment.find_all("p")] == ["Well said.", "Why <so> fast?"]


def test_full_points_from_a_person_remove_the_graders_reasons():
    wrong = verdict(ONE, 0, ["It raised ValueError."])
    assert "It raised ValueError." in section(page(wrong), ONE).get_text()
    tree = page(wrong, additive_score=Mark(3.0, 3.0, 0.0, True, False), comments={ONE: "This is right."})
    assert "It raised ValueError." not in section(tree, ONE).get_text()
    assert "This is right." in section(tree, ONE).get_text()


def test_points_that_a_person_changed_are_told_with_those_of_before_and_the_reason():
    wrong, moved = verdict(ONE, 0.75, ["It raised ValueError."]), Mark(2.5, 3.0, 0.75, True, False)
    tree = page(wrong, additive_score=moved, comments={ONE: "It could be read in two ways."})
    assert row(tree, ONE)[1:] == ["2.5 of 3", "Changed by a person from 0.75 to 2.5"]
    changed = "Changed by a person from 0.75 to 2.5: It could be read in two ways."
    assert section(tree, ONE).find(class_="comment").get_text() == changed
    assert changed in section(tree, "next").get_text()
    withheld = page(wrong, additive_score=moved, comments={ONE: "It could be read in two ways."}, shown="hints")
    assert section(withheld, ONE).find(class_="comment").get_text() == "It could be read in two ways."
    assert "0.75" not in withheld.get_text()


def test_what_to_look_at_next_has_the_comment_of_the_person_who_marked():
    tree = page(race=Mark(1.5, 3.0, None, True, False), comments={WRITTEN: "Why so fast? And where?"})
    assert "(1.5 points to gain): Why so fast?" in section(tree, "next").get_text()
    assert "Marked by a person" not in section(tree, "next").get_text()


def test_that_an_answer_is_missing_is_said_once():
    missing = verdict(ONE, 0, ["It has not been answered yet."])
    text = section(page(missing, comments={ONE: rendering.NO_RESPONSE}), ONE).get_text()
    assert "It has not been answered yet." in text
    assert rendering.NO_RESPONSE not in text


def test_points_of_a_run_that_reached_a_limit_are_called_provisional():
    limited = Graded((verdict(ONE, 0, ["It used too long."]),), {}, "It reached a limit.", {"cell_seconds": 20.0})
    notebook = release()
    pages.write_verdicts(notebook, limited)
    text = pages.page(notebook, marks(*limited.verdicts), "ada", "scoring", [handout(release())]).decode()
    assert f"It reached a limit. {pages.PROVISIONAL}" in text
    assert "provisional" not in page(verdict(ONE, 0, ["wrong"]), failure="Python ended.").get_text()


def test_what_waits_says_that_its_zero_does_not_count():
    assert "Its 0 does not count yet." in section(page(), WRITTEN).get_text()
    tree = page(race=Mark(1.5, 3.0, None, True, True))
    assert row(tree, WRITTEN)[1:] == ["1.5 of 3", "Changed since it was marked: it will be marked again."]


def test_what_is_as_it_was_handed_out_is_called_not_answered():
    tree = page(race=Mark(0.0, 3.0, 0.0, False, False), comments={WRITTEN: rendering.NO_RESPONSE})
    assert row(tree, WRITTEN)[1:] == ["0 of 3", "Not answered."]


def test_a_written_answer_is_shown_with_its_formulas_and_pictures():
    written = new_markdown_cell("# Because\n\n$a^2$ ![a graph](attachment:x.png) <b>bold</b>")

    def change(notebook):
        put(WRITTEN, written.source)(notebook)
        next(cell for cell in notebook.cells if id_of(cell) == WRITTEN)["attachments"] = {
            "x.png": {"image/png": "aGk="}
        }

    answer = section(page(change=change), WRITTEN).find("details", class_="answer")
    assert answer.has_attr("open")
    assert answer.find("math")
    assert answer.img["src"] == "data:image/png;base64,aGk="
    assert answer.find(class_="heading").get_text() == "Because"
    assert "<b>bold</b>" in answer.get_text()


@pytest.mark.parametrize(
    ("description", "read"),
    [
        ('a "b" & c', 'a "b" & c'),
        ("**bold** x", "bold x"),
        ('"><script>alert(1)</script>', '"><script>alert(1)</script>'),
    ],
)
def test_a_picture_on_the_marking_page_is_described_as_the_student_wrote_it(description, read):
    shown = sanitize.prose(f"![{description}](attachment:p.png)", {}, addresses={"p.png": "/p.png"})
    (picture,) = BeautifulSoup(shown, "html.parser").find_all("img")
    assert picture.attrs == {"src": "/p.png", "alt": read, "loading": "lazy"}
    assert not BeautifulSoup(shown, "html.parser").find("script")


def test_a_picture_is_not_shown_so_often_that_its_page_has_no_end():
    data = "a" * (sanitize.MAX_PICTURE_CHARACTERS // 3)
    shown = sanitize.prose("![x](attachment:x.png)\n" * 5, {"x.png": {"image/png": data}})
    assert shown.count(data) == 3
    assert shown.count("[x.png: too many pictures for one page]") == 2


def test_cells_of_ones_own_stand_folded_below_the_exercise_before_them():
    own = new_code_cell("mine = 1", outputs=[new_output("stream", text="seen\n")])
    tree = page(change=below(f"{ONE}-check", own))
    (folded,) = [
        d for d in section(tree, ONE).find_all("details") if d.summary.get_text().startswith("Cells of your own")
    ]
    assert "mine = 1" in folded.get_text()
    assert "seen" in folded.get_text()
    assert not folded.has_attr("open")
    assert "mine = 1" in section(page(change=below("heading", own)), "answers").find("details").get_text()
    assert "mine = 1" in section(page(change=below(f"{ONE}-text", own)), ONE).get_text()


def test_a_cell_that_all_have_shows_where_it_failed():
    failed = new_output("error", ename="NotReady", evalue="numpy is missing", traceback=["NotReady: numpy is missing"])
    text = page(change=put("imports", outputs=[failed])).get_text()
    assert "NotReady: numpy is missing" in text
    assert "b64decode" not in text


def test_what_was_mended_and_what_went_wrong_stand_above_the_table():
    note = new_markdown_cell(
        "**This notebook was repaired before it was graded:**\n\n- The cell x was missing.", id="mended"
    )
    tree = page(
        verdict(ONE, 0, ["wrong"]),
        change=lambda notebook: notebook.cells.insert(0, note),
        failure="Python ended at cell 3.",
    )
    assert "The cell x was missing." in section(tree, "ran").get_text()
    assert "Python ended at cell 3." in section(tree, "ran").get_text()
    assert page().find(id="ran") is None


@pytest.mark.parametrize(
    ("came", "due", "words"),
    [
        ("", "", "time unknown"),
        ("", "2030-01-01T00:00:00", "time unknown"),
        ("2030-01-01T10:05:00", "", "1 January 2030, 10:05 UTC"),
        ("2030-01-01T10:05:00", "2030-01-01T10:05:00", "1 January 2030, 10:05 UTC (on time)"),
        ("2030-01-01T10:05:30", "2030-01-01T10:05:00", "1 January 2030, 10:05 UTC (late by less than a minute)"),
        ("2030-01-03T11:06:00", "2030-01-01T10:05:00", "3 January 2030, 11:06 UTC (late by 2 days and 1 hour)"),
    ],
)
def test_it_says_when_it_was_handed_in_and_whether_that_was_late(came, due, words):
    assert page(came=came, due=due).header.find_all("dd")[2].get_text() == words


def test_it_says_that_work_was_late_when_nobody_knows_by_how_much():
    tree = page(came="2030-01-01T10:05:01", due="2030-01-01T10:05:00", is_earliest=True)
    assert tree.header.find_all("dd")[2].get_text() == "late, by an unknown amount"


def test_a_late_penalty_is_taken_off_and_named():
    asked = topic_exercises("scoring")
    everything, automatic = sum(e.points for e in asked), sum(e.points for e in asked if e.is_automatic)
    text = page(late_penalty=1.25).header.get_text()
    assert f"{automatic - 1.25:g} of {everything:g}" in text
    assert "Late submission penalty: 1.25" in text


def test_outputs_have_no_heading_no_id_and_no_picture_without_words():
    data = {"text/html": '<h1 id="next">Big</h1><p>small</p>'}
    shown = cell_html.output(nbformat.from_dict({"output_type": "display_data", "data": data, "metadata": {}}))
    assert "<h1" not in shown
    assert "id=" not in shown
    assert "Big" in shown
    picture = cell_html.output(new_output("display_data", data={"image/png": "aGk=\n"}))
    assert picture == '<img alt="A picture drawn by this cell" src="data:image/png;base64,aGk=">'


def test_an_error_without_a_traceback_is_shown_by_its_name_and_message():
    shown = cell_html.output(new_output("error", ename="TimeoutError", evalue="after 60 s", traceback=[]))
    assert BeautifulSoup(shown, "html.parser").get_text() == "TimeoutError: after 60 s"


@pytest.mark.parametrize("count", [cell_html.MAX_LINES_SHOWN, cell_html.MAX_LINES_SHOWN + 1])
def test_a_long_output_is_folded_and_its_last_line_is_seen(count):
    shown = BeautifulSoup(
        cell_html.output(new_output("stream", text="\n".join(f"line <{n}>" for n in range(count)))), "html.parser"
    )
    assert bool(shown.details) == (count > cell_html.MAX_LINES_SHOWN)
    assert f"line <{count - 1}>" in (shown.summary or shown).get_text()
    assert shown.pre.get_text().count("\n") == count - 1


def test_the_last_line_of_a_folded_output_is_cut_between_characters():
    text = "line\n" * cell_html.MAX_LINES_SHOWN + "a" + "<" * 250
    shown = BeautifulSoup(cell_html.output(new_output("stream", text=text)), "html.parser")
    assert shown.summary.code.get_text() == "a" + "<" * 199


@pytest.mark.parametrize("source", ["x = '<b>'  # & so", "def f(:", "a\x1b[31mb", "\tx", "%time x", ""])
def test_code_is_shown_as_it_is_whatever_it_is(source):
    shown = BeautifulSoup(cell_html.code(source), "html.parser")
    assert shown.get_text() == source.replace("\x1b[31m", "")
    assert {element.name for element in shown.find_all()} <= {"pre", "span"}


def test_code_that_is_too_long_for_colours_is_shown_without():
    shown = cell_html.code("x = 1\n" * 10_000)
    assert "<span" not in shown
    assert shown.count("x = 1") == 10_000
    for highlight in (cell_html.code, sanitize.Highlighted()):
        shown = BeautifulSoup(highlight("x < 1  # <b>\n" * 5000), "html.parser")
        assert shown.get_text().count("x < 1  # <b>") == 5000
        assert not shown.find("b")


def test_the_limit_of_a_page_counts_bytes_not_characters(monkeypatch):
    monkeypatch.setattr(pages, "MAX_PAGE_BYTES", 2 * 2**20)
    monkeypatch.setattr(rendering, "page", lambda *args: "ä" * 2**20)
    assert len(pages.page(release(), marks(), "ada", "scoring", [handout(release())])) == 2 * 2**20
    monkeypatch.setattr(rendering, "page", lambda *args: "ä" * (2**20 + 1))
    with pytest.raises(ValueError, match="would be 2 MB"):
        pages.page(release(), marks(), "ada", "scoring", [handout(release())])


def test_an_older_notebook_without_the_verdict_beside_the_points_still_has_a_page():
    notebook = release()
    output = new_output("execute_result", data={"text/plain": "0.0"})
    put(cell_ids.test_id(ONE), outputs=[output])(notebook)
    text = pages.page(notebook, marks(verdict(ONE, 0)), "ada", "scoring", [handout(release())]).decode()
    assert "No points." in text


def test_of_several_releases_the_page_shows_what_was_handed_out():
    older, newer = release(), release()
    put(f"{ONE}-text", "## Additive scores\n\nNewly worded.")(newer)
    put("receipt", newer.cells[-2].source.replace('version="', 'version="2'))(newer)
    handouts = [handout(newer), handout(older)]
    for notebook, is_new in ((newer, True), (older, False)):
        page = pages.page(copy.deepcopy(notebook), marks(), "ada", "scoring", handouts).decode()
        assert ("Newly worded." in page) == is_new


def test_a_page_remembers_questions_and_nothing_of_a_student():
    page(verdict(ONE, 0, ["wrong"]))
    before = rendering._render_question.cache_info()
    page(verdict(TWO, 0, ["other"]), change=put(WRITTEN, "Another answer."), comments={WRITTEN: "Fine."})
    after = rendering._render_question.cache_info()
    assert after.hits > before.hits
    assert after.currsize == before.currsize


# The demonstration class


@pytest.fixture(scope="module")
def graded(demonstration):
    """The arguments of ``pages.feedback_page`` for each student of the demonstration class."""
    course, rows, _ = demonstration
    releases = [handout(course.releases("scoring").load().notebooks[0])]
    with Recorder(course, "scoring") as recorder:
        names = [name for name, row in rows.items() if not row.set_aside]
        recorded_marks = {name: recorder.current_state(name).marks for name in names}
    return {
        name: (course.autograded(name, "scoring").read_bytes(), recorded_marks[name], name, "scoring", {}, releases)
        for name in names
    }


@pytest.mark.suite("assignments")
@pytest.mark.parametrize("name", SHOWN)
def test_the_page_that_was_made_where_it_was_graded_is_that_of_what_is_kept(graded, demonstration, name):
    course: Course = demonstration[0]
    assert course.feedback(name, "scoring").read_bytes() == pages.feedback_page(*graded[name])


@pytest.mark.suite("assignments")
def test_pages_are_small(graded):
    sizes = {name: len(pages.feedback_page(*arguments)) / 1000 for name, arguments in graded.items()}
    assert statistics.median(sizes.values()) <= MOST_KILOBYTES / 2
    assert max(sizes.values()) <= MOST_KILOBYTES, sizes


@pytest.mark.suite("assignments")
@pytest.mark.parametrize("name", SHOWN)
def test_a_page_names_the_receipt_of_the_file_that_was_handed_in(graded, demonstration, name):
    course: Course = demonstration[0]
    released_handout = graded[name][-1][0]
    receipt = receipt_of_file(course.submission(name, "scoring").read_bytes(), released_handout)
    text = course.feedback(name, "scoring").read_text(encoding="utf-8")
    assert f"<code>{receipt.code}</code>, with {receipt.answered} of {receipt.asked} exercises" in text
    assert f"version {released_handout.version}" in text


def test_an_output_changes_its_colour_no_more_often_than_a_page_can_bear():
    many = "".join(f"\x1b[3{n % 8}m{n}" for n in range(sanitize.MAX_COLOUR_CHANGES + 7))
    shown = sanitize.printable(many)
    assert shown.count("\x1b[") == sanitize.MAX_COLOUR_CHANGES == 500
    assert sanitize.plain(shown) == sanitize.plain(many) == "".join(map(str, range(507)))


def test_a_title_set_for_the_terminal_and_control_characters_vanish_and_nothing_after_them_does():
    progress = "before\x1b]0;half done\x07 after\x1b]2;done\x1b\\ \x00end\x1b[2K"
    assert sanitize.plain(progress) == sanitize.printable(progress) == "before after end"
