"""The graph in its plainest form: known values put to use, no copies and no code that nobody needs.

before:  site 0 {...}; %k.3: py_int = 1*%n.1; guard equal(%k.3, %m.2) else site 0; guard equal(%m.2, %n.1) else site 0
         alloc T site 0; matmul T[:, :] = A[:, :] @ B[:, :]; elementwise C[:, :] = T[:, :]
after:   site 0 {...}; guard equal(%n.1, %m.2) else site 0; matmul C[:, :] = A[:, :] @ B[:, :]

`propagate-values`, then `dead-code` and `redundant-copies` until no copy is left that could go. With `loop_sites`, the
sites in front of loops stay for passes that move guards and allocations there.
"""

from __future__ import annotations

from typing import ClassVar

from weft.ir.nodes import Program
from weft.passes.base import Session
from weft.passes.dead_code import DropDeadCode
from weft.passes.propagate_values import PropagateValues
from weft.passes.redundant_copies import DropCopies
from weft.support.records import record

_MOST_ROUNDS = 8


@record
class Simplify:
    """Propagate, drop copies, drop dead code."""

    name: ClassVar[str] = "simplify"
    loop_sites: bool = False

    def run(self, program: Program, session: Session) -> Program:
        """The program simplified."""
        dead_code = DropDeadCode(self.loop_sites)
        program = dead_code.run(PropagateValues().run(program, session), session)
        for _ in range(_MOST_ROUNDS):
            direct = DropCopies().run(program, session)
            if direct is program:
                break
            program = dead_code.run(direct, session)
        return program
