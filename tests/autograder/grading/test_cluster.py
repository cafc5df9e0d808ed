"""Dask workers in separate processes give the same grades as this one, and refuse connections from others."""

import os
import shutil
import time
import types
from concurrent.futures import ThreadPoolExecutor

import distributed
import pytest

from autograder import exercises
from autograder.batch.context import GradingOptions
from autograder.batch.grade_class import grade_class
from autograder.courses.course import Course
from autograder.errors import CourseError
from autograder.grading import cluster
from autograder.grading.cluster import Certificates
from autograder.grading.submission import Confinement, ReleaseFacts, Task, grade_task
from autograder.sandbox import Limits, doctor
from autograder.watch.run import WatchOptions, watch
from benchmarks.grading import dask_cluster, make_certificate
from tests.autograder.test_main import assert_refused, autograder
from tests.autograder.watch.hub import UntilIdle, hub  # noqa: F401

pytestmark = pytest.mark.suite("sandbox")
STUDENTS = ("ada_loops", "emil_no_tanh", "gita_slips", "vic_exits", "omar_not_a_notebook")


@pytest.fixture(scope="module")
def machines():
    """A scheduler with two workers: its address, and the certificates for connecting to it."""
    with dask_cluster(2) as (address, certificates, _):
        yield address, certificates


@pytest.fixture
def course(demonstration, tmp_path):
    """The demonstration class with its submissions, ungraded."""
    shutil.copytree(demonstration[0].root, tmp_path / "course", ignore=shutil.ignore_patterns("verdicts", "recorded"))
    return Course.at(tmp_path / "course")


def tls(certificates):
    return ["--tls-ca", certificates.ca, "--tls-cert", certificates.cert, "--tls-key", certificates.key]


def test_workers_give_the_same_grades_as_this_machine(demonstration, course, machines):
    address, certificates = machines
    with course.config.open("a") as config:
        config.write("c.Judge.cell_seconds, c.Judge.call_seconds, c.Judge.submission_seconds = 4, 2, 60\n")
    where = ["--course", course.root, "--scheduler", address, *tls(certificates)]
    done = autograder("grade", "scoring", *STUDENTS, *where)
    assert done.returncode == 3, done.stdout + done.stderr
    assert "4 graded, 0 reused, 1 set aside (not graded: " in done.stdout
    rows = grade_class(
        course,
        "scoring",
        GradingOptions(Limits(cell_seconds=4, call_seconds=2, submission_seconds=60)),
        students=STUDENTS,
    )
    assert all(row.reused or row.set_aside for row in rows)  # the verdicts were stored here
    assert rows == [demonstration[1][name] for name in STUDENTS]


def test_watch_grades_on_the_workers(hub, machines):  # noqa: F811
    address, certificates = machines
    secrets = [hub.submit(student) for student in ("ada", "ben")]
    options = WatchOptions(
        port=None, any_owner=True, machines=(address, certificates.ca, certificates.cert, certificates.key)
    )
    watch(
        hub.course,
        ["scoring"],
        GradingOptions(Limits(cell_seconds=4, call_seconds=2, submission_seconds=60)),
        options,
        hub.lines.append,
        UntilIdle(),
    )
    assert all("Exercise by exercise" in hub.page(secret) for secret in secrets)
    assert hub.outcomes() == [("ada", "graded"), ("ben", "graded")]


def test_the_canary_is_sent_to_every_worker_and_looks_for_the_course(machines, monkeypatch, tmp_path):
    address, certificates = machines
    with cluster.executor(address, "zygote", (), certificates) as executor:
        with pytest.raises(ValueError, match="No client"):  # it does not become dask's default client
            distributed.default_client()
        assert [what for what, stopped in executor.submit(doctor.examine).result() if not stopped] == []
        hidden_by_worker = executor.pool._client.run(_asked_for, str(tmp_path))
        assert list(hidden_by_worker.values()) == [((str(tmp_path),),)] * 2
    with (
        pytest.raises(CourseError, match="could escape from the sandbox"),
        cluster.executor(address, "none", (), certificates) as executor,
    ):
        cluster._require_sandboxes(executor.pool._client, "zygote", (), lambda *arguments: [("reads files", False)])


def _asked_for(folder):
    """Return what a worker's canary would look for, without sending it."""
    hidden_folders, honest = [], doctor.require
    doctor.require = lambda isolation, hidden: hidden_folders.append(hidden)
    try:
        cluster._check_sandbox_then_run("zygote", (folder,), str)
    finally:
        doctor.require = honest
    return tuple(hidden_folders)


def test_a_worker_that_joins_later_meets_the_canary_before_its_first_task_and_once(monkeypatch):
    asked = []
    monkeypatch.setattr(doctor, "require", lambda isolation, hidden: asked.append((isolation, hidden)))
    doctor.require_once.cache_clear()
    with ThreadPoolExecutor(1) as pool:
        guarded = cluster.CheckedExecutor(pool, "zygote", ("course",), 1)
        assert [guarded.submit(lambda: list(asked)).result() for _ in range(2)] == [[("zygote", ("course",))]] * 2

    def escapes(isolation, hidden):
        raise CourseError("a submission could escape from the sandbox", "this machine", "stop it")

    monkeypatch.setattr(doctor, "require", escapes)
    doctor.require_once.cache_clear()
    ran = []
    with ThreadPoolExecutor(1) as pool, pytest.raises(CourseError, match="could escape"):
        cluster.CheckedExecutor(pool, "zygote", (), 1).submit(ran.append, 1).result()
    assert ran == []


