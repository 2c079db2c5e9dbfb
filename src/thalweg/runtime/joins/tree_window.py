"""The window of one stream in a tree of binary joins: the rows at a leaf, and the chunks in which they are saved."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from thalweg.kernels.window_chunks import Changes, WindowChunks, WindowRows
from thalweg.kernels.window_store import WindowStore


class TreeWindow:
    """The window of one stream or table."""

    def __init__(
        self, store: WindowStore, chunks: WindowChunks | None, take_over: Callable[[WindowRows], None],
        restore: Callable[[WindowRows], None],
    ) -> None:  # fmt: skip
        """Create a window. `take_over` puts the rows of another window into the tree, and `restore` those of chunks."""
        self.store = store
        self._chunks = chunks
        self._take_over = take_over
        self._restore = restore

    def __len__(self) -> int:
        return len(self.store)

    @property
    def nbytes(self) -> int:
        """The memory of the window, in bytes."""
        return self.store.nbytes

    @property
    def next_chunk(self) -> int:
        """The number of the next chunk."""
        return self._remembered.next_chunk

    def add(self, rows: WindowRows) -> None:
        """Add rows that have been inserted into the tree to the chunks."""
        if self._chunks is not None:
            self._chunks.add(rows.batch, rows.keys, rows.times, rows.ends)

    @property
    def chunks(self) -> WindowChunks | None:
        """The chunks in which the rows are saved; None without snapshots."""
        return self._chunks

    def take_over(self, rows: WindowRows, chunks: WindowChunks | None) -> None:
        """Insert rows that another window had, which are in these chunks already."""
        if rows.batch.num_rows:
            self._take_over(rows)
        self._chunks = chunks

    def expire(self, before: int) -> None:
        """Remove expired rows from the chunks."""
        if self._chunks is not None:
            self._chunks.expire(before)

    def changes(self) -> Changes:
        """Return the chunks that a snapshot must add and remove since the last call."""
        return self._remembered.changes()

    def restore(self, chunks: Mapping[int, bytes] | Iterable[tuple[int, bytes]], end: int = 0) -> None:
        """Restore chunks as `WindowStore` does, and rebuild inner results."""
        for rows in self._remembered.restored(chunks, end):
            self._restore(rows)

    @property
    def _remembered(self) -> WindowChunks:
        assert self._chunks is not None, "made without snapshots=True"
        return self._chunks
