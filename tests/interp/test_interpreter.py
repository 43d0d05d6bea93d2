from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.ir.samples import SAMPLES, sample
from tests.ir.strategies import FLOATS, INDICES, INTEGERS, booleans, floats, integers, polynomials
from weft.interp import MISSING, Left, MemletError, ResumeError, Returned, interpret
from weft.ir.dtypes import NP_BOOL, PY_INT, DType, ScalarType
from weft.ir.exprs import Expr, Value, const, const_index, op
from weft.ir.nodes import Let, Program, Region, Return, Tasklet
from weft.ir.ops import OPS
from weft.ir.parser import parse_program
from weft.support.abi import ArgKind, ArgSpec, Slot, SlotKind
from weft.support.errors import InternalError


def value_of(outcome: object) -> object:
    assert isinstance(outcome, Returned), outcome
    return outcome.value


@pytest.fixture
def random() -> np.random.Generator:
    return np.random.default_rng(5)


# ---------------------------------------------------------------- the samples, against NumPy


@pytest.mark.parametrize("seed", range(3))
def test_a_stencil(random: np.random.Generator, seed: int) -> None:
    A, B = random.random(9), random.random(9)
    a, b = A.copy(), B.copy()
    for _ in range(1, 4):
        b[1:-1] = 0.25 * (a[:-2] + 2.0 * a[1:-1] + a[2:])
        a[1:-1] = 0.25 * (b[:-2] + 2.0 * b[1:-1] + b[2:])

    assert interpret(sample("jacobi"), [4, A, B], seed=seed) == Returned(None)
    np.testing.assert_array_equal(A, a)
    np.testing.assert_array_equal(B, b)


@pytest.mark.parametrize("seed", range(3))
def test_a_map_writes_in_place_on_strided_arguments(random: np.random.Generator, seed: int) -> None:
    A, B = random.random((5, 4)).T, np.zeros((4, 5))

    assert value_of(interpret(sample("maps"), [A, B, 2.0], seed=seed)) is B
    np.testing.assert_array_equal(B[:, 1:], np.abs((A[:, 1:] - A[:, :-1]) * 2.0))


def test_conflict_resolution_sums(random: np.random.Generator) -> None:
    keys = random.integers(0, 4, 50)

    result = value_of(interpret(sample("histogram"), [keys, 4]))

    np.testing.assert_array_equal(result, np.bincount(keys, minlength=4))


def test_library_nodes(random: np.random.Generator) -> None:
    A, B = random.random((3, 4)), random.random((4, 2))
    product = A @ B + 0.5 * (A @ B)

    transposed, sums, largest, where, constant, rest = value_of(interpret(sample("library"), [A, B]))  # type: ignore[misc]

    np.testing.assert_array_equal(transposed, (product + np.arange(6).reshape(3, 2)).T)
    np.testing.assert_array_equal(sums, np.cumsum(product.sum(axis=1)))
    np.testing.assert_array_equal(largest, product.max(axis=1, keepdims=True))
    np.testing.assert_array_equal(where, product.argmax(axis=0))
    assert constant == ("text", 1, None)
    assert rest == [3, MISSING]
    assert largest.flags.f_contiguous


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("shape", [(3, 4), (1, 0), (5, 1)])
def test_reductions_of_what_is_never_stored(random: np.random.Generator, shape: tuple[int, int], seed: int) -> None:
    A, x = random.standard_normal(shape), random.random(shape[1])
    at = random.integers(0, shape[1], 6) if shape[1] else np.zeros(0, np.int64)

    found = value_of(interpret(sample("elements"), [A, x, at], seed=seed))

    expected = ((A * x).sum(1), np.abs(A).sum(), A[::-1].argmax(0, keepdims=True), [0, 1], bool(np.any(x[at] < 0.5)))
    assert isinstance(found, tuple)
    for got, wanted in zip(found, expected, strict=True):
        np.testing.assert_array_equal(got, wanted)


def test_refs_swap_through_carries() -> None:
    a, b = np.zeros(3), np.zeros(3)

    x, y, total = value_of(interpret(sample("swap"), [3, a, b]))  # type: ignore[misc]

    assert (a[0], b[0], x[0], y[0], total) == (2, 3, 3, 2, 3)
    assert np.shares_memory(x, b)
    assert np.shares_memory(y, a)
    assert type(total) is np.float64


@pytest.mark.parametrize(("key", "result"), [(7, (3, 2)), (8, (5, 4))])
def test_loops_branches_and_early_returns(key: int, result: object) -> None:
    assert value_of(interpret(sample("control"), [np.array([1, -1, 5, 7, 9]), key, 100])) == result


