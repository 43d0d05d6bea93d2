"""A class of dependences taken away from the legality core makes programs wrong, and the harness sees it."""

from __future__ import annotations

import pytest

from tests.legality.harness import Case, check_program, variants_of
from tests.legality.themes import BY_NAME
from weft.analysis.dependences import Kind
from weft.driver.compiler import run_steps
from weft.driver.pipelines import cpu_pipeline
from weft.interp import ConflictError
from weft.passes.base import Session
from weft.support.errors import WeftError

WRONG_WITHOUT: dict[Kind, list[str]] = {
    Kind.FLOW: [
        "aliases-shifted_views",
        "aliases-row_views",
        "aliases-through_a_call",
        "indices-twice_the_index",
    ],
    Kind.ANTI: [
        "aliases-shifted_views_at_once",
        "aliases-transposed_view_at_once",
        "aliases-reversed_view_at_once",
        "aliases-flat_view",
    ],
    Kind.OUTPUT: [
        "recurrences-leapfrog",
        "wishes-two_writes_each",
        "wishes-parallel_time",
        "controls-row_by_row_with_scratch",
    ],
}


def is_wrong(case: Case, kinds: frozenset[Kind]) -> bool:
    """Whether the pipeline breaks a program when the core knows only these classes."""
    for variant in variants_of(case):
        start = variant.generated.stages[0].program
        try:
            stages = run_steps(start, cpu_pipeline(), Session(kinds=kinds))
            check_program(variant, stages[-1].program, "all passes")
        except (AssertionError, ConflictError, WeftError):
            return True
    return False


CASES = [(kind, name) for kind, names in WRONG_WITHOUT.items() for name in names]


@pytest.mark.parametrize(("kind", "name"), CASES, ids=[f"{kind.value}-{name}" for kind, name in CASES])
def test_without_a_class_a_program_is_wrong(kind: Kind, name: str) -> None:
    assert not is_wrong(BY_NAME[name], frozenset(Kind))
    assert is_wrong(BY_NAME[name], frozenset(Kind) - {kind})


def test_every_class_is_missed_by_three_programs() -> None:
    assert all(len(WRONG_WITHOUT[kind]) >= 3 for kind in Kind)
