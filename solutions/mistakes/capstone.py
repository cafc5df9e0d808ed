"""Wrong answers that students give to the capstone's exercises. The docstring is the hint."""

import inspect
from collections import Counter

import numpy as np
import torch

from solutions.in_numpy.capstone import noun_alignment
from solutions.in_torch.capstone import assemble, run_translator


def count_parameters__one_direction():
    """An annotation concatenates the states of both encoder directions, so W_key needs more columns."""
    return {"W_query": 2304, "W_key": 2304, "v": 48, "all": 4656}


def count_parameters__v_forgotten():
    """Your count for each part is right, but your sum leaves one part out."""
    return {"W_query": 2304, "W_key": 4608, "v": 48, "all": 6912}


def _rates(**changed):
    return {"diverges": 6, "short": 3, "long": 2, "stop_curve": 2, "stop_column": 6, "next": 3} | changed


def choose_rate__by_the_training_loss():
    """You chose by the training loss. What counts is the loss on sentences that the model was not trained on."""
    return _rates(short=4, long=4, stop_curve=4, stop_column=7)


def choose_rate__one_for_any_number_of_steps():
    """The curves cross, so the best rate after 300 steps need not be the best after 1000. Read each column separately."""
    return _rates(long=3)


def choose_rate__one_for_the_end():
    """The curves cross, so the best rate after 1000 steps need not be the best after 300. Read each column separately."""
    return _rates(short=2)


def choose_rate__what_falls_first():
    """You chose the rate that is best after 100 steps. Read the column for the number of steps that will be used."""
    return _rates(short=5)


def choose_rate__still_falling():
    """A curve that is still falling at the end may become the lowest later, but it is not the lowest yet."""
    return _rates(long=1)


def choose_rate__rising_is_diverging():
    """The curve you chose for `diverges` turns upwards, but it stays far below ln 32, the loss of a uniform guess.
    Does any curve stay above ln 32?"""
    return _rates(diverges=5)


def choose_rate__stopped_at_the_end():
    """The last entry of a row need not be its lowest: look for the lowest entry in the whole table."""
    return _rates(stop_column=7)


def choose_rate__stopped_where_300_is_best():
    """The entry that you chose is only the lowest of its own row. Look for the lowest entry in the whole table."""
    return _rates(stop_curve=3, stop_column=4)


def choose_rate__columns_from_zero():
    """You counted the columns from 0. The first column, after no step, is column 1."""
    return _rates(stop_column=5)


def choose_rate__gap_in_the_tried_rates():
    """You chose a rate in the gap between two rates that were tried. The best of these is at the other end."""
    return _rates(next=5)


def choose_rate__edge_taken():
    """The best of the three rates is also the smallest. An even smaller rate, which nobody has tried, may be better."""
    return _rates(next=4)


def choose_rate__other_side():
    """The best of the three rates is the smallest. Check a rate on the side where none has been tried."""
    return _rates(next=6)


def choose_rate__two_steps_beyond():
    """You are right to look below the smallest rate, but you skipped a rate that may be the best: go down by a factor of 2."""
    return _rates(next=2)


def _curves(**changed):
    return {"A": 4, "B": 2, "C": 5, "D": 1, "E": 3, "floor": 2.518, "words": 710, "jump": 4} | changed


def read_curves__rate_and_gradients_exchanged():
    """Compare the validation losses of runs B and D after the first step. Can bug 1 change this step? Can bug 2?"""
    return _curves(B=1, D=2)


def read_curves__softmax_and_reading_exchanged():
    """Runs A and C both end with a high validation loss, but only in run C is the printed loss near 0: which bug
    makes the training task that easy?"""
    return _curves(A=5, C=4)


def read_curves__pads_for_the_reading():
    """With padding in the average, the validation loss would still fall to almost 0. In run C, the validation loss
    ends far above its first value."""
    return _curves(C=6)


def read_curves__pads_for_the_gradients():
    """With padding in the average, even the first printed loss would differ. Compare run B with the run without a bug."""
    return _curves(B=6)


def read_curves__pads_for_the_sum():
    """An average over words is about as large as the loss of one word, with or without padding. Look at the first
    printed loss of run E."""
    return _curves(E=6)


