"""Delays Ctrl-C and similar signals to a safe point: in the middle of a call to the JVM they break the connection."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator

HANDLED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Ctrl-C, an ordinary kill, and a closed terminal. Each stops the demo, which then removes its files."""


@contextlib.contextmanager
def interrupts_wait(acknowledge: Callable[[], None]) -> Iterator[Callable[[], None]]:
    """Yield a function that raises KeyboardInterrupt if a signal has arrived. Loops call it where they may stop.

    `acknowledge` is called as soon as the signal arrives, to show the user that it did.
    """
    pressed = threading.Event()

    def check() -> None:
        if pressed.is_set():
            raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():  # signals can be handled only in the main thread
        yield check
        return

    def press(number: int, frame: object) -> None:
        pressed.set()
        acknowledge()

    before = {number: signal.signal(number, press) for number in HANDLED}
    try:
        yield check
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
