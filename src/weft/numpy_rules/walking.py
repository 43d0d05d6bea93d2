"""Loops that rules write: over all points of a shape, in order.

in:   extents, and what to do at a point
out:  a nest of Loop nodes, with or without a count that it passes on
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from weft.ir.dtypes import PY_INT
from weft.ir.exprs import Expr, Index, Value, const_index, index
from weft.ir.nodes import Branch, Carry, Continue, Loop, Yield
from weft.numpy_rules.builder import Builder
from weft.support.abi import MAX_EXTENT

ZERO, ONE = const_index(0), const_index(1)
Point = tuple[Index, ...]
Visit = Callable[[Point, Index | None], Index | None]


def for_each(build: Builder, shape: Sequence[Index], body: Callable[[Point], None]) -> None:
    """`body(point)` at every point, in C order."""

    def visit(point: Point, _: Index | None) -> None:
        body(point)

    _nest(build, shape, (), None, visit)


def for_each_where(
    build: Builder, shape: Sequence[Index], test: Callable[[Point], Expr], body: Callable[[Point, Index], None]
) -> None:
    """`body(point, number)` at every point where the test holds, in C order; `number` counts them."""

    def visit(point: Point, number: Index | None) -> Index:
        assert number is not None
        condition = test(point)
        with build.region() as then:
            body(point, number)
            build.emit(Yield((number + 1,)))
        with build.region() as orelse:
            build.emit(Yield((number,)))
        after = _count(build)
        build.emit(
            Branch(
                condition=condition,
                then=build.close(then),
                orelse=build.close(orelse),
                results=(after,),
                id=build.new_id(),
                span=build.span,
            )
        )
        return index(after)

    _nest(build, shape, (), ZERO, visit)


def _nest(build: Builder, shape: Sequence[Index], point: Point, start: Index | None, visit: Visit) -> Index | None:
    """The loops over the axes that are left; gives the count after them."""
    if not shape:
        return visit(point, start)
    var = Value(build.new_id(), "k", PY_INT, None, None, ZERO, shape[0] - 1)
    carried = None if start is None else _count(build)
    with build.region() as scope:
        count = None if carried is None else index(carried)
        after = _nest(build, shape[1:], (*point, index(var)), count, visit)
        build.emit(Continue(() if after is None else (after,)))
    build.emit(
        Loop(
            var=var,
            start=ZERO,
            stop=shape[0],
            step=ONE,
            carries=() if carried is None or start is None else (Carry(carried, start),),
            body=build.close(scope),
            id=build.new_id(),
            span=build.span,
        )
    )
    return None if carried is None else index(carried)


def _count(build: Builder) -> Value:
    return build.value("at", PY_INT, low=0, high=MAX_EXTENT)
