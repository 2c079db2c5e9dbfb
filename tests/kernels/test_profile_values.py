"""Row functions get the values of their rows in profiling, whatever rows were read before."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

import thalweg as tw
from thalweg.kernels import FilterChain
from thalweg.plan import FilterPlan


def test_row_functions_that_share_a_column_see_its_values() -> None:
    shown: dict[str, list[str]] = {"second": [], "third": []}

    def watching(name: str) -> tw.Predicate:
        def keep(text: str) -> bool:
            shown[name].append(text)
            return False

        return tw.predicate(keep, "text", name=name)

    plan = FilterPlan((tw.predicate(str.isalpha, "text", name="first"), watching("second"), watching("third")))
    chain = FilterChain(plan, clock=lambda: 0)
    columns = chain.columns(pa.record_batch({"text": ["a", "b", "c"]}))
    assert columns.shared == {"text"}, "the columns are those whose values are kept in an ordinary pass"
    # dropped by the first, the second, the first: the second is called on rows 0 and 2, the third on all
    everything_behind = np.triu(np.ones((3, 3), dtype=bool), 1)
    profile = chain.profile(columns, np.array([0, 1, 0], dtype=np.int16), (0, 1, 2), everything_behind)
    assert shown == {"second": ["a", "c"], "third": ["a", "b", "c"]}
    assert profile.errors == [0, 0, 0]
    assert profile.dropped.tolist() == [[True, True, True], [False, True, True], [True, True, True]]
