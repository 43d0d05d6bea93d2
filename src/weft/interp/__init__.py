"""The interpreter: evaluates a graph with NumPy, in random map order, and reports what no correct graph does.

    outcome = interpret(program, [1000, A, B], seed=7)

It is the oracle for every pass: a graph before and after must give equal outcomes under any seed.
"""

from __future__ import annotations

from weft.interp.memory import ConflictError, MemletError
from weft.interp.noise import Noise
from weft.interp.outcome import MISSING, Left, LeftFrame, Outcome, ResumeError, Returned, TooSlow
from weft.interp.steps import interpret

__all__ = [
    "MISSING",
    "ConflictError",
    "Left",
    "LeftFrame",
    "MemletError",
    "Noise",
    "Outcome",
    "ResumeError",
    "Returned",
    "TooSlow",
    "interpret",
]
