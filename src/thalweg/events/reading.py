"""Reads the records of a file, and skips what a killed process, a full disk or an editor has damaged.

Guarantees: whatever the bytes are, reading raises only OSError; every line that contains anything other than records is
reported with its number. Cost: two passes over the file, and one line of bounded length in memory.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from thalweg.errors import ThalwegError
from thalweg.events.jsonl import BEGINS, from_json
from thalweg.events.records import JoinObserved, NativeObserved, Observed, Record
from thalweg.given_path import given_path
from thalweg.printable import printable

MOST_BYTES = 2**24
"""The maximum length of a line; records have a few thousand bytes."""
MOST_PARTS = 1000
"""The maximum number of parts of a line: records without a line break between them, and anything between them."""
_BOM = b"\xef\xbb\xbf"
_DECODER = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class Skipped:
    """A line of a file, or a part of it, that is not a record."""

    line: int
    """The number of the line, from 1."""
    why: str
    torn: bool = False
    """Whether it begins like a record, which means that its writer was killed."""


def read(path: str | os.PathLike[str], skipped: list[Skipped] | None = None) -> Iterator[Record]:
    """Return the records of a file, oldest first. If a micro-batch was run again, only its last run counts.

    Parameters
    ----------
    path
        A file that was written with ``events=``.
    skipped
        A list to which the parts of the file that are not records are added. Without a list, a warning says how many
        lines were skipped, not counting lines that were cut off because their process was killed while writing.

    Returns
    -------
    Iterator[Record]

    Raises
    ------
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> import tempfile, pyarrow as pa, thalweg as tw
    >>> from thalweg.events import read
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     keep = tw.filters(tw.predicate(str.isdigit, "code"), events=f"{folder}/run.jsonl")
    ...     batches = list(keep.over(pa.table({"code": ["7", "x7"]})))
    ...     print([(record.event, record.chain.rows, record.chain.kept) for record in read(f"{folder}/run.jsonl")])
    [('observed', 2, 1)]
    """
    path = given_path(path)
    unlisted: list[Skipped] = []
    last: dict[tuple[str | None, int | None], str | None] = {}
    for record in _all(path, []):
        if isinstance(record, Observed | NativeObserved | JoinObserved):
            origin = record.origin
            last[origin.query, origin.batch] = origin.start
    for record in _all(path, unlisted if skipped is None else skipped):
        origin = record.origin
        if origin.query is None or last.get((origin.query, origin.batch), origin.start) == origin.start:
            yield record
    foreign = [part for part in unlisted if not part.torn]
    if foreign:
        warnings.warn(
            f"{printable(path)}: {len(foreign)} lines are not event records and are skipped, the first is line "
            f"{foreign[0].line}",
            stacklevel=2,
        )


def _all(path: str | os.PathLike[str], skipped: list[Skipped]) -> Iterator[Record]:
    runs: dict[tuple[str, ...], object] = {}
    for number, line in _lines(path):
        for found in _parts(number, line):
            if isinstance(found, Skipped):
                skipped.append(found)
            elif (why := _contradiction(found, runs)) is not None:
                skipped.append(Skipped(number, why))
            else:
                yield found


def _lines(path: str | os.PathLike[str]) -> Iterator[tuple[int, bytes]]:
    """Return the lines with their numbers; of a line that is too long only its beginning."""
    number = 0
    with Path(path).open("rb") as file:
        while line := file.readline(MOST_BYTES):
            number += 1
            rest = line
            while not rest.endswith(b"\n") and (rest := file.readline(MOST_BYTES)):
                pass
            yield number, line.removeprefix(_BOM) if number == 1 else line


def _parts(number: int, line: bytes) -> Iterator[Record | Skipped]:
    """Return the parts of one line: a record, or several without a line break between them, and anything else."""
    if not line.strip(b" \t\r\n\0"):
        return
    if len(line) == MOST_BYTES:
        yield Skipped(number, f"it is longer than {MOST_BYTES:,} bytes")
        return
    text = line.decode("utf-8", "replace")
    at, end_of_line = 0, line.endswith(b"\n")
    for _ in range(MOST_PARTS):
        begin = text.find(BEGINS, at)
        if begin < 0:
            rest = text[at:]
            if rest.strip(" \t\r\n\0") and not (BEGINS.startswith(rest) and not end_of_line):
                yield _torn(number, rest)
            return
        if text[at:begin].strip(" \t\r\n\0\ufeff"):
            yield _torn(number, text[at:begin])
        try:
            _, at = _DECODER.raw_decode(text, begin)
            yield from_json(text[begin:at])
        except (ValueError, RecursionError):
            following = text.find(BEGINS, begin + 1)
            if following < 0 and not end_of_line and _is_open(text[begin:]):
                return  # the last line, which is still being written
            at = following if following >= 0 else len(text)
            yield _torn(number, text[begin:at])
        except ThalwegError as error:
            yield Skipped(number, str(error))
    if text[at:].strip(" \t\r\n\0"):
        yield Skipped(number, f"it has more than {MOST_PARTS:,} parts; the rest is not read")


def _is_open(text: str) -> bool:
    return "\n" not in text and "\ufffd" not in text


def _torn(number: int, text: str) -> Skipped:
    cut = text.startswith(BEGINS) or BEGINS.startswith(text.strip())
    return Skipped(number, f"{'cut off' if cut else 'not an event record'}: {text.strip()[:60]!r}", cut)


def _contradiction(record: Record, runs: dict[tuple[str, ...], object]) -> str | None:
    """Return why a record cannot belong to the run it names, if it contradicts earlier records of the run."""
    facts: dict[tuple[str, ...], object] = {}
    run = record.origin.run
    if isinstance(record, JoinObserved):
        facts[run, "is"] = "a join"
        if not (record.table or record.inner):
            facts[run, "stream", record.alias] = record.others
    elif isinstance(record, Observed):
        facts = {(run, "is"): "a chain", (run, "chain"): record.predicates}
    elif isinstance(record, NativeObserved):
        facts = {(run, "is"): "a chain", (run, "chain"): record.chain, (run, "native"): record.predicates}
    for key, value in facts.items():
        if runs.setdefault(key, value) != value:
            return f"run {run!r:.40} has {value!r:.40} here and {runs[key]!r:.40} before"
    return None
