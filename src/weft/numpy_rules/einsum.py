"""`np.einsum`: diagonals, sums, products element by element, matrix products.

    einsum("ii->i", a)           ->  the diagonal of a, a view
    einsum("ij->j", a)           ->  Reduce over the first axis
    einsum("i,j->ji", a, b)      ->  Elementwise
    einsum("bij,bjk->bki", a, b) ->  MatMul into a transposed view of the result
    einsum("ij,ij->", a, b)      ->  Reduce of a product, which is never stored once it is fused
    einsum("nchw,oc->nohw", ...) ->  the same where the sums are short; else MatMul of copies that are matrices
    einsum("ij,jk,kl->il", ...)  ->  two products, in between them an array: two operands at a time, the cheapest first
    einsum("ij,k->k", a, b)      ->  what only one operand has is summed first
    einsum("...ij,j", a, b)      ->  "..." are letters that nobody else uses

What is asked to be optimized is left to NumPy, since there the sizes decide how the result lies in memory.
NumPy's einsum gives no floating-point warnings. It decides in its own way how the result lies in memory: it is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import TypeAlias

import numpy as np

from weft.ir.dtypes import NP_BOOL, DType, ScalarType
from weft.ir.exprs import Expr, Index, Value, const_index, op
from weft.ir.nodes import Axis, Branch, Elementwise, MatMul, Reduce, Region, View, Yield
from weft.numpy_rules.arguments import Flag, PythonRaises, static_value
from weft.numpy_rules.arrays import as_array, convert_array, read_scalar, strong_dtype
from weft.numpy_rules.builder import Builder
from weft.numpy_rules.call_probes import ArrayAnswer, ArrayProbe, Known, NumberAnswer, Refused, Unfit, ask
from weft.numpy_rules.elementwise import cast, coordinates, initialise, permute
from weft.numpy_rules.indexing import insert_axis
from weft.numpy_rules.memory_order import copied_order
from weft.numpy_rules.registry import numpy_rule
from weft.numpy_rules.reshaping import product, reshaped
from weft.numpy_rules.values import Array, Operand
from weft.support.records import record

Extents: TypeAlias = dict[str, Index]

_ONE = const_index(1)
_KINDS = ((True, True), (True, False), (False, True))  # of a batch, of rows, of columns
_FIRST_UNUSED = ord("\u0400")  # letters that NumPy's subscripts cannot have
_LONG = 16  # terms of a sum from which on it pays to copy operands for the library


@record
class _Term:
    """An operand: its indices by letter, the same one twice for a diagonal."""

    array: Array
    letters: str


@numpy_rule(
    "numpy.einsum",
    samples=(
        "einsum('ii->i', f8[3, 3])",
        "einsum('ii', f8[3, 3])",
        "einsum('ij->j', i4[2, 3])",
        "einsum('ijk->ki', f8[2, 3, 4])",
        "einsum('ij->', b1[2, 3])",
        "einsum('ij->ji', f8[2, 3])",
        "einsum('->', f8[()])",
        "einsum('...->...', i4[()])",
        "einsum('i,i->i', f8[3], f4[3])",
        "einsum('i,j->ji', i8[3], i8[4])",
        "einsum('ij,jk->ik', f8[2, 3], f8[3, 4])",
        "einsum('ij,jk', f8[2, 3], f8[3, 4])",
        "einsum('ij,jk->ki', f8[2, 3], f8[3, 4])",
        "einsum('bij,bjk->ibk', c16[2, 3, 4], c16[2, 4, 5])",
        "einsum('ij,j->i', f8[2, 3], f8[3])",
        "einsum('ij,ij->', f8[2, 3], f8[2, 3])",
        "einsum('bi,bi->b', f4[2, 3], f4[2, 3])",
        "einsum('ijk,jkl->li', f8[2, 3, 4], f8[3, 4, 5])",
        "einsum('ijk,lk->ijl', i8[2, 3, 4], i8[5, 4])",
        "einsum('ij,jj->i', f8[2, 3], f8[3, 3])",
        "einsum('ij,jk->ik', b1[2, 3], b1[3, 4])",
        "einsum('ij,k->k', f8[2, 3], i4[4])",
        "einsum('ij,jk->k', b1[2, 3], b1[3, 4])",
        "einsum('ij,kl->', i8[2, 3], i8[3, 4])",
        "einsum('ij,jk,kl->il', f8[2, 3], f8[3, 4], f8[4, 5])",
        "einsum('ij,jk,kl->li', c16[2, 3], f8[3, 4], f4[4, 5])",
        "einsum('i,ij,j->', f8[3], f8[3, 4], f8[4])",
        "einsum('i,j,k', i2[2], i2[3], i2[4])",
        "einsum('i,ij,i->ij', f8[3], f8[3, 4], f8[3])",
        "einsum('ij,jk,ki', b1[2, 3], b1[3, 4], b1[4, 2])",
        "einsum('ai,bj,ijkl,ck,dl->abcd', f8[2, 3], f8[2, 3], f8[3, 3, 3, 3], f8[2, 3], f8[2, 3])",
        "einsum('ij,ij,ij->i', f4[2, 3], f4[2, 1], f4[1, 3])",
        "einsum('...ij,...jk->...ik', f8[2, 3, 4], f8[2, 4, 5])",
        "einsum('...ij,jk', f8[2, 3, 4], f8[4, 5])",
        "einsum('i...->...', f8[2, 3, 4])",
        "einsum('...,...', f8[2, 3], f8[3])",
        "einsum('...i,i,j', f8[2, 3], f8[3], f8[4])",
    ),
)
def lower_einsum(build: Builder, subscripts: Operand, *operands: Operand, optimize: Flag = False) -> Operand:
    """Subscripts are known; see above for what is done with them."""
    text = static_value(build, subscripts, "the subscripts of einsum")
    if not isinstance(text, str) or static_value(build, optimize, "optimize") is not False:
        raise _refusal(build)
    arrays = [as_array(build, operand) for operand in operands]
    inputs, output = _parsed(_spelled_out(build, text.replace(" ", ""), arrays), arrays)
    terms = [_Term(array, letters) for array, letters in zip(arrays, inputs, strict=True)]
    extents = _extents(build, terms)
    if not set(output) <= extents.keys() or len(set(output)) < len(output):
        raise PythonRaises("einstein sum subscripts: an index of the output is unknown, or there twice")
    return (_of_one if len(terms) == 1 else _of_several)(build, text, terms, output, extents)


def _refusal(build: Builder) -> Exception:
    return build.error("E243", "this form of einsum is not compiled", "write products of two arrays at a time")


def _spelled_out(build: Builder, text: str, arrays: Sequence[Array]) -> str:
    """The subscripts without "...": letters of their own for the axes that it stands for, counted from the last."""
    if "." not in text:
        return text
    given, arrow, output = text.partition("->")
    parts = given.split(",")
    if len(parts) != len(arrays) or any(part.count(".") != 3 * part.count("...") for part in (*parts, output)):
        raise _refusal(build)
    ranks = [a.rank - len(part) + 3 if "..." in part else 0 for part, a in zip(parts, arrays, strict=True)]
    most = max(ranks)
    if min(ranks) < 0 or any(part.count("...") > 1 for part in (*parts, output)) or (arrow and "..." not in output):
        raise _refusal(build)
    names = "".join(chr(_FIRST_UNUSED + number) for number in range(most))
    inputs = [part.replace("...", names[most - rank :]) for part, rank in zip(parts, ranks, strict=True)]
    if not arrow:
        output = names + "".join(sorted(letter for letter in given if letter.isalpha() and given.count(letter) == 1))
    return f"{','.join(inputs)}->{output.replace('...', names)}"


def _parsed(text: str, arrays: Sequence[Array]) -> tuple[list[str], str]:
    """The letters of the operands and of the result: in alphabetical order those that stand once, if not given."""
    given, arrow, output = text.partition("->")
    inputs = given.split(",")
    if not all(part == "" or part.isalpha() for part in (*inputs, output)):
        raise PythonRaises("einstein sum subscripts have other characters than letters")
    if len(inputs) != len(arrays) or any(len(part) != a.rank for part, a in zip(inputs, arrays, strict=True)):
        raise PythonRaises("einstein sum subscripts do not fit the operands")
    letters = "".join(inputs)
    return inputs, output if arrow else "".join(sorted(letter for letter in letters if letters.count(letter) == 1))


def _extents(build: Builder, terms: Sequence[_Term]) -> Extents:
    found: Extents = {}
    for term in terms:
        own: Extents = {}
        for letter, extent in zip(term.letters, term.array.shape, strict=True):
            if own.setdefault(letter, extent) is not extent:  # of a diagonal, no axis is repeated
                build.guard_equal(own[letter], extent, "einsum: the axes of a diagonal differ")
            known = found.get(letter, _ONE)
            if known is _ONE:
                found[letter] = extent
            elif extent is not _ONE:
                build.guard_equal(known, extent, "einsum: extents of one index differ")
    return found


def _laid_out(term: _Term, letters: str, extents: Extents) -> View:
    """The operand as a view with one axis per letter: diagonals taken, what it does not have repeated."""
    view = term.array.view
    place = {letter: number for number, letter in enumerate(letters)}
    axes: list[Axis] = []
    for axis in view.axes:
        steps: dict[int, Index] = {}
        for number, step in axis.terms:
            letter = term.letters[number]
            if view.shape[number] is _ONE and extents[letter] is not _ONE:
                continue  # repeated
            steps[place[letter]] = steps.get(place[letter], const_index(0)) + step
        axes.append(Axis(axis.offset, tuple(steps.items())))
    return View(view.container, tuple(extents[letter] for letter in letters), tuple(axes))


def _new(build: Builder, text: str, arrays: Sequence[Array], shape: tuple[Index, ...], dtype: DType) -> Array:
    """The array for the result, its axes in memory as NumPy has them: in C order if there is nothing to sum."""
    probes = [ArrayProbe(a.dtype.numpy, a.shape, copied_order(build, [a.view], a.rank)) for a in arrays]
    try:
        answer = ask(np.einsum, [Known(text), *probes], {})
    except (Refused, Unfit):
        raise _refusal(build) from None
    if not isinstance(answer, ArrayAnswer | NumberAnswer):
        raise _refusal(build)
    order = (answer.order if isinstance(answer, ArrayAnswer) else ()) or tuple(range(len(shape)))
    if order != tuple(range(len(shape))):
        for extent in dict.fromkeys(extent for array in arrays for extent in array.shape):
            build.guard_nonnegative(extent - 1, "einsum of nothing")
    base = build.alloc(tuple(shape[axis] for axis in order), dtype, "einsum")
    return Array(permute(base, tuple(order.index(axis) for axis in range(len(shape)))), dtype)


def _finished(build: Builder, result: Array) -> Operand:
    return result if result.rank else read_scalar(build, result)


# ---- one operand ----------------------------------------------------------------------------------------------------


def _of_one(build: Builder, text: str, terms: Sequence[_Term], output: str, extents: Extents) -> Operand:
    (term,) = terms
    summed = "".join(letter for letter in extents if letter not in output)
    source = _laid_out(term, output + summed, extents)
    if not summed:
        return _finished(build, term.array.viewed(source))
    shape = tuple(extents[letter] for letter in output)
    result = _new(build, text, [term.array], shape, term.array.dtype)
    _sum(build, result, source)
    return _finished(build, result)


def _sum(build: Builder, result: Array, source: View) -> None:
    """Sum over the last axes of a view of the result's own type; for bool that is `or`."""
    build.emit(
        Reduce(
            op="logical_or" if result.dtype is DType.BOOL else "add",
            output=result.view,
            input=source,
            axes=tuple(range(result.rank, source.rank)),
            initial=cast(const_index(0), result.dtype),
            id=build.new_id(),
            span=build.span,
        )
    )


