"""All mutations of a reference that may explain a student's numbers, each a single change with a clause that describes it.

In: an exercise. Out: ``Mutation`` objects, and the outcome of each on a hidden case. Runs references, never students' code.
Results are cached with the exercise.
"""

import itertools
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary, proxy

import numpy as np

from autograder.exercises import ast_utils, clauses, perturbations
from autograder.exercises.clauses import ALONG, SENTENCES, STEPS, Mutation, format_clause, mutate_all
from autograder.exercises.instrumentation import InstrumentedFunction
from autograder.exercises.loading import outcome_of
from autograder.exercises.model import Exercise, Outcome
from autograder.exercises.modules import module
from autograder.exercises.mutation_operators import FunctionContext, rewrites
from autograder.exercises.perturbations import CallContext, Perturbation
from autograder.exercises.softmax import (
    OF_STEP,
    accept_arrays,
    find_softmax,
    log_softmax_bugs,
    record_node_values,
    reference_softmax,
    softmax_bugs,
)
from solutions.answer_key import AnswerKeyError
from solutions.answer_key.records import letters_of

SOFTMAX_RANK = 3
TORCH_WORK_FACTOR = 2  # a node in torch is this many times as much work
GRADIENT_WORK_FACTOR = 3  # and so is a call with gradients


class Mutations:
    """All mutations of one exercise. ``outcome(number, n)`` is the result of a mutation on the hidden case n."""

    def __init__(self, exercise: Exercise):
        self._exercise, self._cases = proxy(exercise), exercise.hidden  # weak, so that both can be freed
        self._outcomes: dict[tuple[int, int], Outcome | None] = {}
        self._compiled: dict[int, Any] = {}

    @cached_property
    def _scope(self):
        return vars(module(self._exercise.entry.reference_module))

    @cached_property
    def _instrumented(self):
        return InstrumentedFunction(self._exercise.source, self._scope)

    @cached_property
    def _definition(self):
        return ast_utils.parse_function(self._exercise.source)

    @cached_property
    def all(self) -> tuple[Mutation, ...]:
        """Every mutation, the simplest first; none if the reference is not in ``solutions``."""
        try:
            instrumented = self._instrumented
        except AnswerKeyError:
            return ()
        with np.errstate(all="ignore"):
            mutations = _Enumeration(self._exercise, instrumented, self._definition).mutations()
            return tuple(sorted(mutations, key=lambda mutation: mutation.rank))

    def outcome(self, number: int, place: int) -> Outcome | None:
        """Return the outcome of mutation ``number`` of ``all`` on the hidden case ``place``; None if it does not apply."""
        if (number, place) not in self._outcomes:
            self._outcomes[number, place] = self._run(number, place)
        return self._outcomes[number, place]

    def work(self, place: int) -> int:
        """Return the work of one mutation on the hidden case ``place``: the same on every machine, cached or not.

        The unit is one node of the reference: about 3 microseconds of CPU time in numpy.
        """
        price = (TORCH_WORK_FACTOR if self._exercise.in_torch else 1) * (
            GRADIENT_WORK_FACTOR if self._cases[place].gradients else 1
        )
        return price * len(self._instrumented.nodes)

    def _run(self, number, place):
        mutation, case = self.all[number], self._cases[place]
        inputs = case.inputs
        if mutation.earlier:
            inputs = _with_earlier_inputs(self._exercise, self._cases, place, mutation)
            if inputs is None:
                return None
        sizes, applied = sizes_of(self._exercise, case.inputs), []

        def function(*given):
            named = dict(zip(inputs, given, strict=True))
            masks = [item for item in given if perturbations.is_mask(item)]
            context = CallContext(named, sizes, masks[0] if masks else None)
            changes = mutation.changes(context)
            applied.append(bool(changes) or bool(mutation.earlier) or mutation.slot is not None)
            if mutation.slot is not None:
                return self._rewritten(number)(**named)
            return self._instrumented.run(named, changes, context.seen) if applied[-1] else None

        outcome = outcome_of(self._exercise, function, inputs, case.gradients)
        return outcome if applied == [True] else None

    def _rewritten(self, number):
        if number not in self._compiled:
            mutation = self.all[number]
            with ast_utils.temporarily_replace(mutation.slot, mutation.new):
                self._compiled[number] = ast_utils.compile_function(self._definition, self._scope)
        return self._compiled[number]


