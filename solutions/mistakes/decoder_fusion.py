"""Wrong answers that students give to the decoder exercises. The docstring is the hint."""

import numpy as np
import torch


def _dimensions(d, m, n, V_x, V_y, **changed):
    encoder = {"E_x": (d, V_x), "W_x": (m, d), "W_h": (m, m)}
    score = {"W_query": (n, n), "W_key": (n, m), "v": (n,)}
    return {**encoder, **score, "E": (d, V_y), "W_y": (n, d), "W_s": (n, n), "W_c": (n, m), **changed}


def note_c_dimensions__transposed(d, m, n, V_x, V_y):
    """You gave the shape of the transpose: a matrix that multiplies a column vector needs one column for each entry
    of the vector."""
    return {name: shape[::-1] for name, shape in _dimensions(d, m, n, V_x, V_y).items()}


def note_c_dimensions__as_torch_stores_it(d, m, n, V_x, V_y):
    """You gave the shape in which nn.Embedding stores its matrix. In the formula, the embedding matrix multiplies a
    one-hot column."""
    return _dimensions(d, m, n, V_x, V_y, E_x=(V_x, d), E=(V_y, d))


def note_c_dimensions__vocabularies_exchanged(d, m, n, V_x, V_y):
    """You swapped the two vocabularies. Which language does the encoder read, and which does the decoder write?"""
    return _dimensions(d, m, n, V_x, V_y, E_x=(d, V_y), E=(d, V_x))


def note_c_dimensions__one_embedding(d, m, n, V_x, V_y):
    """The decoder reads target words, so its embedding needs one column for each word of the target vocabulary."""
    return _dimensions(d, m, n, V_x, V_y, E=(d, V_x))


def note_c_dimensions__one_hot_forgotten(d, m, n, V_x, V_y):
    """W_x and W_y multiply a word vector, not a one-hot column: the embedding comes first."""
    return _dimensions(d, m, n, V_x, V_y, W_x=(m, V_x), W_y=(n, V_y))


def note_c_dimensions__context_of_the_decoder(d, m, n, V_x, V_y):
    """A context is a mixture of encoder states, so it has the size of an encoder state."""
    return _dimensions(d, m, n, V_x, V_y, W_c=(n, n))


def note_c_dimensions__state_and_context_exchanged(d, m, n, V_x, V_y):
    """You swapped the shapes of two matrices. Look at their subscripts: s stands for the state, c for the context."""
    return _dimensions(d, m, n, V_x, V_y, W_s=(n, m), W_c=(n, n))


def note_c_dimensions__query_sees_encoder(d, m, n, V_x, V_y):
    """W_query multiplies the decoder state, which has n entries, not m."""
    return _dimensions(d, m, n, V_x, V_y, W_query=(n, m))


def note_c_dimensions__score_of_the_encoder(d, m, n, V_x, V_y):
    """In note C, the hidden layer of the score has the size of a decoder state. You used the size of an encoder state."""
    return _dimensions(d, m, n, V_x, V_y, W_query=(m, n), W_key=(m, m), v=(m,))


def note_c_dimensions__two_directions(d, m, n, V_x, V_y):
    """You doubled the size of an encoder state, but this encoder has only one direction."""
    return _dimensions(d, m, n, V_x, V_y, W_key=(n, 2 * m), W_c=(n, 2 * m))


def fusion_shapes__one_direction(d, m, n, r):
    """An annotation concatenates the states of both directions, so an annotation and a context have more than m entries."""
    return {"joined": (d + m,), "L_1": (r, d + m), "W_input": (n, r), "W_context": (n, m)}


def fusion_shapes__twice_the_state(d, m, n, r):
    """Note A's 2n assumes that embedding, annotation and state all have n entries. Here their sizes differ."""
    return {"joined": (2 * n,), "L_1": (n, 2 * n), "W_input": (n, n), "W_context": (n, n)}


def fusion_shapes__state_size_at_once(d, m, n, r):
    """L_1 does not yet lead to the size of a state: what the recurrent layer reads has a size of its own."""
    return {"joined": (d + 2 * m,), "L_1": (n, d + 2 * m), "W_input": (n, n), "W_context": (n, 2 * m)}


