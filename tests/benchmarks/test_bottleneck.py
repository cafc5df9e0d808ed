"""The long experiment loses nothing when it is killed, counts nothing twice, and compares like with like."""

import json

import pytest
import torch

from benchmarks import bottleneck
from benchmarks.bottleneck import Run, Training, build_model, name, points, train
from solutions.in_torch.output_layer import Decoder

pytestmark = pytest.mark.suite("solutions")

RATE = 0.01
FIXED, ATTENTION = (Run("bottleneck", model, 120, 0) for model in ("fixed", "attention"))
each_context = pytest.mark.parametrize("run", [FIXED, ATTENTION], ids=str)


class Killed(Exception):
    pass


@pytest.fixture(autouse=True)
def short(monkeypatch):
    """Runs of a few steps that are saved at each of them, and a small test."""
    monkeypatch.setattr(bottleneck, "LENGTHS", {"rate": (5,), "bottleneck": (5, 10), "order": (5,), "score": (5,)})
    monkeypatch.setattr(bottleneck, "SAVE_SECONDS", -1)
    small = bottleneck.as_tensors(bottleneck.draw_sentences(60, seed=7, least=5, kept_back=True))
    monkeypatch.setattr(bottleneck, "_unseen", lambda purpose: small)


def weights(training):
    return torch.cat([parameter.detach().flatten() for parameter in training.model.parameters()])


@each_context
@pytest.mark.parametrize("at", [3, 8, 9])
def test_killed_at_any_step_a_training_goes_on_as_if_nothing_had_happened(run, at, tmp_path):
    taken = []

    def kill(training):
        taken.append(training.step)
        if training.step == at:
            raise Killed

    with pytest.raises(Killed):
        train(run, RATE, 10, tmp_path, kill)
    again = []
    resumed = train(run, RATE, 10, tmp_path, lambda training: again.append(training.step))
    assert taken + again == [*range(1, 11)]
    assert torch.equal(weights(resumed), weights(train(run, RATE, 10)))


@each_context
def test_a_short_point_is_the_same_whether_or_not_a_longer_one_was_trained_before_it(run, tmp_path):
    train(run, RATE, 10, tmp_path)
    assert torch.equal(weights(train(run, RATE, 5, tmp_path)), weights(train(run, RATE, 5)))


def test_a_longer_point_goes_on_from_the_constant_rate_of_the_shorter_one(tmp_path):
    train(FIXED, RATE, 5, tmp_path)
    steps = []
    train(FIXED, RATE, 10, tmp_path, lambda training: steps.append(training.step))
    assert steps == [5, 6, 7, 8, 9, 10]  # the end of five steps began after the fourth


def test_what_was_trained_at_another_rate_is_refused(tmp_path):
    train(FIXED, RATE, 5, tmp_path)
    with pytest.raises(SystemExit, match="Remedy: delete it"):
        train(FIXED, 2 * RATE, 10, tmp_path)


def test_the_rate_rises_stays_and_falls_to_almost_nothing(monkeypatch):
    monkeypatch.setattr(bottleneck, "WARM_UP", 2)
    rates = []
    train(FIXED, 1e-3, 10, report=lambda training: rates.append(training.optimizer.param_groups[0]["lr"]))
    assert rates == pytest.approx([0.5e-3, *[1e-3] * 8, 1e-3 * (1 - 0.5**0.5)])


def test_the_fixed_vector_is_the_last_forward_and_the_first_backward_state_and_nothing_else():
    model = build_model(FIXED)
    source, lengths = torch.tensor([[4, 9, 3], [6, 8, 0]]), torch.tensor([3, 2])
    _, keys, mask = model.read(source, lengths)
    assert keys.shape == (2, 1, 96)
    assert mask.all()
    every, _ = bottleneck.Encoder.forward(model.encoder, source, lengths)
    for b, last in enumerate((2, 1)):
        torch.testing.assert_close(keys[b, 0], torch.cat([every[b, last, :48], every[b, 0, 48:]]))


def test_taking_all_steps_at_once_is_taking_one_after_the_other():
    model = build_model(FIXED)
    source, lengths, words = torch.tensor([[4, 9, 3], [6, 8, 0]]), torch.tensor([3, 2]), torch.tensor([[1, 5], [1, 7]])
    logits, _ = model(source, lengths, words)
    one_by_one, _ = Decoder.forward(model.decoder, words, *model.read(source, lengths))
    torch.testing.assert_close(logits, one_by_one)


