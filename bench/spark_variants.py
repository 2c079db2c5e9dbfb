"""The variants on Spark: plain Spark, what a careful user writes, Thalweg, and hindsight.

- `plain`: one pandas UDF per predicate in chained `.filter` calls; Spark merges them and evaluates all on every row.
- `nondeterministic`: the same UDFs marked nondeterministic, so that Spark does not merge them: each sees only the rows
  that passed before, in the written order.
- `fused`: one hand-written function that narrows its batch predicate by predicate, in the written order. It uses
  `mapInArrow` if rows are narrow (tried once: 0.7 times the time of a UDF), else one iterator Arrow UDF over the
  columns that are read (tried once: 0.9 times the CPU time of `mapInArrow` on rows of 32 columns).
- `hindsight`: Thalweg with the policy `static` and the predicates in the best order of each phase.

Every variant reads the same Parquet files, phase after phase, and writes to Spark's `noop` sink.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import thalweg as tw
from bench.check import Check
from bench.local_variants import AGAIN, HINDSIGHT, counts
from bench.policies import KNOWN, OTHERS, Setting
from bench.rounds import Trial, Variant, demand
from bench.scenario import Scenario

PLAIN, NONDETERMINISTIC, FUSED = "plain", "nondeterministic", "fused"
FILES = 8
"""The number of files of a scenario without phases; otherwise two per phase, one for each core."""
NARROW = 8
"""The number of unread columns up to which sending whole rows is cheaper than joining a UDF's result to them."""
REPORTED_WITHIN_S = 10.0
"""The time limit for what a query observed, which arrives a moment after the query ends."""

UDF: Any = F  # the types of its UDF functions differ between versions of PySpark
Transform = Callable[[DataFrame], DataFrame]


class Source:
    """A scenario's rows as Parquet files, with one folder per phase."""

    def __init__(self, spark: SparkSession, scenario: Scenario, folder: Path) -> None:
        self._spark = spark
        self._folders: list[str] = []
        files = FILES if len(scenario.phases) == 1 else 2
        for number, phase in enumerate(scenario.phases):
            place = folder / scenario.name / f"phase-{number}"
            place.mkdir(parents=True)
            for part, rows in enumerate(np.array_split(np.arange(phase.start, phase.start + phase.rows), files)):
                if len(rows):
                    pq.write_table(scenario.table.slice(int(rows[0]), len(rows)), place / f"part-{part}.parquet")
            self._folders.append(str(place))

    def phases(self) -> list[DataFrame]:
        """Return one DataFrame per phase."""
        return [self._spark.read.parquet(folder) for folder in self._folders]

    def rows(self) -> DataFrame:
        """Return all rows, in the order of the phases."""
        return reduce(DataFrame.unionAll, self.phases())


def variants(spark: SparkSession, scenario: Scenario, folder: Path, ours: Sequence[Setting]) -> list[Variant]:
    """Return all variants that run on Spark. Nothing has run yet: see `warm_up`."""
    source = Source(spark, scenario, folder)
    every = {check.name: scenario.table.num_rows for check in scenario.checks}
    written = scenario.evaluations((scenario.written,) * len(scenario.phases))

    def by_hand(name: str, transform: Transform, evaluated: dict[str, int]) -> Variant:
        def run(number: int) -> Trial:
            return Trial(action(transform(source.rows())), evaluated=evaluated)

        def result() -> tuple[int, int]:
            return outcome(transform(source.rows()))

        return Variant(name, run, {}, derived=True, result=result)

    def policy(setting: Setting, mine: bool) -> Variant:
        def build(seed: int) -> tuple[DataFrame, list[tw.Filters]]:
            keep = setting.filters(scenario.checks, seed)
            return source.rows().transform(keep), [keep]

        return adaptive(setting.name, build, setting.settings, mine)

    def best(seed: int) -> tuple[DataFrame, list[tw.Filters]]:
        keeps = [KNOWN.filters(tuple(scenario.checks[k] for k in o), seed) for o in scenario.best_orders]
        parts = [df.transform(keep) for df, keep in zip(source.phases(), keeps, strict=True)]
        return reduce(DataFrame.unionAll, parts), keeps

    return [
        by_hand(PLAIN, lambda df: chained(df, [pandas_filter(c) for c in scenario.checks]), every),
        by_hand(
            NONDETERMINISTIC,
            lambda df: chained(df, [pandas_filter(c, deterministic=False) for c in scenario.checks]),
            written,
        ),
        by_hand(FUSED, lambda df: fused(df, scenario.checks), written),
        adaptive(HINDSIGHT, best, KNOWN.settings, False),
        adaptive(AGAIN, best, KNOWN.settings, False),
        *(policy(setting, True) for setting in ours),
        *(policy(setting, False) for setting in OTHERS),
    ]


