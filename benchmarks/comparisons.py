"""Train the models that the book compares, each at its own best learning rate, and record the results.

    python -m benchmarks.comparisons                          run all that benchmarks/comparisons.json lacks
    python -m benchmarks.comparisons --groups scores          only these comparisons
    python -m benchmarks.comparisons --list                   the rates tried, the chosen one, and what each seed reached
    python -m benchmarks.comparisons --only NAME [NAME ...]   train these again, beside what was recorded

It may be killed at any moment and started again: finished trainings are in the record, which is replaced atomically, and a long
one continues from its last checkpoint in _build/comparisons, where the parameters of the rows called "long" are kept, too.

**Hyperparameters.** Each side of a comparison is trained at every learning rate of a grid, and with every share of dropout if the
comparison lists any, from several seeds. For each number of steps it gets the pair with the lowest validation loss, averaged over
the seeds. The validation data are used for neither training nor testing. A best rate at the edge of its grid is not a valid
choice, nor is the largest share of dropout: widen the grid.

**Dropout.** It is applied to word vectors, to annotations and to what the output layer reads, but not between the states of
consecutive steps.

**Error rates.** Spelling, which has a ``score`` of its own, is scored on the validation words after each length of its long runs.
Only the models of the best length are then scored on the test words, once.

**Schedule.** Each training runs at a constant rate after a warm-up; for each length requested, an annealed end branches off in
which the rate falls to 0 over the last fifth (Hägele et al. 2024, arXiv:2405.18392). So one long run serves all lengths.

**Batches.** Those of 20 steps are drawn together and sorted by length, so that little is padding; in the groups called "mixed",
each is drawn by itself.

**Fixed vector.** The decoder's only annotation is the last forward state concatenated with the first backward state, which have
both read the whole sentence. Its initial state comes from the encoder too, as with attention.

**Transformer.** Two blocks read the source sentence and two more write, with four heads each; see ``benchmarks.transformer``.
"block-encoder" has blocks in its encoder alone, and the recurrent decoder with attention. The networks of the blocks are as wide
as it takes for all models of this comparison to have the same number of parameters within 10 %.
"""

import argparse
import copy
import fcntl
import json
import math
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field
from itertools import product
from pathlib import Path
from statistics import mean

import numpy as np
import torch
from rich.progress import track
from torch import nn

from benchmarks.tasks import PAD, START, STOP, TASKS, TranslationTask, draw_batch, training_set
from benchmarks.transformer import BlockDecoder, BlockEncoder
from solutions.in_torch.capstone import ATTENTION_SIZE, QUERY_SIZE, translation_loss
from solutions.in_torch.context import AdditiveAttention, Attention
from solutions.in_torch.encoder import Encoder
from solutions.in_torch.output_layer import Decoder, Seq2Seq
from solutions.in_torch.scoring import DotProductScore
from solutions.in_torch.spelling import add_dropout
from solutions.in_torch.spelling import build_model as build_speller
from solutions.trained import TRAINED, quantize

ROOT = Path(__file__).resolve().parents[1]
RECORD = ROOT / "benchmarks" / "comparisons.json"
LOCK = ROOT / "_build" / "comparisons.lock"
CHECKPOINTS = ROOT / "_build" / "comparisons"
BATCH, WARM_UP = 64, 30
SENTENCES, MANY_SENTENCES, WORDS = 6000, 60_000, 111_518
CURVE_STEPS = 1000  # between two points of a learning curve


