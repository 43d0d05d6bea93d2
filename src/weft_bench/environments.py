"""One virtual environment per framework: their pins conflict with each other and with Weft's.

in:   a framework with `requirements`
out:  the interpreter its workers run in, or why there is none; `create` makes it, once for the same requirements, and
      `register` takes one that has the framework already

Everything lies in one folder, $WEFT_BENCH_HOME or `weft-bench` in the user's cache:

    environments/NAME      the environment, with a stamp of what was asked of pip and which Python it is; or the stamp
                           alone, with the interpreter that was registered
    artefacts/NAME         what the framework compiled
    package/*/weft_bench   a link to this package, and nothing else: workers have it on PYTHONPATH, so that none of
                           the packages installed beside Weft reach them
    errors                 all that a failed worker said
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias, cast

import weft_bench
from weft_bench.frameworks import Registered
from weft_bench.frameworks.protocol import Framework

Say: TypeAlias = Callable[[str], None]

THREAD_VARIABLES: Final = (
    "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS", "WEFT_NUM_THREADS",
)  # fmt: skip
# Without kept bytecode, Python compiles what a framework imports at its first call each time: that is not its time.
DROPPED: Final = ("PYTHONHOME", "PYTHONDONTWRITEBYTECODE")
# What the user's shell says to a framework would make its numbers another machine's.
DROPPED_PREFIXES: Final = ("WEFT_", "NUMBA_", "JAX_", "XLA_", "OMP_", "KMP_", "GOMP_", "DACE_", "CUPY_", "OPENBLAS_")
KEPT: Final = ("WEFT_CC", "WEFT_BENCH_HOME", "WEFT_CACHE_DIR")
_STAMP: Final = "weft-bench.json"
_ASK_SECONDS: Final = 300.0  # the first import of a framework with a GPU's libraries takes long
_ASK_VERSION: Final = (
    "import sys; from weft_bench.worker import load_attribute; print(load_attribute(sys.argv[1]).version())"
)


class SetupError(Exception):
    """An environment cannot be made; `str()` says which, at what step, and what to do."""


def home() -> Path:
    """The folder of everything the suite keeps."""
    explicit = os.environ.get("WEFT_BENCH_HOME")
    if explicit:
        return Path(explicit)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "weft-bench"


def folder_of(framework: Framework) -> Path:
    """The environment of a framework; those with the same requirements and the same overrides could share one."""
    return home() / "environments" / framework.name


def interpreter_of(framework: Framework) -> Path:
    """The Python a framework's workers run in."""
    if not framework.requirements:
        return Path(sys.executable)
    return registered_interpreter(framework) or folder_of(framework) / "bin" / "python"


def registered_interpreter(framework: Framework) -> Path | None:
    """The one `weft bench setup --python` named, where it did."""
    named = _read_stamp(framework).get("interpreter")
    return Path(named) if isinstance(named, str) else None


def unavailable(framework: Framework) -> str:
    """Why the framework cannot run here; nothing if it can."""
    if framework.needs_gpu and not has_gpu():
        return "no GPU: neither nvidia-smi nor /dev/nvidia0 shows one"
    if not framework.requirements:
        return ""
    registered = registered_interpreter(framework)
    if registered is not None:
        again = f"weft bench setup {framework.name}, with --python for another"
        return "" if registered.exists() else f"its interpreter {registered} is gone: {again}"
    if not interpreter_of(framework).exists():
        return f"not installed: weft bench setup {framework.name}"
    if _read_stamp(framework) != _wanted_stamp(framework):
        return f"its environment is unfinished or out of date: weft bench setup {framework.name}"
    return ""


