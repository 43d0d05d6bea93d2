"""Finding a compiler, compiling, and everything that can go wrong with it."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from weft.runtime import toolchain as module
from weft.runtime.compile import compile_c, disassemble
from weft.runtime.process import CompilerFailed, run_compiler
from weft.runtime.toolchain import BuildOptions, ToolchainError, find_toolchain, processor_fingerprint
from weft.support.errors import WeftError

ANSWER = "int answer(void) { return 42; }\n"


def script(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o700)
    return path


def test_a_library_is_compiled_and_nothing_else_is_left(toolchain, tmp_path):
    output = compile_c(toolchain, ANSWER, tmp_path / "k.so")
    assert ctypes.CDLL(str(output)).answer() == 42
    assert os.listdir(tmp_path) == ["k.so"]


def test_vector_math_links(toolchain, tmp_path):
    """`-lmvec` or what replaces it is among the flags: a loop of exp loads and runs."""
    source = """
    __attribute__((simd("notinbranch"), const)) double exp(double);
    void run(double *restrict y, const double *restrict x, int n) {
        #pragma omp simd
        for (int i = 0; i < n; i++) y[i] = exp(x[i]);
    }"""
    library = ctypes.CDLL(str(compile_c(toolchain, source, tmp_path / "k.so")))
    x, y = (ctypes.c_double * 9)(*range(9)), (ctypes.c_double * 9)()
    library.run(y, x, 9)
    assert y[2] == pytest.approx(2.718281828459045**2, rel=1e-15)


def test_fast_math_leaves_the_process_alone(toolchain, tmp_path):
    """gcc links code into -ffast-math libraries that flushes denormal numbers to zero in the whole process."""
    compile_c(toolchain, ANSWER, tmp_path / "k.so", build=BuildOptions(fast=True))
    code = f"import ctypes; ctypes.CDLL({str(tmp_path / 'k.so')!r}); assert float('1e-310') / float('2') > 0"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_options(toolchain):
    assert "-ffast-math" in toolchain.options(BuildOptions(fast=True))
    assert toolchain.options(BuildOptions(level=1))[-1] == "-O1"
    sanitized = toolchain.options(BuildOptions(sanitize=True))
    assert "-fsanitize=address,undefined" in sanitized
    assert "-ffp-contract=off" in toolchain.options(BuildOptions())


def test_a_sanitized_kernel_reports_what_it_does_wrong(toolchain, tmp_path):
    source = "#include <stdlib.h>\nint answer(void) { volatile char *p = malloc(8); return p[9]; }\n"
    output = compile_c(toolchain, source, tmp_path / "k.so", build=BuildOptions(sanitize=True))
    runtime = subprocess.run(
        ["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True
    ).stdout.strip()
    code = f"import ctypes; ctypes.CDLL({str(output)!r}).answer()"
    environment = {**os.environ, "LD_PRELOAD": runtime, "ASAN_OPTIONS": "detect_leaks=0"}
    result = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert result.returncode != 0
    assert "kernel.c:2" in result.stderr


def test_assembly(toolchain):
    assert "answer" in disassemble(ANSWER, toolchain)


def test_the_compilers_words_are_kept_for_those_who_ask(toolchain, tmp_path):
    with pytest.raises(CompilerFailed) as caught:
        compile_c(toolchain, "this is not C\n", tmp_path / "k.so")
    assert "error" in caught.value.output
    assert "error:" not in str(caught.value)
    assert os.listdir(tmp_path) == []


def test_a_time_out_ends_the_compiler_and_its_children(toolchain, tmp_path):
    slow = script(tmp_path / "slow", f"sleep 60 & echo $! > {tmp_path}/child; wait")
    with pytest.raises(CompilerFailed, match=r"more than 0\.3 s") as caught:
        run_compiler([str(slow)], tmp_path, 0.3)
    assert caught.value.timed_out
    child = int((tmp_path / "child").read_text())
    for _ in range(100):
        if not Path(f"/proc/{child}").exists() or "Z" in Path(f"/proc/{child}/stat").read_text().split()[2]:
            break
        time.sleep(0.01)
    else:
        pytest.fail("a child of the compiler is still running")


def test_ctrl_c_ends_the_compiler(tmp_path):
    slow = script(tmp_path / "slow", f"echo $$ > {tmp_path}/pid; sleep 60")
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        run_compiler([str(slow)], tmp_path, 30)
    assert not Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}").exists()


def test_a_compiler_that_disappeared(toolchain, tmp_path):
    gone = module.Toolchain((str(tmp_path / "gone"),), "gcc", "1", ())
    with pytest.raises(CompilerFailed, match="cannot be started"):
        compile_c(gone, ANSWER, tmp_path / "k.so")


# ---------------------------------------------------------------- finding


def test_the_wish_is_a_name_a_path_or_a_command(toolchain):
    assert find_toolchain("gcc").kind == "gcc"
    assert find_toolchain(toolchain.command[0]).command == toolchain.command
    assert find_toolchain("gcc -m64").command[1:] == ("-m64",)


def test_a_missing_compiler_is_named_with_the_way_out(monkeypatch):
    with pytest.raises(ToolchainError, match=r"WEFT_CC=no-such-cc: no such compiler.*pip install ziglang"):
        find_toolchain("no-such-cc")
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.setattr(module, "_ziglang_file", lambda: None)
    with pytest.raises(WeftError, match=r"none of gcc, clang, cc, ziglang was found.*install gcc or clang"):
        find_toolchain()


def test_a_compiler_that_does_not_work_is_passed_over(monkeypatch, tmp_path, toolchain):
    script(tmp_path / "gcc", "exit 1")
    (tmp_path / "cc").symlink_to(toolchain.command[0])
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin")
    found = find_toolchain()
    assert found.command in {(str(tmp_path / "cc"),), ("/usr/bin/clang",)}
    with pytest.raises(ToolchainError, match="--version` failed"):
        find_toolchain("gcc")


def test_a_compiler_without_linker_says_so(tmp_path):
    broken = script(
        tmp_path / "cc", 'case "$1" in --version) echo "gcc 12";; *) echo "cannot find crt1.o"; exit 1;; esac'
    )
    with pytest.raises(ToolchainError, match=r"does not compile a trivial file: cannot find crt1\.o"):
        find_toolchain(str(broken))


def test_unknown_flags_are_dropped(tmp_path, toolchain):
    real = toolchain.command[0]
    picky = script(
        tmp_path / "cc",
        f'for a in "$@"; do case "$a" in -lmvec) echo "no libmvec"; exit 1;; esac; done; exec {real} "$@"',
    )
    found = find_toolchain(str(picky))
    assert "-lmvec" not in found.flags
    assert "-lm" in found.flags
    assert "-O3" in found.flags


def test_the_answer_is_remembered_until_the_compiler_changes(tmp_path, toolchain):
    real = toolchain.command[0]
    text = f'echo run >> {tmp_path}/runs; exec {real} "$@"'
    counting = script(tmp_path / "cc", text)
    memory = tmp_path / "toolchains.json"
    runs = tmp_path / "runs"
    first = find_toolchain(str(counting), memory)
    count = len(runs.read_text().split())
    assert find_toolchain(str(counting), memory) == first
    assert len(runs.read_text().split()) == count
    assert memory.stat().st_mode & 0o777 == 0o600
    script(tmp_path / "cc", text + "\n#changed")
    assert find_toolchain(str(counting), memory) == first
    assert len(runs.read_text().split()) == 2 * count
    memory.write_text("{ not json")
    assert find_toolchain(str(counting), memory) == first


def test_fingerprints(toolchain):
    assert processor_fingerprint() == processor_fingerprint()
    other = module.Toolchain(toolchain.command, toolchain.kind, "another version", toolchain.flags)
    assert other.fingerprint != toolchain.fingerprint == toolchain.fingerprint
