"""What a compiled kernel and its caller agree on: slots, argument specs, exits and recipes.

in:   the compiler fills a `KernelInfo` beside the C text it generates
out:  the dispatcher checks a call against it; the disk cache stores it as JSON

A *slot* is one Python object of a call: first the parameters in order, then what the function reads from outside its
arguments (globals, closure cells, attributes and tuple items of earlier slots). `args[k]` says what slot k must be.
The kernel leaves through an *exit*: its return code is the index of an `Exit`, whose *recipe* says how to build the
Python object (the result, or the live names of a resume point) from the values the kernel stored.

Everything is a NamedTuple, not a dataclass: a cached program loads this module on its first call, and a dataclass costs
six times as much to define.

The C side of the same agreement is `runtime/native/weft_abi.h`.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, NamedTuple, TypeAlias

from weft.support.numpy_calls import ResultType

ABI_VERSION = 3

# How many threads BLAS uses: the functions that tell and set it, as `KernelInfo.libraries` names them.
BLAS_THREADS = ("openblas_get_num_threads", "openblas_set_num_threads")

# dtype names in ABI order; the index is what recipes and argument tables carry (not NumPy's type numbers).
DTYPES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float32", "float64", "complex64", "complex128",
)  # fmt: skip
DTYPE_INDEX = {name: index for index, name in enumerate(DTYPES)}
NOT_COMPILED = (
    "not compiled: "  # in the reason of an exit through which a statement we do not compile is left to Python
)
MAX_RANK = 16  # arrays of higher rank go to Python
MAX_NESTING = 8  # lists in lists beyond this go to Python
MAX_ITEMS = 128  # of a tuple, list or dict: each is a slot, checked on every call
MAX_EXTENT = 1 << 40  # a longer axis goes to Python: index arithmetic below this bound cannot overflow


class ArgKind(IntEnum):
    """What kind of Python object a slot must hold."""

    ARRAY = 1  # exactly numpy.ndarray, native byte order, aligned
    PY_BOOL = 2
    PY_INT = 3  # must fit int64, otherwise the call goes to Python
    PY_FLOAT = 4
    PY_COMPLEX = 5
    NP_SCALAR = 6  # exactly numpy.<dtype>
    STATIC = 7  # equal to `value` (same type, then ==); for functions, modules and classes: the same object
    OBJECT = 8  # exactly of the class in `value`; its attributes are slots of their own
    TUPLE = 9  # exactly tuple, or the named tuple in `value`, of `length` items; the items are slots of their own
    IGNORED = 10  # any object: the compiled code never looks at it (it may still be handed back)
    LIST = 11  # exactly list of `length` items; the items are slots of their own
    DICT = 12  # exactly dict with the keys in `value`, a tuple, in that order; the values are slots of their own


SMALL_DENSE = 256  # elements from which a dense array is not given to a kernel compiled for strides


class SlotKind(IntEnum):
    """Where the object of a slot comes from."""

    PARAM = 1  # parameter number `index`
    GLOBAL = 2  # the program's globals()[name], else builtins
    CELL = 3  # closure cell number `index` of the program
    ATTRIBUTE = 4  # getattr(slot[index], name)
    ITEM = 5  # slot[parent][index], parent a tuple or list
    MAPPING = 6  # slot[parent][name], parent a dict: an argument, or the globals of another module
    CONVERTED = 7  # numpy.name(slot[index]), where that gives the same memory every time; "text": a str's code points
    # "bit generator", "kept normal number": words that stand for the state of a generator (support/generators.py)


class Slot(NamedTuple):
    """One Python object of a call and where it comes from."""

    kind: SlotKind
    index: int = 0  # type: ignore[assignment]  # PARAM, CELL: number; ATTRIBUTE: parent slot; ITEM: item number
    name: str = ""  # GLOBAL, ATTRIBUTE
    parent: int = -1  # ITEM, MAPPING: parent slot


class ArgSpec(NamedTuple):
    """What a slot must hold for a compiled variant to be used."""

    kind: ArgKind
    dtype: str = ""  # ARRAY, NP_SCALAR
    ndim: int = 0  # ARRAY
    layout: str = "S"  # ARRAY: "C" contiguous, "F" Fortran contiguous, "S" any strides
    ones: int = 0  # ARRAY: bit d set = extent d is exactly 1, clear = it is not 1
    written: bool = False  # ARRAY: the kernel writes it (must be writeable, takes part in the overlap check)
    same_as: int = -1  # ARRAY: earlier slot that is the very same array (pointer, shape, strides)
    value: Any = None  # STATIC, OBJECT, TUPLE, DICT: an encoded constant, see `encode_constant` in runtime
    length: int = 0  # TUPLE, LIST
    order: int = 0  # ARRAY with layout "S": its axes from slowest to fastest (`pack_order`); 0: any
    repeated: int = 0  # ARRAY with an order: bit d set = axis d has stride 0 and is not 1 long


class Order(NamedTuple):
    """The order of the axes of an array in memory: slowest first, and packed with four bits each, below a leading 1."""

    code: int
    axes: tuple[int, ...]
    repeated: int  # bit d set: axis d has stride 0 and is not 1 long


def pack_order(shape: tuple[int, ...], strides: tuple[int, ...]) -> Order:
    """The order of the axes, repeated ones last; nothing for less than two axes, or too many."""
    if not 1 < len(shape) < MAX_RANK:
        return Order(0, (), 0)
    axes = tuple(sorted(range(len(shape)), key=lambda axis: -abs(strides[axis])))
    code = 1
    for axis in reversed(axes):
        code = code << 4 | axis
    repeated = sum(1 << axis for axis in axes if strides[axis] == 0 and shape[axis] != 1)
    return Order(code, axes, repeated)


class RecipeOp(IntEnum):
    """First word of each recipe in the flat form read by the dispatcher."""

    CONST = 1  # k                  constants[k]
    SLOT = 2  # k                   the object in slot k of this call
    PY_BOOL = 3  # s                out[s].i
    PY_INT = 4  # s                 out[s].i
    PY_FLOAT = 5  # s               out[s].f
    PY_COMPLEX = 6  # s             out[s].c
    NP_SCALAR = 7  # s dtype        NumPy scalar of that dtype from out[s]
    ARRAY = 8  # s dtype ndim       ndarray from out[s].a
    TUPLE = 9  # n item...
    LIST = 10  # n item...
    UNION = 11  # s n (len item)... out[s].i selects the item
    UNBOUND = 12  #                 the marker object for a name that has no value
    VIEW = 13  # s dtype ndim       as ARRAY, but never the very object of an argument
    CALL = 14  # k n item...        an object of a class: constants[k](*items)
    DICT = 15  # n (key item)...
    SHARED = 16  # k len item       one object for all items with the number k in this recipe
    LIST_OF = 17  # s python dtype  list of the elements of the array out[s].a: Python's numbers or NumPy's


class Const(NamedTuple):
    """A constant object: index into `KernelInfo.constants`."""

    index: int  # type: ignore[assignment]  # hides tuple.index, which nobody needs here


class FromSlot(NamedTuple):
    """The very object that came in through a slot."""

    slot: int


class Scalar(NamedTuple):
    """A scalar the kernel stored in `out[out]`; `kind` is "py_bool", "py_int", "py_float", "py_complex" or a dtype."""

    out: int
    kind: str


class Array(NamedTuple):
    """An array the kernel stored in `out[out]`. `fresh`: a new object, even where it is all of an argument."""

    out: int
    dtype: str
    ndim: int
    fresh: bool = False


class Sequence(NamedTuple):
    """A tuple or list of recipes, or a dict of keys and values in turn.

    `share`: one object for all those with that number in an exit; 0 for an object that stands in one place only. With
    `cls`, the number of a class among the constants, what the class gives when it is called with the items.
    """

    items: tuple[Recipe, ...]
    is_list: bool = False
    is_dict: bool = False
    share: int = 0
    cls: int = -1


class ListOf(NamedTuple):
    """A list of the elements of an array of one axis in `out[out]`; `kind` and `share` as for Scalar and Sequence."""

    out: int
    kind: str
    share: int = 0


class Union(NamedTuple):
    """One of several recipes, chosen by the integer in `out[tag]`."""

    tag: int
    alternatives: tuple[Recipe, ...]


class Unbound(NamedTuple):
    """A name without a value at this point."""


Recipe: TypeAlias = Const | FromSlot | Scalar | Array | Sequence | ListOf | Union | Unbound

_PY_SCALARS = {
    "py_bool": RecipeOp.PY_BOOL,
    "py_int": RecipeOp.PY_INT,
    "py_float": RecipeOp.PY_FLOAT,
    "py_complex": RecipeOp.PY_COMPLEX,
}
_PY_DTYPES = {"py_bool": "bool", "py_int": "int64", "py_float": "float64", "py_complex": "complex128"}


def flatten_recipe(recipe: Recipe) -> list[int]:
    """The recipe as the flat int32 program the dispatcher runs."""
    match recipe:
        case Const(index=index):
            return [RecipeOp.CONST, index]
        case FromSlot(slot=slot):
            return [RecipeOp.SLOT, slot]
        case Scalar():
            return _flatten_scalar(recipe)
        case Array(out=out, dtype=dtype, ndim=ndim, fresh=fresh):
            return [RecipeOp.VIEW if fresh else RecipeOp.ARRAY, out, DTYPE_INDEX[dtype], ndim]
        case Sequence(share=share):
            return _shared(share, _flatten_sequence(recipe))
        case ListOf(out=out, kind=kind, share=share):
            dtype = _PY_DTYPES.get(kind, kind)
            return _shared(share, [RecipeOp.LIST_OF, out, int(kind in _PY_DTYPES), DTYPE_INDEX[dtype]])
        case Union(tag=tag, alternatives=alternatives):
            words: list[int] = [RecipeOp.UNION, tag, len(alternatives)]
            for alternative in alternatives:
                flat = flatten_recipe(alternative)
                words += [len(flat), *flat]
            return words
        case Unbound():
            return [RecipeOp.UNBOUND]


def _flatten_sequence(recipe: Sequence) -> list[int]:
    items = recipe.items
    operation = RecipeOp.DICT if recipe.is_dict else RecipeOp.LIST if recipe.is_list else RecipeOp.TUPLE
    words: list[int] = [RecipeOp.CALL, recipe.cls] if recipe.cls >= 0 else [operation]
    words.append(len(items) // 2 if recipe.is_dict else len(items))
    for item in items:
        words += flatten_recipe(item)
    return words


def _shared(number: int, words: list[int]) -> list[int]:
    return [RecipeOp.SHARED, number, len(words), *words] if number else words


def _flatten_scalar(recipe: Scalar) -> list[int]:
    if recipe.kind in _PY_SCALARS:
        return [_PY_SCALARS[recipe.kind], recipe.out]
    return [RecipeOp.NP_SCALAR, recipe.out, DTYPE_INDEX[recipe.kind]]


class Frame(NamedTuple):
    """One Python activation of a resume point, outermost first.

    `function` is an index into `KernelInfo.functions`; `path` leads to a statement in that function's normalised
    syntax tree; `names` are the local names in the order of the frame's part of the recipe. In every frame but the
    last the statement is the call the next frame came from, and its value is still to be assigned.
    """

    function: int
    path: tuple[int, ...]
    names: tuple[str, ...]


class Exit(NamedTuple):
    """One way out of the kernel.

    With no frames the recipe builds the result of the call. With frames it builds a tuple of one tuple per frame (the
    values of its `names`), from which the rest of the function runs in Python. In programs that assign attributes, the
    recipe is a pair: what was just said, and a tuple with one value per `KernelInfo.writebacks` entry.
    """

    recipe: Recipe
    frames: tuple[Frame, ...] = ()
    line: int = 0
    reason: str = ""


class WriteBack(NamedTuple):
    """An attribute the program assigned: `setattr(slot, name, value)` when it leaves, unless the value is unbound."""

    slot: int
    name: str


ERROR_KINDS = ("divide", "over", "under", "invalid")  # as np.errstate names them


class WarnSite(NamedTuple):
    """A place that may raise a floating-point RuntimeWarning: NumPy's name of the operation and the line.

    `modes` is what an np.errstate around it says: "divide=ignore over=warn", nothing for kinds left as they are.
    """

    operation: str
    line: int
    modes: str = ""


class Remark(NamedTuple):
    """What the compiler has to say to the user, at a line of the program's own file, or of another one."""

    text: str
    line: int
    file: str = ""