def test_a_worker_without_a_sandbox_that_joins_later_runs_nothing_and_is_named(tmp_path):
    with (
        dask_cluster(1) as (address, certificates, add_worker),
        cluster.executor(address, "zygote", (), certificates) as executor,
    ):
        client = executor.pool._client
        (good,) = client.run(os.getpid)
        add_worker(PATH=str(tmp_path))  # without bubblewrap
        client.wait_for_workers(2, timeout=120)
        (late,) = set(client.run(os.getpid)) - {good}
        # 12 slow tasks for two workers, so the scheduler gives some to each
        futures = [executor.submit(_after_a_while) for _ in range(12)]
        outcomes = [future.exception() or future.result() for future in futures]
        pids = client.run(os.getpid)
    refusals = [outcome for outcome in outcomes if isinstance(outcome, CourseError)]
    assert {outcome for outcome in outcomes if not isinstance(outcome, CourseError)} <= {pids[good]}
    assert refusals
    assert all(late in str(refusal) and "stop that worker" in str(refusal) for refusal in refusals)


def _after_a_while():
    time.sleep(0.2)
    return os.getpid()


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:8786", "127.0.0.1:8786", "ws://127.0.0.1:8786", "TCP://x:1"])
def test_a_scheduler_without_tls_is_refused(address):
    with pytest.raises(CourseError, match=r"without TLS(.|\n)*tls://HOST:PORT"), cluster.executor(address, "zygote"):
        pass


def test_an_address_without_certificates_or_with_files_that_are_none_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 1)
    (tmp_path / "nonsense").write_text("nonsense")
    nonsense = str(tmp_path / "nonsense")
    for certificates, words in (
        (Certificates(), "no certificate is named"),
        (Certificates(nonsense, nonsense, str(tmp_path / "nowhere")), "there is no such file"),
        (Certificates(nonsense, nonsense, nonsense), "cannot be used"),
    ):
        with (
            pytest.raises(CourseError, match=words),
            cluster.executor("TLS://127.0.0.1:9", "zygote", (), certificates),
        ):
            pass


def test_other_certificates_than_the_schedulers_are_refused_in_a_sentence(released, machines, tmp_path):
    mine = Certificates(*make_certificate(tmp_path))
    done = autograder("grade", "scoring", "--course", released.root, "--scheduler", machines[0], *tls(mine))
    assert_refused(done, "no dask scheduler answers there with these certificates")


def test_certificates_may_stand_in_dasks_configuration(machines, monkeypatch):
    import dask

    address, files = machines
    named = {"ca-file": files.ca, "client.cert": files.cert, "client.key": files.key}
    with (
        dask.config.set({f"distributed.comm.tls.{name}": file for name, file in named.items()}),
        cluster.executor(address, "none") as executor,
    ):
        assert executor.submit(os.getpid).result() != os.getpid()


def test_a_scheduler_that_does_not_answer_is_named(monkeypatch, machines):
    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 1)
    with (
        pytest.raises(CourseError, match="no dask scheduler answers"),
        cluster.executor("tls://127.0.0.1:9", "zygote", (), machines[1]),
    ):
        pass


def test_a_worker_with_another_key_is_refused(course):
    template = course.releases("scoring").load().templates[0]
    release = ReleaseFacts("scoring", (template,), {}, 0, "another digest")
    task = Task(b"{}", {}, 0, release, Confinement(Limits(), "zygote", ()), {})
    with ThreadPoolExecutor(1) as pool, pytest.raises(CourseError, match="exercises differ from the course"):
        pool.submit(grade_task, task).result()
    assert exercises.digest(exercises.load("scoring", 0)) != task.release.digest


def client_of(findings):
    """A client whose workers ("tls://one" and so on) report ``findings`` about their sandboxes."""
    return types.SimpleNamespace(run=lambda *arguments, on_error: findings)


def test_a_worker_whose_sandbox_can_be_left_or_is_missing_is_named():
    cluster._require_sandboxes(client_of({"tls://one": [("reads files", True)], "tls://two": []}), "zygote")
    two_findings = [("reads files", True), ("leaves a process", False)]
    with pytest.raises(CourseError, match="it leaves a process") as escaped:
        cluster._require_sandboxes(
            client_of({"tls://one": [("reads files", True)], "tls://two": two_findings}), "zygote"
        )
    with pytest.raises(CourseError, match="no sandbox: bwrap is not there") as missing:
        cluster._require_sandboxes(client_of({"tls://two": OSError("bwrap is not there")}), "zygote")
    assert "tls://two" in str(escaped.value)
    assert "tls://two" in str(missing.value)
    cluster._require_sandboxes(client_of({"tls://two": two_findings}), "none")
