"""What the capstone's page prints of the models that it trains, while it is built, is what its text says of them."""

import html
import re

import pytest

RUNS, DATES = "attention  seed  exact", "attention  steps  exact"


@pytest.fixture(scope="module")
def printed(site):
    """The rows of the page's two tables, by the beginning of the heading: each row is its words."""
    page = (site / "book" / "capstone.html").read_text(encoding="utf-8")
    texts = [html.unescape(re.sub(r"<[^>]+>", "", text)) for text in re.findall(r"<pre>(.*?)</pre>", page, re.DOTALL)]
    return {
        heading: [row.split() for row in text.strip().splitlines()[1:]]
        for heading in (RUNS, DATES)
        for text in texts
        if text.startswith(heading)
    }


def test_trained_from_three_beginnings_the_model_translates_what_it_has_not_seen(printed):
    *with_attention, (without, *_) = printed[RUNS]
    assert ([row[:2] for row in with_attention], without) == ([["with", seed] for seed in "012"], "without")
    for _, _, exact, nouns, _ in with_attention:
        assert float(exact) >= 0.99
        assert float(nouns) >= 0.95


def test_in_the_same_few_steps_attention_learns_dates_and_a_fixed_vector_does_not(printed):
    (_, few, learned, share), (_, same, fixed), (_, more, later), (_, chance) = printed[DATES]
    assert int(few) == int(same) < int(more)
    assert float(learned) >= 0.98
    assert float(share) > 2.5 * float(chance)
    assert float(fixed) < 0.5 < float(later)
