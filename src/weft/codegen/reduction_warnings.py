"""Which warnings a reduction can give, and how it finds them.

A sum or product that is finite has met nothing infinite and no NaN: no operation whose result would have reached it has
overflowed or was invalid. So where everything that may warn reaches the result, the loops check nothing; a result that
is not finite is computed once more, slowly, with a check after every operation.

Where something does not reach the result, but is computed for every element by operations that raise the processor's
flags, these tell in the same way whether to look again. All else is checked where it is computed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from weft.codegen.checks import flags_are_exact
from weft.codegen.kernel import Kernel
from weft.ir.dtypes import DType
from weft.ir.exprs import Const, Expr, Op, Value, values_in
from weft.ir.nodes import Elements, Let, Reduce
from weft.ir.ops import may_warn, narrows
from weft.support.records import record

# Operands through which what is not finite reaches the result, for real and for complex numbers.
_BOTH: Final = (0, 1)
_REACHING: Final = {
    "add": _BOTH, "subtract": _BOTH, "multiply": _BOTH, "divide": (0,), "negative": (0,), "positive": (0,),
    "absolute": (0,), "fabs": (0,), "square": (0,), "sqrt": (0,),
}  # fmt: skip
_REACHING_COMPLEX: Final = {
    "add": _BOTH, "subtract": _BOTH, "multiply": _BOTH, "negative": (0,), "positive": (0,), "conjugate": (0,),
    "absolute": (0,), "square": (0,),
}  # fmt: skip

_CHOICES: Final = ("select", "logical_and", "logical_or", "copysign", "heaviside", "signbit", "real", "imag")


@record
class Warnings:
    """What warns at which site, and how that is found.

    `replayed`: a result that is not finite is looked into. `raised`: the variable for the processor's flags, if these
    are asked. `checked`: every element is, where it is computed; `audited`: beforehand, in a loop for that alone.
    """

    names: dict[int, str]  # site -> variable
    declared: dict[int, str]  # those of the names that are the reduction's own
    combination: int = -1
    replayed: bool = False
    raised: str = ""
    checked: bool = False
    audited: bool = False
    pinned: tuple[Value, ...] = ()


def plan_warnings(kernel: Kernel, node: Reduce, source: Elements, dtype: DType, *, alone: bool) -> Warnings:
    """The plan; in a nest that notes its warnings it uses the variables of that nest, unless it stands `alone`.

    In the second run of a nest there is nothing to find: a reduction has reported for itself in the first.
    """
    if kernel.rewritten is not None:
        return Warnings({}, {})
    lets = [let for tasklet in source.body for let in tasklet.lets if _let_warns(kernel, let)]
    combining = node.op in ("add", "multiply") and dtype.kind in "fc"
    combination = node.warn if combining else -1
    sites = sorted({let.warn for let in lets} | ({combination} if combination >= 0 else set[int]()))
    around = kernel.flags.sites if kernel.flags is not None and not alone else {}
    names = {site: around.get(site) or kernel.names.claim("fp") for site in sites}
    declared = {site: name for site, name in names.items() if site not in around}
    tells = combining or (node.op == "maximum" and dtype.kind == "f" and _is_absolute(source))
    reached = tells and _all_show(lets, _reaching(source, dtype), _shows)
    replayed = combination >= 0 or (bool(lets) and reached)
    if reached or not lets:
        return Warnings(names, declared, combination, replayed)
    if _all_show(lets, _computed(source), _raises):
        raised, outside = kernel.names.claim("raised"), _outside(kernel, source)
        return Warnings(names, declared, combination, replayed, raised, pinned=outside)
    audited = node.op.startswith("arg")
    return Warnings(names, declared, combination, replayed, checked=not audited, audited=audited)


def _let_warns(kernel: Kernel, let: Let) -> bool:
    if let.warn < 0:
        return False
    lone = kernel.program.warn_sites[let.warn].operation.startswith("scalar ")
    return any(_may_warn(x, lone=lone) for x in _operations(let.expr))


def _may_warn(x: Op, *, lone: bool) -> bool:
    return not x.type.python and may_warn(x.name, x.args[0].type.dtype, x.type.dtype, lone=lone)


def _operations(expr: Expr) -> Iterator[Op]:
    left, seen = [expr], set[Expr]()
    while left:
        x = left.pop()
        if isinstance(x, Op) and x not in seen:
            seen.add(x)
            yield x
            left += x.args


def _is_absolute(source: Elements) -> bool:
    """Whether no element is negative, so that the largest of them is infinite if any is."""
    root = source.expr
    lets = {let.value: let.expr for tasklet in source.body for let in tasklet.lets}
    while isinstance(root, Value) and root in lets:
        root = lets[root]
    return isinstance(root, Op) and root.name in ("absolute", "fabs", "square")


def _all_show(lets: list[Let], found: set[Expr], shows: Callable[[Op], bool]) -> bool:
    """Whether each operation that warns is one of those found, and shows that it does."""
    operations = (x for let in lets for x in _operations(let.expr) if _may_warn(x, lone=True))
    return all(x in found and shows(x) for x in operations)


def _shows(x: Op) -> bool:
    """Whether what it warns of makes its result infinite or NaN: not the square of a complex divisor."""
    kind = x.args[0].type.dtype.kind
    if kind == "c" and x.name in ("divide", "reciprocal"):
        return False
    return kind in "fc" and (x.name != "cast" or narrows(x.args[0].type.dtype, x.type.dtype))


def _raises(x: Op) -> bool:
    """Whether it raises the processor's flags when it warns; perhaps also when it does not, as complex quotients."""
    source = x.args[0].type.dtype
    quotient = x.name == "divide" and source.kind == "c"
    return source.kind in "fc" and (quotient or flags_are_exact(x.name, source, x.type.dtype))


