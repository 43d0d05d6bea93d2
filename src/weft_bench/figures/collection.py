"""All figures of a run, in the order of the page."""

from __future__ import annotations

from collections.abc import Sequence

from weft_bench.cells import Cell, Run
from weft_bench.figures.canvas import Drawing
from weft_bench.figures.curves import draw_compile_times, draw_scaling
from weft_bench.figures.heat_maps import draw_adaptations, draw_speedups
from weft_bench.matrix import NUMPY, Matrix, framework_titles


def make_drawings(run: Run, matrices: Sequence[Matrix], history: Sequence[Run] = ()) -> list[Drawing]:
    """The figures the data is enough for; `history` are other runs of the file, which scaling may draw on."""
    if not matrices:
        return []
    main = matrices[0]
    titles = framework_titles([NUMPY, *main.frameworks])
    drawn = [
        draw_speedups(main, titles),
        draw_adaptations(main, titles),
        draw_scaling(comparable_cells(run, history), main, titles),
        draw_compile_times(main, titles),
    ]
    return [drawing for drawing in drawn if drawing is not None]


def comparable_cells(run: Run, history: Sequence[Run]) -> list[Cell]:
    """The cells of earlier runs on the same processor, then those of `run`, which count where both have one."""
    earlier = [other for other in history if other.id != run.id and other.machine.get("cpu") == run.machine.get("cpu")]
    return [cell for other in (*earlier, run) for cell in other.cells]
