"""The size of the state, values that do not fit, and queries that are refused."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from thalweg.errors import PlanError, SumOverflowError
from thalweg.kernels.window_groups import WindowGroups
from thalweg.plan.joins.window import GroupWindow
from thalweg.plan.query.group_spec import AggregateColumn, GroupSpec

COUNT = AggregateColumn("count", None, pa.int64())


def spec_of(*aggregates: AggregateColumn, length: int = 10, slide: int = 10, keys: tuple[str, ...] = ()) -> GroupSpec:
    return GroupSpec("t", GroupWindow(length, slide), keys, aggregates)


def all_of(spec: GroupSpec, **columns: Any) -> list[dict[str, Any]]:
    batch = pa.record_batch(columns)
    groups = WindowGroups(spec, batch.schema)
    for n in range(batch.num_rows):
        groups.add(batch.slice(n, 1))
    found: list[dict[str, Any]] = groups.close_all().to_pylist()
    return found


def test_state_grows_with_groups_and_not_with_rows() -> None:
    """For a hundred overlapping windows, the state has two panes per slide, not a hundred groups per row."""
    r = np.random.default_rng(1)
    spec = spec_of(COUNT, AggregateColumn("avg", "x", pa.float64()), length=1005, slide=10, keys=("k",))
    groups = WindowGroups(spec, pa.schema({"t": pa.int64(), "k": pa.int64(), "x": pa.int64()}))
    sizes, nbytes = [], []
    for start in range(0, 100_000, 500):
        times = start + r.integers(0, 500, 2_000)
        groups.add(pa.record_batch({"t": times, "k": r.integers(0, 3, 2_000), "x": times}))
        groups.close(start + 500)
        sizes.append(len(groups))
        nbytes.append(groups.nbytes)
    most = 2 * 3 * 2 * (1005 // 10 + 2)  # runs, keys, panes per slide, open slides
    assert max(sizes) <= most
    assert max(nbytes[100:]) <= 1.5 * max(nbytes[:100])


def test_distinct_values_are_stored_once() -> None:
    spec = spec_of(AggregateColumn("count", "x", pa.int64(), distinct=True), length=1000, slide=100)
    groups = WindowGroups(spec, pa.schema({"t": pa.int64(), "x": pa.int64()}))
    for n in range(100):
        groups.add(pa.record_batch({"t": [0] * 1000, "x": [m % 7 for m in range(n, n + 1000)]}))
    assert len(groups) <= 2 * (1 + 7)
    assert groups.close_all()["agg 0"].to_pylist() == [7] * 10


@pytest.mark.parametrize("values", [[2**63 - 1, 1], [-(2**63), -1], [2**62] * 5])
def test_a_sum_of_whole_numbers_that_does_not_fit(values: list[int]) -> None:
    with pytest.raises(
        SumOverflowError, match=rf"sum\(x\) of a window is {sum(values)}, which BIGINT cannot represent"
    ):
        all_of(spec_of(AggregateColumn("sum", "x", pa.int64())), t=[1] * len(values), x=values)


def test_a_sum_fits_whatever_the_order_of_its_rows() -> None:
    out = all_of(spec_of(AggregateColumn("sum", "x", pa.int64())), t=[1, 2, 3], x=[2**63 - 1, 5, -5])
    assert [row["agg 0"] for row in out] == [2**63 - 1]


def test_sums_of_decimals() -> None:
    kind = pa.decimal128(38, 2)
    most = Decimal("9" * 36 + ".99")
    spec = spec_of(AggregateColumn("sum", "x", kind))
    assert all_of(spec, t=[1, 11], x=pa.array([most, None], kind))[0]["agg 0"] == most
    with pytest.raises(SumOverflowError, match=r"1999.*99\.98, which DECIMAL\(38, 2\) cannot represent"):
        all_of(spec, t=[1, 1], x=pa.array([most, most], kind))


def test_the_average_of_whole_numbers_is_of_their_exact_sum() -> None:
    """If they were summed as floating-point numbers, as in Spark, the ones would be lost."""
    values = [2**60, 1, 1, 1, -(2**60)]
    out = all_of(spec_of(AggregateColumn("avg", "x", pa.float64())), t=[1] * 5, x=values)
    assert out[0]["agg 0"] == 3 / 5


def test_minimum_and_maximum_of_intervals() -> None:
    kind = pa.duration("us")
    spec = spec_of(
        AggregateColumn("min", "x", kind), AggregateColumn("max", "x", kind), AggregateColumn("max", "n", kind)
    )
    lengths = [timedelta(microseconds=5), None, timedelta(days=-1)]
    (row,) = all_of(spec, t=[1, 2, 3], x=pa.array(lengths, kind), n=pa.nulls(3, kind))
    assert (row["agg 0"], row["agg 1"], row["agg 2"]) == (lengths[2], lengths[0], None)


def test_every_nan_is_one_group() -> None:
    """Arrow distinguishes them by their bits."""
    bits = np.array([0x7FF8000000000000, 0xFFF8000000000001, 0x7FF0000000000001], np.uint64)
    out = all_of(spec_of(COUNT, keys=("k",)), t=[1, 1, 1], k=bits.view(np.float64))
    assert [row["agg 0"] for row in out] == [3]


def test_no_aggregates_list_the_groups() -> None:
    out = all_of(spec_of(keys=("k",)), t=[1, 2, 15], k=["a", "a", "a"])
    assert [tuple(row.values()) for row in out] == [(0, 10, "a"), (10, 20, "a")]


@pytest.mark.parametrize(
    ("spec", "schema", "message"),
    [
        (spec_of(COUNT, keys=("k",)), {"t": pa.int64(), "kk": pa.int64()}, r"no column 'k' \(did you mean 'kk'\?\)"),
        (
            spec_of(COUNT, keys=("k",)),
            {"t": pa.int64(), "k": pa.list_(pa.int8())},
            "k is ARRAY<TINYINT>, which cannot be grouped",
        ),
        (spec_of(COUNT), {"t": pa.string()}, "t is string; a time is a timestamp or a whole number"),
        (spec_of(COUNT), {"t": pa.timestamp("s")}, r"TUMBLE\(10 MICROSECONDS\) is not a whole number of ticks of t"),
        (
            spec_of(AggregateColumn("min", "x", pa.list_(pa.int8()))),
            {"t": pa.int64(), "x": pa.list_(pa.int8())},
            "x is ARRAY<TINYINT>, which cannot be grouped or compared",
        ),
    ],
    ids=["no column", "list as key", "text as time", "coarse time", "least list"],
)
def test_refused_before_any_row(spec: GroupSpec, schema: dict[str, pa.DataType], message: str) -> None:
    with pytest.raises(PlanError, match=message):
        WindowGroups(spec, pa.schema(schema))


def test_windows_with_gaps_are_refused() -> None:
    with pytest.raises(PlanError, match="greater than 0 and not longer than the window"):
        spec_of(COUNT, length=5, slide=10)


@pytest.mark.parametrize("tick", [2**63 - 5, -(2**63) + 5])
def test_a_time_that_no_window_can_hold(tick: int) -> None:
    with pytest.raises(PlanError, match=f"t has a row at {tick} ticks"):
        all_of(spec_of(COUNT), t=[tick])


def test_bounds_that_the_type_of_the_time_cannot_represent() -> None:
    message = "t is TINYINT, which cannot represent the bounds of its windows; cast it to BIGINT"
    with pytest.raises(PlanError, match=message):
        all_of(spec_of(COUNT), t=pa.array([125], pa.int8()))
