"""The figures say what the cells say, whatever the kernels are called, and are not needed for anything else."""

from __future__ import annotations

import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from tests.bench.synthetic import make_cell, make_failure, make_run
from weft_bench.cells import Run
from weft_bench.colours import share_colour, speedup_colour
from weft_bench.figures import FiguresUnavailableError, canvas, explain_missing, make_drawings
from weft_bench.figures.canvas import Drawing
from weft_bench.figures.collection import comparable_cells
from weft_bench.formats import show_bytes, show_factor, show_interval, show_range, show_seconds, show_width
from weft_bench.matrix import make_matrices
from weft_bench.statistics import Estimate

FEW = ("lu", "jacobi_2d", "softmax")


def draw(name: str, run: Run, *history: Run) -> Drawing | None:
    pytest.importorskip("matplotlib", reason="figures need the extra weft[bench]")
    drawn = make_drawings(run, make_matrices(run), history, [name])
    return drawn[0] if drawn else None


def texts(drawing: Drawing | None) -> list[str]:
    """The words of a figure; an SVG that is not well-formed fails here."""
    assert drawing is not None
    tree = ElementTree.fromstring(drawing.svg)
    return ["".join(node.itertext()).strip() for node in tree.iter("{http://www.w3.org/2000/svg}text")]


def run_of(*cells) -> Run:
    return replace(make_run(kernels=["lu"]), cells=tuple(cells))


def test_heat_map_has_every_kernel_domain_and_framework_and_the_means_on_top() -> None:
    run = make_run(kernels=FEW, frameworks=("numpy", "numba", "jax"))
    words = texts(draw("heatmap", run))

    assert {*FEW, "Total", "Linear algebra", "Machine learning", "Differential equations"} <= set(words)
    assert words.index("Total") < words.index("Linear algebra") < words.index("lu")
    matrix = make_matrices(run)[0]
    mean = matrix.mean("numba", matrix.right("numba"))
    assert mean is not None
    assert show_factor(mean.value) + show_width(mean) in words


def test_failures_are_labelled_with_their_class() -> None:
    states = ("unsupported", "compile", "execution", "validation", "time limit", "not available")
    cells = [make_failure("lu", f"f{place}", state, "no") for place, state in enumerate(states)]

    words = texts(draw("heatmap", run_of(make_cell("lu", "numpy", ratio=1.0), *cells)))

    assert set(states) <= set(words)


def test_faster_points_up_and_slower_down_with_the_interval_as_superscript() -> None:
    words = texts(draw("heatmap", run_of(make_cell("lu", "up", ratio=3.0), make_cell("lu", "down", ratio=0.25))))

    assert any(re.fullmatch(r"↑(2.9|3.0)\d[⁰¹²³⁴⁵⁶⁷⁸⁹]*", word) for word in words)
    assert any(re.fullmatch(r"↓(3.9|4.0)\d[⁰¹²³⁴⁵⁶⁷⁸⁹]*", word) for word in words)


@pytest.mark.parametrize("name", ["a$x_{1}$b", "<b>&amp;</b>", "日本 \x00\x1b[31m", "$", "\\frac{1}"])
def test_a_kernel_may_be_called_anything(name: str) -> None:
    drawn = draw("heatmap", run_of(make_cell(name, "numba"), make_cell(name, "numpy", ratio=1.0)))

    assert "".join(sign for sign in name if sign.isprintable()) in texts(drawn)
    assert drawn is not None
    assert drawn.png.startswith(b"\x89PNG")


def test_adaptation_shows_lines_more_than_numpys_and_marks_what_was_changed_besides() -> None:
    cell = make_cell("lu", "numba")
    assert cell.adaptation is not None
    altered = replace(cell, framework="dace", adaptation=replace(cell.adaptation, lines=11, changed=7, kept=0.4))

    words = texts(draw("adaptation", run_of(cell, altered)))

    assert "+2" in words
    assert "+1⁷" in words
    assert words.count("10") == 1  # NumPy's lines


