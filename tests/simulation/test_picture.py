"""The figure of a trace shows every peak, whole numbers of rows, and the times at which orders changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import thalweg as tw
from tests.lab.png import size_of_png
from thalweg.simulation import Costs, Selection, Source, Trace, regular, scripted, simulate, tree_join
from thalweg.simulation.picture import STRETCHES, _thinned, figure

TABLE = pa.table({"n": list(range(10))})


def selection(**more: Any) -> Selection:
    return Selection("x", "s", tw.predicate(lambda n: True, "n", name="always"), **more)


def burst() -> Trace:
    """Three rows arrive at 2 and are gone at 5; samples every 10 time units miss them."""
    source = Source(TABLE.slice(0, 4), scripted([2, 2, 2, 30]))
    return simulate({"s": source}, selection(costs=Costs(predicate=1)), every=10)


def test_queues_are_recorded_whenever_they_change() -> None:
    trace = burst()
    changes = [(row["time"], row["queue"]) for row in trace.queues.to_pylist()]
    assert changes == [(2, 2), (3, 1), (4, 0), (30, 0)]
    assert {row["queue"] for row in trace.samples.to_pylist()} == {0}


def test_the_line_shows_a_peak_between_samples() -> None:
    above, below = figure(burst()).axes
    (line,) = below.lines
    assert np.max(line.get_ydata()) == 2
    assert line.get_label() == "x (at most 2)"
    for axes in (above, below):
        ticks = axes.get_yticks()
        assert ticks.tolist() == [int(tick) for tick in ticks]
        assert len(ticks) >= 2


def test_changes_of_order_are_marked() -> None:
    expensive, cheap = (
        tw.predicate(lambda n, name=name: n % 2 == 0, "n", name=name) for name in ("expensive", "cheap")
    )
    table = pa.table({"n": np.random.default_rng(0).integers(0, 100, 3_000)})
    one = Selection(
        "one",
        "s",
        expensive,
        cheap,
        costs=Costs(predicate={"expensive": "9 ms", "cheap": "1 ms"}),
        policy="a-greedy(p=0.2)",
    )
    trace = simulate({"s": Source(table, regular(90))}, one)
    above, _ = figure(trace).axes
    (marks,) = [line for line in above.lines if line.get_label() == "one: order changed"]
    assert np.asarray(marks.get_xdata()).tolist() == [change.time for change in trace.reordered]
    assert len(trace.reordered) >= 1


def test_thinning_keeps_the_least_and_the_most_of_every_stretch() -> None:
    rng = np.random.default_rng(4)
    times = np.sort(rng.uniform(0, 50, 30_000))
    lengths = rng.integers(1, 1_000, len(times))
    at, queue = _thinned(times, lengths, 50.0)
    assert len(at) <= 4 * (STRETCHES + 1)
    times, lengths = np.append(0.0, times), np.append(0, lengths)  # before anything comes, nothing waits
    assert set(zip(at, queue, strict=True)) <= set(zip(times, lengths, strict=True))
    assert (np.diff(at) >= 0).all()
    for n in range(STRETCHES):
        given, kept = ((when >= n / 20) & (when < (n + 1) / 20) for when in (times, at))
        assert queue[kept].max() == lengths[given].max()
        assert queue[kept].min() == lengths[given].min()
        assert queue[kept][-1] == lengths[given][-1]


def test_the_picture(tmp_path: Path) -> None:
    given = {alias: Source(TABLE, regular(1), stamp="t") for alias in "abc"}
    join = tree_join("join", (("a", "b"), "c"), "a.n = b.n AND b.n = c.n", "1 minute", "t", costs=Costs(move=0.8))
    path = tmp_path / "a folder" / "to be made" / "trace.png"
    simulate(given, join).plot(path)
    assert size_of_png(path) == (640, 480)


@pytest.mark.parametrize("trace", [{}, {"until": 3}])
def test_the_picture_of_nothing(trace: dict[str, Any], tmp_path: Path) -> None:
    simulate({"s": Source(TABLE.slice(0, 0), regular(1))}, selection(), **trace).plot(tmp_path / "nothing.png")
    assert size_of_png(tmp_path / "nothing.png") == (640, 480)
