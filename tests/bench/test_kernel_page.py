"""The page about the kernels says what they say."""

from __future__ import annotations

import list_kernels
from weft_bench.kernels import KERNELS


def test_the_page_is_up_to_date() -> None:
    assert list_kernels.PAGE.read_text(encoding="utf-8") == list_kernels.page()


def test_every_kernel_has_one_row() -> None:
    rows = [line.split(" | ")[0] for line in list_kernels.page().splitlines() if line.startswith("| `")]

    assert sorted(rows) == sorted(f"| `{kernel.name}`" for kernel in KERNELS)