# ---- several operands -----------------------------------------------------------------------------------------------


def _of_several(build: Builder, text: str, terms: Sequence[_Term], output: str, extents: Extents) -> Operand:
    arrays = [term.array for term in terms]
    dtype = strong_dtype(build, arrays)
    result = _new(build, text, arrays, tuple(extents[letter] for letter in output), dtype)
    terms = [_Term(convert_array(build, term.array, dtype), term.letters) for term in terms]
    if set(output) == extents.keys():
        _multiply(build, result, [_laid_out(term, output, extents) for term in terms])
        return _finished(build, result)
    terms = [
        _summed_alone(build, term, _wanted([*terms[:place], *terms[place + 1 :]], output), extents)
        for place, term in enumerate(terms)
    ]
    while len(terms) > 2:
        one, other = _cheapest(terms, output)
        rest = [term for place, term in enumerate(terms) if place not in (one, other)]
        terms = [_between(build, (terms[one], terms[other]), _wanted(rest, output), extents), *rest]
    _product(build, result, terms, output, extents)
    return _finished(build, result)


def _wanted(terms: Sequence[_Term], output: str) -> set[str]:
    """The indices that some operands and the result have."""
    return set(output).union(*(term.letters for term in terms))


def _summed_alone(build: Builder, term: _Term, wanted: set[str], extents: Extents) -> _Term:
    """The operand without the indices that nobody else has."""
    own = "".join(dict.fromkeys(term.letters))
    kept = "".join(letter for letter in own if letter in wanted)
    if kept == own:
        return term
    source = _laid_out(term, kept + "".join(letter for letter in own if letter not in wanted), extents)
    target = Array(build.alloc(source.shape[: len(kept)], term.array.dtype, "sums"), term.array.dtype)
    _sum(build, target, source)
    return _Term(target, kept)


