"""After Bahdanau: our functions agree with torch's, and each has the property for which it was invented."""

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from solutions.in_numpy import from_bahdanau_to_transformers as in_numpy
from solutions.in_torch import capstone
from solutions.in_torch import from_bahdanau_to_transformers as in_torch
from solutions.in_torch.context import DotProductAttention
from solutions.in_torch.from_bahdanau_to_transformers import multi_head, self_attention, transformer_block
from solutions.trained import load_trained

SIZES = st.integers(1, 5)
SEEDS = st.integers(0, 2**32 - 1)


def drawn(seed, *shapes):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, dtype=torch.float64, generator=generator) for shape in shapes]


@st.composite
def lookups(draw, real=1):
    """Query, keys, values and mask of a batch; every sentence has at least ``real`` tokens."""
    batch, source_len, key_size, value_size = (draw(SIZES) for _ in range(4))
    query, keys, values = drawn(
        draw(SEEDS), (batch, key_size), (batch, source_len, key_size), (batch, source_len, value_size)
    )
    lengths = draw(st.lists(st.integers(real, source_len), min_size=batch, max_size=batch))
    return query, keys, values, torch.arange(source_len) < torch.tensor(lengths)[:, None]


@st.composite
def several_heads(draw, real=0):
    """The arguments of ``multi_head``."""
    batch, source_len, heads, head_size, query_size, key_size, value_size, out = (draw(SIZES) for _ in range(8))
    query, keys, W_query, W_key, W_value, W_out = drawn(
        draw(SEEDS),
        *[(batch, query_size), (batch, source_len, key_size), (heads, head_size, query_size)],
        *[(heads, head_size, key_size), (heads, value_size, key_size), (out, heads * value_size)],
    )
    lengths = draw(st.lists(st.integers(real, source_len), min_size=batch, max_size=batch))
    mask = torch.arange(source_len) < torch.tensor(lengths)[:, None]
    return query, keys, mask, W_query, W_key, W_value, W_out


@st.composite
def sequences(draw):
    """The arguments of ``self_attention``; pads may be anywhere."""
    batch, length, size, head_size, value_size = (draw(SIZES) for _ in range(5))
    states, W_query, W_key, W_value = drawn(
        draw(SEEDS), (batch, length, size), (head_size, size), (head_size, size), (value_size, size)
    )
    mask = torch.from_numpy(draw(hnp.arrays(bool, (batch, length))))
    return states, mask, W_query, W_key, W_value


@given(lookups())
def test_scaled_attention_is_that_of_torch(lookup):
    query, keys, values, mask = lookup
    of_torch = F.scaled_dot_product_attention(query[:, None], keys, values, attn_mask=mask[:, None])[:, 0]
    np.testing.assert_allclose(in_numpy.scaled_attention(*(each.numpy() for each in lookup)), of_torch, atol=1e-12)


@given(lookups())
def test_with_values_that_are_the_keys_it_is_the_dot_product_attention_of_this_course(lookup):
    query, keys, _, mask = lookup
    scale = keys.shape[2] ** 0.5
    context, _ = DotProductAttention()(query / scale, keys, mask)
    scaled = in_numpy.scaled_attention(query.numpy(), keys.numpy(), keys.numpy(), mask.numpy())
    np.testing.assert_allclose(scaled, context, atol=1e-12)


@given(lookups(real=0), st.floats(1, 1e6))
def test_scaled_attention_is_finite_whatever_the_scores_and_zero_without_a_token(lookup, scale):
    query, keys, values, mask = (each.numpy() for each in lookup)
    context = in_numpy.scaled_attention(scale * query, keys, values, mask)
    assert np.isfinite(context).all()
    assert (context[~mask.any(axis=1)] == 0).all()


@given(several_heads())
def test_several_heads_are_single_ones_joined(arguments):
    query, keys, mask, W_query, W_key, W_value, W_out = arguments
    contexts = [
        in_numpy.scaled_attention(*(each.numpy() for each in (query @ q.T, keys @ k.T, keys @ u.T, mask)))
        for q, k, u in zip(W_query, W_key, W_value, strict=True)
    ]
    np.testing.assert_allclose(multi_head(*arguments), np.hstack(contexts) @ W_out.numpy().T, atol=1e-10)


