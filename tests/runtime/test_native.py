"""The dispatcher's library: built once, found again, refused when it does not understand this NumPy."""

from __future__ import annotations

import os
import sys

import numpy as np
import pytest

from weft.runtime import native as module
from weft.runtime.cache import Cache
from weft.runtime.native import NativeUnavailable, load_native, native_key


def test_it_is_built_once_and_then_found_without_a_compiler(shared_cache, native):
    def no_toolchain():
        raise AssertionError("the library is in the cache")

    assert load_native(Cache(shared_cache.root), no_toolchain) is native
    assert [entry.name for entry in shared_cache.entries()] == ["(dispatcher)"]
    assert np.__version__ in native_key()


def test_arrays_laid_out_otherwise_are_refused(native):
    def shifted(array):
        found = list(native.describe(array))
        found[4] += 1
        return tuple(found)

    with pytest.raises(NativeUnavailable, match="not laid out as expected"):
        module._self_test(native._replace(describe=shifted))


@pytest.mark.parametrize(
    ("target", "name", "value", "reason"),
    [
        (sys, "platform", "darwin", "only Linux"),
        (np, "__version__", "1.26.4", "NumPy 2"),
        (sys, "byteorder", "big", "little-endian"),
        (sys, "_is_gil_enabled", lambda: False, "without the GIL"),
    ],
)
def test_interpreters_that_are_not_supported(monkeypatch, shared_cache, toolchain, target, name, value, reason):
    monkeypatch.setattr(target, name, value, raising=False)
    with pytest.raises(NativeUnavailable, match=reason):
        load_native(shared_cache, lambda: toolchain)


def test_memory_kept_for_reuse_can_be_given_back(harness):
    body = "weft_block *b = ctx->alloc(ctx, 1 << 20); if (!b) return WEFT_NO_MEMORY; ctx->release(ctx, b); return 0;"
    program = harness.program(lambda: None, body, [])
    harness.native.free_memory()
    for _ in range(3):
        program.call()
    assert harness.native.free_memory() == 1 << 20
    assert harness.native.free_memory() == 0


def test_what_is_kept_is_bounded_in_number(harness):
    body = """weft_block *b[20]; for (int i = 0; i < 20; i++) b[i] = ctx->alloc(ctx, (int64_t)60 << 20);
        for (int i = 0; i < 20; i++) ctx->release(ctx, b[i]); return 0;"""
    program = harness.program(lambda: None, body, [])
    harness.native.free_memory()
    program.call()
    assert harness.native.free_memory() == 16 * 60 << 20


def test_what_is_kept_is_bounded_in_bytes(harness):
    most = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGESIZE") // 8
    body = f"""weft_block *b[3]; for (int i = 0; i < 3; i++) b[i] = ctx->alloc(ctx, {most // 5 * 2}L);
        for (int i = 0; i < 3; i++) ctx->release(ctx, b[i]); return 0;"""
    program = harness.program(lambda: None, body, [])
    harness.native.free_memory()
    program.call()
    assert most // 2 < harness.native.free_memory() <= most
