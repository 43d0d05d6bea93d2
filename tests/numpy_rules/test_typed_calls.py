"""Every function that is called, not compiled, from inside compiled programs, many calls in each."""

from __future__ import annotations

import ast
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft
from tests.numpy_rules.samples import FORMS, NAMES, Data
from tests.numpy_rules.test_compiled_samples import _with_parameters, function_of
from tests.numpy_rules.test_samples import assert_same
from weft.ir.exprs import const_index
from weft.numpy_rules.builder import Builder
from weft.numpy_rules.call_probes import ArrayAnswer, ArrayProbe, IntProbe, Known, Refused, TupleAnswer, Unfit, ask
from weft.numpy_rules.registry import all_rules
from weft.numpy_rules.typed_functions import OTHER_FORMS

CALLS = [(name, sample) for name, entry in sorted(all_rules().items()) if entry.typed for sample in entry.samples] + [
    (f"numpy.{name}", sample) for name, samples in OTHER_FORMS.items() for sample in samples
]
TOGETHER = 16  # one program makes so many calls: each program costs a run of the C compiler
GROUPS = [CALLS[start : start + TOGETHER] for start in range(0, len(CALLS), TOGETHER)]


def call_text(name: str, sample: str, found: list[ast.expr]) -> str:
    node = ast.parse(sample, mode="eval").body
    assert isinstance(node, ast.Call)
    items = [ast.unparse(_with_parameters(arg, found)) for arg in node.args]
    for keyword in node.keywords:
        keyword.value = _with_parameters(keyword.value, found)
    named = [ast.unparse(keyword) for keyword in node.keywords]
    root, _, rest = name.partition(".")
    if root == "ndarray":
        return f"{items[0]}.{rest}({', '.join([*items[1:], *named])})"
    if root == "ufunc":
        rest = ast.unparse(node.func)
    return f"np.{rest}({', '.join([*items, *named])})"


def group_text(number: int) -> tuple[str, list[ast.expr]]:
    """A function that makes the calls of a group, one per statement, and the samples of its arguments."""
    found: list[ast.expr] = []
    lines = [f"    r{k} = {call_text(name, sample, found)}" for k, (name, sample) in enumerate(GROUPS[number])]
    results = ", ".join(f"r{k}" for k in range(len(lines)))
    parameters = ", ".join(f"a{position}" for position in range(len(found)))
    return "\n".join([f"def f{number}({parameters}):", *lines, f"    return {results}\n"]), found


def arguments(nodes: list[ast.expr], form: str) -> list[Any]:
    given: list[Any] = []
    for number, node in enumerate(nodes):
        value = eval(compile(ast.Expression(node), "sample", "eval"), dict(NAMES))  # our own sample text
        given.append(FORMS[form](value.make(number)) if isinstance(value, Data) else value.value)
    return given


@pytest.mark.parametrize("number", range(len(GROUPS)))
def test_calls_from_a_program_agree_with_numpy(tmp_path: Path, number: int):
    text, nodes = group_text(number)
    function = function_of(text, f"f{number}", tmp_path)
    program: Any = weft.program(function, fallback="error")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = function(*arguments(nodes, "c"))
        result = program(*arguments(nodes, "c"))

    assert_same(result, expected)
    assert program.stats.resumes == 0
    typed = sum(all_rules()[name].typed for name, _ in GROUPS[number])  # other forms may be compiled by now
    assert typed <= program.stats.numpy_calls <= len(GROUPS[number])
    assert program.stats.numpy_calls > 0


# ---- what NumPy is asked beforehand ---------------------------------------------------------------------------------

F8 = np.dtype("f8")
BUILD = Builder()
N, M, K = (BUILD.extent(name) for name in "nmk")


def matrix(*shape: Any) -> ArrayProbe:
    return ArrayProbe(F8, shape, tuple(range(len(shape))))


def shape_of(answer: Any) -> tuple[Any, ...]:
    assert isinstance(answer, ArrayAnswer)
    return answer.shape


def test_extents_are_those_of_the_arguments_where_they_must_be():
    assert shape_of(ask(np.sort, [matrix(N, M)], {})) == (N, M)
    assert shape_of(ask(np.linalg.pinv, [matrix(N, M)], {})) == (M, N)
    assert shape_of(ask(np.linalg.solve, [matrix(N, M), matrix(K)], {})) in {(N,), (M,), (K,)}
    assert shape_of(ask(np.median, [matrix(N, M)], {"axis": Known(0), "keepdims": Known(True)})) == (const_index(1), M)
    assert shape_of(ask(np.fft.fft, [matrix(N), IntProbe(K)], {})) == (K,)


def test_extents_are_unknown_where_they_are_more_than_that():
    assert shape_of(ask(np.linalg.svdvals, [matrix(N, M)], {})) == (None,)
    assert shape_of(ask(np.convolve, [matrix(N), matrix(M)], {})) == (None,)
    assert shape_of(ask(np.fft.rfft, [matrix(N)], {})) == (None,)


def test_the_result_lies_in_memory_as_that_of_numpy():
    fortran = ArrayProbe(F8, (N, M), (1, 0))

    answer = ask(np.sort, [fortran], {})

    assert isinstance(answer, ArrayAnswer)
    assert answer.order == (1, 0)


def test_named_tuples_keep_their_class():
    answer = ask(np.linalg.qr, [matrix(N, M)], {})

    assert isinstance(answer, TupleAnswer)
    assert answer.cls is type(np.linalg.qr(np.eye(2)))


def test_views_are_refused():
    with pytest.raises(Unfit, match="a view"):
        ask(np.transpose, [matrix(N, M)], {})


def test_the_reason_of_a_refusal_is_numpys():
    with pytest.raises(Refused) as refused:
        ask(np.sort, [matrix(N)], {"axis": Known(3)})

    assert isinstance(refused.value.__cause__, np.exceptions.AxisError)
