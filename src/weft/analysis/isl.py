"""isl: sets as text in, answers out. The only place that knows islpy.

    [p0] -> { [v0] : v0 >= 0 and p0 - v0 >= 0 and v0 - p0 - 1 >= 0 }      is empty

The package `islpy` takes a twentieth of a second to import, more than all questions of most programs. Its extension
module has isl's C functions in it, which can be called as they are; where a build hides them, the package answers.
"""

from __future__ import annotations

import ctypes
import weakref
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import islpy

_CONTINUE = 1  # ISL_ON_ERROR_CONTINUE: an error is an answer, nothing is printed
_HANDLE = ctypes.c_void_p
_SIGNATURES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "isl_ctx_alloc": (_HANDLE, ()),
    "isl_ctx_free": (None, (_HANDLE,)),
    "isl_ctx_reset_error": (None, (_HANDLE,)),
    "isl_ctx_reset_operations": (None, (_HANDLE,)),
    "isl_ctx_set_max_operations": (None, (_HANDLE, ctypes.c_ulong)),
    "isl_options_set_on_error": (ctypes.c_int, (_HANDLE, ctypes.c_int)),
    "isl_set_free": (_HANDLE, (_HANDLE,)),
    "isl_set_is_empty": (ctypes.c_int, (_HANDLE,)),
    "isl_set_is_subset": (ctypes.c_int, (_HANDLE, _HANDLE)),
    "isl_set_read_from_str": (_HANDLE, (_HANDLE, ctypes.c_char_p)),
}


class Isl(Protocol):
    """Questions about sets; None where an answer takes too many operations."""

    def is_empty(self, text: str) -> bool | None:
        """Whether a set has no point."""
        ...

    def is_subset(self, inner: str, outer: str) -> bool | None:
        """Whether each point of a set lies in another."""
        ...


def open_isl(operations: int) -> Isl:
    """A context of its own, with so many operations for each question."""
    try:
        return FromLibrary(operations)
    except (OSError, AttributeError):
        return FromPackage(operations)


class FromLibrary:
    """isl's own functions. Raises OSError or AttributeError where they cannot be found."""

    def __init__(self, operations: int) -> None:
        self._isl = _load_library()
        self._context = self._isl.isl_ctx_alloc()
        weakref.finalize(self, self._isl.isl_ctx_free, self._context)
        self._isl.isl_options_set_on_error(self._context, _CONTINUE)
        self._isl.isl_ctx_set_max_operations(self._context, operations)

    def is_empty(self, text: str) -> bool | None:
        """Whether a set has no point."""
        return self._ask(self._isl.isl_set_is_empty, text)

    def is_subset(self, inner: str, outer: str) -> bool | None:
        """Whether each point of a set lies in another."""
        return self._ask(self._isl.isl_set_is_subset, inner, outer)

    def _ask(self, question: Any, *texts: str) -> bool | None:
        self._isl.isl_ctx_reset_operations(self._context)
        sets = [self._isl.isl_set_read_from_str(self._context, text.encode()) for text in texts]
        answer = question(*sets) if all(sets) else -1
        for one in sets:
            self._isl.isl_set_free(one)
        if answer < 0:
            self._isl.isl_ctx_reset_error(self._context)
            return None
        return bool(answer)


class FromPackage:
    """The same by islpy."""

    def __init__(self, operations: int) -> None:
        import islpy

        self._islpy = islpy
        self._context: islpy.Context = islpy.Context()
        self._context.set_max_operations(operations)

    def is_empty(self, text: str) -> bool | None:
        """Whether a set has no point."""
        self._context.reset_operations()
        try:
            return bool(self._read(text).is_empty())
        except self._islpy.Error:
            return None

    def is_subset(self, inner: str, outer: str) -> bool | None:
        """Whether each point of a set lies in another."""
        self._context.reset_operations()
        try:
            return bool(self._read(inner).is_subset(self._read(outer)))
        except self._islpy.Error:
            return None

    def _read(self, text: str) -> islpy.Set:
        return self._islpy.Set.read_from_str(self._context, text)


@cache
def _load_library() -> Any:
    """The extension module as a library of C functions: it is opened, not imported."""
    from importlib.machinery import EXTENSION_SUFFIXES
    from importlib.util import find_spec

    package = find_spec("islpy")
    folders = (package and package.submodule_search_locations) or ()
    files = (Path(folder) / f"_isl{suffix}" for folder in folders for suffix in EXTENSION_SUFFIXES)
    file = next((path for path in files if path.exists()), None)
    if file is None:
        raise FileNotFoundError("islpy has no extension module")
    library = ctypes.PyDLL(str(file))  # the GIL is kept: a context is for one thread at a time
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library
