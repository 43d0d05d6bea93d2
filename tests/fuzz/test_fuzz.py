"""The fuzzer itself: a small run of it, and that it does what it says."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.fuzz.arguments import make_arguments
from tests.fuzz.faults import FAULTS
from tests.fuzz.generator import make_case
from tests.fuzz.reporting import report_finding
from tests.fuzz.running import Build, check_cases
from tests.fuzz.shrinking import shrink
from tests.fuzz.workers import check_many, check_numbers

ROOT = Path(__file__).parents[2]
SEED, MANY = 7, 225  # those of test_faults.py: what is found there is not found without the fault


@pytest.mark.parametrize("first", [0, 50, *(pytest.param(k, marks=pytest.mark.slow) for k in (100, 150, 200))])
def test_random_programs_do_what_python_does(first: int) -> None:
    tally = check_numbers(SEED, range(first, min(first + 50, MANY)), Build(pieces=first == 50))
    told = [f"{finding.case.number}: {finding.text}\n{finding.case.source}" for finding in tally.findings]
    assert not told, "\n".join(told)
    assert sum(tally.refused.values()) <= 5, tally.refused
    assert tally.native > tally.calls / 2
    assert tally.missed < tally.calls / 10


def test_a_seed_gives_the_same_programs_under_any_hash_seed() -> None:
    text = (
        "import hashlib; from tests.fuzz.generator import make_case\n"
        "from tests.fuzz.arguments import make_arguments\n"
        "made = [make_case(3, number) for number in range(20)]\n"
        "data = [case.source + repr([make_arguments(case.params, i) for i in case.inputs]) for case in made]\n"
        "print(hashlib.sha256(repr(data).encode()).hexdigest())"
    )
    path = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    digests = {
        subprocess.run(
            [sys.executable, "-c", text],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": path},
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(digests) == 1


def test_arguments_are_laid_out_as_they_say() -> None:
    layouts: set[str] = set()
    for number in range(60):
        case = make_case(5, number)
        for inputs in case.inputs:
            given = make_arguments(case.params, inputs)
            for param, value in zip(case.params, given, strict=True):
                if param.kind.is_array and value.size and inputs.how != "overlap":
                    layouts.add(param.kind.layout)
                    assert value.dtype == param.kind.element
                    assert param.kind.layout != "neg" or value.shape[0] < 2 or value.strides[0] < 0
            j, k = inputs.shared
            if inputs.how:
                assert (given[j] is given[k]) == (inputs.how == "same")
                assert not given[j].size or given[j].shape[0] < 2 or np.shares_memory(given[j], given[k])
    assert {"C", "F", "S", "neg"} <= layouts


def test_what_is_found_is_made_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_REPRODUCERS", str(tmp_path))
    with FAULTS["floor division truncates"]():
        findings = check_cases([make_case(SEED, number) for number in range(30, 35)]).findings
        assert findings
        small = shrink(findings[0])
        assert small.kind == findings[0].kind
        own = [line for line in small.case.source.splitlines() if line.startswith("    ")]
        assert len(own) <= 3, small.case.source
        assert "//" in small.case.source or "floor_divide" in small.case.source or "%" in small.case.source
        told = report_finding(small, shrinking=False)
    script = next(tmp_path.glob("program-*.py"))
    assert str(script) in told
    assert f"--seed {SEED} --only {findings[0].case.number}" in told
    path = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    again = subprocess.run(
        [sys.executable, str(script)],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert again.returncode == 0, again.stdout + again.stderr  # without the fault
    assert "Python and Weft agree" in again.stdout


def test_processes_share_the_work() -> None:
    alone = check_numbers(11, range(8))
    together = check_many(11, 8, 1, lambda tally: None)
    assert together.programs == 8
    assert together.native == alone.native
    assert together.buckets.counts == alone.buckets.counts
    lines = list(together.buckets.lines())
    assert "the emptiest" in lines[1]
