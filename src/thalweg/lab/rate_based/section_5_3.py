"""All trees of a join of five streams: the predicted order against the measured one (rate-based, section 5.3)."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from thalweg.lab.claim import Statement, judged
from thalweg.lab.experiment import Experiment, Outcome, Track
from thalweg.lab.figure import Figure, Series
from thalweg.lab.rate_based.join_query import JoinQuery, Numbers
from thalweg.lab.rate_based.section_5_2 import hash_cost
from thalweg.lab.rate_based.tables_4_5 import five_streams
from thalweg.optimizer.joins.local_rate_maximization import local_rate_maximization
from thalweg.optimizer.joins.local_time_minimization import Info, local_time_minimization, required
from thalweg.plan.joins.shape import Shape, of_text, to_text

LEFT_DEEP = of_text("((((a c) b) d) e)")
FAST_LEAVES = of_text("(((a b) c) (d e))")
EVENLY_SPREAD = of_text("((a c) ((b d) e))")
NAMES = {LEFT_DEEP: "Left Deep", FAST_LEAVES: "Fast Leaves", EVENLY_SPREAD: "Evenly Spread"}
ALL_LEFT_DEEP = [LEFT_DEEP, *map(of_text, ("((((a b) c) d) e)", "((((a b) d) c) e)", "(((a (b d)) c) e)"))]
"""Left-deep trees with the fastest stream on top; figure 11 is a picture."""
ALL_FAST_LEAVES = [FAST_LEAVES, *map(of_text, ("(((a c) b) (d e))", "((a c) (b (d e)))", "(((a b) (d e)) c)"))]
"""Bushy trees that join the two fastest streams first."""
COUNTS = (1_000, 5_000, 20_000)
"""Numbers of results, before scaling. The last is where the paper compares the first results (figures 14 and 15)."""
SCALE = 25
"""How many times fewer rows are simulated."""
SEEDS = 4
APART = 0.1
"""Trees count as different if their predicted times differ by this share or more."""
LAST = 0.99
"""The share of all results that counts as all of them."""


@dataclass(frozen=True)
class Results:
    """When trees have so many results: predicted, and the mean over the seeds. Counts are scaled back."""

    counts: tuple[int, ...]
    predicted: dict[Shape, Numbers]
    measured: dict[Shape, Numbers]
    last: dict[Shape, float]
    """When the model expects the three of the paper to be finished."""
    by_time: Shape
    """What local rate maximization chooses, for the time at which the best tree has the last of the counts."""
    by_results: Shape
    """What local time minimization chooses."""
    of_e: float
    """The share of E that local time minimization asks for in the tree that is measured to be best."""
    arrived_of_e: float
    """The share of E that has arrived when that tree has the last of the counts."""

    def same_order(self, at: int) -> tuple[int, int]:
        """Return how many pairs of trees are predicted to differ and measured in that order, and how many to differ."""
        right = total = 0
        for one, other in itertools.combinations(self.predicted, 2):
            expected = self.predicted[one][at] - self.predicted[other][at]
            if abs(expected) >= APART * max(self.predicted[one][at], self.predicted[other][at]):
                total += 1
                right += expected * (self.measured[one][at] - self.measured[other][at]) > 0
        return right, total

    def readings(self, times: dict[Shape, Numbers]) -> int:
        """Return in how many readings of figure 11 Left Deep has the last of the counts before Fast Leaves."""
        pairs = itertools.product(ALL_LEFT_DEEP, ALL_FAST_LEAVES)
        return sum(bool(times[deep][-1] < times[bushy][-1]) for deep, bushy in pairs)

    def best(self, at: int = -1) -> Shape:
        """Return the tree that has so many results first."""
        return min(self.measured, key=lambda tree: float(self.measured[tree][at]))

    def worse_than_best(self, tree: Shape) -> float:
        """Return how many times as long as the best tree a tree takes to the last of the counts."""
        return float(self.measured[tree][-1] / self.measured[self.best()][-1])


def three(times: dict[Shape, Numbers], at: int = -1) -> str:
    """Return the times of the paper's trees, for a sentence."""
    return ", ".join(f"{name} {times[tree][at]:.0f} s" for tree, name in NAMES.items())


