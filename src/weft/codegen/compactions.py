"""Loops that collect what a condition chooses, in blocks: nothing is done for those it refuses, those it takes as a
whole are copied, few are found one by one, and of the others a vector of elements is packed at a time.

before:  for k in range(n): if m[k]: T[at] = A[k]; at += 1
after:   for (first = 0; first < n; first += 128) {
             uint8_t keep[128], found = 0;
             for (k = first; k < last; ++k) { keep[k - first] = m[k]; found += keep[k - first]; }
             if (found == last - first)
                 for (k = first; k < last; ++k) T[at + k - first] = A[k];
             else
                 weft_pack_8(&T[at], &A[first], keep, last - first, found);
             at += found;
         }

Many turns are cut into pieces: it is counted how much each of them collects, and then threads take pieces. What is
moved in its own memory (`takeovers.py`) goes in order, which takes less time than a copy on two threads.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

from weft.analysis.compactions import Compaction, compaction
from weft.analysis.memory import Memory
from weft.codegen.access import element, is_strided
from weft.codegen.copies import are_neighbours
from weft.codegen.expressions import emit_expr, index_text
from weft.codegen.flag_counts import emit_flag_count
from weft.codegen.kernel import Kernel
from weft.codegen.nests import emit_map
from weft.codegen.outlining import PARALLEL_POINTS, emit_outlined, outline
from weft.codegen.support_packing import PACKED_SIZES
from weft.codegen.tasklets import emit_tasklet
from weft.ir.dtypes import PY_INT
from weft.ir.exprs import Index, Value, index
from weft.ir.nodes import Loop, Map, Memlet, Region, Tasklet
from weft.ir.substitution import Substitution
from weft.support.records import record

_BLOCK = 128  # turns: as many as a byte can count
_FEW = 6  # of them that are better found one by one
_PIECES = 64  # for threads, at most
_LEAST = 2048  # turns in one of them
_COUNTING = 8  # turns that are counted in the time in which one is moved


def compaction_here(kernel: Kernel, node: Loop) -> Compaction | None:
    """The parts of a loop that collects, where it may be written in blocks."""
    if kernel.rewritten is not None:
        return None
    found = compaction(node, Memory(kernel.program.containers), kernel.apart)
    if found is not None and any(is_strided(kernel.container(name)) for name in found.within):
        return None  # what moves in its own memory moves as bytes
    return found


@record
class _Block:
    """The turns from `low` to `high`."""

    low: Value
    high: Value


@record
class _Writer:
    """A loop being written. The names: its variable, the number as `parts` see it, and the one that goes along."""

    kernel: Kernel
    parts: Compaction
    test: tuple[Tasklet, ...]
    turn: str
    number: str
    here: str
    own: tuple[Value, Value]  # each piece has these for itself

    def tasklets(self, tasklets: Sequence[Tasklet]) -> None:
        for tasklet in tasklets:
            emit_tasklet(self.kernel, tasklet)

    @contextmanager
    def blocks(self, first: str, last: str) -> Generator[_Block]:
        """The loop over blocks."""
        kernel = self.kernel
        block = _Block(*(kernel.fresh_value(name, PY_INT) for name in ("low", "high")))
        low, high = kernel.value(block.low), kernel.value(block.high)
        with kernel.block(f"for (int64_t {low} = {first}; {low} < {last}; {low} += {_BLOCK})"):
            kernel.line(f"const int64_t {high} = {last} - {low} > {_BLOCK} ? {low} + {_BLOCK} : {last};")
            yield block

    def flag(self) -> str:
        """Whether the condition holds in the present turn: 0 or 1, a C expression."""
        self.tasklets(self.test)
        return f"({emit_expr(self.kernel, self.parts.condition)} != 0)"

    def look(self, block: _Block, keep: str) -> str:
        """In how many turns of a block the condition holds; noted in the array `keep`."""
        kernel, low, high = self.kernel, self.kernel.value(block.low), self.kernel.value(block.high)
        found, kept = kernel.names.claim("found"), kernel.names.claim("kept")
        kernel.line(f"uint8_t {found} = 0;")
        full = f"{low} + {_BLOCK}"
        for head, end in ((f"if ({high} == {full})", full), ("else", high)):
            with kernel.block(head):
                kernel.line(f"#pragma omp simd reduction(+:{found})")
                with kernel.block(f"for (int64_t {self.turn} = {low}; {self.turn} < {end}; ++{self.turn})"):
                    kernel.line(f"const uint8_t {kept} = {self.flag()};")
                    kernel.line(f"{keep}[{self.turn} - {low}] = {kept};")
                    kernel.line(f"{found} = (uint8_t)({found} + {kept});")
        return found

    def count(self, first: str, last: str, total: str) -> None:
        """Add to `total` in how many turns the condition holds."""
        emit_flag_count(self.kernel, self.turn, (first, last), total, self.flag)

    def move(self, first: str, last: str) -> None:
        """The turns themselves; `here` is the number before them, and then the one after them."""
        kernel, here, keep = self.kernel, self.here, self.kernel.names.claim("keep")
        with self.blocks(first, last) as block:
            low, high = kernel.value(block.low), kernel.value(block.high)
            kernel.line(f"uint8_t {keep}[{_BLOCK}];")
            found = self.look(block, keep)
            with kernel.block(f"if ({found} == {high} - {low})"):
                self.move_all(block)
            with kernel.block(f"else if ({found} <= {_FEW} && {high} == {low} + {_BLOCK})"):
                self.move_few(block, keep)
            with kernel.block("else"):
                self.move_some(block, keep, found)
            kernel.line(f"{here} += {found};")

    def move_some(self, block: _Block, keep: str, found: str) -> None:
        """A block of which `found` turns are taken: by vectors where elements are only moved, else one by one."""
        kernel, turn, number, low = self.kernel, self.turn, self.number, self.kernel.value(block.low)
        packs = self.packs()
        if packs is None:
            to = kernel.bind(f"{self.here} + {found}", "int64_t", "to")
            with kernel.block(f"for (int64_t {turn} = {low}, {number} = {self.here}; {number} < {to}; ++{turn})"):
                self.tasklets((*self.parts.before, *self.parts.body))
                kernel.line(f"{number} += {keep}[{turn} - {low}];")
            return
        kernel.line(f"const int64_t {turn} = {low}, {number} = {self.here};")
        for function, target, source in packs:
            length = f"{kernel.value(block.high)} - {low}"
            kernel.line(f"{kernel.support.machine(function)}({target}, {source}, {keep}, {length}, {found});")

    def packs(self) -> list[tuple[str, str, str]] | None:
        """Calls that do what the body does: functions, where they write and what they read; None if it computes."""
        kernel, (turn, number) = self.kernel, self.own
        calls: list[tuple[str, str, str]] = []
        for target, source in self.parts.sources() or ():
            size = kernel.container(target.container).dtype.itemsize
            to = f"(char *)&{element(kernel, target)}"
            if not are_neighbours(kernel, target, number) or size not in PACKED_SIZES:
                return None
            if isinstance(source, Index) and ((turn,), 1) in source.terms and len(source.terms) == 1:
                calls.append(("pack_turns", to, index_text(kernel, source)))
            elif isinstance(source, Memlet) and are_neighbours(kernel, source, turn):
                calls.append((f"pack_{size}", to, f"(const char *)&{element(kernel, source)}"))
            else:
                return None
        return calls or None

    def move_few(self, block: _Block, keep: str) -> None:
        """A whole block in which the condition seldom holds: eight turns at a time are passed over."""
        kernel, turn, number, low = self.kernel, self.turn, self.number, self.kernel.value(block.low)
        first, eight = kernel.names.claim("first"), kernel.names.claim("eight")
        kernel.line(f"int64_t {number} = {self.here};")
        with kernel.block(f"for (int64_t {first} = {low}; {first} < {low} + {_BLOCK}; {first} += 8)"):
            kernel.line(f"uint64_t {eight};")
            kernel.line(f"__builtin_memcpy(&{eight}, {keep} + ({first} - {low}), 8);")
            with kernel.block(f"for (int64_t {turn} = {first}; {eight} != 0 && {turn} < {first} + 8; ++{turn})"):
                kernel.line(f"if ({keep}[{turn} - {low}] == 0)")
                kernel.line("    continue;")
                self.tasklets((*self.parts.before, *self.parts.body))
                kernel.line(f"++{number};")

    def move_all(self, block: _Block) -> None:
        """A block in which the condition always holds: what is only moved may be memcpy's."""
        kernel, parts, turn, low = self.kernel, self.parts, self.turn, self.kernel.value(block.low)
        moves = parts.moves()
        if moves is None:
            kernel.line("#pragma omp simd")
            with kernel.block(f"for (int64_t {turn} = {low}; {turn} < {kernel.value(block.high)}; ++{turn})"):
                kernel.line(f"const int64_t {self.number} = {self.here} + ({turn} - {low});")
                self.tasklets((*parts.before, *parts.body))
            return
        ahead = kernel.fresh_value("ahead", PY_INT)
        kernel.line(f"const int64_t {kernel.value(ahead)} = {self.here} - {low};")
        at = Substitution({parts.number: index(self.own[0]) + index(ahead)})
        for tasklet in moves:
            if tasklet.writes[0][0].container in parts.within.union(kernel.takeovers):
                self.move_within(block, tasklet)
            else:
                body = Region((at.node(tasklet),))
                emit_map(kernel, Map(params=self.own[:1], ranges=((index(block.low), index(block.high)),), body=body))

    def move_within(self, block: _Block, tasklet: Tasklet) -> None:
        """Elements of a block that may stay in the same memory, where those at the beginning do not move at all."""
        kernel, ((_, source),), ((target, _),) = self.kernel, tasklet.reads, tasklet.writes
        low, high = kernel.value(block.low), kernel.value(block.high)
        pointers = f"{kernel.pointer(target.container)} + {self.here}", f"{kernel.pointer(source.container)} + {low}"
        size = kernel.container(target.container).dtype.itemsize
        kernel.line(f"if ({pointers[0]} != {pointers[1]})")
        kernel.line(f"    __builtin_memmove({pointers[0]}, {pointers[1]}, (uint64_t)({high} - {low}) * {size});")

    def is_within(self) -> str:
        """Whether something is moved in its own memory, which only goes from front to back; a C condition."""
        if self.parts.within:
            return "1"
        pairs = [
            f"{kernel.pointer(memlet.container)} == {kernel.pointer(old)}"
            for kernel in (self.kernel,)
            for tasklet in self.parts.body
            for memlet, _ in tasklet.writes
            if (old := kernel.takeovers.get(memlet.container)) is not None
        ]
        return " || ".join(pairs)