def test_luongs_order_scores_with_the_new_state_and_keeps_the_context_out_of_it():
    model = build_model(Run("order", "luong", 120, 0))
    state, keys, mask = model.read(torch.tensor([[4, 9, 3]]), torch.tensor([3]))
    word = torch.tensor([5])
    _, new, weights = model.decoder.step(word, state, keys, mask)
    torch.testing.assert_close(new, model.decoder.cell(model.decoder.embedding(word), state))
    torch.testing.assert_close(weights, model.decoder.attention(new, keys, mask)[1])


def test_a_batch_is_a_batch_whenever_it_is_drawn_and_its_sentences_are_of_like_length():
    first, lengths, target_in, target = bottleneck._batch(120, 0, 3)
    again = bottleneck._batch(120, 0, 3)
    assert all(torch.equal(a, b) for a, b in zip((first, lengths, target_in, target), again, strict=True))
    words = (target != 0).sum(dim=1)
    assert words.max() - words.min() <= 4
    assert (target[:, -1] != 0).any()


def test_the_record_is_whole_after_each_point_and_names_what_was_not_run(tmp_path, monkeypatch):
    path = tmp_path / "record.json"
    (first, *_), everything = points(), [name(*point) for point in points()]
    row = bottleneck.run_point(*first, {})
    bottleneck.write_record({row["name"]: row}, path)
    record = json.loads(path.read_text(encoding="utf-8"))
    assert record["rows"] == [row]
    assert record["not_run"] == everything[1:]
    assert bottleneck.read_record(path) == {row["name"]: row}
    assert len(set(everything)) == len(everything)


def test_the_command_runs_what_is_missing_and_nothing_again(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(bottleneck, "RECORD", tmp_path / "record.json")
    monkeypatch.setattr(bottleneck.read_record, "__defaults__", (tmp_path / "record.json",))
    monkeypatch.setattr(bottleneck.write_record, "__defaults__", (tmp_path / "record.json",))
    monkeypatch.setattr(bottleneck, "WORK_DIR", tmp_path / "under_way")
    wanted = [
        (Run("rate", model, 120, 100, rate=rate), 5) for model in ("fixed", "attention") for rate in bottleneck.RATES
    ]
    wanted += [(FIXED, 5), (Run("score", "dot", 120, 0, 16), 5)]
    monkeypatch.setattr(bottleneck, "points", lambda: wanted)
    monkeypatch.setattr("sys.argv", ["bottleneck.py"])
    bottleneck.main()
    rows = bottleneck.read_record()
    assert [*rows] == [name(*point) for point in wanted]
    tried = {rows[name(*point)]["nats_per_word"]: point[0].rate for point in wanted[: len(bottleneck.RATES)]}
    assert rows[name(FIXED, 5)]["rate"] == tried[min(tried)]
    assert 0 < rows["dot-size16-120-0-5"]["trained"]["entropy_share"] < 1
    assert not list(bottleneck.WORK_DIR.glob("*-end*.pt"))
    capsys.readouterr()
    bottleneck.main()
    assert capsys.readouterr().out == ""


def test_a_point_that_is_run_again_stands_beside_what_was_recorded_and_changes_nothing(tmp_path, monkeypatch, capsys):
    point = (Run("rate", "fixed", 120, 100, rate=0.003), 5)
    row = bottleneck.run_point(*point, {})
    monkeypatch.setattr(bottleneck, "read_record", lambda: {row["name"]: row})
    monkeypatch.setattr(bottleneck, "write_record", None)
    monkeypatch.setattr(bottleneck, "points", lambda: [point])
    monkeypatch.setattr("sys.argv", ["bottleneck.py", "--only", row["name"]])
    bottleneck.main()
    now, then = (
        json.loads(line.partition("{")[1] + line.partition("{")[2]) for line in capsys.readouterr().out.splitlines()
    )
    assert now["nats_per_word"] == then["nats_per_word"] == row["nats_per_word"]


def test_the_model_of_each_group_is_built_and_takes_a_step():
    for run in {(run.group, run.model): run for run, _ in points()}.values():
        training = Training(Run(run.group, run.model, 120, 0, 16, RATE), RATE)
        before = weights(training)
        training.advance()
        assert not torch.equal(before, weights(training))
