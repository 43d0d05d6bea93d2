"""Programs in scripts, `python -c` and the REPL; settings of the environment; fork; Ctrl-C. Each in its own process."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from tests.end_to_end.processes import environment, finish, run_script, start_python, write_script

ONE_LINER = """
import numpy as np, weft
@weft.program(fallback="error")
def f(v, k):
    t = 0.0
    for x in v:
        t += x * k
    return t
v = np.arange(5.0)
print(f(v, 3), f.py_func(v, 3), f.stats.native_calls, f.stats.fallback_calls)
"""


# ---------------------------------------------------------------- places


def test_script(tmp_path: Path) -> None:
    assert run_script(tmp_path, ONE_LINER).split() == ["30.0", "30.0", "1", "0"]


def test_command_of_the_interpreter(tmp_path: Path) -> None:
    process = start_python(["-c", ONE_LINER], environment(tmp_path / "cache"), tmp_path)

    assert finish(process).split() == ["30.0", "30.0", "1", "0"]


def test_repl(tmp_path: Path) -> None:
    lines = [
        "import warnings",
        "import numpy as np, weft",
        "warnings.simplefilter('ignore')",
        "@weft.program",
        "def f(v, k):",
        "    t = 0.0",
        "    for x in v:",
        "        t += x * k",
        "    return t",
        "",
        "print('result', f(np.arange(5.0), 3), type(f(np.arange(5.0), 3)).__name__)",
    ]
    process = start_python(["-i", "-q"], environment(tmp_path / "cache"), tmp_path, text="\n".join(lines) + "\n")

    assert "result 30.0 float64" in finish(process)


def test_module_run_as_a_program(tmp_path: Path) -> None:
    write_script(tmp_path, ONE_LINER, "module.py")

    process = start_python(["-m", "module"], environment(tmp_path / "cache"), tmp_path)

    assert finish(process).split() == ["30.0", "30.0", "1", "0"]


def test_a_script_that_changed_is_compiled_anew(tmp_path: Path) -> None:
    assert run_script(tmp_path, ONE_LINER).split()[:2] == ["30.0", "30.0"]
    assert run_script(tmp_path, ONE_LINER.replace("x * k", "x + k")).split()[:2] == ["25.0", "25.0"]
    assert run_script(tmp_path, ONE_LINER).split()[:2] == ["30.0", "30.0"]


def test_a_helper_that_changed_is_compiled_anew(tmp_path: Path) -> None:
    script = "from helper import g\n" + ONE_LINER.replace("x * k", "g(x, k)")
    for body, result in (("x * k", "30.0"), ("x + k", "25.0"), ("x * k", "30.0")):
        (tmp_path / "helper.py").write_text(f"def g(x, k):\n    return {body}\n", encoding="utf-8")
        out = run_script(tmp_path, script, environment(tmp_path / "cache", PYTHONDONTWRITEBYTECODE="1"))
        assert out.split()[:2] == [result, result]


# ---------------------------------------------------------------- settings


def test_disabled(tmp_path: Path) -> None:
    script = """
        import numpy as np, weft
        from work import right, work

        @weft.program(fallback="error")
        def impossible(v):
            for i, j in weft.map[0:2, 0:3]:
                v[i] += j
            for i in weft.prange(2):
                v[i] *= 2
            return eval("v.sum()", {"v": v})

        v = np.arange(4.0)
        print(right(), impossible(v), v.tolist(), work.stats.native_calls, work.stats.compiles)
    """
    out = run_script(tmp_path, script, environment(tmp_path / "cache", WEFT_DISABLE="1"))

    assert out.split(maxsplit=2) == ["True", "19.0", "[6.0, 8.0, 2.0, 3.0] 0 0\n"]


def test_dump(tmp_path: Path) -> None:
    dump = tmp_path / "dump"
    out = run_script(
        tmp_path, "from work import right\nprint(right())\n", environment(tmp_path / "cache", WEFT_DUMP=str(dump))
    )

    files = [path for path in dump.rglob("*") if path.is_file()]
    assert out.strip() == "True"
    assert any(path.suffix == ".c" and "work" in path.read_text(encoding="utf-8") for path in files)
    assert any("log" in path.name for path in files)
    assert len(files) >= 3, files  # the graph after the frontend at the least


@pytest.mark.parametrize("threads", ["1", "2"])
def test_number_of_threads(threads: str, tmp_path: Path) -> None:
    script = """
        import hashlib
        import numpy as np, weft

        @weft.program(fallback="error")
        def f(a, b):
            return (a * 2 + b).sum(), a * b - 1

        a, b = np.linspace(0, 1, 2_000_000), np.linspace(1, 3, 2_000_000)
        total, array = f(a, b)
        print(np.array_equal(array, a * b - 1), total.hex(), hashlib.sha256(array).hexdigest())
    """
    outs = [
        run_script(tmp_path, script, environment(tmp_path / "cache", WEFT_NUM_THREADS=number))
        for number in ("1", threads, threads)
    ]

    assert outs[0].startswith("True")
    assert len(set(outs)) == 1


def test_no_compiler(tmp_path: Path) -> None:
    script = """
        import warnings
        import weft
        from work import expected, work
        import numpy as np

        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            g = weft.program(work.py_func)
            print(g(np.arange(4.0), 10) == expected()[0], [w.category.__name__ for w in seen])
        try:
            work(np.arange(4.0), 10)
        except weft.WeftError as error:
            print(str(error))
    """
    missing = str(tmp_path / "no-such-cc")
    out = run_script(tmp_path, script, environment(tmp_path / "cache", WEFT_CC=missing))

    assert out.startswith("True ['FallbackWarning']\n")
    assert "no-such-cc" in out


# ---------------------------------------------------------------- fork


def test_fork(tmp_path: Path) -> None:
    script = """
        import os
        import numpy as np, weft
        from work import right

        @weft.program(fallback="error")
        def wide(a):
            return a * 2 + 1

        a = np.arange(3_000_000.0)
        def check():
            return right() and np.array_equal(wide(a), a * 2 + 1)

        assert check()
        children = []
        for _ in range(3):
            pid = os.fork()
            if pid == 0:
                os._exit(0 if check() and check() else 1)
            children.append(pid)
        codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children]
        print(codes, check())
    """

    assert run_script(tmp_path, script).strip() == "[0, 0, 0] True"


def test_fork_server_of_multiprocessing(tmp_path: Path) -> None:
    script = """
        import multiprocessing
        from work import right

        def task(_):
            return right()

        if __name__ == "__main__":
            right()
            with multiprocessing.get_context("fork").Pool(3) as pool:
                print(all(pool.map(task, range(6))))
    """

    assert run_script(tmp_path, script).strip() == "True"


# ---------------------------------------------------------------- Ctrl-C

LONG_LOOPS = {
    "python ints": "for i in range(n):\n        x = (x * 1103515245 + 12345 + i) % 2147483648",
    "while": "i = 0\n    while i < n:\n        x = (x * 1103515245 + 12345) % 2147483648\n        i += 1",
    "elements": "for i in range(n):\n        v[i % 8] = v[(i + 3) % 8] * 0.5 + 1.0",
    "whole arrays": "for i in range(n):\n        v[1:] = v[:-1] * 0.5 + 1.0",
}
INTERRUPTED = """
import sys, time
import numpy as np, weft

@weft.program(fallback="error")
def long(v, x, n):
    BODY
    return x

long(np.ones(8), 1, 10)
print("ready", flush=True)
try:
    long(np.ones(8), 1, 10**12)
    print("finished")
except KeyboardInterrupt:
    print(time.monotonic(), long.stats.fallback_calls, long.stats.resumes, flush=True)
print(long(np.ones(8), 1, 10) == long.py_func(np.ones(8), 1, 10))
"""


@pytest.mark.parametrize("body", LONG_LOOPS)
def test_interrupt(body: str, tmp_path: Path) -> None:
    path = write_script(tmp_path, INTERRUPTED.replace("BODY", LONG_LOOPS[body]))
    process = start_python([path], environment(tmp_path / "cache"), tmp_path)
    try:
        assert process.stdout is not None
        if process.stdout.readline() != "ready\n":
            pytest.fail(process.communicate()[1])
        time.sleep(0.5)
        sent = time.monotonic()
        os.kill(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=20)
    finally:
        process.kill()
    assert process.returncode == 0, err
    caught, fallback_calls, resumes, works_again = out.split()
    assert (fallback_calls, resumes, works_again) == ("0", "0", "True")
    assert float(caught) - sent <= 0.2
