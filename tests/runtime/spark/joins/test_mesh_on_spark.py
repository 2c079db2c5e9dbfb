"""Joins on Spark whose rows take changing routes: the columns that classify rows reach the buckets, and neither they, a
restart with other ones, a killed worker nor a round that is run again change a result."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

import thalweg as tw
from tests.runtime.joins.oracle import expected_ids
from tests.runtime.joins.restless_mesh import Classifier, RestlessMesh, with_probing
from tests.runtime.spark.joins.streams import BEGIN_US, UTC, Files, frame, results, run, streaming
from tests.runtime.spark.joins.test_plan_changes import KILLED, MARKER, Mortal
from tests.runtime.spark.waiting import wait_until
from thalweg.events import JoinObserved, read
from thalweg.kernels.probe_chain import ProbeChain, ProbeRows
from thalweg.runtime.filters.filter_loop import FilterLoop
from thalweg.runtime.joins.join_protocol import WindowedJoin
from thalweg.runtime.spark.joins import attach
from thalweg.runtime.spark.joins.task import JoinTask

WINDOWS = {"a": 3000, "b": 3000, "c": 3000}
ON = "a.k = b.k AND a.m = c.m"
ROWS = 1_200
IDS = ["a.id", "b.id", "c.id"]


def tables() -> dict[str, pa.Table]:
    rng = np.random.default_rng(8)
    times = BEGIN_US + np.sort(rng.integers(0, 40, ROWS)) * 1000
    return {
        alias: pa.table({
            "k": rng.integers(0, 60, ROWS), "m": rng.integers(0, 60, ROWS), "t": pa.array(times).cast(UTC),
            "id": np.arange(ROWS), "sector": pa.array([["x", "y", None][n] for n in rng.integers(0, 3, ROWS)]),
        })
        for alias in WINDOWS
    }  # fmt: skip


def joined(**given: Any) -> tw.Join:
    lengths = {alias: f"{window} microseconds" for alias, window in WINDOWS.items()}
    return tw.join(ON, window=lengths, time="t", **{"policy": "mesh", "select": IDS, "buckets": 2, "seed": 1, **given})


def expected(data: dict[str, pa.Table]) -> list[tuple[int, ...]]:
    ticks = {alias: table["t"].cast(pa.int64()).to_pylist() for alias, table in data.items()}
    return [row[:3] for row in expected_ids(data, ticks, ON, WINDOWS)]


def ids(found: pa.Table) -> list[tuple[int, ...]]:
    return sorted(zip(*(found[name].to_pylist() for name in ("a_id", "b_id", "c_id")), strict=True))


class RestlessTask(JoinTask):
    """What workers get. With policy mesh, rows take routes that change at any time, by the columns that reach the
    worker; else it is as usual."""

    def loop(self, *, snapshots: bool) -> WindowedJoin:
        """Return a new join loop, of which all probes change their meshes."""
        if self.settings.policy_name != "mesh":
            return super().loop(snapshots=snapshots)
        plain = replace(self.settings, policy=tw.policy("static"))
        made = JoinTask.loop(replace(self, settings=plain), snapshots=snapshots)

        def restless(chain: ProbeChain, alias: str) -> FilterLoop[ProbeRows]:
            columns = [Classifier(c, self.binding.schemas[alias].field(c).type, ["x", "y"]) for c in chain.classifiers]
            # with these seeds, each stream has a mesh at the end of its rounds
            policy = RestlessMesh(chain.pipeline, columns, seed=ord(alias) + 298, p=0.0, restless=0.6)
            return FilterLoop(chain, policy, np.random.default_rng(1), slice_rows=20)

        return with_probing(made, restless)


@pytest.fixture
def restless(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attach, "JoinTask", RestlessTask)


@pytest.fixture
def killed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """A worker dies in the micro-batch `KILLED`, and leaves this file."""
    MARKER.append(str(tmp_path / "killed"))
    monkeypatch.setattr(attach, "JoinProcessor", Mortal)
    yield tmp_path / "killed"
    MARKER.clear()


def routed(events: Path) -> list[JoinObserved]:
    """The reports of buckets in which a mesh was in force at the end."""
    return [record for record in read(events) if isinstance(record, JoinObserved) and record.routes is not None]


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_meshes_change_while_workers_die_and_rounds_are_repeated(
    spark: SparkSession, tmp_path: Path, restless: None, killed: Path
) -> None:
    """Each start classifies by other columns. A worker dies in the second start. Before the third, the commit of the
    last round is lost, so that this round is run again."""
    data, events = tables(), tmp_path / "events.jsonl"
    streams = {alias: Files(tmp_path / alias, table.schema) for alias, table in data.items()}
    starts: list[dict[str, Any]] = [
        {"classify_by": ["a.sector"]},
        {"classify_by": ["b.sector", "a.k"]},
        {"classify_by": ["a.sector", "c.sector"]},
    ]
    for start, given in enumerate(starts):
        edges = range(start * ROWS // 3, (start + 1) * ROWS // 3 + 1, ROWS // 6)
        for (begin, end), (alias, table) in itertools.product(itertools.pairwise(edges), data.items()):
            streams[alias].add(table.slice(begin, end - begin))
        if start == KILLED // 2:
            with pytest.raises(StreamingQueryException):
                run(joined(events=events, **given)(**streaming(spark, streams)), tmp_path)
            assert killed.exists()
        if start == 2:
            commits = sorted((tmp_path / "out-checkpoint" / "commits").glob("[0-9]*"), key=lambda file: int(file.name))
            commits[-1].unlink()
            (commits[-1].parent / f".{commits[-1].name}.crc").unlink(missing_ok=True)
        run(joined(events=events, **given)(**streaming(spark, streams)), tmp_path)
    found = results(spark, tmp_path)
    assert found.column_names == ["a_id", "b_id", "c_id", "event_time"]
    assert ids(found) == expected(data)
    assert len(ids(found)) > 500

    def by_start() -> list[set[str]]:
        """The streams of which a bucket had a mesh, of each start."""
        found: dict[str | None, set[str]] = {}
        for record in routed(events):
            found.setdefault(record.origin.start, set()).add(record.alias)
        return list(found.values())

    wait_until(lambda: len(by_start()) >= 3 and "c" in by_start()[-1], "the third start is reported")
    first, *second, third = by_start()
    assert first == {"a"}
    assert set.union(*second) == {"a", "b"}
    assert third == {"a", "c"}
    taken = [record.routes.rows for record in routed(events) if record.routes is not None]
    assert any(sum(rows > 0 for rows in each) > 1 for each in taken), "on several routes"
    assert len({record.origin.worker for record in routed(events)}) == 2, "each bucket has meshes of its own"


def test_finished_data_with_and_without_kept_sub_joins(spark: SparkSession, tmp_path: Path, restless: None) -> None:
    data, events = tables(), tmp_path / "events.jsonl"
    frames = {alias: frame(spark, table) for alias, table in data.items()}
    for plan in ("multiway", "((a b) c)"):
        join = joined(classify_by=["a.sector", "c.k"], plan=plan, events=events)
        assert ids(join(**frames).toArrow()) == expected(data)
        join.report()  # what has arrived is written, too
    assert {record.alias for record in routed(events)} >= {"a"}


def test_rows_that_do_not_probe_cannot_be_classified(spark: SparkSession, tmp_path: Path) -> None:
    """A finished DataFrame in a join with streams is a table."""
    data = tables()
    streams = {alias: Files(tmp_path / alias, data[alias].schema) for alias in "ab"}
    frames = streaming(spark, streams) | {"c": frame(spark, data["c"])}
    join = tw.join(ON, window="1 second", time="t", policy="mesh", classify_by=["c.sector"])
    with pytest.raises(tw.PlanError, match=r"classify_by: c\.sector: c is a table, whose rows do not probe"):
        join(**frames)
    with pytest.raises(tw.PlanError, match=r"classify_by: a has no column 'sectr' \(did you mean 'sector'\?\)"):
        joined(classify_by=["a.sectr"])(**{alias: frame(spark, table) for alias, table in data.items()})
