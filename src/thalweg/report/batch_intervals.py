"""What explanations and reports say about the micro-batches of a query and the interval that `trigger="auto"` takes."""

from __future__ import annotations

from collections.abc import Iterator

from thalweg.formatting import aligned, few_digits, percent, time_span
from thalweg.optimizer.trigger_interval import (
    BUSY,
    Interval,
    interval_to_try,
    intervals,
    is_near_limit,
    shortest_interval,
)
from thalweg.report.explanation import Paragraph
from thalweg.stats.batch_time import BatchTimes

TITLE = "Micro-batches"


def batch_sentence(times: BatchTimes, busy: float = BUSY) -> str:
    """Return what was counted of micro-batches, and the interval that the next start takes."""
    certain, rate = times.certain(), times.rate
    if certain is None or rate is None:
        return (
            f"micro-batches: {times.batches:,} timed so far, too few or of too similar sizes to know what a row adds; "
            "until then, trigger='auto' is the same as no trigger"
        )
    fixed, per_row = certain
    counted = f"micro-batches take {_span(fixed)} and {_span(per_row)} per row, at {few_digits(rate)} rows per second"
    chosen = shortest_interval(fixed, per_row, rate, busy)
    alone = f"{counted}: rows alone keep the query busy for {percent(per_row * rate)} of the time"
    tried = interval_to_try(fixed, per_row, rate, times.mean_rows, busy)
    if tried is not None:
        return (
            f"{alone}, which leaves too little of the {percent(busy)} that busy= allows; but micro-batches were too "
            f"small to be sure, so the next start with trigger='auto' tries intervals of {_span(tried)}"
        )
    if chosen is None:
        return f"{alone}, so no interval has {percent(busy)}"
    if is_near_limit(per_row, rate, busy):
        return (
            f"{alone}, nearly the {percent(busy)} that busy= allows, so this machine is near its limit; the next start "
            f"with trigger='auto' has intervals of {_span(chosen)}, because longer ones would hardly lower the load"
        )
    return f"{counted}: the next start with trigger='auto' has intervals of {_span(chosen)}"


def batch_paragraph(times: BatchTimes, held_s: float, busy: float = BUSY) -> Paragraph:
    """Return the comparison of some intervals; without lines if no micro-batch was counted."""
    if not times.batches:
        return Paragraph(TITLE, ())
    return Paragraph(TITLE, (*_table(times, held_s, busy), batch_sentence(times, busy)))


def _table(times: BatchTimes, held_s: float, busy: float) -> Iterator[str]:
    certain, rate = times.certain(), times.rate
    if certain is None or rate is None:
        return
    fixed, per_row = certain
    tried = interval_to_try(fixed, per_row, rate, times.mean_rows, busy)
    chosen = tried or shortest_interval(fixed, per_row, rate, busy)
    if chosen is None:
        return
    compared = intervals(chosen, fixed, per_row, rate, held_s)
    rows: list[tuple[str, ...]] = [("interval", "busy", "rows", "latency", "held rows", "")]
    rows += [_row(each, "chosen" if each.seconds == chosen else "") for each in compared]
    yield from aligned(rows, left=range(len(rows[0])))


def _row(one: Interval, mark: str) -> tuple[str, ...]:
    return (
        _span(one.seconds), percent(one.load), few_digits(round(one.rows)), _span(one.latency),
        few_digits(round(one.held)), mark,
    )  # fmt: skip


def _span(seconds: float) -> str:
    return time_span(round(seconds * 1e9), 1)
