"""A join on Spark is what DuckDB makes of the finished data: over micro-batches, each stream cut at its own places, the
query started anew in between; and over finished DataFrames."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import Phase, given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

import thalweg as tw
from tests.long_run import examples
from tests.runtime.joins.generated import POLICIES, Case, shapes
from tests.runtime.joins.oracle import expected_ids
from tests.runtime.spark.joins.generated import cases_for_spark, cut_into_files
from tests.runtime.spark.joins.streams import BEGIN_US, UTC, Files, frame, results, run, streaming
from tests.runtime.spark.waiting import wait_until
from thalweg.plan.joins.shape import to_text
from thalweg.report.join_section import JoinSection

SEEDS = st.integers(0, 2**32)
STARTS = 2
# no shrinking: an example takes seconds, and a failing one is printed whole
PHASES = (Phase.explicit, Phase.reuse, Phase.generate)


@examples(1, long=30, phases=PHASES)
@given(
    case=cases_for_spark(streaming=True),
    seed=SEEDS,
    policy=st.sampled_from(POLICIES),
    buckets=st.sampled_from([None, 1, 3]),
    data=st.data(),
)
def test_streams_stopped_and_started_again(
    spark: SparkSession,
    tmp_path_factory: pytest.TempPathFactory,
    case: Case,
    seed: int,
    policy: str,
    buckets: int | None,
    data: st.DataObject,
) -> None:
    """A new program may have another plan: only the windows are in the checkpoint."""
    folder, r = tmp_path_factory.mktemp("streams"), random.Random(seed)
    plans = ["multiway", *(to_text(data.draw(shapes(case.binding.plan.graph))[0]) for _ in range(2))]
    join = tw.join(**case.arguments, policy=policy, buckets=buckets, seed=seed % 1000, plan=r.choice(plans))
    streams = {alias: Files(folder / alias, case.streams[alias].table.schema) for alias in case.windows}
    cut = {alias: cut_into_files(r, case.streams[alias].table, STARTS) for alias in streams}
    frames = streaming(spark, streams)
    frames |= {a: frame(spark, s.table) for a, s in case.streams.items() if a not in case.windows}
    joins, joined = [join], join(**frames)
    for start in range(STARTS):
        for alias, files in streams.items():
            for table in cut[alias][start]:
                files.add(table)
        if r.random() < 0.5:  # as a new program would; else workers may have windows of the last start
            joins.append(
                tw.join(**case.arguments, policy=policy, buckets=buckets, seed=seed % 1000, plan=r.choice(plans))
            )
            joined = joins[-1](**frames)
        run(joined, folder)
    found = results(spark, folder) if (folder / "out").exists() else pa.table({})
    expected = case.expected()
    assert case.found(found.combine_chunks().to_batches()) == expected

    def sections() -> list[JoinSection]:
        return [section for join in joins for section in join.report().sections]

    wait_until(lambda: sum(section.results for section in sections()) == len(expected), "all results in the reports")
    assert all(stream.stream.late == 0 for section in sections() for stream in section.streams.values())


@examples(4, long=100, phases=PHASES)
@given(
    case=cases_for_spark(streaming=False),
    policy=st.sampled_from(POLICIES),
    buckets=st.sampled_from([None, 1, 3, 7]),
    data=st.data(),
)
def test_finished_data(
    spark: SparkSession, case: Case, policy: str, buckets: int | None, data: st.DataObject
) -> None:  # fmt: skip
    plan = to_text(data.draw(shapes(case.binding.plan.graph))[0])
    join = tw.join(**case.arguments, policy=policy, buckets=buckets, seed=1, plan=plan)
    out = join(**{alias: frame(spark, stream.table) for alias, stream in case.streams.items()})
    expected = case.expected()
    assert case.found(out.toArrow().combine_chunks().to_batches()) == expected
    assert sum(section.results for section in join.report().sections) == len(expected)


WINDOWS = {"a": 3000, "b": 1000, "c": 2000}
ON = "a.k = b.k AND b.m = c.m"


def in_order(rng: np.random.Generator, rows: int, names: str) -> pa.Table:
    """Times of whole milliseconds, as Spark's watermarks are, and so few that files begin with the time that the one
    before ended with."""
    times = BEGIN_US + np.sort(rng.integers(0, 20, rows)) * 1000
    columns = {name: rng.integers(0, 60, rows) for name in names}
    return pa.table({**columns, "t": pa.array(times).cast(UTC), "id": np.arange(rows)})


def test_streams_in_order_lose_nothing_in_any_files(spark: SparkSession, tmp_path: Path) -> None:
    """All of `a` comes in the first micro-batch, when `b` has only begun and of `c` there is nothing."""
    rng = np.random.default_rng(5)
    tables = {"a": in_order(rng, 900, "k"), "b": in_order(rng, 700, "km"), "c": in_order(rng, 800, "m")}
    ticks = {alias: table["t"].cast(pa.int64()).to_pylist() for alias, table in tables.items()}
    expected = expected_ids(tables, ticks, ON, WINDOWS)
    assert len(expected) > 500
    places = {"a": [[0, 900], []], "b": [[0, 20, 300], [300, 310, 700]], "c": [[], [0, 500, 800]]}
    join = tw.join(
        on=ON, window={alias: f"{window} microseconds" for alias, window in WINDOWS.items()}, time="t",
        select=["a.id", "b.id", "c.id"],
    )  # fmt: skip
    streams = {alias: Files(tmp_path / alias, table.schema) for alias, table in tables.items()}
    for start in range(2):
        for alias, table in tables.items():
            edges = places[alias][start]
            for begin, end in itertools.pairwise(edges):
                streams[alias].add(table.slice(begin, end - begin))
        run(join(**streaming(spark, streams)), tmp_path)
    found = results(spark, tmp_path)
    assert found.column_names == ["a_id", "b_id", "c_id", "event_time"]
    columns = [found[name] for name in found.column_names[:3]] + [found["event_time"].cast(pa.int64())]
    assert sorted(zip(*(column.to_pylist() for column in columns), strict=True)) == expected
