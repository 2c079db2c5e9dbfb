"""The streams of the experiments: rows in the order in which they arrive, and how many arrive in each second."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

TRACE = Path(__file__).parent / "trace"
SECONDS = 1_200
"""Ten minutes from which the charts' ranges are sampled, and the ten minutes of the experiments."""
LENGTH = 600.0
"""Captures start at random within so many seconds; what is later continues at the beginning."""
Column = NDArray[np.uint16] | NDArray[np.bool_]
HOSTS = 1_871
"""The hosts of the captures; their numbers may be larger, because other protocols have hosts of their own."""
URND_RATE = 500.0


@dataclass(frozen=True, eq=False)
class Stream:
    """Rows that arrive one after the other, and are repeated when all have arrived."""

    columns: Mapping[str, Column]
    counts: NDArray[np.int64]
    """The arrivals in each second."""
    first: NDArray[np.int64] | None = None
    """The row with which each second begins; None if it continues where the second before ended."""

    @property
    def rows(self) -> NDArray[np.int64]:
        """The numbers of the rows that arrive, in order."""
        begin = np.cumsum(self.counts) - self.counts
        first = begin if self.first is None else self.first
        arriving = np.arange(self.counts.sum()) + np.repeat(first - begin, self.counts)
        rows: NDArray[np.int64] = arriving % len(next(iter(self.columns.values())))
        return rows

    @property
    def seconds(self) -> NDArray[np.int64]:
        """The second in which each row arrives."""
        return np.repeat(np.arange(len(self.counts)), self.counts)

    @property
    def variation(self) -> float:
        """The coefficient of variation of the arrivals per second."""
        return float(self.counts.std() / self.counts.mean())

    def with_variation(self, variation: float) -> Stream:
        """Return the stream with another coefficient of variation: all deviations from the mean are multiplied."""
        mean = self.counts.mean()
        counts = mean + (self.counts - mean) * variation / self.variation
        return replace(self, counts=np.maximum(np.round(counts), 0).astype(np.int64))

    def side_by_side(self) -> Stream:
        """Return the stream with the rows of each second from that second of the captures."""
        seconds = np.arange(len(self.counts)) % int(LENGTH)
        return replace(self, first=np.searchsorted(self.columns["second"], seconds))

    def share(self, column: str) -> NDArray[np.float64]:
        """Return the share of the rows of each second for which a column is true; 0 if there are none."""
        found = np.bincount(self.seconds, self.columns[column][self.rows], len(self.counts))
        return np.divide(found, self.counts, out=np.zeros(len(self.counts)), where=self.counts > 0)

    def hosts(self, column: str, most: int) -> NDArray[np.int64]:
        """Return how many rows of each second have each host."""
        cells = self.seconds * most + self.columns[column][self.rows]
        return np.bincount(cells, minlength=len(self.counts) * most).reshape(len(self.counts), most)


@cache
def packets() -> dict[str, Stream]:
    """Return TCP, UDP and SF, as they arrive."""
    arrivals = {name: pq.read_table(TRACE / "arrivals.parquet")[name].to_numpy().astype(np.int64)
                for name in ("bc_paug89", "dec_pkt_1_udp")}  # fmt: skip
    tcp = Stream(_columns("tcp"), arrivals["bc_paug89"])
    is_sf = tcp.columns["is_sf"]
    sf = {name: column[is_sf] for name, column in tcp.columns.items()}
    counts = np.bincount(tcp.seconds, is_sf[tcp.rows], len(tcp.counts))
    return {
        "tcp": tcp,
        "udp": Stream(_columns("udp"), arrivals["dec_pkt_1_udp"]),
        "sf": Stream(sf, counts.astype(np.int64)),
    }


def _columns(name: str) -> dict[str, Column]:
    table = pq.read_table(TRACE / f"{name}.parquet")
    return {column: table[column].to_numpy() for column in table.column_names}


@cache
def urnd(seed: int = 0) -> dict[str, Stream]:
    """Return three streams of uncorrelated random rows with steady rates."""
    rng = np.random.default_rng(seed)
    made = {}
    for name in ("tcp", "udp", "sf"):
        counts = rng.poisson(URND_RATE, SECONDS)
        columns = {side: rng.integers(0, HOSTS, counts.sum()).astype(np.uint16) for side in ("src", "dst")}
        made[name] = Stream(columns, counts)
    return made
