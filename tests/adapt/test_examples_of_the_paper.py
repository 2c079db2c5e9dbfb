"""Examples 2 to 7 of a-greedy, on the real loop. Filters are sets: F_i drops a tuple that it does not contain."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest

import thalweg as tw
from thalweg.adapt import Observation, ProfileSettings, Verdict, make_policy
from thalweg.adapt.a_greedy import AGreedy
from thalweg.adapt.local_swaps import LocalSwaps
from thalweg.kernels import FilterChain
from thalweg.plan import FilterPlan
from thalweg.runtime.filters.filter_loop import FilterLoop

# Figure 2 is missing from our copy of the paper. These sets and this stream were found by search among all that agree
# with everything the text says: the stream begins 1, 2, 1, 4 and has eight tuples; only 1 passes, twice, so that the
# six others fill the window; 2 is dropped by F3 at the third probe of O1; O1, O2, O3 take 20, 18 and 16 probes and none
# takes fewer; O3 satisfies the greedy invariant; after 3 and 6 it is violated at position 1 and corrected to
# F4, F3, F1, F2. 384 windows of outcomes do; this is one.
STREAM = [1, 2, 1, 4, 4, 5, 7, 2]
SETS = {"F1": {1, 2, 3, 4, 6}, "F2": {1, 2, 3, 5, 6}, "F3": {1, 3, 5, 6, 7}, "F4": {1, 2, 4, 5}}
NAMES = list(SETS)
O1, O2, O3 = ("F1", "F2", "F3", "F4"), ("F3", "F2", "F4", "F1"), ("F3", "F1", "F2", "F4")


def set_filters(sets: dict[str, set[int]]) -> FilterPlan:
    return FilterPlan(tuple(tw.predicate(members.__contains__, "e", name=name) for name, members in sets.items()))


def tuples(values: list[int]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"e": values})


def by_index(order: tuple[str, ...]) -> tuple[int, ...]:
    return tuple(NAMES.index(name) for name in order)


def probes(order: tuple[str, ...]) -> int:
    chain = FilterChain(set_filters(SETS), lambda: 0)
    return sum(chain.run(chain.columns(tuples(STREAM)), by_index(order)).evaluated)


@pytest.mark.parametrize(("order", "count"), [(O1, 20), (O2, 18), (O3, 16)])
def test_example_2_counts_probes(order: tuple[str, ...], count: int) -> None:
    assert probes(order) == count


def test_example_2_third_order_is_optimal() -> None:
    assert min(probes(order) for order in itertools.permutations(NAMES)) == probes(O3)


def outcomes(values: list[int]) -> list[tuple[bool, ...]]:
    """Profile tuples: True where a filter drops the value."""
    return [tuple(value not in SETS[name] for name in NAMES) for value in values]


def dropped(values: list[int]) -> list[int]:
    return [value for value in values if any(value not in members for members in SETS.values())]


class Watch:
    """A clock that one evaluation of one row moves by a nanosecond, and nothing else does: t_i = 1 for all filters."""

    def __init__(self) -> None:
        self.now_ns = 0

    def __call__(self) -> int:
        return self.now_ns

    def evaluated(self, test: Callable[..., bool]) -> Callable[..., bool]:
        def timed(*values: int) -> bool:
            self.now_ns += 1
            return test(*values)

        return timed

    def measure(self, plan: FilterPlan) -> FilterPlan:
        return FilterPlan(tuple(dataclasses.replace(p, func=self.evaluated(p.func)) for p in plan.predicates))


def loop_of(policy: str, plan: FilterPlan, *, window: int, alpha: float, slice_rows: int) -> FilterLoop[pa.RecordBatch]:
    """Every dropped tuple is profiled."""
    watch = Watch()
    chosen = make_policy(policy, plan.pipeline, ProfileSettings(1.0, window, alpha), np.random.default_rng(1))
    chain = FilterChain(watch.measure(plan), watch)
    return FilterLoop(chain, chosen, np.random.default_rng(1), slice_rows=slice_rows)


def test_examples_3_to_5_window_matrix_and_correction() -> None:
    loop = loop_of("a-greedy", set_filters(SETS), window=6, alpha=1.0, slice_rows=1)
    policy = loop.policy
    assert isinstance(policy, AGreedy)

    loop.process(tuples(STREAM))
    # example 3: all dropped tuples are in the window, which has room for six
    assert [tuple(row) for row in policy.window.tuples.tolist()] == outcomes(dropped(STREAM))
    assert len(policy.window) == 6
    # example 4: O3 satisfies the invariant, and the loop has come to it from the order as written
    assert loop.order == by_index(O3)
    # V in the order F3, F1, F2, F4: of six tuples F3 drops 2, 4, 4, 2; F1 5 and 7; F2 4, 4, 7; F4 only 7
    assert policy.view.V.tolist() == [[4, 2, 3, 1], [0, 2, 1, 1], [0, 0, 0, 0], [0, 0, 0, 0]]

    # example 5: 3 and 6 push out the two earliest, F4 now drops most, and F4, F3, F1, F2 follows
    loop.process(tuples([3, 6]))
    assert [tuple(row) for row in policy.window.tuples.tolist()] == outcomes([4, 5, 7, 2, 3, 6])
    assert loop.order == by_index(("F4", "F3", "F1", "F2"))
    assert policy.view.V.tolist() == [[3, 2, 2, 2], [0, 2, 1, 1], [0, 0, 1, 0], [0, 0, 0, 0]]


def test_example_5_the_violation_is_at_position_1() -> None:
    plan = set_filters({name: SETS[name] for name in O3})
    policy = AGreedy(plan.pipeline, ProfileSettings(p=1.0, profile_window=6, alpha=1.0))

    def show(values: list[int]) -> Verdict | None:
        order = [NAMES.index(name) for name in O3]
        bits = np.array(outcomes(values), dtype=bool)[:, order]
        nothing = np.zeros(4, dtype=np.int64)
        return policy.update(Observation(nothing, nothing, nothing, np.ones(4), bits))

    assert show(dropped(STREAM)) is None
    verdict = show([3, 6])
    assert verdict is not None
    assert verdict.order == tuple(O3.index(name) for name in ("F4", "F3", "F1", "F2"))
    assert verdict.reason.startswith("at position 1, F4")


HUNDRED = list(range(1, 101))


HIGH_AND_LOW = [value for pair in zip(range(50, 99), range(1, 50), strict=True) for value in pair] + [99, 100]
"""Uniform in 1..100, high and low in turn: at no time do rates differ by more than one tuple from what they are."""


def steady_evaluations(loop: FilterLoop[pa.RecordBatch], rounds: list[list[int]], warm_up: int) -> float:
    """Evaluations per tuple in regular work, without profiling, once the order has settled."""
    for values in rounds[:warm_up]:
        loop.process(tuples(values))
    loop.take_work()
    for values in rounds[warm_up:]:
        loop.process(tuples(values))
    work = loop.take_work()
    return sum(work.chain.evaluated) / work.chain.rows


def example_6(n: int, odd_one_at: int) -> FilterPlan:
    """F_1..F_{n-1} contain 1..49; F_n, written at any place, contains 50..100."""
    sets = {f"F{i}": set(range(1, 50)) for i in range(1, n)}
    names = list(sets)
    names.insert(odd_one_at, f"F{n}")
    sets[f"F{n}"] = set(range(50, 101))
    return set_filters({name: sets[name] for name in names})


@pytest.mark.parametrize("slice_rows", [1, 100])
@pytest.mark.parametrize("n", [2, 3, 5, 8, 12])
def test_example_6_independent_against_a_greedy(n: int, slice_rows: int) -> None:
    # no value passes all filters, so that a window of 1000 holds ten rounds
    rounds, plan = [HIGH_AND_LOW] * 20, example_6(n, n - 1)
    independent = loop_of("independent", plan, window=1000, alpha=0.9, slice_rows=slice_rows)
    assert steady_evaluations(independent, rounds, warm_up=15) == pytest.approx(0.49 * n + 0.51)
    a_greedy = loop_of("a-greedy", plan, window=1000, alpha=0.9, slice_rows=slice_rows)
    assert steady_evaluations(a_greedy, rounds, warm_up=15) == pytest.approx(1.49)


@pytest.mark.parametrize("odd_one_at", [0, 2, 4])
@pytest.mark.parametrize(
    ("policy", "expected"), [("independent", 0.49 * 5 + 0.51), ("a-greedy", 1.49), ("sweep", 1.49)]
)
def test_example_6_from_any_written_order(policy: str, expected: float, odd_one_at: int) -> None:
    # The odd one drops 49 of 100 and the others 51, which is within alpha = 0.9: written first, Independent would leave
    # it there. The claim is of the invariant itself, alpha = 1.
    loop = loop_of(policy, example_6(5, odd_one_at), window=200, alpha=1.0, slice_rows=100)
    assert steady_evaluations(loop, [HIGH_AND_LOW] * 35, warm_up=30) == pytest.approx(expected)


# Example 7 says "expected number of filters processed per input tuple: 50(n+1) and 1 + 200/n". Neither is a number of
# filters per tuple (for n = 4 the first is 250, with four filters). Derived anew: the drops of F_1..F_{n-1} are
# disjoint blocks of 1/n each, so the filter at position i sees 1 - (i-1)/n of the tuples also after the change (F_n is
# last), and O costs the sum of that, (n+1)/2 per tuple, which is 50(n+1) for the hundred values. O' = F_n, F_{n-1}, ...
# costs 1 for F_n, which lets only block n-1 through, and 1/n for F_{n-1}, which drops that: 1 + 1/n per tuple,
# 100 + 100/n for the hundred. The paper's 1 + 200/n must be a slip.


def example_7(n: int) -> FilterPlan:
    """F_i drops the i-th of n blocks of 1..100; in the second era F_n drops all but block n-1."""
    width = 100 // n

    def block(e: int) -> int:
        return (e - 1) // width + 1

    def others(i: int) -> Callable[[int, int], bool]:
        return lambda e, era: block(e) != i

    def last(e: int, era: int) -> bool:
        return block(e) != n if era == 1 else block(e) == n - 1

    functions = [*(others(i) for i in range(1, n)), last]
    return FilterPlan(tuple(tw.predicate(f, "e", "era", name=f"F{i}") for i, f in enumerate(functions, 1)))


@pytest.mark.parametrize(
    ("slice_rows", "n"),
    [
        *((slice_rows, n) for slice_rows in (1, 100) for n in (4, 5)),
        *((100, n) for n in (10, 20)),
        *(pytest.param(1, n, marks=pytest.mark.long) for n in (10, 20)),
    ],
)
def test_example_7_local_swaps_sticks_where_a_greedy_does_not(n: int, slice_rows: int) -> None:
    measured = {}
    for policy in ("local-swaps", "a-greedy"):
        plan = example_7(n)
        loop = loop_of(policy, plan, window=1000, alpha=0.9, slice_rows=slice_rows)
        # the first era in round robin over the blocks, so that all filters always drop alike and the order stays
        rounds = [np.array(HUNDRED).reshape(n, -1).T.ravel().tolist() for _ in range(12)]
        for values in rounds:
            loop.process(pa.RecordBatch.from_pydict({"e": values, "era": [1] * 100}))
        assert loop.order == tuple(range(n)), "the start of the example"
        for values in rounds:
            loop.process(pa.RecordBatch.from_pydict({"e": values, "era": [2] * 100}))
        loop.take_work()
        for values in rounds[:3]:
            loop.process(pa.RecordBatch.from_pydict({"e": values, "era": [2] * 100}))
        work = loop.take_work()
        measured[policy] = sum(work.chain.evaluated) / work.chain.rows
        if policy == "local-swaps":
            assert loop.order == tuple(range(n))
            assert isinstance(loop.policy, LocalSwaps)
        else:
            assert loop.order[:2] == (n - 1, n - 2)
    assert measured["local-swaps"] == pytest.approx((n + 1) / 2)
    assert measured["a-greedy"] == pytest.approx(1 + 1 / n)
