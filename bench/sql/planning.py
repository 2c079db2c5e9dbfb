"""From a query's text to its physical plan: how long that takes, for each of a set of queries."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from typing import Any

import thalweg as tw
from bench.sql.queries import QUERIES, registered
from tests.session.corpus_query import all_queries
from tests.session.corpus_streams import register

LIMIT_MS = 20.0


def plans(rounds: int) -> Iterator[dict[str, Any]]:
    """Yield one line per query: the median and the maximum, in milliseconds. The first run, which loads modules, is
    reported separately."""
    session = registered()
    for name, text in QUERIES.items():
        first, *others = _ms(session, text, {}, rounds + 1)
        yield {
            "query": name, "ms_median": round(statistics.median(others), 2), "ms_most": round(max(others), 2),
            "ms_first": round(first, 1),
        }  # fmt: skip
    yield _corpus(rounds)


def _corpus(rounds: int) -> dict[str, Any]:
    """Return the slowest median of all queries that the tests run."""
    session = register(tw.session(), lambda _, stream: stream.table, lambda table: table)
    took = {query.name: _ms(session, query.ours, query.args, rounds) for query in all_queries()}
    medians = {name: statistics.median(each) for name, each in took.items()}
    slowest = max(medians, key=medians.__getitem__)
    return {
        "query": f"{len(medians)} of the corpus, the slowest ({slowest})", "ms_median": round(medians[slowest], 2),
        "ms_most": round(max(map(max, took.values())), 2),
        "ms_median_of_all": round(statistics.median(medians.values()), 2),
    }  # fmt: skip


def _ms(session: tw.Session, text: str, args: dict[str, Any], rounds: int) -> list[float]:
    took = []
    for _ in range(rounds):
        begun = time.perf_counter()
        session.query(text, args=args).explain()
        took.append(1000 * (time.perf_counter() - begun))
    return took
