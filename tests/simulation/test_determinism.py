"""The same seed gives the same trace, to the byte, also in another process; another seed gives another trace."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa

import thalweg as tw
from thalweg.simulation import Costs, MultiwayJoin, Selection, Source, Trace, poisson, simulate, tree_join

ROOT = Path(__file__).parents[2]
ON = "a.k = b.k AND a.k = c.k"


def run(seed: int) -> Trace:
    rng = np.random.default_rng(0)
    words = np.array([f"key {n}" for n in range(12)])
    tables = {alias: pa.table({"k": words[rng.integers(0, 12, 200)], "n": np.arange(200)}) for alias in "abc"}
    sources = {alias: Source(table, poisson(30), stamp="t") for alias, table in tables.items()}
    not_third, not_fifth = (tw.predicate(lambda n, d=d: n % d > 0, "n", name=f"not {d}") for d in (3, 5))
    dear_first = {"not 3": "2 ms", "not 5": "1 ms"}
    some = Selection("some", "a", not_third, not_fifth, costs=Costs(predicate=dear_first), policy="sweep")
    costs = Costs(move="2 ms", probe={"b": "9 ms", "c": "1 ms"}, result="3 ms")
    join = MultiwayJoin("multiway", ON, "1 second", "t", reads={"a": "some"}, costs=costs, policy="a-greedy(p=0.5)")
    tree = tree_join("tree", (("a", "b"), "c"), ON, "1 second", "t", reads={"a": "some"}, costs=Costs(probe="4 ms"))
    return simulate(sources, [some, join, *tree], every=0.25, seed=seed)


def digest(seed: int) -> str:
    return hashlib.sha256(run(seed).to_json_lines()).hexdigest()


def test_the_same_seed_gives_the_same_bytes() -> None:
    once, again, other = (run(seed).to_json_lines() for seed in (1, 1, 2))
    assert once == again
    assert once != other
    assert run(1).rows("multiway").num_rows == run(1).rows("tree").num_rows > 50


def test_and_in_another_process_with_other_hashes() -> None:
    here = digest(1)
    program = "from tests.simulation.test_determinism import digest; print(digest(1))"
    for salt in ("1", "2"):
        environment = {
            **os.environ,
            "PYTHONHASHSEED": salt,
            "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]),
        }
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, cwd=ROOT, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.strip() == here


def test_a_source_more_does_not_change_when_the_others_arrive() -> None:
    table = pa.table({"n": [1] * 20})
    first = Selection("first", "x", tw.predicate(bool, "n", name="any"))
    second = Selection("second", "y", tw.predicate(bool, "n", name="any"))
    alone = simulate({"x": Source(table, poisson(1))}, first, seed=3).results.to_pylist()
    both = simulate({"y": Source(table, poisson(1)), "x": Source(table, poisson(1))}, [second, first], seed=3)
    times = {
        name: [r["time"] for r in both.results.to_pylist() if r["operator"] == name] for name in ("first", "second")
    }
    assert times["first"] == [row["time"] for row in alone]
    assert times["first"] != times["second"]
