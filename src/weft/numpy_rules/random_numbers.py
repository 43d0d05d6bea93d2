"""Draws: methods of NumPy's generators, called once and in order wherever the program says.

in:   rng.normal(0.0, s, size=(n, 3)), with the words that stand for the state of rng (weft.support.generators)
out:  call numpy.random.Generator.normal(slot 0, 0.0, %s, tuple(1*%n, 3)) -> (normal.7) changes (rng_words[:]) site 3,
      and the operand for normal.7

What a method gives follows from its name, from `size` and from a few static parameters; NumPy itself is asked, with a
generator of our own. To be listed a method must raise, where it does, before it draws anything: Python then repeats the
statement with a generator in its old state.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

import numpy as np

from weft.ir.exprs import Const, Index
from weft.ir.nodes import Bundle, NumpyCall, Pack, SlotObject
from weft.numpy_rules.arguments import PythonRaises, static_value
from weft.numpy_rules.arrays import as_data, number
from weft.numpy_rules.builder import Builder
from weft.numpy_rules.call_probes import Answer, ArrayAnswer, NumberAnswer
from weft.numpy_rules.scalars import as_index
from weft.numpy_rules.typed_calls import Results, call_argument
from weft.numpy_rules.values import Array, Operand, Range, Scalar, Static, Tuple
from weft.support.records import record

_LOCATED: Final = ("loc", "scale", "size")
_OF_ONE: Final = {
    "chisquare": "df", "exponential": "scale", "geometric": "p", "logseries": "p", "pareto": "a", "poisson": "lam",
    "power": "a", "rayleigh": "scale", "standard_t": "df", "weibull": "a", "zipf": "a",
}  # fmt: skip
# Parameters in order, those that both classes have first.
_SHARED: Final[Mapping[str, tuple[str, ...]]] = {
    **{name: (parameter, "size") for name, parameter in _OF_ONE.items()},
    **dict.fromkeys(("gumbel", "laplace", "logistic", "normal"), _LOCATED),
    "beta": ("a", "b", "size"),
    "binomial": ("n", "p", "size"),
    "dirichlet": ("alpha", "size"),
    "f": ("dfnum", "dfden", "size"),
    "gamma": ("shape", "scale", "size"),
    "hypergeometric": ("ngood", "nbad", "nsample", "size"),
    "lognormal": ("mean", "sigma", "size"),
    "multinomial": ("n", "pvals", "size"),
    "negative_binomial": ("n", "p", "size"),
    "noncentral_chisquare": ("df", "nonc", "size"),
    "noncentral_f": ("dfnum", "dfden", "nonc", "size"),
    "standard_cauchy": ("size",),
    "triangular": ("left", "mode", "right", "size"),
    "uniform": ("low", "high", "size"),
    "vonmises": ("mu", "kappa", "size"),
    "wald": ("mean", "scale", "size"),
}
PARAMETERS: Final[Mapping[type, Mapping[str, tuple[str, ...]]]] = {
    np.random.Generator: {
        **_SHARED,
        "choice": ("a", "size", "replace", "p", "axis", "shuffle"),
        "integers": ("low", "high", "size", "dtype", "endpoint"),
        "permutation": ("x", "axis"),
        "random": ("size", "dtype", "out"),
        "shuffle": ("x", "axis"),
        "standard_exponential": ("size", "dtype", "method", "out"),
        "standard_gamma": ("shape", "size", "dtype", "out"),
        "standard_normal": ("size", "dtype", "out"),
    },
    np.random.RandomState: {
        **_SHARED,
        "choice": ("a", "size", "replace", "p"),
        "permutation": ("x",),
        "rand": (),
        "seed": ("seed",),
        "randint": ("low", "high", "size", "dtype"),
        "randn": (),
        "random": ("size",),
        "random_sample": ("size",),
        "shuffle": ("x",),
        "standard_exponential": ("size",),
        "standard_gamma": ("shape", "size"),
        "standard_normal": ("size",),
    },
}
_VECTORS: Final = ("alpha", "pvals")  # of one axis, of which a draw takes all
_SIZES_ONLY: Final = ("rand", "randn")
_STATIC: Final = ("dtype", "method", "out", "axis")
# What stands for the parameters when NumPy is asked; elsewhere each is a half.
_EXAMPLES: Final[Mapping[str, tuple[Any, ...]]] = {
    "binomial": (2, 0.5), "dirichlet": ([1.0, 1.0],), "hypergeometric": (3, 3, 2), "integers": (0, 2),
    "multinomial": (2, [0.5, 0.5]), "negative_binomial": (2, 0.5), "randint": (0, 2), "triangular": (0.0, 0.5, 1.0),
    "zipf": (2.0,),
}  # fmt: skip


@record
class Generator:
    """A generator of the caller's: the slot of the object, its class, and the words that stand for its state."""

    slot: int
    cls: type
    words: tuple[Array, ...]


