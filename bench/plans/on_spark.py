"""Plans of joins as streams on a local Spark: the fan-out with large batches, and what the buckets of a join hold.

A micro-batch is 10 seconds, as long as the windows, so the state has its steady size after two batches. Times are wall
times of whole batches; every batch of every variant is compared with DuckDB.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

import thalweg as tw
from bench.joins.spark.__main__ import MEMORY
from bench.joins.spark.agenda import UNSTEADY
from bench.joins.spark.expected import demand, expected
from bench.joins.spark.ours import IN_ROCKSDB
from bench.joins.spark.scenario import BATCH_US, StreamScenario, uniform
from bench.joins.spark.stream_files import StreamFiles
from bench.joins.spark.variants import Ran, SparkVariant
from bench.plans.buckets import BUCKETS, ON, RATES, target
from bench.plans.candidates import takes_statistics
from bench.plans.fan_out import FOUND, KEPT, ROWS, verdict_of_speed
from bench.plans.measured import AGAIN
from bench.plans.shapes import MULTIWAY
from bench.rounds import progress
from bench.spark_session import session
from thalweg.plan.joins.graph import JoinGraph

BATCH_ROWS, PARTNERS, FASTER = 300_000, 300, 2.5
BATCHES, ROUNDS = 6, 3
QUICK_ROWS, QUICK_PARTNERS, QUICK_BATCHES = 3_000, 10, 3
DEFAULT = "default, exact declared"
ROWS_OF_SLOWEST = 30
"""Rows of the slowest stream in a batch of `buckets`."""
BATCH_S = BATCH_US / 1e6

Line = dict[str, Any]


@dataclass(frozen=True)
class UnevenStreams(StreamScenario):
    """A chain of three streams with different rates."""

    counts: Mapping[str, int] = field(default_factory=dict)
    """The rows of each stream in a batch."""
    keys: Mapping[str, int] = field(default_factory=dict)
    """The number of different keys by column."""

    @property
    def batch_rows(self) -> int:
        """The rows per batch, of all streams."""
        return sum(self.counts.values())

    def table(self, alias: str, batch: int) -> pa.Table:
        """Return the rows of one stream and batch."""
        return replace(self, rows=self.counts[alias])._table(alias, batch)

    def _table(self, alias: str, batch: int) -> pa.Table:
        return super().table(alias, batch)

    @property
    def statistics(self) -> dict[str, Any]:
        """The rates and the partners, exactly, as `tw.join(statistics=...)` takes them."""
        edges = {("a", "b"): "k", ("b", "c"): "m"}
        return {
            **{alias: {"rows_per_second": count / BATCH_S} for alias, count in self.counts.items()},
            "partners": {
                f"{one}.{column} = {other}.{column}": (
                    self.counts[other] / self.keys[column], self.counts[one] / self.keys[column],
                )
                for (one, other), column in edges.items()
            },
        }  # fmt: skip


def chain(name: str, counts: Mapping[str, int], keys: Mapping[str, int]) -> UnevenStreams:
    """Return the streams of `a.k = b.k AND b.m = c.m`."""
    k, m = uniform(keys["k"]), uniform(keys["m"])
    return UnevenStreams(
        name, 0, {"a": {"k": k}, "b": {"k": k, "m": m}, "c": {"m": m}}, (("a.k", "b.k"), ("b.m", "c.m")),
        dict.fromkeys("abc", BATCH_US), (("b", "c"), "a"), {frozenset("bc"): "b"}, counts=counts, keys=keys,
    )  # fmt: skip


def fan_out(rows: int, partners: int) -> UnevenStreams:
    """Return the fan-out with this many rows per batch in all, and this many partners of a row of a in b."""
    total = sum(ROWS.values())
    counts = {alias: max(rows * count // total, 1) for alias, count in ROWS.items()}
    keys = {"k": max(counts["b"] // partners, 1), "m": max(round(counts["c"] / FOUND), 1)}
    return chain("fan-out", counts, keys)


def lines(parts: Sequence[str], spark: SparkSession | None, *, quick: bool, rounds: int | None) -> Iterator[Line]:
    """Yield the lines of these parts. A session that is passed in is used and left open."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="thalweg-bench-")))
        if spark is None:
            progress("starting Spark")
            spark = stack.enter_context(session(MEMORY))
        if "fan-out" in parts:
            yield from _fan_out(spark, folder / "fan-out", quick=quick, rounds=rounds or (1 if quick else ROUNDS))
        if "buckets" in parts:
            yield from _buckets(spark, folder / "buckets")


def _fan_out(spark: SparkSession, folder: Path, *, quick: bool, rounds: int) -> Iterator[Line]:
    scenario = fan_out(QUICK_ROWS, QUICK_PARTNERS) if quick else fan_out(BATCH_ROWS, PARTNERS)
    variants = [
        SparkVariant(name, _pinned(scenario, plan), IN_ROCKSDB)
        for name, plan in ((MULTIWAY, MULTIWAY), (AGAIN, MULTIWAY), (KEPT, KEPT))
    ]
    variants.append(SparkVariant(DEFAULT, _free(scenario), IN_ROCKSDB))
    if not quick:  # the JVM and the loops of workers are warm after that
        warm = StreamFiles(fan_out(QUICK_ROWS, QUICK_PARTNERS), QUICK_BATCHES, folder / "warm")
        for variant in variants:
            variant.run(spark, warm)
    files = StreamFiles(scenario, QUICK_BATCHES if quick else BATCHES, folder / "files")
    known = expected(files)
    runs: dict[str, list[Ran]] = {variant.name: [] for variant in variants}
    rng = np.random.default_rng(rounds)
    for number in range(rounds):
        for k in rng.permutation(len(variants)):
            variant = variants[k]
            ran = variant.run(spark, files)
            demand(variant.name, ran.batches, known)
            runs[variant.name].append(ran)
            took = " ".join(str(batch.ms) for batch in ran.batches)
            progress(f"fan-out on Spark: round {number + 1} of {rounds}, {variant.name}: {took} ms")
    yield from fan_out_lines(scenario, runs)


