"""The release is one notebook that runs anywhere, replies in words, and gives no answer away."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import nbformat
import numpy as np
import pytest
from nbclient import NotebookClient
from nbformat import NotebookNode
from nbgrader.api import Gradebook

from autograder import exercises, sandbox
from autograder.audit import search
from autograder.courses import demo, locking
from autograder.courses.course import Course, init
from autograder.courses.locking import exclusive_lock
from autograder.errors import CourseError
from autograder.exercises import key_linter
from autograder.exercises.drawing import candidate_seeds
from autograder.exercises.packing import unpack_texts
from autograder.grading import grade
from autograder.grading.fingerprint import read_handed_in_files
from autograder.notebooks import cell_ids
from autograder.platforms.collect import collect
from autograder.releases import proof, release
from solutions import answer_key
from tests.autograder.essays import ESSAY, grade_quickly, hand_in
from tests.autograder.samples import sample
from tests.autograder.test_main import assert_refused, autograder, succeed

pytestmark = pytest.mark.suite("assignments")
TOPICS = answer_key.topics()
UNLIKE = ("scoring", "capstone", "spelling")  # written answers; a file of parameters; one with packages of its own
# What the proof of a release demands of references and starters, `audit/test_run.py` demands of those of every topic.
ALIKE = "their notebooks are made in the same way"
CHECKS = sum(entry.kind != "text" for entry in answer_key.load("scoring").values())
CHECKS += len(answer_key.load_warm_ups("scoring"))


def run_alone(notebook, folder):
    """Execute ``notebook`` with a real kernel in an empty folder; return its code cells by grade_id."""
    path = folder / "scoring.ipynb"
    path.write_text(nbformat.writes(notebook))
    alone = nbformat.read(path, as_version=4)
    NotebookClient(alone, timeout=600, allow_errors=True, resources={"metadata": {"path": str(folder)}}).execute()
    return {cell.metadata.nbgrader.grade_id: cell for cell in alone.cells if cell.cell_type == "code"}


def errors(cell):
    return [output for output in cell.outputs if output.output_type == "error"]


@pytest.fixture(scope="module")
def notebooks(released):
    paths = released.source("scoring"), released.releases("scoring").file
    return tuple(nbformat.read(path, as_version=4) for path in paths)


def handed_in(name, notebooks):
    student = next(student for student in demo.load_students() if student.name == name)
    return nbformat.reads(demo.make_submission(student, "scoring", *notebooks), as_version=4)


def changed(notebook, grade_id, old, new):
    """Return a copy of ``notebook`` with ``old`` replaced in one cell."""
    copy = nbformat.reads(nbformat.writes(notebook), as_version=4)
    cell = next(c for c in copy.cells if c.metadata.nbgrader.grade_id == grade_id)
    assert old in cell.source
    cell["source"] = cell.source.replace(old, new)
    return copy


@pytest.fixture(scope="module")
def others(tmp_path_factory):
    """A course for releases with another seed."""
    return init(tmp_path_factory.mktemp("others") / "course")


@pytest.mark.parametrize("topic", sample(TOPICS, UNLIKE, ALIKE))
def test_every_topic_releases_one_notebook_proved_both_ways(topic, others):
    release.release(others, topic, seed=1)
    assert [path.name for path in others.releases(topic).file.parent.iterdir()] == [f"{topic}.ipynb"]


def test_the_lone_release_runs_in_an_empty_folder_and_says_what_is_not_answered(notebooks, tmp_path, monkeypatch):
    monkeypatch.delenv("PYTHONPATH", raising=False)
    cells = run_alone(notebooks[1], tmp_path)
    assert not errors(cells["imports"])
    assert not errors(cells["compare"])
    checks = {name: cell for name, cell in cells.items() if name.endswith("-check")}
    assert len(checks) == CHECKS
    for name, cell in checks.items():
        (error,) = errors(cell)
        assert error.ename == "NotYet", name
        assert "not answered yet" in error.evalue
    assert all(cell.outputs == [] for name, cell in cells.items() if name.endswith("-test"))


def test_where_a_package_is_missing_the_first_cell_says_so_in_one_line_and_no_check_passes(notebooks, tmp_path):
    (tmp_path / "torch.py").write_text("raise ModuleNotFoundError(\"No module named 'torch'\", name='torch')")
    cells = run_alone(handed_in("bela_einsum", notebooks), tmp_path)
    (error,) = errors(cells["compare"])
    assert error.traceback == [f"NotReady: {error.evalue}"]
    assert error.evalue.startswith("torch is missing. Run %pip install --upgrade torch")
    checks = {name: cell for name, cell in cells.items() if name.endswith("-check")}
    assert len(checks) == CHECKS
    assert any(map(errors, checks.values()))  # so that `nbgrader validate` fails too


@pytest.fixture(scope="module")
def answered(notebooks, tmp_path_factory):
    """The lone notebook, run with right answers; at its end, a wrong answer to one of the exercises is checked too."""
    right, wrong = (handed_in(name, notebooks) for name in ("bela_einsum", "emil_no_tanh"))
    for cell in wrong.cells:
        grade_id = cell.metadata.nbgrader.grade_id
        if grade_id in ("scoring-additive_score", "scoring-additive_score-check"):
            cell.metadata.nbgrader.grade_id, cell["id"] = f"wrong-{grade_id}", f"wrong-{len(right.cells)}"
            right.cells.append(cell)
    return run_alone(right, tmp_path_factory.mktemp("alone"))


def test_the_lone_notebook_with_right_answers_passes_every_check(answered):
    checks = 0
    for name, cell in answered.items():
        if not name.startswith("wrong-"):
            assert not errors(cell), name
            if name.endswith("-check"):
                said = "".join(output.text for output in cell.outputs)  # a busy kernel sends it in parts
                assert "right" in said, name
                checks += 1
    assert checks == CHECKS


def test_the_check_of_a_wrong_answer_raises_with_the_hint_of_its_mistake(answered):
    (error,) = errors(answered["wrong-scoring-additive_score-check"])
    assert error.ename == "NotYet"
    assert "Hint: The tanh is missing" in error.evalue


def validated(notebook, folder):
    """Return what ``nbgrader validate`` says about ``notebook``, as JupyterLab's button shows it."""
    path = folder / "scoring.ipynb"
    path.write_text(nbformat.writes(notebook))
    program = os.path.join(os.path.dirname(sys.executable), "nbgrader")
    done = subprocess.run([program, "validate", path], capture_output=True, text=True, cwd=folder, timeout=600)
    return done.stdout.strip()


