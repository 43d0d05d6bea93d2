"""The sample calls of the rules: how they are read, built into a program, and run beside NumPy.

A sample is a Python expression: `outer(f8[3], v(2.5))`. `f8[3, 4]` is an array of that type and shape with seeded data
(`f8[3] + 0.5` shifts it), `v(x)` a number known at run time only; everything else is known at compile time.
"""

from __future__ import annotations

import ast
import builtins
import cmath
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from weft.interp import Left, Returned, interpret
from weft.ir.dtypes import PY_BOOL, PY_COMPLEX, PY_FLOAT, PY_INT, DType, ScalarType, dtype_of
from weft.ir.exprs import Value, const, const_index, index, python_const
from weft.ir.nodes import (
    Bundle,
    Choice,
    Constant,
    Container,
    Layout,
    Listed,
    Pack,
    Program,
    Return,
    Site,
    Storage,
    full_view,
)
from weft.ir.verifier import verify
from weft.numpy_rules.builder import Builder
from weft.numpy_rules.registry import RuleEntry
from weft.numpy_rules.values import Array, Either, Growing, Never, Operand, Scalar, Static, Tuple
from weft.support.abi import ArgKind, ArgSpec, Slot, SlotKind

SITE = Site(number=0, frames=())
PYTHON_TYPES: dict[type, ScalarType] = {bool: PY_BOOL, int: PY_INT, float: PY_FLOAT, complex: PY_COMPLEX}

PYTHON_KINDS: dict[type, ArgKind] = {
    bool: ArgKind.PY_BOOL, int: ArgKind.PY_INT, float: ArgKind.PY_FLOAT, complex: ArgKind.PY_COMPLEX,
}  # fmt: skip


@dataclass(frozen=True)
class RunTime:
    """A number known at run time only."""

    value: Any


@dataclass(frozen=True)
class Data:
    """An array argument in the making."""

    dtype: str
    shape: tuple[int, ...]
    steps: tuple[tuple[str, float], ...] = ()

    def __add__(self, other: float) -> Data:
        return Data(self.dtype, self.shape, (*self.steps, ("add", other)))

    def __truediv__(self, other: float) -> Data:
        return Data(self.dtype, self.shape, (*self.steps, ("divide", other)))

    def __mod__(self, other: float) -> Data:
        return Data(self.dtype, self.shape, (*self.steps, ("remainder", other)))

    def make(self, number: int) -> np.ndarray:
        rng = np.random.default_rng([number, len(self.shape)])
        kind = self.dtype[0]
        if kind == "b":
            data = rng.integers(0, 2, self.shape).astype(self.dtype)
        elif kind in "iu":
            data = rng.integers(0 if kind == "u" else -9, 9, self.shape).astype(self.dtype)
        else:
            data = np.asarray(rng.integers(0, 16, self.shape) / 2.0).astype(self.dtype)
            if kind == "c":
                data = data + 1j * np.asarray(rng.integers(-8, 8, self.shape) / 2.0).astype(self.dtype)
        for name, amount in self.steps:
            data = getattr(np, name)(data, amount).astype(self.dtype)
        return np.asarray(data)


class Maker:
    """`f8`: indexing it gives data of that type."""

    def __init__(self, dtype: str) -> None:
        self.dtype = dtype

    def __getitem__(self, shape: Any) -> Data:
        return Data(self.dtype, shape if isinstance(shape, tuple) else (shape,))


NAMES: dict[str, Any] = {
    **{dtype.text: Maker(dtype.text) for dtype in DType},
    "np": np,
    "int": int,
    "float": float,
    "bool": bool,
    "complex": complex,
    "v": RunTime,
}


@dataclass(frozen=True)
class Call:
    """A sample, read: the function as written and its arguments."""

    function: str
    args: tuple[Any, ...]
    keywords: dict[str, Any]


def read_sample(sample: str) -> Call:
    node = ast.parse(sample, mode="eval").body
    assert isinstance(node, ast.Call)

    def value(item: ast.expr) -> Any:
        return eval(compile(ast.Expression(item), sample, "eval"), dict(NAMES))  # our own sample text

    return Call(
        ast.unparse(node.func),
        tuple(value(arg) for arg in node.args),
        {keyword.arg or "": value(keyword.value) for keyword in node.keywords},
    )


# -- forms of the array arguments -------------------------------------------------------------------------------------


def _fortran(array: np.ndarray) -> np.ndarray:
    return np.array(array, order="F")


def _reversed(array: np.ndarray) -> np.ndarray:
    flip = (slice(None, None, -1),) * array.ndim
    return np.ascontiguousarray(array[flip])[flip] if array.ndim else array


def _strided(array: np.ndarray) -> np.ndarray:
    wide = np.zeros([2 * n + 1 for n in array.shape], array.dtype)
    part = wide[(..., *(slice(1, 2 * n + 1, 2) for n in array.shape))]
    part[...] = array
    return part


FORMS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "c": np.array,
    "fortran": _fortran,
    "reversed": _reversed,
    "strided": _strided,
}


def resized(value: Any, old: int, new: int) -> Any:
    """The argument with every array extent `old` replaced by `new`."""
    match value:
        case Data():
            return Data(value.dtype, tuple(new if n == old else n for n in value.shape), value.steps)
        case tuple() | list():
            return type(value)(resized(item, old, new) for item in value)
        case _:
            return value


def extents(value: Any) -> set[int]:
    match value:
        case Data():
            return set(value.shape)
        case tuple() | list():
            return set().union(*(extents(item) for item in value))
        case _:
            return set()


