"""A paper: where it appeared, and its experiments by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from thalweg.lab.experiment import Experiment


@dataclass(frozen=True, slots=True)
class Paper:
    """What one Markdown page is about."""

    name: str
    """As users write it: `a-greedy`."""
    reference: str
    experiments: Mapping[str, Experiment]
    """In the order of the paper, by short name: `figure-9`."""
    preface: str = ""
    """What holds for all experiments; Markdown."""
