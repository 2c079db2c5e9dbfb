"""Results are those of comparing every row with every row, whichever loop produces them, in batches of any size; and a
row with too many results is reported."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pytest

pytest.importorskip("numba")

from thalweg.kernels.multiway_join import ResultCounts, ResultLimits, TooManyResults, put_together
from thalweg.kernels.probe_chain import ProbeChain, ProbeRows
from thalweg.kernels.window_store import WindowStore
from thalweg.plan.joins.graph import EqualColumns, JoinGraph

GRAPHS: dict[str, list[EqualColumns]] = {
    "two": [("a", "k", "b", "k")],
    "star of one key": [("a", "k", "b", "k"), ("a", "k", "c", "k"), ("a", "k", "d", "k")],
    "star of several keys": [("a", "k", "b", "k"), ("a", "m", "c", "m"), ("a", "n", "d", "n")],
    "chain": [("a", "k", "b", "k"), ("b", "m", "c", "m"), ("c", "n", "d", "n")],
    "cycle": [("a", "k", "b", "k"), ("b", "m", "c", "m"), ("c", "n", "a", "n")],
}
WINDOW, TIMES, KEYS, STORED, NEW = 30, 100, 3, 25, 12


class Joined:
    """Random rows: those of `a` are new, the others are in their windows."""

    def __init__(self, equalities: list[EqualColumns], seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.graph = JoinGraph.of(equalities)
        self.tree = self.graph.tree("a")
        self.words: dict[str, dict[tuple[int, ...], np.ndarray]] = {}
        self.times: dict[str, np.ndarray] = {}
        self.stores: dict[str, WindowStore] = {}
        for alias in self.graph.aliases:
            rows = NEW if alias == "a" else STORED
            keys = self.graph.keys_of(alias)
            self.words[alias] = {key: rng.integers(0, KEYS, rows) for key in keys}
            self.times[alias] = rng.integers(0, TIMES, rows)
            store = WindowStore(pa.schema([("n", pa.int64())]), keys, WINDOW)
            if alias != "a":
                store.insert(pa.record_batch({"n": np.arange(rows)}), self.words[alias], self.times[alias])
            self.stores[alias] = store

    def probed(self, *, drop: bool) -> tuple[ProbeRows, np.ndarray]:
        """Return the new rows; `drop`: after drop-probing, which records where partners begin."""
        starts = np.full((len(self.tree.others), NEW), -1, np.int64)
        rows = ProbeRows(self.words["a"], self.times["a"], self.times["a"] + WINDOW, starts)
        if not drop:
            return rows, np.arange(NEW)
        chain = ProbeChain(self.tree, self.stores, lambda: 0)
        return rows, chain.run(rows, range(len(self.tree.others))).kept

    def together(self, rows: Mapping[str, int]) -> bool:
        """Whether rows belong together, by definition."""
        for members in self.graph.column_of:
            c = self.graph.column_of.index(members)
            held = {int(self.words[alias][(c,)][rows[alias]]) for alias in members}
            if len(held) > 1:
                return False
        times = [int(self.times[alias][row]) for alias, row in rows.items()]
        return max(times) - min(times) <= WINDOW

    def all(self) -> list[tuple[int, ...]]:
        """Return all results, by comparing every row with every row."""
        aliases = self.graph.aliases
        sizes = [range(len(self.times[alias])) for alias in aliases]
        every = itertools.product(*sizes)
        return sorted(rows for rows in every if self.together(dict(zip(aliases, rows, strict=True))))


def put(joined: Joined, *, results: int, drop: bool, most: int = 10**6, reverse: bool = False) -> list[tuple[int, ...]]:
    rows, kept = joined.probed(drop=drop)
    order = joined.tree.others
    if reverse and all(joined.tree.parents[alias] == "a" for alias in order):
        order = order[::-1]
    found: list[tuple[int, ...]] = []
    reported = ResultCounts()
    for part in put_together(joined.tree, joined.stores, rows, kept, order, ResultLimits(most, results), reported):
        assert len(part.latest) <= results
        columns = [part.rows[alias] for alias in joined.graph.aliases]
        latest = np.max([joined.times[a][part.rows[a]] for a in joined.graph.aliases], axis=0)
        assert part.latest.tolist() == latest.tolist()
        found += zip(*(column.tolist() for column in columns), strict=True)
    counts = np.bincount([row[0] for row in found], minlength=NEW)
    assert reported.results == counts.max()
    assert not found or counts[reported.row] == reported.results
    return sorted(found)


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("seed", range(3))
def test_results_are_those_of_comparing_everything(graph: str, seed: int) -> None:
    joined = Joined(GRAPHS[graph], seed)
    expected = joined.all()
    assert len(expected) > 20  # else the test would check nothing
    for results, drop, reverse in itertools.product((1, 2, 7, 10_000), (True, False), (True, False)):
        assert put(joined, results=results, drop=drop, reverse=reverse) == expected


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("results", [1, 2, 5, 10_000])
def test_a_row_with_too_many_results_is_named(graph: str, results: int) -> None:
    joined = Joined(GRAPHS[graph], 1)
    counts = np.bincount([row[0] for row in joined.all()], minlength=NEW)
    most = int(counts.max())
    assert len(put(joined, results=results, drop=True, most=most)) == counts.sum()
    with pytest.raises(TooManyResults) as caught:
        put(joined, results=results, drop=True, most=most - 1)
    assert caught.value.row == int(np.flatnonzero(counts == most)[0])


def test_a_row_may_have_more_partners_than_initially_fit() -> None:
    joined = Joined(GRAPHS["star of one key"], 0)
    sizes = {"b": 50, "c": 3, "d": 503}
    for alias, size in sizes.items():
        store = WindowStore(pa.schema([("n", pa.int64())]), joined.graph.keys_of(alias), WINDOW)
        zeros = np.zeros(size, np.int64)
        store.insert(pa.record_batch({"n": zeros}), {(0,): zeros}, zeros)
        joined.stores[alias] = store
    one = np.zeros(2, np.int64)
    rows = ProbeRows({(0,): one}, one, one + WINDOW, np.full((3, 2), -1, np.int64))
    reported = ResultCounts()
    parts = put_together(
        joined.tree, joined.stores, rows, np.arange(2), ("b", "c", "d"), ResultLimits(10**9, 999), reported
    )
    assert sum(len(part.latest) for part in parts) == 2 * 50 * 3 * 503
    assert reported.results == 50 * 3 * 503
