"""The start of time: the first arrival in a column of times, so that recorded times can be replayed."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import thalweg as tw
from thalweg.simulation import Costs, MultiwayJoin, Selection, Source, poisson, regular, simulate

NEW_YEAR = datetime(2023, 1, 1)
SECONDS = (0, 1, 1, 4, 10)
RECORDED = pa.table(
    {"n": list(range(5)), "ts": pa.array([NEW_YEAR + timedelta(seconds=s) for s in SECONDS], pa.timestamp("us"))}
)


def all_of(reads: str, name: str = "x", **more: Any) -> Selection:
    return Selection(name, reads, tw.predicate(lambda n: True, "n", name="always"), **more)


def wrong(value: Any) -> Any:
    """Return a value that mypy accepts anywhere, for arguments of a wrong type."""
    return value


def test_recorded_times_are_replayed_from_the_first_of_them() -> None:
    trace = simulate({"s": Source(RECORDED, "ts")}, all_of("s", costs=Costs(predicate=2)), every=1)
    assert trace.start == NEW_YEAR.replace(tzinfo=UTC).timestamp()
    # served from 0 to 2, 2 to 4, 4 to 6, 6 to 8, 10 to 12
    assert trace.results.column("time").to_pylist() == [2, 4, 6, 8, 12]
    assert trace.samples.column("time").to_pylist() == list(range(1, 13))
    # waiting: one from 1 to 2 and one from 1 to 4, then one from 4 to 6
    assert trace.final["x"].mean_queue == pytest.approx((1 + 3 + 2) / 12)
    whole = simulate({"s": Source(RECORDED, "ts")}, all_of("s", costs=Costs(predicate=2))).final["x"]
    assert (whole.arrival_rate, whole.output_rate) == (5 / 12, 5 / 12)
    assert simulate({"s": Source(RECORDED, "ts")}, all_of("s"), until=1).count() == 3


@pytest.mark.parametrize("start", [NEW_YEAR - timedelta(seconds=8), NEW_YEAR.replace(tzinfo=UTC).timestamp() - 8])
def test_an_explicit_start(start: datetime | float) -> None:
    trace = simulate({"s": Source(RECORDED, "ts")}, all_of("s"), start=start, until=20)
    assert trace.results.column("time").to_pylist() == [8 + s for s in (0, 1, 1, 4, 10)]
    assert (trace.end, trace.final["x"].arrival_rate) == (20, 5 / 20)


def test_processes_begin_at_the_first_recorded_time() -> None:
    sources = {"a": Source(RECORDED, "ts"), "b": Source(RECORDED.select(["n"]), regular(1), stamp="ts")}
    trace = simulate(sources, MultiwayJoin("join", "a.n = b.n", "1 hour", "ts"))
    stamps = trace.rows().column("b_ts").cast(pa.timestamp("us")).to_pylist()
    found = dict(zip(trace.rows().column("a_n").to_pylist(), stamps, strict=True))
    assert found == {n: NEW_YEAR + timedelta(seconds=n + 1) for n in range(5)}


def test_the_earliest_of_several_sources_counts() -> None:
    numbers = {
        name: Source(pa.table({"n": [at, at + 3], "t": [at, at + 3]}), "t") for name, at in (("a", 105), ("b", 100))
    }
    trace = simulate(numbers, MultiwayJoin("join", "a.n = b.n", 10, "t"))
    assert (trace.start, trace.end) == (100, 8)


def test_without_a_time_column_time_begins_at_zero() -> None:
    source = Source(RECORDED.select(["n"]), poisson(1), stamp="ts")
    plain, later = (simulate({"s": source}, all_of("s"), seed=4, start=start) for start in (None, NEW_YEAR))
    assert plain.start == 0
    assert plain.samples == later.samples
    stamps = [trace.rows().column("ts").cast(pa.int64()).to_numpy() for trace in (plain, later)]
    assert np.diff(stamps, axis=0).tolist() == [[int(NEW_YEAR.replace(tzinfo=UTC).timestamp()) * 10**9] * 5]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: simulate({"s": Source(RECORDED, "ts")}, all_of("s"), start=NEW_YEAR + timedelta(1)), "earlier, at"),
        (lambda: simulate({"s": Source(RECORDED, "ts")}, all_of("s"), start=wrong("noon")), "start='noon'"),
        (lambda: Source(pa.table({"t": ["noon"]}), "t"), "the column is string"),
        (lambda: simulate({"s": Source(RECORDED, "ts"), "r": Source(RECORDED, "n")}, [all_of("s"), all_of("r", "y")]),
         "'s' uses timestamps, 'r' uses numbers"),
        (lambda: Source(RECORDED, wrong(poisson)), "arrivals="),
        (lambda: Source(RECORDED, wrong(5)), "arrivals=5"),
        (lambda: simulate({"s": Source(pa.table({"n": [float("nan")]}), "n")}, all_of("s")), "not a time"),
    ],
)  # fmt: skip
def test_what_is_refused(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(tw.PlanError, match=message):
        make()
