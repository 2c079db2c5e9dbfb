"""The files of the stream: every micro-batch is written in advance and released to one side after the other.

A batch is a folder of a few files. It is linked under another name and then renamed into the input folder of the side,
so that a query sees all of it or nothing.
"""

from __future__ import annotations

import dataclasses
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

from thalweg.cli.demo.log_lines import make_lines

FILES = 4
"""The number of files per micro-batch: two for each of two cores, so that a slow task is evened out."""
SEED = 2004


@dataclass(frozen=True, slots=True)
class StreamShape:
    """The size of the stream and its number of micro-batches. The drift is half-way."""

    rows_a_file: int
    batches: int
    warm_up_batches: int
    files_a_batch: int = FILES

    @classmethod
    def of(cls, rows: int, batches: int, warm_up_batches: int) -> StreamShape:
        """Return a shape with at least this many rows, in equal files.

        >>> StreamShape.of(1000, batches=10, warm_up_batches=1).rows
        1000
        """
        return cls(-(-rows // (batches * FILES)), batches, warm_up_batches)

    @property
    def rows(self) -> int:
        """The number of rows in all micro-batches."""
        return self.rows_a_file * self.files_a_batch * self.batches

    @property
    def drift_at(self) -> int:
        """The number, from 0, of the first micro-batch of the incident."""
        return self.batches // 2

    def fitted(self, seconds: float, most_seconds: float) -> StreamShape:
        """Return smaller micro-batches, if all of them would take `seconds` and should take at most `most_seconds`.

        >>> StreamShape.of(4000, batches=10, warm_up_batches=1).fitted(seconds=100.0, most_seconds=60.0).rows
        2000
        """
        files = max(1, min(self.files_a_batch, round(self.files_a_batch * most_seconds / seconds)))
        return dataclasses.replace(self, files_a_batch=files)


class StreamFiles:
    """The micro-batches on disk, by number."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def write(self, shape: StreamShape, check: Callable[[], None]) -> None:
        """Write all micro-batches. `check` is called now and then and may raise."""
        size = shape.rows_a_file
        for phase, batches in enumerate((range(shape.drift_at), range(shape.drift_at, shape.batches))):
            for batch in batches:
                check()
                lines = make_lines(shape.files_a_batch * size, SEED + batch, phase)
                self._made(batch).mkdir(parents=True)
                for part in range(shape.files_a_batch):
                    pq.write_table(lines.slice(part * size, size), self._made(batch) / f"{batch:04}-{part}.parquet")

    def side(self, name: str) -> Path:
        """Return the input folder of one side."""
        folder = self._folder / name
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def release(self, batch: int, side: str, files: int) -> None:
        """Release a batch, or its first files, to one side."""
        hidden = self._folder / f"{side}-next" / f"{batch:04}"
        hidden.mkdir(parents=True)
        for made in sorted(self._made(batch).iterdir())[:files]:
            try:
                os.link(made, hidden / made.name)
            except OSError:  # a file system without links
                shutil.copyfile(made, hidden / made.name)
        hidden.rename(self.side(side) / hidden.name)

    def _made(self, batch: int) -> Path:
        return self._folder / "made" / f"{batch:04}"
