"""Mutants that compute the same as their kernel, so that no data could betray them: kernel, mutant, reason.

The tests refuse a line here whose mutant does not exist or does not survive.
"""

from __future__ import annotations

SQUARE = "the array is square"

EQUIVALENT: dict[str, dict[str, str]] = {
    "alternating_directions": {
        "alternating_directions:13: for i in range(rows - 2, -1, -1):": "p[0] is 0 and q[0] the edge: it stays",
        "alternating_directions:22: for j in range(columns - 2, -1, -1):": "p[0] is 0 and q[0] the edge: it stays",
    },
    "cholesky": {"cholesky:2: n = A.shape[1]": SQUARE},
    "contour_integral": {
        "solve_at:2: matrix = np.zeros_like(H[1])": "zeros like any coefficient",
        "solve_at:2: matrix = np.zeros_like(H[-1])": "zeros like any coefficient",
    },
    "convolution": {"convolution:2: size = weights.shape[1]": SQUARE},
    "correlation": {
        "correlation:4: scores = (data - np.mean(data, axis=0)) / np.where(deviation == 0.0, 2.0, deviation)": (
            "what is divided there is 0"
        ),
        "correlation:6: for i in range(variables - 0):": "nothing is right of the last variable",
    },
    "crc16": {"crc16:7: if register & 65537:": "the lowest bit is 0 after a shift to the left"},
    "floyd_warshall": {"floyd_warshall:2: for k in range(path.shape[1]):": SQUARE},
    "lenet": {"convolve:2: size = weights.shape[1]": SQUARE},
    "lu": {"lu:2: n = A.shape[1]": SQUARE},
    "lu_solve": {"lu_solve:2: n = A.shape[1]": SQUARE},
    "nbody": {
        "find_acceleration:2: x, y, z = (position[:, 0:1], position[:, 1:2], position[:, 2:4])": (
            "there is no fourth coordinate"
        ),
    },
    "nussinov": {
        "nussinov:6: for i in range(n + 2, -1, -1):": "no section begins at the end",
        "nussinov:6: for i in range(n - 1, -1, -1):": "no section begins at the end",
        "nussinov:7: for j in range(i + 0, n):": "a section of one base has no pairs",
        "nussinov:8: most = max(table[i + 1, j], table[i, j - 2])": "split before the last base, it is looked at again",
        "nussinov:8: most = max(table[i + 1, j], table[i, j - 0])": "split before the last base, it is looked at again",
        "nussinov:11: for k in range(i - 1, j):": "split after the first base, it was looked at before",
        "nussinov:11: for k in range(i + 0, j):": "split after the first base, it was looked at before",
    },
    "trace_shift": {"trace_shift:3: for i in range(a.shape[1]):": SQUARE},
    "triangular_product": {
        "triangular_product:2: for i in range(B.shape[0] - 1):": "nothing is below the last row",
    },
}
