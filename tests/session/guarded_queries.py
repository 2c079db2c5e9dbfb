"""Random conditions in which what can raise comes after its guard, in our SQL and in DuckDB's.

What can raise occurs several times: Spark computes such a part once, ahead of the whole expression, unless it is kept
from it. DuckDB is asked with operators that give NULL where ours raise. After a guard that is false, or beside one
that is NULL because their common argument is, that makes no difference.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

import pyarrow as pa

TABLE = pa.table({
    "ts": pa.array(range(0, 48 * 10**6, 10**6), pa.int64()).cast(pa.timestamp("us", "UTC")),
    "x": pa.array([0, 1, 2, 3, 4, 7, -2, None] * 6, pa.int32()),
    "y": pa.array([5, 0, None, 1, -3, 0] * 8, pa.int32()),
    "s": pa.array(["12", "", "x1", None, "7", "99999", " 3", "0"] * 6),
    "k": pa.array([n // 3 % 4 for n in range(48)], pa.int64()),
    "kind": pa.array(["bad", "good", "Good", "good", None, "GOOD", "good", "ugly"] * 6),
})  # fmt: skip

KINDS = (
    (("x <> 0", "NOT x = 0", "x > 0", "x BETWEEN 1 AND 9", "coalesce(x, 1) <> 0"), "10 DIV x", "10 // x"),
    (("y <> 0", "y > 0", "NOT (y = 0 OR y IS NULL)"), "x % y", "x % y"),
    (("s RLIKE '^[0-9]{1,4}$'",), "CAST(s AS INT)", "TRY_CAST(s AS INT)"),
)
"""Guards, and what they guard, for us and for DuckDB."""
_OTHERS = ("k > 0", "x IS NOT NULL", "y < 4", "s <> 'x1'", "lower(s) <> 'q'", "upper(s) <> 'X1'", "length(s) > 0")
"""Some are taken over by a source on Spark; the order of the others is learned, and their rows are sampled."""


@dataclass(frozen=True)
class Both:
    """The same condition twice."""

    ours: str
    duckdb: str


def _said(text: str) -> Both:
    """By both alike, but for RLIKE."""
    return Both(text, text.replace("s RLIKE '^[0-9]{1,4}$'", "regexp_matches(s, '^[0-9]{1,4}$')"))


def condition(r: random.Random) -> Both:
    """A guarded chain of ANDs, or the ORs that are its negation, or two of them with something between."""
    made = [_chain(r) for _ in range(r.choice([1, 1, 2]))]
    if len(made) == 1:
        return made[0]
    word = r.choice(["AND", "OR"])
    return Both(f"({made[0].ours}) {word} ({made[1].ours})", f"({made[0].duckdb}) {word} ({made[1].duckdb})")


def _chain(r: random.Random) -> Both:
    guards, raising, theirs = r.choice(KINDS)
    asked = [_asked(r, raising, theirs) for _ in range(r.randint(2, 3))]
    parts = [_said(r.choice(guards)), *asked]
    for _ in range(r.choice([0, 0, 1, 2])):
        parts.insert(r.randrange(len(parts) + 1), _said(r.choice(_OTHERS)))
    if r.random() < 0.3:
        return Both(" OR ".join(f"NOT ({p.ours})" for p in parts), " OR ".join(f"NOT ({p.duckdb})" for p in parts))
    return Both(" AND ".join(p.ours for p in parts), " AND ".join(p.duckdb for p in parts))


def _asked(r: random.Random, raising: str, theirs: str) -> Both:
    low, sign = r.randint(-1, 8), r.choice(["=", "<>", "<", "<=", ">", ">="])
    pattern = r.choice([
        "{0} {sign} {low}", "{0} {sign} {low}", "{0} BETWEEN {low} AND 9", "{0} IN (1, {low}, {0} - 1)",
        "({0} {sign} {low} OR {0} + 1 < k)", "CASE WHEN {0} {sign} {low} THEN {0} > 1 ELSE {0} < 5 END",
        "coalesce({0}, {0} + 1, 1) {sign} {low}",
    ])  # fmt: skip
    return Both(pattern.format(raising, sign=sign, low=low), pattern.format(theirs, sign=sign, low=low))
