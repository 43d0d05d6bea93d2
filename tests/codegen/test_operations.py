"""Every operation on every element type against NumPy: the same bits for arithmetic, 4 ulp for functions."""

from __future__ import annotations

import functools
import warnings
from typing import Any

import numpy as np
import pytest

from tests.codegen.builders import Build, give
from tests.codegen.harness import Module, load
from weft.ir.dtypes import DType, ScalarType
from weft.ir.exprs import op
from weft.ir.nodes import Elementwise, Pack, Program
from weft.ir.ops import OPS

SIZES = (0, 1, 3, 17, 1000)
REAL_OF = {DType.COMPLEX64: DType.FLOAT32, DType.COMPLEX128: DType.FLOAT64}

ARITHMETIC = (
    "add", "subtract", "multiply", "divide", "floor_divide", "remainder", "fmod", "power", "negative", "positive",
    "absolute", "fabs", "sign", "square", "reciprocal", "maximum", "minimum", "fmax", "fmin", "copysign",
    "heaviside", "conjugate", "real", "imag", "floor", "ceil", "trunc", "rint", "equal", "not_equal", "less",
    "less_equal", "greater", "greater_equal", "logical_and", "logical_or", "logical_xor", "logical_not", "isnan",
    "isinf", "isfinite", "signbit", "bitwise_and", "bitwise_or", "bitwise_xor", "invert", "left_shift",
    "right_shift", "sqrt",
)  # fmt: skip
FUNCTIONS = (
    "cbrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "arcsin", "arccos",
    "arctan", "arctan2", "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "hypot", "logaddexp",
    "logaddexp2", "deg2rad", "rad2deg",
)  # fmt: skip

# Complex results that NumPy computes by other formulas (SIMD absolute values, library versions): near, not bit equal.
NEAR_ON_COMPLEX = {"absolute", "sign", "power", "sqrt", "divide", "reciprocal"}


def numpy_function(name: str) -> Any:
    return {"real": np.real, "imag": np.imag}.get(name) or getattr(np, name)


def result_dtype(name: str, dtype: DType) -> DType | None:
    """What NumPy gives for operands of this one type without casting them; None where it casts or refuses."""
    if name in ("real", "imag"):
        return REAL_OF.get(dtype, dtype)
    function, arity = numpy_function(name), OPS[name].arity
    try:
        resolved = function.resolve_dtypes((*[dtype.numpy] * arity, None))
    except TypeError:
        return None
    if any(found != dtype.numpy for found in resolved[:arity]):
        return None
    return DType(resolved[-1].name)


def elementwise(name: str, source: DType, result: DType) -> Program:
    build = Build(f"{name}_{source.text}")
    arity = OPS[name].arity
    inputs = tuple((build.value("xyz"[k], ScalarType(source)), build.array("abc"[k], source, 1)) for k in range(arity))
    output = build.array("r", result, 1, written=True)
    expr = op(name, [value for value, _ in inputs], ScalarType(result))
    warn = build.warn(name)
    node = Elementwise(output=output, params=(build.value("i"),), inputs=inputs, expr=expr, warn=warn)
    return build.program(node, give(Pack(())))


