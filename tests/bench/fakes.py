"""Frameworks that misbehave in one way each; the workers load them from here."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from weft_bench.frameworks import Registered
from weft_bench.frameworks.protocol import NUMPY_RESULTS, Built, Source, UnsupportedKernelError
from weft_bench.kernel import Inputs


class OwnCompilerError(Exception):
    """What a compiler that works at the first call raises."""


@dataclass(frozen=True)
class Fake:
    """Builds whatever `make` gives."""

    name: str
    make: Callable[[Source], Built]
    math: str = NUMPY_RESULTS
    title: str = "Fake"
    requirements: tuple[str, ...] = ()
    needs_gpu: bool = False
    overrides: str = "none"

    def environment(self, threads: int) -> Mapping[str, str]:
        return {"FAKE_THREADS": str(threads)}

    def version(self) -> str:
        return "1.0"

    def build(self, source: Source, arguments: Inputs) -> Built:
        return self.make(source)

    def added_lines(self, source: Source) -> tuple[str, ...]:
        return ("@fake",)


def plain(source: Source) -> Built:
    return Built(call=source.kernel.function)


def unsupported(source: Source) -> Built:
    raise UnsupportedKernelError("no loops, please")


def cannot_compile(source: Source) -> Built:
    raise SyntaxError("first line\nlast line of the compiler")


def compiles_late(source: Source) -> Built:
    def call(**arguments: Any) -> Any:
        raise OwnCompilerError("cannot type 'A'")

    return Built(call=call)


def raises(source: Source) -> Built:
    def call(**arguments: Any) -> Any:
        raise IndexError("index 7 is out of bounds")

    return Built(call=call)


def wrong(source: Source) -> Built:
    def call(A: Any) -> Any:
        A += 2

    return Built(call=call)


def wrong_later(source: Source) -> Built:
    calls: list[int] = []

    def call(A: Any) -> Any:
        calls.append(1)
        A += 1 if len(calls) < 3 else 2

    return Built(call=call)


def hangs(source: Source) -> Built:
    """Not only itself: a process that it started goes on too."""

    def call(A: Any) -> Any:
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        (source.artefacts.parents[1] / "child").write_text(str(child.pid))
        time.sleep(600)

    return Built(call=call)


def crashes(source: Source) -> Built:
    def call(A: Any) -> Any:
        os.kill(os.getpid(), signal.SIGSEGV)

    return Built(call=call)


def leaves(source: Source) -> Built:
    os._exit(3)


def prints(source: Source) -> Built:
    """Garbage on both streams, before and in every call."""
    os.write(1, b'{"seconds": 1}\n\xff\xfe{"do": "quit"}\n')
    os.write(2, b"\x00garbage\n")

    def call(A: Any) -> Any:
        print('{"state": "execution", "message": "not a reply"}', flush=True)
        A += 1

    return Built(call=call)


def returns(source: Source) -> Built:
    return Built(call=lambda A: A + 1, returns_outputs=True)


def returns_narrow(source: Source) -> Built:
    return Built(call=lambda A: (A + 1).astype(np.float32), returns_outputs=True)


def on_device(source: Source) -> Built:
    """Arguments and results that are lists outside of NumPy: loaded before, unloaded after."""

    def call(A: Any) -> Any:
        for index in range(len(A)):
            A[index] += 1

    return Built(call=call, load=lambda given: {"A": given["A"].tolist()}, unload=np.asarray)


def drops_late(source: Source) -> Built:
    """Holds what it loaded from until Python collects garbage, and refuses to run before that, as JAX would be slow."""
    held: list[Inputs] = []
    gc.callbacks.append(lambda phase, _info: held.clear() if phase == "stop" else None)

    def load(given: Inputs) -> Inputs:
        held.append(given)
        return {"A": given["A"].copy()}

    def call(A: Any) -> Any:
        if held:
            raise RuntimeError("what was loaded from is still here")
        A += 1

    return Built(call=call, load=load)


def cached(source: Source) -> Built:
    mark = source.artefacts / "mark"
    known = mark.exists()
    mark.write_text("here")
    return Built(call=source.kernel.function, from_artefacts=known)


FAKES = {
    make.__name__: Fake(make.__name__, make)
    for make in (
        plain, unsupported, cannot_compile, compiles_late, raises, wrong, wrong_later, hangs, crashes, leaves, prints,
        returns, returns_narrow, on_device, drops_late, cached,
    )
}  # fmt: skip
globals().update({name.upper(): fake for name, fake in FAKES.items()})
FAST = Fake("fast", plain, math="fastmath")


def register(name: str) -> Registered:
    return Registered(name, f"{__name__}:{name.upper()}", FAKES[name])
