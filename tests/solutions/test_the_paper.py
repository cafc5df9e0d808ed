"""The paper's model in torch follows the appendix, and begins with the weights that appendix B describes."""

import math

import numpy as np
import pytest
import torch

from solutions.in_numpy.decoder_fusion import gated_step
from solutions.in_torch.capstone import translation_loss
from solutions.in_torch.output_layer import beam_search
from solutions.in_torch.the_paper import SIZES, GatedUnit, build_model, initialise

SMALL = {"vocab_size": 11, "embedding_size": 3, "query_size": 4, "attention_size": 5, "maxout_size": 2}
START, STOP = 1, 2


@pytest.fixture
def model():
    """A small model with parameters large enough to matter; its biases are 0, because the appendix has none."""
    torch.manual_seed(3)
    model = build_model(**SMALL).double()
    initialise(model)
    for name, parameter in model.named_parameters():
        if not name.endswith("bias"):
            torch.nn.init.normal_(parameter, std=0.8)
    return model


def dot(row, column):
    return sum(a * b for a, b in zip(row, column, strict=True))


def times(matrix, column):
    return [dot(row, column) for row in matrix]


def plus(*columns):
    return [sum(numbers) for numbers in zip(*columns, strict=True)]


def sigma(x):
    return 1 / (1 + math.exp(-x))


def unit(p, s_before, e, c=None):
    """One application of App. A.1.1: z_i, r_i, the proposed state and s_i, each by its formula."""
    C_c, C_z_c, C_r_c = ([times(p[C], c)] if c else [] for C in ("C", "C_z", "C_r"))
    z = [sigma(x) for x in plus(times(p["W_z"], e), times(p["U_z"], s_before), *C_z_c)]
    r = [sigma(x) for x in plus(times(p["W_r"], e), times(p["U_r"], s_before), *C_r_c)]
    reset_state = [r_k * s_k for r_k, s_k in zip(r, s_before, strict=True)]
    proposed = [math.tanh(x) for x in plus(times(p["W"], e), times(p["U"], reset_state), *C_c)]
    return [(1 - z_k) * s_k + z_k * p_k for z_k, s_k, p_k in zip(z, s_before, proposed, strict=True)]


def matrices(cell, m):
    """The paper's nine matrices (six in the encoder) of a ``GatedUnit`` whose word vectors have ``m`` entries."""
    n = cell.U.out_features
    W, U_gates = cell.W.weight.tolist(), cell.U_gates.weight.tolist()
    p = {"U_z": U_gates[:n], "U_r": U_gates[n:], "U": cell.U.weight.tolist()}
    for number, gate in enumerate(("_z", "_r", "")):
        rows = W[number * n : (number + 1) * n]
        p |= {f"W{gate}": [row[:m] for row in rows], f"C{gate}": [row[m:] for row in rows]}
    return p


def transcribed(model, x, y):
    """Return the probability of each word of ``y`` as App. A.2 defines it: for one sentence, one number at a time."""
    encoder, decoder = model.encoder, model.decoder
    m, n, T_x = SMALL["embedding_size"], SMALL["query_size"], len(x)
    E_x, E_y = encoder.embedding.weight.tolist(), decoder.embedding.weight.tolist()
    there, state = [], [0.0] * n
    for word in x:
        state = unit(matrices(encoder.there, m), state, E_x[word])
        there.append(state)
    back, state = [], [0.0] * n
    for word in reversed(x):
        state = unit(matrices(encoder.back, m), state, E_x[word])
        back.insert(0, state)
    h = [there[j] + back[j] for j in range(T_x)]
    s = [math.tanh(number) for number in times(encoder.W_init.weight.tolist(), back[0])]
    score, output = decoder.attention.score, decoder.output
    W_a, U_a, (v_a,) = (matrix.weight.tolist() for matrix in (score.W_query, score.W_key, score.v))
    joined, W_o = output.joined.weight.tolist(), output.W_o.weight.tolist()
    U_o, V_o, C_o = ([row[a:b] for row in joined] for a, b in ((0, n), (n, n + m), (n + m, None)))
    probabilities = []
    for word in y:
        e = [dot(v_a, [math.tanh(k) for k in plus(times(W_a, s), times(U_a, h_j))]) for h_j in h]
        alpha = [math.exp(e_j) / sum(math.exp(e_k) for e_k in e) for e_j in e]
        c = [sum(alpha[j] * h[j][k] for j in range(T_x)) for k in range(2 * n)]
        t_all = plus(times(U_o, s), times(V_o, E_y[word]), times(C_o, c))
        t = [max(t_all[2 * k], t_all[2 * k + 1]) for k in range(SMALL["maxout_size"])]
        powers = [math.exp(logit) for logit in times(W_o, t)]
        probabilities.append([power / sum(powers) for power in powers])
        s = unit(matrices(decoder.cell, m), s, E_y[word], c)
    return probabilities


def test_the_model_is_the_formulas_of_the_appendix_one_by_one_also_where_sentences_are_padded(model):
    sources, targets = [[4, 9, 3, 7, 5], [6, 8]], [[START, 5, 7, 3], [START, 9, 4, 10]]
    padded = torch.tensor([sources[0], sources[1] + [0, 0, 0]])
    logits, weights = model(padded, torch.tensor([5, 2]), torch.tensor(targets))
    for b in range(2):
        expected = transcribed(model, sources[b], targets[b])
        np.testing.assert_allclose(torch.softmax(logits[b], dim=-1).detach(), expected, rtol=1e-12)
    assert (weights[1, :, 2:] == 0).all()


