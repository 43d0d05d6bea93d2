"""What must be known at compile time, what is refused, and what is left to Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.numpy_rules.samples import Bench, RunTime
from weft.interp import Left, Returned
from weft.ir.exprs import Index
from weft.numpy_rules.builder import NeedStatic
from weft.numpy_rules.registry import all_rules, rule_for
from weft.numpy_rules.values import Array, Never, Operand, Scalar, Static, Tuple
from weft.support.errors import CompileError

A = np.arange(12.0).reshape(3, 4)
Z = np.array([1 + 2j, 3 - 1j])


def apply(bench: Bench, name: str, *args: Any, **keywords: Any) -> Operand:
    return all_rules()[name].lower(
        bench.build,
        *(bench.operand(arg) for arg in args),
        **{key: bench.operand(value) for key, value in keywords.items()},
    )


def outcome(name: str, *args: Any, **keywords: Any) -> Returned | Left:
    bench = Bench()
    return bench.run(apply(bench, name, *args, **keywords))


# -- static places ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "args", "keywords"),
    [
        ("numpy.sum", (A,), {"axis": RunTime(1)}),
        ("numpy.sum", (A,), {"keepdims": RunTime(True)}),
        ("numpy.sum", (A,), {"axis": (0, RunTime(1))}),
        ("numpy.round", (A, RunTime(2)), {}),
        ("numpy.transpose", (A, (RunTime(1), 0)), {}),
        ("numpy.diff", (A,), {"n": RunTime(2)}),
    ],
)
def test_argument_in_a_static_place_is_specialised_by_value(name: str, args: Any, keywords: Any):
    bench = Bench()

    with pytest.raises(NeedStatic) as request:
        apply(bench, name, *args, **keywords)

    assert isinstance(bench.objects[request.value.slot], int)


def test_number_computed_from_arguments_asks_for_them():
    bench = Bench()
    array, axis = bench.operand(A), bench.operand(RunTime(2))
    assert isinstance(axis, Scalar)
    assert isinstance(axis.expr, Index)

    with pytest.raises(NeedStatic) as request:
        all_rules()["numpy.sum"].lower(bench.build, array, Scalar(axis.expr - 1))

    assert request.value.slot == 1


def test_computed_axis_is_an_error():
    bench = Bench()
    array = bench.operand(A)
    assert isinstance(array, Array)

    with pytest.raises(CompileError, match="axis must be known at compile time"):
        all_rules()["numpy.sum"].lower(bench.build, array, Scalar(array.shape[0]))


# -- refused ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "args", "code"),
    [
        ("numpy.zeros", (3, np.float16), "E231"),
        ("numpy.linalg.norm", (A, "nuc"), "E261"),
        ("numpy.max", (Z,), "E240"),
        ("numpy.argmax", (Z,), "E240"),
        ("builtins.min", (A,), "E271"),
        ("builtins.sum", (A,), "E271"),
        ("builtins.round", (RunTime(2.5), -1), "E270"),
        ("ndarray.ravel", (A[:, ::2],), "E282"),
        ("ndarray.reshape", (A[:, ::2], 6), "E281"),
        ("numpy.ascontiguousarray", (A[:, ::2],), "E252"),
        ("numpy.concatenate", (A,), "E283"),
        ("numpy.repeat", (A, (1, 2, 3)), "E285"),
        ("ndarray.astype", (Z, float), "E253"),
        ("numpy.clip", (A > 3, False, True), "E216"),
    ],
)
def test_refused_with_a_code(name: str, args: Any, code: str):
    with pytest.raises(CompileError) as refused:
        outcome(name, *args)

    assert refused.value.code == code


@pytest.mark.parametrize("part", ["real", "imag"])
def test_part_of_a_complex_array_is_not_written(part: str):
    bench = Bench()
    owner = bench.operand(Z.copy())
    view = all_rules()[f"ndarray.{part}"].lower(bench.build, owner)

    for target in (view, owner):
        with pytest.raises(CompileError) as refused:
            all_rules()["ndarray.fill"].lower(bench.build, target, Scalar(Index(())))
        assert refused.value.code == "E203"


def test_unknown_ufunc_is_refused():
    with pytest.raises(CompileError, match="gcd is not compiled"):
        outcome("ufunc.outer", np.gcd, A, A)


# -- left to Python ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("numpy.sum", (A, 2)),
        ("numpy.sum", (A, (0, 0))),
        ("numpy.max", (np.zeros(0),)),
        ("numpy.argmin", (np.zeros((3, 0)), 1)),
        ("numpy.mean", (np.zeros(0),)),
        ("numpy.var", (np.zeros(1), None, None, None, 1)),
        ("numpy.zeros", (RunTime(-1),)),
        ("numpy.zeros", (2.5,)),
        ("numpy.zeros", (3, "no such type")),
        ("numpy.full", (3, 300, np.uint8)),
        ("numpy.full", (3, RunTime(-1), np.uint8)),
        ("numpy.full", (3, RunTime(float("nan")), np.int64)),
        ("numpy.full", (3, 1j, np.float64)),
        ("numpy.arange", (0, 5, RunTime(0))),
        ("numpy.arange", (0.0, 5.0, RunTime(0.0))),
        ("numpy.arange", (0.0, RunTime(float("inf")))),
        ("numpy.linspace", (0, 1, RunTime(-1))),
        ("numpy.matmul", (A, A)),
        ("numpy.matmul", (A, 2.0)),
        ("numpy.dot", (A, np.ones(3))),
        ("numpy.diagonal", (np.ones(3),)),
        ("numpy.reshape", (A, (RunTime(5), 2))),
        ("numpy.reshape", (A, (RunTime(5), -1))),
        ("numpy.reshape", (A, (-1, -1))),
        ("numpy.squeeze", (A, 0)),
        ("numpy.transpose", (A, (0,))),
        ("numpy.transpose", (A, (0, 0))),
        ("numpy.broadcast_to", (A, (RunTime(2), 4))),
        ("numpy.concatenate", ((A, np.ones((2, 3))),)),
        ("numpy.stack", ((A, np.ones((2, 4))),)),
        ("numpy.where", (np.ones(3) > 0, np.ones(3, np.uint8), RunTime(300))),
        ("numpy.power", (2, np.array([1, -1]))),
        ("numpy.power", (np.array([1, 2]), RunTime(-1))),
        ("numpy.int8", (RunTime(200),)),
        ("numpy.int64", (RunTime(float("inf")),)),
        ("math.sqrt", (RunTime(-1.0),)),
        ("math.sqrt", (-1.0,)),
        ("math.exp", (RunTime(1000.0),)),
        ("math.log", (RunTime(0.0),)),
        ("math.log", (RunTime(2.0), RunTime(1.0))),
        ("math.sin", (RunTime(float("inf")),)),
        ("math.acos", (RunTime(2.0),)),
        ("math.pow", (RunTime(-8.0), RunTime(0.5))),
        ("math.fmod", (RunTime(1.0), RunTime(0.0))),
        ("math.floor", (RunTime(float("nan")),)),
        ("math.ceil", (RunTime(1e30),)),
        ("math.sqrt", (RunTime(1j),)),
        ("builtins.int", (RunTime(float("nan")),)),
        ("builtins.int", (RunTime(2.0**63),)),
        ("builtins.round", (RunTime(float("inf")),)),
        ("builtins.divmod", (RunTime(1), RunTime(0))),
        ("builtins.len", (RunTime(3),)),
        ("builtins.max", ((),)),
        ("builtins.float", ("no number",)),
        ("builtins.float", (RunTime(1j),)),
    ],
)
def test_python_repeats_what_raises(name: str, args: Any):
    assert isinstance(outcome(name, *args), Left)


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("math.sqrt", (RunTime(float("nan")),)),
        ("math.exp", (RunTime(float("inf")),)),
        ("math.log", (RunTime(float("inf")),)),
        ("math.pow", (RunTime(float("inf")), RunTime(2.0))),
        ("math.hypot", (RunTime(float("inf")), RunTime(float("nan")))),
        ("builtins.int", (RunTime(-(2.0**63)),)),
        ("numpy.int8", (RunTime(-128.9),)),
        ("builtins.max", (RunTime(float("nan")), RunTime(1.0))),
        ("builtins.max", (RunTime(1.0), RunTime(float("nan")))),
        ("numpy.arange", (RunTime(3), RunTime(3))),
    ],
)
def test_guards_let_pass_what_python_computes(name: str, args: Any):
    target = rule_target(name)

    result = outcome(name, *args)

    assert isinstance(result, Returned)
    expected = target(*(arg.value for arg in args))
    assert type(result.value) is type(expected)
    np.testing.assert_equal(result.value, expected)


def rule_target(name: str) -> Any:
    import builtins
    import math

    root, _, rest = name.partition(".")
    return getattr({"numpy": np, "math": math, "builtins": builtins}[root], rest)


# -- rules without samples --------------------------------------------------------------------------------------------


def test_fill_and_copyto_write_their_array():
    for name, value in (("ndarray.fill", 2.5), ("numpy.copyto", np.arange(4.0)), ("numpy.copyto", 7)):
        target = A.copy()
        bench = Bench()

        result = bench.run(apply(bench, name, target, value))

        assert isinstance(result, Returned)
        assert result.value is None
        np.testing.assert_array_equal(target, np.broadcast_to(value, A.shape))


@pytest.mark.parametrize(("target", "value"), [(np.zeros(3, np.int64), 2.5), (np.zeros(3), np.zeros((2, 3)))])
def test_copyto_leaves_what_does_not_fit(target: np.ndarray, value: Any):
    assert isinstance(outcome("numpy.copyto", target, value), Left)


def test_reductions_write_to_out():
    target = np.zeros(4, np.float32)

    result = outcome("numpy.sum", A, axis=0, out=target)

    assert isinstance(result, Returned)
    np.testing.assert_array_equal(target, A.sum(0))


@pytest.mark.parametrize("out", [np.zeros(3), np.zeros((1, 4)), np.zeros(4, np.int64)])
def test_unfitting_out_is_left_to_python(out: np.ndarray):
    assert isinstance(outcome("numpy.sum", A, axis=0, out=out), Left)


def test_ufunc_writes_to_out():
    target = np.zeros_like(A)

    result = outcome("numpy.exp", A, out=target)

    assert isinstance(result, Returned)
    np.testing.assert_allclose(target, np.exp(A))


def test_isinstance_is_known():
    cases = [
        (A, np.ndarray, True),
        (RunTime(2), (int, str), True),
        (RunTime(np.float64(1)), float, True),
        ((), list, False),
    ]
    for value, cls, expected in cases:
        result = outcome("builtins.isinstance", value, cls)
        assert isinstance(result, Returned)
        assert result.value is expected


@pytest.mark.parametrize("name", ["numpy.empty", "numpy.ndarray"])
def test_empty_has_type_and_shape(name):
    result = outcome(name, (RunTime(2), 3), np.float32)

    assert isinstance(result, Returned)
    assert (result.value.dtype, result.value.shape) == (np.float32, (2, 3))


def test_scalar_methods():
    for name, value in (
        ("conjugate", np.complex128(1 + 2j)),
        ("copy", np.float32(1.5)),
        ("is_integer", np.float64(2.5)),
        ("item", np.int32(3)),
    ):
        result = outcome(f"scalar.{name}", RunTime(value))
        expected = getattr(value, name)()
        assert isinstance(result, Returned)
        assert result.value == expected
        assert type(result.value) is type(expected)


def test_limits_of_types_are_known():
    for name, kind in (("numpy.finfo", np.float32), ("numpy.iinfo", np.int16)):
        operand = apply(Bench(), name, kind)
        assert isinstance(operand, Static)
        assert operand.value.max == rule_target(name)(kind).max


def test_rules_are_found_by_object():
    for target, name in (
        (np.sum, "numpy.sum"),
        (abs, "builtins.abs"),
        (np.abs, "numpy.abs"),
        (np.float32, "numpy.float32"),
    ):
        entry = rule_for(target)
        assert entry is not None
        assert rule_target(entry.name) is target, name


def test_nothing_comes_of_code_never_reached():
    bench = Bench()

    assert isinstance(all_rules()["numpy.sum"].lower(bench.build, Never()), Never)
    assert isinstance(all_rules()["builtins.sum"].lower(bench.build, Tuple((Never(),))), Never)
