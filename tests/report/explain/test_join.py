"""What `explain` says of a join before it runs."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import thalweg as tw
from tests.runtime.joins.start_plans import start_knowing_nothing
from thalweg.draw.plan_tree import TreeItem
from thalweg.optimizer.joins.compare_plans import compared_plans
from thalweg.plan.joins.join_plan import JoinPlan
from thalweg.plan.joins.limits import Limits
from thalweg.plan.joins.partitioning import Partitioning
from thalweg.report.explain.join import JoinLayout, explain_join
from thalweg.runtime.joins.join_binding import JoinBinding
from thalweg.runtime.joins.join_settings import JoinSettings

STAR = "orders.id = payments.order AND orders.id = parcels.order"
CHAIN = "a.x = b.x AND b.y = c.y AND c.z = d.z"
CYCLE = "a.x = b.x AND b.y = c.y AND c.z = a.z"


def explained(on: str, window: Any = "10 seconds", lateness: Any = "0 seconds", **changes: Any) -> str:
    """Every column that is named is a number; times are timestamps."""
    plan = JoinPlan.of(on, window, "ts", lateness)
    graph = plan.graph
    columns = {
        alias: {graph.column_of[c][alias]: pa.int64() for c in graph.classes_of(alias)} for alias in graph.aliases
    }
    for residual in plan.residuals:
        for alias, column in residual.columns:
            columns[alias][column] = pa.int64()
    schemas = {alias: pa.schema({**of, "ts": pa.timestamp("us")}) for alias, of in columns.items()}
    by = Partitioning.of(graph, changes.pop("tables", ()), changes.pop("sizes", None), changes.pop("unit", "rows"))
    limits = ("policy", "max_matches", "max_bytes", "max_ahead", "idle_after", "plan")
    settings = JoinSettings.resolve({name: changes.pop(name) for name in limits if name in changes}, environ={})
    layout = {"buckets": 4, "partitions": 4, **changes}
    start = start_knowing_nothing(plan, settings, layout["buckets"])
    compared = compared_plans(start, changes=bool(layout.get("streaming", True)))
    return str(explain_join(plan, settings, compared, layout=JoinLayout(JoinBinding.of(plan, schemas), by, **layout)))


def words(text: str) -> str:
    """Without the places where lines were broken."""
    return " ".join(text.split())


def test_a_star() -> None:
    text = explained(
        STAR + " AND orders.price < payments.amount AND orders.region = 3",
        {"orders": "1 minute", "payments": "30 seconds", "parcels": "30 seconds"},
        {"orders": "0 seconds", "payments": "5 seconds", "parcels": "0 seconds"},
        given={"orders": ["id", "price", "region", "ts", "comment", "address"]},
        max_matches=1000,
    )
    said = text.splitlines()
    for line in (
        "├─ Stream orders: window 1 minute, time ts, in order",
        "├─ Stream payments: window 30 seconds, time ts, up to 5 seconds out of order",
        "└─ Stream parcels: window 30 seconds, time ts, in order",
        "  4 buckets in 4 partitions; the checkpoint fixes both numbers",
        "  orders: id, price, region and ts; not read: comment and address",
        "  new rows of payments probe orders by id, then parcels by order",
        "  checked when rows arrive: orders.region = 3",
        "  checked on joined rows: orders.price < payments.amount",
        "  the join fails if a row has more than 1,000 matches by its keys (max_matches=)",
    ):
        assert line in said, text
    assert (
        "rows are spread over buckets by orders.id, payments.order and parcels.order: "
        "the only columns that must be equal" in words(text)
    )
    assert "follows the slowest of orders, payments and parcels" in words(text)
    assert (
        "the order in which the other 2 windows are probed and which sub-joins are kept, separately in each bucket"
        in words(text)
    )
    assert "replicated" not in text
    assert "cycle" not in text


def test_a_chain_tells_what_replicating_costs() -> None:
    text = explained(CHAIN, buckets=8, partitions=3)
    assert [f"Stream {alias}: window 10 seconds, time ts, in order" in text for alias in "abcd"] == [True] * 4
    assert "spread over buckets by a.x and b.x" in text
    assert "8 buckets in 3 partitions, at least 3 in one partition" in text
    assert (
        "c and d have no such column and are replicated: every row of c and d is sent to each of 8 buckets and held "
        "there" in words(text)
    )
    assert "new rows of d probe c by z, then b by y (from c), then a by x (from b)" in text
    assert "with one bucket this costs nothing" in words(explained(CHAIN, buckets=1))


def test_a_cycle_leaves_a_comparison_for_the_end() -> None:
    text = explained(CYCLE, buckets=2, idle_after="1 minute")
    assert (
        "c has no such column and is replicated: every row of c is sent to each of 2 buckets and held there"
        in words(text)
    )
    assert "2 buckets in 4 partitions, 2 of which stay empty" in text
    left = "the parts of a.x = b.x, b.y = c.y, c.z = a.z that no probe compared"
    assert f"checked when a cycle is closed: {left}" in words(text)
    assert "a stream without rows for 1 minute does not hold it back" in text
    assert "cycle" not in explained("a.k = b.k AND b.k = c.k AND c.k = a.k")  # one class, which every probe looks at


def test_finished_data_has_no_late_rows_and_no_checkpoint() -> None:
    text = explained(STAR, streaming=False)
    assert "no row is late" in text
    assert "the windows of a bucket need more than" in text
    for word in ("checkpoint", "watermark", "in order\n", "idle", "max_ahead"):
        assert word not in text


def test_tables_and_sizes() -> None:
    text = explained(CHAIN, tables=["c", "d"])
    assert "Join of 2 streams and 2 tables, adaptive" in text
    assert "Table c: without time or window" in text
    assert "c and d: every worker holds the whole table once, before the first row arrives" in text
    assert "replicated" not in text
    assert "new rows of c" not in text
    assert "spread over buckets by c.z and d.z: streams with such a column have 20 of 22 rows" in words(
        explained(CHAIN, sizes={"a": 1, "b": 1, "c": 10, "d": 10})
    )
    assert "streams with such a column have 20 of 22 bytes" in words(
        explained(CHAIN, sizes={"a": 1, "b": 1, "c": 10, "d": 10}, unit="bytes")
    )


def test_memory_and_times_ahead_of_the_clock() -> None:
    text = words(explained(STAR, max_bytes=1_500_000, max_ahead="1 day"))
    assert (
        "the join fails if the windows of a bucket, or its rows of one micro-batch, need more than 1.5 MB of memory "
        "(max_bytes=)" in text
    )
    assert "times more than 1 day ahead of the clock do not advance it (max_ahead=)" in text
    by_default = words(explained(STAR, max_ahead=None))
    assert "need more than one core's share of half the memory of the machine or container (max_bytes=)" in by_default
    assert "times in the future are accepted, however far" in by_default


def test_a_watermark_that_spark_has_already_is_followed() -> None:
    text = explained(CHAIN, lateness="5 seconds", followed=["b"], max_ahead="1 day", idle_after="1 hour")
    said = words(text)
    for alias in "acd":
        assert f"Stream {alias}: window 10 seconds, time ts, up to 5 seconds out of order" in text
    assert "b: window 10 seconds, time ts, with its own watermark from Spark; lateness= is not used" in said
    assert "in completed micro-batches minus the lateness; for b it is Spark's watermark" in said
    assert "times of a, c and d more than 1 day ahead of the clock do not advance it" in said
    assert "a stream without rows for 1 hour does not hold it back (idle_after=), but Spark waits for it" in said
    of_all = words(explained(CHAIN, lateness="5 seconds", followed=list("abcd"), max_ahead="1 day"))
    assert of_all.count("window 10 seconds, time ts, with its own watermark from Spark") == 4
    assert "the watermark is Spark's, which follows the slowest of a, b, c and d" in of_all
    for word in ("out of order", "in order", "ahead of the clock"):  # these are not used
        assert word not in of_all
    assert "in Spark" not in explained(CHAIN)
    assert "in Spark" not in explained(CHAIN, followed=["b"], streaming=False)


@pytest.mark.parametrize("window", [timedelta(seconds=90), np.timedelta64(90, "s"), np.timedelta64(90_000, "ms")])
def test_lengths_that_are_no_text(window: Any) -> None:
    assert "b: window 90 s, time ts, in order" in explained("a.k = b.k", window, timedelta(0))
    assert "up to 90 s out of order" in explained("a.k = b.k", "1 hour", window)
    text = words(explained("a.k = b.k", max_ahead=window, idle_after=window))
    assert "times more than 90 s ahead" in text
    assert "without rows for 90 s" in text


def test_what_a_join_was_made_with_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without Spark: only the layout is asked of it."""
    attach = pytest.importorskip("thalweg.runtime.spark.joins.attach")

    class Frame:
        columns = ("k", "ts", "more")

    def lay_out(plan: JoinPlan, settings: Any, frames: Any, known: Any) -> Any:
        row = pa.schema([("k", pa.int64()), ("ts", pa.timestamp("us"))])
        binding = JoinBinding.of(plan, dict.fromkeys(frames, row))
        by = Partitioning.of(plan.graph)
        return attach.SparkJoinLayout(True, binding, by, Limits(2_000, 2), (0, 1), 2, followed=("b",))

    monkeypatch.setattr(attach, "lay_out", lay_out)
    join = tw.join(
        on="a.k = b.k", window="5 seconds", time="ts", lateness="2 seconds", max_matches=77, max_bytes=2_000,
        max_ahead="3 hours", idle_after="4 hours", policy="sweep", select=["a.k"],
    )  # fmt: skip
    text = words(str(join.explain(a=Frame(), b=Frame())))
    for told in (
        "a: window 5 seconds, time ts, up to 2 seconds out of order", "b: window 5 seconds, time ts, with its own",
        "more than 77 matches", "more than 2.0 kB", "times of a more than 3 hours", "without rows for 4 hours",
        "policy sweep", "2 buckets in 2 partitions", "not read: more",
    ):  # fmt: skip
        assert told in text


