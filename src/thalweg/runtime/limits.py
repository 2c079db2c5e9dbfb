"""The limits of a join where it runs: the memory of one loop, and the number of buckets.

A container may have less memory than its machine, and Spark may give its Python workers even less. The smallest limit
applies.

>>> 0 < memory_share() <= memory_of_process() // 2 < 2**48
True
>>> limits_of(1_000_000), limits_of(1_000_000, buckets=4)
(Limits(memory=1000000, buckets=1), Limits(memory=1000000, buckets=4))
"""

from __future__ import annotations

import contextlib
import os
import re
from functools import cache
from pathlib import Path
from typing import Any

from thalweg.plan.joins.limits import Limits

resource: Any = None
with contextlib.suppress(ImportError):  # Windows does not have it
    import resource

_CGROUPS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
"""The files with the memory limit of cgroups version 2 and version 1, as a container sees them."""
UNKNOWN_BYTES = 8 * 2**30
"""The assumed memory of a machine that does not report its own."""
PARALLELISM = 8
"""The number of tasks that run at once if the configuration of Spark does not say it."""


def limits_of(max_bytes: int | None, *, buckets: int | None = None, spark: Any = None) -> Limits:
    """Return the limits of a join: on Spark if `buckets` or `spark` is given, otherwise in this process, where one loop
    joins all rows.

    `max_bytes`: as the user sets it; None: half of the memory, on Spark divided by the cores. `buckets`: as the user or
    a checkpoint sets it; None: as many as tasks run at once in this SparkSession."""
    if buckets is None and spark is None:
        return Limits(max_bytes or memory_of_process() // 2)
    return Limits(max_bytes or memory_share(), buckets or min(parallelism(spark), partitions_of(spark)))


def partitions_of(spark: Any) -> int:
    """Return the number of partitions of a shuffle in a SparkSession."""
    return int(spark.conf.get("spark.sql.shuffle.partitions") or 200)


def parallelism(spark: Any) -> int:
    """Return the number of tasks that run at once, according to the configuration. Spark's own count is not used: on a
    cluster it depends on the current executors, but a checkpoint needs the same number of buckets every time."""

    def configured(key: str) -> int | None:
        found = spark.conf.get(f"spark.{key}", None)
        return int(found) if found else None

    if (parallelism := configured("default.parallelism")) is not None:
        return parallelism
    if found := re.match(r"local(?:\[(\d+|\*))?", master_of(spark)):
        return {None: 1, "*": os.cpu_count() or 1}.get(found[1]) or int(found[1])
    executors, cores = configured("executor.instances"), configured("executor.cores")
    if executors is not None and cores is not None:
        return executors * cores
    return configured("cores.max") or PARALLELISM


def master_of(spark: Any) -> str:
    """Return where a SparkSession runs its tasks, such as "local[4]"; empty if the configuration does not say it."""
    found: str | None = spark.conf.get("spark.master", None)
    return found or ""


@cache
def memory_of_process() -> int:
    """The memory this process may use, in bytes."""
    if resource is None:
        return _memory_of_machine()
    own, _ = resource.getrlimit(resource.RLIMIT_AS)  # spark.executor.pyspark.memory, per worker
    return _memory_of_machine() if own == resource.RLIM_INFINITY else min(_memory_of_machine(), own)


@cache
def memory_share() -> int:
    """The memory one of the tasks that run at once may use, in bytes: half of its share of the machine, and at most
    half of the limit of its process. Tasks share the machine, but not the limit of a process."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(_memory_of_machine() // 2 // cores, memory_of_process() // 2)


def _memory_of_machine() -> int:
    known = hasattr(os, "sysconf")
    limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if known else UNKNOWN_BYTES]
    for path in _CGROUPS:
        with contextlib.suppress(OSError, ValueError):  # the file does not exist, or contains "max"
            limits.append(int(Path(path).read_text(encoding="ascii")))
    return min(limits)
