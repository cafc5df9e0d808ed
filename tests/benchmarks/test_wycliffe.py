"""The record on Middle English is that of today's reference, and what was chosen and reported follows from it."""

import itertools
import json
from collections import Counter

import numpy as np
import pytest

from autograder.notebooks.chapter import chapter_texts
from autograder.paths import BOOK
from benchmarks import wycliffe
from benchmarks.trainings import FIRST_STEPS
from benchmarks.wycliffe import (
    DROPOUTS,
    GROUPS,
    MISTAKES,
    RATE,
    RATES,
    RECORD,
    SEEDS,
    SHOWN,
    SIDES,
    bleu_of,
    choose,
    count_found,
    find_parallel,
    measure_remedy,
    tabulate,
    tabulate_apart,
    train_with,
)
from solutions import answer_key
from solutions.in_numpy.capstone import corpus_bleu
from solutions.in_numpy.wycliffe import (
    LONGEST_VERSES,
    MOST_WORDS,
    SOURCE_SIZE,
    START,
    STOP,
    TARGET_SIZE,
    draw_verses,
    encode_references,
    encode_verses,
    read_as,
    verses_of,
)
from solutions.in_torch import capstone
from solutions.in_torch.wycliffe import translate_verses, verses_as_tensors
from solutions.trained import load_trained

pytestmark = [pytest.mark.suite("solutions"), pytest.mark.slow]

RECORDED = json.loads(RECORD.read_text(encoding="utf-8"))
ROWS = {(row["side"], row["rate"], row["dropout"], row["seed"]): row for row in RECORDED["rows"]}
CHOSEN = {side: (choice["rate"], choice["dropout"]) for side, choice in RECORDED["chosen"].items()}


def test_the_reference_trains_with_what_was_chosen():
    defaults = dict(zip(("seed", "attention", "dropout", "rate"), capstone.train_translator.__defaults__, strict=False))
    assert defaults == {"seed": 0, "attention": True, **RECORDED["chosen"]["attention"]}


def test_each_share_and_each_rate_was_tried_and_the_best_from_every_seed():
    for side, choice in CHOSEN.items():
        at_first = [row for row in RECORDED["rows"] if row["rate"] == RATE and row["seed"] == 0]
        share = choose(at_first, side)["dropout"]
        tried = {(RATE, each, 0) for each in DROPOUTS}
        tried |= {(rate, share, 0) for rate in RATES[: RATES.index(choice[0]) + 2]}
        everywhere = tried | {(*chosen, seed) for chosen in {choice, CHOSEN["attention"]} for seed in SEEDS}
        assert {setting[1:] for setting in ROWS if setting[0] == side} == everywhere
    assert len(ROWS) == len(RECORDED["rows"])


@pytest.mark.parametrize(("best", "last"), [(0.0015, 0.003), (0.003, 0.006), (0.012, 0.024), (0.024, 0.024)])
def test_larger_rates_are_tried_until_one_is_worse_than_the_best(monkeypatch, best, last):
    def measure(side, rate, dropout, seed):
        loss = abs(RATES.index(rate) - RATES.index(best)) + abs(dropout - 0.1)
        return {"side": side, "rate": rate, "dropout": dropout, "seed": seed, "loss": loss}

    monkeypatch.setattr(wycliffe, "measure", measure)
    tried = [(row["rate"], row["dropout"]) for row in wycliffe.tune("fixed")]
    rates = [rate for rate in RATES if rate <= last]
    assert sorted(tried) == sorted({(RATE, share) for share in DROPOUTS} | {(rate, 0.1) for rate in rates})
    assert len({*tried}) == len(tried)


def test_rate_and_share_have_the_lowest_loss_on_the_validation_verses_and_lie_within_what_was_tried():
    for side, (rate, dropout) in CHOSEN.items():
        rows = [row for row in RECORDED["rows"] if row["seed"] == 0]
        assert choose(rows, side) == {"rate": rate, "dropout": dropout}
        assert min(DROPOUTS) < dropout < max(DROPOUTS)
        assert min(RATES) < rate < max(RATES)


def test_the_recorded_curves_belong_to_whole_trainings_and_the_loss_is_their_lowest():
    for row in RECORDED["rows"]:
        assert [step for step, _, _ in row["curve"]] == [*range(300, 1801, 300)]
        assert row["loss"] == min(validation for _, _, validation in row["curve"])
        assert len(row["losses"]) == len(row["gradient_norms"]) == FIRST_STEPS


