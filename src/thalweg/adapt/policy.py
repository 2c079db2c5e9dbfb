"""The contract between a policy and the loop that runs a pipeline.

The loop asks `wants()` what to profile, samples dropped rows with probability `p`, evaluates on each sampled row what
the policy asked for, and hands everything seen to `update`, which may answer with a verdict: another order and the
reason. The loop applies it at the next slice. A policy holds no clock, no thread, no engine; randomness is passed in.

Profiling has three scopes: what is evaluated on a sampled row, and so which other orders can be judged by it.
`everything` (A-Greedy): all filters behind the one that dropped the row; any order can be judged. `one_filter` (Sweep):
the filter at one position; moving it forward can be judged. `neighbours` (LocalSwaps): the filter behind; swapping
neighbours can be judged. Each next one costs less per row and sees less. In their answer, rows are positions that drop
a row, columns are filters. Filters that may not be profiled never are.

>>> order, pipeline = (1, 0, 2), Pipeline(("a", "b", "c"))
>>> everything(order, pipeline).astype(int).tolist()
[[1, 0, 1], [0, 0, 1], [0, 0, 0]]
>>> one_filter(order, pipeline, position=1).astype(int).tolist()
[[1, 0, 0], [0, 0, 0], [0, 0, 0]]
>>> neighbours(order, pipeline).astype(int).tolist()
[[1, 0, 0], [0, 0, 1], [0, 0, 0]]

Reference for the scopes: Babu et al., SIGMOD 2004, sections 4.1.1, 5 and 7, figure 7.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from thalweg.deprecated import current_name
from thalweg.errors import PlanError
from thalweg.plan.pipeline import Pipeline

Bits = NDArray[np.bool_]
NEVER = 1 << 62
"""More rows than any stream has."""


@dataclass(frozen=True, slots=True)
class ProfileSettings:
    """How much is profiled, how much is remembered, and how unlike two filters must be before they are reordered.

    The defaults are those of a-greedy, table 1; some policies have their own (`Policy.defaults`).
    """

    p: float = 0.01
    """The drop-profiling probability. Too high: profiling costs more than it saves. Too low: drift is seen late."""
    profile_window: int = 1000
    """Profile tuples remembered. Too small: noise moves filters. Too large: the past outvotes the present."""
    alpha: float = 0.9
    """Thrashing avoidance (equation 4): reorder only when a filter's rate is below alpha times another's."""

    @property
    def together(self) -> int:
        """An eighth of the window is worth one look at it."""
        return max(self.profile_window // 8, 1)

    def __post_init__(self) -> None:
        if not is_number(self.p) or not 0.0 < self.p <= 1.0:
            raise PlanError(f"p={self.p!r}: the share of dropped rows to profile must be above 0 and at most 1")
        tuples = self.profile_window
        if isinstance(tuples, bool) or not isinstance(tuples, int) or tuples < 1:
            raise PlanError(
                f"profile_window={tuples!r}: the number of profile tuples to keep must be a whole number >= 1"
            )
        if not is_number(self.alpha) or not 0.0 < self.alpha <= 1.0:
            raise PlanError(f"alpha={self.alpha!r}: must be above 0 and at most 1 (1 reorders at the least difference)")


class Settings(Protocol):
    """The settings of one policy: a frozen dataclass in its file, checked when made. Its fields are what users can set,
    by their names; `defaults` of the policy's class is the one that applies where they set nothing."""

    __dataclass_fields__: ClassVar[dict[str, Any]]


