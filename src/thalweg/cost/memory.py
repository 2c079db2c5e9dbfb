"""The memory of operators and joins: as the OM paper counts it, and as a user pays for it.

Answers
- `om_*`: rows buffered at an operator while it works through a window (OM, section 4.1): its input buffer and the queue
  of its output.
- `rows_held`, `kept_rows`, `bytes_of_rows`: the rows and bytes that the windows of a join and its kept sub-joins hold.
Guarantee: exact for regular arrivals, as long as no row is late and watermarks move in every round; for kept sub-joins
a lower bound, and `EXPIRED` times it an upper bound.
Cost: a few operations.
Differs from the paper: the output of an aggregate is one row per window, and what is buffered is counted with the same
formula as for the others. OM gives 1 / (C * rate * window) as its rate, which is how many windows per time unit it can
aggregate if it does nothing else.

>>> om_input_rows(rate=100.0, window=5.0, rows_per_time_unit=1000.0)  # 500 rows take half a time unit
50.0
>>> rows_held(rate=100.0, window=60.0, lateness=5.0, round_length=10.0)
7500.0
>>> kept_rows([(7500.0, 1.0), (750.0, 0.5)], selectivity=0.001)  # half of the second stream's rows pass its filters
2812.5

Reference: Kulkarni, Ravishankar: OM: A Tunable Framework for Optimizing Continuous Queries over Data Streams. Section
4.1.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

EXPIRED = 2.0
"""By how many times the rows that a kept sub-join holds may exceed those that can still have partners. Its rows do not
end in the order in which they are made, and a store removes rows from its beginning until the others are as many
(`kernels/window_store.py`)."""
INDEX_BYTES_PER_ROW = 40
"""A row in a hash index: four words, and one for its bucket (`kernels/window_store.py`)."""


def om_input_rows(rate: float, window: float, rows_per_time_unit: float) -> float:
    """Return the rows that arrive while an operator processes a window: c_inp = rate * (rate * window / tpr)."""
    return rate * (rate * window / rows_per_time_unit)


def om_queued_rows(output_rate: float, window: float) -> float:
    """Return the rows in the queue after an operator: c_int = output rate * window."""
    return output_rate * window


def om_join_rate(left: float, right: float, selectivity: float, window: float, costs: tuple[float, float]) -> float:
    """Return the output rate of a window join: sel * left * right * window / (C_L * left + C_R * right)."""
    return selectivity * left * right * window / (costs[0] * left + costs[1] * right)


def om_aggregate_rate(rate: float, window: float, cost: float) -> float:
    """Return the output rate of an aggregate: 1 / (C * rate * window)."""
    return 1.0 / (cost * rate * window)


def om_rows(rate: float, window: float, rows_per_time_unit: float, output_rate: float) -> float:
    """Return the memory of an operator in rows: its input buffer and the queue of its output."""
    return om_input_rows(rate, window, rows_per_time_unit) + om_queued_rows(output_rate, window)


def rows_held(rate: float, window: float, lateness: float = 0.0, round_length: float = 0.0, copies: int = 1) -> float:
    """Return the rows that the window of a stream holds, before filters: those of the window, and those that stay until
    the watermark has passed them. `copies`: the number of buckets that hold the same rows, if they are replicated."""
    return rate * (window + lateness + round_length) * copies


def kept_rows(inputs: Iterable[tuple[float, float]], selectivity: float) -> float:
    """Return the rows of a kept sub-join that can still have partners; it holds at most `EXPIRED` times as many.
    `inputs`: for each of its streams, the rows in its window and the
    share of them that its filters keep. `selectivity`: the share of the combinations of rows that join."""
    return selectivity * math.prod(rows * kept for rows, kept in inputs)


def bytes_of_rows(rows: float, widths: Sequence[float], indexes: int = 1) -> float:
    """Return the bytes of rows with columns of these widths and this many hash indexes, without unused capacity.

    >>> bytes_of_rows(1000, [8, 8, 20], indexes=2)
    116000.0
    """
    return float(rows * (sum(widths) + indexes * INDEX_BYTES_PER_ROW))
