"""The runtime that executes queries in this process."""

from thalweg.runtime.local.filters import filter_batches

__all__ = ["filter_batches"]
