"""Put values or cells with similar outcomes together: Ward's method, and the likelihood of small groups.

Reference: Ward: Hierarchical Grouping to Optimize an Objective Function. Journal of the American Statistical
Association 58 (1963).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
LEAST_SHARE = 0.02
"""A share of rows that pass is taken to be at least this and at most 1 minus this, so that one row excludes nothing."""


def ward(means: Numbers, weights: Numbers, most: int) -> NDArray[np.int64]:
    """Return the cluster of each point. The two clusters whose merge loses least are merged until `most` are left.

    >>> ward(np.array([[0.0], [1.0], [0.1]]), np.ones(3), 2).tolist()
    [0, 1, 0]
    """
    n = len(weights)
    means, weights = means.copy(), np.maximum(weights, 1e-12)
    of = np.arange(n)
    losses = np.full((n, n), np.inf)
    for i in range(n):
        losses[i, :i] = losses[:i, i] = _losses(means, weights, i)[:i]
    for _ in range(n - most):
        i, j = sorted(divmod(int(losses.argmin()), n))
        total = weights[i] + weights[j]
        means[i] = (weights[i] * means[i] + weights[j] * means[j]) / total
        weights[i] = total
        of[of == j] = i
        gone = np.isinf(losses[i])
        losses[i] = losses[:, i] = np.where(gone, np.inf, _losses(means, weights, i))
        losses[j] = losses[:, j] = np.inf
    return np.unique(of, return_inverse=True)[1].reshape(-1)


def _losses(means: Numbers, weights: Numbers, i: int) -> Numbers:
    apart = means - means[i]
    return np.asarray((apart * apart).sum(axis=1) * weights * weights[i] / (weights + weights[i]))


def likeliest(passed: Numbers, rows: Numbers, clusters: Numbers) -> NDArray[np.int64]:
    """Return for each group of rows the cluster under which its outcomes are most likely.

    Parameters
    ----------
    passed
        Groups by filters: how many rows of the group pass.
    rows
        The rows of each group.
    clusters
        Clusters by filters: the share of rows that pass.

    Returns
    -------
    numpy.ndarray
        A number of a cluster per group.
    """
    shares = np.clip(clusters, LEAST_SHARE, 1.0 - LEAST_SHARE)
    likelihood = passed @ np.log(shares).T + (rows[:, None] - passed) @ np.log1p(-shares).T
    return np.asarray(likelihood.argmax(axis=1), np.int64)
