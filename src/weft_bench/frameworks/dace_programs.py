"""DaCe: the kernel's source as a `@dace.program` with symbolic shapes, auto-optimised for the CPU and compiled.

in:   `def jacobi_1d(steps, A, B)` and an example of its arguments
out:  `@dace.program def jacobi_1d(A: dace.float64[n_points], B: dace.float64[n_points])`, compiled by CMake and g++

Integers among the parameters become symbols (here `steps`): only those may be extents of arrays. So one program serves
all sizes, but for the overrides that say `CONCRETE`, which are compiled for each (lenet, stockham_fft). Products and
factorisations are OpenBLAS's, from the package `scipy-openblas32`. A call returns new arrays, as a call of the
decorated function does; the compiled object by itself would hand out those of the call before.
"""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import sys
from collections.abc import Mapping
from contextlib import chdir
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import numpy as np

from weft_bench.frameworks.extraction import (
    Extract,
    extract,
    is_array,
    read_constant,
    require,
    scalar_type,
    what_went_wrong,
)
from weft_bench.frameworks.protocol import Built, Source, UnsupportedKernelError
from weft_bench.frameworks.shape_symbols import Shapes, name_extents, number_extents, symbol_values
from weft_bench.kernel import Inputs

FLAGS = "-std=c++14 -fPIC -O3 -march=native -ffast-math -w"
LIBRARY_HEADER = "library_names.h"
CONCRETE = "CONCRETE"
# Threads of OpenMP that wait soon give their processor to those of OpenBLAS; as they come, the two hold each other up
# (`covariance`: 30 times as long). Programs without products wait as they come, which suits short loops.
SHORT_WAIT = "1000"


@dataclass(frozen=True, slots=True)
class DacePrograms:
    """The framework "dace"."""

    name: str = "dace"
    title: str = "DaCe"
    requirements: tuple[str, ...] = (
        "dace==1.0.2",
        "numpy==1.26.4",  # DaCe 1.0.2 uses names NumPy 2 took away
        "networkx<3.5",  # and a module networkx 3.5 moved
        "setuptools<81",
        "cmake",
        "scipy-openblas32",
    )
    math: str = "auto-optimize, -O3 -march=native -ffast-math"
    needs_gpu: bool = False
    overrides: str = "dace"

    def environment(self, threads: int) -> Mapping[str, str]:
        """OpenMP's loops and OpenBLAS's products share the same number; the user's settings of DaCe do not count."""
        return {
            "OMP_NUM_THREADS": str(threads),
            "OPENBLAS_NUM_THREADS": str(threads),
            "DACE_CONFIG": os.devnull,
            "DACE_compiler_cpu_args": FLAGS,
            "DACE_compiler_allow_view_arguments": "1",  # arrays read from a file are views
        }

    def version(self) -> str:
        """That of the package, which is imported here: that takes seconds which are not the build's."""
        return str(import_module("dace").__version__)

    def build(self, source: Source, arguments: Inputs) -> Built:
        """Write the program, compile it unless the same was compiled before, load it."""
        os.environ.update(self.environment(source.threads))  # before DaCe is imported: it reads them once
        program = extract(source.path, source.kernel.name)
        shapes = find_shapes(source, arguments)
        text = program_text(program, source.kernel.name, arguments, shapes)
        if re.search(r"@ |linalg", text):
            os.environ["GOMP_SPINCOUNT"] = SHORT_WAIT
        compiled, found = compile_program(source, text)
        passed = set(compiled.sdfg.arglist())
        types = {name: scalar_type(value, arguments) for name, value in arguments.items() if np.ndim(value) == 0}
        scalars = {name for name, array in compiled.sdfg.arrays.items() if tuple(array.shape) == (1,)}

        def load(given: Inputs) -> Inputs:
            compiled.clear_return_values()
            values = {**given, **symbol_values(shapes, given)}
            return {
                name: types[name].type(value) if name in types else value
                for name, value in values.items()
                if name in passed or name in source.kernel.outputs
            }

        def wait(result: Any) -> Any:
            if isinstance(result, list | tuple):
                items = enumerate(cast("list[Any]", result))
                return tuple(as_number(item, is_scalar=f"__return_{number}" in scalars) for number, item in items)
            return as_number(result, is_scalar="__return" in scalars)

        return Built(call=compiled, load=load, wait=wait, from_artefacts=found)

    def added_lines(self, source: Source) -> tuple[str, ...]:
        """Import, symbols, decorator and the `def` line with types, for the smallest example."""
        arguments = source.kernel.inputs("S")
        program = extract(source.path, source.kernel.name)
        shapes = find_shapes(source, arguments)
        typed = annotate(program, source.kernel.name, arguments, shapes).function(source.kernel.name)
        return (*header(program, source.kernel.name, arguments, shapes), *typed.text().splitlines()[:2])


