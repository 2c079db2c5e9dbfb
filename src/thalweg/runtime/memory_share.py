"""How much memory this process may have, and how much of it one of the tasks that run at once may take.

A container has less than its machine, and Spark may give its Python workers less than that; the least counts.

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
with contextlib.suppress(ImportError):  # Windows has none
    import resource

_CGROUPS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
"""Of version 2 and version 1, as a container sees its own."""
UNKNOWN_BYTES = 8 * 2**30
"""Of a machine that does not say what it has."""


@cache
def memory_of_process() -> int:
    """What this process may have, in bytes."""
    if resource is None:
        return _memory_of_machine()
    own, _ = resource.getrlimit(resource.RLIMIT_AS)  # spark.executor.pyspark.memory, of each worker
    return _memory_of_machine() if own == resource.RLIM_INFINITY else min(_memory_of_machine(), own)


@cache
def memory_share() -> int:
    """Half of it for one of the tasks that run at once, which share the machine and not the limit of a process."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(_memory_of_machine() // 2 // cores, memory_of_process() // 2)


def _memory_of_machine() -> int:
    known = hasattr(os, "sysconf")
    limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if known else UNKNOWN_BYTES]
    for path in _CGROUPS:
        with contextlib.suppress(OSError, ValueError):  # there is none, or it says "max"
            limits.append(int(Path(path).read_text(encoding="ascii")))
    return min(limits)
