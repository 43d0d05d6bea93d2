"""The figures of a run: the paper's two, scaling, and time against compile time.

in:   a `Run`, and the other runs of its file for scaling
out:  `Drawing`s: SVG and PNG with a title and a caption, for files and for the page

Without matplotlib there are none, and `FiguresUnavailableError` says how to get it.
"""

from __future__ import annotations

from weft_bench.figures.canvas import Drawing, FiguresUnavailableError
from weft_bench.figures.collection import explain_missing, make_drawings

__all__ = ["Drawing", "FiguresUnavailableError", "explain_missing", "make_drawings"]
