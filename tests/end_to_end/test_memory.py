"""Memory of results: given back through NumPy, used again, never while somebody has it."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest

import weft

SIZE = 1 << 17  # 1 MiB: kept


@weft.program
def doubled(a):
    return a * 2.0


@weft.program
def halves(a):
    b = a + 1.0
    return b[: len(a) // 2], b[len(a) // 2 :]


@pytest.fixture(autouse=True)
def nothing_kept():
    doubled(np.ones(3))
    weft.clear()
    yield
    weft.clear()


def test_memory_of_a_result_nobody_has_is_used_again():
    a = np.arange(SIZE, dtype=float)
    first = doubled(a)
    address = first.ctypes.data
    del first
    second = doubled(a)
    assert second.ctypes.data == address
    np.testing.assert_array_equal(second, 2.0 * a)


def test_a_result_that_is_held_is_never_overwritten():
    a = np.arange(SIZE, dtype=float)
    held = [doubled(a + k) for k in range(4)]
    views = [result[5:9] for result in held]
    expected = [2.0 * (a[5:9] + k) for k in range(4)]
    del held
    for _ in range(4):
        doubled(a - 1.0)
    for view, values in zip(views, expected, strict=True):
        np.testing.assert_array_equal(view, values)


def test_clear_gives_back_what_is_kept_and_says_how_much():
    a = np.ones(SIZE)
    held = doubled(a)
    assert weft.clear() == 0
    del held
    assert weft.clear() == 8 * SIZE
    assert weft.clear() == 0


def test_two_results_over_one_block():
    a = np.arange(2.0 * SIZE)
    low, high = halves(a)
    del low
    halves(a * 0.0)
    np.testing.assert_array_equal(high, a[SIZE:] + 1.0)
    del high
    assert weft.clear() == 2 * 16 * SIZE


def test_a_result_is_an_ordinary_array():
    a = np.arange(SIZE, dtype=float)
    result = doubled(a)
    assert result.flags.owndata
    assert result.base is None
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(result)), result)
    result.resize(3 * SIZE, refcheck=False)
    np.testing.assert_array_equal(result[:SIZE], 2.0 * a)
    assert not result[SIZE:].any()
    result.resize(7, refcheck=False)
    np.testing.assert_array_equal(result, 2.0 * a[:7])
    result.dtype = np.int64
    del result
    np.testing.assert_array_equal(doubled(a), 2.0 * a)


def test_a_slightly_smaller_result_takes_the_memory_and_a_much_smaller_one_does_not():
    first = doubled(np.ones(SIZE))
    address = first.ctypes.data
    del first
    half = doubled(np.ones(SIZE // 2))
    assert half.ctypes.data != address
    smaller = doubled(np.ones(SIZE - 1000))
    assert smaller.ctypes.data == address
    np.testing.assert_array_equal(smaller, 2.0)
    del smaller
    whole = doubled(np.ones(SIZE))  # what is kept counts as smaller now
    assert whole.ctypes.data != address
    np.testing.assert_array_equal(whole, 2.0)


def test_results_dropped_by_other_threads():
    a = np.arange(SIZE, dtype=float)
    wrong = []

    def work(k):
        for turn in range(30):
            result = doubled(a + k)
            if not (result == 2.0 * (a + k)).all():
                wrong.append((k, turn))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_may_drop_what_the_parent_holds():
    a = np.arange(SIZE, dtype=float)
    result = doubled(a)
    if (child := os.fork()) == 0:
        del result
        os._exit(0 if (doubled(a + 1.0) == 2.0 * (a + 1.0)).all() else 1)
    assert os.waitpid(child, 0)[1] == 0
    np.testing.assert_array_equal(result, 2.0 * a)


def test_a_result_may_outlive_everything_else(tmp_path):
    program = """
import sys
import numpy as np, weft
@weft.program
def f(a): return a * 2.0
sys.held = f(np.ones(1 << 17))
assert f.stats.native_calls
"""
    script = tmp_path / "script.py"
    script.write_text(program)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_nothing_is_kept_before_the_first_call():
    program = "import weft; print(weft.clear())"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "0\n")
