"""What does the ablation of spelling show on few words once both sides are regularised? Measured as the exercise ``ablation`` asks.

    python -m benchmarks.regularised        write benchmarks/regularised.json; less than twenty minutes of one core

**Choosing.** The model with attention and that with a fixed vector are trained on the same few words, from two seeds each: with
every share of ``DROPOUTS`` at the first of ``RATES``, and with those of ``LARGER`` if the largest was the best, then at the other
rates with the share that gave the lowest phoneme error rate on the validation words, averaged over the seeds. Training keeps the
parameters with the lowest validation loss.

**Reporting.** The test words are pronounced by the models with the chosen rate and share only, once. The record has the edits and
the length of the nearest pronunciation for each word, a digit in base 36 each.

A training that is finished is kept in _build/regularised, so the program may be killed and started again.
"""

import argparse
import json
import time
from itertools import product

import numpy as np
import torch
from torch import nn

from autograder.files import write_text
from benchmarks.comparisons import ROOT
from benchmarks.learning_curves import describe_machine
from solutions.in_numpy.spelling import PAD, count_edits, error_rates, words_of
from solutions.in_torch.capstone import load_weights, save_weights
from solutions.in_torch.spelling import add_dropout, as_tensors, build_model, pronounce

RECORD = ROOT / "benchmarks" / "regularised.json"
FINISHED = ROOT / "_build" / "regularised"
SIDES = {"attention": True, "fixed": False}
WORDS, STEPS, EVERY, BATCH = 2000, 600, 100, 64
DROPOUTS = (0.0, 0.2, 0.4)
LARGER = (0.5, 0.6)
RATES = (0.003, 0.0015, 0.006)
SEEDS = (0, 1)
GROUPS = {"2-5": (2, 5), "6-7": (6, 7), "8-9": (8, 9), "10-16": (10, 16)}  # letters
SAMPLES = 1000  # of the bootstrap


def few_words():
    """Return the words to train on."""
    return np.random.default_rng(0).permutation(words_of("training"))[:WORDS].tolist()


def train(path, side, rate, dropout, seed, steps=STEPS):
    """Train one model, write its best parameters to ``path``, and return the loss of each step and the learning curve.

    Only the first ``steps`` of a whole training are taken.
    """
    model, words = build_model(seed, SIDES[side]), few_words()
    add_dropout(model, dropout)
    rng = np.random.default_rng(seed)
    measured = as_tensors(words[:1000]), as_tensors(words_of("validation"))
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1, (step + 1) / 30, max(0, 5 * (1 - step / STEPS)) ** 0.5)
    )

    def loss_of(batch):
        logits, _ = model(batch["source"], batch["lengths"], batch["target_in"])
        return nn.functional.cross_entropy(logits.flatten(0, 1), batch["target"].flatten(), ignore_index=PAD)

    losses, curve, order = [], [], []
    for step in range(1, steps + 1):
        if len(order) < BATCH:
            order = rng.permutation(len(words)).tolist()  # a new epoch
        batch, order = order[:BATCH], order[BATCH:]
        model.train()
        loss = loss_of(as_tensors([words[i] for i in batch]))
        losses.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % EVERY == 0:
            model.eval()
            with torch.no_grad():
                curve.append((step, *(loss_of(batch).item() for batch in measured)))
            if curve[-1][2] == min(validation for _, _, validation in curve):
                save_weights(model, path)
    return losses, curve


def measure(side, rate, dropout, seed):
    """Return the row of one training in the record: from ``FINISHED`` if it is there, else after training."""
    path = _path(side, rate, dropout, seed)
    if not path.with_suffix(".json").exists():
        began = time.process_time()
        losses, curve = train(path, side, rate, dropout, seed)
        row = {"side": side, "rate": rate, "dropout": dropout, "seed": seed, "losses": losses[:5], "curve": curve}
        row["stopped"] = min(curve, key=lambda each: each[2])[0]
        validation = words_of("validation")
        row["validation_per"], _ = error_rates(pronounce(_load(side, path), validation), validation)
        row |= {"cpu_seconds": round(time.process_time() - began, 1), "processor": describe_machine()["processor"]}
        write_text(json.dumps(row), path.with_suffix(".json"))
    return json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))