def test_the_recorded_model_translates_with_one_byte_a_parameter_as_well_as_before():
    verses = verses_of("validation")
    bleu = bleu_of(count_found(translate_verses(load_trained("wycliffe"), verses), verses))
    rate, dropout = CHOSEN["attention"]
    assert bleu == pytest.approx(ROWS["attention", rate, dropout, 0]["validation_bleu"], abs=0.3)


def test_the_record_shows_what_the_recorded_model_writes():
    written = [" ".join(tokens) for tokens in translate_verses(load_trained("wycliffe"), verses_of("test")[SHOWN])]
    shown = RECORDED["shown"]["attention"]
    assert len(written) == len(shown) == len(RECORDED["shown"]["fixed"])
    assert sum(one == other for one, other in zip(written, shown, strict=True)) > len(shown) / 2  # but for rounding


def test_bleu_from_counts_is_that_of_the_exercise():
    verses = verses_of("test")[:40]
    written = [target[: len(target) - k % 3] + ("lord",) * (k % 2) for k, (_, target) in enumerate(verses)]
    arrays = encode_references(
        [*verses, *(((), tokens) for tokens in written)]
    )  # so that equal words have equal numbers
    counts = count_found(written, verses)
    assert bleu_of(counts) == pytest.approx(corpus_bleu(arrays[40:], arrays[:40]))
    drawn = np.array([[*range(20), *range(20)], [*range(40)]])
    first, whole = bleu_of(counts, drawn)
    assert first == pytest.approx(corpus_bleu(arrays[40:60], arrays[:20]))
    assert whole == bleu_of(counts)


def test_the_table_follows_from_the_counts():
    for side in SIDES:
        assert np.array(RECORDED["test"][side]).shape == (len(SEEDS), len(verses_of("test")), 5)
    table = tabulate(RECORDED["test"])
    for name, sides in RECORDED["table"].items():
        for side in ("attention", "fixed", "difference"):
            assert [table[name][side]["bleu"], *table[name][side]["interval"]] == pytest.approx(
                [sides[side]["bleu"], *sides[side]["interval"]]
            )
    assert [*table] == ["all", *GROUPS]
    lengths = [*itertools.chain.from_iterable(range(low, high + 1) for low, high in GROUPS.values())]
    assert lengths == [*range(2, LONGEST_VERSES[0] + 1)]
    assert table["all"]["verses"] == sum(table[name]["verses"] for name in GROUPS) == len(verses_of("test"))


def test_verses_with_a_parallel_in_training_are_found_by_their_words_alone(monkeypatch):
    texts = {"training": ["he cam and seide to him .", "lo !"]}
    texts["test"] = ["and he seide , he cam", "he cam and seide ! ! !", "seide him", "a b c d e"]
    parts = {part: [(verse.split(), ()) for verse in verses] for part, verses in texts.items()}
    monkeypatch.setattr(wycliffe, "verses_of", parts.get)
    assert find_parallel().tolist() == [True, True, True, False]  # 4 of 5 words, for "he" is in the other only once
    monkeypatch.setattr(wycliffe, "PARALLEL", 0.9)
    assert find_parallel().tolist() == [False, True, True, False]


def test_the_page_says_what_the_score_is_without_verses_that_have_a_parallel_in_training():
    page = " ".join((BOOK / "wycliffe.md").read_text(encoding="utf-8").split())
    near, apart, whole = int(find_parallel().sum()), tabulate_apart(RECORDED["test"]), RECORDED["table"]["all"]
    assert apart["verses"] == RECORDED["apart"]["verses"] == whole["verses"] - near
    for side in SIDES:
        assert apart[side]["bleu"] == pytest.approx(RECORDED["apart"][side]["bleu"])
        assert f"{whole[side]['bleu'] - apart[side]['bleu']:.1f}" == "0.4"
    assert f"{near} of the {whole['verses']} test verses have" in page
    scores = [f"{apart[side]['bleu']:.1f}" for side in SIDES]
    assert "BLEU is {} with attention and {} with the fixed vector, both 0.4 lower".format(*scores) in page


