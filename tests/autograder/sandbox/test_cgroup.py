"""Control groups enforce the limits where they are available, and nothing is left behind where they are not."""

import pytest

from autograder.sandbox import Limits, cgroup

LIMITS = Limits(memory_mb=2000, processes=32)
MEMORY, PROCESSES = (2000 + cgroup.HEADROOM_MB) * 1024 * 1024, 32


@pytest.fixture
def groups(monkeypatch, tmp_path):
    """Return a folder as the root of control groups, and a dict that maps controllers to this process's groups."""
    monkeypatch.setattr(cgroup, "ROOT", tmp_path)
    own = {}
    monkeypatch.setattr(cgroup, "_read_own_groups", lambda: own)
    return tmp_path, own


def settings_of(folder):
    return {path.name: path.read_text() for path in folder.iterdir()}


def forget(folders):
    """Delete the files of groups, as the kernel does, so that their folders can be removed."""
    for folder in folders:
        for path in folder.iterdir():
            path.unlink()


def test_one_group_limits_memory_and_processes_where_both_controllers_are_given(groups):
    root, own = groups
    own[""] = "user/me"
    place = root / "user" / "me"
    place.mkdir(parents=True)
    (place / "cgroup.subtree_control").write_text("cpu memory pids\n")
    with cgroup.limit_memory(LIMITS) as group:
        (folder,) = group.folders
        assert folder.parent == place
        settings = settings_of(folder)
        assert settings["memory.max"] == str(MEMORY)
        assert settings["memory.swap.max"] == "0"
        assert settings["pids.max"] == str(PROCESSES + 16)
        entered = group.join(["python", "x y"])
        assert entered[-2:] == ["python", "x y"]
        assert f"echo $$ > {folder}/cgroup.procs; exec " in entered[2]
        forget(group.folders)
    assert [path.name for path in place.iterdir()] == ["cgroup.subtree_control"]


def test_each_controller_has_a_group_of_its_own_in_the_older_version(groups):
    root, own = groups
    own.update({"memory": "mine", "pids": "", "cpu": ""})
    for folder in (root / "memory" / "mine", root / "pids", root / "cpu"):
        folder.mkdir(parents=True)
    with cgroup.limit_memory(LIMITS) as group:
        memory, pids = group.folders
        assert (memory.parent, pids.parent) == (root / "memory" / "mine", root / "pids")
        assert settings_of(memory) == {"memory.limit_in_bytes": str(MEMORY)}
        assert PROCESSES <= int(settings_of(pids)["pids.max"]) <= 2 * PROCESSES
        assert all(f"echo $$ > {folder}/cgroup.procs" in group.join(["x"])[2] for folder in group.folders)
        forget(group.folders)
    assert list(root.rglob("autograder-*")) == []


def test_whether_there_is_a_control_group_is_found_out_by_making_one(groups, monkeypatch):
    monkeypatch.setattr(cgroup, "_remove", lambda folder: (forget([folder]), folder.rmdir()))
    root, own = groups
    own[""] = ""
    (root / "cgroup.subtree_control").write_text("cpu memory pids")
    assert cgroup.is_available(LIMITS)
    (root / "cgroup.subtree_control").write_text("cpu")
    assert not cgroup.is_available(LIMITS)


def test_without_a_group_the_command_stays_as_it_is(groups):
    with cgroup.limit_memory(LIMITS) as group:
        assert group.folders == []
        assert group.join(["python"]) == ["python"]
    assert cgroup.is_available(LIMITS) is False


def test_only_groups_of_graders_that_are_gone_are_removed(groups):
    root, own = groups
    own["pids"] = ""
    kept_folders = [root / "pids" / name for name in ("autograder-1-5", "autograder-x-5", "other-999999999-5")]
    for folder in (*kept_folders, root / "pids" / "autograder-999999999-5"):
        folder.mkdir(parents=True)
    cgroup.remove_left_behind(LIMITS)
    assert sorted((root / "pids").iterdir()) == sorted(kept_folders)