def test_a_choice_is_made_at_run_time() -> None:
    assert value_of(interpret(sample("control"), [np.array([1, -1]), 7, 100])) == ("far", 2)


@pytest.mark.parametrize(("flag", "result"), [(True, [0, 1, 4, 9]), (False, [0, 1, 0])])
def test_a_branch_binds_a_ref(flag: bool, result: list[float]) -> None:
    x = np.arange(4, dtype=np.float32)

    got = value_of(interpret(sample("refs"), [x, x[:3], flag]))

    np.testing.assert_array_equal(got, np.array(result, np.float32))


def test_writebacks() -> None:
    outcome = interpret(sample("methods"), [None, np.float64(1.5), (3, 4), 3, "fast"])

    assert outcome == Returned(np.float64(4.5), (np.float64(4.5),))


def test_scalars_leave_with_their_types() -> None:
    values = value_of(interpret(sample("literals"), [None]))

    assert isinstance(values, tuple)
    names = " ".join(type(value).__name__ for value in values)
    assert names == ("float64 float64 float64 float32 complex128 complex64 uint64 int8 bool int int float int int")
    assert values[9:11] == (-3, 11)


# ---------------------------------------------------------------- leaving


def test_a_failed_guard_leaves_with_the_live_names() -> None:
    A = np.array([1, -1, 5, 7, 9])

    outcome = interpret(sample("control"), [A, 8, 2])

    assert isinstance(outcome, Left)
    assert (outcome.site, outcome.reason) == (1, 'over the "limit"')
    outer, inner = outcome.frames
    assert outer.live == {"A": A, "key": 8, "i": 3}
    assert outer.live["A"] is A
    assert (outer.function, outer.path, inner.function, inner.path) == (0, (1, 0), 1, (0,))
    assert inner.values == (7, MISSING)
    assert inner.live == {"x": 7}


def test_overflow_is_seen_by_a_guard() -> None:
    outcome = interpret(sample("control"), [np.array([1]), 2**63 - 1, 1])

    assert isinstance(outcome, Left)
    assert outcome.reason == "integer overflow"


def test_leaving_after_a_visible_write_is_our_fault() -> None:
    late = SAMPLES["jacobi"].replace("return constant 0", 'guard false:b1 else site 0 "late"\n  return constant 0')

    with pytest.raises(ResumeError, match="'late' leaves for site 0"):
        interpret(parse_program(late), [2, np.ones(4), np.ones(4)])


def test_leaving_after_a_private_write_is_fine() -> None:
    late = SAMPLES["histogram"].replace("return H[:]", 'guard false:b1 else site 0 "late"\n  return H[:]')

    assert isinstance(interpret(parse_program(late), [np.array([0]), 1]), Left)


# ---------------------------------------------------------------- memory


def test_an_index_outside_is_reported() -> None:
    with pytest.raises(MemletError, match=r"H\[4\] is outside the extents \[4\]"):
        interpret(sample("histogram"), [np.array([4]), 4])


def test_a_negative_index_is_outside() -> None:
    with pytest.raises(MemletError, match=r"H\[-1\] is outside"):
        interpret(sample("histogram"), [np.array([-1]), 4])


def test_a_view_outside_is_reported() -> None:
    text = (
        SAMPLES["jacobi"]
        .replace("guard greater_equal(%n.2, 2)", "guard true:b1", 1)
        .replace("A[2:%n.2]", "A[3:%n.2 + 1]")
    )

    with pytest.raises(MemletError, match="a view of A reaches from 3 to 9"):
        interpret(parse_program(text), [2, np.ones(9), np.ones(9)])


def test_undefined_elements_show() -> None:
    text = SAMPLES["refs"].replace("elementwise R[:]", "elementwise R[1:%k.4]").replace("= X[:]", "= X[1:%k.4]")
    x = np.ones(3, np.float32)

    result = value_of(interpret(parse_program(text), [x, x, True]))

    assert isinstance(result, np.ndarray)
    assert np.isnan(result).tolist() == [True, False, False]


def test_memory_of_a_region_is_gone_after_it() -> None:
    # A transient of the loop body, seen through a ref of an inner branch that did not carry it out.
    text = """\
weft-ir 1
program dangling
size %k.1: py_int
array T: f8[2] transient C
array X: f8[%k.1] ref S may alias (T)
{
  site 0 f0@() {}
  if true:b1 -> (X) {
    alloc T site 0
    elementwise T[:] at (%i.2: py_int) {
      yield 1.0:f8
    }
    yield T[:]
  } else {
    return missing
  }
  %x.3: f8 = X[0]
  return %x.3
}
"""
    assert value_of(interpret(parse_program(text), [])) == 1.0


