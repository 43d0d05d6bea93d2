"""Random statements with arrays as indices: masks and positions, read and written."""

from __future__ import annotations

from tests.fuzz import rules
from tests.fuzz.expressions import elements, extent_text, number
from tests.fuzz.kinds import Expr, Kind
from tests.fuzz.state import State


def mask_of(state: State, name: str) -> str | None:
    """`a > 0`, or a name that holds a mask of that shape."""
    kind = state.names[name]
    ready = [other for other in state.arrays() if state.names[other].same_type(Kind("bool", kind.shape))]
    if ready and state.chance(0.4):
        return state.rng.choice(ready)
    found = state.apply(state.choose(rules.COMPARISONS[:6]), Expr(name, kind), number(state, 0))
    return found.text if found is not None and found.kind.element == "bool" else None


def positions(state: State, extent: str) -> Expr | None:
    """Integers that are positions in an axis, in bounds unless it is empty."""
    bound = extent_text(state, extent)
    if state.chance(0.3) or bound is None:
        given = state.rng.choice(("[0, -1]", "[1, 0, 1]", "[-1]", "[0, 0, -2]"))
        return Expr(f"np.array({given})" if state.chance(0.5) else given, Kind("int64", (str(given.count(",") + 1),)))
    whole = [name for name in state.arrays(1) if state.names[name].letter in "iu"]
    if whole and state.chance(0.6):
        name = state.rng.choice(whole)
        if state.names[name].element in ("int64", "int32", "uint8", "int16"):
            return Expr(f"({name} % {bound})", Kind(state.names[name].element, state.names[name].shape))
    ways = (f"np.arange({bound})", f"np.arange({bound})[::-1]", f"(np.arange({bound}) // 2)")
    return Expr(state.rng.choice(ways), Kind("int64", (extent,)))


def write_mask_store(state: State) -> bool:
    """`a[a > 0] = x`, `a[m] += 1`."""
    names = [name for name in state.arrays() if state.names[name].layout != "zero"]
    if not names:
        return False
    name = state.rng.choice(names)
    kind, value, mask = state.names[name], number(state, 1), mask_of(state, name)
    if mask is None or value.kind.letter == "c" or (value.kind.letter == "f" and kind.letter in "iub"):
        return False
    operator = state.rng.choice(("=", "=", "+=", "*=")) if kind.letter != "b" else "="
    state.use("mask store", kind)
    state.write(f"{name}[{mask}] {operator} {value.text}")
    return True


def write_selection(state: State) -> bool:
    """`v = a[a > 0]`: as long as the mask says."""
    names = state.arrays()
    if not names:
        return False
    name = state.rng.choice(names)
    mask, own = mask_of(state, name), state.shared.new_name("v")
    if mask is None:
        return False
    state.use("mask", state.names[name])
    state.write(f"{own} = {name}[{mask}]")
    state.names[own] = Kind(state.names[name].element, (f"count{own}",))
    return True


def write_gather(state: State) -> bool:
    """`v = a[k]` with an array of positions."""
    names = state.arrays()
    if not names:
        return False
    name = state.rng.choice(names)
    kind = state.names[name]
    found = positions(state, kind.shape[0])
    if found is None:
        return False
    own = state.shared.new_name("v")
    state.use("gather", kind)
    text = f"{name}[{found.text}]" if state.chance(0.8) else f"np.take({name}, {found.text}, axis=0)"
    state.write(f"{own} = {text}")
    state.names[own] = Kind(kind.element, (*found.kind.shape, *kind.shape[1:]))
    return True


def write_scatter(state: State) -> bool:
    """`a[k] = values`: of equal positions the last wins."""
    names = [name for name in state.arrays() if state.names[name].layout != "zero"]
    if not names:
        return False
    name = state.rng.choice(names)
    kind = state.names[name]
    found = positions(state, kind.shape[0])
    if found is None:
        return False
    value = elements(state, (*found.kind.shape, *kind.shape[1:]), 2)
    if value.kind.letter == "c" or (value.kind.letter == "f" and kind.letter in "iub"):
        return False
    state.use("scatter", kind)
    operator = state.rng.choice(("=", "=", "+=")) if kind.letter == value.kind.letter in "if" else "="
    state.write(f"{name}[{found.text}] {operator} {value.text}")
    return True