def read_curves__rate_for_the_sum():
    """A larger learning rate does not change the first printed loss, because no step has been taken yet. Look at run E."""
    return _curves(D=3, E=1)


def read_curves__rate_for_the_softmax():
    """If the learning rate is too large, the printed loss jumps up and down. In run A, the printed loss falls
    slowly and steadily."""
    return _curves(A=1, D=4)


def read_curves__floor_of_zero():
    """With bug 4, the cross-entropy receives probabilities, so no two of its inputs differ by more than 1. How large a
    probability can the second softmax then give the target word?
    """
    return _curves(floor=0.0)


def read_curves__floor_of_guessing():
    """Your `floor` is the loss of a uniform guess. Even with bug 4, the model can give the target word a probability of 1."""
    return _curves(floor=3.466)


def read_curves__floor_of_33_words():
    """For `floor`, you counted one word too many: one of the 32 words is the target word, so how many others are there?"""
    return _curves(floor=2.547)


def read_curves__floor_that_was_reached():
    """Your `floor` is the printed loss after 300 steps. The exercise asks for a value that no number of steps can go below."""
    return _curves(floor=2.909)


def read_curves__jump_as_overfitting():
    """If the model had overfitted, its validation loss would stay high. Look at the columns after step 100."""
    return _curves(jump=1)


def read_curves__jump_as_other_sentences():
    """The validation sentences are the same at every step. Do they look harder at the other steps?"""
    return _curves(jump=2)


def read_curves__jump_as_an_easy_batch():
    """The other runs read the same batch at step 100. Compare their printed losses at this step with their validation losses."""
    return _curves(jump=3)


def read_curves__words_of_the_validation():
    """For `words`, you divided by a validation loss. Both losses must come from the same batch and the same parameters."""
    return _curves(words=715)


def read_curves__words_not_averaged():
    """For `words`, you gave the sum of the losses. Divide this sum by the average loss per word in the same batch."""
    return _curves(words=2489)


def read_curves__words_of_a_sentence():
    """For `words`, you divided by the number of sentences. Divide by the average loss per word instead."""
    return _curves(words=39)


def read_curves__words_by_guessing():
    """For `words`, you divided by the loss of a uniform guess. Divide by the average loss per word of this batch,
    which another run prints."""
    return _curves(words=718)


def exact_match__words_not_sentences(words, target):
    """You counted individual words. A sentence is right only if all its words are right."""
    steps = min(words.shape[1], target.shape[1])
    return float((words[:, :steps] == target[:, :steps]).mean())


def exact_match__share_of_words(words, target):
    """You averaged over words. Average over sentences: a sentence is right only if all its words are right."""
    padded = np.full((len(target), target.shape[1]), -1)
    steps = min(words.shape[1], target.shape[1])
    padded[:, :steps] = words[:, :steps]
    return float((padded == target)[target != 0].mean())


def exact_match__share_of_common_words(words, target):
    """You counted right words, in the columns that both arrays have. Count sentences: all words must be right, and the stop
    token as well."""
    steps = min(words.shape[1], target.shape[1])
    return float((words[:, :steps] == target[:, :steps])[target[:, :steps] != 0].mean())


def exact_match__common_columns(words, target):
    """You compared only the columns that both arrays have. An output that ends before the target's stop token is wrong."""
    right = 0
    for row, wanted in zip(words.tolist(), target.tolist(), strict=True):
        end = wanted.index(2) + 1
        right += row[:end] == wanted[: min(end, len(row))]
    return right / len(words)


def exact_match__whole_rows(words, target):
    """Ignore everything after the stop token, both in the model's output and in the target."""
    steps = min(words.shape[1], target.shape[1])
    return float((words[:, :steps] == target[:, :steps]).all(axis=1).mean())


def exact_match__first_word(words, target):
    """You compared only the first word of each sentence."""
    return float((words[:, 0] == target[:, 0]).mean())


def exact_match__stop_not_needed(words, target):
    """A sentence that continues after the last target word is wrong: the next word must be the stop token."""
    right = 0
    for row, wanted in zip(words.tolist(), target.tolist(), strict=True):
        wanted = wanted[: wanted.index(2)]
        right += row[: len(wanted)] == wanted
    return right / len(words)


