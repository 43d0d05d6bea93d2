"""Leave out what a trial lowering left behind: containers no node mentions."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any

from weft.ir.nodes import Alloc, Memlet, Program, Storage, View


def prune(program: Program) -> Program:
    """The program with only the containers that are used, and the arguments."""
    used: set[str] = set()
    _collect(program.body, used)
    pending = list(used)
    while pending:
        container = program.containers[pending.pop()]
        for name in (container.base, *container.may_alias):
            if name and name not in used:
                used.add(name)
                pending.append(name)
    kept = {
        name: container
        for name, container in program.containers.items()
        if name in used or container.storage is Storage.ARGUMENT
    }
    for name, container in kept.items():
        aliases = tuple(alias for alias in container.may_alias if alias in kept)
        if aliases != container.may_alias:
            kept[name] = replace(container, may_alias=aliases)
    return replace(program, containers=kept)


def _collect(node: Any, used: set[str]) -> None:
    """Names of containers in a node and all below it."""
    match node:
        case View(container=name) | Memlet(container=name) | Alloc(container=name):
            if name:
                used.add(name)
        case tuple():
            for item in node:  # type: ignore[reportUnknownVariableType]
                if isinstance(item, str) and "." in item:
                    used.add(item)
                _collect(item, used)
        case _ if is_dataclass(node) and type(node).__module__ == "weft.ir.nodes":
            for field in fields(node):
                value = getattr(node, field.name)
                if field.name == "target" and isinstance(value, str):
                    used.add(value)
                _collect(value, used)
        case _:
            pass
