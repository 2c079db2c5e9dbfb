"""The statistics of a join from the event records of an earlier run: `statistics_from(run)`.

Answers: a dict of the form that `statistics=` takes, whose numbers are estimates with the origin "counted".
Guarantee: a micro-batch that was run again counts once. Numbers that were not counted are left out.
Cost: the records are read twice, and a few sums per stream, run and bucket are kept.

| number | is |
|---|---|
| `rows_per_second` | rows that reached the join, per second of event time between the first row and the last |
| `kept` | the share of these rows that were joined: not filtered, late, or without a time or key |
| `bytes_per_row` | the bytes of a window over its rows |
| `rows` | the rows of a table |
| `partners` | the mean number of partners of the rows that were looked up |

- On Spark, the rows of a stream that is spread over buckets are those of all buckets. Of a replicated stream, one
  bucket counts the rows. A row of a spread stream finds all of its partners in its bucket. A row of a replicated stream
  finds a part of its partners in each bucket, so its partners are the sum over buckets of their means; but it finds all
  partners that are rows of tables or of other replicated streams in every bucket.
- Rows that arrive before a window has filled find fewer partners in it, so the partners of a short run are too few.
- In a query of SQL, filters run before the join. `rows_per_second` then counts the rows that they kept, of which `kept`
  is a share. The two belong together.
- Variances are those of the counting: Poisson for rows, binomial for shares. For partners only the mean and the share
  of rows with at least one are recorded; the others are assumed to have a geometric distribution. What changes between
  two runs is not in them; `as_of`, the largest event time in seconds, says how old they are.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from thalweg.errors import PlanError, warn_user
from thalweg.events import JoinObserved, Record, Skipped, read
from thalweg.events.parts import StreamCounts
from thalweg.given_path import given_path
from thalweg.plan.estimate import Estimate

_REMEDY = "give the file that was passed as events= to a join"


def statistics_from(run: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the statistics of an earlier run of a join, for the argument `statistics`.

    The result is a plain dict of :class:`Estimate` objects, which can be printed and changed. To save it, use
    ``json.dumps(statistics, default=vars)``; what ``json.loads`` returns is accepted too.

    Parameters
    ----------
    run
        The file that was passed as ``events=``, or a folder with such files, whose names end in ``.jsonl``. If it has
        several runs of the join, all of them count.

    Returns
    -------
    dict
        What `statistics` of :func:`join` and :meth:`Session.query` takes, with the origin "counted". Partners are by
        the names of two streams.

    Raises
    ------
    PlanError
        If there is no such file, or it has no counts of a join, or those of several joins.

    Examples
    --------
    >>> import tempfile, pyarrow as pa, thalweg as tw
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     j = tw.join(on="a.k = b.k", window=10, time="t", events=f"{folder}/run.jsonl")
    ...     rows = pa.table({"k": ["x", "y"], "t": [1, 2]})
    ...     results = list(j.over(a=rows, b=rows))
    ...     known = tw.statistics_from(folder)
    >>> known["a"]["kept"].value, known["a"]["kept"].origin
    (1.0, 'counted')
    >>> again = tw.join(on="a.k = b.k", window=10, time="t", statistics=known)
    """
    path = Path(given_path(run))
    records = [record for record in _observed(path) if not record.inner]
    names: dict[str, set[str]] = defaultdict(set)
    for record in records:
        names[record.origin.run] |= {record.alias, *record.others}
    joins: dict[frozenset[str], _JoinCounts] = {}
    for record in records:
        joins.setdefault(frozenset(names[record.origin.run]), _JoinCounts()).add(record)
    if not joins:
        raise PlanError(f"{path} has no records of a join; {_REMEDY} that has run")
    if len(joins) > 1:
        listed = " and ".join(f"({', '.join(sorted(each))})" for each in list(joins)[:2])
        raise PlanError(f"{path} has records of several joins, of {listed}; give each join its own events= file")
    (counts,) = joins.values()
    made = counts.statistics()
    if not made:
        raise PlanError(f"{path} has records of a join that has read no rows; {_REMEDY} that has read some")
    return made


