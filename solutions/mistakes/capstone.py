"""Wrong answers that students give to the capstone's exercises. The docstring is the hint."""

import torch
from torch import nn


def training_shapes__one_step(batch, T_x, T_y, m, V_y):
    """All steps of the decoder are asked for at once: there is an axis for them."""
    return {"target_in": (batch,), "contexts": (batch, m), "heat_maps": (batch, T_x), "predictions": (batch, V_y)}


def training_shapes__source_first(batch, T_x, T_y, m, V_y):
    """What belongs to a step has one row for each target word. Only a heat map knows the source words: as its columns."""
    return {
        "target_in": (batch, T_x),
        "contexts": (batch, T_x, m),
        "heat_maps": (batch, T_x, T_y),
        "predictions": (batch, T_x, V_y),
    }


def training_shapes__start_added(batch, T_x, T_y, m, V_y):
    """The decoder reads START, but not the last word: the target is moved by one place, and keeps its length."""
    return {
        "target_in": (batch, T_y + 1),
        "contexts": (batch, T_y, m),
        "heat_maps": (batch, T_y, T_x),
        "predictions": (batch, T_y, V_y),
    }


def training_shapes__predictions_are_words(batch, T_x, T_y, m, V_y):
    """A prediction is a distribution: one number for every word that could be written, not the word itself."""
    return {
        "target_in": (batch, T_y),
        "contexts": (batch, T_y, m),
        "heat_maps": (batch, T_y, T_x),
        "predictions": (batch, T_y),
    }


def count_parameters__one_direction():
    """An annotation joins both directions of the encoder, so W_key has more columns."""
    return {"W_query": 960, "W_key": 864, "v": 24, "all": 1848}


def count_parameters__square():
    """The attention size need not be the size of the decoder state: count rows and columns of each matrix again."""
    return {"W_query": 1600, "W_key": 2880, "v": 40, "all": 4520}


def count_parameters__v_forgotten():
    """The parts are counted, but their sum leaves one of them out."""
    return {"W_query": 960, "W_key": 1728, "v": 24, "all": 2688}


def _rates(**changed):
    return {"diverges": 6, "short": 3, "long": 2, "stop_curve": 2, "stop_column": 6, "next": 3} | changed


def choose_rate__by_the_training_loss():
    """You chose by the loss on sentences of the training. Sentences that were not trained on have to decide."""
    return _rates(short=4, long=4, stop_curve=4, stop_column=7)


def choose_rate__one_for_any_number_of_steps():
    """The curves cross: what is best after 300 steps need not be best after 1000. Read each column by itself."""
    return _rates(long=3)


def choose_rate__one_for_the_end():
    """The curves cross: what is best after 1000 steps need not be best after 300. Read each column by itself."""
    return _rates(short=2)


def choose_rate__what_falls_first():
    """The rate that is ahead after 100 steps has been overtaken since. Read the column of the steps that are used."""
    return _rates(short=5)


def choose_rate__still_falling():
    """A curve that is still falling at the end may come to lie lowest later. It does not lie lowest yet."""
    return _rates(long=1)


def choose_rate__rising_is_diverging():
    """That curve turns and rises, but far below the loss of guessing, which is ln 32. Is there a curve above it?"""
    return _rates(diverges=5)


def choose_rate__stopped_at_the_end():
    """The last entry of a row need not be its lowest: look for the lowest of the whole table."""
    return _rates(stop_column=7)


def choose_rate__stopped_where_300_is_best():
    """That is the lowest entry of its own row. Look for the lowest of the whole table."""
    return _rates(stop_curve=3, stop_column=4)


def choose_rate__edge_taken():
    """The best of the three is the lowest of them. A better one may lie beyond it, where nobody has looked."""
    return _rates(next=4)


def choose_rate__other_side():
    """Of the three rates, the best is the lowest: look at the side of it on which nothing has been tried."""
    return _rates(next=6)


def choose_rate__two_steps_beyond():
    """You go beyond the edge, but by more than a factor of 2, and so past a rate that may be the best."""
    return _rates(next=2)