def test_an_order_that_stands_is_not_said_to_change() -> None:
    assert "nothing: policy static never changes an order" in explained(STAR, policy="static")
    assert "probed in the written order, over windows (static)" in explained(STAR, policy="static")
    assert "nothing: only one order is possible" in explained("a.k = b.k")
    assert "policy sweep" in explained(STAR, policy="sweep")


@pytest.mark.parametrize("on", [STAR, CHAIN, CYCLE])
def test_it_is_some_forty_lines_that_fit_a_terminal(on: str) -> None:
    lines = explained(on, max_matches=10_000_000, policy="a-greedy", plan="multiway").splitlines()
    assert 25 <= len(lines) <= 45
    assert max(map(len, lines)) <= 100


def test_columns_that_only_the_index_has_are_reported() -> None:
    plan = JoinPlan.of("a.k = b.k", "10 seconds", "ts", "0 seconds", select=["a.v"])
    row = pa.schema([("k", pa.int64()), ("v", pa.int64()), ("ts", pa.timestamp("us")), ("payload", pa.string())])
    binding = JoinBinding.of(plan, {"a": row, "b": row})
    layout = JoinLayout(binding, Partitioning.of(plan.graph), 2, 2, given=dict.fromkeys("ab", row.names))
    compared = compared_plans(start_knowing_nothing(plan, JoinSettings(), 2))
    text = str(explain_join(plan, JoinSettings(), compared, layout=layout))
    assert "  a: v; k and ts only as numbers in the index; not read: payload" in text.splitlines()
    assert "  b: no column; k and ts only as numbers in the index; not read: v and payload" in text.splitlines()


