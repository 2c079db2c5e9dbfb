"""The figure of a trace: results over time at the top, queue lengths below, and the times at which orders changed.

It needs matplotlib, which is in the extra `lab`.
"""

from __future__ import annotations

import os
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thalweg.errors import ThalwegError
from thalweg.given_path import given_path

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from thalweg.simulation.trace import Trace

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9")
"""The palette of Okabe and Ito, which color-blind people can distinguish."""
STYLES = ("-", "--", ":", "-.")
STRETCHES = 1000
"""The number of intervals of time in which a queue is drawn; more than the figure has columns of pixels."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def draw(trace: Trace, path: str | os.PathLike[str]) -> None:
    """Save the figure of a trace as PNG, with the same bytes for the same trace."""
    drawn = BytesIO()
    figure(trace).savefig(drawn, format="png", metadata={"Software": None})
    file = Path(given_path(path))
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(drawn.getvalue())


def figure(trace: Trace) -> Figure:
    """Return the figure of a trace, which is not saved to disk."""
    try:
        from matplotlib.figure import Figure
        from matplotlib.ticker import MaxNLocator
    except ModuleNotFoundError as error:
        raise ThalwegError(
            f"plotting a trace needs matplotlib ({error.name} is missing): pip install 'thalweg[lab]'"
        ) from error
    canvas = Figure(figsize=(6.4, 4.8), dpi=100, layout="constrained")
    above, below = canvas.subplots(2, 1, sharex=True)
    results = trace.results.to_pydict()
    names = list(trace.final)
    looks = {n: {"color": COLOURS[i % len(COLOURS)], "linestyle": STYLES[i % len(STYLES)]} for i, n in enumerate(names)}
    for name in dict.fromkeys(results["operator"]):
        mine = [i for i, operator in enumerate(results["operator"]) if operator == name]
        times, totals = ([results[column][i] for i in mine] for column in ("time", "total"))
        above.step([0.0, *times, trace.end], [0, *totals, totals[-1]], where="post", label=name, **looks[name])
    changes = trace.queues.to_pydict()
    for name in names:
        mine = [i for i, operator in enumerate(changes["operator"]) if operator == name]
        at, queue = (np.array([changes[column][i] for i in mine]) for column in ("time", "queue"))
        at, queue = _thinned(at, queue, trace.end)
        label = f"{name} (at most {int(queue.max()):,})"
        below.step([*at, trace.end], [*queue, queue[-1]], where="post", label=label, **looks[name])
    for name in dict.fromkeys(change.operator for change in trace.reordered):
        when = [change.time for change in trace.reordered if change.operator == name]
        for axes in (above, below):
            faint = {"color": looks[name]["color"], "linewidth": 0.8, "alpha": 0.6, "zorder": 0}
            axes.vlines(when, 0, 1, transform=axes.get_xaxis_transform(), **faint)
        # markers stay visible even if lines are too close to each other
        above.plot(when, [1.0] * len(when), "v", color=looks[name]["color"], markersize=5, clip_on=False,
                   transform=above.get_xaxis_transform(), label=f"{name}: order changed")  # fmt: skip
    above.set_ylabel("results so far", fontsize=9)
    below.set_ylabel("rows in the queue", fontsize=9)
    below.set_xlabel("time units", fontsize=9)
    for axes in (above, below):
        set_plain(axes)
        axes.yaxis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 5, 10], integer=True))
        axes.yaxis.set_major_formatter("{x:,.0f}")
        axes.set_xlim(0, trace.end or 1)
        axes.set_ylim(0, max(axes.get_ylim()[1], 1))  # with whole numbers there are no ticks below 1
        if axes.lines:
            axes.legend(frameon=False, fontsize=8)
    return canvas


def set_plain(axes: Axes) -> None:
    """Give axes the look of all figures: no frame, faint horizontal lines, small numbers."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#e4e4e4", linewidth=0.8)
    axes.tick_params(labelsize=8)


def _thinned(times: Floats, lengths: Ints, end: float) -> tuple[Floats, Ints]:
    """Reduce a queue's changes, starting at 0, to those that can be seen: the first, smallest, largest and last of each
    interval of time, so that no peak is lost."""
    times, lengths = np.concatenate([[0.0], times]), np.concatenate([[0], lengths]).astype(np.int64)
    if len(times) <= 4 * STRETCHES or not end:
        return times, lengths
    stretch = np.minimum((times / end * STRETCHES).astype(np.int64), STRETCHES)
    first = np.flatnonzero(np.diff(stretch, prepend=-1))
    last = np.append(first[1:], len(times)) - 1
    by_length = np.lexsort((lengths, stretch))  # intervals stay in order
    kept = np.unique(np.concatenate([first, last, by_length[first], by_length[last]]))
    return times[kept], lengths[kept]
