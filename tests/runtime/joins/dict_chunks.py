"""A store of chunks that works like a state store of Spark: a round uses a copy, which is kept if the round is."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class DictChunks:
    """A store in dicts. It refuses calls that a `ChunkStore` must never get."""

    data: bytes | None = None
    chunks: dict[tuple[str, int], bytes] = field(default_factory=dict)
    used: set[tuple[str, int]] = field(default_factory=set)
    reads: int = 0

    def copy(self) -> DictChunks:
        return DictChunks(self.data, dict(self.chunks), set(self.used))

    def head(self) -> bytes | None:
        return self.data

    def set_head(self, data: bytes) -> None:
        self.data = data

    def chunk(self, stream: str, number: int) -> bytes | None:
        self.reads += 1
        return self.chunks.get((stream, number))

    def add(self, stream: str, number: int, data: bytes) -> None:
        assert (stream, number) not in self.used, f"chunk {number} of {stream} is written a second time"
        self.used.add((stream, number))
        self.chunks[stream, number] = data

    def remove(self, stream: str, number: int) -> None:
        del self.chunks[stream, number]  # one that was added, and is removed once
