"""The transformer that the book compares is made of the exercise's blocks, and writes what its teacher-forced logits say."""

import pytest
import torch

from benchmarks.comparisons import COMPARISONS, TrainingRun, build_model
from benchmarks.tasks import START, STOP
from benchmarks.transformer import HEADS, Block
from solutions.in_torch.from_bahdanau_to_transformers import transformer_block

pytestmark = pytest.mark.suite("solutions")

MODELS = COMPARISONS["transformer"].models
SOURCE, LENGTHS = torch.tensor([[4, 9, 3, 11], [6, 8, 0, 0]]), torch.tensor([4, 2])


def build(model, seed=0):
    (size,) = COMPARISONS["transformer"].rates
    return build_model(TrainingRun("transformer", model, size, 120, seed, 0.01, (5,))).double().eval()


def test_a_block_of_the_encoder_is_that_of_the_exercise():
    torch.manual_seed(0)
    block = Block(8, 12).double()
    with torch.no_grad():
        for parameter in block.parameters():
            parameter.copy_(torch.randn_like(parameter))
    states, mask = torch.randn(2, 4, 8, dtype=torch.float64), torch.arange(4) < LENGTHS[:, None]
    attention, (wide, _, narrow) = block.attention, block.network
    W_query, W_key, W_value = (
        matrix.weight.unflatten(0, (HEADS, -1)) for matrix in (attention.W_query, attention.W_key, attention.W_value)
    )
    expected = transformer_block(
        *(states, mask, W_query, W_key, W_value, attention.W_out.weight, block.norm.weight, block.norm.bias),
        *(wide.weight, wide.bias, narrow.weight, narrow.bias, block.network_norm.weight, block.network_norm.bias),
    )
    torch.testing.assert_close(block(states, states, mask[:, None, None])[0], expected)


@pytest.mark.parametrize("model", MODELS)
def test_it_has_as_many_parameters_as_the_recurrent_model_within_ten_percent(model):
    recurrent = build_model(TrainingRun("bottleneck", "attention", 48, 120, 0, 0.01, (5,)))
    own, others = (sum(parameter.numel() for parameter in each.parameters()) for each in (build(model), recurrent))
    assert own == pytest.approx(others, rel=0.1)


@pytest.mark.parametrize("model", MODELS)
def test_what_is_written_word_by_word_is_what_the_logits_of_all_steps_say(model):
    built = build(model)
    words, weights = built.greedy(SOURCE, LENGTHS, START, STOP, 7)
    given = torch.cat([torch.full_like(words[:, :1], START), words[:, :-1]], dim=1)
    logits, expected = built(SOURCE, LENGTHS, given)
    running = (words == STOP).cumsum(dim=1) <= 1
    assert torch.equal(logits.argmax(dim=-1)[running], words[running])
    torch.testing.assert_close(weights[running], expected[running])
    assert (weights[1, :, 2:] == 0).all()


@pytest.mark.parametrize("model", MODELS)
def test_a_step_depends_on_no_later_word_and_a_sentence_on_no_padding(model):
    built, given = build(model), torch.tensor([[START, 5, 7], [START, 9, 4]])
    logits, _ = built(SOURCE, LENGTHS, given)
    later, _ = built(SOURCE, LENGTHS, torch.tensor([[START, 5, 8], [START, 9, 6]]))
    torch.testing.assert_close(later[:, :2], logits[:, :2])
    assert not torch.allclose(later[:, 2], logits[:, 2])
    alone, _ = built(SOURCE[1:, :2], LENGTHS[1:], given[1:])
    torch.testing.assert_close(alone, logits[1:])
    other, _ = built(SOURCE.flip(1), LENGTHS, given)
    assert not torch.allclose(other[0], logits[0])  # the order of the words counts
