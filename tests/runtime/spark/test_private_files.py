"""Files that Thalweg makes are readable by their user alone, also under a umask that forbids nothing; nothing is read
from a shared folder that another user may have filled."""

from __future__ import annotations

import json
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import thalweg as tw
from tests.adapt.classified_stream import ClassifiedStream
from tests.optimizer.mesh.streams_of_classes import SOURCES, stream
from thalweg.runtime.spark import call_mark, host_file, worker
from thalweg.runtime.spark.call_mark import CallMark, deaths
from thalweg.runtime.spark.host_file import HostFile, forget_at_exit
from thalweg.runtime.spark.tuple_pool import TuplePool

BITS = np.array([[True, False], [False, True]])


@pytest.fixture(autouse=True)
def _umask_0() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.fixture
def temp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The shared folder of temporary files."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def modes(folder: Path) -> dict[str, str]:
    """Of all that is in it."""
    return {
        str(path.relative_to(folder)): oct(stat.S_IMODE(path.lstat().st_mode)) for path in sorted(folder.rglob("*"))
    }


def run_with_events(file: Path) -> None:
    keep = tw.filters(tw.predicate(lambda n: n > 1, "n", name="more"), events=file)
    list(keep.over(pa.table({"n": [1, 2, 3]})))


def test_an_event_file_and_its_folders_are_private(tmp_path: Path) -> None:
    run_with_events(tmp_path / "one" / "two" / "run.jsonl")
    assert modes(tmp_path) == {"one": "0o700", "one/two": "0o700", "one/two/run.jsonl": "0o600"}


def test_an_event_file_of_a_join_is_private(tmp_path: Path) -> None:
    join = tw.join("a.k = b.k", window=1, time="t", events=tmp_path / "run.jsonl")
    table = pa.table({"k": [1], "t": [1]})
    list(join.over(a=table, b=table))
    assert modes(tmp_path) == {"run.jsonl": "0o600"}


def test_what_is_there_keeps_its_mode_and_a_link_is_followed(tmp_path: Path) -> None:
    shared, link = tmp_path / "shared.jsonl", tmp_path / "link.jsonl"
    shared.touch(0o640)
    link.symlink_to(shared)
    run_with_events(link)
    assert shared.read_text()
    assert modes(tmp_path)["shared.jsonl"] == "0o640"
    assert link.is_symlink()


def test_a_removed_file_is_private_when_it_is_made_again(tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    keep = tw.filters(tw.predicate(lambda n: n > 1, "n", name="more"), events=file)
    results = keep.over(pa.table({"n": [1, 2, 3]}))
    file.unlink()
    list(results)
    assert modes(tmp_path) == {"run.jsonl": "0o600"}


def test_what_workers_leave_on_a_host_is_private(temp: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_file, "_FORGOTTEN", set())
    forget_at_exit("app")
    file = HostFile("app", "query")
    file.offer(lambda: {"order": [0, 1]})
    TuplePool(file, "one", 2).give("mark", BITS, fresh=True, costs={}, values={"source": pa.array(["web", "app"])})
    mark = CallMark("app", "chain", 1, 2, 0)
    found = modes(temp)
    mark.remove()
    base = f"thalweg-{os.getuid()}"
    assert {name: mode for name, mode in found.items() if mode != "0o600"} == {base: "0o700", f"{base}/app": "0o700"}
    assert {Path(name).suffix for name in found} >= {".json", ".tuples", ".call"}
    assert f"{base}/app/driver.json" in found


def test_nothing_is_read_from_a_folder_that_others_may_fill(temp: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names are not secret: another user may have created the folder before."""
    file = HostFile("app", "query")
    giver, taker = TuplePool(file, "one", 2), TuplePool(file, "two", 2)
    giver.give("mark", BITS, fresh=True, costs={})
    mark = CallMark("app", "chain", 1, 2, 0)
    mark.enter(0)
    monkeypatch.setattr(call_mark, "lives", lambda pid: False)
    folder = temp / f"thalweg-{os.getuid()}" / "app"
    assert len(deaths("app", "chain")) == 1
    assert taker.news()
    folder.chmod(0o777)
    assert taker.take("mark") is None
    assert not taker.news(), "it is not asked for again and again"
    assert deaths("app", "chain") == []
    assert file.read() is None


def test_a_link_in_place_of_the_pool_is_not_followed(temp: Path) -> None:
    file = HostFile("app", "query")
    giver, taker = TuplePool(file, "one", 2), TuplePool(file, "two", 2)
    giver.give("mark", BITS, fresh=True, costs={})
    pool = file.path.with_suffix(".tuples")
    elsewhere = temp / "elsewhere"
    pool.rename(elsewhere)
    pool.symlink_to(elsewhere)
    assert taker.take("mark") is None
    giver.give("mark", BITS, fresh=True, costs={})
    assert elsewhere.read_text().count("\n") == 1


def test_what_new_workers_start_with_has_no_values_if_they_are_redacted() -> None:
    run = ClassifiedStream(("source",), 1)
    run.run(stream("classes", 40_000, 1))
    assert run.routes == 4
    assert json.loads(json.dumps(worker._learned(run.loop)))["mesh"] == run.loop.snapshot()["mesh"]
    run.loop.redact = True
    learned = json.loads(json.dumps(worker._learned(run.loop)))
    assert not any(str(source) in json.dumps(learned) for source in SOURCES)
    again = run.new_loop(run.fresh())
    again.restore(learned)
    assert (again.mesh, again.order) == (None, run.loop.order)