# -- running ----------------------------------------------------------------------------------------------------------


@dataclass
class Bench:
    """A Builder with the slots of one call."""

    build: Builder = field(default_factory=Builder)
    objects: list[Any] = field(default_factory=list)
    scalars: list[tuple[int, Value]] = field(default_factory=list)
    args: list[ArgSpec] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.build.site = SITE
        self.build.emit(SITE)

    def operand(self, value: Any) -> Operand:
        """The operand for a Python object; arrays and run-time numbers get slots."""
        match value:
            case RunTime():
                return self.scalar(value.value)
            case np.ndarray():
                return self.array(value)
            case tuple() | list():
                return Tuple(tuple(self.operand(item) for item in value), isinstance(value, list))
            case bool() | int() | float() | complex() if type(value) in PYTHON_TYPES:
                return Scalar(python_const(value))
            case np.generic():
                dtype = dtype_of(value.dtype)
                assert dtype is not None
                return Scalar(const(value.item(), ScalarType(dtype)))
            case _:
                return Static(value)

    def scalar(self, value: Any) -> Scalar:
        python = type(value) in PYTHON_TYPES
        dtype = None if python else dtype_of(np.asarray(value).dtype)
        type_ = PYTHON_TYPES[type(value)] if python else ScalarType(dtype or DType.FLOAT64)
        element = self.build.value(f"v{len(self.objects)}", type_)
        self.scalars.append((len(self.objects), element))
        self.build.ledger.slot_of_value[element] = len(self.objects)
        self.objects.append(value)
        kind = PYTHON_KINDS.get(type(value), ArgKind.NP_SCALAR)
        self.args.append(ArgSpec(kind, dtype="" if python else type_.dtype.value))
        return Scalar(index(element) if type_ == PY_INT else element)

    def array(self, value: np.ndarray) -> Array:
        name = f"A{len(self.objects)}"
        dtype = dtype_of(value.dtype)
        assert dtype is not None
        letter = "C" if value.flags.c_contiguous else "F" if value.flags.f_contiguous else "S"
        shape = tuple(self.build.extent(f"{name}_{axis}", one=n == 1) for axis, n in enumerate(value.shape))
        container = Container(name, dtype, shape, Storage.ARGUMENT, Layout(letter), slot=len(self.objects))
        self.build.ledger.containers[name] = container
        self.objects.append(value)
        self.args.append(ArgSpec(ArgKind.ARRAY, dtype=dtype.value, ndim=value.ndim, layout=letter))
        return Array(full_view(container), dtype)

    def bundle(self, operand: Operand) -> Bundle:
        match operand:
            case Scalar(expr=expr):
                return expr
            case Array(view=view):
                return view
            case Tuple(items=items, is_list=is_list, cls=cls):
                number = -1 if cls is None else self.constant(cls)
                return Pack(tuple(self.bundle(item) for item in items), is_list, cls=number)
            case Either(tag=tag, items=items):
                return Choice(tag, tuple(self.bundle(item) for item in items))
            case Static(value=value):
                return Constant(self.constant(value))
            case Growing(buffer=buffer, count=count, type=type_):
                return Listed(replace(buffer.view, shape=(count,)), type_)
            case Never():
                return const_index(0)
            case _:
                raise AssertionError(operand)

    def constant(self, value: object) -> int:
        self.build.ledger.constants.append(value)
        return len(self.build.ledger.constants) - 1

    def program(self, result: Operand) -> Program:
        self.build.emit(Return(self.bundle(result)))
        written = {container.slot for container in self.build.ledger.containers.values() if container.written}
        self.args = [spec._replace(written=number in written) for number, spec in enumerate(self.args)]
        return Program(
            name="sample",
            slots=tuple(Slot(SlotKind.PARAM, number) for number in range(len(self.objects))),
            args=tuple(self.args),
            scalars=tuple(self.scalars),
            containers=dict(self.build.ledger.containers),
            body=self.build.close(self.build.scope),
            constants=tuple(self.build.ledger.constants),
            warn_sites=tuple(self.build.ledger.warn_sites),
        )

    def run(self, result: Operand) -> Returned | Left:
        program = self.program(result)
        verify(program)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return interpret(program, self.objects)


def plain(value: Any) -> Any:
    """The argument as NumPy takes it."""
    match value:
        case RunTime():
            return value.value
        case tuple() | list():
            return type(value)(plain(item) for item in value)
        case _:
            return value


def numpy_function(entry: RuleEntry, call: Call) -> Callable[..., Any]:
    """What a rule stands for."""
    root, _, rest = entry.name.partition(".")
    if root == "ufunc":
        return getattr(getattr(np, call.function.partition(".")[0]), rest)
    if root in ("ndarray", "scalar"):

        def method(owner: Any, *args: Any, **keywords: Any) -> Any:
            found = getattr(owner, rest)
            return found(*args, **keywords) if callable(found) else found

        return method
    target: Any = {"numpy": np, "math": math, "cmath": cmath, "builtins": builtins}[root]
    for part in rest.split("."):
        target = getattr(target, part)
    return target


def leading_operands(entry: RuleEntry, call: Call) -> list[Operand]:
    return [Static(getattr(np, call.function.partition(".")[0]))] if entry.name.startswith("ufunc.") else []


def fits(entry: RuleEntry, call: Call) -> bool:
    """Whether a sample, shared by several names, is one for this name: methods need their object."""
    first = call.args[0] if call.args else None
    if entry.name.startswith("ndarray."):
        return isinstance(first, Data)
    if entry.name.startswith("scalar."):
        return isinstance(plain(first), np.generic)
    return True
