"""What the files in the folder `thalweg` of a checkpoint mean, and which of them are refused.

Each file is a part: a JSON object with the number of the format. The parts are bound at different moments, by different
threads:

- `question` and `state`: what the query is, and how its plan stores rows; before a query of a session starts.
- `sink`: that tasks write the results, and where; before such a query starts. Without it, Spark's sink writes them.
- `results`: the columns of these results, and the join that they are results of; before the first of them is visible.
  The state of each bucket describes the join too, but another one would be refused only in a task.
- `times`: the times of micro-batches, on which no result depends; now and then while the query runs.

Everything here is a function of texts, which `runtime/spark/checkpoint.py` reads and writes.

>>> text = SINK.text_of(Sink("/out", ("day",)))
>>> text
'{"folder": "/out", "format": 3, "partition_by": ["day"]}'
>>> SINK.meaning("checkpoint/thalweg/sink", text)
Sink(folder='/out', partition_by=('day',))
>>> SINK.meaning("checkpoint/thalweg/sink", text[:9])
Traceback (most recent call last):
    ...
thalweg.errors.CheckpointError: the file checkpoint/thalweg/sink of the checkpoint is damaged; restore it, or start the\
 query with a new checkpoint and a new folder for its results
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from difflib import SequenceMatcher
from typing import Any, Generic, Literal, TypeVar

from thalweg.errors import CheckpointError, PlanError, warn_user
from thalweg.plan.query.plan_state import PlanState
from thalweg.runtime.sink.staged_files import is_query_id
from thalweg.stats.batch_time import BatchTimes

FOLDER = "thalweg"
FORMAT = 3
EARLIER_SINK = "thalweg-sink"
"""A file of earlier formats beside the folder. The folder had files `part-...`, in which all else was."""
MOST_DIFFERENCES = 3
"""The number of differences between two queries that are quoted."""

T = TypeVar("T")


@dataclass(frozen=True)
class Part(Generic[T]):
    """A file in the folder `thalweg` of a checkpoint."""

    name: str
    read: Callable[[Mapping[str, Any]], T]
    """Returns what a JSON object means. Raises a ValueError if it is none of this part."""
    if_damaged: Literal["the start is refused", "written again", "counted anew"] = "the start is refused"
    """What becomes of it if it is damaged; `counted anew` with a warning."""
    plain: Callable[[Any], dict[str, Any]] = asdict
    """Returns the values for JSON."""

    def text_of(self, value: T) -> str:
        """Return the text of the file."""
        return json.dumps({"format": FORMAT, **self.plain(value)}, sort_keys=True)

    def meaning(self, path: str, text: str) -> T:
        """Return what the text of a file means. Raise a CheckpointError if it is damaged, or of another format."""
        found = parsed(path, text)
        number = found.pop("format", None)
        if isinstance(number, int) and number != FORMAT:
            raise _other_format(path, f"format {number}")
        try:
            if number == FORMAT:
                return self.read(found)
        except CheckpointError as error:
            raise CheckpointError(f"the file {path} of the checkpoint cannot be used: {error}") from None
        except ValueError:
            pass
        raise damaged(path)

    def found(self, path: str, text: Callable[[], str | None], is_begun: Callable[[], bool]) -> T | None:
        """Return what a file means. None if there is none, if it is empty because the query did not start, or if it
        can be written anew. `text`: returns its text. `is_begun`: whether a micro-batch has begun."""
        is_needed = self.if_damaged == "the start is refused"
        try:
            content = text()
            if content:
                return self.meaning(path, content)
            if content is not None and is_needed and is_begun():
                raise damaged(path, "is empty")
        except (CheckpointError, PlanError) as error:  # a PlanError if it cannot be read
            if self.if_damaged == "counted anew":
                warn_user(f"the {self.name} of micro-batches in {path} cannot be read, and are counted anew: {error}")
            elif is_needed or isinstance(error, PlanError):
                raise
        return None


@dataclass(frozen=True)
class Question:
    """What a query asks."""

    query: str
    """The hash of the question."""
    text: str
    """The text of the query, as it was written."""
    args: Mapping[str, str]
    """The values of the parameters."""

    @classmethod
    def read(cls, found: Mapping[str, Any]) -> Question:
        """Return the content of the part."""
        match found:
            case {"query": str(query), "text": str(text), "args": dict(args)}:
                return cls(query, text, args)
        raise ValueError(found)

    def __str__(self) -> str:
        values = ", ".join(f":{name} = {value}" for name, value in self.args.items())
        return f"{self.text}\n  with {values}" if values else self.text


@dataclass(frozen=True)
class StoredPlan:
    """How the plan of a query stores rows. The order is a hint, and is not compared."""

    state: PlanState
    order: tuple[str, ...]
    """The sources of a join in the order it started with."""

    @classmethod
    def read(cls, found: Mapping[str, Any]) -> StoredPlan:
        """Return the content of the part."""
        match found:
            case {"state": dict(parts), "order": [*order]} if _are_texts(order):
                state = PlanState.read(parts)
                kinds = [type(value) for name, value in vars(state).items() if name != "buckets"]
                if set(kinds) == {tuple} and isinstance(state.buckets, int | None):
                    return cls(state, tuple(order))
        raise ValueError(found)


@dataclass(frozen=True)
class Sink:
    """Where tasks write the results."""

    folder: str
    partition_by: tuple[str, ...]

    @classmethod
    def read(cls, found: Mapping[str, Any]) -> Sink:
        """Return the content of the part."""
        match found:
            case {"folder": str(folder), "partition_by": [*by]} if _are_texts(by):
                return cls(folder, tuple(by))
        raise ValueError(found)


@dataclass(frozen=True)
class Results:
    """The results that tasks have written. A start with other ones is refused, because readers would find both in one
    folder."""

    join: str | None
    """The description of their join, as its state has it; None for queries of a session, which have a question."""
    columns: tuple[tuple[str, str], ...]
    """The name and the type of each column."""
    partition_by: tuple[str, ...]

    @classmethod
    def read(cls, found: Mapping[str, Any]) -> Results:
        """Return the content of the part."""
        match found:
            case {"join": str() | None as join, "columns": [*columns], "partition_by": [*by]} if _are_texts(by) and all(
                isinstance(each, list) and len(each) == 2 and _are_texts(each) for each in columns
            ):
                return cls(join, tuple((name, kind) for name, kind in columns), tuple(by))
        raise ValueError(found)

    def refuse_other(self, checkpoint: str, now: Results, *, case_sensitive: bool) -> None:
        """Raise a CheckpointError if results have other columns now, or are in folders by other columns. The order of
        columns does not matter."""

        def folded(results: Results) -> tuple[list[tuple[str, str]], list[str]]:
            fold = str if case_sensitive else str.lower
            return sorted((fold(name), kind) for name, kind in results.columns), [*map(fold, results.partition_by)]

        if folded(self) != folded(now):
            raise CheckpointError(
                f"the checkpoint {checkpoint} belongs to results with the columns {self}, and not with {now}; start "
                "the query with the same columns, or give it its own checkpoint and folder"
            )

    def __str__(self) -> str:
        columns = ", ".join(map(" ".join, self.columns))
        return f"{columns} (partitionBy={list(self.partition_by)!r})" if self.partition_by else columns


QUESTION = Part("question", Question.read)
STATE = Part("state", StoredPlan.read)
SINK = Part("sink", Sink.read)
RESULTS = Part("results", Results.read, "written again")
TIMES = Part("times", BatchTimes.read, "counted anew", BatchTimes.to_dict)


def _are_texts(values: Iterable[Any]) -> bool:
    return all(isinstance(value, str) for value in values)


def refuse_another_question(
    checkpoint: str, begun: Question | None, now: Question | None, is_begun: Callable[[], bool]
) -> None:
    """Raise a CheckpointError if a checkpoint belongs to another question, which may be unknown. `now`: None for a join
    without a session."""
    if begun is None and now is not None and is_begun():
        raise CheckpointError(
            f"the checkpoint {checkpoint} belongs to an unknown Spark query that was started without a session, or has "
            f"lost its file {FOLDER}/{QUESTION.name}; restore that file, or give this query its own checkpoint and its "
            "own folder for results"
        )
    if begun is None or (now is not None and begun.query == now.query):
        return
    differences = ""
    if now is not None:
        changed = changed_words(str(begun), str(now))
        differences = f"  ({changed or 'its text is the same, but its streams have other times, columns or types'})\n"
    raise CheckpointError(
        f"the checkpoint {checkpoint} belongs to another query, whose state this one cannot use:\n"
        f"  {begun}\n{differences}"
        "Give this query its own checkpoint and its own folder for results, or start the other one again"
    )


def refuse_another_plan(checkpoint: str, begun: StoredPlan, now: StoredPlan) -> None:
    """Raise a CheckpointError if a checkpoint has the state of a plan of the same query that `now` cannot use."""
    if differences := "; ".join(begun.state.differences(now.state)):
        raise CheckpointError(
            f"the checkpoint {checkpoint} was created by this query with another plan, so its state has other rows: "
            f"{differences}. Start the query as it was started then, with the same on_error= and with functions "
            "declared safe= as they were, or give it its own checkpoint"
        )


def refuse_earlier(path: str, files: Iterable[str]) -> None:
    """Raise a CheckpointError if one of the files at this path of a checkpoint is that of an earlier format."""
    if any(re.search(rf"/({FOLDER}|{EARLIER_SINK}|{FOLDER}/part-[^/]*)$", file) for file in files):
        raise _other_format(path, "an earlier format")


def identity_of(path: str, text: str | None, is_begun: Callable[[], bool]) -> str | None:
    """Return the id of a query from the text of Spark's file; None if there is none, because the checkpoint was never
    used. Raise a CheckpointError if the file is damaged or lost."""
    hint = ' (it is {"id":"..."} with the id that the file .thalweg/query in the folder of the results has)'
    if text is None:
        if is_begun():
            raise damaged(path, "is missing", hint)
        return None
    match parsed(path, text, hint):
        case {"id": str(found)} if is_query_id(found):
            return found
    raise damaged(path, hint=hint)


def parsed(path: str, text: str, hint: str = "") -> dict[str, Any]:
    """Return the JSON object in a file of a checkpoint. Raise a CheckpointError if the file is damaged."""
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise damaged(path, hint=hint)
    return found


def damaged(path: str, what: str = "is damaged", hint: str = "") -> CheckpointError:
    """Return the error for a file of a checkpoint that cannot be understood. `hint`: how to restore it."""
    return CheckpointError(
        f"the file {path} of the checkpoint {what}; restore it{hint}, or start the query with a new checkpoint and a "
        "new folder for its results"
    )


def _other_format(path: str, what: str) -> CheckpointError:
    return CheckpointError(
        f"the file {path} of the checkpoint has {what}, but this version reads format {FORMAT}; use the version that "
        "created it, or give this query its own checkpoint and its own folder for results"
    )


def changed_words(before: str, now: str) -> str:
    """Return the first differences of two texts as a part of a sentence, each with the words around it; empty if there
    are none. Upper and lower case count only if nothing else differs.

    >>> print(changed_words("SELECT a FROM s [RANGE 5 SECONDS] WHERE a > 1", "select a from s [range 6 seconds]"))
    it had 'RANGE 5 SECONDS'; now there is 'range 6 seconds'; it had '] WHERE a > 1'; now there is ']'
    >>> print(changed_words("SELECT 'A'", "SELECT 'a'"))
    it had "'A'"; now there is "'a'"
    """
    return _changed(before, now, str.casefold) or _changed(before, now, str)


def _changed(before: str, now: str, folded: Callable[[str], str]) -> str:
    old, new = ([*re.finditer(r"\w+|[^\w\s]", text)] for text in (before, now))
    compared = SequenceMatcher(None, [folded(word[0]) for word in old], [folded(word[0]) for word in new], False)
    parts = compared.get_opcodes()
    return "; ".join(
        f"it had {_quoted(old, a, b)!r}; now there is {_quoted(new, c, d)!r}"
        for kind, a, b, c, d in [part for part in parts if part[0] != "equal"][:MOST_DIFFERENCES]
    )


def _quoted(words: list[re.Match[str]], begin: int, end: int) -> str:
    """Return these words, and one before and after them, as they are written."""
    around = words[max(begin - 1, 0) : end + 1]
    return around[0].string[around[0].start() : around[-1].end()] if around else ""