def find_shapes(source: Source, arguments: Inputs) -> Shapes:
    """In symbols, unless the file says `CONCRETE = "why"`: DaCe cannot compute with every expression of symbols."""
    if read_constant(ast.parse(source.path.read_text(encoding="utf-8")), CONCRETE):
        return number_extents(arguments)
    return name_extents(source.kernel, arguments)


def as_number(value: Any, *, is_scalar: bool) -> Any:
    """DaCe returns a number as an array of one; NumPy's integers come from Python's own counting."""
    if not is_scalar or not is_array(value):
        return value
    return int(value[0]) if value.dtype.kind in "iu" else value[0]


def program_text(program: Extract, name: str, arguments: Inputs, shapes: Shapes) -> str:
    """The module DaCe reads: it takes the source of functions from their file."""
    return annotate(program, name, arguments, shapes).text(header(program, name, arguments, shapes))


def header(program: Extract, name: str, arguments: Inputs, shapes: Shapes) -> tuple[str, ...]:
    """The import and the symbols; a program for one size has numbers instead."""
    extents = sorted({extent.symbol for shape in shapes.values() for extent in shape if extent.symbol})
    integers = [parameter for parameter in program.function(name).parameters if is_symbol(arguments[parameter])]
    if not extents:
        return ("import dace", *(f"{parameter} = {arguments[parameter]}" for parameter in integers))
    return ("import dace", *(f"{symbol} = dace.symbol({symbol!r}, dace.int64)" for symbol in [*integers, *extents]))


def is_symbol(value: Any) -> bool:
    """Python's integers: counts of steps, extents of results."""
    return isinstance(value, int) and not isinstance(value, bool)


def annotate(program: Extract, name: str, arguments: Inputs, shapes: Shapes) -> Extract:
    """The kernel's function with its decorator and types, less the parameters that are symbols."""
    parameters = tuple(
        f"{parameter}: {type_name(arguments, parameter, shapes)}"
        for parameter in program.function(name).parameters
        if not is_symbol(arguments[parameter])
    )
    definitions = tuple(
        replace(definition, parameters=parameters, decorators=("@dace.program",))
        if definition.name == name
        else definition
        for definition in program.definitions
    )
    return replace(program, definitions=definitions)


def type_name(arguments: Inputs, parameter: str, shapes: Shapes) -> str:
    """A type as DaCe spells it: `dace.float64[n_rows, n_columns + 1]`."""
    value = arguments[parameter]
    if parameter not in shapes:
        return f"dace.{scalar_type(value, arguments).name}"
    return f"dace.{value.dtype.name}[{', '.join(str(extent) for extent in shapes[parameter])}]"


