"""In which order the axes of a new array lie in memory: NumPy's order "K".

in:   the views a new array is made from
out:  its axes from slowest to fastest

NumPy has three ways to tell, and all of them show in the strides of the result. Strides are known here only by rank:
which axis of a view is slower. For an argument of any strides that is part of the variant (`ArgSpec.order`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from weft.ir.exprs import const_index
from weft.ir.nodes import Layout, View
from weft.numpy_rules.builder import Builder
from weft.support.records import record

Weights: TypeAlias = list[tuple[int, int]]
OrderRule: TypeAlias = Callable[[Builder, Sequence[View], int], tuple[int, ...]]

_ONE = const_index(1)
_STILL = (0, 0)  # the weight of an axis without a stride


@record
class AxisOrder:
    """The axes of an array that are longer than 1, slowest first; bits of those that are repeated, which come last."""

    axes: tuple[int, ...]
    repeated: int

    def joined(self, other: AxisOrder) -> AxisOrder | None:
        """The order that both have, where one may know less axes than the other; None if they differ."""
        longer, shorter = (self, other) if len(self.axes) >= len(other.axes) else (other, self)
        known = tuple(axis for axis in longer.axes if axis in shorter.axes)
        mask = sum(1 << axis for axis in shorter.axes)
        return longer if known == shorter.axes and longer.repeated & mask == shorter.repeated else None

    def all_axes(self, rank: int) -> tuple[int, ...]:
        """With those of length 1, which may stand anywhere, in front."""
        return (*(axis for axis in range(rank) if axis not in self.axes), *self.axes)


def axis_order(build: Builder, view: View) -> AxisOrder:
    """The order of the axes of a view."""
    weights = _weights(build, view, view.rank)
    long = [axis for axis in range(view.rank) if view.shape[axis] is not _ONE]
    repeated = sum(1 << axis for axis in long if weights[axis] == _STILL)
    return AxisOrder(tuple(sorted(long, key=lambda axis: weights[axis], reverse=True)), repeated)


def iteration_order(build: Builder, views: Sequence[View], rank: int) -> tuple[int, ...]:
    """Of ufuncs, np.where and reductions: sorted from the fastest axis on; where operands disagree, C order wins."""
    return _iterated([_weights(build, view, rank) for view in views], rank)


def masked_order(build: Builder, views: Sequence[View], rank: int) -> tuple[int, ...]:
    """The same with a mask in C order over the last two axes as first operand (np.tril, np.triu)."""
    mask: Weights = [*[_STILL] * (rank - 2), (2, 0), (1, 0)]
    return _iterated([mask, *(_weights(build, view, rank) for view in views)], rank)


def _iterated(weights: Sequence[Weights], rank: int) -> tuple[int, ...]:
    axes = list(range(rank))[::-1]
    _sort(axes, lambda axis, before: _verdict((w[axis], w[before]) for w in weights))
    return tuple(axes[::-1])


def joined_order(build: Builder, views: Sequence[View], rank: int) -> tuple[int, ...]:
    """Of np.concatenate and its kin: the same from the slowest axis on."""
    weights = [_weights(build, view, rank) for view in views]
    axes = list(range(rank))
    _sort(axes, lambda axis, before: _verdict((w[before], w[axis]) for w in weights))
    return tuple(axes)


def copied_order(build: Builder, views: Sequence[View], rank: int) -> tuple[int, ...]:
    """Of copies and np.empty_like: by stride, repeated axes last."""
    if not views or views[0].rank != rank:
        return tuple(range(rank))
    weights = _weights(build, views[0], rank)
    return tuple(sorted(range(rank), key=lambda axis: weights[axis], reverse=True))


def _sort(axes: list[int], verdict: Callable[[int, int], bool | None]) -> None:
    """Insertion sort as NumPy does it: an axis moves over those it cannot be compared with."""
    for start in range(1, len(axes)):
        place = start
        for earlier in range(start - 1, -1, -1):
            moves = verdict(axes[start], axes[earlier])
            if moves is None:
                continue
            if not moves:
                break
            place = earlier
        axes.insert(place, axes.pop(start))


def _verdict(pairs: Iterable[tuple[tuple[int, int], tuple[int, int]]]) -> bool | None:
    """Whether the first of each pair should be the slower but is not; None where no operand can tell."""
    result: bool | None = None
    for slower, faster in pairs:
        if _STILL in (slower, faster):
            continue
        if faster <= slower:
            result = False
        elif result is None:
            result = True
    return result


def _weights(build: Builder, view: View, rank: int) -> Weights:
    """A number per axis of the result, larger for slower ones; views of lower rank have no leading axes."""
    container = build.container(view.container)
    order = build.ledger.orders.get(view.container)
    repeated = build.ledger.repeated.get(view.container, 0)
    weights: Weights = [_STILL] * rank
    lead = rank - view.rank
    for dimension, axis in enumerate(view.axes):
        if repeated >> dimension & 1:
            continue
        slow = dimension + 1 if container.layout is Layout.F else container.rank - dimension
        if order:
            slow = container.rank - order.index(dimension)
        for position, (number, _) in enumerate(axis.terms):
            if view.shape[number] is not _ONE:
                weights[lead + number] = max(weights[lead + number], (slow, -position))
    return weights
