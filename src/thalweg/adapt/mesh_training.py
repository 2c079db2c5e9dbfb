"""Training of a mesh: searched in the older rows of a sample, judged by the newest ones.

Answers: a mesh that saves more than its error and its overhead, or why there is none (`Trained`).
How: the older two thirds of the rows are condensed to training tuples, and a mesh is searched among their partitions
(`optimizer/mesh`). The newest third of the rows shows what it saves. It was not used for training: a split by a time or
a counter is perfect on a random half of the past, and useless tomorrow.
Guarantee: if the values say nothing about outcomes, a mesh passes with a probability of less than one percent
(`CERTAIN` standard errors).
Cost: condensing takes some 5 to 20 ms, and a search 1 to 20 ms. A search is skipped if the best routes of all training
tuples would save too little for any mesh to be adopted, or could not have saved about that much in the rows so far.

Reference: Nehme, Works, Lei, Rundensteiner, Bertino: Multi-route query processing and optimization. Journal of Computer
and System Sciences 79 (2013), section 4.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from time import perf_counter_ns

import numpy as np
from numpy.typing import NDArray

from thalweg.adapt.mesh_samples import part_of
from thalweg.cost.mesh import MeshCosts, saving, saving_over
from thalweg.formatting import duration, listed, percent, plural
from thalweg.optimizer.mesh.ii_qm import PATIENCE
from thalweg.optimizer.mesh.mesh import Mesh
from thalweg.optimizer.mesh.mesh_search import mesh_search
from thalweg.optimizer.mesh.priced_meshes import PricedMeshes
from thalweg.optimizer.mesh.search import Stop
from thalweg.optimizer.mesh.starts import current
from thalweg.optimizer.mesh.training import Sample, condense
from thalweg.plan.filters.pipeline import Pipeline

CONDENSING_NS = 1_000_000.0
"""The time of condensing until it was measured."""
SEARCHING, SEARCHING_NS = 0.35, 1_500_000.0
"""The share of the expected time of a search that the rows so far could have saved, and this time per training tuple
until it was measured."""
NEWEST = 1.0 / 3.0
"""The share of the rows by which a mesh is judged."""
CERTAIN = 2.5
"""By how many standard errors a mesh must save more than its overhead."""
LEAST_SAVING = 0.03
"""The share of the time that a mesh must save."""
THIN = 60.0
"""If a mesh was trained with fewer rows per training tuple, another tree is likely to be better."""
FEW_TUPLES = 5
"""With so few training tuples all meshes are priced, which takes less time than a search."""
MOST_MESHES, PLATEAU = 200, 40
"""A search ends after so many meshes, and after so many without a cheaper one. If it begins with the mesh in force,
which may be a local minimum, it has `PATIENCE` more to begin with another start solution too."""
TEST_NS, RUSTER_NS = 12.0, 25_000.0
"""The time of a test per row, and of a route per slice: roughly what was measured for texts and four routes."""

Numbers = NDArray[np.float64]
Order = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class StreamFacts:
    """What is known of the stream when a mesh is trained."""

    cost_ns: Numbers
    """The cost of each filter per row."""
    fixed_ns: Numbers
    """The fixed cost of a call of each filter."""
    batch_rows: float
    """The rows of a slice."""
    dropped: float
    """The share of the rows that are dropped. Only these are in the sample."""
    rows: int
    """The rows so far."""
    row_ns: float
    """What a row takes now."""
    order: Order
    """The order that rows take now."""


@dataclass(frozen=True, slots=True)
class Trained:
    """The outcome of a training."""

    mesh: Mesh | None
    """The mesh; None if none is worth it. Its version is 0."""
    why_one: str = ""
    """Why there is no mesh."""
    net_ns: float = 0.0
    """What the mesh saves per row of the stream."""
    overhead_ns: float = 0.0
    """What routing costs per dropped row."""
    says_nothing: bool = False
    """Whether the values say nothing about outcomes."""
    is_thin: bool = False
    """Whether there were few rows per training tuple."""


class MeshTrainer:
    """Trains meshes, and remembers how long that takes."""

    def __init__(
        self, pipeline: Pipeline, routes: int, search: str, search_from: str, rng: np.random.Generator,
        clock: Callable[[], int] = perf_counter_ns,
    ) -> None:  # fmt: skip
        """Take the filters, the most routes, the search algorithm, its start solution, and a clock in nanoseconds."""
        self.pipeline = pipeline
        self.routes, self.search, self.search_from = routes, search, search_from
        self._rng, self._clock = rng, clock
        self.condensing_ns, self.searching_ns = CONDENSING_NS, SEARCHING_NS
        """The time of the last condensing, and of the last search per training tuple."""
        self.spent_ns = 0
        """The time of all training so far."""

    def train(self, sample: Sample, facts: StreamFacts, before: Mesh | None = None) -> Trained:
        """Search a mesh and judge it.

        Parameters
        ----------
        sample
            Profiled rows, oldest first.
        facts
            What is known of the stream.
        before
            The mesh in force, which the new one must be better than; None: it must be better than one order.

        Returns
        -------
        Trained
            The mesh, or why there is none.
        """
        size = len(sample.weights)
        cut = size - int(size * NEWEST)
        old, new = part_of(sample, 0, cut), part_of(sample, cut, size)
        based = plural(size, "profiled row")
        begun = self._clock()
        training = condense(old)
        self.condensing_ns = float(self._clock() - begun)
        self.spent_ns += int(self.condensing_ns)
        if len(training) < 2:
            return Trained(None, f"one route: the values say nothing about outcomes in {based}", says_nothing=True)
        costs = MeshCosts(
            training, self.pipeline, facts.cost_ns, facts.fixed_ns, facts.batch_rows, TEST_NS, RUSTER_NS
        )  # fmt: skip
        possible = costs.best_ns(costs.everything) - sum(costs.best_ns(1 << t) for t in range(len(training)))
        columns = listed([axis.column for axis in training.axes])
        if possible * facts.dropped < LEAST_SAVING * facts.row_ns:  # no mesh can be adopted
            return Trained(
                None, f"one route: the best routes by {columns} would save less than {percent(LEAST_SAVING)} of the "
                f"{duration(facts.row_ns)} that a row takes in all, based on {based}",
            )  # fmt: skip
        if possible * facts.dropped * facts.rows < SEARCHING * self.searching_ns * len(training):
            return Trained(
                None, f"one route: routes by {columns} could have saved at most {duration(possible)} per dropped row "
                "so far, less than searching for them takes",
            )  # fmt: skip
        mesh, cost = self._searched(costs, old, before)
        if len(mesh.routes) < 2:
            return Trained(None, f"one route: no mesh is cheaper, based on {based}")
        single = costs.best_route(costs.everything)
        classify = mesh.tree.compiled().classify
        on_old, _ = saving(old.passes, old.weights, classify(old.values, cut), mesh.routes, single, facts.cost_ns)
        overhead = max(on_old - (costs.best_ns(costs.everything) - cost), 0.0)
        saved, error = _saved(new, mesh, single, before, facts)
        if before is not None:
            overhead = max(overhead - overhead_ns(before, facts.batch_rows), 0.0)
        net = (saved - overhead) * facts.dropped
        would = f"one route: {plural(len(mesh.routes), 'route')} by {listed(mesh.columns)} would save"
        if saved - overhead <= CERTAIN * error:
            return Trained(
                None, f"{would} {duration(saved)} ± {duration(error)} per dropped row on the newest rows and cost "
                f"{duration(overhead)}, based on {based}",
            )  # fmt: skip
        if net < LEAST_SAVING * facts.row_ns:
            return Trained(
                None, f"{would} {duration(net)} of the {duration(facts.row_ns)} that a row takes in all, which is less "
                f"than {percent(LEAST_SAVING)}, based on {based}",
            )  # fmt: skip
        shares = np.bincount(classify(sample.values, size), minlength=len(mesh.routes)) / size
        least = max(int(2 * RUSTER_NS / max(saved, 1.0)), 1)
        return Trained(
            replace(mesh, default=int(shares.argmax()), least_rows=least), net_ns=net, overhead_ns=overhead,
            is_thin=cut / len(training) < THIN,
        )  # fmt: skip

    def _searched(self, costs: MeshCosts, old: Sample, before: Mesh | None) -> tuple[Mesh, float]:
        """Return the cheapest mesh that was found, and what it costs."""
        begun = self._clock()
        training, meshes = costs.training, PricedMeshes(costs, self.routes)
        if len(training) <= FEW_TUPLES:
            search = mesh_search(meshes, self._rng, "opt")
        else:
            start, plateau = None, PLATEAU
            if before is not None:
                start = current(training, before.tree.compiled().classify(old.values, len(old.weights)))
                plateau += PATIENCE
            stop = Stop(meshes=MOST_MESHES, plateau=plateau)
            search = mesh_search(meshes, self._rng, self.search, self.search_from, start, stop)
        found = search.run()
        took = self._clock() - begun
        self.spent_ns += took
        self.searching_ns = took / len(training)
        return found.mesh, found.cost


def overhead_ns(mesh: Mesh, batch_rows: float) -> float:
    """Return what routing is assumed to cost per row before a mesh has run."""
    return TEST_NS * mesh.tree.tests + len(mesh.routes) * RUSTER_NS / batch_rows


def _saved(new: Sample, mesh: Mesh, single: Order, before: Mesh | None, facts: StreamFacts) -> tuple[float, float]:
    """Return what rows save on the routes of a mesh, against the better single order or the mesh before."""
    size = len(new.weights)
    routes = mesh.tree.compiled().classify(new.values, size)
    if before is None:
        both = [saving(new.passes, new.weights, routes, mesh.routes, order, facts.cost_ns) for order in
                (single, facts.order)]  # fmt: skip
        return min(both)
    now = before.tree.compiled().classify(new.values, size)
    return saving_over(new.passes, new.weights, (routes, mesh.routes), (now, before.routes), facts.cost_ns)
