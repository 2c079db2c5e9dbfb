"""The state of the race that views show: what each side has done, and the current chain."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass, field
from typing import Any

from thalweg.cli.demo.chain_state import ChainState
from thalweg.cli.demo.stream_files import StreamShape


@dataclass(frozen=True, slots=True)
class BatchTiming:
    """One micro-batch of one side."""

    rows: int
    seconds: float

    @property
    def rate(self) -> float:
        """The number of rows per second."""
        return self.rows / self.seconds


@dataclass(slots=True)
class Lane:
    """The progress of one side."""

    title: str
    turns: list[BatchTiming] = field(default_factory=list)
    busy: bool = False

    @property
    def rows(self) -> int:
        """The number of rows read so far."""
        return sum(turn.rows for turn in self.turns)

    @property
    def seconds(self) -> float:
        """The total time of its micro-batches, from trigger to commit."""
        return sum(turn.seconds for turn in self.turns)

    @property
    def rate(self) -> float:
        """The number of rows per second so far."""
        return self.rows / self.seconds if self.turns else 0.0


@dataclass(frozen=True, slots=True)
class Kept:
    """The rows one side kept, as a count and a checksum that does not depend on their order."""

    rows: int
    checksum: str

    @classmethod
    def of(cls, table: Any) -> Kept:
        """Compute them for an Arrow table."""
        digest = hashlib.sha256()
        for row in sorted(map(repr, table.to_pylist())):
            digest.update(row.encode())
        return cls(table.num_rows, digest.hexdigest()[:12])


@dataclass(slots=True)
class Race:
    """The state of the race. Only one thread changes it; views read it."""

    shape: StreamShape
    policy: str
    chain: ChainState
    stage: str = "starting"
    """What is being prepared before the race; empty during the race."""
    began: float = field(default_factory=time.monotonic)
    plain: Lane = field(default_factory=lambda: Lane("plain Spark"))
    thalweg: Lane = field(default_factory=lambda: Lane("Thalweg"))
    plain_kept: Kept | None = None
    thalweg_kept: Kept | None = None

    def stopping(self) -> None:
        """Show that the demo is stopping after Ctrl-C."""
        self.stage = "stopping"

    @property
    def over(self) -> bool:
        """Whether both sides have read everything."""
        return min(len(self.plain.turns), len(self.thalweg.turns)) == self.shape.batches

    @property
    def drifted(self) -> bool:
        """Whether the incident has begun on either side."""
        return max(len(self.plain.turns), len(self.thalweg.turns)) > self.shape.drift_at

    @property
    def speed_up(self) -> float | None:
        """The speed-up over the micro-batches that both sides have done; None if there are none."""
        both = min(len(self.plain.turns), len(self.thalweg.turns))
        theirs = sum(turn.seconds for turn in self.plain.turns[:both])
        ours = sum(turn.seconds for turn in self.thalweg.turns[:both])
        return theirs / ours if ours else None
