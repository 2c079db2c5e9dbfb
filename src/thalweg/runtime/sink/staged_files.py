"""The files that one bucket writes in one micro-batch, under hidden names in the folder of the results.

They are at `<folder>/.thalweg/<batch>/`, and their names do not end in `.parquet`: no reader that lists files takes
them for results. The name contains a random part, so that attempts of the same task do not disturb each other. Rows are
collected into row groups of a useful size before they are written.
"""

from __future__ import annotations

import errno
import json
import os
import re
import uuid
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from thalweg.errors import QueryError
from thalweg.runtime.sink.dictionary_columns import dictionary_columns
from thalweg.runtime.sink.hidden_folder import HIDDEN, make_folders
from thalweg.runtime.sink.parquet_form import CODECS, ParquetForm
from thalweg.runtime.sink.partition_folders import partitions

GROUP_BYTES = 64_000_000
"""The size of a row group, uncompressed. A task holds about that much."""
MOST_OPEN = 500
"""The most files that a task holds open, each of about 50 kB. If rows of more folders alternate, a folder has several
files."""
SHARE_OF_HANDLES = 4
"""A task uses the fourth part of the file handles that its process may have."""
MOST_NAME_BYTES = 255
"""The longest name of a folder on most disks."""
MOST_PLACE_BYTES = 3_000
"""The longest name of nested folders. With the path of the results, a whole path may have 4,096 bytes."""
LEVELS = {"zstd": 3, "gzip": 6}
"""The compression level that Spark uses, if pyarrow uses another by default. Level 9 of gzip, the default of pyarrow,
takes up to ten times as long."""


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


def is_result(name: str, query: str, batch: int) -> bool:
    """Whether a file with this final name has results of this query and micro-batch.

    >>> is_result("part-00007-00001-0b5c1d2e-c000.snappy.parquet", "0b5c1d2e-3f", 7)
    True
    """
    return re.fullmatch(rf"part-{batch:05}-\d+-{re.escape(query[:8])}-.*\.parquet", name) is not None


def is_query_id(text: str) -> bool:
    """Whether a text from a file is an id of a query."""
    return re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", text) is not None


