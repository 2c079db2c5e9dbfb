"""Columns are stored with a dictionary where that makes files smaller, and without where it is given up anyway."""

from __future__ import annotations

import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from thalweg.runtime.sink.dictionary_columns import dictionary_columns

ROWS = 300_000
RNG = np.random.default_rng(1)
COLUMNS = {
    "one long text": (pa.array(["x" * 500] * 50_000), True),
    "few long texts": (pa.array([f"{n % 50:0200}" for n in range(100_000)]), True),
    "few rows of long texts": (pa.array([f"{n % 3:05000}" for n in range(3_000)]), True),
    "kinds": (pa.array(RNG.integers(0, 100, ROWS)), True),
    "nulls": (pa.nulls(ROWS, pa.int64()), True),
    "few ids": (pa.array(range(1_000)), False),
    "ids of results, each several times": (pa.array(RNG.integers(0, 15_000, 135_000)), True),
    "one row": (pa.array([7]), False),
    # a dictionary is not the best here, but what Spark writes too: equal values next to each other compress well
    "sorted ids, each several times": (pa.array(np.sort(RNG.integers(0, 15_000, 135_000))), True),
    "ids": (pa.array(range(ROWS)), False),
    "ids in random order": (pa.array(RNG.permutation(ROWS)), False),
    "long texts that differ": (pa.array([f"{n:0200}" for n in range(50_000)]), False),
}


MOST_OVER_THE_OTHER = {"sorted ids, each several times": 1.4}
"""Where the choice is known to be the larger one: by how much."""


@pytest.mark.parametrize("name", COLUMNS)
def test_the_choice_and_what_it_saves(name: str) -> None:
    column, has_dictionary = COLUMNS[name]
    table = pa.table({"c": column})
    assert dictionary_columns(table) == (["c"] if has_dictionary else [])

    def size(with_dictionary: bool) -> int:
        out = io.BytesIO()
        pq.write_table(table, out, use_dictionary=with_dictionary, row_group_size=len(column))
        return len(out.getvalue())

    chosen, other = size(has_dictionary), size(not has_dictionary)
    assert chosen <= MOST_OVER_THE_OTHER.get(name, 1.1) * other
