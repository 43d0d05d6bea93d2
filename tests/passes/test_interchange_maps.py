"""The order of a map's parameters follows memory."""

from __future__ import annotations

import pytest

from tests.conftest import Golden
from tests.passes.programs import HEAD, after, assert_same_meaning, body_text, program
from weft.ir.nodes import Map, Program
from weft.ir.traverse import all_nodes
from weft.passes.base import Session
from weft.passes.interchange_maps import InterchangeMaps

SQUARE = '  guard equal(%r.3, %c.4): b1 else site 0 "not square"\n'


def nest(body: str, params: str = "%i.20: py_int, %j.21: py_int", ranges: str = "0:%r.3, 0:%c.4") -> str:
    return f"{SQUARE}  map ({params}) in [{ranges}] {{\n    tasklet {{\n{body}\n    }}\n  }}\n  return missing"


def order(given: Program) -> str:
    """The names of the parameters of the only map."""
    (only,) = [node for node in all_nodes(given.body) if isinstance(node, Map)]
    return "".join(param.name for param in only.params)


TO_C = [
    ("rows of both", "%x.22: f8 = P[%i.20, %j.21]\nwrite P[%i.20, %j.21] = %x.22", "ij"),
    ("columns of both", "%x.22: f8 = P[%j.21, %i.20]\nwrite P[%j.21, %i.20] = %x.22", "ji"),
    ("a write weighs double", "%x.22: f8 = A[%i.20]\n%y.23: f8 = A[%j.21]\nwrite P[%j.21, %i.20] = %x.22", "ji"),
    ("a column is no unit stride", "%x.22: f8 = P[%i.20, 0]\nwrite A[%i.20] resolve add = %x.22", "ji"),
    ("equal votes change nothing", "%x.22: f8 = A[%i.20]\n%y.23: f8 = A[%j.21]\nwrite P[%i.20, %j.21] = %x.22", "ij"),
    ("nothing moves in memory", "%x.22: f8 = A[0]", "ij"),
]


@pytest.mark.parametrize(("body", "expected"), [case[1:] for case in TO_C], ids=[case[0] for case in TO_C])
def test_in_c_order(body: str, expected: str) -> None:
    before = program(nest(body))
    made = after(InterchangeMaps(), before)
    assert order(made) == expected
    assert_same_meaning(before, made)
    if expected == "ij":
        assert made is before


def test_before_and_after(golden: Golden) -> None:
    before = program(nest(TO_C[1][1]))
    assert body_text(after(InterchangeMaps(), before)) == golden


FORTRAN = HEAD.replace("rank 2 layout C written", "rank 2 layout F written").replace(
    "slot 2 C written", "slot 2 F written"
)


def test_in_fortran_order_the_first_axis_is_the_inner_one() -> None:
    body = nest("%x.22: f8 = P[%i.20, %j.21]\nwrite P[%i.20, %j.21] = %x.22")
    assert order(after(InterchangeMaps(), program(body, head=FORTRAN))) == "ji"


CUBE = """\
weft-ir 1
program cube
slot param 0: array float64 rank 3 layout C written
size %n.1: py_int in [0, 1000000]
size %m.2: py_int in [0, 1000000]
size %r.3: py_int in [0, 1000000]
array P: f8[%n.1, %m.2, %r.3] argument slot 0 C written
"""


@pytest.mark.parametrize(
    ("index", "expected"), [("k, j, i", "kji"), ("j, i, k", "jik"), ("i, j, k", "ijk"), ("i, k, j", "ikj")]
)
def test_the_longest_stride_is_outermost(index: str, expected: str) -> None:
    names = {"i": "%i.20", "j": "%j.21", "k": "%k.22"}
    element = ", ".join(names[name.strip()] for name in index.split(","))
    text = (
        f"  map (%i.20: py_int, %j.21: py_int, %k.22: py_int) in [0:1000, 0:1000, 0:1000] {{\n"
        f"    write P[{element}] = 0.0:f8\n  }}\n  return missing"
    )
    assert order(after(InterchangeMaps(), program(text, head=CUBE, opening=""))) == expected


def test_a_map_with_more_than_computation_stays() -> None:
    text = """\
  map (%i.20: py_int, %j.21: py_int) in [0:%r.3, 0:%c.4] {
    for %k.22: py_int in 0:%n.1 {
      write P[%j.21, %i.20] = 0.0:f8
      continue
    }
  }
  return missing"""
    before = program(text)
    assert InterchangeMaps().run(before, Session()) is before
