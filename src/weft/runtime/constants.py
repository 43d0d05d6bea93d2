"""Constants of a program in a form JSON can hold, exactly.

    (1, -0.0, np.float32(2)) <-> ["tuple", ["int", "1"], ["float", "8000000000000000"], ["scalar", "=f", "00000040"]]

Functions, classes and modules are stored as the way to import them, after checking that it leads to the same object.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable
from enum import Enum
from types import EllipsisType, ModuleType
from typing import Any, TypeAlias, cast

import numpy as np

Encoded: TypeAlias = list[Any]


class NotEncodable(Exception):  # noqa: N818 - says what it is
    """The object has no form on disk; a program that needs it is compiled anew in every process."""


class NotDecodable(Exception):  # noqa: N818 - says what it is
    """What was stored cannot be found any more; the cache entry counts as absent."""


def encode_constant(value: object) -> Encoded:
    """Lists, strings and numbers from which `decode_constant` makes an equal object of the same type."""
    encoder = _ENCODERS.get(type(value))
    if encoder is not None:
        return encoder(value)
    if isinstance(value, np.dtype):
        return ["dtype", _dtype_text(cast("np.dtype[Any]", value))]
    if isinstance(value, np.generic):
        scalar = cast("np.generic[Any]", value)
        return ["scalar", _dtype_text(scalar.dtype), scalar.tobytes().hex()]
    return _encode_import(value)


def decode_constant(data: Encoded) -> Any:
    """The inverse; raises NotDecodable for what cannot be found or was never written by `encode_constant`."""
    try:
        return _DECODERS[data[0]](*data[1:])
    except (KeyError, IndexError, TypeError, ValueError, struct.error, AttributeError, ImportError) as error:
        raise NotDecodable(f"{data!r}: {error}") from error


# ---------------------------------------------------------------- numbers, text, containers


def _float_text(value: float) -> str:
    return struct.pack(">d", value).hex()


def _float(text: str) -> float:
    return struct.unpack(">d", bytes.fromhex(text))[0]


def _int(text: str) -> int:
    return int(text, 16)


def _complex(real: str, imag: str) -> complex:
    return complex(_float(real), _float(imag))


def _encode_items(kind: str, items: tuple[object, ...]) -> Encoded:
    return [kind, *(encode_constant(item) for item in items)]


_ENCODERS: dict[type, Callable[[Any], Encoded]] = {
    type(None): lambda value: ["none"],
    EllipsisType: lambda value: ["ellipsis"],
    bool: lambda value: ["bool", int(value)],
    int: lambda value: ["int", hex(value)],  # decimal text of large integers is slow and limited in length
    float: lambda value: ["float", _float_text(value)],
    complex: lambda value: ["complex", _float_text(value.real), _float_text(value.imag)],
    str: lambda value: ["str", value],
    bytes: lambda value: ["bytes", value.hex()],
    tuple: lambda value: _encode_items("tuple", value),
    slice: lambda value: _encode_items("slice", (value.start, value.stop, value.step)),
    range: lambda value: _encode_items("range", (value.start, value.stop, value.step)),
}


# ---------------------------------------------------------------- NumPy


def _dtype_text(dtype: np.dtype[Any]) -> str:
    """Byte order and type character (`=d`; `=q` and `=l` stay apart), or NumPy's own text for sized types."""
    for text in (f"{dtype.byteorder}{dtype.char}".lstrip("|"), dtype.str):
        try:
            again = np.dtype(text)
        except TypeError:
            continue
        plain = not dtype.hasobject and dtype.names is None and dtype.subdtype is None and not dtype.metadata
        if plain and again == dtype and again.num == dtype.num:
            return text
    raise NotEncodable(f"dtype {dtype!r}")


def _scalar(dtype_text: str, content: str) -> Any:
    return np.frombuffer(bytes.fromhex(content), np.dtype(dtype_text))[0]


# ---------------------------------------------------------------- what can be imported


def _encode_import(value: object) -> Encoded:
    if isinstance(value, ModuleType):
        module, path = value.__name__, ""
    elif isinstance(value, Enum):
        module, path = type(value).__module__, f"{type(value).__qualname__}.{value.name}"
    else:
        path = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
        owner = getattr(value, "__objclass__", value)  # of methods written in C
        module = getattr(owner, "__module__", None) or ("numpy" if isinstance(value, np.ufunc) else None)
    if not isinstance(module, str) or not isinstance(path, str) or module not in sys.modules:
        raise NotEncodable(f"an object of type {type(value).__qualname__}")
    try:
        found = _imported(module, path)
    except (ImportError, AttributeError):
        found = NotEncodable
    if found is not value:
        raise NotEncodable(f"{module}.{path} is another object")
    return ["import", module, path]


def _imported(module: str, path: str) -> Any:
    from importlib import import_module

    found: Any = sys.modules.get(module) or import_module(module)
    for name in path.split(".") if path else ():
        found = getattr(found, name)
    return found


_DECODERS: dict[str, Callable[..., Any]] = {
    "none": lambda: None,
    "ellipsis": lambda: ...,
    "bool": bool,
    "int": _int,
    "float": _float,
    "complex": _complex,
    "str": str,
    "bytes": bytes.fromhex,
    "tuple": lambda *items: tuple(decode_constant(item) for item in items),
    "slice": lambda *items: slice(*(decode_constant(item) for item in items)),
    "range": lambda *items: range(*(decode_constant(item) for item in items)),
    "dtype": np.dtype,
    "scalar": _scalar,
    "import": _imported,
}
