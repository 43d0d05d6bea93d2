"""What a user reads after a typical mistake: the place, and the way out."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import pytest

import weft
from tests.conftest import Golden
from tests.driver.mistakes import CASES

FILE = str(Path(__file__).with_name("mistakes.py"))
NAMES = [function.__name__ for function, _ in CASES]


def shown(function: Any, args: tuple[Any, ...]) -> str:
    """The message of the exception a call raises, with its notes, as a traceback ends with them."""
    try:
        weft.program(function, fallback="error")(*args)
    except weft.WeftError as error:
        text = str(error)
    except Exception as error:  # noqa: BLE001 - Python's own
        text = "\n".join([f"{type(error).__name__}: {error}", *getattr(error, "__notes__", ())])
    else:
        raise AssertionError(f"{function.__name__} raises nothing")
    return re.sub(r":\d+", ":N", text.replace(FILE, "mistakes.py"))


def test_every_mistake_is_answered_with_a_place_and_a_way_out(golden: Golden) -> None:
    parts: list[str] = []
    for function, args in CASES:
        text = shown(function, args)
        assert "mistakes.py:" in text, text
        assert "help:" in text, text
        numbered = re.sub(r"^(\s*)\d+( \|)", r"\1N\2", text, flags=re.MULTILINE)
        parts.append(f"{function.__name__.replace('_', ' ')}\n\n{numbered}\n")
    assert len(parts) >= 30
    assert "\n\n".join(parts) == golden


@pytest.mark.parametrize(("function", "args"), CASES, ids=NAMES)
def test_without_the_option_python_has_the_last_word(function: Any, args: tuple[Any, ...]) -> None:
    """The same exception as Python's, or its result: a mistake of Weft's reach only is a warning."""

    def outcome(target: Any) -> str:
        try:
            result = target(*args)
        except Exception as error:  # noqa: BLE001 - the outcome
            return f"{type(error).__name__}: {error}"
        return f"{type(result).__name__}"

    if function.__name__ == "opens_a_file":
        pytest.skip("it would write a file")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert outcome(weft.program(function)) == outcome(function)
