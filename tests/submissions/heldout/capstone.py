"""Answers written from the released notebook alone, before any was graded."""

import numpy as np


def exact_match__wrong_common_columns_only(words, target):
    """Compares only the columns that both arrays have, so a sentence cut off before its stop token counts as right."""
    width = min(words.shape[1], target.shape[1])
    same = (words[:, :width] == target[:, :width]) | (target[:, :width] == 0)
    return float(same.all(axis=1).mean())


def exact_match__wrong_stop_not_required(words, target):
    """Compares the words before the stop token alone, so a model that goes on writing counts as right."""
    right = 0
    for row, wanted in zip(words.tolist(), target.tolist(), strict=True):
        n = wanted.index(2)
        right += row[:n] == wanted[:n]
    return right / len(words)


def exact_match__wrong_stop_found_by_argmax(words, target):
    """Looks for the stop token by argmax: without one it says 0, and only the first word is compared."""
    right = []
    for row, wanted in zip(words, target, strict=True):
        end = np.argmax(row == 2)
        right.append(np.array_equal(row[: end + 1], wanted[: end + 1]))
    return np.mean(right)


def exact_match__wrong_single_words(words, target):
    """Measures the fraction of right words instead of right sentences."""
    width = min(words.shape[1], target.shape[1])
    real = target[:, :width] != 0
    return float((words[:, :width] == target[:, :width])[real].mean())


def exact_match__wrong_count(words, target):
    """Returns how many sentences are right, not the fraction."""
    count = 0
    for row, wanted in zip(words.tolist(), target.tolist(), strict=True):
        end = wanted.index(2) + 1
        count += row[:end] == wanted[:end]
    return count


def exact_match__wrong_equal_columns_needed(words, target):
    """Compares whole arrays after the last stop was found, so arrays of different width cannot be compared."""
    cleaned = np.where(np.cumsum(words == 2, axis=1) - (words == 2) > 0, 0, words)
    return float(np.mean(np.all(cleaned == target, axis=1)))


def exact_match__right_python_lists(words, target):
    """Cuts both rows after their first stop token, as lists, and compares."""
    right = 0
    for row, wanted in zip(np.asarray(words).tolist(), np.asarray(target).tolist(), strict=True):
        wanted = wanted[: wanted.index(2) + 1]
        right += row[: len(wanted)] == wanted
    return right / len(words)


def exact_match__right_padded_to_target(words, target):
    """Pads what the model wrote to the width of the target and compares up to the stop token."""
    missing = max(target.shape[1] - words.shape[1], 0)
    padded = np.pad(words, ((0, 0), (0, missing)), constant_values=-1)[:, : target.shape[1]]
    return np.mean(((padded == target) | (target == 0)).all(axis=1))


def exact_match__right_generator_arrays(words, target):
    """Compares arrays, each cut at the number of real target words."""
    lengths = np.count_nonzero(target, axis=1)
    return float(np.mean([np.array_equal(w[:n], t[:n]) for w, t, n in zip(words, target, lengths, strict=True)]))


def noun_alignment__wrong_missed_nouns_not_counted(weights, positions):
    """Cuts both arrays to the steps that were taken, so nouns that the model did not come to are not counted."""
    steps = min(weights.shape[1], positions.shape[1])
    found, wanted = weights[:, :steps].argmax(axis=-1), positions[:, :steps]
    return float((found == wanted)[wanted >= 0].mean())


def noun_alignment__wrong_first_position_no_noun(weights, positions):
    """Takes position 0 for no noun, although only -1 says that."""
    hits, nouns = 0, 0
    for b in range(len(positions)):
        for i in range(positions.shape[1]):
            if positions[b, i] > 0:
                nouns += 1
                hits += i < weights.shape[1] and weights[b, i].argmax() == positions[b, i]
    return hits / max(nouns, 1)


def noun_alignment__wrong_mean_of_sentences(weights, positions):
    """Takes the fraction of each sentence and averages these, so nouns of short sentences count more."""
    fractions = []
    for table, wanted in zip(weights, positions, strict=True):
        nouns = [i for i, place in enumerate(wanted) if place >= 0]
        if nouns:
            hits = [i < len(table) and np.argmax(table[i]) == wanted[i] for i in nouns]
            fractions.append(np.mean(hits))
    return float(np.mean(fractions))


def noun_alignment__wrong_mean_weight(weights, positions):
    """Averages the weight on the right source word, instead of asking whether it is the largest."""
    total, nouns = 0.0, 0
    for b, i in zip(*np.nonzero(positions >= 0), strict=True):
        nouns += 1
        if i < weights.shape[1]:
            total += weights[b, i, positions[b, i]]
    return total / nouns


def noun_alignment__wrong_more_than_half(weights, positions):
    """Asks for more than half of the weight on the right source word, although the largest weight may be smaller."""
    hits, nouns = 0, 0
    for b, i in np.argwhere(positions != -1):
        nouns += 1
        if i < weights.shape[1]:
            hits += weights[b, i, positions[b, i]] > 0.5
    return hits / nouns


def noun_alignment__wrong_as_many_steps_as_positions(weights, positions):
    """Compares the arrays as they are, which fails when the model took more or fewer steps than there are positions."""
    right = weights.argmax(axis=2) == positions
    return float(right[positions >= 0].mean())


def noun_alignment__wrong_argmax_over_steps(weights, positions):
    """Looks for the step with the largest weight at a source word, along the wrong axis."""
    found = weights.argmax(axis=1)
    hits, nouns = 0, 0
    for b, i in np.argwhere(positions != -1):
        nouns += 1
        hits += i < weights.shape[1] and found[b, min(positions[b, i], found.shape[1] - 1)] == positions[b, i]
    return hits / nouns


def noun_alignment__wrong_other_words_in_denominator(weights, positions):
    """Divides the hits by the number of all target words, nouns or not."""
    steps = min(weights.shape[1], positions.shape[1])
    hits = (weights[:, :steps].argmax(axis=2) == positions[:, :steps]).sum()
    return float(hits / positions.size)


def noun_alignment__wrong_answer_of_the_check(weights, positions):
    """Returns the number of the shown example, whatever is given."""
    return 0.5


def noun_alignment__right_padded_argmax(weights, positions):
    """Fills an array of misses with what was found, and compares at the nouns."""
    found = np.full(positions.shape, -2)
    steps = min(found.shape[1], weights.shape[1])
    found[:, :steps] = np.where(weights[:, :steps].any(-1), np.argmax(weights[:, :steps], axis=-1), -2)
    return float(np.mean(found[positions != -1] == positions[positions != -1]))


def noun_alignment__right_plain_loops(weights, positions):
    """Counts nouns and hits in two loops over plain lists."""
    hits = nouns = 0
    for table, wanted in zip(weights.tolist(), positions.tolist(), strict=True):
        for step, place in enumerate(wanted):
            if place == -1:
                continue
            nouns += 1
            if step < len(table) and max(table[step]) > 0 and table[step].index(max(table[step])) == place:
                hits += 1
    return hits / nouns


def noun_alignment__right_advanced_index(weights, positions):
    """Looks up all nouns at once, and divides the hits by the number of nouns."""
    batch, step = np.nonzero(positions >= 0)
    reached = step < weights.shape[1]
    reached[reached] = weights[batch[reached], step[reached]].max(axis=1) > 0
    largest = weights[batch[reached], step[reached]].argmax(axis=1)
    return np.count_nonzero(largest == positions[batch[reached], step[reached]]) / batch.size
