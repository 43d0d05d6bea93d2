"""Calls of NumPy's own functions from inside a program: among compiled code, in loops and branches, when they fail."""

from __future__ import annotations

import os
import signal
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft
from tests.end_to_end.outcome import assert_same, assert_same_outcome, run
from tests.end_to_end.processes import environment, run_script
from weft.driver.kernels import slot_objects
from weft.interp import Left, Returned, interpret
from weft.ir.nodes import NumpyCall
from weft.ir.parser import parse_program
from weft.ir.printer import print_program
from weft.ir.traverse import all_nodes

RNG = np.random.default_rng(7)
MATRIX = RNG.random((5, 5)) + 5 * np.eye(5)
VECTOR = RNG.random(5)
INTEGERS = RNG.integers(0, 6, 24)


def among_fused_code(a: Any, b: Any) -> Any:
    t = a @ b + 1.0
    s = np.sort(t * 2.0) - t
    w, v = np.linalg.eigh(a + a.T)
    return s, np.exp(v) * w, t


def in_a_loop(a: Any, b: Any, n: Any) -> Any:
    x = b
    for i in range(n):
        x = np.linalg.solve(a, x) + i
    return x


def into_rows(a: Any, out: Any) -> Any:
    for i in range(a.shape[0]):
        out[i] = np.sort(a[i])[::-1]
    return out


def in_one_branch(a: Any, c: Any) -> Any:
    y = a * 2
    if c > 0:
        y = np.sort(a)
    return y + 1


def of_unknown_length(v: Any) -> Any:
    u, counts = np.unique(v, return_counts=True)
    total = 0
    for k in range(u.shape[0]):
        total += u[k] * counts[k]
    return total, u + counts, u.size, np.nonzero(v)[0]


def until_one_is_left(v: Any) -> Any:
    while v.size > 1:
        v = np.unique(v)[1:]
    return v


def smallest(v: Any) -> Any:
    return np.sort(v)[0]


def in_a_helper(v: Any) -> Any:
    return smallest(v) + smallest(v * 2)


def a_named_tuple(a: Any, n: Any) -> Any:
    r = np.linalg.slogdet(a)
    for i in range(n):
        r = np.linalg.slogdet(a + i)
    return r, r.sign * r[1], r.logabsdet


def written_over(a: Any) -> Any:
    a[:] = np.sort(a, axis=0)
    a[0] = np.fft.fft(a[0]).real
    return np.argsort(a[:, 0]), a.argsort()


def with_an_axis(a: Any, axis: Any) -> Any:
    return np.sort(a, axis=axis), np.median(a, axis=axis, keepdims=True) - a


def between_writes(a: Any) -> Any:
    t = a * 2
    s = np.sort(t)
    t[0] = 5
    u = np.sort(t) + s
    t[1:] += t[:-1]
    return s, t, u


def of_parts_that_change(a: Any, n: Any) -> Any:
    total = 0
    for k in range(n):
        u = np.unique(a[k:])
        for j in range(u.size):
            total += u[j] * (j + k)
        if u.size < 2:
            break
        if k == 1:
            continue
        a[k] = total % 5
    return total, a


def factors(a: Any) -> Any:
    q, r = np.linalg.qr(a)
    q[0, 0] = 3.0
    u, s, vt = np.linalg.svd(a, full_matrices=False)
    return q @ r, (u * s) @ vt, s.max()


def inverses(matrices: Any, a: Any) -> Any:
    for i in range(matrices.shape[0]):
        a[i] = i + 1.0
        b = np.linalg.inv(matrices[i])
        a[i] += b[0, 0]
    return a


def made_by_indexing(n: Any, m: Any, v: Any) -> Any:
    g = np.mgrid[0:n, 0:m]
    x, y = np.ogrid[0:n, -1:1:5j]
    return g[0] + g[1], x * y, np.r_[v, 0.0, v], np.c_[v, v * 2], np.r_[0:n:2]


def sorted_in_place(a: Any, b: Any) -> Any:
    a.sort()
    a[:, ::2].sort(axis=0)
    b[::-1].sort(kind="stable")
    b.partition(2)
    return a.argpartition(0, axis=1)


