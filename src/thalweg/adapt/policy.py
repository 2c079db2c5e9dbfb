"""The contract between a policy and the loop that runs a pipeline.

The loop calls `wants()` to learn what to profile, samples dropped rows with probability `p`, evaluates the requested
filters on each sampled row, and passes everything it observed to `update`. `update` may return a verdict: another order
and the reason for it. The loop applies it at the next slice. A policy has no clock, no thread and no engine; randomness
is passed in.

A scope says which filters are evaluated on a sampled row, and so which other orders can be judged. There are three.
`everything` (A-Greedy): all filters after the one that dropped the row; any order can be judged. `one_filter` (Sweep):
the filter at one position; moving it forward can be judged. `neighbors` (LocalSwaps): the next filter; swapping
neighbors can be judged. Each scope costs less per row than the one before it, and shows less. Each returns a matrix:
rows are the positions at which a row is dropped, columns are filters. Filters that must not be profiled never are.

>>> order, pipeline = (1, 0, 2), Pipeline(("a", "b", "c"))
>>> everything(order, pipeline).astype(int).tolist()
[[1, 0, 1], [0, 0, 1], [0, 0, 0]]
>>> one_filter(order, pipeline, position=1).astype(int).tolist()
[[1, 0, 0], [0, 0, 0], [0, 0, 0]]
>>> neighbors(order, pipeline).astype(int).tolist()
[[1, 0, 0], [0, 0, 1], [0, 0, 0]]

Reference for the scopes: Babu et al., SIGMOD 2004, sections 4.1.1, 5 and 7, figure 7.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from thalweg.errors import PlanError
from thalweg.formatting import duration, times
from thalweg.plan.filters.pipeline import Pipeline

Bits = NDArray[np.bool_]
NEVER = 1 << 62
"""More rows than any stream has."""
MOST_TUPLES = 10_000_000
"""The greatest `profile_window`; as many tuples take 10 MB of memory per predicate."""


@dataclass(frozen=True, slots=True)
class ProfileSettings:
    """How much is profiled, how much is remembered, and how much two filters must differ before they are reordered.

    The defaults are those of a-greedy, table 1; some policies have their own (`Policy.defaults`).
    """

    p: float = 0.01
    """The drop-profiling probability. Too high: profiling costs more than it saves. Too low: drift is detected late."""
    profile_window: int = 1000
    """The number of profile tuples to keep. Too small: noise moves filters. Too large: old data outweighs new data."""
    alpha: float = 0.9
    """Thrashing avoidance (equation 4): reorder only when a filter's rate is below alpha times another's."""

    @property
    def together(self) -> int:
        """The number of profile tuples that are passed to one update: an eighth of the window."""
        return max(self.profile_window // 8, 1)

    def __post_init__(self) -> None:
        if not is_number(self.p) or not 0.0 < self.p <= 1.0:
            raise PlanError(f"p={self.p!r}: the share of dropped rows to profile must be above 0 and at most 1")
        tuples = self.profile_window
        if isinstance(tuples, bool) or not isinstance(tuples, int) or not 1 <= tuples <= MOST_TUPLES:
            raise PlanError(
                f"profile_window={tuples!r}: the number of profile tuples to keep must be a whole number from 1 to "
                f"{MOST_TUPLES:,}"
            )
        if not is_number(self.alpha) or not 0.0 < self.alpha <= 1.0:
            raise PlanError(f"alpha={self.alpha!r}: must be above 0 and at most 1 (1 reorders at the least difference)")


class Settings(Protocol):
    """The settings of one policy: a frozen dataclass in its file, checked when it is made.

    Its fields are the settings that users can pass by name. `defaults` of the policy's class holds the values that
    apply if the user passes none.
    """

    __dataclass_fields__: ClassVar[dict[str, Any]]


def is_number(value: object) -> bool:
    """Whether a value is an int or a float, but not a bool."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


@dataclass(frozen=True, slots=True)
class Trial:
    """One slice in another order, to measure what a filter costs there. Its rows are filtered like all others.

    Examples
    --------
    >>> from thalweg.adapt import Trial
    >>> Trial(order=(1, 0), rows=256, candidate=1, expected_ns=80_000.0).order
    (1, 0)
    """

    order: tuple[int, ...]
    rows: int
    """The maximum number of rows in the slice."""
    candidate: int
    """The filter that is tried."""
    expected_ns: float
    """The expected time of the order in force for a slice of this many rows."""