def test_nbgrader_validate_passes_a_finished_notebook(notebooks, tmp_path):
    output = validated(handed_in("bela_einsum", notebooks), tmp_path)
    assert output == "Success! Your notebook passes all the tests."


def test_nbgrader_validate_says_of_each_slip_the_whole_sentence_and_no_more(notebooks, tmp_path):
    notebook = handed_in("emil_no_tanh", notebooks)
    for cell in notebook.cells:
        if cell.metadata.get("nbgrader", {}).get("grade_id") == "scoring-dot_product_score":
            cell["source"] = "def dot_product_score(query, keys):\n    return query.no_such_thing"
    output = validated(notebook, tmp_path)
    failed = output.split("The following cell failed:")[1:]
    assert [text.split('check("')[1].split('"')[0] for text in failed] == [
        "scoring-scores_by_hand_twin",
        "scoring-dot_product_score",
        "scoring-additive_score",
        "scoring-score_every_step",
    ]
    assert "..." not in output
    assert "return query.no_such_thing" in failed[1]
    assert "checks.py" not in output
    hint = "Hint: The tanh is missing: without it the score is linear, and the query shifts the scores of all positions"
    assert hint in " ".join(failed[2].split())
    assert max(len(text.splitlines()) for text in failed) <= 25


def test_a_handout_is_the_released_notebook_byte_for_byte(released, tmp_path):
    paths = release.write_handouts(tmp_path, ["scoring", "softmax"])
    assert [path.name for path in paths] == ["scoring.ipynb", "softmax.ipynb"]
    assert paths[0].read_bytes() == released.releases("scoring").file.read_bytes()


