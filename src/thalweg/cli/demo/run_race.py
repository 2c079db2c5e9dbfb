"""Runs the race: plain Spark and Thalweg take turns with the same micro-batches, one at a time.

On two cores, both sides would slow each other down if they ran at once. So each batch is given to one side and, when it
is done, to the other; the side that starts alternates. Both are warmed up with separate queries that are not counted.
What Thalweg learns in the warm-up is discarded; what it learns in the race is part of its time.
"""

from __future__ import annotations

import contextlib
import signal
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import thalweg as tw
from thalweg.cli.demo.predicates import PREDICATES
from thalweg.cli.demo.race import BatchTiming, Kept, Race
from thalweg.cli.demo.stream_files import FILES, StreamFiles

if TYPE_CHECKING:
    from thalweg.runtime.spark.demo_queries import LogQuery

REPORTED_WITHIN_S = 5.0
"""How long to wait for the observations of a micro-batch, which reach the driver shortly after it has ended."""
RACE_S = 60.0
WHOLE_S = 100.0
"""The demo takes less than two minutes. On a slow or busy machine it uses fewer lines."""

HANDLED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Ctrl-C, an ordinary kill, and a closed terminal. Each stops the demo, which then removes its files."""

Show = Callable[[], None]


def run_race(
    race: Race, keep: tw.Filters, folder: Path, show: Show, *, fit: bool = False, spark: Any = None
) -> None:  # fmt: skip
    """Run the race to its end, and call `show` after every turn.

    `fit`: use fewer lines if all of them would take too long. `spark`: a session to use and to leave running.
    """
    from thalweg.runtime.spark.demo_queries import start_session

    files = StreamFiles(folder / "stream")
    race.stage = f"starting Spark and generating {race.shape.rows:,} log lines"
    show()
    with interrupts_wait(race.stopping) as check:
        with ThreadPoolExecutor(2) as pool:
            written = pool.submit(files.write, race.shape, check)
            # not in the main thread, where Spark would handle Ctrl-C itself
            session = spark if spark is not None else pool.submit(start_session, folder).result()
        track = _Track(session, files, folder / "checkpoints", check)
        try:
            written.result()
            check()
            race.stage = "warming up both sides (not counted)"
            show()
            seconds = track.warm_up(race)
            if fit:
                race.shape = race.shape.fitted(seconds, min(RACE_S, race.began + WHOLE_S - time.monotonic()))
            race.stage = ""
            track.run(race, keep, show)
        finally:
            track.clear()
            if spark is None:
                session.stop()


class _Track:
    """The queries of one race."""

    def __init__(self, spark: Any, files: StreamFiles, checkpoints: Path, check: Callable[[], None]) -> None:
        self._spark = spark
        self._files = files
        self._checkpoints = checkpoints
        self._check = check
        self._queries: list[LogQuery] = []

    def _query(self, side: str, by: Callable[[Any], Any], *, once: bool = False) -> LogQuery:
        from thalweg.runtime.spark.demo_queries import LogQuery, log_stream

        stream = log_stream(self._spark, self._files.side(side), FILES)
        name = f"demo_{side}_{uuid.uuid4().hex[:8]}"
        query = LogQuery(stream.transform(by), name, self._checkpoints / name, check=self._check, once=once)
        self._queries.append(query)
        return query

    def warm_up(self, race: Race) -> float:
        """Start workers and compile code. Return the seconds the race would take at the speed of the last batches."""
        from thalweg.runtime.spark.demo_queries import plain_chain

        seconds = 0.0
        for side, by in (
            ("plain_warm", plain_chain(PREDICATES)),
            ("thalweg_warm", tw.filters(*PREDICATES, policy=race.policy)),
        ):
            for batch in range(race.shape.warm_up_batches):
                self._files.release(batch, side, FILES)
            _, last = self._query(side, by, once=True).wait_for_end()[-1]
            seconds += last * race.shape.batches
        return seconds

    def run(self, race: Race, keep: tw.Filters, show: Show) -> None:
        """Run all batches in turns, then collect what each side kept."""
        from thalweg.runtime.spark.demo_queries import plain_chain

        plain, ours = self._query("plain", plain_chain(PREDICATES)), self._query("thalweg", keep)
        sides = [("plain", race.plain, plain), ("thalweg", race.thalweg, ours)]
        for batch in range(race.shape.batches):
            for name, lane, query in sides if batch % 2 == 0 else reversed(sides):
                lane.busy = True
                self._files.release(batch, name, race.shape.files_a_batch)
                lane.turns.append(BatchTiming(*query.wait_for_batch()))
                lane.busy = False
                if lane is race.thalweg:
                    _follow(race, keep, batch)
                show()
        race.plain_kept, race.thalweg_kept = Kept.of(plain.kept()), Kept.of(ours.kept())

    def clear(self) -> None:
        """Stop all queries and drop the rows that they kept."""
        for query in self._queries:
            query.stop()


def _follow(race: Race, keep: tw.Filters, batch: int) -> None:
    until, latest = time.monotonic() + REPORTED_WITHIN_S, None
    while time.monotonic() < until:
        sections = keep.report().sections
        if sections and sections[-1].last_batch is not None and sections[-1].last_batch >= batch:
            latest = sections[-1]
            if latest.rows >= race.thalweg.rows:  # the records of the tasks of a micro-batch arrive one after the other
                break
        time.sleep(0.02)
    if latest is not None:
        race.chain.take(latest)


@contextlib.contextmanager
def interrupts_wait(acknowledge: Callable[[], None]) -> Iterator[Callable[[], None]]:
    """Yield a function that raises KeyboardInterrupt if a signal has arrived. Loops call it where they may stop: in the
    middle of a call to the JVM, Ctrl-C and similar signals break the connection.

    `acknowledge` is called as soon as the signal arrives, to show the user that it did.
    """
    pressed = threading.Event()

    def check() -> None:
        if pressed.is_set():
            raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():  # signals can be handled only in the main thread
        yield check
        return

    def press(number: int, frame: object) -> None:
        pressed.set()
        acknowledge()

    before = {number: signal.signal(number, press) for number in HANDLED}
    try:
        yield check
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
