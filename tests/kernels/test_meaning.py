"""The kernels compute what their descriptions say: each against another way to the same numbers, in NumPy alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

from tests.kernels.forms import USUAL
from weft_bench.kernel import Inputs, Kernel
from weft_bench.kernels import BY_NAME, KERNELS

# The rows of the tables in which other compilers are compared.
FIELD = [
    "adi", "arc_distance", "atax", "azimint_hist", "azimint_naive", "bicg", "cavity_flow", "channel_flow",
    "cholesky", "cholesky2", "compute", "contour_integral", "conv2d_bias", "correlation", "covariance",
    "covariance2", "crc16", "deriche", "doitgen", "durbin", "fdtd_2d", "floyd_warshall", "gemm", "gemver",
    "gesummv", "go_fast", "gramschmidt", "hdiff", "heat_3d", "jacobi_1d", "jacobi_2d", "k2mm", "k3mm", "lenet",
    "lu", "ludcmp", "mandelbrot1", "mandelbrot2", "mlp", "mvt", "nbody", "nussinov", "resnet",
    "scattering_self_energies", "seidel_2d", "softmax", "spmv", "stockham_fft", "symm", "syr2k", "syrk",
    "trisolv", "trmm", "vadv",
]  # fmt: skip


INDICES = ("starts", "columns", "near")


@pytest.mark.parametrize(("kernel", "dtype"), [(kernel, dtype) for kernel in KERNELS for dtype in kernel.dtypes])
def test_inputs_are_the_same_every_time_and_no_two_numbers_alike(kernel: Kernel, dtype: str) -> None:
    sizes = USUAL[kernel.name]
    first, second = kernel.inputs(sizes, dtype), kernel.inputs(sizes, dtype)

    for name, value in first.items():
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(value, second[name])
            assert value.dtype == ("int64" if name in INDICES else dtype)
            assert name == "table" or len(np.unique(value)) > 1


def test_the_field_knows_every_kernel_by_one_name() -> None:
    assert sorted(kernel.known_as for kernel in KERNELS) == FIELD


def run(name: str) -> tuple[Inputs, Inputs, Any]:
    """The arguments before and after a run at the usual sizes, and what it returned."""
    before, after = BY_NAME[name].inputs(USUAL[name]), BY_NAME[name].inputs(USUAL[name])
    return before, after, BY_NAME[name].function(**after)


def close(actual: Any, expected: Any) -> None:
    """The numbers are those wanted, but for rounding at their largest magnitude."""
    assert np.shape(actual) == np.shape(expected)
    np.testing.assert_allclose(actual, expected, rtol=1e-11, atol=1e-12 * max(float(np.max(np.abs(expected))), 1e-300))


def relu(x: np.ndarray) -> np.ndarray:
    return np.where(x > 0.0, x, 0.0)


# ---------------------------------------------------------------- linear algebra


def correlate_what_moves(data: np.ndarray) -> np.ndarray:
    """The library's correlations, which are NaN for a variable that is constant: here it correlates with itself."""
    moves = np.flatnonzero(np.ptp(data, axis=0) > 0.0)
    expected = np.eye(data.shape[1])
    expected[np.ix_(moves, moves)] = np.corrcoef(data[:, moves].T)
    return expected


