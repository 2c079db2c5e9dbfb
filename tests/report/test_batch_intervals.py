"""What is said about micro-batches: before anything is known, if it is known, and if no interval is long enough."""

from __future__ import annotations

from thalweg.report.batch_intervals import batch_paragraph, batch_sentence
from thalweg.stats.batch_time import BatchTimes


def counted(per_row: float = 1e-4, rate: float = 1_000.0) -> BatchTimes:
    times = BatchTimes()
    at = 0.0
    for rows in (10, 500, 1_500, 1_000, 1_000):
        at += rows / rate
        times.add("start", at=at, rows=rows, seconds=0.5 + per_row * rows)
    return times


def test_nothing_is_said_before_the_first_batch() -> None:
    assert batch_paragraph(BatchTimes(), 10.0).lines == ()


def test_too_little_is_said_to_be_too_little() -> None:
    times = BatchTimes()
    for n in range(3):
        times.add("start", at=float(n), rows=100, seconds=1.0)
    assert batch_sentence(times) == (
        "micro-batches: 2 timed so far, too few or of too similar sizes to know what a row adds; until then, "
        "trigger='auto' is the same as no trigger"
    )


def test_the_interval_of_the_next_start_is_named() -> None:
    sentence = batch_sentence(counted(), busy=0.6)
    assert sentence == (
        "micro-batches take 500 ms and 100 µs per row, at 1,000 rows per second: the next start with trigger='auto' "
        "has intervals of 1 s"
    )
    head, *rows, last = batch_paragraph(counted(), 10.0, busy=0.6).lines
    assert head.split() == ["interval", "busy", "rows", "latency", "held", "rows"]
    assert rows[2].split() == ["1", "s", "60", "%", "1,000", "1.6", "s", "11,000", "chosen"]
    assert len(rows) == 5
    assert last == sentence


def test_a_query_that_cannot_keep_up_is_told_so() -> None:
    assert batch_sentence(counted(per_row=2e-3)).endswith(
        "rows alone keep the query busy for 200 % of the time, so no interval has 70 %"
    )
