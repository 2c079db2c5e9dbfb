"""Drawn chains on a local Spark with two workers: plain Spark, hand-written code, the best order, and `auto`.

The chains are those of two seeds of the evaluation, cut after two million rows; batches are Spark's, of up to 10,000
rows. Groups, and orders written as the best or the worst, are those of the chain as it is cut (`cut.py`). If that
leaves less than a second of work, a chain counts as short. The variants of a chain run in an order drawn
from its seed, since Spark is warmer for later ones, with others between the two runs of the best order; before the
first chain all run once on a few rows. Every variant is timed while it counts its rows and sums up their ids, which
must be right. Work is counted by the predicates in the workers, as in this process. A variant whose work is known to be
more than ten times the best order's is not run, and counts as ten times its time.
"""

from __future__ import annotations

import math
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import thalweg as tw
from bench.check import Check
from bench.generated.best import Hindsight, hindsight
from bench.generated.burning import Speed
from bench.generated.compare import LONG_NS, MOST
from bench.generated.cut import cut
from bench.generated.draw import CHAINS, Sources, draw
from bench.generated.outcome import WrongRowsError
from bench.generated.spark_functions import FLAG, Burning, by_array, by_row, counts
from bench.generated.spec import Chain, Order
from bench.generated.summary import groups
from bench.rounds import progress

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SEEDS = (1000, 1001)
BATCH_ROWS = 10_000
"""The rows of Spark's Arrow batches."""
MOST_ROWS = 2_000_000
"""The most rows; with more, the benchmark would measure the JVM and Parquet."""
PLAIN, NONDETERMINISTIC, FUSED = "plain Spark", "nondeterministic", "fused"
BEST, AGAIN, AUTO = "best", "best again", "auto"
WARM_UP_ROWS = 1_000
VARIANTS = (PLAIN, NONDETERMINISTIC, FUSED, BEST, AUTO, AGAIN)
Line = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Timed:
    """One run of a variant; `work_ns` is counted, or computed if it was not run."""

    seconds: float
    work_ns: float
    ran: bool = True


def tasks(numbers: Sequence[int] | None, seeds: Sequence[int] | None) -> list[tuple[int, int]]:
    """Return forty chains, or fewer if chains or seeds are given."""
    return [(seed, number) for seed in seeds or SEEDS for number in numbers or range(CHAINS)]


def run(
    spark: SparkSession,
    wanted: Sequence[tuple[int, int]],
    sources: Sources,
    speed: Speed,
    print_line: Callable[[Line], None],
) -> None:
    """Run the chains; one line per chain, then one per kind."""
    lines: list[Line] = []
    with tempfile.TemporaryDirectory(prefix="thalweg-bench-") as folder:
        for done, (seed, number) in enumerate(wanted, 1):
            chain = cut(draw(seed, number, sources), MOST_ROWS, BATCH_ROWS)
            if done == 1:  # the first to run would pay for what a session and its workers do only once
                few = cut(chain, WARM_UP_ROWS, BATCH_ROWS)
                OnSpark(spark, few, speed, Path(folder) / "warm-up", most=math.inf).run_all()
            line = OnSpark(spark, chain, speed, Path(folder) / f"{seed}-{number}").line()
            lines.append(line)
            print_line(line)
            ratios = ", ".join(f"{name} {value:.2f}" for name, value in line["time_over_best"].items())
            progress(f"{done} of {len(wanted)}: chain {chain.name} on Spark, time over the best order: {ratios}")
    for line in kinds(lines):
        print_line(line)


