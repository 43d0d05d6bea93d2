"""Fingerprints of functions, and the keys under which compiled programs are kept.

A key names the program's own code, the types of its arguments, options, toolchain and versions. What else the compiler
looked at (functions it inlined) is listed in the entry's manifest and compared when the entry is loaded.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from enum import Enum
from functools import lru_cache
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, cast

import numpy as np

from weft.driver.options import Options
from weft.support.abi import MAX_ITEMS, MAX_NESTING, pack_order
from weft.support.number_lists import conversion_of, is_long

VERSION = "0.1.0"


def code_fingerprint(code: CodeType) -> str:
    """Everything of a code object that decides what it does and where it stands."""
    return hashlib.sha256(repr(_code_parts(code)).encode()).hexdigest()


def _code_parts(code: CodeType) -> tuple[Any, ...]:
    return (
        code.co_code, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars, code.co_flags,
        code.co_argcount, code.co_kwonlyargcount, code.co_posonlyargcount, code.co_filename, code.co_firstlineno,
        code.co_linetable, code.co_qualname, tuple(_constant_text(constant) for constant in code.co_consts),
    )  # fmt: skip


def _constant_text(constant: Any) -> Any:
    if isinstance(constant, CodeType):
        return _code_parts(constant)
    if isinstance(constant, frozenset):
        return ("frozenset", sorted(map(repr, constant)))  # type: ignore[reportUnknownArgumentType]
    if isinstance(constant, tuple):
        return tuple(_constant_text(item) for item in constant)  # type: ignore[reportUnknownVariableType]
    return (type(constant).__name__, repr(constant))


def function_fingerprint(function: FunctionType) -> str:
    """The code and its defaults."""
    defaults = repr((function.__defaults__, function.__kwdefaults__))
    return hashlib.sha256(f"{code_fingerprint(function.__code__)}{defaults}".encode()).hexdigest()


def type_key(value: Any, depth: int = 0) -> Any:
    """What of an argument decides which variant is compiled; sizes do not. `depth` is how many lists it stands in."""
    kind = cast("type[Any]", type(value))
    if kind is np.ndarray:
        return _array_key(value)
    if kind in (bool, int, float, complex) or isinstance(value, np.generic):
        return (kind.__module__, kind.__qualname__)
    if value is None or kind in (str, bytes):
        return (kind.__qualname__, value)
    if isinstance(value, tuple | list | dict):
        return _container_key(value, depth)
    if kind is slice or kind is range:
        return (kind.__qualname__, type_key(value.start), type_key(value.stop), repr(value.step))
    if isinstance(value, Enum):
        return ("enum", kind.__module__, kind.__qualname__, value.name)
    if isinstance(value, FunctionType):
        return ("function", function_fingerprint(value))
    if isinstance(value, type):
        return ("class", value.__module__, value.__qualname__)
    return ("object", kind.__module__, kind.__qualname__)


def _array_key(value: Any) -> Any:
    flags = value.flags
    layout = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "S"
    ones = tuple(extent == 1 for extent in value.shape)
    order = pack_order(value.shape, value.strides) if layout == "S" else None
    order_key = None if order is None else (order.code, order.repeated)
    return ("array", value.dtype.str, value.dtype.char, ones, layout, order_key, flags.aligned, flags.writeable)


def _container_key(value: Any, depth: int) -> Any:
    kind = cast("type[Any]", type(value))
    name = (kind.__module__, kind.__qualname__)
    conversion = conversion_of(cast("list[Any]", value)[:1]) if kind is list and is_long(value) else None
    if conversion is not None:  # of any length; the first item tells, to look at all would take as long as many a call
        ones = len(value) == 1, "[" in conversion and len(cast("list[Any]", value)[0]) == 1
        return (*name, conversion, ones)
    if depth > MAX_NESTING or len(value) > MAX_ITEMS:  # perhaps one that holds itself; not compiled in any case
        return (*name, "too large")
    if isinstance(value, dict):
        pairs = cast("dict[Any, Any]", value).items()
        return (*name, *((type_key(key), type_key(item, depth + 1)) for key, item in pairs))
    return (*name, *(type_key(item, depth + 1) for item in value))


def without_lengths(key: Any) -> Any:
    """The key of arguments in which lists of one kind of item have no length."""
    if not isinstance(key, tuple):
        return key
    parts = cast("tuple[Any, ...]", key)
    if parts[:2] == ("builtins", "list") and len(set(parts[2:])) <= 1:
        return (*parts[:2], "any length")
    return tuple(map(without_lengths, parts))


def identity_key(values: Sequence[Any]) -> tuple[int, ...]:
    """For every array, the first argument that is the very same array; of generators, with the same state."""
    found: list[int] = []
    for number, value in enumerate(values):
        twin = number
        if type(value).__module__.startswith("numpy.random"):
            bits = getattr(value, "_bit_generator", value)
            twin = next(k for k, other in enumerate(values) if getattr(other, "_bit_generator", other) is bits)
        if type(value) is np.ndarray:
            for earlier in range(number):
                other = values[earlier]
                if type(other) is np.ndarray and same_array(value, other):
                    twin = earlier
                    break
        found.append(twin)
    return tuple(found)


def same_array(left: Any, right: Any) -> bool:
    """Whether two arrays are the same elements in the same order, in one place."""
    return (
        left.ctypes.data == right.ctypes.data
        and left.shape == right.shape
        and left.strides == right.strides
        and left.dtype == right.dtype
    )


@lru_cache(maxsize=1)
def package_fingerprint() -> str:
    """Weft's own files, by size and time: an edit of the compiler must not find kernels of the one before."""
    root = Path(__file__).resolve().parents[1]
    with os.scandir(root) as entries:
        folders = sorted(entry.path for entry in entries if entry.is_dir())
    described = [_files_in(folder, ".py") for folder in folders] + [_files_in(str(root / "runtime" / "native"), ".h")]
    return hashlib.sha256(repr(described).encode()).hexdigest()


def _files_in(folder: str, suffix: str) -> list[tuple[str, int, int]]:
    """Name, size and time of each."""
    with os.scandir(folder) as entries:
        found = [(entry.name, entry.stat()) for entry in entries if entry.name.endswith(suffix)]
    return sorted((name, status.st_size, status.st_mtime_ns) for name, status in found)


def cache_key(code: str, types: Any, options: Options, toolchain: str, general: bool) -> str:
    """The key of a program on disk."""
    parts = (
        code,
        types,
        options.fast,
        options.strict,
        options.fallback,
        options.without,
        toolchain,
        VERSION,
        package_fingerprint(),
        np.__version__,
        general,
    )
    return hashlib.sha256(repr(parts).encode()).hexdigest()
