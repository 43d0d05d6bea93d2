# pyright: reportPossiblyUnboundVariable=false
"""Random numbers: the same numbers and the same state afterwards as without Weft, whoever draws."""

from __future__ import annotations

import copy
import os
import pickle
import signal
import threading
from collections.abc import Callable
from functools import partial
from types import FunctionType
from typing import Any, cast

import numpy as np
import numpy.random as random_module
import pytest
from numpy.random import default_rng, rand

import weft
from tests.compiling import PLAINLY
from weft.driver.comparison import Outcome, SameBits, compare_outcomes
from weft.driver.graph_runs import pipeline_stages, run_graph
from weft.driver.kernels import slot_objects
from weft.driver.options import Options
from weft.driver.snapshots import Call
from weft.ir.nodes import Program
from weft.ir.parser import parse_program
from weft.ir.printer import print_program
from weft.runtime import distributions
from weft.runtime.distributions import find_distribution
from weft.support.numpy_calls import NUMPY_ERRORS, calls_at

pytestmark = PLAINLY

OLDER = np.random.RandomState(17)

# ---- programs -------------------------------------------------------------------------------------------------------


def located(rng, n, h):
    for _ in range(n):
        a = rng.random(), rng.uniform(), rng.uniform(2, 5), rng.uniform(-1.5, high=h), rng.standard_normal()
        b = rng.normal(), rng.normal(2.5), rng.normal(loc=1, scale=h), rng.laplace(0.5, 2), rng.logistic()
        c = rng.gumbel(1, h), rng.standard_exponential(), rng.exponential(), rng.exponential(h), rng.rayleigh(2.0)
        d = rng.lognormal(0.1, h), rng.standard_cauchy(), rng.triangular(-1, 0.5, h)
    return a, b, c, d


def shaped(rng, n, h):
    for _ in range(n):
        a = rng.chisquare(3), rng.standard_t(h), rng.pareto(2.0), rng.power(h), rng.weibull(1.5), rng.weibull(0)
        b = rng.standard_gamma(h), rng.gamma(2.0), rng.gamma(0.5, h), rng.beta(2, h), rng.wald(1, h), rng.vonmises(0, h)
        c = rng.f(2.0, 3.0), rng.noncentral_chisquare(2.0, 1.0), rng.noncentral_f(2.0, 3.0, 1.0), rng.zipf(2.5)
    return a, b, c


def counted(rng, n, h):
    for _ in range(n):
        a = rng.poisson(), rng.poisson(h), rng.poisson(50), rng.poisson(0), rng.geometric(0.25), rng.geometric(0.7)
        b = rng.binomial(10, 0.3), rng.binomial(n, 0.7), rng.binomial(n * 100, 0.4), rng.binomial(0, 0.4)
        c = rng.hypergeometric(3, 4, 5), rng.logseries(0.5), rng.negative_binomial(3, 0.4), rng.binomial(5, 0)
    return a, b, c


def integers(rng, n, h):
    for _ in range(n):
        a = rng.integers(5), rng.integers(2, n), rng.integers(-n, n), rng.integers(0, n, endpoint=True)
        b = rng.integers(7, 8), rng.integers(0, 2**32), rng.integers(0, 2**32 + 1), rng.integers(0, 2**32 - 1)
        c = rng.integers(0, 3000000000), rng.integers(-(2**62), 2**62 + 5), rng.integers(9, dtype=int), rng.integers(1)
        d = rng.integers(0, 9, dtype=np.int32), rng.integers(0, 9, dtype=np.uint8), rng.integers(0, 2, dtype=bool)
        e = rng.integers(0, 9, dtype=np.uint64), rng.random(dtype=np.float32), rng.standard_normal(dtype=np.float32)
    return a, b, c, d, e


def arrays(rng, n, h):
    m = n - 3
    a = rng.random(n), rng.random((n, m)), rng.random((0, n)), rng.random(()), rng.uniform(0, h, [n, 2])
    b = rng.normal(size=n), rng.normal(1, h, (2, n)), rng.standard_normal((m, m)), rng.exponential(h, n)
    c = rng.integers(0, n, 7), rng.integers(0, n, size=(m, 2)), rng.integers(0, 2**40, n), rng.binomial(n, 0.4, n)
    d = rng.random(n, dtype=np.float32), rng.integers(0, 200, n, dtype=np.uint8), rng.poisson(h, size=np.int64(n))
    x = np.arange(1.0, n)
    e = rng.normal(x), rng.normal(x, 1, size=(m, n - 1)), rng.uniform(x[:, None], x + 30), rng.binomial(n, x / 20)
    f = rng.multinomial(n, [0.2, 0.3, 0.5]), rng.multinomial(n, [0.2, 0.8], size=m), rng.dirichlet(x)
    return a, b, c, d, e, f