def choose(rows, name):
    """Return the ``name`` ("rate" or "dropout") of ``rows`` whose mean PER on the validation words is the lowest."""
    values = dict.fromkeys(row[name] for row in rows)
    return min(values, key=lambda value: np.mean([row["validation_per"] for row in rows if row[name] == value]))


def report(side, rate, dropout):
    """Return the edits and the lengths of the test words for each seed of a side, as the record has them."""
    test, seeds = words_of("test"), []
    for seed in SEEDS:
        said = pronounce(_load(side, _path(side, rate, dropout, seed)), test)
        counts = zip(*(count_edits(phonemes, word) for phonemes, word in zip(said, test, strict=True)), strict=True)
        seeds.append(["".join(np.base_repr(count, 36) for count in each) for each in counts])
    return seeds


def read_counts(seeds):
    """Return (seeds, 2, words) integers: the edits and the lengths that ``report`` returned."""
    return np.array([[[int(digit, 36) for digit in each] for each in pair] for pair in seeds])


def compare(attention, fixed):
    """Return the PER of both sides and how much higher the second is, in percent, with a paired bootstrap interval.

    Parameters
    ----------
    attention, fixed : (seeds, 2, words)
        Edits and lengths. Both seeds of a word are drawn together, and those of the other side with them.
    """
    sides = np.array([attention, fixed]).sum(axis=1)  # (side, 2, words)
    edits, lengths = sides.sum(axis=2).T
    words = sides.shape[-1]
    drawn = np.random.default_rng(0).integers(0, words, (SAMPLES, words))
    again = sides[:, :, drawn].sum(axis=-1)  # (side, 2, SAMPLES)
    rates = 100 * again[:, 0] / again[:, 1]
    low, high = np.quantile(rates[1] - rates[0], [0.025, 0.975])
    first, second = 100 * edits / lengths
    return {"attention": first, "fixed": second, "difference": second - first, "interval": [low, high]}


def tabulate(reports):
    """Return ``compare`` of the recorded counts for all test words and for each of ``GROUPS``."""
    letters = np.array([len(word) for word in words_of("test")])
    counts = [read_counts(reports[side]) for side in SIDES]
    chosen = {"all": letters > 0} | {name: (low <= letters) & (letters <= high) for name, (low, high) in GROUPS.items()}
    return {name: compare(*(each[:, :, these] for each in counts)) for name, these in chosen.items()}


def _path(side, rate, dropout, seed):
    version = torch.__version__.split("+")[0]  # what was trained otherwise is trained again
    return FINISHED / f"{side}-{rate:g}-{dropout:g}-{seed}-{WORDS}-{STEPS}-{EVERY}-{BATCH}-torch{version}.npz"


def _load(side, path):
    return load_weights(build_model(attention=SIDES[side]), path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.parse_args()
    torch.set_num_threads(1)
    FINISHED.mkdir(parents=True, exist_ok=True)
    rows, chosen = [], {}
    for seed, dropout, side in product(SEEDS, DROPOUTS, SIDES):
        rows.append(measure(side, RATES[0], dropout, seed))
    for side in SIDES:
        if choose([row for row in rows if row["side"] == side], "dropout") == max(DROPOUTS):
            rows += [measure(side, RATES[0], dropout, seed) for dropout, seed in product(LARGER, SEEDS)]
        dropout = choose([row for row in rows if row["side"] == side], "dropout")
        rows += [measure(side, rate, dropout, seed) for rate, seed in product(RATES[1:], SEEDS)]
        of_share = [row for row in rows if (row["side"], row["dropout"]) == (side, dropout)]
        chosen[side] = {"rate": choose(of_share, "rate"), "dropout": dropout}
    reports = {side: report(side, **choice) for side, choice in chosen.items()}
    record = {"command": "python -m benchmarks.regularised", "machine": describe_machine()}
    record |= {"rows": rows, "chosen": chosen, "test": reports}
    write_text(json.dumps(record).replace(', {"side"', ',\n{"side"') + "\n", RECORD)


if __name__ == "__main__":
    main()
