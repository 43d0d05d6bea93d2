from __future__ import annotations

import os

import pytest

from weft.runtime.threads import available_processors, cgroup_limit, default_threads


@pytest.mark.parametrize(
    ("weft", "omp", "expected"),
    [
        ("3", "2", 3),
        (None, "2", 2),
        (None, "5,2", 5),
        ("0", "2", 2),
        ("many", None, None),
        ("", "", None),
        (None, None, None),
    ],
)
def test_the_environment_decides_first(monkeypatch, weft, omp, expected):
    for name, value in (("WEFT_NUM_THREADS", weft), ("OMP_NUM_THREADS", omp)):
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)
    assert default_threads() == (expected or available_processors())


def test_affinity_is_respected():
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        assert available_processors() == 1
    finally:
        os.sched_setaffinity(0, before)


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_cgroup_v2_takes_the_tightest_limit_on_the_way_up(tmp_path):
    membership = tmp_path / "cgroup"
    membership.write_text("0::/a/b\n")
    root = tmp_path / "fs"
    write(root / "a/b/cpu.max", "max 100000\n")
    write(root / "a/cpu.max", "150000 100000\n")
    assert cgroup_limit(membership, root) == 1.5
    write(root / "a/b/cpu.max", "50000 100000\n")
    assert cgroup_limit(membership, root) == 0.5


def test_cgroup_v1(tmp_path):
    membership = tmp_path / "cgroup"
    membership.write_text("4:cpu,cpuacct:/job\n3:memory:/job\n")
    root = tmp_path / "fs"
    write(root / "cpu,cpuacct/job/cpu.cfs_quota_us", "-1\n")
    write(root / "cpu,cpuacct/job/cpu.cfs_period_us", "100000\n")
    assert cgroup_limit(membership, root) is None
    write(root / "cpu,cpuacct/cpu.cfs_quota_us", "300000\n")
    write(root / "cpu,cpuacct/cpu.cfs_period_us", "100000\n")
    assert cgroup_limit(membership, root) == 3.0


def test_without_control_groups(tmp_path):
    assert cgroup_limit(tmp_path / "none", tmp_path) is None
