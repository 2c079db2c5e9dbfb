"""What explanations and reports say about the micro-batches of a query and the interval that `trigger="auto"` takes."""

from __future__ import annotations

from collections.abc import Iterator

from thalweg.formatting import aligned, few_digits, percent, time_span
from thalweg.optimizer.interval_choice import Interval, IntervalChoice
from thalweg.report.explanation import Paragraph

TITLE = "Micro-batches"


def batch_sentence(choice: IntervalChoice) -> str:
    """Return what was counted of micro-batches, and the interval that the next start takes."""
    if choice.counted is None:
        return (
            f"micro-batches: {choice.batches:,} timed so far, too few or of too similar sizes to know what a row adds; "
            "until then, trigger='auto' is the same as no trigger"
        )
    fixed, per_row, rate = choice.counted
    counted = f"micro-batches take {_span(fixed)} and {_span(per_row)} per row, at {few_digits(rate)} rows per second"
    alone = f"{counted}: rows alone keep the query busy for {percent(per_row * rate)} of the time"
    busy = percent(choice.busy)
    if choice.seconds is None:
        return f"{alone}, so no interval has {busy}"
    if choice.is_trial:
        return (
            f"{alone}, which leaves too little of the {busy} that busy= allows; but micro-batches were too small to be "
            f"sure, so the next start with trigger='auto' tries intervals of {_span(choice.seconds)}"
        )
    if choice.is_near_limit:
        return (
            f"{alone}, nearly the {busy} that busy= allows, so this machine is near its limit; the next start with "
            f"trigger='auto' has intervals of {_span(choice.seconds)}, because longer ones would hardly lower the load"
        )
    return f"{counted}: the next start with trigger='auto' has intervals of {_span(choice.seconds)}"


def batch_paragraph(choice: IntervalChoice) -> Paragraph:
    """Return the comparison of some intervals; without lines if no micro-batch was counted."""
    if not choice.batches:
        return Paragraph(TITLE, ())
    return Paragraph(TITLE, (*_table(choice), batch_sentence(choice)))


def _table(choice: IntervalChoice) -> Iterator[str]:
    if not choice.compared:
        return
    rows: list[tuple[str, ...]] = [("interval", "busy", "rows", "latency", "held rows", "")]
    rows += [_row(each, "chosen" if each.seconds == choice.seconds else "") for each in choice.compared]
    yield from aligned(rows, left=range(len(rows[0])))


def _row(one: Interval, mark: str) -> tuple[str, ...]:
    return (
        _span(one.seconds), percent(one.load), few_digits(round(one.rows)), _span(one.latency),
        few_digits(round(one.held)), mark,
    )  # fmt: skip


def _span(seconds: float) -> str:
    return time_span(round(seconds * 1e9), 1)
