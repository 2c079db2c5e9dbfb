"""The log of a folder: no entry is lost when its settings change."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from thalweg.runtime.sink.sink_log import LogSettings, SinkLog


def visible(folder: Path) -> list[str]:
    """The files that Spark's readers see: those since the last compact file, and all in it."""
    log = folder / "_spark_metadata"
    found = {int(path.name.partition(".")[0]): path for path in log.iterdir()}
    first = max((n for n, path in found.items() if path.suffix == ".compact"), default=0)
    lines = [line for n in range(first, max(found) + 1) for line in found[n].read_text().splitlines()[1:]]
    return [Path(json.loads(line)["path"]).name for line in lines]


@pytest.mark.parametrize("then", [2, 3, 4, 7, 10, 25])
@pytest.mark.parametrize("now", [2, 3, 5, 10])
def test_another_interval_loses_nothing(tmp_path: Path, then: int, now: int) -> None:
    names = []
    for batch in range(40):
        name = f"{batch}.parquet"
        (tmp_path / name).write_bytes(b"x")
        names.append(name)
        assert SinkLog(str(tmp_path), LogSettings(interval=then if batch < 5 else now)).add(batch, [name])
        assert visible(tmp_path) == names
    assert not SinkLog(str(tmp_path)).add(39, ["0.parquet"]), "it is there already"
    assert visible(tmp_path) == names
