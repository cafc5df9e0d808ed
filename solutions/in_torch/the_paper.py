"""The paper's own model, RNNsearch: gates in encoder and decoder, the context in each of the decoder's, maxout at the end.

Chapter: book/the_paper.md. Source: Bahdanau et al. (2015), arXiv:1409.0473, App. A and B.1.

The modules stand in for those of the chapters: ``Seq2Seq``, greedy and beam search take them as they are.
"""

import torch
from torch import nn

from solutions.in_torch.context import AdditiveAttention
from solutions.in_torch.output_layer import Decoder, Seq2Seq

# The letters of App. A.2.3 and the vocabularies of section 4.1, under our names.
SIZES = {"vocab_size": 30_000, "embedding_size": 620, "query_size": 1000, "attention_size": 1000, "maxout_size": 500}


class GatedUnit(nn.Module):
    """state = (1 - z) * old + z * tanh(W x + U (r * old)), with the gates z and r of x and of the old state.

    z = sigmoid(W_z x + U_z old), r = sigmoid(W_r x + U_r old)

    ``W`` holds W_z, W_r and W one below the other, ``U_gates`` holds U_z and U_r. U has a matrix of its own, because it
    multiplies what the reset gate has left of the old state.
    """

    def __init__(self, input_size, query_size):
        """Take the sizes of x and of the state. In the decoder, x is the word vector joined with the context."""
        super().__init__()
        self.W = nn.Linear(input_size, 3 * query_size)
        self.U_gates = nn.Linear(query_size, 2 * query_size, bias=False)
        self.U = nn.Linear(query_size, query_size, bias=False)

    def forward(self, inputs, state):
        """Return the new state (batch, query_size) from ``inputs`` (batch, input_size) and the old ``state``."""
        n = state.shape[-1]
        from_inputs = self.W(inputs)  # (batch, 3 * query_size)
        update, reset = torch.sigmoid(from_inputs[:, : 2 * n] + self.U_gates(state)).chunk(2, dim=-1)
        candidate = torch.tanh(from_inputs[:, 2 * n :] + self.U(reset * state))
        return (1 - update) * state + update * candidate


class GatedEncoder(nn.Module):
    """annotations[b, j] = [forward state; backward state] at word j, and the decoder's first state, tanh(W_init back_1)."""

    def __init__(self, vocab_size, embedding_size, hidden_size, query_size):
        """Take the sizes that ``Encoder`` takes. Both directions read the same word vectors."""
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embedding_size)
        self.there = GatedUnit(embedding_size, hidden_size)
        self.back = GatedUnit(embedding_size, hidden_size)
        self.W_init = nn.Linear(hidden_size, query_size)

    def forward(self, tokens, lengths):
        """Return annotations (batch, source_len, 2 * hidden_size) and the first query; annotations at padding are 0."""
        real = torch.arange(tokens.shape[1], device=tokens.device) < lengths.to(tokens.device).unsqueeze(1)
        embedded = self.embedding(tokens)
        there = self._read(self.there, embedded, real, range(tokens.shape[1]))
        back = self._read(self.back, embedded, real, reversed(range(tokens.shape[1])))
        return torch.cat([there, back], dim=-1), torch.tanh(self.W_init(back[:, 0]))

    @staticmethod
    def _read(unit, embedded, real, order):
        state, states = embedded.new_zeros(len(embedded), unit.U.out_features), [None] * embedded.shape[1]
        for j in order:
            # At padding the state is 0: so is the annotation, and the way back begins afresh at the last real word.
            state = unit(embedded[:, j], state) * real[:, j, None]
            states[j] = state
        return torch.stack(states, dim=1)


class MaxoutOutput(nn.Module):
    """logits = W_o t, where t keeps the larger number of each pair of neighbours in U_o s + V_o E y + C_o c.

    ``joined`` holds U_o, V_o and C_o side by side.
    """

    def __init__(self, feature_size, maxout_size, vocab_size):
        super().__init__()
        self.joined = nn.Linear(feature_size, 2 * maxout_size)
        self.W_o = nn.Linear(maxout_size, vocab_size)
        self.out_features = vocab_size

    def forward(self, features):
        """Return the logits (..., vocab_size) of ``features`` (..., feature_size): state, word vector and context."""
        pairs = self.joined(features).unflatten(-1, (-1, 2))  # (..., maxout_size, 2): neighbours form a pair
        return self.W_o(pairs.amax(dim=-1))


class GatedDecoder(Decoder):
    """The paper's decoder: the context stands in both gates and in the candidate, and the *old* state is read out."""

    def __init__(self, vocab_size, embedding_size, query_size, key_size, attention, maxout_size):
        """Take what ``Decoder`` takes, and how many maxima reach the last matrix."""
        super().__init__(vocab_size, embedding_size, query_size, key_size, attention)
        self.cell = GatedUnit(embedding_size + key_size, query_size)
        self.output = MaxoutOutput(query_size + embedding_size + key_size, maxout_size, vocab_size)

    def _advance(self, embedded, state, keys, source_mask, projected_keys):
        context, weights = self.attention(state, keys, source_mask, projected_keys)
        features = torch.cat([state, embedded, context], dim=-1)  # App. A.2.2 reads s_{i-1} out, not s_i
        return features, self.cell(torch.cat([embedded, context], dim=-1), state), weights


def build_model(vocab_size, embedding_size, query_size, attention_size, maxout_size):
    """Return RNNsearch of these sizes, the same vocabulary size on both sides; ``build_model(**SIZES)`` is the paper's.

    As in the paper, each direction of the encoder has as many numbers as the decoder state.
    """
    encoder = GatedEncoder(vocab_size, embedding_size, query_size, query_size)
    attention = AdditiveAttention(query_size, 2 * query_size, attention_size)
    sizes = vocab_size, embedding_size, query_size, 2 * query_size
    return Seq2Seq(encoder, GatedDecoder(*sizes, attention, maxout_size))


@torch.no_grad()
def initialise(model):
    """Draw the first weights as App. B.1 says. The model is changed in place.

    Recurrent matrices are orthogonal, each gate's by itself. W_a and U_a have a standard deviation of 0.001, all other
    matrices of 0.01. v_a and the biases are 0.
    """
    score = model.decoder.attention.score
    for name, parameter in model.named_parameters():
        if name.endswith("bias") or parameter is score.v.weight:
            nn.init.zeros_(parameter)
        elif name.endswith(("U.weight", "U_gates.weight")):
            for block in parameter.split(parameter.shape[1]):  # square ones, one below the other
                nn.init.orthogonal_(block)
        else:
            small = parameter is score.W_query.weight or parameter is score.W_key.weight
            nn.init.normal_(parameter, std=0.001 if small else 0.01)
