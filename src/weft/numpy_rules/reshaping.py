"""The elements of an array under another shape, in C order.

in:   a view and a new shape with as many elements
out:  a view of the same memory where that can be seen now, else None: the caller copies or refuses

    (n, m) -> (n*m,)       an ALIAS of the whole dense container
    (n*m,) -> (n, m)       one axis split: element (i, j) is i * m + j
    (k, n, 1, m) -> (k, n*m)   leading axes stay, axes of length 1 come and go
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from weft.analysis.ranges import fits_int64
from weft.ir.dtypes import NP_BOOL, PY_INT
from weft.ir.exprs import Index, const_index, index, op, polynomial_of
from weft.ir.nodes import Axis, Container, Layout, Storage, View, full_view
from weft.numpy_rules.arguments import PythonRaises
from weft.numpy_rules.arrays import copy_array
from weft.numpy_rules.builder import Builder
from weft.numpy_rules.indexing import drop_axis, insert_axis
from weft.numpy_rules.values import Array
from weft.support.abi import NOT_COMPILED

Shape = tuple[Index, ...]
ZERO, ONE = const_index(0), const_index(1)


def product(extents: Sequence[Index]) -> Index:
    """The number of elements of a shape."""
    total = ONE
    for extent in extents:
        total = total * extent
    return total


def guard_same_size(build: Builder, old: Shape, new: Shape) -> None:
    """Assume that two shapes have as many elements."""
    size, wanted = product(old), product(new)
    if size is wanted:
        return
    if not fits_int64(wanted):  # products of run-time extents must not wrap around
        limit = const_index(1 << (62 // len(new)))
        for extent in new:
            build.guard_nonnegative(limit - extent, "array is too big to reshape")
    build.guard_equal(size, wanted, "cannot reshape array: sizes differ")


def resolve_unknown(build: Builder, old: Shape, new: Sequence[Index | None]) -> Shape:
    """The new shape with None (written -1) replaced by what is left."""
    if all(extent is not None for extent in new):
        return tuple(extent for extent in new if extent is not None)
    known = [extent for extent in new if extent is not None]
    if len(known) != len(new) - 1:
        raise PythonRaises("can only specify one unknown dimension")
    rest = _divided(build, product(old), product(known))
    return tuple(rest if extent is None else extent for extent in new)


def _divided(build: Builder, total: Index, divisor: Index) -> Index:
    """`total / divisor`, without remainder under a guard; a divisor of 0 is left to Python, which raises."""
    if divisor is ONE:
        return total
    build.guard_nonnegative(divisor - 1, "cannot reshape array with an extent of 0")
    exact = _exact_quotient(total, divisor)
    if exact is not None:
        return exact
    quotient = build.let_index(op("floor_divide", (total, divisor), PY_INT), "n", low=0)
    build.guard_equal(quotient * divisor, total, "cannot reshape array: sizes differ")
    return quotient


def _exact_quotient(total: Index, divisor: Index) -> Index | None:
    """The polynomial quotient by a single monomial, where there is one."""
    if len(divisor.terms) != 1:
        return None
    ((factors, coefficient),) = divisor.terms
    terms: list[tuple[tuple[object, ...], int]] = []
    for monomial, number in total.terms:
        left = list(monomial)
        for factor in factors:
            if factor not in left:
                return None
            left.remove(factor)
        if number % coefficient:
            return None
        terms.append((tuple(left), number // coefficient))
    return polynomial_of(terms)  # type: ignore[arg-type]


def reshape_view(build: Builder, view: View, shape: Shape) -> View | None:
    """The view under another shape (sizes are equal already); None where that needs a copy or is not known."""
    squeezed = view
    for axis in reversed(range(view.rank)):
        if view.shape[axis] is ONE:
            squeezed = drop_axis(squeezed, axis, ZERO)
    target = tuple(extent for extent in shape if extent is not ONE)
    result = _match(build, squeezed, target)
    if result is None:
        return None
    for position, extent in enumerate(shape):
        if extent is ONE:
            result = insert_axis(result, position)
    return result


def _match(build: Builder, view: View, shape: Shape) -> View | None:
    """Runs of axes with as many elements on both sides, one after the other: dropped, made, split or merged."""
    for lead, stop, middle in reversed(runs_of_axes(view.shape, shape)):
        if view.shape[lead:stop] == middle:
            continue
        if stop - lead == 1:
            view = split_axis(view, lead, middle)
        elif lead == stop or not middle:  # the sizes agree, so these axes are 1 long, or there are no elements at all
            view = _exchange(view, lead, stop, middle)
        else:
            merged = _merge(build, view, lead, stop, middle)
            if merged is None:
                return None
            view = merged
    return view


def runs_of_axes(old: Shape, new: Shape) -> list[tuple[int, int, Shape]]:
    """Old axes `lead` up to `stop` and the new ones in their place: the shortest runs whose products are seen equal."""
    runs: list[tuple[int, int, Shape]] = []
    lead = first = 0
    while lead < len(old) or first < len(new):
        stop, last = _shortest_run(old, new, lead, first)
        runs.append((lead, stop, new[first:last]))
        lead, first = stop, last
    return runs


def _shortest_run(old: Shape, new: Shape, lead: int, first: int) -> tuple[int, int]:
    pairs = [(p, q) for p in range(lead + 1, len(old) + 1) for q in range(first + 1, len(new) + 1)]
    for stop, last in sorted(pairs, key=sum):
        if product(old[lead:stop]) is product(new[first:last]):
            return stop, last
    return len(old), len(new)


def _exchange(view: View, lead: int, stop: int, middle: Shape) -> View:
    for axis in reversed(range(lead, stop)):
        view = drop_axis(view, axis, ZERO)
    for number, extent in enumerate(middle):
        view = insert_axis(view, lead + number)
        view = View(view.container, (*view.shape[: lead + number], extent, *view.shape[lead + number + 1 :]), view.axes)
    return view


def split_axis(view: View, axis: int, extents: Shape) -> View:
    """One axis as several: its coordinate is the C-order position in them."""
    weights = [product(extents[number + 1 :]) for number in range(len(extents))]
    grown = len(extents) - 1
    axes: list[Axis] = []
    for old in view.axes:
        terms: list[tuple[int, Index]] = []
        for number, step in old.terms:
            if number == axis:
                terms += [(axis + k, step * weight) for k, weight in enumerate(weights)]
            else:
                terms.append((number + grown * (number > axis), step))
        axes.append(Axis(old.offset, tuple(terms)))
    return View(view.container, (*view.shape[:axis], *extents, *view.shape[axis + 1 :]), tuple(axes))


def _merge(build: Builder, view: View, lead: int, stop: int, middle: Shape) -> View | None:
    """Axes that are neighbouring dimensions of a dense container, replaced in an ALIAS of it.

    All but the first of them are whole; where the first is a part of its dimension, they become a part of one axis.
    """
    container = build.container(view.container)
    run = _run_of_dimensions(view, container, lead, stop)
    if run is None or not is_dense(container):
        return None
    first, last = run
    head = view.axes[first]
    partial = head.offset is not ZERO or view.shape[lead] is not container.shape[first]
    merged = (product(container.shape[first : last + 1]),) if partial else middle
    alias = alias_container(build, container, (*container.shape[:first], *merged, *container.shape[last + 1 :]))
    shift = len(merged) - (stop - lead)

    def moved(axis: Axis) -> Axis:
        return Axis(axis.offset, tuple((n + shift * (n >= stop), step) for n, step in axis.terms))

    fresh = tuple(Axis(ZERO, ((lead + k, ONE),)) for k in range(len(merged)))
    extents = middle
    if partial:
        fresh = (Axis(head.offset * product(container.shape[first + 1 : last + 1]), ((lead, ONE),)),)
        extents = (product(view.shape[lead:stop]),)
    axes = (*map(moved, view.axes[:first]), *fresh, *map(moved, view.axes[last + 1 :]))
    joined = View(alias.name, (*view.shape[:lead], *extents, *view.shape[stop:]), axes)
    return split_axis(joined, lead, middle) if partial and len(middle) > 1 else joined


def _run_of_dimensions(view: View, container: Container, lead: int, stop: int) -> tuple[int, int] | None:
    """First and last container dimension of the axes `lead` up to `stop`, if those are neighbours.

    The first may be a part of its dimension, the others are whole. Dimensions of length 1 between them do not matter.
    """
    found: list[int] = []
    for number in range(lead, stop):
        dimension = next((d for d, axis in enumerate(view.axes) if axis.terms == ((number, ONE),)), None)
        used = sum(term == number for axis in view.axes for term, _ in axis.terms)
        if dimension is None or used != 1:
            return None
        whole = view.axes[dimension].offset is ZERO and view.shape[number] is container.shape[dimension]
        if found and not whole:
            return None
        found.append(dimension)
    between = [d for d in range(found[0], found[-1] + 1) if container.shape[d] is not ONE]
    return (found[0], found[-1]) if between == found else None


def is_dense(container: Container) -> bool:
    """Whether the elements lie one after the other in C order, known now."""
    return container.layout is Layout.C


def alias_container(build: Builder, container: Container, shape: Shape) -> Container:
    """Another shape for the elements of a dense container."""
    base = container.base if container.storage is Storage.ALIAS else container.name
    name = f"{base.partition('.')[0]}.{build.new_id()}"
    alias = replace(
        container, name=name, shape=shape, storage=Storage.ALIAS, base=base, slot=-1, may_alias=(), written=False
    )
    build.ledger.containers[name] = alias
    return alias


def is_contiguous(build: Builder, view: View) -> bool:
    """Whether the view is C-contiguous memory, known now: dimensions indexed first, whole ones after."""
    container = build.container(view.container)
    if not is_dense(container):
        return False
    axes = [axis for axis in range(view.rank) if view.shape[axis] is not ONE]
    free = [d for d, axis in enumerate(view.axes) if axis.terms and container.shape[d] is not ONE]
    if len(free) != len(axes):
        return False
    if not all(container.shape[d] is ONE for d in range(free[0] if free else 0, len(view.axes)) if d not in free):
        return False
    pairs = list(zip(free, axes, strict=True))
    steps = all(view.axes[d].terms == ((axis, ONE),) for d, axis in pairs)
    whole = all(view.axes[d].offset is ZERO and view.shape[axis] is container.shape[d] for d, axis in pairs[1:])
    return steps and whole


def guard_contiguity(build: Builder, view: View) -> bool | None:
    """Whether the view is C-contiguous memory; that it is not, under guards. None where nobody knows before it runs."""
    if is_contiguous(build, view):
        return True
    container = build.container(view.container)
    if container.layout is Layout.STRIDED:
        return None
    axes = [axis for axis in range(view.rank) if view.shape[axis] is not ONE]
    steps = [element_step(view, container, axis) for axis in axes]
    dense = [*(view.shape[axis] * step for axis, step in zip(axes[1:], steps[1:], strict=True)), ONE]
    gaps = [step - wanted for step, wanted in zip(steps, dense, strict=True)] if axes else []
    if all(gap is ZERO for gap in gaps):
        return True
    apart = next((gap for gap in gaps if _surely_apart(gap, (*view.shape, *container.shape))), None)
    if apart is None:
        return None
    guard_apart(build, view, ())
    for value in sorted(apart.values, key=lambda value: value.id):
        build.guard_nonnegative(index(value) - 2, "an axis of length 0 or 1")
    return False


def _surely_apart(gap: Index, extents: Shape) -> bool:
    """Whether a polynomial of extents cannot be 0 where none of them is less than 2."""
    lengths = {value for extent in extents for value in extent.values if extent is index(value)}
    if not gap.values <= lengths:
        return False
    shifted = gap.substitute({value: index(value) + 2 for value in gap.values})
    signs = {coefficient > 0 for _, coefficient in shifted.terms}
    return len(signs) == 1 and any(not monomial for monomial, _ in shifted.terms)


def guard_copied(build: Builder, view: View, shape: Shape) -> bool:
    """Whether a reshape copies, under guards: axes of some length that lie apart in memory become one.

    That is so where there are fewer new axes than parts that lie apart, or where two of those are seen to become one.
    """
    container = build.container(view.container)
    if not is_dense(container):
        return False
    axes = [axis for axis in range(view.rank) if view.shape[axis] is not ONE]
    extents = tuple(view.shape[axis] for axis in axes)
    steps = [element_step(view, container, axis) for axis in axes]
    gaps = [outer - extent * inner for outer, extent, inner in zip(steps[:-1], extents[1:], steps[1:], strict=True)]
    apart = [axis for axis, gap in enumerate(gaps) if gap is not ZERO]
    target = tuple(extent for extent in shape if extent is not ONE)
    if len(target) <= len(apart):
        guard_apart(build, view, [gaps[axis] for axis in apart])
        return True
    for lead, stop, middle in runs_of_axes(extents, target):
        joined = [axis for axis in apart if lead <= axis < stop - 1]
        if joined and len(middle) == 1:  # of several new axes, some might be old ones when the program runs
            guard_apart(build, view, [gaps[joined[0]]])
            return True
    return False


def guard_blocks(build: Builder, view: View, shape: Shape) -> View | None:
    """Axes cut into blocks of known size, under guards: (h, w) -> (h // 2, 2, w // 2, 2). None where it is not that."""
    groups: list[list[Index]] = []
    for extent in shape:
        if groups and extent.constant is not None:
            groups[-1].append(extent)
        else:
            groups.append([extent])
    if len(groups) != view.rank or len(shape) == view.rank:
        return None
    for extent, group in zip(view.shape, groups, strict=True):
        build.guard_equal(extent, product(group), f"{NOT_COMPILED}a reshape of axes that are not cut one by one")
    for axis, group in reversed(list(enumerate(groups))):
        view = split_axis(view, axis, tuple(group))
    return view


def guard_apart(build: Builder, view: View, gaps: Sequence[Index]) -> None:
    """Assume that these are not 0, and that no axis is so short that its step does not count."""
    for extent in view.shape:
        if extent is not ONE:
            build.guard_nonnegative(extent - 2, "reshape of an axis of length 0 or 1")
    for gap in gaps:
        if gap.constant is None:
            build.guard(op("not_equal", (gap, ZERO), NP_BOOL), "this reshape is a view")


def element_step(view: View, container: Container, axis: int) -> Index:
    """How many elements of a dense container lie between neighbours along an axis of the view."""
    step = ZERO
    for dimension, place in enumerate(view.axes):
        for number, factor in place.terms:
            if number == axis:
                faster = container.shape[dimension + 1 :]
                if container.layout is Layout.F:
                    faster = container.shape[:dimension]
                step = step + factor * product(faster)
    return step


def flat_array(build: Builder, array: Array) -> Array:
    """The elements as one axis, for reading: a copy where the memory does not allow it."""
    return reshaped(build, array, (product(array.shape),))


def reshaped(build: Builder, array: Array, shape: Shape) -> Array:
    """The elements under another shape, for reading: a copy where the memory does not allow it."""
    guard_same_size(build, array.shape, shape)
    view = reshape_view(build, array.view, shape)
    if view is None:
        copy = copy_array(build, array, order="C")
        view = reshape_view(build, full_view(build.container(copy.view.container)), shape)
        assert view is not None, "a dense array takes any shape"
    return array.viewed(view)
