"""The collector waits for a compile, and is as it was afterwards."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import weft
from weft.driver import compiler
from weft.driver.collector import collector_paused


def test_it_is_as_it_was_afterwards() -> None:
    with collector_paused():
        assert not gc.isenabled()
        with collector_paused():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()


def test_a_user_who_switched_it_off_finds_it_off() -> None:
    gc.disable()
    try:
        with collector_paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_it_runs_again_after_a_compile_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bool] = []

    def fails(*_: object, **__: object) -> None:
        seen.append(gc.isenabled())
        raise ValueError("a mistake of ours")

    monkeypatch.setattr(compiler, "generate", fails)
    monkeypatch.setenv("WEFT_REPRODUCERS", "0")

    @weft.program(fallback="error")
    def f(v):
        return v * 3 - 1

    with pytest.raises(weft.WeftError, match="a mistake of ours"):
        f(np.arange(3.0))
    assert seen == [False]
    assert gc.isenabled()
