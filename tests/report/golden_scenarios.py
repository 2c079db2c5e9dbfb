"""The scenarios whose printed texts are goldens: twelve ways to run filters, joins and queries."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import thalweg as tw
from tests.adapt.forward import Forward, ForwardSettings
from tests.report.printed_texts import DeclaredClock, Printed
from tests.runtime.filters.mesh_by_column import mesh_by
from tests.runtime.spark.classified_rows import rows_of
from tests.runtime.spark.joins.streams import Files, files, streaming
from tests.runtime.spark.joins.streams import rows as rows_at
from tests.runtime.spark.waiting import wait_until
from thalweg.adapt import POLICIES, ProfilingRequest
from thalweg.adapt.policy import Trial

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NOON = datetime(2026, 1, 1, 12)
CHAIN = "a.k = b.k AND b.m = c.m"
SPAN = 50_000
LIMIT = 1 << 30
"""Memory that is declared, so that no text depends on the machine's."""


def numbers(rows: int = 6_000) -> pa.Table:
    """Numbers of which later ones pass other predicates than earlier ones."""
    n = np.arange(rows)
    x = np.where(n < rows // 2, n * 7 % 50, n * 7 % 1_000)
    return pa.table({"x": x, "kind": [("web", "app", None)[i % 3] for i in n.tolist()]})


def predicates(clock: DeclaredClock) -> tuple[tw.Predicate, ...]:
    """Three, of which the last but one fails on rows that the first one drops."""
    return (
        tw.predicate(clock.taking(2_000, lambda x: x > 0), "x", name="positive"),
        tw.predicate(clock.taking(9_000, lambda x: 500 // x < 100), "x", name="not_tiny", after=["positive"]),
        tw.predicate(clock.taking(500, lambda x: x % 3 == 0), "x", name="third"),
        tw.predicate(lambda x: pc.less(x, 700), "x", name="small", vectorized=True, profile=False),
    )


def batches(table: pa.Table, rows: int = 500) -> list[pa.RecordBatch]:
    """Return a table in pieces."""
    return table.to_batches(max_chunksize=rows)  # type: ignore[no-any-return]


def pieces(streams: dict[str, pa.Table]) -> dict[str, list[pa.RecordBatch]]:
    """Return streams in pieces."""
    return {alias: batches(table, 100) for alias, table in streams.items()}


def counted(rows: Any) -> str:
    """Return how many rows there are."""
    return f"{sum(batch.num_rows for batch in rows):,} rows"


def three_streams(rows: int = 900, at: int = 0) -> dict[str, pa.Table]:
    """Streams in order. A row of a has many partners in b, and few rows of b have one in c."""
    n = np.arange(rows) + at
    return {
        "a": pa.table({"t": n, "k": n % 11, "id": n, "kind": [("x", "y", "z", None)[i % 4] for i in n.tolist()]}),
        "b": pa.table({"t": n, "k": n % 13, "m": n % 90, "id": n}),
        "c": pa.table({"t": n[::5], "m": n[::5] * 7 % 300, "id": n[::5]}),
    }


def many_partners() -> dict[str, list[pa.RecordBatch]]:
    """Streams of which a row of a finds 60 rows in the window of b, and few rows of b find one in that of c."""
    rng, made = np.random.default_rng(60), dict[str, list[pa.RecordBatch]]()
    for alias, rows in {"a": 10_000, "b": 1_500, "c": 150}.items():
        times = np.sort(rng.integers(0, SPAN, rows))
        table = {"t": times, "k": rng.integers(0, 5, rows), "m": rng.integers(0, 1_500, rows), "id": np.arange(rows)}
        made[alias] = batches(pa.table(table), -(-rows // 20))
    return made


class Trying(Forward):
    """Moves a filter at every update, and tries the written order in between. More switches than are listed."""

    name = "trying"
    defaults = ForwardSettings(patience=1)

    def _wanted(self) -> ProfilingRequest:
        start = self.pipeline.start
        trial = Trial(start, rows=20, candidate=start[1], expected_ns=1_000.0) if self.order != start else None
        return replace(super()._wanted(), rows=40, trial=trial)


def filters_in_this_process(clock: DeclaredClock) -> str:
    """Orders that a policy of one's own forces, the default policy by declared times, and a fixed order."""
    printed = Printed()
    for policy in (Forward, Trying, "auto", "static"):
        slice_rows = 50 if policy is Trying else None
        keep = tw.filters(*predicates(clock), policy=policy, seed=1, slice_rows=slice_rows)
        printed.add(f"policy {policy if isinstance(policy, str) else policy.name}", repr(keep))
        printed.add("rows", counted(keep.over(batches(numbers()))))
        printed.add_run(keep)
    list(keep.over(numbers().slice(0, 100)))
    printed.add("after a second run", keep.report())
    printed.add("columns checked", keep.explain(numbers()))
    printed.add_error("a column is missing", lambda: keep.explain(pa.table({"y": [1]})))
    printed.add_error("an unknown guard", lambda: tw.filters(tw.predicate(len, "x", after="none")))
    return str(printed)


def join_in_this_process(clock: DeclaredClock) -> str:
    """A join that keeps nothing, under a policy that forces orders, with a fixed one, and with a table."""
    printed = Printed()
    for policy in (Forward, "static"):
        j = tw.join(CHAIN, 60, "t", 3, policy, plan="multiway", seed=1, slice_rows=50, max_bytes=LIMIT)
        printed.add(f"policy {policy if isinstance(policy, str) else policy.name}", repr(j))
        printed.add("rows", counted(j.over(**pieces(three_streams()))))
        printed.add_run(j)
    trying = tw.join(CHAIN, 60, "t", 3, Trying, plan="multiway", seed=1, slice_rows=20, max_bytes=LIMIT)
    printed.add("rows, with more switches than a record lists", counted(trying.over(**pieces(three_streams(9_000)))))
    printed.add("report()", trying.report())
    with_table = tw.join(
        CHAIN + " AND a.id > b.id", {"a": 60, "b": 20}, {"a": "t", "b": "t"}, policy="static", seed=1,
        select=["a.id", "b.m", "c.*", "event_time"], max_bytes=LIMIT,
    )  # fmt: skip
    printed.add("rows, with a table", counted(with_table.over(**three_streams())))
    printed.add_run(with_table)
    printed.add_error("a limit", lambda: list(
        tw.join("a.k = b.k", 900, "t", policy="static", seed=1, max_matches=5).over(
            **{alias: three_streams()[alias] for alias in "ab"}
        )
    ))  # fmt: skip
    printed.add_error("a stream is missing", lambda: with_table.over(a=three_streams()["a"]))
    printed.add_error("no connection", lambda: tw.join("a.k > b.k", 1, "t"))
    return str(printed)


def tree_of_joins(clock: DeclaredClock) -> str:
    """A plan that is given, one that is chosen from declared statistics, and one that a memory limit ends."""
    printed = Printed()
    known = {
        "a": {"rows_per_second": 1, "distinct": {"k": 11}}, "b": {"rows_per_second": 1, "distinct": {"k": 13, "m": 90}},
        "c": {"rows_per_second": {"low": 0.1, "high": 0.3}, "distinct": {"m": 60}},
    }  # fmt: skip
    given: dict[str, dict[str, Any]] = {
        "the plan is given": {"plan": "((b c) a)"},
        "the plan is given, under a policy that forces orders": {"plan": "((a b) c)", "policy": Forward},
        "the plan follows from statistics": {"statistics": known},
        "the plan with the least memory": {"statistics": known, "objective": "least_memory"},
    }
    for title, settings in given.items():
        j = tw.join(
            CHAIN, 60, "t", **{"policy": "static", **settings}, seed=1, slice_rows=50, max_bytes=LIMIT,
            select=["a.id", "b.id", "c.id"],
        )  # fmt: skip
        printed.add(title, repr(j))
        printed.add("explain() before", j.explain())
        printed.add("rows", counted(j.over(**pieces(three_streams()))))
        printed.add_run(j)
    printed.add_error("no plan", lambda: tw.join(CHAIN, 60, "t", plan="((a c) b)"))
    for limit in (LIMIT, 420_000):
        j = tw.join(CHAIN, SPAN // 5, "t", seed=1, max_bytes=limit, select=["a.id", "b.id", "c.id"])
        printed.add(f"a plan that changes, max_bytes={limit:,}", counted(j.over(**many_partners())))
        printed.add_run(j)
    return str(printed)


def chart_of_plans(clock: DeclaredClock) -> str:
    """A join and filters that look their order up in a chart, and what the charts say."""
    printed = Printed()
    known = {
        "a": {"rows_per_second": {"low": 0.5, "high": 2}}, "b": {"rows_per_second": 1}, "c": {"rows_per_second": 0.2},
        "partners": {"a.k = b.k": (5, None), "b.m = c.m": (0.1, None)},
    }  # fmt: skip
    j = tw.join(
        CHAIN, 60, "t", policy="chart", seed=1, statistics=known, max_bytes=LIMIT, select=["a.id", "b.id", "c.id"]
    )
    printed.add("explain() before", j.explain())
    printed.add("chart() before", j.chart(k=5))
    printed.add_dict("chart().to_dict() before", j.chart(k=3, ranges={"c": (0.1, 10)}).to_dict())
    printed.add("rows", counted(j.over(**pieces(three_streams(3_000)))))
    printed.add_run(j)
    printed.add("chart()", j.chart(k=5))
    keep = tw.filters(*predicates(clock), policy="chart", seed=1)
    printed.add("rows of filters", counted(keep.over(batches(numbers()))))
    printed.add_run(keep)
    view = keep.chart(k=3, ranges={"rows_per_second": (10, 1_000)})
    printed.add("chart() of filters", view)
    printed.add_dict("chart().to_dict() of filters", view.to_dict())
    printed.add_error("nothing is known", lambda: tw.join(CHAIN, 60, "t").chart())
    printed.add_error("no dimension", lambda: j.chart(ranges={"d": (1, 2)}))
    return str(printed)


def has_bit(k: int, bits: pa.Array) -> np.ndarray:
    """Return which numbers have the k-th bit."""
    found: np.ndarray = (bits.to_numpy() >> k) & 1 == 1
    return found


def meshes(clock: DeclaredClock) -> str:
    """Filters and a join whose rows take routes by a column."""
    printed = Printed()
    bits = [
        tw.predicate(clock.taking_per_row(10_000, partial(has_bit, k)), "first", name=f"bit {k}", vectorized=True)
        for k in range(4)
    ]
    learned = tw.filters(*bits, policy="mesh", classify_by=["source"], seed=1)
    printed.add("rows on learned routes", counted(learned.over(batches(rows_of(0), 4_000))))
    printed.add_run(learned)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(POLICIES, "mesh", mesh_by("kind", "web", "app"))
        keep = tw.filters(*predicates(clock)[2:], policy="mesh", classify_by=["kind"], seed=1)
        printed.add("rows", counted(keep.over(batches(numbers()))))
        printed.add_run(keep)
        patch.setitem(POLICIES, "mesh", mesh_by("kind", "x", "y"))
        on, select = "a.k = b.k AND a.id = c.id", ["a.id"]
        j = tw.join(on, 60, "t", policy="mesh", classify_by=["a.kind"], select=select, seed=1, max_bytes=LIMIT)
        printed.add("rows of the join", counted(j.over(**pieces(three_streams()))))
        printed.add_run(j)
        hidden = tw.join(
            on, 60, "t", policy="mesh", classify_by=["a.kind"], select=select, seed=1, max_bytes=LIMIT, redact=True
        )
        printed.add("rows of a redacted join", counted(hidden.over(**pieces(three_streams()))))
        printed.add_run(hidden)
    one = tw.predicate(len, "x")
    printed.add_error("a policy without classes", lambda: tw.filters(one, policy="sweep", classify_by=["x"]))
    printed.add_error("no such column", lambda: list(tw.filters(one, policy="mesh", classify_by=["y"]).over(numbers())))
    printed.add_error("no such stream", lambda: tw.join(CHAIN, 60, "t", policy="mesh", classify_by=["d.kind"]))
    return str(printed)


def ticks(rows: int, step: float = 0.5, late: int = 0, begin: float = 0.0) -> pa.Array:
    """Times in order, but for every so many-th row, which is a minute early."""
    seconds = [begin + n * step - (60 if late and n % late == late - 1 else 0) for n in range(rows)]
    return pa.array([NOON + timedelta(seconds=s) for s in seconds], pa.timestamp("us"))


def stocks(rows: int = 600) -> pa.Table:
    """Return prices of a few sectors."""
    n = np.arange(rows)
    return pa.table({"ts": ticks(rows), "sector": n % 7, "price": n * 37 % 100})


def news(rows: int = 100, begin: float = 0.0) -> pa.Table:
    """Return news of a few sectors, with fewer rows than prices."""
    return pa.table({"ts": ticks(rows, 3.0, begin=begin), "sector": np.arange(rows) % 11})


QUERY = """
SELECT s.sector, count(*) AS hits, max(s.price) AS top
FROM stock [RANGE 1 MINUTE] AS s, news [RANGE 2 MINUTES] AS n
WHERE bullish(s.price) AND odd(s.price) AND s.sector = n.sector AND s.price < :most
GROUP BY s.sector, TUMBLE(1 MINUTE)
HAVING count(*) > 2
"""


def registered(s: tw.Session, clock: DeclaredClock, stock: Any = None, bulletins: Any = None) -> tw.Session:
    """Register the streams, a table and the functions."""
    s.stream(
        "stock",
        stocks() if stock is None else stock,
        time="ts",
        statistics={"rows_per_second": 2, "distinct": {"sector": 7}},
    )
    s.stream(
        "news",
        news() if bulletins is None else bulletins,
        time="ts",
        lateness="5 seconds",
        statistics={"rows_per_second": 0.3},
    )
    s.function("bullish", clock.taking(3_000, bullish), returns="boolean", cost=3)
    s.function("odd", clock.taking(1_000, odd), returns="boolean", safe=True)
    return s


def bullish(price: int) -> bool:
    """Whether it is high."""
    return price > 40


def odd(price: int) -> bool:
    """Whether it is odd."""
    return price % 2 == 1


def sql_in_this_process(clock: DeclaredClock) -> str:
    """Filters, a join with groups, a table, and a query of one stream with a chart."""
    printed = Printed()
    s = registered(tw.session(), clock)
    s.table("names", pa.table({"sector": [0, 1, 2], "title": ["oil", "gold", None]}), statistics={"rows": 3})
    texts = {
        "a join with groups": QUERY,
        "filters": "SELECT sector, price * 2 AS twice FROM stock WHERE bullish(price) AND odd(price) AND sector <> 3",
        "a join with a table":
            "SELECT s.price, t.title FROM stock s, names t WHERE s.sector = t.sector AND odd(s.price)",
        "three windows":
            "SELECT a.price, b.price AS other FROM stock [RANGE 5 SECONDS] a, stock [RANGE 5 SECONDS] b, "
            "news [ROWS 3] n WHERE a.sector = b.sector AND b.sector = n.sector",
    }  # fmt: skip
    for title, text in texts.items():
        q = s.query(
            text, args={"most": 95} if ":most" in text else None, policy="auto" if title == "filters" else "static",
            seed=1, max_bytes=LIMIT,
        )  # fmt: skip
        printed.add(title, repr(q))
        printed.add("explain() before", q.explain())
        printed.add("rows", f"{q.dataframe().num_rows:,} rows")
        printed.add_run(q)
        if title == "filters":
            printed.add("chart()", q.chart(k=3))
    kept = s.query(texts["three windows"], policy="static", plan="((b n) a)", objective="least_memory", max_bytes=LIMIT)
    printed.add("a plan that is given", kept.explain())
    printed.add_error("no such column", lambda: s.query("SELECT prize FROM stock"))
    printed.add_error("no parameter", lambda: s.query("SELECT price FROM stock WHERE price < :most"))
    printed.add_error("no window", lambda: s.query("SELECT a.price FROM stock a, news n WHERE a.sector = n.sector"))
    return str(printed)


def failed_rows(clock: DeclaredClock) -> str:
    """Rows on which predicates raise: the error, and what is set aside."""
    printed = Printed()
    raising = (
        tw.predicate(clock.taking(1_000, lambda x: 100 // x > 3), "x", name="divides"),
        tw.predicate(clock.taking(2_000, lambda x, y: int(y) > x), "x", "y", name="reads"),
        tw.predicate(clock.taking(500, lambda x: x < 9), "x", name="small"),
    )
    rows = pa.table({"x": [n % 12 for n in range(600)], "y": ["7" if n % 5 else "none" for n in range(600)]})
    for redact in (False, True):
        keep = tw.filters(*raising, policy="static", redact=redact)
        printed.add_error(f"a row that fails, redact={redact}", lambda: list(keep.over(rows)))  # noqa: B023
    keep = tw.filters(*raising, policy="static", on_error="dead-letter")
    tagged = pa.Table.from_batches(keep.tagged_over(rows))
    failed = pa.Table.from_batches(keep.failed_over(rows.slice(0, 60)))
    printed.add("rows", f"{tagged.num_rows:,} rows, {failed.num_rows:,} failed in a tenth")
    printed.add("failed_over()", "\n".join(map(str, failed.slice(0, 3).to_pylist())))
    printed.add_run(keep)
    printed.add_error("not set aside", lambda: list(tw.filters(*raising).failed_over(rows)))
    s = tw.session()
    s.stream("e", rows.append_column("ts", ticks(600)), time="ts")
    s.function("divides", lambda x: 100 // x > 3, returns="boolean")
    s.function("reads", lambda y: int(y) > 3, returns="boolean")
    text = "SELECT x, y FROM e WHERE divides(x) AND reads(y) AND x < 9"
    printed.add_error("a row that fails in SQL", lambda: s.query(text, policy="static").dataframe())
    q = s.query(text, policy="static", on_error="dead-letter")
    printed.add("rows of SQL", f"{q.dataframe().num_rows:,} rows, {q.failed().num_rows:,} failed")
    printed.add("failed()", "\n".join(map(str, q.failed().slice(0, 3).to_pylist())))
    printed.add_run(q)
    joined = "SELECT a.x FROM e [RANGE 2 SECONDS] a, e [RANGE 2 SECONDS] b WHERE divides(a.x) AND a.x = b.x"
    printed.add_error("a row that fails after a join", lambda: s.query(joined, policy="static").dataframe())
    aside = s.query(joined, policy="static", on_error="dead-letter", max_bytes=LIMIT, seed=1)
    printed.add("rows of a join", f"{aside.dataframe().num_rows:,} rows, {aside.failed().num_rows:,} failed")
    printed.add_run(aside)
    return str(printed)


def warned(call: Callable[[], Any]) -> tuple[Any, str]:
    """Return what a call returns, and the warnings that it gives."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = call()
    return found, "\n".join(f"{each.category.__name__}: {each.message}" for each in caught) or "none"


def late_rows(clock: DeclaredClock) -> str:
    """Rows that come too late for a join or a group, have no time, or no key."""
    printed = Printed()
    a = pa.table({"ts": ticks(400, late=10), "k": [n % 5 or None for n in range(400)], "id": range(400)})
    b = pa.table({"ts": ticks(400), "k": [n % 4 for n in range(400)], "id": range(400)})
    timeless = pa.table({"ts": pa.array([None, None], pa.timestamp("us")), "k": [1, 2], "id": [400, 401]})
    streams = {"a": [*batches(a, 50), *timeless.to_batches()], "b": batches(b, 50)}
    j = tw.join("a.k = b.k", "5 seconds", "ts", "2 seconds", "static", select=["a.id", "b.id"], seed=1, max_bytes=LIMIT)
    rows, said = warned(lambda: counted(j.over(**streams)))
    printed.add("rows", rows)
    printed.add("warnings", said)
    tagged, said = warned(lambda: pa.Table.from_batches(j.tagged_over(**streams)))
    lost = tagged.filter(pc.is_valid(tagged["lost"]))
    printed.add("tagged_over()", "\n".join(map(str, [tagged.num_rows, *lost.slice(0, 3).to_pylist()])))
    printed.add("warnings of tagged_over()", said)
    printed.add("late_over()", counted(j.late_over(**streams)))
    printed.add_run(j)
    s = tw.session()
    s.stream("a", a, time="ts", lateness="2 seconds")
    s.stream("b", b, time="ts")
    for title, text in {
        "a join": "SELECT a.id, b.id AS other FROM a [RANGE 5 SECONDS], b [RANGE 5 SECONDS] WHERE a.k = b.k",
        "groups": "SELECT k, count(*) AS n FROM a GROUP BY k, TUMBLE(10 SECONDS)",
        "windows of rows": "SELECT a.id, b.id AS other FROM a [ROWS 3], b [RANGE 5 SECONDS] WHERE a.k = b.k",
    }.items():
        s.stream("a", pa.RecordBatchReader.from_batches(a.schema, batches(a, 50)), time="ts", lateness="2 seconds")
        q = s.query(text, policy="static", seed=1, max_bytes=LIMIT)
        found, said = warned(lambda: q.dataframe().num_rows)  # noqa: B023
        printed.add(f"{title} in SQL", f"{found:,} rows")
        printed.add("warnings", said)
        printed.add_run(q)
    return str(printed)


def no_run(clock: DeclaredClock) -> str:
    """Before anything has run."""
    printed = Printed()
    keep = tw.filters(*predicates(clock))
    j = tw.join(CHAIN, "10 seconds", "ts", max_bytes=LIMIT)
    q = registered(tw.session(), clock).query(QUERY, args={"most": 95}, max_bytes=LIMIT)
    for thing in (keep, j, q):
        printed.add("repr()", repr(thing))
        printed.add_run(thing)
    for policy in ("a-greedy", "sweep", "independent", "local-swaps", "chart", "mesh", "eddy", "duckdb-swap"):
        printed.add(f"filters, policy {policy}", tw.filters(*predicates(clock)[2:], policy=policy).explain())
        printed.add(f"join, policy {policy}", tw.join(CHAIN, 10, "t", policy=policy, max_bytes=LIMIT).explain())
    strict = tw.filters(
        *predicates(clock), policy="auto", budget=0.05, slice_rows=64, seed=3, on_error="dead-letter", redact=True,
        time_limit=5,
    )  # fmt: skip
    printed.add("settings of filters", strict.explain())
    limited = tw.join(
        CHAIN, {"a": "10 seconds", "b": "1 minute", "c": 3}, "ts", {"a": "2 seconds", "b": 0, "c": 0}, "auto",
        budget=0.05, max_matches=99, max_bytes=LIMIT, buckets=3, idle_after="1 hour", max_ahead=None, seed=3,
        redact=True, slice_rows=64, objective="steady_rate",
    )  # fmt: skip
    printed.add("settings of a join", limited.explain())
    printed.add_error("no such policy", lambda: tw.filters(tw.predicate(len, "x"), policy="atuo"))
    printed.add_error("a budget", lambda: tw.filters(tw.predicate(len, "x"), budget=2))
    return str(printed)


HERE: dict[str, Callable[[DeclaredClock], str]] = {
    "filters": filters_in_this_process, "join": join_in_this_process, "tree": tree_of_joins, "chart": chart_of_plans,
    "mesh": meshes, "sql_here": sql_in_this_process, "failed": failed_rows, "late": late_rows, "no_run": no_run,
}  # fmt: skip
"""The scenarios without Spark."""


def ended(query: Any) -> None:
    """Wait until a streaming query has read all that is there."""
    try:
        assert query.awaitTermination(120), "the stream did not end"
    finally:
        query.stop()


def reported(thing: Any, rows: int, of: Callable[[Any], int]) -> None:
    """Wait until the records of the last micro-batch have arrived."""
    wait_until(lambda: sum(map(of, thing.report().sections)) == rows, "every micro-batch in the report")


def rows_of_streams(section: Any) -> int:
    """Return the rows that a join has read."""
    return sum(stream["rows"] for stream in section.to_dict()["streams"].values())


def rows_of_parts(report: Any) -> dict[str, int]:
    """Return the rows that each part of a query has read."""
    return {
        name: sum(rows_of_streams(one) if hasattr(one, "streams") else one.to_dict()["rows"] for one in part.sections)
        for name, part in report.parts
    }


def even(x: int) -> bool:
    """Whether it is even."""
    return x % 2 == 0


def read(payload: str) -> bool:
    """Raise for what is no number."""
    return int(payload) > 5


def native_predicates(spark: SparkSession, folder: Path) -> str:
    """Spark's own expressions among predicates: before a run, on finished data, on a stream, and alone."""
    from pyspark.sql import functions as F

    printed = Printed(folder)
    table = pa.table({"x": range(1_000), "payload": [None if n % 10 == 0 else str(n % 50) for n in range(1_000)]})
    df = spark.createDataFrame(table.to_pandas().astype({"x": "int64"})).coalesce(1)
    chain = (
        F.col("payload").isNotNull(), tw.predicate(F.col("x") > 99, name="large"),
        tw.predicate(even, "x"), tw.predicate(read, "payload", after="payload is not null"),
    )  # fmt: skip
    keep = tw.filters(*chain, policy="static", seed=1)
    printed.add("repr()", repr(keep))
    printed.add("explain() before", keep.explain(df))
    printed.add("rows", df.transform(keep).count())
    printed.add_run(keep)
    alone = tw.filters(*chain[:2], policy="static")
    printed.add("rows, natives only", df.transform(alone).count())
    printed.add_run(alone)
    streams = files(folder / "natives", {"a": [table.slice(0, 600), table.slice(600)]})
    watched = tw.filters(*chain, policy="static")
    out = streams["a"].stream(spark).transform(watched)
    ended(out.writeStream.format("noop").trigger(availableNow=True).start())
    reported(watched, 810, lambda section: section.rows)
    printed.add("a stream", watched.report())
    printed.add_error("without Spark", lambda: list(keep.over(table)))
    raising = tw.filters(*chain[2:3], tw.predicate(read, "payload"), policy="static", on_error="dead-letter")
    printed.add("rows that failed", raising.failed(df).count())
    printed.add("report() with rows that failed", raising.report())
    return str(printed)


def timed(seconds: list[int], shift: float) -> pa.Table:
    """Rows of a stream on Spark. Streams are joined in the order of their first times, so no two are equal."""
    return rows_at([at + shift for at in seconds]).append_column("m", [[n % 3 for n in range(len(seconds))]])


def two_rounds(folder: Path) -> dict[str, Files]:
    """Three streams of two files each, of which a micro-batch reads one; a has a late row in the second."""
    at = {
        "a": ([0, 1, 2, 3, 4, 5], [1, 30, 31, 32]), "b": ([0, 1, 2, 3, 4, 6], [30, 31, 33]), "c": ([0, 2, 5], [31, 34]),
    }  # fmt: skip
    shifts = {"a": 0.0, "b": 0.2, "c": 0.4}
    return files(folder, {alias: [timed(seconds, shifts[alias]) for seconds in both] for alias, both in at.items()})


def join_on_spark(spark: SparkSession, folder: Path) -> str:
    """A join of finished data and of streams, in two buckets; with and without files that tasks write."""
    printed = Printed(folder)
    on = "a.k = b.k AND b.m = c.m"

    def join(**given: Any) -> tw.Join:
        return tw.join(
            on, "5 seconds", "ts", "2 seconds", "static", select=["a.id", "b.id", "c.id"], buckets=2, seed=1,
            max_bytes=LIMIT, max_ahead=None, **given,
        )  # fmt: skip

    streams = two_rounds(folder / "in")
    frames = streaming(spark, streams)
    finished = {alias: each.finished(spark) for alias, each in streams.items()}
    j = join()
    printed.add("explain() of finished data, before", j.explain(**finished))
    printed.add("rows", j(**finished).count())
    printed.add_run(j, **finished)
    j = join(plan="((b c) a)")
    printed.add("explain() of streams, before", j.explain(**frames))
    out = j(**frames).writeStream.format("noop").trigger(availableNow=True)
    ended(out.option("checkpointLocation", str(folder / "noop")).start())
    reported(j, 24, rows_of_streams)
    printed.add_run(j, **frames)
    j, place = join(), folder / "written"
    ended(j.start(path=place / "out", checkpoint=place / "checkpoint", trigger="availableNow", **frames))
    reported(j, 24, rows_of_streams)
    printed.add("tasks write: explain()", j.explain(**frames))
    printed.add("tasks write: report()", j.report())
    other = tw.join(on.replace("a.k = b.k", "a.id = b.id"), "5 seconds", "ts", policy="static", buckets=2)
    printed.add_error(
        "another join's checkpoint",
        lambda: other.start(path=place / "out", checkpoint=place / "checkpoint", trigger="availableNow", **frames),
    )
    printed.add_error("no column", lambda: j.explain(a=frames["a"], b=frames["b"], c=frames["c"].drop("m")))
    printed.add_error("no place", lambda: j.start(**frames))
    return str(printed)


def sql_on_spark(spark: SparkSession, folder: Path) -> str:
    """A query of finished data, and one of streams that is started twice on a checkpoint."""
    printed = Printed(folder)
    s = tw.session(spark)
    for name, table in (("stock", stocks()), ("news", news(begin=0.25))):
        one_key = table.to_pandas().assign(sector=3)  # which keys share a bucket is drawn by chance
        df = spark.createDataFrame(one_key).coalesce(1)
        s.stream(name, df, time="ts", statistics={"rows_per_second": 2, "distinct": {"sector": 9}})
    s.function("bullish", bullish, returns="boolean", cost=3)
    s.function("odd", odd, returns="boolean", safe=True)
    q = s.query(QUERY, args={"most": 95}, policy="static", seed=1, max_bytes=LIMIT)
    printed.add("repr()", repr(q))
    printed.add("explain() before", q.explain())
    printed.add("rows", q.dataframe().count())
    printed.add_run(q)
    streams = two_rounds(folder / "in")
    live = tw.session(spark)
    for name, each in streams.items():
        live.stream(name, each.stream(spark), time="ts", lateness="2 seconds")
    live.function("even", even, returns="boolean")
    live.function("later", later, returns="boolean")
    texts = {
        "a join":
            "SELECT a.id AS a, b.id AS b FROM a, b WHERE a.k = b.k AND even(a.id) AND later(b.id) WINDOW 5 SECONDS",
        "groups": "SELECT k, count(*) AS n FROM a WHERE even(id) GROUP BY k, TUMBLE(10 SECONDS)",
    }  # fmt: skip
    known = {"a join": {"filter of a": 10, "filter of b": 9, "join": 12}, "groups": {"filter of a": 10}}
    for title, text in texts.items():
        live_q = live.query(
            text, policy="static", seed=1, max_bytes=LIMIT, max_ahead=None, name=title.replace(" ", "_")
        )
        place = folder / title.replace(" ", "-")
        handle = live_q.start(path=str(place / "out"), checkpoint=str(place / "checkpoint"), trigger="availableNow")
        assert handle.awaitTermination(120)
        wait_until(lambda: "batches" in handle.report().to_dict(), "the times of micro-batches")  # noqa: B023
        wait_until(lambda: rows_of_parts(handle.report()) == known[title], "every micro-batch in the report")  # noqa: B023
        printed.add(f"{title}, a stream: explain()", handle.explain())
        printed.add(f"{title}, a stream: report()", handle.report())
        printed.add_dict(f"{title}, a stream: report().to_dict()", handle.report().to_dict())
    place = folder / "a-join"
    printed.add_error("another query's checkpoint", lambda: live.query(texts["groups"]).start(
        path=str(place / "out"), checkpoint=str(place / "checkpoint"), trigger="availableNow"
    ))  # fmt: skip
    return str(printed)


def later(number: int) -> bool:
    """Whether it is not the first."""
    return number > 0


ON_SPARK: dict[str, Callable[[SparkSession, Path], str]] = {
    "natives": native_predicates, "sink": join_on_spark, "sql_spark": sql_on_spark,
}  # fmt: skip
"""The scenarios that need Spark."""
