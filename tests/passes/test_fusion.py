"""Gathering guards, inlining producers, fusing maps: what they do, what they leave alone, and why."""

from __future__ import annotations

import pytest

from tests.conftest import Golden
from tests.passes.programs import after, assert_same_meaning, body_text, program
from weft.ir.nodes import Alloc, Map
from weft.ir.traverse import all_nodes
from weft.passes.base import Session
from weft.passes.expand_elementwise import ExpandElementwise
from weft.passes.fuse_maps import FuseMaps
from weft.passes.gather_guards import GatherGuards
from weft.passes.inline_producers import InlineProducers


def loop(number: int, body: str, stop: str = "%n.1", warn: str = "") -> str:
    """A map over i with a tasklet."""
    text = body.replace("%i", f"%i.{number}")
    return f"  map (%i.{number}: py_int) in [0:{stop}]{warn} {{\n    tasklet {{\n{text}\n    }}\n  }}"


MAKE_T = "  alloc T site 0\n" + loop(
    20, "%a.21: f8 = A[%i]\n%t.22: f8 = add(%a.21, 1.0:f8)\nwrite T[%i] = %t.22", warn=" warn 0"
)
USE_T = loop(30, "%t.31: f8 = T[%i]\n%u.32: f8 = multiply(%t.31, 2.0:f8)\nwrite B[%i] = %u.32", warn=" warn 1")
SHIFT_T = loop(
    30,
    "%t.31: f8 = T[%i]\n%u.33: f8 = T[%i + 1]\n%w.32: f8 = multiply(%t.31, %u.33)\nwrite B[%i] = %w.32",
    stop="%n.1 - 1",
)
END = "  return missing"


def test_a_temporary_is_computed_where_it_is_read(golden: Golden) -> None:
    before = program("\n".join([MAKE_T, USE_T, END]))
    made = after(InlineProducers(), before)
    assert_same_meaning(before, made)
    assert body_text(made) == golden


def test_at_two_offsets_it_is_computed_twice(golden: Golden) -> None:
    before = program("\n".join(['  guard greater(%n.1, 0): b1 else site 0 ""', MAKE_T, SHIFT_T, END]))
    made = after(InlineProducers(), before)
    assert_same_meaning(before, made)
    assert body_text(made) == golden


def test_a_reduction_computes_its_input(golden: Golden) -> None:
    reduce = "  reduce add P[0, 0] = T[:] axes (0) initial 0.0:f8"
    before = program("\n".join([MAKE_T, reduce, END]))
    made = after(InlineProducers(), before)
    assert_same_meaning(before, made)
    assert body_text(made) == golden


STAYS = [
    ("its input is overwritten", loop(24, "write A[%i] = 5.0:f8"), USE_T),
    ("it is shown by a site", '  site 1 f0@(1) {t: T[:]}\n  guard less(%n.1, 500): b1 else site 1 ""', USE_T),
    ("it is returned", USE_T, "  return T[:]"),
    ("it has a second writer", "  write T[0] = 7.0:f8", USE_T),
    ("an element is read again and again", "", loop(
        30, "%t.31: f8 = T[0]\n%u.32: f8 = exp(%t.31)\nwrite B[%i] = %u.32")),
    ("the reader overwrites what other points read", "", loop(
        30, "%t.31: f8 = T[%n.1 - 1 - %i]\nwrite A[%i] = %t.31")),
    ("its product is taken", "", "  matmul P[0:1, 0:1] = T[$1] over [1, %n.1] @ B[$0] over [%n.1, 1]"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "between", "use"), STAYS, ids=[case[0] for case in STAYS])
def test_a_temporary_stays_where(name: str, between: str, use: str) -> None:
    del name
    end = "" if "return" in use else END
    before = program("\n".join(part for part in (MAKE_T, between, use, end) if part))
    made = after(InlineProducers(), before)
    assert "T" in made.containers
    assert_same_meaning(before, made)


