"""Records as JSON lines: one object a line, its kind under `event`.

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

from thalweg.deprecated import current_name
from thalweg.errors import ThalwegError
from thalweg.events.record_check import wrong_with
from thalweg.events.records import JoinObserved, NativeObserved, Observed, Record, Switched, VerdictGiven

BEGINS = '{"event": "'
"""Every record does, and no text inside one: its quotes are escaped."""
_IF_ANY = ("query", "start", "query_name", "tick_ns")
"""Left out where there is none."""
_KINDS: dict[str, type[Any]] = {
    kind.event: kind for kind in (Observed, VerdictGiven, Switched, NativeObserved, JoinObserved)
}


def to_json(record: Record) -> str:
    """One line, without its end."""
    values = {f.name: getattr(record, f.name) for f in fields(record)}
    values = {name: value for name, value in values.items() if value is not None or name not in _IF_ANY}
    return json.dumps({"event": record.event, **values}, allow_nan=False)


def from_json(line: str) -> Record:
    """The record a line was made from; a line of another kind, or with values that no run writes, is refused."""
    try:
        values = json.loads(line)
        kind = _KINDS[values.pop("event")]
        known = {f.name for f in fields(kind)}
        if isinstance(values.get("policy"), str):
            values["policy"] = current_name("policy", values["policy"])
        record: Record = kind(**{k: tuple(v) if isinstance(v, list) else v for k, v in values.items() if k in known})
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ThalwegError(f"not an event record of this version: {line.strip()[:80]!r}") from error
    if (wrong := wrong_with(record)) is not None:
        raise ThalwegError(f"not an event record of this version ({wrong}): {line.strip()[:80]!r}")
    return record


class JsonLines:
    """Appends records to a file; safe to call from several threads. A file that is made, and missing folders, are this
    user's alone (modes 0600 and 0700); what is there keeps its mode, and a symbolic link is followed."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._lock = threading.Lock()
        self._failed = False
        try:
            _make_folder(self.path.parent)
            with open(self.path, "ab", opener=_private) as out:
                if out.tell() and not self._ends_a_line():
                    out.write(b"\n")  # its writer was killed: the rest of that line will not come
        except OSError as error:
            raise ThalwegError(
                f"cannot write event records to {self.path}: {error}; choose another file by events=, "
                "spark.thalweg.events or THALWEG_EVENTS"
            ) from error

    def write(self, record: Record) -> None:
        """Append one record. A disk that fills up later is warned of once, and fails nothing."""
        line = (to_json(record) + "\n").encode()
        with self._lock:
            try:
                # in one piece: others may write to the file too
                with open(self.path, "ab", buffering=0, opener=_private) as out:
                    out.write(line)
            except OSError as error:
                if not self._failed:
                    warnings.warn(f"event records are lost: cannot write to {self.path}: {error}", stacklevel=2)
                self._failed = True

    def _ends_a_line(self) -> bool:
        with self.path.open("rb") as file:
            file.seek(-1, os.SEEK_END)
            return file.read(1) == b"\n"


def _private(path: str, flags: int) -> int:
    """Open a file that, if it is made here, nobody else may read: names of predicates and keys of rows are in it."""
    return os.open(path, flags, 0o600)


def _make_folder(folder: Path) -> None:
    """With those above it that are missing, all of this user alone."""
    missing = [place for place in (folder, *folder.parents) if not place.exists()]
    for place in reversed(missing):
        place.mkdir(mode=0o700, exist_ok=True)
