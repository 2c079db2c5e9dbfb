"""What a loop of a join may use: the memory of one loop, and the number of loops that share the rows of a join."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """The limits of a join where it runs. `runtime/limits.py` makes them."""

    memory: int
    """The bytes that the windows and kept sub-joins of one loop may need: those of one bucket on Spark, those of the
    whole join in this process."""
    buckets: int = 1
    """Over how many buckets rows are spread, each of which is joined by one loop."""

    @property
    def all_memory(self) -> int:
        """The bytes of all buckets together."""
        return self.memory * self.buckets
