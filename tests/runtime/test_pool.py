"""Parallel regions: the same chunks for every width, nested, from many threads, after fork, at exit."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from tests.runtime.conftest import array
from weft.support.abi import ArgKind, ArgSpec

# Writes, for each iteration, the number of the chunk it ran in; chunk sums go to the second array.
BEFORE = """
typedef struct { weft_ctx *ctx; int64_t *owner; double *sums; int64_t grain; } env;
static void body(void *p, int64_t begin, int64_t end)
{
    env *e = p; double s = 0;
    for (int64_t i = begin; i < end; i++) { e->owner[i] += begin / e->grain + 1; s += 1.0 / (i + 1); }
    e->sums[begin / e->grain] += s;
}
static void outer(void *p, int64_t begin, int64_t end)
{
    env *e = p;
    for (int64_t i = begin; i < end; i++) e->ctx->parallel(e->ctx, body, &e[i], 100, e->grain);
}
"""
BODY = """
    env e = {ctx, args[0].a.data, args[1].a.data, args[2].i};
    ctx->parallel(ctx, body, &e, args[0].a.shape[0], args[2].i);
    return 0;"""
SPECS = [array("int64", written=True), array(written=True), ArgSpec(ArgKind.PY_INT)]


@pytest.fixture
def program(harness):
    return harness.program(lambda a, b, c: "python", BODY, SPECS, before=BEFORE)


def run(program, count: int, grain: int):
    owner, sums = np.zeros(count, np.int64), np.zeros(-(-count // grain) + 2)
    program.call(owner, sums, grain)
    return owner, sums


@pytest.mark.parametrize("width", [1, 2, 3, 8])
@pytest.mark.parametrize(("count", "grain"), [(1000, 7), (1000, 1000), (999, 500), (50, 1), (2, 10)])
def test_every_iteration_once_in_the_same_chunks(program, width, count, grain):
    program.dispatcher.set_threads(width)
    owner, sums = run(program, count, grain)
    assert (owner == np.arange(count) // grain + 1).all()
    program.dispatcher.set_threads(1)
    assert (run(program, count, grain)[1] == sums).all()


def test_empty_regions(program):
    program.dispatcher.set_threads(4)
    run(program, 0, 4)


def test_many_regions_in_a_row(program):
    program.dispatcher.set_threads(2)
    owner, sums = np.zeros(64, np.int64), np.zeros(10)
    for _ in range(20000):
        program.call(owner, sums, 8)
    assert (owner == 20000 * (np.arange(64) // 8 + 1)).all()
    assert program.dispatcher.counters().parallel_regions == 20000


def test_widths_and_sizes_that_change_from_region_to_region(program):
    for turn in range(4000):
        program.dispatcher.set_threads(1 + turn * 7 % 6)
        count, grain = 2 + turn * 37 % 300, 1 + turn * 11 % 40
        owner, _ = run(program, count, grain)
        assert (owner == np.arange(count) // grain + 1).all()


def test_regions_after_the_workers_went_to_sleep(program):
    program.dispatcher.set_threads(3)
    for _ in range(20):
        owner, _ = run(program, 1000, 10)
        assert owner.min() == 1
        time.sleep(0.005)


def test_nested_regions_run_inline(harness):
    body = """
    env e[20];
    int64_t *owner = args[0].a.data; double *sums = args[1].a.data;
    for (int k = 0; k < 20; k++) e[k] = (env){ctx, owner + 100 * k, sums + 100 * k, args[2].i};
    ctx->parallel(ctx, outer, e, 20, 1);
    return 0;"""
    program = harness.program(lambda a, b, c: "python", body, SPECS, before=BEFORE)
    program.dispatcher.set_threads(2)
    owner, sums = np.zeros(2000, np.int64), np.zeros(2000)
    program.call(owner, sums, 9)
    assert (owner == np.tile(np.arange(100) // 9 + 1, 20)).all()
    assert program.dispatcher.counters().parallel_regions == 1


def test_many_python_threads_at_once(program):
    program.dispatcher.set_threads(2)
    wrong: list[object] = []

    def work() -> None:
        for _ in range(300):
            owner, _ = run(program, 500, 11)
            if not (owner == np.arange(500) // 11 + 1).all():
                wrong.append(owner)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_memory_and_warnings_from_inside_a_region(harness):
    before = """static void body(void *p, int64_t begin, int64_t end) {
        weft_ctx *ctx = p;
        for (int64_t i = begin; i < end; i++) {
            weft_block *block = ctx->alloc(ctx, 64 + i);
            ((char *)block->data)[i] = 1;
            ctx->warn(ctx, WEFT_FP_DIVIDE, 3);
            if (i & 1) ctx->release(ctx, block);
        }
    }"""
    seen: list[object] = []
    body = "ctx->parallel(ctx, body, ctx, 20000, 16); return 0;"
    program = harness.program(lambda: "python", body, [], before=before, on_warn=seen.append)
    program.dispatcher.set_threads(2)
    program.call()
    assert program.dispatcher.counters().allocations == 20000
    assert seen == [[(1, 3)]]


def test_floating_point_flags_of_workers_reach_the_caller(harness):
    before = """static void body(void *p, int64_t begin, int64_t end) {
        volatile double zero = 0, x;
        for (int64_t i = begin; i < end; i++)
            if (i == 900) x = 1 / zero;
            else for (volatile int k = 0; k < 1000; k++);
    }"""
    body = """__builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() & ~0x3f); ctx->parallel(ctx, body, 0, 1000, 10);
        return __builtin_ia32_stmxcsr() & 4 ? 0 : 9;"""
    program = harness.program(lambda: "python", body, [], before=before)
    program.dispatcher.set_threads(2)
    for _ in range(50):
        assert program.call() is None


def test_the_child_of_a_fork_has_a_pool_of_its_own(program):
    program.dispatcher.set_threads(2)
    run(program, 1000, 10)
    for _ in range(5):
        child = os.fork()
        if child == 0:
            owner, _ = run(program, 1000, 10)
            os._exit(0 if owner.min() == 1 else 1)
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                break
            time.sleep(0.01)
        else:
            os.kill(child, 9)
            os.waitpid(child, 0)
            pytest.fail("the child hangs")
        assert status == 0
        assert run(program, 1000, 10)[0].min() == 1


SCRIPT = """
import sys
from pathlib import Path
import numpy as np
from weft.runtime.cache import Cache
from weft.runtime.compile import compile_c
from weft.runtime.dispatcher import Dispatcher, Variant
from weft.runtime.native import load_kernel, load_native
from weft.runtime.toolchain import find_toolchain
from weft.support.abi import *
cache = Cache(Path(sys.argv[1]))
toolchain = find_toolchain()
native = load_native(cache, lambda: toolchain)
source = '''#include "weft_abi.h"
static void body(void *p, int64_t begin, int64_t end) { ((double *)p)[begin] = end; }
int32_t kernel(weft_ctx *ctx, const weft_value *args, weft_value *out) {
    ctx->parallel(ctx, body, args[0].a.data, args[0].a.shape[0], 1); return 0; }
'''
address = load_kernel(compile_c(toolchain, source, Path(sys.argv[2])), "kernel")
program = Dispatcher(native, lambda a: None, print)
program.set_threads(3)
args = (ArgSpec(ArgKind.ARRAY, "float64", 1, written=True),)
info = KernelInfo("f", "kernel", (Slot(SlotKind.PARAM, 0),), args, (Exit(Const(0)),), 0)
program.add_variant(Variant(info=info, address=address, constants=(None,)))
x = np.zeros(100)
program.call(x)
assert list(x) == list(range(1, 101))
print("done", flush=True)
"""


def test_the_process_ends_cleanly(shared_cache, native, tmp_path):
    command = [sys.executable, "-c", SCRIPT, str(shared_cache.root), str(tmp_path / "k.so")]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (result.stdout, result.stderr, result.returncode) == ("done\n", "", 0)


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="there is one processor")
def test_workers_keep_off_the_processor_of_the_owner(program):
    program.dispatcher.set_threads(2)
    allowed, before = os.sched_getaffinity(0), set(os.listdir("/proc/self/task"))
    run(program, 1000, 10)
    workers = [int(task) for task in set(os.listdir("/proc/self/task")) - before] or _other_tasks()
    left_out = {frozenset(allowed - os.sched_getaffinity(task)) for task in workers}
    assert any(len(some) == 1 for some in left_out), left_out
    assert os.sched_getaffinity(0) == allowed  # the owner's own is left alone


def _other_tasks() -> list[int]:
    return [int(task) for task in os.listdir("/proc/self/task") if int(task) != os.getpid()]


def test_one_processor_is_shared_with_the_owner(program):
    allowed = os.sched_getaffinity(0)
    program.dispatcher.set_threads(2)
    run(program, 1000, 10)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        time.sleep(0.002)  # workers are not moved more often
        owner, _ = run(program, 1000, 10)
    finally:
        os.sched_setaffinity(0, allowed)
    assert (owner == np.arange(1000) // 10 + 1).all()
