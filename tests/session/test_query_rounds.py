"""Queries that take turns: each gets the rows that it gets alone, and none holds up the others."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

import thalweg as tw
from thalweg import PlanError
from thalweg.session.query_rounds import Turns

BEGIN = datetime(2026, 1, 1)
WINDOWS = " WINDOW 5 SECONDS"
JOIN = "SELECT a.n, b.n AS m FROM a, b WHERE a.k = b.k"
PLAIN = "SELECT n FROM a WHERE n % 3 = 0"


def rows(count: int, seed: int) -> list[pa.RecordBatch]:
    r = random.Random(seed)
    table = pa.table(
        {
            "ts": [BEGIN + timedelta(milliseconds=100 * n) for n in range(count)],
            "k": [r.randrange(20) for _ in range(count)], "n": list(range(count)),
        }
    )  # fmt: skip
    batches: list[pa.RecordBatch] = table.to_batches(max_chunksize=37)
    return batches


def session(count: int = 600, **sources: Any) -> tw.Session:
    s = tw.session()
    for n, name in enumerate("ab"):
        s.stream(name, sources.get(name, pa.Table.from_batches(rows(count, n))), time="ts")
    return s


def ids(table: pa.Table) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in table.to_pylist())


def test_each_query_gets_the_rows_that_it_gets_alone() -> None:
    s = session()
    texts = [JOIN + WINDOWS, PLAIN, JOIN + " AND b.n > 50" + WINDOWS, "SELECT n FROM b"]
    alone = [ids(s.query(text).dataframe()) for text in texts]
    rounds = s.rounds([s.query(text) for text in texts])
    assert rounds.awaitTermination(60)
    assert [ids(rounds.table(f"query {n}")) for n in range(1, 5)] == alone
    assert all(alone)
    assert not rounds.isActive
    report = rounds.report()
    read = len(rows(600, 0))  # a join reads two streams
    assert [one.rounds for one in report.queries.values()] == [2 * read, read, 2 * read, read]
    assert str(report).count(" rounds, waited ") == 4


def test_turns_are_first_in_first_out() -> None:
    """Three threads ask one after the other while the turn is taken, again and again."""
    turns, order = Turns(), list[str]()
    turns.take("main")

    def ask(name: str) -> None:
        for _ in range(3):
            turns.take(name)
            order.append(name)
            turns.give()

    threads = []
    for name in "abc":
        thread = threading.Thread(target=ask, args=(name,))
        thread.start()
        threads.append(thread)
        while len(turns._waiting) < len(threads):
            time.sleep(0.001)
    turns.give()
    for thread in threads:
        thread.join(10)
    assert order[:3] == ["a", "b", "c"]
    assert sorted(order) == sorted("abc" * 3)
    assert turns.waits["a"].waited_ns > 0


class Gate:
    """A source that waits before its second batch."""

    def __init__(self, batches: list[pa.RecordBatch]) -> None:
        self.batches, self.opened = batches, threading.Event()

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        yield self.batches[0]
        assert self.opened.wait(60)
        yield from self.batches[1:]


def test_a_query_without_input_does_not_hold_up_the_others() -> None:
    gate = Gate(rows(600, 1))
    s = session(b=iter(gate))
    rounds = s.rounds([s.query("SELECT n FROM b", name="waits"), s.query(PLAIN, name="runs")])
    assert rounds.runs["runs"].awaitTermination(60)
    assert rounds.runs["waits"].isActive
    assert rounds.table("runs").num_rows == 200
    gate.opened.set()
    assert rounds.awaitTermination(60)
    assert rounds.table("waits").num_rows == 600


def test_a_query_that_fails_does_not_end_the_others() -> None:
    def broken() -> Iterator[pa.RecordBatch]:
        yield rows(600, 1)[0]
        raise OSError("the line is dead")

    s = session(b=broken())
    rounds = s.rounds([s.query("SELECT n FROM b", name="fails"), s.query(PLAIN, name="runs")])
    with pytest.raises(OSError, match="the line is dead"):
        rounds.awaitTermination(60)
    assert rounds.table("runs").num_rows == 200
    assert isinstance(rounds.runs["fails"].exception(), OSError)
    assert rounds.runs["runs"].exception() is None


def test_a_query_that_is_stopped_does_not_end_the_others() -> None:
    gate = Gate(rows(600, 1))
    s = session(b=iter(gate))
    rounds = s.rounds([s.query("SELECT n FROM b", name="stopped"), s.query(PLAIN, name="runs")])
    threading.Timer(0.2, gate.opened.set).start()
    rounds.runs["stopped"].stop()
    assert rounds.awaitTermination(60)
    assert rounds.table("runs").num_rows == 200
    assert rounds.table("stopped").num_rows < 600


def test_all_queries_can_be_stopped() -> None:
    def endless() -> Iterator[pa.RecordBatch]:
        while True:
            yield from rows(37, 0)

    s = session(a=endless())
    rounds = s.rounds([s.query("SELECT n FROM a", name="endless"), s.query("SELECT n FROM b", name="short")])
    assert rounds.runs["short"].awaitTermination(60)
    with pytest.raises(PlanError, match="a query 'ENDLESS' is already running; stop it first, or give this one anothe"):
        s.rounds([s.query("SELECT n FROM b", name="ENDLESS")])
    rounds.stop()
    assert not rounds.isActive
    assert rounds.table("short").num_rows == 600


def test_wrong_queries_are_refused() -> None:
    s, other = session(), session()
    mine: Any = s.query(PLAIN, name="mine")
    for given, message in (
        ([], "rounds([]): give at least one query"),
        ([mine, mine], "there are two queries 'mine'; give each its own name="),
        ([mine, s.query(PLAIN, name="Mine")], "there are two queries 'Mine'; give each its own name="),
        ([other.query(PLAIN)], "item 1 must be a query of this session, made by s.query(...)"),
        ([mine, "SELECT 1"], "item 2 must be a query of this session, made by s.query(...), not 'SELECT 1'"),
    ):
        with pytest.raises(PlanError) as caught:
            s.rounds(given)
        assert message in str(caught.value)
    rounds = s.rounds([mine])
    with pytest.raises(PlanError, match=r"there is no query 'main' in these rounds \(did you mean 'mine'\?\)"):
        rounds.table("main")
    rounds.awaitTermination(60)


def test_two_queries_cannot_share_an_iterator() -> None:
    s = session(b=iter(rows(600, 1)))
    first, second = s.query("SELECT n FROM b", name="first"), s.query("SELECT k FROM b", name="second")
    with pytest.raises(PlanError, match=r"'first' and 'second' both read b, an iterator.* register a table instead"):
        s.rounds([first, second])
    rounds = s.rounds([first, s.query(PLAIN)])  # nothing was read
    assert rounds.awaitTermination(60)
    assert rounds.table("first").num_rows == 600


def test_a_wrong_setting_is_raised_before_any_query_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    s = session()
    set_here, set_outside = s.query(PLAIN, name="here", policy="auto"), s.query(PLAIN, name="outside")
    monkeypatch.setenv("THALWEG_POLICY", "charts")
    with pytest.raises(PlanError, match=r"THALWEG_POLICY='charts'"):
        s.rounds([set_here, set_outside])
    s._running.refuse("here")  # it does not run
    assert not set_here.report().parts


def test_all_are_asked_to_stop_before_one_is_waited_for() -> None:
    """The first one waits for its source. The second one has no end."""
    gate = Gate(rows(600, 1))

    def endless() -> Iterator[pa.RecordBatch]:
        while True:
            yield from rows(37, 0)

    s = session(a=endless(), b=iter(gate))
    rounds = s.rounds([s.query("SELECT n FROM b", name="waits"), s.query("SELECT n FROM a", name="endless")])
    stopping = threading.Thread(target=rounds.stop)
    stopping.start()
    assert rounds.runs["endless"].awaitTermination(30)
    assert rounds.runs["waits"].isActive
    gate.opened.set()
    stopping.join(30)
    assert not rounds.isActive


def test_an_error_is_raised_after_all_have_ended() -> None:
    def broken() -> Iterator[pa.RecordBatch]:
        yield rows(600, 1)[0]
        raise OSError("the line is dead")

    gate = Gate(rows(600, 0))
    s = session(a=iter(gate), b=broken())
    rounds = s.rounds([s.query("SELECT n FROM b", name="fails"), s.query("SELECT n FROM a", name="waits")])
    with pytest.raises(OSError, match="the line is dead"):
        rounds.runs["fails"].awaitTermination(60)
    assert rounds.awaitTermination(0.01) is False
    gate.opened.set()
    with pytest.raises(OSError, match="the line is dead"):
        rounds.awaitTermination(60)
    assert rounds.table("waits").num_rows == 600


def test_after_ctrl_c_the_process_says_how_to_keep_results(monkeypatch: pytest.MonkeyPatch) -> None:
    gate = Gate(rows(600, 1))
    s = session(b=iter(gate))
    rounds = s.rounds([s.query("SELECT n FROM b", name="waits")])
    run = rounds.runs["waits"]

    def interrupted(timeout: float | None = None) -> bool:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(run._ended, "wait", interrupted)
        with pytest.raises(KeyboardInterrupt):
            rounds.awaitTermination()
    assert run._interrupted
    gate.opened.set()
    assert rounds.awaitTermination(60)
