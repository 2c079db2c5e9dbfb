"""Reads and writes the parts of a checkpoint, wherever it is. `runtime/checkpoint_parts.py` says what they mean."""

from __future__ import annotations

import uuid
from typing import Any, TypeVar

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from thalweg.errors import PlanError
from thalweg.runtime.checkpoint_parts import (
    EARLIER_SINK,
    FOLDER,
    QUESTION,
    STATE,
    Part,
    Question,
    StoredPlan,
    damaged,
    identity_of,
    refuse_another_question,
    refuse_earlier,
)
from thalweg.runtime.spark.sql.checkpoint_folders import (
    cannot_write,
    file_errors,
    files_in,
    newest,
    opened_path,
    size_of,
    text_in,
)

T = TypeVar("T")


class Checkpoint:
    """The folder of a checkpoint. Without a JVM to call, as on Connect, Spark reads and writes the parts, and each of
    them is a folder with a file."""

    def __init__(self, spark: SparkSession, folder: str) -> None:
        self._spark, self.folder = spark, folder

    def __str__(self) -> str:
        return self.folder

    def path(self, name: str) -> str:
        """Return the path of a file or folder in it."""
        return f"{self.folder.rstrip('/')}/{name}"

    def batches(self) -> tuple[int | None, int | None]:
        """Return the last micro-batch that was planned, and the last one that was committed."""
        return newest(self._spark, self.path("offsets")), newest(self._spark, self.path("commits"))

    def is_begun(self) -> bool:
        """Whether a micro-batch has begun."""
        return newest(self._spark, self.path("offsets")) is not None

    def identity(self) -> str | None:
        """Return the id of the query that it belongs to, which Spark writes before the first micro-batch; None if it
        was never used. Raise a CheckpointError if the file with the id is damaged or lost."""
        path = self.path("metadata")
        return identity_of(path, text_in(self._spark, path), self.is_begun)

    def refuse_earlier(self) -> None:
        """Raise a CheckpointError if it has files of an earlier format."""
        for name in (FOLDER, EARLIER_SINK):
            refuse_earlier(self.path(name), files_in(self._spark, self.path(name)))

    def plan_of(self, question: Question | None) -> StoredPlan | None:
        """Return the plan with which a query of a session was started; None if it is new, or for a join without a
        session. Raise a CheckpointError if it belongs to another question, or if a part is damaged or lost."""
        begun = self.read(QUESTION)
        refuse_another_question(self.folder, begun, question, self.is_begun)
        plan = None if begun is None else self.read(STATE)
        if begun is not None and plan is None:
            raise damaged(self._path(STATE), "is missing")
        return plan

    def read(self, part: Part[T]) -> T | None:
        """Return the content of a part; None if there is none, or none that is needed."""
        path = self._path(part)
        return part.found(path, lambda: text_in(self._spark, path), self.is_begun)

    def write(self, part: Part[T], value: T) -> None:
        """Write a part, as a whole or not at all."""
        self._replace(part, part.text_of(value))

    def create(self, part: Part[T], value: T, *, replaces: bool = False) -> None:
        """Write a part. Raise a PlanError if another start has written it meanwhile, unless this one `replaces` it. The
        file is never missing meanwhile, so that a kill cannot leave a checkpoint that seems to have had none."""
        path = self._path(part)
        place, files = opened_path(self._spark, path)
        with file_errors(path):
            # a process that was killed while it wrote the file has left it empty
            overwrites = replaces or (bool(files.exists(place)) and not size_of(self._spark, path))
        try:
            opened = files.create(place, overwrites)
        except Py4JJavaError as error:
            raise PlanError(
                f"the checkpoint {self.folder} cannot be created ({error.java_exception.getMessage()}): another query "
                "is being started with it, or it cannot be written; give this query its own checkpoint"
            ) from error
        _fill(opened, path, part.text_of(value))

    def remove(self, part: Part[Any]) -> None:
        """Remove a part, because the query did not start."""
        if not hasattr(self._spark, "_jvm"):
            self._replace(part, "")
            return
        path = self._path(part)
        place, files = opened_path(self._spark, path)
        with file_errors(path, writes=True):
            files.delete(place, True)

    def _replace(self, part: Part[Any], text: str) -> None:
        path = self._path(part)
        if not hasattr(self._spark, "_jvm"):
            rows = [(text,)] if text else []
            self._spark.createDataFrame(rows, "value string").coalesce(1).write.mode("overwrite").text(path)
            return
        place, files = opened_path(self._spark, path)
        draft, _ = opened_path(self._spark, self.path(f"{FOLDER}/.{part.name}-{uuid.uuid4().hex}"))
        with file_errors(path, writes=True):
            opened = files.create(draft, False)
        _fill(opened, path, text)
        with file_errors(path, writes=True):
            files.delete(place, True)  # an older one
            if not files.rename(draft, place):
                raise cannot_write(path, "the file cannot be moved to this name")

    def _path(self, part: Part[Any]) -> str:
        return self.path(f"{FOLDER}/{part.name}")


def _fill(opened: Any, path: str, text: str) -> None:
    with file_errors(path, writes=True):
        try:
            opened.write(bytearray(text.encode()))
        finally:
            opened.close()
