"""Policy mesh on simulated streams: when it divides rows, when it does not, what it follows, and what is refused."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import thalweg as tw
from tests.adapt.classified_stream import ClassifiedStream
from tests.optimizer.mesh.streams_of_classes import SHIFTED, SOURCES, Stream, stream
from thalweg.adapt.mesh import MeshPolicy
from thalweg.errors import PlanError
from thalweg.optimizer.mesh import mesh_search
from thalweg.plan import Pipeline

ROWS = 60_000


def best_single(drawn: Stream) -> float:
    """Return the evaluations per row in the best single order, by exhaustive greedy choice on independent filters."""
    order = np.argsort(drawn.passes.mean(axis=0)).tolist()
    return drawn.evaluations([order], np.zeros(len(drawn.passes), np.int64))


def versions(run: ClassifiedStream) -> list[int]:
    """Return the version of each mesh that was in force, also of those of one route."""
    return [switch.mesh.version for switch in run.loop.work.switches if switch.mesh is not None]


def adoptions(run: ClassifiedStream) -> list[int]:
    """Return the number of routes of each mesh that was adopted."""
    return [len(switch.mesh.routes) for switch in run.loop.work.switches if switch.mesh is not None]


@pytest.mark.parametrize(("name", "columns"), [("classes", ("source",)), ("numbers", ("x", "y"))])
@pytest.mark.parametrize("seed", range(3))
def test_a_mesh_is_adopted_where_classes_differ(name: str, columns: tuple[str, ...], seed: int) -> None:
    run = ClassifiedStream(columns, seed)
    run.run(stream(name, ROWS, seed))
    assert run.routes > 1
    later = stream(name, 2 * ROWS, seed + 100)
    possible = best_single(later) - later.clairvoyant()
    assert best_single(later) - run.run(later) > 0.85 * possible


@pytest.mark.parametrize("seeds", [range(20), pytest.param(range(20, 120), marks=pytest.mark.long)], ids=len)
def test_no_mesh_where_values_mean_nothing(seeds: Sequence[int]) -> None:
    divided = 0
    for seed in seeds:
        run = ClassifiedStream(("source",), seed)
        run.run(stream("none", 2 * ROWS, seed))
        divided += any(routes > 1 for routes in adoptions(run))
    assert divided <= len(seeds) // 20


@pytest.mark.parametrize("every", [5_000, 20_000, 50_000])
def test_a_counter_is_no_class(every: int) -> None:
    """Outcomes drift with the row number. A split by it is perfect on the past, and useless later."""
    for seed in range(2):
        rng, at = np.random.default_rng(seed), np.arange(3 * ROWS)
        passes = (rng.random((len(at), 8)) < SHIFTED[at // every % 4]).astype(np.float64)
        run = ClassifiedStream(("at",), seed)
        run.process({"at": pa.array(at)}, passes)
        assert not adoptions(run)


def exchanged(rows: int, seed: int) -> Stream:
    """Draw rows of the same sources, each of which has what another one had in `classes`."""
    rng = np.random.default_rng(seed)
    source = rng.integers(4, size=rows)
    classes = (source + 1) % 4
    passes = (rng.random((rows, 8)) < SHIFTED[classes]).astype(np.float64)
    return Stream({"source": pa.array(SOURCES[source])}, passes, classes, SHIFTED)


@pytest.mark.parametrize("seed", range(3))
def test_routes_are_ordered_anew_when_shares_are_exchanged(seed: int) -> None:
    run = ClassifiedStream(("source",), seed)
    run.run(stream("classes", ROWS, seed))
    mesh, before = run.policy.mesh, len(run.loop.work.switches)
    assert mesh is not None
    run.run(exchanged(ROWS, seed))
    assert run.policy.mesh is not None
    assert run.policy.mesh.tree == mesh.tree
    assert run.policy.mesh.routes != mesh.routes
    assert run.policy.mesh.version > mesh.version
    assert any("the tree is the same" in switch.reason for switch in run.loop.work.switches[before:])
    later = exchanged(2 * ROWS, seed + 100)
    possible = best_single(later) - later.clairvoyant()
    assert best_single(later) - run.run(later) > 0.7 * possible


def test_a_mesh_is_given_up_when_values_stop_to_matter() -> None:
    for seed in range(3):
        run = ClassifiedStream(("source",), seed)
        run.run(stream("classes", ROWS, seed))
        assert run.routes > 1
        for more in range(20):
            run.run(stream("none", 2 * ROWS, seed + 10 * more))
            if run.routes == 1:
                break
        assert run.routes == 1
        assert run.loop.mesh is None
        assert "no longer save enough" in run.policy.standing
        last = [switch for switch in run.loop.work.switches if switch.mesh is not None][-1]
        assert last.mesh is not None
        assert last.mesh.routes == (last.after,)
        before = sum(run.loop.work.chain.evaluated)
        later = stream("none", ROWS, seed)
        run.run(later)
        assert (sum(run.loop.work.chain.evaluated) - before) / ROWS < 1.05 * later.clairvoyant(), "in the best order"


def test_each_mesh_has_a_version_of_its_own() -> None:
    run = ClassifiedStream(("source",), 0)
    for number in range(3):
        run.run(stream("classes", 6 * ROWS, number))
        assert run.routes > 1
        assert "routes by source" in run.policy.standing
        run.loop.follow(run.policy.order, "found elsewhere")
        assert run.routes == 1
        assert "routes by source" not in run.policy.standing
    assert len(versions(run)) >= 6
    assert versions(run) == sorted(set(versions(run)))


@pytest.fixture
def searched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The algorithms that run, and the start solutions that they ask for, by name. Both do what they always do."""
    begun: list[str] = []

    def noted(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any) -> Any:
            begun.append(name)
            return function(*given)

        return call

    for name, algorithm in (("ii", "ii_qm"), ("sa", "sa_qm"), ("opt", "opt_qm")):
        monkeypatch.setattr(mesh_search, algorithm, noted(name, getattr(mesh_search, algorithm)))
    for name, start in tuple(mesh_search.STARTS.items()):
        monkeypatch.setitem(mesh_search.STARTS, name, noted(name, start))
    return begun


