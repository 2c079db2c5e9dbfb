"""A time limit for each call of a predicate, in two steps.

The kernel's own timer sends a signal when the limit has passed, and its handler raises inside the predicate. That ends
Python code, sleeping, waiting for input, and the regular expressions of `re`, which look for signals while they
search. It does not end a C function that never looks for signals. In a Spark worker (`kills`) such a call is ended with
its process, by `faulthandler`'s timer, which needs no lock of the interpreter; that is one to two limits late, because
the timer is a thread and is not begun anew for every call. In a user's own process it is told when the call returns;
so it is outside the main thread, where Python runs no signal handlers.

A call that took too long has failed, whatever it did with what was raised inside it: a bare `except:` or a `return` in
`finally` swallows that, and `leave` raises again. As long as the call goes on (a function of one row that swallows it
is followed by the next row's), so does the handler, at ever shorter intervals.

Cost: the time is read twice a call. The timer runs on between calls; when it fires too early, it is set again.

>>> import re, time
>>> from thalweg.kernels import CallEnded
>>> limit = TimeLimit(0.05, ("slow",))
>>> with limit:
...     limit.enter(0)
...     try:
...         try:
...             _ = re.match("(a+)+b", "a" * 40)  # would take days
...         finally:
...             limit.leave()
...     except CallEnded as ended:
...         print(ended)
predicate 'slow' did not answer within the time limit of 0.05 s
"""

from __future__ import annotations

import faulthandler
import signal
import threading
import time
from collections.abc import Sequence
from types import FrameType
from typing import Any

from thalweg.kernels import CallEnded
from thalweg.kernels.answer import answer_by_array, answer_by_row

GRACE_S = 5.0
"""For a call to end after it was asked to, before its process is ended."""
SOON_S = 1e-3
"""For somebody's timer that ran out while ours stood in its place, and between two attempts to end a call, at least."""
AGAIN_S = 0.5
"""Until a call that goes on is ended once more: it may be closing what it opened. Then half as long each time."""
_CALLS = frozenset({answer_by_row.__code__, answer_by_array.__code__})
"""What a call runs in."""


class TimeLimit:
    """A sentry; use it as a context around the work, so that other people's timers and handlers come back."""

    def __init__(self, seconds: float, names: Sequence[str], kills: bool = False) -> None:
        self.seconds = seconds
        self._names = names
        self._kills = kills
        self._inside = -1
        self._begun = 0.0
        self._signals = False
        self._their_handler: Any = None
        self._theirs_due = 0.0
        self._their_interval = 0.0
        self._armed = 0.0
        self._again_s = AGAIN_S
        self._ended_at = 0.0  # when the call under way was last ended; 0: it was not

    def __enter__(self) -> TimeLimit:
        now = time.monotonic()
        self._signals = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
        if self._signals:
            self._their_handler = signal.signal(signal.SIGALRM, self._wake)
            remaining, self._their_interval = signal.setitimer(signal.ITIMER_REAL, self.seconds)
            self._theirs_due = now + remaining if remaining else 0.0
            self._set_timer(now)
        if self._kills:
            self._arm(now)
        return self

    def __exit__(self, *of: object) -> None:
        if self._kills:
            faulthandler.cancel_dump_traceback_later()
        if self._signals:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            signal.signal(signal.SIGALRM, self._their_handler or signal.SIG_DFL)
            if self._theirs_due:
                remaining = max(self._theirs_due - time.monotonic(), SOON_S)
                signal.setitimer(signal.ITIMER_REAL, remaining, self._their_interval)

    def enter(self, k: int) -> None:
        """Predicate k has so many seconds from now."""
        self._begun = now = time.monotonic()
        self._again_s, self._ended_at = AGAIN_S, 0.0
        self._inside = k
        if self._kills and now - self._armed > self.seconds:
            self._arm(now)

    def leave(self) -> None:
        """It has returned, or raised: too late is still too late."""
        k, self._inside = self._inside, -1
        if k >= 0 and time.monotonic() - self._begun >= self.seconds:
            raise self._ended(k)

    def _arm(self, now: float) -> None:
        """The process ends unless this is called again, or cancelled, in time."""
        self._armed = now
        faulthandler.dump_traceback_later(2 * self.seconds + GRACE_S, exit=True)

    def _set_timer(self, now: float) -> None:
        """To the end of the call under way, or of one that would begin now; earlier if somebody's alarm is."""
        if self._inside >= 0 and self._ended_at:
            due = self._ended_at + self._again_s
        else:
            due = (self._begun if self._inside >= 0 else now) + self.seconds
        if self._theirs_due:
            due = min(due, self._theirs_due)
        signal.setitimer(signal.ITIMER_REAL, max(due - now, SOON_S))

    def _wake(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        theirs = self._theirs_due and now >= self._theirs_due
        if theirs:
            self._theirs_due = now + self._their_interval if self._their_interval else 0.0
        k = self._inside
        late = k >= 0 and now - self._begun >= self.seconds
        if late and self._ended_at:
            # once the call is over, what was raised in it, or what `leave` raises, must not be raised into
            late = now >= self._ended_at + self._again_s and _in_a_call(frame)
            if late:
                self._again_s = max(self._again_s / 2, SOON_S)
        if late:
            self._ended_at = now
        self._set_timer(now)
        if theirs and callable(self._their_handler):
            self._their_handler(number, frame)
        if late:
            raise self._ended(k)

    def _ended(self, k: int) -> CallEnded:
        return CallEnded(f"predicate {self._names[k]!r} did not answer within the time limit of {self.seconds:g} s")


def _in_a_call(frame: FrameType | None) -> bool:
    while frame is not None and frame.f_code not in _CALLS:
        frame = frame.f_back
    return frame is not None
