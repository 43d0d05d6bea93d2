"""`python -m weft_bench`: the command `weft bench`."""

from __future__ import annotations

import sys

from weft_bench.commands import main

if __name__ == "__main__":
    sys.exit(main())
