"""Scripts that make a call again."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft
from tests.driver.programs import SwapSubtractions, add_pass, checked, load
from weft.driver.options import Options
from weft.driver.reproducers import save_call
from weft.driver.snapshots import Call

OPTIONS = Options(strict=True, threads=2, verify=True)


@pytest.fixture(autouse=True)
def directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("WEFT_REPRODUCERS", str(tmp_path / "saved"))
    return tmp_path / "saved"


def load_script(call: Call) -> dict[str, Any]:
    """The names the script defines, without running the program."""
    path = save_call(call, OPTIONS, 'f: """they"""\ndiffer \\ here')
    assert path is not None
    return runpy.run_path(str(path))


def test_the_script_makes_the_same_call(tmp_path: Path) -> None:
    module = load(
        tmp_path,
        """
        import math
        from math import sin as sine

        SCALE, NAME, LIMITS = 2.5, "x", (1, None, float("inf"))
        TABLE = np.arange(100.0)
        KIND = np.float32(0.1)

        class Cloud:
            def __init__(self, x):
                self.x = x

        def make(shift):
            offset = np.array([shift, np.nan])

            def f(A, B, cloud, n=SCALE, *, axis: int = 0):
                '''A function with everything.'''
                A[0] += helper(B[0]) + offset[0] + TABLE[1] + LIMITS[0] + KIND * cloud.x[0]
                return np.exp(A) + math.pi + twice(n) + sine(0.0)   # a comment

            return f

        @weft.program
        def helper(x):
            return recursive(x) * SCALE

        def recursive(x):
            return x if x < 1 else recursive(x - 1)

        twice = lambda x: 2 * x
        """,
    )
    buffer = np.arange(20.0)
    cloud = module.Cloud(buffer[3:5])
    call = Call(module.make(0.5), (buffer[2:8], buffer[4:12:2], cloud), {"axis": 3})
    found = load_script(call.copied())
    args, keywords = found["ARGUMENTS"], found["KEYWORDS"]
    expected = call.copied()

    result = found["f"](*args, **keywords)
    np.testing.assert_array_equal(result, expected.function(*expected.args, **expected.kwargs))
    np.testing.assert_array_equal(args[1], expected.args[1])
    np.testing.assert_array_equal(args[2].x, expected.args[2].x)
    assert keywords == {"axis": 3}
    assert args[1].strides == (16,)
    assert args[0].ctypes.data - args[2].x.ctypes.data == -8
    assert type(found["KIND"]) is np.float32


def test_arrays_of_every_kind_come_back(tmp_path: Path) -> None:
    module = load(tmp_path, "def f(*arrays): pass\n")
    readonly = np.arange(3)
    readonly.flags.writeable = False
    arrays = (
        np.array([0.1, np.nan, -np.inf, -0.0], np.float32),
        np.array([1 + 2j, complex(0, -0.0)]),
        np.array([complex(np.nan, np.inf)]),
        np.asfortranarray(np.arange(200.0).reshape(10, 20)),
        np.zeros((0, 3), np.int8),
        np.array(True),
        np.arange(30)[::-3],
        readonly,
        np.array(["a", "bc"]),
        np.array([1, None], object),
    )
    found = load_script(Call(module.f, arrays, {}))["ARGUMENTS"]

    assert found[-1] is None
    for want, got in zip(arrays[:-1], found[:-1], strict=True):
        assert (got.dtype, got.shape, got.strides) == (want.dtype, want.shape, want.strides)
        assert got.flags.writeable == want.flags.writeable
        np.testing.assert_array_equal(got, want)
    assert np.signbit(found[0][3])


def test_what_cannot_be_written_down_is_none(tmp_path: Path) -> None:
    module = load(tmp_path, "def f(a, b):\n    return FILE, a\n\nFILE = open(__file__)\n")
    exec("def typed(x): return x", vars(module))
    call = Call(module.f, (module.typed, iter([1])), {})
    found = load_script(call)
    module.FILE.close()

    assert found["FILE"] is None
    assert found["ARGUMENTS"][1] is None
    assert found["typed"] is None


def test_the_script_knows_the_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    add_pass(monkeypatch, SwapSubtractions())
    module = load(tmp_path, "def f(a):\n    a[:] = 1.0 - a\n")
    with pytest.raises(weft.VerificationError) as caught:
        checked(module.f)(np.arange(3.0))
    with pytest.raises(SystemExit) as left:
        runpy.run_path(str(caught.value.reproducer), run_name="__main__")

    assert left.value.code == 1
    assert capsys.readouterr().out.endswith("Python and Weft differ\n")


def test_directories_are_tried_in_order(tmp_path: Path, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = load(tmp_path, "def f(a): return a\n")
    call = Call(module.f, (1,), {})
    first = save_call(call, OPTIONS, "first")
    assert first is not None
    assert first.parent == directory.resolve()
    assert save_call(call, OPTIONS, "first") == first
    assert [path.suffix for path in directory.iterdir()] == [".py"]

    (tmp_path / "file").write_text("")
    monkeypatch.setenv("WEFT_REPRODUCERS", str(tmp_path / "file"))
    in_cache = save_call(call, OPTIONS, "second")
    assert in_cache is not None
    assert in_cache.parent.name == "reproducers"

    class NoCache:
        root = None

    monkeypatch.setattr("weft.driver.engine.process_cache", NoCache)
    monkeypatch.setenv("WEFT_REPRODUCERS", "")
    monkeypatch.chdir(tmp_path)
    here = save_call(call, OPTIONS, "third")
    assert here is not None
    assert here.parent == tmp_path.resolve()

    monkeypatch.setenv("WEFT_REPRODUCERS", "0")
    assert save_call(call, OPTIONS, "fourth") is None
