"""`verify=True`: Python beside the compiled code, and a comparison of all they leave behind.

    call ----> copy ----> Python ----> expected --\\
      \\                                            compared ----> the compiled result and its warnings,
       \\----------------> compiled --> got -------/               or a VerificationError

The compiled program runs on the user's own arguments; Python runs on copies that overlap as they do (snapshots.py).
Results, arguments, global and closure arrays, exceptions and warnings must agree within the bounds of the promise
(bounds.py). On a difference the error names the first output that differs, the statement that wrote it, and the first
pass after which the interpreter's answer changes (attribution.py), and a script is saved that makes the call again
(reproducers.py).

Both runs start from the same state of NumPy's and Python's global random numbers. What else a function does outside of
itself (it prints, it reads a clock) it does twice. One verified call runs at a time: warnings are caught for the whole
process. With `fast=True` warnings are not compared.
"""

from __future__ import annotations

import random
import threading
import warnings
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any, Final

import numpy as np

from weft.driver.annotations import check_annotations
from weft.driver.attribution import Attribution
from weft.driver.bounds import Bounds
from weft.driver.comparison import Difference, Outcome, compare_outcomes
from weft.driver.compiler import Stage
from weft.driver.graph_runs import Graphs, pipeline_stages
from weft.driver.options import Options
from weft.driver.reproducers import save_call
from weft.driver.snapshots import Call
from weft.ir.nodes import Program
from weft.runtime.dispatcher import Dispatcher
from weft.support.errors import FallbackWarning, PerformanceWarning, VerificationError, WeftError
from weft.support.spans import Span

_OWN: Final = (FallbackWarning, PerformanceWarning)
_ONE_AT_A_TIME: Final = threading.RLock()


def verified(
    function: FunctionType, dispatcher: Dispatcher, options: Options, graph: Program | None = None
) -> Callable[..., Any]:
    """The dispatcher's call, checked against the function. `graph` is what is run, where the user has made it."""
    verifier = Verifier(function, dispatcher, options, graph)

    def checked(*args: Any, **kwargs: Any) -> Any:
        return verifier.check(Call(function, args, kwargs))

    return checked


class Verifier:
    """Checks the calls of one program."""

    def __init__(
        self, function: FunctionType, dispatcher: Dispatcher, options: Options, graph: Program | None = None
    ) -> None:
        self.function, self.dispatcher, self.options = function, dispatcher, options
        self.graphs = Graphs(function, pipeline_stages(function, options))
        if graph is not None:
            self.graphs = Graphs(function, lambda params: [Stage("graph", graph)])
        self.attribution = Attribution(self.graphs, options, self._run_python, self._run_compiled)

    def check(self, call: Call) -> Any:
        """Make the call both ways; the compiled result, or what it raised."""
        before = call.copied()
        with _ONE_AT_A_TIME:
            states = _random_states()
            expected = self._run_python(before.copied())
            _set_random_states(states)
            resumes = self.dispatcher.counters().resumes
            got, told = _run(self.dispatcher.call, call, self.options)
            if not self._is_refused(call, got.error):
                in_python = self.dispatcher.counters().resumes != resumes
                bounds = Bounds(self.graphs, before, self.options, everywhere=in_python)
                difference = compare_outcomes(got, expected, bounds)
                if difference is not None:
                    raise self._explained(before, (expected, got), difference, bounds) from got.error
        self._tell(told)
        if got.error is not None:
            raise got.error
        return got.value

    def _is_refused(self, call: Call, error: Exception | None) -> bool:
        """Whether an exception is no answer but the refusal to give one: not compiled, or against the annotations."""
        if isinstance(error, WeftError):
            return True
        if error is None or not self.function.__annotations__:
            return False
        try:
            check_annotations(self.function, tuple(call.arguments.values()))
        except (TypeError, ValueError):
            return True
        return False

    def _run_python(self, call: Call) -> Outcome:
        return _run(call.function, call, self.options)[0]

    def _run_compiled(self, call: Call) -> Outcome:
        return _run(self.dispatcher.call, call, self.options)[0]

    def _tell(self, told: Sequence[warnings.WarningMessage]) -> None:
        """Give the warnings of the compiled run, this time to the user."""
        place: dict[str, Any] = {"module": self.function.__module__ or "<string>"}  # None: never shown
        place["registry"] = self.function.__globals__.setdefault("__warningregistry__", {})
        for warning in told:
            here = place if warning.filename == self.function.__code__.co_filename else {}
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno, **here)

    def _explained(
        self, before: Call, outcomes: tuple[Outcome, Outcome], difference: Difference, bounds: Bounds
    ) -> VerificationError:
        expected, got = outcomes
        name, output = self.function.__qualname__, difference.place.text
        message = f"{name}: {output} differs from Python's: {difference.text}"
        if bounds.is_free(difference.place):
            message += "\nit depends on functions or sums whose last bits are open, but lies outside of their bounds"
        try:
            span = self.attribution.line(before, difference, (expected.error, got.error))
        except Exception:  # noqa: BLE001  (the difference is what matters, not how well it is explained)
            span = Span.from_code(self.function.__code__)
        try:
            origin = self.attribution.origin(before, expected, difference, bounds)
        except Exception as problem:  # noqa: BLE001  (as above)
            origin = f"not found: {type(problem).__name__}: {problem}"
        error = VerificationError(output, message, span, origin)
        return VerificationError(output, message, span, origin, save_call(before, self.options, str(error)))


def _run(function: Callable[..., Any], call: Call, options: Options) -> tuple[Outcome, list[warnings.WarningMessage]]:
    """Make a call and keep all that comes of it, its warnings too."""
    value, error = None, None
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            value = function(*call.args, **call.kwargs)
        except Exception as problem:  # noqa: BLE001  (whatever the program raises is compared)
            error = problem
    compared = frozenset(
        (warning.category.__name__, str(warning.message))
        for warning in told
        if not issubclass(warning.category, _OWN) and not options.fast
    )
    return Outcome(value, error, call.arguments, call.outside, compared), told


def _random_states() -> tuple[Any, Any]:
    return random.getstate(), np.random.get_state()


def _set_random_states(states: tuple[Any, Any]) -> None:
    random.setstate(states[0])
    np.random.set_state(states[1])