def test_scaling_needs_a_second_preset_or_thread_count_and_says_so() -> None:
    assert draw("scaling", make_run(kernels=FEW)) is None
    assert any(line.startswith("scaling: one preset") for line in explain_missing([]))
    words = texts(draw("scaling", make_run(kernels=FEW, presets=("S", "M"), threads=(1, 2))))
    assert {"S", "M", "1", "2"} <= set(words)


def test_scaling_draws_on_other_runs_of_the_same_machine() -> None:
    one, two = make_run(kernels=FEW, threads=(1,), number=1), make_run(kernels=FEW, threads=(2,), number=2)
    elsewhere = replace(make_run(kernels=FEW, threads=(4,), number=3), machine={"cpu": "another"})

    assert draw("scaling", two, one) is not None
    assert {cell.threads for cell in comparable_cells(two, [one, two, elsewhere])} == {1, 2}


def test_what_came_from_kept_artefacts_is_not_drawn_as_compiled() -> None:
    run = make_run(kernels=FEW)
    kept = replace(run, cells=tuple(replace(cell, from_artefacts=True) for cell in run.cells))

    assert draw("compile", run) is not None
    assert draw("compile", kept) is None


def test_the_same_run_gives_the_same_files() -> None:
    run = make_run(kernels=["lu"], frameworks=("numpy", "numba"))

    assert draw("heatmap", run) == draw("heatmap", run)


def test_inline_figures_keep_their_ids_apart() -> None:
    first, second = (
        Drawing(name, name, "", '<?xml?><svg width="9pt" height="9pt"><g id="a"/><use href="#a"/></svg>', b"")
        for name in ("one", "two")
    )

    assert 'id="one-a"' in first.inline_svg()
    assert 'href="#two-a"' in second.inline_svg()
    assert "<?xml" not in first.inline_svg()


def test_without_matplotlib_the_message_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ImportError(f"No module named {name!r}")

    monkeypatch.setattr(canvas, "import_module", missing)
    run = make_run(kernels=["lu"])

    with pytest.raises(FiguresUnavailableError, match=r"pip install 'weft\[bench\]'"):
        make_drawings(run, make_matrices(run))


def test_colours_are_white_at_numpys_speed_and_saturate() -> None:
    assert speedup_colour(1.0) == "#ffffff"
    assert speedup_colour(20.0) == speedup_colour(1e6) == share_colour(1.0)
    assert speedup_colour(0.05) == speedup_colour(1e-6) == share_colour(0.0)


def test_numbers_have_three_digits_and_a_unit() -> None:
    assert [show_seconds(seconds) for seconds in (0.1123, 2.0, 3.21e-5, 0.0099999)] == [
        "112 ms",
        "2.00 s",
        "32.1 us",
        "10.0 ms",
    ]
    assert [show_factor(ratio) for ratio in (1.0, 0.5, 123.4, 9.999)] == ["↑1.00", "↓2.00", "↑123", "↑10.0"]
    assert [show_bytes(size) for size in (12, 2048, 3 << 30)] == ["12 B", "2.00 KiB", "3.00 GiB"]


def test_an_interval_is_written_as_its_number_is() -> None:
    assert show_range(Estimate(1.1, 0.5, 2.0)) == "↓2.00 to ↑2.00"
    assert show_interval(Estimate(1.1, 0.5, 2.0)) == "0.50 to 2.00"
    assert show_range(Estimate(1.1, 0.0, float("inf"))) == "one sample, no interval"


def test_superscripts_start_at_one_percent() -> None:
    assert show_width(Estimate(1.0, 0.9951, 1.0049)) == ""
    assert show_width(Estimate(1.0, 0.9, 1.02)) == "¹²"
    assert show_width(Estimate(1.0, 0.0, float("inf"))) == "?"
