"""Compiled kernels on disk, shared by all processes of one user.

in:   a key (a string that names everything the kernel depends on), the library, its C text, `KernelInfo`, a manifest
out:  the same again, in a later process, checked byte for byte

    <root>/entries/<hash of key>/{kernel.so, kernel.c, info.json}     written elsewhere, then renamed
    <root>/objects/<hash of text>                                     what many kernels are linked with (`compile.py`)
    <root>/locks/<hash of key>                                        held while somebody compiles that key
    <root>/work/<hash of key>.*                                       being written; garbage once the lock is free

Loading a library is running code, so the root must be a directory of our own that nobody else can write, and nothing
inside may be a link or belong to another user. The cache is never a reason to fail: without a usable directory it is a
private temporary one, without that it is memory.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import stat
import time
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

from weft.runtime.files import replace_file, unique_name
from weft.support.abi import KernelInfo, info_from_json, info_to_json

_FORMAT = 1
_LIBRARY, _SOURCE, _INFO = "kernel.so", "kernel.c", "info.json"


# Named tuples, not dataclasses: a cached call imports this module, and they take a sixth of the time to make.


class Entry(NamedTuple):
    """One kernel of the cache. `manifest` is what the compile looked at: (description, fingerprint) pairs."""

    key: str
    library: Path
    source: str
    info: KernelInfo
    manifest: tuple[tuple[str, str], ...]


class EntrySummary(NamedTuple):
    """One line of `weft cache list`; `created` in seconds since 1970."""

    key: str
    name: str
    size_bytes: int
    created: float
    ok: bool


class BadEntry(Exception):  # noqa: N818 - says what it is; never leaves this module
    """Why an entry cannot be used."""


def open_cache(explicit: Path | None, xdg: Path | None) -> Cache:
    """The cache in `explicit`, else in `xdg`/weft, else in a private temporary directory, else in memory.

    An explicit directory that cannot be used is not replaced by the user's one: its owner wanted them apart.
    """
    chosen = explicit if explicit is not None else xdg / "weft" if xdg is not None else None
    problem = "no cache directory"
    if chosen is not None:
        problem = _prepare_root(chosen)
        if not problem:
            return Cache(Path(os.path.realpath(chosen)))
    temporary = _private_temporary()
    return Cache(temporary, problem if temporary else f"{problem}; no temporary directory either: kept in memory")


class Cache:
    """Entries below `root`, or in memory when `root` is None. `problem` says why the wanted directory is not used."""

    def __init__(self, root: Path | None, problem: str = "") -> None:
        self.root, self.problem = root, problem
        self._memory: dict[str, Entry] = {}
        self._objects: dict[str, bytes] = {}
        if root is not None:
            try:
                for name in ("entries", "objects", "locks", "work"):
                    (root / name).mkdir(mode=0o700, parents=True, exist_ok=True)
            except OSError as error:
                self.root, self.problem = None, f"{root}: {error}"

    @property
    def toolchain_memory(self) -> Path | None:
        """Where `find_toolchain` may remember what it found."""
        return self.root / "toolchains.json" if self.root else None

    def load(self, key: str) -> Entry | None:
        """The entry, verified; a damaged one is removed and counts as absent."""
        if key in self._memory:
            return self._memory[key]
        if self.root is None:
            return None
        folder = self._folder(key)
        try:
            return _read_entry(folder, key)
        except FileNotFoundError:
            return None
        except (BadEntry, OSError):
            self._discard(folder)
            return None

    @contextlib.contextmanager
    def lock(self, key: str) -> Generator[None]:
        """Only one holder per key among all threads and processes. The system frees it when the holder dies."""
        if self.root is None:
            yield
            return
        descriptor = _acquire(self.root / "locks" / _hash(key))
        try:
            self._sweep(key)  # of a holder that was killed
            yield
        finally:
            self._sweep(key)
            if descriptor is not None:
                os.close(descriptor)

    def scratch(self, key: str) -> Path:
        """A private folder for the compiler's output; hold the key's lock."""
        parent = self.root / "work" if self.root else _private_temporary()
        if parent is None:
            raise OSError("no directory is writable")
        folder = parent / unique_name(f"{_hash(key)}.")
        folder.mkdir(mode=0o700)
        return folder

    def store(
        self, key: str, library: Path | bytes, source: str, info: KernelInfo, manifest: Sequence[tuple[str, str]] = ()
    ) -> Entry:
        """Keep a kernel under its key, replacing what is there; hold the key's lock. Never fails for want of a disk."""
        content = library if isinstance(library, bytes) else library.read_bytes()
        pairs = tuple((str(text), str(fingerprint)) for text, fingerprint in manifest)
        if self.root is not None:
            with contextlib.suppress(OSError):
                self._write(key, content, source, info, pairs)
                return Entry(key, self._folder(key) / _LIBRARY, source, info, pairs)
        entry = Entry(key, _memory_file(content), source, info, pairs)
        self._memory[key] = entry
        return entry

    def load_object(self, key: str) -> bytes | None:
        """What `store_object` was given under this key, if it is whole."""
        if self.root is None:
            return self._objects.get(key)
        try:
            kept = _read_own(self.root / "objects" / _hash(key))
        except BadEntry:
            return None
        return kept[32:] if hashlib.sha256(kept[32:]).digest() == kept[:32] else None

    def store_object(self, key: str, content: bytes) -> None:
        """Keep something that many kernels are linked with."""
        if self.root is None:
            self._objects[key] = content
        else:
            replace_file(self.root / "objects" / _hash(key), hashlib.sha256(content).digest() + content)

    def entries(self) -> list[EntrySummary]:
        """All entries by time of creation."""
        found = [_summary(folder) for folder in self._folders()]
        return sorted(found, key=lambda summary: (summary.created, summary.key))

    def verify(self) -> list[tuple[str, str]]:
        """Every entry that cannot be used, and why."""
        problems: list[tuple[str, str]] = []
        for folder in self._folders():
            try:
                _read_entry(folder, None)
            except (BadEntry, OSError) as error:
                problems.append((folder.name, str(error)))
        return problems

    def clear(self) -> int:
        """Remove everything; how many entries there were."""
        import shutil

        folders = self._folders()
        for folder in folders:
            self._discard(folder)
        if self.root is not None:
            for name in ("objects", "locks", "work"):
                for path in (self.root / name).iterdir():
                    if path.is_dir() and not path.is_symlink():
                        shutil.rmtree(path, ignore_errors=True)
                    else:
                        path.unlink(missing_ok=True)
            (self.root / "toolchains.json").unlink(missing_ok=True)
        return len(folders)

    def _folder(self, key: str) -> Path:
        assert self.root is not None
        return self.root / "entries" / _hash(key)

    def _folders(self) -> list[Path]:
        if self.root is None:
            return []
        with contextlib.suppress(OSError):
            return sorted((self.root / "entries").iterdir())
        return []

    def _write(
        self, key: str, content: bytes, source: str, info: KernelInfo, manifest: Sequence[tuple[str, str]]
    ) -> None:
        folder = self.scratch(key)
        (folder / _LIBRARY).write_bytes(content)
        (folder / _SOURCE).write_text(source)
        (folder / _INFO).write_text(_describe(key, content, source, info, manifest))
        for name, mode in ((_LIBRARY, 0o700), (_SOURCE, 0o600), (_INFO, 0o600)):
            (folder / name).chmod(mode)
        target = self._folder(key)
        self._discard(target)
        folder.rename(target)

    def _discard(self, folder: Path) -> None:
        """Remove an entry: first by rename, so that no reader sees half of it."""
        import shutil

        assert self.root is not None
        doomed = self.root / "work" / unique_name(f"{folder.name}.")
        with contextlib.suppress(OSError):
            folder.rename(doomed)
            if doomed.is_symlink() or not doomed.is_dir():
                doomed.unlink()
            else:
                shutil.rmtree(doomed, ignore_errors=True)

    def _sweep(self, key: str) -> None:
        """Remove the working files of this key; only a holder of its lock has any."""
        import shutil

        assert self.root is not None
        for leftover in (self.root / "work").glob(f"{_hash(key)}.*"):
            shutil.rmtree(leftover, ignore_errors=True)


