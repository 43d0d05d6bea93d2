"""The harness itself: it sees what is wrong, in the graph and in compiled code, and it uses threads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.legality.faults import every_loop_in_any_order, every_temporary_where_it_is_read
from tests.legality.harness import Case, Variant, check_compiled, check_program, compile_variants, variants_of
from tests.legality.themes import BY_NAME, CASES
from weft.driver.compiler import Stage
from weft.ir.nodes import Program

LOOPS = [
    "aliases-shifted_views",
    "aliases-transposed_view",
    "aliases-reversed_view",
    "aliases-running_sum_through_ravel",
    "aliases-through_a_call",
    "exits-error_between_two_writes",
    "exits-wraps_then_leaves",
    "hoisting-element_read_every_time",
    "hoisting-guard_after_a_write",
    "indices-ring",
    "indices-stride_is_a_parameter",
    "indices-flat_index_with_too_many_columns",
    "overlaps-shortest_paths",
    "recurrences-seidel",
    "recurrences-up_and_to_the_right",
    "recurrences-through_two_statements",
    "scatters-scatter_add",
    "scatters-neighbour_of_a_target",
    "scatters-indexed_by_itself",
    "scatters-two_tables",
    "triangles-cholesky_by_elements",
    "triangles-symmetric_from_everywhere",
    "triangles-sparse_in_place",
    "wishes-neighbour",
]
TEMPORARIES = [
    "aliases-broadcast_view",
    "aliases-reversed_view_at_once",
    "aliases-views_of_views",
    "overlaps-add_the_one_before",
    "overlaps-add_the_transpose",
    "overlaps-shortest_paths",
    "overlaps-shift_by_a_parameter",
    "overlaps-diagonal_shift",
    "producers-input_cleared_between",
    "producers-one_element_changed",
    "producers-temporary_partly_overwritten",
    "producers-changed_in_a_branch",
    "producers-diamond",
    "producers-through_a_helper",
    "recurrences-stencil_in_one_array",
]


def is_seen(case: Case, fault: Callable[[Program], Program]) -> bool:
    """Whether the interpreter, in random order, tells the transformed program from the right one."""
    for variant in variants_of(case):
        try:
            check_program(variant, fault(variant.generated.stages[0].program), "fault")
        except AssertionError:
            return True
    return False


@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_in_any_order_is_seen(name: str) -> None:
    assert is_seen(BY_NAME[name], every_loop_in_any_order)


@pytest.mark.parametrize("name", TEMPORARIES)
def test_a_temporary_computed_too_late_is_seen(name: str) -> None:
    assert is_seen(BY_NAME[name], every_temporary_where_it_is_read)


@pytest.mark.parametrize("name", ["controls-double_in_place", "controls-nest_of_three", "controls-branch_per_element"])
def test_what_is_legal_is_not_reported(name: str) -> None:
    assert not is_seen(BY_NAME[name], every_loop_in_any_order)
    assert not is_seen(BY_NAME[name], every_temporary_where_it_is_read)


@pytest.mark.parametrize("name", ["overlaps-add_the_one_before", "producers-input_cleared_between"])
def test_wrong_code_is_seen(name: str, tmp_path: Path) -> None:
    case = BY_NAME[name]
    faulty = [_with_fault(variant) for variant in variants_of(case)]

    with pytest.raises(AssertionError, match="1 thread"):
        check_compiled(case, compile_variants(faulty, tmp_path))


def _with_fault(variant: Variant) -> Variant:
    program = every_temporary_where_it_is_read(variant.generated.stages[0].program)
    return replace(variant, generated=replace(variant.generated, stages=(Stage("fault", program),)))


def test_short_maps_use_threads(tmp_path: Path) -> None:
    case = BY_NAME["controls-expression"]

    assert check_compiled(case, compile_variants(variants_of(case), tmp_path)) > 0


def test_there_are_enough_of_them() -> None:
    controls = sum(case.control for case in CASES)

    assert controls >= 20
    assert len(CASES) - controls >= 80


def test_every_program_says_why_it_is_here() -> None:
    for case in CASES:
        lines = Path(case.function.__code__.co_filename).read_text(encoding="utf-8").splitlines()
        assert lines[_first_line(case, lines)].strip().startswith("#"), case.name


def _first_line(case: Case, lines: list[str]) -> int:
    """The index of the line after the `def`."""
    number = case.function.__code__.co_firstlineno - 1
    while not lines[number].startswith("def "):
        number += 1
    return number + 1
