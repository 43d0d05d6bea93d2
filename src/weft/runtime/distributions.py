"""NumPy's distributions of random numbers, as functions that kernels call.

in:   "random_standard_normal"
out:  its address, for `ctx->library`; None where this NumPy has no such function for us

NumPy's wheel has them in an archive, for extensions to link with; the dispatcher's library is linked with all of it.
They are used only if they give what NumPy gives.
"""

from __future__ import annotations

import ctypes
import functools
from pathlib import Path

import numpy as np

_offered: list[str] = []  # the file that has them


def distributions_archive() -> Path | None:
    """The archive beside numpy.random."""
    archive = Path(np.__file__).parent / "random" / "lib" / "libnpyrandom.a"
    return archive if archive.is_file() else None


def linked_with(archive: Path) -> tuple[str, ...]:
    """Flags to link all of the archive into a library."""
    return ("-Wl,--whole-archive", str(archive), "-Wl,--no-whole-archive", "-lm")


def offer_distributions(path: str) -> None:
    """Say which library may have them."""
    _offered[:] = [path]


@functools.cache
def find_distribution(name: str) -> int | None:
    """The address of a function by its name in NumPy's C interface."""
    functions = _functions()
    return functions and _address(functions, name)


@functools.cache
def _functions() -> ctypes.CDLL | None:
    """The library, where some numbers of it are those that NumPy draws."""
    if not _offered:
        return None
    functions = ctypes.CDLL(_offered[0])
    names = ("random_standard_normal", "random_standard_exponential", "random_standard_cauchy")
    if any(_address(functions, name) is None for name in names):
        return None
    ours, theirs = np.random.PCG64(20), np.random.Generator(np.random.PCG64(20))
    for name in names:
        function = getattr(functions, name)
        function.restype, function.argtypes = ctypes.c_double, [ctypes.c_void_p]
        expected = getattr(theirs, name.removeprefix("random_"))
        if any(function(ours.ctypes.bit_generator) != expected() for _ in range(20)):
            return None
    return functions


def _address(functions: ctypes.CDLL, name: str) -> int | None:
    try:
        return ctypes.cast(getattr(functions, name), ctypes.c_void_p).value
    except AttributeError:
        return None
