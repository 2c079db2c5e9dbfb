"""A-Greedy, Sweep, Independent and LocalSwaps one tuple at a time, in plain loops, slow and close to the paper's text.

What the paper leaves open is done as the docstrings of `thalweg.adapt` say: guards, `ENOUGH`, Sweep's insertion,
LocalSwaps' empty window after a swap. Positions count from 1, as in the figures; filters from 0.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from thalweg.plan import Pipeline

ENOUGH = 30


@dataclass
class Step:
    """What happened to one tuple of the stream."""

    order: tuple[int, ...]
    """The order it was processed in."""
    processed: list[int]
    profiled: list[int]
    """The filters evaluated on it only for profiling."""
    passed: bool


@dataclass
class Algorithm:
    """The common part of the four algorithms. `f[i]` is the filter at position i, f[0] is not used."""

    pipeline: Pipeline
    window_size: int
    alpha: float
    a: list[float] = field(default_factory=list)
    """The time each filter takes for a tuple."""

    def __post_init__(self) -> None:
        self.n = len(self.pipeline)
        self.f = [-1, *self.pipeline.start]
        self.begin()

    def begin(self) -> None:
        self.window: deque[list[int]] = deque()

    def asks(self, i: int, c: int) -> bool:
        """Whether a profiled tuple dropped at position i is evaluated by the filter at position c > i."""
        raise NotImplementedError

    def profile(self, b: list[int]) -> None:
        """A profile tuple enters the window: b[k] is 1 if filter k drops the tuple."""
        raise NotImplementedError

    def may_stand(self, k: int, i: int) -> bool:
        return all(g in self.f[1:i] for g in self.pipeline.guards[k])


class AGreedy(Algorithm):
    """A-Greedy, as in section 4 of the paper."""

    def begin(self) -> None:
        super().begin()
        self.V = [[0] * (self.n + 1) for _ in range(self.n + 1)]

    def asks(self, i: int, c: int) -> bool:
        return True

    def profile(self, b: list[int]) -> None:
        self.window.append(b)
        self.figure_3(b, +1)
        if len(self.window) > self.window_size:
            self.figure_3(self.window.popleft(), -1)
        for i in range(1, self.n + 1):
            if self.figure_4(i):
                self.figure_5(i)

    def figure_3(self, b: list[int], one: int) -> None:
        f, V = self.f, self.V
        dc = 1
        while b[f[dc]] == 0:
            dc = dc + 1
        for c in range(dc, self.n + 1):
            if b[f[c]] == 1:
                for r in range(1, dc + 1):
                    V[r][c] = V[r][c] + one

    def figure_4(self, i: int) -> bool:
        """Equation 4 at position i. The figure itself is missing from our copy; the text says what it does."""
        f, V, a = self.f, self.V, self.a
        for j in range(i + 1, self.n + 1):
            if self.may_stand(f[j], i) and V[i][i] / a[f[i]] < self.alpha * (V[i][j] / a[f[j]]):
                return True
        return False

    def figure_5(self, i: int) -> None:
        f, V, a, n = self.f, self.V, self.a, self.n
        maxr = i
        r = i
        while r <= maxr:
            for c in range(r, n + 1):
                V[r][c] = 0
            for b in self.window:
                if all(b[f[c]] == 0 for c in range(1, r)):
                    for c in range(r, n + 1):
                        if b[f[c]] == 1:
                            V[r][c] = V[r][c] + 1
            # the paper has maxc = r; the filter at r may wait for a guard that was just moved after it
            maxc = next(c for c in range(r, n + 1) if self.may_stand(f[c], r))
            maxr = max(maxr, maxc)
            for c in range(maxc + 1, n + 1):
                if self.may_stand(f[c], r) and V[r][c] / a[f[c]] > V[r][maxc] / a[f[maxc]]:
                    maxc = c
                    if maxc > maxr:
                        maxr = maxc
            if r != maxc:
                f[r], f[maxc] = f[maxc], f[r]
                for k in range(0, r + 1):
                    V[k][r], V[k][maxc] = V[k][maxc], V[k][r]
            r = r + 1


class Sweep(Algorithm):
    """Section 5; V of figure 7(a) is recounted from the stage's tuples each time."""

    def begin(self) -> None:
        super().begin()
        self.j = 2

    def asks(self, i: int, c: int) -> bool:
        return c == self.j

    def profile(self, b: list[int]) -> None:
        if self.n < 2:
            return
        f, a, j = self.f, self.a, self.j
        self.window.append(b)
        moved = False
        for i in range(1, j):
            here = there = 0
            for t in self.window:
                if all(t[f[c]] == 0 for c in range(1, i)):
                    here += t[f[i]]
                    there += t[f[j]]
            worse = here / a[f[i]] < self.alpha * (there / a[f[j]])
            enough = here + there >= ENOUGH or len(self.window) >= self.window_size
            if worse and enough and self.may_stand(f[j], i):
                f.insert(i, f.pop(j))
                moved = True
                break
        if moved or len(self.window) >= self.window_size:
            self.window.clear()
            self.j = 2 if j == self.n else j + 1


