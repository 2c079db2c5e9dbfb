"""The files that one bucket writes in one micro-batch, under hidden names in the folder of the results.

They are at `<folder>/.thalweg/<batch>/`, and their names do not end in `.parquet`: no reader that lists files takes
them for results. The name contains a random part, so that attempts of the same task do not disturb each other. Rows are
collected into row groups of a useful size before they are written.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from thalweg.errors import QueryError
from thalweg.runtime.sink.dictionary_columns import dictionary_columns
from thalweg.runtime.sink.hidden_folder import HIDDEN
from thalweg.runtime.sink.parquet_form import CODECS, ParquetForm
from thalweg.runtime.sink.partition_folders import partitions

GROUP_BYTES = 64_000_000
"""The size of a row group, uncompressed. A task holds about that much."""
LEVELS = {"zstd": 3}
"""The compression level that Spark uses, if pyarrow uses another by default."""


@dataclass(frozen=True, slots=True)
class StagedFile:
    """A complete file that is not visible yet. Both names are relative to the folder of the results."""

    staged: str
    final: str
    rows: int
    size: int
    """In bytes."""

    def to_json(self) -> str:
        """Return it as text, for the row that a task returns."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> StagedFile:
        """Return the file that a text describes."""
        return cls(**json.loads(text))


class StagedFiles:
    """The files of one bucket in one micro-batch, while they are written."""

    def __init__(self, form: ParquetForm, query: str, batch: int, bucket: int) -> None:
        self._form, self._stored = form, form.stored
        self._batch, self._bucket, self._query = batch, bucket, query
        self._attempt = uuid.uuid4().hex
        self._held: list[pa.RecordBatch] = []
        self._held_bytes = 0
        self._open: dict[str, _OpenFile] = {}
        self._counts: dict[str, int] = {}
        """The number of files by partition folder."""
        self._names: list[str] = []
        self._closed: list[StagedFile] = []

    def write(self, rows: pa.RecordBatch) -> None:
        """Add results, which have the columns of the form."""
        if rows.num_rows:
            self._held.append(rows)
            self._held_bytes += rows.nbytes
            if self._held_bytes >= GROUP_BYTES:
                self._flush()

    def close(self) -> list[StagedFile]:
        """Complete all files and return them; without results there are none."""
        self._flush()
        for place in list(self._open):
            self._finish(place)
        return self._closed

    def discard(self) -> None:
        """Remove all files, because the task failed. What remains is removed by the next commit."""
        for file in self._open.values():
            with suppress(Exception):
                file.writer.close()
        for name in self._names:
            with suppress(OSError):
                os.unlink(os.path.join(self._form.folder, name))

    def _flush(self) -> None:
        if not self._held:
            return
        table = pa.Table.from_batches(self._held)
        self._held, self._held_bytes = [], 0
        by = self._form.partition_by
        for place, rows in partitions(table, by) if by else [("", table)]:
            self._append(place, rows)

    def _append(self, place: str, rows: pa.Table) -> None:
        limit = self._form.max_rows
        with self._failures():
            while rows.num_rows:
                file = self._open.get(place) or self._begin(place, rows)
                part = rows.slice(0, limit - file.rows) if limit else rows
                file.writer.write_table(part, row_group_size=part.num_rows)
                file.rows += part.num_rows
                rows = rows.slice(part.num_rows)
                if limit and file.rows >= limit:
                    self._finish(place)

    def _begin(self, place: str, first: pa.Table) -> _OpenFile:
        """Open a file for these first rows."""
        form = self._form
        if not os.path.isdir(form.folder):
            raise QueryError(
                f"the folder {form.folder} of the results does not exist any more; mount or restore it, and start the "
                "query again: it continues with this micro-batch"
            )
        within = f"{HIDDEN}/{self._batch}"
        for folder in (HIDDEN, within):
            with suppress(FileExistsError):
                os.mkdir(os.path.join(form.folder, folder))
        codec, ending = CODECS[form.compression]
        number = self._counts[place] = self._counts.get(place, -1) + 1
        staged = f"{within}/{self._bucket}-{self._attempt}-{len(self._names)}.staged"
        # the same names if the micro-batch is run again, so that files of two attempts could never both be results
        name = f"part-{self._batch:05}-{self._bucket:05}-{self._query[:8]}-c{number:03}{ending}.parquet"
        self._names.append(staged)
        writer = pq.ParquetWriter(
            os.path.join(form.folder, staged), self._stored, compression=codec or "none",
            compression_level=LEVELS.get(form.compression), store_schema=False, store_decimal_as_integer=True,
            use_compliant_nested_type=True, use_deprecated_int96_timestamps=form.int96,
            use_dictionary=dictionary_columns(first),
        )  # fmt: skip
        writer.add_key_value_metadata(dict(form.metadata))
        made = self._open[place] = _OpenFile(writer, staged, f"{place}/{name}" if place else name)
        return made

    def _finish(self, place: str) -> None:
        file = self._open.pop(place)
        with self._failures():
            file.writer.close()
            size = os.path.getsize(os.path.join(self._form.folder, file.staged))
        self._closed.append(StagedFile(file.staged, file.final, file.rows, size))

    @contextmanager
    def _failures(self) -> Iterator[None]:
        """Raise errors of the disk as a QueryError. They name no file, because its name may contain values."""
        try:
            yield
        except OSError as error:
            raise cannot_write(self._form.folder, error) from None


class _OpenFile:
    def __init__(self, writer: pq.ParquetWriter, staged: str, final: str) -> None:
        self.writer, self.staged, self.final, self.rows = writer, staged, final, 0


def cannot_write(folder: str, error: OSError) -> QueryError:
    """Return the error for results that cannot be written."""
    why = os.strerror(error.errno) if error.errno is not None else type(error).__name__
    return QueryError(
        f"results cannot be written to {folder}: {why}; free space or restore the folder, and start the query again: "
        "it continues with this micro-batch, and no result is lost or written twice"
    )
