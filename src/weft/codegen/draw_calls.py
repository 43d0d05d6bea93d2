"""Draws without Python: random numbers by the functions of the bit generator, or by NumPy's own distributions.

in:   call numpy.random.Generator.normal(slot 0, 0.0, %s) -> (%x: py_float) changes (generator[:]) site 3
out:  if (!weft_not_negative(s)) goto fail_3;
      if (ctx->library[0] != 0) x = ((double (*)(const void *, double, double))ctx->library[0])(generator, 0.0, s);
      else switch (ctx->call_python(ctx, 0, out)) ...

The functions are those that NumPy's methods call, one number after the other, so numbers and states are the same. What
NumPy refuses leaves through the site before anything is drawn: Python repeats the statement and raises. Forms that are
not here are called in Python; so is NumPy where its archive of distributions is missing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import Final

import numpy as np

from weft.codegen.c_types import c_type
from weft.codegen.choice_calls import choice_text, emit_shuffle, method_of
from weft.codegen.expressions import emit_expr, index_text
from weft.codegen.kernel import Kernel
from weft.ir.dtypes import DType
from weft.ir.exprs import Const, Index, Op, Value
from weft.ir.nodes import Bundle, Constant, NumpyCall, SlotObject
from weft.numpy_rules.random_numbers import PARAMETERS
from weft.support.records import record

_CLASSES: Final = {cls.__name__: parameters for cls, parameters in PARAMETERS.items()}
_ANY, _NOT_NEGATIVE, _POSITIVE, _PART, _SOME = "", "not negative", "positive", "0 <= p <= 1", "0 < p <= 1"
_MEAN: Final = "0 <= lam <= 2**62"


@record
class _Parameter:
    """A number: its name, what it is where it is not given, what NumPy asks of it."""

    name: str
    default: float | None = None
    asked: str = _ANY
    type: DType = DType.FLOAT64


@record
class _Way:
    """How to draw one number: by a function of NumPy's archive of its parameters, or by an expression."""

    parameters: tuple[_Parameter, ...] = ()
    library: str = ""
    text: str = ""  # with the names of the parameters, `words`, `kept`, and support functions after &
    checked: str = ""  # what NumPy asks of all parameters together
    result: DType = DType.FLOAT64


def _located(library: str) -> _Way:
    return _Way((_Parameter("loc", 0.0), _Parameter("scale", 1.0, _NOT_NEGATIVE)), library)


def _of_one(name: str, library: str, asked: str, default: float | None = None, result: DType = DType.FLOAT64) -> _Way:
    return _Way((_Parameter(name, default, asked),), library, result=result)


