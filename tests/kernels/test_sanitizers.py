"""Compiled programs under the address and undefined-behaviour sanitizers: other tests again, in another process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.codegen.test_sanitizers import library
from tests.compiling import plain_compiler
from weft.driver.engine import toolchain_for
from weft.driver.options import compiler_choice

ROOT = Path(__file__).parents[2]
# Matrix products are the library's, whose memory is not watched; the others take a minute each.
PRODUCTS = ("products", "normal_product", "covariance_product", "perceptron")
SLOW = ("nbody", "channel_flow", "lenet", "residual_block")
WATCHED = " and not ".join(["float64", *PRODUCTS, *SLOW])
SELECTED = {
    "layouts": ("tests/kernels/test_forms.py", f"test_layouts and {WATCHED}"),
    "sizes": ("tests/kernels/test_forms.py", f"not test_layouts and {WATCHED}"),
    "attacks": ("tests/end_to_end/test_attacks.py", ""),
    "guards": ("tests/end_to_end/test_guards.py", ""),
    "teams": ("tests/passes/test_team_loops.py", "compiled and not types"),
}
SLOW = ("layouts", "sizes", "attacks", "guards", "teams")


@pytest.mark.sanitizer
@pytest.mark.skipif("WEFT_SANITIZE" in os.environ, reason="this is the run under the sanitizers")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in SELECTED]
)
def test_nothing_to_complain_about(name: str, tmp_path: Path) -> None:
    asan, ubsan = library("libasan.so"), library("libubsan.so")
    if not asan or not ubsan:
        pytest.skip("gcc has no sanitizers here")
    path, words = SELECTED[name]
    compiler = plain_compiler(toolchain_for(compiler_choice()), tmp_path)  # as in tests/codegen/test_sanitizers.py
    environment = {
        **os.environ,
        "LD_PRELOAD": f"{asan} {ubsan}",
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
        "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
        "WEFT_SANITIZE": "1",
        **({"WEFT_CC": str(compiler)} if compiler else {}),
        "WEFT_CACHE_DIR": str(tmp_path),
        "WEFT_COMPILE_TIMEOUT": "600",
    }
    choice = ["-k", words] if words else []
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", path, *choice]
    result = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, (result.stdout + result.stderr)[-6000:]
    assert " passed" in result.stdout