_KEPT: "WeakKeyDictionary[Exercise, Mutations]" = WeakKeyDictionary()


def mutations_of(exercise: Exercise) -> Mutations:
    """Return the ``Mutations`` of ``exercise``; the result is cached."""
    if exercise not in _KEPT:
        _KEPT[exercise] = Mutations(exercise)
    return _KEPT[exercise]


def sizes_of(exercise: Exercise, inputs: Mapping[str, Any]) -> dict[str, int]:
    """Return letter -> size, from ``inputs``, for each letter that is by itself an axis of an argument."""
    sizes = {}
    for name, argument in exercise.entry.arguments.items():
        if name in inputs:
            for axis, size in zip(argument.axes, np.shape(inputs[name]), strict=False):
                if isinstance(axis, str) and letters_of(axis) == [axis]:
                    sizes.setdefault(axis, size)
    return sizes


def _with_earlier_inputs(exercise, cases, place, mutation):
    """Return the inputs of a case, with the ``earlier`` ones from the first case of the same shapes; None if it is first."""
    inputs, names = cases[place].inputs, mutation.earlier
    if not all(name in inputs for name in names) or len(exercise.entry.arguments) < 2:
        return None
    shapes = {name: np.shape(inputs[name]) for name in names}
    for case in cases[:place]:
        if all(name in case.inputs and np.shape(case.inputs[name]) == shape for name, shape in shapes.items()):
            return {**inputs, **{name: case.inputs[name] for name in (names if mutation.both else names[:1])}}
    return None