def test_elementwise_reads_all_before_it_writes() -> None:
    text = """\
weft-ir 1
program shift
slot param 0: array int32 rank 1 written
size %n.1: py_int
array A: i4[%n.1] argument slot 0 S written
{
  elementwise A[1:%n.1] at (%i.2: py_int) {
    %a.3: i4 = A[0:%n.1 - 1]
    yield %a.3
  }
  return missing
}
"""
    A = np.arange(5, dtype=np.int32)

    interpret(parse_program(text), [A])

    assert A.tolist() == [0, 0, 1, 2, 3]


REDUCTION = """\
weft-ir 1
program reduction
slot param 0: array {dtype} rank 2
size %n.1: py_int
size %m.2: py_int
array A: {short}[%n.1, %m.2] argument slot 0 S
array R: {result}[{shape}] transient C
{{
  site 0 f0@() {{}}
  alloc R site 0
  reduce {op} R[{whole}] = A[:, :] axes ({axes}){initial}
  return R[{whole}]
}}
"""


def reduction(
    op_: str, axes: tuple[int, ...], *, keepdims: bool, dtype: str, result: str, initial: str = ""
) -> Program:
    extents = ["%n.1", "%m.2"]
    shape = ["1" if a in axes else e for a, e in enumerate(extents) if keepdims or a not in axes]
    text = REDUCTION.format(
        dtype=np.dtype(dtype).name, short=dtype, result=result, shape=", ".join(shape),
        whole=", ".join(":" for _ in shape), op=op_, axes=", ".join(map(str, axes)), initial=initial,
    )  # fmt: skip
    return parse_program(text)


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axes", [(0,), (1,), (0, 1)])
@pytest.mark.parametrize("name", ["add", "multiply", "minimum", "maximum"])
def test_reductions_are_numpys(random: np.random.Generator, name: str, axes: tuple[int, ...], keepdims: bool) -> None:
    A = random.random((3, 4)).astype(np.float32)
    program = reduction(name, axes, keepdims=keepdims, dtype="f4", result="f8")

    expected = getattr(np, name).reduce(A.astype(np.float64), axis=axes, keepdims=keepdims)

    np.testing.assert_array_equal(value_of(interpret(program, [A])), expected)


@pytest.mark.parametrize("axes", [(0,), (1,), (0, 1)])
@pytest.mark.parametrize("name", ["argmin", "argmax"])
def test_positions_are_the_first(name: str, axes: tuple[int, ...]) -> None:
    A = np.array([[1.0, 3.0, 3.0], [1.0, np.nan, 0.0]])
    program = reduction(name, axes, keepdims=False, dtype="f8", result="i8")

    expected = getattr(np, name)(A, axis=axes[0] if len(axes) == 1 else None)

    np.testing.assert_array_equal(value_of(interpret(program, [A])), expected)


@pytest.mark.parametrize("name", ["logical_and", "logical_or"])
def test_logical_reductions(name: str) -> None:
    A = np.array([[1.0, 0.0], [2.0, np.nan]])
    program = reduction(name, (1,), keepdims=False, dtype="f8", result="b1")

    np.testing.assert_array_equal(value_of(interpret(program, [A])), getattr(np, name).reduce(A, axis=1))


def test_an_empty_reduction_gives_the_initial_value() -> None:
    program = reduction("maximum", (1,), keepdims=False, dtype="f8", result="f8", initial=" initial -inf:f8")

    np.testing.assert_array_equal(value_of(interpret(program, [np.empty((2, 0))])), [-np.inf, -np.inf])


def test_an_empty_reduction_without_one_is_our_fault() -> None:
    program = reduction("maximum", (1,), keepdims=False, dtype="f8", result="f8")

    with pytest.raises(InternalError, match="an empty maximum without an initial value"):
        interpret(program, [np.empty((2, 0))])


def test_a_product_of_bools_is_any_of_all() -> None:
    text = SAMPLES["library"].replace("float64", "bool").replace("f8", "b1")
    start = text.index("  matmul")
    text = text[:start] + "  matmul P[:, :] = A[:, :] @ B[:, :]\n  return P[:, :]\n}\n"
    A, B = np.array([[True, False]]), np.array([[False], [True]])

    np.testing.assert_array_equal(value_of(interpret(parse_program(text), [A, B])), A @ B)


