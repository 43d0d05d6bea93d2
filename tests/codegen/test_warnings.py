"""Floating-point warnings: the kinds NumPy gives, for each operation alone, and none that it does not give."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest

from tests.codegen.builders import Build, give, point
from tests.codegen.harness import Module, load
from tests.codegen.test_operations import module_of, names_of, numpy_function, special
from weft.ir.dtypes import NP_BOOL, PY_FLOAT, DType, ScalarType
from weft.ir.exprs import Expr, Value, const, const_index, op
from weft.ir.nodes import Elementwise, Let, Map, Memlet, Pack, Reduce, Region, Schedule, Tasklet
from weft.ir.ops import OPS

DIVIDE, OVERFLOW, INVALID = 1, 2, 8
F8 = ScalarType(DType.FLOAT64)


def numpy_flags(function: Any, *arrays: np.ndarray[Any, Any]) -> int:
    seen = [0]

    def note(_kind: str, flag: int) -> None:
        seen[0] |= flag

    with np.errstate(call=note, divide="call", over="call", invalid="call", under="ignore"):
        function(*arrays)
    return seen[0]


# Where NumPy's flag comes from the way it computes and not from the operation; ours stay silent.
SILENT = {
    "logaddexp": lambda a, b: np.isnan(a) or np.isnan(b),
    "logaddexp2": lambda a, b: np.isnan(a) or np.isnan(b),
    "power": lambda a, b: np.isinf(b),
}


@pytest.mark.parametrize("dtype", [x for x in DType if x.kind != "c"], ids=lambda dtype: dtype.text)
def test_each_operation_warns_as_numpy_does(dtype: DType) -> None:
    faults: list[str] = []
    values = special(dtype)[:17:2] if dtype.kind == "f" else special(dtype)[:16]
    for number, (name, result) in enumerate(names_of(dtype)):
        if OPS[name].warns == "" and dtype.kind != "f":
            continue
        pairs: list[tuple[Any, ...]] = (
            [(a,) for a in values] if OPS[name].arity == 1 else [(a, b) for a in values for b in values]
        )
        for pair in pairs:
            if name == "power" and (dtype.kind == "i" and pair[1] < 0):
                continue
            arrays = [np.array([x], dtype.value) for x in pair]
            expected = numpy_flags(numpy_function(name), *arrays)
            got = module_of(dtype)(*arrays, np.empty(1, result.value), number=number).warnings[0]
            if got != expected and not SILENT.get(name, lambda *_: False)(*pair):
                faults.append(f"{name}{pair}: {got}, NumPy {expected}")
    assert not faults, "\n".join(faults)


def test_plain_numbers_never_warn() -> None:
    """Vectorized functions raise flags of the processor without cause; NaN operands are no cause either."""
    plain = np.concatenate([np.linspace(0.05, 0.95, 1000), [np.nan]])
    for number, (name, result) in enumerate(names_of(DType.FLOAT64)):
        arrays = [plain, plain[::-1].copy()][: OPS[name].arity]
        if name == "arccosh":
            arrays = [arrays[0] + 1.0]
        outcome = module_of(DType.FLOAT64)(*arrays, np.empty(plain.size, result.value), number=number)
        assert outcome.warnings[0] == 0, name


def nest(expr_of: Any, schedule: Schedule = Schedule.SEQUENTIAL) -> Module:
    build = Build()
    build.array("a", DType.FLOAT64, 1)
    build.array("b", DType.FLOAT64, 1)
    r = build.array("r", DType.FLOAT64, 1, written=True)
    i, u, v = build.value("i"), build.value("u", F8), build.value("v", F8)
    tasklet = Tasklet(
        reads=((u, Memlet("a", point(i))), (v, Memlet("b", point(i)))),
        writes=((Memlet("r", point(i)), expr_of(u, v)),),
    )
    ranges = ((const_index(0), r.shape[0]),)
    node = Map(params=(i,), ranges=ranges, body=Region((tasklet,)), schedule=schedule, warn=build.warn("nest"))
    return load(build.program(node, give(Pack(()))))


def quotient(u: Value, v: Value) -> Expr:
    return op("divide", (u, v), F8)


def guarded(u: Value, v: Value) -> Expr:
    """where(u < v, u * v, 0): the comparison is silent, the product is not."""
    return op("select", (op("less", (u, v), NP_BOOL), op("multiply", (u, v), F8), const(0.0, F8)), F8)


@pytest.mark.parametrize("schedule", Schedule)
@pytest.mark.parametrize("size", [5, 40_000])
def test_flags_of_a_nest(schedule: Schedule, size: int) -> None:
    division, product = nest(quotient, schedule), nest(guarded, schedule)
    a, b, r = np.ones(size), np.ones(size), np.empty(size)

    def flags(kernel: Module, first: float, second: float) -> int:
        a[size // 2], b[size // 2] = first, second
        return kernel(a, b, r).warnings[0]

    assert [flags(division, 1.0, x) for x in (1.0, 0.0, 1e-310, np.nan, np.inf)] == [0, DIVIDE, OVERFLOW, 0, 0]
    assert flags(division, 0.0, 0.0) == INVALID
    assert [flags(product, 1.0, x) for x in (1.0, np.nan, np.inf)] == [0, 0, 0]
    assert flags(product, np.inf, 0.0) == INVALID
    assert flags(product, 1e200, 1e200) == OVERFLOW


def test_a_nest_that_cannot_warn_has_no_code_for_it() -> None:
    kernel = nest(lambda u, v: op("maximum", (u, v), F8))
    assert "warn" not in kernel.file.source[kernel.file.source.rindex("int32_t weft_kernel") :]


def test_scalars_warn_one_by_one() -> None:
    build = Build()
    a, b = build.scalar("a", F8), build.scalar("b", F8)
    q, p = build.value("q", F8), build.value("p", F8)
    lets = (
        Let(q, op("divide", (a, b), F8), build.warn("divide")),
        Let(p, op("multiply", (q, q), F8), build.warn("multiply")),
    )
    kernel = load(build.program(Tasklet(lets=lets), give(Pack((q, p)))))
    assert kernel(np.float64(1), np.float64(2)).warnings == {0: 0, 1: 0}
    assert kernel(np.float64(1), np.float64(0)).warnings == {0: DIVIDE, 1: 0}
    assert kernel(np.float64(0), np.float64(0)).warnings == {0: INVALID, 1: 0}
    assert kernel(np.float64(1e200), np.float64(1)).warnings == {0: 0, 1: OVERFLOW}


@pytest.mark.parametrize("dtype", [DType.INT8, DType.INT64, DType.UINT8, DType.UINT64], ids=lambda dtype: dtype.text)
def test_operators_on_integer_scalars_tell_overflow(dtype: DType) -> None:
    operators = {"add": operator.add, "subtract": operator.sub, "multiply": operator.mul, "negative": operator.neg,
                 "absolute": abs, "floor_divide": operator.floordiv, "remainder": operator.mod}  # fmt: skip
    type_ = ScalarType(dtype)
    for name, function in operators.items():
        build = Build()
        values = [build.scalar("ab"[k], type_) for k in range(OPS[name].arity)]
        result = build.value("r", type_)
        let = Let(result, op(name, values, type_), build.warn(f"scalar {name}"))
        kernel = load(build.program(Tasklet(lets=(let,)), give(result)), "-O1")
        for a in special(dtype)[:17]:
            for b in special(dtype)[:17]:
                given = (a, b)[: len(values)]
                expected = numpy_flags(function, *given)
                outcome = kernel(*given)
                assert outcome.warnings == {0: expected}, (name, given)
                with np.errstate(all="ignore"):
                    assert outcome.value == function(*given)


def test_what_a_python_scalar_does_is_not_reported_by_the_nest_after_it() -> None:
    build = Build()
    a = build.array("a", DType.FLOAT64, 1, written=True)
    x = build.scalar("x", PY_FLOAT)
    large, i, u = build.value("large", PY_FLOAT), build.value("i"), build.value("u", F8)
    expr = op("add", (u, op("cast", (large,), F8)), F8)
    node = Elementwise(output=a, params=(i,), inputs=((u, a),), expr=expr, warn=build.warn("add"))
    kernel = load(build.program(Tasklet(lets=(Let(large, op("multiply", (x, x), PY_FLOAT)),)), node, give(Pack(()))))
    assert kernel(np.ones(100), 1e200).warnings == {0: 0}


def test_reductions_warn() -> None:
    build = Build()
    a, r = build.array("a", DType.FLOAT64, 1), build.array("r", DType.FLOAT64, 0, written=True)
    node = Reduce(op="add", output=r, input=a, axes=(0,), initial=const(0.0, F8), warn=build.warn("add"))
    kernel = load(build.program(node, give(Pack(()))))
    total = np.empty(())
    assert kernel(np.ones(300), total).warnings == {0: 0}
    assert kernel(np.full(300, 1e308), total).warnings == {0: OVERFLOW}
    assert kernel(np.array([np.inf, -np.inf]), total).warnings == {0: INVALID}
    assert kernel(np.array([np.nan, 1.0]), total).warnings == {0: 0}
