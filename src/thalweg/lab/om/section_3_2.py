"""Two plans of two selections, and the weights that decide between them (OM, sections 1.2 and 3.2)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
import pyarrow as pa

import thalweg as tw
from thalweg.lab.claim import Number, Statement, judged
from thalweg.lab.experiment import Experiment, Outcome, Track
from thalweg.lab.om.utility import PlanCost, Unary, chain_cost, utility
from thalweg.simulation import Costs, Selection, Source, regular, simulate

RATE, WINDOW = 500.0, 1.0
"""The paper gives neither; with these its numbers follow."""
OPERATORS = {"o1": Unary(0.5, 500.0), "o2": Unary(0.1, 50.0)}
PLANS = {"plan 1": ("o1", "o2"), "plan 2": ("o2", "o1")}
WEIGHTS = {"assignment 1": (0.1, 0.9), "assignment 2": (20_000.0, 2.0)}
PRINTED = {
    ("assignment 1", "plan 1"): 697.52, ("assignment 1", "plan 2"): 517.54,
    ("assignment 2", "plan 1"): 5550.0, ("assignment 2", "plan 2"): 9150.0,
}  # fmt: skip


@dataclass(frozen=True)
class Reading:
    """One way to count the rate and the memory of a plan."""

    capped_rate: bool
    """Whether an operator processes no more rows than it can: the output rate."""
    capped_queues: bool
    """The same for the queues between operators."""
    buffer: str
    """What waits for an operator: `window`, one window of its input; `printed`, c_inp of section 4.1."""
    buffers: str
    """Which operators have one: `first`, the one that reads the stream; `each`."""

    def __str__(self) -> str:
        return (
            f"{'capped' if self.capped_rate else 'uncapped'} rates, {'capped' if self.capped_queues else 'uncapped'} "
            f"queues, {'one window' if self.buffer == 'window' else 'c_inp'} of input at "
            f"{'the first operator' if self.buffers == 'first' else 'each operator'}"
        )

    def cost(self, plan: tuple[str, str]) -> PlanCost:
        """Return the costs of a plan."""
        rates = {True: RATE, False: RATE}
        memory = 0.0
        for number, name in enumerate(plan):
            selectivity, tpr, _ = OPERATORS[name]
            arriving = rates[self.capped_queues]
            if self.buffers == "each" or number == 0:
                memory += arriving * WINDOW * (1.0 if self.buffer == "window" else arriving / tpr)
            rates = {True: selectivity * min(rates[True], tpr), False: selectivity * rates[False]}
            memory += rates[self.capped_queues] * WINDOW
        return PlanCost(rates[self.capped_rate], memory)


def readings() -> Iterator[Reading]:
    """Return all ways to read the text that are tried."""
    for values in product((True, False), (True, False), ("window", "printed"), ("first", "each")):
        yield Reading(*values)


def costs(plans: dict[str, PlanCost]) -> dict[tuple[str, str], float]:
    """Return the utility of each plan with each assignment of weights."""
    return {(a, p): utility(cost, *weights) for a, weights in WEIGHTS.items() for p, cost in plans.items()}


def as_printed() -> list[Reading]:
    """Return the readings with which all four numbers are the paper's."""
    found = []
    for reading in readings():
        computed = costs({name: reading.cost(plan) for name, plan in PLANS.items()})
        if all(abs(computed[key] - number) < 0.005 for key, number in PRINTED.items()):
            found.append(reading)
    return found