def attention_of_torch(W_query, W_key, W_value, W_out):
    """Return torch's module with these matrices; its heads together are as large as its states."""
    heads, head_size, size = W_query.shape
    module = torch.nn.MultiheadAttention(heads * head_size, heads, bias=False, batch_first=True, dtype=torch.float64)
    assert size == heads * head_size
    with torch.no_grad():
        module.in_proj_weight.copy_(torch.cat([each.flatten(0, 1) for each in (W_query, W_key, W_value)]))
        module.out_proj.weight.copy_(W_out)
    return module


@given(SEEDS, SIZES, st.integers(1, 3), st.integers(1, 3))
def test_several_heads_are_those_of_torch(seed, source_len, heads, head_size):
    size = heads * head_size
    query, keys, W_query, W_key, W_value, W_out = drawn(
        seed, (2, size), (2, source_len, size), *[(heads, head_size, size)] * 3, (size, size)
    )
    mask = torch.arange(source_len) < torch.tensor([[source_len], [1]])
    module = attention_of_torch(W_query, W_key, W_value, W_out)
    with torch.no_grad():
        of_torch, _ = module(query[:, None], keys, keys, key_padding_mask=~mask)
    np.testing.assert_allclose(
        multi_head(query, keys, mask, W_query, W_key, W_value, W_out), of_torch[:, 0], atol=1e-10
    )


def test_of_torchs_own_functions_one_gives_zeros_to_a_sentence_without_a_token_and_the_other_nan():
    query, keys, *matrices = drawn(0, (1, 4), (1, 3, 4), *[(2, 2, 4)] * 3, (4, 4))
    nothing = torch.zeros(1, 3, dtype=torch.bool)
    assert (F.scaled_dot_product_attention(query[:, None], keys, keys, attn_mask=nothing[:, None]) == 0).all()
    of_torch, _ = attention_of_torch(*matrices)(query[:, None], keys, keys, key_padding_mask=~nothing)
    assert of_torch.isnan().all()
    assert (multi_head(query, keys, nothing, *matrices) == 0).all()


@given(sequences())
def test_self_attention_is_that_of_torch_with_a_triangle_for_its_mask(arguments):
    states, mask, W_query, W_key, W_value = arguments
    seen = torch.ones(states.shape[1], states.shape[1]).tril().bool() & mask[:, None]
    of_torch = F.scaled_dot_product_attention(states @ W_query.T, states @ W_key.T, states @ W_value.T, attn_mask=seen)
    np.testing.assert_allclose(self_attention(*arguments), of_torch.nan_to_num(), atol=1e-12)


@given(sequences(), st.integers(0, 4), SEEDS)
def test_what_comes_after_a_position_or_stands_at_a_pad_has_no_influence_on_it(arguments, place, seed):
    states, mask, *matrices = arguments
    place = place % states.shape[1]
    unread = ~mask | (torch.arange(states.shape[1]) > place)
    unread[:, place] = False  # its own query is computed from it, pad or not
    (noise,) = drawn(seed, states.shape)
    changed = torch.where(unread[..., None], noise, states)
    before, after = (self_attention(each, mask, *matrices)[:, place] for each in (states, changed))
    np.testing.assert_allclose(after, before, atol=1e-12)


@pytest.mark.parametrize("lengths", [[3, 1], [2, 0]])
def test_gradients_with_pads_are_those_of_finite_differences(lengths):
    mask = torch.arange(3) < torch.tensor(lengths)[:, None]
    heads = drawn(0, (2, 2), (2, 3, 4), (2, 1, 2), (2, 1, 4), (2, 2, 4), (3, 4))
    sequence = drawn(1, (2, 3, 2), (4, 2), (4, 2), (3, 2))
    for arguments, function in (
        (heads, lambda query, keys, *matrices: multi_head(query, keys, mask, *matrices)),
        (sequence, lambda states, *matrices: self_attention(states, mask, *matrices)),
    ):
        assert torch.autograd.gradcheck(function, [each.requires_grad_() for each in arguments])