def compile_program(source: Source, text: str) -> tuple[Any, bool]:
    """The compiled program, and whether it was found."""
    name = source.kernel.name
    artefacts = source.artefacts.resolve()
    module, folder, finished = artefacts / f"{name}_dace.py", artefacts / "build", artefacts / "finished"
    if finished.exists() and module.exists() and module.read_text(encoding="utf-8") == text:
        return import_module("dace.sdfg.utils").load_precompiled_sdfg(str(folder)), True
    artefacts.mkdir(parents=True, exist_ok=True)
    finished.unlink(missing_ok=True)
    module.write_text(text, encoding="utf-8")
    require_tools()
    use_openblas(artefacts)
    with chdir(artefacts):  # a graph that is not valid is left in the working folder
        sdfg = parse_program(module, name)
        sdfg.build_folder = str(folder)
        compiled = optimize_and_compile(sdfg)
    finished.touch()  # last, so that an interrupted build is never taken for a finished one
    return compiled, False


def optimize_and_compile(sdfg: Any) -> Any:
    """DaCe's own sequence of transformations for the CPU, then its C++."""
    dace: Any = import_module("dace")
    optimizer: Any = import_module("dace.transformation.auto.auto_optimize")
    try:
        optimizer.auto_optimize(sdfg, dace.DeviceType.CPU)
        return sdfg.compile()
    except Exception as error:
        raise RuntimeError(f"dace: {type(error).__name__}: {what_went_wrong(str(error))}") from error


def parse_program(module: Path, name: str) -> Any:
    """DaCe's graph of the program; what its frontend cannot read, it says in exceptions of many classes."""
    program = load_program(module, name)
    try:
        return program.to_sdfg(simplify=True)
    except Exception as error:
        raise UnsupportedKernelError(f"dace: {type(error).__name__}: {what_went_wrong(str(error))}") from error


def require_tools() -> None:
    """CMake comes with the environment, the compiler with the machine."""
    tools = str(Path(sys.executable).parent)
    if tools not in os.environ.get("PATH", "").split(os.pathsep):
        os.environ["PATH"] = os.pathsep.join((tools, os.environ.get("PATH", "")))
    require("g++", "install GCC's C++ compiler (Debian: apt install g++)")
    require("cmake", "make the environment again: weft bench setup dace")


def use_openblas(artefacts: Path) -> None:
    """Let DaCe's OpenBLAS be that of the environment, whose functions carry a prefix that a header takes off.

    DaCe by itself looks for the system's libblas and liblapacke, which many machines do not have, and would write its
    own loops for matrix products without them.
    """
    openblas: Any = import_module("scipy_openblas32")
    settings: Any = import_module("dace.libraries.blas.environments.openblas").OpenBLAS
    include = Path(openblas.get_include_dir())
    lines = [f'#include "{include / name}"' for name in ("cblas.h", "lapacke.h")]
    for name in ("cblas.h", "lapacke.h"):
        prefixed = re.findall(r"\bscipy_((?:cblas|LAPACKE)_\w+)\s*\(", (include / name).read_text(encoding="utf-8"))
        lines += [f"#define {function} scipy_{function}" for function in sorted(set(prefixed))]
    header_path = artefacts / LIBRARY_HEADER
    header_path.write_text("\n".join(["#pragma once", "#include <complex>", *lines]) + "\n", encoding="utf-8")
    settings.cmake_packages = []
    settings.cmake_variables = {}
    settings.cmake_link_flags = [f"-Wl,-rpath,{openblas.get_lib_dir()}"]
    settings.headers = [str(header_path), "../include/dace_blas.h"]
    settings.cmake_libraries = staticmethod(
        lambda: [str(Path(openblas.get_lib_dir()) / f"lib{openblas.get_library()}.so")]
    )
    settings.is_installed = staticmethod(lambda: True)


def load_program(module: Path, name: str) -> Any:
    """The decorated function of the file."""
    found = importlib.util.spec_from_file_location(module.stem, module)
    if found is None or found.loader is None:
        raise RuntimeError(f"{module} cannot be imported")
    loaded = importlib.util.module_from_spec(found)
    sys.modules[module.stem] = loaded  # DaCe looks functions up by their module
    found.loader.exec_module(loaded)
    return getattr(loaded, name)


DACE = DacePrograms()
