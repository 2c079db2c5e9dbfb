"""Q2 with charts of more parts, over packets and over random rows (OM, section 5.3, figure 4b)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from thalweg.formatting import few_digits
from thalweg.lab.claim import Statement, judged
from thalweg.lab.experiment import Experiment, Outcome, Track
from thalweg.lab.figure import Figure, Series
from thalweg.lab.om.figure_3a import split
from thalweg.lab.om.multi_stream import multi_stream, observed, plan_cost
from thalweg.lab.om.packet_streams import packets, urnd
from thalweg.lab.om.rounds import EQUAL, Followed, Judged, Query, Values, at_random, follow, static, stays
from thalweg.lab.om.utility import RATE_WEIGHT, utility

PARTS = tuple(range(2, 11))
BESIDE = "DEC side by side"
"""The packets with the rows of each second from the same second of all captures."""
STABLE = 0.02
"""Percentage points that count as a change."""


@dataclass
class Results:
    """The charts of both data sets, by k, and the other approaches."""

    runs: dict[str, dict[int, Followed]] = field(default_factory=dict)
    rand: dict[str, Judged] = field(default_factory=dict)
    rate: dict[str, Judged] = field(default_factory=dict)
    alone: dict[str, list[Judged]] = field(default_factory=dict)
    """Each plan, if it stays."""
    changed: dict[str, int] = field(default_factory=dict)
    """The number of rounds in which memory alone would have another best plan."""
    rate_term: dict[str, float] = field(default_factory=dict)
    """The share of the rate term in the cost of the best plan, the mean of rounds with results."""

    def fidelities(self, name: str) -> list[float]:
        """Return the fidelity of each k."""
        return [followed.chart.fidelity for followed in self.runs[name].values()]

    def shown(self, name: str) -> str:
        """Return the fidelities of a data set and the other approaches' for a sentence."""
        fidelities = ", ".join(f"{fidelity:.1%}" for fidelity in self.fidelities(name))
        last = self.runs[name][PARTS[-1]]
        return (
            f"{name}: {fidelities} for k = 2 to 10; k = 10: {last.chart}, {last.moves} moves, {last.switches} "
            f"switches, {last.charts} charts; chosen anew at the estimates {last.anew}; RATE {self.rate[name]}; RAND "
            f"{self.rand[name]}"
        )

    def stable_from(self, name: str) -> int:
        """Return the k from which no fidelity differs from that of the largest k by more than `STABLE`."""
        found = self.fidelities(name)
        changed = [i for i, fidelity in enumerate(found) if abs(fidelity - found[-1]) > STABLE]
        return PARTS[changed[-1] + 1] if changed else PARTS[0]


