"""The results of a run of one policy on one chain."""

from __future__ import annotations

from dataclasses import dataclass

from bench.generated.spec import Chain


class WrongRowsError(Exception):
    """Raised if the rows that passed differ from the truth table, which makes the measurements meaningless."""

    def __init__(self, chain: Chain, policy: str) -> None:
        super().__init__(f"chain {chain.name}, {policy}: the rows that passed are not those that all predicates pass")


@dataclass(frozen=True, slots=True)
class Outcome:
    """A result. `time_ns` is CPU time or virtual time; the other times and counts are those of Thalweg's report."""

    work_ns: float
    time_ns: float
    stopped: bool
    profiled_ns: float = 0.0
    reoptimizing_ns: float = 0.0
    trial_rows: int = 0
    switches: int = 0
    order: tuple[str, ...] = ()
    """The last order of the run."""
