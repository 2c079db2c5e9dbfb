"""The report of a run's micro-batches: for the load that was asked for, and as it was when the report was made."""

from __future__ import annotations

import re

import pytest

from thalweg.session.adaptive_parts import AdaptiveParts
from thalweg.stats.batch_time import BatchTimes


def timed() -> BatchTimes:
    """A micro-batch takes 0.5 s and 0.1 ms per row, and 1,000 rows arrive per second, which take a tenth of it."""
    times = BatchTimes()
    for n, rows in enumerate((1, 1_000, 500, 1_500, 1_000)):
        times.add("start", at=float(n), rows=rows, seconds=0.5 + 1e-4 * rows)
    return times


@pytest.mark.parametrize("busy", [0.7, 0.2, 0.6])
def test_the_interval_is_that_of_the_load_asked_for(busy: float) -> None:
    times = timed()
    assert times.rate == pytest.approx(1_000, rel=0.01)
    text = str(AdaptiveParts(batch_times=times, busy=busy).report())
    found = re.search(r"the next start with trigger='auto' has intervals of ([0-9.]+) (ms|s)$", text)
    assert found is not None
    seconds = float(found[1]) / (1_000 if found[2] == "ms" else 1)
    assert seconds == pytest.approx(0.5 / (busy - 0.1), rel=0.02)  # fixed / interval + per row * rate = busy


def test_a_report_does_not_change_after_it_was_made() -> None:
    parts = AdaptiveParts(batch_times=timed())
    report = parts.report()
    before = str(report)
    assert parts.batch_times is not None
    parts.batch_times.add("start", at=9.0, rows=10**6, seconds=900.0)
    assert str(report) == before
    assert str(parts.report()) != before