@dataclass(frozen=True)
class Comparison:
    """Which models are compared, at which rates, after how many steps, and from how many seeds.

    ``long`` maps a model to the steps of its later runs, which use the rates chosen, on ``long_counts`` examples. Only the first
    ``longest_seeds`` of them go on to the last of these lengths.
    """

    models: tuple[str, ...]
    rates: dict[int, tuple[float, ...]]  # by state size
    steps: tuple[int, ...]
    seeds: int = 3
    task: str = "sentences"
    count: int = SENTENCES  # examples to train on
    long: dict[str, tuple[int, ...]] = field(default_factory=dict)
    long_counts: tuple[int, ...] = ()
    longest_seeds: int = 3
    dropouts: tuple[float, ...] = (0.0,)
    pool: int = 20  # batches that are drawn together and sorted by length; with 1, a batch has sentences of all lengths


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
    "bottleneck": Comparison(
        ("attention", "fixed"),
        {48: (0.003, 0.006, 0.012, 0.024, 0.048)},
        (300, 1000),
        long={"attention": (300, 1000, 4000), "fixed": (300, 1000, 4000, 16_000)},
        long_counts=(SENTENCES, MANY_SENTENCES),
    ),
    "dropout": Comparison(
        ("attention", "fixed"),
        {48: (0.003, 0.006, 0.012, 0.024)},
        (4000,),
        dropouts=(0.0, 0.1, 0.2, 0.3, 0.4),
    ),
    # trained as the side with attention of "bottleneck", with which they are compared; 32 is the size of a word's vector
    "transformer": Comparison(
        ("transformer", "block-encoder"),
        {32: (0.00075, 0.0015, 0.003, 0.006, 0.012)},
        (300, 1000),
        long={"transformer": (4000,)},
        long_counts=(SENTENCES,),
    ),
    # attention, the fixed vector and the blocks once more, with batches that are not sorted
    "mixed-recurrence": Comparison(("attention",), {48: (0.003, 0.006, 0.012, 0.024, 0.048)}, (100, 300), pool=1),
    "mixed-fixed": Comparison(
        ("fixed",),
        {48: (0.003, 0.006, 0.012, 0.024, 0.048)},
        (300, 1000),
        long={"fixed": (300, 1000, 4000)},
        long_counts=(SENTENCES, MANY_SENTENCES),
        pool=1,
    ),
    "mixed-blocks": Comparison(
        ("transformer", "block-encoder"), {32: (0.0015, 0.003, 0.006, 0.012, 0.024)}, (100, 300), pool=1
    ),
    # with attention, 7000 steps take three or four minutes of one core, and 70 000 take thirty or forty
    "spelling": Comparison(
        ("attention", "fixed"),
        {128: (0.00075, 0.0015, 0.003, 0.006, 0.012)},
        (7000,),
        task="spelling",
        count=WORDS,
        long={"attention": (7000, 23_000, 70_000), "fixed": (7000, 23_000, 70_000)},
        long_counts=(WORDS,),
        longest_seeds=2,
    ),
}


@dataclass(frozen=True)
class TrainingRun:
    """One training at a constant rate, from which an annealed end branches off for each of the lengths ``steps``."""

    group: str
    model: str
    size: int
    sentences: int
    seed: int
    rate: float
    steps: tuple[int, ...]
    dropout: float = 0.0

    def name(self, steps: int) -> str:
        """Return the name of the end after ``steps`` steps in the record and for ``--only``."""
        tried = f"rate{self.rate:g}" + (f"-dropout{self.dropout:g}" if self.dropout else "")
        return f"{self.group}-{self.model}-{self.size}-{self.sentences}-{tried}-seed{self.seed}-{steps}"

    @property
    def task(self) -> TranslationTask:
        return TASKS[COMPARISONS[self.group].task]


def tuning_runs() -> list[TrainingRun]:
    """Return a run for each side, rate, share of dropout and seed."""
    return [
        TrainingRun(group, model, size, c.count, seed, rate, c.steps, dropout)
        for group, c in COMPARISONS.items()
        for size, rates in c.rates.items()
        for dropout, rate, seed, model in product(c.dropouts, rates, range(c.seeds), c.models)
    ]


def long_runs(rows: dict[str, dict], group: str) -> list[TrainingRun]:
    """Return the runs of ``group`` that follow once its hyperparameters are chosen: for more steps, or on more examples."""
    c, runs = COMPARISONS[group], []
    for seed, count, (model, lengths), size in product(range(c.seeds), c.long_counts, c.long.items(), c.rates):
        by_choice: dict[tuple[float, float], list[int]] = {}
        for steps in lengths if seed < c.longest_seeds else lengths[:-1]:
            if choice := choose_rate(rows, group, model, size, steps):
                by_choice.setdefault((choice["rate"], choice["dropout"]), []).append(steps)
        for (rate, dropout), of_choice in by_choice.items():
            runs.append(TrainingRun(group, model, size, count, seed, rate, tuple(of_choice), dropout))
    return runs


def is_long(run: TrainingRun) -> bool:
    """Return whether the task of ``run`` has a ``score``, and ``run`` goes beyond the lengths at which rates are tried."""
    return bool(run.task.score) and max(run.steps) > max(COMPARISONS[run.group].steps)


