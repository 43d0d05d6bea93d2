"""Arguments whose shapes do not go together, or go together in another way than usual.

in:   the arguments of a kernel by name, freshly made
out:  the same with one of them cut
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from weft_bench.kernel import Inputs


def cut(name: str, index: Any) -> Callable[[Inputs], Inputs]:
    """One argument with other extents than the rest."""
    return lambda inputs: {**inputs, name: inputs[name][index].copy()}


WRONG: dict[str, dict[str, Callable[[Inputs], Inputs]]] = {
    "matrix_product": {
        "inner extents differ": cut("B", np.s_[:-1]),
        "rows differ": cut("C", np.s_[:-2]),
        "C has one column": cut("C", np.s_[:, :1]),
        "A is a vector": cut("A", 0),
        "B is a vector": cut("B", np.s_[:, 0]),
        "C is a vector": cut("C", 0),
        "C is 0-d": cut("C", (0, 0)),
    },
    "jacobi_2d": {
        "B is smaller": cut("B", np.s_[:-1]),
        "A is smaller": cut("A", np.s_[:, :-3]),
        "A has three columns": cut("A", np.s_[:, :3]),
        "B is a vector": cut("B", 0),
        "A is one row": cut("A", np.s_[:1]),
    },
    "floyd_warshall": {
        "more rows": cut("path", np.s_[:, :-2]),
        "more columns": cut("path", np.s_[:-2]),
        "vector": cut("path", 0),
    },
    "cholesky": {
        "more rows": cut("A", np.s_[:, :-2]),
        "more columns": cut("A", np.s_[:-2]),
        "vector": cut("A", 0),
    },
    "clipping": {
        "rows differ": cut("b", np.s_[:-1]),
        "one row": cut("b", np.s_[:1]),
        "one column": cut("a", np.s_[:, :1]),
        "vector": cut("b", 0),
        "columns differ": cut("a", np.s_[:, 2:]),
    },
    "softmax": {
        "rank 1": cut("x", (0, 0, 0)),
        "rank 3": cut("x", 0),
        "no keys": cut("x", np.s_[..., :0]),
        "0-d": cut("x", (0, 0, 0, 0)),
    },
    "crc16": {"rank 2": lambda inputs: {**inputs, "data": inputs["data"].reshape(1, -1)}, "0-d": cut("data", 0)},
    "nbody": {
        "fewer masses": cut("mass", np.s_[:-1]),
        "one mass": cut("mass", np.s_[:1]),
        "two coordinates": cut("position", np.s_[:, :2]),
        "fewer velocities": cut("velocity", np.s_[:-2]),
        "one velocity": cut("velocity", np.s_[:1]),
    },
    "nussinov": {
        "longer strand": cut("table", np.s_[:-3, :-3]),
        "fewer rows": cut("table", np.s_[:-1]),
        "fewer columns": cut("table", np.s_[:, :-2]),
        "shorter strand": cut("strand", np.s_[:-4]),
    },
    "triangular_solve": {
        "smaller L": cut("L", np.s_[:-2, :-2]),
        "narrow L": cut("L", np.s_[:, :-2]),
        "smaller B": cut("B", np.s_[:-3]),
        "smaller X": cut("X", np.s_[:-3]),
        "vectors": lambda inputs: {**inputs, "X": inputs["X"][:, 0].copy(), "B": inputs["B"][:, 1].copy()},
        "one side in B": cut("B", np.s_[:, :1]),
        "sides differ": cut("B", np.s_[:, :2]),
    },
    "two_products": {
        "inner extents differ": cut("B", np.s_[:-1]),
        "middle extents differ": cut("C", np.s_[:-1]),
        "D has one row": cut("D", np.s_[:1]),
    },
    "three_products": {
        "first extents differ": cut("B", np.s_[:-1]),
        "middle extents differ": cut("C", np.s_[:-2]),
    },
    "normal_product": {"shorter x": cut("x", np.s_[:-1]), "A is a vector": cut("A", 0), "x is 0-d": cut("x", 0)},
    "biconjugate_products": {"shorter p": cut("p", np.s_[:-1]), "shorter r": cut("r", np.s_[:-1])},
    "transposed_products": {
        "shorter x": cut("x", np.s_[:-1]),
        "shorter y": cut("y", np.s_[:-1]),
        "u has one number": cut("u", np.s_[:1]),
        "v has one number": cut("v", np.s_[:1]),
    },
    "summed_products": {
        "rows differ": cut("A", np.s_[:-1]),
        "one row": cut("B", np.s_[:1]),
        "columns differ": cut("B", np.s_[:, :-1]),
    },
    "rank_two_update": {
        "shorter u1": cut("u1", np.s_[:-1]),
        "one number in v2": cut("v2", np.s_[:1]),
        "one number in z": cut("z", np.s_[:1]),
        "shorter z": cut("z", np.s_[:-1]),
        "shorter y": cut("y", np.s_[:-1]),
    },
    "mode_product": {
        "more columns": cut("M", np.s_[:-1]),
        "one column": cut("M", np.s_[:, :1]),
        "M is a vector": cut("M", 0),
    },
    "jacobi_1d": {
        "B is shorter": cut("B", np.s_[:-1]),
        "A has three points": cut("A", np.s_[:3]),
        "A has one point": cut("A", np.s_[:1]),
    },
    "heat_3d": {
        "B is smaller": cut("B", np.s_[:, :-1]),
        "A has three layers": cut("A", np.s_[:3]),
    },
    "fdtd_2d": {
        "ex as wide as hz": cut("ex", np.s_[:, :-1]),
        "ey as high as hz": cut("ey", np.s_[:-1]),
        "hz has one row": cut("hz", np.s_[:1]),
        "source is a matrix": lambda inputs: {**inputs, "source": inputs["source"][:, None]},
    },
    "seidel_2d": {
        "smaller source": cut("source", np.s_[:-2]),
        "narrow source": cut("source", np.s_[:, :-1]),
        "source of three columns": cut("source", np.s_[:, :3]),
        "u is a vector": cut("u", 0),
    },
    "durbin": {"rank 2": lambda inputs: {"r": inputs["r"].reshape(3, 4)}, "0-d": cut("r", 0)},
    "lu": {
        "more rows": cut("A", np.s_[:, :-2]),
        "more columns": cut("A", np.s_[:-2]),
        "vector": cut("A", 0),
    },
    "horizontal_diffusion": {
        "strength of one level": cut("strength", np.s_[:, :, :1]),
        "narrow field": cut("field", np.s_[:-1]),
    },
    "perceptron": {
        "other features": cut("x", np.s_[:, :-1]),
        "one bias": cut("b1", np.s_[:1]),
        "shorter bias": cut("b2", np.s_[:-1]),
        "no classes": lambda inputs: {**inputs, "w3": inputs["w3"][:, :0], "b3": inputs["b3"][:0]},
    },
    "alternating_directions": {"two rows": cut("u", np.s_[:2]), "three columns": cut("u", np.s_[:, :3])},
    "cavity_flow": {
        "smaller v": cut("v", np.s_[:-1]),
        "narrow p": cut("p", np.s_[:, :-2]),
        "u of three rows": cut("u", np.s_[:3]),
        "p is a vector": cut("p", 0),
    },
    "channel_flow": {"smaller v": cut("v", np.s_[:-1]), "p of one column": cut("p", np.s_[:, :1])},
    "contour_integral": {
        "fewer weights": cut("weight", np.s_[:-1]),
        "Y is a vector": cut("Y", np.s_[:, 0]),
        "H is not square": cut("H", np.s_[:, :-1]),
        "no terms": cut("H", np.s_[:0]),
    },
    "convolution": {
        "other channels": cut("x", np.s_[..., :-1]),
        "one channel": cut("x", np.s_[..., :1]),
        "one bias": cut("bias", np.s_[:1]),
        "oblong window": cut("weights", np.s_[:, :-1]),
        "image smaller than the window": cut("x", np.s_[:, :2]),
    },
    "correlation": {
        "one observation": cut("data", np.s_[:1]),
        "one variable": cut("data", np.s_[:, :1]),
        "vector": cut("data", 0),
    },
    "covariance": {"one observation": cut("data", np.s_[:1]), "no variables": cut("data", np.s_[:, :0])},
    "covariance_product": {"one observation": cut("data", np.s_[:1]), "vector": cut("data", 0)},
    "deriche": {"one row": cut("image", np.s_[:1]), "two columns": cut("image", np.s_[:, :2])},
    "gram_schmidt": {"vector": cut("A", 0), "no rows": cut("A", np.s_[:0])},
    "great_circle": {"one end": cut("latitude2", np.s_[:1]), "fewer ends": cut("longitude2", np.s_[:-1])},
    "lenet": {
        "other images": cut("x", np.s_[:, :-4]),
        "one row of weights": cut("w3", np.s_[:1]),
        "fewer filters": cut("w1", np.s_[..., :-1]),
    },
    "library_cholesky": {"oblong": cut("A", np.s_[:-1]), "vector": cut("A", 0)},
    "lu_solve": {
        "shorter b": cut("b", np.s_[:-2]),
        "more rows": cut("A", np.s_[:, :-2]),  # with more columns it reads what nobody has written
        "one number in b": cut("b", np.s_[:1]),
    },
    "residual_block": {"other channels": cut("w3", np.s_[:, :-1]), "one channel": cut("w3", np.s_[:, :1])},
    "self_energies": {
        "neighbours that do not exist": lambda inputs: {**inputs, "near": inputs["near"] + 2},
        "neighbours from the end": lambda inputs: {**inputs, "near": inputs["near"] - 1},
        "fewer atoms": cut("H", np.s_[:-1]),
        "two directions": cut("H", np.s_[:, :, :2]),
    },
    "sparse_product": {
        "columns that do not exist": lambda inputs: {**inputs, "columns": inputs["columns"] + 1},
        "columns from the end": lambda inputs: {**inputs, "columns": inputs["columns"] - 9},
        "fewer values": cut("values", np.s_[:-1]),
    },
    "stockham_fft": {"fewer points": cut("x", np.s_[:-1]), "rank 2": lambda inputs: {**inputs, "x": inputs["x"][None]}},
    "symmetric_product": {
        "smaller A": cut("A", np.s_[:-1, :-1]),
        "narrow A": cut("A", np.s_[:, :-2]),
        "smaller B": cut("B", np.s_[:-1]),
        "narrow B": cut("B", np.s_[:, :1]),
    },
    "symmetric_rank_2k": {
        "smaller B": cut("B", np.s_[:-1]),
        "narrow B": cut("B", np.s_[:, :-1]),
        "smaller C": cut("C", np.s_[:-1]),
        "narrow C": cut("C", np.s_[:, :-1]),
    },
    "symmetric_rank_k": {
        "smaller C": cut("C", np.s_[:-1]),
        "narrow C": cut("C", np.s_[:, :-1]),
        "one column in C": cut("C", np.s_[:, :1]),
    },
    "trace_shift": {"more rows": cut("a", np.s_[:, :-1]), "more columns": cut("a", np.s_[:-1]), "vector": cut("a", 0)},
    "triangular_product": {
        "smaller A": cut("A", np.s_[:-1]),
        "narrow A": cut("A", np.s_[:, :-2]),
        "B is a vector": cut("B", 0),
    },
    "vertical_advection": {
        "one level": cut("now", np.s_[..., :1]),
        "more levels": cut("wind", np.s_[..., :-2]),
        "less wind": cut("wind", np.s_[:-1]),
        "one column of start": cut("start", np.s_[:1]),
        "fewer columns in stage": cut("stage", np.s_[:, :-1]),
    },
}
