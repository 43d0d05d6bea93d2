"""Graphs in the user's hands: passes of one's own choice, then something to call."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft
from tests.end_to_end.outcome import assert_same, assert_same_outcome, run
from tests.kernels.forms import USUAL
from weft.driver.graph import Graph
from weft.ir.nodes import Elementwise, Map, Schedule
from weft.ir.parser import parse_program
from weft.ir.traverse import all_nodes
from weft.passes.expand_elementwise import ExpandElementwise
from weft.passes.schedule_maps import ScheduleMaps
from weft.support.errors import ArgumentError
from weft_bench.agreement import compare_outputs
from weft_bench.kernels import BY_NAME

SCALE = 3.0
HELP = "call the decorated function, which compiles for any arguments, or compile to_graph(...) of such arguments"


@weft.program
def smooth(steps: int, A: Any, B: Any) -> Any:
    for _ in range(steps):
        B[1:-1] = 0.5 * (A[:-2] + A[2:])
        A, B = B, A
    return A


def planes(size: int = 12) -> tuple[Any, Any]:
    return np.linspace(0.0, 7.0, size) ** 2, np.zeros(size)


def graph_of_smooth() -> Graph:
    return smooth.to_graph(3, *planes())


def schedules(graph: Graph) -> list[Schedule]:
    return [node.schedule for node in all_nodes(graph.program.body) if isinstance(node, Map)]


def message_of(call: Callable[[], Any]) -> str:
    """The words of a refusal."""
    with pytest.raises(ArgumentError) as caught:
        call()
    return str(caught.value)


# ---------------------------------------------------------------- passes, then compile

PASSES: dict[str, Callable[[Graph], Graph]] = {
    "none": lambda graph: graph,
    "expanded": lambda graph: graph.apply(ExpandElementwise),
    "parallel": lambda graph: graph.apply(ExpandElementwise()).apply(ScheduleMaps()),
    "all": Graph.optimize,
}


@pytest.mark.parametrize("change", PASSES.values(), ids=PASSES.keys())
def test_a_compiled_graph_gives_the_answer_of_numpy(change: Callable[[Graph], Graph]) -> None:
    compiled = change(graph_of_smooth()).compile(threads=2)
    for size in (12, 3, 2, 200):
        expected, actual = planes(size), planes(size)

        assert_same(compiled(3, *actual), smooth.py_func(3, *expected))
        assert_same(actual, expected)
    assert compiled.stats.native_calls == 4
    assert compiled.stats.resumes == 0


@pytest.mark.parametrize("name", ["matrix_product", "cholesky", "softmax", "floyd_warshall", "nbody"])
@pytest.mark.parametrize("optimized", [False, True], ids=["as_it_is", "optimized"])
def test_kernels_by_way_of_their_graph(name: str, optimized: bool) -> None:
    kernel = BY_NAME[name]
    sizes = USUAL[name]
    expected, actual = kernel.inputs(sizes), kernel.inputs(sizes)
    graph = weft.program(kernel.function, fallback="error").to_graph(**actual)
    compiled = (graph.optimize() if optimized else graph).compile()
    result, wanted = compiled(**actual), kernel.function(**expected)

    agreement = compare_outputs(
        kernel.collect(wanted, expected), kernel.collect(result, actual), kernel.tolerance(sizes)
    )
    assert agreement.ok, agreement.reason
    assert compiled.stats.native_calls == 1


def test_compile_adds_no_optimization_and_takes_none_away() -> None:
    graph = graph_of_smooth()
    sequential = graph.compile()
    parallel = graph.apply(ExpandElementwise).apply(ScheduleMaps).compile()

    assert any(isinstance(node, Elementwise) for node in all_nodes(graph.program.body))
    assert set(schedules(sequential.graph)) == {Schedule.SEQUENTIAL}
    assert set(schedules(parallel.graph)) == {Schedule.PARALLEL}
    assert "ctx->parallel(" not in sequential.inspect_source()
    assert "ctx->parallel(" in parallel.inspect_source()


def test_a_graph_is_never_changed() -> None:
    graph = graph_of_smooth()
    text = graph.text
    expanded = graph.apply(ExpandElementwise)
    expanded.compile()

    assert graph.text == text != expanded.text
    assert expanded.apply(ExpandElementwise) is expanded
    assert (expanded.function, expanded.options) == (graph.function, graph.options)


# ---------------------------------------------------------------- calls that do not fit


def wrong_arguments() -> dict[str, tuple[Callable[[Any], Any], str]]:
    """What is done to the call `compiled(3, A, B)`, and what it says."""
    a, b = planes()
    fixed = np.zeros(12)
    fixed.flags.writeable = False
    there = "; the graph was compiled for "
    return {
        "dtype": (lambda f: f(3, a.astype("f4"), b), f"argument 'A' is an array of float32{there}an array of float64"),
        "list": (lambda f: f(3, [1.0], b), f"argument 'A' is a list{there}an array of float64"),
        "rank": (lambda f: f(3, a, B=b[:, None]), f"argument 'B' has 2 axes{there}1 axis"),
        "one": (lambda f: f(3, a[:1], b), f"argument 'A' has length 1 along axis 0{there}other lengths than 1 there"),
        "strides": (lambda f: f(3, a[::2], b), f"argument 'A' has strides that are not dense{there}C order"),
        "fixed": (lambda f: f(3, a, fixed), f"argument 'B' is read-only{there}an array it can write"),
        "float": (lambda f: f(3.0, a, b), f"argument 'steps' is a float{there}an int of 64 bits"),
        "numpy": (lambda f: f(np.int64(3), a, b), f"argument 'steps' is a numpy.int64{there}an int of 64 bits"),
        "big": (lambda f: f(2**64, a, b), f"argument 'steps' is an int beyond 64 bits{there}an int of 64 bits"),
        "twice": (lambda f: f(3, a, a), f"argument 'B' is the same array as argument 'A'{there}two arrays"),
        "overlap": (
            lambda f: f(3, a[:-1], a[1:]),
            f"argument 'B' shares memory with argument 'A'{there}arrays that lie apart",
        ),
    }


@pytest.mark.parametrize(("call", "words"), wrong_arguments().values(), ids=wrong_arguments().keys())
def test_a_call_that_does_not_fit_is_refused(call: Callable[[Any], Any], words: str) -> None:
    compiled = graph_of_smooth().compile()

    assert message_of(lambda: call(compiled)) == f"smooth: {words}\n  = help: {HELP}"
    assert compiled.stats.native_calls == compiled.stats.fallback_calls == compiled.stats.python_calls == 0


def test_a_refusal_is_an_error_of_both_kinds() -> None:
    assert issubclass(ArgumentError, weft.WeftError)
    assert issubclass(ArgumentError, TypeError)


def test_twins_that_are_none_are_refused() -> None:
    a, b = planes()
    compiled = smooth.to_graph(3, a, a).compile()

    assert message_of(lambda: compiled(3, a, b)) == (
        "smooth: argument 'B' is not the same array as argument 'A'; the graph was compiled for one array in both "
        f"places\n  = help: {HELP}"
    )


def test_what_is_no_argument_is_named_too(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = weft.program(lambda a: a * SCALE).to_graph(np.ones(3)).compile()
    assert_same(compiled(np.ones(3)), np.ones(3) * 3.0)

    monkeypatch.setitem(globals(), "SCALE", 3)

    words = "global 'SCALE' is an int; the graph was compiled for a float"
    assert words in message_of(lambda: compiled(np.ones(3)))


def test_static_arguments_and_tuples_are_named() -> None:
    def add_up(a: Any, axis: int, sizes: tuple[int, int]) -> Any:
        return a.sum(axis=axis) * sizes[0]

    compiled = weft.program(add_up).to_graph(np.ones((3, 4)), 0, (1, 2)).compile()

    assert "argument 'axis' is 1; the graph was compiled for 0" in message_of(
        lambda: compiled(np.ones((3, 4)), 1, (1, 2))
    )
    assert "argument 'sizes' is a tuple of 3; the graph was compiled for a tuple of 2" in message_of(
        lambda: compiled(np.ones((3, 4)), 0, (1, 2, 3))
    )
    assert "item 0 of argument 'sizes' is a float; the graph was compiled for an int of 64 bits" in message_of(
        lambda: compiled(np.ones((3, 4)), 0, (1.5, 2))
    )


def test_arguments_that_do_not_bind_raise_the_error_of_python() -> None:
    compiled = graph_of_smooth().compile()
    for arguments, keywords in (((3,), {}), ((3, *planes(), 4), {}), ((3, *planes()), {"steps": 4})):
        assert_same_outcome(run(compiled, arguments, keywords), run(smooth.py_func, arguments, keywords))


# ---------------------------------------------------------------- guards, warnings, options


def test_a_guard_that_fails_goes_on_in_python() -> None:
    compiled = graph_of_smooth().compile()
    a, b = planes()
    outcome = run(compiled, (3, a, b[:5]))

    assert_same_outcome(outcome, run(smooth.py_func, (3, planes()[0], planes()[1][:5])))
    assert str(outcome.error) == "could not broadcast input array from shape (10,) into shape (3,)"
    assert (compiled.stats.native_calls, compiled.stats.resumes) == (1, 1)


def test_writes_before_a_failing_guard_stay() -> None:
    def fill(v: Any, n: int) -> int:
        for i in range(n):
            v[i] = 2.0 * i
        return n

    compiled = weft.program(fill).to_graph(np.zeros(4), 3).optimize().compile()
    expected, actual = run(fill, (np.zeros(4), 6)), run(compiled, (np.zeros(4), 6))

    assert_same_outcome(actual, expected)
    assert isinstance(actual.error, IndexError)
    assert compiled.stats.resumes == 1


def test_warnings_and_errstate_are_those_of_numpy() -> None:
    def invert(v: Any) -> Any:
        return 1.0 / v

    compiled = weft.program(invert).to_graph(np.ones(3)).compile()
    assert_same_outcome(run(compiled, (np.zeros(3),)), run(invert, (np.zeros(3),)))
    with np.errstate(divide="raise"):
        assert_same_outcome(run(compiled, (np.zeros(3),)), run(invert, (np.zeros(3),)))
    assert compiled.stats.python_calls == 1


def test_options_are_those_of_the_program_unless_chosen_anew() -> None:
    program = weft.program(smooth.py_func, strict=True, threads=1)
    graph = program.to_graph(3, *planes())

    assert graph.options == program.options
    assert (graph.compile(threads=2).options.threads, graph.compile().options.threads) == (2, 1)
    assert graph.compile(verify=True)(3, *planes())[0] == 0.0
    with pytest.raises(TypeError, match="no option 'speed'"):
        graph.compile(speed=3)  # type: ignore[call-arg]


def test_a_statement_that_is_not_compiled_is_left_to_python_as_in_the_program() -> None:
    def seldom(v: Any, odd: bool) -> Any:
        if odd:
            return set(v)
        return v + 1

    compiled = weft.program(seldom).to_graph(np.ones(3), False).compile()

    assert_same(compiled(np.ones(3), False), np.ones(3) + 1)
    with pytest.warns(weft.FallbackWarning):
        assert compiled(np.ones(2), True) == {1.0}


# ---------------------------------------------------------------- the compiled object


def test_looking_inside() -> None:
    compiled: Any = graph_of_smooth().compile()

    assert compiled.py_func is smooth.py_func
    assert compiled.__name__ == "smooth"
    assert "smooth" in compiled.inspect_source()
    assert "ret" in compiled.inspect_asm()
    assert (compiled.stats.variants, compiled.stats.compiles + compiled.stats.cache_hits) == (1, 1)
    assert repr(compiled) == f"<weft graph of {__name__}.smooth, compiled>"
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(compiled)


def test_a_compiled_graph_can_be_a_method() -> None:
    class Grid:
        def __init__(self) -> None:
            self.points: Any = np.ones(4)

        @weft.program
        def scaled(self, by: float) -> Any:
            return self.points * by

    Grid.scaled = Grid.scaled.to_graph(Grid(), 2.0).compile()

    assert_same(Grid().scaled(3.0), np.ones(4) * 3.0)
    grid = Grid()
    grid.points = np.ones((2, 2))
    assert "attribute 'points' of argument 'self' has 2 axes; the graph was compiled for 1 axis" in message_of(
        lambda: grid.scaled(3.0)
    )


def test_strides_in_another_order_are_refused() -> None:
    block = np.ones((6, 8))
    compiled = weft.program(lambda a: a + 1.0).to_graph(block[::2, ::2]).compile()

    assert_same(compiled(np.ones((3, 4))), np.ones((3, 4)) + 1.0)
    assert "argument 'a' has Fortran order; the graph was compiled for axes in another order of strides" in message_of(
        lambda: compiled(np.ones((3, 4), order="F"))
    )


def test_equal_graphs_are_compiled_once() -> None:
    def own(v: Any) -> Any:
        return v * 1.25 - 0.75

    graph = weft.program(own).to_graph(np.ones(3))

    assert [graph.compile().stats.compiles for _ in range(2)] == [1, 0]
    assert graph.compile().stats.cache_hits == 1


def test_a_compiled_graph_can_be_called_from_a_program() -> None:
    compiled = graph_of_smooth().compile()

    def twice(A: Any, B: Any) -> Any:
        return compiled(1, A, B) + compiled(2, A, B)

    expected = smooth.py_func(1, *(arrays := planes())) + smooth.py_func(2, *arrays)
    assert_same(weft.program(twice, fallback="error")(*planes()), expected)


def test_a_graph_from_text_has_nothing_to_call() -> None:
    graph = Graph(parse_program(graph_of_smooth().text))

    with pytest.raises(weft.WeftError, match=r"no Python function behind it: make one with to_graph\(\.\.\.\)"):
        graph.compile()


def test_without_weft_a_compiled_graph_is_the_function(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = graph_of_smooth()
    monkeypatch.setenv("WEFT_DISABLE", "1")
    compiled = graph.compile()

    assert_same(compiled(3, *planes()), smooth.py_func(3, *planes()))
    assert compiled.stats.native_calls == 0
    with pytest.raises(weft.WeftError, match="WEFT_DISABLE"):
        compiled.inspect_source()


def test_a_dump_has_the_graph_and_the_c_text(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WEFT_DUMP", str(tmp_path))
    compiled = graph_of_smooth().compile()

    assert (tmp_path / "smooth-graph.0.c").read_text() == compiled.inspect_source()
    assert (tmp_path / "smooth-graph.0.0-graph.weft").read_text() == compiled.graph.text


def test_arguments_python_must_take_have_no_graph() -> None:
    with pytest.raises(weft.WeftError, match="smooth runs in Python with these arguments"):
        smooth.to_graph(2**70, *planes())
