"""`trigger="auto"` on Spark, on streams of known rate: the load and the rows held of the third start.

The first start runs as Spark does without a trigger, and each later one in the interval that follows from the times of
those before. Before the third start, `explain` says how many rows windows will hold. Then the share of the time in
which the query was busy is compared with `busy=`, and the most rows that its windows held in each micro-batch, before
old ones were removed at its end, with what was foretold. The A/A spread is that between the two
halves of the third start.

Streams are Spark's `rate` sources. They have new rows once per second, so intervals must be longer than that: with the
shares below they are, unless a micro-batch takes less than 0.1 s.
"""

from __future__ import annotations

import itertools
import re
import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import thalweg as tw
from bench.joins.spark.ours import IN_ROCKSDB
from bench.rounds import progress
from bench.spark_session import session
from thalweg.events import JoinObserved

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STARTS, QUICK_STARTS = 3, 1
BATCHES, QUICK_BATCHES = 20, 6
"""A start ends after so many micro-batches..."""
MOST_S = 180.0
"""...or after so many seconds."""
WARM_BATCHES = 3
"""The first micro-batches of a start are left out: they load classes, and read what arrived since the last start."""
KEYS = 20_000
PARTITIONS = {"spark.sql.shuffle.partitions": "2"}

Line = dict[str, Any]


@dataclass(frozen=True)
class TriggerCase:
    """A query, the rates of its streams, and how busy it may be."""

    name: str
    text: str
    rates: dict[str, int]
    busy: float
    window_s: float = 0.0
    """The window of each stream; 0 without a join."""


CASES = (
    TriggerCase("filter", "SELECT value FROM a WHERE value % 7 < 5", {"a": 20_000}, 0.1),
    TriggerCase(
        "join", "SELECT a.value FROM a, b WHERE a.k = b.k WINDOW 10 SECONDS", {"a": 2_000, "b": 2_000}, 0.25, 10.0
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Batch:
    """A micro-batch: when it began, and how long it took, in seconds."""

    number: int
    at: float
    took: float


def lines(spark: SparkSession | None, *, quick: bool = False) -> Iterator[Line]:
    """Yield the figures of every case. A session that is given is used and left open."""
    with ExitStack() as stack:
        used = spark or stack.enter_context(session({**IN_ROCKSDB, **PARTITIONS}))
        for case in CASES[1:] if quick else CASES:
            yield {"line": "figures", **(run(used, case, QUICK_STARTS, QUICK_BATCHES) if quick else run(used, case))}


def run(spark: SparkSession, case: TriggerCase, starts: int = STARTS, count: int = BATCHES) -> Line:
    """Start a query so many times, each for so many micro-batches, and return the figures of the last start."""
    s = tw.session(spark)
    for name, rate in case.rates.items():
        rows = spark.readStream.format("rate").option("rowsPerSecond", rate).option("numPartitions", 2).load()
        s.stream(name, rows.selectExpr("timestamp", "value", f"value % {KEYS} AS k"), time="timestamp")
    q = s.query(case.text)
    foretold = None
    with TemporaryDirectory() as folder:
        for number in range(starts):
            foretold = foretold_rows(str(q.explain()))
            handle = q.start(format="noop", checkpoint=Path(folder, "checkpoint"), trigger="auto", busy=case.busy)
            try:
                batches = _first_batches(handle, count)
            finally:
                handle.stop()
            progress(f"trigger {case.name}, start {number + 1}: {len(batches)} micro-batches")
        held = held_rows([each for each in handle.events() if isinstance(each, JoinObserved)])
    return figures(case, batches, foretold, held)


def figures(case: TriggerCase, batches: Sequence[Batch], foretold: float | None, held: dict[int, int]) -> Line:
    """Return the load and the rows held of a start, and how far they are from what was asked for and foretold."""
    steady = batches[WARM_BATCHES:]
    half = len(steady) // 2
    line: Line = {
        "case": case.name, "busy": case.busy, "rows_per_second": sum(case.rates.values()),
        "windows": bool(case.window_s), "batches": len(steady),
    }  # fmt: skip
    if half < 1 or len(steady) < 3:
        return line
    line |= {
        "interval_s": round(statistics.median(b.at - a.at for a, b in itertools.pairwise(steady)), 3),
        "load": round(load(steady), 4),
        "load_aa": round(abs(load(steady[: half + 1]) - load(steady[half:])), 4),
    }
    rows = [held[each.number] for each in steady if each.number in held]
    if case.window_s and foretold and len(rows) >= 2:
        mean, middle = statistics.fmean(rows), len(rows) // 2
        halves = statistics.fmean(rows[:middle]), statistics.fmean(rows[middle:])
        line |= {
            "held": round(mean), "foretold": foretold, "held_over_foretold": round(mean / foretold, 4),
            "held_aa": round(max(halves) / max(min(halves), 1.0), 4),
        }  # fmt: skip
    return line


def load(batches: Sequence[Batch]) -> float:
    """Return the share of the time, from the first micro-batch to the beginning of the last one, in which one ran.

    >>> load([Batch(0, 10.0, 0.5), Batch(1, 12.0, 0.3), Batch(2, 14.0, 9.0)])
    0.2
    """
    return sum(each.took for each in batches[:-1]) / (batches[-1].at - batches[0].at)


def foretold_rows(explained: str) -> float | None:
    """Return the rows held in the interval that is chosen, as `explain` prints it; None if it does not.

    >>> foretold_rows("1 s       60 %  1,000  1.6 s    11,000     chosen")
    11000.0
    """
    found = re.search(r"([\d,.]+) +chosen", explained)
    return None if found is None else float(found[1].replace(",", ""))


def held_rows(records: Sequence[JoinObserved]) -> dict[int, int]:
    """Return the most rows that all windows held in each micro-batch. Old rows are removed at its end."""
    last = {
        (each.origin.batch, each.origin.worker, each.alias): each.window.rows + each.window.expired
        for each in records
        if each.origin.batch is not None
    }
    held: dict[int, int] = {}
    for (batch, _, _), rows in last.items():
        held[batch] = held.get(batch, 0) + rows
    return held


def _first_batches(handle: Any, count: int) -> list[Batch]:
    """Wait for so many micro-batches with rows."""
    begun = time.monotonic()
    while len(found := [each for each in handle.streaming_query.recentProgress if each["numInputRows"]]) < count:
        if not handle.isActive or time.monotonic() - begun > MOST_S:
            break
        time.sleep(0.2)
    return [
        Batch(
            each["batchId"], datetime.fromisoformat(each["timestamp"]).timestamp(),
            each["durationMs"]["triggerExecution"] / 1e3,
        )
        for each in found
    ]  # fmt: skip
