"""Groups chosen by an attacker: Arrow's group_by alone takes quadratic time for them."""

from __future__ import annotations

import time

import numpy as np
import pyarrow as pa
import pytest

from tests.kernels import crafted
from thalweg.kernels.window_groups import WindowGroups
from thalweg.plan.joins.window import GroupWindow
from thalweg.plan.query.group_spec import AggregateColumn, GroupSpec

COUNT = 8000
SLOWER = 25
"""The largest allowed slowdown compared with other groups: it was more than a hundred."""
SPECS = {
    "keys": GroupSpec("t", GroupWindow(10, 10), ("k",), (AggregateColumn("sum", "x", pa.int64()),)),
    "distinct values": GroupSpec("t", GroupWindow(10, 10), (), (AggregateColumn("count", "k", pa.int64(), True),)),
    "windows that overlap": GroupSpec("t", GroupWindow(10, 5), ("k",), (AggregateColumn("max", "x", pa.int64()),)),
}


@pytest.mark.parametrize("kind", SPECS)
def test_chosen_groups_cost_what_others_cost(kind: str) -> None:
    """Measured in thread time, so that a busy machine does not matter."""

    def spent(keys: pa.Array) -> int:
        rows = pa.record_batch({"t": np.zeros(COUNT, np.int64), "k": keys, "x": np.ones(COUNT, np.int64)})
        begun = time.thread_time_ns()
        groups = WindowGroups(SPECS[kind], rows.schema)
        groups.add(rows)
        closed = groups.close_all()
        ns = time.thread_time_ns() - begun
        assert closed.num_rows in (1, COUNT, 2 * COUNT)
        return ns

    usual = pa.array(np.random.default_rng(2).permutation(COUNT))
    spent(usual)
    assert spent(crafted.for_arrow(COUNT)) < SLOWER * min(spent(usual) for _ in range(3))
