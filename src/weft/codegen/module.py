"""Programs as a C file.

in:   programs at the loop level (Elementwise, Reduce, Scan and MatMul nodes are written as loops)
out:  readable C11, byte-identical for equal programs, and per program the `KernelInfo` its caller needs
"""

from __future__ import annotations

from collections.abc import Sequence

from weft.codegen.access import is_strided, stride_name
from weft.codegen.c_types import c_type, load_scalar
from weft.codegen.kernel import Kernel, Scope, words
from weft.codegen.names import identifier
from weft.codegen.pieces import cut, in_piece
from weft.codegen.references import extent_value
from weft.codegen.regions import emit_region
from weft.codegen.sites import guarded_sites
from weft.codegen.strict_functions import entry_lines
from weft.codegen.support_functions import SupportFunctions
from weft.ir.nodes import Container, Program, Storage
from weft.support.abi import KernelInfo
from weft.support.records import record

_AT = "#define WEFT_AT(type, base, offset) (*(type *)((char *)(base) + (offset)))\n"


@record(kw_only=True)
class COptions:
    """`header` is the text of weft_abi.h. `strict`: NumPy's bits for functions.

    `apart`: long support functions are in files of their own, and a long file is in pieces. Else one file is all.
    """

    header: str
    strict: bool = False
    apart: bool = False


@record
class CModule:
    """The C text of one program, and what its caller must know. Constants in `info` are still Python objects.

    `units` are further files to be linked with it, the same for many programs. `pieces`: how many can be compiled
    apart, piece k with `WEFT_PIECE(number)` defined as `number == k`.
    """

    source: str
    info: KernelInfo
    units: tuple[str, ...] = ()
    pieces: int = 1


@record
class CFile:
    """Several programs in one C text; the rest as in `CModule`."""

    source: str
    infos: tuple[KernelInfo, ...]
    units: tuple[str, ...] = ()
    pieces: int = 1


def default_symbol(program: Program) -> str:
    """The C name of a program's kernel."""
    return f"weft_kernel_{identifier(program.name)}"


def emit_c(program: Program, *, symbol: str | None = None, options: COptions) -> CModule:
    """One program as a C file of its own."""
    file = emit_module([program], symbols=[symbol or default_symbol(program)], options=options)
    return CModule(file.source, file.infos[0], file.units, file.pieces)


def emit_module(programs: Sequence[Program], *, symbols: Sequence[str] | None = None, options: COptions) -> CFile:
    """Several programs in one file, with their common support functions once. Symbols must differ."""
    if symbols is None:
        symbols = [f"{default_symbol(program)}_{number}" for number, program in enumerate(programs)]
    support = SupportFunctions(strict=options.strict, apart=options.apart)
    written = [_emit_program(program, symbol, support) for program, symbol in zip(programs, symbols, strict=True)]
    # The kernel sets the variables of `support.loops` for its own file.
    bodies, kernels = [text for each in written for text in each.bodies], "".join(each.kernel for each in written)
    pieces = cut(bodies, kernels, alone=not options.apart or bool(support.loops))
    texts = [*pieces.texts, *(in_piece(0, each.kernel, pieces.count) for each in written)]
    parts = [options.header.rstrip("\n") + "\n"]
    if any("WEFT_AT(" in text for text in texts):
        parts.append(_AT)
    if support.text:
        parts.append(support.text)
    units = tuple(f"{parts[0]}\n{text}" for text in support.units.values())
    return CFile("\n".join([*parts, *texts]), tuple(each.info for each in written), units, pieces.count)


@record
class _Written:
    bodies: tuple[str, ...]
    kernel: str
    info: KernelInfo


def _emit_program(program: Program, symbol: str, support: SupportFunctions) -> _Written:
    kernel = Kernel(program, symbol, support, emit_region)
    kernel.guarded = guarded_sites(program)
    kernel.declare("ctx", "weft_ctx *")
    kernel.declare("args", "const weft_value *")
    kernel.writer.depth = 1
    entries = _entry_lines(kernel)
    emit_region(kernel, program.body, Scope())
    body = kernel.writer.text
    setters, wanted = entry_lines(support.loops, len(kernel.libraries))
    kernel.libraries += wanted
    head = f"int32_t {symbol}(weft_ctx *ctx, const weft_value *args, weft_value *out)"
    lines = [f"{head};", "", head, "{"]
    lines += [f"    {line}" for line in (*setters, *_needed(entries, body))]
    info = KernelInfo(
        name=program.name,
        symbol=symbol,
        slots=program.slots,
        args=program.args,
        exits=tuple(kernel.exits),
        out_count=kernel.out_count,
        constants=program.constants,
        functions=program.functions,
        writebacks=program.writebacks,
        warn_sites=program.warn_sites,
        libraries=tuple(kernel.libraries),
        numpy_calls=tuple(kernel.numpy_calls),
    )
    return _Written(tuple(kernel.outlined), "\n".join(lines) + "\n" + body + "}\n", info)


def _entry_lines(kernel: Kernel) -> list[tuple[str, str]]:
    """Scalars, extents, addresses and strides of the arguments: (variable, declaration)."""
    entries: list[tuple[str, str]] = []
    for slot, value in kernel.program.scalars:
        name = kernel.new_value(value)
        text = load_scalar(f"args[{slot}]", value.type.dtype)
        entries.append((name, f"const {c_type(value.type)} {name} = {text};"))
    for container in kernel.program.containers.values():
        kernel.pointer(container.name)
        if container.storage is Storage.ARGUMENT:
            entries += _argument_lines(kernel, container)
    return entries


def _argument_lines(kernel: Kernel, container: Container) -> list[tuple[str, str]]:
    place = f"args[{container.slot}].a"
    pointer, type_ = kernel.pointer(container.name), c_type(container.dtype)
    kernel.declare(pointer, f"{type_} *")
    lines = [(pointer, f"{type_} *{pointer} = {place}.data;")]
    for axis, extent in enumerate(container.shape):
        value = extent_value(extent)
        if value is not None and not kernel.is_defined(value):
            name = kernel.new_value(value)
            lines.append((name, f"const int64_t {name} = {place}.shape[{axis}];"))
    if is_strided(container):
        for axis in range(container.rank):
            name = kernel.declare(stride_name(kernel, container, axis), "int64_t")
            lines.append((name, f"const int64_t {name} = {place}.strides[{axis}];"))
    return lines


def _needed(entries: list[tuple[str, str]], body: str) -> list[str]:
    used = words(body)
    return [line for name, line in entries if name in used]