PRODUCTS: dict[str, Callable[[Inputs, Any], dict[str, Any]]] = {
    "matrix_product": lambda i, _: {"C": i["alpha"] * np.einsum("ik,kj", i["A"], i["B"]) + i["beta"] * i["C"]},
    "two_products": lambda i, _: {
        "D": i["alpha"] * np.einsum("ik,kl,lj", i["A"], i["B"], i["C"]) + i["beta"] * i["D"]
    },
    "three_products": lambda i, _: {"return": np.einsum("ik,kl,lm,mj", i["A"], i["B"], i["C"], i["D"])},
    "normal_product": lambda i, _: {"return": np.einsum("ij,ik,k", i["A"], i["A"], i["x"])},
    "biconjugate_products": lambda i, r: {
        "p": i["p"], "return": (np.einsum("ij,j", i["A"], i["p"]), np.einsum("ij,i", i["A"], i["r"]))
    },
    "transposed_products": lambda i, _: {
        "x": i["x"] + np.einsum("ij,j", i["A"], i["y"]), "u": i["u"] + np.einsum("ij,i", i["A"], i["v"])
    },
    "summed_products": lambda i, _: {
        "return": np.einsum("ij,j", i["alpha"] * i["A"] + i["beta"] * i["B"], i["x"])
    },
    "rank_two_update": lambda i, r: {
        "A": (A := i["A"] + i["u1"][:, None] * i["v1"] + i["u2"][:, None] * i["v2"]),
        "return": (x := i["beta"] * np.einsum("ij,i", A, i["y"]) + i["z"], i["alpha"] * np.einsum("ij,j", A, x)),
    },
    "mode_product": lambda i, _: {"A": np.einsum("rqs,sp->rqp", i["A"], i["M"])},
    "symmetric_product": lambda i, _: {
        "C": i["alpha"] * (np.tril(i["A"]) + np.tril(i["A"], -1).T) @ i["B"] + i["beta"] * i["C"]
    },
    "symmetric_rank_k": lambda i, _: {
        "C": np.tril(i["alpha"] * i["A"] @ i["A"].T + i["beta"] * i["C"]) + np.triu(i["C"], 1)
    },
    "symmetric_rank_2k": lambda i, _: {
        "C": np.tril(i["alpha"] * (i["A"] @ i["B"].T + i["B"] @ i["A"].T) + i["beta"] * i["C"]) + np.triu(i["C"], 1)
    },
    "triangular_product": lambda i, _: {
        "B": i["alpha"] * (np.tril(i["A"], -1) + np.eye(len(i["A"]))).T @ i["B"]
    },
    "library_cholesky": lambda i, L: {"A": L @ L.T, "return": np.tril(L)},
    "lu_solve": lambda i, _: {"return": np.linalg.solve(i["A"], i["b"])},
    "trace_shift": lambda i, _: {"return": i["a"] + np.tanh(np.diag(i["a"])).sum()},
    "correlation": lambda i, _: {"return": correlate_what_moves(i["data"])},
    "covariance": lambda i, _: {"return": np.cov(i["data"].T), "data": i["data"] - i["data"].mean(axis=0)},
    "covariance_product": lambda i, _: {"return": np.cov(i["data"].T), "data": i["data"]},
}  # fmt: skip


@pytest.mark.parametrize("name", PRODUCTS)
def test_linear_algebra(name: str) -> None:
    before, after, result = run(name)
    for output, expected in PRODUCTS[name](before, result).items():
        actual = result if output == "return" else after[output]
        for mine, theirs in zip(*((v if isinstance(v, tuple) else (v,)) for v in (actual, expected)), strict=True):
            close(mine, theirs)


def test_lu_solve_leaves_the_factors() -> None:
    before, after, _ = run("lu_solve")

    close((np.tril(after["A"], -1) + np.eye(len(after["A"]))) @ np.triu(after["A"]), before["A"])


def test_a_constant_correlates_with_nothing() -> None:
    data = np.array([[1.0, 5.0, 2.0], [2.0, 5.0, 4.5], [4.0, 5.0, 3.0]])
    result = BY_NAME["correlation"].function(data)

    np.testing.assert_array_equal(result[1], [0.0, 1.0, 0.0])
    close(result[::2, ::2], np.corrcoef(data[:, ::2].T))


def test_gram_schmidt_is_a_qr_factorisation() -> None:
    before, after, R = run("gram_schmidt")
    q, r = np.linalg.qr(before["A"])
    signs = np.sign(np.diag(r))

    close(after["A"], q * signs)
    close(R, r * signs[:, None])


def test_a_sparse_matrix_is_a_matrix() -> None:
    before, _, result = run("sparse_product")
    rows = np.repeat(np.arange(len(result)), np.diff(before["starts"]))
    dense = np.zeros((len(result), len(before["x"])))
    np.add.at(dense, (rows, before["columns"]), before["values"])

    close(result, dense @ before["x"])
    assert 0 in np.diff(before["starts"])


def test_the_contour_finds_the_eigenvalues_inside() -> None:
    rng = np.random.default_rng(5)
    vectors = rng.normal(size=(5, 5)) + 1j * rng.normal(size=(5, 5))
    values = np.array([0.3, 0.1 - 0.4j, -0.2j, 3.0, -2.0 + 1.0j])
    matrix = vectors @ np.diag(values) @ np.linalg.inv(vectors)
    circle = np.exp(2j * np.pi * np.arange(64) / 64)
    P0, P1 = BY_NAME["contour_integral"].function(np.stack([-matrix, np.eye(5)]), np.eye(5) + 0j, circle, circle / 64)

    inside = vectors @ np.diag(np.abs(values) < 1.0) @ np.linalg.inv(vectors)
    np.testing.assert_allclose(P0, inside, atol=1e-9)
    np.testing.assert_allclose(P1, matrix @ inside, atol=1e-9)


