"""How much memory one of the tasks that run at once may take: half of what this process may have, shared by its cores.

A container has less than its machine, and Spark may give its Python workers less than that; the least counts.

>>> 0 < memory_share() < 2**48
True
"""

from __future__ import annotations

import contextlib
import os
import resource
from functools import cache
from pathlib import Path

_CGROUPS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
"""Of version 2 and version 1, as a container sees its own."""


@cache
def memory_share() -> int:
    """In bytes."""
    limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for path in _CGROUPS:
        with contextlib.suppress(OSError, ValueError):  # there is none, or it says "max"
            limits.append(int(Path(path).read_text(encoding="ascii")))
    shared = min(limits) // 2 // len(os.sched_getaffinity(0))
    own, _ = resource.getrlimit(resource.RLIMIT_AS)  # spark.executor.pyspark.memory, of each worker
    return shared if own == resource.RLIM_INFINITY else min(shared, own // 2)
