"""What was seen, and how far it may be trusted: windows of profile tuples, costs of calls."""

from thalweg.stats.call_cost import CallCost
from thalweg.stats.profile_window import ProfileWindow
from thalweg.stats.usual_wait import UsualWait

__all__ = ["CallCost", "ProfileWindow", "UsualWait"]
