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


COLUMNS = """\
  map (%j.20: py_int from 0 to %c.4 - 1) in [0:%c.4] {
    %s.25: f8 = A[%j.20]
    map (%i.21: py_int from 0 to %r.3 - 1) in [0:%r.3] warn 1 {
      %x.22: f8 = P[%i.21, %j.20]
      %y.23: f8 = multiply(%x.22, %s.25)
      write P[%i.21, %j.20] = %y.23
    }
  }"""
FITS = '  guard greater_equal(%n.1, %c.4): b1 else site 0 "short"\n'


def test_what_columns_read_is_read_again_so_that_rows_can_run(golden: Golden) -> None:
    before = program(f"{FITS}{COLUMNS}\n{END}")
    made = after(CollapseMaps(), before)
    assert_same_meaning(before, made)
    assert body_text(made) == golden


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


ROWS = FITS + COLUMNS.replace("P[%i.21, %j.20]", "P[%j.20, %i.21]").replace("%c.4", "%q.9").replace(
    "%r.3", "%c.4"
).replace("%q.9", "%r.3").replace("A[%j.20]", "B[0]")
CHANGED = FITS + COLUMNS.replace("A[%j.20]", "P[0, %j.20]")
STORED = FITS + COLUMNS.replace("    map", "    write B[%j.20] = %s.25\n    map")
WARNS = FITS + COLUMNS.replace("    map", "    %t.26: f8 = multiply(%s.25, 2.0:f8) warn 1\n    map")
NESTS = {
    "triangle": TRIANGLE,
    "two nodes": TWO,
    "another schedule": PARALLEL,
    "rows run along memory as they are": ROWS.replace(
        FITS, FITS + '  guard greater_equal(%n.1, 1): b1 else site 0 "empty"\n'
    ),
    "what is read changes inside": CHANGED.replace(FITS, '  guard greater_equal(%r.3, 1): b1 else site 0 "empty"\n'),
    "what is read is stored as well": STORED,
    "a warning that would come again": WARNS,
}


@pytest.mark.parametrize("body", NESTS.values(), ids=NESTS.keys())
def test_stays_a_nest(body: str) -> None:
    before = program(f"{body}\n{END}")
    assert CollapseMaps().run(before, Session()) is before
