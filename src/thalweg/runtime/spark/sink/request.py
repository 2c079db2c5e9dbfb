"""What a user asks for when a query is started: the format, the path, and the options of the files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from thalweg.errors import PlanError
from thalweg.runtime.sink.given_folder import given_folder
from thalweg.runtime.spark.checkpoint import Checkpoint

TASKS, SPARK = "tasks", "spark"


@dataclass(frozen=True)
class SinkRequest:
    """Where results shall go."""

    kind: str
    """The name of the format in Spark."""
    path: str | None
    options: Mapping[str, Any]
    """The options of Spark's sink, without `partitionBy` and `path`."""
    partition_by: tuple[str, ...]
    checkpoint: Checkpoint | None
    """None if Spark uses a temporary one."""
    asked: str | None
    """`tasks` or `spark` if the user asks for one of them."""

    @classmethod
    def of(
        cls, kind: str, path: str | None, options: Mapping[str, Any], checkpoint: Checkpoint | None, sink: str | None
    ) -> SinkRequest:
        """Check the arguments of a start."""
        if sink not in (None, TASKS, SPARK):
            raise PlanError(
                f"sink={sink!r}: use 'tasks' (the tasks that find results write them), 'spark' (Spark's own sink), or "
                "leave it out"
            )
        if not isinstance(kind, str) or not kind:
            raise PlanError(f"format={kind!r}: give the name of a format, such as 'parquet'")
        rest, taken = dict(options), dict[str, Any]()
        for name in options:
            if name.lower() in ("partitionby", "path"):
                taken[name.lower()] = rest.pop(name)
        in_options = given_folder("the option path", taken.get("path"))
        if None not in (path, in_options) and path != in_options:
            raise PlanError(f"path={path!r} and the option path={in_options!r} differ; give only one of them")
        return cls(kind, path or in_options, rest, _names(taken.get("partitionby", ())), checkpoint, sink)

    def option(self, *names: str) -> Any:
        """Return the value of an option, whose name is written in any case; None if it is not given."""
        return next((value for name, value in self.options.items() if name.lower() in names), None)

    def resolved(self, columns: Sequence[str], *, case_sensitive: bool) -> SinkRequest:
        """Return it with the names of the columns as they are in the results. Raise a PlanError if results cannot be
        partitioned by them."""
        found = []
        for name in self.partition_by:
            same = [c for c in columns if c == name or (not case_sensitive and c.lower() == name.lower())]
            if not same:
                raise PlanError(
                    f"partitionBy={list(self.partition_by)!r}: there is no column {name!r}; the columns are "
                    f"{', '.join(columns)}"
                )
            found.append(name if name in same else same[0])
        if len(set(found)) < len(found):
            raise PlanError(f"partitionBy={list(self.partition_by)!r} has a column twice; name it once")
        if found and set(columns) <= set(found):
            raise PlanError(
                f"partitionBy={list(self.partition_by)!r} has all columns, so files would have none; leave one out"
            )
        return replace(self, partition_by=tuple(found))


def refuse_wrong_names(options: Mapping[str, Any]) -> None:
    """Raise a PlanError if the name of an option is not a string, or an option is given twice, in two spellings: Spark
    would use one of them and ignore the other."""
    spellings: dict[str, str] = {}
    for name in options:
        if not isinstance(name, str):
            raise PlanError(f"options: {name!r} is not the name of an option; give a string")
        if (other := spellings.setdefault(name.lower(), name)) != name:
            raise PlanError(f"options: {other!r} and {name!r} are the same option; give it once")


def _names(given: Any) -> tuple[str, ...]:
    """Return the columns of `partitionBy`, which is a list or a comma-separated string."""
    listed = given.split(",") if isinstance(given, str) else given
    names: list[Any] = [None]
    if isinstance(listed, (list, tuple)):
        names = [name.strip() if isinstance(name, str) else name for name in listed]
    if not all(isinstance(name, str) and name for name in names) or len(set(names)) < len(names):
        raise PlanError(f"partitionBy={given!r}: give the names of columns, each once: ['day', 'country']")
    return tuple(names)
