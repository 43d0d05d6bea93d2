"""Hand-made loops of which the dependences are known, as text.

Each is the body of `for i in 0:n` (or as `head` says); `A`, `B` are arrays of n, `M` of n x m, `K` of n integers, `V` a
view of memory in `A` under another shape, `X` and `Y` refs that may be `A` or `B`.
"""

from __future__ import annotations

from dataclasses import dataclass

from weft.analysis.dependences import Dependence, Kind, Legality
from weft.analysis.facts import Facts
from weft.analysis.integer_sets import Solver
from weft.ir.nodes import Loop, Node, Program, Region
from weft.ir.parser import parse_program

HEAD = """\
weft-ir 1
program nest
slot param 0: py_int
slot param 1: py_int
slot param 2: array float64 rank 1 layout C written
slot param 3: array float64 rank 1 layout C written
slot param 4: array float64 rank 2 layout C written
slot param 5: array int64 rank 1 layout C
scalar slot 0 = %k.1: py_int
scalar slot 1 = %s.2: py_int
size %n.3: py_int in [0, 1000000]
size %n2.4: py_int in [0, 1000000]
size %n3.5: py_int in [0, 1000000]
size %m.6: py_int in [0, 1000000]
size %n4.7: py_int in [0, 1000000]
size %x.8: py_int in [0, 1000000]
size %y.9: py_int in [0, 1000000]
array A: f8[%n.3] argument slot 2 C written
array B: f8[%n2.4] argument slot 3 C written
array M: f8[%n3.5, %m.6] argument slot 4 C written
array K: i8[%n4.7] argument slot 5 C
array V: f8[1, %n.3] alias of A C written
array T: f8[4] transient C
array X: f8[%x.8] ref S may alias (A, B) written
array Y: f8[%y.9] ref S may alias (A, B) written
"""

FLOW, ANTI, OUTPUT = Kind.FLOW, Kind.ANTI, Kind.OUTPUT


@dataclass(frozen=True, slots=True)
class Nest:
    """A loop body, and the kinds of dependences it carries."""

    name: str
    body: str
    kinds: frozenset[Kind]
    head: str = "for %i.20: py_int in 0:%n.3"
    above: str = ""
    decide: str = ""  # the containers on which iterations meet, where that is worth telling

    def program(self) -> Program:
        """The whole program, as the parser reads it."""
        lines = f"  site 0 f0@() {{}}\n{self.above}\n  {self.head} {{\n{self.body}\n    continue\n  }}\n"
        return parse_program(f"{HEAD}{{\n{lines}  return missing\n}}\n")

    def ask(self, kinds: frozenset[Kind] = frozenset(Kind)) -> list[Dependence]:
        """What the core says the loop carries."""
        return carried(self.program(), kinds)


def loop_of(program: Program) -> tuple[Loop, Facts]:
    """The first loop at the top, and the facts before it."""
    facts = Facts()
    for node in program.body.nodes:
        if isinstance(node, Loop):
            return node, facts
        facts = facts.after(node)
    raise AssertionError("there is no loop")


def carried(program: Program, kinds: frozenset[Kind] = frozenset(Kind)) -> list[Dependence]:
    """What the first loop of a program carries."""
    loop, facts = loop_of(program)
    return Legality(program, Solver(), kinds).carried(loop, facts)


def free(name: str, body: str, **other: str) -> Nest:
    return Nest(name, body, frozenset(), **other)


def nest(name: str, body: str, *kinds: Kind, **other: str) -> Nest:
    return Nest(name, body, frozenset(kinds), **other)


def region(*nodes: Node) -> Region:
    return Region(nodes)


def copy(target: str, source: str, number: int = 40) -> str:
    return f"    tasklet {{\n%v{number}.{number}: f8 = {source}\nwrite {target} = %v{number}.{number}\n}}"


def within(head: str, body: str) -> str:
    """A loop inside the loop."""
    return f"    {head} {{\n{body}\n      continue\n    }}"