class NumpyCall(NamedTuple):
    """A NumPy function the kernel calls through `ctx->call_python`, by its place in `KernelInfo.numpy_calls`.

    The recipe makes a tuple of all arguments, those of the keywords last. Results follow in `out`, from `first` on.
    """

    function: str  # dotted
    line: int
    recipe: Recipe
    keywords: tuple[str, ...]
    first: int
    results: tuple[ResultType, ...]
    changes: bool = False  # something besides its results: it is never made again


class FunctionRef(NamedTuple):
    """How to reach a function that was inlined, from the program itself (index 0, no steps).

    A step is ("global", name), ("cell", name), ("attr", name), ("slot", k), ("stand-in", name) for one of Weft's own
    (`weft.support.stand_ins`), or ("def", line, column) for a function or lambda written inside its parent.
    """

    parent: int
    steps: tuple[tuple[str | int, ...], ...] = ()
    calls: tuple[tuple[int, int], ...] = ()  # (line, column) of the calls inlined in it: input of the normaliser


class KernelInfo(NamedTuple):
    """Everything the caller of one compiled variant needs to know; nothing in it refers to the compiler."""

    name: str
    symbol: str
    slots: tuple[Slot, ...]
    args: tuple[ArgSpec, ...]
    exits: tuple[Exit, ...]
    out_count: int
    constants: tuple[Any, ...] = ()  # encoded, see runtime
    functions: tuple[FunctionRef, ...] = (FunctionRef(-1),)
    writebacks: tuple[WriteBack, ...] = ()
    warn_sites: tuple[WarnSite, ...] = ()
    libraries: tuple[str, ...] = ()  # names of library functions the kernel expects in ctx->library, in order
    numpy_calls: tuple[NumpyCall, ...] = ()
    remarks: tuple[Remark, ...] = ()  # told once, also when the kernel comes from the cache
    statements: int = 0  # of the program itself
    abi: int = ABI_VERSION


