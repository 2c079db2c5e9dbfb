"""Vectorized operators over Arrow batches. They run in a given order and do not depend on any policy."""

from thalweg.kernels.answer import CallEnded
from thalweg.kernels.chain import Chain, ChainRows
from thalweg.kernels.columns import Columns
from thalweg.kernels.filter_chain import NO_SENTRY, FilterChain, Profile, Sentry, SliceResult
from thalweg.kernels.unknown import Unknown

__all__ = [
    "NO_SENTRY",
    "CallEnded",
    "Chain",
    "ChainRows",
    "Columns",
    "FilterChain",
    "Profile",
    "Sentry",
    "SliceResult",
    "Unknown",
]
