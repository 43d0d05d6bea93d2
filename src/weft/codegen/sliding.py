"""Rows in whole vectors, whose neighbours are taken from registers: maps that `slide` (`passes/slide_rows.py`).

before:  Map [j] in [1:n] slides { B[j] = A[j - 1] + A[j] + A[j + 1] }
after:   if (n - 1 >= 4 * lanes) {
             first = weft_first_line(&B[1], 1, lanes), last = weft_last_line(first, n, lanes);
             for (j = 1, end = 0; end < 2; ++end, j = first - lanes)
                 store(&B[j], load(&A[j - 1]) + load(&A[j]) + load(&A[j + 1]));
             before = load(&A[first] - lanes), here = load(&A[first]);
             for (j = first; j < last; j += lanes) {
                 next = load(&A[j] + lanes);
                 store(&B[j], window(before, here, lanes - 1) + here + window(here, next, 1));
                 before = here; here = next;
             }
             for (end = 0; end < 2; ++end, j = n - lanes)
                 store(&B[j], load(&A[j - 1]) + load(&A[j]) + load(&A[j + 1]));
         } else
             for (j = 1; j < n; ++j) ...

In the loop, what is written begins where a line of memory does. At each end of the row two vectors may overlap, which
compute the same once more; where a point reads what it writes, `B[j] += A[j] - A[j - 1]`, both are stored when both are
computed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, replace

from weft.analysis.lines import Line, is_moved, line_of
from weft.analysis.memory import Memory
from weft.codegen.access import element
from weft.codegen.c_types import tag
from weft.codegen.copies import are_neighbours
from weft.codegen.kernel import Kernel, Scope
from weft.codegen.spans import Span
from weft.ir.dtypes import DType
from weft.ir.exprs import Value
from weft.ir.nodes import Map, Memlet, Tasklet
from weft.ir.traverse import memlets_of
from weft.support.records import record

_SHORTEST_BYTES = 32  # of a vector: what is farther away is read where it lies


@record
class Window:
    """What is at hand of a line: the C names of three vectors, empty where nobody needs them.

    `base` is the first element of `here`, at `place`.
    """

    base: Memlet
    place: int
    here: str
    before: str
    next: str


@record
class Vectors:
    """How points read and write whole vectors: out of windows; to `kept`, if they are to be stored later."""

    param: Value
    dtype: DType
    windows: Mapping[Line, Window]
    end: str = ""
    kept: list[tuple[str, Memlet]] = field(default_factory=list[tuple[str, Memlet]])

    def read(self, kernel: Kernel, memlet: Memlet) -> str:
        """A vector of elements; one number where the parameter does not move it."""
        if not is_moved(memlet, self.param):
            return element(kernel, memlet)
        line, place = line_of(memlet, self.param)
        window = self.windows.get(line)
        if window is None:
            return self.place(f"&{element(kernel, memlet)}")
        step, name = place - window.place, tag(self.dtype)
        if step > 0:
            return f"weft_window_{name}({window.here}, {window.next}, {step})"
        if step < 0:
            return f"weft_window_{name}({window.before}, {window.here}, weft_lanes_{name} - {-step})"
        return window.here

    def write(self, kernel: Kernel, memlet: Memlet, text: str) -> None:
        """Store a vector, or keep it."""
        target = self.place(f"&{element(kernel, memlet)}")
        if self.end:
            name = kernel.names.claim("kept")
            self.kept.append((name, memlet))
            target = f"{name}[{self.end}]"
        kernel.line(f"{target} = {text};")

    def copied(self, kernel: Kernel, memlet: Memlet, place: str) -> str:
        """The statement that copies a vector of elements to a place in an array of our own."""
        return f"{self.place(f'&{place}')} = {self.place(f'&{element(kernel, memlet)}')};"

    def place(self, address: str) -> str:
        """The vector at an address, which may be that of any element."""
        return f"*(weft_loose_{tag(self.dtype)} *)({address})"


def slides_here(kernel: Kernel, node: Map) -> bool:
    """Whether a map slides, and its elements are known to be neighbours in memory at this place."""
    if not node.slides or kernel.rewritten is not None:
        return False
    param = node.params[-1]
    moved = [memlet for memlet in memlets_of(node.body.nodes) if is_moved(memlet, param)]
    return all(are_neighbours(kernel, memlet, param) for memlet in moved)


def long_enough(kernel: Kernel, node: Map, span: Span) -> str:
    """Whether there are vectors, and enough points for them."""
    dtype = _dtype(kernel, node)
    kernel.support.machine("row_bytes")
    kernel.support.need("vector", dtype)
    low = f"({span.low})" if " " in span.low else span.low
    return f"WEFT_ROW_BYTES && {span.high} - {low} >= 4 * weft_lanes_{tag(dtype)}"


def _dtype(kernel: Kernel, node: Map) -> DType:
    """The one type of what a map that slides reads and writes."""
    return kernel.container(memlets_of(node.body.nodes)[0].container).dtype


def emit_sliding(kernel: Kernel, node: Map, span: Span, before: Callable[[], None] | None) -> None:
    """The row in vectors; `before` writes the first lines of what is done for each."""
    param, dtype = node.params[-1], _dtype(kernel, node)
    lanes, first, last = f"weft_lanes_{tag(dtype)}", kernel.names.claim("first"), kernel.names.claim("last")
    written = next(memlet for inner in node.body.nodes if isinstance(inner, Tasklet) for memlet, _ in inner.writes)
    kernel.line(f"int64_t {span.name} = {span.low};")
    begins = f"{kernel.support.machine('first_line')}(&{element(kernel, written)}, {span.name}, {lanes})"
    kernel.line(f"const int64_t {first} = {begins};")
    kernel.line(f"const int64_t {last} = {kernel.support.machine('last_line')}({first}, {span.high}, {lanes});")
    _emit_end(kernel, node, span.name, (span.low, f"{first} - {lanes}"), before)
    kernel.line(f"{span.name} = {first};")
    windows = _windows(kernel, node, dtype)
    _emit_windows(kernel, windows, dtype)
    with kernel.block(f"for (; {span.name} < {last}; {span.name} += {lanes})"):
        _emit_turn(kernel, node, Vectors(param, dtype, windows), before)
    _emit_end(kernel, node, span.name, (last, f"{span.high} - {lanes}"), before)


def _reads_what_it_writes(kernel: Kernel, node: Map) -> bool:
    """Whether vectors that overlap must not be stored before all of them are computed."""
    memory = Memory(kernel.program.containers)
    tasklets = [inner for inner in node.body.nodes if isinstance(inner, Tasklet)]
    read = {memlet.container for tasklet in tasklets for _, memlet in tasklet.reads}
    written = {memlet.container for tasklet in tasklets for memlet, _ in tasklet.writes}
    return any(memory.may_overlap(left, right) for left in read for right in written)


def _emit_end(
    kernel: Kernel, node: Map, point: str, places: tuple[str, str], before: Callable[[], None] | None
) -> None:
    """The two vectors at one end of the row."""
    param, dtype, end = node.params[-1], _dtype(kernel, node), kernel.names.claim("end")
    late = before is not None or _reads_what_it_writes(kernel, node)
    vectors = Vectors(param, dtype, {}, end if late else "")
    head = f"for (int {end} = ({point} = {places[0]}, 0); {end} < 2; ++{end}, {point} = {places[1]})"
    depth = kernel.writer.depth
    with kernel.elsewhere() as beside:
        beside.depth = depth
        kernel.line("#pragma GCC unroll 1")
        with kernel.block(head):
            _emit_vectors(kernel, node, vectors, before)
    for name, _ in vectors.kept:
        kernel.line(f"weft_vector_{tag(dtype)} {name}[2];")
    kernel.writer.lines += beside.lines
    if late:
        with kernel.block(head):
            for name, memlet in vectors.kept:
                kernel.line(f"{vectors.place(f'&{element(kernel, memlet)}')} = {name}[{end}];")


def _emit_vectors(kernel: Kernel, node: Map, vectors: Vectors, before: Callable[[], None] | None) -> None:
    kernel.vectors = vectors
    kernel.map_depth += 1
    if before is not None:
        before()
    kernel.emit_region(kernel, node.body, Scope())
    kernel.map_depth -= 1
    kernel.vectors = None


# ---- windows --------------------------------------------------------------------------------------------------------


def _windows(kernel: Kernel, node: Map, dtype: DType) -> dict[Line, Window]:
    """The lines of which several elements are read, with `here` where the element lies that is written if it can be."""
    param, most = node.params[-1], _SHORTEST_BYTES // dtype.itemsize
    tasklets = [inner for inner in node.body.nodes if isinstance(inner, Tasklet)]
    written = next(line_of(memlet, param)[1] for tasklet in tasklets for memlet, _ in tasklet.writes)
    found: dict[Line, dict[int, Memlet]] = {}
    for tasklet in tasklets:
        for _, memlet in tasklet.reads:
            if is_moved(memlet, param):
                line, place = line_of(memlet, param)
                found.setdefault(line, {})[place] = memlet
    windows: dict[Line, Window] = {}
    for line, places in found.items():
        low, high = min(places), max(places)
        here = min(max(written, low), high)
        if low < high and here - low <= most and high - here <= most:
            base = _moved_by(places[low], param, here - low)
            names = [kernel.names.claim(name) for name in ("here", "before", "next")]
            windows[line] = Window(
                base, here, names[0], names[1] if low < here else "", names[2] if here < high else ""
            )
    return windows


def _moved_by(memlet: Memlet, param: Value, step: int) -> Memlet:
    return replace(memlet, index=tuple(at + step if param in at.values else at for at in memlet.index))


def _emit_windows(kernel: Kernel, windows: Mapping[Line, Window], dtype: DType) -> None:
    """What is at hand before the first turn."""
    vector, loose, lanes = (f"weft_{name}_{tag(dtype)}" for name in ("vector", "loose", "lanes"))
    for window in windows.values():
        address = f"&{element(kernel, window.base)}"
        if window.before:
            kernel.line(f"{vector} {window.before} = *({loose} *)({address} - {lanes});")
        if window.next:
            kernel.line(f"{vector} {window.here} = *({loose} *)({address});")


def _emit_turn(kernel: Kernel, node: Map, vectors: Vectors, before: Callable[[], None] | None) -> None:
    """Of each line the vector that is new, the points, and what is at hand in the next turn."""
    vector, lanes = f"weft_vector_{tag(vectors.dtype)}", f"weft_lanes_{tag(vectors.dtype)}"
    windows = vectors.windows.values()
    for window in windows:
        address = f"&{element(kernel, window.base)}"
        name, place = (window.next, f"{address} + {lanes}") if window.next else (window.here, address)
        kernel.line(f"const {vector} {name} = {vectors.place(place)};")
    _emit_vectors(kernel, node, vectors, before)
    for window in windows:
        if window.before:
            kernel.line(f"{window.before} = {window.here};")
        if window.next:
            kernel.line(f"{window.here} = {window.next};")
