"""Brief regions: whether threads share them is found out by trying, and changes no result."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import weft
from tests.runtime.conftest import array
from weft.support.abi import ArgKind, ArgSpec

# Regions of `args[1]` thousandths of the least work that pays: notes which of them threads shared. A shared one takes
# `args[2]` microseconds, another one `args[3]`.
BEFORE = """
#include <time.h>
static void wait(int64_t microseconds)
{
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - begin.tv_sec) * 1000000 + (now.tv_nsec - begin.tv_nsec) / 1000 < microseconds);
}
static void count(void *chunks, int64_t begin, int64_t end)
{
    __atomic_fetch_add((int64_t *)chunks, 1, __ATOMIC_RELAXED);
}
"""
BODY = """
    uint8_t *shared = args[0].a.data;
    int64_t chunks = 0;
    for (int64_t k = 0; k < args[0].a.shape[0]; k++) {
        const int64_t before = ctx->counters[4];
        if (weft_pays(ctx, args[1].i / 1000.0, 1.0))
            ctx->parallel(ctx, count, &chunks, 3, 1);
        else
            chunks += 3;
        shared[k] = ctx->counters[4] > before;
        wait(args[shared[k] ? 2 : 3].i);
    }
    return chunks == 3 * args[0].a.shape[0] ? 0 : WEFT_INTERRUPTED; /* the same chunks whoever runs them */"""
SPECS = [array("bool", written=True), *(ArgSpec(ArgKind.PY_INT) for _ in range(3))]
TRIED = 4 + 16 * 2 * 3  # regions before it is settled, at most


@pytest.fixture
def new_program(harness):
    def make():
        made = harness.program(lambda a, b, c, d: "python", BODY, SPECS, before=BEFORE)
        made.dispatcher.set_threads(2)
        return made

    return make


def one_of_three(attempt):
    """Times are measured, and the machine may do something else just then."""
    assert any(attempt() for _ in range(3))


def shared(program, count: int, thousandths: int, together: int, alone: int):
    found = np.zeros(count, bool)
    program.call(found, thousandths, together, alone)
    return found


@pytest.mark.parametrize(("together", "alone", "settled"), [(10, 50, True), (50, 10, False)])
def test_the_quicker_way_stays(new_program, together, alone, settled):
    def attempt():
        found = shared(new_program(), TRIED + 200, 2000, together, alone)
        assert not found[:4].any()  # threads are not woken for a few of them
        assert found[4:20].all()
        assert found[:TRIED].any()
        assert not found[:TRIED].all()  # both ways are tried
        return (found[TRIED:] == settled).all()

    one_of_three(attempt)


def test_a_second_call_goes_on_where_the_first_one_stopped(new_program):
    def attempt():
        program = new_program()
        shared(program, TRIED, 2000, 50, 10)
        return not shared(program, 100, 2000, 50, 10).any()

    one_of_three(attempt)


def test_it_is_tried_again_when_things_change(new_program):
    def attempt():
        program = new_program()
        before = shared(program, TRIED + 10, 2000, 50, 10)[TRIED:]
        return not before.any() and shared(program, 3 * 16 * 32, 2000, 10, 50)[-100:].all()

    one_of_three(attempt)


@pytest.mark.parametrize(("thousandths", "expected"), [(8000, True), (100, False)])
def test_only_brief_regions_are_tried(new_program, thousandths, expected):
    found = shared(new_program(), 300, thousandths, 1, 1)
    assert (found == expected).all()


def test_one_thread_shares_nothing(new_program):
    program = new_program()
    program.dispatcher.set_threads(1)
    assert not shared(program, 300, 2000, 1, 1).any()


# Turns of a loop with one region that is not brief outside of loops, and three that are.
IN_LOOP = """
    uint8_t *shared = args[0].a.data;
    int64_t chunks = 0;
    for (int64_t k = 0; k < args[0].a.shape[0]; k++) {
        ctx->turn(ctx);
        for (int64_t region = 0; region < 4; region++) {
            const int64_t before = ctx->counters[4];
            if (weft_pays(ctx, region ? 2.0 : args[1].i / 1000.0, 1.0))
                ctx->parallel(ctx, count, &chunks, 3, 1);
            const int64_t together = ctx->counters[4] > before;
            if (region == 0)
                shared[k] = together;
            wait(args[together ? 2 : 3].i);
        }
    }
    ctx->brief = WEFT_BRIEF;
    return 0;"""


@pytest.mark.parametrize(("together", "alone", "settled"), [(5, 30, True), (30, 5, False)])
def test_in_loops_larger_regions_are_tried_turn_by_turn(harness, together, alone, settled):
    def attempt():
        program = harness.program(lambda a, b, c, d: "python", IN_LOOP, SPECS, before=BEFORE)
        program.dispatcher.set_threads(2)
        found = shared(program, 150, 20_000, together, alone)
        assert found[0]
        assert found[:60].any()
        assert not found[:60].all()
        return (found[60:] == settled).all()

    one_of_three(attempt)


# A loop that a team may run, time after time: notes who ran it (0 a team, 1 regions, 2 one thread). It takes as many
# microseconds as args[1 + who] says.
TEAM_LOOP = """
    uint8_t *who = args[0].a.data;
    int64_t chunks = 0;
    for (int64_t k = 0; k < args[0].a.shape[0]; k++) {
        if (ctx->together(ctx, 0, 1000.0))
            who[k] = 0;
        else {
            const int64_t before = ctx->counters[4];
            if (weft_pays(ctx, 1000.0, 1.0))
                ctx->parallel(ctx, count, &chunks, 3, 1);
            who[k] = ctx->counters[4] > before ? 1 : 2;
        }
        wait(args[1 + who[k]].i);
        ctx->apart(ctx);
    }
    return 0;"""


@pytest.mark.parametrize("best", [0, 1, 2])
def test_a_team_regions_or_one_thread_run_a_loop_whichever_is_quickest(harness, best):
    specs = [array("uint8", written=True), *SPECS[1:]]
    times = [100 if who == best else 300 for who in range(3)]

    def attempt():
        program = harness.program(lambda a, b, c, d: "python", TEAM_LOOP, specs, before=BEFORE)
        program.dispatcher.set_threads(2)
        found = np.full(9 + 16 + 9 + 32, 9, np.uint8)
        program.call(found, *times)
        assert set(found[:3]) == {0, 1, 2}  # all are tried
        return (found[9:25] == best).all() and (found[-32:] == best).all()

    one_of_three(attempt)


def turned(x, steps):
    total = 0.0
    y = x.copy()
    for k in range(steps):
        y = np.exp(-0.5 * y) + 0.25 * y[::-1] + 0.001 * k
        total += np.sum(y * x)
    return y, total


def test_results_do_not_depend_on_it():
    x = np.random.default_rng(0).random(20_011)  # the ends of chunks are no whole vectors
    expected, program = weft.program(turned, threads=1)(x, 400), weft.program(turned, threads=2)
    for _ in range(2):
        y, total = program(x, 400)
        assert total == expected[1]
        np.testing.assert_array_equal(y, expected[0])
    assert 0 < program.stats.parallel_regions < 2 * 2 * 400


def test_calls_at_the_same_time():
    x = np.random.default_rng(0).random(20_000)
    program = weft.program(turned, threads=2)
    expected = program(x, 100)
    results = []
    threads = [threading.Thread(target=lambda: results.append(program(x, 100))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4
    for y, total in results:
        assert total == expected[1]
        np.testing.assert_array_equal(y, expected[0])