NESTS = [
    # ---- one array, one index ----
    free("own element", copy("A[%i.20]", "A[%i.20]")),
    free("from another array", copy("A[%i.20]", "B[%i.20]"), above='  guard equal(%n.3, %n2.4): b1 else site 0 ""'),
    nest("the one before", copy("A[%i.20]", "A[%i.20 - 1]"), FLOW, head="for %i.20: py_int in 1:%n.3"),
    nest("the one after", copy("A[%i.20]", "A[%i.20 + 1]"), ANTI, head="for %i.20: py_int in 0:%n.3 - 1"),
    nest("backwards the one after", copy("A[%i.20]", "A[%i.20 + 1]"), FLOW, head="for %i.20: py_int in %n.3 - 2:-1:-1"),
    nest("backwards the one before", copy("A[%i.20]", "A[%i.20 - 1]"), ANTI, head="for %i.20: py_int in %n.3 - 1:0:-1"),
    nest("always the first", copy("A[%i.20]", "A[0]"), FLOW),
    nest("always the last", copy("A[%i.20]", "A[%n.3 - 1]"), ANTI),
    free("the first, from the second on", copy("A[%i.20]", "A[0]"), head="for %i.20: py_int in 1:%n.3"),
    nest("written to one place", copy("A[0]", "B[%i.20]"), OUTPUT),
    nest("mirror", copy("A[%i.20]", "A[%n.3 - 1 - %i.20]"), FLOW, ANTI),
    free("half and half", copy("A[%i.20]", "A[%i.20 + %k.1]"), head="for %i.20: py_int in 0:%k.1",
         above='  guard greater_equal(%k.1, 0): b1 else site 0 ""'),
    nest("a shift unknown", copy("A[%i.20]", "A[%i.20 + %k.1]"), FLOW, ANTI),
    free("a shift unknown, then back", copy("A[%i.20 + %k.1]", "A[%i.20 + %k.1]")),
    # ---- steps ----
    free("even from odd", copy("A[2*%i.20]", "A[2*%i.20 + 1]"), head="for %i.20: py_int in 0:%k.1"),
    free("every second, from the one after", copy("A[%i.20]", "A[%i.20 + 1]"),
         head="for %i.20: py_int in 0:%n.3 - 1:2"),
    nest("every second, from two after", copy("A[%i.20]", "A[%i.20 + 2]"), ANTI,
         head="for %i.20: py_int in 0:%n.3 - 2:2"),
    nest("every second, from two before", copy("A[%i.20]", "A[%i.20 - 2]"), FLOW, head="for %i.20: py_int in 2:%n.3:2"),
    free("every third, two of them", copy("A[%i.20 + 1]", "A[%i.20]", 40) + "\n" + copy("A[%i.20 + 2]", "A[%i.20]", 41),
         head="for %i.20: py_int in 0:%n.3 - 2:3"),
    nest("every second, two neighbours", copy("A[%i.20 + 1]", "B[0]", 40) + "\n" + copy("A[%i.20 + 2]", "B[0]", 41)
         + "\n" + copy("A[%i.20]", "B[0]", 42), OUTPUT, head="for %i.20: py_int in 0:%n.3 - 2:2"),
    nest("twice and once", copy("A[2*%i.20]", "A[%i.20]"), FLOW, head="for %i.20: py_int in 0:%k.1"),
    nest("an unknown step", copy("A[%i.20]", "A[%i.20 - 1]"), FLOW, ANTI, head="for %i.20: py_int in 1:%n.3:%s.2"),
    # ---- what is no multiple of one variable ----
    nest("a gather", copy("A[%i.20]", "A[%k40.30]").replace("tasklet {", "%k40.30: i8 = K[%i.20]\n    tasklet {"),
         FLOW, ANTI),
    nest("a scatter", copy("A[%k40.30]", "B[%i.20]").replace("tasklet {", "%k40.30: i8 = K[%i.20]\n    tasklet {"),
         OUTPUT),
    nest("a gather and its neighbour",
         copy("A[%k40.30]", "A[%k40.30 + 1]").replace("tasklet {", "%k40.30: i8 = K[%i.20]\n    tasklet {"),
         FLOW, ANTI, OUTPUT),
    nest("a product with an unknown step", copy("A[%i.20*%s.2]", "B[0]"), OUTPUT),
    nest("a square", copy("A[%i.20*%i.20]", "B[0]"), OUTPUT),
    free("a product of parameters is a parameter", copy("A[%i.20 + %k.1*%s.2]", "A[%i.20 + %k.1*%s.2]")),
    nest("a product of parameters as a shift", copy("A[%i.20]", "A[%i.20 + %k.1*%s.2]"), FLOW, ANTI),
    # ---- two axes ----
    free("rows", copy("M[%i.20, 0]", "M[%i.20, 1]"), head="for %i.20: py_int in 0:%n3.5"),
    nest("down a column", copy("M[%i.20, 0]", "M[%i.20 - 1, 0]"), FLOW, head="for %i.20: py_int in 1:%n3.5"),
    free("down to another column", copy("M[%i.20, 0]", "M[%i.20 - 1, 1]"), head="for %i.20: py_int in 1:%n3.5"),
    free("the diagonal", copy("M[%i.20, %i.20]", "B[0]"), head="for %i.20: py_int in 0:%n3.5"),
    nest("the diagonal from the row above", copy("M[%i.20, %i.20]", "M[%i.20 - 1, %i.20 - 1]"), FLOW,
         head="for %i.20: py_int in 1:%n3.5"),
    free("the diagonal from beside it", copy("M[%i.20, %i.20]", "M[%i.20, %i.20 - 1]"),
         head="for %i.20: py_int in 1:%n3.5"),
    free("rows, inner loop along them",
         within("for %j.21: py_int in 1:%m.6", copy("M[%i.20, %j.21]", "M[%i.20, %j.21 - 1]")),
         head="for %i.20: py_int in 0:%n3.5"),
    nest("columns, inner loop down them",
         within("for %j.21: py_int in 0:%m.6", copy("M[%i.20, %j.21]", "M[%i.20 - 1, %j.21]")),
         FLOW, head="for %i.20: py_int in 1:%n3.5"),
    nest("a triangle from its transpose",
         within("for %j.21: py_int in 0:%i.20", copy("M[%i.20, %j.21]", "M[%j.21, %i.20]")),
         head="for %i.20: py_int in 0:%n3.5"),
    nest("a square from its transpose",
         within("for %j.21: py_int in 0:%n3.5", copy("M[%i.20, %j.21]", "M[%j.21, %i.20]")),
         FLOW, ANTI, head="for %i.20: py_int in 0:%n3.5"),
    nest("forward substitution",
         within("for %j.21: py_int in 0:%i.20", copy("A[%i.20]", "A[%j.21]")), FLOW),
    nest("a view as a whole", "    elementwise A[0:%n.3 - 1] at (%p.50: py_int) {\n"
         "%v.51: f8 = B[0:%n.3 - 1]\nyield %v.51\n}", OUTPUT),
    free("one row at a time", "    elementwise M[%i.20, :] at (%p.50: py_int) {\n"
         "%v.51: f8 = M[%i.20, :]\nyield %v.51\n}", head="for %i.20: py_int in 0:%n3.5"),
    nest("one row from the one before", "    elementwise M[%i.20, :] at (%p.50: py_int) {\n"
         "%v.51: f8 = M[%i.20 - 1, :]\nyield %v.51\n}", FLOW, head="for %i.20: py_int in 1:%n3.5"),
    # ---- conditions, resolutions, private memory, aliases, refs ----
    free("only where it does no harm",
         "    if less(%i.20, %k.1): b1 {\n" + copy("A[%i.20]", "A[%i.20 + %k.1]") + "\n yield\n} else {\n yield\n}",
         above='  guard greater_equal(%k.1, 0): b1 else site 0 ""'),
    nest("a sum in one place", "    tasklet {\n%v.40: f8 = A[%i.20]\nwrite B[0] resolve add = %v.40\n}"),
    nest("a sum that is read", "    tasklet {\n%v.40: f8 = A[%i.20]\nwrite B[0] resolve add = %v.40\n}\n"
         + copy("A[%i.20]", "B[0]", 44), FLOW, ANTI),
    nest("two resolutions", "    tasklet {\n%v.40: f8 = A[%i.20]\nwrite B[0] resolve add = %v.40\n"
         "write B[0] resolve multiply = %v.40\n}", OUTPUT),
    free("memory of its own",
         "    alloc T site 0\n" + copy("T[0]", "A[%i.20]", 40) + "\n" + copy("B[%i.20]", "T[0]", 41)),
    nest("memory shared", copy("T[0]", "A[%i.20]", 40) + "\n" + copy("B[%i.20]", "T[0]", 41), FLOW, ANTI, OUTPUT,
         above="  alloc T site 0"),
    nest("another name for it", copy("A[%i.20]", "V[0, %i.20]"), FLOW, ANTI),
]  # fmt: skip


def known(name: str) -> Nest:
    """A nest by its name."""
    return next(nest for nest in NESTS if nest.name == name)
