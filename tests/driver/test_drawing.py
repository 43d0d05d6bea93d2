"""Pictures of graphs: complete, without overlaps, well-formed whatever the names, the same every time."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import weft
from tests.conftest import Golden
from tests.ir.samples import SAMPLES, sample
from tests.kernels.forms import USUAL
from tests.selection import in_turn
from weft.driver.drawing import draw_program
from weft.driver.drawing.arrange import arrange_box
from weft.driver.drawing.contents import program_box
from weft.driver.drawing.layered import Edge, Size, apart, layered
from weft.driver.drawing.scene import Placed, Scene
from weft.driver.drawing.texts import cells, clip, clip_lines, wrap_code
from weft.driver.graph import Graph
from weft.ir.nodes import Branch, Guard, Loop, Map, Program, Region, Tasklet, While
from weft.ir.parser import parse_program
from weft.ir.printer import print_expr, print_index, print_memlet, print_value
from weft.ir.text import print_name
from weft.ir.traverse import all_nodes
from weft_bench.kernels import BY_NAME

AVERAGE = """\
weft-ir 1
program average
slot param 0: array float64 rank 1
slot param 1: array float64 rank 1 written
size %n.1: py_int in [0, 1099511627776]
size %m.2: py_int in [0, 1099511627776]
array A: f8[%n.1] argument slot 0 S
array B: f8[%m.2] argument slot 1 S written
{
  site 0 f0@(0) {A: slot 0, B: slot 1}
  guard logical_and(equal(%n.1, %m.2), greater_equal(%n.1, 2)) else site 0 "slices clip, or sizes differ"
  map (%i.3: py_int from 1 to %n.1 - 2) in [1:%n.1 - 1] parallel {
    tasklet {
      %l.4: f8 = A[%i.3 - 1]
      %r.5: f8 = A[%i.3 + 1]
      write B[%i.3] = multiply(0.5:f8, add(%l.4, %r.5))
    }
  }
  return slot 1
}
"""
KINDS = ("array", "maps", "optimized")


def kernel_graph(name: str, kind: str) -> Graph:
    """The graph of a kernel at some stage."""
    from weft.driver.pipelines import cpu_lowering

    kernel = BY_NAME[name]
    graph = weft.program(kernel.function, fallback="error").to_graph(**kernel.inputs(USUAL[name]))
    if kind == "maps":
        for step in cpu_lowering():
            graph = graph.apply(step)
    return graph.optimize() if kind == "optimized" else graph


def texts_of(svg: str) -> str:
    """All texts and tooltips of a picture."""
    return "\n".join(ElementTree.fromstring(svg).itertext())


def scenes(placed: Placed) -> Iterator[tuple[Placed, Scene]]:
    """Every frame with what is in it."""
    if placed.scene is not None:
        yield placed, placed.scene
        for inner in placed.scene.boxes:
            yield from scenes(inner)


def rectangles(scene: Scene) -> list[tuple[float, float, float, float, str]]:
    """Boxes and labels: left, top, right, bottom, and what it is."""
    found = [(b.x, b.y, b.x + b.width, b.y + b.height, str(b.box.lines)) for b in scene.boxes]
    return found + [
        (label.x - label.width / 2, label.y, label.x + label.width / 2, label.y + label.height, str(label.lines))
        for label in scene.labels
    ]


def assert_tidy(program: Program) -> None:
    """Nothing overlaps in any frame, and everything is inside of its frame, below the header."""
    slack = 0.01
    for frame, scene in scenes(arrange_box(program_box(program))):
        found = rectangles(scene)
        for one, other in combinations(found, 2):
            apart_x = one[2] <= other[0] + slack or other[2] <= one[0] + slack
            apart_y = one[3] <= other[1] + slack or other[3] <= one[1] + slack
            assert apart_x or apart_y, (one, other)
        for left, top, right, bottom, what in found:
            assert -slack <= left <= right <= scene.width + slack, what
            assert -slack <= top <= bottom <= scene.height + slack, what
        x, y = frame.inside_at
        assert frame.x <= x <= x + scene.width <= frame.x + frame.width + slack
        assert frame.y + 16 * len(frame.box.lines) <= y <= y + scene.height <= frame.y + frame.height + slack


def assert_complete(program: Program, text: str) -> None:
    """Every container, map, memlet, loop, condition and guard is named."""
    for name in program.containers:
        assert print_name(name) in text
    for node in all_nodes(program.body):
        match node:
            case Map():
                params = ", ".join(print_value(param) for param in node.params)
                assert f"map ({params})" in text
            case Tasklet():
                for memlet in (*(memlet for _, memlet in node.reads), *(memlet for memlet, _ in node.writes)):
                    assert print_memlet(memlet) in text
            case Loop():
                assert f"for {print_value(node.var)} in {print_index(node.start)}:{print_index(node.stop)}" in text
            case Branch():
                assert f"if {print_expr(node.condition)}" in text
            case Guard():
                assert f"{print_expr(node.condition)} else site {node.site}: {node.reason}" in text
            case While():
                assert "while" in text
            case _:
                pass


# ---------------------------------------------------------------- pictures


def test_a_small_map(golden: Golden) -> None:
    assert draw_program(parse_program(AVERAGE)) == golden


@pytest.mark.parametrize("name", SAMPLES)
def test_every_kind_of_node(name: str) -> None:
    program = sample(name)

    assert_complete(program, texts_of(draw_program(program)))
    assert_tidy(program)


@pytest.mark.parametrize(("name", "kind"), in_turn(list(BY_NAME), KINDS))
def test_every_kernel(name: str, kind: str) -> None:
    graph = kernel_graph(name, kind)

    assert_complete(graph.program, texts_of(graph.svg()))
    assert_tidy(graph.program)


def test_a_map_says_what_all_its_iterations_move() -> None:
    text = texts_of(draw_program(parse_program(AVERAGE)))

    assert "A[:]" in text  # A[i - 1] and A[i + 1] for i from 1 to n - 2
    assert "B[1:%n.1 - 1]" in text
    assert "%l.4 = A[%i.3 - 1]" in text
    assert "in [1:%n.1 - 1]" in text


def test_containers_say_what_they_are() -> None:
    def scaled(v: Any) -> Any:
        w = v * 2.0
        return w.reshape(2, -1)

    text = texts_of(weft.program(scaled).to_graph(np.zeros((4, 3))[::2]).svg())

    assert "f8[%v_0.1, %v_1.2]" in text
    assert "argument, any strides" in text
    assert "transient, C order" in text
    assert "alias of " in text


def test_tooltips_have_the_whole_text_and_the_source_line() -> None:
    def long_line(first: Any, second: Any) -> Any:
        return np.sqrt(first * 2.0 + second * 3.0) - np.exp(first / 7.0) * np.exp(second / 9.0)  # the line

    graph = weft.program(long_line).to_graph(np.ones(3), np.ones(3)).optimize()
    text = texts_of(graph.svg())

    assert "test_drawing.py:" in text
    assert "- np.exp(first / 7.0) * np.exp(second / 9.0)  # the line" in text


def test_control_flow_is_framed() -> None:
    def search(v: Any, limit: float) -> int:
        n = 0
        while n < len(v):
            if v[n] > limit:
                return n
            n += 1
        return -1

    text = texts_of(weft.program(search).to_graph(np.zeros(3), 1.0).svg())

    for words in ("while", "carry %n.", "if ", "then", "else", "break", "continue", "return"):
        assert words in text


def test_names_and_reasons_are_escaped() -> None:
    odd = 'a<b & "c">\x00\u6570'
    program = parse_program(AVERAGE)
    guard = program.body.nodes[1]
    assert isinstance(guard, Guard)
    nodes = (program.body.nodes[0], replace(guard, reason=odd), *program.body.nodes[2:])
    svg = draw_program(replace(program, name=odd, body=Region(nodes)))

    assert odd.replace("\x00", "\ufffd") in texts_of(svg)
    assert "a<b" not in svg


# ---------------------------------------------------------------- size


def many(count: int) -> Program:
    """A program of so many statements."""
    lines = "".join(f"    v = v * {number}.5 + w\n    w = w - v\n" for number in range(count))
    source = f"def straight(v, w):\n{lines}    return v, w\n"
    with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
        file.write(source)
        file.flush()
        names: dict[str, Any] = {}
        exec(compile(source, file.name, "exec"), names)
        program: Any = weft.program(names["straight"])
        return program.to_graph(np.ones(3), np.ones(3)).program


def test_hundreds_of_nodes() -> None:
    program = many(60)
    svg = draw_program(program)

    assert_tidy(program)
    width = float(ElementTree.fromstring(svg).attrib["width"])
    assert width < 2500
    assert len(svg) < 1_000_000


def test_beyond_a_limit_nodes_are_counted() -> None:
    program = parse_program(AVERAGE)
    nodes = program.body.nodes
    program = replace(program, body=Region((*nodes[:2], *(nodes[2:3] * 900), nodes[3])))
    text = texts_of(draw_program(program))

    assert "… 503 more nodes" in text


def test_texts_are_clipped() -> None:
    assert clip("abcdef", 6) == "abcdef"
    assert clip("abcdefg", 6) == "abcde…"
    assert cells("\u6570a\u0301") == 3
    assert clip("\u6570\u6570\u6570", 4) == "\u6570…"
    assert clip_lines(["a", "b", "c"], 9, 2) == ("a", "… 2 more")
    assert wrap_code(["add(one, two, three)"], 14, 3) == ("add(one, two,", "  three)")
    assert wrap_code(["a" * 20], 5, 3) == ("aaaa…",)


# ---------------------------------------------------------------- layout


def test_positions_apart() -> None:
    assert apart([0.0, 0.0, 10.0], [1.0, 1.0, 1.0], [4.0, 4.0]) == [-2.0, 2.0, 10.0]
    assert apart([5.0, 1.0], [1.0, 3.0], [0.0]) == [2.0, 2.0]
    assert apart([], [], []) == []


def test_layers_follow_the_edges() -> None:
    size = Size(40.0, 20.0)
    edges = [Edge(0, 1, Size(30.0, 10.0)), Edge(1, 2), Edge(0, 2, Size(30.0, 10.0)), Edge(3, 2)]
    found = layered([size] * 4, edges)
    levels = [y for _, y in found.boxes]

    assert levels[0] < levels[1] == levels[3] < levels[2]  # what depends on nothing stands close to its use
    assert [label is None for label in found.labels] == [False, True, False, True]
    for edge, route in zip(edges, found.routes, strict=True):
        assert route[0][0][1] == levels[edge.source] + 10.0
        assert route[-1][-1][1] == levels[edge.target] - 10.0
        assert len(route) == (2 if edge.label else 1)


def test_crossings_are_taken_apart() -> None:
    size = Size(20.0, 20.0)
    found = layered([size] * 6, [Edge(0, 5), Edge(1, 4), Edge(2, 3), Edge(0, 4), Edge(1, 3)])
    x = [x for x, _ in found.boxes]

    assert sorted(x[:3]) in (x[:3], x[:3][::-1])
    assert sorted(x[3:]) in (x[3:], x[3:][::-1])
    assert (x[0] < x[1]) == (x[5] < x[4])


def test_parts_that_are_not_connected_stand_side_by_side() -> None:
    found = layered([Size(400.0, 20.0)] * 5, [])

    assert list(found.boxes[:2]) == [(200.0, 10.0), (628.0, 10.0)]
    assert found.size.width <= 900.0
    assert len({y for _, y in found.boxes}) == 3


# ---------------------------------------------------------------- files and notebooks


def test_view_and_save_write_files(tmp_path: Path) -> None:
    graph = Graph(parse_program(AVERAGE))

    assert graph.view(tmp_path / "one.svg") == tmp_path / "one.svg"
    assert graph.save(str(tmp_path / "two.svg")) == tmp_path / "two.svg"
    assert (tmp_path / "one.svg").read_text(encoding="utf-8") == (tmp_path / "two.svg").read_text(encoding="utf-8")
    assert graph._repr_svg_() == graph.svg()
    temporary = graph.view()
    try:
        assert temporary.name.startswith("weft-average-")
        assert temporary.read_text(encoding="utf-8") == graph.svg()
    finally:
        temporary.unlink()


def test_the_same_text_under_any_hash_seed(tmp_path: Path) -> None:
    script = tmp_path / "draw.py"
    script.write_text(
        "import sys, weft, weft_bench.kernels as k\n"
        "kernel = k.BY_NAME['nbody']\n"
        "graph = weft.program(kernel.function).to_graph(**kernel.inputs({'bodies': 5, 'steps': 2}))\n"
        "sys.stdout.write(graph.svg())\n"
    )
    drawn = {
        subprocess.run(
            [sys.executable, str(script)],
            env={"PYTHONHASHSEED": seed, "PATH": "/usr/bin"},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }

    assert len(drawn) == 1
