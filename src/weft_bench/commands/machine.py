"""`weft bench machine`: what this machine is and can do, as tables or as the JSON that is stored with every run."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from weft_bench.machine import describe

UNKNOWN = "not told"


def show_bytes(size: float | None) -> str:
    """`1.25 MiB`."""
    if size is None:
        return UNKNOWN
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.3g} {unit}"
        size /= 1024
    return f"{size:.3g} GiB"


def show_rate(rate: float | None) -> str:
    """In billions per second; empty for what was not measured."""
    return "" if rate is None else f"{rate / 1e9:.3g}"


def show_small(seconds: float) -> str:
    """`85 ns`, `1.6 us`, `0.26 ms`."""
    unit, factor = ("ns", 1e9) if seconds < 1e-6 else ("us", 1e6) if seconds < 1e-4 else ("ms", 1e3)
    return f"{seconds * factor:.3g} {unit}"


# ---------------------------------------------------------------- tables


def make_fact_table(machine: Mapping[str, Any]) -> Table:
    """What the machine is."""
    table = Table(title="Machine", title_justify="left", show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in list_facts(machine):
        table.add_row(name, value)
    return table


def list_facts(machine: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The rows of that table."""
    cpu, blas = machine["cpu"], machine["blas"]
    caches = ", ".join(
        f"L{item['level']} {show_bytes(item['bytes'])}" + (f" for {item['shared_by']}" if item["shared_by"] > 1 else "")
        for item in machine["caches"]
    )
    virtual = {True: "yes", False: "no", None: UNKNOWN}[machine["virtual_machine"]]
    threads = UNKNOWN if blas["threads"] is None else str(blas["threads"])
    return [
        ("processor", cpu["model"] or UNKNOWN),
        ("cores used", f"{cpu['cores_used']} with {cpu['logical_used']} threads, of {cpu['logical_total']}"),
        ("vectors", " ".join(cpu["simd"]) or UNKNOWN),
        ("caches", caches or UNKNOWN),
        ("memory", show_bytes(machine["memory_limit_bytes"] or machine["memory_bytes"])),
        *(
            ("GPU", f"{gpu['model']}, {show_bytes(gpu['memory_bytes'])}, driver {gpu['driver']}")
            for gpu in machine.get("gpus", [])
        ),
        ("kernel", machine["kernel"]),
        ("virtual machine", virtual),
        ("governor", machine["governor"] or UNKNOWN),
        ("transparent huge pages", machine["transparent_huge_pages"] or UNKNOWN),
        ("Python, NumPy", f"{machine['python']}, {machine['numpy']}"),
        ("BLAS", f"{blas['name'] or UNKNOWN} {blas['version'] or ''}, threads: {threads}"),
        ("compiler", machine["compiler"] or "none"),
        ("measured with", machine["measured_with"] or "nothing"),
    ]


def make_bandwidth_table(machine: Mapping[str, Any]) -> Table:
    """Rates by level and threads, in the columns the kinds of access."""
    table = Table(title="Bandwidth, GB/s", title_justify="left", caption_justify="left")
    table.caption = "stream: non-temporal stores. with allocate: lines fetched to be written count too."
    table.add_column("level", no_wrap=True)
    for heading in ("threads", "triad", "with allocate", "triad stream", "copy", "copy stream", "read"):
        table.add_column(heading, justify="right")
    copy, read = machine["copy_bytes_per_second"], machine["read_bytes_per_second"]
    for level, rows in machine["triad_bytes_per_second"].items():
        for count, triad in rows.items():
            copied, summed = copy.get(level, {}).get(count, {}), read.get(level, {}).get(count, {})
            rates = [triad.get(kind) for kind in ("ordinary", "ordinary_with_write_allocate", "nontemporal")]
            rates += [copied.get("ordinary"), copied.get("nontemporal"), summed.get("ordinary")]
            table.add_row(level, count, *(show_rate(rate) for rate in rates))
    return table


def make_peak_table(machine: Mapping[str, Any]) -> Table:
    """The arithmetic peak and how near BLAS comes to it."""
    table = Table(title="Arithmetic, Gflop/s", title_justify="left")
    table.add_column("dtype", no_wrap=True)
    for heading in ("threads", "peak", "without multiply-add", "BLAS product", "of the peak"):
        table.add_column(heading, justify="right")
    for dtype, rows in machine["peak_flops_per_second"].items():
        for count, peak in rows.items():
            gemm = machine["gemm_flops_per_second"].get(dtype, {}).get(count)
            share = machine["gemm_fraction_of_peak"].get(dtype, {}).get(count)
            shares = "" if share is None else f"{share:.0%}"
            table.add_row(
                dtype, count, show_rate(peak["fma"]), show_rate(peak["no_fma"]), show_rate(gemm), shares
            )  # fmt: skip
    return table


def list_rest(machine: Mapping[str, Any]) -> list[str]:
    """Noise, clock and pages, a line each, then the notes."""
    noise, timer, fault = machine["noise"], machine["timer"], machine["page_fault"]
    lines = [
        f"noise: a loop of {show_small(noise['loop_seconds'])} varies by {noise['spread']:.1%}, "
        f"at worst by {noise['worst']:.0%}; drift {noise['drift']:+.1%}",
        f"clock: steps of {show_small(timer['resolution_seconds'])}, "
        f"a reading takes {show_small(timer['read_seconds'])}",
    ]
    if fault:
        pages = {"page_seconds": "first touch of a page", "huge_page_seconds": "of a huge page"}
        lines.append(", ".join(f"{pages[kind]}: {show_small(seconds)}" for kind, seconds in fault.items()))
    return lines


# ---------------------------------------------------------------- the command


def read_arguments(arguments: Sequence[str]) -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(prog="weft bench machine", description="describe and measure this machine")
    parser.add_argument("--json", action="store_true", help="print the section as JSON")
    parser.add_argument("--quick", action="store_true", help="a few seconds: shorter runs, one thread and all of them")
    parser.add_argument("--cached", action="store_true", help="what was measured before on this machine, if anything")
    parser.add_argument("--facts", action="store_true", help="only what the machine tells, measure nothing")
    return parser.parse_args(arguments)


def run(argv: Sequence[str]) -> int:
    """Measure and print; the exit status."""
    chosen = read_arguments(argv)
    with Console(stderr=True).status("measuring the machine, up to 15 seconds"):
        machine = describe(not chosen.facts, quick=chosen.quick, cached=chosen.cached)
    if chosen.json:
        print(json.dumps(machine, indent=2))
        return 0
    console = Console()
    console.print(make_fact_table(machine))
    if machine["measured_with"] is not None:
        console.print(make_bandwidth_table(machine), make_peak_table(machine), *list_rest(machine), sep="\n")
    for note in machine["notes"]:
        console.print(f"note: {note}", style="yellow")
    return 0
