"""What does attention buy on the capstone's language, beside a fixed vector that is done fairly?

    python benchmarks/bottleneck.py                            all that benchmarks/bottleneck.json lacks, cheapest first
    python benchmarks/bottleneck.py --list                     what stands there, and what does not
    python benchmarks/bottleneck.py --only fixed-6000-1-300    that point again, beside what was recorded

It may be killed at any moment and started again: each finished point is in the record, which is replaced whole or not at
all, and what is under way lies in ``_build/bottleneck``, so that nothing is lost, and nothing counted twice.

**Fixed vector.** The only annotation that the decoder gets is the last forward state joined with the first backward one:
both have read the whole sentence. The decoder's first state comes from the encoder too, as it does with attention.

**Learning rate.** The capstone anneals it to nothing over exactly the steps that it has, so that a longer training is
another training from its first step on. Here each training runs at a constant rate, and for each length that is asked an
end branches off in which the rate falls to nothing: the last fifth of that length (Hägele et al. 2024, arXiv:2405.18392).
So each length has an annealed end of its own, and one long run serves all of them. The constant is chosen for each kind of
context by itself, on sentences that are neither trained on nor in the test.

**Batches.** As the paper does (App. B.2): sentences for 20 batches are drawn, sorted by length and cut into batches, so
that few places are pads.
"""

import argparse
import fcntl
import json
import math
import os
import platform
import sys
import time
from collections import Counter
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

import numpy as np
import torch
from torch import nn

from solutions.in_numpy.capstone import PAD, SOURCE_WORDS, START, STOP, TARGET_WORDS, draw_sentences
from solutions.in_torch.capstone import EMBEDDING_SIZE, MAX_LENGTH, as_tensors, translation_loss
from solutions.in_torch.context import AdditiveAttention, Attention
from solutions.in_torch.encoder import Encoder
from solutions.in_torch.output_layer import Decoder, Seq2Seq
from solutions.in_torch.scoring import DotProductScore

ROOT = Path(__file__).resolve().parents[1]
RECORD = ROOT / "benchmarks" / "bottleneck.json"
WORK_DIR = ROOT / "_build" / "bottleneck"
GROUPS = ((5, 7), (8, 10), (11, 15))
LENGTHS = {  # after how many steps each group measures; the last is how long a run can get
    "rate": (600,),
    "bottleneck": (300, 1000, 4000, 16_000),
    "order": (100, 200, 300),
    "score": (300,),
}
RATES = (0.003, 0.006, 0.012, 0.024)
RATE_SEED, BATCH, BATCHES_PER_POOL, WARM_UP = 100, 64, 20, 30
SAVE_SECONDS, REPORT_SECONDS = 20, 30  # seconds
SIZE = 48  # of a decoder state: what the capstone has


@dataclass(frozen=True)
class Run:
    """One training at a constant rate; its measured points are ends that branch off from it."""

    group: str
    model: str
    sentences: int
    seed: int
    size: int = SIZE
    rate: float | None = None  # None: the one chosen by the group "rate" for this kind of context

    def __str__(self):
        named = [self.model, self.sentences, self.seed]
        if self.group == "score":
            named.insert(1, f"size{self.size}")
        if self.group == "rate":
            named.insert(1, f"rate{self.rate}")
        return "-".join(map(str, named))


def points():
    """Return all (run, steps) in the order in which they are run: the cheapest first, for all seeds."""
    tuning = [Run("rate", model, 6000, RATE_SEED, rate=rate) for model in ("fixed", "attention") for rate in RATES]
    bottleneck = [
        Run("bottleneck", model, sentences, seed)
        for model in ("fixed", "attention")
        for sentences in (60_000, 6000)
        for seed in range(3)
    ]
    order = [Run("order", model, 6000, seed) for seed in range(5) for model in ("bahdanau", "luong")]
    score = [
        Run("score", model, 6000, seed, size)
        for size in (16, 64, 256)
        for seed in range(3)
        for model in ("additive", "dot", "scaled-dot")
    ]
    short, long = LENGTHS["bottleneck"][:-1], LENGTHS["bottleneck"][-1]
    return [
        *((run, steps) for run in tuning for steps in LENGTHS["rate"]),
        *((run, steps) for steps in short for run in bottleneck),
        *((run, steps) for run in order for steps in LENGTHS["order"]),
        *((run, steps) for run in score for steps in LENGTHS["score"]),
        *((run, long) for run in bottleneck),
    ]


