"""The C text itself: golden texts, sharing, determinism, and every sample program through the compiler."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.codegen.builders import Build, give, site
from tests.codegen.harness import FLAGS, OPTIONS, compile_c, load
from tests.conftest import Golden
from tests.ir.samples import SAMPLES
from weft.codegen import emit_c, emit_module
from weft.ir.dtypes import PY_BOOL, PY_FLOAT, DType, ScalarType
from weft.ir.exprs import Value, const, const_index, index, op
from weft.ir.nodes import (
    Axis,
    Carry,
    Continue,
    Elementwise,
    Guard,
    Layout,
    Let,
    Loop,
    Memlet,
    Program,
    Region,
    SlotObject,
    Tasklet,
    View,
)
from weft.ir.parser import parse_program
from weft.support.spans import Span

ROOT = Path(__file__).parents[2]
F8 = ScalarType(DType.FLOAT64)


def stencil() -> Program:
    """B[1:-1] = (A[:-2] + A[2:]) / 2"""
    build = Build("stencil")
    a = build.array("A", DType.FLOAT64, 2)
    b = build.array("B", DType.FLOAT64, 2, Layout.STRIDED, written=True)
    (n, m), span = a.shape, Span("heat.py", 3, 4, 40, "    B[1:-1] = (A[:-2] + A[2:]) / 2  # */ a trap")
    one = const_index(1)

    def rows(name: str, offset: int) -> View:
        return View(name, (n - 2, m), (Axis(const_index(offset), ((0, one),)), Axis(const_index(0), ((1, one),))))

    i, j, up, down = build.value("i"), build.value("j"), build.value("up", F8), build.value("down", F8)
    mean = op("divide", (op("add", (up, down), F8), const(2.0, F8)), F8)
    inputs = ((up, rows("A", 0)), (down, rows("A", 2)))
    same = op("logical_and", (op("equal", (b.shape[0], n), PY_BOOL), op("equal", (b.shape[1], m), PY_BOOL)), PY_BOOL)
    return build.program(
        site(0, A=SlotObject(0), B=SlotObject(1)),
        Guard(same, 0, "shapes differ"),
        Guard(op("greater_equal", (n, const_index(2)), PY_BOOL), 0, "slices clip"),
        Elementwise(output=rows("B", 1), params=(i, j), inputs=inputs, expr=mean, warn=build.warn("divide"), span=span),
        give(SlotObject(1)),
    )


def horner() -> Program:
    """for k in range(len(c)): y = y * x + c[k]"""
    build = Build("horner")
    c, x = build.array("c", DType.FLOAT64, 1), build.scalar("x", PY_FLOAT)
    k, y, element = build.value("k"), build.value("y", F8), build.value("ck", F8)
    following = Value(50, "y", F8)
    step = op("add", (op("multiply", (y, op("cast", (x,), F8)), F8), element), F8)
    body = Region(
        (
            Tasklet(
                reads=((element, Memlet("c", (index(k),))),),
                lets=(Let(following, step),),
                span=Span("poly.py", 7, 8, 22, "        y = y * x + c[k]"),
            ),
            Continue((following,)),
        )
    )
    span = Span("poly.py", 6, 4, 30, "    for k in range(len(c)):")
    carries = (Carry(y, const(0.0, F8)),)
    loop = Loop(
        var=k, start=const_index(0), stop=c.shape[0], step=const_index(1), carries=carries, body=body, span=span
    )
    return build.program(loop, give(y))


def kernel_text(program: Program) -> str:
    """The file without the header."""
    return emit_c(program, options=OPTIONS).source.removeprefix(OPTIONS.header)


def test_the_text_of_a_stencil(golden: Golden) -> None:
    assert kernel_text(stencil()) == golden


def test_the_text_of_a_loop(golden: Golden) -> None:
    assert kernel_text(horner()) == golden


def test_the_loop_computes() -> None:
    import numpy as np

    assert load(horner())(np.array([1.0, 2.0, 3.0]), 2.0).value == 11.0


@pytest.mark.parametrize("name", SAMPLES)
def test_every_sample_compiles(name: str) -> None:
    compile_c(emit_c(parse_program(SAMPLES[name]), options=OPTIONS).source, "-O1")


def test_programs_share_a_file() -> None:
    file = emit_module([stencil(), stencil(), horner()], options=OPTIONS)
    assert len({info.symbol for info in file.infos}) == 3
    assert file.source.count("static inline void weft_fp_clear") == 1
    compile_c(file.source, "-O1")


def test_the_text_does_not_depend_on_the_hash_seed() -> None:
    script = (
        "import sys; from tests.codegen.test_module import *;"
        "sys.stdout.write(''.join(emit_c(parse_program(SAMPLES[n]), options=OPTIONS).source for n in SAMPLES))"
    )
    texts = {
        subprocess.run(
            [sys.executable, "-c", script], cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": "src"},
            capture_output=True, text=True, check=True,
        ).stdout
        for seed in ("1", "2", "77")
    }  # fmt: skip
    assert len(texts) == 1


def test_a_small_nest_compiles_quickly(tmp_path: Path) -> None:
    source = tmp_path / "nest.c"
    source.write_text(emit_c(stencil(), options=OPTIONS).source, encoding="utf-8")
    times: list[float] = []
    for _ in range(3):
        start = time.perf_counter()
        subprocess.run(["gcc", *FLAGS, str(source), "-o", str(tmp_path / "nest.so"), "-lm"], check=True)
        times.append(time.perf_counter() - start)
    assert min(times) < 1.0, times  # 0.1 s on an idle machine; the bound only finds what is out of hand