def info_to_json(info: KernelInfo) -> dict[str, Any]:
    """Plain lists, dicts, strings and numbers; recipes carry their class name."""
    data = info._asdict()
    for name in ("slots", "args", "functions", "writebacks", "warn_sites", "remarks"):
        data[name] = [item._asdict() for item in data[name]]
    data["exits"] = [
        {**e._asdict(), "recipe": _recipe_to_json(e.recipe), "frames": [f._asdict() for f in e.frames]}
        for e in info.exits
    ]
    data["numpy_calls"] = [{**call._asdict(), "recipe": _recipe_to_json(call.recipe)} for call in info.numpy_calls]
    return data


def info_from_json(data: dict[str, Any]) -> KernelInfo:
    """The inverse of `info_to_json`; raises KeyError, TypeError or ValueError on anything malformed."""
    if data["abi"] != ABI_VERSION:
        raise ValueError(f"kernel ABI {data['abi']}, expected {ABI_VERSION}")
    return KernelInfo(
        name=data["name"],
        symbol=data["symbol"],
        slots=tuple(Slot(SlotKind(s["kind"]), s["index"], s["name"], s["parent"]) for s in data["slots"]),
        args=tuple(_arg_from_json(arg) for arg in data["args"]),
        exits=tuple(_exit_from_json(exit_) for exit_ in data["exits"]),
        out_count=data["out_count"],
        constants=tuple(data["constants"]),
        functions=tuple(
            FunctionRef(f["parent"], tuple(tuple(s) for s in f["steps"]), tuple((c[0], c[1]) for c in f["calls"]))
            for f in data["functions"]
        ),
        writebacks=tuple(WriteBack(**w) for w in data["writebacks"]),
        warn_sites=tuple(WarnSite(**w) for w in data["warn_sites"]),
        libraries=tuple(data["libraries"]),
        numpy_calls=tuple(_call_from_json(call) for call in data["numpy_calls"]),
        remarks=tuple(Remark(**r) for r in data["remarks"]),
        statements=data["statements"],
    )


