"""Applies native predicates to a Spark DataFrame, as Spark filters, and samples rows with `observe`.

Predicates that a data source can evaluate are plain filters directly after it, so Spark pushes them down as usual.
After them, if an order is to be learned, one row in a hundred is marked. A row is kept if it is marked or passes. Only
on these few rows, `observe` counts which predicates drop a marked row (observing every row would be as expensive as a
regular expression). Then the marked rows that were dropped are removed. If there is nothing to learn, native predicates
are filters and nothing else.
"""

from __future__ import annotations

import itertools
import json
import operator
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from thalweg.adapt import ProfileSettings
from thalweg.errors import PlanError
from thalweg.events import Origin, Record
from thalweg.plan import FilterPlan, NativePlan, NativePredicate
from thalweg.plan.filters.expression_kind import UNKNOWN, kinds_of
from thalweg.runtime.filters.native_order import NativeOrder
from thalweg.runtime.settings import FilterSettings
from thalweg.runtime.spark.guarded import all_true, kept_whole
from thalweg.runtime.spark.observed_work import ObservationFetch, with_observed_work
from thalweg.runtime.spark.stream_watch import of_query

SHARE = 0.01
"""The share of the rows that is sampled, if the policy does not set it."""
MOST_BINS = 1024
"""The number of distinct outcomes that are counted exactly: all for ten predicates, the common ones for more."""
LEARN_SHARE, LEARN_ROWS = 0.01, 10_000

Outcomes = dict[int, float]


def filter_natively(
    df: DataFrame, plan: FilterPlan, settings: FilterSettings, native: NativeOrder, identity: str,
    sink: Callable[[Record], None],
) -> tuple[DataFrame, ObservationFetch | None, Callable[[str, int | None], None]]:  # fmt: skip
    """Return the rows that pass, the fetch of their sample (batch), and a function that reports runs without one."""
    for predicate in plan.native.predicates:
        _refuse_python(df, predicate)
    kind = "stream" if df.isStreaming else "batch"
    profile = settings.profile
    native.recall(settings.events)
    ordered = native.decide(adapts=profile is not None)
    reported: set[str] = set()

    def report(outcomes: Outcomes, run: str, batch: int | None) -> None:
        query, start = of_query(run) if batch is not None else (None, None)
        origin = Origin(run, kind, batch, policy=settings.policy_name, query=query, start=start)
        sink(native.record(origin, plan.pipeline.names, ordered, outcomes))

    def report_once(run: str, batch: int | None) -> None:
        if run not in reported:
            reported.add(run)
            report({}, run, batch)

    # a stream is sampled from its start or never, as its plan is fixed; batches that change nothing are sampled rarely
    sampled = ordered.sampled or (df.isStreaming and native.worth_sampling)
    if profile is None or not sampled:
        return df.filter(_all(plan.native, ordered.order)), None, report_once

    def use(run: str, batch: int | None, texts: list[str], name: str | None = None) -> None:
        outcomes = _outcomes(texts)
        native.learn(outcomes)
        report(outcomes, run, batch)

    free, learned = ordered.order[: len(plan.native.first)], ordered.order[len(plan.native.first) :]
    marked, outcome = f"__thalweg_marked_{identity[:8]}", f"__thalweg_outcome_{identity[:8]}"
    rand = F.rand() if settings.seed is None else F.rand(settings.seed)
    out = df.filter(_all(plan.native, free)) if free else df
    out = out.withColumn(marked, rand < F.lit(profile.p if isinstance(profile, ProfileSettings) else SHARE))
    out = out.filter(F.col(marked) | _all(plan.native, learned, sampled=True))
    out = out.withColumn(outcome, F.when(F.col(marked), _outcome(plan.native)))
    bins = min(1 << len(learned), MOST_BINS)
    work = F.array(F.to_json(F.histogram_numeric(F.col(outcome), F.lit(bins)))).alias("work")
    metric = f"thalweg_native_{identity}"
    out, fetch = with_observed_work(out, metric, work, use, identity, unasked=settings.events is not None)
    if fetch is not None:
        native.expect(fetch)
    out = out.filter(F.col(outcome).isNull() | (F.col(outcome) == 0)).drop(marked, outcome)
    return out, fetch, lambda run, batch: None


