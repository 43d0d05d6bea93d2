"""What the fuzzer tells: a summary, and a file for each difference."""

from __future__ import annotations

from collections.abc import Iterator

from tests.fuzz.arguments import make_arguments
from tests.fuzz.running import OPTIONS, Finding, function_of
from tests.fuzz.shrinking import shrink
from tests.fuzz.workers import Tally
from weft.driver.reproducers import save_call
from weft.driver.snapshots import Call


def summary(tally: Tally, seconds: float) -> Iterator[str]:
    """Counts, reasons, buckets."""
    refused = sum(tally.refused.values())
    yield (
        f"{tally.programs} programs in {seconds:.0f} s ({seconds / max(tally.programs, 1):.3f} s each), "
        f"{refused} not compiled; {tally.calls} calls: {tally.native} native, {tally.resumed} went on in Python, "
        f"{tally.missed} fitted no kernel, {tally.raised} raised; {tally.unread} warnings of what nobody reads, "
        f"{tally.overlaps} calls in which NumPy reads what it has just written, "
        f"{tally.sensitive} in which warnings depend on the last bits of sums and functions"
    )
    for reason, count in tally.refused.most_common(8):
        yield f"    not compiled ({count}): {reason}"
    yield from tally.buckets.lines()
    yield f"{len(tally.findings)} programs differ"


def report_finding(finding: Finding, *, shrinking: bool) -> str:
    """What differs, how to run it again, and the file of the smallest program found."""
    case = finding.case
    lines = [f"program {case.number} of seed {case.seed} differs: {finding.text}"]
    lines.append(f"    again: python -m tests.fuzz --seed {case.seed} --only {case.number}")
    small = shrink(finding) if shrinking else finding
    call = Call(function_of(small.case), tuple(make_arguments(small.case.params, small.inputs)), {})
    message = f"{small.text}\n\nProgram {case.number} of seed {case.seed}, arguments '{small.inputs.name}'."
    path = save_call(call, OPTIONS, message)
    lines.append(f"    reproducer: {path}")
    if shrinking:
        lines += [f"    | {line}" for line in small.case.source.splitlines()[5:] if line]
    return "\n".join(lines)