def fusion_shapes__added(d, m, n, r):
    """Concatenating two vectors adds their lengths. Your result has the length of only one of them."""
    return {"joined": (2 * m,), "L_1": (r, 2 * m), "W_input": (n, r), "W_context": (n, 2 * m)}


def fusion_shapes__transposed(d, m, n, r):
    """Rows come first: a matrix that maps p entries to q entries has shape (q, p)."""
    return {"joined": (d + 2 * m,), "L_1": (d + 2 * m, r), "W_input": (r, n), "W_context": (2 * m, n)}


def fusion_shapes__state_joined_too(d, m, n, r):
    """Only the word and the context are concatenated. The state enters the recurrent layer through a matrix of its own."""
    return {"joined": (d + 2 * m + n,), "L_1": (r, d + 2 * m + n), "W_input": (n, r), "W_context": (n, 2 * m)}


_RIGHT_WEIGHTS = [0.4122, 0.5, 0.2315, 0.4149, 0.4360, 0.6259]


def two_decimals__second_weight():
    """You gave the weights of the second annotation. The exercise asks for those of the first."""
    return {"weights": [round(1 - weight, 4) for weight in _RIGHT_WEIGHTS], "alike": [1, 4]}


def two_decimals__old_state_as_query():
    """For method 4 you scored with the old state, so you got the weights of the right step. In method 4, the query
    is the updated state."""
    return {"weights": [*_RIGHT_WEIGHTS[:3], 0.3741, *_RIGHT_WEIGHTS[4:]], "alike": [1, 4]}


def two_decimals__update_without_tanh():
    """For method 4 you scored with the sum inside the tanh. In method 4, the query is the tanh of that sum."""
    return {"weights": [*_RIGHT_WEIGHTS[:3], 0.4429, *_RIGHT_WEIGHTS[4:]], "alike": [1, 4]}


def two_decimals__mean_as_the_sum():
    """For method 5 you scored with the sum, so you got the weights of the right step. In method 5, each score is
    the mean of two entries."""
    return {"weights": [*_RIGHT_WEIGHTS[:4], 0.3741, _RIGHT_WEIGHTS[5]], "alike": [1, 5]}


def two_decimals__mean_taken_twice():
    """For method 5 you took the mean twice. Add the two entries of the tanh, and divide by 2 once."""
    return {"weights": [*_RIGHT_WEIGHTS[:4], 0.4679, _RIGHT_WEIGHTS[5]], "alike": [1, 4]}


def two_decimals__first_entry_alike():
    """For one of the methods in `alike`, only the first entry of the new state rounds as stated. Both entries must."""
    return {"weights": _RIGHT_WEIGHTS, "alike": [1, 5]}


def two_decimals__counted_from_zero():
    """You numbered the methods from 0. In the exercise, they are numbered from 1."""
    return {"weights": _RIGHT_WEIGHTS, "alike": [0, 3]}


def _note_d(old=1.0, first=0, squash=np.tanh):
    return squash(old * np.full(3, 0.3) + np.array([0.12, 0.37, 0.40, 0.37])[first : first + 3]).tolist()


def note_d_state__no_tanh():
    """The tanh is missing: you returned the sum inside it."""
    return _note_d(squash=lambda x: x)


def note_d_state__no_old_state():
    """The old state is missing from the sum."""
    return _note_d(old=0.0)


def note_d_state__last_three():
    """You took the last three entries of the context. W_a keeps the first three."""
    return _note_d(first=1)


def _gated(
    p,
    which=("_update", "_reset"),
    gate=None,
    mix=None,
    reset_after=False,
    shares=(1, 1, 1),
    squash=np.tanh,
    c=1,
    reach=(),
):
    embedded, query, context = p["embedded"], p["query"], p["context"]
    word, state, mixture = shares  # of the terms inside the gates
    terms = [
        word * embedded @ p[f"W_y{k}"].T + state * query @ p[f"W_s{k}"].T + mixture * context @ p[f"W_c{k}"].T
        for k in which
    ]
    update, reset = map(gate or (lambda x: (1 + np.tanh(x / 2)) / 2), terms)
    old = reset * (query @ p["W_s"].T) if reset_after else (reset * query) @ p["W_s"].T
    c = reset if "context" in reach else c
    candidate = squash(embedded @ p["W_y"].T + old + c * (context @ p["W_c"].T))
    query = reset * query if "mixture" in reach else query
    return mix(update, query, candidate) if mix else (1 - update) * query + update * candidate


