"""Train the models of the chapters as their references do, and record what the pages and tests need.

    python -m benchmarks.trainings                   write benchmarks/trainings.json and three models; about ten minutes of one core
    python -m benchmarks.trainings --only blocks     replace this part of the record, and its model

**The capstone.** Three trainings with attention and one without. For each: the beginning and the end of its losses, CPU seconds,
and the measures of the page. The parameters of seed 0 go to solutions/in_torch/capstone.npz, with one byte for each.

**The translator of ``assemble``.** Two trainings for each number of steps in ``OWN_RUNS``, measured on unseen sentences. The
parameters of the longest with seed 0 go to solutions/in_torch/own.npz.

**The translator of ``train_blocks``.** As that of ``assemble``, for ``BLOCKS_RUNS``, half of which have the recurrent encoder
instead. The parameters of the longest with blocks and seed 0 go to solutions/in_torch/blocks.npz.

**Spelling.** The training of 1200 steps, then what takes the page long to compute: the beams of the recorded model, and the
links of Model 1, which is trained on all training words.
"""

import argparse
import contextlib
import json
import tempfile
import time
from functools import partial
from pathlib import Path
from unittest import mock

import numpy as np
import torch
from torch.optim.optimizer import register_optimizer_step_pre_hook

from benchmarks.comparisons import ROOT
from benchmarks.learning_curves import describe_machine
from solutions.in_numpy.alignment import hand_aligned, link_likeliest, train_alignment_model
from solutions.in_numpy.capstone import (
    HELD_OUT,
    SOURCE_WORDS,
    START,
    STOP,
    TARGET_WORDS,
    as_arrays,
    draw_sentences,
)
from solutions.in_numpy.spelling import as_arrays as as_letters
from solutions.in_numpy.spelling import count_edits, error_rates, words_of
from solutions.in_torch import capstone, spelling
from solutions.in_torch import from_bahdanau_to_transformers as transformers
from solutions.in_torch.capstone import load_weights
from solutions.trained import TRAINED, load_trained, quantize

RECORD = ROOT / "benchmarks" / "trainings.json"
CAPSTONE_RUNS = ((True, 0), (True, 1), (True, 2), (False, 0))  # attention, seed
OWN_RUNS = tuple((seed, steps) for seed in (0, 1) for steps in (100, 200, 300, 600))
BLOCKS_RUNS = tuple((blocks, seed, steps) for blocks in (True, False) for seed in (0, 1) for steps in (100, 300, 600))
FIRST_STEPS = 20  # whose losses and gradients are recorded
BEAMS = ((2, 0), (4, 0), (4, 1))  # width, length power
TENSIONS = {"IBM Model 1": 0.0, "Model 1 near the diagonal": 4.0}


class _EnoughError(Exception):
    """Ends a training from inside."""


def watch_training(train_and_save, path, steps=None, stop=None, **options):
    """Run ``train_and_save`` of a reference, or of a notebook, only until its first ``steps`` steps if these are given.

    It ends sooner at a step after which ``stop(losses, norms)`` is true.

    Returns
    -------
    list of float
        The loss of each step, as it was backpropagated.
    list of float
        The norm of all gradients in each step, as the optimiser used them: after clipping.
    """
    losses, norms, backward = [], [], torch.Tensor.backward

    def note_loss(loss, *args, **kwargs):
        losses.append(loss.item())
        return backward(loss, *args, **kwargs)

    def note_norm(optimizer, _args, _kwargs):
        gradients = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        norms.append(torch.nn.utils.get_total_norm(gradients).item())
        if len(norms) == steps or (stop and stop(losses, norms)):
            raise _EnoughError

    hook = register_optimizer_step_pre_hook(note_norm)
    try:
        with mock.patch.object(torch.Tensor, "backward", note_loss), contextlib.suppress(_EnoughError):
            train_and_save(path, **options)
    finally:
        hook.remove()
    return losses, norms


def train_capstone(path, attention, seed):
    """Return the model of one run of the capstone, and its row in the record without the measures."""
    began = time.process_time()
    losses, norms = watch_training(capstone.train_and_save, path, seed=seed, attention=attention)
    row = {"attention": attention, "seed": seed, "cpu_seconds": round(time.process_time() - began, 1)}
    row |= _first_and_last(losses, norms)
    return load_weights(capstone.build_model(attention=attention), path), row


