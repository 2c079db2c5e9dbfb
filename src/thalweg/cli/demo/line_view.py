"""The view for logs and pipes: one line a micro-batch, and one for each switch."""

from __future__ import annotations

from rich.console import Console

from thalweg.cli.demo.race import Race
from thalweg.cli.demo.wording import number
from thalweg.report.words import many

MOST_SWITCHES = 3
"""Written a micro-batch; the first ones, of a chain that knows nothing yet, bring many."""


class LineView:
    """Prints what is new since the last call."""

    def __init__(self, race: Race, console: Console) -> None:
        self._race = race
        self._console = console
        self._told = 0
        self._stage = ""

    def show(self) -> None:
        """After every change."""
        race = self._race
        if race.stage and race.stage != self._stage:
            self._stage = race.stage
            self._print(race.stage)
        done = min(len(race.plain.turns), len(race.thalweg.turns))
        if done == self._told:
            return
        self._told = done
        batch = done - 1
        if batch == race.shape.drift_at:
            self._print("--- drift: an incident begins, robots and errors everywhere ---")
        self._print(
            f"batch {done:2}/{race.shape.batches}  plain Spark {number(race.plain.turns[batch].rate):>8} rows/s"
            f"  Thalweg {number(race.thalweg.turns[batch].rate):>8} rows/s"
            f"  order: {', '.join(link.name for link in race.chain.links)}"
        )
        fresh = [switch for switch in race.chain.switches if switch.batch == batch]
        for switch in fresh[:MOST_SWITCHES]:
            self._print(f"    switch, worker {race.chain.worker_number(switch.worker)}: {switch.reason}")
        if len(fresh) > MOST_SWITCHES:
            self._print(f"    and {many(len(fresh) - MOST_SWITCHES, 'more switch', 'more switches')}")

    def _print(self, line: str) -> None:
        self._console.print(line, markup=False, highlight=False, soft_wrap=True)
