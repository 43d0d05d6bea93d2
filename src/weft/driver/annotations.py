"""`A: weft.float64[N, M]` with `N, M = weft.symbols("N M")`: types in the signature, checked at the call.

To a type checker `weft.float64[N, M]` is an ndarray of float64; at run time it is an `ArrayType`, which a call is held
against before anything is compiled: element type, rank, and extents (numbers exactly, a symbol the same everywhere).
"""

from __future__ import annotations

from collections.abc import Sequence
from types import FunctionType
from typing import Any, TypeAlias, cast

import numpy as np

from weft.support.records import record


@record
class Symbol:
    """A size known by name."""

    name: str

    def __repr__(self) -> str:
        return self.name


Extent: TypeAlias = Symbol | int


def symbols(names: str) -> tuple[Symbol, ...]:
    """`N, M = symbols("N M")`: sizes for annotations; commas and blanks separate names."""
    found = tuple(Symbol(name) for name in names.replace(",", " ").split())
    bad = next((symbol.name for symbol in found if not symbol.name.isidentifier()), None)
    if bad is not None or not found:
        raise ValueError(f"weft.symbols takes names separated by blanks, not {names!r}")
    return found


@record
class ArrayType:
    """An array of one element type; with no shape, any rank."""

    dtype: str
    shape: tuple[Extent, ...]

    def __repr__(self) -> str:
        return f"weft.{self.dtype}[{', '.join(map(str, self.shape))}]"


@record
class ElementType:
    """`weft.float64`: alone, a number of that type; indexed with sizes, an array."""

    dtype: str

    def __getitem__(self, shape: Extent | tuple[Extent, ...]) -> ArrayType:
        extents = shape if isinstance(shape, tuple) else (shape,)
        for extent in extents:
            if not isinstance(cast("object", extent), Symbol | int):
                raise TypeError(f"{self!r} takes sizes: numbers or weft.symbols, not {extent!r}")
        return ArrayType(self.dtype, extents)

    def __repr__(self) -> str:
        return f"weft.{self.dtype}"


ELEMENT_TYPES = {
    name: ElementType(name)
    for name in (
        "bool_", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
        "float32", "float64", "complex64", "complex128",
    )
}  # fmt: skip


def check_annotations(function: FunctionType, params: Sequence[Any]) -> None:
    """Raise TypeError where an argument is not what its annotation says."""
    if not function.__annotations__:
        return
    code = function.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]  # not *args and **kwargs, which come last
    sizes: dict[Symbol, tuple[int, str]] = {}
    for name, value in zip(names, params, strict=False):
        wanted = _evaluated(function, function.__annotations__.get(name))
        if isinstance(wanted, ArrayType):
            _check_array(function, name, wanted, value, sizes)


def _evaluated(function: FunctionType, annotation: Any) -> Any:
    """The annotation; as text (`from __future__ import annotations`) it is looked up in the function's globals."""
    if not isinstance(annotation, str) or "[" not in annotation:
        return annotation
    names = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    local = {name: cell.cell_contents for name, cell in names.items()}
    try:
        return eval(annotation, function.__globals__, local)  # the user's own annotation, as typing does it
    except (NameError, AttributeError, TypeError, SyntaxError):
        return None


def _check_array(
    function: FunctionType, name: str, wanted: ArrayType, value: Any, sizes: dict[Symbol, tuple[int, str]]
) -> None:
    where = f"{function.__qualname__}(): argument '{name}' is annotated {wanted!r}"
    if not isinstance(value, np.ndarray):
        raise TypeError(f"{where}, got {type(value).__name__}")
    array = cast("np.ndarray[tuple[int, ...], np.dtype[Any]]", value)
    shape = array.shape
    if array.dtype != np.dtype(wanted.dtype.rstrip("_")):
        raise TypeError(f"{where}, got an array of {array.dtype}")
    if len(shape) != len(wanted.shape):
        raise TypeError(f"{where}, got an array of {len(shape)} axes")
    for axis, (extent, size) in enumerate(zip(wanted.shape, shape, strict=True)):
        if isinstance(extent, int):
            if extent != size:
                raise TypeError(f"{where}, got {size} along axis {axis}")
            continue
        known, first = sizes.setdefault(extent, (size, name))
        if known != size:
            raise TypeError(f"{where}, got {size} along axis {axis}, but {extent} is {known} in argument '{first}'")