def measure_capstone(model, attention=True):
    """Return the exact match on the page's test set, and with attention what the page says of the weights.

    That is the noun alignment, the mean weight on *with* at either of its words, and the heat map of note D's sentence.
    """
    test = capstone.unseen_sentences(seed=7)
    words, weights = _translate(model, test)
    measured = capstone.measure_translations({"words": words, "weights": weights}, test)
    if not attention:
        return {"exact_match": measured["exact_match"]}
    on_with = {}
    for word in ("के", "साथ"):
        rows, steps = np.nonzero(words == TARGET_WORDS.index(word))
        is_with = test["source"][rows] == SOURCE_WORDS.index("with")
        on_with[word] = float((weights[rows, steps] * is_with).sum(axis=1).mean())
    words, weights = _translate(model, as_arrays([HELD_OUT]))
    steps = words[0].tolist().index(STOP)
    heat_map = {"words": [TARGET_WORDS[word] for word in words[0, :steps]], "weights": weights[0, :steps].tolist()}
    return measured | {"weight_on_with": on_with, "heat_map": heat_map}


def train_own(path, seed, steps):
    """Return the row in the record of one training of the translator of ``assemble``, without its measures."""
    return _train_for_row(capstone.train_own, path, seed=seed, steps=steps)


def measure_own(path):
    """Return exact match and BLEU of the translator with the parameters at ``path``, on 500 unseen sentences."""
    file = np.fromfile(path, dtype=np.uint8)
    return _measure_unseen(lambda test: capstone.translate_with_own(file, test["source"], test["lengths"]))


def _measure_unseen(translate):
    test = as_arrays(draw_sentences(500, seed=98, least=5, kept_back=True))
    return capstone.measure_own(translate(test), test)


def train_blocks(path, blocks, seed, steps):
    """Return the row in the record of one training of ``train_blocks``, without its measures."""
    return _train_for_row(transformers.train_blocks, path, blocks=blocks, seed=seed, steps=steps)


def measure_blocks(path, blocks=True):
    """Return exact match and BLEU as ``measure_own`` does, and the loss on the sentences that the exercise is tuned on."""
    model = load_weights(transformers.build_translator(transformers.transformer_block if blocks else None), path)
    unseen = capstone.as_tensors(draw_sentences(500, seed=1, least=5, kept_back=True))
    with torch.no_grad():
        logits, _ = model(unseen["source"], unseen["lengths"], unseen["target_in"])
    loss = capstone.translation_loss(logits, unseen["target"]).item()
    return {"validation_loss": loss} | _measure_unseen(lambda test: {"words": _translate(model, test)[0]})


def _train_for_row(train, path, seed, steps, **options):
    began = time.process_time()
    losses, norms = watch_training(partial(train, steps=steps, **options), path, seed=seed)
    row = {**options, "seed": seed, "steps": steps, "processor": describe_machine()["processor"]}
    return row | {"cpu_seconds": round(time.process_time() - began, 1)} | _first_and_last(losses, norms)


def train_spelling(path):
    """Return the model of spelling's short training, and its row in the record without the error rates."""
    curve, began = [], time.process_time()

    def train_and_save(path):
        curve.extend(spelling.train_and_save(path))

    losses, norms = watch_training(train_and_save, path)
    row = {"cpu_seconds": round(time.process_time() - began, 1)} | _first_and_last(losses, norms)
    return load_weights(spelling.build_model(), path), row | {"curve": curve}


def measure_spelling(model):
    """Return the error rates on the test set."""
    test = words_of("test")
    per, wer = error_rates(spelling.pronounce(model, test), test)
    return {"per": per, "wer": wer}


def measure_beams(model):
    """Return the PER of greedy search and of each of ``BEAMS`` on the validation words, and the gain of the best of the latter.

    All rates are in percent. The test words are read by greedy search and by the best of ``BEAMS`` alone. The gain is the PER of
    the first less that of the second; its 95% interval is from a paired bootstrap.
    """
    validation = [
        {"width": width, "length_power": power, "validation_per": 100 * float(edits.sum() / lengths.sum())}
        for width, power in ((1, 0), *BEAMS)
        for edits, lengths in [_count_edits_with_beam(model, words_of("validation"), width, power)]
    ]
    best = min(validation[1:], key=lambda row: row["validation_per"])
    test = words_of("test")
    greedy, lengths = _count_edits_with_beam(model, test, 1, 0)
    wide, _ = _count_edits_with_beam(model, test, best["width"], best["length_power"])
    drawn = np.random.default_rng(0).integers(0, len(test), (1000, len(test)))  # the page's own draws
    gains = 100 * (greedy - wide)[drawn].sum(axis=1) / lengths[drawn].sum(axis=1)
    per, gain = (100 * float(edits.sum() / lengths.sum()) for edits in (wide, greedy - wide))
    best = best | {"per": per, "gain": gain, "interval": np.quantile(gains, [0.025, 0.975]).tolist()}
    return {"searches": validation, "best": best}