def test_both_sides_are_drawn_together():
    attention = np.array(RECORDED["test"]["attention"])
    worse = attention.copy()
    worse[:, :, 3] = np.maximum(0, worse[:, :, 3] - 1)
    row = tabulate({"attention": attention, "fixed": worse})["all"]
    spread = {name: np.ptp(row[name]["interval"]) for name in ("attention", "difference")}
    assert spread["difference"] < spread["attention"]
    assert row["difference"]["interval"][0] > 0


def test_a_version_made_by_people_is_measured_as_translations_are():
    assert wycliffe.measure_version("asv")["bleu"] == pytest.approx(RECORDED["versions"]["asv"]["bleu"])
    assert wycliffe.measure_version("kjv")["bleu"] == pytest.approx(100)
    assert RECORDED["versions"].keys() == {*wycliffe.VERSIONS}


def test_three_seeds_of_the_reference_earn_all_points_and_no_fixed_vector_earns_any():
    thresholds = answer_key.load("capstone")["capstone-train_translator"].thresholds
    wanted = np.array([len(target) for _, target in verses_of("test")])
    bleu = {side: [bleu_of(np.column_stack([seed, wanted])) for seed in RECORDED["test"][side]] for side in SIDES}
    assert max(bleu["fixed"]) + 1 < min(thresholds.values())
    assert min(bleu["attention"]) > max(thresholds.values()) + 1.5


def count_exact(counts, wanted):
    """Return how many translations have all sequences of their references and no other word."""
    whole = np.maximum(0, wanted[:, None] - np.arange(4))
    return (np.array(counts) == np.column_stack([whole, wanted])).all(axis=1).sum()


@pytest.fixture(scope="module")
def reading():
    """The text and the answer of the exercise on reading verses."""
    texts = chapter_texts(BOOK / "capstone.md")[1]
    entry = answer_key.load("capstone")["capstone-read_verses"]
    return " ".join(texts["capstone-read_verses"].body.split()), " ".join(entry.answer.split())


def test_the_exercise_on_reading_verses_and_its_answer_state_what_is_recorded(reading):
    text, answer = reading
    test = verses_of("test")
    wanted = np.array([len(target) for _, target in test])
    arrays = encode_references([*test, *((source, source) for source, _ in test)])
    copied = corpus_bleu(arrays[len(test) :], arrays[: len(test)])
    sides = RECORDED["test"]
    bleu = {side: [bleu_of(np.column_stack([seed, wanted])) for seed in seeds] for side, seeds in sides.items()}
    assert "attention=False, rate={}".format(RECORDED["chosen"]["fixed"]["rate"]) in text
    ranges = [f"{min(scores):.1f} to {max(scores):.1f}" for scores in bleu.values()]
    assert (
        "BLEU is {} with attention, {} with the fixed vector, and {:.1f} for the copy".format(*ranges, copied) in text
    )
    assert not any(count_exact(seed, wanted) for seeds in sides.values() for seed in seeds)
    assert not (arrays[len(test) :, : arrays.shape[1]] == arrays[: len(test)]).all(axis=1).any()
    firsts = [scores[0] for scores in bleu.values()]
    assert (
        "Attention: {:.1f} and 0; fixed vector: {:.1f} and 0; the source copied: {:.1f} and 0.".format(*firsts, copied)
        in answer
    )
    assert 1.8 < firsts[0] / firsts[1] < 2
    assert copied < firsts[1] < copied + 1  # "hardly better than the copy"
    remedy = RECORDED["remedy"]
    assert f"rises from {remedy['before']:.1f} to {remedy['after']:.1f}" in answer


