"""A program's dataflow graph in the user's hands.

g = f.to_graph(A, B)              at the array level
g = g.apply(ExpandElementwise)    passes of one's own choice, each gives another graph
g.view("f.svg")                   a picture
f2 = g.compile()                  runs the graph as it is
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any, Unpack, cast

from weft.codegen.python import emit_python
from weft.driver.compiler import lower
from weft.driver.kernels import GoesToPython
from weft.driver.options import Options, ProgramOptions, refine
from weft.driver.pipelines import cpu_lowering, cpu_pipeline
from weft.ir.nodes import Program
from weft.ir.printer import print_program
from weft.ir.verifier import verify
from weft.passes.base import Pass, Session
from weft.support.errors import WeftError
from weft.support.records import record

if TYPE_CHECKING:
    from weft.driver.compiled_graph import CompiledGraph


@record
class Graph:
    """An immutable graph: `apply` and `optimize` give another, `compile` runs it, `view` draws it, `text` prints it.

    `function` is what it was made from, with its `options`; a graph read from text has none and cannot be compiled.
    """

    program: Program
    function: Callable[..., Any] | None = None
    options: Options = field(default_factory=Options)

    @classmethod
    def of_call(cls, function: FunctionType, arguments: tuple[Any, ...], options: Options) -> Graph:
        """The graph at the array level for a call."""
        try:
            lowered = lower(function, arguments, lenient=options.fallback == "warn")
        except GoesToPython as reason:
            raise WeftError(f"{function.__qualname__} runs in Python with these arguments: {reason}") from None
        return cls(lowered.program, function, options)

    @property
    def text(self) -> str:
        """The text form; `weft.ir.parser.parse_program` reads it back."""
        return print_program(self.program)

    # -- passes -------------------------------------------------------------------------------------------------------

    def apply(self, step: Pass | type[Pass]) -> Graph:
        """The graph after a pass; this one is unchanged."""
        chosen = step() if isinstance(step, type) else step
        program = chosen.run(self.program, Session())
        verify(program)
        return self if program is self.program else replace(self, program=program)

    def optimize(self) -> Graph:
        """The graph after all passes of `weft.program`."""
        return self._after(cpu_pipeline())

    def _after(self, steps: tuple[Pass, ...]) -> Graph:
        graph = self
        for step in steps:
            graph = graph.apply(step)
        return graph

    # -- out of here --------------------------------------------------------------------------------------------------

    def compile(self, **options: Unpack[ProgramOptions]) -> CompiledGraph:
        """The graph as it is, as something to call; options are those of `weft.program`.

        Whole-array operations that are left become plain loops, which the C code generator needs. Nothing is
        optimized: that is what `apply` and `optimize` are for.
        """
        from weft.driver.compiled_graph import CompiledGraph

        if self.function is None:
            raise WeftError("this graph has no Python function behind it: make one with to_graph(...)")
        function = cast("FunctionType", self.function)
        return CompiledGraph(self._after(cpu_lowering()), function, refine(self.options, options))

    def to_python(self) -> str:
        """The graph as runnable Python."""
        return emit_python(self.program)

    # -- pictures -----------------------------------------------------------------------------------------------------

    def svg(self) -> str:
        """A drawing of the graph, as SVG text."""
        from weft.driver.drawing import draw_program

        return draw_program(self.program)

    def save(self, path: str | Path) -> Path:
        """Write the drawing to a file."""
        file = Path(path)
        file.write_text(self.svg(), encoding="utf-8")
        return file

    def view(self, path: str | Path | None = None) -> Path:
        """Write the drawing to a file, a new temporary one without a path, and say which; any browser shows it."""
        import tempfile

        if path is not None:
            return self.save(path)
        with tempfile.NamedTemporaryFile(prefix=f"weft-{self.program.name}-", suffix=".svg", delete=False) as file:
            return self.save(file.name)

    def _repr_svg_(self) -> str:
        """What a notebook shows."""
        return self.svg()

    def __repr__(self) -> str:
        return f"<weft graph of {self.program.name}>"

    def __str__(self) -> str:
        return self.text
