"""Each mutation operator makes its change and supplies a clause to show to students."""

import ast

import pytest

from autograder.exercises.ast_utils import parse_function, slots, temporarily_replace
from autograder.exercises.mutation_operators import FunctionContext, rewrites


def mutated(body, kind="code", arguments=("x", "y")):
    """Return ``{(what, changed body): clause}`` for all rewrites of one function."""
    definition = parse_function(
        f"def f({', '.join(arguments)}):\n" + "".join(f"    {line}\n" for line in body.split("\n"))
    )
    around, clauses = FunctionContext(kind, list(arguments), {"np"}), {}
    for slot in slots(definition):
        for rewrite in rewrites(slot, around):
            with temporarily_replace(slot, rewrite.new):
                text = "\n".join(ast.unparse(statement) for statement in definition.body)
            clauses[rewrite.what, text] = rewrite.clause
    return clauses


EACH = {
    "an operator": ("return x + y", "Add becomes Sub", "return x - y"),
    "an operand": ("return x @ y", "right operand dropped", "return x"),
    "a term": ("return x - y", "right term doubled", "return x - 2 * y"),
    "a quotient": ("return x / y", "Div becomes FloorDiv", "return x // y"),
    "a transposition": ("return x @ y", "left operand transposed", "return x.T @ y"),
    "a sign": ("return -x", "USub dropped", "return x"),
    "a comparison": ("return x < y", "Lt becomes LtE", "return x <= y"),
    "a condition": ("return x and y", "becomes Or", "return x or y"),
    "a lonely condition": ("return x and y", "a condition alone", "return y"),
    "a transpose": ("return x.T", "transpose dropped", "return x"),
    "a slice": ("return x[1:]", "lower bound off by one (Sub)", "return x[1 - 1:]"),
    "a slice without an end": ("return x[1:]", "upper bound of 1", "return x[1:-1]"),
    "the order of a slice": ("return x[1:]", "reversed", "return x[1::-1]"),
    "a sequence": ("return [x, y]", "entries 1 and 2 exchanged", "return [y, x]"),
    "an entry": ("return {'a': x, 'b': y}", "a left out", "return {'b': y}"),
    "a missing entry": ("return [x, y]", "entry 2 dropped", "return [x]"),
    "three entries": ("return [x, y, 1]", "reversed", "return [1, y, x]"),
    "two entries": ("return {'a': x, 'b': y}", "values 1 and 2 exchanged", "return {'a': y, 'b': x}"),
    "a function": ("return np.tanh(x)", "tanh forgotten", "return x"),
    "a method": ("return x.sum(axis=1)", "sum becomes max", "return x.max(axis=1)"),
    "the larger of two": ("return max(x, y)", "max forgotten", "return y"),
    "a keyword": ("return x.sum(axis=1)", "axis left out", "return x.sum()"),
    "an axis": ("return x.sum(axis=1)", "1 becomes 0", "return x.sum(axis=0)"),
    "arguments": ("return np.dot(x, y)", "arguments exchanged", "return np.dot(y, x)"),
    "subscripts": ("return np.einsum('ab->a', x)", "subscripts ab become ba", "return np.einsum('ba->a', x)"),
    "subscripts of a product": (
        *("return np.einsum('ab,bc->ac', x, y)", "subscripts bc become cb"),
        "return np.einsum('ab,cb->ac', x, y)",
    ),
    "a mask": ("return np.where(x, y, 0)", "the branches exchanged", "return np.where(x, 0, y)"),
    "a function of a sum": ("return np.tanh(x + y)", "tanh of each term", "return np.tanh(x) + np.tanh(y)"),
    "a method of a sum": ("return (x + y).exp()", "exp of each term", "return x.exp() + y.exp()"),
    "a root": ("return np.sqrt(x)", "sqrt rounded up", "return np.ceil(np.sqrt(x))"),
    "another argument": ("return x", "y in place of x", "return y"),
    "one row": ("return x", "only the first row of x", "return x[:1]"),
    "a choice": ("return x if y else 0", "always the second", "return 0"),
    "a sum in a loop": ("x += y\nreturn x", "not added up", "x = y\nreturn x"),
    "an operator in a loop": ("x += y\nreturn x", "Add becomes Mult", "x *= y\nreturn x"),
    "a loop": ("for n in x:\n        f(n)", "the loop leaves out the last", "for n in list(x)[:-1]:\n    f(n)"),
    "a statement": ("x = y\nreturn x", "statement dropped", "return x"),
    "the result": ("return x", "a small factor", "return x * 1.001"),
    "a truth value": ("return x.sum(keepdims=True)", "True becomes False", "return x.sum(keepdims=False)"),
    "a decimal": ("return 2.5 * x", "2.5 becomes -2.5", "return -2.5 * x"),
    "a decimal doubled": ("return 2.5 * x", "2.5 becomes 5", "return 5.0 * x"),
}


