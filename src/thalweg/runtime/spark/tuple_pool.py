"""A pool in which the workers of one host share profile tuples and costs: a file that each appends to and reads.

Eight workers that each profile at an affordable rate fill a window eight times as fast if they share what they see, and
a filter that one of them has tried need not be tried by the others. The file has lines of JSON, each appended in one
write, in a folder that only this user can access. Lines that are old, foreign or broken are ignored. The pool works on
a best-effort basis: a full disk, or a line that is lost when the file is started again, only slows down adapting.

Tuples of the policy `mesh` are shared together with the values by which rows may be classified, as an Arrow stream
within the line. These are values of the user's rows: they are as private as the tree of a mesh, which is in the other
file of the folder, and are removed with it. With `redact` neither is written.

Cost: about 20 µs to give, 5 µs to find that nothing is new. Values of 250 rows add 50 to 300 µs to give, and as much to
take; profiling these rows takes ten times as long if each of several predicates takes a microsecond.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from thalweg.adapt.policy import ClassifiedTuples
from thalweg.runtime.filters.pool import SharedProfiles
from thalweg.runtime.spark.host_file import HostFile
from thalweg.stats.call_cost import MOST_NS

FRESH_S = 30.0
"""Tuples older than this are ignored, because the data may have changed since."""
MOST_BYTES = 1 << 20
"""The size at which the file is started again."""
MOST_VALUES = 1 << 16
"""The most bytes of values by which rows may be classified in one line."""

KEYS = ("cost_ns", "fixed_ns", "error_ns", "most_rows")

Bits = NDArray[np.bool_]


class TuplePool:
    """The view that one worker has of the pool of a query."""

    def __init__(self, file: HostFile, worker: str, width: int, clock: Callable[[], float] = time.time) -> None:
        self._file = file
        self._path = file.path.with_suffix(".tuples")
        self._worker = worker
        self._width = width
        self._clock = clock
        self._inode, self._read = self._size()  # the current content is in the snapshot that the worker started with

    def give(
        self, mark: str, tuples: Bits, fresh: bool, costs: Mapping[str, Any],
        values: Mapping[str, pa.Array] | None = None,
    ) -> None:  # fmt: skip
        """Share tuples and costs with other workers. `fresh`: sampled since the data of this worker last changed.
        `values`: by column, the values of the tuples by which rows may be classified."""
        shared = {
            "worker": self._worker, "at": self._clock(), "mark": mark, "rows": len(tuples), "fresh": fresh,
            "bits": np.packbits(tuples).tobytes().hex(), "costs": costs,
            **({"values": written} if (written := _written(values)) else {}),
        }  # fmt: skip
        with contextlib.suppress(OSError):
            if not self._file.ready():
                return
            if self._size()[1] > MOST_BYTES:
                self._path.unlink(missing_ok=True)
            handle = os.open(self._path, os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_WRONLY, 0o600)
            try:
                os.write(handle, json.dumps(shared, separators=(",", ":")).encode() + b"\n")
            finally:
                os.close(handle)

    def news(self) -> bool:
        """Whether there is something new since the last `take`."""
        return self._size() != (self._inode, self._read)

    def take(self, mark: str) -> SharedProfiles | None:
        """Return what other workers shared with this mark since the last call; None if there is nothing."""
        inode, size = self._size()
        if inode != self._inode or size < self._read:  # started again, perhaps with the same inode
            self._inode, self._read = inode, 0
        if size == self._read:
            return None
        if not self._file.ours():  # another user may have created the folder and written anything there
            self._read = size
            return None
        try:
            with os.fdopen(os.open(self._path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as lines:
                lines.seek(self._read)
                text = lines.read()
        except OSError:
            return None
        whole = text.rfind(b"\n") + 1  # a line that is still being written is read next time
        self._read += whole
        found = [self._tuples(line, mark) for line in text[:whole].splitlines()]
        useful = [tuples for tuples in found if tuples is not None]
        if not useful:
            return None
        return SharedProfiles(
            np.concatenate([part.tuples for part in useful]),
            np.concatenate([part.fresh for part in useful]),
            [costs for part in useful for costs in part.costs],
            [classified for part in useful for classified in part.classified],
        )

    def _tuples(self, line: bytes, mark: str) -> SharedProfiles | None:
        try:
            shared = json.loads(line)
            if shared["worker"] == self._worker or shared["mark"] != mark or self._clock() - shared["at"] > FRESH_S:
                return None
            packed = np.frombuffer(bytes.fromhex(shared["bits"]), dtype=np.uint8)
            if len(packed) != -(-shared["rows"] * self._width // 8):
                return None
            bits: Bits = np.unpackbits(packed, count=shared["rows"] * self._width).astype(bool)
            fresh = np.full(shared["rows"], bool(shared["fresh"]))
            tuples = bits.reshape(-1, self._width)
            costs: list[Mapping[str, Any]] = [_checked(shared.get("costs") or {})]
            return SharedProfiles(tuples, fresh, costs, _classified(shared.get("values"), tuples))
        except (ValueError, KeyError, TypeError, pa.ArrowException, OSError):
            return None

    def _size(self) -> tuple[int, int]:
        try:
            found = os.stat(self._path, follow_symlinks=False)
        except OSError:
            return 0, 0
        return found.st_ino, found.st_size


def _written(values: Mapping[str, pa.Array] | None) -> str:
    """Return the newest of the values as text, at most `MOST_VALUES` bytes of them; empty if there are none."""
    if not values:
        return ""
    batch = pa.RecordBatch.from_arrays(list(values.values()), names=list(values))
    fitting = min(batch.num_rows, batch.num_rows * MOST_VALUES // max(batch.nbytes, 1))
    batch = batch.slice(batch.num_rows - fitting)
    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, batch.schema) as stream:
        stream.write_batch(batch)
    stream_bytes = out.getvalue()
    # a dictionary is written whole, and values may differ in length
    return b64encode(stream_bytes).decode() if fitting and stream_bytes.size <= 2 * MOST_VALUES else ""


def _classified(text: str | None, tuples: Bits) -> list[ClassifiedTuples]:
    """Return the last tuples with their values; nothing if they have none. Raises an error if the text is broken."""
    if not text:
        return []
    table = pa.ipc.open_stream(b64decode(text, validate=True)).read_all()
    table.validate(full=True)
    if not 0 < table.num_rows <= len(tuples):
        raise ValueError(f"values of {table.num_rows} rows for {len(tuples)} tuples")
    values = {name: column.combine_chunks() for name, column in zip(table.column_names, table.columns, strict=True)}
    return [ClassifiedTuples(values, tuples[-table.num_rows :])]


def _checked(costs: Mapping[str, Any]) -> dict[str, list[float | None]]:
    """Return the valid costs: lists of positive numbers or None."""
    return {key: [None if ns is None else _positive(ns) for ns in costs[key]] for key in KEYS if key in costs}


def _positive(ns: Any) -> float:
    number = float(ns)
    if not 0.0 <= number < MOST_NS:
        raise ValueError(f"{ns} is not a valid time")
    return number
