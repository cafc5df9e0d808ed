"""What a worker says of the line where an error was raised is looked up on the host, and bounded."""

import pytest

from autograder.sandbox import protocol


@pytest.mark.parametrize(
    ("number", "quoted"),
    [(1, "one"), (2, "t[2Jwo"), (3, "x" * protocol.LONGEST_LINE), (4, ""), (0, ""), (-1, "")],
)
def test_of_the_line_that_raised_only_so_much_is_quoted_as_a_sentence_holds_and_what_is_seen(number, quoted):
    sources = {"cell": "  one  \nt\x1b[2J\u202ewo\x00\n" + "x" * 10**6}
    assert protocol._line(sources, "cell", number) == quoted
    assert protocol._line(sources, "another", number) == protocol._line(sources, ["cell"], number) == ""


@pytest.mark.parametrize("line", [True, "3", 10_000, 10**9, -1, 0.5, None])
def test_a_line_that_no_cell_has_is_no_line(line):
    message = {"raised": "ValueError", "line": line, "cell": "cell"}
    reply = protocol._reply(message, None, {"cell": "\n" * 20_000})
    assert (reply.line, reply.text) == (0, "")