class StagedFiles:
    """The files of one bucket in one micro-batch, while they are written."""

    def __init__(self, form: ParquetForm, query: str, batch: int, bucket: int) -> None:
        self._form, self._stored = form, form.stored
        self._batch, self._bucket, self._query = batch, bucket, query
        self._attempt = uuid.uuid4().hex
        self._most_open = most_open()
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

    def close(self, *, also_empty: bool = False) -> list[StagedFile]:
        """Complete all files and return them. Without results there are none, or, with `also_empty`, one from which
        readers learn the columns, unless these are partly in the names of folders."""
        self._flush(is_last=True)
        with self._failures():
            if also_empty and not self._names and not self._form.partition_by:
                self._open[""] = self._begin("", self._form.schema.empty_table())
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

    def _flush(self, *, is_last: bool = False) -> None:
        if not self._held:
            return
        table = pa.Table.from_batches(self._held)
        self._held, self._held_bytes = [], 0
        by = self._form.partition_by
        with self._failures():
            for place, rows in partitions(table, by) if by else [("", table)]:
                self._append(place, rows)
                if is_last and place in self._open:  # so that few files are open, however many folders there are
                    self._finish(place)

    def _append(self, place: str, rows: pa.Table) -> None:
        limit = self._form.max_rows
        while rows.num_rows:
            file = self._open.pop(place, None) or self._begin(place, rows)
            self._open[place] = file  # the one that was used last is the last
            part = rows.slice(0, limit - file.rows) if limit else rows
            file.writer.write_table(part, row_group_size=part.num_rows)
            file.rows += part.num_rows
            rows = rows.slice(part.num_rows)
            if limit and file.rows >= limit:
                self._finish(place)

    def _begin(self, place: str, first: pa.Table) -> _OpenFile:
        """Open a file for these first rows."""
        form = self._form
        while len(self._open) >= self._most_open:
            self._finish(next(iter(self._open)))
        parts = [part.encode() for part in place.split("/")]
        if any(len(part) > MOST_NAME_BYTES for part in parts) or sum(map(len, parts)) > MOST_PLACE_BYTES:
            raise OSError(errno.ENAMETOOLONG, "")  # not at the commit, which could never be completed
        if "\0" in place:
            raise QueryError(
                "a value of partitionBy contains a NUL character, which no folder can have in its name; remove it from "
                "the values, or partition by another column"
            )
        codec, ending = CODECS[form.compression]
        number = self._counts[place] = self._counts.get(place, -1) + 1
        staged = f"{self._folder()}/{self._bucket}-{self._attempt}-{len(self._names)}.staged"
        # the same names if the micro-batch is run again, so that files of two attempts could never both be results; and
        # different ones in folders whose names differ only in case, which are one folder on some disks
        within = f"-{zlib.crc32(place.encode()):08x}" if place else ""
        name = f"part-{self._batch:05}-{self._bucket:05}-{self._query[:8]}{within}-c{number:03}{ending}.parquet"
        self._names.append(staged)
        writer = pq.ParquetWriter(
            os.path.join(form.folder, staged), self._stored, compression=codec or "none",
            compression_level=LEVELS.get(form.compression), store_schema=False, store_decimal_as_integer=True,
            use_compliant_nested_type=True, use_deprecated_int96_timestamps=form.int96,
            use_dictionary=dictionary_columns(first),
        )  # fmt: skip
        writer.add_key_value_metadata(dict(form.metadata))
        return _OpenFile(writer, staged, f"{place}/{name}" if place else name)

    def _folder(self) -> str:
        """Return the hidden folder of the micro-batch, which the first file creates."""
        within = f"{HIDDEN}/{self._batch}"
        if not self._names:
            folder = self._form.folder
            refuse_missing(folder)
            make_folders(folder, HIDDEN, within)
        return within

    def _finish(self, place: str) -> None:
        file = self._open.pop(place)
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


def most_open() -> int:
    """Return how many files a task may hold open."""
    import resource  # not on Windows, where tasks do not write

    handles, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST_OPEN if handles < 0 else max(1, min(MOST_OPEN, handles // SHARE_OF_HANDLES))


class _OpenFile:
    def __init__(self, writer: pq.ParquetWriter, staged: str, final: str) -> None:
        self.writer, self.staged, self.final, self.rows = writer, staged, final, 0


def refuse_missing(folder: str) -> None:
    """Raise a QueryError if the folder of the results is gone. It is not created again: a disk may not be mounted."""
    if not os.path.isdir(folder):
        raise QueryError(
            f"the folder {folder} of the results does not exist any more; mount or restore it, and start the query "
            "again: it continues with this micro-batch"
        )


def cannot_write(folder: str, error: OSError) -> QueryError:
    """Return the error for results that cannot be written. It names no file, whose name may contain values."""
    why = os.strerror(error.errno) if error.errno is not None else type(error).__name__
    return QueryError(
        f"results cannot be written to {folder}: {why}; {remedy_of(error)}, and start the query again: it continues "
        "with this micro-batch, and no result is lost or written twice"
    )


def remedy_of(error: OSError) -> str:
    """Return what a user can do about an error of the disk; by default, free space or restore the folder."""
    return REMEDIES.get(error.errno or 0, "free space or restore the folder")


REMEDIES = {
    errno.ENOSPC: "free space",
    errno.EDQUOT: "free space",
    errno.ENOENT: "restore the folder",
    errno.EACCES: "let this user write to it",
    errno.EPERM: "let this user write to it",
    errno.EROFS: "mount it for writing",
    errno.EMFILE: "raise the limit of open files (ulimit -n)",
    errno.EFBIG: "raise the limit of file sizes (ulimit -f)",
    errno.ENAMETOOLONG: "partition by a column whose values are shorter",
}
