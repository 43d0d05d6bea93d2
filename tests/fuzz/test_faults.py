"""Faults in the compiler must be found by few programs, each of which is right without them (test_fuzz.py)."""

from __future__ import annotations

import pytest

from tests.fuzz.faults import FAULTS, SELDOM
from tests.fuzz.generator import make_case
from tests.fuzz.running import check_cases
from tests.fuzz.test_fuzz import MANY, SEED

BATCH = 15
PROGRAMS = 120
# A program that shows each fault, tried first: to look for one takes twenty times as long. Where the generator has
# changed since, the test looks for another; `python -m tests.fuzz.test_faults` prints the table anew.
SHOWN_BY = {
    "floor division truncates": 40,
    "the remainder has the sign of the dividend": 20,
    "the float remainder has the sign of the dividend": 11,
    "float floor division rounds": 5,
    "minimum ignores NaN": 4,
    "maximum of integers is unsigned": 27,
    "the absolute value keeps its sign": 31,
    "integer division warns of a zero above": 25,
    "integer division by zero is not reported": 0,
    "warnings of division by zero are lost": 5,
    "warnings are given one line too far": 2,
    "float32 and anything make float32": 48,
    "Python's numbers are strong": 5,
    "subtraction swaps its operands": 2,
    "<= is <": 1,
    "np.where swaps its sides": 0,
    "sums keep the element type": 34,
    "keepdims is ignored": 28,
    "an empty sum is one": 20,
    "argmax finds the last": 28,
    "results are in C order": 4,
    "negative indices are the first": 14,
    "indices beyond the end start again": 16,
    "negative steps go forwards": 3,
    "vectors are broadcast along columns": 31,
    "overlaps are not copied first": 11,
    "loops are taken for independent": 51,
    "maps are fused without a question": 11,
    "producers are inlined over writes": 41,
    "temporaries share memory too early": 9,
    "ranges that count down end early": 0,
    "assertions are dropped": 81,
    "branches are taken the wrong way": 8,
    "Python begins again at the first statement": 39,
    "stores to the first array are dead": 8,
}


def differing(name: str, numbers: range) -> list[int]:
    """Which programs show a difference under a fault, no breakdown of the compiler."""
    with FAULTS[name]():
        findings = check_cases([make_case(SEED, number) for number in numbers]).findings
    return [finding.case.number for finding in findings if not finding.kind.startswith(("compiler", "C "))]


def find(name: str) -> list[int]:
    """Programs of the first batch that shows a fault."""
    programs = MANY if name in SELDOM else PROGRAMS
    batches = (range(start, start + BATCH) for start in range(0, programs, BATCH))
    return next((found for batch in batches if (found := differing(name, batch))), [])


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in SELDOM else name for name in FAULTS]
)
def test_fault_is_found(name: str) -> None:
    number = SHOWN_BY.get(name)
    if number is None or not differing(name, range(number, number + 1)):
        assert find(name), f"the programs do not show that {name}"


if __name__ == "__main__":
    for fault in FAULTS:
        print(f'    "{fault}": {min(find(fault), default=None)},')
