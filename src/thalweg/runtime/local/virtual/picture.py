"""The picture of a trace: results against time above, queue lengths below. matplotlib is the extra `lab`."""

from __future__ import annotations

import os
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from thalweg.errors import ThalwegError

if TYPE_CHECKING:
    from thalweg.runtime.local.virtual.trace import Trace

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9")
"""Of Okabe and Ito, which the colour-blind can tell apart."""
STYLES = ("-", "--", ":", "-.")


def draw(trace: Trace, path: str | os.PathLike[str]) -> None:
    """As PNG, the same bytes for the same trace."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise ThalwegError(
            f"traces are drawn by matplotlib ({error.name} is missing): pip install 'thalweg[lab]'"
        ) from error
    canvas = Figure(figsize=(6.4, 4.8), dpi=100, layout="constrained")
    above, below = canvas.subplots(2, 1, sharex=True)
    samples, results = trace.samples.to_pydict(), trace.results.to_pydict()
    names = list(trace.final)
    looks = {n: {"color": COLOURS[i % len(COLOURS)], "linestyle": STYLES[i % len(STYLES)]} for i, n in enumerate(names)}
    for name in dict.fromkeys(results["operator"]):
        mine = [i for i, operator in enumerate(results["operator"]) if operator == name]
        times, totals = ([results[column][i] for i in mine] for column in ("time", "total"))
        above.step([0.0, *times, trace.end], [0, *totals, totals[-1]], where="post", label=name, **looks[name])
    for name in names:
        mine = [i for i, operator in enumerate(samples["operator"]) if operator == name]
        times, queue = ([samples[column][i] for i in mine] for column in ("time", "queue"))
        below.step([0.0, *times], [0, *queue], where="post", label=name, **looks[name])
    above.set_ylabel("results so far", fontsize=9)
    below.set_ylabel("rows in the queue", fontsize=9)
    below.set_xlabel("time units", fontsize=9)
    for axes in (above, below):
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y", color="#e4e4e4", linewidth=0.8)
        axes.tick_params(labelsize=8)
        axes.yaxis.set_major_formatter("{x:,.0f}")
        axes.set_xlim(left=0)
        axes.set_ylim(bottom=0)
        if axes.lines:
            axes.legend(frameon=False, fontsize=8)
    drawn = BytesIO()
    canvas.savefig(drawn, format="png", metadata={"Software": None})
    Path(path).write_bytes(drawn.getvalue())