def _curves(**changed):
    return {"A": 4, "B": 2, "C": 5, "D": 1, "E": 3, "floor": 2.518, "words": 710} | changed


def read_curves__rate_and_gradients_exchanged():
    """Two of your runs learn late or badly. Which of the two mistakes can change the very first step, and which cannot?"""
    return _curves(B=1, D=2)


def read_curves__softmax_and_reading_exchanged():
    """In two runs the validation loss ends above guessing. In one of them the printed loss is near 0: what is easy there?"""
    return _curves(A=5, C=4)


def read_curves__pads_for_the_reading():
    """With pads in the average, the validation loss would fall as well. In run C it rises, and the printed loss is near 0."""
    return _curves(C=6)


def read_curves__pads_for_the_gradients():
    """With pads in the average, already the first printed loss would be another one. Compare run B with the right one."""
    return _curves(B=6)


def read_curves__pads_for_the_sum():
    """An average stays near the loss of a word, whatever is averaged over. Look at the first number of run E."""
    return _curves(E=6)


def read_curves__rate_for_the_sum():
    """A larger rate does not change the first printed loss: no step has been taken by then. Look at run E."""
    return _curves(D=3, E=1)


def read_curves__rate_for_the_softmax():
    """Too large a rate makes the printed loss jump. In run A it falls slowly and evenly, while validation gets worse."""
    return _curves(A=1, D=4)


def read_curves__floor_of_zero():
    """The numbers that this cross-entropy gets are probabilities: none exceeds another by more than 1. What is its softmax?"""
    return _curves(floor=0.0)


def read_curves__floor_of_guessing():
    """That is the loss of guessing. The model can do better: it may give the right word a probability of 1."""
    return _curves(floor=3.466)


def read_curves__floor_of_33_words():
    """One of the 32 words is the right one. How many others stand in the sum of the second softmax?"""
    return _curves(floor=2.547)


def read_curves__floor_that_was_reached():
    """That is what was reached after 300 steps. The question is what no number of steps can go below."""
    return _curves(floor=2.909)


def read_curves__words_of_the_validation():
    """The two losses that you divide must be of the same batch and the same weights: compare two printed ones."""
    return _curves(words=715)


def read_curves__words_not_averaged():
    """That is the sum of the losses. Divide it by what a word costs on the average in the same batch."""
    return _curves(words=2489)


def read_curves__words_of_a_sentence():
    """You divided by the number of sentences. The loss of a word is what the sum has to be divided by."""
    return _curves(words=39)


def read_curves__words_by_guessing():
    """The loss of guessing is near the right number, but the mean of this batch stands in the table of the right run."""
    return _curves(words=718)


def translation_loss__pads_count(logits, target):
    """Pads are averaged over too: a longer sentence in the batch then changes the loss of the others."""
    return nn.functional.cross_entropy(logits.flatten(0, 1), target.flatten())


def translation_loss__divided_by_all(logits, target):
    """The sum is over real words only, but you divide by the number of all of them, pads included."""
    losses = nn.functional.cross_entropy(logits.flatten(0, 1), target.flatten(), reduction="none")
    return (losses * (target != 0).flatten()).mean()


def translation_loss__summed(logits, target):
    """This is the sum over all words. Divide by how many real ones there are, or the loss grows with the batch."""
    losses = nn.functional.cross_entropy(logits.flatten(0, 1), target.flatten(), reduction="none")
    return (losses * (target != 0).flatten()).sum()


def translation_loss__softmax_twice(logits, target):
    """The softmax acts twice: cross-entropy of torch already contains it, so it wants logits."""
    losses = nn.functional.cross_entropy(logits.softmax(-1).flatten(0, 1), target.flatten(), reduction="none")
    real = (target != 0).flatten()
    return (losses * real).sum() / real.sum()


def translation_loss__log_of_softmax(logits, target):
    """For large logits a probability becomes 0 and its logarithm infinite: take log_softmax in one step."""
    chosen = logits.softmax(-1).gather(-1, target.unsqueeze(-1)).squeeze(-1)
    real = target != 0
    return -(torch.log(chosen) * real).sum() / real.sum()


