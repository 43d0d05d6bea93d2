"""`g.compile()`: a graph as something to call.

in:   a graph at the level of maps, the function it was made from, options
out:  `CompiledGraph`, which runs that graph and nothing else

It checks a call as any variant of a program is checked. One that does not fit is refused with an `ArgumentError`; there
is no second variant to fall back to, and running Python instead would hide what the graph was made for. Guards that
fail and `np.errstate` lead to Python as in any program.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import time
import types
from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any

from weft.driver.compiler import Stage, compile_module, emit_kernel
from weft.driver.dump import Dump
from weft.driver.engine import native, process_cache, toolchain_for
from weft.driver.host import Host
from weft.driver.kernels import Kernel
from weft.driver.misfits import misfit, overlap
from weft.driver.options import Options, compiler_choice, dump_directory, is_disabled, wants_sanitizers
from weft.driver.stats import Stats
from weft.runtime.dispatcher import errstate_only_warns, signature_of
from weft.runtime.native import filters_may_raise, load_kernel
from weft.runtime.process import CompilerFailed
from weft.support.abi import KernelInfo
from weft.support.errors import ArgumentError, InternalError, WeftError

if TYPE_CHECKING:
    from weft.driver.graph import Graph

_WAY_OUT = "call the decorated function, which compiles for any arguments, or compile to_graph(...) of such arguments"


class CompiledGraph:
    """Runs one graph: call it as the function the graph was made from, with arguments of the same types."""

    __weft_program__ = True

    def __init__(self, graph: Graph, function: FunctionType, options: Options) -> None:
        functools.update_wrapper(self, function)
        self.py_func: Callable[..., Any] = function
        self.graph, self.options = graph, options
        self._stats = Stats()
        self._overlaps = 0
        self._host: Host | None = None
        self._call: Callable[..., Any] = function
        if is_disabled():
            return
        start = time.perf_counter()
        host = Host(native(), function, options, self._stats, self._miss, self._in_python, graph.program)
        self._kernel, compiled = _kernel_of(graph, options)
        host.install(self._kernel)
        self._host, self._call = host, host.call
        self._stats.variants = 1
        if compiled:
            self._stats.compiles, self._stats.compile_seconds = 1, time.perf_counter() - start
        else:
            self._stats.cache_hits = 1

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._call(*args, **kwargs)

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __reduce__(self) -> Any:
        raise TypeError("a compiled graph cannot be pickled: pickle the decorated function")

    def __repr__(self) -> str:
        return f"<weft graph of {self.py_func.__module__}.{self.py_func.__qualname__}, compiled>"

    @property
    def stats(self) -> Stats:
        """Counts and times so far."""
        if self._host is not None:
            self._host.refresh_stats()
            self._stats.python_calls -= self._overlaps  # these were refused
        return self._stats

    def inspect_source(self) -> str:
        """The C text."""
        if self._host is None:
            raise WeftError("WEFT_DISABLE is set: nothing is compiled")
        return self._kernel.source

    def inspect_asm(self) -> str:
        """The assembly text."""
        from weft.driver.inspection import assembly_of

        return assembly_of(self.inspect_source(), fast=self.options.fast)

    # -- calls that do not fit ----------------------------------------------------------------------------------------

    def _miss(self, params: tuple[Any, ...]) -> Any:
        raise self._refusal(misfit(self._function, self._kernel, params))

    def _in_python(self, *args: Any, **kwargs: Any) -> Any:
        """What the dispatcher leaves to Python: calls that do not bind, np.errstate, and overlapping arrays."""
        try:
            bound = inspect.signature(self._function).bind(*args, **kwargs)
        except TypeError:
            bound = None
        # Outside of `except`: CPython's own error, nothing behind it.
        if bound is None or not errstate_only_warns() or filters_may_raise():
            return self._function(*args, **kwargs)
        bound.apply_defaults()
        self._overlaps += 1
        params = tuple(bound.arguments[name] for name in signature_of(self._function).names)
        raise self._refusal(overlap(self._function, self._kernel, params))

    @property
    def _function(self) -> FunctionType:
        assert isinstance(self.py_func, FunctionType)
        return self.py_func

    def _refusal(self, problem: str) -> ArgumentError:
        return ArgumentError(f"{self.py_func.__qualname__}: {problem}\n  = help: {_WAY_OUT}")


def _kernel_of(graph: Graph, options: Options) -> tuple[Kernel, bool]:
    """The kernel of a graph, and whether the C compiler had to make it: equal C text is compiled once."""
    try:
        module = emit_kernel(graph.program, strict=options.strict)
    except WeftError:
        raise
    except Exception as problem:  # our fault, whatever it is: the graph was verified
        raise InternalError(f"{type(problem).__name__}: {problem}") from problem
    info, source = module.info, module.source
    directory = dump_directory()
    if directory is not None:
        Dump(directory, f"{info.name}-graph", 0).write([Stage("graph", graph.program)], source, module.units)
    cache, toolchain = process_cache(), toolchain_for(compiler_choice())
    parts = ("graph", source, module.units, options.fast, toolchain.fingerprint, wants_sanitizers())
    key = hashlib.sha256(repr(parts).encode()).hexdigest()
    with cache.lock(key):
        entry = cache.load(key)
        compiled = entry is None
        if entry is None:
            try:
                output = cache.scratch(key) / "kernel.so"
                library = compile_module(module, toolchain, output, cache=cache, fast=options.fast)
            except CompilerFailed as problem:
                if problem.timed_out:
                    raise
                raise InternalError(str(problem)) from problem
            # Only the library is looked for again: the tables are always those of the graph at hand.
            entry = cache.store(key, library, source, KernelInfo(info.name, info.symbol, (), (), (), 0))
        address = load_kernel(entry.library, info.symbol)
    return Kernel(info, address, info.constants, tuple(arg.value for arg in info.args), source), compiled
