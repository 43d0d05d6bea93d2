"""Every rule against NumPy: type, dtype, shape, memory order, values, and which memory the result shares."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from tests.numpy_rules.samples import (
    FORMS,
    Bench,
    Call,
    Data,
    RunTime,
    extents,
    fits,
    leading_operands,
    numpy_function,
    plain,
    read_sample,
    resized,
)
from weft.interp import Left, Returned
from weft.numpy_rules.registry import RuleEntry, all_rules
from weft.support.errors import CompileError

CALLS = [
    (entry, sample)
    for _, entry in sorted(all_rules().items())
    for sample in entry.samples
    if fits(entry, read_sample(sample))
]


def has_arrays(sample: str) -> bool:
    call = read_sample(sample)
    return bool(extents([*call.args, *call.keywords.values()]))


def name_of(value: object) -> str:
    return value.name if isinstance(value, RuleEntry) else str(value)


# Whether these copy depends on strides: refused where that is known at run time only.
LAYOUT_DEPENDENT = ("reshape", "ravel", "ascontiguousarray")
# Left to Python for empty axes, though NumPy gives a result.
LEFT_WHEN_EMPTY = ("numpy.diff", "numpy.einsum", "numpy.histogram", "numpy.linalg.norm", "numpy.trapezoid")
LEFT_WHEN_EMPTY += ("numpy.nanmean", "numpy.nanstd", "numpy.nanvar")  # of integers
LEFT_WHEN_EMPTY += ("numpy.searchsorted", "ndarray.searchsorted", "numpy.digitize", "numpy.interp")
LEFT_WHEN_EMPTY += ("numpy.roll",)  # and when it is shorter than the shift twice
LEFT_WHEN_EMPTY += ("numpy.convolve", "numpy.correlate")  # and when it is shorter than the other
LEFT_WHEN_EMPTY += ("numpy.pad",)  # and when one element makes it stored by rows and by columns
LEFT_WHEN_EMPTY += ("numpy.compress", "numpy.extract")  # and when it is shorter than the condition
LEFT_WHEN_EMPTY += ("numpy.split", "numpy.vsplit", "numpy.hsplit", "numpy.array_split")  # and where a cut lies outside
# NumPy gives another type there, which shows only when it is called.
LEFT_WHEN_EMPTY += ("numpy.bincount", "numpy.poly", "numpy.polyval")
# Views of complex arrays in NumPy, copies here (the builder refuses to write either).
COPIES_OF_PARTS = ("numpy.real", "numpy.imag", "ndarray.real", "ndarray.imag")


@dataclass
class Expected:
    """What NumPy did: a value, or an exception or warning."""

    value: Any = None
    raised: BaseException | None = None


def run_numpy(entry: RuleEntry, call: Call, args: list[Any], keywords: dict[str, Any]) -> Expected:
    with warnings.catch_warnings():
        given = entry.typed or entry.family == "nan_functions"  # by a call of NumPy's own
        warnings.simplefilter("ignore" if given else "error")
        try:
            with np.errstate(all="ignore"):
                return Expected(numpy_function(entry, call)(*args, **keywords))
        except (ValueError, TypeError, IndexError, ArithmeticError, RuntimeWarning) as raised:
            return Expected(raised=raised)


def materialise(value: Any, form: str, count: list[int]) -> Any:
    match value:
        case Data():
            count[0] += 1
            return FORMS[form](value.make(count[0]))
        case tuple() | list():
            return type(value)(materialise(item, form, count) for item in value)
        case _:
            return value


def arrays_in(value: Any) -> list[np.ndarray]:
    match value:
        case np.ndarray():
            return [value]
        case tuple() | list():
            return [array for item in value for array in arrays_in(item)]
        case _:
            return []


def memory_order(array: np.ndarray) -> list[int]:
    """Axes by stride; axes of length 1 and empty arrays do not tell."""
    if array.size == 0:
        return []
    axes = [axis for axis, n in enumerate(array.shape) if n > 1 and array.strides[axis]]
    return sorted(axes, key=lambda axis: -abs(array.strides[axis]))


def assert_same(ours: Any, theirs: Any) -> None:
    assert type(ours) is type(theirs)
    if isinstance(theirs, tuple | list):
        assert len(ours) == len(theirs)
        for mine, other in zip(ours, theirs, strict=True):
            assert_same(mine, other)
        return
    if isinstance(theirs, np.ndarray | np.generic):
        assert ours.dtype == theirs.dtype
        assert ours.shape == theirs.shape
    if isinstance(theirs, np.ndarray):
        assert memory_order(ours) == memory_order(theirs)
    if isinstance(theirs, np.dtype):
        assert ours == theirs
        return
    single = np.asarray(theirs).dtype in ("f4", "c8")
    close = 8 * float(np.finfo(np.float32 if single else np.float64).eps)
    np.testing.assert_allclose(ours, theirs, rtol=close, atol=16 * close, equal_nan=True)  # type: ignore[arg-type]


def assert_shares(entry: RuleEntry, ours: Any, theirs: Any, slots: list[np.ndarray], inputs: list[np.ndarray]) -> None:
    if not isinstance(theirs, np.ndarray) or theirs.size == 0 or entry.name in COPIES_OF_PARTS:
        return
    for mine, other in zip(slots, inputs, strict=True):
        assert np.shares_memory(ours, mine) == np.shares_memory(theirs, other)


def check(entry: RuleEntry, call: Call, form: str, *, may_leave: bool) -> None:
    args = materialise(call.args, form, [0])
    keywords = materialise(tuple(call.keywords.values()), form, [100])
    named = dict(zip(call.keywords, keywords, strict=True))
    for_numpy = materialise(call.args, form, [0])
    named_for_numpy = dict(zip(call.keywords, materialise(tuple(call.keywords.values()), form, [100]), strict=True))
    expected = run_numpy(
        entry, call, [plain(arg) for arg in for_numpy], {name: plain(value) for name, value in named_for_numpy.items()}
    )
    bench = Bench()
    try:
        result = entry.lower(
            bench.build,
            *leading_operands(entry, call),
            *(bench.operand(arg) for arg in args),
            **{name: bench.operand(value) for name, value in named.items()},
        )
    except CompileError:
        if form != "c" and entry.name.rpartition(".")[2] in LAYOUT_DEPENDENT:
            return
        raise
    outcome = bench.run(result)
    if expected.raised is not None:
        assert isinstance(outcome, Left), f"NumPy: {expected.raised!r}"
        return
    if isinstance(outcome, Left) and may_leave:
        return
    assert isinstance(outcome, Returned), outcome
    assert_same(outcome.value, expected.value)
    slots = [item for item in bench.objects if isinstance(item, np.ndarray)]
    inputs = arrays_in([*for_numpy, *named_for_numpy.values()])
    assert_shares(entry, outcome.value, expected.value, slots, inputs)
    for mine, other in zip(slots, inputs, strict=True):
        np.testing.assert_array_equal(mine, other)


@pytest.mark.parametrize(("entry", "sample"), CALLS, ids=name_of)
def test_rule_agrees_with_numpy(entry: RuleEntry, sample: str):
    call = read_sample(sample)
    for form in FORMS if has_arrays(sample) else ("c",):
        check(entry, call, form, may_leave=False)


@pytest.mark.parametrize(("entry", "sample"), [call for call in CALLS if has_arrays(call[1])], ids=name_of)
def test_rule_agrees_with_numpy_on_short_axes(entry: RuleEntry, sample: str):
    call = read_sample(sample)
    for extent in sorted(extents(call.args) - {0, 1}):
        for length in (0, 1):
            changed = Call(call.function, resized(call.args, extent, length), call.keywords)
            check(entry, changed, "c", may_leave=entry.name in LEFT_WHEN_EMPTY)


def test_every_rule_has_samples_or_a_test_of_its_own():
    without = {name for name, entry in all_rules().items() if not entry.samples}
    aliases = {name for name in without if any(
        other.samples and other.lower.__wrapped__ is all_rules()[name].lower.__wrapped__  # type: ignore[attr-defined]
        for other in all_rules().values()
    )}  # fmt: skip
    assert without - aliases <= {
        "builtins.isinstance",
        "builtins.str",
        "ndarray.fill",
        "ndarray.flat",
        "ndarray.compress",
        "ndarray.put",
        "ndarray.partition",
        "ndarray.sort",
        "numpy.copyto",
        "numpy.empty",
        "numpy.empty_like",
        "numpy.fill_diagonal",
        "numpy.finfo",
        "numpy.iinfo",
        "numpy.ndarray",
        "scalar.astype",
        "scalar.conj",
        "scalar.conjugate",
        "scalar.copy",
        "scalar.is_integer",
        "numpy.place",
        "numpy.put",
        "numpy.put_along_axis",
        "numpy.putmask",
        "ufunc.at",
    }


def test_run_time_numbers_are_told_from_constants():
    assert read_sample("f(v(2), 2)").args == (RunTime(2), 2)
