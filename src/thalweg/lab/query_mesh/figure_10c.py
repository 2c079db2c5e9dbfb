"""The overhead of QM and of Eddy+CBR, the levels of trees, and how many plans Eddies use (query-mesh, figure 10c)."""

from __future__ import annotations

from dataclasses import dataclass, fields

from thalweg.lab.claim import Statement, judged
from thalweg.lab.experiment import Experiment, Outcome, Track
from thalweg.lab.figure import Figure, Series
from thalweg.lab.query_mesh.all_runs import DATA, AllRuns, all_runs, mean
from thalweg.lab.query_mesh.contender_run import ContenderRun
from thalweg.lab.query_mesh.contenders import CBR, CBR_BATCHED, EDDY, QM, QM_3
from thalweg.lab.query_mesh.layouts import LAYOUTS, PROBE_RANGE_NS, WINDOW, Data
from thalweg.lab.query_mesh.prices import PRICES, Prices
from thalweg.lab.query_mesh.routing_prices import measured as measured_prices

NEARLY_ALL = 0.9
AGREES = 2.0
"""A price agrees with a measurement if it is within this factor."""


@dataclass(frozen=True)
class Results:
    """All runs, and prices measured anew."""

    runs: AllRuns
    prices: Prices

    @property
    def factors(self) -> dict[str, float]:
        """By price, what was measured now over what experiments use."""
        return {
            field.name: getattr(self.prices, field.name) / getattr(PRICES, field.name)
            for field in fields(Prices)
            if getattr(PRICES, field.name)
        }

    def depths(self, name: str) -> list[int]:
        """Return the levels of all trees of Poisson data."""
        return [runs[name].levels for (data, _, _), runs in self.runs.runs.items() if data == "poisson"]

    def over_meshes(self, name: str) -> float:
        """Return the mean overhead on Poisson data."""
        return mean(self.runs.overheads("poisson", name))


def by_cost(r: Results, name: str) -> str:
    """Return the overheads at all costs of a probe for a sentence."""

    def on(data: Data) -> str:
        return ", ".join(f"{mean(r.runs.overheads(data, name, ns)):.1%} at {ns / 1000:g} µs" for ns in PROBE_RANGE_NS)

    return "; ".join(f"{data} {on(data)}" for data in DATA)  # fmt: skip


def same_plan(r: Results, name: str) -> dict[str, float]:
    """Return by layout the share of tuples of Poisson data that follow the most frequent plan."""

    def share(runs: dict[str, ContenderRun], layout: str) -> float:
        return runs[name].same_plan

    return r.runs.over("poisson", share)


def classifying(r: Results, name: str) -> dict[str, float]:
    """Return by layout the share of the time that Poisson data take to be classified."""

    def share(runs: dict[str, ContenderRun], layout: str) -> float:
        run = runs[name]
        return PRICES.test_ns * run.tests * run.tuples / run.total_ns(LAYOUTS[layout].costs_ns())

    return r.runs.over("poisson", share)


