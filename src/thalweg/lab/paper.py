"""A paper: its reference, and its experiments by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from thalweg.lab.experiment import Experiment


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper whose claims are checked; each paper has one Markdown page."""

    name: str
    """The name as users write it: `a-greedy`."""
    reference: str
    experiments: Mapping[str, Experiment]
    """The experiments in the order of the paper, by short name: `figure-9`."""
    preface: str = ""
    """What applies to all experiments, in Markdown."""