def test_the_scores_of_the_exercise_spread_as_many_drawn_ones_do():
    rng = np.random.default_rng(0)
    dots = (0.5 * rng.normal(size=(200_000, 16)) * 0.9 * rng.normal(size=(200_000, 16))).sum(axis=1)
    answer = in_numpy.saturation()
    assert answer["spread"] == pytest.approx(dots.std(), rel=0.01)
    for name, scale in (("plain", 1), ("scaled", 4)):
        scores = torch.tensor([answer["spread"], -answer["spread"]], dtype=torch.float64) / scale
        jacobian = torch.autograd.functional.jacobian(lambda e: torch.softmax(e, dim=0), scores)
        assert answer[name] == pytest.approx(jacobian[0, 0].item(), abs=1e-9)


def test_the_other_weights_of_the_exercise_give_its_context():
    keys = np.array([[1.0, 1.0], [4.0, 0.0], [-1.0, 4.0], [-3.0, -2.0]])
    weights = in_numpy.same_context()
    assert weights[0] == 0
    assert min(weights[1:]) > 0
    assert sum(weights) == pytest.approx(1)
    np.testing.assert_allclose(weights @ keys, np.array([0.4, 0.3, 0.2, 0.1]) @ keys, atol=1e-12)


@given(SEEDS, SIZES, SIZES, SIZES)
def test_layer_normalization_is_that_of_torch(seed, batch, length, size):
    states, gain, bias = drawn(seed, (batch, length, size), (size,), (size,))
    expected = F.layer_norm(states, (size,), gain, bias)
    np.testing.assert_allclose(in_numpy.layer_norm(*map(np.asarray, (states, gain, bias))), expected, atol=1e-12)


@pytest.mark.parametrize(("first", "second"), [(3, 7), (20, 24), (103, 107)])
def test_the_product_of_two_positions_hangs_on_their_distance(first, second):
    answer = in_numpy.positions_by_hand()
    j, rates = np.array([5, first, second])[:, None], 10000 ** (-np.arange(2) / 2)
    vectors = np.stack([np.sin(j * rates), np.cos(j * rates)], axis=2).reshape(3, 4)
    np.testing.assert_allclose(vectors[0], answer["encoding"], atol=1e-12)
    np.testing.assert_allclose(vectors[1] @ vectors[2], answer["product"], atol=1e-12)


def test_a_block_learns_what_torchs_layers_of_its_sizes_hold():
    network = torch.nn.Sequential(torch.nn.Linear(48, 160), torch.nn.ReLU(), torch.nn.Linear(160, 48))
    attention = torch.nn.MultiheadAttention(48, 4, bias=False)
    norms = torch.nn.ModuleList([torch.nn.LayerNorm(48), torch.nn.LayerNorm(48)])
    answer = in_numpy.block_by_count()
    for name, module in {"network": network, "attention": attention, "norms": norms}.items():
        assert answer[name] == sum(parameter.numel() for parameter in module.parameters())
    assert answer["longer"] == answer["attention"] + answer["network"] + answer["norms"]
    length, d, d_wide = answer["length"], 48, 160
    assert 2 * length * length * d == 3 * 2 * length * d * d_wide


@st.composite
def blocks(draw, real=0):
    """The arguments of ``transformer_block``; pads may be anywhere, and at least ``real`` words are in each sentence."""
    batch, length, heads, head_size, value_size, wide = (draw(SIZES) for _ in range(6))
    size = draw(st.integers(2, 5))
    shapes = [
        (batch, length, size),
        *[(heads, head_size, size)] * 2,
        (heads, value_size, size),
        (size, heads * value_size),
    ]
    shapes += [(size,), (size,), (wide, size), (wide,), (size, wide), (size,), (size,), (size,)]
    states, *parameters = drawn(draw(SEEDS), *shapes)
    mask = torch.from_numpy(draw(hnp.arrays(bool, (batch, length))))
    mask[:, :real] = True
    return states, mask, *parameters


@given(blocks())
def test_a_block_is_several_heads_normalised_then_a_network_normalised(arguments):
    (
        states,
        mask,
        W_query,
        W_key,
        W_value,
        W_out,
        gain,
        bias,
        W_wide,
        b_wide,
        W_narrow,
        b_narrow,
        last_gain,
        last_bias,
    ) = arguments
    steps = [multi_head(z, states, mask, W_query, W_key, W_value, W_out) for z in states.unbind(dim=1)]
    attended = in_numpy.layer_norm(*(each.numpy() for each in (states + torch.stack(steps, dim=1), gain, bias)))
    hidden = np.maximum(0, attended @ W_wide.numpy().T + b_wide.numpy())
    total = attended + hidden @ W_narrow.numpy().T + b_narrow.numpy()
    expected = in_numpy.layer_norm(total, last_gain.numpy(), last_bias.numpy())
    np.testing.assert_allclose(transformer_block(*arguments), expected, atol=1e-10)


