"""Which program a framework is given, and the name its results go by."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.bench import fakes
from tests.bench.test_runner import TINY
from weft_bench import runner
from weft_bench.frameworks import Registered
from weft_bench.kernels import KERNELS
from weft_bench.runner import OVERRIDES, override_of
from weft_bench.selection import choose_kernels, make_plans, second_spellings

ADAPTING = Registered("numba", "", replace(fakes.FAKES["plain"], overrides="adapted"))


def write(path: Path, name: str) -> str:
    path.write_text(TINY.replace("def tiny", f"def {name}"), encoding="utf-8")
    return str(path)


def test_no_words_mean_all_kernels_and_each_is_taken_once() -> None:
    assert [program.kernel for program in choose_kernels([])] == list(KERNELS)
    assert [program.label for program in choose_kernels(["azimint_hist", "azimuthal_histogram"])] == [
        "azimuthal_histogram"
    ]


def test_two_kernels_never_go_by_one_name(tmp_path: Path) -> None:
    one, two = write(tmp_path / "one.py", "same"), write(tmp_path / "two.py", "same")
    ours = write(tmp_path / "mine.py", "jacobi_2d")
    programs = choose_kernels([one, two, one, ours, "jacobi_2d"])

    assert [program.label for program in programs] == ["same", f"same ({two})", f"jacobi_2d ({ours})", "jacobi_2d"]


def test_an_override_is_for_its_own_kernel_alone(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(runner, "OVERRIDES", tmp_path / "overrides")
    ours = tmp_path / "overrides" / "adapted" / "jacobi_2d.py"
    ours.parent.mkdir(parents=True)
    ours.touch()
    program = choose_kernels(["jacobi_2d"])[0]
    namesake = choose_kernels([write(tmp_path / "mine.py", "jacobi_2d")])[0]

    assert override_of(ADAPTING, program) == ours
    assert override_of(ADAPTING, second_spellings([program])[0]) is None
    assert override_of(ADAPTING, namesake) is None
    beside = tmp_path / "mine_adapted.py"
    beside.touch()
    assert override_of(ADAPTING, namesake) == beside


def test_every_override_is_of_a_kernel_and_says_why() -> None:
    names = {kernel.name for kernel in KERNELS}
    files = sorted(OVERRIDES.glob("*/*.py"))

    assert [path for path in files if path.stem not in names and path.stem != "__init__"] == []
    assert [path for path in files if '"""' not in path.read_text(encoding="utf-8")] == []


def test_kernels_without_the_element_type_are_left_out() -> None:
    plans = make_plans(choose_kernels(["crc16", "jacobi_2d"]), [ADAPTING], ["S", "M"], "float32", [1, 2])

    assert {plan.program.label for plan in plans} == {"jacobi_2d"}
    assert len(plans) == 4
