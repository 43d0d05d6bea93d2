"""Runs made up from a seed, with every kind of cell there is: what the reports are tested on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from weft_bench.cells import Adaptation, Cell, Pair, Run, State, Work
from weft_bench.kernels import KERNELS

SPEEDUPS = {"numpy": 1.0, "weft": 4.5, "weft-fast": 5.5, "numba": 3.0, "jax": 2.2, "pythran": 3.4, "dace": 3.2}
FAILURES: tuple[State, ...] = ("unsupported", "compile", "execution", "validation", "time limit")
MACHINE = {
    "cpu": "Example 9000 8-Core Processor",
    "cores": 8,
    "memory_bytes": 64 * 2**30,
    "blas": "openblas 0.3.30",
    "triad_bytes_per_second": {"plain": 3.1e10, "streaming": 4.2e10},
    "peak_flops_per_second": {"float32": 3.2e11, "float64": 1.6e11},
    "software": {"python": "3.11.7", "numpy": "2.4.6"},
}


def make_pairs(numpy_seconds: float, ratio: float, count: int, noise: float, seed: int) -> tuple[Pair, ...]:
    """Two sides with the noise of real timings: never much faster, sometimes slower."""
    rng = np.random.default_rng(seed)
    sides = np.exp(np.abs(rng.normal(0.0, noise, (count, 2)))) * (numpy_seconds, numpy_seconds / ratio)
    return tuple(Pair(float(left), float(right)) for left, right in sides)


def make_cell(kernel: str, framework: str, *, ratio: float = 2.0, seed: int = 1, **changes: Any) -> Cell:
    """One right cell; `changes` replaces any of its fields."""
    fields: dict[str, Any] = {
        "preset": "S",
        "dtype": "float64",
        "threads": 2,
        "state": "ok",
        "version": "1.2.3",
        "math": "NumPy's results",
        "pairs": make_pairs(0.01, ratio, 12, 0.02, seed),
        "build_seconds": 0.4,
        "first_seconds": 0.05,
        "peak_bytes": 12_345_678,
        "error_eps": 1.5,
        "adaptation": Adaptation(numpy_lines=10, lines=12, changed=2, kept=1.0, is_override=False),
        "work": Work(bytes=4_000_000, flops=90_000_000),
    }
    return Cell(kernel=kernel, framework=framework, **(fields | changes))


def make_failure(kernel: str, framework: str, state: State, message: str, **changes: Any) -> Cell:
    """A cell without samples."""
    nothing: dict[str, Any] = dict.fromkeys(("build_seconds", "first_seconds", "peak_bytes", "error_eps"))
    return make_cell(kernel, framework, **({"pairs": (), "state": state, "message": message} | nothing | changes))


def make_run(
    *,
    kernels: Sequence[str] = (),
    frameworks: Sequence[str] = tuple(SPEEDUPS),
    presets: Sequence[str] = ("S",),
    threads: Sequence[int] = (2,),
    number: int = 1,
    seed: int = 7,
) -> Run:
    """All kernels under all frameworks, about one cell in ten failing, each kind in turn."""
    rng = np.random.default_rng(seed)
    chosen = [kernel for kernel in KERNELS if not kernels or kernel.name in kernels]
    cells: list[Cell] = []
    for preset in presets:
        for count in threads:
            for kernel in chosen:
                base = {"S": 0.01, "M": 0.1, "L": 1.0}[preset] * float(np.exp(rng.normal(0.0, 0.4)))
                for framework in frameworks:
                    cells.append(_random_cell(kernel.name, kernel.dtypes[-1], framework, preset, count, base, rng))
    return Run(
        id=number,
        started="2026-11-15T12:00:00+00:00",
        command="weft bench run --preset S",
        machine=dict(MACHINE),
        cells=tuple(cells),
    )


def _random_cell(
    kernel: str, dtype: str, framework: str, preset: str, threads: int, base: float, rng: np.random.Generator
) -> Cell:
    where: dict[str, Any] = {"dtype": dtype, "preset": preset, "threads": threads}
    if framework != "numpy" and rng.random() < 0.1:
        state = FAILURES[int(rng.integers(len(FAILURES)))]
        return make_failure(kernel, framework, state, f"{framework}: made-up {state} error", **where)
    ratio = 1.0 if framework == "numpy" else SPEEDUPS[framework] * threads**0.3 * float(np.exp(rng.normal(0.0, 0.9)))
    lines = int(rng.integers(3, 30))
    changed = 2 if rng.random() < 0.7 else int(rng.integers(2, lines + 8))
    kept = 1.0 if changed == 2 else float(rng.uniform(0.1, 1.0))
    return make_cell(
        kernel,
        framework,
        pairs=make_pairs(base, ratio, int(rng.integers(8, 16)), 0.04, int(rng.integers(2**31))),
        build_seconds=None if framework == "numpy" else float(np.exp(rng.normal(0.5, 0.8))),
        first_seconds=base * 1.5,
        from_artefacts=framework == "pythran" and rng.random() < 0.2,
        peak_bytes=int(rng.integers(10**5, 10**9)),
        error_eps=float(rng.choice([0.0, 0.5, 12.0])),
        adaptation=None
        if framework == "numpy"
        else Adaptation(numpy_lines=lines, lines=lines + changed, changed=changed, kept=kept, is_override=changed > 2),
        work=Work(bytes=int(base * 4e9), flops=int(base * 9e9)),
        **where,
    )
