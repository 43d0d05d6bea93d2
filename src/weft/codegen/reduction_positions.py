"""argmin and argmax along neighbouring elements: the first of the best, the first NaN if there is one.

Lanes keep the best of their elements, and once in a while note in which stretch of the axis it was found; so the loop
that runs over all elements does next to nothing. The place inside the stretch is looked up at the end. A sum of all
elements tells whether there may be a NaN, which is then looked for.

    for (; at + 32 <= stop; at += 32)
        for (l = 0; l < 32; ++l) {
            top[l] = a[at + l] > top[l] ? a[at + l] : top[l];
            mark[l] = mark[l] + a[at + l];
        }
    for (l = 0; l < 32; ++l) {
        turns[l] = top[l] > best[l] ? turn : turns[l];
        best[l] = top[l] > best[l] ? top[l] : best[l];
    }
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Final

from weft.codegen.reduction_replays import audit
from weft.codegen.reduction_state import Reduction, better
from weft.support.records import record

_LANE_BYTES: Final = 128
_MOST_LANES: Final = 64
_STEP_BYTES: Final = 256  # of the elements of a lane in one stretch


@record
class _Search:
    """The variables of a search: the best element so far, where it is, the number of the first element of the row."""

    reduction: Reduction
    best: str
    where: str
    base: str
    done: str

    @property
    def lanes(self) -> int:
        return min(_MOST_LANES, _LANE_BYTES // self.reduction.dtype.itemsize)

    @property
    def stretch(self) -> int:
        return self.lanes * _STEP_BYTES // self.reduction.dtype.itemsize

    @property
    def floating(self) -> bool:
        return self.reduction.dtype.kind == "f"

    def order(self, left: str, right: str) -> str:
        return f"{left} {'>' if self.reduction.node.op == 'argmax' else '<'} {right}"


@record
class _Lanes:
    """The arrays of a row: best of each lane and its stretch; best of the present stretch; what shows a NaN."""

    best: str
    turns: str
    top: str
    mark: str
    at: str


def emit_position(reduction: Reduction) -> str:
    """The position of the best element of one result: a C name."""
    kernel, claim = reduction.kernel, reduction.kernel.names.claim
    search = _Search(reduction, claim("best"), claim("where"), claim("base"), claim("found"))
    kernel.line(f"{reduction.type} {search.best} = {reduction.identity};")
    kernel.line(f"int64_t {search.where} = 0, {search.base} = 0;")
    axes = reduction.reduced
    if reduction.warnings.audited:
        audit(reduction)
    if not axes or reduction.dtype.kind == "c":
        _emit_in_order(search, axes)
        return search.where
    *outer, fast = axes
    with reduction.loops(outer):
        _emit_row(search, fast)
        if outer:
            kernel.line(f"{search.base} += {reduction.extent(fast)};")
    if search.floating:
        kernel.line(f"{search.done}:;")
    return search.where


def _emit_in_order(search: _Search, axes: list[int]) -> None:
    """One by one."""
    reduction, kernel = search.reduction, search.reduction.kernel
    with reduction.loops(axes):
        x = reduction.element()
        with kernel.block(f"if ({better(reduction, x, search.best)})"):
            kernel.line(f"{search.best} = {x};")
            kernel.line(f"{search.where} = {search.base};")
        kernel.line(f"++{search.base};")


def _emit_row(search: _Search, fast: int) -> None:
    reduction, kernel, claim = search.reduction, search.reduction.kernel, search.reduction.kernel.names.claim
    lanes = _Lanes(claim("best"), claim("turns"), claim("top"), claim("mark"), claim("at"))
    name, extent = reduction.name(fast), reduction.extent(fast)
    kernel.line(f"int64_t {lanes.at} = 0;")
    with kernel.block(f"if ({extent} >= {search.lanes})"):
        _emit_stretches(search, fast, lanes)
        if search.floating:
            _emit_first_nan(search, fast, lanes)
        _emit_place(search, fast, lanes)
    with kernel.block(f"for (int64_t {name} = {lanes.at}; {name} < {extent}; ++{name})"):
        x = reduction.element()
        if search.floating:
            with kernel.block(f"if ({x} != {x})"):
                _emit_found(search, name)
        with kernel.block(f"if ({search.order(x, search.best)})"):
            kernel.line(f"{search.best} = {x};")
            kernel.line(f"{search.where} = {search.base} + {name};")


def _emit_found(search: _Search, place: str) -> None:
    _emit_unseen(search)
    search.reduction.kernel.line(f"{search.where} = {search.base} + {place};")
    search.reduction.kernel.line(f"goto {search.done};")


def _emit_stretches(search: _Search, fast: int, lanes: _Lanes) -> None:
    reduction, kernel, claim = search.reduction, search.reduction.kernel, search.reduction.kernel.names.claim
    count, at, extent = search.lanes, lanes.at, reduction.extent(fast)
    turn, stop, length = claim("turn"), claim("stop"), search.stretch
    mark = f", {lanes.mark}[{count}]" if search.floating else ""
    kernel.line(f"{reduction.type} {lanes.best}[{count}], {lanes.top}[{count}]{mark};")
    kernel.line(f"int64_t {lanes.turns}[{count}];")
    with _over(search) as number:
        kernel.line(f"{lanes.best}[{number}] = {reduction.identity};")
        kernel.line(f"{lanes.turns}[{number}] = 0;")
        if search.floating:
            kernel.line(f"{lanes.mark}[{number}] = 0;")
    with kernel.block(f"for (int64_t {turn} = 0; {at} + {count} <= {extent}; ++{turn})"):
        kernel.line(f"const int64_t {stop} = {extent} - {at} > {length} ? {at} + {length} : {extent};")
        with _over(search) as number:
            kernel.line(f"{lanes.top}[{number}] = {reduction.identity};")
        with kernel.block(f"for (; {at} + {count} <= {stop}; {at} += {count})"), _over(search) as number:
            kernel.line(f"const int64_t {reduction.name(fast)} = {at} + {number};")
            x, top = reduction.element(), f"{lanes.top}[{number}]"
            kernel.line(f"{top} = {search.order(x, top)} ? {x} : {top};")
            if search.floating:
                kernel.line(f"{lanes.mark}[{number}] = {lanes.mark}[{number}] + {x};")
        with _over(search) as number:
            top, best, turns = (f"{name}[{number}]" for name in (lanes.top, lanes.best, lanes.turns))
            kernel.line(f"{turns} = {search.order(top, best)} ? {turn} : {turns};")
            kernel.line(f"{best} = {search.order(top, best)} ? {top} : {best};")
        if reduction.dtype.kind == "b":
            _emit_early_end(search, lanes, extent)


def _over(search: _Search) -> AbstractContextManager[str]:
    return search.reduction.over(search.lanes)


def _emit_early_end(search: _Search, lanes: _Lanes, extent: str) -> None:
    """Nothing is better than the first True (or False)."""
    kernel, number, any_ = search.reduction.kernel, *map(search.reduction.kernel.names.claim, ("l", "any"))
    sign = "" if search.reduction.node.op == "argmax" else "!"
    kernel.line(f"int32_t {any_} = 0;")
    kernel.line(f"for (int64_t {number} = 0; {number} < {search.lanes}; ++{number})")
    kernel.line(f"    {any_} |= {sign}{lanes.best}[{number}];")
    with kernel.block(f"if ({any_})"):
        _emit_unseen(search)
        kernel.line(f"{lanes.at} = {extent};")


def _emit_unseen(search: _Search) -> None:
    """The elements that are left out may warn."""
    if search.reduction.warnings.raised:
        search.reduction.kernel.line(f"{search.reduction.warnings.raised} = 1;")


def _emit_first_nan(search: _Search, fast: int, lanes: _Lanes) -> None:
    """The sum of infinities of both signs is NaN as well, so there may be none."""
    reduction, kernel = search.reduction, search.reduction.kernel
    total, number, name = kernel.names.claim("total"), kernel.names.claim("l"), reduction.name(fast)
    kernel.line(f"{reduction.type} {total} = 0;")
    kernel.line(f"for (int64_t {number} = 0; {number} < {search.lanes}; ++{number})")
    kernel.line(f"    {total} = {total} + {lanes.mark}[{number}];")
    kernel.line(f"if (__builtin_expect({total} != {total}, 0))")
    with kernel.block(f"    for (int64_t {name} = 0; {name} < {lanes.at}; ++{name})"):
        x = reduction.element()
        with kernel.block(f"if ({x} != {x})"):
            _emit_found(search, name)


def _emit_place(search: _Search, fast: int, lanes: _Lanes) -> None:
    """The first place of the best element of all lanes, each looked through in the stretch it has noted."""
    reduction, kernel, claim = search.reduction, search.reduction.kernel, search.reduction.kernel.names.claim
    top, place, number, name = claim("top"), claim("place"), claim("l"), reduction.name(fast)
    count, best = search.lanes, f"{lanes.best}[{number}]"
    head = f"for (int64_t {number} = 0; {number} < {count}; ++{number})"
    kernel.line(f"{reduction.type} {top} = {search.best};")
    kernel.line(head)
    kernel.line(f"    {top} = {search.order(best, top)} ? {best} : {top};")
    with kernel.block(f"if ({search.order(top, search.best)})"):
        kernel.line(f"int64_t {place} = INT64_MAX;")
        with kernel.block(head), kernel.block(f"if ({best} == {top})"):
            kernel.line(f"int64_t {name} = {lanes.turns}[{number}] * {search.stretch} + {number};")
            with kernel.block(f"for (; {name} < {place}; {name} += {count})"):
                x = reduction.element()
                with kernel.block(f"if ({x} == {top})"):
                    kernel.line(f"{place} = {name};")
        kernel.line(f"{search.best} = {top};")
        kernel.line(f"{search.where} = {search.base} + {place};")