def fan_out_lines(scenario: UnevenStreams, runs: Mapping[str, Sequence[Ran]]) -> Iterator[Line]:
    """Yield a line per variant, and the targets: how many times as fast as the multiway join a batch is."""
    times = {name: [_batch_ms(ran) for ran in rounds] for name, rounds in runs.items()}
    for name, each in times.items():
        yield {
            "bench": "plans", "line": "variant", "scenario": "fan-out", "where": "spark", "variant": name,
            "batch_rows": scenario.batch_rows, "rounds": len(each), "batch_ms_median": statistics.median(each),
            "times_ms": [[batch.ms for batch in ran.batches] for ran in runs[name]],
        }  # fmt: skip
    same = [one / other for one, other in zip(times[AGAIN], times[MULTIWAY], strict=True)]
    aa = max(max(ratio, 1 / ratio) for ratio in same)
    for name, about in ((KEPT, f"keeping {KEPT}"), (DEFAULT, "what is chosen")):
        value = statistics.median(one / other for one, other in zip(times[MULTIWAY], times[name], strict=True))
        yield {
            "bench": "plans", "line": "target", "scenario": "fan-out", "where": "spark",
            "target": f"{about}: times as fast as multiway", "value": round(value, 4), "limit": FASTER,
            "aa": round(aa, 4), "verdict": verdict_of_speed(value, FASTER, aa),
        }  # fmt: skip


def _buckets(spark: SparkSession, folder: Path) -> Iterator[Line]:
    """Run a join with each stream at an end of the chain the fast one, so that it is not right by accident."""
    ratios = []
    for fast, rates in (("c", RATES), ("a", RATES[::-1])):
        counts = {alias: ROWS_OF_SLOWEST * rate for alias, rate in zip("abc", rates, strict=True)}
        scenario = chain("buckets", counts, {"k": counts["b"], "m": counts["b"]})
        files = StreamFiles(scenario, QUICK_BATCHES, folder / fast)
        ran = SparkVariant("buckets", _free(scenario, buckets=BUCKETS), IN_ROCKSDB, reports=True).run(spark, files)
        demand("buckets", ran.batches, expected(files))
        held, copies = held_rows(ran)
        best = min(held_by_class(held).values())
        ratios.append(sum(held[alias] * copies[alias] for alias in held) / best)
        yield {
            "bench": "plans", "line": "buckets", "where": "spark", "rows_per_batch": counts,
            "rows_held": held, "copies": copies, "over_best": round(ratios[-1], 4),
        }  # fmt: skip
    yield target("spark", max(ratios))


def held_rows(ran: Ran) -> tuple[dict[str, float], dict[str, int]]:
    """Return the rows that each stream holds after the last batch, every row counted once, and its copies."""
    last = max(record.origin.batch for record in ran.records if record.origin.batch is not None)
    records = [record for record in ran.records if record.origin.batch == last and not record.inner]
    copies = {record.alias: BUCKETS if record.stream.replicated else 1 for record in records}
    held = {
        stream: sum(record.window.rows for record in records if record.alias == stream) / copies[stream]
        for stream in sorted(copies)
    }
    return held, copies


def held_by_class(held: Mapping[str, float]) -> dict[str, float]:
    """Return the rows in all buckets if rows were spread by each class."""
    graph = JoinGraph.of([("a", "k", "b", "k"), ("b", "m", "c", "m")])
    return {
        next(iter(members.values())): sum(rows * (1 if alias in members else BUCKETS) for alias, rows in held.items())
        for members in graph.column_of
    }


def _batch_ms(ran: Ran) -> float:
    return statistics.median(batch.ms for batch in ran.batches[min(UNSTEADY, len(ran.batches) - 1) :])


def _pinned(scenario: UnevenStreams, plan: str) -> Callable[[SparkSession, StreamFiles, Path], DataFrame]:
    def build(spark: SparkSession, files: StreamFiles, events: Path) -> DataFrame:
        made: DataFrame = tw.join(ON, scenario.window, "ts", plan=plan)(**files.streams(spark))
        return made

    return build


def _free(scenario: UnevenStreams, **given: Any) -> Callable[[SparkSession, StreamFiles, Path], DataFrame]:
    """Return the query as a user writes it who declares exact statistics."""
    if takes_statistics():
        given["statistics"] = scenario.statistics

    def build(spark: SparkSession, files: StreamFiles, events: Path) -> DataFrame:
        made: DataFrame = tw.join(ON, scenario.window, "ts", events=events, **given)(**files.streams(spark))
        return made

    return build
