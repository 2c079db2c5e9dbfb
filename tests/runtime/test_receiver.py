"""The receiver of the records of a filter or join: who gets each record, and what a report waits for."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from thalweg import events
from thalweg.events import BatchTimed, Origin, Record
from thalweg.runtime.receiver import MOST_DEATHS, Receiver


@dataclass
class Counted:
    """A fold that counts the records, and returns what it is given."""

    records: list[Record] = field(default_factory=list)

    def add(self, record: Record) -> None:
        self.records.append(record)

    def report(self, pending: int = 0, unobserved: int = 0, deaths: tuple[str, ...] = ()) -> object:
        return len(self.records), pending, unobserved, deaths


@dataclass
class ByHand:
    """The fetch of an action that ends when the test says so."""

    ended: bool = False
    observed: bool = False
    asked: int = 0

    def __call__(self) -> bool:
        self.asked += 1
        return self.ended


def timed(n: int) -> BatchTimed:
    return BatchTimed(Origin("run", "stream", n), rows=n, seconds=1.0, at=0.0)


def test_every_record_goes_to_the_report_the_file_and_all_listeners(tmp_path: Path) -> None:
    first: list[Record] = []
    later: list[Record] = []
    receiver = Receiver(Counted(), listener=first.append)
    path = tmp_path / "events.jsonl"
    one, again, without = receiver.sink(path), receiver.sink(path), receiver.sink(None)
    one(timed(0))
    receiver.listeners.append(later.append)
    again(timed(1))
    without(timed(2))
    assert first == [timed(0), timed(1), timed(2)]
    assert later == [timed(1), timed(2)]
    assert list(events.read(path)) == [timed(0), timed(1)], "the file is opened once, and both write to it"
    assert receiver.report() == (3, 0, 0, ())


def test_runs_in_this_process_have_different_names() -> None:
    receiver, other = Receiver(Counted(), identity="0123456789"), Receiver(Counted())
    assert [receiver.next_run(), receiver.next_run()] == ["local pass 1 of 01234567", "local pass 2 of 01234567"]
    assert other.identity != Receiver(Counted()).identity


def test_a_report_asks_for_what_is_pending_and_counts_what_observed_nothing() -> None:
    receiver, fetches = Receiver(Counted()), [ByHand(), ByHand(), ByHand()]
    for fetch in (*fetches, None):
        receiver.expect(fetch)
    assert receiver.report() == (0, 3, 0, ())
    fetches[0].ended, fetches[0].observed, fetches[1].ended = True, True, True
    assert receiver.report() == receiver.report() == (0, 1, 1, ())
    assert [fetch.asked for fetch in fetches] == [2, 2, 3], "a fetch that has ended is not asked again"


def test_what_settles_before_a_report_is_in_it_and_the_last_deaths_are_listed() -> None:
    receiver = Receiver(Counted())
    sink = receiver.sink(None)

    def settle() -> None:
        sink(timed(0))

    receiver.before_report.add(settle)
    receiver.before_report.add(settle)
    receiver.deaths["one"] = lambda: ["early"] * MOST_DEATHS
    receiver.deaths["two"] = lambda: ["late"]
    assert receiver.report() == (1, 0, 0, (*["early"] * (MOST_DEATHS - 1), "late"))
