"""The rows that the 8 buckets of a join hold, if the streams have rates of 1, 10 and 1000 rows per second.

The rows of `a.k = b.k AND b.m = c.m` are spread by k or by m; a stream without that column is replicated to every
bucket. The rows held are at most 1.1 times those of the better class, whatever stream is the fast one. Here the class
is the one that the optimizer chooses for the query in SQL; `bench/plans/on_spark.py` counts the rows of a stream.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import reduce
from itertools import permutations
from typing import Any

import pyarrow as pa

from thalweg.optimizer import optimize
from thalweg.plan.joins.graph import JoinGraph
from thalweg.plan.query.nodes import WindowJoin
from thalweg.plan.query.relation import Catalog, Relation
from thalweg.plan.sql.analysis import read_query
from thalweg.stats import Knowledge

BUCKETS = 8
RATES = (1, 10, 1000)
MOST = 1.1
ON = "a.k = b.k AND b.m = c.m"
QUERY = f"SELECT a.k FROM a, b, c WHERE {ON} WINDOW 10 SECONDS"
WINDOW_S = 10

Line = dict[str, Any]


def rows_by_class(rates: Mapping[str, float]) -> dict[str, float]:
    """Return the rows that all buckets hold, by the column that spreads them.

    >>> rows_by_class({"a": 1, "b": 10, "c": 1000})
    {'k': 80110, 'm': 10180}
    """
    graph = JoinGraph.of([("a", "k", "b", "k"), ("b", "m", "c", "m")])
    return {
        next(iter(members.values())): rows_in_buckets(rates, [alias for alias in rates if alias not in members])
        for members in graph.column_of
    }


def rows_in_buckets(rates: Mapping[str, float], replicated: list[str]) -> float:
    """Return the rows that all buckets hold if these streams are replicated."""
    return sum(rate * WINDOW_S * (BUCKETS if alias in replicated else 1) for alias, rate in rates.items())


def layout_lines() -> Iterator[Line]:
    """Yield the rows held with the chosen class over those with the best, for every way to give out the rates."""
    ratios = []
    for rates in all_rates():
        column = chosen_class(rates)
        held = rows_by_class(rates)
        ratios.append(held[column] / min(held.values()))
        yield {
            "bench": "plans", "line": "buckets", "where": "layout", "rows_per_second": rates, "class": column,
            "rows_held": held, "over_best": round(ratios[-1], 4),
        }  # fmt: skip
    yield target("layout", max(ratios))


def all_rates() -> list[dict[str, float]]:
    """Return every way to give the three rates to the streams."""
    return [dict(zip("abc", rates, strict=True)) for rates in permutations(RATES)]


def chosen_class(rates: Mapping[str, float]) -> str:
    """Return the column by which a query on Spark spreads its rows if these rates are declared."""
    fields = {"ts": pa.timestamp("us"), "k": pa.int64(), "m": pa.int64()}
    catalog = Catalog({alias: Relation(alias, pa.schema(fields), "ts", 0) for alias in rates}, {})
    known = reduce(Knowledge.merged, (Knowledge.declared(alias, rate) for alias, rate in rates.items()))
    join = optimize(read_query(QUERY, catalog, {}), "spark", "auto", known).join
    assert isinstance(join, WindowJoin)
    assert join.spread_by is not None
    ((_, column), *_) = join.spread_by.columns
    return column


def target(where: str, worst: float) -> Line:
    """Return the line of the target."""
    return {
        "bench": "plans", "line": "target", "scenario": "buckets", "where": where,
        "target": f"rows held in {BUCKETS} buckets over those of the best class", "value": round(worst, 4),
        "limit": MOST, "verdict": "reached" if worst <= MOST else "missed",
    }  # fmt: skip
