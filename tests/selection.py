"""Many cases of one kind: some for every run of the tests, the others for `make test-all`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pytest


def every(count: int, cases: Iterable[Any]) -> list[Any]:
    """Parameter sets: every so many of them as they are, the others marked slow."""
    return [_case(case, slow=number % count != 0) for number, case in enumerate(cases)]


def in_turn(first: Sequence[Any], second: Sequence[Any]) -> list[Any]:
    """All pairs, one for each of the first not slow: the second ones take turns."""
    count = len(second)
    turned = ((one, second[(n + shift) % count]) for n, one in enumerate(first) for shift in range(count))
    return every(count, turned)


def one_of_each(groups: Iterable[Sequence[Any]]) -> list[Any]:
    """The cases of all groups, one of each not slow: the first of the first, the second of the second, and so on."""
    return [
        _case(case, slow=place != number % len(group))
        for number, group in enumerate(groups)
        for place, case in enumerate(group)
    ]


def title(value: Any) -> str:
    """How a test is named after a value."""
    return str(getattr(value, "name", value))


def _case(case: Any, *, slow: bool) -> Any:
    marks = (pytest.mark.slow,) if slow else ()
    if hasattr(case, "values") and hasattr(case, "marks"):  # a parameter set already
        return pytest.param(*case.values, id=case.id, marks=(*case.marks, *marks))
    return pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=marks)