class Independent(Algorithm):
    """Section 6: A-Greedy with the first row of V at every position (figure 7(b))."""

    def asks(self, i: int, c: int) -> bool:
        return True

    def profile(self, b: list[int]) -> None:
        self.window.append(b)
        if len(self.window) > self.window_size:
            self.window.popleft()
        for i in range(1, self.n + 1):
            if self.figure_4(i):
                self.figure_5(i)

    def rate(self, k: int) -> float:
        """V[1, .] over the time: the same at every position."""
        return sum(t[k] for t in self.window) / self.a[k]

    def figure_4(self, i: int) -> bool:
        f, n = self.f, self.n
        return any(
            self.may_stand(f[j], i) and self.rate(f[i]) < self.alpha * self.rate(f[j]) for j in range(i + 1, n + 1)
        )

    def figure_5(self, i: int) -> None:
        f, n = self.f, self.n
        maxr = i
        r = i
        while r <= maxr:
            maxc = next(c for c in range(r, n + 1) if self.may_stand(f[c], r))
            maxr = max(maxr, maxc)
            for c in range(maxc + 1, n + 1):
                if self.may_stand(f[c], r) and self.rate(f[c]) > self.rate(f[maxc]):
                    maxc = c
                    maxr = max(maxr, maxc)
            f[r], f[maxc] = f[maxc], f[r]
            r = r + 1


class LocalSwaps(Algorithm):
    """LocalSwaps, as in section 7 of the paper."""

    def asks(self, i: int, c: int) -> bool:
        return c == i + 1

    def profile(self, b: list[int]) -> None:
        f, a = self.f, self.a
        self.window.append(b)
        if len(self.window) > self.window_size:
            self.window.popleft()
        counts = []
        for i in range(1, self.n):
            here = there = 0
            for t in self.window:
                if all(t[f[c]] == 0 for c in range(1, i)):
                    here += t[f[i]]
                    there += t[f[i + 1]]
            counts.append((here, there))
        swapped = False
        i = 1
        while i < self.n:
            here, there = counts[i - 1]
            worse = here / a[f[i]] < self.alpha * (there / a[f[i + 1]])
            enough = here + there >= ENOUGH or len(self.window) == self.window_size
            if worse and enough and f[i] not in self.pipeline.guards[f[i + 1]]:
                f[i], f[i + 1] = f[i + 1], f[i]
                swapped = True
                i += 1
            i += 1
        if swapped:
            self.window.clear()


ALGORITHMS: dict[str, type[Algorithm]] = {
    "a-greedy": AGreedy,
    "sweep": Sweep,
    "independent": Independent,
    "local-swaps": LocalSwaps,
}


def process(
    algorithm: Algorithm,
    stream: Sequence[Sequence[bool]],
    times: Sequence[float],
    p: float,
    rng: np.random.Generator,
) -> list[Step]:
    """Run a stream; `stream[e][k]` says whether filter k drops tuple e. One random number is used per dropped tuple."""
    pipeline, n = algorithm.pipeline, algorithm.n
    calls = [0] * n
    steps = []
    for drops in stream:
        f = algorithm.f
        order = tuple(f[1:])
        at = 0
        processed, profiled = [], []
        true = set()
        for i in range(1, n + 1):
            processed.append(f[i])
            calls[f[i]] += 1
            if drops[f[i]]:
                at = i
                break
            true.add(f[i])
        if at and rng.random() < p:
            b = [0] * n
            b[f[at]] = 1
            for c in range(at + 1, n + 1):
                k = f[c]
                if algorithm.asks(at, c) and pipeline.profiled[k] and all(g in true for g in pipeline.guards[k]):
                    profiled.append(k)
                    calls[k] += 1
                    b[k] = int(drops[k])
                    if not drops[k]:
                        true.add(k)
            # a filter that was never called counts as the mean of the others
            known = [times[k] for k in range(n) if calls[k]]
            mean = sum(known) / len(known) if known else 1.0
            algorithm.a = [times[k] if calls[k] else mean for k in range(n)]
            algorithm.profile(b)
        steps.append(Step(order, processed, profiled, passed=not at))
    return steps
