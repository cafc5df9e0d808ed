"""Several heads, attention of a sequence to itself, a whole block, and a translator whose encoder is made of blocks, in torch.

Chapter: book/from_bahdanau_to_transformers.md. Source: Vaswani et al. (2017), arXiv:1706.03762, sections 3.1 to 3.5.
"""

import io
import math
from typing import Any

import numpy as np
import torch
from torch import nn

from solutions.in_torch.capstone import (  # noqa: F401 (PROVIDED names what is not used here)
    ATTENTION_SIZE,
    EMBEDDING_SIZE,
    HELD_OUT,
    HIDDEN_SIZE,
    MAX_LENGTH,
    NOUNS,
    PAD,
    QUERY_SIZE,
    SOURCE_WORDS,
    START,
    STOP,
    TARGET_WORDS,
    _padded,
    as_arrays,
    as_tensors,
    draw_sentences,
    is_kept_back,
    load_weights,
    measure_own,
    save_weights,
    translate,
    translation_loss,
    unseen_sentences,
)
from solutions.in_torch.context import AdditiveAttention, Attention  # noqa: F401
from solutions.in_torch.encoder import Encoder
from solutions.in_torch.output_layer import Decoder, LastAnnotation, Seq2Seq  # noqa: F401
from solutions.in_torch.scoring import AdditiveScore  # noqa: F401
from solutions.in_torch.softmax import masked_softmax  # noqa: F401

