"""A transformer for the translation tasks of ``benchmarks.comparisons``, and an encoder of blocks for a recurrent decoder.

Source: Vaswani et al. (2017), arXiv:1706.03762. As in the chapter, each normalisation follows its sum, and the matrices of the
attention have no biases. ``Block`` computes what the exercise's ``transformer_block`` does; its decoder's form has a causal
mask, and a second attention that reads the encoder's vectors.
"""

import math

import torch
from torch import nn

from solutions.in_torch.from_bahdanau_to_transformers import encode_positions

HEADS = 4


class Embedding(nn.Embedding):
    """A word's vector plus that of its position."""

    def forward(self, tokens):
        return super().forward(tokens) + encode_positions(tokens.shape[-1], self.embedding_dim)


class MultiHead(nn.Module):
    """Scaled dot-product attention with several heads, whose contexts are concatenated and multiplied by one more matrix."""

    def __init__(self, size):
        super().__init__()
        self.W_query, self.W_key, self.W_value, self.W_out = (nn.Linear(size, size, bias=False) for _ in range(4))

    def forward(self, states, keys, mask):
        """Return the results (batch, length, size), and the weights averaged over the heads.

        ``mask`` is True where a row may read a column, and broadcasts to (batch, heads, length, length of the keys).
        """
        queries, keys, values = (
            matrix(vectors).unflatten(-1, (HEADS, -1)).transpose(1, 2)
            for matrix, vectors in ((self.W_query, states), (self.W_key, keys), (self.W_value, keys))
        )
        scores = queries @ keys.transpose(2, 3) / math.sqrt(keys.shape[-1])
        weights = torch.softmax(scores.masked_fill(~mask, torch.finfo(scores.dtype).min), dim=-1)
        return self.W_out((weights @ values).transpose(1, 2).flatten(2)), weights.mean(dim=1)


class Block(nn.Module):
    """Self-attention and a network of two layers, each with its input added and normalised; ``cross`` attends in between."""

    def __init__(self, size, wide, cross=False):
        super().__init__()
        self.attention, self.norm = MultiHead(size), nn.LayerNorm(size)
        self.cross = MultiHead(size) if cross else None
        self.cross_norm = nn.LayerNorm(size) if cross else None
        self.network = nn.Sequential(nn.Linear(size, wide), nn.ReLU(), nn.Linear(wide, size))
        self.network_norm = nn.LayerNorm(size)

    def forward(self, states, read, mask, keys=None, source_mask=None):
        """Return new states of the positions in ``states``, which attend to those in ``read``, and the weights on ``keys``."""
        weights = None
        states = self.norm(states + self.attention(states, read, mask)[0])
        if self.cross is not None and self.cross_norm is not None:
            read, weights = self.cross(states, keys, source_mask)
            states = self.cross_norm(states + read)
        return self.network_norm(states + self.network(states)), weights


class BlockEncoder(nn.Module):
    """Blocks read the source. If a ``query_size`` is given, the mean of their vectors gives a recurrent decoder's first state."""

    def __init__(self, vocab_size, size, wide, blocks, query_size=0):
        super().__init__()
        self.embedding = Embedding(vocab_size, size)
        self.blocks = nn.ModuleList(Block(size, wide) for _ in range(blocks))
        self.W_init = nn.Linear(size, query_size, bias=False) if query_size else None

    def forward(self, tokens, lengths):
        """Return annotations (batch, source_len, size) and the first query, or None."""
        real = torch.arange(tokens.shape[1]) < lengths.unsqueeze(1)
        states = self.embedding(tokens)
        for block in self.blocks:
            states, _ = block(states, states, real[:, None, None])
        if self.W_init is None:
            return states, None
        return states, torch.tanh(self.W_init((states * real.unsqueeze(-1)).sum(dim=1) / lengths.unsqueeze(1)))


class BlockDecoder(nn.Module):
    """Blocks with a causal mask, which read the encoder's vectors too. There is no recurrent state."""

    def __init__(self, vocab_size, size, wide, blocks):
        super().__init__()
        self.embedding = Embedding(vocab_size, size)
        self.blocks = nn.ModuleList(Block(size, wide, cross=True) for _ in range(blocks))
        self.output = nn.Linear(size, vocab_size)

    def forward(self, tokens, state, keys, source_mask):
        """Return the logits of all steps, and the last block's weights on the source words."""
        causal = torch.ones(tokens.shape[1], tokens.shape[1], dtype=torch.bool).tril()
        states, weights = self.embedding(tokens), None
        for block in self.blocks:
            states, weights = block(states, states, causal, keys, source_mask[:, None, None])
        return self.output(states), weights

    @torch.no_grad()
    def greedy(self, state, keys, source_mask, start, stop, max_length):
        """Return words and weights as ``Decoder.greedy`` does. Each block keeps what it has read, so a step adds one position."""
        words = torch.full((len(keys), 1), start)
        stopped = torch.zeros(len(keys), dtype=torch.bool)
        positions = encode_positions(max_length, self.embedding.embedding_dim)
        every_weight, read = [], [keys[:, :0] for _ in self.blocks]
        while len(every_weight) < max_length and not stopped.all():
            states = nn.functional.embedding(words[:, -1:], self.embedding.weight) + positions[len(every_weight)]
            for number, block in enumerate(self.blocks):
                read[number] = torch.cat([read[number], states], dim=1)
                everything = torch.ones(read[number].shape[1], dtype=torch.bool)
                states, weights = block(states, read[number], everything, keys, source_mask[:, None, None])
            word = self.output(states[:, 0]).argmax(dim=-1).masked_fill(stopped, stop)
            every_weight.append(weights[:, 0].masked_fill(stopped.unsqueeze(-1), 0.0))
            words, stopped = torch.cat([words, word.unsqueeze(1)], dim=1), stopped | (word == stop)
        return words[:, 1:], torch.stack(every_weight, dim=1)
