"""Kernels and overrides from files.

in:   the path of a kernel's file (ours, or one that a user wrote) or of an override
out:  the `Kernel`, or the function of a name; the module around it stays loaded, so its helpers are found

A file that ends with `KERNEL = Kernel(...)` is taken as it is. A user's file may be less: one function, and one named
`make_inputs` or `initialize` that gives its arguments.

    def blur(A, B):                     # the kernel: the only other function, or the one called like the file
        B[1:-1] = (A[:-2] + A[1:-1] + A[2:]) / 3

    def make_inputs(n=100_000):         # sizes with defaults; `dtype` and `rng` are given to parameters of these names
        A = np.random.default_rng(0).random(n)
        return {"A": A, "B": np.zeros(n)}        # by name, or a tuple in the order of the kernel's parameters

Such a file may also set `PRESETS = {"S": {"n": 1000}, "M": ...}`, `OUTPUTS = ("B",)`, `DTYPES` and `TOLERANCE`.
This module runs in the frameworks' interpreters too: standard library, NumPy and `weft_bench.kernel` alone.
"""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from weft_bench.kernel import RETURN, Inputs, Kernel, Sizes

if TYPE_CHECKING:
    from weft_bench.frameworks.protocol import Source

MAKERS = ("make_inputs", "initialize")
PLAIN_TOLERANCE_EPS = 4096.0  # sums of some thousand terms in another order; a file says better by TOLERANCE
_EXPECTED = (
    "a kernel's file ends with KERNEL = Kernel(...), or holds one function and a function make_inputs that returns "
    "its arguments (docs/bench.md, 'Your own kernel')"
)


class KernelFileError(Exception):
    """A kernel's file cannot be used; `str()` names the file, the line, and what is expected."""

    def __init__(self, path: Path, line: int | None, problem: str, expected: str = _EXPECTED) -> None:
        place = str(path) if line is None else f"{path}:{line}"
        super().__init__(f"{place}: {problem}\n  expected: {expected}")


def load_module(path: Path) -> ModuleType:
    """Run a file as a module under a name of its own: a kernel and its override may share their file's name."""
    name = f"{path.stem}_{hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:8]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise KernelFileError(path, None, "there is no such Python file" if not path.exists() else "not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise _not_loaded(path, error) from error
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _not_loaded(path: Path, error: Exception) -> KernelFileError:
    if isinstance(error, SyntaxError):
        return KernelFileError(path, error.lineno, f"not Python: {error.msg}", "a file that Python can import")
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    problem = f"importing it raises {type(error).__name__}: {error}"
    return KernelFileError(path, lines[-1] if lines else None, problem, "a file that Python can import")


def load_function(path: Path, name: str) -> Callable[..., Any]:
    """The function of that name in a file."""
    function = getattr(load_module(path), name, None)
    if not callable(function):
        raise KernelFileError(path, None, f"it has no function {name}", f"def {name}(...) with the kernel's parameters")
    return cast("Callable[..., Any]", function)


def function_of(source: Source) -> Callable[..., Any]:
    """What a framework that takes Python functions is given: the override's function, or the kernel's own."""
    return load_function(source.path, source.kernel.name) if source.is_override else source.kernel.function


def load_kernel(path: Path) -> Kernel:
    """The kernel of a file. `outputs` is empty for a file that names none: `find_outputs` sees what a run changes."""
    _make_siblings_importable(path)
    module = load_module(path)
    kernel = getattr(module, "KERNEL", None)
    if isinstance(kernel, Kernel):
        return kernel
    if kernel is not None:
        raise KernelFileError(path, None, f"KERNEL is {type(kernel).__name__}, not weft_bench.kernel.Kernel")
    return _kernel_of_functions(path, module)


def _make_siblings_importable(path: Path) -> None:
    """A user's file may import what lies beside it, as it does when Python runs it."""
    folder, ours = str(path.resolve().parent), str(Path(__file__).parent)
    if not folder.startswith(ours) and folder not in sys.path:
        sys.path.append(folder)


def _kernel_of_functions(path: Path, module: ModuleType) -> Kernel:
    functions = {
        name: value
        for name, value in vars(module).items()
        if isinstance(value, FunctionType) and value.__module__ == module.__name__ and not name.startswith("_")
    }
    maker = next((functions.pop(name) for name in MAKERS if name in functions), None)
    function = _choose_function(path, functions)
    if maker is None:
        line = function.__code__.co_firstlineno
        raise KernelFileError(path, line, f"nothing makes the arguments of {function.__name__}")
    first_line = (inspect.getdoc(function) or function.__name__).splitlines()[0]
    made: dict[str, Any] = {
        "name": function.__name__,
        "known_as": function.__name__,
        "function": function,
        "title": first_line,
        "domain": "Your own",
        "dwarf": "-",
        "presets": _presets(path, module, maker),
        "make_inputs": _adapt_maker(path, maker, function),
        "dtypes": tuple(getattr(module, "DTYPES", ("float64",))),
        "outputs": tuple(getattr(module, "OUTPUTS", ())),
        "tolerance": _constant(float(getattr(module, "TOLERANCE", PLAIN_TOLERANCE_EPS))),
    }
    return Kernel(**made)