CLAIMS: tuple[Statement[Results], ...] = (
    Statement(
        "the trees are measured in the predicted order",
        f"section 5.3: predictions of the order were correct; read for all 14 trees: at least 95 % of the pairs that "
        f"are predicted to differ by {APART:.0%} or more",
        holds=lambda r: all(right >= 0.95 * total for right, total in map(r.same_order, range(len(r.counts)))),
        measured=lambda r: ", ".join(
            "{} of {} pairs at {:,} results".format(*r.same_order(at), count) for at, count in enumerate(r.counts)
        ),
        why="chance decides about the first results. At the lowest count, a scaled run has 40 results, and their times "
        "differ more from seed to seed than those of many trees from each other.",
    ),
    Statement(
        "Evenly Spread outperforms the other two from the initial stages on",
        "section 5.3",
        holds=lambda r: all(
            r.measured[EVENLY_SPREAD][at] < min(r.measured[LEFT_DEEP][at], r.measured[FAST_LEAVES][at])
            for at in range(len(r.counts))
        ),
        measured=lambda r: "; ".join(
            f"{count:,} results: {three(r.measured, at)}" for at, count in enumerate(r.counts)
        ),
    ),
    Statement(
        "Left Deep is predicted to be ahead of Fast Leaves at first",
        "section 5.3, figure 14: marginally better for the first 20,000 tuples; read as up to 25 % at the last count",
        holds=lambda r: 1.0 < r.predicted[FAST_LEAVES][-1] / r.predicted[LEFT_DEEP][-1] <= 1.25,
        measured=lambda r: (
            f"{r.counts[-1]:,} results: {three(r.predicted)}; ahead in {r.readings(r.predicted)} of "
            f"{len(ALL_LEFT_DEEP) * len(ALL_FAST_LEAVES)} readings of figure 11"
        ),
    ),
    Statement(
        "Left Deep is ahead of Fast Leaves at first",
        "section 5.3, figure 15: the actual case; read as above",
        holds=lambda r: 1.0 < r.measured[FAST_LEAVES][-1] / r.measured[LEFT_DEEP][-1] <= 1.25,
        measured=lambda r: (
            f"{r.counts[-1]:,} results: {three(r.measured)}; ahead in {r.readings(r.measured)} of "
            f"{len(ALL_LEFT_DEEP) * len(ALL_FAST_LEAVES)} readings of figure 11"
        ),
    ),
    Statement(
        "Left Deep is the slowest in the end",
        f"section 5.3; by the model alone, because 50 million results cannot be simulated; read as {LAST:.0%} of them",
        holds=lambda r: r.last[LEFT_DEEP] > max(r.last[FAST_LEAVES], r.last[EVENLY_SPREAD]),
        measured=lambda r: ", ".join(f"{name} {r.last[tree]:,.0f} s" for tree, name in NAMES.items()),
    ),
    Statement(
        "Evenly Spread is the best plan",
        "section 5.3; the paper compares three trees, here all 14, at the last count",
        holds=lambda r: r.best() == EVENLY_SPREAD,
        measured=lambda r: (
            f"best: {to_text(r.best())} after {r.measured[r.best()][-1]:.0f} s, Evenly Spread "
            f"{r.measured[EVENLY_SPREAD][-1]:.0f} s"
        ),
        why="Evenly Spread has the expensive join of A and C at the leaves, so its last join receives all their pairs. "
        "Trees that join C last have fewer rows to handle there, and they are all faster.",
    ),
    Statement(
        "local time minimization chooses a good tree",
        "section 4.2: good enough to be useful; read as at most 1.25 times the time of the best tree to the last count",
        holds=lambda r: r.worse_than_best(r.by_results) <= 1.25,
        measured=lambda r: (
            f"{to_text(r.by_results)}, {r.worse_than_best(r.by_results):.2f} times the time of the best; in the best "
            f"tree it asks for {r.of_e:.0%} of E, of which {r.arrived_of_e:.0%} had arrived at the last count"
        ),
        why="it asks every input for the square root of the share that the join above it needs. So a stream deep in a "
        "tree must contribute more than one near the root, although all streams arrive at the same time. It therefore "
        "avoids deep trees, and prefers bushy ones such as the paper's best.",
    ),
    Statement(
        "local rate maximization chooses a good tree",
        "section 4.2: good enough to be useful; read as above",
        holds=lambda r: r.worse_than_best(r.by_time) <= 1.25,
        measured=lambda r: f"{to_text(r.by_time)}, {r.worse_than_best(r.by_time):.2f} times the time of the best",
    ),
)