def gated_step__reset_in_the_mixture(
    embedded, query, context, W_y, W_s, W_c, W_y_update, W_s_update, W_c_update, W_y_reset, W_s_reset, W_c_reset
):
    """You mixed the candidate with the reset state. The reset gate acts inside the candidate only: mix with the old state."""
    return _gated(locals(), reach=["mixture"])


def gated_step__reset_on_the_context(
    embedded, query, context, W_y, W_s, W_c, W_y_update, W_s_update, W_c_update, W_y_reset, W_s_reset, W_c_reset
):
    """You applied the reset gate to the contribution of the context, too. It acts on the old state only."""
    return _gated(locals(), reach=["context"])


def gated_step__update_exchanged(
    embedded, query, context, W_y, W_s, W_c, W_y_update, W_s_update, W_c_update, W_y_reset, W_s_reset, W_c_reset
):
    """Your update gate works the wrong way round: where the gate is 1, the new state should equal the candidate."""
    return _gated(locals(), mix=lambda u, s, new: u * s + (1 - u) * new)


def gated_step__reset_after_the_product(
    embedded, query, context, W_y, W_s, W_c, W_y_update, W_s_update, W_c_update, W_y_reset, W_s_reset, W_c_reset
):
    """Apply the reset gate to the old state itself, not to the product of W_s and the old state."""
    return _gated(locals(), reset_after=True)


def gated_step__gates_exchanged(
    embedded, query, context, W_y, W_s, W_c, W_y_update, W_s_update, W_c_update, W_y_reset, W_s_reset, W_c_reset
):
    """You swapped the two gates: one mixes the old state and the candidate, the other acts inside the candidate."""
    return _gated(locals(), which=("_reset", "_update"))


def gated_step__update_reads_the_reset_state(
    embedded, query, context, W_y, W_s, W_c, W_y_update, W_s_update, W_c_update, W_y_reset, W_s_reset, W_c_reset
):
    """Your update gate reads the old state after the reset. Both gates should read it before the reset."""
    reset = (1 + np.tanh((embedded @ W_y_reset.T + query @ W_s_reset.T + context @ W_c_reset.T) / 2)) / 2
    kept = reset * query
    update = (1 + np.tanh((embedded @ W_y_update.T + kept @ W_s_update.T + context @ W_c_update.T) / 2)) / 2
    return (1 - update) * query + update * np.tanh(embedded @ W_y.T + kept @ W_s.T + context @ W_c.T)


def gated_step__no_context_in_the_gates(
    embedded, query, context, W_y, W_s, W_c, W_y_update, W_s_update, W_c_update, W_y_reset, W_s_reset, W_c_reset
):
    """The context is missing from both gates."""
    return _gated(locals(), shares=(1, 1, 0))


def gated_step__no_context_in_the_candidate(
    embedded, query, context, W_y, W_s, W_c, W_y_update, W_s_update, W_c_update, W_y_reset, W_s_reset, W_c_reset
):
    """The context is missing from the candidate."""
    return _gated(locals(), c=0)


def gated_step__no_word_in_the_gates(
    embedded, query, context, W_y, W_s, W_c, W_y_update, W_s_update, W_c_update, W_y_reset, W_s_reset, W_c_reset
):
    """The embedding of the previous word is missing from both gates."""
    return _gated(locals(), shares=(0, 1, 1))


def gated_step__no_state_in_the_gates(
    embedded, query, context, W_y, W_s, W_c, W_y_update, W_s_update, W_c_update, W_y_reset, W_s_reset, W_c_reset
):
    """The old state is missing from both gates."""
    return _gated(locals(), shares=(1, 0, 1))


def gated_step__candidate_only(
    embedded, query, context, W_y, W_s, W_c, W_y_update, W_s_update, W_c_update, W_y_reset, W_s_reset, W_c_reset
):
    """You returned the candidate. The new state is a mixture of the candidate and the old state."""
    return _gated(locals(), mix=lambda u, s, new: new)