def exact_match__words_not_sentences(words, target):
    """You counted single words. A sentence is right only if all its words are."""
    steps = min(words.shape[1], target.shape[1])
    return float((words[:, :steps] == target[:, :steps]).mean())


def exact_match__whole_rows(words, target):
    """What stands after the stop word counts for nothing, neither in the model's row nor in the target's."""
    steps = min(words.shape[1], target.shape[1])
    return float((words[:, :steps] == target[:, :steps]).all(axis=1).mean())


def exact_match__first_word(words, target):
    """You looked at the first words only."""
    return float((words[:, 0] == target[:, 0]).mean())


def exact_match__stop_not_needed(words, target):
    """A sentence that goes on after its last word is not right: the stop word must come in its place too."""
    right = 0
    for row, wanted in zip(words.tolist(), target.tolist(), strict=True):
        wanted = wanted[: wanted.index(2)]
        right += row[: len(wanted)] == wanted
    return right / len(words)


def exact_match__order_ignored(words, target):
    """The same words in another order are another sentence: compare them place by place."""
    right = 0
    for row, wanted in zip(words.tolist(), target.tolist(), strict=True):
        row = row[: row.index(2)] if 2 in row else [-1]
        right += sorted(row) == sorted(wanted[: wanted.index(2)])
    return right / len(words)


def exact_match__digits_joined(words, target):
    """Written without a gap, 3 and 13 look like 31 and 3. Compare the numbers themselves."""

    def text(row):
        row = list(row)
        return "".join(str(word) for word in row[: row.index(2)]) + "." if 2 in row else "".join(map(str, row))

    return sum(text(a) == text(b) for a, b in zip(words, target, strict=True)) / len(words)


def exact_match__zeros_dropped(words, target):
    """You drop every 0 that the model wrote. In the middle of a sentence it is a wrong word like any other."""
    right = 0
    for row, wanted in zip(words, target, strict=True):
        row, wanted = [w for w in row if w != 0], [w for w in wanted if w != 0]
        right += row[: len(wanted)] == wanted
    return right / len(words)


def noun_alignment__all_words(weights, positions):
    """Words that are no nouns have no right position: they must not be counted, neither above nor below the line."""
    steps = min(weights.shape[1], positions.shape[1])
    return float((weights.argmax(axis=-1)[:, :steps] == positions[:, :steps]).sum() / positions.size)


def noun_alignment__weight_mass(weights, positions):
    """You averaged the weight on the right word. The question is how often the largest weight lies there."""
    total, count = 0.0, 0
    for row, places in zip(weights, positions, strict=True):
        for step, place in enumerate(places):
            if place >= 0:
                total += row[step, place] if step < len(row) else 0.0
                count += 1
    return float(total / count)


def noun_alignment__above_half(weights, positions):
    """The largest weight of a row need not be above one half: compare it with the others, not with a fixed number."""
    hits = 0
    for row, places in zip(weights, positions, strict=True):
        hits += sum(row[step, place] > 0.5 for step, place in enumerate(places[: len(row)]) if place >= 0)
    return float(hits / (positions >= 0).sum())


def noun_alignment__missed_steps_forgiven(weights, positions):
    """A noun that the model never came to is a noun missed: it counts below the line."""
    steps = min(weights.shape[1], positions.shape[1])
    places = positions[:, :steps]
    return float(((weights.argmax(axis=-1)[:, :steps] == places) & (places >= 0)).sum() / (places >= 0).sum())


def noun_alignment__largest_of_zeros(weights, positions):
    """Of a row of zeros, the largest is said to be the first. Here such a row is a step that was not taken: no hit."""
    steps = min(weights.shape[1], positions.shape[1])
    hits = (weights.argmax(axis=-1)[:, :steps] == positions[:, :steps]) & (positions[:, :steps] >= 0)
    return hits.sum() / (positions >= 0).sum()


def noun_alignment__target_axis(weights, positions):
    """The largest weight of a target word is searched along its source words: look at the axis."""
    best = weights.argmax(axis=1)
    steps = min(best.shape[1], positions.shape[1])
    return float((best[:, :steps] == positions[:, :steps]).sum() / (positions >= 0).sum())
