"""The cache in one process: what goes in comes out, and what is damaged or foreign does not."""

from __future__ import annotations

import ctypes
import json
import os
import stat
import threading
from pathlib import Path

import pytest

from weft.runtime.cache import Cache, open_cache
from weft.runtime.compile import compile_c
from weft.support.abi import ArgKind, ArgSpec, Array, Const, Exit, Frame, KernelInfo, Sequence, Slot, SlotKind, WarnSite

INFO = KernelInfo(
    "jacobi",
    "kernel",
    (Slot(SlotKind.PARAM, 0), Slot(SlotKind.GLOBAL, 0, "g")),
    (ArgSpec(ArgKind.ARRAY, "float64", 2, "C", written=True), ArgSpec(ArgKind.STATIC, value=["int", "0x1"])),
    (Exit(Const(0)), Exit(Sequence((Array(0, "float64", 2),)), (Frame(0, (1,), ("x",)),), 3, "bounds")),
    1,
    constants=(["none"],),
    warn_sites=(WarnSite("divide", 4),),
)
SOURCE = "int answer(void) { return 42; }\n"
MANIFEST = (("global g", "int:1"), ("function helper", "abc"))


@pytest.fixture(scope="session")
def library(toolchain, tmp_path_factory) -> bytes:
    return compile_c(toolchain, SOURCE, tmp_path_factory.mktemp("library") / "k.so").read_bytes()


@pytest.fixture
def cache(tmp_path) -> Cache:
    return open_cache(tmp_path / "cache", None)


def folder_of(cache: Cache) -> Path:
    assert cache.root is not None
    (folder,) = (cache.root / "entries").iterdir()
    return folder


def test_what_goes_in_comes_out(cache, library):
    assert cache.load("key") is None
    with cache.lock("key"):
        stored = cache.store("key", library, SOURCE, INFO, MANIFEST)
    loaded = cache.load("key")
    assert loaded == stored
    assert (loaded.key, loaded.source, loaded.info, loaded.manifest) == ("key", SOURCE, INFO, MANIFEST)
    assert ctypes.CDLL(str(loaded.library)).answer() == 42
    assert cache.load("another key") is None


def test_everything_is_private(cache, library):
    previous = os.umask(0)
    try:
        cache.store("key", library, SOURCE, INFO)
    finally:
        os.umask(previous)
    for path in (cache.root, *cache.root.rglob("*")):
        assert path.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH) == 0, path
    assert cache.root.stat().st_mode & 0o777 == 0o700


def test_a_library_by_path(cache, library, tmp_path):
    path = cache.scratch("key") / "k.so"
    path.write_bytes(library)
    cache.store("key", path, SOURCE, INFO)
    assert cache.load("key") is not None


def test_listing_verifying_clearing(cache, library):
    cache.store("one", library, SOURCE, INFO)
    cache.store("two", library, SOURCE, INFO)
    listed = cache.entries()
    assert [(entry.key, entry.name, entry.ok) for entry in listed] == [("one", "jacobi", True), ("two", "jacobi", True)]
    assert listed[0].size_bytes > len(library)
    assert cache.verify() == []
    (cache.root / "entries" / "rubbish").write_text("x")
    assert [problem for _, problem in cache.verify()] == ["rubbish is not a directory"]
    with cache.lock("one"):
        pass
    assert cache.clear() == 3
    assert cache.entries() == []
    assert cache.load("one") is None
    cache.store("one", library, SOURCE, INFO)
    assert len(cache.entries()) == 1


