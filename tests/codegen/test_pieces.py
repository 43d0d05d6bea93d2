"""Long files in pieces, and support functions in files of their own: the same results, and nothing lost."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.codegen.harness import OPTIONS
from weft.codegen import pieces
from weft.codegen.module import CModule, emit_c
from weft.codegen.pieces import cut, in_piece
from weft.driver import compiler
from weft.runtime.cache import Cache
from weft_bench.kernels import BY_NAME

BODY = "struct e_{0} {{\n    int64_t n;\n}};\n\nWEFT_OPAQUE static void f_{0}(void *raw)\n{{\n    {1};\n}}\n"


def bodies(*lengths: int) -> list[str]:
    return [BODY.format(number, "x" * length) for number, length in enumerate(lengths)]


def piece_of(text: str) -> int:
    found = re.search(r"#if WEFT_PIECE\((\d)\)", text)
    assert found
    return int(found[1])


def module_of(name: str) -> CModule:
    kernel = BY_NAME[name]
    arguments = kernel.inputs("S")
    return compiler.generate(kernel.function, [arguments[name] for name in arguments]).module


def test_short_files_stay_whole() -> None:
    texts = bodies(10, 20)
    assert cut(texts, "", alone=False).texts == tuple(texts)
    assert cut(texts, "", alone=False).count == 1
    assert in_piece(0, "int f(void);\n", 1) == "int f(void);\n"


def test_a_file_that_must_stay_whole_does() -> None:
    texts = bodies(90_000, 90_000)
    assert cut(texts, "x" * 90_000, alone=True) == pieces.Pieces(tuple(texts), 1)


def test_bodies_are_shared_out_by_length() -> None:
    found = cut(bodies(45_000, 9_000, 8_000, 7_000), "", alone=False)
    assert found.count == 3
    places = [piece_of(text) for text in found.texts]
    assert places[0] not in places[1:]
    assert len(set(places)) == 3


def test_vectorized_loops_weigh_more_than_their_length() -> None:
    plain, vectorized = bodies(25_000, 2_000), bodies(25_000, 2_000)
    vectorized[1] = vectorized[1].replace("{\n    x", "{\n" + "#pragma omp simd\n" * 20 + "x")
    assert cut(plain, "", alone=False).count == 1
    found = cut([*vectorized, *bodies(500)], "", alone=False)
    assert [piece_of(text) for text in found.texts] == [1, 0, 1]


def test_the_kernel_weighs_in_its_piece() -> None:
    found = cut(bodies(20_000, 5_000), "x" * 20_000, alone=False)
    assert found.count == 3
    assert 0 not in [piece_of(text) for text in found.texts]
    assert cut([], "x" * 200_000, alone=False).count == 1


def test_a_declaration_and_the_struct_are_in_every_piece() -> None:
    text = cut(bodies(30_000, 30_000), "", alone=False).texts[1]
    everywhere = text[: text.index("#if")]
    assert everywhere.startswith("struct e_1 {")
    assert everywhere.endswith("WEFT_OPAQUE WEFT_HIDDEN void f_1(void *raw);\n")
    assert text.endswith("}\n#endif\n")
    assert "static" not in text


def test_products_are_a_unit_that_programs_share() -> None:
    first, second = module_of("matrix_product"), module_of("two_products")
    assert first.units
    assert first.units == second.units
    assert "WEFT_HIDDEN void weft_unit_product_f64(" in first.units[0]
    assert "cblas" not in first.source


def test_one_file_has_everything_unless_asked_otherwise() -> None:
    kernel = BY_NAME["matrix_product"]
    arguments = kernel.inputs("S")
    made = compiler.generate(kernel.function, list(arguments.values()))
    alone = emit_c(made.stages[-1].program, options=OPTIONS)
    assert (alone.units, alone.pieces) == ((), 1)
    assert "static void weft_product_f64(" in alone.source


@pytest.mark.parametrize("name", ["cavity_flow", "durbin", "stockham_fft"])
def test_a_kernel_in_pieces_computes_the_same(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import weft

    results: list[dict[str, Any]] = []
    for length in (10**9, 1):
        monkeypatch.setattr(pieces, "_PIECE_CHARACTERS", length)
        monkeypatch.setenv("WEFT_CACHE_DIR", str(tmp_path / str(length)))
        assert module_of(name).pieces == (1 if length > 1 else 4)
        arguments = BY_NAME[name].inputs("S")
        results.append({**arguments, "": weft.program(BY_NAME[name].function, fallback="error")(**arguments)})
    for before, after in zip(*(result.values() for result in results), strict=True):
        np.testing.assert_equal(before, after)


def test_objects_are_kept_and_damaged_ones_are_not_used(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    assert cache.load_object("text") is None
    cache.store_object("text", b"object")
    assert Cache(tmp_path).load_object("text") == b"object"
    (kept,) = (tmp_path / "objects").iterdir()
    kept.write_bytes(kept.read_bytes()[:-1])
    assert cache.load_object("text") is None
    cache.store_object("text", b"object")
    cache.clear()
    assert cache.load_object("text") is None


def test_objects_are_kept_where_no_folder_is() -> None:
    cache = Cache(None)
    cache.store_object("text", b"object")
    assert cache.load_object("text") == b"object"
