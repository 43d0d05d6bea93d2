"""Sorting a few numbers, and their median, without Python.

in:   call numpy.median(p[i:i + 3, j:j + 3]) -> (%m: f8) site 4, the operand in out[0] and room for the result in out[]
out:  if (!weft_sorting_call(ctx, out, 1, 'm', 2, 1))
          switch (ctx->call_python(ctx, 0, out)) ...

Where only one answer is right, it does not matter who finds it. So Python is called where there are many numbers, where
one is NaN or -0.0, where equal ones leave the order open, and where a sum might overflow, which NumPy warns of.
"""

from __future__ import annotations

from typing import Final

from weft.codegen.kernel import Kernel
from weft.ir.dtypes import DType
from weft.ir.nodes import Constant, NumpyCall, View

_SORTS: Final = frozenset(("numpy.sort", "numpy.ndarray.sort"))
_ARGSORTS: Final = frozenset(("numpy.argsort", "numpy.ndarray.argsort"))
_STABLE: Final = ("stable", "mergesort")
_IS_FLOAT: Final = {DType.FLOAT64: 1, DType.INT64: 0}


def sorting_call(kernel: Kernel, node: NumpyCall, first: int) -> str | None:
    """The attempt to do without Python, as a condition; None for any other call. The result is out[first]."""
    kind = _kind(kernel, node)
    view = node.args[0] if node.args else None
    if kind is None or len(node.args) > 1 or not isinstance(view, View) or view.rank < 1:
        return None
    is_float = _IS_FLOAT.get(kernel.container(view.container).dtype)
    if is_float is None or (kind != "m" and view.rank != 1):
        return None
    function = kernel.support.machine("sorting_call")
    return f"{function}(ctx, out, {first}, '{kind}', {view.rank}, {is_float})"


def _kind(kernel: Kernel, node: NumpyCall) -> str | None:
    """s: sorted, a: their order, A: the order that leaves equal numbers as they are, m: the median."""
    if node.function == "numpy.median":
        return None if node.keywords else "m"
    if any(word != "kind" or not isinstance(bundle, Constant) for word, bundle in node.keywords):
        return None
    if node.function in _SORTS:
        return "s"
    if node.function not in _ARGSORTS:
        return None
    named = [kernel.program.constants[bundle.index] for _, bundle in node.keywords if isinstance(bundle, Constant)]
    return "A" if named and named[0] in _STABLE else "a"
