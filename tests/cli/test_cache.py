from __future__ import annotations

from pathlib import Path

import pytest

from weft.cli.main import main
from weft.runtime.cache import Cache
from weft.support.abi import KernelInfo


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache directory of this test."""
    root = tmp_path / "cache"
    monkeypatch.setenv("WEFT_CACHE_DIR", str(root))
    return root


def fill(root: Path, *names: str) -> None:
    root.mkdir(mode=0o700, exist_ok=True)
    cache = Cache(root)
    for name in names:
        info = KernelInfo(name=name, symbol="weft_kernel", slots=(), args=(), exits=(), out_count=0)
        with cache.lock(name):
            cache.store(f"{name}-key-that-is-longer-than-shown", b"\x7fELF" * 300, "int x;", info)


def damage_one(root: Path) -> Path:
    folder = min((root / "entries").iterdir())
    (folder / "kernel.so").write_bytes(b"something else")
    return folder


def test_path_is_the_directory_alone(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cache", "path"]) == 0
    assert capsys.readouterr().out == f"{root}\n"


def test_path_without_a_setting_is_in_the_users_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("WEFT_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert main(["cache", "path"]) == 0
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert main(["cache", "path"]) == 0

    assert capsys.readouterr().out.splitlines() == [f"{tmp_path}/weft", f"{tmp_path}/.cache/weft"]


def test_list_names_every_entry(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fill(root, "jacobi_2d", "softmax")

    assert main(["cache", "list"]) == 0
    first, second, total = capsys.readouterr().out.splitlines()
    assert "jacobi_2d  jacobi_2d-key-th" in first
    assert "softmax  " in second
    assert " 2 KiB " in first  # 1200 bytes of library, the rest is its description
    assert total.startswith("2 entries, ")
    assert total.endswith(f" in {root}")


def test_list_marks_what_is_damaged(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fill(root, "jacobi_2d", "softmax")
    damage_one(root)

    main(["cache", "list"])
    assert [line.endswith("damaged") for line in capsys.readouterr().out.splitlines()].count(True) == 1


def test_verify_of_a_sound_cache(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fill(root, "softmax")

    assert main(["cache", "verify"]) == 0
    assert capsys.readouterr().out == f"1 entry in {root}, all sound\n"


def test_verify_names_what_is_damaged_and_fails(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fill(root, "jacobi_2d", "softmax")
    folder = damage_one(root)

    assert main(["cache", "verify"]) == 1
    out = capsys.readouterr().out
    assert out.startswith(f"{folder.name}: kernel.so is damaged\n1 entry damaged")


def test_clear_removes_everything(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fill(root, "jacobi_2d", "softmax")

    assert main(["cache", "clear"]) == 0
    assert capsys.readouterr().out == f"removed 2 entries from {root}\n"
    assert Cache(root).entries() == []
    assert main(["cache", "list"]) == 0
    assert capsys.readouterr().out == f"0 entries, 0 bytes in {root}\n"


def test_an_unknown_action_suggests_the_nearest(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cache", "claer"]) == 2
    assert capsys.readouterr().err == "weft cache: there is no action 'claer'; did you mean 'clear'?\n"
    assert not root.exists()


@pytest.mark.parametrize("action", ["path", "list", "verify", "clear"])
def test_a_directory_others_can_write_is_refused(action: str, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fill(root, "softmax")
    root.chmod(0o777)

    assert main(["cache", action]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "can be written by others" in captured.err
    assert len(list((root / "entries").iterdir())) == 1
