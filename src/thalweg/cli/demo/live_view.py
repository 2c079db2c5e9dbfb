"""The live view for a terminal: both rates side by side, the chain in its current order, and each switch."""

from __future__ import annotations

import time

from rich import box
from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from thalweg.cli.demo.charts import ChartStyle, column_chart, share_bar
from thalweg.cli.demo.race import Lane, Race
from thalweg.formatting import duration, plural, rounded_percent, whole_number

PLAIN, THALWEG, DRIFT, FAINT = "yellow", "cyan", "bold magenta", "bright_black"
ORDINARY, INCIDENT = ("traffic of an ordinary day", "green"), ("⚡ drift: traffic of an incident", DRIFT)
KIND_WIDTH = 120
"""Terminals that are narrower than this do not show the kind of each predicate."""
BAR_WIDTH = 90
"""Terminals that are narrower than this show neither the bars nor where a predicate was written."""
MEAN_WIDTH = 32
"""The width from which a lane shows its mean."""
LINES_AT_THE_END = 5
"""The number of lines for switches in the last frame: a reason, and room for the summary below it."""
SWITCH_WIDTH = 18
"""The width of the batch and the worker of a switch."""


class LiveView:
    """Renders the current state of a race."""

    def __init__(self, race: Race) -> None:
        self._race = race
        self._spinner = Spinner("dots", style=THALWEG)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        race = self._race
        yield self._heading()
        if race.stage:
            self._spinner.update(text=Text(f"{race.stage}: {time.monotonic() - race.began:.0f} s"))
            yield self._spinner
            return
        chart_lines = min(max((console.height - 24) // 3, 3), 7) if not race.over else 3
        most = max((turn.rate for lane in (race.plain, race.thalweg) for turn in lane.turns), default=1.0)
        both = Table.grid(expand=True)
        both.add_column(ratio=1)
        both.add_column(ratio=1)
        both.add_row(
            *(
                self._lane(lane, style, most, chart_lines, options.max_width // 2 - 4)
                for lane, style in ((race.plain, PLAIN), (race.thalweg, THALWEG))
            )
        )
        yield both
        yield self._chain(options.max_width)
        left = console.height - chart_lines - len(race.chain.links) - 12
        yield self._switches(min(max(left, 2), 12) if not race.over else LINES_AT_THE_END, console, options.max_width)

    def _heading(self) -> Text:
        race = self._race
        text = Text.assemble(
            ("Thalweg demo", "bold"),
            f": find suspicious requests in {whole_number(race.shape.rows)} log lines with "
            f"{plural(len(race.chain.links), 'predicate')}\n{race.shape.batches} micro-batches, policy {race.policy}",
            no_wrap=True,
            overflow="ellipsis",
        )
        if not race.stage:
            text.append("; ")
            text.append_text(Text(*(INCIDENT if race.drifted else ORDINARY)))
        return text

    def _lane(self, lane: Lane, style: str, most: float, chart_lines: int, width: int) -> Panel:
        race, done = self._race, len(lane.turns)
        shape = race.shape
        rate = f"{whole_number(lane.turns[-1].rate)} rows/s" if done else "-"
        mean = f"   mean {whole_number(lane.rate)}" if done and width >= MEAN_WIDTH else ""
        rates = Text.assemble((rate, f"bold {style}"), (mean, FAINT))
        bar = Table.grid(expand=True)
        bar.add_column(ratio=1)
        bar.add_column(justify="right")
        bar.add_row(
            ProgressBar(total=shape.batches, completed=done, style=FAINT, complete_style=style, finished_style=style),
            Text.assemble(f" {done:>2}/{shape.batches}", (" ●" if lane.busy else "  ", style)),
        )
        chart = column_chart(
            [turn.rate for turn in lane.turns], most, shape.batches, chart_lines, width, mark_at=shape.drift_at,
            style=ChartStyle(style, FAINT, DRIFT),
        )  # fmt: skip
        title = Text(lane.title, f"bold {style}")
        if lane is race.thalweg and race.speed_up is not None:
            title.append(f": {race.speed_up:.1f} × as fast")
        panel = _panel(Group(rates, chart, bar), title, style)
        panel.subtitle = Text("rows/s per micro-batch, ┊ drift" if width >= MEAN_WIDTH else "rows/s, ┊ drift", FAINT)
        panel.subtitle_align = "right"
        return panel

    def _chain(self, width: int) -> Panel:
        table = Table(box=None, expand=True, padding=(0, 1), header_style=FAINT)
        table.add_column("#", justify="right", no_wrap=True, min_width=1)
        bars = width >= BAR_WIDTH
        table.add_column("predicate", no_wrap=True)
        if bars:
            table.add_column("moved", no_wrap=True)
        table.add_column("cost/row", justify="right", no_wrap=True)
        table.add_column("passes", justify="right", no_wrap=True)
        table.add_column(
            "rows that reach it" if bars else "reached by", justify="left" if bars else "right", no_wrap=True
        )
        if width >= KIND_WIDTH:
            table.add_column("kind", no_wrap=True, style=FAINT)
        for place, link in enumerate(self._race.chain.links, start=1):
            colour = "green" if place < link.written else "red" if place > link.written else FAINT
            reached = Text("-", FAINT)
            if link.reached is not None:
                bar = share_bar(link.reached, 14) if bars else ""
                reached = Text.assemble((bar, THALWEG), f" {rounded_percent(link.reached):>6}")
            table.add_row(
                Text(str(place), FAINT), Text(link.name, "bold"),
                *((Text(moved(link.written, place), colour),) if bars else ()),
                duration(link.cost_ns), rounded_percent(link.passes), reached,
                *((link.kind,) if width >= KIND_WIDTH else ()),
            )  # fmt: skip
        if self._race.chain.section is None:
            return _panel(table, Text("the predicates in the written order"), FAINT)
        panel = _panel(table, Text("the predicates in their current order"), FAINT)
        several = ", which may have run in several orders" if bars else ""
        panel.subtitle = Text(f"counts of the latest micro-batch{several}", FAINT)
        panel.subtitle_align = "right"
        return panel

    def _switches(self, lines: int, console: Console, width: int) -> Panel:
        """Show the latest switches whose reasons fit into the lines, and at least one."""
        chain, shape = self._race.chain, self._race.shape
        body = Table.grid(padding=(0, 1))
        body.add_column(no_wrap=True)
        body.add_column()
        left = lines
        for switch in reversed(chain.switches):
            left -= len(Text(switch.reason).wrap(console, width - SWITCH_WIDTH - 4))
            if left < 0 and body.row_count:
                break
            batch = switch.batch or 0
            body.add_row(
                Text.assemble(
                    (f"batch {batch + 1:>2}", DRIFT if batch >= shape.drift_at else "green"),
                    (f" worker {chain.worker_number(switch.worker)}", FAINT),
                ),
                switch.reason,
            )
        count = chain.section.switch_count if chain.section else 0
        title = Text(f"{plural(count, 'switch', 'switches')} of the order{', latest first' if count else ''}")
        return _panel(body if chain.switches else Text("none yet", FAINT), title, FAINT, height=lines + 2)


def _panel(content: Group | Table | Text, title: Text, style: str, height: int | None = None) -> Panel:
    return Panel(content, title=title, title_align="left", border_style=style, box=box.ROUNDED, height=height)


def moved(written: int, place: int) -> str:
    """Return how far a predicate is from the position where it was written.

    >>> moved(6, 1), moved(1, 3), moved(2, 2)
    ('▲ 5', '▼ 2', '·')
    """
    if written == place:
        return "·"
    return f"▲ {written - place}" if place < written else f"▼ {place - written}"
