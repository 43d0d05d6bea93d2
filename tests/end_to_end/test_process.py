"""Many processes and one cache: determinism, races, kill -9, foreign directories, what a cached start imports."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.end_to_end.processes import environment, finish, run_script, shared_objects, start_python, write_script
from tests.selection import every

RIGHT = "from work import right, work\nprint(right(), work.stats.compiles, work.stats.cache_hits)\n"

# Another program of the same kind: builds what all programs share and leaves `work` to be compiled.
WARM_UP = """
import numpy as np, weft

@weft.program(fallback="error")
def other(v):
    return v + 1

other(np.arange(3.0))
"""


@pytest.fixture(scope="session")
def warm_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache in which the dispatcher is built."""
    folder = tmp_path_factory.mktemp("warm")
    run_script(folder, WARM_UP, environment(folder / "cache"))
    return folder / "cache"


@pytest.fixture
def cache(tmp_path: Path, warm_cache: Path) -> Path:
    """The test's own cache in which the dispatcher is built and no kernel of `work.py` is."""
    return shutil.copytree(warm_cache, tmp_path / "cache")


# ---------------------------------------------------------------- determinism

PARTS = 6  # the kernels in as many tests
each_part = pytest.mark.parametrize("part", every(6, range(PARTS)))

SOURCES = """
import inspect
from weft.driver.compiler import generate
from weft_bench.kernels import KERNELS

for kernel in KERNELS[{part}::{parts}]:
    inputs = kernel.inputs("S")
    print(generate(kernel.function, [inputs[name] for name in inspect.signature(kernel.function).parameters]).source)
"""


@each_part
def test_the_generated_code_does_not_depend_on_the_hash_seed(tmp_path: Path, part: int) -> None:
    script = SOURCES.format(part=part, parts=PARTS)
    outs = [
        run_script(tmp_path, script, environment(tmp_path / f"cache{seed}", PYTHONHASHSEED=seed))
        for seed in ("0", "1", "4242")
    ]

    assert len(outs[0]) > 1000
    assert outs[0] == outs[1] == outs[2]


@each_part
def test_the_results_are_the_same_every_time(tmp_path: Path, part: int) -> None:
    script = f"""
        import hashlib
        import numpy as np, weft
        from weft_bench.kernels import KERNELS

        digest = hashlib.sha256()
        for kernel in KERNELS[{part}::{PARTS}]:
            program = weft.program(kernel.function, fallback="error")
            inputs = kernel.inputs("S")
            for value in kernel.collect(program(**inputs), inputs).values():
                for part in value if isinstance(value, tuple) else (value,):
                    digest.update(np.asarray(part).tobytes())
        print(digest.hexdigest())
    """
    outs = {
        run_script(tmp_path, script, environment(tmp_path / "cache", PYTHONHASHSEED=seed, WEFT_NUM_THREADS=threads))
        for seed, threads in (("0", "1"), ("1", "2"), ("2", "2"))
    }

    assert len(outs) == 1


# ---------------------------------------------------------------- the cache


def test_a_second_process_compiles_nothing(tmp_path: Path, cache: Path) -> None:
    assert run_script(tmp_path, RIGHT, environment(cache)).split() == ["True", "1", "0"]
    assert run_script(tmp_path, RIGHT, environment(cache)).split() == ["True", "0", "1"]


@pytest.mark.slow
def test_fifty_processes_compile_once(tmp_path: Path, cache: Path) -> None:
    path = write_script(tmp_path, RIGHT)
    before = shared_objects(cache)
    processes = [start_python([path], environment(cache), tmp_path) for _ in range(50)]
    outs = [finish(process, timeout_seconds=300).split() for process in processes]

    assert [out[0] for out in outs] == ["True"] * 50
    assert sum(int(out[1]) for out in outs) == 1
    assert sum(int(out[2]) for out in outs) == 49
    assert len(shared_objects(cache) - before) == 1


SLOW_COMPILER = """#!/bin/sh
# A C compiler that never ends while the file "slow" is there, and says that it has begun.
here=$(dirname "$0")
case " $* " in
    *" -shared "*|*" -c "*)
        if [ -e "$here/slow" ]; then touch "$here/begun"; sleep 60; exit 1; fi;;
esac
exec COMPILER "$@"
"""