_DOUBLE: Final = _Way(text="&next_double(words)")
_UNIFORM: Final = _Way(
    (_Parameter("low", 0.0), _Parameter("high", 1.0)),
    text="low + (high - low) * &next_double(words)",
    checked="&finite_range(low, high)",
)
_OLD_EXPONENTIAL: Final = "&old_exponential(words)"
_OLD_NORMAL: Final = "&old_normal(words, kept)"
_WAYS: Final[Mapping[str, Mapping[str, _Way]]] = {
    "Generator": {
        "random": _DOUBLE,
        "uniform": _UNIFORM,
        "standard_normal": _Way(library="random_standard_normal"),
        "normal": _located("random_normal"),
        "laplace": _located("random_laplace"),
        "logistic": _located("random_logistic"),
        "gumbel": _located("random_gumbel"),
        "standard_exponential": _Way(library="random_standard_exponential"),
        "exponential": _of_one("scale", "random_exponential", _NOT_NEGATIVE, 1.0),
        "rayleigh": _of_one("scale", "random_rayleigh", _NOT_NEGATIVE, 1.0),
        "chisquare": _of_one("df", "random_chisquare", _POSITIVE),
        "standard_t": _of_one("df", "random_standard_t", _POSITIVE),
        "pareto": _of_one("a", "random_pareto", _POSITIVE),
        "power": _of_one("a", "random_power", _POSITIVE),
        "weibull": _of_one("a", "random_weibull", _NOT_NEGATIVE),
        "standard_gamma": _of_one("shape", "random_standard_gamma", _NOT_NEGATIVE),
        "standard_cauchy": _Way(library="random_standard_cauchy"),
        "gamma": _Way(
            (_Parameter("shape", None, _NOT_NEGATIVE), _Parameter("scale", 1.0, _NOT_NEGATIVE)), "random_gamma"
        ),
        "beta": _Way((_Parameter("a", None, _POSITIVE), _Parameter("b", None, _POSITIVE)), "random_beta"),
        "lognormal": _Way((_Parameter("mean", 0.0), _Parameter("sigma", 1.0, _NOT_NEGATIVE)), "random_lognormal"),
        "wald": _Way((_Parameter("mean", None, _POSITIVE), _Parameter("scale", None, _POSITIVE)), "random_wald"),
        "triangular": _Way(
            (_Parameter("left"), _Parameter("mode"), _Parameter("right")),
            "random_triangular",
            checked="(left <= mode && mode <= right && left < right)",
        ),
        "poisson": _of_one("lam", "random_poisson", _MEAN, 1.0, DType.INT64),
        "geometric": _of_one("p", "random_geometric", _SOME, None, DType.INT64),
        "binomial": _Way(
            (_Parameter("n", None, _NOT_NEGATIVE, DType.INT64), _Parameter("p", None, _PART)),
            "random_binomial",
            "&binomial(library, words, n, p)",
            result=DType.INT64,
        ),
    },
    "RandomState": {
        "rand": _DOUBLE,
        "random": _DOUBLE,
        "random_sample": _DOUBLE,
        "uniform": _UNIFORM,
        "randn": _Way(text=_OLD_NORMAL),
        "standard_normal": _Way(text=_OLD_NORMAL),
        "normal": _Way(
            (_Parameter("loc", 0.0), _Parameter("scale", 1.0, _NOT_NEGATIVE)), text=f"loc + scale * {_OLD_NORMAL}"
        ),
        "standard_exponential": _Way(text=_OLD_EXPONENTIAL),
        "exponential": _Way((_Parameter("scale", 1.0, _NOT_NEGATIVE),), text=f"scale * {_OLD_EXPONENTIAL}"),
    },
}
_CHECKS: Final = {
    _NOT_NEGATIVE: "&not_negative({0})", _POSITIVE: "{0} > 0", _PART: "({0} >= 0 && {0} <= 1)",
    _SOME: "({0} > 0 && {0} <= 1)", _MEAN: "({0} >= 0 && {0} <= 0x1p62)",
}  # fmt: skip
_INTEGERS: Final = {"integers": "bounded", "randint": "masked"}
_INTEGER: Final = _Way(result=DType.INT64)
_DESCRIBING: Final = ("size", "out")  # parameters that only say what the result is


@record
class _Draw:
    """One number, as C: what must hold, the number of a library function (or none), the expression."""

    conditions: tuple[str, ...]
    library: int | None
    text: str


def emit_draw(kernel: Kernel, node: NumpyCall, call_python: Callable[[], int]) -> bool:
    """Emit a draw that needs no Python, and the names of what it gives; False for any other call.

    `call_python` emits the call of Python, for where a function is missing after all; the result is at that out[].
    """
    if node.changes and emit_shuffle(kernel, node):
        return True
    drawn = _drawn(kernel, node)
    if drawn is None:
        return False
    for condition in drawn.conditions:
        kernel.line(f"if (__builtin_expect(!{condition}, 0))")
        kernel.line(f"    goto fail_{node.site};")
    target = node.results[0].target
    if isinstance(target, Value):
        _emit_number(kernel, target, drawn, call_python)
    else:
        _emit_array(kernel, node, drawn, call_python)
    return True


