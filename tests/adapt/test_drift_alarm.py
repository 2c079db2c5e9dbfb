"""The alarm is raised if the data has moved, and only then."""

from __future__ import annotations

import numpy as np
import pytest

from thalweg.adapt.drift_alarm import DriftAlarm


def look(alarm: DriftAlarm, rng: np.random.Generator, rows: int, share: float) -> str | None:
    return alarm.look([rows], [int(rng.binomial(rows, share))])


def test_data_that_does_not_move_raises_no_alarm() -> None:
    rng = np.random.default_rng(1)
    for share in (0.01, 0.3, 0.5, 0.9, 0.999):
        alarm = DriftAlarm(("f",))
        assert [look(alarm, rng, 5_000, share) for _ in range(2_000)] == [None] * 2_000


@pytest.mark.parametrize(("before", "after"), [(0.5, 0.8), (0.8, 0.5), (0.1, 0.3), (0.9, 0.99)])
def test_a_changed_share_raises_the_alarm_at_the_next_check(before: float, after: float) -> None:
    rng = np.random.default_rng(2)
    alarm = DriftAlarm(("f",))
    for _ in range(10):
        assert look(alarm, rng, 5_000, before) is None
    sentence = look(alarm, rng, 5_000, after)
    assert sentence is not None
    assert sentence.startswith("f now drops")
    assert look(alarm, rng, 5_000, after) is None  # once


def test_slow_drift_is_detected_too() -> None:
    rng = np.random.default_rng(3)
    alarm = DriftAlarm(("f",))
    alarms = [look(alarm, rng, 5_000, share) for share in np.linspace(0.3, 0.6, 300)]
    assert any(alarms)


def test_few_rows_are_collected_until_there_are_enough() -> None:
    alarm = DriftAlarm(("f",))
    for _ in range(10):
        assert alarm.look([100], [100]) is None
    alarms = [alarm.look([100], [0]) for _ in range(4)]
    assert alarms[0] is None
    assert any(alarms)
