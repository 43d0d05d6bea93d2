"""Propagating values: lets, equal sizes, decided branches, loops and guards."""

from __future__ import annotations

import pytest

from tests.conftest import Golden
from tests.passes.graphs import SITE, assert_same_outcomes, changed, graph, shown, words
from weft.ir.nodes import Branch, Guard, Loop
from weft.ir.traverse import all_nodes
from weft.passes.propagate_values import PropagateValues


def test_a_value_that_is_another_one_is_replaced(golden: Golden) -> None:
    before = graph(
        f"""
  {SITE}
  %one.10: py_int = 1
  %j.11: py_int = %k.5 + 2
  %y.12: py_float = %x.6
  %z.13: py_float = multiply(%y.12, 1.0:py_float)
  %w.14: f8 = multiply(cast(%z.13): f8, 2.0:f8) warn 1
  guard greater_equal(1*%n.1, %j.11 + %one.10): b1 else site 0 "too short"
  alloc T site 0
  for %i.15: py_int from %one.10 to %j.11 - 1 in %one.10:%j.11 {{
    write T[%i.15 - %one.10] = add(cast(%z.13): f8, %w.14)
    continue
  }}
  return tuple(T[0:0], %j.11, %z.13, %w.14)
""",
        "array T: f8[%n.1 + %one.10] transient C",
    )
    made, _ = changed(PropagateValues(), before)
    assert_same_outcomes(before, made)
    assert shown(made) == golden


def test_below_a_guard_equal_sizes_have_one_name(golden: Golden) -> None:
    before = graph(f"""
  {SITE}
  guard equal(%n.1 - 2, %m.2 - 2): b1 else site 0 "shapes differ"
  guard greater_equal(1*%m.2, 1): b1 else site 0 "empty"
  guard equal(1*%r.3, %m.2 + 1): b1 else site 0 "rows"
  alloc T site 0
  elementwise T[:] at (%p.10: py_int in [0, _] from 0 to %m.2 - 1) {{
    %a.11: f8 = A[0:%m.2]
    %b.12: f8 = B[:]
    yield add(%a.11, %b.12)
  }}
  map (%i.13: py_int from 0 to %m.2 - 1) in [0:%m.2] {{
    %t.14: f8 = T[%m.2 - 1 - %i.13]
    write B[%i.13] = %t.14
  }}
  for %j.15: py_int from 0 to %m.2 - 1 in 0:%m.2 carry (X = B[:]) {{
    continue T[:]
  }}
  return tuple(B[:], X[:], 1*%m.2)
""", "size %q.20: py_int in [0, 1000]", "array T: f8[%m.2] transient C",
        "array X: f8[%q.20] ref S may alias (B, T) written")  # fmt: skip
    made, session = changed(PropagateValues(), before)
    assert_same_outcomes(before, made)
    assert shown(made) == golden
    assert words(session, done=True) == ["m is 1*%n.1 from here on", "r is %n.1 + 1 from here on"]


def test_equal_only_where_it_was_checked(golden: Golden) -> None:
    before = graph(f"""
  {SITE}
  if greater(1*%k.5, 0): b1 {{
    site 1 f0@(0, 0, 0) {{A: slot 0}}
    guard equal(1*%n.1, 1*%m.2): b1 else site 1 "sizes differ"
    elementwise B[:] at (%p.10: py_int) {{
      yield 1.0:f8
    }}
    yield
  }} else {{
    elementwise B[:] at (%p.11: py_int) {{
      yield 2.0:f8
    }}
    yield
  }}
  elementwise B[:] at (%p.12: py_int) {{
    %b.13: f8 = B[:]
    yield multiply(%b.13, 2.0:f8)
  }}
  return slot 1
""")
    made, _ = changed(PropagateValues(), before)
    assert_same_outcomes(before, made)
    assert shown(made) == golden


NOT_SOLVED = [
    ("a product", "equal(1*%n.1, %m.2*%r.3): b1"),
    ("no factor of one", "equal(2*%n.1, 3*%m.2): b1"),
    ("not equal", "not_equal(1*%n.1, 1*%m.2): b1"),
    ("one of two", "logical_or(equal(1*%n.1, 1*%m.2): b1, isnan(%x.6): b1): b1"),
]


@pytest.mark.parametrize("condition", [text for _, text in NOT_SOLVED], ids=[name for name, _ in NOT_SOLVED])
def test_what_gives_no_value_a_name(condition: str) -> None:
    before = graph(f"""
  {SITE}
  guard {condition} else site 0 "sizes"
  elementwise B[:] at (%p.10: py_int) {{
    yield 1.0:f8
  }}
  return slot 1
""")
    assert changed(PropagateValues(), before)[0] is before


def test_a_loop_variable_neither_gets_a_name_nor_gives_one() -> None:
    before = graph(f"""
  {SITE}
  for %i.10: py_int from 0 to %m.2 - 1 in 0:%m.2 {{
    guard equal(%i.10, %k.5 + 4): b1 else site 0 "another index"
    continue
  }}
  return slot 1
""")
    assert changed(PropagateValues(), before)[0] is before


