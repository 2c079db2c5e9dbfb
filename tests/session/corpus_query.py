"""A query of the corpus, its answer by DuckDB, and how answers are compared."""

from __future__ import annotations

import functools
import json
import math
import random
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from tests.session.corpus_streams import streams, tables

FOLDER = Path(__file__).parent / "corpus"


@dataclass(frozen=True)
class CorpusQuery:
    """A file: our SQL, a line `-- duckdb`, and the same question in plain SQL. Comments before say more:
    `-- args: {"limit": 5}` gives parameters, `-- streams: yes` runs it on a Spark stream in `make test` too, not
    only in `make test-long`, `-- streams: no` in neither, since Spark refuses it there."""

    name: str
    ours: str
    duckdb: str

    @classmethod
    def read(cls, path: Path) -> CorpusQuery:
        """Read the query of a file."""
        ours, of_duckdb = path.read_text().split("\n-- duckdb\n")
        return cls(path.stem, ours, of_duckdb)

    def told(self, word: str) -> str | None:
        """What a comment says."""
        start = f"-- {word}: "
        return next((line.removeprefix(start) for line in self.ours.splitlines() if line.startswith(start)), None)

    @property
    def args(self) -> dict[str, Any]:
        """The values of its parameters."""
        found: dict[str, Any] = json.loads(self.told("args") or "{}")
        return found

    def expected(self) -> pa.Table:
        """By DuckDB over the finished data."""
        return by_duckdb(self.duckdb, {name: s.table for name, s in streams().items()} | tables())


def all_queries() -> list[CorpusQuery]:
    """Return all queries, sorted by name."""
    return [CorpusQuery.read(path) for path in sorted(FOLDER.glob("*.sql"))]


def by_duckdb(sql: str, relations: Mapping[str, pa.Table]) -> pa.Table:
    """Instants are given to DuckDB without their zone, which is UTC: what it does with zones is not asked."""
    connection = _duckdb()
    for name, table in relations.items():
        fields = [f.with_type(pa.timestamp("us")) if pa.types.is_timestamp(f.type) else f for f in table.schema]
        connection.register(name, table.cast(pa.schema(fields)))
    try:
        return connection.sql(sql).to_arrow_table()
    finally:
        for name in relations:
            connection.unregister(name)


@functools.cache
def _duckdb() -> duckdb.DuckDBPyConnection:
    """One for all queries: to connect takes longer than a query."""
    connection = duckdb.connect(":memory:", config={"threads": 1, "error_on_division_by_zero": "false"})
    for macro in MACROS:
        connection.execute(f"CREATE MACRO {macro}")
    return connection


MACROS = (
    "our_concat(a, b) AS a || b",
    "our_trim(s) AS trim(s, ' ')",
    "our_ltrim(s) AS ltrim(s, ' ')",
    "our_rtrim(s) AS rtrim(s, ' ')",
    "our_sqrt(x) AS CASE WHEN x < 0 THEN 'nan'::DOUBLE ELSE sqrt(x) END",
    "our_ln(x) AS CASE WHEN x <= 0 THEN NULL ELSE ln(x) END",
    "our_floor(x) AS floor(x)::BIGINT",
    "our_ceil(x) AS ceil(x)::BIGINT",
    "our_start(s, n) AS CASE WHEN n > 0 THEN n - 1 WHEN n < 0 THEN length(s) + n ELSE 0 END",
    "our_substring(s, n, l) AS CASE WHEN s IS NULL OR n IS NULL OR l IS NULL THEN NULL WHEN l <= 0 THEN '' ELSE "
    "substring(s, greatest(our_start(s, n), 0) + 1, "
    "greatest(least(our_start(s, n) + l, length(s)) - greatest(our_start(s, n), 0), 0)) END",
)
"""What DuckDB means otherwise (docs/sql.md), as functions with our meaning."""


def cut(table: pa.Table, pieces: int, seed: str) -> list[pa.Table]:
    """At random places; some pieces may be empty."""
    r = random.Random(seed)
    ends = sorted(r.randint(0, table.num_rows) for _ in range(pieces - 1))
    return [table.slice(a, b - a) for a, b in zip([0, *ends], [*ends, table.num_rows], strict=True)]


def assert_same(found: pa.Table, expected: pa.Table, schema: pa.Schema) -> None:
    """As multisets, floats to 1e-9; `found` has the columns and types of `schema`, DuckDB's answer the names."""
    assert found.schema.names == schema.names == expected.schema.names
    assert [f.type for f in found.schema] == [f.type for f in schema]
    one, other = _rows(found), _rows(expected)
    if Counter(map(repr, one)) == Counter(map(repr, other)):
        return
    assert len(one) == len(other), _difference(one, other)
    for a, b in zip(sorted(one, key=_sorting), sorted(other, key=_sorting), strict=True):
        assert all(map(_alike, a, b)), _difference(one, other)


def _rows(table: pa.Table) -> list[tuple[Any, ...]]:
    columns = [[_plain(value) for value in column.to_pylist()] for column in table.columns]
    return list(zip(*columns, strict=True))


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return "nan" if math.isnan(value) else value + 0.0  # zero without a sign
    return value.replace(tzinfo=None) if isinstance(value, datetime) else value


def _sorting(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Floats last, and roughly: their last digits must not decide the order."""
    exact = tuple(repr(value) for value in row if not isinstance(value, float))
    return exact, tuple(f"{value:.6g}" for value in row if isinstance(value, float))


def _alike(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)
    return bool(one == other)


def _difference(one: Iterable[Any], other: Iterable[Any]) -> str:
    a, b = Counter(map(repr, one)), Counter(map(repr, other))
    more, missing = list((a - b).elements()), list((b - a).elements())
    lines = [f"{len(more)} rows too many, {len(missing)} missing"]
    return "\n".join(
        [*lines, *(f"+ {row}" for row in sorted(more)[:10]), *(f"- {row}" for row in sorted(missing)[:10])]
    )