DAMAGES = {
    "library shortened": lambda folder: (folder / "kernel.so").write_bytes(b"\x7fELF"),
    "library changed": lambda folder: (folder / "kernel.so").write_bytes(
        (folder / "kernel.so").read_bytes()[:-1] + b"!"
    ),
    "library missing": lambda folder: (folder / "kernel.so").unlink(),
    "source changed": lambda folder: (folder / "kernel.c").write_text("int answer(void) { return 43; }"),
    "description empty": lambda folder: (folder / "info.json").write_text(""),
    "description shortened": lambda folder: (folder / "info.json").write_text((folder / "info.json").read_text()[:200]),
    "description changed": lambda folder: (folder / "info.json").write_text(
        (folder / "info.json").read_text().replace("float64", "float32")
    ),
    "description not an object": lambda folder: (folder / "info.json").write_text("[1]"),
    "writable by others": lambda folder: (folder / "kernel.so").chmod(0o777),
    "folder writable by others": lambda folder: folder.chmod(0o777),
    "library is a link": lambda folder: (
        (folder / "kernel.so").rename(folder / "x") and (folder / "kernel.so").symlink_to("x")
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_entry_is_removed_and_can_be_written_again(cache, library, damage):
    cache.store("key", library, SOURCE, INFO)
    DAMAGES[damage](folder_of(cache))
    assert len(cache.verify()) == 1
    assert [entry.ok for entry in cache.entries()] == [False]
    assert cache.load("key") is None
    assert list((cache.root / "entries").iterdir()) == []
    cache.store("key", library, SOURCE, INFO)
    assert cache.load("key") is not None


def test_another_abi_is_no_entry(cache, library):
    cache.store("key", library, SOURCE, INFO)
    path = folder_of(cache) / "info.json"
    outer = json.loads(path.read_text())
    body = json.loads(outer["body"])
    body["info"]["abi"] = 999
    import hashlib

    text = json.dumps(body)
    path.write_text(json.dumps({"digest": hashlib.sha256(text.encode()).hexdigest(), "body": text}))
    assert cache.load("key") is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize("name", [".", "kernel.so", "info.json"])
def test_files_of_another_user_are_refused(cache, library, name):
    cache.store("key", library, SOURCE, INFO)
    os.chown(folder_of(cache) / name, 12345, -1)
    assert cache.load("key") is None


# ---------------------------------------------------------------- directories


def test_the_explicit_directory_wins(tmp_path):
    assert open_cache(tmp_path / "a", tmp_path / "b").root == tmp_path / "a"
    assert open_cache(None, tmp_path / "b").root == tmp_path / "b" / "weft"


def make_writable(root: Path) -> None:
    root.mkdir()
    root.chmod(0o777)


def make_group_writable(root: Path) -> None:
    root.mkdir()
    root.chmod(0o770)


def make_foreign(root: Path) -> None:
    root.mkdir(mode=0o700)
    os.chown(root, 12345, -1)


def make_file(root: Path) -> None:
    root.write_text("")


def make_open_parent(root: Path) -> None:
    root.mkdir(mode=0o700)
    root.parent.chmod(0o777)


def make_foreign_link(root: Path) -> None:
    (root.parent / "real").mkdir(mode=0o700)
    root.symlink_to("real")
    os.chown(root, 12345, -1, follow_symlinks=False)


@pytest.mark.parametrize(
    "prepare", [make_writable, make_group_writable, make_foreign, make_file, make_open_parent, make_foreign_link]
)
def test_directories_that_are_not_ours_alone_are_not_used(tmp_path, prepare, library):
    if "foreign" in prepare.__name__ and os.geteuid() != 0:
        pytest.skip("only root can give files away")
    (tmp_path / "parent").mkdir()
    root = tmp_path / "parent" / "weft"
    prepare(root)
    cache = open_cache(None, tmp_path / "parent")
    assert cache.root != root
    assert cache.problem
    assert cache.root is not None
    assert cache.root.stat().st_mode & 0o777 == 0o700
    assert not (root / "entries").exists()
    cache.store("key", library, SOURCE, INFO)
    assert cache.load("key") is not None


def test_our_own_link_is_followed(tmp_path):
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "weft").symlink_to("real")
    assert open_cache(None, tmp_path).root == tmp_path / "real"


def test_without_any_directory_the_cache_is_memory(library, monkeypatch):
    import tempfile

    def refuse(*_: object, **__: object) -> str:
        raise OSError("no space")

    from weft.runtime import cache as module

    module._temporary_of.cache_clear()
    monkeypatch.setattr(tempfile, "mkdtemp", refuse)
    try:
        cache = open_cache(Path("/proc/nowhere"), None)
    finally:
        module._temporary_of.cache_clear()
    assert cache.root is None
    assert "memory" in cache.problem
    with cache.lock("key"):
        entry = cache.store("key", library, SOURCE, INFO, MANIFEST)
    assert cache.load("key") is entry
    assert ctypes.CDLL(str(entry.library)).answer() == 42
    assert cache.entries() == []
    assert cache.clear() == 0


def test_a_cache_that_becomes_unwritable_falls_back_to_memory(cache, library, monkeypatch):
    monkeypatch.setattr(Path, "rename", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    entry = cache.store("key", library, SOURCE, INFO)
    assert ctypes.CDLL(str(entry.library)).answer() == 42
    assert cache.load("key") is entry


# ---------------------------------------------------------------- locks


def test_locks_exclude_threads_too(cache):
    inside, most = 0, 0

    def work() -> None:
        nonlocal inside, most
        for _ in range(50):
            with cache.lock("key"):
                inside += 1
                most = max(most, inside)
                inside -= 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1


def test_locks_survive_a_clear(cache):
    with cache.lock("key"):
        cache.clear()
        with cache.lock("key"):  # the file is gone: a new lock, not a deadlock
            pass
