"""Compares the results in a folder with the checkpoint that a query continues from, before the query runs.

A checkpoint lists the micro-batches that were planned, and those that were committed. The results of a micro-batch are
written after it was planned, so results of a later one belong to a checkpoint that has lost files, or that is an old
copy: Spark would give its number to other rows.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict, deque
from collections.abc import Iterator

from thalweg.errors import CheckpointError, QueryError, warn_user
from thalweg.runtime.sink.batch_commit import decided_files, files_of, listed_batches, withdraw
from thalweg.runtime.sink.sink_log import NAME as LOG
from thalweg.runtime.sink.sink_log import SinkLog


def continue_tasks(log: SinkLog, folder: str, query: str, planned: int | None, committed: int | None) -> int:
    """Prepare a folder whose results tasks write. `planned` and `committed` are the last such micro-batches of the
    checkpoint. Write a log that was lost anew, and return how many files it has then; otherwise 0. Remove visible files
    of a commit that was interrupted, unless their micro-batch runs again with the same rows and their list is there."""
    refuse_old_checkpoint(log, folder, planned)
    results = _results(folder, query)
    latest, written = log.latest(), 0
    done = sorted(name for batch in results if batch <= _number(committed) for name in results[batch])
    if latest is None and done:
        assert committed is not None
        log.add(committed, done)
        latest, written = committed, len(done)
    elif unknown := sorted({os.path.basename(name) for name in done}.difference(log.names())):
        raise QueryError(
            f"{folder}/{LOG}, the log of the results, does not have {unknown[0]} and {len(unknown) - 1} other files of "
            f"this query, so Spark's readers do not see them. Restore {LOG}, or remove it, and start the query again: "
            "it writes the log anew from the files of the results"
        )
    elif latest is not None:
        _refuse_old_log(folder, latest, committed)
    for batch in {*results, *listed_batches(folder)}:
        if batch > _number(latest) and (batch > _number(planned) or decided_files(folder, query, batch) is None):
            withdraw(folder, batch, results.get(batch, ()))
    return written


def continue_spark(log: SinkLog, folder: str, planned: int | None, committed: int | None) -> None:
    """Check a folder whose results Spark's sink writes. One that is new, or was emptied, gets a log without files:
    Spark's readers expect a file for each micro-batch."""
    refuse_old_checkpoint(log, folder, planned)
    deque(log.names(), maxlen=0)
    latest = log.latest()
    if committed is None or _number(latest) >= committed:
        return
    if latest is None and next(_visible(folder), None) is None:
        os.makedirs(folder, exist_ok=True)
        log.add(committed, [])
        warn_user(
            f"the folder {folder} has no results, but the checkpoint of this query has results up to micro-batch "
            f"{committed}: the folder gets only those of later ones. If the earlier results are in another folder, "
            "stop the query, and start it with a new checkpoint and a new folder"
        )
        return
    _refuse_old_log(folder, _number(latest), committed)


def _refuse_old_log(folder: str, latest: int, committed: int | None) -> None:
    """Raise a QueryError if the log ends before the last micro-batch that was committed."""
    if committed is not None and latest < committed:
        raise QueryError(
            f"{folder}/{LOG}, the log of the results, has no file of micro-batch {committed}, which the checkpoint of "
            "this query has committed: it has lost files, the folder is an old copy, or the query has written to "
            "another folder meanwhile. Restore what is missing, or start the query with a new folder and a new "
            "checkpoint"
        )


def refuse_old_checkpoint(log: SinkLog, folder: str, planned: int | None) -> None:
    """Raise a CheckpointError if the log has a micro-batch that the checkpoint has not planned."""
    latest = log.latest()
    if latest is not None and latest > _number(planned):
        until = "has planned none" if planned is None else f"ends with micro-batch {planned}"
        raise CheckpointError(
            f"the folder {folder} has results up to micro-batch {latest}, and the checkpoint of this query {until}: it "
            "has lost its newest files in `offsets`, or is an old copy, or another query has written to the folder. "
            "Restore the checkpoint, or start this query with a new folder and a new checkpoint"
        )


def _results(folder: str, query: str) -> dict[int, list[str]]:
    """Return the visible files of a query by micro-batch, relative to the folder."""
    found = defaultdict[int, list[str]](list)
    of_query = re.compile(rf"(?:.*/)?part-(\d{{5,}})-\d+-{re.escape(query[:8])}-[^/]*\.parquet", re.DOTALL)
    for path in _visible(folder):
        if matched := of_query.fullmatch(path):
            found[int(matched[1])].append(path)
    return found


def _visible(folder: str) -> Iterator[str]:
    """Yield the files that Spark's readers take for data, relative to the folder. Folders that they do not enter may
    have copies of results, such as snapshots of a disk, or a checkpoint."""
    for place, name in files_of(folder):
        path = os.path.join(place, name).removeprefix(folder).lstrip("/")
        if not re.search(r"(^|/)(\.|_[^=/]*(/|$))", path):
            yield path


def _number(batch: int | None) -> int:
    """Return the number of a micro-batch; -1 if there is none."""
    return -1 if batch is None else batch
