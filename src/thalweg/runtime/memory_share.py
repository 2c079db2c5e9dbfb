"""The memory that this process may use, and the share of it for one of the tasks that run at once.

A container may have less memory than its machine, and Spark may give its Python workers even less. The smallest limit
applies.

>>> 0 < memory_share() <= memory_of_process() // 2 < 2**48
True
"""

from __future__ import annotations

import contextlib
import os
from functools import cache
from pathlib import Path
from typing import Any

resource: Any = None
with contextlib.suppress(ImportError):  # Windows does not have it
    import resource

_CGROUPS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
"""The files with the memory limit of cgroups version 2 and version 1, as a container sees them."""
UNKNOWN_BYTES = 8 * 2**30
"""The assumed memory of a machine that does not report its own."""


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
