"""What was seen, and how far it may be trusted: windows of profile tuples, costs of calls."""

from thalweg.stats.call_cost import CallCost
from thalweg.stats.profile_window import ProfileWindow

__all__ = ["CallCost", "ProfileWindow"]
