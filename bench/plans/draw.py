"""Joins drawn from a seed: which streams, how they are connected, how fast they are, how many partners a row finds.

A drawn join has no size: rates are shares of all rows, windows are shares of the run, and a number of partners belongs
to each class of equal columns. `bench/plans/streams.py` makes rows of it, as many as the run needs. The partners of a
row are those in the window of the other stream when the row arrives, as for `tw.join(statistics=...)`.

The joins of a seed are balanced: 3, 4 and 5 streams take turns, and so do the shapes of the graph.

>>> drawn = draw(0, 0, 0)
>>> drawn == draw(0, 0, 0), len(drawn.aliases)
(True, 3)
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from bench.plans.swing import Swing

JOINS = 40
"""The number of joins of a seed."""
STREAMS = (3, 4, 5)
GRAPHS = ("chain", "star", "tree", "cycle")
RATES = 1000.0
"""The largest ratio of the rates of two streams."""
LEAST_PARTNERS, MOST_PARTNERS = 0.01, 100.0
LEAST_WINDOWS, MOST_WINDOWS = 5.0, 20.0
"""How many times as long as its windows a run is."""
SHARED = 0.35
"""The probability that a stream joins the class of its neighbor, instead of having a column with it alone."""
OTHER_WINDOWS = 0.5
"""The probability that the streams of a join have windows of different lengths."""
RUN_SECONDS = (60.0, 3600.0)
BATCH_ROWS = (2_000.0, 50_000.0)
PAYLOAD = ("int64", "float64", "text")
MOST_PAYLOAD = 3
"""The most columns of a stream besides its id, its time and its keys."""
MOST_TEXT = 24


@dataclass(frozen=True)
class KeyClass:
    """Columns that must be equal: one of each of these streams, named `column`."""

    column: str
    members: tuple[str, ...]
    edge: tuple[str, str]
    """The edge for which partners were drawn: a row of the first stream finds `partners` in the second."""
    partners: float

    @property
    def equalities(self) -> tuple[tuple[str, str], ...]:
        """The pairs of streams between which an equality is written: the first stream and each of the others."""
        return tuple((self.members[0], other) for other in self.members[1:])


@dataclass(frozen=True)
class DrawnJoin:
    """A join without a size."""

    seed: int
    number: int
    attempt: int
    """How many joins were drawn before under this number, and refused for their size."""
    graph: str
    aliases: tuple[str, ...]
    classes: tuple[KeyClass, ...]
    shares: dict[str, float]
    """The share of each stream in all rows."""
    windows: dict[str, float]
    """The window of each stream as a share of the run."""
    payload: dict[str, tuple[tuple[str, int], ...]]
    """The kinds and bytes of further columns."""
    run_seconds: float
    """The time of the streams that the run covers."""
    batch_rows: float
    """The rows of all streams in one slice of time."""
    least_slices: int = 40
    """The least number of slices, so that a window has several."""
    swing: Swing | None = None
    """How the rates swing around the shares; None if they are constant."""

    @property
    def name(self) -> str:
        """The seed and the number."""
        return f"{self.seed}/{self.number}"

    @property
    def on(self) -> str:
        """The conditions, as `tw.join` takes them."""
        return " AND ".join(equality(a, b, each.column) for each in self.classes for a, b in each.equalities)

    def columns(self, alias: str) -> Iterator[KeyClass]:
        """Return the classes in which a stream has a column."""
        return (each for each in self.classes if alias in each.members)


def equality(one: str, other: str, column: str) -> str:
    """Return an equality as it is written, which is how statistics name it.

    >>> equality("a", "b", "k0")
    'a.k0 = b.k0'
    """
    return f"{one}.{column} = {other}.{column}"


def draw(seed: int, number: int, attempt: int) -> DrawnJoin:
    """Return one join; the same numbers always give the same join."""
    rng = np.random.default_rng([seed, number, attempt])
    aliases = tuple("abcde"[: STREAMS[number % len(STREAMS)]])
    graph = GRAPHS[number // len(STREAMS) % len(GRAPHS)]
    groups = _classes(rng, graph, [aliases[k] for k in rng.permutation(len(aliases))])
    rates = {alias: float(RATES ** rng.uniform()) for alias in aliases}
    total = sum(rates.values())
    length = log_uniform(rng, 1 / MOST_WINDOWS, 1 / LEAST_WINDOWS)
    same = rng.uniform() >= OTHER_WINDOWS
    windows = {a: length if same else log_uniform(rng, 1 / MOST_WINDOWS, 1 / LEAST_WINDOWS) for a in aliases}
    classes = []
    for n, group in enumerate(groups):
        members = tuple(alias for alias in aliases if alias in group)
        one, other = (members[int(k)] for k in rng.choice(len(members), 2, replace=False))
        partners = log_uniform(rng, LEAST_PARTNERS, MOST_PARTNERS)
        classes.append(KeyClass(f"k{n}", members, (one, other), partners))
    return DrawnJoin(
        seed, number, attempt, graph, aliases, tuple(classes),
        {alias: rate / total for alias, rate in rates.items()}, windows,
        {alias: _payload(rng) for alias in aliases},
        round(log_uniform(rng, *RUN_SECONDS)), log_uniform(rng, *BATCH_ROWS),
    )  # fmt: skip


def _classes(rng: np.random.Generator, graph: str, order: list[str]) -> list[set[str]]:
    """Return the streams of each class; classes of two, and of more where a stream joins its neighbor's class."""
    if graph == "cycle":
        return [{one, other} for one, other in pairwise([*order, order[0]])]
    groups: list[set[str]] = []
    for n, alias in enumerate(order[1:], 1):
        near = order[{"chain": n - 1, "star": 0, "tree": int(rng.integers(n))}[graph]]
        of_near = [group for group in groups if near in group]
        if of_near and rng.uniform() < SHARED:
            of_near[int(rng.integers(len(of_near)))].add(alias)
        else:
            groups.append({near, alias})
    return groups


def _payload(rng: np.random.Generator) -> tuple[tuple[str, int], ...]:
    kinds = [PAYLOAD[int(k)] for k in rng.integers(len(PAYLOAD), size=int(rng.integers(MOST_PAYLOAD + 1)))]
    return tuple((kind, int(rng.integers(4, MOST_TEXT + 1)) if kind == "text" else 8) for kind in kinds)


def log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    """Return a number whose logarithm is uniform between those of two others."""
    return math.exp(rng.uniform(math.log(low), math.log(high)))
