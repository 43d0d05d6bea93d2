"""NumPy's BLAS: which it is, how many threads it takes, how fast it multiplies matrices.

in:   the library NumPy has loaded
out:  `describe_blas()`, and `measure_gemm()` in operations per second by dtype and thread count

NumPy tells the name and version but not the threads, which can be set while it runs: those are asked of the library
itself, found among the files mapped into this process.
"""

from __future__ import annotations

import ctypes
import re
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import numpy as np

MAPS = Path("/proc/self/maps")
# OpenBLAS is built under many names: with NumPy's prefix, and with a suffix where integers have 64 bits.
GET_NAMES = (
    "scipy_openblas_get_num_threads64_",
    "scipy_openblas_get_num_threads",
    "openblas_get_num_threads64_",
    "openblas_get_num_threads",
    "MKL_Get_Max_Threads",
    "bli_thread_get_num_threads",
)
SET_NAMES = {"MKL_Get_Max_Threads": "MKL_Set_Num_Threads"}
ORDER = 1024  # 2 billion operations: tens of milliseconds, and past every cache of level 2


def describe_blas() -> dict[str, Any]:
    """Name, version and threads; what cannot be found out is None."""
    build = cast("dict[str, Any]", np.show_config("dicts"))
    blas = cast("dict[str, Any]", build.get("Build Dependencies", {}).get("blas", {}))
    control = find_control()
    return {
        "name": blas.get("name"),
        "version": blas.get("version"),
        "threads": int(control[0]()) if control else None,
    }


def parse_libraries(maps: str) -> list[str]:
    """The files of a memory map that look like a BLAS, each once."""
    paths = re.findall(r"(/\S*(?:blas|mkl_rt|blis)\S*\.(?:so|dylib)\S*)", maps)
    return list(dict.fromkeys(paths))


def find_control() -> tuple[Any, Any] | None:
    """The functions that read and set the number of threads of NumPy's BLAS."""
    np.dot(np.ones((2, 2)), np.ones((2, 2)))  # some builds load it with the first product
    try:
        maps = MAPS.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    for path in parse_libraries(maps):
        try:
            library = ctypes.CDLL(path)
        except OSError:
            continue
        for name in GET_NAMES:
            setter = SET_NAMES.get(name, name.replace("_get_", "_set_"))
            if hasattr(library, name) and hasattr(library, setter):
                return getattr(library, name), getattr(library, setter)
    return None


@contextmanager
def blas_threads(count: int) -> Generator[bool]:
    """Inside, BLAS takes `count` threads; gives whether that could be arranged."""
    control = find_control()
    if control is None:
        yield False
        return
    read, change = control
    before = int(read())
    change(ctypes.c_int(count))
    try:
        yield int(read()) == count
    finally:
        change(ctypes.c_int(before))


def measure_gemm(counts: Sequence[int], seconds: float) -> dict[str, dict[str, float]]:
    """Operations per second of a large matrix product: `{"float64": {"1": 4.1e10}}`.

    Counts the library refuses are absent; if its threads cannot be set, there is the one key "default".
    """
    found: dict[str, dict[str, float]] = {}
    for dtype in ("float32", "float64"):
        left = np.linspace(0.5, 1.5, ORDER * ORDER).reshape(ORDER, ORDER).astype(dtype)
        right, out = left.T.copy(), np.empty_like(left)
        found[dtype] = {}
        for count in counts:
            with blas_threads(count) as arranged:
                if arranged:
                    found[dtype][str(count)] = 2.0 * ORDER**3 / _best_product(left, right, out, seconds)
        if not found[dtype]:
            found[dtype]["default"] = 2.0 * ORDER**3 / _best_product(left, right, out, seconds)
    return found


def _best_product(left: Any, right: Any, out: Any, seconds: float) -> float:
    """The shortest of at least three products; the first, which wakes the threads, does not count."""
    np.matmul(left, right, out=out)
    began, times = time.perf_counter(), list[float]()
    while len(times) < 3 or time.perf_counter() - began < seconds:
        start = time.perf_counter()
        np.matmul(left, right, out=out)
        times.append(time.perf_counter() - start)
    return min(times)
