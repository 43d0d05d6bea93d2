"""The process that runs one kernel in one framework, in that framework's interpreter.

in:   `python -P -m weft_bench.worker REQUEST.json COMMANDS REPLIES`: a request, and two pipes by their numbers
out:  one line of JSON for each line of JSON: {"do": "time"} -> {"seconds": 0.0123}

    inputs    make the kernel's arguments, in files for both sides
    build     load the kernel, call `Framework.build`; its seconds
    first     the first call, on fresh arguments; its seconds
    warm      calls that are not timed
    time      one call on fresh arguments; its seconds, told when no thread of this process runs any more
    outputs   write what the latest call gave, in files
    perturbed the same for arguments that differ from the true ones by rounding
    quit

The pipes are its own, so that programs may print. What goes wrong is answered as {"state": ..., "message": ...}.
Nothing is imported but the standard library, NumPy and those modules of `weft_bench` that do the same: this runs with
NumPy 1.26 as with 2, and none of Weft's own packages are there.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import hashlib
import importlib
import json
import os
import platform
import resource
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from weft_bench.resting import come_to_rest

if TYPE_CHECKING:  # NumPy is loaded when the process is already on its processors: it counts its threads then
    from weft_bench.frameworks.protocol import Built, Framework, Source
    from weft_bench.kernel import Inputs, Kernel

PR_SET_PDEATHSIG = 1
REFUSALS = ("MemoryError", "RuntimeError")  # an error class of a framework's own that is still one of these: execution


class Session:
    """One kernel in one framework, from its build to its last timed call."""

    def __init__(self, request: dict[str, Any]) -> None:
        self.request = request
        self.framework: Framework = load_attribute(request["framework"])
        self.kernel: Kernel
        self.inputs: Inputs
        self.built: Built
        self.latest: tuple[Any, Inputs] | None = None
        self.resident_bytes = 0  # before the first call
        self.peak_bytes = 0  # of a call

    def make_inputs(self, command: dict[str, Any]) -> dict[str, Any]:
        """The arguments as files, made here and not in the runner: what is too large ends this process alone."""
        from weft_bench.exchange import write_values
        from weft_bench.loading import load_kernel

        kernel = load_kernel(Path(self.request["kernel"]))
        made = kernel.inputs(command["sizes"], self.request["dtype"])
        self.request["inputs"] = write_values(made, Path(self.request["inputs_folder"]))
        return {"inputs": self.request["inputs"]}

    def build(self, _command: dict[str, Any]) -> dict[str, Any]:
        """Load everything, then build; importing the framework is done by `version` and not part of the seconds."""
        from weft_bench.exchange import read_values
        from weft_bench.timing import fresh

        version = self.framework.version()
        source = self._source(version)
        self.kernel = source.kernel
        prepare: Callable[[Source], None] | None = getattr(self.framework, "prepare", None)
        if prepare is not None:  # what a framework does once per machine is not part of a kernel's time
            prepare(source)
        self.inputs = read_values(self.request["inputs"], Path(self.request["inputs_folder"]))
        example = fresh(self.inputs)
        self.resident_bytes = forget_peak()
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            start = time.perf_counter()
            self.built = self.framework.build(source, example)
            seconds = time.perf_counter() - start
        return {
            "seconds": seconds,
            "version": version,
            "warning": own_warning(told),
            "added_lines": list(self.framework.added_lines(source)),
        }

    def _source(self, version: str) -> Source:
        from weft_bench.frameworks.protocol import Source
        from weft_bench.loading import load_function, load_kernel

        kernel_path, path = Path(self.request["kernel"]), Path(self.request["program"])
        kernel = replace(load_kernel(kernel_path), outputs=tuple(self.request["outputs"]))
        if path != kernel_path and not self.request["is_override"]:  # the kernel's second spelling
            kernel = replace(kernel, function=load_function(path, kernel.name))
        artefacts = self._artefacts(version, (kernel_path, path))
        artefacts.mkdir(parents=True, exist_ok=True)
        return Source(
            kernel=kernel,
            path=path,
            is_override=self.request["is_override"],
            artefacts=artefacts,
            threads=self.request["threads"],
        )

    def _artefacts(self, version: str, sources: tuple[Path, ...]) -> Path:
        """The folder for this key: sources, framework and its adapter, versions, flags, element type, processor."""
        import numpy as np

        framework = self.framework
        adapter = sys.modules[self.request["framework"].partition(":")[0]].__file__
        texts = [path.read_bytes() for path in (*sources, *([Path(adapter)] if adapter else []))]
        flags = sorted(framework.environment(1).items())
        words = (framework.name, version, framework.math, flags, self.request["dtype"], self.request["threads"],
                 sys.version, np.__version__, platform.machine())  # fmt: skip
        key = hashlib.sha256(b"\0".join([*texts, repr(words).encode()])).hexdigest()[:16]
        return Path(self.request["artefacts"]) / framework.name / f"{Path(self.request['kernel']).stem}-{key}"

    def _call(self, *, watched: bool = False) -> float:
        """One call on fresh arguments; the garbage collector waits, and what the last call gave is gone before.

        `watched`: its memory is, above what the process held before its first call and the arguments.
        """
        self.latest = None
        from weft_bench.timing import fresh

        arguments = self.built.load(fresh(self.inputs))
        call, wait = self.built.call, self.built.wait
        gc.collect()  # JAX drops what it loaded from in the next call or collection: a gigabyte takes milliseconds
        if watched:
            forget_peak()
        gc.disable()
        try:
            start = time.perf_counter()
            result = wait(call(**arguments))
            seconds = time.perf_counter() - start
        finally:
            gc.enable()
        if watched:
            self.peak_bytes = max(peak_bytes() - self.resident_bytes - size_bytes(arguments), 0)
        self.latest = (result, arguments)
        return seconds

    def first(self, _command: dict[str, Any]) -> dict[str, Any]:
        """The first call: whatever the framework left to it is part of its seconds."""
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            seconds = self._call()
        done = self.built.from_artefacts
        gc.collect()
        gc.freeze()
        return {
            "seconds": seconds,
            "warning": own_warning(told),
            "from_artefacts": bool(done() if callable(done) else done),
        }

    def warm(self, command: dict[str, Any]) -> dict[str, Any]:
        """Calls that nobody times, of which the last one's memory is watched: by then all is compiled."""
        times = command.get("times", 1)
        seconds = [self._call(watched=number == times - 1) for number in range(times)]
        return {"seconds": seconds, "peak_bytes": self.peak_bytes}

    def time(self, command: dict[str, Any]) -> dict[str, Any]:
        """One timed call; `again` first runs one that is not, which takes the other process's traces off the caches.

        `rest`: threads that wait for more work, busily, are waited for: it is the other process's turn.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if command.get("again"):
                self._call()
            seconds = self._call()
        if command.get("rest"):
            come_to_rest()
        return {"seconds": seconds}

    def outputs(self, command: dict[str, Any]) -> dict[str, Any]:
        """What the latest call gave, by the names of the kernel's outputs."""
        from weft_bench.exchange import write_values

        if self.latest is None:
            raise RuntimeError("no call has given anything yet")
        return {"outputs": write_values(self._collected(*self.latest), Path(command["folder"]))}

    def perturbed(self, command: dict[str, Any]) -> dict[str, Any]:
        """What a call gives for arguments with a rounding error each: how much of its result a kernel leaves open."""
        from weft_bench.exchange import write_values
        from weft_bench.sensitivity import perturb

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            arguments = self.built.load(perturb(self.inputs, self.request["dtype"]))
            result = self.built.wait(self.built.call(**arguments))
        return {"outputs": write_values(self._collected(result, arguments), Path(command["folder"]))}

    def _collected(self, result: Any, arguments: Inputs) -> dict[str, Any]:
        unload, names = self.built.unload, self.kernel.outputs
        if not self.built.returns_outputs:
            return {name: unload(value) for name, value in self.kernel.collect(result, arguments).items()}
        given: Any = unload(result)
        if len(names) == 1:
            return {names[0]: given}
        items = cast("tuple[Any, ...]", given) if isinstance(given, tuple | list) else (given,)
        if len(items) != len(names):
            raise TypeError(f"{len(names)} outputs expected ({', '.join(names)}), {len(items)} returned")
        return dict(zip(names, items, strict=True))


