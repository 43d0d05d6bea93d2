"""The forms in which a kernel gets its arguments: sizes, memory layouts, aliases.

in:   the arguments of a kernel by name, freshly made
out:  the same numbers in another place, or arguments that share memory
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from weft_bench.kernel import Inputs, Kernel, Sizes

Layout: TypeAlias = Callable[[np.ndarray], np.ndarray]

USUAL: dict[str, Sizes] = {
    "matrix_product": {"rows": 7, "inner": 5, "columns": 6},
    "jacobi_2d": {"rows": 9, "columns": 11, "steps": 4},
    "floyd_warshall": {"nodes": 13},
    "cholesky": {"n": 11},
    "clipping": {"rows": 6, "columns": 9},
    "softmax": {"batch": 2, "heads": 3, "queries": 5, "keys": 7},
    "crc16": {"bytes": 29},
    "nbody": {"bodies": 9, "steps": 3},
    "nussinov": {"bases": 17},
    "triangular_solve": {"n": 12, "sides": 5},
    "two_products": {"rows": 7, "inner": 5, "middle": 6, "columns": 4},
    "three_products": {"rows": 6, "first": 5, "middle": 7, "second": 4, "columns": 8},
    "normal_product": {"rows": 9, "columns": 6},
    "biconjugate_products": {"rows": 7, "columns": 9},
    "transposed_products": {"rows": 8, "columns": 6},
    "summed_products": {"rows": 7, "columns": 9},
    "rank_two_update": {"rows": 7, "columns": 5},
    "mode_product": {"slabs": 4, "rows": 5, "basis": 6},
    "jacobi_1d": {"points": 13, "steps": 4},
    "heat_3d": {"depth": 5, "rows": 4, "columns": 6, "steps": 2},
    "fdtd_2d": {"rows": 6, "columns": 8, "steps": 4},
    "seidel_2d": {"rows": 7, "columns": 9, "steps": 3},
    "durbin": {"n": 12},
    "lu": {"n": 11},
    "horizontal_diffusion": {"width": 4, "length": 5, "levels": 3},
    "perceptron": {"batch": 4, "features": 5, "first": 7, "second": 6, "classes": 3},
    "alternating_directions": {"rows": 7, "columns": 9, "steps": 3},
    "azimuthal_histogram": {"points": 60, "rings": 4},
    "azimuthal_masks": {"points": 60, "rings": 4},
    "cavity_flow": {"rows": 6, "columns": 7, "steps": 2, "sweeps": 2},
    "channel_flow": {"rows": 6, "columns": 7, "steps": 2, "sweeps": 2},
    "contour_integral": {"terms": 3, "n": 5, "probes": 4, "points": 6},
    "convolution": {"batch": 2, "rows": 7, "columns": 8, "channels": 3, "filters": 4, "size": 3},
    "correlation": {"observations": 12, "variables": 7},
    "covariance": {"observations": 12, "variables": 7},
    "covariance_product": {"observations": 12, "variables": 7},
    "deriche": {"rows": 7, "columns": 9},
    "gram_schmidt": {"rows": 11, "columns": 6},
    "great_circle": {"pairs": 23},
    "lenet": {"batch": 2, "rows": 16, "columns": 17, "first": 2, "second": 3, "third": 4, "fourth": 5},
    "library_cholesky": {"n": 11},
    "lu_solve": {"n": 11},
    "mandelbrot_masks": {"width": 9, "height": 7, "turns": 6},
    "mandelbrot_shrinking": {"width": 9, "height": 7, "turns": 6},
    "residual_block": {"batch": 2, "rows": 5, "columns": 4, "channels": 6, "inner": 3},
    "self_energies": {
        "momenta": 2, "energies": 2, "phonons": 2, "frequencies": 3, "atoms": 2, "neighbours": 2, "orbitals": 2,
    },
    "sparse_product": {"rows": 14, "columns": 9, "entries": 2},
    "stockham_fft": {"points": 60},
    "symmetric_product": {"rows": 7, "columns": 6},
    "symmetric_rank_2k": {"rows": 7, "inner": 5},
    "symmetric_rank_k": {"rows": 7, "inner": 5},
    "trace_shift": {"n": 9},
    "triangular_product": {"rows": 7, "columns": 6},
    "vertical_advection": {"width": 4, "length": 5, "levels": 6},
}  # fmt: skip
COUNTS = ("steps", "sweeps", "turns")  # sizes that are numbers of turns, not extents


def all_extents(name: str, extent: int) -> Sizes:
    """Every extent the same, the numbers of turns as usual."""
    return {key: value if key in COUNTS else extent for key, value in USUAL[name].items()}


def small_sizes(name: str) -> tuple[list[Sizes], list[Sizes]]:
    """Extents 0, 1 and 2 for all of them, then 0 and 1 for each one alone."""
    usual = USUAL[name]
    extents = [key for key in usual if key not in COUNTS]
    sizes = (0, 1) if len(extents) <= 4 else (0,)  # every extent of 1 is a variant, and those take time
    alone: list[Sizes] = [{**usual, key: size} for size in sizes for key in extents if len(extents) > 1]
    return [all_extents(name, size) for size in (0, 1, 2)], alone


# ---------------------------------------------------------------- layouts


def into(place: np.ndarray, array: np.ndarray) -> np.ndarray:
    """`place` with the numbers of `array`."""
    place[...] = array
    return place


def contiguous(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array)


def fortran(array: np.ndarray) -> np.ndarray:
    return np.asfortranarray(array)


def every_second(array: np.ndarray) -> np.ndarray:
    """Every second element of a larger buffer, along all axes."""
    buffer = np.full([2 * extent + 1 for extent in array.shape], 77, array.dtype)
    return into(buffer[tuple(slice(1, 2 * extent + 1, 2) for extent in array.shape)], array)


def padded_rows(array: np.ndarray) -> np.ndarray:
    """Rows next to each other but longer than what is used of them."""
    buffer = np.full((*array.shape[:-1], array.shape[-1] + 3), 77, array.dtype)
    return into(buffer[..., : array.shape[-1]], array)


def backwards(array: np.ndarray) -> np.ndarray:
    """Negative strides along all axes."""
    turned = (slice(None, None, -1),) * array.ndim
    return into(np.empty_like(array)[turned], array)


def backwards_last(array: np.ndarray) -> np.ndarray:
    """Every second element along the last axis, from the end."""
    buffer = np.full((*array.shape[:-1], 2 * array.shape[-1]), 77, array.dtype)
    return into(buffer[..., ::-2], array)


def axes_turned(array: np.ndarray) -> np.ndarray:
    """The axes stored in an order that is neither C's nor Fortran's (rank 3 and more)."""
    order = np.roll(np.arange(array.ndim), 1)
    return into(np.empty([array.shape[axis] for axis in order], array.dtype).transpose(np.argsort(order)), array)


LAYOUTS: dict[str, Layout] = {
    layout.__name__: layout
    for layout in (contiguous, fortran, every_second, padded_rows, backwards, backwards_last, axes_turned)
}


def lay_out(inputs: Inputs, layout: Layout) -> Inputs:
    """All arrays in that layout."""
    return {name: layout(value) if isinstance(value, np.ndarray) else value for name, value in inputs.items()}


def only_written(kernel: Kernel, inputs: Inputs, layout: Layout) -> Inputs:
    """The arrays the kernel changes in that layout, the others contiguous: layouts mixed in one call."""
    return {
        name: layout(value) if isinstance(value, np.ndarray) and name in kernel.outputs else value
        for name, value in inputs.items()
    }


def read_only(kernel: Kernel, inputs: Inputs) -> Inputs:
    """The arrays the kernel only reads cannot be written."""
    for name, value in inputs.items():
        if isinstance(value, np.ndarray) and name not in kernel.outputs:
            value.flags.writeable = False
    return inputs


def broadcast(kernel: Kernel, inputs: Inputs) -> Inputs:
    """The arrays the kernel only reads are one row, repeated by a stride of 0."""
    return {
        name: np.broadcast_to(value[:1], value.shape)
        if isinstance(value, np.ndarray) and name not in kernel.outputs
        else value
        for name, value in inputs.items()
    }


# ---------------------------------------------------------------- aliases


def same(*names: str) -> Callable[[Inputs], Inputs]:
    """The first of the arrays passed for all of these names."""
    return lambda inputs: {**inputs, **dict.fromkeys(names, inputs[names[0]])}


def transposed(name: str, source: str) -> Callable[[Inputs], Inputs]:
    """One argument is the transpose of another one."""
    return lambda inputs: {**inputs, name: inputs[source].T}


def shifted(name: str, source: str, by: int = 1) -> Callable[[Inputs], Inputs]:
    """Two arguments are views of one buffer, `by` rows apart."""

    def alias(inputs: Inputs) -> Inputs:
        array = inputs[source]
        buffer = np.concatenate([array, array[:by] * 2])
        return {**inputs, source: buffer[: len(array)], name: buffer[by : by + len(array)]}

    return alias


def part_of(name: str, source: str, index: Any) -> Callable[[Inputs], Inputs]:
    """One argument is a part of another one."""
    return lambda inputs: {**inputs, name: inputs[source][index]}


ALIASES: dict[str, dict[str, Callable[[Inputs], Inputs]]] = {
    "matrix_product": {
        "A is B": same("A", "B"),
        "A is C": same("A", "C"),
        "B is C": same("B", "C"),
        "all one": same("A", "B", "C"),
        "B is A.T": transposed("B", "A"),
        "C is A.T": transposed("C", "A"),
        "C overlaps A": shifted("C", "A"),
        "C overlaps B": shifted("C", "B", 2),
    },
    "jacobi_2d": {
        "A is B": same("A", "B"),
        "B is A.T": transposed("B", "A"),
        "B overlaps A": shifted("B", "A"),
        "A overlaps B": shifted("A", "B", 2),
    },
    "clipping": {"a is b": same("a", "b"), "b overlaps a": shifted("b", "a"), "b is a.T": transposed("b", "a")},
    "nbody": {
        "position is velocity": same("position", "velocity"),
        "velocity overlaps position": shifted("velocity", "position"),
        "mass in position": part_of("mass", "position", np.s_[:, 0]),
        "mass in velocity": part_of("mass", "velocity", np.s_[:, 2]),
    },
    "nussinov": {
        "strand in table": part_of("strand", "table", 3),
        "strand down table": part_of("strand", "table", np.s_[:, -2]),
    },
    "triangular_solve": {
        "X is B": same("B", "X"),
        "X is L": same("L", "X"),
        "all one": same("L", "B", "X"),
        "X overlaps B": shifted("X", "B"),
        "B overlaps X": shifted("B", "X", 2),
        "X in L": part_of("X", "L", np.s_[:, 1:4]),
        "B in L": part_of("B", "L", np.s_[:, 2:5]),
    },
    "two_products": {
        "D is A": same("A", "D"),
        "all one": same("A", "B", "C", "D"),
        "C is A.T": transposed("C", "A"),
        "D overlaps B": shifted("D", "B"),
    },
    "three_products": {"all one": same("A", "B", "C", "D"), "B is A.T": transposed("B", "A")},
    "normal_product": {"x in A": part_of("x", "A", np.s_[:, 1])},
    "biconjugate_products": {"p is r": same("p", "r"), "r in A": part_of("r", "A", 2)},
    "transposed_products": {
        "x is y": same("x", "y"),
        "x is u": same("x", "u"),
        "all one": same("x", "y", "u", "v"),
        "u overlaps x": shifted("u", "x"),
        "x in A": part_of("x", "A", 3),
        "x down A": part_of("x", "A", np.s_[:, 3]),
    },
    "summed_products": {"A is B": same("A", "B"), "x in A": part_of("x", "A", 1)},
    "rank_two_update": {
        "u1 is v1": same("u1", "v1", "y"),
        "u1 in A": part_of("u1", "A", np.s_[:, 1]),
        "z in A": part_of("z", "A", 2),
    },
    "mode_product": {"M in A": part_of("M", "A", 0), "M across A": part_of("M", "A", np.s_[:, 1])},
    "jacobi_1d": {"A is B": same("A", "B"), "B overlaps A": shifted("B", "A"), "A overlaps B": shifted("A", "B", 2)},
    "heat_3d": {
        "A is B": same("A", "B"),
        "B is A.T": transposed("B", "A"),
        "B overlaps A": shifted("B", "A"),
    },
    "fdtd_2d": {
        "ey is ex.T": transposed("ey", "ex"),
        "hz in ex": part_of("hz", "ex", np.s_[:, 1:]),
        "hz in ey": part_of("hz", "ey", np.s_[:-1]),
        "source in hz": part_of("source", "hz", np.s_[2, :4]),
        "source in ey": part_of("source", "ey", np.s_[:4, 1]),
    },
    "seidel_2d": {
        "source is u": same("u", "source"),
        "source overlaps u": shifted("source", "u"),
        "source is u.T": transposed("source", "u"),
    },
    "horizontal_diffusion": {"strength in field": part_of("strength", "field", np.s_[1:-3, 2:-2])},
    "perceptron": {"one matrix": same("w1", "w2", "w3", "x"), "b1 in w1": part_of("b1", "w1", 0)},
    "great_circle": {
        "one point": same("latitude1", "longitude1", "latitude2", "longitude2"),
        "ends are starts": same("latitude1", "latitude2"),
    },
    "cavity_flow": {
        "u is v": same("u", "v"),
        "v is u.T": transposed("v", "u"),
        "p is u": same("u", "p"),
        "p overlaps v": shifted("p", "v"),
    },
    "channel_flow": {"u is v": same("u", "v"), "p is v.T": transposed("p", "v"), "v overlaps u": shifted("v", "u")},
    "contour_integral": {"z is weight": same("z", "weight"), "Y in H": part_of("Y", "H", 0)},
    "convolution": {
        "bias in weights": part_of("bias", "weights", np.s_[0, 0, 0]),
        "x is weights": same("x", "weights"),
    },
    "lu_solve": {
        "b in A": part_of("b", "A", 2),
        "b down A": part_of("b", "A", np.s_[:, 3]),
        "b is the diagonal": lambda inputs: {**inputs, "b": np.diagonal(inputs["A"])},
    },
    "residual_block": {"w1 is w3": same("w1", "w3"), "w3 in w2": part_of("w3", "w2", np.s_[0, 0])},
    "sparse_product": {"values are x": lambda inputs: {**inputs, "x": inputs["values"][: len(inputs["x"])]}},
    "symmetric_product": {
        "A is B": same("A", "B"),
        "B is C": same("B", "C"),
        "A is C": same("A", "C"),
        "C is A.T": transposed("C", "A"),
        "C overlaps B": shifted("C", "B"),
    },
    "symmetric_rank_2k": {
        "A is B": same("A", "B"),
        "all one": same("A", "B", "C"),
        "C is A.T": transposed("C", "A"),
        "C overlaps B": shifted("C", "B", 2),
    },
    "symmetric_rank_k": {"A is C": same("A", "C"), "C is A.T": transposed("C", "A"), "C overlaps A": shifted("C", "A")},
    "triangular_product": {
        "A is B": same("A", "B"),
        "B is A.T": transposed("B", "A"),
        "B overlaps A": shifted("B", "A"),
        "A overlaps B": shifted("A", "B", 2),
    },
    "vertical_advection": {
        "stage is start": same("start", "stage"),
        "stage is now": same("now", "stage"),
        "stage overlaps other": shifted("stage", "other"),
        "stage in wind": part_of("stage", "wind", np.s_[1:, :, 1:]),
        "stage across wind": part_of("stage", "wind", np.s_[:-1, ::-1, :-1]),
    },
}


def square(name: str) -> Sizes:
    """Usual sizes with all extents equal, so that one array can stand for another."""
    return all_extents(name, 8)