def gated_step__gates_with_tanh(
    embedded, query, context, W_y, W_s, W_c, W_y_update, W_s_update, W_c_update, W_y_reset, W_s_reset, W_c_reset
):
    """Your gates are not sigmoids: the entries of a gate lie between 0 and 1, and are one half where the sum inside is 0.
    Check the function that computes them."""
    return _gated(locals(), gate=np.tanh)


def gated_step__no_tanh(
    embedded, query, context, W_y, W_s, W_c, W_y_update, W_s_update, W_c_update, W_y_reset, W_s_reset, W_c_reset
):
    """The tanh of the candidate is missing."""
    return _gated(locals(), squash=lambda x: x)


def gated_step__no_reset(
    embedded, query, context, W_y, W_s, W_c, W_y_update, W_s_update, W_c_update, W_y_reset, W_s_reset, W_c_reset
):
    """Your candidate sees the whole old state: you did not use the reset gate."""
    update = (1 + np.tanh((embedded @ W_y_update.T + query @ W_s_update.T + context @ W_c_update.T) / 2)) / 2
    candidate = np.tanh(embedded @ W_y.T + query @ W_s.T + context @ W_c.T)
    return (1 - update) * query + update * candidate


def _decoder_step(p, asks=None, squash=torch.tanh, mask="before", weigh=None, parts=(1, 1, 1)):
    query, real = p["query"], p["source_mask"]
    keys = p["keys"]
    scores = squash(((query if asks is None else asks) @ p["W_query"].T).unsqueeze(1) + keys @ p["W_key"].T) @ p["v"]
    if mask == "before":
        scores = scores.masked_fill(~real, torch.finfo(scores.dtype).min)
    weights = torch.softmax(scores, dim=1) if weigh is None else weigh(scores, real)
    if mask != "ignored":
        weights = weights * real
    context = torch.einsum("bj,bjm->bm", weights, keys)
    word, state, mixture = parts
    return torch.tanh(word * p["embedded"] @ p["W_y"].T + state * query @ p["W_s"].T + mixture * context @ p["W_c"].T)


