"""Wrong answers that students give to the exercises on spelling and sound. The docstring is the hint."""

from collections import Counter
from difflib import SequenceMatcher

import numpy as np


def _distance(written, wanted, insertion=1, deletion=1, substitution=1):
    table = np.zeros((len(written) + 1, len(wanted) + 1), dtype=int)
    table[:, 0], table[0] = deletion * np.arange(len(written) + 1), insertion * np.arange(len(wanted) + 1)
    for i, item in enumerate(written, 1):
        for j, other in enumerate(wanted, 1):
            change = table[i - 1, j - 1] + (0 if item == other else substitution)
            table[i, j] = min(table[i - 1, j] + deletion, table[i, j - 1] + insertion, change)
    return int(table[-1, -1])


def _fill(
    written,
    wanted,
    cheapest=lambda above, left, diagonal, differ: min(above + 1, left + 1, diagonal + differ),
    first_row=None,
):
    table = np.zeros((len(written) + 1, len(wanted) + 1), dtype=int)
    table[0] = np.arange(len(wanted) + 1) if first_row is None else first_row
    table[:, 0] = np.arange(len(written) + 1)
    for i, item in enumerate(written, 1):
        for j, other in enumerate(wanted, 1):
            table[i, j] = cheapest(table[i - 1, j], table[i, j - 1], table[i - 1, j - 1], int(item != other))
    return int(table[-1, -1])


def edit_distance__place_by_place(written, wanted):
    """You compared position by position. If a phoneme is missing at the start, all later phonemes shift by one position."""
    steps = min(len(written), len(wanted))
    return int((written[:steps] != wanted[:steps]).sum() + abs(len(written) - len(wanted)))


def edit_distance__no_substitution(written, wanted):
    """You counted a substitution as two edits, a deletion and an insertion. It is a single edit."""
    return _distance(written, wanted, substitution=2)


def edit_distance__always_substituted(written, wanted):
    """You always add 1 for a step along the diagonal. If the two phonemes are equal, this step costs nothing."""
    table = np.zeros((len(written) + 1, len(wanted) + 1), dtype=int)
    table[:, 0], table[0] = np.arange(len(written) + 1), np.arange(len(wanted) + 1)
    for i in range(1, len(written) + 1):
        for j in range(1, len(wanted) + 1):
            table[i, j] = 1 + min(table[i - 1, j], table[i, j - 1], table[i - 1, j - 1])
    return int(table[-1, -1])


def edit_distance__borders_of_zero(written, wanted):
    """You set the first row and column of the table to 0, but turning i phonemes into none takes i deletions."""
    table = np.zeros((len(written) + 1, len(wanted) + 1), dtype=int)
    for i, item in enumerate(written, 1):
        for j, other in enumerate(wanted, 1):
            table[i, j] = min(table[i - 1, j] + 1, table[i, j - 1] + 1, table[i - 1, j - 1] + (item != other))
    return int(table[-1, -1])


def edit_distance__neighbours_exchanged(written, wanted):
    """You counted swapping two neighbouring phonemes as one edit. Here a swap takes two edits."""
    table = np.zeros((len(written) + 1, len(wanted) + 1), dtype=int)
    table[:, 0], table[0] = np.arange(len(written) + 1), np.arange(len(wanted) + 1)
    for i in range(1, len(written) + 1):
        for j in range(1, len(wanted) + 1):
            differ = written[i - 1] != wanted[j - 1]
            table[i, j] = min(table[i - 1, j] + 1, table[i, j - 1] + 1, table[i - 1, j - 1] + differ)
            if i > 1 and j > 1 and written[i - 1] == wanted[j - 2] and written[i - 2] == wanted[j - 1]:
                table[i, j] = min(table[i, j], table[i - 2, j - 2] + 1)
    return int(table[-1, -1])