def _choose_function(path: Path, functions: Mapping[str, FunctionType]) -> FunctionType:
    for name in (path.stem, "kernel"):
        if name in functions:
            return functions[name]
    if len(functions) == 1:
        return next(iter(functions.values()))
    if not functions:
        raise KernelFileError(path, None, "it has neither KERNEL nor a function")
    listed = ", ".join(functions)
    raise KernelFileError(
        path, None, f"which of its functions is the kernel: {listed}?", f"one function named {path.stem} or kernel"
    )


def _constant(value: float) -> Callable[[Sizes], float]:
    return lambda _sizes: value


def _presets(path: Path, module: ModuleType, maker: FunctionType) -> Mapping[str, Sizes]:
    presets = getattr(module, "PRESETS", None)
    if presets is None:
        parameters = inspect.signature(maker).parameters.values()
        return {"S": {item.name: item.default for item in parameters if isinstance(item.default, int)}}
    if not isinstance(presets, Mapping):
        raise KernelFileError(path, None, "PRESETS is not a mapping", 'PRESETS = {"S": {"n": 1000}, ...}')
    return cast("Mapping[str, Sizes]", presets)


def _adapt_maker(path: Path, maker: FunctionType, function: FunctionType) -> Callable[..., Inputs]:
    """`maker` behind the signature of `Kernel.make_inputs`: sizes by name, `dtype` and `rng` where it wants them."""

    def make_inputs(sizes: Sizes, dtype: np.dtype[Any], rng: np.random.Generator) -> Inputs:
        offered = {**sizes, "sizes": sizes, "dtype": dtype, "rng": rng}
        parameters = inspect.signature(maker).parameters
        missing = [n for n, item in parameters.items() if n not in offered and item.default is inspect.Parameter.empty]
        if missing:
            line = maker.__code__.co_firstlineno
            raise KernelFileError(
                path, line, f"{maker.__name__} wants {', '.join(missing)}, which no preset gives",
                f'a default, or PRESETS = {{"S": {{"{missing[0]}": ...}}}}',
            )  # fmt: skip
        made = maker(**{name: offered[name] for name in parameters if name in offered})
        return _by_name(made, list(inspect.signature(function).parameters))

    return make_inputs


def _by_name(made: Any, parameters: Sequence[str]) -> Inputs:
    if isinstance(made, Mapping):
        return dict(cast("Mapping[str, Any]", made))
    items = tuple(cast("tuple[Any, ...]", made)) if isinstance(made, tuple | list) else (made,)
    names = [*parameters, *(f"argument {number + 1}" for number in range(len(parameters), len(items)))]
    return dict(zip(names, items, strict=False))


def check_signature(path: Path, kernel: Kernel, inputs: Inputs) -> None:
    """The function must take, by name, what the maker gives; and what it calls outputs must be among them."""
    function = inspect.unwrap(kernel.function)
    line = function.__code__.co_firstlineno if isinstance(function, FunctionType) else None
    given = f"def {kernel.name}({', '.join(inputs)})"
    try:
        inspect.signature(kernel.function).bind(**inputs)
    except TypeError as error:
        taken = ", ".join(inspect.signature(kernel.function).parameters)
        problem = f"{kernel.name}({taken}) cannot take what make_inputs gives: {error}"
        raise KernelFileError(path, line, problem, f"{given}, or a make_inputs that gives {taken}") from error
    strange = [name for name in kernel.outputs if name != RETURN and name not in inputs]
    if strange:
        listed = ", ".join([*inputs, RETURN])
        raise KernelFileError(path, line, f"the output {strange[0]} is no argument of it", f"outputs among {listed}")


def find_outputs(path: Path, kernel: Kernel, inputs: Inputs) -> Kernel:
    """The kernel with its outputs, seen from one run where its file does not name them."""
    if kernel.outputs:
        return kernel
    copies: Inputs = {name: value.copy() if isinstance(value, np.ndarray) else value for name, value in inputs.items()}
    result = kernel.function(**copies)
    outputs = [
        name
        for name, value in inputs.items()
        if isinstance(value, np.ndarray) and value.tobytes() != copies[name].tobytes()
    ]
    if result is not None:
        outputs.append(RETURN)
    if not outputs:
        line = cast("FunctionType", kernel.function).__code__.co_firstlineno
        problem = f"{kernel.name} returns nothing and changes no argument"
        raise KernelFileError(path, line, problem, "something to validate: a result, or an array written to")
    return replace(kernel, outputs=tuple(outputs))
