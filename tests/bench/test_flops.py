"""The flops a kernel says it needs, against those NumPy performs on numbers that count what is done to them."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.kernels.forms import USUAL
from weft_bench.kernel import Kernel
from weft_bench.kernels import KERNELS

# Where the formula does not need what the NumPy program does: the share of it that it needs, and why.
OTHERWISE = {
    "azimuthal_masks": (0.28, "a point is in one ring, but the program looks at it once for each"),
    "channel_flow": (0.74, "at so few steps the share of them that is taken is not the usual one"),
    "clipping": (1.19, "on objects np.clip leaves out the second comparison where the first has clipped"),
    "covariance_product": (0.57, "the result is symmetric, and the product does not know"),
    "sparse_product": (1.29, "rows that happen to be short: the count is a mean"),
}
# Programs that do not run on such numbers, or whose operations are not those of real numbers.
NOT_COUNTED = {
    "azimuthal_histogram": "np.histogram wants floats",
    "contour_integral": "LAPACK",
    "crc16": "operations on bits",
    "library_cholesky": "LAPACK",
    "mandelbrot_masks": "complex: test_work counts its turns",
    "mandelbrot_shrinking": "complex: test_work counts its turns",
    "self_energies": "complex",
    "stockham_fft": "complex",
}


class Tally:
    """How many operations there were."""

    count = 0


def binary(operation: Callable[[Any, Any], Any], reflected: bool = False) -> Callable[[Counted, Any], Any]:
    """A method that counts one and gives the result: a counted number, or a bool."""

    def method(self: Counted, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented
        self.tally.count += 1
        plain = other.value if isinstance(other, Counted) else other
        result = operation(plain, self.value) if reflected else operation(self.value, plain)
        return bool(result) if isinstance(result, bool | np.bool) else Counted(result, self.tally)

    return method


def unary(function: Callable[[Any], Any]) -> Callable[[Counted], Counted]:
    """A method that counts one."""

    def method(self: Counted) -> Counted:
        self.tally.count += 1
        return Counted(function(self.value), self.tally)

    return method


class Counted:
    """A number that counts what is done to it; NumPy takes it as an object, and looks for `exp` and the like on it."""

    __slots__ = ("tally", "value")

    def __init__(self, value: Any, tally: Tally) -> None:
        self.value, self.tally = value, tally

    __add__, __radd__ = binary(operator.add), binary(operator.add, reflected=True)
    __sub__, __rsub__ = binary(operator.sub), binary(operator.sub, reflected=True)
    __mul__, __rmul__ = binary(operator.mul), binary(operator.mul, reflected=True)
    __truediv__, __rtruediv__ = binary(operator.truediv), binary(operator.truediv, reflected=True)
    __pow__ = binary(operator.pow)
    __lt__, __le__, __gt__, __ge__ = (binary(op) for op in (operator.lt, operator.le, operator.gt, operator.ge))
    __eq__ = binary(operator.eq)
    __hash__ = None  # type: ignore[assignment]  # never a key
    __abs__ = unary(abs)
    sqrt, exp, tanh, sin, cos = (unary(f) for f in (math.sqrt, math.exp, math.tanh, math.sin, math.cos))
    arctan2 = binary(math.atan2)

    def __neg__(self) -> Counted:  # a sign is not an operation
        return Counted(-self.value, self.tally)

    def conjugate(self) -> Counted:  # np.var asks for it
        return self

    def __float__(self) -> float:
        return float(self.value)


def count_operations(kernel: Kernel, given: dict[str, Any]) -> int:
    """What a run of the kernel does; integers that are indices stay as they are."""
    tally = Tally()
    for name, value in given.items():
        if isinstance(value, np.ndarray) and name not in {"starts", "columns"}:
            counted = np.empty(value.shape, object)
            for place, number in np.ndenumerate(value):
                counted[place] = Counted(number.item(), tally)
            given[name] = counted
    kernel.function(**given)
    return tally.count


@pytest.mark.parametrize(
    "kernel", [kernel for kernel in KERNELS if kernel.name not in NOT_COUNTED], ids=lambda kernel: kernel.name
)
def test_flops_are_those_performed(kernel: Kernel) -> None:
    sizes = {name: value if name == "size" else 2 * value for name, value in USUAL[kernel.name].items()}
    performed = count_operations(kernel, kernel.inputs(sizes))
    assert kernel.work is not None
    share = OTHERWISE[kernel.name][0] if kernel.name in OTHERWISE else 1.0

    found = kernel.work(sizes, np.dtype(kernel.dtypes[-1])).flops / performed
    assert found == pytest.approx(share, abs=0.02 if kernel.name in OTHERWISE else 0.12)
