"""What a verdict depends on is in its fingerprint, and nothing else is."""

import grimp

from autograder.grading import grade


def test_a_verdict_depends_on_all_rooms_that_grading_uses_and_on_no_other():
    graph = grimp.build_graph("autograder", include_external_packages=False, cache_dir=None)
    used = graph.find_upstream_modules("autograder.grading.grade") | {"autograder.grading.grade"}
    rooms = {name.split(".")[1] for name in used if graph.find_children(".".join(name.split(".")[:2]))}
    assert rooms == set(grade.DECIDING)
