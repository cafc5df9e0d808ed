"""The book's comparisons: a training depends only on its run, each side has its own best rate, and nothing is lost."""

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
import torch

from benchmarks import comparisons, tasks
from benchmarks.comparisons import Comparison, Training, TrainingRun, build_model, choose_length, choose_rate
from solutions.in_numpy import spelling
from solutions.in_torch import spelling as spellers
from solutions.in_torch.output_layer import Decoder
from solutions.in_torch.spelling import add_dropout
from solutions.trained import quantize

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
    return weights_of(training.model)


def weights_of(model):
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


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
        counts = {name: count for name, (_, count) in row["validation_edits_of"].items()}
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
    taken, advance = [], Training.advance
    monkeypatch.setattr(
        Training, "advance", lambda training, end=None: taken.append(training.step) or advance(training, end)
    )
    timeless = [[{**row, "cpu_seconds": 0} for row in rows] for rows in (comparisons.train(run), at_once)]
    assert taken == [6, 7, 8, 9]  # from the checkpoint on
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


def rows_of_spelling(edits):
    """Return a record of the few runs of spelling: ``edits`` of 100 phonemes by number of steps, one for each seed."""
    run = TrainingRun("spelling", "fixed", 16, 90, 0, 0.01, (5,))
    rows = {run.name(5): {"validation_loss": 1.0} for run in (run, replace(run, seed=1))}
    for steps, by_seed in edits.items():
        for seed, count in enumerate(by_seed):
            name = replace(run, seed=seed).name(steps)
            rows[name] = {
                "name": name,
                "validation_loss": steps,
                "validation_edits_of": {"all": [count, 100], "2-5": [100 - count, 100]},
            }
    return rows


def test_a_length_is_chosen_by_the_mean_error_rate_of_all_seeds_on_the_validation_words(monkeypatch):
    two_seeds = replace(comparisons.COMPARISONS["spelling"], seeds=2, long={"fixed": (4, 10, 20)})
    monkeypatch.setitem(comparisons.COMPARISONS, "spelling", two_seeds)
    rows = rows_of_spelling({4: (30, 60), 10: (41, 40), 20: (45, 50)})
    assert [row["name"].rpartition("seed")[2] for row in choose_length(rows, "spelling", "fixed")] == ["0-10", "1-10"]
    fewer = replace(two_seeds, longest_seeds=1)
    with monkeypatch.context() as changed:
        changed.setitem(comparisons.COMPARISONS, "spelling", fewer)
        assert [run.steps for run in comparisons.long_runs(rows, "spelling")] == [(4, 10, 20), (4, 10)]
        best = rows_of_spelling({4: (30, 60), 10: (41, 40), 20: (40,)})
        (row,) = choose_length(best, "spelling", "fixed")
        assert row["name"].endswith("seed0-20")
    lost = rows.pop("spelling-fixed-16-90-rate0.01-seed1-20")
    assert choose_length(rows, "spelling", "fixed") == []  # before all have ended
    rows[lost["name"]] = {name: value for name, value in lost.items() if name != "validation_edits_of"}
    assert choose_length(rows, "spelling", "fixed") == []
    scoreless = replace(comparisons.COMPARISONS["bottleneck"], long={"fixed": (5, 10)}, long_counts=(120,))
    monkeypatch.setitem(comparisons.COMPARISONS, "bottleneck", scoreless)
    rows |= {run.name(5): {"validation_loss": 1.0} for run in comparisons.tuning_runs() if run.group == "bottleneck"}
    (*_, run) = comparisons.long_runs(rows, "bottleneck")
    assert run.steps == (5, 10)
    comparisons.score_once(rows, "bottleneck")  # whose task has no error rates