class OnSpark:
    """Run one chain on Parquet files. A variant with more than `most` times the best order's work is not run."""

    def __init__(self, spark: SparkSession, chain: Chain, speed: Speed, folder: Path, most: float = MOST) -> None:
        self.chain, self.speed, self.folder, self.most = chain, speed, folder, most
        self.known: Hindsight = hindsight(chain)
        bits = chain.codes.copy()
        self.costs_ns = np.array([[p.cost_ns for p in chain.parts]] * 2)
        for number, phase in enumerate(chain.phases):
            if any(factor != 1.0 for factor in phase.factors):
                bits[phase.start : phase.start + phase.rows] |= 1 << FLAG
                self.costs_ns[1] = chain.cost_ns[number]
        table = pa.table({"id": np.arange(chain.rows), "bits": bits})
        self.spark, self.runs = spark, 0
        (folder / "rows").mkdir(parents=True)
        for part in (0, 1):  # one for each worker, with its half of every phase: both see the data move
            halves = [np.array_split(np.arange(p.start, p.start + p.rows), 2)[part] for p in chain.phases]
            pq.write_table(table.take(pa.array(np.concatenate(halves))), folder / "rows" / f"part-{part}.parquet")

    def run_all(self) -> dict[str, Timed]:
        """Run every variant, in an order drawn for this chain, in which they are returned."""
        from bench import spark_variants as on

        written, every = self.known.work_ns(tuple(range(len(self.chain.parts)))), self._every_ns()
        once_each = partial(on.pandas_filter, deterministic=False)
        runs: dict[str, Callable[[], Timed]] = {
            PLAIN: lambda: self._unless(every, lambda checks: self._by_hand(checks, on.pandas_filter)),
            NONDETERMINISTIC: lambda: self._unless(written, lambda checks: self._by_hand(checks, once_each)),
            FUSED: lambda: self._unless(written, lambda checks: on.fused(self._rows(), tuple(checks))),
            BEST: lambda: self._filters("static", self.known.fixed_order),
            AUTO: lambda: self._filters("auto", None),
            AGAIN: lambda: self._filters("static", self.known.fixed_order),
        }
        self._warm_up()
        return {name: runs[name]() for name in in_turn(self.chain.seed, self.chain.number)}

    def line(self) -> Line:
        """The results of every variant."""
        timed = self.run_all()
        found = {name: timed[name] for name in VARIANTS}
        best_s = (found[BEST].seconds + found[AGAIN].seconds) / 2
        chain, long = self.chain, self.known.fixed_ns >= LONG_NS * self.chain.scale
        return {
            "bench": "generated", "line": "spark chain", "mode": "spark", "seed": chain.seed, "chain": chain.number,
            "rows": chain.rows, "phases": len(chain.phases), "groups": chain.groups, "about": chain.about,
            "short": not long, "long": long,
            "best_work_s": round(self.known.fixed_ns / 1e9, 4),
            "counted_best_work_s": round(found[BEST].work_ns / 1e9, 4),
            "seconds": {name: round(one.seconds, 4) for name, one in found.items() if one.ran},
            "ran_in_order": [name for name, one in timed.items() if one.ran],
            "not_run": [name for name, one in found.items() if not one.ran],
            "time_over_best": {
                name: round(one.seconds / best_s if one.ran else MOST, 4) for name, one in found.items()
            },
            "work_over_best": {name: self._over_best(one, found[BEST]) for name, one in found.items()},
        }  # fmt: skip

    def _over_best(self, one: Timed, best: Timed) -> float:
        """Of what was counted: where Spark's batches begin, the computed work does not know."""
        return round(min(max(one.work_ns / best.work_ns, 1.0), MOST), 4)

    def _rows(self) -> DataFrame:
        return self.spark.read.parquet(str(self.folder / "rows"))

    def _every_ns(self) -> float:
        """Return the work if every predicate sees every row."""
        total = 0.0
        for number, phase in enumerate(self.chain.phases):
            calls = -(-phase.rows // BATCH_ROWS)
            total += float(self.chain.cost_ns[number].sum()) * phase.rows + float(self.chain.fixed_ns.sum()) * calls
        return total

    def _unless(self, work_ns: float, build: Callable[[list[Check]], DataFrame]) -> Timed:
        if work_ns > self.most * self.known.fixed_ns:
            return Timed(0.0, work_ns, ran=False)
        folder = self._next()
        return self._timed(build(self._checks(folder)), folder)

    def _by_hand(self, checks: Sequence[Check], condition: Callable[[Check], Any]) -> DataFrame:
        from bench.spark_variants import chained

        return chained(self._rows(), [condition(check) for check in checks])

    def _filters(self, policy: str, order: Order | None) -> Timed:
        folder = self._next()
        checks, parts = self._checks(folder), self.chain.parts
        made = [
            tw.predicate(
                checks[k].func, "bits", name=parts[k].name, vectorized=parts[k].vectorized, profile=parts[k].profile,
                after=[parts[g].name for g in parts[k].after],
            )
            for k in (order or range(len(parts)))
        ]  # fmt: skip
        keep = tw.filters(*made, policy=policy, seed=self.chain.number)
        return self._timed(self._rows().transform(keep), folder)

    def _timed(self, df: DataFrame, folder: Path) -> Timed:
        from bench.spark_variants import outcome

        begun = time.perf_counter()
        result = outcome(df)
        seconds = time.perf_counter() - begun
        kept = self.chain.kept
        if result != (len(kept), int(kept.sum())):
            raise WrongRowsError(self.chain, folder.name)
        found = counts(folder, len(self.chain.parts))
        work = float((found[:, :, 0] * self.costs_ns).sum() + found[:, :, 1].sum(axis=0) @ self.chain.fixed_ns)
        return Timed(seconds, work)

    def _warm_up(self) -> None:
        """Read the files once and start both workers."""
        self._rows().mapInArrow(_nothing, "id long").count()

    def _checks(self, folder: Path) -> list[Check]:
        made = []
        n = len(self.chain.parts)
        for k, part in enumerate(self.chain.parts):
            usual, other = (self.speed.steps(float(costs[k]), part.vectorized) for costs in self.costs_ns)
            fixed = round(part.fixed_ns / self.speed.step_ns)
            what = Burning(k, n, (usual, other), fixed, str(folder))
            function = partial(by_array if part.vectorized else by_row, what=what)
            made.append(Check(part.name, ("bits",), function, 0.0, vectorized=part.vectorized))
        return made

    def _next(self) -> Path:
        self.runs += 1
        folder = self.folder / f"run-{self.runs}"
        folder.mkdir()
        return folder


def in_turn(seed: int, number: int) -> list[str]:
    """The variants in the order in which a chain runs them; the two runs of the best order are not neighbors."""
    rng = np.random.default_rng([seed, number, 4])
    while True:
        turns = [VARIANTS[i] for i in rng.permutation(len(VARIANTS))]
        if abs(turns.index(BEST) - turns.index(AGAIN)) > 1:
            return turns


def _nothing(batches: Any) -> Iterator[pa.RecordBatch]:
    import bench.generated.spark_functions  # noqa: F401  (compiled code is loaded before anything is timed)

    for batch in batches:
        yield batch.select(["id"]).slice(0, 0)


def kinds(lines: Sequence[Line]) -> Iterator[Line]:
    """One line per kind of chain: the time of `auto` over that of the others, and its work over the best order's."""
    chains = {(line["seed"], line["chain"]): line for line in lines}
    for group, kind, members in [("every", "every chain", set(chains)), *groups(chains)]:
        if not members:
            continue
        mine = [chains[key] for key in sorted(members)]
        over = {
            name: _spread([line["time_over_best"][AUTO] / line["time_over_best"][name] for line in mine])
            for name in (PLAIN, NONDETERMINISTIC, FUSED)
        }
        over[BEST] = _spread([line["time_over_best"][AUTO] for line in mine])
        again = [line["seconds"][AGAIN] / line["seconds"][BEST] for line in mine]
        yield {
            "bench": "generated", "line": "spark kind", "mode": "spark", "group": group, "kind": kind,
            "chains": len(mine), "over": over, "work": _spread([line["work_over_best"][AUTO] for line in mine]),
            "best_again_over_best_time": [round(min(again), 4), round(max(again), 4)],
        }  # fmt: skip


def _spread(ratios: Sequence[float]) -> dict[str, float]:
    return {
        "mean": round(float(np.exp(np.mean(np.log(ratios)))), 4),
        "median": round(statistics.median(ratios), 4),
        "worst": round(max(ratios), 4),
    }
