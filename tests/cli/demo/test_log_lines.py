"""The demo's stream: the same for the same seed, well formed, and different enough between its phases."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from thalweg.cli.demo import log_text
from thalweg.cli.demo.log_lines import make_lines
from thalweg.cli.demo.predicates import PREDICATES
from thalweg.kernels.filter_chain import FilterChain
from thalweg.plan import FilterPlan

ROWS = 20_000


def shares(phase: int) -> dict[str, float]:
    """What share of all rows each predicate alone passes; a guarded one of the rows its guard passes."""
    chain = FilterChain(FilterPlan(PREDICATES), lambda: 0)
    batch = make_lines(ROWS, seed=3, phase=phase).combine_chunks().to_batches()[0]
    found = {}
    for k, predicate in enumerate(PREDICATES):
        part = batch.filter(batch["payload"].is_valid()) if predicate.after else batch
        found[predicate.name] = float(chain.evaluate(k, chain.columns(part), None)[0].mean())
    return found


@pytest.mark.parametrize("phase", [0, 1])
def test_the_lines_depend_on_the_seed_only(phase: int) -> None:
    table = make_lines(500, seed=1, phase=phase)
    assert table.equals(make_lines(500, seed=1, phase=phase))
    assert not table.equals(make_lines(500, seed=2, phase=phase))


@pytest.mark.parametrize("rows", [0, 1, 7, 5_000])
def test_columns_and_types(rows: int) -> None:
    table = make_lines(rows, seed=1)
    expected = [("line", pa.string()), ("service", pa.string()), ("ip", pa.string()), ("size", pa.int64())]
    assert table.schema.equals(pa.schema([*expected, ("payload", pa.string())]))
    assert table.num_rows == rows
    assert all(table[name].null_count == 0 for name, _ in expected)


@pytest.mark.parametrize("phase", [0, 1])
def test_a_line_tells_of_its_own_row(phase: int) -> None:
    table = make_lines(ROWS, seed=5, phase=phase)
    assert set(table["service"].to_pylist()) == set(log_text.SERVICES)
    marks = {"web": " web: ", "auth": " auth[", "database": " db[", "payment": " pay: ", "batch": " batch/"}
    with_ip = 0
    for row in table.to_pylist():
        assert marks[row["service"]] in row["line"]
        assert "{" not in row["line"]  # every slot was filled
        with_ip += row["ip"] in row["line"]
        if row["payload"] is not None:
            assert json.loads(row["payload"])["amount"] >= 0
    assert with_ip > 0.9 * ROWS
    assert len(set(table["line"].to_pylist())) > 0.99 * ROWS


def test_the_phases_differ_strongly_in_what_predicates_pass() -> None:
    day, incident = shares(0), shares(1)
    assert incident["failed"] > 4 * day["failed"]
    assert incident["alarming_words"] > 2 * day["alarming_words"]
    assert incident["not_a_robot"] < day["not_a_robot"] / 2
    assert incident["has_payload"] < day["has_payload"] / 3
    assert incident["large_response"] > 1.5 * day["large_response"]


@pytest.mark.parametrize("phase", [0, 1])
def test_no_predicate_passes_all_or_nothing(phase: int) -> None:
    for name, share in shares(phase).items():
        assert 0.02 < share < 0.98, name
