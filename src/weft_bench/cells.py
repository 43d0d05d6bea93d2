"""What a measurement leaves: one `Cell` per kernel, framework, preset and thread count, with every sample.

The runner makes them, `store` keeps them in an SQLite file, everything that shows numbers starts from them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from weft_bench.work import Work

State: TypeAlias = Literal["ok", "unsupported", "compile", "execution", "validation", "time limit", "not available"]


@dataclass(frozen=True, slots=True)
class Pair:
    """Seconds of one repetition: NumPy's and, right beside it, the framework's."""

    numpy: float
    framework: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Adaptation:
    """The paper's code metrics: lines that are neither blank nor comment nor docstring.

    `changed` counts lines added, removed or altered against the NumPy source; `kept` is the share of NumPy's lines
    that stand in the adaptation as they are, 0 to 1.
    """

    numpy_lines: int
    lines: int
    changed: int
    kept: float
    is_override: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One kernel under one framework at one preset.

    For the framework "numpy" the two sides of a pair are the same program in two processes: their ratio is the noise.
    `build_seconds` is what `Framework.build` took, `first_seconds` the first call, `from_artefacts` that nothing was
    compiled. `error_eps` is the largest error of the outputs (see `agreement`), `peak_bytes` the most memory the
    process held in a later call above what it held before the first one, without the
    arguments. Of a failure `message` is the last line of the error.
    """

    kernel: str
    framework: str
    preset: str
    dtype: str
    threads: int
    state: State
    message: str = ""
    version: str = ""
    math: str = ""
    pairs: tuple[Pair, ...] = ()
    build_seconds: float | None = None
    first_seconds: float | None = None
    from_artefacts: bool = False
    peak_bytes: int | None = None
    error_eps: float | None = None
    adaptation: Adaptation | None = None
    work: Work | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One `weft bench run`: its command, when, on which machine (`machine.describe()`), and what it measured."""

    id: int
    started: str  # ISO 8601, UTC
    command: str
    machine: dict[str, Any]
    cells: tuple[Cell, ...]
