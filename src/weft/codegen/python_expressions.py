"""Expressions and views as Python text, for `python.py`."""

from __future__ import annotations

import keyword
import re
from collections.abc import Sequence

from weft.ir.dtypes import PY_INT, DType, ScalarType
from weft.ir.exprs import Const, Expr, Index, Op, Value
from weft.ir.nodes import NOTHING, Axis, Container, Memlet, Program, Storage, View

_INFIX = {
    "add": "+", "subtract": "-", "multiply": "*", "divide": "/", "floor_divide": "//", "remainder": "%",
    "power": "**", "bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^", "left_shift": "<<", "right_shift": ">>",
}  # fmt: skip
_COMPARISONS = {
    "equal": "==", "not_equal": "!=", "less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=",
}  # fmt: skip
_PREFIX = {"negative": "-", "invert": "~"}
_OVERFLOWS = {
    "add_overflows": "{} + {}",
    "subtract_overflows": "{} - {}",
    "multiply_overflows": "{} * {}",
    "power_overflows": "{} ** max(min({}, 64), 0)",
    "left_shift_overflows": "{} << max(min({}, 64), 0)",
}

# Functions of the text, each put in only where it is used.
HELPERS = {
    "cast": '''
def cast(x, dtype):
    """`astype`; from complex numbers the real part."""
    x = np.asarray(x)
    return (x.real if x.dtype.kind == "c" and np.dtype(dtype).kind not in "cb" else x).astype(dtype)[()]
''',
    "erf": """
import math

erf = np.vectorize(math.erf, otypes=[float])
""",
    "erfc": """
import math

erfc = np.vectorize(math.erfc, otypes=[float])
""",
    "overflows": '''
def overflows(exact):
    """Whether an integer does not fit 64 bits."""
    return not -(2**63) <= exact < 2**63
''',
    "complex_of": '''
def complex_of(real, imaginary, dtype):
    """A complex number from its parts, signed zeros and all."""
    z = np.empty(np.broadcast_shapes(np.shape(real), np.shape(imaginary)), dtype)
    z.real, z.imag = real, imaginary
    return z[()]
''',
    "window": '''
def window(a, offsets, steps, shape):
    """The view whose element p is `a[offsets[d] + sum(step * p[axis] for axis, step in steps[d])]`."""
    strides = [0] * len(shape)
    for stride, terms in zip(a.strides, steps):
        for axis, step in terms:
            strides[axis] += step * stride
    corner = a if 0 in shape else a[(*(slice(offset, None) for offset in offsets), ...)]
    return np.lib.stride_tricks.as_strided(corner, shape, strides)
''',
    "flatten": '''
def flatten(result):
    """The arrays and numbers in tuples and lists, in order."""
    return [leaf for item in result for leaf in flatten(item)] if isinstance(result, (tuple, list)) else [result]
''',
    "each_part": '''
def each_part(function, given, changed, *options, **named):
    """Make the parts of what is changed of those of what is given; whether that went well."""
    try:
        for t in range(len(changed[0])):
            result = function(*(stack[t] for stack in given), *options, **named)
            for stack, made in zip(changed, flatten(result)):
                stack[t] = made
    except (np.linalg.LinAlgError, ArithmeticError, ValueError):
        return False
    return True
''',
    "GuardFailed": '''
class GuardFailed(Exception):
    """The program leaves: Python would go on from `frames`, the live names of each activation."""

    def __init__(self, site, reason, frames, writebacks):
        super().__init__(f"site {site}: {reason}")
        self.site, self.reason, self.frames, self.writebacks = site, reason, frames, writebacks
''',
    "MISSING": """
MISSING = object()  # a name without a value
""",
}