# The parameters of one block in the translator, as ``transformer_block`` takes them: four heads.
BLOCK_SHAPES = {
    "W_query": (4, EMBEDDING_SIZE // 4, EMBEDDING_SIZE),
    "W_key": (4, EMBEDDING_SIZE // 4, EMBEDDING_SIZE),
    "W_value": (4, EMBEDDING_SIZE // 4, EMBEDDING_SIZE),
    "W_out": (EMBEDDING_SIZE, EMBEDDING_SIZE),
    "gain_attention": (EMBEDDING_SIZE,),
    "bias_attention": (EMBEDDING_SIZE,),
    "W_wide": (6 * EMBEDDING_SIZE, EMBEDDING_SIZE),
    "b_wide": (6 * EMBEDDING_SIZE,),
    "W_narrow": (EMBEDDING_SIZE, 6 * EMBEDDING_SIZE),
    "b_narrow": (EMBEDDING_SIZE,),
    "gain_network": (EMBEDDING_SIZE,),
    "bias_network": (EMBEDDING_SIZE,),
}

# What the assignment's notebook holds ready, by name: the capstone's language and model, and an encoder that calls the block.
PROVIDED = (
    *("PAD", "START", "STOP", "NOUNS", "SOURCE_WORDS", "TARGET_WORDS", "HELD_OUT", "translate", "is_kept_back"),
    *("draw_sentences", "as_arrays", "_padded", "as_tensors", "translation_loss"),
    *("EMBEDDING_SIZE", "HIDDEN_SIZE", "QUERY_SIZE", "ATTENTION_SIZE", "MAX_LENGTH", "BLOCK_SHAPES"),
    *("masked_softmax", "AdditiveScore", "Attention", "AdditiveAttention", "LastAnnotation"),
    *("Encoder", "Decoder", "Seq2Seq", "encode_positions", "BlockEncoder", "build_translator"),
    *("save_weights", "load_weights"),
)


def encode_positions(length, size):
    """Return the sinusoidal encodings of the first positions, (length, size): sines at even entries, cosines at odd ones."""
    angles = torch.arange(length).unsqueeze(1) / 10_000 ** (torch.arange(0, size, 2) / size)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)


class BlockEncoder(nn.Module):
    """Two blocks in place of a recurrent encoder. ``block`` is a function that computes one, as ``transformer_block`` does."""

    def __init__(self, block):
        super().__init__()
        self.block = block
        self.embedding = nn.Embedding(len(SOURCE_WORDS), EMBEDDING_SIZE)
        self.blocks: Any = nn.ModuleList()
        for _ in range(2):
            arrays = {name: torch.randn(shape) / math.sqrt(3 * shape[-1]) for name, shape in BLOCK_SHAPES.items()}
            arrays |= {name: torch.ones(EMBEDDING_SIZE) for name in ("gain_attention", "gain_network")}
            arrays |= {name: torch.zeros(shape) for name, shape in BLOCK_SHAPES.items() if name.startswith("b")}
            self.blocks.append(nn.ParameterDict(arrays))
        self.W_init = nn.Linear(EMBEDDING_SIZE, QUERY_SIZE, bias=False)

    def forward(self, tokens, lengths):
        """Return annotations, (batch, source_len, EMBEDDING_SIZE), and the first query, computed from their mean."""
        real = torch.arange(tokens.shape[1]) < lengths.unsqueeze(1)
        states = self.embedding(tokens) + encode_positions(tokens.shape[1], EMBEDDING_SIZE)
        for parameters in self.blocks:
            states = self.block(states, real, **parameters)
        mean = (states * real.unsqueeze(-1)).sum(dim=1) / lengths.unsqueeze(1)
        return states, torch.tanh(self.W_init(mean))


def build_translator(block=None, seed=0):
    """Return an untrained translator with attention: blocks read, or without a ``block``, two recurrent networks do."""
    torch.manual_seed(seed)
    recurrent = len(SOURCE_WORDS), EMBEDDING_SIZE, HIDDEN_SIZE, QUERY_SIZE
    encoder, key_size = (BlockEncoder(block), EMBEDDING_SIZE) if block else (Encoder(*recurrent), 2 * HIDDEN_SIZE)
    attention = AdditiveAttention(QUERY_SIZE, key_size, ATTENTION_SIZE)
    return Seq2Seq(encoder, Decoder(len(TARGET_WORDS), EMBEDDING_SIZE, QUERY_SIZE, key_size, attention))


def multi_head(query, keys, source_mask, W_query, W_key, W_value, W_out):
    """Attend with several heads at once and combine their contexts.

    result[b] = W_out [context of head 1; context of head 2; ...]; head z has matrices W_query[z], W_key[z], W_value[z]

    Parameters
    ----------
    query : (batch, query_size)
        Decoder state.
    keys : (batch, source_len, key_size)
        Encoder annotations, h_1 ... h_Tx.
    source_mask : (batch, source_len)
        True at real words.
    W_query : (heads, head_size, query_size)
    W_key : (heads, head_size, key_size)
    W_value : (heads, value_size, key_size)
    W_out : (output_size, heads times value_size)

    Returns
    -------
    (batch, output_size)
        Zeros for a sentence without a real word. Gradients are finite everywhere.

    Source: Vaswani et al. (2017), section 3.2.2.
    """
    ### BEGIN SOLUTION
    queries = torch.einsum("zrn,bn->bzr", W_query, query)
    head_keys = torch.einsum("zrm,bjm->bzjr", W_key, keys)
    values = torch.einsum("zwm,bjm->bzjw", W_value, keys)
    scores = torch.einsum("bzr,bzjr->bzj", queries, head_keys) / math.sqrt(W_key.shape[1])
    real = source_mask[:, None, :]
    weights = torch.softmax(scores.masked_fill(~real, torch.finfo(scores.dtype).min), dim=-1) * real
    contexts = torch.einsum("bzj,bzjw->bzw", weights, values)
    return contexts.flatten(1) @ W_out.T
    ### END SOLUTION


def self_attention(states, mask, W_query, W_key, W_value):
    """Let each position of a sequence attend to itself and the positions before it.

    result[b, i] = sum_j weights[b, i, j] W_value states[b, j], over the real positions j that are not after i

    Parameters
    ----------
    states : (batch, length, size)
        One vector per position.
    mask : (batch, length)
        True at real words. Padding may occur anywhere.
    W_query : (head_size, size)
    W_key : (head_size, size)
    W_value : (value_size, size)

    Returns
    -------
    (batch, length, value_size)
        Zeros at a position that has no real word at or before it. Gradients are finite everywhere.

    Source: Vaswani et al. (2017), section 3.2.3.
    """
    ### BEGIN SOLUTION
    queries, keys, values = states @ W_query.T, states @ W_key.T, states @ W_value.T
    scores = queries @ keys.transpose(1, 2) / math.sqrt(W_key.shape[0])  # (batch, length, length)
    seen = torch.ones_like(scores, dtype=torch.bool).tril() & mask[:, None, :]
    weights = torch.softmax(scores.masked_fill(~seen, torch.finfo(scores.dtype).min), dim=-1) * seen
    return weights @ values
    ### END SOLUTION


def transformer_block(
    states,
    mask,
    W_query,
    W_key,
    W_value,
    W_out,
    gain_attention,
    bias_attention,
    W_wide,
    b_wide,
    W_narrow,
    b_narrow,
    gain_network,
    bias_network,
):
    """Pass each sentence of a batch through self-attention with several heads, then through a network at each position.

    attended[b, i] = norm(states[b, i] + W_out [context of head 1; context of head 2; ...])
    result[b, i] = norm(attended[b, i] + W_narrow max(0, W_wide attended[b, i] + b_wide) + b_narrow)

    Here norm is the layer normalisation, each time with its own gain and bias.

    Parameters
    ----------
    states : (batch, length, size)
        One vector per position.
    mask : (batch, length)
        True at real words. Padding may occur anywhere.
    W_query, W_key : (heads, head_size, size)
        One matrix for each head.
    W_value : (heads, value_size, size)
    W_out : (size, heads times value_size)
    gain_attention, bias_attention : (size,)
        Of the normalisation after the attention.
    W_wide : (wide_size, size)
    b_wide : (wide_size,)
    W_narrow : (size, wide_size)
    b_narrow : (size,)
    gain_network, bias_network : (size,)
        Of the normalisation after the network.

    Returns
    -------
    (batch, length, size)
        Finite at every position, padding included. Gradients are finite everywhere.

    Source: Vaswani et al. (2017), sections 3.1 to 3.3, without the biases of the attention.
    """
    ### BEGIN SOLUTION

    def normalize(vectors, gain, bias):
        centred = vectors - vectors.mean(dim=-1, keepdim=True)
        variance = (centred**2).mean(dim=-1, keepdim=True)
        return gain * centred / torch.sqrt(variance + 1e-5) + bias

    queries = torch.einsum("zrd,bid->bzir", W_query, states)
    keys = torch.einsum("zrd,bjd->bzjr", W_key, states)
    values = torch.einsum("zwd,bjd->bzjw", W_value, states)
    scores = queries @ keys.transpose(2, 3) / math.sqrt(W_key.shape[1])  # (batch, heads, length, length)
    real = mask[:, None, None, :]
    weights = torch.softmax(scores.masked_fill(~real, torch.finfo(scores.dtype).min), dim=-1) * real
    contexts = (weights @ values).transpose(1, 2).flatten(2)  # (batch, length, heads * value_size)
    attended = normalize(states + contexts @ W_out.T, gain_attention, bias_attention)
    hidden = torch.relu(attended @ W_wide.T + b_wide)  # (batch, length, wide_size)
    return normalize(attended + hidden @ W_narrow.T + b_narrow, gain_network, bias_network)
    ### END SOLUTION


def train_blocks(path, blocks=True, seed=0, steps=600, batch_size=64):
    """Train the translator whose encoder calls ``transformer_block``, and save its parameters to ``path``.

    Parameters
    ----------
    path : str
        The file to write.
    blocks : bool
        False trains the recurrent encoder, for comparison.
    seed : int
        Seed of the initial parameters and of the sentences.
    steps, batch_size : int
        Number of training steps, and number of sentences in each.

    Returns
    -------
    list of float
        The loss at every step, in nats per word.
    """
    ### BEGIN SOLUTION
    model = build_translator(transformer_block if blocks else None, seed)
    sentences = draw_sentences(6000, seed)
    rng = np.random.default_rng(seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=6e-3)
    # the rate rises during 30 steps, and falls to 0 over the second half
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1, (step + 1) / 30, max(0, 2 * (1 - step / steps)))
    )
    losses = []
    for step in range(steps):
        batch = as_tensors([sentences[i] for i in rng.integers(0, len(sentences), batch_size)])
        logits, _ = model(batch["source"], batch["lengths"], batch["target_in"])
        loss = translation_loss(logits, batch["target"])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
        if (step + 1) % 100 == 0:
            print(f"step {step + 1}/{steps}  loss {losses[-1]:.4f}")
    save_weights(model, path)
    return losses
    ### END SOLUTION


def build_blocks():
    """Return the translator of ``train_blocks``, untrained."""
    return build_translator(transformer_block)


def translate_with_blocks(file, source, lengths):
    """Translate greedily with blocks, with the weights in ``file``.

    Parameters
    ----------
    file : (bytes,) uint8 array
        The content of an npz file as ``save_weights`` writes it.
    source : (batch, source_len) int
    lengths : (batch,) int

    Returns
    -------
    dict
        ``words`` (batch, length) without the start token.
    """
    model = load_weights(build_blocks(), io.BytesIO(np.asarray(file, dtype=np.uint8).tobytes()))
    words, _ = model.greedy(torch.as_tensor(source), torch.as_tensor(lengths), START, STOP, MAX_LENGTH)
    return {"words": words.numpy()}
