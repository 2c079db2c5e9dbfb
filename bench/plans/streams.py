"""The rows of a drawn join: uniform keys, times that are uniform or swing, in batches as a user feeds them, and exact
statistics.

Each batch has the rows of one stream in one slice of time. With more rows, windows have more rows and keys come from a
larger domain, so that a row has as many partners as before.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bench.plans.draw import DrawnJoin, KeyClass, equality

MICROSECONDS = 1_000_000
WORDS = 2_000


@dataclass(frozen=True)
class JoinRows:
    """A join with rows. `tables` have columns `id`, `ts`, the keys and the payload."""

    drawn: DrawnJoin
    tables: Mapping[str, pa.Table]
    domains: Mapping[str, int]
    """By class: the number of different keys."""

    @property
    def rows(self) -> int:
        """The rows of all streams."""
        return sum(table.num_rows for table in self.tables.values())

    @cached_property
    def windows_us(self) -> dict[str, int]:
        """The window of each stream in microseconds."""
        length = self.drawn.run_seconds * MICROSECONDS
        return {alias: round(share * length) for alias, share in self.drawn.windows.items()}

    @property
    def windows(self) -> dict[str, str]:
        """The windows as `tw.join` takes them."""
        return {alias: f"{length} microseconds" for alias, length in self.windows_us.items()}

    @property
    def slices(self) -> int:
        """The number of batches per stream."""
        return max(round(self.rows / self.drawn.batch_rows), self.drawn.least_slices)

    @cached_property
    def batches(self) -> dict[str, list[pa.RecordBatch]]:
        """The batches of each stream, one per slice of time; a slice without rows has none."""
        bounds = np.linspace(0, self.drawn.run_seconds * MICROSECONDS, self.slices + 1)[1:-1]
        found = {}
        for alias, table in self.tables.items():
            times = table.column("ts").cast(pa.int64()).to_numpy()
            ends = [0, *(int(end) for end in np.searchsorted(times, bounds)), table.num_rows]
            whole = table.combine_chunks().to_batches()
            found[alias] = [whole[0].slice(begin, end - begin) for begin, end in pairwise(ends) if end > begin]
        return found

    def rate(self, alias: str) -> float:
        """Return the rows per second of a stream."""
        return float(self.tables[alias].num_rows / self.drawn.run_seconds)

    def partners(self, among: str, each: KeyClass) -> float:
        """Return the rows in the window of a stream that have one value of a class."""
        return self.rate(among) * self.windows_us[among] / MICROSECONDS / self.domains[each.column]

    @property
    def statistics(self) -> dict[str, Any]:
        """What is known about the join, exactly, as `tw.join(statistics=...)` takes it."""
        edges = {
            equality(one, other, each.column): (self.partners(other, each), self.partners(one, each))
            for each in self.drawn.classes
            for one, other in each.equalities
        }
        return {**{a: {"rows_per_second": self.rate(a)} for a in self.drawn.aliases}, "partners": edges}

    def widths(self, alias: str) -> dict[str, int]:
        """Return the bytes per row of the columns of a stream."""
        keys = {each.column: 8 for each in self.drawn.columns(alias)}
        return {"id": 8, "ts": 8, **keys, **{f"p{n}": width for n, (_, width) in enumerate(self.drawn.payload[alias])}}


def domains_of(drawn: DrawnJoin, rows: int) -> dict[str, float]:
    """Return the number of different keys of each class that gives the drawn partners; below 1 it cannot be had."""
    found = {}
    for each in drawn.classes:
        among = each.edge[1]
        found[each.column] = rows * drawn.shares[among] * drawn.windows[among] / each.partners
    return found


def expected_results(drawn: DrawnJoin, rows: int, among: Sequence[str] | None = None) -> float:
    """Return how many results a run is expected to have, of all streams or of a sub-join."""
    aliases = [alias for alias in drawn.aliases if among is None or alias in among]
    sizes = {alias: rows * drawn.shares[alias] for alias in aliases}
    chance = 1.0
    for each, domain in zip(drawn.classes, domains_of(drawn, rows).values(), strict=True):
        members = sum(alias in each.members for alias in aliases)
        chance /= max(domain, 1.0) ** max(members - 1, 0)
    windows = math.prod(drawn.windows[alias] for alias in aliases)
    near = sum(windows / drawn.windows[alias] for alias in aliases)
    return math.prod(sizes.values()) * near * chance


def make(drawn: DrawnJoin, rows: int) -> JoinRows:
    """Return a drawn join with about this many rows."""
    domains = {column: max(round(size), 1) for column, size in domains_of(drawn, rows).items()}
    tables = {}
    for n, alias in enumerate(drawn.aliases):
        rng = np.random.default_rng([drawn.seed, drawn.number, drawn.attempt, n])
        count = max(round(rows * drawn.shares[alias]), 1)
        times = _times(drawn, alias, rng, count)
        columns = {"id": pa.array(np.arange(count)), "ts": pa.array(times).cast(pa.timestamp("us"))}
        for each in drawn.columns(alias):
            columns[each.column] = pa.array(rng.integers(0, domains[each.column], count))
        for k, (kind, width) in enumerate(drawn.payload[alias]):
            columns[f"p{k}"] = _column(rng, kind, width, count)
        tables[alias] = pa.table(columns)
    return JoinRows(drawn, tables, domains)


def _times(drawn: DrawnJoin, alias: str, rng: np.random.Generator, count: int) -> NDArray[np.int64]:
    if drawn.swing is None:
        return np.sort(rng.integers(0, round(drawn.run_seconds * MICROSECONDS), count))
    return (drawn.swing.times(rng, alias, drawn.run_seconds, count) * MICROSECONDS).astype(np.int64)


def _column(rng: np.random.Generator, kind: str, width: int, count: int) -> pa.Array:
    if kind == "int64":
        return pa.array(rng.integers(0, 1 << 40, count))
    if kind == "float64":
        return pa.array(rng.random(count))
    words = pa.array([f"{word:0{width}d}"[-width:] for word in range(WORDS)])
    return words.take(pa.array(rng.integers(0, WORDS, count)))
