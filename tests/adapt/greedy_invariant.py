"""The matrix view and the greedy invariant as the paper defines them, tuple by tuple (a-greedy, section 4.2)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Tuple = Sequence[bool]
"""A profile tuple: by filter, whether it drops the row."""

SLACK = 1e-9
"""Two ways to compute the same quotient differ by less than this."""


def matrix_view(order: Sequence[int], window: Iterable[Tuple]) -> list[list[int]]:
    """Return V[i, j]: tuples dropped by the filter at j among those not dropped by any filter before i; 0 if j < i."""
    n = len(order)
    V = [[0] * n for _ in range(n)]
    for bits in window:
        for i in range(n):
            if any(bits[order[c]] for c in range(i)):
                break
            for j in range(i, n):
                V[i][j] += bool(bits[order[j]])
    return V


def may_stand(k: int, i: int, order: Sequence[int], guards: Sequence[Sequence[int]]) -> bool:
    """Return whether filter k could be at position i: all its guards are before it."""
    return all(g in order[:i] for g in guards[k])


def violations(
    order: Sequence[int],
    window: Sequence[Tuple],
    costs: Sequence[float],
    alpha: float,
    guards: Sequence[Sequence[int]],
    slack: float = 0.0,
) -> list[tuple[int, int]]:
    """Return the pairs of positions that equation 4 says to reorder. Slack leaves out pairs that rounding may decide,
    or includes them if it is negative."""
    V = matrix_view(order, window)
    return [
        (i, j)
        for i in range(len(order))
        for j in range(i + 1, len(order))
        if may_stand(order[j], i, order, guards)
        and V[i][i] / costs[order[i]] < alpha * (V[i][j] / costs[order[j]]) * (1 - slack)
    ]