def test_a_notebook_links_to_its_chapter_on_the_website_that_was_named_and_else_nowhere(notebooks, tmp_path):
    (path,) = release.write_handouts(tmp_path, ["scoring"], "https://attention.university.edu/")
    linked = nbformat.read(path, as_version=4)
    assert "](https://attention.university.edu/book/scoring.html)" in linked.cells[0].source
    assert "http" not in notebooks[1].cells[0].source
    assert [cell.source for cell in linked.cells[1:]] == [cell.source for cell in notebooks[1].cells[1:]]


def test_the_release_holds_no_answer_no_hidden_case_and_no_seed(notebooks):
    text = "\n".join([nbformat.writes(notebooks[1]), *(unpack_texts(cell.source) for cell in notebooks[1].cells)])
    assert not [word for word in ("HIDDEN", "SOLUTION", "seed", "2.3568") if word in text]
    for exercise in exercises.load("scoring", 0):
        for case in exercise.hidden:
            arrays = [array for array in case.inputs.values() if hasattr(array, "ravel")]
            telling = [array for array in arrays if array.size > 1 and (array != array.round()).any()]
            assert not any(str(array.ravel().tolist())[1:-1] in text for array in telling)


@pytest.fixture(scope="module")
def capstone(others):
    """The course with the capstone released."""
    if not others.releases("capstone").file.is_file():
        release.release(others, "capstone", seed=1)
    return others


def test_the_translator_that_runs_students_parameters_is_in_no_released_file(capstone, tmp_path):
    (answer,) = (e.source for e in exercises.load("capstone", 1) if e.function == "assemble")
    body = answer.partition("### BEGIN SOLUTION")[2].partition("### END SOLUTION")[0]
    provided = exercises.extract_provided_code("capstone")
    lines = {line.strip() for line in body.splitlines() if len(line.strip()) > 30 and line.strip() not in provided}
    assert len(lines) > 30
    source = capstone.source("capstone").read_text(encoding="utf-8")
    assert {line for line in lines if json.dumps(line)[1:-1] in source} == lines
    released = [path for path in capstone.releases("capstone").file.parent.rglob("*") if path.is_file()]
    for path in (*released, *release.write_handouts(tmp_path, ["capstone"], "")):
        notebook = nbformat.read(path, as_version=4)
        text = "\n".join([nbformat.writes(notebook), *(unpack_texts(cell.source) for cell in notebook.cells)])
        assert not [line for line in lines if line in text or json.dumps(line)[1:-1] in text]


def test_all_files_of_parameters_are_collected_and_graded(capstone, tmp_path):
    questions = exercises.load("capstone", 1)
    files = proof.reference_files(questions)
    assert [*files] == ["capstone.npz", "own.npz", "wycliffe.npz"]
    with zipfile.ZipFile(tmp_path / "class.zip", "w") as bundle:
        bundle.write(capstone.releases("capstone").file, "ada/capstone.ipynb")
        for name, content in files.items():
            bundle.writestr(f"ada/{name}", content)
    ((hand_in,), leftover) = collect(capstone, "capstone", tmp_path / "class.zip", any_owner=True)
    assert (hand_in.student, hand_in.problem, leftover) == ("ada", "", [])
    path = capstone.submission("ada", "capstone")
    handed_in = read_handed_in_files(questions, path.parent)
    assert handed_in == files
    graded = grade.grade(nbformat.read(path, as_version=4), questions, files=handed_in)
    earned = {verdict.exercise: verdict.earned for verdict in graded.verdicts if verdict.earned}
    assert earned == {"capstone-train_and_save": 7.5, "capstone-train_own": 5, "capstone-train_translator": 8}