@given(blocks(real=1), SEEDS)
def test_padding_has_no_influence_on_other_positions_of_a_block_and_reads_the_words_itself(arguments, seed):
    states, mask, *parameters = arguments
    (noise,) = drawn(seed, states.shape)
    before = transformer_block(*arguments)
    after = transformer_block(torch.where(mask[..., None], states, noise), mask, *parameters)
    np.testing.assert_allclose(after[mask], before[mask], atol=1e-10)
    alone = [transformer_block(s[m][None], m[m][None], *parameters)[0] for s, m in zip(states, mask, strict=True)]
    np.testing.assert_allclose(before[mask], torch.cat(alone), atol=1e-10)


def block_of_torch(arguments):
    """Return torch's layer with these parameters; its heads together are as large as its states, and it has no dropout."""
    *_, W_query, W_key, W_value, W_out, gain, bias, W_wide, b_wide, W_narrow, b_narrow, last_gain, last_bias = arguments
    heads, size = len(W_query), len(W_out)
    layer = torch.nn.TransformerEncoderLayer(
        size, heads, len(W_wide), dropout=0.0, batch_first=True, dtype=torch.float64
    )
    given = {
        "self_attn.in_proj_weight": torch.cat([each.flatten(0, 1) for each in (W_query, W_key, W_value)]),
        "self_attn.in_proj_bias": torch.zeros(3 * size),
        "self_attn.out_proj.weight": W_out,
        "self_attn.out_proj.bias": torch.zeros(size),
        **{"norm1.weight": gain, "norm1.bias": bias, "norm2.weight": last_gain, "norm2.bias": last_bias},
        **{"linear1.weight": W_wide, "linear1.bias": b_wide, "linear2.weight": W_narrow, "linear2.bias": b_narrow},
    }
    layer.load_state_dict(given)
    return layer


@given(SEEDS, st.integers(1, 3), st.integers(1, 3), SIZES)
def test_a_block_is_the_layer_of_torch_without_biases_in_its_attention(seed, heads, head_size, wide):
    size = heads * head_size
    states, *parameters = drawn(
        seed,
        *[(2, 4, size), *[(heads, head_size, size)] * 3, (size, size), (size,), (size,)],
        *[(wide, size), (wide,), (size, wide), (size,), (size,), (size,)],
    )
    mask = torch.arange(4) < torch.tensor([[4], [2]])
    layer = block_of_torch(parameters)
    of_torch = layer(states, src_key_padding_mask=~mask).detach()
    np.testing.assert_allclose(transformer_block(states, mask, *parameters)[mask], of_torch[mask], atol=1e-9)


@pytest.mark.parametrize("lengths", [[3, 1], [2, 0]])
def test_gradients_reach_every_parameter_of_a_block(lengths):
    mask = torch.arange(3) < torch.tensor(lengths)[:, None]
    states, *parameters = drawn(
        2,
        *[(2, 3, 3), (2, 2, 3), (2, 2, 3), (2, 1, 3), (3, 2), (3,), (3,)],
        *[(4, 3), (4,), (3, 4), (3,), (3,), (3,)],
    )
    given = [each.requires_grad_() for each in (states, *parameters)]
    assert torch.autograd.gradcheck(lambda states, *others: transformer_block(states, mask, *others), given)
    transformer_block(states, mask, *parameters).prod(dim=-1).sum().backward()
    assert all((each.grad != 0).any() for each in given)


def test_positions_are_encoded_as_in_the_exercise():
    wanted = torch.tensor(in_numpy.positions_by_hand()["encoding"])
    torch.testing.assert_close(in_torch.encode_positions(6, 4)[5], wanted.float())


def some_sentences():
    """A batch of the small language, padded."""
    batch = capstone.as_tensors(["tea with milk", "sun and moon and rain with wind", "reason"])
    assert batch["lengths"].tolist() == [3, 7, 1]
    return batch["source"], batch["lengths"], batch["target_in"]


