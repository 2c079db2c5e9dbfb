"""Makes the files of a micro-batch visible, all of them exactly once, however often the micro-batch is run.

The driver calls `commit` with the files of the successful tasks. Its steps can be interrupted after any of them:

1. The list of the files is written at once as `.thalweg/<batch>.json`. From here on it is decided which files are the
   results of the micro-batch. If it is run again, this list is used and the files of the later run are dropped, because
   they may divide the same rows differently.
2. The files are moved to their final names. A move that was done before is skipped.
3. The micro-batch is added to Spark's log of the folder (`sink_log`). Spark's readers see its files now.
4. Everything else in `.thalweg` of this and earlier micro-batches is removed. The list stays until the next commit, in
   case another process, which should have ended, still commits the same micro-batch.

A micro-batch that is in Spark's log already is not written again. So a reader that uses the log sees a micro-batch as a
whole. A reader that lists `*.parquet` sees each row once; it may see some files of the newest micro-batch before the
others. None is taken back, unless files are removed from `.thalweg` before they are moved.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict

from thalweg.errors import CheckpointError, QueryError
from thalweg.runtime.sink.hidden_folder import DRAFT, HIDDEN, PROBE, create_once, make_folders
from thalweg.runtime.sink.sink_log import NAME as LOG
from thalweg.runtime.sink.sink_log import LogSettings, SinkLog
from thalweg.runtime.sink.staged_files import StagedFile, cannot_write, is_query_id, is_result, refuse_missing

OWNER = "query"
"""The file with the id of the query whose results are in the folder."""


def owner_of(folder: str) -> str | None:
    """Return the id of the query whose results are in a folder; None if there is none, or if a disk that lost its power
    has left the file empty. Raise a CheckpointError if the file has something else."""
    path = os.path.join(folder, HIDDEN, OWNER)
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            found = file.read().strip("\0")
    except FileNotFoundError:
        return None
    if found and not is_query_id(found):
        raise CheckpointError(
            f"the file {path}, which names the query that the results belong to, is damaged; remove it, and start that "
            "query again from its checkpoint: it writes the file anew"
        )
    return found or None


def forget_emptied(folder: str) -> None:
    """Remove what a query has left in a folder from which all visible files were removed, and the log with them: the
    folder is as good as new. Its hidden files must not become results of the next query."""
    hidden = os.path.join(folder, HIDDEN)
    if not os.path.isdir(hidden) or os.path.exists(os.path.join(folder, LOG)):
        return
    for place, name in files_of(folder):
        names = os.path.relpath(os.path.join(place, name), folder).split(os.sep)
        if not any(each.startswith(".") for each in names):  # unlike checksums of Hadoop, which `rm -r *` leaves
            return
    shutil.rmtree(hidden)


def disown_unused(folder: str) -> bool:
    """Remove the owner of a folder if it has no results there, not even of an interrupted commit. Return whether that
    is so."""
    hidden = os.path.join(folder, HIDDEN)
    if SinkLog(folder).latest() is not None or any(name.endswith(".json") for name in os.listdir(hidden)):
        return False
    os.unlink(os.path.join(hidden, OWNER))
    return True


def withdraw_interrupted(folder: str) -> None:
    """Remove the visible files of micro-batches whose commit was interrupted before they were in the log: Spark's sink
    will write their results again, under other names."""
    latest = SinkLog(folder).latest()
    for batch in listed_batches(folder):
        if latest is None or batch > latest:
            owner = owner_of(folder)
            withdraw(folder, batch, [] if owner is None else visible_of(folder, owner, batch))


def listed_batches(folder: str) -> list[int]:
    """Return the micro-batches whose lists of files are in a folder."""
    with suppress(FileNotFoundError):
        names = [name.partition(".") for name in os.listdir(os.path.join(folder, HIDDEN))]
        return [int(number) for number, _, ending in names if ending == "json" and number.isdigit()]
    return []


def withdraw(folder: str, batch: int, files: Iterable[str]) -> None:
    """Remove these visible files of a micro-batch that is not in the log, and its list."""
    for name in files:
        os.unlink(os.path.join(folder, name))
    with suppress(FileNotFoundError):
        os.unlink(os.path.join(folder, HIDDEN, f"{batch}.json"))


def visible_of(folder: str, query: str, batch: int) -> list[str]:
    """Return the files of a micro-batch that have their final names, whatever they were written with."""
    return [
        os.path.relpath(os.path.join(place, name), folder)
        for place, name in files_of(folder)
        if is_result(name, query, batch)
    ]


def decided_files(folder: str, query: str, batch: int) -> list[StagedFile] | None:
    """Return the files in the list of a micro-batch; None if there is none, if it is damaged, as a disk may leave it
    that lost its power, or if it is a list of other files."""
    try:
        with open(os.path.join(folder, HIDDEN, f"{batch}.json"), encoding="utf-8") as file:
            found = [StagedFile(**each) for each in json.load(file)]
            return found if all(is_result(os.path.basename(each.final), query, batch) for each in found) else None
    except (FileNotFoundError, ValueError, TypeError):
        return None


def files_of(folder: str) -> Iterator[tuple[str, str]]:
    """Yield the place and the name of each file outside the folder that is ours alone."""
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != HIDDEN]
        yield from ((place, name) for name in names)


class BatchCommit:
    """The commits of one query into one folder."""

    def __init__(self, folder: str, settings: LogSettings | None = None, run_again: int | None = None) -> None:
        """`run_again`: the micro-batch that had been planned, but not committed, when the query was started. It reads
        the same rows, but functions and tables may have changed, so it may have another number of results."""
        self._folder, self._run_again = folder, run_again
        self._log = SinkLog(folder, settings)

    def is_first(self) -> bool:
        """Whether nothing has been committed to the folder yet."""
        return self._log.latest() is None

    def commit(self, query: str, batch: int, files: Sequence[StagedFile]) -> bool:
        """Make the files visible. Return False if the results of the micro-batch were visible already."""
        refuse_missing(self._folder)
        try:
            return self._commit(query, batch, files)
        except OSError as error:
            raise cannot_write(self._folder, error) from None  # its text may contain values

    def _commit(self, query: str, batch: int, files: Sequence[StagedFile]) -> bool:
        # the log before any result: where it is missing, Spark's readers list the files
        make_folders(self._folder, HIDDEN, LOG)
        self.claim(query)
        latest = self._log.latest()
        if latest is not None and batch <= latest:
            self._refuse_foreign_log(query, batch, latest, files)
            self._clean_up(batch)
            return False
        decided = self._decide(query, batch, files)
        for file in decided:
            self._move(file)
        if not self._log.add(batch, [file.final for file in decided]):
            raise QueryError(
                f"micro-batch {batch} of the results in {self._folder} was committed by another process meanwhile: the "
                "query runs twice from one checkpoint; stop one of them"
            )
        self._clean_up(batch)
        return True

    def claim(self, query: str) -> None:
        """Raise a QueryError if the folder has the results of another query. The numbers of its micro-batches would be
        taken for those of this one."""
        make_folders(self._folder, HIDDEN)
        if owner_of(self._folder) is None:
            with suppress(FileNotFoundError):  # an empty one
                os.unlink(self._hidden(OWNER))
            create_once(self._folder, f"{HIDDEN}/{OWNER}", [query.encode()])
        if owner_of(self._folder) != query:
            raise QueryError(
                f"the folder {self._folder} has the results of another query (its id is in {HIDDEN}/{OWNER}), which "
                "was started from another checkpoint; give this query a new folder, or start it from the checkpoint of "
                "these results"
            )

    def _refuse_foreign_log(self, query: str, batch: int, latest: int, files: Sequence[StagedFile]) -> None:
        """Raise a QueryError if the log has other results under this number. Spark runs only the newest one again."""
        if batch < latest or not self._is_in_log(query, batch, files):
            raise QueryError(
                f"the folder {self._folder} has results up to micro-batch {latest}, and the checkpoint of this query "
                f"is at micro-batch {batch}: another query has written to the folder, or the checkpoint is an old "
                "copy. Start this query with a new folder and a new checkpoint"
            )

    def _is_in_log(self, query: str, batch: int, files: Sequence[StagedFile]) -> bool:
        """Whether the newest micro-batch of the log is that of this query, so that these files are not needed."""
        # its list stays until the next commit, unless the hidden folder was removed
        decided = decided_files(self._folder, query, batch)
        names = self._log.names_of(batch)
        if decided is not None:
            missing = {os.path.basename(file.final) for file in decided}
            missing.difference_update(names)
            same = batch == self._run_again or sum(file.rows for file in decided) == sum(file.rows for file in files)
            return not missing and same
        return not files or any(is_result(name, query, batch) for name in names)

    def _decide(self, query: str, batch: int, files: Sequence[StagedFile]) -> Sequence[StagedFile]:
        """Return the files that are the results of the micro-batch."""
        path = self._hidden(f"{batch}.json")
        content = [json.dumps([asdict(file) for file in files]).encode()]
        while not create_once(self._folder, f"{HIDDEN}/{batch}.json", content):
            decided = decided_files(self._folder, query, batch)
            # in this order, because another process may move a file in between; an empty list may be that of a
            # micro-batch whose entry in the log was removed, and deciding it again gives the same
            if decided and all(self._is_there(each.staged) or self._is_there(each.final) for each in decided):
                return decided
            # files of the earlier run, or its list, were lost, and nothing of it is in Spark's log
            moved = [each.final for each in decided] if decided else visible_of(self._folder, query, batch)
            for name in moved:
                with suppress(FileNotFoundError):
                    os.unlink(self._path(name))
            os.unlink(path)
        return files

    def _move(self, file: StagedFile) -> None:
        if "/" in file.final:
            os.makedirs(os.path.dirname(self._path(file.final)), exist_ok=True)
        try:
            os.rename(self._path(file.staged), self._path(file.final))
        except FileNotFoundError:
            if not self._is_there(file.final):
                raise QueryError(
                    f"a file of results that a task has written to {self._hidden()} is not there. If workers are on "
                    "other machines, the folder must be on a disk that they and the driver share; otherwise it was "
                    "removed. Start the query again: it continues with this micro-batch"
                ) from None

    def _clean_up(self, batch: int) -> None:
        """Remove what this and earlier micro-batches have left. Files that cannot be removed now are tried again by the
        next commit."""
        for name in os.listdir(self._hidden()):
            number, _, ending = name.partition(".")
            with suppress(OSError):
                if (
                    name.endswith(DRAFT)
                    or name.startswith(PROBE)
                    or (number.isdigit() and ending == "json" and int(number) < batch)
                ):
                    os.unlink(self._hidden(name))
                elif number.isdigit() and not ending and int(number) <= batch:
                    shutil.rmtree(self._hidden(name))

    def _path(self, name: str) -> str:
        return os.path.join(self._folder, name)

    def _hidden(self, name: str = "") -> str:
        return os.path.join(self._folder, HIDDEN, name)

    def _is_there(self, name: str) -> bool:
        return os.path.exists(self._path(name))
