"""Reads and writes records as JSON lines: one object per line, with its kind under `event`.

>>> record = Switched(run="r", batch=3, worker="w", at_row=1000, order=("b", "a"))
>>> to_json(record)
'{"event": "switched", "run": "r", "batch": 3, "worker": "w", "at_row": 1000, "order": ["b", "a"]}'
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
from thalweg.events.record_check import wrong_with
from thalweg.events.records import (
    BatchTimed,
    JoinObserved,
    NativeObserved,
    Observed,
    PlanObserved,
    Record,
    Switched,
    VerdictGiven,
)
from thalweg.given_path import given_path
from thalweg.printable import printable

BEGINS = '{"event": "'
"""The beginning of every record. It cannot occur in a text inside a record, because quotes are escaped there."""
_IF_ANY = ("query", "start", "query_name", "tick_ns", "first_time", "last_time")
"""Fields that are left out if they are None."""
_KINDS: dict[str, type[Any]] = {
    kind.event: kind
    for kind in (Observed, VerdictGiven, Switched, NativeObserved, JoinObserved, PlanObserved, BatchTimed)
}
_REMEDY = "if another version of Thalweg wrote it, read it with that version; otherwise remove it from the file"


def to_json(record: Record) -> str:
    """Return a record as one line, without a line break."""
    values = {f.name: getattr(record, f.name) for f in fields(record)}
    values = {name: value for name, value in values.items() if value is not None or name not in _IF_ANY}
    return json.dumps({"event": record.event, **values}, allow_nan=False)


def from_json(line: str) -> Record:
    """Return the record of a line. Raises a ThalwegError for an unknown kind, and for values that no run writes."""
    try:
        values = json.loads(line)
        kind = _KINDS[values.pop("event")]
        known = {f.name for f in fields(kind)}
        if kind is PlanObserved:
            values = _as_counts(values)
        record: Record = kind(**{k: tuple(v) if isinstance(v, list) else v for k, v in values.items() if k in known})
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ThalwegError(f"not an event record of this version: {line.strip()[:80]!r}; {_REMEDY}") from error
    if (wrong := wrong_with(record)) is not None:
        raise ThalwegError(f"not an event record of this version ({wrong}): {line.strip()[:80]!r}; {_REMEDY}")
    return record


def _as_counts(values: dict[str, Any]) -> dict[str, Any]:
    """Return the values of a `plan` record with counts. Earlier versions wrote whether the rates had moved to another
    region, and whether they were outside the chart, for one round per record."""
    if "moved" in values:
        values["moves"] = int(values.pop("moved") is True)
        values["rounds"] = int(values.get("policy") == "chart" or values.get("standing") not in (None, ""))
    if isinstance(values.get("outside"), bool):
        values["outside"] = int(values["outside"])
    return values


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