def test_elements_that_are_never_written_are_not_computed() -> None:
    part = "  alloc T site 0\n" + loop(20, "%a.21: f8 = A[%i]\nwrite T[%i + 1] = %a.21", stop="%n.1 - 1")
    guard = '  guard greater(%n.1, 0): b1 else site 0 ""'
    whole = program("\n".join([guard, part, USE_T, END]))
    assert after(InlineProducers(), whole) is whole
    inside = loop(30, "%t.31: f8 = T[%i + 1]\nwrite B[%i] = %t.31", stop="%n.1 - 1")
    fitting = program("\n".join([guard, part, inside, END]))
    made = after(InlineProducers(), fitting)
    assert "T" not in made.containers
    assert_same_meaning(fitting, made)


# ---- slices that are overwritten ------------------------------------------------------------------------------------

CROSS = """\
  elementwise P[:, :] at (%p.20: py_int, %q.21: py_int) {
    %a.22: f8 = P[$0, 0] over [%r.3, %c.4]
    %b.23: f8 = P[0, $1] over [%r.3, %c.4]
    %c.24: f8 = P[:, :]
    yield add(%c.24, add(%a.22, %b.23))
  }"""
FULL = '  guard logical_and(greater(%r.3, 0), greater(%c.4, 0)): b1 else site 0 ""'


def test_only_the_slices_are_copied(golden: Golden) -> None:
    before = program("\n".join([FULL, CROSS, END]))
    made = after(ExpandElementwise(), before)
    assert_same_meaning(before, made)
    assert body_text(made) == golden


def test_a_shift_in_place_goes_through_a_temporary(golden: Golden) -> None:
    guard = '  guard greater(%n.1, 0): b1 else site 0 ""'
    shift = (
        "  elementwise A[1:%n.1] at (%p.20: py_int) {\n    %a.22: f8 = A[0:%n.1 - 1]\n"
        "    %b.23: f8 = A[1:%n.1]\n    yield add(%a.22, %b.23)\n  }"
    )
    before = program("\n".join([guard, shift, END]))
    made = after(ExpandElementwise(), before)
    assert_same_meaning(before, made)
    assert body_text(made) == golden


def test_even_from_odd_in_place_needs_no_copy() -> None:
    guard = '  guard greater_equal(%n.1, 6): b1 else site 0 ""'
    odd = "%a.22: f8 = A[1 + 2*$0] over [3]"
    body = f"  elementwise A[2*$0] over [3] at (%p.20: py_int) {{\n    {odd}\n    yield %a.22\n  }}"
    before = program("\n".join([guard, body, END]))
    made = after(ExpandElementwise(), before)
    assert not any(isinstance(node, Alloc) for node in all_nodes(made.body))


# ---- maps -----------------------------------------------------------------------------------------------------------


def test_maps_over_the_same_points_are_one(golden: Golden) -> None:
    expensive = "  alloc T site 0\n" + loop(20, "%a.21: f8 = A[%i]\n%t.22: f8 = exp(%a.21)\nwrite T[%i] = %t.22")
    other = loop(40, "%t.41: f8 = T[%i]\n%u.42: f8 = add(%t.41, 1.0:f8)\nwrite A[%i] = %u.42", warn=" warn 0")
    before = program("\n".join([expensive, USE_T, other, END]))
    made = after(FuseMaps(), before)
    assert_same_meaning(before, made)
    assert sum(isinstance(node, Map) for node in all_nodes(made.body)) == 1
    assert body_text(made) == golden


APART = [
    ("another point is read", SHIFT_T),
    ("other ranges", loop(30, "%t.31: f8 = T[%i]\nwrite B[%i] = %t.31", stop="2")),
    ("what was read is overwritten beside", loop(30, "%t.31: f8 = B[%i]\nwrite A[%n.1 - 1 - %i] = %t.31")),
    ("nothing in common", loop(30, "%t.31: f8 = P[%i, 0]\nwrite B[%i] = %t.31")),
]


@pytest.mark.parametrize(("name", "second"), APART, ids=[case[0] for case in APART])
def test_maps_stay_apart_where(name: str, second: str) -> None:
    del name
    guard = '  guard logical_and(greater_equal(%n.1, 2), equal(%r.3, %n.1)): b1 else site 0 ""'
    before = program("\n".join([guard, MAKE_T, second, END]))
    assert after(FuseMaps(), before) is before


