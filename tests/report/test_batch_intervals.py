"""What is said about micro-batches: before anything is known, if it is known, and if no interval is long enough."""

from __future__ import annotations

import re

from thalweg.optimizer.interval_choice import BUSY
from thalweg.optimizer.trigger_interval import choose_interval
from thalweg.report.batch_intervals import batch_paragraph, batch_sentence
from thalweg.stats.batch_time import BatchTimes


def counted(per_row: float = 1e-4, rate: float = 1_000.0, size: int = 1) -> BatchTimes:
    times = BatchTimes()
    at = 0.0
    for rows in (10 * size, 10 * size, 500 * size, 1_500 * size, 1_000 * size, 1_000 * size):
        at += rows / rate
        times.add("start", at=at, rows=rows, seconds=0.5 + per_row * rows)
    return times


def test_nothing_is_said_before_the_first_batch() -> None:
    assert batch_paragraph(choose_interval(BatchTimes(), BUSY, 10.0)).lines == ()


def test_too_little_is_said_to_be_too_little() -> None:
    times = BatchTimes()
    for n in range(4):
        times.add("start", at=float(n), rows=100, seconds=1.0)
    assert batch_sentence(choose_interval(times)) == (
        "micro-batches: 2 timed so far, too few or of too similar sizes to know what a row adds; until then, "
        "trigger='auto' is the same as no trigger"
    )


def test_the_interval_of_the_next_start_is_named() -> None:
    sentence = batch_sentence(choose_interval(counted(), 0.6))
    assert sentence == (
        "micro-batches take 500 ms and 100 µs per row, at 1,000 rows per second: the next start with trigger='auto' "
        "has intervals of 1 s"
    )
    head, *rows, last = batch_paragraph(choose_interval(counted(), 0.6, 10.0)).lines
    assert head.split() == ["interval", "busy", "rows", "latency", "held", "rows"]
    assert rows[2].split() == ["1", "s", "60", "%", "1,000", "1.6", "s", "11,000", "chosen"]
    assert len(rows) == 5
    assert last == sentence


def test_a_query_that_cannot_keep_up_is_told_so() -> None:
    assert batch_sentence(choose_interval(counted(per_row=2e-3))).endswith(
        "rows alone keep the query busy for 200 % of the time, so no interval has 70 %"
    )


def test_a_query_near_its_limit_is_told_so() -> None:
    """Rows alone take 69.5 % of the time, and 70 % are allowed: the fixed 0.5 s take 1.4 % of 35.7 s."""
    sentence = batch_sentence(choose_interval(counted(per_row=6.95e-4, size=4)))
    assert sentence == (
        "micro-batches take 500 ms and 695 µs per row, at 1,000 rows per second: rows alone keep the query busy for "
        "69.5 % of the time, nearly the 70 % that busy= allows, so this machine is near its limit; the next start with "
        "trigger='auto' has intervals of 35.7 s, because longer ones would hardly lower the load"
    )
    lines = batch_paragraph(choose_interval(counted(per_row=6.95e-4, size=4), BUSY, 10.0)).lines
    assert any(line.endswith("chosen") for line in lines)


def test_a_longer_interval_is_tried_if_it_is_not_known_well() -> None:
    """Micro-batches of about 1,000 rows take 0.5 s and 0.3 s for their rows."""
    sentence = batch_sentence(choose_interval(counted(per_row=3e-4), 0.2))
    assert "rows alone keep the query busy for 30 % of the time, which leaves too little of the 20 % that" in sentence
    found = re.search(r"so the next start with trigger='auto' tries intervals of ([0-9.]+) s$", sentence)
    assert found is not None
    assert 3.5 < float(found[1]) < 4.5
    lines = batch_paragraph(choose_interval(counted(per_row=3e-4), 0.2, 10.0)).lines
    (chosen,) = [line for line in lines if line.endswith("chosen")]
    assert chosen.startswith(f"{found[1]} s ")
