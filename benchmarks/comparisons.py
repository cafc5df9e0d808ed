"""Train what the book compares, each side at its own best learning rate, and record what came out.

    python -m benchmarks.comparisons                          run all that benchmarks/comparisons.json lacks
    python -m benchmarks.comparisons --groups scores          only these comparisons
    python -m benchmarks.comparisons --list                   the rates tried, the chosen one, and what each seed reached
    python -m benchmarks.comparisons --only NAME [NAME ...]   train these again, beside what was recorded

It may be killed at any moment and started again: a training that has ended is in the record, which is replaced whole.

**Learning rate.** Each side of a comparison is trained at every rate of a grid, from several seeds. For each number of steps
it has the rate whose loss on validation sentences is lowest, averaged over the seeds. These are neither trained on nor
tested. A rate at an edge of its grid is no choice: widen the grid.

**Schedule.** Each training runs at a constant rate after a warm-up; for each length that is asked for, an end branches off in
which the rate falls to 0 over the last fifth (Hägele et al. 2024, arXiv:2405.18392). So one long run serves all lengths.

**Fixed vector.** The only annotation that the decoder gets is the last forward state joined with the first backward one: both
have read the whole sentence. The decoder's first state comes from the encoder too, as it does with attention.

**Batches.** As in Bahdanau et al. (2015, App. B.2): sentences for 20 batches are drawn, sorted by length and cut into batches,
so that few positions are pads.
"""

import argparse
import copy
import fcntl
import json
import math
import os
import platform
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from functools import cache
from itertools import product
from pathlib import Path
from statistics import mean

import numpy as np
import torch
from rich.progress import track
from torch import nn

from solutions.in_numpy import dates
from solutions.in_numpy.capstone import PAD, SOURCE_WORDS, START, STOP, TARGET_WORDS, draw_sentences
from solutions.in_torch.capstone import EMBEDDING_SIZE, MAX_LENGTH, as_tensors, translation_loss
from solutions.in_torch.context import AdditiveAttention, Attention
from solutions.in_torch.dates import unseen_dates
from solutions.in_torch.encoder import Encoder
from solutions.in_torch.output_layer import Decoder, Seq2Seq
from solutions.in_torch.scoring import DotProductScore

ROOT = Path(__file__).resolve().parents[1]
RECORD = ROOT / "benchmarks" / "comparisons.json"
LOCK = ROOT / "_build" / "comparisons.lock"
LENGTH_GROUPS = ((5, 7), (8, 10), (11, 15))  # words of a test sentence
BATCH, BATCHES_PER_POOL, WARM_UP = 64, 20, 30


@dataclass(frozen=True)
class Comparison:
    """Which sides are compared: at which rates, after how many steps, and from how many seeds."""

    models: tuple[str, ...]
    rates: dict[int, tuple[float, ...]]  # by the size of a state
    steps: tuple[int, ...]
    seeds: int = 3


COMPARISONS = {
    "scores": Comparison(
        ("additive", "dot", "scaled-dot"),
        {
            16: (0.006, 0.012, 0.024, 0.048, 0.096),
            64: (0.003, 0.006, 0.012, 0.024, 0.048),
            256: (0.0015, 0.003, 0.006, 0.012, 0.024),
        },
        (300,),
    ),
    "order": Comparison(("bahdanau", "luong"), {48: (0.003, 0.006, 0.012, 0.024, 0.048)}, (100, 200, 300), seeds=5),
    "dates": Comparison(("attention", "fixed"), {48: (0.003, 0.006, 0.012, 0.024, 0.048)}, (150, 450)),
    "bottleneck": Comparison(("attention", "fixed"), {48: (0.003, 0.006, 0.012, 0.024, 0.048)}, (300, 1000)),
}
# steps of the bottleneck, at the chosen rates
LONG = {"attention": (300, 1000, 4000), "fixed": (300, 1000, 4000, 16_000)}
SENTENCES, MANY_SENTENCES = 6000, 60_000


