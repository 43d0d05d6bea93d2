"""What every test may ask for: golden texts, a cache directory of the session's own, a compiler that does little."""

from __future__ import annotations

import difflib
import os
import re
import shutil
import signal
import tempfile
import warnings
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests import compiling

TESTS = Path(__file__).parent
GOLDEN = TESTS / "golden"
_OWN_CACHE = pytest.StashKey[str]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite the golden files with what the tests give")


def pytest_configure(config: pytest.Config) -> None:
    """Before any test module is imported; worker processes inherit the directory."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # started in the background, it would be ignored
    if "WEFT_CACHE_DIR" not in os.environ:
        config.stash[_OWN_CACHE] = os.environ["WEFT_CACHE_DIR"] = tempfile.mkdtemp(prefix="weft-tests-")


def pytest_unconfigure(config: pytest.Config) -> None:
    own = config.stash.get(_OWN_CACHE, None)
    if own is not None:
        shutil.rmtree(own, ignore_errors=True)
        del os.environ["WEFT_CACHE_DIR"]


@pytest.fixture(scope="session", autouse=True)
def _no_text_is_compiled_twice() -> Generator[None]:
    from weft.runtime import compile as compiles

    with pytest.MonkeyPatch.context() as patch:
        store = compiling.session_folder()
        patch.setattr(compiles, "run_compilers", compiling.each_text_once(compiles.run_compilers, store))
        yield


@pytest.fixture
def plain_compiler(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """See `compiling.PLAINLY`."""
    from weft.driver.engine import toolchain_for
    from weft.driver.options import compiler_choice

    if request.config.getoption("-m") != "not slow":
        return
    script = compiling.plain_compiler(toolchain_for(compiler_choice()), compiling.session_folder())
    if script is not None:
        monkeypatch.setenv("WEFT_CC", str(script))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """A RuntimeWarning that a test does not expect is a failure."""
    with warnings.catch_warnings(record=True) as told:
        result = yield
    unexpected = [str(warning.message) for warning in told if issubclass(warning.category, RuntimeWarning)]
    if unexpected and not any(mark.name == "filterwarnings" for mark in item.iter_markers()):
        pytest.fail(f"RuntimeWarning: {unexpected[0]}")
    return result


@dataclass(frozen=True, slots=True, eq=False)
class Golden:
    """The text a test is expected to give, kept in a file: `assert text == golden`.

    A second text of the same test is `golden.part("name")`, in a file of its own.
    """

    path: Path
    update: bool

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, str):
            return NotImplemented
        if self.update:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_text(_closed(other), encoding="utf-8")
        return self.text() == _closed(other)

    __hash__ = None  # type: ignore[assignment]  # compared by a file's content: not a key

    def part(self, name: str) -> Golden:
        return Golden(self.path.with_name(f"{self.path.stem}.{name}.txt"), self.update)

    def text(self) -> str | None:
        """What the file holds, None without one."""
        return self.path.read_text(encoding="utf-8") if self.path.exists() else None

    def difference(self, given: str) -> list[str]:
        """What to tell about a text that is not the expected one."""
        expected = self.text()
        if expected is None:
            return [
                f"there is no golden file {self.path}",
                "write it with --update-golden, then read it",
                *given.splitlines(),
            ]
        diff = difflib.unified_diff(
            expected.splitlines(), _closed(given).splitlines(), str(self.path), "this run", lineterm=""
        )
        return ["the text is not the golden one (--update-golden rewrites it)", *diff]


def _closed(text: str) -> str:
    return text if text.endswith("\n") else text + "\n"


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """The golden text of the test that asks, in `tests/golden/<module>/<test name>.txt`."""
    module = request.path.relative_to(TESTS).with_suffix("")
    name = re.sub(r"[^\w.+=,-]+", "_", request.node.name).strip("_")
    return Golden(GOLDEN / module / f"{name}.txt", bool(request.config.getoption("--update-golden")))


def pytest_assertrepr_compare(op: str, left: object, right: object) -> list[str] | None:
    if op == "==" and isinstance(left, str) and isinstance(right, Golden):
        return right.difference(left)
    return None
