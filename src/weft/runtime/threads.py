"""How many threads a parallel region may use on this machine.

`WEFT_NUM_THREADS`, else `OMP_NUM_THREADS`, else the processors this process may run on, within the limit of its
control group (containers). The only environment reads below `driver/`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from pathlib import Path

_CGROUPS = Path("/sys/fs/cgroup")


def default_threads() -> int:
    """At least 1."""
    for name in ("WEFT_NUM_THREADS", "OMP_NUM_THREADS"):
        wanted = _positive(os.environ.get(name, ""))
        if wanted is not None:
            return wanted
    return available_processors()


def available_processors() -> int:
    """Processors by affinity and control group."""
    processors = len(os.sched_getaffinity(0))
    limit = cgroup_limit()
    return processors if limit is None else max(1, min(processors, math.ceil(limit)))


def cgroup_limit(membership: Path = Path("/proc/self/cgroup"), root: Path = _CGROUPS) -> float | None:
    """Processors' worth of time the control groups allow (v2 and v1), None without a limit."""
    try:
        lines = membership.read_text().splitlines()
    except OSError:
        return None
    limits: list[float] = []
    for line in lines:
        _, controllers, path = [*line.split(":", 2), "", ""][:3]
        if not controllers:
            limits += _limits_upwards(root, path, _limit_v2)
        elif "cpu" in controllers.split(","):
            limits += _limits_upwards(root / controllers, path, _limit_v1)
            limits += _limits_upwards(root / "cpu", path, _limit_v1)
    return min(limits, default=None)


def _limits_upwards(mount: Path, path: str, read: Callable[[Path], float | None]) -> list[float]:
    """The limits of a group and of all groups around it (in a container only the innermost may be visible)."""
    folder = mount / path.lstrip("/")
    found: list[float] = []
    while True:
        limit = read(folder)
        if limit is not None:
            found.append(limit)
        if folder == mount or mount not in folder.parents:
            return found
        folder = folder.parent


def _limit_v2(folder: Path) -> float | None:
    words = _words(folder / "cpu.max")
    return _quotient(words[0], words[1]) if len(words) == 2 else None


def _limit_v1(folder: Path) -> float | None:
    quota, period = _words(folder / "cpu.cfs_quota_us"), _words(folder / "cpu.cfs_period_us")
    return _quotient(quota[0], period[0]) if quota and period else None


def _quotient(quota: str, period: str) -> float | None:
    """None for `max` (v2) and -1 (v1)."""
    if not quota.isdecimal() or not period.isdecimal() or int(period) == 0 or int(quota) == 0:
        return None
    return int(quota) / int(period)


def _words(path: Path) -> list[str]:
    try:
        return path.read_text().split()
    except OSError:
        return []


def _positive(text: str) -> int | None:
    """The first number of `4` or `4,2` (OpenMP's list of nesting levels)."""
    first = text.split(",", maxsplit=1)[0].strip()
    return int(first) if first.isdecimal() and int(first) > 0 else None
