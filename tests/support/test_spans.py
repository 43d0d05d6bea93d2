from __future__ import annotations

import ast
import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.support.spans import Span


def span_of(source: str, node_text: str, **options: int) -> Span:
    """The span of the expression in `source` whose text is `node_text`."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.expr) and ast.get_source_segment(source, node) == node_text:
            return Span.from_node(node, "heat.py", source.split("\n"), **options)
    raise LookupError(node_text)


def marked(span: Span) -> str:
    return span.text[span.start : span.stop]


def test_columns_are_zero_based_and_exclude_the_end() -> None:
    assert span_of("x = 1\ny = A + b\n", "A + b") == Span("heat.py", 2, 4, 9, "y = A + b")


@pytest.mark.parametrize("name", ["é", "变量", "𝛼β", "a"])
def test_columns_count_characters_not_bytes(name: str) -> None:
    span = span_of(f"{name} = '{name}' + other", "other")

    assert marked(span) == "other"
    assert span.start == len(name) + 3 + len(name) + 2 + 3


def test_a_node_of_several_lines_is_cut_to_its_first() -> None:
    span = span_of("y = f(a,\n      b)\n", "f(a,\n      b)")

    assert (span.line, marked(span), span.text) == (1, "f(a,", "y = f(a,")


def test_a_multi_line_node_that_ends_in_an_early_column_keeps_its_first_line() -> None:
    span = span_of("        \nlong_name = (first +\ns)", "first +\ns")

    assert marked(span) == "first +"


def test_a_function_cut_out_of_its_file_keeps_the_files_places() -> None:
    lines = ["    def f(é):\n", "        return é + bad\n"]
    tree = ast.parse(textwrap.dedent("".join(lines)))
    returned = next(node for node in ast.walk(tree) if isinstance(node, ast.Return))
    assert isinstance(returned.value, ast.BinOp)

    span = Span.from_node(returned.value.right, "mod.py", lines, line_offset=40, indent=4)

    assert span == Span("mod.py", 42, 19, 22, "        return é + bad")


def test_arguments_and_statements_have_spans() -> None:
    function = ast.parse("def f(a, b): pass").body[0]
    assert isinstance(function, ast.FunctionDef)

    assert Span.from_node(function.args.args[1], "f.py", ["def f(a, b): pass"]).start == 9
    assert Span.from_node(function, "f.py", ["def f(a, b): pass"]).start == 0


def test_a_node_outside_the_known_lines_has_an_empty_text() -> None:
    node = ast.parse("\n\nx + y").body[0]

    assert Span.from_node(node, "<string>", []) == Span("<string>", 3, 0, 0, "")


def test_spans_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        Span("a.py", 1, 0, 1, "x").line = 2  # type: ignore[misc]


@given(before=st.text(st.characters(exclude_characters="'\\{}\r\n\0", exclude_categories=["Cs", "Cc"]), max_size=20))
def test_the_marked_text_is_the_nodes_own(before: str) -> None:
    assert marked(span_of(f"f('{before}', target)", "target")) == "target"