def edit_distance__longer_minus_common(written, wanted):
    """You subtracted the length of the longest common subsequence from the longer length. Phonemes that are not common need
    not stand opposite each other, so this can be too small."""
    table = np.zeros((len(written) + 1, len(wanted) + 1), dtype=int)
    for i, item in enumerate(written, 1):
        for j, other in enumerate(wanted, 1):
            table[i, j] = table[i - 1, j - 1] + 1 if item == other else max(table[i - 1, j], table[i, j - 1])
    return int(max(len(written), len(wanted)) - table[-1, -1])


def edit_distance__as_a_rate(written, wanted):
    """You divided by the length. The distance is the number of edits itself."""
    return _distance(written, wanted) / len(wanted)


def edit_distance__one_step_short(written, wanted):
    """Your result ignores the last phonemes: which entry of the table do you return?"""
    return _distance(written[:-1], wanted[:-1])


def edit_distance__first_row_of_zeros(written, wanted):
    """You set the first row of the table to 0, but turning no phonemes into j phonemes takes j insertions."""
    return _fill(written, wanted, first_row=np.zeros(len(wanted) + 1, dtype=int))


def edit_distance__no_insertion(written, wanted):
    """Inside the table, you left out one of the three neighbours. An entry is reached by an insertion, too."""
    return _fill(written, wanted, lambda above, left, diagonal, differ: min(above + 1, diagonal + differ))


def edit_distance__no_deletion(written, wanted):
    """Inside the table, you left out one of the three neighbours. An entry is reached by a deletion, too."""
    return _fill(written, wanted, lambda above, left, diagonal, differ: min(left + 1, diagonal + differ))


def edit_distance__equal_costs_one(written, wanted):
    """Your condition is the wrong way round: the step along the diagonal is free if the two phonemes are equal."""
    return _fill(written, wanted, lambda above, left, diagonal, differ: min(above + 1, left + 1, diagonal + 1 - differ))


def edit_distance__diagonal_overwritten(written, wanted):
    """You keep a single row, and what you take for the diagonal has been overwritten: it belongs to the new row already."""
    return _fill(written, wanted, lambda above, left, diagonal, differ: min(above + 1, left + differ))


def edit_distance__order_ignored(written, wanted):
    """You compared how often each phoneme occurs. Their order counts, too."""
    more, fewer = Counter(written.tolist()), Counter(wanted.tolist())
    return max((more - fewer).total(), (fewer - more).total())


def edit_distance__longest_block_first(written, wanted):
    """You matched the longest common block first, as `difflib` does. Another matching may need fewer edits."""
    steps = SequenceMatcher(None, written.tolist(), wanted.tolist()).get_opcodes()
    return sum(max(i2 - i1, j2 - j1) for kind, i1, i2, j1, j2 in steps if kind != "equal")


def _rates(links, hand):
    made = links[..., None] == np.arange(hand.shape[-1])
    return made, hand == 2, hand > 0


def alignment_error_rate__possible_without_sure(links, hand):
    """A sure link is also a possible one: in the second term, count links where `hand` is 1 or 2."""
    made, sure, _ = _rates(links, hand)
    return 1 - ((made & sure).sum() + (made & (hand == 1)).sum()) / (made.sum() + sure.sum())


def alignment_error_rate__possible_below_the_line(links, hand):
    """In the denominator, you counted all possible links made by hand. Count only the sure ones there."""
    made, sure, possible = _rates(links, hand)
    return 1 - ((made & sure).sum() + (made & possible).sum()) / (made.sum() + possible.sum())


def alignment_error_rate__not_subtracted(links, hand):
    """You returned the fraction itself, which measures agreement with the links made by hand. The error rate is 1 minus
    this fraction.
    """
    made, sure, possible = _rates(links, hand)
    return ((made & sure).sum() + (made & possible).sum()) / (made.sum() + sure.sum())


def alignment_error_rate__precision(links, hand):
    """You counted only links that are not possible as errors. Sure links that were not made are errors, too."""
    made, _, possible = _rates(links, hand)
    return 1 - (made & possible).sum() / made.sum()


def alignment_error_rate__last_letter_for_none(links, hand):
    """As an index, -1 selects the last letter. Here -1 means that a phoneme has no link, so leave that phoneme out."""
    made = np.zeros(hand.shape, dtype=bool)
    made[np.arange(len(links)), links] = True
    return 1 - ((made & (hand == 2)).sum() + (made & (hand > 0)).sum()) / (made.sum() + (hand == 2).sum())


