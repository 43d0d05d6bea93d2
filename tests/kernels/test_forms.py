"""Every kernel in every form of its arguments gives NumPy's answer, and the ordinary forms run in compiled code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from tests.compiling import PLAINLY
from tests.end_to_end.outcome import assert_native, describe_error, relations, run, stride_order
from tests.kernels.forms import (
    ALIASES,
    LAYOUTS,
    USUAL,
    all_extents,
    broadcast,
    lay_out,
    only_written,
    read_only,
    small_sizes,
    square,
)
from tests.kernels.wrong_shapes import WRONG
from tests.selection import every, in_turn, title
from weft_bench.agreement import compare_values
from weft_bench.kernel import Inputs, Kernel, Sizes
from weft_bench.kernels import BY_NAME, KERNELS

TYPED = [(kernel, dtype) for kernel in KERNELS for dtype in kernel.dtypes]
typed = pytest.mark.parametrize(
    ("kernel", "dtype"), every(2, TYPED), ids=[f"{kernel.name}-{dtype}" for kernel, dtype in TYPED]
)
# With the same number everywhere there are rings without points, and no positive definite matrix.
NOT_REPEATED = {"azimuthal_masks", "library_cholesky"}
# At extents of 1 slices of a stencil clip, or there is an error: a guard's business.
LARGER_THAN_ONE = {
    "jacobi_1d", "jacobi_2d", "heat_3d", "alternating_directions", "cavity_flow", "channel_flow", "deriche", "lenet",
    "vertical_advection", "azimuthal_masks",
}  # fmt: skip
MANY = 7  # sizes whose product grows too fast
each_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)


def laid_out() -> list[Any]:
    """The last type of every kernel in all layouts, the others in the plainest: every variant takes time."""
    return [
        pytest.param(kernel, dtype, layout, id=f"{layout}-{kernel.name}-{dtype}")
        for kernel, dtype in TYPED
        for layout in LAYOUTS
        if layout != "axes_turned" and (layout == "contiguous" or dtype == kernel.dtypes[-1])
    ]


def rows_of(table: dict[str, dict[str, Callable[[Inputs], Inputs]]]) -> list[Any]:
    """One parameter set per entry of a table by kernel."""
    return [
        pytest.param(BY_NAME[name], change, id=f"{name}-{title.replace(' ', '_')}")
        for name, changes in table.items()
        for title, change in changes.items()
    ]


def assert_agrees(kernel: Kernel, make: Callable[[], Inputs], sizes: Sizes, program: Any = None) -> Any:
    """The compiled kernel leaves what NumPy leaves: result, arguments, exception; the program, for its counters."""
    program = program or weft.program(kernel.function, fallback="error")
    expected = run(kernel.function, (), make())
    actual = run(program, (), make())

    if actual.error is not None and expected.error is None:
        raise actual.error
    assert describe_error(actual.error) == describe_error(expected.error)
    assert relations(actual) == relations(expected)
    assert actual.warnings == expected.warnings
    tolerance = kernel.tolerance(sizes)
    assert_same_value(actual.result, expected.result, tolerance, "return")
    for name, value in expected.keywords.items():
        # An alias of an output is one.
        changed = any(
            np.may_share_memory(value, expected.keywords[other]) for other in kernel.outputs if other != "return"
        )
        assert_same_value(actual.keywords[name], value, tolerance if changed else 0.0, name)
    return program


def assert_same_value(actual: Any, expected: Any, tolerance_eps: float, name: str) -> None:
    if expected is None:
        assert actual is None, name
        return
    if isinstance(expected, tuple):
        assert isinstance(actual, tuple), name
        for number, (mine, theirs) in enumerate(zip(actual, expected, strict=True)):
            assert_same_value(mine, theirs, tolerance_eps, f"{name}[{number}]")
        return
    verdict = compare_values(expected, actual, tolerance_eps)
    assert verdict.ok, f"{name}: {verdict.reason}\n{actual!r}\nNumPy gives\n{expected!r}"
    if isinstance(expected, np.ndarray):
        assert stride_order(actual) == stride_order(expected), name
        assert actual.flags.writeable == expected.flags.writeable, name


# ---------------------------------------------------------------- the ordinary forms


@pytest.mark.parametrize(("kernel", "dtype", "layout"), every(3, laid_out()))
def test_layouts(kernel: Kernel, dtype: str, layout: str) -> None:
    sizes = USUAL[kernel.name]

    program = assert_agrees(kernel, lambda: lay_out(kernel.inputs(sizes, dtype), LAYOUTS[layout]), sizes)

    assert_native(program)


@pytest.mark.parametrize("name", ["softmax", "mode_product", "heat_3d", "horizontal_diffusion"])
def test_axes_in_neither_order(name: str) -> None:
    kernel, sizes = BY_NAME[name], USUAL[name]

    program = assert_agrees(kernel, lambda: lay_out(kernel.inputs(sizes), LAYOUTS["axes_turned"]), sizes)

    assert_native(program)


@typed
def test_one_binary_serves_every_size(kernel: Kernel, dtype: str) -> None:
    usual = USUAL[kernel.name]
    program = weft.program(kernel.function, fallback="error")
    for more in (0, 1, 5 if len(usual) < MANY else 2):
        sizes = {name: size + more for name, size in usual.items()}
        assert_agrees(kernel, lambda sizes=sizes: kernel.inputs(sizes, dtype), sizes, program)

    assert_native(program, calls=3)
    assert program.stats.variants == 1


@PLAINLY
@typed
def test_sizes_zero_one_and_two(kernel: Kernel, dtype: str) -> None:
    program = weft.program(kernel.function, fallback="error")
    sizes_of_all, sizes_alone = small_sizes(kernel.name)
    for sizes in [*sizes_of_all, *(sizes_alone if dtype == kernel.dtypes[-1] else [])]:
        assert_agrees(kernel, lambda sizes=sizes: kernel.inputs(sizes, dtype), sizes, program)

    assert program.stats.fallback_calls == 0


@each_kernel
def test_size_one_runs_natively(kernel: Kernel) -> None:
    sizes = all_extents(kernel.name, 1)

    program = assert_agrees(kernel, lambda: kernel.inputs(sizes), sizes)

    assert program.stats.fallback_calls == 0
    if kernel.name not in LARGER_THAN_ONE:
        assert_native(program)


@pytest.mark.parametrize(("kernel", "layout"), in_turn(KERNELS, ["fortran", "every_second", "backwards"]), ids=title)
def test_mixed_layouts(kernel: Kernel, layout: str) -> None:
    sizes = USUAL[kernel.name]

    program = assert_agrees(kernel, lambda: only_written(kernel, kernel.inputs(sizes), LAYOUTS[layout]), sizes)

    assert_native(program)


@pytest.mark.parametrize(
    ("kernel", "form"),
    in_turn(KERNELS, [read_only, broadcast]),
    ids=lambda value: getattr(value, "__name__", None) or value.name,
)
def test_inputs_that_are_only_read(kernel: Kernel, form: Callable[[Kernel, Inputs], Inputs]) -> None:
    sizes = USUAL[kernel.name]

    program = assert_agrees(kernel, lambda: form(kernel, kernel.inputs(sizes)), sizes)

    if form is not broadcast or kernel.name not in NOT_REPEATED:
        assert_native(program)


@pytest.mark.parametrize(
    "kernel", [kernel for kernel in KERNELS if kernel.outputs != ("return",)], ids=lambda k: k.name
)
def test_outputs_that_cannot_be_written(kernel: Kernel) -> None:
    sizes = USUAL[kernel.name]

    def make() -> Inputs:
        inputs = kernel.inputs(sizes)
        for name in kernel.outputs:
            if name in inputs:
                inputs[name].flags.writeable = False
        return inputs

    assert isinstance(run(kernel.function, (), make()).error, ValueError)
    assert_agrees(kernel, make, sizes)


# ---------------------------------------------------------------- the unusual ones


@pytest.mark.parametrize(("kernel", "alias"), rows_of(ALIASES))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_aliases(kernel: Kernel, alias: Callable[[Inputs], Inputs]) -> None:
    sizes = square(kernel.name)
    program = weft.program(kernel.function, fallback="error")
    # Twice: compiled for these very arguments, and compiled for others that share nothing.
    assert_agrees(kernel, lambda: alias(kernel.inputs(sizes)), sizes, program)
    other = weft.program(kernel.function, fallback="error")
    assert_agrees(kernel, lambda: kernel.inputs(sizes), sizes, other)
    assert_agrees(kernel, lambda: alias(kernel.inputs(sizes)), sizes, other)
    assert_agrees(kernel, lambda: kernel.inputs(sizes), sizes, other)


@pytest.mark.parametrize(("kernel", "change"), rows_of(WRONG))
def test_wrong_shapes(kernel: Kernel, change: Callable[[Inputs], Inputs]) -> None:
    sizes = USUAL[kernel.name]
    program = weft.program(kernel.function)  # Python may have to run a call of types that make no sense
    assert_agrees(kernel, lambda: kernel.inputs(sizes), sizes, program)
    assert_agrees(kernel, lambda: change(kernel.inputs(sizes)), sizes, program)
    assert_agrees(kernel, lambda: kernel.inputs(sizes), sizes, program)


# ---------------------------------------------------------------- the kernels themselves


def test_the_crc_is_the_standard_one() -> None:
    data = np.frombuffer(b"123456789", np.uint8)

    assert BY_NAME["crc16"].function(data, 0x1021) == 0x29B1


def test_the_factor_gives_the_matrix_back() -> None:
    inputs = BY_NAME["cholesky"].inputs({"n": 20})
    lower = np.tril(inputs["A"])
    matrix = lower + np.tril(lower, -1).T
    BY_NAME["cholesky"].function(**inputs)
    factor = np.tril(inputs["A"])

    np.testing.assert_allclose(factor @ factor.T, matrix, rtol=1e-12)


def test_the_solution_solves() -> None:
    inputs = BY_NAME["triangular_solve"].inputs({"n": 30, "sides": 3})
    BY_NAME["triangular_solve"].function(**inputs)

    np.testing.assert_allclose(np.tril(inputs["L"]) @ inputs["X"], inputs["B"], rtol=1e-12)


def test_the_triangles_give_the_matrix_back() -> None:
    inputs = BY_NAME["lu"].inputs({"n": 20})
    matrix = inputs["A"].copy()
    BY_NAME["lu"].function(**inputs)
    lower, upper = np.tril(inputs["A"], -1) + np.eye(20), np.triu(inputs["A"])

    np.testing.assert_allclose(lower @ upper, matrix, rtol=1e-12, atol=1e-12)


def test_the_predictor_solves_the_toeplitz_system() -> None:
    r = BY_NAME["durbin"].inputs({"n": 20})["r"]
    distance = np.abs(np.arange(20)[:, None] - np.arange(20))
    matrix = np.concatenate([[1.0], r])[distance]

    np.testing.assert_allclose(matrix @ BY_NAME["durbin"].function(r), -r, rtol=1e-12)


def test_the_relaxation_reaches_the_solution() -> None:
    inputs = BY_NAME["seidel_2d"].inputs({"rows": 8, "columns": 9, "steps": 300})
    BY_NAME["seidel_2d"].function(**inputs)
    u = inputs["u"]
    laplacian = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1]

    np.testing.assert_allclose(laplacian, inputs["source"][1:-1, 1:-1], atol=1e-12)


def test_a_slope_does_not_diffuse() -> None:
    x, y, z = np.meshgrid(np.arange(9.0), np.arange(10.0), np.arange(4.0), indexing="ij")
    slope = 3.0 * x - 2.0 * y + 5.0 * z
    after = BY_NAME["horizontal_diffusion"].function(slope, np.ones((5, 6, 4)))
    A, B = slope.copy(), slope.copy()
    BY_NAME["heat_3d"].function(3, 0.125, A, B)

    np.testing.assert_array_equal(after, slope[2:-2, 2:-2])
    np.testing.assert_array_equal(A, slope)


def test_the_probabilities_add_up_to_one() -> None:
    result = BY_NAME["perceptron"].function(**BY_NAME["perceptron"].inputs(USUAL["perceptron"]))

    np.testing.assert_allclose(np.sum(result, axis=1), 1.0)
    assert np.min(result) >= 0.0


def test_the_strand_folds() -> None:
    table = np.zeros((6, 6), np.int64)
    BY_NAME["nussinov"].function(np.array([0, 1, 1, 2, 3, 3]), table)

    assert table[0, 5] == 2  # 0 with 3 around 1 with 2


def test_the_shortest_paths_keep_the_triangle_inequality() -> None:
    path = BY_NAME["floyd_warshall"].inputs({"nodes": 15}, "int64")["path"]
    before = path.copy()
    BY_NAME["floyd_warshall"].function(path)

    assert np.all(path[:, None, :] <= path[:, :, None] + path[None, :, :])
    assert np.any(path < before)
