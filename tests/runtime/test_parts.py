"""A library of several files: all compiled at the same time, what others can use kept."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import Any

import pytest

from weft.runtime import compile as module
from weft.runtime.cache import Cache
from weft.runtime.compile import Parts, compile_c
from weft.runtime.process import CompilerFailed
from weft.runtime.toolchain import BuildOptions, Toolchain

PIECES = """
#ifndef WEFT_PIECE
#define WEFT_PIECE(number) 1
#endif
#define WEFT_HIDDEN __attribute__((visibility("hidden")))
WEFT_HIDDEN int one(void); WEFT_HIDDEN int two(void); int other(void);
#if WEFT_PIECE(1)
WEFT_HIDDEN int one(void) { return 1; }
#endif
#if WEFT_PIECE(2)
WEFT_HIDDEN int two(void) { return 2; }
#endif
#if WEFT_PIECE(0)
int sum(void) { return one() + two() + other(); }
#endif
"""
UNIT = "int other(void) { return 40; }\n"


def watch(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many compilers run at once, call by call."""
    counts: list[int] = []
    plain = module.run_compilers

    def run(commands: Any, *rest: Any) -> Any:
        counts.append(len(commands))
        return plain(commands, *rest)

    monkeypatch.setattr(module, "run_compilers", run)
    return counts


@pytest.mark.parametrize("processors", [1, 2, 3, 8])
def test_pieces_and_units_make_one_library(
    toolchain: Toolchain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, processors: int
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(processors)))
    counts = watch(monkeypatch)
    output = compile_c(toolchain, PIECES, tmp_path / "k.so", parts=Parts((UNIT,), 3))
    assert ctypes.CDLL(str(output)).sum() == 43
    assert counts == [min(3, processors) + 1, 1]
    assert os.listdir(tmp_path) == ["k.so"]


def test_a_unit_is_compiled_once(toolchain: Toolchain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counts, parts = watch(monkeypatch), Parts((UNIT,), 1, Cache(tmp_path / "cache"))
    for number in range(2):
        output = compile_c(toolchain, PIECES, tmp_path / f"k{number}.so", parts=parts)
        assert ctypes.CDLL(str(output)).sum() == 43
    assert counts == [2, 1, 1]


def test_other_flags_are_another_object(toolchain: Toolchain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counts, parts = watch(monkeypatch), Parts((UNIT,), 1, Cache(tmp_path / "cache"))
    for number, fast in enumerate((False, True)):
        compile_c(toolchain, PIECES, tmp_path / f"k{number}.so", parts=parts, build=BuildOptions(fast=fast))
    assert counts == [2, 1, 2, 1]


def test_what_fails_in_one_of_them_is_said_and_nothing_is_left(toolchain: Toolchain, tmp_path: Path) -> None:
    with pytest.raises(CompilerFailed, match="failed with status 1") as caught:
        compile_c(toolchain, PIECES, tmp_path / "k.so", parts=Parts(("this is not C\n",), 2))
    assert "not" in caught.value.output
    assert os.listdir(tmp_path) == []
