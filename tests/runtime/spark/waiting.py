"""Waiting for what arrives from another thread: bounded, and with a reason when it does not come."""

from __future__ import annotations

import time
from collections.abc import Callable


def wait_until(true: Callable[[], bool], what: str, seconds: float = 30.0) -> None:
    """Return as soon as it is true; fail after `seconds`."""
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, f"after {seconds} s still not: {what}"
        time.sleep(0.05)