@dataclass(slots=True)
class _StreamRecords:
    """The sums over the records of one stream in one run."""

    rows: StreamCounts = field(default_factory=StreamCounts)
    table: tuple[int, int] = (0, 0)
    """Of a table, its rows and those that were dropped; several buckets read the same table."""
    is_table: bool = False
    held: list[tuple[int, int]] = field(default_factory=list)
    """Rows and bytes of its windows."""
    probes: dict[tuple[str, str], list[int]] = field(default_factory=lambda: defaultdict(lambda: [0, 0, 0]))
    """By other stream and bucket: rows that were looked up there, partners found, rows that found at least one."""

    def add(self, record: JoinObserved) -> None:
        self.is_table = record.table
        rows, window, matches = record.stream, record.window, record.matches
        self.rows.add(rows)
        self.table = max(self.table, (max(rows.rows, window.rows), rows.rows - rows.joined))
        if window.rows:
            self.held.append((window.rows, window.bytes))
        counted = zip(record.others, matches.sampled, matches.partners, matches.partnered, strict=False)
        for other, *numbers in counted:
            cell = self.probes[other, record.origin.worker]
            cell[:] = [before + number for before, number in zip(cell, numbers, strict=True)]

    @property
    def seconds(self) -> float:
        """The event time from the first row to the last one; 0 if it is not known."""
        first, last = self.rows.first_time, self.rows.last_time
        return 0.0 if first is None or last is None else (last - first) / self.ticks_per_second

    @property
    def ticks_per_second(self) -> float:
        return 1.0 if self.rows.tick_ns is None else 1e9 / self.rows.tick_ns


class _JoinCounts:
    """The sums over the records of one join, by run and stream."""

    def __init__(self) -> None:
        self.runs: dict[str, dict[str, _StreamRecords]] = {}
        self._buckets: dict[str, set[str]] = defaultdict(set)

    def add(self, record: JoinObserved) -> None:
        streams = self.runs.setdefault(record.origin.run, {})
        streams.setdefault(record.alias, _StreamRecords()).add(record)
        self._buckets[record.origin.run].add(record.origin.worker)

    def statistics(self) -> dict[str, Any]:
        """Return what was counted, in the form of `statistics=`; empty if nothing was."""
        seen = [(name, counts) for streams in self.runs.values() for name, counts in streams.items()]
        probed = [other for _, counts in seen for other, _ in counts.probes]
        names = list(dict.fromkeys([name for name, _ in seen] + probed))
        made: dict[str, Any] = {}
        for name in names:
            counts = [streams[name] for streams in self.runs.values() if name in streams]
            if counts and (found := dict(_of_stream(counts))):
                made[name] = found
        pairs = {}
        for n, one in enumerate(names):
            for other in names[n + 1 :]:
                pair = self._partners(one, other), self._partners(other, one)
                if pair != (None, None):
                    pairs[f"{one}, {other}"] = pair
        return {**made, "partners": pairs} if pairs else made

    def _partners(self, of: str, among: str) -> Estimate | None:
        """Return the mean number of partners that a row of one stream finds in the window of another. Runs are
        weighted by the rows that were looked up."""
        total, mean, variance = 0, 0.0, 0.0
        as_of = []
        for run, streams in self.runs.items():
            if of not in streams:
                continue
            cells = [cell for (other, _), cell in streams[of].probes.items() if other == among and cell[0]]
            if not cells:
                continue
            sampled = sum(cell[0] for cell in cells)
            if streams[of].rows.replicated and not _is_whole(streams.get(among)):
                means = [_mean(*cell) for cell in cells]
                scale = len(self._buckets[run]) / len(cells)  # for buckets in which no row was looked up
                one = scale * sum(each for each, _ in means), scale * scale * sum(each for _, each in means)
            else:
                one = _mean(*(sum(numbers) for numbers in zip(*cells, strict=True)))
            total += sampled
            mean, variance = mean + sampled * one[0], variance + sampled * sampled * one[1]
            as_of += _times([streams[of]])
        if not total:
            return None
        return Estimate(mean / total, "counted", variance / total / total, 0, as_of=max(as_of, default=None))


