"""What a command line names: kernels, presets, frameworks, element types, threads.

in:   words as the user typed them
out:  the things behind them; a `UsageError` that says what was meant and where to look where there are none
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from weft_bench.frameworks import Registered, load_frameworks
from weft_bench.kernel import Kernel
from weft_bench.kernels import KERNELS
from weft_bench.loading import KernelFileError, check_signature, find_outputs, load_kernel
from weft_bench.runner import KERNELS as OWN_FOLDER
from weft_bench.runner import Plan, Program
from weft_bench.words import UsageError, unknown

SPELLING: Final = "second spelling"


def choose_kernels(words: Sequence[str]) -> list[Program]:
    """The kernels named, each by our name, the field's name, or the path of a file; all of them for no words."""
    if not words:
        return [_own_program(kernel) for kernel in KERNELS]
    chosen: dict[Path, Program] = {}
    labels = {kernel.name for kernel in KERNELS}
    for word in words:
        if not is_path(word):
            program = _own_program(find_kernel(word))
        elif Path(word).absolute() not in chosen:
            program = _program_of_file(Path(word))
            if program.label in labels:  # results of two kernels must not go by one name
                program = replace(program, label=f"{program.label} ({word})")
            labels.add(program.label)
        else:
            continue
        chosen[program.kernel_path] = program
    return list(chosen.values())


def find_kernel(word: str) -> Kernel:
    """One of our kernels by either of its names."""
    names = {kernel.known_as: kernel for kernel in KERNELS} | {kernel.name: kernel for kernel in KERNELS}
    if word not in names:
        raise unknown("kernel", word, names, "`weft bench list` shows them all; a file is named by its path")
    return names[word]


def second_spellings(programs: Iterable[Program]) -> list[Program]:
    """The same kernels written by another hand."""
    from weft_bench.spellings import SPELLINGS

    spelled: list[Program] = []
    for program in programs:
        function = SPELLINGS.get(program.kernel.name)
        if function is not None and program.path.parent == OWN_FOLDER:
            spelled.append(
                replace(
                    program,
                    label=f"{program.label} ({SPELLING})",
                    kernel=replace(program.kernel, function=function),
                    path=Path(function.__code__.co_filename),
                )
            )
    return spelled


def is_path(word: str) -> bool:
    """Whether a word of the command line means a file and not a kernel's name."""
    return word.endswith(".py") or os.sep in word


def _own_program(kernel: Kernel) -> Program:
    path = Path(kernel.function.__code__.co_filename)
    return Program(label=kernel.name, kernel=kernel, kernel_path=path, path=path)


def _program_of_file(path: Path) -> Program:
    """A user's own file, checked by making its inputs once and, where it names no outputs, running it once."""
    place = path.absolute()
    kernel = load_kernel(place)
    preset = next(iter(kernel.presets))
    try:
        inputs = kernel.inputs(preset)
        check_signature(place, kernel, inputs)
        kernel = find_outputs(place, kernel, inputs)
    except KernelFileError:
        raise
    except Exception as error:
        problem = f"{kernel.name} cannot be run at preset {preset}: {type(error).__name__}: {error}"
        raise KernelFileError(path, _last_line_in(error, place), problem, "a kernel that runs in NumPy") from error
    return Program(label=kernel.name, kernel=kernel, kernel_path=place, path=place)


def _last_line_in(error: Exception, path: Path) -> int | None:
    import traceback

    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    return lines[-1] if lines else None


def choose_frameworks(words: Sequence[str], known: Mapping[str, Registered] | None = None) -> list[Registered]:
    """The frameworks named; "all" stands for every one of them."""
    frameworks = load_frameworks() if known is None else known
    chosen: dict[str, Registered] = {}
    for word in words:
        if word == "all":
            chosen |= {name: item for name, item in frameworks.items() if item.framework is not None}
        elif word not in frameworks:
            raise unknown("framework", word, frameworks, f"there are {', '.join(frameworks)}")
        else:
            frameworks[word].loaded()
            chosen[word] = frameworks[word]
    return list(chosen.values())


def check_presets(programs: Iterable[Program], presets: Sequence[str]) -> None:
    """Every kernel must have every preset asked for."""
    for program in programs:
        for preset in presets:
            if preset not in program.kernel.presets:
                listed = ", ".join(program.kernel.presets)
                way_out = f"{program.label} has {listed}"
                raise unknown("preset", preset, program.kernel.presets, way_out)


def choose_dtype(kernel: Kernel, wanted: str | None) -> str | None:
    """The element type to run a kernel with: the one wanted, else its last; None where it does not have it."""
    if wanted is None:
        return kernel.dtypes[-1]
    return wanted if wanted in kernel.dtypes else None


def check_dtype(wanted: str | None, programs: Iterable[Program]) -> None:
    """At least one kernel must take the element type."""
    if wanted is None:
        return
    known = list(dict.fromkeys(name for program in programs for name in program.kernel.dtypes))
    if wanted not in known:
        raise unknown("dtype", wanted, known, f"these kernels take {', '.join(known)}")


def split(text: str) -> list[str]:
    """The words of a list with commas."""
    return [word.strip() for word in text.split(",") if word.strip()]


def choose_threads(text: str | None) -> list[int]:
    """Numbers of threads; by default as many as there are processors for us."""
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if text is None:
        return [available]
    chosen: list[int] = []
    for word in split(text):
        if not word.isdigit() or not 1 <= int(word) <= available:
            raise UsageError(f"--threads {word}: numbers from 1 to {available}, the processors there are for us")
        chosen.append(int(word))
    if not chosen:
        raise UsageError(f"--threads wants numbers, such as 1,{available}")
    return list(dict.fromkeys(chosen))


def make_plans(
    programs: Sequence[Program],
    frameworks: Sequence[Registered],
    presets: Sequence[str],
    dtype: str | None,
    threads: Sequence[int],
) -> list[Plan]:
    """Every combination, kernel by kernel: what is interrupted then holds whole rows of the table."""
    return [
        Plan(program=program, framework=framework, preset=preset, dtype=element, threads=count)
        for preset in presets
        for program in programs
        if (element := choose_dtype(program.kernel, dtype)) is not None
        for count in threads
        for framework in frameworks
    ]