def exact_match__order_ignored(words, target):
    """The same words in a different order make a different sentence: compare them position by position."""
    right = 0
    for row, wanted in zip(words.tolist(), target.tolist(), strict=True):
        row = row[: row.index(2)] if 2 in row else [-1]
        right += sorted(row) == sorted(wanted[: wanted.index(2)])
    return right / len(words)


def exact_match__digits_joined(words, target):
    """You joined the numbers without a separator, so 3, 13 looks the same as 31, 3. Compare the numbers themselves."""

    def text(row):
        row = list(row)
        return "".join(str(word) for word in row[: row.index(2)]) + "." if 2 in row else "".join(map(str, row))

    return sum(text(a) == text(b) for a, b in zip(words, target, strict=True)) / len(words)


def exact_match__zeros_dropped(words, target):
    """You dropped every 0 that the model wrote. Before the stop token, a 0 is a wrong word like any other."""
    right = 0
    for row, wanted in zip(words, target, strict=True):
        row, wanted = [w for w in row if w != 0], [w for w in wanted if w != 0]
        right += row[: len(wanted)] == wanted
    return right / len(words)


def exact_match__after_the_stop(words, target):
    """You compared what follows the stop token as well. Ignore it, both in the model's output and in the target."""
    width = max(words.shape[1], target.shape[1])
    rows = [np.pad(each, ((0, 0), (0, width - each.shape[1]))) for each in (words, target)]
    return float((rows[0] == rows[1]).all(axis=1).mean())


def exact_match__first_stop_by_argmax(words, target):
    """Where the model writes no stop token, your search for the first one finds position 0: argmax of no True is 0."""
    right = 0
    for row, wanted in zip(words, target, strict=True):
        row, wanted = (each[: np.argmax(each == 2)].tolist() for each in (row, wanted))
        right += row == wanted
    return right / len(words)


def _bleu_by_hand(**changed):
    return {"found": [10, 8, 6, 4], "brevity": 0.920044, "bleu": 0.699083, "unknown": 0.376775, **changed}


def bleu_by_hand__not_clipped():
    """You found a word of the second translation more often than it occurs in the reference."""
    return _bleu_by_hand(found=[11, 8, 6, 4], bleu=0.715951, unknown=0.386831)


def bleu_by_hand__mean_of_the_sentences():
    """You averaged the values of the two sentences. Add up their counts first, then divide."""
    return _bleu_by_hand(bleu=0.678312, unknown=0.273759)


def bleu_by_hand__ratio_of_the_lengths():
    """For `brevity`, you divided the numbers of words. Look at the exponential in its formula."""
    return _bleu_by_hand(brevity=0.923077, bleu=0.701387, unknown=0.378017)


def bleu_by_hand__no_brevity():
    """Count the words of both references and of both translations: are the translations long enough?"""
    return _bleu_by_hand(brevity=1.0, bleu=0.759836, unknown=0.409518)


def bleu_by_hand__lengths_swapped():
    """You divided the numbers of words the wrong way round, so your exponent is positive."""
    return _bleu_by_hand(brevity=1.079959, bleu=0.820592, unknown=0.442263)


def bleu_by_hand__arithmetic_mean():
    """You took the arithmetic mean of the four fractions. BLEU multiplies them and takes the fourth root."""
    return _bleu_by_hand(bleu=0.701534, unknown=0.435104)


def bleu_by_hand__no_root():
    """The fourth root is missing."""
    return _bleu_by_hand(bleu=0.306681, unknown=0.025876)


def bleu_by_hand__across_the_sentences():
    """You counted sequences that begin in one sentence and end in the other."""
    return _bleu_by_hand(bleu=0.583351, unknown=0.314401)


def bleu_by_hand__one_word_lost():
    """For `unknown`, you lost a single word. Which longer sequences contained it?"""
    return _bleu_by_hand(unknown=0.680909)


def bleu_by_hand__unknown_word_left_out():
    """`[UNK]` is a word of the translation: its sequences count, although they cannot be found."""
    return _bleu_by_hand(unknown=0.387695)


def bleu_by_hand__unknown_word_found():
    """You counted `[UNK]` as right. The reference still contains the word itself."""
    return _bleu_by_hand(unknown=0.699083)


def _sentence(row):
    row = row.tolist()
    return row[: row.index(2)] if 2 in row else row


