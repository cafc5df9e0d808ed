"""What the inputs of a function may be: the limits of each argument, and the paragraph that tells students.

In: the arguments as a key declares them. Out: numbers for those who draw inputs, Markdown for pages and notebooks. Touches
nothing. The text of an exercise leaves all of this out: the page and the notebook add the paragraph.
"""

from solutions.answer_key.records import Code

SCORES = (-50, 50)
LIMITS = {  # of the entries, by kind of argument, as in a small network; a key may state others
    **dict.fromkeys(("scores", "logits"), SCORES),
    **dict.fromkeys(("annotations", "states", "parameter", "vector"), (-10, 10)),
}
# the limits of entries at padding, by kind
AT_PADDING = {"scores": "±10³⁰⁰", "logits": "±10³⁰⁰", "annotations": "±10¹⁴⁰"}
LONGEST = 12  # entries of an axis, unless the key says how many
SMALLEST_WEIGHT = 1e-7  # of those that are not 0
LEAST_LIKELY = -1000  # the log-probability of a hypothesis, that of a long sentence
WHOLE = {  # what is a whole number (`int64`), and from where to where
    "tokens": ("entries of", "0 to `{below}` − 1"),
    "phonemes": ("entries of", "3 to 41"),
    "links": ("entries of", "−1 to `{below}` − 1"),
    "written": ("entries of", "0 to 999"),
    "target_words": ("words in", "3 to 999"),
    "references": ("words in", "3 to `{below}` − 1"),
    "positions": ("entries of", "−1 to `source_len` − 1"),
    "limits": ("entries of", "1 to `{below}`"),
    "optional_limits": ("entries of", "1 to `{below}`"),
    "hand": ("entries of", "0 to 2"),
}
OF_KIND = {
    "weights": "Each row of {} is a softmax in double precision. A weight may be exactly 0; others are at least 10⁻⁷.",
    "hypotheses": "Entries of {} lie between {least} and 0.",
    "log_probabilities": "{} are at least −100; the probabilities of all words sum to 1.",
    "uniforms": "Entries of {} are at least 0 and less than 1.",
    "peaks": "The largest weight of a row exceeds the next by at least 0.001 % of it.",
}


def limits(argument):
    """Return the limits of the entries of ``argument``, ``(low, high)``; None where its kind has none."""
    return argument.range or LIMITS.get(argument.kind)


def describe_inputs(entry):
    """Return the paragraph, in Markdown, on what the inputs of ``entry`` may be; "" for one that is no function."""
    if not isinstance(entry, Code) or not entry.arguments:
        return ""
    arguments = entry.arguments
    sentences = [*_describe_limits(arguments), *_describe_masks(arguments), *_describe_whole_numbers(arguments)]
    for kind, sentence in OF_KIND.items():
        if names := _select_kind(arguments, kind):
            sentences.append(sentence.format(_join(names), least=_number(LEAST_LIKELY)))
    if any(a.kind == "weights" and "empty_row" not in a.without for a in arguments.values()):
        sentences.append("A row may be all 0.")
    if entry.reaches:
        masked = any(argument.kind == "mask" for argument in arguments.values())
        kinds = {argument.kind for argument in arguments.values()}
        of = "between" if "annotations" in kinds and "states" not in kinds else "of"  # then padding asks, too
        which = f"Scores {of} real words" if masked else "The resulting scores"
        sentences.append(f"{which} stay within ±{_number(entry.reaches)}.")
    sentences.append(_describe_sizes(entry))
    return "*Inputs.* " + " ".join(sentences)


def _describe_sizes(entry):
    letters = dict.fromkeys(letter for argument in entry.arguments.values() for letter in argument.letters)
    names = {}
    for letter in letters:
        names.setdefault((entry.least.get(letter, 1), entry.most.get(letter, LONGEST)), []).append(letter)
    if len(names) == 1:
        ((low, high),) = names
        return f"Each size is {low} to {_number(high)}."
    special = [
        f"{_join(those)} {'up' if low == 1 else low} to {_number(high)}"
        for (low, high), those in names.items()
        if (low, high) != (1, LONGEST)
    ]
    return f"Each size is 1 to {LONGEST}, {', '.join(special)}."


def _describe_limits(arguments):
    """Yield a sentence for the arguments of one range each, in their order. If all share it, none is named."""
    names = {}
    for name, argument in arguments.items():
        if bounds := limits(argument):
            names.setdefault(tuple(bounds), []).append(name)
    unnamed = [name for name, argument in arguments.items() if argument.kind != "mask"] in [*names.values()]
    for number, ((low, high), those) in enumerate(names.items()):
        between = f"between {_number(low)} and {_number(high)}"
        entries = "Entries" if unnamed else f"{'Those' if number else 'Entries'} of {_join(those)}"
        yield f"{entries} lie {between}."


def _describe_whole_numbers(arguments):
    """Return one sentence, in a list, for all arguments of whole numbers; [] without any."""
    clauses, last = [], ""
    for kind, (what, interval) in WHOLE.items():
        if names := _select_kind(arguments, kind):
            start, whole = "those of" if what == last else what, "" if clauses else " are whole numbers (`int64`)"
            clauses.append(f"{start} {_join(names)}{whole} from {interval.format(below=arguments[names[0]].below)}")
            last = what
    text = ", ".join(clauses)
    return [f"{text[0].upper()}{text[1:]}."] if text else []


def _select_kind(arguments, kind):
    return [name for name, argument in arguments.items() if argument.kind == kind]


def _describe_masks(arguments):
    for name, mask in arguments.items():
        if mask.kind != "mask":
            continue
        at_end = {"before", "between"} & {*mask.without}
        place = f"occurs only at the end of a row of `{name}`" if at_end else f"may occur anywhere in `{name}`"
        fills = "never fills" if {"empty_row", "empty"} & {*mask.without} else "may fill"
        text = f"Padding {place} and {fills} {'it' if at_end else 'a row'}"
        masked = {}
        for other, argument in arguments.items():
            if argument.kind in AT_PADDING and argument.axes[: len(mask.axes)] == mask.axes:
                masked.setdefault(AT_PADDING[argument.kind], []).append(other)
        reach = ", and ".join(f"{_join(names)} up to {limit}" for limit, names in masked.items())
        if reach:
            text += f"; there, {reach.replace(' up to', ' may hold numbers up to', 1)}"
        yield f"{text}."


def _join(names):
    *first, last = [f"`{name}`" for name in names]
    return f"{', '.join(first)} and {last}" if first else last


def _number(number):
    return f"{number:,}".replace(",", " ").replace("-", "−")
