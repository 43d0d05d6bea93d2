"""The one registry: which rule lowers which Python object.

A rule is a function `rule(build, *operands)` under a dotted name: "numpy.outer", "ndarray.sum" (methods; the array is
the first operand), "ndarray.T" (attributes), "math.sqrt", "builtins.abs". Its signature is the promise: a parameter it
does not have is refused with a caret. Parameters annotated `Operand` take any operand; a missing one takes the default,
which may be any Python object and arrives as it is. `samples` drive the test against NumPy.

It is filled by the explicit list of families and read-only after.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from importlib import import_module
from types import MappingProxyType
from typing import Any, TypeAlias

from weft.numpy_rules.arguments import PythonRaises
from weft.numpy_rules.builder import Builder
from weft.numpy_rules.values import Operand
from weft.support.records import record

Rule: TypeAlias = Callable[..., Operand]


@record
class RuleEntry:
    """A rule with its name and the calls that test it; `typed` ones call NumPy's own function."""

    name: str
    lower: Rule
    samples: tuple[str, ...]
    typed: bool = False
    family: str = ""  # the module of the rule


_ENTRIES: dict[str, RuleEntry] = {}
_TYPED: dict[str, RuleEntry] = {}  # calls of NumPy itself, for what has no other rule
_PURE = (
    "averages", "closeness", "creation", "diagonals", "joining", "math_functions", "moments", "nan_functions",
    "picking", "products", "reductions",
)  # fmt: skip
_PURE_FUNCTIONS = ("numpy.round", "numpy.around")
_FAMILIES = (
    "array_attributes",
    "averages",
    "closeness",
    "cmath_functions",
    "convolving",
    "counting",
    "creation",
    "crossing",
    "diagonals",
    "einsum",
    "histograms",
    "interpolating",
    "joining",
    "kinds",
    "math_functions",
    "moments",
    "nan_functions",
    "padding",
    "picking",
    "placing",
    "products",
    "python_functions",
    "reductions",
    "searching",
    "sequences",
    "shapes",
    "sorting",
    "type_conversions",
    "typed_functions",
    "ufuncs",
    "windows",
)


def numpy_rule(*names: str, samples: tuple[str, ...] = (), typed: bool = False) -> Callable[[Rule], Rule]:
    """Register a rule under one or more names. Inside, `PythonRaises` leaves the statement to Python."""

    def register(rule: Rule) -> Rule:
        lower = guarded(rule)
        for name in names:
            table = _TYPED if typed else _ENTRIES
            if name in table:
                raise ValueError(f"two rules for {name}")
            table[name] = RuleEntry(name, lower, samples, typed, rule.__module__.rpartition(".")[2])
        return rule

    return register


def guarded(rule: Rule) -> Rule:
    """The rule, in which `PythonRaises` leaves the statement to Python."""

    @wraps(rule)
    def lower(build: Builder, *operands: Any, **keywords: Any) -> Operand:
        try:
            return rule(build, *operands, **keywords)
        except PythonRaises as raised:
            return build.leave(raised.reason)

    return lower


@cache
def all_rules() -> MappingProxyType[str, RuleEntry]:
    """Every rule by name."""
    for family in _FAMILIES:
        import_module(f"weft.numpy_rules.{family}")
    return MappingProxyType({**_TYPED, **_ENTRIES})


@cache
def _names_by_object() -> dict[int, str]:
    """Rule names by the identity of the Python object they stand for."""
    import builtins
    import cmath
    import math

    import numpy as np

    roots: dict[str, Any] = {"numpy": np, "math": math, "cmath": cmath, "builtins": builtins}
    found: dict[int, str] = {}
    for name in all_rules():
        root, _, rest = name.partition(".")
        target: Any = roots.get(root)
        for part in rest.split("."):
            target = getattr(target, part, None)
        if target is not None and root in roots:
            found.setdefault(id(target), name)
    return found


def rule_for(target: object) -> RuleEntry | None:
    """The rule for a function object, under whatever name the program knows it."""
    name = _names_by_object().get(id(target))
    return all_rules()[name] if name else None


def typed_rule(entry: RuleEntry) -> RuleEntry | None:
    """The rule that calls NumPy itself, for a form of a function that its own rule does not take."""
    from weft.numpy_rules.typed_functions import typed_entry

    if entry.typed:
        return None
    all_rules()
    if entry.name in _TYPED:
        return _TYPED[entry.name]
    is_pure = entry.family in _PURE or entry.name in _PURE_FUNCTIONS
    return typed_entry(entry.name) if is_pure and entry.name.startswith("numpy.") else None


def rule_named(name: str) -> RuleEntry | None:
    """The rule of that dotted name."""
    return all_rules().get(name)
