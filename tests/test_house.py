"""The rules of the house, and that the tools which check them can say no."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import size_ratchet
from tests.conftest import GOLDEN, TESTS, Golden

ROOT = TESTS.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
TOOLS = Path(sys.executable).parent


# ---------------------------------------------------------------- sizes


def write(root: Path, name: str, text: str) -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def function_of(lines: int) -> str:
    return "def f():\n" + "    x = 1\n" * (lines - 1)


def class_of(methods: int) -> str:
    return "class C:\n" + "".join(f"    def m{number}(self): ...\n" for number in range(methods))


FITTING = [("file", "x = 1\n" * 500), ("function", function_of(60)), ("class", class_of(20))]
TOO_BIG = [("file", "x = 1\n" * 501), ("function", function_of(61)), ("class", class_of(21))]


@pytest.mark.parametrize(("kind", "text"), FITTING)
def test_what_just_fits_is_fine(kind: str, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, "src/weft/a.py", text)

    assert size_ratchet.main(tmp_path) == 0, kind
    assert "1 files" in capsys.readouterr().out


@pytest.mark.parametrize(("kind", "text"), TOO_BIG)
def test_one_more_is_refused(kind: str, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, "src/weft/a.py", text)

    assert size_ratchet.main(tmp_path) == 1
    assert f"{kind} of {size_ratchet.LIMITS[kind] + 1} " in capsys.readouterr().out


def test_nested_functions_and_methods_are_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    method = "".join(f"        {line}\n" for line in function_of(61).splitlines())
    write(tmp_path, "src/weft/a.py", f"if True:\n    class C:\n{method}")

    assert size_ratchet.main(tmp_path) == 1
    assert "src/weft/a.py:C.f: function of 61 lines" in capsys.readouterr().out


def test_overloads_and_setters_are_no_methods_more(tmp_path: Path) -> None:
    write(tmp_path, "src/weft/a.py", class_of(20) + "    def m0(self, value): ...\n")

    assert size_ratchet.main(tmp_path) == 0


def test_c_files_have_the_limit_of_files(tmp_path: Path) -> None:
    write(tmp_path, "src/weft/runtime/native/pool.c", "int x;\n" * 501)

    assert size_ratchet.main(tmp_path) == 1


@pytest.mark.parametrize(
    ("granted", "actual", "words"),
    [
        (70, 70, None),
        (70, 71, "grew from 70 to 71"),
        (70, 69, "lower its exception"),
        (70, 60, "strike out"),
    ],
)
def test_the_ratchet_turns_one_way(
    granted: int, actual: int, words: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, "src/weft/a.py", function_of(actual))
    write(tmp_path, "tools/size_ratchet.txt", f"# granted\n\nfunction {granted} src/weft/a.py:f\n")

    assert size_ratchet.main(tmp_path) == (words is not None)
    assert (words or "fine") in capsys.readouterr().out


def test_an_exception_for_nothing_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, "tools/size_ratchet.txt", "file 700 src/weft/gone.py\n")

    assert size_ratchet.main(tmp_path) == 1
    assert "no such file" in capsys.readouterr().out


def test_a_table_is_exempt_in_length_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(size_ratchet, "TABLES", {"src/weft/table.py": "one row per function"})

    write(tmp_path, "src/weft/table.py", "x = 1\n" * 900)
    assert size_ratchet.main(tmp_path) == 0
    write(tmp_path, "src/weft/table.py", function_of(61))
    assert size_ratchet.main(tmp_path) == 1


def test_a_table_that_is_gone_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(size_ratchet, "TABLES", {"src/weft/gone.py": "one row per function"})

    assert size_ratchet.main(tmp_path) == 1


# ---------------------------------------------------------------- import layers

# A whole house in small: every folder of the layers, empty.
LAYERS = ("cli", "driver", "frontend", "passes", "distributed", "codegen", "interp", "runtime")
LAYERS += ("numpy_rules", "analysis", "library", "ir", "support")


def lint_imports(directory: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [TOOLS / "lint-imports", "--no-cache"], cwd=directory, capture_output=True, text=True, check=False, timeout=60
    )


@pytest.fixture
def small_house(tmp_path: Path) -> Path:
    """Our contracts over empty packages, so that one import decides. The working directory is searched first."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for folder in ("weft", "weft_bench", *(f"weft/{layer}" for layer in LAYERS)):
        write(tmp_path, f"{folder}/__init__.py", "")
        write(tmp_path, f"{folder}/module.py" if "/" in folder else f"{folder}/__main__.py", "")
    return tmp_path


def test_the_contracts_hold_here() -> None:
    result = lint_imports(ROOT)

    assert result.returncode == 0, result.stdout + result.stderr


def test_an_empty_house_keeps_the_contracts(small_house: Path) -> None:
    result = lint_imports(small_house)

    assert result.returncode == 0, result.stdout + result.stderr
    assert f"{len(PROJECT['tool']['importlinter']['contracts'])} kept, 0 broken" in result.stdout