def decoder_step__note_b_order(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """You updated the state first and scored with the updated state, as in note B. Here the query is the old state."""
    updated = torch.tanh(embedded @ W_y.T + query @ W_s.T)
    return _decoder_step(locals(), asks=updated)


def decoder_step__no_inner_tanh(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The tanh inside the score is missing."""
    return _decoder_step(locals(), squash=lambda x: x)


def decoder_step__query_not_scored(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """Your scores do not depend on the old state: W_query times the query is missing from the sum inside the tanh."""
    return _decoder_step(locals(), asks=0 * query)


def decoder_step__uniform_weights(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """You gave all real words equal weight: the scores do not affect the context."""
    return _decoder_step(
        locals(), weigh=lambda scores, real: torch.softmax(torch.where(real, 0 * scores, 0 * scores - 1e30), dim=1)
    )


def decoder_step__divided_by_sum(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """You divided each score by the sum of the scores. The softmax takes exponentials first."""

    def divide(scores, real):
        kept = torch.where(real, scores, 0 * scores)
        return kept / (kept.sum(dim=1, keepdim=True) + 1e-30)

    return _decoder_step(locals(), weigh=divide)


def decoder_step__mask_ignored(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """Padding contributes to your context: exclude it from the softmax."""
    return _decoder_step(locals(), mask="ignored")


def decoder_step__masked_after_softmax(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """You removed the padding after the softmax, so the remaining weights no longer sum to 1."""
    return _decoder_step(locals(), mask="after")


def decoder_step__minus_infinity(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """In a sentence without any real words, all your scores are minus infinity, and their softmax is nan."""
    return _decoder_step(
        locals(),
        weigh=lambda scores, real: torch.softmax(torch.where(real, scores, scores - float("inf")), dim=1),
    )


def decoder_step__exponentials_by_hand(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The exponential of a score in the thousands is infinite. Let torch compute the softmax, or first subtract
    each row's maximum."""

    def weigh(scores, real):
        exponentials = torch.exp(torch.where(real, scores, 0 * scores)) * real
        return exponentials / (exponentials.sum(dim=1, keepdim=True) + 1e-30)

    return _decoder_step(locals(), weigh=weigh)


def decoder_step__context_dropped(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """Your new state does not depend on the context."""
    return _decoder_step(locals(), parts=(1, 1, 0))


def decoder_step__query_dropped(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """You scored with the old state but left it out of the sum for the new state."""
    return _decoder_step(locals(), parts=(1, 0, 1))


def decoder_step__word_dropped(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """Your new state does not depend on the previous word."""
    return _decoder_step(locals(), parts=(0, 1, 1))


def decoder_step__squeezed(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """An axis of length 1 went missing: the batch axis of a single sentence, for example, should stay."""
    return _decoder_step(locals()).squeeze()


def decoder_step__detached(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """The new states are right, but no gradient reaches the arguments: look for detach, no_grad, numpy or .item()."""
    return _decoder_step(locals()).detach()


def decoder_step__renormalised_after_masking(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """In some rows, the score that padding has in your softmax is so far above those of the words that all their weights are 0:
    padding must be excluded before the softmax, however low the words' scores are."""
    e = torch.tanh((query @ W_query.T)[:, None] + keys @ W_key.T) @ v
    w = torch.softmax(e, dim=-1) * source_mask
    w = w / w.sum(dim=-1, keepdim=True).clamp_min(1e-12)
    c = torch.einsum("bj,bjk->bk", w, keys)
    return torch.tanh(embedded @ W_y.T + query @ W_s.T + c @ W_c.T)


def decoder_step__recurrence_transposed(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """W_s is square, so its transpose fits as well but gives different numbers. Over which axis of W_s must its
    product with the state be summed?"""
    e = torch.tanh((query @ W_query.T).unsqueeze(1) + keys @ W_key.T) @ v
    w = torch.softmax(e.masked_fill(~source_mask, -1e30), dim=-1).masked_fill(~source_mask, 0.0)
    c = (w.unsqueeze(1) @ keys).squeeze(1)
    return torch.tanh(embedded @ W_y.T + query @ W_s + c @ W_c.T)


def decoder_step__query_not_unsqueezed(query, embedded, keys, source_mask, W_query, W_key, v, W_y, W_s, W_c):
    """Your projected query has no axis for the positions: check how it broadcasts when you add the projected keys."""
    e = torch.tanh(query @ W_query.T + keys @ W_key.T) @ v
    w = torch.softmax(e.masked_fill(~source_mask, -1e30), dim=-1).masked_fill(~source_mask, 0.0)
    c = (w.unsqueeze(1) @ keys).squeeze(1)
    return torch.tanh(embedded @ W_y.T + query @ W_s.T + c @ W_c.T)


def _luong(
    fed, embedded, query, keys, mask, W_y, W_s, W_fed, W, W_mix, old_asks=False, order=1, mixed=True, final=np.tanh
):
    state = np.tanh(embedded @ W_y.T + query @ W_s.T + fed @ W_fed.T)
    scores = np.einsum("bn,nm,bjm->bj", query if old_asks else state, W, keys)
    kept = np.where(mask, scores, -1e300)
    powers = np.exp(kept - kept.max(axis=1, keepdims=True)) * mask
    total = powers.sum(axis=1, keepdims=True)
    context = np.einsum("bj,bjm->bm", powers / np.where(total > 0, total, 1), keys)
    return final(np.concatenate([context, state if mixed else query][::order], axis=1) @ W_mix.T)


def luong_step__bahdanaus_order(fed, embedded, query, keys, source_mask, W_y, W_s, W_fed, W, W_mix):
    """You scored with the old state, as Bahdanau does. In Luong's step, the recurrence comes first, and the new
    state is the query."""
    return _luong(fed, embedded, query, keys, source_mask, W_y, W_s, W_fed, W, W_mix, old_asks=True)


def luong_step__old_state_mixed(fed, embedded, query, keys, source_mask, W_y, W_s, W_fed, W, W_mix):
    """You scored with the new state but concatenated the context with the old state."""
    return _luong(fed, embedded, query, keys, source_mask, W_y, W_s, W_fed, W, W_mix, mixed=False)


def luong_step__nothing_fed(fed, embedded, query, keys, source_mask, W_y, W_s, W_fed, W, W_mix):
    """The recurrence has three terms. Without the one that you left out, a step does not know where the previous step looked."""
    return _luong(0 * fed, embedded, query, keys, source_mask, W_y, W_s, W_fed, W, W_mix)


def luong_step__state_first(fed, embedded, query, keys, source_mask, W_y, W_s, W_fed, W, W_mix):
    """You concatenated in the wrong order: the context should come first, then the state."""
    return _luong(fed, embedded, query, keys, source_mask, W_y, W_s, W_fed, W, W_mix, order=-1)


def luong_step__no_last_tanh(fed, embedded, query, keys, source_mask, W_y, W_s, W_fed, W, W_mix):
    """The last tanh is missing: apply it to the product with W_mix."""
    return _luong(fed, embedded, query, keys, source_mask, W_y, W_s, W_fed, W, W_mix, final=lambda inside: inside)


def luong_step__mask_ignored(fed, embedded, query, keys, source_mask, W_y, W_s, W_fed, W, W_mix):
    """Padding contributes to your context: exclude it from the softmax."""
    return _luong(fed, embedded, query, keys, np.ones_like(source_mask), W_y, W_s, W_fed, W, W_mix)


def luong_step__mask_turned_round(fed, embedded, query, keys, source_mask, W_y, W_s, W_fed, W, W_mix):
    """The mask is True at real words, but you kept the padding and left out the words."""
    return _luong(fed, embedded, query, keys, ~source_mask, W_y, W_s, W_fed, W, W_mix)


def luong_step__overflow(fed, embedded, query, keys, source_mask, W_y, W_s, W_fed, W, W_mix):
    """For scores above 709, exp overflows. Subtracting the same number from all scores of a row changes no weight."""
    state = np.tanh(embedded @ W_y.T + query @ W_s.T + fed @ W_fed.T)
    powers = np.exp(np.einsum("bn,nm,bjm->bj", state, W, keys)) * source_mask
    total = powers.sum(axis=1, keepdims=True)
    context = np.einsum("bj,bjm->bm", powers / np.where(total > 0, total, 1), keys)
    return np.tanh(np.concatenate([context, state], axis=1) @ W_mix.T)


def luong_step__minus_infinity(fed, embedded, query, keys, source_mask, W_y, W_s, W_fed, W, W_mix):
    """In a sentence without any real words, all your scores are minus infinity, and their softmax is nan."""
    state = np.tanh(embedded @ W_y.T + query @ W_s.T + fed @ W_fed.T)
    scores = np.where(source_mask, np.einsum("bn,nm,bjm->bj", state, W, keys), -np.inf)
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    context = np.einsum("bj,bjm->bm", powers / powers.sum(axis=1, keepdims=True), keys)
    return np.tanh(np.concatenate([context, state], axis=1) @ W_mix.T)


def luong_step__squeezed(fed, embedded, query, keys, source_mask, W_y, W_s, W_fed, W, W_mix):
    """An axis of length 1 went missing: the batch axis of a single sentence, for example, should stay."""
    return np.squeeze(_luong(fed, embedded, query, keys, source_mask, W_y, W_s, W_fed, W, W_mix))


def _weigh(numbers):
    exponentials = np.exp(numbers - numbers.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def _note_a(
    words, state, keys, W_query, W_key, v, E, L_1, W_input, W_s, L_2, *,
    squash=np.tanh, weigh=_weigh, embed=None, join=None, rectify=None, new=np.tanh, sees=None, end=_weigh, keeps=True,
    looks_once=False,
):  # fmt: skip
    """Run note A's decoder, with one thing changed."""
    first, context, outputs = state, np.zeros(0), []
    for step, word in enumerate(words.T):
        if not (step and looks_once):
            weights = weigh(squash((state @ W_query.T)[:, None] + keys @ W_key.T) @ v)
            context = np.einsum("bj,bjm->bm", weights, keys)
        embedded = E.T[word] if embed is None else embed(E, word)
        joined = np.concatenate([embedded, context], axis=1) if join is None else join(embedded, context)
        k = np.maximum(joined @ L_1.T, 0) if rectify is None else rectify(joined, L_1)
        before, state = state, new(k @ W_input.T + state @ W_s.T)
        seen = [state, context] if sees is None else sees(before, state, context)
        outputs.append(end(np.concatenate(seen, axis=1) @ L_2.T))
        state = state if keeps else first
    return np.stack(outputs, axis=1)


def mended_note_a__softmax_of_one_number(words, state, keys, W_query, W_key, v, E, L_1, W_input, W_s, L_2):
    """The softmax of a single number is always 1. It must run over all scores of a step."""
    return _note_a(words, state, keys, W_query, W_key, v, E, L_1, W_input, W_s, L_2, weigh=np.ones_like)


def mended_note_a__multiplied(words, state, keys, W_query, W_key, v, E, L_1, W_input, W_s, L_2):
    """You multiplied word and context entry by entry, as the sign in the note says. What do its words say?"""
    return _note_a(words, state, keys, W_query, W_key, v, E, L_1[:, : len(E)], W_input, W_s, L_2, join=np.multiply)


def mended_note_a__embedding_of_both(words, state, keys, W_query, W_key, v, E, L_1, W_input, W_s, L_2):
    """You applied the embedding to word and context together. It has one column for each word, so only a word can choose one."""
    one_hot = np.eye(E.shape[1])
    context = keys.mean(axis=1)
    joined = np.concatenate([one_hot[words[:, 0]], context], axis=1) @ E.T
    return _note_a(words, state, keys, W_query, W_key, v, E, L_1, W_input, W_s, L_2, join=lambda *_: joined)


def mended_note_a__over_the_state(words, state, keys, W_query, W_key, v, E, L_1, W_input, W_s, L_2):
    """Your last axis has the size of the state, as the note's second map does. The probabilities belong to the words."""
    return _note_a(words, state, keys, W_query, W_key, v, E, L_1, W_input, W_s, L_2[: state.shape[1]])


def mended_note_a__rows_of_the_embedding(words, state, keys, W_query, W_key, v, E, L_1, W_input, W_s, L_2):
    """You took rows of E, or reshaped it. Each word has a column of E."""
    return _note_a(
        words,
        state,
        keys,
        W_query,
        W_key,
        v,
        E,
        L_1,
        W_input,
        W_s,
        L_2,
        embed=lambda E, word: E.reshape(E.shape[::-1])[word],
    )


def mended_note_a__context_before_the_word(words, state, keys, W_query, W_key, v, E, L_1, W_input, W_s, L_2):
    """You concatenated in the wrong order: L_1 sees the embedding first, then the context."""
    return _note_a(
        words,
        state,
        keys,
        W_query,
        W_key,
        v,
        E,
        L_1,
        W_input,
        W_s,
        L_2,
        join=lambda word, c: np.concatenate([c, word], axis=1),
    )


def mended_note_a__context_before_the_state(words, state, keys, W_query, W_key, v, E, L_1, W_input, W_s, L_2):
    """You concatenated in the wrong order: L_2 sees the state first, then the context."""
    return _note_a(words, state, keys, W_query, W_key, v, E, L_1, W_input, W_s, L_2, sees=lambda before, s, c: [c, s])


def mended_note_a__no_relu(words, state, keys, W_query, W_key, v, E, L_1, W_input, W_s, L_2):
    """The ReLU is missing: apply it to the product with L_1."""
    return _note_a(
        words, state, keys, W_query, W_key, v, E, L_1, W_input, W_s, L_2, rectify=lambda joined, L_1: joined @ L_1.T
    )


def mended_note_a__relu_too_early(words, state, keys, W_query, W_key, v, E, L_1, W_input, W_s, L_2):
    """You applied the ReLU before multiplying by L_1. Apply it to the product."""
    return _note_a(
        words,
        state,
        keys,
        W_query,
        W_key,
        v,
        E,
        L_1,
        W_input,
        W_s,
        L_2,
        rectify=lambda joined, L_1: np.maximum(joined, 0) @ L_1.T,
    )


def mended_note_a__every_step_from_the_first_state(words, state, keys, W_query, W_key, v, E, L_1, W_input, W_s, L_2):
    """Each of your steps starts from the state before the first one. Its old state is the new state of the step before."""
    return _note_a(words, state, keys, W_query, W_key, v, E, L_1, W_input, W_s, L_2, keeps=False)


def mended_note_a__reads_out_the_old_state(words, state, keys, W_query, W_key, v, E, L_1, W_input, W_s, L_2):
    """Your probabilities are computed from the old state. L_2 sees the state that the step has just computed."""
    return _note_a(
        words, state, keys, W_query, W_key, v, E, L_1, W_input, W_s, L_2, sees=lambda before, s, c: [before, c]
    )


def mended_note_a__looks_once(words, state, keys, W_query, W_key, v, E, L_1, W_input, W_s, L_2):
    """You computed one context for all steps. Each step has weights and a context of its own."""
    return _note_a(words, state, keys, W_query, W_key, v, E, L_1, W_input, W_s, L_2, looks_once=True)


def mended_note_a__no_tanh_in_the_score(words, state, keys, W_query, W_key, v, E, L_1, W_input, W_s, L_2):
    """The tanh inside the score is missing."""
    return _note_a(words, state, keys, W_query, W_key, v, E, L_1, W_input, W_s, L_2, squash=lambda x: x)


def mended_note_a__no_tanh_in_the_state(words, state, keys, W_query, W_key, v, E, L_1, W_input, W_s, L_2):
    """The tanh of the new state is missing."""
    return _note_a(words, state, keys, W_query, W_key, v, E, L_1, W_input, W_s, L_2, new=lambda x: x)


def mended_note_a__divided_by_the_sum(words, state, keys, W_query, W_key, v, E, L_1, W_input, W_s, L_2):
    """You divided the scores by their sum. The softmax takes exponentials first."""
    return _note_a(
        words,
        state,
        keys,
        W_query,
        W_key,
        v,
        E,
        L_1,
        W_input,
        W_s,
        L_2,
        weigh=lambda e: e / e.sum(axis=1, keepdims=True),
    )


def mended_note_a__logits(words, state, keys, W_query, W_key, v, E, L_1, W_input, W_s, L_2):
    """You returned the logits: the last softmax is missing."""
    return _note_a(words, state, keys, W_query, W_key, v, E, L_1, W_input, W_s, L_2, end=lambda x: x)


def mended_note_a__over_the_batch(words, state, keys, W_query, W_key, v, E, L_1, W_input, W_s, L_2):
    """Your last softmax runs over the sentences. For each sentence, the probabilities of all words sum to 1."""
    return _note_a(words, state, keys, W_query, W_key, v, E, L_1, W_input, W_s, L_2, end=lambda x: _weigh(x.T).T)


def mended_note_a__overflow(words, state, keys, W_query, W_key, v, E, L_1, W_input, W_s, L_2):
    """With large logits, exp overflows. First subtract the largest logit of each sentence: the probabilities do not change."""
    return _note_a(
        words,
        state,
        keys,
        W_query,
        W_key,
        v,
        E,
        L_1,
        W_input,
        W_s,
        L_2,
        end=lambda x: np.exp(x) / np.exp(x).sum(axis=1, keepdims=True),
    )


def mended_note_a__steps_first(words, state, keys, W_query, W_key, v, E, L_1, W_input, W_s, L_2):
    """You stacked the steps along the first axis. The batch comes first, then the steps."""
    return _note_a(words, state, keys, W_query, W_key, v, E, L_1, W_input, W_s, L_2).swapaxes(0, 1)


def mended_note_a__last_step_only(words, state, keys, W_query, W_key, v, E, L_1, W_input, W_s, L_2):
    """You returned only the probabilities after the last step. Collect those of all steps."""
    return _note_a(words, state, keys, W_query, W_key, v, E, L_1, W_input, W_s, L_2)[:, -1]


def mended_note_a__squeezed(words, state, keys, W_query, W_key, v, E, L_1, W_input, W_s, L_2):
    """An axis of length 1 went missing: a batch of one sentence and a single step should keep their axes."""
    return _note_a(words, state, keys, W_query, W_key, v, E, L_1, W_input, W_s, L_2).squeeze()
