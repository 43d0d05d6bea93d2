from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

from tests.conftest import TESTS
from tests.ir.samples import SAMPLES, sample
from tests.ir.strategies import VALUES, booleans, floats, integers, polynomials
from weft.ir.dtypes import PY_INT
from weft.ir.exprs import Expr, Value, const_index, index
from weft.ir.nodes import Axis, Let, Program, Region, Return, Tasklet, View
from weft.ir.parser import IRSyntaxError, parse_program
from weft.ir.printer import print_expr, print_program
from weft.ir.text import OpaqueObject
from weft.ir.verifier import verify


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_prints_as_it_is_written(name: str) -> None:
    assert print_program(sample(name)) == SAMPLES[name]


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_parses_back_equal(name: str) -> None:
    program = sample(name)

    assert parse_program(print_program(program)) == program


def example_texts() -> list[str]:
    page = (TESTS.parent / "docs" / "ir.md").read_text(encoding="utf-8")
    return [block for block in re.findall(r"```weft\n(.*?)```", page, re.DOTALL) if block.startswith("weft-ir")]


@pytest.mark.parametrize("text", example_texts())
def test_the_examples_of_the_documentation_are_programs(text: str) -> None:
    program = parse_program(text)

    verify(program)
    assert print_program(program) == text


def test_the_documentation_has_an_example() -> None:
    assert example_texts()


def holding(expr: Expr) -> Program:
    value = Value(99, "result", expr.type)
    unused = (Tasklet(lets=(Let(Value(100 + v.id, "use", v.type), v),)) for v in VALUES)
    body = Region((*unused, Tasklet(lets=(Let(value, expr),)), Return(value)))
    return Program("holding", (), (), (), {}, body)


@settings(deadline=None)  # a busy machine is no failure
@given(expr=floats() | integers() | booleans() | polynomials)
def test_every_expression_parses_back_as_the_same_object(expr: Expr) -> None:
    program = holding(expr)
    parsed = parse_program(print_program(program))

    assert parsed == program
    last = parsed.body.nodes[-2]
    assert isinstance(last, Tasklet)
    assert last.lets[0].expr is expr or isinstance(expr, Value)


@pytest.mark.parametrize(
    "view",
    [
        View("A", (const_index(3),), (Axis(const_index(1), ((0, const_index(2)),)),)),
        View("A", (const_index(3),), (Axis(const_index(1), ((0, const_index(-1)),)),)),
        View("A", (const_index(3),), (Axis(const_index(5)),)),
        View("A", (), (Axis(const_index(5)),)),
        View(
            "A", (const_index(2), const_index(3)), (Axis(const_index(0), ((0, const_index(3)), (1, const_index(1)))),)
        ),
        View("A", (const_index(2),), (Axis(index(VALUES[0]), ((0, index(VALUES[0]) - 1),)),)),
        View("A", (const_index(2),), (Axis(const_index(-4), ((0, -2 * index(VALUES[0]) * index(VALUES[1])),)),)),
        View("odd name", (const_index(2),), (Axis(const_index(0), ((0, const_index(1)),)),)),
        View(
            "A", (const_index(2), const_index(3)), (Axis(const_index(0)), Axis(const_index(0), ((1, const_index(1)),)))
        ),
        View("A", (), ()),
    ],
    ids=str,
)
def test_every_view_parses_back(view: View) -> None:
    program = Program("views", (), (), (), {}, Region((Return(view),)))

    assert parse_program(print_program(program)) == program


def test_a_value_prints_its_bounds_where_it_is_defined() -> None:
    n = Value(1, "n", PY_INT, low=0)
    i = Value(2, "i", PY_INT, high=7, floor=const_index(0), ceiling=index(n) - 1)
    lets = (Let(n, const_index(3)), Let(i, const_index(2)))
    program = Program("bounds", (), (), (), {}, Region((Tasklet(lets=lets), Return(i))))

    assert "%n.1: py_int in [0, _] = 3" in print_program(program)
    assert "%i.2: py_int in [_, 7] from 0 to %n.1 - 1 = 2" in print_program(program)
    assert parse_program(print_program(program)) == program


def test_a_value_and_the_polynomial_of_it_are_told_apart() -> None:
    value = Value(1, "i", PY_INT)

    assert print_expr(value) == "%i.1"
    assert print_expr(index(value)) == "1*%i.1"


@pytest.mark.parametrize("constant", [None, 1.5, -float("inf"), "a\nb", b"\0", (1, [2, {"x": 3 + 4j}])])
def test_literal_constants_come_back(constant: object) -> None:
    program = replace(sample("scalars_only"), constants=(constant,))

    assert parse_program(print_program(program)).constants == (constant,)


