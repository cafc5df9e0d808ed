"""A variation of a reference: one thing done otherwise, and the words in which a student is told so.

In: a place of a reference, what is done there. Out: frozen ``Variation`` objects. Touches nothing.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from autograder.exercises.tracing import Site
from autograder.exercises.turns import Known, Way

STAGE = 3  # the rank of the wrong ways of taking a softmax


SENTENCES = "batch"  # the letter that counts them


ALONG = {  # what stands along the axis of a letter: one, and several
    SENTENCES: ("sentence", "sentences"),
    "source_len": ("position", "positions"),
    "length": ("position", "positions"),
    "target_len": ("step", "steps"),
    "steps": ("step", "steps"),
    "earlier_steps": ("step", "steps"),
    "heads": ("head", "heads"),
    "vocab_size": ("word of the vocabulary", "words of the vocabulary"),
    "width": ("hypothesis", "hypotheses"),
}


# What the steps of a reference are called in words, where their name is not that of an argument or of the field.
SAID: dict[str, str] = {
    "exponentials": "the exponentials",
    "powers": "the exponentials",
    "total": "the sum of the exponentials",
    "kept": "the masked scores",
    "hidden": "what v is multiplied by",
    "projected_query": "the projected query",
    "projected_queries": "the projected queries",
    "projected_keys": "the projected keys",
    "queries": "the queries",
    "head_keys": "the keys of the heads",
    "values": "the values",
    "scores": "the scores",
    "weights": "the weights",
    "context": "the context",
    "contexts": "the contexts",
    "coverage": "the coverage",
    "state": "the state",
    "joined": "the joined vector",
    "logits": "the logits",
    "log_probabilities": "the logarithms of the probabilities",
    "distribution": "the distribution",
    "losses": "the losses of the words",
    "update": "the update gate",
    "reset": "the reset gate",
    "candidate": "the candidate",
    "forward": "the forward state",
    "backward": "the backward state",
    "embedded": "the embedded word",
    "h_1": "h_1",
    "": "your result",
}


SCALED = ("scores", "logits", "coverage", "context", "contexts", "by_weight")  # what somebody may divide by a size


@dataclass(frozen=True)
class Variation:
    """One thing done otherwise. ``clause`` follows "Your numbers come out exactly if". The smaller its ``rank``, the plainer.

    ``changes`` says of a call what is done at which site, and is empty where there is nothing to be done; ``earlier`` names the
    argument that is taken from an earlier call of the same shape.
    """

    clause: str
    rank: int
    changes: Callable[[Known], Mapping[int, Callable[..., object]]] = field(default=lambda known: {})
    rare: bool = False
    earlier: tuple[str, ...] = ()
    both: bool = False  # all that ``earlier`` names comes from there, not only the first of it


def said_of(site: Site, text: str) -> str:
    """Return what the variable of ``site`` is called in a sentence, "" if a student has never heard of it."""
    name = site.name if site.kind != "use" else site.inside
    return SAID.get(name, "") or (name if name and name in text else "")


def at(site: Site, way: Way, said: str, rank: int) -> Variation:
    """Return the variation in which ``way`` is gone at ``site``."""
    return at_all([site], way, said, rank)


VERBS = {
    "is": "are",
    "has": "have",
    "serves": "serve",
    "stands": "stand",
    "counts": "count",
    "loses": "lose",
    "comes": "come",
    "becomes": "become",
}


def worded(clause: str, said: str, several: bool = False) -> str:
    """Return ``clause`` with what is said of it, and its verb in the singular or plural of ``said``: W_x is, keys are."""
    name = re.split(r",| of | on ", said.removeprefix("the "))[0].split(" ")[-1]
    many = several or (name.islower() and name.endswith("s") and not name.endswith("ss"))
    return clause.format(it=said, **{one: (more if many else one) for one, more in VERBS.items()})


def at_all(sites: Sequence[Site], way: Way, said: str, rank: int) -> Variation:
    """Return the variation in which ``way`` is gone at several sites."""

    def changes(known):
        def change(value):
            turned = way.turn(value, known)
            return value if turned is None else turned

        return dict.fromkeys((site.number for site in sites), change)

    return Variation(worded(way.clause, said, several=len(sites) > 1), rank, changes, way.rare)


def named(name: str, text: str) -> str:
    """Return what the variable ``name`` is called in a sentence, "" if it is a word that only the reference has."""
    return SAID.get(name, "") or (name if name in text or "_" in name or len(name) < 2 else "")


def listing(names: Iterable[str], text: str) -> str:
    known = [SAID.get(name, name if name in text else "") for name in names]
    return " and ".join(name for name in known if name)
