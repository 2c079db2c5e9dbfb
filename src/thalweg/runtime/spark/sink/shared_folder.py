"""Finds out whether the workers of a cluster write to the same folder as the driver, by trying it."""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Iterator
from contextlib import suppress

import pyarrow as pa
from pyspark.sql import SparkSession

from thalweg.runtime.limits import parallelism
from thalweg.runtime.sink.hidden_folder import HIDDEN, PROBE

TRIES_PER_TASK = 2
"""The number of tries per task that runs at once, so that most executors take part. If an executor without the folder
comes later, its task fails, and Spark runs it on another one."""


def not_shared(spark: SparkSession, folder: str) -> str | None:
    """Return why tasks on other machines cannot write to a folder; None if they can."""
    created = _created(folder)
    probe = os.path.join(folder, HIDDEN, f"{PROBE}{secrets.token_hex(8)}")
    moved = os.path.join(folder, f".{os.path.basename(probe)}")
    tries = TRIES_PER_TASK * parallelism(spark)
    try:
        os.makedirs(os.path.dirname(probe), exist_ok=True)
        with open(probe, "w", encoding="utf-8"):
            pass

        def tried(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                found = [_try(probe, number) for number in batch.column(0).to_pylist()]
                yield pa.record_batch({"host": [socket.gethostname()] * len(found), "problem": found})

        answers = spark.range(0, tries, 1, tries).mapInArrow(tried, "host string, problem string").collect()
        for host, problem in answers:
            if problem is not None:
                return f"the worker {host} does not have the folder {folder} of the driver ({problem})"
        for number in range(tries):  # as a commit moves them
            os.rename(f"{probe}-{number}", moved)
        return None
    except FileNotFoundError:
        return f"the driver does not see what workers write to {folder}"
    except OSError as error:
        return f"the driver cannot write to {folder} ({error.strerror})"
    finally:
        for path in (moved, probe, *(f"{probe}-{number}" for number in range(tries))):
            with suppress(OSError):
                os.unlink(path)
        for path in created:
            with suppress(OSError):  # something else is in it by now
                os.rmdir(path)


def _try(probe: str, number: int) -> str | None:
    """Write a file next to that of the driver. Return what went wrong."""
    try:
        os.stat(probe)
        with open(f"{probe}-{number}", "x", encoding="utf-8"):
            return None
    except FileExistsError:  # an attempt of the same task was here
        return None
    except OSError as error:
        return error.strerror


def _created(folder: str) -> list[str]:
    """Return the folders that do not exist yet, the innermost first."""
    found = []
    path = os.path.join(folder, HIDDEN)
    while path and not os.path.exists(path):
        found.append(path)
        path = os.path.dirname(path)
    return found
