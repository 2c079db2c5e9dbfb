"""A progress bar for long experiments, shown only on a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

T = TypeVar("T")


class Bar:
    """Shows which experiment is running, which of its cases, and how long it has taken so far."""

    def __init__(self, console: Console, experiments: int) -> None:
        self._progress = Progress(
            TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed:.0f}/{task.total:.0f}"),
            TimeElapsedColumn(), console=console, transient=True, disable=not console.is_terminal,
        )  # fmt: skip
        self._all = self._progress.add_task("experiments", total=experiments)
        self._cases = self._progress.add_task("", total=1, visible=False)

    def __enter__(self) -> Bar:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def begin(self, name: str) -> None:
        """Show that an experiment begins."""
        self._progress.reset(self._cases, description=name, total=1, visible=False)

    def done(self) -> None:
        """Show that the experiment is finished."""
        self._progress.advance(self._all)

    def track(self, cases: Sequence[T], /) -> Iterator[T]:
        """Iterate over the cases of the experiment, and show the progress."""
        self._progress.reset(self._cases, total=len(cases), visible=True)
        for case in cases:
            yield case
            self._progress.advance(self._cases)
