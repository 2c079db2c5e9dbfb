"""Rules place projections, computed columns and aggregates; the costs of other places are never lower (OM, 4.2)."""

from __future__ import annotations

import random
from datetime import datetime

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

import thalweg as tw
from tests.cost.test_order_load import drawn
from tests.long_run import examples
from thalweg.cost.order_load import FilterTimes, order_costs
from thalweg.lab.om.utility import Unary, chain_cost
from thalweg.plan.filters.pipeline import Pipeline
from thalweg.plan.query.nodes import Aggregate, Filter, Output, Scan

SEEDS = st.integers(0, 2**32)


def session() -> tw.Session:
    s = tw.session()
    s.stream("e", pa.table({"ts": [datetime(2026, 1, 1)], "n": [1], "m": [2], "wide": ["x"]}), time="ts")
    s.function("is_one", lambda n: n > 0, returns="boolean")
    s.function("is_two", lambda n: n > 0, returns="boolean")
    s.function("computed", lambda n: n + 1, returns="bigint")
    return s


def test_scans_read_only_the_columns_that_are_needed() -> None:
    """And columns are computed after all filters."""
    root = session().query("SELECT computed(m) AS c FROM e WHERE is_one(n) AND is_two(n)").plan.root
    assert isinstance(root, Output)
    assert [name for name, _ in root.columns] == ["c"]
    assert isinstance(root.input, Filter)
    assert isinstance(root.input.input, Scan)
    assert root.input.input.columns == ("n", "m")


def test_aggregates_are_after_all_filters() -> None:
    text = "SELECT count(*) AS c FROM e WHERE is_one(n) AND is_two(n) GROUP BY TUMBLE(1 MINUTE)"
    root = session().query(text).plan.root
    assert isinstance(root, Output)
    assert isinstance(root.input, Aggregate)
    assert isinstance(root.input.input, Filter)
    assert len(root.input.input.conditions) == 2


@examples(100, long=2_000)
@given(n=st.integers(1, 4), seed=SEEDS)
def test_dropping_columns_later_never_needs_less_memory(n: int, seed: int) -> None:
    """Dropping a column in a scan is not an operator; at another place it is one, with a queue of its own."""
    r = random.Random(seed)
    rate, window, wide = 10 ** r.uniform(0, 6), r.uniform(0.1, 60), r.uniform(8, 500)
    narrow = r.uniform(1, wide)
    filters = [Unary(r.random(), 10 ** r.uniform(3, 7)) for _ in range(n)]
    in_the_scan = chain_cost(rate, filters, window, narrow).memory
    for place in range(n + 1):
        project = Unary(1.0, 10 ** r.uniform(3, 9), width=narrow)
        chain = [*filters[:place], project, *filters[place:]]
        assert chain_cost(rate, chain, window, wide).memory >= in_the_scan * (1 - 1e-12)


@examples(100, long=2_000)
@given(n=st.integers(1, 4), seed=SEEDS)
def test_computing_columns_earlier_never_takes_less_time(n: int, seed: int) -> None:
    """A computed column passes all rows. Each place further forward costs at least as much."""
    r = random.Random(seed)
    times, passes = drawn(n, r)
    computed = FilterTimes(
        Pipeline((*times.pipeline.names, "computed")), (*times.per_row_ns, 10 ** r.uniform(0, 5)),
        (*times.fixed_ns, 10 ** r.uniform(0, 5)),
    )  # fmt: skip
    order = r.sample(range(n), n)
    places = np.array([[*order[:place], n, *order[place:]] for place in range(n + 1)])
    cost = order_costs(computed, places, [*passes, 1.0], 10 ** r.uniform(0, 6))
    assert (np.diff(cost.cpu_ns) <= 1e-9 * cost.cpu_ns[:-1]).all()
    assert (np.diff(cost.queued_rows) <= 1e-9 * cost.queued_rows[:-1] + 1e-9).all()
