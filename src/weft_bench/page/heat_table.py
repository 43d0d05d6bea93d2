"""The heat map as a table that sorts and filters: a `tbody` per kernel, with its detail as the second row.

What the script needs stands in data attributes: `data-value` of a cell is its ratio (or, of NumPy, seconds; of text,
the text), `data-state` how it ended, and the `tbody` has domain, dwarf and a text to search.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from weft_bench.formats import show_factor, show_range, show_seconds, show_width
from weft_bench.matrix import Matrix, Row, Score
from weft_bench.page.cards import dot, heat_style
from weft_bench.page.details import make_detail
from weft_bench.page.markup import Html, element


def make_heat_table(matrix: Matrix, titles: Mapping[str, str], machine: Mapping[str, Any]) -> Html:
    """The table of one setting."""
    columns = [("kernel", "Kernel", "text"), ("domain", "Domain", "text"), ("numpy", "NumPy", "number")]
    columns += [(name, titles[name], "number") for name in matrix.frameworks]
    heads = [_head(place, *column) for place, column in enumerate(columns)]
    means = element(
        "tr", element("th", "Geometric mean of the rows shown", colspan=3, scope="row"), *_means(matrix), class_="mean"
    )
    bodies = [_body(matrix, row, titles, machine) for row in matrix.rows]
    table = element("table", element("thead", element("tr", *heads), means), *bodies, class_="heat sortable")
    return element("div", table, class_="scroll")


def _head(place: int, key: str, title: str, kind: str) -> Html:
    framework = key if place > 2 else None
    button = element("button", title, type="button")
    return element("th", button, scope="col", data_key=key, data_kind=kind, data_framework=framework)


def _means(matrix: Matrix) -> list[Html]:
    cells: list[Html] = []
    for name in matrix.frameworks:
        mean = matrix.mean(name, matrix.right(name))
        shown = "" if mean is None else show_factor(mean.value)
        cells.append(element("td", shown, class_="number", data_framework=name))
    return cells


def _body(matrix: Matrix, row: Row, titles: Mapping[str, str], machine: Mapping[str, Any]) -> Html:
    button = element("button", row.label, type="button", class_="opener", aria_expanded="false", title=row.title)
    numpy = matrix.numpy_seconds(row)
    cells = [
        element("th", button, scope="row", data_value=row.label),
        element("td", dot(row.domain), row.domain, data_value=row.domain, class_="domain"),
        element("td", class_="number empty")
        if numpy is None
        else element(
            "td", show_seconds(numpy.value), _width(show_width(numpy)), data_value=numpy.value, class_="number"
        ),
    ]
    cells += [_cell(name, matrix.score(row, name)) for name in matrix.frameworks]
    messages = [score.cell.message for name in matrix.frameworks if (score := matrix.score(row, name)) is not None]
    search = " ".join([row.label, row.title, row.domain, row.dwarf, *messages]).lower()
    detail = element("td", make_detail(matrix, row, titles, machine), colspan=3 + len(matrix.frameworks))
    return element(
        "tbody",
        element("tr", *cells, class_="kernel"),
        element("tr", detail, class_="detail"),
        data_kernel=row.label,
        data_domain=row.domain,
        data_dwarf=row.dwarf,
        data_search=search,
    )


def _cell(framework: str, score: Score | None) -> Html:
    if score is None:
        return element("td", class_="number empty", data_framework=framework, data_state="")
    cell = score.cell
    if score.speedup is None or score.seconds is None:
        return element(
            "td", cell.state, class_="failed", title=cell.message, data_framework=framework, data_state=cell.state
        )
    kind, style = heat_style(score.speedup.value)
    return element(
        "td",
        show_factor(score.speedup.value),
        _width(score.superscript),
        class_=f"number {kind}",
        style=style,
        title=f"95 %: {show_range(score.speedup)}; median {show_seconds(score.seconds.value)}",
        data_framework=framework,
        data_state=cell.state,
        data_value=f"{score.speedup.value:.6g}",
    )


def _width(text: str) -> Html:
    """Also where it is empty, so that the numbers of a column stand below one another."""
    return element("span", text, class_="width")