def lacks(rows: dict[str, dict], run: TrainingRun) -> bool:
    """Return whether ``rows`` lack a length of ``run``, or the error rates of a long one."""
    of_run = [rows.get(run.name(steps), {}) for steps in run.steps]
    return not all("validation_edits_of" in row if is_long(run) else row for row in of_run)


def choose_length(rows: dict[str, dict], group: str, model: str) -> list[dict]:
    """Return the rows of one side, one for each seed, of the length with the lowest phoneme error rate on the validation words.

    It is averaged over the seeds that have this length, and compared between the lengths of the long runs. The list is empty
    before all of them ended, or if the task has no ``score``.
    """
    runs = [run for run in long_runs(rows, group) if run.model == model and is_long(run)]
    if not runs or any(lacks(rows, run) for run in runs):
        return []
    by_length = [[rows[run.name(steps)] for run in runs if steps in run.steps] for steps in runs[0].steps]
    return min(
        by_length, key=lambda of_length: mean(np.divide(*row["validation_edits_of"]["all"]) for row in of_length)
    )


def choose_rate(rows: dict[str, dict], group: str, model: str, size: int, steps: int) -> dict | None:
    """Return the best rate and dropout of one side after ``steps``, and the mean validation loss at each rate.

    The losses are those with the dropout chosen. If ``steps`` were not tried, the largest number of steps tried decides.
    Return None before all were tried.
    """
    c = COMPARISONS[group]
    tried = steps if steps in c.steps else max(c.steps)
    names = {
        (dropout, rate): [
            TrainingRun(group, model, size, c.count, seed, rate, (), dropout).name(tried) for seed in range(c.seeds)
        ]
        for dropout, rate in product(c.dropouts, c.rates[size])
    }
    if any(name not in rows for of_pair in names.values() for name in of_pair):
        return None
    losses = {
        pair: float(f"{mean(rows[name]['validation_loss'] for name in of_pair):.4g}") for pair, of_pair in names.items()
    }
    dropout, rate = min(losses, key=losses.get)
    of_rate = {rate: loss for (share, rate), loss in losses.items() if share == dropout}
    side = {"group": group, "model": model, "size": size, "steps": steps}
    return side | {"rate": rate, "dropout": dropout, "validation_loss": of_rate}


def sides() -> list[tuple[str, str, int, int]]:
    """Return group, model, size and steps of each side, as ``choose_rate`` takes them."""
    return [
        (group, model, size, steps)
        for group, c in COMPARISONS.items()
        for size, model in product(c.rates, c.models)
        for steps in sorted({*c.steps, *c.long.get(model, ())})
    ]


class TwoEnds(Encoder):
    """An encoder with only one annotation: its last forward state, concatenated with its first backward state."""

    def forward(self, tokens, lengths):
        annotations, state = super().forward(tokens, lengths)
        half = annotations.shape[-1] // 2
        last = annotations[torch.arange(len(tokens)), lengths - 1, :half]
        return torch.cat([last, annotations[:, 0, half:]], dim=-1).unsqueeze(1), state


class FixedVector(Decoder):
    """A decoder with only one annotation, and so the same context at every step: it can take all steps at once."""

    def __init__(self, vocab_size, embedding_size, query_size, key_size):
        super().__init__(vocab_size, embedding_size, query_size, key_size, attention=None)

    def forward(self, tokens, state, keys, source_mask=None):
        embedded = self.embedding(tokens)
        context = keys.expand(-1, tokens.shape[1], -1)
        parameters = [self.cell.weight_ih, self.cell.weight_hh, self.cell.bias_ih, self.cell.bias_hh]
        inputs = torch.cat([embedded, context], dim=-1)
        states, _ = torch.gru(inputs, state.unsqueeze(0), parameters, True, 1, 0.0, self.training, False, True)
        return self.output(torch.cat([states, embedded, context], dim=-1)), keys.new_ones(*tokens.shape, 1)


class ScaledDotProductScore(DotProductScore):
    """score[b, j] = query[b] . keys[b, j] / sqrt(size)"""

    def forward(self, query, projected_keys):
        return super().forward(query, projected_keys) / math.sqrt(query.shape[-1])


