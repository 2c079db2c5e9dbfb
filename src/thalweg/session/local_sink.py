"""Writes files of results in this process.

A run writes a hidden file, `.results.unfinished`, in its folder and renames it when it is complete, so an incomplete
file never has the name of a result. The run holds a lock on that file as long as its process lives. A folder to which
another run writes is refused, even if that run is in another process. If a process was killed, the next run takes over
the file that it left. Without locks (Windows, some network file systems), such a file must be removed by hand, as the
error message says.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa

from thalweg.errors import PlanError
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

    def __init__(self, folder: Path | None, kind: str, schema: pa.Schema, lock: int | None) -> None:
        self._folder, self._kind, self._schema, self._lock = folder, kind, schema, lock

    @classmethod
    def claim(cls, path: str | None, kind: str, options: Mapping[str, str], schema: pa.Schema) -> LocalSink:
        """Claim a folder. Raise a PlanError for results that cannot be written, before anything is read."""
        if options:
            raise PlanError(f"options={dict(options)!r}: a session without Spark takes no options; remove them")
        if kind not in ("parquet", "csv", "noop"):
            raise PlanError(f"format={kind!r}: a session without Spark writes only 'parquet', 'csv' or 'noop'")
        if kind == "noop":
            return cls(None, kind, schema, None)
        if path is None:
            raise PlanError(f"format={kind!r} needs path=..., the folder for the results")
        _refuse_types(kind, schema)
        if "://" in path:
            raise PlanError(f"path={path!r}: a session without Spark writes to a local folder; give the path of one")
        folder = Path(path).absolute()  # the working directory may change while the query runs
        if folder.exists() and not folder.is_dir():
            raise PlanError(f"path={path!r} is a file; give a new folder")
        _refuse_results(path, folder)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            lock = _locked(path, folder)
        except OSError as error:
            raise PlanError(
                f"path={path!r} cannot be written to: {error.strerror or error}; give another folder"
            ) from error
        try:
            _refuse_results(path, folder)  # of a run that has ended in the meantime
        except PlanError:
            _remove(folder / UNFINISHED)
            _unlock(lock)
            raise
        return cls(folder, kind, schema, lock)

    def write(self, batches: Iterator[pa.RecordBatch], report: Callable[[int], None]) -> None:
        """Write one file, `results.parquet` or `results.csv`, and call `report` with the number of rows of each batch.

        A run that is stopped keeps what it has found so far. `release` must be called afterwards in every case.
        """
        if self._folder is None:
            for batch in batches:
                report(batch.num_rows)
            return
        unfinished = self._folder / UNFINISHED
        with _writer(self._kind, unfinished, self._schema) as writer, suppress(Stopped):
            for batch in batches:
                writer.write_batch(batch)
                report(batch.num_rows)
        _flush(unfinished)
        unfinished.rename(self._folder / f"results.{self._kind}")

    def release(self) -> None:
        """Remove the unfinished file, if there is one, and give up the folder. May be called more than once."""
        folder, self._folder = self._folder, None
        if folder is not None:
            _remove(folder / UNFINISHED)
            _unlock(self._lock)


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


def _remove(file: Path) -> None:
    file.unlink(missing_ok=True)


def _unlock(lock: int | None) -> None:
    if lock is not None and lock in _held:
        _held.remove(lock)
        os.close(lock)
