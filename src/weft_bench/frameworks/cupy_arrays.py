"""CuPy: `np` bound to `cupy`; everything else is the NumPy program, run by Python on arrays that lie on the GPU.

in:   a kernel's file or an override
out:  the function; nothing is compiled before the first call, and what CuPy compiles then it keeps among the artefacts

    import cupy as np
    def jacobi_2d(steps: int, A: NDArray[Any], B: NDArray[Any]) -> None:

CuPy makes a program for the GPU of every operation on every combination of types. By default it keeps them for all that
the user ever runs, and whoever comes second is quick; here each kernel has a cache of its own, so that its first call
shows what it costs.

Arguments are copied to the GPU before the time starts and results back after it ends; the time ends when the GPU has
done all it was asked for. Kernels that look at one number after the other wait for the GPU at each: they are run as
they are, and it is theirs to be slow.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from weft_bench.frameworks.kernel_text import load_text, replace_numpy
from weft_bench.frameworks.numpy_results import as_numpy
from weft_bench.frameworks.protocol import Built, Source
from weft_bench.kernel import Inputs


@dataclass(frozen=True, slots=True)
class CupyArrays:
    """The adapter."""

    name: str = "cupy"
    title: str = "CuPy"
    # CUDA 12 runs under the drivers of CUDA 13 too; `[ctk]` brings NVIDIA's libraries
    requirements: tuple[str, ...] = ("cupy-cuda12x[ctk]==14.2.0", "numpy==2.4.6")
    math: str = "CUDA's: fused multiply-add, sums in its own order, its own elementary functions"
    needs_gpu: bool = True
    overrides: str = "cupy"

    def environment(self, threads: int) -> Mapping[str, str]:
        return dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), str(threads))

    def version(self) -> str:
        return str(_cupy().__version__)

    def build(self, source: Source, arguments: Inputs) -> Built:
        del arguments  # CuPy has no types to settle before the call
        cupy = _cupy()
        programs = source.artefacts / "programs"
        os.environ["CUPY_CACHE_DIR"] = str(programs)  # read whenever CuPy looks for a program
        kept = _files(programs)
        function = getattr(load_text(program(source), source, self.name), source.kernel.name)

        def load(inputs: Inputs) -> Inputs:
            loaded = {name: _to_device(cupy, value) for name, value in inputs.items()}
            cupy.cuda.Device().synchronize()
            return loaded

        def wait(result: Any) -> Any:
            cupy.cuda.Device().synchronize()
            return result

        return Built(
            call=function,
            load=load,
            wait=wait,
            unload=lambda result: as_numpy(_to_host(cupy, result)),
            from_artefacts=lambda: bool(kept) and _files(programs) == kept,
        )

    def added_lines(self, source: Source) -> tuple[str, ...]:
        return () if source.is_override else ("import cupy as np",)


def program(source: Source) -> str:
    """The text Python is given: an override as it is, a kernel with `np` bound to `cupy`."""
    text = source.path.read_text(encoding="utf-8")
    return text if source.is_override else replace_numpy(text, "cupy")


def _cupy() -> Any:
    import cupy  # pyright: ignore[reportMissingImports]

    return cupy


def _files(folder: Path) -> set[str]:
    return {path.name for path in folder.glob("*")}


def _to_device(cupy: Any, value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(_to_device(cupy, item) for item in cast("tuple[Any, ...]", value))
    return cupy.asarray(value) if isinstance(value, np.ndarray) else value


def _to_host(cupy: Any, result: Any) -> Any:
    """CuPy refuses to become a NumPy array by itself, so every array is fetched."""
    if isinstance(result, tuple):
        return tuple(_to_host(cupy, item) for item in cast("tuple[Any, ...]", result))
    return cupy.asnumpy(result) if isinstance(result, cupy.ndarray) else result


CUPY = CupyArrays()
