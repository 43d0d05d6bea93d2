"""Calls of NumPy's Fourier transforms without Python: the inner loop of its ufunc, along one axis after the other.

in:   call numpy.fft.rfft(x[:], 1*%n) -> (X) site 2, its operands and room for its result in out[]
out:  if (!weft_fourier_call(ctx, ctx->library + 0, out, 2, 'R', 1, 0, n, 0))
          switch (ctx->call_python(ctx, 0, out)) ...

The loop is what `np.fft.rfft` calls itself, so the bits are the same. Where it notes anything (an infinity), where
there is nothing to transform, where this NumPy has no such loop: Python is called after all, and raises or warns.
"""

from __future__ import annotations

from typing import Final

from weft.codegen.expressions import index_text
from weft.codegen.kernel import Kernel
from weft.ir.dtypes import DType
from weft.ir.exprs import Index
from weft.ir.nodes import Bundle, Constant, NumpyCall, View
from weft.support.records import record

# Function -> its loops (of real numbers: for an even and an odd number of points), and whether it divides by it.
_LOOPS: Final[dict[str, tuple[tuple[str, ...], bool]]] = {
    "numpy.fft.fft": (("fft",), False),
    "numpy.fft.ifft": (("ifft",), True),
    "numpy.fft.fft2": (("fft",), False),
    "numpy.fft.ifft2": (("ifft",), True),
    "numpy.fft.fftn": (("fft",), False),
    "numpy.fft.ifftn": (("ifft",), True),
    "numpy.fft.rfft": (("rfft_n_even", "rfft_n_odd"), False),
    "numpy.fft.irfft": (("irfft",), True),
}
_MODULE: Final = "numpy.fft._pocketfft_umath"
# By kind of transform. Single precision is computed in double by NumPy now and then: left to it.
_TYPES: Final = {"c": "Dd->D", "r": "Dd->D", "R": "dd->D", "I": "Dd->d"}
_NAMES: Final = ("a", "n", "axis")
_ALL_POINTS: Final = "INT64_MIN"
_ONE_AXIS, _TWO_AXES = 1, 2


@record
class _Transform:
    """Of one array: the axis, -1 for both of them, and the number of points."""

    view: View
    axis: int
    points: str


def fourier_call(kernel: Kernel, node: NumpyCall, first: int) -> str | None:
    """The attempt to do without Python, as a condition; None where there is no such loop. The result is out[first]."""
    known = _LOOPS.get(node.function)
    transform = _transform(kernel, node) if known else None
    if known is None or transform is None or node.results[0].order:
        return None
    kind = _kind(node.function, kernel.container(transform.view.container).dtype)
    if kind is None:
        return None
    names, divides = known
    place = len(kernel.libraries)
    for name in names:
        loop = f"{_MODULE}.{name}:{_TYPES[kind]}"
        kernel.libraries += [f"call:{loop}", f"data:{loop}"]
    function = kernel.support.machine("fourier_call")
    where = f"{transform.view.rank}, {transform.axis}, {transform.points}"
    return f"{function}(ctx, ctx->library + {place}, out, {first}, '{kind}', {where}, {int(divides)})"


def _kind(function: str, dtype: DType) -> str | None:
    """Complex numbers, real ones that are made complex, or those of which half the result is enough."""
    if dtype not in (DType.FLOAT64, DType.COMPLEX128):
        return None
    is_real = dtype is DType.FLOAT64
    match function:
        case "numpy.fft.rfft":
            return "R" if is_real else None
        case "numpy.fft.irfft":
            return None if is_real else "I"
        case _:
            return "r" if is_real else "c"


def _transform(kernel: Kernel, node: NumpyCall) -> _Transform | None:
    """What is transformed, for arrays of one or two axes and arguments that say no more than that."""
    given: dict[str, Bundle] = dict(zip(_NAMES, node.args, strict=False)) | dict(node.keywords)
    view = given.get("a")
    if len(node.args) > len(_NAMES) or not given.keys() <= set(_NAMES) or not isinstance(view, View):
        return None
    if node.function.endswith(("2", "n")):
        axes = {_TWO_AXES: -1, **({_ONE_AXIS: 0} if node.function.endswith("n") else {})}
        return _Transform(view, axes[view.rank], _ALL_POINTS) if view.rank in axes and len(given) == 1 else None
    axis = _constant(kernel, given.get("axis"), view.rank - 1)
    if view.rank not in (_ONE_AXIS, _TWO_AXES) or not isinstance(axis, int) or not -view.rank <= axis < view.rank:
        return None
    points = _points(kernel, given.get("n"))
    return _Transform(view, axis % view.rank, points) if points else None


def _constant(kernel: Kernel, bundle: Bundle | None, default: object) -> object:
    match bundle:
        case None:
            return default
        case Constant(index=index):
            return kernel.program.constants[index]
        case Index():
            return bundle.constant
        case _:
            return None


def _points(kernel: Kernel, bundle: Bundle | None) -> str | None:
    match bundle:
        case None:
            return _ALL_POINTS
        case Constant(index=index):
            value = kernel.program.constants[index]
            return _ALL_POINTS if value is None else str(value) if type(value) is int else None
        case Index():
            return index_text(kernel, bundle)
        case _:
            return None