def alignment_error_rate__none_counted_below(links, hand):
    """In the denominator, you counted every phoneme. A phoneme without a link should not count there."""
    made, sure, possible = _rates(links, hand)
    return 1 - ((made & sure).sum() + (made & possible).sum()) / (len(links) + sure.sum())


def alignment_error_rate__phonemes_with_a_sure_link(links, hand):
    """In the denominator, you counted the phonemes that have a sure link. Count the sure links: a phoneme may have several."""
    made, sure, possible = _rates(links, hand)
    return 1 - ((made & sure).sum() + (made & possible).sum()) / (made.sum() + sure.any(axis=1).sum())


def alignment_error_rate__hand_summed(links, hand):
    """You summed the numbers in `hand`. A 2 means that a link is sure, not that there are two links."""
    made, sure, _ = _rates(links, hand)
    return 1 - ((made & sure).sum() + hand[made].sum()) / (made.sum() + hand.sum())


def alignment_error_rate__minus_one_looked_up(links, hand):
    """A phoneme without a link hits nothing. You looked it up in `hand` at -1, which is the last letter."""
    looked_up = hand[np.arange(len(links)), links]
    hits = (looked_up == 2).sum() + (looked_up > 0).sum()
    return 1 - hits / ((links >= 0).sum() + (hand == 2).sum())


def alignment_error_rate__first_letter_unlinked(links, hand):
    """You treat a link to letter 0 as no link. Letters are numbered from 0, and only -1 means that there is no link."""
    made, sure, possible = _rates(np.where(links > 0, links, -1), hand)
    return 1 - ((made & sure).sum() + (made & possible).sum()) / (made.sum() + sure.sum())


def alignment_error_rate__unlinked_left_out(links, hand):
    """You left out the phonemes without a link altogether. Their sure links made by hand still count in the denominator."""
    made, sure, possible = _rates(links[links >= 0], hand[links >= 0])
    return 1 - ((made & sure).sum() + (made & possible).sum()) / (made.sum() + sure.sum())


def alignment_error_rate__sure_twice_below(links, hand):
    """In the denominator, you counted each sure link twice: a 2 in `hand` is a single link."""
    made, sure, possible = _rates(links, hand)
    return 1 - ((made & sure).sum() + (made & possible).sum()) / (made.sum() + 2 * sure.sum())


def alignment_error_rate__sure_only(links, hand):
    """The numerator has two terms, and you counted sure links in both. In the second, a link needs to be possible only."""
    made, sure, _ = _rates(links, hand)
    return 1 - 2 * (made & sure).sum() / (made.sum() + sure.sum())


def alignment_error_rate__possible_only(links, hand):
    """The numerator has two terms, and you counted possible links in both. In the first, a link must be sure."""
    made, sure, possible = _rates(links, hand)
    return 1 - 2 * (made & possible).sum() / (made.sum() + sure.sum())


def alignment_error_rate__exchanged(links, hand):
    """You exchanged the two marks in `hand`: a 2 is a sure link, and a 1 is only a possible one."""
    made, _, possible = _rates(links, hand)
    return 1 - ((made & (hand == 1)).sum() + (made & possible).sum()) / (made.sum() + (hand == 1).sum())


def alignment_error_rate__letters_counted_once(links, hand):
    """In the denominator, you counted the letters that are linked. Count the links: two phonemes may share a letter."""
    made, sure, possible = _rates(links, hand)
    return 1 - ((made & sure).sum() + (made & possible).sum()) / (made.any(axis=0).sum() + sure.sum())


def alignment_error_rate__error_without_sure(links, hand):
    """If no link is sure by hand, you return 1. Links that are possible are no errors, so apply the formula."""
    made, sure, possible = _rates(links, hand)
    return 1 - ((made & sure).sum() + (made & possible).sum()) / (made.sum() + sure.sum()) if sure.any() else 1.0


