"""Random statements: stores, loops, branches, views, swaps, calls of functions that are made up for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from tests.fuzz.expressions import (
    array,
    combined_shape,
    condition,
    element,
    elements,
    extent_text,
    index,
    number,
    parts_of,
    reduction,
    view_of,
)
from tests.fuzz.kinds import Expr, Kind, element_of, product
from tests.fuzz.patterns import write_pattern
from tests.fuzz.selections import write_gather, write_mask_store, write_scatter, write_selection
from tests.fuzz.state import Counter, State

Make: TypeAlias = Callable[[State], bool]  # writes a statement, or says that it cannot

_AUGMENTED = ("+", "+", "+", "-", "*", "*", "/", "//", "%", "&", "|")


def statements(state: State, count: int) -> None:
    """So many statements, less where the budget ends."""
    makers: dict[Make, float] = {
        _assign: 4, _number: 3, _rebind: 2, _store: 5, _augment: 4, _element_store: 3, _view: 1.5, _swap: 0.8,
        _out: 0.8, _whole: 0.5, _for_range: 3.5, _for_elements: 1, _while: 1, _if: 2.5, _call: 0.8, _raise: 0.25,
        write_mask_store: 0.9, write_selection: 0.5, write_gather: 0.8, write_scatter: 0.7,
        _leave_loop: 0.7, _accumulate: 2.5, _reduce: 1.5, _return_early: 0.15,
    }  # fmt: skip
    if state.shared.patterns:
        makers[write_pattern] = 9
    for _ in range(count):
        if state.budget <= 0:
            return
        for _ in range(8):
            if state.rng.choices(list(makers), list(makers.values()))[0](state):
                state.budget -= 1
                break


# ---- names ----------------------------------------------------------------------------------------------------------


def _assign(state: State) -> bool:
    if not state.arrays():
        return False
    value = array(state, combined_shape(state), 3)
    if value is None:
        return False
    bind(state, state.shared.new_name("v"), value)
    return True


def bind(state: State, name: str, value: Expr) -> None:
    """`name = value`."""
    state.write(f"{name} = {value.text}")
    state.names[name] = value.kind


def _number(state: State) -> bool:
    bind(state, state.shared.new_name("s"), number(state, 2))
    return True


def _reduce(state: State) -> bool:
    names = state.arrays()
    if not names:
        return False
    operand = array(state, parts_of(state, state.names[state.rng.choice(names)]), 2)
    if operand is None:
        return False
    axis = state.rng.choice([None, *range(-operand.kind.rank, operand.kind.rank)])
    value = reduction(state, operand, axis, keep=state.chance(0.4))
    if value is None:
        return False
    bind(state, state.shared.new_name("r"), value)
    return True


def _rebind(state: State) -> bool:
    """Another value for a name; in a loop, of the same type."""
    names = [name for name in state.names if name not in state.locked and name not in state.counters]
    if not names:
        return False
    name = state.rng.choice(names)
    kind = state.names[name]
    value = elements(state, kind.shape, 2) if kind.is_array else number(state, 2)
    if state.loops and not value.kind.same_type(kind):
        return False
    if value.text == name:
        return False
    state.use("rebind", kind)
    bind(state, name, value)
    return True


def _swap(state: State) -> bool:
    names = [name for name in state.arrays() if name not in state.locked]
    pairs = [(a, b) for a in names for b in names if a < b and state.names[a].same_type(state.names[b])]
    if not pairs:
        return False
    left, right = state.rng.choice(pairs)
    state.use("swap", state.names[left], state.names[right])
    state.write(f"{left}, {right} = {right}, {left}")
    state.names[left], state.names[right] = state.names[right], state.names[left]
    return True


def _view(state: State) -> bool:
    """A name for a part of an array, or for all of it in another shape."""
    names = state.arrays()
    if not names:
        return False
    name = state.rng.choice(names)
    kind = state.names[name]
    way = state.rng.random()
    found: Expr | None
    if way < 0.6:
        found = view_of(state, name, parts_of(state, kind))
    elif way < 0.75:
        found = Expr(f"{name}.T", Kind(kind.element, kind.shape[::-1], "F"))
    elif way < 0.85 and kind.rank > 1:
        how = state.rng.choice((".reshape(-1)", ".ravel()", ".flatten()"))
        found = Expr(f"{name}{how}", Kind(kind.element, (product(kind.shape),)))
    elif kind.rank == 2:
        found = Expr(f"np.swapaxes({name}, 0, 1)", Kind(kind.element, kind.shape[::-1], "F"))
    else:
        found = Expr(f"{name}[None]", Kind(kind.element, ("1", *kind.shape), kind.layout))
    if found is None or found.text == name:
        return False
    state.use("view", kind)
    bind(state, state.shared.new_name("w"), found)
    return True


# ---- stores ---------------------------------------------------------------------------------------------------------


def _writable(state: State) -> list[str]:
    return [name for name in state.arrays() if state.names[name].layout != "zero" or state.shared.wild]


def _target(state: State) -> Expr | None:
    """A part of an array to store to."""
    names = _writable(state)
    if not names:
        return None
    name = state.rng.choice(names)
    kind = state.names[name]
    found = view_of(state, name, parts_of(state, kind)) if state.chance(0.75) else Expr(f"{name}[...]", kind)
    if found is None or found.text.endswith(".T"):
        return None
    return Expr(f"{name}[:]", kind) if found.text == name else found


def _store(state: State) -> bool:
    target = _target(state)
    if target is None:
        return False
    value = elements(state, target.kind.shape, 3)
    if value.kind.letter == "c" and target.kind.letter != "c":
        return False
    if value.kind.letter == "f" and target.kind.letter in "iu":
        return False  # what NumPy makes of NaN there depends on the processor
    state.use("store", target.kind, value.kind)
    state.write(f"{target.text} = {value.text}")
    return True


def _augment(state: State) -> bool:
    target = _target(state)
    if target is None:
        return False
    if state.chance(0.2):
        name = target.text.partition("[")[0]
        if name not in state.locked:
            target = Expr(name, state.names[name])
    value = elements(state, target.kind.shape, 2)
    return _write_augmented(state, target, value)


def _write_augmented(state: State, target: Expr, value: Expr) -> bool:
    operator = state.rng.choice(_AUGMENTED)
    kinds = target.kind, value.kind
    if operator in "//%&|" and any(kind.letter == "c" for kind in kinds):
        return False
    call = f"(x := {{0}}, x.__i{_METHODS[operator]}__({{1}}))[1]"
    if target.kind.is_array and element_of(call, *((kind.element, kind.rank) for kind in kinds)) is None:
        return False  # NumPy does not cast so
    state.use(f"{operator}=", *kinds)
    state.write(f"{target.text} {operator}= {value.text}")
    return True


_METHODS = {
    "+": "add", "-": "sub", "*": "mul", "/": "truediv", "//": "floordiv", "%": "mod", "&": "and", "|": "or"
}  # fmt: skip


def _element_store(state: State) -> bool:
    names = _writable(state)
    if not names or (not state.counters and state.chance(0.7)):
        return False
    target = element(state, state.rng.choice(names))
    value = number(state, 2)
    if value.kind.letter == "c" or (value.kind.letter == "f" and target.kind.letter in "iu"):
        return False
    if state.chance(0.4):
        if value.kind.letter == "f" and target.kind.letter != "f":
            return False
        return _write_augmented(state, Expr(target.text, Kind(target.kind.element)), value)
    state.use("element store", target.kind)
    state.write(f"{target.text} = {value.text}")
    return True


def _out(state: State) -> bool:
    names = _writable(state)
    if not names:
        return False
    name = state.rng.choice(names)
    kind = state.names[name]
    function = state.rng.choice(("add", "subtract", "multiply", "maximum", "minimum"))
    left, right = elements(state, kind.shape, 1), elements(state, kind.shape, 1)
    operands = left.kind, right.kind, kind
    if element_of(f"np.{function}({{0}}, {{1}}, out={{2}})", *((k.element, k.rank) for k in operands)) is None:
        return False
    state.use("out=", *operands)
    state.write(f"np.{function}({left.text}, {right.text}, out={name})")
    return True


def _whole(state: State) -> bool:
    names = _writable(state)
    if not names:
        return False
    name = state.rng.choice(names)
    kind = state.names[name]
    if state.chance(0.5):
        state.use("fill", kind)
        state.write(f"{name}.fill({state.rng.choice(('0', '1', '3'))})")
        return True
    value = elements(state, kind.shape, 1)
    if element_of("np.copyto({1}, {0}) or 1", *((k.element, k.rank) for k in (value.kind, kind))) is None:
        return False
    state.use("copyto", kind)
    state.write(f"np.copyto({name}, {value.text})")
    return True


def _accumulate(state: State) -> bool:
    """`s += a[i]` in a loop; where that changes the type of s, s is only returned."""
    names = [name for name in state.scalars() if name not in state.locked and state.names[name].letter != "b"]
    if not state.loops or not names:
        return False
    name, value = state.rng.choice(names), number(state, 1)
    kind = state.names[name]
    operator = state.rng.choice(("+", "+", "-") if kind.element == "py_int" else ("+", "+", "-", "*"))
    found = element_of(f"{{0}} {operator} {{1}}", (kind.element, 0), (value.kind.element, 0))
    if found is None:
        return False
    if found[0] != kind.element:
        if state.chance(0.7):
            return False
        state.mixed.add(name)
    state.use(f"accumulate {operator}", kind, value.kind)
    state.write(f"{name} {operator}= {value.text}")
    return True


# ---- loops and branches ---------------------------------------------------------------------------------------------


def _body(state: State, most: int) -> None:
    statements(state, state.rng.randint(1, most))


def _for_range(state: State) -> bool:
    if state.loops >= 3 or not state.arrays():
        return False
    extent = state.rng.choice(state.names[state.rng.choice(state.arrays())].shape)
    bound = extent_text(state, extent)
    if bound is None:
        return False
    name = state.shared.new_name("i")
    text, counter = _range(state, bound, extent)
    state.use("for", Kind("py_int"))
    state.write(f"for {name} in {text}:")
    _loop(state, {name: Kind("py_int")}, {name: counter})
    return True


def _range(state: State, bound: str, extent: str) -> tuple[str, Counter]:
    outer = [name for name, counter in state.counters.items() if counter.extent == extent]
    if outer and state.chance(0.3):
        name = state.rng.choice(outer)
        high = state.counters[name].high
        return state.rng.choice(
            (
                (f"range({name}, {bound})", Counter(extent, 0, 0)),
                (f"range({name})", Counter(extent, 0, high + 1)),
                (f"range({name} + 1, {bound})", Counter(extent, 0, 0)),
            )
        )
    return state.rng.choice(
        (
            (f"range({bound})", Counter(extent, 0, 0)),
            (f"range({bound})", Counter(extent, 0, 0)),
            (f"range(1, {bound})", Counter(extent, 1, 0)),
            (f"range({bound} - 1)", Counter(extent, 0, 1)),
            (f"range(1, {bound} - 1)", Counter(extent, 1, 1)),
            (f"range({bound} - 1, -1, -1)", Counter(extent, 0, 0)),
            (f"range(0, {bound}, 2)", Counter(extent, 0, 0)),
            (f"weft.prange({bound})", Counter(extent, 0, 0)),
            ("range(3)", Counter("3", 0, 0)),
        )
    )


def _loop(state: State, names: dict[str, Kind], counters: dict[str, Counter]) -> None:
    """The body of a loop, with its variables."""
    mixed_before = set(state.mixed)
    with state.block(loop=True):
        state.names.update(names)
        state.counters.update(counters)
        state.locked.update(names)
        _body(state, 3)
    for name in state.mixed - mixed_before:
        state.names.pop(name, None)


def _for_elements(state: State) -> bool:
    names = state.arrays()
    if state.loops >= 2 or not names:
        return False
    name = state.rng.choice(names)
    kind = state.names[name]
    item = state.shared.new_name("x")
    items = {item: Kind(kind.element, kind.shape[1:], kind.layout)}
    way = state.rng.random()
    counters: dict[str, Counter] = {}
    if way < 0.5:
        text = f"for {item} in {name}:"
    elif way < 0.75:
        counter = state.shared.new_name("i")
        counters[counter] = Counter(kind.shape[0], 0, 0)
        items[counter] = Kind("py_int")
        text = f"for {counter}, {item} in enumerate({name}):"
    elif way < 0.85:
        text = f"for {item} in reversed({name}):"
    else:
        other, second = state.rng.choice(names), state.shared.new_name("x")
        items[second] = Kind(state.names[other].element, state.names[other].shape[1:])
        text = f"for {item}, {second} in zip({name}, {other}):"
    state.use("for " + ("in", "enumerate", "reversed", "zip")[(way > 0.5) + (way > 0.75) + (way > 0.85)], kind)
    state.write(text)
    _loop(state, items, counters)
    return True


def _while(state: State) -> bool:
    if state.loops >= 2:
        return False
    name = state.shared.new_name("k")
    state.write(f"{name} = {state.rng.choice(('3', '5', '4'))}")
    more = f" and {condition(state, 1)}" if state.chance(0.3) else ""
    state.use("while", Kind("py_int"))
    state.write(f"while {name} > 0{more}:")
    with state.block():  # first, so that `continue` does not skip it
        state.write(state.rng.choice((f"{name} -= 1", f"{name} = {name} // 2")))
    _loop(state, {name: Kind("py_int")}, {})
    return True


def _if(state: State) -> bool:
    if state.indent > 4:
        return False
    state.use("if", Kind("py_bool"))
    state.write(f"if {condition(state, 2)}:")
    with state.block():
        _body(state, 2)
        then = dict(state.names)
    orelse = state.names
    if state.chance(0.5):
        state.write("else:")
        with state.block():
            _body(state, 2)
            orelse = dict(state.names)
    for name in list(state.names):
        if name in then and name in orelse and then[name].same_type(orelse[name]):
            state.names[name] = then[name]
        else:
            state.names.pop(name)
            state.mixed.add(name)
    return True


def _leave_loop(state: State) -> bool:
    if not state.loops:
        return False
    word = state.rng.choice(("break", "continue"))
    state.use(word, Kind("py_bool"))
    state.write(f"if {condition(state, 1)}:")
    with state.block():
        state.write(word)
    return True


def _return_early(state: State) -> bool:
    names = [name for name in state.names if name not in state.counters]
    if not names or state.indent < 2:
        return False
    state.use("return", Kind("py_bool"))
    state.write(f"if {condition(state, 1)}:")
    with state.block():
        state.write(f"return {state.rng.choice(names)}")
    return True


def _raise(state: State) -> bool:
    way = state.rng.random()
    if way < 0.5:
        state.use("raise", Kind("py_bool"))
        state.write(f"if {condition(state, 2)}:")
        with state.block():
            state.write('raise ValueError("as it was written")')
        return True
    if way < 0.8:
        state.use("assert", Kind("py_bool"))
        state.write(f'assert {condition(state, 2)}, "not so"')
        return True
    names = state.arrays()
    if not names:
        return False
    name = state.rng.choice(names)
    position = index(state, state.names[name].shape[0])
    state.write(f"{state.shared.new_name('s')} = {name}[{position} + {state.rng.choice(('0', '1', '20'))}]")
    return True


# ---- functions ------------------------------------------------------------------------------------------------------


def _call(state: State) -> bool:
    """A new function, and a call of it with some of the names."""
    names = [name for name in state.names if name not in state.counters]
    if not state.arrays() or state.loops > 1 or len(state.shared.helpers) > 1:
        return False
    chosen = state.rng.sample(names, min(len(names), state.rng.randint(1, 3)))
    given = {f"p{number}": state.names[name] for number, name in enumerate(chosen)}
    inner = State(state.shared, dict(given), budget=3)
    if not inner.arrays():
        return False
    statements(inner, state.rng.randint(0, 2))
    if any("return" in line for line in inner.lines) or not inner.arrays():
        return False
    value = array(inner, combined_shape(inner), 2) if state.chance(0.6) else number(inner, 2)
    if value is None:
        return False
    inner.write(f"return {value.text}")
    helper = f"helper{len(state.shared.helpers)}"
    state.shared.helpers.append("\n".join([f"def {helper}({', '.join(given)}):", *inner.lines]))
    state.use("call", Kind("py_int"))
    bind(state, state.shared.new_name("h"), Expr(f"{helper}({', '.join(chosen)})", value.kind))
    return True
