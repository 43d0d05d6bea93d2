from __future__ import annotations

from dataclasses import replace

import pytest

from tests.ir.samples import SAMPLES, sample
from weft.ir.dtypes import PY_INT, DType, ScalarType
from weft.ir.exprs import Value, const, const_index, op
from weft.ir.nodes import Continue, Let, Program, Region, Return, Site, SiteFrame, Tasklet
from weft.ir.parser import parse_program
from weft.ir.verifier import verify
from weft.support.errors import InternalError


@pytest.mark.parametrize("name", SAMPLES)
def test_the_samples_are_sound(name: str) -> None:
    verify(sample(name))


def complaint(program: Program) -> str:
    with pytest.raises(InternalError) as caught:
        verify(program)
    return caught.value.message


# (sample, what is replaced, by what, part of the message)
MALFORMED = [
    # values
    (
        "swap",
        "continue Y[:], X[:], %u.10",
        "continue Y[:], X[:], %v.9",
        "%v.9 is used outside the region that defines it",
    ),
    ("swap", "%u.10: f8 = add(%s.7, 1.0:f8)", "%u.10: f8 = add(%u.10, 1.0:f8)", "%u.10 is used before it is defined"),
    (
        "swap",
        "%u.10: f8 = add(%s.7, 1.0:f8)",
        "%s.7: f8 = add(%s.7, 1.0:f8)\n%u.10: f8 = 0.0:f8",
        "%s.7 is defined twice",
    ),
    ("jacobi", "return constant 0", "return %t.4", "%t.4 is used outside the region"),
    ("maps", "return slot 1", "return tuple(%i.6)", "%i.6 is used outside the region"),
    ("maps", "return slot 1", "return tuple(%q.99)\n}", "%q.99 is used before it is defined"),
    ("control", "break %i.4, %steps.5", "break %next.8, %steps.5", "%next.8 is used before it is defined"),
    # types
    (
        "maps",
        "multiply(subtract(%c.9, %a.8), cast(%alpha.3): f8)",
        "multiply(%c.9, %i.6): f8",
        "have different types: f8, py_int",
    ),
    ("maps", "negative(%t.10)", "negative(%t.10, %t.10)", "`negative` takes 1 operands, not 2"),
    ("maps", "negative(%t.10)", "negate(%t.10)", "there is no operation `negate`"),
    ("maps", "select(less(%t.10, 0.0:f8),", "select(%t.10,", "the condition of `select` is f8, not bool"),
    (
        "maps",
        "select(less(%t.10, 0.0:f8), negative(%t.10), %t.10)",
        "less(%t.10, 0.0:f8)",
        "b1 is written to B, whose elements are f8",
    ),
    ("maps", "%a.8: f8 = A[", "%a.8: f4 = A[", "%a.8 is f4, an element of A f8"),
    ("maps", "0.0:f8", "true:f8", "the literal True is no float64"),
    ("histogram", "= 0:i8", "= 99999999999999999999:i8", "does not fit int64"),
    ("histogram", "H[%b.3] = 0:i8", "H[%b.3] = absolute(0:i8): f8", "does not give float64"),
    ("control", "add_overflows(%key.1, %limit.2)", "add_overflows(true:b1, true:b1)", "is about int64, not bool"),
    ("control", "if less(%p.7, 0) ->", "if %p.7 ->", "the condition is py_int, not bool"),
    ("control", "guard less(%steps.5, %limit.2)", "guard %steps.5", "the condition is py_int, not bool"),
    (
        "histogram",
        "%p.6: py_int = cast(%k.5): py_int",
        "%p.6: py_int = cast(%k.5): f8",
        "%p.6 is py_int, its expression f8",
    ),
    ("methods", "return %new.3", "return choice %new.3 (missing)", "a choice by f8, which is no integer"),
    (
        "methods",
        "%new.3: f8 =",
        "%x.9: py_int = 1*%position.1\n%new.3: f8 =",
        "%position.1 of type f8 stands in an index",
    ),
    # containers
    ("histogram", "write H[%b.3]", "write G[%b.3]", "there is no container G"),
    ("histogram", "write H[%b.3]", "write H[%b.3, 0]", "H of rank 1 has 2 indices"),
    ("histogram", "alloc H site 0\n", "", "H is used before it is allocated"),
    ("histogram", "alloc H site 0\n", "alloc H site 0\nalloc H site 0\n", "H is allocated twice"),
    ("histogram", "alloc H site 0\n", "alloc K site 0\n", "K is argument, only a transient is allocated"),
    ("histogram", "alloc H site 0\n", "alloc H site 7\n", "site 7 does not stand above"),
    ("histogram", "K[%i.4]", "K[%i.4] resolve add", "`add` resolves no conflict here"),
    ("histogram", "resolve add", "resolve subtract", "`subtract` resolves no conflict here"),
    ("refs", "return R[:]", "return tuple(R[:], T[:])", "T is used before it is allocated, or after its region"),
    ("refs", "return R[:]", "return R[0:1, 0]", "a view of R has 2 indices for rank 1"),
    ("refs", "%m.3 - 1 - $0", "%m.3 - 1 - $1", "a view of B of rank 1 uses $1"),
    ("refs", "yield A[:]", "yield B[:]", "X may not alias B, but is bound to it"),
    ("refs", "yield A[:]", "yield A[0]", "X is f4 of rank 1, but gets f4 of rank 0"),
    ("refs", "yield A[:]", "yield %flag.1", "X is an array, but gets a value"),
    (
        "refs",
        "alloc R site 0",
        "alloc R site 0\nelementwise R[0] over [%k.4] at (%z.50: py_int) {\nyield 0.0:f4\n}",
        "a broadcast view of R is written",
    ),
    ("swap", "%v.9: f8 = X[0:%y.5]", "%v.9: f8 = X[$1] over [%y.5, 3]", "%v.9 has another shape than the output"),
    ("swap", "for %t.6", "%z.50: f8 = X[0]\nfor %t.6", "X is used before it is bound"),
    (
        "library",
        "array R: f8[%n.1*%m.4] alias of P C",
        "array R: f8[%n.1*%m.4] alias of T C",
        "both must be dense in C order",
    ),
    (
        "library",
        "array R: f8[%n.1*%m.4] alias of P C",
        "array R: f8[%n.1*%m.4] alias of Q C",
        "Q, which does not exist",
    ),
    (
        "swap",
        "may alias (A, B) written\narray Y",
        "may alias (A, Q) written\narray Y",
        "may alias Q, which do not exist",
    ),
    # library nodes
    ("library", "reduce add S[:]", "reduce subtract S[:]", "there is no reduction by `subtract`"),
    (
        "library",
        "reduce add S[:] = P[:, :] axes (1)",
        "reduce add S[:] = P[:, :] axes (0, 1)",
        "the wrong rank or shape",
    ),
    (
        "library",
        "reduce add S[:] = P[:, :] axes (1)",
        "reduce add S[:] = P[:, :] axes (2)",
        "the axes (2,) are not those",
    ),
    ("library", "initial 0.0:f8", "initial 0:i8", "i8 is written to S"),
    ("library", "reduce argmax L[:]", "reduce argmax S[:]", "the output of argmax is f8, not i8"),
    ("library", "reduce add S[:]", "reduce joined add S[:]", "a reduction is joined to nothing like it"),
    ("library", "reduce argmax L[:]", "reduce joined argmax L[:]", "a reduction is joined to nothing like it"),
    ("library", "scan add S[:] = S[:] axis 0", "scan add S[:] = S[:] axis 1", "there is no axis 1"),
    ("library", "scan add S[:] = S[:]", "scan subtract S[:] = S[:]", "there is no scan by `subtract`"),
    ("library", "A[:, :] @ B[0:%k.2, :] warn", "A[:, :] @ B[0, :] warn", "the ranks of a matrix product do not fit"),
    (
        "library",
        "A[:, :] @ B[0:%k.2, :] warn",
        "A[:, 0:3] @ B[0:4, :] warn",
        "the shapes of a matrix product do not fit",
    ),
    ("library", "times 0.5:f8", "times 0.5:f4", "a matrix product is scaled by a number of another type"),
    ("library", "warn 1", "warn 2", "there is no warning 2"),
    ("methods", "warn 0", "warn 1", "there is no warning 1"),
    (
        "library",
        "at (%p.5: py_int)",
        "at (%p.5: py_int, %q.50: py_int)",
        "one parameter per axis of the output is needed",
    ),
    # elements that are not stored
    ("elements", "return tuple(P[:]", "return tuple(%p.9", "%p.9 is used outside the region that defines it"),
    ("elements", "at (%i.13: py_int, %j.14: py_int)", "at (%i.13: f8, %j.14: py_int)", "%i.13 is f8, not an int"),
    (
        "elements",
        "over [%n.1, %m.2] {\n    %a.12",
        "over [%n.1] {\n    %a.12",
        "one parameter per axis of the elements is needed",
    ),
    ("elements", "over [%n.1, %m.2] {\n    %a.12", "over [%n.1, %j.11] {\n    %a.12", "%j.11 is used before it is"),
    ("elements", "over [2, 3] {", "over [3, 3] {", "the output of a reduction has the wrong rank or shape"),
    ("elements", "  yield %p.9", "  write E[0] = %p.9\n    yield %p.9", "a tasklet writes where elements are computed"),
    ("elements", "yield absolute(%a.12)", "yield absolute(%i.10, %a.12): f8", "`absolute` takes 1 operands, not 2"),
    ("elements", "%a.12: f8 = A[", "%a.12: f4 = A[", "%a.12 is f4, an element of A f8"),
    ("elements", "multiply(%a.7, %b.8) warn 0", "multiply(%a.7, %b.8) warn 7", "there is no warning 7"),
    # regions
    ("jacobi", "    continue\n", "", "a loop body does not end with continue, break or return on every path"),
    ("jacobi", "  return constant 0\n", "", "the program does not return on every path"),
    ("jacobi", "    continue\n", "    continue\n    continue\n", "nodes follow the end of a region"),
    ("jacobi", "    continue\n", "    continue %t.4\n", "0 values are expected, 1 given"),
    ("jacobi", "    continue\n", "    yield\n", "a yield outside of a branch"),
    ("swap", "continue Y[:], X[:], %u.10", "continue Y[:], X[:]", "3 values are expected, 2 given"),
    ("swap", "continue Y[:], X[:], %u.10", "continue Y[:], X[:], %t.6", "%s.7 is f8, but gets py_int"),
    ("swap", "continue Y[:], X[:], %u.10", "continue Y[:], X[:], X[:]", "%s.7 is a value, but gets an array"),
    ("control", "yield %i.4 + 1, false:py_bool", "yield %i.4 + 1", "2 values are expected, 1 given"),
    ("control", "      yield %i.4 + 1, false:py_bool\n", "", "an arm of a branch ends without a yield"),
    ("maps", "  return slot 1\n", "  break\n", "no loop can be left here"),
    ("maps", "    tasklet {", "    break\n    tasklet {", "nodes follow the end"),
    (
        "histogram",
        "    write H[%p.6] resolve add = 1:i8\n",
        "    continue\n",
        "no loop can be left here: a map stands between",
    ),
    ("histogram", "    write H[%p.6] resolve add = 1:i8\n", "    return H[:]\n", "a return inside a map"),
    ("maps", "    tasklet {", '    guard true:b1 else site 0 "x"\n    tasklet {', "a guard inside a parallel map"),
    (
        "histogram",
        "  alloc H site 0\n  map (%b.3: py_int) in [0:%bins.2] simd {",
        "  map (%b.3: py_int) in [0:%bins.2] parallel {\nalloc H site 0",
        "memory is allocated inside a parallel map",
    ),
    ("maps", "in [0:%n.1, 1:%m.2]", "in [0:%n.1]", "one range per parameter is needed"),
    ("jacobi", "in 1:%steps.1 {", "in 1:%steps.1:0 {", "the step of a loop is 0"),
    # sites and leaving
    (
        "control",
        "guard less(%steps.5, %limit.2) else site 1",
        "guard less(%steps.5, %limit.2) else site 2",
        "site 2 does not stand above",
    ),
    ("control", "site 1 f0@", "site 0 f0@", "site 0 stands twice"),
    ("control", "f1@(0)", "f2@(0)", "there is no function 2"),
    ("methods", "writebacks (%new.3)", "", "1 write-backs are expected, 0 given"),
    ("library", "constant 0,", "constant 1,", "there is no constant 1"),
    ("maps", "return slot 1", "return slot 9", "there is no slot 9"),
    # what comes in
    ("maps", "array float64 rank 2\n", "array float32 rank 2\n", "A: slot 0 holds float32 of rank 2, layout S"),
    ("maps", "argument slot 0 S", "argument slot 2 S", "slot 2 holds PY_FLOAT, not an array"),
    ("maps", "argument slot 0 S", "argument slot 5 S", "comes from slot 5, which does not exist"),
    ("maps", "slot 1 C written", "slot 1 C", "`written` differs"),
    ("maps", "write B[", "write A[", "the argument A is written, but not declared so"),
    ("maps", "%alpha.3: py_float", "%alpha.3: py_int", "%alpha.3 is py_int, but slot 2 holds PY_FLOAT"),
    ("maps", "scalar slot 2", "scalar slot 4", "comes from slot 4, which does not exist"),
    ("methods", 'writeback slot 0 "position"', 'writeback slot 8 "position"', "written back to slot 8"),
    ("histogram", "transient C", "transient S", "a transient is dense"),
    # calls
    ("calls", "order=constant 0", "order=constant 1", "there is no constant 1"),
    ("calls", "list(", "call 1(", "there is no constant 1"),
    ("calls", "(s.5 axes (1, 0)) site 0", "(s.5 axes (1, 0)) site 4", "site 4 does not stand above"),
    ("calls", "(s.5 axes (1, 0))", "(s.5 axes (1, 1))", "the axes (1, 1) are not those of s.5"),
    ("calls", "-> (%t.8: f8)", "-> (%t.8: f8 axes (0))", "%t.8 is a number and has no axes"),
    ("calls", "-> (u.6, c.7)", "-> (u.6, s.5)", "s.5 is allocated twice"),
    ("calls", "-> (u.6, c.7)", "-> (u.6, b)", "b gets its memory by a call, but is no transient in C order"),
    ("calls", "sizes (%u.4:", "sizes (%v.9: py_int, %u.4:", "%v.9 is no extent of what the call gives"),
    (
        "calls",
        "  call numpy.trapezoid(b[:], slot 1) -> (%t.8: f8) site 0\n",
        "  map (%i.9: py_int) in [0:2] {\n  call numpy.trapezoid(b[:]) -> (%t.8: f8) site 0\n  }\n",
        "Python is called inside a map",
    ),
]


