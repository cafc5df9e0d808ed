"""A translator of Middle English in torch: the model of the chapters, made larger, or with one fixed vector.

Chapter: book/wycliffe.md.
"""

import torch

from solutions.in_numpy.wycliffe import (
    MOST_WORDS,
    SOURCE_SIZE,
    START,
    STOP,
    TARGET_SIZE,
    encode_verses,
    vocabularies,
)
from solutions.in_torch.context import AdditiveAttention
from solutions.in_torch.encoder import Encoder
from solutions.in_torch.output_layer import BothEnds, Decoder, Seq2Seq

VECTOR_SIZE = 64  # of a word, and of the encoder's state in each direction
STATE_SIZE = 128  # of the decoder's state, and of the attention layer


def build_wycliffe(seed=0, attention=True):
    """Return an untrained ``Seq2Seq`` for verses; without ``attention``, its context is one fixed vector."""
    torch.manual_seed(seed)
    encoder = Encoder(SOURCE_SIZE, VECTOR_SIZE, VECTOR_SIZE, STATE_SIZE)
    context = AdditiveAttention(STATE_SIZE, 2 * VECTOR_SIZE, STATE_SIZE) if attention else BothEnds()
    return Seq2Seq(encoder, Decoder(TARGET_SIZE, VECTOR_SIZE, STATE_SIZE, 2 * VECTOR_SIZE, context))


def verses_as_tensors(verses):
    """Return ``encode_verses(verses)`` as tensors: ``source``, ``lengths``, ``target_in`` and ``target``."""
    return {name: torch.from_numpy(array) for name, array in encode_verses(verses).items()}


def translate_verses(model, verses):
    """Return the translations that the model writes of the sources of ``verses``, by greedy search: tuples of words."""
    batch = verses_as_tensors(verses)
    numbers, _ = model.greedy(batch["source"], batch["lengths"], START, STOP, MOST_WORDS)
    words = vocabularies()[1]
    return [tuple(words[number] for number in row if number != STOP) for row in numbers.tolist()]