def is_number(value: object) -> bool:
    """A real one, and not a truth value."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


@dataclass(frozen=True, slots=True)
class Trial:
    """One slice in another order, to learn what a filter costs there. Its rows get their answer as any others do."""

    order: tuple[int, ...]
    rows: int
    """At most so many."""
    candidate: int
    """The filter that is tried."""
    expected_ns: float
    """What the order in force would take for a slice of so many rows."""


@dataclass(frozen=True, slots=True, eq=False)
class Wants:
    """What to profile: sample dropped rows with probability `p`; on a row dropped at position i evaluate filter k
    where `evaluate[i, k]`. Filters that did run on the row are known anyway."""

    p: float
    evaluate: Bits
    together: int = 1
    """Profile tuples worth one look: fewer waste the fixed cost of calls, more are seen late."""
    rows: int = NEVER
    """Ask at the latest after so many rows, also without profile tuples."""
    ns: int = NEVER
    """And after so much ordinary work, by the clock."""
    most: int = NEVER
    """Profile tuples until the policy is asked again; sampling stops there."""
    urgent: bool = False
    """The data has just moved: take short slices, so that a verdict comes soon."""
    moves: int = 0
    """How often the data has moved: rows that were sampled before it did, and still wait, are of no use."""
    shared: str | None = None
    """Profile tuples made under this wish go to siblings with the same mark, and theirs come here; None: neither."""
    lasting: bool = False
    """Rows sampled in one order are of use when the order has changed, too."""
    slice_rows: int | None = None
    """The length of the next slices; None: as the loop likes."""
    trial: Trial | None = None
    """The next slice is a trial; the policy is asked again right after it."""


def everything(order: Sequence[int], pipeline: Pipeline) -> Bits:
    """Every filter behind the one that dropped the row (a-greedy, section 4.1.1)."""
    n = len(pipeline)
    position = np.empty(n, dtype=np.int64)
    position[list(order)] = np.arange(n)
    evaluate: Bits = (position[None, :] > np.arange(n)[:, None]) & np.array(pipeline.profiled)[None, :]
    return evaluate


def one_filter(order: Sequence[int], pipeline: Pipeline, position: int) -> Bits:
    """Only the filter at `position`, on rows that some filter before it dropped (a-greedy, section 5)."""
    n = len(pipeline)
    evaluate = np.zeros((n, n), dtype=bool)
    evaluate[:position, order[position]] = pipeline.profiled[order[position]]
    return evaluate


def neighbours(order: Sequence[int], pipeline: Pipeline) -> Bits:
    """The filter behind the one that dropped the row (a-greedy, section 7)."""
    n = len(pipeline)
    evaluate = np.zeros((n, n), dtype=bool)
    for position, k in enumerate(order[1:]):
        evaluate[position, k] = pipeline.profiled[k]
    return evaluate


@dataclass(frozen=True, slots=True, eq=False)
class Costs:
    """What is known about what filters cost, beyond the best guess per row. Arrays are indexed by filter."""

    least_ns: NDArray[np.float64]
    """What a row may cost at least..."""
    most_ns: NDArray[np.float64]
    """...and at most."""
    fixed_ns: NDArray[np.float64]
    """What a call costs whatever its size; nan where nothing is known."""
    most_rows: NDArray[np.int64]
    """Rows of the largest call that was timed."""


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """What the loop saw since the last update. Arrays are indexed by filter, not by position."""

    evaluated: NDArray[np.int64]
    """Rows each filter was evaluated on by ordinary work."""
    passed: NDArray[np.int64]
    """Rows that passed it there."""
    busy_ns: NDArray[np.int64]
    """Time spent in it there."""
    cost_ns: NDArray[np.float64]
    """What one more row costs it; nan while nothing is known."""
    profile: Bits
    """The new profile tuples: one row a sampled row, True where the filter drops it. False where it does not, where a
    guard fails, and where nobody looked: a filter counts as dropping only what it is known to drop."""
    known: Bits | None = None
    """Where the filter was evaluated on the sampled row; None: nobody recorded it."""
    costs: Costs | None = None
    """More about the costs; None: `cost_ns` is all there is."""
    working_ns: int = 0
    """Time of ordinary work since the last update."""
    profiling_ns: int = 0
    """Time of profiling since the last update."""
    reoptimizing_ns: int = 0
    """Time of the last update."""
    batch_rows: int = NEVER
    """Rows of the batch at hand: no slice is longer."""
    slices: int = 0
    """Ordinary slices since the last update..."""
    calls: NDArray[np.int64] | None = None
    """...and in how many of them each filter was called: it is not where no row gets to it."""
    trial_ns: int = 0
    """Time of the trial, where there was one."""
    trial_loss_ns: int = 0
    """How much more that was than the order in force would have taken."""
    siblings: tuple[Bits, Bits] | None = None
    """Profile tuples that other workers shared meanwhile (`Wants.shared`), with what is known of them (two columns per
    filter: drops it, is known), and for each whether it is fresh: sampled under an urgent wish, so since the data there
    has moved."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Another order, and why, in one sentence for people."""

    order: tuple[int, ...]
    reason: str


