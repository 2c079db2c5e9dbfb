"""Random queries over random data give DuckDB's rows in this process, however the streams are cut and whatever adapts;
damaged queries give rows, or an error that says where."""

from __future__ import annotations

import itertools
import random
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

import thalweg as tw
from tests.long_run import examples
from tests.plan.sql.statements import marked, refused
from tests.plan.sql.test_damaged_literals import NUMBERS, OTHERS
from tests.plan.sql.test_refusals import WORDS, damaged
from tests.session.corpus_query import assert_same, by_duckdb, cut
from tests.session.random_queries import TABLE, RandomQuery, queries
from thalweg.adapt.registry import POLICIES

OTHER_WORDS = [*NUMBERS, *OTHERS, *(word for line in refused() for word in WORDS.findall(marked(line)[0]))]
MOST_BATCHES = 50
"""Of the results of a damaged query: a window that was damaged may have a million of them."""


def settings_of(r: random.Random) -> dict[str, Any]:
    """Return how a query runs, none of which changes its rows."""
    return {
        "policy": r.choice(list(POLICIES)), "on_error": r.choice(["raise", "dead-letter"]),
        "redact": r.random() < 0.2, "seed": r.randrange(2**32),
    }  # fmt: skip


def with_other_words(text: str, r: random.Random) -> str:
    """Return a text in which some words are those of other statements, or damaged literals."""
    words = WORDS.findall(text)
    for _ in range(r.choice([0, 1, 2]) if words else 0):
        words[r.randrange(len(words))] = f" {r.choice(OTHER_WORDS)} "
    return "".join(words)


def session_of(query: RandomQuery, r: random.Random) -> tw.Session:
    session, declared = tw.session(), r.random() < 0.3
    for name, table in query.streams.items():
        batches = [b for piece in cut(table, query.pieces, name) for b in piece.combine_chunks().to_batches()]
        known = {"rows_per_second": 10.0 ** r.uniform(-2, 2), "distinct": {"k": 3, "j": 4, "n": 7, "s": 6}}
        session.stream(
            name, batches or table, time="ts", lateness=f"{query.lateness_us} microseconds",
            statistics=known if declared else None,
        )  # fmt: skip
    session.table(TABLE, query.table)
    return session


@examples(300, long=20_000, suppress_health_check=[HealthCheck.too_slow])
@given(query=queries(), seed=st.integers(0, 2**32))
def test_same_as_duckdb(query: RandomQuery, seed: int) -> None:
    r = random.Random(f"{seed} {query.ours}")
    asked = session_of(query, r).query(query.ours, **settings_of(r))
    assert_same(asked.dataframe(), by_duckdb(query.duckdb, {**query.streams, TABLE: query.table}), asked.schema)


@examples(300, long=20_000, suppress_health_check=[HealthCheck.too_slow])
@given(query=queries(), seed=st.integers(0, 2**32))
def test_a_damaged_query_gives_rows_or_an_error_with_its_place(query: RandomQuery, seed: int) -> None:
    r = random.Random(f"{seed} {query.ours}")
    session, text = session_of(query, r), with_other_words(damaged(query.ours, r), r)
    asked, error = None, None
    try:
        asked = session.query(text)
    except tw.PlanError as refused:
        error = refused
    if asked is None:
        assert isinstance(error, tw.SqlError) or not text.strip()  # an empty text has no places
        if isinstance(error, tw.SqlError):
            lines = [*text.split("\n"), ""]
            assert 1 <= error.column <= len(lines[error.line - 1]) + 1
            assert str(error).encode()
        return
    with suppress(tw.FailedRowError, tw.ExpressionError, tw.FunctionError):  # of a row on which a condition raises
        list(itertools.islice(asked.batches(), MOST_BATCHES))


CONDITIONS = [
    "a.k = b.k AND a.x > b.x + 1", "a.k = b.k AND CAST(a.s AS INT) BETWEEN 1 AND b.x",
    "a.k = b.k AND a.x IN (1, b.x) OR NOT a.p", "a.k = b.k AND a.ts - b.ts < INTERVAL '5' MINUTES AND a.s IS NULL",
]  # fmt: skip


@examples(150, long=10_000)
@given(st.integers(0, 2**64))
def test_damaged_conditions_of_a_join_are_accepted_or_refused(seed: int) -> None:
    r = random.Random(seed)
    text = with_other_words(damaged(r.choice(CONDITIONS), r), r)
    with suppress(tw.PlanError):
        tw.join(on=text, window="1 hour", time="ts")


@pytest.mark.parametrize("cast", ["CAST(a.x AS FLOAT(y))", "CAST(a.x AS FLOAT(3))", "CAST(a.s AS VARCHAR(2))"])
def test_a_condition_of_a_join_has_no_length_of_a_type(cast: str) -> None:
    with pytest.raises(tw.PlanError, match=r"a length of (FLOAT|VARCHAR) is not supported; write"):
        tw.join(on=f"a.k = b.k AND {cast} > b.x", window="1 hour", time="ts")