def emit_compaction(kernel: Kernel, node: Loop, parts: Compaction) -> None:
    """The loop; the variable of its number is declared, and has its first value."""
    claim = kernel.names.claim
    number = kernel.value(parts.number)
    with kernel.block():
        start = kernel.bind(index_text(kernel, node.start), "int64_t", "start")
        stop = kernel.bind(index_text(kernel, node.stop), "int64_t", "stop")
        own, turn = (node.var, parts.number), kernel.new_value(node.var)
        writer = _Writer(kernel, parts, parts.test(), turn, number, claim("here"), own)
        if kernel.parallel:
            kernel.line(f"int64_t {kernel.declare(writer.here, 'int64_t')} = {number};")
            writer.move(start, stop)
            kernel.line(f"{number} = {writer.here};")
            return
        _emit_pieces(writer, start, stop)


def _emit_pieces(writer: _Writer, start: str, stop: str) -> None:
    """Few turns are one piece; of more it is counted first what each piece collects."""
    kernel, number = writer.kernel, writer.number
    claim, machine = kernel.names.claim, kernel.support.machine
    turns = kernel.bind(f"{stop} > {start} ? {stop} - {start} : 0", "int64_t", "turns")
    length = f"{machine('piece')}({turns}, {_BLOCK}, {_LEAST})"
    alone = " || ".join(filter(None, (f"{turns} < {PARALLEL_POINTS}", writer.is_within())))
    piece = kernel.bind(f"{alone} ? {turns} + 1 : {length}", "int64_t", "piece")
    count = kernel.bind(f"({turns} + {piece} - 1) / {piece}", "int64_t", "pieces")
    numbers, ends = (kernel.declare(claim(name), "int64_t *") for name in ("numbers", "ends"))
    kernel.line(f"int64_t {numbers}[{_PIECES + 1}], {ends}[{_PIECES}];")
    kernel.line(f"{numbers}[0] = {number};")
    pieces = _Pieces(writer, start, stop, piece, count, numbers, ends)
    taken, part = kernel.declare(claim("taken"), "int64_t"), claim("part")
    kernel.line(f"int64_t {taken} = 0;")
    with kernel.block(f"if ({count} > 1)"):
        pieces.run(pieces.count_one, f"{turns} / {_COUNTING}")
        kernel.line(f"for (int64_t {part} = 0; {part} < {count}; ++{part})")
        kernel.line(f"    {numbers}[{part} + 1] += {numbers}[{part}];")
        kernel.line(f"{taken} = {numbers}[{count}] - {number};")
    pieces.run(pieces.move_one, taken)
    kernel.line(f"if ({count} > 0)")
    kernel.line(f"    {number} = {ends}[{count} - 1];")


