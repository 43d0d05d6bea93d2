"""The kernels that `tests/kernels/test_meaning.py` leaves: each against a library call, another formula, an invariant.

Between the two files every kernel is held against something that does not share its way of computing.
"""

from __future__ import annotations

import ast
import binascii
import heapq
from functools import cache
from itertools import pairwise, permutations
from math import cos, pi
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.kernels import test_meaning
from tests.kernels.forms import USUAL
from tests.kernels.test_meaning import close, relu, run, second_difference
from weft_bench.kernels import BY_NAME


def test_every_kernel_is_held_against_something_else() -> None:
    named = {
        node.value
        for file in (Path(__file__), Path(str(test_meaning.__file__)))
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }

    assert BY_NAME.keys() <= named


# ---------------------------------------------------------------- linear algebra


def test_cholesky_is_the_library_s() -> None:
    before, after, _ = run("cholesky")
    symmetric = np.tril(before["A"]) + np.tril(before["A"], -1).T
    L = np.tril(after["A"])

    close(L, np.linalg.cholesky(symmetric))
    close(L @ L.T, symmetric)
    np.testing.assert_array_equal(np.triu(after["A"], 1), np.triu(before["A"], 1))


def test_lu_factors_multiply_to_the_matrix() -> None:
    before, after, _ = run("lu")

    close((np.tril(after["A"], -1) + np.eye(len(after["A"]))) @ np.triu(after["A"]), before["A"])


def test_the_triangular_system_is_solved() -> None:
    before, after, _ = run("triangular_solve")

    close(after["X"], np.linalg.solve(np.tril(before["L"]), before["B"]))


def test_durbin_solves_a_toeplitz_system() -> None:
    before, _, y = run("durbin")
    line = np.concatenate([[1.0], before["r"][:-1]])
    distance = np.abs(np.subtract.outer(np.arange(len(line)), np.arange(len(line))))

    close(y, np.linalg.solve(line[distance], -before["r"]))


# ---------------------------------------------------------------- maps and networks


@pytest.mark.parametrize("dtype", ["int64", "float64"])
def test_clipping_number_by_number(dtype: str) -> None:
    given = BY_NAME["clipping"].inputs(USUAL["clipping"], dtype)
    low, high, gain, weight, offset = (given[name] for name in ("low", "high", "gain", "weight", "offset"))
    expected = [
        sorted((low, a, high))[1] * gain + b * weight + offset
        for a, b in zip(given["a"].ravel().tolist(), given["b"].ravel().tolist(), strict=True)
    ]

    np.testing.assert_array_equal(BY_NAME["clipping"].function(**given).ravel(), expected)


def softmax_of(scores: np.ndarray) -> np.ndarray:
    """By the logarithm of the sum, in more digits than double precision where the machine has them."""
    wide = scores.astype(np.longdouble)
    return np.exp(wide - np.logaddexp.reduce(wide, axis=-1, keepdims=True)).astype(float)


def test_softmax() -> None:
    before, _, result = run("softmax")

    np.testing.assert_allclose(result, softmax_of(before["x"]), rtol=1e-12, atol=1e-300)
    np.testing.assert_allclose(result.sum(axis=-1), 1.0, rtol=1e-14)


def test_perceptron() -> None:
    before, _, result = run("perceptron")
    hidden = relu(np.einsum("nf,fh->nh", before["x"], before["w1"]) + before["b1"])
    hidden = relu(np.einsum("nf,fh->nh", hidden, before["w2"]) + before["b2"])

    expected = softmax_of(np.einsum("nf,fh->nh", hidden, before["w3"]) + before["b3"])
    np.testing.assert_allclose(result, expected, rtol=1e-11)


def test_crc16_is_that_of_the_standard_library() -> None:
    before, _, result = run("crc16")

    assert result == binascii.crc_hqx(before["data"].tobytes(), 0xFFFF)
    assert BY_NAME["crc16"].function(np.frombuffer(b"123456789", np.uint8), 0x1021) == 0x29B1  # the published check


# ---------------------------------------------------------------- graphs and strands


def shortest_from(start: int, edges: np.ndarray) -> list[float]:
    """Dijkstra's algorithm."""
    distance, waiting = [np.inf] * len(edges), [(0.0, start)]
    while waiting:
        length, node = heapq.heappop(waiting)
        if length < distance[node]:
            distance[node] = length
            for other, edge in enumerate(edges[node]):
                heapq.heappush(waiting, (length + float(edge), other))
    return distance


def test_shortest_paths_are_dijkstra_s() -> None:
    before, after, _ = run("floyd_warshall")

    close(after["path"], np.array([shortest_from(node, before["path"]) for node in range(len(before["path"]))]))