def test_one_seed_gives_one_release_where_there_is_no_sandbox_too(released, tmp_path, monkeypatch):
    sandbox.close()
    monkeypatch.setattr("autograder.sandbox.bubblewrap.is_installed", lambda: False)
    earned = []

    def of_the_reference(source, _, questions, *others):  # one of four runs, as each has to import torch
        judged = grade.grade(source, questions, isolation=proof.choose_trusted_isolation()).by_exercise
        earned.append(
            [judged[exercise.name].earned == exercise.points for exercise in questions if exercise.is_automatic]
        )

    monkeypatch.setattr(release, "prove", of_the_reference)
    course = init(tmp_path)
    release.release(course, "scoring", seed=0)
    assert course.source("scoring").read_bytes() == released.source("scoring").read_bytes()
    assert earned == [[True] * sum(exercise.is_automatic for exercise in exercises.load("scoring", 0))]


def test_another_seed_changes_hidden_cases_only(released, others):
    if not others.releases("scoring").file.is_file():
        release.release(others, "scoring", seed=1)
    assert others.source("scoring").read_bytes() != released.source("scoring").read_bytes()
    assert others.releases("scoring").file.read_bytes() == released.releases("scoring").file.read_bytes()


def test_a_reference_that_fails_its_own_tests_is_refused(notebooks):
    broken = changed(notebooks[0], "scoring-additive_score", "np.tanh(", "(")
    with pytest.raises(CourseError, match=r"the reference earns 0 of 3 points for scoring-additive_score"):
        proof.prove(broken, notebooks[1], exercises.load("scoring", 0))


def test_a_starter_that_already_answers_is_refused(notebooks):
    answer = "return [0.2602, -0.1337, 2.3568]"
    generous = changed(notebooks[1], "scoring-scores_by_hand_twin", "raise NotImplementedError()", answer)
    with pytest.raises(CourseError, match="the untouched release earns 2 of 2"):
        proof.prove(notebooks[0], generous, exercises.load("scoring", 0))


def test_cases_of_a_later_attempt_that_the_reference_fails_are_refused(notebooks):
    questions = exercises.load("scoring", 0)
    place = next(n for n, each in enumerate(questions) if each.name == "scoring-additive_score")
    wrong = tuple(replace(case, expected=np.asarray(case.expected) + 1.0) for case in questions[place].cases)
    later = [*questions[:place], replace(questions[place], cases=wrong), *questions[place + 1 :]]
    with pytest.raises(CourseError, match="for scoring-additive_score from the grader in attempt 2; 3 is right"):
        proof.prove(*notebooks, questions, [later])


def test_attempts_in_course_toml_have_each_a_seed_of_their_own_which_a_new_release_keeps(tmp_path, any_seed, unproved):
    course = init(tmp_path / "course")

    def release_with(attempts, *seed):
        (course.root / "course.toml").write_text(f"[assignment.scoring]\nattempts = {attempts}\n", encoding="utf-8")
        output = succeed("release", "scoring", "--no-links", *seed, "--course", course.root)
        return course.releases("scoring").load().attempt_seeds, output

    seeds, output = release_with(3, "--seed", "7")
    assert "each of the 3 has hidden cases of its own" in output
    assert seeds == tuple(next(candidate_seeds(7, attempt)) for attempt in (1, 2))
    assert release_with(2)[0] == seeds  # a student may already have been graded with the last seed
    seeds, output = release_with(0, "--seed", "8")
    assert (seeds, "has hidden cases of its own" in output) == ((), False)


def test_the_proofs_of_an_assignment_hold_for_the_seed_of_each_attempt(tmp_path, monkeypatch):
    fair, proved = [], []
    monkeypatch.setattr(release, "prove_fairness", lambda drawn, other: fair.append(drawn))
    monkeypatch.setattr(release, "prove", lambda *args: proved.append(args))
    release.release(init(tmp_path / "course"), "scoring", seed=1, attempt_seeds=[5, 2])
    wanted = [exercises.digest(exercises.load("scoring", seed)) for seed in (1, 5, 2)]
    _, _, questions, later, _ = proved[0]
    assert list(map(exercises.digest, fair)) == wanted
    assert list(map(exercises.digest, (questions, *later))) == wanted