class _Enumeration:
    """Lists the mutations of one exercise."""

    def __init__(self, exercise, instrumented, definition):
        self.exercise, self.instrumented, self.definition = exercise, instrumented, definition
        self.nodes = instrumented.nodes
        self.declared = exercise.entry.arguments
        self.arguments = {node.name: node for node in self.nodes if node.kind == "argument"}
        self.letters = list(dict.fromkeys(letter for a in self.declared.values() for letter in a.letters))
        self.text = f"{exercise.source.split('BEGIN SOLUTION')[0]} {' '.join(self.declared)}"

    def mutations(self) -> Iterator[Mutation]:
        for name, node in self.arguments.items():
            if name in self.declared:
                yield from self._mutate_argument(node, self.declared[name])
        yield from self._mutate_several_arguments()
        for node in self.nodes:
            if node.kind == "result":
                yield from self._mutate_result(node)
        if self.exercise.kind == "code":
            yield from self._mutate_softmax()
        else:
            yield from self._round_steps()
        yield from self._mutate_values()
        yield from self._apply_rewrites()

    def _mutate_argument(self, node, argument):
        name = node.name
        if argument.kind == "mask":
            yield from self._perturb_node(node, perturbations.MASKS, name, 0)
            with_softmax = find_softmax(self.exercise, self.instrumented) is not None
            for other in self.arguments.values():
                if other is not node:
                    yield _zero_argument_at_pads(node, other, with_softmax)
        else:
            numbers = (*perturbations.GENERAL, *perturbations.CLIPPED, *perturbations.FLOORED)
            yield from self._perturb_node(node, numbers, name, 1)
        for axis, letter in enumerate(argument.axes):
            if isinstance(letter, str):
                yield from self._perturb_axis(node, axis, letter, name, 0 if letter in ALONG else 1)
        for pair in itertools.combinations(range(len(argument.axes)), 2):
            first, second = (argument.axes[axis] for axis in pair)
            if first != second:  # otherwise, it amounts to a transposition
                yield from self._perturb_node(node, perturbations.reshapes(*pair, (first, second)), name, 1)
        yield Mutation(_format_reuse_clause(name), 0, earlier=(name,))
        yield Mutation(
            _format_reuse_clause(name), 0, earlier=(name, *(other for other in self.declared if other != name))
        )
        for other, like in self.declared.items():
            if other != name and len(like.axes) == len(argument.axes) and like.kind == argument.kind:
                yield _confuse_arguments(node, other)
            if like.kind == "parameter" != argument.kind:
                clause = _format_reuse_clause(f"what is computed from {name} and {other}")
                yield Mutation(clause, 0, earlier=(name, other), both=True)

    def _mutate_several_arguments(self):
        """Yield the mutations that change several arguments in the same way, or confuse two of them."""
        arguments = {name: self.declared[name] for name in self.arguments if name in self.declared}
        for axes in dict.fromkeys(argument.axes for argument in arguments.values()):
            names = [name for name, argument in arguments.items() if argument.axes == axes]
            if len(names) < 2 or len(axes) < 2 or arguments[names[0]].kind == "parameter":
                continue
            for each in perturbations.reshapes(0, 1, axes[:2]):
                yield mutate_all([self.arguments[name] for name in names], each, " and ".join(names), 1)
        matrices = [name for name, a in arguments.items() if a.kind == "parameter" and len(a.axes) == 2]
        for left, right in itertools.combinations(matrices, 2):
            if arguments[left].axes[0] == arguments[right].axes[0]:
                yield _join_in_other_order(self.arguments[left], self.arguments[right])

    def _mutate_result(self, node):
        subject = STEPS.get(node.name) or node.name
        for letter in self.letters:
            yield from self._perturb_node(node, perturbations.mutate_scale(letter), subject, 2)
        yield from self._perturb_axis(node, 0, SENTENCES, subject, 2)
        for axis in (1, 2):
            yield from self._perturb_axis(node, axis, "", subject, 3)
            yield from self._perturb_node(node, perturbations.reshapes(axis - 1, axis), subject, 3)
        yield from self._perturb_node(node, (*perturbations.GENERAL[1:], *perturbations.SORTED, ZEROED), subject, 2)
        if self.exercise.kind == "code":
            yield from self._perturb_node(node, perturbations.HELD, subject, 2)
        for name in self.declared:
            clause = f"a 0 in {name} is taken for padding, and the corresponding entries become 0"
            yield mutate_all([node], Perturbation(clause, perturbations.zero_by_argument(name)), subject, 2)

    def _mutate_softmax(self):
        """Yield the wrong ways of taking a softmax, if the exercise has a softmax step."""
        step = find_softmax(self.exercise, self.instrumented)
        if step is None:
            return
        scores = self.nodes[step.scores]
        is_named = scores.kind != "operation"
        subject = STEPS.get(scores.name, scores.name) if is_named else "the inputs of the softmax"
        for bug in log_softmax_bugs() if step.logarithms else softmax_bugs():
            if step.mask is not None or not bug.masks:
                yield _softmax_mutation(step, accept_arrays(bug.weigh), bug, subject)
                if step.beside is not None:
                    yield _softmax_mutation(step, accept_arrays(bug.weigh), bug, subject, right_weights=True)
        if not step.pads_only:
            yield from self._perturb_node(self.nodes[step.mask], perturbations.MASKS, "the mask", 3)

    def _round_steps(self):
        """Yield the mutations that round steps worked by hand: one, two or all."""
        steps = [node for node in self.nodes if node.kind == "value" and not node.name.startswith("W_")]
        chosen = [(6, [step], clauses.describe_variable(step.name, self.text) or "one of the steps") for step in steps]
        chosen += [(7, steps, "all steps")]
        chosen += [(7, pair, "some of the steps") for pair in itertools.combinations(steps, 2)]
        for each, (rank, some, subject) in itertools.product(perturbations.ROUNDING_BY_HAND, chosen):
            yield mutate_all(some, each, subject, rank)

    def _mutate_values(self):
        case = next((case for case in self.exercise.hidden if not case.gradients), self.exercise.hidden[0])
        seen = record_node_values(self.exercise, self.instrumented, case)
        for node in self.nodes:
            value = seen.get(node.number) if node.kind == "value" else None
            is_number = perturbations.is_array(value) or isinstance(value, float)
            if is_number and (subject := clauses.describe_variable(node.name, self.text)):
                yield from self._mutate_value(node, subject, len(getattr(value, "shape", ())))

    def _mutate_value(self, node, subject, axes):
        for letter in self.letters if node.name in clauses.SCALED else ():
            yield from self._perturb_node(node, perturbations.mutate_scale(letter), subject, 4)
        for axis in range(axes if self.exercise.kind == "code" else 0):
            yield from self._perturb_axis(node, axis, "" if axis else SENTENCES, subject, 4)
        for pair in itertools.combinations(range(axes), 2):
            yield from self._perturb_node(node, perturbations.reshapes(*pair), subject, 5)
        yield from self._perturb_node(node, (*perturbations.GENERAL, ZEROED), subject, 4)
        if self.exercise.kind == "number":  # a few whole numbers are clipped to themselves or to 1 by chance
            yield from self._perturb_node(node, perturbations.SORTED, subject, 4)
        else:
            yield from self._perturb_node(node, (*perturbations.HELD, *perturbations.CLIPPED), subject, 4)

    def _apply_rewrites(self):
        around = FunctionContext(self.exercise.kind, ast_utils.arguments_of(self.definition), set(ast_utils.MODULES))
        for slot in ast_utils.slots(self.definition):
            for rewrite in rewrites(slot, around):
                if rewrite.clause:
                    mutation = clauses.mutation_from_rewrite(slot, rewrite, self.exercise.kind, self.text)
                    yield from [mutation] if mutation else []

    def _perturb_node(self, node, each_perturbation, subject, rank):
        return (mutate_all([node], perturbation, subject, rank) for perturbation in each_perturbation)

    def _perturb_axis(self, node, axis, letter, subject, rank):
        where = letter or f"axis {axis}"
        words = ALONG.get(letter, (f"entry along {where}", f"entries along {where}"))
        return self._perturb_node(node, perturbations.along_axis(axis, letter, *words), subject, rank)