def _sequences(sentence, size):
    return Counter(tuple(sentence[i : i + size]) for i in range(len(sentence) - size + 1))


def _found(ours, theirs):
    return sum((ours & theirs).values()), sum(ours.values())


def _found_anywhere(ours, theirs):
    return sum(count for sequence, count in ours.items() if sequence in theirs), sum(ours.values())


def _found_once(ours, theirs):
    return len(ours.keys() & theirs.keys()), len(ours)


def _brevity(written, wanted):
    return min(1.0, np.exp(1 - wanted / written)) if written else 0.0


def _bleu(sentences, targets, *, count=_found, brevity=_brevity, smoothing=0, longest=4, mean=None):
    """Return the BLEU of lists of words, with one thing changed."""
    counts = np.zeros((longest, 2))
    for sentence, target in zip(sentences, targets, strict=True):
        for size in range(1, longest + 1):
            counts[size - 1] += count(_sequences(sentence, size), _sequences(target, size))
    counts += smoothing
    if not counts.all():
        return 0.0
    fractions = counts[:, 0] / counts[:, 1]
    lengths = sum(map(len, sentences)), sum(map(len, targets))
    return 100 * brevity(*lengths) * (fractions.prod() ** (1 / longest) if mean is None else mean(fractions))


def corpus_bleu__not_clipped(words, target):
    """You counted a sequence as found each time it was written. It counts at most as often as its target contains it."""
    return _bleu([*map(_sentence, words)], [*map(_sentence, target)], count=_found_anywhere)


def corpus_bleu__each_sequence_once(words, target):
    """You counted each different sequence only once. One that both sentences have twice counts twice."""
    return _bleu([*map(_sentence, words)], [*map(_sentence, target)], count=_found_once)


def corpus_bleu__mean_of_the_sentences(words, target):
    """You averaged the BLEU of the sentences. Add up the counts and lengths of all sentences first."""
    return np.mean([_bleu([_sentence(row)], [_sentence(wanted)]) for row, wanted in zip(words, target, strict=True)])


def corpus_bleu__padding_is_wanted(words, target):
    """You counted the padding of the targets as words. A target ends before its stop token."""
    return _bleu([*map(_sentence, words)], [[w for w in row.tolist() if w != 2] for row in target])


def corpus_bleu__stop_is_a_word(words, target):
    """You counted stop tokens as words, and they are nearly always right. Leave them out of both sentences."""
    ours = [row.tolist()[: len(_sentence(row)) + 1] for row in words]
    return _bleu(ours, [[*_sentence(row), 2] for row in target])


def corpus_bleu__reads_on_after_stop(words, target):
    """You left out the stop token but kept what the model wrote after it."""
    return _bleu([[w for w in row.tolist() if w != 2] for row in words], [*map(_sentence, target)])


def corpus_bleu__zeros_dropped(words, target):
    """You dropped every 0 that the model wrote. Before the stop token, a 0 is a wrong word like any other."""
    return _bleu([[w for w in _sentence(row) if w != 0] for row in words], [*map(_sentence, target)])


def corpus_bleu__no_brevity(words, target):
    """Your value does not fall if the model stops too early: the factor for brevity is missing."""
    return _bleu([*map(_sentence, words)], [*map(_sentence, target)], brevity=lambda written, wanted: 1.0)


def corpus_bleu__ratio_of_the_lengths(words, target):
    """As the factor for brevity, you used the ratio of the lengths. Look at the exponential in its formula."""
    return _bleu([*map(_sentence, words)], [*map(_sentence, target)], brevity=lambda a, b: min(1.0, a / b))


def corpus_bleu__long_is_better(words, target):
    """Your factor for brevity exceeds 1 if the model writes more words than the targets have."""
    return _bleu([*map(_sentence, words)], [*map(_sentence, target)], brevity=lambda a, b: np.exp(1 - b / a))


def corpus_bleu__brevity_of_each_sentence(words, target):
    """You averaged the factors for brevity of single sentences. Compare the lengths of the whole batch."""
    pairs = [(_sentence(row), _sentence(wanted)) for row, wanted in zip(words, target, strict=True)]
    mean = np.mean([_brevity(len(ours), len(wanted)) for ours, wanted in pairs])
    return _bleu(*map(list, zip(*pairs, strict=True)), brevity=lambda written, wanted: mean)


