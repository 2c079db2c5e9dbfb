"""The command `thalweg demo`."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.live import Live

from thalweg.cli.failure import errors_in_one_sentence

ROWS = 2_400_000
QUICK_ROWS = 240_000
INTERRUPTED = 130


def demo(
    rows: Annotated[
        int | None,
        typer.Option(min=10_000, show_default=f"{ROWS:,}; {QUICK_ROWS:,} with --quick", help="Log lines to read."),
    ] = None,
    policy: Annotated[str, typer.Option(help="The policy that decides the order, such as 'sweep(p=0.02)'.")] = "auto",
    quick: Annotated[bool, typer.Option("--quick", help="Run a short version, with a tenth of the lines.")] = False,
    events: Annotated[Path | None, typer.Option(help="Append event records to this file for `thalweg report`.")] = None,
) -> None:
    """Watch a filter chain adapt to the data, next to plain Spark, on two cores of this machine (1 to 2 minutes)."""
    console = Console()
    with errors_in_one_sentence():
        try:
            run_demo(console, rows=rows, policy=policy, quick=quick, events=events)
        except KeyboardInterrupt:
            console.print("Stopped; Spark is shut down and its files are removed.")
            raise typer.Exit(INTERRUPTED) from None


def run_demo(
    console: Console,
    *,
    rows: int | None = None,
    policy: str = "auto",
    quick: bool = False,
    events: Path | None = None,
    spark: Any = None,
) -> None:
    """Run the demo on a console. If a Spark session is given, it is used and left running."""
    import thalweg as tw
    from thalweg.cli.demo.chain_state import ChainState
    from thalweg.cli.demo.predicates import PREDICATES
    from thalweg.cli.demo.race import Race
    from thalweg.cli.demo.run_race import run_race
    from thalweg.cli.demo.stream_files import StreamShape
    from thalweg.cli.demo.summary import summary

    if quick:
        shape = StreamShape.of(rows or QUICK_ROWS, batches=6, warm_up_batches=1)
    else:
        shape = StreamShape.of(rows or ROWS, batches=20, warm_up_batches=2)
    keep = tw.filters(*PREDICATES, policy=policy, events=None if events is None else str(events))
    race = Race(shape, policy, ChainState.of(PREDICATES))
    with (
        tempfile.TemporaryDirectory(prefix="thalweg-demo-", ignore_cleanup_errors=True) as folder,
        _view(race, console) as show,
    ):
        run_race(race, keep, Path(folder), show, fit=rows is None, spark=spark)
    console.print(summary(race))


@contextlib.contextmanager
def _view(race: Any, console: Console) -> Iterator[Callable[[], None]]:
    from thalweg.cli.demo.line_view import LineView
    from thalweg.cli.demo.live_view import LiveView

    if console.is_terminal and not console.is_dumb_terminal:
        with Live(LiveView(race), console=console, refresh_per_second=8) as live:
            yield live.refresh
    else:
        yield LineView(race, console).show