def _is_whole(stream: _StreamRecords | None) -> bool:
    """Whether every bucket holds all rows of a stream or table."""
    return stream is not None and (stream.is_table or stream.rows.replicated)


def _mean(sampled: int, partners: int, partnered: int) -> tuple[float, float]:
    """Return the mean number of partners per row and the variance of that mean. The partners of rows that have some are
    assumed to be geometric. Rows of which none found a partner leave one partner in doubt."""
    mean = partners / sampled
    each = partners / partnered if partnered else 0.0
    square = partnered / sampled * each * (2 * each - 1)  # the mean square of a geometric number from 1 on
    return mean, max(max(square - mean * mean, 0.0) / sampled, 1 / sampled / sampled)


def _of_stream(counts: list[_StreamRecords]) -> Iterator[tuple[str, Estimate]]:
    """Yield the numbers of one stream or table, given its counts in each run."""
    as_of = max(_times(counts), default=None)
    if counts[-1].is_table:
        rows, dropped = counts[-1].table
        if rows:
            yield "rows", Estimate(rows, "counted", 0.0, 0)
    else:
        rows = sum(each.rows.rows for each in counts)
        dropped = rows - sum(each.rows.joined for each in counts)
        timed = [each for each in counts if each.rows.rows > 1]
        # as many intervals as rows, less one: exact for regular arrivals
        arrivals = sum(each.rows.rows - 1 for each in timed if each.seconds)
        seconds = sum(each.seconds for each in timed)
        if arrivals and seconds:
            rate = arrivals / seconds
            yield "rows_per_second", Estimate(rate, "counted", rate * rate / arrivals, 0, as_of=as_of)
    if rows:
        kept = 1 - min(dropped / rows, 1.0)
        yield "kept", Estimate(kept, "counted", kept * (1 - kept) / rows, 0, 1, as_of)
    held = [each for count in counts for each in count.held]
    if held and (window := sum(rows for rows, _ in held)):
        mean = sum(size for _, size in held) / window
        variance = sum(rows * (size / rows - mean) ** 2 for rows, size in held) / window
        if mean:
            yield "bytes_per_row", Estimate(mean, "counted", variance, 0, as_of=as_of)


def _times(counts: Iterable[_StreamRecords]) -> list[float]:
    """Return the last event times in seconds, where they are known."""
    return [each.rows.last_time / each.ticks_per_second for each in counts if each.rows.last_time is not None]


def _observed(path: Path) -> list[JoinObserved]:
    """Return the records of joins, each micro-batch once: of its last start, and each bucket's last record of it."""
    records = [record for file in _files(path) for record in _read(file)]
    last = {(record.origin.query, record.origin.batch): record.origin.start for record in records}
    kept: dict[object, JoinObserved] = {}
    for n, record in enumerate(records):
        of = record.origin
        if of.query is not None and last[of.query, of.batch] != of.start:
            continue
        kept[n if of.batch is None else (of.run, of.batch, of.worker, record.alias)] = record
    return list(kept.values())


def _files(path: Path) -> list[Path]:
    """Return the files with records, the one that was written last at the end."""
    if os.path.isdir(path):  # unlike Path.is_dir, this does not raise if the name is too long
        files = [file for file in path.iterdir() if file.suffix == ".jsonl" and file.is_file()]
        if not files:
            raise PlanError(f"the folder {path} has no file whose name ends in .jsonl; {_REMEDY}")
        return sorted(files, key=lambda file: (file.stat().st_mtime_ns, file.name))
    if not os.path.isfile(path):
        raise PlanError(f"there is no file or folder {path}; {_REMEDY}")
    return [path]


def _read(file: Path) -> list[JoinObserved]:
    skipped: list[Skipped] = []
    try:
        found: list[Record] = list(read(file, skipped))
    except OSError as error:
        raise PlanError(f"cannot read {file}: {error.strerror}; give a file that you may read") from error
    foreign = [part for part in skipped if not part.torn]
    if found and foreign:
        warn_user(f"{file}: {len(foreign)} lines are not event records and are skipped, the first is {foreign[0].line}")
    return [record for record in found if isinstance(record, JoinObserved)]
