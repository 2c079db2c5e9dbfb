"""Reasons why an order has not changed, for policies that give none."""

from __future__ import annotations

from thalweg.adapt import POLICIES, setting_names
from thalweg.adapt.static import Static
from thalweg.formatting import plural

NEVER = Static.name


def derived(policy: str, choices: int, dropped: int, profile_tuples: int) -> str:
    """Return a sentence that is derived from the counts alone.

    >>> derived("static", 3, 100, 0), derived("sweep", 1, 100, 0)
    ('policy static never changes the order', 'there is nothing to order')
    >>> derived("sweep", 3, 0, 0), derived("sweep", 3, 100, 0)
    ('not enough seen yet: no row was dropped', 'not enough seen yet: no dropped row has been profiled')
    >>> derived("a-greedy", 3, 100, 12), derived("velox-rank", 3, 100, 0)
    ('nothing better found, based on 12 profiled rows', 'nothing better found')
    """
    if choices < 2:
        return "there is nothing to order"
    if policy == NEVER:
        return f"policy {policy} never changes the order"
    if not dropped:
        return "not enough seen yet: no row was dropped"
    if not profile_tuples:
        if policy in POLICIES and setting_names(policy):
            return "not enough seen yet: no dropped row has been profiled"
        return "nothing better found"  # it does not profile, or that is unknown
    return f"nothing better found, based on {plural(profile_tuples, 'profiled row')}"
