"""Generated code under the address and undefined-behaviour sanitizers: other tests again, in a process of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SELECTED = {
    "control": ("tests/codegen/test_control.py", ""),
    "nests": ("tests/codegen/test_nests.py", ""),
    "releases": ("tests/codegen/test_releases.py", ""),
    "nest warnings": ("tests/codegen/test_nest_warnings.py", "not random and not complex"),
    "reductions": ("tests/codegen/test_reductions.py", "FLOAT64 and F-False-2 or INT8 and 2 or nan"),
    "elements": ("tests/codegen/test_reduced_elements.py", "f4-1 or i4-2 or positions"),
    "warnings": ("tests/codegen/test_reduction_warnings.py", "quotient or choice or overflow"),
    "products": ("tests/codegen/test_products.py", "f8 or c8 or u1 or vector or batch"),
    "sweeps": ("tests/codegen/test_sweeps.py", "wide or swept or strides or warns"),
    "operations": ("tests/codegen/test_operations.py", "bits and (i8 or u2 or f8)"),
    "scalars": ("tests/codegen/test_python_scalars.py", ""),
}


def library(name: str) -> str:
    found = subprocess.run(
        ["gcc", f"-print-file-name={name}"], capture_output=True, text=True, check=True
    ).stdout.strip()
    return found if "/" in found else ""


@pytest.mark.sanitizer
@pytest.mark.skipif("WEFT_TEST_CFLAGS" in os.environ, reason="this is the run under the sanitizers")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in ("sweeps", "products") else ()) for name in SELECTED]
)
def test_nothing_to_complain_about(name: str) -> None:
    asan, ubsan = library("libasan.so"), library("libubsan.so")
    if not asan or not ubsan:
        pytest.skip("gcc has no sanitizers here")
    path, words = SELECTED[name]
    environment = {
        **os.environ,
        "LD_PRELOAD": f"{asan} {ubsan}",
        # Python's own memory is not under test, and a failed allocation is an answer.
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
        "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
        # What is optimised takes gcc five times as long, and may leave out the very thing to complain about.
        "WEFT_TEST_CFLAGS": "-O0 -g -fsanitize=address,undefined -fno-sanitize-recover=undefined",
    }
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-x",
        "-p",
        "no:cacheprovider",
        path,
        *(["-k", words] if words else []),
    ]
    result = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, (result.stdout + result.stderr)[-6000:]
