"""Maps with one point, maps of nothing, maps in maps."""

from __future__ import annotations

import pytest

from tests.conftest import Golden
from tests.passes.programs import after, assert_same_meaning, body_text, program
from weft.ir.nodes import Map
from weft.ir.traverse import all_nodes
from weft.passes.base import Session
from weft.passes.collapse_maps import CollapseMaps

END = "  return missing"


def test_a_nest_over_a_box_is_one_map(golden: Golden) -> None:
    before = program(
        f"""\
  map (%i.20: py_int) in [0:%r.3] {{
    map (%j.21: py_int) in [0:%c.4] warn 1 {{
      %x.22: f8 = P[%i.20, %j.21]
      %y.23: f8 = multiply(%x.22, 3.0:f8)
      write P[%i.20, %j.21] = %y.23
    }}
  }}
{END}"""
    )
    made = after(CollapseMaps(), before)
    assert_same_meaning(before, made)
    assert body_text(made) == golden


def test_a_parameter_with_one_value_is_that_value(golden: Golden) -> None:
    before = program(
        f"""\
  map (%i.20: py_int, %k.24: py_int) in [0:%n.1, 2:3] {{
    map (%j.21: py_int from 0 to %k.24 - 2) in [0:%k.24 - 1] {{
      write A[%i.20] = cast(%k.24 + %j.21): f8
    }}
  }}
{END}"""
    )
    made = after(CollapseMaps(), before)
    assert_same_meaning(before, made)
    assert body_text(made) == golden


def test_a_map_of_one_point_is_its_body_and_its_lets_warn_where_it_did(golden: Golden) -> None:
    before = program(
        f"""\
  guard greater(%n.1, 0): b1 else site 0 "empty"
  map (%i.20: py_int) in [0:1] warn 1 {{
    tasklet {{
      %x.22: f8 = A[%i.20]
      %y.23: f8 = multiply(%x.22, 3.0:f8)
      write B[%i.20] = add(%y.23, 1.0:f8)
    }}
  }}
{END}"""
    )
    made = after(CollapseMaps(), before)
    assert_same_meaning(before, made)
    assert body_text(made) == golden


def test_a_map_of_nothing_is_nothing() -> None:
    before = program(f"  map (%i.20: py_int) in [0:%n.1] {{\n    tasklet {{\n    }}\n  }}\n{END}")
    made = after(CollapseMaps(), before)
    assert not any(isinstance(node, Map) for node in all_nodes(made.body))


TRIANGLE = """\
  map (%i.20: py_int) in [0:%r.3] {
    map (%j.21: py_int) in [0:%i.20] {
      write P[%i.20, %j.21] = 0.0:f8
    }
  }"""
TWO = """\
  map (%i.20: py_int) in [0:%r.3] {
    map (%j.21: py_int) in [0:%c.4] {
      write P[%i.20, %j.21] = 0.0:f8
    }
    write A[%i.20] = 0.0:f8
  }"""
PARALLEL = """\
  map (%i.20: py_int) in [0:%r.3] parallel {
    map (%j.21: py_int) in [0:%c.4] {
      write P[%i.20, %j.21] = 0.0:f8
    }
  }"""


@pytest.mark.parametrize("body", [TRIANGLE, TWO, PARALLEL], ids=["triangle", "two nodes", "another schedule"])
def test_stays_a_nest(body: str) -> None:
    before = program(f"{body}\n{END}")
    assert CollapseMaps().run(before, Session()) is before
