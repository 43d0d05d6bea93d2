"""The code metrics count the program and nothing else."""

from __future__ import annotations

from inspect import getsourcefile
from pathlib import Path

import pytest

from weft_bench.adaptation import compare_lines, measure_adaptation, program_lines
from weft_bench.kernels import BY_NAME, KERNELS

HISTOGRAM = BY_NAME["azimuthal_histogram"]


def own_file(name: str) -> Path:
    file = getsourcefile(BY_NAME[name].function)
    assert file is not None
    return Path(file)


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "override.py"
    path.write_text(text, encoding="utf-8")
    return path


def test_program_is_the_function_with_the_helpers_constants_and_imports_it_uses() -> None:
    text = '''"""A module."""
from __future__ import annotations
from typing import Any
import os
import numpy as np
from numpy.typing import NDArray
from weft_bench.kernel import Inputs, Kernel

LIMIT = 3
UNUSED = 4

def helper(x: NDArray[Any]) -> NDArray[Any]:
    """Words."""
    y: NDArray[Any] = np.exp(  # a comment
        x
    )

    return y

def f(x: NDArray[Any], n: int) -> NDArray[Any]:
    """Words."""
    return helper(x) + LIMIT

def make_inputs(sizes):
    return {"x": os.urandom(UNUSED)}

KERNEL = Kernel(function=f)
'''
    assert program_lines(text, ["f"]) == [
        "import numpy as np",
        "LIMIT = 3",
        "def helper(x):",
        "y = np.exp(x)",
        "return y",
        "def f(x, n):",
        "return helper(x) + LIMIT",
    ]


def test_the_types_of_a_framework_are_part_of_the_program() -> None:
    text = "import dace\nfrom typing import Any\nN = dace.symbol('N')\ndef f(x: dace.float64[N], y: Any): x[:] = y\n"

    assert "def f(x: dace.float64[N], y):" in program_lines(text, ["f"])
    assert "N = dace.symbol('N')" in program_lines(text, ["f"])


def test_the_papers_example_keeps_three_of_four_lines() -> None:
    numpy = [
        "import numpy as np",
        "def kernel(path):",
        "for k in range(path.shape[0]):",
        "path[:] = np.minimum(path[:, :], np.add.outer(path[:, k], path[k, :]))",
    ]
    numba = [
        "import numpy as np",
        "import numba as nb",
        "@nb.jit(nopython=True, parallel=False, fastmath=True)",
        "def kernel(path):",
        "for k in range(path.shape[0]):",
        "for i in range(path.shape[0]):",
        "path[i, :] = np.minimum(path[i, :], path[i, k] + path[k, :])",
    ]

    kept, changed = compare_lines(numpy, numba)

    assert kept / len(numpy) == 0.75
    assert changed == 4  # two added, one altered into two


def test_an_unchanged_kernel_changes_by_the_lines_the_adapter_adds() -> None:
    found = measure_adaptation(HISTOGRAM, own_file(HISTOGRAM.name), False, ("import numba", "@numba.njit", ""))

    assert (found.numpy_lines, found.lines, found.changed, found.kept) == (5, 7, 2, 1.0)
    assert not found.is_override


def test_an_added_line_replaces_the_one_that_binds_its_name() -> None:
    typed = "def azimuthal_histogram(data: dace.float64[N], radius: dace.float64[N], rings: dace.int64):"
    imported = measure_adaptation(HISTOGRAM, own_file(HISTOGRAM.name), False, ("import jax", "import jax.numpy as np"))
    annotated = measure_adaptation(
        HISTOGRAM, own_file(HISTOGRAM.name), False, ("import dace", f"@dace.program\n{typed}")
    )

    assert (imported.lines, imported.changed, imported.kept) == (6, 2, 0.8)
    assert (annotated.lines, annotated.changed, annotated.kept) == (7, 3, 0.8)


def test_kept_and_changed_are_the_best_that_can_be_said() -> None:
    assert compare_lines(list("abcdef"), list("bcdefa")) == (5, 2)
    assert compare_lines(list("abc"), list("xyz")) == (0, 3)
    assert compare_lines([], list("xy")) == (0, 2)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_every_kernel_is_its_own_program(kernel) -> None:
    found = measure_adaptation(kernel, own_file(kernel.name), False, ())

    assert found.numpy_lines == found.lines >= 2
    assert (found.changed, found.kept) == (0, 1.0)


def test_an_override_counts_whole_but_layout_comments_and_hints_do_not(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        '''"""Why it differs."""
import numba as nb
import numpy as np

SETTING = nb.config.THREADING_LAYER  # stands there for its effect

@nb.njit
def weighted(radius, rings, data):
    total = np.zeros(rings)
    for i in range(radius.size):
        total[int(radius[i])] += data[i]
    return total

@nb.njit
def azimuthal_histogram(
    data, radius, rings
):
    # a comment
    points = np.histogram(radius, rings)[
        0
    ]
    total = weighted(radius, rings, data)
    return total / points
''',
    )

    found = measure_adaptation(HISTOGRAM, path, True, ("@nb.njit",))

    assert found.kept == 0.8  # the paper finds the same for its Numba histogram
    assert found.lines == 14
    assert found.changed == 10
    assert found.is_override


def test_pythrans_comment_is_a_line_as_in_the_paper(tmp_path: Path) -> None:
    text = own_file(HISTOGRAM.name).read_text(encoding="utf-8")
    line = "# pythran export azimuthal_histogram(float64[], float64[], int)"
    path = write(tmp_path, f"{line}\n# another comment\n{text}")

    assert measure_adaptation(HISTOGRAM, path, False, ()).changed == 1
    assert measure_adaptation(HISTOGRAM, path, False, (line,)).changed == 1