def test_the_answer_on_reading_verses_quotes_what_the_recorded_model_writes(reading, capsys):
    _, answer = reading
    plain = answer.replace(",", " ,").replace(".", " .")
    verses, model = draw_verses(), load_trained("wycliffe")
    written = [" ".join(tokens) for tokens in translate_verses(model, verses)]
    gaps = sum("[UNK]" in each for each in written)
    assert int(answer.partition("gap in ")[2].partition(",")[0]) == pytest.approx(gaps, abs=1)  # on another processor
    quoted = (
        "as the [UNK] of lions",
        "my love shall [UNK] me",
        "six thousand six thousand",
        "shall [UNK] themselves together",
        "woman [UNK]",
    )
    assert sum(any(quote in each for each in written) for quote in quoted) >= 4
    rows = [
        ("instructed", "doist feithfuli"),
        ("things", "cursyngis"),
        ("", "the lawe"),
        ("son", "children"),
        ("", "with pees"),
    ]
    for place, (wrote, read) in enumerate(rows):
        assert wrote in written[place]
        assert read in " ".join(verses[place][0])
        assert f"{wrote} for {read.split()[0]}" in answer or (read in answer and not wrote)
    assert all(quote in plain for quote in quoted)
    worse = "but the grace of our lord our father , and [UNK] love in christ jesus ."
    better = "but the grace of our lord overflowed , with the faith and the love that are in jesus christ ."
    assert worse in plain
    assert better in plain
    (reference,) = (" ".join(target) for _, target in verses if "exceeding abundant" in " ".join(target))
    assert reference in plain
    first, second = capstone.rank_by_bleu(reference, better, worse)
    assert "ranks them wrongly" in capsys.readouterr().out
    assert f"by the model, {second:.1f}:" in answer
    assert f"by me, {first:.1f}:" in answer
    found = [count_shared(text.split(), reference.split()) for text in (worse, better)]
    assert "shares {}, {}, {} and {} sequences of one to four words".format(*found[0]) in answer
    assert "the better one {}, {}, {} and {} of a longer verse".format(*found[1]) in answer
    batch = verses_as_tensors(verses)
    _, weights = model.greedy(batch["source"], batch["lengths"], START, STOP, MOST_WORDS)
    for source, quote, looked_at, known in (
        ("bed", "my love", "bed", "bed"),
        ("neithir", "a woman", "neithir", "[UNK]"),
    ):
        (place,) = (n for n, each in enumerate(written) if quote in each and source in verses[n][0])
        step = written[place].split().index(quote.split()[0 if source == "neithir" else 1])
        assert verses[place][0][weights[place, step].argmax()] == looked_at
        assert f"{weights[place, step].max():.2f}" in answer
        assert read_as(source) == known
    (place,) = (n for n, each in enumerate(written) if "our father" in each)
    steps = len(written[place].split())
    assert "ouer" not in {verses[place][0][each] for each in weights[place, :steps].argmax(dim=-1)}

    def write_again(quote, change):
        (source,) = (source for (source, _), each in zip(verses, written, strict=True) if quote in each)
        changed = tuple(word for old in source if (word := change.get(old, old)))
        return " ".join(translate_verses(model, [(changed, ())])[0])

    assert "love" not in write_again("my love", {"bed": ""})
    assert write_again("a woman", {"neithir": "nether"}).startswith("neither")
    assert "our father" in write_again("our father", {"ouer": "", "aboundide": ""})


def count_shared(words, reference):
    """Return how many sequences of one, two, three and four words both have."""

    def runs(text, length):
        return Counter(tuple(text[start : start + length]) for start in range(len(text) - length + 1))

    return [(runs(words, length) & runs(reference, length)).total() for length in (1, 2, 3, 4)]


def test_a_remedy_replaces_each_unknown_word_by_one_of_its_source():
    measured = measure_remedy(load_trained("wycliffe"), verses_of("validation")[:60])
    assert 0 < measured["found"] < measured["replaced"]
    assert measured["after"] != measured["before"]
    recorded = RECORDED["remedy"]
    assert recorded["before"] == pytest.approx(ROWS["attention", *CHOSEN["attention"], 0]["validation_bleu"], abs=0.3)


