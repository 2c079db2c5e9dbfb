"""Eddy with content-based routing: where a batch of rows goes next depends on the values of its rows. For comparison.

Answers: no order. For each filter it knows one column, its classifier attribute, and by value of that column the share
of rows that the filter drops. A decision prefers the filter that drops most rows per ns for these values.
How: dropped rows are profiled continuously with all filters. For each filter, the attribute is the column of the best
gain ratio: the information about whether the filter drops a row, divided by the entropy of the column's categories.
Columns count if they explain more than noise does; without one, the filter has one share for all rows. Filters are
ranked by share per ns for the values of a row, and in the lottery each has `AHEAD` times the slice of the next one.
Guarantee: the answer never depends on it. No filter is ruled out (`kernels.lottery.LEAST`). There is no bound on the
cost of what it does: filters are taken as independent.
Cost: profiling all filters on `LATER` of the dropped rows, `FIRST` until there are `FEW`. Rows with different values
are routed apart. So that a decision is for about `batch` rows all the same, a slice has so many rows per class
that was in the slice before. A decision costs up to a call of 10 to 35 µs, whatever the filter does; rusters of a slice
that wait for the same filter share one.
Differs from the paper, which routes single tuples: decisions are for up to `batch` rows of the same categories,
which are values of texts and quantile ranges of numbers. Shares are known from sampled rows that were dropped, not from
all rows; this scales all filters alike.

Reference: Bizarro, Babu, DeWitt, Widom: Content-based routing: different plans for different data. VLDB 2005; described
in query-mesh, sections 2 and 6.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from thalweg.adapt.mesh_samples import MeshSamples
from thalweg.adapt.open_route import MOST_BATCH, EddySettings, OpenRoute
from thalweg.adapt.peers.eddy import ROWS, decided
from thalweg.adapt.policy import Observation, ProfilingRequest, Verdict, known_costs, restored_order
from thalweg.formatting import listed, plural
from thalweg.optimizer.mesh.categories import Column, categories
from thalweg.optimizer.mesh.column_values import column_codes
from thalweg.optimizer.mesh.training import Sample
from thalweg.plan.filters.pipeline import Pipeline
from thalweg.stats.training_set import Axis, sums_by

FIRST, LATER = 0.05, 0.01
"""The share of dropped rows that are profiled, until `FEW` rows are known and then."""
FEW = 500
TOGETHER = 50
"""Profiled rows after which shares are counted anew."""
NEWEST = 2_000
"""The profiled rows that count."""
MOST_VALUES, MOST_RANGES = 24, 8
"""The most groups of texts of a column, and the most ranges of numbers."""
DEVIATIONS = 3.0
"""By how many standard deviations a column must explain more than noise does."""
SHRUNK_BY = 4.0
"""The share for a value counts as if so many more rows had the share for all values."""
AHEAD = 100.0

Numbers = NDArray[np.float64]
Codes = NDArray[np.int64]


@dataclass(slots=True)
class ContentRoute(OpenRoute):
    """An open route whose slices depend on values."""

    axes: tuple[Axis, ...] = ()
    """The attributes of filters, without repetition."""
    axis_of: tuple[int | None, ...] = ()
    """By filter the place of its attribute among the axes; None if it has none."""
    rates: list[Numbers] = field(default_factory=list)
    """By filter what it drops per ns, by category of its attribute; one number if it has none."""
    classes: int = 1
    """The classes of rows in the latest slice."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns on which slices depend."""
        return tuple(axis.column for axis in self.axes)

    def slices_of(self, values: Mapping[str, pa.Array], rows: int) -> tuple[Codes, Numbers]:
        """Divide rows into classes by the categories of all attributes."""
        if not self.rates:
            self.classes = 1
            return np.zeros(rows, np.int64), self.slices[None, :]
        codes = [category(axis, values[axis.column]) for axis in self.axes]
        combined = np.zeros(rows, np.int64)
        for axis, of_row in zip(self.axes, codes, strict=True):
            # numbered anew, so that many attributes cannot overflow
            combined = np.unique(combined * (axis.size + 2) + of_row, return_inverse=True)[1].reshape(-1)
        _, first, classes = np.unique(combined, return_index=True, return_inverse=True)
        self.classes = max(len(first), 1)
        rates = np.empty((len(first), len(self.rates)))
        for k, (at, each) in enumerate(zip(self.axis_of, self.rates, strict=True)):
            rates[:, k] = each[0] if at is None else each[codes[at][first]]
        ranks = np.argsort(np.argsort(-rates, axis=1, kind="stable"), axis=1)
        return classes.reshape(-1), AHEAD ** -ranks.astype(np.float64)