def _em(**changed):
    right = {
        "n": [0.5, 0.25, 0.25],
        "o": [0.3333, 0.5, 0.1667],
        "shares": [0.6, 0.6667, 0.4, 0.6],
        "again": [0.5625, 0.5814],
    }
    return {**right, **changed}


def em_by_hand__divided_by_phonemes():
    """You divided each phoneme's counts by their sum over letters. Divide each letter's counts by their sum over phonemes."""
    return _em(n=[0.5, 0.25, 0.5], o=[0.5, 0.75, 0.5], shares=[0.5, 0.75, 0.5, 0.5], again=[0.5, 0.7778])


def em_by_hand__single_word_left_out():
    """You left out the word *o*, where all of OW belongs to the letter o."""
    return _em(o=[0.5, 0.25, 0.25], shares=[0.5, 0.5, 0.5, 0.5], again=[0.5, 0.25])


def em_by_hand__counts():
    """You gave the expected counts. Divide the counts of each letter by their sum to get probabilities."""
    return _em(n=[1.0, 0.5, 0.5], o=[1.0, 1.5, 0.5])


def em_by_hand__shares_not_divided():
    """For `shares`, you gave t itself. Divide the t of the letter by the sum of t over the letters of the word."""
    return _em(shares=[0.5, 0.5, 0.1667, 0.5])


def em_by_hand__one_iteration():
    """For `again`, you gave the probabilities after the first maximisation. Use the shares of the second expectation instead."""
    return _em(again=[0.5, 0.5])


def em_by_hand__first_shares_twice():
    """You used the equal shares of the first expectation in the second, too. Compute them again, from the new probabilities."""
    return _em(shares=[0.5, 0.5, 0.5, 0.5], again=[0.5, 0.5])


def em_by_hand__counts_kept():
    """You added the counts of the second expectation to those of the first. Start again from 0 in each expectation."""
    return _em(again=[0.5323, 0.5398])


def em_by_hand__once_more():
    """For `again`, you went through a third expectation and maximisation. Two of each are asked for."""
    return _em(again=[0.6030, 0.6425])


def em_by_hand__winner_takes_all():
    """You gave each phoneme wholly to its most probable letter. The expectation shares it among all letters of the word."""
    return _em(shares=[1.0, 1.0, 0.0, 1.0])


def em_by_hand__other_letter():
    """For `shares`, you gave the share of the other letter. Check which letter is asked for in each case."""
    return _em(shares=[0.4, 0.3333, 0.6, 0.4])


def em_by_hand__shares_over_phonemes():
    """In the second expectation, you shared each letter out among the phonemes. Share each phoneme out among the letters."""
    return _em(shares=[0.6667, 0.6, 0.3333, 0.6667], again=[0.6667, 0.5333])


def em_by_hand__empty_letter():
    """You added an empty letter to each word. In this exercise, only the letters of a word share its phonemes."""
    return _em(o=[0.3636, 0.4545, 0.1818], shares=[0.4074, 0.3922, 0.2963, 0.4074], again=[0.5667, 0.5009])


def em_by_hand__letters_in_order():
    """You linked the first phoneme to the first letter, and so on. At the beginning, all letters of a word share each phoneme."""
    return _em(n=[1.0, 0.0, 0.0], o=[0.0, 0.6667, 0.3333], shares=[1.0, 1.0, 1.0, 1.0], again=[1.0, 0.6667])


def em_by_hand__alphabetical():
    """You gave the phonemes in another order. The exercise asks for N, OW and AA, in this order."""
    return _em(n=[0.25, 0.5, 0.25], o=[0.1667, 0.3333, 0.5])


def em_by_hand__again_as_counts():
    """For `again`, you gave the counts of the second expectation. Divide them by their sum for each letter."""
    return _em(again=[1.2, 1.6667])


def em_by_hand__single_letter_shared():
    """The one letter of *o* gets all of its OW: twice as much as a letter of *no* gets of a phoneme."""
    return _em(o=[0.4, 0.4, 0.2], shares=[0.5556, 0.6154, 0.4444, 0.5556], again=[0.5417, 0.5478])


