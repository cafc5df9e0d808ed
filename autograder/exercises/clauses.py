"""A mutation that can explain a student's numbers, and the words in which the student is told so.

In: a place of a reference, what is done there. Out: frozen ``Mutation`` objects. Touches nothing.
"""

import ast
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from autograder.exercises.ast_utils import Slot, names_in
from autograder.exercises.instrumentation import Node
from autograder.exercises.mutation_operators import Rewrite
from autograder.exercises.perturbations import CallContext, Perturbation

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
STEPS: dict[str, str] = {
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
PLURAL = {
    "is": "are",
    "has": "have",
    "counts": "count",
}


@dataclass(frozen=True)
class Mutation:
    """One thing done otherwise. ``clause`` follows "Your numbers come out exactly if". The smaller its ``rank``, the plainer.

    ``changes`` gives the changes of values in a call by the number of the node, none where there is nothing to change; else
    ``new`` stands in a ``slot`` of the reference, or the arguments ``earlier`` come from an earlier call of the same shapes.
    """

    clause: str
    rank: int
    changes: Callable[[CallContext], Mapping[int, Callable[..., object]]] = field(default=lambda context: {})
    rare: bool = False
    slot: Slot | None = None
    new: ast.AST | None = None
    earlier: tuple[str, ...] = ()
    both: bool = False  # all that ``earlier`` names comes from there, not only the first of it


def mutate_at(node: Node, perturbation: Perturbation, said: str, rank: int) -> Mutation:
    """Return the mutation that does ``perturbation`` to ``node``."""
    return mutate_all([node], perturbation, said, rank)


def mutate_all(nodes: Sequence[Node], perturbation: Perturbation, said: str, rank: int) -> Mutation:
    """Return the mutation that does ``perturbation`` to several nodes."""

    def changes(context):
        def change(value):
            changed = perturbation.apply(value, context)
            return value if changed is None else changed

        return dict.fromkeys((node.number for node in nodes), change)

    clause = format_clause(perturbation.clause, said, several=len(nodes) > 1)
    return Mutation(clause, rank, changes, perturbation.rare)


def mutation_from_rewrite(slot: Slot, rewrite: Rewrite, kind: str, text: str) -> Mutation | None:
    """Return the mutation that ``rewrite`` is, None if its clause speaks of what a reader of ``text`` has never heard of."""
    of = name_variable(slot.inside, text) if slot.inside else "what is returned"
    node = slot.node
    words = {
        "of": of or ("a step" if kind == "number" else ""),
        "left": join_names(names_in(node.left), text) if isinstance(node, ast.BinOp) else "",
        "right": join_names(names_in(node.right), text) if isinstance(node, ast.BinOp) else "",
    }
    is_setting = slot.in_index or isinstance(slot.parent, ast.keyword)  # an index or an axis, no number of the exercise
    needed = re.findall(r"{(\w+)}", rewrite.clause)
    if any(not words.get(word, "said") for word in needed) or ("of" in needed and is_setting):
        return None
    step = STEPS.get(slot.inside, "") if slot.inside else ""
    clause = rewrite.clause.format(**words, where=f" on the way to {step}" if step else "")
    return Mutation(clause, rewrite.rank, slot=slot, new=rewrite.new)


def format_clause(clause: str, said: str, several: bool = False) -> str:
    """Return ``clause`` with what is said of it, and its verb in the singular or plural of ``said``: W_x is, keys are."""
    name = re.split(r",| of | on ", said.removeprefix("the "))[0].split(" ")[-1]
    is_plural = several or (name.islower() and name.endswith("s") and not name.endswith("ss"))
    return clause.format(it=said, **{one: many if is_plural else one for one, many in PLURAL.items()})


def describe_step(name: str) -> str:
    return STEPS.get(name, "")


def describe_variable(name: str, text: str) -> str:
    """Return what the variable ``name`` is called in a sentence, "" if a reader of ``text`` has never heard of it."""
    return STEPS.get(name, "") or (name if name in text else "")


def name_variable(name: str, text: str) -> str:
    """Like ``describe_variable``, for a name that may also be a symbol of its own: W_x, s."""
    return describe_variable(name, text) or (name if "_" in name or len(name) < 2 else "")


def join_names(names: Iterable[str], text: str) -> str:
    """Return the variables ``names`` in words, without those that a reader of ``text`` has never heard of."""
    return " and ".join(filter(None, (describe_variable(name, text) for name in names)))
