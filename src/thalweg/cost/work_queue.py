"""The results of a join over time, if one worker does all of its work: arrivals wait in a queue while it is busy.

Answers: the results that a plan has returned by each of some times, and the time at which it has returned so many.
How: rows arrive as a fluid. If W(e) is the work of everything that arrived by time e, in seconds, it is done at
W(e) + max over u <= e of (u - W(u)). What a plan has returned by a time depends on its work only: the
results of the rows that arrived by e are the same for every plan.
Guarantee: exact for fluid arrivals, apart from the grid of time.
Cost: O(grid) per plan.

The papers give every operator a worker of its own (`lab/rate_based/fluid.py`); a join of Thalweg does all of its work
in one worker per bucket.

>>> times = np.linspace(0.0, 10.0, 101)
>>> work = 2.0 * times  # twice as much work as one worker can do
>>> made = 100.0 * times
>>> returned_by(times, work, made, 10.0), time_of(times, work, made, 200.0)
(500.0, 4.0)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]


def done_at(times: Numbers, work: Numbers) -> Numbers:
    """Return when everything that arrived by each time is done. Times are along the last axis."""
    done: Numbers = work + np.maximum.accumulate(times - work, axis=-1)
    return done


def accumulated(times: Numbers, rates: Numbers) -> Numbers:
    """Return the integral of a rate from the first of the times to each of them."""
    rates = np.broadcast_to(rates, (*np.shape(rates)[:-1], len(times)))
    steps = (rates[..., 1:] + rates[..., :-1]) / 2.0 * np.diff(times)
    return np.concatenate([np.zeros((*steps.shape[:-1], 1)), np.cumsum(steps, axis=-1)], axis=-1)


def returned_by(times: Numbers, work: Numbers, made: Numbers, by: float) -> float:
    """Return the results that are returned by a time. `made`: the results of the rows that arrived by each time."""
    return float(np.interp(np.interp(by, done_at(times, work), times), times, made))


def returned(times: Numbers, work: Numbers, made: Numbers) -> Numbers:
    """Return the results that are returned by each time."""
    results: Numbers = np.interp(np.interp(times, done_at(times, work), times), times, made)
    return results


def time_of(times: Numbers, work: Numbers, made: Numbers, results: float) -> float:
    """Return when so many results are returned; infinity if they are not made by the last of the times."""
    if made[-1] < results:
        return np.inf
    arrived = np.interp(results, made, times)
    return float(np.interp(arrived, times, done_at(times, work)))
