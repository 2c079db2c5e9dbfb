"""Vectorised operators over Arrow batches. They are given an order and know no policy."""

from thalweg.kernels.answer import CallEnded
from thalweg.kernels.chain import Chain, ChainRows
from thalweg.kernels.columns import Columns
from thalweg.kernels.filter_chain import NOBODY, FilterChain, Pass, Profile, Sentry
from thalweg.kernels.unknown import Unknown

__all__ = [
    "NOBODY",
    "CallEnded",
    "Chain",
    "ChainRows",
    "Columns",
    "FilterChain",
    "Pass",
    "Profile",
    "Sentry",
    "Unknown",
]