@pytest.mark.parametrize(
    ("where", "imports"),
    [
        ("weft/cli", "weft.driver.module"),
        ("weft/driver", "weft.runtime.module"),
        ("weft/frontend", "weft.numpy_rules.module"),
        ("weft/numpy_rules", "weft.analysis.module"),
        ("weft/analysis", "weft.library.module"),
        ("weft/library", "weft.ir.module"),
        ("weft/ir", "weft.support.module"),
        ("weft/runtime", "weft.support.module"),
        ("weft_bench", "weft"),
    ],
)
def test_imports_that_go_down_are_fine(where: str, imports: str, small_house: Path) -> None:
    write(small_house, f"{where}/added.py", f"import {imports}\n")

    assert lint_imports(small_house).returncode == 0


@pytest.mark.parametrize(
    ("where", "imports"),
    [
        ("weft/support", "weft.ir.module"),
        ("weft/ir", "weft.analysis.module"),
        ("weft/ir", "weft.library.module"),
        ("weft/analysis", "weft.numpy_rules.module"),
        ("weft/codegen", "weft.runtime.module"),
        ("weft/frontend", "weft.interp.module"),
        ("weft/passes", "weft.driver.module"),
        ("weft/driver", "weft.cli.module"),
        ("weft/runtime", "weft.ir.module"),
        ("weft/runtime", "weft.library.module"),
        ("weft/runtime", "weft.analysis.module"),
        ("weft/runtime", "weft.numpy_rules.module"),
        ("weft", "weft_bench"),
        ("weft_bench", "weft.driver.module"),
        ("weft_bench", "weft.support"),
    ],
)
def test_a_wrong_import_is_found(where: str, imports: str, small_house: Path) -> None:
    added = "driver/added.py" if where == "weft" else "added.py"
    write(small_house, f"{where}/{added}", f"import {imports}\n")

    result = lint_imports(small_house)

    assert result.returncode == 1, result.stdout
    assert "BROKEN" in result.stdout
    assert "added" in result.stdout


def test_a_folder_outside_the_layers_is_found(small_house: Path) -> None:
    write(small_house, "weft/utils/__init__.py", "")

    result = lint_imports(small_house)

    assert result.returncode == 1
    assert "utils" in result.stdout


# ---------------------------------------------------------------- lint rules of our own choosing


@pytest.mark.parametrize(
    ("path", "source", "rule"),
    [
        ("src/weft/ir/a.py", "import os\n\nHOME = os.environ['HOME']\n", "TID251"),
        ("src/weft/ir/a.py", "print(1)\n", "T201"),
        ("src/weft/ir/a.py", "from . import b\n", "TID252"),
        ("src/weft/ir/a.py", "try:\n    x = 1\nexcept:\n    x = 2\n", "E722"),
        ("src/weft/ir/a.py", "x = 1  # TODO: later\n", "TD003"),
        ("src/weft/ir/a.py", "x = 1  # noqa\n", "PGH004"),
        ("src/weft/ir/a.py", "def f(x: int) -> int:\n" + "    if x: x += 1\n" * 10 + "    return x\n", "C901"),
        ("src/weft/cli/a.py", "print(1)\n", None),
        ("src/weft/driver/a.py", "import os\n\nHOME = os.environ['HOME']\n", None),
        ("src/weft/ir/a.py", "x = 1  # TODO(#12): later\n", None),
    ],
)
def test_ruff_has_the_rules_we_rely_on(path: str, source: str, rule: str | None) -> None:
    house_rules = "TID251,TID252,T201,E722,TD003,PGH004,C901"
    command = [TOOLS / "ruff", "check", "--no-cache", "--output-format=concise", f"--stdin-filename={path}", "-"]
    result = subprocess.run(command, cwd=ROOT, input=source, capture_output=True, text=True, check=False, timeout=60)
    found = set(re.findall(r"\b[A-Z]+\d+\b", result.stdout)) & set(house_rules.split(","))

    assert found == ({rule} if rule else set())


# ---------------------------------------------------------------- golden files


def test_golden_text_is_compared_with_its_file(tmp_path: Path) -> None:
    golden = Golden(write(tmp_path, "a.txt", "one\ntwo\n"), update=False)

    assert golden == "one\ntwo"
    assert golden != "one\nthree"
    assert "+three" in golden.difference("one\nthree")


def test_a_missing_golden_file_is_a_failure(tmp_path: Path) -> None:
    golden = Golden(tmp_path / "a.txt", update=False)

    assert golden != ""
    assert "no golden file" in golden.difference("")[0]
    assert not golden.path.exists()


def test_updating_writes_the_golden_file(tmp_path: Path) -> None:
    golden = Golden(tmp_path / "deep" / "a.txt", update=True)

    assert golden == "one"
    assert golden.part("c") == "two"
    assert (tmp_path / "deep" / "a.txt").read_text() == "one\n"
    assert (tmp_path / "deep" / "a.c.txt").read_text() == "two\n"