def test_the_polynomial_goes_up_to_its_last_term() -> None:
    before, _, (P0, P1) = run("contour_integral")
    T = np.einsum("kt,tij->kij", before["z"][:, None] ** np.arange(len(before["H"])), before["H"])
    X = np.linalg.inv(T) @ before["Y"]

    close(P0, np.einsum("k,kim", before["weight"], X))
    close(P1, np.einsum("k,k,kim", before["weight"], before["z"], X))


def test_the_self_energies_are_one_contraction() -> None:
    before, _, result = run("self_energies")
    G, D, H, near = (before[name] for name in ("G", "D", "H", "near"))
    expected = np.zeros_like(G)
    for k, e in np.ndindex(G.shape[:2]):
        for q, w in np.ndindex(D.shape[:2]):
            if e >= w:
                scattered = G[(k - q) % len(G), e - w][near]
                expected[k, e] += np.einsum("abmn,abino,abij,abjop->amp", scattered, H, D[q, w], H)

    close(result, expected)


def test_stockham_is_a_fourier_transform() -> None:
    before, _, result = run("stockham_fft")

    close(result, np.fft.fft(before["x"]))
    for radix, stages in ((2, 5), (3, 3), (5, 1), (6, 2), (7, 0)):
        x = np.random.default_rng(1).normal(size=radix**stages) + 0.5j
        close(BY_NAME["stockham_fft"].function(x, radix, stages), np.fft.fft(x))


# ---------------------------------------------------------------- maps and reductions


def test_great_circles_are_angles_between_vectors() -> None:
    before, _, result = run("great_circle")

    def vector(end: str) -> np.ndarray:
        latitude, longitude = before[f"latitude{end}"], before[f"longitude{end}"]
        return np.stack(
            [np.cos(latitude) * np.cos(longitude), np.cos(latitude) * np.sin(longitude), np.sin(latitude)], axis=1
        )

    one, two = vector("1"), vector("2")
    close(result, np.arctan2(np.linalg.norm(np.cross(one, two), axis=1), np.sum(one * two, axis=1)))


def test_rings_by_histogram() -> None:
    before, _, result = run("azimuthal_histogram")
    data, radius, rings = before["data"], before["radius"], before["rings"]
    width = (radius.max() - radius.min()) / rings
    ring = np.minimum((radius - radius.min()) / width, rings - 1).astype(int)

    close(result, np.array([data[ring == i].mean() for i in range(rings)]))


def test_rings_by_masks() -> None:
    before, _, result = run("azimuthal_masks")
    data, radius, rings = before["data"], before["radius"], before["rings"]
    ring = np.floor(radius / radius.max() * rings).astype(int)

    assert np.count_nonzero(ring == rings) == 1  # the farthest point
    close(result, np.array([data[ring == i].mean() for i in range(rings)]))


@pytest.mark.parametrize("name", ["mandelbrot_masks", "mandelbrot_shrinking"])
def test_mandelbrot_point_by_point(name: str) -> None:
    before, _, (count, z) = run(name)
    assert len(np.unique(count)) > 3
    for (i, j), found in np.ndenumerate(count):
        c = complex(before["x"][j], before["y"][i])
        at, turns = 0j, 0
        while turns < before["turns"] and abs(at) <= 2.0:
            at, turns = at * at + c, turns + 1
        if name == "mandelbrot_shrinking" and abs(at) <= 2.0:
            at, turns = 0j, 0
        assert found == turns
        assert abs(z[i, j] - at) <= 1e-12 * max(abs(at), 1.0)


def test_deriche_is_a_convolution() -> None:
    before, _, result = run("deriche")
    alpha, image = float(before["alpha"]), before["image"]

    def smoothing(extent: int) -> np.ndarray:
        distance = np.abs(np.arange(extent)[:, None] - np.arange(extent))
        k = (1 - np.exp(-alpha)) ** 2 / (1 + 2 * alpha * np.exp(-alpha) - np.exp(-2 * alpha))
        return k * (alpha * distance + 1) * np.exp(-alpha * distance)

    close(result, smoothing(image.shape[0]) @ image @ smoothing(image.shape[1]))
    close(np.sum(smoothing(601)[300]), 1.0)