def test_the_encoder_passes_words_with_their_positions_through_two_blocks_and_the_decoder_starts_from_the_mean():
    source, lengths, _ = some_sentences()
    seen = []

    def block(states, mask, **parameters):
        seen.append((states, mask, parameters))
        return states + len(seen)

    encoder = in_torch.build_translator(block, seed=1).encoder
    annotations, query = encoder(source, lengths)
    words = encoder.embedding(source) + in_torch.encode_positions(7, 32)
    torch.testing.assert_close(annotations, words + 1 + 2)
    for (states, mask, parameters), read, named in zip(seen, (words, words + 1), encoder.blocks, strict=True):
        torch.testing.assert_close(states, read)
        assert mask.tolist() == [[place < length for place in range(7)] for length in lengths]
        assert {name: tuple(array.shape) for name, array in parameters.items()} == in_torch.BLOCK_SHAPES
        assert all(parameters[name] is named[name] for name in named)
    mean = torch.stack([vectors[:length].mean(dim=0) for vectors, length in zip(annotations, lengths, strict=True)])
    torch.testing.assert_close(query, torch.tanh(mean @ encoder.W_init.weight.T))


def test_of_a_sentence_the_translator_with_blocks_reads_no_padding_and_each_order_of_words_is_another_sentence():
    source, lengths, target_in = some_sentences()
    model = in_torch.build_blocks()
    logits, _ = model(source, lengths, target_in)
    alone, _ = model(source[:1, :3], lengths[:1], target_in[:1])
    torch.testing.assert_close(logits[:1], alone, rtol=0, atol=1e-5)
    turned, _ = model(source[:1, :3].flip(1), lengths[:1], target_in[:1])
    assert not torch.allclose(turned, alone, atol=1e-3)


def test_its_parameters_begin_as_those_of_torchs_layers_do_and_none_is_shared():
    model = in_torch.build_translator(transformer_block, seed=3)
    (first, second), same = model.encoder.blocks, in_torch.build_translator(transformer_block, seed=3)
    for name, array in first.items():
        fan_in = array.shape[-1]
        if name.startswith(("gain", "b")):
            assert (array == name.startswith("gain")).all()
        else:
            assert array.std().item() == pytest.approx(torch.nn.Linear(fan_in, 2000).weight.std().item(), rel=0.1)
            assert not torch.equal(array, second[name])
    for array, again in zip(model.parameters(), same.parameters(), strict=True):
        assert torch.equal(array, again)


def test_without_a_block_the_translator_is_that_of_the_capstone():
    model, wanted = in_torch.build_translator(None, seed=2), capstone.build_model(seed=2)
    for (name, array), (other, right) in zip(model.named_parameters(), wanted.named_parameters(), strict=True):
        assert (name, array.shape) == (other, right.shape)
        assert torch.equal(array, right)


@pytest.mark.parametrize("blocks", [True, False])
def test_a_training_saves_the_parameters_of_the_encoder_that_was_asked_for(tmp_path, blocks):
    path = tmp_path / "blocks.npz"
    losses = in_torch.train_blocks(path, blocks, seed=3, steps=3, batch_size=4)
    assert len(losses) == 3
    with np.load(path) as arrays:
        saved = {name: arrays[name].shape for name in arrays.files}
        changed = {name: torch.from_numpy(arrays[name]) for name in arrays.files}
    model = in_torch.build_translator(transformer_block if blocks else None, seed=3)
    assert saved == {name: tuple(array.shape) for name, array in model.named_parameters()}
    assert all(not torch.equal(changed[name], array) for name, array in model.named_parameters() if array.dim() > 1)


@pytest.mark.slow
def test_the_recorded_translator_with_blocks_translates_what_it_has_not_seen_and_needs_its_blocks(tmp_path):
    arrays, model = capstone.unseen_sentences(seed=11), load_trained("blocks")

    def measure():
        capstone.save_weights(model, tmp_path / "blocks.npz")
        file = np.fromfile(tmp_path / "blocks.npz", dtype=np.uint8)
        return capstone.measure_own(in_torch.translate_with_blocks(file, arrays["source"], arrays["lengths"]), arrays)

    measured = measure()
    assert min(measured["exact_match"], measured["bleu"] / 100) >= 0.99
    with torch.no_grad():
        for parameters in model.encoder.blocks:  # each position then reads itself alone
            parameters["W_out"].zero_()
    assert measure()["exact_match"] < 0.5
