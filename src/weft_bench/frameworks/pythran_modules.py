"""Pythran: the kernel's source with one export line, compiled ahead of time to a Python extension.

in:   `def jacobi_1d(steps, A, B)` and an example of its arguments
out:  the module with `#pythran export jacobi_1d(int, float64[:], float64[:])`, compiled by g++ and loaded

Matrix products are OpenBLAS's, from the package `scipy-openblas64`, as NumPy's are.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from weft_bench.frameworks.extraction import extract, is_array, require, scalar_type, what_went_wrong
from weft_bench.frameworks.protocol import Built, Source, UnsupportedKernelError
from weft_bench.kernel import Inputs

FLAGS = ("-O3", "-march=native", "-ffast-math", "-fopenmp", "-DUSE_XSIMD")
COMPILE_SECONDS = 1800
FRONTEND_REFUSAL = "does not seem to match Pythran's constraints"


@dataclass(frozen=True, slots=True)
class PythranModules:
    """The framework "pythran"."""

    name: str = "pythran"
    title: str = "Pythran"
    requirements: tuple[str, ...] = ("pythran==0.19.0", "numpy>=2.1", "setuptools", "scipy-openblas64")
    math: str = " ".join(FLAGS)
    needs_gpu: bool = False
    overrides: str = "pythran"

    def environment(self, threads: int) -> Mapping[str, str]:
        """OpenMP's loops and OpenBLAS's products share the same number."""
        return {"OMP_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": str(threads)}

    def version(self) -> str:
        """That of the package."""
        from importlib.metadata import version

        return version("pythran")

    def build(self, source: Source, arguments: Inputs) -> Built:
        """Write the module, compile it unless the same was compiled before, load it."""
        name = source.kernel.name
        program = extract(source.path, name)
        export = export_line(name, arguments)
        module = source.artefacts / f"{name}_pythran.py"
        library = module.with_suffix(".so")
        text = program.text((export,))
        found = library.exists() and module.exists() and module.read_text(encoding="utf-8") == text
        if not found:
            module.parent.mkdir(parents=True, exist_ok=True)
            library.unlink(missing_ok=True)
            module.write_text(text, encoding="utf-8")
            compile_module(module, library)
        function = load_function(library, name)
        parameters = program.function(name).parameters
        types = {name: scalar_type(value, arguments) for name, value in arguments.items() if np.ndim(value) == 0}

        def call(**given: Any) -> Any:
            return function(*[given[name] for name in parameters])

        def load(given: Inputs) -> Inputs:
            return {name: as_passed(value, types.get(name)) for name, value in given.items()}

        return Built(call=call, load=load, unload=as_numpy, from_artefacts=found)

    def added_lines(self, source: Source) -> tuple[str, ...]:
        """The export line, with the types of the smallest example."""
        kernel = source.kernel
        return (export_line(kernel.name, kernel.inputs("S")),)


def export_line(name: str, arguments: Inputs) -> str:
    """`#pythran export name(types)`, in the order of the parameters."""
    return f"#pythran export {name}({', '.join(type_name(value, arguments) for value in arguments.values())})"


def type_name(value: Any, arguments: Inputs) -> str:
    """A type as Pythran spells it: `float64[:,:] order(C)`, `int`."""
    if not is_array(value):
        if isinstance(value, bool | int):
            return type(value).__name__
        return scalar_type(value, arguments).name
    order = " order(C)" if value.ndim == 2 else ""  # others have no second order, and may not name the first
    return f"{value.dtype.name}[{','.join(':' * value.ndim)}]{order}"


def as_passed(value: Any, dtype: np.dtype[Any] | None) -> Any:
    """Pythran takes a Python float for float64 and nothing but NumPy's own for float32."""
    if dtype is None or isinstance(value, bool | int) or dtype.name in {"float64", "complex128"}:
        return value
    return dtype.type(value)


def as_numpy(result: Any) -> Any:
    """Numbers come back as Python's; NumPy would have given its own, but for integers counted in Python."""
    if isinstance(result, tuple):
        return tuple(as_numpy(item) for item in cast("tuple[Any, ...]", result))
    if isinstance(result, complex):
        return np.complex128(result)
    return np.float64(result) if isinstance(result, float) else result


def compile_module(module: Path, library: Path) -> None:
    """Run Pythran's compiler in a process of its own: g++ prints pages, of which the first error matters."""
    require("g++", "install GCC's C++ compiler (Debian: apt install g++)")
    command = [sys.executable, "-m", "pythran.run", *FLAGS, "--config", "compiler.blas=scipy-openblas"]
    # A name of its own until it is whole, so that an interrupted build is never taken for a finished one.
    unfinished = library.with_suffix(".tmp.so")
    done = subprocess.run(
        [*command, "-o", str(unfinished), str(module)],
        capture_output=True, text=True, timeout=COMPILE_SECONDS, check=False, cwd=module.parent,
    )  # fmt: skip
    if done.returncode != 0:
        output = done.stdout + done.stderr
        kind = UnsupportedKernelError if FRONTEND_REFUSAL in output else RuntimeError
        raise kind(f"pythran: {what_went_wrong(output)}")
    unfinished.rename(library)


def load_function(library: Path, name: str) -> Callable[..., Any]:
    """The exported function; the module's name is the one Pythran compiled into it."""
    module_name = f"{name}_pythran"
    found = importlib.util.spec_from_file_location(module_name, library)
    if found is None or found.loader is None:
        raise RuntimeError(f"{library} is no extension module of this Python: delete its folder to compile it again")
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return getattr(module, name)


PYTHRAN = PythranModules()