def test_a_write_that_python_sees_does_not_cross_a_guard() -> None:
    first = loop(20, "%a.21: f8 = B[%i]\nwrite A[%i] = %a.21")
    guard = '  site 1 f0@(1) {}\n  guard less(%n.1, 500): b1 else site 1 ""'
    second = loop(30, "%t.31: f8 = A[%i]\nwrite B[%i] = %t.31")
    before = program("\n".join([first, guard, second, END]))
    assert after(FuseMaps(), before) is before


def test_what_reads_at_positions_does_not_cross_the_guard_that_has_checked_them() -> None:
    first = loop(20, "%a.21: f8 = A[%i]\nwrite B[%i] = %a.21")
    guard = '  site 1 f0@(1) {}\n  guard less(%n.1, 500): b1 else site 1 ""'
    plain = loop(30, "%p.31: f8 = A[%i]\nwrite U[%i] = %p.31")
    where = "%p.31: f8 = A[%i]\n%k.32: py_int = cast(%p.31): py_int"
    place = f"{where}\n}}\ntasklet {{\n%x.33: f8 = A[%k.32]\nwrite U[%i] = %x.33"
    for second, together in ((plain, True), (loop(30, place), False)):
        before = program("\n".join(["  alloc U site 0", first, guard, second, END]))
        assert (after(FuseMaps(), before) is not before) == together


# ---- guards ---------------------------------------------------------------------------------------------------------

LATER = '  site 1 f0@(1) {t: T[:]}\n  guard less(%n.1, 500): b1 else site 1 "too long"'


def test_guards_gather_at_the_first_site(golden: Golden) -> None:
    before = program("\n".join([MAKE_T, LATER, USE_T, END]))
    session = Session()
    made = after(GatherGuards(), before, session)
    assert_same_meaning(before, made)
    assert body_text(made) == golden
    assert [record.text for record in session.records if record.done] == ["checked early: too long"]


def test_a_guard_stays_below_a_write_that_python_sees() -> None:
    before = program("\n".join([loop(20, "write A[%i] = 1.0:f8"), LATER.replace("t: T[:]", ""), USE_T.replace("T", "A"),
                                END]))  # fmt: skip
    assert after(GatherGuards(), before) is before


def test_a_guard_on_what_is_computed_stays_and_keeps_its_site_where_something_warned() -> None:
    made = "  %x.50: f8 = A[0]\n  %y.51: f8 = add(%x.50, 1.0:f8) warn 0"
    guard = '  site 1 f0@(1) {y: %y.51}\n  guard less(%y.51, 9.0:f8): b1 else site 1 ""'
    sized = '  guard greater(%n.1, 0): b1 else site 0 ""'
    before = program("\n".join([sized, made, guard, END]))
    assert after(GatherGuards(), before) is before
    silent = program("\n".join([sized, made.replace(" warn 0", ""), guard, END]))
    assert "else site 1" not in body_text(after(GatherGuards(), silent))


def test_a_guard_takes_the_earliest_site_after_which_nothing_warned() -> None:
    text = """
  guard greater(%n.1, 0): b1 else site 0 ""
  %x.50: f8 = A[0]
  %y.51: f8 = add(%x.50, 1.0:f8) warn 0
  site 1 f0@(1) {y: %y.51}
  %z.52: f8 = negative(%y.51)
  site 2 f0@(2) {y: %y.51, z: %z.52}
  %w.53: f8 = add(%z.52, 1.0:f8) warn 0
  guard less(%w.53, 9.0:f8): b1 else site 2 ""
"""
    made = body_text(after(GatherGuards(), program(text + END)))
    assert 'guard less(%w.53, 9.0:f8) else site 1 ""' in made
    seen = text.replace("  site 2", "  write A[0] = 2.0:f8\n  site 2")
    assert 'else site 2 ""' in body_text(after(GatherGuards(), program(seen + END)))
