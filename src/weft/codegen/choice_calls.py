"""Choices, permutations and shuffles without Python, of arrays of one axis.

in:   call numpy.random.Generator.shuffle(slot 0, x[:]) -> () changes (generator[:], x[:]) site 3
out:  weft_shuffle(generator, (char *)x, n, 8, 8);

in:   call numpy.random.Generator.choice(slot 0, x[:]) -> (%c: f8) changes (generator[:]) site 4
out:  if (!(n > 0)) goto fail_4;
      const double c = *(double *)((char *)x + 8 * (int64_t)weft_bounded(generator, n - 1));

A choice with probabilities, or without replacement, is called in Python.
"""

from __future__ import annotations

from typing import Final

from weft.codegen.access import view_data, view_strides
from weft.codegen.c_types import c_type
from weft.codegen.expressions import emit_expr, index_text
from weft.codegen.kernel import Kernel
from weft.ir.dtypes import DType
from weft.ir.exprs import Const, Index, Op, Value
from weft.ir.nodes import Bundle, Constant, NumpyCall, Pack, SlotObject, View

_BOUNDED: Final = {"Generator": "bounded", "RandomState": "masked"}


def method_of(node: NumpyCall) -> tuple[str, str]:
    """The class of a generator and its method; nothing where it is another function."""
    root, found, function = node.function.partition("numpy.random.")
    cls, _, method = function.partition(".")
    return (cls, method) if found and not root and cls in _BOUNDED else ("", "")


def choice_text(kernel: Kernel, node: NumpyCall, given: dict[str, Bundle], type_: DType) -> tuple[str, str] | None:
    """What must hold, and one choice as a C expression of a type; None where it is called in Python."""
    chosen = given.get("a")
    if not _is_plain(kernel, given) or chosen is None:
        return None
    way = kernel.support.machine(_BOUNDED[method_of(node)[0]])
    words = kernel.pointer(node.changes[0].container)
    match chosen:
        case View(rank=1) if kernel.container(chosen.container).dtype is type_:
            count = kernel.bind(index_text(kernel, chosen.shape[0]), "int64_t", "count")
            stride, data = view_strides(kernel, chosen)[0], view_data(kernel, chosen)
            place = f"(char *)({data}) + ({stride}) * (int64_t){way}({words}, (uint64_t){count} - 1)"
            return f"({count} > 0)", f"*({c_type(type_)} *)({place})"
        case Pack(items=items) if all(_is_real(item) for item in items) and type_.kind != "c":
            texts = [emit_expr(kernel, item) for item in items if isinstance(item, Value | Const | Op | Index)]
            name = kernel.declare(kernel.names.claim("items"), f"{c_type(type_)} *")
            kernel.line(f"{c_type(type_)} {name}[] = {{{', '.join(f'({c_type(type_)})({text})' for text in texts)}}};")
            return "1", f"{name}[{way}({words}, {len(texts) - 1})]"
        case Value() | Const() | Op() | Index() if chosen.type.dtype.kind in "iu" and type_ is DType.INT64:
            count = kernel.bind(f"(int64_t)({emit_expr(kernel, chosen)})", "int64_t", "count")
            return f"({count} > 0)", f"(int64_t){way}({words}, (uint64_t){count} - 1)"
        case _:
            return None


def _is_real(item: Bundle) -> bool:
    return isinstance(item, Value | Const | Op | Index) and item.type.dtype.kind != "c"


def _is_plain(kernel: Kernel, given: dict[str, Bundle]) -> bool:
    """Whether nothing is asked for but equal chances, with replacement."""
    for name, bundle in given.items():
        value = kernel.program.constants[bundle.index] if isinstance(bundle, Constant) else None
        if isinstance(bundle, Const):
            value = bundle.value
        is_default = (name == "p" and isinstance(bundle, Constant) and value is None) or (
            name in ("replace", "shuffle") and value is True
        )
        if name != "a" and not is_default:
            return False
    return True


def emit_shuffle(kernel: Kernel, node: NumpyCall) -> bool:
    """Emit a shuffle or a permutation, and the name of what it gives; False for any other call."""
    method = method_of(node)[1]
    if method not in ("shuffle", "permutation") or len(node.args) != 2 or node.keywords or node.sizes:
        return False
    generator, source = node.args
    if not isinstance(generator, SlotObject):
        return False
    words = kernel.pointer(node.changes[0].container)
    if method == "shuffle":
        if not isinstance(source, View) or source.rank != 1:
            return False
        stride, size = view_strides(kernel, source)[0], kernel.container(source.container).dtype.itemsize
        _emit_swaps(kernel, words, view_data(kernel, source), (index_text(kernel, source.shape[0]), stride, size))
        return True
    target = node.results[0].target
    if not isinstance(target, str) or not isinstance(source, View | Value | Const | Op | Index):
        return False
    _emit_permutation(kernel, node, target, words)
    return True


def _emit_swaps(kernel: Kernel, words: str, data: str, line: tuple[str, str, int]) -> None:
    count, stride, size = line
    kernel.line(f"{kernel.support.machine('shuffle')}({words}, (char *)({data}), {count}, {stride}, {size});")


def _emit_permutation(kernel: Kernel, node: NumpyCall, target: str, words: str) -> None:
    container, pointer, source = kernel.container(target), kernel.pointer(target), node.args[1]
    type_, size = c_type(container.dtype), container.dtype.itemsize
    count = kernel.bind(index_text(kernel, container.shape[0]), "int64_t", "count")
    block = kernel.declare(f"{pointer}_block", "weft_block *")
    kernel.line(f"weft_block *{block} = {count} < 0 ? 0 : ctx->alloc(ctx, {count} * {size});")
    kernel.line(f"if (__builtin_expect({block} == 0, 0))")
    kernel.line(f"    goto fail_{node.site};")
    kernel.line(f"{type_} *{kernel.declare(pointer, f'{type_} *')} = {block}->data;")
    kernel.scopes[-1].blocks.append(block)
    element = "k"
    if isinstance(source, View):
        element = f"*({type_} *)((char *)({view_data(kernel, source)}) + k * ({view_strides(kernel, source)[0]}))"
    kernel.line(f"for (int64_t k = 0; k < {count}; ++k)")
    kernel.line(f"    {pointer}[k] = {element};")
    _emit_swaps(kernel, words, pointer, (count, str(size), size))
