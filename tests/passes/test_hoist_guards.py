"""Guards in front of loops: exact for all iterations, and not where an iteration might not come to them."""

from __future__ import annotations

import pytest

from tests.conftest import Golden
from tests.passes.graphs import SITE, assert_same_outcomes, changed, graph, shown, words
from weft.ir.nodes import Guard, Loop, Program, While
from weft.ir.traverse import all_nodes
from weft.passes.base import Session
from weft.passes.hoist_guards import HoistGuards
from weft.passes.simplify import Simplify

INNER = "site 1 f0@(0, 0, 0) {A: slot 0, B: slot 1, P: slot 2}"


def left_inside(program: Program) -> int:
    """How many guards stand in loops."""
    loops = [node for node in program.body.nodes if isinstance(node, Loop | While)]
    return sum(isinstance(inner, Guard) for loop in loops for inner in all_nodes(loop.body))


@pytest.mark.parametrize(
    "between", ["site 5 f0@(0, 0, 0) {A: slot 0, B: slot 1}", ""], ids=["statements", "one domain"]
)
def test_triangular_loops(between: str, golden: Golden) -> None:
    before = graph(f"""
  {SITE}
  for %i.10: py_int from 0 to %n.1 - 1 in 0:%n.1 {{
    {between}
    for %j.11: py_int from 0 to %i.10 - 1 in 0:%i.10 {{
      {INNER}
      guard greater_equal(1*%m.2, %j.11 + 1): b1 else site 1 "index out of bounds"
      %b.12: f8 = B[%j.11]
      write B[%j.11] = multiply(%b.12, 2.0:f8)
      continue
    }}
    site 2 f0@(0, 0, 1) {{A: slot 0}}
    guard greater_equal(%m.2 + 1, %i.10 + 1): b1 else site 2 "index out of bounds"
    write A[%i.10] = 1.0:f8
    continue
  }}
  return slot 0
""")
    made, _ = changed(HoistGuards(), before)
    assert left_inside(made) == 0
    assert_same_outcomes(before, made)
    assert shown(made) == golden
    assert shown(changed(Simplify(), made)[0]) == golden.part("simplified")


def test_a_time_loop(golden: Golden) -> None:
    before = graph(f"""
  {SITE}
  for %t.10: py_int from 1 to %k.5 - 1 in 1:%k.5 {{
    {INNER}
    guard greater_equal(1*%n.1, 2): b1 else site 1 "too short"
    guard equal(1*%n.1, 1*%m.2): b1 else site 1 "sizes differ"
    elementwise B[0:%n.1] at (%p.11: py_int) {{
      %a.12: f8 = A[:]
      yield %a.12
    }}
    continue
  }}
  return slot 1
""")
    made, session = changed(HoistGuards(), before)
    assert_same_outcomes(before, made)
    assert shown(made) == golden
    assert words(session, done=True) == [
        "checked in front of the loop: too short",
        "checked in front of the loop: sizes differ",
    ]


CONDITIONS = {
    "up": ("0:%k.5", "less(%i.10, %n.1): b1", "%k.5 <= n"),
    "down": ("%k.5:-1:-1", "less(%i.10, %n.1): b1", "start"),
    "from below": ("%k.5:4", "greater_equal(%i.10 + %n.1, 0): b1", "start"),
    "in steps, at the start": ("%k.5:4:3", "greater_equal(%i.10 + %n.1, 0): b1", "start"),
    "both ways in two conditions": (
        "%k.5:4",
        "logical_and(greater_equal(%i.10 + %n.1, 0): b1, less(%i.10, %m.2 + 3): b1): b1",
        "two",
    ),
    "alternatives in one direction": (
        "%k.5:4",
        "logical_or(greater_equal(%i.10 + %n.1, 0): b1, greater_equal(2*%i.10 + %m.2, 0): b1): b1",
        "start",
    ),
    "not in the variable": ("%k.5:4", "logical_or(isnan(%x.6): b1, less(1*%n.1, 5): b1): b1", "as it is"),
    "a product with an extent": ("0:%k.5", "less_equal(%i.10*%m.2, 2*%n.1): b1", "largest"),
}


@pytest.mark.parametrize(("range_", "condition", "_why"), CONDITIONS.values(), ids=CONDITIONS.keys())
def test_at_the_worst_end(range_: str, condition: str, _why: str, golden: Golden) -> None:
    before = graph(f"""
  {SITE}
  for %i.10: py_int in {range_} {{
    {INNER}
    guard {condition} else site 1 "an assumption"
    elementwise A[:] at (%p.11: py_int) {{
      %a.12: f8 = A[:]
      yield add(%a.12, cast(%i.10): f8)
    }}
    continue
  }}
  return slot 0
""")
    made, _ = changed(HoistGuards(), before)
    assert left_inside(made) == 0
    assert_same_outcomes(before, made)
    guards = [line.strip() for line in shown(made).splitlines() if line.strip().startswith("guard")]
    assert "\n".join(guards) == golden


