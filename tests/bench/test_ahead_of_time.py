"""What Pythran and DaCe are given: the kernel's program and nothing else, with types taken from its arguments."""

from __future__ import annotations

import ast
import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft_bench
from weft_bench.agreement import compare_outputs
from weft_bench.frameworks.dace_programs import DACE, as_number, program_text
from weft_bench.frameworks.extraction import (
    REFUSAL,
    MissingToolError,
    extract,
    read_constant,
    require,
    scalar_type,
    what_went_wrong,
)
from weft_bench.frameworks.protocol import Source, UnsupportedKernelError
from weft_bench.frameworks.pythran_modules import PYTHRAN, export_line
from weft_bench.frameworks.shape_symbols import name_extents, symbol_values
from weft_bench.kernel import Inputs, Kernel
from weft_bench.kernels import BY_NAME, KERNELS

PACKAGE = Path(weft_bench.__file__).parent
SAMPLE = '''"""A module."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

SCALE, UNUSED = 2.0, 3
OTHER = 4


def double(x: NDArray[Any]) -> NDArray[Any]:
    """Twice."""
    return SCALE * x


def not_needed(x: NDArray[Any]) -> NDArray[Any]:
    return OTHER * x


def sample(  # noqa: PLR0913
    x: NDArray[Any],
    by: float,
) -> NDArray[Any]:
    """Doubled."""
    # omp parallel for
    for i in range(x.shape[0]):
        x[i] = by  # all of it
    return np.sum(double(x))
'''


def source_of(kernel: Kernel, artefacts: Path) -> Source:
    path = PACKAGE / "kernels" / f"{kernel.name}.py"
    return Source(kernel=kernel, path=path, is_override=False, artefacts=artefacts, threads=1)


