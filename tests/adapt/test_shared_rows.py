"""Workers under policy mesh share the rows that they profile: together they find a mesh in half as many rows each,
unless their data differ."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from tests.adapt.classified_stream import ClassifiedStream
from tests.adapt.test_mesh import adoptions, exchanged
from tests.optimizer.mesh.streams_of_classes import Stream, stream
from thalweg.adapt.alike_classes import alike_by_class
from thalweg.adapt.mesh import TRIALS
from thalweg.adapt.mesh_samples import MOST_BYTES, MOST_ROWS, MeshSamples
from thalweg.adapt.policy import ClassifiedTuples
from thalweg.runtime.spark.host_file import HostFile
from thalweg.runtime.spark.tuple_pool import TuplePool

ROWS, BATCH = 60_000, 1_024


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tmp_path.chmod(0o700)
    return tmp_path


class Worker(ClassifiedStream):
    """A loop that remembers after how many of its rows it adopted a mesh."""

    def __init__(self, seed: int, pool: TuplePool | None) -> None:
        super().__init__(("source",), seed, batch=BATCH)
        self.loop.pool = pool
        self.adopted_at = 0

    def step(self, drawn: Stream, begin: int) -> None:
        end = begin + BATCH
        self.process({name: array[begin:end] for name, array in drawn.values.items()}, drawn.passes[begin:end])
        if self.routes > 1 and not self.adopted_at:
            self.adopted_at = self.rows


def run_together(workers: list[Worker], streams: list[Stream], rows: int = ROWS) -> None:
    for begin in range(0, rows, BATCH):
        for worker, drawn in zip(workers, streams, strict=True):
            worker.step(drawn, begin)


class WithoutValues(TuplePool):
    """A pool that shares tuples alone, as for other policies."""

    def give(self, mark, tuples, fresh, costs, values=None) -> None:  # type: ignore[no-untyped-def]
        super().give(mark, tuples, fresh, costs)


def workers_of(folder: Path, kind: type[TuplePool], seed: int) -> list[Worker]:
    pools = [kind(HostFile("app", f"{kind.__name__} {seed}", folder), f"w{n}", 16) for n in range(2)]
    return [Worker(10 * seed + n, pool) for n, pool in enumerate(pools)]


@pytest.mark.parametrize("seed", range(2))
def test_two_workers_need_half_as_many_rows_each(folder: Path, seed: int) -> None:
    streams = [stream("classes", ROWS, 100 * seed + n) for n in range(2)]
    at = {}
    for kind in (WithoutValues, TuplePool):
        workers = workers_of(folder, kind, seed)
        run_together(workers, streams, rows=20 * BATCH)
        assert all(worker.routes == 4 for worker in workers)
        at[kind] = [worker.adopted_at for worker in workers]
    assert sum(at[TuplePool]) <= 0.6 * sum(at[WithoutValues])


@pytest.mark.parametrize("seed", range(2))
def test_siblings_with_other_data_are_not_listened_to(folder: Path, seed: int) -> None:
    """Each source has the outcomes of another one there. All filters drop the same shares of all rows."""
    streams = [stream("classes", ROWS, seed), exchanged(ROWS, seed)]
    workers = workers_of(folder, TuplePool, seed)
    run_together(workers, streams)
    for worker, drawn in zip(workers, streams, strict=True):
        assert worker.routes == 4
        assert worker.run(drawn) < 1.1 * drawn.clairvoyant()


def test_no_mesh_where_values_mean_nothing(folder: Path) -> None:
    divided = 0
    for seed in range(4):
        workers = workers_of(folder, TuplePool, seed)
        run_together(workers, [stream("none", ROWS, 100 * seed + n) for n in range(2)], rows=30 * BATCH)
        assert any(worker.policy.samples.added > worker.loop.work.chain.profile_tuples for worker in workers), (
            "rows were shared"
        )
        divided += sum(bool(adoptions(worker)) for worker in workers)
    assert divided == 0


def tuples_of(rows: int, seed: int) -> tuple[pa.Array, np.ndarray]:
    rng = np.random.default_rng(seed)
    source = rng.integers(3, size=rows)
    drops = rng.random((rows, 2)) < np.array([[0.1, 0.9], [0.5, 0.5], [0.9, 0.1]])[source]
    return pa.array([f"s{n}" for n in source]), np.concatenate([drops, np.ones((rows, 2), bool)], axis=1)


def test_equal_data_rarely_look_different() -> None:
    different = 0
    for seed in range(300):
        values, tuples = tuples_of(400, seed)
        numbers = pa.array(np.random.default_rng(seed).random(400))
        different += not alike_by_class({"s": values, "x": numbers}, tuples, np.arange(400) % 2 == 0)
    assert different <= 4  # 300 * (2 + 3 * 2 + 4 * 2) comparisons, 6e-5 each: 0.3 are expected


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "column",
    [
        pa.array([float("inf"), float("-inf"), float("nan"), None] * 50), pa.nulls(200, pa.string()),
        pa.nulls(200, pa.int64()), pa.array([True, None] * 100), pa.array(["x" * 100_000, None] * 100),
        pa.array(["a", None] * 100).dictionary_encode(), pa.array([b"\xff", b""] * 100),
        pa.array([0, None] * 100, pa.timestamp("ns", "UTC")),
    ],
    ids=lambda column: str(column.type),
)  # fmt: skip
def test_values_of_any_kind_are_compared(column: pa.Array) -> None:
    odd = np.arange(200) % 8 < 4
    drops = np.stack([np.arange(200) % 2 == 0, np.arange(200) % 2 == 1], axis=1)
    same = np.concatenate([drops, np.ones((200, 2), bool)], axis=1)
    assert alike_by_class({"c": column}, same, odd)
    other = np.where(odd[:, None], same, np.array([True, True, True, True]))
    assert not alike_by_class({"c": column}, other, odd)


def test_rows_of_others_are_bounded_and_keep_the_types_of_own_rows() -> None:
    samples = MeshSamples()
    values, tuples = tuples_of(1_000, 1)
    own = tuples[:, :2], tuples[:, 2:]
    samples.add({"s": values}, *own)
    samples.add_shared(ClassifiedTuples({"s": pa.array([1] * 1_000)}, tuples))
    samples.add_shared(ClassifiedTuples({"other": values}, tuples))
    assert (samples.rows, samples.added) == (1_000, 1_000), "of another type, or another column"
    for _ in range(10):
        samples.add_shared(ClassifiedTuples({"s": values}, tuples))
    assert samples.rows <= MOST_ROWS
    assert samples.added == 11_000
    for _ in range(10):
        samples.add_shared(ClassifiedTuples({"s": pa.array(["x" * 2_000] * 1_000)}, tuples))
    assert sum(array.nbytes for array in samples.sample().values.values()) <= MOST_BYTES
    samples.add({"s": pa.array([1] * 1_000)}, *own)
    assert samples.rows == 1_000, "older rows have another type"


def test_rows_of_strangers_are_forgotten_for_good() -> None:
    samples = MeshSamples()
    values, tuples = tuples_of(TRIALS[0], 1)
    samples.add({"s": values}, tuples[:, :2], tuples[:, 2:])
    assert not samples.drop_strangers()
    alike = tuples_of(TRIALS[0], 2)
    samples.add_shared(ClassifiedTuples({"s": alike[0]}, alike[1]))
    assert not samples.drop_strangers()
    assert samples.rows == 2 * TRIALS[0]
    samples.add_shared(ClassifiedTuples({"s": values}, tuples[:, [1, 0, 2, 3]]))
    samples.add_shared(ClassifiedTuples({"s": values}, tuples[:, [1, 0, 2, 3]]))
    assert samples.drop_strangers()
    assert samples.rows == TRIALS[0]
    samples.add_shared(ClassifiedTuples({"s": alike[0]}, alike[1]))
    assert samples.rows == TRIALS[0]


def test_redacted_values_stay_in_the_process(folder: Path) -> None:
    worker = workers_of(folder, TuplePool, 1)[0]
    worker.loop.redact = True
    run_together([worker], [stream("classes", ROWS, 1)], rows=10 * BATCH)
    (file,) = folder.rglob("*.tuples")
    assert '"bits":' in file.read_text()
    assert '"values":' not in file.read_text()