def test_a_release_is_proved_without_a_lock_and_not_written_if_the_plan_has_changed_meanwhile(tmp_path, monkeypatch):
    course = init(tmp_path / "course")

    def prove(*args):
        with exclusive_lock(course):  # raises if the course is locked
            (course.root / "course.toml").write_text('title = "Attention"\n', encoding="utf-8")

    monkeypatch.setattr(release, "prove", prove)
    with pytest.raises(CourseError, match="has changed while this one was proved"):
        release.release(course, "scoring", seed=0)
    assert not course.releases("scoring").file.exists()
    assert not course.source("scoring").exists()
    release.release(course, "scoring", seed=0)  # the plan is the same before and after
    state = course.releases("scoring").hash()
    release.release(course, "scoring", seed=1)
    with pytest.raises(CourseError, match="nothing was written"):
        release.release(course, "scoring", seed=2, state=state)
    assert course.releases("scoring").load().seed == 1


def test_a_proved_release_waits_for_another_command_before_it_is_written(tmp_path, unproved, monkeypatch):
    monkeypatch.setattr(locking, "PATIENT_SECONDS", 0)
    course, notices = init(tmp_path / "course"), []
    with ThreadPoolExecutor(1) as pool:
        with exclusive_lock(course):
            made = pool.submit(release.release, course, "scoring", seed=0, progress=notices.append)
            while not notices and not made.done():
                time.sleep(0.01)
            assert not course.releases("scoring").file.exists()
        assert made.result().version == 1
    assert notices == ["waiting: another command has locked the course"]


def test_other_exercises_than_were_graded_are_refused_by_name_before_anything_is_proved(course, monkeypatch):
    hand_in(course, "ada")
    grade_quickly(course)
    kept = [entry.function for entry in answer_key.load("scoring").values()][:-4]
    text = f"[assignment.scoring]\nexercises = {kept}\n"
    (course.root / "course.toml").write_text(text, encoding="utf-8")
    monkeypatch.setattr(search, "find_seed", None)
    done = autograder("release", "scoring", "--no-links", "--course", course.root)
    gone = [entry.function for entry in answer_key.load("scoring").values()][-4:]
    assert_refused(done, f"remove {', '.join(sorted(gone))}, but 1 submission has already been graded")


def test_what_one_assignment_was_graded_for_binds_no_other(course, unproved):
    hand_in(course, "ada")
    grade_quickly(course)
    kept, gone = list(answer_key.load("softmax").values())[:2]
    for asked in ([kept, gone], [kept]):
        text = f"[assignment.softmax]\nexercises = {[entry.function for entry in asked]}\n"
        (course.root / "course.toml").write_text(text, encoding="utf-8")
        release.refuse_changed_selection(course, "softmax")
        changes = release.release(course, "softmax", seed=0).changes
    assert f"softmax-{gone.function} is gone." in changes


def test_a_proof_says_which_step_it_is_at(notebooks, monkeypatch):
    def grade_nothing(*args, **options):
        raise CourseError("stop here", "grade", "go on.")

    monkeypatch.setattr(grade, "grade", grade_nothing)
    questions, steps = exercises.load("scoring", 0), []
    with pytest.raises(CourseError, match="stop here"):
        proof.prove(*notebooks, questions, [questions], steps.append)
    with pytest.raises(CourseError, match="stop here"):
        proof.prove(*notebooks, questions, [], steps.append)
    assert steps == [
        "Proof of the assignment scoring, 1 of 6: grading the reference with the cases of attempt 1 …",
        "Proof of the assignment scoring, 1 of 4: grading the reference with this grader …",
    ]


@pytest.mark.parametrize("marker", ["### BEGIN SOLUTION", "### END SOLUTION", "### END HIDDEN TESTS"])
def test_a_release_that_shows_where_an_answer_or_a_hidden_test_was_is_refused(notebooks, marker):
    shown = changed(notebooks[1], "scoring-additive_score", "raise NotImplementedError()", marker)
    with pytest.raises(CourseError, match="is left in the release"):
        proof._refuse_leaks(shown, exercises.load("scoring", 0), "assignment scoring")


