"""The reason of a switch names what changed, with the numbers that the data was drawn with."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from tests.adapt.virtual_stream import VirtualStream


def reasons(stream: VirtualStream) -> list[str]:
    return [switch.reason for switch in stream.loop.take_work().switches]


def drawn(seed: int, rows: int, *shares: float) -> NDArray[np.bool_]:
    """Rows that each filter passes independently with its share."""
    return np.random.default_rng(seed).random((rows, len(shares))) < np.array(shares)


def test_the_shares_and_costs_are_those_of_the_data() -> None:
    stream = VirtualStream((10.0, 10.0), "auto", 3)
    stream.process(drawn(3, 50_000, 0.9, 0.3))
    first = reasons(stream)[0]
    found = re.search(r"F1 before F0: of the rows that get there, F1 drops ([\d.]+) % at (\S+ \S+) per row", first)
    assert found is not None, first
    assert abs(float(found[1]) - 70) < 35  # based on the first 16 rows


def test_a_change_that_only_profiled_rows_show_is_named() -> None:
    """F1 drops as many of the rows that F0 passes as before, but now also those that F0 drops (a-greedy, example 7)."""
    stream = VirtualStream((10.0, 11.0), "auto", 4)
    rows = drawn(4, 400_000, 0.4, 0.1)
    before, after = rows.copy(), rows.copy()
    before[:, 1] |= ~rows[:, 0]
    after[:, 1] &= rows[:, 0]
    stream.process(before)
    assert stream.loop.order == (0, 1)
    reasons(stream)
    stream.process(after)
    assert stream.loop.order == (1, 0)
    found = re.match(
        r"since the order was chosen, the share of all rows that F1 drops rose from (\d+) % to (\d+) %",
        reasons(stream)[0],
    )
    assert found is not None
    assert abs(int(found[1]) - 36) < 10
    assert 46 <= int(found[2]) <= 98  # 96 once all profiled rows are from the new data


def test_a_cost_that_changes_is_named() -> None:
    stream = VirtualStream((8.0, 12.0), "auto", 6)
    stream.process(drawn(6, 200_000, 0.5, 0.5))
    assert stream.loop.order == (0, 1)
    reasons(stream)
    stream.units[0] = 80.0
    stream.process(drawn(7, 200_000, 0.5, 0.5))
    assert stream.loop.order == (1, 0)
    assert reasons(stream)[0].startswith("since the order was chosen, the measured cost of F0 rose from 2.0 µs to ")
