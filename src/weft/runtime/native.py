"""The dispatcher's C code: built on first use, kept in the cache, checked against this Python and this NumPy.

in:   a cache, and a way to get a toolchain when the library has to be built
out:  `Native`, the C functions; or `NativeUnavailable`, with the reason, and every program runs in Python
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from weft.runtime.cache import Cache, Entry
from weft.runtime.distributions import distributions_archive, linked_with, offer_distributions
from weft.runtime.files import NATIVE_DIRECTORY
from weft.runtime.threads import default_threads
from weft.support.abi import ABI_VERSION, DTYPES, KernelInfo
from weft.support.absent import NoValue
from weft.support.errors import WeftError

if TYPE_CHECKING:
    from weft.runtime.toolchain import Toolchain

_ROOT_FILE = "native.c"
# The dispatcher serves every processor of this kind: no -march, and nothing of the kernels' arithmetic flags.
_FLAGS = ("-O2", "-std=gnu11", "-fPIC", "-shared", "-w")


_started: list[Native] = []


class NativeUnavailable(WeftError):  # noqa: N818 - says what it is
    """The dispatcher cannot work in this interpreter; programs run in Python."""


class _Marker:
    """A named object that stands for "nothing here"."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name


UNBOUND: Final = NoValue  # a name without a value, in what exits hand over
MISSING: Final = _Marker("<missing>")  # a parameter without a default


class Native(NamedTuple):
    """The C functions, in the order of the table in native.c."""

    new_dispatcher: Callable[..., Any]
    add_variant: Callable[..., None]
    clear_variants: Callable[[Any], None]
    set_threads: Callable[[Any, int], None]
    counters: Callable[[Any], tuple[tuple[int, ...], tuple[int, ...]]]
    describe: Callable[[Any], tuple[Any, ...]]
    stop_threads: Callable[[], None]
    free_memory: Callable[[], int]


def load_native(cache: Cache, get_toolchain: Callable[[], Toolchain]) -> Native:
    """The C functions, built if the cache does not have them. The library is started once per process."""
    _check_interpreter()
    return _start(str(_library(cache, get_toolchain).library))


def native_key() -> str:
    """Everything the dispatcher's machine code depends on, apart from the compiler."""
    digest = hashlib.sha256()
    for path in sorted(NATIVE_DIRECTORY.iterdir()):
        if path.suffix in {".c", ".h"}:
            digest.update(path.name.encode() + b"\0" + path.read_bytes())
    parts = (
        "dispatcher",
        sys.implementation.cache_tag,
        np.__version__,
        sys.platform,
        os.uname().machine,
        distributions_archive() is not None,
        digest.hexdigest(),
    )
    return " ".join(str(part) for part in parts)


def _library(cache: Cache, get_toolchain: Callable[[], Toolchain]) -> Entry:
    key = native_key()
    entry = cache.load(key)
    if entry is not None:
        return entry
    with cache.lock(key):
        entry = cache.load(key)  # somebody may have built it while we waited
        if entry is not None:
            return entry
        return _build(cache, key, get_toolchain())


def _build(cache: Cache, key: str, toolchain: Toolchain) -> Entry:
    """Hold the key's lock."""
    from dataclasses import replace

    from weft.runtime.compile import compile_c  # not needed when the library is in the cache
    from weft.runtime.process import CompilerFailed

    source = f'#include "{NATIVE_DIRECTORY / _ROOT_FILE}"\n'
    plain, output = replace(toolchain, flags=_FLAGS), cache.scratch(key) / "kernel.so"
    archive = distributions_archive()
    try:
        library = compile_c(plain, source, output, extra=linked_with(archive) if archive else ())
    except CompilerFailed:
        if archive is None:
            raise
        library = compile_c(plain, source, output)  # NumPy's archive is not for this linker: do without it
    description = KernelInfo("(dispatcher)", "weft_native_start", (), (), (), 0, abi=ABI_VERSION)
    return cache.store(key, library, source, description)


@functools.cache
def _start(path: str) -> Native:
    """Load the library, give it what it needs of Python and NumPy, and check that it understands them."""
    library = ctypes.PyDLL(path)
    offer_distributions(path)
    start = library.weft_native_start
    start.restype, start.argtypes = ctypes.py_object, [ctypes.py_object]
    try:
        native = Native(*start(_configuration()))
    except (SystemError, TypeError) as error:
        raise NativeUnavailable(f"the dispatcher does not fit this interpreter: {error}") from error
    _self_test(native)
    native.set_threads(None, default_threads())
    _stop_at_exit(native)
    _started.append(native)
    return native