def test_without_data_it_says_what_is_known_before() -> None:
    join = tw.join(
        on=f"{CHAIN} AND a.v < d.v", window={"a": 5, "b": 7, "c": 5}, time="ts", lateness={"a": 2, "b": 0, "c": 0},
        policy="sweep",
    )  # fmt: skip
    told = join.explain()
    assert told.physical == TreeItem(
        "Join",
        ("of 3 streams and 1 table, adaptive, over windows (sweep)", f"on {CHAIN} AND a.v < d.v"),
        (
            TreeItem("Stream", ("a: window 5 ticks, time ts, up to 2 ticks out of order",)),
            TreeItem("Stream", ("b: window 7 ticks, time ts, in order",)),
            TreeItem("Stream", ("c: window 5 ticks, time ts, in order",)),
            TreeItem("Table", ("d: without time or window",)),
        ),
    )
    assert told.lines("First order of probes (policy sweep)") == (
        "new rows of a probe b by x, then c by y (from b), then d by z (from c)",
        "new rows of b probe a by x, then c by y, then d by z (from c)",
        "new rows of c probe b by y, then a by x (from b), then d by z",  # as written, each after its path
        "checked on joined rows: a.v < d.v",
    )
    assert "the other 3 windows" in told.adapts[0]
    assert "explain(a=df, b=df, ...)" in told.notes[0]
    assert not join.report().sections  # nothing ran


def test_policy_and_limits_of_the_environment_are_those_in_force(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THALWEG_POLICY", "static")
    told = tw.join(on="a.k = b.k", window="5 seconds", time="ts").explain()
    assert told.adapts == ("nothing: policy static never changes an order",)


@pytest.mark.parametrize("lateness", ["80000 days", timedelta(days=80_000), "1 microsecond"])
def test_lateness_of_any_length_is_reported(lateness: Any) -> None:
    told = tw.join(on="a.k = b.k", window=lateness, time="ts", lateness=lateness).explain()
    assert "out of order" in told.physical.inputs[0].details[0]


def test_long_conditions_are_broken_into_lines() -> None:
    on = " AND ".join(["a.k = b.k", *(f"a.column_{n} < b.column_{n}" for n in range(12))])
    told = tw.join(on=on, window=1, time="ts").explain()
    assert " ".join(told.physical.details[1:]) == f"on {on}"
    assert max(map(len, str(told).splitlines())) <= 100
