"""The book's comparisons: a training depends only on its run, each side has its own best rate, and nothing is lost."""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
import torch

from benchmarks import comparisons, tasks
from benchmarks.comparisons import Comparison, Training, TrainingRun, build_model, choose_rate
from solutions.in_numpy import spelling
from solutions.in_torch.output_layer import Decoder
from solutions.in_torch.spelling import add_dropout

pytestmark = [pytest.mark.suite("solutions"), pytest.mark.slow]

FIXED, ATTENTION = (TrainingRun("bottleneck", model, 48, 120, 0, 0.01, (5, 10)) for model in ("fixed", "attention"))
DROPOUT = replace(ATTENTION, group="dropout", dropout=0.3)
ALL = comparisons.COMPARISONS


@pytest.fixture(autouse=True)
def short(monkeypatch, tmp_path):
    """One comparison of a few steps with a small test set and a record of its own."""
    small = tasks.as_tensors(tasks.draw_sentences(60, seed=7, least=5, kept_back=True))
    sentences = replace(tasks.TASKS["sentences"], unseen=lambda part: small)
    monkeypatch.setitem(tasks.TASKS, "sentences", sentences)
    few_words = {part: words[:90] for part in ("training", *spelling.PARTS) if (words := spelling.words_of(part))}
    monkeypatch.setattr(spelling, "words_of", few_words.get)
    tasks._words.cache_clear()
    monkeypatch.setattr(comparisons, "LOCK", tmp_path / "lock")
    monkeypatch.setattr(comparisons, "CHECKPOINTS", tmp_path / "checkpoints")
    for function in (comparisons.read_record, comparisons.write_record):
        monkeypatch.setattr(function, "__defaults__", (tmp_path / "record.json",))
    few = {
        "scores": Comparison(("dot",), {16: (0.003, 0.01)}, (5,), seeds=2, count=120),
        "dropout": Comparison(("fixed",), {48: (0.01, 0.02)}, (5,), count=120, dropouts=(0.0, 0.3)),
        "bottleneck": Comparison(("fixed",), {48: (0.01,)}, (5,), count=120),
        "spelling": Comparison(("fixed",), {16: (0.01,)}, (5,), 1, "spelling", 90, {"fixed": (4, 10)}, (90,)),
    }
    monkeypatch.setattr(comparisons, "COMPARISONS", few)
    yield
    tasks._words.cache_clear()
    tasks.training_set.cache_clear()


def weights(training):
    return torch.cat([parameter.detach().flatten() for parameter in training.model.parameters()])


@pytest.mark.parametrize("run", [FIXED, ATTENTION, DROPOUT], ids=["fixed", "attention", "dropout"])
def test_an_annealed_end_leaves_the_training_that_it_branches_off_from_as_it_was(run):
    straight, branched = Training(run), Training(run)
    for step in range(8):
        if step == 4:
            end = branched.finish(5)
            assert (end.step, branched.step) == (5, 4)
        straight.advance()
        branched.advance()
    assert torch.equal(weights(straight), weights(branched))
    assert torch.equal(weights(straight.finish(10)), weights(branched.finish(10)))


def test_the_rate_rises_stays_and_falls_to_almost_nothing(monkeypatch):
    monkeypatch.setattr(comparisons, "WARM_UP", 2)
    training, rates = Training(FIXED), []
    for step in range(10):
        training.advance((8, 10) if step >= 8 else None)
        rates.append(training.optimizer.param_groups[0]["lr"])
    assert rates == pytest.approx([0.005, *[0.01] * 8, 0.01 * (1 - 0.5**0.5)])


@pytest.mark.parametrize("pool", [20, 1])
def test_batches_are_sorted_by_length_or_mixed_as_their_comparison_says(monkeypatch, pool):
    changed = replace(comparisons.COMPARISONS["bottleneck"], pool=pool)
    monkeypatch.setitem(comparisons.COMPARISONS, "bottleneck", changed)
    training, seen = Training(FIXED), []
    training.model.encoder.register_forward_pre_hook(lambda _, inputs: seen.append(len(set(inputs[1].tolist()))))
    for _ in range(20):
        training.advance()
    assert sum(seen) / len(seen) < 3 if pool == 20 else min(seen) > 5  # lengths in a batch


