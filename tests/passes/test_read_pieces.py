"""Maps are cut where arrays were put together, and read from where the pieces came."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from tests.compiling import PLAINLY
from tests.conftest import Golden
from tests.passes.programs import after, arguments, body_text, meaning, program
from weft.ir.nodes import Map, Program
from weft.ir.traverse import all_nodes
from weft.passes.read_pieces import ReadPieces

LONG = '  guard greater_equal(%n.1, 2): b1 else site 0 "short"\n'
ROLL = """  alloc T site 0
  map (%i.20: py_int) in [0:%n.1 - 1] {
    tasklet {
      %x.21: f8 = A[%i.20]
      write T[%i.20 + 1] = %x.21
    }
  }
  map (%i.22: py_int) in [0:1] {
    tasklet {
      %x.23: f8 = A[%n.1 - 1 + %i.22]
      write T[%i.22] = %x.23
    }
  }
"""
READ = """  map (%p.30: py_int) in [0:%n.1] {
    tasklet {
      %x.31: f8 = T[%p.30]
      write B[%p.30] = multiply(%x.31, 2.0:f8)
    }
  }
"""


def put_together(middle: str = "", *, pieces: str = ROLL, reader: str = READ, guard: str = LONG) -> Program:
    return program(f"{guard}{pieces}{middle}{reader}  return missing")


def maps(given: Program) -> int:
    return sum(isinstance(node, Map) for node in all_nodes(given.body))


def same_for_two_and_more(left: Program, right: Program) -> None:
    for size in (2, 3, 6):
        for a, b in zip(
            meaning(left, lambda size=size: arguments(size)),
            meaning(right, lambda size=size: arguments(size)),
            strict=True,
        ):
            np.testing.assert_array_equal(a, b)


def test_before_and_after(golden: Golden) -> None:
    before = put_together()
    made = after(ReadPieces(), before)
    assert "T" not in made.containers
    same_for_two_and_more(before, made)
    assert body_text(made) == golden


@pytest.mark.parametrize(
    "changed",
    [
        put_together(guard=""),  # the pieces may change places
        put_together("  write A[0] = 1.0:f8\n"),  # the source changes
        put_together("  write T[0] = 1.0:f8\n"),  # and so does a piece
        put_together(reader=READ.replace("write B", "write A")),  # the reader overwrites the source
        put_together(reader=READ.replace("T[%p.30]", "T[-%p.30 + %n.1 - 1]")),  # backwards
        put_together(pieces=ROLL.replace("write T[%i.20 + 1] = %x.21", "write T[%i.20 + 1] = add(%x.21, 1.0:f8)")),
        put_together(pieces=ROLL.replace("[0:%n.1 - 1]", "[0:%n.1 - 2]")),  # a gap
    ],
)
def test_left_alone(changed: Program) -> None:
    made = after(ReadPieces(), changed)
    assert made is changed


def test_reading_inside_of_one_piece_needs_no_cut() -> None:
    inside = READ.replace("[0:%n.1]", "[1:%n.1]")
    made = after(ReadPieces(), put_together(reader=inside))
    assert maps(made) == 1


# ---- against NumPy --------------------------------------------------------------------------------------------------


def laplacian(u: Any) -> Any:
    return np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1) - 4 * u


def neighbours(g: Any) -> Any:
    return sum(np.roll(np.roll(g, i, 0), j, 1) for i in (-1, 0, 1) for j in (-1, 0, 1))


def far(u: Any) -> Any:
    return np.roll(u, 3, 1) - np.roll(u, -2, 0) + np.roll(u, (1, -1), (0, 1))


def steps(u: Any, v: Any) -> Any:
    for _ in range(3):
        lap = np.roll(u, 1, 0) + np.roll(u, -1, 1) - 2 * u
        u, v = u + 0.1 * lap - v, v + u * 0.5
    return u, v


def in_place(u: Any) -> Any:
    for _ in range(2):
        u[:] = np.roll(u, 1, 0) + np.roll(u, -1, 1)
    u += np.roll(u, 1, 1)
    return u


def joined(u: Any) -> Any:
    both = np.concatenate([u, u[::-1] * 2.0, u[:1]])
    return both[1:] - both[:-1]


def padded(u: Any) -> Any:
    p = np.pad(u, 1)
    return p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2]


def kept(u: Any) -> Any:
    r = np.roll(u, 1, 0)
    s = r * 2.0
    r[0] = 7.0
    return r + s


def written_between(u: Any) -> Any:
    r = np.roll(u, 1, 0)
    u[0] = 7.0
    return r + u


def three(u: Any) -> Any:
    return np.roll(u, 1) - u + np.roll(u, -1, -1)


FUNCTIONS = [laplacian, neighbours, far, steps, in_place, joined, padded, kept, written_between, three]


@PLAINLY
@pytest.mark.filterwarnings("ignore::weft.FallbackWarning")
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (2, 2), (3, 2), (4, 9), (30, 41)])
def test_rolls(function: Callable[..., Any], shape: tuple[int, int]) -> None:
    compiled = weft.program(function)
    for dtype, order in ((np.float64, "C"), (np.float64, "F"), (np.int32, "C"), (np.float64, "reversed")):
        make = np.random.default_rng(5)
        u = make.integers(-9, 9, shape).astype(dtype)
        u = np.asfortranarray(u) if order == "F" else u[::-1, ::-1] if order == "reversed" else u
        v = make.integers(-9, 9, shape).astype(dtype)
        arrays = (u, v) if function is steps else (u,)
        mine, numpys = ([x.copy(order="K") for x in arrays] for _ in range(2))
        got, expected = compiled(*mine), function(*numpys)
        for a, b in zip((got, *mine), (expected, *numpys), strict=True):
            np.testing.assert_array_equal(a, b)


def test_a_cube() -> None:
    def diffuse(u: Any) -> Any:
        for _ in range(2):
            lap = sum(np.roll(u, s, axis) for axis in range(3) for s in (1, -1)) - 6 * u
            u = u + 0.125 * lap
        return u

    u = np.random.default_rng(6).integers(0, 64, (9, 10, 11)).astype(float)
    compiled = weft.program(diffuse)
    np.testing.assert_array_equal(compiled(u), diffuse(u))
    assert compiled.stats.allocated_bytes <= 3 * u.nbytes
