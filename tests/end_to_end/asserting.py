"""Programs with `assert`, in a module of their own: pytest rewrites the assertions of test modules."""

from __future__ import annotations


def assertion(v, n):
    v[0] = 3.0
    assert len(v) == n, "another length wanted"
    return v[0]


def bare_assertion(v, n):
    assert len(v) == n
    return v[0]
