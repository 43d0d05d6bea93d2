"""What the operating system says of the machine: processor, caches, memory, settings that change timings.

in:   the folders `/proc` and `/sys`, below a root that tests replace
out:  `read_hardware()`, a JSON-able dictionary; what a machine does not tell is None, never a guess

Everything here is Linux's. Elsewhere the files are missing, and `platform` gives what it knows.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path("/")
CPU_FOLDER = "sys/devices/system/cpu"
UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}

# What the product of a virtual machine is called in its firmware tables.
VIRTUAL_PRODUCTS = (
    "kvm", "qemu", "virtualbox", "vmware", "virtual machine", "bochs", "xen", "hvm domu", "openstack", "firecracker",
    "google compute engine", "droplet",
)  # fmt: skip

# aarch64 gives numbers instead of a name: the implementer, then the part.
ARM_VENDORS = {
    0x41: "ARM", 0x43: "Cavium", 0x46: "Fujitsu", 0x48: "HiSilicon", 0x4E: "NVIDIA", 0x50: "APM", 0x51: "Qualcomm",
    0x61: "Apple", 0xC0: "Ampere",
}  # fmt: skip
ARM_PARTS = {
    0xD03: "Cortex-A53", 0xD07: "Cortex-A57", 0xD08: "Cortex-A72", 0xD0B: "Cortex-A76", 0xD0C: "Neoverse-N1",
    0xD40: "Neoverse-V1", 0xD49: "Neoverse-N2", 0xD4F: "Neoverse-V2", 0xAC3: "Ampere-1",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Cache:
    """One cache that holds data, as the first processor sees it; `shared_by` counts the processors on it."""

    level: int
    bytes: int
    shared_by: int
    line_bytes: int | None


def read_hardware(root: Path = ROOT, cpus: Sequence[int] | None = None) -> dict[str, Any]:
    """The facts, of the processors in `cpus`: those this process may use."""
    used = list(cpus) if cpus is not None else usable_cpus()
    info = parse_cpuinfo(_read(root / "proc/cpuinfo") or "")
    return {
        "cpu": {
            "model": name_cpu(info),
            "architecture": platform.machine(),
            "logical_used": len(used),
            "cores_used": len(core_representatives(root, used)),
            "logical_total": os.cpu_count(),
            "quota": read_cpu_quota(root),
            "simd": [flag for flag in _flags(info) if _is_simd(flag)],
        },
        "caches": [asdict(cache) for cache in read_caches(root, used[0] if used else 0)],
        "memory_bytes": read_memory(root),
        "memory_limit_bytes": read_memory_limit(root),
        "kernel": f"{platform.system()} {platform.release()}",
        "governor": _read(root / CPU_FOLDER / f"cpu{used[0] if used else 0}" / "cpufreq/scaling_governor"),
        "virtual_machine": is_virtual(root, info),
        "transparent_huge_pages": read_chosen(root / "sys/kernel/mm/transparent_hugepage/enabled"),
    }


def usable_cpus() -> list[int]:
    """The processors this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


# ---------------------------------------------------------------- the processor


def parse_cpuinfo(text: str) -> dict[str, str]:
    """The fields of the first processor; later ones repeat them."""
    fields: dict[str, str] = {}
    for line in text.splitlines():
        key, colon, value = line.partition(":")
        if colon:
            fields.setdefault(key.strip(), value.strip())
    return fields


def name_cpu(info: dict[str, str]) -> str | None:
    """The model: x86 and RISC-V name it, POWER under "cpu", aarch64 in numbers."""
    for key in ("model name", "cpu model", "cpu", "uarch", "Model", "Hardware"):
        if info.get(key):
            return info[key]
    if "CPU implementer" in info:
        vendor, part = (_number(info.get(key, "0")) for key in ("CPU implementer", "CPU part"))
        maker = ARM_VENDORS.get(vendor, f"implementer {vendor:#x}")
        return f"{maker} {ARM_PARTS.get(part, f'part {part:#x}')}"
    return platform.processor() or None


def core_representatives(root: Path, cpus: Sequence[int]) -> list[int]:
    """One processor of each core: its hardware threads share the units that are measured."""
    seen: set[tuple[str, str]] = set()
    chosen: list[int] = []
    for cpu in cpus:
        folder = root / CPU_FOLDER / f"cpu{cpu}" / "topology"
        core = (_read(folder / "physical_package_id") or "", _read(folder / "core_id") or f"cpu{cpu}")
        if core not in seen:
            seen.add(core)
            chosen.append(cpu)
    return chosen


def order_cpus(root: Path, cpus: Sequence[int]) -> list[int]:
    """The processors in the order threads should take them: every core once before any core twice."""
    first = core_representatives(root, cpus)
    return first + [cpu for cpu in cpus if cpu not in first]


def team_order(root: Path, cpus: Sequence[int]) -> list[int]:
    """The same with fast cores before slow ones, where a machine has both; among equals the last come first.

    The first processors take the interrupts.
    """
    return order_cpus(root, sorted(cpus, key=lambda cpu: (-_speed(root, cpu), -cpu)))