def _cheapest(terms: Sequence[_Term], output: str) -> tuple[int, int]:
    """The two operands to multiply first: those with the fewest indices, of these with the smallest product."""
    found: list[tuple[int, int, int, int]] = []
    for one, first in enumerate(terms):
        for other, second in enumerate(terms[:one]):
            both = {*first.letters, *second.letters}
            rest = [term for place, term in enumerate(terms) if place not in (one, other)]
            found.append((len(both), len(both & _wanted(rest, output)), other, one))
    return min(found)[2:]


def _between(build: Builder, pair: tuple[_Term, _Term], wanted: set[str], extents: Extents) -> _Term:
    """The product of two operands, with the indices that are still wanted, in the order of a matrix product."""
    one, other = (dict.fromkeys(term.letters) for term in pair)
    kept = [letter for letter in {**one, **other} if letter in wanted]
    kinds = ([letter for letter in kept if (letter in one, letter in other) == kind] for kind in _KINDS)
    output = "".join(letter for kind in kinds for letter in kind)
    dtype = pair[0].array.dtype
    target = Array(build.alloc(tuple(extents[letter] for letter in output), dtype, "product"), dtype)
    _product(build, target, pair, output, extents)
    return _Term(target, output)


def _product(build: Builder, result: Array, terms: Sequence[_Term], output: str, extents: Extents) -> None:
    """Sums of products of two operands of the result's type: all that is summed, both have."""
    one, other = (set(term.letters) for term in terms)
    summed = "".join(letter for letter in extents if letter in one | other and letter not in output)
    batch, rows, columns = (
        "".join(letter for letter in output if letter in kind) for kind in (one & other, one - other, other - one)
    )
    if not summed:
        _multiply(build, result, [_laid_out(term, output, extents) for term in terms])
    elif not rows and not columns:
        _sum_of_products(build, result, [_laid_out(term, output + summed, extents) for term in terms])
    elif len(rows) <= 1 and len(columns) <= 1:
        _matrix_product(build, result, terms, output, extents, (batch, rows, columns, summed))
    else:
        _short_or_long(
            build,
            product([extents[letter] for letter in summed]),
            lambda: _sum_of_products(build, result, [_laid_out(term, output + summed, extents) for term in terms]),
            lambda: _matrix_product(build, result, terms, output, extents, (batch, rows, columns, summed)),
        )


