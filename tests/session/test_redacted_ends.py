"""What ends a run from within a function holds no value of a row, for those who set `redact`."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import thalweg as tw


@pytest.mark.parametrize("redact", [False, True])
def test_an_exit_in_a_function_tells_no_value(tmp_path: Path, redact: bool) -> None:
    def leave(text: str) -> bool:
        raise SystemExit(f"value {text}")

    s = tw.session()
    s.function("leave", leave, returns="boolean")
    s.stream("a", pa.table({"ts": pa.array([0], pa.timestamp("us")), "t": ["s3cr3t"]}), time="ts")
    handle = s.query("SELECT t FROM a WHERE leave(t)", redact=redact).start(path=str(tmp_path / "out"))
    with pytest.raises(tw.QueryError, match="ended by SystemExit") as error:
        handle.awaitTermination()
    assert ("s3cr3t" in str(error.value)) is not redact
    assert (error.value.__cause__ is None) is redact