def choose_cpus(threads: int, root: Path = ROOT, cpus: Sequence[int] | None = None) -> list[int]:
    """The processors to bind a team of threads to, by their numbers."""
    return sorted(team_order(root, usable_cpus() if cpus is None else cpus)[:threads])


def _speed(root: Path, cpu: int) -> int:
    """How fast a core is among those of its machine: where they differ, one of these files tells."""
    folder = root / CPU_FOLDER / f"cpu{cpu}"
    for name in ("cpu_capacity", "cpufreq/cpuinfo_max_freq"):
        text = _read(folder / name) or ""
        if text.isdigit():
            return int(text)
    return 0


def is_virtual(root: Path, info: dict[str, str]) -> bool | None:
    """Whether a hypervisor is below; None if the machine gives no sign either way."""
    product = " ".join(_read(root / "sys/class/dmi/id" / name) or "" for name in ("sys_vendor", "product_name"))
    if "hypervisor" in _flags(info) or _read(root / "sys/hypervisor/type"):
        return True
    if any(name in product.lower() for name in VIRTUAL_PRODUCTS):
        return True
    return False if product.strip() or "flags" in info else None


def read_cpu_quota(root: Path) -> float | None:
    """Processors' worth of time a container may use; None without a limit."""
    words = (_read(root / "sys/fs/cgroup/cpu.max") or "").split()
    if not words:
        names = ("cpu.cfs_quota_us", "cpu.cfs_period_us")
        words = [_read(root / "sys/fs/cgroup/cpu" / name) or "" for name in names]
    if len(words) != 2 or not all(word.isdigit() for word in words) or int(words[1]) == 0:
        return None
    return int(words[0]) / int(words[1])


# ---------------------------------------------------------------- caches and memory


def read_caches(root: Path, cpu: int) -> list[Cache]:
    """The data and unified caches of one processor, from the nearest on."""
    found: list[Cache] = []
    for folder in sorted((root / CPU_FOLDER / f"cpu{cpu}" / "cache").glob("index*")):
        size, level = parse_size(_read(folder / "size") or ""), _read(folder / "level") or ""
        if _read(folder / "type") not in {"Data", "Unified"} or size is None or not level.isdigit():
            continue
        line = _read(folder / "coherency_line_size") or ""
        sharing = parse_cpu_list(_read(folder / "shared_cpu_list") or "")
        found.append(
            Cache(
                level=int(level),
                bytes=size,
                shared_by=max(1, len(sharing)),
                line_bytes=int(line) if line.isdigit() else None,
            )
        )
    return sorted(found, key=lambda cache: cache.level)


def parse_size(text: str) -> int | None:
    """`48K` in bytes; None if it is no size, or none."""
    match = re.fullmatch(r"(\d+)([KMG]?)", text)
    return (int(match[1]) * UNITS[match[2]]) or None if match else None


def parse_cpu_list(text: str) -> list[int]:
    """`0-2,8` as numbers."""
    numbers: list[int] = []
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        if first.isdigit() and (last or first).isdigit():
            numbers += range(int(first), int(last or first) + 1)
    return numbers


def read_memory(root: Path) -> int | None:
    """Bytes of memory."""
    match = re.search(r"^MemTotal:\s+(\d+) kB", _read(root / "proc/meminfo") or "", re.MULTILINE)
    return int(match[1]) << 10 if match else None


def read_memory_limit(root: Path) -> int | None:
    """Bytes a container may use; None without a limit."""
    for name in ("memory.max", "memory/memory.limit_in_bytes"):
        text = _read(root / "sys/fs/cgroup" / name) or ""
        if text.isdigit() and int(text) < 1 << 60:  # version 1 writes "no limit" as a huge number
            return int(text)
    return None


def read_chosen(path: Path) -> str | None:
    """The word in brackets: `always [madvise] never`."""
    match = re.search(r"\[(\w+)\]", _read(path) or "")
    return match[1] if match else None


def read_gpus() -> list[dict[str, Any]]:
    """NVIDIA's devices as their driver tells of them; none without one."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return []
    query = [program, "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader,nounits"]
    try:
        listed = subprocess.run(query, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return []
    rows = [[word.strip() for word in line.split(",")] for line in listed.stdout.splitlines()]
    return [
        {"model": row[0], "memory_bytes": _number(row[1]) << 20, "driver": row[2]}
        for row in rows
        if len(row) == 3 and not listed.returncode
    ]


# ---------------------------------------------------------------- small things


def _read(path: Path) -> str | None:
    """The text of a file; None where there is none, as in containers and other systems."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None


def _flags(info: dict[str, str]) -> list[str]:
    return (info.get("flags") or info.get("Features") or "").split()


def _is_simd(flag: str) -> bool:
    return bool(re.match(r"(sse4_2|avx|fma|amx|asimd$|sve)", flag))


def _number(text: str) -> int:
    try:
        return int(text, 0)
    except ValueError:
        return 0
