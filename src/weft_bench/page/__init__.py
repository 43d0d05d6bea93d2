"""The report of a run as one page of HTML that needs nothing else: no network, no other file.

in:   a `Run` and its drawings
out:  the text of `report.html`

Everything is in the page when it is loaded and can be read and printed without its script, which sorts and filters.
"""

from __future__ import annotations

from weft_bench.page.document import make_page

__all__ = ["make_page"]
