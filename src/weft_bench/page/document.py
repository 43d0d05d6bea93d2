"""The page as a whole: head, summary, tables, figures, machine and method."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Mapping, Sequence
from importlib.resources import files

from weft_bench.cells import Run
from weft_bench.figures.canvas import Drawing
from weft_bench.matrix import NUMPY, STATES, Matrix, framework_titles
from weft_bench.page.cards import make_cards, make_domain_means
from weft_bench.page.heat_table import make_heat_table
from weft_bench.page.machine_section import make_machine_section
from weft_bench.page.markup import Html, element, joined
from weft_bench.statistics import Noise, estimate_noise

METHOD = (
    "Every cell is a fresh process with its number of threads fixed. A repetition times NumPy and, right beside it, "
    "the framework, on fresh inputs made outside the timed region, after a warm-up; the first call and what is "
    "compiled are kept apart. The number is NumPy's median over the framework's; its interval comes from resampling "
    "the pairs (95 %, fixed seed). Superscripts are the paper's: the size of the 95 % interval of the framework's "
    "median, in percent of that median, from 1 % on.",
    "↑3.00 is three times faster than NumPy, ↓3.00 three times slower. Means are geometric and over what a framework "
    "computes rightly: two of them are comparable on the kernels both get right, which the cards give as well. A "
    "result counts as right when every output agrees with NumPy's within the kernel's tolerance.",
    "Two numbers differ when their intervals are apart and the difference is larger than NumPy shows against itself. "
    "The whole method and its limits are in docs/bench.md of Weft's sources.",
)


def make_page(run: Run, matrices: Sequence[Matrix], drawings: Sequence[Drawing] = (), figure_note: str = "") -> str:
    """The text of the page; `figure_note` says why there are no figures."""
    names = [NUMPY, *dict.fromkeys(name for matrix in matrices for name in matrix.frameworks)]
    titles = framework_titles(names)
    script = _resource("report.js")
    sections = [_setting_section(matrix, titles, run) for matrix in matrices]
    body = [
        _header(run, estimate_noise(run.cells)),
        element(
            "main",
            _setting_buttons(matrices),
            *([_controls(matrices, titles)] if matrices else [element("p", "This run has no cells yet.")]),
            *sections,
            _figures(drawings, figure_note),
            element("section", element("h2", "Machine"), make_machine_section(run.machine), id="machine"),
            element("section", element("h2", "Method"), *(element("p", text) for text in METHOD), id="method"),
            id="results",
        ),
        element("script", Html(script)),
    ]
    head = _head(f"weft bench, run {run.id}", script)
    return f"<!DOCTYPE html>\n{element('html', head, element('body', *body), lang='en', class_='plain')}\n"


def _resource(name: str) -> str:
    return (files("weft_bench.page") / name).read_text(encoding="utf-8")


def _head(title: str, script: str) -> Html:
    """Nothing may be loaded, and no script may run but ours: even if data could become markup, it would be inert."""
    digest = b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    return element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        element("style", Html(_resource("report.css"))),
    )


def _header(run: Run, noise: Noise) -> Html:
    verdict = noise.verdict.replace(" ", "-")
    return element(
        "header",
        element("button", "Dark or light", type="button", id="theme", class_="script-only"),
        element("h1", f"NumPy accelerators, run {run.id}"),
        element("p", f"Started {run.started}", class_="fine"),
        element("pre", run.command),
        element("p", noise.text, class_=f"noise {verdict}", role="status"),
        element("nav", *(element("a", text, href=f"#{place}", data_jump=place) for place, text in _PLACES)),
    )


_PLACES = (("results", "Results"), ("figures", "Figures"), ("machine", "Machine"), ("method", "Method"))


def _setting_buttons(matrices: Sequence[Matrix]) -> Html:
    """One button for each preset and thread count, where there are several."""
    if len(matrices) < 2:
        return Html("")
    buttons = [
        element("button", matrix.setting.label, type="button", data_setting=matrix.setting.label) for matrix in matrices
    ]
    return element("div", element("span", "Preset and threads:"), *buttons, class_="settings script-only")


def _controls(matrices: Sequence[Matrix], titles: Mapping[str, str]) -> Html:
    rows = [row for matrix in matrices for row in matrix.rows]
    used = {score.cell.state for matrix in matrices for score in matrix.scores.values()}
    states = [state for state in STATES if state in used]
    boxes = [
        element("label", element("input", type="checkbox", checked=True, data_toggle=name), title)
        for name, title in titles.items()
        if name != NUMPY
    ]
    return element(
        "form",
        element("input", type="search", id="text", placeholder="Search kernels, titles, errors", aria_label="Search"),
        _select("domain", "All domains", sorted({row.domain for row in rows})),
        _select("dwarf", "All dwarfs", sorted({row.dwarf for row in rows})),
        _select("state", "Any state", ["any failure", *states]),
        element("fieldset", element("legend", "Frameworks"), *boxes),
        element("button", "Reset", type="reset"),
        element("output", "", id="count"),
        class_="controls script-only",
        id="controls",
    )


def _select(name: str, everything: str, options: Sequence[str]) -> Html:
    chosen = [element("option", everything, value=""), *(element("option", text, value=text) for text in options)]
    return element("select", *chosen, id=name, aria_label=everything)


def _setting_section(matrix: Matrix, titles: Mapping[str, str], run: Run) -> Html:
    label = matrix.setting.label
    return element(
        "section",
        element("h2", f"Preset {label}"),
        make_cards(matrix, titles),
        make_domain_means(matrix, titles),
        make_heat_table(matrix, titles, run.machine),
        class_="setting",
        data_setting=label,
    )


def _figures(drawings: Sequence[Drawing], note: str) -> Html:
    shown = [
        element(
            "details",
            element("summary", drawing.title),
            element("figure", Html(drawing.inline_svg()), element("figcaption", drawing.caption)),
            open=place == len(drawings) - 1 or None,
        )
        for place, drawing in enumerate(drawings)
    ]
    text = [element("p", note, class_="fine")] if note else []
    return element("section", element("h2", "Figures"), *text, joined(shown), id="figures")
