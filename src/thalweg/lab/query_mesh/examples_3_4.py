"""Walks of II-QM and SA-QM through the partitions of four stocks (query-mesh, section 4.7, examples 3 and 4)."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from thalweg.cost.mesh import MeshCosts
from thalweg.lab.claim import Statement, judged
from thalweg.lab.experiment import Experiment, Outcome, Track
from thalweg.lab.query_mesh.example_2 import read
from thalweg.lab.query_mesh.layouts import WINDOW
from thalweg.lab.query_mesh.prices import PRICES
from thalweg.optimizer.mesh.ii_qm import ii_qm
from thalweg.optimizer.mesh.opt_qm import opt_qm
from thalweg.optimizer.mesh.partitions import Partition, neighbors, random_neighbor, written
from thalweg.optimizer.mesh.priced_meshes import PricedMeshes
from thalweg.optimizer.mesh.sa_qm import RHO, TAU, sa_qm
from thalweg.optimizer.mesh.search import Search, Stop
from thalweg.plan.filters.pipeline import Pipeline
from thalweg.stats.training_set import Axis, TrainingSet

START, BEST = "1/234", "123/4"
NAMED = ("1/23/4", "1/24/3", "1/2/34")
"""The neighbors of 1/234 that example 3 names."""
WALK = ("1/234", "1/23/4", "1/2/3/4", "12/3/4", "123/4")
"""The movements that example 4 gives as possible."""
SIMILAR = 0.05
"""Costs are similar if they differ by at most this share."""
WALKS, QUICK_WALKS = 100, 10
MOVES = 200

STOCKS = ("Apple", "Amazon", "Google", "Ford")
SELECTIVITIES = ((0.90, 0.60, 0.30), (0.85, 0.50, 0.25), (0.90, 0.55, 0.25), (0.10, 0.70, 0.90))
"""By stock: the share of tuples that op1 (bullish patterns), op2 (news) and op3 (street research) let pass."""
COSTS_NS = (30_000.0, 20_000.0, 10_000.0)
ROWS = 1_000
"""Sampled tuples of each stock."""


def four_stocks() -> PricedMeshes:
    """Return the meshes of the four training tuples: Apple, Amazon, Google (1, 2, 3) and Ford (4), with three operators
    that are independent within a stock.

    The paper gives the best routes, op3, op2, op1 for the first three and op1, op2, op3 for Ford (example 5), and that
    the costs have the order c1 > c2 > c3 (section 1.1). The selectivities and costs here were chosen so, before any
    search ran.
    """
    outcomes = np.array([[bits >> k & 1 for k in range(3)] for bits in range(8)], np.float64)
    passes, weights, stock = [], [], []
    for number, shares in enumerate(SELECTIVITIES):
        chances = np.prod(np.where(outcomes > 0, np.array(shares), 1.0 - np.array(shares)), axis=1)
        passes.append(outcomes)
        weights.append(chances * ROWS)
        stock.append(np.full(len(outcomes), number))
    axis = Axis("symbol", "text", groups=tuple((name.encode(),) for name in STOCKS))
    training = TrainingSet(
        (axis,), np.arange(4)[:, None], np.full(4, float(ROWS)), np.arange(4), np.concatenate(passes),
        np.concatenate(weights), np.concatenate(stock),
    )  # fmt: skip
    pipeline = Pipeline(("op1", "op2", "op3"))
    costs = MeshCosts(
        training, pipeline, np.array(COSTS_NS), np.zeros(3), WINDOW, PRICES.test_ns, PRICES.ruster_ns
    )  # fmt: skip
    return PricedMeshes(costs)


@dataclass(frozen=True)
class Results:
    """Costs of partitions in ns per tuple, and where walks ended."""

    costs: dict[str, float]
    optimum: str
    ii_from_start: Counter[str]
    ii_from_one: Counter[str]
    sa_from_start: Counter[str]
    as_printed: Counter[str]
    """Where SA-QM ends if it goes back to step 1, as figure 7 is printed."""

    def cost(self, text: str) -> float:
        """Return the cost of a partition as the paper writes it."""
        return self.costs[written(read(text))]


def cheaper_neighbors(r: Results, text: str) -> list[str]:
    """Return the neighbors that cost less, the cheapest first."""
    found = [written(other) for other in neighbors(read(text)) if r.costs[written(other)] < r.cost(text)]
    return sorted(found, key=r.costs.__getitem__)


def shown(ends: Counter[str]) -> str:
    """Return where walks ended for a sentence."""
    return ", ".join(f"{text} in {count} of {ends.total()} walks" for text, count in ends.most_common())


def us(ns: float) -> str:
    """Return a cost for a sentence."""
    return f"{ns / 1000:.2f} µs"


CLAIMS: tuple[Statement[Results], ...] = (
    Statement(
        "the neighbors of 1/234 are 1/23/4, 1/24/3 and 1/2/34",
        "example 3",
        holds=lambda r: {read(text) for text in NAMED} == set(neighbors(read(START))),
        measured=lambda r: (
            f"{len(set(neighbors(read(START))))}: {', '.join(sorted(map(written, neighbors(read(START)))))}"
        ),
        why="an erratum: a merge is a transformation too (example 2), so 1234 is a neighbor of 1/234.",
    ),
    Statement(
        "of these three, 1/23/4 costs least, and less than 1/234",
        "examples 3 and 4",
        holds=lambda r: r.cost("1/23/4") == min(map(r.cost, NAMED)) < r.cost(START),
        measured=lambda r: ", ".join(f"{text}: {us(r.cost(text))}" for text in (START, *NAMED)),
    ),
    Statement(
        "II-QM from 1/234 ends at 1/23/4",
        "example 3: 1/23/4 is compared with the local minimum 123/4 of the next start",
        holds=lambda r: not cheaper_neighbors(r, "1/23/4"),
        measured=lambda r: (
            f"neighbors of 1/23/4 that cost less: {', '.join(cheaper_neighbors(r, '1/23/4')) or 'none'}; "
            f"{shown(r.ii_from_start)}"
        ),
        why="123/4 is one merge away from 1/23/4 and costs less, because a route less is in use. So 1/23/4 is no local "
        "minimum if merges are moves, and the descent goes on to 123/4.",
    ),
    Statement(
        "II-QM from 1234 finds 123/4",
        "example 3",
        holds=lambda r: set(r.ii_from_one) == {BEST},
        measured=lambda r: shown(r.ii_from_one),
    ),
    Statement(
        "1/2/3/4 costs more than 1/23/4, but is similar",
        f"example 4; read as at most {SIMILAR:.0%} more",
        holds=lambda r: r.cost("1/23/4") < r.cost("1/2/3/4") <= (1 + SIMILAR) * r.cost("1/23/4"),
        measured=lambda r: f"{us(r.cost('1/23/4'))}, {us(r.cost('1/2/3/4'))}",
    ),
    Statement(
        "each step of 1/234, 1/23/4, 1/2/3/4, 12/3/4, 123/4 is a split or a merge",
        "example 4",
        holds=lambda r: all(read(other) in set(neighbors(read(one))) for one, other in pairwise(WALK)),
        measured=lambda r: ", ".join(f"{text}: {us(r.cost(text))}" for text in WALK),
    ),
    Statement(
        "SA-QM from 1/234 reaches the optimal solution 123/4",
        f"example 4; read as in at least 95 % of the walks of {MOVES} moves",
        holds=lambda r: r.optimum == BEST and r.sa_from_start[BEST] >= 0.95 * r.sa_from_start.total(),
        measured=lambda r: f"{shown(r.sa_from_start)}; Opt-QM finds {r.optimum}, {us(r.cost(r.optimum))}",
    ),
    Statement(
        "SA-QM as figure 7 prints it reaches 123/4 too",
        "figure 7: go to step 1, which sets QM to bestQM, the start",
        holds=lambda r: r.as_printed[BEST] > 0,
        measured=lambda r: shown(r.as_printed),
        why="an erratum: step 1 returns to the start, so a walk never gets further than to a neighbor of it. It must "
        "go on at step 2 and return the best mesh seen, as ours does.",
    ),
)


def as_printed(meshes: PricedMeshes, start: Partition, rng: np.random.Generator, moves: int) -> Partition:
    """Return where SA-QM ends if step 12 goes to step 1, as printed."""
    at = start
    temperature = TAU * meshes.of(start)
    for _ in range(moves):
        at = start
        other = random_neighbor(at, rng, meshes.most_routes)
        assert other is not None, "four tuples have neighbors"
        worse = meshes.of(other) - meshes.of(at)
        if worse <= 0 or rng.random() < math.exp(-worse / temperature):
            at = other
        temperature *= RHO
    return at


def measure(quick: bool, track: Track) -> Outcome:
    """Price all partitions, and walk from the starts of the examples."""
    meshes = four_stocks()
    everything = Stop(meshes=10**6, plateau=10**6)
    ends: dict[str, Counter[str]] = {name: Counter() for name in ("ii", "one", "sa", "printed")}
    for seed in track(range(QUICK_WALKS if quick else WALKS)):
        rng = np.random.default_rng(seed)
        for name, start in (("ii", START), ("one", "1234")):
            found = Search(meshes, ii_qm(meshes, [read(start)], rng, restarts=0), everything).run()
            ends[name][written(found.partition)] += 1
        annealed = Search(meshes, sa_qm(meshes, read(START), rng), Stop(meshes=MOVES, plateau=MOVES)).run()
        ends["sa"][written(annealed.partition)] += 1
        ends["printed"][written(as_printed(meshes, read(START), rng, MOVES))] += 1
    optimum = Search(meshes, opt_qm(meshes), everything).run()
    costs = {written(partition): meshes.of(partition) for partition, _ in opt_qm(four_stocks())}
    results = Results(costs, written(optimum.partition), ends["ii"], ends["one"], ends["sa"], ends["printed"])
    return Outcome(judged(CLAIMS, results))


EXPERIMENT = Experiment(
    title="walks through the partitions of four stocks",
    reference="section 4.7, examples 3 and 4, figures 6 and 7",
    measure=measure,
    setting=f"{', '.join(STOCKS)} with three operators, whose best routes are those of example 5. The paper gives no "
    "costs and selectivities; `examples_3_4.py` has ours. Costs of meshes are per tuple, without a clock.",
)