def build_model(run: TrainingRun) -> Seq2Seq:
    """Return the untrained model of ``run``. An annotation has twice the size of a state; in "scores" they are equal."""
    torch.manual_seed(run.seed)
    task = run.task
    if run.model == "transformer":
        sizes = run.size, 4 * run.size, 2
        return Seq2Seq(BlockEncoder(len(task.source), *sizes), BlockDecoder(len(task.target), *sizes))
    if run.model == "block-encoder":
        encoder = BlockEncoder(len(task.source), run.size, 6 * run.size, 2, QUERY_SIZE)
        attention = AdditiveAttention(QUERY_SIZE, run.size, ATTENTION_SIZE)
        return Seq2Seq(encoder, Decoder(len(task.target), task.embedding_size, QUERY_SIZE, run.size, attention))
    key_size = run.size if run.group == "scores" else 2 * run.size
    encoder = TwoEnds if run.model == "fixed" else Encoder
    encoder = encoder(len(task.source), task.embedding_size, key_size // 2, run.size)
    sizes = len(task.target), task.embedding_size, run.size, key_size
    if run.model == "fixed":
        return Seq2Seq(encoder, FixedVector(*sizes))
    if run.model in ("dot", "scaled-dot"):
        attention = Attention(DotProductScore() if run.model == "dot" else ScaledDotProductScore())
    else:
        attention = AdditiveAttention(run.size, key_size, run.size)
    return Seq2Seq(encoder, Decoder(*sizes, attention))


class Training:
    """A model in training, with its optimiser and its number of steps."""

    def __init__(self, run: TrainingRun):
        self.run, self.step, self.seconds = run, 0, 0.0
        self.model = build_model(run)
        if run.dropout:
            add_dropout(self.model, run.dropout)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=run.rate, fused=True)

    def advance(self, end: tuple[int, int] | None = None) -> None:
        """Take one step. Between the first and the last step of ``end``, the rate falls to 0."""
        began = time.process_time()
        self.model.train()
        torch.manual_seed((self.run.seed << 32) + self.step)  # of the dropout: the same whatever was trained before
        rate = self.run.rate * min(1.0, (self.step + 1) / WARM_UP)
        if end:
            first, last = end
            rate *= 1 - math.sqrt((self.step - first) / (last - first))
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        run = self.run
        c = COMPARISONS[run.group]
        source, lengths, target_in, target = draw_batch(c.task, run.sentences, run.seed, self.step, BATCH, c.pool)
        logits, _ = self.model(source, lengths, target_in)
        self.optimizer.zero_grad()
        translation_loss(logits, target).backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.step += 1
        self.seconds += time.process_time() - began

    def state(self) -> dict:
        """Return what ``restore`` needs to continue from here."""
        parts = {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}
        return parts | {"step": self.step, "seconds": self.seconds}

    def restore(self, state: dict) -> None:
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.step, self.seconds = state["step"], state["seconds"]

    def finish(self, steps: int) -> "Training":
        """Return a copy that is trained to its annealed end after ``steps`` steps."""
        end = copy.deepcopy(self)
        while end.step < steps:
            end.advance((self.step, steps))
        return end


@torch.no_grad()
def measure(model: Seq2Seq, run: TrainingRun) -> dict[str, object]:
    """Return the training and validation losses, in nats per word, and ``[right, all]`` of the test set by length.

    The losses are all that is measured if the task has a ``score`` of its own: see ``train`` and ``score_once``.
    """
    model.eval()
    task = run.task
    if task.score:
        return measure_losses(model, run)
    unseen = task.unseen("test")
    wanted = unseen["target"]
    words, _ = model.greedy(unseen["source"], unseen["lengths"], START, STOP, task.longest)
    words = nn.functional.pad(words, (0, max(0, wanted.shape[1] - words.shape[1])), value=STOP)[:, : wanted.shape[1]]
    right = ((words == wanted) | (wanted == PAD)).all(dim=1)
    lengths = unseen["lengths"]
    groups = {f"{a}-{b}": (lengths >= a) & (lengths <= b) for a, b in task.length_groups}
    groups = groups or {"all": torch.ones_like(right)}
    return measure_losses(model, run) | {
        "right_of": {name: [int(right[chosen].sum()), int(chosen.sum())] for name, chosen in groups.items()}
    }


@torch.no_grad()
def score(model: Seq2Seq, task: TranslationTask, part: str) -> dict[str, dict[str, list[int]]]:
    """Return what ``task.score`` says of the translations of the "validation" or the "test" set."""
    model.eval()
    unseen = task.unseen(part)
    words, _ = model.greedy(unseen["source"], unseen["lengths"], START, STOP, task.longest)
    return task.score(words.tolist(), part)