@dataclass(frozen=True, slots=True, eq=False)
class ProfilingRequest:
    """What to profile: sample dropped rows with probability `p`, and on a row dropped at position i evaluate filter k
    if `evaluate[i, k]`. The outcomes of filters that did run on the row are known anyway.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.adapt import ProfilingRequest
    >>> every_later_filter = np.triu(np.ones((2, 2), dtype=bool), k=1)
    >>> ProfilingRequest(p=0.01, evaluate=every_later_filter, together=100).p
    0.01
    """

    p: float
    evaluate: Bits
    together: int = 1
    """How many profile tuples to collect for one update. With fewer, the fixed cost of calls weighs more; with more,
    changes are detected later."""
    rows: int = NEVER
    """Update the policy after this many rows at the latest, even without profile tuples."""
    ns: int = NEVER
    """Update the policy after this much ordinary work at the latest, by the clock."""
    most: int = NEVER
    """The maximum number of profile tuples until the next update; sampling stops there."""
    urgent: bool = False
    """Whether the data has just moved: slices are then short, so that a verdict comes soon."""
    moves: int = 0
    """How often the data has moved. Sampled rows that still wait from before the last move are discarded."""
    shared: str | None = None
    """A mark: profile tuples are exchanged with siblings whose requests have the same mark. None: not exchanged."""
    lasting: bool = False
    """Whether rows that were sampled in one order can still be used after the order has changed."""
    slice_rows: int | None = None
    """The length of the next slices; None: the loop decides."""
    trial: Trial | None = None
    """Run the next slice as this trial, and update the policy right after it."""


def everything(order: Sequence[int], pipeline: Pipeline) -> Bits:
    """Profile every filter after the one that dropped the row (a-greedy, section 4.1.1)."""
    n = len(pipeline)
    position = np.empty(n, dtype=np.int64)
    position[list(order)] = np.arange(n)
    evaluate: Bits = (position[None, :] > np.arange(n)[:, None]) & np.array(pipeline.profiled)[None, :]
    return evaluate


def one_filter(order: Sequence[int], pipeline: Pipeline, position: int) -> Bits:
    """Profile only the filter at `position`, on rows that a filter before it dropped (a-greedy, section 5)."""
    n = len(pipeline)
    evaluate = np.zeros((n, n), dtype=bool)
    evaluate[:position, order[position]] = pipeline.profiled[order[position]]
    return evaluate


def neighbors(order: Sequence[int], pipeline: Pipeline) -> Bits:
    """Profile the filter right after the one that dropped the row (a-greedy, section 7)."""
    n = len(pipeline)
    evaluate = np.zeros((n, n), dtype=bool)
    for position, k in enumerate(order[1:]):
        evaluate[position, k] = pipeline.profiled[k]
    return evaluate


@dataclass(frozen=True, slots=True, eq=False)
class Costs:
    """What is known about the costs of filters besides the best estimate per row. Arrays are indexed by filter."""

    least_ns: NDArray[np.float64]
    """The lower bound of the cost per row."""
    most_ns: NDArray[np.float64]
    """The upper bound of the cost per row."""
    fixed_ns: NDArray[np.float64]
    """The fixed cost of a call, independent of its size; nan if unknown."""
    most_rows: NDArray[np.int64]
    """Rows of the largest call that was timed."""


@dataclass(frozen=True, slots=True, eq=False)
class Observation:
    """What the loop observed since the last update. Arrays are indexed by filter, not by position."""

    evaluated: NDArray[np.int64]
    """The number of rows on which ordinary work evaluated each filter."""
    passed: NDArray[np.int64]
    """The number of these rows that passed the filter."""
    busy_ns: NDArray[np.int64]
    """The time that ordinary work spent in the filter."""
    cost_ns: NDArray[np.float64]
    """The cost of one more row; nan if unknown."""
    profile: Bits
    """The new profile tuples, one per sampled row: True if the filter drops the row. False if it does not, if a guard
    fails, or if the filter was not evaluated: a filter counts as dropping only what it is known to drop."""
    known: Bits | None = None
    """Whether the filter was evaluated on the sampled row; None if this was not recorded."""
    costs: Costs | None = None
    """More about the costs; None if only `cost_ns` is known."""
    working_ns: int = 0
    """Time of ordinary work since the last update."""
    profiling_ns: int = 0
    """Time of profiling since the last update."""
    reoptimizing_ns: int = 0
    """Time of the last update."""
    batch_rows: int = NEVER
    """Rows of the current batch; no slice is longer."""
    slices: int = 0
    """The number of ordinary slices since the last update."""
    calls: NDArray[np.int64] | None = None
    """The number of these slices in which each filter was called. A filter is not called if no row reaches it."""
    trial_ns: int = 0
    """Time of the trial, if there was one."""
    trial_loss_ns: int = 0
    """How much longer the trial took than the order in force would have."""
    siblings: tuple[Bits, Bits] | None = None
    """Profile tuples that other workers have shared since the last update (`ProfilingRequest.shared`), with two columns
    per filter (drops the row, is known), and for each tuple whether it is fresh: sampled under an urgent request, so
    after the data of that worker has moved."""
    values: Mapping[str, pa.Array] | None = None
    """By column, the values of the profile tuples by which rows may be classified; None if the policy has no mesh."""
    routes: ObservedRoutes | None = None
    """What was counted by route; None if all rows took one."""
    classified_siblings: Sequence[ClassifiedTuples] = ()
    """Those of `siblings` that were shared with the values by which rows may be classified, oldest first."""


