"""How frameworks scale with the problem and with threads, and what their speed costs in compilation.

in:   cells of several presets and thread counts; the matrix of one setting
out:  `scaling`, two panels of geometric means with intervals, and `compile`, a point for each right result

Means are over the kernels that a framework gets right everywhere along its line, or the lines would bend with the set.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any

from weft_bench.cells import Cell
from weft_bench.colours import MUTED, series_styles
from weft_bench.figures.canvas import Drawing, finish, new_figure, new_panels, write
from weft_bench.formats import show_seconds
from weft_bench.matrix import NUMPY, PRESETS, Matrix
from weft_bench.statistics import Estimate, geometric_mean, ratio_of_times

TICKS = (0.125, 0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 128)
SCALING_CAPTION = (
    "Left: speed-up over NumPy (geometric mean) from preset to preset. Right: how many times faster than with the "
    "fewest threads; dotted: as many times as there are threads. Each line over the kernels its framework gets right "
    "at all of its points; bars: 95 % intervals."
)
COMPILE_CAPTION = (
    "Each point is a kernel: seconds of a call against what came before the first result (build and first call, less a "
    "later call). Results that came from kept artefacts are left out. In brackets: the median."
)


def draw_scaling(cells: Sequence[Cell], matrix: Matrix, titles: Mapping[str, str]) -> Drawing | None:
    """Both scalings around the setting of `matrix`; None if there is one preset and one thread count alone."""
    right = [cell for cell in cells if cell.state == "ok" and cell.pairs]
    by_preset = [cell for cell in right if cell.threads == matrix.setting.threads and cell.framework != NUMPY]
    by_threads = [cell for cell in right if cell.preset == matrix.setting.preset]
    presets = [preset for preset in PRESETS if any(cell.preset == preset for cell in by_preset)]
    threads = sorted({cell.threads for cell in by_threads})
    if len(presets) < 2 and len(threads) < 2:
        return None
    figure = new_figure(9.6, 4.3)
    left, other = new_panels(figure, 2)
    styles = series_styles([*matrix.frameworks, NUMPY])
    for name in matrix.frameworks:
        _plot(left, _along_presets(by_preset, name, presets), presets, titles[name], styles[name])
    for name in (*matrix.frameworks, NUMPY):
        _plot(other, _along_threads(by_threads, name, threads), threads, titles.get(name, "NumPy"), styles[name])
    _label_presets(left, presets, matrix.setting.threads)
    _label_threads(other, threads, matrix.setting.preset)
    handles, labels = max((axes.get_legend_handles_labels() for axes in (other, left)), key=lambda found: len(found[0]))
    figure.legend(handles, labels, loc="center right", fontsize=8, frameon=False)
    figure.tight_layout(rect=(0.0, 0.0, 0.87, 1.0))
    return finish(figure, "scaling", "Scaling over presets and threads", SCALING_CAPTION)


def draw_compile_times(matrix: Matrix, titles: Mapping[str, str]) -> Drawing | None:
    """Time of a call against compile time; None if nothing was compiled."""
    figure = new_figure(7.2, 5.0)
    (axes,) = new_panels(figure, 1)
    styles = series_styles(matrix.frameworks)
    drawn = False
    for name in matrix.frameworks:
        points = _compiled(matrix, name)
        if not points:
            continue
        colour, marker = styles[name]
        compiling, calling = zip(*points, strict=True)
        label = f"{titles[name]} ({show_seconds(median(compiling))}, {show_seconds(median(calling))})"
        dots = {"s": 22, "alpha": 0.75, "linewidths": 0}
        axes.scatter(compiling, calling, color=colour, marker=marker, label=label, **dots)
        drawn = True
    if not drawn:
        return None
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.xaxis.set_major_formatter(_show_tick)
    axes.yaxis.set_major_formatter(_show_tick)
    axes.set_xlabel("compile time, seconds")
    axes.set_ylabel("time of a call, seconds")
    axes.set_title(f"Time against compile time: preset {matrix.setting.label}", loc="left", fontweight="bold")
    axes.grid(visible=True, which="major", linewidth=0.4, alpha=0.5)
    axes.legend(fontsize=8, frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    figure.tight_layout()
    return finish(figure, "compile", "Time against compile time", COMPILE_CAPTION)


def _compiled(matrix: Matrix, framework: str) -> list[tuple[float, float]]:
    scores = [matrix.scores[row, framework] for row in matrix.right(framework)]
    return [
        (seconds, score.seconds.value)
        for score in scores
        if (seconds := score.compile_seconds) and score.seconds is not None
    ]


def _by_kernel(cells: Iterable[Cell]) -> dict[tuple[str, str], Cell]:
    """By kernel and dtype; of a cell measured twice the later counts."""
    return {(cell.kernel, cell.dtype): cell for cell in cells}


def _common(groups: Sequence[Mapping[tuple[str, str], Cell]]) -> list[tuple[str, str]]:
    return [key for key in groups[0] if all(key in group for group in groups)]


def _along_presets(cells: Sequence[Cell], framework: str, presets: Sequence[str]) -> dict[Any, Estimate]:
    groups = {
        preset: _by_kernel(cell for cell in cells if (cell.framework, cell.preset) == (framework, preset))
        for preset in presets
    }
    groups = {preset: group for preset, group in groups.items() if group}
    keys = _common(list(groups.values())) if groups else []
    return {preset: geometric_mean([group[key].pairs for key in keys]) for preset, group in groups.items() if keys}


def _along_threads(cells: Sequence[Cell], framework: str, threads: Sequence[int]) -> dict[Any, Estimate]:
    groups = {
        count: _by_kernel(cell for cell in cells if (cell.framework, cell.threads) == (framework, count))
        for count in threads
    }
    groups = {count: group for count, group in groups.items() if group}
    keys = _common(list(groups.values())) if groups else []
    if not keys or min(groups) != min(threads):
        return {}
    seconds = {count: [_seconds(group[key]) for key in keys] for count, group in groups.items()}
    base = seconds.pop(min(groups))
    one = Estimate(1.0, 1.0, 1.0)  # against itself
    return {min(groups): one} | {count: ratio_of_times(base, found) for count, found in seconds.items()}


def _seconds(cell: Cell) -> list[float]:
    return [pair.framework for pair in cell.pairs]


def _plot(axes: Any, line: Mapping[Any, Estimate], points: Sequence[Any], label: str, style: tuple[str, str]) -> None:
    """A line with its intervals; a point that could not be measured is left out."""
    if not line:
        return
    colour, marker = style
    known = [(points.index(point) if isinstance(point, str) else point, found) for point, found in line.items()]
    values = [found.value for _, found in known]
    low = [found.value - found.low if found.is_bounded else 0.0 for _, found in known]
    high = [found.high - found.value if found.is_bounded else 0.0 for _, found in known]
    axes.errorbar(
        [x for x, _ in known],
        values,
        yerr=[low, high],
        color=colour,
        marker=marker,
        markersize=5,
        linewidth=1.4,
        capsize=2.5,
        label=label,
    )


def _label_presets(axes: Any, presets: Sequence[str], threads: int) -> None:
    if len(presets) < 2:
        _say_nothing(axes, "one preset only:\nrun another into the same file")
        return
    axes.set_title(f"Over presets, {threads} thread{'' if threads == 1 else 's'}", loc="left", fontweight="bold")
    axes.set_xticks(range(len(presets)), presets)
    axes.set_yscale("log", base=2)
    axes.set_ylabel("speed-up over NumPy")
    _finish_panel(axes)


def _label_threads(axes: Any, threads: Sequence[int], preset: str) -> None:
    if len(threads) < 2:
        _say_nothing(axes, "one thread count only:\nrun another into the same file")
        return
    axes.set_title(f"Over threads, preset {preset}", loc="left", fontweight="bold")
    ideal = [count / threads[0] for count in threads]
    axes.plot(threads, ideal, color=MUTED, linestyle=":", linewidth=1.0)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    axes.set_xticks(threads, [str(count) for count in threads])
    axes.set_xlabel("threads")
    axes.set_ylabel(f"times faster than with {threads[0]}")
    _finish_panel(axes)


def _finish_panel(axes: Any) -> None:
    low, high = axes.get_ylim()
    axes.set_yticks([tick for tick in TICKS if low <= tick <= high])
    axes.yaxis.set_major_formatter(_show_tick)
    axes.minorticks_off()
    axes.grid(visible=True, axis="y", linewidth=0.4, alpha=0.5)


def _show_tick(value: float, _place: int) -> str:
    return f"{value:g}"


def _say_nothing(axes: Any, text: str) -> None:
    axes.clear()
    axes.set_axis_off()
    write(axes, 0.5, 0.5, text, ha="center", color=MUTED, fontsize=9, transform=axes.transAxes)
