"""`classes` on Spark with two workers: 800,000 rows, predicates of 4 us.

Times are wall times. Evaluations are those of reports, because predicates run in the processes of the workers. The
clairvoyant does not run: its evaluations follow from the data.
"""

from __future__ import annotations

import statistics
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import thalweg as tw
from bench.mesh.classed import Classed
from bench.mesh.contenders import AGAIN, AUTO, MESH, Contender, routes_of
from bench.mesh.drawn import US, classes
from bench.mesh.measured import CLAIRVOYANT, SINGLE
from bench.rounds import Trials, Variant, interleave, ratio, ratios
from bench.scenario import BATCH_ROWS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS, QUICK_ROWS, ROUNDS = 800_000, 20_000, 5
NS = 4 * US

Line = dict[str, Any]


def on_spark(
    spark: SparkSession, folder: Path, seed: int, steps: float, rows: int = ROWS, rounds: int = ROUNDS
) -> Line:
    """Return the figures. Raises WrongResultError if a variant gives other rows than expected."""
    from bench.spark_variants import Source, adaptive, warm_up

    classed = classes(rows, steps, seed, NS, "classes on Spark")
    source = Source(spark, classed.scenario, folder)
    routes: dict[str, int] = {}

    def variant(contender: Contender, order: tuple[int, ...]) -> Variant:
        checks = tuple(classed.scenario.checks[k] for k in order)
        made: list[tw.Filters] = []

        def build(number: int) -> tuple[DataFrame, list[tw.Filters]]:
            made[:] = [contender.filters(classed, checks, number)]
            return source.rows().transform(made[0]), list(made)

        found = adaptive(contender.name, build, contender.settings(classed), False)

        def run(number: int) -> Any:
            trial = found.run(number)
            routes[contender.name] = max(routes.get(contender.name, 1), routes_of(made[0].report()))
            return trial

        return Variant(found.name, run, found.settings, result=found.result)

    (best,) = classed.scenario.best_orders
    variants = [variant(Contender(SINGLE, "static", {"slice_rows": BATCH_ROWS}), best)]
    written = classed.scenario.written
    variants += [variant(contender, written) for contender in (AUTO, AGAIN, MESH) if not contender.missing]
    warm_up(variants, classed.scenario.expected)
    trials = interleave(variants, rounds, classed.scenario.expected, classed.name)
    return spark_figures(classed, trials, routes)


def spark_figures(classed: Classed, trials: Trials, routes: dict[str, int]) -> Line:
    """Return the figures of trials on Spark: wall times, and evaluations that reports counted."""
    single, best = (
        sum(counts.values()) / classed.rows for counts in (classed.single_evaluations, classed.clairvoyant_evaluations)
    )
    found: dict[str, Line] = {CLAIRVOYANT: {"evaluations": round(best, 4), "evaluations_share": 1.0}}
    for name, runs in trials.items():
        done = statistics.median(
            sum((Counter(trial.evaluated) + Counter(trial.profiled)).values()) / classed.rows for trial in runs
        )
        found[name] = {
            "evaluations": round(done, 4), "evaluations_share": round((single - done) / (single - best), 4),
            "wall_seconds": round(statistics.median(trial.seconds for trial in runs), 4),
            "times_as_fast_as_auto": round(1 / ratio(trials, name, AUTO.name), 4), "routes": routes.get(name, 1),
        }  # fmt: skip
    spread = [max(value, 1 / value) for value in ratios(trials, AGAIN.name, AUTO.name)]
    return {
        "scenario": classed.name, "rows": classed.rows, "classify_by": list(classed.by),
        "rounds": len(trials[AUTO.name]), "aa": round(max(spread), 4), "single_evaluations": round(single, 4),
        "clairvoyant_evaluations": round(best, 4), "variants": found,
    }  # fmt: skip