def load_attribute(place: str) -> Any:
    """What stands behind "module:attribute"."""
    module, _, attribute = place.partition(":")
    return getattr(importlib.import_module(module), attribute)


def own_warning(told: list[warnings.WarningMessage]) -> str:
    """The first warning of a framework's own class (a fallback to Python, say); Python's and NumPy's are not told."""
    for warning in told:
        if warning.category.__module__.partition(".")[0] not in ("builtins", "numpy"):
            return str(warning.message).strip().partition("\n")[0]
    return ""


# ---------------------------------------------------------------- memory


def forget_peak() -> int:
    """Start counting the peak anew where the kernel of the system allows it; the bytes held now."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
        return status_bytes("VmRSS")
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def size_bytes(arguments: Inputs) -> int:
    """How much memory the arrays among arguments are."""
    return sum(int(getattr(value, "nbytes", 0)) for value in arguments.values())


def peak_bytes() -> int:
    """The most this process has held since `forget_peak`."""
    with contextlib.suppress(OSError):
        return status_bytes("VmHWM")
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def status_bytes(field: str) -> int:
    """A number of /proc/self/status."""
    for line in Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) * 1024
    raise OSError(f"/proc/self/status has no {field}")


# ---------------------------------------------------------------- failures


def classify(step: str, error: BaseException) -> str:
    """The state of a cell for an error: a framework's own class at the first call is its compiler's refusal."""
    names = {item.__name__ for item in type(error).__mro__}
    if "UnsupportedKernelError" in names:
        return "unsupported"
    if step == "build":
        return "compile"
    package = type(error).__module__.partition(".")[0]
    is_own = package not in ("builtins", "numpy", "weft_bench", "__main__") and not names.intersection(REFUSALS)
    return "compile" if step == "first" and is_own else "execution"


def last_line(error: BaseException) -> str:
    """The error's class and the last line of its text that says something: carets and hints are not it."""
    text = "".join(traceback.format_exception_only(error)).strip().splitlines()
    lines = [line.strip() for line in text if line.strip(" ^~-|=*+.") and "= help:" not in line]
    name, last = type(error).__name__, lines[-1] if lines else ""
    if name == "UnsupportedKernelError":  # the state of the cell says that already
        return last.partition(f"{name}: ")[2] or last
    last = last.removeprefix(f"{type(error).__module__}.")
    return last if last.startswith(name) else f"{name}: {last}"


