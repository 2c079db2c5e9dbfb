"""The options of the loop of a join, multiway or tree: its policy, its limits, and whether it can be saved."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from thalweg.adapt import Chosen, Settings
from thalweg.errors import JoinLimitError
from thalweg.formatting import byte_size, plural
from thalweg.kernels.multiway_join import RESULTS
from thalweg.kernels.probe_chain import ProbeChain
from thalweg.kernels.window_store import WindowStore
from thalweg.plan.joins.graph import JoinTree

MOST_MATCHES = 10_000_000
"""The most results one row may have; far more than any useful query needs."""

OnProbe = Callable[[Callable[[], int], str, int], None]
"""Called with the clock, the name of the input that is probed, and the number of rows that probe it."""
MakeChain = Callable[[JoinTree, Mapping[str, WindowStore], Callable[[], int]], ProbeChain]


@dataclass(frozen=True, slots=True)
class JoinLimits:
    """The limits of one loop. A row or a batch that exceeds one raises `JoinLimitError`."""

    max_matches: int = MOST_MATCHES
    """The most matches by its keys that one row may have."""
    max_bytes: int | None = None
    """The memory that the windows and a tree's inner results may use together; None for no limit."""
    in_buckets: bool = False
    """Whether these are the windows of one bucket among others."""
    inner: bool = True
    """Whether a tree checks the memory of its windows and kept sub-joins before it stores rows. It does not if the plan
    can change: then kept sub-joins leave out what has no room, and the plan is changed after the batch."""

    def too_many_matches(self, stream: str, keys: str) -> JoinLimitError:
        """Return the error for a row with too many matches. `keys`: the row's keys as text; empty with `redact`."""
        return JoinLimitError(
            f"one row of {stream}{f' ({keys})' if keys else ''} has more than "
            f"{plural(self.max_matches, 'match', 'matches')} by its keys. Such a common key is rarely "
            "intended: filter it out before the join, add an equality, make windows shorter, or raise max_matches= of "
            "tw.join or s.query (or spark.thalweg.max_matches, THALWEG_MAX_MATCHES)"
        )

    def too_much_memory(self, held: Iterable[tuple[str, WindowStore]], inner: bool = False) -> JoinLimitError:
        """Return the error for windows that need too much memory. `held`: all stores that count, by name. `inner`:
        whether inner results are among them."""
        assert self.max_bytes is not None
        sizes = ", ".join(f"{name} {byte_size(store.nbytes)} in {plural(len(store), 'row')}" for name, store in held)
        spread = "spread the join over more buckets=, " if self.in_buckets else ""
        order = "join in an order with smaller inner results, " if inner else ""
        return JoinLimitError(
            f"the windows {'and inner results ' if inner else ''}would hold more than "
            f"{byte_size(self.max_bytes)} of memory ({sizes}): make windows shorter, select= fewer columns, "
            f"{spread}{order}or raise max_bytes= of tw.join or s.query (or spark.thalweg.max_bytes, THALWEG_MAX_BYTES)"
        )


@dataclass(frozen=True, slots=True)
class JoinOptions:
    """The options of one loop."""

    policy: Chosen
    profile: Settings | None = None
    """The profiling settings of the policy; None if it does not profile."""
    slice_rows: int | None = None
    limits: JoinLimits = JoinLimits()
    redact: bool = False
    """Whether no value of a row may be shown."""
    snapshots: bool = False
    """Whether windows track the changes that have to be saved."""
    results: int = RESULTS
    """The number of results that are put together at a time."""
    chain: MakeChain = ProbeChain
    """Makes the probes of a multiway join. A simulation uses another one, which counts virtual time."""
    probed: OnProbe | None = None
    """Called before a join of two inputs probes one of them. A simulation counts virtual time there."""
