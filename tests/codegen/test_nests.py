"""The loops of maps: strides that turn out to be those of elements, copies, and how threads share the points."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from tests.codegen.harness import Module, load
from weft.ir.nodes import Program
from weft.ir.parser import parse_program
from weft.ir.verifier import verify


def program(text: str) -> Program:
    parsed = parse_program(text)
    verify(parsed)
    return parsed


# ---- strides --------------------------------------------------------------------------------------------------------

ADD = """\
weft-ir 1
program add
slot param 0: array float64 rank 2
slot param 1: array float32 rank 2
slot param 2: array float64 rank 2 written
constant None
warning "add" line 1
warning "multiply" line 1
size %n.1: py_int in [0, 1099511627776]
size %m.2: py_int in [0, 1099511627776]
size %k.3: py_int in [0, 1099511627776]
size %l.4: py_int in [0, 1099511627776]
size %o.5: py_int in [0, 1099511627776]
size %p.6: py_int in [0, 1099511627776]
array A: f8[%n.1, %m.2] argument slot 0 S
array B: f4[%k.3, %l.4] argument slot 1 S
array C: f8[%o.5, %p.6] argument slot 2 S written
{
  map (%i.7: py_int, %j.8: py_int) in [0:%n.1, 1:%m.2] SCHEDULE {
    tasklet {
      %a.9: f8 = A[%i.7, %j.8 - 1]
      %b.10: f4 = B[%i.7, %j.8]
      %c.11: f8 = TARGET[%i.7, 0]
      %d.12: f8 = add(%a.9, cast(%b.10): f8) warn 0
      %e.13: f8 = multiply(%d.12, %c.11) warn 1
      write C[%i.7, %j.8] = %e.13
    }
  }
  return constant 0
}
"""


def spaced(array: Any, step: int) -> Any:
    """The same elements, `step` apart."""
    wide = np.zeros((*array.shape[:-1], array.shape[-1] * abs(step)), array.dtype)
    view = wide[..., ::step]
    view[...] = array
    return view


@pytest.mark.parametrize("schedule", ["", "parallel"])
@pytest.mark.parametrize("target", ["A", "C"])
@pytest.mark.parametrize("steps", [(1, 1, 1), (2, 1, 1), (1, 1, 2), (-1, -1, -1), (3, 2, -2)])
def test_any_strides(schedule: str, target: str, steps: tuple[int, int, int]) -> None:
    kernel = load(program(ADD.replace("SCHEDULE", schedule).replace("TARGET", target)))
    assert "if (A_s1 == 8 && B_s1 == 4 && C_s1 == 8)" in kernel.file.source
    rng = np.random.default_rng(0)
    for shape in ((1, 1), (3, 4), (40, 1200)):
        a, b, c = rng.random(shape), rng.random(shape).astype("f4"), rng.random(shape)
        expected = c.copy()
        expected[:, 1:] = (a[:, :-1] + b[:, 1:].astype("f8")) * (a if target == "A" else c)[:, :1]
        given = [spaced(array, step) for array, step in zip((a, b, c), steps, strict=True)]
        assert kernel(*given).warnings == {0: 0, 1: 0}
        np.testing.assert_array_equal(given[2], expected)


def test_strided_nests_warn() -> None:
    kernel = load(program(ADD.replace("SCHEDULE", "").replace("TARGET", "C")))
    a, b, c = np.ones((3, 700)), np.ones((3, 700), "f4"), np.full((3, 700), 2.0)
    a[1, 600], a[2, 5] = 1e308, np.nan
    for step in (1, 2):
        given = [spaced(array, step) for array in (a, b, c)]
        assert kernel(*given).warnings == {0: 0, 1: 2}


# ---- copies ---------------------------------------------------------------------------------------------------------

COPY = """\
weft-ir 1
program copy
slot param 0: array float64 rank 2 layout LAYOUT
slot param 1: array float64 rank 2 layout LAYOUT written
constant None
size %n.1: py_int in [0, 1099511627776]
size %m.2: py_int in [0, 1099511627776]
array A: f8[%n.1, %m.2] argument slot 0 LAYOUT
array B: f8[%n.1, %m.2] argument slot 1 LAYOUT written
{
  map (PARAMS) in [RANGES] SCHEDULE {
    tasklet {
      %a.5: f8 = A[%i.3, %j.4]
      write B[%i.3, %j.4] = %a.5
    }
  }
  return constant 0
}
"""
I_J = ("%i.3: py_int, %j.4: py_int", "0:%n.1, 0:%m.2")
J_I = ("%j.4: py_int, %i.3: py_int", "0:%m.2, 0:%n.1")
INNER = ("%i.3: py_int, %j.4: py_int", "0:%n.1, 1:%m.2 - 1")


def copy(layout: str, loops: tuple[str, str], schedule: str = "") -> Module:
    text = COPY.replace("LAYOUT", layout).replace("PARAMS", loops[0]).replace("RANGES", loops[1])
    return load(program(text.replace("SCHEDULE", schedule)))


@pytest.mark.parametrize("schedule", ["", "parallel"])
@pytest.mark.parametrize(
    ("layout", "loops", "copies"),
    [
        ("C", I_J, "__builtin_memcpy(&B[i_3 * m_2 + j_4], &A[i_3 * m_2 + j_4]"),
        ("C", INNER, "__builtin_memcpy("),
        ("C", J_I, ""),
        ("F", J_I, "__builtin_memcpy("),
        ("F", I_J, ""),
        ("S", I_J, "__builtin_memcpy("),
    ],
)
def test_neighbours_are_copied_at_once(schedule: str, layout: str, loops: tuple[str, str], copies: str) -> None:
    kernel = copy(layout, loops, schedule)
    assert ("__builtin_memcpy" in kernel.file.source) == bool(copies)
    assert copies in kernel.file.source
    for shape in ((0, 5), (5, 0), (1, 1), (7, 5), (300, 700)):
        a = np.asarray(np.random.default_rng(0).random(shape), order="F" if layout == "F" else "C")
        b, expected = np.zeros_like(a), np.zeros_like(a)
        part = np.s_[:, 1:-1] if loops is INNER else np.s_[:, :]
        expected[part] = a[part]
        kernel(a, b)
        np.testing.assert_array_equal(b, expected)
        if layout == "S":
            far = spaced(np.zeros(shape), 2)
            kernel(a, far)
            np.testing.assert_array_equal(far, expected)


def test_a_whole_array_is_one_copy() -> None:
    text = copy("C", I_J).file.source
    assert "for (" not in text[text.index("\nint32_t weft_kernel") :]


def test_what_may_overlap_is_not_copied_at_once() -> None:
    text = (
        COPY.replace("LAYOUT", "C").replace("PARAMS", I_J[0]).replace("RANGES", "0:1, 0:%m.2").replace("SCHEDULE", "")
    )
    text = text.replace("%a.5: f8 = A[%i.3, %j.4]", "%a.5: f8 = B[%i.3 + 1, %j.4]")
    assert "memcpy" not in load(program(text)).file.source


# ---- threads --------------------------------------------------------------------------------------------------------

SCALE = """\
weft-ir 1
program scale
slot param 0: array float64 rank 3 layout C
slot param 1: array float64 rank 3 layout C written
constant None
size %n.1: py_int in [0, 1099511627776]
size %m.2: py_int in [0, 1099511627776]
size %k.3: py_int in [0, 1099511627776]
array A: f8[%n.1, %m.2, %k.3] argument slot 0 C
array B: f8[%n.1, %m.2, %k.3] argument slot 1 C written
{
  map (%h.4: py_int, %i.5: py_int, %j.6: py_int) in [0:%n.1, LOW:%m.2, 0:%k.3] parallel {
    tasklet {
      %a.7: f8 = A[%h.4, %i.5, %j.6]
      write B[%h.4, %i.5, %j.6] = multiply(2.0:f8, %a.7)
    }
  }
  return constant 0
}
"""


@pytest.mark.parametrize("low", [0, 1])
@pytest.mark.parametrize(
    "shape", [(1, 30_000, 2), (2, 100_000, 1), (3, 7, 9), (70, 1000, 3), (200, 2, 301), (0, 5, 5), (5, 0, 5), (5, 1, 5)]
)
def test_threads_share_rows(shape: tuple[int, int, int], low: int) -> None:
    if shape[1] < low:
        return
    kernel = load(program(SCALE.replace("LOW", str(low))))
    a = np.random.default_rng(0).random(shape)
    b, expected = np.zeros(shape), np.zeros(shape)
    expected[:, low:] = 2.0 * a[:, low:]
    outcome = kernel(a, b)
    np.testing.assert_array_equal(b, expected)
    assert (outcome.chunks > 1) == (a[:, low:].size >= 32768), "the first axis alone may be too short to be shared"


def work(body: str, params: str = "%i.3: py_int", ranges: str = "0:%n.1", more: str = "") -> str:
    """The work of a parallel map, as it stands in the C text."""
    text = f"""\
