"""`weft bench list`: the kernels with their sizes, the frameworks and whether they can run here."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence

from rich import box
from rich.console import Console
from rich.table import Table

from weft_bench.environments import registered_interpreter, unavailable
from weft_bench.frameworks import Registered, load_frameworks
from weft_bench.frameworks.protocol import Framework
from weft_bench.kernel import Kernel
from weft_bench.selection import choose_kernels, find_kernel


def run(argv: Sequence[str]) -> int:
    """Print the tables, or all about the kernels named."""
    parser = argparse.ArgumentParser(prog="weft bench list", description=__doc__)
    parser.add_argument("kernels", nargs="*", metavar="KERNEL", help="say more about these")
    parser.add_argument("--names", action="store_true", help="nothing but the kernels' names, one a line")
    options = parser.parse_args(argv)
    console = Console()
    if options.names:
        print("\n".join(program.label for program in choose_kernels(options.kernels)))
        return 0
    if options.kernels:
        for word in options.kernels:
            describe_kernel(find_kernel(word), console)
        return 0
    console.print(kernel_table([program.kernel for program in choose_kernels(())]))
    console.print(framework_table(load_frameworks()))
    return 0


def kernel_table(kernels: Sequence[Kernel]) -> Table:
    """One row per kernel."""
    table = Table(title=f"{len(kernels)} kernels", title_justify="left", box=box.SIMPLE_HEAD)
    for heading in ("kernel", "known as", "what it computes", "domain", "dwarf", "presets"):
        table.add_column(heading, no_wrap=heading == "kernel")
    for kernel in kernels:
        table.add_row(
            kernel.name, kernel.known_as, kernel.title, kernel.domain, kernel.dwarf, " ".join(kernel.presets)
        )  # fmt: skip
    return table


def framework_table(frameworks: Mapping[str, Registered]) -> Table:
    """One row per framework, with what it may do to floating point and what is missing for it to run."""
    table = Table(title=f"{len(frameworks)} frameworks", title_justify="left", box=box.SIMPLE_HEAD)
    for heading in ("framework", "title", "mathematics", "here"):
        table.add_column(heading, no_wrap=heading == "framework")
    for name, registered in frameworks.items():
        framework = registered.framework
        if framework is None:
            table.add_row(name, "", "", registered.problem)
        else:
            table.add_row(name, framework.title, framework.math, unavailable(framework) or _ready(framework))
    return table


def _ready(framework: Framework) -> str:
    """Whose interpreter it runs in, where that is not its own."""
    registered = registered_interpreter(framework)
    return "ready" if registered is None else f"ready, in {registered}"


def describe_kernel(kernel: Kernel, console: Console) -> None:
    """Its sizes, types, outputs and tolerance."""
    console.print(f"[bold]{kernel.name}[/] ({kernel.known_as}): {kernel.title}", highlight=False)
    console.print(f"  domain    {kernel.domain}; dwarf {kernel.dwarf}", highlight=False)
    for preset, sizes in kernel.presets.items():
        listed = ", ".join(f"{name} {size}" for name, size in sizes.items())
        tolerance = kernel.tolerance(sizes)
        error = f"{tolerance:.0f} eps" if tolerance else "the same bits"
        console.print(f"  {preset:<9} {listed} (error allowed: {error})", highlight=False)
    console.print(f"  types     {', '.join(kernel.dtypes)}; outputs {', '.join(kernel.outputs)}", highlight=False)
    console.print(f"  source    {kernel.function.__code__.co_filename}", highlight=False, soft_wrap=True)