@functools.cache
def special(dtype: DType) -> np.ndarray[Any, Any]:
    """Zeros, extremes, infinities, NaN, subnormals, and random numbers of all sizes, 1100 of them."""
    random = np.random.default_rng(7)
    if dtype is DType.BOOL:
        return random.integers(0, 2, 1100).astype(bool)
    if dtype.kind in "iu":
        low, high = dtype.bounds
        edges = [
            v for v in (0, 1, 2, 3, 7, 8, 31, 63, 64, 100, high, high - 1, low, low + 1, -1, -2, -7) if low <= v <= high
        ]
        wide = random.integers(low, high, 500, dtype=dtype.value, endpoint=True)
        small = random.integers(max(low, -9), 70, 600).astype(dtype.value)
        values = np.concatenate([np.array(edges, dtype.value), wide, small])
        return values[:1100]
    if dtype.kind == "c":
        part = special(REAL_OF[dtype])
        values = np.empty(part.size, dtype.value)
        values.real, values.imag = part, random.permutation(part)
        return values
    info = np.finfo(dtype.value)
    edges = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        -0.5,
        1.5,
        2.5,
        -2.5,
        3.0,
        np.inf,
        -np.inf,
        np.nan,
        float(info.max),
        -float(info.max),
        float(info.tiny),
        float(info.smallest_subnormal),
        1e10,
        1e-10,
        100.0,
        709.5,
        88.5,
    ]
    spread = random.standard_normal(600) * 10.0 ** random.integers(-12, 13, 600)
    plain = random.standard_normal(500)
    with np.errstate(all="ignore"):
        return np.concatenate([np.array(edges), spread, plain]).astype(dtype.value)[:1100]


def operands(name: str, dtype: DType, size: int) -> list[np.ndarray[Any, Any]]:
    """Operand arrays; pairs meet by rolling one against the other."""
    values = special(dtype)
    second = np.roll(values, 1) if size > 100 else np.roll(values, size + 5)
    first, second = values[:size].copy(), second[:size].copy()
    if size == 1000:  # every special value against every other
        first[:400], second[:400] = np.repeat(values[:20], 20), np.tile(values[:20], 20)
    if name == "power" and dtype.kind in "iu":
        second = (np.abs(second.astype(object)) % 70).astype(dtype.value)
    return [first, second][: OPS[name].arity]


@functools.cache
def names_of(dtype: DType) -> tuple[tuple[str, DType], ...]:
    pairs = ((name, result_dtype(name, dtype)) for name in (*ARITHMETIC, *FUNCTIONS))
    return tuple((name, result) for name, result in pairs if result is not None)


@functools.cache
def module_of(dtype: DType) -> Module:
    return load([elementwise(name, dtype, result) for name, result in names_of(dtype)])


