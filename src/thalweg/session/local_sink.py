"""Files of results, written in this process.

A run writes a hidden file, `.results.unfinished`, in its folder and renames it when it is complete, so that nothing
incomplete ever has the name of a result. The run holds a lock on that file for as long as its process lives: a folder
in which another run writes is refused, also for another process, and what a process left that was killed is taken
over. Without locks (Windows, some network file systems) a file that was left must be removed by hand, as the error
says.
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
"""Open files whose locks this process holds."""


def _leave_locks_to_the_parent() -> None:
    """A forked child has the same open files, and with them would keep the locks of a parent that died."""
    while _held:
        os.close(_held.pop())


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_locks_to_the_parent)


class LocalSink:
    """A folder that was claimed for one run, until it is released."""

    def __init__(self, folder: Path | None, kind: str, schema: pa.Schema, lock: int | None) -> None:
        self._folder, self._kind, self._schema, self._lock = folder, kind, schema, lock

    @classmethod
    def claim(cls, path: str | None, kind: str, options: Mapping[str, str], schema: pa.Schema) -> LocalSink:
        """Refuse what cannot be written, before anything is read."""
        if options:
            raise PlanError(f"options={dict(options)!r}: files written in this process have none; leave them out")
        if kind not in ("parquet", "csv", "noop"):
            raise PlanError(f"format={kind!r}: in this process results go to 'parquet', 'csv' or 'noop'")
        if kind == "noop":
            return cls(None, kind, schema, None)
        if path is None:
            raise PlanError(f"format={kind!r} needs path=..., the folder for the results")
        _refuse_types(kind, schema)
        if "://" in path:
            raise PlanError(f"path={path!r}: in this process results go to a folder of this machine; give its path")
        folder = Path(path).absolute()  # the working directory may change while the query runs
        if folder.exists() and not folder.is_dir():
            raise PlanError(f"{path} is a file: give a new folder")
        _refuse_results(path, folder)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            lock = _locked(path, folder)
        except OSError as error:
            raise PlanError(
                f"path={path!r} cannot be written to: {error.strerror or error}; give another folder"
            ) from error
        try:
            _refuse_results(path, folder)  # of a run that ended meanwhile
        except PlanError:
            _remove(folder / UNFINISHED)
            _unlock(lock)
            raise
        return cls(folder, kind, schema, lock)

    def write(self, batches: Iterator[pa.RecordBatch], told: Callable[[int], None]) -> None:
        """One file, `results.parquet` or `results.csv`; `told` hears the rows of each batch. A run that was stopped
        leaves what it had found until then. Whatever comes of it, `release` must follow."""
        if self._folder is None:
            for batch in batches:
                told(batch.num_rows)
            return
        unfinished = self._folder / UNFINISHED
        with _writer(self._kind, unfinished, self._schema) as writer, suppress(Stopped):
            for batch in batches:
                writer.write_batch(batch)
                told(batch.num_rows)
        _flush(unfinished)
        unfinished.rename(self._folder / f"results.{self._kind}")

    def release(self) -> None:
        """Remove what is unfinished, if anything is, and let others have the folder. May be called again."""
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
    """Each column is tried by writing a null, since pyarrow has no list of what it can write."""
    for field in schema:
        alone = pa.schema([pa.field("x", field.type)])
        try:
            if kind == "csv" and _is_bytes(field.type):
                raise pa.ArrowInvalid("bytes need not be text")  # pyarrow fails on the first that is none
            with _writer(kind, pa.BufferOutputStream(), alone) as writer:
                writer.write_batch(pa.RecordBatch.from_arrays([pa.nulls(1, field.type)], schema=alone))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
            other = "" if kind == "parquet" else "write format='parquet', or "
            raise PlanError(
                f"format={kind!r} cannot hold the column {field.name!r}, which is {field.type}: {other}leave it out of "
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
        raise PlanError(f"{path} is there and is no empty folder: give a new one, or remove what is there")


def _locked(path: str, folder: Path) -> int | None:
    """A lock on the folder's unfinished file, which is made if it is not there; None: locks cannot be had, and the file
    is new."""
    unfinished = folder / UNFINISHED
    while True:
        try:
            opened, is_new = os.open(unfinished, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666), True
        except FileExistsError:
            try:
                opened, is_new = os.open(unfinished, os.O_RDWR), False
            except FileNotFoundError:  # removed meanwhile
                continue
        held = False
        try:
            if fcntl is not None:
                fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
                held = True
        except BlockingIOError:
            os.close(opened)
            raise PlanError(f"{path} is being written by another query: give this one a folder of its own") from None
        except OSError:
            pass  # a file system without locks
        if not held:
            os.close(opened)
            if is_new:
                return None
            raise PlanError(
                f"{path} is being written by another query, or was by one that was killed: give this one a folder of "
                f"its own, or, if none is running, remove {unfinished}"
            )
        if _is_still(unfinished, opened):
            _held.add(opened)
            return opened
        os.close(opened)  # the run that had it has ended: the file was removed, or is a result now


def _is_still(unfinished: Path, opened: int) -> bool:
    try:
        return os.path.samestat(os.stat(unfinished), os.fstat(opened))
    except FileNotFoundError:
        return False


def _flush(file: Path) -> None:
    """To the disk: a name must not outlive its content if the machine goes down."""
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
