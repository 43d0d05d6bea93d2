"""Positional, keyword and default arguments reach the kernel as Python binds them; mistakes are CPython's to report."""

from __future__ import annotations

import pytest

from tests.runtime.conftest import MISS, Harness
from weft.runtime.compile import compile_c
from weft.runtime.dispatcher import signature_of
from weft.runtime.native import load_kernel
from weft.support.abi import ArgKind, ArgSpec, Const, Exit, Frame, Scalar, WriteBack

BODY = "out[0].i = args[0].i * 100 + args[1].i * 10 + args[2].i; return 0;"


def digits_program(harness: Harness, function):
    args = [ArgSpec(ArgKind.PY_INT)] * 3
    return harness.program(function, BODY, args, (Exit(Scalar(0, "py_int")),), out_count=1)


def plain(a, b, c=3):
    return a * 100 + b * 10 + c


def keyword_only(a, *, b=2, c):
    return a * 100 + b * 10 + c


def positional_only(a, b=2, /, c=3):
    return a * 100 + b * 10 + c


def no_defaults(a, b, c):
    return a * 100 + b * 10 + c


FORMS = [
    (plain, (1, 2), {}),
    (plain, (1, 2, 4), {}),
    (plain, (1,), {"b": 5}),
    (plain, (), {"c": 1, "b": 2, "a": 3}),
    (plain, (1, 2), {"c": 9}),
    (keyword_only, (1,), {"c": 5}),
    (keyword_only, (), {"c": 5, "a": 2, "b": 7}),
    (positional_only, (1,), {}),
    (positional_only, (1, 4), {"c": 7}),
    (no_defaults, (1, 2, 3), {}),
]


@pytest.mark.parametrize(("function", "args", "kwargs"), FORMS)
def test_arguments_bind_as_in_python(harness, function, args, kwargs):
    program = digits_program(harness, function)
    assert program.call(*args, **kwargs) == function(*args, **kwargs)
    assert program.dispatcher.counters().calls == 1


WRONG = [
    (plain, (), {}),
    (plain, (1,), {}),
    (plain, (1, 2, 3, 4), {}),
    (plain, (1, 2), {"d": 1}),
    (plain, (1, 2), {"a": 1}),
    (keyword_only, (1,), {}),
    (keyword_only, (1, 2), {"c": 1}),
    (positional_only, (), {"a": 1}),
    (positional_only, (1,), {"b": 1}),
]


@pytest.mark.parametrize(("function", "args", "kwargs"), WRONG)
def test_mistakes_raise_the_error_of_cpython(harness, function, args, kwargs):
    program = digits_program(harness, function)
    with pytest.raises(TypeError) as expected:
        function(*args, **kwargs)
    with pytest.raises(TypeError) as raised:
        program.call(*args, **kwargs)
    assert str(raised.value) == str(expected.value)


def test_a_keyword_that_is_not_interned(harness):
    program = digits_program(harness, plain)
    assert program.call(1, **{"".join(["", "b"]): 2, bytes([99]).decode(): 4}) == 124


def test_a_miss_gets_all_parameters_in_order(harness):
    program = digits_program(harness, plain)
    assert program.call("x", b="y") == MISS
    assert program.misses == [("x", "y", 3)]


def test_no_parameters(harness):
    program = harness.program(lambda: None, "out[0].i = 7; return 0;", [], (Exit(Scalar(0, "py_int")),), out_count=1)
    assert program.call() == 7
    with pytest.raises(TypeError):
        program.call(1)


def test_signatures():
    signature = signature_of(keyword_only)
    assert (signature.names, signature.positional) == (("a", "b", "c"), 1)
    signature = signature_of(open_ended)
    assert (signature.names, signature.positional) == (("a", "c", "more", "options"), 1)
    assert (signature.has_args, signature.has_keywords) == (True, True)


def open_ended(a, *more, c=3, **options):
    return a, more, c, options


def only_positional(a, /, *, c=3, **options):
    return a, (), c, options


OPEN_FORMS = [
    (open_ended, (1,), {}),
    (open_ended, (1, 2, 4), {}),
    (open_ended, (1, 2), {"c": 4, "d": 5, "e": 6}),
    (open_ended, (), {"d": 5, "a": 6}),
    (only_positional, (1,), {"a": 2}),
]


@pytest.mark.parametrize(("function", "args", "kwargs"), OPEN_FORMS)
def test_star_arguments_are_a_tuple_and_a_dict(harness, function, args, kwargs):
    program = harness.dispatcher(function)
    assert program.call(*args, **kwargs) == MISS
    signature = signature_of(function)
    expected = function(*args, **kwargs)
    named = {"a": expected[0], "more": expected[1], "c": expected[2], "options": expected[3]}
    assert program.misses == [tuple(named[name] for name in signature.names)]
    assert signature.call(function, program.misses[0]) == expected


@pytest.mark.parametrize(("args", "kwargs"), [((), {"d": 1}), ((1,), {"a": 1})])
def test_mistakes_with_star_arguments_raise_the_error_of_cpython(harness, args, kwargs):
    with pytest.raises(TypeError) as expected:
        open_ended(*args, **kwargs)
    with pytest.raises(TypeError) as raised:
        harness.dispatcher(open_ended).call(*args, **kwargs)
    assert str(raised.value) == str(expected.value)


def test_exceptions_of_callbacks_propagate(harness):
    from weft.runtime.dispatcher import Dispatcher

    def on_miss(parameters):
        raise LookupError(parameters)

    with pytest.raises(LookupError):
        Dispatcher(harness.native, plain, on_miss).call(1, 2)


def test_exits_need_their_callbacks(harness):
    program = harness.dispatcher(lambda: None)
    with pytest.raises(ValueError, match="on_resume"):
        program.dispatcher.add_variant(harness.variant("return 0;", [], (Exit(Const(0), (Frame(0, (), ()),)),)))
    with pytest.raises(ValueError, match="on_finish"):
        program.dispatcher.add_variant(harness.variant("return 0;", [], writebacks=[WriteBack(0, "x")]))


def test_a_recompiled_library_at_the_same_path_is_another_kernel(harness, tmp_path):
    from tests.runtime.conftest import kernel_text

    results = []
    for value in (1, 2, 2):
        library = compile_c(harness.toolchain, kernel_text(f"out[0].i = {value}; return 0;"), tmp_path / "k.so")
        variant = harness.variant("return 0;", [], (Exit(Scalar(0, "py_int")),), out_count=1)
        program = harness.dispatcher(lambda: None)
        program.dispatcher.add_variant(variant._replace(address=load_kernel(library, "kernel")))
        results.append(program.call())
    assert results == [1, 2, 2]


def test_malformed_tables_are_refused(harness):
    variant = harness.variant("return 0;", [ArgSpec(ArgKind.PY_INT)] * 4)
    program = harness.dispatcher(plain)
    with pytest.raises(ValueError, match="malformed"):
        program.dispatcher.add_variant(variant)
    for exits in ((Exit(Scalar(1, "py_int")),), ()):
        with pytest.raises(ValueError, match="malformed"):
            program.dispatcher.add_variant(harness.variant("return 0;", [ArgSpec(ArgKind.PY_INT)], exits, out_count=1))