@pytest.mark.parametrize(("name", "search"), [("classes", "opt"), ("many", "ii")])
@pytest.mark.parametrize("most", [1, 2, 3])
def test_there_are_at_most_so_many_routes(name: str, search: str, most: int, searched: list[str]) -> None:
    """`classes` has so few training tuples that all meshes are priced."""
    run = ClassifiedStream(("source",), 1, routes=most)
    run.run(stream(name, ROWS, 1))
    assert run.routes <= most
    assert (run.routes > 1) == (most > 1)
    assert all(routes <= most for routes in adoptions(run))
    assert most == 1 or search in searched


@pytest.mark.parametrize("search", ["ii", "sa"])
@pytest.mark.parametrize("start", ["route-driven", "content-driven", "random-pick", "extreme-1", "extreme-n"])
def test_every_search_and_start_finds_the_classes(search: str, start: str, searched: list[str]) -> None:
    """On average over several runs. A single run saves 0.4 to 0.8 of what is possible, depending on the meshes that its
    random search sees, and on the last bit of floating-point sums, which differs between processors."""
    saved = []
    for seed in range(20, 25):
        run = ClassifiedStream(("source",), seed, search=search, search_from=start)
        for part in range(3):
            run.run(stream("many", ROWS, seed + 1000 * part))
        assert run.routes > 1
        later = stream("many", ROWS, seed + 100)
        best = best_single(later)
        saved.append((best - run.run(later)) / (best - later.clairvoyant()))
    assert {"ii", "sa"} & {*searched} == {search}
    assert mesh_search.STARTS.keys() & {*searched} == {start}
    assert np.mean(saved) > 0.5


def test_guards_and_unprofiled_filters_in_a_mesh() -> None:
    run = ClassifiedStream(("source",), 3, hidden=(2,), guards={5: "F4"})
    run.run(stream("classes", 2 * ROWS, 3))
    mesh = run.policy.mesh
    assert mesh is not None
    assert all(route.index(4) < route.index(5) for route in mesh.routes)
    assert run.loop.work.chain.profiled[2] == 0
    assert sum(run.loop.work.chain.profiled) > 0


def test_a_snapshot_goes_on_with_the_mesh_elsewhere() -> None:
    run = ClassifiedStream(("source",), 4)
    run.run(stream("classes", ROWS, 4))
    mesh = run.policy.mesh
    assert mesh is not None
    text = json.dumps(run.loop.snapshot())
    assert len(text) < 16 << 10
    run.policy = run.fresh()
    run.loop = run.new_loop(run.policy)
    run.loop.restore(json.loads(text))
    assert run.policy.mesh == run.loop.mesh == mesh
    assert json.loads(json.dumps(run.policy.snapshot()))["mesh"] == json.loads(text)["mesh"]
    later = stream("classes", ROWS, 104)
    assert run.run(later) < later.clairvoyant() + 0.1, "from its first row on"
    assert not run.loop.work.switches or run.routes > 1


def test_a_mesh_of_other_filters_is_refused() -> None:
    run = ClassifiedStream(("source",), 5)
    run.run(stream("classes", ROWS, 5))
    snapshot = run.policy.snapshot()
    assert snapshot["mesh"] is not None
    guarded = ClassifiedStream(("source",), 5, guards={0: "F1", 2: "F3", 4: "F5", 6: "F7"})
    snapshot["order"] = list(guarded.policy.order)
    with pytest.raises(PlanError, match=r"does not respect the guards, or is damaged; learn it anew"):
        guarded.policy.restore(snapshot)
    assert guarded.policy.mesh is None


