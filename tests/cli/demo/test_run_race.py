"""The demo stops at a safe point, whichever signal stops it."""

from __future__ import annotations

import os
import signal

import pytest

from thalweg.cli.demo.run_race import HANDLED, interrupts_wait


@pytest.mark.parametrize("number", HANDLED)
def test_a_signal_is_acknowledged_at_once_and_handled_later(number: int) -> None:
    """If the terminal is closed, the demo must still remove its files."""
    before, acknowledged = signal.getsignal(number), []
    with interrupts_wait(lambda: acknowledged.append(True)) as check:
        check()
        os.kill(os.getpid(), number)
        assert acknowledged == [True]
        with pytest.raises(KeyboardInterrupt):
            check()
    assert signal.getsignal(number) == before
