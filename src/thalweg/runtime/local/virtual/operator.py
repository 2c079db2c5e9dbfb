"""What a simulated pipeline is made of: operators with named ports and a queue, which run the real kernels.

An operator is made when it is written down and set up when the columns of its inputs are known. Then it `serve`s what
its queue holds, one entry at a time: it moves its clock by what that costs and yields results at the instants at which
they appear. Besides rows there are marks: no row with a time before the mark will come through that port any more
(`END`: none at all). They travel behind the rows they follow and cost nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from thalweg.errors import PlanError, nearest
from thalweg.runtime.local.virtual.clock import Clock
from thalweg.runtime.local.virtual.costs import Price


@dataclass(frozen=True, slots=True)
class Coming:
    """To be put into an operator's queue: rows, or a mark."""

    operator: Operator
    port: str
    rows: Any = None
    mark: int | None = None


class Operator(ABC):
    """One server's work."""

    name: str
    reads: Mapping[str, str]
    """By port: the source or operator whose rows come in there."""
    clock: Clock

    @abstractmethod
    def set_up(self, schemas: Mapping[str, pa.Schema], clock: Clock, rng: np.random.Generator) -> pa.Schema:
        """Begin anew, with these columns by port; the columns of what comes out."""

    @abstractmethod
    def serve(self, port: str, rows: Any) -> Iterator[Any]:
        """Results, each at the clock's time. The clock then says when the operator is free again."""

    @abstractmethod
    def mark(self, port: str, mark: int) -> int | None:
        """Take a mark; the one to pass on, if any."""

    def entering(self, port: str, rows: Any, mark: int | None) -> Iterable[Coming]:
        """What becomes of an arrival before it is queued. Costs nothing."""
        return [Coming(self, port, rows, mark)]

    def windows(self) -> tuple[int, int]:
        """Rows and bytes it remembers."""
        return 0, 0

    def late(self) -> int:
        """Rows that came too late so far, and were left out."""
        return 0

    def orders(self) -> Mapping[str, tuple[str, ...]]:
        """In which order it tries things now, where it has a choice."""
        return {}


def read_by(aliases: tuple[str, ...], reads: Mapping[str, str] | None) -> Mapping[str, str]:
    """By stream of a join: what it reads, those of the same name where nothing is said."""
    if reads is not None and not isinstance(reads, Mapping):
        raise PlanError(f"reads={reads!r}: must be a mapping such as {{{aliases[0]!r}: 'name of a source'}}")
    for alias in reads or ():
        if alias not in aliases:
            raise PlanError(f"reads: {alias!r} is none of {', '.join(aliases)}{nearest(str(alias), aliases)}")
    return {alias: (reads or {}).get(alias, alias) for alias in aliases}


def size(rows: Any) -> int:
    """Of a batch, or of what a tree of joins hands on."""
    return int(rows.num_rows)


def one_by_one(rows: Any, price: Price, clock: Clock) -> Iterator[Any]:
    """Results as they appear: each when it is paid; all at once where they cost nothing."""
    if not price(clock()):
        if size(rows):
            yield rows
        return
    for row in range(size(rows)):
        clock.advance(price(clock()))
        yield rows.slice(row, 1)
