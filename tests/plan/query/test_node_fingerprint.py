"""Nodes with the same fingerprint give the same rows. Another literal, column, window, condition or function changes
the fingerprint."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import thalweg as tw
from thalweg.plan.query.node_fingerprint import fingerprint
from thalweg.plan.query.nodes import walk
from thalweg.session.continuous_query import ContinuousQuery
from thalweg.session.session import Session

COLUMNS = ("x", "y", "z")
FUNCTIONS = ("odd", "small", "sure")
BEGIN = datetime(2026, 1, 1)


def registered(session: Session, rng: np.random.Generator) -> Session:
    """Return a session with streams a and b of one schema, and three functions, of which one is declared safe."""
    for name in "ab":
        rows: dict[str, Any] = {"ts": [BEGIN + timedelta(seconds=n) for n in range(60)]}
        rows |= {column: rng.integers(0, 6, 60) for column in COLUMNS}
        session.stream(name, pa.table(rows), time="ts")
    session.function("odd", lambda x: x % 2 == 1, "boolean")
    session.function("small", lambda x: x < 4, "boolean")
    session.function("sure", lambda x: x != 3, "boolean", safe=True)
    return session


@dataclass(frozen=True)
class Asked:
    """A query that can be written in several ways."""

    streams: tuple[str, ...]
    windows: tuple[int, ...]
    safe: tuple[tuple[int, str, str, int], ...]
    """Stream, column, sign, literal."""
    calls: tuple[tuple[int, str, str], ...]
    """Stream, column, function: the conditions that can raise, in the written order."""
    key: str
    outputs: tuple[tuple[int, str], ...]
    group_s: int
    """Seconds; 0: no groups."""

    def text(self, aliases: tuple[str, ...], order: list[int]) -> str:
        """Return the text. `order` is that of the conditions that cannot raise, written before those that can."""
        sources = ", ".join(
            f"{stream} AS {alias} [RANGE {window} SECONDS]" if len(self.streams) > 1 else f"{stream} AS {alias}"
            for stream, alias, window in zip(self.streams, aliases, self.windows, strict=True)
        )
        safe = [f"{aliases[at]}.{column} {sign} {value}" for at, column, sign, value in self.safe]
        conditions = [safe[n] for n in order]
        if len(self.streams) > 1:
            conditions.append(f"{aliases[0]}.{self.key} = {aliases[1]}.{self.key}")
        conditions += [f"{function}({aliases[at]}.{column})" for at, column, function in self.calls]
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        if self.group_s:
            at, column = self.outputs[0]
            name = f"{aliases[at]}.{column}"
            return (
                f"SELECT {name} AS k, count(*) AS n FROM {sources}{where} "
                f"GROUP BY TUMBLE({self.group_s} SECONDS), {name}"
            )
        listed = ", ".join(f"{aliases[at]}.{column} AS o{n}" for n, (at, column) in enumerate(self.outputs))
        return f"SELECT {listed} FROM {sources}{where}"


def drawn(rng: np.random.Generator) -> Asked:
    joined = bool(rng.random() < 0.5)
    count = 2 if joined else 1
    streams = tuple(rng.permutation(["a", "b"])[:count].tolist())
    some = [(int(rng.integers(count)), str(rng.choice(COLUMNS))) for _ in range(5)]
    # of different columns: what is said of one is put together, and may then be the same as something shorter
    spoken_of = rng.permutation(COLUMNS).tolist()
    return Asked(
        streams, tuple(int(rng.integers(3, 20)) for _ in range(count)),
        tuple(
            (some[n][0], spoken_of[n], str(rng.choice(["<", ">", "="])), int(rng.integers(1, 5)))
            for n in range(int(rng.integers(3)))
        ),
        tuple((*some[3 + n], str(rng.choice(FUNCTIONS))) for n in range(int(rng.integers(3)))),
        str(rng.choice(COLUMNS)), tuple(some[: int(rng.integers(1, 3))]), int(rng.choice([0, 0, 10])),
    )  # fmt: skip


def mutations(asked: Asked, rng: np.random.Generator) -> list[Asked]:
    """Return queries with one change each."""
    made = [replace(asked, outputs=((asked.outputs[0][0], _other(asked.outputs[0][1], COLUMNS)), *asked.outputs[1:]))]
    for n, (at, column, sign, value) in enumerate(asked.safe):
        free = next(c for c in COLUMNS if c not in [each[1] for each in asked.safe])
        others = (at, column, sign, value + 1), (at, free, sign, value), (at, column, "<>", value)
        made += [replace(asked, safe=(*asked.safe[:n], other, *asked.safe[n + 1 :])) for other in others]
        made.append(replace(asked, safe=(*asked.safe[:n], *asked.safe[n + 1 :])))
    for n, (at, column, function) in enumerate(asked.calls):
        calls = (at, column, _other(function, FUNCTIONS)), (at, _other(column, COLUMNS), function)
        made += [replace(asked, calls=(*asked.calls[:n], call, *asked.calls[n + 1 :])) for call in calls]
    if len(asked.streams) > 1:
        made.append(replace(asked, key=_other(asked.key, COLUMNS)))
        made.append(replace(asked, windows=(asked.windows[0] + 1, asked.windows[1])))
    if asked.group_s:
        made.append(replace(asked, group_s=asked.group_s + 5))
    return made


def _other(value: str, of: tuple[str, ...]) -> str:
    return of[(of.index(value) + 1) % len(of)]


def written(asked: Asked, rng: np.random.Generator) -> str:
    """Return the query with other aliases, and other orders of the conditions that cannot raise."""
    aliases = tuple(rng.choice(["p", "q", "r", "s", "t", "u"], len(asked.streams), replace=False).tolist())
    return asked.text(aliases, rng.permutation(len(asked.safe)).tolist())


def of(query: ContinuousQuery) -> str:
    return query.plan.fingerprint_of(query.plan.root, query._functions)


def rows(query: ContinuousQuery) -> list[str]:
    return sorted(map(repr, query.dataframe().to_pylist()))


@pytest.mark.parametrize("seed", range(20))
def test_a_fingerprint_depends_on_meaning_and_not_on_spelling(seed: int) -> None:
    rng = np.random.default_rng(seed)
    session = registered(tw.session(), rng)
    asked = drawn(rng)
    one, other = (session.query(written(asked, rng)) for _ in range(2))
    assert of(one) == of(other)
    assert rows(one) == rows(other)
    for changed in mutations(asked, rng):
        if set(changed.safe) != set(asked.safe) or replace(changed, safe=asked.safe) != asked:
            assert of(session.query(written(changed, rng))) != of(one), changed


def test_random_queries_with_one_fingerprint_give_the_same_rows() -> None:
    rng = np.random.default_rng(7)
    session = registered(tw.session(), rng)
    found: dict[str, list[str]] = {}
    same = 0
    for _ in range(150):
        asked = replace(drawn(rng), safe=(), calls=())  # few enough kinds that some come twice
        query = session.query(written(asked, rng))
        known = found.setdefault(of(query), rows(query))
        same += known is not None and known == rows(query)
        assert known == rows(query)
    assert len(found) < same, "some came twice"


def test_two_closures_of_one_factory_differ() -> None:
    def above(least: int) -> Callable[[int], bool]:
        return lambda x: x > least

    session = registered(tw.session(), np.random.default_rng(1))
    text = "SELECT x FROM a WHERE check_it(x)"
    session.function("check_it", above(1), "boolean")
    first = session.query(text)
    session.function("check_it", above(3), "boolean")
    second = session.query(text)
    assert of(first) != of(second)
    assert rows(first) != rows(second)
    again = registered(session, np.random.default_rng(1)).query(text)
    assert of(second) != of(again), "the stream was registered again"


def test_a_condition_that_can_raise_counts_with_those_before_it() -> None:
    session = registered(tw.session(), np.random.default_rng(1))
    one, other, unlike = (
        session.query(f"SELECT x FROM a WHERE {where}")
        for where in ("y > 1 AND z > 2 AND odd(x)", "z > 2 AND y > 1 AND odd(x)", "y > 1 AND odd(x) AND z > 2")
    )
    assert of(one) == of(other)
    assert of(one) != of(unlike)


@pytest.mark.parametrize("joined", ["", ", b WHERE a.x = b.x AND"])
def test_the_treatment_of_failed_rows_is_part_of_the_fingerprint(joined: str) -> None:
    session = registered(tw.session(), np.random.default_rng(1))
    text = f"SELECT a.x FROM a{joined or ' WHERE'} risky(a.y)" + " WINDOW 5 SECONDS" * bool(joined)
    session.function("risky", lambda y: 1 / (y - 2) < 5, "boolean")
    one, other = (session.query(text, on_error=on_error) for on_error in ("raise", "dead-letter"))
    assert of(one) != of(other)
    with pytest.raises(tw.FailedRowError):
        rows(one)
    assert rows(other)


def test_equal_parts_of_queries_have_the_same_fingerprint() -> None:
    session = registered(tw.session(), np.random.default_rng(1))
    one = session.query("SELECT p.x FROM a AS p WHERE p.y > 1")
    other = session.query("SELECT q.x AS renamed FROM a AS q WHERE q.y > 1")
    assert of(one) != of(other)
    assert fingerprint(one.plan.root.input, {}) == fingerprint(other.plan.root.input, {})


def test_ids_are_unique_and_schemas_match_the_rows() -> None:
    session = registered(tw.session(), np.random.default_rng(1))
    text = (
        "SELECT p.x, q.y FROM a AS p [RANGE 5 SECONDS], b AS q [RANGE 5 SECONDS] "
        "WHERE p.z = q.z AND p.y > 1 AND p.x + q.x > 3"
    )
    query = session.query(text)
    ids = [node.id for node in walk(query.plan.root)]
    assert len(set(ids)) == len(ids)
    assert {"p", "q", "filter of p", "join", "output"} <= set(ids)
    assert query.plan.root.schema == query.dataframe().schema
