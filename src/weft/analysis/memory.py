"""Which containers may share memory.

in:   the containers of a program; pairs of refs that are known to be apart
out:  `roots`: the arguments and transients whose memory a container may be; `may_overlap` for two of them

Two arguments never overlap unless they are one container: the dispatcher sends every other call to Python. A ref may be
any of its `may_alias`, an alias is its base.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field

from weft.ir.nodes import Alloc, Container, Elementwise, Loop, Region, Storage, While
from weft.ir.traverse import all_nodes
from weft.support.records import record


@record
class Memory:
    """The memory of a program's containers."""

    containers: Mapping[str, Container]
    _roots: dict[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]], compare=False, repr=False)

    def roots(self, name: str) -> frozenset[str]:
        """The containers with memory of their own that a container may stand for."""
        found = self._roots.get(name)
        if found is None:
            found = self._roots[name] = frozenset(self._search(name))
        return found

    def _search(self, name: str) -> Iterable[str]:
        visited: set[str] = set()
        pending = [name]
        while pending:
            current = pending.pop()
            container = self.containers.get(current)
            if current in visited or container is None:
                continue
            visited.add(current)
            if container.storage is Storage.REF:
                pending += container.may_alias
            elif container.storage is Storage.ALIAS:
                pending.append(container.base)
            else:
                yield current

    def may_overlap(self, left: str, right: str, apart: frozenset[frozenset[str]] = frozenset()) -> bool:
        """Whether an element of one may be an element of the other."""
        return frozenset((left, right)) not in apart and not self.roots(left).isdisjoint(self.roots(right))

    def may_read_elsewhere(self, node: Elementwise, apart: frozenset[frozenset[str]] = frozenset()) -> bool:
        """Whether an input may be other elements of the output's memory: some may have to be copied first."""
        output = node.output
        return any(
            view != output and self.may_overlap(output.container, view.container, apart) for _, view in node.inputs
        )

    def is_observable(self, name: str) -> bool:
        """Whether Python may see it: it is, or may be, an argument."""
        return any(self.containers[root].storage is Storage.ARGUMENT for root in self.roots(name))


def made_in_loops(body: Region) -> frozenset[frozenset[str]]:
    """Pairs of a container that a loop's body allocates and a ref that the loop carries.

    They are apart wherever both are used: a use stands below the allocation, in the same iteration, and the ref was
    bound above it. What the ref is bound to in the next iteration is another question.
    """
    found: set[frozenset[str]] = set()
    for loop in all_nodes(body):
        refs = [x.target for x in loop.carries if isinstance(x.target, str)] if isinstance(loop, Loop | While) else []
        if refs and isinstance(loop, Loop | While):
            made = [node.container for node in all_nodes(loop.body) if isinstance(node, Alloc)]
            found.update(frozenset((name, ref)) for name in made for ref in refs)
    return frozenset(found)
