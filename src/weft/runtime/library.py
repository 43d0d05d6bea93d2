"""Native functions that NumPy has already loaded: its BLAS, and the inner loops of its ufuncs.

in:   neutral names: "cblas_dgemm"; a ufunc and its types: "exp", "d->d"
out:  addresses for `ctx->library`, callable without the GIL

Loading another BLAS would start a second set of threads beside NumPy's, and give other bits.
"""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from weft.runtime.distributions import find_distribution
from weft.support.abi import BLAS_THREADS
from weft.support.records import record

# (prefix, suffix, bits of an integer): how builds of OpenBLAS and others name `cblas_dgemm`.
_SPELLINGS = (("scipy_", "64_", 64), ("", "64_", 64), ("scipy_", "", 32), ("", "", 32))
_PROBE = "cblas_dgemm"


@record
class Blas:
    """NumPy's BLAS. `integer_bits` is the size of every integer argument."""

    path: str
    integer_bits: int
    prefix: str
    suffix: str

    def address(self, name: str) -> int | None:
        """Of a function by its neutral name: "cblas_dgemm", "openblas_set_num_threads", "dpotrf_"."""
        library = _loaded(self.path)
        if library is None:
            return None
        return _symbol(library, f"{self.prefix}{name}{self.suffix}") or _symbol(library, name)


@record
class InnerLoop:
    """`function(char **args, const intptr_t *dimensions, const intptr_t *steps, void *data)`."""

    function: int
    data: int  # 0: NULL


@functools.cache
def find_blas() -> Blas | None:
    """The BLAS that is in memory because NumPy needs it; None when there is none or it has no C interface."""
    for path in _blas_files():
        library = _loaded(path)
        for prefix, suffix, bits in _SPELLINGS:
            if library is not None and _symbol(library, f"{prefix}{_PROBE}{suffix}"):
                return Blas(path, bits, prefix, suffix)
    return None


@functools.cache
def find_inner_loop(name: str, types: str) -> InnerLoop | None:
    """The loop of a ufunc ("exp", or "numpy.linalg._umath_linalg.solve1") for types as in `ufunc.types` ("dd->d")."""
    ufunc = _ufunc(name)
    if ufunc is None or types not in ufunc.types:
        return None
    fields = _UfuncFields.from_address(id(ufunc))
    known = (fields.nin, fields.nout, fields.nargs, fields.ntypes)
    if known != (ufunc.nin, ufunc.nout, ufunc.nargs, ufunc.ntypes) or fields.name != ufunc.__name__.encode():
        return None
    index = ufunc.types.index(types)
    function = fields.functions[index]
    return InnerLoop(function, fields.data[index] or 0 if fields.data else 0) if function else None


def resolve_libraries(names: Sequence[str]) -> tuple[int, ...]:
    """Addresses for `KernelInfo.libraries`; 0 for one that is missing, which a kernel must expect.

    A name is a BLAS function ("cblas_dgemm"), "blas_ilp64" (not 0 where integers of the BLAS have 64 bits),
    "loop:exp:d->d" or "data:exp:d->d" (the loop's last argument). "call:..." is a loop that a kernel can do without.
    "random:random_normal" is one of NumPy's distributions.
    """
    return tuple(_resolve(name) or 0 for name in names)


def runs_alone(names: Sequence[str], addresses: Sequence[int]) -> bool:
    """Whether nothing that a kernel calls uses threads of its own: BLAS does where it cannot be told not to.

    LAPACK does in any case.
    """
    found = dict(zip(names, addresses, strict=False))
    uses_blas = any(name.startswith("cblas_") for name in names)
    return not any(name.startswith("call:") for name in names) and (not uses_blas or all(map(found.get, BLAS_THREADS)))


def _resolve(name: str) -> int | None:
    kind, _, rest = name.partition(":")
    if kind == "random":
        return find_distribution(rest)
    if rest:
        loop = find_inner_loop(*rest.rsplit(":", 1))
        if loop is None:
            return None
        return loop.data if kind == "data" else loop.function
    blas = find_blas()
    if name == "blas_ilp64":
        return int(blas is not None and blas.integer_bits == 64)
    return blas.address(name) if blas else None


class _UfuncFields(ctypes.Structure):
    """The first fields of PyUFuncObject, the same in all of NumPy 1 and 2."""

    _fields_ = (
        ("reference_count", ctypes.c_ssize_t),
        ("type", ctypes.c_void_p),
        ("nin", ctypes.c_int),
        ("nout", ctypes.c_int),
        ("nargs", ctypes.c_int),
        ("identity", ctypes.c_int),
        ("functions", ctypes.POINTER(ctypes.c_void_p)),
        ("data", ctypes.POINTER(ctypes.c_void_p)),
        ("ntypes", ctypes.c_int),
        ("reserved", ctypes.c_int),
        ("name", ctypes.c_char_p),
    )


def _ufunc(name: str) -> Any:
    from importlib import import_module

    module, _, attribute = name.rpartition(".")
    try:
        found = getattr(import_module(module) if module else np, attribute, None)
    except ImportError:
        return None
    return found if isinstance(found, np.ufunc) else None


def _blas_files() -> list[str]:
    """Mapped libraries that may be a BLAS, those shipped with NumPy first."""
    try:
        lines = Path("/proc/self/maps").read_text().splitlines()
    except OSError:
        return []
    paths = {line.split(maxsplit=5)[5] for line in lines if "/" in line}
    candidates = [path for path in paths if "blas" in Path(path).name or "mkl_rt" in Path(path).name]
    return sorted(candidates, key=lambda path: ("numpy" not in path, "scipy.libs" in path, path))


@functools.cache
def _loaded(path: str) -> ctypes.CDLL | None:
    """A handle on a library that is in memory already; never loads one."""
    try:
        return ctypes.CDLL(path, mode=os.RTLD_NOLOAD | os.RTLD_NOW)
    except OSError:
        return None


def _symbol(library: ctypes.CDLL, name: str) -> int | None:
    try:
        return ctypes.cast(getattr(library, name), ctypes.c_void_p).value
    except AttributeError:
        return None
