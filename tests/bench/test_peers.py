"""What the adapters of Numba, JAX and CuPy make of a kernel's source, and, where installed, that it is right."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import weft_bench
from weft_bench.frameworks import cupy_arrays, jax_functions, kernel_text, numba_functions
from weft_bench.frameworks.cupy_arrays import CUPY
from weft_bench.frameworks.jax_functions import JAX, JAX_GPU
from weft_bench.frameworks.numba_functions import NUMBA
from weft_bench.frameworks.numpy_results import as_numpy
from weft_bench.frameworks.protocol import Source, UnsupportedKernelError
from weft_bench.kernels import BY_NAME, KERNELS

ROOT = Path(weft_bench.__file__).parent
OVERRIDES = sorted(path for folder in ("numba", "jax", "cupy") for path in (ROOT / "overrides" / folder).glob("*.py"))


def source_of(name: str, tmp_path: Path, path: Path | None = None) -> Source:
    own = ROOT / "kernels" / f"{name}.py"
    return Source(
        kernel=BY_NAME[name], path=path or own, is_override=path is not None, artefacts=tmp_path / "kept", threads=2
    )


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "override.py"
    path.write_text(text, encoding="utf-8")
    return path


# ---------------------------------------------------------------- the text


def test_only_functions_the_kernel_reaches_are_decorated():
    text = (ROOT / "kernels" / "lenet.py").read_text(encoding="utf-8")

    decorated = ast.parse(kernel_text.decorate(text, "lenet", "@numba.njit", "import numba"))

    names = {node.name for node in decorated.body if isinstance(node, ast.FunctionDef) and node.decorator_list}
    assert names == {"relu", "convolve", "pool", "lenet"}


def test_decoration_adds_lines_and_changes_none():
    text = (ROOT / "kernels" / "cavity_flow.py").read_text(encoding="utf-8")

    after = kernel_text.decorate(text, "cavity_flow", "@numba.njit", "import numba").splitlines()

    kept = [line for line in after if line not in ("@numba.njit", "import numba")]
    assert kept == text.splitlines()
    assert len(after) - len(kept) == 6  # five functions and the import


def test_an_import_is_put_behind_the_future_ones():
    text = '"""Doc."""\nfrom __future__ import annotations\ndef f(x):\n    return x\n'

    after = kernel_text.decorate(text, "f", "@g", "import g")

    assert after.splitlines()[2:5] == ["import g", "@g", "def f(x):"]


def test_a_second_decorator_goes_on_top_of_the_first():
    after = kernel_text.decorate("import a\n@a.b\ndef f(x):\n    return x\n", "f", "@g", "import g")

    assert after.splitlines() == ["import g", "import a", "@g", "@a.b", "def f(x):", "    return x"]


def test_a_file_without_the_numpy_import_is_refused_with_the_line_to_write():
    with pytest.raises(UnsupportedKernelError, match="import numpy as np"):
        kernel_text.replace_numpy("import numpy\n", "cupy")


def test_a_text_is_written_once_so_that_caches_stay_good(tmp_path: Path):
    source = source_of("lu", tmp_path)
    first = kernel_text.load_text("def lu(A):\n    return 1\n", source, "plain")
    path = Path(str(first.__file__))
    stamp = path.stat().st_mtime_ns

    kernel_text.load_text("def lu(A):\n    return 1\n", source, "plain")
    assert path.stat().st_mtime_ns == stamp

    assert kernel_text.load_text("def lu(A):\n    return 22\n", source, "plain").lu(None) == 22


def test_an_override_may_say_why_there_is_none(tmp_path: Path):
    with pytest.raises(UnsupportedKernelError, match="no such thing"):
        kernel_text.load_text('UNSUPPORTED = "no such thing"\n', source_of("lu", tmp_path), "plain")


def test_an_override_without_the_kernels_function_is_refused(tmp_path: Path):
    with pytest.raises(UnsupportedKernelError, match="no function `lu`"):
        kernel_text.load_text("def other(A):\n    return A\n", source_of("lu", tmp_path), "plain")


@pytest.mark.parametrize("path", OVERRIDES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_every_override_has_the_parameters_of_its_kernel(path: Path):
    text = path.read_text(encoding="utf-8")
    kernel = BY_NAME[path.stem]
    own = (ROOT / "kernels" / path.name).read_text(encoding="utf-8")

    assert parameters(text, kernel.name) == parameters(own, kernel.name)


def parameters(text: str, name: str) -> list[str]:
    (function,) = [node for node in kernel_text.program_of(text, name) if node.name == name]
    return [item.arg for item in function.args.args]


# ---------------------------------------------------------------- Numba


def test_numba_adds_its_decorator_and_import(tmp_path: Path):
    added = NUMBA.added_lines(source_of("heat_3d", tmp_path))

    assert added == ("import numba", *["@numba.njit(fastmath=True, parallel=True, cache=True)"] * 2)


def test_numba_leaves_automatic_parallelism_out_where_it_is_slower(tmp_path: Path):
    assert (
        NUMBA.added_lines(source_of("gram_schmidt", tmp_path))[1]
        == "@numba.njit(fastmath=True, parallel=False, cache=True)"
    )


def test_numba_adds_nothing_to_an_override(tmp_path: Path):
    source = source_of("softmax", tmp_path, ROOT / "overrides" / "numba" / "softmax.py")

    assert NUMBA.added_lines(source) == ()
    assert numba_functions.program(source) == source.path.read_text(encoding="utf-8")


def test_the_kernels_said_to_be_sequential_exist_and_have_no_override():
    overridden = {path.stem for path in OVERRIDES if path.parent.name == "numba"}

    assert set(BY_NAME) >= numba_functions.SEQUENTIAL
    assert not overridden & numba_functions.SEQUENTIAL


def test_of_numbas_error_the_telling_line_is_kept():
    message = (
        "Failed in nopython mode pipeline\n\n- Resolution failed\nNo implementation of function roll found\n >>> roll"
    )

    assert numba_functions.first_reason(message) == "No implementation of function roll found"


# ---------------------------------------------------------------- JAX


def test_jax_binds_np_and_makes_integers_static(tmp_path: Path):
    source = source_of("stockham_fft", tmp_path)

    text = jax_functions.program(source, ("radix", "stages"))

    assert "import jax.numpy as np\n" in text
    assert "\nimport numpy as np\n" not in text
    assert "@jax.jit(static_argnames=('radix', 'stages'))\ndef stockham_fft(" in text
    assert text.count("@jax.jit") == 1
    assert JAX.added_lines(source)[2] == "@jax.jit(static_argnames=('radix', 'stages'))"


def test_parameters_without_annotation_are_static_if_given_as_integers():
    text = "def f(x, n, m: int, w: float):\n    return x\n"

    assert jax_functions.static_parameters(text, "f", {"x": 2.0, "n": 3, "m": 4, "w": 5}) == ("n", "m")


@pytest.mark.parametrize("name", ["durbin", "transposed_products"])
def test_jax_refuses_a_kernel_that_changes_arrays(name: str, tmp_path: Path):
    with pytest.raises(UnsupportedKernelError, match="cannot be changed"):
        jax_functions.program(source_of(name, tmp_path), ())


def test_every_kernel_that_jax_refuses_has_an_override(tmp_path: Path):
    overridden = {path.stem for path in OVERRIDES if path.parent.name == "jax"}

    for kernel in KERNELS:
        if kernel.name not in overridden:
            jax_functions.program(source_of(kernel.name, tmp_path), ())


def test_static_names_in_jax_overrides_are_the_integers():
    for path in OVERRIDES:
        if path.parent.name == "jax":
            text = path.read_text(encoding="utf-8")
            (function,) = [node for node in kernel_text.program_of(text, path.stem) if node.name == path.stem]
            (decorator,) = function.decorator_list
            said = ast.literal_eval(decorator.keywords[0].value) if isinstance(decorator, ast.Call) else ()
            assert said == jax_functions.static_parameters(text, path.stem), path


def test_jax_on_a_gpu_differs_in_its_platform_alone():
    assert JAX_GPU.needs_gpu
    assert not JAX.needs_gpu
    assert JAX_GPU.environment(3)["JAX_PLATFORMS"] == "cuda"
    assert JAX.environment(3)["JAX_PLATFORMS"] == "cpu"
    assert JAX.environment(3)["NPROC"] == "3"
    assert JAX_GPU.overrides == JAX.overrides


@pytest.mark.parametrize(
    ("dtype", "single"), [("float32", True), ("complex64", True), ("float64", False), ("int32", False)]
)
def test_single_precision_is_seen_in_arrays_and_scalars(dtype: str, single: bool):
    scalar = np.dtype(dtype).type(1)

    assert jax_functions.has_single_precision({"n": 3, "w": 0.5, "A": np.zeros(2, dtype)}) is single
    assert jax_functions.has_single_precision({"n": 3, "w": 0.5, "s": scalar}) is single


# ---------------------------------------------------------------- CuPy, played by NumPy


@pytest.fixture
def fake_cupy(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A module that speaks NumPy and notes what it is asked for."""
    calls: list[str] = []

    class Device:
        def synchronize(self) -> None:
            calls.append("synchronize")

    fake: Any = ModuleType("cupy")
    fake.__dict__.update({name: getattr(np, name) for name in dir(np) if not name.startswith("__")})
    fake.__version__ = "14.2.0"
    fake.cuda = SimpleNamespace(Device=Device)
    monkeypatch.setenv("CUPY_CACHE_DIR", "the user's own")
    fake.asarray = lambda value: (calls.append("asarray"), value.copy())[1]
    fake.asnumpy = lambda value: (calls.append("asnumpy"), np.asarray(value))[1]
    monkeypatch.setitem(sys.modules, "cupy", fake)
    return calls


