"""The descriptions of hidden cases follow from the cases themselves."""

import types

import numpy as np
import pytest

from autograder.exercises.case_labels import families_of_hidden, find_unmet_promises, kinds_of_hidden
from autograder.exercises.families import WHERE_LARGE


def case(inputs, gradients=(), families=(), part="values", advice=""):
    labels = dict.fromkeys(families, advice)
    return types.SimpleNamespace(inputs=inputs, gradients=gradients, families=labels, part=part)


def exercise(*hidden, shown=()):
    return types.SimpleNamespace(hidden=hidden, shown=shown)


PLAIN = case({"scores": np.array([[0.5, 2.0, -1.0], [1.0, 0.0, 3.0]]), "mask": np.ones((2, 3), bool)})


@pytest.mark.parametrize(
    ("hidden", "kind"),
    [
        (case({"scores": np.ones((4, 3)), "mask": np.ones((4, 3), bool)}), "other sizes"),
        (case({"m": 7}), "other sizes"),
        (case({**PLAIN.inputs, "mask": np.array([[True, True, False], [True, True, True]])}), "padding"),
        (case({**PLAIN.inputs, "mask": np.array([[False] * 3, [True] * 3])}), "a sentence without a word"),
        (case(PLAIN.inputs, families=("large scores",), advice=WHERE_LARGE), "large numbers"),
        (case(PLAIN.inputs, part="large_scores"), "large numbers"),
        (case({"scores": np.ones((1, 3)), "mask": np.ones((1, 3), bool)}), "an axis of length 1"),
        (case(PLAIN.inputs, gradients=("scores",)), "gradients"),
    ],
)
def test_a_kind_is_named_where_one_hidden_case_is_of_it_and_nowhere_else(hidden, kind):
    assert kinds_of_hidden(exercise(PLAIN, shown=(PLAIN,))) == []
    assert kind in kinds_of_hidden(exercise(PLAIN, hidden, shown=(PLAIN,)))
    others = {"padding"} if kind == "a sentence without a word" else set()
    others |= {"other sizes"} if kind == "an axis of length 1" else set()
    assert set(kinds_of_hidden(exercise(PLAIN, hidden, shown=(PLAIN,)))) == {kind} | others


def test_each_row_of_a_mask_is_a_sentence_whatever_the_length_of_another_mask():
    masks = {"source_mask": np.array([[False] * 3, [True] * 3]), "target_mask": np.ones((2, 6), bool)}
    assert "a sentence without a word" in kinds_of_hidden(exercise(case(masks)))


def test_families_are_named_once_and_what_none_is_about_is_only_promised():
    labelled = exercise(
        case(PLAIN.inputs, families=("a single word",)), case(PLAIN.inputs, families=("a single word",))
    )
    assert families_of_hidden(labelled) == ["a single word"]
    promised = find_unmet_promises(labelled, "Scores may lie in the thousands. A batch of one sentence is a batch.")
    assert [kind for _, kind in promised] == ["an axis of length 1", "large numbers"]
    single = case({"scores": np.ones((1, 3))})
    assert [kind for _, kind in find_unmet_promises(exercise(single), "in the thousands, or one sentence")] == [
        "large numbers"
    ]
