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
from thalweg.adapt.policy_choice import PolicyChoice, PolicyLike, chosen
from thalweg.adapt.registry import (
    POLICIES,
    Chosen,
    check_classified,
    classifies,
    make_policy,
    policy_name,
    setting_names,
)

__all__ = [
    "POLICIES",
    "BudgetSettings",
    "Chosen",
    "Costs",
    "Observation",
    "Policy",
    "PolicyChoice",
    "PolicyLike",
    "ProfileSettings",
    "ProfilingRequest",
    "Settings",
    "Trial",
    "Verdict",
    "check_classified",
    "chosen",
    "classifies",
    "make_policy",
    "policy_name",
    "restored_order",
    "setting_names",
]  # fmt: skip
