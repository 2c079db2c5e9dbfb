"""Compares folders of results and checkpoints, independently of how their paths are written.

Hadoop resolves a path as Spark does: a relative path with the working directory of the JVM, a path without a scheme
with the default file system. Links on the local disk are followed. On Connect only the text can be compared, because
the working directory of the server is not known: a relative and an absolute path are assumed to be different.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession

from thalweg.errors import CheckpointError, PlanError
from thalweg.runtime.checkpoint_parts import FOLDER, damaged
from thalweg.runtime.spark.sink.interrupted_job import is_interruption

USED = ("commits", "offsets", "sources", "state", FOLDER)
"""The folders of a checkpoint without which a query cannot continue."""


def qualified(spark: SparkSession, path: str) -> str:
    """Return a path in a unique form."""
    if not hasattr(spark, "_jvm"):
        return plain_path(path)
    place, files = opened_path(spark, path)
    with file_errors(path):
        found = str(files.makeQualified(place).toUri().toString())
    local = re.match(r"file:(?://)?(?=/)", found)
    return found.rstrip("/") if local is None else os.path.realpath(str(place.toUri().getPath()))


def hadoop_path(spark: SparkSession, path: str) -> str:
    """Return where Spark finds a path, with links as they are: an absolute path if it is on a local disk, otherwise a
    URI."""
    place, files = opened_path(spark, path)
    with file_errors(path):
        found = files.makeQualified(place).toUri()
    if str(found.getScheme()) == "file":
        return str(found.getPath()).rstrip("/") or "/"
    return str(found.toString())


def plain_path(path: str) -> str:
    """Return a path in the most unique form that its text allows.

    >>> plain_path("file:///a//b/"), plain_path("/a/c/../b"), plain_path("s3a://bucket//a/./")
    ('/a/b', '/a/b', 's3a://bucket/a')
    """
    path = re.sub(r"^file:(//)?(?=/)", "", path)
    scheme, separator, rest = path.rpartition("://")
    return f"{scheme}{separator}{posixpath.normpath(rest)}"


def refuse_one_folder(spark: SparkSession, checkpoint: str, path: str) -> None:
    """Raise a PlanError if a checkpoint is in the folder of the results, where it would be read as results. A hidden
    folder there, such as `_checkpoint`, is allowed."""
    places = [qualified(spark, each) for each in (checkpoint, path)]
    of_checkpoint, of_results = (f"{place.rstrip('/')}/" for place in places)
    if of_checkpoint == of_results:
        raise PlanError(f"checkpoint={checkpoint!r} is the folder of the results; give it another folder")
    if of_results.startswith(of_checkpoint):
        raise PlanError(f"path={path!r} is inside the checkpoint {checkpoint!r}; give the results a folder elsewhere")
    if re.match(r"(\.thalweg|_spark_metadata)/", of_checkpoint.removeprefix(of_results)):
        raise PlanError(
            f"checkpoint={checkpoint!r} is inside a folder that the sink manages; give it a folder elsewhere"
        )
    if of_checkpoint.startswith(of_results) and not re.search(r"(^|/)[_.]", of_checkpoint[len(of_results) :]):
        raise PlanError(
            f"checkpoint={checkpoint!r} is inside the folder of the results, where readers would take it for data; "
            "give it a folder elsewhere"
        )


def refuse_source_folder(results: DataFrame, path: str) -> None:
    """Raise a PlanError if results would be written to the folder from which a stream of the query reads its files:
    once it has a log of results, Spark would read only these. On Connect nothing is known of the sources."""
    spark = results.sparkSession
    if not hasattr(spark, "_jvm"):
        return
    leaves = results._jdf.queryExecution().analyzed().collectLeaves()
    for leaf in (leaves.apply(number) for number in range(leaves.size())):
        if leaf.getClass().getSimpleName() != "StreamingRelation":
            continue
        source = leaf.dataSource().options().get("path")
        if not source.isDefined():
            continue
        if qualified(spark, str(source.get())) == qualified(spark, path):
            raise PlanError(
                f"path={path!r} is the folder that a stream of this query reads; give the results another folder"
            )


def refuse_forbidden(spark: SparkSession, checkpoint: str) -> None:
    """Raise a CheckpointError if this user may not use a checkpoint on a local disk. Java reports files in a folder
    that it may not enter as missing, so it would be taken for a new one."""
    place = hadoop_path(spark, checkpoint) if hasattr(spark, "_jvm") else ""
    if place.startswith("/") and (why := forbidden(place)) is not None:
        raise CheckpointError(
            f"the checkpoint {checkpoint} cannot be used: {why}; let this user read and write the folder and all that "
            "is in it, or mount it for writing"
        )


def forbidden(folder: str) -> str | None:
    """Return why this user may not read and write a checkpoint and the folders of Spark in it; None if it is possible,
    or if the checkpoint does not exist. Other folders may be of others, such as `lost+found` on a disk of its own."""
    try:
        found = sorted({entry.name for entry in os.scandir(folder) if entry.is_dir()}.intersection(USED))
        for place in (folder, *(os.path.join(folder, name) for name in found)):
            os.listdir(place)
            if not os.access(place, os.R_OK | os.W_OK | os.X_OK):
                return f"{place} may not be written to"
    except FileNotFoundError:
        return None
    except OSError as error:
        return f"{error.filename}: {error.strerror}"
    return None


def running_query(spark: SparkSession, identity: str) -> str | None:
    """Return the name or id of the query with this id if it is running, in any session; None if this Spark session
    knows of no such query."""
    for query in spark.streams.active:
        if str(query.id) == identity:
            return query.name or identity
    if hasattr(spark, "_jvm"):  # all sessions of the application: Spark would stop their query
        jvm: Any = spark._jvm
        running = spark._jsparkSession.sharedState().activeStreamingQueries()
        other = running.get(jvm.java.util.UUID.fromString(identity))
        if other is not None:
            return str(other.name() or identity)
    return None


def text_in(spark: SparkSession, path: str) -> str | None:
    """Return the text of a file, or of the files in a folder; None if it does not exist."""
    if not hasattr(spark, "_jvm"):
        with file_errors(path):
            found = _on_connect(spark.read.text(path).collect)
            return None if found is None else "\n".join(row[0] for row in found)
    # without a Spark job, and without interpreting [ and { in a path as patterns
    jvm: Any = spark._jvm
    place, files = opened_path(spark, path)
    texts: list[str] = []
    with file_errors(path):
        if not files.exists(place):
            return None
        for status in files.listStatus(place):
            if status.isFile() and not re.match(r"[_.]", status.getPath().getName()):
                opened = files.open(status.getPath())
                try:
                    texts.append(str(jvm.org.apache.commons.io.IOUtils.toString(opened, "UTF-8")).rstrip("\n"))
                finally:
                    opened.close()
    return "\n".join(filter(None, texts))


def size_of(spark: SparkSession, path: str) -> int:
    """Return the bytes of a file. Not on Connect."""
    place, files = opened_path(spark, path)
    with file_errors(path):
        return int(files.getFileStatus(place).getLen())


def newest(spark: SparkSession, folder: str) -> int | None:
    """Return the highest number of a file in a folder of numbered files, as of micro-batches; None if there is none."""
    return max(numbered(spark, folder), default=None)


def numbered(spark: SparkSession, folder: str) -> dict[int, str]:
    """Return the names of the files in a folder of numbered files. A compact file replaces the other of its number."""
    names = sorted(path.rpartition("/")[2] for path in files_in(spark, folder))
    return {int(name.split(".")[0]): name for name in names if re.fullmatch(r"\d+(\.compact)?", name)}


def files_in(spark: SparkSession, folder: str) -> list[str]:
    """Return the paths of the files in a folder, or that of a file."""
    with file_errors(folder):
        if not hasattr(spark, "_jvm"):
            return _on_connect(spark.read.format("binaryFile").load(folder).inputFiles) or []
        place, files = opened_path(spark, folder)
        found = files.listStatus(place) if files.exists(place) else ()
        return [str(status.getPath()) for status in found if status.isFile()]


def _on_connect(read: Callable[[], list[Any]]) -> list[Any] | None:
    """Return what is read of files; None if they do not exist."""
    try:
        return read()
    except AnalysisException as error:
        if (error.getCondition() if hasattr(error, "getCondition") else error.getErrorClass()) == "PATH_NOT_FOUND":
            return None
        raise


def opened_path(spark: SparkSession, path: str) -> tuple[Any, Any]:
    """Return the path, and the file system it is on. Raise a PlanError if there is none."""
    jvm: Any = spark._jvm
    with file_errors(path):
        place = jvm.org.apache.hadoop.fs.Path(path)
        return place, place.getFileSystem(spark._jsparkSession.sessionState().newHadoopConf())


@contextmanager
def file_errors(path: str, *, writes: bool = False) -> Iterator[None]:
    """Raise errors of Hadoop's file systems as a PlanError, or as a CheckpointError if a checksum is wrong. Spark must
    recognize interruptions of a query that is stopped, so these stay as they are. `writes`: whether it writes."""
    failed = cannot_write if writes else _cannot_open
    try:
        yield
    except Py4JJavaError as error:
        java = error.java_exception
        if is_interruption(error):
            raise
        if java.getClass().getSimpleName() == "ChecksumException":
            raise damaged(path, "is damaged: its checksum, in a file .*.crc beside it, is another") from error
        raise failed(path, java.getMessage() or java.toString()) from error
    except PySparkException as error:  # PySpark has a class for some errors of Java
        raise failed(path, str(error).partition("\n")[0]) from error


def cannot_write(path: str, why: str) -> PlanError:
    """Return the error for a file of a checkpoint that cannot be written."""
    return PlanError(f"Spark cannot write {path!r}: {why}; free space on its disk, or let this user write to it")


def _cannot_open(path: str, why: str) -> PlanError:
    return PlanError(
        f"Spark cannot open {path!r}: {why}; correct the path, let this user read and write it, or add the library of "
        "its file system to Spark (spark.jars.packages)"
    )