def is_draw(cls: type, name: str) -> bool:
    """Whether a class is one of NumPy's generators, with a method that compiled programs call."""
    return name in PARAMETERS.get(cls, {})


def draw(
    build: Builder, generator: Generator, method: str, args: Sequence[Operand], keywords: Mapping[str, Operand]
) -> Operand:
    """The call of a method, and what it gives."""
    if build.protected:
        raise build.error("E227", f"{method} draws random numbers inside a try or np.errstate", "draw them before")
    given = _bound(build, generator, method, args, keywords)
    results = Results(build, method, free_sizes=False)
    match method:
        case "shuffle" | "seed":
            operand: Operand = Static(None)
        case "permutation":
            operand = results.operand(_permutation(build, given["x"]))
        case "choice":
            operand = results.operand(_choice(build, given))
        case _:
            operand = results.operand(_drawn(build, generator, method, given))
    changes = [words.view for words in generator.words]
    if method == "shuffle":
        changes.append(_shuffled(build, given["x"]).view)
    _emit(build, generator, method, (given, args, keywords), results, changes)
    return operand


def _emit(build: Builder, generator: Generator, method: str, call: Any, results: Results, changes: list[Any]) -> None:
    given, args, keywords = call
    bundles = {name: _argument(build, method, name, operand) for name, operand in given.items()}
    names = list(bundles) if method in _SIZES_ONLY else PARAMETERS[generator.cls][method]
    build.emit(
        NumpyCall(
            function=f"numpy.random.{generator.cls.__name__}.{method}",
            args=(SlotObject(generator.slot), *(bundles[name] for name in names[: len(args)])),
            keywords=tuple((name, bundles[name]) for name in keywords),
            results=tuple(results.results),
            sizes=tuple(results.sizes),
            changes=tuple(changes),
            site=build.use_site(),
            id=build.new_id(),
            span=build.span,
        )
    )
    for view in changes:
        build.mark_written(view.container)


def _bound(
    build: Builder, generator: Generator, method: str, args: Sequence[Operand], keywords: Mapping[str, Operand]
) -> dict[str, Operand]:
    """The arguments by name."""
    if method in _SIZES_ONLY:
        if keywords:
            raise PythonRaises(f"{method}() takes no keyword arguments")
        return {f"d{place}": operand for place, operand in enumerate(args)}
    names = PARAMETERS[generator.cls][method]
    given = dict(zip(names, args, strict=False))
    if len(args) > len(names) or given.keys() & keywords.keys() or keywords.keys() - set(names):
        raise PythonRaises(f"the arguments do not fit the parameters of {method}()")
    given |= keywords
    if method in ("shuffle", "permutation", "choice") and not {"x", "a"} & given.keys():
        raise PythonRaises(f"{method}() misses an argument")
    if "out" in given and not _is_none(given["out"]):
        raise build.error("E115", f"keyword 'out' of {method} is not compiled", "assign to the elements: x[:] = ...")
    drawn_from = {"choice": "a", "permutation": "x"}.get(method, "")
    if isinstance(given.get(drawn_from), Range):  # NumPy makes an array of it too
        given[drawn_from] = as_data(build, given[drawn_from])
    return given


def _is_none(operand: Operand | None) -> bool:
    return operand is None or (isinstance(operand, Static) and operand.value is None)


def _argument(build: Builder, method: str, name: str, operand: Operand) -> Bundle:
    if name == "size" and not _is_none(operand):
        sizes = _sizes(build, operand)
        return sizes[0] if isinstance(operand, Scalar) else Pack(tuple(sizes))
    return call_argument(build, method, name if name in _STATIC else "", operand)[0]


# ---- what comes of it -----------------------------------------------------------------------------------------------


def _sizes(build: Builder, operand: Operand) -> list[Index]:
    """The extents that `size` asks for, guarded not to be negative."""
    parts = operand.items if isinstance(operand, Tuple) and operand.cls is None else (operand,)
    found: list[Index] = []
    for part in parts:
        scalar = number(build, part)
        position = as_index(build, scalar) if isinstance(scalar, Scalar) and scalar.type.dtype.kind in "iu" else None
        if position is None:
            raise build.error("E243", "this `size` is not compiled", "use an int, or a tuple of ints")
        position = build.bounded(position)
        build.guard_nonnegative(position, "negative dimensions are not allowed")
        found.append(position)
    return found


