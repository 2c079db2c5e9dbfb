"""Workers find each other's tuples, once each, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from thalweg.runtime.spark import tuple_pool
from thalweg.runtime.spark.host_file import HostFile
from thalweg.runtime.spark.tuple_pool import TuplePool

BITS = np.array([[1, 0, 1], [0, 1, 1]], bool)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tmp_path.chmod(0o700)
    return tmp_path


def worker(folder: Path, name: str, query: str = "q", now: float = 0.0) -> TuplePool:
    return TuplePool(HostFile("app", query, folder), name, 3, clock=lambda: now)


def test_what_one_gives_the_others_take_once(folder: Path) -> None:
    one, two, three = (worker(folder, name) for name in ("one", "two", "three"))
    assert not two.news()
    one.give("all", BITS, fresh=True, costs={})
    assert two.news()
    for other in (two, three):
        taken = other.take("all")
        assert taken is not None
        bits, fresh, _, _ = taken
        assert bits.tolist() == BITS.tolist()
        assert fresh.tolist() == [True, True]
        assert other.take("all") is None
        assert not other.news()
    assert one.take("all") is None  # its own


def test_marks_and_queries_do_not_mix(folder: Path) -> None:
    one, two = worker(folder, "one"), worker(folder, "two")
    elsewhere = worker(folder, "three", query="another")
    one.give("sweep (0, 1, 2) 1", BITS, fresh=False, costs={})
    assert two.take("all") is None
    assert elsewhere.take("sweep (0, 1, 2) 1") is None


def test_neither_the_past_nor_old_tuples_are_read(folder: Path) -> None:
    one = worker(folder, "one")
    one.give("all", BITS, fresh=False, costs={})
    assert worker(folder, "two").take("all") is None
    late = worker(folder, "late", now=tuple_pool.FRESH_S + 1)
    one.give("all", BITS, fresh=False, costs={})
    assert late.take("all") is None


def test_broken_lines_are_skipped_and_partial_lines_awaited(folder: Path) -> None:
    one, two = worker(folder, "one"), worker(folder, "two")
    one.give("all", BITS, fresh=False, costs={})
    (file,) = folder.rglob("*.tuples")
    whole = file.read_bytes()
    file.write_bytes(b"not json\n[1]\n{}\n" + whole[:-10])
    assert two.take("all") is None
    file.write_bytes(b"not json\n[1]\n{}\n" + whole)
    taken = two.take("all")
    assert taken is not None
    bits, _, _, _ = taken
    assert bits.tolist() == BITS.tolist()


def test_a_line_with_fewer_rows_than_announced_is_skipped(folder: Path) -> None:
    one, two = worker(folder, "one"), worker(folder, "two")
    one.give("all", BITS, fresh=False, costs={})
    (file,) = folder.rglob("*.tuples")
    line = json.loads(file.read_text())
    file.write_text(json.dumps({**line, "rows": 100_000_000}) + "\n")
    assert two.take("all") is None


COSTS = {"cost_ns": [10.5, None, 3.0], "fixed_ns": [0.0, None, 200.0], "error_ns": [0.5, None, 0.1]}


def test_costs_come_along_also_without_tuples(folder: Path) -> None:
    one, two = worker(folder, "one"), worker(folder, "two")
    one.give("all", BITS[:0], fresh=False, costs=COSTS)
    shared = two.take("all")
    assert shared is not None
    assert shared.tuples.shape == (0, 3)
    assert shared.costs == [COSTS]


@pytest.mark.parametrize(
    "costs",
    [{"cost_ns": [-1.0]}, {"cost_ns": ["x"]}, {"error_ns": [float("inf")]}, {"fixed_ns": 3}, {"cost_ns": [1e308]}],
)
def test_costs_that_are_none_are_passed_over(folder: Path, costs: dict[str, Any]) -> None:
    one, two = worker(folder, "one"), worker(folder, "two")
    one.give("all", BITS, fresh=False, costs=costs)
    assert two.take("all") is None


def test_the_file_does_not_grow_for_ever(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuple_pool, "MOST_BYTES", 2_000)
    one, two = worker(folder, "one"), worker(folder, "two")
    taken = 0
    for _ in range(200):
        one.give("all", BITS, fresh=False, costs={})
        found = two.take("all")
        taken += 0 if found is None else len(found[0])
    (file,) = folder.rglob("*.tuples")
    assert file.stat().st_size < 2_500
    assert taken > 300  # a line may be lost when the file is begun anew


def test_a_folder_that_others_can_enter_is_not_used(folder: Path) -> None:
    one, two = worker(folder, "one"), worker(folder, "two")
    folder.chmod(0o777)
    one.give("all", BITS, fresh=False, costs={})
    assert two.take("all") is None
    assert list(folder.rglob("*.tuples")) == []


VALUES = {
    "source": pa.array(["web", None]), "size": pa.array([1.5, float("nan")]), "flag": pa.array([True, None]),
    "at": pa.array([0, 1], pa.timestamp("us", "UTC")), "code": pa.array([b"\xff", b""]),
    "kind": pa.array(["a", "b"]).dictionary_encode(), "none": pa.nulls(2),
}  # fmt: skip


def test_values_by_which_rows_are_classified_come_along(folder: Path) -> None:
    one, two = worker(folder, "one"), worker(folder, "two")
    one.give("all", BITS, fresh=True, costs={}, values=VALUES)
    one.give("all", BITS[:0], fresh=True, costs={}, values={name: array[:0] for name, array in VALUES.items()})
    one.give("all", ~BITS, fresh=True, costs={})
    taken = two.take("all")
    assert taken is not None
    assert taken.tuples.tolist() == np.concatenate([BITS, ~BITS]).tolist()
    (classified,) = taken.classified
    assert classified.tuples.tolist() == BITS.tolist()
    assert set(classified.values) == set(VALUES)
    assert all(classified.values[name].type == array.type for name, array in VALUES.items())
    assert str([array.to_pylist() for array in classified.values.values()]) == str(  # NaN is not equal to itself
        [array.to_pylist() for array in VALUES.values()]
    )
    (file,) = folder.rglob("*.tuples")
    assert oct(file.stat().st_mode & 0o777) == "0o600"


def test_only_the_newest_values_that_fit_are_shared(folder: Path) -> None:
    one, two = worker(folder, "one"), worker(folder, "two")
    rows = 1_000
    bits = np.random.default_rng(1).random((rows, 3)) < 0.5
    texts = pa.array([f"{n:0300}" for n in range(rows)])
    one.give("all", bits, fresh=True, costs={}, values={"text": texts})
    (file,) = folder.rglob("*.tuples")
    assert file.stat().st_size < 1.5 * tuple_pool.MOST_VALUES + 1_000
    taken = two.take("all")
    assert taken is not None
    assert taken.tuples.tolist() == bits.tolist()
    (classified,) = taken.classified
    found = classified.values["text"].to_pylist()
    assert 150 < len(found) < rows
    assert found == texts.to_pylist()[-len(found) :]
    assert classified.tuples.tolist() == bits[-len(found) :].tolist()


@pytest.mark.parametrize(
    "values",
    [
        pa.array(["x" * 100_000] * 2),
        pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array([f"{n:0200}" for n in range(2_000)])),
    ],
    ids=["long texts", "a large dictionary"],
)
def test_values_that_do_not_fit_are_left_out(folder: Path, values: pa.Array) -> None:
    one, two = worker(folder, "one"), worker(folder, "two")
    one.give("all", BITS, fresh=True, costs={}, values={"text": values})
    taken = two.take("all")
    assert taken is not None
    assert taken.tuples.tolist() == BITS.tolist()
    assert list(taken.classified) == []
    (file,) = folder.rglob("*.tuples")
    assert file.stat().st_size < 1_000


@pytest.mark.parametrize("change", ["cut", "not base64", "number", "more rows"])
def test_a_line_with_broken_values_is_skipped(folder: Path, change: str) -> None:
    one, two = worker(folder, "one"), worker(folder, "two")
    one.give("all", BITS, fresh=True, costs={}, values=VALUES)
    (file,) = folder.rglob("*.tuples")
    line = json.loads(file.read_text())
    if change == "more rows":
        line |= {"rows": 1, "bits": np.packbits(BITS[:1]).tobytes().hex()}
    else:
        line["values"] = {"cut": line["values"][:400], "not base64": "***", "number": 3}[change]
    file.write_text(json.dumps(line) + "\n")
    assert two.take("all") is None
