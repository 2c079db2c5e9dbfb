"""A time limit for each call of a predicate, in two steps.

The operating system's timer sends a signal when the limit has passed, and the signal handler raises inside the
predicate. That ends Python code, sleeping, waiting for input, and the regular expressions of `re`, which check for
signals while they search. It does not end a C function that never checks for signals. In a Spark worker (`kills`) such
a call is ended together with its process, by `faulthandler`'s timer, which does not need the interpreter lock. This
happens between one and two limits after the call began, plus `GRACE_S`, because the timer is a thread and is not
restarted for every call. In a user's process the error is raised when the call returns. The same holds outside the main
thread, where Python runs no signal handlers.

A call that took too long has failed, even if it catches the exception raised inside it: a bare `except:` or a `return`
in `finally` swallows it, and `leave` raises it again. As long as the call continues (if a function of one row swallows
the exception, the next row follows), the handler raises again, at ever shorter intervals.

Cost: the time is read twice per call. The timer keeps running between calls; if it fires too early, it is set again.

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
predicate 'slow' did not return within the time limit of 0.05 s
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
"""The time a call has to end after the exception, before its process is ended."""
SOON_S = 1e-3
"""The shortest delay: for the caller's timer that expired while ours replaced it, and between two attempts to end a
call."""
AGAIN_S = 0.5
"""The delay until the handler raises again in a call that continues; it may be closing resources. It is halved each
time."""
_CALLS = frozenset({answer_by_row.__code__, answer_by_array.__code__})
"""The code objects of the functions that call predicates."""


class TimeLimit:
    """A time limit for calls of predicates. Use it as a context manager around the work, so that the timers and
    handlers of the surrounding program are restored."""

    def __init__(self, seconds: float, names: Sequence[str], kills: bool = False) -> None:
        self.seconds = seconds
        self._names = names
        self._kills = kills
        self._inside = -1
        self._begun = 0.0
        self._signals = False
        self._outer_handler: Any = None
        self._outer_due = 0.0
        self._outer_interval = 0.0
        self._armed = 0.0
        self._again_s = AGAIN_S
        self._ended_at = 0.0  # when the handler last raised in the current call; 0 if it has not

    def __enter__(self) -> TimeLimit:
        now = time.monotonic()
        self._signals = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
        if self._signals:
            self._outer_handler = signal.signal(signal.SIGALRM, self._wake)
            remaining, self._outer_interval = signal.setitimer(signal.ITIMER_REAL, self.seconds)
            self._outer_due = now + remaining if remaining else 0.0
            self._set_timer(now)
        if self._kills:
            self._arm(now)
        return self

    def __exit__(self, *of: object) -> None:
        if self._kills:
            faulthandler.cancel_dump_traceback_later()
        if self._signals:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            signal.signal(signal.SIGALRM, self._outer_handler or signal.SIG_DFL)
            if self._outer_due:
                remaining = max(self._outer_due - time.monotonic(), SOON_S)
                signal.setitimer(signal.ITIMER_REAL, remaining, self._outer_interval)

    def enter(self, k: int) -> None:
        """Start the time limit for a call of predicate k."""
        self._begun = now = time.monotonic()
        self._again_s, self._ended_at = AGAIN_S, 0.0
        self._inside = k
        if self._kills and now - self._armed > self.seconds:
            self._arm(now)

    def leave(self) -> None:
        """End the time limit after the call has returned or raised. Raise if it took too long."""
        k, self._inside = self._inside, -1
        if k >= 0 and time.monotonic() - self._begun >= self.seconds:
            raise self._ended(k)

    def _arm(self, now: float) -> None:
        """Schedule the end of the process, unless this is called again or canceled in time."""
        self._armed = now
        faulthandler.dump_traceback_later(2 * self.seconds + GRACE_S, exit=True)

    def _set_timer(self, now: float) -> None:
        """Set the timer to the limit of the current call, or of a call that would begin now; earlier if an alarm of the
        surrounding program is due earlier."""
        if self._inside >= 0 and self._ended_at:
            due = self._ended_at + self._again_s
        else:
            due = (self._begun if self._inside >= 0 else now) + self.seconds
        if self._outer_due:
            due = min(due, self._outer_due)
        signal.setitimer(signal.ITIMER_REAL, max(due - now, SOON_S))

    def _wake(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        outer_is_due = self._outer_due and now >= self._outer_due
        if outer_is_due:
            self._outer_due = now + self._outer_interval if self._outer_interval else 0.0
        k = self._inside
        late = k >= 0 and now - self._begun >= self.seconds
        if late and self._ended_at:
            # once the call is over, do not raise while its exception, or that of `leave`, propagates
            late = now >= self._ended_at + self._again_s and _in_a_call(frame)
            if late:
                self._again_s = max(self._again_s / 2, SOON_S)
        if late:
            self._ended_at = now
        self._set_timer(now)
        if outer_is_due and callable(self._outer_handler):
            self._outer_handler(number, frame)
        if late:
            raise self._ended(k)

    def _ended(self, k: int) -> CallEnded:
        return CallEnded(f"predicate {self._names[k]!r} did not return within the time limit of {self.seconds:g} s")


def _in_a_call(frame: FrameType | None) -> bool:
    while frame is not None and frame.f_code not in _CALLS:
        frame = frame.f_back
    return frame is not None