@torch.no_grad()
def measure_losses(model: Seq2Seq, run: TrainingRun) -> dict[str, float]:
    """Return the training and validation losses, in nats per word (or letter, or phoneme).

    The training loss is that of examples no shorter than the validation examples, since long ones are harder.
    """
    model.eval()
    task = run.task
    trained_on, _ = training_set(COMPARISONS[run.group].task, run.sentences, run.seed)
    least = task.length_groups[0][0] if task.length_groups else 0
    chosen = (trained_on["lengths"] >= least).nonzero().flatten()[: task.measured]
    losses = {}
    for name, data in (
        ("training_loss", {name: tensor[chosen] for name, tensor in trained_on.items()}),
        ("validation_loss", task.unseen("validation")),
    ):
        logits, _ = model(data["source"], data["lengths"], data["target_in"])
        losses[name] = float(f"{translation_loss(logits, data['target']).item():.4g}")
    return losses


def measure_saturation(model: Seq2Seq) -> dict[str, float]:
    """Return the mean entropy of the weights, as a share of the largest possible, and the gradient norm at the scores.

    Both are measured on one batch of the longest test sentences; the gradient is that of the loss, with its norm taken
    over the scores of one decoder step and averaged over all steps.
    """
    unseen = TASKS["sentences"].unseen("test")
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


def train(run: TrainingRun) -> list[dict]:
    """Train ``run`` to each of its lengths, and return a row of the record for each.

    If it is long, the rows have the error rates on the validation words, too.
    """
    torch.set_num_threads(1)
    training, rows, curve = Training(run), [], []
    untrained = {"untrained": measure_saturation(training.model)} if run.group == "scores" else {}
    long = is_long(run)
    checkpoint = CHECKPOINTS / f"{run.name(max(run.steps))}.pt"
    if long:
        CHECKPOINTS.mkdir(parents=True, exist_ok=True)
        saved = torch.load(checkpoint, weights_only=True) if checkpoint.exists() else {}
        if saved.get("steps") == run.steps and all(parameters_path(row).exists() for row in saved["rows"]):
            rows, curve = saved["rows"], saved["curve"]
            training.restore(saved)
    for steps in run.steps[len(rows) :]:
        while training.step < branch_step(steps):
            training.advance()
            if long and training.step % CURVE_STEPS == 0:
                curve.append([training.step, *measure_losses(training.model, run).values()])
                save({"steps": run.steps, "rows": rows, "curve": curve, **training.state()}, checkpoint)
        end = training.finish(steps)
        row = {"name": run.name(steps), **asdict(run), "steps": steps, "torch": torch.__version__.split("+")[0]}
        row |= measure(end.model, run) | untrained
        if untrained:
            row["trained"] = measure_saturation(end.model)
        if long:
            row |= {f"validation_{name}": counts for name, counts in score(end.model, run.task, "validation").items()}
            save(end.model.state_dict(), parameters_path(row))
            row["curve"] = list(curve)  # steps, training loss and validation loss, before the rate falls
        rows.append(row | {"cpu_seconds": round(end.seconds, 1)})
    return rows


def save(what: dict, path: Path) -> None:
    """Replace the file at ``path`` atomically."""
    torch.save(what, path.with_suffix(".new"))
    os.replace(path.with_suffix(".new"), path)


def branch_step(steps: int) -> int:
    """Return the step at which the annealed end of a training of ``steps`` steps begins."""
    return round(0.8 * steps)


def read_record(path: Path = RECORD) -> dict[str, dict]:
    """Return the rows of the record by name."""
    rows = json.loads(path.read_text(encoding="utf-8"))["rows"] if path.exists() else []
    return {row["name"]: row for row in rows}


def write_record(rows: dict[str, dict], path: Path = RECORD) -> None:
    """Replace the record: the hyperparameters chosen, then a row for each training and length."""
    head = {
        "command": "python -m benchmarks.comparisons",
        "chosen": [choice for side in sides() if (choice := choose_rate(rows, *side))],
    }
    lines = ",\n".join(json.dumps(rows[name]) for name in sorted(rows))
    whole = path.with_suffix(".new")
    beginning = json.dumps(head, indent=0).removesuffix("\n}")
    whole.write_text(f'{beginning},\n"rows": [\n{lines}\n]\n}}\n', encoding="utf-8")
    os.replace(whole, path)