@pytest.mark.parametrize("constant", [..., np.float64, np.arange(3), len, object(), np.dtype("f8"), lambda: 0])
def test_other_constants_come_back_as_their_text(constant: object) -> None:
    program = replace(sample("scalars_only"), constants=(constant,))
    parsed = parse_program(print_program(program))

    assert isinstance(parsed.constants[0], OpaqueObject)
    assert parsed == program
    assert program == parsed
    assert "0x" not in print_program(program)


def test_an_undefined_value_is_printed_as_free() -> None:
    program = Program("free", (), (), (), {}, Region((Return(Value(7, "x", PY_INT, low=1)),)))

    assert "free %x.7: py_int in [1, _]" in print_program(program)
    assert parse_program(print_program(program)) == program


def test_parsed_nodes_have_ids_of_their_own() -> None:
    nodes = [node for node in sample("library").body.nodes if hasattr(node, "id")]
    ids = {getattr(node, "id", 0) for node in nodes}

    assert len(ids) == len(nodes)
    assert 0 not in ids


OBJECTS = """\
weft-ir 1
program objects
slot param 0: tuple length 1
slot item 0 of 0: py_int
slot param 1: list
constant object "Point"
scalar slot 1 = %n.1: py_int
{
  return tuple(list as 3 (%n.1), call 0 as 4 (%n.1, list as 3 (%n.1)), call 0(missing), slot 2)
}
"""


def test_objects_that_are_made_have_a_text() -> None:
    program = parse_program(OBJECTS)
    verify(program)
    assert print_program(program) == OBJECTS


def test_comments_and_blank_lines_are_skipped() -> None:
    text = SAMPLES["maps"].replace("{\n", "{  # begins\n\n   # more\n", 1)

    assert parse_program(text) == sample("maps")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("weft-ir 1", "weft-ir 2", "line 1, column 9: expected version 1 of the text form, found `2`"),
        ("weft-ir 1\n", "", "line 1, column 1: expected `weft`, found `program`"),
        ("array B", "aray B", "line 12, column 1: expected one of slot, function, constant"),
        ("array A: f8", "array A: f7", "line 11, column 10: expected an element type, found `f7`"),
        ("argument slot 0 S", "argument slot 0 Q", "line 11, column 41: expected a layout: C, F or S, found `Q`"),
        ("%j.7 - 1]", "%j.7 - ]", "line 19, column 33: expected an integer or a value, found `]`"),
        ("A[%i.6, %j.7]", "A[%i.6, %q.77]", "line 20, column 26: expected a value that is defined somewhere"),
        ("A[%i.6, %j.7]", "A[%i.6, %k.7]", "line 20, column 26: expected `%j.7`, found `%k.7`"),
        ("cast(%alpha.3): f8", "cast(%alpha.3)", "expected `:` and the type of the result, found `)`"),
        ("parallel {", "paralel {", "expected a schedule, `warn` or `{`, found `paralel`"),
        ("return slot 1\n}", "return slot 1\n", "line 27, column 1: expected a node or `}`, found end of text"),
        ("return slot 1", "return slot 1 2", "line 25, column 17: expected end of line, found `2`"),
        ('"no columns"', "no columns", "expected a quoted string, found `no`"),
        ("tasklet {", "tasklet ~ {", "line 18, column 13: expected a token, found `~`"),
        (
            "%c.9: f8 = A[",
            "write B[%i.6, %j.7] = 0.0:f8\n      %c.9: f8 = A[",
            "expected reads, then lets, then writes",
        ),
        ("{\n  site 0", "free %j.7: py_int\n{\n  site 0", "expected the same definition of %j.7 everywhere"),
        ("%i.6: py_int from 0", "%i.6: py_int from %i.6", "expected a value that is defined somewhere, found `%i.6`"),
        ("slot param 2: py_float", "slot param 2: static value f()", "expected a Python literal or `object`"),
    ],
)
def test_errors_say_where_and_what(old: str, new: str, message: str) -> None:
    text = SAMPLES["maps"]
    assert old in text

    with pytest.raises(IRSyntaxError) as caught:
        parse_program(text.replace(old, new, 1))

    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("elements at (%i.5", "elements (%i.5", "expected `[`, found `(`"),
        ("    yield %p.9\n", "", "expected a node or `}`, found `}`"),
        ("    yield %p.9\n", "    break\n    yield %p.9\n", "expected a tasklet or `yield`, found `break`"),
        ("initial 0.0:f8 parallel", "initial 0.0:f8 paralel", "expected a schedule, `warn` or end of line"),
    ],
)
def test_errors_in_what_is_never_stored(old: str, new: str, message: str) -> None:
    text = SAMPLES["elements"]
    assert old in text

    with pytest.raises(IRSyntaxError) as caught:
        parse_program(text.replace(old, new, 1))
    assert message in str(caught.value)