def corpus_bleu__smoothed(words, target):
    """You added 1 to the counts. The exercise asks for BLEU without smoothing."""
    return _bleu([*map(_sentence, words)], [*map(_sentence, target)], smoothing=1)


def corpus_bleu__up_to_three_words(words, target):
    """You stopped at sequences of three words. range(1, 4) does not contain 4."""
    return _bleu([*map(_sentence, words)], [*map(_sentence, target)], longest=3)


def corpus_bleu__only_lengths_that_were_written(words, target):
    """You skip a length of which no sequence was written. Its fraction is 0, and so is BLEU."""
    ours, theirs = [*map(_sentence, words)], [*map(_sentence, target)]
    return _bleu(ours, theirs, longest=min(4, max(1, *map(len, ours))))


def corpus_bleu__arithmetic_mean(words, target):
    """You took the arithmetic mean of the four fractions. BLEU multiplies them and takes the fourth root."""
    return _bleu([*map(_sentence, words)], [*map(_sentence, target)], mean=np.mean)


def corpus_bleu__no_root(words, target):
    """The fourth root is missing."""
    return _bleu([*map(_sentence, words)], [*map(_sentence, target)], mean=np.prod)


def corpus_bleu__between_0_and_1(words, target):
    """You returned a fraction from 0 to 1. The exercise asks for a percentage."""
    return _bleu([*map(_sentence, words)], [*map(_sentence, target)]) / 100


def corpus_bleu__across_the_sentences(words, target):
    """You joined all sentences to a single text, so some of your sequences begin in one sentence and end in the next."""
    return _bleu([[w for row in words for w in _sentence(row)]], [[w for row in target for w in _sentence(row)]])


def corpus_bleu__found_in_any_target(words, target):
    """You looked for a sequence in the targets of other sentences, too. Each sentence has a target of its own."""
    targets = [*map(_sentence, target)]

    def count(ours, theirs):
        anywhere = Counter()
        for wanted in targets:
            for size in {len(sequence) for sequence in ours}:
                anywhere |= _sequences(wanted, size)
        return _found(ours, anywhere)

    return _bleu([*map(_sentence, words)], targets, count=count)


def corpus_bleu__nothing_over_nothing(words, target):
    """If a count is 0, you divide 0 by 0 or take the logarithm of 0. The result should be 0."""
    value = _bleu([*map(_sentence, words)], [*map(_sentence, target)])
    return value if value else np.nan


def noun_alignment__all_words(weights, positions):
    """Words that are not nouns have no right position: count them neither in the numerator nor in the denominator."""
    steps = min(weights.shape[1], positions.shape[1])
    return float((weights.argmax(axis=-1)[:, :steps] == positions[:, :steps]).sum() / positions.size)


def noun_alignment__mean_of_sentences(weights, positions):
    """You averaged the fractions of the sentences. Divide the hits of the whole batch by all its nouns, once."""
    fractions = []
    for row, places in zip(weights, positions, strict=True):
        nouns = [(step, place) for step, place in enumerate(places) if place >= 0]
        hits = sum(step < len(row) and row[step].any() and row[step].argmax() == place for step, place in nouns)
        fractions += [hits / len(nouns)] if nouns else []
    return float(np.mean(fractions))


def noun_alignment__divided_by_all_words(weights, positions):
    """Your hits are right, but you divided them by the number of all target positions. Divide by the number of nouns."""
    hits = 0
    for row, places in zip(weights, positions, strict=True):
        for step, place in enumerate(places[: len(row)]):
            hits += bool(place >= 0 and row[step].any() and row[step].argmax() == place)
    return hits / positions.size


def noun_alignment__weight_mass(weights, positions):
    """You averaged the weight on the right word. The exercise asks how often the largest weight is on the right word."""
    total, count = 0.0, 0
    for row, places in zip(weights, positions, strict=True):
        for step, place in enumerate(places):
            if place >= 0:
                total += row[step, place] if step < len(row) else 0.0
                count += 1
    return float(total / count)


