"""Numba: `numba.njit` on the kernel's function and on every function of its file that it calls.

in:   a kernel's file, or an override that brings its own decorators
out:  a dispatcher, compiled for the types of the example arguments

    @numba.njit(fastmath=True, parallel=True, cache=True)
    def jacobi_2d(steps: int, A: NDArray[Any], B: NDArray[Any]) -> None:

Numba has two ways to take a program that is not changed, with and without its automatic parallelism, and neither is
better for all. `SEQUENTIAL` names the kernels for which `parallel=False` is, found at M with two threads. An override
holds what a user of Numba would write instead, with decorators of its own, to which nothing is added.
"""

from __future__ import annotations

import contextlib
import ctypes
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from weft_bench.frameworks.kernel_text import decorate, decorator_lines, load_text
from weft_bench.frameworks.numpy_results import as_numpy
from weft_bench.frameworks.protocol import Built, Source, UnsupportedKernelError
from weft_bench.kernel import Inputs

IMPORT = "import numba"
DECORATOR = "@numba.njit(fastmath=True, parallel={parallel}, cache=True)"
SEQUENTIAL = frozenset(
    {
        # scalar loops, and loops whose statements are too short to be worth starting threads for
        "alternating_directions",
        "cavity_flow",
        "cholesky",
        "crc16",
        "gram_schmidt",
        "nussinov",
        "seidel_2d",
        "self_energies",
        "triangular_solve",
        # matrix products and systems, which BLAS and LAPACK spread over the threads by themselves
        "contour_integral",
        "library_cholesky",
        # `y * roots[:, :, None]`: in parallel Numba 0.68 takes what broadcasts for a mismatch
        "stockham_fft",
    }
)


@dataclass(frozen=True, slots=True)
class NumbaFunctions:
    """The adapter."""

    name: str = "numba"
    title: str = "Numba"
    # scipy brings the BLAS and LAPACK that Numba calls; tbb the threads it likes best, as they do not spin in wait
    requirements: tuple[str, ...] = ("numba==0.68.1", "numpy==2.4.6", "scipy==1.17.1", "tbb==2022.3.1")
    math: str = "fastmath"
    needs_gpu: bool = False
    overrides: str = "numba"

    def environment(self, threads: int) -> Mapping[str, str]:
        names = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
        return dict.fromkeys(names, str(threads))

    def version(self) -> str:
        import numba  # pyright: ignore[reportMissingImports]

        return str(numba.__version__)  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]

    def build(self, source: Source, arguments: Inputs) -> Built:
        import numba  # pyright: ignore[reportMissingImports]

        compiler: Any = numba
        _find_tbb()
        function: Any = getattr(load_text(program(source), source, self.name), source.kernel.name)
        if not hasattr(function, "compile"):  # an override may leave a part to the interpreter
            return Built(call=function, unload=as_numpy)
        types = tuple(compiler.typeof(value) for value in arguments.values())
        try:
            function.compile(types)
        except (compiler.core.errors.TypingError, compiler.core.errors.UnsupportedError) as error:
            raise UnsupportedKernelError(first_reason(str(error))) from error
        stats = function.stats
        return Built(
            call=function,
            unload=as_numpy,
            from_artefacts=sum(stats.cache_hits.values()) > 0 and sum(stats.cache_misses.values()) == 0,
        )

    def added_lines(self, source: Source) -> tuple[str, ...]:
        if source.is_override:
            return ()
        return decorator_lines(_text(source), source.kernel.name, decorator(source), [IMPORT])


def decorator(source: Source) -> str:
    """The line over every function of an unchanged kernel."""
    return DECORATOR.format(parallel=source.kernel.name not in SEQUENTIAL)


def program(source: Source) -> str:
    """The text Numba is given: an override as it is, a kernel with the decorator."""
    text = _text(source)
    return text if source.is_override else decorate(text, source.kernel.name, decorator(source), IMPORT)


def first_reason(message: str) -> str:
    """Of Numba's many lines, the one that says what it does not take."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    telling = (
        "No implementation",
        "Use of unsupported",
        "No conversion",
        "Cannot unify",
        "unsupported",
        "not supported",
    )
    for line in lines:
        if any(word in line for word in telling):
            return line
    return lines[0] if lines else "Numba gives no reason"


def _find_tbb() -> None:
    """Load the `tbb` package's library by its path: Numba asks the system's loader, which knows no environments."""
    for path in sorted(Path(sys.prefix, "lib").glob("libtbb.so.*"))[:1]:
        with contextlib.suppress(OSError):  # then it is OpenMP
            ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)


def _text(source: Source) -> str:
    return source.path.read_text(encoding="utf-8")


NUMBA = NumbaFunctions()