def em_by_hand__third_of_the_other_letter():
    """For the third of the `shares`, you gave that of the letter n in the AA of *on*. The exercise asks for that of o."""
    return _em(shares=[0.6, 0.6667, 0.6, 0.6])


def _without(scores, keys, allowed, shift=None):
    """Return the contexts over the letters that are ``allowed``, with another number subtracted from the scores if it is given."""
    masked = np.where(allowed, scores, np.finfo(float).min)
    with np.errstate(all="ignore"):
        powers = np.exp(masked - (masked.max(axis=-1, keepdims=True) if shift is None else shift)) * allowed
        total = powers.sum(axis=-1, keepdims=True)
        return powers / np.where(allowed.any(axis=-1, keepdims=True), total, 1) @ keys


def _all_but_one(source_mask):
    return source_mask[:, None, :] & ~np.eye(source_mask.shape[1], dtype=bool)


def _weights_of(scores, source_mask):
    one = np.eye(scores.shape[1])[None].repeat(len(scores), axis=0)
    return _without(scores[:, None, :], one, source_mask[:, None, :])[:, 0]


def contexts_without__not_renormalised(scores, keys, source_mask):
    """The remaining weights no longer sum to 1. Leave the letter out before the softmax, not after it."""
    weights = _weights_of(scores, source_mask)[:, None, :] * ~np.eye(scores.shape[1], dtype=bool)
    return weights @ keys


def contexts_without__divided_by_the_rest(scores, keys, source_mask):
    """You divided by 1 minus the weight of the letter. If this letter has nearly all the weight, hardly a digit of the others
    is left in it, or none. Compute the softmax over the other letters instead.
    """
    weights = _weights_of(scores, source_mask)[:, None, :] * ~np.eye(scores.shape[1], dtype=bool)
    rest = 1 - _weights_of(scores, source_mask)[:, :, None]
    return np.where(rest > 0, weights / np.where(rest > 0, rest, 1), 0) @ keys


def contexts_without__score_of_zero(scores, keys, source_mask):
    """You set the score of the forbidden letter to 0, which still gives it a weight: exp(0) is 1."""
    changed = np.where(np.eye(scores.shape[1], dtype=bool), 0.0, scores[:, None, :])
    return _without(changed, keys, np.broadcast_to(source_mask[:, None, :], changed.shape))


def contexts_without__only_this_letter(scores, keys, source_mask):
    """You allowed letter j alone. Forbid it, and allow all other letters."""
    return _without(scores[:, None, :], keys, source_mask[:, None, :] & np.eye(scores.shape[1], dtype=bool))


def contexts_without__nothing_forbidden(scores, keys, source_mask):
    """Your contexts are those of the word as it is: no letter is forbidden."""
    return np.repeat(_without(scores[:, None, :], keys, source_mask[:, None, :]), scores.shape[1], axis=1)


def contexts_without__still_forbidden(scores, keys, source_mask):
    """The letters before j are forbidden, too. Allow each letter again before you forbid the next."""
    return _without(scores[:, None, :], keys, source_mask[:, None, :] & ~np.tri(scores.shape[1], dtype=bool))


def contexts_without__mask_ignored(scores, keys, source_mask):
    """Padding has some of the weight. The softmax runs over real letters only."""
    return _without(scores[:, None, :], keys, _all_but_one(np.ones_like(source_mask)))


def contexts_without__nothing_at_padding(scores, keys, source_mask):
    """At padding, you returned zeros. Nothing is forbidden there, so the context is that of the word as it is."""
    return _without(scores[:, None, :], keys, _all_but_one(source_mask)) * source_mask[:, :, None]


def contexts_without__maximum_of_the_word(scores, keys, source_mask):
    """You subtracted the largest score of the whole word. If it is that of the forbidden letter, the powers of all others may
    underflow to 0. Subtract the largest of the remaining scores.
    """
    best = np.where(source_mask, scores, np.finfo(float).min).max(axis=1)[:, None, None]
    allowed = _all_but_one(source_mask)
    with np.errstate(all="ignore"):
        powers = np.exp(np.where(allowed, scores[:, None, :] - best, -np.inf))
        total = powers.sum(axis=-1, keepdims=True)
        return powers / np.where(total > 0, total, 1) @ keys


