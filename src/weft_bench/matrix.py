"""The cells of a run as the table everybody draws: kernels down, frameworks across, for one preset and thread count.

in:   a `Run`
out:  one `Matrix` per `Setting`, the fullest first; `matrix.score(row, "numba")` has the ratio with its interval

Terminal, figures and page all start here, so that they cannot tell different numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from weft_bench.cells import Cell, Run, State
from weft_bench.formats import show_width
from weft_bench.frameworks import load_frameworks
from weft_bench.kernel import Kernel
from weft_bench.kernels import BY_NAME
from weft_bench.statistics import Estimate, geometric_mean, median_estimate, speedup

NUMPY = "numpy"
OWN_DOMAIN, OWN_DWARF = "Your own", "Not named"
PRESETS = ("S", "M", "L", "paper")
SHOWN_FIRST = ("M", "L", "S", "paper")
STATES: tuple[State, ...] = (
    "ok",
    "unsupported",
    "compile",
    "execution",
    "validation",
    "time limit",
    "not available",
)


@dataclass(frozen=True, slots=True)
class Setting:
    """What the cells of one table share."""

    preset: str
    threads: int

    @property
    def rank(self) -> tuple[int, str, int]:
        """Which of several to show first: the middle preset, with the most threads."""
        place = SHOWN_FIRST.index(self.preset) if self.preset in SHOWN_FIRST else len(SHOWN_FIRST)
        return place, self.preset, -self.threads

    @property
    def label(self) -> str:
        """`M, 2 threads`."""
        return f"{self.preset}, {self.threads} thread{'' if self.threads == 1 else 's'}"


@dataclass(frozen=True, slots=True)
class Row:
    """One kernel at one dtype; `label` names the dtype where the run has several of them."""

    kernel: str
    dtype: str
    label: str
    title: str
    domain: str
    dwarf: str


@dataclass(frozen=True, slots=True)
class Score:
    """A cell with what is computed from its samples: None unless its results were right."""

    cell: Cell
    speedup: Estimate | None
    seconds: Estimate | None

    @property
    def superscript(self) -> str:
        """The paper's: the size of the 95 % interval of the framework's median in percent of it, from 1 % on."""
        return "" if self.seconds is None else show_width(self.seconds)

    @property
    def compile_seconds(self) -> float | None:
        """What the first result cost above a later one: build and first call; None if nothing was compiled."""
        if self.seconds is None or self.cell.from_artefacts:
            return None
        build, first = self.cell.build_seconds, self.cell.first_seconds
        if build is None and first is None:
            return None
        warm = self.seconds.value if first is not None else 0.0
        return max((build or 0.0) + (first or 0.0) - warm, 0.0)


@dataclass(frozen=True, slots=True)
class Matrix:
    """One table; `frameworks` leaves NumPy out, which is the measure of the others."""

    setting: Setting
    frameworks: tuple[str, ...]
    rows: tuple[Row, ...]
    scores: Mapping[tuple[Row, str], Score]
    on_gpu: frozenset[str] = frozenset()  # those of the frameworks to which the limit of the processor does not apply

    @property
    def domains(self) -> tuple[str, ...]:
        """In the order of the rows."""
        return tuple(dict.fromkeys(row.domain for row in self.rows))

    def score(self, row: Row, framework: str) -> Score | None:
        """What was measured there, None if nothing was."""
        return self.scores.get((row, framework))

    def numpy_seconds(self, row: Row) -> Estimate | None:
        """NumPy's own time: of its own cell, or of the pairs of the others."""
        own = self.score(row, NUMPY)
        if own is not None and own.seconds is not None:
            return own.seconds
        beside = [score.cell for framework in self.frameworks if (score := self.score(row, framework)) is not None]
        samples = [pair.numpy for cell in beside for pair in cell.pairs]
        return median_estimate(samples) if samples else None

    def right(self, framework: str, domain: str | None = None) -> tuple[Row, ...]:
        """The rows this framework computes rightly."""
        chosen = [row for row in self.rows if domain is None or row.domain == domain]
        scores = [(row, self.score(row, framework)) for row in chosen]
        return tuple(row for row, score in scores if score is not None and score.speedup is not None)

    def mean(self, framework: str, rows: Sequence[Row]) -> Estimate | None:
        """The geometric mean of the ratios over `rows`, all of them right."""
        if not rows:
            return None
        return geometric_mean([self.scores[row, framework].cell.pairs for row in rows])

    def common_rows(self) -> tuple[Row, ...]:
        """The rows that all frameworks with any right result get right: the fair ground for comparing two of them."""
        working = [set(rows) for framework in self.frameworks if (rows := self.right(framework))]
        return tuple(row for row in self.rows if all(row in rows for rows in working)) if working else ()

    def states(self, framework: str) -> dict[State, int]:
        """How many cells there are of each state, leaving out those with none."""
        found = [score.cell.state for row in self.rows if (score := self.score(row, framework)) is not None]
        return {state: found.count(state) for state in STATES if state in found}


