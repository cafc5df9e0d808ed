"""How far does the capstone's model come without attention, given more steps and more sentences?

    python benchmarks/fixed_vector.py >benchmarks/fixed_vector.txt

The capstone's page trains its model without attention once, for 300 steps, on 6000 sentences. Here the same model, with
the same optimizer and the schedule stretched over all its steps, gets more of both. Its test is that of the page.

The fixed vector is the annotation of the last word, as on the page; its backward half has read one word. The decoder's
first state comes from the first backward state, which has read the whole sentence.
"""

import argparse
import time

import numpy as np
import torch
from torch import nn

from solutions.in_numpy.capstone import START, STOP, draw_sentences, exact_match
from solutions.in_torch.capstone import (
    MAX_LENGTH,
    as_tensors,
    build_model,
    translation_loss,
    unseen_sentences,
)

RUNS = (  # context, steps, sentences, seed
    ("attention", 300, 6000, 0),
    ("last annotation", 300, 6000, 0),
    ("last annotation", 300, 6000, 1),
    ("last annotation", 300, 6000, 2),
    ("last annotation", 2000, 6000, 0),
    ("last annotation", 4000, 60_000, 0),
    ("last annotation", 4000, 60_000, 1),
)
GROUPS = ((5, 7), (8, 10), (11, 15))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=float, default=1.0, help="take this share of all steps, to try it (default: 1)")
    options = parser.parse_args()
    torch.set_num_threads(1)
    test = unseen_sentences(seed=7)
    print(
        f"exact match on {len(test['lengths'])} unseen sentences, torch {torch.__version__.split('+')[0]}, one thread"
    )
    heading = "".join(f"{f'{least}-{most}':>7}" for least, most in GROUPS)
    print(f"{'context':15} {'steps':>6} {'sentences':>10} {'seed':>5}    all{heading}  CPU s", flush=True)
    for context, steps, sentences, seed in RUNS:
        began = time.process_time()
        model = _trained(context, max(10, round(steps * options.scale)), sentences, seed)
        seconds = time.process_time() - began
        words, _ = model.greedy(*map(torch.as_tensor, (test["source"], test["lengths"])), START, STOP, MAX_LENGTH)
        shares = "".join(f"{share:7.3f}" for share in _by_length(words.numpy(), test))
        print(f"{context:15} {steps:6} {sentences:10} {seed:5}{shares} {seconds:6.0f}", flush=True)


def _trained(context, steps, sentences, seed):
    """Train as the capstone's ``train_and_save`` does; only the number of sentences is free."""
    model = build_model(seed, attention=context == "attention")
    drawn, rng = draw_sentences(sentences, seed), np.random.default_rng(seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=8e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=8e-3, total_steps=steps)
    for _ in range(steps):
        batch = as_tensors([drawn[i] for i in rng.integers(0, len(drawn), 64)])
        logits, _ = model(batch["source"], batch["lengths"], batch["target_in"])
        optimizer.zero_grad()
        translation_loss(logits, batch["target"]).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    return model


def _by_length(words, test):
    """Return the exact match of all test sentences, then of each group of lengths."""
    shares = [exact_match(words, test["target"])]
    for least, most in GROUPS:
        chosen = (test["lengths"] >= least) & (test["lengths"] <= most)
        shares.append(exact_match(words[chosen], test["target"][chosen]))
    return shares


if __name__ == "__main__":
    main()