def warm_up(found: Sequence[Variant], expected: tuple[int, int]) -> None:
    """Run each variant once, untimed: workers start and load compiled code, and all results must be equal."""
    for variant in found:
        if variant.result is not None:
            demand(variant.name, variant.result(), expected)


def adaptive(
    name: str, build: Callable[[int], tuple[DataFrame, list[tw.Filters]]], settings: dict[str, Any], ours: bool
) -> Variant:
    """A variant that counts its evaluations while it runs."""

    def run(number: int) -> Trial:
        df, keeps = build(number)
        spent = action(df)
        wait_for_reports(keeps)
        evaluated, profiled = counts(keeps)
        return Trial(spent, evaluated=evaluated, profiled=profiled)

    def result() -> tuple[int, int]:
        return outcome(build(0)[0])

    return Variant(name, run, settings, ours=ours, result=result)


def action(df: DataFrame) -> float:
    """Write all rows to the `noop` sink and return the wall time in seconds."""
    begun = time.perf_counter()
    df.write.format("noop").mode("overwrite").save()
    return time.perf_counter() - begun


def outcome(df: DataFrame) -> tuple[int, int]:
    """Return the number of rows and the sum of their ids."""
    rows, ids = df.agg(F.count("*"), F.sum("id")).collect()[0]
    return int(rows), int(ids or 0)


def wait_for_reports(keeps: Sequence[tw.Filters]) -> None:
    """Wait, outside the timing, until every query has reported what it did."""
    deadline = time.monotonic() + REPORTED_WITHIN_S
    while any(keep.report().pending for keep in keeps):
        assert time.monotonic() < deadline, "Spark did not deliver what the query observed"
        time.sleep(0.01)


def pandas_filter(check: Check, *, deterministic: bool = True) -> Any:
    """Return one predicate as a pandas UDF on its columns."""

    def evaluate(*series: Any) -> Any:
        return check.over_pandas(*series)

    evaluate.__annotations__ = {"series": pd.Series, "return": pd.Series}
    udf = UDF.pandas_udf(evaluate, "boolean")
    return (udf if deterministic else udf.asNondeterministic())(*check.columns)


def chained(df: DataFrame, conditions: Sequence[Any]) -> DataFrame:
    """Return the rows after one `.filter` call per condition, as users write it."""
    return reduce(DataFrame.filter, conditions, df)


def fused(df: DataFrame, checks: tuple[Check, ...]) -> DataFrame:
    """Return the rows after one function in the written order, each predicate only on the remaining rows.

    The function runs in `mapInArrow` or in a UDF, whichever is faster.
    """
    names = list(dict.fromkeys(c for check in checks for c in check.columns))
    return fused_map(df, checks) if len(df.columns) <= len(names) + NARROW else fused_udf(df, checks, names)


def fused_map(df: DataFrame, checks: tuple[Check, ...]) -> DataFrame:
    """Use `mapInArrow`, which sends whole rows to Python and returns only those that pass."""

    def evaluate(batches: Any) -> Any:
        for batch in batches:
            yield batch.filter(narrow(batch, checks))

    return df.mapInArrow(evaluate, df.schema)


def fused_udf(df: DataFrame, checks: tuple[Check, ...], names: list[str]) -> DataFrame:
    """Use a UDF, which sends only the columns that are read and returns one boolean per row."""

    def evaluate(batches: Any) -> Any:
        for columns in batches:
            arrays = columns if isinstance(columns, tuple) else (columns,)
            yield narrow(pa.RecordBatch.from_arrays(list(arrays), names=names), checks)

    hint = Iterator[tuple[pa.Array, ...]] if len(names) > 1 else Iterator[pa.Array]
    evaluate.__annotations__ = {"batches": hint, "return": Iterator[pa.Array]}
    return df.filter(UDF.arrow_udf(evaluate, "boolean")(*names))


def narrow(batch: pa.RecordBatch, checks: tuple[Check, ...]) -> pa.Array:
    """Return which rows pass. The batch shrinks with every predicate, and evaluation stops when it is empty."""
    keep = np.zeros(batch.num_rows, dtype=bool)
    alive = np.arange(batch.num_rows)
    left = {name: batch.column(name) for check in checks for name in check.columns}
    for check in checks:
        if not len(alive):
            break
        mask = check.over_arrow(*(left[name] for name in check.columns))
        if not mask.all():
            alive = alive[mask]
            chosen = pa.array(mask)
            left = {name: column.filter(chosen) for name, column in left.items()}
    keep[alive] = True
    return pa.array(keep)
