"""Waiting for threads that wait for work.

The threads of OpenBLAS spin for 25 to 100 ms after a product, by the clock of the machine. Whatever runs next would
share its processors with them.
"""

from __future__ import annotations

import time
from typing import Final

_LOOK_SECONDS: Final = 0.01  # the system counts the time of threads that run in steps of up to 4 ms
_REST_SECONDS: Final = 0.3  # at the most: there are threads that never sleep
_BUSY: Final = 0.25  # of a processor


def come_to_rest() -> None:
    """Wait until this process uses no processor."""
    end = time.perf_counter() + _REST_SECONDS
    while time.perf_counter() < end:
        start, used = time.perf_counter(), time.process_time()
        time.sleep(_LOOK_SECONDS)
        if time.process_time() - used < _BUSY * (time.perf_counter() - start):
            return
