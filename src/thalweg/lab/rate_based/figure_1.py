"""Two selections in series, the expensive one first or last (rate-based, figure 1)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

import thalweg as tw
from thalweg.cost.rate import Arriving, Filtering
from thalweg.lab.claim import Number, Statement, judged
from thalweg.lab.experiment import Experiment, Outcome, Track
from thalweg.lab.figure import Figure, Series
from thalweg.lab.rate_based.fluid import selected_by
from thalweg.simulation import Arrivals, Costs, Sample, Selection, Source, Trace, poisson, regular, simulate

RATE, KEPT, COST = 500.0, 0.1, 0.02
"""Section 1: 500 inputs per second, both predicates keep a tenth, one of them takes 50 inputs per second."""
PLANS = {"expensive first": ("expensive", "free"), "expensive last": ("free", "expensive")}


@dataclass(frozen=True, slots=True)
class Results:
    """What the expensive selection and the pipeline have done by the end, and by its middle, in each plan."""

    until: float
    counts: dict[str, list[int]]
    """Results by each second, for each plan."""
    expensive: dict[str, list[Sample]]
    """The counters of the expensive selection after half of the time and after all of it."""
    at_random: list[Sample]
    """The same for the better plan, with Poisson arrivals and rows that pass by chance."""


def rows(until: float, rng: np.random.Generator | None) -> pa.Table:
    """Return rows of which each predicate keeps exactly every tenth or, with a generator, a tenth by chance."""
    count = int(RATE * until * (1.0 if rng is None else 1.2))
    number = np.arange(count)
    free, expensive = (number % 10, number // 10 % 10) if rng is None else rng.integers(0, 10, (2, count))
    return pa.table({"free": free, "expensive": expensive})


def simulated(plan: tuple[str, str], arrivals: Arrivals, table: pa.Table, until: float) -> Trace:
    """Simulate the selections in the order of one plan."""
    operators, reads = [], "rows"
    for name in plan:
        keeps = tw.predicate(lambda digit: digit == 0, name, name=name)
        operators.append(Selection(name, reads, keeps, costs=Costs(predicate=COST if name == "expensive" else 0)))
        reads = name
    return simulate({"rows": Source(table, arrivals)}, operators, until=until, every=until / 2, keep=False)


def waiting(samples: list[Sample]) -> str:
    """Return the rows that wait, for a sentence."""
    return ", ".join(f"{sample.queue:,} after {sample.time:g} s" for sample in samples)


CLAIMS: tuple[Statement[Results], ...] = (
    Statement(
        "with the expensive selection first, its backlog increases all the time",
        "section 1: an ever-increasing backlog",
        holds=lambda r: r.expensive["expensive first"][1].queue > 1.9 * r.expensive["expensive first"][0].queue > 0,
        measured=lambda r: f"rows that wait: {waiting(r.expensive['expensive first'])}",
    ),
    Statement(
        "with the expensive selection last, inputs are not delayed",
        "section 1: does not delay its inputs; read as in figure 1: rows arrive, and pass, at equal intervals",
        holds=lambda r: r.expensive["expensive last"][1].mean_wait == 0.0,
        measured=lambda r: f"mean wait {r.expensive['expensive last'][1].mean_wait * 1000:.0f} ms",
    ),
    Statement(
        "inputs are not delayed either if they arrive at random, as in section 5",
        f"section 1, with the arrivals of section 5.1; read as a mean wait of at most {COST * 1000:.0f} ms, the time "
        "of one evaluation",
        holds=lambda r: r.at_random[1].mean_wait <= COST,
        measured=lambda r: (
            f"mean wait {r.at_random[1].mean_wait * 1000:.0f} ms, at most {r.at_random[1].most_queued} rows wait"
        ),
        why="50 rows per second of 20 ms each keep the selection busy all the time. Any irregularity makes rows wait, "
        "and there is no idle time in which the queue could shrink: its length grows with the square root of the time.",
    ),
)


def measure(quick: bool, track: Track) -> Outcome:
    """Run both plans, and the better one with random arrivals."""
    until = 10.0 if quick else 60.0
    table = rows(until, None)
    counts: dict[str, list[int]] = {}
    expensive: dict[str, list[Sample]] = {}
    findings = []
    printed = {"expensive first": "0.5", "expensive last": "5"}
    for plan in track(list(PLANS)):
        trace = simulated(PLANS[plan], regular(RATE), table, until)
        counts[plan] = [trace.count(second) for second in range(int(until) + 1)]
        expensive[plan] = [Sample(**row) for row in trace.samples.to_pylist() if row["operator"] == "expensive"]
        claim = Number(
            f"outputs per second, {plan}", f"{printed[plan]}, figure 1", float(printed[plan]), 0.05, exact=True
        )
        findings.append(claim.judge(trace.count() / until))
        selections = {"expensive": Filtering(COST, KEPT), "free": Filtering(0, KEPT)}
        stream = Arriving(RATE, filters=tuple(selections[name] for name in PLANS[plan]))
        half, all_of_it = selected_by(stream, [until / 2, until])
        claim = replace(claim, about=f"the model's outputs per second, {plan}", tolerance=0.01)
        findings.append(claim.judge(float(all_of_it - half) / (until / 2)))
    at_random = simulated(PLANS["expensive last"], poisson(RATE), rows(until, np.random.default_rng(0)), until)
    found = [Sample(**row) for row in at_random.samples.to_pylist() if row["operator"] == "expensive"]
    results = Results(until, counts, expensive, found)
    return Outcome(findings + judged(CLAIMS, results), (figure(results),))


def figure(r: Results) -> Figure:
    """Return the figure: outputs over time."""
    seconds = [float(second) for second in range(int(r.until) + 1)]
    lines = tuple(Series(plan, seconds, [float(n) for n in counts]) for plan, counts in r.counts.items())
    return Figure("figure-1", "The order of two selections decides how many outputs there are", "seconds", "outputs",
                  lines, timeline=True)  # fmt: skip


EXPERIMENT = Experiment(
    title="two selections in series",
    reference="figure 1, section 1",
    measure=measure,
    setting="500 rows per second; each selection keeps a tenth of its rows. The expensive one takes 20 ms per row, the "
    "other takes no time.",
)