class EddyCbr:
    """Draws the next filter of each batch of rows of the same categories."""

    name: ClassVar[str] = "eddy-cbr"
    defaults: ClassVar[EddySettings | None] = EddySettings()
    classifies: ClassVar[bool] = True
    """Whether it needs the values by which rows may be classified."""

    def __init__(
        self, pipeline: Pipeline, settings: EddySettings | None = None, rng: np.random.Generator | None = None
    ) -> None:
        self.pipeline = pipeline
        self.settings = settings or EddySettings()
        self.order = pipeline.start
        self.standing = ""
        n = len(pipeline)
        self.mesh = ContentRoute(pipeline.start, self.settings.batch, np.zeros(n))
        self.samples = MeshSamples()
        self.decisions = 0
        self.routing_ns = 0
        """The time of deciding, and of classifying, moving and counting rows; without the calls of filters."""
        self._every = np.tile(np.array(pipeline.profiled, dtype=bool), (n, 1))
        self._wants = self._request()

    def wants(self) -> ProfilingRequest:
        """Profile all filters on some of the dropped rows."""
        return self._wants

    def _request(self) -> ProfilingRequest:
        batch = self.settings.batch
        return ProfilingRequest(
            FIRST if self.samples.added < FEW else LATER, self._every, together=TOGETHER, rows=max(ROWS, batch),
            lasting=True, slice_rows=min(batch * self.mesh.classes, MOST_BATCH),
        )  # fmt: skip

    def update(self, seen: Observation) -> Verdict | None:
        """Count shares by value. The order never changes, because there is none."""
        if seen.routes is not None:
            self.decisions += seen.routes.decisions
            self.routing_ns += seen.routes.routing_ns
        if seen.values is not None and len(seen.profile):
            known = np.ones_like(seen.profile) if seen.known is None else seen.known
            self.samples.add(seen.values, seen.profile, known)
            self._learn(self.samples.sample(NEWEST), known_costs(seen.cost_ns))
        self._wants = self._request()
        self.standing = self._standing()
        return None

    def _learn(self, sample: Sample, cost_ns: Numbers) -> None:
        """Choose the attribute of each filter, and count what it drops by value."""
        found = [
            categories(name, values, sample.passes, sample.weights, MOST_VALUES, MOST_RANGES)
            for name, values in sample.values.items()
        ]
        columns = [column for column in found if column is not None and column.axis.size > 1]
        chosen: list[Column] = []
        axis_of: list[int | None] = []
        rates = []
        for k in range(len(self.pipeline)):
            dropped = 1.0 - sample.passes[:, k]
            best = max(columns, key=lambda column: gain_ratio(column.codes, dropped), default=None)
            ns = max(float(cost_ns[k]), 1e-3)  # a clock that stands still
            if best is None or gain_ratio(best.codes, dropped) <= 0.0:
                axis_of.append(None)
                rates.append(np.array([float(dropped.mean()) / ns]))
                continue
            if best not in chosen:
                chosen.append(best)
            axis_of.append(chosen.index(best))
            size = best.axis.size + 2
            rows, drops = np.bincount(best.codes, minlength=size), sums_by(best.codes, dropped, size)
            rates.append((drops + SHRUNK_BY * float(dropped.mean())) / (rows + SHRUNK_BY) / ns)
        mesh = self.mesh
        mesh.axes, mesh.axis_of, mesh.rates = tuple(column.axis for column in chosen), tuple(axis_of), rates

    def _standing(self) -> str:
        sentence = decided(self.decisions, self.routing_ns, self.settings.batch)
        if not sentence or not self.mesh.rates:
            return sentence
        by = listed(self.mesh.columns) or "no column"
        rows = plural(self.samples.rows, "profiled row")
        return f"{sentence}, by {by} based on {rows}"

    def begin(self, order: tuple[int, ...]) -> None:
        """Keep the order as written, whatever an earlier run did."""

    def snapshot(self) -> dict[str, Any]:
        """Return the order; the shares are learned anew within a few thousand rows."""
        return {"policy": self.name, "order": list(self.order)}

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Take the order of another worker."""
        self.order = restored_order(snapshot, self.name, self.pipeline)
        self.mesh.order, self.mesh.rates, self.mesh.classes = self.order, [], 1
        self.samples = MeshSamples()
        self._wants = self._request()


def category(axis: Axis, column: pa.Array) -> Codes:
    """Return the category of each value of a column.

    >>> category(Axis("source", "text", groups=((b"web", b"app"), (b"api",))), pa.array(["api", "app", None, "bot"]))
    array([1, 0, 2, 3])
    """
    if axis.ordered:
        return column_codes(column, axis.kind, (), axis.cuts)
    values = [value for group in axis.groups for value in group]
    groups = [i for i, group in enumerate(axis.groups) for _ in group]
    codes = column_codes(column, axis.kind, values, ())
    return np.array([*groups, axis.null, axis.other], np.int64)[codes]


def gain_ratio(codes: Codes, dropped: Numbers) -> float:
    """Return the gain ratio of a column's categories about whether a filter drops a row; 0 if noise explains it.

    Parameters
    ----------
    codes
        The category of each row.
    dropped
        Whether the filter drops the row, or the probability of that.

    Returns
    -------
    float
        The information that categories give about `dropped`, divided by their entropy. If categories mean nothing,
        twice the information in all rows, in nats, has a chi-squared distribution with one degree of freedom less than
        there are categories.

    Examples
    --------
    >>> codes = np.repeat([0, 1, 2, 3], 100)
    >>> gain_ratio(codes, (codes == 0) + 0.0), gain_ratio(codes, np.tile([0.0, 1.0], 200))
    (0.405..., 0.0)
    """
    rows = np.bincount(codes)
    drops = sums_by(codes, dropped, len(rows))
    drops, rows = drops[rows > 0], rows[rows > 0]
    if len(rows) < 2:
        return 0.0
    total = float(rows.sum())
    inside = float(rows @ _entropy(drops / rows)) / total
    gain = float(_entropy(np.array([dropped.mean()]))[0]) - inside
    freedom = len(rows) - 1
    if 2.0 * total * gain <= freedom + DEVIATIONS * (2.0 * freedom) ** 0.5:
        return 0.0
    shares = rows / total
    return gain / float(-(shares * np.log(shares)).sum())


def _entropy(share: Numbers) -> Numbers:
    """Return the entropy of an event with this probability, in nats."""
    one = np.clip(share, 1e-12, 1.0 - 1e-12)
    return np.asarray(-one * np.log(one) - (1.0 - one) * np.log1p(-one))
