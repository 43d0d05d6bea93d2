"""The summary on top: a card per framework with its mean, how much it gets right, and what fails how."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median

from weft_bench.cells import Cell, State
from weft_bench.colours import domain_colour, speedup_strength
from weft_bench.formats import show_factor, show_range, show_seconds
from weft_bench.matrix import STATES, Matrix
from weft_bench.page.markup import Html, element, joined
from weft_bench.statistics import Estimate


def make_cards(matrix: Matrix, titles: Mapping[str, str]) -> Html:
    """All cards of a setting."""
    common = matrix.common_rows()
    cards = [_card(matrix, name, titles[name], len(common)) for name in matrix.frameworks]
    return element("div", *cards, class_="cards")


def make_domain_means(matrix: Matrix, titles: Mapping[str, str]) -> Html:
    """The overview of the paper's figure: a geometric mean per domain and framework."""
    heads = [element("th", "Domain", scope="col"), element("th", "Kernels", scope="col")]
    heads += [element("th", titles[name], scope="col") for name in matrix.frameworks]
    rows: list[Html] = []
    for domain in (None, *matrix.domains):
        count = sum(1 for row in matrix.rows if domain in (None, row.domain))
        means = [_mean_cell(matrix.mean(name, matrix.right(name, domain))) for name in matrix.frameworks]
        label = element("th", *_domain_label(domain), scope="row")
        rows.append(element("tr", label, element("td", str(count), class_="number"), *means))
    table = element("table", element("thead", element("tr", *heads)), element("tbody", *rows), class_="heat means")
    return element(
        "details", element("summary", "Geometric means by domain"), element("div", table, class_="scroll"), open=False
    )


def heat_style(ratio: float) -> tuple[str, str]:
    """The class and the custom property that colour a cell, in light and dark alike."""
    strength = speedup_strength(ratio)
    return ("faster" if strength >= 0.0 else "slower"), f"--strength:{abs(strength) * 100.0:.0f}%"


def _domain_label(domain: str | None) -> tuple[Html, ...]:
    if domain is None:
        return (Html("All"),)
    return dot(domain), joined([domain])


def dot(domain: str) -> Html:
    """The mark in the domain's colour."""
    return element("span", class_="dot", style=f"background:{domain_colour(domain)}", aria_hidden="true")


def _mean_cell(mean: Estimate | None) -> Html:
    if mean is None:
        return element("td", class_="number empty")
    kind, style = heat_style(mean.value)
    shown = show_factor(mean.value)
    return element("td", shown, class_=f"number {kind}", style=style, title=f"95 %: {show_range(mean)}")


def _card(matrix: Matrix, framework: str, title: str, common: int) -> Html:
    right = matrix.right(framework)
    mean = matrix.mean(framework, right)
    states = matrix.states(framework)
    total = sum(states.values())
    cells = [score.cell for row in matrix.rows if (score := matrix.score(row, framework)) is not None]
    parts = [
        element("h3", title, element("small", _versions(cells))),
        _headline(mean),
        element("p", f"{len(right)} of {total} right", class_="right"),
        _state_bar(states, total),
        element("ul", *(_state_line(state, count) for state, count in states.items() if state != "ok"), class_="fails"),
    ]
    shared = matrix.mean(framework, matrix.common_rows()) if right and common else None
    if shared is not None and len(matrix.frameworks) > 1:
        parts.append(element("p", f"{show_factor(shared.value)} on the {common} that all get right", class_="fine"))
    parts += [
        element("p", text, class_="fine") for text in (_compile_line(matrix, framework), _math_line(cells)) if text
    ]
    return element("article", *parts, class_="card")


def _headline(mean: Estimate | None) -> Html:
    if mean is None:
        return element("p", "no right result", class_="headline none")
    interval = element("small", f"95 %: {show_range(mean)}")
    return element("p", element("b", show_factor(mean.value)), interval, class_="headline")


def _versions(cells: list[Cell]) -> str:
    return ", ".join(dict.fromkeys(cell.version for cell in cells if cell.version))


def _state_bar(states: Mapping[State, int], total: int) -> Html:
    """How many are right and how the others fail, as one bar."""
    parts = [
        element("i", class_=f"state-{STATES.index(state)}", style=f"width:{100.0 * count / total:.2f}%", title=state)
        for state, count in ((state, states.get(state, 0)) for state in STATES)
        if count
    ]
    return element("div", *parts, class_="bar", aria_hidden="true")


def _state_line(state: State, count: int) -> Html:
    return element("li", element("i", class_=f"state-{STATES.index(state)}"), f"{count} {state}")


def _compile_line(matrix: Matrix, framework: str) -> str:
    found = [matrix.scores[row, framework].compile_seconds for row in matrix.right(framework)]
    seconds = [value for value in found if value is not None]
    return f"compiles in {show_seconds(median(seconds))} (median)" if seconds else ""


def _math_line(cells: list[Cell]) -> str:
    flags = ", ".join(dict.fromkeys(cell.math for cell in cells if cell.math))
    return f"floating point: {flags}" if flags else ""