PROGRAMS = [
    (between_writes, lambda: (VECTOR.copy(),)),
    (of_parts_that_change, lambda: (INTEGERS.copy(), 9)),
    (of_parts_that_change, lambda: (np.ones(3, np.int64), 3)),
    (factors, lambda: (MATRIX[:, :3].copy(),)),
    (inverses, lambda: (np.stack([MATRIX, 2 * MATRIX]), np.zeros(2))),
    (made_by_indexing, lambda: (3, 4, VECTOR.copy())),
    (sorted_in_place, lambda: (MATRIX.copy(), VECTOR.copy())),
    (among_fused_code, lambda: (MATRIX.copy(), VECTOR.copy())),
    (in_a_loop, lambda: (MATRIX.copy(), VECTOR.copy(), 4)),
    (into_rows, lambda: (MATRIX.copy(), np.zeros((5, 5)))),
    (in_one_branch, lambda: (VECTOR.copy(), 1)),
    (in_one_branch, lambda: (VECTOR.copy(), -1)),
    (of_unknown_length, lambda: (INTEGERS.copy(),)),
    (until_one_is_left, lambda: (INTEGERS.copy(),)),
    (in_a_helper, lambda: (VECTOR.copy(),)),
    (a_named_tuple, lambda: (MATRIX.copy(), 3)),
    (written_over, lambda: (MATRIX.copy(),)),
    (written_over, lambda: (np.asfortranarray(MATRIX),)),
    (with_an_axis, lambda: (MATRIX.copy(), 0)),
    (with_an_axis, lambda: (MATRIX.T.copy().T, 1)),
    (with_an_axis, lambda: (np.ones((1, 4)), 0)),
    (with_an_axis, lambda: (np.ones((3, 0)), 0)),
]


@pytest.mark.parametrize(("function", "make"), PROGRAMS, ids=lambda x: getattr(x, "__name__", ""))
def test_a_program_with_calls_does_what_python_does(function: Any, make: Any):
    program: Any = weft.program(function, fallback="error")

    actual, expected = run(program, make()), run(function, make())

    assert_same_outcome(actual, expected, ulps=256)
    assert not actual.own_warnings
    assert program.stats.resumes == 0


@pytest.mark.parametrize(("function", "make"), PROGRAMS, ids=lambda x: getattr(x, "__name__", ""))
def test_the_graph_says_the_same_as_text_as_python_and_when_interpreted(function: Any, make: Any):
    program: Any = weft.program(function, fallback="error")
    graph = program.to_graph(*make())
    expected = run(function, make())

    assert parse_program(print_program(graph.program)) == graph.program
    for stage in (graph, graph.optimize()):
        outcome = interpret(stage.program, make())
        assert isinstance(outcome, Returned)
        assert_same(outcome.value, expected.result, ulps=256)
    namespace: dict[str, Any] = {}
    exec(graph.to_python(), namespace)  # what we have just written
    again = make()
    slots = slot_objects(function, graph.program.slots, again)
    assert slots is not None
    result = run(lambda: namespace[function.__name__](*slots), ())
    assert_same(result.result, expected.result, ulps=256)
    assert_same(tuple(again), expected.arguments, ulps=256)


def singular(a: Any, b: Any, out: Any) -> Any:
    out[0] = 1.0
    x = np.linalg.solve(a, b)
    out[1] = x[0]
    return x


def caught(a: Any, b: Any) -> Any:
    try:
        return np.linalg.inv(a)
    except np.linalg.LinAlgError:
        return b


def wrong_axis(a: Any) -> Any:
    return np.sort(a, axis=7)


def wrong_shapes(a: Any, b: Any) -> Any:
    return np.linalg.solve(a, b)


def sorted_without_an_axis(a: Any) -> Any:
    a[0] = 5.0
    a.sort(axis=None)


FAILURES = [
    (inverses, lambda: (np.stack([MATRIX, 0 * MATRIX]), np.zeros(2))),
    (sorted_without_an_axis, lambda: (np.arange(3.0)[::-1].copy(),)),
    (singular, lambda: (np.zeros((3, 3)), np.ones(3), np.zeros(2))),
    (singular, lambda: (np.ones((3, 2)), np.ones(3), np.zeros(2))),
    (wrong_axis, lambda: (np.ones((3, 3)),)),
    (wrong_shapes, lambda: (np.eye(3), np.ones(4))),
]


@pytest.mark.parametrize(("function", "make"), FAILURES, ids=lambda x: getattr(x, "__name__", ""))
def test_errors_are_numpys_own(function: Any, make: Any):
    program = weft.program(function, fallback="error")

    actual, expected = run(program, make()), run(function, make())

    assert expected.error is not None
    assert_same_outcome(actual, expected)


def test_the_exception_comes_from_the_users_line():
    program = weft.program(singular, fallback="error")

    with pytest.raises(np.linalg.LinAlgError) as info:
        program(np.zeros((3, 3)), np.ones(3), np.zeros(2))

    lines = [entry.lineno + 1 for entry in info.traceback if str(entry.path) == __file__]
    assert singular.__code__.co_firstlineno + 2 in lines


def test_an_interpreted_call_that_raises_leaves():
    program = weft.program(singular, fallback="error")
    args = (np.zeros((3, 3)), np.ones(3), np.zeros(2))

    outcome = interpret(program.to_graph(*args).program, args)

    assert isinstance(outcome, Left)


def results_of_other_types(a: Any) -> Any:
    return np.bincount(a, np.ones(a.size))


def test_an_unusual_result_is_left_to_python():
    program = weft.program(results_of_other_types, fallback="error")
    assert program(np.arange(3)).dtype == np.float64

    empty = np.zeros(0, np.int64)

    assert_same_outcome(run(program, (empty,)), run(results_of_other_types, (empty,)))
    assert program.stats.resumes == 1