class ClassifiedTuples(NamedTuple):
    """Profile tuples of another worker with the values by which rows may be classified."""

    values: Mapping[str, pa.Array]
    """By column, one value per tuple."""
    tuples: Bits
    """Two columns per filter: drops the row, is known."""


@dataclass(slots=True, eq=False)
class ObservedRoutes:
    """What ordinary work counted by route since the last update, and how long routing took. Arrays are indexed by route
    and filter."""

    version: int
    """The version of the mesh."""
    rows: NDArray[np.int64]
    evaluated: NDArray[np.int64]
    passed: NDArray[np.int64]
    routing_ns: int = 0
    """Time of classifying rows, of deciding, and of moving rows between operators."""
    decisions: int = 0
    """How often a lottery decided which filter is next."""

    @classmethod
    def none(cls, version: int, routes: int, n: int) -> ObservedRoutes:
        """Return counts at zero for a mesh of so many routes."""
        rows, evaluated = np.zeros(routes, np.int64), np.zeros((routes, n), np.int64)
        return cls(version, rows, evaluated, evaluated.copy())

    def begun(self) -> ObservedRoutes:
        """Return counts at zero for the same mesh."""
        return ObservedRoutes.none(self.version, *self.evaluated.shape)

    def count(
        self, rows: NDArray[np.int64], evaluated: NDArray[np.int64], passed: NDArray[np.int64], decisions: int
    ) -> None:
        """Add the counts of a slice."""
        self.rows += rows
        self.evaluated += evaluated
        self.passed += passed
        self.decisions += decisions


@dataclass(frozen=True, slots=True)
class Verdict:
    """Another order, and the reason for it in one sentence for users.

    Examples
    --------
    >>> from thalweg.adapt import Verdict
    >>> Verdict((1, 0), "b drops more rows per unit of time than a").order
    (1, 0)
    """

    order: tuple[int, ...]
    reason: str


class Policy(Protocol):
    """Keeps an order up to date. Every loop makes its own policy object: `MyPolicy(pipeline, settings, rng)`.

    The class may have `defaults`, the settings that apply if the user passes none. Without `defaults`, or if it is
    None, the policy takes no settings, and `settings` is None. A class without `name` is shown by the name of the
    class. `thalweg.testing.assert_policy` checks everything described here and everything a loop relies on."""

    name: ClassVar[str]
    order: tuple[int, ...]
    """The order in force; at first `pipeline.start`. It changes only with a verdict, by `begin` and by `restore`."""
    standing: str
    """Why the order is kept, in one sentence; empty if the policy gives no reason."""

    def wants(self) -> ProfilingRequest:
        """Return what to profile from now on.

        Returns
        -------
        ProfilingRequest

        Examples
        --------
        >>> import numpy as np
        >>> from thalweg.adapt.a_greedy import AGreedy
        >>> from thalweg.plan.filters.pipeline import Pipeline
        >>> policy = AGreedy(Pipeline(("a", "b")), AGreedy.defaults, np.random.default_rng(0))
        >>> policy.wants().evaluate.tolist()
        [[False, True], [False, False]]
        """
        ...

    def update(self, seen: Observation) -> Verdict | None:
        """Take an observation, and return a verdict if another order is better.

        Parameters
        ----------
        seen
            What the loop observed since the last update.

        Returns
        -------
        Verdict or None
            The new order, which is in force from now on; None if the order does not change.

        Examples
        --------
        >>> import numpy as np
        >>> from thalweg.adapt.a_greedy import AGreedy
        >>> from thalweg.plan.filters.pipeline import Pipeline
        >>> policy = AGreedy(Pipeline(("a", "b")), AGreedy.defaults, np.random.default_rng(0))
        >>> from thalweg.adapt import Observation
        >>> counts, drops = np.array([1000, 500]), np.array([[False, True]] * 500)
        >>> policy.update(Observation(counts, counts // 2, counts * 9, np.array([9.0, 9.0]), drops)).order
        (1, 0)
        """
        ...

    def begin(self, order: tuple[int, ...]) -> None:
        """Start in the order in which an earlier run of the same filters ended, before anything was observed here.

        A policy that never changes the order keeps its own.

        Parameters
        ----------
        order
            The order, which respects the guards.

        Examples
        --------
        >>> import numpy as np
        >>> from thalweg.adapt.a_greedy import AGreedy
        >>> from thalweg.plan.filters.pipeline import Pipeline
        >>> policy = AGreedy(Pipeline(("a", "b")), AGreedy.defaults, np.random.default_rng(0))
        >>> policy.begin((1, 0))
        >>> policy.order
        (1, 0)
        """
        ...

    def snapshot(self) -> dict[str, Any]:
        """Return what another worker needs to continue from here.

        Returns
        -------
        dict
            Plain values, ready for JSON.

        Examples
        --------
        >>> import numpy as np
        >>> from thalweg.adapt.a_greedy import AGreedy
        >>> from thalweg.plan.filters.pipeline import Pipeline
        >>> policy = AGreedy(Pipeline(("a", "b")), AGreedy.defaults, np.random.default_rng(0))
        >>> policy.snapshot()["policy"], policy.snapshot()["order"]
        ('a-greedy', [0, 1])
        """
        ...

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Continue from another worker's snapshot.

        Parameters
        ----------
        snapshot
            What :meth:`snapshot` returned for the same filters, in this process or another one.

        Raises
        ------
        PlanError
            If the snapshot is from another policy or from other filters.

        Examples
        --------
        >>> import numpy as np
        >>> from thalweg.adapt.a_greedy import AGreedy
        >>> from thalweg.plan.filters.pipeline import Pipeline
        >>> policy = AGreedy(Pipeline(("a", "b")), AGreedy.defaults, np.random.default_rng(0))
        >>> policy.restore(policy.snapshot() | {"order": [1, 0]})
        >>> policy.order
        (1, 0)
        """
        ...


def known_costs(cost_ns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return costs to divide by: a filter that has not been timed yet counts as the mean of the others.

    >>> known_costs(np.array([2.0, np.nan, 4.0])).tolist()
    [2.0, 3.0, 4.0]
    >>> known_costs(np.array([np.nan, np.nan])).tolist()
    [1.0, 1.0]
    """
    unknown = cost_ns != cost_ns  # nan
    if not unknown.any():
        return cost_ns
    known = [ns for ns in cost_ns.tolist() if ns == ns]
    return np.where(unknown, sum(known) / len(known) if known else 1.0, cost_ns)


