"""`ctx->call_python`: what a kernel lends, what it gets back, and what it is told when something else comes of it."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from tests.runtime.conftest import Harness, Program, array
from weft.support.abi import Array, Exit, NumpyCall, Scalar, Sequence
from weft.support.numpy_calls import ResultType, calls_at, checker, flatten

# Calls with all of the argument, and leaves with the array or number it got (exit 0), or with the answer (exit 1).
LENDS = """
    int64_t room[4], answer;
    out[0].a = args[0].a;
    out[1].a.shape = room;
    answer = ctx->call_python(ctx, 0, out);
    if (answer == 2) return WEFT_INTERRUPTED;
    out[2].i = answer;
    if (answer) return 1;
"""
ARRAY = f"""{LENDS}
    out[0].a = (weft_array){{out[1].a.data, out[1].a.block, room, (int64_t[]){{8}}}};
    int64_t *strides = ctx->extents(ctx, 2);
    strides[0] = 8;
    strides[1] = room[0];
    out[0].a.strides = strides;
    out[0].a.shape = strides + 1;
    return 0;"""
NUMBER = f"{LENDS}\n    __builtin_memcpy(&out[0].f, &out[1], 8);\n    return 0;"
EXITS = (Exit(Array(0, "float64", 1)), Exit(Scalar(2, "py_int")))


def caller(harness: Harness, callback: Any, body: str = ARRAY, result: ResultType | None = None) -> Program:
    result = result or ResultType("float64", 1)
    call = NumpyCall("numpy.sort", 1, Sequence((Array(0, "float64", 1),)), (), 1, (result,))
    exits = EXITS if result.ndim >= 0 else (Exit(Scalar(0, "float64")), EXITS[1])
    variant = harness.variant(body, [array()], exits, out_count=3, numpy_calls=(callback,))
    program = harness.dispatcher(lambda a: "python")
    program.dispatcher.add_variant(variant._replace(info=variant.info._replace(numpy_calls=(call,))))
    return program


def test_the_result_is_an_array_of_the_kernels_own(harness: Harness):
    made = np.array([1.0, 2.0, 3.0])
    before = sys.getrefcount(made)
    program = caller(harness, lambda given: (made,))

    result = program.call(np.zeros(2))

    assert result.tolist() == [1.0, 2.0, 3.0]
    assert not np.shares_memory(result, made)
    assert sys.getrefcount(made) == before
    counters = program.dispatcher.counters()
    assert (counters.numpy_calls, counters.allocations, counters.allocated_bytes) == (1, 1, 24)


def test_arguments_are_lent(harness: Harness):
    seen: list[Any] = []

    def callback(given: tuple[Any, ...]) -> tuple[Any, ...]:
        (lent,) = given
        seen.append((lent.tolist(), lent.flags.writeable, lent.flags.owndata, lent.base))
        return (lent[::-1].copy(),)

    result = caller(harness, callback).call(np.array([1.0, 2.0]))

    assert seen == [([1.0, 2.0], True, False, None)]  # NumPy copies what is read-only
    assert result.tolist() == [2.0, 1.0]


def test_a_view_of_an_argument_is_copied_before_it_is_gone(harness: Harness):
    assert caller(harness, lambda given: given).call(np.arange(3.0)).tolist() == [0.0, 1.0, 2.0]


def test_a_number_comes_without_axes(harness: Harness):
    program = caller(harness, lambda given: (np.asarray(2.5),), NUMBER, ResultType("float64"))

    assert program.call(np.zeros(2)) == 2.5


@pytest.mark.parametrize(
    "results",
    [
        None,
        (),
        (np.zeros(3), np.zeros(3)),
        (np.zeros(3, np.float32),),
        (np.zeros((3, 3)),),
        (np.zeros(6)[::2],),
        ([1],),
    ],
    ids=["none", "nothing", "two", "dtype", "rank", "strides", "list"],
)
def test_anything_else_is_left_to_python(harness: Harness, results: Any):
    assert caller(harness, lambda given: results).call(np.zeros(2)) == 1


def test_an_error_ends_the_call(harness: Harness):
    def callback(given: tuple[Any, ...]) -> tuple[Any, ...]:
        raise KeyError("mine")

    program = caller(harness, callback)

    with pytest.raises(KeyError, match="mine"):
        program.call(np.zeros(2))


def test_there_is_somebody_for_every_call(harness: Harness):
    program = caller(harness, lambda given: given)
    variant = harness.variant(ARRAY, [array()], EXITS, out_count=3)
    call = NumpyCall("numpy.sort", 1, Sequence(()), (), 1, ())

    with pytest.raises(ValueError, match="needs somebody"):
        program.dispatcher.add_variant(variant._replace(info=variant.info._replace(numpy_calls=(call,))))


def test_tables_of_a_call_are_checked(harness: Harness):
    variant = harness.variant(ARRAY, [array()], EXITS, out_count=3, numpy_calls=(flatten,))
    program = harness.dispatcher(lambda a: "python")
    calls = [
        NumpyCall("numpy.sort", 1, Sequence((Array(7, "float64", 1),)), (), 1, ()),
        NumpyCall("numpy.sort", 1, Sequence(()), (), 3, (ResultType("float64", 1),)),
        NumpyCall("numpy.sort", 1, Sequence(()), (), 0, (ResultType("float64", 99),)),
    ]

    for call in calls:
        with pytest.raises(ValueError, match="malformed kernel tables"):
            program.dispatcher.add_variant(variant._replace(info=variant.info._replace(numpy_calls=(call,))))


# ---- what Python does for the kernel --------------------------------------------------------------------------------


def test_results_are_taken_apart_and_made_dense():
    check = checker([ResultType("float64", 1), ResultType("float64", 2, (1, 0)), ResultType("py_int")])
    fortran = np.asfortranarray(np.arange(6.0).reshape(2, 3))

    results = check((np.arange(8.0)[::2], [fortran, 3]))

    assert results is not None
    gaps, turned, number = results
    assert gaps.flags.c_contiguous
    assert gaps.tolist() == [0.0, 2.0, 4.0, 6.0]
    assert turned.flags.c_contiguous
    assert turned.tolist() == fortran.T.tolist()
    assert number.shape == ()


@pytest.mark.parametrize(
    ("type_", "result"),
    [
        (ResultType("float64", 2), np.asfortranarray(np.ones((2, 3)))),
        (ResultType("float64", 1), np.ones(2, ">f8")),
        (ResultType("float64", 1), np.ma.array([1.0])),
        (ResultType("float64"), 1.0),
        (ResultType("py_float"), np.float64(1.0)),
        (ResultType("py_int"), 1 << 63),
        (ResultType("py_bool"), 1),
        (ResultType("float64", 1), None),
    ],
)
def test_another_type_is_refused(type_: ResultType, result: Any):
    assert checker([type_])(result) is None


def test_the_call_is_made_with_positional_and_named_arguments():
    call = calls_at(test_another_type_is_refused, "numpy.sort", 7, ("axis",), [ResultType("float64", 2)])

    results = call((np.array([[2.0, 1.0], [1.0, 3.0]]), 0))

    assert results is not None
    assert results[0].tolist() == [[1.0, 1.0], [2.0, 3.0]]
    assert call((np.zeros((2, 2)), 5)) is None