def free_kept_memory() -> int:
    """Give memory kept for later calls back to the system; its bytes. Nothing is kept before the dispatcher runs."""
    return sum(native.free_memory() for native in _started)


def _stop_at_exit(native: Native) -> None:
    import atexit

    atexit.register(native.stop_threads)


def _check_interpreter() -> None:
    reasons = {
        "this is not CPython": sys.implementation.name != "cpython",
        "NumPy 2 is needed": int(np.__version__.split(".")[0]) < 2,
        "only Linux is supported": sys.platform != "linux",
        "only 64-bit little-endian machines are supported": sys.byteorder != "little" or sys.maxsize < 2**63 - 1,
        "interpreters without the GIL are not supported": not getattr(sys, "_is_gil_enabled", lambda: True)(),
        "debug interpreters are not supported": hasattr(sys, "gettotalrefcount"),
    }
    for reason, applies in reasons.items():
        if applies:
            raise NativeUnavailable(reason)


def _configuration() -> tuple[Any, ...]:
    from contextvars import Context
    from importlib import import_module

    private: Any = import_module("numpy._core._multiarray_umath")
    variable = private._extobj_contextvar  # where NumPy keeps np.errstate
    dtypes = [np.dtype(name) for name in DTYPES]
    return (
        private._ARRAY_API,  # the documented capsule of NumPy's C interface
        tuple(dtype.num for dtype in dtypes),
        tuple(dtype.type for dtype in dtypes),
        variable,
        Context().run(variable.get),
        UNBOUND,
        MISSING,
        np,
        vars(warnings),
        "filters",
        filters_may_raise,
    )


def filters_may_raise() -> bool:
    """Whether the filters of `warnings` may make an exception of a RuntimeWarning: Python must run the program then."""
    for action, message, category, module, line in warnings.filters:
        if not issubclass(RuntimeWarning, category):
            continue
        if action == "error":
            return True
        if message is None and module is None and not line:
            return False
    return False


def _self_test(native: Native) -> None:
    """Compare what the C code reads from arrays with what Python says; memory layouts are not promised to us."""
    base = np.arange(48, dtype=np.float32).reshape(2, 4, 6)
    read_only = np.zeros(3, np.int64)
    read_only.flags.writeable = False
    samples: list[np.ndarray[Any, Any]] = [
        base[:, ::-2, 1:5],
        np.zeros((3, 2), np.complex128, order="F"),
        np.zeros((), np.bool_),
        np.zeros(2, ">f8"),
        np.zeros((0, 3), np.uint16),
        read_only,
    ]
    for array in samples:
        dtype, owns = array.dtype, array.base is None
        expected = (
            1, array.__array_interface__["data"][0], array.shape, array.strides, dtype.num, ord(dtype.byteorder),
            array.flags.num, dtype.itemsize, int(not owns),
        )  # fmt: skip
        found = native.describe(array)
        if found[:-1] != expected or (owns and found[-1] != 1):
            raise NativeUnavailable(f"arrays of NumPy {np.__version__} are not laid out as expected")
    if native.describe(read_only)[6] & 0x400:
        raise NativeUnavailable("NumPy's array flags are not the expected ones")


def load_kernel(library: Path, symbol: str) -> int:
    """The address of a kernel; the library stays loaded for the life of the process."""
    loaded = ctypes.CDLL(_spelling(library))
    address = ctypes.cast(getattr(loaded, symbol), ctypes.c_void_p).value
    assert address is not None
    return address


def _spelling(library: Path) -> str:
    """A path no other library was loaded by.

    The dynamic loader takes two libraries for one when their paths are spelled alike, even after the file was
    replaced; a program recompiled under the same key would run its old code. `a/k.so`, `a/./k.so`, `a/././k.so` differ.
    """
    status = library.stat()
    seen = _files_loaded_by(str(library))
    identity = (status.st_dev, status.st_ino, status.st_mtime_ns)
    if identity not in seen:
        seen.append(identity)
    return f"{library.parent}/{'./' * seen.index(identity)}{library.name}"


@functools.cache
def _files_loaded_by(path: str) -> list[tuple[int, int, int]]:
    del path  # the key
    return []