def known_fixed(fixed_ns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the fixed costs of calls, with 0 for unknown ones.

    >>> known_fixed(np.array([2.0, np.nan])).tolist()
    [2.0, 0.0]
    """
    return np.where(fixed_ns == fixed_ns, fixed_ns, 0.0)  # not nan


def sorted_by(rank: Sequence[float], pipeline: Pipeline) -> tuple[int, ...]:
    """Return the filters by descending rank, each as early as its guards allow; equal ranks stay as written.

    >>> sorted_by([1.0, 3.0, 2.0], Pipeline(("a", "b", "c"), guards=((), (0,), ())))
    (2, 0, 1)
    """
    order: list[int] = []
    left = list(range(len(pipeline)))
    while left:
        eligible = [k for k in left if all(g in order for g in pipeline.guards[k])]
        best = max(eligible, key=lambda k: rank[k])
        order.append(best)
        left.remove(best)
    return tuple(order)


def restored_order(snapshot: Mapping[str, Any], name: str, pipeline: Pipeline) -> tuple[int, ...]:
    """Return the order in a snapshot.

    Raises a PlanError if the snapshot is from another policy or from other filters.
    """
    order = tuple(int(k) for k in snapshot.get("order", ()))
    if snapshot.get("policy") != name or not pipeline.respects(order):
        raise PlanError(
            f"cannot restore policy {name!r} with {len(pipeline)} filters from a snapshot of policy "
            f"{snapshot.get('policy')!r} with order {order}; use a snapshot of the same policy and the same filters"
        )
    return order


def better_here(
    position: int, pipeline: Pipeline, better: int, current: int, costs: NDArray[np.float64], drops: tuple[float, float]
) -> str:
    """Return why filter `better` should replace filter `current` at a position, as a sentence. `drops`: how many rows
    each of them drops there.

    >>> two = Pipeline(("even", "small"))
    >>> better_here(0, two, 1, 0, np.array([300.0, 200.0]), (30, 9))
    'at position 1, small (200 ns per row) drops 5.0 times as many rows per unit of time as even (300 ns per row)'
    >>> better_here(2, two, 1, 0, np.array([300.0, 200.0]), (3, 0))
    'at position 3, small (200 ns per row) drops 3 of the sampled rows, even (300 ns per row) drops none'
    """
    new, old = (f"{pipeline.names[k]} ({duration(costs[k])} per row)" for k in (better, current))
    if not drops[1]:
        return f"at position {position + 1}, {new} drops {drops[0]:.0f} of the sampled rows, {old} drops none"
    ratio = (drops[0] / costs[better]) / (drops[1] / costs[current])
    return f"at position {position + 1}, {new} drops {times(ratio)} as many rows per unit of time as {old}"
