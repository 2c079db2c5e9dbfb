"""The streams and join conditions of the rate-based paper's experiments (tables 4 and 5, sections 5.2 and 5.4).

Table 4 gives sizes. The rates of section 5.2 are given there. Those of section 5.3 are not, but section 5.4 says which
share of each stream has arrived after 100 seconds: all of A and B, 33 % of C, 40 % of D and 50 % of E. The cost of a
hash join is not given; the handling cost of 5 ms applies to both inputs of the join that compares A and C.

>>> {name: round(stream.rate) for name, stream in five_streams(0.001).streams.items()}
{'a': 50, 'b': 100, 'c': 67, 'd': 200, 'e': 500}
"""

from __future__ import annotations

from thalweg.cost.rate import Arriving
from thalweg.lab.rate_based.join_query import JoinQuery

ROWS = {"a": 5_000, "b": 10_000, "c": 20_000, "d": 50_000, "e": 100_000}
"""Table 4."""
SELECTIVITIES = {("a", "b"): 2e-3, ("a", "c"): 5e-3, ("b", "d"): 1e-4, ("d", "e"): 1e-5}
"""Table 5."""
HANDLING = {("a", "c"): 0.005}
"""Table 5, in seconds."""
ARRIVED = {"a": 1, "b": 1, "c": 1 / 3, "d": 0.4, "e": 0.5}
"""The share of each stream after 100 seconds (section 5.4)."""
ARRIVED_BY = 100.0


def three_streams(hash_cost: float) -> JoinQuery:
    """Return the query of section 5.2, whose streams are not read to their end: 20, 2 and 10 ms between rows."""
    rates = {"a": 50.0, "b": 500.0, "c": 100.0}
    pairs = {pair: SELECTIVITIES[pair] for pair in (("a", "b"), ("a", "c"))}
    return JoinQuery({name: Arriving(rate) for name, rate in rates.items()}, pairs, hash_cost, HANDLING)


def five_streams(hash_cost: float, share: float = 1.0) -> JoinQuery:
    """Return the query of sections 5.3 and 5.4 over the first part of each stream."""
    streams = {name: Arriving(rows * ARRIVED[name] / ARRIVED_BY, rows * share) for name, rows in ROWS.items()}
    return JoinQuery(streams, SELECTIVITIES, hash_cost, HANDLING)
