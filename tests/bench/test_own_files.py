"""A user's own file: the least that is enough, and what is said of less."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from weft_bench.kernel import RETURN
from weft_bench.loading import KernelFileError, load_kernel
from weft_bench.selection import choose_kernels


def write(folder: Path, text: str) -> str:
    path = folder / "mine.py"
    path.write_text(f"import numpy as np\n{text}", encoding="utf-8")
    return str(path)


WHOLE = """
from weft_bench.kernel import Kernel

def scale(x, factor):
    return x * factor

def make_inputs(sizes, dtype, rng):
    return {"x": rng.random(sizes["n"]).astype(dtype), "factor": 3.0}

KERNEL = Kernel(
    name="scale", known_as="scale", function=scale, title="", domain="", dwarf="", presets={"S": {"n": 5}},
    make_inputs=make_inputs, dtypes=("float64",), outputs=("return",),
)
"""


def test_a_file_with_a_kernel_is_taken_as_it_is(tmp_path: Path) -> None:
    program = choose_kernels([write(tmp_path, WHOLE)])[0]

    assert program.label == "scale"
    assert program.kernel.outputs == (RETURN,)
    assert program.kernel.inputs("S")["x"].shape == (5,)


def test_two_functions_are_enough(tmp_path: Path) -> None:
    text = "def f(a, out, n): out[:] = a * n; return n\ndef initialize(): return np.ones(3), np.zeros(3), 2\n"
    kernel = choose_kernels([write(tmp_path, text)])[0].kernel

    assert kernel.outputs == ("out", RETURN)
    assert list(kernel.inputs("S")) == ["a", "out", "n"]
    assert list(kernel.presets) == ["S"]


def test_sizes_types_and_presets_reach_the_maker(tmp_path: Path) -> None:
    text = """
PRESETS = {"S": {"n": 3}, "M": {"n": 30}}
DTYPES = ("float32", "float64")
OUTPUTS = ("return",)
TOLERANCE = 8
def mine(a): return a + helper(a)
def helper(a): return a
def make_inputs(n, dtype, rng): return {"a": rng.random(n).astype(dtype)}
"""
    kernel = choose_kernels([write(tmp_path, text)])[0].kernel

    assert kernel.inputs("M", "float32")["a"].shape == (30,)
    assert kernel.inputs("S", "float32")["a"].dtype == np.float32
    assert kernel.tolerance({}) == 8.0
    assert kernel.name == "mine"


def test_a_neighbour_can_be_imported(tmp_path: Path) -> None:
    (tmp_path / "beside_mine.py").write_text("def twice(a): return 2 * a\n")
    text = "from beside_mine import twice\ndef f(a): return twice(a)\ndef make_inputs(): return np.ones(3)\n"

    assert choose_kernels([write(tmp_path, text)])[0].kernel.outputs == (RETURN,)


MAKER = "def make_inputs(): return {'a': np.ones(3)}\n"
WRONG = [
    ("def f(a) return a\n", "mine.py:2: not Python: expected ':'"),
    ("1 / 0\n", "mine.py:2: importing it raises ZeroDivisionError"),
    ("x = 1\n", "mine.py: it has neither KERNEL nor a function"),
    ("KERNEL = 7\n", "mine.py: KERNEL is int, not weft_bench.kernel.Kernel"),
    ("def f(a): return a\n", "mine.py:2: nothing makes the arguments of f"),
    (f"def f(a): return a\ndef g(a): return a\n{MAKER}", "mine.py: which of its functions is the kernel: f, g?"),
    (
        f"\ndef f(a, b): return a\n{MAKER}",
        "mine.py:3: f(a, b) cannot take what make_inputs gives: missing a required argument: 'b'\n"
        "  expected: def f(a), or a make_inputs that gives a, b",
    ),
    (f"def f(b): return b\n{MAKER}", "mine.py:2: f(b) cannot take what make_inputs gives"),
    (f"def f(a, /): return a\n{MAKER}", "mine.py:2: f(a) cannot take what make_inputs gives"),
    (f"def f(a): pass\n{MAKER}", "mine.py:2: f returns nothing and changes no argument"),
    (f"def f(a):\n    return a[9]\n{MAKER}", "mine.py:3: f cannot be run at preset S: IndexError"),
    (f"OUTPUTS = ('b',)\ndef f(a): return a\n{MAKER}", "mine.py:3: the output b is no argument of it"),
    ("def f(a): return a\ndef make_inputs(n): return np.ones(n)\n", "mine.py:3: make_inputs wants n, which no preset"),
    (f"PRESETS = 3\ndef f(a): return a\n{MAKER}", "mine.py: PRESETS is not a mapping"),
]


@pytest.mark.parametrize(("text", "message"), WRONG)
def test_a_wrong_file_is_told_with_its_place_and_what_is_expected(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(KernelFileError) as caught:
        choose_kernels([write(tmp_path, text)])

    assert message in str(caught.value)
    assert "\n  expected: " in str(caught.value)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(KernelFileError, match="there is no such Python file"):
        load_kernel(tmp_path / "none.py")
