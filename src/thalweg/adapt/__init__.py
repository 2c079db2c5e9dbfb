"""The policies: small classes that watch a pipeline and say, with a reason, when another order is better."""

from thalweg.adapt.policy import Policy, ProfileSettings, Seen, Verdict, Wants
from thalweg.adapt.registry import POLICIES, check_policy, make_policy

__all__ = ["POLICIES", "Policy", "ProfileSettings", "Seen", "Verdict", "Wants", "check_policy", "make_policy"]
