"""Weft: a compiler for NumPy programs.

import numpy as np, weft

@weft.program
def f(a, b):
    return np.sqrt(a * a + b * b)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from weft.driver.fingerprints import VERSION as __version__  # noqa: N811  (the name tools look for)
from weft.driver.memory import clear
from weft.driver.options import config
from weft.driver.program import Program, program
from weft.support.errors import (
    CompileError,
    FallbackWarning,
    InternalError,
    PerformanceWarning,
    VerificationError,
    WeftError,
)
from weft.support.loops import map_domain as map  # `weft.map[0:N]` is the spelling users know
from weft.support.loops import prange

if TYPE_CHECKING:
    from weft.driver.annotations import symbols
    from weft.driver.array_types import (
        bool_,
        complex64,
        complex128,
        float32,
        float64,
        int8,
        int16,
        int32,
        int64,
        uint8,
        uint16,
        uint32,
        uint64,
    )

__all__ = [
    "CompileError",
    "FallbackWarning",
    "InternalError",
    "PerformanceWarning",
    "Program",
    "VerificationError",
    "WeftError",
    "__version__",
    "bool_",
    "clear",
    "complex64",
    "complex128",
    "config",
    "float32",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
    "map",
    "prange",
    "program",
    "symbols",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]


def __getattr__(name: str) -> Any:
    """Annotations are loaded when they are first used."""
    from weft.driver import annotations

    if name == "symbols":
        return annotations.symbols
    if name in annotations.ELEMENT_TYPES:
        return annotations.ELEMENT_TYPES[name]
    raise AttributeError(f"module 'weft' has no attribute '{name}'")
