"""What the inputs of a function may be: the limits of each argument, and the paragraph that tells students.

In: the arguments as a key declares them. Out: numbers for those who draw inputs, Markdown for pages and notebooks. Touches
nothing. The text of an exercise leaves all of this out: the page and the notebook add the paragraph.
"""

from solutions.answer_key.records import Code

SCORES = (-100_000, 100_000)
STATES = (-300, 300)
LIMITS = {  # of the entries, by kind of argument; a key may state narrower ones
    **dict.fromkeys(("scores", "logits", "bias", "vector"), SCORES),
    **dict.fromkeys(("annotations", "states"), STATES),
    "parameter": (-100, 100),
}
MASKED = ("scores", "logits", "annotations")  # kinds whose entries at padding may be any finite number
LONGEST = 71  # entries of an axis, unless the key says how many
SMALLEST_WEIGHT = 1e-7  # of those that are not 0
OF_KIND = {
    "tokens": "Entries of {} are whole numbers (`int64`) from 0 to `{below}` − 1.",
    "weights": "Each row of {} is a softmax in double precision. A weight may be exactly 0, or as small as 10⁻⁷.",
    "log_probabilities": "{} are normalised: the probabilities of all words sum to 1.",
    "hypotheses": "{} are 0 or negative.",
    "phonemes": "Entries of {} are whole numbers (`int64`) from 3 to 41.",
    "links": "Entries of {} are whole numbers (`int64`) from −1 to `{below}` − 1.",
    "hand": "Entries of {} are whole numbers (`int64`) from 0 to 2.",
    "peaks": "The largest weight in a row may exceed the next by as little as a hundred-millionth of its own value.",
}


def limits(argument):
    """Return the limits of the entries of ``argument``, ``(low, high)``; None where its kind has none."""
    return argument.range or LIMITS.get(argument.kind)


def describe_inputs(entry):
    """Return the paragraph, in Markdown, on what the inputs of ``entry`` may be; "" for one that is no function."""
    if not isinstance(entry, Code) or not entry.arguments:
        return ""
    arguments = entry.arguments
    sentences = [*_describe_limits(arguments), *_describe_masks(arguments)]
    for kind, sentence in OF_KIND.items():
        if names := [name for name in arguments if arguments[name].kind == kind]:
            sentences.append(sentence.format(_join(names), below=arguments[names[0]].below))
    if any(a.kind == "weights" and "empty_row" not in a.without for a in arguments.values()):
        sentences.append("Alternatively, a row may be all 0.")
    if entry.reaches:
        masked = any(argument.kind == "mask" for argument in arguments.values())
        start = "Except at padding, the" if masked else "The"
        sentences.append(f"{start} resulting scores may reach ±{_number(entry.reaches)}.")
    letters = dict.fromkeys(letter for argument in arguments.values() for letter in argument.letters)
    bounds = {letter: (entry.least.get(letter, 1), entry.most.get(letter, LONGEST)) for letter in letters}
    special = [
        f"`{name}` is {low} to {_number(high)}" for name, (low, high) in bounds.items() if (low, high) != (1, LONGEST)
    ]
    sentences.append("; ".join([f"Each size is 1 to {LONGEST}", *special]) + ".")
    return "*Inputs.* " + " ".join(sentences)


def _describe_limits(arguments):
    """Yield a sentence for the arguments of one range each, in their order."""
    names = {}
    for name, argument in arguments.items():
        if bounds := limits(argument):
            names.setdefault(tuple(bounds), []).append(name)
    for number, ((low, high), those) in enumerate(names.items()):
        between = f"between {_number(low)} and {_number(high)}"
        yield f"Entries of {_join(those)} lie {between}." if not number else f"Those of {_join(those)} lie {between}."


def _describe_masks(arguments):
    for name, mask in arguments.items():
        if mask.kind != "mask":
            continue
        masked = [n for n, a in arguments.items() if a.kind in MASKED and a.axes[: len(mask.axes)] == mask.axes]
        if masked:
            yield f"At padding positions, {_join(masked)} may contain any finite numbers."
        anywhere = not {"before", "between"} & {*mask.without}
        yield "Padding may occur anywhere in a row." if anywhere else "Padding occurs only at the end of a row."
        empty = not {"empty_row", "empty"} & {*mask.without}
        yield f"A row of `{name}` may {'' if empty else 'not '}consist entirely of padding."


def _join(names):
    *first, last = [f"`{name}`" for name in names]
    return f"{', '.join(first)} and {last}" if first else last


def _number(number):
    return f"{number:,}".replace(",", " ").replace("-", "−")