def loop(body: str, head: str = "for %i.10: py_int in 0:%k.5") -> str:
    return f"{SITE}\n  {head} {{\n    {INNER}\n{body}\n    continue\n  }}\n  return slot 0"


GUARD = '    guard less(%i.10, %n.1): b1 else site 1 "bounds"'
BREAK = "    if less(2.0:f8, 1.0:f8): b1 {\n      break\n    } else {\n      yield\n    }"
SKIP = BREAK.replace("break", "continue")
STAYS = {
    "data": (
        loop('    %a.11: f8 = B[0]\n    guard less(%a.11, 5.0:f8): b1 else site 1 "small"'),
        "it depends on what the loop computes",
    ),
    "equal to the variable": (
        loop('    guard equal(%i.10, %n.1): b1 else site 1 "the one"'),
        "no end of the range is the worst case",
    ),
    "a square": (
        loop('    guard less(%i.10*%i.10, %n.1): b1 else site 1 "square"'),
        "no end of the range is the worst case",
    ),
    "the last of a range in steps": (
        loop(GUARD, "for %i.10: py_int in 0:%k.5:3"),
        "no end of the range is the worst case",
    ),
    "a range in unknown steps": (
        loop(GUARD, "for %i.10: py_int in 0:%n.1:%m.2 + 1"),
        "no end of the range is the worst case",
    ),
    "behind a continue": (loop(f"{SKIP}\n{GUARD}"), "an iteration may end before"),
    "in front of a break": (loop(f"{GUARD}\n{BREAK}"), "the loop may end before its last iteration"),
    "no site": (loop(GUARD).replace(SITE, ""), "there is no way back to the head of the loop"),
    "written since": (
        loop(GUARD).replace(SITE, f"{SITE}\n  elementwise B[:] at (%p.20: py_int) {{\n    yield 1.0:f8\n  }}"),
        "there is no way back to the head of the loop",
    ),
}


@pytest.mark.parametrize(("text", "reason"), STAYS.values(), ids=STAYS.keys())
def test_guards_that_stay(text: str, reason: str) -> None:
    before = graph(text)
    made, session = changed(HoistGuards(), before)
    assert made is before
    (record,) = words(session, done=False)
    assert record.startswith(f"checked in every iteration, {reason}: ")


def test_what_needs_no_last_iteration_may_stand_in_front_of_a_break() -> None:
    guard = '    guard less(1*%n.1, 5): b1 else site 1 "invariant"'
    before = graph(loop(f"{guard}\n{BREAK}"))
    made, _ = changed(HoistGuards(), before)
    assert left_inside(made) == 0
    assert_same_outcomes(before, made)


def test_guards_of_endless_loops_stay() -> None:
    before = graph(f"""
  {SITE}
  while carry (%i.10: py_int = 0) {{
    if greater_equal(%i.10, %k.5): b1 {{
      break 1*%i.10
    }} else {{
      yield
    }}
    guard less(1*%n.1, 5): b1 else site 0 "invariant"
    continue %i.10 + 1
  }}
  return slot 0
""")
    assert changed(HoistGuards(), before)[0] is before


def test_extents_of_carried_arrays_belong_to_the_loop() -> None:
    before = graph(
        f"""
  {SITE}
  for %i.10: py_int in 0:%k.5 carry (X = A[:]) {{
    {INNER}
    guard less(1*%q.30, 4): b1 else site 1 "short"
    continue B[:]
  }}
  return X[:]
""",
        "size %q.30: py_int in [0, 1000]",
        "array X: f8[%q.30] ref S may alias (A, B)",
    )
    assert changed(HoistGuards(), before)[0] is before


def test_out_of_an_arm_with_its_condition(golden: Golden) -> None:
    body = f"""
    if less(%i.10, %m.2): b1 {{
      %y.12: py_float = multiply(%x.6, %x.6)
      guard isfinite(%y.12): b1 else site 1 "result too large"
{GUARD}
      write A[%i.10] = cast(%y.12): f8
      yield
    }} else {{
      guard less(1*%n.1, 5): b1 else site 1 "other arm"
      yield
    }}"""
    before = graph(loop(body, "for %i.10: py_int from 0 to %k.5 - 1 in 0:%k.5"))
    made, session = changed(HoistGuards(), before)
    assert_same_outcomes(before, made)
    assert shown(made) == golden
    assert words(session, done=False) == []


@pytest.mark.parametrize(
    "range_", ["from 0 to %k.5 - 1 in 0:%k.5", "from 1 to 6 in 6:0:-1", "from 0 to %n.1 - 1 in 0:%n.1"]
)
def test_up_to_a_place_or_the_end_of_the_range(range_: str) -> None:
    body = '    guard logical_or(less(%i.10, %n.1): b1, greater(%i.10, %m.2): b1): b1 else site 1 "between"'
    before = graph(loop(body, f"for %i.10: py_int {range_}"))
    made, _ = changed(HoistGuards(), before)
    assert left_inside(made) == 0
    assert_same_outcomes(before, made)


