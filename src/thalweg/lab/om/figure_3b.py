"""Q1 over streams that are more or less erratic, against RAND and RATE (OM, section 5.2, figure 3b)."""

from __future__ import annotations

from dataclasses import dataclass, field

from thalweg.lab.claim import Statement, judged
from thalweg.lab.experiment import Experiment, Outcome, Track
from thalweg.lab.figure import Figure, Series
from thalweg.lab.om.figure_3a import NEAR, SELDOM, K, split
from thalweg.lab.om.packet_streams import packets
from thalweg.lab.om.rounds import Followed, Judged, at_random, follow, static
from thalweg.lab.om.single_stream import observed, single_stream

VARIATIONS = (0.26, 0.22, 0.17, 0.13, 0.09)
"""Coefficients of variation; the paper gives the first and the last."""
MOST_ERRATIC, LEAST_ERRATIC = VARIATIONS[0], VARIATIONS[-1]


@dataclass
class Results:
    """What each approach has, by coefficient of variation."""

    om: dict[float, Followed] = field(default_factory=dict)
    rand: dict[float, Judged] = field(default_factory=dict)
    rate: dict[float, Judged] = field(default_factory=dict)

    @property
    def fidelities(self) -> list[float]:
        """The fidelity of OM, the most erratic stream first."""
        return [followed.chart.fidelity for followed in self.om.values()]

    def figure(self, name: str, title: str) -> Figure:
        """Return the figure with all approaches."""
        lines = tuple(
            Series(label, VARIATIONS, [100 * each.fidelity for each in found], color)
            for label, found, color in (
                ("OM", [followed.chart for followed in self.om.values()], "blue"),
                ("RATE", list(self.rate.values()), "orange"),
                ("RAND", list(self.rand.values()), "green"),
            )
        )
        return Figure(name, title, "coefficient of variation of the rate", "%", lines, from_zero=True)


def shown(found: dict[float, Judged]) -> str:
    """Return all fidelities and regrets for a sentence."""
    return "; ".join(f"{variation:g}: {each}" for variation, each in found.items())


def of_om(r: Results) -> str:
    """Return the fidelities and regrets of OM for a sentence."""
    return shown({variation: followed.chart for variation, followed in r.om.items()})


def outperforms(r: Results, other: dict[float, Judged]) -> bool:
    """Whether OM has a higher fidelity for all streams."""
    return all(followed.chart.fidelity > other[variation].fidelity for variation, followed in r.om.items())


CLAIMS: tuple[Statement[Results], ...] = (
    Statement(
        "the fidelity is in the range of 76 % to 81 %",
        "section 5.2, figure 3b; read with 5 percentage points below and above",
        holds=lambda r: min(r.fidelities) >= 0.76 - NEAR and max(r.fidelities) <= 0.81 + NEAR,
        measured=of_om,
        why=SELDOM,
    ),
    Statement(
        "the fidelity is slightly lower for more erratic streams",
        "section 5.2; read as lower for the most erratic than for the least, by at most 10 percentage points",
        holds=lambda r: 0 < r.fidelities[-1] - r.fidelities[0] <= 0.1,
        measured=lambda r: (
            f"{r.fidelities[0]:.1%} at {MOST_ERRATIC}, {r.fidelities[-1]:.1%} at {LEAST_ERRATIC}, between them "
            f"{', '.join(f'{fidelity:.1%}' for fidelity in r.fidelities[1:-1])}"
        ),
    ),
    Statement(
        "RAND has no more than 50 %",
        "section 5.2; read with 5 percentage points above",
        holds=lambda r: max(each.fidelity for each in r.rand.values()) <= 0.5 + NEAR,
        measured=lambda r: shown(r.rand),
    ),
    Statement(
        "RATE has a lower fidelity than OM",
        "section 5.2: suffers a wrong hit every time there is a switch",
        holds=lambda r: outperforms(r, r.rate),
        measured=lambda r: shown(r.rate),
    ),
)


def measure(quick: bool, track: Track) -> Outcome:
    """Follow the charts of five streams."""
    query, results = single_stream(), Results()
    for variation in track(VARIATIONS):
        before, rounds = split(observed(packets()["tcp"].with_variation(variation)), quick)
        results.om[variation] = follow(query, before, rounds, K)
        results.rand[variation] = at_random(query, rounds)
        results.rate[variation] = static(query, before, rounds)
    return Outcome(judged(CLAIMS, results), (results.figure("figure-3b", "Fidelity of Q1"),))


EXPERIMENT = Experiment(
    title="a selection and a projection over erratic streams",
    reference="section 5.2, figure 3b",
    measure=measure,
    setting="Q1 over REAL with five coefficients of variation, k = 10. A percentage point is six rounds.",
)
