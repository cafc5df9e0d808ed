"""Dates in torch: the capstone's model and sizes, on the language of dates.

Chapter: book/capstone.md, "Go on".
"""

import numpy as np
import torch
from torch import nn

from solutions.in_numpy.capstone import START
from solutions.in_numpy.dates import FORMATS, SOURCE_LETTERS, TARGET_FIELDS, TARGET_LETTERS, as_arrays, draw_dates
from solutions.in_torch.capstone import ATTENTION_SIZE, EMBEDDING_SIZE, HIDDEN_SIZE, QUERY_SIZE, translation_loss
from solutions.in_torch.context import AdditiveAttention
from solutions.in_torch.encoder import Encoder
from solutions.in_torch.output_layer import Decoder, Seq2Seq

MAX_LENGTH = len(TARGET_FIELDS) + 1  # and the stop word


def build_model(seed=0):
    """Return an untrained ``Seq2Seq`` with attention, of the capstone's sizes, for letters."""
    torch.manual_seed(seed)
    encoder = Encoder(len(SOURCE_LETTERS), EMBEDDING_SIZE, HIDDEN_SIZE, QUERY_SIZE)
    attention = AdditiveAttention(QUERY_SIZE, 2 * HIDDEN_SIZE, ATTENTION_SIZE)
    return Seq2Seq(encoder, Decoder(len(TARGET_LETTERS), EMBEDDING_SIZE, QUERY_SIZE, 2 * HIDDEN_SIZE, attention))


def train(seed=0, steps=150, batch_size=64):
    """Train a model on dates that are not kept back, each time in a format drawn at random.

    Parameters
    ----------
    seed : int
        Of the first weights, the dates and the formats.
    steps, batch_size : int
        How long to train, and on how many dates at a time.

    Returns
    -------
    (Seq2Seq, list of float)
        The trained model, and the loss at every step in nats per letter.
    """
    model, dates, rng = build_model(seed), draw_dates(6000, seed), np.random.default_rng(seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.015)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.015, total_steps=steps)
    losses = []
    for _ in range(steps):
        chosen = [dates[i] for i in rng.integers(0, len(dates), batch_size)]
        arrays = as_arrays(chosen, [FORMATS[i] for i in rng.integers(0, len(FORMATS), batch_size)])
        source, lengths, target = (torch.from_numpy(arrays[name]) for name in ("source", "lengths", "target"))
        target_in = nn.functional.pad(target[:, :-1], (1, 0), value=START)
        logits, _ = model(source, lengths, target_in)
        loss = translation_loss(logits, target)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    return model, losses


def unseen_dates(seed, count=1000):
    """Return the arrays of ``count`` dates that are never trained on, each in every format."""
    dates = draw_dates(count, seed, kept_back=True)
    return as_arrays([date for date in dates for _ in FORMATS], FORMATS * count)