def chosen(rng, n, h):
    x, y = np.arange(1.0, 8.0), np.arange(2 * n)
    t = 0.0
    for i in range(n):
        t = t * 0.5 + rng.choice(x) + rng.choice([-1, 1]) + rng.choice((1.5, 2, i)) + rng.choice(n)
        t += rng.choice(x[::-2]) + rng.choice(x, p=x / x.sum()) + rng.choice([True, False])
        rng.shuffle(y)
        rng.shuffle(y[::-2])
    a = rng.choice(x, n), rng.choice(n, (2, 3)), rng.choice([1, h], n), rng.choice(x, 3, replace=False), rng.choice(y)
    return t, a, rng.permutation(n), rng.permutation(x), rng.permutation(y[::2]), y


def older(rng, n, h):
    for _ in range(n):
        a = rng.random(), rng.random_sample(), rng.rand(), rng.rand(n), rng.rand(n, 2), rng.uniform(), rng.uniform(2, h)
        b = rng.randn(), rng.randn(n, 2), rng.normal(), rng.normal(1.0, h), rng.standard_normal(), rng.normal(size=3)
        c = rng.randint(5), rng.randint(2, n), rng.randint(0, 2**32), rng.randint(0, 2**40), rng.randint(7, 8)
        d = rng.exponential(), rng.exponential(h, n), rng.standard_exponential(), rng.gamma(2.0, 1.0), rng.poisson(h)
        e = rng.randint(0, 9, n), rng.random((n, 2)), rng.choice(n), rng.choice([1.5, 2.5]), rng.permutation(n)
        f = rng.randint(0, 2, dtype=bool), rng.randint(0, 5, dtype=np.int32), rng.binomial(10, 0.3), rng.standard_t(h)
    return a, b, c, d, e, f


def in_expressions(rng, n, h):
    u = [rng.random() for _ in range(n)]
    v = 0
    while rng.random() < 0.8 and v < 100:
        v += 1
    w = rng.random() if v > 2 else rng.normal()
    draw = lambda: rng.integers(10)  # noqa: E731
    total = draw() + draw() + sum(rng.random() for _ in range(n))
    both = {"a": rng.random(), "b": rng.random()}
    return u, v, w, total, both, max(rng.random(), rng.random()), rng.random() * h + rng.random()


def thrown_away(rng, n, h):
    for _ in range(n):
        rng.random()
        y = rng.integers(5)  # noqa: F841
    rng.standard_normal(n)
    a, b = rng.random(n), rng.random(n)
    return a - b, rng.random() - rng.random()


def beside_arrays(rng, n, h):
    A = np.ones((n, 50))
    for i in range(n):
        A[i, :] = A[i, :] * 2 + i
        A[i, 0] = rng.random()
    return A + rng.random(A.shape)


NEWER = [located, shaped, counted, integers, arrays, chosen, in_expressions, thrown_away, beside_arrays]


def by_other_names(n):
    t = 0.0
    for i in range(n):
        t += rand() + random_module.randint(5) + np.random.uniform(1, 2) + np.random.randn() * i
    np.random.seed(n)
    return t, np.random.random(n)


def fills(rng, a, n):
    for i in range(n):
        a[i] = rng.random()
        rng.normal(size=2)
    return a


def wider(rng, s, n):
    t = 0.0
    for i in range(n):
        t += rng.normal(0, s - i)
    return t


def between(rng, a, b):
    x = rng.random()
    return x, rng.integers(a, b), rng.uniform(a, b)


def uniformly(rng, low, high):
    return rng.uniform(low, high)


def permuted(rng, x):
    return rng.permutation(x)


def sized(rng, n):
    return rng.random(n), rng.random()


def of_both(first, second, n):
    t = 0.0
    for _ in range(n):
        t = t * 0.5 + first.random() - second.random()
    return t