def contexts_without__overflow(scores, keys, source_mask):
    """exp overflows for scores above 709. Subtracting the same number from all remaining scores changes no weight."""
    return _without(scores[:, None, :], keys, _all_but_one(source_mask), shift=0.0)


def contexts_without__nothing_left(scores, keys, source_mask):
    """Where no letter is left, your result is not a number, since you divide 0 by 0. The context is zeros there."""
    allowed = _all_but_one(source_mask)
    contexts = _without(scores[:, None, :], keys, allowed)
    return np.where(allowed.any(axis=-1, keepdims=True), contexts, np.nan)


def contexts_without__mean_of_the_last(scores, keys, source_mask):
    """Where no letter is left, you returned the mean of the annotations: all scores are then equally low. It is zeros there."""
    allowed = _all_but_one(source_mask)
    return _without(scores[:, None, :], keys, allowed) + ~allowed.any(axis=-1, keepdims=True) * keys.mean(
        axis=1, keepdims=True
    )


def contexts_without__equal_weights(scores, keys, source_mask):
    """You gave the remaining letters equal weights. Their scores still count."""
    return _without(np.zeros_like(scores)[:, None, :], keys, _all_but_one(source_mask))


def contexts_without__weights(scores, keys, source_mask):
    """You returned the weights of the remaining letters. Multiply them with the annotations, and sum over the letters."""
    return _without(
        scores[:, None, :], np.eye(scores.shape[1])[None].repeat(len(scores), axis=0), _all_but_one(source_mask)
    )


def contexts_without__squeezed(scores, keys, source_mask):
    """An axis of length 1 went missing. The result has three axes, even for one word or one letter."""
    return np.squeeze(_without(scores[:, None, :], keys, _all_but_one(source_mask)))


def _exchange(
    query,
    keys,
    other_keys,
    source_mask,
    W_query,
    W_key,
    v,
    scored=None,
    mixed=None,
    masked=True,
    shift=None,
    tanh=np.tanh,
):
    """Exchange in the scores the letters that are ``scored``, and in the sum those that are ``mixed``: (letter, source_len)."""
    one = np.eye(keys.shape[1], dtype=bool)
    scored, mixed = (one if each is None else each for each in (scored, mixed))
    own, others = (tanh((query @ W_query.T)[:, None, :] + each @ W_key.T) @ v for each in (keys, other_keys))
    scores = np.where(scored, others[:, None, :], own[:, None, :])
    allowed = np.broadcast_to(source_mask[:, None, :] if masked else True, scores.shape)
    values = np.where(mixed[:, :, None], other_keys[:, None], keys[:, None])
    return _without(scores[:, :, None, :], values, allowed[:, :, None, :], shift)[:, :, 0]


def contexts_exchanged__old_scores(query, keys, other_keys, source_mask, W_query, W_key, v):
    """You exchanged the annotation only in the weighted sum. Its score changes, too: compute it from the new annotation."""
    none = np.zeros((keys.shape[1],) * 2, dtype=bool)
    return _exchange(query, keys, other_keys, source_mask, W_query, W_key, v, scored=none)


def contexts_exchanged__old_annotations(query, keys, other_keys, source_mask, W_query, W_key, v):
    """You exchanged the annotation only in the scores. The weighted sum needs the new annotation, too."""
    none = np.zeros((keys.shape[1],) * 2, dtype=bool)
    return _exchange(query, keys, other_keys, source_mask, W_query, W_key, v, mixed=none)


def contexts_exchanged__all_at_once(query, keys, other_keys, source_mask, W_query, W_key, v):
    """You exchanged all annotations at once. Exchange one in each context, and leave the others as they are."""
    every = np.ones((keys.shape[1],) * 2, dtype=bool)
    return _exchange(query, keys, other_keys, source_mask, W_query, W_key, v, every, every)