def test_the_test_words_are_scored_once_with_the_models_that_the_validation_words_chose(monkeypatch, tmp_path, capsys):
    two_seeds = replace(comparisons.COMPARISONS["spelling"], seeds=2, long={"fixed": (5, 10)})
    monkeypatch.setitem(comparisons.COMPARISONS, "spelling", two_seeds)
    monkeypatch.setattr("sys.argv", ["comparisons", "--groups", "spelling", "--jobs", "1"])
    monkeypatch.setattr(comparisons, "ProcessPoolExecutor", ThreadPoolExecutor)  # so that patches apply
    trained, scored, train, score = [], [], comparisons.train, comparisons.score
    monkeypatch.setattr(comparisons, "train", lambda run: trained.append(run) or train(run))
    monkeypatch.setattr(
        comparisons,
        "score",
        lambda model, task, part: scored.append((weights_of(model), part)) or score(model, task, part),
    )
    comparisons.main()
    rows = comparisons.read_record()
    assert [run.steps for run in trained] == [(5,), (5,), (5, 10), (5, 10)]
    chosen = choose_length(rows, "spelling", "fixed")
    assert {row["name"] for row in rows.values() if "edits_of" in row} == {row["name"] for row in chosen}
    assert [part for _, part in scored] == [*["validation"] * 4, *["test"] * 2]
    for row, (weights_scored, _) in zip(chosen, scored[4:], strict=True):
        model = build_model(TrainingRun("spelling", "fixed", 16, 90, row["seed"], 0.01, ()))
        model.load_state_dict(comparisons.kept_parameters(row))
        assert torch.equal(weights_scored, weights_of(model))
        for part, prefix in (("test", ""), ("validation", "validation_")):
            words = spelling.words_of(part)
            rates = spelling.error_rates(spellers.pronounce(model.eval(), words), words)
            edits, right = (np.divide(*row[f"{prefix}{name}"]["all"]) for name in ("edits_of", "right_of"))
            assert (edits, 1 - right) == pytest.approx(rates)
        assert row["edits_of"] != row["validation_edits_of"]

    rows_at_first = comparisons.read_record()
    comparisons.main()
    assert (len(trained), len(scored)) == (4, 6)  # all of it is in the record

    without = {name: {key: row[key] for key in row if not key.startswith("validation_e")} for name, row in rows.items()}
    comparisons.write_record(without)
    comparisons.main()
    assert [run.steps for run in trained[4:]] == [(5, 10), (5, 10)]  # the losses of the others were there
    again = {name: {**row, "cpu_seconds": 0} for name, row in comparisons.read_record().items()}
    assert again == {name: {**row, "cpu_seconds": 0} for name, row in rows.items()}

    comparisons.write_record({name: {key: row[key] for key in row if key != "edits_of"} for name, row in rows.items()})
    path = comparisons.CHECKPOINTS / f"{chosen[0]['name']}-weights.pt"
    path.unlink()
    with pytest.raises(SystemExit, match=f"no {path.name}. Remedy: remove this row from the record"):
        comparisons.main()
    rows = comparisons.read_record()
    del rows[chosen[0]["name"]]
    comparisons.write_record(rows)
    comparisons.main()
    again = {name: {**row, "cpu_seconds": 0} for name, row in comparisons.read_record().items()}
    assert again == {name: {**row, "cpu_seconds": 0} for name, row in rows_at_first.items()}


def test_a_checkpoint_of_other_lengths_is_not_continued(monkeypatch):
    monkeypatch.setattr(comparisons, "CURVE_STEPS", 1)
    run = TrainingRun("spelling", "fixed", 16, 90, 0, 0.01, (4, 10))
    wanted = comparisons.train(run)
    shutil.rmtree(comparisons.CHECKPOINTS)
    for steps in ((6, 10), (4, 10)):
        of_lengths = replace(comparisons.COMPARISONS["spelling"], long={"fixed": steps})
        monkeypatch.setitem(comparisons.COMPARISONS, "spelling", of_lengths)
        rows = comparisons.train(replace(run, steps=steps))
    assert [{**row, "cpu_seconds": 0} for row in rows] == [{**row, "cpu_seconds": 0} for row in wanted]


def test_the_list_says_what_each_seed_reached_and_on_which_words(monkeypatch, capsys):
    rows = rows_of_spelling({4: (30,), 10: (20,)})
    for name, row in rows.items():
        run = TrainingRun("spelling", "fixed", 16, 90, 0, 0.01, (4, 10))
        row |= {
            "name": name,
            "group": run.group,
            "model": run.model,
            "size": run.size,
            "rate": run.rate,
            "dropout": 0.0,
        }
        row["steps"] = int(name.rpartition("-")[2])
    rows["spelling-fixed-16-90-rate0.01-seed0-10"]["edits_of"] = {"all": [7, 100]}
    comparisons.write_record(rows)
    monkeypatch.setattr("sys.argv", ["comparisons", "--list", "--groups", "spelling"])
    comparisons.main()
    lines = [line.split(": ", 1) for line in capsys.readouterr().out.splitlines() if line.startswith(" ")]
    told = {name.strip(): json.loads(counted) for name, counted in lines}
    assert told["spelling-fixed-16-90-rate0.01-seed0-4"] == {
        "validation_edits_of": {"all": [30, 100], "2-5": [70, 100]}
    }
    assert told["spelling-fixed-16-90-rate0.01-seed0-10"]["edits_of"] == {"all": [7, 100]}


def test_the_model_of_the_website_is_exported_from_the_length_chosen(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr("sys.argv", ["comparisons", "--export"])
    with pytest.raises(SystemExit, match="the long runs of spelling are not in the record"):
        comparisons.main()
    model, path = spellers.build_model(seed=5), tmp_path / "spelling.npz"
    rows = [{"name": f"{seed}-best", "seed": seed} for seed in (1, 0)]
    monkeypatch.setattr(comparisons, "choose_length", lambda _rows, *side: rows * (side == ("spelling", "attention")))
    monkeypatch.setattr(comparisons, "ROOT", tmp_path)
    monkeypatch.setitem(comparisons.TRAINED, "spelling", path)
    comparisons.CHECKPOINTS.mkdir()
    comparisons.save(model.state_dict(), comparisons.CHECKPOINTS / "0-best-weights.pt")
    comparisons.main()
    assert "spelling.npz: 0-best, " in capsys.readouterr().out
    written, wanted = np.load(path), quantize(model)
    assert {name: written[name].tolist() for name in written} == {name: wanted[name].tolist() for name in wanted}


def test_a_name_that_is_not_in_the_record_is_refused(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["comparisons", "--only", "scores-dot"])
    with pytest.raises(SystemExit, match="2"):
        comparisons.main()
    assert "not in the record: scores-dot. Remedy: --list names the rows" in capsys.readouterr().err
