"""Three streams of files that are joined in a chain: rows can be spread over buckets by either of two classes."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa

import thalweg as tw
from tests.runtime.spark.joins.streams import BEGIN_US, UTC, Files, files
from tests.session.corpus_query import by_duckdb

CHAIN = "SELECT a.id AS a, b.id AS b, c.id AS c FROM a, b, c WHERE a.k = b.k AND b.m = c.m WINDOW 5 SECONDS"
BY_K, BY_M = (("a", "k"), ("b", "k")), (("b", "m"), ("c", "m"))
"""The two classes. Without statistics it is the one written first."""
RATES: dict[str, Any] = {
    name: {"statistics": {"rows_per_second": rate}} for name, rate in (("a", 1), ("b", 2), ("c", 900))
}
"""With which the other one is better: a is replicated instead of c."""


def piece(seed: int, number: int, count: int = 40) -> pa.Table:
    """The rows of ten seconds, in order."""
    r = random.Random(f"{seed} {number}")
    ticks = sorted(r.randrange(10 * number * 10**6, 10 * (number + 1) * 10**6) for _ in range(count))
    return pa.table(
        {
            "ts": pa.array([BEGIN_US + tick for tick in ticks], pa.int64()).cast(UTC),
            "k": pa.array([r.choice([0, 1, 2, 3, None]) for _ in ticks], pa.int64()),
            "m": [r.choice(["x", "y", "z", None]) for _ in ticks],
            "id": pa.array(range(1000 * number, 1000 * number + count), pa.int64()),
        }
    )


class ThreeStreams:
    """Files that are added piece by piece, and what DuckDB finds in all of them."""

    def __init__(self, folder: Path) -> None:
        self.pieces = {name: [piece(n, 0)] for n, name in enumerate("abc")}
        self.files: dict[str, Files] = files(folder, self.pieces)

    def add(self) -> None:
        """The next ten seconds of each."""
        for n, (name, pieces) in enumerate(self.pieces.items()):
            pieces.append(piece(n, len(pieces)))
            self.files[name].add(pieces[-1])

    def session(self, spark: Any, **given: dict[str, Any]) -> tw.Session:
        """`given`: arguments of `stream`, by name."""
        s = tw.session(spark)
        for name, each in self.files.items():
            s.stream(name, each.stream(spark), time="ts", **given.get(name, {}))
        return s

    def expected(self) -> list[tuple[Any, ...]]:
        """The answer to `CHAIN`."""
        latest = "greatest(a.ts, b.ts, c.ts)"
        within = " AND ".join(f"epoch_us({latest}) - epoch_us({s}.ts) <= 5000000" for s in "abc")
        sql = f"SELECT a.id AS a, b.id AS b, c.id AS c FROM a, b, c WHERE a.k = b.k AND b.m = c.m AND {within}"
        found = by_duckdb(sql, {name: pa.concat_tables(pieces) for name, pieces in self.pieces.items()})
        return sorted(tuple(row.values()) for row in found.to_pylist())