def learn(df: DataFrame, native: NativeOrder, share: float, rows: int) -> int:
    """Evaluate the native predicates on a sample of finished data. Return the number of rows in the sample."""
    if df.isStreaming:
        raise PlanError("learn() takes a batch DataFrame, not a stream; read some of its files, or a table, as a batch")
    if not native.worth_sampling:
        return 0
    plan = native.plan
    free = df.filter(_all(plan, plan.first)) if plan.first else df
    sample = free if share >= 1.0 else free.sample(share)
    counted = sample.limit(rows).select(_outcome(plan).alias("outcome")).groupBy("outcome").count().collect()
    outcomes = {int(row["outcome"]): float(row["count"]) for row in counted}
    native.learn(outcomes)
    return int(sum(outcomes.values()))


def _evaluated_in_turn(predicate: NativePredicate) -> Column:
    """Return the predicate for use inside a larger expression. If it can raise, it is kept whole: Spark would evaluate
    a part that occurs twice in a Column first, although another part of the Column guards it."""
    column: Column = predicate.column
    return kept_whole(column) if predicate.raises else column


def _all(plan: NativePlan, order: Sequence[int], sampled: bool = False) -> Column:
    """Return a condition that is true if these predicates are, evaluated in this order. `sampled`: rows are sampled, so
    the condition is part of a larger expression.

    A predicate with guards sees only rows on which the guards are true, whatever Spark computes early or moves. A
    predicate that a data source can evaluate is also a plain conjunct, because only these are pushed down; it is cheap
    enough to be evaluated twice.
    """
    guards = any(plan.waits_for[k] for k in order)
    columns = [_evaluated_in_turn(p) if sampled or guards else p.column for p in plan.predicates]
    if not guards:
        return reduce(operator.and_, [columns[k] for k in order])
    plain = {k for k in order if k in plan.first and not plan.waits_for[k]}
    before = list(itertools.takewhile(plain.__contains__, order))
    needed = {guard for k in order for guard in plan.waits_for[k]}
    guarded = all_true([columns[k] for k in order if k not in before or k in needed])
    later = [columns[k] for k in order if k in plain and k not in before]
    return reduce(operator.and_, [*(columns[k] for k in before), guarded, *later])


def _outcome(plan: NativePlan) -> Column:
    """Return a number whose bit k is set if predicate k drops the row. It is evaluated only if its guards are true."""
    bits = F.lit(0.0)
    for k in plan.learned:
        guards = [_evaluated_in_turn(plan.predicates[g]) for g in plan.waits_for[k] if g in plan.learned]
        drops = all_true([*guards, ~F.coalesce(_evaluated_in_turn(plan.predicates[k]), F.lit(False))])
        bits = bits + F.when(drops, F.lit(float(1 << k))).otherwise(F.lit(0.0))
    return bits


def _outcomes(texts: Sequence[str | None]) -> Outcomes:
    """Return outcomes from the bins of a histogram. Partitions may repeat an outcome; merged bins are ignored."""
    found: Outcomes = {}
    for text in texts:
        for bin_ in json.loads(text) if text else ():
            if float(bin_["x"]).is_integer():
                found[int(bin_["x"])] = found.get(int(bin_["x"]), 0.0) + float(bin_["y"])
    return found


def _refuse_python(df: DataFrame, predicate: NativePredicate) -> None:
    """Raise a PlanError for a registered Python UDF, which looks like any function. Only classic Spark can check it."""
    if UNKNOWN not in kinds_of(predicate.uses) or not hasattr(df, "_jdf"):
        return
    condition = df.filter(predicate.column)._jdf.queryExecution().analyzed().condition()
    jvm: Any = df.sparkSession._jvm
    if condition.containsPattern(jvm.org.apache.spark.sql.catalyst.trees.TreePattern.PYTHON_UDF()):
        raise PlanError(
            f"predicate {predicate.name!r} calls a Python UDF, which Spark runs in Python on every row; "
            "use its function instead: tw.predicate(f, 'column')"
        )
    if not condition.deterministic():
        raise PlanError(
            f"predicate {predicate.name!r} is not deterministic, so the results would depend on the order; "
            "filter by it before or after tw.filters"
        )