def made_inside(n):
    rng = np.random.default_rng(5)
    t = 0.0
    for _ in range(n):
        t += rng.random()
    return t


# ---- how they are compared ------------------------------------------------------------------------------------------


def flat(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return flat(list(value.items()))
    return [leaf for item in value for leaf in flat(item)] if isinstance(value, tuple | list) else [value]


def state_of(value: Any) -> Any:
    if isinstance(value, np.random.Generator):
        return value.bit_generator.state
    return value.get_state(legacy=False) if isinstance(value, np.random.RandomState) else value


def outcome(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """The result or the error, and what the arguments and the global generator are afterwards."""
    np.random.seed(31)
    try:
        result = flat(function(*args))
    except Exception as error:  # noqa: BLE001  (compared)
        result = [type(error), str(error).partition("\nat ")[0]]
    described = [(type(x), x.dtype, x.shape, x.tolist()) if isinstance(x, np.ndarray) else (type(x), x) for x in result]
    return repr((described, [state_of(arg) for arg in args], np.random.get_state(legacy=False)))


def assert_same(function: Callable[..., Any], make: Callable[[], tuple[Any, ...]], program: Any = None) -> Any:
    """Compiled as in Python; the program."""
    program = program or weft.program(function, fallback="error")
    for _ in range(2):
        assert outcome(program, make()) == outcome(function, make())
    assert program.stats.native_calls
    return program


# ---- tests ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", NEWER, ids=lambda function: function.__name__)
def test_numbers_and_state_are_numpys(function: Callable[..., Any]) -> None:
    program = assert_same(function, lambda: (default_rng(1), 6, 2.25))

    for bits in (np.random.MT19937, np.random.Philox, np.random.SFC64, np.random.PCG64DXSM):
        assert_same(function, lambda bits=bits: (np.random.Generator(bits(2)), 9, 2.75), program)
    assert not program.stats.resumes


def test_the_older_generator_and_the_one_of_the_module() -> None:
    program = assert_same(older, lambda: (np.random.RandomState(3), 6, 2.25))

    assert_same(older, lambda: (np.random.mtrand._rand, 7, 2.25), program)
    assert_same(by_other_names, lambda: (7,))


def test_most_draws_need_no_python() -> None:
    for function in (located, in_expressions, thrown_away, beside_arrays):
        assert assert_same(function, lambda: (default_rng(1), 6, 2.25)).stats.numpy_calls == 0


def test_python_is_called_where_numpys_functions_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_distribution("random_normal")
    assert not find_distribution("random_nothing")
    monkeypatch.setattr(distributions, "_functions", lambda: None)
    find_distribution.cache_clear()
    try:
        assert assert_same(located, lambda: (default_rng(1), 6, 2.25)).stats.numpy_calls
    finally:
        find_distribution.cache_clear()


def test_errors_are_numpys_and_leave_the_state_python_would() -> None:
    program = assert_same(fills, lambda: (default_rng(1), np.zeros(5), 5))
    assert_same(fills, lambda: (default_rng(1), np.zeros(5), 8), program)
    program = assert_same(wider, lambda: (default_rng(1), 7.0, 3))
    for start, count in ((2.5, 8), (2.0, 3), (-0.0, 1), (float("nan"), 3)):
        assert_same(wider, lambda start=start, count=count: (default_rng(1), start, count), program)
    program = assert_same(between, lambda: (default_rng(1), 3, 7))
    for low, high in ((3, 3), (3, 2), (-(2**62), 2**62)):
        assert_same(between, lambda low=low, high=high: (default_rng(1), low, high), program)
    for low, high in ((np.int64(3), np.int32(7)), (1.5, 4.5), (1.5, float("inf"))):
        assert_same(between, lambda low=low, high=high: (default_rng(1), low, high))
    program = assert_same(uniformly, lambda: (default_rng(1), -2.5, 4.5))
    for low, high in ((0.0, -0.0), (1.0, 1.0), (-0.0, 0.0), (2.0, 1.0), (-1e308, 1e308)):
        assert_same(uniformly, lambda low=low, high=high: (default_rng(1), low, high), program)
    program = assert_same(sized, lambda: (default_rng(1), 3))
    for size in (-1, 0, 10**12):
        assert_same(sized, lambda size=size: (default_rng(1), size), program)
    for size in ((2, 3), [2, 3], np.int32(3), None):
        assert_same(sized, lambda size=size: (default_rng(1), size))


def test_errors_come_before_any_draw() -> None:
    """What the rules ask of a method: Python repeats a statement that raises."""
    wrong: dict[str, tuple[Any, ...]] = {
        "choice": ([],), "dirichlet": ([-1.0],), "hypergeometric": (-1, 2, 3), "multinomial": (5, [0.9, 0.9, 0.1]),
        "permutation": ("x",), "triangular": (3, 2, 1), "uniform": (0, np.inf), "seed": (-1,), "shuffle": (3,),
    }  # fmt: skip
    for cls in (np.random.Generator, np.random.RandomState):
        for method, parameters in _parameters(cls).items():
            generator: Any = cls(np.random.MT19937(3))
            before = repr(state_of(generator))
            count = max(1, parameters.index("size")) if "size" in parameters else 1
            with pytest.raises(NUMPY_ERRORS):
                getattr(generator, method)(*wrong.get(method, (-1.0,) * (2 if count == 1 else count)))
            assert repr(state_of(generator)) == before, method


def _parameters(cls: type) -> Any:
    from weft.numpy_rules.random_numbers import PARAMETERS

    return PARAMETERS[cls]


def test_several_generators_and_several_names_of_one() -> None:
    program = assert_same(of_both, lambda: (default_rng(1), default_rng(2), 10))

    def shared(make: Callable[[Any], Any]) -> tuple[Any, ...]:
        bits = np.random.MT19937(4)
        return make(bits), np.random.Generator(bits), 10

    def twice() -> tuple[Any, ...]:
        generator = default_rng(6)
        return generator, generator, 10

    assert_same(of_both, twice, program)
    assert_same(of_both, lambda: shared(np.random.Generator), program)
    assert_same(of_both, lambda: shared(np.random.RandomState), program)
    assert_same(
        of_both, lambda: (copy.deepcopy(default_rng(5)), pickle.loads(pickle.dumps(default_rng(6))), 10), program
    )


def test_permutations_have_the_type_of_a_range_and_an_empty_array_is_its_own() -> None:
    for n in (np.int8(5), np.uint32(5), np.uint64(5), 5):
        assert_same(permuted, lambda n=n: (default_rng(1), n))
        assert_same(permuted, lambda n=n: (np.random.RandomState(1), n))
    x = np.zeros(0)
    assert weft.program(permuted)(default_rng(1), x) is default_rng(1).permutation(x) is x


def test_python_draws_before_and_after() -> None:
    program = weft.program(thrown_away, fallback="error")
    ours, theirs = default_rng(8), default_rng(8)
    for n in (3, 1, 4):
        assert ours.random() == theirs.random()
        assert outcome(program, (ours, n, 1.0)) == outcome(thrown_away, (theirs, n, 1.0))


def test_a_generator_made_inside_is_drawn_from_in_compiled_pieces() -> None:
    program = weft.program(made_inside)
    with pytest.warns(weft.FallbackWarning, match="default_rng"):
        assert program(2000) == made_inside(2000)
    assert program(300) == made_inside(300)
    assert program.stats.native_calls == 2
    assert program.stats.numpy_calls == 0


class Simulation:
    def __init__(self) -> None:
        self.rng, self.x = default_rng(4), 0.0

    def run(self, n):
        for _ in range(n):
            self.x += self.rng.normal(0.0, 0.1)
            if self.rng.random() < 0.1:
                self.x = 0.0
        return self.x


class Study:
    def __init__(self) -> None:
        self.simulation = Simulation()
        self.world = self


def at_the_end_of_a_way(study, n):
    t = 0.0
    for _ in range(n):
        t += study.world.simulation.rng.normal() * study.simulation.rng.random()
    return t


def test_generators_of_objects_of_objects() -> None:
    ours, theirs = Study(), Study()
    program = weft.program(at_the_end_of_a_way, fallback="error")
    for _ in range(2):
        assert outcome(partial(program, ours), (5,)) == outcome(partial(at_the_end_of_a_way, theirs), (5,))
    assert state_of(ours.simulation.rng) == state_of(theirs.simulation.rng)


def test_generators_of_objects_and_closures() -> None:
    ours, theirs = Simulation(), Simulation()
    program = weft.program(Simulation.run, fallback="error")
    assert program(ours, 50) == theirs.run(50)
    assert (ours.x, state_of(ours.rng)) == (theirs.x, state_of(theirs.rng))
    generator = default_rng(9)

    def inner(n):
        return [generator.random() for _ in range(n)]

    assert weft.program(inner, fallback="error")(4) == default_rng(9).random(4).tolist()


def test_threads_take_turns() -> None:
    program = weft.program(sized, fallback="error")
    generator, found = default_rng(11), list[float]()
    program(default_rng(1), 3)

    def draw(call: Callable[..., Any]) -> None:
        for _ in range(50):
            numbers, last = call(generator, 100)
            found.extend([*numbers.tolist(), last])

    def draw_in_python(generator: np.random.Generator, n: int) -> Any:
        return generator.random(n), generator.random()

    threads = [threading.Thread(target=draw, args=(call,)) for call in (program, draw_in_python, program)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == sorted(default_rng(11).random(3 * 50 * 101).tolist())


class Interrupting:
    """A number that takes a signal when it is looked at."""

    def __float__(self) -> float:
        signal.raise_signal(signal.SIGUSR1)
        return 3.0


def test_what_a_signals_handler_raises_is_not_taken_for_numpys() -> None:
    """Python would repeat the statement, though the handler may have run after the draw."""

    def handler(*_: object) -> None:
        raise ValueError("from the handler")

    call = calls_at(cast("FunctionType", sized), "numpy.random.Generator.standard_t", 1, (), (), changes=True)
    before = signal.signal(signal.SIGUSR1, handler)
    try:
        with pytest.raises(ValueError, match="from the handler"):
            call((default_rng(1), Interrupting()))
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert call((default_rng(1), -1.0)) is None


def test_a_child_process_has_its_own_state() -> None:
    program = weft.program(sized, fallback="error")
    generator = default_rng(12)
    program(generator, 5)
    expected = copy.deepcopy(generator).random(4).tolist()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, repr(program(generator, 3)[0].tolist() == expected[:3]).encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reading, 100) == b"True"
    assert program(generator, 3)[0].tolist() == expected[:3]


def test_verified_runs_draw_the_same() -> None:
    program = weft.program(chosen, verify=True, fallback="error")
    assert outcome(program, (default_rng(1), 6, 2.25)) == outcome(chosen, (default_rng(1), 6, 2.25))
    assert outcome(weft.program(older, verify=True), (OLDER, 6, 2.25))
    ours, theirs = default_rng(1), default_rng(1)
    ours.random()
    found, expected = (Outcome(None, None, {"rng": generator}, {}) for generator in (ours, theirs))
    difference = compare_outcomes(found, expected, SameBits())
    assert difference is not None
    assert "state" in difference.place.text


@pytest.mark.parametrize("function", [chosen, in_expressions, thrown_away, beside_arrays])
def test_every_stage_draws_in_order(function: Callable[..., Any]) -> None:
    expected = outcome(function, (default_rng(1), 4, 2.25))
    stages = pipeline_stages(cast("FunctionType", function), Options())((default_rng(1), 4, 2.25))

    for stage in stages:
        found = outcome(partial(_interpreted, function, stage.program), (default_rng(1), 4, 2.25))
        assert found == expected, stage.name


def _interpreted(function: Any, program: Program, *args: Any) -> Any:
    ended = run_graph(program, Call(function, args, {}), limit_s=60)
    assert ended.error is None
    return ended.value


def test_a_graph_with_draws_can_be_read_back_and_run_as_python() -> None:
    graph = weft.program(thrown_away).to_graph(default_rng(1), 6, 2.25)

    assert print_program(parse_program(print_program(graph.program))) == print_program(graph.program)
    assert "changes (generator[:])" in print_program(graph.program)
    names: dict[str, Any] = {}
    exec(graph.to_python(), names)
    ours, theirs = default_rng(1), default_rng(1)
    slots = slot_objects(cast("FunctionType", thrown_away), graph.program.slots, [ours, 6, 2.25])
    assert repr(names["thrown_away"](*(slots or ()))) == repr(thrown_away(theirs, 6, 2.25))
    assert state_of(ours) == state_of(theirs)