@pytest.mark.slow
def test_kill_in_the_middle_of_a_compile(tmp_path: Path) -> None:
    real = shutil.which("gcc") or shutil.which("clang")
    if real is None:
        pytest.skip("needs gcc or clang to stand behind the slow compiler")
    compiler = tmp_path / "cc"
    compiler.write_text(SLOW_COMPILER.replace("COMPILER", real), encoding="utf-8")
    compiler.chmod(0o755)
    env = environment(tmp_path / "cache", WEFT_CC=str(compiler))
    run_script(tmp_path / "warm", WARM_UP, env)
    path = write_script(tmp_path, RIGHT)

    (tmp_path / "slow").touch()
    process = start_python([path], env, tmp_path)
    try:
        wait_for(tmp_path / "begun")
        # The interpreter alone: the compiler it started lives on, as after a crash.
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        (tmp_path / "slow").unlink()
        out = finish(start_python([path], env, tmp_path), timeout_seconds=30)
    finally:
        end_session(process)

    assert out.split() == ["True", "1", "0"]
    assert run_script(tmp_path, RIGHT, env).split() == ["True", "0", "1"]


def wait_for(path: Path, seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while not path.exists():
        assert time.monotonic() < end, f"{path} did not appear"
        time.sleep(0.01)


def end_session(process: subprocess.Popen[str]) -> None:
    """End what the process left running; it leads a session of its own."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return


@pytest.mark.parametrize("damage", ["truncated", "other bytes", "empty"])
def test_a_damaged_entry_is_not_loaded(damage: str, tmp_path: Path, cache: Path) -> None:
    before = shared_objects(cache)
    run_script(tmp_path, RIGHT, environment(cache))
    (entry,) = shared_objects(cache) - before
    data = entry.read_bytes()
    entry.chmod(0o700)
    changed = {"truncated": data[: len(data) // 2], "other bytes": data[:-64] + b"\0" * 64, "empty": b""}
    entry.write_bytes(changed[damage])

    assert run_script(tmp_path, RIGHT, environment(cache)).split()[0] == "True"


def test_a_cache_that_cannot_be_written_is_no_reason_to_fail(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("no directory", encoding="utf-8")

    assert run_script(tmp_path, RIGHT, environment(blocked / "cache")).split()[0] == "True"


def contents(directory: Path) -> list[Path]:
    return sorted(directory.rglob("*"))


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o707], ids=oct)
def test_a_directory_that_others_may_write_is_not_used(mode: int, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    cache.chmod(mode)

    assert run_script(tmp_path, RIGHT, environment(cache)).split()[0] == "True"
    assert contents(cache) == []


def test_a_directory_of_someone_else_is_not_used(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a directory away")
    cache = tmp_path / "cache"
    cache.mkdir(mode=0o700)
    os.chown(cache, 12345, 12345)

    assert run_script(tmp_path, RIGHT, environment(cache)).split()[0] == "True"
    assert contents(cache) == []


def test_a_link_to_a_directory_of_someone_else_is_not_used(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir()
    target.chmod(0o777)
    cache = tmp_path / "cache"
    cache.symlink_to(target)

    assert run_script(tmp_path, RIGHT, environment(cache)).split()[0] == "True"
    assert contents(target) == []


def test_what_is_made_is_private(tmp_path: Path, cache: Path) -> None:
    run_script(tmp_path, RIGHT, environment(cache))

    for path in [cache, *contents(cache)]:
        assert path.stat().st_mode & 0o022 == 0, path


# ---------------------------------------------------------------- what is imported

HEAVY = ("islpy", "rich", "scipy", "weft.frontend", "weft.codegen", "weft.passes", "weft.analysis", "weft.interp")


def test_import_is_light(tmp_path: Path) -> None:
    script = f"import sys, weft\nprint([name for name in {HEAVY!r} if name in sys.modules])\n"

    assert run_script(tmp_path, script).strip() == "[]"


def test_a_cached_call_is_light(tmp_path: Path, cache: Path) -> None:
    script = RIGHT + f"import sys\nprint([name for name in {HEAVY!r} if name in sys.modules])\n"
    cold = run_script(tmp_path, script, environment(cache))
    warm = run_script(tmp_path, script, environment(cache))

    assert cold.splitlines()[0] == "True 1 0"
    assert "weft.frontend" in cold  # the names are the right ones
    assert warm.splitlines() == ["True 0 1", "[]"]
