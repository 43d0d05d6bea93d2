# pyright: reportArgumentType=false
"""Strings whose characters are counted and compared: one program for all of them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import weft
from tests.compiling import PLAINLY
from tests.end_to_end.data import f8
from tests.end_to_end.table import Row, Table

TABLE = Table()


@TABLE.parametrize()
def test_texts(row: Row) -> None:
    row.check()


def edit_distance(s, t):
    m, n = len(s), len(t)
    d = np.zeros((m + 1, n + 1), dtype=int)
    d[:, 0] = np.arange(m + 1)
    d[0, :] = np.arange(n + 1)
    for i in range(1, m + 1):
        for j in range(1, n + 1):
            cost = 0 if s[i - 1] == t[j - 1] else 1
            d[i, j] = min(d[i - 1, j] + 1, d[i, j - 1] + 1, d[i - 1, j - 1] + cost)
    return d[m, n]


TABLE.add(
    lambda: ("kitten", "sitting"),
    lambda: ("", "abc"),
    lambda: ("a", ""),
    lambda: ("äöü€𝄞", "aou€𝄞"),
    lambda: ("\ud800x", "x"),
)(edit_distance)


@TABLE.add(lambda: ("ACGTN", 0), lambda: ("GATTACA" * 30, 3), lambda: ("é", -1), lambda: ("", 0))
def known_characters(text, start):
    counts = np.zeros(5, dtype=int)
    for i in range(len(text)):
        if text[i] == "A":
            counts[0] += 1
        elif text[i] in "CG" and text[i] != "AC":
            counts[1] += 1
        if "a" <= text[i] <= "z" or text[i] not in ("A", "C", "GT"):
            counts[2] += 1
        counts[3] += text[i] == text[-1]
        counts[4] += text[i - start] > text[start - i]
    return counts, text[0] == "AC" if len(text) > 3 else text


@TABLE.add(lambda: ("abc", 2), lambda: ("abc", 3), lambda: ("abc", -4))
def beyond_the_end(text, k):
    return text[k] == "c", len(text)


@TABLE.add(lambda: ("abc", 2), lambda: ("abcdef", 1), need="right")
def characters_are_taken_out(text, k):
    first = text[k]
    total = 0
    for c in text:
        total += c == first
    return first, total, text[k:] + first


@TABLE.add(lambda: ("kitten", "sitting"), lambda: ("", "abc"), lambda: ("äöü€𝄞", "aou€𝄞"), lambda: ("\ud800x", "x"))
def loops_over_texts(s, t):
    d = np.zeros((len(s) + 1, len(t) + 1), dtype=int)
    d[:, 0], d[0] = np.arange(len(s) + 1), np.arange(len(t) + 1)
    for i, a in enumerate(s, 1):
        for j, b in enumerate(t):
            d[i, j + 1] = min(d[i - 1, j] + (a != b), d[i, j] + 1, d[i - 1, j + 1] + 1)
    different = 0
    for a, b in zip(s, reversed(t), strict=False):
        different += a != b
    return d[-1, -1], different, s


@TABLE.add(lambda: ("aabbbcaaaa",), lambda: ("x",), lambda: ("éé",), lambda: ("",))
def a_name_holds_a_character(text):
    longest, run, last = 0, 0, ""
    for c in text:
        run = run + 1 if c == last else 1
        if run > longest:
            longest, best = run, c
        last = c
    return longest, last, best  # pyright: ignore[reportPossiblyUnboundVariable] - of an empty text it is


@TABLE.add(lambda: ("GATTACA",), lambda: ("GATXTACA",), lambda: ("",))
def characters_are_keys(text):
    codes = {"A": 0, "C": 1, "G": 2, "T": 3}
    value = 0
    for c in text:
        value = 4 * value + codes[c]
    known = 0
    for c in text:
        known += c in codes and c not in ("A", "G")
    return value, known


@TABLE.add(lambda: ("40962",), lambda: ("12a",), lambda: ("١٢",), lambda: ("",), need="compiled")
def digits(text):
    value = check = 0
    for c in text:
        value = 10 * value + int(c)
        check += ord(c) - ord("0")
    return value, check


@TABLE.add(lambda: ("GATTACA" * 5, 4), lambda: ("GC", 4), lambda: ("é€𝄞x", 2), lambda: ("abc", 0), need="compiled")
def parts_of_texts(text, k):
    best = 0
    for i in range(len(text) - k + 1):
        window, found = text[i : i + k], 0
        for c in window:
            found += c in "GC"
        best = max(best, found)
    tail = text[:0:-2]
    total = len(tail)
    for c in text[1:]:
        total += ord(c)
    return best, total, tail, text[1:3]


@TABLE.add(lambda: (f8(4),))
def attributes_are_asked_for(x):
    total = np.trapezoid(x) if hasattr(np, "trapezoid") else x.sum()
    return total, hasattr(x, "shape"), hasattr(x[0], "shape"), hasattr(1, "shape"), hasattr(np, "no_such_function")


@TABLE.add(lambda: ("same", f8(4)), lambda: ("valid", f8(4)), lambda: ("x" * 40, f8(4)), need="right")
def a_word_that_is_counted_too(mode, x):
    if mode == "same":
        return x * 2
    return x * len(mode)


@TABLE.add(lambda: (f8(4), "mean"), lambda: (f8(4), "sum"))
def a_word_decides(x, mode):
    return x.mean() if mode == "mean" else x.sum(), mode


@TABLE.add(lambda: (f8(6),), need="right")
def a_line_is_drawn(x):
    line = ""
    for value in x:
        line = ("+" if value > 2 else "-") + line
        line += "|"
    return line


def helper(s, t, i, j):
    return s[i] == t[j]


@TABLE.add(lambda: ("abcab", "bca"), lambda: ("", "b"))
def texts_go_to_other_functions(s, t):
    total = 0
    for i in range(len(s)):
        for j in range(len(t)):
            if helper(s, t, i, j):
                total += i * j
    return total, s, t


@PLAINLY
def test_one_program_for_all_texts() -> None:
    program: Any = weft.program(edit_distance)
    random = np.random.default_rng(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for length in range(2, 30):
            s, t = ("".join(random.choice(list("ACGTé"), length + k)) for k in (0, 3))
            assert program(s, t) == edit_distance(s, t)
    assert program.stats.variants == 1


class Word(str):
    __slots__ = ()


@PLAINLY
@pytest.mark.filterwarnings("ignore")
def test_classes_of_text_are_their_own() -> None:
    program: Any = weft.program(edit_distance)
    assert program("abc", "abd") == program(Word("abc"), Word("abd")) == 1
    with pytest.raises(TypeError):
        program("abc", 3)


def grown(count):
    lines = []
    for i in range(count):
        line = "x" * i
        line = "-" + line
        lines.append(line)
    return lines


@pytest.mark.filterwarnings("ignore")
def test_a_text_that_grows_is_not_compiled_again_and_again() -> None:
    program: Any = weft.program(grown)
    for _ in range(3):
        assert program(40) == grown(40)
    assert program.stats.variants < 6


def letters(texts):
    counts = np.zeros((len(texts), 128), dtype=int)
    for k, text in enumerate(texts):
        for letter in text:
            counts[k, ord(letter)] += 1
    return counts


@PLAINLY
def test_all_texts_of_a_list_are_data_at_once() -> None:
    program: Any = weft.program(letters, fallback="error")
    for first in ("GATTACA", "", "AC" * 50):
        texts = [first, *("ACGT"[: k % 5] * 3 for k in range(49))]
        np.testing.assert_array_equal(program(texts), letters(texts), strict=True)
    assert program.stats.compiles == 1


def by_words(words, v):
    total = 0.0
    for letter in words[0]:
        total += v[ord(letter) % 3]
    return total * 2 if words[1] == "double" else total


@PLAINLY
def test_a_word_beside_a_text_still_decides() -> None:
    program: Any = weft.program(by_words, fallback="error")
    for words in (["GATTACA", "double"], ["ACC", "single"], ["", "double"]):
        assert program(words, f8(3)) == by_words(words, f8(3))
