"""Where rows are known to be cheap, `auto` begins with long slices and spends less on learning."""

from __future__ import annotations

import numpy as np

from tests.runtime.virtual_stream import VirtualStream, correlated
from thalweg.adapt.auto import CHEAP_LOAN_NS, CHEAP_ROWS, Auto
from thalweg.plan.pipeline import Pipeline


def test_slices_begin_longer_and_less_is_lent():
    usual, cheap = Auto(Pipeline(("a", "b"))), Auto(Pipeline(("a", "b")))
    cheap.expect_cheap_rows()
    assert usual.wants().slice_rows < CHEAP_ROWS == cheap.wants().slice_rows
    assert cheap.purse.loan_ns == CHEAP_LOAN_NS < usual.purse.loan_ns
    cheap.purse.lend(1.0)
    assert cheap.purse.loan_ns == CHEAP_LOAN_NS


def test_the_rows_are_the_same_and_less_is_spent():
    passed = correlated(np.random.default_rng(1), 100_000, (0.5,) * 4)
    spent = []
    for cheap in (False, True):
        stream = VirtualStream((0.1,) * 8, "auto", 1)
        if cheap:
            stream.policy.expect_cheap_rows()
        assert (stream.process(passed) == passed.all(axis=1)).all()
        spent.append(stream.loop.work.profiling_ns + stream.loop.work.reoptimizing_ns)
    assert spent[1] < spent[0]
