"""The small C functions that generated code calls: only those needed are written, each once per file.

A template is C text in which
    $T $R $U      are the element type, its real part's type, its unsigned type
    $S $F $B      are the type's tag (f64), the literal and library suffix (f), the width in bits
    @name(        calls the support function of the same element type, @@name( that of the real part's type
    %name(        calls a function of the C library in this precision, &name( one that has no element type
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field

from weft.codegen.c_types import REAL_OF, c_type, math_suffix, tag
from weft.codegen.math_functions import COMPLEX_NAMES, VECTOR_MACROS, declaration
from weft.codegen.strict_functions import numpy_loop
from weft.codegen.support_complex import COMPLEX_FUNCTIONS, PYTHON_COMPLEX_FUNCTIONS
from weft.codegen.support_floats import FLOAT_FUNCTIONS, PYTHON_FLOAT_FUNCTIONS
from weft.codegen.support_integers import BOOL_FUNCTIONS, INTEGER_FUNCTIONS
from weft.codegen.support_linear import LINEAR_FUNCTIONS
from weft.codegen.support_machine import MACHINE_FUNCTIONS
from weft.codegen.support_packing import PACKING_FUNCTIONS
from weft.codegen.support_products import PRODUCT_FUNCTIONS
from weft.codegen.support_random import RANDOM_FUNCTIONS
from weft.codegen.support_sweeps import SWEEP_FUNCTIONS
from weft.codegen.support_teams import TEAM_FUNCTIONS
from weft.codegen.support_tiles import COMPLEX_TILES, FLOAT_TILES
from weft.codegen.support_vectors import ROW_FUNCTIONS, VECTOR_FUNCTIONS
from weft.ir.dtypes import DType
from weft.support.errors import InternalError
from weft.support.records import record

_TEMPLATES: Mapping[str, Mapping[str, str]] = {
    "b": {**INTEGER_FUNCTIONS, **BOOL_FUNCTIONS},
    "i": INTEGER_FUNCTIONS,
    "u": INTEGER_FUNCTIONS,
    "f": {**FLOAT_FUNCTIONS, **PYTHON_FLOAT_FUNCTIONS, **FLOAT_TILES, **SWEEP_FUNCTIONS, **VECTOR_FUNCTIONS},
    "c": {**COMPLEX_FUNCTIONS, **PYTHON_COMPLEX_FUNCTIONS, **COMPLEX_TILES},
}
_MACHINE = {
    **MACHINE_FUNCTIONS,
    **LINEAR_FUNCTIONS,
    **PACKING_FUNCTIONS,
    **TEAM_FUNCTIONS,
    **RANDOM_FUNCTIONS,
    **ROW_FUNCTIONS,
}
_CALL = re.compile(r"(@@|@|%|&)(\w+)\(")


@record(frozen=False)
class SupportFunctions:
    """What one C file needs so far, in the order of first need."""

    strict: bool = False  # mathematical functions by NumPy's own inner loops
    apart: bool = False  # the longest functions in files of their own, see `need_unit`
    declarations: dict[str, str] = field(default_factory=dict[str, str])
    loops: dict[str, str] = field(default_factory=dict[str, str])  # C name -> "exp:d->d"
    functions: dict[str, str] = field(default_factory=dict[str, str])
    units: dict[str, str] = field(default_factory=dict[str, str])  # C name -> the text of its file

    def need(self, name: str, dtype: DType) -> str:
        """The C name of a support function for an element type; it and what it calls will be in the file."""
        symbol = f"weft_{name}_{tag(dtype)}"
        if symbol not in self.functions:
            template = _TEMPLATES[dtype.kind].get(name) or PRODUCT_FUNCTIONS.get(name)
            if template is None:
                raise InternalError(f"there is no C for {name} on {dtype.value}")
            text = self._instantiate(template, dtype)
            self.functions[symbol] = text
        return symbol

    def need_unit(self, name: str, dtype: DType) -> str:
        """The same in a file of its own, equal for all programs: what is made of it once can be kept."""
        if not self.apart:
            return self.need(name, dtype)
        symbol = f"weft_unit_{name}_{tag(dtype)}"
        if symbol not in self.functions:
            unit = SupportFunctions(strict=self.strict)
            plain = unit.need(name, dtype)
            head, body = unit.functions[plain].split("\n{", 1)
            head = head.replace("static ", "WEFT_HIDDEN ", 1).replace(plain, symbol, 1)
            unit.functions[plain] = f"{head}\n{{{body}"
            self.functions[symbol], self.units[symbol] = f"{head};", unit.text
        return symbol

    def need_apart(self, name: str, dtype: DType) -> str:
        """The same as a function that is really called: for code that hardly ever runs, and must not be long."""
        symbol = self.need(name, dtype)
        apart = f"{symbol}_apart"
        if apart not in self.functions:
            text = self.functions[symbol].replace("static inline", "__attribute__((cold, noinline)) static", 1)
            self.functions[apart] = text.replace(symbol, apart, 1)
        return apart

    def flagged(self, name: str, dtype: DType, arity: int, text: str) -> str:
        """An operation on `a` and `b` by itself, with the processor's flags it raises: exact, and slow."""
        symbol = f"weft_{name}_flagged_{tag(dtype)}"
        if symbol not in self.functions:
            clear, flags = self.machine("fp_clear"), self.machine("fp_flags")
            names, type_ = ("a", "b")[:arity], c_type(dtype)
            parameters = ", ".join(f"{type_} {operand}" for operand in names)
            pinned = ", ".join(f'"+m"({operand})' for operand in names)  # not before the flags are cleared
            self.functions[symbol] = f"""\
__attribute__((cold, noinline)) static {type_} {symbol}({parameters}, int32_t *raised)
{{
    {clear}();
    __asm__ volatile("" : {pinned});
    const {type_} r = {text};
    __asm__ volatile("" : : "m"(r));
    *raised |= {flags}() & (WEFT_FP_DIVIDE | WEFT_FP_OVERFLOW | WEFT_FP_INVALID);
    return r;
}}"""
        return symbol

    def machine(self, name: str) -> str:
        """The C name of a support function that has no element type."""
        symbol = f"weft_{name}"
        if symbol not in self.functions:
            template = _MACHINE[name]
            for called in re.findall(r"&(\w+)\(", template):
                self.machine(called)
            self.functions[symbol] = re.sub(r"&(\w+)\(", r"weft_\1(", template).strip("\n")
        return symbol

    def math(self, name: str, dtype: DType) -> str:
        """The C library's function in this precision, declared."""
        suffix = math_suffix(dtype)
        symbol = f"{name}{suffix}"
        if symbol not in self.declarations:
            self.declarations[symbol] = declaration(name, suffix, c_type(dtype), is_complex=dtype.kind == "c")
        return symbol

    def loop(self, name: str, dtype: DType, arity: int) -> str:
        """The function that calls NumPy's inner loop for one element; the kernel sets where that loop is."""
        symbol = f"weft_{name}_by_numpy_{tag(dtype)}"
        if symbol not in self.loops:
            result = REAL_OF.get(dtype, dtype) if name == "absolute" else dtype
            letters = dtype.numpy.char * arity + "->" + result.numpy.char
            self.loops[symbol] = f"{name}:{letters}"
            self.functions[symbol] = numpy_loop(symbol, arity, c_type(dtype), c_type(result))
        return symbol

    def _instantiate(self, template: str, dtype: DType) -> str:
        real = REAL_OF.get(dtype, dtype)

        def call(match: re.Match[str]) -> str:
            kind, name = match.groups()
            if kind == "&":
                return self.machine(name) + "("
            if kind == "%":
                return self.math(name, dtype if name in COMPLEX_NAMES.values() else real) + "("
            return self.need(name, real if kind == "@@" else dtype) + "("

        text = _CALL.sub(call, template.strip("\n"))
        width = 8 * dtype.itemsize
        letters = {
            "$T": c_type(dtype), "$R": c_type(real), "$U": f"uint{width}_t",
            "$S": tag(dtype), "$F": math_suffix(dtype), "$B": str(width),
            "$MIN": f"INT{width}_MIN", "$INF": f"INT{width}_MIN" if tag(dtype) in ("i32", "i64") else "0",
            "$MAX": "3.40282347e+38f" if math_suffix(dtype) else "1.7976931348623157e+308",
            "$EPS": "0x1p-23f" if math_suffix(dtype) else "0x1p-52",
            # How BLAS takes a scalar factor: complex ones by address.
            "$SCALAR": "const void *" if dtype.kind == "c" else c_type(dtype),
            "$ONE": "&one" if dtype.kind == "c" else "one", "$ZERO": "&zero" if dtype.kind == "c" else "zero",
        }  # fmt: skip
        return re.sub(r"\$[A-Z]+", lambda match: letters[match[0]], text)

    @property
    def text(self) -> str:
        """Declarations and functions, as they stand above the kernels."""
        parts: list[str] = []
        if any("WEFT_VECTOR_" in text for text in self.declarations.values()):
            parts.append(VECTOR_MACROS)
        if self.declarations:
            parts.append("\n".join(self.declarations.values()) + "\n")
        parts += [f"{text}\n" for text in self.functions.values()]
        return "\n".join(parts)
