"""Ctrl-C at a safe point: an interrupt in the middle of a call to the JVM breaks the connection, with much noise."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def interrupts_wait(told: Callable[[], None]) -> Iterator[Callable[[], None]]:
    """Gives a function that raises KeyboardInterrupt when Ctrl-C was pressed; a loop calls it where it may stop.

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

    before = signal.signal(signal.SIGINT, press)
    try:
        yield check
    finally:
        signal.signal(signal.SIGINT, before)
