"""Queries and sessions can be pickled, also after a run; started queries cannot, and say so."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import thalweg as tw

ROWS = pa.table({"ts": pa.array(range(20), pa.timestamp("us")), "k": [n % 4 for n in range(20)]})


def is_odd(k: int) -> bool:
    return k % 2 == 1


def session() -> tw.Session:
    s = tw.session()
    s.stream("a", ROWS, time="ts")
    s.function("is_odd", is_odd, "boolean")
    return s


def query(s: tw.Session) -> tw.ContinuousQuery:
    return s.query("SELECT k FROM a WHERE is_odd(k) AND k < 3", name="mine")


def test_a_query_and_its_session_after_runs() -> None:
    s = session()
    q = query(s)
    found = q.dataframe()
    assert len(found) == 5
    handle = q.start(format="noop")
    handle.awaitTermination()
    copied, other = pickle.loads(pickle.dumps((s, q)))
    assert other.belongs_to(copied._running), "a session knows its queries"
    assert other.report().parts == ()
    assert other.dataframe() == query(copied).dataframe() == found
    assert len(q.report().parts) == 1
    again = other.start(format="noop")  # under the same name, which does not run there
    again.awaitTermination()
    for made in (handle.report(), handle.explain(), handle.events()):
        assert str(pickle.loads(pickle.dumps(made))) == str(made)


STARTED: dict[str, Callable[[tw.Session], Any]] = {
    "query": lambda s: query(s).start(format="noop"),
    "rounds": lambda s: s.rounds([query(s)]),
}


@pytest.mark.parametrize("what", STARTED)
def test_a_started_query(what: str) -> None:
    started = STARTED[what](session())
    with pytest.raises(tw.PlanError, match=r"the started query 'mine' cannot be pickled, because .*; pickle what its"):
        pickle.dumps(started)
    started.awaitTermination()
