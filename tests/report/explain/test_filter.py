"""What `explain` says of filters before and after they ran."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import thalweg as tw

ROWS = pa.table({"x": range(40), "text": ["a"] * 40, "more": [0.5] * 40})
EVEN = tw.predicate(lambda x: x % 2 == 0, "x", name="even")
LARGE = tw.predicate(lambda x: pc.greater(x, 9), "x", name="large", vectorized=True)
SHORT = tw.predicate(lambda t, x: len(t) < x, "text", "x", name="short", after="even", profile=False)


def test_the_tree_has_every_predicate_with_who_evaluates_it() -> None:
    told = tw.filters(SHORT, EVEN, LARGE).explain()
    assert told.where == ""
    assert told.plans[0][0] == "Plan"
    filter_ = told.physical
    assert filter_.name == "Filter"
    assert filter_.details == (  # a predicate comes after its guards
        "adaptive (auto)",
        "even: reads x  (Python)",
        "short: reads text, x  (Python, after even, never called only for profiling)",
        "large: reads x  (Arrow arrays)",
    )
    (source,) = filter_.inputs
    assert (source.name, source.details) == ("Input", ("reads text, x",))
    assert told.adapts == ("the order of the 3 predicates",)
    assert told.lines("Settings") == (
        "a row that fails stops the query (on_error='raise')",
        "adapting takes at most 2 % of the time (budget=), plus up to 12.0 ms per worker at the start",
    )  # fmt: skip
    assert told.lines("Order") == ()


def test_what_was_counted_is_reported_over_all_passes() -> None:
    keep = tw.filters(EVEN, LARGE, policy="static")
    for _ in range(2):
        assert sum(batch.num_rows for batch in keep.over(ROWS)) == 15
    told = keep.explain()
    assert told.physical.details[0] == "in the written order (policy static)"
    assert told.physical.details[-1] == "counted: 80 rows in, 30 kept (37.5 %), summed over 2 runs"
    assert told.adapts == ("nothing: policy static never changes an order",)
    assert told.lines("Order") == ("in the latest run: even, large",)


def test_settings_that_matter() -> None:
    told = tw.filters(
        EVEN, LARGE, on_error="dead-letter", time_limit=2.5, budget=0.1, redact=True, events="run.jsonl"
    ).explain()
    assert told.lines("Settings") == (
        "rows that fail are set aside and counted; tagged() and failed() return them (on_error='dead-letter')",
        "the query fails if a predicate takes longer than 2.5 s for a slice (time_limit=)",
        "adapting takes at most 10 % of the time (budget=), plus up to 12.0 ms per worker at the start",
        "errors, also those of rows that are set aside, contain no values of rows (redact=)",
        "event records are appended to run.jsonl (events=)",
    )
    assert not Path("run.jsonl").exists()
    told = tw.filters(EVEN, LARGE, policy="a-greedy(p=0.05)").explain()
    assert told.lines("Settings")[1:] == ("p=0.05",)
    assert told.physical.details[0] == "adaptive (a-greedy)"


def test_guards_that_leave_one_order() -> None:
    chain = [tw.predicate(bool, "x", name="a"), tw.predicate(bool, "x", name="b", after="a"),
             tw.predicate(bool, "x", name="c", after="b")]  # fmt: skip
    assert tw.filters(*chain).explain().adapts == ("nothing: only one order is possible",)
    free = tw.predicate(bool, "x", name="c", after="a")
    assert tw.filters(*chain[:2], free).explain().adapts == ("the order of the 3 predicates",)
    one = tw.filters(EVEN).explain()
    assert one.physical.details == ("one predicate", "even: reads x  (Python)")
    assert one.adapts == ("nothing: only one order is possible",)


def test_a_new_start_begins_with_the_order_of_an_earlier_run(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    slow = tw.predicate(lambda x: sum(range(2_000)) + x > 0, "x", name="slow")
    never = tw.predicate(lambda x: x > 10**6, "x", name="never")
    rows = pa.table({"x": range(20_000)})
    keep = tw.filters(slow, never, events=path, seed=1)
    list(keep.over(rows))
    learned = keep.report().sections[0].order
    assert learned == ("never", "slow")
    again = tw.filters(slow, never, events=path).explain().physical.details
    assert [detail.partition(":")[0] for detail in again[1:]] == ["never", "slow"]


def test_data_are_checked() -> None:
    keep = tw.filters(EVEN, SHORT)
    told = keep.explain(ROWS)
    assert told.where == "this process"
    assert told.plans[0][0] == "Plan, for this process"
    assert keep.explain(ROWS.to_batches()[0]).physical == told.physical
    with pytest.raises(tw.PlanError, match="there is no column 'text'"):
        keep.explain(ROWS.select(["x"]))
    with pytest.raises(tw.PlanError, match=r"explain\(\) takes a Spark DataFrame or an Arrow table, not list"):
        keep.explain([1])
    assert not keep.report().sections


def test_on_spark(spark: Any) -> None:
    from pyspark.sql import functions as F

    df = spark.range(100).selectExpr("id AS x", "CAST(id AS STRING) AS text", "1 AS more")
    native = tw.predicate(F.col("text").isNotNull(), name="has_text")
    keep = tw.filters(EVEN, native, F.col("text").rlike("[0-9]"), F.col("text").rlike("[0-7]"), LARGE)
    told = keep.explain(df)
    assert told.where == "Spark, on finished data"
    details = told.physical.details
    assert details[0] == "adaptive (auto)"
    assert details[1].startswith("has_text: ")
    assert [detail.endswith("  (JVM)") for detail in details[1:]] == [True] * 3 + [False] * 2
    assert told.physical.inputs[0].details == ("reads x", "stays in the JVM: text, more")
    assert told.adapts == (
        "the order of the 2 predicates outside the JVM",
        "when a query starts, the order of the 3 predicates in the JVM",
    )
    assert told.lines("Order")[0].startswith("in the JVM: has_text, ")
    assert keep.explain(df).physical == told.physical  # explaining changes nothing
    before = keep._native._decided
    assert before == 0
    kept = df.transform(keep).count()
    assert kept == sum(x % 2 == 0 and x > 9 and any(c in "01234567" for c in str(x)) for x in range(100))
    after = keep.explain(df).physical.details
    passed = sum(any(c in "01234567" for c in str(x)) for x in range(100))
    assert after[-1].startswith(f"counted outside the JVM: {passed} rows in, {kept} kept (")
    only = tw.filters(F.col("x") > 3).explain(df)
    assert only.physical.details[0] == "one predicate"
    assert only.physical.inputs[0].details == ("no row is sent to Python",)
    with pytest.raises(tw.PlanError, match="native predicates need Spark"):
        keep.explain(ROWS)
