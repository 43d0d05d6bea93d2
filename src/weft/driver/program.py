"""`weft.program`: the object that stands in a decorated function's place.

in:   a Python function and options
out:  something to call like the function; the first call with new types compiles, later ones go straight to the kernel

This module is loaded by `import weft`, so it loads neither the compiler nor the C code before a call needs them.
"""

from __future__ import annotations

import functools
import threading
import types
import warnings
from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, Unpack, cast, overload

from weft.driver.options import Options, ProgramOptions, is_disabled, resolve
from weft.driver.stats import Stats
from weft.support.errors import CompileError, FallbackWarning, WeftError

if TYPE_CHECKING:
    from weft.driver.engine import Engine
    from weft.driver.graph import Graph
    from weft.driver.listing import Explanation

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


class Program(Generic[P, R_co]):
    """A compiled function. Call it as the function; `py_func` is the function itself."""

    __weft_program__ = True

    def __init__(self, function: Callable[P, R_co], options: Options) -> None:
        if not isinstance(function, FunctionType):
            raise TypeError(f"weft.program takes a Python function, not {type(function).__name__}")
        functools.update_wrapper(self, function)
        self.py_func: Callable[P, R_co] = function
        self.options = options
        self._stats = Stats()
        self._engine: Engine | None = None
        self._lock = threading.RLock()
        self._call: Callable[..., Any] = function if is_disabled() else self._first_call

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        return self._call(*args, **kwargs)

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __reduce__(self) -> Any:
        """By name, as functions are pickled: another process finds the program where this one has it."""
        return _by_name, (self.py_func.__module__, self.py_func.__qualname__)

    def __copy__(self) -> Program[P, R_co]:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Program[P, R_co]:
        return self

    def __repr__(self) -> str:
        return f"<weft.program {self.py_func.__module__}.{self.py_func.__qualname__}>"

    def _first_call(self, *args: Any, **kwargs: Any) -> Any:
        """Set up the dispatcher, then call it."""
        with self._lock:
            if self._engine is None:
                self._start()
        return self._call(*args, **kwargs)

    def _start(self) -> None:
        from weft.driver.engine import Engine

        function = cast("FunctionType", self.py_func)
        try:
            self._engine = Engine(function, self.options, self._stats)
        except WeftError as problem:
            self._engine = None
            self._call = functools.partial(self._in_python, problem)
            return
        self._call = self._engine.call
        # From now on Python finds the C callable itself as `__call__`: a frame of Python less per call.
        members = {"__call__": staticmethod(self._call), "__module__": __name__}
        object.__setattr__(self, "__class__", type("Program", (Program,), members))

    def _in_python(self, problem: WeftError, *args: Any, **kwargs: Any) -> Any:
        """Every call, where this machine cannot run compiled code at all."""
        if self.options.fallback == "error":
            raise problem
        self._stats.fallback_calls += 1
        if not self._stats.reasons:
            words = problem.message if isinstance(problem, CompileError) else str(problem)
            self._stats.reasons.append(words)
            code = cast("FunctionType", self.py_func).__code__
            warnings.warn_explicit(
                f"{self.py_func.__qualname__} runs in Python: {words}",
                FallbackWarning,
                code.co_filename,
                code.co_firstlineno,
            )
        return self.py_func(*args, **kwargs)

    def _started(self) -> Engine:
        with self._lock:
            if self._engine is None:
                self._start()
            if self._engine is None:
                raise WeftError(self._stats.reasons[0] if self._stats.reasons else "no compiled code on this machine")
            return self._engine

    # -- looking inside -----------------------------------------------------------------------------------------------

    @property
    def stats(self) -> Stats:
        """Counts and times so far."""
        return self._stats if self._engine is None else self._engine.all_stats()

    def explain(self) -> Explanation:
        """The source, line by line: what is compiled and how, what calls NumPy, what runs in Python and why.

        A text; a notebook shows it as a page, coloured by where the time goes, and `.save("page.html")` writes that.
        """
        from weft.driver.explaining import explain

        return explain(self._started())

    def to_graph(self, *args: P.args, **kwargs: P.kwargs) -> Graph:
        """The dataflow graph for calls with arguments like these, before any pass."""
        from weft.driver.inspection import graph_of_call

        return graph_of_call(cast("FunctionType", self.py_func), self.options, args, kwargs)

    def inspect_graph(self, stage: str = "array") -> str:
        """The graph of the newest variant as text, after a step: "array", or the name of a pass."""
        from weft.driver.inspection import graph_text

        return graph_text(self._started(), stage)

    def inspect_source(self) -> str:
        """The C text of the newest variant."""
        from weft.driver.inspection import source

        return source(self._started())

    def inspect_asm(self) -> str:
        """The assembly text of the newest variant."""
        from weft.driver.inspection import assembly

        return assembly(self._started())


def _by_name(module: str, qualname: str) -> Any:
    """The program of that name."""
    import importlib
    import operator

    return operator.attrgetter(qualname)(importlib.import_module(module))


@overload
def program(function: Callable[P, R], /, **options: Unpack[ProgramOptions]) -> Program[P, R]: ...
@overload
def program(
    function: None = None, /, **options: Unpack[ProgramOptions]
) -> Callable[[Callable[P, R]], Program[P, R]]: ...
def program(
    function: Callable[P, R] | None = None, /, **options: Unpack[ProgramOptions]
) -> Program[P, R] | Callable[[Callable[P, R]], Program[P, R]]:
    """Compile a NumPy function: `@weft.program`, `@weft.program(threads=1)` or `weft.program(f, fallback="error")`.

    A class or static method, a bound method and a `functools.partial` stay what they are, around a program.
    Options: `fallback` ("warn": what cannot be compiled runs in Python, announced once; "error": it is refused),
    `fast` (allow what -ffast-math allows), `strict` (NumPy's bits for mathematical functions), `threads`, `verify` (run
    Python beside the compiled code and compare), `device` ("cpu").
    """
    chosen = resolve(options)
    if function is None:
        return lambda inner: _made(inner, chosen)
    return _made(function, chosen)


def _made(function: Any, options: Options) -> Any:
    """The program of a function; of what stands around one (a method, a partial call) the same around its program."""
    match function:
        case Program():
            return Program(cast("Any", function).py_func, options)
        case classmethod():
            return classmethod(_made(cast("Any", function).__func__, options))
        case staticmethod():
            return staticmethod(_made(cast("Any", function).__func__, options))
        case types.MethodType():
            return types.MethodType(_made(function.__func__, options), function.__self__)
        case functools.partial():
            return functools.partial(_made(function.func, options), *function.args, **function.keywords)
        case _:
            return Program(function, options)