def contexts_exchanged__still_exchanged(query, keys, other_keys, source_mask, W_query, W_key, v):
    """The annotations before j are exchanged, too. Undo each exchange before you make the next."""
    before = np.tri(keys.shape[1], dtype=bool)
    return _exchange(query, keys, other_keys, source_mask, W_query, W_key, v, before, before)


def contexts_exchanged__all_but_one(query, keys, other_keys, source_mask, W_query, W_key, v):
    """You exchanged the two words: letter j has its own annotation, and all others have those of the other word."""
    return _exchange(query, other_keys, keys, source_mask, W_query, W_key, v)


def contexts_exchanged__nothing_exchanged(query, keys, other_keys, source_mask, W_query, W_key, v):
    """Your contexts are those of the word as it is: no annotation is exchanged."""
    return _exchange(query, keys, keys, source_mask, W_query, W_key, v)


def contexts_exchanged__not_renormalised(query, keys, other_keys, source_mask, W_query, W_key, v):
    """You divided by the sum for the old scores. With a new score, the sum of the powers changes, and so do all weights."""
    own, others = (np.tanh((query @ W_query.T)[:, None, :] + each @ W_key.T) @ v for each in (keys, other_keys))
    best = np.where(source_mask, np.maximum(own, others), np.finfo(float).min).max(axis=1, keepdims=True)
    with np.errstate(all="ignore"):
        powers, new = (np.exp(np.where(source_mask, each - best, -np.inf)) for each in (own, others))
        total = np.where(source_mask.any(axis=1, keepdims=True), powers.sum(axis=1, keepdims=True), 1)
        context = np.einsum("bk,bkm->bm", powers / total, keys)[:, None, :]
        return context - (powers / total)[:, :, None] * keys + (new / total)[:, :, None] * other_keys


def contexts_exchanged__mask_ignored(query, keys, other_keys, source_mask, W_query, W_key, v):
    """Padding of the words has some of the weight. Take the softmax over real letters only, own and exchanged."""
    return _exchange(query, keys, other_keys, source_mask, W_query, W_key, v, masked=False)


def contexts_exchanged__nothing_at_padding(query, keys, other_keys, source_mask, W_query, W_key, v):
    """At padding, you returned zeros. An exchange changes nothing there, so the context is that of the word as it is."""
    return _exchange(query, keys, other_keys, source_mask, W_query, W_key, v) * source_mask[:, :, None]


def contexts_exchanged__overflow(query, keys, other_keys, source_mask, W_query, W_key, v):
    """exp overflows for scores above 709. Subtracting the same number from all scores of a row changes no weight."""
    return _exchange(query, keys, other_keys, source_mask, W_query, W_key, v, shift=0.0)


def contexts_exchanged__maximum_before_the_exchange(query, keys, other_keys, source_mask, W_query, W_key, v):
    """You subtracted the largest score before the exchange. The new score may be far above it, or the largest may be gone."""
    own = np.tanh((query @ W_query.T)[:, None, :] + keys @ W_key.T) @ v
    best = np.where(source_mask, own, np.finfo(float).min).max(axis=1)[:, None, None, None]
    return _exchange(query, keys, other_keys, source_mask, W_query, W_key, v, shift=best)


def contexts_exchanged__no_tanh(query, keys, other_keys, source_mask, W_query, W_key, v):
    """The scores lack their tanh."""
    return _exchange(query, keys, other_keys, source_mask, W_query, W_key, v, tanh=lambda sums: sums)


def contexts_exchanged__no_letter(query, keys, other_keys, source_mask, W_query, W_key, v):
    """In a word without a real letter, your result is not a number, since you divide 0 by 0. Its contexts are zeros."""
    contexts = _exchange(query, keys, other_keys, source_mask, W_query, W_key, v)
    return np.where(source_mask.any(axis=1)[:, None, None], contexts, np.nan)


def contexts_exchanged__squeezed(query, keys, other_keys, source_mask, W_query, W_key, v):
    """An axis of length 1 went missing. For one word, or words of one letter, the result still has three axes."""
    return np.squeeze(_exchange(query, keys, other_keys, source_mask, W_query, W_key, v))
