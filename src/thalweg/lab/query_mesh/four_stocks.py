"""The four stocks of examples 2 to 4: Apple, Amazon, Google (1, 2, 3) and Ford (4), and three operators.

The paper gives the best routes, op3, op2, op1 for the first three and op1, op2, op3 for Ford (example 5), and that the
costs have the order c1 > c2 > c3 (section 1.1). The selectivities and costs here were chosen so, before any search ran.
"""

from __future__ import annotations

import numpy as np

from thalweg.cost.mesh import MeshCosts
from thalweg.lab.query_mesh.layouts import WINDOW
from thalweg.lab.query_mesh.prices import PRICES
from thalweg.optimizer.mesh.priced_meshes import PricedMeshes
from thalweg.plan.pipeline import Pipeline
from thalweg.stats.training_set import Axis, TrainingSet

STOCKS = ("Apple", "Amazon", "Google", "Ford")
SELECTIVITIES = ((0.90, 0.60, 0.30), (0.85, 0.50, 0.25), (0.90, 0.55, 0.25), (0.10, 0.70, 0.90))
"""By stock: the share of tuples that op1 (bullish patterns), op2 (news) and op3 (street research) let pass."""
COSTS_NS = (30_000.0, 20_000.0, 10_000.0)
ROWS = 1_000
"""Sampled tuples of each stock."""


def four_stocks() -> PricedMeshes:
    """Return the meshes of the four training tuples. Operators are independent within a stock."""
    outcomes = np.array([[bits >> k & 1 for k in range(3)] for bits in range(8)], np.float64)
    passes, weights, stock = [], [], []
    for number, shares in enumerate(SELECTIVITIES):
        chances = np.prod(np.where(outcomes > 0, np.array(shares), 1.0 - np.array(shares)), axis=1)
        passes.append(outcomes)
        weights.append(chances * ROWS)
        stock.append(np.full(len(outcomes), number))
    axis = Axis("symbol", "text", groups=tuple((name.encode(),) for name in STOCKS))
    training = TrainingSet(
        (axis,), np.arange(4)[:, None], np.full(4, float(ROWS)), np.arange(4), np.concatenate(passes),
        np.concatenate(weights), np.concatenate(stock),
    )  # fmt: skip
    pipeline = Pipeline(("op1", "op2", "op3"))
    costs = MeshCosts(
        training, pipeline, np.array(COSTS_NS), np.zeros(3), WINDOW, PRICES.test_ns, PRICES.ruster_ns
    )  # fmt: skip
    return PricedMeshes(costs)
