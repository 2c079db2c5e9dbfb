"""The demo stops at a safe point, whoever tells it to."""

from __future__ import annotations

import os
import signal

import pytest

from thalweg.cli.demo.patience import HEARD, interrupts_wait


@pytest.mark.parametrize("number", HEARD)
def test_a_signal_is_heard_at_once_and_obeyed_where_that_is_safe(number: int):
    """A terminal that is closed must not leave the demo's files behind."""
    before, told = signal.getsignal(number), []
    with interrupts_wait(lambda: told.append(True)) as check:
        check()
        os.kill(os.getpid(), number)
        assert told == [True]
        with pytest.raises(KeyboardInterrupt):
            check()
    assert signal.getsignal(number) == before