@record
class _Pieces:
    """Pieces of a loop: C names of its bounds, their length and count, the number before and after each of them."""

    writer: _Writer
    start: str
    stop: str
    length: str
    count: str
    numbers: str
    ends: str

    def run(self, emit_one: Callable[[str, str, str], None], work: str) -> None:
        """All pieces, on threads if it is enough `work`; `emit_one` writes one, given its number, begin and end."""
        kernel = self.writer.kernel
        body = outline(kernel, (), lambda: self.each(emit_one))
        with kernel.block():
            emit_outlined(kernel, body, self.count, work, "1")

    def each(self, emit_one: Callable[[str, str, str], None]) -> None:
        kernel = self.writer.kernel
        part, first, last = (kernel.names.claim(name) for name in ("part", "first", "last"))
        for value in self.writer.own:
            kernel.new_value(value)
        with kernel.block(f"for (int64_t {part} = begin; {part} < end; ++{part})"):
            kernel.line(f"const int64_t {first} = {self.start} + {part} * {self.length};")
            left = f"{self.stop} - {first} > {self.length}"
            kernel.line(f"const int64_t {last} = {left} ? {first} + {self.length} : {self.stop};")
            emit_one(part, first, last)

    def count_one(self, part: str, first: str, last: str) -> None:
        kernel, total = self.writer.kernel, self.writer.kernel.names.claim("total")
        kernel.line(f"int64_t {total} = 0;")
        self.writer.count(first, last, total)
        kernel.line(f"{self.numbers}[{part} + 1] = {total};")

    def move_one(self, part: str, first: str, last: str) -> None:
        kernel, here = self.writer.kernel, self.writer.here
        kernel.line(f"int64_t {kernel.declare(here, 'int64_t')} = {self.numbers}[{part}];")
        with kernel.block(f"if ({self.count} == 1 || {self.numbers}[{part} + 1] > {here})"):
            self.writer.move(first, last)
        kernel.line(f"{self.ends}[{part}] = {here};")