def small_inputs(kernel: Kernel) -> Inputs:
    return kernel.inputs({name: max(2, value * 4 // 7) for name, value in kernel.presets["S"].items()})


def test_the_function_comes_with_its_helpers_and_constants_alone(tmp_path: Path) -> None:
    (tmp_path / "sample.py").write_text(SAMPLE)
    text = extract(tmp_path / "sample.py", "sample").text()

    assert text == (
        "import numpy as np\nSCALE, UNUSED = (2.0, 3)\n\n\ndef double(x):\n    return SCALE * x\n\n\n"
        "def sample(x, by):\n    # omp parallel for\n    for i in range(x.shape[0]):\n"
        "        x[i] = by  # all of it\n    return np.sum(double(x))\n"
    )


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_what_is_extracted_computes_the_same(kernel: Kernel) -> None:
    program = extract(PACKAGE / "kernels" / f"{kernel.name}.py", kernel.name)
    text = program.text()
    assert "weft" not in text
    assert "NDArray" not in text
    names: dict[str, Any] = {}
    exec(compile(text, kernel.name, "exec"), names)
    outputs: list[dict[str, Any]] = []
    for function in (kernel.function, names[kernel.name]):
        arguments = small_inputs(kernel)
        outputs.append(kernel.collect(function(**arguments), arguments))
    assert compare_outputs(outputs[0], outputs[1], 0.0).ok
    assert program.function(kernel.name).parameters == tuple(small_inputs(kernel))


def test_an_override_may_refuse(tmp_path: Path) -> None:
    (tmp_path / "lenet.py").write_text('UNSUPPORTED = "no such reduction"\n')
    with pytest.raises(UnsupportedKernelError, match="no such reduction"):
        extract(tmp_path / "lenet.py", "lenet")


def test_a_file_without_the_function_is_named(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def other(x):\n    return x\n")
    with pytest.raises(UnsupportedKernelError, match=r"mine\.py defines no function mine"):
        extract(tmp_path / "mine.py", "mine")


def test_defaults_are_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def mine(x, by=2):\n    return x * by\n")
    with pytest.raises(UnsupportedKernelError, match="plain parameters"):
        extract(tmp_path / "mine.py", "mine")


def test_the_export_line_has_the_types_of_the_arguments() -> None:
    arguments = {
        "steps": 3,
        "flag": True,
        "number": 0.5,
        "own": np.float64(1.0),
        "A": np.zeros((2, 3)),
        "B": np.zeros(4, np.complex64),
        "C": np.zeros((1, 2, 3), np.uint8),
    }
    assert export_line("f", arguments) == (
        "#pythran export f(int, bool, float64, float64, float64[:,:] order(C), complex64[:], uint8[:,:,:])"
    )


@pytest.mark.parametrize(
    ("value", "dtype", "wanted"),
    [(0.5, "float32", "float32"), (0.5, "complex64", "float32"), (0.5j, "float32", "complex64"),
     (0.5, "int32", "float64"), (np.float64(0.5), "float32", "float64"), (2, "float32", "int64")],
)  # fmt: skip
def test_a_python_number_is_as_narrow_as_the_arrays_beside_it(value: object, dtype: str, wanted: str) -> None:
    assert scalar_type(value, {"x": np.zeros(2, dtype), "value": value}).name == wanted


def test_extents_follow_the_sizes() -> None:
    def shapes(name: str) -> dict[str, str]:
        named = name_extents(BY_NAME[name], BY_NAME[name].inputs("S"))
        return {array: ", ".join(str(extent) for extent in shape) for array, shape in named.items()}

    assert shapes("fdtd_2d") == {
        "ex": "n_rows, n_columns + 1",
        "ey": "n_rows + 1, n_columns",
        "hz": "n_rows, n_columns",
        "source": "n_steps",
    }
    assert shapes("nbody") == {"mass": "n_bodies", "position": "n_bodies, 3", "velocity": "n_bodies, 3"}
    assert shapes("stockham_fft") == {"x": "n_x_0"} or shapes("stockham_fft") == {"x": "n_points"}
    sparse = shapes("sparse_product")
    assert sparse["columns"] == sparse["values"] == "n_columns_0"
    assert sparse["starts"] == "n_rows + 1"


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_one_program_of_dace_serves_every_size(kernel: Kernel) -> None:
    arguments = small_inputs(kernel)
    shapes = name_extents(kernel, arguments)
    values = symbol_values(shapes, arguments)
    for name, shape in shapes.items():
        assert arguments[name].shape == tuple(values.get(extent.symbol, 0) + extent.offset for extent in shape)
        assert all(extent.symbol or extent.offset <= 10 for extent in shape)


def test_dace_gets_symbols_for_integers_and_extents() -> None:
    kernel = BY_NAME["jacobi_1d"]
    arguments = kernel.inputs("S")
    program = extract(PACKAGE / "kernels" / "jacobi_1d.py", "jacobi_1d")
    text = program_text(program, "jacobi_1d", arguments, name_extents(kernel, arguments))
    assert text.splitlines()[:7] == [
        "import dace",
        "steps = dace.symbol('steps', dace.int64)",
        "n_points = dace.symbol('n_points', dace.int64)",
        "",
        "",
        "@dace.program",
        "def jacobi_1d(A: dace.float64[n_points], B: dace.float64[n_points]):",
    ]


def test_an_override_may_ask_for_the_very_sizes(tmp_path: Path) -> None:
    kernel = BY_NAME["jacobi_1d"]
    path = tmp_path / "jacobi_1d.py"
    path.write_text('CONCRETE = "for the test"\n\n\ndef jacobi_1d(steps, A, B):\n    B[:] = A\n')
    source = Source(kernel=kernel, path=path, is_override=True, artefacts=tmp_path, threads=1)
    assert DACE.added_lines(source) == (
        "import dace",
        "steps = 500",
        "@dace.program",
        "def jacobi_1d(A: dace.float64[4000], B: dace.float64[4000]):",
    )


def test_dace_returns_numbers_as_arrays_of_one() -> None:
    assert type(as_number(np.array([7]), is_scalar=True)) is int
    assert type(as_number(np.array([0.5]), is_scalar=True)) is np.float64
    assert isinstance(as_number(np.array([0.5]), is_scalar=False), np.ndarray)


def test_added_lines_are_those_that_are_compiled(tmp_path: Path) -> None:
    source = source_of(BY_NAME["jacobi_1d"], tmp_path)
    assert PYTHRAN.added_lines(source) == ("#pythran export jacobi_1d(int, float64[:], float64[:])",)
    assert DACE.added_lines(source) == (
        "import dace",
        "steps = dace.symbol('steps', dace.int64)",
        "n_points = dace.symbol('n_points', dace.int64)",
        "@dace.program",
        "def jacobi_1d(A: dace.float64[n_points], B: dace.float64[n_points]):",
    )


def test_a_missing_tool_is_named_with_the_way_out() -> None:
    with pytest.raises(MissingToolError, match=r"no-such-tool is not on the PATH .* apt install it"):
        require("no-such-tool", "apt install it")


def test_the_first_error_of_a_long_output_is_told() -> None:
    output = "g++ -O3 ...\n/a/b/file.cpp:1: note: x\n/a/b/file.cpp:2: error: no match\nfile.cpp:3: error: other\n"
    assert what_went_wrong(output) == "file.cpp:2: error: no match"
    assert what_went_wrong("CRITICAL: trouble\nk.py:6:13 error: Attribute unknown\n") == (
        "k.py:6:13 error: Attribute unknown"
    )
    assert what_went_wrong("ModuleNotFoundError: no pythran\n") == "ModuleNotFoundError: no pythran"
    assert what_went_wrong("") == "no message"


@pytest.mark.parametrize("framework", ["pythran", "dace"])
def test_every_override_is_that_of_a_kernel_and_keeps_its_parameters(framework: str) -> None:
    for path in (PACKAGE / "overrides" / framework).glob("*.py"):
        if path.name == "__init__.py":
            continue
        kernel = BY_NAME[path.stem]
        if reason := read_constant(ast.parse(path.read_text()), REFUSAL):
            assert "\n" not in reason
            continue
        assert extract(path, kernel.name).function(kernel.name).parameters == tuple(small_inputs(kernel))


CHECK = """
import sys
from pathlib import Path
from weft_bench.agreement import compare_outputs
from weft_bench.frameworks.{module} import {name} as framework
from weft_bench.frameworks.protocol import Source
from weft_bench.kernels import BY_NAME
from weft_bench.timing import fresh

for name in {kernels}:
    kernel = BY_NAME[name]
    own = Path({package!r}) / "overrides" / framework.overrides / f"{{name}}.py"
    path = own if own.exists() else Path({package!r}) / "kernels" / f"{{name}}.py"
    source = Source(
        kernel=kernel, path=path, is_override=own.exists(), artefacts=Path(sys.argv[1]) / name, threads=1
    )
    inputs = kernel.inputs("S")
    expected_inputs = fresh(inputs)
    expected = kernel.collect(kernel.function(**expected_inputs), expected_inputs)
    for found in (False, True):
        built = framework.build(source, inputs)
        assert built.from_artefacts is found, name
        loaded = built.load(fresh(inputs))
        actual = kernel.collect(built.unload(built.wait(built.call(**loaded))), loaded)
        agreement = compare_outputs(expected, actual, max(1e4, kernel.tolerance(kernel.presets["S"])))
        assert agreement.ok, (name, agreement.reason)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "name", "kernels"),
    [
        ("pythran_modules", "PYTHRAN", ("jacobi_1d", "crc16", "gram_schmidt")),
        ("dace_programs", "DACE", ("jacobi_1d", "matrix_product", "gram_schmidt")),
    ],
)
def test_kernels_agree_and_are_found_again(module: str, name: str, kernels: tuple[str, ...], tmp_path: Path) -> None:
    framework = {"PYTHRAN": PYTHRAN, "DACE": DACE}[name]
    home = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser()
    python = home / "weft-bench" / "environments" / framework.name / "bin" / "python"
    if not python.exists():
        pytest.skip(f"no environment: weft bench setup {framework.name}")
    program = CHECK.format(module=module, name=name, kernels=kernels, package=str(PACKAGE))
    environment = {**os.environ, **framework.environment(1), "PYTHONPATH": str(PACKAGE.parent)}
    done = subprocess.run(
        [str(python), "-c", program, str(tmp_path)], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
