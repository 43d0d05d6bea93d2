"""Reshapes that are views or copies as strides decide, and parts of complex arrays: copies while nobody can tell."""

# The programs are written as users write them.
# ruff: noqa: PLR0912, PLR0915, C901

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from tests.semantics.cases import agree, choices

SHAPES = ((2, 3), (1, 4), (4, 1), (1, 1), (3, 3), (0, 2))


def flat(a):
    return a.T.reshape(-1)


def forgotten(k, a, z):
    """What was taken has been read, or no name has it any more, before the array is written."""
    if k == 0:
        a[0] = (a.T.reshape(-1) * 2.0).sum()
    elif k == 1:
        t = a.T.reshape(-1)
        s = t * 2.0
        a[:] = 0.0
        return s
    elif k == 2:
        for i in range(3):
            v = a.T.reshape(-1) + i
            a[:, 0] = v[0] if len(v) else 0.0
    elif k == 3:
        s = flat(a) - flat(a + 1.0)
        a += 1.0
        return s
    elif k == 4:
        p = z.real**2 + z.imag**2
        z *= 2.0
        return p
    elif k == 5:
        for _ in range(3):
            p = z.real.sum()
            z += p
    elif k == 6:
        t = np.ravel(a.T)
        t = t + 1.0
        a[0] = 3.0
        return t
    return a, z


def kept(k, a, z, n):
    """Something still has what was taken."""
    t = a.T + 0.0
    if k == 0:
        t = a.T.reshape(-1)
        a[:] = 5.0
        return t
    elif k == 1:
        if n > 1:
            t = a.T.reshape(a.shape[1], -1)
        else:
            s = a.sum()
            t = t + s
        a[:] = 9.0
        return t
    elif k == 2:
        parts = [a.T.reshape(-1), t]
        a[:] = 3.0
        return parts[0]
    elif k == 3:
        t = a.T.reshape(-1) + 0.0
        for i in range(n):
            if i == 1:
                t = a.T.reshape(-1)
                break
            a[:] = i
        a[:] = 7.0
        return t
    elif k == 4:
        u = z.real.T.reshape(-1)
        z[:] = 1.0
        return u + 0.0
    elif k == 5:
        t = flat(a)
        a[:] = 0.0
        return t
    elif k == 6:
        t = flat(a)[1:]
        a[:] = 0.0
        return t
    elif k == 7:
        p = (a.T.reshape(-1), 1)
        a[:] = 0.0
        return p[0] * 2.0
    elif k == 8:
        t = a.T.reshape(-1)
        s = 0.0
        for i in range(n):
            s += t.sum()
            a[:] = i
            t = a.T.reshape(-1)
        return s
    elif k == 9:
        d = {"x": a.T.reshape(-1)}
        a[:] = 2.0
        return d["x"] + 1.0
    elif k == 10:
        parts = []
        for i in range(n):
            parts.append(a.T.reshape(-1))
            a += i
        return parts
    elif k == 11:
        t = a.T.reshape(-1)
        first = lambda: t[:1]  # noqa: E731
        a[:] = 4.0
        return first().sum()
    elif k == 12:
        t = a.T.reshape(-1)
        t[:1] = 8.0
        return a
    u = v = a.T.reshape(-1)
    v = v + 1.0
    a[:] = 6.0
    return u, v


def attribute(o, a):
    o.x = a.T.reshape(-1)
    a[:] = 1.0
    return o.x.sum()


def inputs(shape):
    a = np.arange(1.0, 1.0 + shape[0] * shape[1]).reshape(shape)
    return a, a + 1j * a[::-1]


def test_copies_that_nobody_has_stand_for_views() -> None:
    made = [lambda shape=shape: inputs(shape) for shape in SHAPES]
    agree(forgotten, *choices(7, *made[:-1]), need="native")
    agree(forgotten, *choices(7, made[-1]))


def test_views_that_somebody_has_see_what_is_written() -> None:
    made = [lambda shape=shape, n=n: (*inputs(shape), n) for shape in SHAPES for n in (0, 3)]
    agree(kept, *choices(14, *made), need="right")


def test_views_in_attributes_see_what_is_written() -> None:
    made = [lambda shape=shape: (SimpleNamespace(x=None), inputs(shape)[0]) for shape in SHAPES]
    agree(attribute, *made, need="right")


def of_other_names(k, z, n):
    """Parts of arrays that have several names, or that are copies themselves."""
    w = z * 1.0
    if k == 0:
        u = w.T.reshape(-1).real
        w[:] = 1.0
        return u + 0.0
    elif k == 1:
        w = z
        if n > 1:
            w = z * 2.0
        u = w.real
        z[:] = 1.0
        return u + 0.0
    elif k == 2:
        if n < 1:
            w = z
        u = w.imag
        z[:] = 2.0
        return u + 0.0
    elif k == 3:
        u = w.real
        for i in range(n):
            z[:] = i
            w = w + u.sum()
            u = z.real
            z = w
        return w, z
    elif k == 4:
        q = z[1:]
        u = q.imag
        z[:] = 3.0
        return u + 0.0
    u = w.T.reshape(-1).real
    return u[1:]


def part_of_copy(z):
    t = z.T.reshape(-1).real
    return t[1:]


def test_parts_of_arrays_with_several_names_see_what_is_written() -> None:
    orders = (np.ascontiguousarray, np.asfortranarray)
    made = [lambda o=order, s=shape, n=n: (o(inputs(s)[1]), n) for order in orders for shape in SHAPES for n in (0, 3)]
    agree(of_other_names, *choices(6, *made), need="right")


def test_parts_of_what_may_be_a_view_share_memory() -> None:
    orders = (np.ascontiguousarray, np.asfortranarray)
    agree(part_of_copy, *[lambda o=o, s=s: (o(inputs(s)[1]),) for o in orders for s in SHAPES], need="right")