class PythonExpressions:
    """Names, expressions and views."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.taken = {"np", "range", "int", "float", "bool", "complex", "min", "max", "abs", "slice", *HELPERS}
        self.names: dict[int | str, str] = {}
        self.inline: dict[int, str] = {}  # inputs of an Elementwise that are used once
        self.vector = False  # inside an Elementwise: values may be arrays
        self.helpers: set[str] = set()

    def claim(self, key: int | str, wanted: str, number: int | None = None) -> str:
        """A readable Python name that nothing else has."""
        base = re.sub(r"\W", "_", wanted) or "v"
        base = f"v{base}" if base[0].isdigit() else base
        name = base if not keyword.iskeyword(base) else f"{base}_"
        if name in self.taken and number is not None:
            name = f"{base}_{number}"
        while name in self.taken:
            name += "_"
        self.taken.add(name)
        self.names[key] = name
        return name

    def value(self, value: Value) -> str:
        return self.names.get(value.id) or self.claim(value.id, value.name, value.id)

    def helper(self, name: str) -> str:
        self.helpers.add(name)
        return name

    # -- expressions

    def expr(self, expr: Expr, *, nested: bool = False, bare: bool = False) -> str:
        """`nested`: in parentheses if it is more than a call. `bare`: a literal takes its type from its neighbour."""
        match expr:
            case Value():
                return self.inline.get(expr.id) or self.value(expr)
            case Const():
                return _literal(expr, bare=bare)
            case Index():
                text = self.index(expr)
                return f"({text})" if nested and not text.isidentifier() and not text.isdigit() else text
            case Op(name="cast", args=(operand,), type=type_):
                return self._cast(operand, type_, nested=nested)
            case Op():
                text = self._op(expr)
                return f"({text})" if nested and self._is_compound(expr) else text

    def _is_compound(self, expr: Op) -> bool:
        """Whether its text is more than a call."""
        if expr.name == "select":
            return not self.vector
        infix = expr.name in _INFIX or expr.name in _PREFIX
        return expr.name in _COMPARISONS or (infix and expr.args[0].type.dtype is not DType.BOOL)

    def index(self, index: Index, scale: int = 1) -> str:
        terms = sorted(index.terms, key=lambda term: (-len(term[0]), [value.id for value in term[0]]))
        text = ""
        for monomial, coefficient in terms:
            size = coefficient * scale
            factors = [self.inline.get(value.id) or self.value(value) for value in monomial]
            if abs(size) != 1 or not factors:
                factors.insert(0, str(abs(size)))
            sign = " - " if size < 0 else " + "
            text += (sign if text else sign.strip(" +")) + " * ".join(factors)
        return text or "0"

    def indices(self, indices: Sequence[Index]) -> str:
        texts = [self.index(item) for item in indices]
        return f"({texts[0]},)" if len(texts) == 1 else f"({', '.join(texts)})"

    def _op(self, expr: Op) -> str:
        name, operand = expr.name, expr.args[0].type.dtype
        if name in _OVERFLOWS:
            texts = [self._exact(arg) for arg in expr.args]
            return f"{self.helper('overflows')}({_OVERFLOWS[name].format(*texts)})"
        if name == "select":
            return self._select(expr)
        if name == "complex":
            return f"{self.helper('complex_of')}({self._args(expr)}, {dtype_text(expr.type.dtype)})"
        if name in _COMPARISONS or (name in _INFIX and operand is not DType.BOOL):
            # Two literals would be computed by Python, not by NumPy.
            bare = not all(isinstance(arg, Const) for arg in expr.args)
            left, right = (self.expr(arg, nested=True, bare=bare) for arg in expr.args)
            return f"{left} {(_COMPARISONS | _INFIX)[name]} {right}"
        if name in _PREFIX and operand is not DType.BOOL:
            return f"{_PREFIX[name]}{self.expr(expr.args[0], nested=True)}"
        return self._call(expr)

    def _exact(self, expr: Expr) -> str:
        return self.expr(expr, nested=True) if expr.type == PY_INT else f"int({self.expr(expr)})"

    def _call(self, expr: Op) -> str:
        name = self.helper(expr.name) if expr.name in HELPERS else f"np.{expr.name}"
        text = f"{name}({self._args(expr)})"
        return f"int({text})" if expr.type == PY_INT and not self.vector else text

    def _args(self, expr: Op) -> str:
        return ", ".join(self.expr(arg) for arg in expr.args)

    def _cast(self, operand: Expr, type_: ScalarType, *, nested: bool) -> str:
        given = operand.type
        if given == type_ or (given.dtype is type_.dtype and given != PY_INT and (self.vector or type_ != PY_INT)):
            return self.expr(operand, nested=nested)
        if given == PY_INT and not self.vector and type_.dtype.kind in "fc":
            return f"{dtype_text(type_.dtype)}({self.expr(operand)})"
        text = f"{self.helper('cast')}({self.expr(operand)}, {dtype_text(type_.dtype)})"
        return f"int({text})" if type_ == PY_INT and not self.vector else text

    def _select(self, expr: Op) -> str:
        condition, then, orelse = expr.args
        if self.vector:
            return f"np.where({self._args(expr)})"
        then_text, else_text = self.expr(then, nested=True), self.expr(orelse, nested=True)
        return f"{then_text} if {self.expr(condition, nested=True)} else {else_text}"

    # -- arrays

    def container(self, name: str) -> str:
        container = self.program.containers[name]
        if container.storage is Storage.ALIAS:
            return f"{self.container(container.base)}.reshape({self.indices(container.shape)})"
        return self.names.get(name) or self.claim(name, name)

    def memlet(self, memlet: Memlet) -> str:
        indices = ", ".join(self.index(item) for item in memlet.index) or "()"
        return f"{self.container(memlet.container)}[{indices}]"

    def view(self, view: View, *, target: bool = False, broadcast: bool = False) -> str:
        """The view as an expression; as a `target` it stands before `=`. `broadcast` lets NumPy repeat its axes."""
        if view.container == NOTHING:
            return f"np.zeros({self.indices(view.shape)})"
        base = self.container(view.container)
        if _is_whole(view, self.program.containers[view.container]):
            return f"{base}[...]" if target else base
        sliced = self._slices(view, broadcast=broadcast)
        if sliced is None:
            offsets = self.indices([axis.offset for axis in view.axes])
            steps = "".join(
                f"[{', '.join(f'({number}, {self.index(step)})' for number, step in axis.terms)}], "
                for axis in view.axes
            )
            text = f"{self.helper('window')}({base}, {offsets}, ({steps.strip()}), {self.indices(view.shape)})"
            return f"{text}[...]" if target else text
        items, order = sliced
        text = f"{base}[{', '.join(items if view.rank else [*items, '...'])}]"
        if order == sorted(order):
            return text
        permutation = ", ".join(str(order.index(axis)) for axis in range(view.rank))
        return f"{text}.transpose({permutation})" + ("[...]" if target else "")

    def _steps(self, axis: Axis) -> str:
        return f"[{', '.join(f'({number}, {self.index(step)})' for number, step in axis.terms)}],"

    def _slices(self, view: View, *, broadcast: bool) -> tuple[list[str], list[int]] | None:
        """Slices and new axes in the container's order, with the view's axis of each; None if it takes more."""
        used = [number for axis in view.axes for number, _ in axis.terms]
        missing = [axis for axis in range(view.rank) if axis not in used]
        repeated = any(view.shape[axis].constant != 1 for axis in missing)
        if len(set(used)) != len(used) or (repeated and not broadcast) or (missing and used != sorted(used)):
            return None
        items: list[str] = []
        order: list[int] = []
        for axis in view.axes:
            if not axis.terms:
                items.append(self.index(axis.offset))
                continue
            (number, step), *more = axis.terms
            if more or step.constant is None or step.constant < 1:
                return None
            while missing and missing[0] < number:
                items.append("None")
                order.append(missing.pop(0))
            stop = axis.offset + step * view.shape[number]
            stride = f":{step.constant}" if step.constant != 1 else ""
            items.append(f"{self.index(axis.offset)}:{self.index(stop)}{stride}")
            order.append(number)
        return [*items, *("None" for _ in missing)], [*order, *missing]


# ---- small things ---------------------------------------------------------------------------------------------------


def dtype_text(dtype: DType) -> str:
    """The element type as NumPy names it."""
    return "np.bool_" if dtype is DType.BOOL else f"np.{dtype.value}"


def _is_whole(view: View, container: Container) -> bool:
    return view.shape == container.shape and all(
        axis.offset.constant == 0 and [(number, step.constant) for number, step in axis.terms] == [(d, 1)]
        for d, axis in enumerate(view.axes)
    )


def _literal(constant: Const, *, bare: bool) -> str:
    match constant.value:
        case bool():
            text = repr(constant.value)
        case complex(real=real, imag=imag):
            text = f"complex({_number(real)}, {_number(imag)})"
        case _:
            text = _number(constant.value)
    if constant.type == PY_INT or bare:
        return f"({text})" if text.startswith("-") else text
    return f"{dtype_text(constant.type.dtype)}({text})"


def _number(value: float) -> str:
    text = repr(value)
    return {"nan": "np.nan", "inf": "np.inf", "-inf": "-np.inf"}.get(text, text)