# ---------------------------------------------------------------- networks


def convolve(x: np.ndarray, weights: np.ndarray) -> np.ndarray:
    windows = sliding_window_view(x, weights.shape[:2], axis=(1, 2))
    return np.einsum("nijcab,abcf->nijf", windows, weights)


def pool(x: np.ndarray) -> np.ndarray:
    even = x[:, : x.shape[1] // 2 * 2, : x.shape[2] // 2 * 2]
    return np.max([even[:, a::2, b::2] for a in (0, 1) for b in (0, 1)], axis=0)


def test_convolution() -> None:
    before, _, result = run("convolution")

    close(result, convolve(before["x"], before["weights"]) + before["bias"])


def test_lenet() -> None:
    before, _, result = run("lenet")
    x = before["x"]
    for layer in ("1", "2"):
        x = pool(relu(convolve(x, before["w" + layer]) + before["b" + layer]))
    x = x.reshape(len(x), -1)
    for layer in ("3", "4", "5"):
        x = np.einsum("ni,ij->nj", x, before["w" + layer]) + before["b" + layer]
        x = x if layer == "5" else relu(x)

    close(result, x)


def test_residual_block() -> None:
    before, _, result = run("residual_block")

    def normalise(x: np.ndarray) -> np.ndarray:
        flat = x.reshape(-1, x.shape[-1])
        return ((flat - flat.mean(0)) / np.sqrt(flat.var(0) + 1e-5)).reshape(x.shape)

    y = relu(normalise(np.einsum("nijc,cf->nijf", before["x"], before["w1"])))
    y = np.pad(y, [(0, 0), (1, 1), (1, 1), (0, 0)])
    y = relu(normalise(convolve(y, before["w2"])))
    close(result, relu(before["x"] + normalise(np.einsum("nijc,cf->nijf", y, before["w3"]))))


# ---------------------------------------------------------------- differential equations


def second_difference(points: int) -> np.ndarray:
    """Neighbours less twice the point itself, for inner points; the rows of the ends are zero."""
    D = np.eye(points, k=1) - 2.0 * np.eye(points) + np.eye(points, k=-1)
    D[[0, -1]] = 0.0
    return D


def test_alternating_directions_solve_their_equations() -> None:
    before, after, _ = run("alternating_directions")
    u, r = before["u"], before["number"]
    D0, D1 = (second_difference(extent) for extent in u.shape)
    inner = np.zeros(u.shape)
    inner[1:-1, 1:-1] = 1.0
    for _ in range(before["steps"]):
        # The lines along an edge are not solved: they keep their numbers.
        v = np.where(inner, np.linalg.solve(np.eye(len(D0)) - r * D0, u + inner * r * (u @ D1.T)), u)
        u = np.where(inner, np.linalg.solve(np.eye(len(D1)) - r * D1, (v + inner * r * (D0 @ v)).T).T, u)

    close(after["u"], u)


def test_vertical_advection_solves_its_equations() -> None:
    before, after, _ = run("vertical_advection")
    rate, wind, now, start = (before[name] for name in ("rate", "wind", "now", "start"))
    levels = now.shape[2]
    for i, j in np.ndindex(now.shape[:2]):
        flux = np.zeros((levels + 1, levels))  # at every interface, from the numbers of a column
        for k in range(1, levels):
            flux[k, k - 1 : k + 1] = np.array([-1.0, 1.0]) * (wind[i, j, k] + wind[i + 1, j, k]) / 8
        lost = flux[:-1] + flux[1:]
        known = rate * start[i, j] + before["other"][i, j] + before["stage"][i, j] - lost @ now[i, j]
        new = np.linalg.solve(rate * np.eye(levels) + lost, known)
        close(after["stage"][i, j], rate * (new - start[i, j]))


def around(a: np.ndarray, i: int, j: int) -> tuple[float, float, float, float]:
    """The neighbours at larger and smaller j, at larger and smaller i."""
    return a[i, (j + 1) % a.shape[1]], a[i, j - 1], a[i + 1, j], a[i - 1, j]


def slopes(a: np.ndarray, i: int, j: int, given: Inputs) -> tuple[float, float]:
    e, w, n, s = around(a, i, j)
    return (e - w) / given["dx"] / 2, (n - s) / given["dy"] / 2


def pressure_point_by_point(u: Any, v: Any, p: Any, points: list[tuple[int, int]], given: Inputs) -> None:
    """One Jacobi sweep, without the edges."""
    old, dx, dy = p.copy(), given["dx"], given["dy"]
    for i, j in points:
        (ux, uy), (vx, vy) = slopes(u, i, j, given), slopes(v, i, j, given)
        source = given["density"] * ((ux + vy) / given["dt"] - ux * ux - 2 * uy * vx - vy * vy)
        e, w, n, s = around(old, i, j)
        p[i, j] = ((e + w) / dx**2 + (n + s) / dy**2 - source) / (2 / dx**2 + 2 / dy**2)


def velocity_point_by_point(u: Any, v: Any, p: Any, points: list[tuple[int, int]], given: Inputs) -> None:
    """One step, without the edges."""
    before, dx, dy = (u.copy(), v.copy()), given["dx"], given["dy"]
    for field, (a, force) in enumerate([(u, given.get("force", 0.0)), (v, 0.0)]):
        for i, j in points:
            (e, w, n, s), here = around(before[field], i, j), before[field][i, j]
            friction = (e - 2 * here + w) / dx**2 + (n - 2 * here + s) / dy**2
            carried = before[0][i, j] * (here - w) / dx + before[1][i, j] * (here - s) / dy
            push = force - slopes(p, i, j, given)[field] / given["density"]
            a[i, j] = here + given["dt"] * (given["viscosity"] * friction - carried + push)


def cavity_point_by_point(given: Inputs) -> tuple[list[np.ndarray], None]:
    u, v, p = (given[name].copy() for name in "uvp")
    points = [(i, j) for i in range(1, u.shape[0] - 1) for j in range(1, u.shape[1] - 1)]
    for _ in range(given["steps"]):
        for _ in range(given["sweeps"]):
            pressure_point_by_point(u, v, p, points, given)
            p[:, -1] = p[:, -2]
            p[0] = p[1]
            p[:, 0] = p[:, 1]
            p[-1] = 0.0
        velocity_point_by_point(u, v, p, points, given)
        for a in (u, v):
            a[[0, -1]] = 0.0
            a[:, [0, -1]] = 0.0
        u[-1] = given["lid"]
    return [u, v, p], None


def channel_point_by_point(given: Inputs) -> tuple[list[np.ndarray], int]:
    u, v, p = (given[name].copy() for name in "uvp")
    points = [(i, j) for i in range(1, u.shape[0] - 1) for j in range(u.shape[1])]
    taken, change = 0, np.inf
    while taken < given["steps"] and abs(change) > given["steady"] * abs(u.sum()):
        before = u.sum()
        for _ in range(given["sweeps"]):
            pressure_point_by_point(u, v, p, points, given)
            p[[-1, 0]] = p[[-2, 1]]
        velocity_point_by_point(u, v, p, points, given)
        for a in (u, v):
            a[[0, -1]] = 0.0
        taken, change = taken + 1, u.sum() - before
    return [u, v, p], taken


@pytest.mark.parametrize(
    ("name", "by_points"), [("cavity_flow", cavity_point_by_point), ("channel_flow", channel_point_by_point)]
)
def test_flows_point_by_point(name: str, by_points: Callable[[Inputs], tuple[list[np.ndarray], int | None]]) -> None:
    sizes = {"rows": 6, "columns": 7, "steps": 12, "sweeps": 2}
    before, after = BY_NAME[name].inputs(sizes), BY_NAME[name].inputs(sizes)
    if name == "channel_flow":
        before["steady"] = after["steady"] = 0.15
    taken = BY_NAME[name].function(**after)
    fields, expected_steps = by_points(before)

    assert taken == expected_steps
    assert taken is None or 1 < taken < 12  # it gets steady on the way
    for field, expected in zip("uvp", fields, strict=True):
        close(after[field], expected)


def test_a_channel_ends_with_a_parabola() -> None:
    given = BY_NAME["channel_flow"].inputs({"rows": 9, "columns": 6, "steps": 5000, "sweeps": 3})
    given |= {"dt": 0.1, "steady": 1e-13, "u": np.zeros((9, 6)), "v": np.zeros((9, 6)), "p": np.zeros((9, 6))}
    taken = BY_NAME["channel_flow"].function(**given)
    height = given["dy"] * np.arange(9)

    assert 100 < taken < 5000
    parabola = given["force"] / (2 * given["viscosity"]) * height * (height[-1] - height)
    np.testing.assert_allclose(given["u"], np.repeat(parabola[:, None], 6, axis=1), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(given["v"], 0.0, atol=1e-12)
