"""Wrong answers that students give to the capstone's exercises. The docstring is the hint."""


def count_parameters__one_direction():
    """An annotation concatenates the states of both encoder directions, so W_key has more columns."""
    return {"W_query": 2304, "W_key": 2304, "v": 48, "all": 4656}


def count_parameters__v_forgotten():
    """You counted the parts, but your sum leaves one of them out."""
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
    """The rate that leads after 100 steps is overtaken later. Read the column for the number of steps that will be used."""
    return _rates(short=5)


def choose_rate__still_falling():
    """A curve that is still falling at the end may become the lowest later, but it is not the lowest yet."""
    return _rates(long=1)


def choose_rate__rising_is_diverging():
    """That curve turns upwards, but it stays far below the loss of a uniform guess, ln 32. Is there a curve above that?"""
    return _rates(diverges=5)


def choose_rate__stopped_at_the_end():
    """The last entry of a row need not be its lowest: look for the lowest entry in the whole table."""
    return _rates(stop_column=7)


def choose_rate__stopped_where_300_is_best():
    """That is only the lowest entry of its own row. Look for the lowest entry in the whole table."""
    return _rates(stop_curve=3, stop_column=4)


def choose_rate__edge_taken():
    """The best of the three rates is the smallest of them. A better one may lie below it, where none has been tried."""
    return _rates(next=4)


def choose_rate__other_side():
    """The best of the three rates is the smallest of them. Try a rate on the other side of it."""
    return _rates(next=6)


def choose_rate__two_steps_beyond():
    """You went beyond the edge, but by more than a factor of 2, so you skipped a rate that may be the best."""
    return _rates(next=2)


def _curves(**changed):
    return {"A": 4, "B": 2, "C": 5, "D": 1, "E": 3, "floor": 2.518, "words": 710, "jump": 4} | changed


def read_curves__rate_and_gradients_exchanged():
    """Two of the runs learn slowly or badly. Which of the two bugs can change the very first step, and which cannot?"""
    return _curves(B=1, D=2)


def read_curves__softmax_and_reading_exchanged():
    """In two runs the validation loss ends above that of guessing. In one of them, the printed loss is near 0: what
    makes that so easy?"""
    return _curves(A=5, C=4)


def read_curves__pads_for_the_reading():
    """With padding in the average, the validation loss would fall too. In run C it rises, and the printed loss is near 0."""
    return _curves(C=6)


def read_curves__pads_for_the_gradients():
    """With padding in the average, even the first printed loss would differ. Compare run B with the run without a bug."""
    return _curves(B=6)


def read_curves__pads_for_the_sum():
    """An average stays near the loss of one word, whatever it is taken over. Look at the first printed loss of run E."""
    return _curves(E=6)


def read_curves__rate_for_the_sum():
    """A larger learning rate does not change the first printed loss, because no step has been taken by then. Look at run E."""
    return _curves(D=3, E=1)


def read_curves__rate_for_the_softmax():
    """Too large a learning rate makes the printed loss jump. In run A it falls slowly and steadily, while validation gets worse."""
    return _curves(A=1, D=4)


def read_curves__floor_of_zero():
    """This cross-entropy receives probabilities, so no entry exceeds another by more than 1. What is their softmax?"""
    return _curves(floor=0.0)


def read_curves__floor_of_guessing():
    """That is the loss of a uniform guess. The model can do better: it can give the right word a probability of 1."""
    return _curves(floor=3.466)


def read_curves__floor_of_33_words():
    """One of the 32 words is the right one. How many others are in the sum of the second softmax?"""
    return _curves(floor=2.547)


def read_curves__floor_that_was_reached():
    """That is the loss reached after 300 steps. The exercise asks for the value that no number of steps can go below."""
    return _curves(floor=2.909)


def read_curves__jump_as_overfitting():
    """A model that has overfitted keeps a high validation loss. Look at the columns that follow step 100."""
    return _curves(jump=1)


def read_curves__jump_as_other_sentences():
    """The validation sentences are the same at every step. Are they harder at the other steps?"""
    return _curves(jump=2)


def read_curves__jump_as_an_easy_batch():
    """The other runs read the same batch at step 100. Compare their printed loss there with their validation loss."""
    return _curves(jump=3)


def read_curves__words_of_the_validation():
    """The two losses that you divide must come from the same batch and the same parameters: use two printed ones."""
    return _curves(words=715)


def read_curves__words_not_averaged():
    """That is the sum of the losses. Divide it by the average loss per word in the same batch."""
    return _curves(words=2489)


def read_curves__words_of_a_sentence():
    """You divided by the number of sentences. Divide the sum by the loss per word instead."""
    return _curves(words=39)


def read_curves__words_by_guessing():
    """You divided by the loss of guessing. Divide by this batch's own mean loss: the run without a bug prints it at that step."""
    return _curves(words=718)


def exact_match__words_not_sentences(words, target):
    """You counted individual words. A sentence is right only if all its words are right."""
    steps = min(words.shape[1], target.shape[1])
    return float((words[:, :steps] == target[:, :steps]).mean())


def exact_match__whole_rows(words, target):
    """Ignore everything after the stop token, both in the model's row and in the target's."""
    steps = min(words.shape[1], target.shape[1])
    return float((words[:, :steps] == target[:, :steps]).all(axis=1).mean())


def exact_match__first_word(words, target):
    """You compared only the first words."""
    return float((words[:, 0] == target[:, 0]).mean())


def exact_match__stop_not_needed(words, target):
    """A sentence that continues after the last target word is not right: the model must write the stop token there."""
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
    """You joined the numbers without a separator, so 3 and 13 look like 31 and 3. Compare the numbers themselves."""

    def text(row):
        row = list(row)
        return "".join(str(word) for word in row[: row.index(2)]) + "." if 2 in row else "".join(map(str, row))

    return sum(text(a) == text(b) for a, b in zip(words, target, strict=True)) / len(words)


def exact_match__zeros_dropped(words, target):
    """You drop every 0 that the model wrote. In the middle of a sentence, a 0 is a wrong word like any other."""
    right = 0
    for row, wanted in zip(words, target, strict=True):
        row, wanted = [w for w in row if w != 0], [w for w in wanted if w != 0]
        right += row[: len(wanted)] == wanted
    return right / len(words)


def noun_alignment__all_words(weights, positions):
    """Words that are not nouns have no right position: count them neither in the numerator nor in the denominator."""
    steps = min(weights.shape[1], positions.shape[1])
    return float((weights.argmax(axis=-1)[:, :steps] == positions[:, :steps]).sum() / positions.size)


def noun_alignment__weight_mass(weights, positions):
    """You averaged the weight on the right word. The question is how often the largest weight falls there."""
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
    """In a row of zeros, you take the first entry as the largest. Such a row belongs to a step that was not taken,
    so it is not a hit."""
    steps = min(weights.shape[1], positions.shape[1])
    hits = (weights.argmax(axis=-1)[:, :steps] == positions[:, :steps]) & (positions[:, :steps] >= 0)
    return hits.sum() / (positions >= 0).sum()


def noun_alignment__target_axis(weights, positions):
    """You searched along the wrong axis: the largest weight of a target word is the largest over its source words."""
    best = weights.argmax(axis=1)
    steps = min(best.shape[1], positions.shape[1])
    return float((best[:, :steps] == positions[:, :steps]).sum() / (positions >= 0).sum())
