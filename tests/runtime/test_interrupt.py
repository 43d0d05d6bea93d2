"""Ctrl-C ends a long compiled loop; other Python threads run meanwhile."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest

from tests.runtime.conftest import array

LOOP = """
    volatile double *x = args[0].a.data;
    for (int64_t i = 0; i < (int64_t)x[0]; i++) {
        for (int64_t j = 0; j < (int64_t)x[1]; j++) x[2] += 1;
        if (weft_poll(ctx)) return WEFT_INTERRUPTED;
    }
    return 0;"""


@pytest.mark.parametrize("inner", [0, 1000, 1_000_000], ids=["light", "medium", "heavy"])
def test_sigint_raises_within_a_fifth_of_a_second(harness, inner):
    program = harness.program(lambda a: "python", LOOP, [array(written=True)])
    sent: list[float] = []

    def interrupt() -> None:
        time.sleep(0.3)
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    sender = threading.Thread(target=interrupt)
    sender.start()
    with pytest.raises(KeyboardInterrupt):
        program.call(np.array([1e15, inner, 0.0]))
    elapsed = time.perf_counter() - sent[0]
    sender.join()
    assert elapsed < 0.2
    assert program.call(np.array([1.0, 1.0, 0.0])) is None


def test_a_slow_loop_after_a_quick_one_stays_interruptible(harness):
    body = """
    volatile double *x = args[0].a.data;
    for (int64_t i = 0; i < 100000000; i++) if (weft_poll(ctx)) return WEFT_INTERRUPTED;
    for (int64_t i = 0; i < 1000000; i++) {
        for (int64_t j = 0; j < 200000; j++) x[0] += 1;
        if (weft_poll(ctx)) return WEFT_INTERRUPTED;
    }
    return 0;"""
    program = harness.program(lambda a: "python", body, [array(written=True)])
    sent: list[float] = []

    def interrupt() -> None:
        time.sleep(1.0)
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    sender = threading.Thread(target=interrupt)
    sender.start()
    with pytest.raises(KeyboardInterrupt):
        program.call(np.zeros(2))
    assert time.perf_counter() - sent[0] < 0.2
    sender.join()


def test_a_long_parallel_region_is_interruptible(harness):
    before = """static void body(void *p, int64_t begin, int64_t end) {
        weft_ctx *ctx = p;
        for (volatile int64_t i = 0; i < 1000000000000; i++) if (weft_poll(ctx)) return;
    }"""
    body = "ctx->parallel(ctx, body, ctx, 2, 1); return ctx->poll(ctx) ? WEFT_INTERRUPTED : 0;"
    program = harness.program(lambda: "python", body, [], before=before)
    program.dispatcher.set_threads(2)
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    start = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        program.call()
    assert time.perf_counter() - start < 0.6


def test_the_work_of_a_thread_is_interruptible_when_the_caller_is_done(harness):
    before = """static void body(void *p, int64_t begin, int64_t end) {
        weft_ctx *ctx = p;
        int64_t turns = 0;
        for (volatile int64_t i = 0; begin == 1 && i < 1000000000000; i++)
            if (--turns < 0) { if (ctx->poll(ctx)) return; turns = 255; }
    }"""
    body = "ctx->parallel(ctx, body, ctx, 2, 1); return ctx->poll(ctx) ? WEFT_INTERRUPTED : 0;"
    program = harness.program(lambda: "python", body, [], before=before)
    program.dispatcher.set_threads(2)
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    start = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        program.call()
    assert time.perf_counter() - start < 1.0


def test_other_signal_handlers_run_and_the_loop_goes_on(harness):
    program = harness.program(lambda a: "python", LOOP, [array(written=True)])
    calls: list[float] = []
    before = signal.signal(signal.SIGALRM, lambda *_: calls.append(time.perf_counter()))
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    try:
        start = time.perf_counter()
        program.call(np.array([3e8, 0.0, 0.0]))
        end = time.perf_counter()
    finally:
        signal.signal(signal.SIGALRM, before)
    assert start < calls[0] < end


def test_python_threads_run_while_a_kernel_does(harness):
    program = harness.program(lambda a: "python", LOOP, [array(written=True)])
    ticks = 0
    done = threading.Event()

    def kernel() -> None:
        program.call(np.array([2e8, 0.0, 0.0]))
        done.set()

    thread = threading.Thread(target=kernel)
    thread.start()
    while not done.is_set():
        ticks += 1
        time.sleep(0.002)
    thread.join()
    assert ticks > 20


def test_variants_may_be_cleared_while_one_runs(harness):
    program = harness.program(lambda a: "python", LOOP, [array(written=True)])
    thread = threading.Thread(target=program.call, args=(np.array([1e8, 0.0, 0.0]),))
    thread.start()
    time.sleep(0.02)
    program.dispatcher.clear_variants()
    assert program.call(np.zeros(3)) == "no variant fits"
    thread.join()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # assigning shapes is on its way out
def test_arrays_may_be_reshaped_while_a_kernel_reads_them(harness):
    body = """volatile int64_t n = 0; for (int64_t i = 0; i < 100000000; i++) n = args[0].a.shape[0];
        return n == 6 ? 0 : 5;"""
    program = harness.program(lambda a: "python", body, [array()])
    x = np.zeros(6)
    failures: list[BaseException] = []

    def run() -> None:
        try:
            program.call(x)
        except SystemError as error:
            failures.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    time.sleep(0.02)
    for shape in ((2, 3), (3, 2), (6,)) * 100:
        x.shape = shape
    thread.join()
    assert failures == []