def mean_times(query: JoinQuery, tree: Shape, counts: list[float], seeds: int) -> Numbers:
    """Return when a simulation has so many results, on average."""
    return np.asarray(np.mean([query.measured_times(tree, seed, counts) for seed in range(seeds)], axis=0))


def needed(info: Info, alias: str) -> float:
    """Return how many rows of a stream local time minimization asks for."""
    return info.results if info.point == alias else sum(needed(below, alias) for below in info.inputs)


def measure(quick: bool, track: Track) -> Outcome:
    """Simulate all trees, and the paper's trees with more rows."""
    counts = (1_000, 2_000) if quick else COUNTS
    full = five_streams(hash_cost())
    scale = 4 * SCALE if quick else SCALE
    scaled = full.scaled(scale)
    predicted = {tree: full.predicted_times(tree, counts) for tree in full.trees}
    measured: dict[Shape, Numbers] = {}
    for tree in track(full.trees):
        measured[tree] = mean_times(scaled, tree, [count / scale for count in counts], 1 if quick else SEEDS)
    joins = full.joins(*full.trees)
    soonest = min(float(times[-1]) for times in predicted.values())
    best = min(measured, key=lambda tree: float(measured[tree][-1]))
    e = full.streams["e"]
    results = Results(
        counts, predicted, measured,
        {tree: float(full.predicted_times(tree, [LAST * full.results])[0]) for tree in NAMES},
        local_rate_maximization(full.streams, joins, soonest),
        local_time_minimization(full.streams, joins, counts[-1]),
        needed(required(best, full.streams, joins, counts[-1]), "e") / e.rows,
        min(e.rate * float(measured[best][-1]) / e.rows, 1.0),
    )  # fmt: skip
    return Outcome(judged(CLAIMS, results), figures(results))


def figures(r: Results) -> tuple[Figure, ...]:
    """Return the figures: the paper's trees, and all trees."""
    lines = []
    for (tree, name), color in zip(NAMES.items(), ("blue", "orange", "green"), strict=True):
        lines.append(Series(f"{name}, predicted", r.counts, list(r.predicted[tree]), color, dashed=True))
        lines.append(Series(f"{name}, measured", r.counts, list(r.measured[tree]), color))
    order = sorted(r.predicted, key=lambda tree: float(r.predicted[tree][-1]))
    number = [float(i + 1) for i in range(len(order))]
    return (
        Figure("figure-14-15", "The first results of the paper's trees", "results", "seconds", tuple(lines)),
        Figure(
            "section-5-3", f"All 14 trees, by the predicted time to {r.counts[-1]:,} results",
            "tree, in the predicted order", "seconds",
            (Series("predicted", number, [float(r.predicted[tree][-1]) for tree in order], dashed=True),
             Series("measured", number, [float(r.measured[tree][-1]) for tree in order])),
        ),
    )  # fmt: skip


EXPERIMENT = Experiment(
    title="all trees of a join of five streams",
    reference="section 5.3, figures 11 to 15",
    measure=measure,
    setting="Rates follow from section 5.4: 50, 100, 67, 200 and 500 rows per second. Hash joins take as long as in "
    f"section 5.2. The simulation is scaled: {SCALE} times fewer rows and results, with as many partners per row and "
    f"as busy servers; numbers of results are scaled back. Mean of {SEEDS} seeds. Figure 11 is a picture. We read Left "
    f"Deep as {to_text(LEFT_DEEP)}, in the order of the rates, Evenly Spread as {to_text(EVENLY_SPREAD)}, the only "
    f"bushy tree with D at the leaves and E above it, and Fast Leaves as {to_text(FAST_LEAVES)}. The last was chosen "
    "after results were known: with it the model has the order of figures 12 and 14. For the comparison of Left Deep "
    "with Fast Leaves the table says how many other readings agree.",
)
