"""What a run of one policy on one chain came to."""

from __future__ import annotations

from dataclasses import dataclass

from bench.generated.spec import Chain


class WrongRowsError(Exception):
    """The rows that passed are not those of the truth table: nothing measured about it means anything."""

    def __init__(self, chain: Chain, policy: str) -> None:
        super().__init__(f"chain {chain.name}, {policy}: the rows that passed are not those that all predicates pass")


@dataclass(frozen=True, slots=True)
class Outcome:
    """`time_ns` is CPU time, or the time of the virtual clock; the other times and counts are the product's own."""

    work_ns: float
    time_ns: float
    stopped: bool
    profiled_ns: float = 0.0
    reoptimizing_ns: float = 0.0
    trial_rows: int = 0
    switches: int = 0
    order: tuple[str, ...] = ()
    """The last one."""
