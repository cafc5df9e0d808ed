"""A function is parsed, changed in one place and compiled again."""

import ast

from autograder.exercises.ast_utils import (
    build,
    compile_function,
    names_in,
    parse_function,
    root_name,
    slots,
    temporarily_replace,
)

SOURCE = '''
    def double(x, axis=-1):
        """Return twice x."""
        total = x[:, 1] * 2
        first, second = total, 3
        for n in range(4):
            total = total + n
        return {"sum": first, "rest": second}
'''


def slot_of(text, definition):
    return next(slot for slot in slots(definition) if ast.unparse(slot.node) == text)


def test_every_node_of_the_body_has_a_slot_but_what_is_assigned_to_and_the_docstring():
    definition = parse_function(SOURCE)
    names = [slot.node.id for slot in slots(definition) if isinstance(slot.node, ast.Name)]
    assert names == ["x", "total", "range", "total", "n", "first", "second"]
    assert "Return twice x." not in ast.unparse(definition)


def test_a_slot_knows_its_line_its_statement_and_what_it_is_part_of():
    definition = parse_function(SOURCE)
    slot_by_text = {text: slot_of(text, definition) for text in ("2", "1", "3", "4", "first", "second")}
    assert {text: slot.line - definition.lineno for text, slot in slot_by_text.items()} == {
        **{"2": 2, "1": 2, "3": 3, "4": 4, "first": 6, "second": 6}
    }
    assert [slot.statement for slot in slot_by_text.values()] == [0, 0, 1, 2, 3, 3]
    assert {text: slot.inside for text, slot in slot_by_text.items()} == {
        **{"2": "total", "1": "total", "3": "second", "4": "", "first": "sum", "second": "rest"}
    }
    assert [text for text, slot in slot_by_text.items() if slot.in_index] == ["1"]


def test_a_replacement_lasts_as_long_as_its_context():
    definition = parse_function("def f(x):\n    x = x + 1\n    return x * 2")
    before = ast.unparse(definition)
    with temporarily_replace(slot_of("2", definition), ast.Constant(5)):
        assert compile_function(definition, {})(1) == 10
    with temporarily_replace(next(slots(definition)), None):
        assert compile_function(definition, {})(1) == 2
    assert ast.unparse(definition) == before
    assert compile_function(before, {})(1) == 4


def test_a_template_is_filled_with_nodes():
    x, y = (ast.parse(text, mode="eval").body for text in ("a @ b", "c.d"))
    assert ast.unparse(build("_1 + 2 * _0", x, y)) == "c.d + 2 * (a @ b)"


def test_the_names_of_an_expression_are_told_without_modules():
    node = ast.parse("np.exp(a) @ b + a", mode="eval").body
    assert names_in(node) == ("a", "b")
    assert root_name(ast.parse("np.linalg.norm", mode="eval").body) == "np"
    assert root_name(ast.parse("f(x)", mode="eval").body) == ""
