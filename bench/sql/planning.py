"""From a query's text to its physical plan: how long that takes, for each of a set of queries."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

import thalweg as tw
from tests.session.corpus_query import all_queries
from tests.session.corpus_streams import register

LIMIT_MS = 20.0
_TIME = pa.timestamp("us")
STREAMS: dict[str, dict[str, pa.DataType]] = {
    "stock": {"company_name": pa.string(), "symbol": pa.string(), "price": pa.float64(), "data": pa.string(),
              "sector": pa.string()},
    "news": {"sector": pa.string(), "words": pa.int32()},
    "research": {"company_name": pa.string()},
    **{f"r{n}": {"pid": pa.int64(), "size": pa.int32()} for n in range(1, 5)},
    **{name: {"src_host": pa.int32(), "dest_host": pa.int32(), "bytes": pa.int64()} for name in ("tcp", "udp", "sf")},
}  # fmt: skip
QUERIES = {
    "stocks, news, research": """
        SELECT s.company_name, s.symbol, s.price
        FROM stock AS s, news [RANGE 1 HOUR] AS n, research [RANGE 3 HOURS] AS r
        WHERE matches(s.data) AND s.sector = n.sector AND s.company_name = r.company_name WINDOW 60 SECONDS""",
    "four routers": """
        SELECT sum(r1.size) AS bytes FROM r1 [RANGE 10 MINUTES], r2 [RANGE 10 MINUTES], r3 [RANGE 10 MINUTES],
          r4 [RANGE 10 MINUTES]
        WHERE r1.pid = r2.pid AND r1.pid = r3.pid AND r1.pid = r4.pid GROUP BY TUMBLE(1 MINUTE)""",
    "one host": "SELECT tcp.src_host, tcp.dest_host FROM tcp WHERE tcp.dest_host = 2 WINDOW 1 SECOND",
    "packets": """
        SELECT * FROM tcp, udp, sf
        WHERE tcp.src_host = udp.dest_host AND udp.dest_host = sf.dest_host WINDOW 1 SECOND""",
    "groups": """
        SELECT src_host, count(*) AS packets, sum(bytes) AS bytes, window_start
        FROM tcp [RANGE 1 MINUTE SLIDE 10 SECONDS]
        WHERE bytes BETWEEN 40 AND 1500 AND dest_host IN (1, 2, 3) GROUP BY src_host HAVING sum(bytes) > 10000""",
    "many expressions": """
        SELECT CASE WHEN price > 100 THEN 'dear' WHEN price IS NULL THEN 'unknown' ELSE lower(symbol) END AS kind,
          round(price * 1.1e0, 2) AS more, date_trunc('hour', ts) AS hour, coalesce(sector, 'none') AS sector
        FROM stock WHERE (symbol LIKE 'A%' OR length(company_name) > 3) AND NOT (price < 1 OR price >= 1e6)
          AND matches(data) AND upper(sector) <> 'BANKS' AND price * 2 > 10 AND price < 5000""",
}


def plans(rounds: int) -> Iterator[dict[str, Any]]:
    """Yield one line per query: the median and the maximum, in milliseconds. The first run, which loads modules, is
    reported separately."""
    session = tw.session()
    for name, columns in STREAMS.items():
        session.stream(name, pa.schema({"ts": _TIME, **columns}).empty_table(), time="ts")
    session.function("matches", lambda data: data == "a", "boolean")
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
