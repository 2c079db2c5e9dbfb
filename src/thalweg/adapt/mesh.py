"""Mesh: rows of different classes are filtered in different orders (Query Mesh).

Answers: a mesh, which is a tree that divides rows into classes by their values and a route of filters for each class;
or one order for all rows, where that is cheaper.

How it decides
- **One order first** (plan staging, section 4.2): `auto` orders the filters. Meanwhile dropped rows are profiled with
  all filters that may be profiled, and kept together with the values by which rows may be classified
  (`mesh_samples`).
- **A mesh** is searched in the older two thirds of these rows when there are enough of them, and adopted if it saves
  more on the newest third than its error and its overhead (`mesh_training`). Trials after 400, 1,000, 2,000 rows and
  then ever more seldom bound what is spent if there is nothing to gain: rows are condensed if that takes at most
  `CONDENSING` times the budget so far.
- **In force**, the shares that filters drop on each route are watched. If one has changed, rows are profiled anew and
  the routes are ordered anew, with the same tree. When enough new rows are known, another tree is searched. If one
  order has become cheaper, the mesh is given up.
- **Workers of one host** share the rows that they profile for the first trials, together with their values. Rows of
  siblings count if rows of equal values have similar outcomes there (`alike_classes`).
- **In a join**, the probes of windows are the filters, and streams share the budget of `auto`. Rows that were profiled
  while windows were filling say little about full ones, so trials are repeated whenever the number of rows has doubled.
Guarantee: the answer never depends on it. If the values say nothing about outcomes, a mesh is adopted with a
probability of less than one percent per trial (it is judged by rows that it was not trained with).
Cost: while rows are collected for the first trials, `COLLECTING` times the budget; then the budget. A search takes some
5 to 40 ms.
Differs from the paper: training is repeated while the query runs, and a mesh is tested on newer rows. There is no
thread for it; each training is done in one go between two slices. All routes are certain (section 5.4 lets a lottery
order filters that cost about the same in either order): a lottery was no better than the order that looks best in the
sample.

Reference: Nehme, Works, Lei, Rundensteiner, Bertino: Multi-route query processing and optimization. Journal of Computer
and System Sciences 79 (2013), sections 4 and 5.3.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter_ns
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from thalweg.adapt.auto import Auto, BudgetSettings
from thalweg.adapt.drift_alarm import DriftAlarm
from thalweg.adapt.mesh_samples import MeshSamples
from thalweg.adapt.mesh_training import NEWEST, MeshTrainer, StreamFacts, Trained, overhead_ns
from thalweg.adapt.policy import (
    Observation,
    ObservedRoutes,
    ProfilingRequest,
    Verdict,
    everything,
    known_costs,
    known_fixed,
    restored_order,
)
from thalweg.adapt.profiling_budget import PooledBudget, ProfilingBudget
from thalweg.cost.filter_order import CostModel
from thalweg.cost.mesh import saving
from thalweg.errors import PlanError, nearest
from thalweg.events.mesh_check import is_mesh
from thalweg.formatting import duration, listed, percent, plural
from thalweg.optimizer.mesh.mesh import Mesh
from thalweg.optimizer.mesh.starts import STARTS
from thalweg.optimizer.mesh.training import Sample
from thalweg.plan.filters.pipeline import Pipeline

COLLECTING = 7.5
"""By how much more than the budget is spent on profiling rows for the first trials, and after a change."""
DOUBTFUL = 2.0
"""This factor instead, after a trial in which the values said nothing."""
MOST_COLLECTING = 0.5
"""The largest share of the time for profiling, whatever the budget is."""
CHEAP_NS = 1_000.0
"""If a row costs less, less of the time is for profiling it: the less there is to gain, the later it pays."""
CONDENSING = 1.25
"""The share of the time so far that condensing may take, as a multiple of the budget."""
TRIALS = (400, 1_000, 2_000)
"""The numbers of profiled rows after which a mesh is searched for the first times."""
KEPT_SAVING = 0.01
"""The share of the time that a mesh in force must be able to save."""
LEAST_GAIN = 0.02
"""The share of a route's time that another order must save."""
FEWEST = 40
"""The fewest profiled rows of a route from which it is ordered anew."""
ANEW = 64
"""After a change, rows are collected until there are so many per route."""
STEADY = 0.5
"""The share of the budget for profiling while a mesh is in force."""
THIN = 3.0
"""If a mesh was trained with few rows per training tuple, this multiple of the budget is for profiling until there are
`TRIALS[-1]` rows."""
LOOKS = 0.15
"""The share of the budget for looking at what was counted."""
MOST_SLICE, LEAST_LOOK, MOST_LOOK = 16_384, 16_384, 1_048_576
SEARCHES = ("ii", "sa")
NOTHING_TO_ROUTE = "there is one filter, so there is nothing to route"
MOST_ROUTES = 64

