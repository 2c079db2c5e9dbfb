"""What would have other results on Spark than without it, found in a plan and two settings."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest

from thalweg.errors import PlanError, SqlError
from thalweg.optimizer import optimize
from thalweg.plan.query.query_plan import QueryPlan
from thalweg.plan.query.relation import Catalog, Relation
from thalweg.plan.sql.analysis import read_query
from thalweg.runtime.spark.sql.requirements import demand
from thalweg.stats import NOTHING_KNOWN

SCHEMA = pa.schema({"ts": pa.timestamp("us", "UTC"), "k": pa.int64(), "id": pa.int64()})


def planned(text: str) -> QueryPlan:
    query = read_query(text, Catalog({name: Relation(name, SCHEMA, "ts", 0) for name in "ab"}, {}), {})
    return optimize(query, "spark", "auto", NOTHING_KNOWN)


def settings(zone: str = "UTC") -> Callable[[str, str], str | None]:
    given = {"spark.sql.session.timeZone": zone}

    def setting(name: str, default: str) -> str | None:
        return given.get(name, default)

    return setting


def test_rows_windows_are_refused_with_the_remedy() -> None:
    with pytest.raises(SqlError, match=r"line 1, column 18: a \[ROWS 5\].*use a time window"):
        demand(settings(), planned("SELECT a.id FROM a [ROWS 5], b [RANGE 1 SECOND] WHERE a.k = b.k"), "ab")
    with pytest.raises(SqlError, match=r"line 1, column 8: count\(DISTINCT a.k\): .*finished data"):
        demand(settings(), planned("SELECT count(DISTINCT k) FROM a [RANGE 1 SECOND]"), "a")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT hour(window_start) AS h, count(*) AS c FROM a [RANGE 1 HOUR]",
        "SELECT count(*) AS c FROM a [RANGE 1 HOUR] HAVING hour(window_start) > 3",
        "SELECT a.k FROM a, b WHERE hour(a.ts) = hour(b.ts) WINDOW 1 SECOND",
        "SELECT a.k FROM a, b WHERE a.k = b.k AND (hour(a.ts) < 3 OR b.k = 1) WINDOW 1 SECOND",
        "SELECT k FROM a WHERE ts > DATE'2026-01-01'",
    ],
)
def test_every_part_of_a_query_is_looked_at_for_times_of_a_zone(text: str) -> None:
    demand(settings(), planned(text), "ab")
    with pytest.raises(PlanError, match=r"in the time zone Europe/Berlin.*or use TIMESTAMP_NTZ"):
        demand(settings("Europe/Berlin"), planned(text), "ab")


def test_spark_reads_the_arguments_of_date_trunc_in_a_zone() -> None:
    with pytest.raises(PlanError, match=r"date_trunc.*Europe/Berlin.*'UTC'\)$"):
        demand(settings("Europe/Berlin"), planned("SELECT date_trunc('HOUR', ts) AS h FROM a"), "a")
