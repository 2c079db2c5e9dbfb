"""Random chains of native predicates in which what can raise comes after what keeps it from raising.

Each predicate is SQL for Spark and a function of a row, which is the oracle: it is called only where all written before
it are true, and would raise or fail to compile elsewhere too.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import NamedTuple

Truth = bool | None


class Row(NamedTuple):
    id: int
    kind: str | None
    x: int | None
    s: str | None
    p: str | None


class Part(NamedTuple):
    """A predicate of a guarded chain."""

    sql: str
    holds: Callable[[Row], Truth]


KINDS = ("good", "bad", None)
ROWS = [
    Row(n, KINDS[n % 3], (None, 0, 1, 2, 3, 4, 7)[n % 7], ("12", "x,1", None, "7", "a,b,a")[n % 5],
        ("[0-9]", "(", "a", "*", None, "x\\")[n % 6])
    for n in range(211)
]  # fmt: skip


def over(f: Callable[..., bool], *names: str) -> Callable[[Row], Truth]:
    def evaluate(row: Row) -> Truth:
        values = [getattr(row, name) for name in names]
        return None if None in values else f(*values)

    return evaluate


GUARDED: list[tuple[list[Part], list[Part]]] = [
    (
        [
            Part("coalesce(x, 1) <> 0", lambda row: row.x != 0), Part("x <> 0", over(lambda x: x != 0, "x")),
            Part("nullif(x, 0) IS NOT NULL", lambda row: bool(row.x)),
            Part("concat(kind, x) NOT LIKE '%0'", over(lambda kind, x: x != 0, "kind", "x")),
        ],
        [
            Part("10 DIV x BETWEEN 2 AND 5", over(lambda x: 2 <= 10 // x <= 5, "x")),
            Part("10 DIV x > 1", over(lambda x: 10 // x > 1, "x")),
            Part("10 DIV x < 6 OR 10 DIV x > 9", over(lambda x: 10 // x < 6 or 10 // x > 9, "x")),
            Part("20 % x IN (0, 20 % x - 1, 2)", over(lambda x: 20 % x in (0, 2), "x")),
        ],
    ),
    (
        [
            Part("s RLIKE '^[0-9]+$'", over(lambda s: s.isdigit(), "s")),
            Part("length(s) < 3", over(lambda s: len(s) < 3, "s")),
        ],
        [
            Part("CAST(s AS INT) BETWEEN 5 AND 12", over(lambda s: 5 <= int(s) <= 12, "s")),
            Part("CAST(s AS INT) > 6", over(lambda s: int(s) > 6, "s")),
        ],
    ),
    (
        [
            Part("p RLIKE '^[^(*]+$' AND instr(p, '\\\\') = 0", over(lambda p: not set("(*\\") & set(p), "p")),
            Part("substring(p, 1, 1) IN ('a', '[')", over(lambda p: p[0] in "a[", "p")),
        ],
        [
            Part("s RLIKE p", over(lambda s, p: re.search(p, s) is not None, "s", "p")),
            Part("size(split(s, p)) > 1", over(lambda s, p: len(re.split(p, s)) > 1, "s", "p")),
            Part("regexp_replace(s, p, 'q') <> s", over(lambda s, p: re.sub(p, "q", s) != s, "s", "p")),
            Part("s LIKE p OR s LIKE concat('%', p, '%')", over(lambda s, p: p in s, "s", "p")),
        ],
    ),
    (
        [
            Part("size(split(s, ',')) > 1", over(lambda s: "," in s, "s")),
            Part("s LIKE '%,%'", over(lambda s: "," in s, "s")),
        ],
        [
            Part("split(s, ',')[1] <> 'b'", over(lambda s: s.split(",")[1] != "b", "s")),
            Part("split(s, ',')[1] > 'a' OR split(s, ',')[1] < '2'", over(lambda s: True, "s")),
        ],
    ),
]  # fmt: skip
"""Guards, and what they keep from raising."""
OTHERS = [
    Part("lower(kind) = 'good'", over(lambda kind: kind == "good", "kind")),
    Part("id > 20", over(lambda n: n > 20, "id")),
    Part("upper(kind) <> 'XX'", over(lambda kind: True, "kind")), Part("s IS NOT NULL", lambda row: row.s is not None),
    Part("concat(kind, s) RLIKE 'd[0-9x]'", over(lambda k, s: re.search("d[0-9x]", k + s) is not None, "kind", "s")),
]  # fmt: skip
WRITTEN = [OTHERS[2], GUARDED[0][0][3], GUARDED[0][1][0]]
"""Two that are sampled, one of them a guard of two columns, and a BETWEEN, whose operand Spark computes ahead."""


def chain(r: random.Random) -> list[Part]:
    """A guard somewhere before what it guards, and others anywhere."""
    guards, raising = r.choice(GUARDED)
    parts = [r.choice(guards), *r.sample(raising, r.randint(1, 2))]
    for other in r.sample(OTHERS, r.randint(1, 3)):
        parts.insert(r.randrange(len(parts) + 1), other)
    return parts


def kept(parts: list[Part]) -> list[int]:
    """Row by row, from left to right."""
    return [row.id for row in ROWS if all(part.holds(row) is True for part in parts)]