_LEARNED = (
    "rows", "last_rows", "time_ns", "row_ns", "each_ns", "look_ns", "dropped", "batch_rows", "trials", "trial_at",
    "trial_rows", "why_one", "says_nothing",
)  # fmt: skip
"""What a snapshot has besides the order and the mesh."""
Numbers = NDArray[np.float64]
Order = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class MeshSettings(BudgetSettings):
    """The settings of the policy `mesh`."""

    routes: int = 8
    """The most routes. With 1, as many rows are profiled as for the first search of a mesh, and all rows take the order
    that is the best for them."""
    search: str = "ii"
    """How meshes are searched: by iterative improvement, "ii", or by simulated annealing, "sa"."""
    search_from: str = "route-driven"
    """The start solution of the search: "route-driven", "content-driven", "random-pick", "extreme-1" or "extreme-n"."""

    def __post_init__(self) -> None:
        BudgetSettings.__post_init__(self)  # super() without arguments fails in dataclasses with slots
        if isinstance(self.routes, bool) or not isinstance(self.routes, int) or not 1 <= self.routes <= MOST_ROUTES:
            raise PlanError(f"routes={self.routes!r}: the most routes must be a whole number from 1 to {MOST_ROUTES}")
        if self.search == "opt":
            raise PlanError(
                "search='opt': pricing all partitions takes too long while a query runs; use 'ii' or 'sa', which are "
                "hardly worse"
            )
        for name, known in (("search", SEARCHES), ("search_from", tuple(STARTS))):
            value: Any = getattr(self, name)
            if value not in known:
                close = nearest(value, known) if isinstance(value, str) else ""
                raise PlanError(f"{name}={value!r}: must be one of {', '.join(known)}{close}")