def answer(session: Session, command: dict[str, Any]) -> dict[str, Any]:
    """Do what is asked; what goes wrong becomes part of the answer, with all of it on standard error."""
    step: str = command["do"]
    steps: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
        "inputs": session.make_inputs,
        "build": session.build,
        "first": session.first,
        "warm": session.warm,
        "time": session.time,
        "outputs": session.outputs,
        "perturbed": session.perturbed,
    }
    try:
        return steps[step](command)
    except (Exception, SystemExit) as error:  # noqa: BLE001  (whatever a framework raises is a result)
        traceback.print_exc()
        return {"state": classify(step, error), "message": last_line(error)}


def settle(request: dict[str, Any]) -> None:
    """Onto the processors it was given, before any library counts them; and gone when the runner is killed."""
    with contextlib.suppress(OSError, AttributeError):  # Linux alone knows how
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if request["processors"] and hasattr(os, "sched_setaffinity"):
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, request["processors"])


def main(arguments: list[str]) -> int:
    """Answer commands until the pipe closes."""
    request = json.loads(Path(arguments[0]).read_text(encoding="utf-8"))
    commands_number, replies_number = int(arguments[1]), int(arguments[2])
    for number in (commands_number, replies_number):
        os.set_inheritable(number, False)  # what the framework starts must not hold our pipes open
    settle(request)
    with (
        os.fdopen(commands_number, "r", encoding="utf-8") as commands,
        os.fdopen(replies_number, "w", encoding="utf-8") as replies,
    ):
        session: Session | None = None
        for line in commands:
            command = json.loads(line)
            if command["do"] == "quit":
                break
            try:
                session = session or Session(request)
                reply = answer(session, command)
            except Exception as error:  # noqa: BLE001  (the adapter itself cannot be loaded)
                traceback.print_exc()
                reply = {"state": "compile", "message": last_line(error)}
            replies.write(json.dumps(reply) + "\n")
            replies.flush()
    return 0


if __name__ == "__main__":
    status = main(sys.argv[1:])
    sys.stdout.flush()
    os._exit(status)  # thread pools of frameworks may hang or crash at exit, after all that counts is said
