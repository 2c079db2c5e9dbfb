"""Writes files of results in this process.

A run writes a hidden file, `.results.unfinished`, in its folder and renames it when it is complete, so an incomplete
file never has the name of a result. The run holds a lock on that file as long as its process lives. A folder to which
another run writes is refused, even if that run is in another process. If a process was killed, the next run takes over
the file that it left. Without locks (Windows, some network file systems), such a file must be removed by hand, as the
error message says.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa

from thalweg.errors import PlanError, QueryError
from thalweg.kernels.columns import nullable_type
from thalweg.runtime.sink.parquet_form import fitting
from thalweg.runtime.sink.staged_files import REMEDIES, remedy_of
from thalweg.session.handle import Stopped

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

UNFINISHED = ".results.unfinished"

_held: set[int] = set()
"""The open files whose locks this process holds."""


def _leave_locks_to_the_parent() -> None:
    """Close the files in a forked child, which would otherwise keep the locks of a parent that died."""
    while _held:
        os.close(_held.pop())


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_locks_to_the_parent)


class LocalSink:
    """A folder that is claimed for one run until it is released."""

    def __init__(self, path: str | None, folder: Path | None, kind: str, schema: pa.Schema) -> None:
        self._path, self._folder, self._kind, self._schema = path, folder, kind, schema
        self._lock: int | None = None
        self._is_claimed = False

    @classmethod
    def of(cls, path: str | None, kind: str, options: Mapping[str, str], schema: pa.Schema) -> LocalSink:
        """Return a sink that nothing is claimed for yet. Raise a PlanError for results that cannot be written."""
        if options:
            raise PlanError(f"options={dict(options)!r}: a session without Spark takes no options; remove them")
        if kind not in ("parquet", "csv", "noop"):
            raise PlanError(f"format={kind!r}: a session without Spark writes only 'parquet', 'csv' or 'noop'")
        if kind == "noop":
            return cls(path, None, kind, schema)
        if path is None:
            raise PlanError(f"format={kind!r} needs path=..., the folder for the results")
        schema = pa.schema([field.with_type(nullable_type(field.type)) for field in schema])
        _refuse_types(kind, schema)
        if "://" in path:
            raise PlanError(f"path={path!r}: a session without Spark writes to a local folder; give the path of one")
        try:
            folder = Path(path).absolute()  # the working directory may change while the query runs
        except FileNotFoundError:
            raise PlanError(
                f"path={path!r} is relative, but the working directory of this process has been removed; give an "
                "absolute path"
            ) from None
        if os.path.exists(folder) and not os.path.isdir(folder):  # these do not raise if the name is too long
            raise PlanError(f"path={path!r} is a file; give a new folder")
        return cls(path, folder, kind, schema)

    def claim(self) -> None:
        """Claim the folder. Raise a PlanError if it has results, or cannot be written to."""
        if self._folder is None or self._path is None:
            return
        try:
            _refuse_results(self._path, self._folder)
            self._folder.mkdir(parents=True, exist_ok=True)
            self._lock = _locked(self._path, self._folder)
            self._is_claimed = True
            _refuse_results(self._path, self._folder)  # of a run that has ended in the meantime
        except OSError as error:
            # the remedy for long names is that of folders of partitionBy
            hint = None if error.errno == errno.ENAMETOOLONG else REMEDIES.get(error.errno or 0)
            remedy = f"{hint}, or " if hint else ""
            raise PlanError(
                f"path={self._path!r} cannot be written to: {error.strerror or error}; {remedy}give another folder"
            ) from error

    def write(self, batches: Iterator[pa.RecordBatch], report: Callable[[int], None]) -> None:
        """Write one file, `results.parquet` or `results.csv`, and call `report` with the number of rows of each batch.

        A run that is stopped keeps what it has found so far. `release` must be called afterwards in every case.
        """
        if self._folder is None:
            for batch in batches:
                report(batch.num_rows)
            return
        unfinished = self._folder / UNFINISHED
        with _UnfinishedFile(self._kind, self._folder, self._schema) as file:
            with suppress(Stopped):
                for batch in batches:
                    file.write(fitting(batch, self._schema))
                    report(batch.num_rows)
            file.finish()
        with _failures(self._folder):
            _flush(unfinished)
            if self._lock is not None and not _is_still(unfinished, self._lock):  # the folder was replaced
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
            unfinished.rename(self._folder / f"results.{self._kind}")

    def release(self) -> None:
        """Remove the unfinished file, if there is one, and give up the folder. May be called more than once."""
        claimed, self._is_claimed = self._is_claimed, False
        if not claimed or self._folder is None:
            return
        unfinished = self._folder / UNFINISHED
        with suppress(OSError):  # such as a folder that can only be read now; the next run takes the file over
            if self._lock is None or _is_still(unfinished, self._lock):
                unfinished.unlink(missing_ok=True)
        _unlock(self._lock)


class _UnfinishedFile:
    """The file that a run writes. It is closed in every case, also if its content cannot be completed."""

    def __init__(self, kind: str, folder: Path, schema: pa.Schema) -> None:
        self._folder = folder
        with _failures(folder):
            self._file = pa.OSFile(str(folder / UNFINISHED), "wb")
            self._writer = _writer(kind, self._file, schema)

    def __enter__(self) -> _UnfinishedFile:
        return self

    def write(self, batch: pa.RecordBatch) -> None:
        """Write the rows of a batch."""
        with _failures(self._folder):
            self._writer.write_batch(batch)

    def finish(self) -> None:
        """Write what comes after the last batch."""
        with _failures(self._folder):
            self._writer.close()
            self._file.close()

    def __exit__(self, *raised: object) -> None:
        with suppress(OSError, pa.ArrowException):  # the first error is the one to show
            self._writer.close()
        with suppress(OSError):
            self._file.close()


@contextmanager
def _failures(folder: Path) -> Iterator[None]:
    """Raise errors of the disk as a QueryError that names the folder."""
    try:
        yield
    except OSError as error:
        why = os.strerror(error.errno) if error.errno is not None else str(error)
        raise QueryError(
            f"results cannot be written to {folder}: {why}; {remedy_of(error)}, and start the query again"
        ) from error


def _writer(kind: str, where: Any, schema: pa.Schema) -> Any:
    if kind == "parquet":
        import pyarrow.parquet as pq

        return pq.ParquetWriter(where, schema)
    import pyarrow.csv as csv

    return csv.CSVWriter(where, schema)


def _refuse_types(kind: str, schema: pa.Schema) -> None:
    """Try each column by writing a null, because pyarrow has no list of the types it can write."""
    for field in schema:
        alone = pa.schema([pa.field("x", field.type)])
        try:
            if kind == "csv" and _is_bytes(field.type):
                raise pa.ArrowInvalid("bytes need not be text")  # pyarrow fails on the first value that is not text
            with _writer(kind, pa.BufferOutputStream(), alone) as writer:
                writer.write_batch(pa.RecordBatch.from_arrays([pa.nulls(1, field.type)], schema=alone))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
            other = "" if kind == "parquet" else "use format='parquet', or "
            raise PlanError(
                f"format={kind!r} cannot store the column {field.name!r}, which is {field.type}; {other}remove it from "
                "SELECT"
            ) from None


def _is_bytes(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return any(
        is_it(kind) for is_it in (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary)
    )  # fmt: skip


def _refuse_results(path: str, folder: Path) -> None:
    if folder.exists() and any(file.name != UNFINISHED for file in folder.iterdir()):
        raise PlanError(f"path={path!r} is not empty; give a new folder, or remove the files in it")


def _locked(path: str, folder: Path) -> int | None:
    """Lock the unfinished file of the folder, which is created if it does not exist. Return None if locks are not
    available and the file is new."""
    unfinished = folder / UNFINISHED
    while True:
        try:
            opened, is_new = os.open(unfinished, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666), True
        except FileExistsError:
            try:
                opened, is_new = os.open(unfinished, os.O_RDWR), False
            except FileNotFoundError:  # removed in the meantime
                continue
        held = False
        try:
            if fcntl is not None:
                fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
                held = True
        except BlockingIOError:
            os.close(opened)
            raise PlanError(f"another query is writing to path={path!r}; give this one another folder") from None
        except OSError:
            pass  # a file system without locks
        if not held:
            os.close(opened)
            if is_new:
                return None
            raise PlanError(
                f"another query is writing to path={path!r}, or was killed while it did; give this one another folder "
                f"or, if none is running, remove {unfinished}"
            )
        if _is_still(unfinished, opened):
            _held.add(opened)
            return opened
        os.close(opened)  # the other run has ended: the file was removed, or is a result now


def _is_still(unfinished: Path, opened: int) -> bool:
    try:
        return os.path.samestat(os.stat(unfinished), os.fstat(opened))
    except FileNotFoundError:
        return False


def _flush(file: Path) -> None:
    """Flush a file to disk, so that it is not renamed before its content is safe if the machine goes down."""
    opened = os.open(file, os.O_RDWR)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _unlock(lock: int | None) -> None:
    if lock is not None and lock in _held:
        _held.remove(lock)
        os.close(lock)
