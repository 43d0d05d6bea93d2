from __future__ import annotations

from pathlib import Path

import pytest

from weft.driver.info import UNKNOWN, describe, package_version


def test_every_fact_has_a_value() -> None:
    facts = describe()

    assert len(dict(facts)) == len(facts)
    assert all(value.strip() and "\n" not in value and UNKNOWN not in value for _, value in facts)


def test_a_package_that_is_absent_is_said_to_be() -> None:
    assert package_version("no-such-package-of-weft") == "not installed"


def test_settings_of_the_environment_are_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WEFT_NUM_THREADS", "3")
    monkeypatch.setenv("WEFT_CACHE_DIR", str(tmp_path / "own"))
    facts = dict(describe())

    assert facts["threads"].startswith("3 of ")
    assert facts["cache"] == str(tmp_path / "own")
    assert "WEFT_NUM_THREADS=3" in facts["environment"]


def test_a_compiler_that_is_missing_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_CC", "no-such-compiler")

    assert dict(describe())["compiler"].startswith("none: WEFT_CC=no-such-compiler")


def test_a_compiler_without_sense_is_no_failure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = tmp_path / "cc"
    broken.write_text("#!/bin/sh\nexit 3\n")
    broken.chmod(0o755)
    monkeypatch.setenv("WEFT_CC", str(broken))

    assert dict(describe())["compiler"].startswith("none: ")


def test_an_unusable_cache_directory_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    monkeypatch.setenv("WEFT_CACHE_DIR", str(shared))

    assert "can be written by others" in dict(describe())["cache"]
