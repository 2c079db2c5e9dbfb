"""Warnings about late rows name each stream with its count, and what to write in the way that was used."""

from __future__ import annotations

import datetime
import warnings
from collections.abc import Callable

import pyarrow as pa
import pytest

import thalweg as tw

NOON = datetime.datetime(2026, 1, 1, 12)
REMEDY = "the stream is not in order; raise lateness= of s.stream(...). q.late() returns these rows"
JOIN = "SELECT x.k FROM a {} AS x, b {} AS y WHERE x.k = y.k"


def batches(*seconds: int) -> list[pa.RecordBatch]:
    """Return one batch per row, so that each row is a round."""
    times = [NOON + datetime.timedelta(seconds=each) for each in seconds]
    return [pa.record_batch({"k": [1], "ts": [time]}) for time in times]


def session(lateness: str = "0 seconds") -> tw.Session:
    made = tw.session()
    made.stream("a", batches(0, 60, 64, 5), time="ts", lateness=lateness)
    made.stream("b", batches(1, 62, 66, 2, 3), time="ts", lateness=lateness)
    return made


def warned(apply: Callable[[], object]) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        apply()
    assert all(warning.filename == __file__ for warning in caught), "the line that the user can change"
    return [str(warning.message) for warning in caught]


GROUPED = "SELECT count(*) AS n FROM a GROUP BY TUMBLE(10 SECONDS)"
IN_TIME, IN_ROWS = JOIN.format("[RANGE 1 MINUTE]", "[RANGE 1 MINUTE]"), JOIN.format("[ROWS 1]", "[ROWS 1]")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (GROUPED, [f"1 of 4 rows of a were late and are in no window, by up to 59 s: {REMEDY}"]),
        (
            IN_TIME,
            [
                f"1 of 4 rows of x were late and not joined, by up to 57 s: {REMEDY}",
                f"2 of 5 rows of y were late and not joined, by up to 64 s: {REMEDY}",
            ],
        ),
        (
            IN_ROWS,
            [
                f"1 of 4 rows of x came later than the lateness of x allows and are in no window of rows: {REMEDY}",
                f"2 of 5 rows of y came later than the lateness of y allows and are in no window of rows: {REMEDY}",
            ],
        ),
    ],
    ids=["groups", "a join over time", "a join over rows"],
)
def test_of_a_query(text: str, said: list[str]) -> None:
    assert sorted(warned(lambda: session().query(text).dataframe())) == said
    assert warned(lambda: session("2 minutes").query(text).dataframe()) == [], "what they suggest"


def test_of_a_join() -> None:
    join = tw.join(on="a.k = b.k", window="1 minute", time="ts")
    (first, second) = warned(lambda: list(join.over(a=batches(0, 60, 64, 5), b=batches(1, 62, 66, 2, 3))))
    remedy = "the stream is not in order; raise its lateness=. j.late_over(...) returns these rows"
    assert first == f"1 of 4 rows of a were late and not joined, by up to 57 s: {remedy}"
    assert second.startswith("2 of 5 rows of b were late and not joined, by up to ")