def name(run, steps):
    """Return what the record and ``--only`` call a point, as in ``fixed-6000-1-300``."""
    return f"{run}-{steps}"


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


def build_model(run):
    """Return the untrained model of ``run``. Annotations have 2 * 48 numbers; in the group "score", the query's size."""
    torch.manual_seed(run.seed)
    key_size = run.size if run.group == "score" else 2 * run.size
    encoder = TwoEnds if run.model == "fixed" else Encoder
    encoder = encoder(len(SOURCE_WORDS), EMBEDDING_SIZE, key_size // 2, run.size)
    sizes = len(TARGET_WORDS), EMBEDDING_SIZE, run.size, key_size
    if run.model == "fixed":
        return Seq2Seq(encoder, FixedVector(*sizes))
    if run.model in ("dot", "scaled-dot"):
        attention = Attention(DotProductScore() if run.model == "dot" else ScaledDotProductScore())
    else:
        attention = AdditiveAttention(run.size, key_size, run.size)
    decoder = StateFirst if run.model == "luong" else Decoder
    return Seq2Seq(encoder, decoder(*sizes, attention))


class Training:
    """A model on its way: it can take a step, be kept in a file, and go on from there as if nothing had happened."""

    def __init__(self, run, rate):
        self.run, self.rate, self.step, self.seconds = run, rate, 0, 0.0
        self.model = build_model(run)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=rate, fused=True)

    def advance(self, end=None):
        """Take one step. With ``end``, the pair of its first and last step, the rate falls to nothing between them."""
        began = time.process_time()
        rate = self.rate * min(1.0, (self.step + 1) / WARM_UP)
        if end:
            first, last = end
            rate *= 1 - math.sqrt((self.step - first) / (last - first))
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        source, lengths, target_in, target = _batch(self.run.sentences, self.run.seed, self.step)
        logits, _ = self.model(source, lengths, target_in)
        self.optimizer.zero_grad()
        translation_loss(logits, target).backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.step += 1
        self.seconds += time.process_time() - began

    def save(self, path):
        kept = {"step": self.step, "seconds": self.seconds, "rate": self.rate}
        kept |= {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}
        torch.save(kept, path.with_suffix(".new"))
        os.replace(path.with_suffix(".new"), path)  # whole or not at all

    def load(self, path):
        kept = torch.load(path, weights_only=True)
        if kept["rate"] != self.rate:
            raise SystemExit(f"{path} was trained at a rate of {kept['rate']}, not {self.rate}. Remedy: delete it")
        self.model.load_state_dict(kept["model"])
        self.optimizer.load_state_dict(kept["optimizer"])
        self.step, self.seconds = kept["step"], kept["seconds"]


def branch_step(steps):
    """Return the step at which the annealed end of a training of ``steps`` steps begins."""
    return round(0.8 * steps)


def train(run, rate, steps, folder=None, report=lambda training: None):
    """Return a training of ``steps`` steps with its annealed end; what is under way is kept in ``folder``, if given."""
    training, saved = Training(run, rate), time.monotonic()
    first, branches = branch_step(steps), {branch_step(length) for length in LENGTHS[run.group]}
    trunk, end, start = (
        folder and folder / f"{run.group}-{run}{what}.pt" for what in ("", f"-end{steps}", f"-{first}")
    )

    def keep(path, now=False):
        nonlocal saved
        if folder and (now or time.monotonic() - saved > SAVE_SECONDS):
            training.save(path)
            saved = time.monotonic()

    if folder and (found := next((path for path in (end, start, trunk) if path.exists()), None)):
        training.load(found)
    while training.step < first:
        training.advance()
        if folder and training.step in branches:
            keep(folder / f"{run.group}-{run}-{training.step}.pt", now=True)
        keep(trunk, now=training.step == first)
        report(training)
    while training.step < steps:
        training.advance(end=(first, steps))
        keep(end)
        report(training)
    return training


@cache
def _sentences(count, seed):
    """Return the training sentences as tensors, padded to the longest, with the length of each target."""
    tensors = as_tensors(draw_sentences(count, seed))
    return tensors, (tensors["target"] != PAD).sum(dim=1)