# ---------------------------------------------------------------- scalar operations


def evaluate(expr: Expr, bindings: dict[Value, object]) -> object:
    kinds = {PY_INT: ArgSpec(ArgKind.PY_INT)}
    args = tuple(kinds.get(v.type) or ArgSpec(ArgKind.NP_SCALAR, v.type.dtype.value) for v in bindings)
    slots = tuple(Slot(SlotKind.PARAM, number) for number in range(len(bindings)))
    result = Value(999, "result", expr.type)
    body = Region((Tasklet(lets=(Let(result, expr),)), Return(result)))
    program = Program("evaluate", slots, args, tuple(enumerate(bindings)), {}, body)
    return value_of(interpret(program, list(bindings.values())))


def test_every_operation_can_be_evaluated() -> None:
    double, whole = ScalarType(DType.FLOAT64), ScalarType(DType.INT64)
    for name, info in OPS.items():
        integral = name.startswith(("bitwise", "invert", "left", "right")) or name.endswith("_overflows")
        type_, number = (whole, const(2, whole)) if integral else (double, const(0.5, double))
        args: list[Expr] = [number] * info.arity
        if name == "select":
            args[0] = const(True, NP_BOOL)
        predicates = ("equal", "less", "greater", "logical", "is", "signbit", "not_equal")
        if name.startswith(predicates) or name.endswith("_overflows"):
            type_ = NP_BOOL
        if name == "complex":
            type_ = ScalarType(DType.COMPLEX128)
        result = evaluate(op(name, args, type_), {})
        assert type(result) is type_.dtype.numpy.type, name


@pytest.mark.parametrize(
    ("name", "x", "y", "overflows"),
    [
        ("add_overflows", 2**62, 2**62, True),
        ("add_overflows", 2**62, 2**62 - 1, False),
        ("subtract_overflows", -(2**63), 1, True),
        ("multiply_overflows", 2**32, 2**31, True),
        ("multiply_overflows", -(2**32), 2**31, False),
        ("power_overflows", 2, 63, True),
        ("power_overflows", -2, 63, False),
        ("power_overflows", -1, 10**9, False),
        ("power_overflows", 3, 10**9, True),
        ("left_shift_overflows", 1, 62, False),
        ("left_shift_overflows", 1, 10**9, True),
        ("left_shift_overflows", 0, 10**9, False),
    ],
)
def test_overflow_is_exact(name: str, x: int, y: int, overflows: bool) -> None:
    assert evaluate(op(name, (const(x, PY_INT), const(y, PY_INT)), NP_BOOL), {}) == overflows


def test_numpy_integers_wrap_without_a_warning() -> None:
    byte = ScalarType(DType.INT8)

    assert evaluate(op("add", (const(127, byte), const(1, byte)), byte), {}) == np.int8(-128)


def test_a_polynomial_may_wrap_on_its_way() -> None:
    big = Value(1, "n", PY_INT)

    assert evaluate(const_index(4) * big - const_index(3) * big, {big: 2**62}) == 2**62


def test_an_operation_in_another_type_than_stated_is_our_fault() -> None:
    single, double = ScalarType(DType.FLOAT32), ScalarType(DType.FLOAT64)

    with pytest.raises(InternalError, match="in float32, not float64"):
        evaluate(op("add", (const(1.0, single), const(1.0, single)), double), {})


@settings(deadline=None)  # a busy machine is no failure
@given(
    expr=floats() | integers() | booleans() | polynomials,
    indices=st.tuples(*(st.integers(0, 5) for _ in INDICES)),
    xs=st.tuples(*(st.floats() for _ in FLOATS)),
    ks=st.tuples(*(st.integers(-(2**63), 2**63 - 1) for _ in INTEGERS)),
)
def test_scalars_and_arrays_agree(expr: Expr, indices: object, xs: object, ks: object) -> None:
    """An expression gives the same one by one as in an Elementwise, whose inputs are arrays."""
    from weft.interp.scalars import compile_expr

    numbers = (*indices, *map(np.float64, xs), *map(np.int64, ks))  # type: ignore[misc]
    env = {value.id: number for value, number in zip((*INDICES, *FLOATS, *INTEGERS), numbers, strict=True)}
    arrays = {key: np.array([number, number]) for key, number in env.items()}
    evaluator = compile_expr(expr)

    with np.errstate(all="ignore"):
        one, many = evaluator(env), np.broadcast_to(evaluator(arrays), (2,))

    assert many.dtype == one.dtype == expr.type.dtype.numpy
    np.testing.assert_array_equal(many, [one, one])
