"""The callable behind one program, and the kernels it chooses from.

in:   a Python function's signature and surroundings; later, compiled variants with their `KernelInfo`
out:  `Dispatcher.call`, a C callable that takes what the function takes and returns what it returns

    call(*args, **kwargs)
      arguments do not bind              -> py_func(*args, **kwargs), which raises CPython's own TypeError
      np.errstate wants more than warn   -> py_func, and so where the filters of `warnings` want an exception
      a variant fits                     -> its kernel, without the GIL; then result, on_resume or on_finish
      a written array overlaps another   -> py_func
      no variant fits                    -> on_miss((parameters, ...)), whose value is the call's

py_func is the function, or what is given in its place as `in_python`.
"""

from __future__ import annotations

import builtins
import struct
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np

from weft.runtime.library import runs_alone
from weft.runtime.native import MISSING, Native
from weft.support.abi import (
    DTYPE_INDEX,
    SMALL_DENSE,
    ArgKind,
    ArgSpec,
    Exit,
    KernelInfo,
    NumpyCall,
    Slot,
    flatten_recipe,
)

_SCALARS = {"py_bool": "bool", "py_int": "int64", "py_float": "float64", "py_complex": "complex128"}
_LAYOUTS = {"S": 0, "C": 1, "F": 2}
_CO_VARARGS, _CO_VARKEYWORDS = 0x04, 0x08

ExitCallback: TypeAlias = Callable[[int, Any, tuple[Any, ...]], Any]
NumpyCallback: TypeAlias = Callable[[tuple[Any, ...]], tuple[Any, ...] | None]
WarnCallback: TypeAlias = Callable[[list[tuple[int, int]]], None]


# Named tuples, not dataclasses, in what a cached call imports: a frozen dataclass takes 1 ms to make, these 0.15 ms.


class Counters(NamedTuple):
    """What happened so far. Bytes and allocations are those of kernels; `peak_bytes` the largest in one call."""

    calls: int  # a kernel ran
    misses: int  # no variant fitted: `on_miss`
    python_calls: int  # overlap or np.errstate: `py_func`
    resumes: int  # left through an exit with frames
    allocations: int
    allocated_bytes: int
    peak_bytes: int
    parallel_regions: int
    numpy_calls: int  # from inside kernels
    variant_calls: tuple[int, ...]


def _ignore_warnings(_warnings: list[tuple[int, int]]) -> None:
    return None


class Variant(NamedTuple):
    """A compiled kernel and what its tables refer to.

    `constants` and `values` are the decoded forms of `info.constants` and of each `ArgSpec.value` (one per slot; None:
    as they stand in `info`), `library` the addresses for `info.libraries`.
    """

    info: KernelInfo
    address: int
    constants: Sequence[Any] = ()
    values: Sequence[Any] | None = None
    library: Sequence[int] = ()
    on_resume: ExitCallback | None = None  # (exit, decoded, slots): an exit with frames
    on_finish: ExitCallback | None = None  # the same for every exit of a program with writebacks
    on_warn: WarnCallback = _ignore_warnings  # [(flags, site), ...]
    numpy_calls: Sequence[NumpyCallback] = ()  # one per `info.numpy_calls`
    takes_dense: bool = True  # where it was compiled for strides; else only `SMALL_DENSE` arrays


class Signature(NamedTuple):
    """Parameters in order: positional-only, positional, keyword-only, `*args`, `**kwargs`, as the code object has them.

    A default is MISSING where there is none.
    """

    names: tuple[str, ...]
    defaults: tuple[Any, ...]
    positional_only: int
    positional: int  # including the positional-only ones
    has_args: bool
    has_keywords: bool

    def call(self, function: Callable[..., Any], params: Sequence[Any]) -> Any:
        """Call with what each parameter is bound to."""
        if self.positional == len(self.names):  # most functions, without the work below
            return function(*params)
        named = len(self.names) - self.has_args - self.has_keywords
        more: Sequence[Any] = params[named] if self.has_args else ()
        keywords = dict(zip(self.names[self.positional : named], params[self.positional : named], strict=True))
        if self.has_keywords:
            keywords.update(params[-1])
        return function(*params[: self.positional], *more, **keywords)


def signature_of(function: FunctionType) -> Signature:
    """The parameters of a function."""
    code = function.__code__
    has_args, has_keywords = bool(code.co_flags & _CO_VARARGS), bool(code.co_flags & _CO_VARKEYWORDS)
    positional, keyword_only = code.co_argcount, code.co_kwonlyargcount
    names = code.co_varnames[: positional + keyword_only + has_args + has_keywords]
    given = function.__defaults__ or ()
    keyword_defaults = function.__kwdefaults__ or {}
    defaults = (MISSING,) * (positional - len(given)) + given
    defaults += tuple(keyword_defaults.get(name, MISSING) for name in names[positional:])
    return Signature(names, defaults, code.co_posonlyargcount, positional, has_args, has_keywords)