def noun_alignment__above_half(weights, positions):
    """The largest weight of a row need not exceed one half: compare it with the other weights, not with a fixed number."""
    hits = 0
    for row, places in zip(weights, positions, strict=True):
        hits += sum(row[step, place] > 0.5 for step, place in enumerate(places[: len(row)]) if place >= 0)
    return float(hits / (positions >= 0).sum())


def noun_alignment__missed_steps_forgiven(weights, positions):
    """A noun that the model never reached counts as missed, so it belongs in the denominator."""
    steps = min(weights.shape[1], positions.shape[1])
    places = positions[:, :steps]
    return float(((weights.argmax(axis=-1)[:, :steps] == places) & (places >= 0)).sum() / (places >= 0).sum())


def noun_alignment__largest_of_zeros(weights, positions):
    """In a row of zeros, you took the first entry as the largest. Such a row belongs to a step that was not taken,
    so its noun counts as missed."""
    steps = min(weights.shape[1], positions.shape[1])
    hits = (weights.argmax(axis=-1)[:, :steps] == positions[:, :steps]) & (positions[:, :steps] >= 0)
    return hits.sum() / (positions >= 0).sum()


def noun_alignment__target_axis(weights, positions):
    """You searched along the wrong axis: for each target word, find the largest weight over the source positions."""
    best = weights.argmax(axis=1)
    steps = min(best.shape[1], positions.shape[1])
    return float((best[:, :steps] == positions[:, :steps]).sum() / (positions >= 0).sum())


def noun_alignment__late_nouns_left_out(weights, positions):
    """You left out the nouns at steps beyond the last row of weights. They count as missed, so they belong in the denominator."""
    hits = count = 0
    for row, places in zip(weights, positions, strict=True):
        for step, place in enumerate(places[: len(row)]):
            hits += bool(place >= 0 and row[step].any() and row[step].argmax() == place)
            count += place >= 0
    return float(hits / max(1, count))


def noun_alignment__first_position_no_noun(weights, positions):
    """Position 0 is that of the first source word. Only -1 says that a word is not a noun."""
    return noun_alignment(weights, np.where(positions > 0, positions, -1))


def noun_alignment__zero_weight_no_step(weights, positions):
    """You took a step with a weight of 0 for one that was not taken. In such a step, all weights are 0."""
    return noun_alignment(np.where((weights > 0).all(axis=-1, keepdims=True), weights, 0), positions)


def noun_alignment__sum_of_exactly_one(weights, positions):
    """The weights of a step need not sum to 1 in the last digit: do not compare their sum with exactly 1."""
    return noun_alignment(np.where(weights.sum(axis=-1, keepdims=True) == 1, weights, 0), positions)


NAMES = tuple(inspect.signature(assemble).parameters)


def _encode(p, real, kept):
    """Return the states of both directions, with one thing changed."""
    vectors, directions = p["E_source"][p["source"]], []
    there = range(vectors.shape[1])
    for W_x, W_h, order in ((p["W_x"], p["W_h"], there), (p["W_x_back"], p["W_h_back"], reversed(there))):
        state, states = vectors.new_zeros(len(vectors), len(W_h)), {}
        for j in order:
            new = torch.tanh(vectors[:, j] @ W_x.T + state @ W_h.T)
            states[j] = new * real[:, j, None]
            state = states[j] if kept else 0 * new
        directions.append(torch.stack([states[j] for j in sorted(states)], dim=1))
    return directions


def _weigh(scores, real, mask):
    if mask == "times":
        return torch.softmax(scores * real, dim=1)
    if mask == "after":
        return torch.softmax(scores, dim=1) * real
    return torch.softmax(scores if mask == "none" else scores.masked_fill(~real, -1e9), dim=1)


def _step(p, word, state, keys, real, *, mask="before", order="bahdanau", reads_out="new", detached=False):
    """Return logits and the new state of one step, with one thing changed."""
    if detached:
        state = state.detach()
    before = p["E_target"][word] @ p["W_y"].T + state @ p["W_s"].T
    query = torch.tanh(before) if order == "late" else state
    scores = torch.tanh((query @ p["W_query"].T).unsqueeze(1) + keys @ p["W_key"].T) @ p["v"]
    context = torch.einsum("bj,bjm->bm", _weigh(scores, real, mask), keys)
    new = torch.tanh(before + context @ p["W_c"].T)
    return (state if reads_out == "old" else new) @ p["W_o"].T, new


