"""The output layer in torch, and the decoder and the whole model around it: teacher forcing, greedy and beam search.

Chapter: book/output_layer.md. Source: Bahdanau et al. (2015), arXiv:1409.0473, section 3.1 and App. A.2.2.
"""

import torch
from torch import nn


def beam_step(scores, log_probabilities):
    """Choose the best continuations of a beam, as many as it has hypotheses.

    Continuing hypothesis k by word w gives the score scores[b, k] + log_probabilities[b, k, w].

    Parameters
    ----------
    scores : (batch, width)
        Log-probability of each hypothesis so far.
    log_probabilities : (batch, width, vocab_size)
        Log-probability of each next word, given the hypothesis.

    Returns
    -------
    (batch, width, 2)
        Whole numbers: for each chosen continuation its hypothesis k and its word w, best continuation first.
    """
    ### BEGIN SOLUTION
    _, width, vocab_size = log_probabilities.shape
    totals = scores.unsqueeze(-1) + log_probabilities  # (batch, width, vocab_size)
    chosen = totals.flatten(1).topk(width, dim=1).indices
    return torch.stack([chosen // vocab_size, chosen % vocab_size], dim=-1)
    ### END SOLUTION


class LastAnnotation(nn.Module):
    """In place of attention: the context is the annotation of the last real word, at every step. Nothing is learned."""

    def project_keys(self, keys):
        """Return the keys as they are: here there is nothing to project."""
        return keys

    def forward(self, query, keys, source_mask=None, projected_keys=None):
        """Return ``(context, weights)`` as attention does; all the weight is on the last real position."""
        if source_mask is None:
            source_mask = keys.new_ones(keys.shape[:2], dtype=torch.bool)
        positions = torch.arange(keys.shape[1], device=keys.device)
        last = (positions * source_mask).max(dim=1, keepdim=True).values  # (batch, 1)
        weights = ((positions == last) & source_mask).to(keys.dtype)  # a row without a real word stays 0
        return (weights.unsqueeze(1) @ keys).squeeze(1), weights


class BothEnds(LastAnnotation):
    """In place of attention: at every step the last forward state joined with the first backward state."""

    def forward(self, query, keys, source_mask=None, projected_keys=None):
        """Return ``(context, weights)`` as attention does; the weights are those of the forward half."""
        context, weights = super().forward(query, keys, source_mask)
        half = keys.shape[-1] // 2
        return torch.cat([context[:, :half], keys[:, 0, half:]], dim=-1), weights


class Decoder(nn.Module):
    """Bahdanau's decoder: the state before the step asks, the context joins the recurrence, then a word is read out.

    context, weights = attention(s_{i-1});  s_i = GRU([E y_{i-1}; context], s_{i-1});
    logits = W_o [s_i; E y_{i-1}; context] + b_o
    """

    def __init__(self, vocab_size, embedding_size, query_size, key_size, attention):
        """Take the sizes of target vocabulary, word embedding, decoder state and annotation, and any attention of its chapter.

        With ``attention=None`` the context never changes: it is the last annotation.
        """
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embedding_size)
        self.attention = LastAnnotation() if attention is None else attention
        self.cell = nn.GRUCell(embedding_size + key_size, query_size)
        self.output = nn.Linear(query_size + embedding_size + key_size, vocab_size)

    def step(self, token, state, keys, source_mask=None, projected_keys=None):
        """Take one step from the words in ``token`` (batch,). Return ``(logits, state, weights)``."""
        features, state, weights = self._advance(self.embedding(token), state, keys, source_mask, projected_keys)
        return self.output(features), state, weights

    def forward(self, tokens, state, keys, source_mask=None):
        """Take all steps with the right words given (teacher forcing).

        Parameters
        ----------
        tokens : (batch, target_len)
            What the decoder reads: the start token, then the right words.
        state : (batch, query_size)
            Initial state, s_0.
        keys : (batch, source_len, key_size)
            Encoder annotations.
        source_mask : (batch, source_len), optional
            True at real words.

        Returns
        -------
        (batch, target_len, vocab_size) and (batch, target_len, source_len)
            Logits and weights of every step.
        """
        projected_keys = self.attention.project_keys(keys)
        features, weights = [], []
        for embedded in self.embedding(tokens).unbind(dim=1):
            feature, state, weight = self._advance(embedded, state, keys, source_mask, projected_keys)
            features.append(feature)
            weights.append(weight)
        logits = self.output(torch.stack(features, dim=1))  # one product for all steps
        return logits, torch.stack(weights, dim=1)

    @torch.no_grad()
    def greedy(self, state, keys, source_mask, start, stop, max_length):
        """Write the likeliest word at every step, until all have stopped or ``max_length`` is reached.

        Returns
        -------
        (batch, length) and (batch, length, source_len)
            Words without the start token, and the weights of their steps.
            After its first stop token a sentence has only more of them, with weights 0.
        """
        projected_keys = self.attention.project_keys(keys)
        token = torch.full_like(state[:, 0], start, dtype=torch.long)
        stopped = torch.zeros_like(token, dtype=torch.bool)
        words, every_weight = [], []
        while len(words) < max_length and not stopped.all():
            logits, state, weights = self.step(token, state, keys, source_mask, projected_keys)
            token = logits.argmax(dim=-1).masked_fill(stopped, stop)
            words.append(token)
            every_weight.append(weights.masked_fill(stopped.unsqueeze(-1), 0.0))
            stopped = stopped | (token == stop)
        return torch.stack(words, dim=1), torch.stack(every_weight, dim=1)

    def _advance(self, embedded, state, keys, source_mask, projected_keys):
        """Return what the output layer sees, the new state, and the weights of one step."""
        context, weights = self.attention(state, keys, source_mask, projected_keys)
        state = self.cell(torch.cat([embedded, context], dim=-1), state)
        return torch.cat([state, embedded, context], dim=-1), state, weights


class Seq2Seq(nn.Module):
    """Encoder and decoder together: source sentences in, target sentences out."""

    def __init__(self, encoder, decoder):
        """Take an encoder, which returns annotations and an initial state for ``source`` and ``lengths``, and a ``Decoder``."""
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder

    def forward(self, source, source_lengths, target_in):
        """Return the logits (batch, target_len, vocab_size) and the weights (batch, target_len, source_len).

        Parameters
        ----------
        source : (batch, source_len)
            Numbers of the source words, padded at the end.
        source_lengths : (batch,)
            How many of them are real.
        target_in
            What the decoder reads: the start token, then the right target words.
        """
        return self.decoder(target_in, *self.read(source, source_lengths))

    def greedy(self, source, lengths, start, stop, max_length):
        """Return ``(words, weights)`` of the sentences that always take the likeliest word; see ``Decoder.greedy``."""
        return self.decoder.greedy(*self.read(source, lengths), start, stop, max_length)

    def read(self, source, lengths):
        """Return initial state, annotations and mask: what the decoder needs of the source."""
        keys, state = self.encoder(source, lengths)
        source_mask = torch.arange(keys.shape[1], device=keys.device) < lengths.to(keys.device).unsqueeze(1)
        return state, keys, source_mask


def add_dropout(model, share):
    """Let ``model`` set a ``share`` of the entries to 0 while it is training.

    These are the entries of word vectors, of annotations, and of what the output layer reads.
    """

    def drop(module, vectors):
        return nn.functional.dropout(vectors, share, module.training)

    for embedding in (model.encoder.embedding, model.decoder.embedding):
        embedding.register_forward_hook(lambda module, _words, vectors: drop(module, vectors))
    model.encoder.register_forward_hook(lambda module, _source, read: (drop(module, read[0]), read[1]))
    model.decoder.output.register_forward_pre_hook(lambda module, inputs: drop(module, *inputs))


@torch.no_grad()
def beam_search(model, source, lengths, start, stop, max_length, width, length_power=0.0):
    """Translate with a ``Seq2Seq``: keep the ``width`` likeliest beginnings at every step, and the best one at the end.

    A hypothesis that has stopped keeps its place and its score until ``width`` better ones push it out. The best one has the
    largest score divided by its number of words, the stop token among them, to the power ``length_power``.

    Returns
    -------
    (batch, length) and (batch,)
        Words without the start token, more stop tokens after the first, and the sentence's log-probability in nats.
    """
    decoder, (state, keys, source_mask) = model.decoder, model.read(source, lengths)
    batch, vocab_size = len(state), decoder.output.out_features
    rows = torch.arange(batch, device=state.device).unsqueeze(1) * width  # first row of each sentence below
    state, keys, source_mask = (tensor.repeat_interleave(width, dim=0) for tensor in (state, keys, source_mask))
    projected_keys = decoder.attention.project_keys(keys[::width]).repeat_interleave(width, dim=0)
    words = torch.full((batch * width, 1), start, device=state.device)
    stopped = torch.zeros(batch, width, dtype=torch.bool, device=state.device)
    scores = state.new_full((batch, width), -torch.inf)
    scores[:, 0] = 0.0  # all hypotheses begin alike: count one of them
    only_stop = state.new_full((vocab_size,), -torch.inf)
    only_stop[stop] = 0.0
    while words.shape[1] <= max_length and not (stopped if length_power else stopped[:, 0]).all():
        # scores only fall: a best one that has stopped stays the best, unless long ones are preferred
        logits, state, _ = decoder.step(words[:, -1], state, keys, source_mask, projected_keys)
        log_probabilities = torch.log_softmax(logits, dim=-1).view(batch, width, vocab_size)
        log_probabilities = torch.where(stopped.unsqueeze(-1), only_stop, log_probabilities)
        parents, chosen = beam_step(scores, log_probabilities).unbind(dim=-1)  # (batch, width) each
        gained = log_probabilities.flatten(1).gather(1, parents * vocab_size + chosen)
        scores = scores.gather(1, parents) + gained
        stopped = stopped.gather(1, parents) | (chosen == stop)
        survivors = (rows + parents).flatten()
        state = state[survivors]
        words = torch.cat([words[survivors], chosen.flatten().unsqueeze(1)], dim=1)
    words = words.view(batch, width, -1)[:, :, 1:]
    lengths = (words != stop).sum(dim=-1) + 1
    best = (scores / lengths**length_power).argmax(dim=1)
    return words[torch.arange(batch), best], scores[torch.arange(batch), best]
