"""The types a NumPy call must give, as whoever makes the call checks them."""

from __future__ import annotations

from collections.abc import Mapping

from weft.ir.dtypes import PYTHON_NAMES
from weft.ir.exprs import Value
from weft.ir.nodes import CallResult, Container, NumpyCall
from weft.support.numpy_calls import ResultType


def result_types(node: NumpyCall, containers: Mapping[str, Container]) -> tuple[ResultType, ...]:
    """One per result."""
    return tuple(_result_type(result, containers) for result in node.results)


def _result_type(result: CallResult, containers: Mapping[str, Container]) -> ResultType:
    if isinstance(result.target, Value):
        type_ = result.target.type
        return ResultType(PYTHON_NAMES[type_.dtype] if type_.python else type_.dtype.value)
    container = containers[result.target]
    return ResultType(container.dtype.value, container.rank, result.order)
