"""The scenarios of each name on the command line, with their rounds and what is measured on them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import permutations

from bench.joins.hindsight import best_orders
from bench.joins.loops import Orders, order_trial, tree_trial
from bench.joins.ours import policy_trial
from bench.joins.peers import DUCKDB, POLARS, DuckDB, Polars
from bench.joins.streams import JoinScenario, of_streams, of_window, star, three_way, uneven
from bench.rounds import Variant
from thalweg.plan.joins.shape import left_deep, to_text

AUTO, AGAIN, STATIC, HINDSIGHT = "auto", "auto again", "static", "hindsight"
POLICIES = ("a-greedy", "sweep")
WINDOWS = (1_000, 10_000, 100_000, 1_000_000)
STREAMS = (2, 3, 4, 6, 8, 10)
QUICK_WINDOWS, QUICK_STREAMS = (1_000, 2_000), (2, 3)


@dataclass(frozen=True)
class Item:
    """A scenario: how to create it with a number of rows per stream, and what runs on it."""

    make: Callable[[int], JoinScenario]
    rows: int
    rounds: int = 5
    peers: bool = False
    trees: bool = False
    orders: bool = False
    """Whether hindsight and more policies are measured."""
    memory: bool = False
    """Whether the memory of the windows is measured."""

    def variants(self, scenario: JoinScenario, oracle: DuckDB) -> Iterator[Variant]:
        """`auto` runs twice under two names: the A/A control."""
        for name, policy in ((AUTO, "auto"), (AGAIN, "auto"), (STATIC, "static")):
            yield Variant(name, partial(policy_trial, scenario, policy), {"policy": policy}, ours=True)
        if self.orders:
            for policy in POLICIES:
                yield Variant(policy, partial(policy_trial, scenario, policy), {"policy": policy}, ours=True)
            best = best_orders(scenario)
            yield Variant(HINDSIGHT, lambda _: order_trial(scenario, best), {"orders": _named(scenario, best)})
        if self.trees:
            for order in _left_deep(scenario):
                shape = left_deep(order)
                run = partial(tree_trial, scenario, shape)
                yield Variant(f"tree {to_text(shape)}", run, {"shape": to_text(shape)})
        if self.peers:
            polars = Polars(scenario)
            yield Variant(DUCKDB, lambda _: oracle.trial(), {"engine": DUCKDB})
            yield Variant(POLARS, lambda _: polars.trial(), {"engine": POLARS})


def _left_deep(scenario: JoinScenario) -> Iterator[tuple[str, ...]]:
    """Yield the left-deep trees; the first two streams are one pair in either order."""
    return (order for order in permutations(scenario.tables) if order[0] < order[1])


def _named(scenario: JoinScenario, orders: Orders) -> dict[str, list[str]]:
    others = {alias: [a for a in scenario.tables if a != alias] for alias in scenario.tables}
    return {alias: [others[alias][k] for k in order] for alias, order in orders.items()}


AGENDA: dict[str, tuple[Item, ...]] = {
    "three-way": (
        Item(three_way, 300_000, rounds=7, peers=True, trees=True),
        Item(partial(three_way, text=True), 300_000, rounds=7, peers=True, trees=True),
        Item(partial(three_way, dense=True), 300_000, rounds=7),
    ),
    "uneven": (Item(uneven, 300_000, peers=True, trees=True),),
    "star": (Item(star, 100_000, rounds=3, orders=True),),
    "window": tuple(Item(partial(of_window, window), 200_000, rounds=3, memory=True) for window in WINDOWS),
    "streams": tuple(Item(partial(of_streams, count), 100_000, rounds=3, memory=True) for count in STREAMS),
}
QUICK: dict[str, tuple[Item, ...]] = {
    "three-way": (
        Item(three_way, 12_000, peers=True, trees=True),
        Item(partial(three_way, text=True), 12_000, peers=True, trees=True),
        Item(partial(three_way, dense=True), 12_000),
    ),
    "uneven": (Item(uneven, 12_000, peers=True, trees=True),),
    "star": (Item(partial(star, window=1_000), 5_000, orders=True),),
    "window": tuple(Item(partial(of_window, window), 10_000, memory=True) for window in QUICK_WINDOWS),
    "streams": tuple(Item(partial(of_streams, count), 10_000, memory=True) for count in QUICK_STREAMS),
}