@dataclass(frozen=True)
class Run:
    """One training at a constant rate; an annealed end of each of the lengths ``steps`` branches off from it."""

    group: str
    model: str
    size: int
    sentences: int
    seed: int
    rate: float
    steps: tuple[int, ...]

    def name(self, steps: int) -> str:
        """Return what the record and ``--only`` call the end after so many ``steps``."""
        return f"{self.group}-{self.model}-{self.size}-{self.sentences}-rate{self.rate:g}-seed{self.seed}-{steps}"


def tuning_runs() -> list[Run]:
    """Return a run for each side, rate and seed."""
    return [
        Run(group, model, size, SENTENCES, seed, rate, c.steps)
        for group, c in COMPARISONS.items()
        for size, rates in c.rates.items()
        for rate, seed, model in product(rates, range(c.seeds), c.models)
    ]


def long_runs(rows: dict[str, dict]) -> list[Run]:
    """Return the runs of the bottleneck that follow once its rates are chosen: on more sentences, and for more steps."""
    by_rate: dict[tuple[str, float], list[int]] = {}
    for model, lengths in LONG.items():
        for steps in lengths:
            if choice := choose_rate(rows, "bottleneck", model, 48, steps):
                by_rate.setdefault((model, choice["rate"]), []).append(steps)
    return [
        Run("bottleneck", model, 48, sentences, seed, rate, tuple(lengths))
        for ((model, rate), lengths), sentences, seed in product(
            by_rate.items(), (SENTENCES, MANY_SENTENCES), range(COMPARISONS["bottleneck"].seeds)
        )
    ]


def choose_rate(rows: dict[str, dict], group: str, model: str, size: int, steps: int) -> dict | None:
    """Return the rate of one side after so many steps, and the mean loss in validation at each; None before all were tried.

    After more steps than any rate was tried with, it is that of the most steps tried.
    """
    c = COMPARISONS[group]
    tried = steps if steps in c.steps else max(c.steps)
    names = {
        rate: [Run(group, model, size, SENTENCES, seed, rate, ()).name(tried) for seed in range(c.seeds)]
        for rate in c.rates[size]
    }
    if any(name not in rows for of_rate in names.values() for name in of_rate):
        return None
    losses = {
        rate: round(mean(rows[name]["validation_loss"] for name in of_rate), 5) for rate, of_rate in names.items()
    }
    rate = min(losses, key=losses.get)
    return {"group": group, "model": model, "size": size, "steps": steps, "rate": rate, "validation_loss": losses}


def sides() -> list[tuple[str, str, int, int]]:
    """Return group, model, size and steps of each side, as ``choose_rate`` takes them."""
    return [
        (group, model, size, steps)
        for group, c in COMPARISONS.items()
        for size, model in product(c.rates, c.models)
        for steps in (LONG[model] if group == "bottleneck" else c.steps)
    ]


class TwoEnds(Encoder):
    """An encoder that hands on one annotation only: its last forward state, joined with its first backward state."""

    def forward(self, tokens, lengths):
        annotations, state = super().forward(tokens, lengths)
        half = annotations.shape[-1] // 2
        last = annotations[torch.arange(len(tokens)), lengths - 1, :half]
        return torch.cat([last, annotations[:, 0, half:]], dim=-1).unsqueeze(1), state


class FixedVector(Decoder):
    """A decoder that is given one annotation, and so the same context at every step: it can take all steps at once."""

    def __init__(self, vocab_size, embedding_size, query_size, key_size):
        super().__init__(vocab_size, embedding_size, query_size, key_size, attention=None)

    def forward(self, tokens, state, keys, source_mask=None):
        embedded = self.embedding(tokens)
        context = keys.expand(-1, tokens.shape[1], -1)
        parameters = [self.cell.weight_ih, self.cell.weight_hh, self.cell.bias_ih, self.cell.bias_hh]
        inputs = torch.cat([embedded, context], dim=-1)
        states, _ = torch.gru(inputs, state.unsqueeze(0), parameters, True, 1, 0.0, self.training, False, True)
        return self.output(torch.cat([states, embedded, context], dim=-1)), keys.new_ones(*tokens.shape, 1)


class StateFirst(Decoder):
    """Luong's order: the state makes its step without a context, then asks, and the context reaches the output only."""

    def __init__(self, vocab_size, embedding_size, query_size, key_size, attention):
        super().__init__(vocab_size, embedding_size, query_size, key_size, attention)
        self.cell = nn.GRUCell(embedding_size, query_size)

    def _advance(self, embedded, state, keys, source_mask, projected_keys):
        state = self.cell(embedded, state)
        context, weights = self.attention(state, keys, source_mask, projected_keys)
        return torch.cat([state, embedded, context], dim=-1), state, weights


