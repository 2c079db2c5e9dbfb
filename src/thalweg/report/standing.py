"""Why an order has not changed, for policies that give no reason of their own."""

from __future__ import annotations

from thalweg.adapt import POLICIES, takes
from thalweg.adapt.static import Static
from thalweg.report.words import many

NEVER = Static.name


def derived(policy: str, choices: int, dropped: int, profile_tuples: int) -> str:
    """One sentence, from the counts alone.

    >>> derived("static", 3, 100, 0), derived("sweep", 1, 100, 0)
    ('policy static never changes the order', 'there is nothing to order')
    >>> derived("sweep", 3, 0, 0), derived("sweep", 3, 100, 0)
    ('not enough seen yet: no row was dropped', 'not enough seen yet: no dropped row was profiled')
    >>> derived("a-greedy", 3, 100, 12), derived("velox-rank", 3, 100, 0)
    ('nothing better found, by 12 profiled rows', 'nothing better found')
    """
    if choices < 2:
        return "there is nothing to order"
    if policy == NEVER:
        return f"policy {policy} never changes the order"
    if not dropped:
        return "not enough seen yet: no row was dropped"
    if not profile_tuples:
        if policy in POLICIES and takes(policy):
            return "not enough seen yet: no dropped row was profiled"
        return "nothing better found"  # it does not profile, or nobody knows whether it does
    return f"nothing better found, by {many(profile_tuples, 'profiled row')}"