# ---- warnings -------------------------------------------------------------------------------------------------------


def warns_twice(a: Any, b: Any) -> Any:
    c = a / b
    m = np.median(b[:0])
    return c, m, np.nanmean(b * np.nan)


def test_warnings_are_given_in_order_at_the_users_line():
    program = weft.program(warns_twice, fallback="error")
    a, b = np.ones(3), np.zeros(3)

    def seen(function: Any) -> list[tuple[str, str, int]]:
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            function(a, b)
        return [(str(w.message), Path(w.filename).name, w.lineno) for w in found]

    assert seen(program) == seen(warns_twice)


def test_np_errstate_is_honoured():
    program = weft.program(warns_twice, fallback="error")
    args = (np.ones(3), np.zeros(3))
    with np.errstate(all="ignore"):
        assert_same_outcome(run(program, args), run(warns_twice, args))


def flags_of_others(a: Any) -> Any:
    u = np.linalg.inv(a)
    return a * 2.0 + u


def test_flags_raised_inside_a_call_warn_nobody():
    program = weft.program(flags_of_others, fallback="error")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        program(MATRIX * 1e-160)


# ---- counting, cache, threads, interrupts ---------------------------------------------------------------------------


def test_calls_are_counted_and_listed():
    program = weft.program(in_a_loop, fallback="error")
    graph = program.to_graph(MATRIX, VECTOR, 4)
    program(MATRIX, VECTOR, 4)
    program(MATRIX, VECTOR, 3)

    assert program.stats.numpy_calls == 7
    assert [node.function for node in all_nodes(graph.program.body) if isinstance(node, NumpyCall)] == [
        "numpy.linalg.solve"
    ]


CACHED = """
import numpy as np, weft

@weft.program(fallback="error")
def work(a, b):
    r = np.linalg.qr(a, mode="reduced")
    return r, np.sort(b, kind="stable"), np.quantile(b, 0.25, method="linear")

a, b = np.arange(6.0).reshape(3, 2), np.array([3.0, 1.0, 2.0])
got, expected = work(a, b), work.py_func(a, b)
assert type(got[0]) is type(expected[0])
same = all(np.array_equal(x, y) for x, y in zip((*got[0], *got[1:]), (*expected[0], *expected[1:])))
print(same, work.stats.compiles, work.stats.cache_hits, work.stats.numpy_calls)
"""


def test_another_process_finds_the_kernel(tmp_path: Path):
    env = environment(tmp_path / "cache")

    assert run_script(tmp_path, CACHED, env) == "True 1 0 3\n"
    assert run_script(tmp_path, CACHED, env) == "True 0 1 3\n"


def sorts(a: Any, n: Any) -> Any:
    t = 0.0
    for _ in range(n):
        t += np.sort(a)[0]
    return t


def test_threads_call_at_the_same_time():
    program = weft.program(sorts, fallback="error")
    program(VECTOR, 1)
    found: list[Any] = []

    def work(number: int) -> None:
        found.append(program(VECTOR + number, 500))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(found) == sorted(sorts(VECTOR + number, 500) for number in range(4))


def test_ctrl_c_ends_a_loop_of_calls():
    program = weft.program(sorts, fallback="error")
    program(VECTOR, 1)

    def interrupt() -> None:
        time.sleep(0.3)
        os.kill(os.getpid(), signal.SIGINT)

    sender = threading.Thread(target=interrupt)
    sender.start()
    with pytest.raises(KeyboardInterrupt):
        program(VECTOR, 10**9)
    sender.join()
    assert program(VECTOR, 2) == sorts(VECTOR, 2)


class Alarm(Exception):  # noqa: N818 - a signal, not an error
    """Raised by the handler of a signal."""


def test_an_exception_of_a_signals_handler_is_not_taken_for_numpys():
    program = weft.program(sorts, fallback="error")
    program(VECTOR, 1)

    def handler(*_: Any) -> None:
        raise Alarm

    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(Alarm):
            program(VECTOR, 10**9)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


# ---- what is refused ------------------------------------------------------------------------------------------------


def writes_out(a: Any, out: Any) -> Any:
    return np.fft.fft(a, out=out)


def real_eigenvalues(a: Any) -> Any:
    return np.linalg.eigvals(a)


def fills(vector: Any, width: Any, axis: Any, more: Any) -> None:
    vector[: width[0]] = 7.0


def with_a_function(a: Any) -> Any:
    return np.pad(a, 1, mode=fills)


@pytest.mark.parametrize(
    ("function", "args", "code"),
    [
        (writes_out, (np.ones(3), np.ones(3, complex)), "E115"),
        (real_eigenvalues, (MATRIX,), "E242"),
        (with_a_function, (VECTOR,), "E287"),
    ],
)
def test_what_is_not_pure_or_not_typed_is_refused(function: Any, args: Any, code: str):
    program = weft.program(function, fallback="error")

    with pytest.raises(weft.CompileError) as refused:
        program(*args)

    assert refused.value.code == code