def test_one_filter_has_nothing_to_route() -> None:
    run = ClassifiedStream(("source",), 6, filters=1)
    drawn = stream("classes", ROWS, 6)
    assert run.process(drawn.values, drawn.passes[:, :1]) == 1.0
    assert (
        run.policy.standing
        == run.loop.take_work().in_force.standing
        == "there is one filter, so there is nothing to route"
    )
    restored = MeshPolicy(Pipeline(("a",)))
    restored.restore(restored.snapshot())
    assert "nothing to route" in restored.standing


# values that are hard to classify by


@dataclass(frozen=True)
class Hard:
    """A column of values that are hard to classify by."""

    name: str
    of_sources: Callable[[np.ndarray], pa.Array]


def distinct(source: np.ndarray) -> pa.Array:
    return pa.array([f"{s} {i:07d}" for i, s in enumerate(source.tolist())])


def lists(source: np.ndarray) -> pa.Array:
    return pa.array([[s] for s in source.tolist()], pa.list_(pa.int64()))


TYPES: tuple[Hard, ...] = (
    Hard("text", lambda source: pa.array(SOURCES[source])),
    Hard("dictionary", lambda source: pa.array(SOURCES[source]).dictionary_encode()),
    Hard("other dictionary", lambda source: pa.array(SOURCES[source][::-1]).dictionary_encode()),
    Hard("large text", lambda source: pa.array(SOURCES[source], pa.large_string())),
    Hard("view", lambda source: pa.array(SOURCES[source].tolist(), pa.string_view())),
    Hard("bytes", lambda source: pa.array(SOURCES[source].tolist(), pa.string()).cast(pa.binary())),
    Hard("number", lambda source: pa.array(source)),
    Hard("float with NaN", lambda source: pa.array(np.where(source == 1, np.nan, source))),
    Hard("truth", lambda source: pa.array(source > 1)),
    Hard("nulls", lambda source: pa.nulls(len(source))),
    Hard("null texts", lambda source: pa.nulls(len(source), pa.string())),
    Hard("time", lambda source: pa.array(source * 10**9).cast(pa.timestamp("ns"))),
    Hard("duration", lambda source: pa.array(source).cast(pa.duration("s"))),
    Hard("list", lists),
    Hard("runs", lambda source: pa.RunEndEncodedArray.from_arrays(np.arange(1, len(source) + 1), SOURCES[source])),
)


def test_types_that_change_between_batches_change_no_row() -> None:
    run = ClassifiedStream(("source",), 7)
    run.run(stream("classes", ROWS, 7))
    assert run.routes > 1
    rng = np.random.default_rng(7)
    for _ in range(3):
        for i in rng.permutation(len(TYPES)).tolist():
            source = rng.integers(4, size=6_000)
            passes = (rng.random((len(source), 8)) < SHIFTED[source]).astype(np.float64)
            run.process({"source": TYPES[i].of_sources(source)}, passes)  # checks the answer
    assert run.rows == ROWS + 3 * len(TYPES) * 6_000


@pytest.mark.parametrize("kind", TYPES, ids=lambda kind: kind.name)
def test_columns_of_any_type_from_the_first_row_on(kind: Hard) -> None:
    rng = np.random.default_rng(8)
    run = ClassifiedStream(("source",), 8)
    source = rng.integers(4, size=ROWS)
    run.process({"source": kind.of_sources(source)}, (rng.random((ROWS, 8)) < SHIFTED[source]).astype(np.float64))
    says_something = kind.name not in ("other dictionary", "nulls", "null texts", "duration", "list")
    assert (run.routes > 1) == says_something


@pytest.mark.parametrize("rows", [200_000, pytest.param(1_000_000, marks=pytest.mark.long)])
def test_as_many_values_as_rows_are_bounded(rows: int) -> None:
    rng = np.random.default_rng(9)
    run = ClassifiedStream(("source",), 9)
    source = rng.integers(4, size=rows)
    passes = (rng.random((rows, 8)) < SHIFTED[source]).astype(np.float64)
    run.process({"source": distinct(source)}, passes)
    assert not adoptions(run), "no value is ever seen again"
    assert len(json.dumps(run.loop.snapshot())) < 16 << 10


def test_long_texts_are_bounded_in_memory() -> None:
    rng = np.random.default_rng(10)
    run = ClassifiedStream(("source",), 10, batch=100)
    texts = pa.array([name * 33_333 for name in SOURCES])
    gc.collect()
    before = pa.total_allocated_bytes()
    for _ in range(30):  # 300 MB in all
        source = rng.integers(4, size=100)
        passes = (rng.random((100, 8)) < SHIFTED[source]).astype(np.float64)
        run.process({"source": texts.take(pa.array(source))}, passes)
    gc.collect()
    assert run.policy.samples.added > 100, "rows were profiled"
    assert pa.total_allocated_bytes() - before < 64 << 20
    assert len(json.dumps(run.loop.snapshot())) < 16 << 10