class MeshPolicy:
    """Routes by classes of rows, or one order as `auto` finds it."""

    name: ClassVar[str] = "mesh"
    defaults: ClassVar[MeshSettings | None] = MeshSettings()
    classifies = True
    """Whether it needs the values by which rows may be classified. If rows have none, the loop makes it false, and the
    policy behaves as `auto`."""

    def __init__(
        self, pipeline: Pipeline, settings: MeshSettings | None = None, rng: np.random.Generator | None = None,
        clock: Callable[[], int] = perf_counter_ns,
    ) -> None:  # fmt: skip
        """Take the filters. `clock`: measures in nanoseconds how long training takes, which decides how often it is
        tried."""
        self.pipeline = pipeline
        self.settings = settings or MeshSettings()
        self.mesh: Mesh | None = None
        self._trainer = MeshTrainer(
            pipeline, self.settings.routes, self.settings.search, self.settings.search_from,
            rng if rng is not None else np.random.default_rng(0), clock,
        )  # fmt: skip
        self._auto = Auto(pipeline, BudgetSettings(self.settings.budget))
        self.order = self._auto.order
        self.standing = self._auto.standing if len(pipeline) > 1 else NOTHING_TO_ROUTE
        self._why_one = ""
        """Why there is one route; empty if that is not known yet."""
        self.samples = MeshSamples()
        self._every = np.tile(np.array(pipeline.profiled, dtype=bool), (len(pipeline), 1))
        self._rows = 0
        self._row_ns = self._each_ns = math.nan
        self._look_ns = 200_000.0
        self._dropped = 1.0
        self._batch_rows = float(MOST_SLICE)
        self._trials = 0
        self._trial_at = TRIALS[0]
        self._trial_rows = 0
        """The rows seen at the last trial."""
        self._time_ns = 0.0
        self._last_rows = 0
        self._is_thin = self._says_nothing = False
        self._routing_ns = math.nan
        """What routing has cost per row with the tree in force."""
        self._alarms: list[DriftAlarm] = []
        self._moved = ""
        """What has changed since routes were last ordered."""
        self._ordered_at = 0
        """The rows added to the samples when routes were last ordered."""
        self._version = 0
        self.savings_ns: tuple[int | None, int | None] = (None, None)
        """What the mesh in force was expected to save per row, and what it has saved according to newer rows."""
        self._joined = False  # this is the policy of one stream of a join
        self._moves = 0
        """How often the data of a join had moved when samples were last collected."""
        self._training_ns = 0
        """The time that the last update took to search a mesh, which is not a cost of `auto`."""
        self._wants = self._request()

    def wants(self) -> ProfilingRequest:
        """Return what to profile next."""
        return self._wants

    def update(self, seen: Observation) -> Verdict | None:
        """Learn, and return another order, another mesh, or none any more."""
        if len(self.pipeline) < 2:
            return None
        seen = replace(seen, reoptimizing_ns=max(seen.reoptimizing_ns - self._training_ns, 0))
        self._training_ns = 0
        self._account(seen)
        verdict = self._with_mesh(seen, seen.routes) if self.mesh is not None else self._with_one_order(seen)
        self._wants = self._request()
        return verdict

    def _account(self, seen: Observation) -> None:
        rows = int(seen.routes.rows.sum()) if seen.routes is not None else int(seen.evaluated[self.order[0]])
        self._rows += rows
        self._time_ns += seen.working_ns
        if rows:
            # weighted by rows, because the first slices are short, and their rows seem to be expensive
            weight = max(rows / (rows + self._last_rows), 0.25)
            self._row_ns = _mixed(self._row_ns, max(seen.working_ns - seen.trial_ns, 1) / rows, weight)
            self._last_rows = rows
            kept = (
                int(_passed_last(seen.routes, self.mesh)) if seen.routes is not None and self.mesh is not None
                else int(seen.passed[self.order[-1]])
            )  # fmt: skip
            self._dropped = _mixed(self._dropped, max(1.0 - kept / rows, 0.001))
        if not len(seen.profile):
            self._look_ns = (
                _mixed(self._look_ns, float(seen.reoptimizing_ns)) if seen.reoptimizing_ns else self._look_ns
            )
        elif len(seen.profile) >= 8:
            self._each_ns = _mixed(self._each_ns, seen.profiling_ns / len(seen.profile))
        if seen.batch_rows < 1 << 40:
            self._batch_rows = _mixed(self._batch_rows, float(min(seen.batch_rows, MOST_SLICE)))
        if seen.values and len(seen.profile):
            known = np.ones_like(seen.profile) if seen.known is None else seen.known
            self.samples.add(seen.values, seen.profile, known)
        for shared in seen.classified_siblings:
            self.samples.add_shared(shared)

    # with one order

    def _with_one_order(self, seen: Observation) -> Verdict | None:
        verdict = self._auto.update(replace(seen, profiling_ns=self._charged(seen)))
        self.order = self._auto.order
        if self._auto.wants().moves > self._moves:  # as windows of a join do while they fill
            self._moves = self._auto.wants().moves
            self.samples.clear()
            self._trial_at, self._why_one = self.samples.added + TRIALS[0], ""
        found = self._trial(seen) if self._is_time() else None
        if found is None:
            self.standing = f"{self._auto.standing}; {self._why_one}" if self._why_one else self._auto.standing
        return found or verdict

    def _charged(self, seen: Observation) -> int:
        """Return the part of the profiling time that `auto` would have spent: the rest is for training."""
        asked = self._auto.wants().p
        share = min(asked / self._wants.p, 1.0) if self._wants.p > 0.0 else 1.0
        return int(seen.profiling_ns * share)

    def _is_time(self) -> bool:
        if not self.classifies or self.samples.added < self._trial_at or self.samples.rows < TRIALS[0] // 2:
            return False
        if self._trainer.condensing_ns > self._share(CONDENSING) * self._time_ns:
            return False
        return self._trials < len(TRIALS) or self._rows >= 2 * self._trial_rows

    def _trial(self, seen: Observation) -> Verdict | None:
        """Search a mesh, and adopt it if it pays on the newest rows."""
        if self.samples.drop_strangers() and self.samples.rows < TRIALS[0]:
            self._trial_at = self.samples.added + TRIALS[0] - self.samples.rows
            return None
        self._trials += 1
        self._trial_rows = self._rows
        last = self._trials >= len(TRIALS)
        self._trial_at = self.samples.added + TRIALS[0] if last else TRIALS[self._trials]
        if self.settings.routes < 2:
            self._says_nothing = True  # as many rows are profiled as if no mesh paid
            return None
        sample = self.samples.sample()
        trained = self._train(sample, seen, None)
        mesh = trained.mesh
        if mesh is None:
            return None
        self._adopt(mesh)
        self.savings_ns = round(trained.net_ns), None
        return Verdict(
            self.order,
            f"rows take {plural(len(mesh.routes), 'route')} by {listed(mesh.columns)}: a row is expected to take "
            f"{duration(trained.net_ns)} less, of which {duration(trained.overhead_ns)} are lost to routing, based on "
            f"{plural(len(sample.weights), 'profiled row')}; the newest {percent(NEWEST)} of them were not used to "
            "find the routes",
        )

    def _train(self, sample: Sample, seen: Observation, before: Mesh | None) -> Trained:
        """Train a mesh, which gets the next version. `before`: the mesh that it must be better than."""
        facts = StreamFacts(
            known_costs(seen.cost_ns), self._fixed(seen), self._batch_rows, self._dropped, self._rows, self._row_ns,
            self.order,
        )  # fmt: skip
        spent = self._trainer.spent_ns
        trained = self._trainer.train(sample, facts, before)
        self._training_ns += self._trainer.spent_ns - spent
        self._says_nothing, self._why_one = trained.says_nothing, trained.why_one
        if trained.says_nothing and self._joined:
            self.samples.clear()  # windows may have been filling
        if trained.mesh is None:
            return trained
        self._is_thin = trained.is_thin
        self._version += 1
        return replace(trained, mesh=replace(trained.mesh, version=self._version))

    def _fixed(self, seen: Observation) -> Numbers:
        return np.zeros(len(seen.cost_ns)) if seen.costs is None else known_fixed(seen.costs.fixed_ns)

    def _measured_overhead(self, mesh: Mesh) -> float:
        """Return what routing costs per dropped row with the mesh in force: as measured, such as for long texts, or as
        assumed if that is more."""
        measured = 0.0 if math.isnan(self._routing_ns) else self._routing_ns / self._dropped
        return max(measured, overhead_ns(mesh, self._batch_rows))

    def _adopt(self, mesh: Mesh) -> None:
        if self.mesh is None or self.mesh.tree is not mesh.tree:
            self._routing_ns = math.nan
        self.mesh = mesh
        self._alarms = [DriftAlarm(self.pipeline.names) for _ in mesh.routes]
        self._moved = ""
        self._ordered_at = self.samples.added
        self._why_one = ""
        self.standing = f"rows take {plural(len(mesh.routes), 'route')} by {listed(mesh.columns)}"

    # with a mesh

    def _with_mesh(self, seen: Observation, counts: ObservedRoutes | None) -> Verdict | None:
        mesh = self.mesh
        assert mesh is not None
        if counts is not None and counts.version == mesh.version:
            rows = int(counts.rows.sum())
            if rows:
                self._routing_ns = _mixed(self._routing_ns, counts.routing_ns / rows)
            for alarm, evaluated, passed in zip(
                self._alarms, counts.evaluated.tolist(), counts.passed.tolist(), strict=True
            ):
                moved = alarm.look(evaluated, passed)
                if moved and not self._moved:
                    self._moved = moved
                    self.samples.clear()  # they are of other data
                    self._ordered_at = self.samples.added
        fresh = self.samples.added - self._ordered_at
        wanted = ANEW * len(mesh.routes) if self._moved else max(TRIALS[0], ANEW * len(mesh.routes))
        if fresh < wanted:
            return None
        return self._mended(seen, mesh)

    def _mended(self, seen: Observation, mesh: Mesh) -> Verdict | None:
        """Order routes anew, give the mesh up, or find another one."""
        moved, self._moved = self._moved, ""
        self._ordered_at = self.samples.added
        sample = self.samples.sample()
        size, cost_ns = len(sample.weights), known_costs(seen.cost_ns)
        route = mesh.tree.compiled().classify(sample.values, size)
        routes = self._reordered(sample, route, mesh, seen)
        single = self._best(sample.passes, self.order, seen, 1.0)
        saved, error = saving(sample.passes, sample.weights, route, routes, single, cost_ns)
        because = f"{moved}: " if moved else ""
        realized, _ = saving(sample.passes, sample.weights, route, mesh.routes, single, cost_ns)
        self.savings_ns = self.savings_ns[0], round((realized - self._measured_overhead(mesh)) * self._dropped)
        least = max(self._measured_overhead(mesh), KEPT_SAVING * self._row_ns / self._dropped)
        if saved + error < least:
            self.mesh, self._trial_at, self._trial_rows = None, self.samples.added + TRIALS[-1], self._rows
            self._version += 1  # of the single route
            self.order = single
            self._auto.begin(single)
            self.standing = self._why_one = f"one route: the routes by {listed(mesh.columns)} no longer save enough"
            return Verdict(
                single, f"{because}one route for all rows: {plural(len(routes), 'route')} would save "
                f"{duration(saved)} ± {duration(error)} per dropped row, which is less than {duration(least)}",
            )  # fmt: skip
        if routes != mesh.routes:
            changed = sum(one != other for one, other in zip(routes, mesh.routes, strict=True))
            self._version += 1
            self._adopt(replace(mesh, routes=routes, version=self._version))
            return Verdict(
                self.order, f"{because}{plural(changed, 'route')} of {len(routes)} in another order, based on "
                f"{plural(size, 'profiled row')}; the tree is the same",
            )  # fmt: skip
        if size >= TRIALS[1] and self._rows >= 2 * self._trial_rows:
            self._trial_rows = self._rows
            trained = self._train(sample, seen, mesh)
            if trained.mesh is not None:
                self._adopt(trained.mesh)
                self.savings_ns = round(trained.net_ns + (self.savings_ns[1] or 0)), None
                return Verdict(
                    self.order, f"another tree, by {listed(trained.mesh.columns)}: a row is expected to take "
                    f"{duration(trained.net_ns)} less, based on {plural(size, 'profiled row')}",
                )  # fmt: skip
        return None

    def _reordered(self, sample: Sample, route: NDArray[np.int16], mesh: Mesh, seen: Observation) -> tuple[Order, ...]:
        """Return the routes of a mesh, each in the best order for its rows, if that saves enough."""
        routes = []
        for r, order in enumerate(mesh.routes):
            here = route == r
            many = int(here.sum())
            enough = many >= FEWEST
            routes.append(self._best(sample.passes[here], order, seen, many / len(route)) if enough else order)
        return tuple(routes)

    def _best(self, passes: Numbers, order: Order, seen: Observation, share: float) -> Order:
        """Return the best order for rows with these outcomes; the one given if no other saves enough."""
        cost_ns, fixed = known_costs(seen.cost_ns), self._fixed(seen)
        rows = max(share * self._batch_rows, 1.0)
        model = CostModel(passes, np.ones(len(passes)), 1.0 - self._dropped, cost_ns, fixed, rows, self.pipeline)
        walk = model.walk(order)
        found = model.cheapest(walk)
        return found.order if found.total_ns < (1.0 - LEAST_GAIN) * walk.total_ns else order

    # what to profile

    def _request(self) -> ProfilingRequest:
        if self.mesh is None:
            return self._collect(self._auto.wants())
        rows = min(max(self._look_ns / (LOOKS * self.settings.budget * self._row_ns), LEAST_LOOK), MOST_LOOK)
        thin = self._is_thin and self.samples.rows < TRIALS[-1]
        share = self._share(COLLECTING if self._moved else THIN if thin else STEADY)
        return ProfilingRequest(
            self._p(share), self._every, together=2 * ANEW, rows=int(rows), slice_rows=MOST_SLICE, lasting=True,
        )  # fmt: skip

    def _collect(self, wants: ProfilingRequest) -> ProfilingRequest:
        """Return what `auto` wants, with more profiled rows and all filters evaluated on them, if rows are needed."""
        # a restored policy knows how many rows were profiled before, but not these rows
        few = (self.samples.added < self._trial_at or self.samples.rows < TRIALS[0] // 2) and self._is_soon()
        if wants.trial is not None or wants.urgent or not self.classifies or math.isnan(self._row_ns):
            return wants
        if not few:
            wait_ns = self._trainer.condensing_ns / self._share(CONDENSING) - self._time_ns
            waits = self.samples.added >= self._trial_at and self._trials < len(TRIALS) and wait_ns > 0.0
            return replace(wants, rows=min(wants.rows, int(wait_ns / self._row_ns) + 1)) if waits else wants
        share = self._share(DOUBTFUL if self._says_nothing else COLLECTING) * min(self._row_ns / CHEAP_NS, 1.0)
        return replace(
            wants, p=max(wants.p, self._p(share)), evaluate=everything(self.order, self.pipeline),
            together=max(wants.together, 2 * ANEW), most=max(wants.most, 4 * ANEW),
        )  # fmt: skip

    def _is_soon(self) -> bool:
        """Whether rows are collected for a trial soon: for the first ones, unless several have shown that the values
        say nothing. One is not enough: two columns that say something only together need more rows. In a join also when
        its rows have doubled, because windows that are filling say little about full ones."""
        if self._joined and self._rows >= 2 * self._trial_rows:
            return True
        return self._trials < len(TRIALS) and not (self._trials > 1 and self._says_nothing)

    def _share(self, budgets: float) -> float:
        """Return a multiple of the budget as a share of the time."""
        return min(budgets * self.settings.budget, MOST_COLLECTING)

    def _p(self, share: float) -> float:
        """Return the probability of profiling a dropped row that takes this share of the time."""
        each = max(self._each_ns if self._each_ns == self._each_ns else 10.0 * self._row_ns, 1.0)
        return float(min(share * self._row_ns / (each * self._dropped), 1.0))

    @property
    def profiling_budget(self) -> ProfilingBudget:
        """The budget of the policy that orders the filters while there is one route."""
        return self._auto.profiling_budget

    @property
    def follows(self) -> bool:
        """Whether another stream's order is based on more rows than this stream's own. A mesh follows no order."""
        return self.mesh is None and self._auto.follows

    def join(self, credit: PooledBudget, *, follows: bool, leads: bool) -> None:
        """Make this the policy of one stream of a join, as `auto` does."""
        self._auto.join(credit, follows=follows, leads=leads)
        self._joined = True
        self._wants = self._request()

    def renew(self) -> None:
        """Check whether the shared credit of a join now suffices to profile more rows."""
        if self.mesh is None:
            self._auto.renew()
            self._wants = self._request()

    def begin(self, order: Order) -> None:
        """Start in an order that was found elsewhere, without a mesh."""
        if self.mesh is not None:
            self.mesh, self._version = None, self._version + 1
        self._auto.begin(order)
        self.order = self._auto.order
        self.standing = self._auto.standing if len(self.pipeline) > 1 else NOTHING_TO_ROUTE
        self._wants = self._request()

    def snapshot(self) -> dict[str, Any]:
        """Return the order, what `auto` knows, and the mesh."""
        known = {**self._auto.snapshot(), "order": list(self.order), "policy": self.name}
        return known | {
            "mesh": None if self.mesh is None else self.mesh.to_dict(), "version": self._version,
            "learned": {name: _plain(getattr(self, f"_{name}")) for name in _LEARNED}, "added": self.samples.added,
            "condensing_ns": self._trainer.condensing_ns, "searching_ns": self._trainer.searching_ns,
        }  # fmt: skip

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Continue with the order and the mesh of another worker."""
        restored_order(snapshot, self.name, self.pipeline)  # refuses another policy and other filters
        stored = snapshot["mesh"]
        mesh = None if stored is None else _restored_mesh(stored, self.pipeline)
        learned = {name: snapshot["learned"][name] for name in _LEARNED}
        if not all(_is_like(value, getattr(self, f"_{name}")) for name, value in learned.items()):
            raise PlanError(f"this snapshot of policy {self.name!r} is damaged; learn anew")
        self._auto.restore({**snapshot, "policy": self._auto.name})
        self.order = self._auto.order
        self.standing = self._auto.standing if len(self.pipeline) > 1 else NOTHING_TO_ROUTE
        for name, value in learned.items():
            setattr(self, f"_{name}", math.nan if value is None else value)
        self._trainer.condensing_ns = float(snapshot["condensing_ns"])
        self._trainer.searching_ns = float(snapshot["searching_ns"])
        self.samples.clear()
        self.samples.added = int(snapshot["added"])
        self._version, self.mesh = int(snapshot["version"]), None
        if mesh is not None:
            self._adopt(mesh)
        self._wants = self._request()


def _passed_last(counts: ObservedRoutes, mesh: Mesh) -> int:
    """Return the rows that have passed the last filter of their route."""
    lasts = [route[-1] for route in mesh.routes]
    return int(counts.passed[np.arange(len(lasts)), lasts].sum()) if len(lasts) == len(counts.rows) else 0


def _restored_mesh(stored: Mapping[str, Any], pipeline: Pipeline) -> Mesh:
    """Return the mesh of a snapshot, which may be of other filters, or damaged."""
    if not is_mesh(json.dumps(stored), len(pipeline)):
        raise PlanError("the mesh in this snapshot is of other filters, or damaged; learn it anew")
    mesh = Mesh.from_dict({**stored, "open_sets": (), "slices": ()})  # this policy makes no uncertain routes
    if not (0 <= mesh.default < len(mesh.routes) and all(map(pipeline.respects, mesh.routes))):
        raise PlanError("the mesh in this snapshot does not respect the guards, or is damaged; learn it anew")
    return mesh


def _is_like(value: Any, now: Any) -> bool:
    """Whether a value of a snapshot may take the place of the present one."""
    if isinstance(now, bool | str):
        return type(value) is type(now)
    return value is None or (type(value) in (int, float) and math.isfinite(value))


def _plain(value: Any) -> Any:
    """Return a value for JSON, which has no NaN."""
    return None if isinstance(value, float) and math.isnan(value) else value


def _mixed(old: float, new: float, weight: float = 0.25) -> float:
    return new if math.isnan(old) else old + weight * (new - old)


__all__: Sequence[str] = ("MeshPolicy", "MeshSettings")
