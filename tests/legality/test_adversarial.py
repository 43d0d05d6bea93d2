"""Every adversarial program through every stage, and compiled."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.legality.harness import Case, Theme, check_stages, check_theme
from tests.legality.refused import REFUSED, Refused
from tests.legality.themes import CASES, THEMES
from tests.selection import every, title


@pytest.mark.parametrize("case", every(2, CASES), ids=title)
def test_every_stage_in_any_order(case: Case) -> None:
    check_stages(case)


@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme.name)
def test_compiled_on_one_thread_and_on_two(theme: Theme, tmp_path: Path) -> None:
    problems = check_theme(theme, tmp_path)

    assert not problems, "\n\n".join(problems)


@pytest.mark.parametrize("program", REFUSED, ids=lambda program: program.function.__name__)
def test_refused_programs_run_in_python(program: Refused) -> None:
    program.check()