def test_no_path_at_all_is_shorter() -> None:
    edges = BY_NAME["floyd_warshall"].inputs({"nodes": 6}, "int64")["path"]
    path = edges.copy()
    BY_NAME["floyd_warshall"].function(path)
    for start, end in permutations(range(6), 2):
        between = [node for node in range(6) if node not in (start, end)]
        walks = [(start, *stops, end) for count in range(5) for stops in permutations(between, count)]
        assert path[start, end] == min(sum(edges[a, b] for a, b in pairwise(w)) for w in walks)


def test_folding_tries_every_partner_of_the_first_base() -> None:
    before, after, _ = run("nussinov")
    strand = before["strand"]

    @cache
    def most_pairs(first: int, end: int) -> int:
        if end - first < 2:
            return 0
        partners = [k for k in range(first + 1, end) if strand[first] + strand[k] == 3]
        paired = [1 + most_pairs(first + 1, k) + most_pairs(k + 1, end) for k in partners]
        return max([most_pairs(first + 1, end), *paired])

    for i, j in np.ndindex(after["table"].shape):
        assert after["table"][i, j] == (most_pairs(i, j + 1) if i < j else 0)
    assert after["table"][0, -1] > 3


# ---------------------------------------------------------------- bodies


def pull_on_each(position: np.ndarray, mass: np.ndarray, softening: float) -> np.ndarray:
    pull = np.zeros_like(position)
    for i, here in enumerate(position):
        for j, there in enumerate(position):
            way = there - here
            pull[i] += mass[j] * way / np.hypot(np.linalg.norm(way), softening) ** 3
    return pull


def test_bodies_pair_by_pair() -> None:
    before, after, energy = run("nbody")
    mass, position, velocity, dt = (before[name] for name in ("mass", "position", "velocity", "dt"))
    for _ in range(before["steps"]):  # the form with positions alone, after the first half step
        middle = velocity + dt / 2 * pull_on_each(position, mass, before["softening"])
        position = position + dt * middle
        velocity = middle + dt / 2 * pull_on_each(position, mass, before["softening"])

    close(after["position"], position)
    close(after["velocity"], velocity)
    close(energy, sum(m * (v @ v) / 2 for m, v in zip(mass, velocity, strict=True)))


def test_bodies_keep_their_momentum_and_find_the_way_back() -> None:
    before, after, _ = run("nbody")
    close(after["mass"] @ after["velocity"], before["mass"] @ before["velocity"])

    after["velocity"] *= -1.0
    BY_NAME["nbody"].function(**after)
    close(after["position"], before["position"])
    close(-after["velocity"], before["velocity"])


# ---------------------------------------------------------------- grids


def smoothed(old: np.ndarray, new: np.ndarray, share: float) -> np.ndarray:
    """`new` with its inside replaced by that of `old` plus a share of its second differences, by matrices."""
    change = sum(
        np.moveaxis(np.tensordot(second_difference(extent), old, (1, axis)), 0, axis)
        for axis, extent in enumerate(old.shape)
    )
    inner = (slice(1, -1),) * old.ndim
    result = new.copy()
    result[inner] = (old + share * np.asarray(change))[inner]
    return result


SMOOTHING = {"jacobi_1d": 1 / 3, "jacobi_2d": 0.2, "heat_3d": 0.125}


def turns_of(name: str, steps: int) -> int:
    return steps - 1 if name == "jacobi_2d" else steps


@pytest.mark.parametrize("name", SMOOTHING)
def test_relaxation_by_matrices(name: str) -> None:
    before, after, _ = run(name)
    A, B = before["A"], before["B"]
    for _ in range(turns_of(name, before["steps"])):
        B = smoothed(A, B, SMOOTHING[name])
        A = smoothed(B, A, SMOOTHING[name])

    close(after["A"], A)
    close(after["B"], B)


@pytest.mark.parametrize("name", SMOOTHING)
def test_waves_fade_at_the_rate_of_their_length(name: str) -> None:
    given = BY_NAME[name].inputs(USUAL[name])
    modes = [(axis + 1) * pi / (extent - 1) for axis, extent in enumerate(given["A"].shape)]
    wave = np.ones(())
    for mode, extent in zip(modes, given["A"].shape, strict=True):
        wave = np.multiply.outer(wave, np.sin(mode * np.arange(extent)))
    given |= {"A": wave.copy(), "B": np.zeros_like(wave)}
    BY_NAME[name].function(**given)

    factor = 1.0 + SMOOTHING[name] * sum(2.0 * cos(mode) - 2.0 for mode in modes)
    half_steps = 2 * turns_of(name, given["steps"])
    np.testing.assert_allclose(given["A"], factor**half_steps * wave, atol=1e-14)
    np.testing.assert_allclose(given["B"], factor ** (half_steps - 1) * wave, atol=1e-14)


