"""The papers' experiments: one file per experiment, each with the paper's claims as data, run on the real loop."""

from thalweg.lab.claim import Finding, Number, Statement
from thalweg.lab.experiment import Experiment, Outcome, Paper
from thalweg.lab.figure import Bars, Figure, Series
from thalweg.lab.run import PAPERS, main, run

__all__ = [
    "PAPERS", "Bars", "Experiment", "Figure", "Finding", "Number", "Outcome", "Paper", "Series", "Statement", "main",
    "run",
]  # fmt: skip
