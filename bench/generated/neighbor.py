"""A noisy neighbor: a process that takes the measured process's core in bursts of random length.

The measured process and the neighbor are pinned to the same core; if the system cannot pin processes, there is one
neighbor per core.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

BURST_S = (0.002, 0.2)
"""The shortest and the longest burst, and the same for pauses; lengths are log-uniform."""


@contextmanager
def neighbor(seed: int) -> Iterator[None]:
    """Share the core with a neighbor within the block."""
    here = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_setaffinity") else []
    cores = here[-1:] or [-1] * (os.cpu_count() or 1)
    command = [sys.executable, "-m", "bench.generated.neighbor"]
    started = [subprocess.Popen([*command, str(core), str(seed), str(os.getpid())]) for core in cores]
    try:
        if here:
            os.sched_setaffinity(0, cores)
        yield
    finally:
        if here:
            os.sched_setaffinity(0, here)
        for process in started:
            process.terminate()
            process.wait()


def disturb(core: int, seed: int, parent: int) -> None:
    """Alternate between busy and idle while the measured process runs."""
    if core >= 0:
        os.sched_setaffinity(0, [core])
    rng = np.random.default_rng(seed)
    low, high = np.log(BURST_S)
    while os.getppid() == parent:
        until = time.perf_counter() + float(np.exp(rng.uniform(low, high)))
        while time.perf_counter() < until:
            pass
        time.sleep(float(np.exp(rng.uniform(low, high))))


if __name__ == "__main__":
    disturb(*map(int, sys.argv[1:4]))