class ScaledDotProductScore(DotProductScore):
    """score[b, j] = query[b] . keys[b, j] / sqrt(size)"""

    def forward(self, query, projected_keys):
        return super().forward(query, projected_keys) / math.sqrt(query.shape[-1])


def build_model(run: Run) -> Seq2Seq:
    """Return the untrained model of ``run``. An annotation has twice the size of a state; in "scores" they are equal."""
    torch.manual_seed(run.seed)
    source, target = (
        (dates.SOURCE_LETTERS, dates.TARGET_LETTERS) if run.group == "dates" else (SOURCE_WORDS, TARGET_WORDS)
    )
    key_size = run.size if run.group == "scores" else 2 * run.size
    encoder = TwoEnds if run.model == "fixed" else Encoder
    encoder = encoder(len(source), EMBEDDING_SIZE, key_size // 2, run.size)
    sizes = len(target), EMBEDDING_SIZE, run.size, key_size
    if run.model == "fixed":
        return Seq2Seq(encoder, FixedVector(*sizes))
    if run.model in ("dot", "scaled-dot"):
        attention = Attention(DotProductScore() if run.model == "dot" else ScaledDotProductScore())
    else:
        attention = AdditiveAttention(run.size, key_size, run.size)
    decoder = StateFirst if run.model == "luong" else Decoder
    return Seq2Seq(encoder, decoder(*sizes, attention))


class Training:
    """A model on its way."""

    def __init__(self, run: Run):
        self.run, self.step, self.seconds = run, 0, 0.0
        self.model = build_model(run)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=run.rate, fused=True)

    def advance(self, end: tuple[int, int] | None = None) -> None:
        """Take one step. Between the first and the last step of ``end``, the rate falls to 0."""
        began = time.process_time()
        rate = self.run.rate * min(1.0, (self.step + 1) / WARM_UP)
        if end:
            first, last = end
            rate *= 1 - math.sqrt((self.step - first) / (last - first))
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        source, lengths, target_in, target = draw_batch(self.run, self.step)
        logits, _ = self.model(source, lengths, target_in)
        self.optimizer.zero_grad()
        translation_loss(logits, target).backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.step += 1
        self.seconds += time.process_time() - began

    def finish(self, steps: int) -> "Training":
        """Return a copy that is trained to its annealed end after ``steps`` steps."""
        end = copy.deepcopy(self)
        while end.step < steps:
            end.advance((self.step, steps))
        return end