def test_refs_that_keep_their_shape(golden: Golden) -> None:
    before = graph(f"""
  {SITE}
  guard equal(1*%n.1, 1*%m.2): b1 else site 0 "sizes differ"
  for %i.10: py_int from 0 to %k.5 - 1 in 0:%k.5 carry (X = A[:], Y = B[:], Z = A[:]) {{
    site 1 f0@(0, 0, 0) {{X: X[:]}}
    guard equal(1*%qx.20, 1*%qy.21): b1 else site 1 "sizes differ"
    alloc T site 1
    elementwise T[:] at (%p.11: py_int from 0 to %qx.20 - 1) {{
      %x.12: f8 = X[:]
      %y.13: f8 = Y[0:%qx.20]
      yield add(%x.12, %y.13)
    }}
    continue Y[:], T[:], B[0:0]
  }}
  return tuple(X[:], Y[:], Z[:])
""",
        "size %qx.20: py_int in [0, 1000]", "size %qy.21: py_int in [0, 1000]", "size %qz.22: py_int in [0, 1000]",
        "array T: f8[%qx.20] transient C",
        "array X: f8[%qx.20] ref S may alias (A, B, Y, T) written",
        "array Y: f8[%qy.21] ref S may alias (A, B, T) written",
        "array Z: f8[%qz.22] ref S may alias (A, B) written",
    )  # fmt: skip
    made, _ = changed(PropagateValues(), before)
    assert_same_outcomes(before, made)
    assert shown(made) == golden


def test_a_branch_whose_way_is_known(golden: Golden) -> None:
    before = graph(f"""
  {SITE}
  if greater_equal(1*%n.1, 0): b1 -> (%a.10: py_int, %b.11: f8) {{
    yield 1*%k.5, add(1.0:f8, 2.0:f8)
  }} else {{
    return slot 0
  }}
  if less(1*%m.2, 0): b1 {{
    return slot 0
  }} else {{
    yield
  }}
  for %i.12: py_int from 4 to %k.5 - 10 in 4:%k.5 - 9 carry (%c.13: py_int = %a.10 + 1) {{
    continue %c.13 + 1
  }}
  for %j.14: py_int in %k.5:%k.5 + 1:-1 {{
    return slot 0
  }}
  if less(%n.1 + 1, %n.1): b1 {{
    yield
  }} else {{
    return tuple(%a.10, %b.11, %c.13)
  }}
  return tuple(%c.13, %b.11, %a.10)
""")
    made, _ = changed(PropagateValues(), before)
    assert_same_outcomes(before, made)
    assert not any(isinstance(node, Branch | Loop) for node in all_nodes(made.body))
    assert shown(made) == golden


def test_a_branch_that_binds_an_array_stays() -> None:
    before = graph(
        """
  if greater_equal(1*%n.1, 0): b1 -> (X) {
    yield A[:]
  } else {
    yield B[:]
  }
  return X[:]
""",
        "size %q.20: py_int in [0, 1000]",
        "array X: f8[%q.20] ref S may alias (A, B)",
    )
    made, _ = changed(PropagateValues(), before)
    assert any(isinstance(node, Branch) for node in made.body.nodes)
    assert_same_outcomes(before, made)


def test_guards_that_follow_are_dropped(golden: Golden) -> None:
    before = graph(f"""
  {SITE}
  guard greater_equal(1*%n.1, 1): b1 else site 0 "one"
  guard greater_equal(1*%n.1, 2): b1 else site 0 "two"
  guard greater_equal(1*%n.1, 1): b1 else site 0 "one again"
  guard greater_equal(1*%m.2, 0): b1 else site 0 "bounds say so"
  guard true:b1 else site 0 "always"
  guard logical_or(less(1*%n.1, 2): b1, greater_equal(1*%m.2, 1*%n.1): b1): b1 else site 0 "the first way is closed"
  guard greater_equal(1*%m.2, %n.1 - 1): b1 else site 0 "weaker"
  for %i.10: py_int from 0 to %n.1 - 1 in 0:%n.1 {{
    site 1 f0@(0, 0, 0) {{A: slot 0}}
    guard less(%i.10, %m.2): b1 else site 1 "inside"
    guard greater_equal(%i.10, 0): b1 else site 1 "inside"
    guard less(%i.10, %r.3): b1 else site 1 "unknown"
    continue
  }}
  return slot 0
""")
    made, session = changed(PropagateValues(), before)
    assert_same_outcomes(before, made)
    assert shown(made) == golden
    assert "holds anyway: inside" in words(session, done=True)


def test_a_weaker_guard_stays_in_front_of_what_needs_it() -> None:
    before = graph(f"""
  {SITE}
  guard greater_equal(1*%n.1, 1): b1 else site 0 "one"
  %a.10: f8 = A[0]
  guard greater_equal(1*%n.1, 2): b1 else site 0 "two"
  %b.11: f8 = A[1]
  site 1 f0@(1) {{A: slot 0}}
  guard greater_equal(1*%n.1, 3): b1 else site 1 "another site"
  return add(%a.10, %b.11)
""")
    made, _ = changed(PropagateValues(), before)
    assert sum(isinstance(node, Guard) for node in made.body.nodes) == 3
    assert_same_outcomes(before, made)


def test_a_slice_that_does_not_clip(golden: Golden) -> None:
    before = graph(f"""
  {SITE}
  guard greater_equal(1*%m.2, 1*%n.1): b1 else site 0 "sizes"
  for %i.10: py_int from 0 to %n.1 - 1 in 0:%n.1 {{
    %end.11: py_int in [0, _] = minimum(1*%i.10, 1*%m.2): py_int
    %other.12: py_int in [0, _] = minimum(1*%i.10, 1*%r.3): py_int
    elementwise B[0:%end.11] at (%p.13: py_int) {{
      yield cast(%other.12): f8
    }}
    continue
  }}
  return slot 1
""")
    made, _ = changed(PropagateValues(), before)
    assert_same_outcomes(before, made)
    assert shown(made) == golden
