"""Maps that are taken out of maps so that they run along memory, and those that stay."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from tests.conftest import Golden
from tests.passes.programs import after, assert_same_meaning, body_text, program
from weft.passes.base import Session
from weft.passes.split_maps import SplitMaps

END = "  return missing"
COLUMNS = """\
  guard greater_equal(%n.1, %c.4): b1 else site 0 "short"
  guard greater_equal(%r.3, 1): b1 else site 0 "empty"
  map (%j.20: py_int from 0 to %c.4 - 1) in [0:%c.4] {
    %s.25: f8 = A[%j.20]
    %t.26: f8 = multiply(%s.25, 2.0:f8) warn 1
    map (%i.21: py_int from 0 to %r.3 - 1) in [0:%r.3] warn 0 {
      %x.22: f8 = P[%i.21, %j.20]
      %y.23: f8 = multiply(%x.22, %t.26)
      write P[%i.21, %j.20] = %y.23
    }
  }
"""
STORED = COLUMNS.replace("    map", "    write B[%j.20] = %t.26\n    map")
BOTH = STORED.replace(
    "    }\n  }\n", "    }\n    %z.27: f8 = P[0, %j.20]\n    write B[%j.20] = add(%z.27, %t.26)\n  }\n"
)


@pytest.mark.parametrize("text", [COLUMNS, STORED, BOTH], ids=["alone", "after a store", "between stores"])
def test_columns_run_along_rows(text: str, golden: Golden) -> None:
    before = program(f"{text}{END}")
    made = after(SplitMaps(), before)
    assert_same_meaning(before, made)
    assert body_text(made) == golden


STAYS = {
    "rows run along memory as they are": COLUMNS.replace("P[%i.21, %j.20]", "P[%j.20, %i.21]")
    .replace("%c.4", "%q.9").replace("%r.3", "%c.4").replace("%q.9", "%r.3"),
    "what is read changes inside": COLUMNS.replace("A[%j.20]", "P[0, %j.20]"),
    "what is read changes before": STORED.replace("A[%j.20]", "B[%j.20]"),
    "a triangle": COLUMNS.replace("py_int from 0 to %r.3 - 1) in [0:%r.3]", "py_int from 0 to %j.20 - 1) in [0:%j.20]")
    .replace('else site 0 "empty"', 'else site 0 "empty"\n  guard greater_equal(%r.3, %c.4): b1 else site 0 "flat"'),
}  # fmt: skip


@pytest.mark.parametrize("text", STAYS.values(), ids=STAYS.keys())
def test_maps_that_stay(text: str) -> None:
    before = program(f"{text}{END}")
    assert SplitMaps().run(before, Session()) is before


def scaled(A, s):
    for j in range(A.shape[1]):
        A[:, j] = A[:, j] * s[j] + 1.0
    return A


def scaled_and_counted(A, s):
    count = np.zeros(A.shape[1])
    for j in range(A.shape[1]):
        factor = s[j] * 2.0
        count[j] = factor + 1.0
        A[:, j] *= factor
        count[j] += A[0, j]
    return A, count


def each_from_the_one_before(A, s):
    for j in range(1, A.shape[1]):
        A[:, j] = A[:, j - 1] * s[j]
    return A


def lower_and_upper(A, s):
    C = np.zeros_like(A)
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            C[:i, j] += s[0] * A[i, j] * A[i, :i].sum()
            C[i, j] += s[0] * (A[i, : i + 1].sum() * A[0, j])
    return C


@pytest.mark.parametrize("function", [scaled, scaled_and_counted, each_from_the_one_before, lower_and_upper])
@pytest.mark.parametrize("shape", [(4, 4), (1, 3), (30, 20), (3, 1)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_programs_agree(function: Callable[..., Any], shape: tuple[int, int], order: Any) -> None:
    rng = np.random.default_rng(4)
    A, s = rng.uniform(-1, 1, shape), rng.uniform(-1, 1, shape[1])
    wanted = function(A.copy(order), s.copy())
    made = weft.program(function, fallback="error")(A.copy(order), s.copy())
    for one, other in zip(
        made if isinstance(made, tuple) else (made,), wanted if isinstance(wanted, tuple) else (wanted,), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-13, atol=1e-14)