def _start(p, begins, forward, back):
    """Return the first state of the decoder, with one thing changed."""
    if begins == "last":
        return torch.tanh((forward * _is_last(p["source_mask"])).sum(dim=1) @ p["W_init"].T)
    if begins == "zeros":
        return 0 * torch.tanh(back[:, 0] @ p["W_init"].T)
    linear = back[:, 0] @ p["W_init"].T
    return linear if begins == "linear" else torch.tanh(linear)


def _is_last(source_mask):
    positions = torch.arange(source_mask.shape[1])
    return (positions == source_mask.sum(dim=1, keepdim=True) - 1).unsqueeze(-1)


def _teach(p, state, keys, first, reads, carried, changed):
    """Return the losses of the target words, with one thing changed."""
    target, start, every_logit = p["target"], state, []
    word = torch.full_like(target[:, 0], first)
    for right in target.unbind(dim=1):
        word = right if reads == "ahead" else word
        logits, state = _step(p, word, state, keys, p["source_mask"], **changed)
        state = state if carried else start
        every_logit.append(logits)
        word = logits[:, 2:].argmax(dim=-1) + 2 if reads == "own" else right
    logits = torch.stack(every_logit, dim=1)
    losses = torch.nn.functional.cross_entropy(logits.flatten(0, 1), target.flatten(), reduction="none")
    return losses.view_as(target) * (target != 0)


def _translate(p, state, keys, first, carried, reads, choices, stops, limits, changed):
    """Return the translations, with one thing changed."""
    start, words = state, []
    word = read = torch.full_like(limits, first)
    stopped = torch.zeros_like(limits, dtype=torch.bool)
    for step in range(int(p["limits"].max())):
        logits, state = _step(p, read, state, keys, p["source_mask"], **changed)
        state = state if carried else start
        word = logits[:, choices:].argmax(dim=-1) + choices
        ended = stopped | (step >= limits)
        words.append(word.masked_fill(ended, 0))
        if stops in ("each", "not written"):
            stopped = stopped | (word == 2)
        elif stops == "all":
            stopped = stopped | (word == 2).any()
        elif stops == "first end":
            stopped = stopped | (ended | (word == 2)).any()
        read = {"start": torch.full_like(word, 1), "target": p["target"][:, step]}.get(reads, word)
    words = torch.stack(words, dim=1)
    return torch.where(words == 2, 0, words) if stops == "not written" else words


def _assemble(
    given, *, begins="back", first=1, carried="always", reads="", mask="before", encoder_mask=True, **changed
):
    """Return what ``assemble`` returns for the arguments ``given``, with one thing changed."""
    p = dict(zip(NAMES, given, strict=False))
    choices, stops, limits = changed.pop("choices", 2), changed.pop("stops", "each"), changed.pop("limits", None)
    only_taught = mask == "in forward"
    real = p["source_mask"] if encoder_mask else torch.ones_like(p["source_mask"])
    forward, back = _encode(p, real, kept=changed.pop("kept", True))
    keys = torch.cat([back, forward] if changed.pop("swapped", False) else [forward, back], dim=-1)
    state = _start(p, begins, forward, back)
    if p.get("limits") is None:
        changed["mask"] = "before" if only_taught else mask
        return _teach(p, state, keys, first, reads, carried != "never", changed)
    changed["mask"] = "none" if only_taught else mask
    limits = p["limits"] if limits is None else limits(p["limits"])
    return _translate(p, state, keys, first, carried == "always", reads, choices, stops, limits, changed)


def assemble__not_registered(*given):
    """The parameters cannot be loaded. Is each one an `nn.Parameter` and an attribute of the module, with the name of its
    argument and the same shape?"""
    return run_translator(torch.nn.Module(), {"E_source": given[3]}, *given[:3])


def assemble__first_word_is_padding(*given):
    """Your first step reads padding. Which word should the decoder read before it has written any?"""
    return _assemble(given, first=0)


def assemble__reads_the_word_to_predict(*given):
    """In `forward`, each step reads the very word that it has to predict. Compare where the target words are read and
    where they are compared."""
    return _assemble(given, reads="ahead")