def _drawn(build: Builder, generator: Generator, method: str, given: dict[str, Operand]) -> Answer:
    rank = max((_rank(build, name, x) for name, x in given.items() if name != "size"), default=0)
    if method in _SIZES_ONLY:
        shape: Sequence[Index | None] | None = _sizes(build, Tuple(tuple(given.values()))) if given else None
    elif not _is_none(given.get("size")):
        shape = _sizes(build, given["size"])
    else:
        shape = [None] * rank if rank else None
    named = {
        name: static_value(build, given[name], f"{name} of {method}") for name in ("dtype", "method") if name in given
    }
    found = _ask(build, generator.cls, method, named, None if shape is None else (1,) * len(shape))
    if type(found) is np.ndarray:
        return ArrayAnswer(found.dtype, (*(shape or ()), *(None,) * (found.ndim - len(shape or ()))))
    return NumberAnswer(cast("type[Any]", type(found)))


def _rank(build: Builder, name: str, operand: Operand) -> int:
    """The axes that a parameter adds to the result: those of numbers, of which every one is drawn with."""
    rank = operand.rank if isinstance(operand, Array) else int(isinstance(operand, Tuple))
    if name in _VECTORS and rank == 1:
        return 0
    if name in _VECTORS or isinstance(operand, Tuple):
        raise build.error("E243", f"this form of '{name}' is not compiled", "pass a number, or an array")
    return rank


def _ask(build: Builder, cls: Any, method: str, named: dict[str, Any], size: tuple[int, ...] | None) -> Any:
    example = cls(np.random.PCG64(1))
    if method in _SIZES_ONLY:
        return getattr(example, method)(*(size or ()))
    names = PARAMETERS[cls][method]
    values = _EXAMPLES.get(method) or (0.5,) * names.index("size")
    try:
        return getattr(example, method)(*values, size=size, **named)
    except (TypeError, ValueError) as problem:
        raise PythonRaises(str(problem)) from None


def _permutation(build: Builder, operand: Operand) -> Answer:
    match operand:
        case Array(view=view, dtype=dtype) if view.rank == 1:
            build.guard_nonnegative(view.shape[0] - 1, "an empty array, which is its own permutation")
            return ArrayAnswer(dtype.numpy, view.shape)
        case Scalar():  # the type is that of np.arange
            return ArrayAnswer(np.result_type(operand.type.dtype.numpy, np.int64), tuple(_sizes(build, operand)))
        case _:
            raise build.error("E243", "a permutation of this is not compiled", "use an int, or an array of one axis")


def _choice(build: Builder, given: dict[str, Operand]) -> Answer:
    chosen = given["a"]
    if isinstance(chosen, Tuple) and chosen.cls is None and chosen.items:
        examples = [_example(item) for item in chosen.items]
        type_ = None if any(example is None for example in examples) else np.array(examples).dtype
    elif isinstance(chosen, Array) and chosen.rank == 1:
        type_ = chosen.dtype.numpy
    else:
        is_int = isinstance(chosen, Scalar) and chosen.type.dtype.kind in "iu"
        type_ = np.dtype(np.int64) if is_int else None
    if type_ is None:
        raise build.error("E243", "a choice of this is not compiled", "use an int, or an array of one axis")
    if not _is_none(given.get("size")):
        return ArrayAnswer(type_, tuple(_sizes(build, given["size"])))
    return NumberAnswer(int if isinstance(chosen, Scalar) else type_.type)


def _example(operand: Operand) -> Any:
    """A number of the operand's type; None for anything else."""
    if not isinstance(operand, Scalar):
        return None
    if isinstance(operand.expr, Const) and operand.type.python:
        return operand.expr.value
    sample = operand.type.dtype.numpy.type(1)
    return sample.item() if operand.type.python else sample


def _shuffled(build: Builder, operand: Operand) -> Array:
    if not isinstance(operand, Array) or not operand.rank:
        raise build.error("E243", "only arrays are shuffled in compiled code", "make it an array")
    repeated = set(range(operand.rank)) - {axis for entry in operand.view.axes for axis, _ in entry.terms}
    if repeated or operand.rank != 1:
        raise build.error("E243", "only arrays of one axis are shuffled in compiled code", "shuffle positions instead")
    return operand