def _computed(source: Elements) -> set[Expr]:
    """The expressions that are computed for every element: not what a choice may leave out, nor what never varies."""
    found = _closure(source, [source.expr], _needed_operands)
    varying = set(source.params)
    for tasklet in source.body:
        varying.update(value for value, _ in tasklet.reads)
        for let in tasklet.lets:
            if not varying.isdisjoint(values_in(let.expr)):
                varying.add(let.value)
    return {x for x in found if not varying.isdisjoint(values_in(x))}


def _needed_operands(x: Op) -> list[Expr]:
    """The operands without which there is no result; what comes of a comparison with itself is known."""
    same = x.type.dtype is DType.BOOL and len(x.args) > 1 and x.args[0] is x.args[1]
    return [] if x.name in _CHOICES or same else [*x.args]


def _outside(kernel: Kernel, source: Elements) -> tuple[Value, ...]:
    """The floats that come from outside, which must have been computed before the flags are cleared."""
    exprs = [let.expr for tasklet in source.body for let in tasklet.lets]
    floats = {x for expr in (*exprs, source.expr) for x in values_in(expr) if x.type.dtype.kind == "f"}
    return tuple(sorted((x for x in floats if kernel.is_defined(x)), key=lambda x: x.id))


def _reaching(source: Elements, dtype: DType) -> set[Expr]:
    """The expressions that make every result not finite if they are not."""
    return _closure(source, [source.expr] if _keeps(source.expr.type.dtype, dtype) else [], _reaching_operands)


def _closure(source: Elements, roots: list[Expr], operands: Callable[[Op], list[Expr]]) -> set[Expr]:
    """The roots, the operands of what is in it, and what lets have named."""
    lets = {let.value: let.expr for tasklet in source.body for let in tasklet.lets}
    found: set[Expr] = set()
    left = [*roots]
    while left:
        x = left.pop()
        if x in found:
            continue
        found.add(x)
        if isinstance(x, Value) and x in lets:
            left.append(lets[x])
        if isinstance(x, Op):
            left += operands(x)
    return found


def _reaching_operands(x: Op) -> list[Expr]:
    source = x.args[0].type.dtype
    if x.name == "cast":
        return [x.args[0]] if _keeps(source, x.type.dtype) else []
    if x.name == "power" and source.kind == "f":  # a square as NumPy's scalars write it
        exponent = x.args[1].value if isinstance(x.args[1], Const) else 0.0
        return [x.args[0]] if not isinstance(exponent, complex) and exponent > 0 else []
    table = {"f": _REACHING, "c": _REACHING_COMPLEX}.get(source.kind, {})
    return [x.args[number] for number in table.get(x.name, ())]


def _keeps(source: DType, target: DType) -> bool:
    """Whether a cast keeps what is not finite."""
    return source.kind + target.kind in ("ff", "cc", "fc")
