"""Windows that hold keys but no column: a join that is rebuilt under another plan keeps their rows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from thalweg.plan.joins.join_plan import JoinPlan
from thalweg.plan.joins.shape import Shape
from thalweg.runtime.joins.join_binding import JoinBinding
from thalweg.runtime.joins.join_loop import make_join_loop
from thalweg.runtime.joins.join_options import JoinOptions
from thalweg.runtime.joins.plan_watch import rebuilt

ROWS = 60
MULTIWAY: Shape = ("a", "b", "c")
KEEPS_BC: Shape = ("a", ("b", "c"))
KEEPS_AB: Shape = (("a", "b"), "c")


def streams() -> dict[str, pa.RecordBatch]:
    times = range(ROWS)
    return {
        "a": pa.record_batch({"t": times, "k": [n % 4 for n in times], "id": times}),
        "b": pa.record_batch({"t": times, "k": [n % 3 for n in times], "m": [n % 5 for n in times]}),
        "c": pa.record_batch({"t": times, "m": [n % 7 for n in times]}),
    }


def expected() -> list[int]:
    """The ids of the results, by brute force; no row expires."""
    a, b, c = (batch.to_pylist() for batch in streams().values())
    return sorted(x["id"] for x in a for y in b for z in c if x["k"] == y["k"] and y["m"] == z["m"])


@pytest.mark.parametrize(
    "plans", [(MULTIWAY, KEEPS_BC), (KEEPS_BC, MULTIWAY), (MULTIWAY, KEEPS_AB, KEEPS_BC), (KEEPS_AB, MULTIWAY)]
)
def test_rows_without_columns_find_partners_after_a_change(plans: tuple[Shape, ...]) -> None:
    plan = JoinPlan.of("a.k = b.k AND b.m = c.m", window=ROWS, time="t", lateness=0, select=["a.id"])
    data = streams()
    binding = JoinBinding.of(plan, {alias: batch.schema for alias, batch in data.items()})
    assert [binding.stored[alias].names for alias in "abc"] == [["id"], [], []]
    rng = np.random.default_rng(1)
    first = None if plans[0] == MULTIWAY else plans[0]
    loop = make_join_loop(binding, JoinOptions("static"), rng=rng, shape=first)
    found: list[int] = []
    size = ROWS // len(plans)
    for n, shape in enumerate(plans):
        if n:
            loop = rebuilt(loop, shape, rng)
            assert [len(loop.windows[alias]) for alias in "abc"] == [n * size] * 3
        for alias, batch in data.items():
            for out in loop.process(alias, batch.slice(n * size, size)):
                found += out.column(0).to_pylist()
        loop.end_round()
    assert sorted(found) == expected()
