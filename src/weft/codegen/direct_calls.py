"""Calls of NumPy's linear algebra without Python: the inner loop of its ufunc, on one matrix.

in:   call numpy.linalg.inv(S[:, :]) -> (X) site 3, its operands and room for its results in out[]
out:  if (!weft_core_call(ctx, ctx->library + 4, out, 1, "mm>mm", 8))
          switch (ctx->call_python(ctx, 0, out)) ...

The loop is what `np.linalg.inv` calls itself, so the bits are the same, and a small matrix takes a tenth of the time.
Where it notes anything (a singular matrix, an overflow), where operands do not fit, where this NumPy has no such loop:
Python is called after all, and raises or warns as ever.
"""

from __future__ import annotations

from typing import Final

from weft.codegen.kernel import Kernel
from weft.ir.dtypes import DType
from weft.ir.nodes import NumpyCall, View

# Function and ranks of its operands -> its ufunc, and the axes of operands and results: m rows, n columns.
_CORES: Final[dict[tuple[str | int, ...], tuple[str, str]]] = {
    ("numpy.linalg.inv", 2): ("inv", "mm>mm"),
    ("numpy.linalg.det", 2): ("det", "mm>"),
    ("numpy.linalg.cholesky", 2): ("cholesky_lo", "mm>mm"),
    ("numpy.linalg.solve", 2, 1): ("solve1", "mm,m>m"),
    ("numpy.linalg.solve", 2, 2): ("solve", "mm,mn>mn"),
}
_LETTERS: Final = {DType.FLOAT64: "d", DType.COMPLEX128: "D"}  # single precision is computed in double by NumPy


def direct_call(kernel: Kernel, node: NumpyCall, first: int) -> str | None:
    """The attempt to do without Python, as a condition; None where there is no such loop. Results are out[first]..."""
    views = [argument for argument in node.args if isinstance(argument, View)]
    core = _CORES.get((node.function, *(view.rank for view in views)))
    if core is None or len(views) != len(node.given) or any(result.order for result in node.results):
        return None
    dtypes = {kernel.container(view.container).dtype for view in views} | set(_result_types(kernel, node))
    letter = _LETTERS.get(next(iter(dtypes))) if len(dtypes) == 1 else None
    if letter is None:
        return None
    name, axes = core
    loop = f"numpy.linalg._umath_linalg.{name}:{letter * len(views)}->{letter}"
    place = len(kernel.libraries)
    kernel.libraries += [f"call:{loop}", f"data:{loop}"]
    unit = next(iter(dtypes)).itemsize
    return f'{kernel.support.machine("core_call")}(ctx, ctx->library + {place}, out, {first}, "{axes}", {unit})'


def _result_types(kernel: Kernel, node: NumpyCall) -> list[DType]:
    targets = [result.target for result in node.results]
    return [kernel.container(x).dtype if isinstance(x, str) else x.type.dtype for x in targets]
