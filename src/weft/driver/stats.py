"""What happened to a program so far: `f.stats`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field, fields, replace
from typing import Protocol

from weft.support.records import record

_SUMMED = (
    "compiled_statements", "numpy_statements", "numpy_calls", "variants", "compiles", "cache_hits", "compile_seconds",
    "legality_questions", "legality_quick", "legality_given_up", "legality_seconds", "native_calls", "resumes",
    "python_calls", "allocations", "allocated_bytes", "parallel_regions",
)  # fmt: skip


class LegalityWork(Protocol):
    """The counters of `weft.analysis.integer_sets.Work`, which a program from the cache does not load."""

    questions: int
    quick: int
    repeated: int
    given_up: int
    seconds: float


@record(frozen=False)
class Stats:
    """Counts and times of one program."""

    variants: int = 0  # kernels in use
    compiles: int = 0  # kernels made by the C compiler in this process
    cache_hits: int = 0  # kernels taken from the disk cache
    compile_seconds: float = 0.0  # all of compiling: frontend, passes, code generation, C compiler
    legality_questions: int = 0  # asked of the legality core by the passes
    legality_quick: int = 0  # of these, answered without integer sets, or asked before
    legality_given_up: int = 0  # of these, given up as too costly: answered by "no"
    legality_seconds: float = 0.0  # part of compile_seconds
    native_calls: int = 0  # calls that ran a kernel
    resumes: int = 0  # calls in which a guard failed and Python took over
    compiled_statements: int = 0  # of the newest variants: statements in kernels,
    numpy_statements: int = 0  # of these such that call NumPy itself,
    python_statements: int = 0  # and statements that Python runs between kernels
    cut_calls: int = 0  # calls of a program of which Python runs some statements, the pieces between them compiled
    fallback_calls: int = 0  # calls that ran in Python from the start because something is not compiled
    python_calls: int = 0  # calls given to Python for their values: overlapping arrays, np.errstate
    allocations: int = 0  # arrays allocated by kernels
    allocated_bytes: int = 0
    peak_bytes: int = 0  # largest sum of live allocations in one call
    parallel_regions: int = 0
    numpy_calls: int = 0  # calls of NumPy's own functions by kernels
    reasons: list[str] = field(default_factory=list[str])  # why calls ran in Python

    def count_python(self, *, is_cut: bool) -> None:
        """Count a call that has no kernel."""
        self.cut_calls += is_cut
        self.fallback_calls += not is_cut

    def count_legality(self, work: LegalityWork) -> None:
        """Add what the legality core did for one compile."""
        self.legality_questions += work.questions
        self.legality_quick += work.quick + work.repeated
        self.legality_given_up += work.given_up
        self.legality_seconds += work.seconds

    def with_pieces(self, pieces: Iterable[Stats]) -> Stats:
        """These counts and those of the pieces the program was cut into."""
        total = replace(self)
        for piece in pieces:
            for name in _SUMMED:
                setattr(total, name, getattr(total, name) + getattr(piece, name))
            total.peak_bytes = max(total.peak_bytes, piece.peak_bytes)
            total.reasons = [*total.reasons, *(reason for reason in piece.reasons if reason not in total.reasons)]
        return total

    def __str__(self) -> str:
        names = [field.name for field in fields(self) if field.name != "reasons"]
        lines = [f"{name.replace('_', ' ')}: {getattr(self, name)}" for name in names]
        return "\n".join([*lines, *(f"in Python: {reason}" for reason in self.reasons)])