def _short_or_long(build: Builder, length: Index, short: Callable[[], None], long: Callable[[], None]) -> None:
    """A product whose operands must be copied to be matrices, only where its sums are long enough to pay for that."""
    if length.constant is not None:
        (short if length.constant < _LONG else long)()
        return
    regions: list[Region] = []
    for emit in (short, long):
        with build.region() as scope:
            emit()
            build.emit(Yield(()))
        regions.append(build.close(scope))
    is_short = op("less", (length, const_index(_LONG)), NP_BOOL)
    then, orelse = regions
    build.emit(Branch(condition=is_short, then=then, orelse=orelse, id=build.new_id(), span=build.span))


def _sum_of_products(build: Builder, result: Array, views: Sequence[View]) -> None:
    joint = Array(build.alloc(views[0].shape, result.dtype, "product"), result.dtype)
    _multiply(build, joint, views)
    _sum(build, result, joint.view)


def _multiply(build: Builder, target: Array, views: Sequence[View]) -> None:
    type_ = ScalarType(target.dtype)
    elements: list[Value] = [build.value("x", type_) for _ in views]
    first: Expr = elements[0]
    name = "logical_and" if target.dtype is DType.BOOL else "multiply"
    build.emit(
        Elementwise(
            output=target.view,
            params=coordinates(build, target.shape),
            inputs=tuple(zip(elements, views, strict=True)),
            expr=reduce(lambda left, right: op(name, (left, right), type_), elements[1:], first),
            id=build.new_id(),
            span=build.span,
        )
    )


