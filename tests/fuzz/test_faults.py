"""Faults in the compiler must be found by few programs, each of which is right without them (test_fuzz.py)."""

from __future__ import annotations

import pytest

from tests.fuzz.faults import FAULTS, SELDOM
from tests.fuzz.generator import make_case
from tests.fuzz.running import check_cases
from tests.fuzz.test_fuzz import MANY, SEED

BATCH = 15
PROGRAMS = 120


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in SELDOM else name for name in FAULTS]
)
def test_fault_is_found(name: str) -> None:
    programs = MANY if name in SELDOM else PROGRAMS
    for start in range(0, programs, BATCH):
        with FAULTS[name]():
            findings = check_cases([make_case(SEED, number) for number in range(start, start + BATCH)]).findings
        if any(not finding.kind.startswith(("compiler", "C ")) for finding in findings):  # a difference, no breakdown
            return
    pytest.fail(f"{programs} programs do not show that {name}")