def _batch(count, seed, step):
    """Return the tensors of one step. It depends on its arguments alone: a training that goes on needs no generator."""
    tensors, target_lengths = _sentences(count, seed)
    rng = np.random.default_rng([seed, step // BATCHES_PER_POOL])
    drawn = torch.from_numpy(rng.integers(0, count, BATCHES_PER_POOL * BATCH))
    batches = drawn[target_lengths[drawn].argsort(stable=True)].view(BATCHES_PER_POOL, BATCH)
    chosen = batches[rng.permutation(BATCHES_PER_POOL)[step % BATCHES_PER_POOL]]
    lengths = tensors["lengths"][chosen]
    source_len, target_len = lengths.max(), target_lengths[chosen].max()
    source = tensors["source"][chosen, :source_len]
    return source, lengths, tensors["target_in"][chosen, :target_len], tensors["target"][chosen, :target_len]


@cache
def _unseen(purpose):
    """Return the sentences of the test (the capstone's page has the first 500 of them), or others to choose a rate by."""
    test = draw_sentences(2000, seed=7, least=5, kept_back=True)
    if purpose == "test":
        return as_tensors(test)
    others = [s for s in draw_sentences(1000, seed=8, least=5, kept_back=True) if s not in set(test)]
    return as_tensors(others[:500])


@torch.no_grad()
def measure(model, run):
    """Return how many unseen sentences of each group of lengths come out right, of how many; or what a group asks for."""
    if run.group == "rate":
        unseen = _unseen("rate")
        logits, _ = model(unseen["source"], unseen["lengths"], unseen["target_in"])
        return {"nats_per_word": round(translation_loss(logits, unseen["target"]).item(), 5)}
    unseen = _unseen("test")
    words, _ = model.greedy(unseen["source"], unseen["lengths"], START, STOP, MAX_LENGTH)
    wanted = unseen["target"]
    words = nn.functional.pad(words, (0, max(0, wanted.shape[1] - words.shape[1])), value=STOP)[:, : wanted.shape[1]]
    right = ((words == wanted) | (wanted == PAD)).all(dim=1)
    found = {}
    for least, most in GROUPS:
        chosen = (unseen["lengths"] >= least) & (unseen["lengths"] <= most)
        found[f"{least}-{most}"] = [int(right[chosen].sum()), int(chosen.sum())]
    return {"right_of": found}


def saturation(run, model):
    """Return the mean entropy of the weights, as a share of the largest possible, and the gradient norm at the scores.

    Both for one batch of the longest sentences of the test; the gradient is that of the loss, its norm taken over the
    scores of one step of the decoder and averaged over all steps.
    """
    unseen = _unseen("test")
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


def read_record(path=RECORD):
    """Return the rows of the record by name."""
    rows = json.loads(path.read_text(encoding="utf-8"))["rows"] if path.exists() else []
    return {row["name"]: row for row in rows}


def write_record(rows, path=RECORD):
    """Replace the record by one with these rows, in the order of the points; it names those that were not run."""
    everything = [name(*point) for point in points()]
    known = {
        "command": "python benchmarks/bottleneck.py",
        "test": f"{len(_unseen('test')['lengths'])} unseen sentences of 5 words or more, right from the first word to the stop",
        "not_run": [point for point in everything if point not in rows],
    }
    lines = ",\n".join(json.dumps(rows[point]) for point in everything if point in rows)
    head = json.dumps(known, indent=0).removesuffix("\n}")
    whole = path.with_suffix(".new")
    whole.write_text(f'{head},\n"rows": [\n{lines}\n]\n}}\n', encoding="utf-8")
    os.replace(whole, path)


def chosen_rate(run, rows):
    """Return the rate of ``run``: its own, or that with which its kind of context had the lowest loss in the group "rate"."""
    if run.rate is not None:
        return run.rate
    kind = "fixed" if run.model == "fixed" else "attention"
    tried = [row for row in rows.values() if row["group"] == "rate" and row["model"] == kind]
    if len(tried) < len(RATES):
        raise SystemExit(f"the rate for {kind} is not chosen yet. Remedy: run the points of the group rate first")
    return min(tried, key=lambda row: row["nats_per_word"])["rate"]


def describe_machine():
    """Return the kind of machine and the versions that a row was made with: no names."""
    kinds = [line.split(":")[1].strip() for line in _read_lines("/proc/cpuinfo") if line.startswith("model name")]
    versions = {"python": platform.python_version(), "numpy": np.__version__, "torch": torch.__version__.split("+")[0]}
    return {"processor": kinds[0] if kinds else platform.machine(), "threads": torch.get_num_threads(), **versions}


def _read_lines(path):
    return Path(path).read_text(encoding="utf-8").splitlines() if Path(path).exists() else []


def run_point(run, steps, rows, folder=None, report=lambda training: None):
    """Train and measure one point, and return its row of the record."""
    rate, before = chosen_rate(run, rows), {}
    if run.group == "score":
        before = {"untrained": saturation(run, build_model(run))}
    training = train(run, rate, steps, folder, report)
    after = {"trained": saturation(run, training.model)} if run.group == "score" else {}
    row = {"name": name(run, steps), **asdict(run), "steps": steps, "rate": rate}
    row |= measure(training.model, run) | before | after
    return row | {"cpu_seconds": round(training.seconds, 1), "machine": describe_machine()}


class Progress:
    """A line now and then: which point, how many are done, and how long the rest will take at the pace so far."""

    def __init__(self, wanted):
        self.began = self.told = time.monotonic()
        self.taken = 0
        trunks = Counter()
        for run, steps in wanted:
            trunks[run] = max(trunks[run], branch_step(steps))
        for run in trunks:
            trunks[run] -= min(trunks[run], _saved_step(WORK_DIR / f"{run.group}-{run}.pt"))
        self.ahead = trunks.total() + sum(steps - branch_step(steps) for _, steps in wanted)

    def tell(self, training, point):
        self.taken += 1
        if time.monotonic() - self.told < REPORT_SECONDS:
            return
        self.told = time.monotonic()
        pace = (self.told - self.began) / self.taken
        left = f"about {pace * max(0, self.ahead - self.taken) / 60:.0f} min left"
        print(
            f"{time.strftime('%H:%M:%S')} {point}: step {training.step}, {1000 * pace:.0f} ms a step, {left}",
            flush=True,
        )


def _saved_step(path):
    return torch.load(path, weights_only=True)["step"] if path.exists() else 0


def main():
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0],
        epilog="Points are called model-sentences-seed-steps; --list names them all.",
    )
    parser.add_argument("--list", action="store_true", help="name every point and what was measured there; run nothing")
    parser.add_argument(
        "--only", nargs="+", metavar="POINT", help="run these from the beginning, and record nothing new"
    )
    parser.add_argument("--group", choices=LENGTHS, help="only this group")
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows, everything = read_record(), {name(*point): point for point in points()}
    if options.list:
        for point in everything:
            print(f"{point:32}", json.dumps(_measurements(rows[point])) if point in rows else "not run")
        return
    if options.only:
        if unknown := set(options.only) - set(everything):
            parser.error(f"no such point: {', '.join(sorted(unknown))}. Remedy: --list names them")
        for point in options.only:
            print(point, "now ", json.dumps(_measurements(run_point(*everything[point], rows))), flush=True)
            print(point, "then", json.dumps(_measurements(rows[point])) if point in rows else "not run")
        return
    WORK_DIR.mkdir(parents=True, exist_ok=True)
    with open(WORK_DIR / "lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            sys.exit("another bottleneck.py is at work here. Remedy: wait for it, or end it")
        wanted = [
            point
            for label, point in everything.items()
            if label not in rows and options.group in (None, point[0].group)
        ]
        progress = Progress(wanted)
        for number, (run, steps) in enumerate(wanted, 1):
            label = f"[{number}/{len(wanted)}] {name(run, steps)}"
            row = run_point(run, steps, rows, WORK_DIR, lambda training, label=label: progress.tell(training, label))
            rows[row["name"]] = row
            write_record(rows)
            (WORK_DIR / f"{run.group}-{run}-end{steps}.pt").unlink(missing_ok=True)
            print(f"{time.strftime('%H:%M:%S')} {label}: {json.dumps(_measurements(row))}", flush=True)


def _measurements(row):
    known = {"name", "machine", *Run.__dataclass_fields__} - {"rate"}
    return {what: value for what, value in row.items() if what not in known}


if __name__ == "__main__":
    main()