class Policy(Protocol):
    """What keeps an order up to date. Every loop makes its own: `MyPolicy(pipeline, settings, rng)`.

    Its class may have `defaults`, the settings that apply where the user gives none; without, or where it is None, the
    policy takes none, and `settings` is None. A class without `name` is shown by the name of the class.
    `thalweg.testing.assert_policy` checks what is said here and what a loop relies on."""

    name: ClassVar[str]
    order: tuple[int, ...]
    """The order in force; at first `pipeline.start`. It changes only with a verdict, by `begin` and by `restore`."""
    standing: str
    """Why the order is kept, in one sentence; empty if the policy gives no reason."""

    def wants(self) -> Wants:
        """What to profile from now on."""
        ...

    def update(self, seen: Seen) -> Verdict | None:
        """Take what was seen; answer when another order is better."""
        ...

    def begin(self, order: tuple[int, ...]) -> None:
        """Start in the order that an earlier run of the same filters ended with, before anything was seen here. It
        respects the guards. A policy that never changes the order keeps its own."""
        ...

    def snapshot(self) -> dict[str, Any]:
        """What another worker needs to go on from here, as JSON."""
        ...

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Go on from another worker's snapshot."""
        ...


def known_costs(cost_ns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Costs to divide by: a filter nobody has timed yet counts as the mean of the others.

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
    """Fixed costs of calls; nothing where nobody knows.

    >>> known_fixed(np.array([2.0, np.nan])).tolist()
    [2.0, 0.0]
    """
    return np.where(fixed_ns == fixed_ns, fixed_ns, 0.0)  # not nan


def eligible_from(order: Sequence[int], guards: Sequence[Sequence[int]]) -> NDArray[np.int64]:
    """For each position the first position its filter could stand at: one behind its last guard.

    >>> eligible_from((1, 0, 2), guards=((1,), (), ())).tolist()
    [0, 1, 0]
    """
    place = {k: i for i, k in enumerate(order)}
    return np.array([max((place[g] + 1 for g in guards[k]), default=0) for k in order], dtype=np.int64)


def sorted_by(rank: Sequence[float], pipeline: Pipeline) -> tuple[int, ...]:
    """The filters by descending rank, each as early as its guards allow; equal ranks stay as written.

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
    """The order in a snapshot, refused when it is not this policy's or not of these filters."""
    order = tuple(int(k) for k in snapshot.get("order", ()))
    if current_name("policy", str(snapshot.get("policy"))) != name or not pipeline.respects(order):
        raise PlanError(
            f"this snapshot is of policy {snapshot.get('policy')!r} with order {order}, not of {name!r} here"
        )
    return order


def better_here(
    position: int, pipeline: Pipeline, comes: int, stands: int, costs: NDArray[np.float64], drops: tuple[float, float]
) -> str:
    """Why `comes` should take the place of `stands`. `drops`: how many rows each of them drops there.

    >>> two = Pipeline(("even", "small"))
    >>> better_here(0, two, 1, 0, np.array([300.0, 200.0]), (30, 9))
    'at position 1 small (200 ns per row) drops 5.0 times as much per unit of time as even (300 ns per row)'
    >>> better_here(2, two, 1, 0, np.array([300.0, 200.0]), (3, 0))
    'at position 3 small (200 ns per row) drops 3 of the sampled rows, even (300 ns per row) none'
    """
    new, old = (f"{pipeline.names[k]} ({duration(costs[k])} per row)" for k in (comes, stands))
    if not drops[1]:
        return f"at position {position + 1} {new} drops {drops[0]:.0f} of the sampled rows, {old} none"
    more = (drops[0] / costs[comes]) / (drops[1] / costs[stands])
    return f"at position {position + 1} {new} drops {times(more)} as much per unit of time as {old}"


def times(rate: float) -> str:
    """A ratio for a sentence.

    >>> times(3.14159), times(250.0)
    ('3.1 times', '250 times')
    """
    return f"{rate:.0f} times" if rate >= 10 else f"{rate:.1f} times"


def duration(ns: float) -> str:
    """A time per row, for a sentence.

    >>> duration(250.0), duration(999.7), duration(12_300.0), duration(4.5e6)
    ('250 ns', '1.0 µs', '12.3 µs', '4.5 ms')
    """
    if round(ns) < 1_000:
        return f"{ns:.0f} ns"
    return f"{ns / 1_000:.1f} µs" if ns < 999_950 else f"{ns / 1_000_000:.1f} ms"
