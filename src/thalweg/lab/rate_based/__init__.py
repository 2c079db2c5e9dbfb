"""Experiments of Viglas and Naughton, Rate-Based Query Optimization for Streaming Information Sources, SIGMOD 2002."""

from thalweg.lab.experiment import Paper
from thalweg.lab.rate_based import equations_2_3, figure_1, section_5_2, section_5_3, section_5_4

PAPER = Paper(
    name="rate-based",
    reference="Viglas, Naughton: *Rate-Based Query Optimization for Streaming Information Sources*, SIGMOD 2002",
    experiments={
        "figure-1": figure_1.EXPERIMENT,
        "equations-2-3": equations_2_3.EXPERIMENT,
        "section-5-2": section_5_2.EXPERIMENT,
        "section-5-3": section_5_3.EXPERIMENT,
        "section-5-4": section_5_4.EXPERIMENT,
    },
    preface="""\
The paper's figures are pictures and its engine is not available, so the claims are taken from its prose, in our words,
and measured with [simulated pipelines](../simulation.md): Poisson arrivals, symmetric hash joins with a declared cost
per row, one server per join. Results are the same on every machine. *Predicted* means by our fluid model
(`lab/rate_based/fluid.py`); equations 2 and 3 as printed miss most of the results (equations-2-3). The heuristics of
section 4.2 are `optimizer/joins/local_rate_maximization.py` and `optimizer/joins/local_time_minimization.py`. Two slips
of the printed text are corrected there: `min` compares in the wrong direction, so that it never returns a tree, and the
square roots of section 4.2.2 must be over φ alone.

The paper does not give the cost of a hash join, the rates of section 5.3, or the trees of figure 11 in words. Each
section says how we read it, and which readings were chosen after results were known.""",
)

__all__ = ["PAPER"]
