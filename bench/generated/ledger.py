"""The ledger of a run: the predicates themselves count rows and calls, by phase, independently of Thalweg's reports.

A run that has spent its limit is ended from inside a predicate, before the call that would exceed it.
"""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from bench.generated.spec import Chain


class Stopped(BaseException):
    """Raised if a run has spent its limit. It is not an Exception, so that it does not count as a failed row."""


class RowFunction(Protocol):
    """A row function that counts its rows, and enters them into the ledger when `enter` is called."""

    def enter(self) -> None:
        """Enter the counted rows into the ledger."""
        ...


class Ledger:
    """Rows and calls by phase and predicate, and the work so far in ns."""

    def __init__(self, chain: Chain, limit_ns: float = math.inf) -> None:
        self.cost_ns: list[list[float]] = chain.cost_ns.tolist()
        self.fixed_ns: list[float] = chain.fixed_ns.tolist()
        self.limit_ns = limit_ns
        self.phase = 0
        self.rows: list[list[int]] = [[0] * len(chain.parts) for _ in chain.phases]
        self.calls: list[list[int]] = [[0] * len(chain.parts) for _ in chain.phases]
        self.spent_ns = 0.0
        self.row_functions: list[RowFunction] = []

    def begin(self, phase: int) -> None:
        """Start a phase: later rows belong to it."""
        if phase != self.phase:
            self.settle()
            self.phase = phase
            self.settle()

    def settle(self) -> None:
        """Enter what row functions have counted."""
        for function in self.row_functions:
            function.enter()

    def enter_rows(self, k: int, rows: int) -> int:
        """Enter rows of a row function, and return after how many more it should enter them again."""
        cost_ns = self.cost_ns[self.phase][k]
        self.spent_ns += rows * cost_ns
        self.rows[self.phase][k] += rows
        if self.spent_ns > self.limit_ns:
            self.spent_ns = self.limit_ns
            raise Stopped
        left = (self.limit_ns - self.spent_ns) / cost_ns / 8
        return 1 << 62 if math.isinf(left) else max(1, int(left))

    def charge(self, k: int, rows: int) -> float:
        """Enter a call of predicate k with its number of rows, and return its cost in ns."""
        price = self.fixed_ns[k] + self.cost_ns[self.phase][k] * rows
        if self.spent_ns + price > self.limit_ns:
            self.spent_ns = self.limit_ns
            raise Stopped
        self.spent_ns += price
        self.rows[self.phase][k] += rows
        self.calls[self.phase][k] += 1
        return price

    def work_ns(self) -> float:
        """Return the work, computed from the counters."""
        evaluated: NDArray[np.float64] = np.array(self.rows, dtype=np.float64)
        total = float((evaluated * np.array(self.cost_ns)).sum())
        return total + float((np.array(self.calls, dtype=np.float64) @ np.array(self.fixed_ns)).sum())
