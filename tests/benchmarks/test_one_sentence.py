"""The small model of the landing page: what the page prints is what its training gives."""

import ast
import re

import pytest
import torch

from autograder.paths import ROOT
from benchmarks import one_sentence

pytestmark = pytest.mark.suite("solutions")
PRINTED = re.compile(r"^model = (\{\n.*?\n\})$", flags=re.MULTILINE | re.DOTALL)


def test_the_page_prints_what_the_training_gives():
    page = (ROOT / "book" / "intro.md").read_text(encoding="utf-8")
    model = one_sentence.train()
    assert ast.literal_eval(PRINTED.search(page)[1]) == one_sentence.as_printed(model)
    logits, weights = model()
    assert logits.argmax(dim=1).tolist() == list(range(one_sentence.WORDS))
    assert torch.softmax(logits, dim=1).diagonal().min() > 0.75
    assert weights[: len(one_sentence.LOOKS)].argmax(dim=1).tolist() == one_sentence.LOOKS
