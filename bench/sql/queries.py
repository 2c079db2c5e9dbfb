"""Queries whose planning is measured, and their streams."""

from __future__ import annotations

import pyarrow as pa

import thalweg as tw

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


def registered() -> tw.Session:
    """Return a session with the streams, which have no rows."""
    session = tw.session()
    for name, columns in STREAMS.items():
        session.stream(name, pa.schema({"ts": _TIME, **columns}).empty_table(), time="ts")
    session.function("matches", lambda data: data == "a", "boolean")
    return session