def draw_batch(run: Run, step: int) -> tuple[torch.Tensor, ...]:
    """Return source, lengths, target_in and target of one step. They depend on the arguments alone."""
    tensors, target_lengths = _training_set(run.group == "dates", run.sentences, run.seed)
    rng = np.random.default_rng([run.seed, step // BATCHES_PER_POOL])
    drawn = torch.from_numpy(rng.integers(0, run.sentences, BATCHES_PER_POOL * BATCH))
    batches = drawn[target_lengths[drawn].argsort(stable=True)].view(BATCHES_PER_POOL, BATCH)
    chosen = batches[rng.permutation(BATCHES_PER_POOL)[step % BATCHES_PER_POOL]]
    lengths = tensors["lengths"][chosen]
    source_len, target_len = lengths.max(), target_lengths[chosen].max()
    source = tensors["source"][chosen, :source_len]
    return source, lengths, tensors["target_in"][chosen, :target_len], tensors["target"][chosen, :target_len]


@cache
def _training_set(of_dates, count, seed):
    """Return the training set as tensors, padded to the longest, and the length by which its batches are sorted."""
    if not of_dates:
        tensors = as_tensors(draw_sentences(count, seed))
        return tensors, (tensors["target"] != PAD).sum(dim=1)
    formats = np.random.default_rng(seed).integers(0, len(dates.FORMATS), count)
    arrays = dates.as_arrays(dates.draw_dates(count, seed), [dates.FORMATS[i] for i in formats])
    return _tensors_of_dates(arrays), torch.full((count,), arrays["target"].shape[1])


def _tensors_of_dates(arrays):
    tensors = {name: torch.from_numpy(arrays[name]) for name in ("source", "lengths", "target")}
    return tensors | {"target_in": nn.functional.pad(tensors["target"][:, :-1], (1, 0), value=START)}


@cache
def _unseen(of_dates, purpose):
    """Return what is never trained on: for the "test" (the page on the capstone has its first 500), or for "validation"."""
    if of_dates:
        both, size = _tensors_of_dates(unseen_dates(seed=7, count=600)), 300 * len(dates.FORMATS)
        return {name: tensor[:size] if purpose == "test" else tensor[size:] for name, tensor in both.items()}
    test = draw_sentences(2000, seed=7, least=5, kept_back=True)
    if purpose == "test":
        return as_tensors(test)
    return as_tensors([s for s in draw_sentences(1000, seed=8, least=5, kept_back=True) if s not in set(test)][:500])


@torch.no_grad()
def measure(model: Seq2Seq, run: Run) -> dict[str, object]:
    """Return the losses in training and validation, in nats a word, and how many of the test are right, of how many, by length.

    The loss in training is that of sentences as long as those in validation, since long ones are harder.
    """
    of_dates = run.group == "dates"
    trained_on, _ = _training_set(of_dates, run.sentences, run.seed)
    long = (trained_on["lengths"] >= LENGTH_GROUPS[0][0]).nonzero().flatten()[:500]
    losses = {}
    for name, data in (
        ("training_loss", {name: tensor[long] for name, tensor in trained_on.items()}),
        ("validation_loss", _unseen(of_dates, "validation")),
    ):
        logits, _ = model(data["source"], data["lengths"], data["target_in"])
        losses[name] = float(f"{translation_loss(logits, data['target']).item():.4g}")
    unseen = _unseen(of_dates, "test")
    wanted = unseen["target"]
    most = wanted.shape[1] if of_dates else MAX_LENGTH
    words, _ = model.greedy(unseen["source"], unseen["lengths"], START, STOP, most)
    words = nn.functional.pad(words, (0, max(0, wanted.shape[1] - words.shape[1])), value=STOP)[:, : wanted.shape[1]]
    right = ((words == wanted) | (wanted == PAD)).all(dim=1)
    groups = {"all": torch.ones_like(right)}
    if not of_dates:
        lengths = unseen["lengths"]
        groups = {f"{least}-{most}": (lengths >= least) & (lengths <= most) for least, most in LENGTH_GROUPS}
    return losses | {
        "right_of": {name: [int(right[chosen].sum()), int(chosen.sum())] for name, chosen in groups.items()}
    }


def measure_saturation(model: Seq2Seq) -> dict[str, float]:
    """Return the mean entropy of the weights, as a share of the largest possible, and the gradient norm at the scores.

    Both for one batch of the longest sentences of the test; the gradient is that of the loss, its norm taken over the
    scores of one step of the decoder and averaged over all steps.
    """
    unseen = _unseen(False, "test")
    chosen = unseen["lengths"].argsort(stable=True)[-BATCH:]
    every_score = []

    def keep(_module, _inputs, scores):
        scores.retain_grad()
        every_score.append(scores)

    hook = model.decoder.attention.score.register_forward_hook(keep)
    logits, weights = model(unseen["source"][chosen], unseen["lengths"][chosen], unseen["target_in"][chosen])
    translation_loss(logits, unseen["target"][chosen]).backward()
    hook.remove()
    model.zero_grad()
    entropy = torch.special.entr(weights).sum(dim=-1) / unseen["lengths"][chosen].log().unsqueeze(1)
    real = unseen["target"][chosen] != PAD
    norms = torch.stack([scores.grad.norm() for scores in every_score])
    return {
        "entropy_share": round(entropy[real].mean().item(), 4),
        "gradient_norm": float(f"{norms.mean().item():.3g}"),
    }


def train(run: Run) -> list[dict]:
    """Train ``run`` to each of its lengths, and return a row of the record for each."""
    torch.set_num_threads(1)
    training, rows = Training(run), []
    untrained = {"untrained": measure_saturation(training.model)} if run.group == "scores" else {}
    for steps in run.steps:
        while training.step < branch_step(steps):
            training.advance()
        end = training.finish(steps)
        row = {"name": run.name(steps), **asdict(run), "steps": steps, **measure(end.model, run), **untrained}
        if untrained:
            row["trained"] = measure_saturation(end.model)
        rows.append(row | {"cpu_seconds": round(end.seconds, 1)})
    return rows


def branch_step(steps: int) -> int:
    """Return the step at which the annealed end of a training of ``steps`` steps begins."""
    return round(0.8 * steps)


def read_record(path: Path = RECORD) -> dict[str, dict]:
    """Return the rows of the record by name."""
    rows = json.loads(path.read_text(encoding="utf-8"))["rows"] if path.exists() else []
    return {row["name"]: row for row in rows}


def write_record(rows: dict[str, dict], path: Path = RECORD) -> None:
    """Replace the record: the rates chosen, then a row for each training and length."""
    head = {
        "command": "python -m benchmarks.comparisons",
        "machine": describe_machine(),
        "chosen": [choice for side in sides() if (choice := choose_rate(rows, *side))],
    }
    lines = ",\n".join(json.dumps(rows[name]) for name in sorted(rows))
    whole = path.with_suffix(".new")
    beginning = json.dumps(head, indent=0).removesuffix("\n}")
    whole.write_text(f'{beginning},\n"rows": [\n{lines}\n]\n}}\n', encoding="utf-8")
    os.replace(whole, path)


def describe_machine() -> dict[str, str]:
    """Return the kind of machine and the versions: no names."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    kinds = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    versions = {"python": platform.python_version(), "numpy": np.__version__, "torch": torch.__version__.split("+")[0]}
    return {"processor": kinds[0] if kinds else platform.machine(), **versions}


def run_missing(runs: list[Run], rows: dict[str, dict], jobs: int) -> None:
    """Train the ``runs`` of which ``rows`` lack a length, and record each as it ends."""
    missing = [run for run in runs if any(run.name(steps) not in rows for steps in run.steps)]
    with ProcessPoolExecutor(jobs) as pool:
        trained = [pool.submit(train, run) for run in missing]
        for future in track(as_completed(trained), "Training", total=len(trained)):
            rows |= {row["name"]: row for row in future.result()}
            write_record(rows)


def print_choices(rows: dict[str, dict], groups: list[str]) -> None:
    """Print each side: the losses in validation, and at the rate chosen the exact match of each seed."""
    for side in sides():
        choice = choose_rate(rows, *side)
        if side[0] not in groups or not choice:
            continue
        print(*side, json.dumps(choice["validation_loss"]))
        for row in rows.values():
            if (row["group"], row["model"], row["size"], row["steps"], row["rate"]) == (*side, choice["rate"]):
                print(f"    {row['name']}: {json.dumps(row['right_of'])}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--groups", nargs="+", choices=COMPARISONS, default=[*COMPARISONS])
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="trainings at a time (default: one a core)")
    parser.add_argument("--list", action="store_true", help="print what was chosen and measured; train nothing")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="train these rows again, and record nothing")
    options = parser.parse_args()
    rows = read_record()
    if options.list:
        print_choices(rows, options.groups)
        return
    if options.only:
        if unknown := set(options.only) - set(rows):
            parser.error(f"not in the record: {', '.join(sorted(unknown))}. Remedy: --list names the rows")
        for name in options.only:
            fields = {field: rows[name][field] for field in Run.__dataclass_fields__}
            (row,) = train(Run(**fields | {"steps": (rows[name]["steps"],)}))
            for when, measured in (("now ", row), ("then", rows[name])):
                print(
                    name,
                    when,
                    json.dumps({what: measured[what] for what in ("validation_loss", "right_of")}),
                    flush=True,
                )
        return
    LOCK.parent.mkdir(exist_ok=True)
    with LOCK.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            sys.exit("another run of this program writes the record. Remedy: wait for it, or end it")
        run_missing([run for run in tuning_runs() if run.group in options.groups], rows, options.jobs)
        if "bottleneck" in options.groups:
            run_missing(long_runs(rows), rows, options.jobs)


if __name__ == "__main__":
    main()
