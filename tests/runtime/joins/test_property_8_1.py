"""The cost of a row, in index entries compared, by the order in which windows are probed (a-greedy, section 8.1).

The counts do not depend on the machine; what they must be is counted here by hand from the rows.
"""

from __future__ import annotations

import itertools
import tracemalloc
from math import prod

import numpy as np
import pyarrow as pa
import pytest

from thalweg.plan.joins.join_plan import JoinPlan
from thalweg.runtime.joins.join_binding import JoinBinding
from thalweg.runtime.joins.join_loop import JoinLoop
from thalweg.runtime.joins.join_options import JoinOptions

CONDITIONS = {"b": "a.x = b.x", "c": "a.y = c.y", "d": "a.z = d.z"}
COLUMN = {"b": "x", "c": "y", "d": "z"}
ORDERS = list(itertools.permutations("bcd"))


def star(order: tuple[str, ...], results: int = 1000) -> JoinLoop:
    """The streams in that order in `on`, which is how `static` probes them."""
    plan = JoinPlan.of(" AND ".join(CONDITIONS[alias] for alias in order), 100, "t", 0)
    schemas = {alias: pa.schema([(COLUMN[alias], pa.int64()), ("t", pa.int64())]) for alias in order}
    schemas["a"] = pa.schema([("x", pa.int64()), ("y", pa.int64()), ("z", pa.int64()), ("t", pa.int64())])
    binding = JoinBinding.of(plan, schemas)
    loop = JoinLoop(binding, JoinOptions("static", results=results), lambda: 0, np.random.default_rng(0))
    assert loop.chains["a"].others == order
    return loop


def fill(loop: JoinLoop, partners: dict[str, dict[int, int]]) -> None:
    """Return the number of rows by stream and key."""
    for alias, counts in partners.items():
        keys = [key for key, count in counts.items() for _ in range(count)]
        assert list(loop.process(alias, pa.record_batch({COLUMN[alias]: keys, "t": [0] * len(keys)}))) == []


def probe(loop: JoinLoop, rows: list[tuple[int, int, int]], time: int = 50) -> tuple[int, int, int]:
    """Return the entries compared to drop rows and to put results together, and the results."""
    x, y, z = (list(column) for column in zip(*rows, strict=True))
    before, put_before = loop.chains["a"].looked, loop.counts["a"].matches.looked
    batch = pa.record_batch({"x": x, "y": y, "z": z, "t": [time] * len(rows)})
    results = sum(out.num_rows for out in loop.process("a", batch))
    return loop.chains["a"].looked - before, loop.counts["a"].matches.looked - put_before, results


KEYS = range(6)
UNIQUE = {alias: dict.fromkeys(KEYS, 1) for alias in "bcd"}


def test_the_keys_of_these_tests_share_no_bucket() -> None:
    """Otherwise rows of other keys would also be counted."""
    buckets = {(key * 0x9E3779B97F4A7C15 % 2**64) >> 54 for key in KEYS}
    assert len(buckets) == len(KEYS)


def test_one_partner_in_each_window_costs_the_same_in_any_order() -> None:
    rows = list(itertools.product(KEYS, KEYS, KEYS))
    costs = set()
    for order in ORDERS:
        loop = star(order)
        fill(loop, UNIQUE)
        costs.add(probe(loop, rows))
    # one entry per window to see that none drops a row, and the same one again as its result is put together
    assert costs == {(3 * len(rows), 3 * len(rows), len(rows))}


@pytest.mark.parametrize("counts", [(2, 3, 5), (1, 1, 7), (4, 4, 4), (1, 20, 2)])
def test_rows_that_pass_cost_the_same_in_every_order(counts: tuple[int, int, int]) -> None:
    """Property 8.1: one entry per window to see that none drops the row, then each of its partners once, not once for
    each of another window's."""
    partners = dict(zip("bcd", counts, strict=True))
    for order in ORDERS:
        loop = star(order)
        fill(loop, {alias: {1: count} for alias, count in partners.items()})
        assert probe(loop, [(1, 1, 1)] * 10) == (3 * 10, sum(counts) * 10, prod(counts) * 10)


def test_a_dropped_row_costs_nothing_after_the_dropping_window() -> None:
    partners = {"b": {1: 500}, "c": {1: 300}, "d": {2: 1}}
    for order in ORDERS:
        loop = star(order)
        fill(loop, partners)
        before_d = order.index("d")
        # d has no row of that key: each window before it is looked at once, for one of hundreds of partners
        assert probe(loop, [(1, 1, 1)] * 7) == (7 * before_d, 0, 0)


def test_a_row_with_expired_partners_compares_each_once() -> None:
    for order in ORDERS:
        loop = star(order)
        fill(loop, {"b": {1: 9}, "c": {1: 1}, "d": {1: 1}})
        dropping = probe(loop, [(1, 1, 1)], time=101)  # the windows are 100
        assert dropping == ({"b": 9, "c": 1, "d": 1}[order[0]], 0, 0)


def test_an_outer_row_dropped_by_the_path_costs_no_enumeration() -> None:
    loop = star(("b", "c", "d"))
    fill(loop, {"c": {1: 400}, "d": {1: 400}})
    list(loop.process("a", pa.record_batch({"x": [1] * 50, "y": [1] * 50, "z": [2] * 50, "t": [0] * 50})))
    assert sum(out.num_rows for out in loop.process("b", pa.record_batch({"x": [1], "t": [1]}))) == 0
    assert loop.counts["b"].matches.looked == 0
    assert loop.loops["b"].work.chain.kept == 0


@pytest.mark.parametrize("results", [1000, 4096])
def test_a_million_results_of_one_row_come_in_small_batches(results: int) -> None:
    loop = star(("b", "c", "d"), results)
    fill(loop, {"b": {1: 100}, "c": {1: 100}, "d": {1: 100}})
    batch = pa.record_batch({"x": [1], "y": [1], "z": [1], "t": [50]})
    list(loop.process("a", batch.slice(0, 0)))
    sizes, arrow = [], 0
    allocated = pa.total_allocated_bytes()
    tracemalloc.start()
    for out in loop.process("a", batch):
        sizes.append(out.num_rows)
        arrow = max(arrow, pa.total_allocated_bytes() - allocated)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert sum(sizes) == 1_000_000
    assert max(sizes) == results
    # a result is five numbers on the way and eleven columns; two batches may live at a time
    assert peak + arrow < 3 * results * (5 + 11) * 8 + 1_000_000