def simulated(plan: tuple[str, str], until: float) -> PlanCost:
    """Return the outputs per second, and the mean number of rows that wait, of a simulated plan."""
    number = np.arange(int(RATE * until))
    table = pa.table({"o1": number % 2, "o2": number // 2 % 10})
    operators, reads = [], "rows"
    for name in plan:
        keeps = tw.predicate(lambda digit: digit == 0, name, name=name)
        price = Costs(predicate=1.0 / OPERATORS[name].rows_per_time_unit)
        operators.append(Selection(name, reads, keeps, costs=price))
        reads = name
    trace = simulate({"rows": Source(table, regular(RATE))}, operators, until=until, keep=False)
    return PlanCost(trace.count() / until, sum(sample.mean_queue for sample in trace.final.values()))


@dataclass(frozen=True)
class Results:
    """What the readings and the simulator find."""

    found: list[Reading]
    section_4_1: dict[str, PlanCost]
    simulated: dict[str, PlanCost]
    until: float

    def better(self, plans: dict[str, PlanCost]) -> list[str]:
        """Return the better plan with each assignment."""
        computed = costs(plans)
        return [min(PLANS, key=lambda plan: computed[weights, plan]) for weights in WEIGHTS]


def shown(plans: dict[str, PlanCost]) -> str:
    """Return the costs of both plans for a sentence."""
    return "; ".join(f"{name}: C_r {cost.rate:.3g}, C_m {cost.memory:,.0f}" for name, cost in plans.items())


CLAIMS: tuple[Statement[Results], ...] = (
    Statement(
        "a reading of the text gives all four costs",
        "section 3.2: 697.52, 517.54, 5550, 9150; read with 500 rows per second, a window of 1 second",
        holds=lambda r: len(r.found) > 0,
        measured=lambda r: f"{len(r.found)} of {len(list(readings()))} readings: {'; '.join(map(str, r.found))}",
    ),
    Statement(
        "plan 2 is better with assignment 1, and plan 1 with assignment 2, by the cost functions of section 4.1",
        "section 3.2: different weights influence the choice",
        holds=lambda r: r.better(r.section_4_1) == ["plan 2", "plan 1"],
        measured=lambda r: f"{shown(r.section_4_1)}; better: {', '.join(r.better(r.section_4_1))}",
        why="section 4.1 counts what arrives while an operator works through a window. That is ten windows at the slow "
        "operator if it reads the stream, so plan 2 needs more memory, and both have the same output rate, because no "
        "rate is capped. The example counts one window of input instead, and queues as if no operator were slow.",
    ),
    Statement(
        "plan 2 is better with assignment 1, and plan 1 with assignment 2, if both are simulated",
        "section 3.2; read as outputs per second, and the mean number of rows that wait",
        holds=lambda r: r.better(r.simulated) == ["plan 2", "plan 1"],
        measured=lambda r: f"in {r.until:.0f} s {shown(r.simulated)}; better: {', '.join(r.better(r.simulated))}",
        why="plan 1 is better at both. In plan 2 the operator that processes 50 rows per second receives 500, and 450 "
        "more wait after each second; in plan 1 it receives 250. The example's memory leaves out these rows.",
    ),
)


def measure(quick: bool, track: Track) -> Outcome:
    """Compute the costs in all readings, and simulate both plans."""
    until = 5.0 if quick else 60.0
    found = as_printed()
    measured = {name: simulated(PLANS[name], until) for name in track(list(PLANS))}
    printed = {name: chain_cost(RATE, [OPERATORS[each] for each in plan], WINDOW) for name, plan in PLANS.items()}
    capped = Reading(True, False, "window", "first")
    computed = costs({name: capped.cost(plan) for name, plan in PLANS.items()})
    numbers = [
        Number(f"cost of {plan}, {weights}", f"{number:g}", number, tolerance=1e-5, exact=True,
               reading=str(capped)).judge(computed[weights, plan])
        for (weights, plan), number in PRINTED.items()
    ]  # fmt: skip
    return Outcome(numbers + judged(CLAIMS, Results(found, printed, measured, until)))


EXPERIMENT = Experiment(
    title="two plans of two selections, and the weights that decide between them",
    reference="sections 1.2 and 3.2",
    measure=measure,
    setting="o1 keeps half of its rows and processes 500 per second, o2 a tenth and 50 per second. Plan 1 is o1 → o2, "
    "plan 2 is o2 → o1. The paper gives C_r = 5 and 2.5, and C_m = 775 and 575, and does not say how. 16 readings: "
    "rates and queues capped by what operators can process or not, one window of input or c_inp of section 4.1, at the "
    "first operator or at each.",
)