def test_the_graded_step_in_numpy_is_the_unit_in_torch_with_word_and_context_joined():
    torch.manual_seed(0)
    d, m, n = 3, 5, 4
    cell = GatedUnit(d + m, n).double()
    torch.nn.init.zeros_(cell.W.bias)
    embedded, query, context = (torch.randn(2, size, dtype=torch.float64) for size in (d, n, m))
    p = {name: np.array(rows) for name, rows in matrices(cell, d).items()}
    ours = gated_step(
        embedded.numpy(), query.numpy(), context.numpy(),
        p["W"], p["U"], p["C"], p["W_z"], p["U_z"], p["C_z"], p["W_r"], p["U_r"], p["C_r"],
    )  # fmt: skip
    np.testing.assert_allclose(ours, cell(torch.cat([embedded, context], dim=-1), query).detach(), rtol=1e-12)


def test_of_torchs_gru_the_update_gate_runs_the_other_way_and_the_reset_gate_comes_after_the_product():
    torch.manual_seed(0)
    n, d = 4, 3
    ours, theirs = GatedUnit(d, n).double(), torch.nn.GRUCell(d, n).double()
    for bias in (ours.W.bias, theirs.bias_ih, theirs.bias_hh):
        torch.nn.init.zeros_(bias)
    (W_z, W_r, W), (U_z, U_r) = ours.W.weight.data.chunk(3), ours.U_gates.weight.data.chunk(2)
    theirs.weight_ih.data = torch.cat([W_r, -W_z, W])
    theirs.weight_hh.data = torch.cat([U_r, -U_z, ours.U.weight.data])
    x, state = torch.randn(5, d, dtype=torch.float64), torch.randn(5, n, dtype=torch.float64)
    assert not torch.allclose(ours(x, state), theirs(x, state), atol=1e-3)
    ours.U.weight.data.copy_(torch.diag(torch.randn(n)))  # where U mixes nothing, the gate's place is irrelevant
    theirs.weight_hh.data[2 * n :] = ours.U.weight.data
    torch.testing.assert_close(ours(x, state), theirs(x, state))


@pytest.mark.slow
def test_it_is_searched_and_trained_like_the_model_of_the_chapters(model):
    source, lengths = torch.tensor([[4, 9, 3], [6, 8, 0]]), torch.tensor([3, 2])
    greedy, _ = model.greedy(source, lengths, START, STOP, 6)
    narrow, _ = beam_search(model, source, lengths, START, STOP, 6, width=1)
    assert narrow.tolist() == greedy.tolist()
    target, target_in = torch.tensor([[3, 5, STOP], [7, STOP, 0]]), torch.tensor([[START, 3, 5], [START, 7, STOP]])
    optimizer = torch.optim.Adadelta(model.parameters(), lr=1.0, rho=0.95, eps=1e-6)
    losses = []
    for _ in range(60):
        loss = translation_loss(model(source, lengths, target_in)[0], target)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.7 * losses[0]


def test_the_first_weights_are_those_of_appendix_b():
    torch.manual_seed(0)
    sizes = {"vocab_size": 40, "embedding_size": 30, "query_size": 50, "attention_size": 60, "maxout_size": 20}
    model = build_model(**sizes)
    initialise(model)
    units = model.encoder.there, model.encoder.back, model.decoder.cell
    blocks = [block for unit in units for block in (unit.U.weight, *unit.U_gates.weight.chunk(2))]
    assert len(blocks) == 9
    for block in blocks:
        torch.testing.assert_close(block @ block.T, torch.eye(50), atol=1e-5, rtol=0)
    score = model.decoder.attention.score
    assert not score.v.weight.any()
    for matrix, std in (
        (score.W_query, 0.001),
        (score.W_key, 0.001),
        (units[2].W, 0.01),
        (model.decoder.output.W_o, 0.01),
    ):
        assert matrix.weight.std().item() == pytest.approx(std, rel=0.1)
    assert not any(parameter.any() for name, parameter in model.named_parameters() if name.endswith("bias"))


def test_with_v_at_zero_the_first_weights_are_even_and_only_v_of_the_score_learns():
    torch.manual_seed(0)
    model = build_model(**SMALL)
    torch.nn.init.zeros_(model.decoder.attention.score.v.weight)
    logits, weights = model(torch.tensor([[4, 9, 3, 5]]), torch.tensor([4]), torch.tensor([[START, 5, 7]]))
    torch.testing.assert_close(weights, torch.full_like(weights, 0.25))
    translation_loss(logits, torch.tensor([[5, 7, STOP]])).backward()
    score = model.decoder.attention.score
    assert score.v.weight.grad.any()
    assert not score.W_query.weight.grad.any()
    assert not score.W_key.weight.grad.any()


@pytest.mark.slow
def test_the_sizes_are_those_of_the_appendix():
    with torch.device("meta"):
        model = build_model(**SIZES)
    cell, output, score = model.decoder.cell, model.decoder.output, model.decoder.attention.score
    assert cell.U.weight.shape == (1000, 1000)
    assert cell.W.weight.shape == (3000, 620 + 2000)
    assert score.W_key.weight.shape == (1000, 2000)
    assert (output.joined.weight.shape, output.W_o.weight.shape) == ((1000, 3620), (30_000, 500))
    assert model.encoder.W_init.weight.shape == (1000, 1000)
