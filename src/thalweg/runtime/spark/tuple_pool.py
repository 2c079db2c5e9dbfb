"""A pool in which the workers of one host share profile tuples and costs: a file that each appends to and reads.

Eight workers that each profile at an affordable rate fill a window eight times as fast if they share what they see, and
a filter that one of them has tried need not be tried by the others. The file has lines of JSON, each appended in one
write, in a folder that only this user can access. Lines that are old, foreign or broken are ignored. The pool works on
a best-effort basis: a full disk, or a line that is lost when the file is started again, only slows down adapting.

Cost: about 20 µs to give, 5 µs to find that nothing is new.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thalweg.runtime.filters.pool import SharedProfiles
from thalweg.runtime.spark.host_file import HostFile
from thalweg.stats.call_cost import MOST_NS

FRESH_S = 30.0
"""Tuples older than this are ignored, because the data may have changed since."""
MOST_BYTES = 1 << 20
"""The size at which the file is started again."""

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

    def give(self, mark: str, tuples: Bits, fresh: bool, costs: Mapping[str, Any]) -> None:
        """Share tuples and costs with other workers. `fresh`: sampled since the data of this worker last changed."""
        shared = {
            "worker": self._worker, "at": self._clock(), "mark": mark, "rows": len(tuples), "fresh": fresh,
            "bits": np.packbits(tuples).tobytes().hex(), "costs": costs,
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
            return SharedProfiles(bits.reshape(-1, self._width), fresh, [_checked(shared.get("costs") or {})])
        except (ValueError, KeyError, TypeError):
            return None

    def _size(self) -> tuple[int, int]:
        try:
            found = os.stat(self._path, follow_symlinks=False)
        except OSError:
            return 0, 0
        return found.st_ino, found.st_size


def _checked(costs: Mapping[str, Any]) -> dict[str, list[float | None]]:
    """Return the valid costs: lists of positive numbers or None."""
    return {key: [None if ns is None else _positive(ns) for ns in costs[key]] for key in KEYS if key in costs}


def _positive(ns: Any) -> float:
    number = float(ns)
    if not 0.0 <= number < MOST_NS:
        raise ValueError(f"{ns} is not a valid time")
    return number
