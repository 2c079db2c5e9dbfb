"""Conditions on real columns: comparisons, ranges, moduli, hashes and substrings, with a wanted selectivity.

Thresholds are quantiles of the whole data set, so conditions on related columns are correlated, and they drift as the
data does. A null fails every condition.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.generated.columns import Column, DataSet
from bench.generated.drift import Drift
from bench.generated.made import selectivities
from bench.generated.spec import Codes

Bits = NDArray[np.bool_]
LEAST, MOST = 0.02, 0.98
TRIES = 60
QUANTILE_ROWS = 20_000
"""The approximate number of rows, spread evenly, over which a quantile is taken."""


@dataclass(frozen=True)
class Real:
    """The outcomes of the predicates on a data set, and the path through it."""

    base: Codes
    texts: tuple[str, ...]
    windows: tuple[tuple[int, int], ...]
    """The start and the number of rows of the stretch of each scene."""
    drift: Drift

    def codes(self, numbers: NDArray[np.int64], rows: int, rng: np.random.Generator) -> Codes:
        """Return the outcomes of the predicates for these rows of a stream of `rows` rows."""
        if self.drift.as_it_comes:
            return self.base[(numbers + self.windows[0][0]) % len(self.base)]
        if self.drift.group == "still":
            return self.base[rng.integers(0, len(self.base), len(numbers))]
        at = self.drift.position(numbers, rows)
        scene = np.minimum(np.floor(at + rng.random(len(at))).astype(np.int64), len(self.windows) - 1)
        starts, lengths = np.array(self.windows).T
        found: Codes = self.base[starts[scene] + numbers % lengths[scene]]
        return found

    def conditions(self) -> list[str]:
        """Return a readable description."""
        return list(self.texts)


def draw_real(rng: np.random.Generator, n: int, data: DataSet, drift: Drift) -> Real:
    """Return n conditions on the columns of a data set."""
    wanted = selectivities(rng, n, float(rng.choice([1.0, 0.5, 0.3])))
    base = np.zeros(data.rows, dtype=np.int64)
    texts = []
    for k in range(n):
        bits, text = draw_condition(rng, data, float(wanted[k]))
        base |= bits.astype(np.int64) << k
        texts.append(text)
    length = max(data.rows // (2 * drift.scenes), 1)
    starts = rng.choice(2 * drift.scenes, drift.scenes, replace=False) * length
    return Real(base, tuple(texts), tuple((int(start), length) for start in starts), drift)


def draw_condition(rng: np.random.Generator, data: DataSet, share: float) -> tuple[Bits, str]:
    """Return a condition that about `share` of the rows pass, and its text."""
    for _ in range(TRIES):
        column = data.columns[int(rng.integers(len(data.columns)))]
        bits, text = _condition(rng, column, share)
        bits = bits & column.valid
        passing = float(bits.mean())
        # columns with few values do not have every quantile
        if LEAST <= passing <= MOST and abs(passing - share) < 0.25:
            return bits, text
    rows = np.arange(data.rows)
    return hashed(rows, int(rng.integers(1 << 30))) < share, f"hash(row) < {share:.3f}"


def _condition(rng: np.random.Generator, column: Column, share: float) -> tuple[Bits, str]:
    values, name = column.values, column.name
    if column.texts is not None:
        kind = str(rng.choice(["hash", "substring", "length", "one of"]))
        if kind == "hash" or not column.texts:
            return _hash(rng, column, share)
        return _of_text(rng, column, share, kind)
    kind = str(rng.choice(["below", "above", "between", "modulus", "hash"], p=[0.3, 0.3, 0.2, 0.1, 0.1]))
    if kind == "hash":
        return _hash(rng, column, share)
    seen = _some(values, column)
    if kind == "below":
        limit = np.quantile(seen, share)
        return values <= limit, f"{name} <= {limit:.6g}"
    if kind == "above":
        limit = np.quantile(seen, 1.0 - share)
        return values >= limit, f"{name} >= {limit:.6g}"
    if kind == "between":
        low = float(rng.uniform(0.0, 1.0 - share))
        least, most = np.quantile(seen, [low, low + share])
        return (values >= least) & (values <= most), f"{name} between {least:.6g} and {most:.6g}"
    modulus = int(rng.choice([7, 10, 24, 60, 100, 1000]))
    rest = np.floor(values).astype(np.int64) % modulus
    limit = np.quantile(_some(rest, column), share)
    return rest <= limit, f"{name} % {modulus} <= {limit:.0f}"


def _some(values: NDArray[Any], column: Column) -> NDArray[Any]:
    seen = values[column.valid]
    return seen[:: max(len(seen) // QUANTILE_ROWS, 1)]


def _hash(rng: np.random.Generator, column: Column, share: float) -> tuple[Bits, str]:
    salt = int(rng.integers(1 << 30))
    return hashed(column.values.view(np.int64), salt) < share, f"hash({column.name}, {salt}) < {share:.3f}"


def _of_text(rng: np.random.Generator, column: Column, share: float, kind: str) -> tuple[Bits, str]:
    texts, name = column.texts or (), column.name
    counts = np.bincount(column.values[column.valid].astype(np.int64), minlength=len(texts))
    if kind == "substring":
        # pieces of a frequent text, the one whose share is nearest
        likely = int(rng.choice(len(texts), p=counts / counts.sum()))
        source = texts[likely] or "?"
        pieces = {source[a : a + int(rng.integers(1, 4))] for a in rng.integers(0, len(source), 4).tolist()}
        best: tuple[float, Bits, str] | None = None
        for piece in sorted(pieces):
            holds = np.array([piece in text for text in texts])
            passing = float(counts[holds].sum() / counts.sum())
            for bits, part, text in ((holds, passing, "contains"), (~holds, 1.0 - passing, "does not contain")):
                if best is None or abs(part - share) < best[0]:
                    best = abs(part - share), bits, f"{name} {text} {piece!r}"
        assert best is not None
        return best[1][column.values.astype(np.int64)], best[2]
    if kind == "length":
        lengths = np.array([len(text) for text in texts])[column.values.astype(np.int64)]
        limit = np.quantile(_some(lengths, column), share)
        return lengths <= limit, f"length({name}) <= {limit:.0f}"
    order = rng.permutation(len(texts))
    reached = np.cumsum(counts[order]) / counts.sum()
    chosen = np.zeros(len(texts), dtype=bool)
    chosen[order[: 1 + int(np.abs(reached - share).argmin())]] = True
    return chosen[column.values.astype(np.int64)], f"{name} in a list of {int(chosen.sum())}"


def hashed(values: NDArray[np.int64], salt: int) -> NDArray[np.float64]:
    """Return a number in [0, 1) for each value, the same in every process (splitmix64)."""
    with np.errstate(over="ignore"):
        x = values.astype(np.uint64) + np.uint64(salt) * np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        x ^= x >> np.uint64(31)
    found: NDArray[np.float64] = (x >> np.uint64(11)).astype(np.float64) / float(1 << 53)
    return found
