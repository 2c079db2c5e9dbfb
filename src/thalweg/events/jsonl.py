"""Reads and writes records as JSON lines: one object per line, with its kind under `event`.

>>> record = Switched(Origin("r", "stream", batch=3, worker="w", policy="p"), at_row=1000, order=("b", "a"))
>>> print(to_json(record))  # doctest: +NORMALIZE_WHITESPACE
{"event": "switched", "run": "r", "kind": "stream", "batch": 3, "worker": "w", "policy": "p", "at_row": 1000,
 "order": ["b", "a"]}
>>> from_json(to_json(record)) == record
True
"""

from __future__ import annotations

import json
import os
import threading
import warnings
from dataclasses import fields
from pathlib import Path
from typing import Any

from thalweg.errors import ThalwegError
from thalweg.events.counts import from_plain, to_plain
from thalweg.events.record_check import wrong_with
from thalweg.events.records import (
    BatchTimed,
    JoinObserved,
    NativeObserved,
    Observed,
    Origin,
    PlanObserved,
    Record,
    Switched,
    VerdictGiven,
)
from thalweg.given_path import given_path
from thalweg.printable import printable

BEGINS = '{"event": "'
"""The beginning of every record. It cannot occur in a text inside a record, because quotes are escaped there."""
_KINDS: dict[str, type[Any]] = {
    kind.event: kind
    for kind in (Observed, VerdictGiven, Switched, NativeObserved, JoinObserved, PlanObserved, BatchTimed)
}
_ORIGIN = tuple(each.name for each in fields(Origin))
_REMEDY = "if another version of Thalweg wrote it, read it with that version; otherwise remove it from the file"


def to_json(record: Record) -> str:
    """Return a record as one line, without a line break."""
    values = to_plain(record)
    return json.dumps({"event": record.event, **values.pop("origin"), **values}, allow_nan=False)


def from_json(line: str) -> Record:
    """Return the record of a line. Raises a ThalwegError for an unknown kind, and for values that no run writes."""
    try:
        values = json.loads(line)
        kind = _KINDS[values.pop("event")]
        if kind is PlanObserved and "work_ns" in values:  # other kinds of earlier versions lack what they need now
            raise KeyError("counted")
        values["origin"] = {name: values.pop(name) for name in _ORIGIN if name in values}
        names = values.get("others") or values.get("predicates") or ()
        record: Record = from_plain(kind, values, len(names))
        wrong = wrong_with(record)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ThalwegError(f"not an event record of this version: {line.strip()[:80]!r}; {_REMEDY}") from error
    if wrong is not None:
        raise ThalwegError(f"not an event record of this version ({wrong}): {line.strip()[:80]!r}; {_REMEDY}")
    return record


class JsonLines:
    """Appends records to a file; safe to call from several threads.

    A new file, and new folders, are accessible only to this user (modes 0600 and 0700). Existing ones keep their mode,
    and a symbolic link is followed.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(given_path(path))
        self._lock = threading.Lock()
        self._failed = False
        try:
            _make_folder(self.path.parent)
            with open(self.path, "ab", opener=_private) as out:
                if out.tell() and not self._ends_a_line():
                    out.write(b"\n")  # its writer was killed, so the rest of that line will never be written
        except OSError as error:
            raise ThalwegError(
                f"cannot write event records to {self.path}: {error}; choose another file with events=, "
                "spark.thalweg.events or THALWEG_EVENTS"
            ) from error

    def write(self, record: Record) -> None:
        """Append one record. If the file cannot be written, for example because the disk is full, warn once and do not
        raise."""
        line = (to_json(record) + "\n").encode()
        with self._lock:
            try:
                # in one write, because other processes may write to the file too
                with open(self.path, "ab", buffering=0, opener=_private) as out:
                    out.write(line)
            except OSError as error:
                if not self._failed:
                    sentence = f"cannot write to {self.path}, so event records are lost: {error}"
                    warnings.warn(printable(sentence), stacklevel=2)
                self._failed = True

    def _ends_a_line(self) -> bool:
        with self.path.open("rb") as file:
            file.seek(-1, os.SEEK_END)
            return file.read(1) == b"\n"


def _private(path: str, flags: int) -> int:
    """Open a file. If it is new, only this user may read it, because it contains names of predicates and keys of
    rows. A pipe or a device is refused: opening or writing to it may block."""
    if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path) and path != os.devnull:
        raise OSError("it is not a regular file")
    return os.open(path, flags, 0o600)


def _make_folder(folder: Path) -> None:
    """Make a folder and its missing parents, accessible only to this user."""
    missing = [place for place in (folder, *folder.parents) if not place.exists()]
    for place in reversed(missing):
        place.mkdir(mode=0o700, exist_ok=True)
