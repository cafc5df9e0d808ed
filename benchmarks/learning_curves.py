"""Measure the learning curves that two exercises of the capstone print, and record them.

    python -m benchmarks.learning_curves        write benchmarks/learning_curves.json; about five minutes of one core

**Rates.** The fixed-vector model of ``benchmarks.comparisons``, trained on only 1000 sentences, at six learning rates that stay
constant after a warm-up: training and validation losses, averaged over three seeds. With so few sentences, the two losses
diverge.

**Mistakes.** The training of ``train_and_save``, done correctly and with one mistake at a time, from the same initial parameters
and on the same batches: the loss that the program backpropagates, and the correctly measured validation loss after the step.
"""

import json
import platform
from collections.abc import Iterator
from pathlib import Path
from statistics import mean

import numpy as np
import torch
from torch import nn

from benchmarks.comparisons import ROOT, Training, TrainingRun, measure_losses
from benchmarks.tasks import PAD, TASKS
from solutions.in_numpy.capstone import draw_sentences
from solutions.in_torch.capstone import as_tensors, build_model, translation_loss

RECORD = ROOT / "benchmarks" / "learning_curves.json"
RATES = (0.0015, 0.003, 0.006, 0.012, 0.024, 0.384)
RATE_STEPS = (100, 200, 300, 400, 600, 800, 1000)
SENTENCES, SEEDS = 1000, 3
MISTAKES = ("none", "rate_times_ten", "gradients_kept", "softmax_twice", "summed", "target_not_moved")
MISTAKE_STEPS = (1, 10, 25, 50, 100, 150, 200, 300)


def measure_rate(rate: float, seed: int) -> list[tuple[float, float]]:
    """Return the training and validation losses after each of ``RATE_STEPS``."""
    run = TrainingRun("bottleneck", "fixed", 48, SENTENCES, seed, rate, RATE_STEPS)
    training, losses = Training(run), []
    while training.step < RATE_STEPS[-1]:
        training.advance()
        if training.step in RATE_STEPS:
            measured = measure_losses(training.model, run)
            losses.append((measured["training_loss"], measured["validation_loss"]))
    return losses


def train_with_mistake(mistake: str, steps: int = 300) -> Iterator[tuple[float, nn.Module]]:
    """Train with ``mistake``; yield the loss of each step, and the model after the step."""
    rate = 8e-2 if mistake == "rate_times_ten" else 8e-3
    model, rng, sentences = build_model(seed=0), np.random.default_rng(0), draw_sentences(6000, 0)
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=rate, total_steps=300)
    for _ in range(steps):
        batch = as_tensors([sentences[i] for i in rng.integers(0, len(sentences), 64)])
        target = batch["target"]
        read = target if mistake == "target_not_moved" else batch["target_in"]
        logits, _ = model(batch["source"], batch["lengths"], read)
        loss = translation_loss(logits.softmax(dim=-1) if mistake == "softmax_twice" else logits, target)
        if mistake == "summed":
            loss = loss * (target != PAD).sum()
        if mistake != "gradients_kept":
            optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        yield loss.item(), model


def measure_mistake(mistake: str) -> list[list[float]]:
    """Return the program's own loss and the correctly measured validation loss at each of ``MISTAKE_STEPS``."""
    unseen, losses = TASKS["sentences"].unseen("validation"), []
    for step, (loss, model) in enumerate(train_with_mistake(mistake), start=1):
        if step in MISTAKE_STEPS:
            with torch.no_grad():
                logits, _ = model(unseen["source"], unseen["lengths"], unseen["target_in"])
            losses.append([loss, translation_loss(logits, unseen["target"]).item()])
    return losses


def main() -> None:
    torch.set_num_threads(1)
    rates = []
    for rate in RATES:
        of_seeds = [measure_rate(rate, seed) for seed in range(SEEDS)]
        means = [
            [round(mean(losses), 4) for losses in zip(*of_step, strict=True)] for of_step in zip(*of_seeds, strict=True)
        ]
        rates.append({"rate": rate, "losses": means})
    mistakes = [
        {"mistake": mistake, "losses": [[round(loss, 4) for loss in pair] for pair in measure_mistake(mistake)]}
        for mistake in MISTAKES
    ]
    record = {
        "command": "python -m benchmarks.learning_curves",
        "machine": describe_machine(),
        "rate_steps": RATE_STEPS,
        "rates": rates,
        "mistake_steps": MISTAKE_STEPS,
        "mistakes": mistakes,
    }
    RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def describe_machine() -> dict[str, str]:
    """Return the kind of processor and the versions, but not the machine's name."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    kinds = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    versions = {"python": platform.python_version(), "numpy": np.__version__, "torch": torch.__version__.split("+")[0]}
    return {"processor": kinds[0] if kinds else platform.machine(), **versions}


if __name__ == "__main__":
    main()
