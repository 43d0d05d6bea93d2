"""Rows that read the same elements run side by side, whatever becomes of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import weft
from tests.conftest import Golden
from tests.end_to_end.outcome import assert_same_outcome, run
from tests.passes.programs import after, body_text, program
from weft.analysis.side_by_side import Together, rows_together
from weft.codegen import innermost
from weft.ir.nodes import Map, Program
from weft.ir.parser import parse_program
from weft.ir.printer import print_program
from weft.ir.traverse import all_nodes
from weft.ir.verifier import verify
from weft.passes.jam_rows import JamRows
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


def nest(*offsets: tuple[int, int], compute: str = "", schedule: str = " parallel") -> Program:
    """A map that adds up the neighbours at some offsets."""
    reads = [f"%x.{30 + k}: f8 = A[%i.20 + {a}, %j.21 + {b}]" for k, (a, b) in enumerate(offsets)]
    sums = [
        f"%s.{60 + k}: f8 = add(%x.{30 + k}, %{'x.30' if k == 1 else f's.{59 + k}'})" for k in range(1, len(offsets))
    ]
    last = f"%s.{59 + len(offsets)}" if len(offsets) > 1 else "%x.30"
    lines = "\n".join(
        (*reads, *sums, f"%y.99: f8 = {compute or 'negative'}({last})", "write B[%i.20 + 1, %j.21 + 1] = %y.99")
    )
    head = f"map (%i.20: py_int, %j.21: py_int) in [0:%n.1 - 2, 0:%m.2 - 2]{schedule}"
    return program(f"  {head} {{\n    tasklet {{\n{lines}\n    }}\n  }}\n  return missing", head=HEAD, opening=OPENING)


def abreast(given: Program) -> int:
    (only,) = [node for node in all_nodes(given.body) if isinstance(node, Map)]
    return only.abreast


CROSS = ((0, 1), (1, 0), (1, 1), (1, 2), (2, 1))
SQUARE = tuple((a, b) for a in range(3) for b in range(3))
SHARING = [
    ("five points", CROSS, 6),
    ("nine points", SQUARE, 3),
    ("two rows", ((0, 1), (1, 1)), 6),
    ("twenty-five points", tuple((a, b) for a in range(5) for b in range(5)), 3),
    ("one row", ((1, 0), (1, 1), (1, 2)), 1),
    ("one element", ((1, 1),), 1),
]


@pytest.mark.parametrize(("offsets", "count"), [case[1:] for case in SHARING], ids=[case[0] for case in SHARING])
def test_as_many_rows_as_have_room_go_abreast(offsets: tuple[tuple[int, int], ...], count: int) -> None:
    before = nest(*offsets)
    made = after(JamRows(), before)
    assert abreast(made) == count
    assert (made is before) == (count == 1)


def test_what_rows_have_in_common_is_counted_once() -> None:
    (cross,) = [node for node in all_nodes(nest(*CROSS).body) if isinstance(node, Map)]
    assert rows_together(cross, 1) == Together(reads=5, operations=5, apart=10)
    assert rows_together(cross, 3) == Together(reads=11, operations=15, apart=30)
    (pair,) = [node for node in all_nodes(nest((0, 1), (1, 1), (1, 2)).body) if isinstance(node, Map)]
    assert rows_together(pair, 2) == Together(reads=5, operations=6, apart=12)


def test_operations_on_the_same_elements_are_the_same() -> None:
    """Differences of differences: the second one of a row is the first one of the next."""
    lines = """
      %a.30: f8 = A[%i.20, %j.21]
      %b.31: f8 = A[%i.20 + 1, %j.21]
      %c.32: f8 = A[%i.20 + 2, %j.21]
      %d.33: f8 = subtract(%b.31, %a.30)
      %e.34: f8 = subtract(%c.32, %b.31)
      write B[%i.20, %j.21] = subtract(%e.34, %d.33)"""
    head = "map (%i.20: py_int, %j.21: py_int) in [0:%n.1 - 2, 0:%m.2] parallel"
    made = program(f"  {head} {{\n    tasklet {{{lines}\n    }}\n  }}\n  return missing", head=HEAD, opening=OPENING)
    (node,) = [node for node in all_nodes(made.body) if isinstance(node, Map)]
    assert rows_together(node, 3) == Together(reads=5, operations=7, apart=18)
    assert abreast(after(JamRows(), made)) == 3


def test_functions_and_maps_in_order_are_left_alone() -> None:
    for before in (nest(*CROSS, compute="exp"), nest(*CROSS, schedule="")):
        assert after(JamRows(), before) is before


def test_the_graph(golden: Golden) -> None:
    assert body_text(after(JamRows(), nest(*CROSS))) == golden


def test_the_text_of_a_graph_says_it() -> None:
    made = after(JamRows(), nest(*CROSS))
    text = print_program(made)
    assert "parallel abreast 6 {" in text
    assert print_program(parse_program(text)) == text


def test_rows_of_nothing_are_an_error() -> None:
    text = print_program(after(JamRows(), nest(*CROSS)))
    with pytest.raises(InternalError, match="no row abreast"):
        verify(parse_program(text.replace("abreast 6", "abreast 0")))


# ---- compiled -------------------------------------------------------------------------------------------------------


def five(a, b):
    b[1:-1, 1:-1] = 0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1])


def in_place(a, b):
    b[1:-1, 1:-1] += a[2:, 1:-1] - 2 * a[1:-1, 1:-1] + a[:-2, 1:-1]


def two_results(a, b):
    c = np.empty_like(b)
    c[1:] = a[1:] - a[:-1]
    c[0] = 1
    return c, a[1:] + a[:-1]


def with_a_condition(a, b):
    d = a[1:] - a[:-1]
    return np.where(d * b[1:] > 0, 0, d)


def limited(a, b):
    d = a[1:, 1:-1] - a[:-1, 1:-1]
    d = np.where(d * a[1:, 2:] > 0, 0, d)
    return a[1:-1, 1:-1] - b[1:-1, 1:-1] * (d[1:] - d[:-1])


def of_volumes(a, b):
    c = np.stack((a, b, a))
    return c[:, 1:-1, 1:-1] - c[:, :-2, 1:-1] - c[:, 2:, 1:-1]


def divided(a, b):
    b[1:-1] = a[:-2] / a[2:] + a[1:-1]


def nine(a, b):
    c = a[:, 1:-1] + a[:, :-2] + a[:, 2:]
    b[1:-1, 1:-1] = (c[1:-1] + c[2:] + c[:-2]) / 9


def twice(a, b):
    d = a[1:, 1:-1] - a[:-1, 1:-1]
    e = d[1:] * d[:-1]
    b[2:-1, 1:-1] += np.where(e[1:] > e[:-1], e[1:] - e[:-1], 0)


def on_itself(a, b):
    d = a[1:, 1:-1] * a[:-1, 1:-1]
    b[1:-1, 1:-1] = b[1:-1, 1:-1] * b[1:-1, 1:-1] - (d[1:] - d[:-1]) * d[1:]


def levels(a, b):
    c = np.stack((a, b, a + b, a - b, b, a), axis=1)
    d = c[1:] - c[:-1]
    d = np.where(d * c[:-1] > 0, d, 0)
    return c[1:-1, 1:-1] - (d[1:, 1:-1] - d[:-1, 1:-1])


FUNCTIONS = [
    nine,
    twice,
    on_itself,
    levels,
    five,
    in_place,
    two_results,
    with_a_condition,
    limited,
    of_volumes,
    divided,
]


@pytest.fixture
def everything_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(innermost, "_LARGE_BYTES", 0)
    monkeypatch.setattr(innermost, "_LONG_BYTES", 0)


def shapes() -> Iterator[tuple[int, int]]:
    """Fewer rows than go abreast, as many, some more; columns around vectors and strips."""
    for rows in (2, 3, 7, 8, 9, 13, 14, 26):
        for columns in (2, 3, 9, 40, 259, 600):
            yield rows, columns


@pytest.mark.usefixtures("everything_is_large")
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("threads", [1, 3])
def test_rows_abreast_compute_what_numpy_computes(function: Callable[..., Any], threads: int) -> None:
    program = weft.program(function, threads=threads)
    rng = np.random.default_rng(0)
    for shape in shapes():
        for dtype in (np.float64, np.float32, np.int64):
            a, b = ((rng.random(shape) * 20 + 1).astype(dtype) for _ in range(2))
            ours, expected = run(program, [a.copy(), b.copy()]), run(function, [a, b])
            assert_same_outcome(ours, expected, where=f"{shape}, {dtype}")
    assert program.stats.python_statements == 0


@pytest.mark.usefixtures("everything_is_large")
@pytest.mark.parametrize(
    "function", [five, nine, twice, on_itself, in_place, limited, divided], ids=lambda f: f.__name__
)
def test_rows_of_any_layout_go_abreast(function: Callable[..., Any]) -> None:
    program = weft.program(function)
    whole = np.random.default_rng(0).random((40, 90)) + 1
    for take in (
        np.asfortranarray,
        lambda x: x[::2, ::3],
        lambda x: x[::-1],
        lambda x: x[:, ::-1],
        lambda x: x[3:, 5:],
    ):
        arguments = [[take(whole.copy()), take(whole * 2)] for _ in range(2)]
        assert_same_outcome(run(program, arguments[0]), run(function, arguments[1]))


@pytest.mark.usefixtures("everything_is_large")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("function", [in_place, divided, nine, twice, on_itself, limited], ids=lambda f: f.__name__)
def test_rows_abreast_warn_as_numpy_does(function: Callable[..., Any]) -> None:
    program = weft.program(function)
    for place in ((0, 0), (8, 30), (9, 300), (13, 599)):
        for value in (0.0, np.inf, 1e308):
            a, b = np.ones((14, 600)), np.full((14, 600), 1e308)
            a[place] = value
            ours, expected = run(program, [a.copy(), b.copy()]), run(function, [a, b])
            assert_same_outcome(ours, expected, where=f"{place}, {value}")


def test_large_arrays_are_computed_alike_with_and_without() -> None:
    a = np.random.default_rng(0).random((1500, 1300))
    results = [weft.program(limited, without=without)(a, a) for without in ((), ("jam-rows",))]
    np.testing.assert_array_equal(*results)


def test_rows_that_have_much_in_common_write_last_and_compute_it_once(golden: Golden) -> None:
    program = weft.program(limited, threads=1)
    program(np.ones((9, 9)), np.ones((9, 9)))
    source = program.inspect_source()
    start = source.rindex("#pragma omp simd", 0, source.index("late;"))
    end = source.index("#pragma omp simd", source.index("= late"))
    assert source[start:end] == golden
    assert "3 rows run side by side" in str(program.explain())


def test_the_listing_says_that_rows_go_abreast() -> None:
    program = weft.program(five)
    program(np.ones((9, 9)), np.ones((9, 9)))
    assert "6 rows run side by side where the arrays do not fit in the caches" in str(program.explain())