CLAIMS: tuple[Statement[Results], ...] = (
    Statement(
        "classifying takes less than 2 %",
        "section 6.2; in each layout of Poisson data, at 10 µs per probe, without what rusters cost",
        holds=lambda r: max(classifying(r, QM).values()) < 0.02,
        measured=lambda r: ", ".join(f"{layout} {share:.2%}" for layout, share in classifying(r, QM).items()),
    ),
    Statement(
        "the overhead of QM is less than 2 %",
        "section 6.2, figure 10c; in each layout, at 10 µs per probe",
        holds=lambda r: all(max(r.runs.overheads(data, name).values()) < 0.02 for data in DATA for name in (QM, QM_3)),
        measured=lambda r: f"table 1: {by_cost(r, QM)}; table 3: {by_cost(r, QM_3)}",
        why="the fabric works on arrays: each route needs calls of its own for its part of a window of 1,000 tuples, "
        "and that is most of the price of a ruster. The paper counts classification only.",
    ),
    Statement(
        "the overhead of Eddy+CBR without batches is nearly 20 %",
        "section 6.2, figure 10c; read as 10 to 25 % in the mean of the layouts, at 10 µs per probe",
        holds=lambda r: 0.10 <= r.over_meshes(CBR) <= 0.25,
        measured=lambda r: (
            f"{by_cost(r, CBR)}; it is 20 % at {r.runs.probe_ns_at('poisson', CBR, 0.2) / 1000:.1f} µs per probe"
        ),
        why="a decision costs what it costs in Python, and a probe what we declared; 10 µs per probe was chosen before "
        "and is a little too low for 20 %.",
    ),
    Statement(
        "batches do not improve the overhead significantly",
        "section 6.2; read as at least half of that without batches",
        holds=lambda r: r.over_meshes(CBR_BATCHED) >= 0.5 * r.over_meshes(CBR),
        measured=lambda r: by_cost(r, CBR_BATCHED),
        why="a decision for 100 tuples takes about five times as long as one for a single tuple, so batches save most "
        "of the routing. Learning stays the same. In the paper, tuples of a batch still flow back one by one.",
    ),
    Statement(
        "trees have at most 2 to 3 levels",
        "section 6.2; read as at most 3 for Poisson data",
        holds=lambda r: max(r.depths(QM) + r.depths(QM_3)) <= 3,
        measured=lambda r: f"table 1: {sorted(r.depths(QM))}; table 3: {sorted(r.depths(QM_3))}",
    ),
    Statement(
        "Eddies use one plan for nearly all tuples",
        f"section 2, of Eddies without CBR; read as at least {NEARLY_ALL:.0%} of the tuples, as far as they get, in "
        "each layout of Poisson data",
        holds=lambda r: min(same_plan(r, EDDY).values()) >= NEARLY_ALL,
        measured=lambda r: "; ".join(
            f"{name}: " + ", ".join(f"{layout} {share:.1%}" for layout, share in same_plan(r, name).items())
            for name in (EDDY, CBR, CBR_BATCHED)
        ),
        why="a lottery draws in proportion to tickets, and several of ten probes drop similar shares of all tuples. So "
        "tuples follow many orders. Only operators with very different tickets make one plan.",
    ),
    Statement(
        "the prices of routing are those of this machine",
        f"ours: `routing_prices.py` measures them again; read as within a factor of {AGREES:g}",
        holds=lambda r: all(1 / AGREES <= factor <= AGREES for factor in r.factors.values()),
        measured=lambda r: ", ".join(
            f"{field.name.removesuffix('_ns').replace('_', ' ')} {getattr(r.prices, field.name):,.0f} ns "
            f"(used: {getattr(PRICES, field.name):,.0f})"
            for field in fields(Prices)
        ),
        why="this machine is another one, or it is busy. Experiments use the prices in parentheses.",
    ),
)


def measure(quick: bool, track: Track) -> Outcome:
    """Run all contenders, and measure the prices anew."""
    results = Results(all_runs(quick, track), measured_prices(WINDOW if quick else 10 * WINDOW))
    return Outcome(judged(CLAIMS, results), (figure(results),))


def figure(r: Results) -> Figure:
    """Return the figure with the overheads by cost of a probe."""
    micros = [ns / 1000 for ns in PROBE_RANGE_NS]
    lines = tuple(
        Series(name, micros, [100 * mean(r.runs.overheads("poisson", name, ns)) for ns in PROBE_RANGE_NS], color)
        for name, color in ((QM, "blue"), (CBR, "orange"), (CBR_BATCHED, "green"))
    )
    return Figure("figure-10c", "Overhead by cost of a probe, Poisson data", "µs per probe", "% of the time", lines,
                  log_x=True, from_zero=True)  # fmt: skip


EXPERIMENT = Experiment(
    title="overhead, levels of trees, and plans of Eddies",
    reference="sections 2 and 6.2, figure 10c",
    measure=measure,
    setting="The streams of figure-10a. Overhead is all time that is not spent on probes, over all time. The prices of "
    "routing are CPU times.",
)
