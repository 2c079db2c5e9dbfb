"""Excludes long-lived objects of a Python worker from garbage collection.

PySpark's workers run a full garbage collection after every task, which visits every object. With numba, pandas and
PyArrow loaded, this takes about 80 ms of a core. A micro-batch has many tasks, and hardly any of these objects is ever
freed. Frozen objects are still freed when nothing refers to them; only cycles among them are not.
"""

from __future__ import annotations

import gc
import itertools

ENOUGH_OBJECTS = 50_000
"""Fewer objects than this are visited in a few milliseconds."""
MOST_TIMES = 10
"""The maximum number of times to freeze. The first tasks load the modules; later objects belong to the user, and may
have cycles."""

_times = itertools.count()


def settle() -> bool:
    """Freeze all objects at the end of a task if there are many. Return whether they were frozen."""
    if len(gc.get_objects()) < ENOUGH_OBJECTS or next(_times) >= MOST_TIMES:
        return False
    gc.collect()
    gc.freeze()
    return True