def wrong(name: str, dtype: DType, got: np.ndarray[Any, Any], expected: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Where a result is not what is promised."""
    if dtype.kind not in "fc" or expected.dtype.kind not in "fc":
        return got != expected
    if dtype.kind == "c" and (name in NEAR_ON_COMPLEX or name in FUNCTIONS):
        return far_complex(got, expected, 1.0 if name == "log1p" else 0.0)
    same = (got == expected) | (np.isnan(got) & np.isnan(expected))
    if dtype.kind == "f" and name not in ("maximum", "minimum", "fmax", "fmin"):
        same &= np.isnan(expected) | (np.signbit(got) == np.signbit(expected))
    return ~same


def far_complex(got: np.ndarray[Any, Any], expected: np.ndarray[Any, Any], least: float) -> np.ndarray[Any, Any]:
    """More than 16 ulp of the absolute value apart (or of `least`); what is not finite must be not finite."""
    finite = np.isfinite(expected)
    with np.errstate(all="ignore"):
        scale = np.maximum(np.abs(expected), least) * np.finfo(expected.dtype).eps + np.finfo(expected.dtype).tiny
        apart = np.abs(got - expected) > 16 * scale
    return np.where(finite, apart, np.isfinite(got))


@pytest.mark.parametrize("dtype", DType, ids=lambda dtype: dtype.text)
def test_arithmetic_gives_the_bits_of_numpy(dtype: DType) -> None:
    module = module_of(dtype)
    faults: list[str] = []
    for number, (name, result) in enumerate(names_of(dtype)):
        if (name in FUNCTIONS or name == "power") and dtype.kind == "f":
            continue
        for size in SIZES:
            inputs = operands(name, dtype, size)
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                expected = np.asarray(numpy_function(name)(*inputs))
            got = np.empty(size, result.value)
            module(*inputs, got, number=number)
            bad = np.flatnonzero(wrong(name, dtype, got, expected))
            if bad.size:
                k = bad[0]
                faults.append(
                    f"{name}[{size}]({[x[k] for x in inputs]}) = {got[k]!r}, NumPy {expected[k]!r} ({bad.size})"
                )
    assert not faults, "\n".join(faults)


# ---- functions ------------------------------------------------------------------------------------------------------


def ulps(got: np.ndarray[Any, Any], true: np.ndarray[Any, Any], dtype: DType) -> np.ndarray[Any, Any]:
    """Distance from the true value, in units of the last place of the result."""
    info = np.finfo(dtype.value)
    with np.errstate(all="ignore"):
        rounded = true.astype(dtype.value)
        spacing = np.maximum(np.spacing(np.abs(rounded)), info.smallest_subnormal).astype(np.longdouble)
        distance = np.abs(got.astype(np.longdouble) - true) / spacing
    same = (got == rounded) | (np.isnan(got) & np.isnan(true))
    return np.where(same, 0, np.where(np.isfinite(got) & np.isfinite(rounded), distance, np.inf))


FUNCTION_NAMES = [*FUNCTIONS, "power"]


@pytest.mark.parametrize("dtype", [DType.FLOAT32, DType.FLOAT64], ids=lambda dtype: dtype.text)
@pytest.mark.parametrize("name", FUNCTION_NAMES)
def test_functions_stay_within_four_ulp_of_the_true_value(name: str, dtype: DType) -> None:
    number = [known for known, _ in names_of(dtype)].index(name)
    random = np.random.default_rng(3)
    for size in (1000, 17):
        inputs = operands(name, dtype, size)
        if size == 1000:  # most of them where the function is neither 0 nor infinite
            inputs = [
                np.where(np.arange(size) < 450, x, random.uniform(-4, 4, size)).astype(dtype.value) for x in inputs
            ]
        got = np.empty(size, dtype.value)
        module_of(dtype)(*inputs, got, number=number)
        with np.errstate(all="ignore"):
            true = np.asarray(numpy_function(name)(*[x.astype(np.longdouble) for x in inputs]))
        if name in ("deg2rad", "rad2deg"):  # NumPy's constants are rounded: the true value is NumPy's own
            with np.errstate(all="ignore"):
                true = numpy_function(name)(*inputs).astype(np.longdouble)
        error = ulps(got, true, dtype)
        if name.startswith("logaddexp"):  # near 0 the formula cancels, NumPy's as well
            with np.errstate(all="ignore"):
                largest = np.maximum(np.abs(inputs[0]), np.abs(inputs[1])).astype(dtype.value)
                error = np.fmin(error, np.abs(got - true) / np.spacing(largest))
        worst = int(np.argmax(error))
        assert error[worst] <= 4, f"{name}({[x[worst] for x in inputs]}) = {got[worst]!r}, true {true[worst]!r}"


# ---- casts ----------------------------------------------------------------------------------------------------------


@functools.cache
def casts() -> Module:
    return load([elementwise("cast", source, target) for source in DType for target in DType])


@pytest.mark.parametrize("source", DType, ids=lambda dtype: dtype.text)
def test_casts_are_those_of_astype(source: DType) -> None:
    faults: list[str] = []
    for place, target in enumerate(DType):
        for size in SIZES:
            values = special(source)[:size].copy()
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                expected = values.astype(target.value)
            got = np.empty(size, target.value)
            casts()(values, got, number=list(DType).index(source) * len(DType) + place)
            same = (got == expected) | (np.isnan(got) & np.isnan(expected))
            # NumPy itself is of two minds here: the end of an array is converted by another instruction.
            if target is DType.UINT32 and source.kind in "fc":
                same |= ~((values.real > -(2.0**31)) & (values.real < 2.0**32))
            bad = np.flatnonzero(~same)
            if bad.size:
                faults.append(f"{values[bad[0]]!r} -> {target.value}: {got[bad[0]]!r}, NumPy {expected[bad[0]]!r}")
    assert not faults, "\n".join(faults)