def assemble__own_words_in_forward(*given):
    """In `forward`, your decoder reads the words that it would choose itself. With teacher forcing, what does it read?"""
    return _assemble(given, reads="own")


def assemble__target_words_in_translate(*given):
    """Your translations read the words of the target. Nobody knows these when a sentence is translated."""
    return _assemble(given, reads="target")


def assemble__start_at_every_step(*given):
    """Your translations read START at every step. What should be read after the first?"""
    return _assemble(given, reads="start")


def assemble__state_not_carried(*given):
    """Every step begins with the first state: the state that a step computes never reaches the next one."""
    return _assemble(given, carried="never")


def assemble__state_not_carried_in_translate(*given):
    """In `translate`, every step begins with the first state, although in `forward` each state reaches the next step."""
    return _assemble(given, carried="in forward")


def assemble__state_detached(*given):
    """Your losses are right, but the state is cut off from the graph between two steps, so no gradient flows back through it."""
    return _assemble(given, detached=True)


def assemble__mask_only_in_forward(*given):
    """`forward` masks the padding and `translate` does not: your translations attend to it."""
    return _assemble(given, mask="in forward")


def assemble__no_mask_in_attention(*given):
    """Padding gets a share of the attention weights. Annotations of zeros alone do not prevent that."""
    return _assemble(given, mask="none")


def assemble__scores_of_padding_zero(*given):
    """You set the scores of padding to 0, and a score of 0 still gets a weight."""
    return _assemble(given, mask="times")


def assemble__masked_after_the_softmax(*given):
    """You masked after the softmax, so the weights of the real words no longer sum to 1."""
    return _assemble(given, mask="after")


def assemble__encoder_reads_padding(*given):
    """The direction that reads backwards has read the padding before it reaches the last real word."""
    return _assemble(given, encoder_mask=False)


def assemble__encoder_forgets(*given):
    """Each word is read as if it were the first: no state of the encoder reaches the next word."""
    return _assemble(given, kept=False)


def assemble__directions_exchanged(*given):
    """In your annotations, the backward state comes first. The forward state should."""
    return _assemble(given, swapped=True)


def assemble__begins_with_zeros(*given):
    """Your decoder begins with a state of zeros, and W_init has no effect."""
    return _assemble(given, begins="zeros")


def assemble__begins_with_the_forward_state(*given):
    """Your decoder begins with the forward state of the last word. Which direction has read the whole sentence when it
    reaches the first word?"""
    return _assemble(given, begins="last")


def assemble__no_tanh_in_the_first_state(*given):
    """The tanh of the decoder's first state is missing."""
    return _assemble(given, begins="linear")


def assemble__scores_with_a_newer_state(*given):
    """Your scores are computed with a state that has already read the word. In Bahdanau's order, the old state comes first."""
    return _assemble(given, order="late")


def assemble__reads_out_the_old_state(*given):
    """Your logits come from the state before the step. They should come from the state that the step computes."""
    return _assemble(given, reads_out="old")


def assemble__padding_and_start_chosen(*given):
    """Your translations contain padding or START as if they were words. Which logits may be compared?"""
    return _assemble(given, choices=0)


def assemble__start_chosen(*given):
    """Your translations contain START. Padding is not the only word that must not be chosen."""
    return _assemble(given, choices=1)


def assemble__one_stop_ends_all(*given):
    """All translations end as soon as one of them has written STOP. The others should go on."""
    return _assemble(given, stops="all")


def assemble__one_end_ends_all(*given):
    """All translations end as soon as one of them has written STOP or reached its limit. The others should go on."""
    return _assemble(given, stops="first end")


def assemble__goes_on_after_stop(*given):
    """After STOP, a translation should have only zeros, however long the others go on."""
    return _assemble(given, stops="never")


def assemble__stop_not_written(*given):
    """STOP is missing from your translations. It is written like any other word, and only what follows it is 0."""
    return _assemble(given, stops="not written")


def assemble__limit_of_the_longest(*given):
    """Some translations are longer than their limit. Each sentence has a limit of its own."""
    return _assemble(given, limits=lambda limits: torch.full_like(limits, int(limits.max())))


def assemble__one_word_short(*given):
    """Translations that reach their limit have one word too few. START does not count, because it is not written."""
    return _assemble(given, limits=lambda limits: limits - 1)