@pytest.mark.parametrize(("name", "old", "new", "message"), MALFORMED)
def test_a_broken_rule_is_reported(name: str, old: str, new: str, message: str) -> None:
    text = SAMPLES[name]
    assert old in text
    broken = text.replace(old, new, 1)
    if "%q.99" in new:
        broken = broken.replace("{", "free %q.99: py_int\n{", 1).removesuffix("}\n")

    assert message in complaint(parse_program(broken))


def test_the_message_shows_the_node() -> None:
    broken = SAMPLES["maps"].replace("parallel {", 'parallel {\n guard true:b1 else site 0 "why"')

    assert complaint(parse_program(broken)) == (
        'shift_and_scale: a guard inside a parallel map\n  in: guard true:b1 else site 0 "why"'
    )


def test_of_a_construct_the_first_line_is_shown() -> None:
    message = complaint(parse_program(SAMPLES["jacobi"].replace("in 1:%steps.1 {", "in 1:%steps.1:0 {")))

    assert message.splitlines()[1] == "  in: for %t.4: py_int from 1 to %steps.1 - 1 in 1:%steps.1:0 { ..."


def program_of(*nodes: Tasklet | Site | Return | Continue) -> Program:
    return Program("small", (), (), (), {}, Region(nodes))


def test_slots_and_arguments_are_as_many() -> None:
    program = sample("maps")

    assert "3 slots, but 2 argument specs" in complaint(replace(program, args=program.args[:2]))