def make_matrices(run: Run) -> tuple[Matrix, ...]:
    """The tables of a run, the fullest first; of a cell measured twice the later counts."""
    settings: dict[Setting, dict[tuple[str, str, str], Cell]] = {}
    for cell in run.cells:
        found = settings.setdefault(Setting(cell.preset, cell.threads), {})
        found[cell.kernel, cell.dtype, cell.framework] = cell
    matrices = [make_matrix(setting, list(cells.values())) for setting, cells in settings.items()]
    return tuple(sorted(matrices, key=lambda matrix: (-len(matrix.scores), matrix.setting.rank)))


def make_matrix(setting: Setting, cells: Sequence[Cell]) -> Matrix:
    """One table from its cells, which are all of one setting."""
    frameworks = tuple(name for name in dict.fromkeys(cell.framework for cell in cells) if name != NUMPY)
    rows = {(row.kernel, row.dtype): row for row in _make_rows(cells)}
    scores = {(rows[cell.kernel, cell.dtype], cell.framework): make_score(cell) for cell in cells}
    return Matrix(setting, frameworks, tuple(rows.values()), scores, gpu_frameworks(frameworks))


def make_score(cell: Cell) -> Score:
    """The ratio and the time of a cell that is right."""
    if cell.state != "ok" or not cell.pairs:
        return Score(cell, None, None)
    return Score(cell, speedup(cell.pairs), median_estimate([pair.framework for pair in cell.pairs]))


def find_kernel(label: str) -> Kernel | None:
    """The kernel of the suite behind a label, of its second spelling too; None for a user's own."""
    return BY_NAME.get(label.partition(" (")[0])


def framework_titles(names: Iterable[str]) -> dict[str, str]:
    """The names as they are written in figures; one that is not installed here keeps the name it has in the run."""
    known = load_frameworks()
    found = {name: known[name].framework if name in known else None for name in names}
    return {name: name if framework is None else framework.title for name, framework in found.items()}


def gpu_frameworks(names: Iterable[str]) -> frozenset[str]:
    """Those that run on a GPU, as far as their adapters are here to say so."""
    known = load_frameworks()
    found = {name: known[name].framework for name in names if name in known}
    return frozenset(name for name, framework in found.items() if framework is not None and framework.needs_gpu)


def _make_rows(cells: Iterable[Cell]) -> list[Row]:
    """Grouped by domain, one's own kernels last, and by name within a domain."""
    dtypes: dict[str, list[str]] = {}
    for cell in cells:
        found = dtypes.setdefault(cell.kernel, [])
        if cell.dtype not in found:
            found.append(cell.dtype)
    rows = [_make_row(kernel, dtype, len(found) > 1) for kernel, found in dtypes.items() for dtype in found]
    return sorted(rows, key=lambda row: (row.domain == OWN_DOMAIN, row.domain, row.kernel, row.dtype))


def _make_row(kernel: str, dtype: str, name_dtype: bool) -> Row:
    label = f"{kernel} {dtype}" if name_dtype else kernel
    known = find_kernel(kernel)
    if known is None:
        return Row(kernel, dtype, label, kernel, OWN_DOMAIN, OWN_DWARF)
    return Row(kernel, dtype, label, known.title, known.domain, known.dwarf)
