"""The policies: small classes that watch a pipeline and decide, with a reason, when another order is better."""

from thalweg.adapt.auto import BudgetSettings
from thalweg.adapt.policy import (
    Costs,
    Observation,
    Policy,
    ProfileSettings,
    ProfilingRequest,
    Settings,
    Trial,
    Verdict,
    restored_order,
)
from thalweg.adapt.registry import (
    POLICIES,
    SETTINGS,
    Chosen,
    check_classified,
    check_policy,
    classifies,
    make_policy,
    policy_name,
    takes,
)

__all__ = [
    "POLICIES",
    "SETTINGS",
    "BudgetSettings",
    "Chosen",
    "Costs",
    "Observation",
    "Policy",
    "ProfileSettings",
    "ProfilingRequest",
    "Settings",
    "Trial",
    "Verdict",
    "check_classified",
    "check_policy",
    "classifies",
    "make_policy",
    "policy_name",
    "restored_order",
    "takes",
]  # fmt: skip
