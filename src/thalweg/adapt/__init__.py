"""The policies: small classes that watch a pipeline and say, with a reason, when another order is better."""

from thalweg.adapt.policy import BudgetSettings, Policy, ProfileSettings, Seen, Settings, Verdict, Wants
from thalweg.adapt.registry import POLICIES, SETTINGS, check_policy, make_policy, takes

__all__ = [
    "POLICIES", "SETTINGS", "BudgetSettings", "Policy", "ProfileSettings", "Seen", "Settings", "Verdict", "Wants",
    "check_policy", "make_policy", "takes",
]  # fmt: skip
