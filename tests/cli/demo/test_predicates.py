"""The demo's predicates: what they mean, row by row, and that a chain of them agrees with that."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest

import thalweg as tw
from thalweg.cli.demo.log_lines import make_lines
from thalweg.cli.demo.predicates import (
    LARGE_AMOUNT,
    LARGE_BYTES,
    PAID,
    PREDICATES,
    alarming_words,
    bad_reputation,
    failed,
    from_outside,
    not_a_robot,
    word_scores,
)


def passes(row: dict[str, Any]) -> bool:
    """The whole question, without Arrow and without a chain."""
    return (
        row["payload"] is not None
        and json.loads(row["payload"])["amount"] >= LARGE_AMOUNT
        and row["size"] >= LARGE_BYTES
        and failed(row["line"])
        and alarming_words(word_scores(), row["line"])
        and bad_reputation(row["ip"])
        and not row["ip"].startswith("10.")
        and not_a_robot(row["line"])
    )


@pytest.mark.parametrize("policy", ["a-greedy", "static"])
def test_a_chain_keeps_what_brute_force_keeps(policy: str) -> None:
    keep = tw.filters(*PREDICATES, policy=policy, seed=1)
    for phase in (0, 1):
        table = make_lines(30_000, seed=11, phase=phase)
        kept = [row for batch in keep.over(table) for row in batch.to_pylist()]
        assert kept == [row for row in table.to_pylist() if passes(row)]
        assert kept


def test_failures_and_robots() -> None:
    assert failed('… "GET / HTTP/1.1" 503 12 4.2ms "Lantern"')
    assert failed("… pay: ERROR order 00ff of anna1")
    assert not failed('… "GET /shop/lamps/503 HTTP/2" 200 500 4.2ms "Lantern"')
    assert not_a_robot("Lantern/17.0 (Linux x86_64) Wick/604")
    assert not not_a_robot("LinkBeetle-Crawler/2.1")


def test_inside_and_outside() -> None:
    assert from_outside("192.0.2.7")
    assert not from_outside("10.4.0.2")
    assert not from_outside("172.16.3.4")


def test_they_travel_to_workers() -> None:
    assert pickle.loads(pickle.dumps(PREDICATES)) == PREDICATES


def test_eight_of_mixed_kind() -> None:
    assert len(PREDICATES) == 8
    assert any(p.vectorized for p in PREDICATES)
    assert any(not p.vectorized for p in PREDICATES)
    assert any(p.after for p in PREDICATES)
    assert any(p.setup for p in PREDICATES)
    assert [p.name for p in PREDICATES if not p.profile] == [PAID]
