"""The machine of a run, whatever its description holds: facts as a list, measured rates as tables.

Units come from the names: `..._bytes_per_second`, `..._flops_per_second`, `..._bytes`, `..._seconds`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeGuard, cast

from weft_bench.formats import show_bytes, show_number, show_seconds
from weft_bench.page.markup import Html, element

RATE_UNITS = {"_bytes_per_second": "GB/s", "_flops_per_second": "Gflop/s"}


def make_machine_section(machine: Mapping[str, Any]) -> Html:
    """All that is known of the machine."""
    rates = {key: value for key, value in machine.items() if _is_rate(key) and _is_mapping(value)}
    named = [(key, value) for key, value in machine.items() if key not in rates and key != "schema"]
    facts = [item for key, value in named for item in _fact(key, value)]
    tables = [_rate_table(key, value) for key, value in rates.items()]
    if not facts and not tables:
        return element("p", "This run does not say on which machine it ran.")
    return element("div", element("dl", *facts), element("div", *tables, class_="rates"), class_="machine")


def show_fact(key: str, value: Any) -> str:
    """One fact in a line."""
    if value is None:
        return "not known"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return _show_measured(key, float(value), value)
    if _is_mapping(value):
        return ", ".join(f"{_words(name)} {show_fact(name, item)}" for name, item in value.items())
    if isinstance(value, list | tuple):
        items = cast("list[Any]", value)
        separator = "; " if any(_is_mapping(item) for item in items) else ", "
        return separator.join(show_fact(key, item) for item in items) or "none"
    return str(value)


def _show_measured(key: str, number: float, value: float) -> str:
    for suffix, unit in RATE_UNITS.items():
        if key.endswith(suffix):
            return f"{show_number(number / 1e9)} {unit}"
    if key.endswith("bytes"):
        return show_bytes(number)
    if key.endswith("seconds"):
        return show_seconds(number)
    return str(value) if isinstance(value, int) else f"{number:.4g}"


def _fact(key: str, value: Any) -> list[Html]:
    if value in (None, "", [], {}):
        return []
    return [element("dt", _words(key)), element("dd", show_fact(key, value))]


def _rate_table(key: str, value: Mapping[str, Any]) -> Html:
    """Rates by level or dtype and thread count, one column for each kind."""
    lines = list(_flat_rows(value))
    kinds = list(dict.fromkeys(kind for _, rates in lines for kind in rates))
    heads = element("tr", element("th", ""), *(element("th", _words(kind) or "rate", scope="col") for kind in kinds))
    rows = [
        element("tr", element("th", name, scope="row"), *(_rate_cell(key, rates.get(kind)) for kind in kinds))
        for name, rates in lines
    ]
    unit = next(unit for suffix, unit in RATE_UNITS.items() if key.endswith(suffix))
    caption = element("caption", f"{_words(key).partition(' bytes')[0].partition(' flops')[0]}, {unit}")
    return element("table", caption, element("thead", heads), element("tbody", *rows))


def _rate_cell(key: str, rate: Any) -> Html:
    shown = show_fact(key, rate).partition(" ")[0] if isinstance(rate, int | float) else ""
    return element("td", shown, class_="number")


def _flat_rows(value: Mapping[str, Any], head: str = "") -> list[tuple[str, Mapping[str, Any]]]:
    """Nested rates as lines: a mapping whose values are numbers is one."""
    if not any(_is_mapping(item) for item in value.values()):
        if head:
            return [(head, value)]
        return [(name, {"": rate}) for name, rate in value.items()]
    rows: list[tuple[str, Mapping[str, Any]]] = []
    for name, item in value.items():
        label = f"{head}, {_words(name)}" if head else name
        rows += _flat_rows(item, label.strip()) if _is_mapping(item) else [(label.strip(), {"": item})]
    return rows


def _is_rate(key: str) -> bool:
    return any(key.endswith(suffix) for suffix in RATE_UNITS)


def _is_mapping(value: Any) -> TypeGuard[Mapping[str, Any]]:
    return isinstance(value, Mapping)


def _words(key: str) -> str:
    """A key as words; one that is a number counts threads, which JSON has as text."""
    if key.isdigit():
        return f"{key} thread{'' if key == '1' else 's'}"
    return key.replace("_", " ")
