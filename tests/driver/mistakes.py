# ruff: noqa: F821, F841
# pyright: basic, reportUndefinedVariable=false, reportAttributeAccessIssue=false, reportCallIssue=false
# pyright: reportArgumentType=false, reportOptionalSubscript=false, reportIndexIssue=false, reportOperatorIssue=false
# pyright: reportPossiblyUnboundVariable=false, reportAssignmentType=false, reportUnboundVariable=false, reportGeneralTypeIssues=false
"""Typical mistakes, one function each, with the arguments it is called with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

A, v = np.ones((4, 3)), np.ones(4)
CASES: list[tuple[Callable[..., Any], tuple[Any, ...]]] = []


def case(*args: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def put(function: Callable[..., Any]) -> Callable[..., Any]:
        CASES.append((function, args))
        return function

    return put


def add_up(x, y):
    return x + y


@case(A)
def misspelled_function(a):
    return np.sqrtt(a)


@case(A)
def misspelled_method(a):
    return a.summ(axis=0)


@case(A)
def misspelled_attribute(a):
    return a.shap[0]


@case(A)
def wrong_keyword(a):
    return np.sum(a, axes=0)


@case(A, v)
def shapes_that_do_not_match(a, b):
    return a + b


@case(A, v)
def matmul_mismatch(a, b):
    return a @ b


@case(A)
def axis_out_of_range(a):
    return a.sum(axis=2)


@case(A)
def too_many_indices(a):
    return a[0, 1, 2]


@case(A)
def undefined_name(a):
    return a * scale


@case(A)
def local_before_assignment(a):
    b = a * c
    c = 2
    return b


@case(A)
def module_not_imported(a):
    return nump.sin(a)


@case("text")
def string_argument(a):
    return a + 1


@case([1, 2, 3])
def list_argument(a):
    return a * 2.5


@case(np.array(["a", "b"]))
def string_array(a):
    return a + a


@case(np.array([1, None], dtype=object))
def object_array(a):
    return a + 1


@case(np.ma.masked_array([1.0, 2.0], [0, 1]))
def masked_array(a):
    return a * 2


@case(A)
def unknown_dtype(a):
    return a.astype("float46")


@case(A)
def float_index(a):
    return a[a[0, 0] * 1.0]


@case(A)
def assigning_to_a_tuple(a):
    t = (1, 2)
    t[0] = a[0, 0]
    return t


@case(A)
def wrong_number_to_unpack(a):
    x, y = a.shape[0], a.shape[1], 3
    return x + y


@case(A)
def calling_a_number(a):
    n = 3
    return a * n(2)


@case(A)
def bad_reshape(a):
    return a.reshape(5, 3)


@case(A)
def concatenating_ranks(a):
    return np.concatenate([a, a[0]])


@case(A)
def if_on_an_array(a):
    if a > 0:
        return 1
    return 0


@case(A)
def int_array_divided_in_place(a):
    b = np.arange(4)
    b /= 2
    return b


@case(A)
def prints(a):
    print(a)
    return a * 2


@case(A)
def opens_a_file(a):
    with open("x") as f:
        f.write("x")
    return a


@case(A)
def random_numbers(a):
    return a + np.random.default_rng(4).random((4, 3))


@case(A)
def a_generator(a):
    yield a.sum()


@case(A)
def recursion(a):
    return recursion(a[1:]) if len(a) else a


@case(A)
def nonlocal_counter(a):
    n = 0

    def up():
        nonlocal n
        n += 1

    up()
    return a * n


@case(A)
def uses_eval(a):
    return eval("a + 1")


@case(A)
def wrong_argument_count_to_helper(a):
    return add_up(a)


@case(A)
def too_few_arguments_to_numpy(a):
    return np.arctan2(a)


@case(A)
def where_one_branch(a):
    return np.where(a > 0, a)


@case(A, 1.5)
def float_as_size(a, n):
    return np.zeros(n)


@case(A)
def returns_different_things(a):
    d = {}
    d[a[0, 0]] = 1
    return d


@case(A)
def an_index_out_of_bounds(a):
    for i in range(5):
        a[i, 0] += 1
    return a


@case(A)
def a_matrix_without_inverse(a):
    return np.linalg.inv(np.zeros((3, 3)))


@case(A)
def an_empty_maximum(a):
    return a[4:].max()


@case(A)
def negative_power_of_integers(a):
    return np.arange(3) ** -1
