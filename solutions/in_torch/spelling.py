"""From spelling to sound in torch: the model of the chapters on the words of a dictionary, trained with a validation set.

Chapter: book/spelling.md.
"""

from pathlib import Path

import numpy as np
import torch
from torch import nn

from solutions.in_numpy.spelling import (
    LETTERS,
    MOST_PHONEMES,
    PHONEMES,
    START,
    STOP,
    as_arrays,
    as_phonemes,
    encode_letters,
    words_of,
)
from solutions.in_torch.capstone import translation_loss
from solutions.in_torch.context import AdditiveAttention
from solutions.in_torch.encoder import Encoder
from solutions.in_torch.output_layer import Decoder, Seq2Seq, beam_search

EMBEDDING_SIZE = 64  # of a letter or phoneme
SIZE = 128  # of a state: the encoder's in each direction, and the decoder's
TRAINED = Path(__file__).with_name("spelling.npz")  # made by `python -m benchmarks.comparisons --export`


def build_model(seed=0):
    """Return an untrained ``Seq2Seq`` from letters to phonemes, with 410 730 parameters."""
    torch.manual_seed(seed)
    encoder = Encoder(len(LETTERS), EMBEDDING_SIZE, SIZE, SIZE)
    attention = AdditiveAttention(SIZE, 2 * SIZE, SIZE)
    return Seq2Seq(encoder, Decoder(len(PHONEMES), EMBEDDING_SIZE, SIZE, 2 * SIZE, attention))


def as_tensors(words):
    """Return ``as_arrays(words)`` as tensors: ``source``, ``lengths``, ``target_in`` and ``target``."""
    return {name: torch.from_numpy(array) for name, array in as_arrays(words).items()}


def pronounce(model, words, width=1, length_power=0.0):
    """Return the phonemes that the model writes for each of any words: by greedy search, or with a beam of ``width`` hypotheses.

    The beam's best hypothesis has the largest log-probability divided by its length to the power ``length_power``.
    """
    source, lengths = map(torch.from_numpy, encode_letters(words))
    if width == 1:
        numbers, _ = model.greedy(source, lengths, START, STOP, MOST_PHONEMES)
    else:
        numbers, _ = beam_search(model, source, lengths, START, STOP, MOST_PHONEMES, width, length_power)
    return [as_phonemes(row) for row in numbers.tolist()]


def train_with_validation(steps=2000, seed=0, rate=3e-3, batch_size=64, every=250):
    """Train on the training words, and keep the parameters that had the lowest loss on the validation words.

    Returns
    -------
    Seq2Seq
        With the parameters of its best moment (early stopping).
    list of (int, float, float)
        The learning curve: after each ``every`` steps the number of steps, and the loss on 1000 words for training and on the
        words for validation, in nats per phoneme.
    """
    model, words = build_model(seed), words_of("training")
    rng = np.random.default_rng(seed)
    measured = as_tensors([words[i] for i in rng.permutation(len(words))[:1000]]), as_tensors(words_of("validation"))
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    # the rate rises during 30 steps, and falls to 0 over the last fifth
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1, (step + 1) / 30, max(0, 5 * (1 - step / steps)) ** 0.5)
    )
    curve, best = [], {}
    for step, batch in zip(range(steps), _batches(words, batch_size, rng), strict=False):
        logits, _ = model(batch["source"], batch["lengths"], batch["target_in"])
        optimizer.zero_grad()
        translation_loss(logits, batch["target"]).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if (step + 1) % every == 0:
            with torch.no_grad():
                losses = [
                    translation_loss(model(m["source"], m["lengths"], m["target_in"])[0], m["target"]).item()
                    for m in measured
                ]
            curve.append((step + 1, *losses))
            print(f"step {step + 1}/{steps}  training {losses[0]:.3f}  validation {losses[1]:.3f}")
            if losses[1] == min(validation for _, _, validation in curve):
                best = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    model.load_state_dict(best)
    return model, curve


def _batches(words, batch_size, rng):
    """Yield batches without end: in each epoch the words are shuffled, and those that fill no batch are left out."""
    while True:
        order = rng.permutation(len(words))
        for start in range(0, len(words) - batch_size + 1, batch_size):
            yield as_tensors([words[i] for i in order[start : start + batch_size]])


def quantize(model):
    """Return the parameters in one byte each: int8 arrays, and for each array the float32 ``scale`` of its rows.

    An entry of row k stands for entry * scale[k]; the largest of a row is 127 or -127.
    """
    arrays = {}
    for name, parameter in model.named_parameters():
        rows = parameter.detach().numpy().reshape(len(parameter), -1)
        scale = np.maximum(np.abs(rows).max(axis=1), 1e-12).astype(np.float32) / 127
        arrays[name] = np.round(rows / scale[:, None]).astype(np.int8).reshape(parameter.shape)
        arrays[f"{name}.scale"] = scale
    return arrays


def load_trained(file=TRAINED):
    """Return the trained model whose quantised parameters stand in ``file``."""
    model = build_model()
    with np.load(file) as arrays, torch.no_grad():
        for name, parameter in model.named_parameters():
            scale = arrays[f"{name}.scale"].reshape(-1, *[1] * (parameter.dim() - 1))
            parameter.copy_(torch.from_numpy(arrays[name] * scale))
    return model
