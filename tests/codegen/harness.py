"""Compile generated C with gcc and call it from Python, without the runtime: a context in C, recipes read here."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from weft.codegen import CFile, COptions, emit_module
from weft.ir.nodes import Program
from weft.support import abi

HERE = Path(__file__).parent
HEADER = Path(abi.__file__).parents[1] / "runtime" / "native" / "weft_abi.h"
OPTIONS = COptions(header=HEADER.read_text(encoding="utf-8"))
FLAGS = (
    "-O3", "-march=native", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-fwrapv", "-fopenmp-simd",
    "-std=gnu11", "-fPIC", "-shared", "-Wall", "-Wno-unused", "-Wno-maybe-uninitialized", "-Werror",
)  # fmt: skip
MORE_FLAGS = tuple(os.environ.get("WEFT_TEST_CFLAGS", "").split())  # the sanitizer test runs other tests with more
UNSET = type("Unset", (), {"__repr__": lambda self: "<unset>"})()


class WeftArray(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("block", ctypes.c_void_p),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
    )


class WeftBlock(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("size_bytes", ctypes.c_int64),
        ("owners", ctypes.c_int64),
        ("object", ctypes.c_void_p),
        ("next", ctypes.c_void_p),
        ("prev", ctypes.c_void_p),
    )


class WeftValue(ctypes.Union):
    _fields_ = (("i", ctypes.c_int64), ("f", ctypes.c_double), ("c", ctypes.c_double * 2), ("a", WeftArray))


@functools.cache
def build_directory() -> Path:
    return Path(os.environ["WEFT_CACHE_DIR"]) / "codegen-tests"


def compile_c(source: str, *more: str) -> Path:
    """A shared library; the same text is compiled once."""
    flags = (*FLAGS, *more, *MORE_FLAGS)
    key = hashlib.sha256("\0".join((source, *flags)).encode()).hexdigest()[:24]
    directory = build_directory()
    directory.mkdir(parents=True, exist_ok=True)
    library, text = directory / f"{key}.so", directory / f"{key}-{os.getpid()}.c"
    if not library.exists():
        text.write_text(source, encoding="utf-8")
        made = text.with_suffix(".so")
        command = ["gcc", *flags, str(text), "-o", str(made), "-lm"]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode:
            numbered = "\n".join(f"{n:4} {line}" for n, line in enumerate(source.splitlines(), 1) if n > 65)
            raise AssertionError(f"{result.stderr[:6000]}\n{numbered}")
        made.rename(library)
    return library


@functools.cache
def context_library() -> ctypes.CDLL:
    source = (HERE / "context.c").read_text(encoding="utf-8")
    library = ctypes.CDLL(str(compile_c(source, f'-DWEFT_ABI="{HEADER}"')))
    library.test_open.restype = ctypes.c_void_p
    library.test_open.argtypes = (ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
    library.test_live.restype = library.test_peak.restype = library.test_chunks.restype = ctypes.c_int64
    for name in ("test_live", "test_peak", "test_chunks", "test_close"):
        getattr(library, name).argtypes = (ctypes.c_void_p,)
    library.test_threads.argtypes = (ctypes.c_void_p, ctypes.c_int64)
    library.test_warnings.argtypes = (ctypes.c_void_p, ctypes.c_int32)
    return library


@functools.cache
def blas() -> dict[str, int]:
    """The functions of NumPy's own BLAS, by their neutral names; none for its threads, so products are not cut."""
    folder = Path(np.__file__).parent.parent / "numpy.libs"
    found = next(iter(sorted(folder.glob("libscipy_openblas64_*"))), None)
    if found is None:
        return {}
    library = ctypes.CDLL(str(found))
    names = [f"cblas_{letter}{kind}" for letter in "sdcz" for kind in ("gemm", "gemv", "syrk")]
    pointers = {name: ctypes.cast(getattr(library, f"scipy_{name}64_"), ctypes.c_void_p).value or 0 for name in names}
    return {"blas_ilp64": 1, **pointers}


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a call ended: exit, what its recipe gives, warnings by site, chunks of parallel maps.

    `live` are the blocks there are at the end, `peak` the most there were at once.
    """

    code: int
    value: Any
    info: abi.KernelInfo
    warnings: dict[int, int] = field(default_factory=dict[int, int])
    live: int = 0
    chunks: int = 0
    peak: int = 0

    @property
    def exit(self) -> abi.Exit:
        return self.info.exits[self.code]


@dataclass(frozen=True, slots=True)
class Module:
    """Kernels of one C file, ready to be called."""

    file: CFile
    library: ctypes.CDLL

    def __call__(
        self,
        *arguments: Any,
        number: int = 0,
        use_blas: bool = True,
        allocations: int = -1,
        polls: int = -1,
        threads: int = 1,
    ) -> Outcome:
        info, context = self.file.infos[number], context_library()
        table = [blas().get(name, 0) if use_blas else 0 for name in info.libraries]
        pointers = (ctypes.c_void_p * max(1, len(table)))(*table)
        args = (WeftValue * max(1, len(arguments)))()
        keep = [store_argument(args[k], spec, arguments[k]) for k, spec in enumerate(info.args)]
        out = (WeftValue * max(1, info.out_count))()
        ctx = context.test_open(ctypes.addressof(pointers), allocations, polls)
        context.test_threads(ctx, threads)
        kernel = getattr(self.library, info.symbol)
        kernel.restype = ctypes.c_int32
        try:
            code = kernel(ctypes.c_void_p(ctx), args, out)
            value = None
            if code >= 0:
                value = build(info.exits[code].recipe, out, arguments, info)
            warnings = {site: context.test_warnings(ctx, site) for site in range(len(info.warn_sites))}
            live, chunks = context.test_live(ctx), context.test_chunks(ctx)
            peak = context.test_peak(ctx)
        finally:
            context.test_close(ctx)
        del keep
        return Outcome(code, value, info, warnings, live, chunks, peak)


def load(programs: Program | Sequence[Program], *flags: str) -> Module:
    """Generate, compile and load."""
    file = emit_module([programs] if isinstance(programs, Program) else programs, options=OPTIONS)
    return Module(file, ctypes.CDLL(str(compile_c(file.source, *flags))))


def store_argument(place: WeftValue, spec: abi.ArgSpec, value: Any) -> Any:
    if spec.kind is abi.ArgKind.ARRAY:
        rank = value.ndim
        shape, strides = (ctypes.c_int64 * (rank + 1))(*value.shape), (ctypes.c_int64 * (rank + 1))(*value.strides)
        block = WeftBlock(value.ctypes.data, value.nbytes, 1, 1, None, None)
        place.a.data, place.a.block = value.ctypes.data, ctypes.addressof(block)
        place.a.shape, place.a.strides = shape, strides
        return shape, strides, block
    if isinstance(value, complex | np.complexfloating):
        place.c[0], place.c[1] = float(value.real), float(value.imag)
    elif isinstance(value, float | np.floating):
        place.f = float(value)
    elif isinstance(value, int | np.integer | np.bool_):
        place.i = ctypes.c_int64(int(value)).value
    return None


def build(recipe: abi.Recipe, out: Any, arguments: Sequence[Any], info: abi.KernelInfo) -> Any:
    """What the recipe says; arrays are copies with the same strides."""
    match recipe:
        case abi.Const(index=index):
            return info.constants[index]
        case abi.FromSlot(slot=slot):
            return arguments[slot]
        case abi.Scalar(out=slot, kind=kind):
            return scalar(out[slot], kind)
        case abi.Array(out=slot, dtype=dtype, ndim=ndim):
            return array(out[slot].a, np.dtype(dtype), ndim)
        case abi.Sequence(items=items, is_list=is_list):
            values = [build(item, out, arguments, info) for item in items]
            return values if is_list else tuple(values)
        case abi.Union(tag=tag, alternatives=alternatives):
            return build(alternatives[out[tag].i], out, arguments, info)
        case abi.Unbound():
            return UNSET


def scalar(place: Any, kind: str) -> Any:
    match kind:
        case "py_bool":
            return bool(place.i)
        case "py_int":
            return int(place.i)
        case "py_float":
            return float(place.f)
        case "py_complex":
            return complex(place.c[0], place.c[1])
    dtype = np.dtype(kind)
    if dtype.kind == "c":
        return dtype.type(complex(place.c[0], place.c[1]))
    if dtype.kind == "f":
        return dtype.type(place.f)
    return np.int64(place.i).astype(dtype)


def array(place: Any, dtype: np.dtype[Any], ndim: int) -> np.ndarray[Any, Any]:
    shape, strides = [place.shape[d] for d in range(ndim)], [place.strides[d] for d in range(ndim)]
    low = sum(min(0, (n - 1) * s) for n, s in zip(shape, strides, strict=True)) if 0 not in shape else 0
    high = sum(max(0, (n - 1) * s) for n, s in zip(shape, strides, strict=True)) if 0 not in shape else 0
    size = high - low + dtype.itemsize if 0 not in shape else 0
    memory = ctypes.string_at(place.data + low, size) if size else b""
    found = np.ndarray(shape, dtype, memory + b"\0", -low if size else 0, strides if size else None)
    return found.copy(order="K")