def _hash(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()[:40]


# ---------------------------------------------------------------- entries


def _describe(key: str, content: bytes, source: str, info: KernelInfo, manifest: Sequence[tuple[str, str]]) -> str:
    """info.json: the description and, beside it, the hash of its text."""
    import json

    body = json.dumps(
        {
            "format": _FORMAT,
            "key": key,
            "name": info.name,
            "created": time.time(),
            "library": hashlib.sha256(content).hexdigest(),
            "source": hashlib.sha256(source.encode()).hexdigest(),
            "info": info_to_json(info),
            "manifest": [list(pair) for pair in manifest],
        }
    )
    return json.dumps({"digest": hashlib.sha256(body.encode()).hexdigest(), "body": body})


def _read_description(folder: Path) -> dict[str, Any]:
    import json

    try:
        outer = json.loads(_read_own(folder / _INFO))
        body = outer["body"]
        if hashlib.sha256(body.encode()).hexdigest() != outer["digest"]:
            raise BadEntry(f"{_INFO} is damaged")
        description = cast("dict[str, Any]", json.loads(body))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadEntry(f"{_INFO} is damaged") from error
    if description.get("format") != _FORMAT:
        raise BadEntry("written by another version")
    return description


def _read_entry(folder: Path, key: str | None) -> Entry:
    """The entry in `folder`, checked completely; `key` None accepts any."""
    _check_owner(folder, folder.lstat(), directory=True)
    description = _read_description(folder)
    if key is not None and description["key"] != key:
        raise BadEntry("holds another key")
    if hashlib.sha256(_read_own(folder / _LIBRARY)).hexdigest() != description["library"]:
        raise BadEntry(f"{_LIBRARY} is damaged")
    source = _read_own(folder / _SOURCE)
    if hashlib.sha256(source).hexdigest() != description["source"]:
        raise BadEntry(f"{_SOURCE} is damaged")
    try:
        info = info_from_json(description["info"])
    except (ValueError, KeyError, TypeError) as error:
        raise BadEntry(f"{_INFO} does not describe a kernel") from error
    manifest = tuple((text, fingerprint) for text, fingerprint in description["manifest"])
    return Entry(description["key"], folder / _LIBRARY, source.decode(), info, manifest)


def _summary(folder: Path) -> EntrySummary:
    try:
        size_bytes = sum(path.lstat().st_size for path in folder.iterdir())
        description = _read_description(folder)
    except (BadEntry, OSError):
        return EntrySummary(folder.name, "?", 0, 0.0, ok=False)
    try:
        _read_entry(folder, None)
        ok = True
    except (BadEntry, OSError):
        ok = False
    return EntrySummary(description["key"], description["name"], size_bytes, description["created"], ok)


def _read_own(path: Path) -> bytes:
    """The content of a file that is ours and not a link; a missing one is a damaged entry."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise BadEntry(f"{path.name} cannot be read") from error
    with open(descriptor, "rb") as file:
        _check_owner(path, os.fstat(descriptor), directory=False)
        return file.read()


def _check_owner(path: Path, status: os.stat_result, *, directory: bool) -> None:
    if not (stat.S_ISDIR if directory else stat.S_ISREG)(status.st_mode):
        raise BadEntry(f"{path.name} is not a {'directory' if directory else 'file'}")
    if status.st_uid != os.geteuid():
        raise BadEntry(f"{path.name} belongs to user {status.st_uid}")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise BadEntry(f"{path.name} can be written by others")


# ---------------------------------------------------------------- directories, locks, memory


def _prepare_root(root: Path) -> str:
    """Make the directory if need be; why it cannot be used, or an empty string."""
    try:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        if root.is_symlink() and root.lstat().st_uid != os.geteuid():
            return f"{root} is a link of user {root.lstat().st_uid}"
        real = Path(os.path.realpath(root))
        _check_owner(real, real.stat(), directory=True)
        around = real.parent.stat()
        if around.st_mode & stat.S_IWOTH and not around.st_mode & stat.S_ISVTX:
            return f"{real.parent} can be written by everyone"
        if not os.access(real, os.R_OK | os.W_OK | os.X_OK):
            return f"{real} is not writable"
    except (BadEntry, OSError) as error:
        return f"{root}: {error}"
    return ""


def _private_temporary() -> Path | None:
    """A directory of this process alone, removed when it ends; None where there is no place for one."""
    return _temporary_of(os.getpid())


@functools.cache
def _temporary_of(process: int) -> Path | None:
    """By process, so that a forked child makes its own."""
    import atexit
    import shutil
    import tempfile

    try:
        path = Path(tempfile.mkdtemp(prefix="weft-"))
    except OSError:
        return None
    atexit.register(lambda: shutil.rmtree(path, ignore_errors=True) if os.getpid() == process else None)
    return path


def _acquire(path: Path) -> int | None:
    """An open descriptor that holds the lock; None where the file system has no locks."""
    import fcntl

    while True:
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError:
            return None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(descriptor), path.stat()):
                    return descriptor
        except OSError:
            os.close(descriptor)
            return None
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)  # `clear` removed the file while we waited: somebody may hold a new one


def _memory_file(content: bytes) -> Path:
    """The library in memory, under a path the dynamic loader can open for as long as this process lives."""
    descriptor = os.memfd_create("weft-kernel")
    with open(descriptor, "wb", closefd=False) as file:
        file.write(content)
    return Path(f"/proc/self/fd/{descriptor}")
