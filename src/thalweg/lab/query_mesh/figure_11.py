"""The total number of tuples produced over time (query-mesh, section 6.2, figure 11a)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from thalweg.lab.claim import Statement, judged
from thalweg.lab.experiment import Experiment, Outcome, Track
from thalweg.lab.figure import Figure, Series
from thalweg.lab.query_mesh.all_runs import all_runs
from thalweg.lab.query_mesh.contender_run import ContenderRun, Numbers
from thalweg.lab.query_mesh.contenders import CBR, CBR_BATCHED, QM, QM_3, SP
from thalweg.lab.query_mesh.layouts import LAYOUTS

POINTS = 10
SIGNIFICANT = 0.05
SHOWN = {QM: "blue", QM_3: "red", SP: "black", CBR: "orange", CBR_BATCHED: "green"}


@dataclass(frozen=True)
class Totals:
    """Tuples produced until each tenth of the time in which the fastest contender is done."""

    seconds: list[float]
    produced: dict[str, list[float]]


def totals(runs: dict[str, ContenderRun], costs_ns: Numbers) -> Totals:
    """Return the tuples that contenders have produced, at ten moments.

    Between the ends of two windows, results are taken to come evenly.
    """
    end = min(runs[name].total_ns(costs_ns) for name in SHOWN)
    moments = np.linspace(0.0, end, POINTS + 1)[1:]
    produced = {}
    for name in SHOWN:
        times = np.concatenate([[0.0], np.cumsum(runs[name].spent_ns(costs_ns))])
        outputs = np.concatenate([[0.0], np.cumsum(runs[name].outputs)])
        produced[name] = np.interp(moments, times, outputs).tolist()
    return Totals((moments / 1e9).tolist(), produced)


Results = dict[str, Totals]


def least(r: Results, other: str) -> float:
    """Return by how much QM is ahead at the end, in the layout in which this is least."""
    return min(each.produced[QM][-1] / max(each.produced[other][-1], 1.0) - 1.0 for each in r.values())


def lead(each: Totals) -> float:
    """Return the least lead of QM over another contender, from the second tenth of the time on."""
    others = [each.produced[name] for name in (SP, CBR, CBR_BATCHED)]
    return min(each.produced[QM][i] - other[i] for other in others for i in range(1, POINTS))


CLAIMS: tuple[Statement[Results], ...] = (
    Statement(
        "over time, QM produces significantly more tuples than SP and than Eddy+CBR",
        f"section 6.2, figure 11a; read as at least {SIGNIFICANT:.0%} more in each layout, when QM or another is done",
        holds=lambda r: all(least(r, other) >= SIGNIFICANT for other in (SP, CBR, CBR_BATCHED)),
        measured=lambda r: "; ".join(
            f"{layout}, after {each.seconds[-1]:.2f} s: "
            + ", ".join(f"{name} {each.produced[name][-1]:,.0f}" for name in SHOWN)
            for layout, each in r.items()
        ),
    ),
    Statement(
        "QM is ahead of SP and of Eddy+CBR at all times",
        "figure 11a; at each tenth of the time from the second on",
        holds=lambda r: all(lead(each) > 0 for each in r.values()),
        measured=lambda r: ", ".join(
            f"{layout}: ahead by at least {lead(each):.1f} tuples" for layout, each in r.items()
        ),
    ),
)


def measure(quick: bool, track: Track) -> Outcome:
    """Add up what contenders have produced, on the first stream of each layout."""
    runs = all_runs(quick, track).runs
    results = {name: totals(runs["poisson", name, 0], layout.costs_ns()) for name, layout in LAYOUTS.items()}
    return Outcome(judged(CLAIMS, results), tuple(figure("figure-11a", name, each) for name, each in results.items()))


def figure(name: str, of: str, each: Totals) -> Figure:
    """Return the figure of one layout or data set."""
    ms = [1000 * second for second in each.seconds]
    lines = tuple(
        Series(shown, ms, each.produced[shown], color, dashed=shown == QM_3) for shown, color in SHOWN.items()
    )
    return Figure(f"{name}-{of.replace('_', '-')}", f"Tuples produced over time, {of}", "virtual milliseconds",
                  "tuples", lines, timeline=True, from_zero=True)  # fmt: skip


EXPERIMENT = Experiment(
    title="total number of tuples produced over time",
    reference="section 6.2, figure 11a",
    measure=measure,
    setting="The first stream of Poisson data of each layout, at 10 µs per probe. The paper shows an hour; the stream "
    "is saturated and does not change, so an hour would show the same as 20,000 tuples.",
)