def test_cupy_runs_the_kernel_on_its_own_arrays(fake_cupy: list[str], tmp_path: Path):
    source = source_of("gram_schmidt", tmp_path)
    inputs = source.kernel.inputs({"rows": 5, "columns": 3})
    before = inputs["A"].copy()

    built = CUPY.build(source, inputs)
    loaded = built.load(inputs)
    result = built.wait(built.call(**loaded))

    assert np.array_equal(inputs["A"], before)
    assert np.allclose(built.unload(loaded["A"]) @ built.unload(result), before)
    assert fake_cupy == ["asarray", "synchronize", "synchronize", "asnumpy", "asnumpy"]
    assert not built.returns_outputs


def test_what_cupy_compiles_is_kept_for_each_kernel_apart(fake_cupy: list[str], tmp_path: Path):
    source = source_of("gram_schmidt", tmp_path)
    programs = source.artefacts / "programs"

    def first_call(compiled: str | None) -> bool:
        known = CUPY.build(source, {}).from_artefacts
        assert os.environ["CUPY_CACHE_DIR"] == str(programs)
        if compiled is not None:
            programs.mkdir(exist_ok=True)
            (programs / compiled).touch()
        assert callable(known)
        return known()

    assert not first_call("one.cubin")
    assert first_call(None)
    assert not first_call("two.cubin")


