"""The policies: small classes that watch a pipeline and say, with a reason, when another order is better."""

from thalweg.adapt.auto import BudgetSettings
from thalweg.adapt.policy import Costs, Policy, ProfileSettings, Seen, Settings, Trial, Verdict, Wants, restored_order
from thalweg.adapt.registry import POLICIES, SETTINGS, Chosen, check_policy, make_policy, policy_name, takes

__all__ = [
    "POLICIES", "SETTINGS", "BudgetSettings", "Chosen", "Costs", "Policy", "ProfileSettings", "Seen", "Settings",
    "Trial", "Verdict", "Wants", "check_policy", "make_policy", "policy_name", "restored_order", "takes",
]  # fmt: skip