CLAIMS: tuple[Statement[Results], ...] = (
    Statement(
        "the fidelity for DEC is always higher than for URND",
        "section 5.3, figure 4b",
        holds=lambda r: all(d > u for d, u in zip(r.fidelities("DEC"), r.fidelities("URND"), strict=True)),
        measured=lambda r: f"{r.shown('DEC')}. {r.shown('URND')}",
    ),
    Statement(
        "the fidelity for DEC is stable from k = 5 on",
        "section 5.3; read as a change of at most 2 percentage points from k = 5 on, but not from k = 2 on",
        holds=lambda r: 2 < r.stable_from("DEC") <= 5,
        measured=lambda r: f"stable from k = {r.stable_from('DEC')} on",
    ),
    Statement(
        "the fidelity for URND is stable from k = 8 on",
        "section 5.3; read as above",
        holds=lambda r: 2 < r.stable_from("URND") <= 8,
        measured=lambda r: f"stable from k = {r.stable_from('URND')} on",
    ),
    Statement(
        "the fidelity of DEC is 80 % to 99 % at k = 10",
        "section 5.3, figures 4a and 4b; here for the packets as they arrive, without a filter; read with 5 percentage "
        "points below",
        holds=lambda r: r.fidelities("DEC")[-1] >= 0.75,
        measured=lambda r: f"{r.runs['DEC'][PARTS[-1]].chart}",
    ),
    Statement(
        "larger charts have a higher fidelity",
        "section 6: a chart with higher granularity provides better performance; read as k = 10 against k = 2, for DEC "
        "and URND",
        holds=lambda r: all(r.fidelities(name)[-1] > r.fidelities(name)[0] for name in ("DEC", "URND")),
        measured=lambda r: "; ".join(
            f"{name}: {r.fidelities(name)[0]:.1%} with k = 2, {r.fidelities(name)[-1]:.1%} with k = 10"
            for name in ("DEC", "URND")
        ),
        why="a larger chart follows the estimates more closely, and for DEC those of the selectivities are often "
        "wrong: choosing anew at the estimates, the limit of large charts, is not better than k = 2 either.",
    ),
    Statement(
        "the fidelity is also 80 % to 99 % if the captures are side by side",
        "as above; this variant was added when results were known",
        holds=lambda r: r.fidelities(BESIDE)[-1] >= 0.75,
        measured=lambda r: f"{r.shown(BESIDE)}; with the observed selectivities {r.runs[BESIDE][PARTS[-1]].selected}",
        why="rows match in bursts of a few seconds, and the mean of ten rounds follows them late. If the selectivities "
        "were known, the plans at the estimated rates would be right most of the time.",
    ),
    Statement(
        "the chart costs less in total than each plan alone",
        "section 1.2: static query plans become sub-optimal; k = 10; added when results were known",
        holds=lambda r: all(
            r.runs[name][PARTS[-1]].chart.total < min(each.total for each in r.alone[name]) for name in r.runs
        ),
        measured=lambda r: "; ".join(
            f"{name}: chart {few_digits(r.runs[name][PARTS[-1]].chart.total)}, plans alone "
            + ", ".join(f"{few_digits(each.total)} (fidelity {each.fidelity:.1%})" for each in r.alone[name])
            for name in r.runs
        ),
        why="as they arrive, one plan, which joins UDP and SF first, is the best in most rounds. The chart leaves it "
        "after the few seconds in which UDP and SF match, and is late. With URND all plans cost nearly the same. Side "
        "by side, the chart costs less than each plan, although the same plan alone has a higher fidelity: the "
        "rounds in which another is better are the expensive ones.",
    ),
    Statement(
        "the output rate has a part in the choice of plans",
        "section 3.2, with the weights 0.4 and 0.6; read as: in some round another plan would be the best by memory "
        "alone; added when results were known",
        holds=lambda r: any(r.changed.values()),
        measured=lambda r: "; ".join(
            f"{name}: another plan in {r.changed[name]} rounds; in rounds with results, the rate term is on average "
            f"{few_digits(r.rate_term[name])} of the cost"
            for name in r.changed
        ),
        why="the reciprocal of rows per second and a number of rows are added as they are, so the smaller of the two "
        "does not count. `objective.balance` compares each with the best plan's.",
    ),
)


def measure(quick: bool, track: Track) -> Outcome:
    """Follow charts of all sizes over both data sets."""
    query, results = multi_stream(), Results()
    beside = {name: stream.side_by_side() for name, stream in packets().items()}
    seconds = {"DEC": observed(packets()), "URND": observed(urnd()), BESIDE: observed(beside)}
    for name in seconds:
        before, rounds = split(seconds[name], quick)
        results.rand[name] = at_random(query, rounds)
        results.rate[name] = static(query, before, rounds)
        results.alone[name] = [stays(query, plan, rounds) for plan in query.plans]
        results.changed[name], results.rate_term[name] = part_of_rate(query, rounds)
        results.runs[name] = {}
    for name, k in track([(name, k) for name in seconds for k in PARTS]):
        results.runs[name][k] = follow(query, *split(seconds[name], quick), k)
    return Outcome(judged(CLAIMS, results), (figure(results),))


def part_of_rate(query: Query, rounds: Sequence[Values]) -> tuple[int, float]:
    """Return in how many rounds memory alone would have another best plan, and the share of the rate term."""
    changed, shares = 0, []
    for seen in rounds:
        best = query.best(seen)
        by_plan = {plan: plan_cost(plan, seen) for plan in query.plans}
        changed += by_plan[best].memory > min(cost.memory for cost in by_plan.values()) * EQUAL
        if by_plan[best].rate:
            shares.append(RATE_WEIGHT / by_plan[best].rate / utility(by_plan[best]))
    return changed, float(np.mean(shares)) if shares else 0.0


def figure(r: Results) -> Figure:
    """Return the figure: fidelity over k."""
    lines = tuple(
        Series(name, PARTS, [100 * fidelity for fidelity in r.fidelities(name)], color)
        for name, color in (("DEC", "blue"), ("URND", "orange"), (BESIDE, "green"))
    )
    return Figure("figure-4b", "Fidelity of Q2 with charts of k × k × k regions", "k", "%", lines, from_zero=True)


EXPERIMENT = Experiment(
    title="a join of three streams with larger charts",
    reference="section 5.3, figure 4b",
    measure=measure,
    setting="Q2 over TCP, UDP and SF as they arrive (in place of the paper's DEC), and over URND. As they arrive, rows "
    "of the same second are from different captures, so few of them match. *Side by side*, the rows of each second are "
    "from the same second of all captures.",
)