def test_cupy_takes_arrays_in_tuples_to_the_gpu(fake_cupy: list[str], tmp_path: Path):
    built = CUPY.build(source_of("gram_schmidt", tmp_path), {})

    built.load({"pair": (np.zeros(2), (np.ones(3), 4)), "n": 5})

    assert fake_cupy == ["asarray", "asarray", "synchronize"]


def test_cupy_binds_np_and_nothing_else(tmp_path: Path):
    source = source_of("lu", tmp_path)

    text = cupy_arrays.program(source)

    assert text == source.path.read_text(encoding="utf-8").replace("import numpy as np", "import cupy as np")
    assert CUPY.added_lines(source) == ("import cupy as np",)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_cupy_has_a_program_for_every_kernel(kernel: Any, tmp_path: Path):
    override = ROOT / "overrides" / "cupy" / f"{kernel.name}.py"

    assert "import cupy" in cupy_arrays.program(
        source_of(kernel.name, tmp_path, override if override.exists() else None)
    )


# ---------------------------------------------------------------- results


def test_results_come_back_with_numpys_types():
    count, energy, pair = as_numpy([np.array(3), np.array(2.5, np.float32), (1.5, np.zeros(2))])

    assert (type(count), type(energy), type(pair[0])) == (int, np.float32, np.float64)
    assert isinstance(pair[1], np.ndarray)


# ---------------------------------------------------------------- the frameworks themselves


@pytest.mark.slow
@pytest.mark.parametrize("framework", [NUMBA, JAX], ids=lambda framework: framework.name)
def test_every_kernel_is_right_at_two_sizes_where_the_framework_is_installed(framework: Any, tmp_path: Path):
    environments = pytest.importorskip("weft_bench.environments")
    python = environments.interpreter_of(framework)
    if not python.exists():
        pytest.skip(f"`weft bench setup {framework.name}` makes its environment")
    place = {"numba": "numba_functions:NUMBA", "jax": "jax_functions:JAX"}[framework.name]
    script = Path(__file__).with_name("run_peers.py")
    variables = {**os.environ, "PYTHONPATH": str(ROOT.parent), **framework.environment(2)}

    done = subprocess.run(
        [python, str(script), f"weft_bench.frameworks.{place}", str(tmp_path)],
        env=variables,
        capture_output=True,
        text=True,
        check=True,
    )

    results = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert len(results) == 2 * len(KERNELS)
    assert [result for result in results if result["problem"]] == []
