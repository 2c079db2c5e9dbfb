"""The view for logs and pipes: one line per micro-batch, and one per switch."""

from __future__ import annotations

from rich.console import Console

from thalweg.cli.demo.race import Race
from thalweg.formatting import plural, whole_number

MOST_SWITCHES = 3
"""The maximum number of switches printed per micro-batch. The first micro-batches have many, because the chain has
learned nothing yet."""


class LineView:
    """Prints the race as lines of text."""

    def __init__(self, race: Race, console: Console) -> None:
        self._race = race
        self._console = console
        self._printed = 0
        self._stage = ""

    def show(self) -> None:
        """Print what is new since the last call."""
        race = self._race
        if race.stage and race.stage != self._stage:
            self._stage = race.stage
            self._print(race.stage)
        done = min(len(race.plain.turns), len(race.thalweg.turns))
        if done == self._printed:
            return
        self._printed = done
        batch = done - 1
        if batch == race.shape.drift_at:
            self._print("--- drift: an incident begins; most requests now come from bots, and many fail ---")
        self._print(
            f"batch {done:2}/{race.shape.batches}  plain Spark {whole_number(race.plain.turns[batch].rate):>8} rows/s"
            f"  Thalweg {whole_number(race.thalweg.turns[batch].rate):>8} rows/s"
            f"  order: {', '.join(link.name for link in race.chain.links)}"
        )
        fresh = [switch for switch in race.chain.switches if switch.batch == batch]
        for switch in fresh[:MOST_SWITCHES]:
            self._print(f"    switch, worker {race.chain.worker_number(switch.worker)}: {switch.reason}")
        if len(fresh) > MOST_SWITCHES:
            self._print(f"    and {plural(len(fresh) - MOST_SWITCHES, 'more switch', 'more switches')}")

    def _print(self, line: str) -> None:
        self._console.print(line, markup=False, highlight=False, soft_wrap=True)