# what is refused


def even(x: int) -> bool:
    return x % 2 == 0


def small(x: int) -> bool:
    return x < 10


def filters(**given: Any) -> tw.Filters:
    return tw.filters(tw.predicate(even, "x"), tw.predicate(small, "x"), **given)


TABLE = pa.table({"x": [1, 2], "source": ["a", "b"], "tags": [["a"], []], "point": [{"a": 1}, {"a": 2}]})


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"policy": "mesh(routes=0)"}, "routes=0: the most routes must be a whole number from 1 to 64"),
        ({"policy": "mesh(routes=True)"}, "routes=True: the most routes"),
        ({"policy": "mesh(routes=2.0)"}, "routes=2.0: the most routes"),
        ({"policy": "mesh(routes=65)"}, "routes=65: the most routes"),
        ({"policy": "mesh(search='opt')"}, "search='opt': pricing all partitions takes too long while a query runs"),
        ({"policy": "mesh(search='iii')"}, "search='iii': must be one of ii, sa (did you mean 'ii'?)"),
        ({"policy": "mesh(search=7)"}, "search=7: must be one of ii, sa"),
        ({"policy": "mesh(search_from='route-drivn')"}, "(did you mean 'route-driven'?)"),
        ({"budget": 0.0}, "budget=0.0"),
        ({"policy": "mesh(p=0.1)"}, "'mesh' has no setting p=0.1; it has budget, routes, search and search_from"),
        ({"classify_by": []}, "classify_by=[]: name at least one column"),
        ({"classify_by": "source"}, "classify_by='source': must be a list of column names"),
        ({"classify_by": {"source"}}, "classify_by={'source'}: must be a list of column names"),
        ({"classify_by": ["source", 7]}, "7 is not the name of a column"),
        ({"classify_by": ["source", "x", "source"]}, "'source' is named twice; name it once"),
        ({"classify_by": ["source", "Source"]}, "is named twice; name it once"),
        ({"policy": "sweep", "classify_by": ["source"]}, "policy 'sweep' does not classify rows; use"),
        ({"policy": "static(routes=3)"}, "policy 'static' has no setting routes=3; it takes none"),
    ],
    ids=str,
)  # fmt: skip
def test_wrong_arguments_are_refused_at_once(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(PlanError) as caught:
        filters(**({"policy": "mesh"} | given))
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        (
            ["sorce"],
            "classify_by: there is no column 'sorce' (did you mean 'source'?); there are x, source, tags, point",
        ),
        (["tags"], "classify_by: column 'tags' has the type list<item: string>, and rows are classified by text"),
        (["source", "POINT"], "classify_by: column 'point' has the type struct<a: int64>"),
    ],
    ids=str,
)
def test_wrong_columns_are_refused_before_rows_are_read(columns: list[str], sentence: str) -> None:
    keep = filters(policy="mesh", classify_by=columns)
    for data in (TABLE, TABLE.to_batches()[0]):
        with pytest.raises(PlanError) as caught:
            keep.over(data)  # no row was asked for
        assert str(caught.value).startswith(sentence)
    with pytest.raises(PlanError) as caught:
        next(keep.over(iter(TABLE.to_batches())))
    assert str(caught.value).startswith(sentence)


def test_nested_columns_that_predicates_read_are_just_not_used() -> None:
    keep = tw.filters(
        tw.predicate(lambda tags: len(tags) > 0, "tags", name="tagged"), tw.predicate(even, "x"), policy="mesh"
    )
    assert [batch["x"].to_pylist() for batch in keep.over(TABLE.set_column(0, "x", pa.array([2, 4])))] == [[2]]


def test_a_policy_from_outside_that_takes_no_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    keep = filters(classify_by=["source"])
    monkeypatch.setenv("THALWEG_POLICY", "sweep")
    assert [batch["x"].to_pylist() for batch in keep.over(TABLE)] == [[2]]  # it is ignored
    monkeypatch.setenv("THALWEG_POLICY", "mesh")
    assert [batch["x"].to_pylist() for batch in keep.over(TABLE)] == [[2]]
    assert [section.policy for section in keep.report().sections] == ["sweep", "mesh"]


def test_a_classifier_is_found_as_columns_of_predicates_are() -> None:
    keep = filters(policy="mesh", classify_by=["SOURCE", "X"])
    assert [batch.to_pylist() for batch in keep.over(TABLE.select(["x", "source"]))] == [[{"x": 2, "source": "b"}]]