def test_a_release_whose_text_states_an_answer_is_refused(notebooks):
    told = changed(notebooks[1], "scoring-additive_score", "raise NotImplementedError()", "W : (query_size, key_size)")
    asked = [exercise for exercise in exercises.load("scoring", 0) if exercise.function == "batched_additive_shapes"]
    proof._refuse_leaks(notebooks[1], asked, "assignment scoring")
    with pytest.raises(CourseError, match="states the shape W"):
        proof._refuse_leaks(told, asked, "assignment scoring")


def test_a_seed_that_is_drawn_is_one_of_more_than_can_be_tried():
    assert max(release.draw_seed() for _ in range(20)) > 2**24  # of 2**32, all but one in 2**160 times


def test_a_page_that_does_not_fit_leaves_the_course_as_it_was(tmp_path):
    course = init(tmp_path / "course")
    page = tmp_path / "book" / "scoring.md"
    page.parent.mkdir()
    page.write_text("# Scoring\n\nNo exercise here.\n")
    before = sorted(course.root.rglob("*"))
    with pytest.raises(CourseError, match="no exercise with that label"):
        release.release(course, "scoring", seed=0, book=page.parent)
    assert sorted(course.root.rglob("*")) == before


def test_a_docstring_that_answers_a_shape_exercise_is_noticed():
    asked = {exercise.function: exercise for exercise in exercises.load("scoring", 0)}
    for stated, answered in (("W : (query_size, key_size)", ["W"]), ("W_key : (attention_size, key_size)", [])):
        found = key_linter.find_stated_shapes(asked["batched_additive_shapes"], f"    {stated}\n")
        assert list(found) == answered


def test_the_marking_scheme_has_every_criterion_and_the_release_has_none(released, notebooks):
    scheme, text = released.marking_scheme("scoring").read_text(), nbformat.writes(notebooks[1])
    for entry in answer_key.load("scoring").values():
        for criterion in entry.criteria:
            assert criterion.text in scheme
            assert criterion.text not in text


def releasing(root, website=""):
    """Release in the course at ``root``; return its files except databases, with the times in them removed."""
    course = Course.at(root) if root.exists() else init(root)
    release.release(course, "scoring", seed=0, website=website)
    files = {path.relative_to(root): path.read_bytes() for path in root.rglob("*") if path.is_file()}
    assert not [path for path in files if path.name.endswith(".draft")]
    timeless = {
        path: re.sub(rb"\d{4}-\d\d-\d\d \d\d:\d\d UTC", b"", content)
        for path, content in files.items()
        if path.suffix != ".db"
    }
    return timeless, timeless[course.releases("scoring").log.relative_to(root)].decode()


@pytest.mark.parametrize("has_one", [False, True])
def test_a_release_that_was_stopped_at_any_write_is_made_by_the_next(
    tmp_path, monkeypatch, released, has_one, pytestconfig, unproved
):
    replace, done, stop = Path.replace, [], []

    def replaced(draft, target):
        if Path(target).is_relative_to(tmp_path):
            done.append(target)
            if len(done) in stop:
                raise KeyboardInterrupt
        return replace(draft, target)

    def begun(name):
        root = tmp_path / name
        shutil.copytree(released.root, root) if has_one else init(root)
        done.clear()
        return root

    monkeypatch.setattr(Path, "replace", replaced)
    website = "https://attention.example" if has_one else ""
    wanted, log = releasing(begun("whole"), website)
    count = len(done)
    assert count >= 5
    assert re.findall("## .*|- .*", log) == [
        *(["## Version 2, ", "- The heading."] if has_one else []),
        *("## Version 1, ", "- The first release."),
    ]
    every = pytestconfig.getoption("--full")
    for place in range(1, count + 1) if every else range(1 + has_one, count + 1, 2):  # each place once, here or there
        root = begun(f"stopped{place}")
        stop[:] = [place]
        with pytest.raises(KeyboardInterrupt):
            releasing(root, website)
        assert len(done) == place
        stop.clear()
        assert releasing(root, website) == (wanted, log)
        with Gradebook(f"sqlite:///{root / 'gradebook.db'}", course_id="") as gradebook:
            assert [assignment.name for assignment in gradebook.assignments] == ["scoring"]


