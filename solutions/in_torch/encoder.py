"""Encoding in torch: a bidirectional encoder over a padded batch, and the state in which the decoder begins.

Chapter: book/encoder.md. Source: Bahdanau et al. (2015), arXiv:1409.0473, App. A.2.1 and A.2.2.
"""

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


def annotate(embedded, source_mask, W_x, W_h, W_x_back, W_h_back):
    """Read each sentence of a padded batch in both directions, and concatenate the two states of each word.

    forward[b, j] = tanh(W_x embedded[b, j] + W_h forward[b, j - 1])
    backward[b, j] = tanh(W_x_back embedded[b, j] + W_h_back backward[b, j + 1])
    annotations[b, j] = [forward[b, j]; backward[b, j]]

    Parameters
    ----------
    embedded : (batch, source_len, embedding_size)
        Word vectors. Values at padding positions do not matter.
    source_mask : (batch, source_len)
        True at real words. Padding occurs only at the end of a row.
    W_x, W_h
        The two matrices of the direction that reads from the first word to the last.
    W_x_back, W_h_back
        The two matrices of the direction that reads from the last real word to the first.

    Returns
    -------
    tensor
        Batch first, then positions, with entries from -1 to 1: the forward state, then the backward state. 0 at padding
        positions. Each direction starts from a state of zeros. Differentiable.
    """
    ### BEGIN SOLUTION
    source_len, directions = embedded.shape[1], []
    there = range(source_len)
    for input_matrix, matrix, order in ((W_x, W_h, there), (W_x_back, W_h_back, reversed(there))):
        state, states = embedded.new_zeros(len(embedded), len(matrix)), [None] * source_len
        for j in order:
            state = torch.tanh(embedded[:, j] @ input_matrix.T + state @ matrix.T)
            # At padding the state is 0: so is the annotation, and the way back begins afresh at the last real word.
            state = state.masked_fill(~source_mask[:, j, None], 0.0)
            states[j] = state
        directions.append(torch.stack(states, dim=1))
    return torch.cat(directions, dim=-1)
    ### END SOLUTION


class Encoder(nn.Module):
    """annotations[b, j] = [forward state; backward state] at word j, and the decoder's first state."""

    def __init__(self, vocab_size, embedding_size, hidden_size, query_size):
        """Take the number of words, and the sizes of a word vector, of one direction's state and of a decoder state.

        An annotation has twice as many entries as the state of one direction.
        """
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embedding_size)
        self.rnn = nn.GRU(embedding_size, hidden_size, batch_first=True, bidirectional=True)
        self.W_init = nn.Linear(hidden_size, query_size, bias=False)

    def forward(self, tokens, lengths):
        """Return annotations (batch, source_len, 2 * hidden_size) and the first query (batch, query_size).

        ``tokens`` (batch, source_len) are word numbers, ``lengths`` (batch,) counts the real ones
        of each sentence, at least one. Annotations at padding positions are 0, and
        their word numbers do not matter.
        """
        embedded = self.embedding(tokens)  # (batch, source_len, embedding_size)
        packed = pack_padded_sequence(embedded, lengths.cpu(), batch_first=True, enforce_sorted=False)
        outputs, last = self.rnn(packed)
        annotations, _ = pad_packed_sequence(outputs, batch_first=True, total_length=tokens.shape[1])
        first_backward = last[1]  # the backward direction ends at the first word: (batch, hidden_size)
        return annotations, torch.tanh(self.W_init(first_backward))
