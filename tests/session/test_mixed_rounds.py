"""Rounds of joins and queries of one stream, mixed: one waits for its input, one fails, one is stopped, one finds
nothing, and each of the others gets the rows that DuckDB finds."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import thalweg as tw
from tests.long_run import examples
from tests.runtime.joins.drawn_charts import always_changed, drawn_charts
from tests.session.corpus_query import by_duckdb
from tests.session.test_query_rounds import Gate, ids, rows

WITHIN = "abs(epoch_us(a.ts) - epoch_us(b.ts)) <= 5000000"
LATEST = "greatest(a.ts, b.ts, c.ts)"
WITHIN_THREE = " AND ".join(f"epoch_us({LATEST}) - epoch_us({alias}.ts) <= 5000000" for alias in "abc")
QUERIES = {
    "plain": ("SELECT n FROM a WHERE n % 3 = 0", "SELECT n FROM a WHERE n % 3 = 0"),
    "pair": (
        "SELECT a.n, b.n AS m FROM a, b WHERE a.k = b.k WINDOW 5 SECONDS",
        f"SELECT a.n, b.n AS m FROM a, b WHERE a.k = b.k AND {WITHIN}",
    ),
    "three": (
        "SELECT a.n, b.n AS m, c.n AS o FROM a, b, c WHERE a.k = b.k AND b.k = c.k AND c.n % 9 = 0 WINDOW 5 SECONDS",
        f"SELECT a.n, b.n AS m, c.n AS o FROM a, b, c WHERE a.k = b.k AND b.k = c.k AND c.n % 9 = 0 AND {WITHIN_THREE}",
    ),
    "groups": ("SELECT k, count(*) AS n FROM b GROUP BY k, TUMBLE(10 SECONDS)",
               "SELECT k, count(*) AS n FROM b GROUP BY k, time_bucket(INTERVAL 10 SECONDS, ts)"),
    "nothing": ("SELECT n FROM c WHERE n < 0", "SELECT n FROM c WHERE n < 0"),
}  # fmt: skip
"""By name, a query in our words and in DuckDB's."""
HELD_UP = {
    "plain": "SELECT n FROM {}", "join": "SELECT a.n, x.n AS m FROM a, {} AS x WHERE a.k = x.k WINDOW 5 SECONDS"
}  # fmt: skip
"""A query of a stream that does not come."""
COUNT = 200


def tables() -> dict[str, pa.Table]:
    return {name: pa.Table.from_batches(rows(COUNT, n)) for n, name in enumerate("abc")}


def broken() -> Iterator[pa.RecordBatch]:
    yield rows(COUNT, 7)[0]
    raise OSError("the line is dead")


@examples(8, long=300)
@given(seed=st.integers(0, 2**32))
def test_none_is_held_up_by_the_others(seed: int) -> None:
    r = random.Random(seed)
    s = tw.session()
    for name, table in tables().items():
        s.stream(name, table, time="ts")
    waits, stopped = (Gate(rows(COUNT, n)) for n in (5, 6))
    for name, source in (("waits", iter(waits)), ("fails", broken()), ("stopped", iter(stopped))):
        s.stream(name, source, time="ts")
    policy = "chart(parts=40, rounds=1)" if r.random() < 0.5 else None
    asked: list[Any] = [s.query(text, name=name, policy=policy) for name, (text, _) in QUERIES.items()]
    asked += [
        s.query(HELD_UP[r.choice(["plain", "join"])].format(name), name=name) for name in ("waits", "fails", "stopped")
    ]
    r.shuffle(asked)
    with drawn_charts(seed), always_changed():
        rounds = s.rounds(asked)
        try:
            for name in QUERIES:
                assert rounds.runs[name].awaitTermination(60), name
            assert rounds.runs["waits"].isActive
            stopping = threading.Thread(target=rounds.runs["stopped"].stop)
            stopping.start()
            stopped.opened.set()
            stopping.join(30)
            assert not rounds.runs["stopped"].isActive
            waits.opened.set()
            with pytest.raises(OSError, match="the line is dead"):
                rounds.awaitTermination(60)
        finally:
            stopped.opened.set()
            waits.opened.set()
            rounds.stop()
    for name, (_, sql) in QUERIES.items():
        assert ids(rounds.table(name)) == ids(by_duckdb(sql, tables())), name
        assert rounds.runs[name].exception() is None
    assert rounds.table("waits").num_rows > 0
    assert isinstance(rounds.runs["fails"].exception(), OSError)
    assert rounds.runs["stopped"].exception() is None
    assert {name for name, each in rounds.report().queries.items() if each.rounds} == {each.name for each in asked}
