"""Random statements of several lines that some pass of the compiler looks for.

Arrays that shrink in a loop, positions from an array in a loop, arrays that are put together and read by a stencil,
arrays that a loop carries, temporaries of a turn, sums of products in loops, two reductions of one array, recurrences,
rows that are taken in turn.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from tests.fuzz.expressions import array, condition, parts_of
from tests.fuzz.kinds import Expr, Kind, element_of
from tests.fuzz.state import State

Pattern: TypeAlias = Callable[[State], bool]  # writes statements, or says that it cannot


def write_pattern(state: State) -> bool:
    """One of them."""
    if state.loops > 1:
        return False
    return state.rng.choice(_PATTERNS)(state)


def _line(state: State) -> str | None:
    """An array of one axis."""
    names = state.arrays(1)
    return state.rng.choice(names) if names else None


def _partner(state: State, name: str) -> str:
    """Another array of the same shape, or the same."""
    shape = state.names[name].shape
    return state.rng.choice([other for other in state.arrays() if state.names[other].shape == shape])


def _keeps(state: State, template: str, *kinds: Kind) -> bool:
    """Whether a formula gives the element type of its first operand."""
    found = element_of(template, *((kind.element, kind.rank) for kind in kinds))
    return found is not None and found == (kinds[0].element, kinds[0].rank)


def _fresh(state: State, name: str) -> Expr:
    """A new name for an array: the same, a copy, or something computed of it."""
    own, kind = state.shared.new_name("z"), state.names[name]
    ways = [name, f"{name}.copy()", f"{name}[:]"]
    ways += [way for way in (f"{name} + {name}", f"{name} * {name}") if _keeps(state, way.replace(name, "{0}"), kind)]
    state.write(f"{own} = {state.rng.choice(ways)}")
    state.names[own] = Kind(kind.element, kind.shape)
    return Expr(own, state.names[own])


def _turns(state: State) -> str:
    counter = state.shared.new_name("i")
    state.write(f"for {counter} in range({state.rng.choice(('3', '2', '4', '1', '0'))}):")
    return counter


# ---- arrays that change in loops ------------------------------------------------------------------------------------


def _shrinks(state: State) -> bool:
    """`z, c = z[keep], c[keep]` in a loop."""
    name = _line(state)
    if name is None or state.names[name].letter == "c":
        return False
    first, second = _fresh(state, name), _fresh(state, _partner(state, name))
    keep, count = state.shared.new_name("m"), state.shared.new_name("count")
    turn = _turns(state)
    state.use("shrink", first.kind, second.kind)
    with state.block(loop=True):
        if state.chance(0.5) and _keeps(state, "{0} * {0} + {1}", first.kind, second.kind):
            state.write(f"{first.text} = {first.text} * {first.text} + {second.text}")
        limit = state.rng.choice((f"{turn}", "2", "0"))
        state.write(f"{keep} = {first.text} {state.rng.choice(('>', '<', '!=', '>='))} {limit}")
        both = f"{first.text}, {second.text}"
        if state.chance(0.2):
            state.write(f"if {condition(state, 1)}:")
            state.write("    break")
        if state.chance(0.7):
            state.write(f"{both} = {first.text}[{keep}], {second.text}[{keep}]")
        else:
            state.write(f"{first.text} = {first.text}[{keep}]")
            state.write(f"{second.text} = {second.text}[{keep}]")
    for own in (first, second):
        state.names[own.text] = Kind(own.kind.element, (count,))
    return True


def _carries(state: State) -> bool:
    """`z = z * z + c` in a loop, under a mask or not."""
    names = state.arrays()
    if not names:
        return False
    name = state.rng.choice(names)
    own, other = _fresh(state, name), _partner(state, name)
    ways = [
        "{0} * {0} + {1}", "{0} + {1}", "np.where({0} < 4, {0} * {0} + {1}, {0})", "{0}[::-1] + {1}",
        "np.where({1} > {0}, {0} + 1, {0})", "np.maximum({0}, {1}) - {0}",
    ]  # fmt: skip
    if "c" in (own.kind.letter, state.names[other].letter):  # comparing NaNs of these warns as NumPy's compiler has it
        ways = [way for way in ways if "where" not in way]
    ways = [way for way in ways if _keeps(state, way, own.kind, state.names[other])]
    if not ways:
        return False
    state.use("carry", own.kind, state.names[other])
    counter, before = _turns(state), state.shared.new_name("z")
    with state.block(loop=True):
        if state.chance(0.2):
            state.write(f"{before} = {own.text}")
        state.write(f"{own.text} = {state.rng.choice(ways).format(own.text, other)}")
        if state.chance(0.2):
            state.write(f"{own.text}[{counter} % 2:] += 1" if own.kind.letter != "b" else "pass")
    return True


def _converges(state: State) -> bool:
    """Two arrays that a loop stores to in turns, and a way out between the stores."""
    names = [name for name in state.arrays() if state.names[name].letter in "iuf"]
    if not names:
        return False
    name = state.rng.choice(names)
    kind, first, second = state.names[name], state.shared.new_name("z"), state.shared.new_name("z")
    state.use("converge", kind)
    state.write(f"{first} = np.zeros_like({name})")
    state.write(f"{second} = {name}.copy()")
    counter = _turns(state)
    with state.block(loop=True):
        step = state.rng.choice((f"{second} * 2 - {name}", f"{name} + {counter}", f"{second}[::-1] + {name}"))
        state.write(f"{first}[...] = {step}")
        ways = (f"{counter} == 1", f"len({name}) > 5", f"np.max({first}) > 3", f"{name}.shape[0] != len({second})")
        state.write(f"if {state.rng.choice(ways) if state.chance(0.7) else condition(state, 1)}:")
        state.write(f"    {state.rng.choice(('break', 'break', 'continue', f'return {first}, {second}'))}")
        state.write(f"{second}[...] = {state.rng.choice((f'{first} + {name}', f'{first} - 1', first))}")
    for own in (first, second):
        state.names[own] = Kind(kind.element, kind.shape)
    return True


def _turn_of_its_own(state: State) -> bool:
    """A temporary for each row."""
    names = [name for name in state.arrays(2) if state.names[name].letter in "if"]
    if not names:
        return False
    name = state.rng.choice(names)
    kind, own, counter, out = state.names[name], *(state.shared.new_name(letter) for letter in "tiv")
    state.use("temporary of a turn", kind)
    state.write(f"{out} = np.zeros({name}.shape[0], {name}.dtype)")
    state.write(f"for {counter} in range({name}.shape[0]):")
    with state.block(loop=True):
        how = state.rng.choice((f"{name}[{counter}] + 1", f"np.zeros({name}.shape[1], {name}.dtype)"))
        state.write(f"{own} = {how}")
        inner, bound = state.shared.new_name("i"), state.rng.choice((f"{name}.shape[1]", f"{name}.shape[1] - 1"))
        state.write(f"for {inner} in range(1, {bound}):")
        state.write(f"    {own}[{inner}] = {own}[{inner} - 1] - {name}[{counter}, {inner}]")
        target = f"{out}[{counter}]" if state.chance(0.7) else f"{name}[{counter}, 0]"
        state.write(f"{target} = {own}[{state.rng.choice(('-1', '0', '1'))}]")
    state.names[out] = Kind(kind.element, kind.shape[:1])
    return True


# ---- positions ------------------------------------------------------------------------------------------------------


def _gathers(state: State) -> bool:
    """`out[i] = x[positions[i]]`, element by element."""
    name, whole = _line(state), [name for name in state.arrays(1) if state.names[name].letter in "iu"]
    if name is None or not whole:
        return False
    places = state.rng.choice(whole)
    kind, extent = state.names[name], state.names[places].shape
    out, counter, at = state.shared.new_name("v"), state.shared.new_name("i"), f"{places}[{{}}]"
    if not (state.shared.wild and state.chance(0.6)):
        at = f"{at} % len({name})"
    state.use("gather in a loop", kind, state.names[places])
    ranges = (f"range(len({places}))", f"range(len({places}) - 1, -1, -1)", f"range(1, len({places}), 2)")
    state.write(f"{out} = np.zeros(len({places}), {name}.dtype)")
    state.write(f"for {counter} in {state.rng.choice(ranges)}:")
    with state.block(loop=True):
        if state.chance(0.25):
            state.write(f"if {places}[{counter}] > 1:")
            state.write(f"    {state.rng.choice(('continue', 'break', 'pass'))}")
        value = f"{name}[{at.format(counter)}]"
        if state.chance(0.3) and kind.letter != "b":
            value += f" - {name}[{at.format(f'-{counter} - 1')}]"
        state.write(f"{out}[{counter}] = {value}")
        if state.chance(0.15):
            state.write(f"{places}[{counter}] = {counter} % 2")
    state.names[out] = Kind(kind.element, extent)
    return True


def _rows_of_a_list(state: State) -> bool:
    """`for j in range(starts[i], starts[i + 1])`, with what is found at positions."""
    name, whole = _line(state), [name for name in state.arrays(1) if state.names[name].element in ("int64", "int32")]
    if name is None or not whole or state.names[name].letter not in "if":
        return False
    places, kind = state.rng.choice(whole), state.names[name]
    starts, columns, out, row, place = (state.shared.new_name(letter) for letter in "bcvij")
    grown = f"np.cumsum(np.abs({places} % 3))"
    state.use("rows of a list", kind, state.names[places])
    ways = (f"np.minimum({grown}, len({places}))", f"{places} % (len({places}) + 1)", f"np.sort({places} % 4)")
    state.write(f"{starts} = {state.rng.choice(ways)}")
    state.write(f"{columns} = {places} % len({name})" if state.chance(0.8) else f"{columns} = {places}")
    state.write(f"{out} = np.zeros(len({places}), {name}.dtype)")
    state.write(f"for {row} in range(len({places}) - 1):")
    with state.block(loop=True):
        part = f"{starts}[{row}]", f"{starts}[{row} + 1]"
        if state.shared.free and state.chance(0.4):
            chosen = f"{columns}[{part[0]}:{part[1]}]"
            state.write(f"{out}[{row}] = {name}[{part[0]}:{part[1]}] @ {name}[{chosen}]")
        else:
            state.write(f"for {place} in range({part[0]}, {part[1]}):")
            state.write(f"    {out}[{row}] += {name}[{columns}[{place}]]")
    state.names[out] = Kind(kind.element, state.names[places].shape)
    return True


# ---- what is put together, and read ---------------------------------------------------------------------------------


def _stencil(state: State) -> bool:
    """Neighbours in an array with borders."""
    name = _line(state)
    if name is None or state.names[name].letter == "b":
        return False
    kind, own, out = state.names[name], state.shared.new_name("p"), state.shared.new_name("v")
    if state.chance(0.3):
        other = state.rng.choice(("1", "-1", "2"))
        how = f"np.roll({name}, {other}) - np.roll({name}, 1) * {name}"
        state.write(f"{out} = {how}")
    else:
        mode = state.rng.choice(("", ", mode='edge'", ", mode='wrap'", ", mode='reflect'"))
        ways = (f"np.pad({name}, 1{mode})", f"np.concatenate(({name}[-1:], {name}, {name}[:1]))")
        if state.chance(0.3):
            state.write(f"{own} = np.empty(len({name}) + 2, {name}.dtype)")
            parts = [f"{own}[:-2] = {name}", f"{own}[2:] = {name}", f"{own}[1:-1] = {name}[::-1]"]
            state.rng.shuffle(parts)
            for part in parts:
                state.write(part)
        else:
            state.write(f"{own} = {state.rng.choice(ways)}")
        if state.chance(0.2):
            state.write(f"{name}[:1] = 3")
        state.write(f"{out} = {own}[2:] - {own}[1:-1] * 2 + {own}[:-2]")
    state.use("stencil", kind)
    state.names[out] = Kind(kind.element, kind.shape)
    return True


def _window(state: State) -> bool:
    """`s += w * a[k : n + k]`."""
    name = _line(state)
    if name is None or state.names[name].letter == "b":
        return False
    kind, own, counter = state.names[name], state.shared.new_name("v"), state.shared.new_name("k")
    state.use("window", kind)
    state.write(f"{own} = np.zeros_like({name}[2:])")
    state.write(f"for {counter} in range(3):")
    with state.block(loop=True):
        state.write(f"{own} += {name}[{counter}] * {name}[{counter} : len({own}) + {counter}]")
        if state.chance(0.2):
            state.write(f"{name}[{counter}] = {own}[0]")
    return True  # its length has no name here


def _two_reductions(state: State) -> bool:
    names = [name for name in state.arrays() if state.names[name].letter in "biuf"]
    if not names:
        return False
    name = state.rng.choice(names)
    operand = array(state, parts_of(state, state.names[name]), 1) if state.chance(0.5) else None
    text = name if operand is None or operand.kind.letter == "c" else operand.text
    functions = state.rng.sample(("np.min", "np.max", "np.sum", "np.count_nonzero", "np.argmax", "np.any"), 3)
    for position, function in enumerate(functions):
        own = state.shared.new_name("r")
        state.write(f"{own} = {function}({text})")
        if position == 0 and state.chance(0.3) and state.names[name].letter != "b":
            state.write(f"{name}[...] = {name} * 2" if state.chance(0.5) else f"{name}[:1] = 1")
        state.mixed.add(own)
    state.use("two reductions", state.names[name])
    return True


# ---- recurrences ----------------------------------------------------------------------------------------------------


def _recurrence(state: State) -> bool:
    """Lines that follow from lines before them, with numbers that follow from numbers before them."""
    names = [name for name in state.arrays(2) if state.names[name].letter in "iuf"]
    if not names:
        return False
    name = state.rng.choice(names)
    other = _partner(state, name)
    own, i, j = (state.shared.new_name(letter) for letter in "sij")
    state.use("recurrence", state.names[name])
    way = state.rng.randrange(4)
    if way == 0:
        start, stop = state.rng.choice((("1", f"{name}.shape[1]"), ("2", f"{name}.shape[1] - 1")))
        state.write(f"for {j} in range({start}, {stop}):")
        state.write(f"    {name}[:, {j}] = {name}[:, {j} - 1] * 2 + {other}[:, {j}]")
    elif way == 1:
        state.write(f"{own} = 1")
        state.write(f"for {i} in range({name}.shape[0] - 2, -1, -1):")
        state.write(f"    {own} = {own} * 2 + 1")
        state.write(f"    {name}[{i}] = {name}[{i} + 1] * 3 + {own}")
        if state.chance(0.3):
            state.write(f"    {own} = int({other}[{i}, 0] > 2) + {i}")
    elif way == 2:
        state.write(f"{own} = np.zeros({name}.shape[0], np.int64)")
        state.write(f"for {i} in range(1, {name}.shape[0]):")
        state.write(f"    {own}[{i}] = {own}[{i} - 1] * 2 + 1")
        column = state.rng.choice((f"{name}[{i}]", f"{name}[:, {i} % {name}.shape[1]]"))
        state.write(f"    {column} = {column} + {own}[{i}].astype({name}.dtype)")
    else:
        state.write(f"for {i} in range({name}.shape[0]):")
        state.write(f"    {own} = {other}[{i}, 0]")
        state.write(f"    for {j} in range({name}.shape[1]):")
        state.write(f"        {own} = {own} + {name}[{i}, {j}] * {name}[{i}, 0]")
        state.write(f"        {name}[{i}, {j}] = {own}")
    return True


def _ring(state: State) -> bool:
    """A few rows that are taken in turn: what a turn finds in one, an earlier turn has left there."""
    names = [name for name in state.arrays(1) if state.names[name].letter == "f"]
    if not names:
        return False
    name, rng = state.rng.choice(names), state.rng
    rows, i, k = (state.shared.new_name(letter) for letter in ("w", "i", "k"))
    state.use("ring", state.names[name])
    state.write(f"{rows} = np.zeros((8, len({name}) + 1))")
    state.write(f"for {i} in range(len({name})):")
    state.write(f"    {k} = {rng.choice((f'{i} % 4', f'{i} * 3 % 5', f'({i} + 1) % 3'))}")
    row = [f"{k} + {rng.randrange(4)}" for _ in range(4)]
    steps = [
        f"{rows}[{row[0]}] = {rows}[{row[1]}] * 0.5 + {i}",
        f"{name}[{i}] = {rows}[{row[2]}, 0]",
        f"{rows}[{row[3]}, {rng.choice(('0', i))}] = {name}[{i}]",
    ]
    for step in rng.sample(steps, rng.choice((2, 3))):
        state.write(f"    {step}")
    return True


# ---- products -------------------------------------------------------------------------------------------------------


def _products(state: State) -> bool:
    """A matrix with a vector from both sides, and products as sums in loops."""
    names = [name for name in state.arrays(2) if state.names[name].letter in ("if" if state.shared.free else "i")]
    if not names:
        return False
    name = state.rng.choice(names)
    kind, row, column, out = state.names[name], *(state.shared.new_name(letter) for letter in "xyv")
    state.use("products", kind)
    state.write(f"{row} = {name}[0] + 1")
    state.write(f"{column} = {name}[:, 0] - 1")
    way = state.rng.randrange(4)
    if way == 0:
        state.write(f"{out} = {name} @ {row}")
        state.write(f"{row} = {row} - {state.rng.choice((column, out))} @ {name}")
    elif way == 1:
        state.write(f"{out} = np.zeros({name}.shape[0], {name}.dtype)")
        i, j = (state.shared.new_name("i") for _ in range(2))
        state.write(f"for {i} in range({name}.shape[0]):")
        state.write(f"    for {j} in range({name}.shape[1]):")
        state.write(f"        {out}[{i}] += {name}[{i}, {j}] * {row}[{j}]")
    elif way == 2:
        state.write(f"{out} = np.sum({name} * {row}, axis=1)")
        state.write(f"{row} = np.sum({name} * {column}[:, None], axis=0)")
    else:
        state.write(f"{out} = {column} * 1")
        j, low = state.shared.new_name("j"), f"min({name}.shape)"
        state.write(f"for {j} in range({low}):")
        state.write(f"    {out}[{j}] -= {out}[:{j}] @ {name}[:{j}, {j}]")
    for own, extents in ((row, kind.shape[1:]), (column, kind.shape[:1]), (out, kind.shape[:1])):
        state.names[own] = Kind(kind.element, extents)
    return True


_PATTERNS: tuple[Pattern, ...] = (
    _shrinks, _carries, _converges, _turn_of_its_own, _gathers, _rows_of_a_list, _stencil, _window, _two_reductions,
    _products, _recurrence, _ring,
)  # fmt: skip
