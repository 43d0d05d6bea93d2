"""Say of every loop the user wished parallel and that is still a loop, why. Nothing is changed.

before:  for i in 1:n wish prange { x = a[i - 1]; write a[i] = x; continue }
after:   the same, and a record: the prange loop over i runs serially: a[i] written at line 13 may be a[i - 1] read at
         line 13 in a later iteration

Stands behind the passes that turn loops into maps and reductions. One record per loop of the source: `weft.map` over
several ranges is several loops here.
"""

from __future__ import annotations

from typing import ClassVar

from weft.analysis.facts import Facts
from weft.ir.nodes import Loop, Program, Region
from weft.ir.traverse import all_nodes
from weft.passes.base import Bench, Record, Session, rewrite_regions
from weft.passes.loop_bodies import named_sites
from weft.passes.wording import why_serial
from weft.support.records import record


@record
class ReportWishes:
    """Leave a record for every wish that did not come true."""

    name: ClassVar[str] = "report-wishes"

    def run(self, program: Program, session: Session) -> Program:
        """The very program it was given."""
        if not any(isinstance(node, Loop) and node.wish for node in all_nodes(program.body)):
            return program
        bench = Bench(self.name, program, session)
        found: list[Record] = []
        named = named_sites(program)
        rewrite_regions(bench, lambda region, facts: _look(region, facts, bench, named, found))
        places: set[object] = set()
        for wish in reversed(found):  # of loops at one place the outermost, which is looked at last
            if wish.span is None or wish.span not in places:
                session.records.append(wish)
            places.add(wish.span)
        return program


def _look(region: Region, facts: Facts, bench: Bench, named: frozenset[int], found: list[Record]) -> Region:
    for node in region.nodes:
        if isinstance(node, Loop) and node.wish:
            reason = why_serial(node, facts, bench.legality, named) or "it is more than the compiler takes for a map"
            text = f"the {node.wish} loop over {node.var.name} runs serially: {reason}"
            found.append(Record(bench.step, done=False, text=text, span=node.span, wish=True))
        facts = facts.after(node)
    return region
