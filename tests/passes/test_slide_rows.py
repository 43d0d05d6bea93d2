"""Rows that find neighbours in registers, whatever they compute and wherever they begin and end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from tests.conftest import Golden
from tests.end_to_end.outcome import assert_same_outcome, run
from tests.passes.programs import after, body_text, program
from weft.ir.nodes import Map, Program
from weft.ir.parser import parse_program
from weft.ir.printer import print_program
from weft.ir.traverse import all_nodes
from weft.ir.verifier import verify
from weft.passes.base import Session
from weft.passes.slide_rows import SlideRows
from weft.support.errors import InternalError

HEAD = """\
weft-ir 1
program sample
slot param 0: array float64 rank 2 layout C
slot param 1: array float64 rank 2 layout C written
size %n.1: py_int in [3, 1000000]
size %m.2: py_int in [3, 1000000]
array A: f8[%n.1, %m.2] argument slot 0 C
array B: f8[%n.1, %m.2] argument slot 1 C written
"""
OPENING = "  site 0 f0@() {A: slot 0, B: slot 1}\n"
PAIR = "%x.30: f8 = A[%i.20, %j.21]\n%y.31: f8 = A[%i.20, %j.21 + 2]"


def nest(*lines: str, schedule: str = " parallel") -> Program:
    """A map of one tasklet."""
    body = "\n".join(lines)
    head = f"map (%i.20: py_int, %j.21: py_int) in [0:%n.1 - 2, 0:%m.2 - 2]{schedule}"
    return program(f"  {head} {{\n    tasklet {{\n{body}\n    }}\n  }}\n  return missing", head=HEAD, opening=OPENING)


def write(expr: str, place: str = "%i.20, %j.21") -> str:
    return f"write B[{place}] = {expr}"


SLIDING = [
    ("neighbours", nest(PAIR, write("add(%x.30, %y.31)"))),
    ("in order", nest(PAIR, write("add(%x.30, %y.31)"), schedule="")),
    ("on itself", nest(PAIR, "%z.32: f8 = B[%i.20, %j.21]", write("add(%z.32, multiply(%x.30, %y.31))"))),
    ("times one number", nest(PAIR, "%z.32: f8 = A[%i.20, 0]", write("multiply(%z.32, subtract(%x.30, %y.31))"))),
]
OTHERS = [
    ("rows above", nest("%x.30: f8 = A[%i.20, %j.21]\n%y.31: f8 = A[%i.20 + 1, %j.21]", write("add(%x.30, %y.31)"))),
    ("far apart", nest("%x.30: f8 = A[%i.20, %j.21]\n%y.31: f8 = A[%i.20, %j.21 + 9]", write("add(%x.30, %y.31)"))),
    ("functions", nest(PAIR, write("exp(add(%x.30, %y.31))"))),
    ("conditions", nest(PAIR, write("maximum(%x.30, %y.31)"))),
    ("columns", nest("%x.30: f8 = A[%j.21, %i.20]\n%y.31: f8 = A[%j.21 + 1, %i.20]", write("add(%x.30, %y.31)"))),
    ("columns written", nest(PAIR, write("add(%x.30, %y.31)", "%j.21, %i.20"))),
    ("one number written", nest(PAIR, write("2.0:f8"))),
    ("a diagonal", nest("%x.30: f8 = A[%j.21, %j.21]\n%y.31: f8 = A[%j.21, %j.21 + 1]", write("add(%x.30, %y.31)"))),
    ("rare", nest(PAIR, write("add(%x.30, %y.31)"), schedule=" rare")),
]


def slides(given: Program) -> bool:
    (only,) = [node for node in all_nodes(given.body) if isinstance(node, Map)]
    return only.slides


@pytest.mark.parametrize("given", [case[1] for case in SLIDING], ids=[case[0] for case in SLIDING])
def test_arithmetic_on_neighbours_slides(given: Program) -> None:
    assert slides(after(SlideRows(), given))


@pytest.mark.parametrize("given", [case[1] for case in OTHERS], ids=[case[0] for case in OTHERS])
def test_other_rows_are_left_to_the_c_compiler(given: Program) -> None:
    assert after(SlideRows(), given) is given


def test_the_graph(golden: Golden) -> None:
    session = Session()
    assert body_text(after(SlideRows(), SLIDING[0][1], session)) == golden
    assert [record.text for record in session.records] == ["neighbours in a row are taken from registers"]


def test_the_text_of_a_graph_says_it() -> None:
    text = print_program(after(SlideRows(), SLIDING[0][1]))
    assert "parallel slides {" in text
    assert print_program(parse_program(text)) == text


def test_rows_that_read_after_they_have_written_are_an_error() -> None:
    text = print_program(after(SlideRows(), SLIDING[0][1]))
    line = next(line for line in text.splitlines() if "write B" in line)
    wrong = text.replace(line, f"{line}\n    }}\n    tasklet {{\n      %q.77: f8 = A[%i.20, 0]")
    assert wrong != text
    with pytest.raises(InternalError, match="reads after it has written"):
        verify(parse_program(wrong))


# ---- compiled -------------------------------------------------------------------------------------------------------


def five(a, b):
    b[1:-1, 1:-1] = 0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1])


def backward(a, b):
    b[:, 1:] = a[:, 1:] - a[:, :-1]


def forward(a, b):
    b[:, :-3] = a[:, 3:] / a[:, :-3]


def between(a, b):
    b[:, 2:-2] = a[:, :-4] * a[:, 4:]


def in_place(a, b):
    b[:, 1:-1] += a[:, 2:] - 2 * a[:, 1:-1] + a[:, :-2]


def squared(a, b):
    b[:, 1:] = -((a[:, 1:] - a[:, :-1]) ** 2) * b[:, 1:]


def two_results(a, b):
    return a[:, 1:] + a[:, :-1], a[:, 1:] * a[:, :-1] - b[:, 1:]


def by_rows(a, b):
    b[:, 1:-1] = (a[:, 2:] - a[:, :-2]) * a[:, :1] + b[0, 0]


def volumes(a, b):
    c = np.stack((a, b, a - b))
    d = np.zeros_like(c)
    d[1:-1, 1:-1, 1:-1] = c[1:-1, 1:-1, 2:] - 2 * c[1:-1, 1:-1, 1:-1] + c[1:-1, 1:-1, :-2] + c[2:, 1:-1, 1:-1]
    return d


def steps(a, b):
    for _ in range(5):
        b[1:-1, 1:-1] = (a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1]) * 0.25
        a[1:-1, 1:-1] = (b[1:-1, :-2] + b[1:-1, 2:] + b[2:, 1:-1] + b[:-2, 1:-1]) * 0.25


def lines(a, b):
    """Steps on one line, whose points strips share."""
    x, y = a[0].copy(), b[0].copy()
    for _ in range(4):
        y[1:-1] = (x[:-2] + x[1:-1] + x[2:]) / 3
        x[1:-1] = (y[:-2] + y[1:-1] + y[2:]) / 3
    return x, y


FUNCTIONS = [five, backward, forward, between, in_place, squared, two_results, by_rows, volumes, steps, lines]
WIDTHS = (5, 31, 32, 33, 34, 35, 39, 40, 41, 47, 48, 63, 64, 65, 66, 67, 90, 129, 300, 1025)


def numbers(shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).random(shape) * 20 + 1


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("threads", [1, 2])
def test_rows_of_any_length_compute_what_numpy_computes(function: Callable[..., Any], threads: int) -> None:
    program = weft.program(function, threads=threads)
    for width in WIDTHS:
        for dtype in (np.float64, np.float32):
            a, b = (numbers((7, width), seed).astype(dtype) for seed in (1, 2))
            ours, expected = run(program, [a.copy(), b.copy()]), run(function, [a, b])
            assert_same_outcome(ours, expected, where=f"{width}, {dtype}")
    assert program.stats.python_statements == 0
    assert "neighbours in a row are taken from registers" in str(program.explain())


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_rows_begin_anywhere_and_lie_as_they_like(function: Callable[..., Any]) -> None:
    program = weft.program(function)
    for take in (
        *(lambda x, first=first: x[:, first:] for first in range(1, 9)),
        np.asfortranarray,
        lambda x: x[::2, ::3],
        lambda x: x[::-1],
        lambda x: x[:, ::-1],
    ):
        arguments = [[take(numbers((9, 150))), take(numbers((9, 150), 2))] for _ in range(2)]
        assert_same_outcome(run(program, arguments[0]), run(function, arguments[1]))


@pytest.mark.parametrize("function", [five, backward, in_place, forward, steps], ids=lambda f: f.__name__)
@pytest.mark.filterwarnings("ignore")
def test_rows_warn_as_numpy_does(function: Callable[..., Any]) -> None:
    """Wherever the element lies: in a vector of the loop, or in those at the ends, which are computed twice."""
    program = weft.program(function)
    for place in (0, 1, 2, 7, 8, 9, 36, 68, 69, 70, 71):
        for value in (0.0, np.inf, np.nan, 1e308):
            a, b = np.full((5, 72), 1e308), np.full((5, 72), 1e308)
            a[2, place] = value
            ours, expected = run(program, [a.copy(), b.copy()]), run(function, [a, b])
            assert_same_outcome(ours, expected, where=f"{place}, {value}")


def test_one_array_twice_is_not_taken_for_two() -> None:
    def smooth(a, b):
        b[:, 1:-1] = a[:, :-2] + a[:, 1:-1] + a[:, 2:]

    program = weft.program(smooth)
    for width in WIDTHS:
        ours, expected = numbers((3, width)), numbers((3, width))
        program(ours, ours)
        smooth(expected, expected)
        np.testing.assert_array_equal(ours, expected)


def test_nothing_beside_the_row_is_touched() -> None:
    """The last elements of a row that is a window on a larger array stay as they are."""
    program = weft.program(backward)
    for width in WIDTHS:
        whole, other = np.full((4, width + 20), -1.0), numbers((4, width + 20))
        program(other[:, 10:-10], whole[:, 10:-10])
        assert (whole[:, :11] == -1).all()
        assert (whole[:, -10:] == -1).all()
        np.testing.assert_array_equal(whole[:, 11:-10], other[:, 11:-10] - other[:, 10:-11])


def test_the_row_in_c(golden: Golden) -> None:
    program = weft.program(in_place, threads=1)
    program(np.ones((9, 9)), np.ones((9, 9)))
    source = program.inspect_source()
    start = source.index("if (WEFT_ROW_BYTES &&")
    assert source[start : source.index("else\n", start)] == golden


def test_it_can_be_left_out() -> None:
    program = weft.program(five, without=("slide-rows",))
    program(np.ones((9, 9)), np.ones((9, 9)))
    assert "WEFT_ROW_BYTES" not in program.inspect_source()
