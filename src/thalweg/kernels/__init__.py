"""Vectorised operators over Arrow batches. They are given an order and know no policy."""

from thalweg.kernels.columns import Columns
from thalweg.kernels.filter_chain import FilterChain, Pass, Profile

__all__ = ["Columns", "FilterChain", "Pass", "Profile"]