def _drawn(kernel: Kernel, node: NumpyCall) -> _Draw | None:
    cls, method = method_of(node)
    if not cls or not node.changes or len(node.results) != 1 or node.sizes:
        return None
    if method == "choice":
        type_ = _result_type(kernel, node)
        given = _given(kernel, node, _CLASSES[cls][method], type_)
        text = None if given is None else choice_text(kernel, node, given, type_)
        return text and _Draw((text[0],), None, text[1])
    way = _INTEGER if method in _INTEGERS else _WAYS[cls].get(method)
    if way is None or _result_type(kernel, node) is not way.result:
        return None
    given = _given(kernel, node, _CLASSES[cls].get(method, ()), way.result)
    if given is None:
        return None
    return _integer(kernel, node, given, _INTEGERS[method]) if way is _INTEGER else _number(kernel, way, given, node)


def _given(kernel: Kernel, node: NumpyCall, names: tuple[str, ...], type_: DType) -> dict[str, Bundle] | None:
    """The arguments by name, without those that only say what the result is; None where that is something else."""
    generator, *args = node.args
    named: dict[str, Bundle] = dict(zip(names, args, strict=False)) | dict(node.keywords)
    dtype = named.pop("dtype", None)
    if isinstance(dtype, Constant) and np.dtype(kernel.program.constants[dtype.index]) == type_.numpy:
        dtype = None
    if dtype is not None or not isinstance(generator, SlotObject):
        return None
    return {name: bundle for name, bundle in named.items() if name not in _DESCRIBING}


def _result_type(kernel: Kernel, node: NumpyCall) -> DType:
    target = node.results[0].target
    return kernel.container(target).dtype if isinstance(target, str) else target.type.dtype


def _number(kernel: Kernel, way: _Way, given: dict[str, Bundle], node: NumpyCall) -> _Draw | None:
    names = {parameter.name for parameter in way.parameters}
    if given.keys() - names or any(p.default is None and p.name not in given for p in way.parameters):
        return None
    if any(not _is_number(given[p.name], p.type) for p in way.parameters if p.name in given):
        return None
    words = [kernel.pointer(view.container) for view in node.changes]
    if len(words) == 1 and "kept" in way.text:
        return None  # nobody knows where it is
    places: dict[str, str] = dict(zip(("words", "kept"), words, strict=False))
    conditions = [way.checked] if way.checked else []
    for parameter in way.parameters:
        places[parameter.name] = _bound(
            kernel, parameter.name, given.get(parameter.name, parameter.default), parameter.type
        )
        if parameter.asked:
            conditions.append(_CHECKS[parameter.asked].format(parameter.name))
    library, text = None, way.text
    if way.library:
        library = len(kernel.libraries)
        kernel.libraries.append(f"random:{way.library}")
        places["library"] = f"ctx->library[{library}]"
        text = text or _called(way)
    return _Draw(
        tuple(_filled(kernel, condition, places) for condition in conditions), library, _filled(kernel, text, places)
    )


def _called(way: _Way) -> str:
    types = ", ".join(["const void *", *("double" for _ in way.parameters)])
    names = ", ".join(["words", *(parameter.name for parameter in way.parameters)])
    return f"(({c_type(way.result)} (*)({types}))library)({names})"


def _filled(kernel: Kernel, text: str, places: dict[str, str]) -> str:
    """A template with the C names of what it speaks of."""
    text = re.sub(r"&(\w+)\(", lambda found: f"{kernel.support.machine(found[1])}(", text)
    return re.sub(r"\b[a-z]+\b", lambda found: places.get(found[0], found[0]), text)


def _is_number(bundle: Bundle, type_: DType) -> bool:
    if not isinstance(bundle, Value | Const | Op | Index):
        return False
    dtype = bundle.type.dtype
    return dtype.kind in "biuf" if type_ is DType.FLOAT64 else dtype.kind in "iu" and dtype is not DType.UINT64


