"""The papers' experiments: one file an experiment, each with the paper's claims as data, run on the real loop."""

from thalweg.lab.claim import Claim, Finding
from thalweg.lab.run import EXPERIMENTS, main, run

__all__ = ["EXPERIMENTS", "Claim", "Finding", "main", "run"]
