"""The variants of one function behind one callable, and what happens when one of them leaves for Python.

in:   the function, its options; kernels, one by one; who to ask when none of them fits
out:  `Host.call`, which takes what the function takes
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable
from functools import partial
from types import FunctionType
from typing import TYPE_CHECKING, Any, TypeAlias

from weft.driver.kernels import Kernel
from weft.driver.options import Options
from weft.driver.reports import warn_floating_point
from weft.driver.stats import Stats
from weft.runtime.dispatcher import Dispatcher, Variant
from weft.runtime.library import resolve_libraries
from weft.runtime.native import UNBOUND, Native
from weft.support.abi import NOT_COMPILED, Exit, KernelInfo
from weft.support.errors import FallbackWarning, WeftError
from weft.support.numpy_calls import calls_at

if TYPE_CHECKING:
    from weft.ir.nodes import Program

_MANY = 32  # calls that Python finishes from one place, before anything is said of it

OnMiss: TypeAlias = Callable[[tuple[Any, ...]], Any]


class Host:
    """Calls the variants of one function.

    `in_python` takes the calls a variant leaves to Python from the start. `graph` is the one that is run, where that is
    not what the compiler makes of the function: `verify=True` looks at it. `on_left` hears of exits at statements that
    are not compiled.
    """

    def __init__(
        self,
        native: Native,
        function: FunctionType,
        options: Options,
        stats: Stats,
        on_miss: OnMiss,
        in_python: Callable[..., Any] | None = None,
        graph: Program | None = None,
    ) -> None:
        self.function, self.stats = function, stats
        self.on_left: Callable[[Exit, KernelInfo], None] | None = None
        self.dispatcher = Dispatcher(native, function, on_miss, in_python)
        if options.threads is not None:
            self.dispatcher.set_threads(options.threads)
        self.call: Callable[..., Any] = self.dispatcher.call
        if options.verify:
            from weft.driver.verifying import verified

            self.call = verified(function, self.dispatcher, options, graph)

    def install(self, kernel: Kernel, *, takes_dense: bool = True) -> None:
        """Let calls that fit the kernel run it. `takes_dense`: also dense arrays where it was compiled for strides."""
        info = kernel.info
        library = resolve_libraries(info.libraries)
        missing = [
            name for name, place in zip(info.libraries, library, strict=True) if name[:5] == "loop:" and not place
        ]
        if missing:
            raise WeftError(f"this NumPy has no inner loop {missing[0][5:]}, which strict=True needs")
        self.dispatcher.add_variant(
            Variant(
                info=info,
                address=kernel.address,
                constants=kernel.constants,
                values=kernel.values,
                library=library,
                on_resume=self._resume(info),
                on_finish=self._finish(info),
                on_warn=partial(warn_floating_point, self.function, info),
                numpy_calls=[
                    calls_at(self.function, call.function, call.line, call.keywords, call.results, changes=call.changes)
                    for call in info.numpy_calls
                ],
                takes_dense=takes_dense,
            )
        )

    # -- exits --------------------------------------------------------------------------------------------------------

    def _resume(self, info: KernelInfo) -> Callable[[int, Any, tuple[Any, ...]], Any]:
        holder: list[Any] = []
        ended: Counter[int] = Counter()

        def resume(number: int, values: Any, slots: tuple[Any, ...]) -> Any:
            from weft.driver.resume import Resumer

            if not holder:
                holder.append(Resumer(self.function, info))
            self._announce(info.exits[number], info)
            # The calls stand here and not in a function of their own: a traceback has one frame of Weft's, not four.
            *callers, (innermost, given) = holder[0].frames(number, values, slots)
            call = partial(innermost, *given)
            for continuation, given in reversed(callers):
                call = partial(continuation, *given, call)
            try:
                result = call()
            except Exception as error:
                from weft.driver.advice import advise

                advise(error, self.function.__code__.co_filename)
                raise
            ended[number] += 1
            if ended[number] % _MANY == 0:
                self._tell_of_check(info.exits[number], ended[number])
            return result

        return resume

    def _tell_of_check(self, exit_: Exit, count: int) -> None:
        """Say once that a check fails again and again where Python finds nothing wrong."""
        calls, reason = self.dispatcher.counters().calls, exit_.reason
        is_known = NOT_COMPILED in reason or reason in self.stats.reasons
        if is_known or 2 * count < calls:
            return
        self.stats.reasons.append(reason)
        warnings.warn_explicit(
            f"{self.function.__qualname__} goes on in Python from here in {count} of {calls} calls: "
            f"compiled code needs what does not hold there ({reason})",
            FallbackWarning, self.function.__code__.co_filename, max(exit_.line, 1),
        )  # fmt: skip

    def _announce(self, exit_: Exit, info: KernelInfo) -> None:
        """Say once that a branch runs in Python because something in it is not compiled."""
        _, found, reason = exit_.reason.partition(NOT_COMPILED)
        if found and self.on_left is not None:
            self.on_left(exit_, info)
        if not found or reason in self.stats.reasons:
            return
        self.stats.reasons.append(reason)
        warnings.warn_explicit(
            f"{self.function.__qualname__} goes on in Python from here: {reason}",
            FallbackWarning, self.function.__code__.co_filename, max(exit_.line, 1),
        )  # fmt: skip

    def _finish(self, info: KernelInfo) -> Callable[[int, Any, tuple[Any, ...]], Any]:
        resume = self._resume(info)

        def finish(number: int, decoded: Any, slots: tuple[Any, ...]) -> Any:
            value, attributes = decoded
            for target, attribute in zip(info.writebacks, attributes, strict=True):
                if attribute is not UNBOUND:
                    setattr(slots[target.slot], target.name, attribute)
            return resume(number, value, slots) if info.exits[number].frames else value

        return finish

    # -- looking inside -----------------------------------------------------------------------------------------------

    def refresh_stats(self) -> None:
        """Take over what the dispatcher counted."""
        counted = self.dispatcher.counters()
        stats = self.stats
        stats.native_calls, stats.resumes = counted.calls, counted.resumes
        stats.allocations, stats.allocated_bytes = counted.allocations, counted.allocated_bytes
        stats.peak_bytes, stats.parallel_regions = counted.peak_bytes, counted.parallel_regions
        stats.python_calls, stats.numpy_calls = counted.python_calls, counted.numpy_calls
