"""Functions that are not compiled, but called: NumPy's own, from inside the kernel, with results of known types.

in:   np.linalg.solve(A, b)
out:  call numpy.linalg.solve(A[:, :], b[:]) -> (solve.7) site 3, and the operand for solve.7

For this a function must be pure: its results are fresh, it neither changes nor keeps its arguments. Their types are
asked of NumPy itself (`call_probes`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import FunctionType
from typing import Any

import numpy as np

from weft.ir.dtypes import DType, ScalarType
from weft.ir.exprs import Const, Index, Value, index
from weft.ir.nodes import Bundle, CallResult, Constant, Container, NumpyCall, Pack, Storage, full_view
from weft.numpy_rules.arguments import PythonRaises, static_value
from weft.numpy_rules.arrays import known_dtype, number
from weft.numpy_rules.builder import Builder
from weft.numpy_rules.call_probes import (
    Answer,
    ArrayAnswer,
    ArrayProbe,
    IntProbe,
    Known,
    NumberAnswer,
    Probe,
    Refused,
    Several,
    TupleAnswer,
    Unfit,
    ask,
)
from weft.numpy_rules.elementwise import permute
from weft.numpy_rules.memory_order import copied_order
from weft.numpy_rules.values import Array, Operand, Scalar, Slice, Static, Tuple
from weft.support.numpy_calls import resolve

# Parameters on whose value the types of the result depend.
_STATIC = frozenset((
    "UPLO", "axes", "axis", "axisa", "axisb", "axisc", "bias", "compute_uv", "cov", "density", "dtype", "edge_order",
    "equal_nan", "full", "full_matrices", "hermitian", "increasing", "indexing", "keepdims", "kind", "m", "method",
    "mode", "ndim", "ndmin", "norm", "optimize", "ord", "order", "overwrite_input", "return_counts", "return_index",
    "return_inverse", "right", "rowvar", "side", "sorted", "stable", "subscripts", "unit", "uplo",
))  # fmt: skip
# Parameters by which a function would write to an array, or hand out one that is not new.
_IMPURE = frozenset(("out", "overwrite_input", "copy", "like"))


def call_numpy(
    build: Builder, name: str, args: Sequence[Operand], keywords: Mapping[str, Operand], *, free_sizes: bool = False
) -> Operand:
    """The call, and what it gives. `free_sizes`: extents of the results depend on what is in the arrays."""
    if build.protected:
        raise build.error("E227", f"{name} is called by Python here, inside a try or np.errstate", "call it before")
    target = resolve(name)
    names = parameters_of(target, len(args))
    given = [call_argument(build, name, parameter, operand) for parameter, operand in zip(names, args, strict=True)]
    named = {word: call_argument(build, name, word, operand) for word, operand in keywords.items()}
    answer = ask_numpy(build, name, [probe for _, probe in given], {word: probe for word, (_, probe) in named.items()})
    results = Results(build, name.rpartition(".")[2], free_sizes=free_sizes)
    operand = results.operand(answer)
    build.emit(
        NumpyCall(
            function=name,
            args=tuple(bundle for bundle, _ in given),
            keywords=tuple((word, bundle) for word, (bundle, _) in named.items()),
            results=tuple(results.results),
            sizes=tuple(results.sizes),
            site=build.use_site(),
            id=build.new_id(),
            span=build.span,
        )
    )
    return operand


def ask_numpy(build: Builder, name: str, args: Sequence[Probe], keywords: Mapping[str, Probe]) -> Answer:
    """What NumPy itself says that a function gives."""
    try:
        return ask(resolve(name), args, keywords)
    except Unfit as unfit:
        raise build.error("E240", f"{name} {unfit}, which is not compiled", "call it outside of the program") from None
    except Refused as refused:
        cause = refused.__cause__
        words = f"{type(cause).__name__}: {cause}"
        if isinstance(cause, TypeError | np.exceptions.AxisError):
            raise PythonRaises(words) from None
        raise build.error(
            "E241", f"{name} takes no such arguments: {words}", "call it outside of the program"
        ) from None


# ---- arguments ------------------------------------------------------------------------------------------------------


@cache
def _signature(target: Callable[..., Any]) -> tuple[str, ...] | None:
    """The names of the positional parameters, "*" at the end where more may follow; None where nobody knows."""
    try:
        parameters = inspect.signature(target).parameters.values()
    except (TypeError, ValueError):
        return None
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return (*names, "*") if any(p.kind is p.VAR_POSITIONAL for p in parameters) else tuple(names)


def parameters_of(target: Callable[..., Any], count: int) -> list[str]:
    """The names of the first parameters; "" where they have none."""
    known = _signature(target) or ("*",)
    names = ["" if name == "*" else name for name in known]
    return (names + [""] * count)[:count]


def call_argument(build: Builder, function: str, parameter: str, operand: Operand) -> tuple[Bundle, Probe]:
    """An argument as something Python can be handed, and as something NumPy can be asked about."""
    if parameter in _IMPURE:
        raise build.error("E115", f"keyword '{parameter}' of {function} is not compiled", "leave it out")
    if parameter in _STATIC and not isinstance(operand, Array):
        return _static(build, static_value(build, operand, f"{parameter} of {function}"))
    return _converted(build, operand)


def _static(build: Builder, value: object) -> tuple[Bundle, Probe]:
    if isinstance(value, FunctionType):  # nobody knows what it does, nor how often it is called
        raise build.error("E210", "a function is not compiled as an argument of this call", "pass arrays or numbers")
    return _constant(build, value), Known(value)


def _converted(build: Builder, operand: Operand) -> tuple[Bundle, Probe]:
    """The operand as something Python can be handed, and as something NumPy can be asked about."""
    operand = number(build, operand)
    match operand:
        case Array(view=view, dtype=dtype):
            return view, ArrayProbe(dtype.numpy, view.shape, copied_order(build, [view], view.rank))
        case Scalar(expr=expr):
            return expr, _number(operand)
        case Tuple(items=items, is_list=is_list, cls=None):
            pairs = [_converted(build, item) for item in items]
            return Pack(tuple(b for b, _ in pairs), is_list), Several(tuple(p for _, p in pairs), is_list)
        case Slice(start=start, stop=stop, step=step):
            pairs = [_converted(build, part) for part in (start, stop, step)]
            made = Pack(tuple(b for b, _ in pairs), cls=_constant(build, slice).index)
            return made, Several(tuple(p for _, p in pairs), cls=slice)
        case Static(value=value):
            return _static(build, value)
        case _:
            raise build.error("E210", "this kind of operand is not compiled here", "pass arrays or numbers")


def _number(operand: Scalar) -> Probe:
    expr, type_ = operand.expr, operand.type
    if isinstance(expr, Const):
        return Known(expr.value if type_.python else type_.dtype.numpy.type(expr.value))
    if type_.python and type_.dtype is DType.INT64:
        value = expr if isinstance(expr, Index) else index(expr) if isinstance(expr, Value) else None
        if value is not None and value.constant is not None:
            return Known(value.constant)
        return Known(2) if value is None else IntProbe(value)
    sample = type_.dtype.numpy.type(1)
    return Known(sample.item() if type_.python else sample)


def _constant(build: Builder, value: object) -> Constant:
    constants = build.ledger.constants
    for position, known in enumerate(constants):
        if known is value or (type(known) is type(value) and isinstance(value, str | int) and known == value):
            return Constant(position)
    constants.append(value)
    return Constant(len(constants) - 1)


# ---- results --------------------------------------------------------------------------------------------------------


class Results:
    """Makes the containers and values of the results, in order."""

    def __init__(self, build: Builder, name: str, *, free_sizes: bool) -> None:
        self.build, self.name, self.free_sizes = build, name, free_sizes
        self.results: list[CallResult] = []
        self.sizes: list[Value] = []

    def operand(self, answer: Answer) -> Operand:
        """What the program gets."""
        match answer:
            case TupleAnswer(items=items, is_list=is_list, cls=cls):
                return Tuple(tuple(self.operand(item) for item in items), is_list, cls)
            case NumberAnswer(cls=cls):
                return self._number(cls)
            case ArrayAnswer():
                return self._array(answer)

    def _number(self, cls: type) -> Scalar:
        type_ = ScalarType(known_dtype(self.build, np.dtype(cls)), python=not issubclass(cls, np.generic))
        value = self.build.value(self.name, type_)
        self.results.append(CallResult(value))
        return Scalar(value)

    def _array(self, answer: ArrayAnswer) -> Array:
        build = self.build
        dtype = known_dtype(build, answer.dtype)
        order = answer.order or tuple(range(len(answer.shape)))
        shape = tuple(self._extent(answer.shape[axis]) for axis in order)
        name = f"{self.name}.{build.new_id()}"
        container = Container(name, dtype, shape, Storage.TRANSIENT)
        build.ledger.containers[name] = container
        self.results.append(CallResult(name, answer.order))
        view = full_view(container)
        return Array(permute(view, tuple(order.index(axis) for axis in range(len(order)))), dtype)

    def _extent(self, known: Index | None) -> Index:
        if known is not None and not self.free_sizes:
            return known
        extent = self.build.extent("size")
        self.sizes += extent.values
        return extent
