"""What lies on a Python worker's heap for good is taken out of its garbage collector's sight.

PySpark's workers collect all garbage after every task, which looks at every object there is: with numba, pandas and
PyArrow loaded that takes some 80 ms of a core, tasks of a micro-batch are many, and hardly any of those objects ever
goes. Frozen, they are still freed when nothing refers to them; only cycles among them are not.
"""

from __future__ import annotations

import gc
import itertools

ENOUGH_OBJECTS = 50_000
"""Fewer are looked at in some milliseconds."""
MOST_TIMES = 10
"""Modules come with the first tasks; should objects go on coming, they are not ours, and may have cycles."""

_times = itertools.count()


def settle() -> bool:
    """At the end of a task: freeze what there is if it is much. Says whether it was."""
    if len(gc.get_objects()) < ENOUGH_OBJECTS or next(_times) >= MOST_TIMES:
        return False
    gc.collect()
    gc.freeze()
    return True
