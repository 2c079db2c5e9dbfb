"""Joins and queries on Spark that follow charts, with a worker that dies and restarts with other charts: DuckDB's
rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

import thalweg as tw
from tests.runtime.joins.drawn_charts import always_changed, drawn_charts
from tests.runtime.joins.oracle import expected
from tests.runtime.spark.joins.streams import Files, files, ids, results, run, streaming
from tests.runtime.spark.joins.test_plan_changes import KILLED, MARKER, ON, ROWS, SECONDS, WINDOW, Mortal, parts
from tests.runtime.spark.waiting import wait_until
from thalweg.events import PlanObserved, read
from thalweg.runtime.spark.joins import attach

SELECT = "SELECT a.id AS a_id, b.id AS b_id, c.id AS c_id FROM a, b, c"
QUERY = f"{SELECT} WHERE {ON} WINDOW {WINDOW} SECONDS"
PARTNERS = {"a.k = b.k": (100, None), "b.m = c.m": (0.01, None)}


def declared(factor: float = 1.0, **ranges: tuple[float, float]) -> dict[str, Any]:
    """The rates of the streams times a factor, or between these."""
    known: dict[str, Any] = {alias: {"rows_per_second": factor * count / SECONDS} for alias, count in ROWS.items()}
    for alias, (low, high) in ranges.items():
        known[alias] = {"rows_per_second": {"low": low, "high": high}}
    return {**known, "partners": PARTNERS}


class Restless(Mortal):
    """A processor that takes every plan that its chart has, and whose worker dies once."""

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any:  # noqa: N802
        """Join the rows of a micro-batch under drawn charts."""
        with drawn_charts("while it runs"), always_changed():
            yield from super().handleInputRows(key, rows, timerValues)


@pytest.fixture(params=[Mortal])
def killed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """A worker dies in the micro-batch `KILLED`, and leaves this file."""
    MARKER.append(str(tmp_path / "killed"))
    monkeypatch.setattr(attach, "JoinProcessor", request.param)
    yield tmp_path / "killed"
    MARKER.clear()


def add(streams: dict[str, Files], data: dict[str, list[pa.Table]], first: int) -> None:
    for alias, each in streams.items():
        for table in data[alias][first:]:
            each.add(table)


def by_duckdb(data: dict[str, list[pa.Table]]) -> list[tuple[int, ...]]:
    whole = {alias: pa.concat_tables(tables) for alias, tables in data.items()}
    found = ids(expected(whole, ON, dict.fromkeys("abc", WINDOW * 10**6), "ts"), "abc")
    assert len(found) > 5_000
    return found


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_a_charted_query_survives_a_killed_worker(spark: SparkSession, tmp_path: Path, killed: Path) -> None:
    """The second start has another chart, in which the rate of a is outside; its windows are those of the first."""
    data = parts()
    streams = files(tmp_path / "in", {alias: tables[:4] for alias, tables in data.items()})

    def started(settings: str, **given: Any) -> tw.ContinuousQuery:
        s = tw.session(spark)
        for alias, each in streams.items():
            s.stream(alias, each.stream(spark), time="ts")
        q = s.query(QUERY, policy=f"chart({settings})", **given)
        handle = q.start(str(tmp_path / "out"), checkpoint=tmp_path / "checkpoint", trigger="availableNow")
        handle.awaitTermination()
        return q

    with pytest.raises(tw.QueryError):
        started("parts=4", statistics=declared())
    assert killed.exists()
    add(streams, data, 4)
    again = started("parts=7, rounds=2", statistics=declared(a=(1.0, 20.0)))
    assert ids(results(spark, tmp_path), "abc") == by_duckdb(data)

    def followed() -> Any:
        (join,) = [part for _, part in again.report().parts if isinstance(part, tw.JoinReport)]
        return join.sections[-1].plans

    wait_until(lambda: followed().chart.rounds >= 2, "the rounds of the second start are reported")
    assert followed().plan == "(a (b c))"
    assert followed().chart.outside == followed().chart.rounds


@pytest.mark.slow
@pytest.mark.timeout(240)
@pytest.mark.parametrize("killed", [Restless], indirect=True)
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 10))])
def test_any_chart_on_spark(spark: SparkSession, tmp_path: Path, killed: Path, seed: int) -> None:
    """Charts are made before the start, of other ranges, and while the join runs."""
    data, events = parts(), tmp_path / "events.jsonl"
    streams = files(tmp_path / "in", {alias: tables[:4] for alias, tables in data.items()})

    def charted(parts: int, **given: Any) -> None:
        j = tw.join(
            ON, f"{WINDOW} seconds", "ts", buckets=2, select=["a.id", "b.id", "c.id"], events=events,
            policy=tw.policy("chart", parts=parts, rounds=1), **given,
        )  # fmt: skip
        with drawn_charts(seed):
            joined = j(**streaming(spark, streams))
        run(joined, tmp_path)

    with pytest.raises(StreamingQueryException):
        charted(1000, statistics=declared())
    assert killed.exists()
    charted(2 + seed, statistics=declared(factor=3.0))
    add(streams, data, 4)
    charted(1000)
    assert ids(results(spark, tmp_path), "abc") == by_duckdb(data)

    def records() -> list[PlanObserved]:
        return [record for record in read(events) if isinstance(record, PlanObserved) and record.counted.rows]

    wait_until(lambda: len({record.origin.batch for record in records()}) == len(data["a"]), "all rounds are reported")
    assert len({record.plan for record in records()}) > 1
    assert sum(bool(record.next_plan) for record in records()) >= KILLED
