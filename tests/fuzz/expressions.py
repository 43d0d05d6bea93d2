"""Random expressions: arrays of a wanted shape, numbers, conditions, indices."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tests.fuzz import rules
from tests.fuzz.kinds import Expr, Kind, broadcast, element_of, fits, half, minus
from tests.fuzz.rules import Rule
from tests.fuzz.state import State

_TRIES = 6
_INTS = ("0", "1", "2", "3", "-1", "-2", "5", "7")
_FLOATS = ("0.5", "2.0", "-1.5", "0.25", "3.0", "1.0", "-0.0", "0.1")


# ---- arrays ---------------------------------------------------------------------------------------------------------


def elements(state: State, shape: tuple[str, ...], depth: int) -> Expr:
    """An array, or a number, that broadcasts to a shape."""
    if depth <= 0 or state.chance(0.2):
        return leaf(state, shape)
    makers: dict[Callable[[State, tuple[str, ...], int], Expr | None], float] = {
        _binary: 9, _unary: 4, _comparison: 0.8, _ternary: 1.2, _array_unary: 1.6, _reduced: 1.2, _scan: 0.5,
        _product: 0.5,
    }  # fmt: skip
    for _ in range(_TRIES):
        found = state.rng.choices(list(makers), list(makers.values()))[0](state, shape, depth - 1)
        if found is not None and fits(found.kind.shape, shape):
            return found
    return leaf(state, shape)


def array(state: State, shape: tuple[str, ...], depth: int) -> Expr | None:
    """As `elements`, but no number."""
    for _ in range(_TRIES):
        found = elements(state, shape, depth)
        if found.kind.is_array:
            return found
    return None


def _binary(state: State, shape: tuple[str, ...], depth: int) -> Expr | None:
    left = elements(state, shape, depth)
    right = elements(state, shape, depth) if state.chance(0.65) else number(state, min(depth, 1))
    if state.chance(0.3):
        left, right = right, left
    return state.apply(state.choose(rules.BINARY), left, right)


def _comparison(state: State, shape: tuple[str, ...], depth: int) -> Expr | None:
    right = elements(state, shape, depth) if state.chance(0.5) else number(state, 0)
    return state.apply(state.choose(rules.COMPARISONS), elements(state, shape, depth), right)


def _unary(state: State, shape: tuple[str, ...], depth: int) -> Expr | None:
    return state.apply(state.choose(rules.UNARY), elements(state, shape, depth))


def _array_unary(state: State, shape: tuple[str, ...], depth: int) -> Expr | None:
    operand = array(state, shape, depth)
    return state.apply(state.choose(rules.ARRAY_UNARY), operand) if operand else None


def _ternary(state: State, shape: tuple[str, ...], depth: int) -> Expr | None:
    mask = _comparison(state, shape, depth)
    left, right = elements(state, shape, depth), elements(state, shape, depth)
    if mask is None or not mask.kind.is_array:
        return None
    return state.apply(state.choose(rules.TERNARY), mask, left, right)


def _scan(state: State, shape: tuple[str, ...], depth: int) -> Expr | None:
    operand = array(state, shape, depth)
    if operand is None:
        return None
    rule, axis = state.choose(rules.SCANS), state.rng.randrange(operand.kind.rank)
    if operand.kind.letter not in rule.letters:
        return None
    axis = axis - operand.kind.rank if state.chance(0.3) else axis
    found = element_of(rule.template.replace("{axis}", str(axis)), (operand.kind.element, operand.kind.rank))
    if found is None:
        return None
    state.use(rule.name, operand.kind)
    return Expr(rule.template.format(operand.text, axis=axis), Kind(found[0], operand.kind.shape))


def _reduced(state: State, shape: tuple[str, ...], depth: int) -> Expr | None:
    """A reduction over one more axis than is wanted, or with the axis kept."""
    extents = sorted({extent for name in state.arrays() for extent in state.names[name].shape})
    if not extents or len(shape) > 2:
        return None
    axis = state.rng.randint(0, len(shape))
    inner = array(state, (*shape[:axis], state.rng.choice(extents), *shape[axis:]), depth)
    if inner is None or inner.kind.rank != len(shape) + 1:
        return None
    return reduction(state, inner, axis if state.chance(0.7) else axis - inner.kind.rank, keep=False)


def reduction(state: State, operand: Expr, axis: int | None, *, keep: bool) -> Expr | None:
    """`np.sum(operand, axis=axis)` or its like."""
    rule = state.choose(rules.REDUCTIONS)
    if operand.kind.letter not in rule.letters or not operand.kind.is_array:
        return None
    keep = keep and rule.name not in rules.NO_KEEPDIMS
    given = [] if axis is None else [f"axis={axis}"]
    given += ["keepdims=True"] if keep else []
    template = rule.template.replace("{axis}", ", ".join(given)).replace(", )", ")")
    found = element_of(template, (operand.kind.element, operand.kind.rank))
    if found is None:
        return None
    state.use(rule.name, operand.kind)
    return Expr(template.format(operand.text), Kind(found[0], _reduced_shape(operand.kind.shape, axis, keep)))


def _reduced_shape(shape: tuple[str, ...], axis: int | None, keep: bool) -> tuple[str, ...]:
    gone = range(len(shape)) if axis is None else (axis % len(shape),)
    return tuple("1" if k in gone else extent for k, extent in enumerate(shape) if keep or k not in gone)


def _product(state: State, shape: tuple[str, ...], depth: int) -> Expr | None:
    """A matrix product, of names only."""
    names = [name for name in state.arrays() if state.names[name].rank <= 2]
    pairs = [
        (left, right)
        for left in names
        for right in names
        if state.names[left].shape[-1] == state.names[right].shape[0]
        and state.names[left].shape[:-1] + state.names[right].shape[1:] == shape
    ]
    if not pairs or depth < 1 or not state.shared.free:
        return None
    left, right = state.rng.choice(pairs)
    template = state.rng.choice(("({0} @ {1})", "np.dot({0}, {1})"))
    kinds = state.names[left], state.names[right]
    found = element_of(template, *((kind.element, kind.rank) for kind in kinds))
    if found is None:
        return None
    state.use("@", *kinds)
    return Expr(template.format(left, right), Kind(found[0], shape))


# ---- leaves ---------------------------------------------------------------------------------------------------------


def leaf(state: State, shape: tuple[str, ...]) -> Expr:
    """A view of a name, or something made from nothing."""
    names = state.arrays()
    for _ in range(_TRIES):
        own = names and state.chance(0.93)
        found = view_of(state, state.rng.choice(names), shape) if own else _made(state, shape)
        if found is not None:
            return found
    return number(state, 0)


def view_of(state: State, name: str, shape: tuple[str, ...]) -> Expr | None:
    """A part of an array that fits a shape: `a[1:, 0]`, `a.T`, `a[:, None]`; None where there is none."""
    kind = state.names[name]
    if kind.rank > 1 and kind.shape[::-1] == shape and state.chance(0.5):
        state.use("T", kind)
        return Expr(f"{name}.T", Kind(kind.element, shape, "S" if kind.layout in ("S", "neg") else "F"))
    if kind.rank == 1 and len(shape) > 1 and (kind.shape[0] != shape[-1] or state.chance(0.3)):
        inner = _slices(kind.shape[0], shape[-2])
        if inner:
            state.use("newaxis", kind)
            part = state.rng.choice(inner)
            return Expr(f"{name}[{part}, None]", Kind(kind.element, (shape[-2], "1"), _layout(kind, [part])))
    return _sliced(state, name, shape)


def _sliced(state: State, name: str, shape: tuple[str, ...]) -> Expr | None:
    kind = state.names[name]
    dropped = set(state.rng.sample(range(kind.rank), max(0, kind.rank - len(shape))))
    if kind.rank > 1 and state.chance(0.1):
        dropped.add(state.rng.randrange(kind.rank))
    wanted = list(shape)
    parts: list[str] = []
    found: list[str] = []
    for axis in reversed(range(kind.rank)):
        if axis in dropped:
            parts.append(index(state, kind.shape[axis]))
            continue
        extent = wanted.pop()
        choices = _slices(kind.shape[axis], extent)
        if state.shared.wild and extent == kind.shape[axis]:
            choices += ["-100:", ":100"]
        if not choices and kind.shape[axis] != "1":
            return None
        parts.append(state.rng.choice(choices) if choices else ":")
        found.append(extent if choices else "1")
    return _subscript(state, name, parts[::-1], found[::-1]) if found else None


def _subscript(state: State, name: str, parts: list[str], shape: list[str]) -> Expr:
    kind = state.names[name]
    while len(parts) > 1 and parts[-1] == ":" and state.chance(0.6):
        parts.pop()
    if all(part == ":" for part in parts) and state.chance(0.9):
        return Expr(name, kind)
    layout = _layout(kind, parts)
    state.use("slice" if layout != "neg" else "slice backwards", kind)
    return Expr(f"{name}[{', '.join(parts)}]", Kind(kind.element, tuple(shape), layout))


def _layout(kind: Kind, parts: Sequence[str]) -> str:
    if any(part.endswith((":-1", ":-2")) and part.count(":") == 2 for part in parts):
        return "neg"
    return kind.layout if kind.layout in ("neg", "zero") or all(part == ":" for part in parts) else "S"


def _slices(extent: str, wanted: str) -> list[str]:
    """Slices of an axis that leave so many elements; the plain one several times."""
    if wanted == extent:
        return [":"] * 8 + ["::-1", "::-1"]
    if wanted == minus(extent, 1):
        return ["1:", ":-1", "1:", ":-1", "-2::-1", ":0:-1"]
    if wanted == minus(extent, 2):
        return ["1:-1", "2:", ":-2"]
    if wanted == minus(extent, 3):
        return ["3:", "1:-2", ":-3"]
    if wanted == half(extent):
        return ["::2", "::2", "::-2"]
    return []


def parts_of(state: State, kind: Kind) -> tuple[str, ...]:
    """A shape that some part of an array has."""
    found: list[str] = []
    for extent in kind.shape:
        if extent.isdigit():
            found.append(extent)
            continue
        ways = (extent, minus(extent, 1), minus(extent, 2), half(extent) if "/" not in extent else extent)
        found.append(state.rng.choices(ways, (6, 2, 1, 1))[0])
    if len(found) > 1 and state.chance(0.3):
        found.pop(state.rng.randrange(len(found)))
    return tuple(found)


def extent_text(state: State, extent: str) -> str | None:
    """How a program says an extent: `n`, `a.shape[0]`, `len(a)`."""
    if extent.isdigit():
        return extent
    ways = [state.sizes[extent]] * 2 if extent in state.sizes else []
    for name in state.arrays():
        shape = state.names[name].shape
        ways += [f"{name}.shape[{axis}]" for axis, own in enumerate(shape) if own == extent]
        if shape[0] == extent:
            ways.append(f"len({name})")
    return state.rng.choice(ways) if ways else None


def _made(state: State, shape: tuple[str, ...]) -> Expr | None:
    """`np.zeros(n)` and its like."""
    texts = [extent_text(state, extent) for extent in shape]
    if any(text is None for text in texts):
        return None
    if len(shape) == 1 and state.chance(0.5):
        name, text, element = state.rng.choice(
            (("arange", "np.arange({})", "int64"), ("arange", "np.arange({}, dtype=np.float64)", "float64"))
        )
        state.use(name, Kind(element, shape))
        return Expr(text.format(texts[0]), Kind(element, shape))
    given = str(texts[0]) if len(shape) == 1 else f"({', '.join(map(str, texts))})"
    element = state.rng.choice(("float64", "float64", "int64", "float32", "int32"))
    name = state.rng.choice(("zeros", "ones", "full"))
    value = ", 2" if name == "full" else ""
    state.use(name, Kind(element, shape))
    return Expr(f"np.{name}({given}{value}, dtype=np.{element})", Kind(element, shape))


# ---- numbers --------------------------------------------------------------------------------------------------------


def number(state: State, depth: int) -> Expr:
    """A scalar, Python's or NumPy's."""
    if depth <= 0 or state.chance(0.25):
        return _number_leaf(state)
    for _ in range(_TRIES):
        found = _number_operation(state, depth - 1)
        if found is not None and not found.kind.is_array:
            return found
    return _number_leaf(state)


def _number_operation(state: State, depth: int) -> Expr | None:
    way = state.rng.random()
    if way < 0.5:
        rule = state.choose(rules.BINARY if state.chance(0.85) else rules.SCALAR_BINARY)
        left, right = number(state, depth), number(state, depth)
        if rule.name in ("/", "//", "%", "divmod") and right.kind.is_python and state.chance(0.85):
            right = Expr(*state.rng.choice((("3", Kind("py_int")), ("2.5", Kind("py_float")))))
        return state.apply(rule, left, right)
    if way < 0.65:
        return state.apply(state.choose(rules.UNARY + rules.SCALAR_UNARY), number(state, depth))
    if way < 0.72:
        return state.apply(state.choose(rules.COMPARISONS), number(state, depth), number(state, depth))
    if way < 0.77:
        left, right = number(state, depth), number(state, depth)
        if left.kind.element != right.kind.element:
            return None
        state.use("conditional", left.kind, right.kind)
        return Expr(f"({left.text} if {condition(state, depth)} else {right.text})", left.kind)
    names = state.arrays()
    if not names:
        return None
    operand = array(state, parts_of(state, state.names[state.rng.choice(names)]), depth)
    return reduction(state, operand, None, keep=False) if operand else None


def _number_leaf(state: State) -> Expr:
    way = state.rng.random()
    scalars, arrays = state.scalars(), state.arrays()
    if way < 0.35 and scalars:
        name = state.rng.choice(scalars)
        return Expr(name, state.names[name])
    if way < 0.45 and state.counters:
        return Expr(state.rng.choice(list(state.counters)), Kind("py_int"))
    if way < 0.75 and arrays and (state.counters or state.chance(0.25)):
        return element(state, state.rng.choice(arrays))
    if way < 0.8 and arrays:
        text = extent_text(state, state.rng.choice(state.names[state.rng.choice(arrays)].shape))
        if text is not None:
            return Expr(text, Kind("py_int"))
    return literal(state)


def literal(state: State) -> Expr:
    """A number as it is written."""
    way = state.rng.random()
    if way < 0.5:
        return Expr(state.rng.choice(_INTS), Kind("py_int"))
    if way < 0.92:
        return Expr(state.rng.choice(_FLOATS), Kind("py_float"))
    if way < 0.95:
        return Expr(state.rng.choice(("True", "False")), Kind("py_bool"))
    name = state.rng.choice(("float32", "float64", "int32", "int64"))
    return Expr(f"np.{name}({state.rng.choice(('1', '2', '-3'))})", Kind(name))


def element(state: State, name: str) -> Expr:
    """`a[i, j - 1]`."""
    kind = state.names[name]
    state.use("element", kind)
    parts = [index(state, extent) for extent in kind.shape]
    return Expr(f"{name}[{', '.join(parts)}]", Kind(kind.element))


def index(state: State, extent: str) -> str:
    """An index into an axis; in bounds for most sizes."""
    ways: list[str] = []
    for name, counter in state.counters.items():
        apart = _apart(extent, counter.extent)
        if apart is None:
            continue
        offsets = range(-1 - counter.low, counter.high - apart + 1)
        ways += [_shifted(name, offset) for offset in offsets for _ in range(3 if offset == 0 else 1)]
        if apart == 0:
            ways.append(f"-{name} - 1")
            own = extent_text(state, extent) if state.chance(0.2) else None
            ways += [f"{own} - 1 - {name}"] if own else []
    if state.shared.wild and state.chance(0.15):  # it may be out of bounds
        return state.rng.choice([*state.counters, "3", "-4", "9", "-2"])
    if ways and state.chance(0.93):
        return state.rng.choice(ways)
    return state.rng.choice(("0", "0", "-1") if extent == "1" else ("0", "0", "-1", "1", "-2"))


def _shifted(name: str, offset: int) -> str:
    return name if offset == 0 else f"{name} {'+' if offset > 0 else '-'} {abs(offset)}"


def _apart(extent: str, other: str) -> int | None:
    """By how many elements one extent is shorter than another; None where that is not known."""
    for count in range(4):
        if minus(other, count) == extent:
            return count
        if minus(extent, count) == other:
            return -count
    return None


def condition(state: State, depth: int) -> str:
    """Something to decide by."""
    way = state.rng.random()
    if way < 0.12:
        joined = state.rng.choice((" and ", " or "))
        return f"({condition(state, depth - 1)}{joined}{condition(state, depth - 1)})" if depth > 0 else "True"
    if way < 0.18:
        return f"not {condition(state, depth - 1)}" if depth > 0 else "False"
    for _ in range(_TRIES):
        rule: Rule = state.choose(rules.COMPARISONS[:6])
        found = state.apply(rule, number(state, depth), number(state, min(depth, 1)))
        if found is not None:
            return found.text
    return "True"


def combined_shape(state: State) -> tuple[str, ...]:
    """A shape something could be made in: that of a part of an array, or of two against each other."""
    names = state.arrays()
    shape = parts_of(state, state.names[state.rng.choice(names)])
    if len(names) > 1 and state.chance(0.2):
        other = state.names[state.rng.choice(names)].shape
        if len(shape) == len(other) == 1:
            return (*shape, *other)
        return broadcast([shape, other]) or shape
    return shape