class Dispatcher:
    """One program: `call` is the C callable (a plain function to Python, collected like any other object)."""

    def __init__(
        self,
        native: Native,
        function: FunctionType,
        on_miss: Callable[[tuple[Any, ...]], Any],
        in_python: Callable[..., Any] | None = None,
    ) -> None:
        signature = signature_of(function)
        self._native = native
        self.call: Callable[..., Any] = native.new_dispatcher(
            signature.positional_only,
            signature.positional,
            signature.has_args,
            signature.has_keywords,
            signature.names,
            signature.defaults,
            function.__globals__,
            _builtins_of(function),
            function.__closure__ or (),
            in_python or function,
            on_miss,
            errstate_only_warns,
        )

    def add_variant(self, variant: Variant) -> None:
        """Let calls that fit `variant.info` run its kernel. The newest variant is tried first at the next call."""
        info = variant.info
        if info.writebacks and variant.on_finish is None:
            raise ValueError("a program with writebacks needs on_finish")
        if any(exit_.frames for exit_ in info.exits) and variant.on_resume is None and not info.writebacks:
            raise ValueError("exits with frames need on_resume")
        if len(variant.numpy_calls) != len(info.numpy_calls):
            raise ValueError("every NumPy call of a kernel needs somebody to make it")
        values = tuple(arg.value for arg in info.args) if variant.values is None else variant.values
        self._native.add_variant(
            self.call,
            variant.address,
            pack_tables(info, variant.library, takes_dense=variant.takes_dense),
            tuple(slot.name for slot in info.slots),
            tuple(values),
            tuple(variant.constants),
            tuple(variant.library),
            variant.on_resume,
            variant.on_finish,
            variant.on_warn,
            tuple(variant.numpy_calls),
        )

    def clear_variants(self) -> None:
        """Forget all variants; calls that are running finish."""
        self._native.clear_variants(self.call)

    def set_threads(self, width: int) -> None:
        """Threads of parallel regions of this program; 0: the default of the process."""
        self._native.set_threads(self.call, width)

    def counters(self) -> Counters:
        """A snapshot."""
        totals, variant_calls = self._native.counters(self.call)
        return Counters(*totals, variant_calls=variant_calls)


def pack_tables(info: KernelInfo, library: Sequence[int] = (), *, takes_dense: bool = True) -> bytes:
    """Slots, argument checks, exits and NumPy calls as the int64 words native/variant.c reads."""
    may_warn = bool(info.warn_sites or info.numpy_calls)
    words = [len(info.slots), info.out_count, len(info.exits), int(bool(info.writebacks)), int(may_warn)]
    words += [int(runs_alone(info.libraries, library)), len(info.numpy_calls)]
    for slot, arg in zip(info.slots, info.args, strict=True):
        words += _slot_words(slot) + _arg_words(arg, takes_dense=takes_dense)
    for exit_ in info.exits:
        words += _exit_words(exit_)
    for call in info.numpy_calls:
        words += _call_words(call)
    return struct.pack(f"{len(words)}q", *words)


def _slot_words(slot: Slot) -> list[int]:
    return [int(slot.kind), slot.index, slot.parent]


def _arg_words(arg: ArgSpec, *, takes_dense: bool) -> list[int]:
    is_array = arg.kind == ArgKind.ARRAY
    is_strided = is_array and arg.layout == "S"
    return [
        int(arg.kind),
        DTYPE_INDEX[arg.dtype] if arg.dtype else 0,
        arg.ndim,
        _LAYOUTS[arg.layout] if is_array else 0,
        arg.ones,
        int(arg.written),
        arg.same_as,
        arg.order if is_array else arg.length,
        arg.repeated,
        SMALL_DENSE if is_strided and not takes_dense else 0,
    ]


def _exit_words(exit_: Exit) -> list[int]:
    recipe = [int(word) for word in flatten_recipe(exit_.recipe)]
    return [int(bool(exit_.frames)), len(recipe), *recipe]


def _call_words(call: NumpyCall) -> list[int]:
    recipe = [int(word) for word in flatten_recipe(call.recipe)]
    words = [len(recipe), *recipe, int(call.changes), call.first, len(call.results)]
    for result in call.results:
        words += [DTYPE_INDEX[_SCALARS.get(result.dtype, result.dtype)], result.ndim]
    return words


def errstate_only_warns() -> bool:
    """May kernels run under the current np.errstate? They can warn or keep silent; the rest is NumPy's own.

    They do not look for underflow, which NumPy ignores unless it is told otherwise.
    """
    modes = np.geterr()
    return modes["under"] == "ignore" and all(mode in {"warn", "ignore"} for mode in modes.values())


def _builtins_of(function: FunctionType) -> dict[str, Any]:
    found: object = function.__globals__.get("__builtins__", builtins)
    return cast("dict[str, Any]", found) if isinstance(found, dict) else vars(found)
