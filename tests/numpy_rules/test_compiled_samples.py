"""Every sample once more through the whole compiler: source text, graph, C, and back."""

from __future__ import annotations

import ast
import importlib.util
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft
from tests.numpy_rules.samples import FORMS, NAMES, Data, Maker
from tests.numpy_rules.test_samples import CALLS, assert_same, name_of
from tests.selection import every
from weft.numpy_rules.registry import RuleEntry

RAISES = ("math.atanh(v(np.float32(1)))",)
CASES = [(number, *call) for number, call in enumerate(CALLS) if call[1] not in RAISES]


def _at_run_time(node: ast.expr) -> bool:
    names = [inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)]
    return any(name == "v" or isinstance(NAMES.get(name), Maker) for name in names)


def _with_parameters(node: ast.expr, found: list[ast.expr]) -> ast.expr:
    """The argument with arrays and run-time numbers replaced by parameters."""
    if isinstance(node, ast.Tuple | ast.List):
        node.elts = [_with_parameters(item, found) for item in node.elts]
        return node
    if not _at_run_time(node):
        return node
    found.append(node)
    return ast.Name(f"a{len(found) - 1}")


def function_text(number: int, entry: RuleEntry, sample: str) -> tuple[str, list[ast.expr]]:
    """A function that makes the call of a sample, and the samples of its arguments."""
    node = ast.parse(sample, mode="eval").body
    assert isinstance(node, ast.Call)
    found: list[ast.expr] = []
    items = [ast.unparse(_with_parameters(arg, found)) for arg in node.args]
    for keyword in node.keywords:
        keyword.value = _with_parameters(keyword.value, found)
    named = [ast.unparse(keyword) for keyword in node.keywords]
    root, _, rest = entry.name.partition(".")
    if root in ("ndarray", "scalar"):
        call = f"{items[0]}.{rest}"
        if callable(getattr(np.ndarray if root == "ndarray" else np.generic, rest)):
            call += f"({', '.join([*items[1:], *named])})"
    else:
        function = {"numpy": f"np.{rest}", "ufunc": f"np.{ast.unparse(node.func)}", "builtins": rest}.get(
            root, entry.name
        )
        call = f"{function}({', '.join([*items, *named])})"
    parameters = ", ".join(f"a{position}" for position in range(len(found)))
    return f"def f{number}({parameters}):\n    return {call}\n", found


def function_of(text: str, name: str, folder: Path) -> Any:
    """The function of a text, in a file of its own: the compiler reads the whole file."""
    path = folder / f"sample_{name}.py"
    path.write_text(f"import cmath\nimport math\n\nimport numpy as np\n\n\n{text}", encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, name)


def argument(node: ast.expr, number: int) -> Any:
    value = eval(compile(ast.Expression(node), "sample", "eval"), dict(NAMES))  # our own sample text
    return FORMS["c"](value.make(number)) if isinstance(value, Data) else value.value


@pytest.mark.parametrize(("number", "entry", "sample"), every(3, CASES), ids=name_of)
def test_compiled_call_agrees_with_numpy(tmp_path: Path, number: int, entry: RuleEntry, sample: str):
    text, nodes = function_text(number, entry, sample)
    function = function_of(text, f"f{number}", tmp_path)
    compiled = weft.program(function, fallback="error")

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        expected = function(*(argument(node, position) for position, node in enumerate(nodes)))
        try:
            result = compiled(*(argument(node, position) for position, node in enumerate(nodes)))
        except weft.CompileError as refusal:
            if refusal.code != "E138":  # a view that cannot be returned as NumPy returns it: Python does
                raise
            in_python: Any = weft.program(function)
            result = in_python(*(argument(node, position) for position, node in enumerate(nodes)))
            assert result.flags.writeable == expected.flags.writeable

    assert_same(result, expected)