def run_missing(runs: list[TrainingRun], rows: dict[str, dict], jobs: int) -> None:
    """Train the ``runs`` that lack a length in ``rows``, and record each as it ends."""
    missing = [run for run in runs if lacks(rows, run)]
    with ProcessPoolExecutor(jobs) as pool:
        trained = [pool.submit(train, run) for run in missing]
        for future in track(as_completed(trained), "Training", total=len(trained)):
            rows |= {row["name"]: row for row in future.result()}
            write_record(rows)


def score_once(rows: dict[str, dict], group: str) -> None:
    """Score the test words with the models of each side that the validation words chose, and with no others."""
    for model in COMPARISONS[group].models:
        for row in choose_length(rows, group, model):
            if "edits_of" not in row:
                run = TrainingRun(
                    **{name: row[name] for name in TrainingRun.__dataclass_fields__} | {"steps": (row["steps"],)}
                )
                trained = build_model(run)
                trained.load_state_dict(kept_parameters(row))
                row |= score(trained, run.task, "test")
                write_record(rows)


def parameters_path(row: dict) -> Path:
    """Return where the parameters of a row of a long run are kept."""
    return CHECKPOINTS / f"{row['name']}-weights.pt"


def kept_parameters(row: dict) -> dict[str, torch.Tensor]:
    """Return the parameters of a row of a long run, or exit if they are gone."""
    path = parameters_path(row)
    if not path.exists():
        sys.exit(f"no {path.name}. Remedy: remove this row from the record, and run this program to train it")
    return torch.load(path, weights_only=True)


def print_choices(rows: dict[str, dict], groups: list[str]) -> None:
    """Print the validation losses of each side, and what was counted of each seed at the rate chosen."""
    for side in sides():
        choice = choose_rate(rows, *side)
        if side[0] not in groups or not choice:
            continue
        print(*side, json.dumps(choice["validation_loss"]))
        for row in rows.values():
            if (row["group"], row["model"], row["size"], row["steps"], row["rate"]) == (*side, choice["rate"]):
                counted = {what: row[what] for what in ("right_of", "edits_of", "validation_edits_of") if what in row}
                print(f"    {row['name']}: {json.dumps(counted)}")


def export_speller(rows: dict[str, dict]) -> None:
    """Quantise the spelling model with attention and seed 0, of the length that the validation words chose."""
    best = next((row for row in choose_length(rows, "spelling", "attention") if row["seed"] == 0), None)
    if not best:
        sys.exit("the long runs of spelling are not in the record. Remedy: --groups spelling trains them")
    model = build_speller()
    model.load_state_dict(kept_parameters(best))
    np.savez_compressed(TRAINED["spelling"], **quantize(model))
    print(f"{TRAINED['spelling'].relative_to(ROOT)}: {best['name']}, {TRAINED['spelling'].stat().st_size} bytes")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--groups", nargs="+", choices=COMPARISONS, default=[*COMPARISONS])
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="trainings at a time (default: one a core)")
    parser.add_argument("--list", action="store_true", help="print what was chosen and measured; train nothing")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="train these rows again, and record nothing")
    parser.add_argument(
        "--export",
        action="store_true",
        help=f"write the model of the website to {TRAINED['spelling'].relative_to(ROOT)}",
    )
    options = parser.parse_args()
    rows = read_record()
    if options.list:
        print_choices(rows, options.groups)
        return
    if options.export:
        export_speller(rows)
        return
    if options.only:
        if unknown := set(options.only) - set(rows):
            parser.error(f"not in the record: {', '.join(sorted(unknown))}. Remedy: --list names the rows")
        for name in options.only:
            fields = {field: rows[name][field] for field in TrainingRun.__dataclass_fields__}
            (row,) = train(TrainingRun(**fields | {"steps": (rows[name]["steps"],)}))
            for when, measured in (("now ", row), ("then", rows[name])):
                shown = {what: measured[what] for what in ("validation_loss", "right_of") if what in row}
                print(name, when, json.dumps(shown), flush=True)
        return
    LOCK.parent.mkdir(exist_ok=True)
    with LOCK.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            sys.exit("another run of this program writes the record. Remedy: wait for it, or end it")
        run_missing([run for run in tuning_runs() if run.group in options.groups], rows, options.jobs)
        run_missing([run for group in options.groups for run in long_runs(rows, group)], rows, options.jobs)
        for group in options.groups:
            score_once(rows, group)


if __name__ == "__main__":
    main()