def _count_edits_with_beam(model, words, width, power):
    """Return the edits of each word, and the phonemes of its reference; with a width of 1, the search is greedy."""
    said = spelling.pronounce_with_beam(model, words, width, power) if width > 1 else spelling.pronounce(model, words)
    return np.transpose([count_edits(phonemes, word) for phonemes, word in zip(said, words, strict=True)])


def link_by_model_1():
    """Return for each of ``TENSIONS`` the letter that each phoneme of the words aligned by hand is linked to."""
    training, aligned = as_letters(words_of("training")), as_letters(hand_aligned()[0])
    links = {}
    for name, tension in TENSIONS.items():
        table = train_alignment_model(training["source"], training["target"], tension)
        links[name] = link_likeliest(table, aligned["source"], aligned["target"], tension).tolist()
    return links


def _first_and_last(losses, norms):
    return {"losses": losses[:FIRST_STEPS], "gradient_norms": norms[:FIRST_STEPS], "last_loss": losses[-1]}


def _translate(model, arrays):
    source, lengths = map(torch.as_tensor, (arrays["source"], arrays["lengths"]))
    words, weights = model.greedy(source, lengths, START, STOP, capstone.MAX_LENGTH)
    return words.numpy(), weights.numpy()


def record_capstone(path):
    """Return the rows of the capstone, and write its model. ``path`` is where parameters may be saved meanwhile."""
    rows = []
    for attention, seed in CAPSTONE_RUNS:
        model, row = train_capstone(path, attention, seed)
        rows.append(row | measure_capstone(model, attention))
        if (attention, seed) == (True, 0):
            np.savez_compressed(TRAINED["capstone"], **quantize(model))
    return rows


def record_own(path):
    """Return the rows of the translator of ``assemble``, and write its model."""
    rows = []
    for seed, steps in OWN_RUNS:
        rows.append(train_own(path, seed, steps) | measure_own(path))
        if (seed, steps) == (0, 600):
            np.savez_compressed(TRAINED["own"], **quantize(load_weights(capstone.build_own(), path)))
    return rows


def record_blocks(path):
    """Return the rows of the translator with blocks and of its recurrent counterpart, and write the model with blocks."""
    rows = []
    for blocks, seed, steps in BLOCKS_RUNS:
        rows.append(train_blocks(path, blocks, seed, steps) | measure_blocks(path, blocks))
        if (blocks, seed, steps) == (True, 0, 600):
            np.savez_compressed(TRAINED["blocks"], **quantize(load_weights(transformers.build_blocks(), path)))
    return rows


def record_spelling(path):
    """Return what the record has of spelling."""
    model, row = train_spelling(path)
    row |= measure_spelling(model)
    return row | {"beams": measure_beams(load_trained("spelling")), "links": link_by_model_1()}


PARTS = {"capstone": record_capstone, "own": record_own, "blocks": record_blocks, "spelling": record_spelling}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=PARTS, help="replace only this part of the record")
    options = parser.parse_args()
    torch.set_num_threads(1)
    record = json.loads(RECORD.read_text(encoding="utf-8")) if options.only else {}
    record |= {"command": "python -m benchmarks.trainings"} | ({} if options.only else {"machine": describe_machine()})
    with tempfile.TemporaryDirectory() as folder:
        for part in [options.only] if options.only else PARTS:
            record[part] = _rounded(PARTS[part](Path(folder) / "weights.npz"))
    text = json.dumps(record, ensure_ascii=False)
    RECORD.write_text(text.replace(', "', ',\n"') + "\n", encoding="utf-8")


def _rounded(value):
    """Return a part of the record with its numbers rounded to five digits."""
    if isinstance(value, dict):
        return {name: _rounded(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(part) for part in value]
    return float(f"{value:.5g}") if isinstance(value, float) else value


if __name__ == "__main__":
    main()