def _arg_from_json(data: dict[str, Any]) -> ArgSpec:
    fields: dict[str, Any] = {**data, "kind": ArgKind(data["kind"])}
    return ArgSpec(**fields)


def _exit_from_json(data: dict[str, Any]) -> Exit:
    frames = tuple(Frame(f["function"], tuple(f["path"]), tuple(f["names"])) for f in data["frames"])
    return Exit(_recipe_from_json(data["recipe"]), frames, data["line"], data["reason"])


def _call_from_json(data: dict[str, Any]) -> NumpyCall:
    results = tuple(ResultType(dtype, ndim, tuple(order)) for dtype, ndim, order in data["results"])
    recipe, keywords = _recipe_from_json(data["recipe"]), tuple(data["keywords"])
    return NumpyCall(data["function"], data["line"], recipe, keywords, data["first"], results, data["changes"])


def _recipe_to_json(recipe: Recipe) -> list[Any]:
    match recipe:
        case Const(index=index):
            return ["const", index]
        case FromSlot(slot=slot):
            return ["slot", slot]
        case Scalar(out=out, kind=kind):
            return ["scalar", out, kind]
        case Array(out=out, dtype=dtype, ndim=ndim, fresh=fresh):
            return ["array", out, dtype, ndim, fresh]
        case Sequence(items=items, is_list=is_list, is_dict=is_dict, share=share, cls=cls):
            kind = ["call", cls] if cls >= 0 else ["dict" if is_dict else "list" if is_list else "tuple"]
            data = [*kind, *(_recipe_to_json(item) for item in items)]
            return ["shared", share, data] if share else data
        case ListOf(out=out, kind=kind, share=share):
            return ["list of", out, kind, share]
        case Union(tag=tag, alternatives=alternatives):
            return ["union", tag, *(_recipe_to_json(item) for item in alternatives)]
        case Unbound():
            return ["unbound"]


_PLAIN_RECIPES = {
    "const": Const, "slot": FromSlot, "scalar": Scalar, "array": Array, "list of": ListOf, "unbound": Unbound,
}  # fmt: skip


def _recipe_from_json(data: list[Any]) -> Recipe:
    kind, *rest = data
    if kind in _PLAIN_RECIPES:
        return _PLAIN_RECIPES[kind](*rest)
    match kind:
        case "call":
            return Sequence(tuple(map(_recipe_from_json, rest[1:])), cls=rest[0])
        case "tuple" | "list" | "dict":
            return Sequence(tuple(map(_recipe_from_json, rest)), kind == "list", kind == "dict")
        case "shared":
            inner = _recipe_from_json(rest[1])
            assert isinstance(inner, Sequence)
            return inner._replace(share=rest[0])
        case "union":
            return Union(rest[0], tuple(_recipe_from_json(item) for item in rest[1:]))
        case other:
            raise ValueError(f"unknown recipe {other!r}")