def _matrix_product(
    build: Builder, result: Array, terms: Sequence[_Term], output: str, extents: Extents, kinds: tuple[str, ...]
) -> None:
    """Batches of matrices; several rows, columns or summed indices are one each, in memory of their own if need be."""
    batch, rows, columns, summed = kinds
    left = _matrix(build, terms[0], (batch, rows, summed), extents)
    right = _matrix(build, terms[1], (batch, summed, columns), extents)
    place = permute(result.view, tuple(output.index(letter) for letter in batch + rows + columns))
    if len(rows) <= 1 and len(columns) <= 1:
        if not rows:
            place = insert_axis(place, len(batch))
        if not columns:
            place = insert_axis(place, len(batch) + 1)
        _emit_product(build, place, left, right)
        return
    flat = Array(build.alloc((*left.shape[:-1], right.shape[-1]), result.dtype, "product"), result.dtype)
    _emit_product(build, flat.view, left, right)
    initialise(build, Array(place, result.dtype), reshaped(build, flat, place.shape))


def _matrix(build: Builder, term: _Term, kinds: tuple[str, str, str], extents: Extents) -> View:
    """The operand as a stack of matrices: one axis per letter of the first kind, one for each of the other kinds."""
    view = _laid_out(term, "".join(kinds), extents)
    if len(kinds[1]) == len(kinds[2]) == 1:
        return view
    ends = len(kinds[0]), len(kinds[0]) + len(kinds[1])
    shape = (*view.shape[: ends[0]], product(view.shape[ends[0] : ends[1]]), product(view.shape[ends[1] :]))
    return reshaped(build, Array(view, term.array.dtype), shape).view


def _emit_product(build: Builder, output: View, left: View, right: View) -> None:
    build.emit(MatMul(output=output, lhs=left, rhs=right, id=build.new_id(), span=build.span))
