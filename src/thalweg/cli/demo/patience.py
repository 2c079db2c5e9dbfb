"""Ctrl-C, or the end of the terminal, at a safe point: in the middle of a call to the JVM it breaks the connection."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator

HEARD = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Ctrl-C, an ordinary kill, and a terminal that is closed: each stops the demo, which then removes its files."""


@contextlib.contextmanager
def interrupts_wait(told: Callable[[], None]) -> Iterator[Callable[[], None]]:
    """Gives a function that raises KeyboardInterrupt when the demo was told to stop; a loop calls it where it may stop.

    `told` is called at once, to show that the key was heard.
    """
    pressed = threading.Event()

    def check() -> None:
        if pressed.is_set():
            raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():  # only there can signals be handled
        yield check
        return

    def press(number: int, frame: object) -> None:
        pressed.set()
        told()

    before = {number: signal.signal(number, press) for number in HEARD}
    try:
        yield check
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