def test_a_release_whose_seed_decides_what_a_mistake_earns_is_refused():
    questions = exercises.load("scoring", 1)
    proof.prove_fairness(questions, exercises.load("scoring", 0))
    place = next(n for n, each in enumerate(questions) if each.kind == "code")
    unlucky = replace(questions[place], cases=tuple(case for case in questions[place].cases if case.part == "size_one"))
    others = [*questions[:place], unlucky, *questions[place + 1 :]]
    for one, other, earns_more in ((others, questions, False), (questions, others, True)):  # than with seed 0
        with pytest.raises(CourseError, match="add a hidden case") as refused:
            proof.prove_fairness(one, other)
        said = re.search(r"earns ([\d.]+) points with this seed and ([\d.]+) with seed 0", str(refused.value))
        earned, elsewhere = map(float, said.groups())
        assert (earned > elsewhere) == earns_more


def test_what_changed_of_an_exercise_is_said_part_by_part():
    def cells(text, starter, check, points):
        sources = {cell_ids.text_id("a"): text, "a": starter, cell_ids.check_id("a"): check, cell_ids.test_id("a"): ""}
        marks = dict.fromkeys(sources, NotebookNode(grade=False)) | {
            cell_ids.test_id("a"): NotebookNode(grade=True, points=points)
        }
        return {
            name: NotebookNode(source=source, metadata=NotebookNode(nbgrader=marks[name]))
            for name, source in sources.items()
        }

    before = cells("What is 1 + 1?", "def a(): ...", "assert a() == 2", 1)
    assert release._describe_parts("a", before, before) == []
    after = cells("What is 1 + 2?", "def a(): ...", "assert a() == 3", 1.5)
    assert release._describe_parts("a", before, after) == ["its text", "its check", "its points, from 1 to 1.5"]


@pytest.mark.parametrize(
    ("grade_id", "name"),
    [("scoring-additive_score-test", "scoring-additive_score"), (ESSAY, ESSAY)],
    ids=["code", "written"],
)
def test_the_log_of_a_release_has_the_changed_points_of_every_kind_of_exercise(notebooks, grade_id, name):
    old, new = (nbformat.reads(nbformat.writes(notebooks[1]), as_version=4) for _ in range(2))
    for notebook, points in ((old, 2), (new, 2.5)):
        (cell,) = (cell for cell in notebook.cells if cell_ids.id_of(cell) == grade_id)
        cell.metadata.nbgrader.points = points
    assert release.describe_changes(old, new) == [f"{name}: its points, from 2 to 2.5."]


def test_the_log_of_a_release_names_an_exercise_of_which_only_white_space_has_changed(notebooks):
    new = changed(
        notebooks[1], "scoring-additive_score", "raise NotImplementedError()", "raise NotImplementedError()\n"
    )
    assert release.describe_changes(notebooks[1], new) == ["scoring-additive_score: its starter."]


@pytest.mark.parametrize("grade_id", [cell_ids.COMPARE, cell_ids.IMPORTS])
def test_the_log_of_a_release_names_what_the_checks_use_if_one_cell_of_it_has_changed(notebooks, grade_id):
    new = changed(notebooks[1], grade_id, "import", "import  ")
    assert release.describe_changes(notebooks[1], new) == ["What the checks use."]


def test_the_log_blames_other_hidden_cases_on_the_seed_or_on_the_exercises_but_not_on_both(notebooks):
    before, after = (exercises.digest(exercises.load("scoring", seed)) for seed in (0, 1))

    def describe(state):
        return release.describe_changes_since((notebooks[1], 0, before), notebooks[1], state)

    assert before != after
    assert describe((0, before)) == ()
    assert describe((1, after)) == ("Hidden cases: drawn from another seed.",)
    assert describe((0, after)) == ("Hidden cases, references or mistakes: different from before.",)
