"""All figures of a run, in the order of the page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType

from weft_bench.cells import Cell, Run
from weft_bench.figures.canvas import Drawing
from weft_bench.figures.curves import draw_compile_times, draw_scaling
from weft_bench.figures.heat_maps import draw_adaptations, draw_speedups
from weft_bench.matrix import NUMPY, Matrix, framework_titles

WHY_NOT: Mapping[str, str] = MappingProxyType(
    {
        "heatmap": "nothing was measured",
        "adaptation": "no cell has code metrics",
        "scaling": "one preset and one thread count only; run others into the same file (--preset, --threads)",
        "compile": "nothing was compiled, all came from kept artefacts (weft bench run --recompile)",
    }
)


def explain_missing(drawings: Sequence[Drawing]) -> list[str]:
    """Why a figure is not among those drawn: `scaling: one preset...`."""
    drawn = {drawing.name for drawing in drawings}
    return [f"{name}: {reason}" for name, reason in WHY_NOT.items() if name not in drawn]


def make_drawings(
    run: Run, matrices: Sequence[Matrix], history: Sequence[Run] = (), names: Iterable[str] = tuple(WHY_NOT)
) -> list[Drawing]:
    """The figures of those `names` the data is enough for; scaling may draw on `history`, other runs of the file."""
    if not matrices:
        return []
    main = matrices[0]
    titles = framework_titles([NUMPY, *main.frameworks])
    makers: Mapping[str, Callable[[], Drawing | None]] = {
        "heatmap": lambda: draw_speedups(main, titles),
        "adaptation": lambda: draw_adaptations(main, titles),
        "scaling": lambda: draw_scaling(comparable_cells(run, history), main, titles),
        "compile": lambda: draw_compile_times(main, titles),
    }
    drawn = [makers[name]() for name in names]
    return [drawing for drawing in drawn if drawing is not None]


def comparable_cells(run: Run, history: Sequence[Run]) -> list[Cell]:
    """The cells of earlier runs on the same processor, then those of `run`, which count where both have one."""
    earlier = [other for other in history if other.id != run.id and other.machine.get("cpu") == run.machine.get("cpu")]
    return [cell for other in (*earlier, run) for cell in other.cells]
