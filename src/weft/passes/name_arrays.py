"""Arrays are called what the user calls them, in what is said of the program and in the C that is made of it.

before:  alloc x.17; site 2 f0@(1) {y: x.17[:]}; write x.17[0] = 1.0:f8
after:   alloc y.17; site 2 f0@(1) {y: y.17[:]}; write y.17[0] = 1.0:f8

Nothing else is changed. The first name counts that an array has in its function; the numbers keep names apart.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from weft.ir.nodes import Container, Program, Site, Storage, View
from weft.ir.substitution import Substitution
from weft.ir.traverse import all_nodes
from weft.passes.base import Session
from weft.support.records import record


@record
class NameArrays:
    """Give arrays the names of variables."""

    name: ClassVar[str] = "name-arrays"

    def run(self, program: Program, session: Session) -> Program:
        """The same program in other words."""
        names = _names(program)
        if not names:
            return program
        chosen = Substitution(containers=names)
        containers: dict[str, Container] = {}
        for container in program.containers.values():
            aliases = tuple(map(chosen.name, container.may_alias))
            name, base = chosen.name(container.name), chosen.name(container.base)
            containers[name] = replace(container, name=name, base=base, may_alias=aliases)
        return replace(program, body=chosen.region(program.body), containers=containers)


def _names(program: Program) -> dict[str, str]:
    """Containers with memory of the program's own -> what they shall be called."""
    found: dict[str, str] = {}
    sites = (node for node in all_nodes(program.body) if isinstance(node, Site))
    for frame in (frame for site in sites for frame in site.frames):
        for name, value in zip(frame.names, frame.values, strict=True):
            if isinstance(value, View) and _is_own(program, value.container) and not name.startswith("_"):
                found.setdefault(value.container, f"{name}.{value.container.rpartition('.')[2]}")
    return {old: new for old, new in found.items() if old != new}


def _is_own(program: Program, name: str) -> bool:
    return "." in name and program.containers[name].storage is Storage.TRANSIENT