ZEROED = Perturbation("{it} {is} set to 0 at padding positions", perturbations.zero_at_pads)


def _format_reuse_clause(name):
    clause = "{it} from an earlier call with the same sizes {is} reused: something is kept between calls"
    return format_clause(clause, name)


def _zero_argument_at_pads(mask, node, with_softmax):
    """Return the mutation that sets an argument to 0 at pads and then forgets the mask."""

    def changes(context):
        value = perturbations.zero_at_pads(context.inputs.get(node.name), context)
        return {} if value is None else {node.number: lambda _: value, mask.number: lambda real: real | ~real}

    counts = "in the sum of the softmax" if with_softmax else "as if it were words"
    clause = format_clause(f"padding still counts {counts}, and {{it}} {{is}} 0 there", node.name)
    return Mutation(clause, 0, changes)


def _join_in_other_order(left, right):
    """Return the mutation that joins two matrices in the wrong order, and their operands in the right one."""

    def changes(context):
        first, second = context.inputs[left.name], context.inputs[right.name]
        joined = perturbations.join_columns(first, second)
        width = second.shape[1]
        return {left.number: lambda _: joined[:, width:], right.number: lambda _: joined[:, :width]}

    clause = f"{left.name} and {right.name} are concatenated in one order, but the vectors they multiply in the other"
    return Mutation(clause, 1, changes)


def _confuse_arguments(node, other):
    """Return the mutation that uses the argument ``other`` in place of one of the same sizes."""

    def changes(context):
        value, given = context.inputs.get(node.name), context.inputs.get(other)
        fits = value is not None and given is not None and tuple(value.shape) == tuple(given.shape)
        return {node.number: lambda _: given} if fits else {}

    clause = f"{{it}} {{is}} used instead of {node.name} where both have the same sizes"
    return Mutation(format_clause(clause, other), 1, changes)


def _softmax_mutation(step, weigh, bug, subject, right_weights=False):
    def changes(context):
        changed = {step.weights: lambda _: weigh(context.seen[step.scores], context.seen.get(step.mask))}
        if right_weights:
            changed[step.beside] = lambda _: accept_arrays(reference_softmax)(context.seen[step.scores], None)
        return changed

    clause: str = bug.clause if step.pads_only else OF_STEP.get(bug.clause) or bug.clause
    return Mutation(clause.format(it=subject), SOFTMAX_RANK, changes, bug.rare)