def test_every_golden_file_belongs_to_a_test() -> None:
    orphans: list[str] = []
    for path in GOLDEN.rglob("*.txt"):
        module = TESTS / path.parent.relative_to(GOLDEN).with_suffix(".py")
        name = re.match(r"test_[A-Za-z0-9_]*", path.stem)
        names = (
            re.findall(r"^def (test_\w+)\(", module.read_text(encoding="utf-8"), re.MULTILINE)
            if module.exists()
            else []
        )
        # A parametrized test's file name goes on after the name of the function.
        if name is None or not any(name[0] == known or name[0].startswith(f"{known}_") for known in names):
            orphans.append(str(path))

    assert orphans == []


# ---------------------------------------------------------------- the front door


def make_targets() -> set[str]:
    return set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", ".ci/run"])
def test_the_make_commands_of_a_page_exist(page: str) -> None:
    # In prose "make" is a verb: only what stands in code counts.
    text = (ROOT / page).read_text(encoding="utf-8")
    named = set(re.findall(r"^make ([a-z]+)", text, re.MULTILINE)) | set(re.findall(r"`make ([a-z]+)", text))

    assert named
    assert named <= make_targets()


def test_help_names_every_command() -> None:
    text = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60).stdout

    assert set(re.findall(r"^make ([a-z]+) ", text, re.MULTILINE)) == make_targets() - {"help", "compiler"}


def test_the_readme_example_is_python() -> None:
    examples = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)

    assert examples
    for example in examples:
        compile(example, "README.md", "exec")


def test_the_demo_module_exists() -> None:
    assert importlib.util.find_spec("weft_bench.demo") is not None


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_between_pages_lead_somewhere(page: str) -> None:
    links = re.findall(r"\]\(([^)#:]+)\)", (ROOT / page).read_text(encoding="utf-8"))

    assert [link for link in links if not (ROOT / link).exists()] == []


@pytest.mark.parametrize("path", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE", ".ci/run", "Makefile"])
def test_the_house_is_complete(path: str) -> None:
    assert (ROOT / path).stat().st_size > 0


def run_make(target: str, *settings: str, path: str | None = None, root: Path) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": path or "/usr/bin:/bin", "HOME": str(root)}
    return subprocess.run(
        [shutil.which("make") or "make", target, *settings],
        cwd=root, env=environment, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip


@pytest.fixture
def bare_house(tmp_path: Path) -> Path:
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


def test_make_says_when_there_is_no_python(bare_house: Path) -> None:
    result = run_make("demo", "PYTHON=no-such-python", root=bare_house)

    assert result.returncode != 0
    assert "no 'no-such-python' found" in result.stderr


def test_make_says_when_python_is_too_old(bare_house: Path) -> None:
    old = write(bare_house, "old-python", '#!/bin/sh\n[ "$1" = --version ] && echo Python 3.9.1\nexit 1\n')
    old.chmod(0o755)

    result = run_make("test", f"PYTHON={old}", root=bare_house)

    assert result.returncode != 0
    assert "Python 3.11 or newer is needed" in result.stderr
    assert "Python 3.9.1" in result.stderr


def test_make_says_when_there_is_no_venv(bare_house: Path) -> None:
    bare = write(bare_house, "bare-python", '#!/bin/sh\ncase "$2" in *venv*) exit 1;; esac\nexit 0\n')
    bare.chmod(0o755)

    result = run_make("demo", f"PYTHON={bare}", root=bare_house)

    assert result.returncode != 0
    assert "apt-get install python3-venv" in result.stderr


def test_make_says_when_there_is_no_compiler(bare_house: Path) -> None:
    # An environment that is ready, by its stamps, and a PATH with a shell and nothing to compile with.
    write(bare_house, ".venv/bin/python", "#!/bin/sh\nexit 1\n").chmod(0o755)
    programs = bare_house / "bin"
    programs.mkdir()
    for program in ("sh", "echo", "test"):
        (programs / program).symlink_to(shutil.which(program) or program)
    for stamp in (".stamp-run", ".stamp-dev"):
        write(bare_house, f".venv/{stamp}", "")

    result = run_make("demo", path=str(programs), root=bare_house)

    assert result.returncode != 0
    assert "no C compiler found" in result.stderr
    assert "apt-get install gcc" in result.stderr
    assert "weft[compiler]" in result.stderr


def test_the_readme_lists_the_environment_that_is_read() -> None:
    sources = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "src" / "weft").rglob("*.py"))
    listed = re.findall(r"^\| `(WEFT_[A-Z_]+)", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)

    assert sorted(listed) == sorted(set(re.findall(r"[\"'](WEFT_[A-Z_]*[A-Z])[\"']", sources)))


def test_the_page_of_functions_is_up_to_date() -> None:
    import list_rules

    assert list_rules.PAGE.read_text(encoding="utf-8") == list_rules.page()
