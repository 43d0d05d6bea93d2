"""HTML that cannot forget to escape.

    element("td", "a < b", class_="name")       Html('<td class="name">a &lt; b</td>')

A plain `str` is data and is escaped, a `Html` is markup and stays. Only constants of this package become `Html` by
hand.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import TypeAlias

VOID = frozenset({"meta", "input", "br"})


class Html(str):
    """Text that is markup already."""

    __slots__ = ()


Attribute: TypeAlias = str | float | bool | None


def element(name: str, /, *children: str, **attributes: Attribute) -> Html:
    """An element; `class_` is the class, `data_x` is data-x, None and False leave an attribute out."""
    written = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in VOID:
        return Html(f"<{name}{written}>")
    return Html(f"<{name}{written}>{joined(children)}</{name}>")


def joined(children: Iterable[str]) -> Html:
    """Several pieces as one, with what is data escaped."""
    return Html("".join(child if isinstance(child, Html) else escape(_visible(child)) for child in children))


def _attribute(key: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escape(_visible(str(value)))}"'


def _visible(text: str) -> str:
    """Without control characters, which HTML does not allow, and halves of surrogate pairs, which no file can hold."""
    kept = "".join(sign for sign in text if sign.isprintable() or sign in "\n\t")
    return kept.encode("utf-8", "replace").decode("utf-8")