def test_the_groups_called_mixed_have_mixed_batches_and_no_other():
    pools = {name: comparison.pool for name, comparison in ALL.items()}
    assert pools == {name: 1 if name.startswith("mixed") else 20 for name in ALL}


def test_the_fixed_vector_is_the_last_forward_and_the_first_backward_state_and_nothing_else():
    model = build_model(FIXED)
    source, lengths = torch.tensor([[4, 9, 3], [6, 8, 0]]), torch.tensor([3, 2])
    _, keys, mask = model.read(source, lengths)
    assert keys.shape == (2, 1, 96)
    assert mask.all()
    every, _ = comparisons.Encoder.forward(model.encoder, source, lengths)
    for b, last in enumerate((2, 1)):
        torch.testing.assert_close(keys[b, 0], torch.cat([every[b, last, :48], every[b, 0, 48:]]))


def test_taking_all_steps_at_once_is_taking_one_after_the_other():
    model = build_model(FIXED)
    source, lengths, words = torch.tensor([[4, 9, 3], [6, 8, 0]]), torch.tensor([3, 2]), torch.tensor([[1, 5], [1, 7]])
    logits, _ = model(source, lengths, words)
    one_by_one, _ = Decoder.forward(model.decoder, words, *model.read(source, lengths))
    torch.testing.assert_close(logits, one_by_one)


def test_dropout_reaches_all_that_the_decoder_reads_in_training_alone():
    plain, dropped = build_model(FIXED), build_model(FIXED)
    add_dropout(dropped, 0.4)
    read, kept = {}, []
    dropped.decoder.output.register_forward_pre_hook(lambda _module, inputs: read.update(entries=inputs[0]))
    source, lengths, words = torch.tensor([[4, 9, 3]]), torch.tensor([3]), torch.tensor([[1, 5]])
    for _ in range(200):
        dropped(source, lengths, words)
        kept.append((read["entries"] != 0).float())
    states, embedded, context = torch.stack(kept).mean(dim=(0, 1, 2)).split([48, 32, 96])
    for parts, share in ((states, 0.6), (embedded, 0.6**2), (context, 0.6**2)):  # the last two are dropped twice
        assert parts.mean() == pytest.approx(share, abs=0.03)
    _, keys, _ = dropped.read(source, lengths)
    assert (keys == 0).any()
    dropped.eval()
    torch.testing.assert_close(dropped(source, lengths, words), plain(source, lengths, words))


def test_each_step_of_each_seed_drops_other_entries():
    draws = set()
    for seed in (0, 1):
        training = Training(replace(DROPOUT, seed=seed))
        for _ in range(2):
            training.advance()
            draws.add(torch.initial_seed())
    assert len(draws) == 4


@pytest.mark.parametrize("task", ["sentences", "spelling"])
def test_a_batch_is_a_batch_whenever_it_is_drawn_and_its_sentences_are_of_like_length(task):
    first, lengths, target_in, target = tasks.draw_batch(task, 90, 0, 3, size=16)
    redrawn = tasks.draw_batch(task, 90, 0, 3, size=16)
    assert all(torch.equal(a, b) for a, b in zip((first, lengths, target_in, target), redrawn, strict=True))
    words = (target != 0).sum(dim=1)
    assert words.max() - words.min() <= 4
    assert (target[:, -1] != 0).any()