def test_the_page_and_the_exercise_say_what_was_measured():
    page = " ".join((BOOK / "wycliffe.md").read_text(encoding="utf-8").split())
    table, versions = RECORDED["table"], {name: each["bleu"] for name, each in RECORDED["versions"].items()}
    scores = {side: table["all"][side]["bleu"] for side in SIDES}
    assert 1.8 < scores["attention"] / scores["fixed"] < 2
    assert "After these 1800 steps, the score with attention is nearly twice as high." in page
    wanted = np.array([len(target) for _, target in verses_of("test")])
    same = np.mean([bleu_of(np.column_stack([seed, wanted])) for seed in RECORDED["same_settings"]])
    assert same < scores["attention"] / 2
    assert f"the fixed vector would have scored {same:.1f}: less than half." in page
    rates = [rate for rate, _ in CHOSEN.values()]
    assert "The rate is {} with attention and {} with the fixed vector; on each".format(*rates) in page
    assert all({rate / 2, 2 * rate} <= {*RATES} for rate in rates)
    assert "by less than seeds differ" in page
    rate, dropout = CHOSEN["fixed"]
    seeds = [ROWS["fixed", rate, dropout, seed]["loss"] for seed in SEEDS]
    assert ROWS["fixed", rate / 2, dropout, 0]["loss"] - seeds[0] < np.ptp(seeds)
    assert round(table["2-12"]["difference"]["bleu"]) == 2
    assert abs(table["2-12"]["difference"]["interval"][0]) < 1
    assert all(table[name]["difference"]["interval"][0] > 5 for name in ("13-18", "19-25"))
    assert (
        "only about two points, and its interval comes close to 0, mostly because attention scores lowest there" in page
    )
    of_groups = {side: [table[name][side]["bleu"] for name in table if name != "all"] for side in SIDES}
    lost, gained = (abs(scores[0] - min(scores[1:])) for scores in (of_groups["attention"], of_groups["fixed"]))
    assert min(of_groups["attention"]) == of_groups["attention"][0]
    assert lost > gained
    shares = {
        row["dropout"]: row["validation_bleu"]
        for row in RECORDED["rows"]
        if (row["side"], row["seed"], row["rate"]) == ("attention", 0, RATE)
    }
    assert max(shares, key=shares.get) == 0
    assert "by the BLEU of the validation verses, attention would have done best without dropout" in page
    assert f"these are {versions['asv'] - versions['bbe']:.0f} points apart" in page
    test, (more, (low, high)) = verses_of("test"), RECORDED["copied"]["difference"].values()
    arrays = encode_references([*test, *((source, source) for source, _ in test)])
    assert RECORDED["copied"]["bleu"] == pytest.approx(corpus_bleu(arrays[len(test) :], arrays[: len(test)]))
    assert more == pytest.approx(RECORDED["copied"]["bleu"] - table["all"]["fixed"]["bleu"])
    known_words = corpus_bleu(encode_verses(test)["target"], encode_references(test))
    assert RECORDED["known_words"] == pytest.approx(known_words)
    assert low < 0 < high
    measured = wycliffe.measure_copy(RECORDED["test"])["difference"]
    assert [measured["bleu"], *measured["interval"]] == pytest.approx([more, low, high])
    assert wycliffe.measure_known_words() == pytest.approx(known_words)
    told = f"{-more:.1f} less, with an interval from {low:.1f} to {high:.1f}".replace("-", "−")
    assert f"it scores about as much as the fixed vector: {told}." in page
    assert f"may well score {versions['bbe']:.0f}, as this one did" in page
    assert f"{SOURCE_SIZE - 4} in Middle English and {TARGET_SIZE - 4} in the target" in page
    text = " ".join(chapter_texts(BOOK / "capstone.md")[1]["capstone-train_translator"].body.split())
    entry = answer_key.load("capstone")["capstone-train_translator"]
    assert entry.thresholds == {"bleu_at_least_9": 9, "bleu_at_least_11": 11}
    assert round(table["all"]["fixed"]["bleu"]) == 7
    assert entry.parts == {"bleu_at_least_9": 4, "bleu_at_least_11": 4}
    assert (
        "You get 4 points for a BLEU of at least 9 (in our runs, a fixed vector reached 7), and 4 more for at least 11."
        in text
    )
    of_chosen = [row for row in RECORDED["rows"] if row["side"] == "attention"]
    assert max(row["cpu_seconds"] for row in of_chosen) < 200  # "about three minutes"


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_can_still_be_made_and_its_row_is_recorded(mistake):
    (row,) = (row for row in RECORDED["mistakes"] if row["mistake"] == mistake)
    assert row["validation_bleu"] < RECORDED["mistakes"][0]["validation_bleu"] or mistake == "none"
    assert callable(train_with(mistake))


@pytest.mark.full(reason="the first steps and the recorded model are compared in every run; this takes minutes")
def test_trained_again_the_reference_reaches_what_is_recorded(tmp_path):
    curve = capstone.train_translator(tmp_path / "weights.npz")
    rate, dropout = CHOSEN["attention"]
    recorded = ROWS["attention", rate, dropout, 0]["curve"]
    for (_, *losses), (_, *others) in zip(curve, recorded, strict=True):
        assert losses == pytest.approx(others, rel=0.05)
