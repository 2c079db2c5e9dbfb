"""The rates of streams in the report of a join: each bucket extrapolates from its own rows."""

from __future__ import annotations

import pytest

from thalweg.events import Origin, PlanObserved
from thalweg.events.parts import PlanCounts
from thalweg.report.plan_history import PlanHistory


def observed(batch: int | None, bucket: int, *rates: float, kind: str = "stream") -> PlanObserved:
    """What one bucket reports after a micro-batch."""
    return PlanObserved(
        Origin("r", kind, batch, f"bucket {bucket}", "chart"), "(a b c)", PlanCounts(10, 1, 1, 1, 1), rates=rates
    )


# 16 of 24 keys of the first stream are in bucket 0, so this bucket takes 600 rows per second for 800. The second stream
# is in both buckets.
RECORDS = [
    observed(0, 0, 800.0, 12.0), observed(0, 1, 400.0, 12.0),
    observed(1, 1, 500.0, 20.0), observed(1, 0, 1000.0, 20.0),
    observed(2, 0, 900.0, 15.0),
]  # fmt: skip
RATES = {0: (600.0, 12.0), 1: (750.0, 20.0), 2: (900.0, 15.0)}


def found(history: PlanHistory) -> dict[int | None, tuple[float, ...]]:
    """The rates by micro-batch; no batch is there twice."""
    assert len({each.batch for each in history.rates}) == len(history.rates)
    return {each.batch: each.rates for each in history.rates}


@pytest.mark.parametrize("cut", range(len(RECORDS) + 1))
def test_rates_are_the_mean_over_buckets_also_if_parts_are_put_together(cut: int) -> None:
    first, second, whole = PlanHistory(), PlanHistory(), PlanHistory()
    for record in RECORDS[:cut]:
        first.add(record)
    for record in RECORDS[cut:]:
        second.add(record)
    before = found(second)
    whole.take_in(first)
    whole.take_in(second)
    assert found(whole) == RATES
    assert found(second) == before, "a part is not changed by what it is added to"


def test_every_report_of_a_local_pass_is_a_round() -> None:
    history = PlanHistory()
    for rates in ((10.0,), (20.0,), (30.0,)):
        history.add(observed(None, 0, *rates, kind="local"))
    assert [each.rates for each in history.rates] == [(10.0,), (20.0,), (30.0,)]


def test_all_buckets_of_finished_dataframes_are_one_round() -> None:
    history = PlanHistory()
    for bucket, rate in enumerate((10.0, 20.0, 60.0)):
        history.add(observed(None, bucket, rate, kind="batch"))
    assert [(each.rates, each.buckets) for each in history.rates] == [((30.0,), 3)]