def test_a_long_training_goes_on_from_its_checkpoint_as_if_it_had_never_stopped(monkeypatch):
    monkeypatch.setattr(comparisons, "CURVE_STEPS", 2)
    run = TrainingRun("spelling", "fixed", 16, 90, 0, 0.01, (4, 10))
    at_once = comparisons.train(run)
    assert [point[0] for point in at_once[-1]["curve"]] == [2, 4, 6, 8]
    for row in at_once:
        counts = {name: count for name, (_, count) in row["edits_of"].items()}
        assert counts["all"] == sum(counts[f"{a}-{b}"] for a, b in run.task.length_groups)
    (checkpoint,) = comparisons.CHECKPOINTS.glob("*-10.pt")
    checkpoint.unlink()

    def stop(training, end=None, advance=Training.advance):
        if training.step == 7:
            raise KeyboardInterrupt
        advance(training, end)

    with monkeypatch.context() as interrupted:
        interrupted.setattr(Training, "advance", stop)
        with pytest.raises(KeyboardInterrupt):
            comparisons.train(run)
    assert torch.load(checkpoint, weights_only=True)["step"] == 6
    timeless = [[{**row, "cpu_seconds": 0} for row in rows] for rows in (comparisons.train(run), at_once)]
    assert timeless[0] == timeless[1]


def test_the_command_trains_what_is_missing_and_chooses_the_rate_with_the_lowest_loss(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["comparisons", "--groups", "scores", "--jobs", "1"])
    monkeypatch.setattr(comparisons, "ProcessPoolExecutor", ThreadPoolExecutor)  # so that patches apply
    trained, train = [], comparisons.train
    monkeypatch.setattr(comparisons, "train", lambda run: trained.append(run) or train(run))
    comparisons.main()
    rows = comparisons.read_record()
    assert len(rows) == len(trained) == 4
    choice = choose_rate(rows, "scores", "dot", 16, 5)
    assert choice["rate"] == min(choice["validation_loss"], key=choice["validation_loss"].get)
    of_rate = [row["validation_loss"] for row in rows.values() if row["rate"] == choice["rate"]]
    assert choice["validation_loss"][choice["rate"]] == pytest.approx(sum(of_rate) / 2, abs=1e-5)
    assert all(0 < row["trained"]["entropy_share"] < 1 for row in rows.values())

    comparisons.main()
    assert len(trained) == 4  # nothing was missing any more

    lost = min(rows)
    comparisons.write_record({name: row for name, row in rows.items() if name != lost})
    assert choose_rate(comparisons.read_record(), "scores", "dot", 16, 5) is None  # no choice until all have been tried
    comparisons.main()
    assert len(trained) == 5
    measured = comparisons.read_record()[lost]
    assert {**measured, "cpu_seconds": 0} == {**rows[lost], "cpu_seconds": 0}

    capsys.readouterr()
    monkeypatch.setattr("sys.argv", ["comparisons", "--only", lost])
    comparisons.main()
    now, then = (json.loads(line[line.index("{") :]) for line in capsys.readouterr().out.splitlines())
    assert now == then == {"validation_loss": measured["validation_loss"], "right_of": measured["right_of"]}


@pytest.mark.parametrize(("best", "other"), [(0.3, 0.0), (0.0, 0.3)])
def test_a_choice_is_the_best_pair_of_a_rate_and_a_share_of_dropout_on_the_validation_sentences(best, other):
    losses = {(0.01, other): (0.5, 0.7), (0.02, other): (0.6, 0.5), (0.01, best): (0.1, 0.9), (0.02, best): (0.4, 0.3)}
    runs = [run for run in comparisons.tuning_runs() if run.group == "dropout"]
    assert {(run.rate, run.dropout, run.seed) for run in runs} == {
        (*pair, seed) for pair in losses for seed in range(3)
    }
    rows = {
        run.name(5): {
            "validation_loss": (*losses[run.rate, run.dropout], 0.2)[run.seed],
            "training_loss": abs(best - run.dropout) - 1,
        }
        for run in runs
    }
    assert len(rows) == len(runs)
    choice = choose_rate(rows, "dropout", "fixed", 48, 5)
    assert (choice["rate"], choice["dropout"]) == (0.02, best)
    assert choice["validation_loss"] == pytest.approx({0.01: 0.4, 0.02: 0.3})
    del rows[max(rows)]
    assert choose_rate(rows, "dropout", "fixed", 48, 5) is None


def test_a_name_that_is_not_in_the_record_is_refused(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["comparisons", "--only", "scores-dot"])
    with pytest.raises(SystemExit, match="2"):
        comparisons.main()
    assert "not in the record: scores-dot. Remedy: --list names the rows" in capsys.readouterr().err
