"""A mutation that can explain a student's numbers, and the clause that says how.

In: a place in a reference, and the change to it. Out: frozen ``Mutation`` objects.
"""

import ast
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from autograder.exercises.ast_utils import Slot, names_in
from autograder.exercises.instrumentation import Node
from autograder.exercises.mutation_operators import Rewrite
from autograder.exercises.perturbations import CallContext, Perturbation

SENTENCES = "batch"  # the letter that counts sentences
ALONG = {  # letter -> what one entry along its axis is called, and several
    SENTENCES: ("sentence", "sentences"),
    "source_len": ("position", "positions"),
    "length": ("position", "positions"),
    "target_len": ("step", "steps"),
    "steps": ("step", "steps"),
    "earlier_steps": ("step", "steps"),
    "heads": ("head", "heads"),
    "vocab_size": ("vocabulary word", "vocabulary words"),
    "width": ("hypothesis", "hypotheses"),
}
# What the steps of a reference are called in words.
NAMED_IN_FULL = (  # steps that are called by their own names: projected_keys, the projected keys
    *(
        "exponentials",
        "projected_query",
        "projected_queries",
        "projected_keys",
        "queries",
        "values",
        "scores",
        "weights",
    ),
    *("context", "contexts", "coverage", "state", "logits", "distribution", "candidate"),
)
STEPS: dict[str, str] = {name: f"the {name.replace('_', ' ')}" for name in NAMED_IN_FULL} | {
    "powers": "the exponentials",
    "total": "the sum of the exponentials",
    "kept": "the masked scores",
    "hidden": "the vector multiplied by v",
    "head_keys": "the per-head keys",
    "joined": "the joined vector",
    "log_probabilities": "the log-probabilities",
    "losses": "the per-word losses",
    "update": "the update gate",
    "reset": "the reset gate",
    "forward": "the forward state",
    "backward": "the backward state",
    "embedded": "the embedded word",
    "h_1": "h_1",
    "": "your result",
}
SCALED = ("scores", "logits", "coverage", "context", "contexts", "by_weight")  # steps that may be scaled by a size
SINGULAR_ENDINGS = ("ss", "ias")  # of singular names that end with s: loss, bias
PLURAL = {"is": "are", "has": "have"}


@dataclass(frozen=True)
class Mutation:
    """One change to a reference. ``clause`` completes "We get exactly your numbers if"; a lower ``rank`` means simpler.

    Either ``changes`` returns, for a call, the changes of values by node number, {} if nothing changes; or ``new`` replaces
    the node in a ``slot`` of the reference; or the arguments ``earlier`` come from an earlier call with the same shapes.
    """

    clause: str
    rank: int
    changes: Callable[[CallContext], Mapping[int, Callable[..., object]]] = field(default=lambda context: {})
    rare: bool = False
    slot: Slot | None = None
    new: ast.AST | None = None
    earlier: tuple[str, ...] = ()
    both: bool = False  # all arguments in ``earlier`` come from there, not only the first
    hidden: bool = False  # see Perturbation


def mutate_all(nodes: Sequence[Node], perturbation: Perturbation, subject: str, rank: int) -> Mutation:
    """Return the mutation that applies ``perturbation`` to all ``nodes``, which the clause calls ``subject``."""

    def changes(context):
        def change(value):
            changed = perturbation.apply(value, context)
            return value if changed is None else changed

        return dict.fromkeys((node.number for node in nodes), change)

    clause = format_clause(perturbation.clause, subject, several=len(nodes) > 1)
    return Mutation(clause, rank, changes, perturbation.rare, hidden=perturbation.hidden)


def mutation_from_rewrite(slot: Slot, rewrite: Rewrite, kind: str, text: str) -> Mutation | None:
    """Return ``rewrite`` as a mutation, or None if its clause would name something that ``text`` does not mention."""
    of = name_variable(slot.inside, text) if slot.inside else "the return value"
    words = {"of": of or ("a step" if kind == "number" else "")}
    for side in ("left", "right"):
        words[side] = join_names(names_in(getattr(slot.node, side)), text) if isinstance(slot.node, ast.BinOp) else ""
    is_setting = slot.in_index or isinstance(slot.parent, ast.keyword)  # an index or axis, not a number of the exercise
    needed = re.findall(r"{(\w+)}", rewrite.clause)
    if any(words.get(word) == "" for word in needed) or ("of" in needed and is_setting):
        return None
    step = STEPS.get(slot.inside, "") if slot.inside else ""
    clause = rewrite.clause.format(**words, where=f" in the computation of {step}" if step else "")
    return Mutation(clause, rewrite.rank, slot=slot, new=rewrite.new)


def format_clause(clause: str, subject: str, several: bool = False) -> str:
    """Return ``clause`` about ``subject``, with its verb in the singular or plural: W_x is, keys are."""
    name = re.split(r",| of | on ", subject.removeprefix("the "))[0].split(" ")[-1]
    is_plural = several or (name.islower() and name.endswith("s") and not name.endswith(SINGULAR_ENDINGS))
    return clause.format(it=subject, **{verb: plural if is_plural else verb for verb, plural in PLURAL.items()})


def describe_variable(name: str, text: str) -> str:
    """Return how a sentence refers to the variable ``name``, "" if ``text`` does not mention it."""
    return STEPS.get(name, "") or (name if name in text else "")


def name_variable(name: str, text: str) -> str:
    """Like ``describe_variable``, but also return a name that looks like a symbol: W_x, s."""
    return describe_variable(name, text) or (name if "_" in name or len(name) < 2 else "")


def join_names(names: Iterable[str], text: str) -> str:
    """Return the variables ``names`` in words, without those that ``text`` does not mention."""
    return " and ".join(filter(None, (describe_variable(name, text) for name in names)))