def test_a_container_is_listed_under_its_name() -> None:
    program = sample("histogram")
    containers = {"Z": program.containers["H"], "K": program.containers["K"]}

    assert "the container H is listed as Z" in complaint(replace(program, containers=containers))


def test_a_value_with_other_bounds_is_another_value() -> None:
    n, same_id = Value(1, "n", PY_INT, low=0), Value(1, "n", PY_INT, low=5)

    message = complaint(program_of(Tasklet(lets=(Let(n, const_index(1)),)), Return(same_id)))

    assert "%n.1 differs from its definition" in message


def test_bounds_use_visible_values_only() -> None:
    unknown = Value(1, "n", PY_INT)
    value = Value(2, "i", PY_INT, ceiling=const_index(0) + unknown)

    assert "%n.1 is used before" in complaint(program_of(Tasklet(lets=(Let(value, const_index(1)),)), Return(value)))


def test_names_and_values_of_a_frame_pair_up() -> None:
    site = Site(0, (SiteFrame(0, (), ("a", "b"), (const_index(1),)),))

    assert "names and values of a frame differ in number" in complaint(program_of(site, Return(const_index(0))))


def test_a_read_cannot_index_another_of_the_same_tasklet() -> None:
    text = SAMPLES["histogram"].replace(
        "    %k.5: i8 = K[%i.4]\n", "    tasklet {\n %k.5: i8 = K[%i.4]\n %l.50: i8 = K[%k.5]\n }\n"
    )

    assert "%k.5 is used before it is defined" in complaint(parse_program(text))


def test_a_while_without_break_needs_no_return_after_it() -> None:
    text = SAMPLES["scalars_only"].replace("return constant 0", "while {\n return constant 0\n }")

    verify(parse_program(text))


def test_shared_expressions_are_checked_once() -> None:
    double = ScalarType(DType.FLOAT64)
    expr = const(1.0, double)
    for _ in range(200):  # a tree of 2**200 leaves
        expr = op("add", (expr, expr), double)
    value = Value(1, "x", double)

    verify(program_of(Tasklet(lets=(Let(value, expr),)), Return(value)))
