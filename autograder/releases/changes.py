"""Describe what a release changes for students who have an earlier one.

In: two releases. Out: sentences. Pure.
"""

from nbformat import NotebookNode

from autograder.notebooks.cell_ids import COMPARE, IMPORTS, check_id, exercise_of_text, id_of, test_id, text_id


def describe_changes(old: NotebookNode, new: NotebookNode) -> list[str]:
    """Return what differs between two releases, a sentence for each exercise."""
    before, after = ({id_of(cell): cell for cell in notebook.cells} for notebook in (old, new))
    asked_before, asked = (
        [name for cell_id in cells if cell_id and (name := exercise_of_text(cell_id))] for cells in (before, after)
    )
    sentences = [f"{name} is new." for name in sorted(set(asked) - set(asked_before))]
    sentences += [f"{name} is gone." for name in sorted(set(asked_before) - set(asked))]
    for name in asked:
        if name in asked_before and (parts := _changed_parts(name, before, after)):
            sentences.append(f"{name}: {', '.join(parts)}.")
    if _source(before, "heading") != _source(after, "heading"):
        sentences.append("The heading.")
    if any(_source(before, name) != _source(after, name) for name in (COMPARE, IMPORTS)):
        sentences.append("What the checks use.")
    return sentences or (["The order of its cells, or cells without a name."] if old.cells != new.cells else [])


def _changed_parts(name, before, after):
    """Return in words which parts of the exercise ``name`` differ between two releases, given as cells by name."""
    parts = {text_id(name): "its text", name: "its starter", check_id(name): "its check"}
    changed = [what for cell_id, what in parts.items() if _source(before, cell_id) != _source(after, cell_id)]
    points = [sum(_cell_points(cells, cell_id) for cell_id in (name, test_id(name))) for cells in (before, after)]
    return [*changed, f"its points, from {points[0]:g} to {points[1]:g}"] if points[0] != points[1] else changed


def _source(cells, name):
    return cells[name].source if name in cells else None


def _cell_points(cells, name):
    meta = cells[name].metadata.nbgrader if name in cells else None
    return float(meta.points) if meta is not None and meta.grade else 0.0


def describe_changes_since(
    before: tuple[NotebookNode, int, str] | None, new: NotebookNode, state: tuple[int, str]
) -> tuple[str, ...]:
    """Return sentences on what the release ``new`` changes since ``before``, which is None for the first release.

    ``state`` is the seed of the new release and the hash of its exercises, the second and third items of ``before``.
    """
    if before is None:
        return ("The first release.",)
    old, *earlier = before
    sentences = describe_changes(old, new)
    if state[0] != earlier[0]:
        sentences.append("Hidden cases: drawn from another seed.")
    elif state[1] != earlier[1]:
        sentences.append("Hidden cases, references or mistakes: different from before.")
    return tuple(sentences)