def test_seidel_splits_the_matrix_of_the_equation() -> None:
    before, after, _ = run("seidel_2d")
    rows, columns = before["u"].shape
    matrix = np.kron(second_difference(rows), np.eye(columns)) + np.kron(np.eye(rows), second_difference(columns))
    inner = np.zeros((rows, columns), bool)
    inner[1:-1, 1:-1] = True
    known, u = before["source"].ravel()[inner.ravel()], before["u"].ravel().copy()
    inside = matrix[inner.ravel()]
    lower, rest = np.tril(inside[:, inner.ravel()]), np.triu(inside[:, inner.ravel()], 1)
    edges = inside[:, ~inner.ravel()] @ u[~inner.ravel()]
    for _ in range(before["steps"]):
        u[inner.ravel()] = np.linalg.solve(lower, known - edges - rest @ u[inner.ravel()])
    close(after["u"], u.reshape(rows, columns))

    after["steps"] = 400
    BY_NAME["seidel_2d"].function(**after)
    laplacian = (matrix @ after["u"].ravel()).reshape(rows, columns)
    close(laplacian[inner], before["source"][inner])


def test_waves_point_by_point() -> None:
    before, after, _ = run("fdtd_2d")
    ex, ey, hz = (before[name].tolist() for name in ("ex", "ey", "hz"))
    rows, columns = before["hz"].shape
    for pulse in before["source"]:
        ey[0] = [pulse] * columns
        for i in range(1, rows):
            ey[i] = [ey[i][j] - (hz[i][j] - hz[i - 1][j]) / 2 for j in range(columns)]
        for row, h in zip(ex, hz, strict=True):
            row[1:-1] = [row[j] + (h[j] - h[j - 1]) / 2 for j in range(1, columns)]
        for i, row in enumerate(hz):
            row[:] = [
                row[j] + 0.7 * (ex[i][j + 1] - ex[i][j] - ey[i + 1][j] + ey[i][j]) for j in range(columns)
            ]  # fmt: skip

    for name, expected in (("ex", ex), ("ey", ey), ("hz", hz)):
        close(after[name], np.array(expected))


def test_waves_between_mirrors_keep_their_energy() -> None:
    given = BY_NAME["fdtd_2d"].inputs({"rows": 6, "columns": 8, "steps": 1})
    given["source"] = np.zeros(1)
    given["ex"][:, [0, -1]] = 0.0
    given["ey"][[0, -1]] = 0.0
    energies: list[Any] = []
    for _ in range(20):
        old = given["hz"].copy()
        BY_NAME["fdtd_2d"].function(**given)
        electric = np.sum(given["ex"] ** 2) + np.sum(given["ey"] ** 2)
        energies.append(electric / 0.5 + np.sum(old * given["hz"]) / 0.7)

    np.testing.assert_allclose(energies, energies[0], rtol=1e-12)


def test_diffusion_point_by_point() -> None:
    before, _, result = run("horizontal_diffusion")
    f = before["field"]

    def laplacian(i: int, j: int, k: int) -> float:
        return 4 * f[i, j, k] - f[i + 1, j, k] - f[i - 1, j, k] - f[i, j + 1, k] - f[i, j - 1, k]

    def flux(i: int, j: int, k: int, di: int, dj: int) -> float:
        steep = laplacian(i + di, j + dj, k) - laplacian(i, j, k)
        return steep if steep * (f[i + di, j + dj, k] - f[i, j, k]) <= 0.0 else 0.0

    stopped = 0
    for (i, j, k), found in np.ndenumerate(result):
        x, y = i + 2, j + 2
        fluxes = flux(x, y, k, 1, 0), flux(x - 1, y, k, 1, 0), flux(x, y, k, 0, 1), flux(x, y - 1, k, 0, 1)
        lost = fluxes[0] - fluxes[1] + fluxes[2] - fluxes[3]
        stopped += fluxes.count(0.0)
        assert found == pytest.approx(f[x, y, k] - before["strength"][i, j, k] * lost, rel=1e-12, abs=1e-13)
    assert 0.2 < stopped / (4 * result.size) < 0.8


def test_diffusion_leaves_a_parabola_alone() -> None:
    x, y = np.meshgrid(np.arange(9.0), np.arange(10.0), indexing="ij")
    field = (x * x - 3.0 * x * y + 2.0 * y * y + x)[:, :, None]

    result = BY_NAME["horizontal_diffusion"].function(field, np.ones((5, 6, 1)))
    np.testing.assert_array_equal(result, field[2:-2, 2:-2])