def has_gpu() -> bool:
    """Whether an NVIDIA device is there: its file, or `nvidia-smi` that lists one."""
    if Path("/dev/nvidia0").exists():
        return True
    program = shutil.which("nvidia-smi")
    if program is None:
        return False
    try:
        listed = subprocess.run([program, "-L"], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return listed.returncode == 0 and "GPU" in listed.stdout


def create(framework: Framework, say: Say, *, again: bool = False) -> bool:
    """Make the environment if it is not there as wanted; whether anything had to be done."""
    if not framework.requirements:
        say(f"{framework.name}: runs in Weft's own interpreter, nothing to install")
        return False
    folder, registered = folder_of(framework), registered_interpreter(framework)
    if not again and registered is not None and registered.exists():
        say(f"{framework.name}: ready in {registered}, which --python named; --again makes an environment of its own")
        return False
    if not again and _read_stamp(framework) == _wanted_stamp(framework):
        say(f"{framework.name}: ready in {folder}")
        return False
    say(f"{framework.name}: making {folder}")
    _remove(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    way_out = "Debian has the module in python3-venv"
    _step(framework, "python -m venv", [sys.executable, "-m", "venv", str(folder)], way_out)
    say(f"{framework.name}: pip install {' '.join(framework.requirements)}")
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    _step(framework, "pip install", [*pip, *framework.requirements], "is a package index reachable?")
    (folder / _STAMP).write_text(json.dumps(_wanted_stamp(framework)), encoding="utf-8")
    say(f"{framework.name}: ready")
    return True


def register(registered: Registered, python: str, say: Say) -> None:
    """Have the framework's workers run in an interpreter that has it already, once it is seen to load there.

    That is for machines where pip reaches no index, and for a build of a framework that no index has.
    """
    framework = registered.loaded()
    if not framework.requirements:
        message = "it runs in Weft's own interpreter; --python is for frameworks that pip installs"
        raise SetupError(f"{framework.name}: {message}")
    found = shutil.which(python)
    if found is None:
        raise SetupError(f"{framework.name}: --python {python} is no program here: give the path of a Python")
    interpreter = Path(found).absolute()  # links as they are: a virtual environment is known by the place of its link
    version = _ask_version(registered, interpreter)
    folder = folder_of(framework)
    _remove(folder)
    folder.mkdir(parents=True)
    (folder / _STAMP).write_text(json.dumps({"interpreter": str(interpreter)}), encoding="utf-8")
    say(f"{framework.name}: ready in {interpreter}, with {framework.title} {version}")


def _ask_version(registered: Registered, interpreter: Path) -> str:
    """What the framework calls its version there, asked as a worker would."""
    name, wanted = registered.name, " ".join(registered.loaded().requirements)
    way_out = f"it must be a Python from 3.11 on with what `pip install {wanted}` brings, in whichever versions"
    command = [str(interpreter), "-P", "-c", _ASK_VERSION, registered.place]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            env=worker_environment(registered, 1),
            check=False,
            timeout=_ASK_SECONDS,
        )
    except OSError as error:
        raise SetupError(f"{name}: {interpreter} cannot be run: {error.strerror}; {way_out}") from error
    except subprocess.TimeoutExpired as error:
        raise SetupError(f"{name}: {interpreter} did not load it within {_ASK_SECONDS:.0f} s") from error
    if done.returncode or not done.stdout.strip():
        raise SetupError(f"{name}: {interpreter} does not load it; {way_out}:\n{_last_lines(done)}")
    return done.stdout.strip().splitlines()[-1]


def _remove(folder: Path) -> None:
    if folder.is_symlink():
        folder.unlink()  # not what it leads to: that is somebody else's
    shutil.rmtree(folder, ignore_errors=True)


def _wanted_stamp(framework: Framework) -> dict[str, object]:
    version = ".".join(str(number) for number in sys.version_info[:3])
    return {"requirements": list(framework.requirements), "python": version}


def _read_stamp(framework: Framework) -> dict[str, Any]:
    """What the environment says of itself; nothing where there is none, or it is not finished."""
    try:
        stamp = json.loads((folder_of(framework) / _STAMP).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return cast("dict[str, Any]", stamp) if isinstance(stamp, dict) else {}


def _step(framework: Framework, step: str, command: Sequence[str], way_out: str) -> None:
    """Run one command of the setup, without our packages on its path."""
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=clean, check=False)
    except OSError as error:
        raise SetupError(f"{framework.name}: {step} cannot be run: {error} ({way_out})") from error
    if done.returncode:
        raise SetupError(f"{framework.name}: {step} failed ({way_out}):\n{_last_lines(done)}")


def _last_lines(done: subprocess.CompletedProcess[str]) -> str:
    """The end of what a command said."""
    lines = [line for line in (done.stderr or done.stdout).splitlines() if line.strip()]
    return "\n".join(f"  {line}" for line in lines[-5:]) or f"  nothing was said; the status is {done.returncode}"


# ---------------------------------------------------------------- what a worker is started with


def worker_environment(registered: Registered, threads: int, without: str = "") -> dict[str, str]:
    """The variables of a worker: threads fixed for every library, our package alone on its path."""
    framework = registered.loaded()
    chosen = {name: value for name, value in os.environ.items() if _is_plain(name)}
    chosen |= dict.fromkeys(THREAD_VARIABLES, str(threads))
    chosen |= {"PYTHONHASHSEED": "0", "PYTHONUNBUFFERED": "1"}
    chosen |= {"PYTHONPATH": os.pathsep.join(_python_path(registered))}
    if without:
        chosen["WEFT_WITHOUT"] = without
    return chosen | dict(framework.environment(threads))


def _is_plain(name: str) -> bool:
    return name in KEPT or not (name in DROPPED or name.startswith(DROPPED_PREFIXES))


def _python_path(registered: Registered) -> list[str]:
    """Where a worker finds `weft_bench` and the adapter; in Weft's own interpreter, all we can import ourselves."""
    if not registered.loaded().requirements:
        return [entry for entry in sys.path if entry and "site-packages" not in entry and not entry.endswith(".zip")]
    module = registered.place.partition(":")[0]
    if module.partition(".")[0] == "weft_bench":
        return [str(package_folder())]
    package = importlib.import_module(module.partition(".")[0])
    file = package.__file__
    place = Path(file).parent if file else Path()
    return [str(package_folder()), str(place.parent if hasattr(package, "__path__") else place)]


def package_folder() -> Path:
    """A folder with a link to `weft_bench` and nothing else."""
    source = Path(weft_bench.__file__).resolve().parent
    folder = home() / "package" / hashlib.sha256(str(source).encode()).hexdigest()[:8]  # one for each checkout
    folder.mkdir(parents=True, exist_ok=True)
    link = folder / "weft_bench"
    if not (link.is_symlink() and Path(os.readlink(link)) == source):
        fresh = folder / f".weft_bench.{os.getpid()}"
        fresh.symlink_to(source)
        fresh.replace(link)  # at once: another run may be starting workers through it
    return folder
