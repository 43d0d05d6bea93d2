"""Small temporaries on the stack."""

from __future__ import annotations

import pytest

from tests.conftest import Golden
from tests.passes.graphs import SITE, assert_same_outcomes, changed, graph, shown, words
from weft.ir.nodes import Program, Storage
from weft.passes.stack_arrays import StackArrays


def small(array: str, rest: str = "  return slot 0", *more: str) -> Program:
    return graph(
        f"""
  {SITE}
  for %i.10: py_int from 0 to %n.1 - 1 in 0:%n.1 {{
    alloc T site 0
    elementwise T[:] at (%p.11: py_int) {{
      yield cast(%p.11): f8
    }}
    tasklet {{
      %t.12: f8 = T[2]
      write A[%i.10] = %t.12
    }}
    continue
  }}
{rest}
""",
        array,
        *more,
    )


def test_a_few_numbers(golden: Golden) -> None:
    before = small("array T: f8[3] transient C")
    made, session = changed(StackArrays(), before)
    assert_same_outcomes(before, made)
    assert shown(made) == golden
    assert words(session, done=True) == ["T is kept on the stack"]


STAYS = {
    "too large": ("array T: f8[513] transient C", "it has 4104 bytes"),
    "of unknown size": ("array T: f8[%n.1 + 3] transient C", ""),
    "seen": ("array T: f8[3] transient C", "it is seen from outside"),
}


@pytest.mark.parametrize(("array", "reason"), STAYS.values(), ids=STAYS.keys())
def test_on_the_heap(array: str, reason: str) -> None:
    more = ("array V: f8[1, 3] alias of T C",) if "seen" in reason else ()
    before = small(array, "  return slot 0", *more)
    made, session = changed(StackArrays(), before)
    assert made is before
    assert words(session, done=False) == ([f"T is not kept on the stack: {reason}"] if reason else [])


def test_only_so_many() -> None:
    names = [f"T{number}" for number in range(4)]
    body = "\n".join(
        f"  alloc {name} site 0\n  write {name}[0] = 1.0:f8\n  %t.{number + 10}: f8 = {name}[0]"
        for number, name in enumerate(names)
    )
    before = graph(f"{SITE}\n{body}\n  return %t.10", *(f"array {name}: f8[512] transient C" for name in names))
    made, session = changed(StackArrays(most_bytes_in_all=3 * 4096), before)
    storages = [made.containers[name].storage for name in names]
    assert storages == [Storage.STACK, Storage.STACK, Storage.STACK, Storage.TRANSIENT]
    assert words(session, done=False) == ["T3 is not kept on the stack: there are too many"]
