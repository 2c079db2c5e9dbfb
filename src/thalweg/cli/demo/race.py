"""The race as a view sees it: two lanes, what each has done, and the chain in between."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass, field
from typing import Any

from thalweg.cli.demo.chain_state import ChainState
from thalweg.cli.demo.stream_files import StreamShape


@dataclass(frozen=True, slots=True)
class Turn:
    """One micro-batch on one side."""

    rows: int
    seconds: float

    @property
    def rate(self) -> float:
        """Rows a second."""
        return self.rows / self.seconds


@dataclass(slots=True)
class Lane:
    """One side, as far as it has come."""

    title: str
    turns: list[Turn] = field(default_factory=list)
    busy: bool = False

    @property
    def rows(self) -> int:
        """Read so far."""
        return sum(turn.rows for turn in self.turns)

    @property
    def seconds(self) -> float:
        """Of its own turns, from trigger to commit."""
        return sum(turn.seconds for turn in self.turns)

    @property
    def rate(self) -> float:
        """Rows a second so far."""
        return self.rows / self.seconds if self.turns else 0.0


@dataclass(frozen=True, slots=True)
class Kept:
    """The rows one side kept, as a count and a checksum that does not depend on their order."""

    rows: int
    checksum: str

    @classmethod
    def of(cls, table: Any) -> Kept:
        """Of an Arrow table."""
        digest = hashlib.sha256()
        for row in sorted(map(repr, table.to_pylist())):
            digest.update(row.encode())
        return cls(table.num_rows, digest.hexdigest()[:12])


@dataclass(slots=True)
class Race:
    """Changed by one thread only; views read it."""

    shape: StreamShape
    policy: str
    chain: ChainState
    stage: str = ""
    """What is done before the race, or nothing."""
    began: float = field(default_factory=time.monotonic)
    plain: Lane = field(default_factory=lambda: Lane("plain Spark"))
    thalweg: Lane = field(default_factory=lambda: Lane("Thalweg"))
    plain_kept: Kept | None = None
    thalweg_kept: Kept | None = None

    def stopping(self) -> None:
        """Somebody has pressed Ctrl-C."""
        self.stage = "stopping"

    @property
    def over(self) -> bool:
        """Both sides have read everything."""
        return min(len(self.plain.turns), len(self.thalweg.turns)) == self.shape.batches

    @property
    def drifted(self) -> bool:
        """Whether the incident has begun on either side."""
        return max(len(self.plain.turns), len(self.thalweg.turns)) > self.shape.drift_at

    @property
    def speed_up(self) -> float | None:
        """Over the batches both have done."""
        both = min(len(self.plain.turns), len(self.thalweg.turns))
        theirs = sum(turn.seconds for turn in self.plain.turns[:both])
        ours = sum(turn.seconds for turn in self.thalweg.turns[:both])
        return theirs / ours if ours else None
