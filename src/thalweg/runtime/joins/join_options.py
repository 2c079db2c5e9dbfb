"""What the loop of a join is made with, whichever way it joins: its policy, its limits, and what it remembers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from thalweg.adapt import Chosen, Settings
from thalweg.errors import JoinLimitError
from thalweg.kernels.multiway_join import RESULTS
from thalweg.kernels.probe_chain import ProbeChain
from thalweg.kernels.window_store import WindowStore
from thalweg.plan.byte_size import size
from thalweg.plan.join_graph import JoinTree

MOST_MATCHES = 10_000_000
"""Results one row may have; far more than anybody means to ask for."""

MakeChain = Callable[[JoinTree, Mapping[str, WindowStore], Callable[[], int]], ProbeChain]


@dataclass(frozen=True, slots=True)
class JoinLimits:
    """Limits of one loop; a row or a batch that exceeds one raises `JoinLimitError`."""

    max_matches: int = MOST_MATCHES
    """Results one row may have by its keys."""
    max_bytes: int | None = None
    """Memory that the windows and a tree's inner results may hold together; None: unlimited."""
    in_buckets: bool = False
    """Whether these are the windows of one bucket among others."""

    def too_many_matches(self, stream: str, keys: str) -> JoinLimitError:
        """For one row, given by its keys in words; empty where no value may be shown."""
        return JoinLimitError(
            f"one row of {stream}{f' ({keys})' if keys else ''} has more than "
            f"{self.max_matches:,} matches by its keys; a key so common is rarely meant: filter it out before the "
            "join, add an equality, make windows shorter, or raise max_matches= of "
            "tw.join or s.query (or spark.thalweg.max_matches, THALWEG_MAX_MATCHES)"
        )

    def too_much_memory(self, held: Iterable[tuple[str, WindowStore]], inner: bool = False) -> JoinLimitError:
        """`held`: everything that counts, by name. `inner`: inner results are among it."""
        assert self.max_bytes is not None
        told = ", ".join(f"{name} {size(store.nbytes)} in {len(store):,} rows" for name, store in held)
        spread = "spread the join over more buckets=, " if self.in_buckets else ""
        order = "join in an order with smaller inner results, " if inner else ""
        return JoinLimitError(
            f"the windows {'and inner results ' if inner else ''}would hold more than {size(self.max_bytes)} of memory "
            f"({told}): make windows shorter, select= fewer columns, {spread}{order}or raise max_bytes= of "
            "tw.join or s.query (or spark.thalweg.max_bytes, THALWEG_MAX_BYTES)"
        )


@dataclass(frozen=True, slots=True)
class JoinOptions:
    """Options of one loop."""

    policy: Chosen
    profile: Settings | None = None
    """Of the policy; None: it does not profile."""
    slice_rows: int | None = None
    limits: JoinLimits = JoinLimits()
    redact: bool = False
    """Whether no value of a row may be shown."""
    snapshots: bool = False
    """Whether windows remember what has to be saved of them."""
    results: int = RESULTS
    """Put together at a time."""
    chain: MakeChain = ProbeChain
    """What probes in a multiway join; another one may count time of its own, as a simulation does."""