def _bound(kernel: Kernel, name: str, bundle: Bundle | float | None, type_: DType) -> str:
    text = emit_expr(kernel, bundle) if isinstance(bundle, Value | Const | Op | Index) else repr(bundle)
    return kernel.bind(f"({c_type(type_)})({text})", c_type(type_), name)


def _integer(kernel: Kernel, node: NumpyCall, given: dict[str, Bundle], way: str) -> _Draw | None:
    """From `low` up to `high`, which belongs to it only as an `endpoint`; with one number, from 0 up to it."""
    if given.keys() - {"low", "high", "endpoint"}:
        return None
    closed = _truth(kernel, given.get("endpoint"))
    low, high = given.get("low"), given.get("high")
    if isinstance(high, Constant) and kernel.program.constants[high.index] is None:
        high = None
    if closed is None or low is None or not all(_is_number(x, DType.INT64) for x in (low, high) if x is not None):
        return None
    first = _bound(kernel, "low", 0 if high is None else low, DType.INT64)
    last = _bound(kernel, "high", low if high is None else high, DType.INT64)
    range_ = f"(uint64_t){last} - (uint64_t){first}" + ("" if closed else " - 1")
    words = kernel.pointer(node.changes[0].container)
    text = f"(int64_t)((uint64_t){first} + {kernel.support.machine(way)}({words}, {range_}))"
    return _Draw((f"({first} {'<=' if closed else '<'} {last})",), None, text)


def _truth(kernel: Kernel, bundle: Bundle | None) -> bool | None:
    match bundle:
        case None:
            return False
        case Constant(index=index):
            return bool(kernel.program.constants[index])
        case Const(value=value):
            return bool(value)
        case _:
            return None


# ---- results --------------------------------------------------------------------------------------------------------


def _emit_number(kernel: Kernel, target: Value, drawn: _Draw, call_python: Callable[[], int]) -> None:
    type_, name = c_type(target.type), kernel.new_value(target)
    if drawn.library is None:
        kernel.line(f"const {type_} {name} = {drawn.text};")
        return
    kernel.line(f"{type_} {name};")
    with kernel.block(f"if (__builtin_expect(ctx->library[{drawn.library}] != 0, 1))"):
        kernel.line(f"{name} = {drawn.text};")
    with kernel.block("else"):
        kernel.line(f"__builtin_memcpy(&{name}, &out[{call_python()}], sizeof {name});")


def _emit_array(kernel: Kernel, node: NumpyCall, drawn: _Draw, call_python: Callable[[], int]) -> None:
    """One number after the other, in C order."""
    target = node.results[0].target
    assert isinstance(target, str)
    container, pointer = kernel.container(target), kernel.pointer(target)
    type_ = c_type(container.dtype)
    block = kernel.declare(f"{pointer}_block", "weft_block *")
    kernel.line(f"weft_block *{block};")
    with (
        nullcontext()
        if drawn.library is None
        else kernel.block(f"if (__builtin_expect(ctx->library[{drawn.library}] != 0, 1))")
    ):
        extents = ", ".join(index_text(kernel, extent) for extent in container.shape) or "1"
        size = (
            f"{kernel.support.machine('bytes')}({container.dtype.itemsize}, (int64_t[]){{{extents}}}, {container.rank})"
        )
        size = kernel.bind(size, "int64_t", f"{pointer}_bytes")
        kernel.line(f"{block} = {size} < 0 ? 0 : ctx->alloc(ctx, {size});")
        kernel.line(f"if (__builtin_expect({block} == 0, 0))")
        kernel.line(f"    goto fail_{node.site};")
        with kernel.block(f"for (int64_t k = 0; k < {size} / {container.dtype.itemsize}; ++k)"):
            kernel.line(f"(({type_} *){block}->data)[k] = {drawn.text};")
    if drawn.library is not None:
        with kernel.block("else"):
            kernel.line(f"{block} = out[{call_python()}].a.block;")
    kernel.line(f"{type_} *{kernel.declare(pointer, f'{type_} *')} = {block}->data;")
    kernel.scopes[-1].blocks.append(block)