@pytest.mark.parametrize(("body", "what", "changed"), EACH.values(), ids=EACH)
def test_each_operator_changes_one_thing(body, what, changed):
    assert (what, changed) in mutated(body)


CLAUSES = {
    "Sub becomes Add": ("return x - y", "code", "the term with {right} is added instead of subtracted"),
    "left term without effect": ("return x + y", "code", "the term with {left} is missing"),
    "tanh becomes logistic": ("return np.tanh(x)", "code", "a logistic function is used instead of a tanh{where}"),
    "maximum becomes softplus": (
        *("return np.maximum(x, 0)", "code"),
        "a smooth softplus is used instead of the ReLU: it is not 0 for negative inputs",
    ),
    "log becomes log2": ("return np.log(x)", "code", "the logarithm is taken to base 2{where}"),
    "3 becomes -3": ("return [3, x]", "number", "one of the numbers used for {of} has the wrong sign"),
    "USub dropped": ("return [-3, x]", "number", "one of the numbers used for {of} has the wrong sign"),
    "3 becomes 0": ("return [3, x]", "number", "one of the numbers used for {of} is left out"),
    "3 becomes 6": ("return [3, x]", "number", "one of the numbers used for {of} is counted twice"),
    "axis becomes 0": ("return x.sum(axis=-1)", "code", "a step runs along the wrong axis{where}"),
    "1 becomes 0": ("return x.sum(axis=1)", "code", "a step runs along the wrong axis{where}"),
}


@pytest.mark.parametrize("what", CLAUSES)
def test_a_slip_that_a_student_can_be_told_has_a_clause(what):
    body, kind, clause = CLAUSES[what]
    assert clause in {offered for (name, _), offered in mutated(body, kind).items() if name == what}


def test_numbers_of_code_and_sizes_of_shapes_have_no_clause():
    assert not any(clause for (what, _), clause in mutated("return 3 * x").items() if "becomes" in what)
    shapes = mutated("return (x, 2 * y)", "shape")
    assert ("x doubled", "return (2 * x, 2 * y)") in shapes
    assert ("an axis of 1 in front", "return (1, x, 2 * y)") in shapes
    assert not any(shapes.values())


@pytest.mark.parametrize("number", range(5))
def test_a_whole_number_is_off_by_one_zero_doubled_or_negative(number):
    changes = {what for what, _ in mutated(f"return {number}", "number") if " becomes " in what}
    others = {number + 1, number - 1, 0, 2 * number, -number} - {number}
    assert changes == {f"{number} becomes {other}" for other in others}


def test_a_wrong_sign_is_plainer_than_a_number_that_is_left_out_or_counts_otherwise():
    ranks = {}
    definition = parse_function("def f():\n    return [3, 0]\n")
    for slot in slots(definition):
        ranks |= {rewrite.what: rewrite.rank for rewrite in rewrites(slot, FunctionContext("number", [], set()))}
    assert ranks["3 becomes -3"] < ranks["3 becomes 0"] == ranks["3 becomes 6"] == ranks["0 becomes 1"]
