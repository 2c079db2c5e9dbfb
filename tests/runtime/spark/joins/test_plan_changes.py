"""A join of streams whose buckets change their plans by themselves, with a killed worker and a restart in between."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark import TaskContext
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

import thalweg as tw
from tests.runtime.joins.oracle import expected
from tests.runtime.spark.deployments.lost_workers import kill_myself, once
from tests.runtime.spark.joins.streams import BEGIN_US, UTC, files, ids, results, run, streaming
from tests.runtime.spark.waiting import wait_until
from thalweg.events import PlanObserved, read
from thalweg.runtime.joins import plan_watch
from thalweg.runtime.spark.joins import attach
from thalweg.runtime.spark.joins.processor import JoinProcessor

ON = "a.k = b.k AND b.m = c.m"
ROWS = {"a": 6_000, "b": 1_200, "c": 120}
"""Of each file."""
FILES, SECONDS, WINDOW = 5, 10, 20
KEYS, OTHERS = 24, 24_000
"""A row of a finds 100 partners in the window of b, and one of b finds one in c once in a hundred times."""
KILLED = 3
"""The micro-batch in which a worker dies."""


class Mortal(JoinProcessor):
    """A processor whose worker dies once, when it has written the state of a round."""

    marker: str

    def __init__(self, task: Any) -> None:
        super().__init__(task)
        self.marker = MARKER[0]

    def init(self, handle: Any) -> None:
        """Die after the state was written, and before Spark has heard of it."""
        super().init(handle)
        store = self._store
        assert store is not None
        set_head = store.set_head

        def and_die(data: bytes) -> None:
            set_head(data)
            context = TaskContext.get()
            assert context is not None
            if int(context.getLocalProperty("streaming.sql.batchId") or -1) == KILLED:
                once(Path(self.marker), kill_myself)

        store.set_head = and_die  # type: ignore[method-assign]

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any:  # noqa: N802
        """Join a round. How long samples take on a machine that is busy must not decide."""
        plan_watch.LOAN_NS = 10**15
        yield from super().handleInputRows(key, rows, timerValues)


MARKER: list[str] = []


@pytest.fixture
def mortal(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    MARKER.append(str(tmp_path / "killed"))
    monkeypatch.setattr(attach, "JoinProcessor", Mortal)
    yield tmp_path / "killed"
    MARKER.clear()


def parts() -> dict[str, list[pa.Table]]:
    rng = np.random.default_rng(0)
    made: dict[str, list[pa.Table]] = {alias: [] for alias in ROWS}
    for n in range(FILES):
        for alias, count in ROWS.items():
            times = BEGIN_US + np.sort(rng.integers(n * SECONDS * 10**6, (n + 1) * SECONDS * 10**6, count))
            columns = {"ts": pa.array(times).cast(UTC), "k": rng.integers(0, KEYS, count)}
            columns |= {"m": rng.integers(0, OTHERS, count), "id": np.arange(n * count, (n + 1) * count)}
            made[alias].append(pa.table(columns))
    return made


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_buckets_change_their_plans_and_keep_them(spark: SparkSession, tmp_path: Path, mortal: Path) -> None:
    """Each bucket begins with a multiway join and keeps b and c from some micro-batch on; a worker that dies, and the
    start of the query after that, take the plan from the checkpoint."""
    data, events = parts(), tmp_path / "events.jsonl"
    streams = files(tmp_path / "in", data)
    whole = {alias: pa.concat_tables(tables) for alias, tables in data.items()}
    j = tw.join(ON, f"{WINDOW} seconds", "ts", buckets=2, events=events, select=["a.id", "b.id", "c.id"])
    with pytest.raises(StreamingQueryException):
        run(j(**streaming(spark, streams)), tmp_path)
    assert mortal.exists()
    run(j(**streaming(spark, streams)), tmp_path)
    found = ids(results(spark, tmp_path), "abc")
    assert found == ids(expected(whole, ON, dict.fromkeys("abc", WINDOW * 10**6), "ts"), "abc")
    assert len(found) > 5_000

    def records() -> list[PlanObserved]:
        return [record for record in read(events) if isinstance(record, PlanObserved)]

    wait_until(
        lambda: {r.origin.batch for r in records() if r.counted.rows} >= set(range(FILES)),
        "all micro-batches are reported",
    )
    for worker in ("bucket 0", "bucket 1"):
        mine = sorted(
            (r for r in records() if r.origin.worker == worker and r.counted.rows), key=lambda r: r.origin.batch or 0
        )
        plans = [record.plan for record in mine]
        assert plans[0] == "multiway"
        assert plans[KILLED:] == ["(a (b c))"] * (FILES - KILLED)
        (change,) = [record for record in mine if record.next_plan]
        assert (change.plan, change.next_plan) == ("multiway", "(a (b c))")
        assert "ns per row instead of" in change.reason
    sections = j.report().sections
    assert sections[-1].plans.plan == "(a (b c))"
    changes = [change for section in sections for change in section.plans.changes]
    assert {change.worker for change in changes} == {"bucket 0", "bucket 1"}
    assert "plan multiway changed to (a (b c))" in str(j.report())