CLIPPED = """
  {site}
  for %i.10: py_int from 0 to %n.1 - 1 in 0:%n.1 {{
    {inner}
    %e.11: py_int in [0, _] = minimum(maximum(%i.10 + 1, 0), 1*%m.2)
    %l.12: py_int in [0, _] = maximum(%m.2 - %e.11, 0)
    guard equal(1*%l.12, {length}): b1 else site 1 "sizes differ"
    write A[%i.10] = cast(1*%l.12): f8
    continue
  }}
  return slot 0
"""


def test_slices_are_compared_as_they_are_written(golden: Golden) -> None:
    before = graph(CLIPPED.format(site=SITE, inner=INNER, length="%n.1 - %i.10 - 1"))
    made, _ = changed(HoistGuards(), before)
    assert left_inside(made) == 0
    assert shown(made) == golden  # where an empty slice is clipped to fit, Python runs the loop


WHOLE = """
  {site}
  for %i.10: py_int from 0 to %n.1 - 1 in 0:%n.1 {{
    {inner}
    %e.11: py_int in [0, _] = minimum(%i.10 + 1, 1*%m.2)
    guard equal({asked}, 1*%e.11): b1 else site 1 "sizes differ"
    write A[%i.10] = cast(1*%e.11): f8
    continue
  }}
  return slot 0
"""


def test_a_slice_that_must_not_be_clipped_is_compared_at_its_longest(golden: Golden) -> None:
    before = graph(WHOLE.format(site=SITE, inner=INNER, asked="%i.10 + 1"))
    made, _ = changed(HoistGuards(), before)
    assert left_inside(made) == 0
    assert shown(made) == golden


def test_a_slice_that_fits_where_it_is_clipped_is_compared_in_the_loop() -> None:
    before = graph(WHOLE.format(site=SITE, inner=INNER, asked="%m.2"))
    made, _ = changed(HoistGuards(), before)
    assert left_inside(made) == 1


def test_slices_that_may_be_clipped_are_compared_in_the_loop() -> None:
    before = graph(CLIPPED.format(site=SITE, inner=INNER, length="%n.1 + %i.10 - 1"))
    made, session = changed(HoistGuards(), before)
    assert left_inside(made) == 1
    assert made is before
    assert any("checked in every iteration" in text for text in words(session, done=False))


def nested(depth: int) -> str:
    """Loops in loops, each with a site in front; innermost a guard that leaves them all and one that stays."""
    text = '%a.9: f8 = B[0]\nguard less(%a.9, 5.0:f8): b1 else site {0} "data"\n'
    text = text.format(depth) + f'guard less(%i.{10 + depth - 1}, %n.1): b1 else site {depth} "bounds"\ncontinue'
    for level in reversed(range(depth)):
        site = SITE.replace("site 0", f"site {level + 1}")
        text = f"for %i.{10 + level}: py_int in 0:%k.5 {{\n{site}\n{text}\n}}" + ("\ncontinue" if level else "")
    return f"{SITE}\n{text}\nreturn slot 0"


def test_a_guard_that_stays_costs_no_second_look_at_the_loops_around_it() -> None:
    questions = {depth: changed(HoistGuards(), graph(nested(depth)))[1].solver.work.questions for depth in (4, 8)}
    assert questions[8] <= 3 * questions[4]


def sums_that_fit(condition: str, head: str = "%i.10: py_int from 0 to %n.1 - 1 in 0:%n.1") -> Program:
    return graph(f"""
  {SITE}
  for {head} {{
    {INNER}
    guard logical_not({condition}: b1) else site 1 "int too large for int64"
    write A[%i.10] = 1.0:f8
    continue
  }}
  return slot 0
""")


def test_that_a_sum_fits_is_checked_at_both_ends(golden: Golden) -> None:
    before = sums_that_fit("subtract_overflows(1*%i.10, 1*%k.5)")
    made, _ = changed(HoistGuards(), before)
    assert left_inside(made) == 0
    assert_same_outcomes(before, made)
    assert shown(made) == golden


@pytest.mark.parametrize(
    ("condition", "stays"),
    [
        ("add_overflows(2*%i.10, 1*%k.5)", 0),
        ("multiply_overflows(1*%i.10, 1*%k.5)", 0),
        ("multiply_overflows(1*%i.10, 1*%i.10)", 1),  # neither end is the worst
        ("multiply_overflows(%i.10 - 3, 1*%i.10)", 1),
    ],
)
def test_only_linear_sums_are_checked_at_the_ends(condition: str, stays: int) -> None:
    before = sums_that_fit(condition)
    made = HoistGuards().run(before, Session())
    assert left_inside(made) == stays


def test_every_other_iteration_has_no_known_last_one() -> None:
    before = sums_that_fit("add_overflows(1*%i.10, 1*%k.5)", "%i.10: py_int from 0 to %n.1 - 1 in 0:%n.1:2")
    assert left_inside(HoistGuards().run(before, Session())) == 1
