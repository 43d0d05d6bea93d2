"""The cache among processes: one compile, whoever comes first; a killed one leaves nothing in the way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from weft.runtime.cache import open_cache

SCRIPT = """
import ctypes, sys, time
from pathlib import Path
from weft.runtime.cache import open_cache
from weft.runtime.compile import compile_c
from weft.runtime.toolchain import find_toolchain
from weft.support.abi import KernelInfo

root, delay = Path(sys.argv[1]), float(sys.argv[2])
cache = open_cache(root / "cache", None)
entry = cache.load("key")
if entry is None:
    with cache.lock("key"):
        entry = cache.load("key")
        if entry is None:
            with open(root / "compiles", "a") as log:
                log.write("compile\\n")
            source = "int answer(void) { return 42; }\\n"
            toolchain = find_toolchain("gcc", cache.toolchain_memory)
            library = compile_c(toolchain, source, cache.scratch("key") / "kernel.so")
            (root / "compiled").write_text("")
            time.sleep(delay)
            entry = cache.store("key", library, source, KernelInfo("f", "answer", (), (), (), 0))
assert ctypes.CDLL(str(entry.library)).answer() == 42
"""


def start(root: Path, delay: float = 0.0) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", SCRIPT, str(root), str(delay)])


def test_fifty_processes_one_compile(tmp_path):
    processes = [start(tmp_path, 0.2) for _ in range(50)]
    assert [process.wait(timeout=60) for process in processes] == [0] * 50
    assert (tmp_path / "compiles").read_text() == "compile\n"
    cache = open_cache(tmp_path / "cache", None)
    assert [entry.ok for entry in cache.entries()] == [True]
    assert cache.root is not None
    assert os.listdir(cache.root / "work") == []


def test_kill_in_the_middle_of_it(tmp_path):
    victim = start(tmp_path, 60.0)
    deadline = time.monotonic() + 30
    while not (tmp_path / "compiled").exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    waiting = start(tmp_path)
    time.sleep(0.3)
    assert waiting.poll() is None
    victim.send_signal(signal.SIGKILL)
    victim.wait()
    assert waiting.wait(timeout=30) == 0
    assert start(tmp_path).wait(timeout=30) == 0
    assert (tmp_path / "compiles").read_text() == "compile\n" * 2
    cache = open_cache(tmp_path / "cache", None)
    assert cache.root is not None
    assert os.listdir(cache.root / "work") == []