weft-ir 1
program work
slot param 0: array float64 rank 2 layout C
slot param 1: array float64 rank 1 layout C written
constant None
size %n.1: py_int in [0, 1099511627776]
size %m.2: py_int in [0, 1099511627776]
array A: f8[%n.1, %m.2] argument slot 0 C
array B: f8[%n.1] argument slot 1 C written
{more}{{
  map ({params}) in [{ranges}] parallel {{
{body}
  }}
  return constant 0
}}
"""
    found = re.search(r"const double work = (.*);", load(program(text)).file.source)
    assert found is not None
    return found[1]


def test_heavy_points_count_for_more() -> None:
    light = work("tasklet {\n%a.4: f8 = A[%i.3, 0]\nwrite B[%i.3] = add(%a.4, 1.0:f8)\n}")
    heavy = work("tasklet {\n%a.4: f8 = A[%i.3, 0]\nwrite B[%i.3] = exp(%a.4)\n}")
    assert (light, heavy) == ("(double)(n_1) * 1.25", "(double)(n_1) * 7.0")


def test_loops_inside_count_with_their_trips() -> None:
    loop = """\
    for %j.4: py_int in RANGE carry (%s.5: f8 = 0.0:f8) {
      tasklet {
        %a.6: f8 = A[%i.3, %j.4]
        %t.7: f8 = add(%s.5, %a.6)
      }
      continue %t.7
    }
    write B[%i.3] = %s.5"""
    assert work(loop.replace("RANGE", "0:%m.2")) == "(double)(n_1) * (1.0 + (double)(m_2) * 4.0 * (1.25))"
    assert work(loop.replace("RANGE", "0:%i.3")) == "(double)(n_1) * (1.0 + (double)(n_1) * 4.0 * (1.25))"
    assert work(loop.replace("RANGE", "%i.3:%m.2")) == "(double)(n_1) * (1.0 + (double)(m_2) * 4.0 * (1.25))"


def test_reductions_and_maps_inside_count() -> None:
    body = """\
    alloc T
    reduce add T[] = A[%i.3, :] axes (0) initial 0.0:f8
    tasklet {
      %t.8: f8 = T[]
      write B[%i.3] = %t.8
    }"""
    assert work(body, more="array T: f8[] stack C\n") == "(double)(n_1) * (1.0 + (double)(m_2) * (1.0))"
